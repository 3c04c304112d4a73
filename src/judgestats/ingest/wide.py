"""Tables made long: a column per judge or criterion, and cells that hold lists; detection and conversion."""

from __future__ import annotations

import csv
import fnmatch
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats.errors import SchemaError, data_rows, suggestion
from judgestats.ingest import guesses
from judgestats.ingest.answers import (
    Pair,
    all_numbers,
    find_pair,
    may_be_classes,
    may_be_judge,
    numbers_rows,
    texts,
    wide_judges,
)
from judgestats.ingest.hints import first_cells, value_name
from judgestats.ingest.nested_json import flatten
from judgestats.ingest.options import joined
from judgestats.ingest.paths import NamePattern
from judgestats.schema.coding import hashed
from judgestats.schema.opening import cell_text, few, opened

_LEVELS = re.compile(r"((?:\[\s*[^\W\d]\w*\s*\])*)\s*$")
#: Length from which the columns of a proposal are written as a pattern.
_LONG = 80
#: Two columns are on different scales if the top of one is so many times that of the other.
_APART = 5
#: The same for columns that nobody named: 5 and 7, 7 and 10; a scale of fewer than five points is told by no top.
_PROPOSED_APART, _FIVE = 1.4, 5


@dataclass(frozen=True)
class Wide:
    """Columns that hold one answer each, and the meaning of their names."""

    names: tuple[str, ...]  # of a column's name or of its parts, separated by "_"; the first may hold "_"
    columns: tuple[str, ...]
    levels: tuple[str, ...] = ()  # meaning of the place in a list, from the outer to the inner list
    pattern: NamePattern | None = None  # tells the parts of the names in place of "_"

    @property
    def head(self) -> str:
        """Meaning of names and lists, without the columns."""
        start = self.pattern.text if self.pattern is not None else "_".join(self.names)
        return start + "".join(f"[{level}]" for level in self.levels)

    def __str__(self) -> str:
        return self._with(self.columns)

    def _with(self, columns: Sequence[str]) -> str:
        return f"{self.head}={joined(columns)}"

    def short(self, present: Sequence[str]) -> str:
        """The same in few words: many columns as a pattern, or as all columns but some."""
        whole = str(self)
        if self.pattern is not None:
            forms = [self.head]
        elif len(whole) <= _LONG:
            return whole
        else:
            stem = os.path.commonprefix([*self.columns])  # noqa: RUF071  (names, letter by letter)
            rest = [f"-{c}" for c in present if c not in self.columns]
            forms = [self._with([f"{stem}*"]), self._with(["*", *rest])]
        able = [f for f in forms if len(f) < len(whole) and self._same(f, present)]
        return min(able, key=len, default=whole)

    def _same(self, form: str, present: Sequence[str]) -> bool:
        try:
            return set(parse_wide(form, present).columns) == set(self.columns)
        except SchemaError:
            return False

    def parts(self, column: str) -> list[str]:
        """Parts of the name of a column, as many as there are names."""
        if self.pattern is None:
            return column.rsplit("_", len(self.names) - 1)
        values = self.pattern.values(column, f"column {column!r}") or {}
        return [values[n] for n in self.names]


def parse_wide(text: str, present: Sequence[str]) -> Wide:
    """Read ``judge=gpt,claude*``, ``judge_criterion=gpt_5_style,...`` or ``{judge}_scores[replicate]``."""
    head, sign, listed = _divided(text)
    wide_parts = _LEVELS.search(head)
    levels = tuple(re.findall(r"\w+", wide_parts[1])) if wide_parts else ()
    head = head[: wide_parts.start()].strip() if wide_parts else head.strip()
    pattern = NamePattern(head, "wide") if "{" in head else None
    names = tuple(pattern.names) if pattern is not None else tuple(part.strip() for part in head.split("_"))
    wanted = [c.strip() for c in next(csv.reader([listed], skipinitialspace=True), []) if c.strip()]
    if not all(names) or not (wanted or pattern is not None) or (sign and not wanted):
        raise SchemaError(
            f"wide={text!r} should be NAME=COLUMN,..., such as judge=gpt,claude or judge=*,-id (all but id), or a "
            "pattern such as {judge}_{criterion}."
        )
    columns = _columns(wanted, present) if wanted else [c for c in present if pattern and pattern.values(c) is not None]
    if not columns:
        raise SchemaError(f"wide={text!r} matches no column. Columns: {few(present, 30)}.")
    for column in columns:
        if pattern is not None and pattern.values(column) is None:
            raise SchemaError(f"wide column {column!r} does not match {pattern.text!r}. Correct it, or leave it out.")
        if pattern is None and column.count("_") < len(names) - 1:
            raise SchemaError(f"wide column {column!r} has fewer parts than {head!r}. Rename it, or leave it out.")
    return Wide(names, tuple(columns), levels, pattern)


