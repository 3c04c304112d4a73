"""Nominal fits against VGAM, nnet, emmeans, sandwich and statsmodels; with two classes they are the binomial fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError, FitError
from judgestats.models.postestimation.delta_method import delta
from models.reference import data, results, spelled, value
from refusals import refused

FORMULA = "Sat ~ Infl + Type + Cont"
FACTORS = ["Infl", "Type", "Cont"]


@pytest.fixture(scope="module")
def housing() -> js.models.Fit:
    return js.fit(FORMULA, data("housing"), family="nominal", counts="Freq")


@pytest.fixture(scope="module")
def calls() -> pd.DataFrame:
    """600 calls on 60 items, each of which favours a class, with a numeric predictor and a factor."""
    rng = np.random.default_rng(4)
    item = np.repeat(np.arange(60), 10)
    x, strategy = rng.normal(size=600), rng.choice(["B0", "S8"], 600)
    eta = np.column_stack([0 * x, 0.3 + 0.5 * x, -0.8 + 0.9 * (strategy == "S8")]) + rng.normal(size=(60, 3))[item]
    answer = np.array(["safe", "unsafe", "refusal"])[(eta + rng.gumbel(size=(600, 3))).argmax(axis=1)]
    return pd.DataFrame({"item": item, "x": x, "strategy": strategy, "answer": answer})


CLASSES = ("safe", "unsafe", "refusal")
NO_NUMBER = "needs one number a row, and a nominal model has one of each class"


@pytest.mark.parametrize(("engine", "tolerance"), [("vglm", 1e-6), ("multinom", 1e-5)])
def test_coefficients_and_errors_are_those_of_r(housing: js.models.Fit, engine: str, tolerance: float) -> None:
    assert housing.loglik == pytest.approx(
        value("nominal", model="housing", engine=engine, quantity="loglik"), abs=1e-6
    )
    own = housing.tidy().set_index("term")
    rows = results("nominal", model="housing", engine=engine, quantity="fixed")
    assert len(rows) == len(own) == 14
    for row in rows.to_dict("records"):
        cells = own.loc[f"{row['level']}: {spelled(row['term'], FACTORS)}"]
        assert cells["estimate"] == pytest.approx(row["estimate"], abs=tolerance)
        assert cells["std_error"] == pytest.approx(row["std_error"], abs=tolerance)


def test_probabilities_and_the_likelihood_ratio_are_those_of_vgam(housing: js.models.Fit) -> None:
    cells = housing.predict().drop_duplicates([*FACTORS, "category"])
    named = cells.set_index(cells[FACTORS].astype(str).agg(" ".join, axis=1) + cells["category"].astype(str))[
        "estimate"
    ]
    for row in results("nominal", quantity="probability").to_dict("records"):
        assert named[row["term"] + row["level"]] == pytest.approx(row["estimate"], abs=1e-7)
    wanted = results("nominal", quantity="lrt").iloc[0]
    test = housing.drop1().set_index("term").loc["Cont"]
    pair = js.anova(housing, housing.update("Sat ~ Infl + Type")).iloc[1]
    for statistic, df, p in (
        (test["statistic"], test["df"], test["p_value"]),
        (*pair[["statistic", "df_difference", "p_value"]],),
    ):
        assert (statistic, df) == (pytest.approx(wanted["statistic"], abs=1e-6), wanted["df"])
        assert p == pytest.approx(wanted["p_value"], rel=1e-5)


def test_means_are_those_of_emmeans(housing: js.models.Fit) -> None:
    own = housing.means("Infl", scale="response").set_index(["Infl", "category"])
    for row in results("nominal", quantity="mean").to_dict("records"):
        cells = own.loc[(row["term"], row["level"])]
        assert cells["estimate"] == pytest.approx(row["estimate"], abs=1e-5)
        assert cells["std_error"] == pytest.approx(row["std_error"], abs=1e-5)
    np.testing.assert_allclose(own["estimate"].groupby(level=0, observed=True).sum(), 1)


def test_statsmodels_gives_the_same_also_with_clustered_errors(calls: pd.DataFrame) -> None:
    import statsmodels.api as sm

    plain = js.fit("answer ~ x + strategy", calls, family="nominal", categories=CLASSES)
    robust = plain.update(cluster="item", df="normal")
    X = np.column_stack([np.ones(600), calls["x"], calls["strategy"] == "S8"]).astype(float)
    model = sm.MNLogit(calls["answer"].map(CLASSES.index).to_numpy(), X)
    theirs = model.fit(disp=False, method="newton", tol=1e-14)
    np.testing.assert_allclose(plain.params, np.asarray(theirs.params).T.ravel(), rtol=1e-8)
    np.testing.assert_allclose(plain.covariance, theirs.cov_params(), rtol=1e-7, atol=1e-12)
    by_item = model.fit(disp=False, method="newton", tol=1e-14, cov_type="cluster", cov_kwds={"groups": calls["item"]})
    small_sample = 60 / 59 / (60 / 59 * 599 / (600 - 6))  # theirs has a factor for coefficients, ours has not
    size = np.sqrt(np.diag(robust.covariance) / np.diag(by_item.cov_params()) / small_sample)
    np.testing.assert_allclose(size, size[0], rtol=1e-7)
    assert size[0] == pytest.approx(1, abs=0.01)
    assert np.isinf(robust.tidy()["df"]).all()
    corrected = plain.update(cluster="item").tidy()
    assert corrected["df"].between(30, 59).all()
    assert corrected["method"].iloc[0] == "t, clustered by item"


def test_with_two_classes_it_is_the_binomial_fit(calls: pd.DataFrame) -> None:
    two = calls.assign(answer=np.where(calls["answer"] == "unsafe", "unsafe", "other"))
    nominal = js.fit("answer ~ x * strategy", two, family="nominal")
    binomial = js.fit("answer ~ x * strategy", two)
    numbers = ["estimate", "std_error", "statistic", "p_value", "conf_low", "conf_high"]
    np.testing.assert_allclose(nominal.tidy()[numbers], binomial.tidy()[numbers], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(nominal.params, binomial.params, rtol=0, atol=1e-8)
    assert nominal.loglik == pytest.approx(binomial.loglik, abs=1e-8)
    np.testing.assert_allclose(
        nominal.tests()[["statistic", "p_value"]], binomial.tests()[["statistic", "p_value"]], atol=1e-7
    )
    one, other = nominal.margins(), binomial.margins()
    np.testing.assert_allclose(one.loc[one["category"] == "unsafe", numbers], other[numbers], atol=1e-6)
    np.testing.assert_allclose(one.loc[one["category"] == "other", "estimate"], -other["estimate"], atol=1e-6)
    assert nominal.tidy(exponentiate=True)["scale"].tolist() == binomial.tidy(exponentiate=True)["scale"].tolist()
    ratio = {"specs": "strategy", "scale": "odds ratio"}
    np.testing.assert_allclose(nominal.contrasts(**ratio)[numbers], binomial.contrasts(**ratio)[numbers], atol=1e-6)
    ours, theirs = (f.confint(method="profile", terms=t) for f, t in ((nominal, "unsafe: x"), (binomial, "x")))
    np.testing.assert_allclose(ours[["conf_low", "conf_high"]], theirs[["conf_low", "conf_high"]], atol=1e-5)


def test_clustered_errors_of_two_classes_are_those_of_sandwich() -> None:
    wine = data("wine").assign(high=lambda t: np.where(t["high"] > 0, "high", "low"))
    fit = js.fit(
        "high ~ temp + contact", wine, family="nominal", categories=("low", "high"), cluster="judge", df="normal"
    )
    own = fit.tidy().set_index("term")
    for row in results("nominal", quantity="clustered").to_dict("records"):
        cells = own.loc[f"high: {spelled(row['term'], ['temp', 'contact'])}"]
        assert cells["estimate"] == pytest.approx(row["estimate"], abs=1e-8)
        assert cells["std_error"] == pytest.approx(row["std_error"], abs=1e-8)
    assert (own["flag"] == "fewer than 30 levels of judge").all()
    assert (fit.update(df=None).tidy()["flag"] == "").all()
    with pytest.raises(FitError, match="a likelihood ratio ignores"):
        js.anova(fit, fit.update("high ~ temp"))


def test_margins_are_differences_of_predicted_probabilities(calls: pd.DataFrame) -> None:
    fit = js.fit("answer ~ x + strategy", calls, family="nominal", categories=CLASSES)

    def effect(params: np.ndarray) -> np.ndarray:
        X = np.column_stack([np.ones(600), calls["x"], np.zeros(600)])
        sides = []
        for level in (1.0, 0.0):
            X[:, 2] = level
            eta = np.exp(np.column_stack([np.zeros(600), X @ params.reshape(2, 3).T]))
            sides.append((eta / eta.sum(axis=1, keepdims=True)).mean(axis=0))
        return 100 * (sides[0] - sides[1])

    wanted, slopes = delta(effect, fit.params, fit.covariance)
    own = fit.margins("strategy")
    assert own["category"].tolist() == list(CLASSES)
    np.testing.assert_allclose(own["estimate"], wanted, rtol=1e-9)
    np.testing.assert_allclose(own["std_error"], np.sqrt(np.diag(slopes @ fit.covariance @ slopes.T)), rtol=1e-6)
    assert own["estimate"].sum() == pytest.approx(0, abs=1e-10)
    small = fit.margins("x", by="strategy")
    assert small.groupby(["strategy", "category"]).size().eq(1).all()


def test_a_row_may_carry_a_count_and_units_do_not_matter(calls: pd.DataFrame) -> None:
    tally = calls.groupby(["strategy", "answer"], as_index=False).size()
    one = js.fit("answer ~ strategy", calls, family="nominal")
    two = js.fit("answer ~ strategy", tally, family="nominal", counts="size")
    np.testing.assert_allclose(two.params, one.params, rtol=1e-10)
    np.testing.assert_allclose(two.covariance, one.covariance, rtol=1e-9)
    assert (two.n, two.loglik) == (600, pytest.approx(one.loglik, rel=1e-12))
    weighted = js.fit("answer ~ strategy", tally, family="nominal", weights="size")
    np.testing.assert_allclose(weighted.params, one.params, rtol=1e-10)
    far = js.fit("answer ~ z", calls.assign(z=1e3 + 1e-3 * calls["x"]), family="nominal")
    near = js.fit("answer ~ x", calls, family="nominal")
    slopes = [k for k, name in enumerate(near.names) if name.endswith(": x")]
    np.testing.assert_allclose(far.params[slopes] * 1e-3, near.params[slopes], rtol=1e-4)
    assert far.loglik == pytest.approx(near.loglik, rel=1e-9)


def test_a_choice_is_a_response_and_methods_know_the_classes(calls: pd.DataFrame) -> None:
    names = {"safe": "first", "unsafe": "second", "refusal": "tie"}
    table = calls.assign(choice=calls["answer"].map(names))
    table.loc[:2, "choice"] = "invalid"
    fit = js.fit("choice ~ strategy", table, family="nominal")
    assert fit.design.categories == ("first", "second", "tie")
    assert fit.glance()["n_missing"].iloc[0] == 3
    assert "Multinomial logit model" in fit.summary()
    assert "Baseline: first" in fit.summary()
    drawn = fit.simulate(2, seed=1)
    assert set(drawn["sim_1"]) == {"first", "second", "tie"}
    assert not drawn["sim_1"].cat.ordered
    again = fit.confint(method="bootstrap", n_resamples=20, terms="tie: strategy[S8]").iloc[0]
    assert again["conf_low"] < fit.coef()["tie: strategy[S8]"] < again["conf_high"]
    test = fit.tests(["tie: strategy[S8] = second: strategy[S8]"]).iloc[0]
    assert 0 <= test["p_value"] <= 1
    assert fit.tests().set_index("term").loc["strategy", "df"] == 2
    link = fit.means("strategy")
    assert link["category"].tolist() == ["second", "tie"] * 2
    b0 = link.set_index(["strategy", "category"]).loc[("B0", "tie")]
    assert b0["estimate"] == pytest.approx(fit.coef()["tie: Intercept"])
    assert b0["std_error"] == pytest.approx(np.sqrt(fit.vcov().loc["tie: Intercept", "tie: Intercept"]))


def test_separation_is_flagged_and_costs_only_what_runs_away() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"g": rng.choice(["a", "b"], 400), "x": rng.normal(size=400)})
    table["answer"] = np.where(table["g"] == "a", rng.choice(["p", "q", "r"], 400), rng.choice(["p", "q"], 400))
    fit = js.fit("answer ~ g + x", table, family="nominal")
    own = fit.tidy().set_index("term")
    assert fit.options.separated == ("r: g[b]",)
    assert own.loc["r: g[b]", ["std_error", "p_value"]].isna().all()
    assert np.isfinite(own.drop(index="r: g[b]")["std_error"]).all()
    assert "'b' never has r: separation" in fit.check()["what"].tolist()
    means = fit.means("g", scale="response").set_index(["g", "category"])
    assert np.isnan(means.loc[("b", "r"), "std_error"])
    other = fit.update(categories=("r", "p", "q"))  # its baseline is the class that is absent
    assert set(other.options.separated) == {"p: g[b]", "q: g[b]"}
    assert other.loglik == pytest.approx(fit.loglik, abs=1e-6)
    assert "separation" in other.glance()["flag"].iloc[0]


def test_few_calls_of_a_class_are_flagged(calls: pd.DataFrame) -> None:
    rare = calls.assign(answer=np.where(calls.index < 8, "odd", calls["answer"]))
    flag = js.fit("answer ~ x", rare, family="nominal").glance()["flag"].iloc[0]
    assert flag == "fewer than 10 calls of odd per coefficient"
    assert js.fit("answer ~ x", calls, family="nominal").glance()["flag"].iloc[0] == ""
    unused = calls.assign(answer=pd.Categorical(calls["answer"], ["safe", "unsafe", "refusal", "spam"]))
    assert "category without a row: spam" in js.fit("answer ~ x", unused, family="nominal").glance()["flag"].iloc[0]


def test_what_cannot_be_fitted_is_refused(calls: pd.DataFrame) -> None:
    fit = js.fit("answer ~ x", calls, family="nominal")
    refused(
        DesignError,
        (
            lambda: js.fit("answer ~ x", calls.assign(answer="safe"), family="nominal"),
            "A nominal response has two categories or more; 'answer' is always 'safe'",
        ),
        (
            lambda: js.fit(
                "answer ~ x", calls.assign(answer=np.where(calls.index < 9, "Safe", calls["answer"])), family="nominal"
            ),
            "look alike: 'Safe', 'safe'",
        ),
        (lambda: js.fit("x ~ strategy", calls, family="nominal"), "too many for categories"),
        (
            lambda: js.fit("answer ~ x + (1|item)", calls, family="nominal"),
            FitError,
            r"without random effects, and the formula has \(1\|item\). Use engine='pymc'",
        ),
        (lambda: js.fit("answer ~ strategy + offset(x)", calls, family="nominal"), "no offset"),
        (
            lambda: js.fit("answer ~ x", calls, family="nominal", categories=("safe", "unsafe")),
            "Name every category once, baseline first",
        ),
        (
            lambda: js.fit("answer ~ x", calls.assign(one=1), family="nominal", cluster="one"),
            "one level: nothing shows how much clusters differ",
        ),
        (fit.augment, NO_NUMBER),
        (fit.variance_components, NO_NUMBER),
        (lambda: fit.predict(kind="link"), NO_NUMBER),
    )
