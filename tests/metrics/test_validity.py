"""The progression of known values over levels: brute force, published picks, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.published import load
from refusals import refused


def test_progression_by_brute_force():
    rng = np.random.default_rng(1)
    level = np.repeat([1, 2, 3], 8)
    picks = pd.DataFrame({"judge": "g", "item": [f"i{i}" for i in range(24)], "score": level})
    known = picks[["item"]].assign(value=level + rng.normal(size=24))
    got = js.level_progression(picks, known)
    sides = [known["value"][level == k] for k in (1, 2, 3)]
    mean = got[(got["term"] == "mean_value") & (got["level"] == 2)].iloc[0]
    ends = stats.ttest_1samp(sides[1], 0).confidence_interval()
    assert (mean["estimate"], mean["conf_low"], mean["conf_high"]) == pytest.approx((sides[1].mean(), *ends))
    step = got[(got["term"] == "step") & (got["level"] == 3)].iloc[0]
    test = stats.ttest_ind(sides[2], sides[1], equal_var=False)
    ends = test.confidence_interval()
    assert (step["conf_low"], step["conf_high"], step["p_value"]) == pytest.approx((*ends, test.pvalue))
    assert got.iloc[-1][["term", "estimate", "n"]].tolist() == ["rising", 1.0, 2.0]
    falling = js.level_progression(picks.assign(score=4 - picks["score"]), known)
    assert falling.iloc[-1]["estimate"] == 0


def test_progression_over_the_published_picks():
    """Appendix B: each model chose three categories at each of five levels."""
    picks = load("merchant_risk/picks").rename(columns={"model": "judge", "mcc": "item", "risk_level": "score"})
    known = picks[["item"]].drop_duplicates().assign(value=1.0)
    got = js.level_progression(picks.drop(columns="description"), known)
    means = got[got["term"] == "mean_value"]
    assert (means.groupby("judge").size() == 5).all()
    assert (means["n"] == 3).all()
    assert (means["flag"] == "no variation; n < 30").all()


def test_a_mean_of_one_value_has_no_interval():
    picks = pd.DataFrame({"judge": "g", "item": ["a", "b", "c"], "score": [1, 1, 2]})
    got = js.level_progression(picks, pd.DataFrame({"item": ["a", "b", "c"], "value": [1.0, 2.0, 4.0]}))
    rows = got.set_index(["term", "level"])
    assert rows.loc[("mean_value", 1), "flag"] == "n < 30"
    assert rows.loc[[("mean_value", 2), ("step", 2)], "estimate"].tolist() == [4.0, 2.5]
    assert (rows.loc[[("mean_value", 2), ("step", 2)], "flag"] == "one unit; n < 30").all()


def test_a_truth_without_values_is_refused():
    picks = pd.DataFrame({"judge": "g", "item": ["a"], "score": [1]})
    refused(
        SchemaError,
        (pd.DataFrame({"item": ["a"], "level": [1]}), "item and value"),
        (pd.DataFrame({"item": ["b"], "value": [1.0]}), DesignError, "none of the items"),
        of=lambda wrong: js.level_progression(picks, wrong),
    )
