"""Average marginal effects against R, brute force and closed forms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from judgestats.errors import DesignError, SchemaError
from judgestats.models.estimation import fit
from judgestats.models.postestimation.delta_method import delta, spread
from models.reference import data, results
from models.test_mean_contrasts import CASES, fitted
from refusals import refused

NUMBERS = ("estimate", "std_error", "conf_low", "conf_high")


@pytest.mark.parametrize("model", ["cbpp", "cbpp_probit", "cbpp_obs", "wine_binary", "wine_unbalanced", "verbagg"])
def test_effects_are_those_of_r(model: str) -> None:
    own = fit(f"{CASES} + (1|obs)", data("cbpp"), df="normal") if model == "cbpp_obs" else fitted(model)
    found = own.margins()
    theirs = results("margins", model=model, scale="population_averaged")
    keys = [
        r.term if r.level == "slope" else " - ".join(f"{r.term}[{v}]" for v in r.level.split(" - "))
        for r in theirs.itertuples()
    ]
    assert sorted(keys) == sorted(found["term"])
    ours = found.set_index("term").loc[keys]
    for column in NUMBERS:
        np.testing.assert_allclose(ours[column], 100 * theirs[column], rtol=1e-4, atol=1e-4, err_msg=column)
    np.testing.assert_allclose(ours["statistic"], theirs["statistic"], rtol=1e-4)
    np.testing.assert_allclose(ours["p_value"], theirs["p_value"], rtol=1e-2)
    assert found["unit"].eq("percentage points").all()


def _simulated(own: Any, params: np.ndarray, table: pd.DataFrame, noise: list[np.ndarray]) -> float:
    """Mean probability over drawn random effects, from nothing but the definition."""
    X, offset, zs, _ = own.design.new(table)
    eta = X @ params[: own.n_fixed] + offset
    total = np.zeros(len(table))
    for draws in zip(*noise, strict=True):
        shift = sum(z @ (L @ u) for z, L, u in zip(zs, own.factors(params), draws, strict=True))
        total += expit(eta + shift)
    return float(total.mean() / len(noise[0]))


@pytest.mark.slow
def test_effects_by_brute_force_with_random_slopes() -> None:
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {"g": np.repeat(np.arange(50), 8), "x": rng.normal(size=400), "s": rng.choice(["B0", "S1"], 400)}
    )
    u = rng.normal(size=(50, 2)) * [0.8, 0.6]
    eta = -0.3 + (table["s"] == "S1") * 0.9 + u[table["g"], 0] + (0.5 + u[table["g"], 1]) * table["x"]
    table["y"] = (rng.random(400) < expit(eta)).astype(int)
    own = fit("y ~ s + x + (1 + x|g)", table)
    found = own.margins().set_index("term")
    half = np.random.default_rng(7).standard_normal((2000, 2))
    noise = [np.concatenate([half, -half])]  # antithetic
    one, two = table.assign(s="S1"), table.assign(s="B0")
    above, below = table.assign(x=table["x"] + 1e-3), table.assign(x=table["x"] - 1e-3)

    def both(p: np.ndarray) -> np.ndarray:
        return np.array(
            [
                _simulated(own, p, one, noise) - _simulated(own, p, two, noise),
                (_simulated(own, p, above, noise) - _simulated(own, p, below, noise)) / 2e-3,
            ]
        )

    values, jacobian = delta(both, own.params, own.covariance)
    ours = found.loc[["s[S1] - s[B0]", "x"]]
    np.testing.assert_allclose(ours["estimate"], 100 * values, rtol=5e-3)
    np.testing.assert_allclose(ours["std_error"], 100 * spread(jacobian, own.covariance), rtol=1e-2)
    # the variances are counted: without them the errors are others
    held = own.covariance.copy()
    held[own.n_location :] = held[:, own.n_location :] = 0
    assert (np.abs(spread(jacobian, held) / spread(jacobian, own.covariance) - 1) > 1e-3).any()


def test_without_random_effects_a_factor_alone_is_the_difference_of_proportions() -> None:
    counts = pd.DataFrame({"s": ["a", "a", "b", "b"], "y": [0, 1, 0, 1], "n": [40, 60, 20, 80]})
    found = fit("y ~ s", counts, counts="n").margins().iloc[0]
    assert found["estimate"] == pytest.approx(20.0, abs=1e-6)
    assert found["std_error"] == pytest.approx(100 * np.sqrt(0.6 * 0.4 / 100 + 0.8 * 0.2 / 100), rel=1e-5)
    assert found["method"] == "average; z"


def test_statsmodels_gives_the_same_without_random_effects() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(2)
    x, z = rng.normal(size=(2, 500))
    table = pd.DataFrame({"x": x, "z": z, "y": (rng.random(500) < expit(0.4 * x - 0.7 * z)).astype(int)})
    found = fit("y ~ x * z", table).margins()
    result = sm.Logit(table["y"], np.column_stack([np.ones(500), x, z, x * z])).fit(disp=0, tol=1e-12)
    b = np.asarray(result.params)
    linear = np.column_stack([np.ones(500), x, z, x * z]) @ b
    density = expit(linear) * expit(-linear)
    wanted = [(density * (b[1] + b[3] * z)).mean(), (density * (b[2] + b[3] * x)).mean()]
    np.testing.assert_allclose(found["estimate"], 100 * np.array(wanted), rtol=1e-5)


def test_scores_and_counts_keep_their_unit() -> None:
    linear = fitted("sleepstudy_reml").margins()
    row = linear.iloc[0]
    b, V = fitted("sleepstudy_reml").beta, fitted("sleepstudy_reml").covariance
    assert (row["term"], row["unit"]) == ("Days", "score")
    assert row["estimate"] == pytest.approx(b[1], rel=1e-9)
    assert row["std_error"] == pytest.approx(V[1, 1] ** 0.5, rel=1e-9)
    counts = fitted("cbpp_poisson").margins()
    own, frame = fitted("cbpp_poisson"), data("cbpp")
    lift = np.exp(own.theta[0] ** 2 / 2) * frame["size"].mean()
    wanted = (np.exp(own.beta[0] + own.beta[1]) - np.exp(own.beta[0])) * lift
    assert counts["unit"].eq("count").all()
    assert counts["estimate"].iloc[0] == pytest.approx(wanted, rel=1e-9)
    assert "size" not in counts["variable"].tolist()  # an offset alone


def test_categories_of_an_ordinal_model() -> None:
    own = fitted("wine")
    found = own.margins("temp")
    assert found["category"].tolist() == ["1", "2", "3", "4", "5"]
    assert found["estimate"].sum() == pytest.approx(0, abs=1e-9)
    rng = np.random.default_rng(3)
    half = rng.standard_normal(200_000)
    b = own.theta[0] * np.concatenate([half, -half])
    wanted = np.zeros(5)
    for temp, sign in (("warm", 1), ("cold", -1)):
        for contact in ("no", "yes"):
            eta = own.beta[0] * (temp == "warm") + own.beta[1] * (contact == "yes") + b
            below = np.array([0, *(expit(t - eta).mean() for t in own.tau), 1])
            wanted += sign * np.diff(below) / 2
    np.testing.assert_allclose(found["estimate"], 100 * wanted, atol=0.05)


def test_ordinal_errors_are_those_of_numeric_derivatives() -> None:
    own = fitted("wine")
    found = own.margins("contact")

    def effect(p: np.ndarray) -> np.ndarray:
        moved = replace(own, params=p)
        return np.asarray(moved.margins("contact")["estimate"], float)

    _, jacobian = delta(effect, own.params, own.covariance)
    np.testing.assert_allclose(found["std_error"], spread(jacobian, own.covariance), rtol=1e-6)


def test_two_categories_are_a_binomial_model() -> None:
    table = data("wine")
    table["low"] = np.where(table["high"] == 1, 2, 1)
    ordinal = fit("low ~ temp + contact + (1|judge)", table, family="cumulative").margins()
    binomial = fit("high ~ temp + contact + (1|judge)", table).margins()
    ours = ordinal[ordinal["category"] == "2"]
    for column in NUMBERS:
        np.testing.assert_allclose(ours[column], binomial[column], rtol=1e-4)


def test_effects_within_groups_average_to_the_whole() -> None:
    own = fitted("wine_unbalanced")
    parts = own.margins("temp", by="contact")
    assert parts["contact"].tolist() == ["no", "yes"]
    share = data("wine_unbalanced")["contact"].value_counts(normalize=True)[["no", "yes"]]
    assert parts["estimate"] @ share.to_numpy() == pytest.approx(own.margins("temp")["estimate"].item(), rel=1e-10)
    assert parts["estimate"].nunique() == 2


def test_a_tally_and_its_calls_give_the_same() -> None:
    calls = data("wine_unbalanced")[["high", "temp", "contact", "judge"]]
    tally = calls.groupby(list(calls.columns), observed=True).size().rename("n").reset_index()
    trials = calls.groupby(["temp", "contact", "judge"], observed=True)["high"].agg(["sum", "size"]).reset_index()
    right = "temp + contact + (1|judge)"
    tables = [
        fit(f"high ~ {right}", calls).margins(),
        fit(f"high ~ {right}", tally, counts="n").margins(),
        fit(f"cbind(sum, size - sum) ~ {right}", trials).margins(),
    ]
    for other in tables[1:]:
        pd.testing.assert_frame_equal(tables[0], other, rtol=1e-5)


def test_a_derivative_through_a_logarithm_near_zero() -> None:
    rng = np.random.default_rng(8)
    x = np.exp(rng.normal(0, 3, 600))
    table = pd.DataFrame({"x": x, "y": (rng.random(600) < expit(0.4 * np.log(x))).astype(int)})
    own = fit("y ~ np.log(x)", table)
    p = expit(own.beta[0] + own.beta[1] * np.log(x))
    wanted = (p * (1 - p) * own.beta[1] / x).mean()
    assert own.margins()["estimate"].item() == pytest.approx(100 * wanted, rel=1e-4)


def test_a_root_has_no_derivative_at_zero() -> None:
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0, 4.0] * 10, "y": [0, 1, 0, 1, 1, 0, 1, 1] * 5})
    found = fit("y ~ np.sqrt(x)", table).margins()
    assert np.isnan(found["estimate"].item())
    assert found["flag"].item() == "no derivative in some rows"


def test_booleans_are_changed_not_derived() -> None:
    table = pd.DataFrame({"y": [0, 1, 1, 0, 1, 1, 1, 0] * 5, "b": [True, False] * 20})
    found = fit("y ~ b", table).margins()
    assert found["term"].item() == "b[True] - b[False]"
    assert found["estimate"].item() == pytest.approx(0.0, abs=30)
    shares = table.groupby("b")["y"].mean()
    assert found["estimate"].item() == pytest.approx(100 * (shares[True] - shares[False]), abs=1e-5)


def test_unknown_covariance_is_nan_with_a_flag() -> None:
    own = fitted("cbpp")
    found = replace(own, covariance=np.full((5, 5), np.nan)).margins()
    assert found["estimate"].notna().all()
    assert found[["std_error", "p_value", "conf_low"]].isna().all(axis=None)
    assert found["flag"].eq("no standard errors").all()


def test_levels_that_do_not_occur_together() -> None:
    table = pd.DataFrame({"a": ["u", "u", "v"] * 20, "b": ["p", "q", "p"] * 20, "y": np.tile([0, 1, 1, 1, 0, 0], 10)})
    found = fit("y ~ a * b", table).margins("a", by="b")  # no v with q
    assert found["flag"].tolist() == ["", "not estimable"]
    assert np.isnan(found["estimate"].iloc[1])


def test_what_is_refused() -> None:
    own = fitted("cbpp")
    refused(
        DesignError,
        (lambda: own.margins("perod"), r"variables='perod'.*Did you mean 'period'"),
        (lambda: own.margins(by="age"), SchemaError, "by='age'"),
        (lambda: fit("high ~ 1 + (1|judge)", data("wine")).margins(), "has no variables"),
    )


def test_the_reference_is_that_of_the_coding():
    table = pd.DataFrame({"y": [0, 1, 1, 0, 1, 1] * 4, "s": list("aabbcc") * 4, "n": range(1, 25)})
    terms = fit("y ~ C(s, Treatment('b'))", table, counts="n").margins()["term"].tolist()
    assert terms == ["s[a] - s[b]", "s[c] - s[b]"]
    assert fit("y ~ C(s, Sum)", table, counts="n").margins()["term"].tolist() == ["s[b] - s[a]", "s[c] - s[a]"]
