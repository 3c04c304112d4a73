"""Which slot does a judge favour, whatever stands in it?"""

from __future__ import annotations

import math
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from judgestats.kernels.proportions import newcombe_paired, wilson
from judgestats.metrics.bias.ties import flag_forced
from judgestats.metrics.rates import rates
from judgestats.results import estimates
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, grouping
from judgestats.schema.counting import tally
from judgestats.schema.pairing import refuse_unknown_order

_METHOD = "Newcombe, two shares of one sample"


def slot_lean(calls: Any, *, by: By = (), cluster: str | None = None, conf_level: float = 0.95) -> pd.DataFrame:
    """Shares of the answers by slot, and the lean towards the first.

    Parameters
    ----------
    calls : frame
        Preferences with a known order, or a tally: ``judge, choice, n``.
    by : str or sequence of str
        Further grouping columns.
    cluster : str, optional
        Column of calls that are not independent (``item``): intervals with an effective n.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``first``, ``second``, ``tie`` and ``invalid`` (shares of all calls; an abstention is a tie);
        ``lean``, the share of first minus the share of second among valid calls, in [-1, 1]; and
        ``first_share_nontie``, the share of first among the calls that took a side. ``n`` is the calls in question.
        Where ties are not allowed, ``tie`` is flagged ``forced choice``.

    Raises
    ------
    DesignError
        If the order shown is not known.

    Notes
    -----
    The interval of ``lean`` is Newcombe's for the difference of two shares of one sample, built of Wilson's for each:
    it stays in [-1, 1] and never has zero width. Only pairs shown in both orders tell a lean apart from candidates
    that happened to be better where they stood.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "choice": ["first", "second", "tie", "invalid"], "n": [352, 79, 141, 4]})
    >>> slot_lean(counts)[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
                     term  estimate  conf_low  conf_high      n
    0               first     0.611     0.571      0.650  576.0
    1              second     0.137     0.111      0.168  576.0
    2                 tie     0.245     0.211      0.282  576.0
    3             invalid     0.007     0.003      0.018  576.0
    4                lean     0.477     0.415      0.534  572.0
    5  first_share_nontie     0.817     0.777      0.850  431.0
    """
    data = nw.from_native(calls)
    refuse_unknown_order(data, data.collect_schema().names())
    table = tally(calls, "slot_lean", by, cluster=cluster)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    choice = table["choice"].replace({"abstain": "tie"}).to_numpy(dtype=object)
    options: dict[str, Any] = {"conf_level": conf_level, "cluster": cluster}
    rows = []
    for term in ("first", "second", "tie", "invalid"):
        rows += rates(table, groups, term, choice == term, **options)
    rows += _lean(table, groups, choice, conf_level, cluster)
    sided = np.isin(choice, ["first", "second"])
    rows += rates(table, groups, "first_share_nontie", choice == "first", sided, **options)
    return estimates(flag_forced(rows, calls, groups, ("tie",)), groups)


def answer_rates(calls: Any, *, by: By = (), cluster: str | None = None, conf_level: float = 0.95) -> pd.DataFrame:
    """Tie and invalid rates, which need no order.

    Parameters
    ----------
    calls : frame
        Preferences, or a tally: ``judge, choice, n``.
    by : str or sequence of str
        Further grouping columns.
    cluster : str, optional
        Column of calls that are not independent: Wilson with an effective n.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``tie`` (abstentions among them) and ``invalid``, as shares of all calls.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "choice": ["first", "tie", "abstain", "invalid"], "n": [5, 2, 1, 2]})
    >>> answer_rates(counts)[["term", "estimate", "n"]]
          term  estimate     n
    0      tie       0.3  10.0
    1  invalid       0.2  10.0
    """
    table = tally(calls, "answer_rates", by, cluster=cluster)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    options: dict[str, Any] = {"conf_level": conf_level, "cluster": cluster}
    rows = rates(table, groups, "tie", table["choice"].isin(["tie", "abstain"]), **options)
    rows += rates(table, groups, "invalid", table["choice"] == "invalid", **options)
    return estimates(flag_forced(rows, calls, groups, ("tie",)), groups)


