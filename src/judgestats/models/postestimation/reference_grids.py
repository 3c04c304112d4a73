"""Combinations of levels at which a fit is evaluated, and marginal means on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd

from judgestats.errors import DesignError, choose, suggestion
from judgestats.models.coding.factor_levels import label
from judgestats.models.fitted_models import Fitted
from judgestats.models.links import LINKS
from judgestats.models.postestimation.marginal_effects import levels_of
from judgestats.models.postestimation.mean_responses import (
    CodedRows,
    Mean,
    estimable,
    gradient,
    mean,
    parted,
    parts,
    rows_of,
)
from judgestats.schema.columns import By, names
from judgestats.typing import Floats, Mask

WEIGHTS = ("equal", "proportional")
#: Scales of a cumulative model beside its probabilities.
OF_CLASSES = ("mean class", "cumulative", "exceedance")
#: Weights of combinations in cells, at most.
MOST = 50_000_000


@dataclass(frozen=True)
class GridCells:
    """What a mean is asked for: the arguments of ``means()`` and ``contrasts()`` that lay out the grid."""

    specs: By
    by: By = None
    weights: str = "equal"
    at: Mapping[str, object] | None = None
    random: str = "none"

    def columns(self) -> tuple[list[str], list[str]]:
        """Columns of the cells, and columns within whose levels they are compared."""
        own = list(dict.fromkeys(names(self.specs)))
        within = list(dict.fromkeys(names(self.by if self.by is not None else ())))
        if not own or set(own) & set(within):
            raise DesignError(
                f"specs={self.specs!r}, by={self.by!r}: name at least one column in specs, and none of them in by."
            )
        return own, within

    def refuse(self, fit: Fitted, scale: str, scales: Iterable[str]) -> None:
        """Refuse a scale, weights or a treatment of random effects that are not allowed."""
        choose(scale, (*scales, *OF_CLASSES), "scale")
        if scale in OF_CLASSES and not fit.distribution.ordered:
            raise DesignError(f"scale={scale!r} is for family='cumulative', got {fit.family!r}. Use scale='response'.")
        choose(self.weights, WEIGHTS, "weights")
        choose(self.random, ("none", "average"), "random")
        if self.random == "average" and scale not in ("response", *OF_CLASSES):
            raise DesignError(
                "random='average' is for scale='response': the mean of η does not depend on random effects."
            )


@dataclass(frozen=True)
class Grid:
    """Combinations of levels, averaged into cells."""

    frame: pd.DataFrame  # R combinations
    cells: pd.DataFrame  # K combinations of the columns asked for, in the order of their levels
    pool: Floats  # (K, R): weights of the combinations in each cell


@dataclass(frozen=True)
class Means:
    """Marginal means of K cells: one number each, or J categories."""

    value: Floats  # (K, J)
    gradient: Floats  # (K, J, P)
    estimable: Mask  # (K,)
    labels: tuple[str, ...] = ()  # of the J categories or thresholds; none of one number


def grid(fit: Fitted, columns: Sequence[str], cells: GridCells, *, random: bool) -> Grid:
    """Lay out a reference grid of `columns`; `random`: whether those that only random terms use are needed."""
    values = grid_values(fit, cells.at, random)
    for name in columns:
        if name not in values:
            raise DesignError(
                f"{name!r} is not a column of the fixed effects of {fit.formula!r}. Allowed: "
                f"{', '.join(values) or 'none'}.{suggestion(name, values)}"
            )
    size = int(np.prod([len(v) for v in values.values()], dtype=int))
    if size * int(np.prod([len(values[c]) for c in columns], dtype=int)) > MOST:
        raise DesignError(
            f"The grid has {size:,} combinations of {', '.join(values)}: too many. Hold some of them with at=, or use "
            "margins()."
        )
    ordered = {c: values[c] for c in [*columns, *(c for c in values if c not in columns)]}
    frame = pd.DataFrame(
        {
            c: typed_column(fit, c, v)
            for c, v in zip(ordered, zip(*product(*ordered.values()), strict=True), strict=True)
        }
    )
    inside = int(np.prod([len(v) for c, v in ordered.items() if c not in columns], dtype=int))
    share = (
        _shares(fit, ordered, columns, frame.iloc[:inside])
        if cells.weights == "proportional"
        else np.full(inside, 1 / inside)
    )
    cell_levels = frame[list(columns)].iloc[::inside].reset_index(drop=True)
    return Grid(frame, cell_levels, np.kron(np.eye(len(cell_levels)), share))


def grid_values(fit: Fitted, at: Mapping[str, object] | None, random: bool) -> dict[str, tuple[object, ...]]:
    """Values of every column that is needed."""
    d = fit.design
    coders = d.coders if random else d.coders[:1]
    needed = list(dict.fromkeys([*(c for own in coders for c in own.columns), *parted(fit)]))
    means = {c: m for own in coders[::-1] for c, m in own.means.items()}
    values = {c: levels_of(fit, c) or (means[c],) for c in needed}
    for name, held in (at or {}).items():
        if name not in values:
            raise DesignError(
                f"at={name!r} is not a column of the fixed effects. Allowed: {', '.join(values) or 'none'}."
                f"{suggestion(name, values)}"
            )
        own = tuple(held) if isinstance(held, (list, tuple, np.ndarray, range, pd.Series)) else (held,)
        allowed = {label(v): v for v in levels_of(fit, name)}
        for value in own:
            if allowed and label(value) not in allowed:
                hint = suggestion(str(value), allowed)
                raise DesignError(f"at: {name!r} has no level {value!r}. Allowed: {', '.join(allowed)}.{hint}")
        values[name] = tuple(allowed[label(v)] for v in own) if allowed else tuple(float(v) for v in own)
    return values


def typed_column(fit: Fitted, name: str, values: Sequence[object]) -> Any:
    """A column in the type of the data."""
    dtype = fit.design.frame[name].dtype
    categorical = isinstance(dtype, pd.CategoricalDtype) or levels_of(fit, name)
    return pd.Series(list(values), dtype=dtype if categorical else float)


def _shares(fit: Fitted, values: Mapping[str, object], columns: Sequence[str], inside: pd.DataFrame) -> Floats:
    """Relative frequency of the combinations that a cell averages over."""
    d = fit.design
    over = [c for c in values if c not in columns and levels_of(fit, c)]
    if not over:
        return np.ones(len(inside)) / len(inside)
    calls = (
        pd.Series(d.count * d.trials).groupby([d.frame[c].astype(object).map(label) for c in over], observed=True).sum()
    )
    keys = pd.MultiIndex.from_arrays([inside[c].astype(object).map(label) for c in over])
    seen = calls if isinstance(calls.index, pd.MultiIndex) else calls.set_axis(pd.MultiIndex.from_arrays([calls.index]))
    share = seen.reindex(keys).fillna(0.0).to_numpy(dtype=float)
    if not share.sum():
        raise DesignError("weights='proportional': no combination that is averaged over is in the data. Use 'equal'.")
    return np.asarray(share / share.sum())


def marginal(fit: Fitted, own: Grid, scale: str, *, random: bool) -> Means:
    """Marginal means on a grid, over the random effects where `random`."""
    rows = rows_of(fit, own.frame, groups=False) if random else _fixed_rows(fit, own.frame)
    is_estimable = estimable(fit.design, own.frame, own.pool)
    eta, X = own.pool @ rows.eta(fit), own.pool @ rows.X
    K = fit.model.predictors
    slope = np.zeros((len(eta), K, len(fit.params)))
    slope[:, :, : fit.n_fixed] = np.einsum("kl,gp->gklp", np.eye(K), X).reshape(len(eta), K, fit.n_fixed)
    if scale == "link":
        if fit.distribution.ordered:
            eta = eta - own.pool @ fit.thresholds.at(fit.tau).mean(axis=1)[rows.part]
            slope[:, 0, fit.n_fixed : fit.n_location] = -own.pool @ fit.thresholds.map.mean(axis=1)[rows.part]
        classes = fit.design.categories[1:] if fit.distribution.per_class else ()  # η of the baseline is 0, left out
        return Means(eta.reshape(len(eta), K), slope, is_estimable, classes)
    variance = rows.variance(fit)
    if fit.design.categories:
        responses = mean(fit, rows, rows.eta(fit), variance)
        cells = Means(
            own.pool @ responses.value,
            gradient(fit, rows, responses, own.pool),
            is_estimable,
            fit.design.categories,
        )
        return cells if scale == "response" else _of_classes(cells, scale)
    value, by_eta, by_variance = LINKS[fit.link].average(eta, own.pool @ variance)
    nothing = Mean(
        np.zeros((len(variance), 1)),
        np.zeros((len(variance), 1)),
        np.ones((len(variance), 1)),
        np.zeros((len(variance), 1, 0)),
    )
    moved = gradient(fit, rows, nothing, own.pool) if random else 0.0
    return Means(value[:, None], by_eta[:, None, None] * slope + by_variance[:, None, None] * moved, is_estimable)


def _of_classes(cells: Means, scale: str) -> Means:
    """Mean class, or probabilities up to each threshold or beyond it, from those of the J classes."""
    J = len(cells.labels)
    below = np.tri(J - 1, J)
    sums = {"mean class": np.arange(1.0, J + 1)[None], "cumulative": below, "exceedance": 1 - below}[scale]
    labels = () if scale == "mean class" else tuple(f"{a}|{b}" for a, b in pairwise(cells.labels))
    return Means(cells.value @ sums.T, sums @ cells.gradient, cells.estimable, labels)


def _fixed_rows(fit: Fitted, frame: pd.DataFrame) -> CodedRows:
    """Rows without the columns of the random terms."""
    X = fit.design.fixed.coder.matrix(frame)
    zs = tuple(np.zeros((len(X), len(t.names))) for t in fit.design.terms)
    return CodedRows(
        X, fit.design.fixed.coder.offset(frame), zs, tuple(np.full(len(X), -1) for _ in zs), parts(fit, frame)
    )
