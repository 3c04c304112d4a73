"""Psychometric functions: recovery, agreement with maximum likelihood, the published counts, and bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from judgestats.errors import DesignError, SchemaError
from judgestats.models.bias_models.ties import tie_model
from judgestats.models.hierarchical import curves
from judgestats.models.hierarchical.curves import LAPSE_CENTRE, MOST_LAPSE
from judgestats.models.hierarchical.ladders import ladder, shares
from judgestats.published import paper_tables
from metrics.tables import cell
from models.ladder_calls import TRUTH, calls_of, small_ladder

pytest.importorskip("pymc")


FEW = {"draws": 300, "tune": 500, "chains": 2, "progress": False}


@pytest.fixture(scope="module")
def published():
    return curves.psychometric(paper_tables.criterion_counts(), by="prompt", baseline="base", sampling=FEW)


@pytest.mark.slow
def test_printed_counts_inside_the_predictive(published):
    inside = published.checks[published.checks["what"].str.contains("predictive")]
    assert len(inside) == 4
    assert (inside["value"] == 1).all()


@pytest.mark.slow
def test_two_links_and_two_priors(published):
    keys = published.table[["link", "prior"]].drop_duplicates()
    assert {*map(tuple, keys.to_numpy())} == {(a, b) for a in ("logit", "probit") for b in ("stated", "wider")}


@pytest.mark.slow
@pytest.mark.parametrize("term", ["lapse", "slot_bias", "slot_bias_sign"])
def test_what_printed_counts_do_not_tell_is_prior_driven(published, term):
    rows = published.table[published.table["term"] == term]
    assert len(rows) == 8
    assert rows["flag"].str.contains("prior-driven").all()


@pytest.mark.slow
def test_the_threshold_below_the_first_step_is_prior_driven(published):
    rows = published.table[(published.table["term"] == "threshold") & (published.table["prompt"] == "base")]
    assert (rows["estimate"] < 1).all()  # 94 of 100 at the first step
    assert rows["flag"].str.contains("left-censored; prior-driven").all()
    strict = published.table[(published.table["term"] == "threshold") & (published.table["prompt"] == "strict")]
    assert ((strict["estimate"] > 1) & (strict["estimate"] < 5)).all()  # 50 of 100 at 1, 20 of 20 at 5
    logit = strict[(strict["link"] == "logit") & (strict["prior"] == "stated")]
    assert logit["flag"].str.contains("the form of the curve decides").all()


@pytest.mark.slow
def test_the_criterion_moved_more_whatever_link_and_prior(published):
    rows = published.table[published.table["term"] == "probability_criterion_moved_more"]
    assert len(rows) == 4
    assert (rows["estimate"] > 0.9).all()
    criterion, resolution = (
        published.table[published.table["term"] == f"log_{k}_ratio"] for k in ("criterion", "resolution")
    )
    assert (criterion["conf_low"] > 0).all()
    assert (resolution["conf_low"] < 0).all()  # not told from none
    assert resolution["flag"].str.contains("prior-driven").all()


@pytest.fixture(scope="module")
def planted():
    calls = calls_of(np.random.default_rng(3), TRUTH, (0, 1, 2, 3, 4, 6, 9), 200, TRUTH)
    return calls, curves.psychometric(calls, links="logit", wider=False, sampling=FEW)


@pytest.mark.slow
@pytest.mark.parametrize(("k", "term"), [(0, "slope"), (1, "criterion"), (2, "slot_bias"), (3, "lapse")])
def test_planted_values_are_found(planted, k, term):
    rows = planted[1].table[planted[1].table["term"] == term].set_index("judge")
    true = np.array([TRUTH[j][k] for j in rows.index])
    assert (np.abs(rows["estimate"] - true) < 3.3 * rows["std_error"]).all()
    assert (rows["std_error"] < {"slope": 0.15, "criterion": 0.15, "slot_bias": 0.15, "lapse": 0.03}[term]).all()
    if term != "lapse":
        assert not rows["flag"].str.contains("prior-driven").any()


@pytest.mark.slow
def test_the_threshold_is_where_three_quarters_are_right(planted):
    for judge, (s, c, b, lapse) in TRUTH.items():
        x = np.linspace(0, 20, 200001)
        right = (1 - lapse) * (expit(s * x + b - c) + expit(s * x - b - c)) / 2 + lapse / 3
        made = cell(planted[1].table, "threshold", judge=judge)
        assert made["conf_low"] - 0.1 < x[np.argmax(right >= 0.75)] < made["conf_high"] + 0.1


@pytest.mark.slow
def test_flat_priors_and_many_calls_give_the_maximum_of_the_likelihood():
    """Without lapses and with one judge it is the cumulative model with symmetric thresholds."""
    truth = {"g": (0.9, 1.1, 0.4, 0.0)}
    calls = calls_of(np.random.default_rng(8), truth, (0, 1, 2, 3), 1500, truth)
    flat = {"slope": 10.0, "criterion": 10.0, "bias": 10.0, "lapse": 1e-3}
    found = curves.psychometric(calls.assign(prompt="p"), links="logit", wider=False, priors=flat, sampling=FEW)
    # a lapse of 3 % is the centre of its prior, far from here: compare with the lapse put in by brute force
    plain = tie_model(calls, by=None, links="logit", content=False).table.set_index("term")["estimate"]
    best = brute(calls, MOST_LAPSE / (1 + np.exp(-LAPSE_CENTRE)))
    for k, term in enumerate(("slope", "criterion", "slot_bias")):
        made = cell(found.table, term)
        assert abs(made["estimate"] - best[k]) < 0.25 * made["std_error"]
    without = brute(calls, 0.0)
    np.testing.assert_allclose(without, plain[["resolution", "criterion", "slot bias"]], atol=1e-3)


def brute(calls, lapse):
    from scipy.optimize import minimize

    data = ladder(calls, None, None, None)

    def loss(t):
        p = shares(data, np.full((1, 1), np.exp(t[0])), np.full((1, 1), np.exp(t[1])), np.full((1, 1), t[2]),
                   np.full(1, lapse))  # fmt: skip
        return -(data.counts[:, :3] * np.log(p)).sum()

    t = minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9, "maxiter": 4000}).x
    return [np.exp(t[0]) / data.unit, np.exp(t[1]), t[2]]


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("folded", [False, True])
def test_model_and_numpy_have_one_likelihood(link, folded):
    """A model that was built for the other link and other priors, and given these."""
    import pymc as pm

    data = small_ladder(folded, link)
    built = curves.model(replace(data, link="probit" if link == "logit" else "logit"), {"slope": 5.0, "bias": 3.0})
    with built:
        pm.set_data(curves.model_data(data))
    rng = np.random.default_rng(4)
    point = {k: rng.normal(size=np.shape(v)) * 0.4 for k, v in built.initial_point().items()}
    names = ["slope", "criterion", "bias", "lapse"]
    outputs = built.replace_rvs_by_values([*(built[n] for n in names), built.potentials[0]])
    f = built.compile_fn(outputs, inputs=built.value_vars, point_fn=True, mode="FAST_COMPILE")
    *values, found = f(point)
    p = shares(data, *values)
    either = data.counts[:, 3] * np.log(p[:, 0] + p[:, 2])
    assert float(found) == pytest.approx((data.counts[:, :3] * np.log(p)).sum() + either.sum(), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("folded", [False, True])
def test_prior_draw_is_the_prior_of_the_model(folded):
    """Quantiles of log slope, log criterion, bias and lapse, and of their change, by NumPy and by PyMC."""
    import pymc as pm

    data = small_ladder(folded)
    rng = np.random.default_rng(0)
    mine = [curves.prior_draw(data, {"slope": 0.8}, rng) for _ in range(4000)]
    assert all((counts.sum(axis=1) == 20).all() for _, counts in mine)
    names = ["slope", "criterion", "bias", "lapse"]
    with curves.model(data, {"slope": 0.8}) as built:
        own = pm.draw([built[n] for n in names], draws=4000, random_seed=1)
    for name, theirs in zip(names, own, strict=True):
        scaled = (lambda v: v) if name == "bias" else np.log
        values, theirs = scaled(np.stack([p[name] for p, _ in mine])), scaled(theirs)
        change = (lambda v: v[:, 0, 1] - v[:, 0, 0]) if values.ndim == 3 else (lambda v: v[:, 0])
        for pair in ((values, theirs), (change(values), change(theirs))):
            one, two = (np.quantile(v, [0.25, 0.5, 0.75]) for v in pair)
            np.testing.assert_allclose(one, two, atol=0.08 * (one[2] - one[0]))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda t: t.drop(columns="n"), SchemaError, "'n'"),
        (lambda t: t.assign(n=-1.0), SchemaError, "count of calls"),
        (lambda t: t.assign(n=0), DesignError, "no valid call"),
        (lambda t: t[t["stimulus"] == "same_subset"], DesignError, "is 0 in every call"),
        (lambda t: t.assign(outcome="right"), DesignError, "outcome"),
    ],
)
def test_bad_tables(change, error, message):
    with pytest.raises(error, match=message):
        curves.psychometric(change(paper_tables.criterion_counts()), sampling=FEW)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"links": "cloglog"}, "links="),
        ({"links": ()}, "empty"),
        ({"by": "prompt", "baseline": "bass"}, "Did you mean 'base'"),
        ({"priors": {"slop": 1}}, "Did you mean 'slope'"),
        ({"performance": 1.5}, "1.5"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(DesignError, match=message):
        curves.psychometric(paper_tables.criterion_counts(), **options, sampling=FEW)
