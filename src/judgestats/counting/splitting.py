"""Columns that split a cell: rows that are equal in every key differ in them, and no argument names them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.dtypes import DType

from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError
from judgestats.schema.coding import Coded, codes_of, column_codes, compact, is_constant, joint
from judgestats.schema.columns import COUNTS, By, Kind, grouping, names, outcome_columns
from judgestats.schema.opening import one_if
from judgestats.typing import Column, EagerFrame, Integers, LazyFrame

#: What a rating is of and by whom, in the order of a message.
KEYS = ("judge", "system", "item", "criterion", "replicate")
#: Conditions of a run: a repeat under another one is no repeat, however it is numbered.
CONDITIONS = ("condition", "temperature")
#: Columns of right answers, verdicts beside the score, and columns that aggregation adds.
_MADE = {
    "gold",
    "passed",
    "verdict",
    "metascore",
    "tie_kind",
    "n_calls",
    "n_criteria",
    "score_conflict",
}
#: Columns with the status of a call.
_ENDS = frozenset(("status", "error", "errors", "finish_reason", "stop_reason"))
#: Words in the name of a column that measures a call: money, time, length.
_OUTCOMES = re.compile(
    "costs?|price|usd|latency|elapsed|duration|runtime|seconds|ms|time|timestamp|tstamp|date|datetime|created|started|"
    "ended|finished|tokens?|chars"
)
#: Words that make such a name a setting (``max_tokens``).
_SETTINGS = frozenset(("max", "min", "limit", "budget", "cap", "allowed"))
#: Median length from which text of more than so many different values is free text.
LONG, _MANY = 60, 20


@dataclass(frozen=True)
class Split:
    """A column that splits cells."""

    column: str
    alike: tuple[str, ...]  # columns that split no more where it is named
    values: tuple[str, ...]  # sorted, in the cells that it splits
    rows: int  # of those cells


def open_columns(present: Sequence[str], dtype: Callable[[str], DType], keys: Collection[str], kind: Kind) -> list[str]:
    """Columns that may split a cell: neither keys nor columns that describe the outcome of a call."""
    outcome = outcome_columns(kind, present) | _MADE
    return [
        name
        for name in present
        if name not in keys
        and name != "replicate"
        and name not in outcome
        and not str(name).startswith("_")
        and not _describes_outcome(str(name))
        and not (kind == "preferences" and str(name).endswith(("_first", "_second")))
        and not (dtype(name).is_temporal() or dtype(name).is_nested())
    ]


def _describes_outcome(name: str) -> bool:
    words = set(re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().replace("-", "_").replace(" ", "_").split("_"))
    return name.lower() in _ENDS or (any(map(_OUTCOMES.fullmatch, words)) and not words & _SETTINGS)


def eager_splits(
    data: EagerFrame,
    unit: Integers,
    n_units: int,
    keys: Collection[str],
    kind: Kind = "ratings",
    *,
    strict: bool = True,
) -> list[Split]:
    """The columns that split the cells of a frame in memory; none of them splits once the others are named.

    `unit` (N,): number, from 0 to `n_units` - 1, of each row by its `keys`. `strict`: False counts columns that are
    unique to a row and free text too: for a message, where a repeat is a fault.
    """
    rows = len(unit)
    if n_units == rows:
        return []
    candidates = open_columns(data.columns, lambda name: data[name].dtype, keys, kind)
    if not candidates:
        return []
    conditions = [c for c in candidates if c in CONDITIONS and kind == "ratings"]
    others = [c for c in candidates if c not in conditions]
    call, n_calls = unit, n_units
    if others and "replicate" in data.columns and "replicate" not in keys:
        call, n_calls = _with_runs(unit, n_units, data["replicate"].to_pandas())
    result: dict[str, tuple[Integers, Integers]] = {}
    for columns, group, size in ((conditions, unit, n_units), (others, call, n_calls)):
        if columns and size < rows:
            result |= _differing(data, columns, group, size, strict=strict)
    return _without_the_determined(result, (call, n_calls), data)


def _with_runs(unit: Integers, n_units: int, runs: Column) -> tuple[Integers, int]:
    """Number of each row by unit and run, and how many there are; without a number each where no two rows share one."""
    rows = len(unit)
    if pd.api.types.is_integer_dtype(runs.dtype) and not runs.hasnans:
        number = runs.to_numpy()
        low = number.min()
        run: Coded = (number - low, int(number.max() - low) + 1)
    else:
        run = column_codes(runs)
    code, size = joint([(unit, n_units), run], rows)
    if size <= 4 * rows + 10**6:
        seen = np.zeros(size, dtype=bool)
        seen[code] = True
        if np.count_nonzero(seen) == rows:
            return unit, rows
    code, codes = compact(code, size)
    return code, codes.size


def _differing(
    data: EagerFrame, columns: list[str], group: Integers, size: int, *, strict: bool
) -> dict[str, tuple[Integers, Integers]]:
    """Columns that differ within a group: the rows of the groups that each splits, and its codes there."""
    again = np.flatnonzero((np.bincount(group, minlength=size) > 1)[group])
    whole = again.size == len(group)
    group = group if whole else group[again]
    table = data.select(*columns).to_pandas()
    first = np.zeros(size, dtype=np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]

    def look(values: Column) -> tuple[Integers, Integers] | None:
        values = values if whole else values.iloc[again]
        if is_constant(values):
            return None
        try:
            code, levels = column_codes(values)
        except TypeError:  # lists and dicts
            return None
        differs = code != code[first][group]
        if not differs.any():
            return None
        split = np.zeros(size, dtype=bool)
        split[group[differs]] = True
        rows = np.flatnonzero(split[group])
        if strict and values.name not in CONDITIONS and _belongs_to_rows(values, rows, group, size, code, levels):
            return None
        return again[rows], code[rows]

    return {c: difference for c in columns if (difference := look(table[c])) is not None}


def _belongs_to_rows(values: Column, rows: Integers, group: Integers, size: int, code: Integers, levels: int) -> bool:
    """Whether a column is an id or free text: its values are mostly met in one cell only, or are long and many."""
    different, occurring = compact(code[rows], levels)
    place, total = joint([(group[rows], size), (different, occurring.size)], rows.size)
    met = compact(place, total)[1].size
    if met < 2 * occurring.size:
        return True
    if occurring.size <= _MANY or pd.api.types.is_numeric_dtype(values.dtype):
        return False
    return float(values.iloc[rows[:1000]].astype(str).str.len().median()) > LONG


def _without_the_determined(
    differences: dict[str, tuple[Integers, Integers]], calls: tuple[Integers, int], data: EagerFrame
) -> list[Split]:
    """Leave the columns whose naming stops the others from splitting, each with those that it stops.

    Of two that distinguish the rows of a cell equally well, the one with fewer values. A number that adds nothing to
    names is left out; a condition only where another column gives it in all cells alike.
    """
    rows = np.unique(np.concatenate([r for r, _ in differences.values()])) if differences else np.zeros(0, np.int64)
    codes = {c: column_codes(data[c].to_pandas().iloc[rows]) for c in differences}
    cell, occurring = compact(calls[0][rows], calls[1])

    def places(*columns: str, anywhere: bool = False) -> int:
        code, size = joint([(cell, 1 if anywhere else occurring.size), *(codes[c] for c in columns)], rows.size)
        return int(compact(code, size)[1].size)

    finest = {c: (-places(c), places(c, anywhere=True), data.columns.index(c)) for c in differences}
    needed = _needed(differences, finest, places, data.schema)
    heads: dict[str, list[str]] = {}
    for column in sorted(differences, key=lambda c: (c not in needed, *finest[c])):
        anywhere = column in CONDITIONS
        stop = (h for h in heads if places(h, column, anywhere=anywhere) == places(h, anywhere=anywhere))
        if (by := next(stop, None)) is not None:
            heads[by].append(column)
        elif column in needed:
            heads[column] = []
    return [_split(c, heads[c], data[c].to_pandas().iloc[differences[c][0]]) for c in data.columns if c in heads]


def _needed(
    columns: Collection[str],
    finest: Mapping[str, tuple[int, ...]],
    places: Callable[..., int],
    schema: Mapping[str, DType],
) -> list[str]:
    """Columns without those that the others distinguish the rows of every cell by, numbers (measured, perhaps) last."""
    chosen: list[str] = []
    for column in sorted(columns, key=lambda c: (schema[c].is_numeric(), finest[c])):
        if column in CONDITIONS or places(*chosen, column) > places(*chosen):
            chosen.append(column)
    return [c for c in columns if c in chosen or any(places(c) == places(h) == places(h, c) for h in chosen)]


def _split(column: str, alike: Sequence[str], values: Column) -> Split:
    labels = sorted({"missing" if pd.isna(v) else str(v) for v in values.unique()})
    return Split(column, tuple(alike), tuple(labels), len(values))


def lazy_splits(data: LazyFrame, keys: Sequence[str], kind: Kind = "ratings", *, strict: bool = True) -> list[Split]:
    """Find the columns that split the cells of a lazy frame: asked for in its own engine, looked at in memory."""
    schema = data.collect_schema()
    candidates = open_columns(schema.names(), schema.__getitem__, keys, kind)
    if not candidates:
        return []
    conditions = [c for c in candidates if c in CONDITIONS and kind == "ratings"]
    numbered = ["replicate"] if "replicate" in schema.names() and "replicate" not in keys else []
    differing = _lazily_differing(data, candidates, list(keys))
    others = [c for c in differing if c not in conditions]
    if others and numbered:
        differing = [*(c for c in differing if c in conditions), *_lazily_differing(data, others, [*keys, *numbered])]
    if strict:
        group = [*keys, *numbered]
        differing = [c for c in differing if c in CONDITIONS or not _lazily_belongs_to_rows(data, c, group)]
    if not differing:
        return []
    wanted = list(dict.fromkeys([*keys, *numbered, *(c for c in candidates if c in differing)]))
    table = data.select(*wanted).collect(backend="pandas").to_native()
    codes = codes_of(table, list(keys))
    return eager_splits(nw.from_native(table, eager_only=True), codes.code, codes.size, keys, kind, strict=strict)


def _lazily_belongs_to_rows(data: LazyFrame, column: str, keys: list[str]) -> bool:
    """:func:`_belongs_to_rows` of a column of a lazy frame, counted in its own engine, in the cells that it splits."""
    numeric = data.collect_schema()[column].is_numeric()
    text = nw.col(column).cast(nw.String).fill_null("\x1f")
    cell = [nw.col(c).cast(nw.String).fill_null("\x1f").alias(f"_{i}") for i, c in enumerate(keys)]  # null is a level
    names = [f"_{i}" for i in range(len(keys))]
    there = data.select(*cell, _digest(text).alias("_value"), text.str.len_chars().alias("_length"))
    ends = there.group_by(*names).agg(nw.col("_value").min().alias("_low"), nw.col("_value").max().alias("_high"))
    there = there.join(ends.filter(nw.col("_low") != nw.col("_high")).select(*names), on=names, how="semi")
    values = there.group_by("_value").agg(nw.col("_length").max())
    row = values.select(nw.len().alias("n"), nw.col("_length").mean()).collect(backend="pandas").to_native().iloc[0]
    places = there.select(*names, "_value").unique().select(nw.len().alias("n")).collect(backend="pandas")
    if places["n"].item() < 2 * row["n"]:
        return True
    return not numeric and row["n"] > _MANY and row["_length"] > LONG


def _digest(text: nw.Expr) -> nw.Expr:
    """A short text that tells long ones apart: how long each is, and how it begins and ends."""
    length = text.str.len_chars()
    short = nw.concat_str(text.str.head(LONG), length.cast(nw.String), text.str.tail(LONG), separator="\x1f")
    return nw.when(length > 2 * LONG).then(short).otherwise(text)


def _lazily_differing(data: LazyFrame, columns: list[str], keys: list[str]) -> list[str]:
    """Columns of a lazy frame that differ within a group."""
    schema = data.collect_schema()
    plain = [c for c in columns if schema[c] == nw.String or schema[c].is_numeric()]
    text = {c: nw.col(c) if c in plain else nw.col(c).cast(nw.String) for c in columns}
    text |= {c: _digest(nw.col(c)) for c in columns if schema[c] == nw.String}
    each_group = data.group_by(*keys).agg(
        nw.len().alias("_rows"),
        *(t.min().alias(f"_low_{i}") for i, t in enumerate(text.values())),
        *(t.max().alias(f"_high_{i}") for i, t in enumerate(text.values())),
        *(one_if(t.is_null()).sum().alias(f"_null_{i}") for i, t in enumerate(text.values())),
    )
    split = [
        (nw.col(f"_low_{i}") != nw.col(f"_high_{i}")).fill_null(False)
        | ((nw.col(f"_null_{i}") > 0) & (nw.col(f"_null_{i}") < nw.col("_rows")))
        for i in range(len(columns))
    ]
    differs = each_group.filter(nw.col("_rows") > 1).select(one_if(s).max().alias(f"_{i}") for i, s in enumerate(split))
    answer = differs.collect(backend="pandas").to_native().fillna(0)
    return [c for i, c in enumerate(columns) if len(answer) and answer[f"_{i}"].iloc[0] == 1]


def splits_of(frame: Calls, keys: Iterable[str], kind: Kind = "ratings", *, strict: bool = True) -> list[Split]:
    """Find the columns that split the cells of any frame.

    `keys`: columns that are named; those that the frame lacks are passed over. ``replicate`` always is a key. `strict`:
    as in :func:`eager_splits`.

    >>> scores = pd.DataFrame({"judge": [*"aaabbb"], "system": "s", "item": "1", "prompt": [*"xyzxyz"],
    ...                        "wording": ["short", "long", "longer"] * 2, "score": range(6)})
    >>> [(s.column, s.alike, s.rows) for s in splits_of(scores, ["judge", "system", "item"])]
    [('prompt', ('wording',), 6)]
    """
    study = Study.of(frame)
    present_keys = [c for c in dict.fromkeys(keys) if c in study.names and (c != "replicate" or kind != "ratings")]

    def look() -> list[Split]:
        if study.lazy:
            return lazy_splits(study.data, present_keys, kind, strict=strict)
        codes = study.columns.codes(present_keys)
        if codes.size == len(study.columns):  # each row has a cell of its own
            return []
        return eager_splits(study.data, codes.code, codes.size, present_keys, kind, strict=strict)

    return study.once(("splits", kind, strict, *present_keys), look)


def refuse_splits(splits: Sequence[Split], keys: Iterable[str], kind: Kind = "ratings") -> None:
    """Raise where a column splits cells."""
    if splits:
        raise DesignError(split_message(splits, keys, kind))


def split_message(splits: Sequence[Split], keys: Iterable[str], kind: Kind = "ratings") -> str:
    """Message: which columns split the cells, and what to do."""
    listed = list(dict.fromkeys(keys))
    listed = [*(k for k in KEYS if k in listed), *(k for k in listed if k not in KEYS)]
    one = len(splits) == 1
    columns = " and ".join(
        repr(s.column)
        + (
            f" (with {', '.join(map(repr, s.alike))}, which {'go' if s.alike[1:] else 'goes'} with it)"
            if s.alike
            else ""
        )
        for s in splits
    )
    values = "; ".join(_few(s.values) for s in splits)
    what, row = ("ratings", "rows") if kind == "ratings" else ("pairs", "calls")
    it = "it" if one else "them"
    remedy = f"Name {it} in by= (a result for each value)"
    if kind == "ratings":
        remedy += f" or in average_over= (rows that differ in {it} count as runs)"
    return (
        f"{columns} {'splits' if one else 'split'} {what}: {max(s.rows for s in splits):,} {row} are equal in "
        f"{', '.join(listed)} but differ in {it} ({values}). {remedy}, or map it to 'replicate' if it numbers repeats."
    )


def differing(splits: Sequence[Split]) -> str:
    """Sentence that names the columns in which calls on one thing differ; empty without one."""
    return f" They differ in {' and '.join(repr(s.column) for s in splits)}." if splits else ""


def _few(values: Sequence[str], most: int = 5) -> str:
    listed = ", ".join(v if len(v) <= 30 else v[:27] + "..." for v in values[:most])
    return f"{listed}, ..." if len(values) > most else listed


def reference_as_runs(reference: Any, average_over: By) -> Any:
    """:func:`as_runs` of a reference, for the columns that it has; anything but a frame is returned as it is."""
    study = Study.of_any(reference)
    if study is None:
        return reference
    return as_runs(reference, [c for c in names(average_over) if c in study.names])


def as_runs(frame: Any, average_over: By, by: By = ()) -> Any:
    """Make rows that differ in the columns named the runs of one rating; the frame unchanged if none is named.

    `average_over`: columns of ratings, or preferences, in any engine; they become part of ``replicate``. `by`: columns
    with another role, which cannot be averaged over.

    >>> scores = pd.DataFrame({"judge": "a", "scale": ["0-5", "0-10"], "replicate": 0, "score": [4, 8]})
    >>> as_runs(scores, "scale")
      judge  replicate  score
    0     a          0      4
    1     a          1      8
    """
    wanted = list(dict.fromkeys(names(average_over)))
    if not set(wanted) - {"replicate"} and not set(wanted) & set(names(by)):  # repeats are put together in any case
        return frame
    data = Study.of(frame).data
    present = data.collect_schema().names()
    grouping(wanted, present, what="frame", argument="average_over")
    for name in wanted:
        if name in names(by):
            raise DesignError(f"{name!r} is in average_over= and in another argument. A column can have one role only.")
        if name != "replicate" and (name in KEYS or name in ("score", COUNTS, "first", "second", "choice")):
            raise DesignError(
                f"average_over={name!r} cannot be. It names what runs are of. Name a condition of the calls."
            )
    if not {"score", "choice"} & set(present):
        raise DesignError(
            "average_over= averages raw scores, and this table holds means or other results. Average it, or name "
            "the column in by=."
        )
    wanted = [name for name in wanted if name != "replicate"]
    columns = [*wanted, *(c for c in ("replicate",) if c in present)]
    if isinstance(data, nw.LazyFrame):
        text = [nw.col(c).cast(nw.String).fill_null("") for c in columns]
        return data.with_columns(nw.concat_str(text, separator="\x1f").alias("replicate")).drop(wanted).to_native()
    code = codes_of(data.select(*columns).to_pandas(), columns).code
    run = nw.new_series("replicate", code.astype(np.int64), backend=data.implementation)
    if "replicate" in present:
        return data.with_columns(run).drop(wanted).to_native()
    place = present.index(wanted[0])
    others = [c for c in present if c not in wanted]
    before = [c for c in others if present.index(c) < place]
    return data.with_columns(run).select(*before, "replicate", *(c for c in others if c not in before)).to_native()
