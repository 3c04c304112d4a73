"""Where do scores vary? Variance components of generalizability theory: :func:`variance_components`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError
from judgestats.kernels.reml import cross_products
from judgestats.kernels.variance import combination, effect_squares, satterthwaite
from judgestats.metrics.agreement.components import fitted, told_apart
from judgestats.metrics.agreement.designs import Design, designs
from judgestats.results import CONSTANT, NO_DATA, estimates, flags
from judgestats.schema.columns import By, names
from judgestats.schema.splitting import as_runs

Floats = NDArray[np.float64]
EXTRA = ("share", "raw", "df", "levels")
MLS = "mean squares, MLS (Ting et al. 1990)"
REML = "REML, Satterthwaite"
NEGATIVE = "negative, set to 0"
AT_ZERO = "at 0"
ONE_LEVEL = "one level"
NOT_APART = "not told apart"
NO_RESIDUAL = "no residual"
NOT_CONVERGED = "not converged"
FEW_LEVELS = "fewer than 10 levels"
#: Levels, but for the largest effect, beyond which REML is refused: its tables are dense.
MOST_LEVELS = 1000


def variance_components(
    ratings: Any,
    *,
    facets: By | None = None,
    interactions: bool = True,
    by: By = (),
    average_over: By = (),
    most_levels: int = MOST_LEVELS,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Variance of scores by judge, system, item and criterion, their two-way interactions, and the rest.

    Parameters
    ----------
    ratings : frame
        Ratings in any engine; missing scores are set aside and counted in the flag.
    facets : str or sequence of str, optional
        Any columns; by default those of ``judge``, ``system``, ``item``, ``criterion``, ``replicate`` that vary. Which
        of these is no facet is averaged over, and the flag says so.
    interactions : bool
        False leaves the two-way interactions in the residual.
    by : str or sequence of str
        Columns that split the result.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    most_levels : int
        An incomplete design with more levels than this, those of its largest effect apart, is refused: REML holds a
        dense table of them.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        The `by` columns and those of every estimate: a row per component, terms ``judge``, ``judge:item``, ...,
        ``residual`` and, where runs repeat the cells, the cell itself, ``judge:system:item``, which holds all
        interactions of a higher order; then ``share`` of the sum of components, ``raw`` (before a negative one is set
        to 0), ``df`` and ``levels``. ``n`` counts the scores analysed.

    Raises
    ------
    SchemaError
        If a column is missing.
    DesignError
        If a facet is not known, or an incomplete design is too large for REML.

    Notes
    -----
    All facets are random, and crossed but for ``replicate``, which is nested in the cell: run 1 of one cell has nothing
    to do with run 1 of another, so runs make the residual. An item that occurs under one system only is nested in it:
    its component is that of items within systems.

    A complete design is analysed by mean squares and their expectations; the interval is the modified large-sample
    one, the standard error has df + 2 (Brennan, Eq. 6.1). A negative component is 0 with a flag. An incomplete
    design is analysed by REML, with Satterthwaite's interval from the observed information. Components that the
    design cannot tell apart are NaN with a flag.

    References
    ----------
    Brennan, R. L. (2001). Generalizability Theory, Ch. 3 and 6. Shavelson, R. J., & Webb, N. M. (1991).
    Generalizability Theory: A Primer. Ting, N., et al. (1990). J. Statist. Comput. Simul., 35, 135-143.

    Examples
    --------
    >>> rows = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> scores = pd.DataFrame([{"judge": j, "system": "s", "item": i, "score": x}
    ...                        for i, row in enumerate(rows) for j, x in enumerate(row)])
    >>> variance_components(scores)[["term", "estimate", "conf_low", "conf_high", "share"]].round(3)
           term  estimate  conf_low  conf_high  share
    0     judge     5.244     1.559     75.086  0.595
    1      item     2.556     0.808     16.634  0.290
    2  residual     1.019     0.556      2.442  0.116
    """
    ratings = as_runs(ratings, average_over, [*names(by), *names(facets)])
    wanted, groups = designs(ratings, facets, by)
    rows: list[dict[str, Any]] = []
    for labels, design in groups:
        rows += [{**labels, **row} for row in _components(design, wanted, interactions, most_levels, conf_level)]
    return estimates(rows, [*dict.fromkeys(names(by))], EXTRA)


