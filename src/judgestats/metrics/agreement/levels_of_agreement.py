"""Agreement on systems, items and scores, side by side: :func:`agreement_levels`."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.clustering import Cluster
from judgestats.counting.splitting import as_runs
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.metrics.agreement.block_correlations import (
    CORRELATION,
    DIFFERENCE,
    STANDARD_DEVIATION,
    from_draws,
    item_bootstrap,
    mean_correlation,
    mean_defined,
    observed_weights,
    pair_correlations,
    resampled_pairs,
    row_icc,
    sd_defined,
    system_correlations,
)
from judgestats.metrics.agreement.rating_blocks import (
    Block,
    Unit,
    cell_columns,
    rated_cells,
    refuse_empty,
    shared_blocks,
)
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import few_systems, pairs_of_judges
from judgestats.metrics.scales import across_scales
from judgestats.results import estimates
from judgestats.schema.columns import By, names
from judgestats.typing import Floats, Record


@Measure(
    "Do the judges agree on systems, on items, on the scores themselves?",
    "agreement",
    "R",
    "t, one bootstrap of items for all levels and gaps",
    "consensus_illusion, Sec 3.2",
    plot="agreement_levels",
    frames=("ratings",),
    needs=(few_systems, pairs_of_judges),
    caption="Agreement at three levels: order of the systems, items within a system, and the scores themselves.",
    terms=(
        Term("rho_system", "order of systems: mean Spearman ρ"),
        Term("r_sample", "items: mean Pearson r"),
        Term("icc", "scores: mean ICC(2,1)"),
        Term("gap_system_sample", "gap, systems to items"),
        Term("gap_sample_icc", "gap, items to scores"),
        Term("sd_sample", "sd over cells of r"),
        Term("sd_icc", "sd over cells of ICC(2,1)"),
    ),
    have=("judges",),
    assumes="The judges rated the same items of the same systems; items are a sample of such items.",
)
def agreement_levels(
    ratings: IntoFrame,
    *,
    by: By = (),
    average_over: By = (),
    cell: By = (),
    unit: Unit = "item",
    ddof: int = 1,
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Agreement on systems, on items, and on absolute scores, side by side, with the gaps between them.

    Parameters
    ----------
    ratings : frame
        As in :func:`correlation`.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    cell : str or sequence of str
        Columns that define a cell together with the system (``condition``, ``temperature``): r and ICC are computed in
        each cell, ρ in each setting, and then averaged.
    unit : {'item', 'criterion'}
        Points of ``r_sample``. The subjects of the ICC are items.
    ddof : int
        Divisor of the standard deviations over cells: n - `ddof`.
    cluster, n_resamples, seed, conf_level
        As in :func:`correlation`.

    Returns
    -------
    pandas.DataFrame
        Terms ``rho_system`` (Spearman over systems of the mean scores, mean over pairs of judges), ``r_sample``
        (Pearson over items in each cell, mean over pairs, then cells), ``icc`` (ICC(2,1) in each cell, mean over
        cells), ``gap_system_sample`` and ``gap_sample_icc``, ``sd_sample`` and ``sd_icc`` (standard deviation over
        cells, divisor n - `ddof`), and the column ``unit``. ``n`` counts systems for ``rho_system``, cells for the
        others.

    Raises
    ------
    DesignError, SchemaError
        As :func:`correlation`.

    See Also
    --------
    correlation : Correlation of each pair of judges.
    icc : Intraclass correlations.
    agreement_shift : Change of agreement between two ways of judging.

    Notes
    -----
    All intervals come from one bootstrap of items, so that the draws of the gaps are paired; that of ``r_sample`` is
    Student's on Fisher's z, for as many items as the judges share. ICC(2,1) uses complete
    items and is never clipped. A rater with constant scores stays in the ICC. With few systems ``rho_system`` is
    discrete, and noise in the systems' means lowers it; large effects are flagged (docs/coverage.md). The spread over
    cells is that of the estimates, and so wider than that of the true values.

    Source: consensus_illusion paper, Section 3.2 (0.989, 0.72 and 0.67; sd of ICC over cells 0.10).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = [{"judge": j, "system": s, "item": str(i), "score": q + e + shift + rng.normal()}
    ...         for s, q in zip("ABCD", range(4)) for i, e in enumerate(rng.normal(size=40))
    ...         for j, shift in (("a", 0), ("b", 0), ("c", 1))]
    >>> agreement_levels(pd.DataFrame(rows), n_resamples=200)[["term", "estimate", "n"]].round(2)
                    term  estimate    n
    0         rho_system      1.00  4.0
    1           r_sample      0.44  4.0
    2                icc      0.38  4.0
    3  gap_system_sample      0.56  4.0
    4     gap_sample_icc      0.05  4.0
    5          sd_sample      0.10  4.0
    6             sd_icc      0.08  4.0
    """
    ratings = as_runs(ratings, average_over, [*names(by), *names(cell)])
    cell_names = cell_columns(ratings, by, cell)
    clustering = clustered_by(ratings, [*names(by), *cell_names], cluster, whole="item")
    plan = item_bootstrap(clustering.column, n_resamples, seed, conf_level)
    table, groups = rated_cells(ratings, by, cell_names, clustering.column)
    refuse_empty(table)
    by_item, by_unit = (
        shared_blocks(ratings, table, groups, cell_names, points, clustering.column) for points in ("item", unit)
    )
    rows: list[Record] = []
    for items, units in zip(by_item, by_unit, strict=True):
        rows += [
            {**items.key, **row, "flag": flags.join(row["flag"], clustering.flag)}
            for row in _level_rows(items, units, unit, plan, ddof)
        ]
    of_scores = ("icc", "gap_sample_icc", "sd_icc")
    return across_scales(estimates(rows, groups, ["unit"]), table, groups, of_scores, ())


