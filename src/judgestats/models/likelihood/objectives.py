"""What the likelihood engine minimises: parameters in, minus the log likelihood and its gradient out.

Parameters are fixed effects β, threshold parameters τ (cumulative models) and θ, the lower Cholesky factors of the
random terms' covariances, column by column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logit, ndtri

from judgestats.errors import DesignError, choose
from judgestats.kernels.elimination import Structure, structure
from judgestats.kernels.laplace import Adjoint, Laplace, Rows
from judgestats.kernels.likelihoods import (
    BINOMIAL_LOGIT,
    BINOMIAL_PROBIT,
    CUMULATIVE_LOGIT,
    CUMULATIVE_PROBIT,
    POISSON_LOG,
)
from judgestats.kernels.linear_mixed import Cells, Profile, profile
from judgestats.kernels.quadrature import Quadrature, Trapezoid
from judgestats.models.coding.frames import independent, labels
from judgestats.models.designs import Design
from judgestats.models.likelihood.compression import Columns, Compressed

# ---- Thresholds of a cumulative model: which parameters they have, and how parameters become thresholds --------------

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Thresholds:
    """J - 1 thresholds in each of S sets, from T parameters.

    Attributes
    ----------
    map : (S, J - 1, T) float array
    names : tuple of str
        Of the parameters.
    link : str
    """

    map: Floats
    names: tuple[str, ...]
    link: str

    def at(self, tau: Floats) -> Floats:
        """The thresholds.

        Parameters
        ----------
        tau : (T,) float array

        Returns
        -------
        (S, J - 1) float array
        """
        result: Floats = self.map @ tau
        return result

    def around(self, tau: Floats, category: Ints, part: Ints) -> tuple[Floats, Floats, bool]:
        """Upper and lower threshold of each row's category, and whether thresholds are in order.

        Parameters
        ----------
        tau : (T,) float array
        category, part : (N,) int arrays

        Returns
        -------
        hi, lo : (N,) float arrays
        ordered : bool
        """
        if not self.names:
            nothing = np.zeros(len(category))
            return nothing, nothing, True
        inner = self.at(tau)
        edge = np.full((len(inner), 1), np.inf)
        full = np.concatenate([-edge, inner, edge], axis=1)
        ordered = bool((np.diff(inner, axis=1) > 0).all()) if inner.shape[1] > 1 else True
        return full[part, category + 1], full[part, category], ordered

    def gradient(self, by_hi: Floats, by_lo: Floats, category: Ints, part: Ints) -> Floats:
        """Derivatives by the parameters.

        Parameters
        ----------
        by_hi, by_lo : (N,) float arrays
        category, part : (N,) int arrays

        Returns
        -------
        (T,) float array
        """
        if not self.names:
            return np.zeros(0)
        S, inner, _ = self.map.shape
        place = part * (inner + 2) + category
        sums = np.bincount(place + 1, by_hi, minlength=S * (inner + 2))
        sums += np.bincount(place, by_lo, minlength=S * (inner + 2))
        by_threshold = sums.reshape(S, inner + 2)[:, 1:-1]
        result: Floats = np.tensordot(by_threshold, self.map, axes=2)
        return result

    def start(self, category: Ints, part: Ints, weight: Floats) -> Floats:
        """Parameters that fit the margins.

        Parameters
        ----------
        category, part : (N,) int arrays
        weight : (N,) float array

        Returns
        -------
        (T,) float array
        """
        if not self.names:
            return np.zeros(0)
        S, inner, T = self.map.shape
        table = np.bincount(part * (inner + 1) + category, weight, minlength=S * (inner + 1)).reshape(S, inner + 1)
        share = np.cumsum(table + 0.5, axis=1)
        share = share[:, :-1] / share[:, -1:]
        wanted = ndtri(share) if self.link == "probit" else logit(share)
        tau: Floats = np.linalg.lstsq(self.map.reshape(S * inner, T), wanted.ravel(), rcond=None)[0]
        return tau


#: Of a model that is not cumulative.
NONE = Thresholds(np.zeros((1, 0, 0)), (), "logit")


def thresholds(
    categories: Sequence[str],
    link: str,
    shape: str = "free",
    parts: Mapping[str, Sequence[str]] | None = None,
    sets: Sequence[Mapping[str, str]] = ({},),
) -> Thresholds:
    """Lay out the thresholds of a cumulative model.

    Parameters
    ----------
    categories : sequence of str
        J of them, in order; none gives no thresholds.
    link : str
        ``logit`` or ``probit``.
    shape : {"free", "symmetric"}
    parts : mapping, optional
        Parameter -> levels over which it varies: of ``midpoint`` and ``half-width`` with symmetric thresholds, of
        ``threshold`` with free ones. Others are shared.
    sets : sequence of mapping
        For each set of thresholds the level of each parameter in `parts`.

    Examples
    --------
    >>> thresholds(["loses", "tie", "wins"], "logit", "symmetric").names
    ('midpoint', 'half-width')
    >>> thresholds(["1", "2", "3"], "probit").names
    ('1|2', '2|3')
    """
    parts = parts or {}
    if len(categories) < 2:
        return NONE
    base, rows, kinds = _shape(categories, shape)
    names = [n if k not in parts else f"{n}[{v}]" for n, k in zip(rows, kinds, strict=True) for v in parts.get(k, [""])]
    full = np.zeros((len(sets), len(categories) - 1, len(names)))
    for s, chosen in enumerate(sets):
        for c, (name, kind) in enumerate(zip(rows, kinds, strict=True)):
            own = name if kind not in parts else f"{name}[{chosen[kind]}]"
            full[s, :, names.index(own)] = base[:, c]
    return Thresholds(full, tuple(names), link)


def _shape(categories: Sequence[str], shape: str) -> tuple[Floats, list[str], list[str]]:
    """Map of one set, names of its parameters, and what kind each is."""
    inner = len(categories) - 1
    if shape == "free":
        names = [f"{a}|{b}" for a, b in pairwise(categories)]
        return np.eye(inner), names, ["threshold"] * inner
    pairs = inner // 2
    base = np.zeros((inner, 1 + pairs))
    base[:, 0] = 1.0
    for k in range(pairs):
        base[pairs - 1 - k, 1 + k], base[inner - pairs + k, 1 + k] = -1.0, 1.0
    widths = ["half-width"] if pairs == 1 else [f"half-width {k + 1}" for k in range(pairs)]
    return base, ["midpoint", *widths], ["midpoint"] + ["half-width"] * pairs


# ---- Which set of thresholds each row has, where thresholds vary by a column -----------------------------------------

#: Shape of thresholds -> its parameters.
THRESHOLDS = {"free": ("threshold",), "symmetric": ("midpoint", "half-width")}


@dataclass(frozen=True)
class Partition:
    """Sets of thresholds.

    Attributes
    ----------
    columns : dict
        Parameter (``midpoint``, ``half-width``, ``threshold``) -> the column over which it varies.
    levels : dict
        Parameter -> levels of that column.
    sets : tuple of tuple of str
        For each set the level of each parameter, in the order of `columns`.
    """

    columns: dict[str, str]
    levels: dict[str, tuple[str, ...]]
    sets: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, columns: Mapping[str, str], frame: pd.DataFrame) -> Partition:
        """Find the sets that occur.

        Parameters
        ----------
        columns : mapping
            Parameter -> column.
        frame : pandas.DataFrame

        Raises
        ------
        DesignError
            If a column has one level.
        """
        names = {kind: labels(frame[c]).to_numpy(dtype=object) for kind, c in columns.items()}
        levels = {kind: tuple(sorted(set(own))) for kind, own in names.items()}
        for kind, own in levels.items():
            if len(own) < 2:
                raise DesignError(
                    f"thresholds_by: {columns[kind]!r} is always {own[0]!r} in the rows used, so that the {kind} "
                    "cannot vary over it. Leave it out."
                )
        sets = tuple(sorted(set(zip(*names.values(), strict=True)))) if names else ((),)
        return cls(dict(columns), levels, sets)

    def codes(self, frame: pd.DataFrame) -> Ints:
        """Set of each row.

        Parameters
        ----------
        frame : pandas.DataFrame
            With the columns over which thresholds vary.

        Returns
        -------
        (N,) int array

        Raises
        ------
        DesignError
            If a row has levels that did not occur together when the model was fitted.
        """
        if not self.columns:
            return np.zeros(len(frame), np.int64)
        for name in self.columns.values():
            if name not in frame.columns:
                raise DesignError(f"The thresholds vary by {name!r}, which is no column of the new rows. Add it.")
        keys = list(zip(*(labels(frame[c]) for c in self.columns.values()), strict=True))
        place = {own: k for k, own in enumerate(self.sets)}
        new = [k for k in keys if k not in place]
        if new:
            given = ", ".join(f"{c} {v!r}" for c, v in zip(self.columns.values(), new[0], strict=True))
            raise DesignError(f"There are no thresholds for {given}: it was not there when the model was fitted.")
        return np.array([place[k] for k in keys], np.int64)

    def thresholds(self, categories: tuple[str, ...], link: str, shape: str) -> Thresholds:
        """Thresholds of every set."""
        sets = [dict(zip(self.columns, own, strict=True)) for own in self.sets]
        return thresholds(categories, link, shape, self.levels, sets)


def by_kind(thresholds_by: Any, shape: str) -> dict[str, str]:
    """Read the argument ``thresholds_by``.

    Parameters
    ----------
    thresholds_by : str, mapping or None
        A column, by which all thresholds vary, or a column for each parameter.
    shape : {"free", "symmetric"}

    Returns
    -------
    dict
        Parameter -> column.

    Raises
    ------
    DesignError
        If a parameter is none of that shape.

    Examples
    --------
    >>> by_kind("prompt", "symmetric")
    {'midpoint': 'prompt', 'half-width': 'prompt'}
    """
    known = THRESHOLDS[shape]
    if thresholds_by is None:
        return {}
    if isinstance(thresholds_by, str):
        return dict.fromkeys(known, thresholds_by)
    if not isinstance(thresholds_by, Mapping):
        raise DesignError(
            f"thresholds_by={thresholds_by!r} names no column. Give a column, or a mapping of {', '.join(known)} to "
            "columns."
        )
    return {choose(kind, known, f"thresholds={shape!r}: thresholds_by"): str(c) for kind, c in thresholds_by.items()}


def refuse_twice(partition: Partition, design: Design) -> None:
    """Refuse fixed effects that shift all thresholds of a level, where these vary by it already.

    Raises
    ------
    DesignError
        If such a column is in the fixed part too.
    """
    for kind in ("midpoint", "threshold"):
        if kind not in partition.columns:
            continue
        names = labels(design.frame[partition.columns[kind]]).to_numpy(dtype=object)
        dummies = (names[:, None] == np.array(partition.levels[kind], dtype=object)).astype(float)
        kept = independent(np.hstack([dummies, design.X]))
        width = dummies.shape[1]
        lost = [n for k, n in enumerate(design.names) if k + width not in kept]
        if lost:
            raise DesignError(
                f"The {kind} varies by {partition.columns[kind]!r}, and {', '.join(lost)} of {design.formula.source!r} "
                "would move it too. Leave one of them out."
            )


# ---- What the likelihood engine minimises: parameters in, minus the log likelihood and its gradient out --------------


#: Family and link -> number in the kernels.
KINDS = {
    ("binomial", "logit"): BINOMIAL_LOGIT,
    ("binomial", "probit"): BINOMIAL_PROBIT,
    ("poisson", "log"): POISSON_LOG,
    ("cumulative", "logit"): CUMULATIVE_LOGIT,
    ("cumulative", "probit"): CUMULATIVE_PROBIT,
}


class Approximation(Protocol):
    """A kernel that integrates the random effects out."""

    def value(self, eta0: Floats, zl: Floats, hi: Floats, lo: Floats) -> tuple[float, Floats]:
        """Minus the log likelihood, and what :meth:`adjoint` needs of the linear predictor."""
        ...

    def adjoint(self, eta: Floats, zl: Floats, hi: Floats, lo: Floats) -> Adjoint:
        """Derivatives there."""
        ...


@dataclass(frozen=True)
class Scales:
    """Where θ stands in Λ.

    Attributes
    ----------
    sizes : tuple of int
        Columns of each term.
    column, row : (T,) int arrays
        Of each element of θ: which column of z it multiplies, and to which column of ZΛ the product is added.
    diagonal : (T,) bool array
        Elements that are standard deviations or their Cholesky counterpart, so not negative.
    term : (T,) int array
        The term that each belongs to.
    """

    sizes: tuple[int, ...]
    column: NDArray[np.int64]
    row: NDArray[np.int64]
    diagonal: NDArray[np.bool_]
    term: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: tuple[int, ...]) -> Scales:
        """Lay θ out."""
        places, first = [], 0
        for t, size in enumerate(sizes):
            places += [(first + a, first + b, a == b, t) for b in range(size) for a in range(b, size)]
            first += size
        column, row, diagonal, term = (np.array([p[i] for p in places], np.int64) for i in range(4))
        return cls(sizes, column, row, diagonal.astype(bool), term)

    def spread(self, z: Floats, theta: Floats) -> Floats:
        """ZΛ, row by row.

        Parameters
        ----------
        z : (N, K) float array
        theta : (T,) float array

        Returns
        -------
        (N, K) float array
        """
        result = np.zeros_like(z)
        for value, a, b in zip(theta, self.column, self.row, strict=True):
            result[:, b] += value * z[:, a]
        return result

    def gradient(self, z: Floats, by_scale: Floats) -> Floats:
        """Turn derivatives by ZΛ into derivatives by θ.

        Parameters
        ----------
        z, by_scale : (N, K) float arrays

        Returns
        -------
        (T,) float array
        """
        result: Floats = (z.T @ by_scale)[self.column, self.row]
        return result

    def factors(self, theta: Floats) -> tuple[Floats, ...]:
        """Lower Cholesky factor of each term.

        Parameters
        ----------
        theta : (T,) float array

        Returns
        -------
        tuple of (k, k) float arrays
        """
        firsts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(int)
        result = tuple(np.zeros((s, s)) for s in self.sizes)
        for value, a, b, t in zip(theta, self.column, self.row, self.term, strict=True):
            result[t][a - firsts[t], b - firsts[t]] = value
        return result

    def signs(self, theta: Floats) -> Floats:
        """Signs under which Λ Λ' stays and the diagonal of Λ is not negative.

        Parameters
        ----------
        theta : (T,) float array

        Returns
        -------
        (T,) float array
            1 or -1.
        """
        sign = np.where((theta < 0) & self.diagonal, -1.0, 1.0)
        by_column = {int(b): s for b, s in zip(self.row[self.diagonal], sign[self.diagonal], strict=True)}
        return np.array([by_column[int(b)] for b in self.row], np.float64)


@dataclass
class GeneralisedObjective:
    """Minus the log likelihood of a generalised or cumulative mixed model, without its constant.

    Attributes
    ----------
    rows : Rows
    kernel : Approximation
        Laplace, Gauss-Hermite quadrature or the trapezoidal rule.
    scales : Scales
    thresholds : Thresholds
    """

    rows: Rows
    kernel: Approximation
    scales: Scales
    thresholds: Thresholds

    def split(self, params: Floats) -> tuple[Floats, Floats, Floats]:
        """Fixed effects, threshold parameters, θ."""
        p, t = self.rows.X.shape[1], len(self.thresholds.names)
        return params[:p], params[p : p + t], params[p + t :]

    def __call__(self, params: Floats) -> tuple[float, Floats]:
        """Objective and gradient; infinite where thresholds are out of order."""
        beta, tau, theta = self.split(params)
        d = self.rows
        hi, lo, ordered = self.thresholds.around(tau, d.category, d.part)
        if not ordered or not np.isfinite(params).all():
            return np.inf, np.full(len(params), np.nan)
        zl = self.scales.spread(d.z, theta)
        value, eta = self.kernel.value(d.X @ beta + d.offset, zl, hi, lo)
        if not np.isfinite(value):
            return np.inf, np.full(len(params), np.nan)
        by = self.kernel.adjoint(eta, zl, hi, lo)
        by_tau = self.thresholds.gradient(by.hi, by.lo, d.category, d.part)
        return value, np.concatenate([d.X.T @ by.eta, by_tau, self.scales.gradient(d.z, by.scale)])


@dataclass
class LinearObjective:
    """Minus the log likelihood of a linear mixed model by θ alone, relative to the residual sd."""

    cells: Cells
    layout: Structure
    scales: Scales
    reml: bool

    def at(self, theta: Floats) -> Profile:
        """The profile at θ."""
        return profile(self.cells, self.layout, self.scales.spread(self.cells.z, theta), self.reml)

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Objective and gradient."""
        found = self.at(theta)
        return found.objective, self.scales.gradient(self.cells.z, found.scale)


