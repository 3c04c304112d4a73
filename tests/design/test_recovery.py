"""Every measure recovers what was planted: estimates lie within Monte-Carlo error of the truth of a simulated judge.

The truth is reckoned here from the probabilities of each answer, never by the code of a measure. Given what was drawn for
the items, calls are independent: that is the Monte-Carlo error, and the bound is four of them.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, ndtri
from scipy.stats import rankdata

from judgestats import (
    answer_rates,
    blinding_effect,
    consensus_deviation,
    consistency,
    criterion_shift,
    d_prime,
    dark_current,
    delta0,
    detection_threshold,
    filler_preference,
    gold_agreement,
    position_bias,
    rank_correlation,
    score_matrix,
    target_sensitivity,
)
from judgestats.design import Judge, answer_probabilities, simulate

SEED = 11
BOUND = 4.0
#: Nobody answers at random here: each property moves each measure away from what a bland judge shows.
JUDGES = {
    "g": Judge(
        "g",
        dark_current=0.22,
        slot_bias=0.5,
        sensitivity=0.8,
        tie_criterion=0.7,
        stable_preference=0.9,
        item_difficulty=0.4,
        target_preference=-0.6,
        lapse=0.06,
        invalid=0.04,
        under={"prompt": {"strict": {"tie_criterion": 1.6, "dark_current": 0.05}}},
    ),
    "h": Judge("h", dark_current=0.9, slot_bias=-0.3, sensitivity=1.5, tie_criterion=0.2, target_preference=1.0),
}


def pairs(name: str, items: int, **columns: object) -> pd.DataFrame:
    """Both orders of some pairs of a stimulus."""
    one = pd.DataFrame({"item": [f"{name}{i}" for i in range(items)], "task": [f"t{i % 40}" for i in range(items)]})
    one = one.assign(first="u", second="v", **columns)
    return pd.concat([one, one.assign(first="v", second="u")], ignore_index=True)


def datasheet_plan() -> pd.DataFrame:
    arms = [
        pairs("empty", 2000, stimulus="vacuum", vacuum_kind="empty"),
        pairs("same", 4000, stimulus="same_subset"),
        pairs("filler", 3000, stimulus="filler", target="v"),
        *(pairs(f"step{d}.", 2500, stimulus="ladder", delta=float(d), better="u") for d in range(1, 6)),
    ]
    plan = pd.concat(arms, ignore_index=True)
    plan["gold"] = plan["better"]
    return pd.concat([plan.assign(prompt="base"), plan.assign(prompt="strict")], ignore_index=True)


@cache
def simulated() -> pd.DataFrame:
    return simulate(datasheet_plan(), JUDGES, seed=SEED)


@cache
def chances() -> pd.DataFrame:
    return answer_probabilities(datasheet_plan(), JUDGES, seed=SEED)


def part(table: pd.DataFrame, **values: object) -> pd.DataFrame:
    keep = np.ones(len(table), dtype=bool)
    for column, value in values.items():
        keep &= (table[column] == value).to_numpy()
    return table[keep]


def both(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Probabilities of the slots in the two orders of each pair: u first, v first."""
    wide = table.pivot(index="item", columns="first", values=["p_first", "p_second", "p_tie"])
    return {f"{c[2]}{o}": wide[c, o].to_numpy() for c in ("p_first", "p_second", "p_tie") for o in "uv"}


def assert_near(result: pd.DataFrame, term: str, hit: np.ndarray, trial: np.ndarray, **keys: object) -> None:
    """The estimate is the expected share of hits among trials; hits and trials are probabilities of independent units."""
    row = part(result, term=term, **keys)
    assert len(row) == 1, term
    hit, trial = np.asarray(hit, dtype=float), np.asarray(trial, dtype=float)
    truth = hit.sum() / trial.sum()
    error = np.sqrt((hit * (1 - truth) ** 2 + (trial - hit) * truth**2).sum()) / trial.sum()
    assert 0 < error < 0.02, term
    assert abs(row["estimate"].item() - truth) < BOUND * error, (term, row["estimate"].item(), truth, error)
    assert row["n"].item() == pytest.approx(trial.sum(), abs=BOUND * np.sqrt((trial * (1 - trial)).sum()) + 1e-6)


def assert_value(row: pd.DataFrame, truth: float, error: float) -> None:
    assert len(row) == 1
    assert abs(row["estimate"].item() - truth) < BOUND * error, (row["estimate"].item(), truth, error)


