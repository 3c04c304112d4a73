"""How far scores are from the right ones, and in which direction: :func:`score_error`."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.cells import cells
from judgestats.counting.clustering import Cluster, clusters
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError
from judgestats.estimate import Estimate, jackknifed, mean_over_clusters
from judgestats.kernels.cluster_sums import sums_within
from judgestats.kernels.correlation import pearson_without
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.correctness.gold_labels import with_right_scores
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import gold_column
from judgestats.metrics.scales import apart_from_gold, unmeasured
from judgestats.results import estimates
from judgestats.schema.coding import Codes
from judgestats.schema.columns import By, grouping, kind_of, names
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Record


@Measure(
    "How far are the scores from the right ones?",
    "accuracy",
    "R and gold",
    "t over clusters; Pearson: jackknife of Fisher's z",
    "LLM-Rubric (ACL 2024)",
    plot="forest",
    frames=("ratings",),
    needs=(gold_column,),
    terms=(Term("rmse", "root mean square error", bad="higher"), Term("mae", "mean absolute error", bad="higher")),
    have=("gold",),
    assumes="The gold scores are on the judge's scale and have no error of their own; items are independent.",
)
def score_error(
    ratings: IntoFrame,
    gold: str | IntoFrame = "gold",
    *,
    by: By = (),
    average_over: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Error of a judge's scores against the right ones.

    Parameters
    ----------
    ratings : frame
        Scores; the runs of a judge on one response are averaged first.
    gold : str or frame
        Column of `ratings` with the right score; or a frame with ``item`` (and ``system``, ``criterion``, those it has)
        and the right ``score``, ``mean``, ``value`` or ``gold``. Several right scores of one response there (from
        several people, say) are averaged.
    by : str or sequence of str
        Further grouping columns. Name ``criterion`` for one result each.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    cluster : "auto", str or False
        Column that responses share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names
        it in ``method``. False treats all responses as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``rmse``, ``mae`` and ``bias``, the mean of score minus gold (t, with the cluster-robust error), and
        ``pearson`` (t on Fisher's z, from the jackknife of clusters).
        ``n`` is the number of responses with both scores; the flag counts the others. Where score and gold are on
        scales of different length (the top of one is three times that of the other), all but ``pearson`` are NaN with a
        flag.

    Raises
    ------
    SchemaError
        If a response has several gold scores in a column, or a column is missing.
    DesignError
        If no response has a gold score.

    See Also
    --------
    accuracy : Share of right verdicts.
    calibrate : Scores brought to a reference.
    rank_correlation : Rank correlation with a reference.

    Notes
    -----
    RMSE and Pearson's correlation are LLM-Rubric's (Hashemi et al., ACL 2024); RMSE ignores the direction of the
    errors, the correlation ignores scale and offset.

    Errors are skewed, and a few large ones may make up most of their squares: t has no more degrees of freedom than
    their kurtosis allows, and intervals of means allow for their skewness (Hall 1992). Where squared errors are worth
    fewer than 15, (Σe²)²/Σe⁴, a flag says so.

    Examples
    --------
    >>> scores = pd.DataFrame({"judge": "g", "system": "s", "item": list("abcd"), "score": [2, 4, 3, 5],
    ...                        "gold": [1, 4, 3, 4]})
    >>> score_error(scores)[["term", "estimate", "n"]].round(3)
          term  estimate    n
    0     rmse     0.707  4.0
    1      mae     0.500  4.0
    2     bias     0.500  4.0
    3  pearson     0.913  4.0
    """
    ratings = as_runs(ratings, average_over, by)
    columns = clusters(cluster)
    if columns is not None and len(columns) > 1:
        raise DesignError(f"cluster={cluster!r} names several columns. score_error allows one: item or topic, say.")
    present = Study.of(ratings).names
    if kind_of(present) != "ratings":
        raise SchemaError(f"score_error needs ratings, with 'system' and a score. Columns: {', '.join(present)}.")
    groups = list(dict.fromkeys(["judge", *grouping(by, present)]))
    chosen = clustered_by(ratings, groups, cluster)
    if columns is None:
        columns = (chosen.column or "item",)
    extra = [c for c in dict.fromkeys([*names(by), *columns]) if c not in ("judge", "item")]
    means = cells(ratings, extra)
    matched = with_right_scores(means, ratings, gold, extra)
    if not matched["_gold"].notna().any():
        raise DesignError("score_error needs right scores, and no response has one.")
    rows: list[Record] = []
    responses, scores = Factors(matched), matched[["mean", "_gold"]].to_numpy(float)  # once for all groups
    for key, part in matched.groupby(groups, dropna=False, sort=True):
        at, of_group = part.index.to_numpy(), dict(zip(groups, key, strict=True))
        rows += _error_rows(scores[at], responses.take(at), of_group, columns, conf_level, chosen.flag)
    return estimates(rows, groups)


