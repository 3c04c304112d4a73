"""Verdicts with a confidence and a right answer, counted: what the measures of confidence work on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.counting.clustering import Cluster
from judgestats.counting.clusters import Clusters
from judgestats.counting.study import Study
from judgestats.counting.tallies import count
from judgestats.errors import DesignError, SchemaError, refuse_unknown
from judgestats.metrics.correctness.gold_labels import labelled_calls, labelled_verdicts
from judgestats.metrics.exclusions import ExcludedCalls
from judgestats.schema.columns import By, answer_column, kind_of, names, required


@dataclass(frozen=True)
class ConfidentAnswers:
    """Counts of verdicts."""

    table: pd.DataFrame  # the groups, ``outcome``, the confidence, further columns, ``n``, the cluster
    groups: list[str]
    clusters: Clusters
    excluded: ExcludedCalls  # verdicts without a right answer


def answers_of(
    data: IntoFrame, confidence: str, by: By, cluster: Cluster, measure: str, columns: tuple[str, ...] = ()
) -> ConfidentAnswers:
    """Counts of verdicts by confidence and outcome (``correct``, ``wrong``, ``tie``, ``invalid``), and `columns`."""
    present = list(Study.of(data).names)
    problem = f"{measure} needs the confidence of each verdict, and there is no column {confidence!r}"
    refuse_unknown(confidence, present, problem, "Columns", remedy=" Name it with confidence='...'.", error=SchemaError)
    tallied = {"judge", "outcome", "n"} <= set(present) and "choice" not in present
    ratings = not tallied and not set(required("preferences")) <= set(present) and kind_of(present) == "ratings"
    if not (tallied or "gold" in present or (ratings and answer_column(present) == "correct")):
        raise DesignError(
            f"{measure} needs the right answers: a column 'gold', or for ratings 'correct'. Columns: "
            f"{', '.join(present)}. Join people's answers with join_labels(), or add the column."
        )
    further = [c for c in columns if c in present and c not in names(by)]
    labelled, excluded = (labelled_verdicts if ratings else labelled_calls)(data, by, measure)
    if ratings and answer_column(present) == "mean":
        raise DesignError(f"{measure} needs single verdicts, each with its confidence. These are means of runs.")
    pattern = "accuracy" if ratings else "gold_agreement"
    counts = count(labelled, pattern, by, cluster=cluster, beside=[confidence, *further])
    table = excluded.with_empty(counts).table
    table = table.assign(**{confidence: _probabilities(table[confidence], confidence)})
    return ConfidentAnswers(table, list(counts.groups), counts.clusters, excluded)


def _probabilities(values: pd.Series, name: str) -> pd.Series:
    """Confidences as numbers, refused where they are no probabilities."""
    number = pd.to_numeric(values, errors="coerce").astype(float)
    text = number.isna() & values.notna()
    if text.any():
        raise SchemaError(f"{name!r} is {values[text].iloc[0]!r} in some rows, and not a probability. Give 0.85, say.")
    off = number[(number < 0) | (number > 1) | np.isinf(number)]
    if len(off):
        low, high = off.min(), off.max()
        remedy = " Divide percentages by 100." if low >= 0 and 1 < high <= 100 else ""
        raise SchemaError(
            f"{name!r} must be the probability that the verdict is right, from 0 to 1. Got {off.iloc[0]:g} "
            f"(in all {len(off):,} counts outside, from {low:g} to {high:g}).{remedy}"
        )
    return number
