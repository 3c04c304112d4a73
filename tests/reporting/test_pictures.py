"""Pictures of a page: which judges agree, and judges and people beside judges and judges."""

import re

import numpy as np
import pandas as pd
import pytest

import judgestats as js
import registry
from judgestats.metrics.measure_registry import MeasureOptions
from judgestats.reporting import plots
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.reporting.pictures import LARGEST, MOST_GROUPS, beside_people, between_judges
from judgestats.reporting.plots.judge_pairs import kappa_matrix

PEOPLE = {"ratings": (registry.scores, ["a"]), "preferences": (registry.people, ["ann", "bob"])}


def pairs_of(judges, value=lambda i, j: 1 / (1 + abs(i - j))):
    rows = [
        (a, b, "kappa", value(i, j), 10.0) for i, a in enumerate(judges) for j, b in enumerate(judges) if i < j
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["judge", "other", "term", "estimate", "n"])


def calls_of(judges):
    return pd.DataFrame({"judge": judges, "item": "1", "first": "x", "second": "y", "choice": "first"})


def texts(picture):
    return re.findall(r"<text[^>]*>([^<]*)</text>", str(picture.svg))


@pytest.mark.parametrize(
    ("kind", "data"), [("preferences", registry.people), ("ratings", registry.single_scores)], ids=["kappa", "r"]
)
def test_one_matrix_has_every_pair_in_the_order_of_its_clusters(kind, data):
    data = data()
    rows = js.kappa(data) if kind == "preferences" else js.correlation(data, level="cell", pairs="each", n_resamples=10)
    taken = {"kappa" if kind == "preferences" else "correlation": rows}
    (picture,) = between_judges(data, kind, taken, MeasureOptions())
    drawn = rows if kind == "preferences" else rows[rows["term"] == "mean"].assign(term="r")
    judges = set(data["judge"])
    found = [t for t in texts(picture) if t in judges]
    assert found[len(judges) :] == [t.get_text() for t in kappa_matrix(drawn).get_yticklabels()]
    assert found[: len(judges)] == found[len(judges) :]
    for value in drawn["estimate"]:
        assert texts(picture).count(f"{value:.2f}".replace("-", "−")) >= 2
    assert ("averaged over the systems" in picture.caption) == (kind == "ratings")
    assert any("1 = perfect" in t for t in texts(picture))  # the colour bar


def test_two_judges_have_no_matrix():
    assert [*between_judges(calls_of(["a", "b"]), "preferences", {"kappa": pairs_of("ab")}, MeasureOptions())] == []


def test_a_measure_without_estimates_has_no_matrix():
    assert [*between_judges(calls_of(["a"]), "preferences", {"kappa": "needs two judges"}, MeasureOptions())] == []


def test_a_judge_that_shares_no_item_is_named():
    (picture,) = between_judges(calls_of([*"abcx"]), "preferences", {"kappa": pairs_of("abc")}, MeasureOptions())
    assert "no other judge has the same items: x." in picture.caption


def test_of_many_judges_those_that_agree_most_and_least_are_drawn():
    judges = [f"judge {i:02d}" for i in range(LARGEST + 5)]
    rows = pairs_of(judges, lambda i, j: (i + j) / 100)
    (picture,) = between_judges(calls_of(judges), "preferences", {"kappa": rows}, MeasureOptions())
    kept = judges[: LARGEST // 2] + judges[-LARGEST // 2 :]
    assert sorted({t for t in texts(picture) if t in judges}) == kept
    assert "the 20 highest and lowest of 45 judges" in picture.caption
    assert "the CSV" in picture.caption


def test_each_group_has_its_matrix_and_very_many_are_counted():
    groups = [f"prompt {k}" for k in range(MOST_GROUPS + 1)]
    rows = pd.concat([pairs_of("abc").assign(prompt=g) for g in groups])
    found = [*between_judges(calls_of([*"abc"]), "preferences", {"kappa": rows}, MeasureOptions(by=("prompt",)))]
    assert [p.title for p in found] == [f"Which judges agree, {g}" for g in groups[:MOST_GROUPS]]
    assert f"Drawn are {MOST_GROUPS} of {MOST_GROUPS + 1} groups." in found[0].caption


@pytest.fixture
def drawn(monkeypatch):
    """The table of people of which the last picture of judges and people was drawn."""
    found, original = {}, plots.judges_and_people
    monkeypatch.setattr(
        plots, "judges_and_people", lambda peers, people: found.update(people=people) or original(peers, people)
    )
    return found


@pytest.mark.parametrize("kind", PEOPLE)
def test_judges_stand_beside_people_with_what_the_page_has_measured(kind, drawn):
    make, humans = PEOPLE[kind]
    found = measure_all(make(), PageArguments(humans=humans, n_resamples=20))
    (picture,) = beside_people(found.estimates.taken, found.estimates.peers, found.settings)
    term = "kappa" if kind == "preferences" else "concordance"
    taken = found.estimates.taken["judge_against_people"]
    taken = taken[(taken["term"] == term) & taken["estimate"].notna()]
    np.testing.assert_array_equal(drawn["people"]["estimate"], taken["estimate"])
    assert ("people with each other" in texts(picture)) == (len(humans) > 1)
    assert set(found.rows.reference.models["judge"]) <= set(texts(picture))


def test_without_people_or_with_one_judge_nothing_is_beside():
    assert [
        *beside_people(
            measure_all(registry.people(), PageArguments(n_resamples=5)).estimates.taken, None, MeasureOptions()
        )
    ] == []
    one = registry.people().query("judge != 'h'")
    found = measure_all(one, PageArguments(humans=["ann", "bob"], n_resamples=5))
    assert [*beside_people(found.estimates.taken, found.estimates.peers, found.settings)] == []


def test_people_who_answered_once_stand_beside_each_condition(drawn):
    rows = [("ann", np.nan), ("bob", np.nan), ("g", "p"), ("h", "p"), ("g", "q"), ("h", "q")]
    rng = np.random.default_rng(3)
    data = pd.concat(
        [
            pd.DataFrame({"judge": j, "prompt": p, "item": [f"i{k}" for k in range(30)], "first": "x", "second": "y",
                          "choice": rng.choice(["first", "second"], 30)})
            for j, p in rows
        ], ignore_index=True,
    )  # fmt: skip
    found = measure_all(data, PageArguments(humans=["ann", "bob"], by="prompt", n_resamples=10))
    (picture,) = beside_people(found.estimates.taken, found.estimates.peers, found.settings)
    assert {"p", "q", "people with each other"} <= set(texts(picture))
    people = drawn["people"].set_index("judge").loc["people with each other"]
    assert list(people["prompt"]) == ["p", "q"]
    assert people["estimate"].nunique() == 1
