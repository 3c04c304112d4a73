"""coef, vcov, update, drop1, draws and the one-line print of a fit."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError, FitError
from judgestats.models.estimation import as_fit, fit
from judgestats.models.fits import Fit
from models import reference
from models.examples import example
from models.toys import calls
from refusals import refused

CASES = "cbind(incidence, size - incidence) ~ period + (1|herd)"


@pytest.fixture(scope="module")
def cbpp() -> Fit:
    return fit(CASES, reference.data("cbpp"), n_quadrature=1)


# ---- repr -----------------------------------------------------------------------------------------------------------


def test_a_fit_is_printed_in_a_line(cbpp: Fit) -> None:
    assert repr(cbpp) == f"Fit of {CASES}: binomial (logit), engine ml, Laplace, loglik -92.03, n 56"


def test_notes_have_a_line_of_their_own() -> None:
    table = calls().assign(y=np.tile([0, 1], 120))
    lines = repr(fit("y ~ x + (1|g)", table)).splitlines()
    assert lines[1:] == ["notes: singular fit"]
    gee = repr(fit("y ~ x + (1|g)", table, engine="gee"))
    assert "engine gee, GEE exchangeable, no likelihood, n 240" in gee
    assert "\n" not in gee


# ---- coef and vcov --------------------------------------------------------------------------------------------------


def test_coefficients_are_those_of_tidy(cbpp: Fit) -> None:
    rows = cbpp.tidy(effects="fixed").set_index("term")
    pd.testing.assert_series_equal(cbpp.coef(), rows["estimate"], check_names=False)
    assert cbpp.coef()["Intercept"] == pytest.approx(-1.39853, abs=1e-4)  # glmmTMB
    V = cbpp.vcov()
    assert V.index.tolist() == V.columns.tolist() == list(cbpp.design.names)
    np.testing.assert_allclose(np.sqrt(np.diag(V)), rows["std_error"])
    full = cbpp.vcov(full=True)
    assert full.index.tolist() == list(cbpp.names)
    pd.testing.assert_frame_equal(full.iloc[:4, :4], V)
    assert np.sqrt(full.iloc[4, 4]) == pytest.approx(cbpp.tidy().iloc[4]["std_error"])


def test_thresholds_follow_the_fixed_effects() -> None:
    own = fit("rating ~ temp + (1|judge)", reference.data("wine"), family="cumulative")
    names = ["temp[warm]", "1|2", "2|3", "3|4", "4|5"]
    assert own.coef().index.tolist() == own.vcov().index.tolist() == names
    assert len(own.vcov(full=True)) == 6


def test_what_is_not_known_is_nan_and_nothing_is_shared(cbpp: Fit) -> None:
    table = pd.DataFrame({"y": [0, 1, 0, 1, 1], "s": list("aabbc"), "n": [9, 5, 2, 4, 8]})
    V = fit("y ~ s", table, counts="n").vcov()
    assert V["s[c]"].isna().all()
    assert np.isfinite(V.loc["s[b]", "s[b]"])
    given, V = cbpp.coef(), cbpp.vcov()
    given.iloc[0] = V.iloc[0, 0] = 0.0
    assert cbpp.params[0] < -1
    assert cbpp.covariance[0, 0] > 0


# ---- update ---------------------------------------------------------------------------------------------------------


def test_update_is_the_fit_written_out(cbpp: Fit) -> None:
    data = reference.data("cbpp")
    for changes, formula, table, options in (
        ({"n_quadrature": 9}, CASES, data, {"n_quadrature": 9}),
        ({"formula": CASES.replace("period", "1")}, CASES.replace("period", "1"), data, {}),
        ({"data": data.iloc[:40]}, CASES, data.iloc[:40], {}),
        ({"link": "probit"}, CASES, data, {"link": "probit"}),
    ):
        again, wanted = cbpp.update(**changes), fit(formula, table, **{"n_quadrature": 1, **options})
        assert repr(again) == repr(wanted)
        np.testing.assert_array_equal(again.params, wanted.params)
    small, wanted = cbpp.update(". ~ . - period"), cbpp.update(cbpp.formula.replace("period", "1"))
    assert small.names == wanted.names
    assert small.loglik == wanted.loglik
    twice = cbpp.update(n_quadrature=9).update(link="probit")
    assert (twice.method, twice.link) == ("AGQ 9", "probit")


def test_a_new_family_has_its_own_link() -> None:
    probit = fit("y ~ x", calls(), link="probit")
    assert probit.update("k ~ x", family="poisson").link == "log"
    assert probit.update("y ~ x + s").link == "probit"
    assert probit.update(family="binomial").link == "probit"
    linear = fit("y ~ x + (1|g)", calls(), engine="lpm")
    assert linear.update("y ~ s + (1|g)", engine="ml").link == "logit"


# ---- drop1 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "formula", "options", "model", "smaller", "term"),
    [
        ("cbpp", CASES, {}, "cbpp", "cbpp_null", "period"),
        ("wine", "rating ~ temp + contact + (1|judge)", {"family": "cumulative"}, "wine", "wine_temp", "contact"),
        (
            "wine_unbalanced", "high ~ temp * contact + (1|judge)", {},
            "wine_unbalanced", "wine_unbalanced_main", "temp:contact",
        ),
        (
            "sleepstudy", "Reaction ~ Days + (Days|Subject)", {"family": "gaussian"},
            "sleepstudy_ml", "sleepstudy_no_days_ml", "Days",
        ),
        (
            "sleepstudy", "Reaction ~ Days + (Days|Subject)", {"family": "gaussian", "reml": True},
            "sleepstudy_ml", "sleepstudy_no_days_ml", "Days",
        ),
    ],
)  # fmt: skip
def test_a_term_is_dropped_as_in_r(
    table: str, formula: str, options: dict, model: str, smaller: str, term: str
) -> None:
    theirs = reference.results("tests", model=model, term=smaller, quantity="lrt").iloc[0]
    found = fit(formula, reference.data(table), n_quadrature=1, **options).drop1().set_index("term")
    row = found.loc[term]
    assert row["statistic"] == pytest.approx(theirs["statistic"], abs=2e-4)
    assert row["df"] == theirs["df"]
    assert row["p_value"] == pytest.approx(theirs["p_value"], rel=3e-4)
    assert row["aic"] - found.loc["<none>", "aic"] == pytest.approx(row["statistic"] - 2 * row["df"], abs=1e-8)
    assert (found["flag"] == ("refitted by ML" if options.get("reml") else "")).all()


def test_marginality_and_the_fit_written_out() -> None:
    table = calls()
    own = fit("y ~ s * x + p + (1|g)", table)
    found = own.drop1()
    assert found["term"].tolist() == ["<none>", "p", "s:x"]
    assert found["df"].tolist() == [0, 1, 2]
    less = fit("y ~ s + x + p + (1|g)", table)
    assert found["loglik"].iloc[2] == pytest.approx(less.loglik, abs=1e-7)
    assert less.drop1()["term"].tolist() == ["<none>", "s", "x", "p"]
    assert fit("y ~ 1 + (1|g)", table).drop1()["term"].tolist() == ["<none>"]


def test_rows_stay_the_same_where_the_term_has_gaps() -> None:
    table = calls()
    table.loc[:30, "s"] = None
    found = fit("y ~ s + x", table).drop1().set_index("term")
    less = fit("y ~ x", table.dropna())
    assert found.loc["s", "loglik"] == pytest.approx(less.loglik, abs=1e-8)


def test_a_separated_term_has_a_test() -> None:
    table = pd.DataFrame({"y": [0, 1, 0, 1, 1], "s": list("aabbc"), "n": [9, 5, 2, 4, 8]})
    row = fit("y ~ s", table, counts="n").drop1().iloc[1]
    k, n = np.array([5, 4, 8]), np.array([14, 6, 8])
    loglik = sum(k[:2] * np.log(k[:2] / n[:2]) + (n - k)[:2] * np.log(1 - k[:2] / n[:2]))
    p = k.sum() / n.sum()
    null = k.sum() * np.log(p) + (n - k).sum() * np.log(1 - p)
    assert row["statistic"] == pytest.approx(2 * (loglik - null), abs=1e-4)
    assert "separation" in row["flag"]


def test_engines_without_a_likelihood_drop_nothing() -> None:
    refused(
        FitError,
        (lambda: fit("y ~ x + (1|g)", calls(), engine="gee").drop1(), "'gee' has no likelihood"),
        (lambda: fit("y ~ x + (1|g)", calls(), engine="lpm").drop1(), DesignError, "do not compare"),
    )
    glm = fit("y ~ x + s", calls(), engine="glm").drop1()
    np.testing.assert_allclose(glm["statistic"], fit("y ~ x + s", calls()).drop1()["statistic"], atol=1e-6)


# ---- draws ----------------------------------------------------------------------------------------------------------


# ---- shares ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("response", ["incidence / size", "I(incidence / size)"])
@pytest.mark.parametrize("weights", [None, "size"])
def test_a_share_is_told_of_cbind(response: str, weights: str | None) -> None:
    with pytest.raises(DesignError, match=r"Write cbind\(incidence, size - incidence\) ~ ..."):
        fit(f"{response} ~ period", reference.data("cbpp"), weights=weights)


def test_what_a_fit_refuses(cbpp: Fit) -> None:
    wanted = r"engine='ml' has no posterior draws\. Use simulate\(\), confint\(method='bootstrap'\), or engine='pymc'"
    refused(
        DesignError,
        (lambda: cbpp.update(familly="poisson"), r"familly.*Did you mean 'family'"),
        (lambda: as_fit(example("cbpp")).update(link="probit"), "not made by"),
        (lambda: cbpp.draws(), FitError, wanted),
        (
            lambda: fit(CASES, reference.data("cbpp"), weights="size"),
            r"'cbind\(incidence, size - incidence\)' counts its trials already",
        ),
    )


def test_weights_of_other_quotients_stay() -> None:
    table = calls().assign(w=2.0, size=4.0)
    own = fit("score / size ~ x", table, family="gaussian", weights="w")
    assert own.coef()["x"] == pytest.approx(fit("score ~ x", table, family="gaussian").coef()["x"] / 4)


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("y ~ x", {}),
        ("y ~ x + (1|g)", {}),
        ("z ~ x + (1|g)", {"family": "gaussian"}),
        ("y ~ x + (1|g)", {"engine": "statsmodels"}),
        ("y ~ x + (1|g)", {"engine": "lpm"}),
    ],
)
def test_a_fit_can_be_pickled(formula: str, options: dict[str, str]) -> None:
    """With its random effects, its tests and its refits, as before."""
    random = np.random.default_rng(5)
    data = pd.DataFrame({"g": np.repeat([*"abcdefgh"], 12), "x": random.normal(size=96)})
    data["z"] = data["x"] + np.repeat(random.normal(size=8), 12) + random.normal(size=96)
    data["y"] = (data["z"] > 0).astype(int)
    fitted = fit(formula, data, **options)  # type: ignore[arg-type]
    effects = "random" if "|" in formula else "fixed"
    before = pickle.loads(pickle.dumps(fitted))
    table = fitted.tidy(effects=effects)
    for one in (before, pickle.loads(pickle.dumps(fitted))):  # before and after its effects were asked for
        pd.testing.assert_frame_equal(one.tidy(effects=effects), table)
        pd.testing.assert_frame_equal(one.check(), fitted.check())
