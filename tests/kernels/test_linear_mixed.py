from __future__ import annotations

import numpy as np
import pytest

import twins_mixed as twin
from judgestats.kernels.elimination import structure
from judgestats.kernels.linear_mixed import ResponseCells, profile


def crossed(seed=0, N=50):
    rng = np.random.default_rng(seed)
    item, judge = rng.integers(0, 8, N), rng.integers(0, 4, N)
    cols = np.column_stack([item, 8 + judge]).astype(np.int64)
    X, z = np.column_stack([np.ones(N), rng.normal(size=N)]), np.column_stack([np.ones(N), rng.normal(size=N)])
    y = X @ [1.0, 0.5] + rng.normal(size=8)[item] + rng.normal(size=N)
    return ResponseCells(y, np.ones(N), X, z, float(N), 0.0, 0.0), structure(cols, np.array([0, 8, 12]))


@pytest.mark.parametrize("reml", [True, False])
@pytest.mark.parametrize("theta", [(0.7, 0.4), (0.0, 1.2), (0.0, 0.0)])
def test_objective_is_that_of_dense_algebra(theta, reml):
    cells, t = crossed()
    zl = np.array(theta) * cells.z
    plain = twin.gaussian(cells.mean, cells.X, twin.dense_design(t.cols, zl, t.q), reml)
    assert profile(cells, t, zl, reml).objective == pytest.approx(plain, rel=1e-10)


@pytest.mark.parametrize("reml", [True, False])
def test_gradient_is_exact(reml):
    cells, t = crossed()
    theta, h = np.array([0.7, 0.4]), 1e-5
    got = (profile(cells, t, theta * cells.z, reml).scale * cells.z).sum(axis=0)
    plain = [
        (
            profile(cells, t, (theta + e) * cells.z, reml).objective
            - profile(cells, t, (theta - e) * cells.z, reml).objective
        )
        / (2 * h)
        for e in h * np.eye(2)
    ]
    assert got == pytest.approx(plain, abs=1e-6)


def test_cells_stand_for_their_rows():
    cells, t = crossed()
    twice = np.concatenate([cells.mean + 0.3, cells.mean - 0.3])
    rows = ResponseCells(twice, np.ones(100), np.tile(cells.X, (2, 1)), np.tile(cells.z, (2, 1)), 100.0, 0.0, 0.0)
    long = structure(np.tile(t.cols, (2, 1)), np.array([0, 8, 12]))
    short = ResponseCells(cells.mean, np.full(50, 2.0), cells.X, cells.z, 100.0, 100 * 0.09, 0.0)
    a, b = (profile(c, s, 0.6 * c.z, True) for c, s in ((rows, long), (short, t)))
    assert a.objective == pytest.approx(b.objective, rel=1e-12)
    assert a.beta == pytest.approx(b.beta)
    assert a.u == pytest.approx(b.u)
