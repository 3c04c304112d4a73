"""EM of Dawid and Skene: closed forms, brute force, and errors from a numerical Hessian."""

import numpy as np
import pytest

from judgestats.kernels.expectation_maximisation import (
    LatentClasses,
    expected,
    latent_classes,
    maximised,
    standard_errors,
)

SIDES = np.array([1, 0, 2])


def drawn(rng, priors, confusion, n, repeats=1):
    """Labels of raters with these confusion matrices: counts (n, R, K)."""
    raters, k = len(confusion), len(priors)
    truth = rng.choice(k, size=n, p=priors)
    counts = np.zeros((n, raters, k))
    for r in range(raters):
        for i, t in enumerate(truth):
            counts[i, r] += rng.multinomial(repeats, confusion[r, t])
    return counts


def binary(accuracy):
    return np.array([[[a, 1 - a], [1 - a, a]] for a in accuracy])


def fit(counts, n_starts=20, mirror=None, weight=None):
    weight = np.ones(len(counts)) if weight is None else weight
    return latent_classes(counts, weight, np.random.default_rng(0), n_starts, mirror)


def moved(found, mirror):
    """Directions in which the parameters inside (0, 1) can move: each a change of priors and of confusion."""
    k, raters = len(found.priors), len(found.confusion)
    rows = [("p", 0, 0), *(("e", r, c) for r in range(raters) for c in range(k))]
    directions = []
    for kind, r, c in rows:
        values = found.priors if kind == "p" else found.confusion[r, c]
        inside = np.flatnonzero((values > 0) & (values < 1))
        for one in inside[:-1]:
            change = np.zeros(k), np.zeros((raters, k, k))
            row = change[0] if kind == "p" else change[1][r, c]
            row[one], row[inside[-1]] = 1.0, -1.0
            directions.append(change)
    if mirror is not None:
        both = [(p + p[mirror], e + e[:, mirror][:, :, mirror]) for p, e in directions]
        stacked = np.array([np.concatenate([p, e.ravel()]) for p, e in both])
        _, values, basis = np.linalg.svd(stacked)
        directions = [(v[:k], v[k:].reshape(raters, k, k)) for v in basis[: int((values > 1e-9).sum())]]
    return directions


def numerical_errors(counts, found, mirror=None, h=1e-4):
    """Standard errors of all parameters from second differences of the log-likelihood."""
    flat = counts.reshape(len(counts), -1)
    directions = moved(found, mirror)

    def loglik(steps):
        p = found.priors + sum(t * d[0] for t, d in zip(steps, directions, strict=True))
        e = found.confusion + sum(t * d[1] for t, d in zip(steps, directions, strict=True))
        return expected(flat, p, e)[1].sum()

    m = len(directions)
    steps = np.eye(m) * h
    hessian = np.array(
        [
            [loglik(a + b) - loglik(a - b) - loglik(b - a) + loglik(-a - b) for b in steps]
            for a in steps
        ]
    ) / (4 * h * h)  # fmt: skip
    jacobian = np.array([np.concatenate([p, e.ravel()]) for p, e in directions]).T
    covariance = jacobian @ np.linalg.inv(-hessian) @ jacobian.T
    return np.sqrt(np.maximum(np.diag(covariance), 0))


@pytest.mark.parametrize("mirror", [None, SIDES], ids=["as they are", "mirrored"])
def test_errors_are_those_of_a_numerical_hessian(mirror):
    rng = np.random.default_rng(3)
    confusion = np.stack([np.full((3, 3), (1 - a) / 2) + (a - (1 - a) / 2) * np.eye(3) for a in (0.8, 0.7, 0.75)])
    counts = drawn(rng, [0.4, 0.4, 0.2], confusion, 150)
    found = fit(counts, 5, mirror)
    errors = standard_errors(counts, np.ones(150), found, mirror)
    got = np.concatenate([e.ravel() for e in errors])
    inside = np.isfinite(got)
    assert inside.sum() > 20
    np.testing.assert_allclose(got[inside], numerical_errors(counts, found, mirror)[inside], rtol=1e-4)


def test_what_lies_on_the_boundary_counts_as_known():
    """A rater who never errs: the classes are its labels, and the others' errors are binomial."""
    rng = np.random.default_rng(4)
    counts = drawn(rng, [0.3, 0.7], binary([1.0, 0.8, 0.7]), 300)
    truth = counts[:, 0].argmax(axis=1)
    known = np.eye(2)[truth]
    found = LatentClasses(
        *maximised(counts.reshape(300, -1), np.ones(300), known), known, 0.0, 1, True, np.zeros(2, dtype=bool)
    )
    priors, confusion = standard_errors(counts, np.ones(300), found)
    assert np.isnan(confusion[0]).all()
    share = truth.mean()
    np.testing.assert_allclose(priors, np.sqrt(share * (1 - share) / 300), rtol=1e-9)
    one = counts[truth == 1, 1, 1].mean()
    np.testing.assert_allclose(confusion[1, 1], np.sqrt(one * (1 - one) / truth.sum()), rtol=1e-9)