@pytest.mark.parametrize("judge", ["g", "h"])
class TestPreferences:
    def test_dark_current(self, judge):
        result = part(dark_current(part(simulated(), prompt="base")), judge=judge, vacuum_kind="all")
        planted = JUDGES[judge].dark_current
        valid = np.full(4000, 1 - JUDGES[judge].invalid)
        assert_near(result, "dark_current", valid * planted, valid)

    def test_delta0(self, judge):
        result = part(delta0(simulated(), by="prompt"), judge=judge)
        for prompt in ("base", "strict"):
            p = both(part(chances(), judge=judge, stimulus="same_subset", prompt=prompt))
            valid = (p["fu"] + p["su"] + p["tu"]) * (p["fv"] + p["sv"] + p["tv"])
            terms = {
                "stable_cross_sensitivity": p["fu"] * p["sv"] + p["su"] * p["fv"],
                "positional_false_preference": p["fu"] * p["fv"] + p["su"] * p["sv"],
                "no_preference": p["tu"] * p["tv"],
                "one_sided_commit": p["tu"] * (p["fv"] + p["sv"]) + p["tv"] * (p["fu"] + p["su"]),
            }
            assert sum(terms.values()) == pytest.approx(valid)
            for term, hit in terms.items():
                assert_near(result, term, hit, valid, prompt=prompt)
            raw = (
                terms["stable_cross_sensitivity"] + terms["positional_false_preference"] + terms["one_sided_commit"] / 2
            )
            row = part(result, term="raw_false_preference", prompt=prompt)
            assert_value(row, raw.sum() / valid.sum(), np.sqrt(0.25 / valid.sum()))
            assert row["n_dropped"].item() == pytest.approx(
                (1 - valid).sum(), abs=BOUND * np.sqrt((1 - valid).sum()) + 1e-6
            )

    def test_consistency_over_orders(self, judge):
        result = consistency(part(simulated(), stimulus="ladder", prompt="base"), by="delta")
        for delta in (1.0, 4.0):
            p = both(part(chances(), judge=judge, stimulus="ladder", prompt="base", delta=delta))
            valid = (p["fu"] + p["su"] + p["tu"]) * (p["fv"] + p["sv"] + p["tv"])
            at = {"judge": judge, "delta": delta}
            tied = p["tu"] * p["tv"]
            assert_near(result, "consistency", p["fu"] * p["sv"] + p["su"] * p["fv"] + tied, valid, **at)
            assert_near(result, "first_twice", p["fu"] * p["fv"], valid, **at)
            assert_near(result, "second_twice", p["su"] * p["sv"], valid, **at)
            assert_near(result, "both_tie", tied, valid, **at)

    def test_consistency_over_repeats(self, judge):
        plan = pairs("i", 3000, better="u", delta=1.0)
        result = consistency(simulate(plan, JUDGES, seed=SEED, replicates=2), over="replicate")
        p = part(answer_probabilities(plan, JUDGES, seed=SEED), judge=judge)
        same = p["p_first"] ** 2 + p["p_second"] ** 2 + p["p_tie"] ** 2
        assert_near(result, "consistency", same, (1 - p["p_invalid"]) ** 2, judge=judge)

    def test_position_bias(self, judge):
        result = position_bias(part(simulated(), stimulus="same_subset", prompt="base"))
        p = part(chances(), judge=judge, stimulus="same_subset", prompt="base")
        ones = np.ones(len(p))
        for term in ("first", "second", "tie", "invalid"):
            if p[f"p_{term}"].sum():
                assert_near(result, term, p[f"p_{term}"], ones, judge=judge)
        assert_near(result, "first_share_nontie", p["p_first"], p["p_first"] + p["p_second"], judge=judge)
        valid = 1 - p["p_invalid"]
        lean = (p["p_first"] - p["p_second"]).sum() / valid.sum()
        assert np.sign(lean) == np.sign(JUDGES[judge].slot_bias)
        assert_value(part(result, judge=judge, term="position_bias"), lean, np.sqrt(1 / valid.sum()))

    def test_answer_rates(self, judge):
        result = answer_rates(simulated(), by="stimulus")
        for stimulus in ("vacuum", "filler"):
            p = part(chances(), judge=judge, stimulus=stimulus)
            assert_near(result, "tie", p["p_tie"], np.ones(len(p)), judge=judge, stimulus=stimulus)

    def test_gold_agreement(self, judge):
        ladder = part(simulated(), stimulus="ladder", prompt="base")
        p = part(chances(), judge=judge, stimulus="ladder", prompt="base")
        right = np.where(p["first"] == "u", p["p_first"], p["p_second"])
        tie, invalid = p["p_tie"].to_numpy(), p["p_invalid"].to_numpy()
        assert_near(gold_agreement(ladder), "accuracy", right, 1 - invalid, judge=judge)
        assert_near(gold_agreement(ladder, ties="drop"), "accuracy", right, 1 - invalid - tie, judge=judge)
        row = part(gold_agreement(ladder, ties="half", invalid="wrong"), judge=judge, term="accuracy")
        assert_value(row, (right + tie / 2).mean(), np.sqrt(0.25 / len(p)))

    def test_target_sensitivity(self, judge):
        result = target_sensitivity(part(simulated(), prompt="base"))
        for delta in range(1, 6):
            p = part(chances(), judge=judge, stimulus="ladder", prompt="base", delta=float(delta))
            right = np.where(p["first"] == "u", p["p_first"], p["p_second"])
            wrong = np.where(p["first"] == "u", p["p_second"], p["p_first"])
            valid, at = 1 - p["p_invalid"].to_numpy(), {"judge": judge, "delta": float(delta)}
            assert_near(result, "target_sensitivity", right, valid, **at)
            assert_near(result, "non_tie_accuracy", right, right + wrong, **at)
            assert_near(result, "wrong_choice_rate", wrong, valid, **at)
            assert_near(result, "miss_by_tie", p["p_tie"], valid, **at)

    @pytest.mark.parametrize("level", [0.6, 0.75])
    def test_detection_threshold(self, judge, level):
        ladder = part(simulated(), stimulus="ladder", prompt="base")
        row = part(detection_threshold(ladder, performance=level, n_resamples=400), judge=judge)
        curve = []
        for delta in range(1, 6):
            p = part(chances(), judge=judge, stimulus="ladder", prompt="base", delta=float(delta))
            right = np.where(p["first"] == "u", p["p_first"], p["p_second"])
            curve.append(right.sum() / (1 - p["p_invalid"]).sum())
        if curve[0] >= level:
            assert row["estimate"].item() == 1
            assert "left-censored" in row["flag"].item()
            return
        truth = np.interp(level, curve, np.arange(1.0, 6.0))
        assert 1 < truth < 5
        slope = np.diff(curve)[int(truth) - 1]
        assert_value(row, truth, np.sqrt(0.25 / 5000) / slope)
        assert row["conf_low"].item() < truth < row["conf_high"].item()

    def test_d_prime(self, judge):
        result = part(d_prime(part(simulated(), prompt="base")), judge=judge)
        for delta in (1.0, 3.0):
            p = part(chances(), judge=judge, stimulus="ladder", prompt="base", delta=delta)
            toward = (p["p_first"] + p["p_tie"] / 2) / (1 - p["p_invalid"])
            hits, alarms = (toward[p["first"] == c].mean() for c in "uv")
            truth = {"d_prime": ndtri(hits) - ndtri(alarms), "slot_criterion": -(ndtri(hits) + ndtri(alarms)) / 2}
            for term, value in truth.items():
                row = part(result, delta=delta, term=term)
                assert_value(row, value, row["std_error"].item())
                assert row["std_error"].item() < 0.12

    def test_filler_preference(self, judge):
        row = part(filler_preference(part(simulated(), prompt="base")), judge=judge)
        p = part(chances(), judge=judge, stimulus="filler", prompt="base")
        filler = np.where(p["first"] == "v", p["p_first"], p["p_second"])
        clean = np.where(p["first"] == "v", p["p_second"], p["p_first"])
        valid = (1 - p["p_invalid"]).sum()
        truth = (filler - clean).sum() / valid
        assert np.sign(truth) == np.sign(JUDGES[judge].target_preference)
        assert_value(row, truth, np.sqrt((filler + clean).sum()) / valid)


