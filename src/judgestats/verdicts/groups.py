"""What both kinds of aggregation share: which calls belong together, how many there should be, what is carried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from judgestats.errors import DesignError, SchemaError
from judgestats.schema.coding import Codes, codes_of, column_codes, combine
from judgestats.schema.columns import COUNTS, kind_of
from judgestats.schema.declared_counts import call_counts
from judgestats.schema.splitting import splits_here

#: Name of the judge when judges are aggregated over.
PANEL = "panel"
#: Status of an aggregate that lacks a call it should have.
MISSING_PARTNER = "missing partner"
#: Columns that say how the judge was asked. Which replicates, judges or prompts there are is asked within these.
_ASKED_HOW = ("judge", "strategy", "scheme", "probe", "prompt", "temperature", "condition")


@dataclass(frozen=True)
class Groups:
    """The calls that one aggregate is made of.

    Attributes
    ----------
    codes : Codes
        Group of each row, and a row of each group.
    scope : (G,) int array
        Way of asking that each group belongs to: the panel is the same within it.
    members : (M,) int array
        Scope of each member of a panel that occurs: a replicate, a judge, a prompt, ... .
    member_rows : (M,) int64 array
        A row of each member.
    """

    codes: Codes
    scope: NDArray[np.integer[Any]]
    members: NDArray[np.integer[Any]]
    member_rows: NDArray[np.int64]

    def expected(self) -> NDArray[np.int64]:
        """(G,) how many members the panel of each group has."""
        sizes = np.bincount(self.members, minlength=int(self.scope.max(initial=-1)) + 1)
        return np.asarray(sizes[self.scope], dtype=np.int64)


def group_calls(table: pd.DataFrame, unit: Sequence[str], over: Sequence[str], by: Sequence[str]) -> Groups:
    """Group the rows of `table` by `unit`, and find the panel that `over` makes in each way of asking."""
    codes = codes_of(table, unit)
    asked = [c for c in dict.fromkeys([*_ASKED_HOW, *by]) if c in table.columns and c not in over]
    scope = codes_of(table, asked)
    members = combine([(scope.code, scope.size), *(column_codes(table[c]) for c in over)], len(table))
    return Groups(codes, scope.code[codes.first], scope.code[members.first], members.first)


def refuse_repeats(table: pd.DataFrame, groups: Groups, cells: Sequence[tuple[Any, int]], over: Sequence[str]) -> None:
    """Raise where a group has two calls of the same panel member."""
    cell = combine([(groups.codes.code, groups.codes.size), *cells], len(table))
    if cell.size == len(table):
        return
    again = pd.Series(cell.code).duplicated(keep=False).to_numpy()
    rows = np.flatnonzero(cell.code == cell.code[np.flatnonzero(again)[0]])[:2]
    one, two = (table.iloc[row] for row in rows)
    data, kind = nw.from_native(table, eager_only=True), kind_of(table.columns)
    differ = [s.column for s in splits_here(data, cell.code, cell.size, over, kind, strict=False)]
    if any(c in table.columns and str(one[c]) != str(two[c]) for c in ("first", "second")):
        cure = f"They differ in the order: aggregate over='order' first, or over={[*over, 'order']} together."
    elif differ:
        together = f"over={[*over, differ[0]]} together"
        cure = f"They differ in {differ[0]!r}: name it in by= to keep them apart, or aggregate {together}."
    else:
        cure = "They differ in nothing but the answer: number repeats in 'replicate'."
    raise DesignError(
        f"{int(again.sum()):,} calls share a pair and {' and '.join(map(repr, over))} with another call "
        f"(first: rows {rows[0]:,} and {rows[1]:,}). {cure}"
    )


def row_counts(table: pd.DataFrame, codes: Codes) -> NDArray[np.float64] | None:
    """The declared count of each group, None without such a column; its calls must have the same."""
    if COUNTS not in table.columns:
        return None
    n = call_counts(table[COUNTS])
    counts: NDArray[np.float64] = n[codes.first]
    if (n != counts[codes.code]).any():
        raise DesignError(
            "Calls that are to be aggregated have different counts: they cannot be matched. Give one row a call."
        )
    return counts


def constant(table: pd.DataFrame, codes: Codes, names: Sequence[str]) -> list[str]:
    """Those of `names` that have one value within every group; a missing value is a value."""
    return [name for name in names if not _varies(table[name], codes).any()]


def _varies(values: pd.Series[Any], codes: Codes) -> NDArray[np.bool_]:
    """Rows that differ from the first of their group."""
    try:
        code, _ = column_codes(values)
    except TypeError:  # lists and dicts: nothing that a group could be told by
        return np.ones(len(values), dtype=bool)
    return np.asarray(code != code[codes.first][codes.code])


def refuse_contradiction(table: pd.DataFrame, codes: Codes, name: str) -> None:
    """Raise where the calls of one pair disagree about what is true of the pair."""
    varies = _varies(table[name], codes)
    if varies.any():
        row = int(np.flatnonzero(varies)[0])
        other = int(codes.first[codes.code[row]])
        raise SchemaError(
            f"{name!r} differs between calls of the same pair in {int(varies.sum()):,} rows (first: row {row:,} has "
            f"{table[name].iloc[row]!r}, row {other:,} has {table[name].iloc[other]!r}). A pair has one {name}."
        )


def first_status(table: pd.DataFrame, codes: Codes, failed: NDArray[np.bool_], default: str) -> NDArray[np.object_]:
    """(G,) status of each group: the alphabetically first of its failed calls', ``missing partner`` without one."""
    status = np.full(len(table), default, dtype=object)
    if "status" in table.columns:
        said = table["status"].astype(object)
        status = np.where(said.isna() | (said == "ok"), default, said).astype(object)
    result = np.full(codes.size, MISSING_PARTNER, dtype=object)
    rows = np.flatnonzero(failed)
    rows = rows[np.argsort(status[rows].astype(str), kind="stable")[::-1]]
    result[codes.code[rows]] = status[rows]
    return result


def to_table(frame: Any) -> pd.DataFrame:
    """A pandas table of any frame, rows numbered from 0."""
    data = nw.from_native(frame)
    table = data.lazy().collect(backend="pandas").to_native() if isinstance(data, nw.LazyFrame) else data.to_pandas()
    return pd.DataFrame(table).reset_index(drop=True)


def to_native(table: pd.DataFrame, like: Any) -> Any:
    """`table` as a frame of the kind of `like`: pandas, Polars (eager or lazy) or Arrow; else pandas."""
    data = nw.from_native(like)
    kind = data.implementation
    if kind not in (nw.Implementation.POLARS, nw.Implementation.PYARROW):
        return table
    result = nw.from_arrow(pa.Table.from_pandas(table, preserve_index=False), backend=kind)
    return (result.lazy() if isinstance(data, nw.LazyFrame) else result).to_native()
