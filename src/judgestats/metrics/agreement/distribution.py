"""How are the scores of each judge distributed? :func:`score_distribution`."""

from __future__ import annotations

import math
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import DesignError
from judgestats.kernels.correlation import grouped, midrange
from judgestats.kernels.resampling import cluster_totals, generator
from judgestats.metrics.agreement.blocks import Floats, codes, some
from judgestats.metrics.agreement.draws import from_draws, plan_of
from judgestats.metrics.agreement.spread import share_cells
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.resampled import Bootstrap
from judgestats.results import CONSTANT, NO_DATA, SMALL_N, estimates, flags
from judgestats.schema.cells import cells
from judgestats.schema.clustering import Cluster
from judgestats.schema.columns import By, grouping
from judgestats.schema.splitting import as_runs

OBSERVED_TOP = "top is the highest score seen"


def score_distribution(
    ratings: Any,
    *,
    by: By = (),
    average_over: By = (),
    scale: tuple[float, float] | None = None,
    tier: str | None = None,
    cluster: Cluster = "auto",
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Mean, spread, skew and ceiling of the scores of each judge.

    Parameters
    ----------
    ratings : frame
        Ratings or means; runs are averaged.
    by : str or sequence of str
        Further grouping columns: ``system``, ``criterion``, ``tier``.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    scale : (float, float), optional
        Lowest and highest score that can be given; by default the highest seen is taken for the top.
    tier : str, optional
        Column of the systems' tiers: adds ``tier_range``.
    cluster, n_resamples, seed, conf_level
        As in :func:`correlation`.

    Returns
    -------
    pandas.DataFrame
        Per judge and `by`: ``mean``, ``sd`` (divisor n - 1), ``skew`` (third moment over the cube of the sd, divisor n,
        as in scipy.stats.skew), ``ceiling`` (share of scores at the top; Wilson), and with `tier` one ``tier_range``
        per tier (column `tier`): the highest mean of a system minus the lowest. ``n`` counts scores; for ``tier_range``
        systems.

    Raises
    ------
    DesignError
        If `scale` is not a scale, or a score lies off it.
    SchemaError
        If a column is missing.

    Notes
    -----
    Intervals of the first three: bootstrap of items. A range of means grows with the number of systems and with noise,
    so that its bootstrap would be biased: it has no interval.

    Source: consensus_illusion paper, Appendix F.

    Examples
    --------
    >>> table = pd.DataFrame({"judge": "a", "system": "s", "item": list("12345678"),
    ...                       "score": [10, 10, 9, 10, 8, 10, 5, 2]})
    >>> score_distribution(table, scale=(1, 10))[["judge", "term", "estimate", "n"]].round(3)
      judge     term  estimate    n
    0     a     mean     8.000  8.0
    1     a       sd     2.976  8.0
    2     a     skew    -1.217  8.0
    3     a  ceiling     0.500  8.0
    """
    ratings = as_runs(ratings, average_over, by)
    if scale is not None and not (isinstance(scale, tuple | list) and len(scale) == 2 and scale[0] < scale[1]):
        raise DesignError(f"scale={scale!r} is not a scale. Give its lowest and its highest score: (1, 10).")
    present = nw.from_native(ratings).collect_schema().names()
    groups = list(dict.fromkeys(["judge", *grouping(by, present, "ratings")]))
    drawn = clustered_by(ratings, groups, cluster, whole="item")
    plan = plan_of(drawn.column, n_resamples, seed, conf_level)
    more = [c for c in [*([tier] if tier else []), drawn.column] if c != "item"]
    grouping(more, present, "ratings")
    keys = [c for c in dict.fromkeys([*groups, *more]) if c not in ("judge", "system", "item", "criterion")]
    table = cells(ratings, keys)
    top = _top(table, scale)
    rows: list[dict[str, Any]] = []
    for key, part in table.groupby(groups, dropna=False, sort=True):
        named = dict(zip(groups, key, strict=True))
        rows += [{**named, **row} for row in _moments(part, cluster is not False, top, scale is None, plan, named)]
        rows += [{**named, **row} for row in _ranges(part, tier)] if tier else []
    rows = [{**row, "flag": flags(row.get("flag"), drawn.flag)} for row in rows]
    return estimates(rows, groups, [tier] if tier and tier not in groups else [])


def _top(table: pd.DataFrame, scale: tuple[float, float] | None) -> float:
    score = table["mean"].to_numpy(dtype=float)
    if scale is None:
        return float(np.nanmax(score)) if (~np.isnan(score)).any() else math.nan
    off = (score < scale[0]) | (score > scale[1])
    if off.any():
        raise DesignError(
            f"{int(off.sum()):,} scores lie off scale={scale} (first: {score[off][0]:g}). Set them to missing, or give "
            "the scale that was used."
        )
    return float(scale[1])


def _moments(
    part: pd.DataFrame, clustered: bool, top: float, observed: bool, plan: Bootstrap, key: dict[str, Any]
) -> list[dict[str, Any]]:
    score = part["mean"].to_numpy(dtype=float)
    used = ~np.isnan(score)
    x, n = score[used], int(used.sum())
    missing = some(int((~used).sum()), "score missing", "scores missing")
    if not n:
        return [{"term": t, "n": 0, "flag": flags(NO_DATA, missing)} for t in ("mean", "sd", "skew", "ceiling")]
    owner, labels = codes(part[used], list(plan.cluster))
    centre = float(midrange(x))
    powers = np.stack([(x - centre) ** k for k in range(4)], axis=-1)
    sums = grouped(powers, owner, len(labels))
    rng = generator(plan.seed, tuple(map(str, key.values())))
    values, draws = _shape(sums.sum(axis=0)[None]), _shape(cluster_totals(sums, rng, plan.n_resamples))
    rows = []
    for k, term in enumerate(("mean", "sd", "skew")):
        value = float(values[k][0]) + (centre if term == "mean" else 0.0)
        drawn = draws[k] + (centre if term == "mean" else 0.0)
        cells_of = from_draws(
            value, drawn, len(labels), plan, (0.0, math.inf) if term == "sd" else (-math.inf, math.inf)
        )
        why = CONSTANT if n > 1 and math.isnan(value) else ""
        doubt = flags(missing, why, SMALL_N if n < 30 else "", cells_of["flag"])
        rows.append({"term": term, **cells_of, "n": n, "flag": doubt})
    told = flags(OBSERVED_TOP if observed else "", missing)
    at_top = share_cells(x >= top - 1e-9, owner, plan, clustered)
    return [*rows, {"term": "ceiling", **at_top, "flag": flags(told, SMALL_N if n < 30 else "", at_top["flag"])}]


def _shape(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, sd and skew of sums of powers, (B, 4)."""
    n, one, two, three = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = one / n
        second = two / n - mean**2
        second = np.where(second > 1e-12 * (two / n), second, 0.0)
        third = three / n - 3 * mean * two / n + 2 * mean**3
        sd = np.where(n > 1, np.sqrt(second * n / (n - 1)), np.nan)
        return mean, sd, np.where(second > 0, third / second**1.5, np.nan)


def _ranges(part: pd.DataFrame, tier: str) -> list[dict[str, Any]]:
    rows = []
    for value, inside in part.groupby(tier, dropna=False, sort=True):
        means = inside.groupby("system")["mean"].mean().dropna()
        wide = float(means.max() - means.min()) if len(means) > 1 else math.nan
        doubt = "" if len(means) > 1 else "one system" if len(means) else NO_DATA
        rows.append({"term": "tier_range", tier: str(value), "estimate": wide, "n": len(means), "flag": doubt})
    return rows
