"""The Δ0 kernel against its twin and the identity of the paper."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import twins
from judgestats.kernels import decomposition as kernel


@pytest.mark.usefixtures("form")
@given(hnp.arrays(np.int64, (3, 5, 5), elements=st.integers(0, 50)))
def test_decompose_equals_its_twin_and_keeps_the_identity(counts):
    group, forward, reverse = (x.ravel() for x in np.indices(counts.shape))
    n = counts.ravel().astype(float)
    result = kernel.decompose(forward.astype(np.int8), reverse.astype(np.int8), n, group, 3)
    np.testing.assert_array_equal(result.classes, twins.decompose(counts.astype(float)))
    of_one = twins.decompose(np.eye(counts.size).reshape(-1, *counts.shape).sum(axis=1))
    np.testing.assert_array_equal(result.of_pattern, of_one.argmax(axis=1))
    stable, positional, one_sided = (result.classes[:, c] for c in (kernel.STABLE, kernel.POSITIONAL, kernel.ONE_SIDED))
    ties = ((forward == kernel.TIE).astype(int) + (reverse == kernel.TIE)) * (
        np.maximum(forward, reverse) <= kernel.TIE
    )
    not_ties = 2 * result.classes[:, : kernel.DROPPED].sum(axis=1) - np.bincount(group, n * ties)
    np.testing.assert_array_equal(not_ties, 2 * stable + 2 * positional + one_sided)


@pytest.mark.usefixtures("form")
@given(st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(0, 3)), max_size=30))
def test_pair_orders_equals_its_twin(calls):
    unit = np.array([c[0] for c in calls], np.int64)
    reverse = np.array([c[1] for c in calls], bool)
    answer = np.array([c[2] for c in calls], np.int8)
    got = kernel.pair_orders(unit, reverse, answer, 7)
    answers, duplicates, first = twins.pair_orders(unit, reverse, answer, 7)
    np.testing.assert_array_equal(got.answers, answers)
    assert (got.n_duplicates, got.first_duplicate) == (duplicates, first)
