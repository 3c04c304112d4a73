"""check(): finds what it should, and is silent on ordinary data."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgestats.errors import FitError
from judgestats.models.engines import generalised
from judgestats.models.estimation import fit
from judgestats.models.fits import Fit
from judgestats.models.postestimation.diagnosis import left_out, uncorrelated, written
from judgestats.models.postestimation.separation import runaway
from models import reference
from models.toys import calls

CASES = "cbind(incidence, size - incidence) ~ period + (1|herd)"


def found(own: Fit, *levels: str) -> pd.DataFrame:
    """Findings, but for factors with few levels, which most toys have."""
    table = own.check()
    table = table[~table["what"].str.contains(r"fewer than \d+ levels of")]
    return table[table["level"].isin(levels or ("fault", "caution", "excluded"))].reset_index(drop=True)


ORDINARY = [
    ("cbpp", CASES, {}),
    ("cbpp", CASES, {"link": "probit"}),
    ("cbpp", "incidence ~ period + offset(log(size)) + (1|herd)", {"family": "poisson"}),
    ("cbpp", f"{CASES} + (1|obs)", {}),
    ("sleepstudy", "Reaction ~ Days + (Days|Subject)", {"family": "gaussian"}),
    ("penicillin", "diameter ~ 1 + (1|plate) + (1|sample)", {"family": "gaussian"}),
    ("wine", "rating ~ temp + contact + (1|judge)", {"family": "cumulative"}),
    ("wine", "high ~ temp * contact + (1|judge)", {}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "formula", "options"), ORDINARY)
def test_silent_on_ordinary_data(name: str, formula: str, options: dict) -> None:
    assert found(fit(formula, reference.data(name), **options)).empty


# ---- sizes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "formula", "options", "whats"),
    [
        ("cbpp", CASES, {}, ["fewer than 30 levels of herd: 15"]),
        ("wine", "rating ~ temp + (1|judge)", {"family": "cumulative"}, ["fewer than 30 levels of judge: 9"]),
        ("sleepstudy", "Reaction ~ Days + (Days|Subject)", {"family": "gaussian", "reml": True}, []),
        ("sleepstudy", "Reaction ~ Days + (Days||Subject)", {"family": "gaussian"}, ["fewer than 30 levels of Subject: 18"]),
        (
            "penicillin", "diameter ~ 1 + (1|plate) + (1|sample)", {"family": "gaussian", "reml": True},
            ["fewer than 10 levels of sample: 6"],
        ),
    ],
)  # fmt: skip
def test_factors_with_few_levels_are_doubted(name: str, formula: str, options: dict, whats: list[str]) -> None:
    table = fit(formula, reference.data(name), **options).check().query("level == 'caution'")
    assert table["what"].tolist() == whats
    assert table["remedy"].str.contains("too short").all()


def test_rare_answers_under_laplace() -> None:
    table = pd.DataFrame({"item": np.repeat(np.arange(40), 20), "y": 0})
    table.loc[[3, 5, 111, 112, 240, 241, 242, 500, 501, 700], "y"] = 1
    row = found(fit("y ~ 1 + (1|item)", table, n_quadrature=1), "caution").iloc[0]
    assert (row["level"], row["column"], row["n"]) == ("caution", "item", 40)
    assert row["what"] == "rarer answer less than once per level: 10 for 40 levels under Laplace's approximation"
    assert 'n_quadrature="auto"' in row["remedy"]
    assert found(fit("y ~ 1 + (1|item)", table)).empty


def test_silent_on_simulated_calls() -> None:
    for formula, family in (
        ("y ~ s + (1|g)", "binomial"),
        ("verdict ~ s + (1|g)", "cumulative"),
        ("score ~ s + (1|g)", "gaussian"),
    ):
        assert found(fit(formula, calls(), family=family)).empty


# ---- separation -----------------------------------------------------------------------------------------------------


def toy(y: list[int], s: str, n: list[int]) -> pd.DataFrame:
    return pd.DataFrame({"y": y, "s": list(s), "n": n})


def test_a_level_with_one_answer() -> None:
    own = fit("y ~ s", toy([0, 1, 0, 1, 1], "aabbc", [9, 5, 2, 4, 8]), counts="n")
    row = found(own).iloc[0]
    assert (row["level"], row["column"], row["n"], row["example"]) == ("fault", "s", 8, "c")
    assert row["what"] == "'c' always has 1: separation"
    assert "infinite" in row["remedy"]
    assert own.options.separated == ("s[c]",)
    assert len(found(own)) == 1


def test_nearly_one_answer_is_none() -> None:
    own = fit("y ~ s", toy([0, 1, 0, 1, 0, 1], "aabbcc", [9, 5, 2, 4, 1, 400]), counts="n")
    assert found(own).empty
    assert own.options.separated == ()


@pytest.mark.parametrize("engine", ["ml", "glm", "gee"])
def test_complete_separation_by_a_number(engine: str) -> None:
    table = pd.DataFrame({"x": np.arange(40.0) / 7, "y": (np.arange(40) >= 20).astype(int), "g": np.arange(40) % 8})
    own = fit("y ~ x + (1|g)" if engine == "gee" else "y ~ x", table, engine=engine)
    assert own.options.separated == ("Intercept", "x")
    rows = own.tidy()
    assert rows["flag"].str.contains("separation").all()
    assert rows["p_value"].isna().all()
    assert found(own, "fault")["what"].str.contains("together the terms predict an answer perfectly").any()


def test_estimating_equations_of_a_separated_response_end_where_rounding_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether statsmodels stops at large coefficients or at none depends on the machine; what is said of them does not."""
    table = pd.DataFrame({"x": np.arange(40.0) / 7, "y": (np.arange(40) >= 20).astype(int), "g": np.arange(40) % 8})

    def nowhere(*_: object) -> tuple[SimpleNamespace, SimpleNamespace]:
        nothing = np.full(2, np.nan)
        return SimpleNamespace(dep_params=np.nan), SimpleNamespace(params=nothing, cov_robust=nothing, converged=False)

    monkeypatch.setattr(generalised, "_estimate", nowhere)
    rows = fit("y ~ x + (1|g)", table, engine="gee").tidy()
    assert rows["flag"].str.contains("separation").all()
    assert rows["p_value"].isna().all()
    with pytest.raises(FitError, match="no finite coefficients"):
        fit("y ~ x + (1|g)", table.assign(y=np.arange(40) % 3 % 2), engine="gee")


