"""Numbers and terms as they are printed. Rounding happens here, and nowhere else."""

from __future__ import annotations

import math
from typing import Any

from judgestats import flags

#: Between groups of three digits: a thin space that does not break.
THIN = "\u202f"
#: What stands for a number that could not be estimated, and for an interval that there is not.
NOT_AVAILABLE, NONE = "n/a", "—"


def _terms() -> Any:
    """The terms of all measures, which take long to load."""
    from judgestats.metrics.measure_registry import terms

    return terms()


def number(value: float, decimals: int = 3) -> str:
    """Print a number: with a true minus sign, but none before zero, thin spaces in thousands, ``∞`` and ``n/a``.

    >>> number(0.66666), number(-0.0001), number(-1.5, 1), number(float("nan"))
    ('0.667', '0.000', '−1.5', 'n/a')
    """
    if math.isnan(value):
        return NOT_AVAILABLE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{abs(value):,.{decimals}f}".replace(",", THIN)
    return f"−{text}" if value < 0 and any(c in "123456789" for c in text) else text


def signed(value: float, decimals: int = 2) -> str:
    """Print a number with its sign, + included.

    >>> signed(0.459), signed(-0.331), signed(0.001)
    ('+0.46', '−0.33', '0.00')
    """
    text = number(value, decimals)
    return f"+{text}" if value > 0 and any(c in "123456789" for c in text) else text


def count(value: float) -> str:
    """Print a count: whole, with thin spaces in thousands; a broken one with a decimal.

    >>> count(5184.0), count(12.5)
    ('5\\u202f184', '12.5')
    """
    if math.isnan(value):
        return NOT_AVAILABLE
    return number(value, 0 if float(value).is_integer() else 1)


def noun(value: float, one: str, many: str | None = None) -> str:
    """Print a count with its noun.

    >>> noun(1, "judge"), noun(2, "judge"), noun(0, "reply", "replies")
    ('1 judge', '2 judges', '0 replies')
    """
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def interval(
    low: float, high: float, *, decimals: int = 3, first: float | None = None, last: float | None = None
) -> str:
    """Print an interval; a censored end says that it is at most the first step of the ladder, or above the last.

    >>> interval(0.57827, 0.74469), interval(-float("inf"), 2.7, first=1), interval(2.0, float("inf"), last=5)
    ('[0.578, 0.745]', '[≤ 1, 2.700]', '[2.000, > 5]')
    """
    if math.isnan(low) and math.isnan(high):
        return NONE
    ends = []
    for value in (low, high):
        if value == -math.inf and first is not None:
            ends.append(f"≤ {first:g}")
        elif value == math.inf and last is not None:
            ends.append(f"> {last:g}")
        else:
            ends.append(number(value, decimals))
    return f"[{', '.join(ends)}]"


def estimate(
    value: float, flag: str = "", *, decimals: int = 3, first: float | None = None, last: float | None = None
) -> str:
    """Print an estimate; a censored one as a bound.

    >>> estimate(1.0, "left-censored"), estimate(math.nan, "right-censored", last=5), estimate(math.nan, "no data")
    ('≤ 1', '> 5', 'n/a')
    """
    if flags.LEFT_CENSORED in flag and not math.isnan(value):
        return f"≤ {value:g}" if first is None else f"≤ {first:g}"
    if flags.RIGHT_CENSORED in flag and last is not None:
        return f"> {last:g}"
    return number(value, decimals)


def in_words(term: str, measure: str = "", threshold: float = math.nan) -> str:
    """Words for a term, of a measure where it means something else there; an unknown one with spaces.

    >>> in_words("shift"), in_words("shift", "calibrate"), in_words("share_above", threshold=0.25)
    ('shift of the mean correlation', 'constant added to the scores', 'share with a spread above 0.25')
    """
    known = _terms().get((measure, term)) or _terms().get(("", term))
    label = known.label if known else str(term).replace("_", " ")
    return label if math.isnan(threshold) else label.replace("the threshold", f"{threshold:g}")


def neutral_value(term: str) -> float | None:
    """Value at which a term says that nothing was found; None where it has none."""
    known = _terms().get(("", term))
    return known.neutral if known else None


def is_whole(term: str) -> bool:
    """Whether a term is a whole number, and neither a share nor a mean."""
    known = _terms().get(("", term))
    return known is not None and known.whole


def bad_direction(bad: str) -> str:
    """Words for the direction that should worry.

    >>> bad_direction("higher"), bad_direction("construct-dependent"), bad_direction("far from 0")
    ('higher is worse', 'depends on the construct', 'far from 0 is worse')
    """
    directions = {
        "": "",
        "construct-dependent": "depends on the construct",
        "no universal direction": "neither direction is worse",
        "higher when the signal should be detected": "higher is worse where the signal matters",
    }
    return directions.get(bad, f"{bad} is worse")
