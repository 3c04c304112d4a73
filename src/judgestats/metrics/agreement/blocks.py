"""Ratings as dense blocks: rows (a system, in a cell) x judges x points."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.resampling import generator, multinomial_totals
from judgestats.metrics.resampled import Bootstrap
from judgestats.results import flags
from judgestats.schema.cells import cells
from judgestats.schema.columns import By, grouping

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: What a point of a correlation is: an item (mean of its criteria), or a criterion of an item.
Unit = Literal["item", "criterion"]
UNITS: tuple[Unit, ...] = ("item", "criterion")
#: Numbers of a bootstrap held at a time.
HELD = 2**22


@dataclass(frozen=True)
class Block:
    """The ratings of one group.

    Attributes
    ----------
    key : dict
        Its ``by`` columns.
    rows : pandas.DataFrame
        R rows: what is correlated on its own, named by ``system`` and whatever else makes a cell.
    judges : list of str
        J of them, sorted.
    scores : (R, J, N) float array
        NaN where a judge did not rate a point.
    owner : (N,) int array
        Unit of the bootstrap that each point belongs to.
    n_units : int
        O, how many there are.
    strata : (O,) int array or None
        Within what they are drawn.
    n_missing : int
        Points that a judge rated in part or not at all, while another judge rated them.
    """

    key: dict[str, Any]
    rows: pd.DataFrame
    judges: list[str]
    scores: Floats
    owner: Ints
    n_units: int
    strata: Ints | None
    n_missing: int

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The P pairs of judges."""
        return list(combinations(self.judges, 2))

    @property
    def sides(self) -> tuple[Ints, Ints]:
        """Codes of the judges of each pair."""
        first, second = np.triu_indices(len(self.judges), 1)
        return first.astype(np.int64), second.astype(np.int64)

    def drawn(self, plan: Bootstrap, name: tuple[str, ...] = ()) -> Iterator[Floats]:
        """How often each unit is in each resample, (b, O), a few million numbers at a time."""
        rng = generator(plan.seed, (*map(str, self.key.values()), *name))
        step = max(HELD // max(self.n_units, 1), 1)
        for start in range(0, plan.n_resamples, step):
            size = min(step, plan.n_resamples - start)
            yield multinomial_totals(np.ones(self.n_units), rng, size, self.strata)

    def common(self) -> NDArray[np.int64]:
        """Points that both judges of each pair rated, (R, P)."""
        rated = ~np.isnan(self.scores)
        one, two = self.sides
        result: NDArray[np.int64] = (rated[:, one] & rated[:, two]).sum(axis=-1)
        return result

    def points(self) -> NDArray[np.int64]:
        """Points that two judges or more rated, (R,)."""
        result: NDArray[np.int64] = ((~np.isnan(self.scores)).sum(axis=1) > 1).sum(axis=-1)
        return result


def rated(ratings: Any, by: By, more: Sequence[str] = (), cluster: str = "item") -> tuple[pd.DataFrame, list[str]]:
    """Scores averaged over runs, with the columns that a block needs, and the names of its groups.

    Raises
    ------
    SchemaError
        If a column is missing.
    DesignError
        If `by` splits what is to be compared.
    """
    present = list(nw.from_native(ratings).collect_schema().names())
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
    table: pd.DataFrame,
    by: Sequence[str],
    cell: Sequence[str] = (),
    unit: Unit = "item",
    cluster: str = "item",
) -> list[Block]:
    """Lay the cells of :func:`rated` out as blocks, one for each combination of `by`, sorted."""
    if not by:
        return [_block(table, {}, cell, unit, cluster)] if len(table) else []
    result = []
    for key, part in table.groupby(list(by), dropna=False, sort=True):
        result.append(_block(part, dict(zip(by, key, strict=True)), cell, unit, cluster))
    return result


