"""Correlations of pairs of judges over items or systems: :func:`correlation`."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.clustering import Cluster
from judgestats.counting.splitting import as_runs
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose
from judgestats.estimate import jackknifed
from judgestats.kernels.cluster_robust import variance_degrees
from judgestats.kernels.correlation import pearson_without
from judgestats.metrics.agreement.block_correlations import (
    CORRELATION,
    STANDARD_DEVIATION,
    Method,
    from_draws,
    item_bootstrap,
    mean_correlation,
    mean_defined,
    observed_weights,
    pair_correlations,
    resampled_pairs,
    resampled_statistics,
    sd_defined,
    system_correlations,
)
from judgestats.metrics.agreement.rating_blocks import (
    UNITS,
    Block,
    Unit,
    blocks,
    cell_columns,
    rated_cells,
    refuse_empty,
    shared_blocks,
)
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.consensus.correlations import fisher, spearman_p
from judgestats.metrics.exclusions import missing_counted
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.pingouin_engine import repeated_measures, version
from judgestats.metrics.requirements import few_systems, pairs_of_judges
from judgestats.results import estimates
from judgestats.schema.columns import By, names
from judgestats.typing import Floats, Ints, Record

Level = Literal["sample", "cell", "system"]
LEVELS: tuple[Level, ...] = ("sample", "cell", "system")
Pairs = Literal["mean", "each"]
PAIRS: tuple[Pairs, ...] = ("mean", "each")
Interval = Literal["fisher", "t"]
#: Units up to which degrees of freedom are limited by the jackknife; of more of them a few do not matter.
_JACKKNIFED = 1000


@Measure(
    "Which judges agree, over items or over systems?",
    "agreement",
    "R",
    "Fisher for each pair; t, bootstrap for their mean",
    "consensus_illusion, Sec 2.1, 3.2",
    plot='lines, kappa_matrix, with pairs="each"',
    frames=("ratings",),
    needs=(few_systems, pairs_of_judges),
    arguments=lambda *_: {"level": "cell", "pairs": "each"},
    table=("mean", "sd"),
    terms=(Term("r", "Pearson r"), Term("rho", "Spearman ρ"), Term("sd_of_pairs", "sd over pairs of judges")),
    have=("judges",),
    assumes="Fisher's interval: both scores normal and items independent; the bootstrap needs only the latter.",
)
def correlation(
    ratings: IntoFrame,
    *,
    level: Level = "sample",
    unit: Unit = "item",
    method: Method | Literal["repeated"] | None = None,
    pairs: Pairs | Literal["sd"] | None = None,
    ddof: int = 1,
    by: By = (),
    average_over: By = (),
    cell: By = (),
    interval: Interval | None = None,
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Correlate the scores of each pair of judges, over items or over systems.

    Parameters
    ----------
    ratings : frame
        Ratings or means. Every criterion in the table counts: remove a total first, or keep it alone.
    level : {'sample', 'cell', 'system'}
        ``sample``: over the items, in each system. ``cell``: over the items, in each cell (system x the columns of
        `cell`), and the mean and sd over cells. ``system``: over the systems, of each judge's mean scores.
    unit : {'item', 'criterion'}
        A point is an item (the mean of its criteria), or a criterion of an item. The two are not interchangeable; the
        result has a column ``unit``.
    method : {'pearson', 'spearman', 'repeated'}, optional
        By default Pearson over items and Spearman over systems, as in the paper. ``"repeated"`` is the
        repeated-measures correlation of each pair of judges over the responses to an item, with item means removed: do
        the judges rank the systems alike? pingouin computes it (``pip install "judgestats[pingouin]"``).
    pairs : {'mean', 'sd', 'each'}, optional
        The mean over pairs (of r, not of Fisher's z; the default), their standard deviation over pairs (term
        ``sd_of_pairs``), or a row for each pair (always with ``method="repeated"``).
    ddof : int
        Divisor of ``pairs="sd"``: pairs - `ddof`. The paper does not say which its Table 5 has.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    cell : str or sequence of str
        For ``level="cell"``: the columns that define a cell together with the system, e.g. ``condition``.
    interval : {'fisher', 't'}, optional
        Fisher's z, for each pair separately, treats the points as independent; Pearson's correlation over 10 items or
        more has the error of their jackknife. Over systems it generalizes to further systems. ``t`` is a bootstrap of
        items (on Fisher's z, unless over systems), and generalizes to further items for these systems. Pairs share
        their items, so their mean has the bootstrap only. By default Fisher for ``pairs="each"`` without a `cluster`.
    cluster : "auto", str or False
        Bootstrap unit: a column in which items are nested; ``"auto"``, the coarsest of ``item``, ``prompt``,
        ``task`` and the like with 10 levels or more; False, items.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, the labels of a row (``system``, those of `cell`; ``judge`` and ``other`` for each pair), the
        columns of every estimate, ``p_value`` (t on n - 2, with Fisher) and ``unit``. Term ``r`` or ``rho``; at the
        cell level also ``mean`` and ``sd`` (divisor: cells - 1), with empty labels. ``n`` counts the points that both
        judges rated (for a mean, two judges or more), systems at the system level, and cells for ``mean`` and ``sd``.

    Raises
    ------
    DesignError
        For one judge, ``interval="fisher"`` of a mean, or a `cluster` that splits an item.
    SchemaError
        If a column is missing.

    See Also
    --------
    agreement_levels : Agreement on systems, items and scores.
    rank_correlation : Rank correlation with a reference.
    pair_tests : Tests of differences between pairs of judges.

    Notes
    -----
    The bootstrap interval is Student's, with the standard error of the draws, extended by their bias on the side to
    which the estimate would be corrected: noise lowers a correlation of means. A bias of more than half a standard
    error is flagged.

    Deletion of missing points is pairwise. An item counts for a judge who rated every criterion of it that any judge
    rated. A judge with constant scores has no correlation: the pair is excluded and counted in the flag, in resamples
    too. Fisher: variance 1/(n - 3), for Spearman (1 + ρ²/2)/(n - 3) (Bonett and Wright 2000).

    Repeated measures: common slope of parallel lines, one per item, on N - items - 1 degrees of freedom (Bakdash and
    Marusich 2017); the interval is Fisher's, with n = degrees of freedom + 2. Term ``r_within``.

    Source: consensus_illusion paper, Sections 2.1 and 3.2.

    Examples
    --------
    >>> table = pd.DataFrame({"judge": ["a"] * 5 + ["b"] * 5, "system": "s", "item": list("12345") * 2,
    ...                       "score": [1, 2, 3, 4, 5, 2, 1, 4, 3, 5]})
    >>> correlation(table, pairs="each")[["judge", "other", "term", "estimate", "conf_low", "conf_high", "n"]].round(3)
      judge other term  estimate  conf_low  conf_high    n
    0     a     b    r       0.8     -0.28      0.986  5.0
    """
    ratings = as_runs(ratings, average_over, [*names(by), *names(cell)])
    pairs = pairs or ("each" if method == "repeated" else "mean")
    for value, allowed, name in ((level, LEVELS, "level"), (unit, UNITS, "unit"), (pairs, (*PAIRS, "sd"), "pairs")):
        choose(value, allowed, name)
    if method == "repeated":
        if (level, pairs, names(cell), interval or "fisher") != ("sample", "each", [], "fisher"):
            raise DesignError(
                "method='repeated' is for each pair of judges, over all responses to an item, with Fisher's interval. "
                "Leave level=, cell=, pairs= and interval= out."
            )
        return _repeated_measures(ratings, unit, by, cluster, conf_level)
    method = ("spearman" if level == "system" else "pearson") if method is None else method
    cell_names = cell_columns(ratings, by, cell) if level == "cell" else []
    clustering = clustered_by(ratings, [*names(by), *cell_names], cluster, whole="item")
    of_systems = level == "system" and cluster in ("auto", False)  # clusters of items do not matter to Fisher's z
    independent = pairs == "each" and (clustering.column == "item" or of_systems)
    interval = ("fisher" if independent else "t") if interval is None else interval
    if interval == "fisher" and not independent:
        raise DesignError(
            "interval='fisher' is for one pair of judges and independent points: pairs share their items, and points "
            "of one cluster are dependent. Use pairs='each', or interval='t'; with cluster= the latter."
        )
    plan = item_bootstrap(clustering.column, n_resamples, seed, conf_level)
    table, groups = rated_cells(ratings, by, cell_names, clustering.column)
    refuse_empty(table)
    term = "sd_of_pairs" if pairs == "sd" else "r" if method == "pearson" else "rho"
    rows: list[Record] = []
    for block in shared_blocks(ratings, table, groups, cell_names, unit, clustering.column):
        rows += _block_rows(block, level, method, pairs, plan, interval == "fisher", ddof)
    for row in rows:
        row.update(
            unit=unit,
            term=row.get("term", "sd_of_pairs" if pairs == "sd" else term),
            flag=flags.join(clustering.flag, row.get("flag")),
        )
        if unit == "criterion" and row.get("method") == methods.FISHER_Z_T and level != "system":
            row["flag"] = flags.join(flags.NOT_INDEPENDENT, row["flag"])
    labels = [] if level == "system" else [*cell_names, *([] if "system" in groups else ["system"])]
    columns = [*groups, *labels, *(["judge", "other"] if pairs == "each" else [])]
    return missing_counted(estimates(rows, columns, ["p_value", "unit"], sort=False), ratings, columns)


