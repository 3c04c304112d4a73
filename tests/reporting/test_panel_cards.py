"""The cards on the judges as a panel, on data where the truth is planted."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.reporting.formatting import number
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.reporting.panel_cards import worth_card
from reporting.sentences import of_many_studies


def noisy(noise, n=150, shared=0.0, seed=1, gold=False):
    """Scores of judges: an item's quality, an error that all judges share, and one of their own."""
    rng = np.random.default_rng(seed)
    quality, common = rng.normal(5, 1, n), rng.normal(0, shared, n)
    rows = [
        {"judge": j, "system": "s", "item": f"i{i}", "score": quality[i] + common[i] + rng.normal(0, sd)}
        | ({"gold": quality[i]} if gold else {})
        for j, sd in noise.items()
        for i in range(n)
    ]
    return pd.DataFrame(rows)


def card(data, kind, **options):
    return next(
        (c for c in measure_all(data, PageArguments(n_resamples=100, **options)).summary.cards if c.kind == kind), None
    )


def test_without_a_reference_agreement_leads():
    data = js.ratings(noisy({"a": 1.0, "b": 1.0, "c": 1.0}))
    made = measure_all(data, PageArguments(n_resamples=50)).summary
    assert [made.cards[0].kind, made.cards[0].head] == ["agreement", "How far the judges agree"]
    alpha = js.alpha(data, level_of_measurement="interval", n_resamples=50)["estimate"].item()
    assert made.cards[0].claim == f"α {alpha:.2f}"
    assert abs(alpha - 0.5) < 0.1  # variance 1 of the items, 1 of each judge
    assert "scores compared by their distance; 0 is chance" in made.cards[0].detail
    whole = js.ratings(noisy(dict.fromkeys("abc", 1.0)).assign(score=lambda d: d["score"].round().clip(-2, 2)))
    ordered = card(whole, "agreement")
    assert "scores compared by their order; 0 is chance" in ordered.detail
    found = js.alpha(whole, interval=None)
    assert (ordered.claim, ordered.method) == (f"α {number(found['estimate'].item(), 2)}", "Krippendorff's α, ordinal")
    assert found["method"].item() == "ordinal level"
    noises = {"style": 1.0, "truth": 0.1}
    by_criterion = pd.concat([noisy(dict.fromkeys("abc", sd)).assign(criterion=c) for c, sd in noises.items()])
    found = card(js.ratings(by_criterion), "agreement")
    assert found.claim.endswith("by criterion")
    assert "lowest: style" in found.detail
    assert "highest: truth" in found.detail
    assert card(js.ratings(noisy({"a": 1.0, "b": 1.0}, gold=True)), "agreement") is None


@pytest.mark.parametrize(("shared", "expected"), [(3.0, 1.2), (0.0, None)])
def test_a_panel_that_errs_together_is_worth_few_judges(shared, expected):
    """Errors correlate 9 / 11: six judges are worth 6 / (1 + 5 * 9 / 11) = 1.18; independent ones make no card."""
    data = js.ratings(noisy(dict.fromkeys("abcdef", 2**0.5), n=400, shared=shared, gold=True))
    found = card(data, "panel")
    if expected is None:
        assert found is None
    else:
        assert found.claim == f"6 judges are worth {expected} independent ones"


def test_votes_of_many_people_on_few_systems_lead_with_the_ranking():
    """Where the order shown is unknown and nobody votes twice, judges are not compared: what they prefer is left."""
    rng = np.random.default_rng(8)
    strength = {"best": 2.0, "fair": 0.0, "last": -2.0}
    pairs = [("best", "fair"), ("fair", "last"), ("best", "last")]
    votes = pd.DataFrame(
        [(f"p{i % 40}", f"q{i // 3}", *pairs[i % 3]) for i in range(600)], columns=["judge", "item", "first", "second"]
    ).assign(order_known=False)
    gap = votes["first"].map(strength) - votes["second"].map(strength)
    votes["choice"] = np.where(rng.random(len(votes)) < 1 / (1 + np.exp(-gap)), "first", "second")
    made = measure_all(js.preferences(votes), PageArguments(n_resamples=100)).summary
    assert (made.cards[0].kind, made.cards[0].claim) == ("ranking", "best")
    assert made.title == "Which system is preferred?"


