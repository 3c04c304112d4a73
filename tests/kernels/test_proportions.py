"""Intervals for proportions against published values, and the kernel against its twin."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

import twins
from judgestats.kernels import proportions as kernel

# Newcombe (1998) cases as R's prop.test and statsmodels print them
WILSON = [
    (81, 263, 0.25528852, 0.36620958),
    (15, 148, 0.06238640, 0.16048724),
    (0, 20, 0.0, 0.16112516),
    (1, 29, 0.00611321, 0.17175522),
    (19, 38, 0.348499283643951, 0.651500716356049),
    (38, 38, 0.90819013, 1.0),
    (18, 20, 0.6989663547715128, 0.972133518786232),
    (4, 20, 0.0806576625797981, 0.4160174322518935),
    (4, 200, 0.00780442641634947, 0.05028708690582643),
]


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize(("k", "n", "low", "high"), WILSON)
def test_wilson_is_the_published_interval(k, n, low, high):
    assert kernel.wilson(k, n) == (pytest.approx(low, abs=1e-8), pytest.approx(high, abs=1e-8))


@pytest.mark.usefixtures("form")
def test_wilson_at_the_edges_is_exactly_0_and_1():
    assert float(kernel.wilson(0, 20)[0]) == 0.0
    assert float(kernel.wilson(38, 38)[1]) == 1.0
    assert all(math.isnan(x) for x in kernel.wilson(0, 0))


@pytest.mark.usefixtures("form")
@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), min_size=1, max_size=20))
def test_wilson_equals_its_twin(pairs):
    k, n = np.array([min(p) for p in pairs], float), np.array([max(p) for p in pairs], float)
    z = kernel.normal_quantile(0.95)
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = twins.wilson(k / n, n, np.full(k.size, z))
    for got, want in zip(kernel.wilson(k, n), expected, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-12)


@pytest.mark.usefixtures("form")
@given(st.integers(1, 500), st.data(), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_wilson_is_statsmodels(n, data, level):
    k = data.draw(st.integers(0, n))
    np.testing.assert_allclose(kernel.wilson(k, n, level), proportion_confint(k, n, 1 - level, "wilson"), atol=1e-12)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((56, 70, 48, 80), 0.05243147, 0.33387265),
        ((9, 10, 3, 10), 0.17052272, 0.80901797),
    ],
)
def test_newcombe_is_the_published_interval(counts, low, high):
    assert kernel.newcombe(*counts) == (pytest.approx(low, abs=1e-8), pytest.approx(high, abs=1e-8))


def test_newcombe_is_the_published_interval_of_seven_and_one():
    # Newcombe (1998) prints .019 to .340, statsmodels' tests .018921 to .340369
    assert kernel.newcombe(7, 34, 1, 34) == (pytest.approx(0.018921, abs=5e-7), pytest.approx(0.340369, abs=5e-7))


@given(st.integers(1, 300), st.integers(1, 300), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_newcombe_is_statsmodels(n1, n2, data, level):
    k1, k2 = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))
    peer = confint_proportions_2indep(k1, n1, k2, n2, method="newcomb", compare="diff", alpha=1 - level)
    np.testing.assert_allclose(kernel.newcombe(k1, n1, k2, n2, level), peer, atol=1e-10)


def test_newcombe_paired_is_the_published_interval():
    # Newcombe (1998b), Table I of the paired paper: 36, 12, 2, 0 by method 10
    assert kernel.newcombe_paired(36, 12, 2, 0) == (pytest.approx(0.0569, abs=5e-5), pytest.approx(0.3404, abs=5e-5))


def test_newcombe_paired_changes_sign_with_its_arguments():
    low, high = kernel.newcombe_paired(30, 9, 4, 7)
    assert kernel.newcombe_paired(30, 4, 9, 7) == (pytest.approx(-high), pytest.approx(-low))


def test_clustered_wilson_of_clusters_of_one_is_nearly_wilson():
    rng = np.random.default_rng(1)
    k = rng.integers(0, 2, 4000).astype(float)
    se, low, high = kernel.clustered_wilson(k, np.ones(4000))
    p = k.mean()
    assert se == pytest.approx(math.sqrt(p * (1 - p) / 3999), rel=1e-9)
    assert (low, high) == (
        pytest.approx(float(kernel.wilson(k.sum(), 4000)[0]), abs=2e-5),
        pytest.approx(float(kernel.wilson(k.sum(), 4000)[1]), abs=2e-5),
    )


def test_clustered_wilson_of_copied_calls_ignores_the_copies():
    k = np.array([1.0, 0, 1, 1, 0, 1, 0, 1, 1, 1])
    once = kernel.clustered_wilson(k, np.ones(10))
    assert kernel.clustered_wilson(7 * k, np.full(10, 7.0)) == pytest.approx(once)


def test_clustered_wilson_of_a_rare_answer_knows_its_variance_from_few_clusters():
    """Of 30 clusters of ten, six contain it: t on 2 + 6 degrees of freedom, and not on 29; of two calls each, on 29."""
    k = np.array([1.0, 2, 1, 4, 1, 2] + [0] * 24)
    se, low, high = kernel.clustered_wilson(k, np.full(30, 10.0))
    for t, closer in ((stats.t.ppf(0.975, 8), True), (stats.t.ppf(0.975, 29), False)):
        effective = k.mean() / 10 * (1 - k.mean() / 10) / se**2
        score = [abs(k.mean() / 10 - x) / np.sqrt(x * (1 - x) / effective) for x in (low, high)]
        assert (score == pytest.approx([t, t])) is closer
    pairs = np.array([1.0, 1, 1, 2, 1, 2] + [0] * 24)
    se, low, high = kernel.clustered_wilson(pairs, np.full(30, 2.0))
    effective = pairs.mean() / 2 * (1 - pairs.mean() / 2) / se**2
    score = [abs(pairs.mean() / 2 - x) / np.sqrt(x * (1 - x) / effective) for x in (low, high)]
    assert score == pytest.approx([stats.t.ppf(0.975, 29)] * 2)


def test_a_bias_near_one_knows_its_variance_from_few_clusters():
    """Of 30 clusters of ten, six have the other answer: t on 2 + 6 degrees of freedom; of two calls each, on 29."""
    c = np.array([1.0] * 6 + [0] * 24)
    for size, df in ((10.0, 8), (2.0, 29)):
        n = np.full(30, size)
        bias = kernel.clustered_tango(n - 2 * c, np.zeros(30), n, of_one_sample=True)
        farther = kernel.clustered_tango(n - 2 * c, np.zeros(30), n, 2 * stats.t.cdf(stats.t.ppf(0.975, df), 29) - 1)
        assert bias.df == pytest.approx(df)
        assert (bias.low, bias.high) == pytest.approx((farther.low, farther.high))


def test_clustered_wilson_at_one_counts_clusters():
    _, low, high = kernel.clustered_wilson(np.full(8, 5.0), np.full(8, 5.0))
    assert high == 1.0
    assert low == pytest.approx(float(kernel.wilson(8, 8, df=7)[0]))


def test_clustered_wilson_of_one_cluster_is_unknown():
    assert all(math.isnan(x) for x in kernel.clustered_wilson(np.array([3.0]), np.array([5.0])))


def test_goodman_is_wilson_at_a_shared_level():
    low, high = kernel.goodman(np.array([56.0, 72, 73, 59, 62, 87, 58]))  # Goodman's dice, Sison and Glaz (1995)
    level = 1 - 0.05 / 7
    want = [proportion_confint(k, 467, 1 - level, "wilson") for k in (56, 72, 73, 59, 62, 87, 58)]
    np.testing.assert_allclose(np.column_stack([low, high]), want, atol=1e-12)


# ---------------------------------------------------------------- Tango


def test_tango_is_the_published_interval():
    # airway hyper-responsiveness: 1 and 7 discordant of 21 (Fagerland, Lydersen, Laake 2014)
    assert kernel.tango(1, 7, 21) == (pytest.approx(-0.517, abs=5e-4), pytest.approx(-0.026, abs=5e-4))


@pytest.mark.parametrize("n", [1, 21, 350])
def test_tango_without_discordant_pairs_has_a_closed_form(n):
    z = kernel.normal_quantile(0.95)
    assert kernel.tango(0, 0, n) == (pytest.approx(-(z**2) / (n + z**2)), pytest.approx(z**2 / (n + z**2)))


@pytest.mark.parametrize(
    ("b", "c", "n"), [(1, 7, 21), (6, 16, 161), (0, 5, 40), (12, 12, 30), (3, 0, 8), (2.5, 1.25, 9)]
)
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_tango_equals_its_twin(b, c, n, level):
    want = twins.tango(b, c, n, kernel.normal_quantile(level))
    assert kernel.tango(b, c, n, level) == pytest.approx(want, abs=2e-5)


def test_tango_leaves_out_0_where_mcnemar_rejects():
    for b in range(0, 30, 3):
        for c in range(0, 30, 4):
            low, high = kernel.tango(b, c, 80)
            rejected = b + c > 0 and (b - c) ** 2 / (b + c) > kernel.normal_quantile(0.95) ** 2
            assert (low > 0 or high < 0) == rejected
            assert low <= (b - c) / 80 <= high
            assert kernel.tango(c, b, 80) == pytest.approx((-high, -low))


def clusters_of(rng, clusters=60, size=5):
    share = rng.dirichlet([0.6, 1.2, 3], clusters)
    drawn = np.array([rng.multinomial(size, s) for s in share], dtype=float)
    return drawn[:, 0], drawn[:, 1], drawn.sum(axis=1)


def test_a_pair_a_cluster_is_mcnemar_and_tango_but_for_one_degree_of_freedom():
    b, c = np.repeat([1.0, 0, 0], [9, 21, 70]), np.repeat([0.0, 1, 0], [9, 21, 70])
    found = kernel.clustered_tango(b, c, np.ones(100))
    assert found.statistic == pytest.approx(144 / 30 * 99 / 100)
    assert (found.low, found.high) == pytest.approx(kernel.tango(9, 21, 100), abs=0.003)
    assert found.df == pytest.approx(99)


def test_copies_of_a_pair_are_worth_one():
    rng = np.random.default_rng(3)
    b, c, n = clusters_of(rng, size=1)
    one, five = kernel.clustered_tango(b, c, n), kernel.clustered_tango(5 * b, 5 * c, 5 * n)
    assert five == pytest.approx(one)


def test_interval_and_test_tell_one_story():
    rng = np.random.default_rng(4)
    rejected = 0
    for _ in range(300):
        found = kernel.clustered_tango(*clusters_of(rng, int(rng.integers(2, 60)), int(rng.integers(1, 6))))
        assert (found.p_value < 0.05) == (found.low > 0 or found.high < 0)
        rejected += found.p_value < 0.05
    assert 30 < rejected < 270


def test_clusters_in_which_the_pairs_cancel_have_the_interval_of_no_discordance():
    found = kernel.clustered_tango(np.ones(350), np.ones(350), np.full(350, 2.0))
    assert (found.low, found.high) == (pytest.approx(-0.01093, abs=1e-5), pytest.approx(0.01093, abs=1e-5))
    assert found.p_value == 1


def test_alike_clusters_counted_are_those_clusters():
    k, n = np.array([0.0, 1, 2]), np.array([2.0, 2, 1])
    times = np.array([3, 4, 2])
    want = kernel.clustered_wilson(np.repeat(k, times), np.repeat(n, times))
    assert kernel.clustered_wilson(k, n, alike=times.astype(float)) == pytest.approx(want)


def test_few_clusters_that_differ_do_not_make_an_interval_narrow():
    """Both orders of 350 pairs, of which a few are not half and half: with 1 as with 0 of them, as wide as 700 calls."""
    for odd in (0, 1, 5):
        k = np.where(np.arange(350) < odd, 2.0, 1.0)
        _, low, high = kernel.clustered_wilson(k, np.full(350, 2.0))
        assert high - low == pytest.approx(0.074, abs=0.002)
    k = np.where(np.arange(350) < 40, 2.0, 1.0)
    assert np.diff(kernel.clustered_wilson(k, np.full(350, 2.0))[1:]) < 0.04


def test_ratios_over_shared_clusters_are_linearised():
    """Equal denominators: a paired mean. One ratio: the ratio estimator. A cluster in one ratio only counts there."""
    rng = np.random.default_rng(5)
    k, n = rng.integers(0, 4, (30, 2)).astype(float), np.full((30, 2), 3.0)
    value, error, low, high = kernel.clustered_ratios(k, n, np.array([1.0, -1.0]))
    d = (k[:, 0] - k[:, 1]) / 3
    assert (value, error) == (pytest.approx(d.mean()), pytest.approx(d.std(ddof=1) / math.sqrt(30)))
    half = stats.t.ppf(0.975, 29) * error
    assert (low, high) == (pytest.approx(value - half), pytest.approx(value + half))
    n[:, 0] = rng.integers(0, 5, 30)
    k[:, 0] = np.minimum(k[:, 0], n[:, 0])
    one = kernel.clustered_ratios(k[:, :1], n[:, :1], np.ones(1))
    assert one[1] == pytest.approx(kernel.clustered_wilson(k[:, 0], n[:, 0])[0])
    apart = kernel.clustered_ratios(np.kron(np.eye(2), k[:, :1]), np.kron(np.eye(2), n[:, :1]), np.array([1.0, -1.0]))
    assert apart[:2] == (pytest.approx(0.0), pytest.approx(math.sqrt(2) * one[1]))  # independent samples
    assert np.isnan(kernel.clustered_ratios(k, 0 * n, np.ones(2))).all()
    assert np.isnan(kernel.clustered_ratios(k[:1], np.ones((1, 2)), np.ones(2))[1:]).all()


def test_a_bounded_difference_has_a_quarter_of_a_cluster_at_each_bound():
    """The t interval of weighted observations: clusters of weight 1, and -1 and 1 of weight 1/4."""
    d = np.random.default_rng(2).choice([-1.0, 0, 0, 1 / 3], 30)
    value, error, low, high = kernel.clustered_ratios(d[:, None], np.ones((30, 1)), np.ones(1), bound=1.0)
    assert (value, error) == (pytest.approx(d.mean()), pytest.approx(d.std(ddof=1) / math.sqrt(30)))
    x, weight = np.append(d, [-1, 1]), np.append(np.ones(30), [0.25, 0.25])
    centre = np.average(x, weights=weight)
    spread = np.average((x - centre) ** 2, weights=weight) * 30 / 29
    half = stats.t.ppf(0.975, 29) * math.sqrt(spread / 30.5)
    assert (low, high) == (pytest.approx(centre - half), pytest.approx(centre + half))
    alike = kernel.clustered_ratios(np.zeros((30, 1)), np.ones((30, 1)), np.ones(1), bound=1.0)
    assert alike[2] == pytest.approx(-alike[3])
    assert 0 < alike[3] < 0.1, "30 clusters without a difference"


@pytest.mark.parametrize("alike", [0.0, 1.0])
def test_a_difference_of_shares_has_a_quarter_of_a_thing_at_each_bound(alike):
    """Of as many things as the clusters are worth, and a quarter of a cluster at most, where all calls are alike."""
    rng = np.random.default_rng(3)
    answers = rng.random((40, 8, 2)) < [0.9, 0.7]
    answers = np.where(rng.random((40, 1, 1)) < alike, answers[:, :1], answers)
    k, n, weight = answers.sum(axis=1).astype(float), np.full((40, 2), 8.0), np.array([1.0, -1.0])
    _, error, low, high = kernel.clustered_ratios(k, n, weight, bound=1.0, things=320.0)
    p = k.sum(axis=0) / 320
    worth = 320 / max(error**2 / max(p * (1 - p) / 320), 1)
    pseudo = 0.25 * min(40 / worth, 1)
    x, weights = np.append((k / 8) @ weight, [-1, 1]), np.append(np.ones(40), [pseudo, pseudo])
    centre = np.average(x, weights=weights)
    spread = weights @ (x - centre) ** 2 / 39 * 40 / weights.sum()
    half = stats.t.ppf(0.975, 39) * math.sqrt(spread / weights.sum())
    assert (low, high) == (pytest.approx(centre - half), pytest.approx(centre + half))
    plain, quarter = (kernel.clustered_ratios(k, n, weight, bound=b) for b in (math.inf, 1.0))
    assert plain[3] - plain[2] < high - low <= quarter[3] - quarter[2]
    assert pseudo == 0.25 if alike else 0.25 / 8 < pseudo < 0.1


def test_a_sum_of_shares_is_composed_of_their_clustered_intervals():
    """Shares in clusters of their own: distances are squared and added; the same share twice: they are added."""
    rng = np.random.default_rng(1)
    size = rng.integers(2, 9, (30, 2)).astype(float)
    hits = rng.binomial(size.astype(int), [0.7, 0.2]).astype(float)
    apart = np.zeros((60, 2)), np.zeros((60, 2))
    for i in range(2):
        apart[0][30 * i : 30 * (i + 1), i], apart[1][30 * i : 30 * (i + 1), i] = hits[:, i], size[:, i]
    ends = [kernel.clustered_wilson(hits[:, i], size[:, i]) for i in range(2)]
    p = hits.sum(axis=0) / size.sum(axis=0)
    error, low, high = kernel.clustered_sum(*apart, np.array([1.0, -1.0]))
    assert error == pytest.approx(math.hypot(ends[0][0], ends[1][0]))
    assert low == pytest.approx(p[0] - p[1] - math.hypot(p[0] - ends[0][1], ends[1][2] - p[1]))
    assert high == pytest.approx(p[0] - p[1] + math.hypot(ends[0][2] - p[0], p[1] - ends[1][1]))
    twice = [np.column_stack([x[:, 0], x[:, 0]]) for x in (hits, size)]
    error, low, high = kernel.clustered_sum(*twice, np.array([0.5, 0.5]))
    assert (error, low, high) == pytest.approx(ends[0])
    error, low, high = kernel.clustered_sum(*twice, np.array([1.0, -1.0]))
    assert error == pytest.approx(0, abs=1e-8)
    scale = (np.log, lambda x: 1 / x)
    error, low, high = kernel.clustered_sum(hits[:, :1], size[:, :1], np.ones(1), scale=scale)
    assert (low, high) == pytest.approx((math.log(ends[0][1]), math.log(ends[0][2])))
    assert error == pytest.approx(ends[0][0] / p[0])
