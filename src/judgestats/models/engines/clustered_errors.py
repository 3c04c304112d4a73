"""Cluster-robust errors (CR2) of models fitted by a likelihood that knows no clusters, or those of its random effects.

The working model is the one fitted, as in R's clubSandwich (Pustejovsky, J. E., Tipton, E. 2018. Journal of Business &
Economic Statistics 36, 672-683).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from judgestats import flags
from judgestats.errors import DesignError, FitError
from judgestats.kernels.clustered_rows import adjusted_rows
from judgestats.kernels.clustered_scores import ClusterFactors
from judgestats.models.coding.factor_levels import coded_levels
from judgestats.models.designs import Design
from judgestats.models.engines.statsmodels_calls import mean_and_slope
from judgestats.models.fitted_models import Fitted, MarginalClusters
from judgestats.models.likelihood.starting_values import orthogonal
from judgestats.typing import Floats, Ints

#: Families whose scores and informations are those of least squares with weights.
FAMILIES = ("gaussian", "binomial", "poisson")


def refuse_clusters(design: Design, family: str, cluster: str) -> None:
    """Refuse clusters that show nothing, or that are not independent by the model itself."""
    codes, levels = coded_levels(design.frame, [cluster])
    if len(levels) < 2:
        raise DesignError(f"cluster={cluster!r} has one level: nothing shows how much clusters differ.")
    if family not in FAMILIES:
        return
    if design.terms and family != "gaussian":
        parts = " + ".join(str(p) for p in design.formula.random)
        raise FitError(
            f"cluster= is of Gaussian mixed models and of models without random effects; got family={family!r} with "
            f"{parts}. Leave out the random terms, or cluster=."
        )
    for term in design.terms:
        if len(np.unique(np.column_stack([term.codes, codes]), axis=0)) > len(np.unique(term.codes)):
            raise DesignError(
                f"cluster={cluster!r}: calls of one level of {term.factor!r} are in several clusters, which then vary "
                f"together. Cluster by a column in which {term.factor!r} is nested, or leave out its random term."
            )


def clustered(fitted: Fitted, cluster: str) -> Fitted:
    """The same fit with errors of the fixed effects that are clustered by a column."""
    d = fitted.design
    codes, levels = coded_levels(d.frame, [cluster])
    if flags.PERFECT_FIT in fitted.notes:
        return fitted
    X, residual, variance, codes = _rotated(fitted, codes) if d.terms else _whitened(fitted, codes)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    turn = orthogonal(X, np.ones(len(X)))
    X, residual, variance = X[order] @ turn, residual[order], variance[order]
    factors: ClusterFactors | None = None
    if fitted.model.many_clusters:
        bread, score = np.linalg.inv(X.T @ X), np.add.reduceat(X * residual[:, None], starts, axis=0)
        robust = bread @ score.T @ score @ bread * len(levels) / (len(levels) - 1)
    else:
        robust, factors = adjusted_rows(X, residual, variance, starts)
        factors = factors._replace(root=turn @ factors.root)
    covariance, own = fitted.covariance.copy(), slice(0, fitted.n_fixed)
    covariance[own, own] = turn @ robust @ turn.T
    about = replace(fitted.options, clusters=MarginalClusters(cluster, len(levels), float("nan"), factors))
    return replace(fitted, covariance=covariance, options=about)


def _whitened(fitted: Fitted, codes: Ints) -> tuple[Floats, Floats, Floats, Ints]:
    """Predictors (N, p) and residuals (N,) over the root of the variance of a row, these variances, clusters.

    Rows that stand for n equal ones have the root of n as a factor.
    """
    d = fitted.design
    family, eta = fitted.distribution.statsmodels(fitted.link), d.X @ fitted.beta + d.offset
    mean, slope = mean_and_slope(family, eta)
    scale = fitted.residual**2 if fitted.distribution.linear else 1.0
    variance = scale * family.variance(mean) / (d.weights * d.trials)
    factor = np.sqrt(d.count / variance)
    return d.X * (slope * factor)[:, None], (d.y / d.trials - mean) * factor, variance, codes


def _rotated(fitted: Fitted, codes: Ints) -> tuple[Floats, Floats, Floats, Ints]:
    """The same of a Gaussian mixed model, in coordinates in which rows of a cluster are independent."""
    d, p = fitted.design, fitted.n_fixed
    factor = (np.sqrt(d.count * d.weights) / fitted.residual)[:, None]
    fixed = np.column_stack([d.X, d.y - d.offset - d.X @ fitted.beta]) * factor
    random = [(t.codes, (t.values @ L) * factor) for t, L in zip(d.terms, fitted.factors(), strict=True)]
    order = np.argsort(codes, kind="stable")
    parts = []
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        columns = [fixed[rows]]
        for level, z in random:
            own = level[rows] == np.unique(level[rows])[:, None]
            columns += [own.T * part[:, None] for part in z[rows].T]
        corner = np.asarray(np.linalg.qr(np.hstack(columns), mode="r"), np.float64)
        variance, axes = np.linalg.eigh(np.eye(len(corner)) + corner[:, p + 1 :] @ corner[:, p + 1 :].T)
        both = axes.T @ corner[:, : p + 1] / np.sqrt(variance)[:, None]
        parts.append(np.column_stack([both, variance, np.full(len(corner), codes[rows[0]])]))
    whole = np.concatenate(parts)
    return whole[:, :p], whole[:, p], whole[:, p + 1], whole[:, p + 2].astype(np.int64)
