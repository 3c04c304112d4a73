"""Correlations of the judges in two conditions, matched cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats import flags, wording
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.clustering import Cluster
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError, refuse_unknown
from judgestats.metrics.agreement.block_correlations import (
    Method,
    observed_weights,
    pair_correlations,
    resampled_statistics,
)
from judgestats.metrics.agreement.rating_blocks import Block, Unit, blocks, rated_cells, refuse_empty
from judgestats.metrics.clustered import clustered_by
from judgestats.schema.columns import By, grouping, names
from judgestats.typing import Floats, Integers, Ints, Mask

#: Column with the side of a rating: before (0) or after (1).
SIDE = "_side"


@dataclass(frozen=True)
class TwoSides:
    """Blocks with a row for each cell and side, the grouping columns, a flag, and the bootstrap unit."""

    blocks: list[Block]
    groups: list[str]
    flag: str
    cluster: str


def two_sides(
    before: Calls,
    after: Calls | Sequence[str],
    condition: str,
    by: By,
    cell: By,
    cluster: Cluster,
    unit: Unit,
    average_over: By,
) -> TwoSides:
    """Blocks of both sides; sides without a common unit are drawn independently."""
    if isinstance(after, str):
        raise DesignError(f"after={after!r} is one value. Give two of {condition!r}, the earlier first, or ratings.")
    if isinstance(after, tuple | list):
        before, after = _of_condition(before, after, condition)
    split = [c for c in names(by) if c != condition]
    more = [c for c in dict.fromkeys(names(cell)) if c not in (*split, "system")]
    columns_after = Study.of(after).names
    clustering = clustered_by(before, [*split, *more], cluster, whole="item")
    if cluster == "auto" and clustering.column not in columns_after:
        clustering = clustering._replace(column="item")
    tables = []
    for side, frame in enumerate((before, after)):
        present = Study.of(frame).names
        grouping(more, present, "ratings")
        runs = as_runs(frame, [c for c in names(average_over) if c != condition], [*split, *more])
        table, groups = rated_cells(runs, split, more, clustering.column)
        tables.append(table.assign(**{SIDE: side}))
    table = pd.concat(tables, ignore_index=True)
    refuse_empty(table)
    cell_names = [c for c in names(cell) if c not in (*groups, "system")]
    side_blocks = blocks(table, groups, [*cell_names, SIDE], unit, clustering.column)
    for i, block in enumerate(side_blocks):
        on_first, on_second = _units_of_sides(block)
        if not (on_first & on_second).any():
            side_blocks[i] = replace(block, strata=on_second.astype(np.int64))
    return TwoSides(side_blocks, groups, clustering.flag, clustering.column)


def _of_condition(data: Calls, pair: Sequence[str], condition: str) -> tuple[Study, Study]:
    if len(pair) != 2:
        raise DesignError(f"after= needs two values of {condition!r}, got {len(pair)}: {', '.join(map(str, pair))}.")
    study = Study.of(data)
    frame = study.data
    grouping(condition, frame.collect_schema().names(), "ratings")
    text = nw.col(condition).cast(nw.String)
    values = frame.lazy().select(text).unique().collect(backend="pandas")[condition].to_list()
    labels = sorted(map(str, values))
    for value in map(str, pair):
        refuse_unknown(value, labels, f"{condition!r} has no {value!r}", "It has")
    one, two = (study.part(frame.filter(text == str(v)).drop(condition)) for v in pair)
    return one, two


def _units_of_sides(block: Block) -> Mask:
    """Whether each unit occurs on each side, (2, O)."""
    return units_with_code(block, block.rows[SIDE].to_numpy(), 2)


def units_with_code(block: Block, code: Integers, size: int) -> Mask:
    """Whether each unit occurs in the rows with each of `size` codes, (size, O)."""
    points = np.asarray((~np.isnan(block.scores)).any(axis=1))
    present = np.zeros((size, block.n_units), dtype=bool)
    for g in range(size):
        present[g, block.owner[points[code == g].any(axis=0)]] = True
    return present


@dataclass(frozen=True)
class MatchedCorrelations:
    """Correlations of the cells that occur on both sides."""

    block: Block
    r: Floats  # (2, C, P): before and after; NaN on both sides where one is undefined
    draws: Floats  # (B, 2, C, P): the same in each resample
    cells: pd.DataFrame  # labels of the C cells
    undefined: Ints  # (P,): number of correlations excluded, per pair
    paired: bool  # whether some unit occurs on both sides
    one_sided: int  # number of units on one side only
    rows: Ints  # (2, C): rows of the block

    def sizes(self, cells: slice | Mask = slice(None), judges: slice | Ints = slice(None)) -> list[Floats]:
        """Points that pairs of judges share in each unit, on each side."""
        return [self.block.shared_sizes(side[cells], judges) for side in self.rows]

    def exclusions(self, unit: str, pairs: slice = slice(None)) -> str:
        """Flags for what the correlations of these pairs exclude."""
        return flags.join(
            flags.MISSING.of(self.block.n_missing, what="score(s)"),
            flags.EXCLUDED.of(int(self.undefined[pairs].sum()), what="correlation(s)"),
            flags.ONE_SIDED.of(self.one_sided, what=f"{unit}(s)"),
        )


def matched_correlations(block: Block, method: Method, plan: Bootstrap) -> MatchedCorrelations:
    """Correlations of both sides of a block, in the data and in common resamples."""
    labels = [c for c in block.rows.columns if c != SIDE]
    numbered = block.rows.assign(_row=np.arange(len(block.rows)))
    wide = numbered.pivot(index=labels, columns=SIDE, values="_row").reindex(columns=[0, 1]).dropna().astype(int)
    r = pair_correlations(block, method, observed_weights(block))[0]
    (draws,) = resampled_statistics(block, plan, lambda weights: pair_correlations(block, method, weights))
    sides = wide.to_numpy().T
    value, many = r[sides], draws[:, sides]
    undefined = np.isnan(value).any(axis=0)
    value[:, undefined] = np.nan
    many[:, :, undefined] = np.nan
    present = _units_of_sides(block)
    both = present[0] & present[1]
    without = undefined.sum(axis=0) + (len(block.rows) - sides.size)
    one_sided = int((present[0] ^ present[1]).sum()) if both.any() else 0
    cells = wide.reset_index()[labels]
    return MatchedCorrelations(block, value, many, cells, without, bool(both.any()), one_sided, sides)


def shift_method(paired: bool, method: wording.Method) -> wording.Method:
    """The ``method`` of a shift."""
    return method.drawing(how="paired bootstrap of" if paired else "independent bootstraps of")
