"""Cohen's kappa: SAS, scikit-learn and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

import twins_coincidence as twins
from judgestats.kernels.cohens_kappa import cohen_kappa, kappa_of_sums, kappa_sums, weighted_kappa
from kernels.arguments import linear_weights
from measured.debiasing_tables import kappa_from_margins


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30),
    st.sampled_from([None, "linear", "quadratic"]),
)
def test_kappa_of_many_tables(pairs, weights):
    one, two = np.array(pairs).T
    w = np.eye(4) if weights is None else linear_weights(4) if weights == "linear" else 1 - (1 - linear_weights(4)) ** 2
    totals = np.stack([np.ones(len(pairs)), np.full(len(pairs), 2.0)])
    got = weighted_kappa(totals, one, two, w)
    expected = twins.kappa(one.tolist(), two.tolist(), w.tolist())
    np.testing.assert_allclose(got, [expected, expected], rtol=1e-10, atol=1e-10)
    if not math.isnan(expected):
        peer = cohen_kappa_score(one, two, weights=weights, labels=[0, 1, 2, 3])
        np.testing.assert_allclose(got[0], peer, rtol=1e-10, atol=1e-10)


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


def test_kappa_of_sums_is_kappa_of_the_table():
    rng = np.random.default_rng(4)
    row, column, unit = rng.integers(0, 3, (3, 200))
    n = rng.integers(1, 4, 200).astype(float)
    w = np.array([[1, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 1]])
    sums = kappa_sums(row, column, n, unit, 3, w)
    tables = [np.bincount((row * 3 + column)[unit == u], n[unit == u], 9).reshape(3, 3) for u in range(3)]
    np.testing.assert_allclose(kappa_of_sums(sums, w), cohen_kappa(np.array(tables), w).estimate)
    np.testing.assert_allclose(
        kappa_of_sums(sums.sum(axis=0)[None], w), cohen_kappa(np.sum(tables, axis=0), w).estimate
    )
    assert np.isnan(kappa_of_sums(np.array([[0.0] * 8, [5, 5, 5, 0, 0, 5, 0, 0]]), w)).all()


def test_perfect_agreement_has_no_error():
    """Not one of rounding, 1e-9, say: the difference of two equal sums of squares."""
    for diagonal in ([3, 7], [1, 10, 333], [99999, 7, 123]):
        assert cohen_kappa(np.diag(diagonal)).std_error == 0
    assert cohen_kappa([[10**9, 1], [0, 10**9]]).std_error == pytest.approx(1e-9, rel=1e-6)
