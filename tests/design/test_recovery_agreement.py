"""Agreement, reliability and calibration come back as planted; the truth is in closed form."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, rankdata

from judgestats import (
    ac1,
    agreement_levels,
    agreement_shift,
    alpha,
    calibrate,
    correlation,
    decision_study,
    disagreement,
    icc,
    kappa,
    variance_components,
)
from judgestats.design import Judge, answer_probabilities, simulate

SEED = 17
BOUND = 4.0
FREE = {"scale": None, "step": None}


def part(table: pd.DataFrame, **values: object) -> pd.DataFrame:
    keep = np.ones(len(table), dtype=bool)
    for column, value in values.items():
        keep &= (table[column] == value).to_numpy()
    return table[keep]


def assert_value(row: pd.DataFrame, truth: float, error: float) -> None:
    assert len(row) == 1
    assert abs(row["estimate"].item() - truth) < BOUND * error, (row["estimate"].item(), truth, error)


# ---------------------------------------------------------------- answers

PAIRS = 6000
ANSWERING = [
    Judge("a", item_difficulty=1.5, tie_criterion=0.3, slot_bias=1.8),
    Judge("b", item_difficulty=1.5, tie_criterion=0.4, slot_bias=2.0),
    Judge("c", item_difficulty=2.0, tie_criterion=0.2, stable_preference=0.5),
]


@cache
def verdicts() -> tuple[pd.DataFrame, np.ndarray]:
    """Calls of three judges, and the probabilities (judge, item, answer) of u, tie and v."""
    plan = pd.DataFrame({"item": [f"i{i}" for i in range(PAIRS)], "first": "u", "second": "v"})
    p = answer_probabilities(plan, ANSWERING, seed=SEED)
    return simulate(plan, ANSWERING, seed=SEED), np.stack(
        [part(p, judge=j.name)[["p_first", "p_tie", "p_second"]].to_numpy() for j in ANSWERING]
    )


def joint(i: int, j: int) -> np.ndarray:
    p = verdicts()[1]
    return np.einsum("na,nb->ab", p[i], p[j]) / PAIRS


@pytest.mark.parametrize(("i", "j"), [(0, 1), (0, 2), (1, 2)])
@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa(i, j, weights):
    table = joint(i, j)
    away = np.abs(np.subtract.outer(np.arange(3), np.arange(3))) / 2
    w = {None: np.eye(3), "linear": 1 - away, "quadratic": 1 - away**2}[weights]
    observed, chance = (w * table).sum(), (w * np.outer(table.sum(1), table.sum(0))).sum()
    truth = (observed - chance) / (1 - chance)
    assert 0.1 < truth < 0.6
    row = part(kappa(verdicts()[0], weights=weights), judge="abc"[i], other="abc"[j])
    assert_value(row, truth, np.sqrt(observed * (1 - observed) / PAIRS) / (1 - chance))


def test_alpha_and_ac1_of_two():
    calls = verdicts()[0]
    two = calls[calls["judge"] != "c"]
    table = joint(0, 1)
    observed, margin = np.trace(table), (table.sum(0) + table.sum(1)) / 2
    error = np.sqrt(observed * (1 - observed) / PAIRS)
    chance = (margin**2).sum()
    gwet = (margin * (1 - margin)).sum() / 2
    truth = {c: (observed - c) / (1 - c) for c in (chance, gwet)}
    assert truth[gwet] - truth[chance] > 2 * BOUND * error / (1 - chance)  # the two are told apart
    assert_value(alpha(two, n_resamples=50), truth[chance], error / (1 - chance))
    assert_value(ac1(two), truth[gwet], error / (1 - gwet))


def test_alpha_of_three():
    tables = [joint(i, j) for i, j in ((0, 1), (0, 2), (1, 2))]
    observed = np.mean([np.trace(t) for t in tables])
    margin = verdicts()[1].mean(axis=(0, 1))
    chance = (margin**2).sum()
    row = alpha(verdicts()[0], n_resamples=50)
    assert_value(row, (observed - chance) / (1 - chance), np.sqrt(observed * (1 - observed) / PAIRS) / (1 - chance))


# ---------------------------------------------------------------- scores

ITEMS = 4000
SCORING = [
    Judge("a", leniency=1.0, item_difficulty=1.0, noise=0.8, **FREE),
    Judge("b", leniency=-0.5, item_difficulty=1.0, noise=0.8, **FREE),
    Judge("c", leniency=0.2, item_difficulty=1.0, noise=0.8, **FREE),
]


def items(n: int = ITEMS, systems: str = "s", **columns: object) -> pd.DataFrame:
    keys = pd.MultiIndex.from_product([list(systems), [f"i{i}" for i in range(n)]], names=["system", "item"])
    return keys.to_frame(index=False).assign(**columns)


def test_icc():
    """Three fixed judges: their variance is that of their severities, of the items 1, of the rest 0.64."""
    result = icc(simulate(items(), SCORING, seed=SEED, quality={"s": 0.0}))
    between, rest = np.var([1.0, -0.5, 0.2], ddof=1), 0.64
    truths = {
        "ICC(2,1)": 1 / (1 + between + rest),
        "ICC(3,1)": 1 / (1 + rest),
        "ICC(2,k)": 1 / (1 + (between + rest) / 3),
        "ICC(3,k)": 1 / (1 + rest / 3),
    }
    for term, truth in truths.items():
        assert_value(part(result, term=term), truth, (1 - truth) * (1 + 2 * truth) / np.sqrt(3 * ITEMS))


def test_correlation():
    judges = [Judge("a", item_difficulty=1.0, **FREE), Judge("b", item_difficulty=2.0, noise=0.5, leniency=3.0, **FREE)]
    calls = simulate(items(), judges, seed=SEED)
    truth = 1.0 * 2.0 / (np.hypot(1, 1) * np.hypot(2, 0.5))
    row = part(correlation(calls, pairs="each"), term="r")
    assert_value(row, truth, (1 - truth**2) / np.sqrt(ITEMS))
    ranked = correlation(calls, pairs="each", method="spearman")
    assert_value(part(ranked, term="rho"), 6 / np.pi * np.arcsin(truth / 2), 1 / np.sqrt(ITEMS))


def test_agreement_levels():
    """Judges concur on systems far better than on items, and their severities cost absolute agreement more."""
    quality = {"s": -1.0, "t": 0.0, "u": 0.6, "v": 1.5}
    calls = simulate(items(1500, "stuv"), SCORING, seed=SEED, quality=quality)
    result = agreement_levels(calls, n_resamples=50)
    between = np.var([1.0, -0.5, 0.2], ddof=1)
    error = 1 / np.sqrt(1500)  # the systems share their items
    assert part(result, term="rho_system")["estimate"].item() == pytest.approx(1.0)
    r, absolute = 1 / 1.64, 1 / (1.64 + between)
    assert_value(part(result, term="r_sample"), r, (1 - r**2) * error)
    assert_value(part(result, term="icc"), absolute, (1 - absolute) * (1 + 2 * absolute) / np.sqrt(3) * error)
    assert_value(part(result, term="gap_sample_icc"), r - absolute, error / 2)


def test_system_correlation_is_that_of_the_true_means():
    judges = [
        Judge("a", interaction=0.8, noise=0.2, **FREE),
        Judge("b", interaction=0.8, noise=0.2, discrimination=0.5, **FREE),
    ]
    plan = items(2000, "stuvwx")
    quality = dict(zip("stuvwx", np.linspace(-1, 1, 6), strict=True))
    true = answer_probabilities(plan, judges, seed=SEED, quality=quality)
    means = true.pivot_table(index="system", columns="judge", values="mean")
    assert np.diff(np.sort(means.to_numpy(), axis=0), axis=0).min() > 4 * 0.2 / np.sqrt(2000)
    truth = np.corrcoef(rankdata(means["a"]), rankdata(means["b"]))[0, 1]
    assert abs(truth) < 0.95
    row = correlation(simulate(plan, judges, seed=SEED, quality=quality), level="system", pairs="each")
    assert part(row, term="rho")["estimate"].item() == pytest.approx(truth)


def test_agreement_shift():
    quieter = {"condition": {"after": {"noise": 0.5}}}
    judges = [Judge(j, item_difficulty=1.0, noise=1.0, under=quieter, **FREE) for j in "ab"]
    plan = pd.concat([items(condition="before"), items(condition="after")], ignore_index=True)
    row = agreement_shift(simulate(plan, judges, seed=SEED), ("before", "after"), n_resamples=50)
    assert_value(row, 1 / 1.25 - 1 / 2, np.sqrt(0.36**2 + 0.75**2) / np.sqrt(ITEMS))
    assert row["before"].item() == pytest.approx(0.5, abs=BOUND * 0.75 / np.sqrt(ITEMS))


def test_disagreement():
    result = part(disagreement(simulate(items(), SCORING, seed=SEED), n_resamples=50), term="mean_difference")
    scale = np.sqrt(2) * 0.8
    for one, two, gap in (("a", "b", 1.5), ("a", "c", 0.8), ("b", "c", -0.7)):
        truth = 2 * scale * norm.pdf(gap / scale) + gap * (1 - 2 * norm.cdf(-gap / scale))
        assert_value(part(result, judge=one, other=two), truth, scale / np.sqrt(ITEMS))


#: Planted variances of a design of 14 judges, 20 systems and 30 items, each rated twice.
VARIANCES = {
    "system": 1.0,
    "item": 0.64,
    "judge:system": 0.25,
    "item:judge": 0.16,
    "judge:system:item": 0.36,
    "residual": 0.81,
}
SEVERITY = np.linspace(-1.2, 1.2, 14)


@cache
def crossed() -> pd.DataFrame:
    properties = {
        "item_difficulty": 0.8,
        "interaction": 0.5,
        "item_interaction": 0.4,
        "stable_preference": 0.6,
        "noise": 0.9,
        **FREE,
    }
    judges = [Judge(f"j{i:02d}", leniency=float(s), **properties) for i, s in enumerate(SEVERITY)]
    keys = pd.MultiIndex.from_product([[f"s{i}" for i in range(20)], [f"i{i}" for i in range(30)]])
    plan = keys.set_names(["system", "item"]).to_frame(index=False)
    return simulate(plan, judges, seed=SEED, replicates=2, quality=1.0)


def test_variance_components():
    result = variance_components(crossed())
    found = {":".join(sorted(t.split(":"))): i for i, t in enumerate(result["term"])}
    planted = {**VARIANCES, "judge": np.var(SEVERITY, ddof=1), "item:system": 0.0}
    levels = {"judge": 14, "system": 20, "item": 30}
    assert len(result) == 8
    for term, truth in planted.items():
        row = result.iloc[[found[":".join(sorted(term.split(":")))]]]
        df = np.prod([levels[f] - 1 for f in term.split(":")]) if term != "residual" else 14 * 20 * 30
        error = np.sqrt(2 / df) * max(truth, 0.06)  # what is drawn varies, and smaller components a little
        assert_value(row, truth, error)


def test_decision_study():
    v = {**VARIANCES, "judge": np.var(SEVERITY, ddof=1)}
    result = decision_study(crossed(), judges=[1, 5], items=10, runs=1)
    for judges in (1, 5):
        relative = v["judge:system"] / judges + (v["judge:system:item"] + v["residual"]) / (judges * 10)
        absolute = relative + v["judge"] / judges + v["item"] / 10 + v["item:judge"] / (judges * 10)
        for term, error in (("generalizability", relative), ("dependability", absolute)):
            truth = 1 / (1 + error)
            row = part(result, term=term, judges=judges)
            assert_value(row, truth, truth * (1 - truth) * np.sqrt(2 / 19))  # 20 systems


def test_calibrate():
    """The reference has no noise: the map is the regression of the truth on the score."""
    plan = items(2000, "st")
    quality = {"s": 0.5, "t": -0.5}
    judges = [
        Judge("g", leniency=1.5, item_difficulty=1.0, noise=0.7, **FREE),
        Judge("h", leniency=-0.5, discrimination=0.5, item_difficulty=0.5, noise=0.3, **FREE),
    ]
    calls = simulate(plan, judges, seed=SEED, quality=quality)
    ideal = Judge("truth", item_difficulty=1.0, noise=0.0, **FREE)
    reference = simulate(plan, ideal, seed=SEED, quality=quality)
    spread = 1.0 + 0.25  # variance of the truth: items, and two systems at 0.5 and -0.5
    shifts = calibrate(calls, reference=reference)
    lines = calibrate(calls, reference=reference, method="linear")
    for name, severity, slope, noise in (("g", 1.5, 1.0, 0.7), ("h", -0.5, 0.5, 0.3)):
        total = np.hypot(noise, (1 - slope) * np.sqrt(spread))
        assert_value(part(shifts, judge=name, term="shift"), -severity, total / np.sqrt(2000))
        assert_value(part(shifts, judge=name, term="deviation_before"), severity, total / np.sqrt(2000))
        assert_value(part(shifts, judge=name, term="rmse_after"), total, total / np.sqrt(2000))
        flattened = slope * spread / (slope**2 * spread + noise**2)
        error = np.sqrt((spread - flattened * slope * spread) / (slope**2 * spread + noise**2) / 4000)
        assert_value(part(lines, judge=name, term="slope"), flattened, error)
