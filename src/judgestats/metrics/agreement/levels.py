"""Agreement on items, systems and scores: :func:`correlation` and :func:`agreement_levels`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap, read_off
from judgestats.counting.cells import cells
from judgestats.counting.clustering import Cluster
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError, choose
from judgestats.kernels.correlation import (
    all_pairs,
    grouped,
    icc_of,
    icc_sums,
    rowwise,
    weighted_spearman,
    weighted_totals,
)
from judgestats.kernels.proportions import quotient
from judgestats.kernels.resampling import generator, multinomial_totals
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.consensus.correlations import fisher_cells, spearman_p
from judgestats.metrics.exclusions import missing_counted
from judgestats.metrics.measure_registry import Measure, Term, few_systems, pairs_of_judges
from judgestats.metrics.pingouin_engine import repeated_measures, version
from judgestats.metrics.scales import across_scales
from judgestats.results import estimates
from judgestats.schema.columns import By, grouping, names
from judgestats.typing import Floats, Ints

# ---- Ratings as blocks: rows (a system in a cell) x judges x points --------------------------------------------------

#: Point of a correlation: an item (mean of its criteria), or a criterion of an item.
Unit = Literal["item", "criterion"]
UNITS: tuple[Unit, ...] = ("item", "criterion")
#: Numbers of a bootstrap held in memory at a time.
HELD = 2**22


@dataclass(frozen=True)
class Block:
    """The ratings of one group."""

    key: dict[str, Any]  # values of its ``by`` columns
    rows: pd.DataFrame  # labels of the R rows, each correlated separately: ``system`` and the other columns of a cell
    judges: list[str]  # sorted labels of the J judges
    scores: Floats  # (R, J, N): NaN where a judge did not rate a point
    owner: Ints  # (N,): bootstrap unit of each point
    n_units: int  # number O of bootstrap units
    strata: Ints | None  # (O,): stratum of each unit, or None
    n_missing: int  # points that one judge rated and another rated in part or not at all

    @property
    def unit_sizes(self) -> Floats:
        """Points of each bootstrap unit, (O,)."""
        return np.bincount(self.owner, minlength=self.n_units).astype(np.float64)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The P pairs of judges."""
        return list(combinations(self.judges, 2))

    @property
    def sides(self) -> tuple[Ints, Ints]:
        """Codes of the judges of each pair."""
        first, second = np.triu_indices(len(self.judges), 1)
        return first.astype(np.int64), second.astype(np.int64)

    def drawn(self, plan: Bootstrap, name: tuple[str, ...] = ()) -> Iterator[Floats]:
        """Frequency of each unit in each resample, (B, O), a few million numbers at a time."""
        rng = generator(plan.seed, (*map(str, self.key.values()), *name))
        step = max(HELD // max(self.n_units, 1), 1)
        for start in range(0, plan.n_resamples, step):
            size = min(step, plan.n_resamples - start)
            yield multinomial_totals(np.ones(self.n_units), rng, size, self.strata)

    def common(self) -> Ints:
        """Number of points that both judges of each pair rated, (R, P)."""
        rated = ~np.isnan(self.scores)
        one, two = self.sides
        result: Ints = (rated[:, one] & rated[:, two]).sum(axis=-1)
        return result

    def points(self) -> Ints:
        """Number of points that two judges or more rated, (R,)."""
        result: Ints = ((~np.isnan(self.scores)).sum(axis=1) > 1).sum(axis=-1)
        return result


def rated(ratings: Any, by: By, more: Sequence[str] = (), cluster: str = "item") -> tuple[pd.DataFrame, list[str]]:
    """Scores averaged over runs, with the columns that a block needs, and the grouping columns."""
    present = Study.of(ratings).names
    groups = grouping(by, present, "ratings")
    for name in ("judge", "item"):
        if name in (*groups, *more):
            what = f"by={name!r}" if name in groups else f"splitting by {name!r}"
            raise DesignError(f"{what} leaves nothing to correlate: judges are compared over items. Leave it out.")
    if cluster not in present and cluster != "item":
        grouping(cluster, present, "ratings")
    table = cells(ratings, [*groups, *more, *([] if cluster == "item" else [cluster])])
    return table, groups


def blocks(
    table: pd.DataFrame,
    by: Sequence[str],
    cell: Sequence[str] = (),
    unit: Unit = "item",
    cluster: str = "item",
) -> list[Block]:
    """Blocks of the cells from :func:`rated`, one for each combination of `by`, sorted."""
    if not by:
        return [_block(table, {}, cell, unit, cluster)] if len(table) else []
    result = []
    for key, part in table.groupby(list(by), dropna=False, sort=True):
        result.append(_block(part, dict(zip(by, key, strict=True)), cell, unit, cluster))
    return result


def _block(part: pd.DataFrame, key: dict[str, Any], cell: Sequence[str], unit: Unit, cluster: str) -> Block:
    names = list(dict.fromkeys([*cell, "system"]))
    row, rows = codes(part, names)
    judge, judges = codes(part, ["judge"])
    item, items = codes(part, ["item"])
    unit_code, units = codes(part, [cluster])
    owner = np.zeros(len(items), np.int64)
    owner[item] = unit_code
    if (owner[item] != unit_code).any():
        raise DesignError(
            f"One item has several values of {cluster!r}. Use cluster='item', or a column of whole items."
        )
    mean = part["mean"].to_numpy(dtype=float)
    size = (len(rows), len(judges))
    if unit == "criterion":
        point, points = codes(part, ["item", "criterion"])
        scores = np.full((*size, len(points)), np.nan)
        scores[row, judge, point] = mean
        owner = np.zeros(len(points), np.int64)
        owner[point] = unit_code
    else:
        criterion, _ = codes(part, ["criterion"])
        scores = _means(row, judge, item, criterion, mean, (*size, len(items)))
    known = ~np.isnan(scores)
    missing = int((known.any(axis=1)[:, None] & ~known).sum())
    return Block(key, rows, judges["judge"].astype(str).tolist(), scores, owner, len(units), None, missing)


def codes(part: pd.DataFrame, names: list[str]) -> tuple[Ints, pd.DataFrame]:
    """Code of each row by its labels, sorted, and the labels."""
    grouper = part.groupby(names, dropna=False, sort=True)
    code = grouper.ngroup().to_numpy().astype(np.int64)
    first = np.zeros(int(code.max(initial=-1)) + 1, np.int64)
    first[code[::-1]] = np.arange(len(part))[::-1]
    return code, part[names].iloc[first].reset_index(drop=True)


def _means(row: Ints, judge: Ints, item: Ints, criterion: Ints, mean: Floats, shape: tuple[int, int, int]) -> Floats:
    """Mean of the criteria of each item; NaN unless the judge rated every criterion that any judge rated."""
    known = ~np.isnan(mean)
    row, judge, item, criterion = (v[known] for v in (row, judge, item, criterion))
    mean = mean[known]
    flat = np.ravel_multi_index((row, judge, item), shape)
    total = np.bincount(flat, weights=mean, minlength=math.prod(shape)).reshape(shape)
    count = np.bincount(flat, minlength=math.prod(shape)).reshape(shape)
    response = row * shape[2] + item
    n_criteria = int(criterion.max(initial=0)) + 1
    distinct = np.unique(response * n_criteria + criterion) // n_criteria
    criteria = np.bincount(distinct, minlength=shape[0] * shape[2]).reshape(shape[0], 1, shape[2])
    return quotient(total, count, (count == criteria) & (count > 0))


def pair_flags(r: Floats, common: Ints, n_missing: int = 0) -> str:
    """Flags that count the pairs excluded, by reason, and the missing scores."""
    undefined = np.isnan(r)
    return flags.join(
        flags.EXCLUDED.of(int((undefined & (common >= 2)).sum()), what="pair(s) with constant scores"),
        flags.EXCLUDED.of(int((undefined & (common < 2)).sum()), what="pair(s) with fewer than 2 common points"),
        flags.MISSING.of(n_missing, what="score(s)"),
    )


def refuse_empty(table: pd.DataFrame) -> None:
    """Raise if there are no rows, unnamed judges, or one judge only."""
    if not len(table):
        raise SchemaError("The ratings have no rows.")
    if table["judge"].isna().any():
        raise SchemaError("'judge' is missing in some rows. Name the judge, or leave these rows out.")
    judges = sorted(table["judge"].astype(str).unique())
    if len(judges) < 2:
        raise DesignError(f"Agreement needs two judges. The ratings have one: {judges[0]!r}.")


# ---- Correlations of a block in the data and in every resample, and their intervals ----------------------------------

Method = Literal["pearson", "spearman"]
FISHER = "Fisher z; p from t on n - 2"
#: Range of a correlation, and of a difference of two.
CORRELATION, DIFFERENCE = (-1.0, 1.0), (-2.0, 2.0)
_SD = (0.0, math.inf)
#: Numbers held in memory at a time.
_HELD = 2**23


def whole(block: Block) -> Floats:
    """Weights of the observed data, (1, O)."""
    return np.ones((1, block.n_units))


def resampled(block: Block, plan: Bootstrap, *statistics: Callable[[Floats], Floats]) -> list[Floats]:
    """Statistics of weights in the same resamples, each (B, ...)."""
    parts = [[statistic(weights) for statistic in statistics] for weights in block.drawn(plan)]
    return [np.concatenate(values) for values in zip(*parts, strict=True)]


def pair_correlations(block: Block, method: Method, weights: Floats) -> Floats:
    """Correlation of each pair of judges in each row and resample, (B, R, P)."""
    one, two = block.sides
    count, n = len(block.rows), block.scores.shape[-1]
    result = np.full((len(weights), count, one.size), np.nan)
    if not one.size:
        return result
    if method == "spearman":
        drawn = weights[:, block.owner]
        for r in range(count):
            for p, (i, j) in enumerate(zip(one, two, strict=True)):
                result[:, r, p] = weighted_spearman(block.scores[r, i], block.scores[r, j], drawn)
        return result
    step = max(_HELD // (6 * one.size * max(len(weights), n)), 1)
    for start in range(0, count, step):
        here = block.scores[start : start + step]
        result[:, start : start + step] = all_pairs(here, block.owner, block.n_units, weights)
    return result


def system_means(block: Block, weights: Floats) -> Floats:
    """Mean score of each judge in each row and resample, (B, R, J)."""
    known = ~np.isnan(block.scores)
    stacked = np.stack([known.astype(float), np.where(known, block.scores, 0.0)], axis=-1).transpose(2, 0, 1, 3)
    totals = weighted_totals(weights, grouped(stacked, block.owner, block.n_units))
    return quotient(totals[..., 1], totals[..., 0], totals[..., 0] > 0)


def system_correlations(block: Block, method: Method, weights: Floats) -> Floats:
    """Correlation over systems of the mean scores of each pair of judges, in each setting, (B, S, P)."""
    means = system_means(block, weights)
    cell = [c for c in block.rows.columns if c != "system"]
    setting = codes(block.rows, cell)[0] if cell else np.zeros(len(block.rows), np.int64)
    one, two = block.sides
    result = np.full((len(weights), int(setting.max(initial=0)) + 1, one.size), np.nan)
    for s in range(result.shape[1]):
        here = means[:, setting == s].transpose(0, 2, 1)
        result[:, s] = rowwise(here[:, one], here[:, two], ranked=method == "spearman")
    return result


def row_icc(block: Block, weights: Floats) -> Floats:
    """ICC(2,1) of each row in each resample, over the judges that rated it, (B, R)."""
    result = np.full((len(weights), len(block.rows)), np.nan)
    for r, scores in enumerate(block.scores):
        raters = scores[(~np.isnan(scores)).any(axis=1)]
        if len(raters) > 1:
            result[:, r] = icc_of(weighted_totals(weights, icc_sums(raters, block.owner, block.n_units)))
    return result


def mean_defined(x: Floats, axis: int | tuple[int, ...] = -1) -> Floats:
    """Mean of the values that are not NaN."""
    known = ~np.isnan(x)
    return quotient(np.where(known, x, 0.0).sum(axis=axis), known.sum(axis=axis))


def sd_defined(x: Floats, ddof: int = 1) -> Floats:
    """Standard deviation along the last axis of the values that are not NaN, two or more; divisor n - ddof."""
    known = ~np.isnan(x)
    n = known.sum(axis=-1)
    away = np.where(known, x - mean_defined(x)[..., None], 0.0)
    return np.sqrt(quotient((away**2).sum(axis=-1), n - ddof, (n > 1) & (n >= ddof)))


def from_draws(
    value: float,
    draws: Floats,
    sizes: NDArray[Any],
    plan: Bootstrap,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> dict[str, Any]:
    """Cells of an estimate from draws of units of these sizes; no interval for one unit or an undefined estimate."""
    row: dict[str, Any] = {"estimate": value, "std_error": math.nan, "conf_low": math.nan, "conf_high": math.nan}
    row |= {"method": plan.words, "flag": ""}
    if math.isnan(value):
        return row
    if sizes.size < 2:
        return {**row, "flag": flags.ONE_UNIT}
    lost = int(np.isnan(draws).sum())
    cells = read_off(value, draws, sizes.size, plan, limits)
    few = flags.join(flags.few_clusters(sizes), flags.UNDEFINED.of(lost, what="resample(s)"))
    return {**row, **cells, "flag": flags.join(few, cells["flag"])}


def plan_of(cluster: str, n_resamples: int, seed: int | np.random.Generator | None, conf_level: float) -> Bootstrap:
    """The bootstrap of these measures: of `cluster`, with Student's t."""
    if not isinstance(cluster, str):
        raise DesignError(
            f"cluster={cluster!r} is not the name of a column. Use 'item', or a column that items are nested in."
        )
    return Bootstrap("t", (cluster,), None, n_resamples, seed, conf_level)


def correlation_cells(r: float, n: int, method: Method, conf_level: float) -> dict[str, Any]:
    """Cells of one correlation with Fisher's interval, which does not exist for r = ±1 and n < 4."""
    row: dict[str, Any] = {"estimate": r, "flag": "", "method": ""}
    if math.isnan(r):
        return row
    row["p_value"] = spearman_p(r, n)
    if 1 - abs(r) < 1e-12 or n < 4:
        return {**row, "flag": flags.PERFECT_CORRELATION if n >= 4 else flags.TOO_FEW}
    variance = (1 + r * r / 2 if method == "spearman" else 1.0) / (n - 3)
    return {**row, **fisher_cells(r, variance, conf_level), "method": FISHER}


# ---- Correlations of pairs of judges over items or systems: :func:`correlation` --------------------------------------

Level = Literal["sample", "cell", "system"]
LEVELS: tuple[Level, ...] = ("sample", "cell", "system")
Pairs = Literal["mean", "each"]
PAIRS: tuple[Pairs, ...] = ("mean", "each")
Interval = Literal["fisher", "t"]


@Measure(
    "Which judges agree, over items or over systems?", "agreement", "R",
    "Fisher for each pair; t, bootstrap for their mean", "consensus_illusion, Sec 2.1, 3.2",
    plot="lines, kappa_matrix, with pairs=\"each\"", frames=("ratings",), needs=(few_systems, pairs_of_judges),
    arguments=lambda *_: {"level": "cell", "pairs": "each"}, table=("mean", "sd"),
    terms=(
        Term("r", "Pearson r"),
        Term("rho", "Spearman ρ"),
        Term("sd_of_pairs", "sd over pairs of judges"),
    ),
    have=("judges",),
    assumes="Fisher's interval: both scores normal and items independent; the bootstrap needs only the latter.",
)  # fmt: skip
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
        Fisher's z, for each pair separately, treats the points as independent; over systems it generalizes to further
        systems. ``t`` is a bootstrap of items, and generalizes to further items for these systems. Pairs share their
        items, so their mean has the bootstrap only. By default Fisher for ``pairs="each"`` without a `cluster`.
    cluster : "auto", str or False
        Bootstrap unit: a column in which items are nested; ``"auto"``, the coarsest of ``item``, ``prompt`` and
        ``task`` with 30 levels or more; False, items.
    n_resamples, seed, conf_level
        Number of resamples, seed and coverage.

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
        return _repeated(ratings, unit, by, cluster, conf_level)
    method = ("spearman" if level == "system" else "pearson") if method is None else method
    named = _cell_columns(ratings, by, cell) if level == "cell" else []
    drawn = clustered_by(ratings, [*names(by), *named], cluster, whole="item")
    of_systems = level == "system" and cluster in ("auto", False)  # clusters of items do not matter to Fisher's z
    independent = pairs == "each" and (drawn.column == "item" or of_systems)
    interval = ("fisher" if independent else "t") if interval is None else interval
    if interval == "fisher" and not independent:
        raise DesignError(
            "interval='fisher' is for one pair of judges and independent points: pairs share their items, and points "
            "of one cluster are dependent. Use pairs='each', or interval='t'; with cluster= the latter."
        )
    plan = plan_of(drawn.column, n_resamples, seed, conf_level)
    table, groups = rated(ratings, by, named, drawn.column)
    refuse_empty(table)
    term = "sd_of_pairs" if pairs == "sd" else "r" if method == "pearson" else "rho"
    rows: list[dict[str, Any]] = []
    for block in blocks(table, groups, named, unit, drawn.column):
        rows += _rows(block, level, method, pairs, plan, interval == "fisher", ddof)
    for row in rows:
        row.update(
            unit=unit,
            term=row.get("term", "sd_of_pairs" if pairs == "sd" else term),
            flag=flags.join(drawn.flag, row.get("flag")),
        )
        if unit == "criterion" and row.get("method") == FISHER and level != "system":
            row["flag"] = flags.join(flags.NOT_INDEPENDENT, row["flag"])
    labels = [] if level == "system" else [*named, *([] if "system" in groups else ["system"])]
    columns = [*groups, *labels, *(["judge", "other"] if pairs == "each" else [])]
    return missing_counted(estimates(rows, columns, ["p_value", "unit"], sort=False), ratings, columns)


def _repeated(ratings: Any, unit: Unit, by: By, cluster: Cluster, conf_level: float) -> pd.DataFrame:
    """Repeated-measures correlation of each pair of judges over the responses to each item."""
    drawn = clustered_by(ratings, names(by), cluster, whole="item")
    table, groups = rated(ratings, by)
    refuse_empty(table)
    rows: list[dict[str, Any]] = []
    for block in blocks(table, groups, unit=unit):
        items = np.broadcast_to(block.owner, (len(block.rows), block.owner.size))
        for judge, other, i, j in zip(*zip(*block.pairs, strict=True), *block.sides, strict=True):
            both = ~np.isnan(block.scores[:, i] + block.scores[:, j])
            x, y = block.scores[:, i][both], block.scores[:, j][both]
            r, df = repeated_measures(x, y, items[both])
            cells = correlation_cells(r, df + 2, "pearson", conf_level)
            cells["method"] = f"{version()}, {FISHER} ({df:,} df)" if cells["method"] else ""
            why = (
                ""
                if not np.isnan(r)
                else flags.NO_DATA
                if not both.any()
                else flags.TOO_FEW
                if df < 1
                else flags.CONSTANT
            )
            flag = flags.join(drawn.flag, flags.NOT_INDEPENDENT if drawn.column != "item" else "", why, cells["flag"])
            labels = {**block.key, "judge": judge, "other": other, "term": "r_within", "unit": unit}
            rows.append({**labels, **cells, "n": int(both.sum()), "flag": flag})
    found = estimates(rows, [*groups, "judge", "other"], ["p_value", "unit"], sort=False)
    return missing_counted(found, ratings, groups)


def _cell_columns(ratings: Any, by: By, cell: By) -> list[str]:
    by = names(by)
    present = Study.of(ratings).names
    return [c for c in grouping(cell, present, "ratings") if c not in by and c != "system"]


def _rows(
    block: Block, level: Level, method: Method, pairs: Pairs | Literal["sd"], plan: Bootstrap, fisher: bool, ddof: int
) -> list[dict[str, Any]]:
    """The estimates of one block."""
    over_systems = level == "system"
    statistic = system_correlations if over_systems else pair_correlations
    r = statistic(block, method, whole(block))[0]
    draws = None if fisher else resampled(block, plan, lambda weights: statistic(block, method, weights))[0]
    if over_systems:
        rated_by: Any = (~np.isnan(block.scores)).any(axis=-1)
        one, two = block.sides
        common = (rated_by[:, one] & rated_by[:, two]).sum(axis=0)[None, :]
        points = np.array([int((rated_by.sum(axis=1) > 1).sum())])
        labels: list[dict[str, Any]] = [{}]
    else:
        common, points = block.common(), block.points()
        labels = block.rows.to_dict("records")
    rows: list[dict[str, Any]] = []
    for k, label in enumerate(labels):
        key = {**block.key, **label}
        rated_here = ~np.isnan(block.scores[k])
        in_row = int((rated_here.any(axis=0)[None, :] & ~rated_here).sum())
        missing = block.n_missing if over_systems else in_row
        if pairs == "each":
            for p, (judge, other) in enumerate(block.pairs):
                n, mine = int(common[k, p]), {**key, "judge": judge, "other": other}
                size = flags.NO_DATA if not n else flags.SMALL_N if n < 30 else ""
                cells = (
                    correlation_cells(float(r[k, p]), n, method, plan.conf_level)
                    if draws is None
                    else from_draws(float(r[k, p]), draws[:, k, p], block.unit_sizes, plan, CORRELATION)
                )
                why = (flags.CONSTANT if n > 1 else flags.TOO_FEW) if n and np.isnan(r[k, p]) else ""
                lacking = flags.MISSING.of(missing * over_systems, what="score(s)")
                rows.append({**mine, **cells, "n": n, "flag": flags.join(size, why, lacking, cells["flag"])})
        elif draws is not None:
            if pairs == "sd":
                value, many, limits = float(sd_defined(r[k], ddof)), sd_defined(draws[:, k], ddof), _SD
            else:
                value, many, limits = float(mean_defined(r[k])), mean_defined(draws[:, k]), CORRELATION
            cells = from_draws(value, many, block.unit_sizes, plan, limits)
            size = flags.NO_DATA if not points[k] else flags.SMALL_N if points[k] < 30 else ""
            flag = flags.join(pair_flags(r[k], common[k], missing), size, cells["flag"])
            rows.append({**key, **cells, "n": int(points[k]), "flag": flag})
    if level == "cell" and pairs != "sd":
        rows += _over_cells(block, r, draws, method, pairs, plan)
    return rows


def _over_cells(
    block: Block, r: Floats, draws: Floats | None, method: Method, pairs: Pairs, plan: Bootstrap
) -> list[dict[str, Any]]:
    """Mean and sd over cells, of the mean over pairs or of each pair."""
    if draws is None:
        (draws,) = resampled(block, plan, lambda weights: pair_correlations(block, method, weights))
    blank = {c: ("" if block.rows[c].dtype.kind not in "iuf" else math.nan) for c in block.rows.columns}
    blank = {c: v for c, v in blank.items() if c not in block.key}
    if pairs == "mean":
        taken: list[tuple[dict[str, Any], Floats, Floats]] = [({}, mean_defined(r), mean_defined(draws))]
    else:
        taken = [({"judge": a, "other": b}, r[:, p], draws[:, :, p]) for p, (a, b) in enumerate(block.pairs)]
    rows = []
    for label, value, many in taken:
        n = int((~np.isnan(value)).sum())
        without = flags.EXCLUDED.of(len(value) - n, what="cell(s) without a correlation")
        for term, function, limits in (("mean", mean_defined, CORRELATION), ("sd", sd_defined, _SD)):
            cells = from_draws(float(function(value)), function(many), block.unit_sizes, plan, limits)
            flag = flags.join(without, cells["flag"])
            rows.append({**block.key, **blank, **label, "term": term, **cells, "n": n, "flag": flag})
    return rows


# ---- Agreement on systems, items and scores side by side: :func:`agreement_levels` -----------------------------------


@Measure(
    "Do the judges agree on systems, on items, on the scores themselves?", "agreement", "R",
    "t, one bootstrap of items for all levels and gaps", "consensus_illusion, Sec 3.2", plot="agreement_levels",
    frames=("ratings",), needs=(few_systems, pairs_of_judges),
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
)  # fmt: skip
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
        Grouping columns.
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
    All intervals come from one bootstrap of items, so that the draws of the gaps are paired. ICC(2,1) uses complete
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
    named = _cell_columns(ratings, by, cell)
    drawn = clustered_by(ratings, [*names(by), *named], cluster, whole="item")
    plan = plan_of(drawn.column, n_resamples, seed, conf_level)
    table, groups = rated(ratings, by, named, drawn.column)
    refuse_empty(table)
    by_item = blocks(table, groups, named, "item", drawn.column)
    by_unit = by_item if unit == "item" else blocks(table, groups, named, unit, drawn.column)
    rows: list[dict[str, Any]] = []
    for items, units in zip(by_item, by_unit, strict=True):
        rows += [
            {**items.key, **row, "flag": flags.join(row["flag"], drawn.flag)}
            for row in _levels(items, units, unit, plan, ddof)
        ]
    of_scores = ("icc", "gap_sample_icc", "sd_icc")
    return across_scales(estimates(rows, groups, ["unit"]), table, groups, of_scores, ())


def _levels(items: Block, units: Block, unit: Unit, plan: Bootstrap, ddof: int) -> list[dict[str, Any]]:
    statistics: tuple[Callable[[Floats], Floats], ...] = (
        lambda weights: system_correlations(items, "spearman", weights),
        lambda weights: pair_correlations(units, "pearson", weights),
        lambda weights: row_icc(items, weights)[..., None],
    )
    points = [statistic(whole(items)) for statistic in statistics]
    of_rows = [mean_defined(values) for values in resampled(items, plan, *statistics)]  # over pairs
    many = [mean_defined(values) for values in of_rows]  # over rows
    values = [(float(mean_defined(mean_defined(p))[0]), draws) for p, draws in zip(points, many, strict=True)]
    undefined = [
        flags.UNDEFINED.of(int(np.isnan(p).sum()), what=what)
        for p, what in zip(points, ("pair(s)", "pair(s)", "ICC(s) of a cell"), strict=True)
    ]
    systems, n_cells = int(items.rows["system"].nunique()), len(items.rows)
    missing = flags.join(
        flags.MISSING.of(items.n_missing, what="score(s)"),
        flags.FEW_DRAWN if 10 <= items.n_units < 30 else "",
    )
    terms = ("rho_system", "r_sample", "icc")
    rows = []
    for k, term in enumerate(terms):
        cells = from_draws(*values[k], items.unit_sizes, plan, CORRELATION)
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
        cells = from_draws(float(sd_defined(of_cells, ddof)), sd_defined(of_rows[k], ddof), items.unit_sizes, plan, _SD)
        flag = flags.join(flags.ONE_UNIT if n < 2 else "", missing, cells["flag"])
        rows.append({"term": term, **cells, "n": n, "unit": unit if k == 1 else "item", "flag": flag})
    return rows
