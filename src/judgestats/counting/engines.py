"""Counting where the data lie: patterns of a lazy frame, grouped in its own engine."""

from __future__ import annotations

import functools
import itertools
import operator

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import Frame

from judgestats.counting.clustering import (
    ALIKE,
    CANDIDATES,
    MERGED_ABOVE,
    NAMED,
    SAMPLED,
    Sharing,
    auto_cluster,
)
from judgestats.counting.clusters import cluster_columns
from judgestats.counting.pairing import coded_pairs, count_pairs, number_of_pairs, refuse_nameless
from judgestats.counting.patterns import PATTERNS, SIDES, Pattern
from judgestats.counting.selection import NAMES, chosen, coded_gold, refuse_unknown_gold, with_outcome
from judgestats.counting.sides import CONTEST, SHOWN, of_candidates
from judgestats.counting.study import Study, with_pair
from judgestats.schema.coding import as_scores, tidy
from judgestats.schema.columns import COUNTS, By, N, names, required, unit_columns
from judgestats.schema.declared_counts import counted
from judgestats.schema.factors import Factor, Factors, factor_of
from judgestats.schema.opening import one_of, refuse_nested
from judgestats.typing import Floats, LazyFrame


def count_merged(
    data: LazyFrame, measure: str, by: By, cluster: tuple[str, ...] | None, stimulus: str | None
) -> tuple[Factors, Floats] | None:
    """Counts of a lazy frame with equal clusters merged, for an analytic interval; None if few, or to be refused.

    Above :data:`MERGED_ABOVE` clusters, the cluster column numbers the different ones, the counts are of the calls of
    all of them, and :data:`ALIKE` says how many they are: sums, squares and products over the clusters are the same.
    """
    pattern, present = PATTERNS[measure], list(data.collect_schema().names())
    column = cluster[0] if cluster else "item"
    needed = required("preferences") if pattern.frame == "preferences" else ["judge", "item"]
    lacking = {*needed, *names(by), column} - set(present)
    others = {c for c in CANDIDATES if c in present and c not in (*names(by), "item")}
    if (
        cluster == ()
        or len(cluster or (column,)) > 1
        or lacking
        or column in (*names(by), "judge")
        or (cluster is None and others)
        or any(c in present for c in (*pattern.optional, *(["gold"] if pattern.frame == "ratings" else ())))
        or {*pattern.columns, ALIKE} & {*names(by)}
    ):
        return None
    refuse_nested(data, [*NAMES, *names(by), column])
    counted(data, [*names(by), column], pattern.frame)
    data = as_scores(data) if pattern.frame == "ratings" else chosen(data, pattern, measure, stimulus)
    if pattern.ordered or pattern.unit == "pair":
        Study.of(data).refuse_unknown_order()
    keys = list(dict.fromkeys([*names(by), *(c for c, allowed in pattern.columns.items() if allowed is None)]))
    answer_columns = {c: allowed for c, allowed in pattern.columns.items() if allowed is not None}
    weighted = COUNTS in present
    n: nw.Expr = nw.col(COUNTS) if weighted else nw.lit(1)
    of_answers: dict[tuple[str, ...], nw.Expr]
    if pattern.unit == "pair":
        if (stimulus or len(pattern.stimulus) == 1) and "stimulus" not in keys:
            data = data.drop("stimulus")
        unit = unit_columns(data.collect_schema().names(), [*keys, column])
        data, of_answers = coded_pairs(data, unit, n if weighted else None)
        n = nw.col("_n")
    elif pattern.unit == "side":
        data = nw.concat([_side(data, keys, column, n, slot) for slot in ("first", "second")])
        n, of_answers = nw.col(N), {(side,): nw.col("outcome") == i for i, side in enumerate(SIDES)}
    elif pattern.beside:
        data, of_answers = coded_gold(data)
    else:
        data, words = with_outcome(data, pattern), {c: nw.col(c).cast(nw.String) for c in answer_columns}
        of_answers = {
            answers: functools.reduce(
                operator.and_, (words[c] == v for c, v in zip(answer_columns, answers, strict=True))
            )
            for answers in itertools.product(*answer_columns.values())
        }
    combinations = list(of_answers)
    sums = []
    for i, condition in enumerate(of_answers.values()):
        calls = nw.when(condition).then(n)
        sums.append((calls.sum().fill_null(0) if weighted else calls.count()).alias(f"_{i}"))
    totals = [(n.sum() if weighted else nw.len()).alias("_all")]
    if pattern.unit == "pair":
        totals.append(nw.col("_again").max())
    each = data.group_by(*keys, column).agg(*sums, *totals)
    of = [f"_{i}" for i in range(len(sums))]
    more = [nw.col("_again").max()] if pattern.unit == "pair" else []
    table = tidy(collected(each.group_by(*keys, *of, "_all").agg(nw.len().alias(ALIKE), *more)), keys)
    count_of = table[of].to_numpy(dtype=float)
    per_group = table.groupby(keys, dropna=False)[ALIKE].sum()
    units_there = float((table["_all"].astype(float) * table[ALIKE]).sum())
    if (
        (more and table["_again"].any())
        or (count_of.sum(axis=1) != table["_all"].to_numpy(dtype=float)).any()
        or per_group.sum() <= MERGED_ABOVE
        or ("candidate" in keys and table["candidate"].isna().any())
        or (cluster is None and (units_there <= per_group.sum() or per_group.median() < SAMPLED))
    ):
        return None
    row, answer = np.nonzero(count_of)
    alike = table[ALIKE].to_numpy(dtype=float)
    factors = {key: factor_of(table[key]).at(row) for key in keys}
    factors[column] = Factor(row, pd.RangeIndex(len(table)))
    for i, name in enumerate([*answer_columns, *pattern.beside]):
        factors[name] = factor_of(pd.Series([c[i] for c in combinations], dtype=object)).at(answer)
    clusters = Factors(pd.DataFrame({ALIKE: alike[row]}), factors)
    return clusters, count_of[row, answer] * alike[row]


