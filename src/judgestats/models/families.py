"""Families of responses: one record of each, which all methods and engines read.

A new family is a subclass of :class:`Family`, and for our own engine a
:class:`judgestats.kernels.likelihoods.LikelihoodKernel` of each link. N rows; "shape" is what a family has beside the
linear predictor η, row by row: thresholds, a logarithm of a size, a residual standard deviation.
"""

# ruff: noqa: ARG002, D102 (one interface: a family leaves out what it does not need)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import expit, gammaln, log_expit, logsumexp, softmax

from judgestats.errors import DesignError
from judgestats.kernels import likelihoods as kernels
from judgestats.kernels.laplace import LikelihoodRows
from judgestats.models.coding import responses
from judgestats.models.coding.responses import Response
from judgestats.models.grammar.syntax import Formula
from judgestats.models.links import Link
from judgestats.models.threshold_sets import Partition
from judgestats.models.thresholds import NONE, Thresholds
from judgestats.typing import Column, Floats, Ints, Mask

FamilyName = Literal["binomial", "gaussian", "poisson", "negative_binomial", "cumulative", "nominal"]
#: An expression of PyTensor, and a family of statsmodels: libraries that are loaded where they are used.
Tensor: TypeAlias = Any
StatsmodelsFamily: TypeAlias = Any
#: Rows with their sums, a :class:`judgestats.models.likelihood.compression.Compressed`, which is built on this module.
RowSums: TypeAlias = Any
#: Linear predictors of a complementary log-log link beyond which its likelihood is flat.
FAR = (-700.0, 100.0)
#: Rates beyond it are drawn as it: NumPy's Poisson variables are 64-bit integers.
MOST_RATE = 1e15


@dataclass(frozen=True)
class At:
    """Rows at given parameters."""

    link: Link
    eta: Floats  # (N,): linear predictor
    # (N, k): what the family has beside it: thresholds, the logarithm of the size, the residual standard deviation
    shape: Floats
    trials: Floats  # trials, count, weights (N,): of each row of the design: trials of a call, calls, prior weights
    count: Floats
    weights: Floats

    def of(self, rows: Ints) -> At:
        """Some of the rows."""
        own = (v[rows] for v in (self.eta, self.shape, self.trials, self.count, self.weights))
        return At(self.link, *own)

    @property
    def calls(self) -> Ints:
        """Trials of all calls of a row."""
        return np.rint(self.count * self.trials).astype(np.int64)


#: Name -> family.
FAMILIES: dict[str, Family] = {}


