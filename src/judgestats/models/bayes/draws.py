"""Draws of a posterior, what they say, and whether they may be trusted. The only module that calls arviz."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp

from judgestats.errors import FitError

Floats = NDArray[np.float64]

#: Chains that have not mixed, and too few effective draws for an interval (Vehtari et al. 2021).
MOST_RHAT, LEAST_ESS = 1.01, 400
#: Shape of the tail of importance weights above which their sums are not to be trusted (Vehtari et al. 2024).
MOST_PARETO = 0.7
#: Flags of a posterior.
NOT_MIXED = "chains have not mixed"
FEW_EFFECTIVE = "fewer than 400 effective draws"
DIVERGENT = "divergent transitions"
HEAVY = "importance weights too heavy (Pareto k above 0.7)"


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of every variable of a model.

    Attributes
    ----------
    values : dict of (chains, draws, ...) arrays
    labels : dict
        Variable -> labels along each of its further dimensions.
    divergences : int
        Transitions that diverged.
    method : str
        How the draws were made.
    pareto_k, importance_ess : float
        Of draws by importance sampling: shape of the tail of the weights, and the independent draws that they are
        worth. NaN for draws of a sampler.
    """

    values: dict[str, Floats] = field(repr=False)
    labels: dict[str, tuple[tuple[str, ...], ...]] = field(repr=False)
    divergences: int
    method: str
    pareto_k: float = float("nan")
    importance_ess: float = float("nan")

    def flat(self, name: str) -> Floats:
        """Draws of one variable, chains one after the other.

        Parameters
        ----------
        name : str

        Returns
        -------
        (S, ...) array
        """
        own = self.values[name]
        return own.reshape(-1, *own.shape[2:])

    def summary(self, names: Sequence[str] | None = None, conf_level: float = 0.95) -> pd.DataFrame:
        """Mean, sd, equal-tailed interval and diagnostics of each element.

        Parameters
        ----------
        names : sequence of str, optional
            All variables by default.
        conf_level : float

        Returns
        -------
        pandas.DataFrame
            ``term`` (``name[label, label]``), ``estimate``, ``std_error`` (sd of the posterior), ``conf_low``,
            ``conf_high``, ``rhat``, ``ess_bulk``, ``ess_tail``, ``flag``.
        """
        rows = [row for name in names or self.values for row in self._rows(name, conf_level)]
        return pd.DataFrame(rows)

    def _rows(self, name: str, conf_level: float) -> list[dict[str, Any]]:
        own, labels = self.values[name], self.labels.get(name, ())
        flat = own.reshape(*own.shape[:2], -1)
        names = [f"{name}[{', '.join(which)}]" if which else name for which in product(*labels)]
        tail = (1 - conf_level) / 2
        low, high = np.quantile(flat, [tail, 1 - tail], axis=(0, 1))
        rhat, bulk, end = diagnostics(flat)
        return [
            {
                "term": term, "estimate": float(flat[..., k].mean()), "std_error": float(flat[..., k].std(ddof=1)),
                "conf_low": low[k], "conf_high": high[k], "rhat": rhat[k], "ess_bulk": bulk[k], "ess_tail": end[k],
                "flag": doubt(rhat[k], min(bulk[k], end[k])),
            }
            for k, term in enumerate(names)
        ]  # fmt: skip

    def notes(self) -> tuple[str, ...]:
        """Flags of the posterior as a whole.

        Returns
        -------
        tuple of str
        """
        table = self.summary()
        found = [f for f in (NOT_MIXED, FEW_EFFECTIVE) if table["flag"].str.contains(f).any()]
        if self.importance_ess < LEAST_ESS and FEW_EFFECTIVE not in found:
            found.append(FEW_EFFECTIVE)
        found += [HEAVY] if self.pareto_k > MOST_PARETO else []
        return (*found, *([f"{self.divergences} {DIVERGENT}"] if self.divergences else []))


def doubt(rhat: float, ess: float) -> str:
    """Flags of draws by their R-hat and effective sample size.

    Parameters
    ----------
    rhat, ess : float

    Returns
    -------
    str
        Empty where there is no doubt.

    Examples
    --------
    >>> doubt(1.0, 900.0), doubt(1.2, 90.0)
    ('', 'chains have not mixed; fewer than 400 effective draws')
    """
    flags = [f for bad, f in ((rhat > MOST_RHAT, NOT_MIXED), (ess < LEAST_ESS, FEW_EFFECTIVE)) if bad]
    return "; ".join(flags)


