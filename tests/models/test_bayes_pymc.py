"""engine="pymc": its likelihood of counts, its priors, its draws as verbs, leave-one-out."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from refusals import refused

pm = pytest.importorskip("pymc")
pytest.importorskip("arviz_stats")

import judgestats as js  # noqa: E402
from judgestats.errors import DesignError, FitError  # noqa: E402
from judgestats.flags import CONFLICT, PRIOR_DRIVEN  # noqa: E402
from judgestats.models.bayes.draws import Draws, diagnostics, pointwise  # noqa: E402
from judgestats.models.bayes.priors import Prior, priors  # noqa: E402
from judgestats.models.designs import design  # noqa: E402
from judgestats.models.engines.bayes_pymc import Sampled, _effects, build  # noqa: E402
from judgestats.models.estimation import as_fit  # noqa: E402
from judgestats.models.fitted_models import Fitted, Options  # noqa: E402
from judgestats.models.postestimation import crossvalidation  # noqa: E402
from judgestats.models.postestimation.delta_method import delta  # noqa: E402
from judgestats.models.postestimation.posterior_summaries import SampledPosterior, draws_of  # noqa: E402
from judgestats.models.specifications import Model  # noqa: E402
from judgestats.models.thresholds import cumulative_thresholds  # noqa: E402
from models.toys import calls, tallied  # noqa: E402

FAST = {"draws": 300, "tune": 400, "chains": 2, "progress": False}


def coded(formula, data, family, link, shape="free", weights=None):
    d = design(formula, data, family=family, weights=weights, counts="n" if "n" in data else None)
    ordered = d.categories if family == "cumulative" else ()
    return Model(d, family, link, thresholds=cumulative_thresholds(ordered, link, shape))


def posterior(model, values, effects=(), asked=None):
    """A fit with draws made by hand: values (chains, draws, P)."""
    labels = {"parameters": (model.parameter_names,)}
    own = {"parameters": values, **{f"effects {t}": e for t, e in enumerate(effects)}}
    labels |= {f"effects {t}": (term.levels, term.names) for t, term in enumerate(model.design.terms)}
    draws = Draws(own, labels, 0, "posterior, by hand")
    prior = priors(model.design, model.family, model.link, model.thresholds, asked)
    flat = draws.flat("parameters")
    covariance = np.atleast_2d(np.cov(flat, rowvar=False))
    about = Options(posterior=SampledPosterior(draws, prior))
    return as_fit(
        Fitted(model, "pymc", draws.method, flat.mean(axis=0), covariance, options=about,
                effects=lambda: _effects(model, draws))
    )  # fmt: skip


# ---- the likelihood -------------------------------------------------------------------------------------------------

FAMILIES = [
    ("y ~ s + x + (1|g) + (1 + x|h)", "binomial", "logit", "free"),
    ("y ~ s + x + (1|g)", "binomial", "probit", "free"),
    ("score ~ s + (1 + x|g)", "gaussian", "identity", "free"),
    ("k ~ s + x + (1|g)", "poisson", "log", "free"),
    ("verdict ~ s + x + (1|g)", "cumulative", "logit", "free"),
    ("verdict ~ s + x + (1|g)", "cumulative", "probit", "symmetric"),
    ("y ~ s + x + (1|g)", "binomial", "cloglog", "free"),
    ("verdict ~ s + x + (1|g)", "cumulative", "cloglog", "free"),
    ("verdict ~ s + x + (1|g) + (1 + x|h)", "nominal", "logit", "free"),
]


def by_row(model, beta, tau, us, Ls, sigma):
    """Log likelihood of every single call, one after the other."""
    d, total = model.design, 0.0
    centre = priors(d, model.family, model.link, model.thresholds).centre
    for i in range(len(d.y)):
        eta = d.offset[i] + beta.reshape(model.predictors, -1) @ (d.X[i] - centre)
        for t, u, L in zip(d.terms, us, Ls, strict=True):
            eta = eta + (L @ u[t.codes[i]]).reshape(model.predictors, -1) @ t.values[i]
        classes = np.append(0.0, eta)
        eta = eta if model.family == "nominal" else eta[0]
        F = {"probit": stats.norm, "cloglog": stats.gumbel_l}.get(model.link, stats.logistic)
        if model.family == "gaussian":
            own = stats.norm.logpdf(d.y[i], eta, sigma)
        elif model.family == "poisson":
            own = stats.poisson.logpmf(d.y[i], np.exp(eta))
        elif model.family == "binomial":
            own = d.y[i] * F.logcdf(eta) + (d.trials[i] - d.y[i]) * F.logsf(eta)
        elif model.family == "nominal":
            own = classes[int(d.y[i])] - np.log(np.exp(classes).sum())
        else:
            cuts = np.concatenate([[-np.inf], model.thresholds.at(tau)[0], [np.inf]])
            low, high = (cuts[int(d.y[i]) + k] - eta for k in (0, 1))
            own = np.log(F.cdf(high) - F.cdf(low) if low < 0 else F.sf(low) - F.sf(high))
        total += d.count[i] * d.weights[i] * own
    return total


def potential(pymc_model, values):
    given = {pymc_model[name]: value for name, value in values.items()}
    return float(pymc_model["loglik"].eval(given, mode="FAST_COMPILE"))


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "family", "link", "shape"), FAMILIES)
def test_likelihood_of_counts_is_that_of_every_call(formula, family, link, shape):
    table = calls(60)
    table["score"] = table["score"].round(0)
    table = pd.concat([table, table.iloc[:20]], ignore_index=True)  # so that rows repeat
    model = coded(formula, table, family, link, shape)
    prior = priors(model.design, family, link, model.thresholds)
    target = build(model.design, family, link, model.thresholds, prior)
    rng, d, found = np.random.default_rng(1), model.design, []
    for _ in range(2):
        beta, sigma = rng.normal(size=len(d.names) * model.predictors), rng.uniform(0.5, 2)
        us = [rng.normal(size=(len(t.levels), len(t.names))) for t in d.terms]
        Ls = [np.tril(rng.uniform(0.2, 1.0, (len(t.names),) * 2)) for t in d.terms]
        own = {f"u{t}": u for t, u in enumerate(us)} | {f"L{t}": L for t, L in enumerate(Ls)} | {"beta": beta}
        tau = np.array([])
        if family == "gaussian":
            own["sigma"] = np.float64(sigma)
        if family == "cumulative":
            tau = np.array([-0.4, 0.9])
            own |= (
                {"cuts": tau[None]} if shape == "free" else {"midpoints": np.array([0.1]), "steps": np.array([[0.6]])}
            )
            tau = tau if shape == "free" else np.array([0.1, 0.6])
        found.append((potential(target, own), by_row(model, beta, tau, us, Ls, sigma)))
    (a, exact_a), (b, exact_b) = found  # but for a constant
    assert a - b == pytest.approx(exact_a - exact_b, abs=1e-8)
    if family in ("binomial", "cumulative", "nominal"):
        assert a == pytest.approx(exact_a, abs=1e-8)


@pytest.mark.slow
def test_counts_trials_and_weights_reach_the_likelihood():
    table = pd.DataFrame({"k": [3, 5, 0], "m": [9, 5, 4], "x": [0.0, 1.0, 2.0], "n": [2, 1, 4], "w": [1.0, 2.0, 0.5]})
    model = coded("cbind(k, m - k) ~ x", table, "binomial", "logit", weights="w")
    target = build(
        model.design, "binomial", "logit", model.thresholds, priors(model.design, "binomial", "logit", model.thresholds)
    )
    beta = np.array([0.3, -0.8])
    assert potential(target, {"beta": beta}) == pytest.approx(by_row(model, beta, None, [], [], 0), abs=1e-9)


def density(model, asked=None):
    """Log density of the unconstrained parameters, their shapes, and the priors."""
    prior = priors(model.design, model.family, model.link, model.thresholds, asked)
    target = build(model.design, model.family, model.link, model.thresholds, prior)
    shapes = {name: start.shape for name, start in target.initial_point().items()}
    return target.compile_logp(mode="FAST_COMPILE"), shapes, prior


def spots(shapes, seed, count=20):
    rng = np.random.default_rng(seed)
    return [{name: rng.normal(size=shape) for name, shape in shapes.items()} for _ in range(count)]


def classes_of(n=120):
    """A tally of calls with three classes, and with two."""
    table = tallied(calls(n)[["verdict", "s", "x", "g", "h"]])
    return table, table.assign(verdict=np.where(table["verdict"] == "wins", "wins", "other"))


def test_with_two_classes_the_density_is_the_binomial_one():
    two = classes_of()[1]
    formula = "verdict ~ s + x + (1|g) + (1 + x|h)"
    asked = {"x": (0.3, 0.8), "sd(h)": 0.7, "cor(h)": 3.0}
    binomial, shapes, prior = density(coded(formula, two, "binomial", "logit"), asked)
    nominal, own, same = density(coded(formula, two, "nominal", "logit"), asked)
    assert own == shapes
    assert [p.words for p in same.each] == [p.words for p in prior.each]
    for spot in spots(shapes, 2):
        assert nominal(spot) == pytest.approx(binomial(spot), abs=1e-8)


def test_the_density_of_three_classes_is_brute_force():
    model = coded("verdict ~ s + x + (1|g) + (1|h)", classes_of()[0], "nominal", "logit")
    logp, shapes, prior = density(model, {"wins: x": (0.2, 0.6), "sd(wins: Intercept|g)": 0.9})
    assert prior.table().set_index("parameter").loc["wins: x", "prior"] == "normal(0.2, 0.6)"
    assert prior.sds[0].tolist() == [2.5, 0.9]
    spread = np.tile(prior.spread, 2)
    for spot in spots(shapes, 3):
        beta = spot["gamma"] / spread
        total = stats.norm.logpdf(beta, prior.location, prior.scale).sum() - np.log(spread).sum()
        us, Ls = [], []
        for t in range(2):
            sd, share = np.exp(spot[f"sd{t}_log__"]), 1 / (1 + np.exp(-spot[f"partial{t}_logodds__"]))
            r = 2 * share[0] - 1
            total += (stats.halfnorm.logpdf(sd, scale=prior.sds[t]) + np.log(sd)).sum()
            total += stats.beta.logpdf(share[0], 2.0, 2.0) + np.log(share[0] * (1 - share[0]))
            total += stats.norm.logpdf(spot[f"u{t}"]).sum()
            us.append(spot[f"u{t}"])
            Ls.append(sd[:, None] * np.array([[1.0, 0.0], [r, np.sqrt(1 - r**2)]]))
        assert logp(spot) == pytest.approx(total + by_row(model, beta, None, us, Ls, 0), rel=0, abs=1e-10)


def test_the_likelihood_does_not_depend_on_the_baseline():
    """Log-odds against another class are differences: coefficients and effects transform, correlations with them."""
    table, rng = classes_of()[0], np.random.default_rng(4)
    found = []
    beta, u, L = rng.normal(size=(2, 4)), rng.normal(size=(12, 2)), np.array([[0.9, 0.0], [-0.5, 0.7]])
    to = np.array([[-1.0, 0.0], [-1.0, 1.0]])  # of tie, wins against loses to loses, wins against tie
    new = np.linalg.cholesky(to @ L @ L.T @ to.T)
    ways = [(("loses", "tie", "wins"), beta, u, L), (("tie", "loses", "wins"), to @ beta, u @ (to @ L).T, new)]
    for categories, b, effects, factor in ways:
        d = design("verdict ~ s + x + (1|g)", table, family="nominal", categories=categories, counts="n")
        own = effects if factor is L else effects @ np.linalg.inv(factor).T
        model = Model(d, "nominal", "logit")
        target = build(d, "nominal", "logit", model.thresholds, priors(d, "nominal", "logit", model.thresholds))
        found.append(potential(target, {"beta": b.ravel(), "u0": own, "L0": factor}))
    assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_rows_are_never_written_out():
    few = coded("y ~ s", tallied(calls(240)[["y", "s"]]), "binomial", "logit").design
    many = coded(
        "y ~ s", tallied(calls(240)[["y", "s"]]).assign(n=lambda t: t["n"] * 10**6), "binomial", "logit"
    ).design
    assert len(few.y) == len(many.y) == 6


# ---- priors ---------------------------------------------------------------------------------------------------------


def test_priors_of_a_tally_are_those_of_its_calls():
    table = calls()[["y", "s", "x", "g"]]
    one = priors(
        *(lambda m: (m.design, "binomial", "logit", m.thresholds))(
            coded("y ~ s * x + (1 + x|g)", table, "binomial", "logit")
        )
    )
    two = priors(
        *(lambda m: (m.design, "binomial", "logit", m.thresholds))(
            coded("y ~ s * x + (1 + x|g)", tallied(table), "binomial", "logit")
        )
    )
    pd.testing.assert_frame_equal(one.table(), two.table())
    sd = table["x"].std(ddof=0)
    assert one.table().set_index("parameter").loc["x", "prior"] == f"normal(0, {2.5 / sd:.4g})"
    assert one.scale[0] == 2.5
    assert one.centre[0] == 0
    assert one.centre[3] == pytest.approx(table["x"].mean())
    assert one.sds[0] == pytest.approx([2.5, 2.5 / sd])


def test_gaussian_and_poisson_priors_follow_the_units():
    table = calls()
    m = coded("score ~ x", table, "gaussian", "identity")
    own = priors(m.design, "gaussian", "identity", m.thresholds)
    assert own.residual == pytest.approx(table["score"].std(ddof=0))
    assert own.location[0] == pytest.approx(table["score"].mean())
    assert own.scale[1] == pytest.approx(2.5 * table["score"].std(ddof=0) / table["x"].std(ddof=0))
    m = coded("k ~ x", table, "poisson", "log")
    assert priors(m.design, "poisson", "log", m.thresholds).location[0] == pytest.approx(np.log(table["k"].mean()))


def test_priors_that_are_asked_for():
    m = coded("y ~ s + x + (1 + x|g) + (1|h)", calls(), "binomial", "logit")
    asked = {"s": 1.0, "x": (0.5, 0.2), "sd(g)": 0.7, "sd(Intercept|g)": 0.3, "cor(g)": 1.0, "sd(h)": 2.0}
    own = priors(m.design, "binomial", "logit", m.thresholds, asked)
    assert own.scale.tolist() == [2.5, 1.0, 1.0, 0.2]
    assert own.location.tolist() == [0.0, 0.0, 0.0, 0.5]
    assert own.sds[0].tolist() == [0.3, 0.7]
    assert own.sds[1].tolist() == [2.0]
    assert own.shapes[0] == 1.0


@pytest.mark.parametrize(
    ("asked", "said"),
    [({"strategy": 1.0}, "'strategy' is not a parameter"), ({"x": 0}, "positive"), ({"x": np.inf}, "not a finite number"), ({"sd(k)": 1}, "sd\\(g\\)")],
)  # fmt: skip
def test_priors_refused(asked, said):
    m = coded("y ~ s + x + (1|g)", calls(), "binomial", "logit")
    with pytest.raises(DesignError, match=said):
        priors(m.design, "binomial", "logit", m.thresholds, asked)


def test_quantiles_of_priors():
    q = [0.025, 0.5, 0.975]
    rng = np.random.default_rng(0)
    ordered = np.sort(rng.normal(0, 1.5, (200_000, 4)), axis=1)
    own = Prior("2|3", "ordered", 0.0, 1.5, "", 1, 4)
    assert own.quantile(q) == pytest.approx(np.quantile(ordered[:, 1], q), abs=0.02)
    assert own.sd == pytest.approx(ordered[:, 1].std(), rel=0.01)
    assert Prior("sd", "half-normal", 0, 2.0, "").quantile(q) == pytest.approx(stats.halfnorm.ppf(q, scale=2))
    assert Prior("sd", "half-t", 0, 2.0, "").quantile([0.3, 0.95]) == pytest.approx(2 * stats.t.ppf([0.65, 0.975], 4))
    assert Prior("c", "lkj", 0, 2.0, "", size=2).sd == pytest.approx(1 / np.sqrt(5), rel=1e-3)


@pytest.mark.slow
def test_correlations_are_lkj():
    table = calls().assign(z=lambda t: t["x"] ** 2)
    m = coded("y ~ 1 + (1 + x + z|g)", table, "binomial", "logit")
    target = build(m.design, "binomial", "logit", m.thresholds, priors(m.design, "binomial", "logit", m.thresholds))
    L = pm.draw(target["L0"], draws=4000, random_seed=1)
    C = L @ L.swapaxes(1, 2)
    sd = np.sqrt(np.einsum("saa->sa", C))
    for i, j in ((1, 0), (2, 0), (2, 1)):  # each correlation has the beta law of LKJ(2) with three columns
        r = C[:, i, j] / (sd[:, i] * sd[:, j])
        assert stats.kstest((r + 1) / 2, stats.beta(2.5, 2.5).cdf).pvalue > 0.001
    prior = priors(m.design, "binomial", "logit", m.thresholds)
    assert sd.mean(axis=0) == pytest.approx(prior.sds[0] * np.sqrt(2 / np.pi), rel=0.04)


# ---- verbs on draws made by hand -------------------------------------------------------------------------------------


def test_tidy_draws_and_confint_are_those_of_the_draws():
    m = coded("score ~ x + (1 + x|g)", calls(), "gaussian", "identity")
    rng = np.random.default_rng(2)
    values = np.abs(rng.normal(1.0, 0.2, (4, 500, 6)))
    values[..., 3] -= 1.0  # chol(x,Intercept|g)
    effects = [rng.normal(size=(4, 500, 12, 2))]
    fit = posterior(m, values, effects)
    table = fit.draws()
    assert table.shape == (2000, 2 + 6)
    assert table.columns[2:].tolist() == fit.tidy()["term"].tolist()
    L = values.reshape(-1, 6)
    sd_x = np.hypot(L[:, 3], L[:, 4])
    assert table["sd(x|g)"].to_numpy() == pytest.approx(sd_x)
    assert table["cor(Intercept,x|g)"].to_numpy() == pytest.approx(L[:, 3] / sd_x)
    assert table["sd(residual)"].to_numpy() == pytest.approx(L[:, 5])
    row = fit.tidy(conf_level=0.9).set_index("term").loc["sd(x|g)"]
    assert row[["estimate", "std_error"]].tolist() == pytest.approx([sd_x.mean(), sd_x.std(ddof=1)])
    assert row[["conf_low", "conf_high"]].tolist() == pytest.approx(np.quantile(sd_x, [0.05, 0.95]).tolist())
    assert fit.tidy()[["statistic", "p_value"]].isna().all(axis=None)
    assert fit.confint()["method"].unique().tolist() == ["posterior quantiles"]
    assert fit.tidy(effects="random")["term"].tolist() == fit.tidy()["term"].tolist()[2:]


def test_random_effects_and_their_variance():
    rng = np.random.default_rng(3)
    beta, b = rng.normal(size=(800, 2)), rng.normal(size=(800, 5, 2))
    own = Sampled(beta, (b,), (np.array([[2.0, 0.5], [0.5, 1.0]]),))
    assert own.modes[0] == pytest.approx(b.mean(axis=0))
    assert own.spreads[0][3] == pytest.approx(np.cov(b[:, 3], rowvar=False))
    X, z, code = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), np.array([4, -1, 0])
    eta = np.stack([beta @ X[0] + b[:, 4] @ z[0], beta @ X[1], beta @ X[2] + b[:, 0] @ z[2]], axis=1)
    expected = eta.var(axis=0, ddof=1)
    expected[1] += z[1] @ own.covariances[0] @ z[1]
    assert own.variance(X, [z], [code]) == pytest.approx(expected)


def beta_draws(wins, losses, size=1000, seed=0):
    p = np.random.default_rng(seed).beta(wins, losses, (4, size, 1))
    return np.log(p / (1 - p))


def test_check_says_what_prior_and_data_say_of_each_other():
    m = coded("y ~ 1", pd.DataFrame({"y": [0, 1], "n": [40, 60]}), "binomial", "logit")
    values = beta_draws(60, 40)
    flag = lambda asked: posterior(m, values, asked=asked).tidy()["flag"].iloc[0]  # noqa: E731
    assert flag(None) == ""
    assert flag({"Intercept": (5.0, 1.0)}) == CONFLICT
    assert flag({"Intercept": 0.22}) == PRIOR_DRIVEN
    found = posterior(m, values, asked={"Intercept": (5.0, 1.0)}).check()
    assert found.loc[found["what"] == CONFLICT, "example"].tolist() == ["normal(5, 1)"]


def test_the_prior_of_the_intercept_is_looked_at_where_it_is():
    table = pd.DataFrame({"y": [0, 1, 0, 1], "x": [100, 100, 101, 101], "n": [40, 60, 30, 70]})
    m = coded("y ~ x", table, "binomial", "logit")
    rng = np.random.default_rng(0)
    slope, middle = rng.normal(0.4, 0.2, (4, 500)), rng.normal(0.6, 0.1, (4, 500))
    fit = posterior(m, np.stack([middle - 100.5 * slope, slope], axis=-1))
    assert fit.tidy()["flag"].tolist() == ["", ""]  # at x = 0 it is -40, far from its prior
    assert fit.tidy()["estimate"].iloc[0] < -30


def test_chains_that_do_not_mix_are_a_fault():
    m = coded("y ~ 1", pd.DataFrame({"y": [0, 1], "n": [40, 60]}), "binomial", "logit")
    values = beta_draws(60, 40, 100)
    values[0] += 1
    found = posterior(m, values).check().set_index("level")
    assert "chains have not mixed" in found.loc["fault", "what"]
    assert "fewer than 400" in found.loc["caution", "what"]


def test_summary_states_priors_and_posterior():
    m = coded("y ~ 1", pd.DataFrame({"y": [0, 1], "n": [40, 60]}), "binomial", "logit")
    text = posterior(m, beta_draws(60, 40)).summary()
    assert "Intercept ~ normal(0, 2.5): intercept" in text
    assert "R-hat" in text
    assert "leaving out one call" in text
    assert "z value" not in text


# ---- leave-one-out --------------------------------------------------------------------------------------------------


def test_loo_by_call_of_a_beta_binomial():
    wins, losses = 60, 40
    table = pd.DataFrame({"y": [0, 1], "n": [losses, wins]})
    fit = posterior(coded("y ~ 1", table, "binomial", "logit"), beta_draws(1 + wins, 1 + losses, 5000))
    row = fit.loo().iloc[0]
    p = np.log([wins / (wins + losses + 1), losses / (wins + losses + 1)])  # the rest, one call fewer
    exact = wins * p[0] + losses * p[1]
    assert row["elpd_loo"] == pytest.approx(exact, abs=0.02)
    each = np.repeat(p, [wins, losses])
    assert row["std_error"] == pytest.approx(np.sqrt(100 * each.var()), rel=1e-3)
    assert (row["n"], row["unit"], row["n_bad"]) == (100, "call", 0)
    assert row["p_loo"] == pytest.approx(1, abs=0.1)
    trials = coded("cbind(k, m - k) ~ 1", pd.DataFrame({"k": [25, 35], "m": [40, 60]}), "binomial", "logit")
    again = posterior(trials, beta_draws(1 + wins, 1 + losses, 5000)).loo().iloc[0]
    assert again["elpd_loo"] == pytest.approx(row["elpd_loo"], abs=1e-9)  # a trial of a cell is a call
    assert fit.glance()["elpd_loo"].iloc[0] == row["elpd_loo"]
    assert fit.glance()["elpd_unit"].iloc[0] == "call"


@pytest.mark.parametrize(("formula", "family", "link", "shape"), FAMILIES)
def test_log_likelihood_of_single_calls(formula, family, link, shape):
    m = coded(formula, calls(60), family, link, shape)
    rng, d = np.random.default_rng(4), m.design
    beta = rng.normal(size=len(d.names) * m.predictors)
    tau = np.array([-0.4, 0.9] if shape == "free" else [0.1, 0.6])
    us = [rng.normal(size=(len(t.levels), len(t.names))) for t in d.terms]
    Ls = [np.tril(rng.uniform(0.2, 1.0, (len(t.names),) * 2)) for t in d.terms]
    centre = priors(d, family, link, m.thresholds).centre
    back = beta.reshape(m.predictors, -1).copy()
    if "Intercept" in d.names:
        back[:, d.names.index("Intercept")] -= back @ centre
    back = back.ravel()
    theta = [L[a, b] for L in Ls for b in range(len(L)) for a in range(b, len(L))]
    own_tau = tau + (beta @ centre if shape == "free" else np.array([beta @ centre, 0.0])) if m.thresholds.names else []
    values = np.concatenate([back, own_tau, theta, [1.3] if family == "gaussian" else []])
    fit = posterior(
        m, np.tile(values, (2, 4, 1)), [np.tile(u @ L.T, (2, 4, 1, 1)) for u, L in zip(us, Ls, strict=True)]
    )
    found = crossvalidation._calls(fit)
    each = crossvalidation.loglik(
        fit, draws_of(fit).flat("parameters"), crossvalidation._eta(fit, draws_of(fit), found.rows), found
    )
    assert each[0] @ found.count == pytest.approx(by_row(m, beta, tau, us, Ls, 1.3), abs=1e-8)


def test_a_level_left_out_has_its_effects_integrated():
    table = calls(60)
    m = coded("score ~ x + (1 + x|g) + (1|h)", table, "gaussian", "identity")
    rng, d = np.random.default_rng(5), m.design
    values = np.tile([0.2, -0.3, 0.9, 0.2, 0.4, 0.5, 1.1], (2, 30, 1)) * rng.uniform(0.9, 1.1, (2, 30, 7))
    effects = [rng.normal(size=(2, 30, len(t.levels), len(t.names))) for t in d.terms]
    fit = posterior(m, values, effects)
    draws, found = draws_of(fit), crossvalidation._calls(fit)
    places = np.flatnonzero(d.terms[0].codes[found.rows] == 3)
    own = crossvalidation.DesignCalls(found.rows[places], found.y[places], found.count[places])
    got = crossvalidation._integrated(fit, draws, [0], 3, own, "g")
    for s in (0, 17, 59):
        v, h = draws.flat("parameters")[s], draws.flat("effects 1")[s, :, 0]
        L, z = np.array([[v[2], 0], [v[3], v[4]]]), d.terms[0].values[own.rows]
        mean = d.X[own.rows] @ v[:2] + h[d.terms[1].codes[own.rows]]
        spread = z @ L @ L.T @ z.T + v[6] ** 2 * np.eye(len(z))
        assert got[s] == pytest.approx(stats.multivariate_normal(mean, spread).logpdf(own.y), abs=1e-6)
    assert fit.loo("g")["method"].iloc[0] == "PSIS-LOO by g, its effects integrated"
    assert fit.loo("g")["n"].iloc[0] == 12


def test_integration_of_binary_calls_and_of_a_spread_near_zero():
    m = coded("y ~ 1 + (1|g)", calls(60), "binomial", "logit")
    values = np.array([[[0.3, 1.2], [0.3, 1e-6], [-0.2, 4.0], [0.0, 0.4]]])
    fit = posterior(m, values, [np.random.default_rng(6).normal(size=(1, 4, 12, 1))])
    found = crossvalidation._calls(fit)
    places = np.flatnonzero(m.design.terms[0].codes[found.rows] == 0)
    own = crossvalidation.DesignCalls(found.rows[places], found.y[places], found.count[places])
    got = crossvalidation._integrated(fit, draws_of(fit), [0], 0, own, "g")
    u = np.linspace(-9, 9, 20001)
    for s in range(4):
        beta, sd = values[0, s]
        eta = beta + sd * u[:, None]
        own_loglik = (stats.logistic.logcdf(np.where(own.y > 0, 1, -1) * eta) * own.count).sum(axis=1)
        exact = np.log(np.trapezoid(np.exp(own_loglik) * stats.norm.pdf(u), u))
        assert got[s] == pytest.approx(exact, abs=2e-3)


def twins(formula):
    """Fits of a nominal and of a binomial model of the same two classes, by the same draws."""
    models = [coded(formula, classes_of()[1], family, "logit") for family in ("nominal", "binomial")]
    rng, d = np.random.default_rng(7), models[0].design
    values = np.abs(rng.normal(0.5, 0.1, (2, 60, len(models[0].parameter_names))))
    effects = [rng.normal(size=(2, 60, len(t.levels), len(t.names))) for t in d.terms]
    return [posterior(m, values, effects) for m in models]


def test_with_two_classes_the_methods_give_what_binomial_ones_do():
    nominal, binomial = twins("verdict ~ s + x + (1|g) + (1 + x|h)")
    numbers = ["estimate", "std_error", "conf_low", "conf_high"]
    assert nominal.tidy()["term"].str.replace("wins: ", "").tolist() == binomial.tidy()["term"].tolist()
    new = pd.DataFrame({"s": ["a", "b"], "x": [0.0, 1.0], "g": [0, 99], "h": [3, 98]})

    def both(method, **options):
        one, other = (getattr(f, method)(**options) for f in (nominal, binomial))
        one = one[one["category"] == "wins"] if "category" in one else one
        np.testing.assert_allclose(one[numbers], other[numbers], rtol=1e-6, atol=1e-9)
        assert one["flag"].tolist() == other["flag"].tolist()

    for method in ("tidy", "random_effects", "margins"):
        both(method)
    both("margins", variables="s", by="x")
    for scale, random in (("link", "none"), ("response", "average")):
        both("means", specs="s", scale=scale, random=random)
        both("contrasts", specs="s", scale=scale, random=random)
    both("predict", random="average")
    for data in (None, new):  # limits are by the delta method on the logit of a probability, those of η transformed
        one, other = (f.predict(data) for f in (nominal, binomial))
        one = one[one["category"] == "wins"]
        np.testing.assert_allclose(one[numbers], other[numbers], rtol=1e-9)
        assert one["flag"].tolist() == other["flag"].tolist()
    for unit in ("call", "g", "h"):
        pd.testing.assert_frame_equal(nominal.loo(unit), binomial.loo(unit), rtol=1e-6)
    one, other = (f.predictive(by="s") for f in (nominal, binomial))
    assert one.loc[one["outcome"] == "wins", "observed"].tolist() == other["observed"].tolist()
    assert one.loc[one["outcome"] == "wins", "estimate"].to_numpy() == pytest.approx(other["estimate"], rel=0.05)


def three_classes():
    m = coded("verdict ~ s + x + (1|g) + (1|h)", classes_of()[0], "nominal", "logit")
    rng, d = np.random.default_rng(8), m.design
    middle = np.array([0.3, -0.5, 0.4, 0.6, -0.2, 0.7, 0.1, -0.4, 0.9, 0.4, 0.8, 0.5, -0.3, 0.6])
    values = middle + 0.1 * rng.normal(size=(2, 60, 14))
    return posterior(m, values, [rng.normal(size=(2, 60, len(t.levels), 2)) for t in d.terms])


def chances(eta):
    return np.exp(eta) / np.exp(eta).sum(axis=-1, keepdims=True)


def test_margins_of_classes_are_averages_over_new_levels():
    fit, table = three_classes(), classes_of()[0]
    at = np.linspace(-7, 7, 61)
    grid = np.stack(np.meshgrid(at, at, indexing="ij"), axis=-1).reshape(-1, 2)
    weight = np.exp(-(grid**2).sum(axis=1) / 2)
    weight /= weight.sum()

    def effect(params):
        L = [np.array([[a, 0], [b, c]]) for a, b, c in (params[8:11], params[11:14])]
        root = np.linalg.cholesky(L[0] @ L[0].T + L[1] @ L[1].T)
        sides = []
        for level in (1.0, 0.0):
            xs, n = np.unique(table["x"].repeat(table["n"]), return_counts=True)
            X = np.column_stack([np.ones(len(xs)), level + 0 * xs, 0 * xs, xs])
            eta = (X @ params[:8].reshape(2, 4).T)[:, None] + grid @ root.T
            p = chances(np.concatenate([np.zeros((*eta.shape[:2], 1)), eta], axis=2))
            sides.append(n @ np.einsum("q,mqj->mj", weight, p) / n.sum())
        return 100 * (sides[0] - sides[1])

    wanted, slopes = delta(effect, fit.params, fit.covariance)
    own = fit.margins("s").iloc[:3]
    assert own["category"].tolist() == ["loses", "tie", "wins"]
    np.testing.assert_allclose(own["estimate"], wanted, rtol=1e-8)
    np.testing.assert_allclose(own["std_error"], np.sqrt(np.diag(slopes @ fit.covariance @ slopes.T)), rtol=1e-5)
    assert own["estimate"].sum() == pytest.approx(0, abs=1e-10)
    assert (own["method"] == "averaged over random effects; z").all()


def test_predictions_of_classes_have_the_effects_of_their_levels():
    fit = three_classes()
    new = pd.DataFrame({"s": ["b", "b"], "x": [1.0, 1.0], "g": [4, 99], "h": [2, 2]})
    own, draws = fit.predict(new), draws_of(fit)
    beta = draws.flat("parameters")[:, :8].reshape(-1, 2, 4)
    g, h = (draws.flat(f"effects {t}")[:, k] for t, k in ((0, 4), (1, 2)))
    fixed = beta @ np.array([1.0, 1.0, 0.0, 1.0])
    eta = [fixed + g + h, fixed + h]
    for k, level in enumerate(eta):
        p = chances(np.append(0.0, level.mean(axis=0)))
        rows = own.iloc[3 * k : 3 * k + 3]
        assert rows["estimate"].to_numpy() == pytest.approx(p)
        slope = (np.diag(p) - np.outer(p, p))[:, 1:]
        spread = np.cov(level, rowvar=False)
        spread = spread + (fit.effects().covariances[0] if k else 0)
        assert rows["std_error"].to_numpy() == pytest.approx(np.sqrt(np.diag(slope @ spread @ slope.T)))
    assert own["flag"].tolist() == [""] * 3 + ["new level"] * 3
    slopes = twins("verdict ~ s + x + (1|g) + (1 + x|h)")[0]
    for random in ("conditional", "none", "average"):
        hole = slopes.predict(pd.concat([new, new.assign(x=np.nan)]), random=random)
        assert np.isfinite(hole["estimate"]).tolist() == [True] * 4 + [False] * 4
        assert hole["flag"].iloc[4:].tolist() == ["missing value"] * 4
    assert fit.predict(new.iloc[:0]).empty
    assert fit.random_effects()["term"].unique().tolist() == ["tie: Intercept", "wins: Intercept"]


def test_a_level_left_out_has_the_effects_of_its_classes_integrated():
    fit = three_classes()
    draws, found = draws_of(fit), crossvalidation._calls(fit)
    places = np.flatnonzero(fit.design.terms[0].codes[found.rows] == 3)
    own = crossvalidation.DesignCalls(found.rows[places], found.y[places], found.count[places])
    got = crossvalidation._integrated(fit, draws, [0], 3, own, "g")
    at = np.linspace(-7, 7, 141)
    grid = np.stack(np.meshgrid(at, at, indexing="ij"), axis=-1).reshape(-1, 2)
    weight = np.exp(-(grid**2).sum(axis=1) / 2) * (at[1] - at[0]) ** 2 / (2 * np.pi)
    for s in (0, 59, 119):
        v, h = draws.flat("parameters")[s], draws.flat("effects 1")[s]
        eta = fit.design.X[own.rows] @ v[:8].reshape(2, 4).T + h[fit.design.terms[1].codes[own.rows]]
        eta = eta + (grid @ np.array([[v[8], 0], [v[9], v[10]]]).T)[:, None]
        p = chances(np.concatenate([np.zeros((*eta.shape[:2], 1)), eta], axis=2))
        calls_ = np.prod(p[:, np.arange(len(own.y)), own.y.astype(int)] ** own.count, axis=1)
        assert got[s] == pytest.approx(np.log(weight @ calls_), abs=1e-5)
    assert fit.loo("g")["method"].iloc[0] == "PSIS-LOO by g, its effects integrated"


def test_classes_of_a_posterior_are_refused_where_one_number_is_needed():
    fit = three_classes()
    no_number = "needs one number a row, and a nominal model has one of each class"
    text = fit.summary()
    assert "Multinomial logit mixed model" in text
    assert "tie: Intercept, wins: Intercept ~ normal(0, 2.5): intercept, all predictors at their means" in text
    assert "ICC" not in text
    table = calls()
    d = fit.design
    refused(
        DesignError,
        (
            lambda: js.fit("verdict ~ s", table, family="nominal", engine="pymc", cluster="g"),
            FitError,
            r"takes no cluster= of family='nominal'. Write \(1\|g\) in the formula, or use engine='ml'",
        ),
        (
            lambda: js.fit("verdict ~ s + offset(x) + (1|g)", table, family="nominal", engine="pymc"),
            "no offset",
        ),
        (
            lambda: priors(d, "nominal", "logit", fit.thresholds, {"sd(k)": 1.0}),
            r"Allowed: tie: Intercept, Intercept, .*wins: x, .*sd\(g\)",
        ),
        (fit.augment, no_number),
        (fit.variance_components, no_number),
        (lambda: fit.predict(kind="link"), no_number),
    )


def test_loo_refused():
    fit = js.fit("y ~ x", calls())
    own = posterior(coded("y ~ 1", calls(), "binomial", "logit"), beta_draws(9, 9))
    refused(
        FitError,
        (lambda: fit.loo(), "no posterior draws"),
        (lambda: own.loo("judge"), DesignError, "call"),
    )


# ---- the door -------------------------------------------------------------------------------------------------------


def test_options_of_sampling_are_refused_where_nothing_is_sampled():
    refused(
        FitError,
        ({"priors": {"x": 1.0}}, "takes no priors="),
        ({"engine": "glm", "sampling": {"draws": 10}}, "takes no sampling="),
        ({"engine": "pymc", "sampling": {"chains": 0}}, DesignError, "chains=0"),
        ({"engine": "pymc", "sampling": {"target_accept": 1.0}}, DesignError, "target_accept"),
        of=lambda arguments: js.fit("y ~ x", calls(), **arguments),
    )


def near(fit, likelihood, *, most=0.2, skip=()):
    """Posterior means within `most` standard errors of the likelihood's estimates, sds within a quarter."""
    for k, name in enumerate(fit.names):
        if name not in skip:
            error = np.sqrt(likelihood.covariance[k, k])
            assert abs(fit.params[k] - likelihood.params[k]) < most * error, name
            assert np.sqrt(fit.covariance[k, k]) == pytest.approx(error, rel=0.25), name


