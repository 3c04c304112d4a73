"""The study of sizes of tests of models: a small run, and the committed table."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from model_sizes import COLUMNS, LARGEST, cells, whole

TABLE = Path(__file__).parents[2] / "docs" / "model_sizes.csv"
CELLS = {cell.name: cell for cell in cells()}


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.read_csv(TABLE)


def test_the_table_is_that_of_the_study(table: pd.DataFrame) -> None:
    assert tuple(table.columns) == COLUMNS
    assert table["design"].unique().tolist() == list(CELLS)
    assert (table["n_replications"] >= 300).all()
    assert (table["n_failed"] == 0).all()


def test_tests_hold_their_size_where_nothing_is_flagged(table: pd.DataFrame) -> None:
    large = table[table["size"] - 2 * table["mc_error"] > LARGEST]
    assert (large["flagged_share"] >= 0.8).all()
    silent = table[table["flagged_share"] < 0.8]
    assert len(silent) > 25
    assert silent["size"].mean() < 0.055
    assert (silent["flagged_share"] <= 0.06).all()


def test_z_does_not(table: pd.DataFrame) -> None:
    assert (table["size_of_z"] > table["size"]).all()
    assert (table["size_of_z"] > LARGEST).mean() > 0.9


@pytest.mark.slow
def test_a_small_run_is_that_of_the_table(table: pd.DataFrame) -> None:
    """Within four Monte Carlo errors, and the same again."""
    for name in ("binary, 8 judges x 30 items, judges alone", "nominal by judge, 8 judges x 30 items"):
        found = whole([CELLS[name]], 60)
        stored = table[table["design"] == name].set_index("term")
        for row in found.itertuples():
            assert abs(row.size_of_z - stored.loc[row.term, "size_of_z"]) < 4 * (0.15 * 0.85 / 60) ** 0.5
            assert row.size <= 0.05 + 4 * (0.05 * 0.95 / 60) ** 0.5
            assert row.df == pytest.approx(stored.loc[row.term, "df"], abs=0.1)
        pd.testing.assert_frame_equal(whole([CELLS[name]], 5), whole([CELLS[name]], 5))
