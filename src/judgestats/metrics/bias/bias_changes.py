"""Change of a bias under another strategy: :func:`bias_change`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags, methods
from judgestats.counting.bootstrap import Interval, planned
from judgestats.counting.changes import chosen_baseline
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts
from judgestats.counting.patterns import InvalidDirection
from judgestats.counting.study import Calls, Study
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError, refuse_unknown
from judgestats.estimate import clustered_difference, difference, quantile
from judgestats.kernels.cluster_robust import ROUNDING, linearised_error
from judgestats.kernels.proportions import quotient
from judgestats.metrics.bias.targets import targeted
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import control_of
from judgestats.results import estimates, with_interval
from judgestats.schema.columns import By, names
from judgestats.schema.factors import Factor
from judgestats.typing import Floats, Integers, Mask, Record

#: Column of strata: the samples within which a bootstrap draws.
STRATUM = "_sample"


@dataclass(frozen=True)
class StrategySample:
    """Pairs of one judge under one strategy and under the baseline."""

    key: Record  # judge, strategy and other grouping columns
    whole: Counts  # the counts of all samples
    rows: NDArray[np.intp]  # (R,): those of this one that count
    answers: Floats  # (R, P): each row as nine joint answers, or three under the baseline and three under the strategy
    left_out: float  # pairs without a valid answer under both; of independent samples the calls without one

    @property
    def strata(self) -> Integers:
        """Strata of a bootstrap, (R,): independent samples are drawn separately."""
        strata: Integers = self.whole.columns["strategy"].code[self.rows]
        return strata if self.answers.shape[1] == 6 else np.zeros_like(strata)

    @property
    def n(self) -> float:
        """Pairs compared; of independent samples the smaller."""
        sums = self.answers.sum(axis=0)
        return float(sums.sum() if sums.size == 9 else min(sums[:3].sum(), sums[3:].sum()))


def counts_of(calls: Calls, measure: str, baseline: str | None, by: By, cluster: Cluster) -> Counts:
    """Counts of pairs or of independent calls, by judge, ``bias`` where there is one, and the columns `by`."""
    if measure == "bias_change":
        counts = count(calls, measure, names(by), cluster=cluster, baseline=baseline)
    else:
        counts = count(calls, measure, [*names(by), "strategy"], cluster=cluster)
    groups = dict.fromkeys(["judge", *(["bias"] if "bias" in counts.columns else []), *names(by)])
    return counts.grouped(list(groups))


def _places(counts: Counts, column: str, invalid: str) -> NDArray[np.intp]:
    """Place of each answer among target, other and tie; -1 where it is none of them."""
    places = {"target": 0, "other": 1, "tie": 2, **({"invalid": 2} if invalid == "tie" else {})}
    factor = counts.columns[column]
    result: NDArray[np.intp] = np.array([places.get(x, -1) for x in factor.labels], dtype=np.intp)[factor.code]
    return result


def _sample(
    key: Record, whole: Counts, rows: NDArray[np.intp], place: NDArray[np.intp], valid: Mask, width: int
) -> StrategySample:
    """A sample of some rows; `place`, `valid` of each: which of `width` answers it is, if any."""
    usable, n = rows[valid], whole.n[rows]
    answers = np.zeros((len(usable), width))
    answers[np.arange(len(usable)), place[valid]] = n[valid]
    return StrategySample(key, whole, usable, answers, float(n[~valid].sum()))


def _paired(counts: Counts, invalid: str) -> Iterator[StrategySample]:
    """Samples of pairs with answers under both."""
    one, two = (_places(counts, c, invalid) for c in ("baseline", "outcome"))
    for key, rows in counts.grouped([*counts.groups, "strategy"]).rows_of_groups():
        yield _sample(key, counts, rows, (3 * one + two)[rows], ((one >= 0) & (two >= 0))[rows], 9)


def _independent(counts: Counts, invalid: str, baseline: str | None) -> Iterator[StrategySample]:
    """Samples of calls, independent between strategies."""
    if counts.among("strategy", None).any():
        raise SchemaError("'strategy' is missing in some rows. Name it, or drop these rows.")
    code, labels = counts.columns["strategy"]
    name_of = [str(x) for x in labels]
    strategies = sorted({name_of[c] for c in np.unique(code)})
    baseline = chosen_baseline(strategies, "strategy", baseline)
    place = _places(counts, "outcome", invalid)
    under = {name: np.array([x == name for x in name_of])[code] for name in strategies}
    for key, rows in counts.rows_of_groups():
        for name in strategies:
            if name != baseline:
                both = rows[(under[baseline] | under[name])[rows]]
                place_here = place[both] + 3 * under[name][both]
                yield _sample({**key, "strategy": name}, counts, both, place_here, place[both] >= 0, 6)


_TERMS = ("change", "magnitude_change")
_MEANS = {"change": "mean_signed_change", "magnitude_change": "mean_change"}


@Measure(
    "Does a strategy change a bias, signed and in size?",
    "strategies",
    "P, counts",
    "MOVER of Newcombe's; bootstrap",
    "debiasing, Fig 2",
    plot="bias_map",
    frames=("preferences",),
    needs=(control_of("strategy"),),
    arguments=lambda _, options: {"baseline": options.baseline["strategy"]},
    caption="Change of the absolute bias; blue is less bias. Absolute values are biased upwards near 0.",
    table=("change", "magnitude_change", "mean_change"),
    terms=(
        Term("change", "change of the signed bias", neutral=0.0),
        Term("magnitude_change", "change of the absolute bias", neutral=0.0),
        Term("mean_change", "change of the absolute bias, mean of the judges", neutral=0.0),
    ),
    have=("conditions", "attributes"),
    assumes="The baseline and the strategies were asked about the same pairs; pairs are independent.",
)
def bias_change(
    calls: IntoFrame,
    *,
    baseline: str | None = None,
    judges: Sequence[str] | None = None,
    target: str | None = None,
    attribute: str | None = None,
    value: str | None = None,
    family: Mapping[str, str] | None = None,
    invalid: InvalidDirection = "drop",
    by: By = (),
    cluster: Cluster = "auto",
    interval: Interval = "wilson",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Change of a bias under each strategy, signed and in magnitude (debiasing paper, Fig. 2).

    Parameters
    ----------
    calls : frame
        Preferences with ``strategy`` and a target, as for :func:`bias_score`. Or a tally of pairs, ``judge, strategy,
        baseline, outcome, n`` (and ``bias``), which is paired; or a tally of calls, ``judge, strategy, outcome, n``,
        whose strategies are compared as independent samples.
    baseline : str, optional
        The strategy that the others are compared with; needed except for a tally of pairs.
    judges : sequence of str, optional
        Judges over whom the mean is taken; default: all.
    target, attribute, value, family
        The target, as for :func:`bias_score`.
    invalid : {'drop', 'tie'}
        How an invalid call counts: excluded with its pair, or as no preference.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str, two of them, or False
        Column that pairs share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all pairs as independent, with a flag where they are not. For a mean of several judges
        it is what they share. Two crossed columns need ``interval='percentile'``.
    interval : {'wilson', 'percentile', 'bca'}
        ``wilson`` combines the Newcombe intervals of both scores (MOVER), with their correlation over pairs, widened by
        the root of the design effect where pairs are clustered. Else a bootstrap of pairs, or of clusters.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge, ``bias`` (where there is one) and ``strategy``: ``baseline_bias`` and ``bias``, b of the pairs that
        have a valid answer under both; ``change``, their difference; ``magnitude_change``, the difference of |b|. Then,
        with ``judge`` missing, ``mean_change``, the mean of ``magnitude_change`` over `judges`, and
        ``mean_signed_change``. ``n`` is the pairs compared, over all judges in a mean.

    Raises
    ------
    DesignError
        If there is no strategy, no such baseline or judge, or two clusters without a bootstrap.

    See Also
    --------
    bias_score : Signed bias towards a target.
    compare_strategies : Accuracy of strategies on the same pairs.

    Notes
    -----
    |b| is biased upwards near 0, under the baseline and the strategy alike, so its change may be mostly noise: it is
    flagged ``sign of the bias uncertain`` where an interval of a signed score contains 0, and ``sign changed`` where
    the two scores differ in sign. Read it with ``change``. In simulations the interval of
    ``change`` covered 0.95 to 0.99; that of ``magnitude_change`` 0.95 where both scores were away from 0, but 0.89
    where the baseline was exactly unbiased. The correlation is reduced by 2/n where it is positive (Newcombe's
    correction, at even margins), so that no interval has zero width. A mean treats the judges as fixed; unclustered it
    treats them as independent, with a flag.

    References
    ----------
    Zou, G. Y., Donner, A. (2008). Statistics in Medicine 27, 1693-1702.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "strategy": ["B0", "B0", "B0", "S5", "S5", "S5"],
    ...                        "outcome": ["target", "other", "tie"] * 2, "n": [88, 12, 0, 70, 10, 20]})
    >>> bias_change(counts, baseline="B0")[["judge", "strategy", "term", "estimate", "conf_low", "conf_high"]].round(3)
      judge strategy                term  estimate  conf_low  conf_high
    0     g       S5       baseline_bias      0.76     0.604      0.860
    1     g       S5                bias      0.60     0.452      0.711
    2     g       S5              change     -0.16    -0.339      0.032
    3     g       S5    magnitude_change     -0.16    -0.339      0.032
    4   NaN       S5         mean_change     -0.16    -0.339      0.032
    5   NaN       S5  mean_signed_change     -0.16    -0.339      0.032
    """
    planned(interval, None, None, n_resamples, seed, conf_level)
    present = Study.of(calls).names
    if "strategy" not in present:
        raise DesignError(f"There is no column 'strategy' to compare by. Columns: {', '.join(present)}.")
    if "strategy" in names(by):
        raise DesignError("by='strategy' is not allowed, because bias_change compares strategies. Leave it out.")
    measure = "bias_score" if "outcome" in present and "baseline" not in present else "bias_change"
    targets = targeted(calls, target=target, attribute=attribute, value=value, family=family, by=by, measure=measure)
    counts = counts_of(targets.calls, measure, baseline, by, cluster)
    counts = counts.inferred(conf_level, interval, None, n_resamples, seed)
    samples = list(_paired(counts, invalid) if measure == "bias_change" else _independent(counts, invalid, baseline))
    where = [*counts.groups, "strategy"]
    column = counts.clusters.column if counts.bootstrap is None else None
    rows = targets.excluded.flagged([row for s in samples for row in _sample_rows(s, column)], counts.groups)
    sets: dict[tuple[str, ...], list[StrategySample]] = {}  # samples that differ in their judge only
    for s in _samples_of_judges(samples, judges):
        sets.setdefault(tuple(str(s.key[g]) for g in where if g != "judge"), []).append(s)
    rows += [row for these in sets.values() for row in _mean_rows(these, column)]
    result = estimates(rows, where)
    result["judge"] = result["judge"].astype(object).where(result["judge"].notna(), np.nan)
    return result


