"""How far scores are from the right ones, and in which direction: :func:`score_error`."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.cells import cells
from judgestats.counting.clustering import Cluster, clusters
from judgestats.counting.counts import Counts
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.cluster_sums import clusters_note, sums_within
from judgestats.kernels.correlation import pearson_of_totals
from judgestats.kernels.proportions import clustered_mean, normal_quantile
from judgestats.metrics.clustered import clustered_by, jackknifed
from judgestats.metrics.correctness.gold_labels import with_right_scores
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import gold_column
from judgestats.metrics.scales import apart_from_gold, unmeasured
from judgestats.results import estimates, with_interval
from judgestats.schema.coding import Codes
from judgestats.schema.columns import By, grouping, kind_of, names
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Record


@Measure(
    "How far are the scores from the right ones?",
    "accuracy",
    "R and gold",
    "bootstrap; bias: t over clusters; Pearson: Fisher, clustered",
    "LLM-Rubric (ACL 2024)",
    plot="forest",
    frames=("ratings",),
    needs=(gold_column,),
    terms=(Term("rmse", "root mean square error"), Term("mae", "mean absolute error")),
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
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
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
        Further grouping columns (``criterion``, for one result each).
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    cluster : "auto", str or False
        Column of `ratings` that responses share, by which all intervals are clustered. ``"auto"`` detects it (``item``,
        where several systems are rated on each). False treats all responses as independent, with a flag where they are
        not.
    n_resamples, seed
        Of the bootstrap.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``rmse`` and ``mae`` (percentile bootstrap of clusters), ``bias``, the mean of score minus gold (t,
        with the cluster-robust error), and ``pearson`` (Fisher's z; clustered, t from the jackknife of clusters).
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
    plan = Bootstrap("percentile", columns, None, n_resamples, seed, conf_level)
    rows: list[Record] = []
    responses, scores = Factors(matched), matched[["mean", "_gold"]].to_numpy(float)  # once for all groups
    for key, part in matched.groupby(groups, dropna=False, sort=True):
        at, of_group = part.index.to_numpy(), dict(zip(groups, key, strict=True))
        rows += _error_rows(scores[at], responses.take(at), of_group, plan, chosen.flag)
    return estimates(rows, groups)


def _error_rows(scores: Floats, about: Factors, key: Record, plan: Bootstrap, dependent: str) -> list[Record]:
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
    added = np.column_stack([np.ones(n), error**2, np.abs(error)])
    counts = Counts(about.take(has_both), np.ones(n))
    unit = counts.columns.codes(plan.cluster) if plan.cluster else Codes(np.arange(n), np.arange(n))
    rmse = counts.resampled(added, lambda totals: np.sqrt(totals[:, 1] / totals[:, 0]), key, plan=plan)
    mae = counts.resampled(added, lambda totals: totals[:, 2] / totals[:, 0], key, plan=plan)
    rows = [
        {"term": "rmse", "estimate": math.sqrt(float((error**2).mean())), **rmse},
        {"term": "mae", "estimate": float(np.abs(error).mean()), **mae},
        {"term": "bias", **_mean_error(error, unit, plan)},
        {"term": "pearson", **_pearson(score, right, unit, plan)},
    ]
    small = flags.SMALL_N if n < 30 else ""
    pair = apart_from_gold(score, right, str(key["judge"]))
    rows = [row if row["term"] == "pearson" else unmeasured(row, pair) for row in rows]
    return [{**key, **row, "n": float(n), "flag": flags.join(row["flag"], dependent, small, excluded)} for row in rows]


def _mean_error(error: Floats, unit: Codes, plan: Bootstrap) -> Record:
    """Mean error with its clustered interval."""
    k, size = sums_within(np.column_stack([error, np.ones_like(error)]), unit.code, unit.size).T
    mean, *ends = clustered_mean(k, size, plan.conf_level)
    flag = flags.join(flags.few_clusters(size), flags.ERRORS_ALIKE if ends[0] == 0 else "")
    row: Record = {"estimate": mean, "method": f"t{_clustering_words(plan, size)}", "flag": flag}
    return row if ends[0] == 0 else with_interval(*ends, **row)


def _clustering_words(plan: Bootstrap, size: Floats) -> str:
    return f", clustered by {plan.cluster[0]} ({clusters_note(size)})" if plan.cluster else ""


def _pearson(score: Floats, right: Floats, unit: Codes, plan: Bootstrap) -> Record:
    """Pearson's correlation with the interval of Fisher's z."""
    row: Record = {"estimate": math.nan, "method": "Pearson, Fisher z", "flag": ""}
    if np.ptp(score) == 0 or np.ptp(right) == 0:
        return {**row, "flag": flags.CONSTANT}
    r = float(np.corrcoef(score, right)[0, 1])
    if abs(r) > 1 - 1e-12:
        return {**row, "estimate": math.copysign(1.0, r), "flag": flags.PERFECT_CORRELATION}
    if score.size < 4:
        return {**row, "estimate": r, "flag": flags.TOO_FEW}
    if unit.size < score.size:
        x, y = ((v - v.mean()) / v.std() for v in (score, right))
        sums = sums_within(np.column_stack([x**0, x, y, x * x, y * y, x * y]), unit.code, unit.size)
        without = pearson_of_totals(sums.sum(axis=0) - sums)
        return {**row, "estimate": r, **jackknifed(r, without, sums[:, 0], plan.cluster[0], plan.conf_level)}
    se = (1 - r**2) / math.sqrt(score.size - 3)
    half = normal_quantile(plan.conf_level) * se / (1 - r**2)
    low, high = math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    return {**row, "estimate": r, "std_error": se, "conf_low": low, "conf_high": high, "flag": ""}
