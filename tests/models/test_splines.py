"""Splines in a formula: R's splines and mgcv (splines.R)."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import FormulaError
from judgestats.models.grammar.splines import Cubic
from models.reference import data, results

MODELS = results("splines")["model"].unique().tolist()


@pytest.mark.parametrize("spline", MODELS)
def test_curves_are_rs(spline):
    fit = js.fit(f"score ~ {spline}", data("scores"), family="gaussian")
    expected = results("splines", model=spline)
    assert fit.loglik == pytest.approx(expected["estimate"].iloc[0], rel=1e-8)
    at = expected.iloc[1:]
    own = fit.predict(pd.DataFrame({"length": at["level"].astype(float)}), interval=False)["estimate"]
    np.testing.assert_allclose(own, at["estimate"], rtol=1e-5)


def test_a_cyclic_spline_repeats_and_a_natural_one_goes_on_straight():
    x = np.linspace(0, 1, 40)
    cyclic, natural = Cubic(cyclic=True), Cubic()
    first, second = cyclic(x, df=3), natural(x, df=3)
    np.testing.assert_allclose(cyclic(x[:-1] + 1), first[:-1], atol=1e-12)
    np.testing.assert_allclose(first[0], first[-1], atol=1e-12)
    beyond = natural(np.array([1.0, 1.5, 2.0]))
    np.testing.assert_allclose(np.diff(beyond, 2, axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(beyond[0], second[-1], atol=1e-12)


def test_a_spline_keeps_the_knots_of_the_data_in_a_mixed_model():
    fit = js.fit("score ~ cr(length, df=3) + (1|judge)", data("scores"), family="gaussian")
    few = data("scores").head(7)
    whole = fit.predict(data("scores"), random="none", interval=False)["estimate"].head(7)
    np.testing.assert_allclose(fit.predict(few, random="none", interval=False)["estimate"], whole, rtol=1e-10)
    assert "cr(length, df=3)[2]" in fit.coef().index


@pytest.mark.parametrize(
    ("spline", "message"),
    [
        ("cr(length)", "give df= or knots="),
        ("cr(length, df=3, knots=[2, 3])", "give df= or knots="),
        ("cc(length, knots=[2.5, 99])", "not within the values"),
        ("tp(length)", "tp\\(\\) needs df=, from 1 to 22"),
        ("tp(length, df=40)", "tp\\(\\) needs df="),
        ("bs(length, knots=[2.5, )", "Something is missing"),
        ("bs(length, knots=[2.5", "'\\[' is never closed"),
    ],
)
def test_what_is_wrong_is_said(spline, message):
    with pytest.raises(FormulaError, match=message):
        js.fit(f"score ~ {spline}", data("scores"), family="gaussian")
