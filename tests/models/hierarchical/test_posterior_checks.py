"""Checks of a posterior: priors, chains, flags and their advice."""

from __future__ import annotations

import re
from inspect import signature

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.flags import (
    CONFLICT,
    CRITERIA_TOGETHER,
    DIVERGENT,
    FEW_EFFECTIVE,
    FEW_JUDGES,
    HEAVY,
    NOT_MIXED,
    ONE_LEVEL_OF,
    ONE_SCORE,
    PRIOR_DRIVEN,
)
from judgestats.models.bayes.draws import Draws, mixing_flags
from judgestats.models.hierarchical.posterior_checks import conflicts, convergence, finding, flagged, of_prior
from judgestats.models.hierarchical.posteriors import row
from models.posterior_draws import PRIORS, normal_draws, posterior

pytest.importorskip("arviz_stats")


H = js.hierarchical


def test_flags_of_a_prior():
    flags = [
        of_prior(d.values["x"], d)
        for d in (normal_draws(10, 1, 0.3), normal_draws(1, 1, 0.8), normal_draws(0.2, 3, 0.3))
    ]
    assert flags == ["", "prior-driven", "prior and data disagree; prior-driven"]
    told = conflicts(normal_draws(0.2, 3, 0.3))
    assert told[0]["what"] == "tail area of x under its prior"
    assert told[0]["flag"] == "prior and data disagree"
    assert "priors=" in told[0]["remedy"]
    assert conflicts(normal_draws(10, 1, 0.3))[0]["flag"] == ""


def test_a_remedy_stands_only_beside_a_flag():
    assert finding("x", 1.0, "", "Do.")["remedy"] == ""
    assert finding("x", 1.0, "one score")["remedy"] == ONE_SCORE.explanation
    assert finding("x", 1.0, "one score", "Do.")["remedy"] == "Do."


def test_no_remedy_names_an_option_that_no_function_has():
    own = [
        PRIOR_DRIVEN,
        CONFLICT,
        NOT_MIXED,
        FEW_EFFECTIVE,
        DIVERGENT,
        HEAVY,
        FEW_JUDGES,
        CRITERIA_TOGETHER,
        ONE_LEVEL_OF,
    ]
    options = {w for flag in own for w in re.findall(r"(\w+)=", flag.explanation)}
    functions = [getattr(H, f) for f in H.__all__ if f != "Posterior"]
    known = {name for f in functions for name in signature(f).parameters}
    assert options - known == set()
    assert "target_accept" not in " ".join(flag.explanation for flag in own)


@pytest.mark.parametrize(
    ("flag", "part"),
    [("no judge scored itself", "identity="), ("1 missing score excluded", "refuses"), ("one score", "more"),
     ("sds of zero replaced by the pooled sd", "temperature"), ("prior-driven", "priors="),
     ("3 invalid calls excluded", "like the rest"), ("one level of criterion", "facets=")],
)  # fmt: skip
def test_flags_with_a_remedy(flag, part):
    found = posterior(2, f"{flag}; another")
    checks = found.check().set_index("what")
    assert checks.loc[f"2 estimates: {flag}", "value"] == 2
    assert part in checks.loc[f"2 estimates: {flag}", "remedy"]
    assert checks.loc["2 estimates: another", "remedy"] == ""
    assert flag in repr(found)
    assert "cautions: none" not in repr(found)


def test_chains_have_r_hat_and_importance_has_weights():
    values = {"a": np.random.default_rng(0).normal(size=(2, 50))}
    chains = convergence(Draws(values, {"a": ()}, 3, "NUTS"), PRIORS)
    assert [c["what"] for c in chains] == ["largest R-hat", "smallest ESS", "divergences"]
    assert "sd_item" in chains[2]["remedy"]
    assert "mean" not in chains[2]["remedy"]
    assert "'draws': 2000" in chains[1]["remedy"]
    heavy = convergence(Draws(values, {"a": ()}, 0, "", pareto_k=0.9, importance_ess=30.0), PRIORS, "ICC(1,1)")
    assert [c["what"] for c in heavy] == ["Pareto k of the importance weights (ICC(1,1))", "importance ESS (ICC(1,1))"]
    assert [bool(c["flag"] and c["remedy"]) for c in heavy] == [True, True]
    sound = convergence(Draws(values, {"a": ()}, 0, "", pareto_k=0.1, importance_ess=900.0), PRIORS)
    assert [c["flag"] + c["remedy"] for c in sound] == ["", ""]


def test_a_flag_is_told_once():
    values, few = np.random.default_rng(0).normal(size=(2, 40)), "fewer than 400 effective draws"
    chains, weighted = Draws({}, {}, 0, "NUTS"), Draws({}, {}, 0, "", pareto_k=0.1, importance_ess=900.0)
    made = row("x", values, chains, conf_level=0.9, n=1, flag=f"one score; {few}")
    assert made["flag"].count(few) == 1
    assert row("x", values, weighted, conf_level=0.9, n=1)["flag"] == ""
    assert flagged(pd.DataFrame({"flag": ["a; a", "a; b", ""]}))[0]["what"] == "2 estimates: a"


def test_flags_of_chains_that_have_not_mixed():
    assert mixing_flags(1.0, 900.0) == ""
    assert mixing_flags(1.2, 90.0) == "chains have not mixed; fewer than 400 effective draws"
