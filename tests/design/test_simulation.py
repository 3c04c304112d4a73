"""Simulated judges answer as planted, the same whatever the order of rows and judges; bad plans are refused."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit, ndtr

from judgestats.design import Judge, answer_probabilities, simulate
from judgestats.design.judges import named_judges
from judgestats.errors import DesignError, SchemaError
from judgestats.schema import check
from refusals import refused


def both_orders(items: int = 30, **columns: object) -> pd.DataFrame:
    one = pd.DataFrame({"task": [f"t{i % 6}" for i in range(items)], "item": [f"i{i}" for i in range(items)]})
    one = one.assign(first="a", second="b", **columns)
    return pd.concat([one, one.assign(first="b", second="a")], ignore_index=True)


def ratings_plan() -> pd.DataFrame:
    keys = pd.MultiIndex.from_product([list("uvwx"), [f"i{i}" for i in range(25)], ["c1", "c2"]])
    return keys.set_names(["system", "item", "criterion"]).to_frame(index=False)


RICH = Judge(
    "g",
    slot_bias=0.4,
    tie_criterion=0.6,
    stable_preference=0.8,
    item_difficulty=0.5,
    task_difficulty=0.3,
    lapse=0.1,
    invalid=0.05,
)

SCORER = Judge(
    "g",
    leniency=0.7,
    interaction=0.4,
    item_interaction=0.3,
    stable_preference=0.5,
    item_difficulty=0.8,
    invalid=0.1,
    criterion_effects={"c2": -0.5},
)


class TestFrame:
    def test_preferences_are_canonical(self):
        plan = both_orders(better="a", delta=1.0, stimulus="ladder")
        found = check(simulate(plan, [RICH, Judge("h")], replicates=3))
        assert not (found["level"] == "fault").any()
        assert found.loc[found["what"] == "rows in", "n"].item() == 60 * 2 * 3

    def test_ratings_are_canonical(self):
        calls = simulate(ratings_plan(), [SCORER, Judge("h")], replicates=2)
        found = check(calls, scale=(1, 10))
        assert not (found["level"] == "fault").any()
        scores = calls["score"].dropna()
        assert (scores == scores.round()).all()
        assert scores.between(1, 10).all()
        assert 0 < calls["score"].isna().sum() == calls.loc[calls["judge"] == "g", "score"].isna().sum()

    def test_any_engine(self):
        plan = both_orders(better="a")
        pd.testing.assert_frame_equal(simulate(pl.from_pandas(plan), RICH), simulate(plan, RICH))

    def test_judge_column_names_who_answers(self):
        plan = both_orders(better="a")
        every = simulate(plan, [RICH, Judge("h")])
        asked = every.drop(columns="choice").iloc[::-1]
        again = simulate(asked, [RICH, Judge("h")])
        assert list(again["judge"]) == list(asked["judge"])
        assert list(again["choice"]) == list(every["choice"])[::-1]


class TestDeterminism:
    @pytest.mark.parametrize(
        ("plan", "judge"), [(both_orders(better="a"), RICH), (ratings_plan(), SCORER)], ids=["preferences", "ratings"]
    )
    def test_order_of_rows_and_judges_does_not_matter(self, plan, judge):
        keys = ["judge", *plan.columns]
        answer = "choice" if "first" in plan else "score"
        reference = simulate(plan, [judge, Judge("h", noise=2.0)], seed=3)
        shuffled = simulate(plan.sample(frac=1, random_state=1), [Judge("h", noise=2.0), judge], seed=3)
        one, two = (t.sort_values(keys, ignore_index=True) for t in (reference, shuffled))
        pd.testing.assert_frame_equal(one, two)
        alone = simulate(plan, judge, seed=3)
        assert alone[answer].equals(reference.loc[reference["judge"] == "g", answer].reset_index(drop=True))

    def test_seed_changes_the_answers(self):
        plan = both_orders(better="a")
        assert not simulate(plan, RICH, seed=1)["choice"].equals(simulate(plan, RICH, seed=2)["choice"])
        drawn = [simulate(plan, RICH, seed=np.random.default_rng(5))["choice"] for _ in range(2)]
        assert drawn[0].equals(drawn[1])

    def test_judges_draw_apart(self):
        calls = simulate(both_orders(200, better="a"), [Judge("g"), Judge("h")])
        g, h = (calls.loc[calls["judge"] == j, "choice"].to_numpy() for j in "gh")
        assert 0.3 < (g == h).mean() < 0.8


class TestProbabilities:
    @pytest.mark.parametrize("seed", [0, 1])
    def test_answers_follow_the_probabilities(self, seed):
        plan = both_orders(20, better="a", delta=0.5)
        n = 3000
        calls = simulate(plan, RICH, seed=seed, replicates=n)
        truth = answer_probabilities(plan, RICH, seed=seed)
        for choice in ("first", "second", "tie", "invalid"):
            share = (calls["choice"] == choice).groupby([calls["item"], calls["first"]]).mean()
            p = truth.set_index(["item", "first"])[f"p_{choice}"].loc[share.index]
            z = (share - p) / np.sqrt(p * (1 - p) / n)
            assert np.abs(z).max() < 4.5, choice
            assert 0.5 < (z**2).mean() < 1.8, choice

    @pytest.mark.parametrize(("link", "cdf"), [("logit", expit), ("probit", ndtr)])
    def test_closed_form(self, link, cdf):
        g = Judge("g", link=link, sensitivity=0.7, slot_bias=0.3, tie_criterion=0.5, noise=2.0, lapse=0.2, invalid=0.1)
        row = answer_probabilities(both_orders(1, better="b", delta=3.0), g).iloc[0]
        signal = -0.7 * 3 + 0.3  # a is first, b is better
        assert row["p_first"] == pytest.approx(0.9 * (0.8 * cdf((signal - 0.5) / 2) + 0.1), abs=1e-12)
        assert row["p_second"] == pytest.approx(0.9 * (0.8 * cdf((-signal - 0.5) / 2) + 0.1), abs=1e-12)
        assert row["p_invalid"] == pytest.approx(0.1, abs=1e-12)
        assert row[[f"p_{c}" for c in ("first", "second", "tie", "abstain", "invalid")]].sum() == pytest.approx(1)

    @pytest.mark.parametrize(("link", "noise"), [("logit", 1.0), ("probit", 1.0), ("logit", 0.05)])
    def test_integral_is_the_mean_over_what_is_drawn(self, link, noise):
        g = Judge("g", link=link, noise=noise, stable_preference=1.2, item_difficulty=0.9, tie_criterion=0.4)
        plan = both_orders(20_000, better="a")
        given = answer_probabilities(plan, g, seed=1)
        averaged = answer_probabilities(plan, g)
        for column in ("p_first", "p_tie"):
            for first in "ab":
                drawn = given.loc[given["first"] == first, column]
                value = averaged.loc[averaged["first"] == first, column]
                assert value.nunique() == 1
                assert abs(drawn.mean() - value.iloc[0]) < 4 * drawn.std() / np.sqrt(20_000)

    def test_shifts_of_content_turn_with_the_order(self):
        plan = both_orders(
            1, length_first=200.0, length_second=100.0, format_first="markdown", format_second="plain"
        ).assign(label_first="LLM", label_second="TradML", family_first="G", family_second="C", target="a")
        swap = {"length": "length", "format": "format", "label": "label", "family": "family"}
        for name in swap:
            plan.loc[1, [f"{name}_first", f"{name}_second"]] = plan.loc[1, [f"{name}_second", f"{name}_first"]].tolist()
        planted = {
            "length_preference": (0.5, 0.5 * np.log(2)),
            "style": ({"format": {"markdown": 0.4}}, 0.4),
            "label_susceptibility": (0.8, 0.8),
            "self_preference": (0.6, 0.6),
            "target_preference": (0.3, 0.3),
        }
        for name, (value, shift) in planted.items():
            p = answer_probabilities(plan, {"g": {name: value, "family": "G"}})
            assert p["p_first"].tolist() == pytest.approx([expit(shift), expit(-shift)]), name

    def test_self_preference_by_name(self):
        p = answer_probabilities(both_orders(1), [Judge("b", self_preference=1.0)])
        assert p["p_first"].tolist() == pytest.approx([expit(-1), expit(1)])

    def test_quality_of_candidates(self):
        p = answer_probabilities(both_orders(1), {"g": {"sensitivity": 2.0}}, quality={"a": 1.5, "b": 1.0})
        assert p["p_first"].tolist() == pytest.approx([expit(1.0), expit(-1.0)])

    def test_forced_choice_has_no_ties(self):
        plan = both_orders(5, ties_allowed=False, stimulus="vacuum", vacuum_kind="empty")
        p = answer_probabilities(plan, {"g": {"tie_criterion": 1.0, "dark_current": 0.1}})
        assert (p["p_tie"] == 0).all()
        assert p["p_first"].tolist() == pytest.approx([0.5] * 10)

    def test_vacuum_has_no_content(self):
        g = Judge("g", stable_preference=5.0, item_difficulty=5.0, dark_current=0.3, slot_bias=1.0)
        p = answer_probabilities(both_orders(5, stimulus="vacuum"), g, seed=4)
        assert p["p_first"].tolist() == pytest.approx([0.3 * expit(1)] * 10)
        assert p["p_tie"].tolist() == pytest.approx([0.7] * 10)

    def test_exact_probabilities(self):
        plan = pd.concat([both_orders(2, stimulus="same_subset"), both_orders(2, stimulus="ladder", better="b")])
        g = Judge(
            "g",
            choice_probabilities={
                "ladder": {"correct": 0.6, "wrong": 0.1, "tie": 0.3},
                "all": {"first": 0.2, "abstain": 0.5, "invalid": 0.3},
            },
        )
        p = answer_probabilities(plan, g)
        assert p["p_first"].tolist() == pytest.approx([0.2] * 4 + [0.1] * 2 + [0.6] * 2)
        assert p["p_second"].tolist() == pytest.approx([0.0] * 4 + [0.6] * 2 + [0.1] * 2)
        assert p["p_abstain"].tolist() == pytest.approx([0.5] * 4 + [0.0] * 4)

    def test_properties_under_a_condition(self):
        plan = pd.concat([both_orders(2, prompt="base"), both_orders(2, prompt="strict")])
        g = Judge("g", tie_criterion=0.5, under={"prompt": {"strict": {"tie_criterion": 2.0}}})
        p = answer_probabilities(plan, g)
        assert p.groupby("prompt")["p_tie"].first().tolist() == pytest.approx([2 * expit(0.5) - 1, 2 * expit(2.0) - 1])

    def test_noiseless_judge(self):
        calls = simulate(both_orders(5, better="b"), Judge("g", noise=0.0), replicates=2)
        assert (calls["choice"] == np.where(calls["first"] == "b", "first", "second")).all()


class TestScores:
    @pytest.mark.parametrize(
        "scale",
        [
            {"scale": (1, 10), "step": 1.0},
            {"scale": (1, 5), "step": 0.5, "ceiling": 4.0},
            {"scale": (0, 3), "step": None},
            {"scale": None, "step": 1.0},
            {"scale": None, "step": None},
            {"scale": (1, 10), "step": 4.0},
        ],
        ids=str,
    )
    def test_scores_follow_what_is_expected(self, scale):
        plan = ratings_plan()
        judge = {"g": {"noise": 1.3, "leniency": 0.8, "item_difficulty": 0.6, "invalid": 0.1, **scale}}
        n = 400
        calls = simulate(plan, judge, seed=2, replicates=n)
        truth = answer_probabilities(plan, judge, seed=2).set_index(["system", "item", "criterion"])
        grouped = calls.groupby(["system", "item", "criterion"])["score"]
        mean, there = grouped.mean(), grouped.count()
        z = (mean - truth["mean"]) / (truth["sd"] / np.sqrt(there))
        assert np.abs(z).max() < 4.5
        assert 0.7 < (z**2).mean() < 1.35
        ratio = grouped.var() / truth["sd"] ** 2
        assert abs(ratio.mean() - 1) < 0.03
        assert abs(there.mean() / n - 0.9) < 0.01

    def test_expected_over_what_is_drawn(self):
        plan = pd.DataFrame({"system": [f"s{i}" for i in range(20_000)], "item": "1"})
        judge = Judge("g", interaction=0.8, noise=0.5, discrimination=1.5)
        averaged = answer_probabilities(plan, judge)
        assert averaged["mean"].nunique() == 1
        scores = simulate(plan, judge)["score"]
        assert abs(scores.mean() - averaged["mean"].iloc[0]) < 4 * scores.std() / np.sqrt(len(scores))
        assert scores.std() == pytest.approx(averaged["sd"].iloc[0], rel=0.02)

    def test_quality_and_own_system(self):
        plan = pd.DataFrame({"system": ["g", "h"], "item": "1"})
        judges = {"g": {"self_preference": 2.0, "scale": None, "step": None, "discrimination": 0.5}}
        p = answer_probabilities(plan, judges, quality={"g": 3.0, "h": 4.0})
        assert p["mean"].tolist() == pytest.approx([0.5 * 3 + 2, 0.5 * 4])
        with_column = answer_probabilities(plan.assign(quality=[3.0, 4.0], family=["x", "g"]), judges)
        assert with_column["mean"].tolist() == pytest.approx([1.5, 4.0])

    def test_shared_and_own_effects(self):
        plan = pd.DataFrame({"system": "s", "item": [f"i{i}" for i in range(4000)]})
        for name, shared in [("item_difficulty", True), ("item_interaction", False)]:
            calls = simulate(plan, {j: {name: 3.0, "noise": 0.0, "scale": None, "step": None} for j in "gh"})
            g, h = (calls.loc[calls["judge"] == j, "score"].to_numpy() for j in "gh")
            assert abs(np.corrcoef(g, h)[0, 1] - shared) < 0.07
            assert g.std() == pytest.approx(3.0, rel=0.05)


class TestRefusals:
    @pytest.mark.parametrize(
        ("judges", "message"),
        [
            ({"g": {"slot_bais": 1.0}}, "Did you mean 'slot_bias'"),
            ([Judge("g"), Judge("g")], "Two judges are called 'g'"),
            ([], "judges= is empty"),
            (["g"], "Give Judge"),
        ],
    )
    def test_judges(self, judges, message):
        with pytest.raises(DesignError, match=message):
            simulate(both_orders(2), judges)

    @pytest.mark.parametrize(
        ("properties", "message"),
        [
            ({"invalid": 1.5}, "invalid=1.5 of judge 'g' is not possible. Allowed: 0 to 1"),
            ({"noise": -1.0}, "Allowed: 0 or more"),
            ({"slot_bias": "left"}, "Allowed: a number"),
            ({"link": "probti"}, "Did you mean 'probit'"),
            ({"scale": (5, 1)}, "is empty"),
            ({"step": 0.0}, "above 0"),
            ({"ceiling": 11}, "off its scale"),
            ({"choice_probabilities": {"all": {"first": 0.4}}}, "sums to 0.4"),
            ({"choice_probabilities": {"all": {"frist": 1.0}}}, "Did you mean 'first'"),
            ({"under": {"prompt": {"strict": {"lapze": 0.1}}}}, "Did you mean 'lapse'"),
        ],
    )
    def test_properties(self, properties, message):
        with pytest.raises(DesignError, match=message):
            Judge("g", **properties)

    def test_plans_that_cannot_be_simulated(self):
        refused(
            DesignError,
            (lambda: simulate(both_orders(2, choice="tie"), Judge("g")), "has answers already: 'choice'"),
            (lambda: simulate(ratings_plan().assign(score=1.0), Judge("g")), "'score'"),
            (lambda: simulate(pd.DataFrame({"item": ["1"]}), Judge("g")), SchemaError, "This is not a plan"),
            (lambda: simulate(pd.concat([both_orders(2)] * 2), Judge("g")), SchemaError, "more than once"),
            (lambda: simulate(both_orders(2, better="c"), Judge("g")), SchemaError, "neither candidate"),
            (lambda: simulate(both_orders(2, n=2), Judge("g")), "counts rows"),
            (lambda: simulate(both_orders(2, replicate=0), Judge("g"), replicates=2), "its own repeats"),
            (lambda: simulate(both_orders(2), Judge("g"), replicates=0), "replicates=0"),
            (
                lambda: simulate(both_orders(2, judge="gpt"), Judge("gpt4")),
                r"asks judge .gpt., which is not in judges=\. Did you mean .gpt4.",
            ),
            (lambda: simulate(both_orders(2, judge="g"), [Judge("g"), Judge("h")]), "which the plan never asks"),
            (
                lambda: simulate(both_orders(2), Judge("g", choice_probabilities={"all": {"correct": 1.0}})),
                "have no better, or gold, candidate",
            ),
            (lambda: simulate(both_orders(2), Judge("g"), quality={"a": 1.0}), "quality= does not have 'b'"),
        )


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
    for seed in (-1, "x", 1.5, True):
        refused(
            DesignError,
            (partial(simulate, plan(), judge, seed), "seed="),
            (partial(answer_probabilities, plan(), judge, seed=seed), "seed="),
        )
    refused(
        DesignError,
        (lambda: simulate(plan(judge=1), {"1": {}}), r"asks judge 1, which .* are text"),
        (lambda: simulate(plan(), {"g": None}), "Give properties"),
        (lambda: simulate(plan(delta="big"), judge), SchemaError, "holds text"),
        (lambda: simulate(plan(length_first="x", length_second=1.0), judge), SchemaError, "holds text"),
        (lambda: simulate(plan(ties_allowed="false"), judge), SchemaError, "holds text"),
        (lambda: simulate(ratings.assign(quality="high"), judge), SchemaError, "holds text"),
        (lambda: simulate(ratings, judge, quality="x"), "quality="),
        (lambda: simulate(ratings, judge, quality=-1.0), "quality="),
        (lambda: simulate(ratings, judge, quality=None), "quality="),
        (lambda: simulate(ratings, judge, quality={"a": "high", "b": 1.0}), "quality="),
    )


def test_judges_go_by_their_names_in_order():
    assert list(named_judges({"h": {"leniency": 1.0}, "g": {}})) == ["g", "h"]
