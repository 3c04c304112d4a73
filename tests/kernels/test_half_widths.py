"""The cheapest numbers of verdicts and labels: every combination, and the half-widths that they give."""

import numpy as np
import pytest
from scipy.special import ndtri

from judgestats.kernels.corrected_means import (
    corrected_interval,
)
from judgestats.kernels.half_widths import cheapest_sizes, verdicts_at_random, verdicts_by_class

Z = float(ndtri(0.975))


def brute(needed, kinds, prices, assurance, most, within):
    """Every combination of numbers of labels up to `most`."""
    axes = np.meshgrid(*[np.arange(1.0, most + 1)] * kinds, indexing="ij")
    m = np.stack(axes, axis=-1).reshape(-1, kinds)
    draws = np.sort(needed(m), axis=1)
    n = np.ceil(draws[:, int(np.ceil(assurance * draws.shape[1] - 1e-9)) - 1] * (1 - 1e-12))
    n = np.maximum(n, 2 * m.sum(axis=1) if within else 1.0)
    cost = prices[0] * n + prices[1] * m.sum(axis=1)
    return cost.min()


@pytest.mark.parametrize("prices", [(0.01, 1.0), (1.0, 1.0), (0.3, 2.0), (5.0, 0.5)])
@pytest.mark.parametrize("draws", [1, 15])
def test_the_cheapest_numbers_are_those_of_every_combination(prices, draws):
    rng = np.random.default_rng(draws)
    shares = np.column_stack([rng.beta(40, 60, draws), rng.beta(90, 10, draws), rng.beta(85, 15, draws)])

    def by_class(m):
        return verdicts_by_class(shares, m, 0.12, Z)

    found = cheapest_sizes(by_class, 2, prices, 0.8, within=False)
    assert found.cost == pytest.approx(brute(by_class, 2, prices, 0.8, 500 if prices[0] > 1 else 160, False), rel=1e-12)
    assert found.cost == pytest.approx(prices[0] * found.n + prices[1] * found.m.sum())
    own, rest = rng.uniform(0.1, 0.2, draws), rng.uniform(0.02, 0.1, draws)

    def at_random(m):
        return verdicts_at_random(own, rest, m, 0.05, Z)

    found = cheapest_sizes(at_random, 1, prices, 0.8, within=True)
    assert found.cost == pytest.approx(brute(at_random, 1, prices, 0.8, 2000, True), rel=1e-12)
    assert found.n >= 2 * found.m.sum()


def test_with_so_many_verdicts_nothing_has_fewer_labels():
    rng = np.random.default_rng(1)
    shares = np.column_stack([rng.beta(40, 60, 40), rng.beta(90, 10, 40), rng.beta(85, 15, 40)])
    place = int(np.ceil(0.8 * 40)) - 1
    m = np.stack(np.meshgrid(*[np.arange(1.0, 250.0)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    needed = np.partition(verdicts_by_class(shares, m, 0.12, Z), place, axis=1)[:, place]
    for verdicts in (200, 300, 1000):
        found = cheapest_sizes(
            lambda m: verdicts_by_class(shares, m, 0.12, Z), 2, (0.0, 1.0), 0.8, within=False, verdicts=verdicts
        )
        assert found.n == verdicts
        assert found.m.sum() == m[needed <= verdicts].sum(axis=1).min()
    own, rest = rng.uniform(0.1, 0.2, 40), rng.uniform(0.02, 0.1, 40)
    m = np.arange(1.0, 2000.0)[:, None]
    needed = np.partition(verdicts_at_random(own, rest, m, 0.05, Z), place, axis=1)[:, place]
    for verdicts in (100, 440, 480, 1000, 10**6):
        found = cheapest_sizes(
            lambda m: verdicts_at_random(own, rest, m, 0.05, Z), 1, (0.0, 1.0), 0.8, within=True, verdicts=verdicts
        )
        enough = m[(needed <= verdicts) & (2 * m[:, 0] <= verdicts), 0]
        assert np.isfinite(found.cost) == (enough.size > 0)
        if enough.size:
            assert found.m.tolist() == [enough.min()]


def test_the_verdicts_needed_give_the_half_width():
    shares = np.array([[0.4, 0.9, 0.85], [0.2, 0.95, 0.7]])
    m = np.array([[200.0, 150.0], [400.0, 400.0]])
    n = verdicts_by_class(shares, m, 0.08, Z)
    for i, (m0, m1) in enumerate(m):
        for j, share in enumerate(shares):
            error = corrected_interval(*share, n[i, j], m0, m1, Z).std_error
            assert Z * float(error) == pytest.approx(0.08, rel=1e-4)
    assert np.isinf(verdicts_by_class(shares, m, 0.01, Z)).all()
    assert np.isinf(cheapest_sizes(lambda m: np.full((len(m), 3), np.inf), 2, (1.0, 1.0), 0.8, within=False).cost)