def _block(part: pd.DataFrame, key: dict[str, Any], cell: Sequence[str], unit: Unit, cluster: str) -> Block:
    names = list(dict.fromkeys([*cell, "system"]))
    row, rows = codes(part, names)
    judge, judges = codes(part, ["judge"])
    item, items = codes(part, ["item"])
    unit_code, units = codes(part, [cluster])
    owner_of_item = _of_item(item, unit_code, len(items), cluster)
    mean = part["mean"].to_numpy(dtype=float)
    size = (len(rows), len(judges))
    if unit == "criterion":
        point, points = codes(part, ["item", "criterion"])
        scores = np.full((*size, len(points)), np.nan)
        scores[row, judge, point] = mean
        owner = np.zeros(len(points), np.int64)
        owner[point] = unit_code
    else:
        criterion, _ = codes(part, ["criterion"])
        scores, owner = _means(row, judge, item, criterion, mean, (*size, len(items))), owner_of_item
    known = ~np.isnan(scores)
    missing = int((known.any(axis=1)[:, None] & ~known).sum())
    return Block(key, rows, judges["judge"].astype(str).tolist(), scores, owner, len(units), None, missing)


def codes(part: pd.DataFrame, names: list[str]) -> tuple[Ints, pd.DataFrame]:
    """Number of each row by its labels, sorted, and the labels."""
    grouper = part.groupby(names, dropna=False, sort=True)
    code = grouper.ngroup().to_numpy().astype(np.int64)
    first = np.zeros(int(code.max(initial=-1)) + 1, np.int64)
    first[code[::-1]] = np.arange(len(part))[::-1]
    return code, part[names].iloc[first].reset_index(drop=True)


def _of_item(item: Ints, code: Ints, n_items: int, what: str) -> Ints:
    owner = np.zeros(n_items, np.int64)
    owner[item] = code
    if (owner[item] != code).any():
        raise DesignError(f"One item lies in several values of {what!r}, so that its items cannot be drawn together.")
    return owner


def _means(row: Ints, judge: Ints, item: Ints, criterion: Ints, mean: Floats, shape: tuple[int, int, int]) -> Floats:
    """Mean of the criteria of each item; NaN unless the judge rated every criterion that any judge rated."""
    known = ~np.isnan(mean)
    row, judge, item, criterion = (v[known] for v in (row, judge, item, criterion))
    mean = mean[known]
    flat = np.ravel_multi_index((row, judge, item), shape)
    total = np.bincount(flat, weights=mean, minlength=math.prod(shape)).reshape(shape)
    count = np.bincount(flat, minlength=math.prod(shape)).reshape(shape)
    thing = row * shape[2] + item
    criteria = int(criterion.max(initial=0)) + 1
    asked = np.unique(thing * criteria + criterion) // criteria
    wanted = np.bincount(asked, minlength=shape[0] * shape[2]).reshape(shape[0], 1, shape[2])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((count == wanted) & (count > 0), total / count, np.nan)


def some(count: int, one: str, many: str) -> str:
    """A flag with its number; empty for none."""
    return f"{count:,} {one if count == 1 else many}" if count else ""


def pair_flags(r: Floats, common: NDArray[np.int64], n_missing: int = 0) -> str:
    """Why pairs are set aside, with their numbers."""
    gone = np.isnan(r)
    apart = int((gone & (common < 2)).sum())
    constant = int((gone & (common >= 2)).sum())
    return flags(
        some(constant, "pair with constant scores", "pairs with constant scores"),
        some(apart, "pair with fewer than 2 common points", "pairs with fewer than 2 common points"),
        some(n_missing, "score missing", "scores missing"),
    )


def refuse_empty(table: pd.DataFrame) -> None:
    """Raise where there is nothing at all, or one judge only."""
    if not len(table):
        raise SchemaError("The ratings have no rows.")
    if table["judge"].isna().any():
        raise SchemaError("'judge' is missing in some rows: nobody to compare with. Name the judge, or leave them out.")
    judges = sorted(table["judge"].astype(str).unique())
    if len(judges) < 2:
        raise DesignError(f"Agreement needs two judges. The ratings have one: {judges[0]!r}.")
