"""Plain twins of the kernels in ``judgestats.kernels.correlation``: rows written out, one pair at a time."""

import math

import numpy as np
from scipy.stats import rankdata


def pearson(x, y):
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    if x.size < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    dx, dy = x - x.mean(), y - y.mean()
    return float((dx * dy).sum() / math.sqrt((dx**2).sum() * (dy**2).sum()))


def spearman(x, y):
    both = ~(np.isnan(x) | np.isnan(y))
    return pearson(rankdata(x[both]), rankdata(y[both]))


def written_out(x, weights, owner):
    """The rows of a resample in which each owner occurs as often as its weight says."""
    return np.concatenate([np.repeat(x[..., owner == o], int(w), axis=-1) for o, w in enumerate(weights)], axis=-1)


def icc(scores):
    """ICC(2,1) of raters x subjects from the mean squares."""
    scores = scores[:, ~np.isnan(scores).any(axis=0)]
    k, n = scores.shape
    if k < 2 or n < 2 or np.ptp(scores) == 0:
        return math.nan
    grand = scores.mean()
    ms_r = k * ((scores.mean(axis=0) - grand) ** 2).sum() / (n - 1)
    ms_c = n * ((scores.mean(axis=1) - grand) ** 2).sum() / (k - 1)
    residual = scores - scores.mean(axis=0) - scores.mean(axis=1)[:, None] + grand
    ms_e = (residual**2).sum() / ((n - 1) * (k - 1))
    return (ms_r - ms_e) / (ms_r + (k - 1) * ms_e + k * (ms_c - ms_e) / n)
