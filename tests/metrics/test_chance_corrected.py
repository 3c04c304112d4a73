"""Kappa, AC1 and pi: published numbers, R, twins, invariances, tallies, missing answers, bad input."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

import judgestats as js
import small_frames
import twins_coincidence as twins
from judgestats.counting.tallies import tally
from judgestats.errors import DesignError, SchemaError
from judgestats.flags import BY_STRUCTURE, FEW_CLUSTERS, FEW_DISAGREEMENTS, NOT_INDEPENDENT, RESAMPLES_AGREE
from judgestats.kernels.cohens_kappa import cohen_kappa
from judgestats.metrics import measure_registry
from judgestats.metrics.agreement import alpha
from judgestats.metrics.agreement.chance_corrected import ac1, kappa, scott_pi
from judgestats.results import COLUMNS
from metrics.tables import FOUR, but_for_clustering, noisy, panel_of_whole_scores, scores_of
from refusals import refused
from twins_variance import freedom

NAN = np.nan

ANALYTIC = ["estimate", "std_error", "conf_low", "conf_high", "n", "observed", "expected", "z", "p_value"]

#: SAS, PROC FREQ, AGREE (statsmodels tests): 19 things, two raters.
SAS = np.array([[0, 4, 1], [0, 8, 0], [0, 1, 5]])

#: irr, anxiety[, 2:3]: 20 persons.
ANXIETY = np.array([
    [3, 2], [6, 1], [4, 4], [6, 4], [2, 3], [4, 2], [2, 1], [4, 6], [3, 1], [3, 1],
    [2, 1], [3, 2], [3, 3], [3, 3], [2, 1], [2, 1], [1, 3], [3, 3], [3, 2], [4, 2],
])  # fmt: skip


def expanded(table):
    one, two = (np.repeat(np.indices(table.shape)[k].ravel(), table.ravel()) for k in (0, 1))
    return np.stack([one, two])


def calls_of(answers, judge="g", candidates=("x", "y"), **columns):
    choice = {"low": "first", "high": "second"}
    first, second = candidates
    table = {"judge": judge, "item": [f"i{k:02d}" for k in range(len(answers))], "first": first, "second": second}
    return pd.DataFrame({**table, "choice": [choice.get(a, a) for a in answers], **columns})


def turned(calls, mask):
    """The same verdicts on the same pairs, shown in the other order where the mask is true."""
    result, flip = calls.copy(), {"first": "second", "second": "first"}
    result.loc[mask, ["first", "second"]] = calls.loc[mask, ["second", "first"]].to_numpy()
    result.loc[mask, "choice"] = [flip.get(c, c) for c in calls.loc[mask, "choice"]]
    return result


@pytest.fixture(scope="module")
def verdicts():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 60)
    labels = np.array(["low", "tie", "high"])
    parts = []
    for judge in ("g", "h", "k"):
        said = labels[np.where(rng.random(60) < 0.6, truth, rng.integers(0, 3, 60))].astype(object)
        said[rng.random(60) < 0.05] = "invalid"
        parts.append(calls_of(said, judge, topic=np.where(np.arange(60) < 35, "a", "b")))
    return pd.concat(parts, ignore_index=True)


# published numbers


def test_sas():
    row = kappa(scores_of(expanded(SAS))).iloc[0]
    wanted = [0.4842, 0.1380, 0.2137, 0.7547, 3.2626, 19]
    np.testing.assert_allclose(
        row[["estimate", "std_error", "conf_low", "conf_high", "z", "n"]].astype(float), wanted, atol=5e-5
    )
    assert row["estimate"] / row["z"] == pytest.approx(0.1484, abs=5e-5)
    assert row["p_value"] == pytest.approx(2 * (1 - 0.999448), abs=2e-5)
    row = kappa(scores_of(expanded(SAS)), weights="linear").iloc[0]
    wanted = [0.4701, 0.1457, 0.1845, 0.7558]
    np.testing.assert_allclose(
        row[["estimate", "std_error", "conf_low", "conf_high"]].astype(float), wanted, atol=5.1e-5
    )


@pytest.mark.parametrize(
    ("weights", "estimate", "z"),
    [(None, -0.006289308, -0.0604067), ("linear", 0.1459075, 1.282472), ("quadratic", 0.2520325, 1.437451)],
)
def test_irr_anxiety(weights, estimate, z):
    """irr weights by the order of the levels that occur: 5 does not, so the levels are numbered here."""
    codes = np.unique(ANXIETY, return_inverse=True)[1].reshape(ANXIETY.shape)
    row = kappa(scores_of(codes.T), weights=weights).iloc[0]
    assert row["estimate"] == pytest.approx(estimate, abs=1e-7)
    assert row["z"] == pytest.approx(z, rel=1e-6)


def test_irrcac_four_raters():
    row = ac1(scores_of(FOUR)).iloc[0]
    wanted = [0.775, 0.143, 0.461, 1.0, 0.818]
    got = row[["estimate", "std_error", "conf_low", "conf_high", "observed"]].astype(float)
    np.testing.assert_allclose(got, wanted, atol=5e-4)
    assert row["p_value"] == pytest.approx(0.00021, abs=5e-6)
    assert row["n"] == 11  # of 12 units, one was rated once
    assert "1 unit rated once" in row["flag"]
    fleiss = kappa(scores_of(FOUR), pairs="fleiss").iloc[0]
    np.testing.assert_allclose(
        fleiss[["estimate", "conf_low", "conf_high"]].astype(float), [0.761, 0.424, 1.0], atol=5e-4
    )
    assert math.isnan(fleiss["z"])  # the test is for equally many raters


def test_irrcac_gives_the_same_of_classes():
    """reference/irrcac.py: two judges, four, and four with gaps, who answer with one of four classes."""
    folder = Path(__file__).parents[1] / "reference"
    expected = pd.read_csv(folder / "irrcac.csv").set_index(["data", "coefficient"])
    for name, part in pd.read_csv(folder / "irrcac_calls.csv", dtype={"item": str}).groupby("data"):
        long = part.drop(columns="data").dropna(axis=1, how="all").melt("item", var_name="judge", value_name="answer")
        calls = js.ratings(long)
        found = {
            "fleiss": kappa(calls, pairs="fleiss"),
            "gwet": ac1(calls),
            "krippendorff": alpha(calls, interval=None),
            **({"conger": kappa(calls)} if name == "two" else {}),
        }
        for coefficient, rows in found.items():
            value, error = expected.loc[(name, coefficient)]
            assert rows["estimate"].iloc[0] == pytest.approx(value, abs=1e-12)
            if coefficient in ("fleiss", "gwet"):
                assert rows["std_error"].iloc[0] == pytest.approx(error, abs=1e-12)
        if name == "two":  # Scott's pi is Fleiss's kappa of two judges
            row = scott_pi(calls).iloc[0]
            wanted = expected.loc[(name, "fleiss")]
            assert row[["estimate", "std_error"]].tolist() == pytest.approx(wanted.tolist(), abs=1e-12)


def test_wikipedia_fleiss():
    counts = np.array([
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ])  # fmt: skip
    matrix = np.stack([np.repeat(np.arange(5), c) for c in counts], axis=1)
    row = kappa(scores_of(matrix), pairs="fleiss").iloc[0]
    assert row["estimate"] == pytest.approx(0.210, abs=5e-4)
    estimate, z = twins.fleiss(counts)
    assert (row["estimate"], row["z"]) == (pytest.approx(estimate), pytest.approx(z))


def test_fleiss_1971_diagnoses():
    """Fleiss 1971, Table 1: 30 patients, 6 raters, 5 diagnoses; kappa and z as irr gives them."""
    counts = np.array([
        [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0], [2, 0, 4, 0, 0],
        [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6], [1, 0, 0, 5, 0], [1, 1, 0, 4, 0],
        [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1], [0, 0, 5, 0, 1], [3, 0, 0, 1, 2], [5, 1, 0, 0, 0],
        [0, 2, 0, 4, 0], [1, 0, 2, 0, 3], [0, 0, 0, 0, 6], [0, 1, 0, 5, 0], [0, 2, 0, 1, 3], [2, 0, 0, 4, 0],
        [1, 0, 0, 4, 1], [0, 5, 0, 1, 0], [4, 0, 0, 0, 2], [0, 2, 0, 4, 0], [1, 0, 5, 0, 0], [0, 0, 0, 0, 6],
    ])  # fmt: skip
    matrix = np.stack([np.repeat(np.arange(5), c) for c in counts], axis=1)
    row = kappa(scores_of(matrix), pairs="fleiss").iloc[0]
    assert row["estimate"] == pytest.approx(0.4302445, abs=1e-7)
    assert row["z"] == pytest.approx(17.65183, abs=1e-5)
    # kappam.fleiss(diagnoses, exact = TRUE) and kappam.light(diagnoses) of irr print 0.442 and 0.459
    assert kappa(scores_of(matrix), pairs="conger")["estimate"].item() == pytest.approx(0.442, abs=5e-4)
    assert kappa(scores_of(matrix), pairs="average")["estimate"].item() == pytest.approx(0.459, abs=5e-4)


# brute force and peers


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=25))
def test_every_pair_is_its_definition(rows):
    matrix = np.array(rows).T
    result = kappa(scores_of(matrix)).set_index(["judge", "other"])
    assert len(result) == 3
    for i, j in combinations(range(3), 2):
        expected = twins.kappa(matrix[i].tolist(), matrix[j].tolist(), np.eye(4).tolist())
        got = result.loc[(f"judge {chr(97 + i)}", f"judge {chr(97 + j)}"), "estimate"]
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_scikit_learn_gives_the_same(weights):
    rng = np.random.default_rng(1)
    matrix = np.clip(rng.integers(1, 6, 80) + rng.integers(-1, 2, (2, 80)), 1, 5)
    peer = cohen_kappa_score(*matrix, weights=weights)
    assert kappa(scores_of(matrix), weights=weights)["estimate"].iloc[0] == pytest.approx(peer, rel=1e-12)


def test_weights_go_by_the_values_of_the_scores():
    """Scores 1, 2 and 5: 5 is three times as far from 2 as 1 is."""
    one, two = [1, 1, 2, 5, 5, 2, 1], [1, 2, 2, 5, 2, 5, 5]
    w = [[1 - abs(a - b) / 4 for b in (1, 2, 5)] for a in (1, 2, 5)]
    place = {1: 0, 2: 1, 5: 2}
    expected = twins.kappa([place[x] for x in one], [place[x] for x in two], w)
    got = kappa(scores_of([one, two]), weights="linear")["estimate"].iloc[0]
    assert got == pytest.approx(expected, rel=1e-12)
    assert got != pytest.approx(cohen_kappa_score(one, two, weights="linear"), abs=1e-3)


@pytest.mark.slow
def test_the_standard_error_is_that_of_repeated_samples():
    rng = np.random.default_rng(0)
    joint = np.array([[0.3, 0.05, 0.05], [0.04, 0.2, 0.06], [0.03, 0.07, 0.2]])
    n, draws = 300, 1500
    tables = rng.multinomial(n, joint.ravel(), size=draws)
    names = pd.DataFrame({"judge": "g", "other": "h", "answer": np.repeat([1, 2, 3], 3), "other_answer": [1, 2, 3] * 3})
    many = pd.concat([names.assign(n=t, draw=i) for i, t in enumerate(tables)])
    result = kappa(many, by="draw")
    assert result["std_error"].mean() == pytest.approx(result["estimate"].std(), rel=0.06)
    expected = (np.trace(joint) - joint.sum(0) @ joint.sum(1)) / (1 - joint.sum(0) @ joint.sum(1))
    covered = ((result["conf_low"] < expected) & (expected < result["conf_high"])).mean()
    assert 0.93 < covered < 0.97


@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_the_bootstrap_is_one_of_rows(interval):
    """Counts are drawn; a plain loop over rows has the same spread and, nearly, the same ends."""
    rng = np.random.default_rng(2)
    matrix = np.where(rng.random((2, 200)) < 0.7, rng.integers(0, 3, 200), rng.integers(0, 3, (2, 200)))
    row = kappa(scores_of(matrix), interval=interval, n_resamples=4000).iloc[0]
    index = rng.integers(0, 200, (4000, 200))
    draws = np.array([twins_of(matrix[:, i]) for i in index])
    assert row["std_error"] == pytest.approx(draws.std(ddof=1), rel=0.06)
    low, high = np.quantile(draws, [0.025, 0.975])
    tolerance = 0.012 if interval == "percentile" else 0.02
    assert row["conf_low"] == pytest.approx(low, abs=tolerance)
    assert row["conf_high"] == pytest.approx(high, abs=tolerance)
    assert row["std_error"] == pytest.approx(kappa(scores_of(matrix))["std_error"].iloc[0], rel=0.06)


def twins_of(pair):
    table = np.zeros((3, 3))
    np.add.at(table, tuple(pair), 1 / pair.shape[1])
    chance = table.sum(0) @ table.sum(1)
    return (np.trace(table) - chance) / (1 - chance)


def test_clusters_widen_the_interval():
    """Ten verdicts alike on each of twelve items: the interval is that of the items."""
    rng = np.random.default_rng(4)
    once = rng.integers(0, 2, (2, 12))
    table = pd.concat([scores_of(once).assign(system=f"s{k}") for k in range(10)], ignore_index=True)
    few = kappa(scores_of(once), interval="percentile").iloc[0]
    whole = kappa(table, interval="percentile", cluster="item").iloc[0]
    rows = kappa(table, interval="percentile", cluster=False).iloc[0]
    assert whole["std_error"] == pytest.approx(few["std_error"], rel=0.1)
    assert rows["std_error"] == pytest.approx(few["std_error"] / math.sqrt(10), rel=0.15)
    assert FEW_CLUSTERS not in whole["flag"]
    assert (
        FEW_CLUSTERS in kappa(table[table["item"] < "item 008"], interval="percentile", cluster="item")["flag"].iloc[0]
    )
    pd.testing.assert_series_equal(kappa(table, interval="percentile").iloc[0], whole)  # by default


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_the_asymptotic_interval_knows_clusters(weights):
    """The jackknife of items; where each item has one thing, nearly as published."""
    rng = np.random.default_rng(4)
    easy = rng.random(60) < 0.5  # all is agreed on half of the items, nothing but by chance on the others
    answers = rng.integers(0, 4, (6, 2, 60))
    answers[:, 1] = np.where(easy, answers[:, 0], answers[:, 1])
    parts = [scores_of(a).assign(system=f"s{k}") for k, a in enumerate(answers)]
    table = pd.concat(parts, ignore_index=True)
    row = kappa(table, weights=weights).iloc[0]
    assert row["method"].startswith("t, jackknife of Fisher's z, clustered by item (G = 60), ")
    without = [
        kappa(table[table["item"] != i], weights=weights, cluster=False)["estimate"].item()
        for i in table["item"].unique()
    ]
    z, on_z = np.arctanh(row["estimate"]), np.arctanh(without)
    error, bias = math.sqrt(59 * np.var(on_z)), 59 * (on_z.mean() - z)
    assert row["std_error"] == pytest.approx((1 - row["estimate"] ** 2) * error)
    power = {None: 0, "linear": 1, "quadratic": 2}[weights]
    apart = (np.abs(answers[:, 0] - answers[:, 1]).astype(float) ** power * (answers[:, 0] != answers[:, 1])).sum(
        axis=0
    )
    df = apart.sum() ** 2 / (apart @ apart) - 1  # of a mean over the items that disagreements are worth
    assert df < 30
    half = stats.t.ppf(0.975, df) * error
    ends = [math.tanh(z - half - max(bias, 0)), math.tanh(z + half - min(bias, 0))]
    assert row[["conf_low", "conf_high"]].tolist() == pytest.approx(ends)
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(z / error, df))
    plainly = "asymptotic, " if weights is None else "t, jackknife of Fisher's z "
    published = kappa(table, weights=weights, cluster=False).iloc[0]
    assert published["std_error"] < 0.8 * row["std_error"]
    assert published["method"].startswith(plainly)
    assert NOT_INDEPENDENT in published["flag"]
    alone = parts[0]
    same, plain = kappa(alone, weights=weights, cluster="item").iloc[0], kappa(alone, weights=weights).iloc[0]
    assert plain["method"].startswith(plainly)
    assert same["std_error"] == pytest.approx(
        plain["std_error"] * math.sqrt(60 / 59 if weights is None else 1), rel=0.05
    )


@pytest.mark.parametrize(("measure", "options"), [(ac1, {}), (kappa, {"pairs": "fleiss"})])
def test_coefficients_of_all_judges_know_clusters(measure, options):
    rng = np.random.default_rng(9)
    base = rng.integers(0, 3, 50)
    parts = [
        scores_of(np.where(rng.random((3, 50)) < 0.6, base, rng.integers(0, 3, (3, 50)))).assign(system=f"s{k}")
        for k in range(5)
    ]
    table = pd.concat(parts, ignore_index=True)
    row = measure(table, **options).iloc[0]
    assert row["method"] == "t, jackknife of Fisher's z, clustered by item (G = 50), unweighted"
    without = [
        measure(table[table["item"] != i], cluster=False, **options)["estimate"].item() for i in table["item"].unique()
    ]
    assert row["std_error"] == pytest.approx(math.sqrt(49 * np.var(without)), rel=0.02)
    error = math.sqrt(49 * np.var(np.arctanh(without)))
    assert row["std_error"] == pytest.approx((1 - row["estimate"] ** 2) * error, rel=1e-9)
    p_value = math.nan if options else 2 * stats.t.sf(np.arctanh(row["estimate"]) / error, freedom(np.arctanh(without)))
    assert row["p_value"] == pytest.approx(p_value, rel=1e-9, nan_ok=True)
    published = measure(table, cluster=False, **options).iloc[0]
    assert published["method"].startswith("asymptotic, ")
    assert NOT_INDEPENDENT in published["flag"]
    assert NOT_INDEPENDENT not in row["flag"]
    # a tally of the frame is the frame; one without its cluster says so
    if not options:
        return
    counts = tally(table, "kappa")
    pd.testing.assert_frame_equal(kappa(counts), kappa(table))
    bare = counts.groupby(["judge", "other", "answer", "other_answer"], as_index=False)["n"].sum()
    assert kappa(bare)["flag"].str.contains("clustering unknown").all()
    np.testing.assert_allclose(kappa(bare)["std_error"], kappa(table, cluster=False)["std_error"])


def test_the_mean_of_pairs():
    matrix = np.where(
        np.random.default_rng(5).random((3, 90)) < 0.6,
        np.arange(90) % 4,
        np.random.default_rng(6).integers(0, 4, (3, 90)),
    )
    table = scores_of(matrix)
    each = kappa(table)["estimate"]
    row = kappa(table, pairs="average").iloc[0]
    assert (row["estimate"], row["pairs"], row["n"]) == (pytest.approx(each.mean()), 3, 270)
    drawn = kappa(table, pairs="average", interval="percentile").iloc[0]
    assert drawn["estimate"] == row["estimate"]
    rng = np.random.default_rng(7)
    index = rng.integers(0, 90, (800, 90))
    draws = [np.mean([cohen_4(matrix[[i, j]][:, k]) for i, j in combinations(range(3), 2)]) for k in index]
    assert drawn["std_error"] == pytest.approx(np.std(draws, ddof=1), rel=0.1)
    assert drawn["conf_low"] == pytest.approx(np.quantile(draws, 0.025), abs=0.02)
    whole = kappa(table, pairs="average", interval="percentile", cluster="item").iloc[0]
    assert whole["std_error"] == pytest.approx(drawn["std_error"], rel=0.1)
    assert "item" in whole["method"]


@pytest.mark.parametrize("pairs", ["average", "conger"])
@pytest.mark.parametrize("weights", [None, "linear"])
@pytest.mark.parametrize("cluster", [False, "item"])
def test_the_kappa_of_all_pairs_by_leaving_units_out(pairs, weights, cluster):
    """Units, or clusters, are left out with the answers of all judges, some of which are missing."""
    rng = np.random.default_rng(3)
    base = np.arange(96) % 3
    matrix = np.where(rng.random((4, 96)) < 0.5, base, rng.integers(0, 3, (4, 96)))
    table = scores_of(matrix)
    if cluster:
        place = table["item"].str[-3:].astype(int)
        table = table.assign(system="s" + (place % 4).astype(str), item="i" + (place // 4).astype(str))
    table = table[rng.random(len(table)) < 0.9].reset_index(drop=True)

    def value(part):
        return kappa(part, pairs=pairs, weights=weights, cluster=False)["estimate"].item()

    row = kappa(table, pairs=pairs, weights=weights, cluster=cluster).iloc[0]
    assert row["estimate"] == pytest.approx(value(table), rel=1e-12)
    unit = table["item"].astype(str) if cluster else table["system"].astype(str) + table["item"].astype(str)
    without = np.arctanh([value(table[unit != u]) for u in unit.unique()])
    G = len(without)
    assert row["std_error"] == pytest.approx(
        (1 - row["estimate"] ** 2) * math.sqrt((G - 1) * np.var(without)), rel=1e-9
    )
    half = stats.t.ppf(0.975, freedom(without)) * math.sqrt((G - 1) * np.var(without))
    ends = np.tanh(np.arctanh(row["estimate"]) + np.array([-half, half]))  # but for the skewness of the values
    assert row[["conf_low", "conf_high"]].tolist() == pytest.approx(ends.tolist(), abs=5e-3)


def cohen_4(pair):
    table = np.zeros((4, 4))
    np.add.at(table, tuple(pair), 1 / pair.shape[1])
    chance = table.sum(0) @ table.sum(1)
    return (np.trace(table) - chance) / (1 - chance)


@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_ac1_bootstrap_and_standard_error_agree(interval):
    rng = np.random.default_rng(8)
    matrix = np.where(rng.random((4, 300)) < 0.7, rng.integers(0, 3, 300), rng.integers(0, 3, (4, 300))).astype(float)
    matrix[rng.random(matrix.shape) < 0.1] = NAN
    exact, drawn = ac1(scores_of(matrix)).iloc[0], ac1(scores_of(matrix), interval=interval, n_resamples=4000).iloc[0]
    assert drawn["estimate"] == exact["estimate"]
    assert drawn["std_error"] == pytest.approx(exact["std_error"], rel=0.05)
    np.testing.assert_allclose(
        drawn[["conf_low", "conf_high"]].astype(float), exact[["conf_low", "conf_high"]].astype(float), atol=0.01
    )


def test_ac1_does_not_fall_where_one_answer_is_frequent():
    """Feinstein and Cicchetti's paradox: 118 + 5 + 2 + 0 of 125; kappa is below 0, AC1 near the agreement."""
    table = scores_of(expanded(np.array([[118, 5], [2, 0]])))
    assert kappa(table)["estimate"].iloc[0] == pytest.approx(-0.0234, abs=5e-5)
    p = (123 + 120) / 250
    chance = 2 * p * (1 - p)
    assert ac1(table)["estimate"].iloc[0] == pytest.approx((118 / 125 - chance) / (1 - chance), rel=1e-12)


