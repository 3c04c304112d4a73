"""Generalizability theory: :func:`variance_components` and :func:`decision_study`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags
from judgestats.counting.cells import ABOUT, cells, score_counts
from judgestats.counting.splitting import as_runs, refuse_splits, splits_here, splits_there
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError, refuse_unknown, suggestion
from judgestats.kernels.proportions import quotient
from judgestats.kernels.reml import fitted, gram, identifiable, normalised
from judgestats.kernels.resampling import generator
from judgestats.kernels.variance import combination, effect_squares, satterthwaite
from judgestats.metrics.exclusions import missing_counted
from judgestats.metrics.measure_registry import QUICK, Measure, Options, Term
from judgestats.metrics.scales import across_scales
from judgestats.results import COLUMNS, estimates
from judgestats.schema.coding import as_scores, compact, joint, numbers_of, ranked_codes
from judgestats.schema.columns import COUNTS, By, grouping, names
from judgestats.schema.declared_counts import call_counts
from judgestats.typing import Floats

# ---- Ratings -> the design of a generalizability study, group by group -----------------------------------------------

#: The usual facets of ratings; ``replicate`` is nested: the first runs of two cells have nothing in common.
FACETS = ("judge", "system", "item", "criterion", "replicate")


@dataclass(frozen=True)
class Design:
    """Scores of one group with the levels of their facets."""

    y: Floats  # (N,)
    codes: dict[str, NDArray[Any]]  # levels (N,) of each crossed facet with more than one level, numbered without gaps
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
        found: list[tuple[str, ...]] = [(f,) for f in crossed]
        if interactions:
            found += [pair for pair in combinations(crossed, 2) if len(crossed) > 2]
        return [*found, crossed] if self.repeated and len(crossed) > 1 else found

    def code(self, effect: Sequence[str]) -> NDArray[Any]:
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


def designs(ratings: Any, facets: By | None, by: By) -> tuple[list[str], list[tuple[dict[str, Any], Design]]]:
    """The facets, by default those of :data:`FACETS` that vary, and (labels, Design) of each group, sorted."""
    data = as_scores(Study.of(ratings).data)
    present = list(data.collect_schema().names())
    by = grouping(by, present)
    value = "score" if "score" in present else "mean"
    if value not in present or "judge" not in present:
        lacking = [c for c in ("judge", "score") if c not in present and not (c == "score" and value in present)]
        raise SchemaError(
            f"The table lacks {', '.join(lacking)} for ratings. Columns: {', '.join(present)}. Map it with "
            "ratings(frame, judge='...', system='...', item='...', score='...')."
        )
    weight = score_counts(data, value, by)
    known = [c for c in present if c not in (value, COUNTS)]
    for name in names(facets):
        if name in by:
            raise DesignError(f"{name!r} is in facets= and in by=. Name a column in one of them only.")
        refuse_unknown(
            name, known, f"facets={name!r} is not a column that can be a facet", "Columns", error=SchemaError
        )
    about = [c for c in dict.fromkeys([*FACETS, *ABOUT, *names(facets)]) if c in present and c not in by]
    table = data.select(*by, *about, value, *([weight] if weight else [])).lazy().collect(backend="pandas").to_native()
    coded = {c: ranked_codes(table[c]) for c in [*by, *about]}
    keys = [c for c in coded if c != "replicate"]
    unit, units = compact(*joint([(coded[c][0], len(coded[c][1])) for c in keys], len(table)))
    if units.size < len(table):
        lazy = isinstance(data, nw.LazyFrame)
        refuse_splits(splits_there(data, keys) if lazy else splits_here(data, unit, units.size, keys), keys)
    if facets is None:
        kept = [f for f in FACETS if f in about and len(coded[f][1]) > 1]
    else:
        kept = sorted(dict.fromkeys(names(facets)), key=lambda f: FACETS.index(f) if f in FACETS else len(FACETS))
    y = numbers_of(table[value])
    n = call_counts(table[weight]) if weight else None
    return kept, list(_split(y, n, coded, by, kept, [flags.MEANS_OF_RUNS] if value == "mean" else []))


def _split(
    y: Floats, n: Any, coded: dict[str, Any], by: Sequence[str], facets: Sequence[str], notes: list[str]
) -> Iterator[tuple[dict[str, Any], Design]]:
    code, size = joint([(coded[c][0], len(coded[c][1])) for c in by], len(y))
    group, groups = compact(code, size)
    order = np.argsort(group, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(group, minlength=groups.size))[:-1]):
        if not rows.size:
            continue
        labels = {c: coded[c][1][coded[c][0][rows[0]]] for c in by}
        yield labels, _design(y, n, {c: v[0] for c, v in coded.items() if c not in by}, rows, facets, notes)


def _design(y: Floats, n: Any, codes: dict[str, Any], rows: Any, facets: Sequence[str], notes: list[str]) -> Design:
    scored = ~np.isnan(y[rows])
    w = np.ones(rows.size) if n is None else n[rows]
    excluded = int(w[~scored].sum())
    kept_rows = scored & (w > 0)
    rows, w = rows[kept_rows], w[kept_rows]
    local = {c: compact(v[rows].astype(np.int64), int(v.max(initial=0)) + 1) for c, v in codes.items()}
    varied = [c for c, (_, levels) in local.items() if levels.size > 1]
    crossed = [f for f in facets if f != "replicate"]
    kept = [f for f in facets if f in varied]
    averaged = [
        flags.REPLICATES_AVERAGED if name == "replicate" else flags.AVERAGED_OVER.of(what=name)
        for name in varied
        if name not in facets
    ]
    place, size = joint([(local[c][0], local[c][1].size) for c in kept], len(rows))
    unit, units = compact(place, size)
    runs = np.bincount(unit, weights=w, minlength=units.size)
    score = np.bincount(unit, weights=w * y[rows], minlength=units.size) / np.maximum(runs, 1)
    if runs.max(initial=1) > 1 and not averaged:
        averaged = [flags.REPLICATES_AVERAGED]
    first = np.zeros(units.size, np.int64)
    first[unit] = np.arange(len(rows))
    found = {f: local[f][0][first] for f in crossed if f in kept}
    cells = np.unique(np.stack([*found.values()]), axis=1).shape[1] if found else 0
    notes = [*notes, *([flags.N_SCORES_EXCLUDED.of(excluded)] if excluded else []), *averaged]
    return Design(score, found, tuple(f for f in crossed if f not in kept), len(score) > cells > 0, notes)


# ---- Variance components: :func:`variance_components` ----------------------------------------------------------------

EXTRA = ("share", "raw", "df", "levels")
MLS = "mean squares, MLS (Ting et al. 1990)"
REML = "REML, Satterthwaite"
#: Levels of all effects except the largest beyond which REML is refused, because its tables are dense.
MOST_LEVELS = 1000


@Measure(
    "How much variance is due to judges, systems, items, criteria, runs, or any other column?", "variance", "R",
    "modified large-sample; REML: Satterthwaite", "Brennan 2001; Ting et al. 1990", plot="variance_components",
    frames=("ratings",), arguments=lambda *_: {"max_levels": QUICK},
    caption="Share of the variance of a single score due to each source; all facets are random.",
    have=("judges",),
    assumes="Random effects are independent of each other with one variance each; levels are a sample of such levels.",
)  # fmt: skip
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
        Columns that split the result.
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
    kept, groups = designs(ratings, facets, by)
    rows: list[dict[str, Any]] = []
    for labels, design in groups:
        rows += [{**labels, **row} for row in _components(design, kept, interactions, max_levels, conf_level)]
    columns = [*dict.fromkeys(names(by))]
    found = estimates(rows, columns, EXTRA)
    if "judge" not in kept:
        return found
    scores = cells(ratings, list(dict.fromkeys([*columns, *(f for f in kept if f not in FACETS)])))
    return across_scales(found, scores, columns, set(found["term"]), ())


def _components(
    design: Design, facets: list[str], interactions: bool, max_levels: int, conf_level: float
) -> list[dict[str, Any]]:
    effects = design.effects(interactions)
    constant = len(design.y) > 1 and np.ptp(design.y) == 0
    crossed = [f for f in facets if f != "replicate"]
    rows: list[dict[str, Any]]
    unknown: list[dict[str, Any]] = [
        {"term": f, "levels": 1.0, "flag": flags.ONE_LEVEL} for f in crossed if f in design.single
    ]
    if not len(design.y) or constant or not effects:
        flag = flags.CONSTANT if constant else flags.ONE_LEVEL if len(design.y) else flags.NO_DATA
        rows = [{"term": t, "flag": flag} for t in [*map(":".join, effects), "residual"]]
    else:
        array = design.array()
        rows = (
            _by_reml(design, effects, max_levels, conf_level)
            if array is None
            else _by_squares(design, array, effects, conf_level)
        )
    total = np.nansum([r.get("estimate", np.nan) for r in rows])
    for row in rows:
        row["share"] = row.get("estimate", np.nan) / total if total > 0 else np.nan
    for row in [*rows, *unknown]:
        row |= {"n": float(len(design.y)), "flag": flags.join(*design.notes, *row.get("flag", "").split("; "))}
    places = {f: i for i, f in enumerate(crossed)}
    return sorted([*rows, *unknown], key=lambda r: places.get(r["term"], len(places)))


def _by_squares(
    design: Design, array: Floats, effects: list[tuple[str, ...]], conf_level: float
) -> list[dict[str, Any]]:
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
        row |= {"conf_low": low[i], "conf_high": high[i], "method": MLS} if bounded else {}
        row["levels"] = float(np.prod([levels[f] for f in effects[i]])) if i < len(effects) else np.nan
        rows.append({**row, "flag": flags.NEGATIVE if raw[i] < 0 else flags.VARIANCE_ZERO if raw[i] == 0 else ""})
    return rows


def _by_reml(
    design: Design, effects: list[tuple[str, ...]], max_levels: int, conf_level: float
) -> list[dict[str, Any]]:
    codes = [design.code(e) for e in effects]
    levels = [int(c.max()) + 1 for c in codes]
    if sum(levels) - max(levels) > max_levels:
        raise DesignError(
            f"The design is incomplete, and its effects except the largest have {sum(levels) - max(levels):,} levels, "
            f"more than max_levels={max_levels:,} for REML. Keep the complete items, use interactions=False or fewer "
            "facets=, split it with by=, or raise max_levels= (time grows with its cube)."
        )
    gram_matrix = normalised(gram(codes))
    kept: list[int] = []  # effects identifiable together with the residual and the effects before them
    for i in range(len(codes)):
        if identifiable(gram_matrix[np.ix_([*kept, i, -1], [*kept, i, -1])]):
            kept.append(i)
    every = [*map(":".join, effects), "residual"]
    if not kept:
        return [{"term": t, "flag": flags.NOT_IDENTIFIABLE} for t in every]
    terms = [*(":".join(effects[i]) for i in kept), "residual"]
    fit = fitted(design.y, [codes[i] for i in kept])
    df, low, high = satterthwaite(fit.variance, np.diag(fit.covariance), conf_level)
    rows = {}
    for i, term in enumerate(terms):
        bounded = low[i] < high[i]
        size = float(levels[kept[i]]) if i < len(kept) else np.nan
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
        row |= {"conf_low": low[i], "conf_high": high[i], "method": REML} if bounded else {}
        rows[term] = row
    return [rows.get(t, {"term": t, "flag": flags.NOT_IDENTIFIABLE}) for t in every]


# ---- Decision studies: :func:`decision_study` ------------------------------------------------------------------------

#: Facet -> the argument and column with its number of levels.
PLURAL = {"judge": "judges", "item": "items", "system": "systems", "criterion": "criteria"}
_COLUMNS = (*PLURAL.values(), "runs")


def _from_ratings(data: Any, options: Options) -> pd.DataFrame:
    components = options.call(variance_components, data, max_levels=QUICK)
    return options.call(decision_study, components, by=list(options.by))


@Measure(
    "How many judges, items or runs does a target reliability need?", "variance", "R, table of components",
    "generalized, from mean squares",
    "Brennan 2001, Ch 4", plot="decision_study", frames=("ratings",), take=_from_ratings,
    caption="Reliability of the mean over this many judges; the dashed line is the target.",
    table=(
        "judges_for_generalizability", "judges_for_dependability", "runs_for_generalizability",
        "runs_for_dependability",
    ),
    terms=(
        Term("judges_for_generalizability", "judges needed, to rank the systems", whole=True),
        Term("judges_for_dependability", "judges needed, for the scores themselves", whole=True),
        Term("runs_for_generalizability", "runs needed, to rank the systems", whole=True),
        Term("runs_for_dependability", "runs needed, for the scores themselves", whole=True),
    ),
    have=("judges",),
    assumes="The variance components are those of the population that the next study draws from.",
)  # fmt: skip
def decision_study(
    data: IntoFrame,
    *,
    object: str = "system",
    judges: int | Iterable[int] = range(1, 11),
    items: int | Iterable[int] | None = None,
    systems: int | Iterable[int] | None = None,
    criteria: int | Iterable[int] | None = None,
    runs: int | Iterable[int] = 1,
    target_reliability: float = 0.8,
    by: By = (),
    average_over: By = (),
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Reliability of mean scores for other numbers of judges, items and runs, and the numbers needed for a target.

    Parameters
    ----------
    data : frame
        Ratings; or the result of :func:`variance_components`, or a published table of components (``term``,
        ``estimate`` and, for the observed numbers, ``levels``).
    object : str
        Object of measurement, a facet: ``"system"``, or ``"item"`` for single responses.
    judges, items, systems, criteria, runs : int or iterable of int
        Numbers of each facet to average over. None is the observed number (1 if unknown). The number of the object
        itself is not used.
    target_reliability : float
        Required reliability, between 0 and 1.
    by : str or sequence of str
        Columns that split ratings. A table of components is split by its further columns.
    average_over : str or sequence of str
        Columns of ratings averaged over, as in :func:`score_matrix`.
    n_resamples, seed
        Draws of the mean squares for the intervals.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        For each combination of numbers ``generalizability`` (relative: are objects ranked alike?) and ``dependability``
        (absolute, Φ: do they get the same score?); and ``judges_for_generalizability``, ``judges_for_dependability``,
        ``runs_for_generalizability`` and ``runs_for_dependability``, the smallest numbers that reach
        `target_reliability` with the others as given. Columns ``judges``, ``items``, ``systems``, ``criteria``,
        ``runs`` (NaN where the facet is not in the design) and ``error_variance``. The interval of a number that is
        needed ends at infinity where the target may not be reached at all. A printed table of components without
        degrees of freedom gives no intervals.

    Raises
    ------
    DesignError
        If the object is not a component, or a number is not positive.

    See Also
    --------
    variance_components : Variance by judge, system and item.
    icc : Intraclass correlations.

    Notes
    -----
    Relative error is the sum of the object's interactions, each divided by the numbers it is averaged over; absolute
    error is the sum of all other components, divided likewise. Without repeated runs their variance is part of the
    residual and not identifiable: `runs` above 1 gives NaN with a flag. For one facet, dependability with k judges is
    ICC(2,k) and generalizability ICC(3,k). All facets are crossed with the object; a component that is not identifiable
    (items nested in systems, for one) gives NaN with a flag.

    Intervals are generalized ones (Weerahandi 1993): each mean square of a complete design is drawn as MS df/χ², and
    the coefficient is computed from the components of the draw, negative ones as 0. For one facet, that of
    generalizability is the F interval of ICC(3,k), up to the number of draws. Components by REML, or from a table with
    degrees of freedom alone, are drawn as independent, which is an approximation.

    References
    ----------
    Brennan, R. L. (2001). Generalizability Theory, Ch. 4. Shavelson & Webb (1991), Ch. 6. Weerahandi, S. (1993). JASA
    88, 899-905.

    Examples
    --------
    >>> components = pd.DataFrame({"term": ["item", "judge", "residual"], "estimate": [2.5556, 5.2444, 1.0194]})
    >>> study = decision_study(components, object="item", judges=[1, 4])
    >>> study[["term", "estimate", "judges"]].round(3)
                              term  estimate  judges
    0             generalizability     0.715     1.0
    1                dependability     0.290     1.0
    2             generalizability     0.909     4.0
    3                dependability     0.620     4.0
    4  judges_for_generalizability     2.000     2.0
    5     judges_for_dependability    10.000    10.0
    """
    if not 0 < target_reliability < 1:
        raise DesignError(
            f"target_reliability={target_reliability} is not a reliability. Allowed: between 0 and 1, e.g. 0.8."
        )
    given = {"judge": judges, "item": items, "system": systems, "criterion": criteria}
    table = ratings = as_runs(data, average_over, by)
    if isinstance(table, pd.DataFrame) and {"term", "estimate"} <= set(table.columns):
        keys = [c for c in table.columns if c not in (*COLUMNS, *EXTRA)]
    else:
        table, keys = variance_components(table, by=by), list(dict.fromkeys(names(by)))
    rows: list[dict[str, Any]] = []
    grouped = table.groupby(keys, sort=True, dropna=False) if keys else [((), table)]
    for labels, part in grouped:
        rng = generator(seed, ("decision_study", *map(str, labels)))
        study = _Study(part, object, rng, n_resamples, conf_level)
        numbers = {f: _numbers(given[f], study.levels.get(f), PLURAL[f]) for f in study.facets}
        found = study.rows(numbers, _numbers(runs, 1, "runs"), target_reliability)
        rows += [{**dict(zip(keys, labels, strict=True)), **row} for row in found]
    return missing_counted(estimates(rows, keys, (*_COLUMNS, "error_variance")), ratings, keys)


