"""Changes of agreement between conditions or with temperature: :func:`agreement_shift`, :func:`agreement_slope`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, chdtrc, stdtr, stdtrit

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.clustering import Cluster
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError, choose, refuse_unknown
from judgestats.kernels.proportions import quotient, wilson
from judgestats.metrics.agreement.levels import (
    DIFFERENCE,
    Block,
    Method,
    Pairs,
    Unit,
    blocks,
    codes,
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
from judgestats.metrics.measure_registry import Measure, Options, Term, against_control, control_of, values_of
from judgestats.results import COLUMNS, estimates, with_interval
from judgestats.schema.columns import By, grouping, names
from judgestats.typing import Floats, Ints, Mask

# ---- Shifts of agreement between two conditions: :func:`agreement_shift` ---------------------------------------------

_INTERVAL = ("std_error", "conf_low", "conf_high")
#: Column with the side of a rating: before (0) or after (1).
SIDE = "_side"


def _from_baseline(data: Any, options: Options) -> pd.DataFrame:
    return against_control(data, options, "condition", lambda *pair: options.call(agreement_shift, data, pair))


@Measure(
    "How far does another way of judging shift agreement, and is the shift the same in all subgroups (`across=`)?",
    "agreement", "R, table", "t, bootstrap, paired where items are shared; Cochran's Q",
    "consensus_illusion, Eq 1, Table 3, Sec 3.1, 3.3, 3.4", plot="agreement_shift",
    frames=("ratings",), needs=(control_of("condition"),), take=_from_baseline,
    caption="Mean correlation of the judges before and after. A fall suggests that they shared superficial criteria.",
    terms=(
        Term("shift", "shift of the mean correlation", neutral=0.0),
    ),
    have=("judges", "conditions",),
    assumes="The conditions differ in the way of judging only; paired where they share items.",
)  # fmt: skip
def agreement_shift(
    before: IntoFrame,
    after: Any = None,
    *,
    condition: str = "condition",
    by: By = (),
    average_over: By = (),
    cell: By = (),
    across: By = (),
    pairs: Pairs = "mean",
    relative: bool = False,
    unit: Unit = "item",
    method: Method = "pearson",
    flag_at: float = 0.15,
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Shift of the mean correlation of the judges between two ways of judging (Δ_K of the paper).

    Parameters
    ----------
    before : frame
        Ratings or means. With ``after=None``: a table of known correlations, one per row, with the columns ``before``
        (or ``baseline``) and ``after`` (or ``merg``); its other columns are kept and nothing is resampled.
    after : frame or (str, str)
        Ratings in the other condition; or two values of the column `condition` of `before`, the earlier first.
    condition : str
        Column of the two values.
    by : str or sequence of str
        Grouping columns: ``system``, ``domain``, ``language``, ``temperature``.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    cell : str or sequence of str
        Columns that define a cell together with the system; correlations are computed in each cell, matched, and
        averaged.
    across : str or sequence of str
        Compare the shift between subgroups: columns whose combinations are the subgroups (``domain``, ``system``,
        ``language``), or ``"pair"``, the pairs of judges.
    pairs : {'mean', 'each'}
        The mean over pairs of judges, or a row for each pair.
    relative : bool
        Give the shift as a share of the agreement before: term ``relative_shift``.
    unit, method
        As in :func:`correlation`.
    flag_at : float
        Larger absolute shifts are flagged; 0.15 in the paper's Section 4.
    cluster, n_resamples, seed, conf_level
        Bootstrap unit (as in :func:`correlation`), number of resamples, seed and coverage.

    Returns
    -------
    pandas.DataFrame
        The `by` columns (``judge``, ``other``), the columns of every estimate, ``before``, ``after``, ``relative`` (100
        times the shift over ``before``; NaN unless that is positive), ``correlations`` (number of cells x pairs
        averaged) and ``unit``. Term ``shift``, in correlation units. ``n`` counts the bootstrap units, usually items.

        With `relative`, the term is ``relative_shift``, (r̄_after - r̄_before) / r̄_before: NaN where r̄_before is not
        positive, without an interval where the interval of r̄_before includes 0.

        With `across`, the `by` columns, ``subgroup``, ``other``, the columns of every estimate, ``df`` and ``p_value``.
        Terms: ``shift`` of each subgroup; ``difference``, the shift of ``subgroup`` minus that of ``other``;
        ``interaction``, the difference of differences where `across` names two columns of two values;
        ``heterogeneity``, Cochran's Q, with df and p from chi-square; ``i_squared``, the share of Q beyond its df.
        ``n`` counts the bootstrap units, for the last two terms the subgroups.

    Raises
    ------
    DesignError
        For one judge, a condition that does not occur, nothing to match, or one subgroup (in one of several groups: no
        test, flagged).
    SchemaError
        If a column is missing.

    See Also
    --------
    agreement_slope : Change of agreement with temperature.
    shift_tests : Tests of shifts over conditions.

    Notes
    -----
    Only correlations defined on both sides are averaged, so that the shift is not one of composition; the flag counts
    the others. Where both sides share items, the items are drawn once for both (paired); an item on one side only
    counts there, and is flagged. Without a common item the sides are drawn independently; see ``method``.

    A mean of subgroups is not the pooled value: r is not linear in the items.

    Relative shifts are descriptive, because correlations do not add up to a total. If `before` is agreement with a
    shared rubric and `after` without it, minus the relative shift is the paper's share of the agreement that the rubric
    explains.

    Q is the Wald statistic of equal shifts, with the covariance of the bootstrap draws. Subgroups without a common unit
    (domains of items) are drawn independently, and Q is Cochran's, with inverse variances as weights. Subgroups that
    share units (pairs of judges, systems, temperatures) are drawn together, and Q uses their covariance, with a flag.
    P-values treat the covariance as known; those of differences match their intervals and are not adjusted for
    multiple comparisons.

    Source: consensus_illusion paper, Equation 1, Table 3 and Section 4; relative shift: Section 3.3, (0.6225 - 0.239) /
    0.6225; subgroups: Sections 3.1 and 3.4 (it prints p < 0.01 and p < 0.05 without a statistic).

    Examples
    --------
    >>> printed = pd.DataFrame({"model": ["DeepSeek-R1", "Qwen3-235B"], "before": [0.643, 0.667],
    ...                         "after": [0.426, 0.529]})
    >>> agreement_shift(printed)[["model", "flag", "estimate", "relative"]].round(3)
             model            flag  estimate  relative
    0  DeepSeek-R1  |shift| > 0.15    -0.217   -33.748
    1   Qwen3-235B                    -0.138   -20.690
    >>> own_rubrics = pd.DataFrame({"before": [0.6225], "after": [0.239]})
    >>> agreement_shift(own_rubrics, relative=True)[["term", "estimate", "before", "after"]].round(3)
                 term  estimate  before  after
    0  relative_shift    -0.616   0.622  0.239

    >>> rng = np.random.default_rng(0)
    >>> rows = [{"judge": j, "system": "s", "item": f"{d}{i}", "domain": d, "condition": c,
    ...          "score": e + rng.normal() * (2 if c == "new" and d == "art" else 1)}
    ...         for d in ("art", "law") for i, e in enumerate(rng.normal(size=60))
    ...         for c in ("old", "new") for j in "ab"]
    >>> result = agreement_shift(pd.DataFrame(rows), ("old", "new"), across="domain", n_resamples=300)
    >>> list(result["term"])
    ['shift', 'shift', 'difference', 'heterogeneity', 'i_squared']
    """
    if not flag_at >= 0:
        raise DesignError(f"flag_at={flag_at} must be 0 or more, e.g. 0.15 as in the paper.")
    split = names(across)
    if split and (after is None or pairs == "each" or relative):
        raise DesignError(
            "across= compares subgroups of ratings in two conditions. It needs after=, and excludes pairs='each' "
            "(across='pair' compares the pairs) and relative=True."
        )
    if after is None:
        table, labels = known_correlations(before, by)
        rows: list[dict[str, Any]] = []
        for record in table.to_dict("records"):
            moved = _moved(record["before"], record["after"], flag_at, relative)
            empty = flags.NO_DATA if math.isnan(record["after"] - record["before"]) else ""
            rows.append({**{c: record[c] for c in labels}, **moved, "flag": flags.join(empty, moved["flag"])})
        return estimates(rows, labels, ["before", "after", "relative"], sort=False)
    columns = [] if split == [PAIR] else split
    data = two_sides(before, after, condition, by, [*names(cell), *columns], cluster, unit, average_over)
    plan = plan_of(data.cluster, n_resamples, seed, conf_level)
    rows = []
    if split:
        for block in data.blocks:
            subgroup = _subgroup_of_units(block, columns) if columns else None
            if subgroup is not None:  # no unit is in two subgroups
                block = replace(block, strata=subgroup * 2 + (0 if block.strata is None else block.strata))
            both = matched(block, method, plan)
            flag = flags.join(both.exclusions(plan.cluster[0]), data.flag)
            rows += [{**row, "flag": flags.join(row["flag"], flag)} for row in _compared(both, columns, plan)]
        return estimates(rows, [*data.groups, "subgroup", "other"], ["df", "p_value"], sort=False)
    for block in data.blocks:
        rows += _shift_rows(matched(block, method, plan), pairs, flag_at, plan, relative)
    for row in rows:
        row |= {"unit": unit, "flag": flags.join(row["flag"], data.flag)}
    columns = [*data.groups, *(["judge", "other"] if pairs == "each" else [])]
    extra = ["before", "after", "relative", "correlations", "unit"]
    return estimates(rows, columns, extra)


