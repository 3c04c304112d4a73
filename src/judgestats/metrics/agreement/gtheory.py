"""Generalizability studies: :func:`variance_components`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.cells import ABOUT, cells, score_counts
from judgestats.counting.splitting import as_runs, eager_splits, lazy_splits, refuse_splits
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, refuse_unknown
from judgestats.kernels.reml import fitted, gram, identifiable, normalised
from judgestats.kernels.variance import combination, effect_squares, satterthwaite
from judgestats.metrics.measure_registry import Measure
from judgestats.metrics.requirements import QUICK
from judgestats.metrics.scales import across_scales
from judgestats.results import estimates
from judgestats.schema.coding import as_scores, compact, joint, numbers_of, occurring, ranked_codes
from judgestats.schema.columns import COUNTS, By, grouping, names
from judgestats.schema.declared_counts import call_counts
from judgestats.schema.opening import frame_columns
from judgestats.typing import Floats, Integers, Ints, Record

#: The usual facets of ratings; ``replicate`` is nested: the first runs of two cells have nothing in common.
FACETS = ("judge", "system", "item", "criterion", "replicate")


@dataclass(frozen=True)
class FacetDesign:
    """Scores of one group with the levels of their facets. No panel: the judge is a facet like any other."""

    y: Floats  # (N,)
    codes: Mapping[str, Integers]  # levels (N,) of each crossed facet with more than one level, numbered without gaps
    single: tuple[str, ...]  # facets with one level in this group
    repeated: bool  # whether some combination of levels has several scores
    notes: list[str]  # flags for what was averaged or excluded

    @property
    def levels(self) -> dict[str, int]:
        """Levels of each crossed facet."""
        return {f: int(c.max()) + 1 for f, c in self.codes.items()}

    def effects(self, interactions: bool) -> list[tuple[str, ...]]:
        """Crossed facets, their pairs, and the cell itself if runs repeat it; the rest is the residual."""
        crossed = tuple(self.codes)
        effects: list[tuple[str, ...]] = [(f,) for f in crossed]
        if interactions:
            effects += [pair for pair in combinations(crossed, 2) if len(crossed) > 2]
        return [*effects, crossed] if self.repeated and len(crossed) > 1 else effects

    def code(self, effect: Sequence[str]) -> Integers:
        """Level of each score in an effect."""
        levels = self.levels
        return compact(*joint([(self.codes[f], levels[f]) for f in effect], len(self.y)))[0]

    def array(self) -> Floats | None:
        """Scores as (L1, ..., Lp, R); None for an incomplete design."""
        shape = list(self.levels.values())
        runs, rest = divmod(len(self.y), int(np.prod(shape)))
        place, size = joint(list(zip(self.codes.values(), shape, strict=True)), len(self.y))
        if rest or not runs or (np.bincount(place, minlength=size) != runs).any():
            return None
        return self.y[np.argsort(place, kind="stable")].reshape(*shape, runs)


def designs(ratings: IntoFrame, facets: By | None, by: By) -> tuple[list[str], list[tuple[Record, FacetDesign]]]:
    """The facets, by default those of :data:`FACETS` that vary, and (labels, Design) of each group, sorted."""
    data = as_scores(Study.of(ratings).data)
    present = frame_columns(data)
    by = grouping(by, present)
    value = "score" if "score" in present else "mean"
    if value not in present or "judge" not in present:
        lacking = [c for c in ("judge", "score") if c not in present and not (c == "score" and value in present)]
        raise SchemaError(
            f"The table lacks {', '.join(lacking)} for ratings. Columns: {', '.join(present)}. Map it with "
            "ratings(frame, judge='...', system='...', item='...', score='...')."
        )
    weight = score_counts(data, value, by)
    possible = [c for c in present if c not in (value, COUNTS)]
    for name in names(facets):
        if name in by:
            raise DesignError(f"{name!r} is in facets= and in by=. Name a column in one of them only.")
        refuse_unknown(
            name, possible, f"facets={name!r} is not a column that can be a facet", "Columns", error=SchemaError
        )
    about = [c for c in dict.fromkeys([*FACETS, *ABOUT, *names(facets)]) if c in present and c not in by]
    table = data.select(*by, *about, value, *([weight] if weight else [])).lazy().collect(backend="pandas").to_native()
    coded = {c: ranked_codes(table[c]) for c in [*by, *about]}
    keys = [c for c in coded if c != "replicate"]
    unit, units = compact(*joint([(coded[c][0], len(coded[c][1])) for c in keys], len(table)))
    if units.size < len(table):
        lazy = isinstance(data, nw.LazyFrame)
        refuse_splits(lazy_splits(data, keys) if lazy else eager_splits(data, unit, units.size, keys), keys)
    if facets is None:
        varying = [f for f in FACETS if f in about and len(coded[f][1]) > 1]
    else:
        varying = sorted(dict.fromkeys(names(facets)), key=lambda f: FACETS.index(f) if f in FACETS else len(FACETS))
    y = numbers_of(table[value])
    n = call_counts(table[weight]) if weight else None
    return varying, list(_group_designs(y, n, coded, by, varying, [flags.MEANS_OF_RUNS] if value == "mean" else []))


def _group_designs(
    y: Floats, n: Floats | None, coded: Record, by: Sequence[str], facets: Sequence[str], notes: list[str]
) -> Iterator[tuple[Record, FacetDesign]]:
    code, size = joint([(coded[c][0], len(coded[c][1])) for c in by], len(y))
    group, groups = compact(code, size)
    order = np.argsort(group, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(group, minlength=groups.size))[:-1]):
        if not rows.size:
            continue
        labels = {c: coded[c][1][coded[c][0][rows[0]]] for c in by}
        yield labels, _design(y, n, {c: v[0] for c, v in coded.items() if c not in by}, rows, facets, notes)


def _design(
    y: Floats, n: Floats | None, codes: dict[str, Integers], rows: Ints, facets: Sequence[str], notes: list[str]
) -> FacetDesign:
    scored = ~np.isnan(y[rows])
    w = np.ones(rows.size) if n is None else n[rows]
    excluded = int(w[~scored].sum())
    kept_rows = scored & (w > 0)
    rows, w = rows[kept_rows], w[kept_rows]
    local = {c: compact(v[rows].astype(np.int64), int(v.max(initial=0)) + 1) for c, v in codes.items()}
    varied = [c for c, (_, levels) in local.items() if levels.size > 1]
    crossed = [f for f in facets if f != "replicate"]
    varying = [f for f in facets if f in varied]
    averaged = [
        flags.REPLICATES_AVERAGED if name == "replicate" else flags.AVERAGED_OVER.of(what=name)
        for name in varied
        if name not in facets
    ]
    place, size = joint([(local[c][0], local[c][1].size) for c in varying], len(rows))
    unit, units = compact(place, size)
    runs = np.bincount(unit, weights=w, minlength=units.size)
    score = np.bincount(unit, weights=w * y[rows], minlength=units.size) / np.maximum(runs, 1)
    if runs.max(initial=1) > 1 and not averaged:
        averaged = [flags.REPLICATES_AVERAGED]
    first = np.zeros(units.size, np.int64)
    first[unit] = np.arange(len(rows))
    level_codes = {f: local[f][0][first] for f in crossed if f in varying}
    sized = [(code, local[f][1].size) for f, code in level_codes.items()]
    cells = occurring(*joint(sized, units.size)).size if sized else 0
    notes = [*notes, *([flags.N_SCORES_EXCLUDED.of(excluded)] if excluded else []), *averaged]
    return FacetDesign(score, level_codes, tuple(f for f in crossed if f not in varying), len(score) > cells > 0, notes)


EXTRA = ("share", "raw", "df", "levels")
#: Levels of all effects except the largest beyond which REML is refused, because its tables are dense.
MOST_LEVELS = 1000


@Measure(
    "How much variance is due to judges, systems, items, criteria, runs, or any other column?",
    "variance",
    "R",
    "modified large-sample; REML: Satterthwaite",
    "Brennan 2001; Ting et al. 1990",
    plot="variance_components",
    frames=("ratings",),
    arguments=lambda *_: {"max_levels": QUICK},
    caption="Share of the variance of a single score due to each source; all facets are random.",
    have=("judges",),
    assumes="Random effects are independent of each other with one variance each; levels are a sample of such levels.",
)
def variance_components(
    ratings: IntoFrame,
    *,
    facets: By | None = None,
    interactions: bool = True,
    by: By = (),
    average_over: By = (),
    max_levels: int = MOST_LEVELS,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Variance of scores by judge, system, item and criterion, their two-way interactions, and the rest.

    Parameters
    ----------
    ratings : frame
        Ratings in any engine; missing scores are excluded and counted in the flag.
    facets : str or sequence of str, optional
        Any columns; by default those of ``judge``, ``system``, ``item``, ``criterion``, ``replicate`` that vary. Scores
        are averaged over those of the five that are not named, with a flag.
    interactions : bool
        False leaves the two-way interactions in the residual.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    max_levels : int
        An incomplete design with more levels than this, not counting its largest effect, is refused: REML needs a
        dense table of them.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        The `by` columns and those of every estimate: a row per component, terms ``judge``, ``judge:item``, ...,
        ``residual`` and, if runs repeat the cells, the cell itself, ``judge:system:item``, which contains all
        interactions of higher order; then ``share`` of the sum of components, ``raw`` (before a negative component is
        set to 0), ``df`` and ``levels``. ``n`` counts the scores analysed.

    Raises
    ------
    SchemaError
        If a column is missing.
    DesignError
        If a facet is also in `by`, or an incomplete design is too large for REML.

    See Also
    --------
    decision_study : How many judges and items a reliability needs.
    icc : Intraclass correlations.
    fit : Models of verdicts and scores.

    Notes
    -----
    All facets are random, and crossed except ``replicate``, which is nested in the cell: run 1 of one cell has nothing
    to do with run 1 of another, so runs make the residual. Items that occur under one system only are nested in it, and
    their component is that of items within systems.

    A complete design is analysed by expected mean squares, with the modified large-sample interval and the standard
    error with df + 2 (Brennan, Eq. 6.1). A negative component is 0 with a flag. An incomplete design is analysed by
    REML, with Satterthwaite's interval from the observed information. Components that the design cannot identify are
    NaN with a flag.

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
    varying, groups = designs(ratings, facets, by)
    rows: list[Record] = []
    for labels, design in groups:
        rows += [{**labels, **row} for row in _components(design, varying, interactions, max_levels, conf_level)]
    columns = [*dict.fromkeys(names(by))]
    components = estimates(rows, columns, EXTRA)
    if "judge" not in varying:
        return components
    scores = cells(ratings, list(dict.fromkeys([*columns, *(f for f in varying if f not in FACETS)])))
    return across_scales(components, scores, columns, set(components["term"]), ())


def _components(
    design: FacetDesign, facets: list[str], interactions: bool, max_levels: int, conf_level: float
) -> list[Record]:
    effects = design.effects(interactions)
    constant = len(design.y) > 1 and np.ptp(design.y) == 0
    crossed = [f for f in facets if f != "replicate"]
    rows: list[Record]
    unknown: list[Record] = [{"term": f, "levels": 1.0, "flag": flags.ONE_LEVEL} for f in crossed if f in design.single]
    if not len(design.y) or constant or not effects:
        flag = flags.CONSTANT if constant else flags.ONE_LEVEL if len(design.y) else flags.NO_DATA
        rows = [{"term": t, "flag": flag} for t in [*map(":".join, effects), "residual"]]
    else:
        array = design.array()
        rows = (
            _reml_components(design, effects, max_levels, conf_level)
            if array is None
            else _mean_square_components(design, array, effects, conf_level)
        )
    total = np.nansum([r.get("estimate", np.nan) for r in rows])
    for row in rows:
        row["share"] = row.get("estimate", np.nan) / total if total > 0 else np.nan
    for row in [*rows, *unknown]:
        row |= {"n": float(len(design.y)), "flag": flags.join(*design.notes, row.get("flag"))}
    places = {f: i for i, f in enumerate(crossed)}
    return sorted([*rows, *unknown], key=lambda r: places.get(r["term"], len(places)))


def _mean_square_components(
    design: FacetDesign, array: Floats, effects: list[tuple[str, ...]], conf_level: float
) -> list[Record]:
    axes = {f: i for i, f in enumerate(design.codes)}
    squares, df, expected = effect_squares(array, [tuple(axes[f] for f in e) for e in effects])
    terms = [*map(":".join, effects), "residual"]
    if not (df > 0).all():
        return [{"term": t, "flag": flags.NOT_IDENTIFIABLE} for t in terms]
    raw, se, low, high = combination(squares, df, np.linalg.inv(expected).astype(float), conf_level)
    levels = design.levels
    rows = []
    for i, term in enumerate(terms):
        low[i], high[i] = max(low[i], 0.0), max(high[i], 0.0)
        bounded = low[i] < high[i]
        row = {"term": term, "estimate": max(raw[i], 0.0), "raw": raw[i], "std_error": se[i], "df": df[i]}
        row |= {"conf_low": low[i], "conf_high": high[i], "method": methods.MEAN_SQUARES} if bounded else {}
        row["levels"] = float(np.prod([levels[f] for f in effects[i]])) if i < len(effects) else np.nan
        rows.append({**row, "flag": flags.NEGATIVE if raw[i] < 0 else flags.VARIANCE_ZERO if raw[i] == 0 else ""})
    return rows


def _apart(design: FacetDesign, effects: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The effects without those confounded with one of the same order, as where each judge has its own system."""
    levels = {effect: int(design.code(effect).max()) + 1 for effect in effects}

    def alike(one: tuple[str, ...], two: tuple[str, ...]) -> bool:
        both = tuple(dict.fromkeys(one + two))
        return levels[one] == levels[two] == int(design.code(both).max()) + 1

    twins = {e for pair in combinations(effects, 2) if len(pair[0]) == len(pair[1]) and alike(*pair) for e in pair}
    return [e for e in effects if e not in twins and not any(alike(e, twin) for twin in twins)]


