"""Plain NumPy twins of the jitted kernels: slow, short, and obviously right."""

from __future__ import annotations

import math

import numpy as np


def wilson(p, n, z):
    """Roots of (p - x)^2 = z^2 x (1 - x) / n."""
    low, high = [], []
    for pi, ni, zi in zip(p, n, z, strict=True):
        if not ni > 0 or not 0 <= pi <= 1:
            low.append(math.nan)
            high.append(math.nan)
            continue
        a, b, c = 1 + zi**2 / ni, -(2 * pi + zi**2 / ni), pi**2
        root = math.sqrt(max(b * b - 4 * a * c, 0.0))
        low.append(0.0 if pi == 0 else (-b - root) / (2 * a))
        high.append(1.0 if pi == 1 else (-b + root) / (2 * a))
    return np.array(low), np.array(high)


def pair_orders(unit, reverse, answer, n_units):
    """Answers of each unit in both orders, the last call of an order winning."""
    answers = {(u, o): 4 for u in range(n_units) for o in (0, 1)}
    seen, duplicates, first = set(), 0, -1
    for i, (u, r, a) in enumerate(zip(unit, reverse, answer, strict=True)):
        key = (u, int(r))
        if key in seen:
            duplicates += 1
            first = i if first < 0 else first
        seen.add(key)
        answers[key] = a
    return np.array([[answers[u, 0], answers[u, 1]] for u in range(n_units)], dtype=np.int8), duplicates, first


def decompose(counts):
    """Classes of pairs by the two-order table of the dark_current paper."""
    classes = np.zeros((counts.shape[0], 5))
    table = {(0, 0): 1, (1, 1): 1, (0, 1): 0, (1, 0): 0, (2, 2): 3, (0, 2): 2, (1, 2): 2, (2, 0): 2, (2, 1): 2}
    for g, i, j in np.ndindex(*counts.shape):
        classes[g, table.get((i, j), 4)] += counts[g, i, j]
    return classes


def resampled_totals(counts, index):
    """Sum of the drawn clusters' counts."""
    return np.array([counts[draw].sum(axis=0) for draw in index])


def by_appearance(code):
    """Numbers in order of first appearance, and where that was."""
    seen = {}
    number = [seen.setdefault(c, len(seen)) for c in code]
    first = [number.index(g) for g in range(len(seen))]
    return np.array(number, dtype=np.int32), np.array(first, dtype=np.int64)


def cluster_totals(counts, rng, n_resamples, strata=None):
    """As many clusters from each stratum as it has, one list of clusters a resample."""
    drawn = [[] for _ in range(n_resamples)]
    strata = [0] * len(counts) if strata is None else list(strata)
    for s in sorted(set(strata)):
        members = [g for g, its in enumerate(strata) if its == s]
        index = rng.integers(0, len(members), size=(n_resamples, len(members)))
        for b in range(n_resamples):
            drawn[b] += [members[i] for i in index[b]]
    return np.array([sum((counts[g] for g in clusters), np.zeros(counts.shape[1])) for clusters in drawn])


def multinomial_totals(counts, rng, n_resamples, strata=None):
    """Rows written out, and drawn one by one within their strata: the same distribution, not the same draws."""
    rows = [(p, 0 if strata is None else strata[p]) for p, c in enumerate(counts) for _ in range(int(c))]
    totals = np.zeros((n_resamples, len(counts)))
    for b in range(n_resamples):
        for s in {s for _, s in rows}:
            members = [p for p, its in rows if its == s]
            for i in rng.integers(0, len(members), len(members)):
                totals[b, members[i]] += 1
    return totals


def two_way_totals(row, column, counts, rng, n_resamples):
    """Every drawn row crossed with every drawn column, written out."""
    levels = [int(max(x)) + 1 for x in (row, column)]
    rows, columns = (rng.integers(0, n, size=(n_resamples, n)) for n in levels)
    totals = np.zeros((n_resamples, counts.shape[1]))
    for b in range(n_resamples):
        for r in rows[b]:
            for c in columns[b]:
                totals[b] += counts[(row == r) & (column == c)].sum(axis=0)
    return totals


def tango(b, c, n, z):
    """Ends of the differences whose constrained score test is within z, found on the likelihood itself."""
    from scipy.optimize import brentq, minimize_scalar

    def score(delta):
        low, high = max(0.0, -delta), min(1.0, (1 - delta) / 2)  # p21, so that p12 = p21 + delta and the rest fit

        def loss(p):
            parts = ((b, p + delta), (c, p), (n - b - c, 1 - 2 * p - delta))
            return -sum(k * math.log(max(q, 1e-300)) for k, q in parts if k > 0)

        p = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-13}).x
        variance = n * (2 * p + delta - delta**2)
        return (b - c - n * delta) / math.sqrt(max(variance, 1e-300))

    d = (b - c) / n
    low = -1.0 if score(-1 + 1e-9) < z else brentq(lambda x: score(x) - z, -1 + 1e-9, d, xtol=1e-12)
    high = 1.0 if score(1 - 1e-9) > -z else brentq(lambda x: score(x) + z, d, 1 - 1e-9, xtol=1e-12)
    return low, high