class Family:
    """A distribution of the response, given the linear predictor η."""

    def __init_subclass__(cls) -> None:
        FAMILIES[cls.name] = cls()

    name: str
    links: tuple[str, ...]  # the default one first
    engines: tuple[str, ...]  # those that fit it
    kernels: ClassVar[Mapping[str, int]] = {}  # link -> number in the kernels of engine ml; empty if exact
    has_trials = False  # a row holds successes of several trials
    ordered = False  # the response is one of ordered categories
    per_class = False  # there is a linear predictor of each class but the first, so that η has their columns
    linear = False  # the likelihood is the normal one, its last parameter the residual standard deviation
    categorical = False  # a call has one of a few answers, so that a level with few calls carries little information
    additive = True  # rows with equal predictors may be summed, for any responses
    holds = ""  # what a response may be, for the message; empty where any number is allowed
    limit = ""  # the family that it is where its own parameter is infinite
    shape_title = ""  # heading of what is estimated of the shape, in a summary

    def response(self, formula: Formula, frame: pd.DataFrame, categories: Sequence[object] | None = None) -> Response:
        """Read the response of a formula from N rows, none missing; a DesignError if it does not fit the family."""
        node = formula.left
        if categories is not None and not (self.ordered or self.per_class):
            raise DesignError(
                f"categories= is for family='cumulative' and 'nominal', got family={self.name!r}. Leave it out."
            )
        bound = node.kind == "call" and node.value == "cbind"
        if (bound or node.kind == "level") and not self.has_trials:
            raise DesignError(
                f"{formula.response!r} is a binomial response, got family={self.name!r}. Use family='binomial'."
            )
        if node.kind == "level":
            return responses.chosen(formula, frame)
        if bound:
            return responses.bound(formula, frame)
        values = frame[node.value] if node.kind == "name" else responses.computed(formula, frame)
        return self.read(formula, values, categories)

    def read(self, formula: Formula, values: Column, categories: Sequence[object] | None) -> Response:
        """A column of the response as numbers."""
        y = responses.numbers(formula, values, self.name)
        if self.holds:
            responses.refuse(formula, (y < 0) | (y % 1 != 0), y, self.holds, self.name)
        return Response(y, np.ones(len(y)))

    def predictors(self, categories: tuple[str, ...]) -> tuple[str, ...]:
        """What the names of coefficients start with, for each linear predictor of a row."""
        return ("",)

    def thresholds(self, partition: Partition, categories: tuple[str, ...], link: str, shape: str) -> Thresholds:
        """Parameters of the shape that are estimated with the fixed effects."""
        return NONE

    def constant(self, y: Floats, trials: Floats) -> Floats:
        """(N,) log likelihood that does not depend on parameters."""
        return np.zeros(len(y))

    def loglik(self, link: Link, y: Floats, eta: Floats, shape: Floats) -> Floats:
        """(S, N) log likelihood of N single calls at (S, N) linear predictors and (S, N or 1, k) shapes."""
        raise NotImplementedError

    def draw(self, rng: np.random.Generator, at: At) -> Floats:
        """(N,) responses of one call of each row."""
        raise NotImplementedError

    def draw_sums(self, rng: np.random.Generator, at: At) -> Floats:
        """(N, K) sums over all calls of each row; K categories, or 1."""
        raise NotImplementedError

    def chances(self, at: At) -> Floats:
        """(N, J) probabilities of the answers of a categorical family."""
        raise NotImplementedError

    def variance(self, mean: Floats, shape: Floats) -> Floats:
        """(N,) variance of the response of one trial."""
        raise NotImplementedError

    def latent(self, link: Link, mean: float, shape: Floats) -> float:
        """Variance of a call on the scale of the linear predictor, at a mean of the response (Nakagawa et al. 2017)."""
        return link.latent

    def extremes(self, categories: int) -> tuple[float, ...]:
        """Responses such that a level with one of them only has an infinite estimate."""
        return ()

    def runs_away(self, eta: Floats, limit: float) -> bool:
        """Whether some response is predicted with probability near 1."""
        return bool((np.abs(eta) > limit).any())

    def losing(self, y: Floats, trials: Floats) -> tuple[Mask, Mask]:
        """Rows that lose probability where the linear predictor falls, and where it rises."""
        return y > 0, trials > y

    def start(self, rows: LikelihoodRows) -> float:
        """Level of the linear predictor at which the search for the maximum starts."""
        return 0.0

    def unit(self, y: Floats, offset: Floats, calls: Floats) -> tuple[float, float]:
        """Unit of the linear predictor, and its middle: where priors stand."""
        return 1.0, 0.0

    def potential(self, pt: ModuleType, rows: RowSums, eta: Tensor, link: str, shape: Tensor) -> Tensor:
        """Log likelihood of compressed rows for PyMC; a Gaussian one lacks the logarithm of the residual sd."""
        raise NotImplementedError

    def statsmodels(self, link: str) -> StatsmodelsFamily:
        """The family of statsmodels."""
        raise NotImplementedError


class Binomial(Family):
    """Successes of trials."""

    name = "binomial"
    links = ("logit", "probit", "cloglog")
    engines = ("ml", "glm", "gee", "lpm", "statsmodels", "pymc")
    kernels: ClassVar[Mapping[str, int]] = {
        "logit": kernels.BINOMIAL_LOGIT,
        "probit": kernels.BINOMIAL_PROBIT,
        "cloglog": kernels.BINOMIAL_CLOGLOG,
    }
    has_trials = categorical = True

    def read(self, formula: Formula, values: Column, categories: Sequence[object] | None) -> Response:
        return responses.binary(formula, values)

    def constant(self, y: Floats, trials: Floats) -> Floats:
        return np.asarray(gammaln(trials + 1) - gammaln(y + 1) - gammaln(trials - y + 1), np.float64)

    def loglik(self, link: Link, y: Floats, eta: Floats, shape: Floats) -> Floats:
        assert link.log_inverse is not None
        assert link.log_upper is not None
        return np.where(y > 0, link.log_inverse(eta), link.log_upper(eta))

    def draw(self, rng: np.random.Generator, at: At) -> Floats:
        return rng.binomial(at.trials.astype(np.int64), at.link.inverse(at.eta)).astype(float)

    def draw_sums(self, rng: np.random.Generator, at: At) -> Floats:
        return rng.binomial(at.calls, at.link.inverse(at.eta)).astype(float)[:, None]

    def chances(self, at: At) -> Floats:
        p = at.link.inverse(at.eta)
        return np.column_stack([1 - p, p])

    def variance(self, mean: Floats, shape: Floats) -> Floats:
        return mean * (1 - mean)

    def extremes(self, categories: int) -> tuple[float, ...]:
        return 0.0, 1.0

    def potential(self, pt: ModuleType, rows: RowSums, eta: Tensor, link: str, shape: Tensor) -> Tensor:
        if link == "logit":
            return rows.y * eta - rows.m * pt.softplus(eta)
        if link == "cloglog":
            rate = pt.exp(pt.clip(eta, *FAR))
            return rows.y * pt.log(-pt.expm1(-rate)) - (rows.m - rows.y) * rate
        return rows.y * _lcdf(pt, eta) + (rows.m - rows.y) * _lcdf(pt, -eta)

    def statsmodels(self, link: str) -> StatsmodelsFamily:
        from statsmodels.genmod import families
        from statsmodels.genmod.families import links

        return families.Binomial({"logit": links.Logit, "probit": links.Probit, "cloglog": links.CLogLog}[link]())


