"""Wide tables, with one column per judge or criterion: detection and conversion to long."""

from __future__ import annotations

import csv
import fnmatch
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from judgestats.errors import SchemaError, suggestion
from judgestats.ingest import guesses
from judgestats.ingest.answers import Pair, find_pair, may_be_judge, wide_judges
from judgestats.ingest.hints import value_name
from judgestats.schema.opening import opened


@dataclass(frozen=True)
class Wide:
    """Columns that hold one answer each, and the meaning of their names.

    `names`: meaning of a column's name (``judge``), or of its parts, from left to right, separated by "_" (``judge``,
    ``scale``, ``criterion``). The first part may itself hold "_".
    `columns`: columns of the table.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]

    def __str__(self) -> str:
        out = io.StringIO()
        csv.writer(out, lineterminator="").writerow(self.columns)
        return f"{'_'.join(self.names)}={out.getvalue()}"


def parse_wide(text: str, present: Sequence[str]) -> Wide:
    """Read ``judge=gpt,claude*`` or ``judge_scale_criterion=gpt_5_style,...``.

    `text`: meaning of the names of the columns, ``=``, and the columns, separated by commas; ``*`` stands for any
    letters. `present`: columns of the table. Raises SchemaError if the form is another, a column is not there, or a
    name has too few parts.

    >>> parse_wide("judge_criterion=gpt_*", ["id", "gpt_style", "gpt_truth"])
    Wide(names=('judge', 'criterion'), columns=('gpt_style', 'gpt_truth'))
    """
    parts_, sign, listed = text.partition("=")
    names = tuple(part.strip() for part in parts_.split("_"))
    wanted = [c.strip() for c in next(csv.reader([listed], skipinitialspace=True), []) if c.strip()]
    if not sign or not all(names) or not wanted:
        raise SchemaError(
            f"wide={text!r} should be NAME=COLUMN,..., such as judge=gpt,claude or judge_criterion=gpt_style,gpt_truth."
        )
    found: dict[str, None] = {}
    for column in wanted:
        matched = [column] if column in present else [c for c in present if fnmatch.fnmatchcase(c, column)]
        if not matched:
            raise SchemaError(
                f"wide column {column!r} is not in the table. Columns: {', '.join(present)}."
                f"{suggestion(column, present)}"
            )
        found.update(dict.fromkeys(matched))
    short = [c for c in found if c.count("_") < len(names) - 1]
    if short:
        parts = "_".join(names)
        raise SchemaError(f"wide column {short[0]!r} has fewer parts than {parts!r}. Rename it, or leave it out.")
    return Wide(names, tuple(found))


def melted(table: Any, wide: Wide | str) -> pd.DataFrame:
    """Make a wide table long: one row for each of its wide columns.

    `table`: any; it is read into memory. `wide`: as :func:`parse_wide` reads it. Returns the other columns, those that
    `wide` names, and the answers in ``verdict``, ``score`` or ``correct``, depending on their values. An empty cell
    stays as a missing answer. Raises SchemaError if the table already has a column of that name.

    >>> melted(pd.DataFrame({"id": [1], "gpt_style": [4], "gpt_truth": [5]}), "judge_criterion=gpt_*")
       id judge criterion  score
    0   1   gpt     style      4
    1   1   gpt     truth      5
    """
    frame: pd.DataFrame = opened(table).lazy().collect(backend="pandas").to_native()
    wide = parse_wide(wide, list(map(str, frame.columns))) if isinstance(wide, str) else wide
    value = value_name(frame, wide.columns, paired=find_pair(frame) is not None)
    rest = [c for c in frame.columns if c not in wide.columns]
    taken = [n for n in (*wide.names, value) if n in rest]
    if taken:
        raise SchemaError(f"wide= makes a column {taken[0]!r}, and the table has one. Rename yours first.")
    long = frame.melt(id_vars=rest, value_vars=list(wide.columns), var_name="_name", value_name=value)
    parts = [name.rsplit("_", len(wide.names) - 1) for name in long["_name"].astype(str)]
    names = {n: [p[i] for p in parts] for i, n in enumerate(wide.names)}
    return long[rest].assign(**names, **{value: long[value]})


def find_wide(frame: pd.DataFrame, pair: Pair | None, names: Mapping[str, str]) -> Wide | None:
    """Guess which columns of a table hold one judge, or one criterion, each.

    `frame`: the table. `pair`: its candidate columns. `names`: plain name -> column.
    """
    taken = {pair.first, pair.second} if pair is not None else set()
    columns = wide_judges(frame, taken)
    numbers = _numbers(frame, taken) if pair is None else []
    if set(columns) <= set(numbers) and (_parts(numbers) or (len(columns) < 2 and _alike(frame, numbers))):
        columns = numbers
    if len(columns) < 2:
        return None
    judged = any(n in names and names[n] not in columns for n in guesses.JUDGE)
    parts = () if judged or pair is not None else _parts(columns)
    found = parts or (("criterion",) if judged else ("judge",))
    value = value_name(frame, columns, paired=pair is not None)
    rest = {str(c) for c in frame.columns if c not in columns}
    return None if {*found, value} & rest else Wide(found, tuple(columns))


def _numbers(frame: pd.DataFrame, taken: set[str]) -> list[str]:
    """Columns of numbers whose names do not say that they are something else."""
    columns = [c for c in map(str, frame.columns) if may_be_judge(c, taken) and frame[c].notna().any()]
    return [c for c in columns if pd.to_numeric(frame[c].dropna().astype(str), errors="coerce").notna().all()]


def _alike(frame: pd.DataFrame, columns: Sequence[str]) -> bool:
    """Whether columns of numbers could be on one scale of up to a hundred points."""
    numbers = [pd.to_numeric(frame[c].dropna().astype(str)) for c in columns]
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