@pytest.mark.slow
def test_binomial_with_crossed_effects_agrees_with_likelihood():
    rng = np.random.default_rng(7)
    table = pd.DataFrame(
        {"s": np.tile(["a", "b"], 1500), "g": rng.integers(0, 60, 3000), "h": rng.integers(0, 50, 3000)}
    )
    eta = 0.3 - 0.6 * (table["s"] == "b") + rng.normal(0, 0.8, 60)[table["g"]] + rng.normal(0, 0.6, 50)[table["h"]]
    table["y"] = (rng.random(3000) < 1 / (1 + np.exp(-eta))).astype(int)
    flat = {"s": 1000.0, "Intercept": 1000.0, "sd(g)": 1000.0, "sd(h)": 1000.0}
    fit = js.fit(
        "y ~ s + (1|g) + (1|h)", tallied(table), engine="pymc", counts="n", priors=flat, sampling={**FAST, "draws": 600}
    )
    likelihood = js.fit("y ~ s + (1|g) + (1|h)", table)
    near(fit, likelihood, most=0.35)
    found, exact = fit.random_effects(), likelihood.random_effects()
    assert np.corrcoef(found["estimate"], exact["estimate"])[0, 1] > 0.995
    some = table.iloc[:200]
    assert fit.predict(some)["estimate"].to_numpy() == pytest.approx(likelihood.predict(some)["estimate"], abs=0.03)
    assert fit.method.startswith("posterior, NUTS")
    assert np.isnan(fit.loglik)
    assert fit.loo()["elpd_loo"].iloc[0] < fit.loo()["elpd_loo"].iloc[0] + fit.loo()["p_loo"].iloc[0]
    assert 50 < fit.loo()["p_loo"].iloc[0] < 112


