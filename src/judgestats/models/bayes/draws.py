"""Draws of a posterior, their summaries and diagnostics. The only module that imports ArviZ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

from judgestats import flags
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import FitError, confidence
from judgestats.models.bayes.centred_priors import CentredPrior
from judgestats.threads import warnings_ignored
from judgestats.typing import Floats

#: Variable -> labels along each of its dimensions.
Labels = dict[str, tuple[tuple[str, ...], ...]]
#: Largest R-hat of mixed chains, and smallest effective sample size for an interval (Vehtari et al. 2021).
MOST_RHAT, LEAST_ESS = 1.01, 400
#: Largest Pareto k of reliable importance weights (Vehtari et al. 2024).
MOST_PARETO = 0.7
#: Powers of prior and likelihood in power-scaling (Kallioinen et al. 2024).
POWERS = (0.99, 1.01)
#: Variable of a PyMC model that has its log likelihood.
LOG_LIKELIHOOD = "log_likelihood"
#: Tail area under the prior predictive below which prior and data conflict.
CONFLICTING = 0.01


@dataclass(frozen=True, eq=False)
class TopParameter:
    """Draws (chains, draws, ...) of a parameter whose prior, centred at `centre`, depends on no other parameter."""

    name: str
    values: Floats
    prior: CentredPrior
    centre: float = 0.0

    @property
    def log_prior(self) -> Floats:
        """Log prior density of each draw without constants, (chains, draws)."""
        logs = self.prior.log_density(self.values - self.centre)
        return np.asarray(logs.reshape(*logs.shape[:2], -1).sum(axis=-1), np.float64)

    @property
    def tail(self) -> float:
        """Smallest prior-predictive tail area of the posterior means (Evans and Moshonov 2006; decision 35)."""
        z = self.prior.place(self.values - self.centre).reshape(-1, int(np.prod(self.values.shape[2:])))
        at = z.mean(axis=0) / np.sqrt(np.maximum(1 - z.var(axis=0), 1e-6))
        return float((ndtr(-at) if self.prior.half else 2 * ndtr(-np.abs(at))).min(initial=1.0))


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of every variable of a model."""

    values: dict[str, Floats] = field(repr=False)  # (chains, draws, ...)
    # variable -> labels along each of its further dimensions
    labels: Labels = field(repr=False)
    divergences: int  # number of divergent transitions
    method: str  # how the draws were made
    # pareto_k, importance_ess: of importance sampling: tail shape of the weights, and effective sample size. NaN for
    # draws of a sampler
    pareto_k: float = float("nan")
    importance_ess: float = float("nan")
    top_parameters: tuple[TopParameter, ...] = field(
        default=(), repr=False
    )  # parameters whose priors depend on no other parameter
    log_likelihood: Floats | None = field(default=None, repr=False)  # (chains, draws): of each draw, without constants
    # (chains, draws): statistics of the sampler: ``diverging``, ``energy`` and others
    stats: dict[str, NDArray[np.generic]] = field(default_factory=dict, repr=False)

    @cached_property
    def _powers(self) -> tuple[tuple[Floats, Floats], ...]:
        """Weights of the draws with the prior, or the likelihood, raised to each of two powers."""
        weight_pairs: list[tuple[Floats, Floats]] = []
        if self.log_likelihood is None or not self.top_parameters:
            return ()
        for part in (sum(t.log_prior for t in self.top_parameters), self.log_likelihood):
            logs = [_arviz().power_scale_lw(part, alpha=alpha, axis=(0, 1)) for alpha in POWERS]
            weights = [np.exp(w - w.max()) for w in logs]
            weight_pairs.append((weights[0] / weights[0].sum(), weights[1] / weights[1].sum()))
        return tuple(weight_pairs)

    def sensitivity(self, values: Floats) -> tuple[float, float]:
        """Change of a posterior (chains, draws) per doubling of the power of prior and likelihood (decision 35)."""
        if not self._powers or not np.isfinite(values).all() or np.ptp(values) == 0:
            return float("nan"), float("nan")
        low, high = POWERS
        prior, likelihood = (
            float(_arviz().power_scale_sense(values, *w, low, high, chain_axis=0, draw_axis=1)) for w in self._powers
        )
        return prior, likelihood

    def conflicts(self) -> dict[str, float]:
        """Parameters whose prior conflicts with the data -> tail area."""
        tails = {t.name: t.tail for t in self.top_parameters}
        return {name: p for name, p in tails.items() if p < CONFLICTING}

    def flat(self, name: str) -> Floats:
        """Draws of one variable with chains concatenated, (S, ...)."""
        values = self.values[name]
        return values.reshape(-1, *values.shape[2:])

    def summary(self, names: Sequence[str] | None = None, conf_level: float = CONF_LEVEL) -> pd.DataFrame:
        """Mean, sd, equal-tailed interval and diagnostics of each element, ``name[label, label]``."""
        confidence(conf_level)
        tables = [self._summary_of(name, conf_level) for name in names or self.values]
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    def _summary_of(self, name: str, conf_level: float) -> pd.DataFrame:
        values = self.values[name]
        flat = values.reshape(*values.shape[:2], -1)
        tail = (1 - conf_level) / 2
        low, high = np.quantile(flat, [tail, 1 - tail], axis=(0, 1))
        rhat, bulk, end = diagnostics(flat)
        each = [flat[..., k] for k in range(flat.shape[-1])]
        table = pd.DataFrame({"term": self._element_names(name), "estimate": [v.mean() for v in each]})
        table = table.assign(std_error=[v.std(ddof=1) for v in each], conf_low=low, conf_high=high)
        table = table.assign(rhat=rhat, ess_bulk=bulk, ess_tail=end)
        table["flag"] = [mixing_flags(r, min(b, e)) for r, b, e in zip(rhat, bulk, end, strict=True)]
        return table

    def table(self) -> pd.DataFrame:
        """``chain``, ``draw`` (from 0) and a column for each element, named as in :meth:`summary`; empty if none."""
        if not self.values:
            return pd.DataFrame(columns=["chain", "draw"])
        columns = {name: self.flat(name).reshape(v.shape[0] * v.shape[1], -1) for name, v in self.values.items()}
        names = [n for name in columns for n in self._element_names(name)]
        chains, size = next(iter(self.values.values())).shape[:2]
        place = {"chain": np.repeat(np.arange(chains), size), "draw": np.tile(np.arange(size), chains)}
        return pd.DataFrame(place).join(pd.DataFrame(np.concatenate(list(columns.values()), axis=1), columns=names))

    def _element_names(self, name: str) -> list[str]:
        joined_labels = (", ".join(filter(None, which)) for which in product(*self.labels.get(name, ())))
        return [
            f"{name}[{labels}]" if labels else name for labels in joined_labels
        ]  # an empty label: there is one condition

    def notes(self) -> tuple[str, ...]:
        """Flags of the posterior as a whole."""
        table = self.summary()
        cautions = [f for f in (flags.NOT_MIXED, flags.FEW_EFFECTIVE) if table["flag"].str.contains(f).any()]
        if self.importance_ess < LEAST_ESS and flags.FEW_EFFECTIVE not in cautions:
            cautions.append(flags.FEW_EFFECTIVE)
        cautions += [flags.HEAVY] if self.pareto_k > MOST_PARETO else []
        return (*cautions, *([flags.DIVERGENT.of(self.divergences)] if self.divergences else []))


