"""Calibration of confidences on frames: the identity, intervals, clusters, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.flags import explain
from refusals import refused


def sure(n=120, seed=0, **columns):
    """Calls with a confidence, rounded as judges state it; wrong more often than it says."""
    rng = np.random.default_rng(seed)
    confidence = rng.choice([0.6, 0.7, 0.8, 0.9, 0.95], n)
    right = rng.random(n) < confidence - 0.1
    first = np.where(rng.random(n) < 0.5, "x", "y")
    gold = np.where(rng.random(n) < 0.5, "x", "y")
    chosen = np.where(right, gold, np.where(gold == "x", "y", "x"))
    table = pd.DataFrame({"judge": "g", "item": [f"i{i:03d}" for i in range(n)], "first": first})
    table["second"] = np.where(first == "x", "y", "x")
    table["choice"] = np.where(chosen == first, "first", "second")
    return table.assign(gold=gold, confidence=confidence, **columns)


def right_of(table):
    chosen = np.where(table["choice"] == "first", table["first"], table["second"])
    return (chosen == table["gold"]).to_numpy(dtype=float)


def found(*args, n_resamples=60, **options):
    return js.confidence_calibration(*args, n_resamples=n_resamples, **options)


def values(result):
    scalars = result[result["term"] != "reliability"]
    return dict(zip(scalars["term"], scalars["estimate"], strict=True))


def test_the_parts_of_the_score():
    table = sure()
    got, right = values(found(table)), right_of(table)
    p = table["confidence"].to_numpy()
    assert got["brier"] == pytest.approx(((p - right) ** 2).mean())
    assert got["brier"] == pytest.approx(got["miscalibration"] - got["discrimination"] + got["uncertainty"], abs=1e-15)
    assert got["uncertainty"] == pytest.approx(right.mean() * (1 - right.mean()))
    assert got["overconfidence"] == pytest.approx(p.mean() - right.mean())


def test_the_band_holds_the_interval_of_each_confidence_alone():
    """Resamples do not show how far the curve is drawn to its neighbours: without this the band covers .90."""
    from judgestats.kernels.proportions import clustered_wilson, wilson

    table = sure(200)
    for cluster in ("item", "text"):
        table["text"] = np.arange(200) // 4
        curve = found(table, cluster=cluster if cluster == "text" else False).query("term == 'reliability'")
        right = pd.Series(right_of(table))
        for row in curve.itertuples():
            here = (table["confidence"] == row.level).to_numpy()
            k, n = (np.bincount(table["text"][here], x, 50) for x in (right[here], np.ones(here.sum())))
            low, high = clustered_wilson(k, n)[1:] if cluster == "text" else wilson(k.sum(), n.sum())
            assert row.conf_low <= low + 1e-12
            assert row.conf_high >= high - 1e-12


def test_the_curve_is_isotonic_regression():
    from sklearn.isotonic import IsotonicRegression

    table = sure()
    curve = found(table).query("term == 'reliability'")
    p, right = table["confidence"].to_numpy(), right_of(table)
    peer = IsotonicRegression().fit(p, right)
    np.testing.assert_allclose(curve["estimate"], peer.predict(curve["level"]))
    assert curve["n"].tolist() == [float((p == x).sum()) for x in curve["level"]]
    assert (curve["conf_low"] <= curve["estimate"]).all()
    assert (curve["conf_high"] >= curve["estimate"]).all()
    assert curve["conf_low"].between(0, 1).all()
    assert (curve["conf_high"] > curve["conf_low"]).all()
    recalibrated = peer.predict(p)
    got = values(found(table))
    assert got["miscalibration"] == pytest.approx(((p - right) ** 2).mean() - ((recalibrated - right) ** 2).mean())


def test_verdicts_that_are_right_or_wrong():
    table = sure()
    correct = pd.DataFrame({"judge": "g", "system": "s", "item": table["item"], "confidence": table["confidence"]})
    correct["correct"] = right_of(table) == 1
    assert values(found(correct)) == pytest.approx(values(found(table)))
    scored = correct.drop(columns="correct").assign(score=3.0, gold=np.where(correct["correct"], 3.0, 4.0))
    assert values(found(scored)) == pytest.approx(values(found(table)))
    counts = table.assign(outcome=np.where(right_of(table) == 1, "correct", "wrong"))
    counts = counts.groupby(["judge", "confidence", "outcome"], as_index=False).size().rename(columns={"size": "n"})
    result = found(counts)
    assert values(result) == pytest.approx(values(found(table)))
    assert result["flag"].str.contains("clustering unknown").all()


def test_calls_of_an_item_count_together():
    one = sure(100)
    both = pd.concat([one.assign(replicate=r) for r in range(4)], ignore_index=True)
    by_item, loose = (found(both, cluster=c, n_resamples=400).set_index("term") for c in ("auto", False))
    single = found(one, n_resamples=400).set_index("term")
    assert by_item.loc["brier", "method"] == "t, clustered by item (G = 100)"
    assert by_item.loc["discrimination", "method"] == "t, bootstrap of item (B = 400)"
    right, p = right_of(one), one["confidence"].to_numpy()
    for term, each in (("brier", (p - right) ** 2), ("overconfidence", p - right)):
        assert by_item.loc[term, "estimate"] == pytest.approx(each.mean())
        assert by_item.loc[term, "std_error"] == pytest.approx(each.std(ddof=1) / 10)
    assert by_item.loc["brier", "std_error"] == pytest.approx(single.loc["brier", "std_error"], rel=0.15)
    assert loose.loc["brier", "std_error"] == pytest.approx(single.loc["brier", "std_error"] / 2, rel=0.15)
    assert "calls not independent" in loose.loc["brier", "flag"]


def test_bins_are_said():
    table = sure()
    assert "ece" not in values(found(table))
    p, right = table["confidence"].to_numpy(), right_of(table)
    got = values(found(table, bins=[0, 0.75, 1]))["ece"]
    low = p < 0.75
    want = sum(abs(right[m].sum() - p[m].sum()) for m in (low, ~low)) / len(p)
    assert got == pytest.approx(want)
    assert values(found(table, bins=1))["ece"] == pytest.approx(abs(p.mean() - right.mean()))


def test_ties_and_what_is_left_out():
    table = sure(60)
    table.loc[:4, "choice"] = "tie"
    table.loc[5:7, "choice"] = "invalid"
    table.loc[8:9, "confidence"] = np.nan
    table["gold"] = table["gold"].astype(object)
    table.loc[10, "gold"] = None
    result = found(table)
    flag = result["flag"].iloc[0]
    assert "3 invalid calls excluded" in flag
    assert "2 without a confidence excluded" in flag
    assert "1 calls without gold excluded" in flag
    assert result["n"].iloc[0] == 54
    assert found(table, ties="drop")["n"].iloc[0] == 49
    kept = table[~table["choice"].isin(["invalid"]) & table["confidence"].notna() & table["gold"].notna()]
    assert values(result) == pytest.approx(values(found(kept)))


def test_all_right():
    table = sure(40)
    table["gold"] = np.where(table["choice"] == "first", table["first"], table["second"])
    result = found(table).set_index("term")
    assert np.isnan(result.loc["discrimination", "estimate"])
    assert "verdicts all right or all wrong" in result.loc["discrimination", "flag"]
    assert result.loc["uncertainty", "estimate"] == 0
    assert result.loc["brier", "estimate"] == pytest.approx(result.loc["miscalibration", "estimate"])
    curve = result.loc["reliability"]
    assert (curve["estimate"] == 1).all()
    assert (curve["conf_high"] - curve["conf_low"] > 0).all()  # Wilson's, not of zero width
    assert (curve["method"] == "Wilson").all()
    assert "one_outcome" in explain(result)["code"].tolist()


def test_a_judge_that_never_answers():
    silent = sure(40, judge="h").assign(choice="invalid")
    result = found(pd.concat([sure(40), silent], ignore_index=True))
    rows = result[result["judge"] == "h"]
    assert rows["estimate"].isna().all()
    assert rows["flag"].str.contains("no data").all()
    assert rows["flag"].str.contains("40 invalid calls excluded").all()
    unknown = sure(40, judge="k").assign(gold=None)
    result = found(pd.concat([sure(40), unknown], ignore_index=True))
    assert result[result["judge"] == "k"]["flag"].str.contains("no data").all()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"confidence": 85}, SchemaError, r"'confidence' must be the probability.*from 0 to 1. Got 85.*Divide perc"),
        ({"confidence": -0.2}, SchemaError, r"Got -0.2"),
        ({"confidence": np.inf}, SchemaError, r"Got inf"),
        ({"confidence": "high"}, SchemaError, r"'confidence' is 'high' in some rows, and not a probability"),
    ],
)
def test_confidences_that_are_no_probabilities(change, error, message):
    with pytest.raises(error, match=message):
        found(sure().assign(**change))


def test_what_is_refused():
    table = sure()
    means = pd.DataFrame({"judge": "g", "system": "s", "item": "1", "mean": [1.0], "gold": 1.0, "confidence": 0.5})
    refused(
        DesignError,
        (
            lambda: found(table.rename(columns={"confidence": "confidences"})),
            SchemaError,
            r"no column 'confidence'.*Did you mean 'confidences'.*confidence='\.\.\.'",
        ),
        (
            lambda: found(table.drop(columns="gold")),
            r"needs the right answers: a column 'gold', or for ratings 'correct'",
        ),
        (lambda: found(table.assign(gold=None)), "'gold' is empty in every row"),
        (lambda: found(table, bins=0), r"bins=0 is not a number of bins"),
        (lambda: found(table, bins=[0.5, 1]), r"are not edges"),
        (lambda: found(table, ties="half"), r"ties='half' is not known"),
        (lambda: found(means), "These are means of runs"),
    )


def test_another_column_and_engine():
    table = sure()
    want = found(table)
    pd.testing.assert_frame_equal(found(table.rename(columns={"confidence": "p"}), confidence="p"), want)
    pd.testing.assert_frame_equal(found(pl.from_pandas(table).lazy()), want, check_dtype=False)


def test_the_page_shows_it_where_confidences_are_known():
    shown = js.available_measures(sure())
    row = shown[shown["measure"] == "confidence_calibration"].iloc[0]
    assert row["supported"]
    row = js.available_measures(sure().drop(columns="confidence")).query("measure == 'confidence_calibration'").iloc[0]
    assert not row["supported"]
    assert "confidence" in row["missing"]