def _divided(text: str) -> tuple[str, str, str]:
    """The text before and after the first ``=`` that is not within braces."""
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if sign == "=" and depth == 0:
            return text[:at], "=", text[at + 1 :]
    return text, "", ""


def _columns(wanted: Sequence[str], present: Sequence[str]) -> list[str]:
    """Columns that a list of names, patterns and exceptions takes."""
    matches: dict[str, None] = {}
    for name in wanted:
        minus = name.startswith("-") and name not in present
        column = name[1:] if minus else name
        matched = [column] if column in present else [c for c in present if fnmatch.fnmatchcase(c, column)]
        if not matched:
            raise SchemaError(
                f"wide column {column!r} is not in the table. Columns: {', '.join(present)}."
                f"{suggestion(column, present)}"
            )
        if minus:
            matches = {c: None for c in matches if c not in matched}
        else:
            matches.update(dict.fromkeys(matched))
    return [*matches]


@dataclass
class Long:
    """A table made long."""

    table: pd.DataFrame
    source: NDArray[np.intp]  # number of the row of the original table that each is of
    empty: list[tuple[int, str]] = field(default_factory=list)  # its rows, and the column, that gave none
    reason: str = "an empty list"  # why


def lengthened(
    table: IntoFrame,
    wide: Wide | str,
    *,
    one_scale: bool = False,
    proposed: bool = False,
    absent: Mapping[str, NDArray[np.bool_]] | None = None,
) -> Long:
    """Make a wide table long: one row for each of its wide columns, and for each place in the lists of their cells."""
    frame: pd.DataFrame = opened(table).lazy().collect(backend="pandas").to_native()
    wide = parse_wide(wide, list(map(str, frame.columns))) if isinstance(wide, str) else wide
    rest = [c for c in frame.columns if c not in wide.columns and not (wide.levels and _holds_lists(frame[c]))]
    long = frame.melt(id_vars=rest, value_vars=list(wide.columns), var_name="_name", value_name="_value")
    source = np.tile(np.arange(len(frame)), len(wide.columns))
    if absent:
        keep = ~np.concatenate([absent.get(c, np.zeros(len(frame), dtype=bool)) for c in wide.columns])
        long, source = long[keep].reset_index(drop=True), source[keep]
    empty: list[tuple[int, str]] = []
    places: dict[str, list[int]] = {}
    if wide.levels:
        at, places, values = _opened_lists(long["_value"], wide, long["_name"], empty, source)
        long, source = long.iloc[at].reset_index(drop=True).assign(_value=values), source[at]
    else:
        _refuse_lists(long, wide)
    paired = find_pair(frame) is not None
    value = value_name([v for _, v in long.groupby("_name", sort=False)["_value"]], paired=paired)
    taken = [n for n in (*wide.names, *wide.levels, value) if n in rest]
    if taken:
        raise SchemaError(f"wide= makes a column {taken[0]!r}, and the table has one. Rename yours first.")
    if not paired:
        _refuse_several_scales(long, wide, one_scale=one_scale, proposed=proposed)
    parts_of = {c: wide.parts(c) for c in wide.columns}
    names = long["_name"].astype(str)
    parts = {n: names.map({c: p[i] for c, p in parts_of.items()}) for i, n in enumerate(wide.names)}
    return Long(long[rest].assign(**parts, **places, **{value: long["_value"]}), source, empty)


def _opened_lists(
    cells: pd.Series, wide: Wide, names: pd.Series, empty: list[tuple[int, str]], source: NDArray[np.intp]
) -> tuple[NDArray[np.intp], dict[str, list[int]], list[object]]:
    """The values of lists in cells: the cell of each, its places, and itself."""
    at: list[int] = []
    values: list[object] = []
    places: list[tuple[int, ...]] = []
    for number, cell in enumerate(cells):
        whole = listed(cell)
        where = f"{data_rows([source[number]])}, column {names.iloc[number]!r}"
        if whole is None and cell_text(cell) is not None:
            raise SchemaError(
                f"{where}: {str(cell)[:40]!r} is no list. Leave {''.join(f'[{n}]' for n in wide.levels)} out of wide=."
            )
        if not whole:
            empty.append((int(source[number]), str(names.iloc[number])))
        for place, value in _leaves(whole or [], len(wide.levels), where):
            at.append(number)
            places.append(place)
            values.append(value)
    if not at:
        raise SchemaError("The lists of the wide columns are all empty.")
    columns = zip(*places, strict=True)
    return np.array(at), dict(zip(wide.levels, map(list, columns), strict=True)), values


