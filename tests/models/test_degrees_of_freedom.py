"""Degrees of freedom: lmerTest's and emmeans' Satterthwaite, and between-within of a grouping factor."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import block_diag, sqrtm
from scipy.stats import multivariate_t

import judgestats as js
from judgestats.errors import DesignError, FitError
from judgestats.kernels.cluster_robust import cluster_robust
from judgestats.models.postestimation.degrees_of_freedom import NORMAL, SATTERTHWAITE, STRATA, df_rule
from judgestats.models.postestimation.mean_contrasts import Comparison, contrasts
from judgestats.models.postestimation.multiplicity import Inside, adjusted
from judgestats.models.postestimation.reference_distributions import t_quantile, two_sided
from judgestats.models.postestimation.reference_grids import GridCells
from models.reference import FOLDER, data, results, spelled

#: lmerTest's degrees of freedom, and what is made of them.
CLOSE = 1e-4
MODELS = {
    "slopes": ("sleepstudy", "Reaction ~ Days + (Days | Subject)"),
    "uncorrelated slopes": ("sleepstudy", "Reaction ~ Days + (Days || Subject)"),
    "phases": ("sleepstudy", "Reaction ~ phase + (phase | Subject)"),
    "crossed": ("penicillin", "diameter ~ 1 + (1 | plate) + (1 | sample)"),
    "crossed factor": ("penicillin", "diameter ~ sample + (1 | plate)"),
    "nested": ("scores", "score ~ strategy + length + (1 | topic / item)"),
    "unbalanced crossed": ("scores", "score ~ strategy + cot + length + (1 | judge) + (1 | item)"),
    "interaction": ("scores", "score ~ strategy * cot + (1 | judge) + (1 | item)"),
    "crossed slopes": ("scores", "score ~ strategy + cot + (cot | judge) + (1 | item)"),
    "judge and strategy": ("scores", "score ~ strategy + (1 | judge) + (1 | judge:strategy) + (1 | item)"),
    "singular": ("scores", "score ~ strategy + (1 | item) + (1 | item:strategy:cot)"),
}
FACTORS = ["phase", "strategy", "cot", "sample"]
CASES = [(model, method) for model in MODELS for method in ("REML", "ML")]


@cache
def phased(name):
    own = data(name)
    if name == "sleepstudy":
        own["phase"] = pd.cut(own["Days"], [-1, 2, 6, 9], labels=["early", "middle", "late"], ordered=False)
    return own


@cache
def fitted(model, method):
    name, formula = MODELS[model]
    return js.fit(formula, phased(name), family="gaussian", reml=method == "REML")


def name_of(term):
    """R's name of a coefficient in ours, `cotTRUE` too."""
    return spelled(term, FACTORS).replace("[TRUE]", "[True]").replace("[FALSE]", "[False]")


@pytest.mark.parametrize(("model", "method"), CASES)
def test_tidy_is_lmertest(model, method):
    expected = results("satterthwaite", model=model, method=method, quantity="coefficient")
    found = fitted(model, method).tidy(effects="fixed").set_index("term").loc[expected["term"].map(name_of)]
    assert (found["method"] == "t, Satterthwaite").all()
    np.testing.assert_allclose(found["df"], expected["df"], rtol=CLOSE)
    for column in ("estimate", "std_error", "statistic", "conf_low", "conf_high"):
        np.testing.assert_allclose(found[column], expected[column], rtol=CLOSE, atol=1e-6)
    np.testing.assert_allclose(found["p_value"], expected["p_value"], rtol=2e-3, atol=1e-200)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "method"), [c for c in CASES if c[0] not in ("uncorrelated slopes", "crossed")])
def test_f_tests_are_lmertests(model, method):
    fit = fitted(model, method)
    for row in results("satterthwaite", model=model, method=method, quantity="F").itertuples():
        names = fit.names[: fit.n_fixed]
        wanted = {
            "both": names, "all": names, "length, cot": [n for n in names if n.startswith(("length", "cot"))],
            "cot, strategy": [n for n in names if n.startswith(("cot", "strategy"))],
        }.get(row.term) or [n for n in names if n.split("[")[0] == row.term and ":" not in n]  # fmt: skip
        if row.term == "strategy:cot":
            wanted = [n for n in names if ":" in n]
        found = fit.tests(np.eye(len(names))[[names.index(n) for n in wanted]]).iloc[0]
        assert found["df"] == row.rows
        assert found["method"] == "F, Satterthwaite"
        np.testing.assert_allclose(found["df_error"], row.df, rtol=CLOSE)
        np.testing.assert_allclose(found["statistic"], row.statistic, rtol=CLOSE)
        np.testing.assert_allclose(found["p_value"], row.p_value, rtol=2e-3, atol=1e-200)
        if row.term in fit.design.fixed.coder.terms:
            by_term = fit.tests("III").set_index("term").loc[row.term]
            np.testing.assert_allclose(by_term[["statistic", "df_error"]].astype(float), [row.statistic, row.df], CLOSE)