@pytest.mark.full
@pytest.mark.slow
def test_gaussian_with_slopes_agrees_with_reml():
    rng = np.random.default_rng(8)
    g = np.repeat(np.arange(40), 25)
    x = rng.normal(5, 1, 1000)
    b = rng.multivariate_normal([0, 0], [[0.5, 0.2], [0.2, 0.3]], 40)
    table = pd.DataFrame(
        {"g": g, "x": x - 5, "z": x, "score": 2 + b[g, 0] + (0.7 + b[g, 1]) * (x - 5) + rng.normal(0, 1, 1000)}
    )
    fit = js.fit("score ~ z + (1 + x|g)", table, family="gaussian", engine="pymc", sampling={**FAST, "draws": 500})
    likelihood = js.fit("score ~ z + (1 + x|g)", table, family="gaussian", reml=True)
    near(fit, likelihood, most=0.5)  # means of skew posteriors lie above modes
    assert fit.tidy()["term"].tolist() == likelihood.tidy()["term"].tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "family", "options"),
    [
        ("k ~ s + x", "poisson", {}),
        ("verdict ~ s + x", "cumulative", {}),
        (
            "verdict ~ x",
            "cumulative",
            {"thresholds": "symmetric", "thresholds_by": {"half-width": "s"}, "link": "probit"},
        ),
    ],
)
def test_poisson_and_cumulative_agree_with_likelihood(formula, family, options):
    table = tallied(calls(1200).drop(columns=["score", "g", "h", "y"]))
    fit = js.fit(formula, table, family=family, counts="n", engine="pymc", **options, sampling={**FAST, "draws": 500})
    likelihood = js.fit(formula, table, family=family, counts="n", **options)
    near(fit, likelihood)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_draws_and_separation_is_held():
    table = pd.DataFrame({"y": [0, 1, 1], "s": ["a", "a", "b"], "n": [9, 5, 8]})
    own = [js.fit("y ~ s", table, counts="n", engine="pymc", sampling={**FAST, "seed": s}) for s in (1, 1)]
    assert own[0].draws().equals(own[1].draws())
    assert "separation" not in own[0].notes
    assert np.isfinite(own[0].tidy()["std_error"]).all()
    assert (
        own[0].update(priors={"s": 0.5}, sampling={**FAST, "draws": 200}).tidy()["estimate"].iloc[1]
        < own[0].tidy()["estimate"].iloc[1] - 1
    )


