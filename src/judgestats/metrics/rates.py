"""Proportions of a tally and their differences, with analytic and bootstrap intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from judgestats import flags
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose
from judgestats.kernels.clusters import effective_clusters
from judgestats.kernels.proportions import (
    ROUNDING,
    clustered_tango,
    clustered_wilson,
    newcombe,
    newcombe_paired,
    normal_quantile,
    wilson,
)
from judgestats.kernels.resampling import (
    bca_interval,
    binomial_interval,
    cluster_totals,
    generator,
    multinomial_totals,
    percentile_interval,
    student_interval,
    two_way_totals,
)
from judgestats.schema.clustering import (
    CANDIDATES,
    MOST_CLUSTERS,
    auto_cluster,
    cluster_codes,
    column_of,
    columns_of,
    dependence,
    independent,
)
from judgestats.schema.clustering import alike as clusters_alike
from judgestats.schema.coding import Coded, codes_of, column_codes, combine, rows_of_codes
from judgestats.schema.columns import By, names
from judgestats.typing import Floats

# ---- Difference of two proportions, of the same units (paired) or of independent samples -----------------------------

#: Hits and trials of the units of a side.
Marks = tuple[NDArray[np.bool_], NDArray[np.bool_]]
_Row = dict[str, Any]
_NO_INTERVAL = dict.fromkeys(("std_error", "conf_low", "conf_high"), math.nan)
#: In place of a cluster column: each pair is a cluster of its two calls.
_UNIT = "\0unit"


@dataclass(frozen=True)
class Sides:
    """Units of two sides, and the units they share.

    `units` (2,): one row per call or pair, with the columns that identify it and its count ``n``, as from ``units()``.
    `shared` (2,): rows of the shared units, in the same order; None if a unit occurs twice on a side.
    """

    units: tuple[pd.DataFrame, pd.DataFrame]
    shared: tuple[NDArray[np.intp], NDArray[np.intp]] | None

    def swapped(self) -> Sides:
        """Return the second side first."""
        return Sides(self.units[::-1], None if self.shared is None else self.shared[::-1])


def matched_sides(one: pd.DataFrame, two: pd.DataFrame, keys: Sequence[str]) -> Sides:
    """Match the units of two sides one to one by `keys`, as far as both have them; missing values are equal."""
    keys = [k for k in keys if k in one.columns and k in two.columns]
    code = codes_of(pd.DataFrame({k: _stacked(one[k], two[k]) for k in keys}), keys).code
    left, right = code[: len(one)], code[len(one) :]
    _, rows_1, rows_2 = np.intersect1d(left, right, return_indices=True)
    repeated = any(len(side) and np.bincount(side).max() > 1 for side in (left, right))
    return Sides((one, two), None if repeated and rows_1.size else (rows_1, rows_2))


def paired_difference(
    sides: Sides, one: Marks, two: Marks, conf_level: float = CONF_LEVEL, cluster: str | Literal["auto"] | None = None
) -> tuple[_Row | None, str]:
    """Proportion of one side minus proportion of the other on their shared units.

    `sides`: the units. `one`, `two` (2,): hits and trials of the units of each side, (N,), or (N, 2) where a unit is a
    pair and its two calls count. `cluster`: column that units share: Tango's interval with the effective n of its
    levels in place of Newcombe's paired one. ``"auto"``: a column detected in the data, and the pair where a unit is
    its two calls. Returns cells of an estimate, None where the sides cannot be paired; and a flag: why they cannot, or
    how many units they share.
    """
    if sides.shared is None:
        return None, flags.REPEATED
    (hit_1, trial_1, n_1), (hit_2, trial_2, n_2) = (
        _weighted(table, *marks) for table, marks in zip(sides.units, (one, two), strict=True)
    )
    rows_1, rows_2 = sides.shared
    both = trial_1[rows_1] & trial_2[rows_2]
    n = n_1[rows_1][both]
    if not n.sum() > 0:
        return None, flags.NOTHING_SHARED if trial_1.any() and trial_2.any() else ""
    if (n != n_2[rows_2][both]).any():
        return None, flags.UNEQUAL_COUNTS
    judged = n_1[trial_1].sum() + n_2[trial_2].sum() - n.sum()
    left_out = "" if judged == n.sum() else flags.STIMULI_SHARED.of(n.sum(), total=f"{judged:,.0f}")
    first, second = hit_1[rows_1][both], hit_2[rows_2][both]
    cells = (first & second, first & ~second, ~first & second, ~first & ~second)
    a, b, c, d = (float(n[x].sum()) for x in cells)
    row = paired_cells(a, b, c, d, conf_level)
    unit = np.broadcast_to(rows_1[:, None], both.shape)[both]
    shared, place = np.unique(unit, return_inverse=True)
    table = sides.units[0].iloc[shared].reset_index(drop=True)
    column = _detected_cluster(table, float(n.sum()), both.shape[1] == 2) if cluster == "auto" else cluster
    if column is None:
        return row, left_out
    code = place if column == _UNIT else cluster_codes(table, column)[place]
    marks = (first & ~second, ~first & second, np.ones_like(first))
    gains, losses, size = (np.bincount(code, n * x).astype(np.float64) for x in marks)
    found = clustered_tango(gains, losses, size, conf_level)
    name = "pair" if column == _UNIT else column
    return {
        **row,
        "std_error": found.std_error,
        "conf_low": found.low,
        "conf_high": found.high,
        "method": f"Tango, paired, clustered by {name} (G = {found.clusters})",
    }, flags.join(flags.few_clusters(size), left_out)


def _detected_cluster(table: pd.DataFrame, counted: float, of_calls: bool) -> str | None:
    """The column that the units of a comparison share."""
    kept = [c for c in (*CANDIDATES, "first", "second") if c in table]
    found = auto_cluster(nw.from_native(table[kept], eager_only=True), [], "item", counted / (2 if of_calls else 1))
    return found.column or (_UNIT if of_calls else None)


def interval_difference(one: Mapping[str, Any], two: Mapping[str, Any]) -> _Row:
    """Difference of two estimates, from the intervals of both (square-and-add); ``n`` is the smaller sample."""
    value = one["estimate"] - two["estimate"]
    return {
        "estimate": value,
        "std_error": math.hypot(one["std_error"], two["std_error"]),
        "conf_low": value - math.hypot(one["estimate"] - one["conf_low"], two["conf_high"] - two["estimate"]),
        "conf_high": value + math.hypot(one["conf_high"] - one["estimate"], two["estimate"] - two["conf_low"]),
        "n": min(one["n"], two["n"]),
        "method": "MOVER, from both intervals",
    }


def independent_difference(k1: float, n1: float, k2: float, n2: float, conf_level: float = CONF_LEVEL) -> _Row:
    """Proportion k1/n1 minus k2/n2 of two independent samples, with Newcombe's interval; NaN if a sample is empty.

    ``n`` is the smaller sample.
    """
    if not (n1 > 0 and n2 > 0):
        return {"estimate": math.nan, "n": 0.0}
    low, high = newcombe(k1, n1, k2, n2, conf_level)
    p1, p2 = k1 / n1, k2 / n2
    return {
        "estimate": p1 - p2,
        "std_error": math.sqrt(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2),
        "conf_low": low,
        "conf_high": high,
        "n": min(n1, n2),
        "method": "Newcombe, independent",
    }


def size_flag(n: float) -> str:
    """Flag of a small or empty sample."""
    return flags.NO_DATA if not n > 0 else flags.SMALL_N if n < 30 else ""


def paired_cells(a: float, b: float, c: float, d: float, conf_level: float = CONF_LEVEL) -> _Row:
    """Difference (b - c)/n of two paired proportions, with Newcombe's paired interval.

    `a`, `b`, `c`, `d`: pairs that are hits on both sides, on the first only, on the second only, on neither.
    """
    total = a + b + c + d
    low, high = newcombe_paired(a, b, c, d, conf_level)
    return {
        "estimate": (b - c) / total,
        "std_error": paired_error(b, c, total),
        "conf_low": low,
        "conf_high": high,
        "n": total,
        "method": "Newcombe, paired",
    }


def paired_error(b: float, c: float, total: float) -> float:
    """Standard error of a paired difference with b and c discordant pairs of `total`."""
    return math.sqrt(max(b + c - (b - c) ** 2 / total, 0.0)) / total


def _weighted(
    table: pd.DataFrame, hit: NDArray[np.bool_], trial: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
    """Hits, trials and counts of the units, (N, 1), or (N, 2) for the calls of pairs."""
    shape = (len(table), 2 if hit.ndim == 2 else 1)
    n = table["n"].to_numpy(dtype=float)
    return hit.reshape(shape), trial.reshape(shape), np.broadcast_to(n[:, None], shape)


def _stacked(one: pd.Series[Any], two: pd.Series[Any]) -> pd.Series[Any]:
    """Both columns in one; columns of different types (one side may be empty) become objects."""
    sides = [one, two] if one.dtype == two.dtype else [one.astype(object), two.astype(object)]
    return pd.concat(sides, ignore_index=True)


# ---- Bootstrap intervals of any statistic of counts ------------------------------------------------------------------

#: Method of the interval of a rate.
Interval = Literal["wilson", "percentile", "bca"]
INTERVALS: tuple[Interval, ...] = ("wilson", "percentile", "bca")
#: Draws held in memory at a time.
_DRAWS = 2**22
#: (B, P) totals -> (B,) values.
Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Bootstrap:
    """Options of a bootstrap.

    `cluster`: columns whose levels are drawn: none for independent calls, one, or two crossed factors (conservative).
    `strata`: column within whose levels the bootstrap draws.
    """

    method: Literal["t", "percentile", "bca"] = "percentile"
    cluster: tuple[str, ...] = ()
    strata: str | None = None
    n_resamples: int = N_RESAMPLES
    seed: int | np.random.Generator | None = SEED
    conf_level: float = CONF_LEVEL

    def __post_init__(self) -> None:
        if len(set(self.cluster)) < len(self.cluster):
            raise DesignError(f"cluster= names {self.cluster[0]!r} twice. Name it once.")
        if len(self.cluster) > 2:
            raise DesignError(f"cluster= names {len(self.cluster)} columns. Allowed: one, or two crossed factors.")
        if len(self.cluster) == 2 and (self.method == "bca" or self.strata):
            raise DesignError(
                "Two crossed clusters have a percentile interval only, and no strata: use interval='percentile', or "
                "name one cluster."
            )
        if not isinstance(self.n_resamples, int | np.integer) or self.n_resamples < 1:
            raise DesignError(f"n_resamples={self.n_resamples!r} is not a number of resamples. Use 2000, say.")
        whole = isinstance(self.seed, int | np.integer) and self.seed >= 0
        if not (whole or self.seed is None or isinstance(self.seed, np.random.Generator)):
            raise DesignError(f"seed={self.seed!r} is not a seed. Allowed: 0 and above, a numpy Generator, or None.")

    @property
    def columns(self) -> list[str]:
        """Columns that a tally must keep."""
        return [*self.cluster, *([self.strata] if self.strata else [])]

    @property
    def words(self) -> str:
        """The ``method`` of an estimate."""
        drawn = " x ".join(self.cluster) if self.cluster else "calls"
        kind = "two-way " if len(self.cluster) == 2 else ""
        within = f" within {self.strata}" if self.strata else ""
        name = "BCa" if self.method == "bca" else self.method
        return f"{name}, {kind}bootstrap of {drawn}{within} (B = {self.n_resamples})"


def planned(
    interval: str,
    cluster: By | None,
    strata: str | None,
    n_resamples: int,
    seed: int | np.random.Generator | None,
    conf_level: float,
) -> Bootstrap | None:
    """The :class:`Bootstrap` of a measure's arguments, None for Wilson; DesignError if they do not go together."""
    choose(interval, INTERVALS, "interval")
    clusters = tuple(names(cluster)) if cluster is not None else ()
    if interval == "wilson":
        if len(clusters) > 1 or strata is not None:
            what = "strata=" if strata is not None else "two clusters"
            raise DesignError(f"Wilson's interval takes one cluster and no strata; {what} needs interval='percentile'.")
        return None
    method: Literal["percentile", "bca"] = "bca" if interval == "bca" else "percentile"
    return Bootstrap(method, clusters, strata, n_resamples, seed, conf_level)


