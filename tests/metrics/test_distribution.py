"""Distribution of the scores of each judge."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from judgestats.errors import DesignError
from judgestats.metrics.agreement import score_distribution
from metrics.tables import panel_of_skewed_scores
from refusals import refused


def test_distribution_is_scipys():
    table = panel_of_skewed_scores(systems="AB", criteria=("c",)).assign(tier="t")
    got = score_distribution(table, scale=(1, 10), tier="tier", n_resamples=300).set_index(["judge", "term"])
    for judge, part in table.groupby("judge"):
        x = part["score"].to_numpy()
        expected = {"mean": x.mean(), "sd": x.std(ddof=1), "skew": stats.skew(x), "ceiling": (x == 10).mean()}
        means = part.groupby("system")["score"].mean()
        expected["tier_range"] = means.max() - means.min()
        for term, value in expected.items():
            assert got.loc[(judge, term), "estimate"] == pytest.approx(value), term
        row = got.loc[(judge, "mean")]
        assert row["conf_low"] < row["estimate"] < row["conf_high"]
    assert got.loc[("x", "tier_range"), "conf_low"] != got.loc[("x", "tier_range"), "conf_low"]


def test_top_of_the_scale_is_said():
    table = panel_of_skewed_scores(items=5)
    table["score"] = table["score"].clip(upper=8)
    seen = score_distribution(table, n_resamples=50).set_index(["judge", "term"])
    given = score_distribution(table, scale=(1, 10), n_resamples=50).set_index(["judge", "term"])
    assert "top is the highest score seen" in seen.loc[("z", "ceiling"), "flag"]
    assert seen.loc[("z", "ceiling"), "estimate"] > 0
    assert given.loc[("z", "ceiling"), "estimate"] == 0
    refused(
        DesignError,
        ((1, 5), r"are outside scale=\(1, 5\)"),
        ((5, 1), "is not a scale"),
        of=lambda scale: score_distribution(table, scale=scale),
    )


def test_constant_scores_have_no_skew():
    table = pd.DataFrame({"judge": "a", "system": "s", "item": list("123"), "score": 0.1})
    got = score_distribution(table, n_resamples=50).set_index("term")
    assert got.loc[["mean", "sd"], "estimate"].tolist() == [pytest.approx(0.1), 0.0]
    assert np.isnan(got.loc["skew", "estimate"])
    assert "constant scores" in got.loc["skew", "flag"]
    assert np.isnan(got.loc["mean", "conf_low"])


FEW = {"n_resamples": 40}


def test_distribution_keeps_items_of_no_cluster():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {"judge": "a", "system": "s", "item": [str(i) for i in range(40)], "score": rng.normal(size=40)}
    )
    table["task"] = [None] * 10 + ["x"] * 15 + ["y"] * 15
    got = score_distribution(table, cluster="task", **FEW).set_index("term")["estimate"]
    assert got["mean"] == pytest.approx(table["score"].mean())
    assert got["sd"] == pytest.approx(table["score"].std())