def test_votes_between_many_systems_lead_with_the_ranking():
    rng = np.random.default_rng(5)
    strength = {"best": 2.0, "good": 0.6, "fair": 0.5, "poor": -1.0, "last": -2.0}
    rows = []
    for i in range(1500):
        first, second = rng.permutation(list(strength))[:2]
        p = 1 / (1 + np.exp(strength[second] - strength[first]))
        rows.append((f"voter {i % 3}", f"i{i}", first, second, "first" if rng.random() < p else "second"))
    data = js.preferences(pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"]))
    made = measure_all(data, PageArguments(n_resamples=50)).summary
    assert made.title == "Which system is preferred?"
    assert (made.cards[0].kind, made.cards[0].claim) == ("ranking", "best")
    assert "first of 5; next: " in made.cards[0].detail
    weak = data[data["item"].isin([f"i{i}" for i in range(60)])]
    assert "may each be first" in measure_all(weak, PageArguments(n_resamples=50)).summary.cards[0].claim


def wrong_worth(seed, n_resamples):
    """Whether a panel is said to be worth half of its judges or less, and whether that, or its interval, is wrong."""
    rng = np.random.default_rng(seed)
    k, n, kind = int(rng.choice([3, 4, 6, 10])), int(rng.choice([40, 100, 300])), seed % 3
    worth = max(1.1, rng.choice([0.3, 0.4, 0.51, 0.6]) * k)
    r = (k / worth - 1) / (k - 1)  # of the errors of each two judges
    if kind:
        draw = rng.normal if kind == 1 else lambda size: rng.standard_t(5, size)
        errors = r**0.5 * draw(size=(n, 1)) + (1 - r) ** 0.5 * draw(size=(n, k))
        table = {"system": "s", "score": 5 + errors.ravel(), "gold": 5.0}
    else:  # a judge errs as all do with probability r ** .5, and by itself otherwise
        rate = rng.uniform(0.2, 0.5)
        errors = np.where(rng.random((n, k)) < r**0.5, rng.random((n, 1)) < rate, rng.random((n, k)) < rate)
        table = {"correct": ~errors.ravel()}
    things = {"judge": np.tile([f"j{j}" for j in range(k)], n), "item": np.repeat([f"i{i}" for i in range(n)], k)}
    found = js.effective_judges(js.ratings(pd.DataFrame(things | table)), n_resamples=n_resamples, seed=seed)
    if worth_card({"effective_judges": found}, []) is None:
        return 0, 0, 0
    low, high = found.loc[0, ["conf_low", "conf_high"]]
    return 1, int(worth > k / 2), int(not low <= worth <= high)


def test_the_worth_of_a_panel_is_seldom_wrong():
    results = np.array([wrong_worth(seed, 100) for seed in range(24)])
    assert (results[:, 1:].sum(axis=0) <= 5).all()  # P(X > 5 | n = 24, p = .05) = .001
    assert results[:, 0].sum() >= 6  # it does infer


@of_many_studies
def test_the_worth_of_a_panel_is_wrong_in_at_most_one_in_twenty_panels(seeds, most):
    results = np.array([wrong_worth(seed, 500) for seed in seeds])
    assert (results[:, 1:].sum(axis=0) <= most).all()


@pytest.mark.parametrize(("items", "said"), [(2, False), (9, False), (10, True)])
def test_agreement_on_a_few_things_is_no_headline(items, said):
    rng = np.random.default_rng(4)
    rows = [(j, f"i{i}", float(i % 3 + rng.integers(0, 2))) for i in range(items) for j in "abc"]
    page = measure_all(
        js.schema.ratings(pd.DataFrame(rows, columns=["judge", "item", "score"])), PageArguments(n_resamples=50)
    )
    card = next(c for c in page.summary.cards if c.kind == "agreement")
    assert (card.claim == "Cannot be said") is not said
    assert said or card.detail.startswith("fewer than 10 things that two answered; α is ")
