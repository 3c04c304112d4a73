"""The dark_current paper: counts behind its printed rates, and every number recomputed from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from judgestats.errors import AuditError
from judgestats.metrics.datasheets import profile
from judgestats.metrics.psychometrics import (
    criterion_shift,
    d_prime,
    dark_current,
    delta0,
    target_sensitivity,
)
from judgestats.published.catalogue import load
from judgestats.published.checks import Check

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


def checks() -> Iterator[Check]:
    """Every printed number of Tables 3, 4 and 6 that others determine, beside its recomputed twin."""
    equal = delta0(delta0_counts())
    ladder = target_sensitivity(ladder_counts())
    vacuum = dark_current(vacuum_counts())
    yield from _table6_checks(vacuum, equal, ladder)
    yield from _table3_checks(vacuum, equal, ladder)
    yield from _table4_checks(equal, ladder)


def _find(table: pd.DataFrame, judge: str, term: str, delta: int | None = None) -> dict[str, Any]:
    here = table[(table["judge"] == judge) & (table["term"] == term)]
    if delta is not None:
        here = here[here["delta"] == delta]
    return dict(here.iloc[0])


def _table6_checks(vacuum: pd.DataFrame, equal: pd.DataFrame, ladder: pd.DataFrame) -> Iterator[Check]:
    sources: dict[str, tuple[pd.DataFrame, str, int | None]] = {
        "dark current false preference": (vacuum, "dark_current", None),
        "raw delta0 false preference": (equal, "raw_false_preference", None),
        "Δ0 tie rate": (equal, "tie_rate", None),
        "target sensitivity Δ1": (ladder, "target_sensitivity", 1),
        "Δ1 tie rate": (ladder, "miss_by_tie", 1),
        "target sensitivity Δ5": (ladder, "target_sensitivity", 5),
        "Δ5 tie rate": (ladder, "miss_by_tie", 5),
        "stable cross-sensitivity decomposition": (equal, "stable_cross_sensitivity", None),
        "positional false preference decomposition": (equal, "positional_false_preference", None),
    }
    for r in _table6().to_dict("records"):
        if r["n"] == "N/A":
            continue
        if r["metric"].startswith("d'"):
            yield Check("Table 6", f"{r['judge']}, {r['metric']}", r["estimate"], _ceiling_d_prime(int(r["n"])))
        if r["metric"] not in sources:
            continue
        table, term, delta = sources[r["metric"]]
        row = _find(table, r["judge"], term, delta)
        for column in ("estimate", "conf_low", "conf_high"):
            if r[column] != "N/A":
                yield Check("Table 6", f"{r['judge']}, {r['metric']}, {column}", r[column], row[column])


def _ceiling_d_prime(n: int) -> float:
    counts = pd.DataFrame(
        {
            "judge": "any",
            "delta": 5,
            "target_slot": ["first", "second"],
            "choice": ["first", "second"],
            "n": [n // 2, n - n // 2],
        }
    )
    return float(d_prime(counts)["estimate"].iloc[0])


def _table3_checks(vacuum: pd.DataFrame, equal: pd.DataFrame, ladder: pd.DataFrame) -> Iterator[Check]:
    sketches = profile(pd.concat([vacuum, equal])).set_index("judge")["profile"]
    columns: dict[str, tuple[pd.DataFrame, str, int | None]] = {
        "dark_current": (vacuum, "dark_current", None),
        "raw_delta0_false_preference": (equal, "raw_false_preference", None),
        "stable_cross_sensitivity": (equal, "stable_cross_sensitivity", None),
        "positional_false_preference": (equal, "positional_false_preference", None),
        "delta1": (ladder, "target_sensitivity", 1),
        "delta5": (ladder, "target_sensitivity", 5),
    }
    for r in load("dark_current/table3", printed=True).to_dict("records"):
        for column, (table, term, delta) in columns.items():
            yield Check(
                "Table 3", f"{r['judge']}, {column}", r[column], _find(table, r["judge"], term, delta)["estimate"]
            )
        yield Check(
            "Table 3",
            f"{r['judge']}, profile",
            r["profile"],
            sketches[r["judge"]],
            comment="a sketch; the thresholds are ours",
        )


def _table4_checks(equal: pd.DataFrame, ladder: pd.DataFrame) -> Iterator[Check]:
    metrics: dict[str, tuple[pd.DataFrame, str, int | None]] = {
        "Δ0 raw false preference": (equal, "raw_false_preference", None),
        "pair-level Δ0 no-preference": (equal, "no_preference", None),
        "ΔQ = 1 target sensitivity": (ladder, "target_sensitivity", 1),
        "ΔQ = 1 tie rate": (ladder, "miss_by_tie", 1),
        "ΔQ = 1 wrong-choice rate": (ladder, "wrong_choice_rate", 1),
        "ΔQ = 1 accuracy among non-ties": (ladder, "non_tie_accuracy", 1),
        "ΔQ = 5 target sensitivity": (ladder, "target_sensitivity", 5),
    }
    judges = {"baseline": "Qwen32B", "strict": _STRICT}
    for r in load("dark_current/table4", printed=True).to_dict("records"):
        if r["metric"] not in metrics:
            continue
        table, term, delta = metrics[r["metric"]]
        row = _find(table, judges[r["arm"]], term, delta)
        for column in ("estimate", "conf_low", "conf_high"):
            if r[column]:
                yield Check("Table 4", f"{r['arm']}, {r['metric']}, {column}", r[column], row[column])


def extras() -> pd.DataFrame:
    """What the paper does not print and its counts give: one-sided commits, no preference, ΔC and its price."""
    equal = delta0(delta0_counts())
    shift = criterion_shift(criterion_counts(), "base", "strict")
    return pd.concat([equal[equal["term"].isin(["one_sided_commit", "no_preference"])], shift], ignore_index=True)
