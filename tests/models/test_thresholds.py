"""The log likelihood: numerical integration that refines itself, and the parameters of thresholds."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import log_expit, logsumexp

import judgestats as js
from judgestats.flags import UNSETTLED
from judgestats.models.threshold_sets import by_kind
from judgestats.models.thresholds import cumulative_thresholds
from models.reference import data
from models.toys import calls

CASES = "cbind(incidence, size - incidence) ~ period + (1|herd)"

#: Calls, correct ones and how many of 1,218 items had so many: nearly all agree with themselves.
ITEMS = ((1, 1, 64), (1, 0, 11), (2, 2, 933), (2, 1, 83), (2, 0, 127))


@cache
def items() -> pd.DataFrame:
    """One or two calls of each of 1,218 items."""
    kinds = [(m, s) for m, s, often in ITEMS for _ in range(often)]
    answers = [(str(k), int(c < s)) for k, (m, s) in enumerate(kinds) for c in range(m)]
    return pd.DataFrame(answers, columns=["item", "correct"])


@cache
def hard(n_quadrature: Any = "auto") -> Any:
    return js.fit("correct ~ 1 + (1|item)", items(), n_quadrature=n_quadrature)


def loglik(intercept: float, sd: float) -> float:
    """By 40,000 equal steps over 12 standard deviations either way."""
    u = np.linspace(-12, 12, 40_001)
    eta, weight = intercept + sd * u, -0.5 * u**2 - 0.5 * np.log(2 * np.pi) + np.log(u[1] - u[0])
    each = [often * logsumexp(weight + s * log_expit(eta) + (m - s) * log_expit(-eta)) for m, s, often in ITEMS]
    return float(sum(each))


@cache
def exact() -> Any:
    options = {"xatol": 1e-6, "fatol": 1e-10, "maxiter": 4000}
    return minimize(lambda p: -loglik(*p), [3.0, 3.0], method="Nelder-Mead", options=options)


def faults(fit: Any) -> list[str]:
    return fit.check().query("level == 'fault'")["what"].tolist()


# ---- the default is exact -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_default_is_the_integral_where_many_nodes_are_not() -> None:
    np.testing.assert_allclose(exact().x, [6.65, 6.08], atol=0.01)
    own = hard()
    np.testing.assert_allclose(own.params, exact().x, rtol=2e-5)
    assert own.loglik == pytest.approx(-exact().fun, abs=1e-7)
    assert own.loglik == pytest.approx(loglik(*own.params), abs=1e-8)
    assert own.glance()["method"].iloc[0].startswith("trapezoid 112")
    assert own.glance()["flag"].iloc[0] == ""
    assert faults(own) == []
    assert own.refinement.settled


@pytest.mark.parametrize(("nodes", "intercept", "sd"), [(15, 12.3, 11.8), (25, 10.3, 11.8), (51, 7.3, 6.8)])
def test_nodes_that_are_too_few_are_a_fault(nodes: int, intercept: float, sd: float) -> None:
    own = hard(nodes)
    np.testing.assert_allclose(own.params, [intercept, sd], atol=0.06)  # converged, and wrong
    assert own.converged
    (what,) = faults(own)
    assert what.startswith(f"AGQ {nodes}: too few nodes")
    assert 'n_quadrature="auto"' in own.check()["remedy"].iloc[0]
    assert UNSETTLED in own.glance()["flag"].iloc[0]
    assert own.tidy()["flag"].tolist() == [UNSETTLED] * 2


@pytest.mark.slow
def test_what_a_refined_rule_moves_is_measured() -> None:
    """The change of the log likelihood at the estimates is the error there, and half of what a Newton step gains."""
    own = hard(99)
    gain = -exact().fun - own.loglik
    assert own.refinement.loglik == pytest.approx(gain, rel=0.05, abs=1e-7)
    error = np.sqrt(np.diag(own.covariance))
    assert own.refinement.estimates == pytest.approx(np.abs((own.params - exact().x) / error).max(), rel=0.15)


def test_laplace_by_name_is_held_against_the_rule_too() -> None:
    (what,) = faults(hard(1))
    assert what.startswith("Laplace: too coarse, a refined rule moves the log-likelihood by -")
    assert hard(1).params[1] > 2 * exact().x[1]
    assert faults(js.fit(CASES, data("cbpp"), n_quadrature=1)) == []
    assert faults(js.fit(f"{CASES} + (1|obs)", data("cbpp"))) == []  # two terms: no rule to hold it against


def test_a_log_likelihood_that_moves_alone_is_no_flag_of_the_estimates() -> None:
    own = js.fit(CASES, data("cbpp"), n_quadrature=9)
    best = js.fit(CASES, data("cbpp"), n_quadrature=51)
    assert own.refinement.loglik == pytest.approx(best.loglik - own.loglik, abs=1e-9)
    assert own.refinement.loglik > 1e-6
    assert [what.startswith("AGQ 9: too few nodes") for what in faults(own)] == [True]
    assert own.glance()["flag"].iloc[0] == UNSETTLED
    assert own.tidy()["flag"].eq("").all()
    assert own.margins()["flag"].eq("").all()
    assert faults(best) == []


@pytest.mark.parametrize(
    ("formula", "name", "options"),
    [
        (CASES, "cbpp", {}),
        (CASES, "cbpp", {"link": "probit"}),
        ("incidence ~ period + offset(np.log(size)) + (1|herd)", "cbpp", {"family": "poisson"}),
        ("rating ~ temp + contact + (1|judge)", "wine", {"family": "cumulative"}),
        ("rating ~ temp + contact + (1|judge)", "wine", {"family": "cumulative", "link": "probit"}),
    ],
)
def test_ordinary_data_need_no_more_nodes_than_25(formula: str, name: str, options: dict[str, Any]) -> None:
    own, many = (js.fit(formula, data(name), n_quadrature=n, **options) for n in ("auto", 51))
    np.testing.assert_allclose(own.params, many.params, atol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diag(own.covariance)), np.sqrt(np.diag(many.covariance)), rtol=1e-5)
    assert own.loglik == pytest.approx(many.loglik, abs=1e-7)
    assert own.objective.kernel.ranges.intervals.mean() <= 35  # the cost of a fit
    assert many.glance()["flag"].iloc[0] == own.glance()["flag"].iloc[0] == ""


def test_random_slopes_of_any_size() -> None:
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"pair": np.repeat(np.arange(300), 2), "order": np.resize([1, -1], 600)})
    eta = -2.0 + table["order"] * 9.0 * rng.normal(size=300)[table["pair"]]
    table["first"] = (rng.random(600) < 1 / (1 + np.exp(-eta))).astype(int)
    own = js.fit("first ~ 1 + (0 + order|pair)", table)
    u = np.linspace(-12, 12, 20_001)
    seen = table.groupby("pair")["first"].agg(tuple).value_counts()

    def minus(p: Any) -> float:
        ends = (p[0] + p[1] * u, p[0] - p[1] * u)
        logs = [
            often * logsumexp(-0.5 * u**2 + sum(log_expit(e if y else -e) for e, y in zip(ends, answers, strict=True)))
            for answers, often in seen.items()
        ]
        return -sum(logs)

    found = minimize(minus, own.params, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-10})
    np.testing.assert_allclose(own.params, found.x, rtol=1e-4)
    assert faults(own) == []


# ---- where it does not apply ----------------------------------------------------------------------------------------


def test_other_random_terms_have_laplaces_approximation_by_default() -> None:
    table = calls()
    for right in ("(1|g) + (1|h)", "(1 + x|g)"):
        own = js.fit(f"y ~ s + {right}", table)
        same = js.fit(f"y ~ s + {right}", table, n_quadrature=1)
        assert own.method == "Laplace"
        np.testing.assert_array_equal(own.params, same.params)
        assert own.refinement is None
    assert js.fit("y ~ s", table).method == "ML"
    assert js.fit("score ~ x + (1|g)", table, family="gaussian", reml=True).method == "REML"
    assert js.fit("y ~ s + (1|g)", table, engine="gee").method.startswith("GEE")


def test_levels_without_end_are_a_fault() -> None:
    """Every item agrees with itself: no standard deviation is large enough."""
    table = pd.DataFrame({"item": np.repeat(np.arange(60), 2), "y": np.repeat(np.arange(60) % 3 > 0, 2).astype(int)})
    own = js.fit("y ~ 1 + (1|item)", table)
    assert not own.converged or faults(own)
    assert own.params[1] > 20


# ---- the rule is carried on -----------------------------------------------------------------------------------------


def test_refits_and_updates_are_by_the_same_rule() -> None:
    own = hard()
    again = own.refit(own.design, np.arange(len(own.design.y)))
    assert again.approximation == own.approximation == "trapezoid"
    np.testing.assert_allclose(again.params, own.params, rtol=1e-7)
    assert own.update(link="probit").approximation == "trapezoid"
    assert own.update(n_quadrature=9).method == "AGQ 9"
    table = items().assign(x=np.arange(len(items())) % 7)
    whole = js.fit("correct ~ x + (1|item)", table)
    dropped = whole.drop1().set_index("term")
    assert dropped.loc["x", "loglik"] == pytest.approx(own.loglik, abs=1e-7)


def test_the_ends_of_a_profile_are_those_of_the_integral() -> None:
    found = hard().confint(method="profile").set_index("term")
    cut = 1.959963984540054**2 / 2
    for side in ("conf_low", "conf_high"):
        sd = float(found.loc["sd(Intercept|item)", side])
        best = minimize(lambda p, sd=sd: -loglik(p[0], sd), [sd], method="Nelder-Mead", options={"xatol": 1e-6})
        assert best.fun - exact().fun == pytest.approx(cut, abs=1e-4)


def test_a_bootstrap_draws_and_refits_by_the_same_rule() -> None:
    table = items().sample(frac=0.2, random_state=1)
    own = js.fit("correct ~ 1 + (1|item)", table)
    found = own.confint(method="bootstrap", n_resamples=20, seed=3).set_index("term")
    assert (found["conf_low"] < found["estimate"]).all()
    assert (found["estimate"] < found["conf_high"]).all()


def test_position_bias_is_by_the_integral() -> None:
    """Pairs in both orders, of a judge who mostly follows the content: (first, second) chosen in either order."""
    kinds = {("first", "second"): 300, ("second", "first"): 320, ("second", "second"): 160, ("first", "first"): 1}
    rows, k = [], 0
    for (one, two), often in kinds.items():
        for _ in range(often):
            rows += [("g", str(k), "x", "y", one), ("g", str(k), "y", "x", two)]
            k += 1
    preferences = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])
    bias = js.models.position_bias_model(preferences)
    own = bias.table.query("term == 'first slot' and scale == 'log-odds'")["estimate"].iloc[0]
    (fit,) = bias.fits.values()
    u = np.linspace(-12, 12, 40_001)

    def minus(p: Any) -> float:
        ahead, behind = p[0] + p[1] * u, p[0] - p[1] * u
        logs = {
            (one, two): logsumexp(
                -0.5 * u**2
                + log_expit(ahead if one == "first" else -ahead)
                + log_expit(behind if two == "first" else -behind)
            )
            for one, two in kinds
        }
        return -sum(often * logs[kind] for kind, often in kinds.items())

    found = minimize(minus, [-1.0, 5.0], method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-10})
    assert own == pytest.approx(found.x[0], rel=1e-4)
    assert abs(found.x[1]) > 6
    coarse = fit.update(n_quadrature=15)
    assert abs(coarse.params[0] / own - 1) > 0.05
    assert faults(coarse)


def test_symmetric_thresholds_of_three_categories_are_midpoint_and_half_width():
    t = cumulative_thresholds(["loses", "tie", "wins"], "logit", "symmetric")
    assert t.names == ("midpoint", "half-width")
    assert t.at(np.array([0.2, 0.5])).tolist() == [[pytest.approx(-0.3), 0.7]]


def test_symmetric_thresholds_of_more_categories():
    t = cumulative_thresholds(list("12345"), "probit", "symmetric")
    assert t.names == ("midpoint", "half-width 1", "half-width 2")
    assert t.at(np.array([1.0, 0.5, 2.0]))[0] == pytest.approx([-1.0, 0.5, 1.5, 3.0])
    odd = cumulative_thresholds(list("1234"), "probit", "symmetric")
    assert odd.at(np.array([1.0, 0.5]))[0] == pytest.approx([0.5, 1.0, 1.5])


def test_a_parameter_may_vary_by_a_factor():
    sets = [{"half-width": "a"}, {"half-width": "b"}]
    t = cumulative_thresholds(["l", "t", "w"], "logit", "symmetric", {"half-width": ["a", "b"]}, sets)
    assert t.names == ("midpoint", "half-width[a]", "half-width[b]")
    assert t.at(np.array([0.0, 0.5, 2.0])) == pytest.approx(np.array([[-0.5, 0.5], [-2.0, 2.0]]))


def test_start_reproduces_the_margins():
    t = cumulative_thresholds(["1", "2", "3"], "logit")
    category, weight = np.array([0, 1, 2]), np.array([50.0, 30.0, 20.0])
    start = t.start(category, np.zeros(3, int), weight)
    assert 1 / (1 + np.exp(-start)) == pytest.approx([0.5, 0.8], abs=0.01)


def test_gradient_is_the_transpose_of_the_map():
    rng = np.random.default_rng(0)
    sets = [{"threshold": "a"}, {"threshold": "b"}]
    t = cumulative_thresholds(list("1234"), "logit", "free", {"threshold": ["a", "b"]}, sets)
    tau, category, part = np.sort(rng.normal(size=6)), rng.integers(0, 4, 30), rng.integers(0, 2, 30)
    by_hi, by_lo = rng.normal(size=30), rng.normal(size=30)
    inside = [(category < 3), (category > 0)]

    def value(tau):
        hi, lo, _ = t.around(tau, category, part)
        return (by_hi * hi)[inside[0]].sum() + (by_lo * lo)[inside[1]].sum()

    plain = [(value(tau + e) - value(tau - e)) / 2e-6 for e in 1e-6 * np.eye(6)]
    got = t.gradient(by_hi * inside[0], by_lo * inside[1], category, part)
    assert got == pytest.approx(np.array(plain), abs=1e-6)


def test_thresholds_out_of_order_are_told():
    t = cumulative_thresholds(["1", "2", "3"], "logit")
    category, part = np.zeros(1, int), np.zeros(1, int)
    assert t.around(np.array([0.0, 1.0]), category, part)[2]
    assert not t.around(np.array([1.0, 0.0]), category, part)[2]


def test_names_of_thresholds_and_the_columns_that_they_vary_by():
    assert cumulative_thresholds(["loses", "tie", "wins"], "logit", "symmetric").names == ("midpoint", "half-width")
    assert cumulative_thresholds(["1", "2", "3"], "probit").names == ("1|2", "2|3")
    assert by_kind("prompt", "symmetric") == {"midpoint": "prompt", "half-width": "prompt"}