def _side(data: LazyFrame, keys: list[str], column: str, n: nw.Expr, slot: str) -> LazyFrame:
    """Each call as it is for the candidate of one slot: the place of its outcome in :data:`SIDES`, or -1."""
    choice, other = nw.col("choice").cast(nw.String), "second" if slot == "first" else "first"
    win, loss, tie, invalid = map(nw.lit, range(len(SIDES)))
    win_or_loss = nw.when(choice == slot).then(win).otherwise(nw.when(choice == other).then(loss).otherwise(nw.lit(-1)))
    tied = nw.when(one_of(choice, ("tie", "abstain"))).then(tie).otherwise(win_or_loss)
    return data.select(
        *(k for k in keys if k != "candidate"),
        column,
        nw.col(slot).cast(nw.String).alias("candidate"),
        nw.when(choice.is_null() | (choice == "invalid")).then(invalid).otherwise(tied).alias("outcome"),
        n.alias(N),
    )


def count_lazily(
    study: Study,
    data: LazyFrame,
    pattern: Pattern,
    split: list[str],
    groups: list[str],
    keys: list[str],
    cluster: tuple[str, ...] | None,
) -> tuple[pd.DataFrame, Sharing, tuple[str, ...]]:
    """Counts of calls, sides, pairs or right and wrong verdicts of a lazy frame; what they share; their clusters.

    `study`: of which `data` are the rows that are counted. `split`, `groups`: columns that come first, and all that
    split the counts. `keys`: those that distinguish two estimates.
    """
    if pattern.frame == "ratings":
        data = as_scores(data)
        if "gold" in data.collect_schema().names() and "outcome" in pattern.columns:
            refuse_unknown_gold(data)
    present = data.collect_schema().names()
    if pattern.unit == "side" or "opponent" in pattern.columns:
        refuse_nameless(data)
    if cluster:
        sharing = NAMED
    elif pattern.unit == "side":
        sides = Study.of(_sides(data, keys))
        sharing = auto_cluster(study, keys, 2 * Study.of(data).n_calls, units=sides)
    elif "item" not in present:
        sharing = Sharing("", False)
    else:
        calls = study.part(data)
        n_units = number_of_pairs(data, groups) if pattern.unit == "pair" else calls.n_calls
        sharing = auto_cluster(calls, [c for c in keys if c in present], n_units)
    columns = cluster_columns(cluster, sharing)
    if "pair" in columns and "pair" not in present:
        data = with_pair(data)
    before = groups if pattern.frame == "ratings" else split
    groups = list(dict.fromkeys([*before, *columns, *groups]))
    if pattern.unit == "pair":
        return count_pairs(data, groups), sharing, columns
    wanted = list(dict.fromkeys([*groups, *pattern.columns, *pattern.beside]))
    if pattern.unit == "side" or "opponent" in pattern.columns:
        seen = list(dict.fromkeys([*(c for c in wanted if c not in CONTEST), *SHOWN]))
        calls = _grouped(data.with_columns(nw.col(c).cast(nw.String) for c in SHOWN), seen)
        patterns, n = of_candidates(Factors(calls), calls[N].to_numpy(), pattern, wanted)
        return patterns.frame(wanted).assign(n=n), sharing, columns
    return _grouped(with_outcome(data, pattern), wanted), sharing, columns


def collected(data: Frame) -> pd.DataFrame:
    """A small frame in memory."""
    return data.lazy().collect(backend="pandas").to_native()


def _sides(data: LazyFrame, keys: list[str]) -> LazyFrame:
    """Each call twice, once for each candidate, with the columns that calls may share."""
    present = data.collect_schema().names()
    data = data if "pair" in present else with_pair(data)
    columns = list(dict.fromkeys(c for c in (*keys, *CANDIDATES) if c in (*present, "pair") and c != "candidate"))
    return nw.concat(
        [data.select(*columns, nw.col(slot).cast(nw.String).alias("candidate")) for slot in ("first", "second")]
    )


def _grouped(data: LazyFrame, columns: list[str]) -> pd.DataFrame:
    total = nw.col(COUNTS).sum() if COUNTS in data.collect_schema().names() else nw.len()
    counts = collected(data.group_by(*columns).agg(total.alias("_count"))).rename(columns={"_count": N})
    return tidy(counts.assign(n=counts[N].astype(float)), columns)
