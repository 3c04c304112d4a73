"""Do shifts of agreement differ between subgroups, and does agreement fall with temperature?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from scipy.special import chdtrc, stdtr, stdtrit

from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose
from judgestats.metrics.agreement.levels import (
    METHODS,
    UNITS,
    Block,
    Floats,
    Ints,
    Method,
    Unit,
    blocks,
    codes,
    from_draws,
    mean_defined,
    pair_correlations,
    plan_of,
    rated,
    refuse_empty,
    resampled,
    whole,
)
from judgestats.metrics.agreement.shifts import Matched, matched, two_sides, words
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.rates import Bootstrap
from judgestats.results import EXCLUDED, FEW_CLUSTERS, MISSING, NO_DATA, SUBGROUPS_OVERLAP, UNDEFINED, estimates, flags
from judgestats.schema.clustering import Cluster
from judgestats.schema.columns import By, grouping, names
from judgestats.schema.splitting import as_runs

#: As a value of ``across``: the subgroups are the pairs of judges.
PAIR = "pair"


def shift_heterogeneity(
    before: Any,
    after: Any,
    *,
    across: By,
    condition: str = "condition",
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
    """Compare the shift of agreement between subgroups, and test whether it is one.

    Parameters
    ----------
    before, after, condition
        As in :func:`agreement_shift`.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    across : str or sequence of str
        Columns whose combinations are the subgroups (``domain``, ``system``, ``language``), or ``"pair"``: the pairs
        of judges.
    by, cell, unit, method, cluster, n_resamples, seed, conf_level
        As in :func:`agreement_shift`.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, ``subgroup``, ``other``, the columns of every estimate, ``df`` and ``p_value``. Terms:
        ``shift`` of each subgroup; ``difference``, the shift of ``subgroup`` minus that of ``other``; ``interaction``,
        the difference of differences where `across` names two columns of two values; ``heterogeneity``, Cochran's Q,
        with df and p from chi-square; ``i_squared``, the share of Q beyond its df. ``n`` counts the units drawn, for
        the last two the subgroups.

    Raises
    ------
    DesignError
        For one subgroup (in one of several groups: no test, flagged), and as :func:`agreement_shift`.
    SchemaError
        If a column is missing.

    Notes
    -----
    Q is the Wald statistic of equal shifts, with the covariance of the bootstrap draws. Where subgroups share no unit
    (domains of items) they are drawn apart, and Q is Cochran's own: inverse variances for weights. Where they do (judge
    pairs, systems, temperatures) they are drawn together, the covariance is used, and a flag says so. P-values take the
    covariance as known; those of differences go with their intervals, and are not adjusted for their number.

    Source: consensus_illusion paper, Sections 3.1 and 3.4 (domain selectivity, and the model x language interaction,
    for which it prints p < 0.01 and p < 0.05 without a statistic).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = [{"judge": j, "system": "s", "item": f"{d}{i}", "domain": d, "condition": c,
    ...          "score": e + rng.normal() * (2 if c == "new" and d == "art" else 1)}
    ...         for d in ("art", "law") for i, e in enumerate(rng.normal(size=60))
    ...         for c in ("old", "new") for j in "ab"]
    >>> result = shift_heterogeneity(pd.DataFrame(rows), ("old", "new"), across="domain", n_resamples=300)
    >>> list(result["term"])
    ['shift', 'shift', 'difference', 'heterogeneity', 'i_squared']
    """
    choose(method, METHODS, "method")
    choose(unit, UNITS, "unit")
    wanted = names(across)
    if not wanted:
        raise DesignError("across= names no column. Give what the subgroups differ in, or 'pair' for the judges.")
    split = [] if wanted == [PAIR] else wanted
    data = two_sides(before, after, condition, by, [*names(cell), *split], cluster, unit, average_over)
    plan = plan_of(data.cluster, n_resamples, seed, conf_level)
    rows: list[dict[str, Any]] = []
    for block in data.blocks:
        both = matched(_apart(block, split), method, plan)
        told = flags(both.told(plan.cluster[0]), data.told)
        rows += [{**row, "flag": flags(row["flag"], told)} for row in _compared(both, split, plan)]
    return estimates(rows, [*data.groups, "subgroup", "other"], ["df", "p_value"], sort=False)


def _apart(block: Block, split: list[str]) -> Block:
    """Draw the subgroups apart where no unit is in two of them."""
    if not split:
        return block
    owner = _subgroup_of_units(block, split)
    if owner is None:
        return block
    return replace(block, strata=owner * 2 + (0 if block.strata is None else block.strata))


def _subgroup_of_units(block: Block, split: list[str]) -> Ints | None:
    row, labels = codes(block.rows, split)
    points: Any = (~np.isnan(block.scores)).any(axis=1)
    present = np.zeros((len(labels), block.n_units), dtype=bool)
    for g in range(len(labels)):
        present[g, block.owner[points[row == g].any(axis=0)]] = True
    return None if (present.sum(axis=0) > 1).any() else present.argmax(axis=0).astype(np.int64)


def _subgroups(data: Matched, split: list[str]) -> tuple[list[tuple[str, ...]], Floats, Floats]:
    """Names, shifts (G,) and drawn shifts (B, G) of the subgroups."""
    r, draws = data.r, data.draws
    if not split:
        label: list[tuple[str, ...]] = [(f"{a} / {b}",) for a, b in data.block.pairs]
        value, many = mean_defined(r.swapaxes(1, 2)), mean_defined(draws.swapaxes(2, 3))
    else:
        code, table = codes(data.cells, split)
        label = [tuple(map(str, t)) for t in table.itertuples(index=False)]
        each, drawn = mean_defined(r), mean_defined(draws)
        value = np.stack([mean_defined(each[:, code == g]) for g in range(len(label))], axis=-1)
        many = np.stack([mean_defined(drawn[..., code == g]) for g in range(len(label))], axis=-1)
    return label, value[1] - value[0], many[:, 1] - many[:, 0]


def _compared(data: Matched, split: list[str], plan: Bootstrap) -> list[dict[str, Any]]:
    label, shift, draws = _subgroups(data, split)
    if len(label) < 2 and not data.block.key:
        raise DesignError(
            f"Subgroups are compared, and across= gives {len(label)}. Name a column with several values under both "
            "conditions."
        )
    shared = not split or _subgroup_of_units(data.block, split) is None
    text = [", ".join(t) for t in label]
    rows = []

    def add(term: str, value: float, drawn: Floats, **more: Any) -> None:
        cells = from_draws(float(value), drawn, data.block.n_units, plan)
        if term != "shift":
            more["p_value"] = _p_value(cells, data.block.n_units, plan.conf_level)
        doubt = flags(NO_DATA if math.isnan(value) else "", cells["flag"])
        base = {**data.block.key, "subgroup": "", "other": "", "term": term, **cells, **more}
        rows.append({**base, "n": data.block.n_units, "method": words(data.paired, plan), "flag": doubt})

    for g, name in enumerate(text):
        add("shift", shift[g], draws[:, g], subgroup=name)
    for g in range(len(text)):
        for h in range(g + 1, len(text)):
            add("difference", shift[g] - shift[h], draws[:, g] - draws[:, h], subgroup=text[g], other=text[h])
    if _two_by_two(label):
        sign = np.array([1.0, -1.0, -1.0, 1.0])
        add("interaction", float(shift @ sign), draws @ sign)
    return [*rows, *_homogeneity(data.block.key, shift, draws, shared, data.block.n_units)]


def _p_value(cells: dict[str, Any], n_units: int, conf_level: float) -> float:
    """P-value that goes with Student's interval: below 1 - conf_level where it leaves 0 out."""
    near = cells["conf_low"] if cells["estimate"] > 0 else -cells["conf_high"]
    t = near / cells["std_error"] + float(stdtrit(n_units - 1, (1 + conf_level) / 2))
    return float(2 * stdtr(n_units - 1, -max(t, 0.0))) if cells["std_error"] > 0 else math.nan