def _repeated_measures(ratings: IntoFrame, unit: Unit, by: By, cluster: Cluster, conf_level: float) -> pd.DataFrame:
    """Repeated-measures correlation of each pair of judges over the responses to each item."""
    clustering = clustered_by(ratings, names(by), cluster, whole="item")
    table, groups = rated_cells(ratings, by)
    refuse_empty(table)
    rows: list[Record] = []
    for block in blocks(table, groups, unit=unit):
        items = np.broadcast_to(block.owner, (len(block.rows), block.owner.size))
        for judge, other, i, j in zip(*zip(*block.pairs, strict=True), *block.sides, strict=True):
            both = ~np.isnan(block.scores[:, i] + block.scores[:, j])
            x, y = block.scores[:, i][both], block.scores[:, j][both]
            r, df = repeated_measures(x, y, items[both])
            cells = correlation_cells(r, df + 2, "pearson", conf_level)
            if cells["method"]:
                cells["method"] = version().then(methods.FISHER_Z_T, ", ").noting(f"({df:,} df)", " ")
            why = (
                ""
                if not np.isnan(r)
                else flags.NO_DATA
                if not both.any()
                else flags.TOO_FEW
                if df < 1
                else flags.CONSTANT
            )
            dependent = flags.NOT_INDEPENDENT if clustering.column != "item" else ""
            flag = flags.join(clustering.flag, dependent, why, cells["flag"])
            labels = {**block.key, "judge": judge, "other": other, "term": "r_within", "unit": unit}
            rows.append({**labels, **cells, "n": int(both.sum()), "flag": flag})
    pairs = estimates(rows, [*groups, "judge", "other"], ["p_value", "unit"], sort=False)
    return missing_counted(pairs, ratings, groups)


