"""What a posterior says against itself: flags, remedies, its summary; and tables that cannot be right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.models.bayes import priors
from judgestats.models.bayes.centred_priors import CentredPrior, prior_of
from judgestats.models.bayes.draws import TopParameter
from judgestats.models.bayes.replicates import replicates
from judgestats.models.hierarchical import score_components
from judgestats.models.hierarchical.cue_counts import outcomes
from models.posterior_draws import normal_draws
from refusals import refused

pytest.importorskip("arviz_stats")


H = js.hierarchical


def means(conditions=("",), **columns):
    rows = [(c, j, s) for c in conditions for j in "abcd" for s in "abcd"]
    table = pd.DataFrame(rows, columns=["condition", "judge", "system"])
    table["mean"] = 6 + np.random.default_rng(0).normal(size=len(table)).round(2)
    return table.assign(**({"sd": 0.5, "runs": 10} | columns))


@pytest.mark.parametrize(("scale", "mean", "error"), [(1.0, 3.0, 0.5), (2.0, 1.0, 0.3), (0.5, -2.0, 1.0)])
def test_the_tail_area_is_that_of_the_prior_predictive(scale, mean, error):
    """Normal mean, normal prior: Evans and Moshonov's tail area is that of normal(0, scale^2 + error^2)."""
    exact = 2 * stats.norm.sf(abs(mean) / np.hypot(scale, error))
    assert normal_draws(scale, mean, error).top_parameters[0].tail == pytest.approx(exact, rel=0.02)


def test_tail_areas_are_uniform_where_the_prior_made_the_data():
    rng = np.random.default_rng(4)
    tails = [normal_draws(1.0, rng.normal(0, np.hypot(1.0, 0.7)), 0.7, 400).top_parameters[0].tail for _ in range(500)]
    assert stats.kstest(tails, "uniform").pvalue > 0.01


def test_only_a_large_sd_contradicts_its_prior():
    """A half-normal prior of scale 1: an sd about 5 does, one about 0 does not."""
    noise = np.random.default_rng(1).normal(0, 0.02, (4, 500))
    prior = CentredPrior(1.0, None, half=True)
    assert TopParameter("sd", 5 + noise, prior).tail < 1e-6
    assert TopParameter("sd", np.abs(noise), prior).tail > 0.9
    assert CentredPrior(2.0, 3.0, half=True).place(np.array([2.0]))[0] == pytest.approx(
        stats.norm.ppf(2 * stats.t.cdf(1.0, 3) - 1)
    )


def test_sensitivity_is_that_of_arviz_and_moves_as_the_formula_says():
    """Against arviz-stats' psense; and a prior that is felt moves the mean by known x (1 - known) x mean x ln 2."""
    arviz_base = pytest.importorskip("arviz_base")
    arviz_stats = pytest.importorskip("arviz_stats")
    draws = normal_draws(1.0, 1.5, 0.6)
    groups = {"posterior": draws.values, "log_prior": {"x": draws.top_parameters[0].log_prior}}
    tree = arviz_base.from_dict(groups | {"log_likelihood": {"x": draws.log_likelihood}})
    theirs = [float(arviz_stats.psense(tree, group=g)["x"]) for g in ("prior", "likelihood")]
    assert draws.sensitivity(draws.values["x"]) == pytest.approx(theirs, rel=1e-6)
    assert theirs[0] > 0.05 < theirs[1]
    assert normal_draws(10.0, 1.5, 0.6).sensitivity(normal_draws(10.0, 1.5, 0.6).values["x"])[0] < 0.01
    assert np.isnan(replace(draws, log_likelihood=None).sensitivity(draws.values["x"])).all()


