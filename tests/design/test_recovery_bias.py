"""Leanings, strategies and cues come back as planted; the truth is reckoned from the probabilities of each answer."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from judgestats import anchoring, best_of_accuracy, bias_score, compare_strategies, preference_rate, revision
from judgestats.design import Judge, answer_probabilities, simulate

SEED = 5
BOUND = 4.0
ITEMS = 4000
JUDGES = {
    "g": Judge(
        "g",
        family="G",
        slot_bias=0.3,
        tie_criterion=0.5,
        stable_preference=0.5,
        length_preference=0.9,
        self_preference=0.7,
        target_preference=-0.4,
        style={"format": {"markdown": 0.6}},
        invalid=0.03,
    ),
    "h": Judge("h", family="C", tie_criterion=0.3, length_preference=-0.5, target_preference=0.8),
}


def part(table: pd.DataFrame, **values: object) -> pd.DataFrame:
    keep = np.ones(len(table), dtype=bool)
    for column, value in values.items():
        keep &= (table[column] == value).to_numpy()
    return table[keep]


def assert_value(row: pd.DataFrame, truth: float, error: float) -> None:
    assert len(row) == 1
    assert 0 < error < 0.03
    assert abs(row["estimate"].item() - truth) < BOUND * error, (row["estimate"].item(), truth, error)


def turned(p: pd.DataFrame, side: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probability of the candidate on a side (1 first, -1 second), and of the other."""
    first, second = p["p_first"].to_numpy(), p["p_second"].to_numpy()
    return np.where(side > 0, first, second), np.where(side > 0, second, first)


def lean_of(p: pd.DataFrame, side: np.ndarray) -> tuple[float, float]:
    """True bias score towards a side, and its Monte-Carlo error; rows without a side are left out."""
    p, side = p[side != 0], side[side != 0]
    target, other = turned(p, side)
    valid = (1 - p["p_invalid"]).sum()
    truth = (target - other).sum() / valid
    return truth, float(np.sqrt((target + other - truth**2).sum()) / valid)


@cache
def plan() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    one = pd.DataFrame({"item": [f"i{i}" for i in range(ITEMS)], "first": "u", "second": "v", "target": "u"})
    for name, values in (
        ("length", [100.0, 200.0, 300.0]),
        ("format", ["plain", "markdown"]),
        ("family", ["G", "C", "X"]),
    ):
        for slot in ("first", "second"):
            one[f"{name}_{slot}"] = rng.choice(values, ITEMS)
    other = one.rename(columns=lambda c: c.replace("first", "#").replace("second", "first").replace("#", "second"))
    return pd.concat([one, other[one.columns]], ignore_index=True)


@cache
def simulated() -> pd.DataFrame:
    return simulate(plan(), JUDGES, seed=SEED)


@cache
def chances() -> pd.DataFrame:
    return answer_probabilities(plan(), JUDGES, seed=SEED)