def test_one_chain_is_compared_with_itself():
    """R-hat of one chain is that of its halves: a drift shows, and nothing fails for want of a second chain."""
    rng = np.random.default_rng(3)
    still, drifting = rng.normal(size=(1, 400, 1)), rng.normal(size=(1, 400, 1)) + np.linspace(0, 3, 400)[None, :, None]
    assert diagnostics(still)[0][0] < 1.02
    assert diagnostics(drifting)[0][0] > 1.2


def test_leaving_one_out_with_draws_that_repeat_is_flagged_not_lost():
    """A tail whose edge repeats has no fit: plain importance sampling, and k says that it is not to be trusted."""
    loglik = np.log(np.repeat([0.2, 0.4, 0.3], [60, 30, 10]))[None, :, None] * np.ones((2, 1, 1))
    elpd, k = pointwise(loglik)
    assert elpd[0] == pytest.approx(-np.log(np.mean(np.exp(-loglik))))
    assert k[0] > 0.7
    assert pointwise(np.full((2, 50, 1), -1.0))[0][0] == pytest.approx(-1.0)


@pytest.mark.parametrize(("sampler", "cores", "given"), [(None, None, 1), (None, 2, 2), ("nutpie", None, None)])
def test_without_nutpie_nothing_is_forked_unless_asked(monkeypatch, sampler, cores, given):
    import contextlib
    import types

    from judgestats.models.bayes import sampling

    class SampledError(Exception):
        pass

    def sample(**options):
        raise SampledError(options.get("cores"))

    monkeypatch.setattr(sampling, "find_spec", lambda _: sampler)
    monkeypatch.setattr(sampling, "pymc", lambda: types.SimpleNamespace(sample=sample))
    with pytest.raises(js.errors.FitError, match=f"SampledError: {given}"):
        sampling.sample(contextlib.nullcontext(), {}, cores=cores)


