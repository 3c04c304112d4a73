"""Responses drawn from a fitted model: for a look at the fit, and for the parametric bootstrap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from judgestats.defaults import SEED
from judgestats.errors import DesignError, FitError, SchemaError, choose, suggestion
from judgestats.kernels.resampling import generator
from judgestats.models.bayes.draws import COLUMNS, KINDS, Draws, Kind, replicates
from judgestats.models.designs import Design, taken
from judgestats.models.fitted import Fitted
from judgestats.models.postestimation.sampled import drawn
from judgestats.typing import Floats, Ints

# ---- What a sampled fit, or its prior alone, would have answered: :func:`predictive` ---------------------------------

#: Draws of parameters from their priors: of how many, and of a generator.
FromPrior = Callable[[int, np.random.Generator], Draws]
#: Rates of a Poisson model above it cannot be drawn.


def predictive(
    fit: Fitted, prior: FromPrior, *, kind: Kind = "posterior", by: Any = None, n_draws: int = 1000, seed: Any = SEED
) -> pd.DataFrame:
    """Observed counts beside predictive intervals: :meth:`judgestats.models.Fit.predictive`."""
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
    mean = fit.distribution.linear
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
    if not fit.distribution.has_trials or "[" in name or len(d.labels) < 2 or d.labels[1] in ("1", "1.0", "True"):
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
    for s in np.linspace(0, len(own) - 1, n_draws).astype(int):
        eta: Floats = d.X @ own[s, : fit.n_fixed] + d.offset
        for term, b in zip(d.terms, effects, strict=True):
            eta = eta + np.einsum("nk,nk->n", term.values, b[s][term.codes])
        yield fit.distribution.draw_sums(rng, fit.at(eta, own[s]))


# ---- Responses drawn from a fitted model: for a look at the fit, and for the parametric bootstrap --------------------

RANDOM = ("new", "conditional")


def simulate(
    fit: Fitted, n: int = 1, *, seed: Any = SEED, random: Literal["new", "conditional"] = "new"
) -> pd.DataFrame:
    """Draw responses from a fitted model, at its estimates: :meth:`judgestats.models.Fit.simulate`."""
    choose(random, RANDOM, "random")
    _refuse(fit)
    if not (isinstance(n, int | np.integer) and n > 0):
        raise DesignError(f"n={n!r} is no number of draws. Allowed: 1, 2, 3, ...")
    rng, d = generator(seed, ("simulate",)), fit.design
    times = np.rint(d.count).astype(np.int64)
    if fit.distribution.has_trials:
        result = d.frame.reset_index(drop=True).assign(sim_trials=(times * d.trials).astype(np.int64))
        index, trials = np.arange(len(times)), times * d.trials
    else:
        index, trials = np.repeat(np.arange(len(times)), times), d.trials
        result = d.frame.iloc[index].reset_index(drop=True)
    columns = {}
    for i in range(n):
        at = replace(fit.at(predictor(fit, rng, random)), trials=trials)
        columns[f"sim_{i + 1}"] = fit.distribution.draw(rng, at.of(index))
    return pd.concat([result, pd.DataFrame({k: _labelled(fit, y) for k, y in columns.items()})], axis=1)


def predictor(fit: Fitted, rng: np.random.Generator, random: str) -> Floats:
    """Linear predictor (N,) with random effects drawn or as they were found."""
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
    """Put a drawn response into the design of a fit; and the row of the fit's design that each row comes from.

    A row with a count over 1 becomes a row for each outcome (0 and 1, categories) or for each call (other families).
    Its `frame` keeps the observed response; its `y` is the drawn one.
    """
    d, at = fit.design, fit.at(predictor(fit, rng, random))
    times = np.rint(d.count).astype(np.int64)
    rows = np.arange(len(times))
    if (times == 1).all():
        return replace(d, y=fit.distribution.draw(rng, at)), rows
    if fit.distribution.categorical and (d.trials == 1).all():
        counts = rng.multinomial(times, fit.distribution.chances(at))
        index, outcome = np.nonzero(counts)
        return taken(d, index, y=outcome.astype(float), count=counts[index, outcome].astype(float)), index
    index = np.repeat(rows, times)
    return taken(d, index, y=fit.distribution.draw(rng, at.of(index)), count=np.ones(len(index))), index


def refitted(fit: Fitted, rng: np.random.Generator, random: str = "new") -> Fitted:
    """Draw a response and fit the same model to it."""
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


def _labelled(fit: Fitted, y: Floats) -> Any:
    """The response as the table had it: categories by name, counts as whole numbers."""
    if fit.design.categories:
        return pd.Categorical.from_codes(y.astype(int), list(fit.design.categories), ordered=True)
    return y if fit.distribution.linear else y.astype(np.int64)
