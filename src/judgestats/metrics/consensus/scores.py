"""Mean scores of each judge for each system: :func:`score_matrix`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.cells import ABOUT, cells
from judgestats.counting.clustering import Cluster
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Calls, Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError
from judgestats.estimate import student_ends
from judgestats.kernels.cluster_robust import linearised_error
from judgestats.kernels.proportions import quotient
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.exclusions import missing_counted
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.scales import across_scales
from judgestats.results import estimates
from judgestats.schema.coding import column_codes, combine, numbers_of, rows_of_codes
from judgestats.schema.columns import CALL, COUNTS, By, grouping, names
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Record

#: Columns of a score matrix after the standard ones.
EXTRA = ("sd", "runs", "items", "mean_of_criteria", "gap")


@Measure(
    "What is each judge's mean score for each system, and how much does it vary?",
    "consensus",
    "R",
    "t over runs, items or clusters of items",
    "merchant_risk, Sec 3.1",
    plot="score_matrix",
    frames=("ratings",),
    sheet=("scores: mean_score",),
    terms=(
        Term("score"),
        Term(
            "mean_score",
            "",
            "score",
            "systems x items scored",
            "no universal direction",
            "The judge's mean score, with equal weights for systems.",
        ),
        Term("missing", "missing scores", "score", "scores requested", "higher", "No score could be read."),
    ),
    assumes="Runs or items are independent; a mean over one item says nothing about other items.",
)
def score_matrix(
    ratings: IntoFrame,
    *,
    by: By = (),
    average_over: By = (),
    per_criterion: bool = False,
    ddof: int = 1,
    overall_criterion: str | None = "final",
    decimals: int | tuple[int, int] | None = None,
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Mean and standard deviation over runs, per judge x system.

    Parameters
    ----------
    ratings : frame
        Raw ratings in any engine, or means per cell (``mean``, and ``sd``, ``runs``). NaN scores are excluded.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns to average over: rows that differ in them count as runs of one rating. A column that splits the ratings
        and is neither here nor in `by` raises an error.
    per_criterion : bool
        One row per criterion in place of the overall score. The overall score of a run is that of the criterion
        `overall_criterion`, or without it the mean of the run's criteria (flagged ``unequal criteria`` if some are
        missing).
    ddof : int
        Divisor ``runs - ddof`` of the sd over runs. (Tables of means have an sd.)
    overall_criterion : str or None
        Criterion of the final score, whose ``gap`` to the mean of the other criteria is checked.
    decimals : int or (int, int), optional
        Printed decimals of final score and criteria, for that check: a gap above half a unit of each is flagged. None
        treats the numbers as exact.
    cluster : "auto", str or False
        Column by which the interval is clustered. ``"auto"`` detects it: items, or a column that groups them. False:
        items.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, ``judge``, ``system`` (``criterion``), the columns of every estimate with term ``score``, and
        ``sd`` (over runs; with several items, pooled within items; NaN for a single run), ``runs`` (the smallest
        number per item), ``items``, ``mean_of_criteria`` and ``gap`` = final minus mean of criteria. ``n`` counts
        scores. The interval is t over runs for one item, t over items (or clusters of items) for several.

    Raises
    ------
    SchemaError
        If a column is missing.
    DesignError
        If a table of means has two rows for a cell.

    See Also
    --------
    consensus_deviation : Distance from the other judges.
    composite : Several criteria to one score.

    References
    ----------
    Understanding LLM Evaluator Behavior (the merchant_risk paper), Sec 3.1.

    Examples
    --------
    >>> runs = pd.DataFrame({"judge": ["a", "a", "a", "a", "b", "b"], "system": ["x", "x", "y", "y", "x", "y"],
    ...                      "item": "1", "replicate": [0, 1, 0, 1, 0, 0], "score": [7.0, 9, 5, 6, 4, 8]})
    >>> scores = score_matrix(runs)
    >>> scores[["judge", "system", "estimate", "sd", "runs", "flag"]].round(3)
      judge system  estimate     sd  runs        flag
    0     a      x       8.0  1.414   2.0
    1     a      y       5.5  0.707   2.0
    2     b      x       4.0    NaN   1.0  single run
    3     b      y       8.0    NaN   1.0  single run

    The wide matrix:

    >>> scores.pivot(index="judge", columns="system", values="estimate")
    system    x    y
    judge
    a       8.0  5.5
    b       4.0  8.0
    """
    study, scores, by, groups = _scores(as_runs(ratings, average_over, by), by, ddof, per_criterion, overall_criterion)
    chosen = clustered_by(study, by, cluster, whole="item")
    result = _over_items(
        _scores_with_cluster(scores, study.data, by, chosen.column), groups, ddof, decimals, conf_level, chosen.column
    )
    several = result["items"] > 1
    result.loc[several, "flag"] = [flags.join(f, chosen.flag) for f in result.loc[several, "flag"]]
    result = across_scales(result, scores, by, (), ("score", *result["term"].unique()))
    return missing_counted(result, study, groups)