def test_an_icc_and_its_check_are_of_the_same_draws(monkeypatch):
    """ICC(1,1) comes of a model of its own, whose weights may be heavy where those of the other are not."""
    whole = score_components.posterior

    def heavy_alone(data, *args, **options):
        found = whole(data, *args, **options)
        return replace(found, pareto_k=-0.5 if "judge" in data.codes else 0.9, importance_ess=900.0)

    monkeypatch.setattr(score_components, "posterior", heavy_alone)
    rng, keys = np.random.default_rng(4), [(j, "s", i) for j in "abc" for i in range(6)]
    table = pd.DataFrame(keys, columns=["judge", "system", "item"]).assign(score=rng.normal(size=18))
    found = H.agreement(table, sampling={"draws": 200})
    checks = found.check().set_index("what")
    heavy = found.table["flag"].str.contains("Pareto k above 0.7")
    assert found.table.loc[heavy, "term"].tolist() == ["ICC(1,1)"]
    assert checks.loc["Pareto k of the importance weights", ["value", "flag"]].tolist() == [-0.5, ""]
    assert checks.loc["Pareto k of the importance weights (ICC(1,1))", "value"] == 0.9
    assert "draws" in checks.loc["Pareto k of the importance weights (ICC(1,1))", "remedy"]


def test_dir_has_the_functions_only():
    assert dir(H) == sorted(H.__all__)


def test_zero_sds():
    found = H.severity(means(sd=0.0).drop(columns="condition"), sampling={"draws": 50})
    assert found.table["flag"].str.contains("all sds zero").all()
    assert "all sds zero" in repr(found)
    some = means().drop(columns="condition")
    some.loc[2, "sd"] = 0.0
    told = H.severity(some, sampling={"draws": 50}).check()
    assert told["flag"].str.contains("sds of zero replaced").any()
    unknown = H.severity(some.drop(columns=["sd", "runs"]), sampling={"draws": 50})
    assert unknown.table["flag"].str.contains("noise unknown").all()


def test_conditions_of_other_names():
    table = means(("open", "hidden"))
    told = H.severity(table, sampling={"draws": 50}).check().set_index("what").loc["conditions"]
    assert told["flag"] == "no blinding effect: conditions not named"
    assert "baseline=" in told["remedy"]
    assert "hidden, open" in told["remedy"]
    named = H.severity(table, baseline="open", blinded="hidden", sampling={"draws": 50})
    assert "conditions" not in set(named.check()["what"])
    assert "attenuation" in set(named.table["term"])


def test_names_that_do_not_match():
    table = means().drop(columns="condition").replace({"system": {s: f"model {s}" for s in "abcd"}})
    found = H.severity(table, sampling={"draws": 50})
    assert "self_preference" not in set(found.table["term"])
    told = found.check().set_index("flag").loc["no judge scored itself"]
    assert "identity=" in told["remedy"]
    assert "no judge scored itself" in repr(found)


CUE = pd.DataFrame([("g", p, o, 10) for p in ("blind", "t") for o in "xy"], columns=["judge", "probe", "outcome", "n"])


ARMS = pd.DataFrame({"judge": [*"AABB"], "strategy": ["B0", "S8"] * 2, "n": 100, "k": [60, 70, 55, 57]})


STEPS = pd.DataFrame([("g", 1.0, o, 12) for o in ("correct", "wrong")], columns=["judge", "delta", "outcome", "n"])


LEAN = pd.DataFrame([("g", o, 12) for o in ("target", "other")], columns=["judge", "outcome", "n"])


def test_an_unknown_scheme_is_refused_where_there_is_one():
    assert outcomes(CUE, "blind").compared() == []
    assert outcomes(CUE.assign(scheme="SCoT"), "blind").compared("SCoT") == []
    refused(
        DesignError,
        (lambda: H.susceptibility(CUE, favoured="x", against="PBP"), "has no scheme"),
        (lambda: H.susceptibility(CUE.assign(scheme="SCoT"), favoured="x", against="PBP"), "It has: SCoT"),
        (
            lambda: outcomes(pd.concat([CUE.assign(scheme=s) for s in "ab"]), "blind").compared(),
            "'Baseline' is not in 'scheme'",
        ),
    )


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: H.strategies(ARMS.drop(columns="k").assign(accuracy=0.6), baseline="B0"), SchemaError, "'k'.*accuracy"),
        (lambda: H.strategies(ARMS.assign(n=[0, 100, 100, 100], k=[0, 70, 55, 57]), baseline="B0"), SchemaError,
         "A, B0 has n = 0: .*leave the row out"),
        (lambda: H.strategies(ARMS.assign(k=[60, 70.5, 55, 57]), baseline="B0"), SchemaError,
         r"1 of 4 rows \(first: judge=A, strategy=S8, k=70.5\)"),
        (lambda: H.strategies(ARMS.assign(n=0.5), baseline="B0"), SchemaError, "n=0.5"),
        (lambda: H.psychometric(STEPS.rename(columns={"delta": "d"})), DesignError, r"no column 'delta'.*psychometric\(\)"),
        (lambda: H.psychometric(STEPS.drop(columns=["delta", "outcome"]).assign(choice="first")), DesignError, "'better'"),
        (lambda: H.psychometric(STEPS.assign(n=0.5)), SchemaError, "not whole in 2 of 2 rows"),
        (lambda: H.bias(LEAN.assign(outcome="foo")), SchemaError, "'outcome' has 'foo'. Allowed: target, other, tie"),
        (lambda: H.bias(LEAN.drop(columns="outcome")), SchemaError, "neither preferences"),
        (lambda: H.bias(LEAN.assign(n=[3, 0.5])), SchemaError, r"first: row 1 of the data, from 0, 0.5"),
        (lambda: H.susceptibility(CUE.assign(n=0.5), favoured="x"), SchemaError, "not whole in 4 of 4 rows"),
    ],
)  # fmt: skip
def test_a_message_names_what_is_wrong(call, error, told):
    with pytest.raises(error, match=told) as caught:
        call()
    assert "tie_model" not in str(caught.value)


