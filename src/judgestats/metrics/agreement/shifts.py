"""Does agreement survive a change of how the judges judge? :func:`agreement_shift`, its tests, :func:`rubric_share`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, stdtr, stdtrit

from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError, choose, confidence, suggestion
from judgestats.kernels.proportions import wilson
from judgestats.metrics.agreement.levels import (
    DIFFERENCE,
    METHODS,
    PAIRS,
    UNITS,
    Block,
    Floats,
    Ints,
    Method,
    Pairs,
    Unit,
    blocks,
    from_draws,
    mean_defined,
    pair_correlations,
    plan_of,
    rated,
    refuse_empty,
    resampled,
    whole,
)
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.rates import Bootstrap
from judgestats.results import (
    BEYOND_LIMIT,
    CONDITIONS_UNMOVED,
    CONSTANT_SHIFTS,
    EXCLUDED,
    MISSING,
    NO_DATA,
    NOT_POSITIVE,
    ONE_CONDITION,
    ONE_SIDED,
    SMALL_N,
    UNBOUNDED,
    estimates,
    flags,
)
from judgestats.schema.clustering import Cluster
from judgestats.schema.columns import By, grouping, names
from judgestats.schema.splitting import as_runs

# ---- Does agreement survive a change of how the judges judge? :func:`agreement_shift` --------------------------------

#: Column that says whether a rating is of before (0) or after (1).
SIDE = "_side"


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
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
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
            EXCLUDED.of(int(self.undefined[pairs].sum()), what="correlation(s)"),
            ONE_SIDED.of(self.one_sided, what=f"{unit}(s)"),
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
    beyond = BEYOND_LIMIT.of(abs(shift) > flag_at, at=f"{flag_at:g}")
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


# ---- Tests of shifts over conditions, where the correlations themselves are all there is: :func:`shift_tests`

#: What a difference of means is divided by.
D = Literal["pooled", "average", "paired"]
VARIANTS: tuple[D, ...] = ("pooled", "average", "paired")
Means = Literal["refuse", "drop"]
Alternative = Literal["two-sided", "less", "greater"]
#: What a label of a row of means begins with.
_MEAN_WORDS = ("mean", "average", "avg", "overall", "grand mean")
#: Columns that may mark the rows of means.
_KINDS = ("is_mean", "kind")


def shift_tests(
    table: Any,
    *,
    by: By = (),
    d: D = "average",
    ddof: int = 1,
    alternative: Alternative = "two-sided",
    m: int | None = None,
    means: Means = "refuse",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Test shifts over conditions, each condition one pair of numbers.

    Parameters
    ----------
    table : frame
        One row per condition: ``before`` and ``after`` (or ``baseline`` and ``merg``), and columns that name it; the
        result of :func:`agreement_shift`, say.
    by : str or sequence of str
        Grouping columns: one set of tests each.
    d : {'pooled', 'average', 'paired'}
        Variant of Cohen's d, as in :func:`cohen_d`. The paper does not say which it used.
    ddof : int
        Divisor n - ddof of the variances in it.
    alternative : {'two-sided', 'less', 'greater'}
        Of both tests; ``less``: agreement falls.
    m : int, optional
        Number of tests for Bonferroni; by default the number of groups. Give it where more were planned.
    means : {'refuse', 'drop'}
        What is done with conditions that are the mean of others. They are no further evidence.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per group the terms ``mean_shift`` (paired t: interval, ``statistic``, ``df``, ``p_value``, ``p_adjusted``),
        ``cohen_d`` (variant in ``method``) and ``share_negative`` (exact sign test; interval: Wilson). ``n`` counts
        conditions, for the sign test those that moved.

    Raises
    ------
    DesignError
        If rows are means of other rows and `means` is ``refuse``.
    SchemaError
        If a column is missing or holds text.

    Notes
    -----
    A row is a mean where a column ``is_mean`` says so; without one, where a label begins with "mean" or "average", or
    where both its numbers are the mean of all other rows, or of those that share one of its labels, within what their
    printed decimals allow. Conditions of the same items and judges are not independent even so: the tests take them
    as such.

    Source: consensus_illusion paper, Section 2.1 (paired t, Bonferroni, Cohen's d), Table 3 ("10/10 conditions").

    Examples
    --------
    >>> table3 = pd.DataFrame({"pair": ["C/G", "C/P", "G/P"], "before": [.698, .68, .72], "after": [.589, .518, .457]})
    >>> shift_tests(table3)[["term", "estimate", "p_value", "n"]].round(3)
                 term  estimate  p_value    n
    0      mean_shift    -0.178    0.059  3.0
    1         cohen_d    -3.646      NaN  3.0
    2  share_negative     1.000    0.250  3.0
    """
    choose(d, VARIANTS, "d")
    choose(alternative, ("two-sided", "less", "greater"), "alternative")
    choose(means, ("refuse", "drop"), "means")
    confidence(conf_level)
    data, labels = values_of(table, by)
    groups = grouping(by, data.columns, "table") if names(by) else []
    chosen = _without_means(data, labels, means)
    parts = list(chosen[0].groupby(groups, dropna=False, sort=True)) if groups else [((), chosen[0])]
    planned = len(parts) if m is None else m
    if not isinstance(planned, int | np.integer):
        raise DesignError(f"m={m!r} is not a number of tests. Give how many were planned, or leave m= out.")
    if planned < len(parts):
        raise DesignError(f"m={m} is fewer than the {len(parts)} tests made. Give the number planned, or leave m= out.")
    rows = []
    for key, part in parts:
        absent = int(part["before"].isna().sum() + part["after"].isna().sum())
        told = flags(
            MISSING.of(absent, what="value(s)"),
            EXCLUDED.of(chosen[1], what="mean(s) of others"),
        )
        kept = part.dropna(subset=["before", "after"])
        x, y = (kept[c].to_numpy(dtype=float) for c in ("before", "after"))
        for row in (_paired_t(x, y, alternative, planned, conf_level), _d_row(x, y, d, ddof), _sign(x, y, alternative)):
            if row["term"] == "share_negative" and row["n"]:
                low, high = wilson(row["hits"], row["n"], conf_level)
                row |= {"conf_low": float(low), "conf_high": float(high)}
            size = NO_DATA if not len(kept) else SMALL_N if len(kept) < 30 else ""
            rows.append({**dict(zip(groups, key, strict=True)), **row, "flag": flags(told, size, row.get("flag"))})
    return estimates(rows, groups, ["statistic", "df", "p_value", "p_adjusted"])


