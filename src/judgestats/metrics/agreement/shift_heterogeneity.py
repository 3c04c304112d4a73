"""Heterogeneity of the shift of agreement between subgroups: Cochran's Q."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import chdtrc, stdtr

from judgestats import flags, methods
from judgestats.counting.bootstrap import Bootstrap
from judgestats.errors import DesignError
from judgestats.estimate import quantile
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.metrics.agreement.block_correlations import correlation_change, from_draws, mean_defined
from judgestats.metrics.agreement.matched_conditions import MatchedCorrelations, shift_method, units_with_code
from judgestats.metrics.agreement.rating_blocks import Block, label_codes
from judgestats.typing import Floats, Ints, Record

#: Value of ``across`` for the pairs of judges as subgroups.
PAIR = "pair"


def subgroup_of_units(block: Block, split: list[str]) -> Ints | None:
    """Subgroup of each unit; None if a unit is in two subgroups."""
    code, labels = label_codes(block.rows, split)
    present = units_with_code(block, code, len(labels))
    return None if (present.sum(axis=0) > 1).any() else present.argmax(axis=0).astype(np.int64)


def _subgroups(
    data: MatchedCorrelations, split: list[str]
) -> tuple[list[tuple[str, ...]], Floats, Floats, list[list[Floats]]]:
    """Names of the subgroups, their correlations on both sides (2, G), drawn ones (B, 2, G), and shared points."""
    r, draws = data.r, data.draws
    if not split:
        label: list[tuple[str, ...]] = [(f"{a} / {b}",) for a, b in data.block.pairs]
        value, many = mean_defined(r.swapaxes(1, 2)), mean_defined(draws.swapaxes(2, 3))
        sizes = [data.sizes(judges=pair) for pair in np.stack(data.block.sides, axis=-1)]
    else:
        code, table = label_codes(data.cells, split)
        label = [tuple(map(str, t)) for t in table.itertuples(index=False)]
        each, each_draws = mean_defined(r), mean_defined(draws)
        value = np.stack([mean_defined(each[:, code == g]) for g in range(len(label))], axis=-1)
        many = np.stack([mean_defined(each_draws[..., code == g]) for g in range(len(label))], axis=-1)
        sizes = [data.sizes(cells=code == g) for g in range(len(label))]
    return label, value, many, sizes


def subgroup_rows(data: MatchedCorrelations, split: list[str], plan: Bootstrap) -> list[Record]:
    """Shift of each subgroup, their differences, and the test that all are equal."""
    label, r, drawn_r, sizes = _subgroups(data, split)
    shift, draws = r[1] - r[0], drawn_r[:, 1] - drawn_r[:, 0]
    if len(label) < 2 and not data.block.key:
        raise DesignError(
            f"across= gives {len(label)} subgroup(s), and needs two. Name a column with several values in both "
            "conditions."
        )
    shared = not split or subgroup_of_units(data.block, split) is None
    text = [", ".join(t) for t in label]
    rows = []

    def add(term: str, cells: Record, **more: str | float) -> None:
        flag = flags.join(flags.NO_DATA if math.isnan(cells["estimate"]) else "", cells["flag"])
        base = {**data.block.key, "subgroup": "", "other": "", "term": term, **cells, **more}
        method = shift_method(data.paired, cells["method"])
        rows.append({**base, "n": data.block.n_units, "method": method, "flag": flag})

    def compare(term: str, value: float, term_draws: Floats, **more: str | float) -> None:
        cells = from_draws(float(value), term_draws, data.block.unit_sizes, plan)
        p = _p_value(cells, effective_clusters(data.block.unit_sizes), plan.conf_level)
        add(term, cells, p_value=p, **more)

    for g, name in enumerate(text):
        add("shift", correlation_change(r[:, g], drawn_r[:, :, g], sizes[g], plan), subgroup=name)
    for g in range(len(text)):
        for h in range(g + 1, len(text)):
            compare("difference", shift[g] - shift[h], draws[:, g] - draws[:, h], subgroup=text[g], other=text[h])
    if len(label) == 4 and len(label[0]) == 2 and all(len({t[i] for t in label}) == 2 for i in (0, 1)):
        sign = np.array([1.0, -1.0, -1.0, 1.0])
        compare("interaction", float(shift @ sign), draws @ sign)
    return [*rows, *_homogeneity(data.block.key, shift, draws, shared, data.block.unit_sizes)]


def _p_value(cells: Record, clusters: float, conf_level: float) -> float:
    """P-value that matches Student's interval: below 1 - conf_level where the interval excludes 0."""
    near = cells["conf_low"] if cells["estimate"] > 0 else -cells["conf_high"]
    t = near / cells["std_error"] + quantile(clusters - 1, conf_level)
    return float(2 * stdtr(clusters - 1, -max(t, 0.0))) if cells["std_error"] > 0 else math.nan


def _homogeneity(key: Record, shift: Floats, draws: Floats, shared: bool, sizes: Floats) -> list[Record]:
    """Cochran's Q and I², with the covariance of subgroups that share units."""
    defined = ~np.isnan(shift)
    shift, draws = shift[defined], draws[:, defined]
    draws = draws[~np.isnan(draws).any(axis=1)]
    excluded = flags.EXCLUDED.of(int((~defined).sum()), what="subgroup(s) without a shift")
    few = flags.few_clusters(sizes)
    g = shift.size
    worth = effective_clusters(sizes)
    covariance = np.cov(draws, rowvar=False) * worth / max(worth - 1, 1e-9)  # n - 1 as in the standard errors
    q = cochran_q(shift, covariance, shared) if g > 1 and len(draws) > g else math.nan
    flag = flags.join(excluded, flags.SUBGROUPS_OVERLAP if shared else "", few, flags.NO_DATA if math.isnan(q) else "")
    row = {**key, "subgroup": "", "other": "", "n": g, "flag": flag}
    p = math.nan if math.isnan(q) else float(chdtrc(g - 1, q))
    share = math.nan if math.isnan(q) else max(0.0, (q - (g - 1)) / q) if q > 0 else 0.0
    test = {"term": "heterogeneity", "estimate": q, "df": g - 1 if g > 1 else math.nan, "p_value": p}
    return [{**row, **test, "method": methods.CHI_SQUARE_P}, {**row, "term": "i_squared", "estimate": share}]


def cochran_q(value: Floats, covariance: Floats, shared: bool = False) -> float:
    """Wald statistic of equal `value` (G,), NaN if the covariance of the differences is singular.

    Of `covariance` (G, G) the diagonal alone is used unless the values are dependent (`shared`): then it is Cochran's
    Q.

    >>> round(cochran_q(np.array([0.22, 0.27, -0.06]), np.diag([0.01, 0.01, 0.01])), 2)
    6.33
    """
    covariance = covariance if shared else np.diag(np.diag(covariance))
    contrast = np.eye(value.size)[1:] - np.eye(value.size)[0]
    inside = contrast @ covariance @ contrast.T
    if not np.isfinite(inside).all() or np.linalg.matrix_rank(inside) < len(inside):
        return math.nan
    differences = contrast @ value
    return float(differences @ np.linalg.solve(inside, differences))