def mean_scores(ratings: Calls, by: By, per_criterion: bool, final: str | None) -> tuple[pd.DataFrame, list[str]]:
    """The estimates of :func:`score_matrix` alone, and the columns that split them besides judge and system."""
    _, scores, _, groups = _scores(ratings, by, 1, per_criterion, final)
    columns, mean = Factors(scores), scores["mean"].to_numpy(dtype=float)
    codes = columns.ranked(groups)
    items, total = (np.bincount(codes.code, x, codes.size) for x in (~np.isnan(mean), np.nan_to_num(mean)))
    table = columns.take(codes.first).frame(groups, estimate=quotient(total, items, items > 0))
    return table, [c for c in groups if c not in ("judge", "system")]


def _scores(
    ratings: Calls, by: By, ddof: int, per_criterion: bool, final: str | None
) -> tuple[Study, pd.DataFrame, list[str], list[str]]:
    """The study, its cells of the final score or of each criterion, the `by` columns, and those of the means."""
    study = Study.of(ratings)
    by = [c for c in grouping(names(by), study.names) if c not in ("judge", "system")]  # they always split the result
    table, groups = cells(study, by, ddof), [*by, "judge", "system"]
    is_final = table["criterion"].to_numpy() == final if final is not None else np.zeros(len(table), dtype=bool)
    if per_criterion:
        criteria = table[~is_final] if not is_final.all() else table
        return study, criteria.assign(_unequal=False, _no_sd=False), by, [*dict.fromkeys([*groups, "criterion"])]
    if is_final.any():
        scores = _with_gap(table[is_final], table[~is_final], by)
    elif table["criterion"].nunique() < 2:
        scores = table.assign(_unequal=False, _no_sd=False)
    else:
        scores = _composite(study, table, by, ddof)
    return study, scores, by, groups


def _scores_with_cluster(scores: pd.DataFrame, data: Any, by: Sequence[str], column: str) -> pd.DataFrame:
    """Add the cluster of each score's item."""
    if column == "item" or column in scores.columns:
        return scores.assign(_cluster=scores[column])
    keys = [*dict.fromkeys([*by, "item"])]
    item_clusters = data.lazy().select(*dict.fromkeys([*keys, column])).unique().collect(backend="pandas").to_native()
    if item_clusters.duplicated(keys).any():
        raise DesignError(f"cluster={column!r} differs within an item. Name a column with one value per item.")
    item_clusters = item_clusters.rename(columns={column: "_cluster"}).astype({k: scores[k].dtype for k in keys})
    return scores.merge(item_clusters, on=keys, how="left")