class Gaussian(Family):
    """Numbers with normal residuals."""

    name = "gaussian"
    links = ("identity",)
    engines = ("ml", "glm", "gee", "mixedlm", "pymc")
    linear = True

    def loglik(self, link: Link, y: Floats, eta: Floats, shape: Floats) -> Floats:
        sd = shape[..., 0]
        return np.asarray(-0.5 * ((y - eta) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi), np.float64)

    def draw(self, rng: np.random.Generator, at: At) -> Floats:
        spread = at.shape[:, 0] / np.sqrt(at.weights)
        return np.asarray(at.eta + spread * rng.standard_normal(len(at.eta)), np.float64)

    def draw_sums(self, rng: np.random.Generator, at: At) -> Floats:
        spread = at.shape[:, 0] * np.sqrt(at.count / at.weights)
        return np.asarray(at.count * at.eta + spread * rng.standard_normal(len(at.eta)), np.float64)[:, None]

    def variance(self, mean: Floats, shape: Floats) -> Floats:
        return np.asarray(shape[:, 0] ** 2, np.float64)

    def latent(self, link: Link, mean: float, shape: Floats) -> float:
        return float(shape[0, 0] ** 2)

    def unit(self, y: Floats, offset: Floats, calls: Floats) -> tuple[float, float]:
        values, weight = y - offset, calls / calls.sum()
        mean = weight @ values
        sd = float(np.sqrt(weight @ (values - mean) ** 2))
        return sd if sd > 0 else 1.0, float(mean)

    def potential(self, pt: ModuleType, rows: RowSums, eta: Tensor, link: str, shape: Tensor) -> Tensor:
        return -(rows.squares + rows.m * (rows.y / rows.m - eta) ** 2) / (2 * shape**2)

    def statsmodels(self, link: str) -> StatsmodelsFamily:
        from statsmodels.genmod import families

        return families.Gaussian()


class Poisson(Family):
    """Counts whose variance is their mean."""

    name = "poisson"
    links = ("log",)
    engines: tuple[str, ...] = ("ml", "glm", "gee", "pymc")
    kernels: ClassVar[Mapping[str, int]] = {"log": kernels.POISSON_LOG}
    holds = "counts: whole numbers from 0"

    def constant(self, y: Floats, trials: Floats) -> Floats:
        return np.asarray(-gammaln(y + 1), np.float64)

    def loglik(self, link: Link, y: Floats, eta: Floats, shape: Floats) -> Floats:
        return np.asarray(y * eta - np.exp(eta) - gammaln(y + 1), np.float64)

    def draw(self, rng: np.random.Generator, at: At) -> Floats:
        return rng.poisson(np.exp(at.eta)).astype(float)

    def draw_sums(self, rng: np.random.Generator, at: At) -> Floats:
        rate = at.calls * np.exp(np.minimum(at.eta, 700.0))
        return rng.poisson(np.minimum(rate, MOST_RATE)).astype(float)[:, None]

    def variance(self, mean: Floats, shape: Floats) -> Floats:
        return mean

    def latent(self, link: Link, mean: float, shape: Floats) -> float:
        return float(np.log1p(1 / mean))

    def extremes(self, categories: int) -> tuple[float, ...]:
        return (0.0,)

    def runs_away(self, eta: Floats, limit: float) -> bool:
        return bool((eta < -limit).any())

    def losing(self, y: Floats, trials: Floats) -> tuple[Mask, Mask]:
        return y > 0, np.ones(len(y), bool)

    def start(self, rows: LikelihoodRows) -> float:
        return float(np.log(rows.times @ rows.y + 0.1) - logsumexp(rows.offset, b=rows.times * rows.m))

    def unit(self, y: Floats, offset: Floats, calls: Floats) -> tuple[float, float]:
        return 1.0, float(np.log(max(float(calls @ y), 0.5) / float(calls @ np.exp(offset))))

    def potential(self, pt: ModuleType, rows: RowSums, eta: Tensor, link: str, shape: Tensor) -> Tensor:
        return rows.y * eta - rows.m * pt.exp(eta)

    def statsmodels(self, link: str) -> StatsmodelsFamily:
        from statsmodels.genmod import families

        return families.Poisson()


