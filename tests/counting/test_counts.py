"""Rates of counts with their intervals, and that no estimate of any measure lies outside its interval."""

from __future__ import annotations

import inspect
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import judgestats
import registry
from counting.tables import clustered, ends, interval_of
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.counts import Counts
from judgestats.errors import JudgestatsError
from judgestats.flags import BIASED
from judgestats.kernels.proportions import wilson
from judgestats.kernels.resampling import binomial_interval


def rates(table, plan, **options):
    """The rate of hits of each judge."""
    return Counts.of(table, ["judge"], bootstrap=plan).rates("rate", table["hit"], **options)


def test_rates_of_calls_are_in_closed_form():
    table = pd.DataFrame({"judge": "g", "hit": [True, False], "n": [266.0, 134.0]})
    (row,) = rates(table, Bootstrap(n_resamples=7))
    assert ends(row) == (0.6175, 0.71)
    assert row["method"] == "percentile bootstrap of calls, closed form"
    assert row["std_error"] == pytest.approx(math.sqrt(0.665 * 0.335 / 400))


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_rates_with_a_bootstrap_of_clusters(method):
    table = clustered()
    plan = Bootstrap(method, ("item",), n_resamples=500)
    (row,) = rates(table, plan)
    assert row["method"] == plan.way
    assert row["estimate"] == pytest.approx(table.loc[table["hit"], "n"].sum() / table["n"].sum())
    want = interval_of(table, plan)
    assert ends(row) == ends(want)
    assert row["flag"] == want["flag"]


def test_another_group_changes_nothing():
    one, two = clustered(1), clustered(2).assign(judge="a")
    plan = Bootstrap(cluster=("item",), n_resamples=200)
    alone = rates(one, plan)
    both = pd.concat([two, one], ignore_index=True)
    together = {r["judge"]: r for r in rates(both, plan)}
    assert together["g"] == alone[0]
    assert together["a"] != alone[0]


def test_rates_with_half_hits_are_drawn():
    table = pd.DataFrame({"judge": "g", "hit": [1.0, 0.5, 0.0], "n": [20.0, 30.0, 10.0]})
    (row,) = rates(table, Bootstrap(n_resamples=20_000))
    variance = (20 * 1 + 30 * 0.25) / 60 - row["estimate"] ** 2
    assert row["std_error"] == pytest.approx(math.sqrt(variance / 60), rel=0.03)
    assert "closed form" not in row["method"]


def test_pairs_of_calls_are_drawn_as_pairs():
    # both calls of a pair alike: as many pairs, not twice as many calls
    table = pd.DataFrame({"judge": "g", "hit": [True, False], "n": [24.0, 16.0]})
    (row,) = rates(table, Bootstrap(n_resamples=100_000), calls_per_count=2)
    assert row["n"] == 80
    assert row["std_error"] == pytest.approx(math.sqrt(0.24 / 40), rel=0.02)
    assert ends(row) == pytest.approx(binomial_interval(24, 40), abs=1e-9)


def test_rates_all_alike_keep_wilson():
    table = pd.DataFrame({"judge": "g", "item": range(12), "hit": True, "n": 5.0})
    (of_calls,) = rates(table, Bootstrap())
    assert (of_calls["method"], of_calls["conf_low"]) == ("Wilson", pytest.approx(float(wilson(60, 60)[0])))
    (of_items,) = rates(table, Bootstrap(cluster=("item",)))
    assert of_items["method"] == "Wilson, clustered by item (G = 12)"
    assert of_items["conf_low"] == pytest.approx(float(wilson(12, 12, df=11)[0]))
    assert of_items["conf_high"] == 1.0


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=12))
def test_an_interval_is_never_of_zero_width(counts):
    table = pd.DataFrame({"judge": "g", "item": np.repeat(range(len(counts)), 2), "hit": [True, False] * len(counts)})
    table["n"] = np.array(counts, dtype=float).ravel()
    for plan in (
        Bootstrap(),
        Bootstrap(cluster=("item",), n_resamples=50),
        Bootstrap("bca", ("item",), n_resamples=50),
    ):
        (row,) = rates(table, plan)
        low, high = ends(row)
        assert (math.isnan(low) and math.isnan(high)) or low < high
        assert not math.isnan(low) or row["flag"], "what is not known is flagged"


# ---------------------------------------------------------------- an estimate and its interval

MEASURES = registry.registry()

#: Further intervals of measures that offer several, and of terms that the registry does not ask for.
OPTIONS = {
    "kappa": [
        *({"interval": i} for i in ("percentile", "bca")),
        {"pairs": "average", "interval": "percentile"},
        {"pairs": "fleiss", "interval": "bca"},
    ],
    "ac1": [{"interval": "percentile"}],
    "alpha": [{"interval": "percentile"}, {"level_of_measurement": "ordinal"}],
    "correlation": [
        {"level": level, "pairs": p, "interval": "t"} for level in ("cell", "system") for p in ("mean", "each")
    ],
    "agreement_levels": [{"unit": "criterion"}, {"by": "criterion"}],
    "gold_agreement": [{"interval": "percentile"}, {"interval": "bca"}],
    "preference_rate": [{"interval": "percentile"}],
    "bias_score": [{"interval": "percentile"}, {"interval": "bca"}],
    "bias_change": [{"interval": interval, "baseline": "B0"} for interval in ("percentile", "bca")],
    "best_of_accuracy": [{"interval": "percentile"}],
    "score_distribution": [{"by": "system"}],
}


def outside(result):
    """Rows whose estimate lies outside their interval."""
    slack = 1e-9 * (1 + result["estimate"].abs())
    low, high = result["estimate"] < result["conf_low"] - slack, result["estimate"] > result["conf_high"] + slack
    return result[low | high]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MEASURES))
def test_no_estimate_lies_outside_its_interval(name):
    """On parts of the registry's frames, down to a few rows: where a measure answers, the interval holds the answer."""
    data, call = MEASURES[name].data(), MEASURES[name].call
    measure = getattr(judgestats, name.partition(",")[0])  # "agreement_shift, across": one of its terms
    options = {"n_resamples": 100} if "n_resamples" in inspect.signature(measure).parameters else {}
    calls = [call, *(partial(measure, **options, **more) for more in OPTIONS.get(name, ()))]
    answered = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        part = data[rng.random(len(data)) < rng.choice([0.1, 0.3, 0.7, 1.0])]
        for one in calls:
            try:
                result = one(part)
            except JudgestatsError:
                continue
            answered += 1
            assert not len(outside(result)), outside(result).to_string()
    assert answered >= 3


def noisy_means(rng, systems=11, items=40):
    """Three judges whose noise hides most of the difference of the systems: resamples lower the rank correlation."""
    scores = 0.35 * rng.normal(size=(1, systems, 1)) + rng.normal(size=(3, systems, items))
    judge, system, item = (x.ravel().astype(str) for x in np.indices(scores.shape))
    return pd.DataFrame({"judge": judge, "system": system, "item": item, "score": scores.ravel()})


def test_agreement_of_noisy_means_lies_inside_its_interval_and_is_flagged():
    told = 0
    for seed in range(30):
        result = judgestats.agreement_levels(noisy_means(np.random.default_rng(seed)), n_resamples=200)
        assert not len(outside(result)), (seed, outside(result).to_string())
        told += BIASED in result.set_index("term").loc["rho_system", "flag"]
    assert told > 15
