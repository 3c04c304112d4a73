"""The effect of hidden names on deviations: signs, Fieller's interval, published values."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from judgestats.errors import DesignError
from judgestats.metrics.consensus import blinding_effect
from metrics.rating_tables import complete, of
from metrics.tables import SPELLINGS, read

# attenuation


def conditions(values, sd=None):
    """Two judges, each one system, the other judge's scores 0: deviations as given, in two conditions."""
    rows = [(c, j, s, x if j == s else 0.0) for c, x in values.items() for j, s in itertools.product("ab", "ab")]
    table = pd.DataFrame(rows, columns=["condition", "judge", "system", "mean"])
    return table if sd is None else table.assign(sd=sd, runs=4)


def test_attenuation_flags_and_signs():
    for values, estimate, flag in [
        ({"attributed": 2.0, "anonymized": 1.0}, 50, "sd unknown"),
        ({"attributed": 2.0, "anonymized": -1.0}, 50, "sign changed; sd unknown"),
        ({"attributed": -1.0, "anonymized": -2.0}, -100, "sd unknown"),
        ({"attributed": 0.0, "anonymized": 1.0}, math.nan, "base is zero"),
    ]:
        row = of(blinding_effect(conditions(values)), "attenuation").loc["a"]
        assert row["estimate"] == pytest.approx(estimate, nan_ok=True)
        assert row["flag"] == flag
    zero = of(blinding_effect(conditions({"attributed": 0.0, "anonymized": 1.0})), "mean_attenuation")
    assert zero["estimate"].isna().all()


def test_attenuation_interval_is_fieller_of_the_signed_ratio():
    table = conditions({"attributed": -4.0, "anonymized": -1.0}, sd=0.4)
    row = of(blinding_effect(table), "attenuation").loc["a"]
    v = 2 * 0.4**2 / 4  # variance of a deviation from one other judge, of two means of 4 runs: 3 degrees each
    df = (v + v / 16) ** 2 / ((v**2 + (v / 16) ** 2) / 6)  # of the difference B - (B/A) A, by Satterthwaite
    z2 = scipy.stats.t.ppf(0.975, df) ** 2
    g = 16 - z2 * v
    middle, half = 4 / g, np.sqrt(16 - g * (1 - z2 * v)) / g
    assert row["conf_high"] == pytest.approx(100 * (1 - (middle - half)))
    assert row["conf_low"] == pytest.approx(100 * (1 - (middle + half)))
    wide = of(blinding_effect(conditions({"attributed": -0.5, "anonymized": -0.1}, sd=1.0)), "attenuation").loc["a"]
    assert math.isnan(wide["conf_low"])
    assert wide["flag"] == "interval of the denominator includes 0"


def test_attenuation_of_noiseless_scores_has_no_interval():
    row = of(blinding_effect(conditions({"attributed": 2.0, "anonymized": 1.0}, sd=0.0)), "attenuation").loc["a"]
    assert row["estimate"] == 50
    assert math.isnan(row["conf_low"])
    assert row["flag"] == "no variation"


def test_attenuation_interval_across_zero_is_folded():
    row = of(blinding_effect(conditions({"attributed": 4.0, "anonymized": 0.05}, sd=0.4)), "attenuation").loc["a"]
    assert row["conf_high"] == 100
    assert row["conf_low"] < row["estimate"] < 100


def test_mean_attenuation_by_the_delta_method_agrees_with_draws():
    table = conditions({"attributed": 5.0, "anonymized": 2.0}, sd=0.3)
    row = of(blinding_effect(table), "mean_attenuation").iloc[0]
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.15, (8, 40000))
    cell = table["mean"].to_numpy()[:, None] + noise  # rows: condition x judge x system
    a, b, c, d = cell[0] - cell[2], cell[3] - cell[1], cell[4] - cell[6], cell[7] - cell[5]
    draws = 100 * ((np.abs(a) - np.abs(c)) / np.abs(a) + (np.abs(b) - np.abs(d)) / np.abs(b)) / 2
    assert row["std_error"] == pytest.approx(draws.std(), rel=0.03)
    assert row["method"] == "delta; t from mean, sd, runs (Satterthwaite)"