@dataclass(frozen=True)
class TwoSides:
    """Blocks with a row for each cell and side, the grouping columns, a flag, and the bootstrap unit."""

    blocks: list[Block]
    groups: list[str]
    flag: str
    cluster: str


def two_sides(
    before: Any, after: Any, condition: str, by: By, cell: By, cluster: Cluster, unit: Unit, average_over: By
) -> TwoSides:
    """Blocks of both sides; sides without a common unit are drawn independently."""
    if isinstance(after, str):
        raise DesignError(f"after={after!r} is one value. Give two of {condition!r}, the earlier first, or ratings.")
    if isinstance(after, tuple | list):
        before, after = _of_condition(before, after, condition)
    split = [c for c in names(by) if c != condition]
    more = [c for c in dict.fromkeys(names(cell)) if c not in (*split, "system")]
    known = Study.of(after).names
    drawn = clustered_by(before, [*split, *more], cluster, whole="item")
    if cluster == "auto" and drawn.column not in known:
        drawn = drawn._replace(column="item")
    tables = []
    for side, frame in enumerate((before, after)):
        present = Study.of(frame).names
        grouping(more, present, "ratings")
        runs = as_runs(frame, [c for c in names(average_over) if c != condition], [*split, *more])
        table, groups = rated(runs, split, more, drawn.column)
        tables.append(table.assign(**{SIDE: side}))
    table = pd.concat(tables, ignore_index=True)
    refuse_empty(table)
    named = [c for c in names(cell) if c not in (*groups, "system")]
    found = blocks(table, groups, [*named, SIDE], unit, drawn.column)
    for i, block in enumerate(found):
        on_first, on_second = _units_of_sides(block)
        if not (on_first & on_second).any():
            found[i] = replace(block, strata=on_second.astype(np.int64))
    return TwoSides(found, groups, drawn.flag, drawn.column)


