"""Do the confidences of a judge say how often it is right: :func:`confidence_calibration`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags, methods
from judgestats.counting.bootstrap import Bootstrap, read_off
from judgestats.counting.clustering import Cluster
from judgestats.counting.patterns import TiesOfVerdicts
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError
from judgestats.estimate import mean_over_clusters
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.kernels.isotonic import binned_error, brier_parts, pooled
from judgestats.kernels.proportions import clustered_wilson, wilson
from judgestats.kernels.resampling import generator, percentile_interval
from judgestats.metrics.confidence.confident_answers import answers_of
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term
from judgestats.results import estimates, with_interval
from judgestats.schema.coding import codes_of, each_group
from judgestats.schema.columns import By, answer_column, kind_of
from judgestats.typing import Floats, Ints, Mask, Record

TERMS = ("brier", "miscalibration", "discrimination", "uncertainty", "overconfidence")
#: Term -> values that it cannot pass; of the others 0 and 1.
_LIMITS = {"uncertainty": (0.0, 0.25), "overconfidence": (-1.0, 1.0)}


def _confident(data: IntoFrame, _: MeasureOptions) -> str:
    columns = Study.of(data).names
    if "confidence" not in columns:
        return "needs a column 'confidence'"
    has_gold = "gold" in columns or (kind_of(columns) == "ratings" and answer_column(columns) == "correct")
    return "" if has_gold else "needs a column 'gold'"


@Measure(
    "Do its confidences say how often it is right?", "accuracy", "P, R and gold, counts; `confidence`",
    "bootstrap, clustered", "CORP (Dimitriadis et al. 2021)", plot="reliability",
    frames=("preferences", "ratings"), needs=(_confident,), table=TERMS,
    terms=(
        Term("brier", "Brier score", "call", "verdicts with confidence and gold", "higher",
             "Mean squared distance of the confidence from 1 (right) or 0 (wrong)."),
        Term("miscalibration", "miscalibration", "call", "verdicts with confidence and gold", "higher",
             "The part of the Brier score that recalibration would remove."),
        Term("discrimination", "discrimination", "call", "verdicts with confidence and gold", "lower",
             "How far the confidences tell right verdicts from wrong ones."),
        Term("uncertainty", "uncertainty", "call", "verdicts with confidence and gold", "",
             "The Brier score of a constant confidence, the share of right verdicts."),
        Term("overconfidence", "overconfidence", "call", "verdicts with confidence and gold", "",
             "Mean confidence minus the share of right verdicts.", neutral=0.0),
        Term("reliability", "share right at a confidence", "call", "verdicts with this confidence", "",
             "Share of right verdicts at a confidence, by isotonic regression."),
        Term("ece", "expected calibration error", "call", "verdicts with confidence and gold", "higher",
             "Mean distance of share right and mean confidence over the bins given."),
    ),
    have=("gold",),
    assumes=(
        "The probability of being right rises with the confidence; items are independent, unless they share a "
        "cluster."
    ),
)  # fmt: skip
def confidence_calibration(
    data: IntoFrame,
    *,
    confidence: str = "confidence",
    ties: TiesOfVerdicts = "exact",
    bins: int | Sequence[float] | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Calibration of stated or computed confidences: the reliability curve and the parts of the Brier score (CORP).

    Parameters
    ----------
    data : frame
        Preferences with ``gold``, or ratings with ``gold`` or ``correct``; or a tally: ``judge``, ``outcome``, the
        confidence and ``n``.
    confidence : str
        Column with the probability, from 0 to 1, that the verdict is right: what a judge states, the probability of
        the token that it chose, or the share of its repeats (``aggregate(how="dawid_skene")`` makes one).
    ties : {'exact', 'drop'}
        A tie where the gold is a candidate is wrong, or excluded.
    bins : int or sequence of float, optional
        Add the expected calibration error over so many bins of equal width, or over bins with these edges. It depends
        on the bins; without them it is not computed.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not. The bootstrap draws its
        levels whole.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``brier`` = ``miscalibration`` - ``discrimination`` + ``uncertainty`` (exactly); ``overconfidence``,
        the mean confidence minus the share of right verdicts; with `bins` ``ece``; and the curve: ``reliability``, a
        row for each confidence that occurs, which stands in the column ``level``, with a pointwise band. ``n`` counts
        verdicts. Where all verdicts are right, or all wrong, there is no ``discrimination``.

    Raises
    ------
    SchemaError
        If a confidence is not between 0 and 1, or there is no such column.
    DesignError
        If the right answers are not known.

    See Also
    --------
    abstention_threshold : When not to use a verdict.
    accuracy : Share of right verdicts.

    Notes
    -----
    The curve is the isotonic regression of right on confidence (pool adjacent violators): no bins to choose, and never
    falling. Miscalibration is what would be gained by replacing the confidences by it; discrimination what it gains
    over a constant. Both are computed from the data that the curve was fitted to, so both are biased upwards, most
    where there are many different confidences and few verdicts; their intervals (Student's) allow for the bias that
    the bootstrap shows. The band has the outer ends of this interval, the percentile interval and Wilson's interval of
    the share right at this confidence alone: resamples do not show how far the curve is drawn to its neighbours. Where
    the curve is 0 or 1 it is Wilson's.
    Do not use it to compare judges on different items: uncertainty, and so the Brier score, is a property of the items.

    References
    ----------
    Dimitriadis, T., Gneiting, T., Jordan, A. I. (2021). Stable reliability diagrams for probabilistic classifiers. PNAS
    118, e2016191118.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "confidence": [0.6, 0.6, 0.8, 0.8, 0.95, 0.95],
    ...                        "outcome": ["correct", "wrong"] * 3, "n": [22, 18, 35, 15, 90, 20]})
    >>> found = confidence_calibration(counts, n_resamples=200)
    >>> found[["term", "level", "estimate", "n"]].round(4)
                 term  level  estimate      n
    0           brier    NaN    0.1964  200.0
    1   miscalibration    NaN    0.0126  200.0
    2  discrimination    NaN    0.0110  200.0
    3     uncertainty    NaN    0.1948  200.0
    4  overconfidence    NaN    0.1075  200.0
    5     reliability   0.60    0.5500   40.0
    6     reliability   0.80    0.7000   50.0
    7     reliability   0.95    0.8182  110.0
    """
    edges = _edges(bins)
    answers = answers_of(data, confidence, by, cluster, "confidence_calibration")
    table = answers.table
    column = answers.clusters.column
    plan = Bootstrap("percentile", (column,) if column else (), None, n_resamples, seed, conf_level)
    dependent = answers.clusters.flag
    rows: list[Record] = []
    for key, part in each_group(table, answers.groups):
        rows += [{**key, **row} for row in _calibration_rows(part, confidence, ties, edges, plan, key, dependent)]
    return estimates(answers.excluded.flagged(rows, answers.groups), answers.groups, ["level"])