def composite_runs(study: Study, by: Sequence[str]) -> Study | None:
    """Mean of the criteria of each run, or None where the runs of a cell cannot be identified."""
    present = study.names
    numbered = "replicate" if "replicate" in present else CALL
    run = [c for c in (numbered, COUNTS) if c in present and c not in by]
    keys = list(dict.fromkeys([*by, "judge", *(c for c in ("system", "item") if c in present), *run]))
    columns = study.in_memory([*keys, "criterion", "score"]).columns
    codes, rows = columns.codes(keys), len(columns)
    twice = columns.n_distinct([*dict.fromkeys([*keys, "criterion"])]) < rows
    if twice or (CALL in run and codes.size == rows):  # criteria asked for in calls apart
        return None
    score = numbers_of(columns.series("score"))
    count = np.bincount(codes.code, ~np.isnan(score), codes.size)
    mean = quotient(np.bincount(codes.code, np.nan_to_num(score), codes.size), count, count > 0)
    unequal = (count < len(columns.labels("criterion"))) & (count > 0)
    return Study.of(columns.take(codes.first).frame(keys, score=mean, _unequal=unequal))


def _composite(study: Study, table: pd.DataFrame, by: Sequence[str], ddof: int) -> pd.DataFrame:
    """Cells of the mean of the criteria of each run, or, if runs cannot be identified, of their means."""
    runs = composite_runs(study, by) if "score" in study.names else None
    if runs is None:
        return _mean_of_criteria(table, [*dict.fromkeys([*by, "judge", "system", "item"])])
    counted = runs.occurring.columns
    cell = counted.ranked([*(c for c in by if c not in ABOUT), "judge", *(c for c in ABOUT if c in runs.names)])
    unequal = np.bincount(cell.code, counted.series("_unequal"), cell.size) > 0  # cells are in this order
    return cells(runs, by, ddof).assign(_unequal=unequal, _no_sd=False)