def _block_rows(
    block: Block, level: Level, method: Method, pairs: Pairs | Literal["sd"], plan: Bootstrap, fisher: bool, ddof: int
) -> list[Record]:
    """The estimates of one block."""
    over_systems = level == "system"
    statistic = system_correlations if over_systems else pair_correlations
    r, draws = statistic(block, method, observed_weights(block))[0], None
    if not fisher and over_systems:
        (draws,) = resampled_statistics(block, plan, lambda weights: system_correlations(block, method, weights))
    elif not fisher:
        draws, _ = resampled_pairs(block, method, plan)
    without = None if fisher or over_systems else _without_units(block, method)
    one, two = block.sides
    if over_systems:
        rated_by = np.asarray((~np.isnan(block.scores)).any(axis=-1))
        common = (rated_by[:, one] & rated_by[:, two]).sum(axis=0)[None, :]
        points = np.array([int((rated_by.sum(axis=1) > 1).sum())])
        labels: list[Record] = [{}]
    else:
        common, points = block.common(), block.points()
        labels = block.rows.to_dict("records")
    rows: list[Record] = []
    for k, label in enumerate(labels):
        key = {**block.key, **label}
        rated_here = ~np.isnan(block.scores[k])
        in_row = int((rated_here.any(axis=0)[None, :] & ~rated_here).sum())
        missing = block.n_missing if over_systems else in_row
        part = None if over_systems else slice(k, k + 1)
        if pairs == "each":
            for p, (judge, other) in enumerate(block.pairs):
                n, pair_key = int(common[k, p]), {**key, "judge": judge, "other": other}
                size = flags.NO_DATA if not n else flags.SMALL_N if n < 30 else ""
                sides = np.array([one[p], two[p]])
                if draws is None:
                    cells = correlation_cells(float(r[k, p]), n, method, plan.conf_level)
                else:
                    df = math.inf if without is None else variance_degrees(without[:, k, p])
                    cells = _resampled(block, float(r[k, p]), draws[:, k, p], plan, part, sides, df)
                if method == "pearson" and not over_systems and not math.isnan(cells.get("conf_low", math.nan)):
                    x, y = block.scores[k, sides]
                    cells |= _of_points(cells, x, y, block.owner, plan.conf_level, fisher)
                why = (flags.CONSTANT if n > 1 else flags.TOO_FEW) if n and np.isnan(r[k, p]) else ""
                lacking = flags.MISSING.of(missing * over_systems, what="score(s)")
                rows.append({**pair_key, **cells, "n": n, "flag": flags.join(size, why, lacking, cells["flag"])})
        elif draws is not None:
            if pairs == "sd":
                value, many = float(sd_defined(r[k], ddof)), sd_defined(draws[:, k], ddof)
                cells = from_draws(value, many, block.unit_sizes, plan, STANDARD_DEVIATION)
            else:
                df = math.inf if without is None else variance_degrees(mean_defined(without[:, k]))
                cells = _resampled(block, float(mean_defined(r[k])), mean_defined(draws[:, k]), plan, part, df=df)
            size = flags.NO_DATA if not points[k] else flags.SMALL_N if points[k] < 30 else ""
            flag = flags.join(pair_flags(r[k], common[k], missing), size, cells["flag"])
            rows.append({**key, **cells, "n": int(points[k]), "flag": flag})
    if level == "cell" and pairs != "sd":
        rows += _over_cells(block, r, draws, method, pairs, plan)
    return rows