# invariances


def test_preferences_do_not_depend_on_the_order_shown(verdicts):
    mixed = turned(verdicts, np.random.default_rng(0).random(len(verdicts)) < 0.5)
    assert (mixed["first"] != verdicts["first"]).any()
    for measure in (kappa, ac1):
        pd.testing.assert_frame_equal(measure(mixed), measure(verdicts))


def test_rows_engines_and_categories_do_not_matter(verdicts):
    for measure, options in (
        (kappa, {}),
        (kappa, {"interval": "bca", "by": "topic"}),
        (ac1, {"interval": "percentile"}),
    ):
        expected = measure(verdicts, **options)
        text = dict.fromkeys(["judge", "item", "first", "second", "choice", "topic"], "category")
        for other in (
            verdicts.sample(frac=1, random_state=1),
            verdicts.astype(text),
            pl.from_pandas(verdicts),
            pl.from_pandas(verdicts).lazy(),
        ):
            pd.testing.assert_frame_equal(measure(other, **options), expected, check_dtype=False)


def test_judges_are_names(verdicts):
    """The pair (g, h) is the pair (z, h) with its sides changed: the same numbers."""
    renamed = verdicts.replace({"judge": {"g": "z"}})
    one, two = kappa(verdicts).set_index(["judge", "other"]), kappa(renamed).set_index(["judge", "other"])
    np.testing.assert_allclose(
        two.loc[("h", "z"), ANALYTIC].astype(float), one.loc[("g", "h"), ANALYTIC].astype(float), rtol=1e-12
    )


