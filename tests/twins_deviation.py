"""Plain NumPy twins of the kernels in ``judgestats.kernels.deviation``."""

import numpy as np


def cell_means(unit, score, weight, n_units):
    mean, squares = np.full(n_units, np.nan), np.zeros(n_units)
    runs, missing = np.zeros(n_units, int), np.zeros(n_units, int)
    weight = weight if len(weight) else np.ones(len(unit), int)
    for u in range(n_units):
        scores = np.repeat(score[unit == u], weight[unit == u])
        given = scores[~np.isnan(scores)]
        runs[u], missing[u] = given.size, scores.size - given.size
        if given.size:
            mean[u] = given.mean()
            squares[u] = ((given - given.mean()) ** 2).sum()
    return mean, squares, runs, missing


def consensus(cell, score, n_cells, *, exclude_self=True):
    deviation = np.full(len(score), np.nan)
    present = np.zeros(n_cells, int)
    for u, (c, s) in enumerate(zip(cell, score, strict=True)):
        others = [x for v, (d, x) in enumerate(zip(cell, score, strict=True)) if d == c and v != u and not np.isnan(x)]
        if np.isnan(s):
            continue
        present[c] += 1
        if others:
            deviation[u] = s - np.mean(others if exclude_self else [*others, s])
    return deviation, present


def weighted_means(owner, value, weight, n_owners):
    weight = weight if len(weight) else np.ones(len(value))
    used = ~np.isnan(value)
    size = np.array([weight[used & (owner == p)].sum() for p in range(n_owners)])
    total = np.array([(weight * value)[used & (owner == p)].sum() for p in range(n_owners)])
    return np.array([t / s if s else np.nan for t, s in zip(total, size, strict=True)]), size


def cluster_scores(pair, cell, owner, cluster, value, centre, scale, weight, n_owners, n_clusters):
    weight = weight if len(weight) else np.ones(len(value))
    used = ~np.isnan(value) & (scale[pair] != 0)
    influence = np.where(used, scale[pair] * weight * (value - centre[pair]), 0.0)
    scores, size = np.zeros((n_owners, n_clusters)), np.zeros((n_owners, n_clusters))
    np.add.at(scores, (owner[pair], cluster[cell]), influence)
    np.add.at(size, (owner[pair], cluster[cell]), np.where(used, scale[pair] ** 2 * weight, 0.0))
    return scores, size
