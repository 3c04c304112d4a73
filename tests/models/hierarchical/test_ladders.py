"""Answers by difference in quality: tallies, slots, and thresholds by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import judgestats as js
from judgestats.models.hierarchical.ladders import ladder, shares, threshold
from judgestats.published import paper_tables
from models.ladder_calls import TRUTH, calls_of, small_ladder

pytest.importorskip("pymc")


def test_the_published_tally_is_read_as_it_is():
    data = ladder(paper_tables.criterion_counts(), "prompt", None, "base")
    assert data.folded
    assert data.counts.sum() == 480
    base = data.condition == 0
    where = {x: data.counts[base & (data.x == x)][0].tolist() for x in (0.0, 1.0, 5.0)}
    assert where == {0.0: [0, 89, 0, 31], 1.0: [94, 6, 0, 0], 5.0: [20, 0, 0, 0]}


def test_target_sensitivity_tally_and_judges_who_never_tie():
    data = ladder(paper_tables.ladder_counts(), None, None, None)
    assert data.counts.sum() == 4 * 120
    assert data.random[data.judges.index("Llama8B")].tolist() == [0.5, 0, 0.5]
    assert data.random[data.judges.index("Qwen32B")].tolist() == [1 / 3] * 3


def test_slots_and_their_tally_agree():
    """Outcomes against the better candidate are the slots with both orders together."""
    calls = calls_of(np.random.default_rng(1), {"a": 0}, (1, 2), 60, {"a": TRUTH["a"]}).assign(
        stimulus="ladder", task="t"
    )
    slots, folded = (ladder(t, None, None, None) for t in (calls, js.tally(calls, "target_sensitivity", cluster=False)))
    s, c, b, lapse = (np.full((1, 1), v) for v in TRUTH["a"])
    one, two = shares(slots, s, c, b, lapse[0]), shares(folded, s, c, b, lapse[0])
    for k, x in enumerate(folded.x):
        forward, back = (one[slots.x == sign * x][0] for sign in (1, -1))
        np.testing.assert_allclose(two[k], (forward + back[::-1]) / 2)
        here = slots.counts[slots.x == x][0][:3] + slots.counts[slots.x == -x][0][2::-1]
        np.testing.assert_allclose(folded.counts[k][:3], here)


def test_the_threshold_by_hand():
    data = replace(small_ladder(False), judges=("a",), conditions=("p",), random=np.full((1, 3), 1 / 3), unit=2.0)
    one = np.ones((1, 1))
    at = threshold(data, 0.75, 0.5 * one, 1.0 * one, 0.0 * one, np.zeros(1))[0, 0]
    assert at == pytest.approx(2.0 * (1 + np.log(3)) / 0.5)
    assert threshold(data, 0.75, one, one, 0 * one, np.array([0.5]))[0, 0] == np.inf
