"""Spread of each judge's repeats, and its ratio between judges: :func:`run_sd`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import chdtri, fdtr, fdtri

from judgestats import flags, methods
from judgestats.counting.cells import cells, order_of_cells, score_panel
from judgestats.counting.clustering import Cluster
from judgestats.counting.reply_errors import ReplyErrors, reply_errors
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.estimate import mean_over_clusters
from judgestats.kernels.adjustment import holm
from judgestats.kernels.cluster_robust import jackknife_interval
from judgestats.kernels.proportions import quotient
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.exclusions import missing_counted
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.scales import across_scales
from judgestats.results import estimates
from judgestats.schema.coding import compact
from judgestats.schema.columns import CALL, By, grouping, names
from judgestats.schema.factors import Factors, factor_of
from judgestats.typing import Floats, Integers, Record, Rows

#: Clusters that the jackknife needs; with fewer, the repeats of a rating are taken as normal.
LEAST = 10
_ABOUT = ("judge", "system", "item", "criterion")


@Measure(
    "Does the judge repeat its score, and which judge does so best?", "consensus", "R",
    "t of log sd, jackknife of items; few items: chi-square, ratio: F", "merchant_risk, Sec 3.1",
    plot="forest", frames=("ratings",), nothing="no rating is repeated: repeats have a second value in 'replicate'",
    sheet=("scores: run_sd",), table=("run_sd",), arguments=lambda *_: {"ratios": False},
    terms=(
        Term("run_sd", "spread over runs", "score", "scores with repeats", "higher",
             "Standard deviation of the judge's repeats of one rating.", symbol="σ"),
        Term("ratio", "ratio of the spreads of two judges", neutral=1.0),
    ),
    have=("repeats",),
    assumes="Repeats of a call are independent of each other, and their spread is the same for all systems compared.",
)  # fmt: skip
def run_sd(
    ratings: IntoFrame,
    *,
    by: By = (),
    average_over: By = (),
    ratios: bool = True,
    cluster: Cluster = "auto",
    ddof: int = 1,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Standard deviation of each judge's repeats of one rating, and its ratio between judges.

    Parameters
    ----------
    ratings : frame
        Ratings with repeats numbered in ``replicate``, or means per cell with ``sd`` and ``runs``. Every criterion
        counts: remove a total first, or keep it alone.
    by : str or sequence of str
        Further grouping columns. Name ``criterion`` or ``system``, say.
    average_over : str or sequence of str
        Columns whose values count as repeats, as in :func:`score_matrix`.
    ratios : bool
        Compare each two judges. False gives the spreads alone, which is faster with many judges.
    cluster : "auto", str or False
        Column by which intervals are clustered. ``"auto"`` detects it: items, or a column that groups them. False:
        every rating is a cluster of its own.
    ddof : int
        Divisor ``runs - ddof`` of the standard deviations in raw ratings.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, ``judge``, ``other``, the columns of every estimate, ``p_value`` and ``p_adjusted`` (Holm,
        over the pairs of a group). Term ``run_sd``, with ``other`` empty: root mean square of the standard deviations.
        Term ``ratio``: the ``run_sd`` of ``judge`` over that of ``other``, on the ratings that both repeated; a ratio
        above 1 means that ``judge`` is less stable. ``n`` counts ratings.

    Raises
    ------
    SchemaError
        If a column is missing.
    DesignError
        If a column splits the ratings and is neither in `by` nor in `average_over`.

    See Also
    --------
    score_matrix : Mean scores of judges and systems.
    icc : Intraclass correlations.

    Notes
    -----
    With 10 clusters or more, or clusters of several items: Student's t of the log, from the jackknife of clusters,
    paired for a ratio, with Satterthwaite's degrees of freedom. With fewer items:
    chi-square, for a ratio F, both with Satterthwaite's degrees of freedom; they take repeats as normal and ratings as
    independent, except those of one reply (``call``), and a flag says so. A rounded scale makes repeats of a stable
    judge equal: where all are, there is no interval.

    Source: merchant_risk paper, Section 3.1 (contribution 2).

    Examples
    --------
    >>> means = pd.DataFrame({"judge": ["a", "a", "b", "b"], "system": ["x", "y"] * 2, "mean": [8.0, 7, 8, 6],
    ...                       "sd": [0.2, 0.2, 0.4, 0.4], "runs": 10})
    >>> run_sd(means)[["judge", "other", "term", "estimate", "conf_low", "conf_high", "n"]].round(2)
      judge other    term  estimate  conf_low  conf_high    n
    0     a        run_sd       0.2      0.15       0.30  2.0
    1     b        run_sd       0.4      0.30       0.59  2.0
    2     a     b   ratio       0.5      0.31       0.81  2.0
    """
    ratings = as_runs(ratings, average_over, by)
    present = Study.of(ratings).names
    groups = [c for c in grouping(by, present, "ratings") if c != "judge"]
    chosen = clustered_by(ratings, groups, cluster, whole="item")
    more = [c for c in dict.fromkeys([*groups, chosen.column]) if c and c not in _ABOUT]
    table, panel = cells(ratings, more, ddof), score_panel(ratings, more, ddof)
    if "score" in present and not names(average_over) and not {"replicate", CALL} & {*present}:
        table["sd"] = math.nan  # several scores of an item that nothing numbers are not known to be repeats
    own = [c for c in (*_ABOUT, *more) if c != "judge"]
    unit = Factors(table).codes(own).code  # what is rated, under which condition
    shared = table[chosen.column or "item"]
    replies, order = reply_errors(ratings, panel), order_of_cells(panel)
    of_unit = replies.block[order] if cluster is False else pd.factorize(shared)[0]
    table = table.assign(_unit=unit, _cluster=of_unit, _row=order)
    rows: list[Record] = []
    for key, part in table.groupby(groups, dropna=False, sort=True) if groups else [((), table)]:
        label = dict(zip(groups, key, strict=True))
        rows += [
            {**label, **row, "flag": flags.join(chosen.flag, row["flag"])}
            for row in _of_group(part, ratios, conf_level, replies)
        ]
    spreads = estimates(rows, [*groups, "judge", "other"], ["p_value", "p_adjusted"], sort=False)
    spreads = across_scales(spreads, table, groups, ("ratio",), ("run_sd",))
    return missing_counted(spreads, ratings, groups)


