"""Replicated answers beside those that were seen; draws of a formula's parameters from their priors."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, choose
from judgestats.models.bayes.priors import DF, Priors, single, sizes
from judgestats.models.designs import Design
from judgestats.models.likelihood.thresholds import Thresholds
from judgestats.results import NO_DATA

Floats = NDArray[np.float64]
Kind = Literal["posterior", "prior", "both"]
KINDS = ("posterior", "prior", "both")
#: Columns of a predictive frame, after ``kind`` and the labels of a cell.
COLUMNS = ("outcome", "observed", "estimate", "conf_low", "conf_high", "inside", "n", "scale", "method", "flag")
#: What is said of the spread of many scores.
SPREAD = {"lowest": 0.0, "lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75, "highest": 1.0}
#: What lies outside.
OUTSIDE = "outside the 95 % predictive interval"


def replicates(
    cells: pd.DataFrame,
    observed: Floats,
    simulated: Floats,
    n: Floats,
    *,
    kind: str,
    draws: str = "",
    scale: Literal["count", "mean"] = "count",
) -> pd.DataFrame:
    """Each observed value beside the interval that the model predicts for it. N values, S replicates.

    Parameters
    ----------
    cells : pandas.DataFrame
        (N, ...) labels of each value, ``outcome`` among them.
    observed : (N,) float array
        Counts, or means.
    simulated : (S, N) float array
    n : (N,) float array
        Calls behind each value.
    kind : {'posterior', 'prior'}
    draws : str
        How the parameters were drawn.
    scale : {'count', 'mean'}

    Returns
    -------
    pandas.DataFrame
        ``kind``, the labels, then :data:`COLUMNS`: ``estimate`` is the predictive mean, ``conf_low`` and ``conf_high``
        the 2.5 and 97.5 % quantiles of the replicates. A value without calls is NaN, ``no data``, and not inside.

    Examples
    --------
    >>> cells = pd.DataFrame({"judge": ["a", "b"], "outcome": "tie"})
    >>> made = replicates(cells, np.array([1.0, 9.0]), np.array([[0.0, 2.0], [2.0, 4.0]]), np.full(2, 10.0),
    ...                   kind="prior")
    >>> made[["judge", "observed", "estimate", "inside", "flag"]]
      judge  observed  estimate  inside                                  flag
    0     a       1.0       1.0    True
    1     b       9.0       3.0   False  outside the 95 % predictive interval
    """
    how: Any = "inverted_cdf" if scale == "count" else "linear"  # counts have whole ends
    low, high = np.quantile(simulated, [0.025, 0.975], axis=0, method=how)
    there = n > 0
    inside = there & (observed >= low) & (observed <= high)
    method = f"95 % {kind} predictive interval" + (f"; {draws}" if draws else "")
    made = cells.reset_index(drop=True).assign(
        kind=kind, observed=np.where(there, observed, np.nan), estimate=simulated.mean(axis=0), conf_low=low,
        conf_high=high, inside=inside, n=n, scale=scale, method=method,
        flag=np.where(there, np.where(inside, "", OUTSIDE), NO_DATA),
    )  # fmt: skip
    labels = [c for c in cells.columns if c != "outcome"]
    return made[["kind", *labels, *COLUMNS]]


def beside(
    cells: pd.DataFrame,
    observed: Floats,
    again: Floats,
    before: Floats,
    n: Floats,
    *,
    draws: str,
    scale: Literal["count", "mean"] = "count",
) -> pd.DataFrame:
    """Posterior and prior predictive frames in one.

    Parameters
    ----------
    cells, observed, n, draws, scale
        As for :func:`replicates`.
    again, before : (S, N) float arrays
        Replicates from the posterior, and from the prior.

    Returns
    -------
    pandas.DataFrame
    """
    after = replicates(cells, observed, again, n, kind="posterior", draws=draws, scale=scale)
    return pd.concat([after, replicates(cells, observed, before, n, kind="prior", scale=scale)], ignore_index=True)


def spreads(scores: Floats) -> Floats:
    """Lowest, quartiles and highest of (S, N) scores: (S, 5), as :data:`SPREAD` names them."""
    return np.asarray(np.quantile(scores, list(SPREAD.values()), axis=1).T, np.float64)


def spread_beside(scores: Floats, again: Floats, before: Floats, *, draws: str) -> pd.DataFrame:
    """As :func:`beside` for the :func:`spreads` of (N,) scores and those of replicates, (S, 5)."""
    cells = pd.DataFrame({"judge": "all judges", "outcome": list(SPREAD)})
    n = np.full(len(SPREAD), float(len(scores)))
    return beside(cells, spreads(scores[None])[0], again, before, n, draws=draws, scale="mean")


def of_kind(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Rows of a predictive frame of one kind, or of both.

    Parameters
    ----------
    frame : pandas.DataFrame
    kind : {'posterior', 'prior', 'both'}

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    DesignError
        If the kind is unknown, or the frame has no row of it.
    """
    choose(kind, KINDS, "kind")
    found = frame if kind == "both" or frame.empty else frame[frame["kind"] == kind]
    if found.empty:
        raise DesignError(f"There are no {kind} predictions: nothing was drawn. check() says why.")
    return found.reset_index(drop=True)


def from_priors(
    design: Design, family: str, thresholds: Thresholds, priors: Priors, n: int, rng: np.random.Generator
) -> dict[str, Floats]:
    """Draw the variables of :func:`judgestats.models.engines.bayes_pymc.build` from their priors.

    Parameters
    ----------
    design : Design
    family : str
    thresholds : Thresholds
    priors : Priors
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    dict of (1, n, ...) float arrays
        ``beta``, ``cuts`` or ``midpoints`` and ``steps``, ``sigma``, and ``u<t>``, ``L<t>`` of each random term.
    """
    found: dict[str, Any] = {"beta": rng.normal(priors.location, priors.scale, (1, n, len(priors.scale)))}
    if design.categories:
        free, sets, steps = sizes(thresholds)
        own = rng.standard_normal((1, n, sets, steps))
        if single(thresholds):
            found["cuts"] = priors.cuts * np.sort(own, axis=-1)
        else:
            found["midpoints"] = priors.cuts * rng.standard_normal((1, n, free))
            found["steps"] = priors.widths * np.abs(own)
    for t, term in enumerate(design.terms):
        sd = priors.sds[t] * np.abs(rng.standard_normal((1, n, len(term.names))))
        found[f"L{t}"] = sd[..., None] * _correlated(len(term.names), priors.shapes[t], n, rng)
        found[f"u{t}"] = rng.standard_normal((1, n, len(term.levels), len(term.names)))
    if family == "gaussian":
        found["sigma"] = priors.residual * np.abs(rng.standard_t(DF, (1, n)))
    return found


def _correlated(k: int, shape: float, n: int, rng: np.random.Generator) -> Floats:
    """(n, k, k) Cholesky factors of LKJ correlations, by partial correlations: Lewandowski et al. 2009."""
    factor, left = np.zeros((n, k, k)), np.ones((n, k))
    for j in range(k):
        factor[:, j, j] = np.sqrt(left[:, j])
        for i in range(j + 1, k):
            a = shape + (k - 2 - j) / 2
            factor[:, i, j] = (2 * rng.beta(a, a, n) - 1) * np.sqrt(left[:, i])
            left[:, i] -= factor[:, i, j] ** 2
    return factor