@pytest.mark.parametrize("family", ["binomial", "cumulative"])
def test_levels_that_always_answer_alike(family: str) -> None:
    """Their standard deviation is infinite, and with it every coefficient: no p-value and no interval."""
    table = pd.DataFrame([(j, i, i % 3) for j in range(6) for i in range(12)], columns=["judge", "item", "y"])
    if family == "binomial":
        table["y"] = table["y"] % 2
    own = fit("y ~ 1 + (1|item) + (1|judge)", table, family=family)
    rows = own.tidy().set_index("term")
    endless = rows.drop("sd(Intercept|judge)")
    assert endless["flag"].eq("separation").all()
    assert endless[["p_value", "conf_low", "std_error"]].isna().all(axis=None)
    assert "separation" not in rows.loc["sd(Intercept|judge)", "flag"]
    row = found(own, "fault").iloc[0]
    assert (row["what"], row["column"], row["n"]) == (
        "each level of item always has one answer: separation",
        "item",
        12,
    )
    mixed = fit("y ~ 1 + (1|item) + (1|judge)", table.assign(y=table["y"].where(table.index != 3, 1)), family=family)
    assert "separation" not in mixed.notes


def test_counts_without_overdispersion() -> None:
    """The size runs to infinity, where the model is Poisson's: no interval of it, the others are those of Poisson's."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=200), "g": np.arange(200) % 20})
    table["y"] = 1 + np.arange(200) % 3
    own, limit = (fit("y ~ x + (1|g)", table, family=f) for f in ("negative_binomial", "poisson"))
    rows = own.tidy().set_index("term")
    assert rows.loc["log(size)", "flag"] == "no overdispersion"
    assert rows.loc["log(size)", ["std_error", "conf_low"]].isna().all()
    assert rows.loc["x", "flag"] == ""
    theirs = limit.tidy().set_index("term")
    assert rows.loc["x", "std_error"] == pytest.approx(theirs.loc["x", "std_error"], rel=1e-4)
    assert "no overdispersion: log(size) is infinite" in found(own)["what"].tolist()
    assert own.predict(table)["flag"].eq("").all()


def test_separation_beside_random_effects() -> None:
    table = calls()
    table.loc[table["s"] == "c", "y"] = 1
    own = fit("y ~ s + x + (1|g)", table)
    assert "separation" in own.notes
    assert own.options.separated == ("s[c]",)
    assert found(own, "fault")["example"].tolist() == ["c"]


def test_separation_in_an_interaction_only() -> None:
    table = pd.DataFrame(
        {"a": list("ppqqppqq"), "b": list("uvuvuvuv"), "y": [0, 0, 0, 1, 1, 1, 1, 1], "n": [5, 6, 7, 8, 9, 4, 3, 2]}
    )
    own = fit("y ~ a * b", table.iloc[[0, 1, 2, 4, 5, 6, 7]], counts="n")
    assert own.options.separated == ("a[q]:b[v]",)
    assert found(own, "fault")["column"].tolist() == ["a[q]:b[v]"]


@pytest.mark.parametrize("engine", ["ml", "ordered"])
def test_separation_of_ordered_categories(engine: str) -> None:
    table = pd.DataFrame({"y": [1, 2, 3, 1, 2, 3, 3], "s": list("aaabbbc"), "n": [5, 6, 7, 4, 9, 3, 8]})
    own = fit("y ~ s", table, family="cumulative", engine=engine, counts="n")
    assert own.options.separated == ("s[c]",)
    assert "'c' always has 3: separation" in found(own, "fault")["what"].tolist()


def test_separation_of_counts_is_zeros() -> None:
    table = pd.DataFrame({"y": [1, 2, 3, 0, 0, 0], "s": list("aaabbb")})
    own = fit("y ~ s", table, family="poisson")
    assert own.options.separated == ("s[b]",)
    assert found(own, "fault")["example"].tolist() == ["b"]


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(4, 9))
def test_runaway_by_brute_force(seed: int, rows: int) -> None:
    """In two dimensions every direction can be tried: what may move is what some direction allows."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(rows), rng.integers(-2, 3, rows)]).astype(float)
    sign = np.where(rng.random(rows) < 0.5, 1.0, -1.0)
    if len(np.unique(X[:, 1])) < 2:
        return
    A = X * sign[:, None]
    angles = np.unique(
        np.concatenate([np.linspace(0, 2 * np.pi, 721), *(np.arctan2(-A[:, 0], A[:, 1]) + k * np.pi for k in range(3))])
    )
    D = np.column_stack([np.cos(angles), np.sin(angles)])
    good = D[(A @ D.T >= -1e-9).all(axis=0)]
    moves = (np.abs(good) > 1e-6).any(axis=0) if len(good) else np.zeros(2, bool)
    np.testing.assert_array_equal(runaway(A), moves)


