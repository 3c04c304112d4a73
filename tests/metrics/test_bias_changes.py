"""Changes of signed bias under a strategy: brute force, pairing, what is excluded, bad input."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats.counting.tallies import tally
from judgestats.errors import SchemaError
from judgestats.flags import NOT_INDEPENDENT, SIGN_CHANGED
from judgestats.metrics.bias import bias_change, bias_score
from metrics.tables import outcome_of, pick, random_calls, signed_calls

NUMBERS = ["estimate", "std_error", "conf_low", "conf_high", "n"]


# --- change


def test_changes_by_brute_force():
    calls = signed_calls(strategies=("B0", "S1", "S5"), items=30)
    result = bias_change(calls, cluster=False, baseline="B0")
    score = calls.assign(y=[outcome_of(c, f) for c, f in zip(calls["choice"], calls["first"], strict=True)])
    wide = score.pivot(index=["judge", "item", "first"], columns="strategy", values="y")
    magnitudes = {}
    for judge in "gh":
        for strategy in ("S1", "S5"):
            both = wide.loc[judge, ["B0", strategy]].dropna()
            rows = result[(result["judge"] == judge) & (result["strategy"] == strategy)].set_index("term")
            base, new = both["B0"].mean(), both[strategy].mean()
            assert rows["estimate"].to_dict() == pytest.approx(
                {"baseline_bias": base, "bias": new, "change": new - base, "magnitude_change": abs(new) - abs(base)}
            )
            assert (rows["n"] == len(both)).all()
            gap = both[strategy] - both["B0"]
            assert rows.loc["change", "std_error"] == pytest.approx(gap.std(ddof=0) / math.sqrt(len(both)))
            assert rows.loc["change", "method"] == "MOVER, paired"
            left = len(wide.loc[judge]) - len(both)
            assert f"{left} pairs without an answer under both" in rows.loc["change", "flag"]
            magnitudes[judge, strategy] = abs(new) - abs(base)
    means = result[result["judge"].isna() & (result["term"] == "mean_change")].set_index("strategy")["estimate"]
    for strategy in ("S1", "S5"):
        assert means[strategy] == pytest.approx((magnitudes["g", strategy] + magnitudes["h", strategy]) / 2)
    one = bias_change(calls, judges=["h"], cluster=False, baseline="B0")
    mean = one[one["term"] == "mean_change"].set_index("strategy")
    alone = one[(one["term"] == "magnitude_change") & (one["judge"] == "h")].set_index("strategy")
    np.testing.assert_allclose(mean[NUMBERS], alone[NUMBERS])


def test_changes_of_a_tally_of_pairs_and_of_any_row_order():
    calls = signed_calls(strategies=("B0", "S5"))
    whole = bias_change(calls, baseline="B0")
    pd.testing.assert_frame_equal(bias_change(tally(calls, "bias_change", baseline="B0"), baseline="B0"), whole)
    pd.testing.assert_frame_equal(bias_change(calls.sample(frac=1, random_state=2), baseline="B0"), whole)
    pd.testing.assert_frame_equal(bias_change(pl.from_pandas(calls), baseline="B0"), whole, check_dtype=False)
    flipped = bias_change(calls.assign(target="y"), baseline="B0")
    signed = whole["term"].isin(["change", "bias", "baseline_bias", "mean_signed_change"])
    np.testing.assert_allclose(flipped.loc[signed, "estimate"], -whole.loc[signed, "estimate"])
    np.testing.assert_allclose(flipped.loc[~signed, NUMBERS], whole.loc[~signed, NUMBERS])


def test_pairing_tells_more_than_two_samples():
    rng = np.random.default_rng(99)
    calls = signed_calls(strategies=("B0", "S5"), items=60, judges="g")
    base = calls[calls["strategy"] == "B0"].reset_index(drop=True)
    changed = base["choice"].where(rng.random(len(base)) < 0.9, "tie")
    calls = pd.concat([base, base.assign(strategy="S5", choice=changed)])
    paired = bias_change(calls, baseline="B0").set_index("term")
    apart = bias_change(tally(calls, "bias_score", "strategy", cluster=False), cluster=False, baseline="B0").set_index(
        "term"
    )
    assert apart.loc["change", "method"] == "MOVER, independent"
    valid = calls[calls["choice"] != "invalid"]
    scores = pick(bias_score(valid, by="strategy").query("strategy == 'S5'"))
    assert apart.loc["bias", "estimate"] == pytest.approx(scores["g"])
    width = [t.loc["change", "conf_high"] - t.loc["change", "conf_low"] for t in (paired, apart)]
    assert width[0] < 0.6 * width[1]
    drawn = bias_change(calls, interval="percentile", cluster="item", n_resamples=4000, baseline="B0").set_index("term")
    assert drawn.loc["change", "std_error"] == pytest.approx(paired.loc["change", "std_error"], rel=0.25)
    assert "bootstrap of item" in drawn.loc["mean_change", "method"]
    free = bias_change(calls, interval="percentile", n_resamples=20_000, baseline="B0").set_index("term")
    for term in ("change", "mean_change"):
        assert free.loc[term, "std_error"] == pytest.approx(paired.loc["change", "std_error"], rel=0.03)
        np.testing.assert_allclose(
            free.loc[term, ["conf_low", "conf_high"]].astype(float),
            paired.loc["change", ["conf_low", "conf_high"]].astype(float),
            atol=0.05,
        )


def test_the_same_answers_under_both_have_an_interval_all_the_same():
    calls = signed_calls(items=40, judges="g")
    result = bias_change(pd.concat([calls, calls.assign(strategy="S5")]), baseline="B0").set_index("term")
    row = result.loc["change"]
    assert row["estimate"] == 0
    assert -0.2 < row["conf_low"] < 0 < row["conf_high"] < 0.2
    opposed = calls.assign(strategy="S5", choice=calls["choice"].replace({"first": "second", "second": "first"}))
    turned = bias_change(pd.concat([calls, opposed]), baseline="B0").set_index("term")
    assert turned.loc["magnitude_change", "estimate"] == pytest.approx(0)
    assert SIGN_CHANGED in turned.loc["magnitude_change", "flag"]
    assert "sign of the bias uncertain" in turned.loc["magnitude_change", "flag"]
    assert turned.loc["change", "conf_low"] <= turned.loc["change", "estimate"]


def test_coverage_of_a_change():
    """A paired change from 0.6 to 0.3 over 60 pairs."""
    rng = np.random.default_rng(3)
    joint = np.array([[0.5, 0.1, 0.15], [0.05, 0.06, 0.02], [0.02, 0.02, 0.08]])
    truth = (joint.sum(axis=0) - joint.sum(axis=1)) @ [1, -1, 0]
    names = ["target", "other", "tie"]
    draws = [rng.multinomial(60, joint.ravel()).reshape(3, 3) for _ in range(300)]
    table = pd.DataFrame(
        [
            {"judge": "g", "r": r, "strategy": "S5", "baseline": names[i], "outcome": names[j], "n": d[i, j]}
            for r, d in enumerate(draws)
            for i in range(3)
            for j in range(3)
        ]
    )
    result = bias_change(table, by="r", baseline="B0")
    for term in ("change", "magnitude_change"):
        rows = result[result["term"] == term]
        assert len(rows) == 300
        covered = ((rows["conf_low"] <= truth) & (truth <= rows["conf_high"])).mean()
        assert 0.92 <= covered <= 0.99, term


def test_a_map_of_biases_by_strategies():
    calls = pd.concat(
        [signed_calls(seed=s, strategies=("B0", "S1", "S5")).assign(bias=b) for s, b in enumerate(["length", "style"])]
    )
    result = bias_change(calls, cluster=False, baseline="B0")
    cells = result[result["term"] == "mean_change"]
    assert cells[["bias", "strategy"]].to_numpy().tolist() == [
        ["length", "S1"],
        ["length", "S5"],
        ["style", "S1"],
        ["style", "S5"],
    ]
    assert cells["flag"].str.contains(NOT_INDEPENDENT).all()
    assert (
        not bias_change(calls, cluster="item", interval="percentile", baseline="B0")
        .query("term == 'mean_change'")["flag"]
        .str.contains(NOT_INDEPENDENT)
        .any()
    )


def test_changes_of_copies_are_worth_those_of_one():
    calls = signed_calls(strategies=("B0", "S5"), items=60)
    calls = calls[calls["choice"] != "invalid"]
    copies = pd.concat([calls.assign(replicate=r) for r in range(3)])
    one, three = (bias_change(c, cluster="item", baseline="B0").set_index(["judge", "term"]) for c in (calls, copies))
    np.testing.assert_allclose(three["std_error"], one["std_error"])
    width = {n: (t["conf_high"] - t["conf_low"]).droplevel(0)["change"] for n, t in (("one", one), ("three", three))}
    np.testing.assert_allclose(width["three"], width["one"], rtol=0.06)
    plain = bias_change(copies, cluster=False, baseline="B0")
    assert plain["flag"].str.contains(NOT_INDEPENDENT).all()
    narrow = plain.set_index(["judge", "term"])
    assert (narrow["std_error"] < 0.75 * one["std_error"]).all()


def test_a_mean_of_judges_of_the_same_items_is_clustered_by_them():
    calls = signed_calls(strategies=("B0", "S5"), items=60)
    twin = pd.concat([calls[calls["judge"] == "g"], calls[calls["judge"] == "g"].assign(judge="h")])
    means = bias_change(twin, baseline="B0").query("term == 'mean_signed_change'").iloc[0]
    alone = bias_change(twin, baseline="B0").query("term == 'change' and judge == 'g'").iloc[0]
    assert "clustered by item" in means["method"]
    assert means["std_error"] == pytest.approx(alone["std_error"]), "a second judge that answers alike adds nothing"
    apart = bias_change(twin, cluster=False, baseline="B0").query("term == 'mean_signed_change'").iloc[0]
    assert NOT_INDEPENDENT in apart["flag"]
    assert apart["std_error"] < 0.8 * alone["std_error"]


def test_independent_samples_tell_their_invalid_calls_and_keep_a_judge_with_nothing_else() -> None:
    counts = pd.DataFrame(
        {
            "judge": ["g"] * 4 + ["h"] * 2,
            "strategy": ["B0", "B0", "B0", "S5", "B0", "S5"],
            "outcome": ["target", "other", "invalid", "target", "invalid", "invalid"],
            "n": [60, 20, 7, 50, 40, 40],
        }
    )
    result = bias_change(counts, cluster=False, baseline="B0")
    told = result[result["term"] == "change"].set_index("judge")["flag"]
    assert told["g"] == "7 calls without an answer excluded"
    assert told["h"] == "no data; 80 calls without an answer excluded"
    assert (result.loc[result["judge"].isna(), "flag"] == "1 of 2 judges; 7 calls without an answer excluded").all()


def test_a_strategy_that_is_missing_is_refused() -> None:
    table = random_calls().assign(strategy=np.resize(["B0", "S5", None], 80))
    counts = pd.DataFrame({"judge": "g", "strategy": ["B0", "S5", None], "outcome": "target", "n": [30, 30, 1]})
    for wrong in (table, counts):
        with pytest.raises(SchemaError, match="'strategy' is missing"):
            bias_change(wrong, baseline="B0")
