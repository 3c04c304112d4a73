"""Corrected rates: published figures, ppi-python's, numerical derivatives, a jackknife, and counts as rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, ndtri, xlogy

from judgestats.kernels.cluster_sums import covariance
from judgestats.kernels.corrected_means import (
    class_rates,
    corrected_interval,
    corrected_share,
    inversely_weighted,
    prediction_powered,
    profile_interval,
)

STORED = Path(__file__).parents[1] / "reference" / "ppi.csv"


Z = float(ndtri(0.975))


def made(seed, n, N, kind):
    """The data of tests/reference/ppi.py."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n + N)
    if kind == "scores":
        verdict = np.round(np.clip(0.6 * truth + 0.3 + 0.15 * rng.standard_normal(n + N), 0, 1), 6)
        return np.round(truth[:n], 6), verdict[:n], verdict[n:]
    label = (truth < 0.3).astype(float)
    verdict = np.where(rng.random(n + N) < 0.85, label, 1 - label)
    return label[:n], verdict[:n], verdict[n:]


def powered(y, f, g, **options):
    labels = np.concatenate([y, np.full(len(g), np.nan)])
    return prediction_powered(np.concatenate([f, g])[:, None], labels, np.ones(len(labels)), **options)


def error_of(found, n=None, unit=None):
    n = np.ones(len(found.influence)) if n is None else n
    return float(np.sqrt(covariance(found.influence[:, None], n, unit)[0, 0]))


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ((0.4, 0.7, 0.9, 1000, 200, 200), (0.166667, 0.056351, 0.262733)),
        ((0.8, 0.85, 0.95, 500, 50, 150), (0.8125, 0.747261, 0.874498)),
    ],
)
def test_the_cases_of_lee_et_al(given, want):
    found = corrected_interval(*given, Z)
    got = (float(corrected_share(*given[:3])), float(found.low), float(found.high))
    np.testing.assert_allclose(got, want, atol=5e-7)


@pytest.mark.parametrize("row", pd.read_csv(STORED).to_dict("records"), ids=lambda r: f"{r['kind']}{r['seed']}")
def test_what_ppi_python_gives_at_its_coefficient(row):
    data = made(row["seed"], row["n"], row["N"], row["kind"])
    found = powered(*data, ddof=0, coefficients=np.array([row["lam"]]))
    half = Z * error_of(found)
    got = (found.estimate, found.estimate - half, found.estimate + half)
    np.testing.assert_allclose(got, (row["estimate"], row["low"], row["high"]), atol=1e-10)


def test_the_coefficient_has_the_smallest_variance():
    """Of the variance with the pooled variance of the verdicts, by search."""
    y, f, g = made(3, 80, 1000, "yes")
    found = powered(y, f, g)
    spread, joint = np.var([*f, *g], ddof=1), np.cov(f, y)[0, 1]
    grid = np.linspace(0, 1, 20001)
    variance = (np.var(y, ddof=1) - 2 * grid * joint + grid**2 * spread) / len(y) + grid**2 * spread / len(g)
    assert found.coefficients[0] == pytest.approx(grid[variance.argmin()], abs=5e-5)


def test_several_judges_have_a_coefficient_each():
    rng = np.random.default_rng(0)
    n, N = 150, 900
    quality = rng.standard_normal(n + N)
    f = quality[:, None] + rng.standard_normal((n + N, 3)) * [0.5, 1.0, 2.0]
    y = np.where(np.arange(n + N) < n, quality + 0.3 * rng.standard_normal(n + N), np.nan)
    found = prediction_powered(f, y, np.ones(n + N))
    want = np.linalg.solve(np.cov(f.T), np.cov(f[:n].T, y[:n])[:3, 3]) / (1 + n / N)
    np.testing.assert_allclose(found.coefficients, want, rtol=1e-12)
    one = error_of(prediction_powered(f[:, 2:], y, np.ones(n + N)))
    assert error_of(found) < one
    twins = prediction_powered(np.column_stack([f[:, 0], f[:, 0]]), y, np.ones(n + N))  # two judges that are one
    alone = prediction_powered(f[:, :1] * [1.0, 0.0], y, np.ones(n + N))  # one judge, and one that says nothing
    assert twins.estimate == pytest.approx(alone.estimate, abs=1e-9)


