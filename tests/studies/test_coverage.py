"""Planted values in the main tables: a seed of each study, and the table of many seeds as committed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import study_coverage as benchmark
from scipy.stats import binom

TABLE = Path(__file__).parents[2] / "docs" / "studies_coverage.csv"


@pytest.mark.parametrize("name", benchmark.STUDIES)
def test_every_planted_value_has_a_row_and_an_interval(name):
    """One seed: no value lacks its row, and hardly any interval misses it."""
    study = benchmark.STUDIES[name]
    table = benchmark.estimates(study, 1000)
    held = benchmark.covered(study, table)
    assert set(held) == set(study.values())
    assert sum(held.values()) >= binom.ppf(0.0001, len(held), 0.95)
    wrong = benchmark.covered(study, table.assign(conf_low=float("nan")))
    assert not any(wrong.values())


def test_the_committed_table_covers_what_was_planted():
    table = pd.read_csv(TABLE)
    assert set(table["study"]) == set(benchmark.STUDIES)
    sums = table.groupby(["study", "column", "row"])[["seeds", "covered"]].sum()
    places = {(n, c, " · ".join(w)) for n, s in benchmark.STUDIES.items() for c, w in s.values()}
    assert places == set(sums.index)
    assert (sums["seeds"] >= 200).all()
    p = binom.cdf(sums["covered"], sums["seeds"], 0.95)
    assert sums[p < 0.001].empty
    of_study = sums.groupby("study").sum()
    assert (of_study["covered"] / of_study["seeds"] >= 0.94).all()


def test_parts_of_the_table_are_joined_where_seeds_follow_each_other():
    rows = [
        ("s", "c", "r", 0.5, 0, 9, 10, 9),
        ("s", "c", "r", 0.5, 30, 39, 10, 8),
        ("s", "c", "r", 0.5, 10, 19, 10, 10),
    ]
    parts = pd.DataFrame(rows, columns=list(pd.read_csv(TABLE)))
    found = benchmark.joined(parts)[["first_seed", "last_seed", "seeds", "covered"]]
    assert found.to_numpy().tolist() == [[0, 19, 20, 19], [30, 39, 10, 8]]
