"""Shifts under a cue: those of anchoring, and their parts by brute force."""

from __future__ import annotations

import numpy as np
import pytest

import judgestats as js
from judgestats.models.hierarchical.cue_counts import outcomes
from judgestats.models.hierarchical.cue_shifts import movement, parts
from models.printed_counts import outcomes_table

pytest.importorskip("pymc")


def test_movement_is_that_of_anchoring():
    table = outcomes_table(("blind", "truth"))
    data = outcomes(table, "blind")
    plain = js.anchoring(table, favoured="llm", n_resamples=1).set_index(["judge", "scheme", "term"])["estimate"]
    shares = data.counts / data.counts.sum(axis=-1, keepdims=True)
    order = [data.outcomes.index(o) for o in ("llm", "tradml", "tie")]
    terms = movement(shares[:, :, 0][..., order], shares[:, :, 1][..., order])
    for term, values in terms.items():
        for j, judge in enumerate(data.judges):
            for s, scheme in enumerate(data.schemes):
                name = "equality_detection" if term == "tie_blind" else term
                assert values[j, s] == pytest.approx(plain[judge, scheme, name], abs=1e-12), (term, judge, scheme)


def test_parts_by_brute_force():
    rng = np.random.default_rng(1)
    blind, probe = rng.dirichlet(np.ones(3), (7, 2)), rng.dirichlet(np.ones(3), (7, 2))
    made = parts(blind, probe, 0, 1)
    shift = (probe - blind)[..., 0]
    np.testing.assert_allclose(made["by_abstaining"] + made["by_choosing"], shift[:, 0] - shift[:, 1], atol=1e-14)
    same = probe.copy()
    same[:, 0] = same[:, 1] * [[0.5, 0.5, 0]]  # half of all sides given up, the lean kept
    same[:, 0, 2] = 1 - same[:, 0].sum(axis=1)
    kept = blind.copy()
    kept[:, 0] = kept[:, 1]
    np.testing.assert_allclose(parts(kept, same, 0, 1)["by_choosing"], 0, atol=1e-14)
