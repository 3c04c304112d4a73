"""What the rate really is, given that the judge errs: :func:`corrected_rate` and :func:`corrected_difference`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import ndtr

from judgestats import flags, methods
from judgestats.counting.clustering import Cluster
from judgestats.counting.study import Calls, Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, suggestion
from judgestats.estimate import quantile, student_ends, varies
from judgestats.kernels.proportions import wilson
from judgestats.metrics.correctness import corrections
from judgestats.metrics.correctness.corrections import CalibratedOn, Correction, Rate, Sampling
from judgestats.metrics.correctness.label_sources import Level, gap_difference, levels, with_gap_difference
from judgestats.metrics.correctness.labelled_samples import (
    PANEL,
    LabelledGroup,
    LabelledSample,
    LabelReading,
    TiesOfWins,
    groups,
    read_sample,
)
from judgestats.metrics.correctness.prediction_powered import mean_label
from judgestats.metrics.correctness.rogan_gladen import rate_by_class
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term
from judgestats.results import estimates
from judgestats.schema.columns import By, names
from judgestats.typing import Record

EXTRA = ("n_labels",)


def _corrected(group: LabelledGroup, level: Level, options: Correction) -> Rate:
    if options.by_class:
        return rate_by_class(group, level.rows & ~group.labelled, level.source, options.conf_level)
    judged = level.rows & ~level.source if level.transported else level.rows
    return mean_label(group, judged, level.source, options, transported=level.transported)


def _rate_row(rate: Rate, group: LabelledGroup, conf_level: float, dependent: str = "") -> Record:
    """The row of a corrected rate."""
    row: Record = {"term": "corrected_rate", "n": rate.n, "n_labels": rate.n_labels}
    if rate.refusal:
        said = () if rate.refusal == flags.NO_DATA else (dependent, rate.cautions)
        return {**row, "estimate": math.nan, "flag": flags.join(rate.refusal, *said)}
    estimate, small = rate.estimate, ""
    if math.isnan(estimate.std_error):
        error, _ = corrections.std_error(group, rate.influence, rate.rows)
        small = corrections.few(group, rate.rows)
        one_class = flags.has(rate.cautions, flags.ONE_CLASS)
        if one_class or not varies(estimate.value, error):
            alone = flags.ONE_UNIT if math.isnan(error) else "" if one_class else flags.NO_SPREAD
            return {**row, **estimate.flagged(alone, dependent, small, rate.cautions).cells}
        df = corrections.freedom(group, rate.influence, rate.rows, rate.weights)
        low, high = _rate_interval(rate, error, df, conf_level)
        estimate = replace(estimate, std_error=error, low=low, high=high)
    least, most = (0.0, 1.0) if rate.binary else (-math.inf, math.inf)
    return {**row, **corrections.clipped(estimate, least, most).flagged(dependent, small, rate.cautions).cells}


def _rate_interval(rate: Rate, error: float, df: float, conf_level: float) -> tuple[float, float]:
    """t; for a rate between 0 and 1 Wilson's interval with t and the number of labels that would give this error.

    Of labels drawn with few probabilities, the distances of Wilson's limits in each stratum are squared and added
    (MOVER), with what remains of the variance.
    """
    value, t = rate.estimate.value, quantile(df, conf_level)
    if rate.strata:
        weight, share, size = np.array(rate.strata).T
        ends = wilson(share * size, size, 2 * float(ndtr(t)) - 1)
        rest = max(error**2 - float((weight**2 * share * (1 - share) / size).sum()), 0.0) * t**2
        below, above = (math.sqrt(float((weight**2 * (end - share) ** 2).sum()) + rest) for end in ends)
        return value - below, value + above
    if rate.binary and 0 < value < 1:
        effective = value * (1 - value) / error**2
        low, high = wilson(value * effective, effective, 2 * float(ndtr(t)) - 1)
    else:
        low, high = student_ends(value, error, df, conf_level)
    return float(low), float(high)


def _needs_sampling(data: Calls, options: MeasureOptions) -> str:
    """How the labels were drawn is not in the data."""
    if "gold" not in Study.of(data).names:
        return "needs a column 'gold'"
    return "" if options.sampling else "needs to know how the labelled items were drawn: sampling="


_TERMS = (
    Term(
        "corrected_rate",
        "rate corrected for the errors of the judge",
        "verdict",
        "verdicts",
        "no universal direction",
        "What people would say of all items, from verdicts on all and labels of some.",
        form="share",
    ),
    Term("apparent_rate", "rate by the verdicts alone", form="share"),
    Term("label_rate", "rate among the labelled items", form="share"),
    Term("specificity", "negative verdicts where the label is negative"),
    Term("sensitivity", "positive verdicts where the label is positive"),
    Term("youden", "sensitivity + specificity - 1", neutral=0.0),
    Term("gap_difference", "difference of the gaps between judge and people", neutral=0.0),
)


@Measure(
    "What is the rate really, given that the judge errs?",
    "people",
    "R, P (`candidate=`), counts",
    "by class: Lee et al.; random: t, by influences",
    "Lee et al. 2025; Angelopoulos et al. 2023 (PPI++)",
    plot="forest",
    frames=("ratings",),
    needs=(_needs_sampling,),
    terms=_TERMS,
    arguments=lambda _, options: {"sampling": options.sampling},
    have=("people",),
    classes=True,
    assumes="Labels are right, and the labelled items are drawn as stated: at random, or by class of the verdict.",
)
def corrected_rate(
    verdicts: IntoFrame,
    *,
    sampling: Sampling | None = None,
    label_probability: str | None = None,
    calibration: IntoFrame | None = None,
    gold: str = "gold",
    candidate: str | None = None,
    positive: object = None,
    ties: TiesOfWins = "exact",
    panel: bool = False,
    strata: str | None = None,
    weights: Mapping[str, float] | None = None,
    calibrated_on: CalibratedOn = "own",
    margin: float | None = None,
    by: By = (),
    average_over: By = (),
    cluster: Cluster = "auto",
    coefficient: float | None = None,
    ddof: int = 1,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Rate, or mean score, that people would give to all items, from many verdicts and fewer labels.

    Parameters
    ----------
    verdicts : frame
        Ratings with a column ``gold`` that holds the label of people where there is one: scores, or verdicts of yes and
        no (``correct``, or a score of 0 and 1). Or preferences, with `candidate`. Or a tally: ``judge, verdict, label,
        n`` with the verdicts ``yes``, ``no`` and ``invalid``, and the labels ``yes``, ``no`` and ``none``. Or printed
        shares, by class: ``judge, p, q0, q1, n, m0, m1``, the share of positive verdicts, specificity, sensitivity and
        their denominators.
    sampling : {'random', 'by class'}
        How the labelled items were drawn; it must be stated. ``"random"``: from the same items as the rest, each with
        the same chance; PPI++ then estimates the mean label. ``"by class"``: so many with a negative label and so many
        with a positive one; sensitivity and specificity come from them, and the verdicts without a label are corrected
        by Rogan and Gladen's formula. The labelled items are then others than those corrected.
    label_probability : str
        In place of `sampling`: the column of known probabilities with which each item was to be labelled (more of the
        disputed ones, say). Labels are weighted by their inverse.
    calibration : frame, optional
        Labelled verdicts in a table of their own; the others then have no labels. Without one of the columns in `by`
        its labels correct all levels of it, and `margin` is needed.
    gold : str
        Column of labels; or a judge (a person) whose answers are the labels.
    candidate : str, optional
        Of preferences: whose share of wins is asked. Pairs without it are left out.
    positive : class, optional
        Of verdicts that are classes (``answer``): whose share is asked.
    ties : {'exact', 'half'}
        Whether a tie is no win, or half of one (of verdict and label alike).
    panel : bool
        Correct with the verdicts of all judges at once: one result, ``judge`` is ``panel``, with a coefficient for each
        judge. Items that some judge did not answer are left out. Not for ``sampling="by class"``.
    strata : str, optional
        Column of strata, within which the labelled items were drawn at random; each has its own coefficient.
    weights : mapping, optional
        Known share of each stratum among all items.
    calibrated_on : {'own', 'shared'} or mapping
        Whose labels correct: each level of `by` its own, those of all levels together, or those of one level,
        ``{"system": "base"}``. The last two need `margin`.
    margin : float, optional
        Largest difference of the gaps between judge and people that would not matter. Where labels of other levels
        correct, the flag ``transport not shown`` stands unless the interval of that difference lies inside it.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    cluster : "auto", str or False
        Column that verdicts share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it
        in ``method``. False treats all verdicts as independent, with a flag where they are not. Influences are summed
        within its levels.
    coefficient : float, optional
        λ, in place of the one with the smallest variance: 1 is prediction-powered inference without tuning, 0 takes the
        labels alone.
    ddof : int
        Taken from the number of clusters in variances (PPI++).
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``corrected_rate``, and what it is made of: ``apparent_rate``, by the verdicts alone; by class
        ``specificity``, ``sensitivity`` and ``youden`` (their sum minus 1); else ``label_rate``, by the labels alone,
        and ``lambda``, the coefficient of the verdicts. ``gap_difference`` where labels of other levels correct. ``n``
        counts verdicts (of ``label_rate``, ``specificity``, ``sensitivity``: labels), ``n_labels`` labelled
        items: repeats of a verdict count once.

        NaN with a flag: the interval of ``youden`` reaches 0 (``not better than chance``); the interval, before it is
        clipped, lies outside 0 to 1 (``error rates do not fit these verdicts``); ``labels of one class only``; a random
        sample of ``more labels than other verdicts``. A caution: ``fewer than 5 errors of the judge among the labels``.

    Raises
    ------
    DesignError
        If it is not stated how the labels were drawn; if an item is among the labelled and among the other verdicts; if
        `margin` is missing where labels of other levels correct; if verdicts on several criteria would be mixed.

    See Also
    --------
    corrected_difference : Difference of two corrected rates.
    label_plan : How many labels a corrected rate needs.

    Notes
    -----
    By class: θ = (p + q0 - 1)/(q0 + q1 - 1) with the interval of Lang and Reiczigel (2014) that Lee et al. use. Where
    verdicts are clustered, numbers of verdicts and labels are the effective ones, with t. Random: PPI++, with λ = Σff⁻¹
    ΣfY/(1 + n/N), between 0 and 1 for one judge; the influences (Y - λ'f - mean)/n and λ'(f - mean)/N are summed within
    clusters, with G/(G - 1) for each of the two samples and t on G - 1; a rate of yes and no has Wilson's interval with
    that standard error and t, since the plain one covers too little near 0 and 1. With `label_probability`, labels of
    one probability (or about it) and verdict are a stratum: the distances of Wilson's limits in each are squared and
    added (MOVER). Where an end of Lee's interval is not between 0 and 1, the profile likelihood has both. A panel's
    coefficients are fitted for each tenth of the labelled clusters from the others. λ comes from the same clustered
    covariances. Where labels of another level correct, λ is 1. docs/judges_and_people.md says when not to use it.

    References
    ----------
    Lee, C., et al. (2025). How to correctly report LLM-as-a-judge evaluations. arXiv 2511.21140. Angelopoulos, A. N.,
    Duchi, J. C., & Zrnic, T. (2023). PPI++: efficient prediction-powered inference. arXiv 2311.01453.

    Examples
    --------
    The judge passes 400 of 1,000 answers. Of 200 answers that people failed it fails 140, of 200 that they passed it
    passes 180:

    >>> counts = pd.DataFrame([("yes", "none", 400), ("no", "none", 600), ("no", "no", 140), ("yes", "no", 60),
    ...                        ("yes", "yes", 180), ("no", "yes", 20)], columns=["verdict", "label", "n"])
    >>> found = corrected_rate(counts.assign(judge="g"), sampling="by class")
    >>> found[["term", "estimate", "conf_low", "conf_high", "n", "n_labels"]].round(3).head(2)
                 term  estimate  conf_low  conf_high       n  n_labels
    0  corrected_rate     0.167     0.056      0.263  1000.0     400.0
    1   apparent_rate     0.400     0.370      0.431  1000.0       0.0
    """
    options = Correction(
        sampling, label_probability, strata, weights, ddof, coefficient, calibrated_on, margin, panel, conf_level
    )
    keys = ["judge", *dict.fromkeys(names(by))]
    reading = LabelReading(
        "corrected_rate",
        keys,
        keys,
        sampling,
        cluster,
        gold,
        candidate,
        ties,
        average_over,
        options.beside,
        positive,
    )
    sample = read_sample(verdicts, calibration, reading)
    _check_margin(options, sample)
    rows: list[Record] = []
    for judge, group in groups(sample, panel):
        for level in levels(group, sample, calibrated_on):
            labels = {"judge": judge, **level.labels}
            rate = _corrected(group, level, options)
            parts = [_rate_row(rate, group, conf_level, sample.dependent), *rate.parts]
            if level.transported and margin is not None:
                parts = with_gap_difference(parts, gap_difference(group, level, rate, options), margin)
            excluded = _excluded(sample, labels)
            rows += [{**labels, **row, "flag": flags.join(row["flag"], excluded)} for row in parts]
    rows += [] if panel else _silent(sample, rows, "corrected_rate")
    return estimates(rows, keys, EXTRA)