def listed(cell: object) -> list[object] | None:
    """A list that a cell holds, as such or as text; None for anything else."""
    if not isinstance(cell, str):
        return list(cell) if isinstance(cell, list | tuple | np.ndarray) else None
    if not cell.lstrip().startswith("["):
        return None
    for text in (re.sub(r"\bNaN\b", "null", cell), re.sub(r"\b(nan|NaN|None)\b", "null", cell)):
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            continue
        return values if isinstance(values, list) else None
    return None


def _leaves(values: list[object], depth: int, where: str) -> list[tuple[tuple[int, ...], object]]:
    if depth == 1:
        if any(isinstance(v, list) for v in values):
            raise SchemaError(
                f"{where} holds lists within lists, and wide= names fewer. Name what the place in each is, such as "
                "[system][replicate]."
            )
        return [((i,), v) for i, v in enumerate(values)]
    leaves = []
    for i, inner in enumerate(values):
        if not isinstance(inner, list):
            raise SchemaError(f"{where} holds fewer lists within lists than wide= names. Leave one of the names out.")
        leaves += [((i, *place), value) for place, value in _leaves(inner, depth - 1, where)]
    return leaves


def _holds_lists(values: pd.Series) -> bool:
    cells = values.dropna()
    return len(cells) > 0 and listed(cells.iloc[0]) is not None


def _refuse_lists(long: pd.DataFrame, wide: Wide) -> None:
    cells = long["_value"].dropna()
    if len(cells) and listed(cells.iloc[0]) is not None:
        raise SchemaError(
            f"wide column {long['_name'].loc[cells.index[0]]!r} holds lists ({str(cells.iloc[0])[:40]!r}). Name what "
            f"the place in the list is, in square brackets: wide='{wide.head}[item]=...', [replicate], "
            "[system][replicate]."
        )


def _refuse_several_scales(long: pd.DataFrame, wide: Wide, *, one_scale: bool, proposed: bool) -> None:
    """Raise if columns that belong together hold numbers and words, or numbers of scales far apart."""
    apart = [i for i, n in enumerate(wide.names) if n in ("scale", "criterion")]
    groups: dict[tuple[str, ...], dict[str, float | None]] = {}
    answers = long["_value"].dropna().astype(str)
    code, labels = hashed(answers)
    size = np.abs(np.asarray(pd.to_numeric(labels, errors="coerce"), dtype=float))[code]
    numbers = pd.Series(size, answers.index).groupby(long["_name"], sort=False)
    shares, tops_of = numbers.count() / numbers.size(), numbers.quantile(0.9 if proposed else 0.99)
    for name, share, most in zip(shares.index, shares, tops_of, strict=True):
        parts = wide.parts(str(name))
        groups.setdefault(tuple(parts[i] for i in apart), {})[str(name)] = float(most) if share > 0.5 else None
    for tops in groups.values():
        words = [n for n, top in tops.items() if top is None]
        maxima = {n: top for n, top in tops.items() if top}
        if not maxima:
            continue
        low, high = min(maxima, key=maxima.__getitem__), max(maxima, key=maxima.__getitem__)
        if words:
            raise SchemaError(
                f"The wide columns are not of one kind: {high!r} holds numbers, {words[0]!r} holds words. Read them "
                "separately."
            )
        ratio = _PROPOSED_APART if proposed and maxima[high] >= _FIVE and "judge" in wide.names else _APART
        if maxima[high] >= ratio * maxima[low] and not one_scale:
            raise SchemaError(
                f"The wide columns are not on one scale: {high!r} goes up to {maxima[high]:g}, {low!r} to "
                f"{maxima[low]:g}. Name the scale if the columns do (wide='judge_scale=...'), read them separately, or "
                "pass scale= if they are on one.",
                advice=(("scale", None),),
            )


