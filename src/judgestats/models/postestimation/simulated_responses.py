"""Responses drawn from a fitted model: for a look at the fit, and for the parametric bootstrap."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import pandas as pd

from judgestats.defaults import SEED
from judgestats.errors import DesignError, choose
from judgestats.kernels.resampling import generator
from judgestats.models.designs import Design, taken
from judgestats.models.fitted_models import Fitted
from judgestats.models.postestimation.mean_responses import linear_predictor, rows_of
from judgestats.typing import Floats, Ints, Seed

Random = Literal["new", "conditional"]
RANDOM = get_args(Random)


def simulate(fit: Fitted, n: int = 1, *, seed: Seed = SEED, random: Random = "new") -> pd.DataFrame:
    """Draw responses from a fitted model, at its estimates: :meth:`judgestats.models.Fit.simulate`."""
    choose(random, RANDOM, "random")
    refuse_marginal(fit)
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
    """Linear predictor with random effects drawn or as they were found."""
    d = fit.design
    if random == "new" or not d.terms:
        pairs = zip(d.terms, fit.factors(), strict=True)
        effects = [rng.standard_normal((len(t.levels), len(L))) @ L.T for t, L in pairs]
    else:
        conditional = fit.effects()
        if conditional is None:
            raise DesignError(f"engine={fit.engine!r} gives no random effects. Use random='new'.")
        effects = list(conditional.modes)
    return linear_predictor(fit, rows_of(fit), fit.beta, effects)


def redesign(fit: Fitted, rng: np.random.Generator, random: str = "new") -> tuple[Design, Ints]:
    """Put a drawn response into the design of a fit, a row for each outcome or call; and the row that each is of."""
    d, at = fit.design, fit.at(predictor(fit, rng, random))
    times = np.rint(d.count).astype(np.int64)
    rows = np.arange(len(times))
    if (times == 1).all():
        return replace(d, response=replace(d.response, y=fit.distribution.draw(rng, at))), rows
    if fit.distribution.categorical and (d.trials == 1).all():
        counts = rng.multinomial(times, fit.distribution.chances(at))
        index, outcome = np.nonzero(counts)
        return taken(d, index, y=outcome.astype(float), count=counts[index, outcome].astype(float)), index
    index = np.repeat(rows, times)
    return taken(d, index, y=fit.distribution.draw(rng, at.of(index)), count=np.ones(len(index))), index


def refitted(fit: Fitted, rng: np.random.Generator, random: str = "new") -> Fitted:
    """Draw a response and fit the same model to it."""
    refuse_marginal(fit)
    if fit.refit is None:
        raise DesignError(f"engine={fit.engine!r} cannot fit again. Use engine='ml', or method='wald'.")
    redrawn, index = redesign(fit, rng, random)
    return fit.refit(redrawn, index)


def refuse_marginal(fit: Fitted) -> None:
    """Raise where the engine has no model of a whole response."""
    if fit.engine == "gee":
        raise DesignError(
            "engine='gee' models the mean of each call and no whole cluster: there is nothing to draw from. "
            "Fit with engine='ml'."
        )


def _labelled(fit: Fitted, y: Floats) -> Floats | Ints | pd.Categorical:
    """The response as the table had it: categories by name, counts as whole numbers."""
    if fit.design.categories:
        return pd.Categorical.from_codes(y.astype(int), list(fit.design.categories), ordered=fit.distribution.ordered)
    return y if fit.distribution.linear else y.astype(np.int64)
