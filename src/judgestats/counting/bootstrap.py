"""Bootstrap intervals of any statistic of counts, drawn by cluster."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judgestats import flags, methods
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose
from judgestats.kernels import resampling
from judgestats.kernels.cluster_sums import effective_clusters, sums_within
from judgestats.kernels.proportions import quotient
from judgestats.schema.columns import By, names
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Integers, Record
from judgestats.wording import Method

#: Method of the interval of a rate.
Interval = Literal["wilson", "percentile", "bca"]
INTERVALS: tuple[Interval, ...] = ("wilson", "percentile", "bca")
_MADE = {"t": methods.T, "percentile": methods.PERCENTILE, "bca": methods.BCA}
#: An estimate without an interval.
NO_INTERVAL = dict.fromkeys(("std_error", "conf_low", "conf_high"), math.nan)
#: Draws held in memory at a time.
_DRAWS = 2**22
#: (B, P) totals -> (B,) values.
Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Bootstrap:
    """Options of a bootstrap."""

    method: Literal["t", "percentile", "bca"] = "percentile"
    cluster: tuple[str, ...] = ()  # whose levels are drawn: none, one, or two crossed factors (conservative)
    strata: str | None = None  # column within whose levels the bootstrap draws
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
    def way(self) -> Method:
        """How the interval of an estimate is made."""
        units = " x ".join(self.cluster) if self.cluster else "calls"
        how = "two-way bootstrap of" if len(self.cluster) == 2 else "bootstrap of"
        within = f" within {self.strata}" if self.strata else ""
        return _MADE[self.method].from_draws(how, units + within, self.n_resamples)


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


def resampled(
    columns: Factors,
    n: Floats,
    added: Floats,
    statistic: Statistic,
    plan: Bootstrap,
    key: Mapping[str, object],
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Record:
    """Standard error, ends, method and flag from a bootstrap of total counts; NaN with a flag if all resamples agree.

    `columns`, `n` (R,): the patterns, and how often each occurs. `added` (R, P): what each adds to the totals; rows and
    clusters that contribute nothing are not drawn. `statistic`: (B, P) totals to (B,) values. `key`: of the group,
    whose draws do not depend on other groups. `limits`: range of the estimate, for Student's interval. The standard
    error is NaN where a resample is infinite.
    """
    adds = (added != 0).any(axis=1)
    if not adds.all():
        columns, n, added = columns.take(adds), n[adds], added[adds]
    cells: Record = {**NO_INTERVAL, "method": plan.way, "flag": ""}
    if not adds.any():
        return {**cells, "flag": flags.NO_DATA}
    rng = resampling.generator(plan.seed, tuple(map(str, key.values())))
    value = statistic(added.sum(axis=0)[None, :])[0]
    units, sizes, draws, influence, weight, lone = _drawn(columns, n, added, statistic, plan, rng)
    if units < 2 or np.isnan(value):
        return {**cells, "flag": flags.ONE_UNIT if units < 2 else ""}
    undefined = flags.UNDEFINED.of(int(np.isnan(draws).sum()), what="resample(s)")
    worth = effective_clusters(sizes) if plan.cluster else units
    interval = read_off(value, draws, worth, plan, limits, influence=influence, weight=weight)
    narrow = plan.method != "t" and not math.isnan(interval["conf_low"])
    few = flags.few_clusters(sizes, resampled=narrow) if plan.cluster else ""
    return {**cells, **interval, "flag": flags.join(few, flags.LONE_UNIT if lone else "", undefined, interval["flag"])}


def read_off(
    value: float,
    draws: Floats,
    units: float,
    plan: Bootstrap,
    limits: tuple[float, float] = (-math.inf, math.inf),
    *,
    influence: Floats | None = None,
    weight: Floats | None = None,
) -> Record:
    """Standard error, interval, method and flag of `value` from its `draws` (B,); `units`: the effective number drawn.

    `influence`, `weight` (G,): as in :func:`bca_interval`. The interval contains the value; where a biased percentile
    or BCa interval would exclude it, Student's replaces it.
    """
    none: Record = {**NO_INTERVAL, "method": plan.way, "flag": ""}
    usable_draws = draws[~np.isnan(draws)]
    rounding = 1e-12 * (max(1.0, abs(value)) if np.isfinite(value) else 1.0)
    if not usable_draws.size or not float(usable_draws.max()) - float(usable_draws.min()) > rounding:
        return {**none, "flag": flags.RESAMPLES_AGREE}
    finite = bool(np.isfinite(usable_draws).all())
    low = high = math.nan
    if plan.method == "bca" and influence is not None:
        low, high = resampling.bca_interval(draws, value, influence, plan.conf_level, weight)
    elif plan.method == "percentile":
        low, high = resampling.percentile_interval(draws, plan.conf_level)
    if plan.method != "t" and not high - low > rounding:
        return {**none, "flag": flags.NOT_BCA if plan.method == "bca" else flags.RESAMPLES_AGREE}
    if plan.method != "t" and (low - rounding <= value <= high + rounding or not finite):
        spread = float(usable_draws.std(ddof=1)) if finite else math.nan
        return {**none, "std_error": spread, "conf_low": low, "conf_high": high}
    error, bias, low, high = resampling.student_interval(draws, value, units, plan.conf_level, limits)
    cells = {"std_error": error, "conf_low": low, "conf_high": high, "method": replace(plan, method="t").way}
    return {**cells, "flag": flags.BIASED if abs(bias) > error / 2 else ""}


def ratio(totals: Floats) -> Floats:
    """First total over the second, (B, 2) to (B,): the statistic of a rate or mean."""
    return quotient(totals[:, 0], totals[:, 1], totals[:, 1] > 0)


def _drawn(
    columns: Factors, n: Floats, rows: Floats, statistic: Statistic, plan: Bootstrap, rng: np.random.Generator
) -> tuple[int, Floats, Floats, Floats, Floats, bool]:
    """Number of units, calls of each (of the smaller factor), draws, influence, weight; if a stratum has one unit."""
    none, codes = np.empty(0), columns.codes
    if len(plan.cluster) == 2:
        one, two = (codes([c]) for c in plan.cluster)
        cell = codes(plan.cluster)
        totals = resampling.two_way_totals(
            one.code[cell.first], two.code[cell.first], sums_within(rows, cell.code, cell.size), rng, plan.n_resamples
        )
        sizes = min((sums_within(n[:, None], c.code, c.size).ravel() for c in (one, two)), key=effective_clusters)
        return min(one.size, two.size), sizes, statistic(totals), none, none, False
    if plan.cluster:
        unit = codes(plan.cluster)
        added = sums_within(rows, unit.code, unit.size)
        strata = _strata(columns, plan.strata, unit.code, unit.first, plan.cluster[0])
        totals = resampling.cluster_totals(added, rng, plan.n_resamples, strata)
        weight, sizes = np.ones(unit.size), sums_within(n[:, None], unit.code, unit.size).ravel()
    else:
        added = np.where(n[:, None] > 0, quotient(rows, n[:, None]), 0.0)
        strata = None if plan.strata is None else codes([plan.strata]).code
        step = max(_DRAWS // max(n.size, 1), 1)
        blocks = [min(step, plan.n_resamples - start) for start in range(0, plan.n_resamples, step)]
        times = (resampling.multinomial_totals(n, rng, block, strata) for block in blocks)
        totals = np.vstack([resampling.weighted_totals(weights, added) for weights in times])
        weight = sizes = n
    influence = _influence(rows.sum(axis=0), added, statistic, weight, strata) if plan.method == "bca" else none
    lone = strata is not None and bool((np.bincount(strata, weights=weight) == 1).any())
    return int(weight.sum()), sizes, statistic(totals), influence, weight, lone


def _strata(columns: Factors, strata: str | None, code: Integers, first: Integers, cluster: str) -> Integers | None:
    if strata is None:
        return None
    stratum = columns.codes([strata]).code
    if (stratum != stratum[first][code]).any():
        raise DesignError(
            f"{cluster!r} is not nested in {strata!r}: one {cluster} lies in several. Use a cluster that is nested in "
            "the strata, or leave strata= out."
        )
    result: Integers = stratum[first]
    return result


def _influence(total: Floats, added: Floats, statistic: Statistic, weight: Floats, strata: Integers | None) -> Floats:
    """Jackknife influence of each unit for :func:`bca_interval`, with mean 0 in each stratum."""
    without = statistic(total[None, :] - added)
    usable_weight = np.where(np.isfinite(without), weight, 0.0)
    without = np.where(usable_weight > 0, without, 0.0)
    stratum = np.zeros(len(added), dtype=np.int64) if strata is None else strata
    size, sums = (np.bincount(stratum, weights=w) for w in (usable_weight, usable_weight * without))
    mean = sums / np.maximum(size, 1)
    influence: Floats = ((size - 1) / np.maximum(size, 1))[stratum] * (mean[stratum] - without)
    return np.where(usable_weight > 0, influence, 0.0)