# ---- random effects -------------------------------------------------------------------------------------------------


def test_singular_terms_are_named() -> None:
    table = calls()
    table["y"] = np.tile([0, 1], 120)
    table["g"] = np.repeat(np.arange(12), 20)
    own = fit("y ~ x + (1|g)", table)
    row = found(own).iloc[0]
    assert (row["level"], row["column"], row["n"]) == ("caution", "g", 12)
    assert row["what"] == "singular fit: sd(Intercept|g) is 0"
    assert row["remedy"].startswith("Leave (1|g) out; ")


@pytest.mark.parametrize(
    ("right", "t", "term", "without", "apart"),
    [
        ("(1 | g)", 0, "(1|g)", "Leave (1|g) out", ""),
        ("(1|g/h)", 1, "(1|g:h)", "Leave (1|g:h) out", ""),
        ("(x|g)", 0, "(x|g)", "Write (0 + x|g) in place of (x|g)", "(x||g)"),
        ("(1 + x | g)", 0, "(1 + x|g)", "Write (0 + x|g) in place of (1 + x|g)", "(x||g)"),
        ("(x || g)", 1, "(0 + x|g)", "Leave (0 + x|g) out", ""),
        ("(0 + x + k|g)", 0, "(0 + x + k|g)", "Write (0 + k|g) in place of (0 + x + k|g)", "(0 + x + k||g)"),
        ("(s|g)", 0, "(s|g)", "Leave Intercept of (s|g) out", "(1|g) + (1|g:s)"),
    ],
)
def test_random_terms_in_the_words_of_their_formula(right: str, t: int, term: str, without: str, apart: str) -> None:
    own = fit(f"score ~ p + {right}", calls(), family="gaussian")
    assert written(own, t) == term
    assert left_out(own, t, 0) == without
    if apart:
        assert uncorrelated(own, t) == apart
        names = {p.factor for p in fit(f"score ~ p + {apart}", calls(), family="gaussian").design.formula.random}
        assert "g" in names  # what is advised parses


def test_a_correlation_of_one_is_named() -> None:
    rng = np.random.default_rng(4)
    g = np.repeat(np.arange(10), 12)
    x = np.tile(np.arange(12) - 5.5, 10) / 4
    u = rng.normal(size=10)
    table = pd.DataFrame({"g": g, "x": x, "z": u[g] * (1 + x) + rng.normal(size=120)})
    own = fit("z ~ x + (x|g)", table, family="gaussian")
    assert "singular fit" in own.notes
    what = found(own)["what"].tolist()
    assert what == ["singular fit: cor(Intercept,x|g) is 1"]
    rows = own.tidy().set_index("term")
    assert rows.loc["cor(Intercept,x|g)", "flag"] == "singular fit"
    assert np.isnan(rows.loc["cor(Intercept,x|g)", "std_error"])


