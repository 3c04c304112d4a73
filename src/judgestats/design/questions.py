"""A plan as arrays: its rows in an order of their own, its pairs, its groups, and which judge answers which."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.design.judges import Judge, changed
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.schema.coding import Coded, compact, joint, ranked_codes
from judgestats.schema.columns import Kind, key_columns

Floats = NDArray[np.float64]
#: Columns that only an answer has.
_ANSWERS: dict[Kind, tuple[str, ...]] = {
    "preferences": ("choice", "strength"),
    "ratings": ("score", "mean", "sd", "runs"),
}
_NEEDED: dict[Kind, tuple[str, ...]] = {"preferences": ("item", "first", "second"), "ratings": ("item", "system")}


class Questions:
    """Calls to be made, without answers.

    Parameters
    ----------
    table : pandas.DataFrame
        A row a call.
    kind : {'preferences', 'ratings'}
    """

    def __init__(self, table: pd.DataFrame, kind: Kind) -> None:
        self.table, self.kind = table, kind
        self._codes: dict[tuple[str, ...], tuple[NDArray[np.int32], int]] = {}
        self._columns: dict[str, Coded] = {}

    def __len__(self) -> int:
        return len(self.table)

    def __contains__(self, column: str) -> bool:
        return column in self.table.columns

    def text(self, column: str) -> NDArray[Any]:
        """Values of a column as objects, None where missing; all None without the column."""
        if column not in self.table.columns:
            return np.full(len(self), None, dtype=object)
        values = self.table[column].astype(object)
        result: NDArray[Any] = values.where(values.notna(), None).to_numpy(dtype=object)
        return result

    def number(self, column: str) -> Floats:
        """Values of a numeric column, NaN where missing or without the column."""
        if column not in self.table.columns:
            return np.full(len(self), np.nan)
        try:
            result: Floats = pd.to_numeric(self.table[column]).to_numpy(dtype=float, na_value=np.nan)
        except (ValueError, TypeError) as error:
            raise SchemaError(f"{column!r} of the plan holds text where a number belongs: {error}.") from None
        return result

    def groups(self, *columns: str) -> tuple[NDArray[np.int32], int]:
        """Group of each row by the columns that there are, numbered in the order of their labels, and how many."""
        if columns not in self._codes:
            parts = [self._coded(c) for c in columns if c in self.table.columns]
            number, codes = compact(*joint(parts, len(self)))
            self._codes[columns] = number, codes.size
        return self._codes[columns]

    def _coded(self, column: str) -> Coded:
        if column not in self._columns:
            code, labels = ranked_codes(self.table[column])
            self._columns[column] = code, len(labels)
        return self._columns[column]

    @cached_property
    def pair(self) -> tuple[NDArray[np.int32], int, Floats]:
        """Unordered pair of each row, how many there are, and where the lower name is: 1 first, -1 second, 0 both."""
        shown = pd.concat([self.table["first"], self.table["second"]], ignore_index=True).astype(object)
        code, labels = ranked_codes(shown)
        one, two = code[: len(self)].astype(np.int64), code[len(self) :].astype(np.int64)
        item, items = self.groups("task", "item")
        names = len(labels)
        number, codes = compact(
            *joint([(item, items), (np.minimum(one, two), names), (np.maximum(one, two), names)], len(self))
        )
        return number, codes.size, np.sign(two - one).astype(float)

    def named(self, column: str) -> Floats:
        """1 where the candidate named in a column is shown first, -1 second, 0 where there is none."""
        if column not in self.table.columns:
            return np.zeros(len(self))
        who = self.text(column)
        known = np.array([w is not None and w != "" for w in who], dtype=bool)
        first, second = who == self.text("first"), who == self.text("second")
        lost = known & ~first & ~second & (who != "tie")
        if lost.any():
            raise SchemaError(
                f"{column!r} of the plan is neither candidate in {int(lost.sum()):,} rows, first {who[lost][0]!r}. "
                "Give the id of a candidate, or nothing."
            )
        return np.where(known, first.astype(float) - second, 0.0)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Rows in the order of their keys, so that draws do not depend on the order of the table."""
        keys = [k for k in key_columns(self.kind, self.table.columns) if k != "judge"]
        number, size = self.groups(*keys)
        if size < len(self):
            number, _ = self.groups(
                *keys, *(c for c in sorted(map(str, self.table.columns)) if c not in {"judge", *keys})
            )
        return np.argsort(number, kind="stable")

    def cases(self, judge: Judge, rows: NDArray[np.intp]) -> Iterable[tuple[Judge, NDArray[np.intp]]]:
        """The judge as it is under each condition that changes it, and the rows it then answers."""
        columns = [c for c in judge.under if c in self.table.columns]
        code, _ = self.groups(*columns)
        here = code[rows]
        for case in np.unique(here):
            chosen = rows[here == case]
            changes: dict[str, Any] = {}
            for column in columns:
                value = self.table[column].iloc[chosen[0]]
                cases = judge.under[column]
                changes |= cases.get(value, {}) if not pd.isna(value) else {}
            yield (changed(judge, changes, f"Judge {judge.name!r}") if changes else judge), chosen


def questions(plan: Any, judges: Mapping[str, Judge], replicates: int = 1) -> tuple[Questions, dict[str, Any]]:
    """Read a plan.

    Parameters
    ----------
    plan : frame
        As :func:`judgestats.design.simulate`.
    judges : mapping of str to Judge
        From :func:`judgestats.design.judges.named_judges`.
    replicates : int
        How often each row is asked.

    Returns
    -------
    Questions
    rows : dict of str to int array
        Rows that each judge answers, in the order of their keys.

    Raises
    ------
    SchemaError, DesignError
        If the plan is no plan, has answers, or does not go with the judges.
    """
    table = nw.from_native(plan).lazy().collect(backend="pandas").to_native().reset_index(drop=True)
    kind = _kind(list(table.columns))
    table = _repeated(table, replicates)
    asked = Questions(table, kind)
    if "judge" not in table.columns:
        return asked, dict.fromkeys(judges, asked.order)
    who = asked.text("judge")
    planned = set(who)
    for name in sorted(planned - set(judges), key=str):
        near = suggestion(name, judges) if isinstance(name, str) else " Names of judges are text."
        raise DesignError(f"The plan asks judge {name!r}, who is not in judges=.{near}")
    for name in sorted(set(judges) - planned):
        raise DesignError(
            f"judges= has {name!r}, whom the plan never asks. Leave it out, or leave out the plan's column 'judge' to "
            "have every judge answer every row."
        )
    ordered = who[asked.order]
    return asked, {name: asked.order[ordered == name] for name in judges}


def _kind(columns: list[str]) -> Kind:
    kinds: tuple[Kind, ...] = ("preferences", "ratings")
    for kind in kinds:
        if not set(_NEEDED[kind]) <= set(columns):
            continue
        answered = [c for c in _ANSWERS[kind] if c in columns]
        if answered:
            raise DesignError(
                f"The plan has answers already: {', '.join(map(repr, answered))}. A plan is a frame without them; drop "
                "the column to ask again."
            )
        if "n" in columns:
            raise DesignError("The plan counts rows in 'n'. Give one row a call, or replicates=.")
        return kind
    raise SchemaError(
        f"This is no plan. Columns: {', '.join(map(str, columns)) or 'none'}. A plan of preferences needs item, first "
        "and second; a plan of ratings needs system and item."
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
