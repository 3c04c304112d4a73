"""Errors of the means of units by reply: brute force, and every measure that holds the scores of a reply together."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.counting.cells import score_panel
from judgestats.counting.reply_errors import reply_errors


def runs_of(rng, judges="ab", systems="xyz", runs=6, criteria="uvw", shared=0.9):
    """Scores of one item whose criteria come in one reply and share its noise."""
    rows = list(itertools.product(judges, systems, range(runs), criteria))
    table = pd.DataFrame(rows, columns=["judge", "system", "replicate", "criterion"]).assign(item="1")
    shape = len(judges), len(systems), runs, len(criteria)
    noise = shared * rng.normal(size=(*shape[:3], 1)) + (1 - shared) * rng.normal(size=shape)
    return table.assign(score=(rng.normal(size=(*shape[:2], 1, shape[3])) + noise).ravel())


def test_the_error_of_a_sum_is_that_of_the_sums_of_replies():
    rng = np.random.default_rng(4)
    scores = runs_of(rng)
    panel = score_panel(scores)
    errors, weight = reply_errors(scores, panel), rng.normal(size=panel.judge.size)
    of = dict(
        zip(
            zip(*(panel.things[c].values[panel.thing] for c in ("system", "criterion")), panel.judge, strict=True),
            weight,
            strict=True,
        )
    )
    place = [of[s, c, "ab".index(j)] for j, s, c in scores[["judge", "system", "criterion"]].itertuples(index=False)]
    sums = (scores["score"] * place).groupby([scores["judge"], scores["system"], scores["replicate"]]).sum()
    variance = sums.groupby(level=[0, 1]).var() / 6
    squares = errors.sums(weight) ** 2
    assert squares.sum() == pytest.approx(variance.sum())
    assert sorted(errors.of_blocks(squares)) == pytest.approx(sorted(variance))
    assert errors.df.tolist() == [5] * 6
    wide = scores.pivot(index=["judge", "system", "replicate"], columns="criterion", values="score")
    covariance = wide.groupby(level=[0, 1]).cov().pow(2).groupby(level=[0, 1]).sum().sum(axis=1)
    assert sorted(errors.squared_covariances(np.arange(18))) == pytest.approx(sorted(covariance))


def test_a_call_says_which_scores_came_in_one_reply():
    scores = runs_of(np.random.default_rng(5))
    apart, panel = scores.assign(call=range(len(scores))), score_panel(scores)
    errors = reply_errors(apart, panel)
    assert errors.certain
    assert errors.df.size == panel.judge.size
    variance = errors.sums(np.ones(panel.judge.size)) ** 2
    assert variance.sum() == pytest.approx((panel.sd**2 / 6).sum())
    over_systems = scores.assign(call=scores["judge"] + scores["replicate"].astype(str))
    assert reply_errors(over_systems, panel).df.size == 2
    some = over_systems.assign(call=over_systems["call"].where(scores["judge"] == "a"))
    assert reply_errors(some, panel).df.size == 1 + 3
    unnumbered = reply_errors(scores.drop(columns="replicate"), panel)
    assert not unnumbered.certain
    assert unnumbered.df.size == 6


def test_a_call_never_splits_a_cell():
    scores = runs_of(np.random.default_rng(6))
    numbered = scores.assign(call=scores["judge"] + scores["system"] + scores["replicate"].astype(str))
    for measure in (js.score_matrix, js.consensus_deviation, js.run_sd, js.icc):
        pd.testing.assert_frame_equal(measure(numbered), measure(scores))
    by_call = js.score_matrix(numbered.drop(columns="replicate"))
    pd.testing.assert_frame_equal(by_call, js.score_matrix(scores))
    pairs = pd.DataFrame({"judge": "j", "item": [*"1122"], "first": [*"abab"], "second": [*"baba"], "choice": "first"})
    shown = js.consistency(pairs.assign(call=[*"wxyz"]))
    pd.testing.assert_frame_equal(shown, js.consistency(pairs))


def test_the_spread_of_runs_counts_replies():
    """Five criteria that share nearly all noise are worth one: 200 times, each judge's interval has its spread."""
    rng, hits = np.random.default_rng(7), []
    for _ in range(200):
        result = js.run_sd(runs_of(rng, runs=8, criteria="uvwst", shared=1.0), ratios=False)
        hits += ((result["conf_low"] <= 1) & (result["conf_high"] >= 1)).tolist()
    assert 0.92 <= np.mean(hits) <= 0.975


def test_severity_of_criteria_is_that_of_their_composite():
    pytest.importorskip("arviz_stats", reason="ArviZ is not installed (extra bayes): its intervals come from draws")
    scores = runs_of(np.random.default_rng(8), judges="abc")
    table = js.hierarchical.severity(scores, sampling={"draws": 50, "chains": 2}, sampled=False).table
    whole = js.composite(scores)
    alone = js.hierarchical.severity(whole, sampling={"draws": 50, "chains": 2}, sampled=False).table
    numbers = ["estimate", "conf_low", "conf_high"]
    np.testing.assert_allclose(table[numbers].astype(float), alone[numbers].astype(float), rtol=1e-6)


def test_criteria_of_a_response_are_one_cluster_of_the_correlation():
    scores = runs_of(np.random.default_rng(9), systems="stuvwxyz")
    result = js.icc(scores, subjects=["system", "criterion"])
    assert result["method"].str.contains("systems (G = 8)", regex=False).all()


def test_collected_scores_have_the_call_that_they_came_in():
    prompt = js.design.Prompt("p", "{{ task }} {{ response }}", frame="ratings", criteria=("a", "b"), scale=(1, 5))
    rows = pd.DataFrame({"item": ["1", "2"], "task_text": [*"tu"], "system": "s", "response_text": [*"rq"]})
    plan = js.design.build(rows, prompts=prompt, judges="j")
    replies = [{"call": c, "answer": json.dumps({"scores": {"a": 3, "b": 4}})} for c in plan.calls["call"]]
    scores = js.design.collect(plan, replies)
    assert scores.groupby("call")["criterion"].agg(list).tolist() == [["a", "b"]] * 2
