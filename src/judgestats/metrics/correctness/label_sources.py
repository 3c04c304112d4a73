"""Whose labels correct which rate, and whether labels of others may: the difference of the gaps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.study import Calls
from judgestats.errors import DesignError, suggestion
from judgestats.kernels.corrected_means import class_rates
from judgestats.metrics.correctness.corrections import CalibratedOn, Correction, Rate, by_influence, few, mean
from judgestats.metrics.correctness.labelled_samples import (
    CALIBRATES,
    LabelledGroup,
    LabelledSample,
    LabelReading,
    groups,
    read_sample,
)
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Integers, Mask, Record


@dataclass(frozen=True)
class Level:
    """One rate: its labels, its rows, the rows of labels that correct it, and whether these are of other levels."""

    labels: Record
    rows: Mask
    source: Mask
    transported: bool


def levels(group: LabelledGroup, sample: LabelledSample, calibrated_on: CalibratedOn = "own") -> list[Level]:
    """Each combination of the `by` columns, with the rows of the labels that correct it."""
    by = [k for k in sample.keys if k != "judge"]
    if not by and not sample.shared:
        return [Level({}, np.ones(len(group.y), dtype=bool), group.labelled, False)]
    labelled, every = group.labelled, np.ones(len(group.y), dtype=bool)
    everybody = group.columns.series(CALIBRATES).to_numpy(dtype=bool) if sample.shared else ~every
    own = np.flatnonzero(~everybody)
    combinations = [*group.columns.take(own).each_group(by)] if by else [({}, np.arange(own.size))]
    combinations.sort(key=lambda level: [(bool(pd.isna(label)), str(label)) for label in level[0].values()])
    each_level = []
    for values, rows in combinations:
        level_rows = ~every
        level_rows[own[rows]] = True
        if sample.shared:
            rest = {k: v for k, v in values.items() if k not in sample.shared}
            source, away = labelled & everybody & _equal(group.columns, rest), True
        elif calibrated_on == "own":
            source, away = labelled & level_rows, False
        elif calibrated_on == "shared":
            source, away = labelled, len(combinations) > 1
        else:
            assert isinstance(calibrated_on, Mapping)
            at = {**values, **_named_level(group.columns, calibrated_on, by)}
            source, away = labelled & _equal(group.columns, at), at != values
        each_level.append(Level(values, level_rows, source, away))
    return each_level


def _equal(columns: Factors, values: Mapping[str, object]) -> Mask:
    mask = np.ones(len(columns), dtype=bool)
    for name, value in values.items():
        mask &= columns[name].among(None if pd.isna(value) else value)
    return mask


def _named_level(columns: Factors, calibrated_on: Mapping[str, str], by: Sequence[str]) -> Record:
    source_labels = {}
    for column, value in calibrated_on.items():
        if column not in by:
            raise DesignError(f"calibrated_on={dict(calibrated_on)!r}: {column!r} is not compared. Name it in by=.")
        level_values = {str(v): v for v in columns.series(column).dropna().unique()}
        if str(value) not in level_values:
            raise DesignError(
                f"calibrated_on={value!r} is not in {column!r}. It has: {', '.join(sorted(level_values)[:8])}."
                + suggestion(str(value), level_values)
            )
        source_labels[column] = level_values[str(value)]
    return source_labels


def gap_difference(group: LabelledGroup, level: Level, rate: Rate, options: Correction) -> Record:
    """Gap between judge and people of this level minus that of the labels that correct it, at the corrected rate."""
    own = level.rows & group.labelled
    other = level.source & ~own
    sizes = {"n": group.size(own), "n_labels": group.size(own | other)}
    row: Record = {"term": "gap_difference", "estimate": math.nan, **sizes}
    if not own.any() or not other.any():
        return {**row, "flag": flags.NO_LABELS}
    value, influence, rows = 0.0, np.zeros(len(own)), own | other
    if options.by_class:
        if rate.refusal:
            return {**row, "flag": rate.refusal}
        share = min(max(rate.estimate.value, 0.0), 1.0)
        slope, nobody = 0.0, np.zeros(len(own), dtype=bool)
        for sign, part in ((1, own), (-1, other)):
            y = np.where(part, group.y, np.nan)
            rates = class_rates(group.f[:, 0], y, np.where(part, group.n, 0.0), nobody, group.unit, ddof=1)
            q0, q1 = rates.specificity, rates.sensitivity
            value += sign * ((1 - q0) * (1 - share) - (1 - q1) * share)
            slope += sign * (q0 + q1)
            influence += sign * (share * rates.influence[2] - (1 - share) * rates.influence[1])
        if math.isnan(value):
            return {**row, "flag": flags.ONE_CLASS}
        influence = influence + slope * rate.influence
        rows = rows | rate.rows
    else:
        for sign, part in ((1, own), (-1, other)):
            gap, of_gap = mean(group, group.f[:, 0] - group.y, part)
            value += sign * gap
            influence += sign * of_gap
    estimate = by_influence(group, value, influence, rows, options.conf_level, methods.T.on("by influences"))
    small = flags.FEW_LABELS if min(group.size(own), group.size(other)) < 30 else ""
    return {**row, **estimate.flagged(few(group, own, other), small).cells}


def with_gap_difference(rows: list[Record], gap: Record, margin: float) -> list[Record]:
    """Add a difference of gaps to the rows of a result, and a flag to the first unless it is within `margin`."""
    within = gap.get("conf_low", math.nan) > -margin and gap.get("conf_high", math.nan) < margin
    first = {**rows[0], "flag": flags.join(rows[0]["flag"], "" if within else flags.TRANSPORT_NOT_SHOWN)}
    return [first, *rows[1:], dict(gap)]


@dataclass(frozen=True)
class Labelled:
    """Verdicts of one judge (and level of `by`), with the labels beside some: for planning."""

    labels: Record  # judge and level
    f: Floats  # (N,): verdict of each row
    y: Floats  # (N,): label, NaN where there is none
    n: Floats  # (N,): units of each row
    unit: Integers | None  # (N,): cluster of each row; None if they are independent
    flag: str  # cautions about clustering


def labelled_levels(data: Calls, calibration: IntoFrame | None, reading: LabelReading) -> Iterator[Labelled]:
    """Verdicts and labels of each judge and level, as :func:`corrected_rate` reads them."""
    sample = read_sample(data, calibration, reading)
    for judge, group in groups(sample):
        for level in levels(group, sample):
            rows = level.rows | level.source
            unit = None if group.unit is None else np.unique(group.unit[rows], return_inverse=True)[1]
            level_labels = {"judge": judge, **level.labels}
            yield Labelled(level_labels, group.f[rows, 0], group.y[rows], group.n[rows], unit, sample.dependent)
