"""Agreement by quality of systems, and mean scores by tier: :func:`quality_agreement`, :func:`ordering_accuracy`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.cells import cells
from judgestats.counting.clustering import Cluster, clusters
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError, refuse_unknown, suggestion
from judgestats.kernels.proportions import quotient
from judgestats.kernels.resampling import generator, multinomial_totals
from judgestats.metrics.agreement.block_correlations import (
    Method,
    from_draws,
    mean_defined,
    observed_weights,
    pair_correlations,
    system_means,
)
from judgestats.metrics.agreement.rating_blocks import Unit, blocks, rated_cells, refuse_empty
from judgestats.metrics.consensus.correlations import correlated
from judgestats.metrics.exclusions import missing_counted
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.references import labels
from judgestats.metrics.requirements import values_of
from judgestats.metrics.scales import across_scales
from judgestats.results import estimates
from judgestats.schema.coding import refuse_infinite
from judgestats.schema.columns import By, grouping, names
from judgestats.schema.factors import Factors
from judgestats.schema.opening import frame_columns
from judgestats.typing import Floats, Integers, Mask, Record

#: Tiers of the paper, worst first.
TIERS = ("Base", "Instruct", "Thinking")


@Measure(
    "Do the judges agree less on better systems?",
    "scores",
    "R, table",
    "Fisher over systems; over families: t, jackknife",
    "consensus_illusion, Sec 3.1, Table 9",
    plot="quality_agreement",
    frames=("ratings",),
    needs=(values_of("system", 4),),
    terms=(Term("spearman", "Spearman ρ of score and agreement"),),
    have=("judges",),
    assumes="The relation is linear over systems; a restricted range of quality weakens it.",
)
def quality_agreement(
    data: IntoFrame,
    *,
    score: str = "mean_score",
    agreement: str = "r",
    within: str | None = None,
    by: By = (),
    average_over: By = (),
    unit: Unit = "item",
    method: Method = "pearson",
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Correlate the mean score with the agreement of the judges, over systems.

    Parameters
    ----------
    data : frame
        Ratings; or a table of one row per system with the columns `score` and `agreement`.
    score, agreement : str
        Columns of a table: mean score, and mean correlation of the judges.
    within : str, optional
        Column (``tier``) for a correlation within each of its values as well.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    unit, method
        How ratings are correlated in each system, as in :func:`correlation`.
    cluster : "auto", str or False
        Column of clusters of systems (a family). Otherwise systems are independent: ``"auto"`` finds no clusters of
        systems.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Term ``spearman``, with ``p_value`` from t on n - 2 and Fisher's interval over systems (Bonett and Wright 2000);
        with `within` a row for all systems, with an empty label, and one for each value. ``n`` counts systems.

    Raises
    ------
    DesignError
        For ratings of one judge.
    SchemaError
        If a column is missing or holds text, or a system has two values of `within`.

    See Also
    --------
    agreement_levels : Agreement on systems, items and scores.
    disagreement : How far apart the judges are on each item.

    Notes
    -----
    Mean and agreement come from the same scores, so a ceiling alone lowers r where means are high. Systems are treated
    as independent; those of one family are not.

    Source: consensus_illusion paper, Section 3.1 and Table 9: ρ = -0.513, p = 0.003.

    Examples
    --------
    >>> from judgestats import published
    >>> table9 = published.load("consensus_illusion/table9")
    >>> quality_agreement(table9)[["term", "estimate", "p_value", "n"]].round(3)
           term  estimate  p_value     n
    0  spearman    -0.513    0.003  32.0
    """
    data = as_runs(data, average_over, by)
    frame = Study.of(data).data
    present = frame_columns(frame)
    family = _family(cluster, present)
    if {score, agreement} <= set(present):
        groups = grouping(by, present, "table")
        table = frame.lazy().collect(backend="pandas").to_native()
        table = table.assign(_score=_number_column(table, score), _r=_number_column(table, agreement))
        if within is not None:
            grouping(within, present, "table")
        _refuse_repeated_systems(table, groups)
        table = table.assign(_family=table[family]) if family else table
    elif "judge" in present:
        table, groups = _of_ratings(data, by, within, family, unit, method)
    else:
        lacking = " and ".join(c for c in (score, agreement) if c not in present)
        hints = "".join(suggestion(c, present) for c in (score, agreement) if c not in present)
        raise SchemaError(
            f"The table lacks {lacking}. Columns: {', '.join(present)}.{hints} Name them with score= and agreement=, "
            "or give ratings."
        )
    rows = []
    for key, part in _group_tables(table, groups):
        rows.append({**key, **({within: ""} if within else {}), **_over_systems(part, conf_level, family)})
        if within is not None:
            for value, inside in part.groupby(within, dropna=False, sort=True):
                rows.append({**key, within: str(value), **_over_systems(inside, conf_level, family)})
    columns = [*groups, *([within] if within else [])]
    result = estimates(rows, columns, ["p_value"], sort=False)
    if not {score, agreement} <= set(present):
        result = across_scales(result, cells(data, groups), groups, ("spearman",), ())
    return missing_counted(result, data, columns)


