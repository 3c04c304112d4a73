"""What a hostile reading of the simulated judges found: a signal at the criterion, and unhelpful errors."""

import numpy as np
import pandas as pd
import pytest

from judgestats.design import Judge, answer_probabilities, simulate
from judgestats.errors import DesignError, SchemaError

P = ["p_first", "p_second", "p_tie", "p_abstain", "p_invalid"]


def plan(n=2, **more):
    return pd.DataFrame({"item": [str(i) for i in range(n)], "first": "a", "second": "b", "better": "a"}).assign(**more)


def brute(judge, vacuum, forced, n=400_000, seed=0):
    """Shares of the answers, drawn as the docstring of a judge tells."""
    rng = np.random.default_rng(seed)
    noises = {"logit": rng.logistic, "probit": rng.normal}[judge.link]
    content = judge.sensitivity + rng.normal(size=n) * np.hypot(
        np.hypot(judge.item_difficulty, judge.task_difficulty), judge.stable_preference
    )
    signal = judge.slot_bias + (0.0 if vacuum else content) + judge.noise * noises(size=n)
    band = 0.0 if forced else judge.tie_criterion
    answer = np.where(signal > band, 0, np.where(signal < -band, 1, 2))
    answer = np.where(rng.random(n) < judge.lapse, rng.integers(0, 2, n), answer)
    if vacuum and judge.dark_current is not None and not forced:
        side = np.where(judge.slot_bias + judge.noise * noises(size=n) > 0, 0, 1)
        answer = np.where(rng.random(n) < judge.dark_current, side, 2)
    answer = np.where(rng.random(n) < judge.invalid, 4, answer)
    return np.bincount(answer, minlength=5) / n


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize(
    "properties",
    [
        {"slot_bias": 0.4, "tie_criterion": 0.7, "lapse": 0.2, "invalid": 0.1},
        {"slot_bias": 0.4, "tie_criterion": 0.7, "item_difficulty": 1.3, "stable_preference": 0.8},
        {"noise": 0.1, "item_difficulty": 1.0, "task_difficulty": 0.5, "tie_criterion": 0.3},
        {"dark_current": 0.3, "slot_bias": 0.5, "lapse": 0.2, "tie_criterion": 1.0},
    ],
)
def test_probabilities_are_those_of_brute_force(link, properties):
    judge = Judge("g", link=link, **properties)
    for vacuum in (False, True):
        for forced in (False, True):
            asked = plan(stimulus="vacuum" if vacuum else "same_subset", ties_allowed=not forced)
            got = answer_probabilities(asked, judge)[P].iloc[0]
            np.testing.assert_allclose(got, brute(judge, vacuum, forced), atol=0.004)


def test_a_signal_at_the_criterion_is_a_tie():
    # "first where it exceeds tie_criterion": without noise, a step as wide as the band does not
    judge = Judge("g", noise=0.0, tie_criterion=1.0)
    assert answer_probabilities(plan(1), judge)["p_tie"].item() == 1.0
    assert answer_probabilities(plan(1, delta=1.01), judge)["p_first"].item() == 1.0
    assert answer_probabilities(plan(1, better=None), Judge("g", noise=0.0))["p_first"].item() == 0.5
    lapses = answer_probabilities(plan(1), Judge("g", noise=0.0, tie_criterion=1.0, lapse=0.2))
    assert lapses[["p_first", "p_second", "p_tie"]].iloc[0].tolist() == pytest.approx([0.1, 0.1, 0.8])


def test_judges_share_an_item_without_a_seed_too():
    judges = [Judge(n, noise=0.0, sensitivity=0.0, item_difficulty=1.0) for n in "gh"]
    answers = simulate(plan(200), judges, seed=None).pivot(index="item", columns="judge", values="choice").astype(str)
    assert (answers["g"] == answers["h"]).all()


def test_neither_rows_nor_judges_nor_a_further_column_matter():
    asked = plan(40, task=[str(i % 5) for i in range(40)])
    judges = [Judge("g", item_difficulty=1.0, tie_criterion=0.5), Judge("h", stable_preference=1.0, lapse=0.1)]
    keys = ["judge", "item"]
    wanted = simulate(asked, judges, 3).sort_values(keys)["choice"].astype(str).tolist()
    both = pd.concat([asked.assign(judge=n) for n in "gh"]).sample(frac=1, random_state=1)
    for other in (asked.sample(frac=1, random_state=0), asked.assign(more=np.arange(40)), both):
        got = simulate(other, judges[::-1], 3).sort_values(keys)["choice"].astype(str).tolist()
        assert got == wanted


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"under": {"prompt": "strict"}}, "under="),
        ({"under": {"prompt": {"strict": 1.0}}}, "Give properties"),
        ({"style": {"format": 0.5}}, "style="),
        ({"criterion_effects": 0.5}, "criterion_effects="),
        ({"choice_probabilities": {"tie": 1.0}}, "choice_probabilities="),
        ({"choice_probabilities": {"all": {"tie": "all"}}}, "are numbers"),
        ({"scale": "1-10"}, "Give \\(lowest, highest\\)"),
        ({"scale": (1, 2, 3)}, "Give \\(lowest, highest\\)"),
        ({"step": "1"}, "above 0"),
        ({"ceiling": "9"}, "ceiling='9'"),
        ({"name": None}, "name in text"),
        ({"name": 1}, "name in text"),
    ],
)
def test_properties_of_a_wrong_kind(properties, message):
    with pytest.raises(DesignError, match=message):
        Judge(**{"name": "g", **properties})


def test_plans_and_seeds_of_a_wrong_kind():
    ratings = pd.DataFrame({"item": ["1", "2"], "system": ["a", "b"]})
    judge = Judge("g", length_preference=1.0)
    for wrong in (
        plan(delta="big"),
        plan(length_first="x", length_second=1.0),
        plan(ties_allowed="false"),
        ratings.assign(quality="high"),
    ):
        with pytest.raises(SchemaError, match="holds text"):
            simulate(wrong, judge)
    for quality in ("x", -1.0, None, {"a": "high", "b": 1.0}):
        with pytest.raises(DesignError, match="quality="):
            simulate(ratings, judge, quality=quality)
    for seed in (-1, "x", 1.5, True):
        with pytest.raises(DesignError, match="seed="):
            simulate(plan(), judge, seed)
        with pytest.raises(DesignError, match="seed="):
            answer_probabilities(plan(), judge, seed=seed)
    with pytest.raises(DesignError, match=r"asks judge 1, which .* are text"):
        simulate(plan(judge=1), {"1": {}})
    with pytest.raises(DesignError, match="Give properties"):
        simulate(plan(), {"g": None})
