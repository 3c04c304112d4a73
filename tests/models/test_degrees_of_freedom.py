"""Degrees of freedom: lmerTest's and emmeans' Satterthwaite, and between-within of a grouping factor."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_t

import judgestats as js
from judgestats.errors import DesignError, FitError
from judgestats.models.postestimation.degrees_of_freedom import NORMAL, SATTERTHWAITE, df_rule
from judgestats.models.postestimation.mean_contrasts import Comparison, contrasts
from judgestats.models.postestimation.multiplicity import Inside, adjusted
from judgestats.models.postestimation.reference_distributions import t_quantile, two_sided
from judgestats.models.postestimation.reference_grids import Cells
from models.reference import data, results, spelled

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
def table(name):
    own = data(name)
    if name == "sleepstudy":
        own["phase"] = pd.cut(own["Days"], [-1, 2, 6, 9], labels=["early", "middle", "late"], ordered=False)
    return own


@cache
def fitted(model, method):
    name, formula = MODELS[model]
    return js.fit(formula, table(name), family="gaussian", reml=method == "REML")


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
    scaled = table("scores").assign(score=lambda t: 1e3 * t["score"], length=lambda t: t["length"] / 1e4)
    other = js.fit("score ~ C(strategy, Sum) * cot + (1|judge) + (1|item)", scaled, family="gaussian", reml=True)
    one, two = base.contrasts("strategy", by="cot"), other.contrasts("strategy", by="cot")
    np.testing.assert_allclose(one["df"], two["df"], rtol=1e-6)
    np.testing.assert_allclose(one["p_value"], two["p_value"], rtol=1e-5, atol=1e-14)


def test_a_tally_has_the_degrees_of_freedom_of_its_rows():
    rounded = table("scores").assign(score=lambda t: t["score"].round())
    tally = rounded.groupby(["score", "strategy", "judge"]).size().rename("n").reset_index()
    formula = "score ~ strategy + (1|judge)"
    raw = js.fit(formula, rounded[["score", "strategy", "judge"]], family="gaussian", reml=True).tidy(effects="fixed")
    counted = js.fit(formula, tally, family="gaussian", reml=True, counts="n").tidy(effects="fixed")
    np.testing.assert_allclose(counted["df"], raw["df"], rtol=1e-8)


def test_without_random_terms_the_residual_has_them():
    own = table("scores")
    fit = js.fit("score ~ strategy + length", own, family="gaussian", reml=True)
    fixed = fit.tidy(effects="fixed")
    assert (fixed["df"] == len(own) - 4).all()
    X, y = fit.design.X, fit.design.y
    _, rss = np.linalg.lstsq(X, y, rcond=None)[:2]
    error = np.sqrt(rss[0] / (len(own) - 4) * np.diag(np.linalg.inv(X.T @ X)))
    np.testing.assert_allclose(fixed["std_error"], error, rtol=1e-8)
    assert (fixed["method"] == "t, residual df").all()


def test_variances_that_are_not_told_apart_leave_degrees_of_freedom():
    own = table("scores").assign(again=lambda t: t["judge"])
    fit = js.fit("score ~ strategy + (1|judge) + (1|again) + (1|item)", own, family="gaussian", reml=True)
    once = js.fit("score ~ strategy + (1|judge) + (1|item)", own, family="gaussian", reml=True)
    np.testing.assert_allclose(fit.tidy(effects="fixed")["df"], once.tidy(effects="fixed")["df"], rtol=1e-3)


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
    found = contrasts(fitted("phases", "REML"), Cells("phase"), Comparison("baseline", adjust="dunnett"))
    single = contrasts(fitted("phases", "REML"), Cells("phase"), Comparison("baseline", adjust="none"))
    bonferroni = contrasts(fitted("phases", "REML"), Cells("phase"), Comparison("baseline", adjust="bonferroni"))
    widths = [t["conf_high"] - t["conf_low"] for t in (single, found, bonferroni)]
    assert (widths[0] < widths[1]).all()
    assert (widths[1] < widths[2]).all()


# ---- between and within ---------------------------------------------------------------------------------------------


def right(formula, **options):
    return js.fit(formula, table("scores"), df="judge", **options)


def test_what_varies_between_judges_has_judges_less_their_effects():
    own = table("scores").assign(big=lambda t: t["judge"].isin(["j6", "j7", "j8"]).astype(int))
    fit = js.fit("correct ~ strategy + big + (1|judge) + (1|item)", own, df="judge")
    found = fit.tidy(effects="fixed").set_index("term")
    assert found["df"].to_dict() == {
        "Intercept": 6.0, "strategy[S1]": np.inf, "strategy[S8]": np.inf, "big": 6.0
    }  # fmt: skip
    assert (found["method"] == "t, between-within (judge)").all()
    z = js.fit("correct ~ strategy + big + (1|judge) + (1|item)", own).tidy(effects="fixed").set_index("term")
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
    plain = js.fit("correct ~ strategy + big + (1|judge) + (1|item)", own).tests().set_index("term")
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
    own = table("scores").assign(big=lambda t: t["judge"].isin(["j6", "j7", "j8"]).astype(int))
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
        ({"df": "judge", "engine": "pymc"}, "no degrees of freedom"),
    ],
)
def test_what_is_not_there_is_refused(options, words):
    with pytest.raises((DesignError, FitError), match=r"df=|degrees") as error:
        js.fit("correct ~ strategy + (1|judge)", table("scores"), **options)
    assert words in str(error.value)


def test_too_few_judges_are_refused():
    own = table("scores").query("judge in ['j1', 'j2']").assign(big=lambda t: (t["judge"] == "j2").astype(int))
    with pytest.raises(DesignError, match="2 levels of 'judge' less 2 effects"):
        js.fit("correct ~ big + (1|judge)", own, df="judge")


def test_the_advice_below_ten_judges_names_the_option():
    fit = js.fit("correct ~ strategy + (1|judge)", table("scores"))
    own = fit.check().query("level == 'caution' and column == 'judge'").iloc[0]
    assert "fewer than 30 levels of judge: 8" in own["what"]
    assert "fit(..., df='judge')" in own["remedy"]
    taken = fit.update(df="judge").check()
    assert not taken["remedy"].str.contains("df='judge'").any()


def test_the_advice_of_a_linear_model_is_reml():
    own = table("scores")
    by_ml = js.fit("score ~ strategy + (1|judge)", own, family="gaussian").check()["remedy"]
    assert by_ml.str.contains("Pass reml=True").any()
    by_reml = js.fit("score ~ strategy + (1|judge)", own, family="gaussian", reml=True).check()["remedy"]
    assert by_reml.str.contains("fixed effects (t, Satterthwaite) hold", regex=False).any()


def test_rules():
    assert df_rule(fitted("slopes", "ML")) == SATTERTHWAITE
    assert df_rule(js.fit("correct ~ 1 + (1|judge)", table("scores"))) == NORMAL
    lpm = js.fit("correct ~ strategy + (1|judge)", table("scores"), engine="lpm")
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


def test_probabilities_and_quantiles_of_t_are_normal_where_df_is_infinite():
    np.testing.assert_allclose(two_sided([2.0, 2.0], [10.0, np.inf]), [0.0734, 0.0455], atol=5e-5)
    np.testing.assert_allclose(t_quantile(0.975, [10.0, np.inf]), [2.2281, 1.9600], atol=5e-5)


def test_holms_p_values_have_intervals_by_bonferroni():
    p, q = adjusted(np.array([3.0, 2.0]), "holm", 0.95, 3, np.eye(2))
    np.testing.assert_allclose(p, [0.0054, 0.0455], atol=5e-5)
    np.testing.assert_allclose(q, 2.2414, atol=5e-5)