class TestPrompts:
    def test_criterion_shift(self):
        result = part(criterion_shift(simulated(), "base", "strict"), judge="g")
        table = part(chances(), judge="g")

        def share(prompt, hit, **where):
            p = part(table, prompt=prompt, **where)
            valid = 1 - p["p_invalid"]
            value = hit(p).sum() / valid.sum()
            return value, value * (1 - value) / valid.sum()

        def right(p):
            return np.where(p["first"] == "u", p["p_first"], p["p_second"])

        def sided(p):
            return p["p_first"] + p["p_second"]

        shared = (1 - JUDGES["g"].invalid) ** 2  # the difference is paired: on calls valid under both prompts
        saved = None
        for where, term, hit in [
            ({"stimulus": "same_subset"}, "false_preference_saved", sided),
            ({"stimulus": "vacuum"}, "false_preference_saved", sided),
            ({"stimulus": "ladder", "delta": 1.0}, "target_signal_lost", right),
            ({"stimulus": "ladder", "delta": 3.0}, "target_signal_lost", right),
        ]:
            (base, v0), (strict, v1) = (share(p, hit, **where) for p in ("base", "strict"))
            assert_value(part(result, term=term, **where), base - strict, np.sqrt((v0 + v1) / shared))
            ties = [share(p, lambda t: t["p_tie"], **where) for p in ("base", "strict")]
            assert_value(part(result, term="criterion_base", **where), ties[0][0], np.sqrt(ties[0][1]))
            shift = part(result, term="criterion_shift", **where)
            assert_value(shift, ties[1][0] - ties[0][0], np.sqrt((ties[0][1] + ties[1][1]) / shared))
            if where["stimulus"] == "same_subset":
                saved = base - strict, np.sqrt((v0 + v1) / shared)
            if term == "target_signal_lost":
                lost, spread = base - strict, np.sqrt((v0 + v1) / shared)
                ratio = saved[0] / lost
                error = ratio * np.hypot(saved[1] / saved[0], spread / lost)
                assert_value(part(result, term="saved_per_lost", **where), ratio, error)

    def test_dark_current_under_a_prompt(self):
        result = part(dark_current(simulated(), by="prompt"), judge="g", vacuum_kind="all", prompt="strict")
        assert_value(result, 0.05, np.sqrt(0.05 * 0.95 / 3800))


