"""Likelihood-ratio and Wald tests against R (anova, car::Anova), and hypotheses as text."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from judgestats.errors import DesignError, FitError, FormulaError
from judgestats.flags import BOUNDARY, NOT_NESTED, REFITTED, SAME_SIZE
from judgestats.models.estimation import fit
from judgestats.models.postestimation.likelihood_ratios import anova
from judgestats.models.postestimation.linear_hypotheses import hypothesis
from models.reference import data, results, value
from models.test_mean_contrasts import CASES, fitted
from refusals import refused


@cache
def own(formula: str, table: str, **options: Any) -> Any:
    return fit(formula, data(table), **{"n_quadrature": 1, **options})


def sleep(right: str, reml: bool) -> Any:
    return own(f"Reaction ~ {right}", "sleepstudy", family="gaussian", reml=reml)


def wine(right: str) -> Any:
    return own(f"rating ~ {right}", "wine", family="cumulative")


PAIRS = {
    ("cbpp", "cbpp_null"): lambda: (own(CASES, "cbpp"), own(CASES.replace("period", "1"), "cbpp")),
    ("cbpp_obs", "cbpp"): lambda: (own(f"{CASES} + (1|obs)", "cbpp"), own(CASES, "cbpp")),
    ("cbpp", "cbpp_glm"): lambda: (own(CASES, "cbpp"), own(CASES.replace(" + (1|herd)", ""), "cbpp")),
    ("wine_unbalanced", "wine_unbalanced_main"): lambda: (
        own("high ~ temp * contact + (1|judge)", "wine_unbalanced"),
        own("high ~ temp + contact + (1|judge)", "wine_unbalanced"),
    ),
    ("sleepstudy_reml", "sleepstudy_uncorrelated_reml"): lambda: (
        sleep("Days + (Days|Subject)", True),
        sleep("Days + (Days||Subject)", True),
    ),
    ("sleepstudy_ml", "sleepstudy_intercept_ml"): lambda: (
        sleep("Days + (Days|Subject)", False),
        sleep("Days + (1|Subject)", False),
    ),
    ("sleepstudy_ml", "sleepstudy_no_days_ml"): lambda: (
        sleep("Days + (Days|Subject)", False),
        sleep("1 + (Days|Subject)", False),
    ),
    ("wine", "wine_temp"): lambda: (wine("temp + contact + (1|judge)"), wine("temp + (1|judge)")),
    ("wine", "wine_clm"): lambda: (wine("temp + contact + (1|judge)"), wine("temp + contact")),
    ("verbagg_interaction", "verbagg"): lambda: (fitted("verbagg_interaction"), fitted("verbagg")),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_ratios_are_those_of_r(pair: tuple[str, str]) -> None:
    large, small = PAIRS[pair]()
    theirs = results("tests", model=pair[0], term=pair[1], quantity="lrt").iloc[0]
    table = anova(large, small)  # in any order
    assert table["formula"].tolist() == [small.formula, large.formula]
    last = table.iloc[1]
    assert last["statistic"] == pytest.approx(theirs["statistic"], abs=2e-4)
    assert last["df_difference"] == theirs["df"]
    assert last["p_value"] == pytest.approx(theirs["p_value"], rel=3e-4)
    # a correlation alone, (Days|Subject) against (Days||Subject), is on no boundary
    variances = [sum(len(t.names) for t in f.design.terms) for f in (large, small)]
    assert (BOUNDARY in last["flag"]) == (variances[0] > variances[1])


def test_the_boundary_is_that_of_variances_not_of_correlations() -> None:
    whole, apart = (sleep(f"Days + (Days{bar}Subject)", True) for bar in ("|", "||"))
    assert anova(apart, whole)["flag"].tolist() == ["", ""]
    one = sleep("Days + (1|Subject)", True)
    assert anova(one, apart)["flag"].tolist() == ["", BOUNDARY]
    assert anova(one, whole)["flag"].tolist() == ["", BOUNDARY]
    assert anova(one, sleep("Days + (0 + Days|Subject)", True))["flag"].tolist() == ["", SAME_SIZE]


def test_criteria_are_those_of_r() -> None:
    table = anova(own(CASES.replace("period", "1"), "cbpp"), own(CASES, "cbpp"))
    for quantity, column in (("loglik", "loglik"), ("aic", "aic"), ("bic", "bic"), ("df", "df")):
        theirs = [value("fits", model=m, engine="glmmTMB", quantity=quantity) for m in ("cbpp_null", "cbpp")]
        np.testing.assert_allclose(table[column], theirs, atol=1e-5)


def test_the_published_test_of_cbpp() -> None:
    last = anova(own(CASES.replace("period", "1"), "cbpp"), own(CASES, "cbpp")).iloc[1]
    assert (round(last["statistic"], 3), last["df_difference"]) == (25.610, 3)  # lme4: 25.60994, p 1.151e-5
    assert last["p_value"] == pytest.approx(1.151e-5, rel=1e-3)


def test_restricted_fits_with_other_fixed_effects_are_fitted_again() -> None:
    table = anova(sleep("1 + (Days|Subject)", True), sleep("Days + (Days|Subject)", True))
    theirs = results("tests", model="sleepstudy_ml", term="sleepstudy_no_days_ml").iloc[0]
    assert table["statistic"].iloc[1] == pytest.approx(theirs["statistic"], abs=1e-4)
    assert table["flag"].eq(REFITTED.of(how="ML")).all()
    mixed = anova(sleep("1 + (Days|Subject)", False), sleep("Days + (Days|Subject)", True))
    assert mixed["statistic"].iloc[1] == pytest.approx(theirs["statistic"], abs=1e-4)


def test_three_models_in_a_row() -> None:
    table = anova(wine("temp + contact + (1|judge)"), wine("1 + (1|judge)"), wine("temp + (1|judge)"))
    assert table["df"].tolist() == [5, 6, 7]
    total = value("tests", "statistic", model="wine", term="wine_null", quantity="lrt")
    assert table["statistic"].sum() == pytest.approx(total, abs=2e-4)


def test_a_tally_and_its_calls_give_the_same() -> None:
    calls = data("wine")[["high", "temp", "contact"]]
    tally = calls.groupby(["high", "temp", "contact"], observed=True).size().rename("n").reset_index()
    tables = [
        anova(fit("high ~ temp", t, counts=n), fit("high ~ temp + contact", t, counts=n))
        for t, n in ((calls, None), (tally, "n"))
    ]
    pd.testing.assert_frame_equal(tables[0], tables[1], rtol=1e-8)


def test_what_is_flagged() -> None:
    a, b = own("high ~ temp", "wine"), own("high ~ contact", "wine")
    assert anova(a, b)["flag"].tolist() == ["", SAME_SIZE]
    assert np.isnan(anova(a, b)["p_value"].iloc[1])
    worse = own("high ~ temp + bottle", "wine")
    lower = replace(worse, loglik=a.loglik - 1)
    table = anova(a, lower)
    assert NOT_NESTED in table["flag"].iloc[1]
    assert np.isnan(table["statistic"].iloc[1])


@pytest.mark.parametrize("rule", ["auto", 9])
def test_models_by_two_rules_are_compared_under_laplace_where_one_needs_it(rule: Any) -> None:
    small, large = own(CASES, "cbpp", n_quadrature=rule), own(f"{CASES} + (1|obs)", "cbpp", n_quadrature="auto")
    assert [f.approximation for f in (small, large)] == ["trapezoid" if rule == "auto" else "AGQ 9", "Laplace"]
    table = anova(small, large)
    assert table["flag"].tolist() == ["refitted by Laplace's approximation", BOUNDARY]
    wanted = anova(own(CASES, "cbpp"), large)
    np.testing.assert_allclose(table["statistic"], wanted["statistic"], atol=1e-8)
    theirs = results("tests", model="cbpp_obs", term="cbpp", quantity="lrt").iloc[0]
    assert table["statistic"].iloc[1] == pytest.approx(theirs["statistic"], abs=2e-4)


def test_two_numbers_of_nodes_are_compared_under_the_refined_rule() -> None:
    null = CASES.replace("period", "1")
    table = anova(own(null, "cbpp", n_quadrature=3), own(CASES, "cbpp", n_quadrature="auto"))
    assert table["flag"].tolist() == ["refitted by the trapezoidal rule", ""]
    exact = [own(f, "cbpp", n_quadrature=51).loglik for f in (null, CASES)]
    np.testing.assert_allclose(table["loglik"], exact, atol=1e-7)
    free = anova(own(CASES, "cbpp", n_quadrature="auto"), own(CASES.replace(" + (1|herd)", ""), "cbpp"))
    assert free["flag"].tolist() == ["", BOUNDARY]


def test_what_is_refused() -> None:
    cbpp = own(CASES, "cbpp")
    refused(
        DesignError,
        (lambda: anova(cbpp), "two models or more"),
        (lambda: anova(cbpp, own("high ~ temp", "wine")), "differ in their response"),
        (lambda: anova(cbpp, own(CASES, "cbpp", link="probit")), "differ in their link"),
        (
            lambda: anova(own("high ~ temp", "wine"), own("high ~ temp + contact", "wine_unbalanced")),
            "of different data: 72 rows and 57",
        ),
        (
            lambda: anova(cbpp, replace(own(CASES.replace("period", "1"), "cbpp", n_quadrature=9), engine="mine")),
            "approximated differently: AGQ 9, Laplace",
        ),
        (lambda: anova(cbpp, replace(cbpp, loglik=float("nan"))), FitError, "has no likelihood"),
    )


@pytest.mark.parametrize(
    ("model", "engine", "tolerance"),
    [
        ("cbpp", "glmmTMB", 1e-5),
        ("cbpp_probit", "glmmTMB", 1e-5),
        ("wine_binary", "glmmTMB", 1e-4),
        ("wine_unbalanced", "glmmTMB", 1e-4),
        ("verbagg", "glmmTMB", 1e-4),
        ("verbagg_interaction", "glmmTMB", 1e-4),
        ("sleepstudy_reml", "lme4", 1e-5),
        ("wine_clm", "clm", 1e-4),
    ],
)
def test_type_two_is_that_of_car(model: str, engine: str, tolerance: float) -> None:
    others = results("tests", model=model, engine=engine, quantity="type II").set_index("term")
    found = fitted(model).update(df="normal").tests().set_index("term")  # car's χ²
    assert sorted(found.index) == sorted(others.index)
    others = others.loc[found.index]
    np.testing.assert_allclose(found["statistic"], others["statistic"], rtol=tolerance)
    np.testing.assert_allclose(found["p_value"], others["p_value"], rtol=20 * tolerance)
    assert (found["df"] == others["df"]).all()


def test_type_three_with_sum_coding_is_that_of_car() -> None:
    from models.reference import data

    own = fit("high ~ C(temp, Sum) * C(contact, Sum) + (1|judge)", data("wine_unbalanced"), n_quadrature=1)
    others = results("tests", model="wine_unbalanced", quantity="type III").set_index("term")["statistic"]
    found = own.tests("III").set_index("term")["statistic"]
    names = ["temp", "contact", "temp:contact"]
    np.testing.assert_allclose(found[names], others[names], rtol=1e-4)


def test_type_two_and_three_differ_where_terms_contain_each_other() -> None:
    own = fitted("wine_unbalanced")
    second, third = own.tests("II").set_index("term"), own.tests("wald").set_index("term")
    assert abs(second.loc["temp", "statistic"] - third.loc["temp", "statistic"]) > 0.5
    assert second.loc["temp:contact", "statistic"] == pytest.approx(third.loc["temp:contact", "statistic"])


def test_type_two_of_a_numeric_interaction_respects_marginality() -> None:
    rng = np.random.default_rng(2)
    import pandas as pd

    table = pd.DataFrame({"x": rng.normal(1, 1, 400), "g": rng.choice(["a", "b", "c"], 400)})
    table["y"] = (rng.random(400) < 1 / (1 + np.exp(-table["x"]))).astype(int)
    own = fit("y ~ x * g", table)
    b, V, n = own.params, own.covariance, list(own.names)
    keep = [n.index(k) for k in ("x", "x:g[b]", "x:g[c]")]
    rest = keep[1:]
    full = b[keep] @ np.linalg.solve(V[np.ix_(keep, keep)], b[keep])
    part = b[rest] @ np.linalg.solve(V[np.ix_(rest, rest)], b[rest])
    assert own.tests().set_index("term").loc["x", "statistic"] == pytest.approx(full - part, rel=1e-10)


def test_hypotheses_of_all_kinds_say_the_same() -> None:
    own = fitted("cbpp")
    b, V = own.beta, own.covariance[:4, :4]
    row = np.array([0.0, 1.0, -1.0, 0.0])
    wanted = (row @ b) ** 2 / (row @ V @ row)
    for kind in ("period[2] = period[3]", ["period[2] - period[3]"], {"same": "period[2] == period[3]"}, row):
        found = own.tests(kind)
        assert found["statistic"].item() == pytest.approx(wanted, rel=1e-10)
        assert found["p_value"].item() == pytest.approx(chi2.sf(wanted, 1), rel=1e-10)
    assert own.tests({"same": "period[2] = period[3]"})["term"].item() == "same"


def test_joint_hypotheses_are_one_test() -> None:
    own = fitted("cbpp")
    wanted = own.tests()["statistic"].item()
    texts = ["period[2]", "period[3] = 0", "period[4] = 0"]
    for kind in ({"all": texts}, ", ".join(texts), np.eye(4)[1:]):
        found = own.tests(kind)
        assert found["statistic"].item() == pytest.approx(wanted, rel=1e-9)
        assert found["df"].item() == 3
    assert own.tests(texts)["df"].tolist() == [1, 1, 1]
    # a row that repeats another one says nothing new
    found = own.tests({"all": [*texts, "period[2] + period[3] = 0"]})
    assert (found["df"].item(), found["statistic"].item()) == (3, pytest.approx(wanted, rel=1e-6))


def test_thresholds_can_be_tested() -> None:
    own = fitted("wine")
    found = own.tests("1|2 + 4|5 = 2 * 2|3")
    k = [list(own.names).index(n) for n in ("1|2", "2|3", "4|5")]
    row = np.zeros(len(own.params))
    row[k] = 1, -2, 1
    wanted = (row @ own.params) ** 2 / (row @ own.covariance @ row)
    assert found["statistic"].item() == pytest.approx(wanted, rel=1e-10)


def test_unknown_covariance_is_nan_with_a_flag() -> None:
    own = fitted("cbpp")
    found = replace(own, covariance=np.full((5, 5), np.nan)).tests()
    assert np.isnan(found["statistic"].item())
    assert np.isnan(found["p_value"].item())
    assert found["flag"].item() == "no standard errors"


def test_reading_hypotheses() -> None:
    names = ["Intercept", "x", "x:s[a 1]", "s[a 1]", "np.log(z + 1)"]
    weights, value = hypothesis("2 * x:s[a 1] - x / 4 = 3 - s[a 1] + 1e-1", names)
    assert weights.tolist() == [0, -0.25, 2, 1, 0]
    assert value == pytest.approx(3.1)
    assert hypothesis("-np.log(z + 1) = -x", names)[0].tolist() == [0, 1, 0, 0, -1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("xx = 1", "'xx', which is not a coefficient.*Did you mean 'x'"),
        ("x = 1 = 2", "more than one '='"),
        ("1 = 1", "constrains no coefficient"),
        ("x * x = 1", "multiplies"),
        ("1 / x = 1", "divides"),
        ("x =", "a side is empty"),
        ("* x = 1", "has nothing before it"),
    ],
)
def test_faults_of_hypotheses(text: str, why: str) -> None:
    with pytest.raises(FormulaError, match=why):
        hypothesis(text, ["x", "s[a]"])


def test_what_a_wald_test_refuses() -> None:
    refused(
        DesignError,
        ("IV", "kind='IV' is not known"),
        (np.eye(3), r"The array has 3 columns\. Allowed: 4"),
        of=fitted("cbpp").tests,
    )
