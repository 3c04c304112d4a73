"""Disagreement of the judges on rated items."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.metrics.agreement import disagreement, score_distribution
from judgestats.published import load
from metrics.tables import panel_of_skewed_scores, panel_of_two_conditions
from refusals import refused


@pytest.mark.parametrize("unit", ["item", "criterion"])
def test_a_disputed_item_has_its_own_name_where_nobody_rated_another(unit):
    table = pd.DataFrame(
        [(j, "s", i, "c") for j in "ab" for i in "pqrs"], columns=["judge", "system", "item", "criterion"]
    )
    table["score"] = [np.nan, 1, 1, 1, np.nan, 1, 5, 2]
    disputed = disagreement(table, unit=unit, top=3).query("term == 'disputed'")
    names = [f"{item}: c" if unit == "criterion" else item for item in "rsq"]
    assert list(zip(disputed["item"], disputed["estimate"], strict=True)) == list(zip(names, [4, 1, 0], strict=True))


@pytest.mark.parametrize("unit", ["item", "criterion"])
def test_spread_is_brute_force(unit):
    table = panel_of_skewed_scores().sample(frac=1, random_state=2)
    index = ["system", "item"] if unit == "item" else ["system", "item", "criterion"]
    wide = table.pivot_table(index=index, columns="judge", values="score")
    spread = wide.max(axis=1) - wide.min(axis=1)
    got = disagreement(table, unit=unit, thresholds=(2, 3.5), top=4, n_resamples=100)
    value = got.set_index("term")["estimate"]
    assert value["mean_spread"] == pytest.approx(spread.mean())
    shares = got[got["term"] == "share_above"].set_index("threshold")["estimate"]
    assert shares.to_dict() == pytest.approx({2.0: (spread > 2).mean(), 3.5: (spread > 3.5).mean()})
    pairs = got[got["term"] == "mean_difference"].set_index(["judge", "other"])["estimate"]
    for a, b in combinations("xyz", 2):
        assert pairs[(a, b)] == pytest.approx((wide[a] - wide[b]).abs().mean())
    assert pairs.sum() == pytest.approx(2 * spread.mean())  # three judges
    best = wide.eq(wide.max(axis=1), axis=0)
    alone = got[got["term"] == "highest_alone"].set_index("judge")["estimate"]
    shared = got[got["term"] == "highest_shared"].set_index("judge")["estimate"]
    assert alone.to_dict() == pytest.approx(best[best.sum(axis=1) == 1].sum().div(len(wide)).to_dict())
    assert shared.to_dict() == pytest.approx(best.div(best.sum(axis=1), axis=0).mean().to_dict())
    assert shared.sum() == pytest.approx(1)
    top = got[got["term"] == "disputed"]
    assert top["estimate"].tolist() == pytest.approx(sorted(spread, reverse=True)[:4])
    for r in top.to_dict("records"):
        key = (r["system"], *r["item"].split(": "))
        assert spread[key] == pytest.approx(r["estimate"])


def test_thresholds_are_strict():
    table = pd.DataFrame(
        {"judge": ["a", "b"] * 3, "system": "s", "item": list("112233"), "score": [1, 3, 1, 4, 1, 1.0]}
    )
    got = disagreement(table, thresholds=(2, 3), n_resamples=50)
    assert got[got["term"] == "share_above"]["estimate"].tolist() == pytest.approx([1 / 3, 0])


def test_a_thing_that_one_judge_left_out_counts_for_the_others():
    table = panel_of_skewed_scores(systems="A", criteria=("c",), items=5)
    table.loc[(table["judge"] == "x") & (table["item"] == "i00"), "score"] = np.nan
    table = table[~((table["item"] == "i01") & (table["judge"] != "x"))]
    got = disagreement(table, n_resamples=50).set_index("term")
    assert got.loc["mean_spread", "n"] == 4
    assert "1 not rated by all judges" in got.loc["mean_spread", "flag"]
    assert got[got.index == "mean_difference"]["n"].tolist() == [3, 3, 4]


@pytest.mark.parametrize("measure", [disagreement, score_distribution])
def test_row_order_engine_and_runs_do_not_matter(measure):
    table = panel_of_skewed_scores(items=6)
    expected = measure(table, n_resamples=50)
    pd.testing.assert_frame_equal(measure(table.sample(frac=1, random_state=0), n_resamples=50), expected)
    pd.testing.assert_frame_equal(measure(pl.from_pandas(table).lazy(), n_resamples=50), expected)
    twice = pd.concat([table.assign(replicate=r, score=table["score"] + d) for r, d in ((0, -0.5), (1, 0.5))])
    np.testing.assert_allclose(measure(twice, n_resamples=50)["estimate"], expected["estimate"], atol=1e-12)


def test_conditions_are_named():
    table = pd.concat(
        [
            panel_of_skewed_scores(1, items=4).assign(temperature=0.0),
            panel_of_skewed_scores(2, items=4).assign(temperature=1.0),
        ]
    )
    with pytest.raises(DesignError, match="'temperature' splits ratings"):
        disagreement(table)
    got = disagreement(table, by="temperature", n_resamples=50).set_index(["temperature", "term"])["estimate"]
    for value, part in table.groupby("temperature"):
        alone = disagreement(part, n_resamples=50).set_index("term")["estimate"]
        assert got[value, "mean_spread"] == alone["mean_spread"]
    averaged = disagreement(table, average_over="temperature", n_resamples=50).set_index("term")["estimate"]
    keys = ["judge", "system", "item", "criterion"]
    means = disagreement(table.groupby(keys, as_index=False)["score"].mean(), n_resamples=50).set_index("term")
    assert averaged["mean_spread"] == pytest.approx(means.loc["mean_spread", "estimate"])


def test_the_bootstrap_of_the_mean_spread_is_that_of_a_mean():
    table = panel_of_skewed_scores(systems="A", criteria=("c",), items=200)
    wide = table.pivot(index="item", columns="judge", values="score")
    spread = wide.max(axis=1) - wide.min(axis=1)
    row = disagreement(table, n_resamples=4000).iloc[0]
    assert row["std_error"] == pytest.approx(spread.std(ddof=0) / np.sqrt(200), rel=0.05)


@pytest.mark.real
def test_cross_eval_spread_is_brute_force(real_data):
    raw = pd.read_json(real_data / "cross_eval_masaomi" / "evaluations.jsonl", lines=True)
    raw = raw[raw["error"].isna() & ~raw["is_self_bias_test"] & (raw["run"] == raw["run"].iloc[-1])]
    scores = pd.json_normalize(raw["scores"].tolist()).set_axis(raw.index)
    table = scores.assign(judge=raw["evaluator_key"], system=raw["evaluated_key"], item=raw["task_id"])
    long = table.melt(["judge", "system", "item"], var_name="criterion", value_name="score")
    got = disagreement(long, n_resamples=20)
    wide = table.assign(score=scores.mean(axis=1)).pivot_table(
        index=["system", "item"], columns="judge", values="score"
    )
    wide = wide[wide.notna().sum(axis=1) > 1]
    spread = wide.max(axis=1) - wide.min(axis=1)
    assert got["n"].iloc[0] == len(spread) > 3
    assert got["estimate"].iloc[0] == pytest.approx(spread.mean())


FEW = {"n_resamples": 40}


def test_things_that_one_judge_scored_are_counted():
    table = panel_of_two_conditions(systems=1).query("condition == 'old' and temperature == 0")
    table = table[(table["judge"] == "a") | (table["item"] != "0")]
    row = disagreement(table, **FEW).iloc[0]
    assert row["n"] == 11
    assert "1 rated by one judge" in row["flag"]


@pytest.mark.parametrize("ddof", [0, 1])
def test_sd_over_judges_of_the_means_of_each_system(ddof):
    """The sigma of Table 4 of the consensus_illusion paper, whose divisor is not printed."""
    table = panel_of_skewed_scores()
    got = (
        disagreement(table, by="system", ddof=ddof, n_resamples=200).query("term == 'sd_of_means'").set_index("system")
    )
    want = table.groupby(["system", "judge"])["score"].mean().groupby("system").std(ddof=ddof)
    assert got["estimate"].to_dict() == pytest.approx(want.to_dict())
    assert (got["n"] == 3).all()
    assert ((got["conf_low"] < got["estimate"]) & (got["estimate"] < got["conf_high"])).all()
    one = disagreement(table, ddof=ddof, n_resamples=200).set_index("term").loc["sd_of_means"]
    assert one["estimate"] == pytest.approx(table.groupby("judge")["score"].mean().std(ddof=ddof))


def test_the_unanimous_picks():
    """Merchant_risk paper, Section 5.3: all five models put grocery stores (5411) at the lowest level."""
    picks = load("merchant_risk/picks").rename(columns={"model": "judge", "mcc": "item", "risk_level": "score"})
    picks = picks.assign(system="risk", item=picks["item"].astype(str))
    result = disagreement(picks, thresholds=(0,), top=100, n_resamples=100)
    listed = result[result["term"] == "disputed"]
    unanimous = listed[(listed["estimate"] == 0) & (listed["n"] == 5)]
    assert "5411" in set(unanimous["item"])
    assert (picks.loc[picks["item"] == "5411", "score"] == 1).all()
    share = result[result["term"] == "share_above"].iloc[0]
    assert share["estimate"] == pytest.approx((listed["estimate"] > 0).mean())


def classes_of(n: int = 60) -> pd.DataFrame:
    """Classes of three judges, one of whom answers at random; some are missing."""
    rng = np.random.default_rng(3)
    labels, right = np.array(["refusal", "safe", "unsafe"]), rng.integers(0, 3, n)
    rows = [
        {
            "judge": judge,
            "item": f"i{k:02d}",
            "answer": labels[right[k] if rng.random() < skill else rng.integers(0, 3)],
        }
        for judge, skill in (("a", 0.9), ("b", 0.7), ("c", 0.0))
        for k in range(n)
    ]
    table = pd.DataFrame(rows)
    return table.assign(answer=table["answer"].mask(rng.random(len(table)) < 0.1))


def test_disagreement_of_classes_is_brute_force():
    table = classes_of()
    wide = table.pivot(index="item", columns="judge", values="answer")
    pairs = list(combinations("abc", 2))
    apart = pd.DataFrame({p: (wide[p[0]] != wide[p[1]]).where(wide[[*p]].notna().all(axis=1)) for p in pairs})
    share = apart.astype(float).mean(axis=1).dropna()
    got = disagreement(table, top=5, n_resamples=200)
    of_all = got[got["judge"] == ""].set_index("term")
    assert of_all.loc["disagreement", "estimate"] == pytest.approx(share.mean(), abs=1e-12)
    assert of_all.loc["unanimity", ["estimate", "n"]].tolist() == [pytest.approx((share == 0).mean()), len(share)]
    of_pairs = got[(got["term"] == "disagreement") & (got["judge"] != "")].set_index(["judge", "other"])
    for pair in pairs:
        values = apart[pair].dropna().astype(float)
        assert of_pairs.loc[pair, ["estimate", "n"]].tolist() == [pytest.approx(values.mean()), len(values)]
    disputed = got[got["term"] == "disputed"]
    expected = share.sort_values(ascending=False, kind="stable").head(5)
    assert disputed["item"].tolist() == expected.index.tolist()
    assert disputed["estimate"].tolist() == pytest.approx(expected.tolist())
    inside = got.dropna(subset=["conf_low"])
    assert ((inside["conf_low"] <= inside["estimate"]) & (inside["estimate"] <= inside["conf_high"])).all()
    assert inside[["conf_low", "conf_high"]].stack().between(0, 1).all()
    pd.testing.assert_frame_equal(disagreement(pl.from_pandas(table).lazy(), top=5, n_resamples=200), got)


def test_repeated_classes_count_once():
    table = classes_of().dropna()
    again = pd.concat([table.assign(replicate=r) for r in range(3)], ignore_index=True)
    again.loc[again["replicate"] == 2, "answer"] = "safe"
    got, once = (disagreement(t, n_resamples=50) for t in (again, table))
    numbers = ["estimate", "std_error", "conf_low", "conf_high", "n"]
    pd.testing.assert_frame_equal(got[numbers], once[numbers])
    assert got["method"].str.contains("mode of repeats").all()
    refused(
        DesignError,
        (again.drop(columns="replicate"), r"several classes on item 'i00', .* 'replicate'"),
        (js.ratings(table.assign(times=2), counts="times"), "rows carry a count"),
        of=disagreement,
    )


@pytest.mark.parametrize("column", ["correct", "score"])
def test_right_and_wrong_are_at_most_one_apart(column):
    rng = np.random.default_rng(2)
    table = pd.DataFrame([(j, i, bool(rng.random() < 0.4)) for i in range(12) for j in "gh"],
                         columns=["judge", "item", column])  # fmt: skip
    table = table if column == "correct" else table.astype({"score": float})
    rows = disagreement(table, n_resamples=200)
    assert rows.loc[rows["term"] == "share_above", "threshold"].tolist() == [0.0]
    assert rows["conf_low"].dropna().ge(0).all()
    assert rows.loc[rows["term"] != "sd_of_means", "conf_high"].dropna().le(1).all()
    wide = table.pivot(index="item", columns="judge", values=column).astype(float)
    expected = (wide["g"] != wide["h"]).mean()
    for term in ("mean_spread", "share_above", "mean_difference"):
        assert rows.loc[rows["term"] == term, "estimate"].tolist() == [pytest.approx(expected)]
    assert disagreement(table, thresholds=(0.5, 2), n_resamples=50)["threshold"].dropna().tolist() == [0.5, 2]
