"""Simulation-based calibration on a small scale: sound models pass, planted faults do not; the committed table holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pymc")
pytest.importorskip("arviz_stats")
pytest.importorskip("nutpie")

from calibration_study import (
    COLUMNS,
    DRAWS,
    MODELS,
    band,
    calibrate,
    case,
    judged,
    named,
    one,
    page_rows,
    ranks,
    summary,
)

TABLE = Path(__file__).parents[3] / "docs" / "calibration.csv"
SAMPLED = "strategies, independent margins"


def counted(found: np.ndarray, draws: int = DRAWS) -> np.ndarray:
    return np.bincount(found, minlength=draws + 1)


# --- Ranks and band ---------------------------------------------------------------------------------------------------


def test_a_rank_is_the_number_of_draws_below() -> None:
    draws = np.array([[0.1, 1.0, -5.0], [0.7, 2.0, -6.0], [0.9, 3.0, -7.0]])
    assert ranks(np.array([0.5, 9.0, -8.0]), draws, np.random.default_rng(0)).tolist() == [1, 3, 0]


def test_ties_at_a_point_mass_are_broken_evenly() -> None:
    """One draw below, four ties, one above: ranks 1 to 5, each as often."""
    draws = np.repeat(np.array([[-1.0], [0.0], [0.0], [0.0], [0.0], [2.0]]), 5000, axis=1)
    counts = counted(ranks(np.zeros(5000), draws, np.random.default_rng(1)), 6)
    assert counts[[0, 6]].tolist() == [0, 0]
    assert counts[1:6] == pytest.approx(np.full(5, 1000), abs=130)


@pytest.mark.parametrize(("fits", "draws"), [(200, DRAWS), (40, DRAWS), (100, 19)])
def test_uniform_ranks_stay_inside_95_times_of_100(fits: int, draws: int) -> None:
    rng = np.random.default_rng(5)
    where = band(fits, draws)
    shares = np.cumsum(rng.multinomial(fits, np.full(draws + 1, 1 / (draws + 1)), size=4000), axis=1)[:, :-1] / fits
    slack = 1e-9
    inside = ((shares >= where.low - slack) & (shares <= where.high + slack)).all(axis=1).mean()
    assert 0.935 < inside < 0.975  # counts are discrete: never less than 95 %, beyond chance


@pytest.mark.parametrize("fits", [40, 200])
def test_p_values_of_uniform_ranks_are_no_smaller_than_uniform(fits: int) -> None:
    rng = np.random.default_rng(6)
    p = np.array([judged(counted(rng.integers(0, DRAWS + 1, fits)))["p"] for _ in range(1500)])
    for level in (0.01, 0.05, 0.2, 0.5):
        assert (p <= level).mean() == pytest.approx(level, abs=0.04)
    assert (p > 0.05).mean() > 0.93


@pytest.mark.parametrize("shape", ["to one side", "too narrow", "too wide"])
def test_ranks_that_are_not_uniform_leave(shape: str) -> None:
    rng = np.random.default_rng(7)
    share = {"to one side": rng.beta(1.6, 1, 200), "too narrow": rng.beta(0.6, 0.6, 200),
             "too wide": rng.beta(3, 3, 200)}[shape]  # fmt: skip
    found = judged(counted(np.floor(share * (DRAWS + 1)).astype(int)))
    assert not found["inside"]
    assert found["p"] < 0.01


def test_the_band_is_the_binomial_interval_at_one_point() -> None:
    """One draw: the ECDF is looked at in the middle alone, and the band is the plain interval of a share."""
    where = band(100, 1)
    assert where.at.tolist() == [0.5]
    assert [where.low[0], where.high[0]] == pytest.approx([0.4, 0.6], abs=0.011)


def test_of_an_array_the_first_elements_are_ranked() -> None:
    found = named({"sd": np.zeros(7), "each": np.arange(42.0).reshape(7, 2, 3)})
    assert list(found) == ["sd", "each[0, 0]", "each[0, 1]", "each[0, 2]", "each[1, 0]"]
    assert found["each[1, 0]"].tolist() == np.arange(3.0, 42.0, 6.0).tolist()


# --- Models -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("model", "fits"), [("fast path, binomial", 40), ("fast path, cumulative", 40),
                                             ("severity", 30),
                                             pytest.param("agreement", 20, marks=pytest.mark.full)])  # fmt: skip
def test_models_without_a_sampler(model: str, fits: int) -> None:
    found = summary(calibrate(model, fits, seed=1)).loc[model]
    assert (found["fits"], found["failed"]) == (fits, 0)
    assert found["inside"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["wrong prior", "halved sd"])
@pytest.mark.parametrize(
    ("model", "fits"), [("fast path, binomial", 40), pytest.param("severity", 30, marks=pytest.mark.full)]
)
def test_a_planted_fault_is_found(model: str, fits: int, fault: str) -> None:
    assert not summary(calibrate(model, fits, seed=1, fault=fault)).loc[model, "inside"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", [None, "wrong prior", "halved sd"])
def test_a_sampled_model_and_its_faults(fault: str | None) -> None:
    found = summary(calibrate(SAMPLED, 30, seed=1, fault=fault)).loc[SAMPLED]
    assert found["short"] == 0
    assert found["inside"] == (fault is None)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_ranks() -> None:
    made = case("fast path, poisson")
    first, again, other = (one(made, seed, 3)[0] for seed in (0, 0, 1))
    assert first == again
    assert first != other


# --- The committed table ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.read_csv(TABLE)


def test_the_table_holds_every_model_with_200_fits(table: pd.DataFrame) -> None:
    assert tuple(table.columns) == COLUMNS
    assert list(dict.fromkeys(table["model"])) == list(MODELS)
    assert (table["fits"] + table["failed"] >= 200).all()
    assert (table["failed"] <= 0.01 * table["fits"]).all()


def test_verdicts_of_the_table_follow_from_its_ranks(table: pd.DataFrame) -> None:
    for _, rows in table.groupby("model"):
        for row in rows.itertuples():
            counts = np.array(str(row.counts).split(), int)
            assert len(counts) == row.draws + 1
            assert counts.sum() == row.fits
            found = judged(counts)
            assert found["inside"] == row.inside
            assert found["p"] == pytest.approx(row.p, rel=1e-3)
            assert row.inside_family == (row.p > 0.05 / len(rows))


def test_every_model_is_calibrated(table: pd.DataFrame) -> None:
    """By the bound for all quantities of a model; of single quantities one in twenty leaves its band by chance."""
    found = summary(table)
    assert found["inside"].all(), found[~found["inside"]]
    assert found["outside"].sum() <= 0.1 * len(table)


def test_the_page_shows_the_table(table: pd.DataFrame) -> None:
    page = TABLE.with_suffix(".md").read_text(encoding="utf-8")
    for row in page_rows(table):
        assert row in page
