"""The complementary log-log link in every engine: R's glm, glmmTMB, lme4, ordinal and geepack (cloglog.R)."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError, FitError
from judgestats.kernels import likelihoods as lk
from models.reference import data, results, spelled
from refusals import refused

HERDS = "cbind(incidence, size - incidence) ~ period + (1|herd)"
LAPLACE = {"n_quadrature": 1}
ORDINAL = {"family": "cumulative"}
FITS = [
    ("scores", "glm", "correct ~ strategy + length", {"engine": "glm"}),
    ("scores", "glmmTMB", "correct ~ strategy + length", {}),
    ("scores_judge", "glmmTMB", "correct ~ strategy + length + (1|judge)", LAPLACE),
    ("scores_judge", "geeglm", "correct ~ strategy + length", {"engine": "gee", "cluster": "judge", "df": "normal"}),
    ("scores_crossed", "glmmTMB", "correct ~ strategy + length + (1|judge) + (1|item)", {}),
    ("cbpp", "glmmTMB", HERDS, LAPLACE),
    ("cbpp", "glmerMod", HERDS, {}),
    ("wine_clm", "clm", "rating ~ temp + contact", ORDINAL),
    ("wine_clm", "clm", "rating ~ temp + contact", ORDINAL | {"engine": "ordered"}),
    ("wine", "clmm", "rating ~ temp + contact + (1|judge)", ORDINAL | {"n_quadrature": 10}),
]


@pytest.mark.parametrize(("model", "engine", "formula", "options"), FITS)
def test_cloglog_is_rs(model, engine, formula, options):
    fit = js.fit(formula, data(model.split("_")[0]), link="cloglog", **options)
    expected = results("cloglog", model=model, engine=engine)
    own = fit.tidy().set_index("term")
    slack = 10 if engine == "geeglm" else 1  # geepack's working correlation has another divisor
    for row in expected[expected["quantity"].isin(["loglik", "fixed", "sd"])].itertuples():
        if row.quantity == "loglik":
            assert fit.loglik == pytest.approx(row.estimate, abs=1e-5)
        elif row.quantity == "sd":
            factor = row.term if isinstance(row.term, str) and "(" not in row.term else fit.design.terms[0].factor
            assert own.loc[f"sd(Intercept|{factor})", "estimate"] == pytest.approx(row.estimate, rel=1e-5)
        else:
            term = spelled(row.term, ["strategy", "period", "temp", "contact"])
            assert own.loc[term, "estimate"] == pytest.approx(row.estimate, abs=1e-5 * slack)
            assert own.loc[term, "std_error"] == pytest.approx(row.std_error, rel=2e-5 * slack)
    means = expected[expected["quantity"] == "mean"]
    if len(means):
        over = {"cbpp": "period"}.get(model, "temp" if "family" in options else "strategy")
        table = fit.means(over, scale="response")
        np.testing.assert_allclose(table["estimate"], means["estimate"], rtol=1e-5)
        np.testing.assert_allclose(table["std_error"], means["std_error"], rtol=3e-5, atol=1e-7)
        assert table[["conf_low", "conf_high"]].stack().between(0, 1).all()


def test_a_cumulative_model_of_two_categories_is_binomial_with_the_other_tail():
    """P(Y <= first) = F(θ - η): the first category of two is the success."""
    table = data("scores")
    one = js.fit("first ~ length", table.assign(first=1 - table["correct"]), link="cloglog")
    two = js.fit("correct ~ length", table, family="cumulative", link="cloglog")
    assert two.loglik == pytest.approx(one.loglik, abs=1e-9)
    np.testing.assert_allclose(two.coef()[["0|1", "length"]], one.coef() * [1, -1], rtol=1e-5)


def test_all_that_follows_a_fit_has_the_link():
    table = data("scores")
    fit = js.fit("correct ~ strategy + length + (1|judge)", table, link="cloglog")
    slope = fit.margins("length")["estimate"].iloc[0]
    up, down = (
        fit.predict(fit.design.frame.assign(length=lambda t, s=s: t["length"] + s), random="average")
        for s in (1e-4, -1e-4)
    )
    wanted = np.average(up["estimate"] - down["estimate"], weights=fit.design.count) / 2e-4 * 100
    assert slope == pytest.approx(wanted, rel=1e-4)
    parts = fit.variance_components().set_index("term")
    assert parts.loc["residual", "variance"] == pytest.approx(np.pi**2 / 6)
    assert "π²/6" in parts.loc["residual", "method"]
    assert "cloglog" in fit.summary()


@pytest.mark.parametrize("high", [True, False])
def test_separation_is_seen(high):
    table = pd.DataFrame({"g": list("aaabbb") * 4, "y": ([int(high)] * 3 + [0, 1, 0]) * 4})
    fit = js.fit("y ~ g", table, link="cloglog")
    assert "separation" in " ".join(map(str, fit.notes))


@pytest.mark.parametrize(("hi", "lo"), [(-40.0, -np.inf), (-40.0, -41.0), (np.inf, 4.0), (5.0, 4.0), (3.0, 2.9999)])
def test_categories_far_in_a_tail(hi, lo):
    family, width = lk.FAMILIES[lk.CUMULATIVE_CLOGLOG], 1e-5
    at = [lk.loss(family, 0.0, 1.0, s * width, hi, lo) for s in (-1, 0, 1)]
    u, v = np.exp(np.longdouble(hi)), np.exp(np.longdouble(lo))
    assert at[1][0] == pytest.approx(float(v - np.log(-np.expm1(v - u))), rel=1e-9)
    for part in range(3):
        assert at[1][part + 1] == pytest.approx((at[2][part] - at[0][part]) / (2 * width), rel=1e-5, abs=1e-5)
    far = lk.loss(lk.FAMILIES[lk.BINOMIAL_CLOGLOG], 1.0, 1.0, np.array([-800.0, 800.0])[0], 0.0, 0.0)
    assert np.isfinite(far).all()


def test_engines_and_families_without_it_refuse_it():
    table = data("scores")
    refused(
        (FitError, DesignError),
        ({"engine": "lpm"}, r"engine='lpm' has link='logit', got 'cloglog'"),
        ({"engine": "statsmodels"}, r"engine='statsmodels' has link='logit', got 'cloglog'"),
        ({"family": "nominal"}, r"link='cloglog' is not known. Allowed: 'logit'"),
        ({"family": "gaussian"}, r"link='cloglog' is not known. Allowed: 'identity'"),
        of=lambda options: js.fit("correct ~ strategy + (1|judge)", table, link="cloglog", **options),
    )
    fit = js.fit("correct ~ strategy", table, link="cloglog")
    with pytest.raises(DesignError, match="exponentiate=True is for link='logit' and 'log'"):
        fit.tidy(exponentiate=True)