def _family(cluster: Cluster, present: list[str]) -> str:
    """Column of clusters of systems, empty for none."""
    columns = clusters(cluster)
    if not columns:
        return ""
    if len(columns) > 1 or columns[0] in ("judge", "item", "system"):
        raise DesignError(f"cluster={cluster!r} must be one column with the same value for whole systems (a family).")
    return grouping(columns[0], present, "table")[0]


def _number_column(table: pd.DataFrame, column: str) -> Floats:
    try:
        values: Floats = pd.to_numeric(table[column]).to_numpy(dtype=float)
    except (ValueError, TypeError) as error:
        raise SchemaError(f"{column!r} holds text where a number belongs: {error}.") from None
    refuse_infinite(column, int(np.isinf(values).sum()))
    return values


def _refuse_repeated_systems(table: pd.DataFrame, groups: Sequence[str]) -> None:
    """Raise if a system has several rows: systems count as independent."""
    if "system" not in table.columns:
        return
    twice = table.duplicated(list(dict.fromkeys([*groups, "system"])))
    if twice.any():
        name = table.loc[twice, "system"].iloc[0]
        raise SchemaError(
            f"System {name!r} has several rows. Give it one row, or name the column that distinguishes them in by=."
        )


def _group_tables(table: pd.DataFrame, groups: Sequence[str]) -> list[tuple[Record, pd.DataFrame]]:
    if not groups:
        return [({}, table)]
    split = table.groupby(list(groups), dropna=False, sort=True)
    return [(dict(zip(groups, key, strict=True)), part) for key, part in split]


def _over_systems(part: pd.DataFrame, conf_level: float, family: str) -> Record:
    score, r = (part[c].to_numpy(dtype=float, na_value=np.nan) for c in ("_score", "_r"))
    complete = ~np.isnan(score + r)
    undefined = int(part["_undefined"].sum()) if "_undefined" in part else 0
    excluded = flags.join(
        flags.EXCLUDED.of(int((~complete).sum()), what="system(s) without a value"),
        flags.UNDEFINED.of(undefined, what="pair(s)"),
    )
    clusters_of = (family, part["_family"].to_numpy()[complete]) if family else None
    return correlated(score[complete], r[complete], "spearman", conf_level, excluded, clusters_of)


def _of_ratings(
    data: IntoFrame, by: By, within: str | None, family: str, unit: Unit, method: Method
) -> tuple[pd.DataFrame, list[str]]:
    """Mean score (over the judges' means) and mean correlation of each system."""
    more = [c for c in dict.fromkeys(c for c in (within, family) if c) if c not in names(by)]
    grouping(more, Study.of(data).names, "ratings")
    table, groups = rated_cells(data, by, more)
    refuse_empty(table)
    tiers = _one_each(table, within) if within else {}
    families = _one_each(table, family) if family else {}
    parts = []
    for block in blocks(table, groups, (), unit):
        mean = mean_defined(system_means(block, observed_weights(block)))[0]
        pairs = pair_correlations(block, method, observed_weights(block))[0]
        rows = block.rows.assign(_score=mean, _r=mean_defined(pairs), _undefined=np.isnan(pairs).sum(axis=1))
        each = rows if (there := rows["system"].notna()).all() else rows[there].reset_index(drop=True)
        each = each.assign(_family=each["system"].map(families)) if family else each
        parts.append(each.assign(**block.key, **({within: each["system"].map(tiers)} if within else {})))
    return pd.concat(parts, ignore_index=True), groups


def _one_each(table: pd.DataFrame, column: str) -> dict[object, object]:
    """System -> its one value in a column."""
    columns = Factors(table)
    pairs = columns.take(columns.codes(["system", column]).first).frame(["system", column])
    if (twice := pairs["system"].duplicated()).any():
        name = pairs.loc[twice, "system"].iloc[0]
        listed = ", ".join(map(str, pairs.loc[pairs["system"] == name, column]))
        raise SchemaError(f"System {name!r} has several values of {column!r}: {listed}. Give it one.")
    return dict(zip(pairs["system"], pairs[column], strict=True))