def _mean_of_criteria(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Means of criterion means: the sd of the final score needs the runs."""
    total = table["criterion"].nunique()
    result = (
        table.groupby(list(keys), dropna=False, sort=False)
        .agg(mean=("mean", "mean"), runs=("runs", "min"), n_missing=("n_missing", "sum"), _criteria=("mean", "count"))
        .reset_index()
    )
    return result.assign(sd=np.nan, _unequal=result["_criteria"].between(1, total - 1), _no_sd=True)


def _with_gap(final: pd.DataFrame, criteria: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Cells of the final score, with the mean of the other criteria."""
    final = final.assign(_unequal=False, _no_sd=False)
    if criteria.empty:
        return final
    keys = [*dict.fromkeys([*by, "judge", "system", "item"])]
    means = _mean_of_criteria(criteria, keys)[[*keys, "mean", "_unequal"]].rename(columns={"mean": "mean_of_criteria"})
    return (
        final.drop(columns="_unequal")
        .merge(means, on=keys, how="left")
        .assign(_unequal=lambda t: t["_unequal"].eq(True))
    )


def _over_items(
    scores: pd.DataFrame,
    groups: list[str],
    ddof: int,
    decimals: int | tuple[int, int] | None,
    conf_level: float,
    column: str,
) -> pd.DataFrame:
    """Estimates: means over the items of each group."""
    codes = Factors(scores).codes(groups)

    def sums(values: Any) -> Floats:
        return np.bincount(codes.code, np.nan_to_num(values), codes.size).astype(np.float64)

    def extreme(pick: np.ufunc, values: Floats) -> Floats:
        result = np.full(codes.size, np.nan)
        pick.at(result, codes.code, values)
        return result

    mean, sd = (scores[c].to_numpy(dtype=float) for c in ("mean", "sd"))
    scored = ~np.isnan(mean)
    runs = np.where(scored, scores["runs"].to_numpy(dtype=float), np.nan)
    free = np.where(np.isnan(sd), np.nan, np.maximum(runs - ddof, 0))
    items = sums(scored)
    table: Record = {
        "items": items,
        "estimate": quotient(sums(mean), items, items > 0),
        "runs": extreme(np.fmin, runs),
        "most": extreme(np.fmax, runs),
        "unequal": sums(scores["_unequal"].eq(True)) > 0,
        "no_sd": sums(scores["_no_sd"].eq(True)) > 0,
        "missing": sums(scores["n_missing"].to_numpy(dtype=float)),
        "mean_of_criteria": np.full(codes.size, np.nan),
    }
    distance = mean - table["estimate"][codes.code]
    unit = combine([(codes.code, codes.size), column_codes(scores["_cluster"])], len(scores))
    of_unit, size = codes.code[unit.first], np.bincount(unit.code, scored, unit.size)
    influence = np.bincount(unit.code, np.nan_to_num(distance), unit.size).astype(np.float64)
    each = [(influence[rows], size[rows].astype(np.float64)) for rows in rows_of_codes(of_unit, codes.size)]
    table["over_clusters"], table["df"] = np.array([linearised_error(*one) for one in each]).reshape(-1, 2).T
    table["few"] = [flags.few_clusters(n) for _, n in each]
    table["by"] = [methods.clustered(methods.T, f"{column}s", n, linked=" over ") for _, n in each]
    if "mean_of_criteria" in scores:
        of_criteria = scores["mean_of_criteria"].to_numpy(dtype=float)
        has_criteria = ~np.isnan(of_criteria)
        table["mean_of_criteria"] = quotient(sums(of_criteria), sums(has_criteria), sums(has_criteria) > 0)
        both = sums(has_criteria & scored)
        table["gap"] = quotient(sums(np.where(has_criteria, mean, 0.0)), both, both > 0) - table["mean_of_criteria"]
    else:
        table["gap"] = table["mean_of_criteria"]
    total, of_free = sums(runs), sums(free)
    pooled = np.sqrt(quotient(sums(free * sd**2), of_free, of_free > 0))
    table["sd"] = np.where(items > 1, pooled, extreme(np.fmax, sd))
    table["n"] = np.where(np.isnan(table["runs"]), items, total)
    se, df = _standard_error(table, ddof)
    table["std_error"] = se
    table["conf_low"], table["conf_high"] = student_ends(table["estimate"], se, df, conf_level)
    tolerance = 1e-9
    if decimals is not None:
        of_final, of_criteria = (decimals, decimals) if isinstance(decimals, int) else decimals
        tolerance = 0.5 * 10.0**-of_final + 0.5 * 10.0**-of_criteria + 1e-9
    keys: Record = {name: scores[name].iloc[codes.first].tolist() for name in groups}
    cells_of = zip(*keys.values(), *(list(v) for v in table.values()), strict=True)
    rows = [_estimate_row(dict(zip([*keys, *table], row, strict=True)), tolerance) for row in cells_of]
    return estimates(rows, groups, EXTRA)


def _standard_error(table: Record, ddof: int) -> tuple[Any, Any]:
    """Standard error and degrees of freedom: over runs for one item, over clusters of items for several."""
    one, runs, items = table["items"] == 1, table["runs"], table["items"]
    with np.errstate(divide="ignore", invalid="ignore"):
        over_runs = np.where(runs > 1, table["sd"] * np.sqrt((runs - ddof) / (runs - 1) / runs), np.nan)
        over_items = table["over_clusters"] / items
    return np.where(one, over_runs, over_items), np.where(one, runs - 1, table["df"])


def _estimate_row(row: Record, tolerance: float) -> Record:
    """Method and flags of one estimate."""
    several = row["items"] > 1
    has_error = row["std_error"] >= 0
    method = (row["by"] if several else methods.T_OF_RUNS) if has_error else methods.NONE
    cautions = {
        flags.NO_DATA: row["items"] == 0,
        flags.SINGLE_RUN: row["runs"] == 1,
        flags.UNEQUAL_RUNS: row["most"] > row["runs"],
        flags.UNEQUAL_CRITERIA: row["unequal"],
        flags.SD_UNKNOWN: row["no_sd"] and row["items"] > 0,
        flags.N_SCORES_EXCLUDED.of(row["missing"]): row["missing"] > 0,
        row["few"]: several,
        flags.CONSTANT: has_error and np.isnan(row["conf_low"]),
        flags.FINAL_NOT_MEAN: abs(row["gap"]) > tolerance,
    }
    flag = flags.join(*(name for name, true in cautions.items() if true))
    return {**row, "term": "score", "method": method, "flag": flag}
