"""A rate corrected by labels drawn at random (PPI++), or with known probabilities (inverse weights)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from judgestats import flags, methods
from judgestats.errors import DesignError
from judgestats.estimate import Estimate
from judgestats.kernels.cluster_sums import cluster_sums
from judgestats.kernels.corrected_means import Powered, inversely_weighted, prediction_powered
from judgestats.metrics.correctness.corrections import (
    Correction,
    LabelStratum,
    Rate,
    by_cluster,
    few,
    few_errors,
    is_share,
    mean,
    mean_row,
    std_error,
)
from judgestats.metrics.correctness.labelled_samples import LabelledGroup
from judgestats.schema.coding import numbers_of
from judgestats.typing import Floats, Mask, Record

#: Different probabilities of a label up to which those of one probability are a stratum.
MOST_PROBABILITIES = 10
#: Squared skewness of a mean's error from which its interval misses on one side.
SKEWNESS = 0.05


def mean_label(group: LabelledGroup, judged: Mask, labelled: Mask, options: Correction, *, transported: bool) -> Rate:
    """The mean label of the rows `judged`; `transported`: by labels of other rows."""
    rows = judged | labelled
    binary = is_share(group, rows)
    y = np.where(labelled, group.y, np.nan)
    items, verdict_rows = group.items(labelled), judged if transported else rows
    chance = _chances(group, rows, options)
    weights = None if chance is None else np.where(labelled, group.n / np.where(labelled, chance, 1.0), 0.0)
    parts = []
    if group.f.shape[1] == 1:
        row = mean_row(group, group.f[:, 0], verdict_rows, options.conf_level)
        parts.append({"term": "apparent_rate", **row, "n_labels": 0.0})
    row = mean_row(group, y, labelled, options.conf_level, weights)
    parts.append({"term": "label_rate", **row, "n_labels": items})
    n = group.size(verdict_rows)
    basis: Record = {"rows": rows, "n": n, "n_labels": items, "binary": binary, "parts": parts, "weights": weights}
    few_of_class = _few_labels(group, labelled, binary, weights)
    cautions = flags.join(few(group, labelled), few_of_class, flags.SMALL_N if n < 30 else "")
    refusal = flags.NO_DATA if n == 0 else flags.NO_LABELS if items == 0 else ""
    at_random = options.sampling == "random"
    if not refusal and at_random and not transported and items > group.items(judged & ~labelled):
        refusal = flags.MORE_LABELS
    if refusal:
        return Rate(Estimate(math.nan), np.zeros(len(y)), refusal=refusal, cautions=cautions, **basis)
    cautions = flags.join(cautions, few_errors(group, labelled, weights))
    method = methods.PPI if at_random else methods.INVERSE_WEIGHTS
    total, influence, of_labels = 0.0, np.zeros(len(y)), np.zeros(len(y))
    for weight, stratum, name in _strata(group, rows, options):
        held = rows & stratum & (group.n > 0)
        if not (held & labelled).any():
            raise DesignError(
                f"Stratum {name!r} of {options.strata!r} has no label. Label some of it, or merge strata."
            )
        stratum_mean = _stratum_estimate(group, held, y, chance, options, transported=transported)
        total += weight * stratum_mean.estimate
        influence[held] += weight * stratum_mean.influence
        of_labels[held] += weight * stratum_mean.weights
        for judge, value in zip(group.judges, stratum_mean.coefficients, strict=True):
            inside = ", ".join(x for x in (judge, name) if x)
            row = {"term": f"lambda[{inside}]" if inside else "lambda", "estimate": float(value), "method": method}
            parts.append({**row, "n": n, "n_labels": items, "flag": ""})
    if not any(part["estimate"] for part in parts if str(part["term"]).startswith("lambda")):
        cautions = flags.join(cautions, flags.VERDICTS_UNUSED)
    used_labels = group.y[labelled & (group.n > 0)]
    if binary and used_labels.min() == used_labels.max():
        cautions = flags.join(cautions, flags.ONE_CLASS)
    if not binary and _squared_skewness(group, influence, labelled, verdict_rows) > SKEWNESS:
        cautions = flags.join(cautions, flags.SKEWED_SCORES)
    basis["strata"] = _label_strata(group, rows, labelled, chance, of_labels) if binary and chance is not None else ()
    how = "MOVER of strata" if basis["strata"] else methods.WILSON if binary and 0 < total < 1 else ""
    by = by_cluster(method.on(how) if how else method, group, group.clusters(rows))
    return Rate(Estimate(total, method=by), influence, refusal="", cautions=cautions, **basis)


def _chances(group: LabelledGroup, rows: Mask, options: Correction) -> Floats | None:
    """Probability with which each row was to be labelled; None where none is named."""
    if options.label_probability is None:
        return None
    chance = numbers_of(group.columns.series(options.label_probability))
    wrong = rows & (group.n > 0) & ~((chance > 0) & (chance <= 1)) & ~(np.isnan(group.y) & np.isnan(chance))
    if wrong.any():
        raise DesignError(
            f"label_probability={options.label_probability!r} is {chance[wrong.argmax()]:g} in {wrong.sum():,} row(s). "
            "Allowed: above 0, and at most 1. What could never be labelled cannot be corrected: leave it out."
        )
    return chance


def _few_labels(group: LabelledGroup, labelled: Mask, binary: bool, weights: Floats | None) -> str:
    """Flag too few labels, or weighted labels worth too few; with two classes, in either."""
    if not binary:
        return flags.FEW_LABELS if group.worth(labelled, weights) < 30 else ""
    of_class = [group.worth(labelled & (group.y == c), weights) for c in (0.0, 1.0)]
    return flags.FEW_IN_CLASS if min(of_class) < 10 else ""


def _squared_skewness(group: LabelledGroup, influence: Floats, labelled: Mask, judged: Mask) -> float:
    """Squared skewness of an estimate's error, as its influences show it, or the scores of all that is judged do."""
    sums, alike = cluster_sums(influence[:, None], group.n, group.unit)
    squares = float(alike @ sums[:, 0] ** 2)
    if not squares > 0:
        return 0.0
    labels, alike_labels = cluster_sums(np.where(labelled, influence, 0.0)[:, None], group.n, group.unit)
    part = float(alike_labels @ labels[:, 0] ** 2) / squares
    n, scores = group.n[judged], group.f[judged] - np.average(group.f[judged], axis=0, weights=group.n[judged])
    with np.errstate(divide="ignore", invalid="ignore"):
        of_scores = (n @ scores**3) ** 2 / (n @ scores**2) ** 3 * n.sum()
    largest = float(np.nan_to_num(of_scores).max()) * part**3 / group.items(labelled)
    return max(float(alike @ sums[:, 0] ** 3) ** 2 / squares**3, largest)


