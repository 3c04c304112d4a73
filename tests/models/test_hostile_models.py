"""Designs that break engines: columns on any scale, a response far from 0, variances on their boundary, far tails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime

import judgestats as js
from judgestats.kernels import likelihoods as lk
from judgestats.models.likelihood.minimisation import Scales, even


def slopes(seed: int = 2, N: int = 600, spread: tuple[float, float] = (1.0, 0.5)) -> pd.DataFrame:
    """Calls with a random intercept and a random slope."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"x": rng.normal(size=N), "g": rng.integers(0, 30, N), "h": rng.integers(0, 9, N)})
    b = rng.normal(size=(30, 2)) * spread
    eta = 0.2 + 0.5 * table["x"] + b[table["g"], 0] + b[table["g"], 1] * table["x"]
    table["y"] = (rng.random(N) < 1 / (1 + np.exp(-eta))).astype(int)
    return table.assign(s=eta + rng.normal(size=N), k=rng.poisson(np.exp(0.5 * eta)))


@pytest.mark.slow
@pytest.mark.parametrize("slope", ["(0 + x|g)", "(x|g)", "(x||g)"])
@pytest.mark.parametrize(
    ("answer", "options"),
    [
        ("y", {"family": "binomial"}),
        ("k", {"family": "poisson"}),
        ("s", {"family": "gaussian"}),
        ("s", {"family": "gaussian", "reml": True}),
    ],
)
@pytest.mark.parametrize("times", [1e6, 1e-6])
def test_units_of_a_slope_do_not_matter(answer: str, options: dict[str, Any], slope: str, times: float) -> None:
    table = slopes()
    formula = f"{answer} ~ x + {slope} + (1|h)"
    one, other = (js.fit(formula, t, **options) for t in (table, table.assign(x=table["x"] * times)))
    moved = np.log(times) if options.get("reml") else 0.0  # |X'V⁻¹X| has the units of x
    assert other.loglik == pytest.approx(one.loglik - moved, abs=1e-6)
    assert other.notes == one.notes
    assert other.beta[1] * times == pytest.approx(one.beta[1], rel=1e-5)
    errors = [np.sqrt(np.diag(f.covariance))[1] for f in (one, other)]
    assert errors[1] * times == pytest.approx(errors[0], rel=1e-4)
    sds = [np.sqrt(np.concatenate([np.diag(c) for c in f.covariances()])) for f in (one, other)]
    unit = [times if name == "x" else 1.0 for t in other.design.terms for name in t.names]
    np.testing.assert_allclose(sds[1] * unit, sds[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("answer", "family"), [("y", "binomial"), ("s", "gaussian")])
@pytest.mark.parametrize("far", [2020.0, 1e5])
def test_where_a_slopes_column_has_its_zero_does_not_matter(answer: str, family: str, far: float) -> None:
    table = slopes()
    one, other = (js.fit(f"{answer} ~ x + (x|g)", t, family=family) for t in (table, table.assign(x=table["x"] + far)))
    assert other.loglik == pytest.approx(one.loglik, abs=1e-6)
    assert other.notes == one.notes == ()
    np.testing.assert_allclose(other.covariances()[0][1, 1], one.covariances()[0][1, 1], rtol=1e-4)
    errors = [np.sqrt(np.diag(f.covariance)) for f in (one, other)]
    assert errors[1][1] == pytest.approx(errors[0][1], rel=1e-4)
    middle = one.covariances()[0] @ [0, 1]  # covariance of intercept and slope at the old zero
    there = other.covariances()[0] @ [0, 1] + far * other.covariances()[0][1, 1] * np.array([1, 0])
    np.testing.assert_allclose(there, middle, rtol=1e-3, atol=1e-4)


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


@pytest.mark.parametrize("reml", [False, True])
@pytest.mark.parametrize("far", [1e8, 1e10])
def test_a_response_far_from_zero_keeps_its_digits(far: float, reml: bool) -> None:
    table = slopes()
    table = table.assign(x=table["x"].round(1), s=(table["s"] * 16).round() / 16)  # sums with 1e10 are exact
    table = pd.concat([table, table.assign(s=table["s"] + 0.5)])  # cells with several rows
    one, other = (
        js.fit("s ~ x + (1|g) + (1|h)", t, family="gaussian", reml=reml)
        for t in (table, table.assign(s=table["s"] + far))
    )
    assert other.loglik == pytest.approx(one.loglik, abs=1e-3)
    assert other.notes == one.notes
    np.testing.assert_allclose(other.params[1:], one.params[1:], atol=2e-4)
    np.testing.assert_allclose(np.sqrt(np.diag(other.covariance)), np.sqrt(np.diag(one.covariance)), rtol=2e-3)


def test_cells_of_a_far_response_are_the_rows() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x": np.repeat([0, 1], 60), "g": np.tile(range(6), 20), "u": rng.normal(size=120)})
    table["s"] = 1e8 + table["u"] + table["x"] + np.array([0.5, -1, 0, 2, -0.5, 1])[table["g"]]
    cells = js.fit("s ~ x + (1|g)", table, family="gaussian")
    table["w"] = 1 + 1e-9 * np.arange(120)  # nothing to collapse
    rows = js.fit("s ~ x + (1|g)", table, family="gaussian", weights="w")
    assert cells.loglik == pytest.approx(rows.loglik, abs=1e-4)
    assert cells.residual == pytest.approx(rows.residual, rel=1e-6)


def saddle(seed: int) -> pd.DataFrame:
    """Calls whose slopes vary and whose intercepts do not."""
    rng = np.random.default_rng(4)
    N = 1500
    table = pd.DataFrame({"x": rng.normal(size=N).round(2), "g": rng.integers(0, 40, N)})
    own = np.random.default_rng(100 + seed)
    eta = 0.2 + 0.5 * table["x"] + own.normal(size=40)[table["g"]] * table["x"]
    return table.assign(y=(own.random(N) < 1 / (1 + np.exp(-eta))).astype(int), s=eta + own.normal(size=N))


@pytest.mark.parametrize("seed", [1, 3, 4, 5, 6])
@pytest.mark.parametrize(("answer", "family"), [("y", "binomial"), ("s", "gaussian")])
def test_a_variance_of_zero_beside_a_slope_is_left(answer: str, family: str, seed: int) -> None:
    """The likelihood is stationary where an intercept does not vary, and grows from there to a correlation of 1."""
    fit = js.fit(f"{answer} ~ x + (x|g)", saddle(seed), family=family)
    assert fit.converged
    assert "Hessian not positive definite" not in fit.notes
    design = fit.design
    theta = fit.theta / (fit.residual if family == "gaussian" else 1.0)
    if family == "gaussian":
        from judgestats.models.ml import Model, gaussian

        target, free = gaussian(Model(design, family, "identity")), np.zeros(0)
    else:
        target, free = fit.objective, fit.beta
    best = target(np.append(free, theta))[0]
    slope = np.sqrt(theta[1] ** 2 + theta[2] ** 2)
    for intercept in (0.003, 0.01, 0.03, 0.1):
        for lean in (-1.0, -0.6, 0.0, 0.6, 1.0):
            own = np.array([intercept, lean * slope, np.sqrt(1 - lean**2) * slope])
            assert target(np.append(free, own))[0] >= best - 1e-6


def test_the_saddle_of_glmmtmb_and_lme4() -> None:
    """glmmTMB 1.1.5 finds -937.0575 and -944.8109 on these calls, lme4 -937.0578 and -944.8110."""
    for seed, loglik in ((4, -937.057535), (5, -944.810945)):
        fit = js.fit("y ~ x + (x|g)", saddle(seed), family="binomial")
        assert fit.loglik == pytest.approx(loglik, abs=2e-6)
        assert fit.notes == ("singular fit",)


@pytest.mark.parametrize("kind", [lk.CUMULATIVE_LOGIT, lk.CUMULATIVE_PROBIT])
@pytest.mark.parametrize(
    ("hi", "lo"), [(-40.0, -np.inf), (np.inf, 45.0), (-60.0, -61.0), (61.0, 60.0), (-800.0, -803.0), (703.0, 700.0)]
)
def test_categories_far_in_a_tail(kind: int, hi: float, lo: float) -> None:
    value, r, w, w1 = lk.loss(lk.FAMILIES[kind], 0.0, 2.0, 0.0, hi, lo)
    near = min(abs(hi), abs(lo))
    leading = near if kind == lk.CUMULATIVE_LOGIT else near**2 / 2
    assert value / 2 == pytest.approx(leading, rel=0.02)
    width = 1e-4

    def moved(part: int, by: float, up: float = 0.0, down: float = 0.0) -> float:
        return float(lk.loss(lk.FAMILIES[kind], 0.0, 2.0, by, hi + up, lo + down)[part])

    for part, derivative in enumerate((r, w, w1)):
        slope = (moved(part, width) - moved(part, -width)) / (2 * width)
        assert derivative == pytest.approx(slope, rel=1e-5, abs=2e-3)
    direct = lk.threshold_loss(lk.FAMILIES[kind], 0.0, 2.0, 0.0, hi, lo)
    for part in range(3):
        up = (moved(part, 0, width) - moved(part, 0, -width)) / (2 * width)
        down = (moved(part, 0, 0, width) - moved(part, 0, 0, -width)) / (2 * width)
        assert direct[part] == pytest.approx(up, rel=1e-5, abs=2e-3)
        assert direct[3 + part] == pytest.approx(down, rel=1e-5, abs=2e-3)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("size", [20.0, 60.0])
def test_two_categories_are_a_binomial_response_in_far_tails_too(link: str, size: float) -> None:
    rng = np.random.default_rng(5)
    table = slopes().assign(off=size * rng.normal(size=600), y=rng.integers(0, 2, 600))
    formula = "y ~ x + offset(off) + (1|g)"
    two, one = (js.fit(formula, table, family=f, link=link) for f in ("cumulative", "binomial"))
    assert two.loglik == pytest.approx(one.loglik, rel=1e-9)
    assert two.beta[0] == pytest.approx(one.beta[1], rel=1e-4)


def test_absurd_offsets_are_said_and_not_raised() -> None:
    rng = np.random.default_rng(0)
    table = slopes().assign(off=500 * rng.normal(size=600))
    assert "not converged" in js.fit("k ~ x + offset(off) + (1|g)", table, family="poisson").notes


def test_the_log_goes_on_through_further_searches() -> None:
    log = js.fit("y ~ x + (x|g)", saddle(4), family="binomial").log
    assert log["iteration"].tolist() == list(range(len(log)))
    assert (log["evaluations"].diff().dropna() >= 0).all()


@pytest.mark.parametrize(("answer", "family"), [("y", "binomial"), ("k", "poisson")])
def test_gradient_in_even_coordinates(answer: str, family: str) -> None:
    from judgestats.models.designs import design
    from judgestats.models.likelihood.minimisation import turned
    from judgestats.models.ml import Model, generalised

    table = slopes().assign(x=lambda t: 1e4 * t["x"] + 3e4)
    target = generalised(
        Model(design(f"{answer} ~ x + (x|g)", table, family=family), family, "log" if family == "poisson" else "logit")
    )[1]
    own, turn = turned(target)
    at = np.array([0.1, -0.2, 0.8, 0.3, 0.5])
    assert own(at)[0] == pytest.approx(target(turn @ at)[0], abs=1e-7)
    np.testing.assert_allclose(own(at)[1], approx_fprime(at, lambda x: own(x)[0], 1e-6), rtol=1e-3, atol=2e-3)
