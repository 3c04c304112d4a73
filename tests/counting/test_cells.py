"""Scores that are infinite are refused, in frames, databases and means alike."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats.counting.cells import cells
from judgestats.errors import SchemaError
from judgestats.metrics.agreement import (
    agreement_levels,
    alpha,
    correlation,
    disagreement,
    icc,
    kappa,
    score_distribution,
    variance_components,
)
from judgestats.metrics.consensus import calibrate, consensus_deviation, rank_correlation
from judgestats.metrics.correctness import best_of_accuracy, score_error
from judgestats.verdicts.composites import composite
from metrics.tables import whole_scores
from refusals import refused

# ---------------------------------------------------------------- infinite scores

TAKES = {
    "cells": cells,
    "icc": icc,
    "consensus_deviation": consensus_deviation,
    "rank_correlation": rank_correlation,
    "alpha": alpha,
    "kappa": kappa,
    "composite": composite,
    "calibrate": calibrate,
    "score_error": score_error,
    "best_of_accuracy": lambda t: best_of_accuracy(t, right="s"),
    "correlation": correlation,
    "agreement_levels": agreement_levels,
    "score_distribution": score_distribution,
    "disagreement": disagreement,
    "variance_components": variance_components,
}


@pytest.mark.parametrize("measure", TAKES)
@pytest.mark.parametrize("engine", [lambda t: t, pl.from_pandas, lambda t: pl.from_pandas(t).lazy()])
def test_infinite_scores_are_refused_alike(measure, engine):
    table = whole_scores()
    table.loc[[3, 60], "score"] = [np.inf, -np.inf]
    with pytest.raises(SchemaError, match=r"'score' is infinite in 2 rows\. Numbers must be finite: use an empty cell"):
        TAKES[measure](engine(table))


def test_infinite_scores_of_a_database_and_of_means():
    table = whole_scores()
    pd.testing.assert_frame_equal(
        cells(duckdb.from_df(table.assign(score=table["score"].replace(5, np.nan)))).head(3),
        cells(table.assign(score=table["score"].replace(5, np.nan))).head(3),
        check_dtype=False,
    )
    table.loc[[3, 60], "score"] = [np.inf, -np.inf]
    refused(
        SchemaError,
        (lambda: cells(duckdb.from_df(table)), "'score' is infinite in 2 rows"),
        (lambda: icc(table.rename(columns={"score": "mean"})), "'mean' is infinite in 2 rows"),
    )
