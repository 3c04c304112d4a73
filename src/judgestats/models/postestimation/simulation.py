"""Responses drawn from a fitted model: for a look at the fit, and for the parametric bootstrap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from judgestats.defaults import SEED
from judgestats.errors import DesignError, FitError, SchemaError, choose, suggestion
from judgestats.kernels.resampling import generator
from judgestats.models.bayes.draws import COLUMNS, KINDS, Draws, Kind, replicates
from judgestats.models.designs import Design, Term
from judgestats.models.fitted import Fitted
from judgestats.models.postestimation.sampled import drawn

# ---- What a sampled fit, or its prior alone, would have answered: :func:`predictive` ---------------------------------

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Draws of parameters from their priors: of how many, and of a generator.
FromPrior = Callable[[int, np.random.Generator], Draws]
#: Rates of a Poisson model above it cannot be drawn.
_MOST_RATE = 1e15


def predictive(
    fit: Fitted, prior: FromPrior, *, kind: Kind = "posterior", by: Any = None, n_draws: int = 1000, seed: Any = SEED
) -> pd.DataFrame:
    """Observed counts beside the intervals that the model predicts for them.

    Parameters
    ----------
    fit : Fit
        By ``engine="pymc"``.
    prior : callable
        Draws from the prior.
    kind : {'posterior', 'prior', 'both'}
        Replicates from the posterior, or from the prior before any answer is seen.
    by : str or sequence of str, optional
        Columns whose combinations are the cells; by default all columns of the right side of the formula. Numbers of
        cells with a call each say little: give ``by="judge"``, say.
    n_draws : int
        Replicates.
    seed : int, Generator or None

    Returns
    -------
    pandas.DataFrame
        A row for each cell and outcome: ``kind``, the columns of `by`, ``outcome``, ``observed``, ``estimate``
        (predictive mean), ``conf_low``, ``conf_high`` (95 % predictive interval), ``inside``, ``n`` (calls, trials
        included), ``scale``, ``method``, ``flag``. Binomial: successes. Cumulative: a row for each category. Poisson:
        the sum of the counts. Gaussian: the mean (``scale`` is ``mean``).

    Raises
    ------
    FitError
        If the fit has no draws.
    DesignError
        If `kind`, `n_draws` or a column is not known.
    SchemaError
        If a column of `by` has the name of one of the result.

    Notes
    -----
    Levels of the random terms are those of the data: from the posterior with their own effects, from the prior with
    effects drawn anew. About 95 in 100 observed values lie inside of the posterior interval of a model that fits, more
    where each cell has an effect of its own. Draw it with :func:`judgestats.plot.predictive`.

    Source: Gelman, Meng and Stern 1996; Gabry et al. 2019.
    """
    draws = drawn(fit)
    if draws is None:
        raise FitError(f"engine={fit.engine!r} has no draws to predict from. Use simulate(), or engine='pymc'.")
    choose(kind, KINDS, "kind")
    if isinstance(n_draws, bool) or not isinstance(n_draws, int | np.integer) or n_draws < 40:
        raise DesignError(f"n_draws={n_draws!r} is no number of replicates. Allowed: 40, 41, ...; use 1000.")
    columns = _cells(fit, by)
    parts = []
    for one in ("posterior", "prior") if kind == "both" else (kind,):
        rng = generator(seed, ("predictive", one))
        parts.append(_one(fit, draws if one == "posterior" else prior(n_draws, rng), columns, one, n_draws, rng))
    return pd.concat(parts, ignore_index=True)


def _cells(fit: Fitted, by: Any) -> list[str]:
    d = fit.design
    known = [c for c in d.frame.columns if c not in d.formula.answers]
    wanted = known if by is None else [by] if isinstance(by, str) else list(by)
    for name in wanted:
        if name not in known:
            have = ", ".join(known) or "none"
            raise DesignError(f"by has {name!r}, which is no column of the model. Columns: {have}."
                              f"{suggestion(str(name), known)}")  # fmt: skip
        if name in (*COLUMNS, "kind"):
            raise SchemaError(f"The model has a column {name!r}, which the result has too. Rename it, or leave it out.")
    return wanted


def _one(
    fit: Fitted, draws: Draws, columns: list[str], kind: str, n_draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    d, names = fit.design, _outcomes(fit)
    labels, code = _grouped(d.frame, columns)
    calls: Floats = d.count * d.trials
    n: Floats = np.bincount(code, calls, len(labels)).astype(np.float64)
    summed = _summed(_seen(fit), code, len(labels))
    simulated = np.stack([_summed(y, code, len(labels)) for y in _answers(fit, draws, n_draws, rng)])
    mean = fit.family == "gaussian"
    if mean:
        summed, simulated = summed / n[:, None], simulated / n[:, None]
    cells = labels.loc[labels.index.repeat(len(names))].assign(outcome=names * len(labels))
    return replicates(
        cells, summed.ravel(), simulated.reshape(len(simulated), -1), n.repeat(len(names)), kind=kind,
        draws=draws.method, scale="mean" if mean else "count",
    )  # fmt: skip


def _grouped(frame: pd.DataFrame, columns: list[str]) -> tuple[pd.DataFrame, Ints]:
    """Distinct combinations in their order, and which of them each row has."""
    if not columns:
        return pd.DataFrame(index=[0]), np.zeros(len(frame), np.int64)
    groups = frame.groupby(columns, sort=True, observed=True, dropna=False)
    code = groups.ngroup().to_numpy(np.int64)
    _, first = np.unique(code, return_index=True)
    return frame[columns].iloc[first].reset_index(drop=True), code


def _outcomes(fit: Fitted) -> list[str]:
    d = fit.design
    if d.categories:
        return list(d.categories)
    name = d.formula.response
    if fit.family != "binomial" or "[" in name or len(d.labels) < 2 or d.labels[1] in ("1", "1.0", "True"):
        return [name]
    return [d.labels[1] if d.labels[1] == "success" else f"{name}[{d.labels[1]}]"]


def _seen(fit: Fitted) -> Floats:
    """(N, K) what the calls of each row of the design add up to."""
    d = fit.design
    if not d.categories:
        return np.asarray(d.count * d.y, np.float64)[:, None]
    here = d.y.astype(np.int64)[:, None] == np.arange(len(d.categories))
    return np.asarray(d.count[:, None] * here, np.float64)


def _summed(values: Floats, code: Ints, size: int) -> Floats:
    return np.stack([np.bincount(code, v, size) for v in values.T], axis=1)


def _answers(fit: Fitted, draws: Draws, n_draws: int, rng: np.random.Generator) -> Any:
    """Answers drawn at some of the draws: each (N, K), summed over the calls of a row."""
    d, own = fit.design, draws.flat("parameters")
    effects = [draws.flat(f"effects {t}") for t in range(len(d.terms))]
    times = np.rint(d.count * d.trials).astype(np.int64)
    for s in np.linspace(0, len(own) - 1, n_draws).astype(int):
        eta: Floats = d.X @ own[s, : fit.n_fixed] + d.offset
        for term, b in zip(d.terms, effects, strict=True):
            eta = eta + np.einsum("nk,nk->n", term.values, b[s][term.codes])
        if d.categories:
            cuts = fit.thresholds.at(own[s, fit.n_fixed : fit.n_location])[fit.part]
            yield rng.multinomial(times, _category_chances(fit.link, cuts - eta[:, None])).astype(float)
        elif fit.family == "gaussian":
            spread = own[s, -1] * np.sqrt(d.count / d.weights)
            yield (d.count * eta + spread * rng.standard_normal(len(eta)))[:, None]
        elif fit.family == "poisson":
            yield rng.poisson(np.minimum(times * np.exp(np.minimum(eta, 700.0)), _MOST_RATE)).astype(float)[:, None]
        else:
            yield rng.binomial(times, _below(fit.link, eta)).astype(float)[:, None]


def _below(link: str, eta: Floats) -> Floats:
    return np.asarray(ndtr(eta) if link == "probit" else expit(eta), np.float64)


def _category_chances(link: str, reach: Floats) -> Floats:
    """(N, J) chances of the categories from thresholds less the linear predictor."""
    edge = np.ones((len(reach), 1))
    result = np.diff(np.hstack([0 * edge, _below(link, reach), edge]), axis=1).clip(0)
    return np.asarray(result / result.sum(axis=1, keepdims=True), np.float64)


# ---- Responses drawn from a fitted model: for a look at the fit, and for the parametric bootstrap --------------------

RANDOM = ("new", "conditional")


def simulate(
    fit: Fitted, n: int = 1, *, seed: Any = SEED, random: Literal["new", "conditional"] = "new"
) -> pd.DataFrame:
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
