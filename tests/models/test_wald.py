"""Wald tests against car::Anova, and hypotheses as text."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from judgestats.errors import DesignError, FormulaError
from judgestats.models.fitting import fit
from judgestats.models.postestimation.testing import hypothesis
from models.reference import results
from models.test_contrasts import fitted


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
        ("xx = 1", "'xx', which is no coefficient.*Did you mean 'x'"),
        ("x = 1 = 2", "more than one '='"),
        ("1 = 1", "says nothing"),
        ("x * x = 1", "multiplies"),
        ("1 / x = 1", "divides"),
        ("x =", "a side is empty"),
        ("* x = 1", "stands alone"),
    ],
)
def test_faults_of_hypotheses(text: str, why: str) -> None:
    with pytest.raises(FormulaError, match=why):
        hypothesis(text, ["x", "s[a]"])


def test_what_is_refused() -> None:
    with pytest.raises(DesignError, match="kind='IV' is not known"):
        fitted("cbpp").tests("IV")
    with pytest.raises(DesignError, match=r"The array has 3 columns\. Allowed: 4"):
        fitted("cbpp").tests(np.eye(3))
