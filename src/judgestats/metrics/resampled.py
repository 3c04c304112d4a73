"""Bootstrap intervals of any statistic of counts: what is drawn, and the cells of an estimate that come of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, choose, confidence
from judgestats.kernels.resampling import (
    bca_interval,
    cluster_totals,
    generator,
    multinomial_totals,
    percentile_interval,
    student_interval,
    two_way_totals,
)
from judgestats.results import BIASED, NO_DATA, ONE_UNIT, RESAMPLES_AGREE, few_clusters, flags
from judgestats.schema.clustering import column_of, columns_of
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, names

Floats = NDArray[np.float64]
#: How the interval of a rate comes about.
Interval = Literal["wilson", "percentile", "bca"]
INTERVALS: tuple[Interval, ...] = ("wilson", "percentile", "bca")
LONE_UNIT = "a stratum has one unit"
NOT_BCA = "BCa not defined"
#: Draws held in memory at a time.
_DRAWS = 2**22
#: (B, P) totals -> (B,) values.
Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Bootstrap:
    """What is drawn, how often, and how an interval is read off the draws.

    Attributes
    ----------
    method : {'t', 'percentile', 'bca'}
    cluster : tuple of str
        Columns whose levels are drawn: none for independent calls, one, or two crossed factors (conservative).
    strata : str or None
        Column within whose levels is drawn.
    n_resamples : int
    seed : int, Generator or None
    conf_level : float
    """

    method: Literal["t", "percentile", "bca"] = "percentile"
    cluster: tuple[str, ...] = ()
    strata: str | None = None
    n_resamples: int = 2000
    seed: int | np.random.Generator | None = 0
    conf_level: float = 0.95

    def __post_init__(self) -> None:
        confidence(self.conf_level)
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
            raise DesignError(f"seed={self.seed!r} is no seed. Allowed: 0 and above, a numpy Generator, or None.")

    @property
    def columns(self) -> list[str]:
        """Columns that a tally must keep for it."""
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
    """Turn the arguments of a measure into a :class:`Bootstrap`, None for Wilson.

    Raises
    ------
    DesignError
        If they do not go together.
    """
    choose(interval, INTERVALS, "interval")
    confidence(conf_level)
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
    """Keywords of :func:`judgestats.metrics.rates.rates` for a tally that says what it is to be clustered by."""
    plan = planned(interval, columns_of(table), strata, n_resamples, seed, conf_level)
    cluster = column_of(table) if plan is None else None
    return {"conf_level": conf_level, "cluster": cluster, "bootstrap": plan}


def resampled(
    table: pd.DataFrame, counts: Floats, statistic: Statistic, plan: Bootstrap, key: Mapping[str, Any]
) -> dict[str, Any]:
    """Bootstrap a statistic of total counts.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of a tally, of one group: ``n`` and the columns that the plan names.
    counts : (R, P) float array
        What each row of it adds to the totals (``n`` times what one of its calls is).
    statistic : callable
        Values of many totals at once: (B, P) to (B,).
    plan : Bootstrap
        What is drawn.
    key : mapping
        What names the group: its draws do not depend on other groups.

    Returns
    -------
    dict
        ``std_error``, ``conf_low``, ``conf_high``, ``method`` and ``flag`` of an estimate. NaN, flagged, where there is
        one unit, or where all resamples agree: an interval of zero width is never returned. The standard error is NaN
        where a resample is infinite (censored). Resamples so biased that a percentile or BCa interval would not hold
        the estimate give Student's interval, as ``method`` says.

    Notes
    -----
    A row that adds nothing to any total (a call that is no trial) is not drawn, and a cluster of such rows is none.
    """
    adds = (counts != 0).any(axis=1)
    table, counts = table[adds], counts[adds]
    cells: dict[str, Any] = {
        "std_error": math.nan,
        "conf_low": math.nan,
        "conf_high": math.nan,
        "method": plan.words,
        "flag": "",
    }
    if not adds.any():
        return {**cells, "flag": NO_DATA}
    rng = generator(plan.seed, tuple(map(str, key.values())))
    value = statistic(counts.sum(axis=0)[None, :])[0]
    units, draws, influence, weight, alone = _drawn(table, counts, statistic, plan, rng)
    if units < 2 or np.isnan(value):
        return {**cells, "flag": ONE_UNIT if units < 2 else ""}
    lost = int(np.isnan(draws).sum())
    doubt = flags(LONE_UNIT if alone else "", f"{lost:,} resamples undefined" if lost else "")
    found = read_off(value, draws, units, plan, influence=influence, weight=weight)
    narrow = plan.method != "t" and not math.isnan(found["conf_low"])
    few = few_clusters(units, drawn=narrow) if plan.cluster else ""
    return {**cells, **found, "flag": flags(few, doubt, found["flag"])}


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
    """Standard error and interval that draws give, as the plan wants it read off.

    Parameters
    ----------
    value : float
        The estimate.
    draws : (B,) float array
        That of each resample.
    units : int
        How many were drawn.
    plan : Bootstrap
    limits : (float, float)
        Values that the estimate cannot pass; of Student's interval.
    influence, weight : (G,) float arrays, optional
        As :func:`bca_interval` takes them.

    Returns
    -------
    dict
        ``std_error``, ``conf_low``, ``conf_high``, ``method`` and ``flag``. The interval holds the estimate and has a
        width, or is NaN and flagged: resamples so biased that a percentile or BCa interval lies to one side of the
        estimate give Student's.
    """
    none: dict[str, Any] = dict.fromkeys(("std_error", "conf_low", "conf_high"), math.nan)
    none |= {"method": plan.words, "flag": ""}
    kept = draws[~np.isnan(draws)]
    rounding = 1e-12 * (max(1.0, abs(value)) if np.isfinite(value) else 1.0)
    if not kept.size or not float(kept.max()) - float(kept.min()) > rounding:
        return {**none, "flag": RESAMPLES_AGREE}
    finite = bool(np.isfinite(kept).all())
    low = high = math.nan
    if plan.method == "bca" and influence is not None:
        low, high = bca_interval(draws, value, influence, plan.conf_level, weight)
    elif plan.method == "percentile":
        low, high = percentile_interval(draws, plan.conf_level)
    if plan.method != "t" and not high - low > rounding:
        return {**none, "flag": NOT_BCA if plan.method == "bca" else RESAMPLES_AGREE}
    if plan.method != "t" and (low - rounding <= value <= high + rounding or not finite):
        spread = float(kept.std(ddof=1)) if finite else math.nan
        return {**none, "std_error": spread, "conf_low": low, "conf_high": high}
    error, bias, low, high = student_interval(draws, value, units, plan.conf_level, limits)
    cells = {"std_error": error, "conf_low": low, "conf_high": high, "method": replace(plan, method="t").words}
    return {**cells, "flag": BIASED if abs(bias) > error / 2 else ""}


def ratio(totals: Floats) -> Floats:
    """First of two totals over the second, (B, 2) to (B,): the statistic of a rate, or of a mean."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = np.where(totals[:, 1] > 0, totals[:, 0] / totals[:, 1], np.nan)
    return result


