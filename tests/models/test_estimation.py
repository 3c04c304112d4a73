"""fit(): what it takes, what it refuses and how it says so; counts of identical rows are declared."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
import judgestats.models as package
from judgestats.errors import DesignError, FitError, FormulaError, JudgestatsError, SchemaError
from judgestats.models import hierarchical
from judgestats.models.designs import design
from judgestats.models.estimation import fit
from judgestats.models.fits import Fit
from judgestats.models.hierarchical import cue_counts, ladders, strategy_counts, target_counts
from judgestats.models.ml import fit_design
from judgestats.models.specifications import Model
from models import reference
from models.toys import calls, tallied
from refusals import refused


def same(one: Fit, other: Fit, tolerance: float = 1e-6) -> None:
    pd.testing.assert_frame_equal(one.tidy(), other.tidy(), rtol=tolerance, atol=tolerance)
    assert one.n == other.n
    np.testing.assert_allclose(one.loglik, other.loglik, rtol=1e-9)


@pytest.mark.parametrize("model", ["cbpp", "cbpp_agq9", "cbpp_probit", "cbpp_poisson", "sleepstudy_reml"])
def test_the_door_gives_what_the_engine_gives(model: str) -> None:
    from models.test_ml import MODELS

    name, formula, family, link, options = MODELS[model]
    data = reference.data(name)
    own = fit(formula, data, family=family, link=link, **{"n_quadrature": 1, **options})
    direct = fit_design(Model(design(formula, data, family=family), family, link, **options))
    np.testing.assert_array_equal(own.params, direct.params)
    assert isinstance(own, Fit)
    assert own.engine == "ml"


def test_defaults() -> None:
    table = calls()
    links = {"binomial": ("y", "logit"), "gaussian": ("score", "identity"), "poisson": ("k", "log")}
    for family, (y, link) in links.items():
        assert fit(f"{y} ~ x", table, family=family).link == link
    assert fit("verdict ~ x", table, family="cumulative").link == "logit"
    assert fit("y ~ x", table).family == "binomial"
    asked = fit("y ~ x", table, weights=None).call.keywords
    assert asked["engine"] == "ml"
    assert asked["n_quadrature"] == "auto"


@pytest.mark.parametrize(
    ("formula", "family", "columns"),
    [
        ("y ~ s + x + (1|g)", "binomial", "ysxg"),
        ("y ~ s + (1|g) + (1|h)", "binomial", "ysgh"),
        ("score ~ x + (x|g)", "gaussian", ["score", "x", "g"]),
        ("k ~ x + (1|g)", "poisson", "kxg"),
        ("verdict ~ s + (1|g)", "cumulative", ["verdict", "s", "g"]),
        ("y ~ s", "binomial", "ys"),
    ],
)
def test_a_tally_is_its_calls(formula: str, family: str, columns: list[str]) -> None:
    table = calls()[list(columns)]
    counted = tallied(table)
    assert len(counted) < len(table) or family == "gaussian"
    own = fit(formula, counted, family=family, counts="n")
    same(own, fit(formula, table, family=family))
    assert own.glance()["counts"].iloc[0] == "n"


def test_weights_are_no_counts() -> None:
    table = calls().assign(w=2.0)
    plain, weighted = (
        fit("score ~ x + (1|g)", table, family="gaussian"),
        fit("score ~ x + (1|g)", table, family="gaussian", weights="w"),
    )
    counted = fit("score ~ x + (1|g)", table, family="gaussian", counts="w")
    assert weighted.n == plain.n
    assert counted.n == 2 * plain.n
    np.testing.assert_allclose(weighted.beta, plain.beta, rtol=1e-6)
    np.testing.assert_allclose(weighted.residual, plain.residual * np.sqrt(2), rtol=1e-6)
    assert weighted.glance()["counts"].iloc[0] == ""


def test_any_engine_of_tables_and_any_order() -> None:
    table = calls()
    own = fit("y ~ s + (1|g)", table)
    same(own, fit("y ~ s + (1|g)", pl.from_pandas(table)), 1e-9)
    same(own, fit("y ~ s + (1|g)", pl.from_pandas(table).lazy()), 1e-9)
    same(own, fit("y ~ s + (1|g)", table.sample(frac=1, random_state=3)), 1e-9)


def test_a_callable_is_an_engine() -> None:
    seen: list[Model] = []

    def mine(model: Model):
        seen.append(model)
        return fit_design(model)

    own = fit("y ~ s", calls(), engine=mine)
    assert own.engine == "mine"
    assert seen[0].link == "logit"


# ---- thresholds -----------------------------------------------------------------------------------------------------


def test_symmetric_thresholds_are_those_of_clmm() -> None:
    table, options = reference.data("wine"), {"family": "cumulative", "thresholds": "symmetric"}
    own = fit("rating ~ temp + contact + (1|judge)", table, n_quadrature=1, **options)
    assert own.names[2:5] == ("midpoint", "half-width 1", "half-width 2")
    assert own.loglik == pytest.approx(
        reference.value("fits", model="wine_symmetric", engine="by hand", quantity="loglik"), abs=1e-5
    )
    cuts = reference.results("fits", model="wine_symmetric", engine="by hand", quantity="cut")["estimate"]
    np.testing.assert_allclose(own.thresholds.at(own.tau)[0], cuts, atol=1e-4)


def test_thresholds_by_a_factor_are_nominal_effects() -> None:
    wine = reference.data("wine")
    own = fit("rating ~ temp", wine, family="cumulative", thresholds_by="contact")
    stored = {"model": "wine_clm_nominal", "engine": "clm"}
    assert own.loglik == pytest.approx(reference.value("fits", quantity="loglik", **stored), abs=1e-6)
    given = reference.results("fits", quantity="threshold", **stored).set_index("term")["estimate"]
    tau = dict(zip(own.thresholds.names, own.tau, strict=True))
    for cut in ("1|2", "2|3", "3|4", "4|5"):  # clm: threshold at no, and what yes adds
        base = given[f"{cut}.(Intercept)"]
        assert tau[f"{cut}[no]"] == pytest.approx(base, abs=2e-4)
        assert tau[f"{cut}[yes]"] == pytest.approx(base + given[f"{cut}.contactyes"], abs=2e-4)
    mixed = fit("rating ~ temp + (1|judge)", wine, family="cumulative", thresholds_by="contact", n_quadrature=1)
    hand = reference.value("fits", model="wine_nominal", engine="by hand", quantity="loglik")
    assert mixed.loglik == pytest.approx(hand, abs=1e-5)


def test_thresholds_by_a_column_outside_the_formula() -> None:
    table = calls()
    both = fit("verdict ~ s", table, family="cumulative", thresholds="symmetric", thresholds_by="p")
    alone = [
        fit("verdict ~ 1", table[table["p"] == p], family="cumulative", thresholds="symmetric") for p in ("P1", "P2")
    ]
    split = fit("verdict ~ 1", table, family="cumulative", thresholds="symmetric", thresholds_by="p")
    assert split.names == ("midpoint[P1]", "midpoint[P2]", "half-width[P1]", "half-width[P2]")
    assert split.loglik == pytest.approx(sum(f.loglik for f in alone), abs=1e-6)
    np.testing.assert_allclose(
        split.tau, [alone[0].tau[0], alone[1].tau[0], alone[0].tau[1], alone[1].tau[1]], atol=1e-4
    )
    assert both.df == 6
    # a midpoint that moves is a fixed effect of the other sign
    fixed = fit("verdict ~ p", table, family="cumulative", thresholds="symmetric", thresholds_by={"half-width": "p"})
    assert fixed.loglik == pytest.approx(split.loglik, abs=1e-6)
    assert fixed.beta[0] == pytest.approx(split.tau[0] - split.tau[1], abs=1e-4)


def test_thresholds_vary_by_two_columns() -> None:
    own = fit(
        "verdict ~ x", calls(), family="cumulative", thresholds="symmetric",
        thresholds_by={"midpoint": "p", "half-width": "s"},
    )  # fmt: skip
    assert len(own.model.partition.sets) == 6
    assert own.names[1:] == ("midpoint[P1]", "midpoint[P2]", "half-width[a]", "half-width[b]", "half-width[c]")
    new = pd.DataFrame({"p": ["P2"], "s": ["a"]})
    assert own.model.partition.sets[own.model.partition.codes(new)[0]] == ("P2", "a")
    refused(
        DesignError,
        (pd.DataFrame({"p": ["P3"], "s": ["a"]}), "no thresholds for p 'P3'"),
        (pd.DataFrame({"s": ["a"]}), "'p', which is no column"),
        of=own.model.partition.codes,
    )


# ---- refusals -------------------------------------------------------------------------------------------------------

REFUSED = [
    ("y ~ s", {"family": "gauss"}, DesignError, "family='gauss' is not known.*Did you mean 'gaussian'"),
    ("y ~ s", {"link": "log"}, DesignError, "link='log' is not known. Allowed: 'logit', 'probit'"),
    ("y ~ s", {"engine": "mll"}, DesignError, "engine='mll' is not known.*Did you mean 'ml'"),
    ("y ~ s", {"engine": "ordered"}, FitError, "fits family='cumulative', got 'binomial'. Engines for it: ml, glm"),
    ("y ~ s + (1|g)", {"engine": "glm"}, FitError, r"no random effects, and the formula has \(1\|g\)"),
    ("y ~ s", {"engine": "gee"}, FitError, "needs one term"),
    ("y ~ s + (1|g) + (1|h)", {"engine": "gee"}, FitError, "needs one term"),
    ("y ~ s + (1|g)", {"engine": "gee", "cluster": "h"}, FitError, "beside cluster='h'"),
    ("y ~ s", {"cluster": "g", "engine": "lpm"}, FitError, "takes no cluster="),
    ("y ~ s", {"engine": "gee", "cluster": "gg"}, DesignError, "'gg' is no column.*Did you mean 'g'"),
    ("y ~ s", {"reml": True}, DesignError, "reml=True is for Gaussian models"),
    ("score ~ s", {"family": "gaussian", "engine": "glm", "reml": True}, DesignError, "reml=True"),
    ("y ~ s + (1|g)", {"n_quadrature": 0}, DesignError, 'not a number of nodes. Allowed: "auto", or 1 '),
    ("y ~ s + (1|g)", {"n_quadrature": 2.5}, DesignError, "not a number of nodes"),
    ("y ~ s + (1|g)", {"n_quadrature": 101}, DesignError, "not a number of nodes"),
    ("y ~ s + (1|g) + (1|h)", {"n_quadrature": 5}, DesignError, "needs one scalar random term"),
    ("score ~ s + (1|g)", {"family": "gaussian", "n_quadrature": 5}, DesignError, "Gaussian likelihood is exact"),
    ("y ~ s + (1|g)", {"engine": "lpm", "n_quadrature": 5}, DesignError, "has no quadrature"),
    ("y ~ s", {"engine": "statsmodels", "link": "probit"}, FitError, "has link='logit', got 'probit'"),
    ("y ~ s", {"engine": "statsmodels"}, FitError, "random terms of one column each.*got: none"),
    ("y ~ s + (x|g)", {"engine": "statsmodels"}, FitError, "random terms of one column each"),
    ("y ~ s + offset(x) + (1|g)", {"engine": "statsmodels"}, FitError, "does not support an offset"),
    ("y ~ s", {"engine": "gee", "cluster": "g", "weights": "w"}, FitError, "takes no weights="),
    ("y ~ s", {"thresholds": "symmetric"}, DesignError, "family='cumulative', got 'binomial'"),
    ("verdict ~ s", {"family": "cumulative", "thresholds": "even"}, DesignError, "thresholds='even' is not known"),
    ("verdict ~ s", {"family": "cumulative", "engine": "ordered", "thresholds_by": "p"}, FitError, "free thresholds"),
    ("verdict ~ s", {"family": "cumulative", "thresholds_by": "q"}, DesignError, "'q' is no column"),
    ("verdict ~ s", {"family": "cumulative", "thresholds_by": {"midpoint": "p"}}, DesignError, "Allowed: 'threshold'"),
    ("verdict ~ s", {"family": "cumulative", "thresholds_by": 3}, DesignError, "names no column"),
    ("verdict ~ s + p", {"family": "cumulative", "thresholds_by": "p"}, DesignError, r"p\[P2\] of .* would move it too"),
    ("verdict ~ s", {"family": "cumulative", "thresholds_by": "one"}, DesignError, "always 'k' in the rows used"),
    ("score ~ s", {"family": "gaussian", "engine": "mixedlm"}, FitError, "needs a random term"),
    ("score ~ s + (1|g) + (x|h)", {"family": "gaussian", "engine": "mixedlm"}, FitError, "of one factor only"),
    # the bad input of a table
    ("y ~ one", {}, DesignError, "'one' is always 'k'.*a factor needs two levels"),
    ("y ~ s + (1|one)", {}, DesignError, "a random effect needs two levels or more"),
    ("x ~ s", {}, DesignError, "A binomial response holds 0 and 1; 'x' holds -2"),
    ("s ~ x", {}, DesignError, "A binomial response has two values; 's' has 3"),
    ("score ~ x", {"family": "poisson"}, DesignError, "A poisson response holds counts"),
    ("s ~ x", {"family": "gaussian"}, DesignError, "A gaussian response holds numbers"),
    ("verdict ~ (1|row)", {"family": "gaussian"}, JudgestatsError, "holds numbers"),
    ("score ~ s + (1|row)", {"family": "gaussian"}, DesignError, "240 random effects for 240 rows"),
    ("y ~ s + (1|row)", {"engine": "lpm"}, DesignError, "240 random effects for 240 calls"),
    ("y ~ ", {}, FormulaError, "The right side is empty"),
    (" ~ s", {}, FormulaError, "The left side is empty"),
    ("y ~ sd", {}, FormulaError, "There is no column 'sd'.*\n.*\n.*\n.*Did you mean 's'"),
    ("y ~ s + (1|item)", {}, FormulaError, "There is no column 'item'"),
    ("y ~ s", {"weights": "x"}, SchemaError, "not positive"),
    ("y ~ s", {"weights": "wt"}, DesignError, "weights='wt' is no column"),
]  # fmt: skip


@pytest.mark.parametrize(("formula", "options", "error", "says"), REFUSED)
def test_refusals_say_what_to_do(formula: str, options: dict, error: type, says: str) -> None:
    table = calls().assign(one="k", row=np.arange(240), w=1.5)
    with pytest.raises(error, match=f"(?s){says}"):
        fit(formula, table, **options)


def test_tables_that_are_none() -> None:
    table = calls()
    refused(
        SchemaError,
        (lambda: fit("y ~ s", table[:0]), DesignError, "No row is left"),
        (lambda: fit("y ~ s", table.assign(s=None)), DesignError, "240 excluded for a missing value"),
        (lambda: fit("y ~ s", 5), "data is no table"),
        (lambda: fit("y ~ s", table.assign(n=-1), counts="n"), "count of calls"),
        (lambda: fit("y ~ x", table.assign(x=np.inf)), "infinite"),
    )


def test_missing_groups_are_set_aside_and_said() -> None:
    table = calls()
    gone = table.assign(g=table["g"].where(table["g"] > 2))
    own = fit("y ~ s + (1|g)", gone)
    same(own, fit("y ~ s + (1|g)", table[table["g"] > 2]), 1e-9)
    missing = int((table["g"] <= 2).sum())
    assert own.glance()["n_missing"].iloc[0] == missing
    assert f"{missing} rows excluded" in own.glance()["flag"].iloc[0]


@pytest.mark.parametrize("origin", [100, 2020, -50_000])
@pytest.mark.parametrize("family", ["binomial", "poisson", "cumulative", "gaussian"])
@pytest.mark.parametrize("formula", ["y ~ x", "y ~ x + (1|g)"])
def test_a_number_with_a_far_origin(formula: str, family: str, origin: int) -> None:
    table = calls()
    near, far = (fit(formula, table.assign(x=table["x"] + o), family=family) for o in (0, origin))
    assert far.converged
    assert far.loglik == pytest.approx(near.loglik, abs=1e-6)
    slope, moved = (f.tidy().set_index("term").loc["x"] for f in (near, far))
    assert moved["estimate"] == pytest.approx(slope["estimate"], rel=1e-4)
    assert moved["std_error"] == pytest.approx(slope["std_error"], rel=1e-3)


# ---- booleans, and ids with colons ----------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", sorted(set(reference.results("logicals")["model"])))
def test_booleans_are_lme4s_logicals(formula):
    expected, own = reference.results("logicals", model=formula), reference.data("scores")
    found = fit(formula, own, family="gaussian")
    table = found.tidy().set_index("term")
    assert found.loglik == pytest.approx(expected.loc[expected["quantity"] == "loglik", "estimate"].item(), abs=1e-8)
    coefficients = expected[expected["quantity"] == "coefficient"]
    names = [n.replace("[TRUE]", "[True]").replace("[FALSE]", "[False]")
             for n in (reference.spelled(t, ["strategy", "cot"]) for t in coefficients["term"])]  # fmt: skip
    assert set(names) == set(found.names[: found.n_fixed])
    np.testing.assert_allclose(table.loc[names, "estimate"], coefficients["estimate"], atol=1e-6)
    np.testing.assert_allclose(table.loc[names, "std_error"], coefficients["std_error"], rtol=1e-6)
    if "||" not in formula:  # where lme4 has a singular parameter too many
        sds = expected[expected["quantity"] == "sd"]
        ours = [
            reference.spelled(t.split("|")[0], ["cot"]).replace("TRUE", "True").replace("FALSE", "False")
            for t in sds["term"]
        ]
        wanted = [f"sd({name}|{t.split('|')[1]})" for name, t in zip(ours, sds["term"], strict=True)]
        np.testing.assert_allclose(table.loc[wanted, "estimate"], sds["estimate"], rtol=1e-5)


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_booleans_with_missing_values_stay_booleans(missing):
    own = reference.data("scores")
    holes = own.assign(cot=own["cot"].astype(object).where(own.index > 9, missing))
    found = fit("score ~ 0 + cot + (1|item)", holes, family="gaussian")
    whole = fit("score ~ 0 + cot + (1|item)", own[own.index > 9], family="gaussian")
    pd.testing.assert_series_equal(found.coef(), whole.coef())
    assert found.design.rows.n_missing == 10
    new = found.predict(pd.DataFrame({"cot": [True, False], "item": ["i01", "i01"]}), random="none")
    np.testing.assert_allclose(new["estimate"], whole.coef()[["cot[True]", "cot[False]"]])


def test_ids_with_a_colon_do_not_confuse_levels():
    rng = np.random.default_rng(3)
    pairs = [("a:b", "c"), ("a", "b:c"), ("a", "c"), ("a:b", "b:c"), ("a\\", "c"), ("a", "\\:c")]
    table = pd.DataFrame([p for p in pairs for _ in range(12)], columns=["system", "item"])
    table["score"] = rng.normal(size=len(table)) + np.repeat(rng.normal(0, 3, len(pairs)), 12)
    found = fit("score ~ 1 + (1|system:item)", table, family="gaussian", reml=True)
    plain = table.assign(both=table.groupby(["system", "item"]).ngroup().map("g{}".format))
    other = fit("score ~ 1 + (1|both)", plain, family="gaussian", reml=True)
    assert found.loglik == pytest.approx(other.loglik)
    effects = found.random_effects()
    assert effects["level"].is_unique
    assert set(effects["level"]) == {"a\\:b:c", "a:b\\:c", "a:c", "a\\:b:b\\:c", "a\\\\:c", "a:\\\\\\:c"}
    ours, expected = found.predict(table)["estimate"], other.predict(plain)["estimate"]
    np.testing.assert_allclose(ours, expected, rtol=1e-8)
    assert not found.predict(table)["flag"].str.contains("new level").any()


BOTH = r'counts="n".*counts=False'

CALLS = pd.DataFrame({"y": np.arange(400) // 3 % 2, "x": np.arange(400) % 7, "n": np.arange(400) % 10})

ENGINES = {"pandas": lambda t: t, "polars": pl.from_pandas, "lazy": lambda t: pl.from_pandas(t).lazy()}


@pytest.mark.parametrize("engine", ENGINES)
def test_an_undeclared_whole_number_column_is_refused(engine):
    frame = ENGINES[engine](CALLS)
    with pytest.raises(SchemaError, match=BOTH):
        js.fit("y ~ x", frame)
    assert js.fit("y ~ x", frame, counts=False).n == 400
    assert js.fit("y ~ x", frame, counts="n").n == CALLS["n"].sum()
    assert js.fit("y ~ x + n", frame).n == 400
    assert js.fit("y ~ x", frame.rename(columns={"n": "n_identical"}) if engine == "pandas" else
                  frame.rename({"n": "n_identical"})).glance()["counts"].tolist() == ["n_identical"]  # fmt: skip


def test_a_constant_five_does_not_divide_errors():
    plain = js.fit("y ~ x", CALLS.drop(columns="n")).tidy()["std_error"]
    with pytest.raises(SchemaError, match=BOTH):
        js.fit("y ~ x", CALLS.assign(n=5))
    told = js.fit("y ~ x", CALLS.assign(n=5), counts="n").tidy()["std_error"]
    np.testing.assert_allclose(told, plain / np.sqrt(5), rtol=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_count_nothing_are_in_the_account(engine):
    found = js.fit("y ~ x", ENGINES[engine](CALLS), counts="n").check().set_index("what")["n"]
    assert found["count is zero"] == 40
    assert found["rows excluded"] == 40


def test_a_fraction_is_no_count_unless_it_is_said():
    half = CALLS.assign(n=CALLS["n"] + 0.25)
    assert js.fit("y ~ x", half).n == 400
    with pytest.raises(SchemaError, match="not whole"):
        js.fit("y ~ x", half, counts="n")


def test_means_have_runs():
    means = pd.DataFrame({"mean": [3.0, 4.0, 5.0, 4.5], "sd": 1.0, "n": [10, 12, 9, 8], "s": list("aabb")})
    refused(
        SchemaError,
        ({}, "may be runs: weights="),
        ({"counts": "n"}, DesignError, "Did you mean runs"),
        of=lambda arguments: js.fit("mean ~ s", means, family="gaussian", **arguments),
    )
    js.fit("mean ~ s", means.rename(columns={"n": "runs"}), family="gaussian", weights="runs")


def test_a_wrong_counts_argument_is_named():
    refused(
        DesignError,
        ("m", r"counts='m' is not a column\. Columns: y, x, n\."),
        ("x", "in the model too"),
        (True, "neither a column nor False"),
        of=lambda counts: js.fit("y ~ x", CALLS, counts=counts),
    )


def test_update_keeps_the_counts():
    fit = js.fit("y ~ x", CALLS, counts="n")
    assert fit.update("y ~ 1").n == fit.n


# ---- tables of counts -----------------------------------------------------------------------------------------------

RIGHT = pd.DataFrame(
    {"judge": "g", "strategy": ["B0", "B0", "S8", "S8"], "correct": [1, 0, 1, 0], "n": [60, 40, 80, 20]}
)

LEAN = pd.DataFrame({"judge": "g", "outcome": ["target", "other", "tie"], "n": [20, 10, 5]})

STEPS = pd.DataFrame({"judge": "g", "delta": [1, 1, 2, 2], "outcome": ["correct", "wrong"] * 2, "n": [30, 12, 40, 2]})

CUES = pd.DataFrame(
    {"judge": "g", "probe": ["blind"] * 2 + ["truth"] * 2, "outcome": ["x", "y"] * 2, "n": [9, 8, 7, 6]}
)

SCORES = pd.DataFrame({"judge": ["g", "h"], "score": [0.35, 0.4], "n": [20, 20]})


TABLES = {
    "strategy_effects": (lambda t: js.models.strategy_effects(t, baseline="B0"), RIGHT),
    "strategies": (lambda t: strategy_counts.read(t, "B0", "judge", "strategy", "item", "exact", "drop"), RIGHT),
    "tie_model": (
        lambda t: js.models.tie_model(t, by=None),
        pd.concat([STEPS, STEPS.assign(outcome="tie", n=5).iloc[[0, 2]]]),
    ),
    "psychometric": (lambda t: ladders.ladder(t, None, None, None), STEPS),
    "bias": (target_counts.read, LEAN),
    "bias from scores": (target_counts.read, SCORES),
    "susceptibility": (lambda t: cue_counts.outcomes(t, "blind"), CUES),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_a_models_own_columns_is_taken_and_another_column_refused(name):
    call, table = TABLES[name]
    call(table)
    with pytest.raises(SchemaError, match="'tokens'"):
        call(table.assign(tokens=range(len(table))))


VERBS = [n for n, f in inspect.getmembers(Fit, inspect.isfunction) if not n.startswith("_") and n in vars(Fit)]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str) -> None:
    text = inspect.getdoc(getattr(Fit, verb)) or ""
    assert "Returns\n-------" in text
    for name in inspect.signature(getattr(Fit, verb)).parameters:
        assert name == "self" or re.search(rf"^[\w*, ]*\b{name}\b.*( : |$)", text, re.MULTILINE), f"{verb}({name}=)"


def test_frames_have_a_type() -> None:
    public = [f for m in (package, hierarchical) for n in m.__all__ if inspect.isfunction(f := getattr(m, n))]
    for function in (f for f in public if f is not package.anova):
        own = list(inspect.signature(function).parameters.values())
        assert "IntoFrame" in str(own[function is package.fit].annotation), function.__name__
