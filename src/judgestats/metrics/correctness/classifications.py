"""Verdicts as classes beside the right ones: :func:`classification` and :func:`confusion`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import size_flag
from judgestats.counting.patterns import InvalidVerdict
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError
from judgestats.estimate import ON_LOG, ON_LOGIT, Estimate, clustered_difference, difference, jackknifed, student
from judgestats.kernels.proportions import AS_IT_IS, Scale, clustered_sum, newcombe, quotient
from judgestats.metrics.correctness.class_counts import (
    ClassCounts,
    People,
    Units,
    class_counts,
    lost,
    paired_counts,
    units_of,
)
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term, column_names
from judgestats.metrics.references import Humans
from judgestats.metrics.requirements import gold_column
from judgestats.results import estimates
from judgestats.schema.columns import By, answer_column, names
from judgestats.typing import Floats, Mask, Record
from judgestats.wording import Method

#: Sums (..., 4) of true positives, false positives, false negatives and true negatives -> statistic (...,).
Statistic = Callable[[Floats], Floats]


def _mcc(sums: Floats) -> Floats:
    tp, fp, fn, tn = np.moveaxis(sums, -1, 0)
    below = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return quotient(tp * tn - fp * fn, below, below > 0)


def _ratio_positive(sums: Floats) -> Floats:
    tp, fp, fn, tn = np.moveaxis(sums, -1, 0)
    return _safe(tp * (fp + tn), fp * (tp + fn))


def _ratio_negative(sums: Floats) -> Floats:
    tp, fp, fn, tn = np.moveaxis(sums, -1, 0)
    return _safe(fn * (fp + tn), tn * (tp + fn))


def _odds_ratio(sums: Floats) -> Floats:
    tp, fp, fn, tn = np.moveaxis(sums, -1, 0)
    return _safe(tp * tn, fp * fn)


def _safe(top: Floats, bottom: Floats) -> Floats:
    """Ratios, NaN where numerator or denominator is 0: the logarithm then has no interval."""
    return quotient(top, bottom, (top > 0) & (bottom > 0))


_LOG: Scale = (ON_LOG.to, ON_LOG.slope)
_LOGIT: Scale = (ON_LOGIT.to, ON_LOGIT.slope)
_F1: Scale = (lambda p: 2 * p / (1 + p), lambda p: 2 / (1 + p) ** 2)


class _Ratio(NamedTuple):
    """A ratio of shares, or odds, among cases of the class to that among other cases."""

    statistic: Statistic
    variance: Callable[[Floats], float]  # of its logarithm, from the cells tp, fp, fn and tn
    cells: list[int]  # those that are counted on either side
    scale: Scale


_RATIOS: dict[str, _Ratio] = {
    "likelihood_ratio_positive": _Ratio(
        _ratio_positive, lambda c: 1 / c[0] - 1 / (c[0] + c[2]) + 1 / c[1] - 1 / (c[1] + c[3]), [0, 1], _LOG
    ),
    "likelihood_ratio_negative": _Ratio(
        _ratio_negative, lambda c: 1 / c[2] - 1 / (c[0] + c[2]) + 1 / c[3] - 1 / (c[1] + c[3]), [2, 3], _LOG
    ),
    "diagnostic_odds_ratio": _Ratio(_odds_ratio, lambda c: float((1 / c).sum()), [0, 1], _LOGIT),
}


def _class_shares(tables: Floats, kind: str) -> tuple[Floats, Floats]:
    """Precision, sensitivity or F1 of each class (..., K) of tables (..., K, K) answer x reference; and its support."""
    right = np.diagonal(tables, axis1=-2, axis2=-1)
    answered, support = tables.sum(axis=-1), tables.sum(axis=-2)
    below = {"precision": answered, "sensitivity": support, "f1": (answered + support) / 2}[kind]
    return quotient(right, below, below > 0), support


def _average(kind: str, weighted: bool) -> Statistic:
    """Mean over the classes that have the share, by their support if weighted."""

    def mean(flat: Floats) -> Floats:
        classes = math.isqrt(flat.shape[-1])
        shares, support = _class_shares(flat.reshape(*flat.shape[:-1], classes, classes), kind)
        weight = np.where(np.isfinite(shares), support if weighted else 1.0, 0.0)
        total = weight.sum(axis=-1)
        return quotient((np.where(np.isfinite(shares), shares, 0.0) * weight).sum(axis=-1), total, total > 0)

    return mean


def _mcc_of_all(flat: Floats) -> Floats:
    """Matthews correlation of several classes (Gorodkin 2004)."""
    classes = math.isqrt(flat.shape[-1])
    tables = flat.reshape(*flat.shape[:-1], classes, classes)
    n, right = flat.sum(axis=-1), np.trace(tables, axis1=-2, axis2=-1)
    answered, support = tables.sum(axis=-1), tables.sum(axis=-2)
    below = np.sqrt((n**2 - (answered**2).sum(axis=-1)) * (n**2 - (support**2).sum(axis=-1)))
    return quotient(right * n - (answered * support).sum(axis=-1), below, below > 0)


def _classes(data: IntoFrame, _: MeasureOptions) -> str:
    """Requires verdicts that are classes."""
    return "" if answer_column(column_names(data)) == "answer" else "needs verdicts that are classes, in 'answer'"


#: Weights of a difference.
_DIFFERENCE = np.array([1.0, -1.0])
_TERMS = (
    Term(
        "sensitivity",
        "sensitivity (recall)",
        "call",
        "valid calls of the class",
        "lower",
        "Of what is of the class, the share that the judge says is.",
    ),
    Term(
        "specificity",
        "",
        "call",
        "valid calls of other classes",
        "lower",
        "Of what is not of the class, the share that the judge says is not.",
    ),
    Term("precision", "precision (positive predictive value)"),
    Term("prevalence", "share of the class"),
    Term("answered", "share of answers"),
    Term("f1", "F1", form="score"),
    Term("balanced_accuracy", form="share"),
    Term("mcc", "MCC (Matthews)", neutral=0.0),
    Term("informedness", "informedness (Youden)", neutral=0.0, form="score"),
    Term("likelihood_ratio_positive", "positive likelihood ratio", neutral=1.0),
    Term("likelihood_ratio_negative", "negative likelihood ratio", neutral=1.0),
    Term("diagnostic_odds_ratio", neutral=1.0),
    Term("accuracy_difference", neutral=0.0),
    Term("sensitivity_difference", neutral=0.0),
    Term("specificity_difference", neutral=0.0),
)


@Measure(
    "Which classes does the judge miss, and which does it raise falsely?",
    "accuracy",
    "P, R, counts",
    "Wilson, clustered; MOVER; t, jackknife; ratios: on logarithms",
    "Matthews 1975; Gorodkin 2004; Youden 1950",
    frames=("ratings",),
    needs=(_classes, gold_column),
    counted_as="kappa",
    table=("accuracy", "sensitivity", "specificity", "precision", "f1"),
    terms=_TERMS,
    classes=True,
    have=("gold",),
    assumes="The labels are right: errors in them count as errors of the judge; items are independent.",
)
def classification(
    data: IntoFrame,
    *,
    humans: Humans | None = None,
    gold: str | None = None,
    positive: object = None,
    people: People = "majority",
    baseline: str | None = None,
    invalid: InvalidVerdict = "drop",
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Sensitivity, specificity, precision and their kin of each judge, for each class and over all.

    Parameters
    ----------
    data : frame
        Ratings whose verdicts are classes (``answer``), yes or no (``correct``), or a few different scores; or
        preferences, whose classes are the slots ``first``, ``second`` and ``tie``. Or a tally: ``judge, other, answer,
        other_answer, n``, the answer of the judge and the right one (a printed confusion table, say).
    humans : str, sequence of str, or mapping, optional
        People, whose answers are the reference, as in :func:`judge_against_people`.
    gold : str, optional
        The right answers: a column, or a judge whose answers count as right. By default the column ``gold`` if there is
        one, else the people whom a column ``rater_type`` names.
    positive : class, optional
        The class that is to be detected: only its rows are returned, beside those over all classes. By default each
        class has rows, so that nothing is taken as positive without being asked for.
    people : {'majority', 'each'}
        With several people: the class that most of them gave, where one is most frequent (even votes are no label, and
        counted in the flag); or each of them in turn, pooled, with intervals clustered by item. ``other`` says which.
    baseline : str, optional
        A judge: the differences of the other judges' accuracy, sensitivity and specificity from its own, on what both
        judged.
    invalid : {'drop', 'wrong'}
        An invalid or missing verdict is left out, or a class ``invalid`` of its own, which is never right.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per ``judge`` and ``other`` (the reference). Where ``class`` is set, of this class against all others:
        ``sensitivity``, ``specificity``, ``precision``, ``negative_predictive_value``, ``prevalence`` (share in the
        reference), ``answered`` (share in the judge's answers), ``f1``, ``balanced_accuracy``, ``informedness``
        (sensitivity + specificity - 1), ``mcc``, the two likelihood ratios and ``diagnostic_odds_ratio``. With
        ``class`` empty, over all classes: ``accuracy`` (which is also the micro average of precision, sensitivity and
        F1), ``mcc``, and ``macro_`` and ``weighted_`` averages of ``precision``, ``sensitivity`` and ``f1``, over the
        classes that have them, weighted by their numbers in the reference; the flag says what they are if a class
        without one counts as 0, as in scikit-learn. ``macro_sensitivity`` is scikit-learn's balanced accuracy
        (``balanced_accuracy_score``) of several classes. NaN, flagged, where a class does not occur
        on the side that is divided by, and for ratios with an empty cell. With `baseline` also
        ``accuracy_difference``, and of each class ``sensitivity_difference`` and ``specificity_difference``.

    Raises
    ------
    DesignError
        If nothing says what is right, `positive` is no class, `baseline` no judge, or there are more than 50 different
        answers.
    SchemaError
        If a column is missing or contains invalid values.

    See Also
    --------
    confusion : The table of both classes.
    roc : The same for scores.
    kappa : Agreement beyond chance.
    corrected_rate : The rate of a class, corrected for these errors.

    Notes
    -----
    Shares have Wilson's interval, by cluster with the effective number of calls. F1 is 2J / (1 + J) of the share J of
    true positives among all that are of the class or said to be, and has the interval of J. Informedness: Newcombe's
    interval of a difference; balanced accuracy is (1 + informedness) / 2. By cluster these, ratios (on the logarithm,
    without clusters by the delta method) and macro averages are composed of clustered Wilson intervals (MOVER). MCC and
    weighted averages: t, from the jackknife of clusters, or of calls. Differences: Newcombe's paired interval, by
    cluster Tango's, the interval of McNemar's test, with the effective number of calls.

    References
    ----------
    Matthews, B. W. (1975). Biochimica et Biophysica Acta 405, 442-451. Gorodkin, J. (2004). Computational Biology and
    Chemistry 28, 367-374. Youden, W. J. (1950). Cancer 3, 32-35. Simel, D. L., Samsa, G. P., Matchar, D. B. (1991).
    Journal of Clinical Epidemiology 44, 763-770.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"judge": "g", "other": "gold", "answer": ["safe", "safe", "unsafe", "unsafe"],
    ...                       "other_answer": ["safe", "unsafe", "safe", "unsafe"], "n": [70, 10, 4, 16]})
    >>> of_unsafe = classification(table, positive="unsafe")
    >>> of_unsafe = of_unsafe[of_unsafe["term"].isin(["accuracy", "sensitivity", "specificity", "precision"])]
    >>> of_unsafe[["class", "term", "estimate", "conf_low", "conf_high"]].round(3)
         class         term  estimate  conf_low  conf_high
    0              accuracy     0.860     0.779      0.915
    8   unsafe  sensitivity     0.615     0.425      0.776
    9   unsafe  specificity     0.946     0.869      0.979
    10  unsafe    precision     0.800     0.584      0.919
    """
    counts = class_counts(data, humans, gold, people, invalid, by, cluster, conf_level)
    rows = [row for c in counts.chosen(positive) for row in _class_rows(counts, c)]
    rows += _rows_over_all(counts)
    if baseline is not None:
        if people == "each":
            raise DesignError("baseline= compares two judges with one reference. Leave people='each' out.")
        paired = paired_counts(data, baseline, humans, gold, invalid, by, cluster, conf_level)
        rows += difference_rows(paired, [None, *paired.chosen(positive)])
    order = {name: i for i, name in enumerate(["", *counts.classes])}
    rows.sort(key=lambda row: order[row["class"]])
    return estimates(rows, [*dict.fromkeys(names(by)), "judge", "other"], ("class",))


