"""Shifts of agreement between two conditions: :func:`agreement_shift`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.clustering import Cluster
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.proportions import quotient
from judgestats.metrics.agreement.block_correlations import (
    Method,
    correlation_change,
    from_draws,
    item_bootstrap,
    mean_correlation,
    mean_defined,
)
from judgestats.metrics.agreement.judge_correlations import Pairs
from judgestats.metrics.agreement.matched_conditions import (
    MatchedCorrelations,
    matched_correlations,
    shift_method,
    two_sides,
)
from judgestats.metrics.agreement.rating_blocks import Unit
from judgestats.metrics.agreement.shift_heterogeneity import PAIR, subgroup_of_units, subgroup_rows
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term
from judgestats.metrics.requirements import against_control, control_of
from judgestats.results import COLUMNS, estimates
from judgestats.schema.columns import By, grouping, names
from judgestats.typing import Floats, Record

_INTERVAL = ("std_error", "conf_low", "conf_high")


def _shift_from_control(data: IntoFrame, options: MeasureOptions) -> pd.DataFrame:
    return against_control(data, options, "condition", lambda *pair: options.call(agreement_shift, data, pair))


@Measure(
    "How far does another way of judging shift agreement, and is the shift the same in all subgroups (`across=`)?",
    "agreement",
    "R, table",
    "MOVER of t on Fisher's z, from a bootstrap, paired where items are shared; Cochran's Q",
    "consensus_illusion, Eq 1, Table 3, Sec 3.1, 3.3, 3.4",
    plot="agreement_shift",
    frames=("ratings",),
    needs=(control_of("condition"),),
    take=_shift_from_control,
    caption="Mean correlation of the judges before and after. A fall suggests that they shared superficial criteria.",
    terms=(Term("shift", "shift of the mean correlation", neutral=0.0, form="score"),),
    have=("judges", "conditions"),
    assumes="The conditions differ in the way of judging only; paired where they share items.",
)
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
        Further grouping columns. The paper's are ``system``, ``domain``, ``language`` and ``temperature``.
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
        As in :func:`correlation`.

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
    counts there, and is flagged. Without a common item the sides are drawn independently; see ``method``. The interval
    squares and adds the distances to the limits of both correlations, with the correlation of their draws (MOVER).

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
    0.6225; subgroups: Sections 3.1 and 3.4 (it prints p < 0.01 and p < 0.05 without a statistic). Zou, G. Y. (2007).
    Psychological Methods 12, 399-413 (MOVER).

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
        table, labels = printed_correlations(before, by)
        rows: list[Record] = []
        for record in table.to_dict("records"):
            shift_cells = _moved(record["before"], record["after"], flag_at, relative)
            empty = flags.NO_DATA if math.isnan(record["after"] - record["before"]) else ""
            rows.append(
                {**{c: record[c] for c in labels}, **shift_cells, "flag": flags.join(empty, shift_cells["flag"])}
            )
        return estimates(rows, labels, ["before", "after", "relative"], sort=False)
    columns = [] if split == [PAIR] else split
    data = two_sides(before, after, condition, by, [*names(cell), *columns], cluster, unit, average_over)
    plan = item_bootstrap(data.cluster, n_resamples, seed, conf_level)
    rows = []
    if split:
        for block in data.blocks:
            subgroup = subgroup_of_units(block, columns) if columns else None
            if subgroup is not None:  # no unit is in two subgroups
                block = replace(block, strata=subgroup * 2 + (0 if block.strata is None else block.strata))
            both = matched_correlations(block, method, plan)
            flag = flags.join(both.exclusions(plan.cluster[0]), data.flag)
            rows += [{**row, "flag": flags.join(row["flag"], flag)} for row in subgroup_rows(both, columns, plan)]
        return estimates(rows, [*data.groups, "subgroup", "other"], ["df", "p_value"], sort=False)
    for block in data.blocks:
        rows += _shift_rows(matched_correlations(block, method, plan), pairs, flag_at, plan, relative)
    for row in rows:
        row |= {"unit": unit, "flag": flags.join(row["flag"], data.flag)}
    columns = [*data.groups, *(["judge", "other"] if pairs == "each" else [])]
    extra = ["before", "after", "relative", "correlations", "unit"]
    return estimates(rows, columns, extra)


def _shift_rows(
    data: MatchedCorrelations, pairs: Pairs, flag_at: float, plan: Bootstrap, relative: bool
) -> list[Record]:
    if pairs == "each":
        codes = np.stack(data.block.sides, axis=-1)
        chosen = [({"judge": a, "other": b}, slice(p, p + 1), codes[p]) for p, (a, b) in enumerate(data.block.pairs)]
    else:
        chosen = [({}, slice(None), slice(None))]
    rows = []
    for label, p, judges in chosen:
        value = mean_defined(mean_defined(data.r[..., p]))
        draws = mean_defined(mean_defined(data.draws[..., p]))
        shift_cells = _moved(value[0], value[1], flag_at, relative)
        if relative:
            cells = _relative_cells(value, draws, data.sizes(judges=judges)[0], plan)
        else:
            cells = correlation_change(value, draws, data.sizes(judges=judges), plan)
        used = int((~np.isnan(data.r[0][:, p])).sum())
        size = flags.SMALL_N if data.block.n_units < 30 else ""
        excluded = data.exclusions(plan.cluster[0], p)
        flag = flags.join(flags.NO_DATA if not used else "", shift_cells["flag"], excluded, size, cells["flag"])
        row = {**data.block.key, **label, **shift_cells, **cells, "n": data.block.n_units, "correlations": used}
        rows.append({**row, "method": shift_method(data.paired, cells["method"]), "flag": flag})
    return rows


def _relative_cells(value: Floats, draws: Floats, sizes: Floats, plan: Bootstrap) -> Record:
    """Shift divided by the agreement before; no interval where the interval of that agreement includes 0."""
    ratios = quotient(draws[:, 1], draws[:, 0]) - 1
    cells = from_draws(float(quotient(value[1], value[0]) - 1), ratios, sizes[sizes > 0], plan)
    if not value[0] > 0:
        return cells | dict.fromkeys(("estimate", *_INTERVAL), math.nan) | {"flag": ""}
    if not mean_correlation(float(value[0]), draws[:, 0], sizes, plan)["conf_low"] > 0:
        return cells | dict.fromkeys(_INTERVAL, math.nan) | {"flag": flags.UNBOUNDED}
    return cells


def _moved(before: float, after: float, flag_at: float, relative: bool) -> Record:
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


def printed_correlations(table: IntoFrame, by: By = ()) -> tuple[pd.DataFrame, list[str]]:
    """A table of known correlations with the columns ``before`` and ``after``, and the names of its other columns."""
    frame = Study.of(table).data.lazy().collect(backend="pandas").to_native()
    columns = {new: next((c for c in old if c in frame.columns), None) for new, old in NAMES.items()}
    if missing := [f"{new} (or {', '.join(NAMES[new][1:])})" for new, old in columns.items() if old is None]:
        raise SchemaError(
            f"A table of correlations before and after lacks {' and '.join(missing)}. Columns: "
            f"{', '.join(map(str, frame.columns))}. Give these columns, or ratings of both sides."
        )
    frame = frame.rename(columns={old: new for new, old in columns.items()})
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
