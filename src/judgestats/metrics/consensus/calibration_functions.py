"""Calibration functions: a shift, a line, a monotone curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.kernels.isotonic import increasing
from judgestats.schema.coding import codes_of, rows_of_codes
from judgestats.typing import Floats, Ints
from judgestats.verdicts.call_groups import MISSING_PARTNER

Method = Literal["shift", "linear", "rank"]


@dataclass(frozen=True)
class CalibrationFit:
    """A calibration function, and its slope (NaN if it is not constant)."""

    apply: Callable[[Floats], Floats]
    slope: float


def fit(x: Floats, y: Floats, method: Method) -> CalibrationFit | None:
    """Calibration function of scores to the reference; None if it is not identified."""
    if x.size < 3 or (method != "shift" and np.ptp(x) == 0):
        return None
    if method == "shift":
        shift = float((y - x).mean())
        return CalibrationFit(lambda score: score + shift, 1.0)
    if method == "linear":
        at, to = float(x.mean()), float(y.mean())
        slope = float(line(moments(x - at, y - to).sum(axis=0)[None, :])[0, 0])
        return CalibrationFit(lambda score: to + slope * (score - at), slope)
    knots, place, weight = np.unique(x, return_inverse=True, return_counts=True)
    fitted = increasing(np.bincount(place, weights=y) / weight, weight.astype(np.float64))
    return CalibrationFit(lambda score: np.where(np.isnan(score), np.nan, np.interp(score, knots, fitted)), math.nan)


def moments(x: Floats, y: Floats) -> Floats:
    """Counts, sums, squares and products of each row, whose totals :func:`line` uses: (C, 5)."""
    return np.column_stack([np.ones(x.size), x, y, x * x, x * y])


def line(totals: Floats) -> Floats:
    """Slope and intercept of each row of total moments, (B, 2); NaN where x does not vary."""
    n, x, y, xx, xy = totals.T
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = xx - x * x / n
        slope = np.where(spread > 1e-12 * xx, (xy - x * y / n) / spread, np.nan)
        return np.column_stack([slope, (y - slope * x) / n])


def held_out(x: Floats, y: Floats, fold: Ints, method: Method) -> Floats:
    """Each score calibrated by a fit to the other folds, (C,); NaN where that fit is not identified."""
    result = np.full(x.size, np.nan)
    for f in np.unique(fold):
        out = fold == f
        fitted = fit(x[~out], y[~out], method)
        if fitted is not None:
            result[out] = fitted.apply(x[out])
    return result


def folds_of(unit: NDArray[np.generic], order: NDArray[np.uint64], folds: int) -> Ints:
    """Fold of each cell: the levels of `unit`, sorted by their `order`, are assigned in turn."""
    levels, place = np.unique(unit, return_inverse=True)
    fold = np.empty(levels.size, dtype=np.int64)
    fold[np.argsort(order[levels], kind="stable")] = np.arange(levels.size) % folds
    return fold[place]


def shuffled(labels: Iterable[object], seed: int | np.random.Generator | None) -> NDArray[np.uint64]:
    """Hashes of labels with a seed: a random order that does not depend on the other labels."""
    hash_seed = seed if isinstance(seed, int | np.integer) else np.random.default_rng(seed).integers(2**31)
    text = np.array([str(x) for x in labels], dtype=object)
    number: NDArray[np.uint64] = pd.util.hash_array(text, hash_key=f"{int(hash_seed):016d}"[-16:])
    return number


def mapped(
    table: pd.DataFrame, groups: list[str], maps: Mapping[tuple[str, ...], CalibrationFit | None], final: str | None
) -> pd.DataFrame:
    """Ratings with every score calibrated by its judge's function."""
    if final is not None and "criterion" in table.columns:
        is_final = (table["criterion"].astype(object) == final).to_numpy(dtype=bool)
        table = table[is_final].reset_index(drop=True) if is_final.any() else table
    score = "score" if "score" in table.columns else "mean"
    keys = [*(k for k in groups if k != "judge"), "judge"]
    codes = codes_of(table, keys)
    before = table[score].to_numpy(dtype=float)
    after, slope = np.full(len(table), np.nan), np.full(len(table), np.nan)
    for first, rows in zip(codes.first, rows_of_codes(codes.code, codes.size), strict=True):
        fit = maps.get(name_of(table.iloc[int(first)][keys]))
        if fit is not None:
            after[rows], slope[rows] = fit.apply(before[rows]), fit.slope
    lost = np.isnan(after) & ~np.isnan(before)
    result = table.assign(**{score: after})
    if "sd" in table.columns:
        result["sd"] = table["sd"].to_numpy(dtype=float) * np.abs(slope)
    if lost.any():
        status = table["status"].astype(object) if "status" in table.columns else pd.Series("ok", index=table.index)
        result["status"] = status.where(~lost, MISSING_PARTNER)
    return result


def name_of(labels: Iterable[object]) -> tuple[str, ...]:
    """Key of a judge in its group."""
    return tuple("" if pd.isna(v) else str(v) for v in labels)