WITH_MEANS = ("phases", "crossed factor", "nested", "unbalanced crossed", "crossed slopes", "judge and strategy")


@pytest.mark.parametrize(("model", "method"), [c for c in CASES if c[0] in WITH_MEANS])
def test_means_and_contrasts_are_emmeans(model, method):
    fit = fitted(model, method)
    whole = results("satterthwaite", model=model, method=method)
    for factor in whole.loc[whole["quantity"] == "mean", "term"].unique():
        own = whole[whole["term"] == factor]
        expected, found = own[own["quantity"] == "mean"], fit.means(factor)
        for column in ("estimate", "std_error", "df", "conf_low", "conf_high"):
            np.testing.assert_allclose(found[column], expected[column], rtol=CLOSE)
        assert (found["method"] == "link; t, Satterthwaite").all()
        for adjust, rows in own[own["quantity"] == "contrast"].groupby("adjust"):
            found = fit.contrasts(factor, adjust=adjust)
            for column in ("estimate", "std_error", "statistic", "df", "conf_low", "conf_high"):
                # emmeans' ptukey and qtukey are good to four digits
                np.testing.assert_allclose(
                    found[column], rows[column], rtol=3e-4, atol=1e-5, err_msg=f"{adjust} {column}"
                )
            np.testing.assert_allclose(found["p_value"], rows["p_value"], rtol=3e-3, atol=1e-8)


def test_margins_have_the_degrees_of_freedom_of_their_coefficients():
    fit = fitted("unbalanced crossed", "REML")
    tidy = fit.tidy().set_index("term")
    margins = fit.margins().set_index("term")
    for ours, coefficient in (("length", "length"), ("strategy[S8] - strategy[B0]", "strategy[S8]")):
        for column in ("estimate", "std_error", "df", "p_value", "conf_low", "conf_high"):
            assert margins.loc[ours, column] == pytest.approx(tidy.loc[coefficient, column], rel=1e-6)
    assert margins.loc["length", "method"] == "averaged over random effects; t, Satterthwaite"


def test_confint_and_summary_use_them():
    fit = fitted("slopes", "REML")
    wald = fit.confint(terms="fixed")
    np.testing.assert_allclose(wald["conf_low"], fit.tidy(effects="fixed")["conf_low"])
    text = fit.summary()
    assert "Std. Error df t value Pr(>|t|)" in " ".join(text.split())
    assert " Tests: t, Satterthwaite" in text
    assert "z value" in fit.update(df="normal").summary()


def test_normal_is_what_was_there_before():
    fit = fitted("unbalanced crossed", "REML").update(df="normal")
    fixed = fit.tidy(effects="fixed")
    assert np.isinf(fixed["df"]).all()
    assert (fixed["method"] == "z").all()
    np.testing.assert_allclose(fixed["conf_high"], fixed["estimate"] + 1.959964 * fixed["std_error"], rtol=1e-7)
    tests = fit.tests()
    assert (tests["method"] == "χ²").all()
    f = fitted("unbalanced crossed", "REML").tests()
    np.testing.assert_allclose(tests["statistic"], f["statistic"] * f["df"], rtol=1e-9)


def test_results_do_not_depend_on_units_or_coding():
    base = fitted("interaction", "REML")
    scaled = phased("scores").assign(score=lambda t: 1e3 * t["score"], length=lambda t: t["length"] / 1e4)
    other = js.fit("score ~ C(strategy, Sum) * cot + (1|judge) + (1|item)", scaled, family="gaussian", reml=True)
    one, two = base.contrasts("strategy", by="cot"), other.contrasts("strategy", by="cot")
    np.testing.assert_allclose(one["df"], two["df"], rtol=1e-6)
    np.testing.assert_allclose(one["p_value"], two["p_value"], rtol=1e-5, atol=1e-14)


def test_a_tally_has_the_degrees_of_freedom_of_its_rows():
    rounded = phased("scores").assign(score=lambda t: t["score"].round())
    tally = rounded.groupby(["score", "strategy", "judge"]).size().rename("n").reset_index()
    formula = "score ~ strategy + (1|judge)"
    raw = js.fit(formula, rounded[["score", "strategy", "judge"]], family="gaussian", reml=True).tidy(effects="fixed")
    counted = js.fit(formula, tally, family="gaussian", reml=True, counts="n").tidy(effects="fixed")
    np.testing.assert_allclose(counted["df"], raw["df"], rtol=1e-8)


def test_without_random_terms_the_residual_has_them():
    own = phased("scores")
    fit = js.fit("score ~ strategy + length", own, family="gaussian", reml=True)
    fixed = fit.tidy(effects="fixed")
    assert (fixed["df"] == len(own) - 4).all()
    X, y = fit.design.X, fit.design.y
    _, rss = np.linalg.lstsq(X, y, rcond=None)[:2]
    error = np.sqrt(rss[0] / (len(own) - 4) * np.diag(np.linalg.inv(X.T @ X)))
    np.testing.assert_allclose(fixed["std_error"], error, rtol=1e-8)
    assert (fixed["method"] == "t, residual df").all()