def _scores(totals: Floats) -> tuple[Floats, Floats]:
    """(B, 9) or (B, 6) counts to (B,) scores under the baseline and under the strategy."""
    if totals.shape[1] == 9:
        joint = totals.reshape(-1, 3, 3)
        sides = joint.sum(axis=2), joint.sum(axis=1)
    else:
        sides = totals[:, :3], totals[:, 3:]
    one, two = (quotient(s[:, 0] - s[:, 1], s.sum(axis=1)) for s in sides)
    return one, two


def _score_changes(totals: Floats, term: str) -> Floats:
    """(B, 9) or (B, 6) counts to (B,) values of the term."""
    one, two = _scores(totals)
    return np.abs(two) - np.abs(one) if term == "magnitude_change" else two - one


def _margins(total: Floats) -> tuple[Floats, Floats, float]:
    """Answers under the baseline, under the strategy, and the correlation of the two scores of a pair."""
    if total.size == 6:
        return total[:3], total[3:], 0.0
    joint = total.reshape(3, 3)
    one, two, n = joint.sum(axis=1), joint.sum(axis=0), total.sum()
    sign = np.array([1.0, -1.0, 0.0])
    mean_1, mean_2 = one @ sign / n, two @ sign / n
    spread = math.sqrt(max((one @ sign**2 / n - mean_1**2) * (two @ sign**2 / n - mean_2**2), 0.0))
    return one, two, float(sign @ joint @ sign / n - mean_1 * mean_2) / spread if spread > 0 else 0.0