def _numbers(given: int | Iterable[int] | None, observed: float | None, argument: str) -> list[int]:
    if given is None:
        return [int(observed) if observed is not None and observed >= 1 else 1]
    numbers = list(given) if isinstance(given, Iterable) else [given]
    if not numbers or any(not isinstance(n, int | np.integer) or n < 1 for n in numbers):
        raise DesignError(f"{argument}={given!r} must be a whole number, or several, each 1 or more.")
    return [int(n) for n in numbers]


def _draws(
    table: pd.DataFrame, mains: Sequence[str], rng: np.random.Generator, size: int
) -> tuple[dict[str, Floats], str]:
    """Draws (B,) of each component, and how; none where a component or its degrees of freedom are not known."""
    terms = table["term"].tolist()
    known = {c: table[c].to_numpy(float) for c in ("estimate", "raw", "levels", "df", "n") if c in table.columns}
    if np.isnan(known["estimate"]).any():
        return {}, ""
    method = table["method"].astype(str) if "method" in table.columns else pd.Series("", index=table.index)
    if method.eq(MLS).all() and {"raw", "levels", "n"} <= set(known) and "residual" in terms:
        levels = {t: v for t, v in zip(terms, known["levels"], strict=True) if t in mains}
        parts = [set(mains) if t == "residual" else set(t.split(":")) for t in terms]
        n = float(known["n"][0])
        df = np.array([np.prod([levels[f] - 1 for f in part]) for part in parts])
        df[terms.index("residual")] = n - 1 - df[[i for i, t in enumerate(terms) if t != "residual"]].sum()
        expected = np.array([[_times(t, part, other, levels, n) for t, other in zip(terms, parts, strict=True)]
                             for part in _squares(terms, parts)])  # fmt: skip
        squares = np.maximum(expected @ known["raw"], 0.0)
        drawn = squares * df / _chi_squares(rng, df, size)
        found = np.maximum(np.linalg.solve(expected, drawn.T), 0.0)
        return dict(zip(terms, found, strict=True)), f"generalized ({size:,} draws)"
    if "df" in known and (np.isfinite(known["df"]) | (known["estimate"] == 0)).all():
        df = np.where(np.isfinite(known["df"]), known["df"], 1.0)
        drawn = known["estimate"] * df / _chi_squares(rng, df, size)
        return dict(zip(terms, drawn.T, strict=True)), f"generalized ({size:,} draws), components as independent"
    return {}, ""