def test_coefficients_of_many_judges_pay_for_themselves():
    """Ten judges that know nothing: 40 labels do not become more certain by their verdicts."""
    rng, errors, estimates = np.random.default_rng(3), [], []
    for _ in range(200):
        f, y = rng.standard_normal((400, 10)), np.append(rng.standard_normal(40), np.full(360, np.nan))
        found = prediction_powered(f, y, np.ones(400))
        errors.append(error_of(found))
        estimates.append(found.estimate)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(estimates), rel=0.15)
    order = rng.permutation(400)
    assert prediction_powered(f[order], y[order], np.ones(400)).estimate == pytest.approx(found.estimate, abs=1e-12)


@pytest.mark.parametrize(
    ("counts", "sizes"),
    [((120, 18, 17), (1000, 20, 20)), ((100, 20, 20), (1000, 20, 20)), ((950, 90, 95), (1000, 100, 100))],
)
def test_ends_of_the_profile_likelihood_by_brute_force(counts, sizes):
    """On a grid of both error rates, with half an answer of each kind added."""
    k, c0, c1 = counts
    n, m0, m1 = sizes
    q = np.linspace(0.501, 0.999, 250)
    q0, q1 = np.meshgrid(q, q, indexing="ij")
    labels = xlogy(c0 + 0.5, q0) + xlogy(m0 - c0 + 0.5, 1 - q0) + xlogy(c1 + 0.5, q1) + xlogy(m1 - c1 + 0.5, 1 - q1)

    def profile(share):
        p = share * q1 + (1 - share) * (1 - q0)
        return (xlogy(k, p) + xlogy(n - k, 1 - p) + labels).max()

    values = np.array([profile(share) for share in np.linspace(0, 1, 401)])
    inside = np.flatnonzero(values >= values.max() - 1.959964**2 / 2) / 400
    ends = profile_interval(0.5, np.array(counts, float), np.array(sizes, float), 1.959964)
    np.testing.assert_allclose(ends, (inside[0], inside[-1]), atol=0.004)


def test_ends_of_the_profile_likelihood_where_a_class_has_few_labels():
    """The simplex finds the same likelihood at the end, far from the error rates of the labels."""
    k, c0, c1, n, m0, m1 = 258, 0, 21, 284, 10, 45

    def deviance(logits, share):
        q0, q1 = expit(logits)
        p = share * q1 + (1 - share) * (1 - q0)
        return -sum(
            xlogy(a, q) + xlogy(b - a, 1 - q) for a, b, q in ((k, n, p), (c0 + 0.5, m0 + 1, q0), (c1 + 0.5, m1 + 1, q1))
        )

    def profile(share):
        options = {"xatol": 1e-9, "fatol": 1e-12, "maxiter": 2000}
        return minimize(deviance, (0.0, 0.0), args=(share,), method="Nelder-Mead", options=options).fun

    low, high = profile_interval(0.0, np.array([k, c0, c1], float), np.array([n, m0, m1], float), Z)
    assert low == 0.0
    least = minimize_scalar(profile, bounds=(0, 1), method="bounded").fun
    assert 2 * (profile(high) - least) == pytest.approx(Z**2, abs=0.01)


