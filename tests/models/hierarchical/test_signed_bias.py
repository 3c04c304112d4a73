"""Signed bias with its tie rate: counts, printed scores, what is pooled, and what contradicts itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import multinomial

from judgestats.errors import DesignError
from judgestats.metrics.bias import bias_score
from judgestats.models.hierarchical.signed_bias import PRIORS, bias, model, observed, prior_draw
from judgestats.models.hierarchical.target_counts import read
from judgestats.published import load
from models.printed_counts import outcome_counts, table7, table8
from refusals import refused

FEW = {"draws": 300, "tune": 400, "chains": 2, "progress": False}


def _table9():
    table = load("debiasing/table9")
    rows = []
    for r in table[table["rater"] != "Aggregate"].itertuples():
        target, other = round(float(r.markdown) * int(r.n)), round(float(r.prose) * int(r.n))
        rows += [(r.rater, o, k) for o, k in (("target", target), ("other", other), ("tie", int(r.n) - target - other))]
    return pd.DataFrame(rows, columns=["judge", "outcome", "n"])


def test_a_score_is_the_sum_over_all_splits():
    """P(net = d) of 12 calls by the splits and weights that the model is given, against every multinomial outcome."""
    p = np.array([0.5, 0.2, 0.3])
    every = [(t, o, 12 - t - o) for t in range(13) for o in range(13 - t)]
    for net in (-12, -3, 0, 5, 12):
        table = pd.DataFrame({"judge": "g", "score": [round(net / 12, 2)], "n": [12]})
        given = observed(read(table))
        found = np.exp(given["weight"][0] + given["split"][0] @ np.log(p)).sum()
        assert found == pytest.approx(sum(multinomial.pmf(x, 12, p) for x in every if x[0] - x[1] == net), rel=1e-9)


def test_options():
    refused(
        DesignError,
        ({"margin": 2}, "margin"),
        ({"invalid": "wrong"}, "invalid"),
        ({"priors": {"sd_share": 0}}, "positive finite"),
        of=lambda options: bias(outcome_counts(1, 2, 3), **options),
    )


def test_prior_draws_have_the_design():
    cells = read(table7())
    values, drawn = prior_draw(cells, PRIORS, np.random.default_rng(0))
    assert {"mean_share", "sd_judge_share", "judge_topic_share", "judge_decisive"} <= set(values)
    assert "topic_decisive" not in values
    assert (np.abs(drawn.counts[:, 0]) <= 20).all()
    assert np.array_equal(drawn.n, cells.n)


@pytest.mark.slow
def test_the_density_is_the_multinomial():
    """The potential of the PyMC model against scipy's multinomial at two points."""
    pytest.importorskip("pymc")
    table = pd.concat(
        [
            outcome_counts(12, 5, 3, topic="m"),
            outcome_counts(4, 9, 7, topic="c"),
            outcome_counts(6, 0, 2, "h", topic="c"),
        ]
    )
    cells = read(table)
    made = model(cells, PRIORS)
    evaluate = made.compile_logp(vars=made.potentials)
    rng = np.random.default_rng(3)
    for _ in range(2):
        point = {v.name: rng.normal(0, 0.5, made.initial_point()[v.name].shape) for v in made.value_vars}
        rate = {}
        for half in ("share", "decisive"):
            total = point[f"mean_{half}"] + np.zeros(3)
            for term, (at, _) in cells.terms.items():
                total = total + np.exp(point[f"sd_{term}_{half}_log__"]) * point[f"raw_{term}_{half}"][at]
            rate[half] = expit(total)
        s, d = rate["share"], rate["decisive"]
        p = np.stack([d * s, d * (1 - s), 1 - d], axis=-1)
        want = sum(multinomial.logpmf(c, c.sum(), q) for c, q in zip(cells.counts, p, strict=True))
        assert float(evaluate(point)) == pytest.approx(want, abs=1e-8)


@pytest.mark.slow
def test_table_7_topics():
    pytest.importorskip("pymc")
    fit = bias(table7(), sampling=FEW)
    inside = fit.checks.set_index("what")["value"]["target minus other inside the 95 % predictive"]
    assert inside == 1
    table = fit.table.set_index(["judge", "term"])
    printed = table7().groupby("judge")["score"].mean()
    for judge, b in printed.items():
        assert table.loc[(judge, "bias"), "conf_low"] < b < table.loc[(judge, "bias"), "conf_high"]
        assert "taken as equal over topics; prior-driven" in table.loc[(judge, "tie"), "flag"]
    driven = table.loc[[(judge, "bias") for judge in printed.index], "flag"].str.contains("prior-driven")
    assert driven.sum() <= 1  # so few draws leave the sensitivity to the prior noisy
    assert table.loc[("Gemini 2.5 Pro", "P(|bias| > 0.1)"), "estimate"] > 0.99
    assert table.loc[("GPT-4o", "P(|bias| > 0.1)"), "estimate"] < 0.95
    one, several = table.loc[("new judge", "bias"), "std_error"], table.loc[("all judges", "bias"), "std_error"]
    assert one > 3 * several


@pytest.mark.full
@pytest.mark.slow
def test_table_8_strategies_as_conditions():
    pytest.importorskip("pymc")
    fit = bias(table8(), by="strategy", sampling=FEW)
    assert fit.checks.set_index("what")["value"]["target minus other inside the 95 % predictive"] == 1
    b = fit.table[fit.table["term"] == "bias"].set_index(["strategy", "judge"])["estimate"]
    assert b["B0", "Llama 3.3-70B"] > b["B0", "Claude Sonnet 4"]
    assert b["S8", "all judges"] > b["B0", "all judges"]


@pytest.mark.slow
@pytest.mark.full
def test_table_9_raters():
    pytest.importorskip("pymc")
    fit = bias(_table9(), sampling=FEW)
    inside = fit.checks[fit.checks["what"].str.contains("inside")]
    assert len(inside) == 3
    assert (inside["value"] == 1).all()
    tie = fit.table[fit.table["term"] == "tie"].set_index("judge")["estimate"]
    assert tie.drop(["all judges", "new judge"]).idxmax() == "Llama 3.3-70B"


@pytest.mark.full
@pytest.mark.slow
def test_flat_priors_and_many_calls_are_the_shares():
    pytest.importorskip("pymc")
    counts = outcome_counts(5200, 3100, 1700)
    fit = bias(counts, priors={"mean_share": 10, "mean_decisive": 10}, sampling=FEW)
    plain = bias_score(counts).set_index("term")
    table = fit.table.set_index("term")
    for term in ("bias", "tie"):
        error = plain.loc[term, "conf_high"] - plain.loc[term, "conf_low"]
        assert table.loc[term, "estimate"] == pytest.approx(plain.loc[term, "estimate"], abs=0.05 * error)
        width = table.loc[term, "conf_high"] - table.loc[term, "conf_low"]
        assert width == pytest.approx(error, rel=0.15)
    assert table.loc["mean_share", "estimate"] == pytest.approx(logit(5200 / 8300), abs=0.01)
