"""How well scores tell yes from no: :func:`roc` and :func:`roc_curve`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import stdtr

from judgestats import flags, methods
from judgestats.arguments import checked_arguments
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import size_flag
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, suggestion
from judgestats.estimate import ON_LOGIT, POINTS, Estimate, student, student_ends, varies
from judgestats.kernels.cluster_robust import linearised_error
from judgestats.kernels.proportions import wilson
from judgestats.kernels.receiver_operating import (
    auroc,
    average_precision,
    levels,
    operating_points,
    placements,
    precision_bias,
    precision_influence,
    two_sample_variance,
)
from judgestats.kernels.resampling import cluster_index, generator, percentile_interval
from judgestats.metrics.correctness.score_labels import Detection, detections
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.references import Humans
from judgestats.results import estimates, with_interval
from judgestats.schema.columns import By, names
from judgestats.schema.opening import engine_errors
from judgestats.typing import Floats, Integers, Mask, Record, Seed
from judgestats.wording import Method

#: Numbers drawn at a time.
_DRAWS = 2**22


@Measure(
    "How well do the scores tell yes from no?",
    "accuracy",
    "R",
    "DeLong, Obuchowski: t on the logit; operating points: percentile bootstrap",
    "DeLong et al. 1988; Obuchowski 1997",
    plot="roc, precision_recall",
    terms=(
        Term("auroc", "area under the ROC curve", neutral=0.5),
        Term("average_precision"),
        Term("sensitivity_at_fpr", "sensitivity at the false positive rate"),
        Term("threshold_at_fpr", "threshold at the false positive rate"),
        Term("partial_auroc", "area up to the false positive rate"),
        Term("auroc_difference", "difference of areas", neutral=0.0),
    ),
    have=("gold",),
    assumes="The labels are right; a higher score says yes more strongly; items are independent.",
)
def roc(
    data: IntoFrame,
    *,
    humans: Humans | None = None,
    gold: str | None = None,
    value: str | None = None,
    positive: object = None,
    fpr: float | Sequence[float] | None = None,
    standardised: bool = False,
    baseline: str | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Area under the ROC curve of each judge's scores, average precision, and operating points.

    Parameters
    ----------
    data : frame
        Ratings: any ``score`` ranks (a scale, a probability), higher meaning yes.
    humans, gold
        What is right, as in :func:`classification`: yes or no, 0 or 1, or classes. Of several people the majority.
    value : str, optional
        The column that holds the scores (``confidence``, say); ``score`` by default.
    positive : class, optional
        The label that is to be detected; needed where the labels are not yes and no.
    fpr : float or sequence of float, optional
        False positive rates at which sensitivity, its threshold, and the area up to there are wanted.
    standardised : bool
        Put the area up to `fpr` on a scale of its own, from 1/2 for chance to 1 (McClish).
    baseline : str, optional
        A judge: the other judges' areas less its area, on the verdicts that both have.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws. They are for the operating points.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per ``judge``, ``other`` (the reference) and ``class`` (what is detected): ``auroc`` and ``average_precision``;
        for each `fpr`, in a column of this name, ``sensitivity_at_fpr``, ``threshold_at_fpr`` (scores at or above it
        are called positive; the lowest whose false positive rate does not exceed `fpr`) and ``partial_auroc`` (the
        area up to `fpr`, at most `fpr`); with `baseline`, ``auroc_difference`` with ``p_value``. NaN, flagged, without
        positives or without negatives. An area of 0 or 1 has no interval.

    Raises
    ------
    DesignError
        If nothing says what is right or which label is to be detected, an `fpr` is not between 0 and 1, or `baseline`
        is no judge.
    SchemaError
        If the data are no ratings, or a score is no number.

    See Also
    --------
    roc_curve : The points of the curve.
    classification : The same for verdicts that are classes.
    detection_threshold : The step of a ladder that a judge detects.
    confidence_calibration : Whether confidences are right as often as they say.

    Notes
    -----
    The area is the chance that a positive has a higher score than a negative, ties counting half. Its variance is
    DeLong's, or Obuchowski's where calls share a cluster; the interval is t on the logit, that of a difference t.
    Average precision is the mean, over the positives, of the precision at their score (no interpolation); its variance
    is that of its linear approximation. A threshold that is chosen on the data that it is then judged by looks too
    good: the percentile bootstrap, which chooses it anew in each resample, has the interval of both.

    References
    ----------
    DeLong, E. R., DeLong, D. M., Clarke-Pearson, D. L. (1988). Biometrics 44, 837-845. Obuchowski, N. A. (1997).
    Biometrics 53, 567-578. McClish, D. K. (1989). Medical Decision Making 9, 190-195.

    Examples
    --------
    >>> scores = pd.DataFrame({"judge": "g", "item": list("abcdefgh"), "score": [.9, .8, .7, .6, .5, .4, .3, .2],
    ...                        "gold": [1, 1, 0, 1, 1, 0, 0, 0]})
    >>> roc(scores)[["judge", "class", "term", "estimate", "conf_low", "conf_high", "n"]].round(3)
      judge class               term  estimate  conf_low  conf_high    n
    0     g     1              auroc     0.875     0.095      0.998  8.0
    1     g     1  average_precision     0.888     0.095      0.998  8.0
    """
    wanted = [] if fpr is None else [float(fpr)] if isinstance(fpr, int | float) else [float(f) for f in fpr]
    if any(not 0 < f < 1 for f in wanted):
        raise DesignError(f"fpr={fpr!r} must be between 0 and 1.")
    each = list(detections(data, humans, gold, value, positive, by, cluster))
    judges = sorted({str(d.key["judge"]) for d in each})
    if baseline is not None and baseline not in judges:
        raise DesignError(
            f"baseline={baseline!r} is no judge. Judges: {', '.join(judges)}.{suggestion(baseline, judges)}"
        )
    rows: list[Record] = []
    for one in each:
        rows += _area_rows(one, conf_level)
        if wanted:
            rows += _rows_at(one, np.array(wanted), standardised, n_resamples, seed, conf_level)
    groups = list(dict.fromkeys(names(by)))
    if baseline is not None:
        of_group = {tuple(map(str, (d.key[c] for c in groups))): d for d in each if str(d.key["judge"]) == baseline}
        for one in each:
            other = of_group.get(tuple(map(str, (one.key[c] for c in groups))))
            if str(one.key["judge"]) != baseline and other is not None:
                rows.append({**one.key, **_difference(one, other, conf_level)})
    extra = [*(["fpr"] if wanted else []), *(["p_value"] if baseline is not None else [])]
    return estimates(rows, [*groups, "judge", "other", "class"], extra)