def clustered_data(seed=5, mixed=False, weighted=False):
    """Sixty clusters of three items; labels on whole clusters, or on single items."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(60), 3)
    quality = rng.standard_normal(60)[unit] + 0.7 * rng.standard_normal(180)
    f = quality + 0.5 * rng.standard_normal(180)
    known = rng.random(180) < 0.4 if mixed else unit < 24
    n = rng.integers(1, 4, 180).astype(float) if weighted else np.ones(180)
    return f[:, None], np.where(known, quality, np.nan), n, unit


def jackknife(estimate, unit):
    """Delete-one-cluster jackknife."""
    kept = [estimate(unit != g) for g in np.unique(unit)]
    return float(np.sqrt((len(kept) - 1) / len(kept) * ((kept - np.mean(kept)) ** 2).sum()))


@pytest.mark.parametrize("mixed", [False, True])
def test_the_standard_error_is_that_of_a_jackknife_of_clusters(mixed):
    f, y, n, unit = clustered_data(mixed=mixed)
    found = prediction_powered(f, y, n, unit)
    drawn = jackknife(
        lambda rows: prediction_powered(f[rows], y[rows], n[rows], coefficients=found.coefficients).estimate, unit
    )
    assert error_of(found, n, unit) == pytest.approx(drawn, rel=0.02)
    flat = prediction_powered(f, y, n, coefficients=found.coefficients)
    assert abs(error_of(flat, n) / drawn - 1) > 0.05  # what dependence makes of it


def test_the_clustered_influences_are_summed_within_clusters():
    """Labels on some items of every cluster: G/(G - 1) times the squared sums, written out."""
    f, y, n, unit = clustered_data()
    y = np.where(np.arange(180) % 3 == 0, np.nan_to_num(y, nan=0.4), np.nan)
    found = prediction_powered(f, y, n, unit)
    known = ~np.isnan(y)
    gap = y[known] - f[known, 0] * found.coefficients[0]
    sums = np.zeros(60)
    np.add.at(sums, unit[known], (gap - gap.mean()) / known.sum())
    other = f[~known, 0] * found.coefficients[0]
    np.add.at(sums, unit[~known], (other - other.mean()) / (~known).sum())
    assert error_of(found, n, unit) == pytest.approx(np.sqrt(60 / 59 * (sums**2).sum()), rel=1e-12)


def test_the_clustered_coefficient_comes_from_clustered_covariances():
    f, y, n, unit = clustered_data()
    known = ~np.isnan(y)
    every, inside = np.zeros(60), np.zeros((60, 2))
    np.add.at(every, unit, f[:, 0] - f.mean())
    np.add.at(inside, unit[known], np.column_stack([f[known, 0] - f[known].mean(), y[known] - y[known].mean()]))
    inside = inside[:24]
    want = (24 / 23 * (inside[:, 0] @ inside[:, 1]) / 72) / (60 / 59 * (every @ every) / 180) / (1 + 72 / 108)
    assert prediction_powered(f, y, n, unit).coefficients[0] == pytest.approx(min(want, 1.0), rel=1e-12)


def test_where_clusters_hold_both_the_coefficient_minimises_the_clustered_variance():
    f, y, n, unit = clustered_data(mixed=True)
    found = prediction_powered(f, y, n, unit, ddof=0)
    tried = [error_of(prediction_powered(f, y, n, unit, ddof=0, coefficients=np.array([c])), n, unit)
             for c in (found.coefficients[0] - 0.05, found.coefficients[0] + 0.05)]  # fmt: skip
    assert 0 < found.coefficients[0] < 1
    assert error_of(found, n, unit) < min(tried)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_row_may_stand_for_several_units(grouped):
    f, y, n, unit = clustered_data(weighted=True)
    again = np.repeat(np.arange(180), n.astype(int))
    used, written = (unit, unit[again]) if grouped else (None, None)
    one, two = prediction_powered(f, y, n, used), prediction_powered(f[again], y[again], np.ones(len(again)), written)
    assert one.estimate == pytest.approx(two.estimate, rel=1e-12)
    assert error_of(one, n, used) == pytest.approx(error_of(two, None, written), rel=1e-12)
    chance = np.full(180, 0.5)
    one = inversely_weighted(f, y, chance, n, used)
    two = inversely_weighted(f[again], y[again], chance[again], np.ones(len(again)), written)
    assert one.estimate == pytest.approx(two.estimate, rel=1e-12)
    assert error_of(one, n, used) == pytest.approx(error_of(two, None, written), rel=1e-12)


def test_a_constant_judge_adds_nothing():
    y, _, _ = made(1, 60, 400, "scores")
    found = powered(y, np.full(60, 0.7), np.full(400, 0.7))
    assert found.coefficients[0] == 0
    assert found.estimate == pytest.approx(y.mean())
    assert error_of(found) == pytest.approx(y.std(ddof=1) / np.sqrt(60))


def test_equal_probabilities_give_the_random_sample():
    y, f, g = made(2, 200, 300, "scores")
    labels = np.concatenate([y, np.full(300, np.nan)])
    verdicts = np.concatenate([f, g])[:, None]
    own = prediction_powered(verdicts, labels, np.ones(500))
    weighted = inversely_weighted(
        verdicts, labels, np.full(500, 0.4), np.ones(500), coefficients=own.coefficients * 5 / 3
    )
    assert weighted.estimate == pytest.approx(own.estimate, rel=1e-12)
    assert error_of(weighted) == pytest.approx(error_of(own), rel=5e-3)


def test_unequal_probabilities_are_undone():
    """Disputed items are labelled more often; the plain mean of the labels is biased, the weighted one is not."""
    rng = np.random.default_rng(1)
    got, plain, errors = [], [], []
    for _ in range(400):
        truth = (rng.random(600) < 0.3).astype(float)
        f = np.where(rng.random(600) < 0.8, truth, 1 - truth)
        chance = np.where(f == 1, 0.6, 0.1)
        y = np.where(rng.random(600) < chance, truth, np.nan)
        found = inversely_weighted(f[:, None], y, chance, np.ones(600))
        got.append(found.estimate)
        errors.append(error_of(found))
        plain.append(np.nanmean(y))
    assert abs(np.mean(got) - 0.3) < 0.006
    assert np.mean(plain) > 0.4
    assert np.mean(errors) == pytest.approx(np.std(got), rel=0.1)


def test_the_influences_of_a_corrected_share_are_its_derivatives():
    """One more unit of weight e on a row moves the estimate by e times its influence."""
    rng = np.random.default_rng(2)
    verdicts = (rng.random(90) < 0.5).astype(float)
    labels = np.concatenate([np.full(50, np.nan), np.zeros(20), np.ones(20)])
    verdicts[50:] = np.where(rng.random(40) < 0.85, labels[50:], 1 - labels[50:])
    judged = np.isnan(labels)

    def share(n):
        found = class_rates(verdicts, labels, n, judged)
        return float(corrected_share(found.p, found.specificity, found.sensitivity)), found

    value, found = share(np.ones(90))
    gap = found.specificity + found.sensitivity - 1
    influence = np.array([1.0, 1 - value, -value]) @ found.influence / gap
    step = 1e-6
    moved = [(share(np.ones(90) + step * np.eye(90)[i])[0] - value) / step for i in range(90)]
    np.testing.assert_allclose(influence, moved, atol=1e-6)


def test_the_variance_of_a_corrected_share_is_that_of_the_delta_method():
    verdicts = np.array([1, 0, 1, 0, 1, 0], dtype=float)
    labels = np.array([np.nan, np.nan, 0, 0, 1, 1])
    n = np.array([400, 600, 60, 140, 180, 20], dtype=float)
    found = class_rates(verdicts, labels, n, np.isnan(labels))
    value = float(corrected_share(found.p, found.specificity, found.sensitivity))
    gap = found.specificity + found.sensitivity - 1
    influence = np.array([1.0, 1 - value, -value]) @ found.influence / gap
    want = (0.4 * 0.6 / 1000 + (1 - value) ** 2 * 0.7 * 0.3 / 200 + value**2 * 0.9 * 0.1 / 200) / gap**2
    assert covariance(influence[:, None], n, None)[0, 0] == pytest.approx(want, rel=1e-12)