def _level_rows(items: Block, units: Block, unit: Unit, plan: Bootstrap, ddof: int) -> list[Record]:
    statistics: tuple[Callable[[Floats], Floats], ...] = (
        lambda weights: system_correlations(items, "spearman", weights),
        lambda weights: row_icc(items, weights)[..., None],
    )
    of_systems, of_scores = (statistic(observed_weights(items)) for statistic in statistics)
    points = [of_systems, pair_correlations(units, "pearson", observed_weights(units)), of_scores]
    pair_draws, (system_draws, score_draws) = resampled_pairs(units, "pearson", plan, *statistics)
    of_rows = [mean_defined(values) for values in (system_draws, pair_draws, score_draws)]  # over pairs
    many = [mean_defined(values) for values in of_rows]  # over rows
    values = [(float(mean_defined(mean_defined(p))[0]), draws) for p, draws in zip(points, many, strict=True)]
    undefined = [
        flags.UNDEFINED.of(int(np.isnan(p).sum()), what=what)
        for p, what in zip(points, ("pair(s)", "pair(s)", "ICC(s) of a cell"), strict=True)
    ]
    systems, n_cells = int(items.rows["system"].nunique()), len(items.rows)
    missing = flags.join(
        flags.MISSING.of(items.n_missing, what="score(s)"), flags.FEW_DRAWN if 10 <= items.n_units < 30 else ""
    )
    terms = ("rho_system", "r_sample", "icc")
    rows = []
    for k, term in enumerate(terms):
        cells = (
            mean_correlation(*values[k], units.shared_sizes(), plan)
            if term == "r_sample"
            else from_draws(*values[k], items.unit_sizes, plan, CORRELATION)
        )
        flag = flags.join(undefined[k], missing, cells["flag"], flags.FEW_SYSTEMS if not k and systems < 10 else "")
        n = n_cells if k else systems
        rows.append({"term": term, **cells, "n": n, "unit": unit if k == 1 else "item", "flag": flag})
    for k, term in ((0, "gap_system_sample"), (1, "gap_sample_icc")):
        gap, draws = values[k][0] - values[k + 1][0], values[k][1] - values[k + 1][1]
        empty = flags.NO_DATA if math.isnan(gap) else ""
        cells = from_draws(gap, draws, items.unit_sizes, plan, DIFFERENCE)
        rows.append(
            {"term": term, **cells, "n": n_cells, "unit": unit, "flag": flags.join(empty, missing, cells["flag"])}
        )
    for k, term in ((1, "sd_sample"), (2, "sd_icc")):
        of_cells = mean_defined(points[k])[0]
        n = int((~np.isnan(of_cells)).sum())
        cells = from_draws(
            float(sd_defined(of_cells, ddof)), sd_defined(of_rows[k], ddof), items.unit_sizes, plan, STANDARD_DEVIATION
        )
        flag = flags.join(flags.ONE_UNIT if n < 2 else "", missing, cells["flag"])
        rows.append({"term": term, **cells, "n": n, "unit": unit if k == 1 else "item", "flag": flag})
    return rows
