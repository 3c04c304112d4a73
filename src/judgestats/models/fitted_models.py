"""What every engine returns: a model, its parameters, their covariance, and what is needed for further analysis.

Functions of this package take a :class:`Fitted`; the public :class:`judgestats.models.fits.Fit` adds the methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np
import pandas as pd

from judgestats.kernels.clustered_scores import ClusterFactors, ClusterShares
from judgestats.kernels.kenward_roger import KenwardRoger
from judgestats.methods import TRAPEZOID, method_of
from judgestats.models.designs import Design
from judgestats.models.families import At, Family
from judgestats.models.likelihood.objectives import Scales
from judgestats.models.links import LINKS
from judgestats.models.specifications import Model
from judgestats.models.thresholds import Thresholds
from judgestats.typing import Floats, Ints

R = TypeVar("R")
#: By how much a refined rule may move the log likelihood, and the estimates in standard errors.
LOGLIK_MOVES, ESTIMATES_MOVE = 1e-6, 0.01


@dataclass(frozen=True)
class Refinement:
    """What a refined rule makes of a fit by numerical integration."""

    loglik: float  # by how much the log likelihood moves
    estimates: float  # by how many of its standard errors the estimate moves that moves most; one Newton step

    @property
    def settled(self) -> bool:
        """Whether neither moves."""
        return abs(self.loglik) < LOGLIK_MOVES and self.harmless

    @property
    def harmless(self) -> bool:
        """Whether the estimates do not move."""
        return self.estimates < ESTIMATES_MOVE


class RandomEffects(Protocol):
    """Conditional modes of the random effects and their uncertainty, given the parameters."""

    @property
    def modes(self) -> tuple[Floats, ...]:
        """For each term (levels, k): on the scale of the linear predictor."""
        ...

    @property
    def spreads(self) -> tuple[Floats, ...]:
        """For each term (levels, k, k): conditional covariance given the parameters."""
        ...

    def variance(self, X: Floats, zs: list[Floats], codes: list[Ints]) -> Floats:
        """(M,) variance of x'β + z'b, fixed and random effects jointly, given θ; a code of -1 is a new level."""
        ...


@dataclass(frozen=True)
class MarginalClusters:
    """Clusters of a marginal model."""

    columns: str  # the columns that they are the levels of, ``item`` or ``item:system``
    n: int
    correlation: float  # of two calls of one cluster
    # of degrees of freedom; None: the sandwich as it is
    shares: ClusterShares | ClusterFactors | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Options:
    """What was asked of a fit, and what its engine or the search for faults has to say beside the parameters."""

    df: str | None = None  # where degrees of freedom are to come from
    weights: str | None = None  # the column of prior weights
    separated: tuple[str, ...] = ()  # parameters that diverge
    clusters: MarginalClusters | None = None
    posterior: object = None  # draws and priors of an engine that samples


class Deferred(Generic[R]):
    """What a function gives, computed when it is first asked for; unlike a cached function, it can be pickled."""

    def __init__(self, function: Callable[[], R]) -> None:
        self._function = function

    def __call__(self) -> R:
        """The value."""
        return self._computed

    @cached_property
    def _computed(self) -> R:
        return self._function()


def _none() -> None:
    """What is not there."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model.

    `engine`, `method`: ``method`` is ``Laplace``, ``AGQ 9``, ``trapezoid 28 to 112``, ``ML``, ``REML``, ``GEE``, ...
    `params` (P,): β, τ, θ; θ are lower Cholesky factors of the terms' covariances, column by column, on the scale of
    the linear predictor. A Gaussian model has its residual sd last.
    `covariance` (P, P): NaN where it is not known, 0 where a parameter sits on its boundary.
    `loglik`: NaN where the engine has none.
    `notes`: flags.
    `refit`: of a Design (with another response, say) and of which row of this one each of its rows is: the same model
    fitted to it.
    `objective`: of the parameters but the residual sd: minus the log likelihood and its gradient.
    `effects`: without arguments: the :class:`RandomEffects`, computed on request; None without random effects.
    `sensitivity`: of nothing: how the covariance of the fixed effects moves with the variances of a linear mixed model,
    its (T, p, p) derivatives by T parameters and the (T, T) covariance of those; None elsewhere.
    `kenward_roger`: of nothing: the adjustment of a Gaussian mixed model; None elsewhere.
    `trace`: steps of the optimiser, as rows of :attr:`log`.
    `refinement`: of a fit by numerical integration.
    """

    model: Model
    engine: str
    method: str
    params: Floats
    covariance: Floats
    loglik: float = float("nan")
    converged: bool = True
    notes: tuple[str, ...] = ()
    options: Options = Options()
    refit: Callable[[Design, Ints], Fitted] | None = field(default=None, repr=False)
    objective: Callable[[Floats], tuple[float, Floats]] | None = field(default=None, repr=False)
    effects: Callable[[], RandomEffects | None] = field(default=_none, repr=False)
    sensitivity: Callable[[], tuple[Floats, Floats] | None] = field(default=_none, repr=False)
    kenward_roger: Callable[[], KenwardRoger | None] = field(default=_none, repr=False)
    trace: list[dict[str, object]] = field(default_factory=list, repr=False)
    refinement: Refinement | None = field(default=None, repr=False)

    @cached_property
    def design(self) -> Design:
        """The data of the model."""
        return self.model.design

    @property
    def family(self) -> str:
        """Name of the family."""
        return self.model.family

    @cached_property
    def link(self) -> str:
        """Name of the link."""
        return self.model.link

    @cached_property
    def thresholds(self) -> Thresholds:
        """Parameters beside fixed effects and variances, and how thresholds are made of them."""
        return self.model.thresholds

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters: fixed effects, thresholds, then variance parameters."""
        return self.model.parameter_names

    @property
    def df(self) -> int:
        """Parameters estimated."""
        return len(self.params)

    @cached_property
    def n(self) -> float:
        """Rows of data, counts included."""
        return self.design.n

    @property
    def log(self) -> pd.DataFrame:
        """The optimiser's log: a row per iteration, with a column per parameter."""
        return pd.DataFrame(self.trace)

    @property
    def formula(self) -> str:
        """The formula as it was typed."""
        return self.design.formula.source

    @property
    def approximation(self) -> str:
        """How the random effects are integrated out; likelihoods under different ones do not compare."""
        return str(TRAPEZOID) if method_of(self.method).is_by(TRAPEZOID) else self.method

    @cached_property
    def n_fixed(self) -> int:
        """Number of fixed effects."""
        return int(self.design.X.shape[1]) * self.model.predictors

    @cached_property
    def n_location(self) -> int:
        """Number of fixed effects and threshold parameters together."""
        return self.n_fixed + len(self.thresholds.names)

    @property
    def beta(self) -> Floats:
        """(p,) fixed effects."""
        return self.params[: self.n_fixed]

    @property
    def tau(self) -> Floats:
        """(t,) threshold parameters."""
        return self.params[self.n_fixed : self.n_location]

    def columns(self, of_design: slice) -> list[int]:
        """Positions of the fixed effects of some columns of the design, for every class of a nominal response."""
        width = self.design.X.shape[1]
        return [k * width + c for k in range(self.model.predictors) for c in range(of_design.start, of_design.stop)]

    @property
    def theta(self) -> Floats:
        """Cholesky factors of the random terms, column by column."""
        return self.params[self.n_location : self.n_location + self.n_theta]

    @cached_property
    def n_theta(self) -> int:
        """Number of variance parameters, the residual sd left out."""
        return sum(k * (k + 1) // 2 for k in self.model.sizes)

    @property
    def residual(self) -> float:
        """Residual sd of a Gaussian model; NaN otherwise."""
        return float(self.params[-1]) if self.distribution.linear else float("nan")

    @cached_property
    def distribution(self) -> Family:
        """The record of the family."""
        return self.model.distribution

    @property
    def unit(self) -> float:
        """Unit for standard deviations of random effects: the residual's, or 1."""
        return self.residual if self.distribution.linear else 1.0

    @cached_property
    def parts(self) -> Ints:
        """(N,) set of thresholds of each row of the design."""
        return self.model.parts

    @property
    def part(self) -> Ints:
        """The same as `parts`."""
        return self.model.parts

    def shape(self, params: Floats, rows: Ints | slice = slice(None)) -> Floats:
        """(N, k) what the family has beside the linear predictor in some rows; (S, N, k) of (S, P) draws."""
        part = self.parts[rows]
        if self.distribution.linear:
            return np.asarray(np.broadcast_to(params[..., None, -1:], (*params.shape[:-1], len(part), 1)), np.float64)
        tau = params[..., self.n_fixed : self.n_location]
        return np.asarray(np.einsum("ijt,...t->...ij", self.thresholds.map, tau)[..., part, :], np.float64)

    def at(self, eta: Floats, params: Floats | None = None) -> At:
        """The rows of the design at a linear predictor, and at other parameters than the estimates if given."""
        d = self.design
        shape = self.shape(self.params if params is None else params)
        return At(LINKS[self.link], eta, shape, d.trials, d.count, d.weights)

    @cached_property
    def _scales(self) -> Scales:
        return Scales.of(self.model.sizes)

    def factors(self, params: Floats | None = None) -> tuple[Floats, ...]:
        """Lower Cholesky factor of each random term's covariance, at other parameters (..., P) if given."""
        parameters = self.params if params is None else params
        return self._scales.factors(parameters[..., self.n_location : self.n_location + self.n_theta])

    def covariances(self, params: Floats | None = None) -> tuple[Floats, ...]:
        """Covariance of each random term."""
        return tuple([L @ L.T for L in self.factors(params)])
