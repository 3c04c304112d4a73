"""One pair judged under a baseline and under another strategy or probe, matched and counted."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.counting.clustering import CANDIDATES, Sharing, pair_label
from judgestats.counting.clusters import cluster_of_counts, kept
from judgestats.counting.engines import collected
from judgestats.counting.pairing import low_and_high, refuse_nameless
from judgestats.counting.patterns import Pattern
from judgestats.errors import DesignError, SchemaError, refuse_unknown
from judgestats.schema.coding import candidates, codes_of, count_rows, tidy
from judgestats.schema.columns import COUNTS, N, unit_columns
from judgestats.schema.declared_counts import call_counts

#: Answer for a pair that was not judged under the other condition.
MISSING = "missing"
_UNEVEN_SIDES = "The two sides of a comparison have different counts: pairs cannot be matched."


def count_changes(
    data: Any,
    pattern: Pattern,
    split: list[str],
    groups: list[str],
    keys: list[str],
    clusters: tuple[str, ...] | None,
    baseline: str | None,
) -> tuple[pd.DataFrame, Sharing, tuple[str, ...]]:
    """Pairs by their outcome under the baseline and under each other value of ``pattern.across``; their clusters.

    `split`, `groups`: columns that come first, and all that split the counts. A pair that one side lacks is kept as
    ``missing``.
    """
    if isinstance(data, nw.LazyFrame):
        return _changes_there(data, pattern, split, groups, keys, clusters, baseline)
    table = matched_changes(data, pattern, groups, baseline)
    if "pair" not in groups:
        table = table.assign(pair=codes_of(table, ["item", "_low", "_high"]).code)
    shared = dict.fromkeys(c for c in (*keys, *CANDIDATES) if c in table)
    units = nw.from_native(table[[*shared]], eager_only=True)
    found = cluster_of_counts(units, keys, pattern, float(table["n"].sum()))
    by_column = kept(clusters, found)
    if "pair" in by_column and "pair" not in groups:
        low, high = (table[c].astype(str) for c in ("_low", "_high"))
        table = table.assign(pair=table["item"].astype(str) + "|" + low + "|" + high)
    columns = list(dict.fromkeys([*split, *by_column, *groups, pattern.across, "baseline", "outcome"]))
    return count_rows(table, columns, "n"), found, by_column


def _changes_there(
    data: Any,
    pattern: Pattern,
    split: list[str],
    groups: list[str],
    keys: list[str],
    clusters: tuple[str, ...] | None,
    baseline: str | None,
) -> tuple[pd.DataFrame, Sharing, tuple[str, ...]]:
    """:func:`count_changes` of a lazy frame: matched and counted in its own engine."""
    across, present = pattern.across, list(data.collect_schema().names())
    refuse_nameless(data)
    unit = [c for c in unit_columns(present, groups) if c != across]
    n = nw.col(COUNTS).cast(nw.Float64) if COUNTS in present else nw.lit(1.0)
    data = data.with_columns(nw.col(c).cast(nw.String) for c in dict.fromkeys(("first", "second", across)))
    data = data.select(*dict.fromkeys([*unit, across, "first", "second", "outcome"]), n.alias(N))
    data = data.with_columns(*low_and_high(("_low", "_high")))
    levels = collected(data.group_by(across).agg(nw.len().alias("rows")))
    _refuse_unnamed(levels[across], across, levels["rows"])
    base = _baseline(levels[across], across, baseline)
    further = [k for k in unit if k not in ("judge", "item", *groups)]
    dropped = [k for k in further if _goes_with(data, k, across)]
    unit = [*(k for k in unit if k not in dropped), "_low", "_high"]
    twice = data.group_by(*unit, across).agg(nw.len().alias("rows")).filter(nw.col("rows") > 1)
    if len(collected(twice.head(1))):
        unit.append("first")
        twice = data.group_by(*unit, across).agg(nw.len().alias("rows")).filter(nw.col("rows") > 1)
        if len(again := collected(twice.head(1))):
            raise DesignError(_judged_twice(again.iloc[0], across))
    parts = []
    for value in (v for v in sorted(levels[across]) if v != base):
        here, there = (nw.when(nw.col(across) == v) for v in (base, value))
        pairs = data.filter(nw.col(across).is_in((base, value))).with_columns(
            here.then(nw.col("outcome")).alias("baseline"),
            there.then(nw.col("outcome")).alias("outcome"),
            here.then(nw.col(N)).alias("_before"),
            there.then(nw.col(N)).alias("_after"),
        )
        pairs = pairs.group_by(*unit).agg(nw.col("baseline", "outcome", "_before", "_after").max())
        parts.append(pairs.with_columns(nw.lit(value).alias(across)))
    table = nw.concat(parts)
    if COUNTS in present and len(collected(table.filter(nw.col("_before") != nw.col("_after")).head(1))):
        raise DesignError(_UNEVEN_SIDES)
    counted = nw.when(nw.col("_after").is_null()).then(nw.col("_before")).otherwise(nw.col("_after"))
    answers = (nw.col(c).fill_null(MISSING) for c in ("baseline", "outcome"))
    label = [] if "pair" in groups else [pair_label(nw.col("item"), nw.col("_low"), nw.col("_high")).alias("pair")]
    table = table.with_columns(counted.alias(N), *answers, *label)
    shown = table.collect_schema().names()
    units = table.select(*dict.fromkeys(c for c in (*keys, *CANDIDATES) if c in shown))
    found = cluster_of_counts(units, keys, pattern, float(collected(table.select(nw.col(N).sum()))[N].iloc[0] or 0))
    by_column = kept(clusters, found)
    columns = list(dict.fromkeys([*split, *by_column, *groups, across, "baseline", "outcome"]))
    return tidy(collected(table.group_by(*columns).agg(nw.col(N).sum())), columns), found, by_column


def _goes_with(data: Any, column: str, across: str) -> bool:
    """Whether a column of a lazy frame has one value under each value of another, and not always the same."""
    there = data.select(across, column).unique()
    most = collected(there.group_by(across).agg(nw.len().alias("_values")).select(nw.col("_values").max()))
    return most["_values"].iloc[0] == 1 and len(collected(there.select(column).unique().head(2))) > 1


def matched_changes(data: Any, pattern: Pattern, groups: list[str], baseline: str | None) -> pd.DataFrame:
    """One row per pair and value of ``pattern.across`` other than the baseline, with both outcomes."""
    across = pattern.across
    present = list(data.collect_schema().names())
    keys = [c for c in unit_columns(present, groups) if c != across]
    weight = [COUNTS] if COUNTS in present else []
    columns = dict.fromkeys([*keys, across, "first", "second", "outcome", *weight])
    table = data.lazy().select(*columns).collect(backend="pandas").to_native()
    _refuse_unnamed(table[across], across, 1)
    table[across] = table[across].astype(str)
    base = _baseline(table[across], across, baseline)
    low, high, _ = candidates(table)
    table = table.assign(_low=low[0], _high=high[0], n=call_counts(table[COUNTS]) if weight else 1.0)
    conditions = {
        k: table.groupby(across, dropna=False)[k].nunique(dropna=False)
        for k in keys
        if k not in ("judge", "item", *groups) and table[k].nunique(dropna=False) > 1
    }
    keys = [
        k for k in keys if k not in conditions or (conditions[k] > 1).any()
    ]  # one that goes with `across` is no key
    unit = _unit(table, [*keys, "_low", "_high"], across)
    one = table[table[across] == base].rename(columns={"outcome": "baseline"}).drop(columns=across)
    others = [v for v in sorted(table[across].unique()) if v != base]
    parts = [_beside(one, table[table[across] == v], unit, across, v) for v in others]
    return pd.concat(parts, ignore_index=True)


def _refuse_unnamed(values: pd.Series[Any], across: str, rows: pd.Series[Any] | int) -> None:
    """Raise where the condition compared is missing; `rows`: how many each value stands for."""
    n = pd.Series(rows, index=values.index)
    if without := int(n[values.isna()].sum()):
        raise SchemaError(f"{across!r} is missing in {without:,} of {n.sum():,} rows. Name it, or drop these rows.")


def _baseline(values: pd.Series[Any], across: str, baseline: str | None) -> str:
    found = sorted(values.unique())
    if len(found) < 2:
        raise DesignError(f"{across!r} has one value ({', '.join(found) or 'none'}): there is nothing to compare.")
    if baseline is None:
        raise DesignError(
            f"{across!r} has {len(found)} values ({', '.join(found)}). Say which is the baseline=.",
            advice=(("baseline", None),),
        )
    refuse_unknown(baseline, found, f"baseline={baseline!r} is not in {across!r}", "It has")
    return baseline


def _unit(table: pd.DataFrame, keys: list[str], across: str) -> list[str]:
    """Columns that match the calls one to one: without the order shown where that is enough."""
    for unit in (keys, [*keys, "first"]):
        if codes_of(table, [*unit, across]).size == len(table):
            return unit
    raise DesignError(_judged_twice(table[table.duplicated([*keys, "first", across], keep=False)].iloc[0], across))


def _judged_twice(again: pd.Series[Any], across: str) -> str:
    return (
        f"A pair was judged twice in one order under one {across!r} (judge {again['judge']}, item {again['item']}, "
        f"{across} {again[across]}). Number repeats in 'replicate', name the column that distinguishes them in by=, or "
        "aggregate() them to one verdict."
    )


def _beside(one: pd.DataFrame, other: pd.DataFrame, unit: list[str], across: str, value: str) -> pd.DataFrame:
    pair = one[[*unit, "baseline", "n"]].merge(
        other[[*unit, "outcome", "n"]], on=unit, how="outer", suffixes=("_b", "")
    )
    uneven = pair["n_b"].notna() & pair["n"].notna() & (pair["n_b"] != pair["n"])
    if uneven.any():
        raise DesignError(_UNEVEN_SIDES)
    n = np.where(pair["n"].isna(), pair["n_b"], pair["n"])
    answers = {c: pair[c].astype(str).where(pair[c].notna(), MISSING) for c in ("baseline", "outcome")}
    return pair.drop(columns="n_b").assign(**{across: value, "n": n, **answers})
