"""Arguments as the kernels take them."""

from __future__ import annotations

import numpy as np

from judgestats.kernels.coincidences import Units
from judgestats.kernels.paired_comparisons import Comparisons


def as_units(units):
    counts = [np.unique(u, return_counts=True) for u in units]
    start = np.cumsum([0, *(len(c) for c, _ in counts)])
    code = np.concatenate([c for c, _ in counts]).astype(np.int64)
    return Units(start, code, np.concatenate([t for _, t in counts]).astype(float))


def linear_weights(m):
    return np.array([[1 - abs(i - j) / max(m - 1, 1) for j in range(m)] for i in range(m)])


def comparisons(one, two, counts, extra=None):
    extra = np.zeros((len(one), 0)) if extra is None else np.asarray(extra, dtype=float)
    return Comparisons(np.asarray(one, np.int64), np.asarray(two, np.int64), extra, np.asarray(counts, float))
