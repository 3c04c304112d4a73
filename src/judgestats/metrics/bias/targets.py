"""The target of each call, the candidate with the attribute under test, and calls without one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import Frame

from judgestats.counting.patterns import PATTERNS
from judgestats.counting.study import Calls, Study
from judgestats.counting.tallies import is_tally
from judgestats.errors import DesignError, SchemaError, refuse_unknown, suggestion
from judgestats.metrics.exclusions import ExcludedCalls
from judgestats.metrics.measure_registry import MeasureOptions, column_names
from judgestats.schema.columns import By, grouping, required
from judgestats.schema.factors import Factor
from judgestats.typing import EagerFrame, Mask

#: Column that says in which slot the target stood.
TARGET_SLOT = "target_slot"


SLOTS = ("first", "second")


#: Name of the second candidate where both have the same id, so that the slots stay distinct.
_TWIN = "(the same, second)"


@dataclass(frozen=True)
class Targeted:
    """Calls that have a target, and the number of those that have none."""

    calls: Study  # with a column ``target``, or the tally that was given
    excluded: ExcludedCalls


class _Sides(NamedTuple):
    """Expressions: the first candidate is the target, the second is; and a description of calls without a target."""

    first: nw.Expr
    second: nw.Expr
    without: str
    rows: tuple[Mask, Mask] | None = None  # of a frame in memory, where they are known

    def masks(self, data: EagerFrame) -> tuple[Mask, Mask]:
        """Rows of a frame in memory where the first is the target, and where the second is."""
        if self.rows is not None:
            return self.rows
        both = data.select(*(e.fill_null(False).alias(slot) for e, slot in zip(self[:2], SLOTS, strict=True)))
        return both["first"].to_numpy().astype(bool), both["second"].to_numpy().astype(bool)


def targeted(
    calls: Calls,
    *,
    target: str | None = None,
    attribute: str | None = None,
    value: str | None = None,
    family: Mapping[str, str] | None = None,
    by: By = (),
    measure: str = "bias_score",
) -> Targeted:
    """Determine the target of each call, and exclude calls without one; a tally of `measure` is returned unchanged."""
    study = Study.of(calls)
    data, present = study.data, study.names
    definitions = {"target": target, "attribute": attribute, "family": family}
    definitions = {name: v for name, v in definitions.items() if v is not None}
    if len(definitions) > 1:
        raise DesignError(f"{' and '.join(f'{a}=' for a in definitions)} both define the target. Give one of them.")
    if value is not None and attribute is None:
        raise DesignError(f"value={value!r} is a value of an attribute, and attribute= is not given. Name it.")
    if is_tally(present, PATTERNS[measure]):
        if definitions:
            raise DesignError(
                f"{next(iter(definitions))}= defines the target of each call, but a tally has outcomes already. Give "
                "the calls, or leave it out."
            )
        return Targeted(study, ExcludedCalls())
    missing = [c for c in required("preferences") if c not in present]
    if missing:
        counts = ", ".join([*PATTERNS[measure].columns, "n"])
        raise DesignError(
            f"{measure} needs {', '.join(missing)}. Columns: {', '.join(present)}. Give a preferences frame, or a "
            f"tally with the columns {counts}."
        )
    groups = list(dict.fromkeys([*grouping(by, present), *(["bias"] if "bias" in present else []), "judge"]))
    study.refuse_undeclared(groups)
    data, sides = _sides(study, present, target, attribute, value, family)
    if isinstance(data, nw.LazyFrame):
        target_name = nw.when(sides.first).then(_text("first")).otherwise(nw.when(sides.second).then(_text("second")))
        has_target = (sides.first | sides.second).fill_null(False)
        excluded = ExcludedCalls.of(Study.of(data.filter(~has_target)), groups, sides.without)
        with_target = study.part(data.with_columns(target_name.alias("target")).filter(has_target))
        rows = _row_count(with_target.data) if len(excluded.table) else 1
    else:
        in_first, in_second = sides.masks(data)
        study = study if data is study.data else study.part(data)
        excluded = ExcludedCalls.of(study.where(~in_first & ~in_second), groups, sides.without)
        first, second, candidates = study.shown
        of_target = Factor(np.where(in_first, first, second), candidates)
        with_target = study.part(study.columns.but(target=of_target)).where(in_first | in_second)
        rows = len(with_target.columns)
    if len(excluded.table) and not rows:
        number = int(excluded.table["_without"].sum())
        raise DesignError(f"{measure}: no call has a target ({number:,} {sides.without}).")
    return Targeted(with_target, excluded)


def with_slot(calls: Study) -> Study:
    """Add the column ``target_slot`` to calls that have a target."""
    calls.refuse_unknown_order()
    if not calls.lazy:
        in_second = (calls.named("target") != calls.shown.first).astype(np.int8)
        return calls.part(calls.columns.but(**{TARGET_SLOT: Factor(in_second, list(SLOTS))}))
    in_first = _text("target") == _text("first")
    slot = nw.when(in_first).then(nw.lit("first")).otherwise(nw.lit("second"))
    return calls.part(calls.data.with_columns(slot.alias(TARGET_SLOT)))


def _sides(
    study: Study,
    present: list[str],
    target: str | None,
    attribute: str | None,
    value: str | None,
    family: Mapping[str, str] | None,
) -> tuple[Frame, _Sides]:
    data = study.data
    if attribute is not None:
        return data, _by_attribute(data, present, attribute, value)
    if family is not None:
        return data, _by_family(data, present, family)
    if target in SLOTS:
        study.refuse_unknown_order()
        twin = nw.when(_text("first") == _text("second")).then(nw.lit(_TWIN)).otherwise(_text("second"))
        first = _text("first") == _text("first") if target == "first" else _text("first") != _text("first")
        return data.with_columns(twin.alias("second")), _Sides(first, ~first, "")
    if target is not None:
        return data, _by_candidate(data, target)
    if "target" not in present:
        raise DesignError(
            f"There is no column 'target' that names the target of each call. Columns: {', '.join(present)}. Give "
            "target= (a slot or a candidate), attribute= (and value=), or family=."
        )
    hits, target_name, rows = [_text("target") == _text(slot) for slot in SLOTS], _text("target"), None
    if study.lazy:
        _refuse_strangers(data.filter(~target_name.is_null() & (target_name != "") & ~hits[0] & ~hits[1]))
    else:
        place, pair = study.named("target"), study.shown
        both, one, two = (pair.first >= 0) & (pair.second >= 0), place == pair.first, place == pair.second
        stray = both & ~one & ~two & ~study.columns["target"].among(None, "")
        if stray.any():
            _refuse_strangers(study.where(stray).data)
        rows = both & one & ~two, both & two & ~one
    return data, _Sides(hits[0] & ~hits[1], hits[1] & ~hits[0], "calls without target", rows)


def _by_attribute(data: Frame, present: list[str], attribute: str, value: str | None) -> _Sides:
    columns = [f"{attribute}_{slot}" for slot in SLOTS]
    missing = [c for c in columns if c not in present]
    if missing:
        attributes = sorted({c.rsplit("_", 1)[0] for c in present if c.endswith(("_first", "_second"))})
        raise SchemaError(
            f"attribute={attribute!r} needs the columns {' and '.join(columns)}; {', '.join(missing)} is missing. "
            f"Attributes present: {', '.join(attributes) or 'none'}.{suggestion(attribute, attributes)}"
        )
    if value is not None:
        hits = [(_text(c) == str(value)).fill_null(False) for c in columns]
        if not _any(data, hits[0] | hits[1]):
            raise DesignError(f"value={value!r} does not occur in {' or '.join(columns)}. Check its spelling.")
        return _Sides(hits[0] & ~hits[1], hits[1] & ~hits[0], f"calls where both or neither has {attribute} {value}")
    if any(not data.collect_schema()[c].is_numeric() for c in columns):
        raise DesignError(
            f"attribute={attribute!r} is not a number, so neither candidate has more of it. Give value=, the value "
            "that the target has."
        )
    one, two = (nw.col(c).cast(nw.Float64).fill_nan(None) for c in columns)  # NaN is the largest value in some engines
    return _Sides((one > two).fill_null(False), (one < two).fill_null(False), f"calls of equal or unknown {attribute}")


def _by_family(data: Frame, present: list[str], family: Mapping[str, str]) -> _Sides:
    judges = [str(j) for j in _distinct(data, "judge")]
    for judge in judges:
        problem = f"family= does not name the judge {judge!r}"
        refuse_unknown(judge, family, problem, "It names", remedy=" Give a family to every judge.")
    has_columns = all(f"family_{slot}" in present for slot in SLOTS)
    if nameless := [j for j in judges if pd.isna(family[j])]:
        raise DesignError(f"family= gives the judge {nameless[0]!r} no family. Give a family to every judge.")
    family = {name: str(f) for name, f in family.items() if not pd.isna(f)}
    never = _text("judge").is_null() & ~_text("judge").is_null()
    related: dict[str, list[nw.Expr]] = {slot: [never] for slot in SLOTS}
    for name in sorted({family[j] for j in judges}):
        members = [name] if has_columns else [c for c, f in family.items() if f == name]
        by_member = _text("judge").is_in([j for j in judges if family[j] == name])
        for slot in SLOTS:
            slot_families = _text(f"family_{slot}" if has_columns else slot)
            related[slot].append(by_member & slot_families.is_in(members).fill_null(False))
    first, second = (reduce(or_, related[slot]) for slot in SLOTS)
    return _Sides(first & ~second, second & ~first, "calls with both or neither of its family")


def _by_candidate(data: Frame, target: str) -> _Sides:
    hits = [_text(slot) == target for slot in SLOTS]
    if not _any(data, hits[0] | hits[1]):
        candidates = sorted({str(c) for slot in SLOTS for c in _distinct(data, slot)})
        first_names = ", ".join(candidates[:8]) + (", ..." if len(candidates) > 8 else "")
        raise DesignError(
            f"target={target!r} is neither a slot nor a candidate. Allowed: first, second, or one of {first_names}."
            f"{suggestion(target, candidates)}"
        )
    return _Sides(hits[0] & ~hits[1], hits[1] & ~hits[0], f"calls without {target}")


def _refuse_strangers(data: Frame) -> None:
    """Raise where there are calls whose target is neither candidate."""
    bad = data.select("item", "first", "second", "target").lazy().collect(backend="pandas").to_native()
    if len(bad):
        row = bad.sort_values(["item", "first"], kind="stable").iloc[0]
        raise SchemaError(
            f"'target' is neither candidate in {len(bad):,} row{'s' * (len(bad) != 1)}. The first: item "
            f"{row['item']!r} shows {row['first']!r} and {row['second']!r}, and its target is {row['target']!r}. Give "
            "the id of one of the two, or nothing."
        )


def _text(column: str) -> nw.Expr:
    return nw.col(column).cast(nw.String)


def _distinct(data: Frame, column: str) -> list[str]:
    labels = data.lazy().select(_text(column).alias("_v")).unique().collect(backend="pandas").to_native()["_v"]
    return sorted(labels.dropna().tolist())


def _row_count(data: Frame) -> int:
    return int(data.lazy().select(nw.len().alias("_n")).collect(backend="pandas").to_native()["_n"].iloc[0])


def _any(data: Frame, mask: nw.Expr) -> bool:
    return _row_count(data.filter(mask.fill_null(False))) > 0


def numeric_attributes(calls: Calls) -> list[str]:
    """Attributes of both candidates that are numbers, sorted: ``length`` for ``length_first`` and ``length_second``."""
    schema = Study.of(calls).data.collect_schema()
    both = {c.removesuffix("_first") for c in schema} & {c.removesuffix("_second") for c in schema}
    return sorted(a for a in both if a and all(schema.get(f"{a}_{s}", nw.String()).is_numeric() for s in SLOTS))


def target_known(data: Calls, _: MeasureOptions) -> str:
    """Require a column ``target``, or an attribute of both candidates that is a number."""
    if "target" in column_names(data) or numeric_attributes(data):
        return ""
    return "needs a column 'target', or an attribute of both candidates such as length_first, length_second"


def of_attributes(data: Calls, measure: Callable[[str], pd.DataFrame]) -> pd.DataFrame:
    """Results of `measure` for each numeric attribute, which the column ``bias`` names."""
    return pd.concat([measure(a).assign(bias=a) for a in numeric_attributes(data)], ignore_index=True)
