"""Slope of agreement over temperature: :func:`agreement_slope`."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.clustering import Cluster
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError
from judgestats.metrics.agreement.block_correlations import (
    Method,
    from_draws,
    item_bootstrap,
    mean_defined,
    observed_weights,
    pair_correlations,
    resampled_statistics,
)
from judgestats.metrics.agreement.rating_blocks import Block, Unit, blocks, label_codes, rated_cells, refuse_empty
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import values_of
from judgestats.results import estimates
from judgestats.schema.columns import By, grouping, names
from judgestats.typing import Record


@Measure(
    "Does agreement fall with temperature?",
    "agreement",
    "R",
    "t, bootstrap of items",
    "consensus_illusion, App D",
    frames=("ratings",),
    needs=(values_of("temperature", 3),),
    terms=(Term("slope", "slope of the mean correlation", neutral=0.0),),
    have=("judges", "conditions"),
    assumes="Agreement is linear in temperature over the range asked.",
)
def agreement_slope(
    ratings: IntoFrame,
    *,
    over: str = "temperature",
    by: By = (),
    average_over: By = (),
    cell: By = (),
    unit: Unit = "item",
    method: Method = "pearson",
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Slope of the mean correlation of the judges over temperature.

    Parameters
    ----------
    ratings : frame
        Ratings or means with the column `over`.
    over : str
        A numeric column.
    by, cell, unit, method, cluster, n_resamples, seed, conf_level
        As in :func:`agreement_shift`.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.

    Returns
    -------
    pandas.DataFrame
        Term ``slope``: least squares of the mean correlation at each value of `over` on that value. ``n`` counts the
        values.

    Raises
    ------
    DesignError
        If `over` is text or has fewer than two values (in one of several groups: NaN, flagged).
    SchemaError
        If a column is missing.

    See Also
    --------
    agreement_shift : Change of agreement between two ways of judging.

    Notes
    -----
    The bootstrap draws the same items for all temperatures: the points of the line are dependent, and an OLS standard
    error would be wrong.

    Source: consensus_illusion paper, Appendix D ("temperature invariance").

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = [{"judge": j, "system": "s", "item": str(i), "temperature": t, "score": e + (0.5 + t) * rng.normal()}
    ...         for i, e in enumerate(rng.normal(size=80)) for t in (0.0, 0.5, 1.0) for j in "ab"]
    >>> agreement_slope(pd.DataFrame(rows), n_resamples=300)[["term", "estimate", "n"]].round(2)
        term  estimate    n
    0  slope     -0.58  3.0
    """
    ratings = as_runs(ratings, average_over, [*names(by), *names(cell), over])
    grouping(over, Study.of(ratings).names, "ratings")
    by = [c for c in names(by) if c != over]
    more = [over, *(c for c in names(cell) if c not in by)]
    clustering = clustered_by(ratings, [*by, *more], cluster, whole="item")
    plan = item_bootstrap(clustering.column, n_resamples, seed, conf_level)
    table, groups = rated_cells(ratings, by, more, clustering.column)
    refuse_empty(table)
    try:
        table[over] = pd.to_numeric(table[over]).astype(float)
    except (ValueError, TypeError):
        raise DesignError(
            f"{over!r} holds text, and a slope needs numbers. Use agreement_shift for two conditions."
        ) from None
    cell_names = [c for c in dict.fromkeys([over, *names(cell)]) if c not in groups and c != "system"]
    rows = [_slope(b, over, method, plan) for b in blocks(table, groups, cell_names, unit, clustering.column)]
    for row in rows:
        row["flag"] = flags.join(row["flag"], clustering.flag)
    return estimates(rows, groups)


def _slope(block: Block, over: str, method: Method, plan: Bootstrap) -> Record:
    code, labels = label_codes(block.rows, [over])
    x = labels[over].to_numpy(dtype=float)
    if np.unique(x[~np.isnan(x)]).size < 2 and not block.key:
        raise DesignError(f"A slope over {over!r} needs two values, got {x.size}. Use another column in over=.")
    each = mean_defined(pair_correlations(block, method, observed_weights(block)))
    (draws,) = resampled_statistics(
        block, plan, lambda weights: mean_defined(pair_correlations(block, method, weights))
    )
    level, many = (np.stack([mean_defined(r[:, code == g]) for g in range(x.size)], axis=-1) for r in (each, draws))
    used = ~(np.isnan(level[0]) | np.isnan(x))
    excluded = flags.join(
        flags.EXCLUDED.of(int((~used).sum()), what=f"{over}(s) without a correlation"),
        flags.UNDEFINED.of(
            int(np.isnan(pair_correlations(block, method, observed_weights(block))).sum()), what="pair(s)"
        ),
        flags.MISSING.of(block.n_missing, what="score(s)"),
    )
    centred = x[used] - x[used].mean() if used.any() else x[used]
    row: Record = {**block.key, "term": "slope", "n": int(used.sum())}
    if used.sum() < 2:
        return {**row, "estimate": math.nan, "flag": flags.join(excluded, flags.NO_DATA)}
    weight = centred / (centred @ centred)
    cells = from_draws(float(level[0, used] @ weight), many[:, used] @ weight, block.unit_sizes, plan)
    return {**row, **cells, "flag": flags.join(excluded, cells["flag"])}
