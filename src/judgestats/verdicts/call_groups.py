"""Calls that one aggregate is made of: their panel, their repeats, and the columns that it keeps."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats import results
from judgestats.counting.panels import AnswerPanel
from judgestats.counting.splitting import eager_splits
from judgestats.errors import DesignError, data_rows
from judgestats.schema.coding import Coded, Codes, codes_of, column_codes, combine
from judgestats.schema.columns import COUNTS, Column, kind_of
from judgestats.schema.declared_counts import call_counts
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Integers, Ints, Mask

#: Name of the judge when judges are aggregated over.
PANEL = "panel"
#: Status of an aggregate that lacks a call it should have.
MISSING_PARTNER = "missing partner"
#: Columns that say how the judge was asked; the replicates, judges or prompts to expect are counted within these.
_PROTOCOL = ("judge", "strategy", "scheme", "probe", "prompt", "temperature", "condition")


@dataclass(frozen=True)
class CallGroups:
    """Rows of `table` by the columns `unit`, a group for each aggregate; its panel is the values of the columns `over`.

    `codes`: group of each row. `scope` (G,): how each group is asked. `members` (M,): scope of each panel member that
    occurs (a replicate, a judge, ...). `member_rows` (M,): a row of each.
    """

    table: pd.DataFrame
    unit: list[str]
    over: list[str]
    codes: Codes
    scope: Ints
    members: Ints
    member_rows: Integers

    @classmethod
    def of(cls, table: pd.DataFrame, unit: list[str], over: Sequence[str], by: Sequence[str]) -> CallGroups:
        """Group the rows of a table, and find the panel of each way of asking."""
        unit = list(dict.fromkeys(unit))
        codes, scope = codes_of(table, unit), codes_of(table, _protocol(table, over, by))
        panel = combine([(scope.code, scope.size), *(column_codes(table[c]) for c in over)], len(table))
        ways = scope.code.astype(np.int64)
        return cls(table, unit, list(over), codes, ways[codes.first], ways[panel.first], panel.first)

    def expected(self) -> Ints:
        """(G,) how many members the panel of each group has."""
        sizes = np.bincount(self.members, minlength=int(self.scope.max(initial=-1)) + 1)
        return np.asarray(sizes[self.scope], dtype=np.int64)

    def counts(self) -> Floats | None:
        """(G,) the declared count of each group, None without such a column; all its calls must have the same count."""
        if COUNTS not in self.table.columns:
            return None
        n = call_counts(self.table[COUNTS])
        counts: Floats = n[self.codes.first]
        if (n != counts[self.codes.code]).any():
            raise DesignError(
                "Calls to be aggregated have different counts, so they cannot be matched. Give one row per call."
            )
        return counts

    def varies(self, column: str) -> Mask:
        """(N,) rows that differ from the first of their group; a missing value is a value."""
        try:
            code, _ = column_codes(self.table[column])
        except TypeError:  # lists and dicts are not constant within a group
            return np.ones(len(self.table), dtype=bool)
        return np.asarray(code != code[self.codes.first][self.codes.code])

    def carried(self, dropped: Iterable[str]) -> pd.DataFrame:
        """The columns of the unit, those with one value within each group, except the dropped, and declared counts."""
        apart = {*self.unit, *dropped}
        constant = [c for c in self.table.columns if c not in apart and not self.varies(c).any()]
        result = self.table[[*self.unit, *constant]].iloc[self.codes.first].reset_index(drop=True)
        counts = self.counts()
        return result if counts is None else result.assign(**{COUNTS: counts})

    def first_status(self, failed: Mask, default: str = "parse") -> NDArray[np.object_]:
        """(G,) alphabetically first status of the failed calls of each group, ``missing partner`` without one."""
        status = np.full(len(self.table), default, dtype=object)
        if "status" in self.table.columns:
            stated = self.table["status"].astype(object)
            status = np.where(stated.isna() | (stated == "ok"), default, stated).astype(object)
        result = np.full(self.codes.size, MISSING_PARTNER, dtype=object)
        rows = np.flatnonzero(failed)
        rows = rows[np.argsort(status[rows].astype(str), kind="stable")[::-1]]
        result[self.codes.code[rows]] = status[rows]
        return result

    def panel(
        self, valid: Ints, answer: Ints, answers: Sequence[Hashable], by: Sequence[str], mirror: Ints | None = None
    ) -> AnswerPanel:
        """Raters that `over` distinguishes by groups, whose columns say how they were asked; repeats are entries."""
        if not (raters := [c for c in self.over if c not in ("order", "replicate")]):
            raise DesignError(
                f"dawid_skene compares raters, and over={self.over or 'order'!r} names none. Name what distinguishes "
                "them: over='judge', or over=['judge', 'order'] where each judge saw both orders."
            )
        things = Factors(self.table[_protocol(self.table, self.over, ["criterion", *by])].iloc[self.codes.first])
        rater, counts = codes_of(self.table, raters), self.counts()
        judges = pd.MultiIndex.from_frame(self.table[raters].iloc[rater.first])
        thing, judge = self.codes.code[valid], rater.code[valid]
        order = np.lexsort((judge, thing))
        weight = np.ones(self.codes.size) if counts is None else counts
        labels = pd.Index(list(answers), dtype=object, tupleize_cols=False)
        entries = (thing[order], judge[order], answer[order])
        return AnswerPanel(things, judges, *entries, labels, None, weight, mirror=mirror)


def _protocol(table: pd.DataFrame, over: Sequence[str], by: Sequence[str]) -> list[str]:
    return [c for c in dict.fromkeys([*_PROTOCOL, *by]) if c in table.columns and c not in over]


def refuse_repeats(table: pd.DataFrame, groups: CallGroups, cells: Sequence[Coded], over: Sequence[str]) -> None:
    """Raise where a group has two calls of the same panel member."""
    cell = combine([(groups.codes.code, groups.codes.size), *cells], len(table))
    if cell.size == len(table):
        return
    repeated = pd.Series(cell.code).duplicated(keep=False).to_numpy()
    rows = np.flatnonzero(cell.code == cell.code[np.flatnonzero(repeated)[0]])[:2]
    one, two = (table.iloc[row] for row in rows)
    data, kind = nw.from_native(table, eager_only=True), kind_of(table.columns)
    differ = [s.column for s in eager_splits(data, cell.code, cell.size, over, kind, strict=False)]
    if any(c in table.columns and str(one[c]) != str(two[c]) for c in ("first", "second")):
        remedy = f"They differ in the order: aggregate over='order' first, or over={[*over, 'order']} together."
    elif differ:
        together = f"over={[*over, differ[0]]} together"
        remedy = f"They differ in {differ[0]!r}: name it in by= to keep them apart, or aggregate {together}."
    else:
        remedy = "They differ only in the answer: number repeats in 'replicate'."
    raise DesignError(
        f"{int(repeated.sum()):,} calls share a pair and {' and '.join(map(repr, over))} with another call "
        f"(first: {data_rows(rows[:2])}). {remedy}"
    )


def in_order(result: pd.DataFrame, columns: Sequence[Column], last: list[str], keys: list[str]) -> pd.DataFrame:
    """Sort the rows by `keys`; canonical columns first, then further ones, then those in `last`."""
    canonical = [c.name for c in columns if c.name in result.columns]
    rest = [c for c in result.columns if c not in canonical and c not in last]
    return results.in_order(result[[*canonical, *rest, *last]], keys)
