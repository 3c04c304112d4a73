from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgestats.kernels import elimination as el
from twins_mixed import dense_design


@st.composite
def systems(draw):
    """Rows that touch one level of each of one to three factors, nested or crossed, intercepts and slopes."""
    seed, N = draw(st.integers(0, 10**6)), draw(st.integers(1, 60))
    rng = np.random.default_rng(seed)
    first, second = draw(st.integers(1, 12)), draw(st.integers(1, 8))
    a, b = rng.integers(0, first, N), rng.integers(0, second, N)
    factors = {1: [a], 2: [a, b], 3: [a * second + b, a, b]}[draw(st.integers(1, 3))]
    factors = [np.unique(f, return_inverse=True)[1] for f in factors]
    factors.sort(key=lambda f: -f.max())
    width = [draw(st.integers(1, 2)) for _ in factors]
    blocks = np.cumsum([0, *[(f.max() + 1) * w for f, w in zip(factors, width, strict=True)]])
    cols = [o + f * w + c for f, w, o in zip(factors, width, blocks, strict=False) for c in range(w)]
    return np.column_stack(cols).astype(np.int64), blocks.astype(np.int64), rng


@settings(max_examples=150, deadline=None)
@given(systems(), st.sampled_from([1e-9, 16.0, 1e9]), st.sampled_from([0.0, el.BLAS_SPEED]))
def test_factor_solution_determinant_and_inverse_are_those_of_the_dense_matrix(system, speed, blas):
    cols, blocks, rng = system
    t = el.structure(cols, blocks, speed, blas)
    zl, w = rng.normal(size=cols.shape), rng.random(len(cols))
    Z = dense_design(cols, zl, t.q)
    H = Z.T @ (w[:, None] * Z) + np.eye(t.q)
    flat = np.empty(t.size)
    el.gather(t, zl, w, flat)
    assert el.dense(t, flat) == pytest.approx(H, abs=1e-12)
    assert el.factorise(t, flat)
    log_det = el.log_determinant(t, flat, np.ones(t.q))
    assert log_det == pytest.approx(np.linalg.slogdet(H)[1], abs=1e-9)
    B = rng.normal(size=(t.q, 2))
    assert el.solve_many(t, flat, B) == pytest.approx(np.linalg.solve(H, B), abs=1e-9)
    inverse = el.dense(t, el.invert(t, flat))
    known = H != 0
    assert inverse[known] == pytest.approx(np.linalg.inv(H)[known], abs=1e-9)


def test_a_nested_factor_stays_sparse():
    pair = np.arange(6000)
    item = pair // 10
    judge = pair % 10
    cols = np.column_stack([pair, 6000 + item, 6600 + judge]).astype(np.int64)
    t = el.structure(cols, np.array([0, 6000, 6600, 6610]))
    assert not t.arrow
    assert t.s == 6600  # pairs and items are diagonal blocks
    assert len(t.rows) == 6000 * 2 + 600 * 10


def test_two_large_crossed_factors_are_dense():
    a, b = (g.ravel() for g in np.meshgrid(np.arange(60), np.arange(60)))
    t = el.structure(np.column_stack([a, 60 + b]).astype(np.int64), np.array([0, 60, 120]))
    assert t.s == 60  # one is eliminated, the other is what is left
    assert t.arrow
    assert len(t.rows) == 60 * 60
    assert el.structure(t.cols, np.array([0, 60, 120]), blas_speed=0).s == 0


def test_a_factor_that_touches_little_of_another_large_one_stays_sparse():
    rng = np.random.default_rng(0)
    a, b = np.repeat(np.arange(3000), 3), rng.integers(0, 1000, 9000)
    t = el.structure(np.column_stack([a, 3000 + b]).astype(np.int64), np.array([0, 3000, 4000]))
    assert not t.arrow
    assert t.s == 3000
    assert len(t.rows) <= 9000


def test_a_matrix_that_is_not_positive_definite_is_refused():
    t = el.structure(np.array([[0]]), np.array([0, 1]))
    flat = np.empty(t.size)
    el.gather(t, np.array([[1.0]]), np.array([-2.0]), flat)
    assert not el.factorise(t, flat)
    el.gather(t, np.array([[np.nan]]), np.array([1.0]), flat)
    assert not el.factorise(t, flat)
