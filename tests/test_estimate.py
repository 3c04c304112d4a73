"""Differences of two shares of one sample, and means of them over cells."""

from __future__ import annotations

import math

import numpy as np
import pytest

from judgestats.estimate import Estimate, cell_mean, clustered_cell_mean, clustered_difference, difference
from judgestats.kernels.proportions import clustered_wilson, newcombe_paired


def test_the_folded_interval_is_that_of_the_signed_score():
    folded = Estimate(-0.2, std_error=0.1, low=-0.5, high=0.1).folded
    assert (folded.value, folded.low, folded.high, folded.std_error) == (0.2, 0.0, 0.5, 0.1)
    folded = Estimate(-0.2, low=-0.5, high=-0.1).folded
    assert (folded.low, folded.high) == (0.1, 0.5)
    nothing = Estimate(-0.2).folded
    assert math.isnan(nothing.low)
    assert math.isnan(nothing.high)


def test_the_mean_of_cells_composes_their_intervals():
    counts = np.array([[10.0, 0, 0], [6, 2, 2]])
    row = cell_mean(counts, np.array([0.5, 0.5]))
    cells = [difference(c) for c in counts]
    assert row.value == pytest.approx(0.7)
    assert row.std_error == pytest.approx(math.sqrt(0.64 / 10) / 2), "the cell at 1 has none"
    below = [(c.value - c.low) / 2 for c in cells]
    assert row.low == pytest.approx(0.7 - math.hypot(*below))
    assert below[0] > 0.1, "and still widens the interval"
    one = cell_mean(counts[1:], np.ones(1))
    assert (one.low, one.high) == pytest.approx(newcombe_paired(0, 6, 2, 2))


def test_coverage_of_a_mean_over_cells():
    """Five cells of 20 like those of Table 7, two of them near 1."""
    rng = np.random.default_rng(5)
    shares = np.array([[0.97, 0.02, 0.01], [0.95, 0.04, 0.01], [0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.7, 0.1, 0.2]])
    truth = (shares[:, 0] - shares[:, 1]).mean()
    weight = np.full(5, 0.2)
    hits = 0
    for _ in range(800):
        row = cell_mean(np.array([rng.multinomial(20, s) for s in shares], dtype=float), weight)
        hits += row.low <= truth <= row.high
    assert 0.92 <= hits / 800 <= 0.985


@pytest.mark.parametrize(("k", "n"), [(15, 22), (13, 23), (7, 25), (1, 2)])
def test_clusters_that_are_alike_but_for_rounding(k: int, n: int) -> None:
    hits, sizes = np.full(12, float(k)), np.full(12, float(n))
    error, low, high = clustered_wilson(hits, sizes)
    assert error == 0
    assert high - low > 0.05
    counts = np.column_stack([hits, np.zeros(12), sizes - hits])
    whole = clustered_difference(counts, column="item")
    assert whole.high - whole.low > 0.05
    cells = clustered_cell_mean(counts[:, None, :], np.ones(1), "item")
    assert cells.high - cells.low > 0.05