SYSTEMS = {"g": -1.6, "h": -0.9, "k": 0.9, "x": 1.5, "y": 0.3, "z": -0.3}
SCORERS = [
    Judge(
        "g",
        leniency=0.8,
        self_preference=1.1,
        interaction=0.6,
        noise=0.8,
        under={"condition": {"anonymized": {"self_preference": 0.3}}},
    ),
    Judge("h", leniency=-0.5, self_preference=-1.2, interaction=0.3, discrimination=0.6),
    Judge("k", leniency=0.1, interaction=0.5, item_difficulty=0.5, invalid=0.1, criterion_effects={"form": 0.7}),
]
ITEMS, RUNS = 1500, 2


def ratings_plan() -> pd.DataFrame:
    levels = {
        "system": list(SYSTEMS),
        "item": [f"i{i}" for i in range(ITEMS)],
        "criterion": ["form", "sense"],
        "condition": ["attributed", "anonymized"],
    }
    return pd.MultiIndex.from_product(levels.values(), names=levels).to_frame(index=False)


@cache
def ratings() -> pd.DataFrame:
    return simulate(ratings_plan(), SCORERS, seed=SEED, replicates=RUNS, quality=SYSTEMS)


@cache
def true_means() -> dict[str, pd.DataFrame]:
    """Judge x system: expected mean score over criteria and items, per condition, as the judges are (rounding, limits)."""
    p = answer_probabilities(ratings_plan(), SCORERS, seed=SEED, quality=SYSTEMS)
    return {str(c): t.pivot_table(index="judge", columns="system", values="mean") for c, t in p.groupby("condition")}


#: Bound on the Monte-Carlo error of a mean: sd of a score below 1.5, two criteria, two runs, one in ten missing.
MEAN_ERROR = 1.5 / np.sqrt(ITEMS * 2 * RUNS * 0.85)


def deviations(condition: str) -> pd.DataFrame:
    means = true_means()[condition]
    return means - (means.sum() - means) / (len(means) - 1)


