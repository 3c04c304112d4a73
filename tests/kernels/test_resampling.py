"""The bootstrap of counts: against its twins, closed forms, R's boot and SciPy, and reproducible."""

import csv
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import twins
from judgestats.kernels import resampling as kernel

WAITS = np.array([10, 12, 12.5, 12.5, 13.9, 15, 21, 22, 23, 34, 50, 81, 89, 121, 134, 213])
CITY = np.array(
    [[138, 143], [93, 104], [61, 69], [179, 260], [48, 75], [37, 63], [29, 50], [23, 48], [30, 111], [2, 50.0]]
)


@pytest.fixture(scope="module")
def boot():
    """Intervals of R's boot, B = 199,999: tests/reference/boot.R."""
    lines = (Path(__file__).parents[1] / "reference" / "boot.csv").read_text().splitlines()
    return {(r["data"], r["quantity"]): float(r["value"]) for r in csv.DictReader(x for x in lines if x[0] != "#")}


def ratio(totals):
    return totals[:, 1] / totals[:, 0]


def without_one(counts, statistic):
    return statistic(counts.sum(axis=0)[None, :] - counts)


def jackknife(counts, statistic):
    """Influence of each row, mean 0."""
    without = without_one(counts, statistic)
    return without.mean() - without


# ---------------------------------------------------------------- draws


@pytest.mark.usefixtures("form")
@given(st.integers(1, 9), st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_resampled_totals_equal_their_twin(clusters, width, resamples, seed):
    counts = np.random.default_rng(seed).integers(0, 9, (clusters, width)).astype(float)
    index = kernel.cluster_index(np.random.default_rng(seed), clusters, resamples)
    totals = kernel.resampled_totals(counts, np.random.default_rng(seed), resamples)
    np.testing.assert_array_equal(totals, twins.resampled_totals(counts, index))


@pytest.mark.usefixtures("form")
@given(st.integers(1, 9), st.integers(1, 3), st.integers(1, 6), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_cluster_totals_equal_their_twin(clusters, width, resamples, n_strata, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, (clusters, width)).astype(float)
    strata = rng.integers(0, n_strata, clusters)
    for within in (None, strata):
        got = kernel.cluster_totals(counts, np.random.default_rng(seed), resamples, within)
        want = twins.cluster_totals(counts, np.random.default_rng(seed), resamples, within)
        np.testing.assert_array_equal(got, want)


def test_many_clusters_of_few_kinds_are_drawn_as_clusters_are():
    """The covariance of the totals of G clusters drawn with replacement is G times that of a cluster (divisor G)."""
    kinds = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 5.0], [3.0, 1.0]])
    counts = kinds[np.random.default_rng(0).choice(4, 1500, p=[0.5, 0.3, 0.15, 0.05])]
    totals = kernel.cluster_totals(counts, np.random.default_rng(1), 40_000)
    np.testing.assert_allclose(totals.mean(axis=0), counts.sum(axis=0), rtol=2e-3)
    np.testing.assert_allclose(np.cov(totals.T), 1500 * np.cov(counts.T, ddof=0), rtol=0.04, atol=20)
    apart = kernel.cluster_totals(counts, np.random.default_rng(1), 40, (counts[:, 0] == 3).astype(int))
    assert (apart[:, 0] == counts[:, 0].sum()).all(), "the size of each stratum is kept"


def test_strata_are_kept():
    strata = np.array([0, 0, 0, 1, 1, 2])
    of_stratum = np.eye(3)[strata]
    totals = kernel.cluster_totals(of_stratum, np.random.default_rng(0), 50, strata)
    np.testing.assert_array_equal(totals, np.tile([3.0, 2.0, 1.0], (50, 1)))
    free = kernel.cluster_totals(of_stratum, np.random.default_rng(0), 50)
    assert (free != [3.0, 2.0, 1.0]).any(), "without strata their sizes vary"