def exploded(table: pd.DataFrame, name: str) -> Long:
    """Give each element of the lists in a column a row of its own."""
    if name not in table.columns:
        present = list(map(str, table.columns))
        raise SchemaError(
            f"explode={name!r} is not a column of the table. Columns: {few(present, 30)}.{suggestion(name, present)}"
        )
    source: list[int] = []
    records: list[dict[str, object]] = []
    empty: list[tuple[int, str]] = []
    for number, cell in enumerate(table[name]):
        elements = listed(cell)
        if elements is None and cell_text(cell) is not None:
            raise SchemaError(f"explode={name!r}: {data_rows([number])}, holds no list, but {str(cell)[:40]!r}.")
        if not elements:
            empty.append((number, name))
        for index, element in enumerate(elements or ()):
            source.append(number)
            one = flatten(element, data_rows([number])) if isinstance(element, dict) else None
            records.append({name: element, f"{name}.index": index} if one is None else one)
    if not records:
        raise SchemaError(f"explode={name!r}: all lists are empty.")
    columns = dict.fromkeys(n for r in records for n in r)
    others = table.drop(columns=name)
    long = others.select_dtypes("str").columns  # Arrow's text would be copied for each row
    rest = others.astype(dict.fromkeys(long, object)).iloc[source].reset_index(drop=True)
    new_names = {n: f"{name}.{n}" if n in rest.columns else n for n in columns}
    if len({*rest.columns, *new_names.values()}) < rest.shape[1] + len(new_names):
        raise SchemaError(f"explode={name!r} makes a column that the table has. Rename yours first.")
    cells = {new_names[n]: [cell_text(r.get(n)) for r in records] for n in columns}
    return Long(pd.concat([rest, pd.DataFrame(cells)], axis=1), np.array(source), empty)  # many columns, joined once


def find_wide(
    frame: pd.DataFrame, pair: Pair | None, names: Mapping[str, str], classes: list[str] | None = None
) -> Wide | None:
    """Guess which columns of a table hold one judge, or one criterion, each: of `classes`, or of common answers."""
    if len(frame) < 2:  # one row of many numbers is a summary
        return None
    taken = {pair.first, pair.second} if pair is not None else set()
    columns = wide_judges(frame, taken) if classes is None else classes
    numbers = _number_columns(frame, taken) if pair is None else []
    if set(columns) <= set(numbers) and (_parts(numbers) or (len(columns) < 2 and _alike(frame, numbers))):
        columns = numbers
    ranges = _ranges(frame, taken) if pair is None else None
    if ranges is not None or len(columns) < 2:
        return ranges
    judged = any(n in names and names[n] not in columns for n in guesses.JUDGE)
    parts = () if judged or pair is not None else _parts(columns)
    inside = {c.split(".")[0].lower() for c in columns} if all("." in c for c in columns) else set()
    if not (judged or parts) and inside and not inside <= {*guesses.JUDGES, *guesses.CRITERIA}:
        return None  # how many fields an object has does not say whether they are judges, items or criteria
    criteria = (inside and inside <= {*guesses.CRITERIA}) or _criteria(columns)
    meaning = parts or (("criterion",) if judged or criteria else ("judge",))
    value = value_name([frame[c] for c in columns], paired=pair is not None)
    rest = {str(c) for c in frame.columns if c not in columns}
    return None if {*meaning, value} & rest else Wide(meaning, tuple(columns))


def _criteria(columns: Sequence[str]) -> bool:
    """Whether most names are those of criteria, numbered as questions or not."""
    bare = [re.sub(r"^q\d+_", "", guesses.plain(c)) for c in columns]
    return (
        sum(b in guesses.CRITERIA_WORDS or b != guesses.plain(c) for b, c in zip(bare, columns, strict=True))
        > len(bare) / 2
    )


def _ranges(frame: pd.DataFrame, taken: set[str]) -> Wide | None:
    """Columns of numbers whose names end in the range of their scale, as ``gpt_0_5`` does: all, or one with two."""
    columns = _number_columns(frame, taken)
    ends = {c: m for c in columns if (m := guesses.RANGE.fullmatch(c)) is not None}
    fit = [c for c, m in ends.items() if _within(frame[c], float(m[3]), float(m[4]))]
    stems = [ends[c][1] for c in fit]
    if len(fit) < 2 or (len(fit) < len(columns) and len({*stems}) == len(stems)):
        return None
    tail = os.path.commonprefix([stem[::-1] for stem in stems])[::-1] if len({*stems}) > 1 else ""  # noqa: RUF071
    tail = tail[tail.index("_") :] if "_" in tail else ""
    head = [stem.removesuffix(tail) for stem in stems]
    parts = "{judge}_{criterion:[^_]+}" if _parts([*dict.fromkeys(head)]) == ("judge", "criterion") else "{judge}"
    signs = {c[len(stem)] for c, stem in zip(fit, stems, strict=True)}
    levels = "|".join(dict.fromkeys(ends[c][2] for c in fit))
    if len(signs) > 1:
        return None
    pattern = NamePattern(f"{parts}{tail}{signs.pop()}{{scale:{levels}}}", "wide")
    return Wide(tuple(pattern.names), tuple(fit), pattern=pattern)