class NegativeBinomial(Poisson):
    """Counts with variance μ + μ²/size (NB2); the logarithm of the size is estimated."""

    name = "negative_binomial"
    engines = ("ml",)
    kernels: ClassVar[Mapping[str, int]] = {"log": kernels.NEGATIVE_BINOMIAL_LOG}
    additive = False
    limit = "poisson"
    shape_title = "Dispersion, variance = mean + mean²/size"

    def thresholds(self, partition: Partition, categories: tuple[str, ...], link: str, shape: str) -> Thresholds:
        return Thresholds(np.ones((1, 1, 1)), ("log(size)",), link, location=False)

    def loglik(self, link: Link, y: Floats, eta: Floats, shape: Floats) -> Floats:
        size, share = np.exp(shape[..., 0]), log_expit(eta - shape[..., 0])
        ways = gammaln(y + size) - gammaln(size) - gammaln(y + 1)
        return np.asarray(ways + size * log_expit(shape[..., 0] - eta) + y * share, np.float64)

    def draw(self, rng: np.random.Generator, at: At) -> Floats:
        return rng.negative_binomial(np.exp(at.shape[:, 0]), expit(at.shape[:, 0] - at.eta)).astype(float)

    def draw_sums(self, rng: np.random.Generator, at: At) -> Floats:
        size = at.calls * np.exp(at.shape[:, 0])
        return rng.negative_binomial(size, expit(at.shape[:, 0] - at.eta)).astype(float)[:, None]

    def variance(self, mean: Floats, shape: Floats) -> Floats:
        return mean + mean**2 / np.exp(shape[:, 0])

    def latent(self, link: Link, mean: float, shape: Floats) -> float:
        return float(np.log1p(1 / mean + np.exp(-shape[0, 0])))