def test_variances_that_are_not_told_apart_leave_degrees_of_freedom():
    own = phased("scores").assign(again=lambda t: t["judge"])
    fit = js.fit("score ~ strategy + (1|judge) + (1|again) + (1|item)", own, family="gaussian", reml=True)
    once = js.fit("score ~ strategy + (1|judge) + (1|item)", own, family="gaussian", reml=True)
    np.testing.assert_allclose(fit.tidy(effects="fixed")["df"], once.tidy(effects="fixed")["df"], rtol=1e-3)


# ---- Kenward and Roger -----------------------------------------------------------------------------------------------

ADJUSTED = {
    "singular slopes": ("kenward_roger_calls", "score ~ s + (s | judge)"),
    "singular slopes and length": ("kenward_roger_calls", "score ~ s * length + (s | judge)"),
    "crossed": ("scores", "score ~ strategy + cot + length + (1 | judge) + (1 | item)"),
    "nested": ("scores", "score ~ strategy + length + (1 | topic / item)"),
    "slopes": ("sleepstudy", "Reaction ~ Days + (Days | Subject)"),
    "phases": ("sleepstudy", "Reaction ~ phase + (phase | Subject)"),
    "crossed slopes": ("scores", "score ~ strategy * cot + (cot | judge) + (1 | item)"),
    "counts": ("kenward_roger_counts", "score ~ strategy + (1 | judge) + (1 | judge:strategy)"),
}


@cache
def adjusted_fit(model):
    name, formula = ADJUSTED[model]
    own = pd.read_csv(FOLDER / f"{name}.csv") if name.startswith("kenward") else phased(name)
    counts = "n" if model == "counts" else None
    return js.fit(formula, own, family="gaussian", reml=True, df="kenward-roger", counts=counts)


@pytest.mark.parametrize("model", ADJUSTED)
def test_kenward_roger_is_pbkrtest(model):
    fit = adjusted_fit(model)
    expected = results("kenward_roger", model=model, quantity="coefficient")
    covariance = results("kenward_roger", model=model, quantity="covariance")["estimate"].to_numpy()
    found = fit.tidy(effects="fixed").set_index("term").loc[expected["term"].map(name_of)]
    assert (found["method"] == "t, Kenward-Roger").all()
    assert ("singular fit" in fit.notes) == model.startswith("singular")
    for column in ("estimate", "std_error", "df"):
        np.testing.assert_allclose(found[column], expected[column], rtol=1e-5)
    p = two_sided(expected["estimate"] / expected["std_error"], expected["df"])
    np.testing.assert_allclose(found["p_value"], p, rtol=1e-3, atol=1e-200)
    scale = np.sqrt(np.outer(expected["std_error"], expected["std_error"]) ** 2)
    np.testing.assert_allclose(fit.vcov() / scale, covariance.reshape(scale.shape) / scale, atol=1e-6)
    names, n = expected["term"].tolist(), len(expected)
    hypotheses = {
        "s": ["s"], "s:length": ["s:length"], "slopes": names[1:], "strategy": [t for t in names if t[:-2] == "strategy"],
        "length, cot": ["cotTRUE", "length"], "both": names, "all": names, "Days": ["Days"], "phase": names[1:],
        "strategy:cot": [t for t in names if ":" in t],
    }  # fmt: skip
    for row in results("kenward_roger", model=model, quantity="F").itertuples():
        test = fit.tests(np.eye(n)[[names.index(t) for t in hypotheses[row.term]]]).iloc[0]
        assert test["method"] == "F, Kenward-Roger"
        assert test["df"] == row.rows
        np.testing.assert_allclose([test["statistic"], test["df_error"]], [row.statistic, row.df], rtol=1e-5)
        np.testing.assert_allclose(test["p_value"], row.p_value, rtol=1e-3, atol=1e-200)


@pytest.mark.parametrize("model", ["crossed", "nested", "phases", "counts"])
def test_means_and_contrasts_by_kenward_roger_are_emmeans(model):
    fit = adjusted_fit(model)
    whole = results("kenward_roger", model=model)
    whole = whole[whole["quantity"].isin(["mean", "contrast"])]
    for (factor, quantity), own in whole.groupby(["term", "quantity"]):
        found = fit.means(factor) if quantity == "mean" else fit.contrasts(factor, adjust="none")
        for column in ("estimate", "std_error", "df", "conf_low", "conf_high"):
            np.testing.assert_allclose(found[column], own[column], rtol=1e-5)


