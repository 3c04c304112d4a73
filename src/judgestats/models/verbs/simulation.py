"""Responses drawn from a fitted model: for a look at the fit, and for the parametric bootstrap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from judgestats.errors import DesignError, choose
from judgestats.kernels.resampling import generator
from judgestats.models.designs import Design, Term
from judgestats.models.fitted import Fitted

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RANDOM = ("new", "conditional")


def simulate(fit: Fitted, n: int = 1, *, seed: Any = 0, random: Literal["new", "conditional"] = "new") -> pd.DataFrame:
    """Draw responses from a fitted model, at its estimates.

    Calls are independent given the random effects: a row that stands for several calls is several draws.

    Parameters
    ----------
    fit : Fitted
    n : int
        Responses to draw for each row.
    seed : int, Generator or None
    random : {'new', 'conditional'}
        New random effects in each draw, for the levels of the data, or the conditional modes of the fit.

    Returns
    -------
    pandas.DataFrame
        The columns of the design's frame, the observed response among them, then ``sim_1`` to ``sim_n``. Binomial: a
        row for each distinct row of the data, ``sim_trials`` (its trials times its count), and successes among them.
        Other families: a row for each call, so that a distinct row comes as often as its count; a cumulative response
        is an ordered category. Prior weights divide the residual variance of a Gaussian model and change no other.
        ``engine="lpm"`` is a linear model of 0 and 1: it draws real numbers.

    Raises
    ------
    DesignError
        If `random` is unknown, `n` is no positive whole number, or the engine models no whole clusters (``gee``).

    Examples
    --------
    >>> import judgestats as js
    >>> calls = pd.DataFrame({"correct": [1, 0] * 20, "item": [f"q{i // 4}" for i in range(40)]})
    >>> fit = js.fit("correct ~ 1 + (1|item)", calls)
    >>> fit.simulate(2, seed=1).columns.tolist()
    ['correct', 'item', 'sim_trials', 'sim_1', 'sim_2']
    >>> int(fit.simulate(seed=1)["sim_trials"].sum())
    40
    """
    choose(random, RANDOM, "random")
    _refuse(fit)
    if not (isinstance(n, int | np.integer) and n > 0):
        raise DesignError(f"n={n!r} is no number of draws. Allowed: 1, 2, 3, ...")
    rng, d = generator(seed, ("simulate",)), fit.design
    times = np.rint(d.count).astype(np.int64)
    if fit.family == "binomial":
        result = d.frame.reset_index(drop=True).assign(sim_trials=(times * d.trials).astype(np.int64))
        index, trials = np.arange(len(times)), times * d.trials
    else:
        index, trials = np.repeat(np.arange(len(times)), times), d.trials
        result = d.frame.iloc[index].reset_index(drop=True)
    columns = {f"sim_{i + 1}": _drawn(fit, predictor(fit, rng, random), index, trials, rng) for i in range(n)}
    return pd.concat([result, pd.DataFrame({k: _labelled(fit, y) for k, y in columns.items()})], axis=1)


def predictor(fit: Fitted, rng: np.random.Generator, random: str) -> Floats:
    """Linear predictor with random effects drawn or as they were found.

    Parameters
    ----------
    fit : Fitted
    rng : numpy.random.Generator
    random : {'new', 'conditional'}

    Returns
    -------
    (N,) float array
    """
    d = fit.design
    eta: Floats = d.X @ fit.beta + d.offset
    if not d.terms:
        return eta
    if random == "new":
        pairs = zip(d.terms, fit.factors(), strict=True)
        effects = [rng.standard_normal((len(t.levels), len(L))) @ L.T for t, L in pairs]
    else:
        found = fit.effects()
        if found is None:
            raise DesignError(f"engine={fit.engine!r} gives no random effects. Use random='new'.")
        effects = list(found.modes)
    for term, b in zip(d.terms, effects, strict=True):
        eta = eta + np.einsum("nk,nk->n", term.values, b[term.codes])
    return eta


def redesign(fit: Fitted, rng: np.random.Generator, random: str = "new") -> tuple[Design, Ints]:
    """Put a drawn response into the design of a fit.

    Parameters
    ----------
    fit : Fitted
    rng : numpy.random.Generator
    random : {'new', 'conditional'}

    Returns
    -------
    Design
        As many calls as before. A row with a count over 1 becomes a row for each outcome (0 and 1, categories) or for
        each call (other families). Its `frame` keeps the observed response; its `y` is the drawn one.
    index : (M,) int array
        The row of the fit's design that each row comes from.
    """
    d, eta = fit.design, predictor(fit, rng, random)
    times = np.rint(d.count).astype(np.int64)
    rows = np.arange(len(times))
    if (times == 1).all():
        return replace(d, y=_drawn(fit, eta, rows, d.trials, rng)), rows
    if fit.family == "cumulative" or (fit.family == "binomial" and (d.trials == 1).all()):
        chance = _chances(fit, eta) if fit.family == "cumulative" else _two(_success(fit.link, eta))
        counts = rng.multinomial(times, chance)
        index, outcome = np.nonzero(counts)
        return taken(d, index, outcome.astype(float), counts[index, outcome].astype(float)), index
    index = np.repeat(rows, times)
    return taken(d, index, _drawn(fit, eta, index, d.trials, rng), np.ones(len(index))), index


def refitted(fit: Fitted, rng: np.random.Generator, random: str = "new") -> Fitted:
    """Draw a response and fit the same model to it.

    Parameters
    ----------
    fit : Fitted
    rng : numpy.random.Generator
    random : {'new', 'conditional'}

    Returns
    -------
    Fitted

    Raises
    ------
    DesignError
        If the engine cannot fit again.
    """
    _refuse(fit)
    if fit.refit is None:
        raise DesignError(f"engine={fit.engine!r} cannot fit again. Use engine='ml', or method='wald'.")
    drawn, index = redesign(fit, rng, random)
    return fit.refit(drawn, index)


def _refuse(fit: Fitted) -> None:
    if fit.engine == "gee":
        raise DesignError(
            "engine='gee' models the mean of each call and no whole cluster: there is nothing to draw from. "
            "Fit with engine='ml'."
        )


def _drawn(fit: Fitted, eta: Floats, index: Ints, trials: Floats, rng: np.random.Generator) -> Floats:
    """Response of each row of `index`; trials as the design's rows have them."""
    if fit.family == "gaussian":
        spread = fit.residual / np.sqrt(fit.design.weights)
        return np.asarray(eta[index] + spread[index] * rng.standard_normal(len(index)), float)
    if fit.family == "poisson":
        return rng.poisson(np.exp(eta[index])).astype(float)
    if fit.family == "binomial":
        return rng.binomial(trials[index].astype(np.int64), _success(fit.link, eta[index])).astype(float)
    below = np.cumsum(_chances(fit, eta), axis=1)[index, :-1]
    return np.asarray((rng.random(len(index))[:, None] > below).sum(axis=1), float)