def _term_cells(sample: StrategySample, column: str | None) -> dict[str, Record]:
    """Cells of the four terms, from the intervals of the two scores; `column`: of the clusters."""
    total, conf_level = sample.answers.sum(axis=0), sample.whole.conf_level
    one, two, correlation = _margins(total)
    base, score = (difference(side, conf_level) for side in (one, two))
    method = methods.MOVER.on("paired" if total.size == 9 else "independent")
    clustered = None
    if column is not None:
        clustered = _pair_clusters([sample], column)
        method = methods.clustered(method, column, clustered.calls)
        base, score = (clustered_difference(s, conf_level, column=column) for s in clustered.sides(sample))
        by = methods.clustered(methods.TANGO_ONE_SAMPLE, column, clustered.calls)
        base, score = replace(base, method=by), replace(score, method=by)
    result = {t: {**e.interval, "estimate": e.value} for t, e in (("baseline_bias", base), ("bias", score))}
    if clustered is not None:
        base, score = (difference(side, conf_level) for side in (one, two))
    n = total.sum()
    signs = (1.0 if base.value >= 0 else -1.0) * (1.0 if score.value >= 0 else -1.0)
    for term, r in zip(_TERMS, (correlation, correlation * signs), strict=True):
        a, b = (base, score) if term == "change" else (base.folded, score.folded)
        variance = a.std_error**2 + b.std_error**2 - 2 * r * a.std_error * b.std_error
        r = max(r - 2 / n, 0.0) if r > 0 else r
        lengths = (
            (b.value - b.low, a.high - a.value),
            (b.high - b.value, a.value - a.low),
        )
        below, above = (math.sqrt(max(x * x + y * y - 2 * r * x * y, 0.0)) for x, y in lengths)
        value = b.value - a.value
        error = math.sqrt(max(variance, 0.0))
        result[term] = with_interval(error, value - below, value + above, estimate=value, method=method)
        if clustered is not None:
            result[term] |= clustered.widened(result[term], clustered.influence(sample, term), variance, conf_level)
    return result