@Measure(
    "Which system is better, given that the judge errs?",
    "people",
    "R, counts",
    "t, by influences",
    "Lee et al. 2025; Angelopoulos et al. 2023 (PPI++)",
    plot="forest",
    terms=(
        Term(
            "corrected_difference",
            "difference of the corrected rates",
            "verdict",
            "verdicts of the smaller side",
            "no universal direction",
            "What people would say of one system minus what they would say of the other.",
            neutral=0.0,
            form="points",
        ),
        Term("apparent_difference", "difference by the verdicts alone", neutral=0.0, form="points"),
    ),
    have=("people",),
    classes=True,
    assumes="Labels are right, and the labelled items are drawn as stated; paired where the systems share items.",
)
def corrected_difference(
    verdicts: IntoFrame,
    *,
    baseline: str,
    compare: str = "system",
    sampling: Sampling | None = None,
    label_probability: str | None = None,
    calibration: IntoFrame | None = None,
    gold: str = "gold",
    candidate: str | None = None,
    positive: object = None,
    ties: TiesOfWins = "exact",
    panel: bool = False,
    strata: str | None = None,
    weights: Mapping[str, float] | None = None,
    calibrated_on: CalibratedOn = "own",
    margin: float | None = None,
    by: By = (),
    average_over: By = (),
    cluster: Cluster = "auto",
    coefficient: float | None = None,
    ddof: int = 1,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Difference of the corrected rates of two systems, paired where they share items.

    Parameters
    ----------
    verdicts : frame
        As for :func:`corrected_rate`, with the column `compare`. A tally has ``system`` too.
    baseline : str
        The level that is subtracted from every other one.
    compare : str
        Column whose levels are compared.
    sampling, label_probability, calibration, gold, candidate, positive, ties, panel, strata, weights
        As for :func:`corrected_rate`.
    calibrated_on : {'own', 'shared'} or mapping
        Each level by its own labels, or both by the same ones: of all levels, or of one. The last two need `margin`. A
        table in `calibration` without the column `compare` is shared.
    margin
        As for :func:`corrected_rate`.
    by, average_over, coefficient, ddof, conf_level
        As for :func:`corrected_rate`.
    cluster : "auto", str or False
        Column by which influences are summed, across both levels: where both judged the same items this is the paired
        comparison. False is the unpaired one.

    Returns
    -------
    pandas.DataFrame
        Per judge and other level ``corrected_difference``, ``apparent_difference`` and, where labels of other levels
        correct, ``gap_difference``. ``n`` is the number of verdicts of the smaller side. NaN with a flag where one of
        the rates is.

    Raises
    ------
    DesignError
        As :func:`corrected_rate`; if `baseline` is not a level.

    See Also
    --------
    corrected_rate : A rate corrected for the judge's errors.
    label_plan : How many labels a corrected rate needs.

    Notes
    -----
    Influences of both rates are subtracted, summed within cluster across both levels, and squared; with t. By class
    they are (z - p)/J for a verdict, (1 - θ)(1{z = 0} - q0)/J for a negative label and -θ(1{z = 1} - q1)/J for a
    positive one, each over the size of its sample, J = q0 + q1 - 1. With the same labels for both, Δ = (pA - pB)/J has
    the variance {Var(pA - pB) + Δ²[V(q0) + V(q1)]}/J².

    Examples
    --------
    >>> counts = [("a", "yes", "none", 700), ("a", "no", "none", 300), ("b", "yes", "none", 600),
    ...           ("b", "no", "none", 400)]
    >>> labels = [("no", "no", 90), ("yes", "no", 10), ("yes", "yes", 85), ("no", "yes", 15)]
    >>> columns = ["system", "verdict", "label", "n"]
    >>> found = corrected_difference(
    ...     pd.DataFrame(counts, columns=columns).assign(judge="g"), baseline="b", sampling="by class",
    ...     calibration=pd.DataFrame(labels, columns=columns[1:]).assign(judge="g"), margin=0.05)
    >>> found[["system", "term", "estimate", "conf_low", "conf_high"]].round(3)
      system                  term  estimate  conf_low  conf_high
    0      a  corrected_difference     0.133     0.076      0.191
    1      a   apparent_difference     0.100     0.058      0.142
    2      a        gap_difference       NaN       NaN        NaN
    """
    options = Correction(
        sampling, label_probability, strata, weights, ddof, coefficient, calibrated_on, margin, panel, conf_level
    )
    by = list(dict.fromkeys(names(by)))
    if compare in by or compare == "judge":
        raise DesignError(f"compare={compare!r} is in by=, or the judges. Name a column that neither holds.")
    keys, apart = ["judge", *by, compare], ["judge", *by]
    reading = LabelReading(
        "corrected_difference",
        keys,
        apart,
        sampling,
        cluster,
        gold,
        candidate,
        ties,
        average_over,
        options.beside,
        positive,
    )
    sample = read_sample(verdicts, calibration, reading)
    _check_margin(options, sample)
    baseline = str(baseline)
    level_names = sorted(sample.table[compare].dropna().astype(str).unique())
    if baseline not in level_names:
        raise DesignError(
            f"baseline={baseline!r} is not in {compare!r}. It has: {', '.join(level_names[:8])}."
            + suggestion(baseline, level_names)
        )
    rows: list[Record] = []
    for judge, group in groups(sample, panel):
        rates = [(level, _corrected(group, level, options)) for level in levels(group, sample, calibrated_on)]
        base = {_level_key(level, by): (level, rate) for level, rate in rates if str(level.labels[compare]) == baseline}
        for level, rate in rates:
            if str(level.labels[compare]) == baseline:
                continue
            labels = {"judge": judge, **level.labels}
            if _level_key(level, by) not in base:
                empty = {"term": "corrected_difference", "estimate": math.nan, "n": 0.0, "flag": flags.NO_DATA}
                rows.append({**labels, **empty})
                continue
            pair = _difference_rows(group, (level, rate), base[_level_key(level, by)], options, sample.dependent)
            rows += [{**labels, **row, "flag": flags.join(row["flag"], _excluded(sample, labels))} for row in pair]
    silent = [] if panel else _silent(sample, rows, "corrected_difference")
    rows += [row for row in silent if str(row[compare]) != baseline]
    return estimates(rows, keys, EXTRA)


def _level_key(level: Level, by: Sequence[str]) -> tuple[object, ...]:
    """Labels of a level besides the one compared; missing ones are alike."""
    return tuple(None if pd.isna(level.labels[k]) else level.labels[k] for k in by)


def _difference_rows(
    group: LabelledGroup, one: tuple[Level, Rate], two: tuple[Level, Rate], options: Correction, dependent: str
) -> list[Record]:
    """Rows of one system minus the baseline."""
    (level, rate), (base, base_rate) = one, two
    n = min(rate.n, base_rate.n)
    n_labels = group.size(level.source | base.source)
    row: Record = {"term": "corrected_difference", "estimate": math.nan, "n": n, "n_labels": n_labels}
    cautions = flags.join(dependent, rate.cautions, base_rate.cautions)
    single = [_rate_row(r, group, options.conf_level) for r in (rate, base_rate)]
    refusal = next((r["flag"] for r in single if math.isnan(r["estimate"])), "")
    if refusal:
        row["flag"] = flags.join(refusal, cautions)
    else:
        rows = rate.rows | base_rate.rows
        value, influence = rate.estimate.value - base_rate.estimate.value, rate.influence - base_rate.influence
        method = methods.METHODS[rate.estimate.method.parts.way].on("influences")
        most = 1.0 if rate.binary and base_rate.binary else math.inf
        estimate = corrections.by_influence(group, value, influence, rows, options.conf_level, method, most)
        if flags.has(cautions, flags.ONE_CLASS):
            estimate = replace(estimate, std_error=math.nan, low=math.nan, high=math.nan)
        errors = (
            corrections.few_errors(group, (level.source | base.source) & group.labelled) if options.by_class else ""
        )
        row |= estimate.flagged(corrections.few(group, rows), cautions, errors).cells
    cells = [row]
    if group.f.shape[1] == 1:
        apparent = _apparent(group, (level, base), options)
        cells.append({**apparent, "n": n, "n_labels": 0.0, "flag": flags.join(apparent["flag"], dependent)})
    transported = one if level.transported else two if base.transported else None
    if transported is not None and options.margin is not None:
        gap = gap_difference(group, *transported, options)
        cells = with_gap_difference(cells, gap, options.margin)
    return cells


def _apparent(group: LabelledGroup, pair: tuple[Level, Level], options: Correction) -> Record:
    """Difference of the verdicts alone, without those that only calibrate."""
    value, influence, used = 0.0, np.zeros(len(group.n)), np.zeros(len(group.n), dtype=bool)
    for sign, level in zip((1, -1), pair, strict=True):
        rows = level.rows & ~group.labelled if options.by_class else level.rows
        if not rows.any():
            return {"term": "apparent_difference", "estimate": math.nan, "flag": flags.NO_DATA}
        share, of_share = corrections.mean(group, group.f[:, 0], rows)
        value += sign * share
        influence += sign * of_share
        used |= rows
    most = 1.0 if corrections.is_share(group, used) else math.inf
    by = methods.T.on("influences")
    estimate = corrections.by_influence(group, value, influence, used, options.conf_level, by, most)
    return {"term": "apparent_difference", **estimate.flagged(corrections.few(group, used)).cells}


def _check_margin(options: Correction, sample: LabelledSample) -> None:
    if options.margin is None and (options.calibrated_on != "own" or sample.shared):
        raise DesignError(
            "Labels of other systems correct these verdicts, which is right only if the judge errs alike on both. "
            "State in margin= which difference of the gaps between judge and people would not matter: 0.05, say."
        )


def _excluded(sample: LabelledSample, labels: Mapping[str, object]) -> str:
    """Flag of the verdicts without an answer."""
    key = tuple(str(labels[k]) for k in sample.keys)
    if labels["judge"] != PANEL:
        return flags.INVALID_EXCLUDED.of(sample.invalid.get(key, 0))
    without = sum(n for other, n in sample.invalid.items() if other[1:] == key[1:])
    return flags.EXCLUDED.of(without, what="verdicts of an incomplete panel")


def _silent(sample: LabelledSample, rows: Iterable[Mapping[str, object]], term: str) -> list[Record]:
    """A row without a number for each group of which no verdict is valid."""
    reported = {tuple(str(row[k]) for k in sample.keys) for row in rows}
    if not set(sample.invalid) - reported:
        return []
    combinations = sample.table[sample.keys].drop_duplicates().to_dict("records")
    empty = {"term": term, "estimate": math.nan, "n": 0.0, "n_labels": 0.0}
    return [
        {**values, **empty, "flag": flags.join(flags.NO_DATA, _excluded(sample, values))}
        for values in combinations
        if (key := tuple(str(values[k]) for k in sample.keys)) not in reported and key in sample.invalid
    ]
