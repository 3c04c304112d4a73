"""The delta method, and responses averaged over normal random effects."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import gumbel_l, norm

from judgestats.errors import DesignError
from judgestats.models.links import LINKS, class_averages
from judgestats.models.postestimation.delta_method import delta, normal_quantile, spread


def test_derivatives_of_a_known_function() -> None:
    at = np.array([0.3, -1.2, 2.0])
    V = np.diag([0.04, 1.0, 0.25])
    values, J = delta(lambda p: np.array([p[0] * p[1], np.exp(p[2]), p[0] ** 2 + p[2]]), at, V)
    np.testing.assert_allclose(values, [-0.36, np.exp(2), 2.09])
    np.testing.assert_allclose(J, [[-1.2, 0.3, 0], [0, 0, np.exp(2)], [0.6, 0, 1]], rtol=1e-7, atol=1e-9)


def test_a_single_number_and_a_parameter_without_variance() -> None:
    V = np.array([[np.nan, 0.0], [0.0, 0.0]])
    values, J = delta(lambda p: p[0] ** 2 * p[1], np.array([3.0, 0.5]), V)
    np.testing.assert_allclose(values, [4.5])
    np.testing.assert_allclose(J, [[3.0, 9.0]], rtol=1e-8)


def test_variance_of_a_ratio_by_simulation() -> None:
    at, V = np.array([2.0, 4.0]), np.array([[0.01, 0.004], [0.004, 0.02]])
    _, J = delta(lambda p: p[:1] / p[1:], at, V)
    drawn = np.random.default_rng(1).multivariate_normal(at, V, 400_000)
    assert spread(J, V)[0] == pytest.approx((drawn[:, 0] / drawn[:, 1]).std(), rel=5e-3)


def test_what_is_not_known_matters_only_where_it_is_used() -> None:
    V = np.array([[4.0, np.nan], [np.nan, np.nan]])
    np.testing.assert_array_equal(spread(np.array([[1.0, 0.0], [1.0, 1e-9], [0.0, 0.0]]), V), [2.0, np.nan, 0.0])
    jacobian = np.random.default_rng(3).normal(size=(4, 2, 2))
    assert spread(jacobian, np.eye(2)).shape == (4, 2)


def test_quantile() -> None:
    assert normal_quantile(0.9) == pytest.approx(1.6448536269514722)
    with pytest.raises(DesignError, match="must be between 0 and 1"):
        normal_quantile(95)


@pytest.mark.slow
@given(st.floats(-8, 8), st.floats(0.01, 8))
def test_the_average_of_a_logistic_is_its_integral(eta: float, sd: float) -> None:
    value, by_eta, by_variance = LINKS["logit"].average(np.array([eta]), np.array([sd**2]))

    def integral(f: object) -> float:
        return quad(
            lambda u: f(eta + sd * u) * norm.pdf(u),
            -12,
            12,
            points=[-eta / sd] if abs(eta) < 12 * sd else None,
            epsabs=1e-13,
            limit=400,
        )[0]  # type: ignore[operator]

    assert value[0] == pytest.approx(integral(expit), abs=1e-10)
    assert by_eta[0] == pytest.approx(integral(lambda x: expit(x) * expit(-x)), abs=1e-10)
    # dE/dv = E[u F'(eta + sd u)] / (2 sd), without the second derivative
    own = quad(
        lambda u: u * expit(eta + sd * u) * expit(-eta - sd * u) * norm.pdf(u),
        -12,
        12,
        points=[-eta / sd] if abs(eta) < 12 * sd else None,
        epsabs=1e-13,
        limit=400,
    )[0]
    assert by_variance[0] == pytest.approx(own / (2 * sd), abs=1e-8)


@pytest.mark.parametrize(
    ("link", "F"),
    [("probit", norm.cdf), ("cloglog", gumbel_l.cdf), ("log", np.exp), ("identity", lambda x: x)],
)
def test_closed_forms_are_integrals(link: str, F: object) -> None:
    for eta, v in ((-1.0, 0.5), (0.7, 2.0)):
        wanted = quad(lambda u, e=eta, s=v**0.5: F(e + s * u) * norm.pdf(u), -14, 14, epsabs=1e-13)[0]  # type: ignore[operator]
        value, by_eta, by_variance = LINKS[link].average(np.array([eta]), np.array([v]))
        assert value[0] == pytest.approx(wanted, rel=1e-9)
        _, J = delta(lambda p, k=link: LINKS[k].average(p[:1], p[1:])[0], np.array([eta, v]), np.eye(2))
        np.testing.assert_allclose(J[0], [by_eta[0], by_variance[0]], rtol=1e-7, atol=1e-9)


def test_mixed_variances_and_missing_rows() -> None:
    eta, v = np.array([0.5, np.nan, 0.5, -1.0]), np.array([0.0, 1.0, 4.0, 9.0])
    value = LINKS["logit"].average(eta, v)[0]
    assert value[0] == pytest.approx(expit(0.5), abs=1e-14)
    assert np.isnan(value[1])
    assert value[2] == pytest.approx(LINKS["logit"].average(eta[2:3], v[2:3])[0][0], abs=1e-13)


@pytest.mark.parametrize("link", LINKS)
def test_links_are_inverses(link: str) -> None:
    eta = np.array([-1.5, 0.2, 2.0])
    np.testing.assert_allclose(LINKS[link].forward(LINKS[link].inverse(eta)), eta, rtol=1e-12)


def test_with_two_classes_averages_are_the_logistic_ones() -> None:
    eta, variance = np.array([-1.0, 0.0, 2.5]), np.array([0.3, 1.0, 3.0])
    wanted = LINKS["logit"].average(eta, variance)
    own = class_averages(eta[:, None], variance[:, None, None])
    for exact, mine in zip(wanted, own, strict=True):
        np.testing.assert_allclose(mine.reshape(3, 2)[:, 1], exact, atol=1e-8)
        np.testing.assert_allclose(mine.reshape(3, 2).sum(axis=1), mine is own[0], atol=1e-12)


@pytest.mark.parametrize(("K", "accuracy", "slack"), [(2, 1e-9, 1e-6), (3, 1e-5, 2e-4), (4, 1e-4, 2e-3)])
def test_averages_of_classes_are_those_of_many_nodes_and_derivatives_those_of_differences(
    K: int, accuracy: float, slack: float
) -> None:
    rng = np.random.default_rng(K)
    eta, root = rng.normal(size=(2, K)), np.tril(rng.normal(0, 0.6, (2, K, K)))
    covariance = root @ root.swapaxes(1, 2)
    value, by_eta, by_covariance = class_averages(eta, covariance)
    nodes, weights = np.polynomial.hermite_e.hermegauss(17 if K > 3 else 35)
    grid = np.stack(np.meshgrid(*[nodes] * K, indexing="ij"), axis=-1).reshape(-1, K)
    share = np.prod(np.meshgrid(*[weights / weights.sum()] * K, indexing="ij"), axis=0).ravel()
    e = np.exp(np.pad(eta[:, None] + grid @ root.swapaxes(1, 2), ((0, 0), (0, 0), (1, 0))))
    np.testing.assert_allclose(value, np.einsum("q,mqj->mj", share, e / e.sum(axis=2, keepdims=True)), atol=accuracy)
    step = 1e-4  # of the covariance `slack` is larger: nodes turn with its axes
    for k in range(K):
        move = step * np.eye(K)[k]
        up, down = (class_averages(eta + side * move, covariance)[0] for side in (1, -1))
        np.testing.assert_allclose(by_eta[..., k], (up - down) / (2 * step), atol=1e-7)
        for m in range(k + 1):
            both = step * (np.outer(np.eye(K)[k], np.eye(K)[m]) + np.outer(np.eye(K)[m], np.eye(K)[k])) / 2
            up, down = (class_averages(eta, covariance + side * both)[0] for side in (1, -1))
            np.testing.assert_allclose(by_covariance[..., k, m], (up - down) / (2 * step), atol=slack)
