"""The fast path: against the sampled model, against likelihood, against integrals; its speed and its refusals."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import dblquad
from scipy.stats import binom, halfnorm, norm
from scipy.stats import t as student

from judgestats.flags import HEAVY
from refusals import refused

pytest.importorskip("arviz_stats")

from judgestats.errors import DesignError
from judgestats.models.bayes import importance_sampling
from judgestats.models.bayes.centred_priors import CentredPrior, prior_of
from judgestats.models.bayes.draws import Draws, smoothed
from judgestats.models.bayes.importance_sampling import integrated
from judgestats.models.designs import design
from judgestats.models.ml import fit_design
from judgestats.models.specifications import Model
from judgestats.models.thresholds import NONE, cumulative_thresholds


def counts(groups: int, trials: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"g": np.repeat(np.arange(groups), 2), "x": np.tile([0.0, 1.0], groups)})
    eta = 0.4 + 0.8 * table["x"] + rng.normal(0, 0.9, groups)[table["g"]]
    table["k"] = rng.binomial(trials, 1 / (1 + np.exp(-eta)))
    return table.assign(m=trials - table["k"])


def binomial(table: pd.DataFrame, formula: str = "cbind(k, m) ~ x + (1|g)") -> Model:
    return Model(design(formula, table, family="binomial"), "binomial", "logit")


@pytest.mark.parametrize(
    ("family", "link"),
    [("binomial", "logit"), ("poisson", "log"), ("cumulative", "logit"), ("cumulative", "probit"), ("gaussian", "identity")],
)  # fmt: skip
def test_weights_and_mode_are_of_one_posterior(family: str, link: str) -> None:
    """The value that weighs a draw is the one whose gradient finds the mode."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"g": np.repeat(np.arange(12), 6), "x": rng.normal(size=72)})
    table["y"] = rng.integers(0, 2 if family == "binomial" else 4, 72)
    coded = design("y ~ x + (1|g)", table, family=family)
    cuts = cumulative_thresholds(coded.categories, link) if family == "cumulative" else NONE
    model = Model(coded, family, link, thresholds=cuts)
    of_family = importance_sampling._linear if family == "gaussian" else importance_sampling._generalised
    target = of_family(model, {})
    for shift in (0.0, 0.3, -0.4):
        at = target.start + shift * np.arange(1, len(target.start) + 1) / len(target.start)
        assert target.value(at) == pytest.approx(target.slope(at)[0], rel=1e-9)


@pytest.mark.slow
def test_equals_the_integral() -> None:
    """Intercept and sd of five groups: posterior means by brute force in two dimensions."""
    table = pd.DataFrame({"k": [3, 9, 6, 1, 8], "m": [7, 1, 4, 9, 2], "g": list("abcde")})
    u, w = np.polynomial.hermite_e.hermegauss(61)
    w = w / w.sum()

    def density(sd: float, level: float) -> float:
        p = 1 / (1 + np.exp(-(level + sd * u)))
        each = [(w * binom.pmf(k, 10, p)).sum() for k in table["k"]]
        return 1e5 * float(np.prod(each) * norm.pdf(level, 0, 1.5) * halfnorm.pdf(sd, 0, 0.8))

    total, level, sd = (
        dblquad(lambda s, b, f=f: f(s, b) * density(s, b), -4, 4, 0, 4, epsabs=1e-3, epsrel=1e-3)[0]
        for f in (lambda s, b: 1.0, lambda s, b: b, lambda s, b: s)
    )
    found = integrated(
        binomial(table, "cbind(k, m) ~ 1 + (1|g)"), {"Intercept": 1.5, "sd(g)": 0.8}, draws=8000
    ).summary()
    assert found["estimate"].to_numpy() == pytest.approx([level / total, sd / total], abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["binomial", "cumulative", "poisson", "gaussian"])
def test_flat_priors_and_many_data_give_maximum_likelihood(family: str) -> None:
    rng = np.random.default_rng(3)
    G, n = 150, 8
    table = pd.DataFrame({"g": np.repeat(np.arange(G), n), "x": np.tile(np.arange(n) % 2, G)})
    eta = 0.5 * table["x"] + rng.normal(0, 0.7, G)[table["g"]]
    z = eta + rng.logistic(size=len(table))
    made = {"binomial": (z > 0) * 1, "cumulative": np.digitize(z, [-1, 0, 1]), "poisson": rng.poisson(np.exp(eta)),
            "gaussian": eta + rng.normal(size=len(table))}  # fmt: skip
    table["y"] = made[family]
    link = {"poisson": "log", "gaussian": "identity"}.get(family, "logit")
    coded = design("y ~ x + (1|g)", table, family=family)
    cuts = cumulative_thresholds(coded.categories, link) if family == "cumulative" else NONE
    model = Model(coded, family, link, n_quadrature=1 if family == "gaussian" else 15, thresholds=cuts)
    flat = {"fixed": np.inf, "sd": np.inf} | (
        {"threshold": np.inf} if family in ("binomial", "cumulative", "poisson") else {}
    )
    found, ml = integrated(model, flat, draws=2000), fit_design(model)
    error = np.sqrt(np.diag(ml.covariance))
    table = found.summary()
    assert np.abs((table["estimate"] - ml.params) / error).max() < 0.3  # an sd is skewed by that
    assert table["std_error"].to_numpy() == pytest.approx(error, rel=0.15)
    assert found.pareto_k < 0.5


@pytest.mark.slow
def test_400_groups_take_seconds() -> None:
    """About 2 s of processor time; the stop is at five times that."""
    model = binomial(counts(400, 5))
    integrated(model)  # compiled
    start = time.process_time()
    found = integrated(model)
    assert time.process_time() - start < 10
    assert found.pareto_k < 0.7 < found.importance_ess