def _without_means(data: pd.DataFrame, labels: list[str], means: Means) -> tuple[pd.DataFrame, int]:
    marked = mean_rows(data, labels)
    if marked.any() and means == "refuse":
        shown = "; ".join(
            ", ".join(f"{c}={r[c]}" for c in labels) or f"row {i}" for i, r in data[marked].head(3).iterrows()
        )
        raise DesignError(
            f"{int(marked.sum())} of {len(data)} conditions are means of others ({shown}): they are no further "
            "evidence, and must not be counted. Leave them out, or use means='drop'. If they are not, say so in a "
            "column 'is_mean'."
        )
    return data[~marked], int(marked.sum())


def mean_rows(data: pd.DataFrame, labels: list[str]) -> NDArray[np.bool_]:
    """Mark the rows that are means of other rows, by a column, by a label, or by their numbers.

    Parameters
    ----------
    data : pandas.DataFrame
        With ``before`` and ``after``.
    labels : list of str
        Its other columns.

    Returns
    -------
    (N,) bool array
    """
    if "is_mean" in labels:
        told: NDArray[np.bool_] = data["is_mean"].astype(str).str.lower().isin(("true", "1", "1.0", "yes")).to_numpy()
        return told
    marked = np.zeros(len(data), dtype=bool)
    for column in labels:
        if data[column].dtype.kind not in "iufb":
            text = data[column].astype(str).str.strip().str.lower()
            marked |= text.str.startswith(_MEAN_WORDS).to_numpy()
    values = data[["before", "after"]].to_numpy(dtype=float)
    slack = 10.0 ** -_decimals(values)  # half a unit for the row, half for its parts
    sets = [np.ones(len(data), dtype=bool)]
    for column in (c for c in labels if c not in _KINDS):
        same = data[column].astype(str).to_numpy()
        sets += [same == v for v in np.unique(same) if 3 <= (same == v).sum() < len(data)]
    for inside in sets:
        for i in np.flatnonzero(inside & ~marked):
            others = inside & ~marked
            others[i] = False
            if others.sum() >= 2 and (abs(values[others].mean(axis=0) - values[i]) <= slack + 1e-12).all():
                marked[i] = True
    return marked