class TestScores:
    def test_score_matrix(self):
        result = score_matrix(ratings(), by="condition")
        for condition, means in true_means().items():
            for judge, row in means.iterrows():
                for system, truth in row.items():
                    assert_value(part(result, condition=condition, judge=judge, system=system), truth, MEAN_ERROR)

    @pytest.mark.slow
    def test_consensus_deviation(self):
        result = consensus_deviation(part(ratings(), condition="attributed"))
        truth = deviations("attributed")
        error = MEAN_ERROR * np.sqrt(1.5)
        for judge, row in truth.iterrows():
            at = {"judge": judge, "system": ""}
            for system, value in row.items():
                assert_value(part(result, judge=judge, system=system, term="deviation"), value, error)
            others = row.drop(judge).mean()
            assert_value(part(result, term="mean_own", **at), row[judge], error)
            assert_value(part(result, term="mean_others", **at), others, error)
            assert_value(part(result, term="self_excess", **at), row[judge] - others, 1.5 * error)

    def test_self_excess_is_what_was_planted(self):
        """Without interaction and limits the planted shift itself comes back, less what the others add elsewhere."""
        free = {"scale": None, "step": None, "noise": 0.5}
        plan = ratings_plan()
        judges = {
            "g": {"self_preference": 0.9, "leniency": 2.0, **free},
            "h": dict(free),
            "k": {"leniency": -1.0, **free},
        }
        calls = simulate(plan, judges, seed=SEED, quality=SYSTEMS)
        result = consensus_deviation(part(calls, condition="attributed"))
        row = part(result, judge="g", term="self_excess")
        assert_value(row, 0.9, 0.5 * np.sqrt(1.5 / (ITEMS * 2)) * 1.2)
        # g's preference for itself lowers the others' deviation on g, which is one of five systems that are not theirs
        row = part(result, judge="h", term="mean_others")
        assert_value(row, (0 - (2.0 - 1.0) / 2) - 0.9 / 2 / 5, 0.5 * np.sqrt(1.5 / (ITEMS * 2 * 5)))

    def test_attenuation(self):
        result = blinding_effect(ratings())
        error = MEAN_ERROR * np.sqrt(1.5)
        base, against = deviations("attributed"), deviations("anonymized")
        for judge in ("g", "h", "k"):
            a, b = base.loc[judge, judge], against.loc[judge, judge]
            spread = 100 * np.hypot(error / a, b * error / a**2)
            assert_value(part(result, judge=judge, term="deviation_base"), a, error)
            assert_value(part(result, judge=judge, term="deviation_against"), b, error)
            assert_value(part(result, judge=judge, term="attenuation"), 100 * (1 - abs(b) / abs(a)), spread)
        assert base.loc["g", "g"] - against.loc["g", "g"] > 0.5

    def test_rank_correlation(self):
        result = rank_correlation(part(ratings(), condition="attributed"))
        means = true_means()["attributed"]
        correlations = []
        for judge, row in means.iterrows():
            others = means.drop(judge).mean()
            for scores in (row, others):  # the true order stands clear of noise, so that it must come back exactly
                assert np.diff(np.sort(scores)).min() > 3 * MEAN_ERROR
            truth = np.corrcoef(rankdata(row), rankdata(others))[0, 1]
            correlations.append(truth)
            found = part(result, judge=judge, term="spearman")
            assert found["estimate"].item() == pytest.approx(truth)
        assert min(correlations) < 0.95

    def test_ranks_against_the_truth(self):
        plan = pd.DataFrame({"system": "s", "item": [f"i{i}" for i in range(4000)]})
        judge = Judge("g", item_difficulty=1.5, noise=2.0, scale=None, step=None)
        calls = simulate(plan, judge, seed=SEED)
        value = answer_probabilities(plan, judge, seed=SEED)["mean"]
        truth = pd.DataFrame({"item": plan["item"], "value": value})
        row = part(rank_correlation(calls, truth=truth), term="spearman")
        pearson = 1.5 / np.hypot(1.5, 2.0)
        assert_value(row, 6 / np.pi * np.arcsin(pearson / 2), 1.1 / np.sqrt(4000))


def test_the_truth_is_not_trivial():
    """Planted judges differ from a coin and from each other, or the tests above would prove little."""
    p = part(chances(), stimulus="same_subset", prompt="base").groupby("judge")[["p_first", "p_tie"]].mean()
    assert np.abs(p.loc["g"] - p.loc["h"]).min() > 0.05
    assert part(chances(), judge="h", stimulus="same_subset")["p_first"].iloc[0] == pytest.approx(expit(-0.3 - 0.2))
