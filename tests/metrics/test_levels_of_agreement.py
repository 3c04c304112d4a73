"""Agreement on systems, items and scores."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, t

import twins_correlation as twins
from judgestats.metrics.agreement import agreement_levels
from metrics.tables import panel_of_criteria


def test_perfect_agreement_and_independent_noise():
    table = panel_of_criteria(noise=0.0)
    got = agreement_levels(table.assign(score=table["score"].round(3)), n_resamples=100).set_index("term")
    assert got.loc[["rho_system", "r_sample"], "estimate"].tolist() == pytest.approx([1, 1])
    assert got.loc["icc", "estimate"] < 0.95  # severity alone
    assert got.loc["r_sample", ["conf_low", "std_error"]].isna().all()
    assert "all resamples equal" in got.loc["r_sample", "flag"]
    rng = np.random.default_rng(0)
    noise = panel_of_criteria(systems="A", items=2000, criteria=("c",))
    noise["score"] = rng.normal(size=len(noise))
    got = agreement_levels(noise, n_resamples=50).set_index("term")["estimate"]
    assert abs(got["r_sample"]) < 0.06
    assert abs(got["icc"]) < 0.06


def test_three_levels_of_an_additive_model_have_their_closed_forms():
    """Score = truth + severity + noise: r = 1/(1 + σ²), ICC = 1/(1 + τ² + σ²) with τ² the variance of severities."""
    table = panel_of_criteria(items=4000, criteria=("c",), systems="AB", noise=1.0)
    got = agreement_levels(table, n_resamples=20).set_index("term")["estimate"]
    assert got["r_sample"] == pytest.approx(0.5, abs=0.02)
    assert got["icc"] == pytest.approx(1 / (1 + 0.25 + 1), abs=0.02)
    assert got["gap_sample_icc"] == pytest.approx(got["r_sample"] - got["icc"])
    assert got["gap_system_sample"] == pytest.approx(got["rho_system"] - got["r_sample"])


@pytest.mark.parametrize("seed", [5, np.random.default_rng(5), None])
def test_gaps_are_of_the_same_resamples(seed):
    """Correlation and ICC of judges of equal severity move together: their gap varies far less than either."""
    table = panel_of_criteria(items=40, criteria=("c",), systems="AB", noise=1.0)
    table["score"] -= table.groupby("judge")["score"].transform("mean")
    error = agreement_levels(table, n_resamples=1000, seed=seed).set_index("term")["std_error"]
    assert error["gap_sample_icc"] < 0.5 * error[["r_sample", "icc"]].min()


def test_icc_is_the_public_icc():
    from judgestats.metrics.agreement import icc

    table = panel_of_criteria(criteria=("c",))
    table.loc[5, "score"] = np.nan
    got = agreement_levels(table, n_resamples=20).set_index("term").loc["icc", "estimate"]
    public = icc(table, by="system")
    assert got == pytest.approx(public[public["term"] == "ICC(2,1)"]["estimate"].mean())


def test_levels_average_over_cells():
    table = panel_of_criteria(temperatures=(0.0, 1.0), systems="ABC")
    got = agreement_levels(table, cell="temperature", n_resamples=50).set_index("term")
    parts = [agreement_levels(p, n_resamples=50).set_index("term")["estimate"] for _, p in table.groupby("temperature")]
    means = [t for t in got.index if not t.startswith("sd_")]
    pd.testing.assert_series_equal(got.loc[means, "estimate"], sum(parts)[means] / 2, check_names=False)
    assert got["n"].tolist() == [3, 6, 6, 6, 6, 6, 6]
    assert got["flag"].str.contains("fewer than 30 clusters").all()
    assert (
        not agreement_levels(panel_of_criteria(items=31), n_resamples=20)["flag"]
        .str.contains("fewer than 30 clusters")
        .any()
    )


@pytest.mark.real
def test_hanna_levels_are_brute_force(real_data):
    raw = pd.read_csv(real_data / "hanna" / "ratings_long.csv.gz")
    raw = raw[(raw["eval_prompt"] == 1) & (raw["score"] >= 1)]
    table = raw.rename(columns={"rater": "judge", "writer": "system"}).assign(item=raw["prompt_index"].astype(str))
    table = table[["judge", "system", "item", "criterion", "score"]]
    got = agreement_levels(table, n_resamples=20).set_index("term")["estimate"]
    counts = table.groupby(["system", "item", "judge"])["score"].agg(["mean", "count"]).reset_index()
    asked = table.groupby(["system", "item"])["criterion"].nunique().rename("asked").reset_index()
    whole = counts.merge(asked).query("count == asked")
    r, icc = [], []
    for _, part in whole.groupby("system"):
        wide = part.pivot(index="item", columns="judge", values="mean")
        corr = wide.corr().to_numpy()
        r.append(corr[np.triu_indices(len(corr), 1)].mean())
        icc.append(twins.icc(wide.to_numpy().T))
    means = whole.groupby(["system", "judge"])["mean"].mean().unstack().corr("spearman").to_numpy()
    assert got["r_sample"] == pytest.approx(np.mean(r))
    assert got["icc"] == pytest.approx(np.mean(icc))
    assert got["rho_system"] == pytest.approx(means[np.triu_indices(len(means), 1)].mean())
    assert got["rho_system"] > got["r_sample"] > got["icc"]


def test_one_cell_has_no_sd():
    got = agreement_levels(panel_of_criteria(systems="A"), n_resamples=50).set_index("term").loc["sd_icc"]
    assert np.isnan(got["estimate"])
    assert "one unit" in got["flag"]


def _scores_with_gaps(seed: int, r: float, missing: float, items: int = 60) -> pd.DataFrame:
    """Three judges whose scores correlate by `r`; a share of the scores is missing at random."""
    rng = np.random.default_rng(seed)
    scores = np.sqrt(r) * rng.normal(size=(items, 1)) + np.sqrt(1 - r) * rng.normal(size=(items, 3))
    scores[rng.random(scores.shape) < missing] = np.nan
    wide = pd.DataFrame(scores, columns=list("abc")).rename_axis("item").reset_index().assign(system="s")
    return wide.melt(["item", "system"], var_name="judge", value_name="score").astype({"item": str})


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_interval_of_r_is_students_on_fishers_z_with_the_items_that_judges_share(missing):
    table = _scores_with_gaps(1, 0.8, missing)
    row = agreement_levels(table, n_resamples=400).set_index("term").loc["r_sample"]
    raters = table.dropna().groupby("item").size()
    shared = raters * (raters - 1) / 2
    worth = shared.sum() ** 2 / (shared**2).sum()
    assert (worth == 60) == (missing == 0)
    z, spread = np.arctanh(row["estimate"]), 1 - row["estimate"] ** 2
    half = t.ppf(0.975, worth - 3) * row["std_error"] / spread * np.sqrt((worth - 1) / (worth - 3))
    below, above = z - np.arctanh(row["conf_low"]), np.arctanh(row["conf_high"]) - z
    assert min(below, above) == pytest.approx(half)  # the other end also allows for the bias of the draws
    assert max(below, above) < 1.2 * half
    assert row["method"] == "t on Fisher's z, bootstrap of item (B = 400)"


def test_no_interval_of_r_from_three_shared_items():
    table = _scores_with_gaps(1, 0.8, 0.0, items=3)
    row = agreement_levels(table, n_resamples=50).set_index("term").loc["r_sample"]
    assert np.isnan([row["conf_low"], row["conf_high"]]).all()
    assert "too few for an interval" in row["flag"]


@pytest.mark.slow
@pytest.mark.parametrize(("r", "missing"), [(0.4, 0.28), (0.975, 0.0)])
def test_the_interval_of_r_covers(r, missing):
    """Untransformed, and with all items counted, it covered .93 with the gaps; near 1 all misses were above."""
    rows = [
        agreement_levels(_scores_with_gaps(seed, r, missing), n_resamples=300).set_index("term").loc["r_sample"]
        for seed in range(300)
    ]
    above, below = sum(row["conf_low"] > r for row in rows), sum(row["conf_high"] < r for row in rows)
    assert binom.cdf(above + below, 300, 0.05) < 0.99
    assert max(above, below) < 18
