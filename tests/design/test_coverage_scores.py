"""The committed study of scores that are not normal: what does not hold is flagged; and a small study."""

from pathlib import Path

import coverage_scores
import pandas as pd
import pytest
from coverage_scores import COLUMNS, DESIGNS, MEASURES, POINTS, ScoreDesign, cells

TABLE = Path(__file__).parents[2] / "docs" / "coverage_scores.csv"
BOUND = 3.09
#: Squares of errors that have no variance, or hardly one, cannot be covered: docs/limitations.md says how far.
BEYOND = ("t3 errors", "log-normal")


@pytest.fixture(scope="module")
def table():
    rows = pd.read_csv(TABLE)
    return rows.assign(upper=rows["coverage"] + BOUND * rows["mc_error"])


def test_every_measure_and_design_is_there(table):
    assert tuple(table.columns[: len(COLUMNS)]) == COLUMNS
    named = {(m, d.name) for m in MEASURES for d in DESIGNS if m != "kappa" or d.kind in POINTS}
    assert named == set(zip(table["measure"], table["design"], strict=True))
    assert (table["replications"] >= 400).all()


def test_what_covers_too_little_is_flagged_or_has_no_variance(table):
    often = table["flagged"] + BOUND * (0.8 * 0.2 / table["replications"]) ** 0.5 >= 0.8
    silent = table[(table["upper"] < 0.93) & ~often & ~table["design"].str.endswith(BEYOND)]
    assert silent.empty, silent.to_string()
    assert table.loc[table["design"].str.endswith(BEYOND), "upper"].min() > 0.8


def test_normal_scores_and_plain_scales_are_rarely_flagged_and_hold(table):
    plain = table[table["design"].str.endswith(("normal", "five points")) & ~table["design"].str.endswith("log-normal")]
    assert (plain["upper"] > 0.93).all(), plain.to_string()
    assert (plain["flagged"] <= 0.06 + BOUND * (0.06 * 0.94 / plain["replications"]) ** 0.5).all(), plain.to_string()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["score_error", "correlation", "icc"])
def test_a_small_study_covers_gross_errors(name, monkeypatch):
    """Normal theory covers .7 of them; fewer far items than in the full study tell the truth to .01."""
    monkeypatch.setattr(coverage_scores, "_FAR", 50_000)
    rows = cells(name, ScoreDesign("gross errors", 200), 200)
    assert min(row["coverage"] for row in rows) > 0.89
