"""Ratings -> subjects x raters, for all groups at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.schema.cells import ABOUT, CellTable, cell_table
from judgestats.schema.coding import compact, joint
from judgestats.schema.columns import By, grouping, names

Floats = NDArray[np.float64]
AVERAGED = "replicates averaged"
#: What ``judge`` is called while another column is the rater.
_JUDGE = "judge of the rating"


@dataclass(frozen=True)
class Matrices:
    """Ratings of each group as a table, one above the other.

    Attributes
    ----------
    keys : dict of str to Index
        Label of each group in each ``by`` column; groups are sorted by them.
    scores : (S, J) float array
        A row per subject of a group, a column per rater; NaN where there is no score.
    start : (G,) int array
        First row of each group.
    raters : Index
        Labels of the columns.
    silent : (G, J) bool array
        Raters that have rows in a group, and no score.
    doubts : list of list of str
        What each group has to be told of: what was averaged.
    cluster : (S,) int array or None
        Code of what each subject lies in.
    """

    keys: dict[str, Any]
    scores: Floats
    start: NDArray[np.int64]
    raters: Any
    silent: NDArray[np.bool_]
    doubts: list[list[str]]
    cluster: NDArray[np.int64] | None = None

    @property
    def groups(self) -> int:
        """G, how many groups there are."""
        return int(self.start.size)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Rows of each group."""
        return np.diff(np.append(self.start, len(self.scores)))


def matrices(ratings: Any, subjects: By, raters: str, by: By, cluster: str = "") -> Matrices:
    """Lay ratings out as subjects x raters, one table per group.

    Parameters
    ----------
    ratings : frame
        Ratings in any engine, raw or already averaged.
    subjects : str or sequence of str
        Columns that tell the subjects apart.
    raters : str
        Column of the raters.
    by : str or sequence of str
        Columns that split the ratings into groups.
    cluster : str
        Column that subjects lie in; empty for none.

    Returns
    -------
    Matrices
        Runs are averaged first, then whatever column is none of these; ``doubts`` tells of both.

    Raises
    ------
    SchemaError
        If a column is missing.
    DesignError
        If one column has two parts to play.
    """
    data = nw.from_native(ratings)
    present = list(data.collect_schema().names())
    by = grouping(by, present)
    subjects = _parts(present, subjects, raters, by)
    data, called = _as_judge(data, present, raters)
    wanted = [called.get(c, c) for c in (*by, *subjects, *([cluster] if cluster else []))]
    apart = list(
        dict.fromkeys([*(c for c in wanted if c not in ABOUT), *([_JUDGE] if _JUDGE in called.values() else [])])
    )
    table = cell_table(data.to_native(), apart, called={new: old for old, new in called.items()})
    return _laid_out(table, by, subjects, called, cluster)


def _parts(present: list[str], subjects: By, raters: str, by: list[str]) -> list[str]:
    wanted = list(dict.fromkeys(names(subjects)))
    for argument, name in [("raters", raters), *(("subjects", s) for s in wanted)]:
        if name not in present and not (name in ABOUT and argument == "subjects"):
            raise SchemaError(
                f"{argument}={name!r} is not a column of the ratings. Columns: {', '.join(present)}."
                + suggestion(name, present)
            )
    if not wanted:
        raise DesignError("subjects= names no column. Name what is rated, subjects='item' say.")
    for name in wanted:
        if name == raters or name in by:
            other = "raters" if name == raters else "by"
            raise DesignError(f"{name!r} is in subjects= and in {other}=. A column has one part to play: drop one.")
    if raters in by:
        raise DesignError(f"{raters!r} is in raters= and in by=, which leaves one rater in each group. Drop one.")
    return wanted


def _as_judge(data: Any, present: list[str], raters: str) -> tuple[Any, dict[str, str]]:
    """Call the raters ``judge``, as cells do, and say what the others are called meanwhile."""
    if raters == "judge":
        return data, {}
    called = {raters: "judge", **({"judge": _JUDGE} if "judge" in present else {})}
    data = data.rename(called)
    if raters == "system":
        data = data.with_columns(nw.lit("").alias("system"))
    return data, called