@pytest.mark.parametrize("judge", ["g", "h"])
class TestLeanings:
    def test_target(self, judge):
        p = part(chances(), judge=judge)
        truth, error = lean_of(p, np.where(p["first"] == "u", 1, -1))
        assert np.sign(truth) == np.sign(JUDGES[judge].target_preference)
        result = part(bias_score(simulated()), judge=judge)
        assert_value(part(result, term="bias"), truth, error)
        assert_value(part(result, term="magnitude"), abs(truth), error)

    def test_slot(self, judge):
        p = part(chances(), judge=judge)
        truth, error = lean_of(p, np.ones(len(p)))
        assert_value(part(bias_score(simulated(), target="first"), judge=judge, term="bias"), truth, error)

    def test_length(self, judge):
        p = part(chances(), judge=judge)
        truth, error = lean_of(p, np.sign(p["length_first"] - p["length_second"]).to_numpy())
        assert np.sign(truth) == np.sign(JUDGES[judge].length_preference)
        assert abs(truth) > 0.1
        row = part(bias_score(simulated(), attribute="length"), judge=judge, term="bias")
        assert_value(row, truth, error)

    def test_format(self, judge):
        p = part(chances(), judge=judge)
        side = (p["format_first"] == "markdown").astype(int) - (p["format_second"] == "markdown").astype(int)
        truth, error = lean_of(p, side.to_numpy())
        assert (truth > 0.1) == (judge == "g")
        result = bias_score(simulated(), attribute="format", value="markdown")
        assert_value(part(result, judge=judge, term="bias"), truth, error)

    def test_family(self, judge):
        p = part(chances(), judge=judge)
        own = JUDGES[judge].family
        side = (p["family_first"] == own).astype(int) - (p["family_second"] == own).astype(int)
        truth, error = lean_of(p, side.to_numpy())
        assert (truth > 0.1) == (judge == "g")
        result = bias_score(simulated(), family={"g": "G", "h": "C"})
        assert_value(part(result, judge=judge, term="bias"), truth, error)

    def test_preference_rate(self, judge):
        p = part(chances(), judge=judge)
        won, lost = turned(p, np.where(p["first"] == "u", 1, -1))
        tie, valid = p["p_tie"].sum(), (1 - p["p_invalid"]).sum()
        result = part(preference_rate(simulated()), judge=judge, candidate="u")
        assert_value(part(result, term="win_rate"), (won.sum() + tie / 2) / valid, 0.5 / np.sqrt(valid))
        assert_value(part(result, term="loss"), lost.mean(), 0.5 / np.sqrt(len(p)))
        dropped = part(preference_rate(simulated(), ties="drop"), judge=judge, candidate="u", term="win_rate")
        sided = won.sum() + lost.sum()
        assert_value(dropped, won.sum() / sided, 0.5 / np.sqrt(sided))


def test_compare_strategies():
    rng = np.random.default_rng(2)
    one = pd.DataFrame({"item": [f"i{i}" for i in range(ITEMS)], "first": "u", "second": "v"})
    one["gold"] = rng.choice(["u", "v"], ITEMS)
    asked = pd.concat([one.assign(strategy=s) for s in ("B0", "S1", "S8")], ignore_index=True)
    better = {"S8": {"sensitivity": 1.6, "slot_bias": 0.0}, "S1": {"tie_criterion": 1.5}}
    judge = Judge("g", slot_bias=0.8, tie_criterion=0.3, item_difficulty=0.7, invalid=0.05, under={"strategy": better})
    result = compare_strategies(simulate(asked, judge, seed=SEED), baseline="B0")
    p = answer_probabilities(asked, judge, seed=SEED)
    right = {s: turned(t, np.where(t["first"] == t["gold"], 1, -1))[0] for s, t in p.groupby("strategy")}
    valid = 0.95  # each call, by itself
    for strategy, sign in (("S1", -1), ("S8", 1)):
        scored = valid**2 * ITEMS
        gained, lost = ((right[x] * (valid - right[y])).sum() for x, y in ((strategy, "B0"), ("B0", strategy)))
        truth = (gained - lost) / scored
        assert np.sign(truth) == sign
        row = part(result, strategy=strategy)
        assert_value(row, truth, np.sqrt(gained + lost) / scored)
        assert abs(row["strategy_only"].item() - gained) < BOUND * np.sqrt(gained)
        assert abs(row["baseline_only"].item() - lost) < BOUND * np.sqrt(lost)
        assert row["p_adjusted"].item() < 0.001


def test_best_of_accuracy():
    asked = pd.MultiIndex.from_product([[f"i{i}" for i in range(6000)], list("abcd")], names=["item", "system"])
    judge = Judge("g", noise=1.5, item_difficulty=2.0, scale=None, step=None)
    scores = simulate(asked.to_frame(index=False), judge, seed=SEED, quality={"a": 2.0, "b": 0.0, "c": 0.0, "d": 0.0})
    x = np.linspace(-8, 8, 4001)
    truth = np.trapezoid(norm.pdf(x) * norm.cdf(x + 2.0 / 1.5) ** 3, x)
    row = part(best_of_accuracy(scores, right="a"), term="accuracy")
    assert_value(row, truth, np.sqrt(truth * (1 - truth) / 6000))


