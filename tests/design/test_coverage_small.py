"""The coverage study on a few cells: sound intervals cover, and one that is too narrow would be caught."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from coverage_cells import cells
from coverage_draws import MISUSE, Cell
from coverage_rankings import rankings
from coverage_study import COLUMNS, covered, study, too_low
from scipy.stats import binom

REPLICATIONS = 300


@cache
def all_cells() -> tuple[Cell, ...]:
    return tuple(cells())


def chosen(measure: str, interval: str, **columns: object) -> Cell:
    found = [c for c in all_cells() if (c.measure, c.interval) == (measure, interval)]
    found = [c for c in found if all(getattr(c, k) == v for k, v in columns.items())]
    assert len(found) == 1
    return found[0]


def narrowed(rng, names, cell, share):
    """The intervals of a cell, shrunk about their middle."""
    result = cell.intervals(rng, names)
    middle, half = (result["conf_low"] + result["conf_high"]) / 2, (result["conf_high"] - result["conf_low"]) / 2
    return result.assign(conf_low=middle - share * half, conf_high=middle + share * half)


@pytest.mark.parametrize(
    "cell",
    [
        chosen("gold_agreement", "accuracy: Wilson", n=100, truth=0.5),
        chosen("gold_agreement", "accuracy: clustered Wilson", clusters=80, truth=0.5),
        chosen("delta0", "four classes: Goodman", n=100, truth=(0.25, 0.25, 0.25, 0.25)),
        chosen("position_bias", "lean: Newcombe", n=100, truth=0.1),
        chosen("corrected_rate", "by class: Lee et al.", n=500, truth=0.1, note="50 + 50 labels"),
        chosen("corrected_rate", "random: PPI++", n=300, truth=0.3),
    ],
    ids=lambda c: c.interval,
)
def test_sound_intervals_cover(cell):
    row = covered(cell, REPLICATIONS)
    hits = row["coverage"] * REPLICATIONS
    # what 92 to 98 percent give, with binomial error of one in a thousand on each side
    assert binom.ppf(0.001, REPLICATIONS, 0.92) <= hits <= binom.ppf(0.999, REPLICATIONS, 0.98)
    assert row["no_interval"] == 0
    assert 0 < row["mean_width"] < 0.5
    assert row["mc_error"] == pytest.approx(np.sqrt(row["coverage"] * (1 - row["coverage"]) / REPLICATIONS))


@pytest.mark.parametrize("share", [0.7, 0.5])
def test_a_narrow_interval_is_caught(share):
    cell = chosen("gold_agreement", "accuracy: Wilson", n=400, truth=0.5)
    planted = replace(cell, intervals=partial(narrowed, cell=cell, share=share))
    table = study([cell, planted], REPLICATIONS)
    assert list(too_low(table).index) == [1]
    assert table["mean_width"].iloc[1] == pytest.approx(share * table["mean_width"].iloc[0], rel=0.02)


def test_calls_of_clusters_are_caught_and_flagged():
    naive = chosen("gold_agreement", "accuracy: Wilson on calls", clusters=80, truth=0.5)
    row = covered(naive, REPLICATIONS)
    assert row["coverage"] < 0.88
    assert row["flags"] == 1
    assert len(too_low(pd.DataFrame([row]))) == 1


def test_missing_intervals_are_counted_apart():
    cell = chosen("gold_agreement", "accuracy: Wilson", n=20, truth=0.5)

    def half(rng, names):
        result = cell.intervals(rng, names)
        result.loc[result["judge"].isin(names[::2]), ["conf_low", "conf_high"]] = np.nan
        return result

    row = covered(replace(cell, intervals=half, batch=50), 100)
    assert row["no_interval"] == pytest.approx(0.5)
    assert row["coverage"] > 0.8
    assert row["flags"] == 1  # n < 30


def test_simultaneous_intervals_cover_only_together():
    cell = chosen("delta0", "four classes: Goodman", n=100, truth=(0.25, 0.25, 0.25, 0.25))
    wrong = replace(cell, truth=(0.25, 0.25, 0.25, 0.9))
    assert covered(wrong, 50)["coverage"] == 0


def test_same_seed_same_table():
    picked = [chosen("position_bias", "lean: Newcombe", n=20, truth=0.1)]
    one, two, three = (study(picked, 40, seed) for seed in (1, 1, 2))
    assert list(one.columns) == list(COLUMNS)
    pd.testing.assert_frame_equal(one, two)
    assert one["mean_width"].iloc[0] != three["mean_width"].iloc[0]


def test_every_cell_is_named_once():
    keys = [c.key for c in all_cells()]
    assert len(set(keys)) == len(keys)
    assert {c.design for c in all_cells()} == {"independent", "clustered", "crossed", "misuse"}


def test_misuse_is_kept_apart():
    apart = {c.interval for c in all_cells() if c.design == "misuse"}
    assert apart == {
        "accuracy: Wilson on calls",
        "win_rate: percentile, items only",
        "raw_false_preference: Wilson on calls",
        "accuracy: cluster=False",
        "win_rate: cluster=False",
        "difference: cluster=False",
        "by class: J as known",
        "strength: sandwich on calls",
    }


@pytest.mark.slow
@pytest.mark.parametrize("cell", [c for c in rankings() if c.design != MISUSE], ids=lambda c: c.key)
def test_strengths_and_sets_of_ranks_cover(cell):
    row = covered(cell, REPLICATIONS)
    assert row["coverage"] * REPLICATIONS >= binom.ppf(0.001, REPLICATIONS, 0.94)
    assert row["no_interval"] < 0.02