def _resampled(
    block: Block,
    value: float,
    draws: Floats,
    plan: Bootstrap,
    rows: slice | None,
    judges: slice | Ints = slice(None),
    df: float = math.inf,
) -> Record:
    """Cells of a correlation over the items of `rows`, or over systems; `df`: no more degrees of freedom than these."""
    if rows is None:
        return from_draws(value, draws, block.unit_sizes, plan, CORRELATION)
    return mean_correlation(value, draws, block.shared_sizes(rows, judges), plan, df)


def _without_units(block: Block, method: Method) -> Floats | None:
    """Change of each correlation without each of the units (O, R, P); None where they are too many to need it."""
    if not 1 < block.n_units <= _JACKKNIFED:
        return None
    without = pair_correlations(block, method, 1.0 - np.eye(block.n_units))
    return np.nan_to_num(without - mean_defined(without, axis=0))


def _of_points(cells: Record, x: Floats, y: Floats, owner: Ints, conf_level: float, fisher: bool) -> Record:
    """Interval and flag of Pearson's correlation over points, by the jackknife of 10 items or more on Fisher's z."""
    both = ~np.isnan(x + y)
    x, y = ((v[both] - v[both].mean()) / v[both].std() for v in (x, y))
    items, code = np.unique(owner[both], return_inverse=True)
    large = flags.few_large_errors(x - math.copysign(1.0, cells["estimate"]) * y)
    if not fisher or items.size < 10:
        return {"flag": flags.join(cells["flag"], large)}
    without, size = pearson_without(x, y, code, items.size)
    estimate = jackknifed(cells["estimate"], without, size, "item", conf_level).flagged(large)
    return {**estimate.interval, "p_value": cells["p_value"]}