def _laid_out(
    table: CellTable, by: Sequence[str], subjects: Sequence[str], called: dict[str, str], cluster: str
) -> Matrices:
    keys = {c: called.get(c, c) for c in (*by, *subjects)}
    sized = {c: (table.keys[k], len(table.labels[k])) for c, k in keys.items()}
    code, size = joint([sized[c] for c in by], table.n_cells)
    group, groups = compact(code, size)
    code, size = joint([(group, groups.size), *(sized[c] for c in subjects)], table.n_cells)
    row, rows = compact(code, size)
    group_of_row = np.zeros(rows.size, np.int64)
    group_of_row[row] = group
    cell_of_group = np.zeros(groups.size, np.int64)
    cell_of_group[group] = np.arange(table.n_cells)
    labels = {c: table.labels[keys[c]].take(table.keys[keys[c]][cell_of_group]) for c in by}
    told = _Told(groups.size)
    within = called.get(cluster, cluster)
    others = [k for k in table.keys if k not in (*keys.values(), within) and len(table.labels[k]) > 1]
    varied = _varied(table, row, rows.size, others)
    scores, unequal = _scores(table, row, rows.size, averaged=bool(varied))
    runs_of = group[table.cell[table.runs > 1]]
    told.add(AVERAGED, runs_of)
    for name, cells in varied.items():
        told.add(f"averaged over {'judge' if name == _JUDGE else name}", group[cells])
    if varied:
        told.count("unequal " + " x ".join(varied) + " in {} subjects", group_of_row[unequal])
    start = np.searchsorted(group_of_row, np.arange(groups.size))
    silent = _silent(table, group, scores, start)
    lies_in = _clusters(table, row, rows.size, within) if cluster else None
    return Matrices(labels, scores, start, table.labels["judge"], silent, told.flags, lies_in)


def _clusters(table: CellTable, row: Any, rows: int, name: str) -> NDArray[np.int64]:
    """Code of what each subject lies in."""
    code = np.zeros(rows, np.int64)
    code[row] = table.keys[name]
    if (code[row] != table.keys[name]).any():
        raise DesignError(
            f"cluster={name!r} differs within a subject. Name a column that every subject has one value of, or put it "
            "into subjects=."
        )
    return code


class _Told:
    """Flags of each group."""

    def __init__(self, groups: int) -> None:
        self.flags: list[list[str]] = [[] for _ in range(groups)]

    def add(self, flag: str, groups: Any) -> None:
        for g in np.unique(groups):
            self.flags[g].append(flag)

    def count(self, flag: str, groups: Any) -> None:
        for g, n in zip(*np.unique(groups, return_counts=True), strict=True):
            self.flags[g].append(flag.format(f"{n:,}"))


def _varied(table: CellTable, row: Any, rows: int, others: Sequence[str]) -> dict[str, Any]:
    """Columns that differ within a row, and the cells where they do."""
    found = {}
    for name in others:
        code = table.keys[name]
        first = np.zeros(rows, code.dtype)
        first[row] = code
        differs = code != first[row]
        if differs.any():
            found[name] = differs
    return found


def _scores(table: CellTable, row: Any, rows: int, *, averaged: bool) -> tuple[Floats, NDArray[np.bool_]]:
    """Scores as rows x raters; and rows some of whose raters lack some of the cells averaged."""
    raters = len(table.labels["judge"])
    place = row[table.cell].astype(np.int64) * raters + table.judge
    if not averaged:
        flat = np.full(rows * raters, np.nan)
        flat[place] = table.mean
        return flat.reshape(rows, raters), np.zeros(rows, dtype=bool)
    scored = ~np.isnan(table.mean)
    count = np.bincount(place[scored], minlength=rows * raters).reshape(rows, raters)
    total = np.bincount(place[scored], weights=table.mean[scored], minlength=rows * raters).reshape(rows, raters)
    with np.errstate(invalid="ignore"):
        scores = np.where(count > 0, total / count, np.nan)
    cells = np.bincount(row, minlength=rows)[:, None]
    unequal: NDArray[np.bool_] = np.asarray(((count > 0) & (count < cells)).any(axis=1))
    return scores, unequal


def _silent(table: CellTable, group: Any, scores: Floats, start: NDArray[np.int64]) -> NDArray[np.bool_]:
    silent = np.zeros((start.size, scores.shape[1]), dtype=bool)
    missing = np.isnan(table.mean)
    if missing.any():
        silent[group[table.cell[missing]], table.judge[missing]] = True
        silent &= ~np.logical_or.reduceat(~np.isnan(scores), start, axis=0)
    return silent
