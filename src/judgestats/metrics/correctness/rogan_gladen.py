"""A rate corrected by specificity and sensitivity (Rogan and Gladen), with the interval of Lee et al."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr

from judgestats import flags, methods
from judgestats.errors import DesignError
from judgestats.estimate import Estimate, quantile
from judgestats.kernels.cluster_sums import covariance
from judgestats.kernels.corrected_means import class_rates, corrected_interval, corrected_share, profile_interval
from judgestats.kernels.proportions import newcombe
from judgestats.metrics.correctness.corrections import Rate, by_cluster, few, freedom, is_share, mean_row
from judgestats.metrics.correctness.labelled_samples import LabelledGroup
from judgestats.typing import Floats, Mask, Record


def rate_by_class(group: LabelledGroup, judged: Mask, labelled: Mask, conf_level: float) -> Rate:
    """The rate of the rows `judged`, corrected by the error rates of the rows `labelled`."""
    rows = judged | labelled
    if not is_share(group, rows):
        used = [*np.unique(group.f[rows]), *group.y[labelled]]
        example = next((v for v in used if v not in (0.0, 1.0)), math.nan)
        raise DesignError(
            f"sampling='by class' needs verdicts and labels of 0 and 1 (yes or no), and finds {example:g}. Make both "
            "so by a threshold, or use sampling='random' if the labelled items were drawn at random."
        )
    f, y = group.f[:, 0], np.where(labelled, group.y, np.nan)
    n = np.where(rows, group.n, 0.0)
    flat = class_rates(f, y, n, judged)
    rates = class_rates(f, y, n, judged, group.unit, ddof=1 if group.cluster else 0)
    p, q0, q1 = rates.p, rates.specificity, rates.sensitivity
    sizes, labels = rates.sizes, group.items(labelled)
    negative, positive = labelled & (y == 0), labelled & (y == 1)
    cautions = flags.join(
        flags.FEW_IN_CLASS if min(map(group.items, (negative, positive))) < 10 else "",
        flags.SMALL_N if sizes[0] < 30 else "",
        flags.MORE_LABELS if labels > group.items(judged) else "",
        few(group, judged, labelled),
    )
    parts = [{"term": "apparent_rate", **mean_row(group, f, judged, conf_level), "n_labels": 0.0}]
    for term, of, hit in (("specificity", negative, 1 - f), ("sensitivity", positive, f)):
        row = mean_row(group, hit, of, conf_level)
        parts.append({"term": term, **row, "n_labels": group.items(of)})
    basis: Record = {"rows": rows, "n": float(sizes[0]), "n_labels": labels, "binary": True}
    basis |= {"cautions": cautions, "parts": parts}
    nothing = np.zeros(len(f))
    if empty := without_rate(sizes):
        return Rate(Estimate(math.nan), nothing, refusal=empty, **basis)
    clusters = group.clusters(rows)
    estimate = float(corrected_share(p, q0, q1))
    df = math.inf
    if group.cluster:
        influence = np.array([1.0, 1 - estimate, -estimate]) @ np.nan_to_num(rates.influence)
        df = freedom(group, influence, rows)
    t = quantile(df, conf_level)
    effective, inflation = _effective(group, rates.influence, flat.influence, (judged, negative, positive), sizes)
    verdicts, negatives, positives = effective
    gap = q0 + q1 - 1
    low, high = newcombe(q1 * positives, positives, (1 - q0) * negatives, negatives, 2 * float(ndtr(t)) - 1)
    by = by_cluster(methods.NEWCOMBE, group, group.clusters(labelled))
    few_labels = flags.SMALL_N if min(sizes[1:]) < 30 else ""  # of one class, as beside its share
    caution = flags.join(cautions, flags.NO_INTERVAL if math.isnan(low) else "", few_labels)
    youden = Estimate(gap, float(sizes[1:].sum()), low=low, high=high, method=by, flag=caution)
    parts.append({"term": "youden", **youden.cells, "n_labels": labels})
    by = by_cluster(methods.ROGAN_GLADEN.on("Lee et al."), group, clusters)
    if not low > 0:
        return Rate(Estimate(estimate, method=by), nothing, refusal=flags.NOT_BETTER_THAN_CHANCE, **basis)
    lee = corrected_interval(p, q0, q1, verdicts, negatives, positives, t, inflation)
    low, high = float(lee.low), float(lee.high)
    refusal = flags.RATES_DO_NOT_FIT if high < 0 or low > 1 else ""
    if not refusal and not 0 <= low <= high <= 1:  # only one side can miss, and it should not be far
        counts = np.array([p, q0, q1]) * effective
        low, high = profile_interval(min(max(estimate, 0.0), 1.0), counts, effective, t, inflation)
        by = methods.ROGAN_GLADEN.on("profile likelihood").drawn_as(by)
    influence = np.array([1.0, 1 - estimate, -estimate]) @ rates.influence / gap
    corrected = Estimate(estimate, std_error=float(lee.std_error), low=low, high=high, method=by)
    return Rate(corrected, influence, refusal=refusal, **basis)


def without_rate(sizes: Floats) -> str:
    """Flag of no verdicts, no labels, or labels of one class; `sizes`: verdicts, negative labels, positive labels."""
    if sizes[0] == 0:
        return flags.NO_DATA
    return flags.NO_LABELS if sizes[1:].sum() == 0 else "" if sizes[1:].all() else flags.ONE_CLASS


def _effective(
    group: LabelledGroup, clustered: Floats, flat: Floats, rows: Sequence[Mask], sizes: Floats
) -> tuple[Floats, float]:
    """Effective numbers of verdicts and labels, and what shared clusters add to the variance of all together."""
    if group.unit is None:
        return sizes, 1.0
    effective = sizes.copy()
    own = np.zeros(3)
    for i, sample_rows in enumerate(rows):
        held = sample_rows & (group.n > 0)
        own[i] = covariance(clustered[i][held][:, None], group.n[held], group.unit[held])[0, 0]
        independent = covariance(flat[i][held][:, None], group.n[held], None)[0, 0]
        effective[i] = min(sizes[i], sizes[i] * independent / own[i]) if own[i] > 0 else group.clusters(sample_rows)
    together, alone = float(covariance(clustered.T, group.n, group.unit).sum()), float(own.sum())
    return effective, together / alone if alone > 0 else 1.0
