"""Datasheets of preferences and of ratings: what they collect, and the profile."""

import math

import numpy as np
import pandas as pd
import polars
import pytest

import judgestats
from instrument import instrument_calls
from judgestats.errors import DesignError
from judgestats.metrics import psychometrics as js
from judgestats.metrics.consensus import score_matrix
from judgestats.metrics.datasheets import compare_datasheets, datasheet, profile
from metrics.tables import value


@pytest.fixture(scope="module")
def scores():
    """Unequal items per system and criteria per item; three numbered repeats."""
    rng = np.random.default_rng(2)
    rows = [
        {
            "judge": j,
            "system": s,
            "item": str(i),
            "criterion": c,
            "replicate": r,
            "score": float(rng.integers(1, 8) + 2 * (s == "b")),
        }
        for j in "gh"
        for s, items in (("a", 3), ("b", 12))
        for i in range(items)
        for c in ("x", "y")[: 1 + i % 2]
        for r in range(3)
    ]
    return pd.DataFrame(rows)


def row(table, term, judge="g"):
    return table[(table["term"] == term) & (table["judge"] == judge)].iloc[0]


def test_mean_score_is_the_mean_of_the_row_of_the_matrix(scores):
    sheet = datasheet(scores)
    matrix = score_matrix(scores)
    for judge in "gh":
        assert row(sheet, "mean_score", judge)["estimate"] == pytest.approx(
            matrix.loc[matrix["judge"] == judge, "estimate"].mean()
        )


def test_interval_of_a_balanced_mean_is_that_of_the_item_means():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        [{"judge": "g", "system": s, "item": str(i), "score": rng.normal()} for s in "abc" for i in range(20)]
    )
    got = row(datasheet(table), "mean_score")
    items = table.groupby("item")["score"].mean()
    assert got["std_error"] == pytest.approx(items.std(ddof=1) / math.sqrt(20))


def test_spread_is_over_numbered_repeats_only(scores):
    within = scores.groupby(["judge", "system", "item", "criterion"])["score"].std(ddof=1)
    want = math.sqrt((within["g"] ** 2).mean())
    assert row(datasheet(scores), "run_sd")["estimate"] == pytest.approx(want)
    batches = scores.rename(columns={"replicate": "batch"})
    apart = datasheet(batches, by="batch")
    assert set(apart["batch"]) == set(scores["replicate"])
    unnamed = datasheet(batches)  # what tells calls apart is not averaged over
    assert not {"run_sd", "mean_score"} & set(unnamed["term"])
    assert (
        unnamed["flag"].str.contains("calls on one thing differ in batch, not named").sum()
        == batches["judge"].nunique()
    )
    unnumbered = scores.drop(columns="replicate")
    got = row(datasheet(unnumbered), "run_sd")
    assert math.isnan(got["estimate"])
    assert got["flag"] == "single run"
    assert "several scores per item averaged" in row(datasheet(unnumbered), "mean_score")["flag"]


def test_spread_does_not_mix_conditions(scores):
    shifted = pd.concat([scores.assign(condition="a"), scores.assign(condition="b", score=scores["score"] + 50)])
    assert row(datasheet(shifted), "run_sd")["estimate"] == pytest.approx(row(datasheet(scores), "run_sd")["estimate"])


def test_missing_counts_what_was_asked_for(scores):
    gone = scores.copy()
    gone.loc[gone.index[:4], "score"] = np.nan
    got = row(datasheet(gone), "missing")
    assert (round(got["estimate"] * got["n"]), got["n"]) == (4, (scores["judge"] == "g").sum())


def test_a_missing_group_has_a_mean(scores):
    some = scores.assign(language=np.where(scores["item"] == "0", None, "en"))
    sheet = datasheet(some, by="language")
    means = sheet[(sheet["term"] == "mean_score") & (sheet["judge"] == "g")]
    assert len(means) == 2
    assert means["estimate"].notna().all()


# ---------------------------------------------------------------- datasheet


def test_datasheet_collects_what_the_data_support(calls):
    sheet = datasheet(calls, n_resamples=50)
    assert {"validity", "dark current", "Δ0", "Δ0, different subset", "ladder", "threshold", "d'", "filler"} <= set(
        sheet["section"]
    )
    assert (sheet["symbol"] != "").all()
    assert (sheet["meaning"] != "").all()
    direct = js.delta0(calls).set_index("term")["estimate"]
    section = sheet[sheet["section"] == "Δ0"].set_index("term")["estimate"]
    pd.testing.assert_series_equal(section.sort_index(), direct.sort_index())


def test_a_judge_whose_name_is_a_number_beside_names_of_text(calls):
    one = calls["judge"].iloc[0]
    numbered = calls.assign(judge=calls["judge"].astype(object).mask(calls["judge"] == one, 7))
    numbers = ["estimate", "n"]
    want = datasheet(calls.assign(judge=numbered["judge"].astype(str)), n_resamples=50)
    pd.testing.assert_frame_equal(datasheet(numbered, n_resamples=50)[numbers], want[numbers])


