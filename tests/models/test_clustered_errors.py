"""Errors clustered by CR2: clubSandwich's of lm, glm and lmer; counts; what is refused."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError, FitError
from models.reference import data, results, spelled
from refusals import refused

CLOSE = 1e-6
GAUSSIAN = {"family": "gaussian"}
REML = {"family": "gaussian", "reml": True}
#: Name in R's script -> formula, clusters and options.
MODELS = {
    "linear": ("score ~ strategy + cot + big", "judge", GAUSSIAN),
    "linear by item": ("score ~ strategy * cot + length", "item", GAUSSIAN),
    "linear, weights": ("score ~ strategy + big", "judge", GAUSSIAN | {"weights": "length"}),
    "linear, a coefficient for each judge": ("score ~ strategy + judge", "topic", GAUSSIAN),
    "linear, a coefficient for each cluster": ("score ~ strategy + judge", "judge", GAUSSIAN),
    "binomial": ("correct ~ strategy + length + big", "judge", {}),
    "binomial, a coefficient for each cluster": ("correct ~ strategy + judge", "judge", {}),
    "binomial, probit": ("correct ~ strategy + big", "judge", {"link": "probit"}),
    "binomial, trials": ("cbind(right, n - right) ~ strategy + cot + big", "judge", {"counts": False}),
    "poisson": ("points ~ strategy + big + offset(log(length))", "judge", {"family": "poisson"}),
    "mixed": ("score ~ strategy + big + (1 | judge)", "judge", REML),
    "mixed, ML": ("score ~ strategy + big + (1 | judge)", "judge", GAUSSIAN),
    "mixed, slopes": ("score ~ strategy + cot + (cot | judge)", "judge", REML),
    "mixed, nested": ("score ~ strategy + length + (1 | topic / item)", "topic", REML),
}
CASES = [(m, e) for m in MODELS for e in ("ml", "glm") if e == "ml" or "|" not in MODELS[m][0]]


@cache
def scores():
    own = data("scores")
    own["big"] = own["judge"].isin(["j6", "j7", "j8"]).astype(int)
    own["points"] = own["score"].round()
    return own


def table(model):
    if model != "binomial, trials":
        return scores()
    cells = scores().groupby(["judge", "strategy", "cot", "big"], observed=True)["correct"]
    return cells.agg(right="sum", n="size").reset_index()


def fitted(model, **options):
    formula, cluster, own = MODELS[model]
    return js.fit(formula, table(model), cluster=cluster, **own, **options)


def name_of(term):
    return spelled(term, ["strategy", "judge", "cot"]).replace("[TRUE]", "[True]")


@pytest.mark.parametrize(("model", "engine"), CASES)
def test_covariance_degrees_of_freedom_and_tests_are_clubsandwichs(model, engine):
    fit = fitted(model, vcov="CR2", engine=engine)
    expected = results("clustered", model=model, quantity="coefficient")
    names = expected["term"].map(name_of)
    found = fit.tidy(effects="fixed").set_index("term").loc[names]
    for column in ("estimate", "std_error", "df"):
        np.testing.assert_allclose(found[column], expected[column], rtol=CLOSE)
    assert (found["method"] == f"t, clustered by {MODELS[model][1]}").all()
    covariance = results("clustered", model=model, quantity="covariance")["estimate"].to_numpy()
    own = fit.vcov().loc[names, names].to_numpy()
    np.testing.assert_allclose(own.ravel(), covariance, rtol=0, atol=CLOSE * np.abs(covariance).max())
    row = results("clustered", model=model, quantity="F").iloc[0]
    tested = [
        k for k, n in enumerate(fit.names[: fit.n_fixed]) if (":" in n if row["term"] == ":" else "strategy" in n)
    ]
    test = fit.tests(np.eye(fit.n_fixed)[tested]).iloc[0]
    np.testing.assert_allclose(
        test[["statistic", "df_error", "p_value"]].astype(float),
        row[["statistic", "df", "p_value"]].astype(float),
        5e-6,
    )
    pd.testing.assert_frame_equal(fit.tidy(), fitted(model, engine=engine).tidy())  # CR2 is the default


@pytest.mark.parametrize(
    "model", ["linear", "linear by item", "binomial", "binomial, probit", "binomial, trials", "poisson"]
)
def test_normal_is_vcovcl_and_z(model):
    fit = fitted(model, df="normal")
    expected = results("clustered", model=model, quantity="cr1")["std_error"]
    found = fit.tidy(effects="fixed")
    np.testing.assert_allclose(found["std_error"], expected, rtol=CLOSE)
    assert (found["method"] == "z").all()
    named = fitted(model, df="normal", vcov="CR2").tidy(effects="fixed")
    corrected = fitted(model).tidy(effects="fixed")
    assert np.isinf(named["df"]).all()
    np.testing.assert_allclose(named["std_error"], corrected["std_error"], rtol=1e-12)
    few = "fewer than 30 levels of judge"
    assert named["flag"].str.contains(few).all() == (MODELS[model][1] == "judge")


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
@pytest.mark.parametrize("engine", ["ml", "glm"])
def test_counts_are_the_expanded_table(family, engine):
    answer = "correct" if family == "binomial" else "points"
    columns = ["judge", "strategy", "big", answer]
    rows = scores()[columns].sample(2000, replace=True, random_state=1).reset_index(drop=True)
    tally = rows.groupby(columns, observed=True).size().rename("n").reset_index()
    formulas = [f"{answer} ~ strategy + big"]
    formulas += [f"{answer} ~ strategy + (1|judge)"] if (family, engine) == ("gaussian", "ml") else []
    for formula in formulas:
        one, other = (
            js.fit(formula, t, family=family, engine=engine, cluster="judge", vcov="CR2", counts=counts)
            for t, counts in ((rows, False), (tally, "n"))
        )
        assert other.n == 2000 > 5 * len(tally)
        pd.testing.assert_frame_equal(one.tidy(effects="fixed"), other.tidy(effects="fixed"), rtol=1e-6)


def test_one_variance_is_that_of_means_of_clusters():
    """Calls as many in each cluster and one mean: the error and the degrees of freedom of the clusters' means."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"judge": np.repeat(np.arange(9), 20)})
    table["score"] = rng.normal(size=9)[table["judge"]] + rng.normal(size=180)
    means = table.groupby("judge")["score"].mean()
    for formula in ("score ~ 1", "score ~ 1 + (1|judge)"):
        row = js.fit(formula, table, family="gaussian", cluster="judge", vcov="CR2").tidy(effects="fixed").iloc[0]
        assert row["std_error"] == pytest.approx(means.std(ddof=1) / 3, rel=1e-9)
        assert row["df"] == pytest.approx(8, rel=1e-9)