def rows_of(table: Compressed, kind: int) -> Rows:
    """The compressed table as the kernels take it."""
    X, z = np.ascontiguousarray(table.X), np.ascontiguousarray(table.columns.z)
    return Rows(kind, table.y, table.m, X, table.offset, z, table.times, table.category, table.part)


def layout_of(own: Columns) -> Structure:
    """Elimination structure of the random effects."""
    return structure(np.ascontiguousarray(own.cols), own.blocks)


def laplace(table: Compressed, kind: int, thresholds: Thresholds) -> GeneralisedObjective:
    """Laplace objective for any random terms."""
    rows = rows_of(table, kind)
    kernel = Laplace.of(rows, layout_of(table.columns), table.often)
    return GeneralisedObjective(rows, kernel, Scales.of(table.columns.sizes), thresholds)


def quadrature(table: Compressed, kind: int, thresholds: Thresholds, n: int) -> GeneralisedObjective:
    """Adaptive Gauss-Hermite objective; the design has one scalar term.

    Parameters
    ----------
    table : Compressed
    kind : int
    thresholds : Thresholds
    n : int
        Nodes.
    """
    rows = rows_of(table, kind)
    kernel = Quadrature.of(rows, _starts(table), table.often, n)
    return GeneralisedObjective(rows, kernel, Scales.of(table.columns.sizes), thresholds)