def _chi_squares(rng: np.random.Generator, df: Floats, size: int) -> Floats:
    """Draws of chi-squares, a column each; never 0, which a draw with hardly any degrees of freedom may round to."""
    return np.maximum(rng.chisquare(df, size=(size, df.size)), 1e-12)


def _squares(terms: Sequence[str], parts: Sequence[set[str]]) -> list[tuple[set[str], bool]]:
    """Facets of the mean square of each term, and whether it is the residual one."""
    return [(part, term == "residual") for term, part in zip(terms, parts, strict=True)]


def _times(term: str, square: tuple[set[str], bool], other: set[str], levels: Mapping[str, float], n: float) -> float:
    """How often a component occurs in the expectation of a mean square."""
    facets, residual = square
    if term == "residual":
        return 1.0
    if residual or not facets <= other:
        return 0.0
    return n / float(np.prod([levels[f] for f in other]))


class _Study:
    """Relative and absolute error from the components of one group."""

    def __init__(
        self, table: pd.DataFrame, object_: str, rng: np.random.Generator, n_resamples: int, conf_level: float
    ) -> None:
        values = dict(zip(table["term"], table["estimate"].astype(float), strict=True))
        self.object, self.variance = object_, values
        mains = [t for t in values if ":" not in t and t != "residual"]
        if object_ not in mains:
            raise DesignError(
                f"object={object_!r} is not a component. Components: {', '.join(values)}.{suggestion(object_, mains)}"
            )
        for name in mains:
            if name not in PLURAL:
                raise DesignError(f"{name!r} is not a facet of ratings. Allowed: {', '.join(PLURAL)}.")
        self.facets = [f for f in PLURAL if f in mains and f != object_]
        self.levels = dict(zip(table["term"], table["levels"], strict=True)) if "levels" in table.columns else {}
        whole = {object_, *self.facets}
        self.has_runs = any(set(t.split(":")) == whole for t in values) or not self.facets
        self.conf_level = conf_level
        self.draws, self.method = _draws(table, mains, rng, n_resamples)

    def error(self, numbers: Mapping[str, float], absolute: bool, of: Mapping[str, Any] | None = None) -> Any:
        """Error variance of a mean over these numbers, which include ``runs``; `of`: these components, or draws."""
        total: Any = 0.0
        for term, variance in (self.variance if of is None else of).items():
            parts = [self.object, *self.facets] if term == "residual" else term.split(":")
            if term == self.object or not (absolute or self.object in parts):
                continue
            size = float(np.prod([numbers[f] for f in parts if f != self.object]))
            total += variance / (size * numbers["runs"] if term == "residual" else size)
        return total

    def rows(self, numbers: Mapping[str, list[int]], runs: list[int], target: float) -> list[dict[str, Any]]:
        names = [*numbers, "runs"]
        grid = [dict(zip(names, c, strict=True)) for c in product(*numbers.values(), runs)]
        rows = [self._coefficient(g, absolute) for g in grid for absolute in (False, True)]
        for facet in ("judge", "runs"):
            if facet not in names or (facet == "runs" and not self.has_runs):
                continue
            rest = {tuple(v for k, v in g.items() if k != facet): g for g in grid}
            rows += [self._needed(g, facet, a, target) for g in rest.values() for a in (False, True)]
        return rows

    def _cells(self, numbers: Mapping[str, float]) -> dict[str, float]:
        return {PLURAL.get(f, f): float(n) for f, n in numbers.items()}

    def _interval(self, value: float, drawn: Floats, method: Any) -> dict[str, Any]:
        """Ends of the interval of an estimate, from its draws."""
        ends = np.quantile(drawn, [0.5 - self.conf_level / 2, 0.5 + self.conf_level / 2], method=method)
        return {"conf_low": min(ends[0], value), "conf_high": max(ends[1], value), "method": self.method}

    def _coefficient(self, numbers: dict[str, int], absolute: bool) -> dict[str, Any]:
        unknown_runs = numbers["runs"] > 1 and not self.has_runs
        error, τ = self.error(numbers, absolute), self.variance[self.object]
        row: dict[str, Any] = {
            "term": "dependability" if absolute else "generalizability",
            "method": "from variance components",
        }
        row |= {**self._cells(numbers), "error_variance": np.nan if unknown_runs else error}
        value = τ / (τ + error) if τ + error > 0 and not unknown_runs else np.nan
        known = not np.isnan(error + τ)
        notes = [flags.RUNS_NOT_IDENTIFIABLE if unknown_runs else "", "" if known else flags.COMPONENTS_MISSING]
        if self.draws and not np.isnan(value):
            of, drawn = self.draws[self.object], self.error(numbers, absolute, self.draws)
            row |= self._interval(value, np.nan_to_num(quotient(of, of + drawn)), "linear")
        return {
            **row,
            "estimate": value,
            "flag": flags.join(*notes, flags.VARIANCE_AT_ZERO.of(τ == 0, what=self.object)),
        }

    def _needed(self, numbers: dict[str, int], facet: str, absolute: bool, target: float) -> dict[str, Any]:
        """Smallest number n of one facet with τ / (τ + error) >= target, where error is a + b / n."""
        τ = self.variance[self.object]
        a, one = (self.error({**numbers, facet: n}, absolute) for n in (np.inf, 1.0))
        margin = τ * (1 - target) / target - a
        n = max(float(np.ceil((one - a) / margin - 1e-9)), 1.0) if margin > 0 else np.nan
        plural = PLURAL.get(facet, facet)
        row: dict[str, Any] = {"term": f"{plural}_for_{'dependability' if absolute else 'generalizability'}"}
        row |= {"estimate": n, "method": "from variance components", **self._cells({**numbers, facet: n})}
        if numbers["runs"] > 1 and not self.has_runs:
            unknown = {"estimate": np.nan, plural: np.nan, "flag": flags.RUNS_NOT_IDENTIFIABLE}
            return {**row, **self._cells(numbers), **unknown}
        known = not np.isnan(a + τ)
        row["error_variance"] = a + (one - a) / n
        if self.draws and not np.isnan(n):
            a, one = (self.error({**numbers, facet: k}, absolute, self.draws) for k in (np.inf, 1.0))
            margin = self.draws[self.object] * (1 - target) / target - a
            needed = np.where(margin > 0, np.maximum(np.ceil(quotient(one - a, margin) - 1e-9), 1.0), np.inf)
            row |= self._interval(n, needed, "inverted_cdf")
        unreached = flags.NOT_REACHED.of(known and np.isnan(n), target=f"{target:g}", what=plural)
        return {**row, "flag": flags.join(unreached, "" if known else flags.COMPONENTS_MISSING)}
