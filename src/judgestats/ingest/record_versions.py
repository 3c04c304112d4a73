"""Which records of a log still count: versions of one verdict, verdicts that others replace, and deleted ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import pandas as pd

from judgestats.ingest.guesses import plain
from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.record_fields import absent, parsed_cell
from judgestats.schema.columns import NO, YES

#: Values of a field that withdraws a record: true, false, or anything that is given.
IF_TRUE, IF_FALSE, IF_GIVEN = YES, NO, ()
#: Beginning of a name of a field of an entry, where a record holds several verdicts.
_ENTRY = "[]."
#: The list that an entry stands in: its own name, in an object of lists the name there.
LIST = "*"


class Verdict(NamedTuple):
    """A part of a record that is versioned by itself."""

    record: Row  # the record without its other verdicts
    entry: Fields = MappingProxyType({})  # the object in a list of the record that holds it, if one does
    part: str = ""  # which one


class _Listed(NamedTuple):
    """Entries that a record holds, each of which is a verdict."""

    path: list[str]
    name: str  # in an object of lists
    entries: list[Fields]
    is_list: bool  # or a single entry


@dataclass(frozen=True)
class Identity:
    """Fields that identify, replace or delete the verdicts of a log; names in camel case are also known in snake case.

    Attributes
    ----------
    keys : tuple of tuples of str
        Fields that together identify a verdict. Of records that agree in all fields of one of these, the latest counts.
        ``[].id`` is the field of an entry of the lists `within`, or of a record without them.
    time : tuple of str
        Fields with the time of a version, the first that is given; without it the order of the log decides.
    replaces : str
        Field with the first key of the verdict that this one replaces.
    withdrawn : mapping
        Field -> the values that withdraw a verdict (`IF_TRUE`, `IF_FALSE`, `IF_GIVEN`), and the reason to state.
    within : tuple of str
        Lists of a record that hold a verdict in each entry; ``responses.*`` for those in an object of lists.
    per_file : bool
        Whether the fields identify a verdict within its file only.
    """

    keys: tuple[tuple[str, ...], ...] = ()
    time: tuple[str, ...] = ()
    replaces: str = ""
    withdrawn: Mapping[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    within: tuple[str, ...] = ()
    per_file: bool = False

    def __bool__(self) -> bool:
        return bool(self.keys or self.withdrawn)

    def verdicts(self, record: Row) -> Iterator[Verdict]:
        """The record with one entry of its lists only, for each entry; else the record."""
        lists = list(_lists(record, self.within))
        if not lists or not all(isinstance(entry, Mapping) for listed in lists for entry in listed.entries):
            yield Verdict(record)
            return
        bare = record
        for listed in lists:
            bare = _with(bare, listed.path, {} if listed.name else [])
        for listed in lists:
            of = listed.name or listed.path[-1]
            for i, entry in enumerate(listed.entries, start=1):
                value = [entry] if listed.is_list else entry
                alone = _with(bare, listed.path, {listed.name: value} if listed.name else value)
                yield Verdict(alone, {**entry, LIST: of}, f"{of} {i}" if listed.is_list else of)

    def withdrawal(self, record: Fields, entry: Fields | None = None) -> str:
        """Why a verdict does not count by its own fields; empty if it does."""
        for name, (values, reason) in self.withdrawn.items():
            value = _value(record, entry or {}, name)
            if not absent(value) and (str(value).strip().lower() in values if values else bool(value)):
                return reason if values in (IF_TRUE, IF_FALSE, IF_GIVEN) else f"{reason} ({value})"
        return ""

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What docs/formats.md says: each fact with the fields that state it."""

        def spelt(name: str) -> str:
            return "the name of the list" if name.endswith(LIST) else f"`{name}`"

        def values(name: str) -> str:
            texts = self.withdrawn[name][0]
            said = {IF_TRUE: "true", IF_FALSE: "false", IF_GIVEN: ""}.get(texts, " or ".join(texts))
            return f"{spelt(name)} ({said})" if said else spelt(name)

        facts = [
            ("verdicts stand in", ", ".join(f"`{name}[]`" for name in self.within)),
            ("identify a verdict", "; ".join(", ".join(map(spelt, key)) for key in self.keys)),
            ("tell which version is the later", ", ".join(map(spelt, self.time)) if self.keys else ""),
            ("replace another verdict", spelt(self.replaces) if self.replaces else ""),
            ("withdraw a verdict", "; ".join(map(values, self.withdrawn))),
        ]
        return [(what, names) for what, names in facts if names]


def _lists(record: Fields, names: tuple[str, ...]) -> Iterator[_Listed]:
    """The lists of entries that a record holds."""
    for name in names:
        path = name.removesuffix(f".{LIST}").split(".")
        value: object = record
        for step in path:
            value = parsed_cell(value.get(step)) if isinstance(value, Mapping) else None
        if name.endswith(LIST) and isinstance(value, Mapping):
            yield from (
                _Listed(path, str(k), v if isinstance(v, list) else [v], isinstance(v, list)) for k, v in value.items()
            )
        elif not name.endswith(LIST) and isinstance(value, list) and value:
            yield _Listed(path, "", value, True)


def _with(record: Fields, path: list[str], value: object) -> Row:
    """A record with another value at a path."""
    step, *rest = path
    return {**record, step: _with(parsed_cell(record[step]), rest, value) if rest else value}