def _of_condition(data: Any, pair: Sequence[str], condition: str) -> tuple[Any, Any]:
    if len(pair) != 2:
        raise DesignError(f"after= needs two values of {condition!r}, got {len(pair)}: {', '.join(map(str, pair))}.")
    frame = Study.of(data).data
    grouping(condition, frame.collect_schema().names(), "ratings")
    text = nw.col(condition).cast(nw.String)
    values = frame.lazy().select(text).unique().collect(backend="pandas")[condition].to_list()
    known = sorted(map(str, values))
    for value in map(str, pair):
        refuse_unknown(value, known, f"{condition!r} has no {value!r}", "It has")
    one, two = (frame.filter(text == str(v)).drop(condition).to_native() for v in pair)
    return one, two


def _units_of_sides(block: Block) -> Mask:
    """Whether each unit occurs on each side, (2, O)."""
    return _units_of(block, block.rows[SIDE].to_numpy(), 2)


def _units_of(block: Block, code: NDArray[Any], size: int) -> Mask:
    """Whether each unit occurs in the rows with each of `size` codes, (size, O)."""
    points: Any = (~np.isnan(block.scores)).any(axis=1)
    present = np.zeros((size, block.n_units), dtype=bool)
    for g in range(size):
        present[g, block.owner[points[code == g].any(axis=0)]] = True
    return present


@dataclass(frozen=True)
class Matched:
    """Correlations of the cells that occur on both sides."""

    block: Block
    r: Floats  # (2, C, P): before and after; NaN on both sides where one is undefined
    draws: Floats  # (B, 2, C, P): the same in each resample
    cells: pd.DataFrame  # labels of the C cells
    undefined: Ints  # (P,): number of correlations excluded, per pair
    paired: bool  # whether some unit occurs on both sides
    one_sided: int  # number of units on one side only

    def exclusions(self, unit: str, pairs: slice = slice(None)) -> str:
        """Flags for what the correlations of these pairs exclude."""
        return flags.join(
            flags.MISSING.of(self.block.n_missing, what="score(s)"),
            flags.EXCLUDED.of(int(self.undefined[pairs].sum()), what="correlation(s)"),
            flags.ONE_SIDED.of(self.one_sided, what=f"{unit}(s)"),
        )