def test_attenuation_pairs_the_items_of_both_conditions():
    """Scores that move together over items: the ratio is surer than two independent conditions would make it."""
    rng = np.random.default_rng(8)
    named = complete(rng, "ab", "ab", [str(i) for i in range(30)])
    named["score"] += 6.0 * (named["judge"] == named["system"])
    hidden = named.assign(score=named["score"] * 0.5 + rng.normal(0, 0.01, len(named)))
    both = pd.concat([named.assign(condition="attributed"), hidden.assign(condition="anonymized")], ignore_index=True)
    paired = of(blinding_effect(both), "attenuation").loc["a"]
    assert paired["conf_low"] < 50 < paired["conf_high"]
    assert paired["conf_high"] - paired["conf_low"] < 0.5
    apart = both.assign(item=both["item"] + both["condition"])
    loose = of(blinding_effect(apart), "attenuation").loc["a"]
    assert loose["conf_high"] - loose["conf_low"] > 10 * (paired["conf_high"] - paired["conf_low"])


def test_attenuation_needs_both_conditions():
    table = conditions({"attributed": 2.0, "hidden": 1.0})
    with pytest.raises(DesignError, match=r"'condition' has no 'anonymized'\. It has: attributed, hidden"):
        blinding_effect(table)
    assert of(blinding_effect(table, blinded="hidden"), "mean_attenuation")["estimate"].item() == 50
    none = blinding_effect(table.replace({"system": {"a": "x", "b": "y"}}), blinded="hidden")
    assert none["flag"].eq("no own system").all()


def test_attenuation_by():
    one = conditions({"attributed": 2.0, "anonymized": 1.0})
    two = conditions({"attributed": 2.0, "anonymized": 0.5})
    result = blinding_effect(pd.concat([one.assign(tier="p"), two.assign(tier="q")]), by="tier")
    assert of(result, "mean_attenuation", "tier")["estimate"].to_dict() == {"p": 50, "q": 75}


JUDGES = ["GPT-5.1", "Gemini 2.5 Pro", "Grok 4", "Claude 4.5 Sonnet", "Perplexity Sonar"]

SYSTEMS = ["GPT-5.1", "Gemini 2.5", "Grok 4", "Claude 4.5", "Perplexity Sonar"]

EXPERTS = [f"Expert {i}" for i in range(1, 6)]

IDENTITY = dict(zip(SYSTEMS, JUDGES, strict=True)) | dict(zip(EXPERTS, JUDGES, strict=True))


def term(result, name):
    return result[result["term"] == name]


@pytest.mark.parametrize("decimals", [2, None])
def test_attenuation(printed_means, data_folder, decimals):
    result = blinding_effect(printed_means, identity=IDENTITY, round_first=decimals)
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


def test_rounding_is_that_of_printf(printed_means):
    result = blinding_effect(printed_means, identity=IDENTITY, round_first=2).set_index(["judge", "term"])["estimate"]
    assert result["GPT-5.1", "deviation_base"] == -0.33  # -0.335
    assert result["Claude 4.5 Sonnet", "deviation_base"] == -0.31  # -0.315
    assert result["Grok 4", "deviation_against"] == 0.60  # 0.605
    assert result["Perplexity Sonar", "deviation_against"] == 0.15  # 0.145


@pytest.mark.parametrize(
    ("baseline", "reason"),
    [
        ({"condition": "hidden"}, r"has no .*It has: hidden, shown. Pass baseline= and blinded="),
        (3, r"has no .*It has: hidden, shown. Pass baseline= and blinded="),
        (["hidden"], r"^baseline=\['hidden'\] must be a name\.$"),
    ],
)
def test_a_condition_of_the_wrong_type_is_a_message(baseline, reason):
    rows = [
        (j, s, i, c, 1.0 * k) for k, (j, s, i, c) in enumerate(itertools.product("ab", "xy", "pq", ("hidden", "shown")))
    ]
    table = pd.DataFrame(rows, columns=["judge", "system", "item", "condition", "score"])
    with pytest.raises(DesignError, match=reason):
        blinding_effect(table, baseline=baseline, blinded="shown")