@checked_arguments
@engine_errors
def roc_curve(
    data: IntoFrame,
    *,
    humans: Humans | None = None,
    gold: str | None = None,
    value: str | None = None,
    positive: object = None,
    by: By = (),
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Points of the ROC curve, and of precision by recall, of each judge.

    Parameters
    ----------
    data, humans, gold, value, positive, by, conf_level
        As in :func:`roc`.

    Returns
    -------
    pandas.DataFrame
        Per judge a row for each different score, falling: ``threshold``, ``fpr``, ``tpr`` (with ``tpr_low`` and
        ``tpr_high``, Wilson's interval at this threshold, of calls taken as independent) and ``precision``, of calling
        positive what is at or above the threshold. The first row calls nothing positive.

    Raises
    ------
    DesignError, SchemaError
        As :func:`roc`.

    See Also
    --------
    roc : Areas under these curves.

    Examples
    --------
    >>> scores = pd.DataFrame({"judge": "g", "item": list("abcd"), "score": [.9, .8, .8, .2], "gold": [1, 1, 0, 0]})
    >>> roc_curve(scores)[["threshold", "fpr", "tpr", "precision"]]
       threshold  fpr  tpr  precision
    0        inf  0.0  0.0        NaN
    1        0.9  0.0  0.5   1.000000
    2        0.8  0.5  1.0   0.666667
    3        0.2  1.0  1.0   0.500000
    """
    parts = []
    for one in detections(data, humans, gold, value, positive, by, False):
        at = levels(one.score, one.positive, one.weight)
        hits, false = (np.append(0.0, np.cumsum(x)) for x in (at.positive, at.negative))
        m, n = (max(float(x[-1]), math.nan) if x[-1] else math.nan for x in (hits, false))
        low, high = wilson(hits, np.full(hits.size, np.nan_to_num(m)), conf_level)
        with np.errstate(invalid="ignore"):
            precision = hits / (hits + false)
        points = {"threshold": np.append(np.inf, at.score), "fpr": false / n, "tpr": hits / m, "tpr_low": low}
        parts.append(pd.DataFrame({**one.key, **points, "tpr_high": high, "precision": precision}))
    return pd.concat(parts, ignore_index=True)


def _area_rows(one: Detection, conf_level: float) -> Iterator[Record]:
    """Rows of the areas under both curves."""
    n = float(one.weight.sum())
    m = float(one.weight[one.positive].sum())
    common = {**one.key, "n": n}
    if not 0 < m < n:
        for term in ("auroc", "average_precision"):
            flag = flags.join(flags.ONE_CLASS_ONLY if n else flags.NO_DATA, one.flag)
            yield {**common, "term": term, "estimate": math.nan, "flag": flag}
        return
    at = levels(one.score, one.positive, one.weight)
    area = float(auroc(at.positive, at.negative))
    variance, df = two_sample_variance(placements(at, one.positive), area, one.positive, one.weight, one.unit)
    method = methods.DELONG if one.unit is None else methods.OBUCHOWSKI
    error = math.sqrt(variance) if variance > 0 else math.nan
    yield {**common, "term": "auroc", **_on_logit(one, method, area, error, df, conf_level).cells}
    precision = float(average_precision(at.positive, at.negative))
    influence = precision_influence(at, one.positive)
    error, df = _linear_error(influence / m, one)
    bias = precision_bias(at, one.positive, one.weight, one.unit, influence)
    estimate = _on_logit(one, methods.LINEAR, precision, error, df, conf_level, bias)
    yield {**common, "term": "average_precision", **estimate.cells}


def _linear_error(influence: Floats, one: Detection) -> tuple[float, float]:
    """Standard error of the sum of influences, and its degrees of freedom: those of a mean over the positives."""
    if one.unit is None:
        m = float(one.weight[one.positive].sum())
        return math.sqrt(m / (m - 1) * float(one.weight @ influence**2)) if m > 1 else math.nan, m - 1
    return linearised_error(_sums(one, influence * one.weight), _sums(one, one.weight * one.positive))


def _sums(one: Detection, values: Floats) -> Floats:
    """Sums (G,) over clusters."""
    assert one.unit is not None
    return np.bincount(one.unit, values).astype(np.float64)


def _few(positive: Mask, weight: Floats, unit: Integers | None) -> str:
    """Flags of few clusters, or of few of them with a class; without clusters of few calls of a class."""
    sides = [weight * positive, weight * ~positive]
    if unit is None:
        return flags.FEW_IN_CLASS if min(side.sum() for side in sides) < 10 else ""
    of_class = np.column_stack([np.bincount(unit, side) for side in sides]).astype(np.float64)
    few = flags.few_clusters(of_class.sum(axis=1))
    return few if flags.has(few, flags.ONE_UNIT) else flags.join(few, flags.few_of_class(of_class))


def _on_logit(
    one: Detection, method: Method, value: float, error: float, df: float, conf_level: float, bias: float = 0.0
) -> Estimate:
    """An area with t on the logit, farther to the side of its correction by a bias; no interval at 0 and 1."""
    by = method.on("t on the logit")
    if one.unit is not None:
        by = methods.clustered(by, one.column, _sums(one, one.weight))
    cautions = _few(one.positive, one.weight, one.unit), size_flag(float(one.weight.sum())), one.flag
    estimate = Estimate(value, df=df, conf_level=conf_level, method=by)
    if not 0 < value < 1 or not varies(value, error) or math.isnan(df):
        return estimate.flagged(flags.NO_SPREAD, *cautions)
    low, high = student_ends(value, error, df, conf_level, transform=ON_LOGIT, bias=bias)
    return replace(estimate.flagged(*cautions), std_error=error, low=float(low), high=float(high))


def _rows_at(
    one: Detection, most: Floats, standardised: bool, n_resamples: int, seed: Seed, conf_level: float
) -> Iterator[Record]:
    """Sensitivity, threshold and area at false positive rates (F,), with percentile intervals from the same draws."""
    n = float(one.weight.sum())
    terms = ("sensitivity_at_fpr", "threshold_at_fpr", "partial_auroc")
    if not 0 < one.weight[one.positive].sum() < n:
        flag = flags.join(flags.ONE_CLASS_ONLY if n else flags.NO_DATA, one.flag)
        common = {**one.key, "estimate": math.nan, "n": n, "flag": flag}
        yield from ({**common, "term": term, "fpr": fpr} for fpr in most for term in terms)
        return
    points = _points(one, most, standardised, n_resamples, seed)
    clusters = np.unique(one.unit).size if one.unit is not None else 0
    what = "calls" if one.unit is None else one.column
    resampling = f"bootstrap of {what}, threshold chosen anew, B = {n_resamples:,}"
    method = methods.PERCENTILE.on(resampling, " ")
    for f, fpr in enumerate(most):
        beyond = fpr * float(one.weight[~one.positive].sum())
        few = flags.FEW_BEYOND.of(round(beyond, 1)) if beyond < 5 else ""
        if one.unit is not None:
            few = flags.join(flags.few_clusters(_sums(one, one.weight), resampled=True), few)
        for term, (value, *draws) in zip(terms, points[:, :, f], strict=True):
            low, high = percentile_interval(np.array(draws), conf_level, float(clusters or n))
            spread = np.array(draws)[np.isfinite(draws)]
            row: Record = {"term": term, "fpr": fpr, "estimate": value, "n": n, "method": method}
            least, slope = (fpr * (fpr - 1), fpr * (2 - fpr)) if standardised else (0.0, 1.0)
            area = (least + slope * value) / fpr
            if term == "partial_auroc" and 0 < area < 1 and high > low:  # near its end percentiles miss
                error, df = slope / fpr * float(spread.std(ddof=1)), (clusters or n) - 1
                ends = student_ends(area, error, df, conf_level, transform=ON_LOGIT)
                low, high = ((fpr * float(end) - least) / slope for end in ends)
                row["method"] = methods.T.on("on the logit", " ").on(resampling)
            varies = high - low > 1e-9 * max(abs(low), abs(high), 1.0) if math.isfinite(high - low) else low < high
            if varies and clusters != 1:
                error = float(spread.std(ddof=1)) if spread.size > 1 else math.nan
                row |= with_interval(error, min(low, value), max(high, value))
            flag = flags.join("" if varies or clusters == 1 else flags.NO_SPREAD, few, size_flag(n), one.flag)
            yield {**one.key, **row, "flag": flag}


def _points(one: Detection, most: Floats, standardised: bool, n_resamples: int, seed: Seed) -> Floats:
    """Sensitivity, threshold and area (3, 1 + B, F): of the data, and of resampled calls, or clusters."""
    rng = generator(seed, tuple(map(str, one.key.values())))
    unit, calls = one.unit, np.arange(one.score.size)
    if unit is None:
        calls = np.repeat(calls, one.weight.astype(np.int64))
        unit = np.arange(calls.size)
    weight = one.weight if one.unit is not None else np.ones(calls.size)
    size = int(unit.max()) + 1
    step = max(_DRAWS // size, 1)
    samples = (cluster_index(rng, size, min(step, n_resamples - b)) for b in range(0, n_resamples, step))
    at, positive = levels(one.score[calls], one.positive[calls], weight), one.positive[calls]
    points = np.stack(operating_points(at, positive, weight, unit, most, chain([np.arange(size)[None]], samples)))
    if standardised:  # from chance to the most there can be
        least = most**2 / 2
        points[2] = (1 + (points[2] - least) / (most - least)) / 2
    return points


def _difference(one: Detection, other: Detection, conf_level: float) -> Record:
    """Difference of the areas of two judges on cases that both scored."""
    _, mine, theirs = np.intersect1d(one.thing, other.thing, return_indices=True)
    positive, weight = one.positive[mine], one.weight[mine]
    row: Record = {"term": "auroc_difference", "n": float(weight.sum())}
    if not positive.any() or positive.all():
        return {**row, "estimate": math.nan, "flag": flags.join(flags.ONE_CLASS_ONLY, one.flag)}
    sides = [(one, mine), (other, theirs)]
    at = [levels(d.score[i], positive, weight) for d, i in sides]
    areas = [float(auroc(a.positive, a.negative)) for a in at]
    values = placements(at[0], positive) - placements(at[1], positive)
    unit = None if one.unit is None else np.unique(one.unit[mine], return_inverse=True)[1]
    difference = areas[0] - areas[1]
    variance, df = two_sample_variance(values, difference, positive, weight, unit)
    lost = flags.EXCLUDED.of(float(one.weight.sum() - weight.sum()), what="call(s) of one judge only")
    method = (methods.DELONG if unit is None else methods.OBUCHOWSKI).on("paired, t")
    error = 0.0 if math.isnan(variance + df) else math.sqrt(max(variance, 0.0))
    estimate = student(difference, error, df, conf_level=conf_level, method=method, bounds=POINTS)
    if not estimate.flag:
        p = float(2 * stdtr(df, -abs(difference) / error))
        estimate = replace(estimate.flagged(_few(positive, weight, unit), size_flag(row["n"])), p_value=p)
    return {**row, **estimate.flagged(lost, one.flag).cells}
