"""Nominal models without random effects: log-odds of each class against the first, by Newton's method on counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_softmax

from judgestats import flags
from judgestats.errors import FitError
from judgestats.kernels.clustered_scores import ClusterShares, products
from judgestats.models.coding.factor_levels import coded_levels
from judgestats.models.fitted_models import Fitted, MarginalClusters, Options
from judgestats.models.likelihood.compression import distinct
from judgestats.models.likelihood.starting_values import orthogonal
from judgestats.models.ml import refittable
from judgestats.models.specifications import Model
from judgestats.threads import one_blas_thread
from judgestats.typing import Floats

#: The search ends where a further step would raise the log likelihood by less; of a diverging one after so many steps.
SETTLED, MOST_STEPS = 1e-12, 100
#: Directions of a smaller share of the largest information diverge.
FLAT = 1e-10
#: Calls of the rarest class for each of its coefficients, below which the estimates are biased away from 0.
FEWEST = 10


@dataclass(frozen=True)
class Counted:
    """Distinct rows with the calls of each class, and minus the log likelihood of (J - 1) p coefficients."""

    X: Floats  # (R, p)
    table: Floats  # (R, J)

    def __call__(self, beta: Floats) -> tuple[float, Floats]:
        """Value and gradient."""
        logs = self.logs(beta)
        rest = self.table.sum(axis=1, keepdims=True) * np.exp(logs) - self.table
        return -float((self.table * logs).sum()), np.asarray((rest[:, 1:].T @ self.X).ravel(), np.float64)

    def logs(self, beta: Floats) -> Floats:
        """(R, J) logarithms of the probabilities."""
        eta = self.X @ beta.reshape(self.table.shape[1] - 1, -1).T
        return np.asarray(log_softmax(np.pad(eta, ((0, 0), (1, 0))), axis=1), np.float64)

    def information(self, beta: Floats) -> Floats:
        """Second derivatives of the value."""
        p = np.exp(self.logs(beta))[:, 1:]
        weight = self.table.sum(axis=1)[:, None, None] * p[:, :, None] * (np.eye(p.shape[1]) - p[:, None])
        blocks = [[self.X.T @ (weight[:, k, m, None] * self.X) for m in range(p.shape[1])] for k in range(p.shape[1])]
        return np.block(blocks)


@one_blas_thread()
def fit_nominal(model: Model) -> Fitted:
    """Fit by maximum likelihood, with cluster-robust errors where the model names clusters."""
    d, J = model.design, len(model.design.categories)
    if d.terms:
        parts = " + ".join(str(p) for p in d.formula.random)
        raise FitError(
            f"engine='ml' fits nominal models without random effects, and the formula has {parts}. Use engine='pymc', "
            "name the column in cluster= for errors that allow for it, or fit one class against the rest: "
            "answer[class] ~ ..., family='binomial'."
        )
    weight, y = d.count * d.weights, d.y.astype(np.int64)
    first, place = distinct(d.X)
    table = np.bincount(place * J + y, weight, len(first) * J).reshape(-1, J).astype(np.float64)
    turn = np.kron(np.eye(J - 1), orthogonal(d.X[first], table.sum(axis=1)))
    width = d.X.shape[1]
    target = Counted(d.X[first], table)
    own = replace(target, X=target.X @ turn[:width, :width])
    gamma, converged = _newton(own, np.zeros((J - 1) * width))
    covariance = _inverse(own.information(gamma))
    options, notes = Options(), []
    if model.cluster is not None:
        codes, levels = coded_levels(d.frame, [model.cluster])
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        p, X, n = np.exp(own.logs(gamma))[place][order, 1:], own.X[place][order], weight[order, None]
        expected = (p[:, :, None] * X[:, None]).reshape(len(y), -1)
        observed = ((y[order, None] == np.arange(1, J))[:, :, None] * X[:, None]).reshape(len(y), -1)
        score = np.add.reduceat((observed - expected) * n, starts, axis=0)
        if model.many_clusters:
            shares, covariance = None, covariance @ score.T @ score @ covariance * len(levels) / (len(levels) - 1)
        else:
            information = -products(expected * n, expected, starts)
            for k in range(J - 1):
                block = slice(k * width, (k + 1) * width)
                information[:, block, block] += products(X * p[:, [k]] * n, X, starts)
            shares = ClusterShares.of(information)
            covariance = shares.covariance(score)
            shares = shares._replace(root=turn @ shares.root)
        options = Options(clusters=MarginalClusters(model.cluster, len(levels), float("nan"), shares))
    calls = table.sum(axis=0)
    rare = int(calls.argmin())
    if calls[rare] < FEWEST * max(width - 1, 1):
        notes.append(flags.RARE_CLASS.of(what=d.categories[rare]))
    beta, covariance = turn @ gamma, turn @ covariance @ turn.T
    fitted = Fitted(model, "ml", "ML", beta, covariance, -own(gamma)[0], converged, options=options, objective=target)
    return refittable(replace(fitted, notes=tuple(filter(None, notes))), fit_nominal)


def _newton(target: Counted, beta: Floats) -> tuple[Floats, bool]:
    """The minimum, and whether it was reached; along a direction that diverges, where the likelihood stands still."""
    value, gradient = target(beta)
    for _ in range(MOST_STEPS):
        step = _inverse(target.information(beta)) @ gradient
        rise, share = float(gradient @ step), 1.0
        while share > 1e-8:
            new_value, new_gradient = target(beta - share * step)
            if new_value <= value + 1e-12 * abs(value):
                break
            share /= 2
        else:
            return beta, rise < 1e-6
        beta, value, gradient = beta - share * step, new_value, new_gradient
        if rise < SETTLED:
            return beta, True
    return beta, False


def _inverse(information: Floats) -> Floats:
    """Inverse on the directions that the data determine."""
    size, axes = np.linalg.eigh(information)
    return np.asarray((axes / np.where(size > FLAT * size[-1], size, np.inf)) @ axes.T, np.float64)
