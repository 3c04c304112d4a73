"""One of k attempts right, or all of them."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from refusals import refused


def attempts(n=40, times=6, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 1, n)
    rows = [("g", i, r, bool(rng.random() < p[i])) for i in range(n) for r in range(times)]
    return pd.DataFrame(rows, columns=["judge", "item", "replicate", "correct"])


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_it_is_the_mean_over_all_ways_to_draw_k_attempts(k):
    """Brute force over the subsets; for k = 1 the share that is right."""
    calls = attempts()
    marks = calls.groupby("item")["correct"].apply(list)
    one, every = (np.mean([np.mean([f(drawn) for drawn in combinations(row, k)]) for row in marks]) for f in (any, all))
    found = js.pass_at_k(calls, k).set_index("term")
    assert found.loc["pass_at_k", "estimate"] == pytest.approx(one)
    assert found.loc["pass_all_k", "estimate"] == pytest.approx(every)
    assert set(found["n"]) == {40}
    assert ((found["conf_low"] <= found["estimate"]) & (found["estimate"] <= found["conf_high"])).all()


def test_many_attempts_do_not_overflow():
    calls = pd.DataFrame({"judge": "g", "item": ["a", "b"], "correct": [True, False], "n": [600, 400]})
    both = pd.concat([calls, calls.assign(correct=~calls["correct"], n=[400, 600])])
    found = js.pass_at_k(js.ratings(both, counts="n"), 100).set_index("term")
    assert found.loc["pass_at_k", "estimate"] == pytest.approx(1)
    assert 0 < found.loc["pass_all_k", "estimate"] < 1e-10


def test_items_with_fewer_attempts_are_left_out_and_counted():
    calls = attempts()
    found = js.pass_at_k(calls[(calls["item"] > 2) | (calls["replicate"] < 3)], [3, 4]).set_index(["k", "term"])
    assert found.loc[(3, "pass_at_k"), "n"] == 40
    assert found.loc[(4, "pass_at_k"), "n"] == 37
    assert "3 items with fewer attempts excluded" in found.loc[(4, "pass_at_k"), "flag"]


def test_the_interval_covers():
    """Items are drawn, attempts too: of 300 tables about 95 % cover the truth of pass@2 when p is uniform."""
    truth = 1 - 1 / 3  # E[1 - (1 - p)^2]
    hits = 0
    for seed in range(300):
        row = js.pass_at_k(attempts(30, 4, seed), 2).set_index("term").loc["pass_at_k"]
        hits += row["conf_low"] <= truth <= row["conf_high"]
    assert 0.92 <= hits / 300 <= 0.995


def test_refusals():
    calls = attempts()
    refused(
        DesignError,
        (lambda: js.pass_at_k(calls, 7), "no item has more than 6 attempts"),
        (lambda: js.pass_at_k(calls, 0), "k=0 is no number of attempts"),
        (lambda: js.pass_at_k(calls, []), "is no number of attempts"),
        (lambda: js.pass_at_k(calls.assign(score=0.3).drop(columns="correct"), 2), "neither 0 nor 1"),
    )
