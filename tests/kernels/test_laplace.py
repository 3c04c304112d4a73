from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import twins_mixed as twin
from judgestats.kernels.elimination import structure
from judgestats.kernels.laplace import Laplace, LikelihoodRows
from judgestats.kernels.likelihoods import apart
from judgestats.kernels.quadrature import FIRST, Quadrature, Trapezoid, rule


def problem(kind, seed=0, N=60):
    rng = np.random.default_rng(seed)
    item, judge = rng.integers(0, 9, N), rng.integers(0, 4, N)
    cols = np.column_stack([item, 9 + judge]).astype(np.int64)
    z = np.column_stack([np.ones(N), rng.normal(size=N)])
    category = rng.integers(0, 3, N)
    y, m = rng.integers(0, 3, N).astype(float), np.full(N, 2.0)
    X = np.column_stack([np.ones(N), rng.normal(size=N)])
    rows = LikelihoodRows(kind, y, m, X, np.zeros(N), z, np.ones(N), category, np.zeros(N, np.int64))
    return rows, cols, np.array([0, 9, 13])


def terms(rows, params):
    beta, theta, inner = params[:2], params[2:4], params[4:6]
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    return rows.X @ beta, theta * rows.z, edges[rows.category + 1], edges[rows.category]


PARAMS = np.array([0.3, -0.4, 0.8, 0.6, -0.5, 0.7])


@pytest.mark.parametrize("kind", range(5))
def test_objective_is_that_of_dense_algebra(kind):
    rows, cols, blocks = problem(kind)
    t = structure(cols, blocks)
    eta0, zl, hi, lo = terms(rows, PARAMS)
    got, _ = Laplace.of(rows, t, np.ones(t.q)).value(eta0, zl, hi, lo)
    plain = twin.laplace(kind, rows.y, rows.m, eta0, hi, lo, twin.dense_design(cols, zl, t.q))
    assert got + apart(kind, rows.m, hi, lo)[0].sum() == pytest.approx(plain, abs=1e-5)


def gradient_of(rows, kernel, params):
    """Objective and gradient, summed against the designs."""
    given = terms(rows, params)
    value, eta = kernel.value(*given)
    by = kernel.adjoint(eta, *given[1:])
    tau = [by.hi[rows.category == j].sum() + by.lo[rows.category == j + 1].sum() for j in range(2)]
    return value, np.concatenate([rows.X.T @ by.eta, (by.scale * rows.z).sum(axis=0), tau])


def numeric(rows, kernel, params, h=1e-4):
    moves = h * np.eye(len(params))
    return np.array(
        [(gradient_of(rows, kernel, params + e)[0] - gradient_of(rows, kernel, params - e)[0]) for e in moves]
    ) / (2 * h)


@pytest.mark.parametrize("kind", range(5))
def test_gradient_is_exact(kind):
    rows, cols, blocks = problem(kind)
    t = structure(cols, blocks)
    kernel = Laplace.of(rows, t, np.ones(t.q))
    plain = numeric(rows, kernel, PARAMS)
    assert gradient_of(rows, kernel, PARAMS)[1] == pytest.approx(plain, abs=3e-5)


@pytest.mark.parametrize("kind", range(5))
def test_an_arrow_and_a_sparse_system_give_the_same_objective_and_gradient(kind):
    rows, cols, blocks = problem(kind)
    loops = [structure(cols, blocks, speed, blas_speed=0) for speed in (4.0, 1e9, 1e-9)]
    systems = [structure(cols, blocks), *loops]
    assert [t.arrow for t in systems] == [True, False, False, False]
    assert len({t.s for t in loops}) > 1
    arrow, *others = (gradient_of(rows, Laplace.of(rows, t, np.ones(t.q)), PARAMS) for t in systems)
    for value, gradient in others:
        assert value == pytest.approx(arrow[0], abs=1e-9)
        assert gradient == pytest.approx(arrow[1], abs=1e-8)


def test_no_mode_is_an_infinite_objective():
    rows, cols, blocks = problem(0)
    t = structure(cols, blocks)
    eta0, zl, hi, lo = terms(rows, PARAMS)
    assert Laplace.of(rows, t, np.ones(t.q)).value(eta0 * np.nan, zl, hi, lo)[0] == np.inf


def grouped(kind, N=40, G=6):
    rows, _, _ = problem(kind, N=N)
    start = np.linspace(0, N, G + 1).astype(np.int64)
    one = LikelihoodRows(kind, rows.y, rows.m, rows.X, rows.offset, rows.z[:, 1:], rows.times, rows.category, rows.part)
    return one, start


def one_term(rows, params):
    eta0, _, hi, lo = terms(LikelihoodRows(**{**vars(rows), "z": np.ones((len(rows.y), 2))}), params)
    return eta0, params[2] * rows.z, hi, lo


@pytest.mark.slow
@pytest.mark.parametrize("kind", range(5))
def test_quadrature_is_the_integral(kind):
    rows, start = grouped(kind)
    given = one_term(rows, PARAMS)
    got, _ = Quadrature.of(rows, start, np.ones(6), 31).value(*given)
    eta0, zl, hi, lo = given
    parts = [slice(a, b) for a, b in pairwise(start)]
    exact = [twin.integral(kind, rows.y[p], rows.m[p], eta0[p], hi[p], lo[p], zl[p, 0]) for p in parts]
    assert got + apart(kind, rows.m, hi, lo)[0].sum() == pytest.approx(sum(exact), rel=1e-9)


