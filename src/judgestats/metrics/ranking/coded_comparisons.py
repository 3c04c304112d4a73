"""Calls, a tally or a printed matrix as coded comparisons of systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.counting.clustering import Cluster
from judgestats.counting.clusters import Clusters
from judgestats.counting.study import Calls, Study
from judgestats.counting.tallies import count
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.kernels.paired_comparisons import LOSS, TIE, WIN, Comparisons
from judgestats.metrics.references import labels
from judgestats.results import frame_of
from judgestats.schema.coding import Codes, codes_of, column_codes, combine, hashed
from judgestats.schema.columns import By, grouping, names
from judgestats.typing import Column, Floats, Ints

#: Fewer judges are these judges, and no sample of judges.
SAMPLED_JUDGES = 30
#: How a tie counts in a ranking: an answer of its own, in either of two models; half a win for each; excluded.
TiesOfRanking = Literal["davidson", "rao-kupper", "half", "drop"]
IntervalOfRanking = Literal["sandwich", "model", "percentile"]
_OUTCOMES = {"win": WIN, "loss": LOSS, "tie": TIE}


@dataclass(frozen=True)
class RankingOptions:
    """Arguments of :func:`rank_systems`."""

    ties: TiesOfRanking
    slot: bool
    covariates: tuple[str, ...]
    reference: str | None
    pseudo_ties: float
    interval: IntervalOfRanking
    stability: tuple[str, ...]
    n_resamples: int
    seed: int | np.random.Generator | None
    conf_level: float

    @property
    def extra(self) -> list[str]:
        """Terms besides the systems."""
        return [*(["slot"] if self.slot else []), *self.covariates]


@dataclass(frozen=True)
class CountedCalls:
    """Counts of comparisons, and what is known of the calls."""

    table: pd.DataFrame
    sharing: Clusters  # columns that calls share
    clusters: list[str]  # columns by which intervals are clustered
    ordered: bool  # whether the order shown is known


@dataclass(frozen=True)
class CodedComparisons:
    """The valid comparisons of systems that are ranked together: arrays (N,), and one row for each distinct one."""

    names: list[str]  # of all systems, those without a valid call among them
    systems: list[str]  # of the others
    n: Floats
    outcome: Ints
    row: Ints  # the distinct comparison
    distinct: Comparisons  # without counts; each column of `extra` is divided by its `scale`
    scale: Floats
    clusters: list[str]
    codes: dict[str, Codes]  # of the columns of clusters, and of those over which stability is measured
    excluded: list[str]  # flags

    def counted(self, n: Floats) -> Comparisons:
        """The comparisons with these counts of the calls."""
        size = self.distinct.system.size
        counts: Floats = np.bincount(self.row * 3 + self.outcome, weights=n, minlength=3 * size).astype(np.float64)
        return self.distinct._replace(counts=counts.reshape(size, 3))


def is_matrix(table: pd.DataFrame) -> bool:
    """Whether a table has the same names for rows and columns, and numbers in them."""
    square = len(table) == len(table.columns) > 0 and set(table.index) == set(table.columns)
    return square and all(pd.api.types.is_numeric_dtype(t) for t in table.dtypes)


def tally_of_matrix(table: pd.DataFrame) -> pd.DataFrame:
    """Tally of a matrix of wins of the row over the column."""
    systems = [str(s) for s in table.columns]
    wins = table.loc[list(table.columns)].fillna(0).to_numpy(dtype=float)
    if (wins < 0).any():
        raise SchemaError(f"The matrix of wins has {wins.min():g}. Allowed: numbers from 0.")
    one, two = np.triu_indices(len(systems))
    parts = [
        pd.DataFrame({"system": np.take(systems, one), "opponent": np.take(systems, two), "outcome": outcome, "n": n})
        for outcome, n in (("win", wins[one, two]), ("loss", np.where(one == two, 0.0, wins[two, one])))
    ]
    whole = pd.concat(parts, ignore_index=True)
    return whole[whole["n"] > 0].reset_index(drop=True)


def counted_calls(calls: Calls, options: RankingOptions, by: By, cluster: Cluster) -> CountedCalls:
    """Counts with the columns that a ranking needs."""
    study = Study.of(calls)
    if options.covariates:
        study = study.part(_with_differences(study.data, options.covariates))
    present = study.names
    grouping(options.stability, present, argument="stability")
    ordered = {"first", "second", "choice"} <= set(present)
    if ordered:
        try:
            study.refuse_unknown_order()
        except DesignError:
            if options.slot:
                raise
            ordered = False
    judges = ["judge"] if cluster == "auto" and "judge" in present and "judge" not in names(by) else []
    if judges and len(labels(calls, "judge")) < SAMPLED_JUDGES:
        judges = []
    further = list(dict.fromkeys([*options.covariates, *options.stability, *judges]))
    counts = count(study, "rank_systems", by, cluster=cluster, beside=further)
    table, clusters = counts.table, list(counts.clusters.columns)
    if judges and "judge" not in clusters and table["n"].sum() > table["judge"].nunique():
        clusters = [*clusters, "judge"]
    if len(clusters) > 2:
        raise DesignError(f"cluster= names {len(clusters)} columns. Allowed: one, or two crossed factors.")
    return CountedCalls(table, counts.clusters, clusters, ordered)


def _with_differences(data: Any, covariates: Sequence[str]) -> Any:
    """Add the difference of each covariate that a frame has for both sides."""
    present = data.collect_schema()
    for name in covariates:
        sides = [f"{name}_first", f"{name}_second"]
        wanted = [name] if name in present else sides
        missing = [c for c in wanted if c not in present]
        if missing:
            columns = present.names()
            raise SchemaError(
                f"covariates={name!r} is not a column, nor are {sides[0]!r} and {sides[1]!r}. Columns: "
                f"{', '.join(columns)}.{suggestion(name, columns)}"
            )
        for column in wanted:
            if not present[column].is_numeric():
                raise SchemaError(f"{column!r} is not a number. A covariate is a difference of numbers: give numbers.")
        if wanted == sides:
            difference = nw.col(sides[0]).cast(nw.Float64) - nw.col(sides[1]).cast(nw.Float64)
            data = data.with_columns(difference.alias(name))
    return data


def coded_comparisons(table: pd.DataFrame, clusters: list[str], options: RankingOptions) -> CodedComparisons:
    """Code the valid calls."""
    n = table["n"].to_numpy(dtype=float)
    answer, answers = hashed(table["outcome"])
    outcome = np.array([_OUTCOMES.get(a, -1) for a in answers], dtype=np.int64)[answer]
    (one, two), all_systems = _common_codes(table["system"], table["opponent"])
    itself = one == two
    valid = (outcome >= 0) & ~itself & (n > 0)
    excluded = [
        flags.INVALID_EXCLUDED.of(float(n[(outcome < 0) & ~itself].sum())),
        flags.EXCLUDED.of(float(n[itself].sum()), what="call(s) of a system with itself"),
    ]
    if options.ties == "drop":
        excluded.append(flags.EXCLUDED.of(float(n[valid & (outcome == TIE)].sum()), what="tie(s)"))
        valid &= outcome != TIE
    for name in options.covariates:
        unknown = valid & ~np.isfinite(table[name].to_numpy(dtype=float, na_value=np.nan))
        excluded.append(flags.EXCLUDED.of(float(n[unknown].sum()), what=f"call(s) without {name}"))
        valid &= ~unknown
    coded = list(dict.fromkeys([*clusters, *options.stability]))
    table = frame_of({c: table[c].array[valid] for c in dict.fromkeys([*options.covariates, *coded])}, int(valid.sum()))
    n, outcome, one, two = n[valid], outcome[valid], one[valid], two[valid]
    present = np.zeros(len(all_systems), dtype=bool)
    present[one] = present[two] = True
    number = np.cumsum(present) - 1
    systems = [s for s, occurs in zip(all_systems, present, strict=True) if occurs]
    one, two = number[one], number[two]
    extras = [column_codes(table[c]) for c in options.covariates]
    distinct = combine([(one, len(systems)), (two, len(systems)), *extras], len(one))
    covariates = [np.ones(distinct.size)] if options.slot else []
    covariates += [table[c].to_numpy(dtype=float)[distinct.first] for c in options.covariates]
    extra = np.column_stack(covariates) if covariates else np.empty((distinct.size, 0))
    scale = np.maximum(np.abs(extra).max(axis=0, initial=0.0), 1e-300)
    comparisons = Comparisons(
        one[distinct.first], two[distinct.first], np.ascontiguousarray(extra / scale), np.zeros((0, 3))
    )
    row, codes = distinct.code.astype(np.int64), {c: codes_of(table, [c]) for c in coded}
    return CodedComparisons(all_systems, systems, n, outcome, row, comparisons, scale, clusters, codes, excluded)


def _common_codes(one: Column, two: Column) -> tuple[tuple[Ints, Ints], list[str]]:
    """Codes of two columns of names, and the names, sorted."""
    coded = [hashed(values) for values in (one, two)]
    systems = sorted({str(label) for _, levels in coded for label in levels})
    place = {name: k for k, name in enumerate(systems)}
    first, second = (np.array([place[str(s)] for s in levels], dtype=np.int64)[code] for code, levels in coded)
    return (first, second), systems
