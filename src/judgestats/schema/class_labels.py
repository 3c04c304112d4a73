"""Labels of classes: which answers of judges, people and gold are one class, however each of them writes it.

Equal numbers are one label, and so are sets with the same members; ``True`` and ``False`` are 1 and 0 where a source
writes nothing else. What looks the same (case, blanks, width, invisible signs, a full stop at the end) is one label
where each source writes it in one way, and is refused where one source writes it in two.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from judgestats.errors import Advice, SchemaError
from judgestats.schema.columns import NO, YES

#: Between the labels of a set.
BETWEEN = ";"
_NUMBER = re.compile(r"[+-]?\d{1,300}(?:\.\d{1,300})?(?:e[+-]?\d{1,3})?")
_WHOLE = re.compile(r"([+-]?\d{1,300})\.0")
#: Words that say yes or no: what each says, and the words of one kind, of which 1 and 0, true and false are the first.
_SAYS = {**dict.fromkeys(YES, True), **dict.fromkeys(NO, False)}
_ONE, _TRUE = ("1", "0"), ("true", "false")


class Source(NamedTuple):
    """Who wrote labels."""

    criterion: str  # empty where there is one only
    name: str  # a judge, or a column
    is_column: bool = False
    table: int = 0  # of several tables whose labels are compared

    def __str__(self) -> str:
        """The source in words."""
        who = f"{'column' if self.is_column else 'judge'} {self.name!r}{' of the other table' * (self.table > 0)}"
        return f"{who}, criterion {self.criterion!r}," if self.criterion else who


def alike(labels: Iterable[str]) -> list[list[str]]:
    """Labels that differ in case, spaces, invisible signs or the spelling of an accent only, sorted in groups."""
    names = list(labels)
    seen = [_as_seen(name) for name in names]
    if len({*seen}) == len(seen):  # as a rule, and millions of lists would be made of millions of ids
        return []
    groups: dict[str, list[str]] = {}
    for name, form in zip(names, seen, strict=True):
        groups.setdefault(form, []).append(name)
    return sorted(sorted(group) for group in groups.values() if len(group) > 1)


def _as_seen(text: str) -> str:
    """A text without invisible characters, in one case."""
    if text.isascii():
        return " ".join(text.lower().split())
    plain = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    return " ".join(plain.casefold().split())


def listed(text: str) -> list[object] | None:
    """A list written as JSON; None for another text."""
    try:
        value = json.loads(text) if text.strip().startswith("[") else None
    except (json.JSONDecodeError, RecursionError):
        return None
    return value if isinstance(value, list) else None


def label_text(label: object) -> str:
    """A label as text; whole numbers have no point, and a list is the set of its members."""
    if isinstance(label, str):
        members = listed(label) if label[:1] == "[" else None
        if members is not None:
            return BETWEEN.join(map(label_text, members))
        return _WHOLE.sub(r"\1", label) if _WHOLE.fullmatch(label) else label
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


def _ordered(text: str) -> str:
    """A set of labels with its members in one order; another text as it is."""
    return BETWEEN.join(sorted(member.strip() for member in text.split(BETWEEN))) if BETWEEN in text else text


def label_key(text: str) -> Hashable:
    """Key that is equal for labels of one class: a number, a set of keys, or the text apart from case and blanks."""
    if BETWEEN in text:
        return frozenset(map(label_key, text.split(BETWEEN)))
    seen = _as_seen(text)
    seen = seen[:-1].rstrip() or seen if seen[-1:] in (".", "。", "।") else seen
    return Decimal(seen) if _NUMBER.fullmatch(seen) else seen


def says(key: Hashable) -> bool | None:
    """What the key of a label says: yes, no or neither."""
    return _SAYS.get(_as_seen(str(key)))


def class_named(label: object, classes: Iterable[str]) -> str | None:
    """The class that a label names: the one written so, else the only one that is equal; None if there is none."""
    text, classes = label_text(label), list(classes)
    if text in classes or str(label) in classes:
        return text if text in classes else str(label)
    key = label_key(text)
    equal = [name for name in classes if label_key(label_text(name)) == key]
    return equal[0] if len(equal) == 1 else None


class Unlike(NamedTuple):
    """Two sources, or one twice, and the words of each for yes (True) and no (False)."""

    one: Source
    other: Source
    ours: Mapping[bool, str]
    theirs: Mapping[bool, str]

    def translated(self, turned: bool = False) -> dict[str, str]:
        """The translation of one source's yes and no into the other's; `turned`: into the opposite words."""
        return {word: self.theirs[m ^ turned] for m, word in self.ours.items() if m ^ turned in self.theirs}


@dataclass(frozen=True)
class Spellings:
    """How the labels of several sources are written in one way."""

    words: Mapping[str, str]  # text of a label -> the label that stands for it
    merged: tuple[tuple[str, ...], ...] = ()  # texts that look the same, the label last
    apart: tuple[tuple[str, ...], ...] = ()  # equal numbers that one source writes in several ways: different labels
    doubled: tuple[tuple[Source, tuple[str, ...]], ...] = ()  # texts of one class that one source writes in two ways
    unlike: tuple[Unlike, ...] = ()  # sources that say yes and no in different words

    def label_of(self, label: object) -> str:
        """The label that stands for one as it was written."""
        text = label_text(label)
        return self.words.get(text, text)

    @property
    def remedy(self) -> tuple[str, Advice]:
        """What to write where labels are refused, as a sentence and as advice."""
        if self.unlike:
            unlike = self.unlike[0]
            both = [words for words in (unlike.translated(), unlike.translated(turned=True)) if words]
            options = tuple(",".join(f"{a}={b}" for a, b in words.items() if a != b) for words in both)
            if unlike.one == unlike.other or {*unlike.ours.values()} & {*unlike.theirs.values()}:
                return f"Write labels={both[0]} if they are one class.", (("spelling", options[0]),)
            written = " or ".join(f"labels={words}" for words in both)
            return f"Which is which is not said: 1 may be unsafe. Write {written}.", (("either", options),)
        one_way = {text: group[-1] for _, group in self.doubled for text in group[:-1]}
        return (
            f"Write labels={one_way} if they are one class.",
            tuple(("spelling", f"{text}={word}") for text, word in one_way.items()),
        )

    def refuse(self) -> None:
        """Raise a SchemaError where labels can be read in two ways."""
        if problem := self.problem:
            remedy, advice = self.remedy
            raise SchemaError(f"{problem[:1].upper()}{problem[1:]}. {remedy}", advice=advice)

    @property
    def problem(self) -> str:
        """Why the labels are refused; empty if they are not."""
        if self.unlike:
            one, other, *words = self.unlike[0]
            ours, theirs = (" and ".join(map(repr, own.values())) for own in words)
            if one == other:
                return f"{one} writes {ours} and {theirs}, which may be one class"
            return f"{one} has {ours} where {other} has {theirs}"
        if self.doubled:
            groups = list(dict.fromkeys(group for _, group in self.doubled))
            return f"classes look alike: {examples(groups)} ({self.doubled[0][0]} writes them so)"
        return ""


def examples(groups: Iterable[tuple[str, ...] | list[str]]) -> str:
    """The first groups of labels that look alike."""
    groups = list(groups)
    first = "; ".join(" and ".join(ascii(v) for v in group[:3]) for group in groups[:3])
    return first + (f"; and {len(groups) - 3} more" if len(groups) > 3 else "")


def spellings(sources: Mapping[Source, Iterable[str]]) -> Spellings:
    """How the labels (texts) of several sources are one class, named as most of them, else as the first, write it."""
    sources = {source: sorted({*sources[source]}) for source in sorted(sources)}  # not the order of rows
    written: dict[Hashable, dict[str, list[Source]]] = {}
    orders: dict[str, set[str]] = {}
    for source, texts in sources.items():
        for text in texts:
            orders.setdefault(_ordered(text), set()).add(text)
        for form in dict.fromkeys(map(_ordered, texts)):
            written.setdefault(label_key(form), {}).setdefault(form, []).append(source)
    name_of = {form: form if len(texts) > 1 else next(iter(texts)) for form, texts in orders.items()}
    merged, apart, doubled = [], [], []
    for key, forms in written.items():
        if len(forms) == 1:
            continue
        label = max(forms, key=lambda form: (len(forms[form]), form == _as_seen(form)))
        group = (*(name_of[form] for form in forms if form != label), name_of[label])
        own = [source for sources_of_form in forms.values() for source in sources_of_form]
        if len({*own}) == len(own):
            name_of |= dict.fromkeys(forms, name_of[label])
            merged += [group] if not isinstance(key, Decimal) else []
        elif isinstance(key, Decimal):
            apart.append(group)
        else:
            doubled.append((next(source for source in own if own.count(source) > 1), group))
    turned, unlike = _yes_and_no(sources)
    words = {text: turned.get(text, name_of[form]) for form, texts in orders.items() for text in texts}
    words = {text: word for text, word in words.items() if text != word}
    return Spellings(words, tuple(merged), tuple(apart), tuple(doubled), unlike)


def shares_a_class(one: Iterable[object], other: Iterable[object]) -> bool:
    """Whether labels of two sources have a class in common."""
    sources = {Source("", str(i)): [label_text(label) for label in own] for i, own in enumerate((one, other))}
    one_way = spellings(sources)
    ours, theirs = ({*map(one_way.label_of, texts)} for texts in sources.values())
    return not ours.isdisjoint(theirs)


def _yes_and_no(sources: Mapping[Source, Iterable[str]]) -> tuple[dict[str, str], tuple[Unlike, ...]]:
    """True and False as 1 and 0 where each source writes only one of these; and the first two whose words differ."""
    words: dict[Source, tuple[dict[bool, tuple[str, str]], bool]] = {}  # yes, no -> key, text; are these all its labels
    for source, texts in sources.items():
        seen = {_as_seen(str(label_key(text))): text for text in texts}
        said = {key: text for key, text in seen.items() if key in _SAYS}
        own = {_SAYS[key]: (key, text) for key, text in said.items()}
        if len(own) < len(said):  # two words for yes, or for no
            if len(said) == len(seen) and {*said} & {*_ONE, *_TRUE}:
                double = [(text, own[_SAYS[key]][1]) for key, text in said.items() if own[_SAYS[key]][0] != key]
                return {}, (Unlike(source, source, {True: double[0][0]}, {True: double[0][1]}),)
        elif own:
            words[source] = own, len(said) == len(seen)
    turned: dict[str, str] = {}
    for one, (own, only) in words.items():
        for other, (theirs, theirs_only) in words.items():
            shared = [meaning for meaning in own if meaning in theirs]
            differ = [meaning for meaning in shared if own[meaning][0] != theirs[meaning][0]]
            pairs = theirs_only or (len(theirs) == 2 and len(differ) == len(shared))
            if one.criterion != other.criterion or not (only and differ and pairs):
                continue
            keys = {key for key, _ in (*own.values(), *theirs.values())}
            if theirs_only and keys <= {*_ONE, *_TRUE}:
                every = (*own.items(), *theirs.items())
                turned |= {text: _ONE[not meaning] for meaning, (key, text) in every if key in _TRUE}
            else:
                both = sorted((one, other), key=lambda source: source.is_column)  # labels= translates answers first
                ours, right = ({m: words[s][0][m][1] for m in (True, False) if m in words[s][0]} for s in both)
                return {}, (Unlike(both[0], both[1], ours, right),)
    return turned, ()