def pairs(N: int, calls_each: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"pair": np.repeat(np.arange(N), calls_each), "order": np.resize([1, -1], N * calls_each)})
    eta = 0.6 + table["order"] * 1.5 * rng.normal(size=N)[table["pair"]]
    return table.assign(first=(rng.random(len(table)) < 1 / (1 + np.exp(-eta))).astype(int))


def test_few_calls_per_level_under_laplace() -> None:
    own = fit("first ~ 1 + (0 + order|pair)", pairs(100, 2), n_quadrature=1)
    row = found(own, "caution").iloc[0]
    assert row["what"] == "fewer than 5 calls per level: 2.0 under Laplace's approximation"
    assert 'n_quadrature="auto"' in row["remedy"]
    assert "fewer than 5 calls per level" in own.notes
    assert own.tidy()["flag"].tolist() == ["fewer than 5 calls per level"] * 2
    assert found(fit("first ~ 1 + (0 + order|pair)", pairs(100, 2))).empty
    assert found(fit("first ~ 1 + (0 + order|pair)", pairs(60, 6), n_quadrature=1)).empty
    several = fit("first ~ 1 + (1|pair) + (0 + order|pair)", pairs(100, 2))
    assert "bootstrap" in found(several).query("what.str.contains('Laplace')")["remedy"].iloc[0]


def test_factors_with_few_levels_and_with_one_call_each() -> None:
    table = calls()
    rows = fit("y ~ x + (1|p)", table).check().query("what == 'fewer than 30 levels of p: 2 only'")
    assert rows["example"].tolist() == ["P1, P2"]
    assert "fixed effect" in rows["remedy"].iloc[0]
    each = found(fit("y ~ x + (1|row)", table.assign(row=np.arange(240))))
    assert "240 levels for 240 calls" in each["what"].tolist()


# ---- columns --------------------------------------------------------------------------------------------------------


def test_suspect_columns() -> None:
    table = calls(1200).assign(item=lambda t: t["g"] + 1, far=lambda t: t["x"] * 0.5 + 2000.0)
    table["rare"] = np.where(np.arange(1200) < 8, "u", "v")
    names = found(fit("y ~ item", table))
    assert names[["level", "column", "what"]].to_numpy().tolist() == [["caution", "item", "names used as numbers"]]
    assert "C(item)" in names["remedy"].iloc[0]
    rare = found(fit("y ~ rare", table))
    assert rare[["column", "what", "n"]].to_numpy().tolist() == [["rare", "nearly always 'v'", 8]]
    assert "center(far)" in found(fit("score ~ far", table, family="gaussian"))["remedy"].iloc[0]
    assert found(fit("y ~ center(x)", table)).empty
    few = fit("y ~ x", table)
    assert found(few).empty
    assert found(few, "counted")["what"].tolist() == ["whole numbers used as numbers"]
    assert "whole numbers" not in few.summary()


def test_what_was_left_out() -> None:
    table = calls().assign(double=lambda t: t["x"] * 2.0)
    table.loc[:2, "s"] = None
    own = found(fit("y ~ s + x + double", table), "excluded")
    assert own[["column", "what", "n"]].to_numpy().tolist() == [
        ["y, s, x, double", "rows with a missing value, or invalid", 3],
        ["double", "aliased", 1],
    ]
    scores = pd.Categorical(table["k"].clip(upper=3).astype(str), [str(i) for i in range(6)], ordered=True)
    unused = found(fit("scores ~ x", table.assign(scores=scores), family="cumulative"), "excluded")
    assert unused["what"].tolist() == ["category without a row: 4, 5"]
    sums = fit("y ~ s", table).check().query("level == 'rows'").set_index("what")["n"]
    assert sums.to_dict() == {"rows used": 237, "rows excluded": 3}


def test_a_search_that_ends_early_is_a_fault() -> None:
    from dataclasses import replace

    from judgestats.models.postestimation.diagnosis import check

    own = replace(fit("y ~ s", calls()), converged=False)
    assert check(own)["what"].iloc[0] == "not converged"
    assert check(replace(own, converged=True, notes=("Hessian not positive definite",)))["level"].iloc[0] == "fault"


def test_engines_are_warned_of() -> None:
    assert found(fit("y ~ s + (1|g)", calls(), engine="gee")).empty
    gee = fit("y ~ s + (1|g)", calls(), engine="gee", df="normal")
    assert "fewer than 30 levels of g: 12" in gee.check()["what"].tolist()
    assert (gee.tidy()["flag"] == "fewer than 30 levels of g").all()
    table = pd.DataFrame({"x": np.tile(np.arange(10.0), 20), "g": np.repeat(np.arange(20), 10)})
    table["y"] = (table["x"] + np.random.default_rng(0).normal(size=200) > 5).astype(int)
    outside = found(fit("y ~ x + (1|g)", table, engine="lpm"))
    assert "fitted probabilities below 0 or above 1" in outside["what"].tolist()