class _Repeats(NamedTuple):
    """Ratings that a judge repeated."""

    unit: Integers  # what is rated, under which condition
    cluster: Integers
    item: Integers
    row: Integers
    squares: Floats  # variance of the runs of each
    df: Floats

    def at(self, rows: Rows) -> _Repeats:
        """Some of them."""
        return _Repeats(*(values[rows] for values in self))  # type: ignore[arg-type]


def _of_group(part: pd.DataFrame, compared: bool, conf_level: float, replies: ReplyErrors) -> list[Record]:
    """Spread of each judge of a group, and the ratio of each two."""
    judge, sd = factor_of(part["judge"]), part["sd"].to_numpy(dtype=float)
    unit, cluster, order = (part[c].to_numpy() for c in ("_unit", "_cluster", "_row"))
    whole = _Repeats(unit, cluster, factor_of(part["item"]).code, order, sd**2, part["runs"].to_numpy(dtype=float) - 1)
    sides = {label: whole.at((judge.code == j) & ~np.isnan(sd)) for j, label in enumerate(judge.labels)}
    rows = [
        {"judge": label, "other": "", "term": "run_sd", **_cells([side], conf_level, replies)}
        for label, side in sides.items()
    ]
    if not compared:
        return rows
    ratios = []
    for one, two in combinations([label for label, side in sides.items() if side.unit.size], 2):
        pair = [sides[label] for label in (one, two)]
        both, *places = np.intersect1d(pair[0].unit, pair[1].unit, return_indices=True)
        lost = max(side.unit.size for side in pair) - both.size
        row = _cells([side.at(rows) for side, rows in zip(pair, places, strict=True)], conf_level, replies)
        row["flag"] = flags.join(flags.EXCLUDED.of(lost, what="rating(s) that one judge did not repeat"), row["flag"])
        ratios.append({"judge": one, "other": two, "term": "ratio", **row})
    p = np.array([row.get("p_value", math.nan) for row in ratios], dtype=float)
    tested = np.isfinite(p)
    p[tested] = holm(p[tested])
    return rows + [{**row, "p_adjusted": q} for row, q in zip(ratios, p, strict=True)]


