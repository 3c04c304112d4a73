"""Marginal means and contrasts against R's emmeans, and p values of several contrasts together."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import multivariate_normal, norm

import judgestats as js
from judgestats.errors import DesignError
from judgestats.models.estimation import fit
from judgestats.models.postestimation.multiplicity import Inside, adjusted
from models.reference import data, results
from refusals import refused

CASES = "cbind(incidence, size - incidence) ~ period + (1|herd)"
CROSSED = "r2 ~ Anger + Gender * btype + situ + (1|id) + (1|item)"
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "cbpp": ("cbpp", CASES, {}),
    "cbpp_probit": ("cbpp", CASES, {"link": "probit"}),
    "cbpp_poisson": ("cbpp", "incidence ~ period + offset(np.log(size)) + (1|herd)", {"family": "poisson"}),
    "wine_binary": ("wine", "high ~ temp * contact + (1|judge)", {}),
    "wine_unbalanced": ("wine_unbalanced", "high ~ temp * contact + (1|judge)", {}),
    "verbagg": ("verbagg", "r2 ~ Anger + Gender + btype + situ + (1|id) + (1|item)", {}),
    "verbagg_interaction": ("verbagg", CROSSED, {}),
    "sleepstudy_reml": ("sleepstudy", "Reaction ~ Days + (Days|Subject)", {"family": "gaussian", "reml": True}),
    "wine": ("wine", "rating ~ temp + contact + (1|judge)", {"family": "cumulative"}),
    "wine_clm": ("wine", "rating ~ temp + contact", {"family": "cumulative"}),
}


@cache
def fitted(name: str) -> Any:
    """As R has it: by z, but for a linear model."""
    table, formula, options = MODELS[name]
    return fit(formula, data(table), n_quadrature=1, df=None if "reml" in options else "normal", **options)


def theirs(
    model: str, quantity: str, term: str, scale: str = "link", method: str = "none", weights: str = "equal"
) -> Any:
    engine = {"sleepstudy_reml": "lme4", "wine": "clmm", "wine_clm": "clm"}.get(model, "glmmTMB")
    found = results("emmeans", model=model, engine=engine, quantity=quantity, term=term, scale=scale, method=method)
    return found[found["weights"] == weights]


def agree(ours: pd.DataFrame, others: pd.DataFrame, columns: Any, tolerance: float = 2e-5) -> None:
    """Row by row; a number may be off by `tolerance` and by as much of itself."""
    assert len(ours) == len(others) > 0
    for column in columns:
        np.testing.assert_allclose(
            ours[column].to_numpy(float), others[column].to_numpy(float), rtol=tolerance, atol=tolerance, err_msg=column
        )


NUMBERS = ("estimate", "std_error", "conf_low", "conf_high")
TESTED = (*NUMBERS, "statistic", "p_value")


@pytest.mark.parametrize("model", ["cbpp", "cbpp_probit"])
@pytest.mark.parametrize("scale", ["link", "response"])
def test_means_are_those_of_emmeans(model: str, scale: Any) -> None:
    agree(fitted(model).means("period", scale=scale), theirs(model, "mean", "period", scale), NUMBERS)


def test_probabilities_published_with_cbpp() -> None:
    # lme4's optimum as emmeans printed it: .1981 .0839 .0740 .0484
    found = fitted("cbpp").means("period", scale="response")["estimate"]
    np.testing.assert_allclose(found, [0.1981, 0.0839, 0.0740, 0.0484], atol=6e-5)


@pytest.mark.parametrize("scale", ["link", "response"])
def test_an_offset_is_held_where_it_is_asked_for(scale: Any) -> None:
    found = fitted("cbpp_poisson").means("period", scale=scale, at={"size": 1})
    agree(found, theirs("cbpp_poisson", "mean", "period", scale), NUMBERS)


@pytest.mark.parametrize("method", ["tukey", "holm", "bonferroni", "none"])
def test_pairwise_contrasts_are_those_of_emmeans(method: Any) -> None:
    found = fitted("cbpp").contrasts("period", adjust=method)
    others = theirs("cbpp", "contrast", "period", method=method)
    others = others[others["level"].isin([f"period{a} - period{b}" for a in "1234" for b in "1234" if a < b])]
    agree(found, others.drop_duplicates("level"), TESTED)  # R has consecutive ones once more
    assert found["term"].tolist()[:2] == ["period[1] - period[2]", "period[1] - period[3]"]


def test_tukey_of_a_probit_and_of_cells() -> None:
    others = theirs("cbpp_probit", "contrast", "period", method="tukey")
    agree(fitted("cbpp_probit").contrasts("period", adjust="tukey"), others, TESTED)
    for model in ("wine_binary", "wine_unbalanced"):
        others = theirs(model, "contrast", "temp:contact", method="tukey")
        found = fitted(model).contrasts(["contact", "temp"], adjust="tukey")  # R's first factor varies fastest
        agree(found, others, TESTED, 5e-5)


@pytest.mark.parametrize("method", ["tukey", "none"])
def test_odds_ratios_are_those_of_emmeans(method: Any) -> None:
    found = fitted("cbpp").contrasts("period", adjust=method, scale="odds ratio")
    agree(found, theirs("cbpp", "contrast", "period", "response", method), TESTED, 5e-5)


def test_dunnett_is_the_exact_multivariate_normal() -> None:
    found = fitted("cbpp").contrasts("period", method="baseline", adjust="dunnett")
    agree(found, theirs("cbpp", "contrast", "period", method="mvt exact"), TESTED)
    assert found["adjust"].eq("dunnett").all()


def test_differences_of_probabilities() -> None:
    found = fitted("cbpp").contrasts("period", scale="response", adjust="none")
    others = theirs("cbpp", "contrast", "period", "difference of probabilities")
    others = others.set_index("level").loc[[f"period{b} - period{a}" for a in "1234" for b in "1234" if a < b]]
    np.testing.assert_allclose(found["estimate"], -others["estimate"], atol=1e-6)
    np.testing.assert_allclose(found["std_error"], others["std_error"], rtol=2e-5)


@pytest.mark.parametrize("method", ["none", "holm"])
def test_contrasts_of_ones_own(method: Any) -> None:
    own = {
        "first against the rest": {"1": 1, "2": -1 / 3, "3": -1 / 3, "4": -1 / 3},
        "early against late": [0.5, 0.5, -0.5, -0.5],
        "linear": [-3, -1, 1, 3],
    }
    found = fitted("cbpp").contrasts("period", method=own, adjust=method)
    others = theirs("cbpp", "contrast", "period", method=method).set_index("level").loc[list(own)].reset_index()
    assert found["term"].tolist() == list(own)
    agree(found, others, TESTED)


@pytest.mark.parametrize("model", ["wine_binary", "wine_unbalanced", "verbagg_interaction"])
@pytest.mark.parametrize("weights", ["equal", "proportional"])
def test_averages_over_other_factors(model: str, weights: Any) -> None:
    over = ("temp", "contact") if model.startswith("wine") else ("btype", "Gender", "situ")
    adjust: Any = "none" if model.startswith("wine") else "tukey"
    for term in over:
        own = fitted(model)
        for scale in ("link", "response"):
            others = theirs(model, "mean", term, scale, weights=weights)
            agree(own.means(term, scale=scale, weights=weights), others, NUMBERS, 1e-4)
        others = theirs(model, "contrast", term, method=adjust, weights=weights)
        agree(own.contrasts(term, adjust=adjust, weights=weights), others, TESTED, 1e-4)


def test_numbers_stand_at_their_mean_or_where_asked() -> None:
    own = fitted("verbagg")
    agree(own.means("btype"), theirs("verbagg", "mean", "btype"), NUMBERS, 1e-4)
    agree(own.means("btype", at={"Anger": 10}), theirs("verbagg", "mean", "btype at Anger=10"), NUMBERS, 1e-4)


def test_a_linear_model_at_two_days() -> None:
    own = fitted("sleepstudy_reml").update(df="normal")  # emmeans was asked for df = Inf
    agree(own.means("Days", at={"Days": [0, 5]}), theirs("sleepstudy_reml", "mean", "Days"), NUMBERS)
    found = own.contrasts("Days", at={"Days": [0, 5]}, method="baseline")
    agree(found, theirs("sleepstudy_reml", "contrast", "Days"), TESTED)
    assert found["term"].tolist() == ["Days[5] - Days[0]"]


def test_contrasts_within_levels() -> None:
    found = fitted("wine_unbalanced").contrasts("temp", by="contact", adjust="tukey")
    agree(found, theirs("wine_unbalanced", "contrast", "temp|contact"), TESTED, 1e-4)
    assert found["contact"].tolist() == ["no", "yes"]


@pytest.mark.parametrize("model", ["wine", "wine_clm"])
def test_ordinal_means(model: str) -> None:
    own = fitted(model)
    agree(own.means("temp"), theirs(model, "mean", "temp", "latent"), ("estimate", "std_error"), 1e-4)
    agree(own.contrasts("temp"), theirs(model, "contrast", "temp", "latent"), TESTED, 1e-4)
    found = own.means("temp", scale="response")
    agree(found, theirs(model, "mean", "rating|temp", "prob"), ("estimate", "std_error"), 1e-4)
    found = own.means(["contact", "temp"], scale="response")
    agree(found, theirs(model, "mean", "rating|temp,contact", "prob"), ("estimate", "std_error"), 1e-4)
    assert found["category"].tolist()[:5] == ["1", "2", "3", "4", "5"]
    assert ((found["conf_low"] > 0) & (found["conf_high"] < 1)).all()


@pytest.mark.parametrize(("model", "rtol"), [("wine_clm", 1e-5), ("wine", 1e-4)])
def test_mean_classes_cumulative_and_exceedance_probabilities_are_those_of_emmeans(model: str, rtol: float) -> None:
    own, numbers = fitted(model), ("estimate", "std_error")
    for scale, mode in (("cumulative", "cum.prob"), ("exceedance", "exc.prob")):
        found = own.means("temp", scale=scale)
        others = theirs(model, "mean", "cut|temp", mode)
        agree(found, others, numbers, rtol)
        assert (found["cut"] + "," + found["temp"].astype(str)).tolist() == others["level"].tolist()
        assert found["method"].str.startswith(f"response, {scale}").all()
        assert ((found["conf_low"] > 0) & (found["conf_high"] < 1)).all()
    found = own.means("temp", scale="mean class")
    agree(found, theirs(model, "mean", "temp", "mean.class"), numbers, rtol)
    assert "category" not in found
    at = own.means("temp", scale="mean class", at={"contact": "no"}, weights="proportional")
    agree(at, theirs(model, "mean", "temp", "mean.class, contact no"), numbers, rtol)
    found = own.contrasts("temp", scale="mean class")
    agree(found, theirs(model, "contrast", "temp", "mean.class"), TESTED, rtol)


def test_limits_of_means_of_classes_stay_where_classes_are() -> None:
    """Nearly all answers in one class: estimate ± 1.96 errors goes beyond it."""
    table = pd.DataFrame({"s": list("aaabbb"), "y": [1, 2, 5, 5, 4, 3], "n": [60, 1, 1, 60, 1, 1]})
    own = fit("y ~ s", table, family="cumulative", counts="n")
    found = own.means("s", scale="mean class")
    plain = found["estimate"] + 1.96 * found["std_error"] * np.array([-1, 1])
    assert plain[0] < 1 < found["conf_low"].iloc[0] < found["estimate"].iloc[0] < found["conf_high"].iloc[0]
    assert plain[1] > 5 > found["conf_high"].iloc[1] > found["estimate"].iloc[1]
    both = [own.means("s", scale=s) for s in ("cumulative", "exceedance")]
    assert all(b[["conf_low", "conf_high"]].stack().between(0, 1).all() for b in both)
    np.testing.assert_allclose(both[0]["estimate"] + both[1]["estimate"], 1)
    np.testing.assert_allclose(both[0]["conf_low"] + both[1]["conf_high"], 1)
    shares = own.means("s", scale="response")
    wanted = (shares["estimate"] * shares["category"].astype(int)).groupby(shares["s"]).sum()
    np.testing.assert_allclose(found["estimate"], wanted)
    compared = own.contrasts("s", scale="exceedance")
    steps = both[1]["estimate"].to_numpy().reshape(2, 4)
    np.testing.assert_allclose(compared["estimate"], steps[0] - steps[1])
    assert compared["cut"].tolist() == ["1|2", "2|3", "3|4", "4|5"]


def test_mean_classes_over_random_effects_are_those_of_its_probabilities() -> None:
    own = fitted("wine")
    shares = own.means("temp", scale="response", random="average")
    wanted = (shares["estimate"] * shares["category"].astype(int)).groupby(shares["temp"]).sum()
    found = own.means("temp", scale="mean class", random="average")
    np.testing.assert_allclose(found["estimate"], wanted)
    assert found["method"].str.contains("mean class, averaged over random effects").all()
    assert (own.means("temp", scale="mean class")["estimate"] - wanted.to_numpy()).abs().max() > 0.01


def test_average_over_random_effects_is_that_of_predict() -> None:
    own = fitted("cbpp")
    average = own.means("period", scale="response", random="average")
    frame = pd.DataFrame({"period": list("1234")})
    numbers = own.predict(frame, random="average")[list(NUMBERS)]
    np.testing.assert_allclose(average[list(NUMBERS)].to_numpy(), numbers.to_numpy(), rtol=1e-10)
    assert average["method"].iloc[0] == "response, averaged over random effects; z"
    found = own.contrasts("period", method="baseline", scale="response", random="average", adjust="none")
    np.testing.assert_allclose(100 * found["estimate"], own.margins()["estimate"], rtol=1e-10)
    np.testing.assert_allclose(100 * found["std_error"], own.margins()["std_error"], rtol=1e-10)


def test_average_with_random_slopes_has_the_variance_of_the_cell() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"g": np.repeat(np.arange(40), 12), "x": np.tile(np.arange(12) / 6, 40)})
    slope = rng.normal(0, 1, 40)[table["g"]]
    table["y"] = (rng.random(len(table)) < 1 / (1 + np.exp(-0.5 - (1 + slope) * table["x"]))).astype(int)
    own = fit("y ~ x + (1 + x|g)", table)
    found = own.means("x", at={"x": [0.5, 2.0]}, scale="response", random="average")
    z = np.random.default_rng(2).standard_normal((400_000, 2)) @ own.factors()[0].T
    for x, estimate in zip((0.5, 2.0), found["estimate"], strict=True):
        eta = own.beta[0] + own.beta[1] * x + z[:, 0] + z[:, 1] * x
        assert estimate == pytest.approx((1 / (1 + np.exp(-eta))).mean(), abs=2e-3)


def test_cells_that_the_data_do_not_know() -> None:
    table = pd.DataFrame({"a": ["u", "u", "v"] * 20, "b": ["p", "q", "p"] * 20, "y": np.tile([0, 1, 1, 1, 0, 0], 10)})
    own = fit("y ~ a * b", table)  # no v with q
    found = own.means(["a", "b"])
    assert found["flag"].tolist() == ["", "", "", "not estimable"]
    assert np.isnan(found["estimate"].iloc[3])
    assert np.isfinite(found["estimate"].iloc[:3]).all()
    compared = own.contrasts(["a", "b"], method="baseline", adjust="holm")
    assert compared["flag"].tolist() == ["", "", "not estimable"]
    # Holm over the two that are known
    p = compared["statistic"].iloc[:2].map(lambda z: 2 * norm.sf(abs(z)))
    assert compared["p_value"].iloc[:2].min() == pytest.approx(min(1, 2 * p.min()))


def test_unknown_covariance_is_nan_with_a_flag() -> None:
    from dataclasses import replace

    lame = replace(fitted("cbpp"), covariance=np.full((5, 5), np.nan))
    found = lame.contrasts("period", adjust="tukey")
    assert found["std_error"].isna().all()
    assert found["estimate"].notna().all()
    assert found["flag"].eq("no standard errors").all()


@pytest.mark.slow
def test_dunnett_by_lattice_and_by_quadrature_agree_with_scipy() -> None:
    rng = np.random.default_rng(5)
    loads = rng.uniform(0.3, 0.9, 4)
    product = np.outer(loads, loads)
    np.fill_diagonal(product, 1)
    A = rng.normal(size=(4, 7))
    general = A @ A.T
    general /= np.sqrt(np.outer(np.diag(general), np.diag(general)))
    assert Inside.of(product).loads is not None
    assert Inside.of(general).loads is None
    for R in (product, general):
        for v in (1.0, 2.0, 2.7):
            exact = multivariate_normal(cov=R, maxpts=2_000_000, abseps=1e-8, seed=1).cdf(
                np.full(4, v), lower_limit=np.full(4, -v)
            )
            assert Inside.of(R)(v) == pytest.approx(exact, abs=1e-5)
    assert Inside(product, None)(2.0) == pytest.approx(Inside.of(product)(2.0), abs=1e-5)


def test_the_quantile_of_a_family_covers_together() -> None:
    R = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.0]])
    p, q = adjusted(np.array([2.0, -2.0, 0.5]), "dunnett", 0.95, 4, R)
    assert Inside.of(R)(q[0]) == pytest.approx(0.95, abs=1e-7)
    draws = np.random.default_rng(1).multivariate_normal(np.zeros(3), R, 400_000)
    assert p[0] == pytest.approx((np.abs(draws).max(axis=1) > 2).mean(), abs=2e-3)


def test_what_is_refused() -> None:
    own = fitted("cbpp")
    refused(
        DesignError,
        (lambda: own.means("perod"), "Did you mean 'period'"),
        (lambda: own.means("period", at={"period": "5"}), "no level '5'"),
        (lambda: own.contrasts("period", method="baseline", adjust="tukey"), "is for method='pairwise'"),
        (lambda: own.contrasts("period", adjust="dunnett"), "none of which follows"),
        (lambda: own.contrasts("period", method="baseline", baseline="9"), "baseline='9' is no level"),
        (lambda: fitted("cbpp_probit").contrasts("period", scale="odds ratio"), "is for link='logit'"),
        (lambda: fitted("cbpp").means("period", scale="mean class"), "is for family='cumulative', got 'binomial'"),
        (lambda: fitted("cbpp").contrasts("period", scale="cumulative"), "is for family='cumulative', got 'binomial'"),
        (lambda: fitted("wine").means("temp", scale="mean.class"), "'exceedance'. Did you mean 'mean class'"),
        (lambda: fitted("wine").means("temp", scale="exceedance", random="fitted"), "random='fitted' averages"),
        (lambda: own.contrasts("period", method={"mine": [1, -1, 0]}), "3 weights for 4 cells"),
        (lambda: own.means("period", random="average"), "is for scale='response'"),
        (lambda: fitted("sleepstudy_reml").contrasts("Days"), "nothing to compare"),
    )


def test_baseline_by_name() -> None:
    found = fitted("cbpp").contrasts("period", method="baseline", baseline="3", adjust="none")
    assert found["term"].tolist() == [f"period[{k}] - period[3]" for k in "124"]
    assert found["estimate"].iloc[0] == pytest.approx(-fitted("cbpp").beta[2])


def test_a_boolean_is_a_factor_of_the_grid() -> None:
    table = pd.DataFrame({"y": [0, 1, 1, 0, 1, 1, 1, 0] * 5, "b": [True, False] * 20, "c": ["u", "u", "v", "v"] * 10})
    found = fit("y ~ b + c", table).means("b")
    assert found["b"].tolist() == [False, True]


def test_contrasts_along_a_separation_have_no_error() -> None:
    table = pd.DataFrame({"y": [0, 1] * 10 + [0, 1, 1, 1] * 5 + [0] * 20, "g": np.repeat(["a", "b", "c"], 20)})
    own = fit("y ~ g", table)  # level c never succeeds
    found = own.contrasts("g", adjust="none")
    assert found["flag"].eq("separation").all()
    assert found["std_error"].isna().tolist() == [False, True, True]
    known = fit("y ~ g", table[table["g"] != "c"])
    assert found["std_error"].iloc[0] == pytest.approx(known.contrasts("g")["std_error"].item(), rel=1e-5)
    assert own.means("g")["std_error"].isna().tolist() == [False, False, True]
    assert np.isnan(own.tests()["statistic"].item())
    assert own.tests("g[b]")["p_value"].item() == pytest.approx(known.tests()["p_value"].item(), rel=1e-4)
    assert own.margins()["std_error"].isna().tolist() == [False, True]
    for random in ("conditional", "none", "average"):
        frame = pd.DataFrame({"g": ["a", "b", "c"]})
        assert own.predict(frame, random=random)["std_error"].isna().tolist() == [False, False, True]
    ordinal = fit("y ~ g", table, family="cumulative").contrasts("g", adjust="none")
    assert ordinal["std_error"].isna().tolist() == [False, True, True]


def test_a_grid_may_be_too_large() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({c: rng.integers(0, 60, 4000).astype(str) for c in "abcd"})
    table["y"] = rng.integers(0, 2, 4000)
    own = fit("y ~ a + b + c + d", table, engine="glm")
    with pytest.raises(DesignError, match="12,960,000 combinations"):
        own.means("a")
    assert len(own.means("a", at={"b": "0", "c": "0", "d": "0"})) == 60


def test_proportional_weights_beside_numbers_at_several_values() -> None:
    own = fitted("verbagg_interaction")
    one, other = (own.means("btype", at={"Anger": v}, weights="proportional")["estimate"] for v in (10, 20))
    both = own.means("btype", at={"Anger": [10, 20]}, weights="proportional")["estimate"]
    np.testing.assert_allclose(both, (one + other) / 2, rtol=1e-12)


# ---- Means over these items, and over items like these ---------------------------------------------------------------


def benchmark(rng, items, asked, sd, betas, effects=None):
    """Right and wrong answers of several models to the same items, and the mean probability of each model."""
    u = rng.normal(0, sd, items) if effects is None else effects
    chance = expit(np.asarray(betas)[:, None] + u)
    right = rng.binomial(asked, chance)
    table = pd.DataFrame(
        {
            "model": np.repeat([f"m{k}" for k in range(len(betas))], items),
            "item": np.tile([f"q{i}" for i in range(items)], len(betas)),
            "right": right.ravel(),
            "wrong": (asked - right).ravel(),
        }
    )
    return table, chance.mean(axis=1)


def test_means_of_the_fitted_have_a_closed_form_where_scores_are_balanced():
    """The mean of a model over these items is its observed mean, and only the residual counts."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame([(m, f"q{i}", r) for m in "ab" for i in range(20) for r in range(3)])
    table = table.set_axis(["model", "item", "run"], axis=1)
    item = dict(zip(table["item"].unique(), rng.normal(0, 2, 20), strict=True))
    table["score"] = table["item"].map(item) + (table["model"] == "b") + rng.normal(0, 1, 120)
    fit = js.fit("score ~ model + (1|item)", table, family="gaussian", reml=True)
    found = fit.means("model", scale="response", random="fitted").set_index("model")
    assert found["estimate"].to_dict() == pytest.approx(table.groupby("model")["score"].mean().to_dict())
    residual = fit.tidy().set_index("group").loc["residual", "estimate"]
    assert found["std_error"].tolist() == pytest.approx([residual / np.sqrt(60)] * 2, rel=1e-6)
    wide = fit.means("model", scale="response", random="average").set_index("model")
    assert (wide["std_error"] > 2 * found["std_error"]).all()