def mixing_flags(rhat: float, ess: float) -> str:
    """Flags of draws by their R-hat and effective sample size."""
    flagged = [f for bad, f in ((rhat > MOST_RHAT, flags.NOT_MIXED), (ess < LEAST_ESS, flags.FEW_EFFECTIVE)) if bad]
    return "; ".join(flagged)


def diagnostics(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Rank-normalised R-hat (of the halves of a single chain) and effective sizes of bulk and tails."""
    stats = _arviz()
    half = values.shape[1] // 2
    chains = values if len(values) > 1 else np.concatenate([values[:, :half], values[:, -half:]])
    with np.errstate(invalid="ignore", divide="ignore"):
        rhat = stats.rhat(chains, chain_axis=0, draw_axis=1)
        bulk = stats.ess(values, chain_axis=0, draw_axis=1, method="bulk")
        tail = stats.ess(values, chain_axis=0, draw_axis=1, method="tail", prob=(0.05, 0.95))
    return np.atleast_1d(rhat), np.atleast_1d(bulk), np.atleast_1d(tail)


def pointwise(loglik: Floats) -> tuple[Floats, Floats]:
    """PSIS-LOO of each unit: `elpd` and `pareto_k`, (N,), from log likelihoods (chains, draws, N)."""
    each = [_unit_elpd(np.ascontiguousarray(loglik[..., i])) for i in range(loglik.shape[-1])]
    return np.array([e[0] for e in each]), np.array([e[1] for e in each])


def _unit_elpd(loglik: Floats) -> tuple[float, float]:
    """Elpd and Pareto k of one unit."""
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            elpd, k = _arviz().loo(loglik, chain_axis=0, draw_axis=1)[:2]
    except ValueError:  # all draws in the tail are equal
        elpd, k = np.nan, np.nan
    if np.isfinite(elpd):
        return float(elpd), float(k)
    return float(np.log(loglik.size) - logsumexp(-loglik)), 0.0 if np.ptp(loglik) == 0 else np.inf


def smoothed(log_weights: Floats) -> tuple[Floats, float]:
    """Pareto-smoothed importance weights (S,), which sum to 1, and Pareto k; above 0.7 they are not reliable."""
    allowed = np.isfinite(log_weights)
    if np.ptp(log_weights[allowed]) < 1e-12:  # draws from the target itself
        return allowed / allowed.sum(), 0.0
    smooth, k = _arviz().psislw(-log_weights[allowed])
    weights = np.zeros(len(log_weights))
    weights[allowed] = np.exp(smooth)
    return weights / weights.sum(), float(k)


def _arviz() -> Any:
    try:
        from arviz_stats.base import array_stats
    except ImportError as error:
        raise missing("arviz") from error
    return array_stats


def inference_data(
    draws: Draws,
    values: Mapping[str, Floats],
    labels: Mapping[str, Mapping[str, Sequence[str]]],
    log_likelihood: Mapping[str, Floats] | None = None,
    observed: Mapping[str, Floats] | None = None,
) -> Any:
    """ArviZ's InferenceData (0.x) or DataTree (1.x); `labels`: variable -> dimension -> labels."""
    if not draws.stats:
        raise FitError(f"ArviZ needs chains, and there are none: {draws.method}. Use draws() for a table of the draws.")
    with warnings_ignored():
        try:
            import arviz
        except ImportError as error:
            raise missing("arviz") from error
        groups: dict[str, Any] = {"posterior": dict(values), "sample_stats": draws.stats}
        groups |= {"log_likelihood": dict(log_likelihood)} if log_likelihood else {}
        groups |= {"observed_data": dict(observed)} if observed else {}
        coords = {dim: list(levels) for dims in labels.values() for dim, levels in dims.items()}
        dims = {name: list(dimensions) for name, dimensions in labels.items()}
        if int(arviz.__version__.split(".")[0]) < 1:
            return arviz.from_dict(**groups, coords=coords, dims=dims)
        return arviz.from_dict(groups, coords=coords, dims=dims)


def missing(what: str) -> FitError:
    """The error if a package of the extra is not installed."""
    return FitError(f'{what} is not installed, and Bayesian models need it. Do: pip install "judgestats[bayes]"')


def read(trace: Any, labels: Labels, method: str) -> Draws:
    """Draws of the variables in `labels` from an InferenceData or a DataTree."""
    posterior = trace["posterior"]
    likelihood = np.asarray(posterior[LOG_LIKELIHOOD].values, np.float64) if LOG_LIKELIHOOD in posterior else None
    values = {name: np.asarray(posterior[name].values, np.float64) for name in labels}
    sampler_stats = trace["sample_stats"]
    stats = {
        str(name): np.asarray(sampler_stats[name].values)
        for name in sampler_stats.data_vars
        if sampler_stats[name].ndim == 2
    }
    diverged = int(stats["diverging"].sum())
    return Draws(values, dict(labels), diverged, method, log_likelihood=likelihood, stats=stats)
