"""The coverage study of mixed models: a small run, and the committed table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from coverage_models import COLUMNS, cells, drawn, fitted, is_fixed, laid_out, scarce, too_low, whole

from judgestats.flags import FEW_CALLS, RARE
from judgestats.models.estimation import as_fit

TABLE = Path(__file__).parents[2] / "docs" / "coverage_models.csv"
CELLS = {cell.name: cell for cell in cells()}


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(TABLE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "binary, 50 items x 8 judges, sd 1",
        "binary, slopes of 100 items of 20 calls",
        "5 ordered categories, 100 items of 8 calls",
        "Poisson, mean 7.4, 40 items of 10 calls, an effect of each call",
        "Gaussian, 50 items of 10 calls, REML",
    ],
)
def test_a_small_run_recovers_what_was_put_in(name):
    found = whole([CELLS[name]], 20)
    own = found[is_fixed(found)]
    assert len(own) >= 2
    assert (own["bias"].abs() < 4.5 * own["mc_error"]).all()
    assert (found["coverage"] >= 0.6).all()
    again = whole([CELLS[name]], 20)
    pd.testing.assert_frame_equal(found, again)


def test_the_table_is_that_of_the_study(table):
    assert tuple(table.columns) == COLUMNS
    assert table["design"].unique().tolist() == list(CELLS)
    assert (table["n_replications"] >= 1000).all()
    for name, rows in table.groupby("design"):
        assert set(rows["parameter"]) == set(CELLS[name].truth), name


def test_where_fixed_effects_cover_too_little_the_fit_is_flagged(table):
    low = too_low(table[is_fixed(table)])
    assert len(low) > 5, "the study finds what is known to be weak"
    silent = low[low["flagged_share"] < 0.99]
    assert not len(silent), silent[["design", "parameter", "method", "coverage", "flagged_share"]].to_string()


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("binary, 100 items of 3 calls, Laplace", (FEW_CALLS,)),
        ("binary, 100 items of 3 calls, integrated", ()),
        ("binary, 100 items of 5 calls, Laplace", ()),
        ("binary, rare (2 %), 100 items of 20 calls, Laplace", (RARE,)),
        ("binary, rare (2 %), 100 items of 20 calls, integrated", ()),
        ("binary, 50 items x 8 judges, sd 1", ("fewer than 30 levels of judge",)),
        ("binary, 50 items x 32 judges, sd 1", ()),
        ("Gaussian, 20 items of 10 calls, ML", ("fewer than 30 levels of item",)),
        ("Gaussian, 20 items of 10 calls, REML", ()),
        ("Gaussian, 6 items of 10 calls, REML", ("fewer than 10 levels of item",)),
    ],
)
def test_sizes_are_flagged(name, flags):
    cell = CELLS[name]
    d = laid_out(cell)
    own = as_fit(fitted(cell, d, drawn(cell, d, np.random.default_rng(0))))
    assert scarce(own) == flags
    doubts = own.check().query("level == 'caution'")["what"]
    sizes = doubts[doubts.str.startswith(("fewer than", "rarer answer"))].str.split(": ").str[0]
    assert set(sizes) == set(flags)


def test_fixed_effects_are_unbiased_where_nothing_is_flagged(table):
    own = table[is_fixed(table) & (table["flagged_share"] < 0.5) & (table["method"] == "wald")]
    # 1.5 % of an effect or a Monte Carlo error: maximum likelihood itself is biased a little in small samples
    assert (own["bias"].abs() < 0.015 * own["truth"].abs() + 4 * own["mc_error"]).all()
    assert own["coverage"].median() > 0.94
    assert own["coverage"].min() > 0.915


def test_laplace_with_few_calls_makes_a_standard_deviation_too_small_and_quadrature_does_not(table):
    sd = table[(table["parameter"] == "sd(Intercept|item)") & (table["method"] == "wald")].set_index("design")["bias"]
    laplace = [sd[f"binary, 100 items of {calls} calls, Laplace"] for calls in (2, 3, 5, 10)]
    quadrature = [sd[f"binary, 100 items of {calls} calls, integrated"] for calls in (2, 3, 5, 10)]
    assert np.all(np.diff(laplace) > 0)
    assert laplace[0] < -0.2
    assert np.abs(quadrature).max() < 0.04


def test_degrees_of_freedom_make_up_for_few_levels(table):
    own = table[table["method"].str.startswith("wald, df=")]
    assert set(own["design"]) == {name for name, cell in CELLS.items() if cell.by}
    z = table[table["method"] == "wald"].set_index(["design", "parameter"])["coverage"]
    for row in own.itertuples():
        assert row.coverage + 2 * row.coverage_error > 0.93
        if row.parameter != "x":  # which varies within levels
            assert row.coverage > z[row.design, row.parameter] + 0.03
        else:
            assert row.coverage == z[row.design, row.parameter]
    by_reml = table[is_fixed(table) & table["design"].str.startswith("Gaussian") & table["design"].str.endswith("REML")]
    assert by_reml["coverage"].min() > 0.93
