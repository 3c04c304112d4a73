"""GRIM and GRIMMER: can n answers on a scale have the printed mean, and the printed sd?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

#: Tolerance of comparisons: a printed number may have been rounded either way.
_EPS = 1e-9
#: Most numbers of answers that are tried where n is a rounded one.
_MOST_COUNTS = 1000
#: Widest range of sums that is searched for an sd.
_MOST_SUMS = 100_000
#: A coincidence of a smaller probability is none.
_CHANCE = 0.001


def _counts(n: tuple[float, float]) -> range:
    """Whole numbers of answers that the print allows; of an exact one, itself."""
    return range(math.ceil(n[0] - _EPS), math.floor(n[1] + _EPS) + 1)[:_MOST_COUNTS]


def _grid(items: float, step: float, low: float) -> tuple[float, float]:
    """Step of a mean of items, and a point of the scale."""
    if not (items > 0 and step > 0 and math.isfinite(step / items)):
        raise ValueError(f"items is {items:g} and step {step:g}; both are above 0")
    return step / items, low if math.isfinite(low) else 0.0


def _sums(low: float, high: float, size: float, unit: float) -> range:
    """Whole sums, in units of the grid, whose mean lies between `low` and `high`."""
    return range(math.ceil((low / unit - _EPS) * size), math.floor((high / unit + _EPS) * size) + 1)


def grim(
    mean: tuple[float, float], n: tuple[float, float], *, items: float = 1.0, step: float = 1.0, low: float = 0.0
) -> bool:
    """Whether n answers can have the printed mean (Brown and Heathers, 2017): ``n * items`` scores sum to whole steps.

    `mean`, `n` (low, high): ranges of the print. `items`: averaged within each answer. `low`: a point of the scale,
    whose steps are `step`: 1, 3, 5 has step 2, and does not contain 0.
    """
    unit, origin = _grid(items, step, low)
    return any(_sums(mean[0] - origin, mean[1] - origin, size, unit) for size in _counts(n))


def grimmer(
    mean: tuple[float, float],
    sd: tuple[float, float],
    n: tuple[float, float],
    *,
    items: float = 1.0,
    step: float = 1.0,
    low: float = -math.inf,
    high: float = math.inf,
    ddof: float = 1.0,
) -> bool:
    """Whether n answers can have the printed mean and sd (Anaya, 2016, in the analytic form of Allard, 2018).

    As :func:`grim`; `low`, `high`: ends of the scale, which bound the sd. In units of ``step / items`` the answers are
    whole, with sum S and sum of squares Q: Q has the parity of S, and lies between its least value (answers as equal as
    possible) and its greatest (answers at the ends of the scale).
    """
    unit, origin = _grid(items, step, low)
    ends = ((low - origin) / unit, (high - origin) / unit)
    spans = (mean[0] - origin, mean[1] - origin)
    for size in _counts(n):
        if size <= ddof:
            return True
        few, many = (max(s / unit, 0.0) ** 2 * (size - ddof) for s in sd)
        if any(_squares(total, size, few, many, ends) for total in _sums(*spans, size, unit)[:_MOST_SUMS]):
            return True
    return False


def _squares(total: int, n: int, few: float, many: float, ends: tuple[float, float]) -> bool:
    """Whether some sum of squares of n whole numbers with this sum lies in the range."""
    whole, rest = divmod(total, n)
    least = n * whole**2 + rest * (2 * whole + 1)
    centre = total**2 / n
    first = max(least, math.ceil(centre + few - _EPS * max(1.0, centre + few)))
    last = math.floor(centre + many + _EPS * max(1.0, centre + many))
    if np.isfinite(ends).all():
        last = min(last, _most(total, n, *ends))
    return first + (first - total) % 2 <= last


def _most(total: int, n: int, low: float, high: float) -> int:
    """Largest sum of squares: all but one answer at an end of the scale."""
    low, high = round(low), round(high)
    if not n * low <= total <= n * high or high == low:
        return -1 if high != low or total != n * low else n * low**2
    at_high, rest = divmod(total - n * low, high - low)
    other = n - at_high - (1 if rest else 0)
    return int(at_high * high**2 + other * low**2 + ((low + rest) ** 2 if rest else 0))


def lines_up(
    means: Sequence[tuple[float, float]],
    sds: Sequence[tuple[float, float]],
    ns: Sequence[tuple[float, float]],
    **options: float,
) -> bool:
    """Whether more means and sds fit the steps of a scale, by either divisor, than sds of other rows would by chance,
    as they do on a finer scale; `options`: those of :func:`grimmer` but the divisor.
    """
    pairs, size = zip(means, ns, strict=True), len(means)
    fits = [[any(grimmer(m, s, n, ddof=d, **options) for d in (0, 1)) for s in sds] for m, n in pairs]
    hits = sum(fits[i][i] for i in range(size))
    chance = (sum(map(sum, fits)) - hits + 1) / (size * (size - 1) + 1)
    return sum(math.comb(size, k) * chance**k * (1 - chance) ** (size - k) for k in range(hits, size + 1)) < _CHANCE