class Cumulative(Family):
    """Ordered categories, P(Y <= j) = F(θ_j - η)."""

    name = "cumulative"
    links: tuple[str, ...] = ("logit", "probit", "cloglog")
    engines: tuple[str, ...] = ("ml", "ordered", "pymc")
    kernels: ClassVar[Mapping[str, int]] = {
        "logit": kernels.CUMULATIVE_LOGIT,
        "probit": kernels.CUMULATIVE_PROBIT,
        "cloglog": kernels.CUMULATIVE_CLOGLOG,
    }
    ordered = categorical = True
    shape_title = "Thresholds, P(Y <= j) = F(threshold - eta)"

    def read(self, formula: Formula, values: Column, categories: Sequence[object] | None) -> Response:
        return responses.ordered(formula.response, values, categories)

    def thresholds(self, partition: Partition, categories: tuple[str, ...], link: str, shape: str) -> Thresholds:
        return partition.thresholds(categories, link, shape)

    def loglik(self, link: Link, y: Floats, eta: Floats, shape: Floats) -> Floats:
        edge = np.full((*shape.shape[:2], 1), np.inf)
        cuts, place = np.concatenate([-edge, shape, edge], axis=2), y.astype(np.int64)
        rows = np.arange(len(y))
        hi, lo = cuts[:, rows, place + 1] - eta, cuts[:, rows, place] - eta
        upper = hi + lo > 0
        assert link.log_inverse is not None
        assert link.log_upper is not None
        with np.errstate(divide="ignore", over="ignore"):
            high = np.where(upper, link.log_upper(lo), link.log_inverse(hi))
            low = np.where(upper, link.log_upper(hi), link.log_inverse(lo))
            return np.asarray(high + np.log1p(-np.exp(low - high)), np.float64)

    def draw(self, rng: np.random.Generator, at: At) -> Floats:
        below = np.cumsum(self.chances(at), axis=1)[:, :-1]
        return np.asarray((rng.random(len(below))[:, None] > below).sum(axis=1), np.float64)

    def draw_sums(self, rng: np.random.Generator, at: At) -> Floats:
        return rng.multinomial(at.calls, self.chances(at)).astype(float)

    def chances(self, at: At) -> Floats:
        edge = np.ones((len(at.eta), 1))
        below = at.link.inverse(at.shape - at.eta[:, None])
        result = np.diff(np.hstack([0 * edge, below, edge]), axis=1).clip(0)
        return np.asarray(result / result.sum(axis=1, keepdims=True), np.float64)

    def extremes(self, categories: int) -> tuple[float, ...]:
        return 0.0, categories - 1.0

    def potential(self, pt: ModuleType, rows: RowSums, eta: Tensor, link: str, shape: Tensor) -> Tensor:
        y, last = rows.category, shape.shape[1]
        hi = shape[rows.part, pt.minimum(y, last - 1)] - eta
        lo = shape[rows.part, np.maximum(y - 1, 0)] - eta
        if link == "logit":  # log F(a) - F(b) = log F(a) + log F(-b) + log(1 - exp(b - a))
            gap = pt.switch(pt.eq(hi, lo), 1.0, hi - lo)
            inner = -pt.softplus(-hi) - pt.softplus(lo) + pt.log1p(-pt.exp(-gap))
            lowest, highest = -pt.softplus(-hi), -pt.softplus(lo)
        elif link == "cloglog":
            high, low = pt.exp(pt.clip(hi, *FAR)), pt.exp(pt.clip(lo, *FAR))
            inner = -low + pt.log(-pt.expm1(-pt.switch(pt.eq(high, low), 1.0, high - low)))
            lowest, highest = pt.log(-pt.expm1(-high)), -low
        else:  # in the tail that is not near 1
            upper = pt.gt(hi + lo, 0)
            a, b = pt.switch(upper, -lo, hi), pt.switch(upper, -hi, lo)
            gap = pt.switch(pt.eq(hi, lo), -1.0, _lcdf(pt, b) - _lcdf(pt, a))
            inner = _lcdf(pt, a) + pt.log1p(-pt.exp(gap))
            lowest, highest = _lcdf(pt, hi), _lcdf(pt, -lo)
        return rows.m * pt.switch(y == 0, lowest, pt.switch(pt.eq(y, last), highest, inner))


class Nominal(Cumulative):
    """Classes without an order: log P(Y = j) / P(Y = first) = η of class j."""

    name = "nominal"
    links = ("logit",)
    engines = ("ml", "pymc")
    kernels: ClassVar[Mapping[str, int]] = {}
    ordered = False
    per_class = True
    shape_title = ""

    def read(self, formula: Formula, values: Column, categories: Sequence[object] | None) -> Response:
        return responses.classes(formula.response, values, categories)

    def predictors(self, categories: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{c}: " for c in categories[1:])

    def thresholds(self, partition: Partition, categories: tuple[str, ...], link: str, shape: str) -> Thresholds:
        return NONE

    def loglik(self, link: Link, y: Floats, eta: Floats, shape: Floats) -> Floats:
        each = np.pad(eta, ((0, 0), (0, 0), (1, 0)))
        return np.asarray(each[:, np.arange(len(y)), y.astype(np.int64)] - logsumexp(each, axis=2), np.float64)

    def chances(self, at: At) -> Floats:
        return np.asarray(softmax(np.pad(at.eta, ((0, 0), (1, 0))), axis=1), np.float64)

    def extremes(self, categories: int) -> tuple[float, ...]:
        return tuple(map(float, range(categories)))

    def runs_away(self, eta: Floats, limit: float) -> bool:
        return bool((np.ptp(np.pad(eta, ((0, 0), (1, 0))), axis=1) > limit).any())

    def potential(self, pt: ModuleType, rows: RowSums, eta: Tensor, link: str, shape: Tensor) -> Tensor:
        own = pt.eq(rows.category[:, None], pt.arange(1, eta.shape[1] + 1))
        total = pt.logsumexp(pt.concatenate([pt.zeros_like(eta[:, :1]), eta], axis=1), axis=1)
        return rows.m * ((eta * own).sum(axis=1) - total)


def _lcdf(pt: ModuleType, x: Tensor) -> Tensor:
    """Logarithm of the normal distribution function; PyMC's own rounds the root of 2 to single precision."""
    root = np.sqrt(2.0)
    low, high = pt.minimum(x, -1.0), pt.maximum(x, -1.0)
    tail = pt.log(pt.erfcx(-low / root) / 2) - low**2 / 2
    return pt.switch(x < -1.0, tail, pt.log1p(-pt.erfc(high / root) / 2))