@settings(max_examples=10)
@given(st.permutations(range(4)), st.floats(0.1, 50), st.floats(-100, 100))
def test_labels_are_names_and_weights_are_affine(order, scale, shift):
    matrix = np.array([[0, 1, 2, 3, 0, 1, 2, 3, 3, 1], [0, 1, 2, 3, 1, 1, 3, 0, 3, 2]])
    relabelled = np.array(order)[matrix]
    for measure in (kappa, ac1):
        np.testing.assert_allclose(
            measure(scores_of(relabelled))["estimate"], measure(scores_of(matrix))["estimate"], rtol=1e-12
        )
        moved = measure(scores_of(matrix * scale + shift), weights="quadratic")["estimate"]
        np.testing.assert_allclose(moved, measure(scores_of(matrix), weights="quadratic")["estimate"], rtol=1e-8)


@pytest.mark.parametrize(
    "options", [{}, {"weights": "linear"}, {"weights": "quadratic", "conf_level": 0.9}, {"pairs": "average"}]
)
@pytest.mark.parametrize("by", [(), "topic"])
def test_frame_and_tally_agree(verdicts, options, by):
    verdicts = verdicts.drop(columns=[] if by else "topic")  # of which independent counts know nothing
    counted = tally(verdicts, "kappa", by)
    assert list(counted.columns) == [*([by] if by else []), "judge", "other", "answer", "other_answer", "n"]
    of_counts, of_calls = but_for_clustering(kappa(counted, by=by, **options)), kappa(verdicts, by=by, **options)
    if "pairs" in options:  # a tally knows no units with the answers of all judges
        assert of_counts["conf_low"].isna().all()
        interval = ["std_error", "conf_low", "conf_high", "method", "flag"]
        of_counts, of_calls = of_counts.drop(columns=interval), of_calls.drop(columns=interval)
    pd.testing.assert_frame_equal(of_counts, of_calls)