def matched(block: Block, method: Method, plan: Bootstrap) -> Matched:
    """Correlations of both sides of a block, in the data and in common resamples."""
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


def _shift_rows(data: Matched, pairs: Pairs, flag_at: float, plan: Bootstrap, relative: bool) -> list[dict[str, Any]]:
    if pairs == "each":
        chosen = [({"judge": a, "other": b}, slice(p, p + 1)) for p, (a, b) in enumerate(data.block.pairs)]
    else:
        chosen = [({}, slice(None))]
    rows = []
    for label, p in chosen:
        value = mean_defined(mean_defined(data.r[..., p]))
        draws = mean_defined(mean_defined(data.draws[..., p]))
        moved = _moved(value[0], value[1], flag_at, relative)
        if relative:
            cells = _relative_cells(value, draws, data.block.unit_sizes, plan)
        else:
            shift = float(value[1] - value[0])
            cells = from_draws(shift, draws[:, 1] - draws[:, 0], data.block.unit_sizes, plan, DIFFERENCE)
        used = int((~np.isnan(data.r[0][:, p])).sum())
        size = flags.SMALL_N if data.block.n_units < 30 else ""
        excluded = data.exclusions(plan.cluster[0], p)
        flag = flags.join(flags.NO_DATA if not used else "", moved["flag"], excluded, size, cells["flag"])
        row = {**data.block.key, **label, **moved, **cells, "n": data.block.n_units, "correlations": used}
        rows.append({**row, "method": words(data.paired, plan), "flag": flag})
    return rows


def _relative_cells(value: Floats, draws: Floats, sizes: Floats, plan: Bootstrap) -> dict[str, Any]:
    """Shift divided by the agreement before; no interval where the interval of that agreement includes 0."""
    cells = from_draws(float(quotient(value[1], value[0]) - 1), quotient(draws[:, 1], draws[:, 0]) - 1, sizes, plan)
    if not value[0] > 0:
        return cells | dict.fromkeys(("estimate", *_INTERVAL), math.nan) | {"flag": ""}
    if not from_draws(float(value[0]), draws[:, 0], sizes, plan)["conf_low"] > 0:
        return cells | dict.fromkeys(_INTERVAL, math.nan) | {"flag": flags.UNBOUNDED}
    return cells


def _moved(before: float, after: float, flag_at: float, relative: bool) -> dict[str, Any]:
    """Cells of a shift that need no resamples."""
    shift = float(after - before)
    positive = before > 0
    beyond = flags.BEYOND_LIMIT.of(abs(shift) > flag_at and not relative, at=f"{flag_at:g}")
    undefined = flags.NOT_POSITIVE if not positive and not math.isnan(before) else ""
    return {
        "term": "relative_shift" if relative else "shift",
        "estimate": shift if not relative else shift / float(before) if positive else math.nan,
        "before": float(before),
        "after": float(after),
        "relative": 100 * shift / float(before) if positive else math.nan,
        "flag": flags.join(beyond, undefined),
    }


#: Accepted names of the two columns of a table of known correlations.
NAMES = {"before": ("before", "baseline", "base"), "after": ("after", "merg")}


def known_correlations(table: Any, by: By = ()) -> tuple[pd.DataFrame, list[str]]:
    """A table of known correlations with the columns ``before`` and ``after``, and the names of its other columns."""
    frame = Study.of(table).data.lazy().collect(backend="pandas").to_native()
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
    of_results = {"before", "after", "relative", "correlations", "delta", "unit", *COLUMNS}
    return frame, [c for c in frame.columns if c not in of_results]


# ---- Heterogeneity of the shift between subgroups --------------------------------------------------------------------

#: Value of ``across`` for the pairs of judges as subgroups.
PAIR = "pair"


def _subgroup_of_units(block: Block, split: list[str]) -> Ints | None:
    """Subgroup of each unit; None if a unit is in two subgroups."""
    code, labels = codes(block.rows, split)
    present = _units_of(block, code, len(labels))
    return None if (present.sum(axis=0) > 1).any() else present.argmax(axis=0).astype(np.int64)


