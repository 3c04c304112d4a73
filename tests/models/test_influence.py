"""A model without one level: lme4's influence(), glmmTMB and ordinal fitted by hand (influence.R), our own fits by hand."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError, FitError
from models.reference import data, results
from refusals import refused

CASES = results("influence")[["model", "engine", "group"]].drop_duplicates().values.tolist()
TABLES = {"Reaction": "sleepstudy", "score": "scores", "rating": "wine"}
FAMILIES = {"cbind(incidence,": "binomial", "incidence": "poisson", "rating": "cumulative"}


def fitted(model, **options):
    answer = model.split()[0]
    family = FAMILIES.get(answer, "gaussian")
    options = {"reml": family == "gaussian", "n_quadrature": 1} | options
    return js.fit(model, data(TABLES.get(answer, "cbpp")), family=family, **options)


@pytest.mark.parametrize(("model", "engine", "group"), CASES)
def test_rows_are_those_of_r(model, engine, group):
    fit = fitted(model)
    own = fit.influence(group)
    assert own["cooks_distance"].is_monotonic_decreasing
    expected = results("influence", model=model, engine=engine, group=group)
    assert len(own) == len(expected)
    levels, p = list(dict.fromkeys(expected["level"].astype(str))), len(fit.coef())
    own = own.set_index("level").loc[levels]
    near = {"rtol": 1e-4, "atol": 1e-4} if engine == "lme4" else {"rtol": 2e-3, "atol": 2e-3}
    for ours, theirs in (("estimate", "estimate"), ("dfbetas", "statistic"), ("cooks_distance", "cooks")):
        np.testing.assert_allclose(own[ours], expected[theirs], **near)
    assert own["term"].tolist() == fit.coef().index.tolist() * len(levels)
    assert p == len(set(expected["term"]))


def test_each_row_is_a_fit_without_the_level():
    table = data("cbpp")
    fit = js.fit("cbind(incidence, size - incidence) ~ period + (1|herd)", table)
    own = fit.influence("herd")
    assert own.groupby("level")["n"].first().to_dict() == table.groupby("herd")["size"].sum().astype(float).to_dict()
    for level in ("1", "11"):
        less = fit.update(data=table[table["herd"] != level])
        rows = own[own["level"] == level].set_index("term")
        np.testing.assert_allclose(rows["estimate"], less.coef()[rows.index], atol=1e-5)
        change = (less.coef() - fit.coef()).to_numpy()
        errors = less.tidy(effects="fixed")["std_error"].to_numpy()
        np.testing.assert_allclose(rows["dfbetas"], change / errors, atol=1e-3)
        assert rows["cooks_distance"].iloc[0] == pytest.approx(
            change @ np.linalg.solve(fit.vcov().to_numpy(), change) / 4, abs=1e-3
        )


def test_a_column_is_a_group_and_counts_are_rows():
    table = pd.DataFrame({"arm": list("xxyyzz"), "k": [1, 0] * 3, "n": [30, 10, 20, 20, 5, 35], "day": [1, 2, 3] * 2})
    fit = js.fit("k ~ day", table, counts="n")
    rows = js.fit("k ~ day", table.loc[table.index.repeat(table["n"])].drop(columns="n"))
    one, other = fit.influence("day"), rows.influence("day")
    np.testing.assert_allclose(
        one.drop(columns=["level", "term", "flag"]), other.drop(columns=["level", "term", "flag"])
    )
    assert one["n"].sum() == 2 * 120


def test_a_level_that_determines_a_coefficient_has_no_row_of_numbers():
    fit = fitted("cbind(incidence, size - incidence) ~ period + (1|herd)")
    own = fit.influence("period")
    assert own[["estimate", "dfbetas", "cooks_distance"]].isna().all(axis=None)
    assert own["flag"].str.startswith("not fitted: ").all()


def test_a_gee_can_be_fitted_without_a_cluster():
    table = data("cbpp")
    fit = js.fit("cbind(incidence, size - incidence) ~ period", table, engine="gee", cluster="herd")
    less = fit.update(data=table[table["herd"] != "3"])
    rows = fit.influence("herd").query("level == '3'")
    np.testing.assert_allclose(rows["estimate"], less.coef(), atol=1e-6)


def test_what_cannot_be_left_out_is_refused():
    fit = fitted("cbind(incidence, size - incidence) ~ period + (1|herd)")
    one = js.fit("Reaction ~ x", data("sleepstudy").assign(x=1.0), family="gaussian")
    refused(
        DesignError,
        (lambda: fit.influence("incidence"), "Allowed: 'herd', 'period'"),
        (lambda: fit.influence("heard"), "Did you mean 'herd'"),
    )
    refused(FitError, (lambda: one.influence("x"), "one level"))
