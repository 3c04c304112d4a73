"""The committed study of sizes that carry information: where they do the flag stands, and elsewhere it does not."""

from pathlib import Path

import coverage_sizes as study
import pandas as pd
import pytest

TABLE = Path(__file__).parents[2] / "docs" / "coverage_sizes.csv"


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(TABLE)


def test_all_designs_are_there(table):
    assert tuple(table.columns) == study.COLUMNS
    assert len(table) == len(study.CLUSTERS) * len(study.ICCS) * len(study.MIDDLES) * len(study.SLOPES)
    assert table["replications"].min() >= 2000


def test_the_flag_is_rare_where_sizes_carry_nothing(table):
    """And there the intervals hold."""
    none = table[table["slope"] == 0]
    assert (none["flagged"] <= 0.06 + 2 * (0.05 * 0.95 / none["replications"]) ** 0.5).all(), none.to_string()
    assert none["flagged"].mean() < 0.05
    assert (none["coverage"] + 3 * none["mc_error"] > 0.93).all(), none.to_string()


def test_the_flag_stands_where_sizes_carry_much(table):
    much = table[(table["slope"] == 1) & (table["middle"] == 0.5)].set_index(["clusters", "icc"])["flagged"]
    assert much[60].min() > 0.8
    assert much[30, 0.05] > 0.8
    assert much[30, 0.3] > 0.5, "not known of so few clusters that are so alike within"


@pytest.mark.slow
def test_a_small_study_finds_both():
    none, much = (study.cell(60, 0.05, 0.5, slope, 200) for slope in (0.0, 1.0))
    assert none["flagged"] < 0.11
    assert much["flagged"] > 0.9
