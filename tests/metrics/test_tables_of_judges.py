"""Results about the same judges side by side, and their correlations over judges."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.published import load
from refusals import refused

#: Other names of the five models in the tables of the merchant_risk paper.
NAMES = {
    "Claude-4.5 Sonnet": "Claude",
    "Claude 4.5 Sonnet": "Claude",
    "Claude-4.5": "Claude",
    "Gemini-2.5 Pro": "Gemini",
    "Gemini 2.5 Pro": "Gemini",
    "Gemini 2.5": "Gemini",
    "Gemini-2.5": "Gemini",
    "Grok-4": "Grok 4",
    "Claude 4.5": "Claude",
}


@pytest.fixture(scope="module")
def known():
    """The three references of the paper, and the printed self-bias, a row per model."""
    tables = pd.concat([load(f"merchant_risk/table{i}") for i in range(1, 6)])
    final = tables[tables["criterion"] == "final"].replace({"judge": NAMES, "system": NAMES})
    peers = final[final["judge"] != final["system"]].groupby("system")["mean"].mean()
    own = load("merchant_risk/self_bias").query("condition == 'attributed'").set_index("system")["bias"]
    people = load("merchant_risk/human_panel").set_index("system")["mean"]
    outcomes = load("merchant_risk/correlations").set_index("system")["rho"]
    return js.side_by_side({"peers": peers, "people": people, "outcomes": outcomes, "self_bias": own}, identity=NAMES)


def pair(result, one, two):
    return result[(result["first"] == one) & (result["second"] == two)].iloc[0]


def test_the_three_references_side_by_side(known):
    assert known["judge"].tolist() == ["Claude", "GPT-5.1", "Gemini", "Grok 4", "Perplexity Sonar"]
    assert known.notna().all(axis=None)
    assert known.set_index("judge").loc["Claude", ["people", "outcomes", "self_bias"]].tolist() == [8.88, 0.77, -0.31]
    top = known.set_index("judge")[["peers", "people", "outcomes"]].idxmax()
    assert (top == "Claude").all()  # Section 5.2: best by peers, people and outcomes alike


def test_quality_against_validity_over_the_five_models(known):
    """Section 5.4 calls quality predictive; over five models the correlation is not significant."""
    got = pair(js.correlate_over_judges(known), "people", "outcomes")
    assert (got["estimate"], got["n"]) == (pytest.approx(0.7), 5)
    exact = stats.permutation_test(
        (known["people"],),
        lambda x: stats.spearmanr(x, known["outcomes"]).statistic,
        permutation_type="pairings",
        n_resamples=np.inf,
    )
    assert got["p_value"] == pytest.approx(exact.pvalue)
    assert got["p_value"] > 0.2
    assert got["conf_low"] < 0 < got["conf_high"]


def test_self_bias_against_quality_over_the_five_models(known):
    """Section 7.2: models with weaker answers favour themselves more."""
    result = js.correlate_over_judges(known, ["self_bias", "people", "peers"])
    got = pair(result, "self_bias", "people")
    assert got["estimate"] == pytest.approx(-0.5)
    assert got["estimate"] == pytest.approx(stats.spearmanr(known["self_bias"], known["people"]).statistic)
    assert len(result) == 3


def test_many_judges_get_p_from_t():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"judge": [f"j{i}" for i in range(20)], "a": rng.normal(size=20), "b": rng.normal(size=20)})
    table.loc[0, "a"] = np.nan
    got = js.correlate_over_judges(table).iloc[0]
    want = stats.spearmanr(table["a"][1:], table["b"][1:])
    assert (got["estimate"], got["p_value"]) == pytest.approx((want.statistic, want.pvalue))
    assert "1 judge without both numbers excluded" in got["flag"]


def test_results_keep_their_intervals_and_must_be_of_one_row():
    scores = pd.DataFrame(
        [(j, "s", f"i{i}", i % 4 + k) for k, j in enumerate("ab") for i in range(12)],
        columns=["judge", "system", "item", "score"],
    )
    matrix = js.score_matrix(scores)
    got = js.side_by_side({"score": matrix})
    assert got["score_low"].tolist() == matrix["conf_low"].tolist()
    refused(
        DesignError,
        (lambda: js.side_by_side({"score": pd.concat([matrix, matrix])}), "several rows for 'a'"),
        (lambda: js.side_by_side({"x": matrix, "y": pd.Series({"c": 1.0})}), "no judge in common"),
        (
            lambda: js.side_by_side({"x": matrix.drop(columns=["judge", "system"])}),
            SchemaError,
            "judge, system or model",
        ),
        (lambda: js.correlate_over_judges(got, ["score", "z"]), SchemaError, "'z' is no column of numbers"),
        (lambda: js.correlate_over_judges(got), "two columns"),
    )


@pytest.mark.parametrize(
    "results", [pd.DataFrame({"judge": ["a"], "estimate": [1.0]}), [1], {"judge": pd.Series({"a": 1})}]
)
def test_results_are_named(results):
    with pytest.raises(DesignError, match="results= is a mapping from the names of the columns to results"):
        js.side_by_side(results)