def test_means_margins_and_summary_use_them():
    fit = fitted("binomial")
    tidy = fit.tidy().set_index("term")
    contrast = fit.contrasts("strategy", adjust="none").iloc[0]
    for column in ("estimate", "std_error", "df", "p_value"):
        assert abs(contrast[column]) == pytest.approx(abs(tidy.loc["strategy[S1]", column]), rel=1e-9)
    assert (fit.margins()["method"] == "average; t, clustered by judge").all()
    text = fit.summary()
    assert "Clusters: judge: 8" in text
    assert " Tests: t, clustered by judge" in text
    mixed = fitted("mixed")
    remedy = mixed.check().set_index("column").loc["judge", "remedy"]
    assert "(t, clustered by judge) hold" in remedy
    plain = js.fit(MODELS["mixed"][0], scores(), **REML)
    assert mixed.loglik == plain.loglik
    pd.testing.assert_frame_equal(mixed.tidy(effects="random"), plain.tidy(effects="random"))
    pd.testing.assert_series_equal(mixed.coef(), plain.coef())


def test_a_separated_answer_and_a_perfect_fit_have_no_errors():
    own = scores().assign(sure=lambda t: (t["strategy"] == "S8").astype(int) | t["correct"])
    for engine in ("ml", "glm"):
        fit = js.fit("sure ~ strategy", own, cluster="judge", vcov="CR2", engine=engine)
        rows = fit.tidy().set_index("term")
        assert "separation" in rows.loc["strategy[S8]", "flag"]
        assert np.isnan(rows.loc["strategy[S8]", "std_error"])
        assert rows.loc["strategy[S1]", "std_error"] > 0
    exact = js.fit("big ~ judge", own, family="gaussian", cluster="judge")
    assert exact.tidy()["std_error"].isna().all()


def test_what_has_no_clustered_errors_is_refused():
    def fit(formula="correct ~ strategy", **options):
        return js.fit(formula, scores().assign(one=1), **options)

    mixed = {"formula": "score ~ strategy + (1|judge) + (1|item)", "family": "gaussian"}
    refused(
        DesignError,
        (lambda: fit(vcov="CR2"), "vcov='CR2' is of clustered errors: name their column, as in cluster='item'"),
        (lambda: fit(vcov="CR3", cluster="judge"), "vcov='CR3' is not known. Allowed: 'CR2'"),
        (lambda: fit(cluster="jugde"), "Did you mean 'judge'"),
        (lambda: fit(cluster="one"), "one level: nothing shows how much clusters differ"),
        (lambda: fit(cluster="judge", df="judge"), "those by cluster= have their own"),
        (lambda: fit(cluster="judge", **mixed), "one level of 'item' are in several clusters"),
        (lambda: fit(cluster="judge", df="satterthwaite", **mixed), "those by cluster= have their own"),
        (lambda: fit("correct ~ strategy + (1|judge)", cluster="judge"), FitError, "Leave out the random terms"),
        (lambda: fit(cluster="judge", engine="lpm"), FitError, "takes no cluster= of family='binomial'.*engine='ml'"),
        (lambda: fit(cluster="judge", family="negative_binomial"), FitError, r"Write \(1\|judge\) in the formula\.$"),
    )
    own = fitted("binomial")
    refused(
        DesignError,
        (lambda: own.confint(method="profile"), "ignores that errors are clustered by 'judge'"),
        (lambda: own.confint(method="bootstrap"), "ignores that errors are clustered by 'judge'"),
        (lambda: js.anova(own, own.update("correct ~ 1")), FitError, "which a likelihood ratio ignores"),
        (lambda: own.drop1(), FitError, "which a likelihood ratio ignores"),
    )


def test_predictions_at_random_effects_are_by_the_model_whatever_the_clusters():
    rng = np.random.default_rng(5)
    g = np.repeat(np.arange(6), 8)
    table = pd.DataFrame({"y": rng.normal(size=6)[g] + rng.normal(size=48), "g": g.astype(str)})
    plain, by_g = (
        js.fit("y ~ 1 + (1|g)", table, family="gaussian", **o) for o in ({}, {"cluster": "g", "vcov": "CR2"})
    )
    one, other = (fit.predict(table, random="conditional") for fit in (plain, by_g))
    pd.testing.assert_frame_equal(one, other)
    one, other = (fit.predict(table.head(1), random="none") for fit in (plain, by_g))
    assert other["conf_high"].item() > one["conf_high"].item()  # t with 5 degrees of freedom
