"""The verdict at the head of a page: each rule on data where the truth is planted, and how often it is wrong."""

import re

import numpy as np
import pandas as pd
import pytest

from judgestats.metrics.measure_registry import measures
from judgestats.metrics.ranking import ranking_resamples
from judgestats.reporting import page_data
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.schema import preferences, ratings
from reporting.sentences import of_many_studies

pytestmark = pytest.mark.usefixtures("_only_the_first_screen")


def skilled(right, n=200, seed=0, first=(), gold=True, spread=0.3):
    """Pairs shown in both orders; a judge is right with a probability that varies with the item.

    `first`: judge -> share of calls in which it takes what is shown first.
    """
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, spread, n)
    rows = []
    for judge, p in right.items():
        logit = np.log(p / (1 - p))
        for i in range(n):
            known = rng.random() < 1 / (1 + np.exp(-logit - hard[i]))
            for a, b in (("x", "y"), ("y", "x")):
                winner = "x" if known == (i % 2 == 0) else "y"
                choice = "first" if winner == a or rng.random() < dict(first).get(judge, 0.0) else "second"
                rows.append((judge, f"i{i}", a, b, choice, "x" if i % 2 == 0 else "y"))
    table = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold"])
    return preferences(table if gold else table.drop(columns="gold"))


def verdict(data, **options):
    return measure_all(data, PageArguments(n_resamples=20, **options)).summary.verdict


def test_a_judge_above_all_is_to_be_used_with_the_gap_to_the_next():
    text = verdict(skilled({"good": 0.9, "fair": 0.7, "poor": 0.65}))
    assert text.startswith("Use good: right in 9") or text.startswith("Use good: right in 8")
    assert " points above the next, fair." in text


def test_some_that_cannot_be_told_apart_and_how_many_more_would_separate_them():
    data = skilled({"one": 0.84, "two": 0.80, "poor": 0.6}, n=150, seed=3)
    text = verdict(data)
    assert text.startswith("Use one or two: they are not distinguishable. About ")
    more = int(text.partition("About ")[2].partition(" more")[0].replace("\u202f", ""))
    assert "would separate one from two." in text
    page = measure_all(data, PageArguments(n_resamples=20)).summary.differences["right"]
    row = page.difference("one", "two")
    error = (row["conf_high"] - row["conf_low"]) / 2 / 2.3  # simultaneous for three pairs: about 2.3 standard errors
    needed = row["clusters"] * ((1.96 + 0.84) * error / row["estimate"]) ** 2 - row["clusters"]
    assert needed <= more <= 1.6 * needed + 20


def test_equal_judges_are_not_to_be_separated():
    text = verdict(skilled({"one": 0.8, "two": 0.8}, seed=6))
    assert text.startswith("No judge is shown to be the best: ")
    same = skilled({"one": 0.8}, seed=1)
    copies = pd.concat([same, same.assign(judge="two")], ignore_index=True)
    assert "would separate" not in verdict(copies)


def test_nobody_is_to_be_used_who_is_worse_than_a_constant_answer():
    assert verdict(skilled({"a": 0.35, "b": 0.2})).startswith(
        "Use none: the best, a, is worse than a constant answer ("
    )
    assert verdict(skilled({"a": 0.5, "b": 0.2}, n=60)).startswith(
        "Use none on this evidence: the best, a, is not shown"
    )


def test_without_right_answers_only_steadiness_is_said():
    text = verdict(skilled({"steady": 0.9, "wavering": 0.9}, first={"wavering": 0.5}, gold=False))
    assert text.startswith("Who is right cannot be said without right answers or people. The steadiest is steady: ")


def test_a_judge_to_use_that_prefers_a_place_is_to_be_asked_in_both_orders():
    text = verdict(skilled({"good": 0.97, "poor": 0.55}, n=300, first={"good": 0.4}))
    assert text.startswith("Use good: ")
    assert "Ask it in both orders: it prefers what is shown first (+" in text


def test_people_who_agree_more_with_each_other_than_any_judge_does(monkeypatch):
    monkeypatch.undo()  # agreement with people is a measure
    people = skilled({"Ann": 0.97, "Bob": 0.97}, gold=False)
    data = pd.concat([people, skilled({"a": 0.7, "b": 0.65}, seed=1, gold=False)], ignore_index=True)
    assert "No judge agrees with people as much as people do with each other (9" in verdict(data, humans=["Ann", "Bob"])
    like_them = pd.concat([people, skilled({"a": 0.97, "b": 0.65}, seed=1, gold=False)], ignore_index=True)
    assert "No judge agrees" not in verdict(like_them, humans=["Ann", "Bob"])


