"""Does agreement survive a change of how the judges judge? :func:`agreement_shift`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import DesignError, SchemaError, choose, suggestion
from judgestats.metrics.agreement.blocks import (
    UNITS,
    Block,
    Floats,
    Ints,
    Unit,
    blocks,
    rated,
    refuse_empty,
    some,
)
from judgestats.metrics.agreement.draws import (
    DIFFERENCE,
    METHODS,
    Method,
    from_draws,
    mean_defined,
    pair_correlations,
    plan_of,
    resampled,
    whole,
)
from judgestats.metrics.agreement.levels import PAIRS, Pairs
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.resampled import Bootstrap
from judgestats.results import NO_DATA, SMALL_N, estimates, flags
from judgestats.schema.clustering import Cluster
from judgestats.schema.columns import By, grouping, names
from judgestats.schema.splitting import as_runs

#: Column that says whether a rating is of before (0) or after (1).
SIDE = "_side"
NOT_POSITIVE = "base not positive"


def agreement_shift(
    before: Any,
    after: Any = None,
    *,
    condition: str = "condition",
    by: By = (),
    average_over: By = (),
    cell: By = (),
    pairs: Pairs = "mean",
    unit: Unit = "item",
    method: Method = "pearson",
    flag_at: float = 0.15,
    cluster: Cluster = "auto",
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """How far the mean correlation of the judges moves between two ways of judging (Δ_K of the paper).

    Parameters
    ----------
    before : frame
        Ratings or means. With ``after=None``: a table of correlations already known, one row each, with the columns
        ``before`` (or ``baseline``) and ``after`` (or ``merg``); its other columns are kept and nothing is resampled.
    after : frame or (str, str)
        Ratings under the other way; or two values of the column `condition` of `before`, the earlier first.
    condition : str
        Column of the two values.
    by : str or sequence of str
        Grouping columns: ``system``, ``domain``, ``language``, ``temperature``.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    cell : str or sequence of str
        Columns that make a cell with the system; correlations are taken in each cell, matched, and averaged.
    pairs : {'mean', 'each'}
        The plain mean of the pairs of judges, or a row for each pair.
    unit, method
        As in :func:`correlation`.
    flag_at : float
        A shift farther from 0 than this is flagged; 0.15 in the paper's Section 4.
    cluster, n_resamples, seed, conf_level
        What is drawn (``item``, or what items are nested in), how often, and the coverage.

    Returns
    -------
    pandas.DataFrame
        The `by` columns (``judge``, ``other``), the columns of every estimate, ``before``, ``after``, ``relative`` (100
        times the shift over ``before``; NaN unless that is positive), ``correlations`` (how many cells x pairs are
        averaged) and ``unit``. Term ``shift``, in correlation units. ``n`` counts the units drawn, items as a rule.

    Raises
    ------
    DesignError
        For one judge, a condition that does not occur, or nothing to match.
    SchemaError
        If a column is missing.

    Notes
    -----
    Only correlations defined on both sides are averaged, so that the shift is not one of composition; how many are not
    is flagged. Where both sides share items the items are drawn once for both (paired); an item of one side alone
    counts there, and is flagged. Without a common item each side is drawn by itself; ``method`` says which.

    A mean of subgroups is not the pooled value: r is not linear in the items.

    Source: consensus_illusion paper, Equation 1, Table 3 and Section 4.

    Examples
    --------
    >>> printed = pd.DataFrame({"model": ["DeepSeek-R1", "Qwen3-235B"], "before": [0.643, 0.667],
    ...                         "after": [0.426, 0.529]})
    >>> agreement_shift(printed)[["model", "flag", "estimate", "relative"]].round(3)
             model            flag  estimate  relative
    0  DeepSeek-R1  |shift| > 0.15    -0.217   -33.748
    1   Qwen3-235B                    -0.138   -20.690
    """
    choose(method, METHODS, "method")
    choose(unit, UNITS, "unit")
    choose(pairs, PAIRS, "pairs")
    if not flag_at >= 0:
        raise DesignError(f"flag_at={flag_at} is not a distance from 0. The paper's is 0.15.")
    if after is None:
        return _of_values(before, by, flag_at)
    data = two_sides(before, after, condition, by, cell, cluster, unit, average_over)
    plan = plan_of(data.cluster, n_resamples, seed, conf_level)
    rows: list[dict[str, Any]] = []
    for block in data.blocks:
        rows += _shift_rows(matched(block, method, plan), pairs, flag_at, plan)
    for row in rows:
        row |= {"unit": unit, "flag": flags(row["flag"], data.told)}
    columns = [*data.groups, *(["judge", "other"] if pairs == "each" else [])]
    extra = ["before", "after", "relative", "correlations", "unit"]
    return estimates(rows, columns, extra)


@dataclass(frozen=True)
class TwoSides:
    """Blocks with a row for each cell and side, the names of their groups, what is flagged, and what is drawn."""

    blocks: list[Block]
    groups: list[str]
    told: str
    cluster: str


def two_sides(
    before: Any, after: Any, condition: str, by: By, cell: By, cluster: Cluster, unit: Unit, average_over: By
) -> TwoSides:
    """Both sides in one table, and in blocks."""
    if isinstance(after, str):
        raise DesignError(f"after={after!r} is one value. Give two of {condition!r}, the earlier first, or ratings.")
    if isinstance(after, tuple | list):
        before, after = _of_condition(before, after, condition)
    wanted = [c for c in names(by) if c != condition]
    more = [c for c in dict.fromkeys(names(cell)) if c not in (*wanted, "system")]
    known = nw.from_native(after).collect_schema().names()
    drawn = clustered_by(before, [*wanted, *more], cluster, whole="item")
    if cluster == "auto" and drawn.column not in known:
        drawn = drawn._replace(column="item")
    tables = []
    for side, frame in enumerate((before, after)):
        present = nw.from_native(frame).collect_schema().names()
        grouping(more, present, "ratings")
        runs = as_runs(frame, [c for c in names(average_over) if c != condition], [*wanted, *more])
        table, groups = rated(runs, wanted, more, drawn.column)
        tables.append(table.assign(**{SIDE: side}))
    table = pd.concat(tables, ignore_index=True)
    refuse_empty(table)
    named = [c for c in names(cell) if c not in (*groups, "system")]
    made = [_drawn_apart(b) for b in blocks(table, groups, [*named, SIDE], unit, drawn.column)]
    return TwoSides(made, groups, drawn.flag, drawn.column)


def _of_condition(data: Any, pair: Sequence[str], condition: str) -> tuple[Any, Any]:
    if len(pair) != 2:
        raise DesignError(f"after= takes two values of {condition!r}, got {len(pair)}: {', '.join(map(str, pair))}.")
    frame = nw.from_native(data)
    grouping(condition, frame.collect_schema().names(), "ratings")
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect(backend="pandas")
    text = frame[condition].cast(nw.String)
    known = sorted({str(x) for x in text.unique().to_list()})
    for value in map(str, pair):
        if value not in known:
            raise DesignError(f"{condition!r} has no {value!r}. It has: {', '.join(known)}.{suggestion(value, known)}")
    one, two = (frame.filter(text == str(v)).drop(condition).to_native() for v in pair)
    return one, two


def _drawn_apart(block: Block) -> Block:
    """Draw each side by itself where the sides have no unit in common."""
    present = _units_of_sides(block)
    if (present[0] & present[1]).any():
        return block
    return replace(block, strata=present[1].astype(np.int64))


def _units_of_sides(block: Block) -> Any:
    """Which units occur on each side, (2, O)."""
    side = block.rows[SIDE].to_numpy()
    points: Any = (~np.isnan(block.scores)).any(axis=1)
    present = np.zeros((2, block.n_units), dtype=bool)
    for s in (0, 1):
        present[s, block.owner[points[side == s].any(axis=0)]] = True
    return present


@dataclass(frozen=True)
class Matched:
    """Correlations of the cells that both sides have.

    Attributes
    ----------
    block : Block
    r : (2, C, P) float array
        Before and after; NaN on both sides where one is undefined.
    draws : (B, 2, C, P) float array
    cells : pandas.DataFrame
        Labels of the C cells.
    alone : int
        Correlations (cells x pairs) defined on one side only.
    undefined : (P,) int array
        Correlations set aside, of each pair.
    paired : bool
    one_sided : int
        Units that occur on one side only.
    """

    block: Block
    r: Floats
    draws: Floats
    cells: pd.DataFrame
    undefined: Ints
    paired: bool
    one_sided: int

    def told(self, unit: str, pairs: slice = slice(None)) -> str:
        """Flags for what the correlations of these pairs leave out."""
        return flags(
            some(int(self.undefined[pairs].sum()), "correlation set aside", "correlations set aside"),
            some(self.one_sided, f"{unit} on one side only", f"{unit}s on one side only"),
        )


def matched(block: Block, method: Method, plan: Bootstrap) -> Matched:
    """Correlate both sides of a block, in the data and in the same resamples."""
    labels = [c for c in block.rows.columns if c != SIDE]
    numbered = block.rows.assign(_row=np.arange(len(block.rows)))
    wide = numbered.pivot(index=labels, columns=SIDE, values="_row").reindex(columns=[0, 1]).dropna().astype(int)
    r = pair_correlations(block, method, whole(block))[0]
    (draws,) = resampled(block, plan, lambda weights: pair_correlations(block, method, weights))
    sides = wide.to_numpy().T
    value, many = r[sides], draws[:, sides]
    undefined = np.isnan(value).any(axis=0)
    value[:, undefined] = np.nan
    many[:, :, undefined] = np.nan
    present = _units_of_sides(block)
    both = present[0] & present[1]
    without = undefined.sum(axis=0) + (len(block.rows) - sides.size)
    one_sided = int((present[0] ^ present[1]).sum()) if both.any() else 0
    return Matched(block, value, many, wide.reset_index()[labels], without, bool(both.any()), one_sided)


def words(paired: bool, plan: Bootstrap) -> str:
    """The ``method`` of a shift."""
    return plan.words.replace("bootstrap of", "paired bootstrap of" if paired else "independent bootstraps of")


def _shift_rows(data: Matched, pairs: Pairs, flag_at: float, plan: Bootstrap) -> list[dict[str, Any]]:
    if pairs == "each":
        chosen = [({"judge": a, "other": b}, slice(p, p + 1)) for p, (a, b) in enumerate(data.block.pairs)]
    else:
        chosen = [({}, slice(None))]
    rows = []
    for label, p in chosen:
        value = mean_defined(mean_defined(data.r[..., p]))
        draws = mean_defined(mean_defined(data.draws[..., p]))
        cells = from_draws(float(value[1] - value[0]), draws[:, 1] - draws[:, 0], data.block.n_units, plan, DIFFERENCE)
        used = int((~np.isnan(data.r[0][:, p])).sum())
        row = {**data.block.key, **label, **_moved(value[0], value[1], flag_at), **cells}
        doubt = flags(
            NO_DATA if not used else "",
            _moved(value[0], value[1], flag_at)["flag"],
            data.told(plan.cluster[0], p),
            SMALL_N if data.block.n_units < 30 else "",
            cells["flag"],
        )
        row |= {"n": data.block.n_units, "correlations": used, "method": words(data.paired, plan), "flag": doubt}
        rows.append(row)
    return rows


def _moved(before: float, after: float, flag_at: float) -> dict[str, Any]:
    """The cells of a shift that need no resamples."""
    shift = float(after - before)
    positive = before > 0
    beyond = f"|shift| > {flag_at:g}" if abs(shift) > flag_at else ""
    doubt = NOT_POSITIVE if not positive and not math.isnan(before) else ""
    return {
        "term": "shift",
        "estimate": shift,
        "before": float(before),
        "after": float(after),
        "relative": 100 * shift / float(before) if positive else math.nan,
        "flag": flags(beyond, doubt),
    }


#: What a table of known correlations may call its two columns.
NAMES = {"before": ("before", "baseline", "base"), "after": ("after", "merg")}


def values_of(table: Any, by: By = ()) -> tuple[pd.DataFrame, list[str]]:
    """A table of known correlations with the columns ``before`` and ``after``, and its other columns.

    Raises
    ------
    SchemaError
        If a column is missing, or holds no numbers.
    """
    frame = nw.from_native(table).lazy().collect(backend="pandas").to_native()
    found = {new: next((c for c in old if c in frame.columns), None) for new, old in NAMES.items()}
    if missing := [f"{new} (or {', '.join(NAMES[new][1:])})" for new, old in found.items() if old is None]:
        raise SchemaError(
            f"A table of correlations before and after lacks {' and '.join(missing)}. Columns: "
            f"{', '.join(map(str, frame.columns))}. Give these columns, or ratings of both sides."
        )
    frame = frame.rename(columns={old: new for new, old in found.items()})
    for column in ("before", "after"):
        try:
            frame[column] = pd.to_numeric(frame[column]).astype(float)
        except (ValueError, TypeError) as error:
            raise SchemaError(f"{column!r} holds text where a correlation belongs: {error}.") from None
    if np.isinf(frame[["before", "after"]].to_numpy(dtype=float)).any():
        raise SchemaError("A correlation is infinite in some rows. Use an empty cell for no value.")
    grouping(by, frame.columns, "table")
    own = {"before", "after", "relative", "correlations", "delta", "term", "estimate", "std_error", "conf_low"}
    own |= {"conf_high", "n", "method", "flag", "unit"}
    return frame, [c for c in frame.columns if c not in own]


def _of_values(table: Any, by: By, flag_at: float) -> pd.DataFrame:
    frame, labels = values_of(table, by)
    rows = []
    for record in frame.to_dict("records"):
        moved = _moved(record["before"], record["after"], flag_at)
        doubt = NO_DATA if math.isnan(moved["estimate"]) else ""
        rows.append({**{c: record[c] for c in labels}, **moved, "flag": flags(doubt, moved["flag"])})
    return estimates(rows, labels, ["before", "after", "relative"], sort=False)
