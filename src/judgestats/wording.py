"""What stands beside a number, as values and as text: how its interval was made, and its cautions.

The only module that writes the texts of the columns ``method`` and ``flag``, and that reads them back from a table of
the user. Rows made inside the package carry the values. Imports nothing of the package.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: note: how the number came about; caution: it may mislead; invalid: there is no number, or it should not be used.
Severity = Literal["note", "caution", "invalid"]
#: What a number is. score: a mean or a spread of scores or of their errors; difference: of two numbers of a kind;
#: association: how far two columns go together; amount: a cost, or a mean of known values; model: a parameter of a
#: fitted model, or what is computed from it.
Quantity = (
    Literal["share", "score", "difference", "association", "agreement", "variance", "ratio", "threshold"]
    | Literal["count", "amount", "model", "test"]
)
MODEL: tuple[Quantity, ...] = ("model",)
#: How an estimate is printed: a share, a difference of shares, or another number.
Scale = Literal["share", "points", "score"]
#: Code -> flag.
FLAGS: dict[str, Flag] = {}
#: Words -> how ends are made.
METHODS: dict[str, Method] = {}
_BETWEEN = "; "


def written(text: str) -> str:
    """The text of a value as it stands in a table; a test writes codes in place of words."""
    return text


def read(text: str) -> str:
    """The words of a text of a table."""
    return text


_NUMBER = re.compile(r"\d[\d,\u202f]*(?:\.\d+)?")


def without_numbers(text: str) -> str:
    """A text without its numbers and plurals: texts that differ in a count have one.

    >>> without_numbers("1 score missing") == without_numbers("51 scores missing")
    True
    """
    return re.sub(r"s\b", "", _NUMBER.sub("#", text))


def as_one(texts: Iterable[str]) -> str:
    """Texts that differ in their numbers alone as one text: each number from the lowest to the highest.

    >>> as_one(["2 scores missing", "1 score missing", "51 scores missing"])
    '1 to 51 scores missing'
    """
    written_numbers = {text: [*map(_value, _NUMBER.findall(text))] for text in texts}
    most = max(written_numbers, key=lambda text: written_numbers[text])
    spans = iter([(min(place), max(place)) for place in zip(*written_numbers.values(), strict=True)])
    return _NUMBER.sub(
        lambda at: at[0] if len({*(span := next(spans))}) == 1 else f"{span[0]:,g} to {span[1]:,g}", most
    )


def _value(number: str) -> float:
    return float(number.replace(",", "").replace("\u202f", ""))


#: What links a method with its clusters.
CLUSTERED_BY = ", clustered by "


class FlagRecord(NamedTuple):
    """What a flag is, whatever number it is said of."""

    code: str  # for programs, not changed when the wording is
    template: str  # its text, with places for its number and its details
    explanation: str  # what it means and what to do
    severity: Severity = "caution"
    said_of: tuple[Quantity, ...] = ()  # the kinds of numbers beside which it may stand; empty for all


class Flag(str):
    """A caution beside a number: its text, its `record`, and its `facts` where it has been said of a number.

    `facts`: its number, its details and what it is about; none of the record itself.
    """

    __slots__ = ("facts", "record")
    facts: tuple[tuple[str, object], ...]
    record: FlagRecord

    def __new__(
        cls, code: str, text: str, explanation: str, severity: Severity = "caution", said_of: tuple[Quantity, ...] = ()
    ) -> Flag:
        """The record of a flag, under its code."""
        FLAGS[code] = flag = cls.said(text, FlagRecord(code, text, explanation, severity, said_of))
        return flag

    @classmethod
    def said(cls, text: str, record: FlagRecord, facts: tuple[tuple[str, object], ...] = ()) -> Flag:
        """A flag of a number."""
        flag = str.__new__(cls, written(text))
        flag.record, flag.facts = record, facts
        return flag

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)

    @property
    def code(self) -> str:
        """For programs, not changed when the wording is."""
        return self.record.code

    @property
    def explanation(self) -> str:
        """What it means and what to do."""
        return self.record.explanation

    @property
    def severity(self) -> Severity:
        """Note, caution or invalid."""
        return self.record.severity

    @property
    def said_of(self) -> tuple[Quantity, ...]:
        """The kinds of numbers beside which it may stand; empty for all."""
        return self.record.said_of

    def of(self, n: float = 1, **details: object) -> str:
        """The flag with its number and its details, ``(s)`` made a plural or not; empty for a number of 0."""
        facts = {"n": n, **{name: str(value) for name, value in details.items()}}
        told = {name: fact for name, fact in facts.items() if f"{{{name}}}" in self.record.template}
        return self._with(flag_text(self, n, details), **told) if n else ""

    def about(self, part: str) -> Flag:
        """The flag, of a part of what was estimated: ``blind: no data``."""
        return self._with(f"{part}: {self}", part=part)

    def saying(self, more: str) -> Flag:
        """The flag with what it is about behind it."""
        return self._with(f"{self}: {more}", more=more)

    def _with(self, text: str, **facts: object) -> Flag:
        return self.said(text, self.record, (*self.facts, *facts.items()))


class Cautions(str):
    """The flags of one number: the cell of the column ``flag``, and its `parts`."""

    __slots__ = ("parts",)
    parts: tuple[Flag, ...]

    def __new__(cls, parts: tuple[Flag, ...]) -> Cautions:
        """The flags in their order."""
        cautions = super().__new__(cls, _BETWEEN.join(parts))
        cautions.parts = parts
        return cautions

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def flags_of(cell: object) -> tuple[Flag, ...]:
    """The flags of a cell: those of a value, or those that its text says; none of what is no text."""
    if isinstance(cell, Cautions):
        return cell.parts
    if isinstance(cell, Flag):
        return (cell,)
    return _flags_read(cell) if cell and isinstance(cell, str) else ()


def join(*cells: str | None) -> str:
    """Join flags, or cells of several, into one cell; repeats are kept once, empty ones and None are dropped."""
    there = [cell for cell in cells if cell]
    if not there:
        return ""
    parts = flags_of(there[0])
    if len(there) > 1:
        parts = tuple(dict.fromkeys(flag for cell in there for flag in flags_of(cell)))
    return parts[0] if len(parts) == 1 else Cautions(parts)


def without(cell: str, *flags: Flag) -> str:
    """A cell without these flags, whatever their facts."""
    codes = {flag.code for flag in flags}
    return join(*(flag for flag in flags_of(cell) if flag.code not in codes))


def has(cell: object, *flags: Flag) -> bool:
    """Whether a cell has one of these flags, whatever its facts."""
    codes = {flag.code for flag in flags}
    return any(flag.code in codes for flag in flags_of(cell))


def have(cells: Iterable[object], *flags: Flag) -> NDArray[np.bool_]:
    """Which cells of a column have one of these flags."""
    return np.array([has(cell, *flags) for cell in cells], dtype=bool)


def in_part(part: str, cell: str) -> str:
    """The flags of a cell, each of them about a part of the comparison: ``blind: no data``."""
    return join(*(flag.about(part) for flag in flags_of(cell)))


def flag_text(flag: Flag, n: float, details: dict[str, object]) -> str:
    """What a flag says with its number and its details."""
    told = {k: str(v).replace(_BETWEEN, ", ") for k, v in details.items()}
    text = flag.record.template.format(n=f"{n:,.0f}" if n == int(n) else f"{n:g}", **told)
    return text.replace("(s)", "" if n == 1 else "s")


@cache
def _flags_read(cell: str) -> tuple[Flag, ...]:
    return tuple(dict.fromkeys(_flag_read(text) for text in cell.split(_BETWEEN) if text))


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Flag], ...]:
    """What the texts of flags with a number or details look like."""
    return tuple((re.compile(_pattern(flag)), flag) for flag in FLAGS.values() if "{" in flag.record.template)


def _pattern(flag: Flag) -> str:
    pattern = re.escape(flag.record.template).replace(r"\{n\}", "(?P<n>[0-9,.e+]+)").replace(r"\(s\)", "s?")
    return re.sub(r"\\{(\w+)\\}", r"(?P<\1>.*)", pattern)


@cache
def _flag_read(text: str) -> Flag:
    """The flag of a text, which may name what it is about, or say more; one without a code where none says so."""
    by_text = {flag.record.template: flag for flag in FLAGS.values()}
    text = read(text)
    if record := by_text.get(text):
        return record
    for pattern, flag in _patterns():
        if match := pattern.fullmatch(text):
            facts = {k: _number(v) if k == "n" else v for k, v in match.groupdict().items()}
            return flag.said(text, flag.record, tuple(facts.items()))
    before, colon, after = text.partition(": ")
    if record := by_text.get(read(before)):
        return record.saying(after)
    if colon and (of_part := _flag_read(after)).code:
        return of_part.about(before)
    return Flag.said(text, FlagRecord("", text, ""))


def _number(text: str) -> float:
    return float(text.replace(",", ""))


# How an interval was made


@dataclass(frozen=True)
class Clustering:
    """The clusters behind an interval: the column, how many, and how many of equal size they are worth."""

    column: str
    number: str  # as printed: those of two crossed factors are ``30 x 4``
    worth: int | None = None  # where fewer

    def __str__(self) -> str:
        worth = "" if self.worth is None else f", worth {self.worth}"
        return f"{self.column} (G = {self.number}{worth})"  # of single things without a column


@dataclass(frozen=True)
class Resampling:
    """The draws behind an interval: how they were made, of what, and how many."""

    how: str  # ``paired bootstrap of``
    units: str
    number: str  # as printed

    def __str__(self) -> str:
        return f"{self.how} {self.units} (B = {self.number})"


class FewLevels(NamedTuple):
    """The few levels of a column for which an interval holds, and for no others."""

    column: str
    number: int

    def __str__(self) -> str:
        return f"holds for these {self.number} {self.column}s"


class Parts(NamedTuple):
    """What a method says: how, more precisely, over which clusters or draws, what else, and for which levels."""

    way: str  # a member of :data:`METHODS`
    scale: Scale = "score"  # what an estimate of this method is, where nothing else says so
    detail: str = ""
    linked: str = ""  # words before the basis
    basis: Clustering | Resampling | None = None
    behind: str = ""
    levels: FewLevels | None = None


class Method(str):
    """How an interval was made: the text of the column ``method``, and its `parts`."""

    __slots__ = ("parts",)
    parts: Parts

    def __new__(cls, way: str, scale: Scale = "score") -> Method:
        """The record of how ends are made."""
        METHODS[way] = method = cls.of(Parts(way, scale))
        return method

    @classmethod
    def of(cls, parts: Parts) -> Method:
        """The method that says this."""
        method = str.__new__(cls, written(method_text(parts)))
        method.parts = parts
        return method

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)

    def is_by(self, *ways: Method) -> bool:
        """Whether this is one of these ways, whatever else is said of it."""
        return any(self.parts.way == way.parts.way for way in ways)

    @property
    def clusters(self) -> Clustering | None:
        """The clusters of an interval by cluster."""
        return self.parts.basis if isinstance(self.parts.basis, Clustering) else None

    @property
    def draws(self) -> Resampling | None:
        """The resamples of an interval by these."""
        return self.parts.basis if isinstance(self.parts.basis, Resampling) else None

    def on(self, detail: str, link: str = ", ") -> Method:
        """The same, said more precisely: ``t, jackknife``."""
        return self.of(self.parts._replace(detail=f"{self.parts.detail}{link}{detail}"))

    def by(self, column: str, number: float | str, worth: int | None = None, linked: str = CLUSTERED_BY) -> Method:
        """This method over `number` clusters; `worth`: as many clusters of equal size, if fewer."""
        printed = number if isinstance(number, str) else f"{number:.0f}"
        return self.of(self.parts._replace(linked=linked, basis=Clustering(column, printed, worth)))

    def from_draws(self, how: str, units: str, number: int | str, linked: str = ", ") -> Method:
        """The same, from `number` resamples of some units."""
        return self.of(self.parts._replace(linked=linked, basis=Resampling(how, units, str(number))))

    def drawing(self, units: str | None = None, how: str | None = None) -> Method:
        """The same, drawn otherwise; itself without draws."""
        if (draws := self.draws) is None:
            return self
        return self.from_draws(how or draws.how, units or draws.units, draws.number, self.parts.linked)

    def noting(self, words: str, link: str = ", ") -> Method:
        """The same, with what else was done behind it, if anything."""
        behind = f"{self.parts.behind}{link if self else ''}{words}"
        return self.of(self.parts._replace(behind=behind)) if words else self

    def holding_for(self, column: str, number: int) -> Method:
        """The same, whose ends hold for these few levels of a column."""
        return self.of(self.parts._replace(levels=FewLevels(column, number)))

    def then(self, other: Method, link: str = "; ") -> Method:
        """Two ways, one after the other, with the clusters or draws of the second."""
        return (
            self.on(f"{other.parts.way}{other.parts.detail}", link).drawn_as(other) if self and other else self or other
        )

    def instead(self, other: Method) -> Method:
        """Another way, with the same clusters or draws and what stands behind them."""
        return other.drawn_as(self)

    def drawn_as(self, other: Method) -> Method:
        """The same, with the clusters or draws of another way and what stands behind them."""
        basis = {name: getattr(other.parts, name) for name in ("linked", "basis", "behind")}
        return self.of(self.parts._replace(**basis))


def method_text(parts: Parts) -> str:
    """What the column ``method`` says."""
    way, _, detail, linked, basis, behind, levels = parts
    return f"{way}{detail}{linked}{'' if basis is None else basis}{behind}{'' if levels is None else f'; {levels}'}"


_CLUSTERED = re.compile(
    r"(?P<head>.*?)(?:(?P<linked>,? (?:clustered by|over|by) |, of )(?P<column>.+?))? "
    r"\(G = (?P<number>[\d,]+(?: x [\d,]+)?)(?:, worth (?P<worth>\d+))?\)(?P<behind>.*)"
)
_FOR_LEVELS = re.compile(r"(?P<text>.*); holds for these (?P<number>\d+) (?P<column>.+)s")
_DRAWN = re.compile(
    r"(?P<head>.*?)(?P<linked>, | and )(?P<how>[^,]*?bootstraps? of|two independent) (?P<units>.+?) "
    r"\(B = (?P<number>[\d,]+)\)(?P<behind>.*)"
)


def method_of(text: object) -> Method:
    """The value of a text of the column ``method``; of a method that nothing here has, with that text as its name."""
    return text if isinstance(text, Method) else _method_read(text if isinstance(text, str) else "")


@cache
def _method_read(text: str) -> Method:
    text = read(text)
    if of_levels := _FOR_LEVELS.fullmatch(text):
        return _method_read(of_levels["text"]).holding_for(of_levels["column"], int(of_levels["number"]))
    basis: Clustering | Resampling | None = None
    head, linked, behind = text, "", ""
    if match := _CLUSTERED.fullmatch(text):
        worth = None if match["worth"] is None else int(match["worth"])
        basis = Clustering(match["column"] or "", match["number"], worth)
    elif match := _DRAWN.fullmatch(text):
        basis = Resampling(match["how"], match["units"], match["number"])
    if match:
        head, linked, behind = match["head"], match["linked"] or "", match["behind"]
    way = max((words for words in METHODS if _begins(head, words)), key=len, default=head)
    scale: Scale = METHODS[way].parts.scale if way in METHODS else "score"
    rest = head[len(way) :]
    return Method.of(Parts(way, scale, rest, linked, basis, behind) if match else Parts(way, scale, behind=rest))


def _begins(head: str, words: str) -> bool:
    """Whether a text begins with these words, and a word ends there."""
    return bool(words) and head.startswith(words) and not head[len(words) : len(words) + 1].isalnum()


def texts_of(flagged: Iterable[object]) -> Iterator[Flag]:
    """Flags of a column of cells, each once, in the order of their first occurrence."""
    yield from dict.fromkeys(flag for cell in flagged for flag in flags_of(cell))
