"""Criteria -> one score: :func:`composite`; indicators of an item -> one known value: :func:`weighted_index`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.arguments import checked_arguments
from judgestats.counting.cells import score_counts
from judgestats.counting.study import Study
from judgestats.errors import DesignError, SchemaError, refuse_unknown, suggestion
from judgestats.schema.coding import Codes, as_scores, as_text, codes_of, column_codes, joint, refuse_infinite
from judgestats.schema.columns import RATINGS, By, answer_column, grouping, key_columns, kind_of, names
from judgestats.schema.opening import engine_errors, narwhals_frame
from judgestats.typing import Floats, Ints, Mask
from judgestats.verdicts.call_groups import CallGroups, in_order, refuse_repeats
from judgestats.verdicts.native_frames import to_native, to_table

Scale = Literal["as given", "z", "minmax", "rank"]
Missing = Literal["drop", "renormalise", "refuse"]
Weights = Mapping[str, float] | IntoFrame | None
#: Criteria that are overall scores, not parts of one where there are other criteria.
WHOLES = ("final", "overall")
#: Columns of a rating that a composite does not have.
_OF_THE_CALL = ("criterion", "score", "mean", "sd", "status", "rationale", "n", "n_calls", "n_criteria")


@dataclass(frozen=True)
class CompositePlan:
    """Which criteria make a composite, with what weight: a row each in `table`, with the columns of `keys`.

    `keys`: columns of the ratings that the weights depend on, if any. `codes`: rows of `table`, numbered by `keys`.
    """

    table: pd.DataFrame
    keys: list[str]
    codes: Codes

    @property
    def weight(self) -> Floats:
        """Weight of each row."""
        return np.asarray(self.table["weight"], dtype=float)


@checked_arguments
@engine_errors
def composite(
    ratings: IntoFrame,
    weights: Mapping[str, float] | IntoFrame | None = None,
    *,
    name: str = "composite",
    missing: Missing = "drop",
    criteria: Sequence[str] | None = None,
    by: By = (),
) -> Any:
    """Turn the criteria of each thing rated into one score: their mean, or a weighted mean.

    Parameters
    ----------
    ratings : frame
        Ratings in any engine Narwhals accepts, raw (``score``) or averaged over runs (``mean``), with ``criterion``.
    weights : mapping or frame, optional
        None: the plain mean. A mapping of criterion to weight. A frame with ``criterion``, ``weight`` and columns of
        the ratings that the weights depend on: with ``item`` (and ``judge``) every item has its own rubric; other
        columns are not read. Weights need not sum to 1: they are divided by their sum. Every criterion that is rated
        needs one; 0 leaves it out.
    name : str
        ``criterion`` of the result.
    missing : {'drop', 'renormalise', 'refuse'}
        What becomes of a thing that lacks a criterion: no score; the weighted mean of the criteria it has, the weights
        divided by their sum; an error.
    criteria : sequence of str, optional
        The parts. By default all criteria but ``final`` and ``overall``, which hold a whole, and those too where they
        have a weight, or where there is nothing else.
    by : str or sequence of str
        Columns that distinguish scores, besides the key columns of ratings.

    Returns
    -------
    frame
        Of the kind given (pandas for an engine without eager frames), sorted: one row per judge, system, item,
        replicate and condition, with ``score`` (or ``mean``), ``status`` (``ok``; else the status of a criterion
        without a score, or ``missing partner`` where a row is absent) and ``n_criteria``, the scores of weight above 0
        that there are. Other columns with one value within each row stay, ``runs`` among them. Left behind: ``sd``
        (that of a composite depends on how the criteria vary together), ``rationale``, ``n_calls``.

    Raises
    ------
    SchemaError
        If there is no ``criterion``, or `weights` cannot be read.
    DesignError
        If an option, a criterion or a weight is not known or cannot be (negative, all 0), if scores repeat each other,
        or if nothing rated has all its criteria.

    See Also
    --------
    aggregate : Several calls to one verdict.
    compare_scores : Scores to verdicts.

    Notes
    -----
    Without `weights`, a thing should have every criterion that its judge scores anywhere under the same condition.
    Where rubrics differ between items, give a frame of weights, which says what each item's rubric is.

    A mean over runs of composites is the composite of the means over runs, where no score is missing.

    References
    ----------
    The consensus_illusion paper, Sec 2.2 (mean over the dimensions) and App A (weighted mean); the merchant_risk paper,
    Sec 3.1.

    Examples
    --------
    >>> scores = pd.DataFrame({"judge": "g", "system": "s", "item": ["1", "1", "2", "2"],
    ...                        "criterion": ["style", "truth"] * 2, "score": [8.0, 4.0, 6.0, None]})
    >>> composite(scores, {"style": 1, "truth": 3})
      judge system item  criterion  score status  n_criteria
    0     g      s    1  composite    5.0     ok           2
    1     g      s    2  composite    NaN  parse           1

    Each item with its own rubric:

    >>> rubric = pd.DataFrame({"item": ["1", "1", "2"], "criterion": ["style", "truth", "style"], "weight": [1, 1, 1]})
    >>> composite(scores.dropna(), rubric)["score"].tolist()
    [6.0, 6.0]
    """
    table = to_table(as_scores(Study.of(ratings).data).to_native())
    if kind_of(table.columns) != "ratings" or "criterion" not in table.columns:
        raise SchemaError(f"composite() needs ratings with a column 'criterion'. Columns: {', '.join(table.columns)}.")
    if answer_column(table.columns) == "answer":
        raise DesignError(
            "composite() combines scores, and the verdicts are classes, which have no mean. Measure each criterion by "
            "itself (by='criterion'); classes in order become scores where you number them."
        )
    if not len(table):
        raise SchemaError("The ratings frame has no rows to combine. Give at least one score.")
    apart = grouping(by, table.columns)
    if wrong := [c for c in names(apart) if c in _OF_THE_CALL]:
        raise DesignError(
            f"by={wrong[0]!r} is combined, or is an answer, so it cannot distinguish composites. Name another column."
        )
    score_counts(nw.from_native(table), "score" if "score" in table.columns else "mean", names(apart))
    unit = [c for c in dict.fromkeys([*key_columns("ratings", table.columns), *apart]) if c != "criterion"]
    groups = CallGroups.of(table, unit, ["criterion"], apart)
    codes = groups.codes
    refuse_repeats(table, groups, [column_codes(table["criterion"])], ["criterion"])
    parts = _parts(table, weights, criteria)
    protocol = [c for c in table.columns if c in unit and c not in ("system", "item", "replicate", "domain", "tier")]
    plan = _plan(table[parts], weights, protocol, unit, criteria)
    score = "score" if "score" in table.columns else "mean"
    number = pd.to_numeric(table[score], errors="coerce")
    if (text := number.isna() & table[score].notna()).any():
        raise SchemaError(f"{score!r} is not a number: {table.loc[text, score].iloc[0]!r} in {text.sum():,} rows.")
    value = number.to_numpy(dtype=float, na_value=np.nan)
    refuse_infinite(score, int(np.isinf(value).sum()))
    weight = _row_weights(table, parts, plan)
    scored = (weight > 0) & ~np.isnan(value)
    present = np.bincount(codes.code[scored], minlength=codes.size)
    incomplete = _incomplete(groups, present, plan, missing)
    total = np.bincount(codes.code[scored], weights=(weight * value)[scored], minlength=codes.size)
    with np.errstate(invalid="ignore"):
        mean = total / np.bincount(codes.code[scored], weights=weight[scored], minlength=codes.size)
    result = groups.carried(_OF_THE_CALL)
    result[score] = np.where(incomplete, np.nan, mean)
    status = groups.first_status((weight > 0) & np.isnan(value))
    result["status"] = np.where(incomplete, status, "ok")
    result = result.assign(criterion=name, n_criteria=present.astype(np.int64))
    return to_native(in_order(result, RATINGS, ["n_criteria"], key_columns("ratings", result.columns)), ratings)


def _parts(table: pd.DataFrame, weights: Weights, criteria: Sequence[str] | None) -> Mask:
    """Rows whose criterion is part of the composite."""
    label = table["criterion"]
    rated = list(pd.unique(label))
    if criteria is not None:
        if not (wanted := list(dict.fromkeys(names(criteria)))):
            raise DesignError("criteria= is empty. Name the criteria that make the composite, or leave it out.")
        _refuse_unknown(wanted, rated, "criteria")
    else:
        weighted = [] if weights is None else list(pd.unique(_weight_table(weights)["criterion"].astype(object)))
        wanted = [c for c in rated if c not in WHOLES or c in weighted] or rated
    return np.asarray(label.isin(wanted), dtype=bool)


def _refuse_unknown(wanted: Sequence[str], rated: Sequence[str], argument: str) -> None:
    unknown = [f"{c!r} is not a criterion of the ratings.{suggestion(str(c), rated)}" for c in wanted if c not in rated]
    if unknown:
        listed = ", ".join(sorted(map(str, rated)))
        raise DesignError(f"{argument}=: {' '.join(unknown)} Criteria: {listed}.")


def _weight_table(weights: Mapping[str, float] | IntoFrame) -> pd.DataFrame:
    if isinstance(weights, Mapping):
        return pd.DataFrame({"criterion": list(weights), "weight": list(weights.values())})
    try:
        table = to_table(weights)
    except SchemaError:
        got = type(weights).__name__
        raise SchemaError(
            f"weights= is a {got}. Give a mapping of criterion to weight, or a frame with criterion and weight."
        ) from None
    if lacking := [c for c in ("criterion", "weight") if c not in table.columns]:
        hints = "".join(suggestion(c, table.columns) for c in lacking)
        raise SchemaError(f"weights= lacks {', '.join(lacking)}. Columns: {', '.join(table.columns)}.{hints}")
    return table


def _plan(
    parts: pd.DataFrame, weights: Weights, protocol: list[str], unit: list[str], criteria: Sequence[str] | None
) -> CompositePlan:
    if weights is None:
        first = codes_of(parts, [*protocol, "criterion"]).first
        table = parts[[*protocol, "criterion"]].iloc[first].reset_index(drop=True).assign(weight=1.0)
        if criteria is not None:  # the same for all judges and items
            table = pd.DataFrame({"criterion": list(dict.fromkeys(names(criteria))), "weight": 1.0})
        keys = [c for c in protocol if c in table.columns]
        return CompositePlan(table, keys, codes_of(table, keys))
    table = _weight_table(weights)
    keys = [c for c in unit if c in table.columns]
    if criteria is not None:
        table = table[table["criterion"].isin(names(criteria))]
    if not keys:  # a criterion of one item's rubric that nobody scored is missing, not unknown
        rated, weighted = (list(pd.unique(t["criterion"].astype(object))) for t in (parts, table))
        _refuse_unknown(weighted, rated, "weights")
    table = table[[*keys, "criterion", "weight"]].reset_index(drop=True)
    table["weight"] = pd.to_numeric(table["weight"], errors="coerce").astype(float)
    plan = CompositePlan(table, keys, codes_of(table, keys))
    weight = plan.weight
    if (wrong := ~(np.isfinite(weight) & (weight >= 0))).any():
        where = _place(plan.table, int(np.flatnonzero(wrong)[0]), [*plan.keys, "criterion"])
        raise DesignError(f"A weight is missing, negative or not a number ({where}). Allowed: 0 and above.")
    if (twice := plan.table.duplicated([*plan.keys, "criterion"])).any():
        where = _place(plan.table, int(np.flatnonzero(twice)[0]), [*plan.keys, "criterion"])
        raise DesignError(
            f"weights= has several weights of one criterion ({where}). Columns of the ratings that distinguish "
            "them must have the same name in both."
        )
    total = np.bincount(plan.codes.code, weights=weight, minlength=plan.codes.size)
    if (total == 0).any() or not total.size:
        row = plan.codes.first[np.flatnonzero(total == 0)[0]] if total.size else -1
        where = f" of {_place(plan.table, int(row), plan.keys)}" if plan.keys and total.size else ""
        raise DesignError(f"The weights{where} are all 0, or there are none. Give at least one weight above 0.")
    return plan


def _place(table: pd.DataFrame, row: int, columns: Sequence[str]) -> str:
    return ", ".join(f"{c}={table[c].iloc[row]}" for c in columns)


def _rows_of(plan: pd.DataFrame, table: pd.DataFrame, keys: Sequence[str]) -> Ints:
    """Row of `plan` with the same values as each row of `table`, -1 for none."""
    plan_codes, table_codes, planned = [], [], np.ones(len(table), dtype=bool)
    for name in keys:
        (code, labels), (its_code, its_labels) = _text_codes(plan[name]), _text_codes(table[name])
        place = labels.get_indexer(its_labels)[its_code]
        planned &= place >= 0
        plan_codes.append((code, len(labels)))
        table_codes.append((np.maximum(place, 0), len(labels)))
    rows = pd.Index(joint(plan_codes, len(plan))[0]).get_indexer(pd.Index(joint(table_codes, len(table))[0]))
    return np.where(planned, rows, -1).astype(np.int64)


def _text_codes(values: pd.Series) -> tuple[Ints, pd.Index]:
    """Code of each value and the labels as text, so that item 7 and 7.0 are item '7'; missing values are one label."""
    code, labels = pd.factorize(values, use_na_sentinel=False)
    number, text = pd.factorize(as_text(pd.Series(labels)).fillna("\0missing").astype(object))
    return number[code], pd.Index(text)


def _row_weights(table: pd.DataFrame, parts: Mask, plan: CompositePlan) -> Floats:
    """Weight of each row, 0 for rows that are not part of the composite."""
    place = np.full(len(table), -1)
    place[parts] = _rows_of(plan.table, table[parts], [*plan.keys, "criterion"])
    without = parts & (place < 0)
    if without.any():
        where = _place(table, int(np.flatnonzero(without)[0]), [*plan.keys, "criterion"])
        listed = ", ".join(sorted(set(plan.table["criterion"].astype(str))))
        raise DesignError(
            f"weights= has no weight for {int(without.sum()):,} scores (first: {where}). Weighted: {listed}. Give such "
            "a criterion a weight, 0 to leave it out, or name the parts in criteria=."
        )
    return np.asarray(np.append(plan.weight, 0.0)[place])


def _incomplete(groups: CallGroups, present: Ints, plan: CompositePlan, missing: Missing) -> Mask:
    """(G,) rated responses that get no score, with `present` of their criteria."""
    table, codes = groups.table, groups.codes
    incomplete = present < _expected(table.iloc[codes.first], plan)
    if missing == "refuse" and incomplete.any():
        where = _place(table, int(codes.first[np.flatnonzero(incomplete)[0]]), groups.unit)
        raise DesignError(
            f"{int(incomplete.sum()):,} of {codes.size:,} responses lack a criterion (first: {where}). "
            "missing='renormalise' uses the criteria present, missing='drop' excludes the response."
        )
    if missing == "renormalise":
        return np.asarray(present == 0)
    if incomplete.all() and present.any():
        raise DesignError(
            "No response has all its criteria. If rubrics differ between items, pass weights= as a frame with "
            "'item', 'criterion' and 'weight'; or use the criteria present, with missing='renormalise'."
        )
    return np.asarray(incomplete)


def _expected(things: pd.DataFrame, plan: CompositePlan) -> Ints:
    """(G,) number of criteria that count for each response, at least 1."""
    counts = np.bincount(plan.codes.code[plan.weight > 0], minlength=plan.codes.size)
    if not plan.keys:
        return np.full(len(things), int(counts.sum()))
    row = _rows_of(plan.table.iloc[plan.codes.first], things, plan.keys)
    return np.asarray(np.maximum(np.append(counts, 0)[row], 1))  # 1 where the plan has no row for it


@checked_arguments
@engine_errors
def weighted_index(
    table: IntoFrame, weights: Mapping[str, float], *, scale: Scale, name: str = "value", by: By = ()
) -> pd.DataFrame:
    """Weighted mean of indicators, as the known value of each item: an empirical risk score, say.

    Parameters
    ----------
    table : frame
        One row per item, with a column of numbers for each indicator, in which more always means more of the same
        (risk rates by count and by amount, say).
    weights : mapping of str to float
        Indicator -> weight, not negative; they are divided by their sum.
    scale : {'as given', 'z', 'minmax', 'rank'}
        How indicators are made comparable before they are averaged: not at all (they have one unit); less the mean,
        over the standard deviation (divisor n - 1); from 0 to 1 over the range; or ranks over n, ties averaged. There
        is no default, because the order of the items may depend on it.
    name : str
        Column of the result.
    by : str or sequence of str
        Columns within whose values indicators are scaled (a year, say).

    Returns
    -------
    pandas.DataFrame
        The table without the indicators, with the column `name`; NaN where an item lacks an indicator of weight above
        0. It is what ``truth=`` of :func:`rank_correlation` and :func:`level_progression` take.

    Raises
    ------
    SchemaError
        If a column is missing or holds text.
    DesignError
        If a weight is negative, all are 0, or an indicator is constant and cannot be scaled.

    See Also
    --------
    composite : Several criteria to one score.
    level_progression : Known values at each level.

    Notes
    -----
    The merchant_risk paper, Section 5.1: a weighted average of fraud, chargeback and reliability indicators, by count
    and by amount. Its weights, its scaling and the values are not printed.

    Examples
    --------
    >>> rates = pd.DataFrame({"item": ["5411", "5967"], "fraud_count": [0.1, 0.5], "fraud_amount": [0.2, 0.9]})
    >>> weighted_index(rates, {"fraud_count": 1, "fraud_amount": 3}, scale="as given")
       item  value
    0  5411  0.175
    1  5967  0.800
    """
    data = narwhals_frame(table).lazy().collect(backend="pandas").to_native()
    for indicator in weights:
        refuse_unknown(indicator, data.columns, f"{indicator!r} is no column", "Columns", error=SchemaError)
    weight = np.array([float(w) for w in weights.values()])
    if not len(weight) or not np.isfinite(weight).all() or (weight < 0).any() or not weight.sum() > 0:
        raise DesignError(f"weights={dict(weights)} must be numbers, not negative, and not all 0.")
    groups = grouping(by, data.columns, "table")
    used = [c for c, w in zip(weights, weight, strict=True) if w > 0]
    total = np.zeros(len(data))
    for column, w in zip(used, weight[weight > 0], strict=True):
        try:
            value = pd.to_numeric(data[column]).astype(float)
        except (ValueError, TypeError):
            raise SchemaError(f"{column!r} holds text where a number belongs.") from None
        refuse_infinite(column, int(np.isinf(value).sum()))
        apart = value.groupby([data[g] for g in groups], dropna=False) if groups else value.groupby(np.zeros(len(data)))
        spread = apart.transform("max") - apart.transform("min")
        if scale in ("z", "minmax") and (spread == 0).any():
            raise DesignError(f"{column!r} is constant, so scale={scale!r} is not defined. Leave it out.")
        if scale == "z":
            value = (value - apart.transform("mean")) / apart.transform("std")
        elif scale == "minmax":
            value = (value - apart.transform("min")) / spread
        elif scale == "rank":
            value = apart.rank() / apart.transform("count")
        total = total + w * value.to_numpy()
    return data.drop(columns=list(weights)).assign(**{name: total / weight.sum()})