@pytest.mark.parametrize("kind", range(5))
def test_one_node_is_laplace(kind):
    rows, start = grouped(kind)
    given = one_term(rows, PARAMS)
    group = np.repeat(np.arange(6), np.diff(start))[:, None].astype(np.int64)
    t = structure(group, np.array([0, 6]))
    assert Quadrature.of(rows, start, np.ones(6), 1).value(*given)[0] == pytest.approx(
        Laplace.of(rows, t, np.ones(6)).value(*given)[0], rel=1e-10
    )


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [1, 4, 15])
@pytest.mark.parametrize("kind", range(5))
def test_quadrature_gradient_is_exact(kind, nodes):
    rows, start = grouped(kind)
    often = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0])
    times = np.repeat(often, np.diff(start))
    kernel = Quadrature.of(LikelihoodRows(**{**vars(rows), "times": times}), start, often, nodes)

    def at(params):
        given = one_term(rows, params)
        value, eta = kernel.value(*given)
        by = kernel.adjoint(eta, *given[1:])
        tau = [by.hi[rows.category == j].sum() + by.lo[rows.category == j + 1].sum() for j in range(2)]
        return value, np.concatenate([rows.X.T @ by.eta, [(by.scale * rows.z).sum()], [0], tau])

    h = 1e-5
    plain = [(at(PARAMS + e)[0] - at(PARAMS - e)[0]) / (2 * h) for e in h * np.eye(6)]
    assert at(PARAMS)[1] == pytest.approx(np.array(plain), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.3, 4.0, 15.0])
@pytest.mark.parametrize("kind", range(5))
def test_the_trapezoidal_rule_is_the_integral(kind, scale):
    rows, start = grouped(kind)
    params = PARAMS.copy()
    params[2] *= 1.0 if kind == 2 else scale  # a Poisson mean of exp(15 u) is none
    eta0, zl, hi, lo = one_term(rows, params)
    kernel, finer = (Trapezoid.of(rows, start, np.ones(6), extra) for extra in (0, 1))
    got, more = (k.value(eta0, zl, hi, lo)[0] for k in (kernel, finer))
    parts = [slice(a, b) for a, b in pairwise(start)]
    with np.errstate(divide="ignore"):
        exact = [twin.integral(kind, rows.y[p], rows.m[p], eta0[p], hi[p], lo[p], zl[p, 0]) for p in parts]
    assert got + apart(kind, rows.m, hi, lo)[0].sum() == pytest.approx(sum(exact), abs=1e-8)
    assert more == pytest.approx(got, abs=1e-9)
    np.testing.assert_array_equal(finer.ranges.intervals, 2 * kernel.ranges.intervals)
    for own, better in zip(kernel.by[:4], finer.by[:4], strict=True):  # the last is of one node
        np.testing.assert_allclose(own, better, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("kind", range(5))
def test_gradient_of_the_trapezoidal_rule_is_exact(kind):
    rows, start = grouped(kind)
    often = np.array([1.0, 2.0, 1.0, 3.0, 1.0, 1.0])
    kernel = Trapezoid.of(LikelihoodRows(**{**vars(rows), "times": np.repeat(often, np.diff(start))}), start, often)

    def at(params):
        given = one_term(rows, params)
        value, eta = kernel.value(*given)
        by = kernel.adjoint(eta, *given[1:])
        tau = [by.hi[rows.category == j].sum() + by.lo[rows.category == j + 1].sum() for j in range(2)]
        return value, np.concatenate([rows.X.T @ by.eta, [(by.scale * rows.z).sum()], [0], tau])

    h = 1e-5
    plain = [(at(PARAMS + e)[0] - at(PARAMS - e)[0]) / (2 * h) for e in h * np.eye(6)]
    assert at(PARAMS)[1] == pytest.approx(np.array(plain), abs=1e-5)


@pytest.mark.parametrize("kind", range(5))
def test_the_first_sum_alone_is_near_and_leaves_the_whole_rule_as_it_was(kind):
    rows, start = grouped(kind)
    given = one_term(rows, PARAMS)
    kernel = Trapezoid.of(rows, start, np.ones(6))
    rough = kernel.rough()
    assert rough.value(*given)[0] == pytest.approx(kernel.value(*given)[0], abs=1e-4)
    assert (rough.ranges.intervals == FIRST).all()
    assert (kernel.ranges.intervals > FIRST).all()


@pytest.mark.parametrize("kind", range(5))
def test_nodes_that_are_held_give_the_integral_and_its_derivatives_nearby(kind):
    rows, start = grouped(kind)
    kernel, again = (Trapezoid.of(rows, start, np.ones(6)) for _ in range(2))
    value = kernel.value(*one_term(rows, PARAMS))[0]
    ranges = [a.copy() for a in kernel.ranges]
    held = kernel.held()
    assert held.value(*one_term(rows, PARAMS))[0] == pytest.approx(value, rel=1e-13)
    moved = one_term(rows, PARAMS + 0.01)
    assert held.value(*moved)[0] == pytest.approx(again.value(*moved)[0], abs=1e-8)
    np.testing.assert_allclose(held.by.zl, again.by.zl, atol=1e-7)
    for own, before in zip(kernel.ranges, ranges, strict=True):
        np.testing.assert_array_equal(own, before)


def test_no_mode_is_an_infinite_integral():
    rows, start = grouped(0)
    eta0, zl, hi, lo = one_term(rows, PARAMS)
    kernel = Trapezoid.of(rows, start, np.ones(6))
    assert kernel.value(eta0 * np.nan, zl, hi, lo)[0] == np.inf
    assert np.isfinite(kernel.value(eta0, zl, hi, lo)[0])


def test_gauss_hermite_nodes_integrate_the_fourth_moment_of_a_normal():
    node, log_weight = rule(7)
    assert (np.exp(log_weight - node**2 / 2) * node**4).sum() == pytest.approx(3.0, rel=1e-12)
