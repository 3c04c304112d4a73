"""The card on people among themselves, on data where their agreement is planted."""

import re

import numpy as np
import pandas as pd

import judgestats as js
from judgestats.reporting.people_card import people_card
from judgestats.reporting.people_columns import PeopleAgreement
from judgestats.schema import preferences, ratings
from reporting.sentences import of_many_studies


def card_of_people(table, names):
    """The card of people beside one judge, from the measure alone; of scores no column has equal answers."""
    people = PeopleAgreement(js.judge_against_people(table, humans=names))
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
