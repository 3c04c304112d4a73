"""The committed coverage study: complete, and what covers too little is flagged by the function itself."""

from pathlib import Path

import pandas as pd
import pytest
from coverage_cells import cells
from coverage_draws import MISUSE
from coverage_study import COLUMNS, too_low

TABLE = Path(__file__).parents[2] / "docs" / "coverage.csv"


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(
        TABLE, keep_default_na=False, na_values=dict.fromkeys(("coverage", "mc_error", "mean_width"), "")
    )


def test_every_cell_of_the_study_is_there(table):
    assert tuple(table.columns) == COLUMNS
    every = list(cells())
    assert len(table) == len(every)
    assert set(table["measure"]) == {c.measure for c in every}
    assert (table["replications"] >= 2000).all()


def test_what_covers_too_little_is_flagged(table):
    low = too_low(table[table["design"] != MISUSE])
    silent = low[low["flags"] < 0.9]
    assert not len(silent), silent[["measure", "interval", "n", "clusters", "truth", "coverage", "flags"]].to_string()
    assert len(low) > 10, "the study finds what is known to be weak"


def test_calls_of_clusters_taken_as_independent_cover_too_little(table):
    misused = table[(table["design"] == MISUSE) & (table["interval"] == "accuracy: Wilson on calls")]
    assert (misused["coverage"] < 0.93).all()
