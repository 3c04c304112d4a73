"""Who stands out among judges: simultaneous differences on what they judged together."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit
from scipy.stats import norm

from judgestats.kernels.proportions import clustered_wilson, tango
from judgestats.metrics.standings import biased, means_of, standing, widened
from twins_variance import hall


def marks(values, clusters=None):
    """Marks from (units, judges) of values."""
    values = np.asarray(values, float)
    n, k = values.shape
    unit = np.repeat(np.arange(n), k)
    owner = unit if clusters is None else np.repeat(clusters, k)
    names = np.tile([f"judge {j:02d}" for j in range(k)], n)
    columns = {"judge": names, "unit": unit, "cluster": owner, "value": values.ravel(), "weight": 1.0}
    return pd.DataFrame(columns).dropna()


def equal_judges(rng, judges=33, items=100, calls=1):
    """Verdicts of judges that are right equally often, on items of unequal difficulty; items may have several calls."""
    logit = rng.normal(0.8, 1.2, size=(items, 1)).repeat(calls, axis=0)
    noise = rng.normal(0, 0.5, size=(items, judges)).repeat(calls, axis=0)
    right = rng.random((items * calls, judges)) < 1 / (1 + np.exp(-logit - noise))
    return marks(right, np.repeat(np.arange(items), calls))


def names_a_winner(replications, seed):
    rng = np.random.default_rng(seed)
    found = [standing(equal_judges(rng, calls=1 + i % 2)) for i in range(replications)]
    apart = [bool(((f.pairs["conf_low"] > 0) | (f.pairs["conf_high"] < 0)).any()) for f in found]
    return np.mean([f.winner != "" for f in found]), np.mean(apart)


def test_of_33_equal_judges_none_is_named():
    winner, apart = names_a_winner(3, seed=1)
    assert winner == 0
    assert apart < 1


@pytest.mark.slow
def test_of_33_equal_judges_a_winner_is_named_on_at_most_5_percent_of_pages():
    winner, apart = names_a_winner(60, seed=2)
    assert winner <= 0.05
    assert apart <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)  # any difference at all, among 528


def test_a_judge_that_is_better_is_named_with_its_difference():
    rng = np.random.default_rng(3)
    right = rng.random((400, 6)) < np.array([0.6, 0.6, 0.85, 0.6, 0.6, 0.6])
    found = standing(marks(right))
    assert found.winner == "judge 02"
    row = found.difference("judge 02", found.means["judge"][1])
    assert row["conf_low"] > 0
    assert row["estimate"] == pytest.approx(found.means["estimate"][0] - found.means["estimate"][1])
    turned = found.difference(found.means["judge"][1], "judge 02")
    assert (turned["estimate"], turned["conf_low"]) == (-row["estimate"], -row["conf_high"])


def test_two_that_are_good_are_both_in_the_set():
    rng = np.random.default_rng(4)
    found = standing(marks(rng.random((400, 4)) < np.array([0.85, 0.85, 0.5, 0.5])))
    assert found.winner == ""
    assert {found.best, *found.tied} == {"judge 00", "judge 01"}


def test_two_judges_of_independent_items_have_the_interval_of_tango():
    rng = np.random.default_rng(5)
    right = rng.random((80, 2)) < (0.8, 0.6)
    row = standing(marks(right)).pairs.iloc[0]
    b, c = int((right[:, 0] & ~right[:, 1]).sum()), int((~right[:, 0] & right[:, 1]).sum())
    assert (row["conf_low"], row["conf_high"]) == pytest.approx(tango(b, c, 80), abs=0.01)


def test_a_lower_distance_is_better():
    rng = np.random.default_rng(6)
    found = standing(marks(np.abs(rng.normal(scale=(1.0, 0.2, 1.1), size=(60, 3)))), lower_is_better=True)
    assert found.winner == "judge 01"
    assert "t, simultaneous" in found.method


def test_judges_who_share_little_are_not_compared():
    values = np.full((30, 2), np.nan)
    values[:15, 0], values[10:, 1] = 1, 0
    found = standing(marks(values))
    assert found.pairs.empty
    assert (found.winner, found.tied, found.uncompared) == ("", (), ("judge 01",))


def test_identical_judges_and_one_judge_have_no_winner():
    same = np.random.default_rng(7).random((40, 1)) < 0.7
    assert standing(marks(same.repeat(3, axis=1))).winner == ""
    assert standing(marks(same)).winner == ""


def test_bias_is_named_for_who_has_it_and_holds_for_all_at_once():
    rng = np.random.default_rng(8)
    found = biased(marks(rng.choice([-1, 0, 1], p=(0.1, 0.3, 0.6), size=(200, 1)).repeat(1, axis=1)))
    alone = found.iloc[0]
    many = rng.choice([-1.0, 0.0, 1.0], size=(200, 20))
    many[:, 3] = rng.choice([-1.0, 0.0, 1.0], p=(0.1, 0.3, 0.6), size=200)
    first = biased(marks(many)).iloc[0]
    assert first["judge"] == "judge 03"
    assert first["conf_low"] > 0
    assert first["conf_high"] - first["conf_low"] > alone["conf_high"] - alone["conf_low"]


def test_intervals_of_several_judges_are_widened_by_bonferroni():
    half = stdtrit(20, 0.975)
    rows = pd.DataFrame({"judge": [*"abcd"], "estimate": [0.1, -3.0, 1.0, 0.0]})
    rows = rows.assign(conf_low=rows["estimate"] - half, conf_high=rows["estimate"] + half)
    found = widened(rows, 21)
    assert found["judge"].tolist() == [*"bcad"]
    assert (found["conf_high"] - found["estimate"]).tolist() == pytest.approx([stdtrit(20, 1 - 0.025 / 4)] * 4)
    of_runs = widened(rows.iloc[:2], 1)  # one item: the interval is over runs
    assert (of_runs["conf_high"] - of_runs["estimate"]).tolist() == pytest.approx(
        [half * norm.ppf(1 - 0.025 / 2) / norm.ppf(0.975)] * 2
    )


def test_a_judge_without_an_interval_is_not_called_equal():
    values = np.column_stack([np.arange(9) % 2, np.zeros(9)])
    few = standing(marks(values))
    assert (few.winner, few.tied, few.uncompared) == ("", (), ("judge 01",))
    apart = np.full((40, 2), np.nan)
    apart[:24, 0], apart[12:, 1] = 0.9, 0.5 + 0.1 * (np.arange(28) % 2)
    apart[:12, 0], apart[12:24, 0] = 2.0, 0.4
    ahead = standing(marks(apart))
    assert (ahead.best, ahead.ahead, ahead.winner) == ("judge 00", ("judge 01",), "")


@pytest.mark.parametrize("clusters", [10, 20, 30, 39])
def test_a_mean_of_marks_that_cancel_is_0_and_has_no_interval(clusters):
    item = np.repeat(np.arange(clusters), 6)
    value = np.random.default_rng(1).permuted(np.tile([1.0, 1, 1, -1, -1, -1], (clusters, 1)), axis=1).ravel()
    table = pd.DataFrame({"judge": "j", "unit": range(item.size), "cluster": item, "value": value, "weight": 1.0})
    row = biased(table).iloc[0]
    assert row["estimate"] == 0
    assert np.isnan([row["conf_low"], row["conf_high"]]).all()


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_a_mean_of_fractions_that_cancel_is_0_and_has_no_interval(scale):
    """A sum of 0.1 and 0.2 is not 0.3 in binary: what is left excludes 0, of a judge alone and of two judges."""
    item = np.repeat(np.arange(24), 3)
    value = scale * np.tile([0.1, 0.2, -0.3], 24)
    table = pd.DataFrame({"judge": "j", "unit": range(72), "cluster": item, "value": value, "weight": 1.0})
    alone = biased(table).iloc[0]
    assert alone["estimate"] == 0
    assert np.isnan([alone["conf_low"], alone["conf_high"]]).all()
    one = scale * np.random.default_rng(2).integers(1, 50, size=24) / 10
    both = standing(marks(np.column_stack([one, np.nextafter(one, np.inf)])))
    assert both.pairs["estimate"].item() == 0
    assert (both.winner, both.uncompared) == ("", ("judge 01",))


def test_a_small_difference_of_large_marks_is_no_residue():
    value = 1e6 + 1e-3 * np.random.default_rng(3).normal((1.0, 0.0), 0.1, size=(40, 2))
    assert standing(marks(value)).winner == "judge 00"


def test_a_mark_that_is_no_number_leaves_its_judge_without_a_mean_and_the_pair_as_it_is():
    whole = marks(np.random.default_rng(3).integers(0, 2, (40, 2)))
    one_missing = whole.assign(value=whole["value"].where(whole.index > 0))
    compared = standing(one_missing)
    assert np.isnan(compared.means.set_index("judge").loc["judge 00", "estimate"])
    rest = standing(whole[whole["unit"] > 0]).pairs
    assert compared.pairs[["estimate", "conf_low", "conf_high"]].to_numpy() == pytest.approx(
        rest[["estimate", "conf_low", "conf_high"]].to_numpy()
    )


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, np.inf), (0.0, 4.0), (-4.0, 4.0)])
@pytest.mark.parametrize("items", [2, 3, 12])
def test_a_mean_has_no_interval_without_width_and_none_beyond_what_is_possible(items, bounds):
    """Shares, distances and differences on a scale: few items, all alike or nearly so, and few clusters of them."""
    rng = np.random.default_rng(items)
    for rare in (0, 1):
        values = np.zeros((items, 2))
        values[:rare] = bounds[1] if np.isfinite(bounds[1]) else 1.0
        for clusters in (None, rng.integers(0, 2, items)):
            found = means_of(marks(values, clusters), bounds=bounds)
            low, high = found["conf_low"], found["conf_high"]
            assert ((low >= bounds[0]) & (high <= bounds[1]) | low.isna()).all()
            assert not (high - low <= 0).any()
            if rare == 0 and bounds != (0.0, 1.0):
                assert low.isna().all()
                assert found["flag"].str.contains("no variation").all()


def test_the_interval_of_a_share_is_that_of_the_measure():
    right = np.array([1.0] * 9 + [0.0] * 3)
    found = means_of(marks(right[:, None]), bounds=(0.0, 1.0), cluster="item").loc[0]
    sums, ones = right, np.ones(12)
    assert (found["conf_low"], found["conf_high"]) == clustered_wilson(sums, ones)[1:]
    assert found["method"] == "Wilson, clustered by item (G = 12)"
    away = means_of(marks(right[:, None]), bounds=(0.0, np.inf)).loc[0]
    assert (away["conf_low"], away["conf_high"]) == pytest.approx(hall(right))


def test_an_interval_reaches_as_far_as_that_by_wider_clusters():
    """Items of one persona are alike: what 400 items tell apart, their 12 personas do not; each interval holds both."""
    rng = np.random.default_rng(11)
    persona = np.repeat(np.arange(12), 34)
    shift = rng.normal(0, 0.35, 12)[persona]
    right = np.column_stack([rng.random(408) < 0.78, rng.random(408) < np.clip(0.55 + shift, 0, 1)])
    table = marks(right).assign(persona=persona.repeat(2))
    narrow, wide = standing(table), standing(table, wider=["persona"])
    own, (low, high) = narrow.pairs.iloc[0], wide.pairs.iloc[0][["conf_low", "conf_high"]]
    by_persona = standing(table.assign(cluster=table["persona"])).pairs.iloc[0]
    assert low == min(own["conf_low"], by_persona["conf_low"])
    assert high == max(own["conf_high"], by_persona["conf_high"])
    assert narrow.winner == "judge 00"
    assert wide.winner == ""
    assert wide.pairs["clusters"].tolist() == [12]
    few = standing(table.assign(half=persona.repeat(2) // 6), wider=["half"])
    assert few.pairs.equals(narrow.pairs)  # two levels are no sample


def test_of_nested_items_a_winner_is_seldom_named_where_none_is():
    """Equal judges, and personas that suit one or the other: by items a winner on most pages, by both on few."""
    rng = np.random.default_rng(12)
    named = {(): 0, ("persona",): 0}
    for _ in range(120):
        persona = np.repeat(np.arange(20), 15)
        suits = rng.normal(0, 0.15, size=(20, 2))[persona]
        table = marks(rng.random((300, 2)) < 0.6 + np.clip(suits, -0.4, 0.4)).assign(persona=persona.repeat(2))
        for wider in named:
            named[wider] += standing(table, wider=wider).winner != ""
    assert named[()] > 25
    assert named["persona",] <= 6 + 3 * np.sqrt(120 * 0.05 * 0.95)
