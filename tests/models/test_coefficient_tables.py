"""tidy and glance against R, and against what they say of themselves."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from judgestats.errors import DesignError
from judgestats.flags import NEAR_ZERO
from judgestats.models.estimation import fit
from judgestats.models.fits import Fit
from judgestats.models.postestimation.coefficient_tables import tidy
from models import reference
from models.test_ml import MODELS
from models.toys import calls

CASES = "cbind(incidence, size - incidence) ~ period + (1|herd)"


@pytest.fixture(scope="module")
def cbpp() -> Fit:
    return fit(CASES, reference.data("cbpp"), n_quadrature=1, df="normal")


@pytest.fixture(scope="module")
def sleep() -> Fit:
    return fit("Reaction ~ Days + (Days|Subject)", reference.data("sleepstudy"), family="gaussian", reml=True)


def test_tidy_is_glmmtmb(cbpp: Fit) -> None:
    own = cbpp.tidy(effects="fixed").set_index("term")
    given = reference.results("fits", model="cbpp", engine="glmmTMB", quantity="fixed")
    for row in given.to_dict("records"):
        mine = own.loc[reference.spelled(row["term"], ["period"])]
        assert mine["estimate"] == pytest.approx(row["estimate"], abs=1e-4)
        assert mine["std_error"] == pytest.approx(row["std_error"], rel=1e-4)
        assert mine["statistic"] == pytest.approx(row["statistic"], rel=1e-4)
        assert mine["p_value"] == pytest.approx(row["p_value"], rel=2e-3)
        assert mine["conf_low"] == pytest.approx(row["estimate"] - stats.norm.ppf(0.975) * row["std_error"], abs=2e-4)


def test_a_standard_deviation_has_the_interval_of_its_logarithm(cbpp: Fit) -> None:
    row = cbpp.tidy(effects="random").iloc[0]
    given = reference.results("fits", model="cbpp", engine="glmmTMB", quantity="log_sd").iloc[0]
    assert (row["group"], row["term"]) == ("herd", "sd(Intercept|herd)")
    assert row["estimate"] == pytest.approx(np.exp(given["estimate"]), rel=1e-4)
    assert row["std_error"] == pytest.approx(np.exp(given["estimate"]) * given["std_error"], rel=1e-3)
    ends = np.exp(given["estimate"] + np.array([-1, 1]) * stats.norm.ppf(0.95) * given["std_error"])
    own = cbpp.tidy(effects="random", conf_level=0.9).iloc[0]
    np.testing.assert_allclose(own[["conf_low", "conf_high"]].astype(float), ends, rtol=1e-3)
    assert np.isnan(row["p_value"])


def test_random_rows_of_slopes_are_lme4s(sleep: Fit) -> None:
    own = sleep.tidy(effects="random").set_index("term")
    assert list(own.index) == [
        "sd(Intercept|Subject)",
        "sd(Days|Subject)",
        "cor(Intercept,Days|Subject)",
        "sd(residual)",
    ]
    assert own["group"].tolist() == ["Subject", "Subject", "Subject", "residual"]
    assert own.loc["sd(Intercept|Subject)", "estimate"] == pytest.approx(24.7404476, rel=1e-5)
    assert own.loc["sd(Days|Subject)", "estimate"] == pytest.approx(5.92213326, rel=1e-5)
    assert own.loc["cor(Intercept,Days|Subject)", "estimate"] == pytest.approx(0.06555134, abs=1e-5)
    assert own.loc["sd(residual)", "estimate"] == pytest.approx(25.5918158, rel=1e-6)


def test_errors_of_spreads_by_hand(sleep: Fit) -> None:
    """Delta method, written out for two columns."""
    _, b, c = sleep.theta
    V = sleep.covariance[2:5, 2:5]
    sd = np.hypot(b, c)
    slopes = {
        "sd(Intercept|Subject)": [1, 0, 0],
        "sd(Days|Subject)": [0, b / sd, c / sd],
        "cor(Intercept,Days|Subject)": [0, c**2 / sd**3, -b * c / sd**3],
    }
    own = sleep.tidy(effects="random").set_index("term")
    for name, slope in slopes.items():
        assert own.loc[name, "std_error"] == pytest.approx(np.sqrt(np.array(slope) @ V @ slope), rel=1e-5)
    r = own.loc["cor(Intercept,Days|Subject)"]
    half = stats.norm.ppf(0.975) * r["std_error"] / (1 - r["estimate"] ** 2)
    assert r["conf_high"] == pytest.approx(np.tanh(np.arctanh(r["estimate"]) + half), rel=1e-6)


def test_a_balanced_variance_component_has_a_known_error() -> None:
    """REML of a balanced one-way layout: var(s²_a) = 2/m² [E(MSA)²/(g-1) + E(MSE)²/(N-g)]."""
    rng = np.random.default_rng(3)
    g, m = 400, 5
    table = pd.DataFrame(
        {"g": np.repeat(np.arange(g), m), "y": np.repeat(rng.normal(size=g), m) + rng.normal(size=g * m)}
    )
    own = fit("y ~ 1 + (1|g)", table, family="gaussian", reml=True).tidy().set_index("term")
    means = table.groupby("g")["y"].mean()
    msa, mse = m * means.var(), table.groupby("g")["y"].var().mean()
    variance = (msa - mse) / m
    error = np.sqrt(2 / m**2 * (msa**2 / (g - 1) + mse**2 / (g * m - g)))
    assert own.loc["sd(Intercept|g)", "estimate"] == pytest.approx(np.sqrt(variance), rel=1e-6)
    assert own.loc["sd(Intercept|g)", "std_error"] == pytest.approx(error / (2 * np.sqrt(variance)), rel=1e-3)
    assert own.loc["sd(residual)", "std_error"] == pytest.approx(np.sqrt(mse / (2 * (g * m - g))), rel=1e-3)
    assert own.loc["Intercept", "std_error"] == pytest.approx(np.sqrt(msa / (g * m)), rel=1e-6)


def test_odds_ratios(cbpp: Fit) -> None:
    plain, ratio = cbpp.tidy(), cbpp.tidy(exponentiate=True)
    fixed = plain["group"] == "fixed"
    for column in ("estimate", "conf_low", "conf_high"):
        np.testing.assert_allclose(ratio.loc[fixed, column], np.exp(plain.loc[fixed, column]))
    np.testing.assert_allclose(
        ratio.loc[fixed, "std_error"], np.exp(plain.loc[fixed, "estimate"]) * plain.loc[fixed, "std_error"]
    )
    pd.testing.assert_series_equal(ratio["p_value"], plain["p_value"])
    assert ratio["scale"].tolist() == ["odds", *["odds ratio"] * 3, "log-odds"]
    assert ratio.loc[~fixed, "estimate"].tolist() == plain.loc[~fixed, "estimate"].tolist()


def test_ratios_of_other_links() -> None:
    table = calls()
    assert fit("k ~ x", table, family="poisson").tidy(exponentiate=True)["scale"].tolist() == ["rate", "rate ratio"]
    ordinal = fit("verdict ~ x", table, family="cumulative").tidy(exponentiate=True)
    assert ordinal["scale"].tolist() == ["odds ratio", "log-odds", "log-odds"]
    for options in ({"link": "probit"}, {"scale": "response"}):
        scale = options.pop("scale", "link")
        with pytest.raises(DesignError, match="exponentiate=True is for"):
            fit("y ~ x", table, **options).tidy(exponentiate=True, scale=scale)


def test_effects_on_the_response_are_margins(cbpp: Fit) -> None:
    table, margins = cbpp.tidy(scale="response", conf_level=0.9), cbpp.margins(conf_level=0.9)
    assert table["term"].tolist() == margins["term"].tolist()
    np.testing.assert_array_equal(table["estimate"], margins["estimate"])
    np.testing.assert_array_equal(table["conf_low"], margins["conf_low"])
    assert set(table["unit"]) == {"percentage points"}


def test_thresholds_have_no_p_value() -> None:
    wine = reference.data("wine")
    own = fit("rating ~ temp + contact + (1|judge)", wine, family="cumulative", n_quadrature=1)
    table = own.tidy().set_index("term")
    given = reference.results("fits", model="wine", engine="clmm", quantity="threshold").set_index("term")
    for cut in ("1|2", "2|3", "3|4", "4|5"):
        assert table.loc[cut, "estimate"] == pytest.approx(given.loc[cut, "estimate"], abs=2e-4)
        assert table.loc[cut, "std_error"] == pytest.approx(given.loc[cut, "std_error"], rel=0.02)
        assert np.isnan(table.loc[cut, ["statistic", "p_value"]].astype(float)).all()
    assert table.loc["temp[warm]", "p_value"] < 1e-5


def test_a_singular_term_has_no_error() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"y": np.tile([0, 1], 60), "g": np.repeat(np.arange(12), 10), "x": rng.normal(size=120)})
    own = fit("y ~ x + (1|g)", table).tidy().set_index("term").loc["sd(Intercept|g)"]
    assert own["estimate"] == 0
    assert own["flag"] == "singular fit"
    assert np.isnan(own[["std_error", "conf_low", "conf_high"]].astype(float)).all()


def test_a_separated_coefficient_has_no_error() -> None:
    table = pd.DataFrame({"y": [0, 1, 0, 1, 1], "s": list("aabbc"), "n": [9, 5, 2, 4, 8]})
    own = fit("y ~ s", table, counts="n").tidy().set_index("term")
    assert own.loc["s[c]", "flag"] == "separation"
    assert np.isnan(own.loc["s[c]", ["std_error", "statistic", "p_value", "conf_low"]].astype(float)).all()
    assert own.loc["s[b]", "estimate"] == pytest.approx(np.log(4 / 2) - np.log(5 / 9), abs=1e-4)
    assert own.loc["s[b]", "std_error"] == pytest.approx(np.sqrt(1 / 4 + 1 / 2 + 1 / 5 + 1 / 9), rel=1e-4)
    assert own.loc["s[b]", "flag"] == ""


LAPLACE_OR_EXACT = [m for m in MODELS if MODELS[m][0] in ("cbpp", "sleepstudy", "penicillin") and "agq" not in m]


@pytest.mark.parametrize("model", LAPLACE_OR_EXACT)
def test_glance_has_lme4s_criteria(model: str) -> None:
    """Not under quadrature: lme4 leaves constants of the likelihood out there."""
    name, formula, family, link, options = MODELS[model]
    given = reference.results("fits", model=model)
    engines = [e for e in ("glmmTMB", "lme4 tight", "lme4") if e in set(given["engine"])]
    stored = given[given["engine"] == engines[0]].set_index("quantity")["estimate"]
    fitted = fit(formula, reference.data(name), family=family, link=link, **{"n_quadrature": 1, **options})
    own = fitted.glance().iloc[0]
    for column in ("loglik", "aic", "bic", "df", "n"):
        assert own[column] == pytest.approx(float(stored[column]), abs=2e-5), column


def test_glance_of_quadrature_counts_all_constants(cbpp: Fit) -> None:
    """Many nodes come near Laplace's value, not to lme4's, which is a deviance without constants."""
    own = fit(CASES, reference.data("cbpp"), n_quadrature=25)
    assert own.loglik == pytest.approx(
        reference.value("fits", model="cbpp_agq25", engine="by hand", quantity="loglik"), abs=1e-5
    )
    assert own.glance()["method"].iloc[0] == "AGQ 25"
    assert own.glance()["aic"].iloc[0] == pytest.approx(-2 * own.loglik + 10)


def test_glance_of_a_tally() -> None:
    table = pd.DataFrame({"y": [0, 1, 0, 1], "s": list("aabb"), "j": [1, 2, 2, 1], "n": [30, 10, 20, 20], "extra": 1})
    row = fit("y ~ s + (1|j)", table, counts="n").glance().iloc[0]
    assert (row["n"], row["n_rows"], row["counts"], row["n_groups"]) == (80, 4, "n", "j: 2")
    assert row["bic"] == pytest.approx(-2 * row["loglik"] + 3 * np.log(80))
    assert (row["df"], row["df_residual"]) == (3, 77)
    assert row["deviance"] == pytest.approx(-2 * row["loglik"])


def test_glance_says_what_was_left_out() -> None:
    table = calls().assign(double=lambda t: t["x"] * 2)
    table.loc[3, "x"] = np.nan
    flag = fit("y ~ x + double", table).glance()["flag"].iloc[0]
    assert flag == "1 row excluded; aliased, dropped: double"


def test_a_search_that_did_not_end_is_said_in_every_row(cbpp: Fit) -> None:
    own = tidy(replace(cbpp, notes=("not converged",), converged=False))
    assert own["flag"].str.endswith("not converged").all()


def test_tables_of_an_empty_model() -> None:
    own = fit("y ~ 0", calls())
    assert own.tidy().empty
    assert own.glance()["loglik"].iloc[0] == pytest.approx(240 * np.log(0.5))


# ---- near the boundary ----------------------------------------------------------------------------------------------


def test_a_standard_deviation_near_zero_is_flagged() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"g": np.repeat(np.arange(20), 20), "y": rng.integers(0, 2, 400), "z": rng.normal(size=400)})
    near = fit("y ~ 1 + (1|g)", table)
    # the same fit with a standard deviation that is known to within a factor of e^±2.1
    params, covariance = near.params.copy(), near.covariance.copy()
    params[1], covariance[1, 1] = 0.55, (1.05 * 0.55) ** 2
    rows = tidy(replace(near, params=params, covariance=covariance, notes=())).set_index("term")
    assert rows.loc["sd(Intercept|g)", "flag"] == NEAR_ZERO
    assert rows.loc["sd(Intercept|g)", "conf_high"] == pytest.approx(0.55 * np.exp(stats.norm.ppf(0.975) * 1.05))
    assert rows.loc["Intercept", "flag"] == ""
    covariance[1, 1] = (0.95 * 0.55) ** 2
    less = replace(near, params=params, covariance=covariance, notes=())
    assert tidy(less)["flag"].tolist() == ["", ""]
    other = replace(less, engine="mixedlm", covariance=np.diag([0.1, 1.0]))
    assert tidy(other)["flag"].tolist() == ["", NEAR_ZERO]  # no profile to point to
    assert less.confint(terms="sd(Intercept|g)")["flag"].tolist() == [""]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("known", [True, False])
def test_a_correlation_of_one_raises_no_warning(sleep: Fit, sign: int, known: bool) -> None:
    params = sleep.params.copy()
    params[2:5] = 20.0, sign * 5.0, 0.0  # column by column: the second column's own part is 0
    covariance = sleep.covariance.copy()
    if known:
        covariance[4] = covariance[:, 4] = 0.0
    own = replace(sleep, params=params, covariance=covariance, notes=("singular fit",))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table, parts = own.tidy().set_index("term"), own.variance_components()
    row = table.loc["cor(Intercept,Days|Subject)"]
    assert row["estimate"] == sign
    assert row["flag"] == "singular fit"
    assert row[["std_error", "conf_low", "conf_high"]].isna().all()
    assert table.loc["sd(Intercept|Subject)", "estimate"] == pytest.approx(20.0)
    assert parts["sd"].iloc[1] == pytest.approx(5.0)