def test_without_variance_of_items_both_means_are_one():
    """Items alike: benchmark and generalised accuracy, and the response at 0, are the same."""
    rng = np.random.default_rng(2)
    table, _ = benchmark(rng, 30, 8, 0.0, (1.0, 0.0))
    total = table["right"] + table["wrong"]
    rate = table.groupby("model")["right"].transform("sum") / table.groupby("model")["wrong"].transform(len)
    table["right"] = np.round(rate).astype(int)  # no variance between items at all
    table["wrong"] = total - table["right"]
    fit = js.fit("cbind(right, wrong) ~ model + (1|item)", table)
    assert "singular fit" in fit.tidy()["flag"].str.cat()
    found = {r: fit.means("model", scale="response", random=r) for r in ("fitted", "average", "none")}
    for other in ("average", "none"):
        for column in ("estimate", "std_error"):
            np.testing.assert_allclose(found["fitted"][column], found[other][column], rtol=2e-3)


def test_items_keep_their_own_columns_and_calls_may_weigh():
    rng = np.random.default_rng(3)
    table, _ = benchmark(rng, 40, 5, 1.0, (1.0, -0.5))
    table["hard"] = np.where(table["item"].str[1:].astype(int) < 30, "no", "yes")
    fit = js.fit("cbind(right, wrong) ~ model + hard + (1|item)", table)
    found = fit.means("model", scale="response", random="fitted").set_index("model")["estimate"]
    each = fit.predict(table, interval=False)
    gap = each.groupby("model")["estimate"].mean() - found
    assert gap.abs().max() < 0.02  # modes, and means over what the data leave open
    by = fit.means("model", by="hard", scale="response", random="fitted")
    assert len(by) == 4
    short = js.fit("cbind(right, wrong) ~ model + (1|item)", table[(table["model"] == "m0") | (table["hard"] == "no")])
    equal, weighed = (
        short.means("model", scale="response", random="fitted", weights=w)["estimate"]
        for w in ("equal", "proportional")
    )
    assert (equal - weighed).abs().max() > 1e-4  # a model is compared on all items, and items may weigh by their calls