def _label_strata(
    group: LabelledGroup, rows: Mask, labelled: Mask, chance: Floats, of_labels: Floats
) -> list[LabelStratum]:
    """Labels by their probability, within a factor of 2 where these have many values, and the verdict beside them.

    `of_labels` (N,): weight of each label in the rate. Where a probability has no label beside one verdict, its labels
    are one stratum.
    """
    held = rows & (group.n > 0)
    if group.f.shape[1] > 1:
        return []
    level = chance if np.unique(chance[held & labelled]).size <= MOST_PROBABILITIES else np.floor(np.log2(chance))
    strata = []
    for value in np.unique(level[held & labelled]):
        kinds = [held & (level == value) & (group.f[:, 0] == f) for f in (0.0, 1.0)]
        if any(kind.any() and not (kind & labelled).any() for kind in kinds):
            kinds = [kinds[0] | kinds[1]]
        for of_kind in (kind & labelled for kind in kinds):
            if of_kind.any():
                share, influence = mean(group, group.y, of_kind, of_labels)
                error, _ = std_error(group, influence, of_kind)
                size = group.worth(of_kind, of_labels)
                if group.unit is not None and 0 < share < 1 and error > 0:
                    size = min(size, share * (1 - share) / error**2)
                strata.append(LabelStratum(float(of_labels[of_kind].sum()), share, size))
    return strata


def _stratum_estimate(
    group: LabelledGroup, held: Mask, y: Floats, chance: Floats | None, options: Correction, *, transported: bool
) -> Powered:
    """Corrected mean of one stratum."""
    unit = None if group.unit is None else np.unique(group.unit[held], return_inverse=True)[1]
    coefficient = 1.0 if transported else options.coefficient
    fixed = None if coefficient is None else np.full(group.f.shape[1], coefficient)
    if chance is None:
        return prediction_powered(group.f[held], y[held], group.n[held], unit, ddof=options.ddof, coefficients=fixed)
    return inversely_weighted(
        group.f[held], y[held], chance[held], group.n[held], unit, ddof=options.ddof, coefficients=fixed
    )


def _strata(group: LabelledGroup, rows: Mask, options: Correction) -> Iterator[tuple[float, Mask, str]]:
    """Weight, rows and name of each stratum; all rows are one stratum if none is named."""
    if options.strata is None or options.weights is None:
        yield 1.0, np.ones(len(rows), dtype=bool), ""
        return
    level = group.columns.series(options.strata).astype(str).to_numpy()
    strata, shares = sorted(set(level[rows & (group.n > 0)])), {str(k): float(v) for k, v in options.weights.items()}
    if (
        set(strata) != {*shares}
        or not math.isclose(sum(shares.values()), 1.0, abs_tol=1e-6)
        or min(shares.values()) < 0
    ):
        raise DesignError(
            f"weights= are the known shares of the levels of {options.strata!r} ({', '.join(strata[:8])}), each once, "
            f"with the sum 1. Got {shares}."
        )
    for name in strata:
        yield shares[name], level == name, name
