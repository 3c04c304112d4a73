"""A rate corrected by labels drawn at random (PPI++), or with known probabilities (inverse weights)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from judgestats import flags
from judgestats.errors import DesignError
from judgestats.kernels.corrected_means import Powered, inversely_weighted, prediction_powered
from judgestats.metrics.correctness.corrections import (
    Correction,
    Rate,
    clustered_by,
    few,
    few_errors,
    is_share,
    mean_row,
)
from judgestats.metrics.correctness.labelled_samples import Group
from judgestats.schema.coding import numbers_of
from judgestats.typing import Floats, Mask, Record


def mean_label(group: Group, judged: Mask, labelled: Mask, options: Correction, *, transported: bool) -> Rate:
    """The mean label of the rows `judged`; `transported`: by labels of other rows."""
    rows = judged | labelled
    binary = is_share(group, rows)
    y = np.where(labelled, group.y, np.nan)
    size, verdict_rows = group.size(labelled), judged if transported else rows
    parts = []
    if group.f.shape[1] == 1:
        row = mean_row(group, group.f[:, 0], verdict_rows, options.conf_level)
        parts.append({"term": "apparent_rate", **row, "n_labels": 0.0})
    row = mean_row(group, y, labelled, options.conf_level)
    parts.append({"term": "label_rate", **row, "n_labels": row["n"]})
    n = group.size(verdict_rows)
    basis: Record = {"rows": rows, "n": n, "n_labels": size, "binary": binary, "parts": parts}
    cautions = flags.join(few(group, labelled), _few_labels(group, labelled, binary), flags.SMALL_N if n < 30 else "")
    refusal = flags.NO_DATA if n == 0 else flags.NO_LABELS if size == 0 else ""
    at_random = options.sampling == "random"
    if not refusal and at_random and not transported and size > group.size(judged & ~labelled):
        refusal = flags.MORE_LABELS
    if refusal:
        return Rate(math.nan, np.zeros(len(y)), method="", refusal=refusal, cautions=cautions, **basis)
    cautions = flags.join(cautions, few_errors(group, labelled))
    method = "PPI++" if at_random else "inverse weights"
    total, influence = 0.0, np.zeros(len(y))
    for weight, stratum, name in _strata(group, rows, options):
        held = rows & stratum & (group.n > 0)
        if not (held & labelled).any():
            raise DesignError(
                f"Stratum {name!r} of {options.strata!r} has no label. Label some of it, or merge strata."
            )
        stratum_mean = _stratum_estimate(group, held, y, options, transported=transported)
        total += weight * stratum_mean.estimate
        influence[held] += weight * stratum_mean.influence
        for judge, value in zip(group.judges, stratum_mean.coefficients, strict=True):
            inside = ", ".join(x for x in (judge, name) if x)
            row = {"term": f"lambda[{inside}]" if inside else "lambda", "estimate": float(value), "method": method}
            parts.append({**row, "n": n, "n_labels": size, "flag": ""})
    if not any(part["estimate"] for part in parts if str(part["term"]).startswith("lambda")):
        cautions = flags.join(cautions, flags.VERDICTS_UNUSED)
    used_labels = group.y[labelled & (group.n > 0)]
    if binary and used_labels.min() == used_labels.max():
        cautions = flags.join(cautions, flags.ONE_CLASS)
    method += (", Wilson" if binary and 0 < total < 1 else "") + clustered_by(group, group.clusters(rows))
    return Rate(total, influence, method=method, refusal="", cautions=cautions, **basis)


def _few_labels(group: Group, labelled: Mask, binary: bool) -> str:
    """Flag of too few labels, in one of the classes if there are two."""
    if not binary:
        return flags.FEW_LABELS if group.size(labelled) < 30 else ""
    return flags.FEW_IN_CLASS if min(group.size(labelled & (group.y == c)) for c in (0.0, 1.0)) < 10 else ""


def _stratum_estimate(group: Group, held: Mask, y: Floats, options: Correction, *, transported: bool) -> Powered:
    """Corrected mean of one stratum."""
    unit = None if group.unit is None else np.unique(group.unit[held], return_inverse=True)[1]
    coefficient = 1.0 if transported else options.coefficient
    fixed = None if coefficient is None else np.full(group.f.shape[1], coefficient)
    if options.label_probability is None:
        return prediction_powered(group.f[held], y[held], group.n[held], unit, ddof=options.ddof, coefficients=fixed)
    chance = numbers_of(group.table[options.label_probability])[held]
    wrong = ~((chance > 0) & (chance <= 1)) & ~(np.isnan(y[held]) & np.isnan(chance))
    if wrong.any():
        raise DesignError(
            f"label_probability={options.label_probability!r} is {chance[wrong.argmax()]:g} in {wrong.sum():,} row(s). "
            "Allowed: above 0, and at most 1. What could never be labelled cannot be corrected: leave it out."
        )
    return inversely_weighted(
        group.f[held], y[held], chance, group.n[held], unit, ddof=options.ddof, coefficients=fixed
    )


def _strata(group: Group, rows: Mask, options: Correction) -> Iterator[tuple[float, Mask, str]]:
    """Weight, rows and name of each stratum; all rows are one stratum if none is named."""
    if options.strata is None or options.weights is None:
        yield 1.0, np.ones(len(rows), dtype=bool), ""
        return
    level = group.table[options.strata].astype(str).to_numpy()
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
