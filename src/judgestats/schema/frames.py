"""Any frame -> a canonical frame: rename, cast, translate the answers, validate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import Frame, IntoFrame
from numpy.typing import NDArray

from judgestats.arguments import checked_arguments
from judgestats.errors import SchemaError, choose, nearest, refuse_unknown, score_range, suggestion
from judgestats.schema.class_labels import Source, label_text, spellings
from judgestats.schema.classes import with_classes
from judgestats.schema.coding import BLANKS, as_text, bare, distinct_rows, hashed, yes_or_no
from judgestats.schema.columns import (
    CHOICES,
    COUNTS,
    ONE_JUDGE,
    OUTCOMES,
    VERDICTS,
    VOCABULARY,
    Column,
    Kind,
    N,
    answer_column,
    required,
)
from judgestats.schema.declared_counts import SOURCE, counted, refuse_undeclared
from judgestats.schema.label_sets import with_sets
from judgestats.schema.opening import opened
from judgestats.schema.validation import raise_faults
from judgestats.typing import Column as Series
from judgestats.typing import EagerFrame

#: Number of columns from which pandas takes them, if each has a block of its own, for fragmented.
_FRAGMENTED = 90
_CORRECT = next(c for c in VOCABULARY["ratings"] if c.name == "correct")


@checked_arguments
def preferences(
    frame: IntoFrame,
    *,
    labels: Mapping[Any, str] | None = None,
    counts: str | Literal[False] | None = None,
    **columns: str | None,
) -> Any:
    """Map any frame onto the canonical preferences frame, and validate it.

    Parameters
    ----------
    frame : frame
        pandas, Polars, Arrow, DuckDB, ... : whatever Narwhals accepts. A lazy frame stays lazy; the values of its rows
        are then checked when they are counted.
    labels : mapping, optional
        Answer labels of the table to ``first``, ``second``, ``tie``, ``abstain`` or ``invalid``, e.g.
        ``{"A": "first", "B": "second", "C": "tie"}``. Canonical labels need no entry; blanks around an answer do not
        count.
    counts : str or False, optional
        The column that says how many identical calls a row stands for, in whole numbers: it becomes ``n_identical``,
        which measures and models count by. False: no column does; one called ``n`` is kept as ``n_source``. Without
        it a whole-number column ``n`` is refused, because nothing says what it is.
    **columns : str or None
        Canonical name = name in the table: ``judge="evaluator"``. ``gold`` holds the right candidate, or its slot
        (``first``, ``second``, one of `labels`, the name of the column of that candidate), or a tie. A column has one
        of these readings; it is refused where `labels` calls a candidate's name a slot and the two differ in some row.
        ``winner="col"`` names a column with the winning *candidate* (or a label), from which ``choice`` is made,
        whatever the order shown. ``None`` says that a column of the table that happens to carry one of our names is
        something else: it is kept as ``<name>_source``.

    Returns
    -------
    frame
        Of the kind given, with the canonical columns first. A missing ``choice`` becomes ``invalid`` with status
        ``parse``; columns that are not ours are kept and count as conditions.

    Raises
    ------
    SchemaError
        With every fault at once in ``faults``.

    See Also
    --------
    ratings : Any frame of scores, validated.
    read : Verdicts from a file.
    tally : Counts that a measure needs.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"evaluator": ["g", "g"], "q": [1, 1], "left": ["x", "y"], "right": ["y", "x"],
    ...                       "verdict": ["A", "C"]})
    >>> preferences(table, judge="evaluator", item="q", first="left", second="right", choice="verdict",
    ...             labels={"A": "first", "B": "second", "C": "tie"})
      judge item first second choice
    0     g    1     x      y  first
    1     g    1     y      x    tie
    """
    winner = columns.pop("winner", None)
    extra = {"choice": winner} if winner is not None else {}
    mapped = _map(frame, "preferences", {**columns, **extra}, counts)
    if winner is not None:
        position = _choice_of_winner()
        mapped = _once_each(mapped, ("choice",), lambda some: some.with_columns(position), ("first", "second"))
    words = dict(labels or {})
    answers = _answers(words)
    mapped = _once_each(mapped, ("choice", "status"), lambda some: _status(some.with_columns(answers)))
    mapped = _once_each(mapped, ("gold",), lambda some: _gold(some, words, columns), ("first", "second"))
    return _finish(mapped, "preferences", counts)


@checked_arguments
def ratings(
    frame: IntoFrame,
    *,
    scale: tuple[float, float] | None = None,
    off_scale: Literal["error", "missing"] = "error",
    counts: str | Literal[False] | None = None,
    labels: Mapping[Any, str] | None = None,
    classes: Sequence[str] | None = None,
    ordered: bool = False,
    **columns: str | Sequence[str] | None,
) -> Any:
    """Map any frame onto the canonical ratings frame, and validate it.

    Parameters
    ----------
    frame : frame
        Whatever Narwhals accepts; a lazy frame stays lazy.
    scale : (float, float), optional
        Lowest and highest score there is.
    off_scale : {'error', 'missing'}
        What a score off the scale is: a fault, or a missing score with status ``off scale``.
    counts : str or False, optional
        The column that says how many identical scores a row stands for, as in :func:`preferences`. Means have none:
        the number of scores behind a mean is ``runs``.
    labels : mapping, optional
        Verdicts of the table to ``right``, ``wrong`` or ``invalid``, e.g. ``{"C": "right", "I": "wrong"}``. Booleans, 0
        and 1, yes and no, right and wrong, pass and fail need no entry. Of a column ``answer``: spellings of the table
        to classes, or to ``invalid``; ``gold`` beside it is translated alike.
    classes : sequence of str, optional
        What ``answer`` may be: any other answer is refused. By default the classes that occur.
    ordered : bool
        Whether `classes` are in order, from the lowest: ``score`` is then the place of each, from 1, and measures of
        scores can be had; ``gold`` in words becomes its place, too.
    **columns : str or None
        Canonical name = name in the table, as in :func:`preferences`. An ``answer`` of several labels is a list, or a
        column of yes and no for each: ``answer=["toxic", "spam"]``. It is kept as a text, ``spam;toxic``, or ``none``
        where all are no; :func:`judgestats.alpha` compares such sets with ``distance=``.

    Returns
    -------
    frame
        Of the kind given, with the canonical columns first. A missing score stays: it is a row of
        :func:`judgestats.check`, excluded by every measure. Without a ``criterion`` there is one, ``overall``.
        Verdicts that are right or wrong stand in ``correct``, as booleans, in place of ``score``: those of a column
        ``correct``, or a score of booleans or words. Verdicts that are classes (``safe``, ``refusal``) stand in
        ``answer``: measures of agreement, :func:`judgestats.classification` and :func:`judgestats.confusion` take them.
        Without any of these the place ``shown_at`` of the chosen option is the ``answer``.

    Raises
    ------
    SchemaError
        With every fault at once in ``faults``.

    See Also
    --------
    preferences : Any frame of comparisons, validated.
    read : Verdicts from a file.
    composite : Several criteria to one score.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"rater": ["a", "b"], "writer": ["w", "w"], "story": [7, 7], "points": [3, 4]})
    >>> ratings(table, judge="rater", system="writer", item="story", score="points")
      judge system item criterion  score
    0     a      w    7   overall    3.0
    1     b      w    7   overall    4.0
    >>> ratings(table.assign(points=["pass", "fail"]), judge="rater", system="writer", item="story", score="points")
      judge system item criterion  correct
    0     a      w    7   overall     True
    1     b      w    7   overall    False
    """
    choose(off_scale, ("error", "missing"), "off_scale")
    scale = score_range(scale)
    frame, mapping = with_sets(frame, columns)
    mapped = _right_or_wrong(_map(_labelled(frame, dict(labels or {}), mapping), "ratings", mapping, counts))
    if classes is not None or ordered:
        mapped = _in_order(with_classes(mapped, classes, ordered), "ratings")
    if "criterion" not in mapped.collect_schema().names():
        mapped = _in_order(mapped.with_columns(nw.lit("overall").alias("criterion")), "ratings")
    if answer_column(mapped.collect_schema().names()) in VERDICTS:
        scale = None
    if scale is not None and off_scale == "missing":
        score = answer_column(mapped.collect_schema().names())
        off = (nw.col(score) < scale[0]) | (nw.col(score) > scale[1])
        have = "status" in mapped.collect_schema().names()
        old = nw.col("status") if have else nw.lit("ok")
        mapped = mapped.with_columns(nw.when(off).then(nw.lit("off scale")).otherwise(old).alias("status"))
        mapped = mapped.with_columns(nw.when(~off).then(nw.col(score)).alias(score))
        scale = None
    return _finish(mapped, "ratings", counts, scale)


def _map(frame: object, kind: Kind, columns: Mapping[str, str | None], counts: str | Literal[False] | None) -> Frame:
    """Rename and cast; list all names that do not exist in one error."""
    data = opened(frame)
    present = list(data.collect_schema().names())
    vocabulary = {c.name: c for c in VOCABULARY[kind]}
    columns = _with_counts(columns, counts, present, kind)
    absent = {n: [s] for n, s in columns.items() if s is not None and s not in present}
    strange = [n for n in columns if n not in vocabulary and not is_attribute(n, kind)]
    refuse_absent(columns, absent, data.collect_schema(), kind, strange)
    renames: dict[str, str] = {}
    chosen = {source: name for name, source in columns.items() if source is not None}
    expressions = [nw.col(source).alias(name) for name, source in columns.items() if source is not None]
    for name in present:
        if name in chosen and columns.get(name, name) == name:
            continue
        if name in columns and name not in chosen:  # our name, but it is mapped from elsewhere or excluded
            renames[name] = f"{name}_source"
    taken = set(columns) | set(chosen)
    rest = [
        nw.col(n).alias(renames[n]) if n in renames else nw.col(n) for n in present if n not in taken or n in renames
    ]
    data = data.select(*expressions, *rest)
    if "choice" in vocabulary and "choice" in (schema := data.collect_schema()) and schema["choice"].is_float():
        data = data.with_columns(nw.when(~nw.col("choice").is_nan()).then(nw.col("choice")).alias("choice"))
    if counts is False and N in data.collect_schema().names():
        data = data.rename({N: f"{N}_source"})
    have = data.collect_schema().names()
    if kind == "ratings" and answer_column(have, OUTCOMES) == "shown_at":
        data = data.with_columns(nw.col("shown_at").alias("answer"))
    refuse_undeclared(data, kind=kind)
    return _cast(_in_order(data, kind), vocabulary)


def _with_counts(
    columns: Mapping[str, str | None], counts: str | Literal[False] | None, present: list[str], kind: Kind
) -> dict[str, str | None]:
    """The mapping with the column of declared counts in it."""
    if N in columns:
        how = f"{kind}(frame, counts={columns[N]!r})" if columns[N] else f"{kind}(frame, counts=False)"
        advice = (("counts", columns[N] or False),)
        raise SchemaError(f"{N!r} is not a column of a {kind} frame: counts are declared. Write {how}.", advice=advice)
    if counts is None:
        return dict(columns)
    if counts is False:
        return {**columns, **({COUNTS: None} if COUNTS in present else {})}
    if not isinstance(counts, str):
        raise SchemaError(f'counts={counts!r} is neither a column nor False. Name the column of counts: counts="n".')
    refuse_unknown(counts, present, f"counts={counts!r} is not a column of the table", "Columns", error=SchemaError)
    return {**columns, COUNTS: counts}


def _in_order(data: Frame, kind: Kind) -> Frame:
    """Canonical columns first, in canonical order."""
    have = data.collect_schema().names()
    ours = [c.name for c in VOCABULARY[kind] if c.name in have]
    return data.select(*ours, *(c for c in have if c not in ours))


def is_attribute(name: str, kind: Kind) -> bool:
    """Whether a name besides the canonical ones may be mapped: an attribute of both candidates, a gold score."""
    if name == "confidence" or kind == "ratings":
        return name in ("confidence", "gold")
    return name.endswith(("_first", "_second")) and not name.startswith("_")


def not_there(name: str, column: str, present: list[str], *, listed: bool = True) -> str:
    """Message: a column that a mapping names does not occur; the nearest one that does."""
    columns = f" Columns: {', '.join(present) or 'none'}." if listed else ""
    return f"{name} column {column!r} is not in the table.{columns}{suggestion(column, present)}"


def refuse_absent(
    columns: Mapping[str, str | None],
    absent: Mapping[str, Sequence[str]],
    schema: Mapping[str, Any],
    kind: Kind | None,
    strange: Sequence[str] = (),
) -> None:
    """Raise where columns that a mapping names do not occur, or required ones are lacking: all in one error."""
    chosen, present = set(columns.values()), list(schema)
    names = [c.name for c in VOCABULARY[kind]] if kind else []
    problems = [f"{n!r} is not a column of a {kind} frame.{_instead(n, columns[n], names)}" for n in strange]
    parts = [(n, part) for n, sources in absent.items() if n not in strange for part in sources]
    problems += [not_there(n, part, present, listed=i == 0) for i, (n, part) in enumerate(parts)]
    have = {n for n, s in columns.items() if s is not None} | {n for n in present if n not in {*columns, *chosen}}
    have |= {"choice"} if have & {"winner", "graded"} else set()
    have |= {"score"} if answer_column(have, OUTCOMES) in have else set()
    missing = [n for n in required(kind) if n not in have] if kind and not strange else []
    if missing:
        free = [n for n in present if n not in chosen]
        words = [n for n in free if not schema[n].is_numeric()]
        hints = ", ".join(f"{m}={nearest(m, words if m == 'judge' else free) or '...'!r}" for m in missing)
        listed = "" if parts else f" Columns: {', '.join(present) or 'none'}."
        problems.append(
            f"The table lacks {', '.join(missing)} for a {kind} frame.{listed} Name the columns that hold them, as in "
            f"{kind}(frame, {hints}).{f' {ONE_JUDGE}' * ('judge' in missing)}"
        )
    if problems:
        raise SchemaError(" ".join(problems), advice=(("judge", None),) * ("judge" in missing))


#: Conditions of one frame -> that of the other that means the same.
_TWINS = {"condition": "prompt", "prompt": "condition", "strategy": "condition", "topic": "domain", "domain": "topic"}


def _instead(name: str, source: str | None, names: Sequence[str]) -> str:
    """What to map in place of a name that the frame does not have."""
    if not any(name == c.name for columns in VOCABULARY.values() for c in columns):
        return suggestion(name, names)
    twin = _TWINS.get(name)
    other = f" Map {twin}={source!r} in its place." if twin in names and source is not None else ""
    return f"{other} Unmapped, {source or name!r} keeps its name, and by={source or name!r} makes it a condition."


def _cast(data: Frame, vocabulary: Mapping[str, Column]) -> Frame:
    """Cast ids to text, and what arrives as text to numbers. What does not cast is left for validation to report."""
    ours = {n: (vocabulary[n].type, d) for n, d in data.collect_schema().items() if n in vocabulary}
    text_types = (nw.String, nw.Categorical, nw.Enum)
    ids = [
        n
        for n, (t, d) in ours.items()
        if t in ("text", "category") and not isinstance(d, text_types) and not d.is_nested()
    ]
    floats = [n for n, (t, d) in ours.items() if t == "number" and d.is_numeric()]
    numbers = ("number", "integer", "boolean")
    texts = [
        n for n, (t, d) in ours.items() if t in numbers and d != nw.Boolean and (t == "boolean" or not d.is_numeric())
    ]
    casts = [nw.col(n).cast(nw.Float64) for n in floats]
    if isinstance(data, nw.DataFrame) and data.implementation.is_pyarrow():  # Arrow casts no large whole number
        data = _with(data, {n: data[n].to_pandas().astype(float) for n in floats})
        casts = []
    if not isinstance(data, nw.DataFrame):
        for n in ids:  # as in _as_text
            text = nw.col(n).cast(nw.String)
            if ours[n][1] == nw.Boolean:
                text = nw.when(nw.col(n)).then(nw.lit("True")).when(~nw.col(n)).then(nw.lit("False")).alias(n)
            casts.append(text.str.replace_all(r"\.0$", "").alias(n) if ours[n][1].is_float() else text)
        return data.with_columns(*casts) if casts else data
    new = {n: _as_text(data[n].to_pandas()) for n in ids}
    new |= {n: v for n in texts if (v := _from_text(data[n].to_pandas(), vocabulary[n])) is not None}
    data = data.with_columns(*casts) if casts else data
    return _with(data, new) if new else data


def _as_text(values: Series) -> NDArray[np.object_]:
    """Ids as text in an array of objects, a missing one None."""
    text = as_text(values)
    labels: NDArray[np.object_] = text.astype(object).where(text.notna(), None).to_numpy()
    return labels


def _from_text(values: Series, column: Column) -> Any:
    """Text as numbers, or as yes and no, where every value is one; None where some value is not."""
    code, labels = hashed(values)
    text = pd.Series([*labels, None], dtype=object).astype("string").str.strip(BLANKS)  # code -1 is the missing one
    text = text.mask(text == "")
    new_values = yes_or_no(text) if column.type == "boolean" else pd.to_numeric(text, errors="coerce")
    if (new_values.isna() & text.notna()).any():
        return None
    if column.type != "boolean":
        return new_values.to_numpy(dtype="float64", na_value=np.nan)[code]
    verdicts = (new_values if column.default is None else new_values.fillna(column.default)).array.take(code)
    return verdicts if verdicts.isna().any() else verdicts.to_numpy(dtype=bool)


def _once_each(data: Frame, columns: Sequence[str], function: Callable[[Any], Any], beside: Sequence[str] = ()) -> Any:
    """What `function` makes of some columns, and of those beside: in pandas once for each combination of values."""
    have = [c for c in (*columns, *beside) if c in data.collect_schema().names()]
    if not (isinstance(data, nw.DataFrame) and data.implementation.is_pandas() and len(data)):
        return function(data)
    some, codes = distinct_rows(data, have)
    after = _categories(function(some), "preferences").to_native()
    before = some.to_native().select_dtypes("category")
    same = [
        c for c, v in before.items() if v.cat.categories.dtype == after[c].dtype and after[c].equals(v.astype("str"))
    ]
    taken = {c: after[c].array.take(codes.code) for c in columns if c in after and c not in same}
    return nw.from_native(data.to_native().assign(**taken), eager_only=True)


def _labelled(frame: Any, labels: dict[Any, str], columns: Mapping[str, str | None]) -> Any:
    """Translate verdicts by `labels` into right, wrong and invalid."""
    if not labels:
        return frame
    data = opened(frame)
    present = data.collect_schema().names()
    sources = {n: columns.get(n, n) for n in ("correct", "score", "answer")}
    name, source = next(((n, c) for n, c in sources.items() if c is not None and c in present), ("", None))
    unknown = [target for target in labels.values() if target not in ("right", "wrong", "invalid")]
    if unknown and name != "answer":
        raise SchemaError(
            f"labels= of ratings say which verdicts are 'right', 'wrong' or 'invalid'; got {unknown[0]!r}. Labels of "
            "first, second and tie are for preferences."
        )
    if source is None:
        raise SchemaError(
            "labels= of ratings say which verdicts are right and wrong, and there is no column 'correct' of verdicts. "
            f"Columns: {', '.join(present)}. Name it in correct=."
        )
    translated = [source, *(["gold"] if name == "answer" and "gold" in present and source != "gold" else [])]
    return data.with_columns(*(_translated(data, column, labels) for column in translated)).to_native()


def _translated(data: Frame, column: str, labels: Mapping[object, str]) -> nw.Expr:
    """A column of verdicts with its labels translated; equal labels are translated alike."""
    text = verdict = nw.col(column).cast(nw.String)
    distinct = data.lazy().select(text).unique().collect(backend="pandas").to_native()[column].dropna()
    words = {str(label): answer for label, answer in labels.items()}
    equal = spellings({Source("", "labels"): map(label_text, words), Source("", column): map(label_text, distinct)})
    by_key = {equal.label_of(label): answer for label, answer in words.items()}
    for label in map(str, distinct):
        answer = words.get(label, by_key.get(equal.label_of(label)))
        if answer is not None:
            word = nw.lit(None if answer == "invalid" else answer, nw.String)
            verdict = nw.when(text == label).then(word).otherwise(verdict)
    return verdict.alias(column)


def _right_or_wrong(data: Frame) -> Frame:
    """Move a score of booleans or words to ``correct``."""
    schema = data.collect_schema()
    if "score" not in schema or "correct" in schema:
        return data
    if schema["score"] == nw.Boolean:
        return _in_order(data.rename({"score": "correct"}), "ratings")
    if schema["score"].is_numeric() or not isinstance(data, nw.DataFrame):
        return data
    verdicts = _from_text(data["score"].to_pandas(), _CORRECT)
    if verdicts is None:
        return data
    return _in_order(_with(data, {"correct": verdicts}).drop("score"), "ratings")


def _with(data: EagerFrame, columns: Mapping[str, Iterable[object]]) -> EagerFrame:
    """Put columns into an eager frame of any engine."""
    backend = data.implementation
    values = {n: v if backend.is_pandas() else list(v) for n, v in columns.items()}
    return data.with_columns(*(nw.new_series(n, v, backend=backend) for n, v in values.items()))


def _choice_of_winner() -> nw.Expr:
    """Turn the winning candidate (item frame) into the winning position; a swapped call is flipped here, once."""
    won = nw.col("choice")
    return (
        nw.when(won == nw.col("first"))
        .then(nw.lit("first"))
        .when(won == nw.col("second"))
        .then(nw.lit("second"))
        .otherwise(won)
        .alias("choice")
    )


def _answers(labels: Mapping[object, str]) -> nw.Expr:
    """Translate answer labels, whatever blanks are around them; an absent answer is an invalid one."""
    column = nw.col("choice").cast(nw.String)
    own = bare(column)
    table = {str(k): v for k, v in labels.items()}
    for target in table.values():
        choose(target, CHOICES, "labels")
    expression = nw.when(own.is_in(CHOICES)).then(own).otherwise(column)
    for spelling in (own, column):  # a label with blanks of its own comes last
        for label, answer in table.items():
            expression = nw.when(spelling == label).then(nw.lit(answer)).otherwise(expression)
    missing = own.is_null() | (own == "")
    return nw.when(missing & nw.lit("" not in table)).then(nw.lit("invalid")).otherwise(expression).alias("choice")


def _gold(data: Frame, labels: Mapping[object, str], columns: Mapping[str, str | None]) -> Frame:
    """Translate right answers given as slots into candidates; those given as candidates stay."""
    if "gold" not in data.collect_schema().names():
        return data
    gold, first, second = (nw.col(c).cast(nw.String) for c in ("gold", "first", "second"))
    slots = {"first": ["first"], "second": ["second"], "tie": ["tie"]}
    for label, answer in labels.items():
        slots.get("tie" if answer == "abstain" else answer, []).append(str(label))
    letters = [label for slot in ("first", "second") for label in slots[slot][1:]]
    for slot in ("first", "second"):
        source = columns.get(slot)
        slots[slot] += [source] if source else []
    is_name = (gold == first) | (gold == second)
    by_place = nw.when(gold.is_in(slots["first"])).then(first).when(gold.is_in(slots["second"])).then(second)
    by_place = by_place.when(gold.is_in(slots["tie"])).then(nw.lit("tie"))
    place = by_place.otherwise(nw.lit(None, nw.String))
    names = nw.when(is_name).then(gold).otherwise(by_place.otherwise(gold)).alias("gold")
    if not letters and not isinstance(data, nw.DataFrame):
        return data.with_columns(names)
    both = ~place.is_null() & is_name & (place != gold)
    if not _any(data, both):
        return data.with_columns(names)
    only_place, only_name = _any(data, ~place.is_null() & ~is_name), _any(data, place.is_null() & is_name)
    if only_place and not only_name:
        return data.with_columns(by_place.otherwise(gold).alias("gold"))
    if only_place is only_name and _any(data, both & gold.is_in(letters)):
        raise SchemaError(_two_readings(data, both & gold.is_in(letters)))
    return data.with_columns(names)


def _any(data: Frame, condition: nw.Expr) -> bool:
    """Whether a condition holds in some row."""
    held = data.lazy().filter(condition).select(nw.len().alias("n")).collect(backend="pandas")
    return bool(held["n"][0])


def _two_readings(data: Frame, rows: nw.Expr) -> str:
    """Message: letters of gold are places by labels=, and names of candidates, which differ."""
    some = data.lazy().filter(rows).select("first", "second", "gold").head(1).collect(backend="pandas")
    first, second, letter = (str(some[c][0]) for c in ("first", "second", "gold"))
    return (
        f"'gold' has {letter!r}, which labels= calls a place and which is the name of a candidate: where {first!r} is "
        f"shown first and {second!r} second, the two readings differ. If it is the place, give the candidates other "
        "names (first='=x', second='=y' where the mapping names them), or write first and second in the column of "
        "gold. If it is the candidate, give the candidates names that are no labels, in 'gold' too."
    )


def _status(data: Frame) -> Frame:
    """A call that failed a gate has no valid answer, and an invalid answer without a reason was not parsed."""
    if "status" in data.collect_schema().names():
        status = nw.col("status").cast(nw.String)
        passed = status.is_null() | (status == "ok") | (status == "")
        choice = nw.when(passed).then(nw.col("choice")).otherwise(nw.lit("invalid"))
        invalid = nw.col("choice") == "invalid"
        reason = nw.when(passed & invalid).then(nw.lit("parse")).when(passed).then(nw.lit("ok")).otherwise(status)
        return data.with_columns(choice.alias("choice"), reason.alias("status"))
    invalid = nw.col("choice") == "invalid"
    if isinstance(data, nw.DataFrame) and not data.select(invalid.any()).item():
        return data
    return data.with_columns(nw.when(invalid).then(nw.lit("parse")).otherwise(nw.lit("ok")).alias("status"))


def _categories(data: EagerFrame, kind: Kind) -> EagerFrame:
    names = [c.name for c in VOCABULARY[kind] if c.type == "category" and c.name in data.columns]
    names = [c for c in names if c != "answer" or not isinstance(data["answer"].dtype, nw.Enum)]  # declared classes
    return data.with_columns(nw.col(c).cast(nw.Categorical) for c in names) if names else data


def _finish(
    data: Frame, kind: Kind, counts: str | Literal[False] | None, scale: tuple[float, float] | None = None
) -> Any:
    if not isinstance(data, nw.DataFrame):
        counted(data, kind=kind)
    else:
        raise_faults(data, kind, scale)
        data = _categories(data, kind)
        whole = [c.name for c in VOCABULARY[kind] if c.type == "integer" and c.name in data.columns]
        whole = [
            c for c in whole if data[c].dtype.is_float() and not data[c].is_null().any() and not data[c].is_nan().any()
        ]
        data = data.with_columns(nw.col(c).cast(nw.Int64) for c in whole) if whole else data
    result = data.to_native()
    if isinstance(result, pd.DataFrame) and result.shape[1] > _FRAGMENTED:
        result = result.copy()  # of one block for each type, not for each column
    if isinstance(result, pd.DataFrame) and counts is not None:
        result.attrs = {k: v for k, v in result.attrs.items() if k != SOURCE} | ({SOURCE: counts} if counts else {})
    return result
