"""What a corrected rate is made of: its options, the estimate with its influences, and means with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from judgestats import flags, methods
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, choose
from judgestats.estimate import Estimate, student, varies
from judgestats.kernels.cluster_robust import degrees_of_freedom
from judgestats.kernels.cluster_sums import cluster_sums, covariance, effective_clusters, leverage_scale
from judgestats.kernels.corrected_means import shares
from judgestats.kernels.proportions import wilson
from judgestats.metrics.correctness.labelled_samples import LabelledGroup
from judgestats.typing import Floats, Mask, Record
from judgestats.wording import Method

#: How the labelled items were drawn: at random from all, or so many of each class of the label.
Sampling = Literal["random", "by class"]
#: Whose labels correct: one's own, those of all, or those of one level: ``{"system": "base"}``.
CalibratedOn = Literal["own", "shared"] | Mapping[str, str]


@dataclass(frozen=True)
class Correction:
    """Options of the estimate, the same for every group; `sampling` is None where `label_probability` is named."""

    sampling: Sampling | None
    label_probability: str | None = None
    strata: str | None = None
    weights: Mapping[str, float] | None = None
    ddof: int = 1
    coefficient: float | None = None
    calibrated_on: CalibratedOn = "own"
    margin: float | None = None
    panel: bool = False
    conf_level: float = CONF_LEVEL

    def __post_init__(self) -> None:
        if (self.sampling is None) == (self.label_probability is None):
            raise DesignError(
                "State how the labelled items were drawn, because the method depends on it: sampling='random' (from "
                "the same items as the others), sampling='by class' (so many of each class of the label), or "
                "label_probability= (a column of known probabilities). "
                f"Got {'none' if self.sampling is None else 'two'} of them.",
                problem="needs to know how the labelled items were drawn: sampling=",
            )
        if self.sampling is not None:
            choose(self.sampling, get_args(Sampling), "sampling")
        if self.by_class and (self.panel or self.strata):
            raise DesignError(
                f"{'panel=True' if self.panel else 'strata='} goes with labels drawn at random; sampling='by class' "
                "corrects the verdicts of one judge at a time."
            )
        if (self.strata is None) != (self.weights is None):
            raise DesignError(
                "strata= needs weights=, the known share of each of its levels, and weights= needs strata=."
            )
        if self.by_class and self.coefficient is not None:
            raise DesignError("coefficient= is that of PPI++; sampling='by class' has none.")
        if self.ddof not in (0, 1):
            raise DesignError(f"ddof={self.ddof!r} is not allowed. Allowed: 1 (the default) or 0.")
        if not (isinstance(self.calibrated_on, Mapping) or self.calibrated_on in ("own", "shared")):
            raise DesignError(
                f"calibrated_on={self.calibrated_on!r} is not known. Allowed: 'own', 'shared', or {{column: level}}."
            )
        if self.calibrated_on != "own" and (self.label_probability or self.panel or self.strata):
            raise DesignError("calibrated_on= goes with sampling=, one judge at a time and without strata.")
        if self.margin is not None and not self.margin > 0:
            raise DesignError(f"margin={self.margin!r} must be above 0, on the scale of the verdicts: 0.05, say.")

    @property
    def by_class(self) -> bool:
        """Whether so many of each class of the label were drawn."""
        return self.sampling == "by class"

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns that the estimate needs beside verdicts and labels."""
        return tuple(c for c in (self.label_probability, self.strata) if c is not None)


class LabelStratum(NamedTuple):
    """Labels drawn with one probability beside verdicts of one kind."""

    weight: float  # of the stratum in the rate
    share: float  # of positive labels
    size: float  # effective number of labels


#: The strata of one rate.
Strata = Sequence[LabelStratum]


@dataclass(frozen=True)
class Rate:
    """A corrected rate: what it is and what it rests on."""

    estimate: Estimate  # without an interval, if this is from the influences
    influence: Floats  # (N,): of a unit of each row of the group
    rows: Mask  # that it rests on
    n: float
    n_labels: float
    binary: bool
    refusal: str  # why it is no number
    cautions: str
    parts: list[Record]  # rows of the result about sensitivity, lambda and so on
    weights: Floats | None = None  # (N,): of the labels, where they differ
    strata: Strata = ()  # of labels drawn with few probabilities


def std_error(group: LabelledGroup, influence: Floats, rows: Mask) -> tuple[float, float]:
    """Standard error of an estimate, and the number of clusters behind it."""
    held = rows & (group.n > 0)
    unit = None if group.unit is None else group.unit[held]
    variance = float(covariance(influence[held][:, None], group.n[held], unit)[0, 0])
    return math.sqrt(variance), group.clusters(rows)


def freedom(group: LabelledGroup, influence: Floats, rows: Mask, weights: Floats | None = None) -> float:
    """Satterthwaite's degrees of freedom of a variance: of the labelled rows, by `weights` (N,), and the rest."""
    total, squares = 0.0, 0.0
    for part, size in ((group.labelled, group.n if weights is None else weights), (~group.labelled, group.n)):
        held = rows & part & (group.n > 0)
        unit = None if group.unit is None else group.unit[held]
        if not held.any():
            continue
        variance = float(covariance(influence[held][:, None], group.n[held], unit)[0, 0])
        each, alike = cluster_sums((size[held] / group.n[held])[:, None], group.n[held], unit)
        df = degrees_of_freedom(each[each[:, 0] > 0, 0], alike[each[:, 0] > 0])
        if variance > 0 and df > 0:
            total, squares = total + variance, squares + variance**2 / df
    return total**2 / squares if squares > 0 else math.nan