def _decimals(values: Floats) -> int:
    """Decimals of printed numbers: the fewest that hold them all, at most 12."""
    known = values[np.isfinite(values)]
    return next((k for k in range(13) if np.allclose(known, known.round(k), rtol=0, atol=1e-12)), 12)


def _paired_t(x: Floats, y: Floats, alternative: Alternative, m: int, conf_level: float) -> dict[str, Any]:
    n, away = x.size, y - x
    row: dict[str, Any] = {"term": "mean_shift", "estimate": float(away.mean()) if n else math.nan, "n": n}
    spread = float(away.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    if not spread > 1e-15:
        return {**row, "flag": CONSTANT_SHIFTS if n > 1 else ONE_CONDITION if n else ""}
    t = row["estimate"] / spread
    tail = {"less": stdtr(n - 1, t), "greater": stdtr(n - 1, -t), "two-sided": 2 * stdtr(n - 1, -abs(t))}[alternative]
    half = float(stdtrit(n - 1, (1 + conf_level) / 2)) * spread
    return {
        **row,
        "std_error": spread,
        "conf_low": row["estimate"] - half,
        "conf_high": row["estimate"] + half,
        "statistic": t,
        "df": n - 1,
        "p_value": float(tail),
        "p_adjusted": min(1.0, m * float(tail)),
        "method": f"paired t, Bonferroni over {m}",
    }


def _d_row(x: Floats, y: Floats, d: D, ddof: int) -> dict[str, Any]:
    name = f"Cohen's d ({d}, divisor n - {ddof})" if ddof else f"Cohen's d ({d}, divisor n)"
    return {"term": "cohen_d", "estimate": cohen_d(x, y, d=d, ddof=ddof), "n": x.size, "method": name}


def _sign(x: Floats, y: Floats, alternative: Alternative) -> dict[str, Any]:
    moved = (y - x)[np.abs(y - x) > 1e-12]
    n, k = moved.size, int((moved < 0).sum())
    still = CONDITIONS_UNMOVED.of(x.size - n)
    row: dict[str, Any] = {"term": "share_negative", "estimate": k / n if n else math.nan, "n": n, "hits": k}
    return {**row, "flag": still, "p_value": sign_p(k, n, alternative), "method": "Wilson; exact sign test"}


def sign_p(k: int, n: int, alternative: Alternative = "two-sided") -> float:
    """P-value of the exact sign test.

    Parameters
    ----------
    k, n : int
        Negative shifts, among those that are not 0.
    alternative : {'two-sided', 'less', 'greater'}
        ``less``: shifts are negative.

    Returns
    -------
    float
        NaN for n = 0. All of n in one direction: 2**-n one-sided, twice that two-sided.

    Examples
    --------
    >>> sign_p(10, 10, "less"), sign_p(6, 6, "less"), sign_p(6, 6)
    (0.0009765625, 0.015625, 0.03125)
    """
    if not n:
        return math.nan
    many = float(bdtr(n - k, n, 0.5))  # P(at least k)
    few = float(bdtr(k, n, 0.5))
    return {"less": many, "greater": few, "two-sided": min(1.0, 2 * min(many, few))}[alternative]


def cohen_d(before: ArrayLike, after: ArrayLike, *, d: D = "pooled", ddof: int = 1) -> float:
    """Cohen's d of two samples: their difference of means, in standard deviations.

    Parameters
    ----------
    before, after : array_like
        Values; of one length for ``paired``.
    d : {'pooled', 'average', 'paired'}
        Divided by the pooled sd (variances weighted by n - ddof), the root of the mean variance, or the sd of the
        paired differences.
    ddof : int
        Divisor n - ddof of the variances.

    Returns
    -------
    float
        Mean of `after` minus mean of `before`, standardised. NaN where there is no spread, or too few values.

    Raises
    ------
    DesignError
        For ``paired`` samples of two lengths.

    Notes
    -----
    The variants differ much: for paired data, ``paired`` is ``average`` divided by about √(2(1 - r)).

    Source: consensus_illusion paper, Sections 2.1 and 3.2; it prints d without a formula.

    Examples
    --------
    >>> [round(cohen_d([1, 2, 3], [3, 4, 8], d=v), 3) for v in ("pooled", "average", "paired")]
    [1.5, 1.5, 1.732]
    """
    choose(d, VARIANTS, "d")
    x, y = (np.asarray(v, dtype=float) for v in (before, after))
    if d == "paired":
        if x.shape != y.shape:
            raise DesignError(f"d='paired' needs pairs, got {x.size} and {y.size} values. Use 'pooled' or 'average'.")
        squares = (y - x).var(ddof=ddof) if x.size > ddof else math.nan
    elif min(x.size, y.size) <= ddof:
        squares = math.nan
    else:
        one, two = x.var(ddof=ddof), y.var(ddof=ddof)
        a, b = (x.size - ddof, y.size - ddof) if d == "pooled" else (1, 1)
        squares = (a * one + b * two) / (a + b)
    return float((y.mean() - x.mean()) / math.sqrt(squares)) if squares > 0 else math.nan


# ---- How much of the agreement is the shared rubric's? :func:`rubric_share` ------------------------------------------

_INTERVAL = ("std_error", "conf_low", "conf_high")


def rubric_share(
    free: Any,
    shared: Any,
    *,
    by: By = (),
    average_over: By = (),
    cell: By = (),
    unit: Unit = "item",
    method: Method = "pearson",
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Share of the agreement that goes when the judges no longer share the structure of a rubric.

    Parameters
    ----------
    free : frame or float
        Ratings under rubrics of the judges' own, or their mean correlation.
    shared : frame or float
        Ratings under the shared structure, or their mean correlation.
    by, average_over, cell, unit, method, cluster, n_resamples, seed, conf_level
        As in :func:`agreement_shift`.

    Returns
    -------
    pandas.DataFrame
        Term ``rubric_share``, (r̄_shared - r̄_free) / r̄_shared, and the columns ``free`` and ``shared``. NaN where
        r̄_shared is not positive; without an interval where that of r̄_shared reaches 0.

    Raises
    ------
    DesignError, SchemaError
        As :func:`agreement_shift`.

    Notes
    -----
    Descriptive: correlations do not add up to a total. Above 1 where the judges disagree under their own rubrics.

    Source: consensus_illusion paper, Section 3.3: (0.6225 - 0.239) / 0.6225.

    Examples
    --------
    >>> rubric_share(0.239, 0.6225)[["term", "estimate", "free", "shared"]].round(3)
               term  estimate   free  shared
    0  rubric_share     0.616  0.239   0.622
    """
    if isinstance(free, Real) and isinstance(shared, Real):
        free, shared = float(free), float(shared)
        value = (shared - free) / shared if shared > 0 else math.nan
        doubt = NO_DATA if math.isnan(shared - free) else NOT_POSITIVE if not shared > 0 else ""
        row = {"term": "rubric_share", "estimate": value, "free": free, "shared": shared, "flag": doubt}
        if names(average_over):
            raise DesignError("average_over= is of ratings, and these are two correlations. Leave it out.")
        return estimates([row], (), ["free", "shared"])
    if isinstance(free, Real) or isinstance(shared, Real | list | tuple):
        raise DesignError("rubric_share takes two tables of ratings, or two correlations, not one of each.")
    choose(method, METHODS, "method")
    choose(unit, UNITS, "unit")
    data = two_sides(free, shared, "", by, cell, cluster, unit, average_over)
    plan = plan_of(data.cluster, n_resamples, seed, conf_level)
    rows = []
    for block in data.blocks:
        both = matched(block, method, plan)
        low, high = mean_defined(mean_defined(both.r))
        draws = mean_defined(mean_defined(both.draws))
        with np.errstate(divide="ignore", invalid="ignore"):
            cells = from_draws(float((high - low) / high), 1 - draws[:, 0] / draws[:, 1], block.n_units, plan)
        if not high > 0:
            cells |= dict.fromkeys(("estimate", *_INTERVAL), math.nan) | {"flag": NOT_POSITIVE}
        elif not from_draws(float(high), draws[:, 1], block.n_units, plan)["conf_low"] > 0:
            cells |= dict.fromkeys(_INTERVAL, math.nan) | {"flag": UNBOUNDED}
        cells |= {"method": words(both.paired, plan), "n": block.n_units, "term": "rubric_share"}
        cells["flag"] = flags(cells["flag"], both.told(plan.cluster[0]), data.told)
        rows.append({**block.key, **cells, "free": float(low), "shared": float(high)})
    return estimates(rows, data.groups, ["free", "shared"])
