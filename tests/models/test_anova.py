"""Likelihood-ratio tests against R."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError, FitError
from judgestats.models.fitting import fit
from judgestats.models.postestimation.testing import anova
from judgestats.results import BOUNDARY, NOT_NESTED, REFITTED, SAME_SIZE
from models.reference import data, results, value
from models.test_contrasts import CASES, fitted


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
    worse = own("high ~ contact + bottle", "wine")
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
    with pytest.raises(DesignError, match="two models or more"):
        anova(cbpp)
    with pytest.raises(DesignError, match="differ in their response"):
        anova(cbpp, own("high ~ temp", "wine"))
    with pytest.raises(DesignError, match="differ in their link"):
        anova(cbpp, own(CASES, "cbpp", link="probit"))
    with pytest.raises(DesignError, match="of different data: 72 rows and 57"):
        anova(own("high ~ temp", "wine"), own("high ~ temp + contact", "wine_unbalanced"))
    with pytest.raises(DesignError, match="approximated differently: AGQ 9, Laplace"):
        anova(cbpp, replace(own(CASES.replace("period", "1"), "cbpp", n_quadrature=9), engine="mine"))
    with pytest.raises(FitError, match="has no likelihood"):
        anova(cbpp, replace(cbpp, loglik=float("nan")))
