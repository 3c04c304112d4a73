"""Random terms left out: R's lmerTest::ranova, and log-likelihoods of glmmTMB and ordinal (ranova.R)."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

import judgestats as js
from judgestats.errors import FitError
from models.reference import data, results
from refusals import refused

ROWS = results("ranova")
CASES = ROWS[["model", "engine", "method"]].drop_duplicates().values.tolist()
TABLES = {"Reaction": "sleepstudy", "diameter": "penicillin", "incidence": "cbpp", "rating": "wine"}
FAMILIES = {"correct": "binomial", "incidence": "poisson", "rating": "cumulative"}
NUMBER = "score ~ strategy + (0 + length|judge) + (1|item)"


def fitted(model, reml=False):
    answer = model.split()[0]
    options = {"family": FAMILIES.get(answer, "gaussian"), "reml": reml, "n_quadrature": 1}
    return js.fit(model, data(TABLES.get(answer, "scores")), **options)


@pytest.mark.parametrize(("model", "engine", "method"), CASES)
def test_rows_are_those_of_ranova(model, engine, method):
    own = fitted(model, method == "REML").ranova()
    expected = results("ranova", model=model, engine=engine, method=method)
    if engine != "lmerTest":
        own = own.iloc[1:]
    if model == NUMBER:  # lmerTest takes (1|judge) for what is left, which is not nested
        assert own["term"].tolist() == ["<none>", "(0 + length|judge)", "(1|item)"]
        assert own["df"].tolist() == [0, 1, 1]
        less = fitted("score ~ strategy + (1|item)", method == "REML")
        assert own["loglik"].iloc[1] == pytest.approx(less.loglik, abs=1e-6)
        own, expected = own.iloc[[0, 2]], expected.iloc[[0, 2]]
    names = own["term"].str.replace("|", " | ", regex=False).str.replace("(1 + ", "(", regex=False)
    assert names.tolist() == expected["term"].str.replace("(1 + ", "(", regex=False).tolist()
    near = {"rtol": 1e-5, "atol": 1e-4 if engine == "lmerTest" else 5e-4}
    for column in ("loglik", "aic", "statistic"):
        np.testing.assert_allclose(own[column], expected[column], **near)
    np.testing.assert_allclose(own["df"], expected["df"].fillna(0))
    np.testing.assert_allclose(np.log(own["p_value"]), np.log(expected["p_value"]), rtol=1e-4, atol=1e-3)
    assert own["flag"][own["term"] != "<none>"].str.contains("p conservative: variance on the boundary").all()


def test_counts_and_weights_reach_the_restricted_likelihood_without_random_terms():
    table = data("sleepstudy").assign(w=lambda t: 1 + t["Days"] / 5)
    fit = js.fit("Reaction ~ Days + (1|Subject)", table, family="gaussian", reml=True, weights="w")
    tiny = fit.ranova()["loglik"].iloc[1]
    y, X, w = table["Reaction"].to_numpy(), np.column_stack([np.ones(180), table["Days"]]), table["w"].to_numpy()

    def minus(log_s):
        V = np.diag(np.exp(log_s) / w)
        inverse = np.linalg.inv(V)
        M = X.T @ inverse @ X
        e = y - X @ np.linalg.solve(M, X.T @ inverse @ y)
        both = np.linalg.slogdet(V)[1] + np.linalg.slogdet(M)[1]
        return (both + e @ inverse @ e + 178 * np.log(2 * np.pi)) / 2

    assert tiny == pytest.approx(-minimize_scalar(minus, bracket=(6, 9)).fun, abs=1e-6)
    twice = pd.concat([table, table]).drop(columns="w")
    counted = js.fit("Reaction ~ Days + (1|Subject)", table.assign(k=2), family="gaussian", reml=True, counts="k")
    plain = js.fit("Reaction ~ Days + (1|Subject)", twice, family="gaussian", reml=True)
    np.testing.assert_allclose(counted.ranova()["loglik"], plain.ranova()["loglik"], rtol=1e-8)


def test_quadrature_is_compared_with_what_is_exact():
    table = data("cbpp")
    fit = js.fit("cbind(incidence, size - incidence) ~ period + (1|herd)", table)
    own = fit.ranova()
    test = js.anova(js.fit("cbind(incidence, size - incidence) ~ period", table), fit).iloc[1]
    assert own["statistic"].iloc[1] == pytest.approx(test["statistic"])
    assert own["p_value"].iloc[1] == pytest.approx(test["p_value"])
    assert own["flag"].iloc[1] == test["flag"]


def test_what_has_no_random_terms_of_our_own_is_refused():
    table = data("scores")
    refused(
        FitError,
        (js.fit("score ~ strategy", table, family="gaussian"), "has 0. Write one"),
        (js.fit("score ~ strategy + (1|judge)", table, family="gaussian", engine="mixedlm"), "by engine='mixedlm'"),
        of=lambda fit: fit.ranova(),
    )
