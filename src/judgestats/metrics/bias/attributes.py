"""Which of the two candidates carries the attribute under test, and which calls say nothing about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd

from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.results import flags
from judgestats.schema.columns import COUNTS, By, grouping, required
from judgestats.schema.counting import is_tally
from judgestats.schema.declared_counts import counted
from judgestats.schema.pairing import refuse_unknown_order
from judgestats.schema.patterns import PATTERNS

#: Column that says in which slot the target stood.
TARGET_SLOT = "target_slot"
_SLOTS = ("first", "second")
#: What the second candidate is called where both have one id, so that a slot can be told.
_TWIN = "(the same, second)"


@dataclass(frozen=True)
class Aside:
    """Calls that have no target, per group.

    Attributes
    ----------
    table : pandas.DataFrame
        The grouping columns and ``_without``, their number.
    words : str
        What they are: ``calls of equal length``.
    """

    table: pd.DataFrame
    words: str

    @classmethod
    def of(cls, table: pd.DataFrame, mask: Any, groups: Sequence[str], words: str) -> Aside:
        """Calls of a tally in the rows of a mask."""
        return cls(table.loc[mask, list(groups)].assign(_without=table.loc[mask, "n"]), words)

    def flagged(self, rows: list[dict[str, Any]], groups: Sequence[str]) -> list[dict[str, Any]]:
        """Put the number of calls set aside into the flag of every row of its group."""
        known = [g for g in groups if g in self.table]
        if not len(self.table):
            return rows
        sums = self.table.groupby(known, dropna=False)["_without"].sum().reset_index()
        told = {_key(key): n for *key, n in sums.itertuples(index=False)}
        for row in rows:
            n = told.get(_key([row[g] for g in known]), 0)
            row["flag"] = flags(row["flag"], f"{n:,.0f} {self.words}" if n else "")
        return rows

    def with_empty(self, table: pd.DataFrame, groups: Sequence[str]) -> pd.DataFrame:
        """Keep a row, counting nothing, for a group none of whose calls has a target."""
        groups = [g for g in groups if g in self.table]
        there = {_key(key) for key in table[groups].drop_duplicates().itertuples(index=False)}
        empty = self.table[groups].drop_duplicates()
        empty = empty[[_key(key) not in there for key in empty.itertuples(index=False)]]
        if not len(empty):
            return table
        rows = empty.assign(outcome="invalid", n=0.0)
        result = pd.concat(
            [table, rows.astype({g: table[g].dtype for g in groups}, errors="ignore")], ignore_index=True
        )
        result.attrs = dict(table.attrs)
        return result


@dataclass(frozen=True)
class Targeted:
    """Calls with a target, and those without one.

    Attributes
    ----------
    calls : frame
        Preferences with a column ``target``, or the tally that was given.
    aside : Aside
    """

    calls: Any
    aside: Aside


@dataclass(frozen=True)
class _Sides:
    """Whether the first candidate, and the second, is the target; and what calls are of which neither is."""

    first: Any
    second: Any
    words: str


def targeted(
    calls: Any,
    *,
    target: str | None = None,
    attribute: str | None = None,
    value: str | None = None,
    family: Mapping[str, str] | None = None,
    by: By = (),
    measure: str = "bias_score",
) -> Targeted:
    """Say which candidate of each call is the target, and set aside the calls that have none.

    Parameters
    ----------
    calls : frame
        Preferences, or a tally of `measure`, which is returned as it is.
    target : str, optional
        ``first`` or ``second``, that slot; else the id of a candidate. None, with no other argument: column ``target``.
    attribute : str, optional
        The target has more of it: columns ``<attribute>_first`` and ``<attribute>_second``.
    value : str, optional
        The target has this value of the attribute, and the other has not.
    family : mapping of str to str, optional
        Name -> family, of judges and (without columns ``family_first`` and ``family_second``) of candidates: the
        target is of the judge's family, and the other is not.
    by : str or sequence of str
        Columns by which the calls set aside are counted, besides ``judge`` and ``bias``.
    measure : str
        Whose tally is let through.

    Returns
    -------
    Targeted

    Raises
    ------
    DesignError
        If the arguments do not go together or no call has a target.
    SchemaError
        If a column is missing, or the target is neither candidate.
    """
    data = nw.from_native(calls)
    present = list(data.collect_schema().names())
    asked = {"target": target, "attribute": attribute, "family": family}
    asked = {name: v for name, v in asked.items() if v is not None}
    _refuse_both(asked, value)
    if is_tally(present, PATTERNS[measure]):
        if asked:
            raise DesignError(
                f"{next(iter(asked))}= says who the target of a call is, and this is a tally: its outcomes are "
                "settled. Give the calls, or leave it out."
            )
        return Targeted(calls, Aside(pd.DataFrame({"judge": [], "_without": []}), ""))
    missing = [c for c in required("preferences") if c not in present]
    if missing:
        counts = ", ".join([*PATTERNS[measure].columns, "n"])
        raise DesignError(
            f"{measure} needs {', '.join(missing)}. Columns: {', '.join(present)}. Give a preferences frame, or a "
            f"tally with the columns {counts}."
        )
    groups = list(dict.fromkeys([*grouping(by, present), *(["bias"] if "bias" in present else []), "judge"]))
    counted(data, groups)
    data, sides = _sides(data, present, target, attribute, value, family)
    return _split(data, sides, groups, measure)


def with_slot(calls: Any) -> Any:
    """Add the column ``target_slot`` to calls that have a target.

    Raises
    ------
    DesignError
        If the order in which the candidates were shown is not known.
    """
    data = nw.from_native(calls)
    refuse_unknown_order(data, list(data.collect_schema().names()))
    in_first = _text("target") == _text("first")
    slot = nw.when(in_first).then(nw.lit("first")).otherwise(nw.lit("second"))
    return data.with_columns(slot.alias(TARGET_SLOT)).to_native()


def _refuse_both(asked: Mapping[str, Any], value: str | None) -> None:
    if len(asked) > 1:
        raise DesignError(f"{' and '.join(f'{a}=' for a in asked)} both say who the target is. Give one of them.")
    if value is not None and "attribute" not in asked:
        raise DesignError(f"value={value!r} is a value of an attribute, and attribute= is not given. Name it.")


def _sides(
    data: Any,
    present: list[str],
    target: str | None,
    attribute: str | None,
    value: str | None,
    family: Mapping[str, str] | None,
) -> tuple[Any, _Sides]:
    if attribute is not None:
        return data, _by_attribute(data, present, attribute, value)
    if family is not None:
        return data, _by_family(data, present, family)
    if target in _SLOTS:
        refuse_unknown_order(data, present)
        twin = nw.when(_text("first") == _text("second")).then(nw.lit(_TWIN)).otherwise(_text("second"))
        first = _text("first") == _text("first") if target == "first" else _text("first") != _text("first")
        return data.with_columns(twin.alias("second")), _Sides(first, ~first, "")
    if target is not None:
        return data, _by_candidate(data, target)
    if "target" not in present:
        raise DesignError(
            f"There is no column 'target' to say who the target of a call is. Columns: {', '.join(present)}. Give "
            "target= (a slot or a candidate), attribute= (and value=), or family=."
        )
    _refuse_strangers(data)
    hits = [_text("target") == _text(slot) for slot in _SLOTS]
    return data, _Sides(hits[0] & ~hits[1], hits[1] & ~hits[0], "calls without target")


def _by_attribute(data: Any, present: list[str], attribute: str, value: str | None) -> _Sides:
    columns = [f"{attribute}_{slot}" for slot in _SLOTS]
    missing = [c for c in columns if c not in present]
    if missing:
        known = sorted({c.rsplit("_", 1)[0] for c in present if c.endswith(("_first", "_second"))})
        raise SchemaError(
            f"attribute={attribute!r} needs the columns {' and '.join(columns)}; {', '.join(missing)} is not there. "
            f"Attributes there are: {', '.join(known) or 'none'}.{suggestion(attribute, known)}"
        )
    if value is not None:
        has = [(_text(c) == str(value)).fill_null(False) for c in columns]
        if not _any(data, has[0] | has[1]):
            raise DesignError(f"value={value!r} does not occur in {' or '.join(columns)}. Check its spelling.")
        return _Sides(has[0] & ~has[1], has[1] & ~has[0], f"calls where both or neither has {attribute} {value}")
    if any(not data.collect_schema()[c].is_numeric() for c in columns):
        raise DesignError(
            f"attribute={attribute!r} is not a number, so neither candidate has more of it. Give value=, the value "
            "that the target has."
        )
    one, two = (nw.col(c).cast(nw.Float64).fill_nan(None) for c in columns)  # NaN is above all in some engines
    return _Sides((one > two).fill_null(False), (one < two).fill_null(False), f"calls of equal or unknown {attribute}")


def _by_family(data: Any, present: list[str], family: Mapping[str, str]) -> _Sides:
    judges = [str(j) for j in _distinct(data, "judge")]
    unknown = [j for j in judges if j not in family]
    if unknown:
        raise DesignError(
            f"family= does not name the judge {unknown[0]!r}. It names: {', '.join(family)}."
            f"{suggestion(unknown[0], family)} Give a family to every judge."
        )
    beside = all(f"family_{slot}" in present for slot in _SLOTS)
    if nameless := [j for j in judges if pd.isna(family[j])]:
        raise DesignError(f"family= gives the judge {nameless[0]!r} no family. Give a family to every judge.")
    family = {name: str(f) for name, f in family.items() if not pd.isna(f)}
    nobody = _text("judge").is_null() & ~_text("judge").is_null()
    own: dict[str, list[Any]] = {slot: [nobody] for slot in _SLOTS}
    for name in sorted({family[j] for j in judges}):
        members = [name] if beside else [c for c, f in family.items() if f == name]
        asks = _text("judge").is_in([j for j in judges if family[j] == name])
        for slot in _SLOTS:
            shown = _text(f"family_{slot}" if beside else slot)
            own[slot].append(asks & shown.is_in(members).fill_null(False))
    first, second = (reduce(or_, own[slot]) for slot in _SLOTS)
    return _Sides(first & ~second, second & ~first, "calls with both or neither of its family")


def _by_candidate(data: Any, target: str) -> _Sides:
    hits = [_text(slot) == target for slot in _SLOTS]
    if not _any(data, hits[0] | hits[1]):
        known = sorted({str(c) for slot in _SLOTS for c in _distinct(data, slot)})
        shown = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
        raise DesignError(
            f"target={target!r} is neither a slot nor a candidate. Allowed: first, second, or one of {shown}."
            f"{suggestion(target, known)}"
        )
    return _Sides(hits[0] & ~hits[1], hits[1] & ~hits[0], f"calls without {target}")


def _split(data: Any, sides: _Sides, groups: list[str], measure: str) -> Targeted:
    known = nw.when(sides.first).then(_text("first")).otherwise(nw.when(sides.second).then(_text("second")))
    has = (sides.first | sides.second).fill_null(False)
    weight = nw.col(COUNTS).sum() if COUNTS in data.collect_schema().names() else nw.len()
    without = data.filter(~has).lazy().group_by(*groups).agg(weight.alias("_without")).collect(backend="pandas")
    aside = without.to_native()
    kept = data.with_columns(known.alias("target")).filter(has)
    if len(aside) and not _rows(kept):
        raise DesignError(f"{measure}: no call has a target ({int(aside['_without'].sum()):,} {sides.words}).")
    return Targeted(kept.to_native(), Aside(aside, sides.words))


def _refuse_strangers(data: Any) -> None:
    """The target must be one of the two that were shown, or missing."""
    known = _text("target")
    stray = ~known.is_null() & (known != "") & (known != _text("first")) & (known != _text("second"))
    found = data.filter(stray).select("item", "first", "second", "target").lazy().collect(backend="pandas").to_native()
    if len(found):
        row = found.sort_values(["item", "first"], kind="stable").iloc[0]
        raise SchemaError(
            f"'target' is neither candidate in {len(found):,} row{'s' * (len(found) != 1)}. The first: item "
            f"{row['item']!r} shows {row['first']!r} and {row['second']!r}, and its target is {row['target']!r}. Give "
            "the id of one of the two, or nothing."
        )


def _text(column: str) -> Any:
    return nw.col(column).cast(nw.String)


def _distinct(data: Any, column: str) -> list[Any]:
    found = data.lazy().select(_text(column).alias("_v")).unique().collect(backend="pandas").to_native()["_v"]
    return sorted(found.dropna().tolist())


def _rows(data: Any) -> int:
    return int(data.lazy().select(nw.len().alias("_n")).collect(backend="pandas").to_native()["_n"].iloc[0])


def _any(data: Any, mask: Any) -> bool:
    return _rows(data.filter(mask.fill_null(False))) > 0


def _key(values: Sequence[Any]) -> tuple[Any, ...]:
    """A group's values as a key: a missing value equals itself."""
    return tuple(None if pd.isna(v) else str(v) for v in values)


def numeric_attributes(calls: Any) -> list[str]:
    """Attributes of both candidates that are numbers: ``length`` for ``length_first`` and ``length_second``.

    Parameters
    ----------
    calls : frame
        Preferences.

    Returns
    -------
    list of str
        Names, in alphabetical order.
    """
    schema = nw.from_native(calls).collect_schema()
    both = {c.removesuffix("_first") for c in schema} & {c.removesuffix("_second") for c in schema}
    return sorted(a for a in both if a and all(schema.get(f"{a}_{s}", nw.String()).is_numeric() for s in _SLOTS))