def test_tally_of_ratings_and_with_clusters(verdicts):
    table = scores_of(FOUR)
    linear = but_for_clustering(kappa(tally(table, "kappa"), weights="linear"))
    pd.testing.assert_frame_equal(linear, kappa(table, weights="linear"))
    counted = tally(verdicts, "kappa", cluster="item")
    options = {"interval": "percentile", "cluster": "item", "n_resamples": 200}
    pd.testing.assert_frame_equal(kappa(counted, **options), kappa(verdicts, **options))
    gold = verdicts.assign(gold="x")
    assert set(tally(gold, "kappa", baseline="gold")["other"]) == {"gold"}
    assert set(tally(verdicts, "kappa", baseline="h")["other"]) == {"h"}


def test_a_published_table_is_a_tally():
    where = np.indices((3, 3))
    table = pd.DataFrame(
        {
            "judge": "g",
            "other": "people",
            "answer": where[0].ravel(),
            "other_answer": where[1].ravel(),
            "n": SAS.ravel(),
        }
    )
    named = table.replace({"answer": {0: "A", 1: "B", 2: "tie"}, "other_answer": {0: "A", 1: "B", 2: "tie"}})
    for t in (table, named):
        np.testing.assert_allclose(kappa(t)[["estimate", "std_error"]], [[0.4842, 0.1380]], atol=5e-5)
    with pytest.raises(DesignError, match="order"):
        kappa(named, weights="linear")


def test_a_row_may_carry_a_count(verdicts):
    once, thrice = (kappa(t, cluster=False) for t in (verdicts, verdicts.assign(n_identical=3)))
    np.testing.assert_allclose(thrice["estimate"], once["estimate"], rtol=1e-12)
    np.testing.assert_allclose(thrice["std_error"], once["std_error"] / math.sqrt(3), rtol=1e-12)
    np.testing.assert_allclose(thrice["n"], 3 * once["n"])
    np.testing.assert_allclose(ac1(verdicts.assign(n_identical=3))["estimate"], ac1(verdicts)["estimate"], rtol=1e-12)
    with pytest.raises(DesignError, match="different counts"):
        kappa(verdicts.assign(n_identical=np.arange(len(verdicts)) + 1))


def test_groups_are_apart(verdicts):
    both = kappa(verdicts, by="topic", interval="percentile")
    assert list(both.columns[:3]) == ["topic", "judge", "other"]
    assert tuple(both.columns[3:11]) == COLUMNS
    alone = kappa(verdicts[verdicts["topic"] == "b"], by="topic", interval="percentile")
    pd.testing.assert_frame_equal(both[both["topic"] == "b"].reset_index(drop=True), alone)
    panel = ac1(verdicts, by="topic", labels=["low", "tie", "high"])
    alone = ac1(verdicts[verdicts["topic"] == "b"], by="topic", labels=["low", "tie", "high"])
    pd.testing.assert_frame_equal(panel[panel["topic"] == "b"].reset_index(drop=True), alone)


# references


def test_against_gold(verdicts):
    gold = np.random.default_rng(9).choice(["x", "y", "tie"], 60)
    table = turned(verdicts.assign(gold=np.tile(gold, 3)), np.arange(len(verdicts)) % 3 == 0)
    result = kappa(table, reference="gold").set_index("judge")
    answer = {"first": "x", "second": "y", "tie": "tie"}
    by_candidate = kappa(table, reference="gold_candidate").set_index("judge")["estimate"]
    slots = table.assign(
        slot=np.select([table["gold"] == table["first"], table["gold"] == table["second"]], ["first", "second"], "tie")
    )
    for judge, part in verdicts.assign(gold=np.tile(gold, 3)).groupby("judge"):
        kept = part[part["choice"] != "invalid"]
        expected = cohen_kappa_score(kept["choice"].map(answer), kept["gold"])
        assert by_candidate[judge] == pytest.approx(expected, rel=1e-12)
        shown = slots[(slots["judge"] == judge) & (slots["choice"] != "invalid")]
        expected = cohen_kappa_score(shown["choice"].replace("abstain", "tie"), shown["slot"])
        assert result.loc[judge, "estimate"] == pytest.approx(expected, rel=1e-12)
        assert result.loc[judge, "n"] == len(kept)
        aside = 60 - len(kept)
        assert (f"{aside} unit" + "s" * (aside != 1) + " without two answers" in result.loc[judge, "flag"]) == (
            aside > 0
        )
    missing = table.assign(gold=table["gold"].where(table["item"] > "i09"))
    assert (kappa(missing, reference="gold")["n"] < 51).all()
    scored = scores_of(FOUR).assign(gold=np.tile(FOUR[3], 4))
    assert kappa(scored, reference="gold").set_index("judge").loc["judge d", "estimate"] == 1.0
    refused(
        SchemaError,
        (verdicts.assign(gold="w"), "'gold' is 'w'"),
        (verdicts, DesignError, "needs a column 'gold'"),
        of=lambda wrong: kappa(wrong, reference="gold"),
    )


