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


# ---- shares of clusters, against the definition in terms of calls -----------------------------------------------------


def dense(sizes, rho, contrasts, seed=0):
    """CR2 of generalised least squares with calls of a cluster correlated by `rho`, and the degrees of freedom of tests.

    By matrices of all calls: residuals are (I - H) e, those of each cluster are multiplied with the root of the inverse
    of their part of I - H, where calls are made independent; degrees of freedom are from the fourth moments of normal e.
    """
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    alike = cluster[:, None] == cluster
    V = np.where(alike, rho, 0.0) + (1 - rho) * np.eye(cluster.size)
    x, y = rng.normal(size=(cluster.size, 3)), rng.normal(size=cluster.size)
    x[:, 1] = (cluster % 2) * 1.0
    root = np.linalg.cholesky(np.linalg.inv(V)).T
    X, Y = root @ x, root @ y
    bread = np.linalg.inv(X.T @ X)
    H = X @ bread @ X.T
    adjust = np.zeros_like(V)
    for g in range(len(sizes)):
        own = np.ix_(cluster == g, cluster == g)
        adjust[own] = np.linalg.inv(sqrtm(np.eye(sizes[g]) - H[own]).real)
    adjusted = [(cluster == g)[:, None] * (adjust @ (np.eye(len(y)) - H)) for g in range(len(sizes))]
    scores = np.array([X.T @ (a @ Y) for a in adjusted])
    covariance = bread @ scores.T @ scores @ bread
    dfs = []
    for C in contrasts:
        C = np.linalg.inv(sqrtm(C @ bread @ C.T).real) @ C
        u = np.array([C @ bread @ X.T @ a for a in adjusted])  # (G, R, N): adjusted scores of e
        P = np.einsum("gsn,htn->ghst", u, u)
        spread = np.einsum("ghss,ghtt->", P, P) + np.einsum("ghst,ghts->", P, P)
        dfs.append(len(C) * (len(C) + 1) / spread)
    information = np.array([x[cluster == g].T @ np.linalg.inv(V[np.ix_(cluster == g, cluster == g)]) @ x[cluster == g]
                            for g in range(len(sizes))])  # fmt: skip
    weighted = np.linalg.inv(V) @ (y - x @ (bread @ X.T @ Y))
    score = np.array([x[cluster == g].T @ weighted[cluster == g] for g in range(len(sizes))])
    return covariance, np.array(dfs), information, score


@pytest.mark.parametrize("rho", [0.0, 0.4])
@pytest.mark.parametrize("sizes", [[4] * 8, [12, 3, 2, 2, 5, 7], [20, 1, 1, 1, 2, 1, 3]])
def test_covariance_and_degrees_of_freedom_are_those_of_the_definition(sizes, rho):
    one = np.array([[[1.0, 0, 0]], [[0, 1.0, 0]], [[0.5, -1, 2]]])
    two = np.array([[[1.0, 0, 0], [0, 1, 0]], [[1, 1, 0], [0, 1, -1]]])
    covariance, df, information, score = dense(sizes, rho, [*one, *two])
    shares = clustered_scores.ClusterShares.of(information)
    np.testing.assert_allclose(shares.covariance(score), covariance, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(np.concatenate([shares.df(one), shares.df(two)]), df, rtol=1e-7)


def test_degrees_of_freedom_of_equal_clusters_are_in_closed_form():
    """An intercept: G - 1; a factor that halves the clusters: G - 2; a constant of one cluster alone: none."""
    ones = np.ones((10, 1, 1))
    assert clustered_scores.ClusterShares.of(ones).df(np.ones((1, 1, 1))) == pytest.approx(9)
    rows = np.column_stack([np.ones(10), np.arange(10) % 2, np.arange(10) == 3])
    halves = np.einsum("gp,gq->gpq", rows[:, :2], rows[:, :2])
    assert clustered_scores.ClusterShares.of(halves).df(np.eye(2)[None, 1:])[0] == pytest.approx(8)
    alone = np.einsum("gp,gq->gpq", rows, rows)
    assert np.isnan(clustered_scores.ClusterShares.of(alone).df(np.eye(3)[None, 2:])[0])


def test_products_are_sums_over_rows():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(7, 2)), rng.normal(size=(7, 3))
    found = clustered_scores.products(a, b, np.array([0, 3, 4]))
    np.testing.assert_allclose(found, [a[:3].T @ b[:3], a[3:4].T @ b[3:4], a[4:].T @ b[4:]])


def test_a_contrast_whose_variance_is_zero_has_no_degrees_of_freedom() -> None:
    """The clusters say nothing about the second coefficient; numpy says nothing of it, either."""
    once = np.zeros((3, 2, 2))
    once[:, 0, 0] = 0.3
    twice = np.zeros((3, 2, 2))
    twice[:, 0, 0] = 0.5
    factors = clustered_scores.ClusterFactors(np.eye(2), once, twice, np.zeros((2, 2)))
    with np.errstate(all="raise"):
        df = factors.df(np.eye(2)[:, None])
    assert df[0] > 0
    assert np.isnan(df[1])