def _error_rows(
    scores: Floats, about: Factors, key: Record, columns: tuple[str, ...], conf_level: float, dependent: str
) -> list[Record]:
    """Four rows of one group, from its scores (N, 2) and the right ones."""
    has_score, has_gold = ~np.isnan(scores).T
    has_both = has_score & has_gold
    unscored, without = int((~has_score).sum()), int((has_score & ~has_gold).sum())
    excluded = flags.join(
        flags.EXCLUDED.of(without, what="without gold"), flags.EXCLUDED.of(unscored, what="without a score")
    )
    score, right = scores[has_both].T
    n = score.size
    if n == 0:
        empty = {"estimate": math.nan, "n": 0.0, "flag": flags.join(flags.NO_DATA, excluded)}
        return [{**key, "term": t, **empty} for t in ("rmse", "mae", "bias", "pearson")]
    error = score - right
    unit = about.take(has_both).codes(columns) if columns else Codes(np.arange(n), np.arange(n))
    column, large = columns[0] if columns else "", flags.few_large_errors(error)
    added = np.column_stack([error**2, np.abs(error), error, np.ones(n)])
    *sums, size = sums_within(added, unit.code, unit.size).T
    means = [mean_over_clusters(k, size, column, conf_level) for k in sums]
    rows = [
        {"term": "rmse", **_alike(means[0].root, large)},
        {"term": "mae", **_alike(means[1], large)},
        {"term": "bias", **_alike(means[2])},
        {"term": "pearson", **_pearson(score, right, unit, column, conf_level, large)},
    ]
    small = flags.SMALL_N if n < 30 else ""
    pair = apart_from_gold(score, right, str(key["judge"]))
    rows = [row if row["term"] == "pearson" else unmeasured(row, pair) for row in rows]
    return [{**key, **row, "n": float(n), "flag": flags.join(row["flag"], dependent, small, excluded)} for row in rows]


def _alike(estimate: Estimate, large: str = "") -> Record:
    """The cells of a mean of errors, flagged in their words."""
    if flags.has(estimate.flag, flags.NO_SPREAD):
        return replace(estimate, flag=flags.without(estimate.flag, flags.NO_SPREAD)).flagged(flags.ERRORS_ALIKE).cells
    return estimate.flagged(large).cells


def _pearson(score: Floats, right: Floats, unit: Codes, column: str, conf_level: float, large: str) -> Record:
    """Pearson's correlation with the jackknife of clusters, or of single responses, on the scale of Fisher's z."""
    row: Record = {"estimate": math.nan, "flag": ""}
    if np.ptp(score) == 0 or np.ptp(right) == 0:
        return {**row, "flag": flags.CONSTANT}
    r = float(np.corrcoef(score, right)[0, 1])
    if abs(r) > 1 - 1e-12:
        return {**row, "estimate": math.copysign(1.0, r), "flag": flags.PERFECT_CORRELATION}
    if score.size < 4:
        return {**row, "estimate": r, "flag": flags.TOO_FEW}
    x, y = ((v - v.mean()) / v.std() for v in (score, right))
    without, size = pearson_without(x, y, unit.code, unit.size)
    return {**row, **jackknifed(r, without, size, column, conf_level).flagged(large).cells}