@Measure(
    "How often do mean scores follow the tiers of the systems?",
    "accuracy",
    "R, table",
    "bootstrap of systems within tiers, or of families",
    "consensus_illusion, Sec 3.2",
    plot='forest, with by="judge"',
    frames=("ratings",),
    needs=(
        values_of("tier"),
        lambda data, _: (
            f"needs the order of the tiers {', '.join(labels(data, 'tier'))}: name them from low to high in order="
        ),
    ),
    have=("conditions",),
    assumes="The order of the tiers is known; systems within a tier are a sample of such systems.",
)
def ordering_accuracy(
    data: IntoFrame,
    *,
    order: Sequence[str] = TIERS,
    tier: str = "tier",
    score: str = "mean_score",
    by: By = (),
    cluster: Cluster = "auto",
    average_over: By = (),
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Share of pairs of systems from two tiers whose mean scores follow the order of the tiers.

    Parameters
    ----------
    data : frame
        Ratings with the column `tier`; or a table of one row per system with the columns `tier` and `score`.
    order : sequence of str
        The tiers, worst first. Systems of other tiers are excluded and counted.
    tier, score : str
        Columns of the tier and of the mean score.
    by : str or sequence of str
        Further grouping columns. Name ``judge`` for the order of each judge.
    cluster : "auto", str or False
        Column of clusters of systems (a family), which are drawn whole. Otherwise systems are drawn, within their
        tiers: ``"auto"`` finds no clusters of systems.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Columns ``lower``, ``higher`` and those of every estimate, and ``correct``, a count. Term ``ordering_accuracy``:
        a row for each pair of tiers, and one for all, with empty labels. ``n`` counts pairs of systems.

    Raises
    ------
    DesignError
        If fewer than two of the tiers occur (in one of several groups: NaN, flagged), or `order` names a tier twice.
    SchemaError
        If a column is missing or a system has two tiers.

    See Also
    --------
    rank_correlation : Rank correlation with a reference.
    best_of_accuracy : Right response ranked first.

    Notes
    -----
    A tie is wrong. The share is a U-statistic: pairs share systems, so Wilson's interval would be too narrow. The
    percentile bootstrap draws the systems of each tier; where all pairs are correct there is no interval.

    Source: consensus_illusion paper, Section 3.2: 83.9 %, which is 281 of 335; the paper does not define it.

    Examples
    --------
    >>> from judgestats import published
    >>> result = ordering_accuracy(published.load("consensus_illusion/table9"))
    >>> result[["lower", "higher", "estimate", "correct", "n"]].round(3)
          lower    higher  estimate  correct      n
    0                         0.839      281  335.0
    1      Base  Instruct     0.952       99  104.0
    2      Base  Thinking     0.943       83   88.0
    3  Instruct  Thinking     0.692       99  143.0
    """
    data = as_runs(data, average_over, by)
    order = [str(t) for t in order] if isinstance(order, Sequence) else [str(order)]
    if len(set(order)) < len(order) or len(order) < 2:
        raise DesignError(
            f"order= must name two or more tiers from the worst to the best, each once. Got: {', '.join(order)}."
        )
    family = _family(cluster, Study.of(data).names)
    table, groups = _tiered(data, tier, score, by, family)
    plan = Bootstrap("percentile", (family or "system",), None if family else tier, n_resamples, seed, conf_level)
    rows: list[Record] = []
    for key, part in _group_tables(table, groups):
        rows += [{**key, **row} for row in _ordering_rows(part, order, tier, plan, key)]
    result = estimates(rows, [*groups, "lower", "higher"], ["correct"], sort=False)
    if "judge" in groups or score in Study.of(data).names:
        return result
    return across_scales(result, cells(data, groups), groups, ("ordering_accuracy",), ())


def _tiered(data: IntoFrame, tier: str, score: str, by: By, family: str) -> tuple[pd.DataFrame, list[str]]:
    frame = Study.of(data).data
    present = frame_columns(frame)
    remedy = " Name the column with the tier of each system."
    refuse_unknown(tier, present, f"tier={tier!r} is not a column", "Columns", remedy=remedy, error=SchemaError)
    if score in present:
        groups = grouping(by, present, "table")
        table = frame.lazy().collect(backend="pandas").to_native()
        _refuse_repeated_systems(table, groups)
        table = table.assign(_family=table[family]) if family else table
        return table.assign(_score=_number_column(table, score)), groups
    groups = grouping(by, present, "ratings")
    scored = cells(
        data,
        [*(g for g in groups if g != "judge"), *(c for c in dict.fromkeys([tier, family]) if c and c not in groups)],
    )
    tiers = _one_each(scored, tier)
    keys = list(dict.fromkeys([*groups, "judge", "system"]))
    columns, mean, each = Factors(scored), scored["mean"].to_numpy(dtype=float), [*dict.fromkeys([*groups, "system"])]
    for of in ([*dict.fromkeys([*keys, "item"])], keys, each):  # means over criteria, items and judges
        codes = columns.ranked(of)
        total, n = (np.bincount(codes.code, x, codes.size) for x in (np.nan_to_num(mean), ~np.isnan(mean)))
        columns, mean = columns.take(codes.first), quotient(total, n, n > 0)
    table = columns.frame(each).assign(_score=mean)
    if family:
        table = table.assign(_family=table["system"].map(_one_each(scored, family)))
    return table.assign(**{tier: table["system"].map(tiers)}), groups


def _ordering_rows(part: pd.DataFrame, order: list[str], tier: str, plan: Bootstrap, key: Record) -> list[Record]:
    place = part[tier].astype(str).map({t: i for i, t in enumerate(order)}).to_numpy(dtype=float)
    value = part["_score"].to_numpy(dtype=float)
    used = ~(np.isnan(place) | np.isnan(value))
    excluded = flags.join(
        flags.OTHER_TIERS.of(int(np.isnan(place).sum())),
        flags.EXCLUDED.of(int((np.isnan(value) & ~np.isnan(place)).sum()), what="system(s) without a score"),
    )
    place, value = place[used].astype(np.int64), value[used]
    family = pd.factorize(part["_family"][used], use_na_sentinel=False)[0] if "_family" in part else None
    if np.unique(place).size < 2:
        if key:
            row = {"lower": "", "higher": "", "term": "ordering_accuracy", "estimate": math.nan, "n": 0, "correct": 0}
            return [{**row, "flag": flags.join(flags.NO_DATA, excluded)}]
        listed = ", ".join(sorted(map(str, part[tier].unique())))
        raise DesignError(
            f"Fewer than two of the tiers in order= occur. {tier!r} has {listed}; order= has {', '.join(order)}."
        )
    sort = np.lexsort([value, place])
    place, value = place[sort], value[sort]
    family = None if family is None else family[sort]
    across = place[:, None] < place[None, :]
    right = across & (value[None, :] - value[:, None] > 1e-9)  # equal means may differ by rounding
    rng = generator(plan.seed, tuple(map(str, key.values())))
    if family is None:
        weights = multinomial_totals(np.ones(place.size), rng, plan.n_resamples, place)
    else:
        weights = multinomial_totals(np.ones(family.max() + 1), rng, plan.n_resamples)[:, family]
    rows = [_ordering_row(right, across, weights, family, plan, excluded, "", "")]
    for i, lower in enumerate(order):
        for j in range(i + 1, len(order)):
            tiers = (place[:, None] == i) & (place[None, :] == j)
            if tiers.any():
                rows.append(_ordering_row(right & tiers, tiers, weights, family, plan, excluded, lower, order[j]))
    return rows


def _ordering_row(
    right: Mask,
    pairs: Mask,
    weights: Floats,
    family: Integers | None,
    plan: Bootstrap,
    excluded: str,
    lower: str,
    higher: str,
) -> Record:
    n, k = int(pairs.sum()), int(right.sum())
    hits, drawn_pairs = (((weights @ x.astype(float)) * weights).sum(axis=1) for x in (right, pairs))
    inside = pairs.any(axis=0) | pairs.any(axis=1)
    involved = np.ones(inside.sum()) if family is None else np.unique(family[inside], return_counts=True)[1]
    cells_of = from_draws(k / n if n else math.nan, quotient(hits, drawn_pairs), involved, plan, (0.0, 1.0))
    alone = (
        flags.LONE_UNIT if family is None and ((pairs.sum(axis=1) == n).any() or (pairs.sum(axis=0) == n).any()) else ""
    )
    row = {"lower": lower, "higher": higher, "term": "ordering_accuracy", "correct": k, **cells_of, "n": n}
    return {**row, "flag": flags.join(flags.NO_DATA if not n else "", excluded, alone, cells_of["flag"])}