@pytest.mark.usefixtures("form")
def test_draws_do_not_depend_on_how_many_are_held(monkeypatch):
    counts = np.arange(14.0).reshape(7, 2)
    row, column = np.repeat(np.arange(7), 2), np.tile([0, 1], 7)
    cells = np.arange(14.0)[:, None]
    at_once = kernel.cluster_totals(counts, np.random.default_rng(1), 40)
    crossed = kernel.two_way_totals(row, column, cells, np.random.default_rng(1), 40)
    monkeypatch.setattr(kernel, "_DRAWS", 20)
    np.testing.assert_array_equal(kernel.cluster_totals(counts, np.random.default_rng(1), 40), at_once)
    in_parts = kernel.two_way_totals(row, column, cells, np.random.default_rng(1), 4000)
    assert in_parts.shape == (4000, 1)
    assert in_parts.mean() == pytest.approx(cells.sum(), rel=0.05)
    assert crossed.shape == (40, 1)


@pytest.mark.usefixtures("form")
@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 5), st.floats(0.2, 1), st.integers(0, 2**32 - 1))
def test_two_way_totals_equal_their_twin(rows, columns, resamples, filled, seed):
    rng = np.random.default_rng(seed)
    cells = [(r, c) for r in range(rows) for c in range(columns) if rng.random() < filled or (r, c) == (0, 0)]
    cells = [(rows - 1, columns - 1), *(x for x in cells if x != (rows - 1, columns - 1))]
    row, column = np.array(rng.permutation(cells)).T
    counts = rng.integers(0, 9, (len(cells), 2)).astype(float)
    got = kernel.two_way_totals(row, column, counts, np.random.default_rng(seed), resamples)
    want = twins.two_way_totals(row, column, counts, np.random.default_rng(seed), resamples)
    np.testing.assert_allclose(got, want)


def test_two_way_variance_is_owens():
    # Owen (2007), Theorem 3 in a complete design, exactly: rows and columns drawn independently
    rng = np.random.default_rng(5)
    values = rng.normal(size=(8, 6)) + rng.normal(size=(8, 1)) + rng.normal(size=6)
    row, column = (x.ravel() for x in np.indices(values.shape))
    draws = kernel.two_way_totals(row, column, values.reshape(-1, 1), rng, 60_000)[:, 0] / values.size
    gap = values - values.mean()
    a, b = gap.mean(axis=1), gap.mean(axis=0)
    rest = gap - a[:, None] - b
    variance = (a**2).mean() / 8 + (b**2).mean() / 6 + (rest**2).mean() / 48
    assert draws.var() == pytest.approx(variance, rel=0.03)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(0, 2**32 - 1))
def test_multinomial_totals_are_rows_drawn(counts, seed):
    counts = np.array(counts, dtype=float)
    strata = np.arange(counts.size) % 2
    for within in (None, strata):
        totals = kernel.multinomial_totals(counts, np.random.default_rng(seed), 20, within)
        assert ((totals >= 0) & (totals == np.rint(totals))).all()
        assert (totals[:, counts == 0] == 0).all()
        groups = np.zeros(counts.size, dtype=int) if within is None else within
        for s in np.unique(groups):
            assert (totals[:, groups == s].sum(axis=1) == counts[groups == s].sum()).all()


@pytest.mark.parametrize("unit", [0.25, 0.1, 1e6, 1e300])
def test_totals_of_many_sums_are_those_in_double_precision(unit, monkeypatch):
    rng = np.random.default_rng(0)
    sums, weights = unit * rng.integers(-9, 10, (60, 2, 3)), rng.integers(0, 5, (20, 60)).astype(float)
    plain = kernel.weighted_totals(weights, sums)
    monkeypatch.setattr(kernel, "_LARGE", 0)
    totals = kernel.weighted_totals(weights, sums)
    assert totals.dtype == float
    assert totals.tolist() == plain.tolist()
    assert totals == pytest.approx(np.einsum("bo,oij->bij", weights, sums))


@pytest.mark.parametrize("strata", [None, np.array([0, 1, 1])])
def test_multinomial_totals_have_the_distribution_of_their_twin(strata):
    counts = np.array([2.0, 1.0, 3.0])
    fast = kernel.multinomial_totals(counts, np.random.default_rng(0), 100_000, strata)
    slow = twins.multinomial_totals(counts, np.random.default_rng(0), 4000, strata)
    np.testing.assert_allclose(fast.mean(axis=0), counts, atol=0.02)
    shares = [np.unique(t, axis=0, return_counts=True) for t in (fast, slow)]
    of_fast, of_slow = ({tuple(k): v / n.sum() for k, v in zip(key, n, strict=True)} for key, n in shares)
    assert set(of_slow) <= set(of_fast)
    assert max(abs(p - of_slow.get(k, 0)) for k, p in of_fast.items()) < 0.03
    for pattern, p in of_fast.items():  # the closed form
        if strata is None:
            exact = stats.multinomial.pmf(pattern, 6, counts / 6)
        else:
            exact = (pattern[0] == 2) * stats.binom.pmf(pattern[1], 4, 0.25)
        assert p == pytest.approx(exact, abs=0.006)