def planted(seed, groups=60, each=40):
    """Calls of three classes by group: log-odds of tie and wins against loses, and a predictor."""
    rng = np.random.default_rng(seed)
    g, x = np.repeat(np.arange(groups), each), rng.integers(0, 2, groups * each)
    L = np.array([[0.9, 0.0], [0.5, 0.7]])
    eta = np.array([0.2, -0.4]) + np.outer(x, [0.8, -0.5]) + (rng.normal(size=(groups, 2)) @ L.T)[g]
    u = rng.gumbel(size=(len(g), 3)) + np.column_stack([np.zeros(len(g)), eta])
    return pd.DataFrame({"g": g, "x": x, "verdict": np.array(["loses", "tie", "wins"])[u.argmax(axis=1)]})


@pytest.mark.slow
def test_classes_with_effects_agree_with_likelihood_by_quadrature_and_for_any_baseline():
    from scipy.optimize import minimize
    from statsmodels.tools.numdiff import approx_hess3

    table, formula = planted(11), "verdict ~ x + (1|g)"
    flat = {"x": 1000.0, "Intercept": 1000.0, "sd(g)": 1000.0, "cor(g)": 1.0}
    options = {"family": "nominal", "engine": "pymc", "counts": "n", "sampling": {**FAST, "draws": 800}}
    one = js.fit(formula, tallied(table), priors=flat, **options)
    other = one.update(categories=("wins", "loses", "tie"))
    counts = pd.crosstab([table["g"], table["x"]], table["verdict"]).to_numpy(float).reshape(60, 2, 3)
    nodes, weights = np.polynomial.hermite_e.hermegauss(21)
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    share = np.log(np.outer(weights, weights).ravel() / (2 * np.pi))

    def minus_loglik(params):
        L = np.array([[params[4], 0.0], [params[5], params[6]]])
        eta = (np.array([[1.0, 0.0], [1.0, 1.0]]) @ params[:4].reshape(2, 2).T)[:, None] + grid @ L.T
        logs = np.concatenate([np.zeros((*eta.shape[:2], 1)), eta], axis=2)
        logs = logs - np.log(np.exp(logs).sum(axis=2, keepdims=True))
        return -np.logaddexp.reduce(np.einsum("gxj,xqj->gq", counts, logs) + share, axis=1).sum()

    best = minimize(minus_loglik, np.array([0.0, 0.0, 0.0, 0.0, 1.0, 0.3, 1.0]), method="BFGS")
    error = np.sqrt(np.diag(np.linalg.inv(approx_hess3(best.x, minus_loglik))))
    assert (np.abs(one.params - best.x)[:4] < 0.2 * error[:4]).all()
    assert (np.abs(one.params - best.x)[4:] < 0.6 * error[4:]).all()  # means of skew posteriors lie above modes
    assert np.sqrt(np.diag(one.covariance)) == pytest.approx(error, rel=0.25)
    for answer in ("loses", "tie", "wins"):
        for table_of in (lambda f: f.means("x", scale="response", random="average"), lambda f: f.margins("x")):
            a, b = (t[t["category"] == answer] for t in map(table_of, (one, other)))
            assert (np.abs(a["estimate"].to_numpy() - b["estimate"].to_numpy()) < 0.15 * a["std_error"]).all()
            assert b["std_error"].to_numpy() == pytest.approx(a["std_error"], rel=0.1)


@pytest.mark.full
@pytest.mark.slow
def test_intervals_of_classes_cover_what_was_planted():
    truth = np.array([0.2, 0.8, -0.4, -0.5, 0.9, np.hypot(0.5, 0.7), 0.5 / np.hypot(0.5, 0.7)])
    inside = []
    for seed in range(8):
        table = tallied(planted(100 + seed, groups=40, each=12))
        fit = js.fit("verdict ~ x + (1|g)", table, family="nominal", engine="pymc", counts="n", sampling=FAST)
        rows = fit.tidy(conf_level=0.9)
        assert rows["term"].tolist()[4:] == [
            "sd(tie: Intercept|g)",
            "sd(wins: Intercept|g)",
            "cor(tie: Intercept,wins: Intercept|g)",
        ]
        inside.append((rows["conf_low"] < truth) & (truth < rows["conf_high"]))
    assert 0.8 <= np.mean(inside) <= 0.99
