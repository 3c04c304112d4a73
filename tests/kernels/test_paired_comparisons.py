"""Paired comparisons against R, published numbers, a numerical optimum, a jackknife and closed forms.

``reference/votes.csv``: 240 votes of 25 judges on 40 items between 5 systems, with a slot effect and a length.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import twins_paired_comparisons as twins
from judgestats.kernels import paired_comparisons as kernel
from kernels.arguments import comparisons

REFERENCE = Path(__file__).parents[1] / "reference"


def reference(data, model, quantity):
    table = pd.read_csv(REFERENCE / "paired_comparisons.csv", comment="#")
    here = table[(table["data"] == data) & (table["model"] == model) & (table["quantity"] == quantity)]
    return here.set_index("name")["value"]


def votes(ties):
    """The votes as comparisons of single calls, with the outcome and the cluster of each."""
    table = pd.read_csv(REFERENCE / "votes.csv")
    table = table[table["choice"] != "tie"] if ties == "drop" else table
    names = sorted(set(table["first"]))
    length = table["length_first"] - table["length_second"]
    outcome = table["choice"].map({"first": 0, "second": 1, "tie": 2}).to_numpy()
    extra = np.column_stack([np.ones(len(table)), length])
    one, two = (table[c].map(names.index) for c in ("first", "second"))
    clusters = [pd.factorize(table[c])[0] for c in ("item", "judge")]
    return comparisons(one, two, np.eye(3)[outcome], extra), outcome, clusters


def sandwich(model, data, fit, outcome, cluster):
    rows = np.arange(len(outcome))
    middle = kernel.meat(model, data, fit, rows, outcome, np.ones(len(outcome)), cluster)
    return fit.bread @ middle @ fit.bread


@pytest.mark.parametrize(("ties", "model"), [("drop", "bradley-terry"), ("half", "bradley-terry"), ("", "rao-kupper")])
def test_slot_covariate_and_clusters_against_r(ties, model):
    """glm and clm, with vcovCL of sandwich (HC0)."""
    data, outcome, (items, _) = votes(ties)
    fit = kernel.strengths(model, data, np.zeros(5, np.int64))
    names = ["b", "c", "d", "e", "slot", "length", *(["tie"] if model == "rao-kupper" else [])]
    got = np.array([*fit.beta[1:], *fit.gamma, fit.tau])[: len(names)]
    data_name = ties or model
    np.testing.assert_allclose(got, reference("votes", data_name, "estimate")[names], rtol=2e-7)
    robust = np.sqrt(np.diag(sandwich(model, data, fit, outcome, items)))[1 : len(names) + 1]
    np.testing.assert_allclose(robust, reference("votes", data_name, "clustered_error")[names], rtol=2e-5)
    if ties != "half":  # the information of half a win is that of the model in both
        alone = np.sqrt(np.diag(fit.bread))[1 : len(names) + 1]
        np.testing.assert_allclose(alone, reference("votes", data_name, "model_error")[names], rtol=2e-5)
        assert fit.log_likelihood == pytest.approx(reference("votes", data_name, "log_likelihood")["all"], abs=1e-6)


def test_two_crossed_clusters_against_r():
    """Sum of the two sandwiches minus that of the intersections (Cameron, Gelbach and Miller 2011)."""
    data, outcome, (items, judges) = votes("drop")
    fit = kernel.strengths("bradley-terry", data, np.zeros(5, np.int64))
    both = pd.factorize(pd.Series(items).astype(str) + "/" + pd.Series(judges).astype(str))[0]
    one, two, cell = (sandwich("bradley-terry", data, fit, outcome, c) for c in (items, judges, both))
    got = np.sqrt(np.diag(one + two - cell))[1:7]
    wanted = reference("votes", "drop two-way", "clustered_error")[["b", "c", "d", "e", "slot", "length"]]
    np.testing.assert_allclose(got, wanted, rtol=2e-6)


@pytest.mark.parametrize(("ties", "model"), [("drop", "bradley-terry"), ("", "davidson"), ("", "rao-kupper")])
def test_the_sandwich_is_near_a_jackknife_of_the_clusters(ties, model):
    data, outcome, (items, _) = votes(ties)
    fit = kernel.strengths(model, data, np.zeros(5, np.int64))
    without = []
    for item in np.unique(items):
        kept = kernel.Comparisons(data.system, data.opponent, data.extra, data.counts * (items != item)[:, None])
        again = kernel.strengths(model, kept, np.zeros(5, np.int64), start=fit)
        without.append([*again.beta[1:], *again.gamma])
    without = np.array(without)
    spread = np.sqrt(((without - without.mean(axis=0)) ** 2).sum(axis=0) * (len(without) - 1) / len(without))
    robust = np.sqrt(np.diag(sandwich(model, data, fit, outcome, items)) * 40 / 39)[1:7]
    np.testing.assert_allclose(spread / robust, 1.0, atol=0.12)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(kernel.MODELS))
def test_derivatives_are_those_of_the_plain_likelihood(seed, model):
    rng = np.random.default_rng(seed)
    data = comparisons([0, 1, 2, 0], [1, 2, 0, 2], rng.integers(0, 5, (4, 3)), rng.normal(size=(4, 2)))
    at = np.array([*rng.normal(size=5), rng.uniform(0.2, 2)])

    def value(p):
        return twins.log_likelihood(model, data, p[:3], p[3:5], p[5])

    total, gradient, hessian = kernel.derivatives(model, data, at[:3], at[3:5], at[5])
    assert total == pytest.approx(value(at), abs=1e-9)
    np.testing.assert_allclose(gradient, twins.differences(value, at), atol=1e-5)
    np.testing.assert_allclose(hessian, hessian.T)
    slopes = twins.differences(lambda p: kernel.derivatives(model, data, p[:3], p[3:5], p[5])[1], at)
    np.testing.assert_allclose(hessian, slopes, atol=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(kernel.MODELS))
def test_products_of_cluster_scores_are_those_of_single_calls(seed, model):
    rng = np.random.default_rng(seed)
    data = comparisons([0, 1, 2, 0], [1, 2, 0, 2], np.zeros((4, 3)), rng.normal(size=(4, 2)))
    calls = 12
    row, outcome, cluster = rng.integers(0, 4, calls), rng.integers(0, 3, calls), np.sort(rng.permutation(calls) % 5)
    n = rng.integers(1, 4, calls).astype(float)
    counts = np.zeros((4, 3))
    np.add.at(counts, (row, outcome), n)
    data = comparisons(data.system, data.opponent, counts, data.extra)
    at = np.array([*rng.normal(size=5), rng.uniform(0.2, 2)])
    fit = kernel.Strengths(at[:3], at[3:5], at[5], 0.0, np.eye(6), True)
    shuffled = rng.permutation(calls)
    args = (a[shuffled] for a in (row, outcome, n, cluster))
    got = kernel.meat(model, data, fit, *args)
    np.testing.assert_allclose(got, twins.meat(model, data, at, row, outcome, n, cluster), atol=1e-5)
    root = rng.normal(size=(6, 6))
    fit = kernel.Strengths(at[:3], at[3:5], at[5], 0.0, root @ root.T, True)
    information = -kernel.derivatives(model, data, at[:3], at[3:5], at[5])[2]
    trace = float(n @ kernel.leverages(model, data, fit, row, outcome))
    assert trace == pytest.approx(float((fit.bread * information).sum()), rel=1e-9)


@pytest.mark.parametrize("pseudo_ties", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("model", kernel.MODELS)
def test_the_maximum_is_that_of_a_general_optimiser(model, pseudo_ties):
    rng = np.random.default_rng(5)
    one, two = np.triu_indices(5, 1)
    data = comparisons(one, two, rng.integers(1, 9, (10, 3)), np.ones((10, 1)))

    def loss(p):
        beta = p[:5] if pseudo_ties else np.array([0.0, *p[1:5]])
        tau = np.exp(p[6]) if model == "rao-kupper" else p[6]
        prior = -0.5 * pseudo_ties * (np.logaddexp(0, beta) + np.logaddexp(0, -beta)).sum()
        return -twins.log_likelihood(model, data, beta, p[5:6], tau) - prior

    best = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-7})
    fit = kernel.strengths(model, data, np.zeros(5, np.int64), pseudo_ties)
    wanted = best.x[:5] if pseudo_ties else np.array([0.0, *best.x[1:5]])
    np.testing.assert_allclose(fit.beta, wanted, atol=2e-5)
    np.testing.assert_allclose(fit.gamma, best.x[5:6], atol=2e-5)
    if model != "bradley-terry":
        assert fit.tau == pytest.approx(np.exp(best.x[6]) if model == "rao-kupper" else best.x[6], abs=2e-5)
    assert fit.converged


def test_many_ties_or_few_are_fitted():
    for ties in (1e-3, 1.0, 1e4):
        for model in ("davidson", "rao-kupper"):
            fit = kernel.strengths(model, comparisons([0], [1], [[30, 10, ties]]), np.zeros(2, np.int64))
            assert fit.converged
            share = twins.probabilities(model, fit.beta[0] - fit.beta[1], fit.tau)
            np.testing.assert_allclose(share, np.array([30, 10, ties]) / (40 + ties), atol=1e-8)  # saturated