def interval_of(
    table: pd.DataFrame,
    interval: str,
    strata: str | None,
    n_resamples: int,
    seed: int | np.random.Generator | None,
    conf_level: float,
) -> dict[str, Any]:
    """Keywords of :func:`rates` for a tally that carries its cluster columns."""
    plan = planned(interval, columns_of(table), strata, n_resamples, seed, conf_level)
    cluster = column_of(table) if plan is None else None
    return {"conf_level": conf_level, "cluster": cluster, "bootstrap": plan}


def _too_many(table: pd.DataFrame, plan: Bootstrap | None) -> bool:
    """Whether a tally has more clusters than a bootstrap draws."""
    if plan is None or len(plan.cluster) != 1:
        return False
    clusters = table[plan.cluster[0]]
    return len(table) > MOST_CLUSTERS and clusters.nunique(dropna=False) > MOST_CLUSTERS


def resampled(
    table: pd.DataFrame,
    counts: Floats,
    statistic: Statistic,
    plan: Bootstrap,
    key: Mapping[str, Any],
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> dict[str, Any]:
    """Bootstrap a statistic of total counts.

    `table`: rows of one group of a tally: ``n`` and the columns of the plan. `counts` (R, P): contribution of each row
    to the totals. `statistic`: values of many totals at once: (B, P) to (B,). `key`: identifies the group, whose draws
    do not depend on other groups. `limits`: range of the estimate, for Student's interval. Returns ``std_error``,
    ``conf_low``, ``conf_high``, ``method`` and ``flag`` of an estimate: NaN with a flag for a single unit, or where all
    resamples agree, so that no interval has zero width. The standard error is NaN where a resample is infinite
    (censored). See :func:`read_off` for biased resamples.

    Rows that contribute nothing (calls that are not trials) are not drawn, nor are clusters of such rows.
    """
    adds = (counts != 0).any(axis=1)
    table, counts = table[adds], counts[adds]
    cells: dict[str, Any] = {**_NO_INTERVAL, "method": plan.words, "flag": ""}
    if not adds.any():
        return {**cells, "flag": flags.NO_DATA}
    rng = generator(plan.seed, tuple(map(str, key.values())))
    value = statistic(counts.sum(axis=0)[None, :])[0]
    units, sizes, draws, influence, weight, lone = _drawn(table, counts, statistic, plan, rng)
    if units < 2 or np.isnan(value):
        return {**cells, "flag": flags.ONE_UNIT if units < 2 else ""}
    undefined = flags.UNDEFINED.of(int(np.isnan(draws).sum()), what="resample(s)")
    found = read_off(value, draws, units, plan, limits, influence=influence, weight=weight)
    narrow = plan.method != "t" and not math.isnan(found["conf_low"])
    few = flags.few_clusters(sizes, drawn=narrow) if plan.cluster else ""
    return {**cells, **found, "flag": flags.join(few, flags.LONE_UNIT if lone else "", undefined, found["flag"])}


def read_off(
    value: float,
    draws: Floats,
    units: int,
    plan: Bootstrap,
    limits: tuple[float, float] = (-math.inf, math.inf),
    *,
    influence: Floats | None = None,
    weight: Floats | None = None,
) -> dict[str, Any]:
    """Standard error and interval from the draws, by the method of the plan.

    `value`: the estimate. `draws` (B,): its resampled values. `units`: number of units drawn. `limits`: range of the
    estimate, for Student's interval. `influence`, `weight` (G,): as in :func:`bca_interval`. Returns ``std_error``,
    ``conf_low``, ``conf_high``, ``method`` and ``flag``. The interval contains the estimate and has positive width, or
    is NaN with a flag; where a biased percentile or BCa interval would exclude the estimate, Student's replaces it, as
    ``method`` states.
    """
    none: dict[str, Any] = {**_NO_INTERVAL, "method": plan.words, "flag": ""}
    kept = draws[~np.isnan(draws)]
    rounding = 1e-12 * (max(1.0, abs(value)) if np.isfinite(value) else 1.0)
    if not kept.size or not float(kept.max()) - float(kept.min()) > rounding:
        return {**none, "flag": flags.RESAMPLES_AGREE}
    finite = bool(np.isfinite(kept).all())
    low = high = math.nan
    if plan.method == "bca" and influence is not None:
        low, high = bca_interval(draws, value, influence, plan.conf_level, weight)
    elif plan.method == "percentile":
        low, high = percentile_interval(draws, plan.conf_level)
    if plan.method != "t" and not high - low > rounding:
        return {**none, "flag": flags.NOT_BCA if plan.method == "bca" else flags.RESAMPLES_AGREE}
    if plan.method != "t" and (low - rounding <= value <= high + rounding or not finite):
        spread = float(kept.std(ddof=1)) if finite else math.nan
        return {**none, "std_error": spread, "conf_low": low, "conf_high": high}
    error, bias, low, high = student_interval(draws, value, units, plan.conf_level, limits)
    cells = {"std_error": error, "conf_low": low, "conf_high": high, "method": replace(plan, method="t").words}
    return {**cells, "flag": flags.BIASED if abs(bias) > error / 2 else ""}


def ratio(totals: Floats) -> Floats:
    """First total over the second, (B, 2) to (B,): the statistic of a rate or mean."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.where(totals[:, 1] > 0, totals[:, 0] / totals[:, 1], np.nan)
    return result


def _drawn(
    table: pd.DataFrame, counts: Floats, statistic: Statistic, plan: Bootstrap, rng: np.random.Generator
) -> tuple[int, Floats, Floats, Floats, Floats, bool]:
    """Number of units, calls of each (of the smaller factor), draws, influence, weight; if a stratum has one unit."""
    none, n = np.empty(0), table["n"].to_numpy(dtype=float)
    if len(plan.cluster) == 2:
        one, two = (codes_of(table, [c]) for c in plan.cluster)
        cell = codes_of(table, list(plan.cluster))
        added = _sums(counts, cell.code, cell.size)
        rows, columns = one.code[cell.first], two.code[cell.first]
        totals = two_way_totals(rows, columns, added, rng, plan.n_resamples)
        sizes = min((_sums(n[:, None], c.code, c.size).ravel() for c in (one, two)), key=effective_clusters)
        return min(one.size, two.size), sizes, statistic(totals), none, none, False
    if plan.cluster:
        unit = codes_of(table, list(plan.cluster))
        added = _sums(counts, unit.code, unit.size)
        strata = _strata(table, plan.strata, unit.code, unit.first, plan.cluster[0])
        totals = cluster_totals(added, rng, plan.n_resamples, strata)
        weight, sizes = np.ones(unit.size), _sums(n[:, None], unit.code, unit.size).ravel()
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            added = np.where(n[:, None] > 0, counts / n[:, None], 0.0)
        strata = None if plan.strata is None else codes_of(table, [plan.strata]).code
        step = max(_DRAWS // max(n.size, 1), 1)
        blocks = [min(step, plan.n_resamples - start) for start in range(0, plan.n_resamples, step)]
        totals = np.vstack([multinomial_totals(n, rng, block, strata) @ added for block in blocks])
        weight = sizes = n
    influence = _influence(counts.sum(axis=0), added, statistic, weight, strata) if plan.method == "bca" else none
    lone = strata is not None and bool((np.bincount(strata, weights=weight) == 1).any())
    return int(weight.sum()), sizes, statistic(totals), influence, weight, lone


def _sums(counts: Floats, code: NDArray[Any], size: int) -> Floats:
    return np.column_stack([np.bincount(code, weights=c, minlength=size) for c in counts.T])


def _strata(
    table: pd.DataFrame, strata: str | None, code: NDArray[Any], first: NDArray[Any], cluster: str
) -> NDArray[Any] | None:
    if strata is None:
        return None
    stratum = codes_of(table, [strata]).code
    if (stratum != stratum[first][code]).any():
        raise DesignError(
            f"{cluster!r} is not nested in {strata!r}: one {cluster} lies in several. Use a cluster that is nested in "
            "the strata, or leave strata= out."
        )
    result: NDArray[Any] = stratum[first]
    return result


def _influence(
    total: Floats, added: Floats, statistic: Statistic, weight: Floats, strata: NDArray[Any] | None
) -> Floats:
    """Jackknife influence of each unit for :func:`bca_interval`, with mean 0 in each stratum."""
    without = statistic(total[None, :] - added)
    known = np.where(np.isfinite(without), weight, 0.0)
    without = np.where(known > 0, without, 0.0)
    stratum = np.zeros(len(added), dtype=np.int64) if strata is None else strata
    size, sums = (np.bincount(stratum, weights=w) for w in (known, known * without))
    mean = sums / np.maximum(size, 1)
    influence: Floats = ((size - 1) / np.maximum(size, 1))[stratum] * (mean[stratum] - without)
    return np.where(known > 0, influence, 0.0)


# ---- A proportion per group of a tally, with its interval and flags --------------------------------------------------


def each_group(table: pd.DataFrame, groups: Sequence[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Key and rows of each group; one group if `groups` is empty."""
    codes = codes_of(table, list(groups))
    for at, here in zip(codes.first, rows_of_codes(codes.code, codes.size), strict=True):
        yield {name: table[name].iloc[at] for name in groups}, table.iloc[here]


def hits_and_trials(
    outcome: NDArray[Any], hit: str, ties: str, invalid: str
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Value of each outcome (1 for `hit`, 1/2 for a tie under ``ties="half"``, else 0), and whether it counts."""
    no_answer = outcome == "invalid"
    tie = (outcome == "tie") | (no_answer & (invalid == "tie"))
    trial = ~((no_answer & (invalid == "drop")) | (tie & (ties == "drop")))
    return (outcome == hit) + tie * (0.5 if ties == "half" else 0.0), trial


def no_trials(table: pd.DataFrame, without: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
    """Invalid calls and ties among the rows of a tally of single calls that are no trials, as a flag counts them."""
    column = next((c for c in ("outcome", "choice") if c in table), None)
    if column is None:
        return {}
    answer = table[column]
    return {
        what: without & (answer == name).to_numpy(dtype=bool)
        for name, what in (("invalid", "invalid call(s)"), ("tie", "tie(s)"))
    }


def rates(
    table: pd.DataFrame,
    groups: Sequence[str],
    term: str,
    hit: Any,
    trial: Any = True,
    *,
    conf_level: float = CONF_LEVEL,
    cluster: str | None = None,
    calls_per_count: int = 1,
    bootstrap: Bootstrap | None = None,
    left_out: Mapping[str, Any] | None = None,
    flag: str = "",
    **columns: Any,
) -> list[dict[str, Any]]:
    """Share of trials that are hits, in each group: rows for :func:`judgestats.results.estimates`.

    `table`: a tally, with the cluster column if there is one. `hit`, `trial`: for each row of the tally, the share of
    its calls that are hits, and that are trials (booleans, or 0, 1/2, 1). `cluster`: Wilson with an effective n, and t
    on G - 1, in place of Wilson on calls. `calls_per_count`: calls per count: 2 for a rate over the calls of pairs.
    `bootstrap`: a bootstrap interval in place of Wilson's (in closed form for percentiles of independent calls); if all
    calls are hits, or none, Wilson's remains, clustered where the bootstrap has one cluster. `left_out`: what is no
    trial, and in which rows: counted in the flag; by default as :func:`no_trials`. `flag`, `**columns`: further cells
    of every row. A group without trials is NaN with the flag ``no data``.
    """
    if cluster is None and bootstrap is not None and len(bootstrap.cluster) == 1:
        cluster = bootstrap.cluster[0]
    if _too_many(table, bootstrap):
        bootstrap, flag = None, flags.join(flag, flags.NOT_DRAWN)
    n = table["n"].to_numpy(dtype=float) * calls_per_count
    trials = n * np.broadcast_to(np.asarray(trial, dtype=float), n.shape)
    hits = trials * np.broadcast_to(np.asarray(hit, dtype=float), n.shape)
    codes = codes_of(table, list(groups))
    k = np.bincount(codes.code, weights=hits, minlength=codes.size)
    total = np.bincount(codes.code, weights=trials, minlength=codes.size)
    keys = table[list(groups)].iloc[codes.first].to_dict("records")
    crossed = bootstrap is not None and len(bootstrap.cluster) == 2  # a Wilson interval then ignores both clusters
    of_pairs = calls_per_count > 1 and cluster is None  # a count is a pair: its calls stay together
    together = of_pairs and independent(table)
    dependent = flags.join(flags.NOT_INDEPENDENT if (of_pairs and not together) or crossed else "", dependence(table))
    low, high = wilson(k, total, conf_level)
    unit = None if cluster is None else column_codes(table[cluster])
    left_out = no_trials(table, np.broadcast_to(np.asarray(trial) == 0, n.shape)) if left_out is None else left_out
    lost = {what: np.bincount(codes.code, n * mask, codes.size) for what, mask in left_out.items()}
    parts = rows_of_codes(codes.code, codes.size)
    common, rows = flag, []
    for g, key in enumerate(keys):
        flag = flags.join(
            common, *(flags.EXCLUDED.of(round(many[g] / calls_per_count), what=what) for what, many in lost.items())
        )
        p = k[g] / total[g] if total[g] else math.nan
        row = {
            **key,
            **columns,
            "term": term,
            "estimate": p,
            "n": total[g],
            "conf_low": low[g],
            "conf_high": high[g],
            "std_error": math.sqrt(p * (1 - p) / total[g]) if total[g] else math.nan,
            "method": "Wilson",
            "flag": flags.join(flag, dependent, size_flag(total[g])),
        }
        if (cluster is not None or together) and total[g]:
            flagged = flags.join(flag, dependence(table))
            row.update(_clustered(table, parts[g], hits, trials, cluster, unit, conf_level, flagged, total[g]))
        if bootstrap is not None and 0 < k[g] < total[g]:
            clustered = flags.join(flag, dependence(table) if bootstrap.cluster else dependent)
            row.update(_resampled(table, parts[g], hits, trials, bootstrap, key))
            row["flag"] = flags.join(clustered, row["flag"], size_flag(total[g]))
        rows.append(row)
    return rows


def _clustered(
    table: pd.DataFrame,
    here: NDArray[np.intp],
    hits: Any,
    trials: Any,
    cluster: str | None,
    unit: Coded | None,
    conf_level: float,
    flag: str,
    total: float,
) -> dict[str, Any]:
    """Clustered interval; without a cluster column each count is a cluster, a pair."""
    if unit is None:
        pairs = table["n"].to_numpy(dtype=float)[here]
        times = np.where(pairs > 0, pairs, 1.0)
        k, n, alike = hits[here] / times, trials[here] / times, pairs
    else:
        codes = combine([(unit[0][here], unit[1])], len(here))
        times = clusters_alike(table)[here]
        k, n = (np.bincount(codes.code, x[here] / times, codes.size).astype(np.float64) for x in (hits, trials))
        alike = times[codes.first]
    se, low, high = clustered_wilson(k, n, conf_level, alike)
    clusters = int(alike[n > 0].sum())
    return {
        "std_error": se,
        "conf_low": low,
        "conf_high": high,
        "method": f"Wilson, clustered by {cluster or 'pair'} (G = {clusters})",
        "flag": flags.join(flag, flags.few_clusters(n, alike=alike), size_flag(total)),
    }


def _resampled(
    table: pd.DataFrame, here: NDArray[np.intp], hits: Any, trials: Any, plan: Bootstrap, key: dict[Any, Any]
) -> dict[str, Any]:
    k, n = hits[here], trials[here]
    whole = ((k == 0) | (k == n)).all()  # no half hits
    whole &= ((n == 0) | (n == table["n"].to_numpy(dtype=float)[here])).all()  # a count is one trial
    if plan.method == "percentile" and not plan.columns and whole:
        low, high = binomial_interval(k.sum(), n.sum(), plan.conf_level)
        return {"conf_low": low, "conf_high": high, "method": "percentile bootstrap of calls, closed form", "flag": ""}
    return resampled(table.iloc[here], np.column_stack([k, n]), ratio, plan, key)


# ---- Difference of two shares of one sample: a signed bias -----------------------------------------------------------

_METHOD = "Newcombe, two shares of one sample"
#: Method of :func:`clustered_difference`.
CLUSTERED = "Tango, two shares of one sample"


def share_differences(
    table: pd.DataFrame,
    groups: Sequence[str],
    term: str,
    one: Any,
    other: Any,
    trial: Any = True,
    *,
    conf_level: float = CONF_LEVEL,
    cluster: str | None = None,
    bootstrap: Bootstrap | None = None,
    flag: str = "",
    **columns: Any,
) -> list[dict[str, Any]]:
    """Share of `one` minus share of `other` among the trials, in each group.

    As :func:`rates`, with `one`, `other` and `trial` as masks of the rows of the tally; other trials are ties. The
    interval is Newcombe's for the difference of two shares of one sample, composed of Wilson's for each; with `cluster`
    Tango's with the effective n of the clusters and t on G - 1. Both stay in [-1, 1] and have positive width. If all
    calls have the same answer Newcombe's replaces the bootstrap's. n and flags are those of the share of `one`.
    """
    if bootstrap is not None and _too_many(table, bootstrap):
        cluster, bootstrap, flag = bootstrap.cluster[0], None, flags.join(flag, flags.NOT_DRAWN)
    shape = len(table)
    trial = np.broadcast_to(np.asarray(trial, dtype=bool), shape)
    one, other = (np.broadcast_to(np.asarray(x, dtype=bool), shape) & trial for x in (one, other))
    rows = rates(table, groups, term, one, trial, conf_level=conf_level, cluster=cluster, flag=flag, **columns)
    codes = codes_of(table, list(groups))
    n = table["n"].to_numpy(dtype=float)
    marks = np.column_stack([one, other, trial & ~one & ~other]) * n[:, None]
    column = None if cluster is None else column_codes(table[cluster])
    for row, here in zip(rows, rows_of_codes(codes.code, codes.size), strict=True):
        counts = marks[here]
        if column is None or not row["n"]:
            row.update(difference(counts.sum(axis=0), conf_level))
        else:
            unit = combine([(column[0][here], column[1])], len(counts))
            times = clusters_alike(table)[here]
            sizes = [np.bincount(unit.code, c / times, unit.size).astype(np.float64) for c in counts.T]
            row.update(clustered_difference(np.column_stack(sizes), conf_level, times[unit.first]))
            row["method"] = row["method"].replace("Wilson", CLUSTERED)
        if bootstrap is not None and (counts.sum(axis=0) > 0).sum() > 1:
            key = {name: row[name] for name in groups}
            drawn = resampled(table.iloc[here], counts, _share_difference, bootstrap, key)
            kept = [f for f in row["flag"].split("; ") if f != flags.NOT_INDEPENDENT or not bootstrap.cluster]
            row.update(drawn, flag=flags.join(*kept, drawn["flag"]))
        elif bootstrap is not None and len(bootstrap.cluster) == 2:
            row["flag"] = flags.join(flags.NOT_INDEPENDENT, row["flag"])
    return rows


def _share_difference(totals: Floats) -> Floats:
    """Share of the first class minus share of the second, (B, 3) counts to (B,)."""
    n = totals.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.where(n > 0, (totals[:, 0] - totals[:, 1]) / n, np.nan)
    return result


def difference(counts: Floats, conf_level: float = CONF_LEVEL) -> dict[str, Any]:
    """Share of the first class minus share of the second, of a multinomial sample of three."""
    total = counts.sum()
    if not total > 0:
        return {"estimate": math.nan, **_NO_INTERVAL, "method": _METHOD}
    low, high = newcombe_paired(0.0, counts[0], counts[1], counts[2], conf_level)
    return {
        "estimate": (counts[0] - counts[1]) / total,
        "std_error": math.sqrt(spread(counts) / total),
        "conf_low": low,
        "conf_high": high,
        "method": _METHOD,
    }


def spread(counts: Floats) -> float:
    """Variance of one call, 1 for the first class, -1 for the second, 0 else: p1 + p2 - (p1 - p2)**2."""
    p1, p2, _ = counts / counts.sum()
    return max(float(p1 + p2 - (p1 - p2) ** 2), 0.0)


def clustered_difference(counts: Floats, conf_level: float = CONF_LEVEL, alike: Floats | None = None) -> dict[str, Any]:
    """The same from (G, 3) counts of G clusters; `alike` (G,): how many clusters there are of each, by default one.

    Tango's interval with the effective n of the clusters and t on G - 1. Answers that cancel within a cluster count as
    no difference: two orders of a pair with the same verdict show no position bias, and if all clusters are so the
    interval is that of no discordant pair.
    """
    there = counts.sum(axis=1) > 0
    alike = (np.ones(len(counts)) if alike is None else alike)[there]
    counts = counts[there]
    sums = alike @ counts
    clusters, total = int(alike.sum()), sums.sum()
    value = (sums[0] - sums[1]) / total
    if clusters < 2:
        return {"estimate": value, **_NO_INTERVAL}
    size, net = counts.sum(axis=1), counts[:, 0] - counts[:, 1]
    variance = float((alike * (net - value * size) ** 2).sum())
    if variance / total**2 <= ROUNDING and 0 < abs(value) < 1:  # all clusters alike: allow for one unlike them
        unlike = float(wilson(0, clusters, conf_level, df=clusters - 1)[1]) * (1 + abs(value))
        low, high = max(value - unlike, -1.0), min(value + unlike, 1.0)
        return {"estimate": value, "std_error": 0.0, "conf_low": low, "conf_high": high}
    found = clustered_tango(np.maximum(net, 0.0), np.maximum(-net, 0.0), size, conf_level, alike)
    return {"estimate": value, "std_error": found.std_error, "conf_low": found.low, "conf_high": found.high}


def cell_mean(counts: Floats, weight: Floats, conf_level: float = CONF_LEVEL) -> dict[str, Any]:
    """Weighted sum of the differences of independent cells.

    `counts` (K, 3): one, other and tie of each cell. `weight` (K,). The interval combines the Newcombe intervals of the
    cells (square-and-add), and equals Newcombe's for one cell. NaN where a cell is empty.

    Zou, G. Y., Donner, A. (2008). Statistics in Medicine 27, 1693-1702 (MOVER).
    """
    cells = [difference(c, conf_level) for c in counts]
    mean, error, low, high = (
        np.array([c[name] for c in cells]) for name in ("estimate", "std_error", "conf_low", "conf_high")
    )
    value = float(weight @ mean)
    return {
        "estimate": value,
        "std_error": float(np.sqrt(((weight * error) ** 2).sum())),
        "conf_low": value - float(np.sqrt(((weight * (mean - low)) ** 2).sum())),
        "conf_high": value + float(np.sqrt(((weight * (high - mean)) ** 2).sum())),
        "method": "MOVER, independent cells",
    }


def clustered_cell_mean(counts: Floats, weight: Floats, conf_level: float = CONF_LEVEL) -> dict[str, Any]:
    """Weighted sum of the differences of cells that share clusters.

    `counts` (G, K, 3): one, other and tie of each cluster in each cell. `weight` (K,). As :func:`cell_mean`, with the
    interval widened by the root of the design effect (linearised variance between clusters over that of independent
    calls) and by t on G - 1 over the normal quantile.
    """
    result = cell_mean(counts.sum(axis=0), weight, conf_level)
    n = counts.sum(axis=2)
    clusters = int((n.sum(axis=1) > 0).sum())
    if clusters < 2 or math.isnan(result["estimate"]):
        return {**result, **_NO_INTERVAL}
    total = n.sum(axis=0)
    net = counts[:, :, 0] - counts[:, :, 1]
    influence = ((net - net.sum(axis=0) / total * n) * (weight / total)).sum(axis=1)
    variance = clusters / (clusters - 1) * float((influence**2).sum())
    variance = 0.0 if variance <= ROUNDING else variance
    independent = result["std_error"] ** 2
    if variance == 0 and independent > 0:
        unlike = float(wilson(0, clusters, conf_level, df=clusters - 1)[1]) * (1 + abs(result["estimate"]))
        below = above = unlike
    else:
        effect = total.sum() / clusters if independent == 0 else variance / independent
        wider = math.sqrt(effect) * float(stdtrit(clusters - 1, 0.5 + conf_level / 2)) / normal_quantile(conf_level)
        below = wider * (result["estimate"] - result["conf_low"])
        above = wider * (result["conf_high"] - result["estimate"])
    reach = float(np.abs(weight).sum())
    return {
        **result,
        "std_error": math.sqrt(variance),
        "conf_low": max(result["estimate"] - below, -reach),
        "conf_high": min(result["estimate"] + above, reach),
    }


def folded(row: dict[str, Any], term: str) -> dict[str, Any]:
    """Absolute value of a signed estimate, with the interval folded at 0 and the standard error of the signed one."""
    low, high = row["conf_low"], row["conf_high"]
    ends = sorted((abs(low), abs(high)))
    inside = low <= 0 <= high
    return {
        **row,
        "term": term,
        "estimate": abs(row["estimate"]),
        "conf_low": 0.0 if inside else ends[0],
        "conf_high": ends[1] if not (math.isnan(low) or math.isnan(high)) else math.nan,
    }
