"""Mean squares, intraclass correlations and their intervals against plain twins, R and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

import twins_variance as twins
from judgestats.kernels import variance as kernel

SHROUT = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)
SCORES = st.one_of(st.integers(0, 10).map(float), st.floats(-5, 5).map(lambda x: round(x, 3)))
TABLES = st.tuples(st.integers(2, 5), st.integers(2, 4)).flatmap(lambda s: arrays.arrays(float, s, elements=SCORES))


@st.composite
def stacks(draw):
    """Two or three tables with the same raters."""
    k = draw(st.integers(2, 4))
    shapes = [(draw(st.integers(2, 5)), k) for _ in range(draw(st.integers(1, 3)))]
    return [draw(arrays.arrays(float, s, elements=SCORES)) for s in shapes]


def stacked(tables):
    return np.concatenate(tables), np.cumsum([0, *(len(t) for t in tables[:-1])])


@pytest.mark.usefixtures("form")
@given(stacks())
def test_mean_squares_equal_their_twin(tables):
    got = kernel.mean_squares(*stacked(tables))
    for g, table in enumerate(tables):
        expected = twins.two_way(table.tolist())
        found = [x[g] for x in (got.subjects, got.raters, got.residual, got.within)]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        assert got.n[g] == len(table)


@pytest.mark.parametrize("sums", [kernel.TWO_WAY_SUMS.arrays, kernel.TWO_WAY_SUMS.compiled])
@given(stacks(), st.sampled_from([0.0, 1e3, -1e6]))
def test_sums_of_squares_equal_their_twin(sums, tables, offset):
    scores, start = stacked(tables)
    expected = twins.two_way_sums(scores + offset, start)
    np.testing.assert_allclose(sums(scores + offset, start), expected, rtol=1e-9, atol=1e-10)


@given(TABLES)
def test_correlations_equal_the_formulas_of_the_paper(table):
    bms, jms, ems, wms = twins.two_way(table.tolist())
    if min(bms, ems, wms) < 1e-6 or bms + (jms - ems) / len(table) < 1e-6:
        return
    got = kernel.correlations(kernel.mean_squares(table, np.array([0])), 0.95)
    np.testing.assert_allclose(got.estimate[:, 0], twins.shrout_fleiss(table.tolist()), rtol=1e-8, atol=1e-10)


@pytest.mark.usefixtures("form")
def test_published_mean_squares():
    ms = kernel.mean_squares(SHROUT, np.array([0]))
    found = [ms.subjects[0], ms.raters[0], ms.residual[0], ms.within[0]]
    np.testing.assert_allclose(found, [11.2416666667, 32.4861111111, 1.0194444444, 6.2638888889], atol=1e-9)


@pytest.mark.usefixtures("form")
def test_squares_survive_a_large_offset_and_noise_is_zero():
    ms = kernel.mean_squares(SHROUT + 1e8, np.array([0]))
    np.testing.assert_allclose(ms.residual, 1.0194444444, rtol=1e-6)
    same = kernel.mean_squares(np.tile([[0.1], [0.3], [0.7]], 3) + 0.1, np.array([0]))
    assert same.residual[0] == same.raters[0] == same.within[0] == 0 < same.subjects[0]
    flat = kernel.mean_squares(np.full((4, 3), 0.1), np.array([0]))
    assert flat.subjects[0] == flat.within[0] == 0


def test_ends_make_the_f_test_just_significant():
    """At the lower end of ICC(3,1) the noncentral ratio is exactly the upper quantile: the interval inverts the test."""
    got = kernel.correlations(kernel.mean_squares(SHROUT, np.array([0])), 0.9)
    low, F = got.low[2, 0], got.F[2, 0]
    assert stats.f.sf(F * (1 - low) / (1 + 3 * low), 5, 15) == pytest.approx(0.05, abs=1e-12)
    high = got.high[2, 0]
    assert stats.f.cdf(F * (1 - high) / (1 + 3 * high), 5, 15) == pytest.approx(0.05, abs=1e-12)


def test_one_rater_one_subject_and_no_residual_do_not_raise():
    one = kernel.correlations(kernel.mean_squares(SHROUT[:, :1], np.array([0])), 0.95)
    assert np.isnan(one.estimate).all()
    assert np.isnan(one.p).all()
    alone = kernel.correlations(kernel.mean_squares(SHROUT[:1], np.array([0])), 0.95)
    assert np.isnan(alone.estimate).all()
    shifted = SHROUT[:, :1] + np.array([[0.0, 1.0, 3.0]])
    got = kernel.correlations(kernel.mean_squares(shifted, np.array([0])), 0.95)
    assert got.estimate[2, 0] == got.estimate[5, 0] == 1
    assert np.isinf(got.F[2, 0])
    assert np.isnan(got.low[2, 0])
    assert 0 < got.low[1, 0] < got.estimate[1, 0] < got.high[1, 0] < 1  # the raters still differ


DESIGNS = [
    ((3, 4, 1), [(0,), (1,)]),
    ((3, 2, 4), [(0,), (1,), (0, 1)]),
    ((2, 3, 4, 1), [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]),
    ((2, 3, 2, 2), [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]),
    ((2, 3, 2, 2), [(0,), (1,), (2,), (0, 1, 2)]),
]


@pytest.mark.parametrize(("shape", "effects"), DESIGNS)
def test_effect_squares_equal_their_twin(shape, effects):
    y = np.random.default_rng(1).normal(size=shape)
    for got, expected in zip(kernel.effect_squares(y, effects), twins.effect_squares(y, effects), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def test_interval_of_one_mean_square_is_the_chi_square_one():
    _, se, low, high = kernel.combination(np.array([2.0]), np.array([9.0]), np.array([[1.0]]), 0.95)
    np.testing.assert_allclose([low[0], high[0]], 18 / stats.chi2.ppf([0.975, 0.025], 9), rtol=1e-12)
    assert se[0] == pytest.approx(np.sqrt(2 * 4 / 11))


@pytest.mark.parametrize(("q", "end"), [(0.975, 2), (0.025, 3)])
def test_interval_of_a_difference_ends_at_zero_where_the_f_test_is_just_significant(q, end):
    squares = np.array([stats.f.ppf(q, 5, 40), 1.0])
    ends = kernel.combination(squares, np.array([5.0, 40.0]), np.array([[1.0, -1.0]]), 0.95)
    assert ends[end][0] == pytest.approx(0, abs=1e-10)
    assert ends[5 - end][0] != pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("weight", [[1.0, -1.0, 0.0], [0.5, 0.5, -1.0], [0.2, 1.0, 3.0]])
def test_intervals_of_combinations_cover(weight):
    """Ting et al. (1990) hold their level where Satterthwaite's does not: differences near zero included."""
    rng = np.random.default_rng(3)
    mean, df, c = np.array([3.0, 2.0, 1.0]), np.array([5.0, 12.0, 40.0]), np.array([weight])
    truth, draws = (c @ mean).item(), mean * rng.chisquare(df, (2000, 3)) / df
    ends = np.array([np.ravel(kernel.combination(x, df, c, 0.95)[2:]) for x in draws])
    below, above = np.mean(ends[:, 0] > truth), np.mean(ends[:, 1] < truth)
    assert 0.93 < 1 - below - above < 0.985
    assert below < 0.045
    assert above < 0.045


def test_satterthwaite_of_an_exact_chi_square():
    estimate = np.array([2.0])
    df, low, high = kernel.satterthwaite(estimate, 2 * estimate**2 / 9, 0.95)
    assert df[0] == pytest.approx(9)
    np.testing.assert_allclose([low[0], high[0]], 18 / stats.chi2.ppf([0.975, 0.025], 9), rtol=1e-12)


def test_satterthwaite_gives_no_interval_that_misses_the_estimate():
    """Far below its standard error both chi-square quantiles lie below the degrees of freedom."""
    df, low, high = kernel.satterthwaite(np.array([5.8e-8, 2.0]), np.array([6e-6, 0.5]) ** 2, 0.95)
    assert df[0] < 0.01
    assert np.isnan([low[0], high[0]]).all()
    assert low[1] < 2.0 < high[1]
