"""Distribution of the scores of each judge: :func:`score_distribution`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.cells import cells
from judgestats.counting.clustering import Cluster
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError
from judgestats.estimate import mean_over_clusters
from judgestats.kernels.correlation import grouped, midrange
from judgestats.kernels.resampling import cluster_totals, generator
from judgestats.metrics.agreement.block_correlations import from_draws, item_bootstrap
from judgestats.metrics.agreement.disagreements import share_cells
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.scales import across_scales
from judgestats.results import estimates
from judgestats.schema.columns import By, grouping
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Record


@Measure(
    "How does each judge use the scale?",
    "scores",
    "R",
    "t over clusters; skewness: bootstrap; ceiling: Wilson, clustered",
    "consensus_illusion, App F",
    plot="score_distribution, score_quantiles",
    frames=("ratings",),
    caption="Mean and spread of the scores, and the share at the top of the scale.",
    terms=(
        Term("skew", "skewness"),
        Term("ceiling", "share at the top of the scale"),
        Term("tier_range", "range of means within the tier"),
    ),
    assumes="Rated items are a sample of such items.",
)
def score_distribution(
    ratings: IntoFrame,
    *,
    by: By = (),
    average_over: By = (),
    scale: tuple[float, float] | None = None,
    tier: str | None = None,
    quantiles: Sequence[float] = (),
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Mean, spread, skew and ceiling of the scores of each judge.

    Parameters
    ----------
    ratings : frame
        Ratings or means; runs are averaged.
    by : str or sequence of str
        Further grouping columns. Name ``system``, ``criterion`` or ``tier``, say.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    scale : (float, float), optional
        Lowest and highest possible score; by default the highest observed score is the top.
    tier : str, optional
        Column of the systems' tiers: adds ``tier_range``.
    quantiles : sequence of float
        Adds a term for each, ``q05`` for 0.05 (linear between scores); ``plot.score_quantiles`` draws them.
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
        If `scale` is not a scale, or a score is outside it.
    SchemaError
        If a column is missing.

    See Also
    --------
    score_matrix : Mean scores of judges and systems.
    disagreement : How far apart the judges are on each item.

    Notes
    -----
    Intervals of mean and sd: t over items, with the skewness and the kurtosis of the scores as in :func:`score_error`;
    of the skewness: bootstrap of items. ``tier_range`` has no interval: a range of means grows with the
    number of systems and with noise, so that its bootstrap would be biased. Quantiles describe the scores and have none
    either: those of a coarse scale jump, and a bootstrap of them fails.

    Source: consensus_illusion paper, Appendix F.

    Examples
    --------
    One of the judges of the stories of HANNA gives hardly any high scores of coherence:

    >>> from judgestats import datasets
    >>> table = datasets.load("hanna").query("judge == 'ChatGPT' and criterion == 'CH'")
    >>> score_distribution(table, scale=(1, 5))[["judge", "term", "estimate", "n"]].round(3)
         judge     term  estimate       n
    0  ChatGPT     mean     1.470  1056.0
    1  ChatGPT       sd     0.940  1056.0
    2  ChatGPT     skew     2.343  1056.0
    3  ChatGPT  ceiling     0.020  1056.0
    """
    ratings = as_runs(ratings, average_over, by)
    if scale is not None and not (isinstance(scale, tuple | list) and len(scale) == 2 and scale[0] < scale[1]):
        raise DesignError(f"scale={scale!r} is not a scale. Give its lowest and highest score, e.g. (1, 10).")
    probabilities = np.atleast_1d(np.asarray(quantiles, dtype=float))
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise DesignError(f"quantiles={quantiles!r} are not between 0 and 1. Use e.g. (0.05, 0.25, 0.5, 0.75, 0.95).")
    present = Study.of(ratings).names
    groups = list(dict.fromkeys(["judge", *grouping(by, present, "ratings")]))
    clustering = clustered_by(ratings, groups, cluster, whole="item")
    plan = item_bootstrap(clustering.column, n_resamples, seed, conf_level)
    more = [c for c in [*([tier] if tier else []), clustering.column] if c != "item"]
    grouping(more, present, "ratings")
    keys = [c for c in dict.fromkeys([*groups, *more]) if c not in ("judge", "system", "item", "criterion")]
    table = cells(ratings, keys)
    score = table["mean"].to_numpy(dtype=float)
    if scale is None:
        top = float(np.nanmax(score)) if (~np.isnan(score)).any() else math.nan
    else:
        top = float(scale[1])
        outside = score[(score < scale[0]) | (score > top)]
        if outside.size:
            raise DesignError(
                f"{outside.size:,} scores are outside scale={scale} (first: {outside[0]:g}). Set them to missing, or "
                "give the scale that was used."
            )
    rows: list[Record] = []
    row: Record
    columns = Factors(table)  # coded once for all groups
    for key, part in table.groupby(groups, dropna=False, sort=True):
        group = dict(zip(groups, key, strict=True))
        about = columns.take(part.index.to_numpy())
        moments = _moments(part, about, cluster is not False, top, scale is None, plan, group)
        rows += [{**group, **row} for row in moments]
        scores = part["mean"].dropna().to_numpy(dtype=float)
        for q in probabilities:
            row = {"term": f"q{100 * q:02g}", "n": scores.size, "flag": "" if scores.size else flags.NO_DATA}
            row["estimate"] = float(np.quantile(scores, q)) if scores.size else math.nan
            rows.append({**group, **row})
        for value, inside in part.groupby(tier, dropna=False, sort=True) if tier else ():
            means = inside.groupby("system")["mean"].mean().dropna()
            row = {"term": "tier_range", str(tier): str(value), "n": len(means)}
            row["estimate"] = float(means.max() - means.min()) if len(means) > 1 else math.nan
            rows.append(
                {**group, **row, "flag": "" if len(means) > 1 else flags.ONE_SYSTEM if len(means) else flags.NO_DATA}
            )
    rows = [{**row, "flag": flags.join(row.get("flag"), clustering.flag)} for row in rows]
    terms = estimates(rows, groups, [tier] if tier and tier not in groups else [])
    return across_scales(terms, table, groups, ("ceiling",), set(terms["term"]) - {"ceiling", "skew"})


