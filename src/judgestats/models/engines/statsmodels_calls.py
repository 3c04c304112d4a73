"""What all statsmodels engines share: a row for each call, refusals, and failures as a FitError."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from judgestats.errors import FitError
from judgestats.models.designs import Design, taken
from judgestats.models.specifications import Model
from judgestats.threads import warnings_ignored
from judgestats.typing import Floats

T = TypeVar("T")
#: An object of statsmodels, which has no types.
Result: TypeAlias = Any
#: Largest number of rows after the expansion of counts.
MOST_CALLS = 2_000_000


def bernoulli(design: Design) -> Design:
    """Turn ``cbind(k, n - k)`` of a binomial model into counted rows of 0 and 1, with one trial in each row."""
    if (design.trials == 1).all():
        return design
    rows = np.repeat(np.arange(len(design.y)), 2)
    y = np.tile([0.0, 1.0], len(design.y))
    number = np.where(y == 1, design.y[rows], design.trials[rows] - design.y[rows])
    nonzero = number > 0
    count = design.count[rows] * number
    return taken(design, rows[nonzero], y=y[nonzero], trials=np.ones(int(nonzero.sum())), count=count[nonzero])


def repeated(design: Design, engine: str) -> Design:
    """Repeat every row as often as it is counted; `engine` is named in messages."""
    if (design.count == 1).all():
        return design
    if (design.count % 1 != 0).any():
        raise FitError(
            f"engine={engine!r} needs a row for each call, so counts must be whole numbers. Use engine='ml'."
        )
    if design.count.sum() > MOST_CALLS:
        raise FitError(
            f"engine={engine!r} needs a row for each call; {design.count.sum():,.0f} are more than {MOST_CALLS:,}. "
            "Use engine='ml', which works on counts."
        )
    rows = np.repeat(np.arange(len(design.y)), design.count.astype(np.int64))
    return taken(design, rows, count=np.ones(len(rows)))


def mean_and_slope(family: Result, eta: Floats) -> tuple[Floats, Floats]:
    """Mean response (N,) at the linear predictor, and its slope."""
    with np.errstate(over="ignore", invalid="ignore"):  # far out the slope is 0, which overflow makes ∞ / ∞
        return family.fitted(eta), np.nan_to_num(family.link.inverse_deriv(eta))


def refuse_random(model: Model, engine: str) -> None:
    """Raise a FitError if there are random terms."""
    if model.design.terms:
        parts = " + ".join(str(p) for p in model.design.formula.random)
        raise FitError(f"engine={engine!r} has no random effects, and the formula has {parts}. Use engine='ml'.")


def call(run: Callable[[], T], engine: str) -> T:
    """Run another library, and turn its failures into a FitError; its result says whether it converged."""
    with warnings_ignored(), np.errstate(all="ignore"):
        try:
            return run()
        except (np.linalg.LinAlgError, ValueError, ZeroDivisionError, FloatingPointError, OverflowError) as error:
            raise FitError(
                f"engine={engine!r} (statsmodels) failed: {error}. Check whether a factor separates the response, or "
                "use engine='ml'."
            ) from error
