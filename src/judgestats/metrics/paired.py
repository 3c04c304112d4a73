"""Difference of two proportions, of the same units (paired) or of independent samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats import flags, methods
from judgestats.counting.clustering import auto_cluster
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.kernels.proportions import clustered_tango, newcombe, newcombe_paired
from judgestats.results import with_interval
from judgestats.schema.coding import codes_of
from judgestats.typing import Floats, Integers, Mask

#: Hits and trials of the units of a side.
Marks = tuple[Mask, Mask]
_Row = dict[str, Any]
#: In place of a cluster column: each pair is a cluster of its two calls.
_UNIT = "\0unit"


@dataclass(frozen=True)
class Sides:
    """Units of two sides, and the units they share."""

    units: tuple[Study, Study]  # a row per call or pair: what identifies it
    n: tuple[Floats, Floats]  # how many each stands for
    shared: tuple[NDArray[np.intp], NDArray[np.intp]] | None  # their rows; None if a unit occurs twice on a side

    def swapped(self) -> Sides:
        """Return the second side first."""
        return Sides(self.units[::-1], self.n[::-1], None if self.shared is None else self.shared[::-1])


def matched_sides(one: pd.DataFrame, two: pd.DataFrame, keys: Sequence[str]) -> Sides:
    """Match the units of two sides one to one by `keys`, as far as both have them; missing values are equal."""
    keys = [k for k in keys if k in one.columns and k in two.columns]
    code = codes_of(pd.DataFrame({k: _stacked(one[k], two[k]) for k in keys}), keys).code
    n = one["n"].to_numpy(dtype=float), two["n"].to_numpy(dtype=float)
    return sides_by_code((Study.of(one), Study.of(two)), n, code[: len(one)], code[len(one) :])


def sides_by_code(units: tuple[Study, Study], n: tuple[Floats, Floats], left: Integers, right: Integers) -> Sides:
    """Match the units of two sides by the number of what they are about."""
    _, rows_1, rows_2 = np.intersect1d(left, right, return_indices=True)
    repeated = any(len(side) and np.bincount(side).max() > 1 for side in (left, right))
    return Sides(units, n, None if repeated and rows_1.size else (rows_1, rows_2))


def paired_difference(
    sides: Sides, one: Marks, two: Marks, conf_level: float = CONF_LEVEL, cluster: str | Study | None = None
) -> tuple[_Row | None, str]:
    """Cells of one side's proportion minus the other's on shared units, None where they cannot be paired; and a flag.

    `one`, `two`: hits and trials of each unit, (N,), or (N, 2) where a unit is a pair and its two calls count.
    `cluster`: column that units share: Tango's interval with the effective n of its levels in place of Newcombe's
    paired one; a study: the column that the units share of it, and the pair where a unit is its two calls.
    """
    if sides.shared is None:
        return None, flags.REPEATED
    (hit_1, trial_1, n_1), (hit_2, trial_2, n_2) = (
        _weighted(n, *marks) for n, marks in zip(sides.n, (one, two), strict=True)
    )
    rows_1, rows_2 = sides.shared
    both = trial_1[rows_1] & trial_2[rows_2]
    n = n_1[rows_1][both]
    if not n.sum() > 0:
        return None, flags.NOTHING_SHARED if trial_1.any() and trial_2.any() else ""
    if (n != n_2[rows_2][both]).any():
        return None, flags.UNEQUAL_COUNTS
    judged = n_1[trial_1].sum() + n_2[trial_2].sum() - n.sum()
    left_out = "" if judged == n.sum() else flags.STIMULI_SHARED.of(n.sum(), total=f"{judged:,.0f}")
    first, second = hit_1[rows_1][both], hit_2[rows_2][both]
    unit = np.broadcast_to(rows_1[:, None], both.shape)[both]
    shared, place = np.unique(unit, return_inverse=True)
    units = Study(sides.units[0].columns.take(shared))
    if isinstance(cluster, Study):
        of_calls = both.shape[1] == 2
        n_units = float(n.sum()) / (2 if of_calls else 1)
        column = auto_cluster(cluster, [], n_units, units=units).column
        cluster = column or (_UNIT if of_calls else None)
    if cluster is None:
        cells = (first & second, first & ~second, ~first & second, ~first & ~second)
        a, b, c, d = (float(n[x].sum()) for x in cells)
        return paired_cells(a, b, c, d, conf_level), left_out
    columns = units.columns if cluster in units.columns else units.candidates
    code = place if cluster == _UNIT else columns.ranked([cluster]).code[place]
    marks = (first & ~second, ~first & second, np.ones_like(first))
    gains, losses, size = (np.bincount(code, n * x).astype(np.float64) for x in marks)
    interval = clustered_tango(gains, losses, size, conf_level)
    name = "pair" if cluster == _UNIT else cluster
    total, method = float(n.sum()), methods.clustered(methods.TANGO_PAIRED, name, size)
    row: _Row = {"estimate": float(gains.sum() - losses.sum()) / total, "n": total, "method": method}
    row |= with_interval(interval.std_error, interval.low, interval.high)
    return row, flags.join(flags.few_clusters(size), left_out)


def interval_difference(one: Mapping[str, Any], two: Mapping[str, Any]) -> _Row:
    """Difference of two estimates, from the intervals of both (square-and-add); ``n`` is the smaller sample."""
    value = one["estimate"] - two["estimate"]
    below = math.hypot(one["estimate"] - one["conf_low"], two["conf_high"] - two["estimate"])
    above = math.hypot(one["conf_high"] - one["estimate"], two["estimate"] - two["conf_low"])
    cells = {"estimate": value, "n": min(one["n"], two["n"]), "method": methods.MOVER.on("from both intervals")}
    return with_interval(math.hypot(one["std_error"], two["std_error"]), value - below, value + above, **cells)


def independent_difference(k1: float, n1: float, k2: float, n2: float, conf_level: float = CONF_LEVEL) -> _Row:
    """k1/n1 minus k2/n2 of two independent samples, with Newcombe's interval; ``n`` is the smaller sample."""
    if not (n1 > 0 and n2 > 0):
        return {"estimate": math.nan, "n": 0.0}
    low, high = newcombe(k1, n1, k2, n2, conf_level)
    p1, p2 = k1 / n1, k2 / n2
    error = math.sqrt(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2)
    return with_interval(error, low, high, estimate=p1 - p2, n=min(n1, n2), method=methods.NEWCOMBE_INDEPENDENT)


