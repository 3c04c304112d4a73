"""Who stands out among judges: simultaneous differences on what they judged together."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit
from scipy.stats import norm

from judgestats.errors import DesignError
from judgestats.kernels.proportions import tango
from judgestats.metrics.agreement import judge_against_people
from judgestats.metrics.bias import consistency, gold_agreement, position_bias
from judgestats.metrics.standings import (
    biased,
    distance_marks,
    error_marks,
    means_of,
    order_marks,
    people_marks,
    right_marks,
    spread_marks,
    standing,
    steady_marks,
    together,
    widened,
)
from judgestats.schema import ratings
from reporting.designs import plain_verdicts


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


def test_marks_have_the_means_of_the_measures():
    calls = plain_verdicts(["a", "b"], invalid=0.05)
    for found, measured in (
        (right_marks(calls, []), gold_agreement(calls).query("term == 'accuracy'")),
        (steady_marks(calls, []), consistency(calls).query("term == 'consistency'")),
    ):
        expected = measured.set_index("judge")["estimate"]
        assert found.groupby("judge")["value"].mean().to_dict() == pytest.approx(expected.to_dict())
    calls = plain_verdicts(["a", "b"], invalid=0)
    expected = position_bias(calls).query("term == 'position_bias'").set_index("judge")["estimate"]
    assert order_marks(calls, []).groupby("judge")["value"].mean().to_dict() == pytest.approx(expected.to_dict())


def test_no_pair_in_both_orders_gives_no_marks_of_order():
    calls = pd.DataFrame({"judge": "g", "item": [*"12"], "first": "x", "second": "y", "choice": ["first", "second"]})
    assert order_marks(calls, []).empty


def test_marks_of_scores():
    table = ratings(
        pd.DataFrame(
            {
                "judge": ["a", "a", "b", "b", "c", "c"], "item": [*"121212"], "system": "s",
                "score": [1.0, 2.0, 3.0, 2.0, 5.0, 2.0],
            }
        )
    )  # fmt: skip
    right = table[table["judge"] == "c"]
    far = distance_marks(table[table["judge"] != "c"], right, [])
    assert far.groupby("judge")["value"].mean().to_dict() == {"a": 2.0, "b": 1.0}
    again = pd.concat([table.assign(replicate=0), table.assign(replicate=1, score=table["score"] + 2)])
    assert spread_marks(again, [])["value"].tolist() == pytest.approx([2.0] * 6)  # variances


def test_agreement_with_people_is_the_share_of_them():
    calls = pd.DataFrame({"judge": "g", "item": [*"12"], "first": "x", "second": "y", "choice": ["first", "second"]})
    people = pd.DataFrame(
        {"judge": [*"AABB"], "item": [*"1212"], "first": [*"xxyy"], "second": [*"yyxx"],
         "choice": ["first", "first", "first", "second"]}
    )  # fmt: skip
    assert people_marks(calls, people, [])["value"].tolist() == [0.5, 0.0]


def test_groups_are_judges_with_half_of_their_items_in_common():
    pairs = [("a", range(10)), ("b", range(5, 15)), ("c", range(14, 30)), ("d", range(40, 45))]
    table = pd.DataFrame([(j, i) for j, items in pairs for i in items], columns=["judge", "item"])
    assert together(table["judge"], table["item"]) == [["a", "b"], ["c"], ["d"]]


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


def test_people_are_matched_as_in_the_measure_of_agreement():
    """On 40 items in two turns, a judge that agrees in each turn; without the turn the measure refuses, and so do marks."""
    rows = [
        (j, f"i{i}", "x", "y", ("first", "second")[(i + t) % 2], t) for i in range(40) for t in (1, 2) for j in "gA"
    ]
    calls = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "turn"])
    judge, people = (calls[calls["judge"] == j] for j in "gA")
    assert people_marks(judge, people, ["turn"])["value"].mean() == 1.0
    with pytest.raises(DesignError, match="answered twice on one thing"):
        people_marks(judge, people, [])
    with pytest.raises(DesignError, match="answered twice on one thing"):
        judge_against_people(calls, humans="A")


def test_distance_from_people_is_within_a_condition_that_they_have():
    rows = [
        (j, f"i{i}", top, top * share) for i in range(5) for top in (5, 100) for j, share in (("g", 0.6), ("A", 0.5))
    ]
    table = ratings(pd.DataFrame(rows, columns=["judge", "item", "range", "score"]).assign(system="s"))
    judge, people = (table[table["judge"] == j] for j in "gA")
    far = distance_marks(judge.assign(judge="g " + judge["range"].astype(str)), people, ["range"])
    assert far.groupby("judge")["value"].mean().to_dict() == pytest.approx({"g 5": 0.5, "g 100": 10.0})


def test_marks_weigh_as_the_answers_behind_them_do():
    calls = pd.DataFrame({"judge": "g", "item": [*"12"], "first": "x", "second": "y", "choice": ["first", "second"]})
    people = pd.DataFrame({"judge": [*"AABC"], "item": [*"1222"], "first": "x", "second": "y", "choice": "first"})
    marks_of = people_marks(calls, people, [])
    assert means_of(marks_of)["estimate"].item() == pytest.approx(1 / 4)  # one of four answers is the same
    found = judge_against_people(pd.concat([calls, people]), humans=["A", "B", "C"])
    assert found.query("role == 'judge' and term == 'agreement'")["estimate"].item() == pytest.approx(1 / 4)


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


def test_a_judge_on_another_scale_than_the_reference_has_no_distance():
    quality = np.random.default_rng(0).random(40)
    rows = [
        (j, str(i), np.round(top * q)) for j, top in (("a", 5), ("c", 100), ("A", 5)) for i, q in enumerate(quality)
    ]
    table = ratings(pd.DataFrame(rows, columns=["judge", "item", "score"]).assign(system="s"))
    judges, people = table[table["judge"] != "A"], table[table["judge"] == "A"]
    assert set(distance_marks(judges, people, [])["judge"]) == {"a"}
    gold = judges.assign(gold=np.tile(np.round(5 * quality), 2))
    assert set(error_marks(gold, [])["judge"]) == {"a"}