def test_three_binary_raters_have_a_closed_form():
    """With three raters and two classes the model fits all pairwise covariances exactly."""
    counts = np.zeros((8, 3, 2))
    for i in range(8):
        for r in range(3):
            counts[i, r, (i >> r) & 1] = 1
    truth, accuracy = np.array([0.45, 0.55]), binary([0.9, 0.8, 0.7])
    p = np.exp([np.log(truth @ np.prod([accuracy[r][:, (i >> r) & 1] for r in range(3)], axis=0)) for i in range(8)])
    found = fit(counts, 5, weight=1e6 * p)
    np.testing.assert_allclose(found.priors, truth, atol=1e-6)
    np.testing.assert_allclose(found.confusion, accuracy, atol=1e-6)
    assert found.loglik == pytest.approx(1e6 * (p @ np.log(p)), rel=1e-12)


def test_each_step_climbs():
    rng = np.random.default_rng(5)
    counts = drawn(rng, [0.5, 0.3, 0.2], np.stack([np.full((3, 3), 0.2) + 0.4 * np.eye(3)] * 4), 60)
    flat, weight = counts.reshape(60, -1), np.ones(60)
    q, values = rng.dirichlet(np.ones(3), 60), []
    for _ in range(40):
        q, each = expected(flat, *maximised(flat, weight, q))
        values.append(each.sum())
    assert (np.diff(values) >= -1e-9).all()
    assert values[-1] > values[0] + 0.5


def test_classes_have_the_names_of_their_labels():
    """Any naming has the same likelihood; whatever start wins, the raters are better than chance on the whole."""
    rng = np.random.default_rng(6)
    counts = drawn(rng, [0.5, 0.3, 0.2], np.stack([np.full((3, 3), 0.1) + 0.7 * np.eye(3)] * 4), 200)
    want = fit(counts, 0)
    for order in ([1, 0, 2], [2, 0, 1]):
        renamed = fit(counts[:, :, order], 3)
        np.testing.assert_allclose(renamed.priors, want.priors[order], atol=1e-6)
        np.testing.assert_allclose(renamed.confusion, want.confusion[:, order][:, :, order], atol=1e-6)


def test_the_mirrored_model_does_not_see_names():
    rng = np.random.default_rng(7)
    confusion = np.stack([np.full((3, 3), (1 - a) / 2) + (a - (1 - a) / 2) * np.eye(3) for a in (0.9, 0.7, 0.6)])
    counts = drawn(rng, [0.45, 0.45, 0.1], confusion, 200)
    turned = counts.copy()
    some = rng.random(200) < 0.5
    turned[some] = counts[some][:, :, SIDES]
    one, two = fit(counts, 5, SIDES), fit(turned, 5, SIDES)
    assert one.loglik == pytest.approx(two.loglik, abs=1e-7)
    np.testing.assert_allclose(one.confusion, two.confusion, atol=1e-5)
    assert one.priors[0] == one.priors[1]
    np.testing.assert_allclose(one.confusion, one.confusion[:, SIDES][:, :, SIDES])


def test_two_raters_do_not_identify_the_model():
    rng = np.random.default_rng(8)
    counts = drawn(rng, [0.5, 0.5], binary([0.8, 0.7]), 200)
    found = fit(counts, 3)
    assert ((found.confusion > 0) & (found.confusion < 1)).all()
    assert all(np.isnan(e).all() for e in standard_errors(counts, np.ones(200), found))


def test_alike_units_are_one_with_a_weight():
    rng = np.random.default_rng(9)
    counts = drawn(rng, [0.5, 0.5], binary([0.9, 0.8, 0.7]), 100)
    patterns, weight = np.unique(counts.reshape(100, -1), axis=0, return_counts=True)
    one, two = fit(counts, 0), fit(patterns.reshape(-1, 3, 2), 0, weight=weight.astype(float))
    assert one.loglik == pytest.approx(two.loglik, abs=1e-9)
    np.testing.assert_allclose(one.confusion, two.confusion, atol=1e-8)
    for a, b in zip(
        standard_errors(counts, np.ones(100), one),
        standard_errors(patterns.reshape(-1, 3, 2), weight.astype(float), two),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("mirror", [None, SIDES], ids=["as they are", "mirrored"])
def test_errors_are_those_of_repeated_samples(mirror):
    rng = np.random.default_rng(10)
    confusion = np.stack([np.full((3, 3), (1 - a) / 2) + (a - (1 - a) / 2) * np.eye(3) for a in (0.8, 0.75, 0.7, 0.7)])
    values, errors = [], []
    for _ in range(300):
        counts = drawn(rng, [0.4, 0.4, 0.2], confusion, 600)
        found = fit(counts, 0, mirror)
        values.append(np.concatenate([found.priors, found.confusion.ravel()]))
        errors.append(np.concatenate([e.ravel() for e in standard_errors(counts, np.ones(600), found, mirror)]))
    spread, stated = np.std(values, axis=0), np.nanmean(errors, axis=0)
    moves = spread > 1e-9  # mirrored, some priors may hardly move
    np.testing.assert_allclose(stated[moves], spread[moves], rtol=0.2)