def paired_cells(a: float, b: float, c: float, d: float, conf_level: float = CONF_LEVEL) -> _Row:
    """Difference (b - c)/n of two paired proportions, with Newcombe's paired interval.

    `a`, `b`, `c`, `d`: pairs that are hits on both sides, on the first only, on the second only, on neither.
    """
    total, ends = a + b + c + d, newcombe_paired(a, b, c, d, conf_level)
    cells = {"estimate": (b - c) / total, "n": total, "method": methods.NEWCOMBE_PAIRED}
    return with_interval(paired_error(b, c, total), *ends, **cells)


def paired_error(b: float, c: float, total: float) -> float:
    """Standard error of a paired difference with b and c discordant pairs of `total`."""
    return math.sqrt(max(b + c - (b - c) ** 2 / total, 0.0)) / total


def _weighted(n: Floats, hit: Mask, trial: Mask) -> tuple[Mask, Mask, Floats]:
    """Hits, trials and counts of the units, (N, 1), or (N, 2) for the calls of pairs."""
    shape = (n.size, 2 if hit.ndim == 2 else 1)
    return hit.reshape(shape), trial.reshape(shape), np.broadcast_to(n[:, None], shape)


def _stacked(one: pd.Series, two: pd.Series) -> pd.Series:
    """Both columns in one; columns of different types (one side may be empty) become objects."""
    sides = [one, two] if one.dtype == two.dtype else [one.astype(object), two.astype(object)]
    return pd.concat(sides, ignore_index=True)