def _two_by_two(label: list[tuple[str, ...]]) -> bool:
    return len(label) == 4 and len(label[0]) == 2 and all(len({t[i] for t in label}) == 2 for i in (0, 1))


def _homogeneity(key: dict[str, Any], shift: Floats, draws: Floats, shared: bool, n_units: int) -> list[dict[str, Any]]:
    """Cochran's Q, with the covariance of subgroups that share units."""
    known = ~np.isnan(shift)
    shift, draws = shift[known], draws[:, known]
    draws = draws[~np.isnan(draws).any(axis=1)]
    lost = EXCLUDED.of(int((~known).sum()), what="subgroup(s) without a shift")
    few = FEW_CLUSTERS if n_units < 10 else ""
    g = shift.size
    covariance = np.cov(draws, rowvar=False) * n_units / max(n_units - 1, 1)  # that of a sample, as standard errors are
    q = cochran_q(shift, covariance, shared) if g > 1 and len(draws) > g else math.nan
    doubt = flags(lost, SUBGROUPS_OVERLAP if shared else "", few, NO_DATA if math.isnan(q) else "")
    row = {**key, "subgroup": "", "other": "", "n": g, "flag": doubt}
    known_q = not math.isnan(q)
    p = float(chdtrc(g - 1, q)) if known_q else math.nan
    share = max(0.0, (q - (g - 1)) / q) if known_q and q > 0 else 0.0 if known_q else math.nan
    test = {
        **row,
        "term": "heterogeneity",
        "estimate": q,
        "df": g - 1 if g > 1 else math.nan,
        "p_value": p,
        "method": "chi-square p",
    }
    return [test, {**row, "term": "i_squared", "estimate": share}]