@pytest.mark.parametrize("model", ["crossed", "crossed slopes"])
def test_type_ii_tests_by_kenward_roger_are_cars(model):
    own = results("kenward_roger", model=model, quantity="II").set_index("term")
    found = adjusted_fit(model).tests().set_index("term").loc[own.index]
    np.testing.assert_allclose(found[["statistic", "df", "df_error"]], own[["statistic", "rows", "df"]], rtol=1e-5)
    np.testing.assert_allclose(found["p_value"], own["p_value"], rtol=1e-3, atol=1e-200)


def test_a_singular_fit_has_fewer_degrees_of_freedom_than_satterthwaites():
    """Satterthwaite's take a slope that is estimated as 0 as known to be 0."""
    fit = adjusted_fit("singular slopes")
    adjusted, plain = (
        f.tidy(effects="fixed").set_index("term").loc["s"] for f in (fit, fit.update(df="satterthwaite"))
    )
    assert adjusted["df"] < 7 < 16 < plain["df"]
    assert adjusted["std_error"] > 1.04 * plain["std_error"]


def test_counts_have_the_adjustment_of_the_expanded_table():
    fit = adjusted_fit("counts")
    table = pd.read_csv(FOLDER / "kenward_roger_counts.csv")
    rows = table.loc[table.index.repeat(table["n"])].drop(columns="n")
    expanded = js.fit(ADJUSTED["counts"][1], rows, family="gaussian", reml=True, df="kenward-roger")
    assert expanded.n == fit.n == table["n"].sum() > 2 * len(table)
    for one, other in ((fit.tidy(), expanded.tidy()), (fit.tests(), expanded.tests())):
        pd.testing.assert_frame_equal(one, other, rtol=1e-6)


def test_kenward_roger_is_in_summary_margins_and_check():
    fit = adjusted_fit("crossed")
    tidy, margins = fit.tidy().set_index("term"), fit.margins().set_index("term")
    for column in ("std_error", "df", "p_value", "conf_low"):
        assert margins.loc["length", column] == pytest.approx(tidy.loc["length", column], rel=1e-6)
    assert " Tests: t, Kenward-Roger" in fit.summary()
    remedies = fit.check()["remedy"]
    assert remedies.str.contains("(t, Kenward-Roger) hold", regex=False).any()
    lpm = js.fit("correct ~ strategy + (1|judge)", phased("scores"), engine="lpm", df="kenward-roger")
    same = js.fit("correct ~ strategy + (1|judge)", phased("scores"), family="gaussian", reml=True, df="kenward-roger")
    np.testing.assert_allclose(lpm.tidy()["df"], same.tidy()["df"])


def test_a_joint_test_without_degrees_of_freedom_says_so():
    """Two judges show nothing of how two slopes vary together."""
    own = phased("scores").query("judge in ['j1', 'j2']")
    fit = js.fit("score ~ strategy + (strategy|judge)", own, family="gaussian", reml=True, df="kenward-roger")
    test = fit.tests().iloc[0]
    assert test[["statistic", "df_error", "p_value"]].isna().all()
    assert "no degrees of freedom" in test["flag"]
    assert (fit.tidy(effects="fixed")["df"] < 3).all()


def test_a_perfect_fit_has_no_adjustment():
    table = pd.DataFrame({"judge": list("aabbcc"), "x": [0, 1] * 3, "y": [1, 3] * 3})
    fit = js.fit("y ~ x + (1|judge)", table, family="gaussian", reml=True, df="kenward-roger")
    assert fit.tidy(effects="fixed")[["std_error", "df"]].isna().all(axis=None)
    assert fit.tests()["p_value"].isna().all()


# ---- joint distributions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("df", [3.0, 8.5, 200.0])
@pytest.mark.parametrize("product", [True, False])
def test_dunnett_of_t_is_the_multivariate_t(df, product):
    R = np.full((3, 3), 0.5) if product else np.array([[1, 0.7, 0.1], [0.7, 1, -0.3], [0.1, -0.3, 1.0]])
    np.fill_diagonal(R, 1.0)
    inside = Inside.of(R)
    assert (inside.loads is not None) == product
    for v in (1.0, 2.4):
        law = multivariate_t(shape=R, df=df, seed=1)
        expected = law.cdf(np.full(3, v), lower_limit=np.full(3, -v), maxpts=100_000)
        assert inside(v, df) == pytest.approx(expected, abs=2e-4)
    p, q = adjusted(np.array([2.0, -2.4, 0.5]), "dunnett", 0.95, 4, R, df)
    assert inside(q[0], df) == pytest.approx(0.95, abs=1e-8)
    assert p[1] == pytest.approx(1 - inside(2.4, df), abs=1e-12)


def test_dunnett_covers_every_contrast_together():
    found = contrasts(fitted("phases", "REML"), GridCells("phase"), Comparison("baseline", adjust="dunnett"))
    single = contrasts(fitted("phases", "REML"), GridCells("phase"), Comparison("baseline", adjust="none"))
    bonferroni = contrasts(fitted("phases", "REML"), GridCells("phase"), Comparison("baseline", adjust="bonferroni"))
    widths = [t["conf_high"] - t["conf_low"] for t in (single, found, bonferroni)]
    assert (widths[0] < widths[1]).all()
    assert (widths[1] < widths[2]).all()