def test_against_a_judge_and_a_frame(verdicts):
    pairs = kappa(verdicts).set_index(["judge", "other"])
    one = kappa(verdicts, reference="h").set_index("judge")
    assert set(one["other"]) == {"h"}
    np.testing.assert_allclose(
        one.loc[["g"], ANALYTIC].astype(float), pairs.loc[[("g", "h")], ANALYTIC].astype(float), rtol=1e-12
    )
    np.testing.assert_allclose(
        one.loc[["k"], ANALYTIC].astype(float), pairs.loc[[("h", "k")], ANALYTIC].astype(float), rtol=1e-12
    )
    people = verdicts[verdicts["judge"] == "h"]
    people = turned(people, people.index % 2 == 0)
    others = verdicts[verdicts["judge"] != "h"]
    beside = kappa(others, reference=people.drop(columns="topic")).set_index("judge")
    np.testing.assert_allclose(beside[ANALYTIC].astype(float), one[ANALYTIC].astype(float), rtol=1e-12)
    unnamed = kappa(others, reference=pl.from_pandas(people.drop(columns="judge")), by="topic")
    assert set(unnamed["other"]) == {"reference"}
    assert len(unnamed) == 4
    refused(
        DesignError,
        ("hh", r"'hh' is no judge.*Did you mean 'h'"),
        (scores_of(FOUR), "ratings"),
        of=lambda wrong: kappa(verdicts, reference=wrong),
    )


def test_a_reference_answers_once():
    """A judge's repeats are each beside the one answer of the reference, and are not independent."""
    runs = pd.concat([calls_of(["low", "high", "tie", "low"], replicate=r) for r in (0, 1)])
    people = calls_of(["low", "high", "tie", "high"], "person")
    row = kappa(runs, reference=people).iloc[0]
    assert row["n"] == 8
    assert "clustered by item" in row["method"]
    assert NOT_INDEPENDENT in kappa(runs, reference=people, cluster=False)["flag"].iloc[0]
    with pytest.raises(DesignError, match="answered twice"):
        kappa(runs, reference=pd.concat([people, people]))


# what is matched, what is missing


def test_orders_are_matched_with_their_like_and_repeats_put_together():
    said = {"g": (["low", "high", "tie"], ["low", "low", "tie"]), "h": (["low", "high", "tie"], ["low", "low", "high"])}
    runs = pd.concat(
        [calls_of(a, j, replicate=r) for j, both in said.items() for r, a in enumerate(both)], ignore_index=True
    )
    orders = pd.concat([calls_of(a, j) for j, both in said.items() for a in both[:1]] + [
        turned(calls_of(both[1], j), np.ones(3, dtype=bool)) for j, both in said.items()
    ], ignore_index=True)  # fmt: skip
    row = kappa(orders, cluster=False).iloc[0]
    assert (row["n"], row["observed"]) == (6, pytest.approx(5 / 6))
    assert NOT_INDEPENDENT in row["flag"]
    assert "clustered by" in kappa(orders)["method"].iloc[0]
    numbered = orders.assign(replicate=[0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0])
    assert kappa(numbered)["observed"].item() == pytest.approx(kappa(orders)["observed"].item())
    row = kappa(runs).iloc[0]
    assert (row["n"], row["observed"]) == (3, pytest.approx((1 + 1 / 2 + 1 / 2) / 3))
    assert row["method"].endswith("single answers of repeats")
    assert row["flag"].endswith("answers differ in 3 sets of repeats")
    row = kappa(runs, repeats="majority").iloc[0]
    assert row["n"] == 1
    assert row["method"].endswith("mode of repeats")
    assert "2 units without two answers excluded" in row["flag"]
    assert NOT_INDEPENDENT not in kappa(runs, by="replicate")["flag"].iloc[0]
    with pytest.raises(DesignError, match=r"answered twice.*replicate"):
        kappa(pd.concat([runs, runs]).drop(columns="replicate"))


@pytest.mark.parametrize(
    "measure",
    [
        alpha, ac1, kappa, scott_pi, lambda t: ac1(t, weights="linear"), lambda t: kappa(t, weights="quadratic"),
        lambda t: kappa(t, pairs="fleiss"), lambda t: js.icc(t, by="criterion"),
    ],
)  # fmt: skip
def test_numbers_of_repeats_and_order_of_rows_do_not_matter(measure):
    rng = np.random.default_rng(5)
    keys = ["judge", "system", "item", "criterion"]
    runs = pd.concat(
        [scores_of(noisy(seed=s, units=20, missing=0), replicate=s % 3, criterion=f"c{s // 3}") for s in range(6)],
        ignore_index=True,
    )
    numbers = runs.groupby(keys)["replicate"].transform(lambda x: rng.permutation(x.to_numpy()))
    mixed = runs.assign(replicate=numbers).sample(frac=1, random_state=0, ignore_index=True)
    want = measure(runs)
    pd.testing.assert_frame_equal(measure(mixed), want, rtol=1e-9)
    assert set(want["criterion"]) == {"c0", "c1"}
    if want["flag"].str.contains("single mode").any():
        for criterion, row in want.set_index("criterion").iterrows():
            of_one = measure(runs[runs["criterion"] == criterion].drop(columns="criterion"))
            assert of_one["flag"].item() == row["flag"]


@pytest.mark.parametrize("cluster", ["auto", False, "item"])
@pytest.mark.parametrize("systems", [1, 2])
def test_a_tally_counts_repeats_as_the_frame_does(systems, cluster):
    runs = pd.concat(
        [scores_of(noisy(seed=s, units=20), replicate=s, system=f"s{s % systems}") for s in range(3 * systems)],
        ignore_index=True,
    )
    columns = ["estimate", "std_error", "conf_low", "conf_high", "n"]
    for measure, by in ((kappa, ()), (scott_pi, ()), (kappa, "criterion")):
        table = runs.assign(criterion=runs["item"].astype(str).str[-1].isin([*"01234"])) if by else runs
        counts = tally(table, "kappa", by, cluster=cluster)
        assert ("_unit" in counts) == (cluster is False or (systems == 1 and cluster == "auto"))
        counted = measure(counts, by=by, cluster=cluster)
        pd.testing.assert_frame_equal(counted[columns], measure(table, by=by, cluster=cluster)[columns])
    gold = runs.assign(gold=1.0)
    beside = tally(gold, "kappa", baseline="gold")
    assert beside["n"].sum() > gold.groupby(["judge", "item"]).ngroups  # each repeat counts beside gold


