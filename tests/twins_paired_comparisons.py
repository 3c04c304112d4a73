"""Plain twins of the kernels in ``judgestats.kernels.paired_comparisons``: probabilities, one call at a time."""

import math

import numpy as np


def probabilities(model, eta, tau):
    """Of win, loss and tie."""

    def logistic(x):
        return 1 / (1 + math.exp(-x))

    if model == "davidson":
        weights = math.exp(eta / 2), math.exp(-eta / 2), math.exp(tau)
        return tuple(w / sum(weights) for w in weights)
    win, loss = logistic(eta - tau), logistic(-eta - tau)
    return win, loss, 1 - win - loss


def log_likelihood(model, data, beta, gamma, tau):
    total = 0.0
    for i, j, x, counts in zip(data.system, data.opponent, data.extra, data.counts, strict=True):
        eta = beta[i] - beta[j] + float(x @ gamma)
        if model == "bradley-terry":
            win, loss, _ = probabilities("rao-kupper", eta, 0.0)
            of_each = math.log(win), math.log(loss), (math.log(win) + math.log(loss)) / 2
        else:
            of_each = [math.log(p) for p in probabilities(model, eta, tau)]
        total += sum(n * p for n, p in zip(counts, of_each, strict=True) if n)
    return total


def differences(function, at, step=1e-5):
    """Gradient by central differences."""
    ends = [(at + step * e, at - step * e) for e in np.eye(len(at))]
    return np.array([(function(up) - function(down)) / (2 * step) for up, down in ends])


def meat(model, data, parameters, row, outcome, n, cluster):
    """Products of the scores of the clusters, from numerical scores of single calls."""
    size = max(data.system.max(), data.opponent.max()) + 1
    scores = {}
    for r, o, count, g in zip(row, outcome, n, cluster, strict=True):
        one = type(data)(data.system[[r]], data.opponent[[r]], data.extra[[r]], np.eye(3)[[o]])

        def at(p, one=one):
            return log_likelihood(model, one, p[:size], p[size:-1], p[-1])

        scores[g] = scores.get(g, 0.0) + count * differences(at, parameters)
    scores = np.array(list(scores.values()))
    return scores.T @ scores