# ---- between and within ---------------------------------------------------------------------------------------------


def right(formula, **options):
    return js.fit(formula, phased("scores"), df="judge", **options)


def test_what_varies_between_judges_has_judges_less_their_effects():
    own = phased("scores").assign(big=lambda t: t["judge"].isin(["j6", "j7", "j8"]).astype(int))
    fit = js.fit("correct ~ strategy + big + (1|judge) + (1|item)", own, df="judge")
    found = fit.tidy(effects="fixed").set_index("term")
    assert found["df"].to_dict() == {
        "Intercept": 6.0, "strategy[S1]": np.inf, "strategy[S8]": np.inf, "big": 6.0
    }  # fmt: skip
    assert (found["method"] == "t, between-within (judge)").all()
    z = fit.update(df="normal").tidy(effects="fixed").set_index("term")
    wider = (found["conf_high"] - found["estimate"]) / (z["conf_high"] - z["estimate"])
    np.testing.assert_allclose(wider, [2.446912 / 1.959964, 1, 1, 2.446912 / 1.959964], rtol=1e-6)
    assert found.loc["big", "p_value"] > z.loc["big", "p_value"]
    assert (fit.means("strategy")["df"] == 6).all()
    assert np.isinf(fit.contrasts("strategy")["df"]).all()
    margins = fit.margins().set_index("variable")["df"]
    assert margins["big"] == 6.0
    assert np.isinf(margins["strategy"]).all()
    tests = fit.tests().set_index("term")
    assert tests.loc["big", ["df", "df_error"]].tolist() == [1, 6.0]
    assert tests.loc["strategy", ["df", "df_error"]].tolist() == [2, np.inf]
    assert (tests["method"] == "F, between-within (judge)").all()
    plain = fit.update(df="normal").tests().set_index("term")
    assert tests.loc["strategy", "p_value"] == pytest.approx(plain.loc["strategy", "p_value"], rel=1e-9)


@pytest.mark.parametrize(
    ("formula", "between"),
    [
        ("correct ~ 0 + strategy + (1|judge)", {"strategy[B0]", "strategy[S1]", "strategy[S8]"}),
        ("correct ~ length + (length|judge)", {"Intercept", "length"}),
        ("correct ~ length + strategy + (1|judge) + (0 + length|judge)", {"Intercept", "length"}),
        ("correct ~ strategy + length + (1|judge) + (1|judge:strategy)", {"Intercept", "strategy[S1]", "strategy[S8]"}),
        ("correct ~ strategy + (1|judge) + (1|judge:item)", {"Intercept"}),
    ],
)
def test_effects_that_vary_between_judges_are_found_in_any_coding(formula, between):
    found = right(formula).tidy(effects="fixed").set_index("term")["df"]
    assert set(found.index[np.isfinite(found)]) == between
    assert set(found[np.isfinite(found)]) == {7.0}


def test_thresholds_are_between():
    wine = data("wine")
    fit = js.fit("rating ~ temp + contact + (1|judge)", wine, family="cumulative", df="judge")
    found = fit.tidy(effects="fixed").set_index("term")["df"]
    assert found["1|2"] == 8.0
    assert np.isinf(found["temp[warm]"])
    assert (fit.means("temp")["df"] == 8.0).all()
    assert np.isinf(fit.contrasts("temp")["df"]).all()
    assert np.isinf(fit.margins("temp")["df"]).all()


def test_the_rank_counts_what_is_constant_within_judges():
    own = phased("scores").assign(big=lambda t: t["judge"].isin(["j6", "j7", "j8"]).astype(int))
    fit = js.fit("correct ~ length * big + (length|judge)", own, df="judge")
    assert (fit.tidy(effects="fixed")["df"] == 6).all()
    slopes = js.fit("correct ~ 0 + length + length:big + (0 + length|judge)", own, df="judge")
    assert (slopes.tidy(effects="fixed")["df"] == 6).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"df": "jugde"}, "Did you mean 'judge'"),
        ({"df": "strategy"}, "Allowed: 'normal', 'judge'"),
        ({"df": "satterthwaite"}, "df='judge'"),
        ({"df": "kenward-roger"}, "df='kenward-roger' is for Gaussian mixed models"),
        ({"df": "kenward-roger", "family": "gaussian"}, "of fits by REML; got reml=False. Pass reml=True"),
        ({"df": "kenward", "family": "gaussian"}, "Allowed: 'satterthwaite', 'kenward-roger', 'normal', 'judge'"),
        ({"df": "judge", "engine": "pymc"}, "no degrees of freedom"),
    ],
)
def test_what_is_not_there_is_refused(options, words):
    with pytest.raises((DesignError, FitError), match=r"df=|degrees") as error:
        js.fit("correct ~ strategy + (1|judge)", phased("scores"), **options)
    assert words in str(error.value)