def test_conditions_that_are_pooled_are_named_with_the_option():
    parts = [skilled({"a": 0.9, "b": 0.6}, n=60, seed=k).assign(strategy=s) for k, s in enumerate(["plain", "swap"])]
    data = preferences(pd.concat(parts, ignore_index=True))
    many = data.assign(temperature=np.where(data["strategy"] == "plain", 0.0, 1.0)).drop(columns="strategy")
    assert verdict(many).endswith("All of this pools 2 temperatures; --by temperature shows each.")


def test_scores_are_closest_to_gold():
    rng = np.random.default_rng(2)
    gold = rng.integers(1, 6, 150)
    rows = [
        (j, "s", f"i{i}", float(np.clip(g + rng.choice([-1, 0, 1], p=[e, 1 - 2 * e, e]), 1, 5)), float(g))
        for j, e in (("near", 0.05), ("far", 0.45))
        for i, g in enumerate(gold)
    ]
    table = pd.DataFrame(rows, columns=["judge", "system", "item", "score", "gold"])
    text = verdict(ratings(table))
    assert text.startswith("Use near: 0.")
    assert " away on average, 0." in text


def test_scores_farther_off_than_a_constant_answer_are_no_scores_to_use():
    rng = np.random.default_rng(3)
    gold = rng.integers(2, 5, 150)
    rows = [(j, "s", f"i{i}", float(g + 3), float(g)) for j in "ab" for i, g in enumerate(gold)]
    table = pd.DataFrame(rows, columns=["judge", "system", "item", "score", "gold"])
    table["score"] += rng.normal(0, 0.2, len(table))
    text = verdict(ratings(table))
    assert text.startswith("As scores, use none: the best, ")
    assert "farther off than a constant answer (always the median of gold)" in text