def _success(link: str, eta: Floats) -> Floats:
    return np.asarray(ndtr(eta) if link == "probit" else expit(eta), float)


def _two(p: Floats) -> Floats:
    return np.column_stack([1 - p, p])


def _chances(fit: Fitted, eta: Floats) -> Floats:
    """(N, J) chances of the categories."""
    cuts = fit.thresholds.at(fit.tau)[fit.part]
    below = _success(fit.link, cuts - eta[:, None])
    edge = np.ones((len(eta), 1))
    result = np.diff(np.hstack([0 * edge, below, edge]), axis=1).clip(0)
    return np.asarray(result / result.sum(axis=1, keepdims=True), float)


def taken(d: Design, index: Ints, y: Floats, count: Floats) -> Design:
    """Rows of a design, with another response and other counts.

    Parameters
    ----------
    d : Design
    index : (M,) int array
        Rows, in any number.
    y, count : (M,) float arrays

    Returns
    -------
    Design
    """
    terms: tuple[Term, ...] = tuple(replace(t, values=t.values[index], codes=t.codes[index]) for t in d.terms)
    frame = d.frame.iloc[index].reset_index(drop=True)
    return replace(
        d, frame=frame, y=y, terms=terms, count=count, trials=d.trials[index], X=d.X[index], offset=d.offset[index],
        weights=d.weights[index],
    )  # fmt: skip


def _labelled(fit: Fitted, y: Floats) -> Any:
    """The response as the table had it: categories by name, counts as whole numbers."""
    if fit.family == "cumulative":
        return pd.Categorical.from_codes(y.astype(int), list(fit.design.categories), ordered=True)
    return y if fit.family == "gaussian" else y.astype(np.int64)