def _moments(
    part: pd.DataFrame, about: Factors, clustered: bool, top: float, observed: bool, plan: Bootstrap, key: Record
) -> list[Record]:
    score = part["mean"].to_numpy(dtype=float)
    used = ~np.isnan(score)
    x, n = score[used], int(used.sum())
    missing = flags.MISSING.of(int((~used).sum()), what="score(s)")
    if not n:
        return [
            {"term": t, "n": 0, "flag": flags.join(flags.NO_DATA, missing)} for t in ("mean", "sd", "skew", "ceiling")
        ]
    codes = about.take(used).ranked(plan.cluster)
    centre = float(midrange(x))
    powers = np.stack([(x - centre) ** k for k in range(4)], axis=-1)
    owner = codes.code.astype(np.int64)
    sums = grouped(powers, owner, codes.size)
    rng = generator(plan.seed, tuple(map(str, key.values())))
    mean, _, skew = (float(v[0]) for v in _shape(sums.sum(axis=0)[None]))
    size, first, second, _ = sums.T
    squares = (second - 2 * mean * first + mean**2 * size) * (n / (n - 1) if n > 1 else math.nan)
    large, small = flags.few_large_errors(x - x.mean()), flags.SMALL_N if n < 30 else ""
    of_terms = {
        "mean": mean_over_clusters(first + centre * size, size, plan.cluster[0], plan.conf_level).cells,
        "sd": mean_over_clusters(squares, size, plan.cluster[0], plan.conf_level).root.flagged(large).cells,
        "skew": from_draws(skew, _shape(cluster_totals(sums, rng, plan.n_resamples))[2], size, plan),
    }
    rows = []
    for term, of_term in of_terms.items():
        why = flags.CONSTANT if n > 1 and math.isnan(of_term["estimate"]) else ""
        rows.append({"term": term, **of_term, "n": n, "flag": flags.join(missing, why, small, of_term["flag"])})
    at_top = share_cells(x >= top - 1e-9, owner, plan, clustered)
    flag = flags.join(flags.SCALE_MAXIMUM if observed else "", missing, flags.SMALL_N if n < 30 else "", at_top["flag"])
    return [*rows, {"term": "ceiling", **at_top, "flag": flag}]


def _shape(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, sd and skew from sums of powers, (B, 4)."""
    n, one, two, three = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = one / n
        second = two / n - mean**2
        second = np.where(second > 1e-12 * (two / n), second, 0.0)
        third = three / n - 3 * mean * two / n + 2 * mean**3
        sd = np.where(n > 1, np.sqrt(second * n / (n - 1)), np.nan)
        return mean, sd, np.where(second > 0, third / second**1.5, np.nan)
