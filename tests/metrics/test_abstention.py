"""Thresholds of abstention on frames: what counts as answered, guarantees, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from coverage_confidence import chosen, risk_at
from scipy.stats import binom

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.selective_risk import upper_risk
from refusals import refused

COUNTS = pd.DataFrame(
    {
        "judge": "g",
        "confidence": [0.6, 0.6, 0.8, 0.8, 0.95, 0.95],
        "outcome": ["correct", "wrong"] * 3,
        "n": [22, 18, 85, 15, 190, 5],
    }
)


def ratings(counts=COUNTS):
    """One verdict an item."""
    rows = counts.loc[counts.index.repeat(counts["n"])].reset_index(drop=True)
    rows = rows.assign(system="s", item=[f"i{i:04d}" for i in range(len(rows))], correct=rows["outcome"] == "correct")
    return rows.drop(columns=["outcome", "n"])


def row(result, term):
    return result[result["term"] == term].iloc[0]


def test_a_frame_and_its_counts():
    one, two = js.abstention_threshold(COUNTS, 0.1), js.abstention_threshold(ratings(), 0.1)
    pd.testing.assert_frame_equal(one, two)


def test_the_selective_threshold():
    result = js.abstention_threshold(COUNTS, 0.1)
    assert row(result, "threshold")["estimate"] == 0.61
    assert row(result, "coverage")["estimate"] == pytest.approx(295 / 335)
    assert row(result, "risk")["estimate"] == pytest.approx(20 / 295)
    limit = float(upper_risk(np.array([20.0]), np.array([295.0]), 0.05)[0])
    assert row(result, "threshold")["bound"] == pytest.approx(limit)
    assert limit <= 0.1
    assert row(js.abstention_threshold(COUNTS, 0.1, thresholds=[0.5, 0.8, 0.9]), "threshold")["estimate"] == 0.8


def test_the_joint_threshold():
    result = js.abstention_threshold(COUNTS, 0.1, target="joint")
    assert row(result, "threshold")["estimate"] == 0.61
    assert row(result, "risk")["estimate"] == pytest.approx(20 / 335)
    assert row(result, "threshold")["bound"] == pytest.approx(21 / 336)
    assert row(js.abstention_threshold(COUNTS, 0.12, target="joint"), "threshold")["estimate"] == 0.0


def test_the_curve():
    result = js.abstention_threshold(COUNTS, 0.1)
    coverage, risk = (result[result["term"] == t] for t in ("coverage_curve", "risk_curve"))
    assert coverage["level"].tolist() == [0.6, 0.8, 0.95]
    np.testing.assert_allclose(coverage["estimate"], [1, 295 / 335, 195 / 335])
    np.testing.assert_allclose(risk["estimate"], [38 / 335, 20 / 295, 5 / 195])
    assert ((risk["conf_low"] < risk["estimate"]) & (risk["estimate"] < risk["conf_high"])).all()


def test_no_threshold():
    result = js.abstention_threshold(COUNTS, 0.005)
    assert np.isnan(row(result, "threshold")["estimate"])
    assert row(result, "coverage")["estimate"] == 0
    assert row(result, "threshold")["flag"] == "fewer than 598 answers"
    bad = COUNTS.assign(outcome=["wrong", "correct"] * 3)
    assert "no threshold holds the risk" in row(js.abstention_threshold(bad, 0.1), "threshold")["flag"]
    few = js.abstention_threshold(COUNTS.assign(n=1), 0.1, target="joint")
    assert row(few, "threshold")["flag"] == "fewer than 9 answers"


def test_all_correct():
    result = js.abstention_threshold(COUNTS.assign(outcome="correct"), 0.1)
    assert row(result, "threshold")["estimate"] == 0
    assert row(result, "coverage")["estimate"] == 1
    assert row(result, "risk")["estimate"] == 0


def test_a_judge_that_never_answers():
    silent = ratings().assign(judge="h", correct=None)
    result = js.abstention_threshold(pd.concat([ratings(), silent], ignore_index=True), 0.1)
    mine = result[result["judge"] == "h"]
    assert np.isnan(row(mine, "threshold")["estimate"])
    assert row(mine, "coverage")["estimate"] == 0
    assert row(mine, "coverage")["n"] == 335
    assert "335 items without a verdict counted as not answered" in row(mine, "threshold")["flag"]


def pairs(n=100):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"judge": "g", "item": [f"i{i:03d}" for i in range(n)], "first": "x", "second": "y"})
    return table.assign(choice="first", gold="x", confidence=np.round(0.8 + 0.2 * rng.random(n), 2))


def test_what_counts_as_answered_and_as_wrong():
    table = pairs()
    table.loc[:9, "choice"] = "abstain"
    table.loc[10:14, "choice"] = "invalid"
    table.loc[15:16, "confidence"] = np.nan
    table.loc[17:18, ["choice", "confidence"]] = ["tie", 0.8]
    result = js.abstention_threshold(table, 0.1)
    assert row(result, "coverage")["estimate"] == pytest.approx(0.83)
    assert row(result, "risk")["estimate"] == pytest.approx(2 / 83)  # the ties
    flag = row(result, "threshold")["flag"]
    assert "15 items without a verdict counted as not answered" in flag
    assert "2 verdicts without a confidence counted as not answered" in flag


def test_one_verdict_an_item():
    both = pd.concat([pairs(), pairs().assign(replicate=1)], ignore_index=True)
    message = (
        r"one verdict of each judge on each item, and 100 items have several \(first: judge=g, item=i000\).*aggreg"
    )
    with pytest.raises(DesignError, match=message):
        js.abstention_threshold(both, 0.1)
    by_run = js.abstention_threshold(both, 0.1, by="replicate")
    assert len(by_run[by_run["term"] == "threshold"]) == 2


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"alpha": 0}, DesignError, "alpha=0 is not allowed"),
        ({"alpha": 10}, DesignError, "alpha=10 is not allowed"),
        ({"alpha": 0.1, "delta": 1.0}, DesignError, "delta=1.0 is not allowed"),
        ({"alpha": 0.1, "target": "both"}, DesignError, "target='both' is not known"),
        ({"alpha": 0.1, "thresholds": [0.5, 95]}, DesignError, "thresholds= must be numbers from 0 to 1"),
        ({"alpha": 0.1, "thresholds": []}, DesignError, "thresholds= must be numbers"),
        ({"alpha": 0.1, "confidence": "certainty"}, SchemaError, "no column 'certainty'"),
    ],
)
def test_what_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        js.abstention_threshold(pairs(), **arguments)


def test_data_that_cannot_answer():
    refused(
        DesignError,
        (pairs().drop(columns="gold"), "needs the right answers"),
        (pairs().assign(confidence=85), SchemaError, "Divide percentages by 100"),
        of=lambda wrong: js.abstention_threshold(wrong, 0.1),
    )


def test_polars():
    pd.testing.assert_frame_equal(
        js.abstention_threshold(pl.from_pandas(ratings()).lazy(), 0.1), js.abstention_threshold(ratings(), 0.1)
    )


@pytest.mark.parametrize("target", ["selective", "joint"])
def test_the_guarantee_holds(target):
    """Few replications here; 2,000 in benchmarks/coverage_confidence.py."""
    names = [f"r{i:03d}" for i in range(150)]
    found = chosen(np.random.default_rng(0), names, 400, 0.2, target)
    risk = np.where(np.isnan(found), 0.0, risk_at(found, target))
    if target == "selective":
        assert (risk > 0.2).sum() <= binom.ppf(0.999, 150, 0.05)
    else:
        assert risk.mean() <= 0.2 + 3 * risk.std() / np.sqrt(150)
    assert np.isfinite(found).mean() > 0.8