def by_cluster(method: Method, group: LabelledGroup, clusters: float) -> Method:
    """A method over so many clusters of a group, where it has any."""
    return method.by(group.cluster, f"{clusters:,.0f}") if group.cluster else method


def few(group: LabelledGroup, *samples: Mask) -> str:
    """Flag of too few clusters, or of too unequal ones, in the smallest of some samples."""
    if not group.cluster or group.unit is None:
        return ""
    sizes = [np.bincount(group.unit[rows], group.n[rows]).astype(np.float64) for rows in samples]
    return flags.few_clusters(min(sizes, key=effective_clusters))


def few_errors(group: LabelledGroup, labelled: Mask, weights: Floats | None = None) -> str:
    """Flag of a judge of whose errors few are among the labels; with `weights`, of errors that are worth few."""
    if not is_share(group, labelled):
        return ""
    errors = [group.worth(labelled & (f != group.y), weights) for f in group.f.T]
    return flags.FEW_ERRORS if min(errors) < 5 else ""


def mean(group: LabelledGroup, values: Floats, rows: Mask, weights: Floats | None = None) -> tuple[float, Floats]:
    """Mean of some rows, and the influence of a unit of each row on it; NaN for one cluster."""
    weight, summed = shares(group.n if weights is None else weights, rows), np.where(rows, values, 0.0)
    value = float((group.n * summed)[rows].sum() / group.size(rows)) if weights is None else float(weight @ summed)
    scale = leverage_scale(weight, group.n, group.unit)
    each = np.divide(weight, group.n, out=np.zeros(len(weight)), where=group.n > 0)
    return value, np.where(rows, scale * each * (summed - value), 0.0)


def mean_row(
    group: LabelledGroup, values: Floats, rows: Mask, conf_level: float, weights: Floats | None = None
) -> Record:
    """Mean of some rows with its interval: Wilson's for a share, t for other numbers."""
    size = group.size(rows)
    if size == 0:
        return {"estimate": math.nan, "n": 0.0, "flag": flags.NO_DATA}
    value, influence = mean(group, values, rows, weights)
    error, clusters = std_error(group, influence, rows)
    df = freedom(group, influence, rows, weights)
    cautions = flags.join(few(group, rows), flags.SMALL_N if size < 30 else "")
    if set(np.unique(values[rows])) <= {0.0, 1.0}:
        effective = size
        if group.cluster or weights is not None:
            worth = group.worth(rows, group.n if weights is None else weights)
            effective = worth if value in (0.0, 1.0) else min(value * (1 - value) / max(error**2, 1e-300), size)
            df = df if df > 0 else worth - 1
        else:
            error, df = math.sqrt(value * (1 - value) / size), math.inf
        by = by_cluster(methods.WILSON, group, clusters)
        estimate = Estimate(value, size, error, df, method=by, flag=cautions)
        if clusters > 1 or not group.cluster:
            low, high = wilson(value * effective, effective, conf_level, df=None if math.isinf(df) else df)
            estimate = replace(estimate, low=float(low), high=float(high))
        return estimate.cells
    if not varies(value, error):
        return Estimate(value, size, method=methods.T, flag=cautions).flagged(flags.NO_SPREAD).cells
    estimate = Estimate(value, size, error, df, method=by_cluster(methods.T, group, clusters), flag=cautions)
    if not df > 0:
        return replace(estimate, std_error=math.nan).cells
    sums, alike = cluster_sums(influence[:, None], group.n, group.unit)
    return estimate.by_influences(sums[:, 0], conf_level, alike).cells


def is_share(group: LabelledGroup, rows: Mask) -> bool:
    """Whether verdicts and labels of some rows are 0 or 1."""
    used = np.concatenate([group.f[rows].ravel(), group.y[rows & group.labelled]])
    return set(np.unique(used)) <= {0.0, 1.0}


def by_influence(
    group: LabelledGroup,
    value: float,
    influence: Floats,
    rows: Mask,
    conf_level: float,
    method: Method,
    most: float = math.inf,
) -> Estimate:
    """An estimate between -`most` and `most` with a t interval; without one where nothing varies."""
    error, clusters = std_error(group, influence, rows)
    if not varies(value, error):
        return Estimate(value, flag=flags.ONE_UNIT if math.isnan(error) else flags.NO_SPREAD)
    df, by = freedom(group, influence, rows), by_cluster(method, group, clusters)
    return clipped(student(value, error, df, conf_level=conf_level, method=by), -most, most)


def clipped(estimate: Estimate, least: float, most: float) -> Estimate:
    """An estimate and its interval, clipped to the possible values; NaN where none of them is possible."""
    if estimate.high < least or estimate.low > most:
        return Estimate(math.nan, flag=flags.RATES_DO_NOT_FIT)
    value = min(max(estimate.value, least), most)
    low, high = min(max(estimate.low, least), value), max(min(estimate.high, most), value)
    return replace(estimate, value=value, low=low, high=high)