def cochran_q(value: Floats, covariance: Floats, shared: bool = False) -> float:
    """Wald statistic of equal values; Cochran's Q where they are independent.

    Parameters
    ----------
    value : (G,) float array
    covariance : (G, G) float array
    shared : bool
        Whether the values are dependent; else only the variances are used.

    Returns
    -------
    float
        NaN where the covariance of the differences is singular.

    Examples
    --------
    >>> round(cochran_q(np.array([0.22, 0.27, -0.06]), np.diag([0.01, 0.01, 0.01])), 2)
    6.33
    """
    covariance = covariance if shared else np.diag(np.diag(covariance))
    contrast = np.eye(value.size)[1:] - np.eye(value.size)[0]
    inside = contrast @ covariance @ contrast.T
    if not np.isfinite(inside).all() or np.linalg.matrix_rank(inside) < len(inside):
        return math.nan
    away = contrast @ value
    return float(away @ np.linalg.solve(inside, away))


def agreement_slope(
    ratings: Any,
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
        A number: ``temperature``.
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
        If `over` has fewer than two values (in one of several groups: NaN, flagged), or text.
    SchemaError
        If a column is missing.

    Notes
    -----
    The bootstrap draws items, the same for all temperatures: the points of the line are dependent, and an OLS standard
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
    choose(method, METHODS, "method")
    choose(unit, UNITS, "unit")
    grouping(over, nw.from_native(ratings).collect_schema().names(), "ratings")
    by = [c for c in names(by) if c != over]
    more = [over, *(c for c in names(cell) if c not in by)]
    drawn = clustered_by(ratings, [*by, *more], cluster, whole="item")
    plan = plan_of(drawn.column, n_resamples, seed, conf_level)
    table, groups = rated(ratings, by, more, drawn.column)
    refuse_empty(table)
    try:
        table[over] = pd.to_numeric(table[over]).astype(float)
    except (ValueError, TypeError):
        cure = "a slope needs numbers. Use agreement_shift for two conditions."
        raise DesignError(f"{over!r} holds text: {cure}") from None
    named = [c for c in dict.fromkeys([over, *names(cell)]) if c not in groups and c != "system"]
    rows = [_slope(b, over, method, plan) for b in blocks(table, groups, named, unit, drawn.column)]
    for row in rows:
        row["flag"] = flags(row["flag"], drawn.flag)
    return estimates(rows, groups)


def _slope(block: Block, over: str, method: Method, plan: Bootstrap) -> dict[str, Any]:
    code, labels = codes(block.rows, [over])
    x = labels[over].to_numpy(dtype=float)
    if np.unique(x[~np.isnan(x)]).size < 2 and not block.key:
        raise DesignError(f"A slope over {over!r} needs two values, got {x.size}.")
    each = mean_defined(pair_correlations(block, method, whole(block)))
    (drawn,) = resampled(block, plan, lambda weights: mean_defined(pair_correlations(block, method, weights)))
    level, many = (np.stack([mean_defined(r[:, code == g]) for g in range(x.size)], axis=-1) for r in (each, drawn))
    used = ~(np.isnan(level[0]) | np.isnan(x))
    lost = flags(
        EXCLUDED.of(int((~used).sum()), what=f"{over}(s) without a correlation"),
        UNDEFINED.of(int(np.isnan(pair_correlations(block, method, whole(block))).sum()), what="pair(s)"),
        MISSING.of(block.n_missing, what="score(s)"),
    )
    away = x[used] - x[used].mean() if used.any() else x[used]
    row: dict[str, Any] = {**block.key, "term": "slope", "n": int(used.sum())}
    if used.sum() < 2:
        return {**row, "estimate": math.nan, "flag": flags(lost, NO_DATA)}
    weight = away / (away @ away)
    cells = from_draws(float(level[0, used] @ weight), many[:, used] @ weight, block.n_units, plan)
    return {**row, **cells, "flag": flags(lost, cells["flag"])}