@pytest.mark.slow
def test_equals_the_sampled_model() -> None:
    """PyMC, not centred, the same priors: means within Monte Carlo error, sds within 10 %."""
    pm = pytest.importorskip("pymc")
    from judgestats.models.bayes.sampling import sample

    table = counts(40, 6, seed=2)
    with pm.Model() as model:
        level, slope = pm.Normal("level", 0, 2.5), pm.Normal("slope", 0, 2.5)
        sd = pm.HalfNormal("sd", 1.0)
        u = pm.Normal("u", 0, 1, shape=40)
        pm.Binomial(
            "k",
            6,
            logit_p=level + slope * table["x"].to_numpy() + sd * u[table["g"].to_numpy()],
            observed=table["k"].to_numpy(),
        )
    sampled = sample(model, {"level": (), "slope": (), "sd": ()}, draws=1000, tune=500, chains=2, progress=False)
    theirs, ours = sampled.summary(), integrated(binomial(table), draws=4000).summary()
    error = theirs["std_error"] * np.sqrt(1 / theirs["ess_bulk"] + 1 / 2000)
    assert (np.abs(theirs["estimate"] - ours["estimate"]) < 4 * error).all()
    assert ours["std_error"].to_numpy() == pytest.approx(theirs["std_error"], rel=0.1)
    assert ours["conf_high"].to_numpy() == pytest.approx(theirs["conf_high"], abs=0.12)


def test_gaussian_with_a_tight_prior_on_a_coefficient() -> None:
    """The prior of a coefficient is integrated in: against the conjugate formula with the sds all but known."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"g": np.repeat(np.arange(300), 4), "x": np.tile([0.0, 1.0, 2.0, 3.0], 300)})
    table["y"] = 0.05 * table["x"] + rng.normal(0, 1, 300)[table["g"]] + rng.normal(0, 1, 1200)
    model = Model(design("y ~ x + (1|g)", table, family="gaussian"), "gaussian", "identity")
    ml = fit_design(model)
    found = integrated(model, {"x": 0.02}, draws=2000).summary().set_index("term")
    own = 1 / ml.covariance[1, 1]
    # given the sds, which 1200 rows all but fix, the marginal likelihood of the slope is normal with this precision
    assert found.loc["x", "estimate"] == pytest.approx(ml.params[1] * own / (own + 1 / 0.02**2), rel=0.03)
    assert found.loc["x", "std_error"] == pytest.approx((own + 1 / 0.02**2) ** -0.5, rel=0.08)


def test_weights() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_t(3, 4000)
    weights, k = smoothed(norm.logpdf(x) - student.logpdf(x, 3))
    assert weights.sum() == pytest.approx(1)
    assert weights @ x**2 == pytest.approx(1, abs=0.06)
    assert k < 0.5
    narrow = rng.normal(0, 0.3, 4000)
    assert smoothed(norm.logpdf(narrow) - norm.logpdf(narrow, 0, 0.3))[1] > 0.7
    assert smoothed(np.append(np.zeros(500), -np.inf))[0][-1] == 0


def test_heavy_weights_are_told() -> None:
    values = {"a": np.random.default_rng(0).normal(size=(4, 500))}
    assert HEAVY in Draws(values, {"a": ()}, 0, "", pareto_k=0.8, importance_ess=900.0).notes()
    assert "fewer than 400 effective draws" in Draws(values, {"a": ()}, 0, "", 0.1, 30.0).notes()
    assert Draws(values, {"a": ()}, 0, "").notes() == ()


def test_same_seed_same_draws_and_order_of_rows() -> None:
    table = counts(20, 4)
    one, two = integrated(binomial(table), seed=5), integrated(binomial(table.sample(frac=1, random_state=1)), seed=5)
    assert np.allclose(one.flat("x"), two.flat("x"))
    assert not np.allclose(one.flat("x"), integrated(binomial(table), seed=6).flat("x"))


@pytest.mark.parametrize("df", [None, 3.0])
def test_stretched_prior(df: float | None) -> None:
    """A standard normal becomes the half-prior; the slope is its derivative."""
    prior, z = CentredPrior(0.7, df, True), np.linspace(-4, 4, 33)
    sd, slope = prior.stretched(z)
    law = halfnorm(0, 0.7).cdf if df is None else lambda v: 2 * student(df, 0, 0.7).cdf(v) - 1
    assert law(sd) == pytest.approx(norm.cdf(z), abs=1e-9)
    h = 1e-6
    assert slope == pytest.approx((prior.stretched(z + h)[0] - prior.stretched(z - h)[0]) / (2 * h), rel=1e-4, abs=1e-7)
    value, by = prior.loss(0.4)
    assert by == pytest.approx((prior.loss(0.4 + h)[0] - prior.loss(0.4 - h)[0]) / (2 * h), rel=1e-5)
    assert value > 0


def test_refusals() -> None:
    table = counts(20, 4)
    gaussian = Model(design("k ~ x + (x|g)", pd.concat([table] * 3), family="gaussian"), "gaussian", "identity")
    refused(
        DesignError,
        (lambda: integrated(binomial(table), {"sd(judge)": 1.0}), "not a parameter"),
        (lambda: integrated(binomial(table), {"sd(g)": -1.0}), "is not a prior"),
        (lambda: integrated(binomial(table, "cbind(k, m) ~ x + (x|g)")), "one scalar random term"),
        (lambda: integrated(binomial(table), draws=10), "draws="),
        (lambda: integrated(gaussian), "scalar ones"),
    )
    assert str(prior_of(np.inf, "x", half=False)) == "flat"
