"""Krippendorff's alpha of coincidences and the draws of units: twins, brute force and memory."""

from __future__ import annotations

import math
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twins_coincidence as twins
from judgestats.kernels import coincidences
from judgestats.kernels.coincidences import Units, alpha_without, krippendorff, unit_weights
from kernels.arguments import as_units

LEVELS = ["nominal", "ordinal", "interval", "ratio"]


#: Units of up to five answers, on a scale of up to five points, some of them without a pair.
ANSWERS = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=5), min_size=1, max_size=8)


@settings(max_examples=150)
@given(
    ANSWERS, st.sampled_from(LEVELS), st.sampled_from([[0, 1, 2, 3, 4], [0.5, 1.5, 2, 7, 40], [1, 1e3, 2e3, 5e3, 6e3]])
)
def test_alpha_is_its_definition(units, level, points):
    values = np.asarray(points, dtype=float)
    fit = krippendorff(as_units(units), np.ones((1, len(units))), values, level)
    expected = twins.alpha([[points[c] for c in unit] for unit in units], level)
    np.testing.assert_allclose(fit.alpha[0], expected, rtol=1e-11, atol=1e-11)
    assert fit.values[0] == sum(len(u) for u in units if len(u) > 1)


@settings(max_examples=100)
@given(ANSWERS, st.sampled_from(LEVELS), st.data())
def test_a_weight_is_a_repetition(units, level, data):
    weights = data.draw(
        st.lists(st.lists(st.integers(0, 3), min_size=len(units), max_size=len(units)), min_size=1, max_size=3)
    )
    fit = krippendorff(as_units(units), np.array(weights), np.arange(1.0, 6.0), level)
    for b, times in enumerate(weights):
        repeated = [[c + 1 for c in unit] for unit, t in zip(units, times, strict=True) for _ in range(t)]
        np.testing.assert_allclose(fit.alpha[b], twins.alpha(repeated, level), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("level", LEVELS)
def test_one_answer_only_has_no_alpha(level):
    values = np.array([0.1, 0.3])  # 0.1 summed a hundred times is not 10
    fit = krippendorff(as_units([[0, 0, 0]] * 100), np.ones((1, 100)), values, level)
    assert math.isnan(fit.alpha[0])
    assert math.isnan(krippendorff(as_units([[0], [1]]), np.ones((1, 2)), values, level).alpha[0])


def test_interval_alpha_of_scores_far_from_zero():
    units = [[0, 1], [2, 2], [1, 3], [3, 3]]
    near, far = (
        krippendorff(as_units(units), np.ones((1, 4)), np.arange(4.0) + x, "interval").alpha[0] for x in (0, 1e9)
    )
    assert far == pytest.approx(near, rel=1e-9)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_continuous_scores_need_little_memory(level):
    n = 20_000
    scores = np.random.default_rng(0).normal(size=(n, 2))
    values, code = np.unique(scores, return_inverse=True)
    units = Units(np.arange(0, 2 * n + 1, 2), code.ravel(), np.ones(2 * n))
    tracemalloc.start()
    fit = krippendorff(units, np.ones((1, n)), values, level)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 8 * 2 * n  # a table of the distinct values takes 12.8 GB
    assert abs(fit.alpha[0]) < 0.03


@pytest.mark.parametrize("n", [np.array([1.0, 2.0, 3.0]), np.array([500.0, 0.0, 1500.0])], ids=["few", "many"])
def test_draws_keep_the_number_of_units(n):
    blocks = np.concatenate(list(unit_weights(n, np.random.default_rng(0), 4000)))
    assert blocks.shape == (4000, 3)
    assert (blocks.sum(axis=1) == n.sum()).all()
    p = n / n.sum()
    np.testing.assert_allclose(blocks.mean(axis=0), n, atol=4 * math.sqrt(n.sum() / 4 / 4000) + 1e-9)
    np.testing.assert_allclose(blocks.var(axis=0), n.sum() * p * (1 - p), rtol=0.12)


def test_clusters_are_drawn_whole():
    cluster = np.array([0, 0, 1, 2, 2])
    blocks = np.concatenate(
        list(unit_weights(np.array([1.0, 4.0, 2.0, 1.0, 1.0]), np.random.default_rng(0), 500, cluster))
    )
    assert (blocks[:, 1] == 4 * blocks[:, 0]).all()
    assert (blocks[:, 3] == blocks[:, 4]).all()
    times = np.stack([blocks[:, 0], blocks[:, 2] / 2, blocks[:, 3]])
    assert (times.sum(axis=0) == 3).all()
    assert set(np.unique(times)) == {0, 1, 2, 3}


def test_draws_come_in_blocks(monkeypatch):
    """A block holds few numbers, and the draws do not depend on it."""
    n = np.ones(50)
    whole = np.concatenate(list(unit_weights(n, np.random.default_rng(5), 40)))
    monkeypatch.setattr("judgestats.kernels.coincidences._HELD", 500)
    blocks = list(unit_weights(n, np.random.default_rng(5), 40))
    assert max(map(len, blocks)) == 10
    np.testing.assert_array_equal(np.concatenate(blocks), whole)
    values = np.arange(1.0, 61.0)
    units = as_units([[i, (7 * i) % 60] for i in range(60)])
    monkeypatch.undo()
    all_at_once = krippendorff(units, np.ones((1, 60)), values, "ratio").alpha
    monkeypatch.setattr("judgestats.kernels.coincidences._HELD", 500)
    np.testing.assert_allclose(krippendorff(units, np.ones((1, 60)), values, "ratio").alpha, all_at_once, rtol=1e-12)


def random_units(n_units: int, n_values: int, n_clusters: int) -> tuple[Units, np.ndarray, np.ndarray]:
    """Units with one to three answers, how often each occurs, and its cluster: -1 of those with one answer."""
    rng = np.random.default_rng(n_units)
    answers = [np.unique(rng.integers(0, n_values, k), return_counts=True) for k in rng.integers(1, 4, n_units)]
    code, times = (np.concatenate(x) for x in zip(*answers, strict=True))
    units = Units(np.cumsum([0, *(len(a) for a, _ in answers)]), code, times.astype(float))
    paired = units.judges >= 2
    n = np.where(paired, rng.integers(1, 4, n_units), 0).astype(float)
    cluster = np.full(n_units, -1)
    cluster[paired] = np.unique(rng.integers(0, n_clusters, paired.sum()), return_inverse=True)[1]
    return units, n, cluster


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize(("n_units", "n_values", "n_clusters"), [(30, 2, 8), (200, 11, 40), (90, 100, 20)])
def test_alpha_without_a_cluster_is_that_of_the_other_units(level, n_units, n_values, n_clusters, monkeypatch):
    monkeypatch.setattr(coincidences, "_HELD", 16)  # so that clusters come in blocks
    units, n, cluster = random_units(n_units, n_values, n_clusters)
    values = np.arange(1, n_values + 1) ** 1.5
    wanted = [krippendorff(units, (n * (cluster != g))[None], values, level).alpha[0] for g in range(cluster.max() + 1)]
    assert alpha_without(units, n, values, level, cluster) == pytest.approx(wanted, abs=1e-12, nan_ok=True)


def test_ordinal_alpha_without_each_cluster_is_linear_in_clusters():
    def seconds(n_clusters: int) -> float:
        units, n, cluster = random_units(2 * n_clusters, 11, n_clusters)
        start = time.process_time()
        alpha_without(units, n, np.arange(11.0), "ordinal", cluster)
        return time.process_time() - start

    seconds(100)
    assert min(seconds(8_000) for _ in range(2)) < 8 * max(min(seconds(2_000) for _ in range(3)), 0.01)