def _drawn(
    table: pd.DataFrame, counts: Floats, statistic: Statistic, plan: Bootstrap, rng: np.random.Generator
) -> tuple[int, Floats, Floats, Floats, bool]:
    """Units (of the factor with fewest), draws, influence and number of each unit, and whether a stratum has one."""
    none = np.empty(0)
    if len(plan.cluster) == 2:
        one, two = (codes_of(table, [c]) for c in plan.cluster)
        cell = codes_of(table, list(plan.cluster))
        added = _added(counts, cell.code, cell.size)
        rows, columns = one.code[cell.first], two.code[cell.first]
        totals = two_way_totals(rows, columns, added, rng, plan.n_resamples)
        return min(one.size, two.size), statistic(totals), none, none, False
    if plan.cluster:
        unit = codes_of(table, list(plan.cluster))
        added = _added(counts, unit.code, unit.size)
        strata = _strata(table, plan.strata, unit.code, unit.first, plan.cluster[0])
        totals = cluster_totals(added, rng, plan.n_resamples, strata)
        weight = np.ones(unit.size)
    else:
        n = table["n"].to_numpy(dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            added = np.where(n[:, None] > 0, counts / n[:, None], 0.0)
        strata = None if plan.strata is None else codes_of(table, [plan.strata]).code
        step = max(_DRAWS // max(n.size, 1), 1)
        sizes = [min(step, plan.n_resamples - start) for start in range(0, plan.n_resamples, step)]
        totals = np.vstack([multinomial_totals(n, rng, size, strata) @ added for size in sizes])
        weight = n
    influence = _influence(counts.sum(axis=0), added, statistic, weight, strata) if plan.method == "bca" else none
    alone = strata is not None and bool((np.bincount(strata, weights=weight) == 1).any())
    return int(weight.sum()), statistic(totals), influence, weight, alone


def _added(counts: Floats, code: NDArray[Any], size: int) -> Floats:
    return np.column_stack([np.bincount(code, weights=c, minlength=size) for c in counts.T])


def _strata(
    table: pd.DataFrame, strata: str | None, code: NDArray[Any], first: NDArray[Any], cluster: str
) -> NDArray[Any] | None:
    if strata is None:
        return None
    stratum = codes_of(table, [strata]).code
    if (stratum != stratum[first][code]).any():
        raise DesignError(
            f"{cluster!r} is not within {strata!r}: one {cluster} lies in several. Take a cluster that is nested in "
            "the strata, or leave strata= out."
        )
    result: NDArray[Any] = stratum[first]
    return result


def _influence(
    total: Floats, added: Floats, statistic: Statistic, weight: Floats, strata: NDArray[Any] | None
) -> Floats:
    """Jackknife influence of one unit of each kind, as :func:`bca_interval` takes it: 0 on average in each stratum."""
    without = statistic(total[None, :] - added)
    known = np.where(np.isfinite(without), weight, 0.0)
    without = np.where(known > 0, without, 0.0)
    stratum = np.zeros(len(added), dtype=np.int64) if strata is None else strata
    size, sums = (np.bincount(stratum, weights=w) for w in (known, known * without))
    mean = sums / np.maximum(size, 1)
    influence: Floats = ((size - 1) / np.maximum(size, 1))[stratum] * (mean[stratum] - without)
    return np.where(known > 0, influence, 0.0)