def _edges(bins: int | Sequence[float] | None) -> Floats | None:
    """Edges of the bins; DesignError if they are not valid."""
    if bins is None:
        return None
    if isinstance(bins, int | np.integer):
        if bins < 1:
            raise DesignError(f"bins={bins!r} is not a number of bins. Use 10, say, or edges: [0, 0.5, 0.8, 1].")
        return np.linspace(0, 1, int(bins) + 1)
    edges = np.asarray(list(bins), dtype=float)
    if edges.size < 2 or (np.diff(edges) <= 0).any() or edges[0] != 0 or edges[-1] != 1:
        raise DesignError(f"bins={list(bins)!r} are not edges. They must increase from 0 to 1: [0, 0.5, 0.8, 1], say.")
    return edges


def _calibration_rows(
    part: pd.DataFrame, confidence: str, ties: str, edges: Floats | None, plan: Bootstrap, key: Record, dependent: str
) -> Iterator[Record]:
    """Rows of one judge."""
    outcome, n = part["outcome"].to_numpy(dtype=object), part["n"].to_numpy(dtype=float)
    stated = part[confidence].to_numpy(dtype=float)
    valid = (outcome != "invalid") & ~((outcome == "tie") & (ties == "drop"))
    used = valid & ~np.isnan(stated) & (n > 0)
    notes = flags.join(
        flags.INVALID_EXCLUDED.of(float(n[outcome == "invalid"].sum())),
        flags.EXCLUDED.of(float(n[valid & np.isnan(stated)].sum()), what="without a confidence"),
    )
    terms = [*TERMS, *(["ece"] if edges is not None else [])]
    total = float(n[used].sum())
    if not total:
        yield from (
            {"term": t, "estimate": math.nan, "n": 0.0, "flag": flags.join(flags.NO_DATA, notes)} for t in terms
        )
        return
    level, place = np.unique(stated[used], return_inverse=True)
    counts = _Counts(level, place.reshape(-1), n[used] * (outcome[used] == "correct"), n[used], None, int(total))
    if plan.cluster:
        codes = codes_of(part[used], list(plan.cluster))
        counts = replace(counts, cluster=codes.code.astype(np.int64), units=codes.size)
    right, weight = counts.sums()
    value, curve = _statistics(level, right, weight, edges)
    draws, curves = _statistics(level, *counts.resampled(plan, key), edges)
    alike = right.sum() in (0.0, total)
    few = flags.few_clusters(counts.sizes, resampled=True) if counts.cluster is not None else ""
    small = flags.join(dependent, flags.SMALL_N if total < 30 else "", few)
    student = replace(plan, method="t")
    for term in terms:
        about = {"n": total, "method": student.way, "flag": ""}
        row: Record = {"term": term, "estimate": float(value[term]), **about}
        if term == "discrimination" and alike:
            row.update(estimate=math.nan, flag=flags.ONE_OUTCOME)
        elif counts.units < 2:
            row["flag"] = flags.ONE_UNIT
        elif term in _MEANS and counts.cluster is not None:
            row |= counts.mean(_MEANS[term], plan, _LIMITS.get(term, (0.0, 1.0)))
        else:
            limits = _LIMITS.get(term, (0.0, 1.0))
            row |= read_off(row["estimate"], draws[term], counts.worth, student, limits)
        yield {**row, "flag": flags.join(row["flag"], flags.ONE_OUTCOME if alike else "", small, notes)}
    for i, x in enumerate(level):
        row = {"term": "reliability", "level": float(x), "estimate": float(curve[i]), "n": float(weight[i])}
        row |= {
            "method": methods.T.on(plan.way.parts.way, " and ").drawn_as(plan.way),
            "flag": flags.ONE_UNIT if counts.units < 2 else "",
        }
        if counts.units > 1:
            ends = read_off(row["estimate"], curves[:, i], counts.worth, student, (0.0, 1.0))
            row |= {**ends, "method": row["method"]}
            low, high = percentile_interval(curves[:, i], plan.conf_level)
            if not math.isnan(row["conf_low"]):  # the outer ends: each alone is too narrow where the curve is steep
                alone = counts.wilson(level == x, plan.conf_level)
                row |= {
                    "conf_low": float(np.nanmin([row["conf_low"], low, alone["conf_low"]])),
                    "conf_high": float(np.nanmax([row["conf_high"], high, alone["conf_high"]])),
                }
            row |= counts.wilson(curve == curve[i], plan.conf_level) if curve[i] in (0.0, 1.0) else {}
        few_here = flags.join(flags.SMALL_N if weight[i] < 30 else "", counts.few(i))
        yield {**row, "flag": flags.join(row["flag"], few_here, small, notes)}