def _components(
    design: Design, wanted: list[str], interactions: bool, most_levels: int, conf_level: float
) -> list[dict[str, Any]]:
    effects = design.effects(interactions)
    constant = len(design.y) > 1 and np.ptp(design.y) == 0
    crossed = [f for f in wanted if f != "replicate"]
    rows: list[dict[str, Any]]
    unknown: list[dict[str, Any]] = [
        {"term": f, "levels": 1.0, "flag": ONE_LEVEL} for f in crossed if f in design.single
    ]
    if not len(design.y) or constant or not effects:
        flag = CONSTANT if constant else ONE_LEVEL if len(design.y) else NO_DATA
        rows = [{"term": t, "flag": flag} for t in [*map(":".join, effects), "residual"]]
    else:
        array = design.array()
        rows = (
            _by_reml(design, effects, most_levels, conf_level)
            if array is None
            else _by_squares(design, array, effects, conf_level)
        )
    total = np.nansum([r.get("estimate", np.nan) for r in rows])
    for row in rows:
        row["share"] = row.get("estimate", np.nan) / total if total > 0 else np.nan
    for row in [*rows, *unknown]:
        row |= {"n": float(len(design.y)), "flag": flags(*design.doubts, *row.get("flag", "").split("; "))}
    places = {f: i for i, f in enumerate(crossed)}
    return sorted([*rows, *unknown], key=lambda r: places.get(r["term"], len(places)))


def _by_squares(
    design: Design, array: Floats, effects: list[tuple[str, ...]], conf_level: float
) -> list[dict[str, Any]]:
    axes = {f: i for i, f in enumerate(design.codes)}
    squares, df, expected = effect_squares(array, [tuple(axes[f] for f in e) for e in effects])
    terms = [*map(":".join, effects), "residual"]
    if not (df > 0).all():
        return [{"term": t, "flag": NOT_APART} for t in terms]
    raw, se, low, high = combination(squares, df, np.linalg.inv(expected).astype(float), conf_level)
    levels = design.levels
    rows = []
    for i, term in enumerate(terms):
        low[i], high[i] = max(low[i], 0.0), max(high[i], 0.0)
        bounded = low[i] < high[i]
        row = {"term": term, "estimate": max(raw[i], 0.0), "raw": raw[i], "std_error": se[i], "df": df[i]}
        row |= {"conf_low": low[i], "conf_high": high[i], "method": MLS} if bounded else {}
        row["levels"] = float(np.prod([levels[f] for f in effects[i]])) if i < len(effects) else np.nan
        rows.append({**row, "flag": NEGATIVE if raw[i] < 0 else AT_ZERO if raw[i] == 0 else ""})
    return rows


def _by_reml(
    design: Design, effects: list[tuple[str, ...]], most_levels: int, conf_level: float
) -> list[dict[str, Any]]:
    codes = [design.code(e) for e in effects]
    levels = [int(c.max()) + 1 for c in codes]
    if sum(levels) - max(levels) > most_levels:
        raise DesignError(
            f"The design is incomplete, and its effects but the largest have {sum(levels) - max(levels):,} levels, "
            f"more than most_levels={most_levels:,} for REML. Keep the complete items, use interactions=False or fewer "
            "facets=, split it with by=, or raise most_levels= (time grows with its cube)."
        )
    kept = _told_apart(design.y, codes)
    terms = [*(":".join(effects[i]) for i in kept), "residual"]
    fit = fitted(design.y, [codes[i] for i in kept])
    df, low, high = satterthwaite(fit.variance, np.diag(fit.covariance), conf_level)
    rows = {}
    for i, term in enumerate(terms):
        bounded = low[i] < high[i]
        size = float(levels[kept[i]]) if i < len(kept) else np.nan
        told = [NOT_CONVERGED if not fit.converged else "", AT_ZERO if fit.at_zero[i] else ""]
        told += [NOT_APART if not fit.told_apart else "", NO_RESIDUAL if not fit.has_residual else ""]
        told += [FEW_LEVELS if size < 10 else ""]
        row = {"term": term, "estimate": fit.variance[i], "raw": fit.variance[i], "levels": size, "flag": flags(*told)}
        row |= {"std_error": np.sqrt(fit.covariance[i, i]), "df": df[i]} if fit.covariance[i, i] > 0 else {}
        row |= {"conf_low": low[i], "conf_high": high[i], "method": REML} if bounded else {}
        rows[term] = row
    every = [*map(":".join, effects), "residual"]
    return [rows.get(t, {"term": t, "flag": NOT_APART}) for t in every]


def _told_apart(y: Floats, codes: list[NDArray[Any]]) -> list[int]:
    """Effects that can be told from the residual and from those before them."""
    gram = cross_products(y, codes).gram
    kept: list[int] = []
    for i in range(len(codes)):
        if told_apart(gram[np.ix_([*kept, i, -1], [*kept, i, -1])]):
            kept.append(i)
    return kept
