"""The model of item difficulty: planted values, random levels, gold and counts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from judgestats.errors import DesignError
from judgestats.models.bias_models.difficulty import item_difficulty
from judgestats.models.estimation import fit
from models.toys import cell
from refusals import refused

# ---------------------------------------------------------------- difficulty


def test_two_fixed_items_come_out_twice_too_far_apart():
    """Andersen (1973): with two items the joint estimate is exactly twice the conditional one, log(n10/n01)."""
    answers = [(1, 0)] * 12 + [(0, 1)] * 5 + [(1, 1)] * 20 + [(0, 0)] * 20
    calls = pd.DataFrame([(f"j{k}", i, y) for k, ys in enumerate(answers) for i, y in zip("ab", ys, strict=True)],
                         columns=["judge", "item", "correct"])  # fmt: skip
    table = item_difficulty(calls, items="fixed", judges="fixed").table
    a, b = (cell(table, facet="item", level=i)["estimate"] for i in "ab")
    assert b - a == pytest.approx(2 * math.log(12 / 5), abs=1e-4)
    marginal = item_difficulty(calls, items="fixed").table
    a, b = (cell(marginal, facet="item", level=i)["estimate"] for i in "ab")
    assert (b - a) / math.log(12 / 5) == pytest.approx(1, abs=0.1)
    always = table[(table["facet"] == "judge") & table["flag"].str.contains("always")]
    assert len(always) == 40
    assert always["estimate"].isna().all()


@pytest.fixture(scope="module")
def facets():
    rng = np.random.default_rng(2)
    hard, able = rng.normal(0, 1.2, 60), rng.normal(0.4, 0.6, 15)
    calls = pd.DataFrame([(f"j{j:02d}", f"i{i:02d}", int(rng.random() < expit(able[j] - hard[i]))) for i in range(60) for j in range(15)],
                         columns=["judge", "item", "correct"])  # fmt: skip
    return calls, hard, able


@pytest.mark.parametrize(("items", "judges"), [("random", "random"), ("random", "fixed"), ("fixed", "random")])
def test_planted_difficulties(facets, items, judges):
    calls, hard, able = facets
    model = item_difficulty(calls, items=items, judges=judges)
    found = model.table[(model.table["facet"] == "item") & (model.table["level"] != "")]
    true = hard - able.mean()
    known = found["estimate"].notna().to_numpy()
    assert known.sum() > 55
    assert np.corrcoef(found["estimate"][known], true[known])[0, 1] > 0.85
    covered = ((found["conf_low"] <= true) & (true <= found["conf_high"]))[known].mean()
    assert 0.88 <= covered <= 1.0
    ability = model.table[(model.table["facet"] == "judge") & (model.table["level"] != "")]
    assert np.corrcoef(ability["estimate"], able)[0, 1] > 0.7
    np.testing.assert_allclose(found["share"], calls.groupby("item")["correct"].mean(), rtol=1e-12)
    for facet, kind in (("item", items), ("judge", judges)):
        here = model.table[model.table["term"] == f"sd({facet})"]
        assert len(here) == (kind == "random")
    assert (model.tests["p_value"] < 0.001).all()


def test_random_levels_are_the_modes_of_the_fit(facets):
    calls, _, _ = facets
    model = item_difficulty(calls)
    hand = fit("correct ~ 1 + (1|item) + (1|judge)", calls)
    modes = dict(zip(hand.design.terms[0].levels, hand.effects().modes[0][:, 0], strict=True))
    row = cell(model.table, facet="item", level="i07")
    assert row["estimate"] == pytest.approx(-(hand.beta[0] + modes["i07"]), abs=1e-5)
    assert row["n"] == 15


def test_few_calls_are_flagged(facets):
    calls, _, _ = facets
    some = calls[(calls["item"] != "i00") | (calls["judge"] < "j03")]
    table = item_difficulty(some, judge="judge").table
    assert "fewer than 5 calls" in cell(table, facet="item", level="i00")["flag"]
    assert "fewer than 5 calls" not in cell(table, facet="item", level="i01")["flag"]


def test_difficulty_from_gold_and_counts(facets):
    calls, _, _ = facets
    here = calls.assign(first="x", second="y", gold="x", choice=np.where(calls["correct"] == 1, "first", "second"))
    wanted = item_difficulty(calls).table
    got = item_difficulty(here.drop(columns="correct").assign(n_identical=1)).table
    pd.testing.assert_frame_equal(got, wanted, rtol=1e-6)
    refused(
        DesignError,
        (lambda: item_difficulty(calls[calls["item"] == "i00"]), "two items"),
        (lambda: item_difficulty(calls, items="free"), "Allowed: 'random', 'fixed'"),
    )
