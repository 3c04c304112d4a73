"""Plain twins of the agreement kernels: one loop for each sign of sum in the definition."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np


def coincidences(units):
    """Krippendorff's table of coincidences of lists of answers, and the answers that can be paired."""
    values = sorted({v for unit in units if len(unit) > 1 for v in unit})
    table = {(c, k): 0.0 for c in values for k in values}
    for unit in units:
        for c, k in permutations(range(len(unit)), 2):
            table[unit[c], unit[k]] += 1 / (len(unit) - 1)
    return values, table


def difference(level, values, n):
    """Squared difference of two answers."""

    def ordinal(c, k):
        between = sum(n[g] for g in values if min(c, k) <= g <= max(c, k))
        return (between - (n[c] + n[k]) / 2) ** 2

    return {
        "nominal": lambda c, k: float(c != k),
        "ordinal": lambda c, k: 0.0 if c == k else ordinal(c, k),
        "interval": lambda c, k: (c - k) ** 2,
        "ratio": lambda c, k: 0.0 if c == k else ((c - k) / (c + k)) ** 2,
    }[level]


def alpha(units, level):
    """Krippendorff's alpha; NaN where nothing is expected."""
    values, table = coincidences(units)
    n = {c: sum(table[c, k] for k in values) for c in values}
    total = sum(n.values())
    apart = difference(level, values, n)
    expected = sum(n[c] * n[k] * apart(c, k) for c in values for k in values)
    observed = sum(table[c, k] * apart(c, k) for c in values for k in values)
    return 1 - (total - 1) * observed / expected if expected > 0 else math.nan


def gwet(units, weights):
    """Gwet's coefficient and its standard error, from lists of answers 0 to q - 1, each unit with one at least."""
    q, n = len(weights), len(units)
    paired = [u for u in units if len(u) > 1]
    agreement = [
        sum(weights[a][b] for a, b in permutations(unit, 2)) / (len(unit) * (len(unit) - 1)) for unit in paired
    ]
    observed = sum(agreement) / len(paired)
    share = [[unit.count(k) / len(unit) for k in range(q)] for unit in units]
    pi = [sum(s[k] for s in share) / n for k in range(q)]
    scale = sum(map(sum, weights)) / (q * (q - 1))
    expected = scale * sum(p * (1 - p) for p in pi)
    estimate = (observed - expected) / (1 - expected)
    squares = 0.0
    remaining = iter(agreement)
    for unit, s in zip(units, share, strict=True):
        own = (n / len(paired)) * (next(remaining) - expected) / (1 - expected) if len(unit) > 1 else 0.0
        chance = scale * sum(x * (1 - p) for x, p in zip(s, pi, strict=True))
        squares += (own - 2 * (1 - estimate) * (chance - expected) / (1 - expected) - estimate) ** 2
    return estimate, math.sqrt(squares / (n * (n - 1))), observed, expected


def kappa(one, two, weights):
    """Cohen's kappa of two lists of answers 0 to m - 1, with agreement weights."""
    n = len(one)
    observed = sum(weights[a][b] for a, b in zip(one, two, strict=True)) / n
    expected = sum(weights[a][b] for a in one for b in two) / n**2
    return (observed - expected) / (1 - expected) if expected < 1 - 1e-12 else math.nan


def fleiss(counts):
    """Fleiss's kappa and its z under the hypothesis of chance, from units by answers, as Fleiss 1971 writes it."""
    counts = np.asarray(counts, dtype=float)
    n, judges = len(counts), counts[0].sum()
    p = counts.sum(axis=0) / (n * judges)
    observed = ((counts**2).sum() - n * judges) / (n * judges * (judges - 1))
    expected = (p**2).sum()
    q = 1 - p
    error = math.sqrt(2 / (n * judges * (judges - 1))) * math.sqrt((p @ q) ** 2 - (p * q * (q - p)).sum()) / (p @ q)
    estimate = (observed - expected) / (1 - expected)
    return estimate, estimate / error
