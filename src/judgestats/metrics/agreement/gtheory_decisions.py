"""Reliability with other numbers of judges, items and runs: :func:`decision_study`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.splitting import as_runs
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, suggestion
from judgestats.kernels.proportions import quotient
from judgestats.kernels.resampling import generator
from judgestats.metrics.agreement.gtheory import EXTRA, variance_components
from judgestats.metrics.exclusions import missing_counted
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term
from judgestats.metrics.requirements import QUICK
from judgestats.results import COLUMNS, estimates
from judgestats.schema.columns import By, names
from judgestats.typing import Floats, Record
from judgestats.wording import Method

#: Facet -> the argument and column with its number of levels.
PLURAL = {"judge": "judges", "item": "items", "system": "systems", "criterion": "criteria"}
_COLUMNS = (*PLURAL.values(), "runs")


def _from_ratings(data: IntoFrame, options: MeasureOptions) -> pd.DataFrame:
    components = options.call(variance_components, data, max_levels=QUICK)
    return options.call(decision_study, components, by=list(options.by))


@Measure(
    "How many judges, items or runs does a target reliability need?",
    "variance",
    "R, table of components",
    "generalized, from mean squares",
    "Brennan 2001, Ch 4",
    plot="decision_study",
    frames=("ratings",),
    take=_from_ratings,
    caption="Reliability of the mean over this many judges; the dashed line is the target.",
    table=(
        "judges_for_generalizability",
        "judges_for_dependability",
        "runs_for_generalizability",
        "runs_for_dependability",
    ),
    terms=(
        Term("judges_for_generalizability", "judges needed, to rank the systems", form="count"),
        Term("judges_for_dependability", "judges needed, for the scores themselves", form="count"),
        Term("runs_for_generalizability", "runs needed, to rank the systems", form="count"),
        Term("runs_for_dependability", "runs needed, for the scores themselves", form="count"),
    ),
    have=("judges",),
    assumes="The variance components are those of the population that the next study draws from.",
)
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
        Further grouping columns. A table of components is split by its further columns.
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
    degrees of freedom alone, are drawn as independent, which is an approximation; a coefficient whose variance is
    estimated as 0 then has no interval.

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
    n_levels = {"judge": judges, "item": items, "system": systems, "criterion": criteria}
    table = ratings = as_runs(data, average_over, by)
    if isinstance(table, pd.DataFrame) and {"term", "estimate"} <= set(table.columns):
        keys = [c for c in table.columns if c not in (*COLUMNS, *EXTRA)]
    else:
        table, keys = variance_components(table, by=by), list(dict.fromkeys(names(by)))
    rows: list[Record] = []
    grouped = table.groupby(keys, sort=True, dropna=False) if keys else [((), table)]
    for labels, part in grouped:
        rng = generator(seed, ("decision_study", *map(str, labels)))
        study = _Study(part, object, rng, n_resamples, conf_level)
        numbers = {f: _level_numbers(n_levels[f], study.levels.get(f), PLURAL[f]) for f in study.facets}
        study_rows = study.rows(numbers, _level_numbers(runs, 1, "runs"), target_reliability)
        rows += [{**dict(zip(keys, labels, strict=True)), **row} for row in study_rows]
    return missing_counted(estimates(rows, keys, (*_COLUMNS, "error_variance")), ratings, keys)


def _level_numbers(n_levels: int | Iterable[int] | None, observed: float | None, argument: str) -> list[int]:
    if n_levels is None:
        return [int(observed) if observed is not None and observed >= 1 else 1]
    numbers = list(n_levels) if isinstance(n_levels, Iterable) else [n_levels]
    if not numbers or any(not isinstance(n, int | np.integer) or n < 1 for n in numbers):
        raise DesignError(f"{argument}={n_levels!r} must be a whole number, or several, each 1 or more.")
    return [int(n) for n in numbers]


def _draws(
    table: pd.DataFrame, mains: Sequence[str], rng: np.random.Generator, size: int
) -> tuple[dict[str, Floats], Method]:
    """Draws (B,) of each component, and how; none where a component or its degrees of freedom are not known."""
    terms = table["term"].tolist()
    columns = {c: table[c].to_numpy(float) for c in ("estimate", "raw", "levels", "df", "n") if c in table.columns}
    if np.isnan(columns["estimate"]).any():
        return {}, methods.NONE
    generalized = methods.GENERALIZED.noting(f"({size:,} draws)", " ")
    method = table["method"].astype(str) if "method" in table.columns else pd.Series("", index=table.index)
    if method.eq(methods.MEAN_SQUARES).all() and {"raw", "levels", "n"} <= set(columns) and "residual" in terms:
        levels = {t: v for t, v in zip(terms, columns["levels"], strict=True) if t in mains}
        parts = [set(mains) if t == "residual" else set(t.split(":")) for t in terms]
        n = float(columns["n"][0])
        df = np.array([np.prod([levels[f] - 1 for f in part]) for part in parts])
        df[terms.index("residual")] = n - 1 - df[[i for i, t in enumerate(terms) if t != "residual"]].sum()
        expected = np.array(
            [
                [_times(t, part, other, levels, n) for t, other in zip(terms, parts, strict=True)]
                for part in _squares(terms, parts)
            ]
        )
        squares = np.maximum(expected @ columns["raw"], 0.0)
        draws = squares * df / _chi_squares(rng, df, size)
        component_draws = np.maximum(np.linalg.solve(expected, draws.T), 0.0)
        return dict(zip(terms, component_draws, strict=True)), generalized
    if "df" in columns and (np.isfinite(columns["df"]) | (columns["estimate"] == 0)).all():
        df = np.where(np.isfinite(columns["df"]), columns["df"], 1.0)
        draws = columns["estimate"] * df / _chi_squares(rng, df, size)
        return dict(zip(terms, draws.T, strict=True)), generalized.noting("components as independent")
    return {}, methods.NONE


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

    def rows(self, numbers: Mapping[str, list[int]], runs: list[int], target: float) -> list[Record]:
        names = [*numbers, "runs"]
        grid = [dict(zip(names, c, strict=True)) for c in product(*numbers.values(), runs)]
        rows = [self._coefficient(g, absolute) for g in grid for absolute in (False, True)]
        for facet in ("judge", "runs"):
            if facet not in names or (facet == "runs" and not self.has_runs):
                continue
            rest = {tuple(v for k, v in g.items() if k != facet): g for g in grid}
            rows += [self._number_needed(g, facet, a, target) for g in rest.values() for a in (False, True)]
        return rows

    def _number_cells(self, numbers: Mapping[str, float]) -> dict[str, float]:
        return {PLURAL.get(f, f): float(n) for f, n in numbers.items()}

    def _generalized_interval(self, value: float, draws: Floats, method: Any) -> Record:
        """Ends of the interval of an estimate, from its draws."""
        ends = np.quantile(draws, [0.5 - self.conf_level / 2, 0.5 + self.conf_level / 2], method=method)
        return {"conf_low": min(ends[0], value), "conf_high": max(ends[1], value), "method": self.method}

    def _coefficient(self, numbers: dict[str, int], absolute: bool) -> Record:
        unknown_runs = numbers["runs"] > 1 and not self.has_runs
        error, τ = self.error(numbers, absolute), self.variance[self.object]
        row: Record = {
            "term": "dependability" if absolute else "generalizability",
            "method": methods.COMPONENTS,
        }
        row |= {**self._number_cells(numbers), "error_variance": np.nan if unknown_runs else error}
        value = τ / (τ + error) if τ + error > 0 and not unknown_runs else np.nan
        identified = not np.isnan(error + τ)
        notes = [flags.RUNS_NOT_IDENTIFIABLE if unknown_runs else "", "" if identified else flags.COMPONENTS_MISSING]
        if self.draws and not np.isnan(value):
            of, error_draws = self.draws[self.object], self.error(numbers, absolute, self.draws)
            draws = np.nan_to_num(quotient(of, of + error_draws))
            if np.ptp(draws) > 1e-12:  # draws of a variance at 0 are all 0, which bounds nothing
                row |= self._generalized_interval(value, draws, "linear")
        return {
            **row,
            "estimate": value,
            "flag": flags.join(
                *notes,
                flags.VARIANCE_AT_ZERO.of(τ == 0, what=self.object),
                flags.VARIANCE_AT_ZERO.of(error == 0, what="error"),
            ),
        }

    def _number_needed(self, numbers: dict[str, int], facet: str, absolute: bool, target: float) -> Record:
        """Smallest number n of one facet with τ / (τ + error) >= target, where error is a + b / n."""
        τ = self.variance[self.object]
        a, one = (self.error({**numbers, facet: n}, absolute) for n in (np.inf, 1.0))
        margin = τ * (1 - target) / target - a
        n = max(float(np.ceil((one - a) / margin - 1e-9)), 1.0) if margin > 0 else np.nan
        plural = PLURAL.get(facet, facet)
        row: Record = {"term": f"{plural}_for_{'dependability' if absolute else 'generalizability'}"}
        row |= {"estimate": n, "method": methods.COMPONENTS, **self._number_cells({**numbers, facet: n})}
        if numbers["runs"] > 1 and not self.has_runs:
            unknown = {"estimate": np.nan, plural: np.nan, "flag": flags.RUNS_NOT_IDENTIFIABLE}
            return {**row, **self._number_cells(numbers), **unknown}
        identified = not np.isnan(a + τ)
        row["error_variance"] = a + (one - a) / n
        if self.draws and not np.isnan(n):
            a, one = (self.error({**numbers, facet: k}, absolute, self.draws) for k in (np.inf, 1.0))
            margin = self.draws[self.object] * (1 - target) / target - a
            needed = np.where(margin > 0, np.maximum(np.ceil(quotient(one - a, margin) - 1e-9), 1.0), np.inf)
            row |= self._generalized_interval(n, needed, "inverted_cdf")
        unreached = flags.NOT_REACHED.of(identified and np.isnan(n), target=f"{target:g}", what=plural)
        return {**row, "flag": flags.join(unreached, "" if identified else flags.COMPONENTS_MISSING)}