def test_bootstrap_variance_is_the_closed_form():
    counts = np.arange(12.0)[:, None]
    draws = kernel.resampled_totals(counts, np.random.default_rng(0), 40_000)[:, 0]
    assert draws.var() == pytest.approx(12 * counts.var(), rel=0.03)


def test_same_seed_same_index():
    one, two = (kernel.cluster_index(np.random.default_rng(3), 20, 5) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_generator_of_a_group_is_its_own():
    first = [kernel.generator(7, key).random() for key in (("a",), ("b",), ("a",), ("a", "b"), ("ab",))]
    assert first[0] == first[2]
    assert len(set(first)) == 4
    assert kernel.generator(8, ("a",)).random() != first[0]
    given_one = np.random.default_rng(0)
    assert kernel.generator(given_one, ("a",)) is given_one


# ---------------------------------------------------------------- intervals


def test_percentile_interval_is_the_published_one(boot):
    # R boot and SciPy on the same data: percentile 28.86 to 84.21
    draws = kernel.cluster_totals(WAITS[:, None], np.random.default_rng(0), 200_000)[:, 0] / WAITS.size
    low, high = kernel.percentile_interval(draws)
    assert (low, high) == (pytest.approx(28.86, rel=0.005), pytest.approx(84.21, rel=0.005))
    assert low == pytest.approx(boot["waits", "percentile_low"], rel=0.006)  # a draw is 0.2 % from the next
    assert high == pytest.approx(boot["waits", "percentile_high"], rel=0.005)


def test_percentile_interval_keeps_an_infinite_end():
    draws = np.array([-np.inf] * 10 + [1.0, 2.0, 3.0] * 30)
    low, high = kernel.percentile_interval(draws)
    assert low == -np.inf
    assert high == 3.0


def test_student_interval_is_t_with_the_standard_error_of_a_sample():
    """Of a mean, drawn exhaustively: the standard error is sd over the root of n, with n - 1 in the divisor."""
    x = np.array([1.0, 2.0, 4.0, 9.0])
    draws = np.array([x[list(i)].mean() for i in itertools.product(range(4), repeat=4)])
    error, bias, low, high = kernel.student_interval(draws, x.mean(), 4, 0.9)
    assert error == pytest.approx(x.std(ddof=1) / 2 * np.sqrt(256 / 255))
    assert bias == pytest.approx(0, abs=1e-12)
    half = stats.t.ppf(0.95, 3) * error
    assert (low, high) == pytest.approx((x.mean() - half, x.mean() + half))


def test_student_interval_reaches_farther_to_where_the_bias_points():
    draws = np.random.default_rng(0).normal(0.7, 0.1, 4000)  # the data say 0.8: draws lie low, so the truth is higher
    error, bias, low, high = kernel.student_interval(draws, 0.8, 50, limits=(-1, 1))
    half = stats.t.ppf(0.975, 49) * error
    assert bias == pytest.approx(-0.1, abs=0.01)
    assert (low, high) == (pytest.approx(0.8 - half), 1.0)
    assert kernel.student_interval(draws, 0.8, 50)[3] == pytest.approx(0.8 + half - bias)
    assert np.isnan(kernel.student_interval(draws, 0.8, 1)).all()
    assert np.isnan(kernel.student_interval(np.array([1.0, np.inf]), 0.8, 5)).all()


def test_expanded_percentile_interval_of_a_normal_bootstrap_is_the_t_interval():
    """Draws of a mean of n: sd sqrt((n - 1) / n) of the standard error; expanded, their interval is Student's."""
    n, error = 8, 0.5
    draws = error * np.sqrt((n - 1) / n) * stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    low, high = kernel.percentile_interval(draws, 0.95, n)
    assert [low, high] == pytest.approx(stats.t.ppf([0.025, 0.975], n - 1) * error, rel=1e-3)
    assert all(np.isnan(kernel.percentile_interval(draws, 0.95, 1)))


def test_percentile_interval_leaves_nan_out():
    assert kernel.percentile_interval(np.array([np.nan, 1.0, 1.0])) == (1.0, 1.0)
    assert all(np.isnan(kernel.percentile_interval(np.array([np.nan]))))


def test_bca_interval_is_the_published_one(boot):
    # SciPy's own test against R's boot: BCa 32.31 to 91.43, and percentile three to seven below
    draws = kernel.cluster_totals(WAITS[:, None], np.random.default_rng(0), 200_000)[:, 0] / WAITS.size
    low, high = kernel.bca_interval(draws, WAITS.mean(), WAITS - WAITS.mean())
    assert (low, high) == (pytest.approx(32.31, rel=0.005), pytest.approx(91.43, rel=0.005))
    assert low == pytest.approx(boot["waits", "bca_low"], rel=0.005)
    assert high == pytest.approx(boot["waits", "bca_high"], rel=0.005)


def test_bca_interval_of_the_city_ratio_is_that_of_boot(boot):
    # Davison and Hinkley (1997), their table of cities; R's boot with B = 199,999, and its numerical derivatives
    draws = ratio(kernel.cluster_totals(CITY, np.random.default_rng(0), 200_000))
    estimate = ratio(CITY.sum(axis=0)[None, :])[0]
    published = np.array([boot["city", f"influence_{k}"] for k in range(1, 11)])
    np.testing.assert_allclose((CITY[:, 1] - estimate * CITY[:, 0]) / CITY[:, 0].mean(), published, atol=2e-4)
    for name, influence in (("derivative", published), ("jackknife", jackknife(CITY, ratio))):
        low, high = kernel.bca_interval(draws, estimate, influence)
        assert low == pytest.approx(boot["city", f"bca_{name}_low"], rel=0.003)
        assert high == pytest.approx(boot["city", f"bca_{name}_high"], rel=0.003)
    assert boot["city", "bca_regression_low"] == pytest.approx(1.257, rel=0.005)  # with B = 9,999
    assert boot["city", "bca_regression_high"] == pytest.approx(2.168, rel=0.02)
    low, high = kernel.percentile_interval(draws)
    assert low == pytest.approx(boot["city", "percentile_low"], rel=0.005)
    assert high == pytest.approx(boot["city", "percentile_high"], rel=0.005)
    assert draws.std() == pytest.approx(boot["city", "std_error"], rel=0.02)


@given(st.integers(0, 2**32 - 1), st.integers(4, 30), st.sampled_from([0.8, 0.95]))
def test_bca_interval_is_scipys_on_the_same_draws(seed, clusters, level):
    rng = np.random.default_rng(seed)
    counts = np.column_stack([rng.integers(2, 9, clusters), rng.integers(0, 50, clusters)]).astype(float)
    draws = ratio(kernel.cluster_totals(counts, rng, 400))
    estimate = ratio(counts.sum(axis=0)[None, :])[0]

    def statistic(n, y, axis=-1):
        return y.sum(axis=axis) / n.sum(axis=axis)

    class Drawn:
        bootstrap_distribution = draws

    peer = stats.bootstrap(
        tuple(counts.T),
        statistic,
        n_resamples=0,
        paired=True,
        vectorized=True,
        confidence_level=level,
        method="BCa",
        bootstrap_result=Drawn(),
    ).confidence_interval
    got = kernel.bca_interval(draws, estimate, jackknife(counts, ratio), level)
    np.testing.assert_allclose(got, (peer.low, peer.high), rtol=1e-9)


def test_bca_interval_of_a_two_sample_statistic_is_boots(boot):
    # the larger five cities are a stratum of their own
    strata = np.repeat([0, 1], 5)
    draws = ratio(kernel.cluster_totals(CITY, np.random.default_rng(0), 200_000, strata))
    without = without_one(CITY, ratio)
    mean = np.array([without[strata == s].mean() for s in (0, 1)])[strata]
    low, high = kernel.bca_interval(draws, 1.5203125, (mean - without) * 4 / 5)
    assert draws.std() == pytest.approx(boot["city_strata", "std_error"], rel=0.01)
    assert low == pytest.approx(boot["city_strata", "bca_low"], rel=0.005)
    assert high == pytest.approx(boot["city_strata", "bca_high"], rel=0.01)


def test_bca_knows_a_tie_in_spite_of_rounding():
    draws = np.array([0.1 + 0.2, 0.3, 0.1, 0.7] * 50)  # of 0.1 + 0.2 and 0.3 one is larger, by rounding
    both = [kernel.bca_interval(draws, x, np.array([-1.0, 0.0, 1.0])) for x in (0.3, 0.1 + 0.2)]
    assert both[0] == both[1]


def test_bca_without_skewness_or_bias_is_the_percentile_interval():
    draws = np.random.default_rng(0).permutation(np.arange(-500.0, 501.0))
    low, high = kernel.bca_interval(draws, 0.0, np.array([-1.0, 1.0]))
    assert (low, high) == (pytest.approx(-475), pytest.approx(475))


def test_bca_weights_are_repeats():
    draws = np.random.default_rng(0).gamma(2, size=2000)
    influence, weight = np.array([-1.0, 0.5, 2.0]), np.array([4.0, 2.0, 1.5])
    got = kernel.bca_interval(draws, 1.7, influence, weight=2 * weight)
    assert got == kernel.bca_interval(draws, 1.7, np.repeat(influence, [8, 4, 3]))
    assert got != kernel.bca_interval(draws, 1.7, influence)


@pytest.mark.parametrize(
    ("draws", "influence"),
    [
        (np.ones(50), np.array([1.0, -1.0])),  # all agree, with the estimate too: influence says nothing either
        (np.arange(2.0, 50), np.array([1.0, -1.0])),  # all on one side
        (np.full(9, np.nan), np.array([1.0, -1.0])),
        (np.arange(50.0) - 20, np.zeros(3)),
    ],
)
def test_bca_that_is_not_defined_is_nan(draws, influence):
    low, high = kernel.bca_interval(draws, 1.0, influence)
    assert math.isnan(low) == math.isnan(high)
    assert math.isnan(low) or low == high


def test_bca_too_skewed_to_be_corrected_is_nan():
    draws = np.random.default_rng(0).gamma(2, size=500)
    influence = np.array([-0.001] * 3 + [1.0])  # acceleration near 1/6: fine at 95 %, not with a large bias
    assert not math.isnan(kernel.bca_interval(draws, np.median(draws), influence)[0])
    assert all(math.isnan(x) for x in kernel.bca_interval(draws, draws.max(), influence, 1 - 1e-9))


def test_bca_keeps_an_infinite_end():
    draws = np.concatenate([np.arange(900.0), np.full(100, np.inf)])
    low, high = kernel.bca_interval(draws, 499.5, np.array([-1.0, 1.0]))
    assert 0 < low < 100
    assert high == np.inf


@given(st.integers(1, 400), st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_binomial_interval_is_the_binomial_quantile(n, data, level):
    k = data.draw(st.integers(0, n))
    tail = (1 - level) / 2
    low, high = stats.binom.ppf([tail, 1 - tail], n, k / n) / n
    assert kernel.binomial_interval(k, n, level) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))


@pytest.mark.parametrize(("k", "n"), [(266, 400), (3, 20), (1, 29), (37, 38)])
def test_binomial_interval_is_the_limit_of_the_bootstrap(k, n):
    totals = kernel.multinomial_totals(np.array([k, n - k]), np.random.default_rng(0), 400_000)
    drawn = kernel.percentile_interval(totals[:, 0] / n)
    np.testing.assert_allclose(kernel.binomial_interval(k, n), drawn, atol=1 / n + 1e-12)
    assert kernel.binomial_interval(k, n)[0] == pytest.approx(drawn[0], abs=1e-12)


def test_binomial_interval_at_the_edges():
    assert kernel.binomial_interval(0, 20) == (0.0, 0.0)
    assert kernel.binomial_interval(20, 20) == (1.0, 1.0)
    assert all(math.isnan(x) for x in kernel.binomial_interval(0, 0))


def test_resamples_of_no_rows_are_empty():
    assert kernel.multinomial_totals(np.ones(0), np.random.default_rng(0), 3).shape == (3, 0)
