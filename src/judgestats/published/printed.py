"""A printed number: its value, and the range that its digits leave open."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from functools import lru_cache

from judgestats.errors import AuditError

#: Content of a cell that prints nothing.
NOTHING = frozenset({"", "-", "–", "—", "−", "n/a", "na", "nan", "none", "not printed", "not stated"})
_NUMBER = re.compile(
    r"(?P<bound>[<>≤≥]=?)?\s*(?P<about>[~≈])?\s*\$?(?P<sign>[+-])?\$?(?P<digits>\d+(?:\.\d*)?|\.\d+)"
    r"(?:[eE](?P<power>[+-]?\d{1,2}))?(?P<thousand>[KkM])?\s*(?P<unit>%|pp|×|x)?"
)
#: Signs that papers print for a minus.
_MINUS = str.maketrans({"−": "-", "–": "-", "—": "-", "‒": "-", "﹣": "-", "－": "-"})
_MARKS = re.compile(r"[*†‡§¶∗⋆#✓✗↑↓ᵃᵇᶜ¹²³]+")
#: 1,000 and 12,345.6, but not 0,535 or 1.234,567, whose comma is a decimal mark.
_THOUSANDS = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_POWERS = {None: 1.0, "K": 1e3, "k": 1e3, "M": 1e6}
#: Relative error allowed for a number printed with "about".
ABOUT = 0.05
#: Range of a number bounded on one side only; finite, so that differences stay numbers.
_FAR = 1e12
#: A text that is longer, or has a larger exponent, is not a printed number.
_LONGEST = 100
#: Beyond so many units of the last digit, a double holds no digit that rounding could change.
_MOST_UNITS = 1e15


class UnreadableCellError(AuditError):
    """A cell needed as a number holds none: the statement cannot be decided, and the audit continues."""


@dataclass(frozen=True)
class Printed:
    """A number as it was printed."""

    text: str
    value: float  # NaN without one; of ``< 0.05`` half of the bound; of ``> 3`` and ``< -3``, open at an end, the bound
    half: float = 0.0  # half a unit of the last decimal; 0 for a whole number, which is taken as a count
    decimals: int = 0
    bound: str = ""
    bounded_by: float = math.nan  # behind the bound; else the value
    unit: str = ""  # ``%``, ``pp``, ``x`` or empty

    @property
    def readable(self) -> bool:
        """Whether a number is printed."""
        return math.isfinite(self.value)

    @property
    def missing(self) -> bool:
        """Whether nothing is printed; a dash with a footnote mark is a dash."""
        text = self.text.strip().lower()
        return text in NOTHING or (_MARKS.sub("", text).strip() or "?") in NOTHING

    @property
    def moves(self) -> tuple[float, float]:
        """How far the value may move, up and down, and still be printed alike."""
        if self.bound and self.value == self.bounded_by:
            return (_FAR, 0.0) if ">" in self.bound else (0.0, -_FAR)
        return self.half, -self.half

    @property
    def tolerance(self) -> float:
        """Half a unit of the last printed digit, also for whole numbers: the largest rounding error."""
        return max(self.half, 0.5 * 10.0**-self.decimals)

    def agrees(self, low: float, value: float, high: float) -> str:
        """Whether a recomputed number, with the range of its inputs, is what is printed.

        ``exact``: by rounding half up, half to even, or the double as formatted; ``within``: the ranges overlap, as
        those of .53 and .54 do not; ``undecided``: of a bound; or ``no``.
        """
        if self.bound:
            return self._below(low, high)
        slack = 1e-9 * max(self.tolerance, abs(self.value))
        if abs(value - self.value) <= slack or any(r == self.value for r in self.roundings(value)):
            return "exact"
        meets = low < self.value + self.tolerance - slack and high > self.value - self.tolerance + slack
        return "within" if meets and (high > low or self.half > 0.5 * 10.0**-self.decimals) else "no"

    def _below(self, low: float, high: float) -> str:
        at = self.bounded_by
        below, above = (high <= at, low > at) if "=" in self.bound else (high < at, low >= at)
        if ">" in self.bound:
            below, above = (low >= at, high < at) if "=" in self.bound else (low > at, high <= at)
        return "exact" if below else "no" if above else "undecided"

    def roundings(self, value: float) -> tuple[float, ...]:
        """The number in this precision: half up, half to even, and as the double is formatted."""
        if not math.isfinite(value):
            return ()
        scale = _scale_of(self)
        if abs(value / scale) * 10.0**self.decimals > _MOST_UNITS:
            return (value,)
        unit = Decimal(1).scaleb(-self.decimals)
        exact = Decimal(repr(round(value / scale, max(12, self.decimals + 3))))
        decimal = (exact.quantize(unit, way) for way in (ROUND_HALF_UP, ROUND_HALF_EVEN))
        return (*(float(d) * scale for d in decimal), float(f"{value / scale:.{self.decimals}f}") * scale)

    def cut_off(self, low: float, high: float) -> bool:
        """Whether digits were cut off instead of rounded: .96 of a number from .96 to below .97."""
        unit = 10.0**-self.decimals * _scale_of(self)
        inner, outer = sorted((self.value, self.value + math.copysign(unit, self.value)), key=abs)
        slack = 1e-9 * max(unit, abs(self.value))
        near, far = (inner, outer) if inner <= outer else (outer, inner)
        return not self.bound and low < far - slack and high >= near - slack

    def shown(self, value: float) -> str:
        """The recomputed number in the printed precision, with a sign where one is printed."""
        sign = "+" if self.text.lstrip().startswith("+") else ""
        text = f"{value / _scale_of(self):{sign}.{self.decimals}f}"
        return text.replace("-", "", 1) if float(text) == 0 else text.replace("-", "−") if "−" in self.text else text


def _scale_of(printed: Printed) -> float:
    return next((s for k, s in _POWERS.items() if k and re.search(rf"\d{k}\b", printed.text)), 1.0)


@lru_cache(maxsize=65536)
def parse(text: str, *, rounded: bool = False) -> Printed:
    """Read a printed cell with marks and bounds, a whole number `rounded` or exact; other text has the value NaN."""
    plain = _THOUSANDS.sub(lambda m: m[0].replace(",", ""), _MARKS.sub("", text.translate(_MINUS))).strip()
    match = _NUMBER.fullmatch(plain)
    if match is None or len(plain) > _LONGEST or abs(int(match["power"] or 0)) > _LONGEST:
        return Printed(text, math.nan)
    scale = _POWERS[match["thousand"]] * 10.0 ** int(match["power"] or 0)
    digits = float(f"{match['digits']}e{match['power'] or 0}") * _POWERS[match["thousand"]]
    value = -digits if match["sign"] == "-" else digits
    decimals = len(match["digits"].partition(".")[2]) - int(match["power"] or 0)
    inexact = rounded or decimals > 0 or scale != 1
    half = 0.5 * 10.0**-decimals * (_POWERS[match["thousand"]]) if inexact else 0.0
    if match["about"]:
        half = max(half, ABOUT * abs(value))
    bound = (match["bound"] or "").replace("≤", "<=").replace("≥", ">=")
    if bound:
        # "< 0.05" is read as a share or a p-value, which is not negative; "> 3" and "< -3" are open to one side
        half = value / 2 if "<" in bound and value > 0 else 0.0
        return Printed(text, value - half, half, max(decimals, 0), bound, value, match["unit"] or "")
    return Printed(text, value, half, max(decimals, 0), bound, value, match["unit"] or "")


def number(text: str, where: str, *, rounded: bool = False) -> Printed:
    """A printed cell that a rule needs as a number, or nothing; an UnreadableCellError says what to do with text."""
    printed = parse(text, rounded=rounded)
    if printed.readable or printed.missing:
        return printed
    why, remedy = "not a number", "Leave the row out (where=), or correct the table."
    if re.fullmatch(r"\s*[+-]?\d+,\d+\s*%?\s*", text.translate(_MINUS)):
        why, remedy = "a decimal comma", "Write a decimal point; a comma is read between thousands only."
    elif re.fullmatch(r"\s*[+-]?\d{1,3}(?:\s\d{3})+(?:\.\d+)?\s*", text.translate(_MINUS)):
        why, remedy = "a number with spaces", "Write it without them, or with commas between thousands."
    elif len(re.findall(r"\d+(?:\.\d+)?|\.\d+", text)) > 1:
        why, remedy = "two numbers in one cell", "Split it into columns, one number each."
    raise UnreadableCellError(f"{where} is {text!r}: {why}. {remedy}")