#: Terms that are means over verdicts, and what each adds: a function of its confidence and of whether it is right.
_MEANS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "brier": lambda x, right: (x - right) ** 2,
    "overconfidence": lambda x, right: x - right,
}


@dataclass(frozen=True)
class _Counts:
    """Verdicts of one judge."""

    level: Floats  # (L,): the confidences
    place: NDArray[np.intp]  # (R,): the level of each row
    right: Floats  # (R,): right verdicts, of `n`
    n: Floats
    cluster: Ints | None  # (R,): None for independent verdicts
    units: int  # how many clusters, or verdicts, there are

    def sums(self, times: Floats | float = 1.0) -> tuple[Floats, Floats]:
        """Right and all verdicts at each level, each row counted so many times."""
        right, n = (
            np.bincount(self.place, times * x, self.level.size).astype(np.float64) for x in (self.right, self.n)
        )
        return right, n

    def resampled(self, plan: Bootstrap, key: Record) -> tuple[Floats, Floats]:
        """The same in each resample, (B, L)."""
        rng = generator(plan.seed, tuple(map(str, key.values())))
        right, n = (np.zeros((plan.n_resamples, self.level.size)) for _ in range(2))
        for b in range(plan.n_resamples):
            if self.cluster is None:
                right[b], n[b] = self.sums(rng.multinomial(self.units, self.n / self.n.sum()) / self.n)
            else:
                times = np.bincount(rng.integers(0, self.units, self.units), minlength=self.units)
                right[b], n[b] = self.sums(times[self.cluster].astype(np.float64))
        return right, n

    @property
    def worth(self) -> float:
        """Effective number of units."""
        return float(self.units) if self.cluster is None else effective_clusters(self.sizes)

    @property
    def sizes(self) -> Floats:
        """Verdicts of each cluster."""
        assert self.cluster is not None
        return np.bincount(self.cluster, self.n, self.units).astype(np.float64)

    def mean(self, loss: Callable[[Floats, Floats], Floats], plan: Bootstrap, limits: tuple[float, float]) -> Record:
        """Interval by clusters of the mean of a loss, a function of confidence and of whether a verdict is right."""
        x = self.level[self.place]
        summed = self.right * loss(x, np.ones_like(x)) + (self.n - self.right) * loss(x, np.zeros_like(x))
        assert self.cluster is not None
        k = np.bincount(self.cluster, summed, self.units).astype(np.float64)
        estimate = mean_over_clusters(k, self.sizes, plan.cluster[0], plan.conf_level)
        if not estimate.std_error > 0:
            return {"flag": flags.NO_SPREAD}
        low, high = max(estimate.low, limits[0]), min(estimate.high, limits[1])
        return replace(estimate, low=low, high=high, flag="").interval

    def few(self, level: int) -> str:
        """Flag of a level at which few clusters have a verdict."""
        if self.cluster is None:
            return ""
        stated = self.place == level
        return flags.few_clusters(np.bincount(self.cluster[stated], self.n[stated]), resampled=True)

    def wilson(self, levels: Mask, conf_level: float) -> Record:
        """Wilson's interval of the share of right verdicts at some levels: where it is 0 or 1, resamples all agree."""
        rows = levels[self.place]
        if self.cluster is None:
            low, high = (float(x) for x in wilson(self.right[rows].sum(), self.n[rows].sum(), conf_level))
            return with_interval(math.nan, low, high, method=methods.WILSON, flag="")
        k, n = (np.bincount(self.cluster[rows], x[rows], self.units).astype(np.float64) for x in (self.right, self.n))
        _, low, high = clustered_wilson(k, n, conf_level)
        flag = flags.ONE_UNIT if math.isnan(low) else ""
        return with_interval(math.nan, low, high, method=methods.WILSON.on("clustered"), flag=flag)


def _statistics(level: Floats, right: Floats, n: Floats, edges: Floats | None) -> tuple[dict[str, Floats], Floats]:
    """Terms (...), and the curve at each level (..., L), interpolated where a resample has no verdict."""
    fitted = pooled(right, n)
    parts = brier_parts(level, right, n, fitted)
    total = n.sum(axis=-1)
    values = {
        "brier": parts.score,
        "miscalibration": parts.miscalibration,
        "discrimination": parts.discrimination,
        "uncertainty": parts.uncertainty,
        "overconfidence": (n * level - right).sum(axis=-1) / total,
    }
    if edges is not None:
        values["ece"] = binned_error(level, right, n, edges)
    curve = fitted.copy()
    for index in np.ndindex(n.shape[:-1]):
        has_verdicts = n[index] > 0
        if not has_verdicts.all():
            curve[index] = np.interp(level, level[has_verdicts], fitted[index][has_verdicts])
    return values, curve
