"""`by` of no columns is no grouping, in every measure."""

from __future__ import annotations

import pandas as pd

from judgestats.metrics.agreement import (
    alpha,
    correlation,
    decision_study,
    disagreement,
    icc,
    kappa,
    variance_components,
)
from judgestats.metrics.bias import consistency, preference_rate
from judgestats.metrics.consensus import consensus_deviation
from judgestats.metrics.correctness import gold_agreement, score_error
from judgestats.schema.columns import grouping, names
from judgestats.verdicts.composites import composite
from metrics.tables import calls, whole_scores

# ---------------------------------------------------------------- no grouping


def test_by_none_is_no_grouping():
    assert names(None) == []
    assert grouping(None, ["judge"]) == []
    table, preferences = whole_scores(), calls()
    for measure, data in (
        (icc, table),
        (correlation, table),
        (variance_components, table),
        (decision_study, table),
        (alpha, table),
        (kappa, table),
        (disagreement, table),
        (consensus_deviation, table),
        (score_error, table),
        (composite, table),
        (gold_agreement, preferences),
        (consistency, preferences),
        (preference_rate, preferences),
    ):
        pd.testing.assert_frame_equal(measure(data, by=None), measure(data))