def test_rows_with_a_count_are_units_and_the_method_says_how_their_repeats_are_matched():
    runs = pd.concat([scores_of(noisy(seed=s, units=20), replicate=s) for s in range(3)], ignore_index=True)
    counted = runs.assign(n_identical=2)
    for measure in (kappa, scott_pi, ac1, alpha):
        found = measure(counted)
        assert found["method"].str.endswith("repeats matched by number").all()
        assert (found["n"] > measure(runs)["n"]).all()
        assert not measure(runs)["method"].str.contains("by number").any()


def test_average_over_replicate_says_what_is_done_anyway():
    runs = pd.concat([scores_of(noisy(seed=s, units=20), replicate=s) for s in range(3)], ignore_index=True)
    for measure in (alpha, ac1, kappa, scott_pi):
        pd.testing.assert_frame_equal(measure(runs, average_over="replicate"), measure(runs))


def test_a_condition_of_the_judge_does_not_part_the_judges(verdicts):
    table = verdicts.assign(temperature=verdicts["judge"].map({"g": 0.0, "h": 0.7, "k": 1.0}))
    pd.testing.assert_frame_equal(kappa(table), kappa(verdicts))


def test_invalid_calls_are_missing_and_counted():
    one, two = calls_of(["low", "high", "invalid", "abstain"]), calls_of(["low", None, "low", "tie"], "h")
    row = kappa(pd.concat([one, two])).iloc[0]
    assert (row["n"], row["estimate"]) == (2, 1.0)
    assert "2 units without two answers excluded" in row["flag"]
    panel = ac1(pd.concat([one, two])).iloc[0]
    assert panel["n"] == 2
    assert "2 units rated once" in panel["flag"]
    none = ac1(pd.concat([calls_of(["low", "high", "invalid"], j) for j in "gh"])).iloc[0]
    assert "1 unit without an answer excluded" in none["flag"]


def test_not_a_number_where_nothing_can_be_said():
    same = kappa(scores_of(np.ones((2, 40)))).iloc[0]
    assert (same["observed"], same["expected"], same["flag"]) == (1, 1, "one label only")
    assert same[["estimate", "std_error", "conf_low", "z"]].isna().all()
    assert ac1(scores_of(np.ones((2, 40))))[["estimate", "conf_low"]].isna().all(axis=None)
    known = ac1(scores_of(np.ones((2, 40))), labels=[1, 2]).iloc[
        0
    ]  # the scale had two points: agreement is not by chance
    assert known["estimate"] == 1.0
    constant = kappa(scores_of([[1] * 40, [1, 2] * 20])).iloc[0]
    assert constant["estimate"] == 0
    assert constant["flag"] == BY_STRUCTURE
    assert math.isnan(constant["conf_low"])
    perfect = scores_of([[1, 2] * 20] * 2)
    for options in ({}, {"interval": "percentile"}, {"interval": "bca"}):
        row = kappa(perfect, **options).iloc[0]
        assert row["estimate"] == pytest.approx(1)
        assert row[["std_error", "conf_low", "conf_high"]].isna().all()
        assert row["flag"] == ("perfect agreement" if not options else RESAMPLES_AGREE)
    assert ac1(scores_of(np.full((2, 5), NAN)))[["estimate", "observed", "expected"]].isna().all(axis=None)
    empty = kappa(scores_of([[1, NAN, NAN], [NAN, 2, 3]])).iloc[0]
    assert (empty["n"], empty["flag"]) == (0, "no unit with two answers; 3 units without two answers excluded")
    assert ac1(scores_of([[1, NAN, NAN], [NAN, 2, 3]]))["flag"].iloc[0].startswith("no unit with two answers")


def test_a_missing_group_is_a_group(verdicts):
    some = verdicts.assign(topic=verdicts["topic"].where(verdicts["topic"] == "a", None))
    for options in ({}, {"pairs": "fleiss"}, {"pairs": "average", "interval": "percentile"}):
        got, expected = (kappa(t, by="topic", **options) for t in (some, verdicts))
        np.testing.assert_allclose(got["estimate"], expected["estimate"], rtol=1e-12)
        assert got["topic"].isna().sum() == len(got) / 2
        assert got["conf_low"].notna().all()


