"""Coincidences, kappa, agreement beyond chance and the draws of units: twins, SAS, irr and scikit-learn."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

import twins_coincidence as twins
from judgestats.kernels.chance import (
    Units,
    chance_corrected,
    cohen_kappa,
    kappa_influence,
    krippendorff,
    unit_weights,
    weighted_kappa,
)
from measured.debiasing_tables import kappa_from_margins

LEVELS = ["nominal", "ordinal", "interval", "ratio"]

#: Units of up to five answers, on a scale of up to five points, some of them without a pair.
ANSWERS = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=5), min_size=1, max_size=8)


def laid_out(units):
    """Units as the kernels take them."""
    counts = [np.unique(u, return_counts=True) for u in units]
    start = np.cumsum([0, *(len(c) for c, _ in counts)])
    code = np.concatenate([c for c, _ in counts]).astype(np.int64)
    return Units(start, code, np.concatenate([t for _, t in counts]).astype(float))


def linear(m):
    return np.array([[1 - abs(i - j) / max(m - 1, 1) for j in range(m)] for i in range(m)])


@settings(max_examples=150)
@given(
    ANSWERS, st.sampled_from(LEVELS), st.sampled_from([[0, 1, 2, 3, 4], [0.5, 1.5, 2, 7, 40], [1, 1e3, 2e3, 5e3, 6e3]])
)
def test_alpha_is_its_definition(units, level, points):
    values = np.asarray(points, dtype=float)
    fit = krippendorff(laid_out(units), np.ones((1, len(units))), values, level)
    expected = twins.alpha([[points[c] for c in unit] for unit in units], level)
    np.testing.assert_allclose(fit.alpha[0], expected, rtol=1e-11, atol=1e-11)
    assert fit.values[0] == sum(len(u) for u in units if len(u) > 1)


@settings(max_examples=100)
@given(ANSWERS, st.sampled_from(LEVELS), st.data())
def test_a_weight_is_a_repetition(units, level, data):
    weights = data.draw(
        st.lists(st.lists(st.integers(0, 3), min_size=len(units), max_size=len(units)), min_size=1, max_size=3)
    )
    fit = krippendorff(laid_out(units), np.array(weights), np.arange(1.0, 6.0), level)
    for b, times in enumerate(weights):
        repeated = [[c + 1 for c in unit] for unit, t in zip(units, times, strict=True) for _ in range(t)]
        np.testing.assert_allclose(fit.alpha[b], twins.alpha(repeated, level), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("level", LEVELS)
def test_one_answer_only_has_no_alpha(level):
    values = np.array([0.1, 0.3])  # 0.1 summed a hundred times is not 10
    fit = krippendorff(laid_out([[0, 0, 0]] * 100), np.ones((1, 100)), values, level)
    assert math.isnan(fit.alpha[0])
    assert math.isnan(krippendorff(laid_out([[0], [1]]), np.ones((1, 2)), values, level).alpha[0])


def test_interval_alpha_of_scores_far_from_zero():
    units = [[0, 1], [2, 2], [1, 3], [3, 3]]
    near, far = (
        krippendorff(laid_out(units), np.ones((1, 4)), np.arange(4.0) + x, "interval").alpha[0] for x in (0, 1e9)
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


@settings(max_examples=150)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=2, max_size=8), st.booleans())
def test_gwet_is_its_definition(units, weighted):
    weights = linear(4) if weighted else np.eye(4)
    if not any(len(u) > 1 for u in units):
        units = [[0, 1], *units]
    fit = chance_corrected(laid_out(units), np.ones(len(units)), weights, "gwet")
    np.testing.assert_allclose(fit[:4], twins.gwet(units, weights.tolist()), rtol=1e-10, atol=1e-10)
    error = np.sqrt((fit.influence**2).sum() / (len(units) * (len(units) - 1)))  # of which the standard error is made
    np.testing.assert_allclose(error, fit.std_error, rtol=1e-10, atol=1e-10)


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=2, max_size=8))
def test_fleiss_is_its_definition(units):
    counts = [[u.count(k) for k in range(3)] for u in units]
    fit = chance_corrected(laid_out(units), np.ones(len(units)), np.eye(3), "fleiss")
    if len({k for u in units for k in u}) < 2:
        assert math.isnan(fit.estimate)
    else:
        p = np.sum(counts, axis=0) / (3 * len(units))
        assert fit.expected == pytest.approx((p**2).sum())
        if ((p @ (1 - p)) ** 2 - (p * (1 - p) * (1 - 2 * p)).sum()) > 1e-12:
            assert fit.estimate == pytest.approx(twins.fleiss(counts)[0])


def test_a_pattern_is_its_units():
    units, n = [[0, 0, 1], [1, 1], [2], [2, 2, 0]], [3, 2, 4, 1]
    spread = [u for u, k in zip(units, n, strict=True) for _ in range(k)]
    for coefficient in ("gwet", "fleiss"):
        once = chance_corrected(laid_out(units), np.array(n, dtype=float), np.eye(3), coefficient)
        whole = chance_corrected(laid_out(spread), np.ones(10), np.eye(3), coefficient)
        np.testing.assert_allclose(once[:4], whole[:4], rtol=1e-12)
        np.testing.assert_allclose(np.repeat(once.influence, n), whole.influence, rtol=1e-9, atol=1e-12)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30),
    st.sampled_from([None, "linear", "quadratic"]),
)
def test_kappa_of_many_tables(pairs, weights):
    one, two = np.array(pairs).T
    w = np.eye(4) if weights is None else linear(4) if weights == "linear" else 1 - (1 - linear(4)) ** 2
    totals = np.stack([np.ones(len(pairs)), np.full(len(pairs), 2.0)])
    got = weighted_kappa(totals, one, two, w)
    expected = twins.kappa(one.tolist(), two.tolist(), w.tolist())
    np.testing.assert_allclose(got, [expected, expected], rtol=1e-10, atol=1e-10)
    if not math.isnan(expected):
        peer = cohen_kappa_score(one, two, weights=weights, labels=[0, 1, 2, 3])
        np.testing.assert_allclose(got[0], peer, rtol=1e-10, atol=1e-10)


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
    monkeypatch.setattr("judgestats.kernels.chance._HELD", 500)
    blocks = list(unit_weights(n, np.random.default_rng(5), 40))
    assert max(map(len, blocks)) == 10
    np.testing.assert_array_equal(np.concatenate(blocks), whole)
    values = np.arange(1.0, 61.0)
    units = laid_out([[i, (7 * i) % 60] for i in range(60)])
    monkeypatch.undo()
    all_at_once = krippendorff(units, np.ones((1, 60)), values, "ratio").alpha
    monkeypatch.setattr("judgestats.kernels.chance._HELD", 500)
    np.testing.assert_allclose(krippendorff(units, np.ones((1, 60)), values, "ratio").alpha, all_at_once, rtol=1e-12)


SAS = np.array([[0, 4, 1], [0, 8, 0], [0, 1, 5]])

LINEAR = 1 - np.abs(np.subtract.outer(np.arange(3), np.arange(3))) / 2


def test_sas_plain_and_linear():
    plain, linear = cohen_kappa(SAS), cohen_kappa(SAS, LINEAR)
    assert [round(float(x), 4) for x in plain] == [0.4842, 0.1380, 0.1484]
    assert round(float(plain.estimate / plain.null_error), 4) == 3.2626
    assert [round(float(x), 4) for x in linear[:2]] == [0.4701, 0.1457]
    half = 1.959963984540054 * linear.std_error
    assert round(float(linear.estimate - half), 4) == 0.1845
    assert round(float(linear.estimate + half), 4) == 0.7558


def test_weights_need_not_be_symmetric():
    """A transposed table with transposed weights is the same comparison; rows and columns are not mixed up."""
    table = np.array([[9, 2, 1], [4, 6, 5], [0, 3, 8]])
    weights = np.array([[1, 0.7, 0.1], [0.2, 1, 0.4], [0, 0.6, 1]])
    np.testing.assert_allclose(cohen_kappa(table, weights), cohen_kappa(table.T, weights.T), rtol=1e-12)
    p = table / table.sum()
    chance = np.outer(p.sum(axis=1), p.sum(axis=0))
    brute = ((weights * p).sum() - (weights * chance).sum()) / (1 - (weights * chance).sum())
    assert cohen_kappa(table, weights).estimate == pytest.approx(brute, abs=1e-14)


def test_stack_of_tables_and_scikit_learn():
    rng = np.random.default_rng(3)
    stack = rng.integers(0, 9, (5, 4, 4))
    for table, kappa in zip(stack, cohen_kappa(stack).estimate, strict=True):
        one = np.repeat(np.repeat(np.arange(4), 4), table.ravel())
        two = np.repeat(np.tile(np.arange(4), 4), table.ravel())
        assert kappa == pytest.approx(cohen_kappa_score(one, two), abs=1e-13)


def test_standard_errors_against_sampling():
    rng = np.random.default_rng(7)
    p = np.array([[0.3, 0.1, 0.02], [0.05, 0.25, 0.03], [0.05, 0.05, 0.15]])
    drawn = rng.multinomial(400, p.ravel(), 20_000).reshape(-1, 3, 3)
    assert cohen_kappa(400 * p).std_error == pytest.approx(cohen_kappa(drawn).estimate.std(), rel=0.02)
    chance = np.outer(p.sum(axis=1), p.sum(axis=0))
    drawn = rng.multinomial(400, chance.ravel(), 20_000).reshape(-1, 3, 3)
    assert cohen_kappa(400 * chance).null_error == pytest.approx(cohen_kappa(drawn).estimate.std(), rel=0.02)


def test_degenerate_tables():
    assert np.isnan(cohen_kappa([[7, 0], [0, 0]])).all()  # one class only: chance agreement is 1
    assert np.isnan(cohen_kappa(np.zeros((3, 3)))).all()
    perfect = cohen_kappa(np.diag([3, 4, 5]))
    assert perfect.estimate == 1
    assert perfect.std_error == pytest.approx(0, abs=1e-7)
    assert cohen_kappa([[0, 5], [5, 0]]).estimate == -1


def test_margins_alone():
    table = np.array([[9, 2, 1], [4, 6, 5], [0, 3, 8]])
    from_margins = kappa_from_margins(23 / 38, table.sum(axis=1), table.sum(axis=0))
    assert from_margins == pytest.approx(float(cohen_kappa(table).estimate), abs=1e-14)
    assert np.isnan(kappa_from_margins(1.0, [1, 0, 0], [5, 0, 0]))
    two = kappa_from_margins([0.5, 0.75], [[1, 1], [1, 1]], [0.5, 0.5])
    np.testing.assert_allclose(two, [0.0, 0.5])


def test_the_influences_on_kappa_give_its_standard_error():
    table = np.array([[0, 4, 1], [0, 8, 0], [0, 1, 5]])
    error = np.sqrt((table * kappa_influence(table) ** 2).sum()) / table.sum()
    assert error == pytest.approx(float(cohen_kappa(table).std_error), rel=1e-12)
    assert (table * kappa_influence(table)).sum() == pytest.approx(0, abs=1e-12)
