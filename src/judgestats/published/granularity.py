"""GRIM and GRIMMER: can so many answers on a scale of such steps have the printed mean, and the printed sd?"""

from __future__ import annotations

import math

import numpy as np

#: Slack of the comparisons: a print may have been rounded either way.
_EPS = 1e-9
#: Most numbers of answers that are tried where n is a rounded one.
_MOST_COUNTS = 1000
#: Widest range of sums that is searched for an sd.
_MOST_SUMS = 100_000


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
    """Whether n answers can have the printed mean.

    Parameters
    ----------
    mean : (low, high)
        What the printed digits leave open; either way of rounding is allowed.
    n : (low, high)
        Answers averaged; of a rounded number, any whole one that it stands for.
    items : float
        Items averaged within each answer.
    step : float
        Step of the scale.
    low : float
        A point of the scale: that of 1, 3, 5 has step 2, and 0 is none.

    Returns
    -------
    bool

    Notes
    -----
    The sum of ``n * items`` scores, each less `low`, is a whole number of steps. Source: Brown and Heathers (2017).

    Examples
    --------
    >>> grim((7.215, 7.225), (32, 32)), grim((4.735, 4.745), (25, 25))
    (True, False)
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
    """Whether n answers can have the printed mean and the printed sd.

    Parameters
    ----------
    mean, sd : (low, high)
        What the printed digits leave open.
    n : (low, high)
        Answers averaged.
    items, step : float
        As in :func:`grim`; the sd is that of answers, each the mean of `items`.
    low, high : float
        Ends of the scale: they bound the sd that a mean allows. Where `low` is not given, 0 is a point of the scale.
    ddof : float
        1 for the divisor n - 1, 0 for n.

    Returns
    -------
    bool

    Notes
    -----
    In units of the grid, ``step / items``, the answers are whole: with sum S and sum of squares Q, Q has the parity of
    S, is at least that of answers as equal as can be, and at most that of answers at the ends of the scale. Source:
    Anaya (2016), in the analytic form of Allard (2018).

    Examples
    --------
    >>> grimmer((7.295, 7.305), (2.505, 2.515), (12, 12))
    False
    """
    unit, origin = _grid(items, step, low)
    ends = ((low - origin) / unit, (high - origin) / unit)
    spans = (mean[0] - origin, mean[1] - origin)
    return any(
        _has_sd(size, _sums(*spans, size, unit), (sd[0] / unit, sd[1] / unit), ends, ddof) for size in _counts(n)
    )


def _has_sd(size: int, sums: range, sd: tuple[float, float], ends: tuple[float, float], ddof: float) -> bool:
    """Whether answers with one of these sums can have the sd; all in units of the grid."""
    if size <= ddof:
        return True
    few, many = (max(s, 0.0) ** 2 * (size - ddof) for s in sd)
    return any(_squares(total, size, few, many, ends) for total in sums[:_MOST_SUMS])


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
