"""Middle of the sandwich and degrees of freedom against their definitions, and against ratios over clusters."""

import numpy as np
import pytest
from scipy.linalg import sqrtm

from judgestats.kernels import clustered_scores
from judgestats.kernels.cluster_robust import cluster_robust, degrees_of_freedom


def regression(sizes, seed=0, columns=3):
    """Scores and informations of least squares by clusters, with their residuals and designs."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    x, y = rng.normal(size=(cluster.size, columns)), rng.normal(size=cluster.size)
    bread = np.linalg.inv(x.T @ x)
    residual = y - x @ (bread @ (x.T @ y))
    parts = [(x[cluster == g], residual[cluster == g]) for g in range(len(sizes))]
    return parts, bread, np.array([x.T @ e for x, e in parts]), np.array([x.T @ x for x, _ in parts])


@pytest.mark.parametrize("sizes", [[4] * 8, [40, 3, 2, 2, 5], [30, 1, 1, 1, 1, 1, 1, 1, 1]])
def test_residuals_of_each_cluster_are_divided_by_the_root_of_what_the_others_leave(sizes):
    parts, bread, score, information = regression(sizes)
    middle = np.zeros_like(bread)
    for x, e in parts:
        adjusted = x.T @ np.linalg.inv(sqrtm(np.eye(len(e)) - x @ bread @ x.T).real) @ e
        middle += np.outer(adjusted, adjusted)
    np.testing.assert_allclose(clustered_scores.middle(bread, score, information), middle, rtol=1e-7)


@pytest.mark.parametrize("sizes", [[4] * 8, [40, 3, 2, 2, 5]])
def test_divided_twice_a_score_is_the_change_without_its_cluster(sizes):
    """The middle of one cluster is s s' with s = (I - K)^(-1/2) of the score: its quadratic form is s (I - K)^-1 s."""
    parts, bread, score, information = regression(sizes)
    for g, (x, e) in enumerate(parts):
        others = np.vstack([p[0] for i, p in enumerate(parts) if i != g])
        y = np.concatenate([p[1] for i, p in enumerate(parts) if i != g])
        without = -np.linalg.lstsq(others, y, rcond=None)[0]  # of residuals: the fit to all of them is 0
        middle = clustered_scores.middle(bread, score[[g]], information[[g]])
        assert np.trace(middle @ bread) == pytest.approx(float(without @ (x.T @ e)), rel=1e-8)


def test_what_one_cluster_alone_determines_has_the_variance_of_the_model():
    _, bread, score, information = regression([5, 5, 5, 5])
    wide = np.zeros((4, 4))
    wide[:3, :3], wide[3, 3] = bread, 0.5
    scores, informations = np.zeros((4, 4)), np.zeros((4, 4, 4))
    scores[:, :3], informations[:, :3, :3] = score, information
    informations[2, 3, 3] = 2.0
    covariance = wide @ clustered_scores.middle(wide, scores, informations) @ wide
    np.testing.assert_allclose(
        covariance[:3, :3], bread @ clustered_scores.middle(bread, score, information) @ bread, rtol=1e-9
    )
    assert covariance[3, 3] == pytest.approx(0.5)


@pytest.mark.parametrize("sizes", [[3] * 10, [100, 4, 4, 4, 9, 1]])
def test_a_mean_has_the_error_and_degrees_of_freedom_of_a_ratio(sizes):
    n = np.array(sizes, dtype=float)
    total = np.random.default_rng(1).normal(size=n.size) * n
    known = cluster_robust(total[:, None], n[:, None], np.ones(1))
    bread, score = np.array([[1 / n.sum()]]), (total - known.estimate * n)[:, None]
    middle = clustered_scores.middle(bread, score, n[:, None, None])
    assert (bread @ middle @ bread)[0, 0] == pytest.approx(known.variance, rel=1e-9)
    share = (n / n.sum())[:, None]
    df = clustered_scores.degrees_of_freedom(iter([share[:2], share[2:]]), np.zeros(0))
    assert df[0] == pytest.approx(known.df, rel=1e-9)
    assert df[0] == pytest.approx(degrees_of_freedom(n), rel=1e-9)


def test_clusters_that_are_left_out_share_the_rest():
    n = np.array([30.0, *[0.5] * 200])
    share = n / n.sum()
    df = clustered_scores.degrees_of_freedom(iter([share[:1, None]]), n[1:])
    assert df[0] == pytest.approx(degrees_of_freedom(n), rel=0.01)
