"""Predictions of sampled fits: against brute force, and the prior against its quantiles."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from judgestats.flags import OUTSIDE_INTERVAL
from refusals import refused

pytest.importorskip("arviz_stats")

import judgestats as js
from judgestats.errors import DesignError, FitError, SchemaError
from judgestats.models.bayes.draws import Draws
from judgestats.models.bayes.priors import priors
from judgestats.models.bayes.replicates import replicates
from judgestats.models.designs import design
from judgestats.models.engines.bayes_pymc import _effects, prior_draws
from judgestats.models.estimation import as_fit
from judgestats.models.fitted_models import Fitted, Options
from judgestats.models.hierarchical import Posterior
from judgestats.models.postestimation.posterior_summaries import SampledPosterior, _where_priors_are, priors_in
from judgestats.models.specifications import Model
from judgestats.models.thresholds import cumulative_thresholds
from models.toys import calls, tallied


def fixed(formula, data, family, link, value, effects=(), shape="free", spread=0.0, weights=None):
    """A fit whose draws all lie at one value, or around it."""
    d = design(formula, data, family=family, weights=weights, counts="n" if "n" in data else None)
    own = cumulative_thresholds(d.categories, link, shape)
    model = Model(d, family, link, thresholds=own, part=np.zeros(len(d.y), np.int64))
    noise = spread * np.random.default_rng(3).standard_normal((1, 2000, len(value)))
    values = {"parameters": np.asarray(value, float) + noise}
    labels = {"parameters": (model.parameter_names,)}
    for t, (term, e) in enumerate(zip(d.terms, effects, strict=True)):
        values[f"effects {t}"] = np.broadcast_to(e, (1, 2000, *np.shape(e)))
        labels[f"effects {t}"] = (term.levels, term.names)
    draws = Draws(values, labels, 0, "posterior, by hand")
    about = Options(posterior=SampledPosterior(draws, priors(d, family, link, own, None)))
    flat = draws.flat("parameters")
    covariance = np.atleast_2d(np.cov(flat, rowvar=False))
    return as_fit(
        Fitted(model, "pymc", draws.method, flat.mean(axis=0), covariance, options=about,
                effects=lambda: _effects(model, draws))
    )  # fmt: skip


def test_binomial_intervals_are_those_of_the_binomial():
    table = pd.DataFrame({"s": [*"aabb"], "y": [0, 1, 0, 1], "n": [40, 60, 20, 80]})
    found = fixed("y ~ s", table, "binomial", "logit", [0.2, 0.5]).predictive(n_draws=20_000)
    p = stats.logistic.cdf([0.2, 0.7])
    assert found["s"].tolist() == ["a", "b"]
    assert found["observed"].tolist() == [60, 80]
    assert found["n"].tolist() == [100, 100]
    assert found["estimate"].to_numpy() == pytest.approx(100 * p, abs=0.2)
    for end, q in (("conf_low", 0.025), ("conf_high", 0.975)):
        assert np.abs(found[end] - stats.binom.ppf(q, 100, p)).max() <= 1
    assert found["inside"].tolist() == [True, False]
    assert found["flag"].tolist() == ["", OUTSIDE_INTERVAL]
    assert (found["method"] == "95 % posterior predictive interval; posterior, by hand").all()


def test_cells_of_by_are_sums_and_random_effects_are_their_levels():
    table = pd.DataFrame({"g": [*"aabbcc"], "s": [*"xyxyxy"], "y": [1, 0, 1, 1, 0, 1], "n": [30] * 6})
    fit = fixed("y ~ s + (1|g)", table, "binomial", "logit", [0.0, 0.5, 1.0], [np.array([[-2.0], [0.0], [2.0]])])
    found = fit.predictive(by="g", n_draws=2000)
    p = stats.logistic.cdf(np.array([-2.0, 0.0, 2.0])[:, None] + [0.0, 0.5])
    assert found["observed"].tolist() == [30, 60, 30]
    assert found["estimate"].to_numpy() == pytest.approx(30 * p.sum(axis=1), abs=0.4)
    whole = fit.predictive(by=(), n_draws=2000)
    assert whole[["observed", "n"]].to_numpy().tolist() == [[120, 180]]
    assert whole["estimate"].item() == pytest.approx(30 * p.sum(), abs=0.6)


def test_gaussian_means_have_the_error_of_a_mean():
    table = pd.DataFrame({"s": ["a"] * 9 + ["b"] * 3, "score": [1.0] * 9 + [5.0] * 3, "w": [1.0] * 9 + [4.0] * 3})
    fit = fixed("score ~ s", table, "gaussian", "identity", [1.0, 2.0, 1.5], weights="w")
    found = fit.predictive(by="s", n_draws=20_000)
    assert found["observed"].tolist() == [1, 5]
    assert (found["scale"] == "mean").all()
    want = 1.96 * np.array([1.5 / 3, 0.75 / np.sqrt(3)])
    assert (found["conf_high"] - found["estimate"]).to_numpy() == pytest.approx(want, rel=0.03)
    assert found["inside"].tolist() == [True, False]


def test_poisson_sums_and_categories():
    table = pd.DataFrame({"s": [*"aab"], "k": [2, 3, 5], "n": [10, 1, 4]})
    found = fixed("k ~ s", table, "poisson", "log", [0.5, 0.4]).predictive(n_draws=4000)
    assert found["observed"].tolist() == [23, 20]
    assert found["estimate"].to_numpy() == pytest.approx(np.exp([0.5, 0.9]) * [11, 4], rel=0.03)
    table = pd.DataFrame({"s": [*"aaab"], "v": ["loses", "tie", "wins", "wins"], "n": [20, 30, 50, 40]})
    fit = fixed("v ~ s", table, "cumulative", "probit", [0.3, -0.5, 0.6])
    found = fit.predictive(n_draws=4000).set_index(["s", "outcome"])
    assert found["observed"].tolist() == [20, 30, 50, 0, 0, 40]
    cut = stats.norm.cdf(np.array([-0.5, 0.6]) - np.array([[0.0], [0.3]]))
    p = np.diff(np.hstack([np.zeros((2, 1)), cut, np.ones((2, 1))]), axis=1)
    assert found["estimate"].to_numpy() == pytest.approx((p * [[100], [40]]).ravel(), abs=0.3)


@pytest.mark.parametrize(
    ("formula", "family", "link", "shape"),
    [
        ("score ~ s + (1 + x + z|g)", "gaussian", "identity", "free"),
        ("verdict ~ x + (1|g)", "cumulative", "logit", "free"),
        ("verdict ~ x + (1|g)", "cumulative", "probit", "symmetric"),
    ],
)
def test_draws_from_the_prior_have_its_quantiles(formula, family, link, shape):
    table = calls().assign(z=lambda t: t["x"] ** 2 + t["h"])
    d = design(formula, table, family=family)
    own = cumulative_thresholds(d.categories, link, shape)
    size = len(Model(d, family, link, thresholds=own).parameter_names)
    fit = fixed(formula, table, family, link, np.ones(size), [np.zeros((12, len(t.names))) for t in d.terms], shape)
    found = prior_draws(fit, 8000, np.random.default_rng(1))
    for prior, drawn in zip(priors_in(fit).each, _where_priors_are(fit, found, priors_in(fit)), strict=True):
        at = prior.quantile([0.1, 0.5, 0.9])
        share = (drawn[:, None] < at).mean(axis=0)
        assert share == pytest.approx([0.1, 0.5, 0.9], abs=0.025), prior.parameter


def test_the_prior_predictive_is_wider_and_seeds_repeat():
    fit = fixed("y ~ s", tallied(calls()), "binomial", "logit", [0.2, 0.5, 0.1], spread=0.1)
    both = fit.predictive("both", by="s", seed=4)
    width = (both["conf_high"] - both["conf_low"]).groupby(both["kind"]).mean()
    assert width["prior"] > 2 * width["posterior"]
    assert both["kind"].tolist() == ["posterior"] * 3 + ["prior"] * 3
    pd.testing.assert_frame_equal(both, fit.predictive("both", by="s", seed=4))
    pd.testing.assert_frame_equal(both.tail(3).reset_index(drop=True), fit.predictive("prior", by="s", seed=4))
    assert not both.equals(fit.predictive("both", by="s", seed=5))


def test_a_value_without_calls_is_not_inside():
    cells = pd.DataFrame({"judge": ["a"], "outcome": "tie"})
    made = replicates(cells, np.zeros(1), np.zeros((50, 1)), np.zeros(1), kind="prior").iloc[0]
    assert np.isnan(made["observed"])
    assert not made["inside"]
    assert made["flag"] == "no data"


def test_bad_options():
    fit = fixed("y ~ s", tallied(calls()), "binomial", "logit", [0.2, 0.5, 0.1])
    named = fixed("y ~ kind", calls().assign(kind=lambda t: t["s"]), "binomial", "logit", [0.2, 0.5, 0.1])
    nothing = Draws({}, {}, 0, "no posterior")
    empty = Posterior("?", pd.DataFrame(), pd.DataFrame(), pd.DataFrame({"flag": []}), nothing)
    refused(
        DesignError,
        (lambda: fit.predictive("later"), "kind"),
        (lambda: fit.predictive(by="S"), "by has 'S', which is no column of the model"),
        (lambda: fit.predictive(n_draws=3), "n_draws=3 "),
        (lambda: js.fit("y ~ s", calls()).predictive(), FitError, "engine='ml' has no draws"),
        (lambda: named.predictive(), SchemaError, "'kind'"),
        (lambda: empty.predictive(), "no posterior predictions"),
    )


def test_agreement_predicts_the_spread_of_its_scores():
    rng = np.random.default_rng(2)
    table = pd.DataFrame([(j, "s", i) for j in "abcd" for i in range(25)], columns=["judge", "system", "item"])
    table["score"] = 5 + rng.normal(size=25)[table["item"]] + rng.normal(size=100)
    found = js.hierarchical.agreement(table, sampling={"draws": 500}).predictive("both").set_index(["kind", "outcome"])
    assert found.loc["posterior", "observed"].tolist() == np.quantile(table["score"], [0, 0.25, 0.5, 0.75, 1]).tolist()
    assert found["inside"].all()
    width = found["conf_high"] - found["conf_low"]
    assert (width["prior"] > 3 * width["posterior"]).all()


def test_severity_predicts_every_mean_score():
    rng = np.random.default_rng(2)
    table = pd.DataFrame([(j, s, 4) for j in "abcd" for s in "vwxyz"], columns=["judge", "system", "runs"])
    table = table.assign(mean=5 + rng.normal(size=20).round(2), sd=1.0)
    found = js.hierarchical.severity(table, sampling={"draws": 200, "progress": False})
    after = found.predictive()
    assert after["observed"].to_numpy() == pytest.approx(table["mean"])
    assert after[["judge", "system"]].equals(table[["judge", "system"]])
    share = found.checks.set_index("what").loc["mean scores inside the 95 % predictive", "value"]
    assert after["inside"].mean() == pytest.approx(share)