def test_too_few_judges_are_refused():
    own = phased("scores").query("judge in ['j1', 'j2']").assign(big=lambda t: (t["judge"] == "j2").astype(int))
    with pytest.raises(DesignError, match="2 levels of 'judge' less 2 effects"):
        js.fit("correct ~ big + (1|judge)", own, df="judge")


def test_the_default_is_the_smallest_of_the_factors_between_whose_levels_an_effect_varies():
    """Eight judges and 40 items: what varies between judges has theirs, what varies between items alone has those of items."""
    own = phased("scores").assign(big=lambda t: t["judge"].isin(["j6", "j7", "j8"]).astype(int))
    own = own.assign(hard=lambda t: t["item"].str.len() % 2 + (t["item"].str[-1] > "4"))
    fit = js.fit("correct ~ strategy + big + hard + (1|judge) + (1|item)", own)
    found = fit.tidy(effects="fixed").set_index("term")
    items = own["item"].nunique()
    assert found["df"].to_dict() == {
        "Intercept": 6.0, "strategy[S1]": np.inf, "strategy[S8]": np.inf, "big": 6.0, "hard": items - 2.0
    }  # fmt: skip
    assert (found["method"] == "t, between-within").all()
    for factor, term in (("judge", "big"), ("item", "hard")):
        pd.testing.assert_series_equal(
            fit.update(df=factor).tidy(effects="fixed").set_index("term").loc[term].drop("method"),
            found.loc[term].drop("method"),
        )
    np.testing.assert_allclose(fit.means("strategy")["df"], 6)
    assert fit.margins().set_index("variable")["df"][["big", "hard"]].tolist() == [6.0, items - 2.0]
    assert fit.tests().set_index("term")["df_error"][["big", "hard"]].tolist() == [6.0, items - 2.0]
    wald = fit.confint(terms=["big"]).iloc[0]
    assert [wald["conf_low"], wald["conf_high"]] == found.loc["big", ["conf_low", "conf_high"]].tolist()
    assert "between-within" in fit.summary()


def test_no_estimate_and_no_error_depends_on_the_degrees_of_freedom():
    fit = js.fit("correct ~ strategy + (1|judge) + (1|item)", phased("scores"))
    one, z = (f.tidy() for f in (fit, fit.update(df="normal")))
    pd.testing.assert_frame_equal(one[["term", "estimate", "std_error"]], z[["term", "estimate", "std_error"]])


def test_where_effects_are_as_many_as_levels_there_is_no_interval():
    fit = js.fit("correct ~ judge + (1|judge)", phased("scores"))
    found = fit.tidy(effects="fixed")
    assert np.isfinite(found["std_error"]).all()
    assert found[["df", "p_value", "conf_low", "conf_high"]].isna().all(axis=None)
    assert (found["flag"] == "no degrees of freedom").all()
    assert fit.margins()["flag"].eq("no degrees of freedom").all()
    assert fit.tests()["flag"].eq("no degrees of freedom").all()
    assert fit.contrasts("judge")["flag"].eq("no degrees of freedom").all()
    assert np.isfinite(fit.update(df="normal").tidy(effects="fixed")["p_value"]).all()


def test_the_flag_of_check_stands_in_the_rows_where_it_fails():
    """By z where effects vary between few levels, by t nowhere; profiles are by z."""
    few, own = "fewer than 30 levels of judge", phased("scores").assign(big=lambda t: t["judge"].astype(str) > "j5")
    fit = js.fit("correct ~ strategy + big + (1|judge)", own)
    assert few in fit.check()["what"].str.split(": ").str[0].tolist()
    z = fit.update(df="normal")
    assert (fit.tidy()["flag"] == "").all()
    short = {"Intercept": few, "strategy[S1]": "", "strategy[S8]": "", "big[True]": few, "sd(Intercept|judge)": ""}
    assert z.tidy().set_index("term")["flag"].to_dict() == short
    assert z.tests().set_index("term")["flag"].to_dict() == {"strategy": "", "big": few}
    assert z.margins().set_index("variable")["flag"].to_dict() == {"strategy": "", "big": few}
    assert (z.means("strategy")["flag"] == few).all()
    assert (z.contrasts("strategy")["flag"] == "").all()
    assert (z.contrasts("big")["flag"] == few).all()
    profile = fit.confint(method="profile", terms=["strategy[S1]", "big[True]", "judge"])
    assert profile["flag"].tolist() == ["", few, few]
    linear = "score ~ strategy + (1|judge)"
    by_ml, by_reml = (
        js.fit(linear, own, family="gaussian", reml=r).tidy(effects="fixed")["flag"] for r in (False, True)
    )
    assert by_ml.tolist() == [few, "", ""]
    assert (by_reml == "").all()


