"""Votes of several calls on a pair -> one verdict on the pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import SchemaError, choose
from judgestats.schema.coding import Codes
from judgestats.schema.columns import CHOICES, COUNTS, PREFERENCES
from judgestats.schema.pairing import UNIT_COLUMNS, refuse_unknown_order
from judgestats.verdicts.groups import (
    PANEL,
    constant,
    first_status,
    group_calls,
    refuse_contradiction,
    refuse_repeats,
    row_counts,
)
from judgestats.verdicts.rules import INVALID, TIE, Custom, U, V, Votes, rule_of

#: What a verdict is as a choice, in canonical order; what a choice votes for, before the order is undone.
_SLOTS = np.array(["first", "second", "tie", "invalid"], dtype=object)
_VOTES = {"first": U, "second": V, "tie": TIE, "abstain": TIE, "invalid": INVALID}
#: Columns of a call, not of its pair: made anew, added up, or left behind.
_OF_THE_CALL = (
    "choice",
    "status",
    "order_known",
    "strength",
    "rationale",
    "cost",
    "latency",
    "n",
    "tie_kind",
    "n_calls",
)
_ADDED_UP = ("cost", "latency")
_OF_THE_PAIR = ("gold", "better")
_NOT_OVER = ("item", "first", "second", "pair", "target", "ties_allowed", *_OF_THE_CALL, *_OF_THE_PAIR)


def aggregate_pairs(
    calls: pd.DataFrame, how: str | Custom, over: Sequence[str], by: Sequence[str], missing: str
) -> pd.DataFrame:
    """Aggregate preferences; see :func:`judgestats.aggregate`."""
    rule = rule_of(how)
    for name in over:
        choose(name, ["order", *(c for c in calls.columns if _may_vary(c))], "over")
    if "order" in over:
        refuse_unknown_order(nw.from_native(calls), list(calls.columns))
    table, reverse = _canonical(calls)
    conditions = [c for c in dict.fromkeys(["judge", *UNIT_COLUMNS, *by]) if c in table.columns and c not in over]
    unit = ["item", "first", "second", *conditions]
    columns = [c for c in over if c != "order"]
    groups = group_calls(table, unit, columns, by)
    cells = [_coded(table[c]) for c in columns] + ([(reverse.astype(np.int64), 2)] if "order" in over else [])
    refuse_repeats(calls, groups, cells, over)
    codes = groups.codes
    votes = _votes(table["choice"], reverse, codes, groups.expected() * (2 if "order" in over else 1))
    short = votes[:, INVALID] > 0 if missing == "invalid" else votes[:, :INVALID].sum(axis=1) == 0
    verdict = np.full(codes.size, INVALID)
    verdict[~short] = rule.decide(votes[~short])
    native = rule.native(votes) & ~_made_by_a_rule(table, codes)
    result = _carried(table, codes, unit, columns)
    result["choice"] = pd.Categorical(_SLOTS[verdict], categories=list(CHOICES))
    result["status"] = np.where(verdict == INVALID, _reasons(table, codes), "ok")
    result["order_known"] = False
    result["tie_kind"] = np.where(verdict == TIE, np.where(native, "native", "disagreement"), "")
    result["n_calls"] = _calls(table, codes)
    return _in_order(result, [c for c in ("judge", *unit) if c in result.columns])


def _may_vary(name: str) -> bool:
    return name not in _NOT_OVER and not name.endswith(("_first", "_second"))


def _coded(values: pd.Series[Any]) -> tuple[NDArray[np.int64], int]:
    code, uniques = pd.factorize(values, use_na_sentinel=False)
    return code.astype(np.int64), len(uniques)


def _canonical(calls: pd.DataFrame) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """Show every pair with its lower candidate id first, its attributes with it; and tell which rows were turned."""
    table = calls.copy(deep=False)
    for name in ("first", "second"):
        table[name] = table[name].astype("str")
    reverse = (table["first"] > table["second"]).to_numpy(dtype=bool)
    turned = ["", *sorted(c[: -len("_first")] for c in table.columns if c.endswith("_first"))]
    for stem in turned:
        one, two = (f"{stem}_first", f"{stem}_second") if stem else ("first", "second")
        if two not in table.columns:
            continue
        low, high = (_plain(table[c]) for c in (one, two))
        table[one], table[two] = low.where(~reverse, high), high.where(~reverse, low)
    alone = [c for c in table.columns if c.endswith(("_first", "_second")) and _sibling(c) not in table.columns]
    return table.drop(columns=alone), reverse


def _sibling(name: str) -> str:
    stem, _, slot = name.rpartition("_")
    return f"{stem}_second" if slot == "first" else f"{stem}_first"


def _plain(values: pd.Series[Any]) -> pd.Series[Any]:
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.astype(values.cat.categories.dtype)
    return values


def _votes(choice: pd.Series[Any], reverse: NDArray[np.bool_], codes: Codes, expected: NDArray[np.int64]) -> Votes:
    """(G, 4) votes for u, for v, ties, and what is missing of `expected`."""
    code, labels = pd.factorize(choice, use_na_sentinel=False)
    unknown = [x for x in labels if x not in _VOTES]
    if unknown:
        raise SchemaError(
            f"'choice' has {unknown[0]!r}. Allowed: {', '.join(_VOTES)}. Map the table with "
            f"preferences(frame, labels={{{unknown[0]!r}: ...}})."
        )
    vote = np.array([_VOTES[x] for x in labels], dtype=np.int64)[code]
    vote = np.where(reverse & (vote <= V), V - vote, vote)
    counts = np.bincount(codes.code * 4 + vote, minlength=codes.size * 4).reshape(codes.size, 4)
    counts[:, INVALID] = expected - counts[:, :INVALID].sum(axis=1)
    return counts.astype(np.int64)


def _made_by_a_rule(table: pd.DataFrame, codes: Codes) -> NDArray[np.bool_]:
    """Whether a tie among the votes of a group is itself a disagreement, from an aggregation before this one."""
    if "tie_kind" not in table.columns:
        return np.zeros(codes.size, dtype=bool)
    made = (table["tie_kind"].astype(object) == "disagreement").to_numpy(dtype=bool)
    return np.bincount(codes.code, weights=made, minlength=codes.size) > 0


def _reasons(table: pd.DataFrame, codes: Codes) -> NDArray[np.object_]:
    return first_status(table, codes, (table["choice"] == "invalid").to_numpy(dtype=bool), "parse")


def _calls(table: pd.DataFrame, codes: Codes) -> NDArray[np.int64]:
    """Calls behind each verdict, through every aggregation."""
    each = table["n_calls"].to_numpy(dtype=float) if "n_calls" in table.columns else np.ones(len(table))
    return np.bincount(codes.code, weights=each, minlength=codes.size).astype(np.int64)


def _carried(table: pd.DataFrame, codes: Codes, unit: list[str], over: list[str]) -> pd.DataFrame:
    """What identifies the pair, and what is true of all its calls."""
    for name in _OF_THE_PAIR:
        if name in table.columns:
            refuse_contradiction(table, codes, name)
    counts = row_counts(table, codes)
    others = [c for c in table.columns if c not in unit and c not in over and c not in _OF_THE_CALL]
    result = table[[*unit, *constant(table, codes, others)]].iloc[codes.first].reset_index(drop=True)
    if "judge" in over:
        result["judge"] = PANEL
    for name in _ADDED_UP:
        if name in table.columns:
            result[name] = np.bincount(codes.code, weights=table[name].to_numpy(dtype=float), minlength=codes.size)
    return result if counts is None else result.assign(**{COUNTS: counts})


def _in_order(result: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    ours = [c.name for c in PREFERENCES if c.name in result.columns]
    last = ["tie_kind", "n_calls"]
    rest = [c for c in result.columns if c not in ours and c not in last]
    keys = list(dict.fromkeys(["judge", *keys]))
    return result[[*ours, *rest, *last]].sort_values(keys, kind="stable", ignore_index=True)