@Measure(
    "Which class does the judge take for which?",
    "accuracy",
    "P, R, counts",
    "Wilson, clustered",
    "ours",
    plot="confusion",
    frames=("ratings",),
    needs=(_classes, gold_column),
    caption="How often each class is answered where each class is right; the right answers are framed.",
    counted_as="kappa",
    terms=(Term("confusion", "share of answers, by right class"),),
    classes=True,
    have=("gold",),
    assumes="The labels are right; items are independent.",
)
def confusion(
    data: IntoFrame,
    *,
    humans: Humans | None = None,
    gold: str | None = None,
    people: People = "majority",
    invalid: InvalidVerdict = "drop",
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Confusion table of each judge: how often it answers each class where each class is right.

    Parameters
    ----------
    data, humans, gold, people, invalid, by, cluster, conf_level
        As in :func:`classification`: calls, or a tally.

    Returns
    -------
    pandas.DataFrame
        Per ``judge`` and ``other`` (the reference), a row for each ``answer`` and ``reference``: ``count``, and as
        ``estimate`` its share of the calls whose ``reference`` is this class, ``n`` of them, with Wilson's interval.

    Raises
    ------
    DesignError, SchemaError
        As :func:`classification`.

    See Also
    --------
    classification : Sensitivity, precision and others of this table.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"judge": "g", "other": "gold", "answer": ["safe", "safe", "unsafe", "unsafe"],
    ...                       "other_answer": ["safe", "unsafe", "safe", "unsafe"], "n": [70, 10, 4, 16]})
    >>> confusion(table)[["reference", "answer", "count", "estimate", "n"]].round(3)
      reference  answer  count  estimate     n
    0      safe    safe   70.0     0.946  74.0
    1      safe  unsafe    4.0     0.054  74.0
    2    unsafe    safe   10.0     0.385  26.0
    3    unsafe  unsafe   16.0     0.615  26.0
    """
    counts = class_counts(data, humans, gold, people, invalid, by, cluster, conf_level)
    rows: list[Record] = []
    for j, reference in enumerate(counts.classes):
        for i, answer in enumerate(counts.classes):
            if reference == "invalid" and not (counts.reference == j).any():
                continue
            hit, of_class = counts.answer == i, counts.reference == j
            without = {what: mask & of_class for what, mask in counts.without.items()}
            cells = counts.counts.rates("confusion", hit, counts.valid & of_class, left_out=without, answer=answer)
            rows += [row | {"reference": reference, "count": row["estimate"] * row["n"]} for row in cells]
    groups = [*dict.fromkeys(names(by)), "judge", "other"]
    result = estimates(rows, groups, ("reference", "answer", "count"))
    return result.assign(count=result["count"].fillna(0.0).round(6))


def _class_rows(counts: ClassCounts, c: int) -> Iterator[Record]:
    """Rows of one class against all others."""
    table, valid = counts.counts, counts.valid
    said, true = valid & (counts.answer == c), valid & (counts.reference == c)
    labels: Record = {"class": counts.classes[c]}
    of_class, everywhere = counts.reference == c, np.ones(len(said), dtype=bool)
    for term, hit, trial, among in (
        ("sensitivity", said, true, of_class),
        ("specificity", ~said, valid & ~true, ~of_class),
        ("precision", true, said, everywhere),
        ("negative_predictive_value", ~true, valid & ~said, everywhere),
        ("prevalence", true, valid, everywhere),
        ("answered", said, valid, everywhere),
    ):
        without = {what: mask & among for what, mask in counts.without.items()}
        yield from _reasoned(table.rates(term, hit, trial, left_out=without, **labels), term)
    for row in _reasoned(table.rates("f1", said & true, said | true, left_out=counts.without, **labels), "f1"):
        yield _f1_of_share(row)
    cells = np.column_stack([said & true, said & ~true, true & ~said, valid & ~true & ~said]) * table.n[:, None]
    for key, rows in table.rows_of_groups():
        group, sums = table.where(rows), cells[rows]
        common = flags.join(table.clusters.flag, *lost(counts, rows))
        units = units_of(group, sums)
        common = flags.join(_few_of_class(units, units[0][:, :2] + units[0][:, 2:]), common)
        for row in _rows_of_table(*units, table.conf_level):
            yield {**key, **labels, **row, "flag": flags.join(row.get("flag", ""), common)}


def _reasoned(rows: list[Record], term: str) -> list[Record]:
    """Rows of shares; one with an empty denominator has the reason in its flag."""
    reason = flags.CLASS_NEVER_ANSWERED if term == "precision" else flags.CLASS_NOT_IN_REFERENCE
    if term in ("specificity", "negative_predictive_value"):
        reason = flags.ONE_CLASS_ONLY
    return [
        row if row["n"] else {**row, "flag": flags.join(flags.without(row["flag"], flags.NO_DATA), reason)}
        for row in rows
    ]


def _f1_of_share(row: Record) -> Record:
    """F1 and its interval, from the share of true positives among cases positive for the judge or the reference."""
    share = row["estimate"]
    scaled = {c: 2 * row[c] / (1 + row[c]) for c in ("estimate", "conf_low", "conf_high")}
    return {**row, **scaled, "std_error": row["std_error"] * 2 / (1 + share) ** 2}


def _rows_of_table(sums: Floats, alike: Floats, column: str, conf_level: float) -> Iterator[Record]:
    """Balanced accuracy, informedness, MCC and ratios of a table of tp, fp, fn and tn, from those of units (G, 4)."""
    total = alike @ sums
    positives, negatives, n = total[0] + total[2], total[1] + total[3], float(total.sum())
    informed: Record = {"estimate": math.nan, "n": n, "flag": flags.ONE_CLASS_ONLY}
    if positives and negatives:
        informed = _informedness(total, sums, alike, column, conf_level) | {"n": n}
    yield {"term": "informedness", **informed}
    half: Record = {c: (1 + informed[c]) / 2 for c in ("estimate", "conf_low", "conf_high") if c in informed}
    error = {"std_error": informed["std_error"] / 2} if "std_error" in informed else {}
    yield {"term": "balanced_accuracy", **informed, **half, **error}
    yield {"term": "mcc", "n": n, **_jackknifed(_mcc, sums, alike, column, conf_level)}
    for term, ratio in _RATIOS.items():
        yield {"term": term, "n": n, **_ratio(ratio, total, sums, alike, column, conf_level)}


def _few_of_class(units: Units, of_class: Floats) -> str:
    """Flag where a class occurs in few clusters, from its number of labels in each (G, K)."""
    return flags.few_of_class(of_class, units[1]) if units[2] else ""


def _informedness(total: Floats, sums: Floats, alike: Floats, column: str, conf_level: float) -> Record:
    tp, fp, fn, tn = total
    value = tp / (tp + fn) - fp / (fp + tn)
    if not column:
        low, high = newcombe(tp, tp + fn, fp, fp + tn, conf_level)
        error = math.sqrt(tp * fn / (tp + fn) ** 3 + fp * tn / (fp + tn) ** 3)
        return _estimate(value, (error, low, high), methods.NEWCOMBE, (sums, alike, column)).cells
    error, low, high = clustered_sum(sums[:, :2], sums[:, :2] + sums[:, 2:], _DIFFERENCE, conf_level, alike)
    ends = max(low, -1.0), min(high, 1.0)
    return _estimate(value, (error, *ends), methods.MOVER_WILSON, (sums, alike, column)).cells


def _estimate(value: float, interval: tuple[float, float, float], method: Method, units: Units) -> Estimate:
    """An estimate of units with its error and ends, flagged where these are few."""
    sums, alike, column = units
    n, (error, low, high) = sums.sum(axis=1), interval
    few = flags.join(flags.few_clusters(n, alike=alike) if column else "", size_flag(float(alike @ n)))
    by = methods.clustered(method, column, n, alike) if column else method
    return Estimate(value, std_error=error, low=low, high=high, method=by, flag=few)


def _jackknifed(
    statistic: Statistic, sums: Floats, alike: Floats, column: str, conf_level: float, least: float = -1.0
) -> Record:
    """A coefficient with t from the jackknife of clusters, or of calls."""
    total = alike @ sums
    value = float(statistic(total))
    size = size_flag(total.sum())
    if math.isnan(value):
        return {"estimate": value, "flag": flags.join(flags.ONE_CLASS_ONLY, size)}
    estimate = jackknifed(value, statistic(total - sums), sums.sum(axis=1), column, conf_level, alike=alike)
    estimate = replace(estimate, low=max(estimate.low, least))
    if not column:
        flag = flags.without(estimate.flag, flags.FEW_CLUSTERS)
        estimate = replace(estimate, method=methods.of_single(estimate.method, "calls"), flag=flag)
    return estimate.flagged(size).cells


def _ratio(ratio: _Ratio, total: Floats, sums: Floats, alike: Floats, column: str, conf_level: float) -> Record:
    """A ratio with its interval on the logarithm."""
    value = float(ratio.statistic(total))
    size = size_flag(total.sum())
    if math.isnan(value):
        return {"estimate": value, "flag": flags.join(flags.ZERO_CELL, size)}
    if not total[:2].sum() or not total[2:].sum():  # the ratio is 1 whatever the calls
        reason = flags.NO_SPREAD if total[:2].sum() else flags.CLASS_NEVER_ANSWERED
        return {"estimate": value, "flag": flags.join(reason, size)}
    if not column:
        error, on = value * math.sqrt(max(ratio.variance(total), 0.0)), methods.DELTA_LOG
        return student(value, error, conf_level=conf_level, method=on, flag=size, transform=ON_LOG).cells
    of_class = sums[:, :2] + sums[:, 2:]
    error, low, high = clustered_sum(sums[:, ratio.cells], of_class, _DIFFERENCE, conf_level, alike, ratio.scale)
    interval = value * error, math.exp(low), math.exp(high)
    return _estimate(value, interval, methods.MOVER_WILSON.on("on logarithms"), (sums, alike, column)).cells


def _macro(kind: str, value: float, sums: Floats, alike: Floats, column: str, conf_level: float) -> Record:
    """A mean over the classes that have the share."""
    classes = math.isqrt(sums.shape[1])
    tables = sums.reshape(-1, classes, classes)
    right, answered, support = np.diagonal(tables, axis1=1, axis2=2), tables.sum(axis=2), tables.sum(axis=1)
    n = {"precision": answered, "sensitivity": support, "f1": answered + support - right}[kind]
    there = n.sum(axis=0) > 0
    weight = np.full(int(there.sum()), 1 / there.sum())
    scale = _F1 if kind == "f1" else AS_IT_IS
    interval = clustered_sum(right[:, there], n[:, there], weight, conf_level, alike, scale)
    none = math.isnan(sum(interval[1:]))
    estimate = _estimate(value, (math.nan,) * 3 if none else interval, methods.MOVER_WILSON, (sums, alike, column))
    return estimate.flagged(flags.FEW_IN_CLASS if none else "").cells


def _rows_over_all(counts: ClassCounts) -> Iterator[Record]:
    """Rows over all classes."""
    table, k = counts.counts, len(counts.classes)
    labels: Record = {"class": ""}
    right = counts.valid & (counts.answer == counts.reference)
    yield from table.rates("accuracy", right, counts.valid, left_out=counts.without, **labels)
    cell = counts.answer * k + counts.reference
    for key, rows in table.rows_of_groups():
        there, few = rows[counts.valid[rows]], ""
        group, n = table.where(there), float(table.n[there].sum())
        if n:
            sums, alike, column = units_of(group, np.eye(k * k)[cell[there]] * group.n[:, None])
            of_class = sums.reshape(-1, k, k).sum(axis=1)
            few = _few_of_class((sums, alike, column), of_class)
        common = flags.join(few, table.clusters.flag, *lost(counts, rows))
        statistics: dict[str, Statistic] = {"mcc": _mcc_of_all}
        for average, weighted in (("macro", False), ("weighted", True)):
            statistics |= {f"{average}_{s}": _average(s, weighted) for s in ("precision", "sensitivity", "f1")}
        for term, statistic in statistics.items():
            row: Record = {"estimate": math.nan, "flag": flags.NO_DATA}
            if n and term.startswith("macro"):
                row = _macro(
                    term.removeprefix("macro_"), float(statistic(alike @ sums)), sums, alike, column, table.conf_level
                )
            elif n:
                row = _jackknifed(statistic, sums, alike, column, table.conf_level, -1.0 if term == "mcc" else 0.0)
            left_out = _left_out(term, alike @ sums, counts.classes) if n else ""
            yield {**key, **labels, "term": term, "n": n, **row, "flag": flags.join(row["flag"], left_out, common)}


def _left_out(term: str, total: Floats, classes: Sequence[object]) -> str:
    """Flag of an average that leaves out classes without the share, with its value if these count as 0."""
    average, _, kind = term.partition("_")
    if average == "mcc":
        return ""
    table = total.reshape(len(classes), -1)
    shares, support = _class_shares(table, kind)
    valid = np.array([c != "invalid" for c in classes]) & (support + table.sum(axis=1) > 0)
    weight = valid * (support if average == "weighted" else 1.0)
    without = np.isnan(shares) & (weight > 0)
    as_zero = float((np.nan_to_num(shares) * weight).sum() / weight.sum()) if weight.sum() else math.nan
    return flags.CLASSES_LEFT_OUT.of(int(without.sum()), value=f"{as_zero:.3g}")


def difference_rows(counts: ClassCounts, classes: Sequence[int | None]) -> Iterator[Record]:
    """Paired differences in the share of right answers, judge minus baseline, by class or overall (None)."""
    assert counts.baseline is not None
    for c in classes:
        if c is None:
            right = [x == counts.reference for x in (counts.answer, counts.baseline)]
            yield from _rows(counts, "accuracy", "", np.ones(len(counts.answer), dtype=bool), *right)
            continue
        of_class, one, other = (x == c for x in (counts.reference, counts.answer, counts.baseline))
        yield from _rows(counts, "sensitivity", counts.classes[c], of_class, one, other)
        yield from _rows(counts, "specificity", counts.classes[c], ~of_class, ~one, ~other)


def _rows(counts: ClassCounts, share: str, name: str, among: Mask, one: Mask, other: Mask) -> Iterator[Record]:
    """Difference in right answers of two judges among some calls, a row for each group."""
    table = counts.counts
    assert counts.baseline is not None
    trial = among & counts.valid & (counts.baseline >= 0)
    marks = np.column_stack([trial & one & ~other, trial & other & ~one, trial & (one == other)]) * table.n[:, None]
    for key, rows in table.rows_of_groups():
        sums, alike, column = units_of(table.where(rows), marks[rows])
        size = sums.sum(axis=1)
        n = float(alike @ size)
        row: Record = {**key, "class": name, "term": f"{share}_difference", "n": n}
        left_out = {what: table.n[rows][(mask & among)[rows]].sum() for what, mask in counts.without.items()}
        flag = flags.join(table.clusters.flag, *(flags.EXCLUDED.of(k, what=what) for what, k in left_out.items()))
        if not n:
            yield {**row, "estimate": np.nan, "flag": flags.join(flags.NO_DATA, flag)}
        elif column:
            estimate = clustered_difference(sums, table.conf_level, alike, column=column, method=methods.TANGO_PAIRED)
            yield {
                **row,
                **estimate.cells,
                "flag": flags.join(flags.few_clusters(size, alike=alike), size_flag(n), flag),
            }
        else:
            estimate = replace(difference(alike @ sums, table.conf_level), method=methods.NEWCOMBE_PAIRED)
            yield {**row, **estimate.cells, "flag": flags.join(size_flag(n), flag)}
