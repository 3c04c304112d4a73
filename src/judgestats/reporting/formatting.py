"""Numbers and terms as they are printed. Rounding happens here, and nowhere else."""

from __future__ import annotations

import math
from typing import Any

from judgestats import flags

#: Between groups of three digits: a thin space that does not break.
THIN = "\u202f"
#: Behind a share in percent.
PERCENT = f"{THIN}%"
#: What stands for a number that could not be estimated, and for an interval that there is not.
NOT_AVAILABLE, NONE = "n/a", "—"


def _terms() -> Any:
    """The terms of all measures, which take long to load."""
    from judgestats.metrics.measure_registry import terms

    return terms()


def number(value: float, decimals: int = 3) -> str:
    """Print a number: with a true minus sign, but none before zero, thin spaces in thousands, ``∞`` and ``n/a``."""
    if math.isnan(value):
        return NOT_AVAILABLE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{abs(value):,.{decimals}f}".replace(",", THIN)
    return f"−{text}" if value < 0 and any(c in "123456789" for c in text) else text


def signed(value: float, decimals: int = 2) -> str:
    """Print a number with its sign, + included."""
    text = number(value, decimals)
    return f"+{text}" if value > 0 and any(c in "123456789" for c in text) else text


def count(value: float) -> str:
    """Print a count: whole, with thin spaces in thousands; a broken one with a decimal."""
    if math.isnan(value):
        return NOT_AVAILABLE
    return number(value, 0 if float(value).is_integer() else 1)


def noun(value: float, one: str, many: str | None = None) -> str:
    """Print a count with its noun."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def interval(
    low: float, high: float, *, decimals: int = 3, first: float | None = None, last: float | None = None
) -> str:
    """Print an interval; a censored end says that it is at most the first step of the ladder, or above the last."""
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
    """Print an estimate; a censored one as a bound."""
    if flags.LEFT_CENSORED in flag and not math.isnan(value):
        return f"≤ {value:g}" if first is None else f"≤ {first:g}"
    if flags.RIGHT_CENSORED in flag and last is not None:
        return f"> {last:g}"
    return number(value, decimals)


def in_words(term: str, measure: str = "", threshold: float = math.nan) -> str:
    """Words for a term, of a measure where it means something else there; an unknown one with spaces."""
    meaning = _terms().get((measure, term)) or _terms().get(("", term))
    label = meaning.label if meaning else str(term).replace("_", " ")
    return label if math.isnan(threshold) else label.replace("the threshold", f"{threshold:g}")


def neutral_value(term: str) -> float | None:
    """Value at which a term says that nothing was found; None where it has none."""
    meaning = _terms().get(("", term))
    return meaning.neutral if meaning else None


def is_whole(term: str) -> bool:
    """Whether a term is a whole number, and neither a share nor a mean."""
    meaning = _terms().get(("", term))
    return meaning is not None and meaning.whole


def bad_direction(bad: str) -> str:
    """Words for the direction that should worry."""
    directions = {
        "": "",
        "construct-dependent": "depends on the construct",
        "no universal direction": "neither direction is worse",
        "higher when the signal should be detected": "higher is worse where the signal matters",
    }
    return directions.get(bad, f"{bad} is worse")