def _cells(sides: Sequence[_Repeats], conf_level: float, replies: ReplyErrors) -> Record:
    """Cells of the spread of one judge, or of the ratio of two on the same ratings."""
    n, squares = sides[0].unit.size, [side.squares for side in sides]
    if not n:
        return {"estimate": math.nan, "n": 0, "flag": flags.SINGLE_RUN if len(sides) == 1 else flags.NO_DATA}
    variances = [float(s.mean()) for s in squares]
    value = math.sqrt(variances[0])
    if len(sides) == 2:
        value = math.sqrt(variances[0] / variances[1]) if variances[1] > 0 else math.nan
    row = {"estimate": value, "n": n, "flag": flags.ZERO_BASE if math.isnan(value) else flags.NO_SPREAD}
    if min(variances) <= 0:
        return row
    levels, code = np.unique(sides[0].cluster, return_inverse=True)
    g, tail = levels.size, (1 - conf_level) / 2
    of_items = np.unique(sides[0].item).size > g  # clusters are of several items
    large = flags.join(*(flags.few_large_errors(np.sqrt(s)) for s in squares))
    if of_items and g == 1:
        return {**row, "flag": flags.ONE_UNIT}
    if of_items or g >= LEAST:
        size = n - np.bincount(code)
        logs = [0.5 * _log((s.sum() - np.bincount(code, s)) / size) for s in squares]
        without = logs[0] - (logs[1] if len(logs) == 2 else 0.0)
        if not np.isfinite(without).all():  # without the one cluster whose repeats differ, the log is infinite
            return {**row, "flag": flags.ONE_CLUSTER_DIFFERS}
        sizes = np.bincount(code).astype(float)
        if len(sides) == 1:
            sums = np.bincount(code, squares[0]).astype(float)
            mean = mean_over_clusters(sums, sizes, "", conf_level, method=methods.ROOT_OF_MEAN).root
            return {**row, **mean.flagged(large).cells, "n": n}
        error, low, high, p = jackknife_interval(math.log(value), without, sizes, conf_level)
        if math.isnan(error):
            return {**row, "flag": flags.NO_SPREAD}
        with np.errstate(over="ignore"):
            ends = np.exp([low, high]).tolist()
        method, flag = methods.clustered(methods.JACKKNIFE_LOG, "", sizes), flags.join(flags.few_clusters(sizes), large)
    else:
        df = [_freedom(side.squares, side.df, side.row, replies) for side in sides]
        if len(sides) == 1:
            error = math.sqrt(0.5 / df[0])
            low, high = (math.sqrt(df[0] / chdtri(df[0], q)) for q in (tail, 1 - tail))
            method = methods.CHI_SQUARE.noting(f"({df[0]:.1f} df)", " ")
        else:
            error = math.sqrt(0.5 / df[0] + 0.5 / df[1])
            low, high = (1 / math.sqrt(fdtri(*df, q)) for q in (1 - tail, tail))
            method = methods.F.noting(f"({df[0]:.1f} and {df[1]:.1f} df)", " ")
            below = float(fdtr(*df, variances[0] / variances[1]))
            p = 2 * min(below, 1 - below)
        ends = [value * low, value * high]
        flag = flags.NORMAL_RUNS
    cells_of_interval = {**row, "std_error": value * error, "conf_low": ends[0], "conf_high": ends[1]}
    return {**cells_of_interval, "method": method, "flag": flag, **({"p_value": p} if len(sides) == 2 else {})}


def _log(x: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        result: Floats = np.log(x)
    return result


def _freedom(squares: Floats, df: Floats, units: Integers, replies: ReplyErrors) -> float:
    """Satterthwaite's degrees of freedom of a mean of variances, at most their sum; those of a reply vary together."""
    block, occurring = compact(replies.block[units], replies.df.size)
    total, alone, of_df, size = (np.bincount(block, w) for w in (squares, squares**2 / (df + 2), df, np.ones(df.size)))
    products = replies.squared_covariances(units)[occurring] if replies.certain else total**2
    nu = of_df / size
    unbiased = quotient(nu * products - total**2, (nu - 1) * (nu + 2))  # of the squared covariances, over nu
    each = np.fmax(alone, np.where(nu > 1, unbiased, products / (nu + 2)))
    return min(float(total.sum() ** 2 / each.sum()), float(df.sum()))
