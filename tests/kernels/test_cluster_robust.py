"""The cluster-robust variance against clubSandwich, a brute-force matrix computation, and cases with a closed form."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from judgestats.kernels.cluster_robust import (
    cluster_robust,
    clustered_ratio,
    degrees_of_freedom,
    jackknife_interval,
    skewed_ends,
    variance_degrees,
)
from judgestats.kernels.proportions import clustered_wilson

STORED = pd.read_csv(Path(__file__).parents[1] / "reference" / "cluster_robust.csv", comment="#")


@pytest.mark.parametrize("key", sorted(set(zip(STORED["set"], STORED["contrast"], strict=True))))
def test_standard_errors_and_degrees_of_freedom_are_clubsandwichs(key: tuple[str, str]) -> None:
    rows = STORED[(STORED["set"] == key[0]) & (STORED["contrast"] == key[1])]
    of_parts = key[1] == "difference"
    by_cluster = rows.assign(part=rows["part"] if of_parts else "whole").pivot_table(
        index="cluster", columns="part", values=["k", "n"], aggfunc="sum", fill_value=0
    )
    k, n = (by_cluster[c].to_numpy(dtype=float) for c in ("k", "n"))
    got = cluster_robust(k, n, np.array([-1.0, 1.0]) if of_parts else np.ones(1))
    expected = rows[["estimate", "std_error", "df"]].iloc[0].tolist()
    assert [got.estimate, np.sqrt(got.variance), got.df] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", sorted(set(STORED["set"])))
def test_a_share_has_the_scores_interval_at_clubsandwichs_variance(name: str) -> None:
    """Ends are where (p - x) / sqrt(x (1 - x) / n_eff) is the t quantile, n_eff = p (1 - p) / V: solved, not by formula."""
    rows = STORED[(STORED["set"] == name) & (STORED["contrast"] == "whole")]
    k, n = rows.groupby("cluster")[["k", "n"]].sum().to_numpy(dtype=float).T
    p, error, df = rows[["estimate", "std_error", "df"]].iloc[0]
    if n.mean() > 3:  # no more than 2 above what the clusters with the rarer answer are worth
        df = min(df, 2 + min(n[rare].sum() ** 2 / (n[rare] ** 2).sum() for rare in (k > 0, k < n)))
    effective, t = p * (1 - p) / error**2, stats.t.ppf(0.975, df)
    if effective > n.sum():
        pytest.skip("clusters vary less than independent calls: n_eff may be bounded")
    ends = [
        optimize.brentq(lambda x: (p - x) ** 2 - t**2 * x * (1 - x) / effective, *bracket, xtol=1e-14)
        for bracket in ((0.0, p), (p, 1.0))
    ]
    assert clustered_wilson(k, n, 0.95) == pytest.approx((error, *ends), rel=1e-6)


def test_the_degrees_of_freedom_of_a_variance_are_those_of_its_kurtosis() -> None:
    """2G/(κ - 1), whatever the unit; a row stands for several clusters; two values alike in size have no limit."""
    u = np.random.default_rng(4).standard_t(4, 50)
    kurtosis = stats.kurtosis(u - u.mean(), fisher=False)
    assert variance_degrees(u - u.mean()) == pytest.approx(100 / (kurtosis - 1))
    assert variance_degrees(3 * u[:2], np.array([2.0, 5.0])) == pytest.approx(
        variance_degrees(np.repeat(u[:2], [2, 5]))
    )
    assert variance_degrees(np.array([1.0, -1, 1, -1])) == math.inf


def test_the_ends_of_a_mean_without_skewness_are_students() -> None:
    u = np.array([-2.0, -1, 0, 1, 2])
    assert skewed_ends(3.0, 0.5, 4, u, 0.95) == pytest.approx(stats.t.interval(0.95, 4, 3.0, 0.5))
    low, high = skewed_ends(3.0, 0.5, 4, u**2 - 2, 0.95)
    assert high - 3 > 3 - low
    assert skewed_ends(-3.0, 0.5, 4, 2 - u**2, 0.95) == pytest.approx((-high, -low))


def test_equal_clusters_have_the_usual_correction() -> None:
    k = np.array([[1.0], [3.0], [5.0], [2.0]])
    n = np.full((4, 1), 6.0)
    got = cluster_robust(k, n, np.ones(1))
    assert got.df == pytest.approx(3)
    assert got.variance == pytest.approx((k / 6).var(ddof=1) / 4)


def test_a_row_stands_for_several_clusters() -> None:
    k, n = np.array([[1.0], [3.0], [0.0]]), np.array([[2.0], [9.0], [4.0]])
    alike = np.array([3.0, 1.0, 2.0])
    times = alike.astype(int)
    assert cluster_robust(k, n, np.ones(1), alike) == pytest.approx(
        cluster_robust(np.repeat(k, times, 0), np.repeat(n, times, 0), np.ones(1))
    )


@pytest.mark.parametrize(
    ("k", "n"),
    [
        ([[1.0]], [[2.0]]),
        ([[1.0], [0.0]], [[2.0], [0.0]]),
        ([[1.0, 0.0], [1.0, 2.0]], [[2.0, 0.0], [2.0, 3.0]]),
    ],
)
def test_one_cluster_or_a_ratio_of_one_cluster_has_no_variance(k: list[list[float]], n: list[list[float]]) -> None:
    got = cluster_robust(np.array(k), np.array(n), np.ones(len(k[0])))
    assert np.isnan([got.variance, got.df]).all()
    assert np.isfinite(got.estimate)


def test_the_degrees_of_freedom_of_a_mean_need_the_sizes_only() -> None:
    n, alike = np.array([2.0, 9.0, 4.0]), np.array([3.0, 1.0, 2.0])
    whole = cluster_robust(n[:, None] / 2, n[:, None], np.ones(1), alike)
    assert degrees_of_freedom(n, alike) == pytest.approx(whole.df)
    assert degrees_of_freedom(np.full(7, 3.0)) == pytest.approx(6)


def test_jackknife_interval_is_t_of_the_estimates_without_each_cluster() -> None:
    found = jackknife_interval(2.5, np.array([2.0, 2.5, 3.0]), np.ones(3), 0.95)
    assert found.std_error == pytest.approx(np.sqrt(2 / 3 * 0.5))
    half = stats.t.ppf(0.975, 2) * found.std_error
    assert (found.low, found.high) == (pytest.approx(2.5 - half), pytest.approx(2.5 + half))
    assert found.p_value == pytest.approx(2 * stats.t.sf(2.5 / found.std_error, 2))
    assert np.isnan(jackknife_interval(1.0, np.ones(3), np.ones(3), 0.95)).all()
    assert np.isnan(jackknife_interval(1.0, np.array([2.0]), np.ones(1), 0.95)).all()
    assert np.isnan(jackknife_interval(1.0, np.array([2.0, 3.0]), np.zeros(2), 0.95)).all()


def test_the_jackknife_of_a_mean_over_unequal_clusters_has_no_bias_and_that_of_equal_ones_the_usual_error() -> None:
    rng = np.random.default_rng(2)
    n = np.array([100.0, 100.0, *[4.0] * 28])
    k = rng.binomial(n.astype(int), 0.7).astype(float)
    mean, without = k.sum() / n.sum(), (k.sum() - k) / (n.sum() - n)
    found = jackknife_interval(mean, without, n, 0.95)
    assert (found.low + found.high) / 2 == pytest.approx(mean)  # reaching farther to neither side
    assert (found.high - mean) / found.std_error == pytest.approx(stats.t.ppf(0.975, degrees_of_freedom(n)))
    k, n = k[2:], n[2:]
    equal = jackknife_interval(k.sum() / n.sum(), (k.sum() - k) / (n.sum() - n), n, 0.95)
    assert equal.std_error**2 == pytest.approx(cluster_robust(k[:, None], n[:, None], np.ones(1)).variance)


def test_a_row_of_the_jackknife_stands_for_several_clusters() -> None:
    without, n, alike = np.array([0.2, 0.5, 0.6]), np.array([2.0, 9.0, 4.0]), np.array([3.0, 1.0, 2.0])
    times = alike.astype(int)
    each = jackknife_interval(0.4, np.repeat(without, times), np.repeat(n, times), 0.9)
    assert jackknife_interval(0.4, without, n, 0.9, alike) == pytest.approx(each)


def test_one_ratio_is_the_general_case() -> None:
    rng = np.random.default_rng(6)
    n, alike = rng.integers(1, 90, 12).astype(float), rng.integers(1, 4, 12).astype(float)
    k = rng.binomial(n.astype(int), 0.3).astype(float)
    assert clustered_ratio(k, n, alike) == pytest.approx(cluster_robust(k[:, None], n[:, None], np.ones(1), alike))
    one = clustered_ratio(np.array([1.0]), np.array([4.0]), np.ones(1))
    assert one.estimate == 0.25
    assert np.isnan(one[1:]).all()
    swamped = clustered_ratio(np.array([1.0, 0.0]), np.array([4.0, 1e-20]), np.ones(2))
    assert np.isnan(swamped[1:]).all()
    assert np.isnan(clustered_ratio(np.zeros(0), np.zeros(0), np.zeros(0))).all()
