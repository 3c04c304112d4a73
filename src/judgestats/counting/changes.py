"""One pair judged under a baseline and under another strategy or probe, matched and counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.counting.clustering import CANDIDATES, NAMED, Sharing
from judgestats.counting.clusters import cluster_columns, cluster_of_counts
from judgestats.counting.engines import collected
from judgestats.counting.pairing import low_and_high, refuse_nameless
from judgestats.counting.patterns import Query
from judgestats.counting.study import Study, pair_label
from judgestats.errors import DesignError, SchemaError, refuse_unknown
from judgestats.schema.coding import compact, joint, tidy
from judgestats.schema.columns import COUNTS, N, grouping, unit_columns
from judgestats.schema.factors import Factor, Factors
from judgestats.typing import Column, Floats, LazyFrame

#: Answer for a pair that was not judged under the other condition.
MISSING = "missing"
_SIDES = ("baseline", "outcome")
_UNEVEN_SIDES = "The two sides of a comparison have different counts: pairs cannot be matched."


class MatchedPairs(NamedTuple):
    """Pairs under the baseline and under each other value of a column."""

    columns: Factors  # of each pair, with the other value
    base: NDArray[np.intp]  # row of the call under the baseline, -1 where there is none
    other: NDArray[np.intp]


def count_changes(
    calls: Study, query: Query, present: Sequence[str], baseline: str | None
) -> tuple[Factors, Floats, Sharing, tuple[str, ...]]:
    """Pairs by their outcome under the baseline and under each other value of ``pattern.across``; their clusters.

    A pair that one side lacks is kept as ``missing``. `present`: the columns of the frame, without those made of them.
    """
    pattern, split = query.pattern, grouping(query.split, present)
    groups, keys = query.groups(present, split, query.cluster or ()), query.keys(present)
    pairs = matched_changes(calls, pattern.across, groups, baseline)
    either = np.where(pairs.other < 0, pairs.base, pairs.other)
    n = np.ones(either.size) if calls.weight is None else calls.weight[either]
    if calls.weight is not None and (calls.weight[np.where(pairs.base < 0, pairs.other, pairs.base)] != n).any():
        raise DesignError(_UNEVEN_SIDES)
    sharing = NAMED
    if not query.cluster:
        sharing = cluster_of_counts(calls, Study(calls.candidates.take(either)), keys, pattern)
    by_column = cluster_columns(query.cluster, sharing)
    outcome = calls.columns["outcome"]
    answers = Factor(np.append(outcome.code, len(outcome.labels)), [*outcome.labels, MISSING]).recoded({}, MISSING)
    sides = {name: Factor(answers.code[rows], answers.labels) for name, rows in zip(_SIDES, pairs[1:], strict=True)}
    if "pair" in by_column and "pair" not in groups:
        code, labels = calls.with_pair().columns["pair"]
        sides["pair"] = Factor(code[either], labels)
    wanted = list(dict.fromkeys([*split, *by_column, *groups, pattern.across, *_SIDES]))
    return *pairs.columns.but(**sides).counted(wanted, n), sharing, by_column


def matched_changes(calls: Study, across: str, groups: list[str], baseline: str | None) -> MatchedPairs:
    """Calls on one pair under the baseline and under each other value of `across`."""
    columns, rows = calls.columns, len(calls.columns)
    _refuse_unnamed(columns.series(across), across, 1)
    factor = columns[across].recoded({label: str(label) for label in columns[across].labels}, "")
    used, code = np.unique(factor.code, return_inverse=True)
    values = [factor.labels[i] for i in used]
    base = values.index(chosen_baseline(values, across, baseline))
    low, high, _ = calls.ordered
    keys = [c for c in unit_columns(calls.names, groups) if c != across]
    fixed = {k for k in keys if k not in ("judge", "item", *groups) and _one_for_each(columns, k, across, len(values))}
    parts = [*columns.of([k for k in keys if k not in fixed]), low, high]  # one that goes with `across` is no key
    for unit in (parts, [*parts, columns["first"]]):
        number, codes = compact(*joint([(f.code, len(f.labels)) for f in unit], rows))
        at = np.full((codes.size, len(values)), -1, dtype=np.intp)
        at[number, code] = np.arange(rows)
        if np.count_nonzero(at >= 0) == rows:
            break
    else:
        again = int(np.flatnonzero(np.bincount(number * len(values) + code)[number * len(values) + code] > 1)[0])
        raise DesignError(_judged_twice(columns.take(np.array([again])).frame().iloc[0], across))
    others = [i for i in range(len(values)) if i != base]
    there = [np.flatnonzero((at[:, [base, i]] >= 0).any(axis=1)) for i in others]
    one = np.concatenate([at[units, base] for units in there])
    other = np.concatenate([at[units, i] for units, i in zip(there, others, strict=True)])
    of_other = np.repeat(np.array(others), [units.size for units in there])
    return MatchedPairs(
        columns.take(np.where(other < 0, one, other)).but(**{across: Factor(of_other, pd.Index(values))}), one, other
    )


def _one_for_each(columns: Factors, column: str, across: str, values: int) -> bool:
    """Whether each value of `across` has one value of `column`, which varies."""
    return columns.n_distinct([column]) > 1 and columns.n_distinct([across, column]) == values


def lazy_changes(
    study: Study, data: LazyFrame, query: Query, baseline: str | None
) -> tuple[pd.DataFrame, Sharing, tuple[str, ...]]:
    """:func:`count_changes` of a lazy frame: matched and counted in its own engine."""
    pattern, present = query.pattern, study.names
    across, split = pattern.across, grouping(query.split, present)
    groups, keys = query.groups(present, split, query.cluster or ()), query.keys(present)
    refuse_nameless(data)
    unit = [c for c in unit_columns(present, groups) if c != across]
    n = nw.col(COUNTS).cast(nw.Float64) if COUNTS in present else nw.lit(1.0)
    data = data.with_columns(nw.col(c).cast(nw.String) for c in dict.fromkeys(("first", "second", across)))
    data = data.select(*dict.fromkeys([*unit, across, "first", "second", "outcome"]), n.alias(N))
    data = data.with_columns(*low_and_high(("_low", "_high")))
    levels = collected(data.group_by(across).agg(nw.len().alias("rows")))
    _refuse_unnamed(levels[across], across, levels["rows"])
    base = chosen_baseline(levels[across], across, baseline)
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
        at_baseline, at_value = (nw.when(nw.col(across) == v) for v in (base, value))
        pairs = data.filter(nw.col(across).is_in((base, value))).with_columns(
            at_baseline.then(nw.col("outcome")).alias("baseline"),
            at_value.then(nw.col("outcome")).alias("outcome"),
            at_baseline.then(nw.col(N)).alias("_before"),
            at_value.then(nw.col(N)).alias("_after"),
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
    sharing = NAMED
    if not query.cluster:
        table_columns = table.collect_schema().names()
        wanted = [*dict.fromkeys(c for c in (*keys, *CANDIDATES) if c in table_columns)]
        units = Study.of(table.select(*wanted, nw.col(N).alias(COUNTS)))
        sharing = cluster_of_counts(study, units, keys, pattern)
    by_column = cluster_columns(query.cluster, sharing)
    columns = list(dict.fromkeys([*split, *by_column, *groups, across, "baseline", "outcome"]))
    return tidy(collected(table.group_by(*columns).agg(nw.col(N).sum())), columns), sharing, by_column


def _goes_with(data: LazyFrame, column: str, across: str) -> bool:
    """As :func:`_one_for_each`, of a lazy frame."""
    there = data.select(across, column).unique()
    most = collected(there.group_by(across).agg(nw.len().alias("_values")).select(nw.col("_values").max()))
    return most["_values"].iloc[0] == 1 and len(collected(there.select(column).unique().head(2))) > 1


def _refuse_unnamed(values: Column, across: str, rows: Column | int) -> None:
    """Raise where the condition compared is missing; `rows`: how many each value stands for."""
    if not (absent := values.isna()).any():
        return
    n = pd.Series(rows, index=values.index)
    if without := int(n[absent].sum()):
        raise SchemaError(f"{across!r} is missing in {without:,} of {n.sum():,} rows. Name it, or drop these rows.")


def chosen_baseline(values: Iterable[str], across: str, baseline: str | None) -> str:
    """The condition that the others are compared with; it is never guessed."""
    levels = sorted({*values})
    if len(levels) < 2:
        raise DesignError(f"{across!r} has one value ({', '.join(levels) or 'none'}): there is nothing to compare.")
    if baseline is None:
        raise DesignError(
            f"{across!r} has {len(levels)} values ({', '.join(levels)}). Say which is the baseline=.",
            advice=(("baseline", None),),
        )
    refuse_unknown(baseline, levels, f"baseline={baseline!r} is not in {across!r}", "It has")
    return baseline


def _judged_twice(again: Column, across: str) -> str:
    return (
        f"A pair was judged twice in one order under one {across!r} (judge {again['judge']}, item {again['item']}, "
        f"{across} {again[across]}). Number repeats in 'replicate', name the column that distinguishes them in by=, or "
        "aggregate() them to one verdict."
    )
