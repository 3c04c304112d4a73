"""Flags of what the design of the calls leaves open: ties that were not allowed, candidates that decide the order."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import Frame
from numpy.typing import NDArray

from judgestats import flags
from judgestats.counting.pairing import low_and_high
from judgestats.counting.study import Calls, Study
from judgestats.schema.coding import Codes, combine
from judgestats.schema.opening import one_if
from judgestats.typing import Mask, Record

#: Rows of a lazy frame that are looked at before all of them are.
SOME = 50_000


def flag_forced(rows: list[Record], calls: Calls, groups: Sequence[str], terms: Collection[str]) -> list[Record]:
    """Flag the rows of `terms` in groups where all calls were forced choices (``ties_allowed`` False)."""
    study = Study.of(calls)
    if not {"ties_allowed", *groups} <= {*study.names}:
        return rows
    allowed = nw.col("ties_allowed").fill_null(True).cast(nw.Boolean).alias("_allowed")
    seen = study.data.lazy().select(*groups, allowed).unique().collect(backend="pandas").to_native()
    free = {tuple(key) for *key, allowed in seen.itertuples(index=False) if allowed}
    for row in rows:
        if row["term"] in terms and tuple(row[g] for g in groups) not in free:
            row["flag"] = flags.join(row["flag"], flags.FORCED_CHOICE)
    return rows


def flag_confounded(rows: list[Record], calls: Calls, groups: Sequence[str], terms: Collection[str]) -> list[Record]:
    """Flag the rows of `terms` in groups where the candidates alone decide which is shown first.

    That is so where no two candidates are shown in both orders on any item, and one slot always has the same candidate,
    or half of the pairs of candidates or more occur on several items.
    """
    study = Study.of(calls)
    if not {"first", "second", "item", *groups} <= {*study.names}:
        return rows
    if study.lazy:
        where = _confounded_there(study.data, groups, {tuple(str(row[g]) for g in groups) for row in rows})
    else:
        where = study.once(("confounded", *groups), lambda: _confounded(study, groups))
    for row in rows:
        if row["term"] in terms and tuple(str(row[g]) for g in groups) in where:
            row["flag"] = flags.join(row["flag"], flags.ORDER_CONFOUNDED)
    return rows


def flag_not_merged(rows: list[Record], calls: Calls, groups: Sequence[str]) -> list[Record]:
    """Flag the rows of groups where a strategy asked for several calls on a pair, and each is a row of the frame."""
    study = Study.of(calls)
    pair = ["judge", "strategy", "item", "call"]
    if not {*pair, "first", "second", *groups} <= {*study.names}:
        return rows
    keys = [c for c in dict.fromkeys([*groups, *pair[:3], "replicate"]) if c in study.names]
    of_pairs = study.data.lazy().select(*keys, *low_and_high(("_low", "_high")))
    sizes = of_pairs.group_by(*keys, "_low", "_high").agg(nw.len().alias("_calls")).filter(nw.col("_calls") > 1)
    several = sizes.select(*groups).unique().collect(backend="pandas").to_native()
    where = {tuple(map(str, key)) for key in several.itertuples(index=False, name=None)}
    for row in rows:
        if tuple(str(row[g]) for g in groups) in where:
            row["flag"] = flags.join(row["flag"], flags.NOT_MERGED)
    return rows


def _confounded(study: Study, groups: Sequence[str]) -> set[tuple[str, ...]]:
    """Groups, as text, where order and candidate cannot be separated."""
    group, item = study.columns.codes(groups), study.columns["item"]
    first, second, names = study.shown
    low, high = np.minimum(first, second), np.maximum(first, second)

    def several(values: NDArray[np.generic], of: Codes) -> Mask:
        """Whether the rows of each number have two values or more."""
        result = np.zeros(of.size, dtype=bool)
        result[of.code[values != values[of.first][of.code]]] = True
        return result

    sizes = [(group.code, group.size), (low + 1, len(names) + 1), (high + 1, len(names) + 1)]
    pairs = combine(sizes, len(study.columns))
    of_pair = group.code[pairs.first]
    turned = np.bincount(of_pair, several(first > second, pairs), group.size)
    recurring = np.bincount(of_pair, several(item.code, pairs), group.size)
    one_candidate = ~(several(first, group) & several(second, group))
    confounded = (turned == 0) & (one_candidate | (2 * recurring >= np.bincount(of_pair, minlength=group.size)))
    labels = study.columns.take(group.first[confounded]).frame(groups)
    return {tuple(map(str, key)) for key in labels.itertuples(index=False, name=None)}


def _confounded_there(data: Frame, groups: Sequence[str], reported: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """:func:`_confounded` of a lazy frame: none where some rows show each group two candidates in both orders."""
    some = _orders_there(data.head(SOME), groups)
    both = some.loc[some["_turned"] == 1, [*groups]].itertuples(index=False, name=None)
    if reported <= {tuple(map(str, key)) for key in both}:
        return set()
    table = _orders_there(data, groups)
    one_candidate = (table["_first0"] == table["_first1"]) | (table["_second0"] == table["_second1"])
    confounded = (table["_turned"] == 0) & (one_candidate | (2 * table["_recurring"] >= table["_pairs"]))
    return {tuple(map(str, key)) for key in table.loc[confounded, [*groups]].itertuples(index=False, name=None)}


def _orders_there(data: Frame, groups: Sequence[str]) -> pd.DataFrame:
    """How candidates are shown in each group, in the engine: least and greatest in place of several values."""
    first, second, item = (nw.col(c).cast(nw.String).fill_null("") for c in ("first", "second", "item"))
    low, high = (nw.when(first <= second).then(a).otherwise(b) for a, b in ((first, second), (second, first)))
    turned = one_if(first > second)
    orders = {"_low": low, "_high": high, "_turned": turned, "_first": first, "_second": second, "_item": item}
    calls = data.lazy().select(*groups, *(values.alias(name) for name, values in orders.items()))
    ends = [(nw.col(c).min().alias(f"{c}0"), nw.col(c).max().alias(f"{c}1")) for c in [*orders][2:]]
    pairs = calls.group_by(*groups, "_low", "_high").agg(*itertools.chain(*ends))
    recurring = one_if(nw.col("_item0") != nw.col("_item1")).alias("_recurring")
    turned = one_if(nw.col("_turned0") != nw.col("_turned1")).alias("_turned")
    least, greatest = (nw.col(f"_first{i}", f"_second{i}") for i in (0, 1))
    of_groups = pairs.with_columns(recurring, turned).group_by(*groups)
    group_orders = of_groups.agg(
        nw.col("_turned").max(), nw.col("_recurring").sum(), nw.len().alias("_pairs"), least.min(), greatest.max()
    )
    table: pd.DataFrame = group_orders.collect(backend="pandas").to_native()
    return table
