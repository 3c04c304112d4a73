"""Judges who give the same answers, and those who only seem to."""

import numpy as np
import pandas as pd

import judgestats as js
from judgestats.counting.study import Study
from judgestats.metrics.agreement.near_copies import near_copies
from judgestats.reporting.page_data import PageArguments, measure_all
from reporting.sentences import of_many_studies


def test_near_copies_are_named_and_constant_judges_are_not():
    rng = np.random.default_rng(3)
    n, answers = 400, {"one": rng.integers(1, 6, 400)}
    answers["two"] = np.where(np.arange(n) < 2, 6 - answers["one"], answers["one"])  # at most 2 of 400 differ
    answers["three"] = answers["one"]
    answers |= {"other": rng.integers(1, 6, n), "fives": np.full(n, 5), "fives too": np.full(n, 5)}
    rows = [(j, "s", f"i{i}", float(v[i])) for j, v in answers.items() for i in range(n)]
    data = js.ratings(pd.DataFrame(rows, columns=["judge", "system", "item", "score"]))
    differ = int((answers["one"] != answers["two"]).sum())
    ((group, share),) = near_copies(Study.of(data), "ratings")
    assert (group, share) == (["one", "three", "two"], 1 - differ / n)
    found = next(c for c in measure_all(data, PageArguments(n_resamples=50)).summary.cards if c.kind == "panel")
    assert found.claim == "one, three and two are near copies"
    assert near_copies(Study.of(data[data["item"].isin([f"i{i}" for i in range(100)])]), "ratings") == []  # too few


def test_verdicts_are_compared_in_the_order_they_were_shown_in():
    rng = np.random.default_rng(1)
    rows = []
    for i in range(100):
        for first, second in (("x", "y"), ("y", "x")):
            choice = str(rng.choice(["first", "second", "tie"]))
            swapped = {"first": "second", "second": "first", "tie": "tie"}[choice]
            rows += [(j, f"i{i}", first, second, choice) for j in "ab"] + [("turned", f"i{i}", first, second, swapped)]
    data = js.preferences(pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"]))
    assert near_copies(Study.of(data), "preferences") == [(["a", "b"], 1.0)]
    invalid = data.assign(choice=data["choice"].astype(object).where(data["judge"] != "a", "invalid"))
    assert near_copies(Study.of(invalid), "preferences") == []


def test_verdicts_that_are_missing_are_no_answers():
    calls = pd.DataFrame({"judge": [*"ab"] * 100, "system": "s", "item": np.repeat(range(100), 2)})
    right = pd.array(np.repeat(np.arange(100) % 2 == 0, 2), dtype="boolean")
    right[:40] = pd.NA
    data = js.ratings(calls.assign(correct=right))
    assert near_copies(Study.of(data), "ratings") == [(["a", "b"], 1.0)]


def wrong_copies(seed):
    """Whether judges are called near copies who have fewer than 95 % of their answers in common: (said, wrong)."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.choice([30, 100, 300, 1000])), int(rng.choice([2, 3, 6, 12]))
    follows = rng.choice([0.0, 0.9, 0.95, 0.97, 1.0], k)  # the share of a common list of answers that a judge gives
    common = rng.integers(0, 5, n)
    answers = np.where(rng.random((k, n)) < follows[:, None], common, (common + rng.integers(1, 5, (k, n))) % 5)
    rows = [(f"j{j:02d}", "s", f"i{i}", float(answers[j, i])) for j in range(k) for i in range(n)]
    data = js.ratings(pd.DataFrame(rows, columns=["judge", "system", "item", "score"]))
    groups = [[int(name[1:]) for name in group] for group, _ in near_copies(Study.of(data), "ratings")]
    equal = np.outer(follows, follows) + np.outer(1 - follows, 1 - follows) / 4
    return int(bool(groups)), int(any(equal[a, b] < 0.95 for group in groups for a in group for b in group if a != b))


def test_near_copies_are_seldom_wrong():
    results = np.array([wrong_copies(seed) for seed in range(60)])
    assert results[:, 1].sum() <= 8  # P(X > 8 | n = 60, p = .05) = .003
    assert results[:, 0].sum() >= 8  # it does infer


@of_many_studies
def test_near_copies_are_wrong_in_at_most_one_in_twenty_panels(seeds, most):
    assert sum(wrong_copies(seed)[1] for seed in seeds) <= most