def test_the_advice_says_what_intervals_rest_on():
    fit = js.fit("correct ~ strategy + (1|judge)", phased("scores"))
    own = fit.check().query("level == 'caution' and column == 'judge'").iloc[0]
    assert "fewer than 30 levels of judge: 8" in own["what"]
    assert "use t on its levels" in own["remedy"]
    assert fit.update(df="normal").check()["remedy"].str.contains("Leave out df='normal'").any()


def test_the_advice_of_a_linear_model_is_reml():
    own = phased("scores")
    by_ml = js.fit("score ~ strategy + (1|judge)", own, family="gaussian").check()["remedy"]
    assert by_ml.str.contains("Pass reml=True").any()
    by_reml = js.fit("score ~ strategy + (1|judge)", own, family="gaussian", reml=True).check()["remedy"]
    assert by_reml.str.contains("fixed effects (t, Satterthwaite) hold", regex=False).any()


def test_rules():
    assert df_rule(fitted("slopes", "ML")) == SATTERTHWAITE
    assert df_rule(js.fit("correct ~ 1 + (1|judge)", phased("scores"))) == STRATA
    assert df_rule(js.fit("correct ~ strategy", phased("scores"))) == NORMAL
    lpm = js.fit("correct ~ strategy + (1|judge)", phased("scores"), engine="lpm")
    assert lpm.tidy(effects="fixed")["method"].eq("t, Satterthwaite").all()


@pytest.mark.slow
def test_t_covers_what_varies_between_eight_judges_where_z_does_not():
    rng = np.random.default_rng(8)
    seen = [(f"j{j}", f"i{i}", j % 2) for j in range(8) for i in range(30)]
    calls = pd.DataFrame(seen, columns=["judge", "item", "large"])
    first = js.fit("correct ~ large + (1|judge)", calls.assign(correct=calls.index % 3 == 0), df="judge")
    hits = []
    for _ in range(250):
        able = pd.Series(rng.normal(0, 1, 8), [f"j{j}" for j in range(8)])
        eta = 0.3 + 0.5 * calls["large"] + calls["judge"].map(able)
        again = first.update(data=calls.assign(correct=rng.logistic(size=len(calls)) + eta > 0))
        row = again.tidy(effects="fixed").set_index("term").loc["large"]
        gap = abs(row["estimate"] - 0.5)
        hits.append((gap <= 1.959964 * row["std_error"], gap <= row["conf_high"] - row["estimate"]))
    z, t = np.mean(hits, axis=0)
    assert z < 0.90
    assert 0.915 < t < 0.975


# ---- clusters --------------------------------------------------------------------------------------------------------


def test_gee_of_scores_has_cr2_and_the_degrees_of_freedom_of_least_squares():
    """Calls as many in each cluster and predictors of clusters: least squares, whose CR2 is that of means of clusters."""
    rng = np.random.default_rng(2)
    judge = np.repeat(np.arange(9), 20)
    calls = pd.DataFrame({"judge": judge, "large": (judge < 4).astype(int)})
    calls["score"] = rng.normal(size=9)[judge] + rng.normal(size=180)
    calls["group"] = np.where(calls["large"] == 1, "l", "s")
    fit = js.fit("score ~ large", calls, family="gaussian", engine="gee", cluster="judge")
    row = fit.tidy().set_index("term").loc["large"]
    means = calls.groupby(["group", "judge"])["score"].mean()
    few, many = means["l"], means["s"]
    assert row["std_error"] == pytest.approx(np.sqrt(few.var(ddof=1) / 4 + many.var(ddof=1) / 5), rel=1e-9)
    # Welch's of equal variances
    assert row["df"] == pytest.approx((1 / 4 + 1 / 5) ** 2 / ((1 / 4) ** 2 / 3 + (1 / 5) ** 2 / 4), rel=1e-9)
    test = fit.tests().iloc[0]
    assert [test["df_error"], test["p_value"]] == pytest.approx([row["df"], row["p_value"]], rel=1e-9)


def test_a_share_by_gee_is_the_clustered_share():
    """`cluster_robust` of the share: the same error on the logit, the same degrees of freedom, clusters of any size."""
    rng = np.random.default_rng(3)
    sizes = np.array([40, 3, 10, 10, 25, 7, 1, 12])
    item = np.repeat(np.arange(8), sizes)
    calls = pd.DataFrame({"item": item, "class": np.where(rng.random(item.size) < 0.4, "b", "a")})
    hits = np.bincount(item, calls["class"] == "b").astype(float)
    known = cluster_robust(hits[:, None], sizes[:, None].astype(float), np.ones(1))
    row = js.fit("class ~ 1", calls, family="nominal", cluster="item").tidy().iloc[0]
    p = known.estimate
    assert row["std_error"] == pytest.approx(np.sqrt(known.variance) / (p * (1 - p)), rel=1e-9)
    assert row["df"] == pytest.approx(known.df, rel=1e-9)