def wrong_sentences(seed):
    """What the verdict infers of a study drawn by `seed`, held against the planted truth: (inferences, wrong ones)."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    base, gap = rng.uniform(0.5, 0.78), rng.choice([0.0, 0.0, 0.1, 0.2])
    right = {f"j{i}": base + (gap if i == 0 else 0.0) for i in range(k)}
    names = list(rng.permutation(list(right)))
    data = skilled(
        {j: right[j] for j in names}, n=int(rng.choice([40, 100, 300])), seed=seed, spread=rng.choice([0, 1.0])
    )
    text = verdict(data)
    used = text.startswith("Use ") and not text.startswith("Use none") and "not distinguishable" not in text
    worse = text.startswith("Use none: ")
    best = text.removeprefix("Use ").partition(":")[0]
    wrong = (used and (gap == 0 or best != "j0")) + (worse and max(right.values()) > 0.5)
    return int(used or worse), int(wrong)


def test_the_verdict_is_seldom_wrong():
    """Equal judges or one that is better: a wrong winner at most in 5 % of the studies (within chance)."""
    results = np.array([wrong_sentences(seed) for seed in range(12)])
    assert results[:, 1].sum() <= 3  # P(X > 3 | n = 12, p = .05) = .002
    assert results[:, 0].sum() >= 3  # it does infer


@of_many_studies
def test_the_verdict_is_wrong_in_at_most_one_in_twenty_studies(seeds, most):
    assert sum(wrong_sentences(seed)[1] for seed in seeds) <= most


def claimed(card):
    """Judges that a card on bias calls biased by more than the smallest size, and those that it calls biased at all."""
    beyond = []
    if found := re.match(r"(\w+), [+−]", card.claim):
        beyond = [found[1]] if card.head.startswith(("Prefers what is shown", "Scores ")) else []
    else:
        for names in re.findall(
            r"^(\w+(?:, \w+)*(?: and \w+)?) (?:prefers?|scores?) |, (\w+) (?:the second|lower)$", card.claim
        ):
            beyond += re.findall(r"j\d", " ".join(names))
    beyond += re.findall(r"j\d", "".join(re.findall(r"by more than [^;]*?, too: ([^;]*)", card.detail)))
    beyond += re.findall(r"(j\d), [+−][\d.]+ (?:points )?\(", card.detail) if re.match(r"\d", card.claim) else []
    return set(beyond), set(
        re.findall(r"j\d", "".join(re.findall(r"clear of 0, but not of [^:]*: ([^;]*)", card.detail)))
    )


def wrong_bias(seed):
    """Sentences on position bias and steadiness, or on leniency, against what was planted: kind -> (said, wrong)."""
    rng = np.random.default_rng(seed)
    names = [f"j{i}" for i in range(int(rng.integers(2, 5)))]
    alike = rng.random() < 0.4
    if seed % 2:
        planted = dict.fromkeys(names, rng.choice([0.0, 0.1, 0.25]))
        planted = planted if alike else {j: rng.choice([0.0, 0.1, 0.25]) for j in names}
        data = skilled(
            dict.fromkeys(names, 0.7), n=int(rng.choice([40, 100])), seed=seed, first=planted.items(), spread=0
        )
        smallest, kind = 0.1, "position"
    else:
        planted = {j: rng.choice([-0.8, -0.4, 0.0, 0.4, 0.8]) for j in names}
        gold = rng.integers(1, 6, int(rng.choice([40, 100])))
        rows = [
            (j, "s", f"i{i}", g + planted[j] + rng.normal(0, 1), float(g)) for j in names for i, g in enumerate(gold)
        ]
        data = ratings(pd.DataFrame(rows, columns=["judge", "system", "item", "score", "gold"]))
        smallest, kind = 0.4, "leniency"
    summary = measure_all(data, PageArguments(n_resamples=20, smallest=smallest)).summary
    cards = {c.kind: c for c in summary.cards}
    beyond, clear = claimed(cards["biased"])
    wrong = any(abs(planted[j]) <= smallest for j in beyond) or any(planted[j] == 0 for j in clear)
    said = {kind: (int(bool(beyond | clear)), int(wrong))}
    if kind == "position" and alike:
        one = re.match(r"j\d, ", cards["steady"].claim) is not None
        said["steadiness"] = (int(one), int(one))
    return said


def wrong_by_kind(seeds):
    """Kind of sentence -> how many studies, in how many something was inferred, and how many were wrong."""
    counts = {}
    for seed in seeds:
        for kind, (said, wrong) in wrong_bias(seed).items():
            counts[kind] = np.add(counts.get(kind, 0), [1, said, wrong])
    return counts


def test_sentences_on_bias_are_seldom_wrong():
    counts = wrong_by_kind(range(12))
    assert set(counts) == {"position", "leniency", "steadiness"}
    assert all(wrong <= 2 for _, _, wrong in counts.values())  # P(X > 2 | n = 6, p = .05) = .002
    assert all(counts[kind][1] >= 2 for kind in ("position", "leniency"))  # they do infer


@of_many_studies
def test_sentences_on_bias_are_wrong_in_at_most_one_in_twenty_studies(seeds, most):
    of_two_kinds = range(seeds.start, seeds.stop + len(seeds))
    for kind, (n, _, wrong) in wrong_by_kind(of_two_kinds).items():
        assert wrong / n <= most / len(seeds), kind


def wrong_first(seed):
    """Whether the ranking names one system as first, and whether that is wrong: of equal systems, or of one better."""
    rng = np.random.default_rng(seed)
    systems = [f"s{i}" for i in range(int(rng.integers(3, 6)))]
    best = str(rng.choice(systems)) if rng.random() < 0.4 else ""
    rows = []
    for i in range(int(rng.choice([30, 80]))):
        for judge in "pq":
            one, other = rng.choice(systems, 2, replace=False)
            gap = rng.normal() + 1.5 * ((one == best) - float(other == best))
            rows.append((judge, f"i{i}", one, other, "first" if gap > 0 else "second", False))
    columns = ["judge", "item", "first", "second", "choice", "order_known"]
    cards = measure_all(preferences(pd.DataFrame(rows, columns=columns)), PageArguments(n_resamples=20)).summary.cards
    said = next(c for c in cards if c.kind == "ranking").claim
    return int(said in systems), int(said in systems and said != best)


@pytest.fixture
def _with_the_ranking(_only_the_first_screen, monkeypatch):
    ranked = measures()["rank_systems"]
    monkeypatch.setattr(page_data, "attempts", lambda data, options, *_: {ranked.name: ranked.attempt(data, options)})
    monkeypatch.setattr(ranking_resamples, "SPLITS", 4)  # of the stability, of which the card says nothing


@pytest.mark.usefixtures("_with_the_ranking")
def test_the_first_of_a_ranking_is_seldom_wrong():
    results = np.array([wrong_first(seed) for seed in range(12)])
    assert results[:, 1].sum() <= 3  # P(X > 3 | n = 12, p = .05) = .002
    assert results[:, 0].any()  # it does infer


@of_many_studies
@pytest.mark.usefixtures("_with_the_ranking")
def test_the_first_of_a_ranking_is_wrong_in_at_most_one_in_twenty_studies(seeds, most):
    assert sum(wrong_first(seed)[1] for seed in seeds) <= most


def wrong_of_scores(seed):
    """Whom the verdict says to use, or nobody, of judges whose scores are off by known errors: (inferences, wrong)."""
    rng = np.random.default_rng(seed)
    sizes = {f"j{i}": rng.choice([0.6, 0.6, 0.9, 2.0]) for i in range(int(rng.integers(2, 5)))}
    if rng.random() < 0.4:
        sizes = dict.fromkeys(sizes, rng.choice([0.6, 1.5, 2.0]))
    gold = rng.integers(1, 6, int(rng.choice([40, 100, 300])))
    rows = [(j, "s", f"i{i}", g + rng.normal(0, s), float(g)) for j, s in sizes.items() for i, g in enumerate(gold)]
    text = verdict(ratings(pd.DataFrame(rows, columns=["judge", "system", "item", "score", "gold"])))
    ranked = sorted(sizes.values())
    used = re.match(r"Use (\w+): ", text)
    far = "is farther off than a constant answer" in text
    constant = np.abs(gold - np.median(gold)).mean() / np.sqrt(2 / np.pi)  # the error with this mean distance
    wrong = used is not None and (ranked[0] == ranked[1] or sizes[used[1]] != ranked[0])
    return int(used is not None or far), int(wrong or (far and ranked[0] < constant))


def wrong_of_people(seed):
    """Whether people are said to agree more among themselves than with any judge, and whether that is wrong."""
    rng = np.random.default_rng(seed)
    person, judge = rng.choice([0.85, 0.97]), rng.choice([0.6, 0.85, 0.97])
    n = int(rng.choice([40, 100, 300]))
    people = skilled({"Ann": person, "Bob": person}, n=n, seed=seed, gold=False, spread=0)
    judges = skilled({"a": judge, "b": 0.55}, n=n, seed=seed + 10**6, gold=False, spread=0)
    said = "No judge agrees with people" in verdict(
        pd.concat([people, judges], ignore_index=True), humans=["Ann", "Bob"]
    )
    return int(said), int(said and judge >= person)


@pytest.fixture
def _with_people(_only_the_first_screen, monkeypatch):
    agreement = measures()["judge_against_people"]
    monkeypatch.setattr(
        page_data, "attempts", lambda data, options, *_: {agreement.name: agreement.attempt(data, options)}
    )


@pytest.mark.usefixtures("_with_people")
@pytest.mark.parametrize("wrong", [wrong_of_scores, wrong_of_people])
def test_the_verdict_on_scores_and_people_is_seldom_wrong(wrong):
    results = np.array([wrong(seed) for seed in range(6)])
    assert results[:, 1].sum() <= 2  # P(X > 2 | n = 6, p = .05) = .002
    assert results[:, 0].any()  # it does infer


@of_many_studies
@pytest.mark.usefixtures("_with_people")
@pytest.mark.parametrize("wrong", [wrong_of_scores, wrong_of_people])
def test_the_verdict_on_scores_and_people_is_wrong_in_at_most_one_in_twenty_studies(wrong, seeds, most):
    assert sum(wrong(seed)[1] for seed in seeds) <= most


def test_the_largest_bias_is_that_of_all_judges_that_the_page_shows():
    """A judge with pairs of its own stands in another group of the table, and its bias counts all the same."""
    near = skilled({"a": 0.8, "b": 0.7}, first={"a": 0.12}, seed=4)
    far = skilled({"c": 0.75}, first={"c": 0.5}, seed=5)
    far = far.assign(item="of c " + far["item"].astype(str))
    page = measure_all(pd.concat([near, far], ignore_index=True), PageArguments(n_resamples=20)).summary
    assert len(page.groups) == 2
    card = next(c for c in page.cards if c.kind == "biased")
    column = next(c for c in page.columns if c.term == "position_bias")
    largest = max(column.cells, key=lambda j: abs(column.cells[j]["estimate"]))
    assert largest == "c"
    assert card.head == "Prefers what is shown first"
    assert card.claim.startswith(f"c, {column.text('c')[0]} points")
