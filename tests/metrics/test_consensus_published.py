"""Consensus measures against what the merchant_risk paper and Shrout and Fleiss (1979) printed."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from judgestats.metrics.consensus import (
    blinding_effect,
    consensus_deviation,
    kendall_w,
    rank_correlation,
    ranks,
    score_matrix,
)

JUDGES = ["GPT-5.1", "Gemini 2.5 Pro", "Grok 4", "Claude 4.5 Sonnet", "Perplexity Sonar"]
SYSTEMS = ["GPT-5.1", "Gemini 2.5", "Grok 4", "Claude 4.5", "Perplexity Sonar"]
EXPERTS = [f"Expert {i}" for i in range(1, 6)]
IDENTITY = dict(zip(SYSTEMS, JUDGES, strict=True)) | dict(zip(EXPERTS, JUDGES, strict=True))
#: The paper spells its models in three ways.
SPELLINGS = {
    "Gemini-2.5 Pro": "Gemini 2.5 Pro",
    "Gemini-2.5": "Gemini 2.5 Pro",
    "Grok-4": "Grok 4",
    "Claude-4.5 Sonnet": "Claude 4.5 Sonnet",
    "Claude-4.5": "Claude 4.5 Sonnet",
}


def read(folder, name):
    return pd.read_csv(folder / "merchant_risk" / f"{name}.csv", dtype=str)


@pytest.fixture(scope="module")
def scores(data_folder):
    tables = pd.concat([read(data_folder, f"table{i}") for i in range(1, 11)], ignore_index=True)
    return tables.astype({"mean": float, "sd": float, "runs": float})


@pytest.fixture(scope="module")
def people(data_folder):
    panel = read(data_folder, "human_panel").rename(columns={"experts": "runs"})
    panel["system"] = panel["system"].replace(SPELLINGS)
    return panel.astype({"mean": float, "sd": float, "runs": float})


def term(result, name):
    return result[result["term"] == name]


def test_the_ten_diagonal_biases_as_printed(scores, data_folder):
    printed = read(data_folder, "self_bias")
    printed["judge"] = printed["system"].replace(SPELLINGS)
    result = consensus_deviation(scores, by="condition", identity=IDENTITY)
    own = result[result["own"]].merge(printed, on=["judge", "condition"])
    assert len(own) == 10
    assert [f"{x:+.2f}" for x in own["estimate"]] == own["bias"].tolist()


def test_deviations_of_a_system_sum_to_zero(scores):
    deviations = term(consensus_deviation(scores, by="condition", identity=IDENTITY), "deviation")
    sums = deviations.groupby(["condition", "system"])["estimate"].sum()
    assert len(sums) == 10
    assert sums.abs().max() < 1e-12


def test_self_excess_separates_severity_from_self_preference(scores):
    result = term(consensus_deviation(scores, by="condition", identity=IDENTITY), "self_excess")
    excess = result.set_index(["condition", "judge"])["estimate"]["attributed"]
    assert excess["GPT-5.1"] == pytest.approx(-0.11625, abs=1e-9)  # asked for: -0.116
    assert excess["Claude 4.5 Sonnet"] == pytest.approx(-0.0475, abs=1e-9)  # asked for: -0.047
    assert set(result["n"]) == {5}


def test_interval_from_means_sds_and_runs(scores):
    result = consensus_deviation(scores, by="condition", identity=IDENTITY)
    row = result[(result["judge"] == "GPT-5.1") & (result["condition"] == "attributed") & result["own"]].iloc[0]
    sds = scores[
        (scores["condition"] == "attributed") & (scores["criterion"] == "final") & (scores["system"] == "GPT-5.1")
    ]
    mine = sds["judge"] == "GPT-5.1"
    variance = (sds["sd"][mine] ** 2 / 10).sum() + (sds["sd"][~mine] ** 2 / 10).sum() / 16
    assert row["std_error"] == pytest.approx(np.sqrt(variance))
    squares = (sds["sd"][mine] ** 4 / 100).sum() + (sds["sd"][~mine] ** 4 / 100).sum() / 256
    half = scipy.stats.t.ppf(0.975, 9 * variance**2 / squares) * np.sqrt(variance)  # Satterthwaite
    assert row["conf_high"] - row["estimate"] == pytest.approx(half)
    assert row["method"] == "t from mean, sd, runs (Satterthwaite)"
    assert row["flag"] == "replicates averaged"


@pytest.mark.parametrize("decimals", [2, None])
def test_attenuation(scores, data_folder, decimals):
    result = blinding_effect(scores, identity=IDENTITY, round_first=decimals)
    got = term(result, "attenuation").set_index("judge")["estimate"]
    mean = term(result, "mean_attenuation")["estimate"].item()
    printed = read(data_folder, "attenuation").replace(SPELLINGS).set_index("system")["attenuation_percent"]
    if decimals == 2:
        assert {j: f"{x:.1f}" for j, x in got.items()} == printed.drop("mean").to_dict()
        assert f"{mean:.1f}" == printed["mean"] == "25.8"
    else:
        exact = {
            "GPT-5.1": 3.5 / 33.5,
            "Gemini 2.5 Pro": 21 / 77,
            "Grok 4": 10.5 / 71,
            "Claude 4.5 Sonnet": 15.5 / 31.5,
            "Perplexity Sonar": 6.5 / 21,
        }
        assert got.to_dict() == pytest.approx({j: 100 * x for j, x in exact.items()}, abs=1e-9)
        assert f"{mean:.1f}" == "26.5"
    assert (term(result, "attenuation")["flag"] == "").all()


def test_rounding_is_that_of_printf(scores):
    result = blinding_effect(scores, identity=IDENTITY, round_first=2).set_index(["judge", "term"])["estimate"]
    assert result["GPT-5.1", "deviation_base"] == -0.33  # -0.335
    assert result["Claude 4.5 Sonnet", "deviation_base"] == -0.31  # -0.315
    assert result["Grok 4", "deviation_against"] == 0.60  # 0.605
    assert result["Perplexity Sonar", "deviation_against"] == 0.15  # 0.145


def test_against_people(scores, people, data_folder):
    result = consensus_deviation(scores, people, by="condition", identity=IDENTITY)
    mean = term(result, "mean_deviation").set_index("condition")["estimate"]
    positive = term(result, "share_positive").set_index("condition")
    assert f"{mean['attributed']:+.2f}" == "+0.46"
    assert f"{mean['anonymized']:+.2f}" == "+0.43"
    assert round(positive["estimate"]["attributed"] * 25) == 23
    assert positive["n"]["attributed"] == 25
    own = result[result["own"]].set_index(["judge", "condition"])["estimate"]
    printed = read(data_folder, "human_bias")
    printed = printed[printed["condition"].isin(["attributed", "anonymized"]) & printed["value"].str.match(r"[+-]\d\.")]
    printed = printed[printed["quantity"] != "mean bias"]
    assert len(printed) == 6
    for _, row in printed.iterrows():
        assert f"{own[SPELLINGS.get(row['quantity'], row['quantity']), row['condition']]:+.2f}" == row["value"]


def test_uncertainty_of_the_people_goes_into_the_mean(scores, people):
    """Five judges share one human mean: its noise does not average out over them."""
    result = term(consensus_deviation(scores, people, by="condition", identity=IDENTITY), "mean_deviation")
    final = scores[(scores["criterion"] == "final") & (scores["condition"] == "attributed")]
    variance = (final["sd"] ** 2 / 10).sum() / 25**2 + (people["sd"] ** 2 / 26).sum() / 5**2
    assert result.set_index("condition")["std_error"]["attributed"] == pytest.approx(np.sqrt(variance))
    without = consensus_deviation(scores, people[["system", "mean"]], by="condition", identity=IDENTITY)
    assert term(without, "mean_deviation")["flag"].str.contains("reference taken as exact").all()
    assert (term(without, "mean_deviation")["std_error"].to_numpy() < result["std_error"].to_numpy()).all()


def test_final_scores_are_means_of_criteria_in_46_of_50_cells(scores):
    """Criteria of ten whole scores have one decimal exactly; final scores are printed with two, in table 10 with one."""
    tenth = (scores["judge"] == "Perplexity Sonar") & (scores["condition"] == "anonymized")
    exact = 12
    two = score_matrix(scores[~tenth], by="condition", decimals=(2, exact))
    one = score_matrix(scores[tenth], by="condition", decimals=(1, exact))
    broken = two[two["flag"].str.contains("final is not the mean of criteria")]
    assert {(j, s): round(g, 6) for j, s, g in zip(broken["judge"], broken["system"], broken["gap"], strict=True)} == {
        ("Claude 4.5 Sonnet", "GPT-5.1"): -0.2,
        ("GPT-5.1", "Claude 4.5"): -0.2,
        ("Perplexity Sonar", "Gemini 2.5"): 0.4,
        ("Gemini 2.5 Pro", "Expert 4"): -0.04,
    }
    assert (one["flag"] == "").all()
    assert len(two) + len(one) == 50
    assert set(two["runs"]) == {10}


def test_criterion_level_leaves_the_final_score_out(scores):
    result = score_matrix(scores, by="condition", per_criterion=True)
    assert len(result) == 250
    assert "final" not in set(result["criterion"])
    cell = result[
        (result["judge"] == "GPT-5.1") & (result["system"] == "GPT-5.1") & (result["criterion"] == "accuracy")
    ]
    assert cell[["estimate", "sd", "runs"]].to_numpy().tolist() == [[8.7, 0.28, 10]]
    assert cell["conf_high"].item() == pytest.approx(8.7 + 2.262157163 * 0.28 / np.sqrt(10))  # t on 9


def test_shrout_and_fleiss():
    rows = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
    long = (
        pd.DataFrame(rows, columns=list("abcd"))
        .rename_axis("item")
        .reset_index()
        .melt("item", var_name="judge", value_name="score")
    )
    result = consensus_deviation(long.assign(system="s"))
    got = term(result, "deviation")["estimate"].to_numpy()
    np.testing.assert_allclose(got, [3.16666667, -3.72222222, -1.27777778, 1.83333333], atol=5e-9)
    np.testing.assert_allclose(got, 4 / 3 * (rows.mean(axis=0) - rows.mean()), atol=1e-12)
    assert abs(got.sum()) < 1e-12
    others = term(result, "mean_others")
    np.testing.assert_allclose(others["estimate"], got)
    assert (term(result, "self_excess")["flag"] == "no own system").all()


def test_ranks_and_concordance_between_conditions(scores):
    ranked = ranks(scores, by="condition")
    claude = ranked[(ranked["judge"] == "Claude 4.5 Sonnet") & (ranked["condition"] == "attributed")]
    assert claude.set_index("system")["estimate"].to_dict() == {
        "Claude 4.5": 1,
        "GPT-5.1": 2,
        "Gemini 2.5": 3,
        "Grok 4": 4,
        "Perplexity Sonar": 5,
    }
    tau = rank_correlation(scores, ("attributed", "anonymized"), method="kendall", identity=IDENTITY)
    assert tau.set_index("judge")["estimate"].round(10).to_dict() == {
        "Claude 4.5 Sonnet": 1.0,
        "GPT-5.1": 0.2,
        "Gemini 2.5 Pro": 1.0,
        "Grok 4": 0.8,
        "Perplexity Sonar": 0.6,
    }
    w = kendall_w(scores, by="condition").set_index("condition")
    assert w["estimate"].to_dict() == pytest.approx({"attributed": 0.808, "anonymized": 0.8})
    assert w["chi2"]["attributed"] == pytest.approx(5 * 4 * 0.808)


def test_printed_p_needs_fifteen_items():
    """rho .49 and p .063 are printed; N is not. Only N = 15 is compatible with both."""
    from judgestats.metrics.consensus.correlations import spearman_p

    assert {n for n in range(5, 60) if spearman_p(0.495, n) <= 0.0635 and spearman_p(0.485, n) >= 0.0625} == {15}


def test_largest_spearman_with_five_blocks_of_three(data_folder):
    picks = read(data_folder, "picks")
    picks["score"] = picks["risk_level"].astype(float)
    mine = picks[picks["model"] == "Claude-4.5 Sonnet"].sort_values("risk_level", kind="stable")
    calls = mine.rename(columns={"model": "judge", "mcc": "item"})[["judge", "item", "score"]]
    truth = pd.DataFrame({"item": calls["item"], "value": np.arange(15.0), "level": calls["score"]})
    result = rank_correlation(calls, truth=truth).set_index("term")
    assert result["estimate"]["spearman"] == pytest.approx(np.sqrt(270 / 280), abs=1e-12)
    assert result["n"]["spearman"] == 15
    assert result["estimate"]["off_by_one"] == result["estimate"]["off_by_more"] == 0