def _value(record: Fields, entry: Fields, name: str) -> object:
    """A field of an entry or of the record; absent is None."""
    source, name = (entry or record, name.removeprefix(_ENTRY)) if name.startswith(_ENTRY) else (record, name)
    value = source.get(name)
    return source.get(plain(name)) if value is None else value


class _Key(NamedTuple):
    """What identifies a verdict."""

    names: tuple[str, ...]  # of the fields
    file: int  # 0 if they identify it in all files
    values: tuple[str, ...]


class _Version(NamedTuple):
    """A verdict as one record has it."""

    group: int
    at: tuple[object, ...]  # values of the fields of time
    keys: tuple[_Key, ...]
    replaces: _Key | None  # the key of another
    withdrawn: str  # why, if it is


class Versions:
    """The verdicts of the logs that are read together."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._versions: list[_Version] = []
        self._group: dict[_Key, int] = {}  # of each key
        self._same: list[int] = []  # group -> an earlier group of the same verdict, or itself

    def __len__(self) -> int:
        return len(self._versions)

    def cut(self, n: int) -> None:
        """Forget all but the first `n`, those of a file that turned out to be unreadable."""
        del self._versions[n:]

    def add(self, verdict: Verdict, file: int) -> str:
        """Note a verdict; returns why it is withdrawn, if it is."""
        record, entry, _ = verdict
        identity = self._identity
        scope = file if identity.per_file else 0
        keys: list[_Key] = []
        for fields in identity.keys:
            values = [_value(record, entry, name) for name in fields]
            if not any(map(absent, values)):
                keys.append(_Key(_names(fields), scope, tuple(map(str, values))))
        groups = sorted({self._root(self._group[key]) for key in keys if key in self._group})
        group = groups[0] if groups else len(self._same)
        if not groups:
            self._same.append(group)
        for later in groups[1:]:
            self._same[later] = group
        self._group.update(dict.fromkeys(keys, group))
        replaces = _value(record, entry, identity.replaces) if identity.replaces else None
        withdrawn = identity.withdrawal(record, entry)
        at = tuple(_value(record, entry, name) for name in identity.time)
        other = None if absent(replaces) else _Key(_names(identity.keys[0]), scope, (str(replaces),))
        self._versions.append(_Version(group, at, tuple(keys), other, withdrawn))
        return withdrawn

    def _root(self, group: int) -> int:
        while self._same[group] != group:
            group = self._same[group]
        return group

    def superseded(self, things: Sequence[object]) -> dict[int, str]:
        """The numbers of the verdicts that others supersede, with the reason; `things`: what each is on, if known.

        Records that share an id and are on different things are no versions of one verdict.
        """
        groups: dict[int, list[int]] = {}
        for number, version in enumerate(self._versions):
            groups.setdefault(self._root(version.group), []).append(number)
        reasons: dict[int, str] = {}
        for numbers in groups.values():
            if len(numbers) > 1:
                by_thing: dict[object, list[int]] = {}
                for number in numbers:
                    if things[number] is not None:
                        by_thing.setdefault(things[number], []).append(number)
                for versions in by_thing.values() if len(by_thing) > 1 else [numbers]:
                    reasons |= self._earlier(versions)
        why = f"another record replaces it, which names it in {self._identity.replaces.removeprefix(_ENTRY)}"
        for number, version in enumerate(self._versions):
            counts = not version.withdrawn and number not in reasons
            if counts and version.replaces is not None and version.replaces in self._group:
                for other in groups.get(self._root(self._group[version.replaces]), ()):
                    if other != number:
                        reasons.setdefault(other, why)
        return reasons

    def _earlier(self, numbers: list[int]) -> dict[int, str]:
        """All versions of one verdict but the last, with the reason; a deletion deletes what has its first key."""
        by_key: dict[object, list[int]] = {}
        for number in numbers:
            by_key.setdefault(self._versions[number].keys[0], []).append(number)
        reasons: dict[int, str] = {}
        last: list[int] = []
        for versions in (*by_key.values(), last):
            *earlier, latest = self._in_time(versions) or [-1]
            reasons |= {n: self._reason(self._versions[n], self._versions[latest]) for n in earlier}
            if versions is not last and not self._versions[latest].withdrawn:
                last.append(latest)
        return reasons

    @staticmethod
    def _reason(earlier: _Version, last: _Version) -> str:
        if last.withdrawn:
            return f"{last.withdrawn}, by a later record"
        names = next((key.names for key in earlier.keys if key in last.keys), earlier.keys[0].names)
        return f"a later record of the same {' and '.join(names)} counts"

    def _in_time(self, numbers: list[int]) -> list[int]:
        """Versions from the earliest to the latest; in the order of the log where they state no time."""
        times = [_time(self._versions[n].at) for n in numbers]
        if any(math.isnan(t) for t in times):
            return numbers
        return [n for _, n in sorted(zip(times, numbers, strict=True))]


def _names(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Fields as a record, or an entry, has them."""
    return tuple(name.removeprefix(_ENTRY) for name in fields)


def _time(values: tuple[object, ...]) -> float:
    """A time as a number: of the first field that has one; NaN without one."""
    first = str(next((v for v in values if not absent(v)), None))
    try:
        return float(first)  # seconds, or parts of them
    except ValueError:
        stamp = pd.to_datetime(first, utc=True, errors="coerce")
        return math.nan if stamp is pd.NaT else float(stamp.value)