def _over_cells(
    block: Block, r: Floats, draws: Floats | None, method: Method, pairs: Pairs, plan: Bootstrap
) -> list[Record]:
    """Mean and sd over cells, of the mean over pairs or of each pair."""
    if draws is None:
        draws, _ = resampled_pairs(block, method, plan)
    blank = {c: ("" if block.rows[c].dtype.kind not in "iuf" else math.nan) for c in block.rows.columns}
    blank = {c: v for c, v in blank.items() if c not in block.key}
    if pairs == "mean":
        summaries: list[tuple[Record, Floats, Floats, slice | Ints]] = [
            ({}, mean_defined(r), mean_defined(draws), slice(None))
        ]
    else:
        codes, by_pair = np.stack(block.sides, axis=-1), np.ascontiguousarray(np.moveaxis(draws, -1, 0))
        summaries = [({"judge": a, "other": b}, r[:, p], by_pair[p], codes[p]) for p, (a, b) in enumerate(block.pairs)]
    rows = []
    for label, value, many, judges in summaries:
        n = int((~np.isnan(value)).sum())
        without = flags.EXCLUDED.of(len(value) - n, what="cell(s) without a correlation")
        mean = _resampled(block, float(mean_defined(value)), mean_defined(many), plan, slice(None), judges)
        spread = from_draws(float(sd_defined(value)), sd_defined(many), block.unit_sizes, plan, STANDARD_DEVIATION)
        for term, cells in (("mean", mean), ("sd", spread)):
            flag = flags.join(without, cells["flag"])
            rows.append({**block.key, **blank, **label, "term": term, **cells, "n": n, "flag": flag})
    return rows


def correlation_cells(r: float, n: int, method: Method, conf_level: float) -> Record:
    """Cells of one correlation with Fisher's interval, which does not exist for r = ±1 and n < 4."""
    row: Record = {"estimate": r, "flag": "", "method": methods.NONE}
    if math.isnan(r):
        return row
    row["p_value"] = spearman_p(r, n)
    if 1 - abs(r) < 1e-12 or n < 4:
        return {**row, "flag": flags.PERFECT_CORRELATION if n >= 4 else flags.TOO_FEW}
    variance = (1 + r * r / 2 if method == "spearman" else 1.0) / (n - 3)
    return {**row, **fisher(r, variance, conf_level, methods.FISHER_Z_T).interval}


def pair_flags(r: Floats, common: Ints, n_missing: int = 0) -> str:
    """Flags that count the pairs excluded, by reason, and the missing scores."""
    undefined = np.isnan(r)
    return flags.join(
        flags.EXCLUDED.of(int((undefined & (common >= 2)).sum()), what="pair(s) with constant scores"),
        flags.EXCLUDED.of(int((undefined & (common < 2)).sum()), what="pair(s) with fewer than 2 common points"),
        flags.MISSING.of(n_missing, what="score(s)"),
    )
