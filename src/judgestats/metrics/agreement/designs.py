"""Ratings -> the facets of a generalizability study, group by group, and the effects they allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.metrics.agreement.matrices import AVERAGED
from judgestats.schema.cells import ABOUT, score_counts
from judgestats.schema.coding import as_scores, compact, joint, numbers_of, ranked_codes
from judgestats.schema.columns import COUNTS, By, grouping, names
from judgestats.schema.declared_counts import call_counts
from judgestats.schema.splitting import refuse_splits, splits_here, splits_there

Floats = NDArray[np.float64]
#: What varies in ratings, as a rule; ``replicate`` is nested: the first run of one cell is not the first of another.
FACETS = ("judge", "system", "item", "criterion", "replicate")
MEANS = "means of runs"


@dataclass(frozen=True)
class Design:
    """Scores of one group, each in its place.

    Attributes
    ----------
    y : (N,) float array
    codes : dict of str to (N,) int array
        Level of each score in each crossed facet with more than one level, numbered without gaps.
    single : tuple of str
        Facets with one level here.
    repeated : bool
        Whether some combination of levels has several scores.
    doubts : list of str
        What was averaged or set aside.
    """

    y: Floats
    codes: dict[str, NDArray[Any]]
    single: tuple[str, ...]
    repeated: bool
    doubts: list[str]

    @property
    def levels(self) -> dict[str, int]:
        """Levels of each crossed facet."""
        return {f: int(c.max()) + 1 for f, c in self.codes.items()}

    def effects(self, interactions: bool) -> list[tuple[str, ...]]:
        """Crossed facets, their pairs, and the whole cell where runs repeat it; what is left is the residual."""
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
        """Scores as (L1, ..., Lp, R), None where the design is not complete."""
        shape = list(self.levels.values())
        runs, rest = divmod(len(self.y), int(np.prod(shape)))
        place, size = joint(list(zip(self.codes.values(), shape, strict=True)), len(self.y))
        if rest or not runs or (np.bincount(place, minlength=size) != runs).any():
            return None
        return self.y[np.argsort(place, kind="stable")].reshape(*shape, runs)


def designs(ratings: Any, facets: By | None, by: By) -> tuple[list[str], list[tuple[dict[str, Any], Design]]]:
    """Split ratings into designs.

    Parameters
    ----------
    ratings : frame
    facets : str or sequence of str, optional
        Facets to keep, any columns; None for those of :data:`FACETS` that vary, the others of which are averaged over.
    by : str or sequence of str

    Returns
    -------
    facets : list of str
    groups : list of (labels, Design)
        Sorted by the `by` columns.

    Raises
    ------
    SchemaError
        If a column is missing.
    DesignError
        If a facet is in `by` too, or a column that is neither splits the cells.
    """
    data = as_scores(nw.from_native(ratings))
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
    _refuse_facets(facets, [c for c in present if c not in (value, COUNTS)], by)
    about = [c for c in dict.fromkeys([*FACETS, *ABOUT, *names(facets)]) if c in present and c not in by]
    table = data.select(*by, *about, value, *([weight] if weight else [])).lazy().collect(backend="pandas").to_native()
    coded = {c: ranked_codes(table[c]) for c in [*by, *about]}
    keys = [c for c in coded if c != "replicate"]
    unit, units = compact(*joint([(coded[c][0], len(coded[c][1])) for c in keys], len(table)))
    if units.size < len(table):
        lazy = isinstance(data, nw.LazyFrame)
        refuse_splits(splits_there(data, keys) if lazy else splits_here(data, unit, units.size, keys), keys)
    wanted = _wanted(facets, about, coded)
    y = numbers_of(table[value])
    n = call_counts(table[weight]) if weight else None
    told = [MEANS] if value == "mean" else []
    return wanted, list(_split(y, n, coded, by, wanted, told))


def _refuse_facets(facets: By | None, known: Sequence[str], by: Sequence[str]) -> None:
    for name in names(facets):
        if name in by:
            raise DesignError(f"{name!r} is in facets= and in by=. A column has one part to play: drop one.")
        if name not in known:
            raise SchemaError(
                f"facets={name!r} is not a column that can be a facet. Columns: {', '.join(known)}."
                + suggestion(name, known)
            )


def _wanted(facets: By | None, about: Sequence[str], coded: dict[str, Any]) -> list[str]:
    if facets is None:
        return [f for f in FACETS if f in about and len(coded[f][1]) > 1]
    return [*(f for f in FACETS if f in names(facets)), *(f for f in dict.fromkeys(names(facets)) if f not in FACETS)]


def _split(
    y: Floats, n: Any, coded: dict[str, Any], by: Sequence[str], facets: Sequence[str], told: list[str]
) -> Iterator[tuple[dict[str, Any], Design]]:
    code, size = joint([(coded[c][0], len(coded[c][1])) for c in by], len(y))
    group, groups = compact(code, size)
    order = np.argsort(group, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(group, minlength=groups.size))[:-1]):
        if not rows.size:
            continue
        labels = {c: coded[c][1][coded[c][0][rows[0]]] for c in by}
        yield labels, _design(y, n, {c: v[0] for c, v in coded.items() if c not in by}, rows, facets, told)


def _design(y: Floats, n: Any, codes: dict[str, Any], rows: Any, facets: Sequence[str], told: list[str]) -> Design:
    doubts = list(told)
    scored = ~np.isnan(y[rows])
    w = np.ones(rows.size) if n is None else n[rows]
    aside = int(w[~scored].sum())
    doubts += [f"{aside:,} missing score{'s' * (aside > 1)} set aside"] if aside else []
    kept_rows = scored & (w > 0)
    rows, w = rows[kept_rows], w[kept_rows]
    local = {c: compact(v[rows].astype(np.int64), int(v.max(initial=0)) + 1) for c, v in codes.items()}
    varied = [c for c, (_, levels) in local.items() if levels.size > 1]
    crossed = [f for f in facets if f != "replicate"]
    kept = [f for f in facets if f in varied]
    for name in varied:
        if name not in facets:
            doubts.append(AVERAGED if name == "replicate" else f"averaged over {name}")
    place, size = joint([(local[c][0], local[c][1].size) for c in kept], len(rows))
    unit, units = compact(place, size)
    runs = np.bincount(unit, weights=w, minlength=units.size)
    score = np.bincount(unit, weights=w * y[rows], minlength=units.size) / np.maximum(runs, 1)
    if runs.max(initial=1) > 1 and len(doubts) == len(told) + bool(aside):
        doubts.append(AVERAGED)
    first = np.zeros(units.size, np.int64)
    first[unit] = np.arange(len(rows))
    found = {f: local[f][0][first] for f in crossed if f in kept}
    cells = np.unique(np.stack([*found.values()]), axis=1).shape[1] if found else 0
    return Design(score, found, tuple(f for f in crossed if f not in kept), len(score) > cells > 0, doubts)
