"""How many judges, items and runs are enough? :func:`decision_study`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from judgestats.errors import DesignError, suggestion
from judgestats.metrics.agreement.generalizability import EXTRA, variance_components
from judgestats.results import COLUMNS, estimates, flags
from judgestats.schema.columns import By, names
from judgestats.schema.splitting import as_runs

NO_WAY = "not reached however many"
NO_RUNS = "runs not told from residual"
#: Facet -> the argument, and the column, that says how many of it.
PLURAL = {"judge": "judges", "item": "items", "system": "systems", "criterion": "criteria"}
_COLUMNS = (*PLURAL.values(), "runs")


def decision_study(
    data: Any,
    *,
    object: str = "system",
    judges: int | Iterable[int] = range(1, 11),
    items: int | Iterable[int] | None = None,
    systems: int | Iterable[int] | None = None,
    criteria: int | Iterable[int] | None = None,
    runs: int | Iterable[int] = 1,
    wanted: float = 0.8,
    by: By = (),
    average_over: By = (),
) -> pd.DataFrame:
    """How reliable would mean scores be with other numbers of judges, items and runs, and how many are enough?

    Parameters
    ----------
    data : frame
        Ratings, or the result of :func:`variance_components` (``term``, ``estimate`` and, for the observed numbers,
        ``levels``), a published table of components included.
    object : str
        What is measured, a facet: ``"system"``, or ``"item"`` for single responses.
    judges, items, systems, criteria, runs : int or iterable of int
        Numbers of each facet to average over. None takes the observed number (1 where it is not known). The number of
        the object itself does not matter.
    wanted : float
        Reliability that is asked for, between 0 and 1.
    by : str or sequence of str
        Columns that split ratings. A table of components brings its own.
    average_over : str or sequence of str
        Columns of ratings averaged over, as in :func:`score_matrix`.

    Returns
    -------
    pandas.DataFrame
        For each combination of numbers ``generalizability`` (relative: are objects ranked alike?) and ``dependability``
        (absolute, Φ: do they get the same score?); and ``judges_for_generalizability``, ``judges_for_dependability``,
        ``runs_for_generalizability`` and ``runs_for_dependability``, the smallest numbers that reach `wanted` with the
        others as given. Columns ``judges``, ``items``, ``systems``, ``criteria``, ``runs`` (NaN where the facet is not
        in the design) and ``error_variance``. There are no intervals: those of the components say how sure they are.

    Raises
    ------
    DesignError
        If the object is not a component, or a number is not positive.

    Notes
    -----
    With τ the variance of the object, relative error adds up its interactions, each over the product of the numbers it
    is averaged over; absolute error adds all other components. Where runs were not repeated they are part of the
    residual and cannot be told from it: `runs` above 1 gives NaN with a flag. For one facet, dependability with k
    judges is ICC(2,k) and generalizability ICC(3,k). All facets are crossed with the object; a component that the
    design cannot tell (items nested in systems, for one) gives NaN with a flag.

    References
    ----------
    Brennan, R. L. (2001). Generalizability Theory, Ch. 4. Shavelson & Webb (1991), Ch. 6.

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
    if not 0 < wanted < 1:
        raise DesignError(f"wanted={wanted} is not a reliability. Allowed: between 0 and 1, 0.8 say.")
    given = {"judge": judges, "item": items, "system": systems, "criterion": criteria}
    table, keys = _given_components(as_runs(data, average_over, by), by)
    rows: list[dict[str, Any]] = []
    grouped = table.groupby(keys, sort=True, dropna=False) if keys else [((), table)]
    for labels, part in grouped:
        study = _Study(part, object)
        numbers = {f: _numbers(given[f], study.levels.get(f), PLURAL[f]) for f in study.facets}
        found = study.rows(numbers, _numbers(runs, 1, "runs"), wanted)
        rows += [{**dict(zip(keys, labels, strict=True)), **row} for row in found]
    return estimates(rows, keys, (*_COLUMNS, "error_variance"))


def _given_components(data: Any, by: By) -> tuple[pd.DataFrame, list[str]]:
    if isinstance(data, pd.DataFrame) and {"term", "estimate"} <= set(data.columns):
        known = {*COLUMNS, *EXTRA}
        return data, [c for c in data.columns if c not in known]
    return variance_components(data, by=by), list(dict.fromkeys(names(by)))


