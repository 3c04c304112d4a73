"""Agreement beyond chance: its definition, irr."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twins_coincidence as twins
from judgestats.kernels.chance import chance_corrected
from kernels.arguments import as_units, linear_weights


@settings(max_examples=150)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=2, max_size=8), st.booleans())
def test_gwet_is_its_definition(units, weighted):
    weights = linear_weights(4) if weighted else np.eye(4)
    if not any(len(u) > 1 for u in units):
        units = [[0, 1], *units]
    fit = chance_corrected(as_units(units), np.ones(len(units)), weights, "gwet")
    np.testing.assert_allclose(fit[:4], twins.gwet(units, weights.tolist()), rtol=1e-10, atol=1e-10)
    error = np.sqrt((fit.influence**2).sum() / (len(units) * (len(units) - 1)))  # of which the standard error is made
    np.testing.assert_allclose(error, fit.std_error, rtol=1e-10, atol=1e-10)


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=2, max_size=8))
def test_fleiss_is_its_definition(units):
    counts = [[u.count(k) for k in range(3)] for u in units]
    fit = chance_corrected(as_units(units), np.ones(len(units)), np.eye(3), "fleiss")
    if len({k for u in units for k in u}) < 2:
        assert math.isnan(fit.estimate)
    else:
        p = np.sum(counts, axis=0) / (3 * len(units))
        assert fit.expected == pytest.approx((p**2).sum())
        if ((p @ (1 - p)) ** 2 - (p * (1 - p) * (1 - 2 * p)).sum()) > 1e-12:
            assert fit.estimate == pytest.approx(twins.fleiss(counts)[0])


def test_a_pattern_is_its_units():
    units, n = [[0, 0, 1], [1, 1], [2], [2, 2, 0]], [3, 2, 4, 1]
    spread = [u for u, k in zip(units, n, strict=True) for _ in range(k)]
    for coefficient in ("gwet", "fleiss"):
        once = chance_corrected(as_units(units), np.array(n, dtype=float), np.eye(3), coefficient)
        whole = chance_corrected(as_units(spread), np.ones(10), np.eye(3), coefficient)
        np.testing.assert_allclose(once[:4], whole[:4], rtol=1e-12)
        np.testing.assert_allclose(np.repeat(once.influence, n), whole.influence, rtol=1e-9, atol=1e-12)
