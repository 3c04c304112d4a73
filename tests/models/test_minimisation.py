"""The quasi-Newton minimiser, and columns brought to one scale."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der, rosen_hess

from judgestats.models.likelihood import minimisation
from judgestats.models.likelihood.minimisation import hessian, minimise
from judgestats.models.likelihood.objectives import Scales
from judgestats.models.likelihood.starting_values import even


def banana(x):
    return float(rosen(x)), rosen_der(x)


def test_a_curved_valley():
    found = minimise(banana, np.array([-1.2, 1.0, 0.5]), np.eye(3) * 0.01)
    assert found.converged
    assert found.x == pytest.approx(np.ones(3), abs=1e-5)
    assert found.hessian == pytest.approx(rosen_hess(np.ones(3)), rel=1e-2, abs=1e-1)
    assert np.diff([r["objective"] for r in found.log]).max() <= 1e-12


def test_points_that_are_not_allowed_are_stepped_around():
    def walled(x):  # log barrier: x > 0
        if x[0] <= 0:
            return np.inf, np.full(1, np.nan)
        return float(x[0] - np.log(x[0])), 1 - 1 / x

    assert minimise(walled, np.array([5.0]), np.array([[10.0]])).x == pytest.approx([1.0], abs=1e-6)


def test_a_function_without_a_minimum_does_not_converge():
    found = minimise(lambda x: (float(-x.sum()), -np.ones(2)), np.zeros(2), np.eye(2), most=20)
    assert not found.converged


def test_a_search_that_takes_long_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each evaluation after its time is a step of the work that is shown, and none of a short search."""
    steps: list[str] = []

    @contextmanager
    def shown(what: str, *, after: float) -> Iterator[Callable[[str], None]]:
        yield lambda step: steps.append(f"{what}: {step}")

    monkeypatch.setattr(minimisation, "working", shown)
    minimise(banana, np.array([-1.2, 1.0, 0.5]), np.eye(3) * 0.01)
    assert steps == []
    monkeypatch.setattr(minimisation, "SLOW", -1.0)
    search = minimise(banana, np.array([-1.2, 1.0, 0.5]), np.eye(3) * 0.01)
    assert len(steps) >= search.log[-1]["evaluations"]
    assert (
        steps[0]
        == f"fitting: evaluation 1 of at most 1090, log-likelihood {-banana([-1.2, 1.0, 0.5])[0]:.3f} up to a constant"
    )


def test_hessian_by_differences_of_the_gradient():
    x = np.array([0.3, -0.2])
    assert hessian(banana, x, np.full(2, 1e-3)) == pytest.approx(rosen_hess(x), rel=1e-5)


def test_even_columns_are_orthogonal_and_theta_follows() -> None:
    rng = np.random.default_rng(0)
    z = np.column_stack([np.ones(50), rng.normal(size=50) + 40, 1e5 * rng.normal(size=50), rng.random(50) * 1e-3])
    scales = Scales.of((3, 1))
    weight, theta = rng.random(50), rng.normal(size=7)
    new, turn = even(z, weight, scales)
    np.testing.assert_allclose(weight @ new**2 / weight.sum(), 1.0)
    cross = new[:, :3].T @ (new[:, :3] * weight[:, None])
    np.testing.assert_allclose(cross - np.diag(np.diag(cross)), 0, atol=1e-8)
    np.testing.assert_allclose(scales.spread(z, turn @ theta), scales.spread(new, theta), rtol=1e-9, atol=1e-9)
    assert (np.diag(turn) > 0).all()


def test_even_leaves_indicators_and_aliased_columns() -> None:
    z = np.array([[1.0, 0, 0], [0, 1, 1], [0, 1, 1], [1, 0, 0]])
    new, turn = even(z, np.ones(4), Scales.of((2, 1)))
    np.testing.assert_allclose(new, z)
    np.testing.assert_allclose(turn, np.eye(4))
    new, turn = even(np.column_stack([z[:, 0], 2 * z[:, 0]]), np.ones(4), Scales.of((2,)))
    np.testing.assert_allclose(new, np.column_stack([z[:, 0], z[:, 0]]))


def two_wells(x):
    """Minima near (-1, 0) and (1, 0), the latter lower, and a saddle point at 0, to which a search from x = 0 runs."""
    a, b = x
    return float((a**2 - 1) ** 2 / 4 + b**2 - 0.01 * a**3), np.array([a * (a**2 - 1) - 0.03 * a**2, 2 * b])


def test_a_saddle_point_is_left_for_the_lower_side():
    found = minimise(two_wells, np.array([0.0, 2.0]), np.eye(2))
    assert found.converged
    assert found.x == pytest.approx([1.0151, 0.0], abs=1e-3)


def test_a_saddle_point_that_cannot_be_left_has_not_converged():
    def walled(x):  # the valley is all that is allowed
        value, gradient = two_wells(x)
        return (value, gradient) if abs(x[0]) < 1e-2 else (np.inf, gradient)

    assert not minimise(walled, np.array([0.0, 2.0]), np.eye(2)).converged