@dataclass(frozen=True)
class _PairClusters:
    """Clusters of the pairs of one or several samples."""

    samples: list[StrategySample]
    codes: list[Integers]  # (R,): cluster of each row, of each sample
    size: int  # G

    def sides(self, sample: StrategySample) -> tuple[Floats, Floats]:
        """Answers of each cluster under the baseline, and under the strategy, (G, 3)."""
        sums = np.zeros((self.size, sample.answers.shape[1]))
        np.add.at(sums, self.codes[next(i for i, s in enumerate(self.samples) if s is sample)], sample.answers)
        if sums.shape[1] == 6:
            return sums[:, :3], sums[:, 3:]
        joint = sums.reshape(-1, 3, 3)
        return joint.sum(axis=2), joint.sum(axis=1)

    @property
    def calls(self) -> Floats:
        """Calls, or pairs, of each cluster, (G,)."""
        counts = np.concatenate([s.answers.sum(axis=1) for s in self.samples])
        return np.bincount(np.concatenate(self.codes), counts).astype(np.float64)

    def influence(self, sample: StrategySample, term: str) -> Floats:
        """Influence of each cluster on a change, (G,)."""
        sign = np.array([1.0, -1.0, 0.0])
        influences = []
        for side in self.sides(sample):
            n = side.sum()
            mean = float((side @ sign).sum()) / n
            weight = (-1.0 if mean < 0 else 1.0) if term == "magnitude_change" else 1.0
            influences.append(weight * (side @ sign - mean * side.sum(axis=1)) / n)
        result: Floats = influences[1] - influences[0]
        return result

    def widened(self, row: Record, influence: Floats, independent: float, conf_level: float) -> Record:
        """Cluster-robust standard error, and the interval widened by the root of the design effect, with t."""
        error, df = linearised_error(influence, self.calls)
        if math.isnan(error):
            return dict.fromkeys(("std_error", "conf_low", "conf_high"), math.nan)
        effect = error**2 / independent if independent > ROUNDING and error > 0 else 1.0
        factor = math.sqrt(effect) * quantile(df, conf_level) / quantile(math.inf, conf_level)
        value = row["estimate"]
        low, high = value - factor * (value - row["conf_low"]), value + factor * (row["conf_high"] - value)
        return with_interval(error, max(low, -2.0), min(high, 2.0))


def _pair_clusters(samples: list[StrategySample], column: str) -> _PairClusters:
    codes = samples[0].whole.columns.take(np.concatenate([s.rows for s in samples])).codes([column])
    ends = np.cumsum([len(s.rows) for s in samples])[:-1]
    return _PairClusters(samples, np.split(codes.code, ends), codes.size)


def _sample_rows(sample: StrategySample, column: str | None) -> list[Record]:
    """Rows of one sample."""
    terms = ("baseline_bias", "bias", *_TERMS)
    left_out = _left_out([sample])
    if not sample.n > 0:
        none = flags.join(flags.NO_DATA, left_out)
        return [{**sample.key, "term": t, "estimate": math.nan, "n": 0.0, "flag": none} for t in terms]
    cells = _term_cells(sample, column)
    clustered = _pair_clusters([sample], column) if column else None
    few = flags.few_clusters(clustered.calls) if clustered else ""
    common = flags.join(sample.whole.clusters.flag, few, left_out, flags.SMALL_N if sample.n < 30 else "")
    pair = (cells["baseline_bias"], cells["bias"])
    changed = flags.SIGN_CHANGED if pair[0]["estimate"] * pair[1]["estimate"] < 0 else ""
    uncertain = flags.SIGN_UNCERTAIN if any(c["conf_low"] <= 0 <= c["conf_high"] for c in pair) else ""
    rows = []
    for term in terms:
        row = {**sample.key, "term": term, **cells[term], "n": sample.n, "flag": common}
        if term == "magnitude_change":
            row["flag"] = flags.join(common, changed, uncertain)
        if sample.whole.bootstrap is not None and term in _TERMS:
            row = _with_bootstrap(row, [sample], term, sample.key)
        rows.append(row)
    return rows


