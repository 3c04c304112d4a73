"""Numbers and terms as they are printed. Rounding happens here, and nowhere else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from judgestats import flags
from judgestats.methods import method_of
from judgestats.typing import Record

if TYPE_CHECKING:
    from judgestats.metrics.measure_registry import Term

#: A share, in percent; a difference of shares, in points; a score or coefficient; a whole number.
Form = Literal["share", "points", "score", "count"]
#: Between groups of three digits: a thin space that does not break.
THIN = "\u202f"
#: Behind a share in percent.
PERCENT = f"{THIN}%"
#: What stands for a number that could not be estimated, and for an interval that there is not.
NOT_AVAILABLE, NONE = "n/a", "—"
#: Width of an interval below which a number has a decimal more.
FINE = 0.02
#: How the methods of shares, and of differences of shares, begin.
#: Commas between groups of three digits.
_COMMAS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")


def _terms() -> Mapping[tuple[str, str], Term]:
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


def spaced(text: str) -> str:
    """A sentence with thin spaces in its thousands."""
    return _COMMAS.sub(lambda digits: digits[0].replace(",", THIN), text)


def form_of(row: Record, measure: str = "") -> Form:
    """Form in which an estimate is printed: by its term, else by its measure."""
    meaning = _meaning(str(row.get("term", "")), measure)
    if meaning is not None and meaning.form:
        form: Form = meaning.form
        return form
    return method_of(row.get("method", "")).parts.scale


def printed(value: float, form: Form, width: float = math.nan) -> str:
    """Print a share in percent, a difference of shares in points, a score with two decimals, a count without.

    `width`: of the interval; a narrow one gives a decimal more, or as many (up to three) as tell its ends apart.
    """
    fine = 1 + min(max(math.ceil(math.log10(0.001 / width)), 0), 2) if 0 < width < FINE else 0
    if form == "share":
        return f"{number(100 * value, fine)}{PERCENT}" if math.isfinite(value) else number(value)
    if form == "points":
        return signed(100 * value, fine)
    return number(value, 2 + fine if form == "score" else 0)


def interval(
    low: float,
    high: float,
    form: Form = "score",
    *,
    decimals: int | None = None,
    first: float | None = None,
    last: float | None = None,
) -> str:
    """Print an interval; a censored end says that it is at most the first step of the ladder, or above the last.

    `decimals`: as many, and neither percent nor points.
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
            text = printed(value, form, high - low) if decimals is None else number(value, decimals)
            ends.append(text.removesuffix(PERCENT))
    return f"[{', '.join(ends)}]" + (PERCENT if form == "share" and decimals is None else "")


def estimate(
    value: float,
    flag: str = "",
    form: Form = "score",
    *,
    width: float = math.nan,
    decimals: int | None = None,
    first: float | None = None,
    last: float | None = None,
) -> str:
    """Print an estimate; a censored one as a bound."""
    if flags.has(flag, flags.LEFT_CENSORED) and not math.isnan(value):
        return f"≤ {value:g}" if first is None else f"≤ {first:g}"
    if flags.has(flag, flags.RIGHT_CENSORED) and last is not None:
        return f"> {last:g}"
    if decimals is not None:
        return number(value, decimals)
    text = printed(value, form, width)
    if form != "points" or not math.isfinite(value):
        return text
    return f"{text} {'point' if text.lstrip('+−') == '1' else 'points'}"


def with_interval(
    row: Record, measure: str = "", *, first: float | None = None, last: float | None = None
) -> tuple[str, str]:
    """Estimate and interval of a row as they are printed; `first`, `last`: steps of a ladder."""
    form, low, high = form_of(row, measure), float(row["conf_low"]), float(row["conf_high"])
    value = estimate(float(row["estimate"]), str(row.get("flag", "")), form, width=high - low, first=first, last=last)
    return value, interval(low, high, form, first=first, last=last)


def tick(value: float, form: Form) -> str:
    """Print a number of an axis: as an estimate, with a decimal only where it has one."""
    decimals = 0 if abs(100 * value - round(100 * value)) < 1e-6 else 1
    if form == "share":
        return f"{number(100 * value, decimals)}{PERCENT}"
    return signed(100 * value, decimals) if form == "points" else f"{value:g}"


def p_value(value: float) -> str:
    """Print a p-value."""
    return f"< {number(0.001)}" if value < 0.001 else number(value)


def _meaning(term: str, measure: str = "") -> Term | None:
    """The meaning of a term, of a measure where it means something else there; None of an unknown one."""
    return _terms().get((measure, term)) or _terms().get(("", term))


def in_words(term: str, measure: str = "", threshold: float = math.nan) -> str:
    """Words for a term, of a measure where it means something else there; an unknown one with spaces."""
    meaning = _meaning(term, measure)
    label = meaning.label if meaning else str(term).replace("_", " ")
    return label if math.isnan(threshold) else label.replace("the threshold", f"{threshold:g}")


def neutral_value(term: str) -> float | None:
    """Value at which a term says that nothing was found; None where it has none."""
    meaning = _meaning(term)
    return meaning.neutral if meaning else None


def lower_is_better(term: str) -> bool:
    """Whether less of a term is better, in every measure that has it."""
    return {meaning.bad for (_, name), meaning in _terms().items() if name == term} == {"higher"}


def is_whole(term: str) -> bool:
    """Whether a term is a whole number, and neither a share nor a mean."""
    meaning = _meaning(term)
    return meaning is not None and meaning.form == "count"


def bad_direction(bad: str) -> str:
    """Words for the direction that should worry."""
    directions = {
        "": "",
        "construct-dependent": "depends on the construct",
        "no universal direction": "neither direction is worse",
        "higher when the signal should be detected": "higher is worse where the signal matters",
    }
    return directions.get(bad, f"{bad} is worse")
