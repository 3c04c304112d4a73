"""The questions of a plan as arrays: the order of its rows, its pairs, its groups, and who answers which row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats.design.judges import Judge, changed
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.schema.coding import Coded, Codes, compact, joint, ranked_codes
from judgestats.schema.columns import Kind, key_columns
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Record

RowIndex = NDArray[np.intp]
#: Columns that only an answer has.
_ANSWERS: dict[Kind, tuple[str, ...]] = {
    "preferences": ("choice", "strength"),
    "ratings": ("score", "mean", "sd", "runs"),
}
_NEEDED: dict[Kind, tuple[str, ...]] = {"preferences": ("item", "first", "second"), "ratings": ("item", "system")}


class Questions:
    """Calls to be made, without answers: a row each in `table`."""

    def __init__(self, table: pd.DataFrame, kind: Kind) -> None:
        self.table, self.kind = table, kind
        self._factors = Factors(table)
        self._codes: dict[tuple[str, ...], Codes] = {}

    def __len__(self) -> int:
        return len(self.table)

    def __contains__(self, column: str) -> bool:
        return column in self.table.columns

    def text(self, column: str) -> NDArray[np.object_]:
        """Values of a column as objects, None where missing; all None without the column."""
        if column not in self.table.columns:
            return np.full(len(self), None, dtype=object)
        values = self.table[column].astype(object)
        return np.asarray(values.where(values.notna(), None), dtype=object)

    def number(self, column: str) -> Floats:
        """Values of a numeric column, NaN where missing or without the column."""
        if column not in self.table.columns:
            return np.full(len(self), np.nan)
        try:
            result: Floats = pd.to_numeric(self.table[column]).to_numpy(dtype=float, na_value=np.nan)
        except (ValueError, TypeError) as error:
            raise SchemaError(f"{column!r} of the plan holds text where a number belongs: {error}.") from None
        return result

    def groups(self, *columns: str) -> Coded:
        """Group of each row by those columns that exist, in the order of their labels, and the number of groups."""
        if columns not in self._codes:
            self._codes[columns] = self._factors.ranked([c for c in columns if c in self])
        codes = self._codes[columns]
        return codes.code, codes.size

    @cached_property
    def pair(self) -> tuple[NDArray[np.int32], int, Floats]:
        """Unordered pair of each row, their number, and the slot of the lower name: 1 first, -1 second, 0 both."""
        candidates = pd.concat([self.table["first"], self.table["second"]], ignore_index=True).astype(object)
        code, labels = ranked_codes(candidates)
        one, two = code[: len(self)].astype(np.int64), code[len(self) :].astype(np.int64)
        sides = [(low_or_high(one, two), len(labels)) for low_or_high in (np.minimum, np.maximum)]
        number, codes = compact(*joint([self.groups("task", "item"), *sides], len(self)))
        return number, codes.size, np.sign(two - one).astype(float)

    def named(self, column: str) -> Floats:
        """1 where the candidate named in a column is shown first, -1 second, 0 where none is named."""
        if column not in self.table.columns:
            return np.zeros(len(self))
        who = self.text(column)
        stated = np.array([w is not None and w != "" for w in who], dtype=bool)
        first, second = who == self.text("first"), who == self.text("second")
        if (lost := stated & ~first & ~second & (who != "tie")).any():
            raise SchemaError(
                f"{column!r} of the plan is neither candidate in {int(lost.sum()):,} rows, first {who[lost][0]!r}. "
                "Give the id of a candidate, or leave the cell empty."
            )
        return np.where(stated, first.astype(float) - second, 0.0)

    @cached_property
    def order(self) -> RowIndex:
        """Rows in the order of their keys, so that draws do not depend on the order of the table."""
        keys = [k for k in key_columns(self.kind, self.table.columns) if k != "judge"]
        number, size = self.groups(*keys)
        if size < len(self):
            further = sorted({*map(str, self.table.columns)} - {"judge", *keys})
            number, _ = self.groups(*keys, *further)
        return np.argsort(number, kind="stable")

    def cases(self, judge: Judge, rows: RowIndex) -> Iterable[tuple[Judge, RowIndex]]:
        """The judge as it is under each condition that changes it, and the rows it then answers."""
        columns = [c for c in judge.under if c in self.table.columns]
        code, _ = self.groups(*columns)
        row_codes = code[rows]
        for case in np.unique(row_codes):
            chosen = rows[row_codes == case]
            changes: Record = {}
            for column in columns:
                value = self.table[column].iloc[chosen[0]]
                cases = judge.under[column]
                changes |= cases.get(value, {}) if not pd.isna(value) else {}
            yield (changed(judge, changes, f"Judge {judge.name!r}") if changes else judge), chosen


def questions(plan: IntoFrame, judges: Mapping[str, Judge], replicates: int = 1) -> tuple[Questions, Record]:
    """The questions of a plan, and the rows that each judge answers, in the order of their keys."""
    table = nw.from_native(plan).lazy().collect(backend="pandas").to_native().reset_index(drop=True)
    kind = _kind(list(table.columns))
    table = _repeated(table, replicates)
    rows = Questions(table, kind)
    if "judge" not in table.columns:
        return rows, dict.fromkeys(judges, rows.order)
    who = rows.text("judge")
    planned = set(who)
    for name in sorted(planned - set(judges), key=str):
        near = suggestion(name, judges) if isinstance(name, str) else " Names of judges are text."
        raise DesignError(f"The plan asks judge {name!r}, which is not in judges=.{near}")
    for name in sorted(set(judges) - planned):
        raise DesignError(
            f"judges= has {name!r}, which the plan never asks. Leave it out, or drop the plan's column 'judge' "
            "to have every judge answer every row."
        )
    ordered = who[rows.order]
    return rows, {name: rows.order[ordered == name] for name in judges}


def _kind(columns: list[str]) -> Kind:
    kinds: tuple[Kind, ...] = ("preferences", "ratings")
    for kind in kinds:
        if not set(_NEEDED[kind]) <= set(columns):
            continue
        if answered := [c for c in _ANSWERS[kind] if c in columns]:
            raise DesignError(
                f"The plan has answers already: {', '.join(map(repr, answered))}. A plan is a frame without them; drop "
                "the column to ask again."
            )
        if "n" in columns:
            raise DesignError("The plan counts rows in 'n'. Give one row per call, or use replicates=.")
        return kind
    raise SchemaError(
        f"This is not a plan. Columns: {', '.join(map(str, columns)) or 'none'}. A plan of preferences needs item, "
        "first and second; a plan of ratings needs system and item."
    )


def _repeated(table: pd.DataFrame, replicates: int) -> pd.DataFrame:
    if not isinstance(replicates, int | np.integer) or replicates < 1:
        raise DesignError(f"replicates={replicates!r} is not a number of repeats. Allowed: 1 or more.")
    if replicates == 1:
        return table
    if "replicate" in table.columns:
        raise DesignError("The plan numbers its own repeats in 'replicate'. Drop the column, or leave replicates= out.")
    rows = np.tile(np.arange(len(table)), replicates)
    return table.iloc[rows].reset_index(drop=True).assign(replicate=np.repeat(np.arange(replicates), len(table)))
