"""One pair judged under a baseline and under another strategy or probe: matched and counted."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.schema.clustering import CANDIDATES, Sharing, auto_cluster
from judgestats.schema.coding import codes_of, count
from judgestats.schema.columns import COUNTS
from judgestats.schema.declared_counts import call_counts
from judgestats.schema.pairing import candidates, unit_columns
from judgestats.schema.patterns import Pattern

#: What the answer is of a pair that was not judged under the other condition.
MISSING = "missing"


def count_changes(
    data: Any,
    pattern: Pattern,
    split: list[str],
    groups: list[str],
    apart: list[str],
    clusters: tuple[str, ...] | None,
    baseline: str | None,
) -> tuple[pd.DataFrame, Sharing, tuple[str, ...]]:
    """Count pairs by their outcome under the baseline and under each other value of ``pattern.across``.

    `data`: calls with the column ``outcome``. `pattern`: of the unit ``change``. `split`, `groups`: columns that are to
    come first, and all that split the counts. `apart`: columns that tell two estimates apart. `clusters`: columns to
    cluster by; None for what the pairs share. `baseline`: the value that the others are compared with; None
    is refused: a control condition is named. Returns `counts`: the `groups`, the cluster, ``pattern.across``,
    ``baseline``, ``outcome`` and ``n``. A pair that one side lacks is kept: its answer there is ``missing``. `found`:
    what the pairs share. `clusters`: columns to cluster by. Raises DesignError if the baseline does not occur, or a
    pair was judged twice under one value.
    """
    table = matched_changes(data, pattern, groups, baseline)
    if "pair" not in groups:
        table = table.assign(pair=codes_of(table, ["item", "_low", "_high"]).code)
    candidates = dict.fromkeys(c for c in (*apart, *CANDIDATES) if c in table)
    found = auto_cluster(
        nw.from_native(table[[*candidates]], eager_only=True), apart, pattern.cluster, float(table["n"].sum())
    )
    if not found.column and pattern.pooled:  # what the levels of a mean share
        rest = [c for c in apart if c not in pattern.pooled]
        found = auto_cluster(
            nw.from_native(table[[*candidates]], eager_only=True), rest, pattern.cluster, float(table["n"].sum())
        )
    kept = ((found.column,) if found.column else ()) if clusters is None else clusters
    if "pair" in kept and "pair" not in groups:
        low, high = (table[c].astype(str) for c in ("_low", "_high"))
        table = table.assign(pair=table["item"].astype(str) + "|" + low + "|" + high)
    columns = list(dict.fromkeys([*split, *kept, *groups, pattern.across, "baseline", "outcome"]))
    return count(table, columns, "n"), found, kept


def matched_changes(data: Any, pattern: Pattern, groups: list[str], baseline: str | None) -> pd.DataFrame:
    """One row per pair and value of ``pattern.across`` other than the baseline, with both outcomes."""
    across = pattern.across
    present = list(data.collect_schema().names())
    keys = [c for c in unit_columns(present, groups) if c != across]
    weight = [COUNTS] if COUNTS in present else []
    columns = dict.fromkeys([*keys, across, "first", "second", "outcome", *weight])
    table = data.lazy().select(*columns).collect(backend="pandas").to_native()
    if without := int(table[across].isna().sum()):
        raise SchemaError(f"{across!r} is missing in {without:,} of {len(table):,} rows. Name it, or drop these rows.")
    table[across] = table[across].astype(str)
    base = _baseline(table[across], across, baseline)
    low, high, _ = candidates(table)
    table = table.assign(_low=low[0], _high=high[0], n=call_counts(table[COUNTS]) if weight else 1.0)
    keys = [k for k in keys if k in groups or not _told_by(table, k, across)]
    unit = _unit(table, [*keys, "_low", "_high"], across)
    one = table[table[across] == base].rename(columns={"outcome": "baseline"}).drop(columns=across)
    others = [v for v in sorted(table[across].unique()) if v != base]
    parts = [_beside(one, table[table[across] == v], unit, across, v) for v in others]
    return pd.concat(parts, ignore_index=True)


def _baseline(values: pd.Series[Any], across: str, baseline: str | None) -> str:
    found = sorted(values.unique())
    if len(found) < 2:
        raise DesignError(f"{across!r} has one value ({', '.join(found) or 'none'}): there is nothing to compare.")
    if baseline is None:
        raise DesignError(
            f"{across!r} has {len(found)} values ({', '.join(found)}). Say which is the baseline=.",
            advice=(("baseline", None),),
        )
    if baseline not in found:
        raise DesignError(
            f"baseline={baseline!r} is not in {across!r}. It has: {', '.join(found)}.{suggestion(baseline, found)}"
        )
    return baseline


def _told_by(table: pd.DataFrame, column: str, across: str) -> bool:
    """Whether a condition has one value under each value of `across`, and not the same: it goes with it."""
    values = table.groupby(across, dropna=False)[column].nunique(dropna=False)
    return column not in ("judge", "item") and bool((values == 1).all()) and table[column].nunique(dropna=False) > 1


def _unit(table: pd.DataFrame, keys: list[str], across: str) -> list[str]:
    """Columns that match the calls one to one: without the order shown where that is enough."""
    for unit in (keys, [*keys, "first"]):
        if codes_of(table, [*unit, across]).size == len(table):
            return unit
    again = table[table.duplicated([*keys, "first", across], keep=False)].iloc[0]
    raise DesignError(
        f"A pair was judged twice in one order under one {across!r} (judge {again['judge']}, item {again['item']}, "
        f"{across} {again[across]}). Number repeats in 'replicate', name the column that tells them apart in by=, or "
        "aggregate() them to one verdict."
    )


def _beside(one: pd.DataFrame, other: pd.DataFrame, unit: list[str], across: str, value: str) -> pd.DataFrame:
    pair = one[[*unit, "baseline", "n"]].merge(
        other[[*unit, "outcome", "n"]], on=unit, how="outer", suffixes=("_b", "")
    )
    uneven = pair["n_b"].notna() & pair["n"].notna() & (pair["n_b"] != pair["n"])
    if uneven.any():
        raise DesignError("The two sides of a comparison have different counts: pairs cannot be matched.")
    n = np.where(pair["n"].isna(), pair["n_b"], pair["n"])
    answers = {c: pair[c].astype(object).where(pair[c].notna(), MISSING) for c in ("baseline", "outcome")}
    return pair.drop(columns="n_b").assign(**{across: value, "n": n, **answers})