@pytest.mark.parametrize(
    ("judges", "items", "score", "told"),
    [("ab", 3, 5.0, "All scores are the same"), ("a", 3, None, "two raters"), ("ab", 1, None, "two subjects")],
)
def test_agreement_says_what_is_lacking(judges, items, score, told):
    rows = [(j, "s", i, score or i + ord(j)) for j in judges for i in range(items)]
    found = H.agreement(pd.DataFrame(rows, columns=["judge", "system", "item", "score"]))
    assert told in found.check()["remedy"].iloc[0]
    assert f"{items} subject{'s' * (items > 1)}, {len(judges)} judge" in found.check()["what"].iloc[0]


@pytest.mark.parametrize("engine", ["ml", "pymc"])
def test_fractions_are_no_counts(engine):
    table = pd.DataFrame({"s": [*"aabb"], "correct": [0, 1, 0, 1], "n": [0.5, 1, 2, 3]})
    with pytest.raises(SchemaError, match=r"first: correct=0, s=a, n=0.5.*weights="):
        js.fit("correct ~ s", table, counts="n", engine=engine)


def test_a_tie_may_be_half_a_vote_for_each_answer():
    table = pd.DataFrame({"s": [*"aabb"], "correct": [0, 1, 0, 1], "n": [2.5, 1.5, 2, 3]})
    assert js.fit("correct ~ s", table, counts="n").n == 9
    rounded = table.assign(n=[0.1 * 30, 2, 2, 3])  # 3.0000000000000004
    assert js.fit("correct ~ s", rounded, counts="n").n == pytest.approx(10)


def test_more_successes_than_trials_name_the_row():
    table = pd.DataFrame({"s": [*"aabb"], "k": [5, 1, 2, 12], "n": 10})
    with pytest.raises(DesignError, match=r"holds -2, in 1 of 4 distinct rows \(first: k=12, n=10, s=b\)"):
        js.fit("cbind(k, n - k) ~ s", table)


def test_an_observed_value_outside_of_its_replicates_is_flagged():
    cells = pd.DataFrame({"judge": ["a", "b"], "outcome": "tie"})
    replicated = np.array([[0.0, 2.0], [2.0, 4.0]])
    made = replicates(cells, np.array([1.0, 9.0]), replicated, np.full(2, 10.0), kind="prior")
    assert made[["judge", "observed", "estimate", "inside", "flag"]].to_numpy().tolist() == [
        ["a", 1.0, 1.0, True, ""],
        ["b", 9.0, 3.0, False, "outside the 95 % predictive interval"],
    ]


def test_quantiles_and_words_of_priors():
    normal = priors.Prior("x", "normal", 0.0, 2.5, "")
    np.testing.assert_allclose(normal.quantile([0.025, 0.975]), [-4.9, 4.9], atol=5e-3)
    words = str(prior_of(0.5, "sd(item)", half=True)), str(prior_of((2.5, 3), "x", half=False))
    assert words == ("half-normal(0.5)", "t(3, 2.5)")