def _lean(
    table: pd.DataFrame, groups: list[str], choice: NDArray[Any], conf_level: float, cluster: str | None
) -> list[dict[str, Any]]:
    """Rows of the term ``lean``; n and flags are those of the share of first among valid calls."""
    rows = rates(table, groups, "lean", choice == "first", choice != "invalid", conf_level=conf_level, cluster=cluster)
    codes = codes_of(table, groups)
    n = table["n"].to_numpy(dtype=float)
    for g, row in enumerate(rows):
        here = codes.code == g
        counts = np.array([n[here & (choice == c)].sum() for c in ("first", "second", "tie")])
        if cluster is None or not row["n"]:
            row.update(_difference(counts, conf_level))
            continue
        unit = codes_of(table[here], [cluster])
        sizes = [
            np.bincount(unit.code, weights=n[here] * (choice[here] == c), minlength=unit.size)
            for c in ("first", "second", "tie")
        ]
        row.update(_clustered_difference(np.column_stack(sizes), conf_level))
        row["method"] = row["method"].replace("Wilson", _METHOD)
    return rows


def _difference(counts: NDArray[np.float64], conf_level: float) -> dict[str, Any]:
    """Share of the first class minus share of the second, of a multinomial sample of three."""
    total = counts.sum()
    if not total > 0:
        return {
            "estimate": math.nan,
            "std_error": math.nan,
            "conf_low": math.nan,
            "conf_high": math.nan,
            "method": _METHOD,
        }
    lean = (counts[0] - counts[1]) / total
    low, high = newcombe_paired(0.0, counts[0], counts[1], counts[2], conf_level)
    return {
        "estimate": lean,
        "std_error": math.sqrt(_spread(counts) / total),
        "conf_low": low,
        "conf_high": high,
        "method": _METHOD,
    }


def _spread(counts: NDArray[np.float64]) -> float:
    """Variance of one call's lean: p1 + p2 - (p1 - p2)**2."""
    p1, p2, _ = counts / counts.sum()
    return max(float(p1 + p2 - (p1 - p2) ** 2), 0.0)


def _clustered_difference(counts: NDArray[np.float64], conf_level: float) -> dict[str, Any]:
    """The same from (G, 3) counts: n is what the clusters are worth, with t on G - 1, as for a clustered Wilson."""
    counts = counts[counts.sum(axis=1) > 0]
    clusters, total, sums = len(counts), counts.sum(), counts.sum(axis=0)
    lean = (sums[0] - sums[1]) / total
    if clusters < 2:
        return {"estimate": lean, "std_error": math.nan, "conf_low": math.nan, "conf_high": math.nan}
    residual = counts[:, 0] - counts[:, 1] - lean * counts.sum(axis=1)
    variance = clusters / (clusters - 1) * float((residual**2).sum()) / total**2
    spread = _spread(sums)
    if variance == 0 and spread > 0:  # every cluster leans alike: what may hide is a cluster that does not
        unlike = float(wilson(0, clusters, conf_level, df=clusters - 1)[1]) * (1 + abs(lean))
        low, high = max(lean - unlike, -1.0), min(lean + unlike, 1.0)
        return {"estimate": lean, "std_error": 0.0, "conf_low": low, "conf_high": high}
    effective = float(clusters) if spread == 0 else spread / variance
    level = 2 * float(ndtr(stdtrit(clusters - 1, 0.5 + conf_level / 2))) - 1
    first, second, tie = sums / total * effective
    low, high = newcombe_paired(0.0, first, second, tie, level)
    return {"estimate": lean, "std_error": math.sqrt(variance), "conf_low": low, "conf_high": high}
