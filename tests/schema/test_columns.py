"""`by` of no columns is no grouping, in every measure."""

from __future__ import annotations

import numpy as np
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
from judgestats.metrics.bias import consistency, gold_agreement, preference_rate, score_error
from judgestats.metrics.consensus import consensus_deviation
from judgestats.schema.columns import grouping, names
from judgestats.verdicts.composites import composite


def calls() -> pd.DataFrame:
    """Four calls with gold and two without; one of each has no topic."""
    return pd.DataFrame(
        {
            "judge": "g",
            "item": list("123456"),
            "first": "x",
            "second": "y",
            "choice": ["first", "second", "first", "first", "second", "first"],
            "gold": ["x", "x", "y", "x", None, None],
            "topic": ["a", "a", "a", None, "a", None],
        }
    )


def whole_scores(judges: str = "abc", items: int = 8, systems: str = "stuvw") -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = [(j, f"i{i}", s) for j in judges for i in range(items) for s in systems]
    table = pd.DataFrame(rows, columns=["judge", "item", "system"])
    return table.assign(criterion="c", score=rng.integers(1, 10, len(table)).astype(float), gold=5.0)


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