LABELLED = {"truth": ("LLM", "TradML"), "flip": ("TradML", "LLM"), "reveal": ("LLM", "TradML")}


@cache
def probes() -> pd.DataFrame:
    """Items judged once per probe; the two summaries in an order of the item."""
    rng = np.random.default_rng(3)
    turn = rng.random(ITEMS) < 0.5
    base = pd.DataFrame({"item": [f"i{i}" for i in range(ITEMS)]})
    base["first"], base["second"] = np.where(turn, "v", "u"), np.where(turn, "u", "v")
    parts = [base.assign(probe="blind", label_first=None, label_second=None)]
    for probe, (u, v) in LABELLED.items():
        parts.append(base.assign(probe=probe, label_first=np.where(turn, v, u), label_second=np.where(turn, u, v)))
    table = pd.concat(parts, ignore_index=True)
    return pd.concat([table.assign(scheme=s) for s in ("plain", "scot")], ignore_index=True)


CUED = Judge(
    "g",
    label_susceptibility=1.2,
    tie_criterion=0.6,
    stable_preference=1.0,
    slot_bias=0.2,
    invalid=0.02,
    under={"scheme": {"scot": {"label_susceptibility": 0.3}}},
)


def by_candidate(scheme: str, probe: str) -> pd.DataFrame:
    """Probabilities of u, v and tie, item by item."""
    p = part(answer_probabilities(probes(), CUED, seed=SEED), scheme=scheme, probe=probe).set_index("item").sort_index()
    u, v = turned(p, np.where(p["first"] == "u", 1, -1))
    return pd.DataFrame({"u": u, "v": v, "tie": p["p_tie"]}, index=p.index)


@pytest.mark.parametrize("scheme", ["plain", "scot"])
class TestCues:
    def test_anchoring(self, scheme):
        result = part(anchoring(simulate(probes(), CUED, seed=SEED), favoured_label="LLM"), scheme=scheme)
        blind = by_candidate(scheme, "blind")
        error = np.sqrt(2 * 0.25 / (0.96 * ITEMS))
        for probe in ("truth", "flip"):
            after = by_candidate(scheme, probe)
            favoured, opposed = ("u", "v") if probe == "truth" else ("v", "u")
            move = (after.sum() - blind.sum()) / (0.98 * ITEMS)
            assert (move[favoured] > 0.15) == (scheme == "plain")
            terms = {
                "shift_favoured": move[favoured],
                "shift_opposed": move[opposed],
                "shift_tie": move["tie"],
                "lds": max(move[favoured], 0),
                "ols": max(move[opposed], 0),
                "total_variation": np.abs(move).sum() / 2,
            }
            for term, truth in terms.items():
                assert_value(part(result, probe=probe, term=term), truth, error)

    def test_equality_detection(self, scheme):
        result = anchoring(simulate(probes(), CUED, seed=SEED), favoured_label="LLM")
        row = part(result, scheme=scheme, probe="blind", term="equality_detection")
        assert_value(row, by_candidate(scheme, "blind")["tie"].sum() / (0.98 * ITEMS), 0.5 / np.sqrt(0.98 * ITEMS))

    def test_revision(self, scheme):
        result = part(revision(simulate(probes(), CUED, seed=SEED), favoured_label="LLM"), scheme=scheme)
        before, after = by_candidate(scheme, "flip"), by_candidate(scheme, "reveal")
        rank = {"v": 0, "tie": 1, "u": 2}  # the label favours u once it is true
        joint = {(a, b): (before[a] * after[b]).sum() for a in rank for b in rank}
        scored = 0.98**2 * ITEMS
        towards, away = (sum(n for (a, b), n in joint.items() if s * (rank[b] - rank[a]) > 0) for s in (1, -1))
        assert (towards / away > 2.5) == (scheme == "plain")
        error = 0.5 / np.sqrt(scored)
        assert_value(part(result, term="revision"), (towards + away) / scored, error)
        assert_value(part(result, term="towards"), towards / scored, error)
        assert_value(part(result, term="away"), away / scored, error)
        assert_value(part(result, term="net"), (towards - away) / scored, 2 * error)
