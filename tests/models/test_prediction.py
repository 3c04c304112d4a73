"""Predictions and residuals against R."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

from judgestats.errors import FormulaError, SchemaError
from judgestats.models.estimation import fit
from judgestats.models.postestimation.delta_method import delta, spread
from models.reference import data, results
from models.test_mean_contrasts import fitted
from refusals import refused

NUMBERS = ["estimate", "std_error", "conf_low", "conf_high"]
PERIODS = pd.DataFrame({"period": list("1234"), "herd": "new"})


def theirs(model: str, quantity: str, method: str, engine: str = "glmmTMB") -> pd.DataFrame:
    return results("predict", model=model, quantity=quantity, method=method, engine=engine)


@pytest.mark.parametrize("kind", ["link", "response"])
def test_conditional_predictions_of_cbpp(kind: Any) -> None:
    found = fitted("cbpp").predict(data("cbpp"), kind=kind)
    others = theirs("cbpp", kind, "conditional")
    np.testing.assert_allclose(found["estimate"], others["estimate"], atol=1e-5)
    # glmmTMB's errors count the uncertainty of the variance, ours are given it: at most 3 % smaller or larger here
    ratio = found["std_error"] / others["std_error"]
    assert 0.85 < ratio.min() < 1 < ratio.max() < 1.001


def test_conditional_errors_are_those_of_the_laplace_approximation_given_the_variance() -> None:
    """By the inverse of the joint Hessian of fixed and random effects, from the definition."""
    own, table = fitted("cbpp"), data("cbpp")
    X, _, _, codes = own.design.new(table)
    Z = np.eye(15)[codes[0]]
    found = own.predict(table, kind="link")
    p = expit(found["estimate"].to_numpy())
    w = table["size"].to_numpy() * p * (1 - p)
    whole = np.hstack([X, Z])
    H = whole.T @ (w[:, None] * whole)
    H[4:, 4:] += np.eye(15) / own.theta[0] ** 2
    given = np.linalg.inv(H)
    # β from the full likelihood, as the fit has it; modes move with it
    K = -np.linalg.solve(H[4:, 4:], H[4:, :4])
    V = own.covariance[:4, :4]
    move = X + Z @ K
    wanted = np.sqrt(((move @ V) * move).sum(axis=1) + ((Z @ np.linalg.inv(H[4:, 4:])) * Z).sum(axis=1))
    np.testing.assert_allclose(found["std_error"], wanted, rtol=1e-8)
    near = np.sqrt(((whole @ given) * whole).sum(axis=1))
    np.testing.assert_allclose(found["std_error"], near, rtol=0.03)


@pytest.mark.parametrize("kind", ["link", "response"])
def test_predictions_at_random_effects_of_zero(kind: Any) -> None:
    found = fitted("cbpp").predict(data("cbpp"), kind=kind, random="none")
    others = theirs("cbpp", kind, "zero")
    np.testing.assert_allclose(found[["estimate", "std_error"]], others[["estimate", "std_error"]], rtol=2e-5)
    link = fitted("cbpp").predict(data("cbpp"), kind="link", random="none")
    if kind == "response":
        np.testing.assert_allclose(found["conf_low"], expit(link["estimate"] - norm.ppf(0.975) * link["std_error"]))


def test_a_new_level_is_flagged_and_its_variance_counted() -> None:
    own = fitted("cbpp")
    found = own.predict(PERIODS, kind="link")
    np.testing.assert_allclose(found["estimate"], own.predict(PERIODS, kind="link", random="none")["estimate"])
    assert found["flag"].eq("new level").all()
    inside = own.predict(PERIODS, kind="link", random="none")["std_error"]
    np.testing.assert_allclose(found["std_error"], np.sqrt(inside**2 + own.theta[0] ** 2), rtol=1e-10)
    others = theirs("cbpp", "link", "new level")
    np.testing.assert_allclose(found[["estimate", "std_error"]], others[["estimate", "std_error"]], rtol=2e-5)


@pytest.mark.parametrize("model", ["cbpp", "cbpp_probit"])
def test_population_averages_are_those_of_r(model: str) -> None:
    found = fitted(model).predict(PERIODS, random="average")
    others = theirs(model, "population_averaged", "gauss-hermite 50")
    np.testing.assert_allclose(found[["estimate", "std_error"]], others[["estimate", "std_error"]], rtol=2e-5)
    np.testing.assert_allclose(found[["conf_low", "conf_high"]], others[["logit_low", "logit_high"]], rtol=2e-5)
    assert found["flag"].eq("").all()  # a level plays no part


def test_population_averages_of_two_crossed_factors() -> None:
    others = theirs("verbagg", "population_averaged", "gauss-hermite 50")
    cells = pd.DataFrame([v.split(",") for v in others["level"]], columns=["Anger", "Gender", "btype", "situ"])
    found = fitted("verbagg").predict(cells.assign(Anger=20), random="average")
    np.testing.assert_allclose(found[["estimate", "std_error"]], others[["estimate", "std_error"]], rtol=1e-4)
    np.testing.assert_allclose(found[["conf_low", "conf_high"]], others[["logit_low", "logit_high"]], rtol=1e-4)


def test_conditional_predictions_of_crossed_factors() -> None:
    found = fitted("verbagg").predict(data("verbagg").iloc[:10])
    others = theirs("verbagg", "response", "conditional")
    np.testing.assert_allclose(found["estimate"], others["estimate"], atol=2e-5)
    np.testing.assert_allclose(found["std_error"], others["std_error"], rtol=0.02)


@pytest.mark.parametrize("method", ["conditional", "zero"])
def test_a_linear_model_with_slopes(method: str) -> None:
    table = data("sleepstudy")
    own = fit("Reaction ~ Days + (Days|Subject)", table, family="gaussian")
    random: Any = "conditional" if method == "conditional" else "none"
    found = own.predict(table, random=random)
    others = theirs("sleepstudy_ml", "response", method)
    np.testing.assert_allclose(found["estimate"], others["estimate"], atol=2e-3)
    ratio = found["std_error"] / others["std_error"]
    # glmmTMB counts the uncertainty of the variances in conditional errors: they are up to 10 % larger here
    assert (ratio.between(0.9, 1.0001) if method == "conditional" else ratio.between(1 - 1e-4, 1 + 1e-4)).all()
    lme4 = theirs("sleepstudy_reml", "response", method, "lme4")
    again = fitted("sleepstudy_reml").predict(table, random=random)
    np.testing.assert_allclose(again["estimate"], lme4["estimate"], atol=1e-3)


def test_average_of_a_linear_model_is_that_without_random_effects() -> None:
    own, table = fitted("sleepstudy_reml"), data("sleepstudy")
    average, none = (own.predict(table, random=r) for r in ("average", "none"))
    pd.testing.assert_frame_equal(average, none, rtol=1e-10)


def test_categories_with_and_without_random_effects() -> None:
    others = theirs("wine", "response", "zero", "by hand")
    cells = pd.DataFrame([v.split(",")[:2] for v in others["level"][::5]], columns=["temp", "contact"])
    found = fitted("wine").predict(cells, random="none")
    np.testing.assert_allclose(found["estimate"], others["estimate"], atol=2e-5)
    np.testing.assert_allclose(found["std_error"], others["std_error"], rtol=2e-4)
    average = fitted("wine").predict(cells, random="average")
    others = theirs("wine", "population_averaged", "gauss-hermite 50", "by hand")
    np.testing.assert_allclose(average["estimate"], others["estimate"], atol=2e-5)
    np.testing.assert_allclose(average["std_error"], others["std_error"], rtol=2e-4)
    np.testing.assert_allclose(average[["conf_low", "conf_high"]], others[["logit_low", "logit_high"]], rtol=5e-4)
    assert average["category"].tolist()[:6] == ["1", "2", "3", "4", "5", "1"]


def test_categories_of_a_model_without_random_effects() -> None:
    others = theirs("wine_clm", "response", "zero", "clm")
    cells = pd.DataFrame([v.split(",")[:2] for v in others["level"][::5]], columns=["temp", "contact"])
    found = fitted("wine_clm").predict(cells)
    np.testing.assert_allclose(found[["estimate", "std_error"]], others[["estimate", "std_error"]], rtol=2e-4)


def test_the_category_that_was_chosen() -> None:
    own, table = fitted("wine"), data("wine")
    others = theirs("wine", "response", "conditional", "clmm")["estimate"]
    np.testing.assert_allclose(own.augment(table)["fitted"], others, atol=1e-4)
    every = own.predict(table)
    chosen = every[every["category"].astype(int) == every["rating"]]
    np.testing.assert_allclose(chosen["estimate"], others, atol=1e-4)
    np.testing.assert_allclose(every.groupby(np.repeat(np.arange(72), 5))["estimate"].sum(), 1.0)


def test_conditional_errors_of_categories_move_with_the_thresholds() -> None:
    """Against modes found anew at moved parameters."""
    from scipy.optimize import minimize_scalar

    own, table = fitted("wine"), data("wine")
    row = table.iloc[[3]]
    judge = row["judge"].item()
    mine = table[table["judge"] == judge]
    X, _, _, _ = own.design.new(mine)
    y = mine["rating"].to_numpy() - 1
    x0 = own.design.new(row)[0][0]

    def loss(b: float, p: np.ndarray) -> float:
        cuts = np.concatenate([[-np.inf], p[2:6], [np.inf]])
        eta = X @ p[:2] + b
        return float(-np.log(expit(cuts[y + 1] - eta) - expit(cuts[y] - eta)).sum() + b**2 / (2 * own.theta[0] ** 2))

    def mode(p: np.ndarray) -> float:
        return float(
            minimize_scalar(lambda b: loss(b, p), bounds=(-5, 5), method="bounded", options={"xatol": 1e-11}).x
        )

    def probabilities(p: np.ndarray, shift: float = 0.0) -> np.ndarray:
        return np.diff([0, *expit(p[2:6] - x0 @ p[:2] - mode(p) - shift), 1])

    p, V = own.params[:6], own.covariance[:6, :6]
    _, J = delta(probabilities, p, V * 1e4)  # steps wide enough for the search of the mode
    by_b = (probabilities(p, 1e-4) - probabilities(p, -1e-4)) / 2e-4
    b, h = mode(p), 1e-3
    curvature = (loss(b + h, p) - 2 * loss(b, p) + loss(b - h, p)) / h**2
    wanted = np.sqrt(spread(J, V) ** 2 + by_b**2 / curvature)
    np.testing.assert_allclose(own.predict(row)["std_error"], wanted, rtol=2e-3)


def test_two_categories_are_a_binomial_model() -> None:
    table = data("wine")
    table["two"] = np.where(table["high"] == 1, 2, 1)
    ordinal = fit("two ~ temp + contact + (1|judge)", table, family="cumulative").predict(table)
    binomial = fit("high ~ temp + contact + (1|judge)", table).predict(table)
    np.testing.assert_allclose(ordinal[NUMBERS].to_numpy()[1::2], binomial[NUMBERS].to_numpy(), rtol=2e-4)


def test_thresholds_that_vary_by_a_column() -> None:
    table = data("wine")
    own = fit("rating ~ temp + (1|judge)", table, family="cumulative", thresholds_by="contact")
    for random in ("conditional", "none", "average"):
        default, given = own.predict(random=random), own.predict(own.design.frame, random=random)  # type: ignore[arg-type]
        pd.testing.assert_frame_equal(default.drop(columns="n"), given)
    found = own.margins("contact")
    assert found["estimate"].sum() == pytest.approx(0, abs=1e-9)
    assert found["estimate"].abs().max() > 1
    assert len(own.means("contact")) == 2


def test_offsets_are_used() -> None:
    own = fitted("cbpp_poisson")
    one, ten = (own.predict(PERIODS.assign(size=s), random="none")["estimate"] for s in (1, 10))
    np.testing.assert_allclose(ten, 10 * one, rtol=1e-12)
    average = own.predict(PERIODS.assign(size=1), random="average")
    np.testing.assert_allclose(average["estimate"], one * np.exp(own.theta[0] ** 2 / 2), rtol=1e-12)


def test_the_design_and_new_rows_agree_in_any_engine() -> None:
    own = fitted("cbpp")
    default = own.predict()
    again = own.predict(default[["incidence", "size", "period", "herd", "n"]])
    pd.testing.assert_frame_equal(default, again)
    frame = pl.DataFrame({"period": list("1234"), "herd": ["1", "2", "3", "99"]})
    found = own.predict(frame)
    wanted = own.predict(frame.to_pandas())
    np.testing.assert_array_equal(found[NUMBERS], wanted[NUMBERS])
    assert found["flag"].tolist() == ["", "", "", "new level"]
    lazy = own.predict(frame.lazy(), interval=False)
    np.testing.assert_array_equal(lazy["estimate"], found["estimate"])
    assert lazy["std_error"].isna().all()
    assert lazy["flag"].tolist() == ["", "", "", "new level"]


def test_rows_with_a_missing_value() -> None:
    own = fitted("cbpp")
    frame = pd.DataFrame({"period": ["1", None, "2"], "herd": ["1", "1", None]})
    found = own.predict(frame)
    assert found["flag"].tolist() == ["", "missing value", "missing value"]
    assert np.isfinite(found["estimate"].iloc[0])
    assert np.isnan(found["estimate"].iloc[1])
    average = own.predict(frame, random="average")
    assert average["flag"].tolist() == ["", "missing value", ""]
    assert average["estimate"].notna().tolist() == [True, False, True]


def test_rows_that_the_data_do_not_know() -> None:
    table = pd.DataFrame({"a": ["u", "u", "v"] * 20, "b": ["p", "q", "p"] * 20, "y": np.tile([0, 1, 1, 1, 0, 0], 10)})
    found = fit("y ~ a * b", table).predict(pd.DataFrame({"a": ["u", "v"], "b": ["q", "q"]}))
    assert found["flag"].tolist() == ["", "not estimable"]


def test_unknown_covariance_is_nan_with_a_flag() -> None:
    own = replace(fitted("cbpp"), covariance=np.full((5, 5), np.nan))
    for random in ("none", "average"):
        found = own.predict(PERIODS, random=random)  # type: ignore[arg-type]
        assert found["estimate"].notna().all()
        assert found["std_error"].isna().all()
        assert found["flag"].eq("no standard errors").all()
    held = replace(fitted("cbpp"), effects=lambda: None).predict()
    assert held["estimate"].isna().all()
    assert held["flag"].str.contains("random effects unknown").all()


def test_what_is_refused() -> None:
    own = fitted("cbpp")
    refused(
        FormulaError,
        (pd.DataFrame({"herd": ["1"]}), "period"),
        (pd.DataFrame({"period": ["9"], "herd": ["1"]}), "'9'"),
        (PERIODS.assign(estimate=1.0), SchemaError, "'estimate'"),
        ([1, 2], SchemaError, "no table"),
        of=own.predict,
    )


# ---- augment ----------------------------------------------------------------------------------------------------


def test_residuals_of_a_binomial_model() -> None:
    own, table = fitted("cbpp"), data("cbpp")
    found = own.augment(table)
    p = theirs("cbpp", "response", "conditional")["estimate"].to_numpy()
    share = table["incidence"] / table["size"]
    np.testing.assert_allclose(found["fitted"], p, atol=1e-5)
    np.testing.assert_allclose(found["link"], logit(p), atol=1e-4)
    np.testing.assert_allclose(found["residual"], share - p, atol=1e-5)
    np.testing.assert_allclose(found["pearson"], (share - p) / np.sqrt(p * (1 - p) / table["size"]), atol=1e-4)
    assert found["leverage"].isna().all()  # new rows have none


def test_leverage_of_a_linear_model_is_the_diagonal_of_its_hat_matrix() -> None:
    own = fitted("sleepstudy_reml")
    found = own.augment()
    d = own.design
    Z = np.zeros((180, 36))
    for c in (0, 1):
        Z[np.arange(180), 2 * d.terms[0].codes + c] = d.terms[0].values[:, c]
    G = np.kron(np.eye(18), own.covariances()[0])
    V = Z @ G @ Z.T + own.residual**2 * np.eye(180)
    W = np.linalg.inv(V)
    P = W - W @ d.X @ np.linalg.solve(d.X.T @ W @ d.X, d.X.T @ W)
    hat = np.eye(180) - own.residual**2 * P
    np.testing.assert_allclose(found["leverage"], np.diag(hat), rtol=1e-6)
    np.testing.assert_allclose(found["fitted"], hat @ d.y, rtol=1e-6)
    np.testing.assert_allclose(found["std_residual"], found["pearson"] / np.sqrt(1 - np.diag(hat)), rtol=1e-8)


def test_leverage_without_random_effects_is_that_of_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(2)
    x = rng.normal(size=200)
    table = pd.DataFrame({"x": x, "y": rng.poisson(np.exp(0.3 + 0.5 * x))})
    found = fit("y ~ x", table, family="poisson").augment().sort_values("x")
    order = np.argsort(x)
    result = sm.GLM(table["y"], sm.add_constant(x), family=sm.families.Poisson()).fit(tol=1e-12)
    np.testing.assert_allclose(found["leverage"], result.get_hat_matrix_diag(observed=False)[order], rtol=1e-4)
    np.testing.assert_allclose(found["pearson"], result.resid_pearson.iloc[order], atol=1e-4)


def test_ordinal_residuals_have_mean_zero_under_the_model() -> None:
    own, table = fitted("wine_clm"), data("wine")
    found = own.augment(table)
    every = own.predict(table)["estimate"].to_numpy().reshape(-1, 5)
    y = table["rating"].to_numpy() - 1
    below = np.array([row[:k].sum() for row, k in zip(every, y, strict=True)])
    above = np.array([row[k + 1 :].sum() for row, k in zip(every, y, strict=True)])
    np.testing.assert_allclose(found["residual"], below - above, rtol=1e-10)
    scores = np.cumsum(every, axis=1) - every - (1 - np.cumsum(every, axis=1))
    np.testing.assert_allclose((every * scores).sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(found["pearson"], (below - above) / np.sqrt((every * scores**2).sum(axis=1)), rtol=1e-9)


@pytest.mark.parametrize(
    ("response", "values"),
    [("y", [True, False]), ("y", ["no", "yes"]), ("y[tie]", ["tie", "win"]), ("y", [1, 0])],
)
def test_new_responses_are_read_as_the_old_ones(response: str, values: list[Any]) -> None:
    table = pd.DataFrame({"y": ([*values, values[0]]) * 10, "g": ["a", "b", "c", "d", "e"] * 6})
    own = fit(f"{response} ~ g", table)
    default, new = own.augment(), own.augment(own.design.frame)
    for column in ("link", "fitted", "residual", "pearson"):
        np.testing.assert_array_equal(default[column], new[column])
    assert default["n"].sum() == 30
    assert own.augment(table.drop(columns="y"))["residual"].isna().all()


def test_counts_beside_a_column_n_of_the_formula() -> None:
    table = pd.DataFrame({"k": [1, 1, 2, 0], "n": [3, 3, 4, 2], "g": ["a", "a", "b", "b"]})
    found = fit("cbind(k, n - k) ~ g", table).predict()
    assert sorted(found["count"]) == [1, 1, 2]
    assert sorted(found["n"]) == [2, 3, 4]


def test_doubts_about_the_fit_are_in_every_row() -> None:
    table = pd.DataFrame({"y": [0] * 20 + [0, 1] * 10, "g": ["a"] * 20 + ["b"] * 20})
    own = replace(fitted("cbpp"), notes=("not converged", "singular fit"))
    assert own.predict(random="none")["flag"].eq("not converged").all()
    assert own.margins()["flag"].eq("not converged").all()
    separated = fit("y ~ g", table)
    if "separation" in separated.notes:
        assert separated.contrasts("g")["flag"].str.contains("separation").all()


def test_fixed_is_the_predictor_without_random_effects() -> None:
    own = fit("incidence ~ period + offset(log(size)) + (1|herd)", data("cbpp"), family="poisson")
    found = own.augment()
    effects = own.random_effects().set_index("level")["estimate"]
    assert list(found.columns[-8:]) == [
        "link", "fixed", "fitted", "residual", "pearson", "leverage", "std_residual", "flag",
    ]  # fmt: skip
    np.testing.assert_allclose(found["link"] - found["fixed"], found["herd"].astype(str).map(effects), atol=1e-10)
    np.testing.assert_allclose(found["fixed"], own.design.X @ own.beta + own.design.offset, atol=1e-12)
    link = own.predict(own.design.frame, kind="link", random="none")["estimate"]
    np.testing.assert_allclose(own.augment(own.design.frame)["fixed"], link, atol=1e-12)
    with pytest.raises(SchemaError, match="'fixed'"):
        own.augment(own.design.frame.assign(fixed=1))


def test_leverage_of_ordinal_fits_and_of_new_rows_is_not_known() -> None:
    ordinal = fit("rating ~ temp + (1|judge)", data("wine"), family="cumulative").augment()
    new = fit("high ~ temp", data("wine")).augment(data("wine"))
    for found in (ordinal, new):
        assert found[["leverage", "std_residual"]].isna().all(axis=None)
        assert found["pearson"].notna().all()
