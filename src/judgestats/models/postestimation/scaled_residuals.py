"""Where responses lie among those that the model would have given: residuals that are uniform where the model holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgestats.defaults import SEED
from judgestats.errors import DesignError, SchemaError, choose
from judgestats.kernels.resampling import generator
from judgestats.models.fitted_models import Fitted
from judgestats.models.postestimation.predictive_intervals import answers, cell_columns, grouped, summed_by
from judgestats.models.postestimation.simulated_responses import RANDOM, Random, predictor, refuse_marginal
from judgestats.schema.columns import By
from judgestats.typing import Floats, Seed

COLUMNS = ("n", "observed", "expected", "scaled_residual")
TESTS = ("test", "estimate", "observed", "expected", "p_value", "n", "n_draws")
#: Responses in memory at most: 0.8 GB.
MOST = 100_000_000


def scaled_residuals(
    fit: Fitted, n_draws: int = 250, *, by: By = None, random: Random = "new", seed: Seed = SEED
) -> pd.DataFrame:
    """See :meth:`judgestats.models.Fit.scaled_residuals`."""
    sample = simulated(fit, n_draws, by, random, seed)
    own = {"n": sample.n, "observed": sample.responses[0], "expected": sample.expected}
    return sample.cells.assign(**own, scaled_residual=sample.ranks[0])


def residual_tests(
    fit: Fitted, n_draws: int = 250, *, by: By = None, random: Random = "new", seed: Seed = SEED
) -> pd.DataFrame:
    """See :meth:`judgestats.models.Fit.residual_tests`."""
    sample = simulated(fit, n_draws, by, random, seed)
    y, ranks, (S, N) = sample.responses, sample.ranks, (n_draws, len(sample.n))
    squares = ((y - y.mean(axis=0)) ** 2).sum(axis=1)
    ends = ((ranks < 1 / (S + 1)) | (ranks > S / (S + 1))).sum(axis=1)
    statistics = [("uniformity", _distance(ranks), False), ("dispersion", squares, True), ("outliers", ends, False)]
    if not fit.distribution.linear:
        statistics.append(("zeros", (y == 0).sum(axis=1), True))
    rows = []
    for test, values, both in statistics:
        expected = float(values[1:].mean())
        upper, lower = (values >= values[0]).mean(), (values <= values[0]).mean()
        p = min(1.0, 2 * min(upper, lower)) if both else upper
        rows.append((test, values[0] / expected if expected else np.nan, values[0], expected, p, N, S))
    return pd.DataFrame(rows, columns=list(TESTS)).astype({"observed": float})


@dataclass(frozen=True)
class Simulated:
    """Responses, summed over the calls of a cell, and those that the model draws."""

    cells: pd.DataFrame  # (N, ...): what each cell is of
    n: Floats  # (N,): calls, trials included
    responses: Floats  # (S + 1, N): the first observed
    ranks: Floats  # (S + 1, N): uniform on (0, 1) where all are from one distribution; ties broken at random

    @property
    def expected(self) -> Floats:
        """(N,) mean of the draws."""
        return np.asarray(self.responses[1:].mean(axis=0), np.float64)


def simulated(fit: Fitted, n_draws: int, by: By, random: Random, seed: Seed) -> Simulated:
    """Draw responses of each call or cell, and rank the observed one among them."""
    choose(random, RANDOM, "random")
    refuse_marginal(fit)
    if isinstance(n_draws, bool) or not isinstance(n_draws, int | np.integer) or n_draws < 40:
        raise DesignError(f"n_draws={n_draws!r} is no number of draws. Allowed: 40, 41, ...; use 250.")
    if fit.distribution.per_class:
        raise DesignError(
            "The classes of family='nominal' have no order, so that responses have no ranks. Use predict()."
        )
    rng = generator(seed, ("scaled_residuals",))
    cells, n, observed, draw = _by_call(fit, random, rng) if _of_calls(fit, by) else _by_cell(fit, by, random, rng)
    if fit.distribution.has_trials and n.max() == 1:
        raise DesignError(
            "Each cell has one answer, of two: its residual is uniform whatever the model is. Name columns with by=, "
            f"whose cells have more: by={(*cells.columns, 'item')[0]!r}, say."
        )
    if (n_draws + 1) * len(n) > MOST:
        raise DesignError(
            f"{n_draws:,} draws of {len(n):,} responses are too many. Name columns with by=, or give a smaller n_draws."
        )
    if taken := [c for c in COLUMNS if c in cells]:
        raise SchemaError(f"The model has a column {taken[0]!r}, which the result has too. Rename it, or leave it out.")
    responses = np.stack([observed, *(draw() for _ in range(n_draws))])
    ties = np.asarray(rng.random(responses.shape), np.float64)
    order = np.lexsort((ties, responses), axis=0)
    ranks = np.empty(responses.shape)
    np.put_along_axis(ranks, order, np.arange(len(responses))[:, None] + rng.random(responses.shape), axis=0)
    return Simulated(cells, n, responses, ranks / len(responses))


def _of_calls(fit: Fitted, by: By) -> bool:
    """Whether each call has a residual: an answer of a few classes says nothing by itself."""
    return by is None and not fit.distribution.categorical


#: Cells, their calls, their responses, and a draw of these.
Drawing = tuple[pd.DataFrame, Floats, Floats, Callable[[], Floats]]


def _by_call(fit: Fitted, random: Random, rng: np.random.Generator) -> Drawing:
    d = fit.design
    index = np.repeat(np.arange(len(d.y)), np.rint(d.count).astype(np.int64))
    cells = d.frame.iloc[index].reset_index(drop=True)

    def draw() -> Floats:
        return fit.distribution.draw(rng, fit.at(predictor(fit, rng, random)).of(index))

    return cells, np.ones(len(index)), d.y[index], draw


def _by_cell(fit: Fitted, by: By, random: Random, rng: np.random.Generator) -> Drawing:
    """Sums of the responses of a cell, of ordered categories those of their numbers from 0."""
    d = fit.design
    cells, code = grouped(d.frame, cell_columns(fit, by, COLUMNS))
    score = np.arange(len(d.categories), dtype=np.float64) if d.categories else np.ones(1)

    def summed(each: Floats) -> Floats:
        return np.asarray(summed_by(each, code, len(cells)) @ score, np.float64)

    def draw() -> Floats:
        return summed(fit.distribution.draw_sums(rng, fit.at(predictor(fit, rng, random))))

    n = np.bincount(code, d.count * d.trials).astype(np.float64)
    return cells, n, summed(answers(fit)), draw


def _distance(ranks: Floats) -> Floats:
    """Kolmogorov and Smirnov's distance of each row from the uniform distribution."""
    at, N = np.sort(ranks, axis=1), ranks.shape[1]
    above, below = np.arange(1, N + 1) / N - at, at - np.arange(N) / N
    return np.asarray(np.maximum(above, below).max(axis=1), np.float64)
