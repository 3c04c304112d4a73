"""The Hessian by derivatives against differences of the gradient."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.models.likelihood import objectives
from judgestats.models.likelihood.minimisation import hessian
from judgestats.models.likelihood.objectives import GeneralisedObjective
from judgestats.models.likelihood.starting_values import turned

FAMILIES = [
    ("cumulative", "logit"),
    ("cumulative", "probit"),
    ("cumulative", "cloglog"),
    ("binomial", "logit"),
    ("binomial", "probit"),
    ("binomial", "cloglog"),
    ("poisson", "log"),
]


def objective(family: str, link: str) -> tuple[GeneralisedObjective, np.ndarray]:
    """Of 24 groups, each of whose rows stands there twice and of which four are the same, and its estimates."""
    rng = np.random.default_rng(1)
    g, x = np.arange(24).repeat(10), rng.normal(size=240).round(1)
    eta = 0.8 * x + rng.normal(0, 1.3, 24)[g]
    y = {
        "cumulative": np.digitize(eta + rng.logistic(size=240), [-1.0, 0.0, 1.5]),
        "binomial": (eta + rng.logistic(size=240) > 0).astype(int),
        "poisson": rng.poisson(np.exp(np.minimum(eta, 2.0))),
    }[family]
    table = pd.DataFrame({"y": y, "x": x, "g": g})
    same = [table[table["g"] == 0].assign(g=k) for k in (24, 25, 26)]
    table = pd.concat([*[table] * 2, *[s for s in same for _ in range(2)]])
    formula = "y ~ x + (0 + x|g)" if link == "probit" else "y ~ x + (1|g)"
    fit = js.fit(formula, table.astype({"g": str}), family=family, link=link)
    assert isinstance(fit.objective, GeneralisedObjective)
    return fit.objective, fit.params


@pytest.mark.parametrize(("family", "link"), FAMILIES)
def test_hessian_by_derivatives_is_that_of_differences(family: str, link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own, params = objective(family, link)
    assert not own.exact
    monkeypatch.setattr(objectives, "MANY", 0)
    assert own.exact
    assert own.rows.m.max() > 1
    assert own.rows.times.max() == 4
    inner, turn = turned(own)
    for target, at in ((own, params * 1.05), (inner, np.linalg.solve(turn, params))):
        target(at)
        got = target.hessian(at, at)
        held = replace(target, kernel=target.kernel.held())
        plain = hessian(held, at, np.full(len(at), 2e-3))
        scale = np.sqrt(np.diag(plain))
        np.testing.assert_allclose(got / np.outer(scale, scale), plain / np.outer(scale, scale), atol=1e-6)
        np.testing.assert_array_equal(got, got.T)


def test_newtons_method_ends_where_bfgs_does(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    g, x = np.arange(30).repeat(20), rng.normal(size=600)
    y = np.digitize(x + rng.normal(size=30)[g] + rng.logistic(size=600), [-1.0, 0.5, 2.0])
    table = pd.DataFrame({"y": y, "x": x, "g": g.astype(str)})
    by_differences = js.fit("y ~ x + (1|g)", table, family="cumulative")
    monkeypatch.setattr(objectives, "MANY", 0)
    by_derivatives = js.fit("y ~ x + (1|g)", table, family="cumulative")
    assert by_derivatives.loglik == pytest.approx(by_differences.loglik, abs=1e-8)
    np.testing.assert_allclose(by_derivatives.params, by_differences.params, atol=1e-6)
    errors = np.sqrt(np.diag(by_differences.covariance))
    scaled = (by_derivatives.covariance - by_differences.covariance) / np.outer(errors, errors)
    np.testing.assert_allclose(scaled, 0.0, atol=2e-5)


def test_of_a_size_and_of_laplace_it_is_by_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objectives, "MANY", 0)
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"y": rng.negative_binomial(2, 0.4, 200), "g": rng.integers(0, 20, 200).astype(str)})
    for options in ({"family": "negative_binomial"}, {"family": "poisson", "n_quadrature": 1}):
        fit = js.fit("y ~ 1 + (1|g)", table, **options)
        scale = np.full(len(fit.params), 0.1)
        assert not fit.objective.exact
        fit.objective(fit.params)
        near = hessian(fit.objective, fit.params, scale)
        np.testing.assert_allclose(fit.objective.hessian(fit.params, scale), near, rtol=1e-4, atol=1e-4)
