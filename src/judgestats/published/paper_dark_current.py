"""The dark_current paper: the counts behind its printed rates."""

from __future__ import annotations

import pandas as pd

from judgestats.errors import AuditError
from judgestats.published.catalogue import load

#: Half of the last printed digit of Table 6.
PRECISION = 5e-5
_STRICT = "Qwen32B strict criterion"


def count_of(printed: str, n: int) -> int:
    """Whole number behind a printed share, refused where none gives it.

    Parameters
    ----------
    printed : str
        The share as printed, to four decimals.
    n : int
        Its denominator.

    Returns
    -------
    int
        k with \\|k/n - printed\\| <= 5e-5.

    Raises
    ------
    AuditError
        If no whole number does.

    Examples
    --------
    >>> count_of("0.2583", 120)
    31
    """
    k = round(float(printed) * n)
    if abs(k / n - float(printed)) > PRECISION:
        raise AuditError(f"No whole number of {n} gives the printed share {printed}.")
    return k


def _table6() -> pd.DataFrame:
    table = load("dark_current/table6", printed=True)
    return table.assign(judge=table["judge"].str.replace(" + ", " ", regex=False))


def _counts(metric: str) -> dict[str, tuple[int, int]]:
    """Judge -> (k, n) of a metric of Table 6, where it was measured."""
    table = _table6()
    here = table[(table["metric"] == metric) & (table["n"] != "N/A")]
    return {r["judge"]: (count_of(r["estimate"], int(r["n"])), int(r["n"])) for r in here.to_dict("records")}


def vacuum_counts() -> pd.DataFrame:
    """Tally of the vacuum calls (Table 6): ``judge, choice, n``, a false preference counted as ``first``."""
    rows = []
    for judge, (k, n) in _counts("dark current false preference").items():
        rows += [(judge, "first", k), (judge, "tie", n - k)]
    return pd.DataFrame(rows, columns=["judge", "choice", "n"])


def delta0_counts() -> pd.DataFrame:
    """Tally of the Δ0 pairs (Table 6): ``judge, forward, reverse, n``.

    Stable, positional and raw rates are printed; one-sided commits follow from the identity
    ``non-ties = 2 (stable + positional) + one-sided`` in whole calls, and no preference from the sum. Which side of a
    class was chosen is not printed: the first slot is written.

    Raises
    ------
    AuditError
        If the printed rates have no whole-number solution.
    """
    raw = _counts("raw delta0 false preference")
    stable = _counts("stable cross-sensitivity decomposition")
    positional = _counts("positional false preference decomposition")
    rows = []
    for judge, (non_ties, calls) in raw.items():
        (s, pairs), (p, _) = stable[judge], positional[judge]
        one_sided = non_ties - 2 * (s + p)
        none = pairs - s - p - one_sided
        if calls != 2 * pairs or one_sided < 0 or none < 0:
            raise AuditError(f"The printed Δ0 rates of {judge} have no whole-number solution.")
        answers = (("first", "second", s), ("first", "first", p), ("first", "tie", one_sided), ("tie", "tie", none))
        rows += [(judge, forward, reverse, n) for forward, reverse, n in answers]
    return pd.DataFrame(rows, columns=["judge", "forward", "reverse", "n"])


def ladder_counts() -> pd.DataFrame:
    """Tally of the ladder calls at Δ1 and Δ5 (Table 6): ``judge, delta, outcome, n``. Δ2 to Δ4 are not printed."""
    rows = []
    for delta in (1, 5):
        ties = _counts(f"Δ{delta} tie rate")
        for judge, (k, n) in _counts(f"target sensitivity Δ{delta}").items():
            tie = ties[judge][0]
            rows += [(judge, delta, "correct", k), (judge, delta, "tie", tie), (judge, delta, "wrong", n - k - tie)]
    return pd.DataFrame(rows, columns=["judge", "delta", "outcome", "n"])


def criterion_counts() -> pd.DataFrame:
    """Tally for the criterion shift of Qwen32B (Tables 4 and 6): base and strict prompt on Δ0, Δ1 and Δ5."""
    prompts = {"Qwen32B": "base", _STRICT: "strict"}
    equal = _counts("raw delta0 false preference")
    rows: list[tuple[str, str, float | None, str, int]] = []
    for judge, prompt in prompts.items():
        k, n = equal[judge]
        rows += [(prompt, "same_subset", None, "preference", k), (prompt, "same_subset", None, "tie", n - k)]
    ladder = ladder_counts()
    for r in ladder[ladder["judge"].isin(list(prompts))].to_dict("records"):
        rows.append((prompts[r["judge"]], "ladder", float(r["delta"]), r["outcome"], r["n"]))
    table = pd.DataFrame(rows, columns=["prompt", "stimulus", "delta", "outcome", "n"])
    table["delta"] = table["delta"].astype(float)
    return table.assign(judge="Qwen32B")
