"""Scores against the right scores, and the right response among several."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import bootstrap, pearsonr, ttest_1samp

from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.proportions import clustered_wilson, wilson
from judgestats.metrics.bias import best_of_accuracy, score_error
from judgestats.results import CONSTANT, ERRORS_ALIKE, NOT_INDEPENDENT, PERFECT_CORRELATION, TOO_FEW

# ---------------------------------------------------------------- score_error


def scored(n: int = 60, seed: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    gold = rng.integers(1, 6, n).astype(float)
    noise = rng.normal(0.3, 1, n)
    return pd.DataFrame(
        {"judge": "g", "system": "s", "item": [f"i{i}" for i in range(n)], "score": gold + noise, "gold": gold}
    )


def terms(result: pd.DataFrame, judge: str = "g") -> pd.DataFrame:
    return result[result["judge"] == judge].set_index("term")


def test_against_scipy():
    table = scored()
    error = (table["score"] - table["gold"]).to_numpy()
    got = terms(score_error(table, n_resamples=6000))
    assert got.loc["rmse", "estimate"] == pytest.approx(np.sqrt((error**2).mean()), rel=1e-13)
    assert got.loc["mae", "estimate"] == pytest.approx(np.abs(error).mean(), rel=1e-13)
    test = ttest_1samp(error, 0)
    interval = test.confidence_interval()
    bias = got.loc["bias"]
    assert bias["estimate"] == pytest.approx(error.mean(), rel=1e-13)
    assert bias["std_error"] == pytest.approx(error.std(ddof=1) / np.sqrt(60), rel=1e-12)
    assert (bias["conf_low"], bias["conf_high"]) == (pytest.approx(interval.low), pytest.approx(interval.high))
    r = pearsonr(table["score"], table["gold"])
    assert got.loc["pearson", "estimate"] == pytest.approx(r.statistic, rel=1e-12)
    ends = r.confidence_interval()
    assert got.loc["pearson", ["conf_low", "conf_high"]].tolist() == pytest.approx([ends.low, ends.high], rel=1e-9)
    drawn = bootstrap(
        (error,), lambda e, axis: np.sqrt((e**2).mean(axis)), method="percentile", n_resamples=6000, rng=1
    )
    assert got.loc["rmse", "conf_low"] == pytest.approx(drawn.confidence_interval.low, abs=0.015)
    assert got.loc["rmse", "conf_high"] == pytest.approx(drawn.confidence_interval.high, abs=0.015)
    assert (got["n"] == 60).all()


def test_the_sign_of_bias_is_score_minus_gold():
    table = scored().assign(score=lambda t: t["gold"] + 2.0)
    got = terms(score_error(table))
    assert got.loc["bias", "estimate"] == 2
    assert ERRORS_ALIKE in got.loc["bias", "flag"]
    assert np.isnan(got.loc["bias", "conf_low"])
    assert got.loc["pearson", "estimate"] == 1
    assert got.loc["pearson", "flag"] == PERFECT_CORRELATION
    assert np.isnan(got.loc["rmse", "conf_low"])
    assert got.loc["rmse", "flag"] == "all resamples equal"


def test_gold_in_a_frame_of_several_people_and_other_engines():
    table = scored()
    people = pd.concat(
        [table[["item"]].assign(score=table["gold"] - 0.5), table[["item"]].assign(score=table["gold"] + 0.5)]
    )
    whole = score_error(table)
    ratings = table.drop(columns="gold")
    for gold in (people, people.rename(columns={"score": "value"}), pl.from_pandas(people)):
        pd.testing.assert_frame_equal(score_error(ratings, gold), whole)
    pd.testing.assert_frame_equal(score_error(pl.from_pandas(table).lazy()), whole)
    pd.testing.assert_frame_equal(score_error(table.sample(frac=1, random_state=1)), whole)


def test_runs_are_averaged_first():
    table = scored()
    runs = pd.concat(
        [table.assign(replicate=0, score=table["score"] - 1), table.assign(replicate=1, score=table["score"] + 1)]
    )
    pd.testing.assert_frame_equal(score_error(runs), score_error(table))


def test_what_is_missing_is_told():
    table = scored()
    table.loc[[0, 1, 2], "gold"] = np.nan
    table.loc[[5], "score"] = np.nan
    got = terms(score_error(table))
    assert (got["n"] == 56).all()
    assert got["flag"].str.contains("3 without gold excluded; 1 without a score excluded").all()
    lost = pd.concat([table, scored().assign(judge="h", score=np.nan)])
    assert terms(score_error(lost), "h")["estimate"].isna().all()
    with pytest.raises(DesignError, match="no thing rated has one"):
        score_error(table.assign(gold=np.nan))
    with pytest.raises(SchemaError, match="There is no column 'truth'"):
        score_error(table, "truth")
    with pytest.raises(SchemaError, match="several right scores"):
        score_error(pd.concat([scored().assign(replicate=0), scored().assign(replicate=1, gold=3.0)]))
    with pytest.raises(SchemaError, match="Right scores need 'item'"):
        score_error(table, pd.DataFrame({"id": [1], "score": [2]}))


def test_several_systems_of_an_item_are_a_cluster():
    """A copy of every score adds nothing to any of the four."""
    table = scored()
    copies = pd.concat([table, table.assign(system="t")])
    one, two = terms(score_error(table)), terms(score_error(copies))
    assert two.loc["bias", "std_error"] == pytest.approx(one.loc["bias", "std_error"], rel=1e-9)
    assert two.loc["rmse", "std_error"] == pytest.approx(one.loc["rmse", "std_error"], rel=0.1)
    assert "clustered by item" in two.loc["pearson", "method"]
    apart = terms(score_error(copies, cluster=False))
    assert apart["flag"].str.contains(NOT_INDEPENDENT).all()
    assert apart.loc["bias", "std_error"] < 0.8 * one.loc["bias", "std_error"]


def test_criteria_apart_and_constant_scores():
    table = pd.concat([scored().assign(criterion="c"), scored(seed=5).assign(criterion="d", score=3.0)])
    got = score_error(table, by="criterion")
    assert list(got["criterion"].unique()) == ["c", "d"]
    flat = got[(got["criterion"] == "d") & (got["term"] == "pearson")].iloc[0]
    assert np.isnan(flat["estimate"])
    assert flat["flag"] == CONSTANT
    alone = score_error(table[table["criterion"] == "c"])
    np.testing.assert_allclose(got.loc[got["criterion"] == "c", "estimate"], alone["estimate"])
    assert TOO_FEW in terms(score_error(scored(3))).loc["pearson", "flag"]


# ---------------------------------------------------------------- best_of_accuracy


def responses(n: int = 40, k: int = 4, runs: int = 3, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    keys = pd.MultiIndex.from_product(
        [["g", "h"], [f"i{i}" for i in range(n)], [f"r{i}" for i in range(k)], range(runs)],
        names=["judge", "item", "system", "replicate"],
    )
    table = keys.to_frame(index=False)
    table["score"] = rng.integers(1, 6, len(table)).astype(float) + (table["system"] == "r0")
    return table.assign(topic=table["item"].str[-1])


def by_hand(table: pd.DataFrame, right: str = "r0") -> tuple[int, int, int]:
    """Items won, tied and lost by the right response."""
    won = tied = lost = 0
    for _, item in table.groupby("item"):
        means = item.groupby("system")["score"].mean()
        best = means.drop(right).max()
        won, tied, lost = won + (means[right] > best), tied + (means[right] == best), lost + (means[right] < best)
    return won, tied, lost


@pytest.mark.parametrize("runs", [None, 1, 2])
def test_best_of_against_a_loop(runs):
    table = responses()
    for judge in "gh":
        mine = table[table["judge"] == judge]
        won, tied, lost = by_hand(mine if runs is None else mine[mine["replicate"] < runs])
        assert min(won, tied, lost) > 0
        for ties, k, n in [("exact", won, 40), ("drop", won, 40 - tied), ("half", won + tied / 2, 40)]:
            got = terms(best_of_accuracy(table, right="r0", runs=runs, ties=ties), judge)
            assert (got.loc["accuracy", "estimate"], got.loc["accuracy", "n"]) == (pytest.approx(k / n), n)
            low, high = wilson(k, n)
            assert (got.loc["accuracy", "conf_low"], got.loc["accuracy", "conf_high"]) == (low, high)
            assert got.loc[["tie", "wrong"], "estimate"].tolist() == [tied / 40, lost / 40]


def test_the_first_runs_are_the_first_there_are():
    table = responses().assign(replicate=lambda t: t["replicate"] + 7)
    pd.testing.assert_frame_equal(
        best_of_accuracy(table, right="r0", runs=1), best_of_accuracy(responses(), right="r0", runs=1)
    )
    with pytest.raises(DesignError, match="runs=0"):
        best_of_accuracy(table, right="r0", runs=0)
    with pytest.raises(DesignError, match="'replicate', and there is none"):
        best_of_accuracy(table.drop(columns="replicate"), right="r0", runs=1)


def test_the_right_response_by_item():
    """Rename the responses item by item, tell the right one in a column: nothing changes."""
    table = responses()
    shift = table["item"].str[1:].astype(int) % 4
    renamed = table.assign(
        system="r" + ((table["system"].str[1:].astype(int) + shift) % 4).astype(str), gold="r" + shift.astype(str)
    )
    whole = best_of_accuracy(table, right="r0")
    pd.testing.assert_frame_equal(best_of_accuracy(renamed), whole)
    pd.testing.assert_frame_equal(best_of_accuracy(pl.from_pandas(renamed).lazy()), whole)
    pd.testing.assert_frame_equal(best_of_accuracy(renamed.sample(frac=1, random_state=0)), whole)
    with pytest.raises(SchemaError, match="several right responses in 'gold': r0, r1"):
        best_of_accuracy(table.assign(gold=np.where(table["system"] == "r0", "r0", "r1")))


def test_rounding_is_no_victory():
    table = pd.DataFrame(
        {"judge": "g", "item": "1", "system": ["a"] * 3 + ["b"] * 3, "score": [0.1, 0.2, 0.3, 0.3, 0.2, 0.1]}
    ).assign(replicate=[0, 1, 2] * 2)
    assert best_of_accuracy(table, right="a").set_index("term")["estimate"].to_dict() == {
        "accuracy": 0,
        "tie": 1,
        "wrong": 0,
    }


def test_items_that_cannot_be_scored():
    table = responses()
    g = table["judge"] == "g"
    table.loc[g & (table["item"] == "i3") & (table["system"] == "r2"), "score"] = np.nan  # no score at all
    table.loc[g & (table["item"] == "i4") & (table["system"] == "r1") & (table["replicate"] == 0), "score"] = np.nan
    table = table[~(g & (table["item"] == "i5") & (table["system"] == "r0"))]  # the right one is absent
    table = table[~((table["judge"] == "g") & (table["item"] == "i6") & (table["system"] != "r0"))]  # nothing to beat
    got = best_of_accuracy(table, right="r0")
    assert (terms(got)["n"] == 37).all()
    assert terms(got)["flag"].str.contains("3 items not scored").all()
    assert (terms(got, "h")["n"] == 40).all()
    assert not terms(got, "h")["flag"].str.contains("not scored").any()
    won, _, _ = by_hand(table[(table["judge"] == "g") & ~table["item"].isin(["i3", "i5", "i6"])])
    assert terms(got).loc["accuracy", "estimate"] == pytest.approx(won / 37)


def test_best_of_intervals():
    table = responses(200)
    mine = table[table["judge"] == "g"]
    hits = mine.groupby(["item", "system"])["score"].mean().unstack()
    hits = (hits["r0"] > hits[["r1", "r2", "r3"]].max(axis=1)).astype(float)
    topics = hits.groupby(hits.index.str[-1])
    clustered = terms(best_of_accuracy(table, right="r0", cluster="topic")).loc["accuracy"]
    se, low, high = clustered_wilson(topics.sum().to_numpy(), topics.size().to_numpy(float))
    assert clustered[["std_error", "conf_low", "conf_high"]].tolist() == pytest.approx([se, low, high], rel=1e-12)
    drawn = terms(best_of_accuracy(table, right="r0", cluster="topic", interval="percentile")).loc["accuracy"]
    assert "bootstrap of topic" in drawn["method"]
    assert drawn["std_error"] == pytest.approx(se, rel=0.15)
    apart = best_of_accuracy(table, right="r0", by="topic")
    assert len(apart) == 2 * 10 * 3
    assert apart.loc[apart["term"] == "accuracy", "n"].sum() == 400


def test_best_of_refusals():
    table = responses(3)
    with pytest.raises(DesignError, match="needs to know the right response"):
        best_of_accuracy(table)
    with pytest.raises(DesignError, match=r"right='r9' is no system. Systems: r0, r1, r2, r3"):
        best_of_accuracy(table, right="r9")
    with pytest.raises(DesignError, match=r"several criteria \(c, d\)"):
        best_of_accuracy(pd.concat([table.assign(criterion=c) for c in "cd"]), right="r0")
    with pytest.raises(DesignError, match="Are two items called the same"):
        best_of_accuracy(pd.concat([table, table]), right="r0")
    with pytest.raises(DesignError, match="ties='wrong' is not known"):
        best_of_accuracy(table, right="r0", ties="wrong")
