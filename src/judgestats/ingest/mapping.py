"""A plain table -> a canonical frame, by a mapping that the user has given.

Beyond the names of :func:`judgestats.preferences` and :func:`judgestats.ratings` a mapping understands:

``winner``
    a column with the winning candidate, whatever the order shown (item frame). A label may name the candidate by its
    column: with ``first="model_1"``, ``labels={"1": "first", ...}`` says that 1 is the candidate in ``model_1``;
``graded``
    a column of numbers, with the labels of its ends: ``labels={"1": "first", "2": "second", "0": "tie"}``. Gives
    ``choice`` and ``strength``; the middle is a tie;
``swapped``
    a column of yes and no (or BA and AB, swapped and original): where yes, `first` and `second` were shown the other
    way round. They are exchanged once, and with them what is known of each candidate (``length_first`` and
    ``length_second``, any ``x_first`` and ``x_second``). A ``winner``, and a ``strength`` beside it, is by
    candidate and goes with them; ``choice`` and ``graded``, and a ``strength`` beside them, are by position as shown
    and stay;
``failed``
    a column that is filled where the call failed, such as an error message: the answer of such a row is missing,
    whatever stands there, and its status is ``error``;
``ranking``
    rankings of several candidates, expanded to pairs when they are read: :func:`judgestats.ingest.rankings.ranked`;
``probabilities``
    columns of the probabilities of scores, read as the expected score: :func:`judgestats.ingest.rankings.expected`;
``"=text"``
    in place of a column: a constant, such as ``judge="=gpt-4"`` or ``order_known="=false"``;
``"one+two"``
    for an id (judge, item, system, first, second, task): the columns joined with " / ", such as
    ``item="subset+item"`` where items are numbered within subsets. A column with that very name takes precedence.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

import narwhals.stable.v2 as nw
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.errors import SchemaError, data_rows
from judgestats.schema import preferences, ratings
from judgestats.schema.coding import bare
from judgestats.schema.columns import NO, OUTCOMES, VOCABULARY, YES, Kind, kind_of
from judgestats.schema.frames import is_attribute, not_there, refuse_absent
from judgestats.schema.opening import opened
from judgestats.schema.validation import refuse_doubled

#: Canonical column -> column of the table, ``=constant`` or None (excluded).
Mapped = Mapping[str, str | None]
#: Canonical column -> column of the table, while a table is mapped.
Names = dict[str, str | None]
#: Label of an answer -> what it means.
Labels = Mapping[Any, str]
#: A table in memory, or one that stays where it is.
Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]

#: Column that says whether a model, code or a person judged.
RATER_TYPE = "rater_type"
#: Names in a mapping that are not canonical columns; all imply a preferences frame.
PSEUDO = ("winner", "graded", "swapped")
#: Values of ``swapped``: the order shown was reversed, or not.
TURNED, AS_NAMED = (*YES, "ba", "swapped"), (*NO, "ab", "original")
#: What a column of errors holds where there was none.
_NO_ERROR = ("", "false", "0", "none", "null", "no", "ok", "{}", "[]")
#: Ids that may be joined from several columns: ``item=subset+item``.
JOINABLE = ("judge", "item", "system", "first", "second", "task")


def kind_of_mapping(columns: Mapped, present: list[str], frame: Kind | None) -> Kind:
    """Determine which canonical frame a mapping is for."""
    if frame is not None:
        return frame
    names = {n for n, source in columns.items() if source is not None}
    if names & {"first", "second", "choice", *PSEUDO}:
        return "preferences"
    if names & {"system", "criterion", *OUTCOMES}:
        return "ratings"
    return kind_of([*names, *(p for p in present if p not in columns)], OUTCOMES)


def refuse_absent_columns(columns: Mapped, schema: Mapping[str, Any], kind: Kind | None = None) -> None:
    """Raise where columns that a mapping names do not occur, or required ones are lacking."""
    sources = {n: _parts_of(n, s, schema) or [s] for n, s in columns.items() if s is not None and s[:1] != "="}
    absent = {n: [part for part in parts if part not in schema] for n, parts in sources.items()}
    understood = all(n in NAMES or n == "failed" or is_attribute(n, kind) for n in columns) if kind else False
    refuse_absent(columns, absent, schema, kind if understood else None)


def canonical(
    table: IntoFrame,
    kind: Kind,
    columns: Mapped | None = None,
    labels: Labels | None = None,
    counts: str | Literal[False] | None = None,
    **options: object,
) -> Any:
    """Map a table onto a canonical frame and validate it."""
    data = opened(table)
    refuse_absent_columns(columns or {}, data.collect_schema(), kind)
    data, mapped = with_columns(data, columns or {}, kind)
    if mapped.get("failed") is not None:
        data, mapped = _failed(data, mapped)
    if kind == "ratings":
        keywords: dict[str, Any] = {**options, **mapped, "labels": labels}
        frame = ratings(data.to_native(), counts=counts, **keywords)
        refuse_doubled(frame)
        return frame
    if options:
        raise SchemaError(f"{', '.join(options)} are for ratings; this is a preferences frame. Leave them out.")
    if "swapped" in mapped:
        data, mapped = _unswapped(data, mapped, labels or {})
    if "graded" in mapped:
        data, mapped = _as_choice(data, mapped, dict(labels or {}))
        labels = None
    return preferences(data.to_native(), labels=labels, counts=counts, **mapped)


def with_columns(data: Frame, columns: Mapped, kind: Kind) -> tuple[Frame, Names]:
    """Add the constants, the joined ids and the type of rater that a mapping makes, and map their names onto them."""
    data, mapped = _joins(*_constants(data, dict(columns), kind))
    if mapped.get(RATER_TYPE) is not None:
        source = _source(mapped, RATER_TYPE, data)
        data = data.with_columns(nw.col(source).alias(RATER_TYPE)).drop(f"_constant_{RATER_TYPE}", strict=False)
        del mapped[RATER_TYPE]
    return data, mapped


def _present(data: Frame) -> list[str]:
    return list(data.collect_schema().names())


def _source(mapped: Mapped, name: str, data: Any) -> str:
    """Column that a name is mapped from, checked to exist."""
    source = mapped.get(name, name)
    present = _present(data)
    if source is None or source not in present:
        raise SchemaError(not_there(name, source if source is not None else name, present))
    return source


def _constants(data: Frame, mapped: Names, kind: Kind) -> tuple[Frame, Names]:
    types = {c.name: c.type for c in VOCABULARY[kind]}
    present = _present(data)
    for name, source in list(mapped.items()):
        if source is None or not source.startswith("=") or source in present:
            continue
        column = name if name not in present else f"_constant_{name}"
        data = data.with_columns(nw.lit(_typed(name, source[1:], types.get(name, "text"))).alias(column))
        mapped[name] = column
    return data, mapped


def source_columns(columns: Mapped, present: Collection[str]) -> set[str]:
    """Columns of a table that a mapping takes from it, those of a join one by one."""
    taken: set[str] = set()
    for name, source in columns.items():
        if source is not None:
            taken.update(_parts_of(name, source, present) or [source])
    return taken


def _parts_of(name: str, source: str, present: Collection[str]) -> list[str]:
    """Columns that a source joins; empty if it is a column itself, or a constant."""
    if name not in JOINABLE or source in present or source.startswith("=") or "+" not in source:
        return []
    return [part.strip() for part in source.split("+")]


def _joins(data: Frame, mapped: Names) -> tuple[Frame, Names]:
    """Join the columns of ids made of several; an empty cell in any leaves the id empty."""
    present = _present(data)
    for name, source in list(mapped.items()):
        parts = _parts_of(name, source, present) if source is not None else []
        for part in parts:
            _source({name: part}, name, data)
        if parts:
            # a slash after a space is doubled, so that " / " occurs between parts only and ids stay distinct
            texts = [nw.col(p).cast(nw.String).str.replace_all(" /", " //", literal=True) for p in parts]
            joined = nw.concat_str(texts, separator=" / ")
            mapped[name] = f"_joined_{name}"
            data = data.with_columns(joined.alias(f"_joined_{name}"))
    return data, mapped


def _failed(data: Frame, mapped: Names) -> tuple[Frame, Names]:
    """Leave no answer in the rows of failed calls, whatever stands there, and give them the status ``error``."""
    failed = _source(mapped, "failed", data)
    told = bare(nw.col(failed).cast(nw.String)).str.to_lowercase()
    wrong = ~nw.col(failed).is_null() & ~told.is_in(list(_NO_ERROR))
    present = _present(data)
    names = {n: mapped.get(n, n) for n in ("choice", "winner", "graded", "strength", *OUTCOMES)}
    answers = [c for c in names.values() if c is not None and c in present]
    before = mapped.get("status", "status")
    status = nw.col(before) if before in present else nw.lit("ok")
    data = data.with_columns(
        *(nw.when(~wrong).then(nw.col(c)).alias(c) for c in answers),
        nw.when(wrong).then(nw.lit("error")).otherwise(status).alias("_status"),
    )
    return data, {**{n: c for n, c in mapped.items() if n != "failed"}, "status": "_status"}


def _typed(name: str, text: str, kind: str) -> str | bool | float | int:
    if kind == "boolean":
        if text.lower() in YES:
            return True
        if text.lower() in NO:
            return False
        raise SchemaError(f"{name}='={text}' should be =true or =false.")
    if kind in ("number", "integer"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            raise SchemaError(f"{name}='={text}' should be a number, such as '=0'.") from None
    return text


def _lower(column: str) -> nw.Expr:
    return nw.col(column).cast(nw.String).str.to_lowercase()


def _any(data: Frame, condition: nw.Expr) -> bool:
    result = data.select(condition.any().alias("_any"))
    if isinstance(result, nw.LazyFrame):
        result = result.collect()
    return bool(result["_any"][0])


def _unswapped(data: Frame, mapped: Names, labels: Labels) -> tuple[Frame, Names]:
    """Exchange the candidates, and the attributes of each, where the order shown was reversed."""
    swapped, first, second = (_source(mapped, n, data) for n in ("swapped", "first", "second"))
    is_order = _lower(swapped).is_in([*TURNED, *AS_NAMED])
    if _any(data, ~is_order | nw.col(swapped).is_null()):
        raise SchemaError(
            f"swapped column {swapped!r} should hold 0 and 1 (or true and false, AB and BA, original and swapped) and "
            "no empty cell."
        )
    yes = _lower(swapped).is_in(list(TURNED))
    if mapped.get("winner") is not None:
        data, mapped = _by_candidate(data, mapped, labels, yes)
    one, two = {"first": first}, {"second": second}
    for name_1, name_2, source_1, source_2 in _attributes(data, mapped):
        one[name_1], two[name_2] = source_1, source_2
    exchanged = [
        nw.when(yes).then(nw.col(there)).otherwise(nw.col(own)).alias(f"_shown_{name}")
        for (name_1, source_1), (name_2, source_2) in zip(one.items(), two.items(), strict=True)
        for name, own, there in ((name_1, source_1, source_2), (name_2, source_2, source_1))
    ]
    data = data.with_columns(*exchanged)
    sides = {**one, **two}
    mapped = {**mapped, **{n: f"_shown_{n}" for n in sides}}
    del mapped["swapped"]
    return data.drop([c for c in {swapped, *sides.values()} if c not in mapped.values()]), mapped


def _attributes(data: Frame, mapped: Mapped) -> list[tuple[str, str, str, str]]:
    """Attributes of both candidates: the two names, and the columns that hold them."""
    present = _present(data)
    sources = {n: n for n in present if n not in mapped and n not in mapped.values()}
    sources |= {n: _source(mapped, n, data) for n, source in mapped.items() if source is not None}
    stems = {n.rpartition("_")[0]: None for n in sources if n.endswith(("_first", "_second")) and not n.startswith("_")}
    attributes = []
    for stem in stems:
        names = (f"{stem}_first", f"{stem}_second")
        alone = [n for n in names if n not in sources]
        if alone:
            (lone,) = (n for n in names if n in sources)
            raise SchemaError(
                f"swapped: {lone!r} belongs to one candidate, and there is no {alone[0]!r} to exchange it with. "
                f"Map both, or exclude it with {lone}=None.",
                advice=(("columns", lone),),
            )
        attributes.append((*names, sources[names[0]], sources[names[1]]))
    return attributes


def _by_candidate(data: Frame, mapped: Names, labels: Labels, swapped: nw.Expr) -> tuple[Frame, Names]:
    """Replace a label of the winner by the candidate it stands for, and turn a strength beside it."""
    winner = _source(mapped, "winner", data)
    candidate = nw.col(winner).cast(nw.String)
    for label, side in labels.items():
        if side in ("first", "second"):
            chosen = nw.col(winner).cast(nw.String) == str(label)
            candidate = nw.when(chosen).then(nw.col(_source(mapped, side, data)).cast(nw.String)).otherwise(candidate)
    data, mapped = data.with_columns(candidate.alias("_winner")), {**mapped, "winner": "_winner"}
    replaced = [winner]
    if mapped.get("strength", "strength") in _present(data):
        strength = _source(mapped, "strength", data)
        data = _as_number(data, strength)
        turned = nw.when(swapped).then(1 - nw.col(strength)).otherwise(nw.col(strength))
        data, mapped = data.with_columns(turned.alias("_strength")), {**mapped, "strength": "_strength"}
        replaced.append(strength)
    return data.drop([c for c in replaced if c not in mapped.values()]), mapped


def _as_choice(data: Frame, mapped: Names, labels: Labels) -> tuple[Frame, Names]:
    """Convert a graded answer to a choice and a strength."""
    column = _source(mapped, "graded", data)
    low, high, ties = _anchors(labels)
    data = _as_number(data, column)
    data = data.rename({n: f"{n}_source" for n in ("choice", "strength") if n in _present(data) and n != column})
    value = nw.col(column)
    tied = value.is_in(ties) if ties else nw.lit(False)
    strength = nw.when(tied).then(nw.lit(0.5)).otherwise((value - low) / (high - low))
    data = data.with_columns(strength.alias("strength"))
    grade = nw.col("strength")
    if _any(data, (grade < 0) | (grade > 1)):
        raise SchemaError(
            f"graded column {column!r} has values outside {low:g} (first) to {high:g} (second). Name the ends of the "
            "scale, and numbers that mean a tie, in labels."
        )
    choice = (
        nw.when(grade < 0.5)
        .then(nw.lit("first"))
        .when(grade > 0.5)
        .then(nw.lit("second"))
        .when(grade == 0.5)
        .then(nw.lit("tie"))
        .otherwise(nw.lit(None, nw.String))
    )
    data = data.with_columns(choice.alias("choice")).drop([c for c in [column] if c not in ("choice", "strength")])
    mapped = {n: c for n, c in mapped.items() if n not in ("graded", "choice", "strength")}
    return data, mapped


def _anchors(labels: Labels) -> tuple[float, float, list[float]]:
    sides: dict[str, list[float]] = {"first": [], "second": [], "tie": []}
    try:
        for label, answer in labels.items():
            sides[answer].append(float(label))
    except (ValueError, KeyError):
        sides["first"] = []
    if len(sides["first"]) != 1 or len(sides["second"]) != 1 or sides["first"] == sides["second"]:
        raise SchemaError(
            "graded= needs labels that name the two ends of the scale as numbers, and further numbers that mean a tie, "
            f"such as labels={{'1': 'first', '2': 'second', '0': 'tie'}}. Got: {labels!r}."
        )
    return sides["first"][0], sides["second"][0], sides["tie"]


def _as_number(data: Frame, column: str) -> Frame:
    if data.collect_schema()[column].is_numeric():
        return data.with_columns(nw.col(column).cast(nw.Float64))
    if isinstance(data, nw.DataFrame):
        text = data[column].to_pandas()
        numbers = pd.to_numeric(text, errors="coerce")
        wrong = (numbers.isna() & text.notna()).to_numpy()
        if wrong.any():
            row = int(wrong.argmax())
            raise SchemaError(
                f"column {column!r} should hold numbers; {data_rows([row])}, has {str(text.iloc[row])[:40]!r}."
            )
        return data.with_columns(nw.new_series(column, numbers.to_numpy(dtype=float), backend=data.implementation))
    return data.with_columns(nw.col(column).cast(nw.Float64))


#: All names of a mapping.
NAMES = frozenset({*PSEUDO, RATER_TYPE, *(c.name for columns in VOCABULARY.values() for c in columns)})