def test_judges_without_a_thing_in_common():
    apart = pd.concat([scores_of([[1, 2], [1, 2]]), scores_of([[1, 2]]).assign(judge="z", item=["p", "q"])])
    assert kappa(apart)["n"].tolist() == [2.0, 0.0, 0.0]
    with pytest.raises(DesignError, match="No thing was judged by two"):
        kappa(scores_of([[1, 2, 3]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": "cubic"}, "weights='cubic'"),
        ({"pairs": "some"}, "pairs='some'"),
        ({"interval": "wilson"}, "interval='wilson'"),
        ({"cluster": ["item", "topic"]}, "takes one cluster"),
        ({"by": "judge"}, "leaves one judge"),
        ({"pairs": "fleiss", "reference": "h"}, "Leave reference= out"),
        ({"pairs": "average", "reference": "h", "interval": "percentile"}, "needs the answers of all judges"),
        ({"interval": "percentile", "n_resamples": 0}, "n_resamples=0"),
    ],
)
def test_options_that_cannot_be(verdicts, options, message):
    with pytest.raises(DesignError, match=message):
        kappa(verdicts, **options)


def test_tables_that_cannot_be(verdicts):
    refused(
        SchemaError,
        (lambda: kappa(verdicts, by="topics"), r"by='topics'.*Did you mean 'topic'"),
        (lambda: kappa(verdicts.drop(columns="choice")), "neither canonical frame"),
        (lambda: kappa(verdicts.replace({"choice": {"tie": "A"}})), "'choice' has 'A'"),
        (
            lambda: ac1(scores_of([[1, 2], [1, 2]]).assign(score=["1", "good", "2", "1"])),
            r"'score' holds text.*row 1 of the data, from 0, 'good'",
        ),
        (lambda: ac1(scores_of(FOUR), labels=[1, 2]), r"labels= has 1\.0, 2\.0"),
        (lambda: kappa(verdicts.head(0)), DesignError, "no rows"),
        (lambda: ac1(verdicts.head(0)), DesignError, "no rows"),
        (lambda: kappa(tally(verdicts, "kappa"), reference="h"), DesignError, "Leave reference= out"),
        (lambda: kappa(tally(verdicts, "kappa").assign(n=-1)), "'n' is a count of calls"),
    )


def ratings(scores, judge="g", items=None):
    items = range(len(scores)) if items is None else items
    return pd.DataFrame({"judge": judge, "system": "s", "item": list(items), "score": scores})


def two_judges(disagreements, n=200):
    """Judges g and h: half of the things 1, half 2; the first `disagreements` answers of h are turned."""
    one = np.arange(n) % 2 + 1
    two = np.where(np.arange(n) < disagreements, 3 - one, one)
    return pd.concat([ratings(one, "g"), ratings(two, "h")], ignore_index=True)


@pytest.fixture
def people():
    """People on the items 0 to 24; the judges g and h on 0 to 39, and i on others."""
    rng = np.random.default_rng(1)
    calls = pd.concat([ratings(rng.integers(1, 4, 40), j) for j in "gh"], ignore_index=True)
    return calls, ratings(rng.integers(1, 4, 25)).drop(columns="judge")


def test_calls_without_a_partner_are_counted(people):
    calls, reference = people
    result = kappa(calls, reference=reference)
    assert result["n"].tolist() == [25, 25]
    assert result["flag"].str.contains("15 units without two answers excluded").all()
    inner = kappa(calls[calls["item"] < 25], reference=reference)
    assert not inner["flag"].str.contains("without two answers").any()
    pd.testing.assert_frame_equal(result.drop(columns="flag"), inner.drop(columns="flag"))


def test_calls_without_a_partner_are_counted_for_each_other_and_group(people):
    calls, reference = people
    both = pd.concat([reference.assign(judge="p"), reference.head(10).assign(judge="q")])
    calls = calls.assign(part=np.where(calls["item"] < 20, "a", "b"))
    result = kappa(calls, reference=both, by="part").set_index(["part", "judge", "other"])
    assert result["n"].to_dict() == {
        ("a", "g", "p"): 20, ("a", "g", "q"): 10, ("a", "h", "p"): 20, ("a", "h", "q"): 10,
        ("b", "g", "p"): 5, ("b", "h", "p"): 5,
    }  # fmt: skip
    told = result["flag"].str.extract(r"(\d+) units? without two answers")[0].fillna("0").astype(int)
    assert told.tolist() == [0, 10, 0, 10, 15, 15]


def test_calls_without_a_partner_are_counted_beside_a_judge_and_in_its_tally():
    calls = pd.concat([ratings([1, 2, 1, 2], "g"), ratings([1, 2, 2], "h")])
    assert "1 unit without two answers excluded" in kappa(calls, reference="h")["flag"].iloc[0]
    counts = tally(calls, "kappa", baseline="h")
    assert counts["n"].sum() == 4
    assert counts["other_answer"].isna().sum() == 1
    pd.testing.assert_frame_equal(but_for_clustering(kappa(counts)), kappa(calls, reference="h"))


def test_an_item_is_the_same_as_a_whole_float(people):
    calls, reference = people
    gap = pd.concat([reference, reference.head(1).assign(item=np.nan)])  # a gap makes the ids floats
    assert kappa(calls, reference=gap)["n"].tolist() == [25, 25]
    with pytest.raises(DesignError, match="No thing was judged by two"):
        kappa(calls, reference=reference.assign(item=reference["item"] + 0.5))


def test_references_that_cannot_be_are_refused(people):
    calls, reference = people
    refused(
        DesignError,
        (lambda: kappa(calls, reference=5), r"reference= is int\. Give 'gold'"),
        (lambda: kappa(calls, reference=reference.assign(item=None)), "nothing distinguishes the calls"),
        (lambda: kappa(calls.assign(n_identical="x"), reference=reference), SchemaError, "'n_identical' is a count"),
        (lambda: alpha(calls.assign(n_identical=np.inf)), SchemaError, "'n_identical' is a count"),
    )


@pytest.mark.parametrize("engine", [pl.from_pandas, lambda t: pl.from_pandas(t).lazy()])
def test_engines_agree_on_what_has_no_partner(people, engine):
    calls, reference = people
    pd.testing.assert_frame_equal(kappa(engine(calls), reference=engine(reference)), kappa(calls, reference=reference))


MEASURES = {
    "kappa": kappa,
    "kappa, bootstrap": lambda d: kappa(d, interval="percentile", n_resamples=200),
    "mean kappa": lambda d: kappa(d, pairs="average", interval="percentile", n_resamples=200),
    "Fleiss": lambda d: kappa(d, pairs="fleiss"),
    "AC1": ac1,
    "AC2, BCa": lambda d: ac1(d, weights="linear", interval="bca", n_resamples=200),
    "alpha": lambda d: alpha(d, n_resamples=200),
    "alpha of clusters": lambda d: alpha(d, level_of_measurement="interval", cluster="item", n_resamples=200),
}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_few_disagreements_are_flagged(measure):
    few, enough, none = (measure(two_judges(k)).iloc[0] for k in (19, 20, 0))
    assert FEW_DISAGREEMENTS in few["flag"]
    assert FEW_DISAGREEMENTS not in enough["flag"]
    assert np.isfinite([few["conf_low"], enough["conf_low"]]).all()
    assert np.isnan(none["conf_low"])  # no interval, nothing to doubt in it
    assert FEW_DISAGREEMENTS not in none["flag"]


def test_disagreements_are_counted_in_things_not_in_patterns():
    table = pd.DataFrame({"judge": "g", "other": "h", "answer": [1, 1, 2], "other_answer": [1, 2, 2]})
    assert FEW_DISAGREEMENTS in kappa(table.assign(n=[90, 19, 90]))["flag"].iloc[0]
    assert FEW_DISAGREEMENTS not in kappa(table.assign(n=[90, 20, 90]))["flag"].iloc[0]
    three = pd.concat([two_judges(10), ratings(two_judges(10)["score"].head(200), "i")])
    assert FEW_DISAGREEMENTS in ac1(three)["flag"].iloc[0]  # 10 things, though 20 pairs of judges disagree


def test_the_threshold_is_where_coverage_falls():
    """Two judges, half of 1000 things either way: true kappa is 1 - 2 x the share of disagreements."""
    rng = np.random.default_rng(2)
    covered = {}
    for expected in (8, 40):
        half, off = (1000 - expected) / 2000, expected / 2000
        fit = cohen_kappa(rng.multinomial(1000, [half, off, off, half], size=8000).reshape(-1, 2, 2))
        known = fit.std_error > 0
        error = np.abs(fit.estimate - (1 - 2 * expected / 1000))
        covered[expected] = np.mean((error <= 1.959964 * fit.std_error)[known])
    assert covered[8] < 0.92
    assert covered[40] > 0.935


def test_a_named_cluster_reaches_the_agreement_of_ratings():
    data = panel_of_whole_scores(60)
    data["topic"] = (data["item"].astype(int) % 6).astype(str)
    for measure in (js.alpha, js.disagreement, js.icc):
        found = measure_registry.MeasureOptions(cluster="topic", n_resamples=50).call(measure, data)
        assert found["method"].str.contains("topic").any()


#: Artstein and Poesio (2008), Computational Linguistics 34, Table 3: coder A by coder B.
DIALOGUE = pd.DataFrame([(46, 6, 0), (0, 32, 0), (0, 6, 10)], index=["stat", "ireq", "chck"])


def counts(table):
    names = list(table.index)
    rows = [("A", "B", a, b, table.loc[a].iloc[j]) for a in names for j, b in enumerate(names)]
    found = pd.DataFrame(rows, columns=["judge", "other", "answer", "other_answer", "n"])
    return found[found["n"] > 0]


def scored_by_two(answers):
    items = [f"i{k}" for k in range(len(answers[0]))]
    parts = [pd.DataFrame({"judge": j, "item": items, "score": a}) for j, a in zip("gh", answers, strict=True)]
    return pd.concat(parts, ignore_index=True)


def closed_form(one, two):
    shares = np.array([((one == a).mean() + (two == a).mean()) / 2 for a in np.union1d(one, two)])
    return ((one == two).mean() - (shares**2).sum()) / (1 - (shares**2).sum())


def test_the_published_example():
    got = js.scott_pi(counts(DIALOGUE)).iloc[0]
    assert round(got["estimate"], 4) == 0.7995
    assert round(js.kappa(counts(DIALOGUE))["estimate"].iloc[0], 4) == 0.8013
    assert got["conf_low"] < got["estimate"] < got["conf_high"]


@pytest.mark.parametrize("seed", range(3))
def test_it_is_its_closed_form_and_fleiss_of_two_judges_and_never_above_cohen(seed):
    rng = np.random.default_rng(seed)
    one = rng.integers(1, 5, 60)
    two = np.where(rng.random(60) < 0.6, one, rng.integers(1, 4, 60))
    data = scored_by_two([one, two])
    got = js.scott_pi(data, cluster=False).iloc[0]
    assert got["estimate"] == pytest.approx(closed_form(one, two), abs=1e-12)
    fleiss = js.kappa(data, pairs="fleiss", cluster=False).iloc[0]
    columns = ["estimate", "std_error", "conf_low", "conf_high", "n", "observed", "expected", "z", "p_value"]
    np.testing.assert_allclose(got[columns].astype(float), fleiss[columns].astype(float), rtol=1e-12)
    assert got["estimate"] <= js.kappa(data)["estimate"].iloc[0] + 1e-12


def test_the_standard_error_is_near_the_jackknife():
    rng = np.random.default_rng(5)
    one = rng.integers(1, 4, 400)
    two = np.where(rng.random(400) < 0.7, one, rng.integers(1, 4, 400))
    without = np.array([closed_form(np.delete(one, k), np.delete(two, k)) for k in range(400)])
    error = np.sqrt(399 / 400 * ((without - without.mean()) ** 2).sum())
    assert js.scott_pi(scored_by_two([one, two]), cluster=False)["std_error"].iloc[0] == pytest.approx(error, rel=0.02)


def test_what_only_one_of_the_two_answered_is_flagged():
    data = scored_by_two([[1.0, 2, 1, 2, np.nan], [1.0, 2, 2, 2, 1]])
    got = js.scott_pi(data).iloc[0]
    assert got["n"] == 4
    assert "1 unit rated once" in got["flag"]


def test_against_a_reference_there_is_a_row_for_each_judge():
    data = scored_by_two([[1, 2, 1, 2, 1, 2], [1, 2, 2, 2, 1, 1]])
    got = js.scott_pi(data.assign(gold=[1, 2, 1, 2, 1, 2] * 2), reference="gold")
    assert got["judge"].tolist() == ["g", "h"]
    assert got["estimate"].iloc[0] == 1.0
    assert js.scott_pi(data, weights="linear")["estimate"].notna().all()


@pytest.mark.parametrize("measure", [kappa, js.scott_pi])
def test_two_judges_without_a_common_unit_have_a_row_that_says_so(measure):
    rng = np.random.default_rng(0)
    items = {"a": range(30), "b": range(30), "c": range(50, 70), "d": range(10, 30)}
    parts = [pd.DataFrame({"judge": j, "item": list(map(str, i)), "score": rng.choice([1.0, 2.0], len(i))})
             for j, i in items.items()]  # fmt: skip
    data = pd.concat(parts).assign(topic=lambda t: np.where(t["item"].astype(int) < 20, "x", "y"))
    found = measure(data).set_index(["judge", "other"])
    assert list(found.index) == list(combinations("abcd", 2))
    absent = found.loc[[("a", "c"), ("b", "c"), ("c", "d")]]
    assert absent["estimate"].isna().all()
    assert (absent["n"] == 0).all()
    assert (absent["flag"] == "no unit with two answers").all()
    rest = measure(data[data["judge"] != "c"]).set_index(["judge", "other"])
    pd.testing.assert_frame_equal(found.drop(absent.index), rest)
    lazy = measure(pl.from_pandas(data).lazy(), by="topic")
    pd.testing.assert_frame_equal(lazy, measure(data, by="topic"), check_dtype=False)
    assert lazy.groupby("topic").size().to_dict() == {"x": 3, "y": 6}  # c has no item of x
    assert measure(data, interval="percentile", n_resamples=20)["n"].tolist() == found["n"].tolist()
    beside = measure(data, reference="a").set_index("judge")
    assert beside["n"].to_dict() == {"b": 30.0, "c": 0.0, "d": 20.0}
    people = data[data["judge"].isin(["b", "d"])]
    of_people = measure(data[data["judge"].isin(["a", "c"])], reference=people, by="topic")
    assert len(of_people) == 2 * 2 + 1 * 2  # each judge of a topic and each person of it
    counts = measure(tally(data, "kappa"))  # they name their pairs
    assert len(counts) == 3


@pytest.mark.parametrize("options", [{}, {"weights": "linear"}, {"weights": "quadratic"}, {"pairs": "fleiss"}])
def test_perfect_agreement_has_no_interval_of_rounding_errors(options):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        answers = rng.integers(0, int(rng.integers(2, 7)), int(rng.integers(5, 60)))
        rows = [(j, "s", i, float(x)) for j in "ab" for i, x in enumerate([*answers, 0, 1])]
        table = pd.DataFrame(rows, columns=["judge", "system", "item", "score"])
        clustered = pd.concat([table, table.assign(system="t")], ignore_index=True)
        for own in (js.kappa(table, cluster=False, **options), js.kappa(clustered, cluster="item", **options)):
            assert own["estimate"].iloc[0] == pytest.approx(1)
            assert own[["std_error", "conf_low", "conf_high"]].isna().all(axis=None)
            assert "perfect agreement" in own["flag"].iloc[0]


@pytest.mark.parametrize("measure", [js.kappa, js.ac1, js.scott_pi])
def test_judges_without_a_common_category_have_no_interval_and_the_reason(measure):
    rows = [(j, "s", i, float(i % 2 + 2 * (j == "b"))) for j in "ab" for i in range(40)]
    own = measure(pd.DataFrame(rows, columns=["judge", "system", "item", "score"]), cluster=False).iloc[0]
    assert own["observed"] == 0
    assert np.isnan([own["conf_low"], own["conf_high"]]).all()
    assert own["flag"] == "no variation"


def test_the_method_names_the_weights():
    table = scores_of(FOUR)
    for measure in (kappa, ac1, scott_pi, lambda d, **o: kappa(d, pairs="fleiss", **o)):
        assert measure(table)["method"].str.endswith(", unweighted").all()
        assert measure(table, weights="quadratic")["method"].str.endswith(", quadratic weights").all()


def classes_of(first, second, **columns):
    table = {"judge": ["g"] * len(first) + ["h"] * len(second), "item": [*range(len(first))] * 2}
    return pd.DataFrame({**table, "answer": [*first, *second], **columns})


def test_ac1_counts_declared_classes_that_do_not_occur():
    """Shares of a half: chance agreement is 1/2 of two classes, 1/4 of three."""
    calls = classes_of("aabbaabb", "aabbabab")
    for table in (calls, pl.from_pandas(calls), pl.from_pandas(calls).lazy()):
        assert ac1(js.ratings(table))["estimate"].item() == pytest.approx(1 / 2)
        declared = js.ratings(table, classes=["a", "b", "c"])
        assert ac1(declared)["estimate"].item() == pytest.approx(2 / 3)
        assert ac1(declared, reference="h")["estimate"].item() == pytest.approx(2 / 3)
        assert ac1(declared, labels=["a", "b"])["estimate"].item() == pytest.approx(1 / 2)
        assert kappa(declared)["estimate"].item() == kappa(js.ratings(table))["estimate"].item()
    ordered = js.ratings(calls, classes=["a", "b", "c"], ordered=True)
    assert ac1(ordered)["estimate"].item() == pytest.approx(2 / 3)
    expected = ac1(ordered, weights="linear", labels=[1, 2, 3])["estimate"].item()
    assert ac1(ordered, weights="linear")["estimate"].item() == pytest.approx(expected)


def test_ac1_of_a_criterion_counts_its_own_classes():
    tone, style = classes_of("aabbaabb", "aabbabab", criterion="tone"), classes_of("cdef", "cdeg", criterion="style")
    both = ac1(pd.concat([tone, style])).set_index("criterion")["estimate"]
    assert both["tone"] == pytest.approx(1 / 2)
    assert both["style"] == pytest.approx(ac1(style)["estimate"].item())
    beside = ac1(pd.concat([tone, style]), reference="h").set_index("criterion")["estimate"]
    pd.testing.assert_series_equal(beside, both)


def test_scott_pi_below_minus_one_lies_in_its_interval() -> None:
    """Answers that never agree, most of one class: observed agreement 0, chance agreement above one half."""
    table = js.scott_pi(small_frames.pairs(), by="item")
    below = table[table["estimate"] < -1]
    assert below["estimate"].round(6).unique().tolist() == [-1.666667]
    assert (below["conf_low"] < below["estimate"]).all()
    assert (below["estimate"] < below["conf_high"]).all()
