"""Thresholds by brute force, and their guarantees by simulation."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from judgestats.kernels.selective_risk import (
    RiskCoverage,
    joint_threshold,
    least_answers,
    risk_coverage,
    selective_threshold,
    upper_risk,
)

GRID = np.arange(101) / 100


def test_counts_at_each_threshold():
    rng = np.random.default_rng(0)
    confidence = np.round(rng.random(200), 2)
    confidence[:10] = np.nan
    wrong, weight = (rng.random(200) < 0.3).astype(float), rng.integers(1, 4, 200).astype(float)
    found = risk_coverage(confidence, wrong, weight, GRID)
    for t, threshold in enumerate(GRID):
        used = confidence >= threshold
        assert found.answered[t] == weight[used].sum()
        assert found.wrong[t] == (weight * wrong)[used].sum()


@pytest.mark.parametrize(("k", "n", "delta"), [(0, 10, 0.05), (3, 40, 0.1), (17, 200, 0.05), (39, 40, 0.2)])
def test_the_upper_limit_is_that_of_clopper_and_pearson(k, n, delta):
    limit = float(upper_risk(np.array([k]), np.array([n]), delta)[0])
    peer = binomtest(k, n, alternative="less").proportion_ci(1 - delta, method="exact")
    assert limit == pytest.approx(peer.high)
    assert binom.cdf(k, n, limit) == pytest.approx(delta)


def test_no_answer_has_no_limit():
    np.testing.assert_array_equal(upper_risk(np.array([0.0, 5.0]), np.array([0.0, 5.0]), 0.05), [1, 1])


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
def test_so_many_answers_are_the_fewest_that_can_show_it(alpha):
    least = least_answers(alpha, 0.05)
    assert upper_risk(np.array([0.0]), np.array([float(least)]), 0.05)[0] <= alpha
    assert upper_risk(np.array([0.0]), np.array([least - 1.0]), 0.05)[0] > alpha


def test_the_sequence_stops_at_the_first_that_fails():
    answered, wrong = np.array([400.0, 300, 200, 100, 5, 0]), np.array([20.0, 40, 8, 2, 0, 0])
    curve = RiskCoverage(answered, wrong)
    assert selective_threshold(curve, 0.1, 0.05) == 2  # 1 fails, though 0 would pass
    assert selective_threshold(curve, 0.03, 0.05) == -1
    assert selective_threshold(RiskCoverage(answered, 0 * wrong), 0.1, 0.05) == 0
    assert selective_threshold(RiskCoverage(answered / 100, 0 * wrong), 0.1, 0.05) == -1


def test_the_joint_threshold_is_the_smallest():
    curve = RiskCoverage(np.array([100.0, 80, 50, 10]), np.array([30.0, 14, 9, 1]))
    for alpha in (0.05, 0.1, 0.15, 0.2, 0.4):
        allowed = [t for t in range(4) if (100 * (curve.wrong[t] / 100) + 1) / 101 <= alpha]
        assert joint_threshold(curve, 100, alpha) == (allowed[0] if allowed else -1)
    assert joint_threshold(RiskCoverage(np.array([5.0]), np.array([0.0])), 5, 0.1) == -1


def replications(rng, n, times, error):
    """Confidences from 0.5 to 1 and errors with this probability; the curve of each replication."""
    for _ in range(times):
        confidence = np.round(0.5 + 0.5 * rng.random(n), 2)
        yield risk_coverage(confidence, (rng.random(n) < error(confidence)).astype(float), np.ones(n), GRID)


def true_curve(error):
    grid = np.round(0.5 + 0.5 * (np.arange(200_000) + 0.5) / 200_000, 2)
    return risk_coverage(grid, error(grid), np.full(grid.size, 1 / grid.size), GRID)


ERRORS = {
    "calibrated": lambda c: 1 - c,
    "overconfident": lambda c: 0.6 - 0.5 * c,
    "just above": lambda c: np.full(c.shape, 0.201),
    "worst at the top": lambda c: np.where(c > 0.95, 0.5, 0.1),
}


@pytest.mark.parametrize("name", ERRORS)
def test_the_selective_guarantee_holds(name):
    """Few replications here; 2,000 in benchmarks/coverage_confidence.py."""
    rng, truth = np.random.default_rng(1), true_curve(ERRORS[name])
    risk = truth.wrong / np.maximum(truth.answered, 1e-12)
    found = [selective_threshold(c, 0.2, 0.1) for c in replications(rng, 200, 400, ERRORS[name])]
    violations = sum(t >= 0 and risk[t] > 0.2 for t in found)
    assert violations <= binom.ppf(0.999, 400, 0.1)
    if name == "calibrated":
        assert np.mean([t >= 0 for t in found]) > 0.7  # and it is not empty


@pytest.mark.parametrize("name", ERRORS)
def test_the_joint_guarantee_holds_on_average(name):
    rng, truth = np.random.default_rng(2), true_curve(ERRORS[name])
    for n in (40, 200):
        found = [joint_threshold(c, n, 0.1) for c in replications(rng, n, 400, ERRORS[name])]
        risk = np.array([truth.wrong[t] if t >= 0 else 0.0 for t in found])
        assert risk.mean() <= 0.1 + 3 * risk.std() / 20
        if name != "just above":
            assert risk.mean() > 0.05  # and not far below