def trapezoid(table: Compressed, kind: int, thresholds: Thresholds, extra: int = 0) -> GeneralisedObjective:
    """Objective by the trapezoidal rule, refined group by group; the design has one scalar term.

    Parameters
    ----------
    table : Compressed
    kind : int
    thresholds : Thresholds
    extra : int
        How often the rule is doubled beyond what each group needs.
    """
    rows = rows_of(table, kind)
    kernel = Trapezoid.of(rows, _starts(table), table.often, extra)
    return GeneralisedObjective(rows, kernel, Scales.of(table.columns.sizes), thresholds)


def _starts(table: Compressed) -> NDArray[np.int64]:
    """First row of each group, and the number of rows."""
    return np.searchsorted(table.columns.cols[:, 0], np.arange(int(table.columns.blocks[-1]) + 1)).astype(np.int64)


def linear(table: Compressed, n: float, log_weight: float, reml: bool) -> LinearObjective:
    """Objective of a linear mixed model.

    Parameters
    ----------
    table : Compressed
        Groups not collapsed.
    n : float
        Rows of data.
    log_weight : float
        Sum over rows of the log of their weight.
    reml : bool
    """
    mean = table.y / table.m - table.offset
    within = float(table.squares.sum())
    X, z = np.ascontiguousarray(table.X), np.ascontiguousarray(table.columns.z)
    cells = Cells(mean, table.m, X, z, n, within, log_weight)
    return LinearObjective(cells, layout_of(table.columns), Scales.of(table.columns.sizes), reml)
