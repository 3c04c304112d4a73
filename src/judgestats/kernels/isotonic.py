"""Isotonic regression, and the calibration of probabilities by it: the curve, and what the Brier score is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judgestats.typing import Floats


@dataclass(frozen=True)
class Brier:
    """A Brier score and its parts, `score` = `miscalibration` - `discrimination` + `uncertainty`; each (...)."""

    score: Floats
    miscalibration: Floats
    discrimination: Floats
    uncertainty: Floats


def increasing(values: Floats, weights: Floats) -> Floats:
    """The increasing sequence (L,) that is nearest to `values` by their `weights` (pool adjacent violators)."""
    from scipy.optimize import isotonic_regression  # a quarter of a second to import

    fitted: Floats = isotonic_regression(values, weights=weights).x
    return fitted


def pooled(right: Floats, n: Floats) -> Floats:
    """Recalibrated probabilities: the increasing sequence that is nearest to the shares.

    `right`, `n` (..., L): right verdicts and all at each level of confidence; the result is NaN at a level without.
    """
    fitted = np.full(n.shape, np.nan)
    for index in np.ndindex(n.shape[:-1]):
        there = n[index] > 0
        if there.any():
            size = n[index][there]
            fitted[index][there] = increasing(right[index][there] / size, size)
    return fitted


def brier_parts(level: Floats, right: Floats, n: Floats, fitted: Floats) -> Brier:
    """Parts of the Brier score, from `level` (L,), and `right`, `n`, `fitted` (..., L) of :func:`pooled`.

    Dimitriadis, T., Gneiting, T., Jordan, A. I. (2021). PNAS 118, e2016191118.
    """
    total = n.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = right.sum(axis=-1) / total

        def of(p: Floats) -> Floats:
            each = right * (1 - p) ** 2 + (n - right) * p**2
            result: Floats = np.where(n > 0, each, 0.0).sum(axis=-1) / total
            return result

        raw, recalibrated, uncertainty = of(level), of(fitted), rate * (1 - rate)
        # neither part is below 0, rounding apart
        miscalibration, discrimination = (np.maximum(score - recalibrated, 0.0) for score in (raw, uncertainty))
        return Brier(raw, miscalibration, discrimination, uncertainty)


def binned_error(level: Floats, right: Floats, n: Floats, edges: Floats) -> Floats:
    """Expected calibration error: distance of share right and mean confidence in bins [edge, next), by their size."""
    place = np.clip(np.searchsorted(edges, level, side="right") - 1, 0, edges.size - 2)
    member = np.zeros((level.size, edges.size - 1))
    member[np.arange(level.size), place] = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.abs((right - n * level) @ member).sum(axis=-1) / n.sum(axis=-1)
    return result
