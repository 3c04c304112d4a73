"""The card on people among themselves, on data where their agreement is planted."""

import re

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.counting.study import Study
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.reporting.people_card import people_card
from judgestats.reporting.people_columns import AnswersBesidePeople, PeopleAgreement
from judgestats.schema import preferences, ratings
from reporting.sentences import of_many_studies


def card_of_people(table, names):
    """The card of people beside one judge, from the measure alone; of scores no column has equal answers."""
    person = table["judge"].isin(names)
    answers = AnswersBesidePeople.of(Study.of(table[~person]), table[person], [])
    people = PeopleAgreement(js.judge_against_people(table, humans=names), answers=answers)
    return people_card(people, people.columns if "choice" in table else [], [["judge"]])


def test_the_card_has_what_the_measure_says():
    answers = {"p0": "xxxxxxxxyy", "p1": "xxxxxxxyyy", "judge": "xxxxxyyyyx"}
    rows = [
        (j, f"i{i}", "x", "y", "first" if a == "x" else "second") for j, v in answers.items() for i, a in enumerate(v)
    ]
    card = card_of_people(
        preferences(pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])), ["p0", "p1"]
    )
    assert card.claim == "agree in 90\u202f%"
    assert "; judge with them in 65\u202f%; always “x” in 75\u202f%" in card.detail


def wrong_of_people(seed):
    """Whether the interval of the card leaves out the planted agreement of people, and that of the judge its value."""
    rng = np.random.default_rng(seed)
    names, n = [f"p{i}" for i in range(int(rng.choice([2, 3, 5])))], int(rng.choice([40, 100, 300]))
    who = [*names, "judge"]
    if seed % 2:  # each gives the common answer of three with this probability, else one of the other two
        knows = rng.choice([0.6, 0.8, 0.95])
        planted = knows**2 + (1 - knows) ** 2 / 2
        common = rng.integers(0, 3, n)
        answers = np.where(rng.random((len(who), n)) < knows, common, (common + rng.integers(1, 3, (len(who), n))) % 3)
        rows = [
            (j, f"i{i}", "x", "y", ("first", "second", "tie")[answers[k, i]])
            for k, j in enumerate(who)
            for i in range(n)
        ]
        table = preferences(pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"]))
    else:  # scores with this share of common variance, and no leniency
        planted = rng.choice([0.3, 0.6, 0.9])
        scores = planted**0.5 * rng.normal(size=n) + (1 - planted) ** 0.5 * rng.normal(size=(len(who), n))
        rows = [(j, "s", f"i{i}", 5 + scores[k, i]) for k, j in enumerate(who) for i in range(n)]
        table = ratings(pd.DataFrame(rows, columns=["judge", "system", "item", "score"]))
    card = card_of_people(table, names)
    low, high = map(float, re.match(r"interval (-?[\d.]+) to (-?[\d.]+)", card.detail.replace("−", "-")).groups())
    scale, rounding = (100, 0.5) if seed % 2 else (1, 0.005)
    return int(not low - rounding <= scale * planted <= high + rounding)


def test_the_agreement_of_people_is_seldom_wrong():
    assert sum(wrong_of_people(seed) for seed in range(24)) <= 5  # P(X > 5 | n = 24, p = .05) = .001


@of_many_studies
def test_the_agreement_of_people_is_wrong_in_at_most_one_in_twenty_studies(seeds, most):
    assert sum(wrong_of_people(seed) for seed in seeds) <= most


def test_people_and_judge_are_compared_on_the_same_items():
    """Two people share items 0 to 3 of the 10 that one of them labelled, or all; the judge labelled 0 to 5."""
    shared = {"Ann": "yyyn", "Bob": "yynn", "judge": "nnyn"}
    rows = [(j, f"i{i}", a) for j, v in shared.items() for i, a in enumerate(v)]
    rows += [(j, f"i{i}", "y") for j in ("Ann", "judge") for i in (4, 5)]
    rows += [("Ann", f"i{i}", "y") for i in (6, 7, 8, 9)]
    table = ratings(pd.DataFrame(rows, columns=["judge", "item", "answer"]))
    page = measure_all(table, PageArguments(humans=["Ann", "Bob"], n_resamples=20)).summary
    card = next(c for c in page.cards if c.kind == "people")
    assert card.claim == "agree in 75\u202f%"
    assert "; judge with them in 38\u202f%; always “y” in 62\u202f%; all on what two of them or more" in card.detail
    (agreement,) = (c for c in page.columns if c.term == "agreement")
    assert agreement.cells["judge"]["estimate"] == 5 / 10
    assert agreement.reference == 7 / 10  # y among the ten answers beside the judge's, not among all fourteen
    both = [("Bob", f"i{i}", "y") for i in range(4, 10)]
    table = ratings(pd.DataFrame([*rows, *both], columns=["judge", "item", "answer"]))
    page = measure_all(table, PageArguments(humans=["Ann", "Bob"], n_resamples=20)).summary
    card = next(c for c in page.cards if c.kind == "people")
    assert card.claim == "agree in 90\u202f%"
    assert "on what judge answered they agree in 83\u202f%, judge with them in 58\u202f%" in card.detail


def test_criteria_of_unlike_classes_have_each_their_constant_answer():
    rows = [
        (j, f"i{i}", c, x[0] if i < 6 or j == "g" else x[1])
        for j in ("g", "A")
        for i in range(7)
        for c, x in (("x", "12"), ("z", "34"))
    ]
    table = ratings(pd.DataFrame(rows, columns=["judge", "item", "criterion", "answer"]))
    found = js.judge_against_people(table, humans="A").set_index(["criterion", "term", "role"])["estimate"]
    agreement, kappa = measure_all(table, PageArguments(humans="A", n_resamples=20)).summary.columns
    for criterion in ("x", "z"):
        assert found[criterion, "constant_answer", "people"].item() == pytest.approx(6 / 7)
        assert found[criterion, "kappa", "judge"].item() == 0
        who = f"g · criterion = {criterion}"
        assert (agreement.cells[who]["estimate"], agreement.reference_of(who)) == (6 / 7, 6 / 7)
        assert kappa.cells[who]["estimate"] == 0
    alike = table.assign(answer=table["answer"].map({"1": "no", "2": "yes", "3": "no", "4": "yes"}))
    assert "criterion" not in js.judge_against_people(alike, humans="A")
