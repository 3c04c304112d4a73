"""The consensus kernels against their plain twins, and against the identities of the paper."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins_deviation as twins
from judgestats.kernels import deviation as kernel

SCORES = st.one_of(st.integers(0, 10).map(float), st.floats(-5, 5), st.just(np.nan))
NONE = np.zeros(0)


@st.composite
def units(draw, n_cells=4, n_judges=4):
    """Cell and score of units: each judge at most once in a cell."""
    places = draw(
        st.lists(st.tuples(st.integers(0, n_cells - 1), st.integers(0, n_judges - 1)), unique=True, max_size=16)
    )
    scores = draw(st.lists(SCORES, min_size=len(places), max_size=len(places)))
    return np.array([p[0] for p in places], np.int32), np.array(scores, float)


@pytest.mark.usefixtures("form")
@given(units(), st.booleans())
def test_consensus_equals_its_twin(data, exclude_self):
    cell, score = data
    got = kernel.consensus(cell, score, 4, exclude_self=exclude_self)
    deviation, present = twins.consensus(cell, score, 4, exclude_self=exclude_self)
    np.testing.assert_allclose(got.deviation, deviation, atol=1e-12)
    np.testing.assert_array_equal(got.present, present)


@pytest.mark.usefixtures("form")
@given(units())
def test_deviations_of_a_cell_sum_to_zero_and_shrink_when_the_judge_is_included(data):
    cell, score = data
    got = kernel.consensus(cell, score, 4)
    naive = kernel.consensus(cell, score, 4, exclude_self=False)
    for c in range(4):
        inside = got.deviation[(cell == c) & ~np.isnan(got.deviation)]
        assert abs(inside.sum()) < 1e-12
    n = got.present[cell].astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        np.testing.assert_allclose(naive.deviation, (n - 1) / n * got.deviation, atol=1e-12)


@pytest.mark.usefixtures("form")
def test_alone_or_silent_has_no_deviation():
    got = kernel.consensus(np.array([0, 1, 1], np.int32), np.array([5.0, 7.0, np.nan]), 2)
    assert np.isnan(got.deviation).all()
    assert got.present.tolist() == [1, 1]


@pytest.mark.usefixtures("form")
def test_counts_beyond_32_bits():
    score, weight = np.array([1.0, 3.0, np.nan]), np.array([3_000_000_000, 1_000_000_000, 10**12])
    got = kernel.cell_means(np.zeros(3, np.int32), score, weight, 1)
    assert (got.mean[0], got.runs[0], got.missing[0]) == (1.5, 4_000_000_000, 10**12)
    np.testing.assert_allclose(got.squares[0], 3e9 * 0.25 + 1e9 * 2.25)


RUNS = st.lists(st.tuples(st.integers(0, 3), SCORES, st.integers(0, 3)), max_size=20)


@pytest.mark.usefixtures("form")
@given(RUNS, st.booleans())
def test_cell_means_equal_their_twin(rows, weighted):
    unit = np.array([r[0] for r in rows], np.int32)
    score = np.array([r[1] for r in rows], float)
    weight = np.array([r[2] for r in rows], np.int64) if weighted else NONE.astype(np.int64)
    got = kernel.cell_means(unit, score, weight, 4)
    mean, squares, runs, missing = twins.cell_means(unit, score, weight, 4)
    np.testing.assert_allclose(got.mean, mean, atol=1e-12)
    np.testing.assert_allclose(got.squares, squares, atol=1e-10)
    np.testing.assert_array_equal(got.runs, runs)
    np.testing.assert_array_equal(got.missing, missing)


@pytest.mark.usefixtures("form")
def test_squares_survive_a_large_offset():
    score = 1e8 + np.array([1.0, 2.0, 3.0])
    got = kernel.cell_means(np.zeros(3, np.int32), score, NONE.astype(np.int64), 1)
    assert got.squares[0] == pytest.approx(2.0, rel=1e-6)


@pytest.mark.usefixtures("form")
@given(st.lists(st.tuples(st.integers(0, 3), SCORES, st.floats(0.1, 3)), max_size=20), st.booleans())
def test_weighted_means_equal_their_twin(rows, weighted):
    owner = np.array([r[0] for r in rows], np.int32)
    value = np.array([r[1] for r in rows], float)
    weight = np.array([r[2] for r in rows], float) if weighted else NONE
    for got, expected in zip(
        kernel.weighted_means(owner, value, weight, 4), twins.weighted_means(owner, value, weight, 4), strict=True
    ):
        np.testing.assert_allclose(got, expected, atol=1e-12)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), SCORES, st.floats(0.1, 3)), max_size=20),
    st.lists(st.sampled_from([0.0, 0.5, -1.0]), min_size=3, max_size=3),
    st.booleans(),
)
@pytest.mark.usefixtures("form")
def test_cluster_scores_equal_their_twin(rows, scale, weighted):
    pair, cell = (np.array([r[i] for r in rows], np.int32) for i in (0, 1))
    value = np.array([r[2] for r in rows], float)
    weight = np.array([r[3] for r in rows], float) if weighted else NONE
    owner, cluster = np.array([0, 1, 1]), np.array([0, 1, 1, 2], np.int32)
    centre, scale = np.array([1.0, 2.0, 3.0]), np.array(scale)
    units, means = kernel.UnitValues(pair, cell, value, weight), kernel.PairMeans(owner, centre, scale)
    got = kernel.cluster_scores(units, means, cluster, 2, 3)
    expected = twins.cluster_scores(pair, cell, owner, cluster, value, centre, scale, weight, 2, 3)
    np.testing.assert_allclose(got[0], expected[0], atol=1e-12)
    np.testing.assert_allclose(got[1], expected[1], atol=1e-12)