def _within(values: pd.Series, low: float, high: float) -> bool:
    numbers = pd.to_numeric(values.dropna().astype(str))
    return bool(numbers.between(low, high).all())


def _number_columns(frame: pd.DataFrame, taken: set[str]) -> list[str]:
    """Columns of numbers, without those whose names say that they hold something else."""
    able = [c for c in map(str, frame.columns) if may_be_judge(c, taken) and all_numbers(frame[c])]
    return [c for c in able if not numbers_rows(frame[c])]


def _alike(frame: pd.DataFrame, columns: Sequence[str]) -> bool:
    """Whether columns of numbers could be on one scale of up to a hundred points."""
    numbers = [pd.to_numeric(pd.Series([*texts(frame[c])])) for c in columns]
    tops = [float(x.max()) for x in numbers]
    return (
        len(columns) > 1 and all(x.nunique() <= 101 and x.min() >= 0 for x in numbers) and max(tops) <= 1.25 * min(tops)
    )


def _parts(columns: Sequence[str]) -> tuple[str, ...]:
    """Meaning of the parts of crossed names: judge, (scale,) criterion; empty if they are not crossed."""
    for n, names in ((2, ("judge", "scale", "criterion")), (1, ("judge", "criterion"))):
        split = [c.rsplit("_", n) for c in columns]
        if any(len(s) != n + 1 for s in split):
            continue
        levels = [{s[i] for s in split} for i in range(n + 1)]
        size = 1
        for level in levels:
            size *= len(level)
        whole = size == len(columns) and len(levels[0]) > 1 and len(levels[-1]) > 1
        if whole and (n == 1 or all(any(d.isdigit() for d in s) for s in levels[1])):
            return names
    return ()


def find_lists(frame: pd.DataFrame, names: Mapping[str, str]) -> Wide | None:
    """Guess the meaning of columns whose cells are lists of numbers, all of one shape."""
    first = {c: listed(cell) for c, (cell, *_) in first_cells(frame).items()}
    columns = [c for c, cell in first.items() if cell and _depth(cell)]
    depths = {_depth(first[c] or []) for c in columns}
    if not columns or len(depths) > 1 or len(frame) < 2:  # lists in one row are a summary
        return None
    (depth,) = depths
    item, system = (any(n in names for n in wanted) for wanted in (guesses.ITEM, guesses.SYSTEM))
    able = [*(["item"] * (not item)), *(["system"] * (not system and depth > 1)), "replicate"]
    if depth > len(able):
        return None
    levels = tuple(able[:depth])
    judged = any(n in names for n in guesses.JUDGE)
    names_of_parts = ("criterion",) if judged else ("judge",)
    endings = os.path.commonprefix([c[::-1] for c in columns])[::-1] if len(columns) > 1 else ""  # noqa: RUF071
    tail = endings[endings.index("_") :] if "_" in endings else ""
    pattern = NamePattern(f"{{{names_of_parts[0]}}}{tail}", "wide") if tail else None
    return Wide(names_of_parts, tuple(columns), levels, pattern)


def _depth(cell: object) -> int:
    """How deep lists of numbers are nested; 0 for anything else."""
    if not isinstance(cell, list):
        return 0
    inner = [v for v in cell if v is not None]
    if inner and all(isinstance(v, int | float) and not isinstance(v, bool) for v in inner):
        return 1
    deep = {_depth(v) for v in inner}
    return 1 + deep.pop() if len(deep) == 1 and 0 not in deep else 0


def find_objects(frame: pd.DataFrame) -> list[str]:
    """The columns whose cells are lists of objects."""
    first = {c: listed(cell) for c, (cell, *_) in first_cells(frame).items()}
    return [c for c, cell in first.items() if cell and all(isinstance(v, dict) for v in cell)]


def find_labels(frame: pd.DataFrame) -> tuple[str, bool] | None:
    """The one column whose cells are lists of words, and whether a list holds a word twice: repeats, no set."""
    first = {c: listed(cell) for c, (cell, *_) in first_cells(frame).items()}
    able = [c for c, cell in first.items() if cell and all(isinstance(v, str) for v in cell)]
    lists = [*map(listed, frame[able[0]].dropna())] if len(able) == 1 else []
    words = {v for cell in lists for v in cell or () if isinstance(v, str)}
    if not lists or not may_be_classes(words, sum(len(cell or ()) for cell in lists)):
        return None
    return able[0], any(cell is not None and len({*map(str, cell)}) < len(cell) for cell in lists)