def _reml_components(
    design: FacetDesign, effects: list[tuple[str, ...]], max_levels: int, conf_level: float
) -> list[Record]:
    every, effects = [*map(":".join, effects), "residual"], _apart(design, effects)
    if not effects:
        return [{"term": t, "flag": flags.NOT_IDENTIFIABLE} for t in every]
    codes = [design.code(e) for e in effects]
    levels = [int(c.max()) + 1 for c in codes]
    if sum(levels) - max(levels) > max_levels:
        raise DesignError(
            f"The design is incomplete, and its effects except the largest have {sum(levels) - max(levels):,} levels, "
            f"more than max_levels={max_levels:,} for REML. Keep the complete items, use interactions=False or fewer "
            "facets=, split it with by=, or raise max_levels= (time grows with its cube)."
        )
    gram_matrix = normalised(gram(codes))
    interior: list[int] = []  # effects identifiable together with the residual and the effects before them
    for i in range(len(codes)):
        if identifiable(gram_matrix[np.ix_([*interior, i, -1], [*interior, i, -1])]):
            interior.append(i)
    if not interior:
        return [{"term": t, "flag": flags.NOT_IDENTIFIABLE} for t in every]
    terms = [*(":".join(effects[i]) for i in interior), "residual"]
    fit = fitted(design.y, [codes[i] for i in interior])
    df, low, high = satterthwaite(fit.variance, np.diag(fit.covariance), conf_level)
    rows = {}
    for i, term in enumerate(terms):
        bounded = low[i] < high[i]
        size = float(levels[interior[i]]) if i < len(interior) else np.nan
        notes = {
            flags.NOT_CONVERGED: not fit.converged,
            flags.VARIANCE_ZERO: fit.at_zero[i],
            flags.NOT_IDENTIFIABLE: not fit.identifiable,
            flags.NO_RESIDUAL: not fit.has_residual,
            flags.FEW_LEVELS: size < 10,
            flags.FAR_BELOW_ERROR: df[i] > 0 and not bounded,
        }
        row = {"term": term, "estimate": fit.variance[i], "raw": fit.variance[i], "levels": size}
        row["flag"] = flags.join(*(name for name, true in notes.items() if true))
        row |= {"std_error": np.sqrt(fit.covariance[i, i]), "df": df[i]} if fit.covariance[i, i] > 0 else {}
        row |= {"conf_low": low[i], "conf_high": high[i], "method": methods.REML_SATTERTHWAITE} if bounded else {}
        rows[term] = row
    return [rows.get(t, {"term": t, "flag": flags.NOT_IDENTIFIABLE}) for t in every]
