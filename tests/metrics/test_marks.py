"""One value of each judge for each thing that it judged."""

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError
from judgestats.metrics.agreement import judge_against_people
from judgestats.metrics.bias import consistency, position_bias
from judgestats.metrics.correctness import gold_agreement
from judgestats.metrics.marks import (
    distance_marks,
    error_marks,
    order_marks,
    people_marks,
    right_marks,
    spread_marks,
    steady_marks,
)
from judgestats.metrics.standings import means_of
from judgestats.schema import ratings
from reporting.designs import plain_verdicts


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


def test_people_are_matched_as_in_the_measure_of_agreement():
    """On 40 items in two turns, a judge that agrees in each turn; without the turn the measure refuses, and so do marks."""
    rows = [
        (j, f"i{i}", "x", "y", ("first", "second")[(i + t) % 2], t) for i in range(40) for t in (1, 2) for j in "gA"
    ]
    calls = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "turn"])
    judge, people = (calls[calls["judge"] == j] for j in "gA")
    assert people_marks(judge, people, ["turn"])["value"].mean() == 1.0
    for call in (lambda: people_marks(judge, people, []), lambda: judge_against_people(calls, humans="A")):
        with pytest.raises(DesignError, match="answered twice on one thing"):
            call()


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
