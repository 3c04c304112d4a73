"""What a sampled fit, or its prior alone, would have answered: :func:`predictive`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from judgestats.defaults import SEED
from judgestats.errors import DesignError, FitError, SchemaError, choose, suggestion
from judgestats.kernels.resampling import generator
from judgestats.models.bayes.draws import Draws
from judgestats.models.bayes.replicates import COLUMNS, KINDS, Kind, replicates
from judgestats.models.fitted_models import Fitted
from judgestats.models.postestimation.mean_responses import linear_predictor, rows_of
from judgestats.models.postestimation.posterior_summaries import draws_of
from judgestats.schema.columns import By
from judgestats.typing import Floats, Ints, Seed

#: Draws of parameters from their priors: of how many, and of a generator.
FromPrior = Callable[[int, np.random.Generator], Draws]


def predictive(
    fit: Fitted, prior: FromPrior, *, kind: Kind = "posterior", by: By = None, n_draws: int = 1000, seed: Seed = SEED
) -> pd.DataFrame:
    """Observed counts beside predictive intervals: :meth:`judgestats.models.Fit.predictive`."""
    draws = draws_of(fit)
    if draws is None:
        raise FitError(f"engine={fit.engine!r} has no draws to predict from. Use simulate(), or engine='pymc'.")
    choose(kind, KINDS, "kind")
    if isinstance(n_draws, bool) or not isinstance(n_draws, int | np.integer) or n_draws < 40:
        raise DesignError(f"n_draws={n_draws!r} is no number of replicates. Allowed: 40, 41, ...; use 1000.")
    columns = cell_columns(fit, by, (*COLUMNS, "kind"))
    parts = []
    for one in ("posterior", "prior") if kind == "both" else (kind,):
        rng = generator(seed, ("predictive", one))
        parts.append(_one(fit, draws if one == "posterior" else prior(n_draws, rng), columns, one, n_draws, rng))
    return pd.concat(parts, ignore_index=True)


def cell_columns(fit: Fitted, by: By, own: Sequence[str]) -> list[str]:
    """Columns whose combinations are cells, all that are no answer if none is named; `own` are those of the result."""
    d = fit.design
    columns = [c for c in d.frame.columns if c not in d.formula.answers]
    wanted = columns if by is None else [by] if isinstance(by, str) else list(by)
    for name in wanted:
        if name not in columns:
            have = ", ".join(columns) or "none"
            hint = suggestion(str(name), columns)
            raise DesignError(f"by has {name!r}, which is no column of the model. Columns: {have}.{hint}")
        if name in own:
            raise SchemaError(f"The model has a column {name!r}, which the result has too. Rename it, or leave it out.")
    return wanted


def _one(
    fit: Fitted, draws: Draws, columns: list[str], kind: str, n_draws: int, rng: np.random.Generator
) -> pd.DataFrame:
    d, names = fit.design, _outcomes(fit)
    labels, code = grouped(d.frame, columns)
    calls: Floats = d.count * d.trials
    n: Floats = np.bincount(code, calls, len(labels)).astype(np.float64)
    summed = summed_by(answers(fit), code, len(labels))
    simulated = np.stack([summed_by(y, code, len(labels)) for y in _answers(fit, draws, n_draws, rng)])
    mean = fit.distribution.linear
    if mean:
        summed, simulated = summed / n[:, None], simulated / n[:, None]
    cells = labels.loc[labels.index.repeat(len(names))].assign(outcome=names * len(labels))
    simulated, calls = simulated.reshape(len(simulated), -1), n.repeat(len(names))
    scale: Literal["mean", "count"] = "mean" if mean else "count"
    return replicates(cells, summed.ravel(), simulated, calls, kind=kind, draws=draws.method, scale=scale)


def grouped(frame: pd.DataFrame, columns: list[str]) -> tuple[pd.DataFrame, Ints]:
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
    if (
        not fit.distribution.has_trials
        or "[" in name
        or len(d.response.labels) < 2
        or d.response.labels[1] in ("1", "1.0", "True")
    ):
        return [name]
    return [d.response.labels[1] if d.response.labels[1] == "success" else f"{name}[{d.response.labels[1]}]"]


def answers(fit: Fitted) -> Floats:
    """(N, K) what the calls of each row of the design add up to."""
    d = fit.design
    if not d.categories:
        return np.asarray(d.count * d.y, np.float64)[:, None]
    indicators = d.y.astype(np.int64)[:, None] == np.arange(len(d.categories))
    return np.asarray(d.count[:, None] * indicators, np.float64)


def summed_by(values: Floats, code: Ints, size: int) -> Floats:
    """Sums (size, K) of the rows of each cell."""
    return np.stack([np.bincount(code, v, size) for v in values.T], axis=1)


def _answers(fit: Fitted, draws: Draws, n_draws: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Answers drawn at some of the draws: each (N, K), summed over the calls of a row."""
    rows, own = rows_of(fit), draws.flat("parameters")
    effects = [draws.flat(f"effects {t}") for t in range(len(fit.design.terms))]
    for s in np.linspace(0, len(own) - 1, n_draws).astype(int):
        eta = linear_predictor(fit, rows, own[s, : fit.n_fixed], [b[s] for b in effects])
        yield fit.distribution.draw_sums(rng, fit.at(eta, own[s]))
