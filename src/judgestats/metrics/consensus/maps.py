"""Scores of each judge beside a reference, and maps from one to the other: a shift, a line, a monotone curve."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError
from judgestats.kernels.deviation import consensus
from judgestats.metrics.consensus.identity import identities
from judgestats.metrics.consensus.reference import against
from judgestats.schema.cells import CellTable
from judgestats.schema.coding import codes_of, compact, joint
from judgestats.verdicts.groups import MISSING_PARTNER

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Method = Literal["shift", "linear", "rank"]
METHODS: tuple[Method, ...] = ("shift", "linear", "rank")


@dataclass(frozen=True)
class Cells:
    """Cells of one judge in one group.

    Attributes
    ----------
    x, y : (C,) float arrays
        The judge's mean score and the reference; NaN for none.
    own : (C,) bool array
        Whether the system is the judge itself.
    item, system : (C,) int arrays
    averaged : bool
        Whether replicates were averaged.
    """

    x: Floats
    y: Floats
    own: Mask
    item: NDArray[Any]
    system: NDArray[Any]
    averaged: bool

    def where(self, mask: Mask) -> Cells:
        """Only the cells where the mask is true."""
        return replace(self, **{k: getattr(self, k)[mask] for k in ("x", "y", "own", "item", "system")})

    @property
    def unit(self) -> tuple[str, NDArray[Any]]:
        """What is held out and drawn: items, or systems where there is one item."""
        return ("item", self.item) if len(np.unique(self.item)) > 1 else ("system", self.system)


def reference_of(
    table: CellTable, groups: list[str], reference: Any, final: str | None, identity: Mapping[str, str] | None
) -> Floats:
    """Reference of each unit."""
    if not isinstance(reference, str):
        target: Floats = against(reference, "final", final, identity)(table, groups).of_cell[table.cell]
        return target
    if reference != "peers":
        raise DesignError(f"reference={reference!r} is not known. Allowed: 'peers', or a frame with system and score.")
    judges = table.labels["judge"]
    peers = consensus(table.cell, table.mean, table.n_cells).deviation
    if np.isnan(peers).all():
        listed = ", ".join(map(str, judges)) or "none"
        raise DesignError(
            f"No two judges scored the same cell; judges: {listed}. Give judges who score the same systems and items, "
            "or a reference frame."
        )
    return table.mean - peers


def cells_of_judges(
    table: CellTable, groups: list[str], target: Floats, identity: Mapping[str, str]
) -> Iterator[tuple[dict[str, Any], Cells]]:
    """Cells of each judge in each group, with the labels that name them."""
    judges, systems = ([str(x) for x in table.labels[k]] for k in ("judge", "system"))
    known = identities([[s] for s in systems], judges, identity)
    place = {j: i for i, j in enumerate(judges)}
    judge_of_system = np.array([place.get(known[s], -1) for s in systems], dtype=np.int64)
    keys = [k for k in groups if k != "judge"]
    code, size = joint([(table.keys[k], len(table.labels[k])) for k in keys], table.n_cells)
    unit = code[table.cell].astype(np.int64) * len(judges) + table.judge
    number, _ = compact(unit, size * len(judges))
    order = np.argsort(number, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        cell = table.cell[rows]
        key = {k: table.labels[k][table.keys[k][cell[0]]] for k in keys}
        system = table.keys["system"][cell]
        yield (
            {**key, "judge": table.labels["judge"][table.judge[rows[0]]]},
            Cells(
                table.mean[rows],
                target[rows],
                judge_of_system[system] == table.judge[rows],
                table.keys["item"][cell],
                system,
                bool((np.asarray(table.runs)[rows] > 1).any()),
            ),
        )


def usable(cells: Cells, include_own: bool) -> Mask:
    """Cells with a score and a reference, but for own ones."""
    return ~np.isnan(cells.x) & ~np.isnan(cells.y) & (include_own | ~cells.own)


@dataclass(frozen=True)
class Fit:
    """A map of scores to calibrated scores, and by what it stretches them (NaN where that differs)."""

    apply: Callable[[Floats], Floats]
    slope: float


def fit(x: Floats, y: Floats, method: Method) -> Fit | None:
    """Map of scores to the reference; None where it is not identified."""
    if x.size < 3 or (method != "shift" and np.ptp(x) == 0):
        return None
    if method == "shift":
        shift = float((y - x).mean())
        return Fit(lambda score: score + shift, 1.0)
    if method == "linear":
        at, to = float(x.mean()), float(y.mean())
        slope = float(line(moments(x - at, y - to).sum(axis=0)[None, :])[0, 0])
        return Fit(lambda score: to + slope * (score - at), slope)
    from scipy.optimize import isotonic_regression  # a quarter of a second that only a rank map should cost

    knots, place, weight = np.unique(x, return_inverse=True, return_counts=True)
    fitted = isotonic_regression(np.bincount(place, weights=y) / weight, weights=weight).x
    return Fit(lambda score: np.where(np.isnan(score), np.nan, np.interp(score, knots, fitted)), math.nan)


def moments(x: Floats, y: Floats) -> Floats:
    """Counts, sums, squares and products of each row, of which :func:`line` takes totals: (C, 5)."""
    return np.column_stack([np.ones(x.size), x, y, x * x, x * y])


def line(totals: Floats) -> Floats:
    """Slope and intercept of each row of total moments, (B, 2); NaN where x does not vary."""
    n, x, y, xx, xy = totals.T
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = xx - x * x / n
        slope = np.where(spread > 1e-12 * xx, (xy - x * y / n) / spread, np.nan)
        return np.column_stack([slope, (y - slope * x) / n])


def held_out(x: Floats, y: Floats, fold: NDArray[np.int64], method: Method) -> Floats:
    """Map every score by a fit to the other folds.

    Parameters
    ----------
    x, y : (C,) float arrays
        Scores and reference.
    fold : (C,) int array
        Part that each is held out with.
    method : {'shift', 'linear', 'rank'}

    Returns
    -------
    (C,) float array
        NaN where the fit to the other folds is not identified.
    """
    result = np.full(x.size, np.nan)
    for f in np.unique(fold):
        out = fold == f
        fitted = fit(x[~out], y[~out], method)
        if fitted is not None:
            result[out] = fitted.apply(x[out])
    return result


def folds_of(unit: NDArray[Any], order: NDArray[np.uint64], folds: int) -> NDArray[np.int64]:
    """Fold of each cell: the levels of `unit`, sorted by their `order`, are dealt out in turn."""
    levels, place = np.unique(unit, return_inverse=True)
    fold = np.empty(levels.size, dtype=np.int64)
    fold[np.argsort(order[levels], kind="stable")] = np.arange(levels.size) % folds
    result: NDArray[np.int64] = fold[place]
    return result


def shuffled(labels: Iterable[Any], seed: int | np.random.Generator | None) -> NDArray[np.uint64]:
    """Hash labels with a seed: an order that one label has whatever the others are."""
    drawn = seed if isinstance(seed, int | np.integer) else np.random.default_rng(seed).integers(2**31)
    text = np.array([str(x) for x in labels], dtype=object)
    number: NDArray[np.uint64] = pd.util.hash_array(text, hash_key=f"{int(drawn):016d}"[-16:])
    return number


def mapped(
    table: pd.DataFrame, groups: list[str], maps: Mapping[tuple[str, ...], Fit | None], final: str | None
) -> pd.DataFrame:
    """Ratings with every score through its judge's map."""
    if final is not None and "criterion" in table.columns:
        is_final = (table["criterion"].astype(object) == final).to_numpy(dtype=bool)
        table = table[is_final].reset_index(drop=True) if is_final.any() else table
    score = "score" if "score" in table.columns else "mean"
    keys = [*(k for k in groups if k != "judge"), "judge"]
    codes = codes_of(table, keys)
    before = table[score].to_numpy(dtype=float)
    after, slope = np.full(len(table), np.nan), np.full(len(table), np.nan)
    for g, first in enumerate(codes.first):
        fit = maps.get(name_of(table.iloc[int(first)][keys]))
        if fit is not None:
            here = codes.code == g
            after[here], slope[here] = fit.apply(before[here]), fit.slope
    lost = np.isnan(after) & ~np.isnan(before)
    result = table.assign(**{score: after})
    if "sd" in table.columns:
        result["sd"] = table["sd"].to_numpy(dtype=float) * np.abs(slope)
    if lost.any():
        said = table["status"].astype(object) if "status" in table.columns else pd.Series("ok", index=table.index)
        result["status"] = said.where(~lost, MISSING_PARTNER)
    return result


def name_of(labels: Iterable[Any]) -> tuple[str, ...]:
    """Name of a judge in its group."""
    return tuple("" if pd.isna(v) else str(v) for v in labels)