def test_clusters_by_gee_and_nominal_agree_with_matrices_of_calls():
    """Against CR2 and degrees of freedom in terms of calls, for the coefficients and for all of them together."""
    rng = np.random.default_rng(4)
    judge = np.repeat(np.arange(7), [4, 9, 6, 8, 5, 7, 10])
    calls = pd.DataFrame({"judge": judge, "x": rng.normal(size=judge.size), "large": judge % 2})
    lean = rng.normal(size=7)[judge] + 0.5 * calls["x"]
    calls["y"] = (lean + rng.logistic(size=judge.size) > 0).astype(int)
    calls["answer"] = np.array(["a", "b", "c"])[
        np.clip(np.round(lean + rng.normal(size=judge.size)), -1, 1).astype(int) + 1
    ]
    X = np.column_stack([np.ones(judge.size), calls["x"], calls["large"]])

    def checked(fit, rows, covariance_of_calls, residual):
        """`rows` (N, J, P): derivatives of the expected answers of a call."""
        W = [np.linalg.pinv(C) for C in covariance_of_calls]
        own = [judge == g for g in range(7)]
        bread = np.linalg.inv(
            sum(np.concatenate(rows[o]).T @ w @ np.concatenate(rows[o]) for o, w in zip(own, W, strict=True))
        )
        halves = [np.linalg.cholesky(w).T @ np.concatenate(rows[o]) for o, w in zip(own, W, strict=True)]
        errors = [np.linalg.cholesky(w).T @ np.concatenate(residual[o]) for o, w in zip(own, W, strict=True)]
        adjust = [np.linalg.inv(sqrtm(np.eye(len(h)) - h @ bread @ h.T).real) for h in halves]
        score = np.array([h.T @ a @ e for h, a, e in zip(halves, adjust, errors, strict=True)])
        order = fit.n_fixed
        np.testing.assert_allclose(
            fit.covariance[:order, :order], bread @ score.T @ score @ bread, rtol=1e-6, atol=1e-9
        )
        whole = np.concatenate(halves)
        left = np.eye(len(whole)) - whole @ bread @ whole.T
        ends = np.cumsum([len(h) for h in halves])
        parts = [left[e - len(h) : e] for h, e in zip(halves, ends, strict=True)]
        for k, df in enumerate(fit.tidy(effects="fixed")["df"]):
            u = np.array([bread[k] @ h.T @ a @ part for h, a, part in zip(halves, adjust, parts, strict=True)])
            P = u @ u.T
            assert df == pytest.approx(np.trace(P) ** 2 / (P**2).sum(), rel=1e-6)

    marginal = js.fit("y ~ x + large", calls, engine="gee", cluster="judge")
    d, rho = marginal.design, marginal.options.clusters.correlation
    order = np.argsort(d.frame["judge"].to_numpy(), kind="stable")
    p = 1 / (1 + np.exp(-(d.X @ marginal.beta)))[order]
    v = p * (1 - p)
    of_calls = []
    for g in range(7):
        sd = np.sqrt(v[judge == g])
        of_calls.append(np.outer(sd, sd) * (rho + (1 - rho) * np.eye(len(sd))))
    checked(marginal, (v[:, None] * d.X[order])[:, None], of_calls, (d.y[order] - p)[:, None])

    classes = js.fit("answer ~ x + large", calls, family="nominal", cluster="judge")
    eta = np.column_stack([np.zeros(judge.size), X @ classes.beta.reshape(2, 3).T])
    P = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
    V = np.array([np.diag(q) - np.outer(q, q) for q in P[:, 1:]])
    rows = np.array([np.kron(v, x) for v, x in zip(V, X, strict=True)])
    answers = (calls["answer"].to_numpy()[:, None] == np.array(["b", "c"])) * 1.0
    checked(classes, rows, [block_diag(*V[judge == g]) for g in range(7)], answers - P[:, 1:])


def test_a_coefficient_of_one_cluster_has_no_degrees_of_freedom():
    own = phased("scores")
    fit = js.fit("correct ~ judge", own, engine="gee", cluster="judge")
    found = fit.tidy()
    assert (found["flag"] == "no degrees of freedom").all()
    assert found["p_value"].isna().all()


def test_probabilities_and_quantiles_of_t_are_normal_where_df_is_infinite():
    np.testing.assert_allclose(two_sided([2.0, 2.0], [10.0, np.inf]), [0.0734, 0.0455], atol=5e-5)
    np.testing.assert_allclose(t_quantile(0.975, [10.0, np.inf]), [2.2281, 1.9600], atol=5e-5)


def test_holms_p_values_have_intervals_by_bonferroni():
    p, q = adjusted(np.array([3.0, 2.0]), "holm", 0.95, 3, np.eye(2))
    np.testing.assert_allclose(p, [0.0054, 0.0455], atol=5e-5)
    np.testing.assert_allclose(q, 2.2414, atol=5e-5)
