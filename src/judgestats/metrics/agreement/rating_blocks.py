"""Ratings as blocks: rows (a system in a cell) x judges x points."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.cells import cells
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.proportions import quotient
from judgestats.kernels.resampling import generator, multinomial_totals
from judgestats.schema.columns import By, grouping, names
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Ints, Mask, Record

#: Point of a correlation: an item (mean of its criteria), or a criterion of an item.
Unit = Literal["item", "criterion"]
UNITS: tuple[Unit, ...] = ("item", "criterion")
#: Numbers of a bootstrap held in memory at a time.
HELD = 2**22
#: Most numbers of a bootstrap that are drawn once for all measures of a block, a byte each.
_DRAWN_ONCE = 2**24


@dataclass(frozen=True)
class Block:
    """The ratings of one group as the dense array of rows, judges and points that kernels of correlation take.

    No panel: what is correlated and what is resampled are two axes, of which a panel's things are the cells.
    """

    key: Record  # values of its ``by`` columns
    rows: pd.DataFrame  # labels of the R rows, each correlated separately: ``system`` and the other columns of a cell
    judges: list[str]  # sorted labels of the J judges
    labels: Factors  # of the N points: items, perhaps with their criteria
    scores: Floats  # (R, J, N): NaN where a judge did not rate a point
    owner: Ints  # (N,): bootstrap unit of each point
    n_units: int  # number O of bootstrap units
    strata: Ints | None  # (O,): stratum of each unit, or None
    n_missing: int  # points that one judge rated and another rated in part or not at all
    # correlations of pairs by method and plan, and times drawn by plan, of those that were drawn before
    pair_draws: dict[object, Floats] = field(default_factory=dict, init=False, repr=False, compare=False)
    times: dict[object, list[NDArray[np.uint8]]] = field(default_factory=dict, init=False, repr=False, compare=False)

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

    def resample_weights(self, plan: Bootstrap, name: tuple[str, ...] = ()) -> Iterator[Floats]:
        """Frequency of each unit in each resample, (B, O), a few million numbers at a time; a few are drawn once."""
        if not isinstance(plan.seed, int) or plan.n_resamples * self.n_units > _DRAWN_ONCE:
            yield from self._resample_weights(plan, name)
            return
        key = (plan.seed, plan.n_resamples, name)
        if key not in self.times:  # a unit is drawn once on average: a byte holds it
            self.times[key] = [part.astype(np.uint8) for part in self._resample_weights(plan, name)]
        yield from (part.astype(np.float64) for part in self.times[key])

    def _resample_weights(self, plan: Bootstrap, name: tuple[str, ...]) -> Iterator[Floats]:
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

    def shared_sizes(self, rows: slice | Ints | Mask = slice(None), judges: slice | Ints = slice(None)) -> Floats:
        """Points that pairs of judges share in each bootstrap unit, (O,)."""
        raters = (~np.isnan(self.scores[rows][:, judges])).sum(axis=1)
        return np.bincount(self.owner, (raters * (raters - 1) / 2).sum(axis=0), self.n_units).astype(np.float64)

    def points(self) -> Ints:
        """Number of points that two judges or more rated, (R,)."""
        result: Ints = ((~np.isnan(self.scores)).sum(axis=1) > 1).sum(axis=-1)
        return result


def rated_cells(
    ratings: Calls, by: By, more: Sequence[str] = (), cluster: str = "item"
) -> tuple[pd.DataFrame, list[str]]:
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
    table: pd.DataFrame, by: Sequence[str], cell: Sequence[str] = (), unit: Unit = "item", cluster: str = "item"
) -> list[Block]:
    """Blocks of the cells from :func:`rated_cells`, one for each combination of `by`, sorted."""
    columns, mean = Factors(table), table["mean"].to_numpy(dtype=float)
    groups = columns.each_group(by, sort=True)
    return [_block(columns.take(rows), mean[rows], key, cell, unit, cluster) for key, rows in groups]


def shared_blocks(
    ratings: Calls, table: pd.DataFrame, by: Sequence[str], cell: Sequence[str], unit: Unit, cluster: str
) -> list[Block]:
    """The blocks of the cells of a study, which all measures of them share."""
    key = ("blocks", *by, None, *cell, unit, cluster)
    return Study.of(ratings).once(key, lambda: blocks(table, by, cell, unit, cluster))


def _block(columns: Factors, mean: Floats, key: Record, cell: Sequence[str], unit: Unit, cluster: str) -> Block:
    names = list(dict.fromkeys([*cell, "system"]))
    rows, judges, items, units = (columns.ranked(key) for key in (names, ["judge"], ["item"], [cluster]))
    row, judge, item = (codes.code.astype(np.int64) for codes in (rows, judges, items))
    owner = np.zeros(items.size, np.int64)
    owner[item] = units.code
    if (owner[item] != units.code).any():
        raise DesignError(
            f"One item has several values of {cluster!r}. Use cluster='item', or a column of whole items."
        )
    size, points = (rows.size, judges.size), items
    if unit == "criterion":
        points = columns.ranked(["item", "criterion"])
        scores = np.full((*size, points.size), np.nan)
        scores[row, judge, points.code] = mean
        owner = np.zeros(points.size, np.int64)
        owner[points.code] = units.code
    else:
        criterion = columns.ranked(["criterion"]).code.astype(np.int64)
        scores = _criterion_means(row, judge, item, criterion, mean, (*size, items.size))
    is_rated, n_units, labels = ~np.isnan(scores), units.size, columns.take(points.first)
    if (somewhere := is_rated.any(axis=(0, 1))).any():  # what nobody rated is not drawn
        scores, is_rated, labels = scores[..., somewhere], is_rated[..., somewhere], labels.take(somewhere)
        drawn_units, owner = np.unique(owner[somewhere], return_inverse=True)
        n_units = drawn_units.size
    missing = int((is_rated.any(axis=1)[:, None] & ~is_rated).sum())
    names_of_judges = [str(name) for name in columns["judge"].at(judges.first).values]
    of_rows = columns.take(rows.first).frame(names)
    return Block(key, of_rows, names_of_judges, labels, scores, owner, n_units, None, missing)


def label_codes(part: pd.DataFrame, names: list[str]) -> tuple[Ints, pd.DataFrame]:
    """Code of each row by its labels, sorted, and the labels."""
    codes = Factors(part).ranked(names)
    return codes.code.astype(np.int64), part[names].iloc[codes.first].reset_index(drop=True)


def _criterion_means(
    row: Ints, judge: Ints, item: Ints, criterion: Ints, mean: Floats, shape: tuple[int, int, int]
) -> Floats:
    """Mean of the criteria of each item; NaN unless the judge rated every criterion that any judge rated."""
    is_scored = ~np.isnan(mean)
    row, judge, item, criterion = (v[is_scored] for v in (row, judge, item, criterion))
    mean = mean[is_scored]
    flat = np.ravel_multi_index((row, judge, item), shape)
    total = np.bincount(flat, weights=mean, minlength=math.prod(shape)).reshape(shape)
    count = np.bincount(flat, minlength=math.prod(shape)).reshape(shape)
    response = row * shape[2] + item
    n_criteria = int(criterion.max(initial=0)) + 1
    distinct = np.unique(response * n_criteria + criterion) // n_criteria
    criteria = np.bincount(distinct, minlength=shape[0] * shape[2]).reshape(shape[0], 1, shape[2])
    return quotient(total, count, (count == criteria) & (count > 0))


def refuse_empty(table: pd.DataFrame) -> None:
    """Raise if there are no rows, unnamed judges, or one judge only."""
    if not len(table):
        raise SchemaError("The ratings have no rows.")
    if table["judge"].isna().any():
        raise SchemaError("'judge' is missing in some rows. Name the judge, or leave these rows out.")
    judges = sorted(table["judge"].astype(str).unique())
    if len(judges) < 2:
        remedy = "Add the ratings of another, or of a person"
        if "criterion" in table and table["criterion"].nunique() > 1:
            swap = "frame.drop(columns='judge').rename(columns={'criterion': 'judge'})"
            remedy += f"; to compare how it scores two criteria, give these as judges: {swap}"
        raise DesignError(f"Agreement needs two judges. The ratings have one: {judges[0]!r}. {remedy}.")


def cell_columns(ratings: IntoFrame, by: By, cell: By) -> list[str]:
    """Columns that define a cell, besides the system and those of groups."""
    by = names(by)
    present = Study.of(ratings).names
    return [c for c in grouping(cell, present, "ratings") if c not in by and c != "system"]