def diagnostics(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Rank-normalised R-hat and effective sample sizes of the bulk and of the tails.

    Parameters
    ----------
    values : (chains, draws, K) float array

    Returns
    -------
    rhat, ess_bulk, ess_tail : (K,) float arrays
        NaN for what does not vary. R-hat of one chain is that of its halves.
    """
    stats = _arviz()
    half = values.shape[1] // 2
    chains = values if len(values) > 1 else np.concatenate([values[:, :half], values[:, -half:]])
    with np.errstate(invalid="ignore", divide="ignore"):
        rhat = stats.rhat(chains, chain_axis=0, draw_axis=1)
        bulk = stats.ess(values, chain_axis=0, draw_axis=1, method="bulk")
        tail = stats.ess(values, chain_axis=0, draw_axis=1, method="tail", prob=(0.05, 0.95))
    return np.atleast_1d(rhat), np.atleast_1d(bulk), np.atleast_1d(tail)


def pointwise(loglik: Floats) -> tuple[Floats, Floats]:
    """PSIS-LOO of each unit.

    Parameters
    ----------
    loglik : (chains, draws, N) float array

    Returns
    -------
    elpd, pareto_k : (N,) float arrays
        k is infinite where too few draws differ for a tail to be fitted; the weights are then as they are.
    """
    each = [_left_out(np.ascontiguousarray(loglik[..., i])) for i in range(loglik.shape[-1])]
    return np.array([e[0] for e in each]), np.array([e[1] for e in each])


def _left_out(loglik: Floats) -> tuple[float, float]:
    """Elpd and Pareto k of one unit; k is infinite, and the weights are not smoothed, where no tail can be fitted."""
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            elpd, k = _arviz().loo(loglik, chain_axis=0, draw_axis=1)[:2]
    except ValueError:  # all draws of the tail are one
        elpd, k = np.nan, np.nan
    if np.isfinite(elpd):
        return float(elpd), float(k)
    return float(np.log(loglik.size) - logsumexp(-loglik)), 0.0 if np.ptp(loglik) == 0 else np.inf


def smoothed(log_weights: Floats) -> tuple[Floats, float]:
    """Pareto-smoothed importance weights.

    Parameters
    ----------
    log_weights : (S,) float array
        Without constant; -inf for a weight of zero.

    Returns
    -------
    weights : (S,) float array
        They sum to 1.
    pareto_k : float
        Above 0.7 they are not to be trusted.
    """
    allowed = np.isfinite(log_weights)
    if np.ptp(log_weights[allowed]) < 1e-12:  # draws of the target itself
        return allowed / allowed.sum(), 0.0
    own, k = _arviz().psislw(-log_weights[allowed])
    weights = np.zeros(len(log_weights))
    weights[allowed] = np.exp(own)
    return weights / weights.sum(), float(k)


def _arviz() -> Any:
    try:
        from arviz_stats.base import array_stats
    except ImportError as error:
        raise missing("arviz") from error
    return array_stats


def missing(what: str) -> FitError:
    """The error of an extra that is not installed.

    Parameters
    ----------
    what : str
        The package.

    Returns
    -------
    FitError
    """
    return FitError(f'{what} is not installed, and Bayesian models need it. Do: pip install "judgestats[bayes]"')


def read(trace: Any, labels: Mapping[str, tuple[tuple[str, ...], ...]], method: str) -> Draws:
    """Read what a sampler returned: an InferenceData, or a DataTree.

    Parameters
    ----------
    trace : object
        With groups ``posterior`` and ``sample_stats``.
    labels : mapping
        Variable -> labels along its dimensions; variables that are not named here are left out.
    method : str

    Returns
    -------
    Draws
    """
    posterior = trace["posterior"]
    values = {name: np.asarray(posterior[name].values, np.float64) for name in labels}
    diverging = trace["sample_stats"]["diverging"].values
    return Draws(values, dict(labels), int(np.asarray(diverging).sum()), method)
