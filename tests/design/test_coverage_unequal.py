"""The committed study of unequal clusters: what does not hold is flagged, and what is regular is neither wide nor flagged.

Each rule allows for the Monte Carlo error of its cell (a bound of 99.9 %).
"""

import sys
from functools import partial
from pathlib import Path

import coverage_tasks
import coverage_unequal
import pandas as pd
import pytest
from coverage_designs import GRID, NAMED
from coverage_measures import MEASURES
from coverage_unequal import COLUMNS, SHARE, cells, share_cell

TABLE = Path(__file__).parents[2] / "docs" / "coverage_unequal.csv"
BOUND = 3.09
#: Shares of calls or pairs, of which an interval is asked in every design.
SHARES = (
    "share",
    "accuracy",
    "win_rate",
    "first_share_nontie",
    "consistency",
    "raw_false_preference",
    "prefers_target",
)
#: Intervals that hold for several terms at once, or for all judges, so that one of them covers more.
SIMULTANEOUS = {"delta0", "target_sensitivity"}
#: Terms that are the largest of several, or a distance from 0: near a tie no interval is as narrow as their spread.
FOLDED = {"magnitude_change", "constant_answer  people", "magnitude"}


@pytest.fixture(scope="module")
def table():
    rows = pd.read_csv(TABLE, keep_default_na=False, na_values=[""])
    return rows.assign(
        upper=rows["coverage"] + BOUND * rows["mc_error"], lower=rows["coverage"] - BOUND * rows["mc_error"]
    )


def shown(rows):
    return rows[["measure", "design", "term", "truth", "coverage", "flagged", "width_ratio"]].to_string()


def test_every_measure_and_design_is_there(table):
    assert tuple(table.columns[: len(COLUMNS)]) == COLUMNS
    named = {(m, d.name) for m in MEASURES for d in NAMED} | {(SHARE, d.name) for d in GRID}
    named |= {(m, d.name) for m in coverage_tasks.MEASURES for d in coverage_tasks.DESIGNS}
    assert named == set(zip(table["measure"], table["design"], strict=True))


def test_what_covers_too_little_is_flagged(table):
    silent = table[(table["upper"] < 0.93) & (table["flagged"] < 0.9)]
    assert silent.empty, shown(silent)


def test_a_flag_is_no_substitute_for_the_interval_of_a_share(table):
    shares = table[table["term"].isin(SHARES) & table["truth"].between(0.2, 0.8) & (table["clusters"] >= 30)]
    low = shares[shares["upper"] < 0.92]
    assert len(shares) > 40
    assert low.empty, shown(low)


def test_regular_designs_are_rarely_flagged_and_not_wide(table):
    regular = table[table["regular"] & table["truth"].between(0.2, 0.8) & ~table["measure"].isin(SIMULTANEOUS)]
    regular = regular[~regular["term"].str.startswith(tuple(FOLDED))]
    assert len(regular) > 50
    flagged = regular[regular["flagged"] > 0.05 + BOUND * (0.05 * 0.95 / regular["replications"]) ** 0.5]
    assert flagged.empty, shown(flagged)
    assert regular[regular["lower"] > 0.975].empty, shown(regular[regular["lower"] > 0.975])
    assert regular[regular["width_ratio"] > 1.3].empty, shown(regular[regular["width_ratio"] > 1.3])


def test_all_of_the_grid_has_10000_replications(table):
    grid = table[table["measure"] == SHARE]
    assert len(grid) == len(GRID) == 160
    assert (grid["replications"] == 10_000).all()


def test_the_routine_by_arrays_covers_as_the_measure_does():
    """Accuracy on the same design, whose truth is estimated from many clusters; and it fails at a wrong rate."""
    design = next(d for d in GRID if d.name == "30 log-normal, icc 0.3, rate 0.8")
    (share,) = share_cell(design, 1000)
    (accuracy,) = [r for r in cells("gold_agreement", design, 1000) if r["term"] == "accuracy"]
    assert abs(share["coverage"] - accuracy["coverage"]) < BOUND * 2**0.5 * share["mc_error"]
    assert share["width"] == pytest.approx(accuracy["width"], rel=0.02)
    assert share["flagged"] == pytest.approx(accuracy["flagged"], abs=0.02)


def test_a_small_study_finds_an_interval_that_does_not_hold(monkeypatch):
    """Calls as independent cover .6 where two clusters of 30 have most of them."""
    from coverage_measures import _COUNTED

    two_heavy = next(d for d in NAMED if d.kind == "two heavy" and d.rate == 0.8)
    (held,) = [r for r in cells("gold_agreement", two_heavy, 200) if r["term"] == "accuracy"]
    assert held["coverage"] > 0.88
    labels, shares, unit, _ = _COUNTED["gold_agreement"]
    monkeypatch.setitem(_COUNTED, "gold_agreement", (labels, shares, unit, {"cluster": False}))
    (fails,) = [r for r in cells("gold_agreement", two_heavy, 200) if r["term"] == "accuracy"]
    assert fails["coverage"] < 0.75


def test_tasks_of_items_with_repeats_hold(table):
    """Over all tables, flagged or not."""
    rows = table[table["design"].isin([d.name for d in coverage_tasks.DESIGNS])]
    assert set(rows["measure"]) == {*coverage_tasks.MEASURES}
    assert rows["replications"].min() >= 400
    assert ((rows["upper"] > 0.93) & (rows["lower"] < 0.985)).all(), shown(rows)


@pytest.mark.slow
def test_items_of_a_task_are_not_independent():
    """With 12 tasks the default covers .95, the item .8."""
    design = coverage_tasks.DESIGNS[0]
    for single, low, high in ((False, 0.9, 0.99), (True, 0.6, 0.88)):
        draw = partial(coverage_tasks.drawn, name="accuracy", single=single)
        (row,) = [r for r in cells("accuracy", design, 400, draw=draw) if r["term"] == "accuracy"]
        assert low < row["coverage"] < high


def test_cells_near_a_limit_are_repeated_once_with_more_replications(tmp_path, monkeypatch):
    """Of the two designs of one measure the first covers .935 in 500 replications, the second .952."""
    computed = []

    def of_cell(name, design, replications):
        computed.append((name, design.name, replications))
        coverage = 0.935 if design is NAMED[0] else 0.952
        error = (coverage * (1 - coverage) / replications) ** 0.5
        values = dict.fromkeys(COLUMNS, 0.0) | {"regular": design.regular, "coverage": coverage, "mc_error": error}
        return [values | {"measure": name, "design": design.name, "term": "t", "replications": replications}]

    monkeypatch.setattr(coverage_unequal, "cells", of_cell)
    monkeypatch.setattr(coverage_unequal, "NAMED", NAMED[:2])
    monkeypatch.setattr(sys, "argv", ["study", "--measures", "kappa", "--out", str(tmp_path / "table.csv")])
    for _ in range(2):  # the second run finds nothing to do
        coverage_unequal.main()
    first, second = NAMED[0].name, NAMED[1].name
    assert computed == [("kappa", first, 500), ("kappa", second, 500), ("kappa", first, 4000)]
    assert sorted(pd.read_csv(tmp_path / "table.csv")["replications"]) == [500, 4000]