def _with_bootstrap(row: Record, samples: list[StrategySample], term: str, key: Record) -> Record:
    """Replace the interval by a bootstrap of the mean of the samples."""
    whole, width = samples[0].whole, samples[0].answers.shape[1]
    plan = whole.bootstrap
    assert plan is not None

    def statistic(totals: Floats) -> Floats:
        parts = [_score_changes(totals[:, k * width : (k + 1) * width], term) for k in range(len(samples))]
        return np.asarray(np.mean(parts, axis=0), dtype=np.float64)

    rows = np.concatenate([s.rows for s in samples])
    added = np.zeros((len(rows), len(samples), width))  # separate columns for each judge
    judge = np.repeat(np.arange(len(samples)), [len(s.rows) for s in samples])
    added[np.arange(len(rows)), judge] = np.concatenate([s.answers for s in samples])
    units, within = whole.where(rows), plan
    if not plan.cluster:
        stratum = judge * len(whole.columns["strategy"].labels) + np.concatenate([s.strata for s in samples])
        strata = Factor(stratum, range(int(stratum.max()) + 1))
        units, within = replace(units, columns=units.columns.but(**{STRATUM: strata})), replace(plan, strata=STRATUM)
    cells = units.resampled(added.reshape(len(rows), -1), statistic, key, plan=within)
    return {**row, **cells, "method": plan.way, "flag": flags.join(row["flag"], cells["flag"])}


def _samples_of_judges(samples: list[StrategySample], judges: Sequence[str] | None) -> list[StrategySample]:
    judge_names = sorted({str(s.key["judge"]) for s in samples})
    for judge in names(judges or ()):
        refuse_unknown(judge, judge_names, f"judges= names {judge!r}, who is not in the data", "Judges")
    return [s for s in samples if judges is None or str(s.key["judge"]) in names(judges)]


def _left_out(samples: Sequence[StrategySample]) -> str:
    """Flag of the pairs, or independent calls, that lack an answer."""
    lacking = "pairs without an answer under both" if samples[0].answers.shape[1] == 9 else "calls without an answer"
    return flags.EXCLUDED.of(sum(s.left_out for s in samples), what=lacking)


def _mean_rows(samples: list[StrategySample], column: str | None) -> list[Record]:
    """Means over judges."""
    key = {**samples[0].key, "judge": None}
    filled = [s for s in samples if s.n > 0]
    lacking = flags.JUDGES_OF.of(len(filled), total=len(samples)) if len(filled) < len(samples) else ""
    if not filled:
        return [{**key, "term": t, "estimate": math.nan, "n": 0.0, "flag": flags.NO_DATA} for t in _MEANS.values()]
    cells, whole = [_term_cells(s, None) for s in filled], filled[0].whole
    dependent = whole.clusters.flag
    if len(filled) > 1 and not whole.clusters.columns:
        dependent = flags.join(flags.NOT_INDEPENDENT, dependent)
    clustered = _pair_clusters(filled, column) if column is not None else None
    rows = []
    for term in reversed(_TERMS):
        parts = {c: np.array([x[term][c] for x in cells]) for c in ("estimate", "std_error", "conf_low", "conf_high")}
        k, value = len(filled), float(parts["estimate"].mean())
        lengths = (parts["std_error"], parts["estimate"] - parts["conf_low"], parts["conf_high"] - parts["estimate"])
        error, below, above = (float(np.sqrt((x**2).sum())) / k for x in lengths)
        row = {**key, "term": _MEANS[term], "estimate": value, "n": sum(s.n for s in filled)}
        row["flag"] = flags.join(lacking, dependent, _left_out(filled))
        row |= with_interval(error, value - below, value + above)
        row["method"] = cells[0][term]["method"].on(f"mean of {k} judges")
        if clustered is not None:
            influence = np.sum([clustered.influence(s, term) for s in filled], axis=0) / k
            row |= clustered.widened(row, influence, row["std_error"] ** 2, whole.conf_level)
            row["method"] = methods.clustered(row["method"], column or "", clustered.calls)
            row["flag"] = flags.join(row["flag"], flags.few_clusters(clustered.calls))
        if whole.bootstrap is not None:
            row = _with_bootstrap(row, filled, term, {**key, "judge": ""})
        rows.append(row)
    return rows