def _subgroups(data: Matched, split: list[str]) -> tuple[list[tuple[str, ...]], Floats, Floats]:
    """Names, shifts (G,) and drawn shifts (B, G) of the subgroups."""
    r, draws = data.r, data.draws
    if not split:
        label: list[tuple[str, ...]] = [(f"{a} / {b}",) for a, b in data.block.pairs]
        value, many = mean_defined(r.swapaxes(1, 2)), mean_defined(draws.swapaxes(2, 3))
    else:
        code, table = codes(data.cells, split)
        label = [tuple(map(str, t)) for t in table.itertuples(index=False)]
        each, drawn = mean_defined(r), mean_defined(draws)
        value = np.stack([mean_defined(each[:, code == g]) for g in range(len(label))], axis=-1)
        many = np.stack([mean_defined(drawn[..., code == g]) for g in range(len(label))], axis=-1)
    return label, value[1] - value[0], many[:, 1] - many[:, 0]


def _compared(data: Matched, split: list[str], plan: Bootstrap) -> list[dict[str, Any]]:
    label, shift, draws = _subgroups(data, split)
    if len(label) < 2 and not data.block.key:
        raise DesignError(
            f"across= gives {len(label)} subgroup(s), and needs two. Name a column with several values in both "
            "conditions."
        )
    shared = not split or _subgroup_of_units(data.block, split) is None
    text = [", ".join(t) for t in label]
    rows = []

    def add(term: str, value: float, drawn: Floats, **more: Any) -> None:
        cells = from_draws(float(value), drawn, data.block.unit_sizes, plan)
        if term != "shift":
            more["p_value"] = _p_value(cells, data.block.n_units, plan.conf_level)
        flag = flags.join(flags.NO_DATA if math.isnan(value) else "", cells["flag"])
        base = {**data.block.key, "subgroup": "", "other": "", "term": term, **cells, **more}
        rows.append({**base, "n": data.block.n_units, "method": words(data.paired, plan), "flag": flag})

    for g, name in enumerate(text):
        add("shift", shift[g], draws[:, g], subgroup=name)
    for g in range(len(text)):
        for h in range(g + 1, len(text)):
            add("difference", shift[g] - shift[h], draws[:, g] - draws[:, h], subgroup=text[g], other=text[h])
    if len(label) == 4 and len(label[0]) == 2 and all(len({t[i] for t in label}) == 2 for i in (0, 1)):
        sign = np.array([1.0, -1.0, -1.0, 1.0])
        add("interaction", float(shift @ sign), draws @ sign)
    return [*rows, *_homogeneity(data.block.key, shift, draws, shared, data.block.unit_sizes)]


def _p_value(cells: dict[str, Any], n_units: int, conf_level: float) -> float:
    """P-value that matches Student's interval: below 1 - conf_level where the interval excludes 0."""
    near = cells["conf_low"] if cells["estimate"] > 0 else -cells["conf_high"]
    t = near / cells["std_error"] + float(stdtrit(n_units - 1, (1 + conf_level) / 2))
    return float(2 * stdtr(n_units - 1, -max(t, 0.0))) if cells["std_error"] > 0 else math.nan


def _homogeneity(
    key: dict[str, Any], shift: Floats, draws: Floats, shared: bool, sizes: Floats
) -> list[dict[str, Any]]:
    """Cochran's Q and I², with the covariance of subgroups that share units."""
    known = ~np.isnan(shift)
    shift, draws = shift[known], draws[:, known]
    draws = draws[~np.isnan(draws).any(axis=1)]
    excluded = flags.EXCLUDED.of(int((~known).sum()), what="subgroup(s) without a shift")
    few = flags.few_clusters(sizes)
    g = shift.size
    covariance = np.cov(draws, rowvar=False) * sizes.size / max(sizes.size - 1, 1)  # n - 1 as in the standard errors
    q = cochran_q(shift, covariance, shared) if g > 1 and len(draws) > g else math.nan
    flag = flags.join(excluded, flags.SUBGROUPS_OVERLAP if shared else "", few, flags.NO_DATA if math.isnan(q) else "")
    row = {**key, "subgroup": "", "other": "", "n": g, "flag": flag}
    p = math.nan if math.isnan(q) else float(chdtrc(g - 1, q))
    share = math.nan if math.isnan(q) else max(0.0, (q - (g - 1)) / q) if q > 0 else 0.0
    test = {"term": "heterogeneity", "estimate": q, "df": g - 1 if g > 1 else math.nan, "p_value": p}
    return [{**row, **test, "method": "chi-square p"}, {**row, "term": "i_squared", "estimate": share}]