def _numbers(given: int | Iterable[int] | None, observed: float | None, argument: str) -> list[int]:
    if given is None:
        return [int(observed) if observed is not None and observed >= 1 else 1]
    numbers = [given] if isinstance(given, int | np.integer) else list(given)
    if not numbers or any(not isinstance(n, int | np.integer) or n < 1 for n in numbers):
        raise DesignError(f"{argument}={given!r} is not a number, or a list of numbers, from 1.")
    return [int(n) for n in numbers]


class _Study:
    """Components of one group, read as object, relative and absolute error."""

    def __init__(self, table: pd.DataFrame, object_: str) -> None:
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

    def error(self, numbers: Mapping[str, float], absolute: bool) -> float:
        """Error variance of a mean over these numbers; ``runs`` is one of them."""
        total = 0.0
        for term, variance in self.variance.items():
            parts = [self.object, *self.facets] if term == "residual" else term.split(":")
            if term == self.object or not (absolute or self.object in parts):
                continue
            size = float(np.prod([numbers[f] for f in parts if f != self.object]))
            total += variance / (size * numbers["runs"] if term == "residual" else size)
        return total

    def rows(self, numbers: Mapping[str, list[int]], runs: list[int], wanted: float) -> list[dict[str, Any]]:
        names = [*numbers, "runs"]
        grid = [dict(zip(names, c, strict=True)) for c in product(*numbers.values(), runs)]
        rows = [self._coefficient(g, absolute) for g in grid for absolute in (False, True)]
        for facet in ("judge", "runs"):
            if facet not in names or (facet == "runs" and not self.has_runs):
                continue
            rest = {tuple(v for k, v in g.items() if k != facet): g for g in grid}
            rows += [self._needed(g, facet, a, wanted) for g in rest.values() for a in (False, True)]
        return rows

    def _cells(self, numbers: Mapping[str, float]) -> dict[str, float]:
        return {PLURAL.get(f, f): float(n) for f, n in numbers.items()}

    def _coefficient(self, numbers: dict[str, int], absolute: bool) -> dict[str, Any]:
        blind = numbers["runs"] > 1 and not self.has_runs
        error, τ = self.error(numbers, absolute), self.variance[self.object]
        row: dict[str, Any] = {
            "term": "dependability" if absolute else "generalizability",
            "method": "from variance components",
        }
        row |= {**self._cells(numbers), "error_variance": np.nan if blind else error}
        value = τ / (τ + error) if τ + error > 0 and not blind else np.nan
        known = not np.isnan(error + τ)
        told = [NO_RUNS if blind else "", "" if known else "components missing"]
        return {**row, "estimate": value, "flag": flags(*told, f"{self.object} variance 0" if τ == 0 else "")}

    def _needed(self, numbers: dict[str, int], facet: str, absolute: bool, wanted: float) -> dict[str, Any]:
        """Error is a + b / n in the number n of one facet: the smallest n with τ / (τ + error) >= wanted."""
        τ = self.variance[self.object]
        a, one = (self.error({**numbers, facet: n}, absolute) for n in (np.inf, 1.0))
        room = τ * (1 - wanted) / wanted - a
        n = max(float(np.ceil((one - a) / room - 1e-9)), 1.0) if room > 0 else np.nan
        name = f"{PLURAL.get(facet, facet)}_for_{'dependability' if absolute else 'generalizability'}"
        row: dict[str, Any] = {"term": name, "estimate": n, "method": "from variance components"}
        row |= {**self._cells({**numbers, facet: n})}
        if numbers["runs"] > 1 and not self.has_runs:
            return {
                **row,
                **self._cells(numbers),
                PLURAL.get(facet, facet): np.nan,
                "estimate": np.nan,
                "flag": NO_RUNS,
            }
        known = not np.isnan(a + τ)
        row["error_variance"] = a + (one - a) / n
        unreached = f"{wanted:g} {NO_WAY} {PLURAL.get(facet, facet)}" if known and np.isnan(n) else ""
        return {**row, "flag": flags(unreached, "" if known else "components missing")}