def test_datasheet_of_two_prompts_has_the_criterion_section(calls):
    both = pd.concat([calls, instrument_calls(prompt="strict", criterion=0.9)])
    sheet = datasheet(both, n_resamples=50, baseline="base")
    criterion = sheet[sheet["section"] == "criterion, base to strict"]
    assert set(criterion["prompt"]) == {"base to strict"}
    for prompt, one in (("base", calls), ("strict", instrument_calls(prompt="strict", criterion=0.9))):
        own = sheet[
            (sheet["prompt"] == prompt) & (sheet["term"] == "raw_false_preference") & (sheet["section"] == "Δ0")
        ]
        assert own["estimate"].item() == value(js.delta0(one), "raw_false_preference")
    with pytest.raises(DesignError, match="several values of 'prompt'"):
        compare_datasheets(both, calls)


def test_two_datasheets_without_calls_are_independent_samples(calls):
    options = {"n_resamples": 50, "cluster": False}
    sheets = datasheet(calls, **options), datasheet(instrument_calls(judge="h", seed=9), **options)
    got = compare_datasheets(*sheets)
    assert (got["method"] == "Newcombe, independent").all()
    assert {"Δ0", "ladder", "dark current"} <= set(got["section"])


@pytest.mark.parametrize(
    ("dc", "stable", "positional", "one_sided", "sketch"),
    [
        (0.0, 0.05, 0.0, 0.95, "Class A-delta0 / One-sided"),
        (0.0, 0.9, 0.05, 0.0, "Class A-delta0 / Stable cross-sensitive"),
        (0.4, 0.03, 0.97, 0.0, "Class B / Presentation-conflicted"),
        (0.0, 0.0, 0.1, 0.3, "Clean Class A"),
        (0.4, 0.0, 0.1, 0.3, "Class B"),
    ],
)
def test_profile_is_named_after_the_mechanism_that_dominates(dc, stable, positional, one_sided, sketch):
    terms = ["dark_current", "raw_false_preference", "stable_cross_sensitivity", "positional_false_preference"]
    raw = stable + positional + one_sided / 2
    rows = pd.DataFrame({"judge": "g", "term": terms, "estimate": [dc, raw, stable, positional]})
    assert profile(rows)["profile"].item() == sketch


def test_profile_of_a_datasheet_has_no_row_for_a_comparison_of_prompts(calls):
    both = pd.concat([calls, instrument_calls(prompt="strict", criterion=0.9)])
    got = profile(datasheet(both, n_resamples=20))
    assert got[["judge", "prompt"]].to_numpy().tolist() == [["g", "base"], ["g", "strict"]]


def test_profile_needs_both_measurements(calls):
    assert profile(js.delta0(calls))["profile"].item() == "not determined"


def test_an_empty_frame_has_no_datasheet_and_says_so():
    calls = judgestats.preferences(
        pd.DataFrame({"judge": ["g"], "item": "1", "first": "x", "second": "y", "choice": "first"})
    )
    with pytest.raises(DesignError, match="no rows"):
        judgestats.datasheet(calls.iloc[:0])


def test_spread_of_repeats_has_an_interval(scores):
    got, want = (
        row(datasheet(scores), "run_sd"),
        judgestats.run_sd(scores).query("judge == 'g' and term == 'run_sd'").iloc[0],
    )
    assert got["conf_low"] < got["estimate"] < got["conf_high"]
    assert got["conf_low"] == want["conf_low"]


@pytest.mark.parametrize("engine", [pd.DataFrame, polars.DataFrame])
def test_slots_of_controlled_pairs_are_counted_on_identical_texts(engine):
    """The target of the other pairs stands first by construction."""
    calls = pd.DataFrame({"item": [str(i) for i in range(40)], "first": "a", "second": "b", "judge": "g"})
    calls["bias"] = ["style"] * 20 + ["position"] * 20
    calls["choice"] = ["first"] * 20 + ["first", "second"] * 10
    sheet = datasheet(engine(calls)).set_index("term")
    assert sheet.loc["position_bias", ["estimate", "n"]].tolist() == [0, 20]
    without = datasheet(engine(calls.assign(bias=["style"] * 40))).set_index("term")
    assert without.loc["position_bias", "n"] == 40


def test_the_mean_of_scores_that_are_0_or_1_stays_between_them():
    table = pd.DataFrame({"judge": ["a"] * 4 + ["b"] * 4, "item": [*"1234"] * 2, "score": [1, 1, 1, 0, 1, 0, 0, 0.0]})
    means = datasheet(judgestats.schema.ratings(table)).query("term == 'mean_score'")
    assert means["conf_low"].ge(0).all()
    assert means["conf_high"].le(1).all()
    other = datasheet(judgestats.schema.ratings(table.assign(score=table["score"] * 2))).query("term == 'mean_score'")
    assert other["conf_low"].min() < 0  # a scale from 0 to 2 is not known