def cochran_q(value: Floats, covariance: Floats, shared: bool = False) -> float:
    """Wald statistic of equal values; Cochran's Q where they are independent.

    `value` (G,). `covariance` (G, G), whose diagonal alone is used unless the values are dependent (`shared`). Returns
    NaN if the covariance of the differences is singular.

    >>> round(cochran_q(np.array([0.22, 0.27, -0.06]), np.diag([0.01, 0.01, 0.01])), 2)
    6.33
    """
    covariance = covariance if shared else np.diag(np.diag(covariance))
    contrast = np.eye(value.size)[1:] - np.eye(value.size)[0]
    inside = contrast @ covariance @ contrast.T
    if not np.isfinite(inside).all() or np.linalg.matrix_rank(inside) < len(inside):
        return math.nan
    away = contrast @ value
    return float(away @ np.linalg.solve(inside, away))


# ---- Slope of agreement over temperature: :func:`agreement_slope` ----------------------------------------------------


@Measure(
    "Does agreement fall with temperature?", "agreement", "R", "t, bootstrap of items", "consensus_illusion, App D",
    frames=("ratings",), needs=(values_of("temperature", 3),),
    terms=(
        Term("slope", "slope of the mean correlation", neutral=0.0),
    ),
    have=("judges", "conditions",),
    assumes="Agreement is linear in temperature over the range asked.",
)  # fmt: skip
def agreement_slope(
    ratings: IntoFrame,
    *,
    over: str = "temperature",
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
    """Slope of the mean correlation of the judges over temperature.

    Parameters
    ----------
    ratings : frame
        Ratings or means with the column `over`.
    over : str
        A numeric column.
    by, cell, unit, method, cluster, n_resamples, seed, conf_level
        As in :func:`agreement_shift`.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.

    Returns
    -------
    pandas.DataFrame
        Term ``slope``: least squares of the mean correlation at each value of `over` on that value. ``n`` counts the
        values.

    Raises
    ------
    DesignError
        If `over` is text or has fewer than two values (in one of several groups: NaN, flagged).
    SchemaError
        If a column is missing.

    See Also
    --------
    agreement_shift : Change of agreement between two ways of judging.

    Notes
    -----
    The bootstrap draws the same items for all temperatures: the points of the line are dependent, and an OLS standard
    error would be wrong.

    Source: consensus_illusion paper, Appendix D ("temperature invariance").

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = [{"judge": j, "system": "s", "item": str(i), "temperature": t, "score": e + (0.5 + t) * rng.normal()}
    ...         for i, e in enumerate(rng.normal(size=80)) for t in (0.0, 0.5, 1.0) for j in "ab"]
    >>> agreement_slope(pd.DataFrame(rows), n_resamples=300)[["term", "estimate", "n"]].round(2)
        term  estimate    n
    0  slope     -0.58  3.0
    """
    ratings = as_runs(ratings, average_over, [*names(by), *names(cell), over])
    grouping(over, Study.of(ratings).names, "ratings")
    by = [c for c in names(by) if c != over]
    more = [over, *(c for c in names(cell) if c not in by)]
    drawn = clustered_by(ratings, [*by, *more], cluster, whole="item")
    plan = plan_of(drawn.column, n_resamples, seed, conf_level)
    table, groups = rated(ratings, by, more, drawn.column)
    refuse_empty(table)
    try:
        table[over] = pd.to_numeric(table[over]).astype(float)
    except (ValueError, TypeError):
        raise DesignError(
            f"{over!r} holds text, and a slope needs numbers. Use agreement_shift for two conditions."
        ) from None
    named = [c for c in dict.fromkeys([over, *names(cell)]) if c not in groups and c != "system"]
    rows = [_slope(b, over, method, plan) for b in blocks(table, groups, named, unit, drawn.column)]
    for row in rows:
        row["flag"] = flags.join(row["flag"], drawn.flag)
    return estimates(rows, groups)


def _slope(block: Block, over: str, method: Method, plan: Bootstrap) -> dict[str, Any]:
    code, labels = codes(block.rows, [over])
    x = labels[over].to_numpy(dtype=float)
    if np.unique(x[~np.isnan(x)]).size < 2 and not block.key:
        raise DesignError(f"A slope over {over!r} needs two values, got {x.size}. Use another column in over=.")
    each = mean_defined(pair_correlations(block, method, whole(block)))
    (drawn,) = resampled(block, plan, lambda weights: mean_defined(pair_correlations(block, method, weights)))
    level, many = (np.stack([mean_defined(r[:, code == g]) for g in range(x.size)], axis=-1) for r in (each, drawn))
    used = ~(np.isnan(level[0]) | np.isnan(x))
    excluded = flags.join(
        flags.EXCLUDED.of(int((~used).sum()), what=f"{over}(s) without a correlation"),
        flags.UNDEFINED.of(int(np.isnan(pair_correlations(block, method, whole(block))).sum()), what="pair(s)"),
        flags.MISSING.of(block.n_missing, what="score(s)"),
    )
    away = x[used] - x[used].mean() if used.any() else x[used]
    row: dict[str, Any] = {**block.key, "term": "slope", "n": int(used.sum())}
    if used.sum() < 2:
        return {**row, "estimate": math.nan, "flag": flags.join(excluded, flags.NO_DATA)}
    weight = away / (away @ away)
    cells = from_draws(float(level[0, used] @ weight), many[:, used] @ weight, block.unit_sizes, plan)
    return {**row, **cells, "flag": flags.join(excluded, cells["flag"])}


# ---- Tests of shifts over conditions, from the correlations alone: :func:`shift_tests` -------------------------------

#: Standardizer of Cohen's d.
D = Literal["pooled", "average", "paired"]
VARIANTS: tuple[D, ...] = ("pooled", "average", "paired")
Means = Literal["refuse", "drop"]
Alternative = Literal["two-sided", "less", "greater"]
#: First words of the label of a row of means.
_MEAN_WORDS = ("mean", "average", "avg", "overall", "grand mean")
#: Columns that may mark the rows of means.
_KINDS = ("is_mean", "kind")


@Measure(
    "Do the shifts differ from 0 over conditions?", "agreement", "table", "t; share of falls: Wilson",
    "consensus_illusion, Sec 2.1, Table 3",
    have=("printed table",),
    assumes="The shifts are a sample of such conditions, about normal, and independent of each other.",
)  # fmt: skip
def shift_tests(
    table: IntoFrame,
    *,
    by: By = (),
    d: D = "average",
    ddof: int = 1,
    alternative: Alternative = "two-sided",
    n_tests: int | None = None,
    means: Means = "refuse",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Test shifts over conditions, each condition one pair of numbers.

    Parameters
    ----------
    table : frame
        One row per condition: ``before`` and ``after`` (or ``baseline`` and ``merg``), and columns that name it, as in
        the result of :func:`agreement_shift`.
    by : str or sequence of str
        Grouping columns: one set of tests each.
    d : {'pooled', 'average', 'paired'}
        Variant of Cohen's d, as in :func:`cohen_d`. The paper does not say which it used.
    ddof : int
        Divisor n - ddof of the variances in it.
    alternative : {'two-sided', 'less', 'greater'}
        Alternative hypothesis of both tests; ``less``: agreement falls.
    n_tests : int, optional
        Number of tests for Bonferroni; by default the number of groups. Give it if more were planned.
    means : {'refuse', 'drop'}
        Treatment of conditions that are means of others, which are no further evidence.
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

    See Also
    --------
    agreement_shift : Change of agreement between two ways of judging.

    Notes
    -----
    A row is a mean if a column ``is_mean`` is true. Without that column, a row is a mean if a label begins with "mean"
    or "average", or if both its numbers are the means of all other rows, or of those that share one of its labels,
    within the rounding of the printed decimals. The tests treat conditions as independent, although conditions with
    common items and judges are not.

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
    data, labels = known_correlations(table, by)
    groups = grouping(by, data.columns, "table") if names(by) else []
    kept, n_means = _without_means(data, labels, means)
    parts = list(kept.groupby(groups, dropna=False, sort=True)) if groups else [((), kept)]
    planned = len(parts) if n_tests is None else n_tests
    if not isinstance(planned, int | np.integer):
        raise DesignError(
            f"n_tests={n_tests!r} is not a number of tests. Give how many were planned, or leave n_tests= out."
        )
    if planned < len(parts):
        raise DesignError(
            f"n_tests={n_tests} is fewer than the {len(parts)} tests made. Give the number planned, or leave n_tests= "
            "out."
        )
    rows = []
    for key, part in parts:
        absent = int(part["before"].isna().sum() + part["after"].isna().sum())
        part = part.dropna(subset=["before", "after"])
        x, y = (part[c].to_numpy(dtype=float) for c in ("before", "after"))
        divisor = f"n - {ddof}" if ddof else "n"
        effect = {"term": "cohen_d", "estimate": cohen_d(x, y, d=d, ddof=ddof), "n": x.size}
        effect["method"] = f"Cohen's d ({d}, divisor {divisor})"
        size = flags.NO_DATA if not len(part) else flags.SMALL_N if len(part) < 30 else ""
        excluded = flags.join(
            flags.MISSING.of(absent, what="value(s)"), flags.EXCLUDED.of(n_means, what="mean(s) of others"), size
        )
        for row in (_paired_t(x, y, alternative, planned, conf_level), effect, _sign(x, y, alternative, conf_level)):
            rows.append({**dict(zip(groups, key, strict=True)), **row, "flag": flags.join(excluded, row.get("flag"))})
    return estimates(rows, groups, ["statistic", "df", "p_value", "p_adjusted"])


def _without_means(data: pd.DataFrame, labels: list[str], means: Means) -> tuple[pd.DataFrame, int]:
    """The rows that are not means of others, and the number of means."""
    marked = mean_rows(data, labels)
    if marked.any() and means == "refuse":
        shown = "; ".join(
            ", ".join(f"{c}={r[c]}" for c in labels) or f"row {i}" for i, r in data[marked].head(3).iterrows()
        )
        raise DesignError(
            f"{int(marked.sum())} of {len(data)} conditions are means of others ({shown}), which are no further "
            "evidence. Leave them out, or use means='drop'. If they are not means, add a column 'is_mean'."
        )
    return data[~marked], int(marked.sum())


def mean_rows(data: pd.DataFrame, labels: list[str]) -> Mask:
    """Whether each row (N,) is a mean of other rows, by a column, by a label, or by its ``before`` and ``after``."""
    if "is_mean" in labels:
        given: Mask = data["is_mean"].astype(str).str.lower().isin(("true", "1", "1.0", "yes")).to_numpy()
        return given
    marked = np.zeros(len(data), dtype=bool)
    for column in labels:
        if data[column].dtype.kind not in "iufb":
            text = data[column].astype(str).str.strip().str.lower()
            marked |= text.str.startswith(_MEAN_WORDS).to_numpy()
    values = data[["before", "after"]].to_numpy(dtype=float)
    finite = values[np.isfinite(values)]
    decimals = next((k for k in range(13) if np.allclose(finite, finite.round(k), rtol=0, atol=1e-12)), 12)
    slack = 10.0**-decimals  # half a unit for the row, half for its parts
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


def _paired_t(x: Floats, y: Floats, alternative: Alternative, m: int, conf_level: float) -> dict[str, Any]:
    n, away = x.size, y - x
    row: dict[str, Any] = {"term": "mean_shift", "estimate": float(away.mean()) if n else math.nan, "n": n}
    spread = float(away.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    if not spread > 1e-15:
        return {**row, "flag": flags.CONSTANT_SHIFTS if n > 1 else flags.ONE_CONDITION if n else ""}
    t = row["estimate"] / spread
    tail = {"less": stdtr(n - 1, t), "greater": stdtr(n - 1, -t), "two-sided": 2 * stdtr(n - 1, -abs(t))}[alternative]
    test = {"statistic": t, "df": n - 1, "p_value": float(tail), "p_adjusted": min(1.0, m * float(tail))}
    half = float(stdtrit(n - 1, (1 + conf_level) / 2)) * spread
    low, high = row["estimate"] - half, row["estimate"] + half
    return with_interval(spread, low, high, **row, **test, method=f"paired t, Bonferroni over {m}")


def _sign(x: Floats, y: Floats, alternative: Alternative, conf_level: float) -> dict[str, Any]:
    moved = (y - x)[np.abs(y - x) > 1e-12]
    n, k = moved.size, int((moved < 0).sum())
    row: dict[str, Any] = {"term": "share_negative", "estimate": k / n if n else math.nan, "n": n}
    if n:
        low, high = wilson(k, n, conf_level)
        row |= {"conf_low": float(low), "conf_high": float(high)}
    row |= {"p_value": sign_p(k, n, alternative), "method": "Wilson; exact sign test"}
    return {**row, "flag": flags.CONDITIONS_UNMOVED.of(x.size - n)}


def sign_p(k: int, n: int, alternative: Alternative = "two-sided") -> float:
    """P-value of the exact sign test of `k` negative shifts among `n` that are not 0 (``less``); NaN for n = 0."""
    if not n:
        return math.nan
    at_least, at_most = float(bdtr(n - k, n, 0.5)), float(bdtr(k, n, 0.5))
    return {"less": at_least, "greater": at_most, "two-sided": min(1.0, 2 * min(at_least, at_most))}[alternative]


def cohen_d(before: ArrayLike, after: ArrayLike, *, d: D = "pooled", ddof: int = 1) -> float:
    """Cohen's d of two samples: `after` minus `before` in standard deviations (divisor n - ddof), NaN without spread.

    Divided by the ``pooled`` sd, the root of the mean variance (``average``), or the sd of the ``paired`` differences:
    for paired data that is ``average`` divided by about √(2(1 - r)). consensus_illusion paper, Sections 2.1 and 3.2,
    prints d without a formula.
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