@pytest.mark.parametrize(
    ("formula", "arguments", "message"),
    [
        ("cbind(right, wrong) ~ model + (1|item)", {"scale": "link"}, "use scale='response'"),
        ("cbind(right, wrong) ~ model", {"scale": "response"}, "needs random effects with their joint errors"),
        ("cbind(right, wrong) ~ model + (1|item)", {"scale": "response", "specs": "modle"}, "'modle' is not a column"),
    ],
)
def test_means_of_the_fitted_are_refused(formula, arguments, message):
    fit = js.fit(formula, benchmark(np.random.default_rng(4), 20, 4, 1.0, (1.0, 0.0))[0])
    with pytest.raises(DesignError, match=message):
        fit.means(**{"specs": "model", "random": "fitted"} | arguments)


@pytest.mark.slow
def test_coverage_of_benchmark_and_generalised_accuracy():
    """150 benchmarks of 60 items, each asked 5 times; the truth of the first is new in each, of the second it is one."""
    rng = np.random.default_rng(5)
    nodes, share = np.polynomial.hermite_e.hermegauss(60)
    general = [float(share @ expit(b + 1.5 * nodes) / share.sum()) for b in (1.0, 0.0)]
    hits = np.zeros((3, 2))
    for _ in range(150):
        table, truth = benchmark(rng, 60, 5, 1.5, (1.0, 0.0))
        fit = js.fit("cbind(right, wrong) ~ model + (1|item)", table)
        for k, (random, value) in enumerate((("fitted", truth), ("average", general), ("fitted", general))):
            found = fit.means("model", scale="response", random=random)
            hits[k] += ((found["conf_low"] <= value) & (found["conf_high"] >= value)).to_numpy()
    assert (hits[:2] / 150 > 0.90).all()
    assert (hits[2] / 150 < 0.88).all()  # the interval given these items does not cover items in general


def test_an_average_over_few_levels_is_flagged() -> None:
    rng = np.random.default_rng(3)
    for levels, flagged in ((5, True), (12, False)):
        table = pd.DataFrame({"item": np.repeat(np.arange(levels), 16), "model": ["a", "b"] * 8 * levels})
        table["right"] = (rng.random(len(table)) < 0.3 + 0.4 * (table["item"] % 2)).astype(int)
        own = js.fit("right ~ model + (1|item)", table.astype({"item": str}))
        found = own.means("model", scale="response", random="average")
        assert found["flag"].str.contains("fewer than 10 clusters").all() == flagged
        assert not own.means("model", scale="response")["flag"].str.contains("clusters").any()
