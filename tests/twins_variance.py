"""Plain twins of the kernels in ``judgestats.kernels.variance``, and of the restricted likelihood."""

from itertools import product

import numpy as np
from scipy import optimize, stats


def two_way(table):
    """Mean squares of one subjects x raters table, by the definitions: subjects, raters, residual, within."""
    n, k = len(table), len(table[0])
    grand = sum(map(sum, table)) / (n * k)
    rows = [sum(r) / k for r in table]
    columns = [sum(table[i][j] for i in range(n)) / n for j in range(k)]
    subjects = sum(k * (r - grand) ** 2 for r in rows) / (n - 1)
    raters = sum(n * (c - grand) ** 2 for c in columns) / (k - 1)
    places = list(product(range(n), range(k)))
    residual = sum((table[i][j] - rows[i] - columns[j] + grand) ** 2 for i, j in places) / ((n - 1) * (k - 1))
    within = sum((table[i][j] - rows[i]) ** 2 for i, j in places) / (n * (k - 1))
    return subjects, raters, residual, within


def two_way_sums(scores, start):
    """Sums of squares of stacked subjects x raters tables in NumPy: subjects, raters, residual; and the largest size."""
    found = []
    for table in np.split(scores, start[1:]):
        k, y = table.shape[1], table - table[0, 0]
        rater, subject = y.mean(axis=0), y.mean(axis=1, keepdims=True)
        rest = y - rater - subject + y.mean()
        squares = [k * subject.var() * len(y), rater.var() * y.size, (rest**2).sum()]
        found.append([*squares, np.abs(table).max()])
    return np.array(found)


def shrout_fleiss(table):
    """The six correlations by the formulas of the 1979 paper."""
    bms, jms, ems, wms = two_way(table)
    n, k = len(table), len(table[0])
    return [
        (bms - wms) / (bms + (k - 1) * wms),
        (bms - ems) / (bms + (k - 1) * ems + k * (jms - ems) / n),
        (bms - ems) / (bms + (k - 1) * ems),
        (bms - wms) / bms,
        (bms - ems) / (bms + (jms - ems) / n),
        (bms - ems) / bms,
    ]


def _design(y, codes, ratio):
    n = len(y)
    Z = [(np.asarray(c)[:, None] == np.unique(c)[None, :]).astype(float) for c in codes]
    V = np.eye(n) + sum(r * z @ z.T for r, z in zip(ratio, Z, strict=True))
    one = np.ones((n, 1))
    inverse = np.linalg.inv(V)
    t = (one.T @ inverse @ one).item()
    return n, Z, V, t, inverse - inverse @ one @ one.T @ inverse / t


def reml(y, codes, ratio):
    """Criterion, gradient, residual variance and its log slope, from V itself."""
    n, Z, V, t, P = _design(y, codes, ratio)
    squares = y @ P @ y
    criterion = np.linalg.slogdet(V)[1] + np.log(t) + (n - 1) * (1 + np.log(2 * np.pi * squares / (n - 1)))
    slope = np.array([-np.sum((z.T @ P @ y) ** 2) / squares for z in Z])
    gradient = np.array([np.trace(P @ z @ z.T) for z in Z]) + (n - 1) * slope
    return criterion, gradient, squares / (n - 1), slope


def gram(y, codes):
    """Normalised tr(Q V_f Q V_g), the residual last."""
    _, Z, _, _, Q = _design(y, codes, np.zeros(len(codes)))
    parts = [Q @ z @ z.T for z in Z] + [Q]
    raw = np.array([[np.trace(a @ b) for b in parts] for a in parts])
    size = np.sqrt(np.diag(raw))
    return raw / np.outer(size, size)


def effect_squares(y, effects):
    """Mean squares of a complete design by projections; expectations by moments of each component's covariance."""
    shape = y.shape
    places = np.indices(shape).reshape(len(shape), -1)
    n = y.size

    def projection(axes):
        same = np.ones((n, n), bool)
        for a in axes:
            same &= places[a][:, None] == places[a][None, :]
        return same / same.sum(axis=1, keepdims=True)

    done = projection(())
    parts = []
    for effect in effects:
        whole = projection(effect)
        inside = [p for e, p in parts if set(e) < set(effect)]
        part = whole - projection(()) - sum(inside, np.zeros((n, n)))
        parts.append((effect, part))
        done = done + part
    parts.append(((), np.eye(n) - done))
    flat = y.ravel()
    df = np.array([np.trace(p) for _, p in parts])
    squares = np.array([flat @ p @ flat for _, p in parts]) / df
    covariances = [projection(e) * (n / np.prod([shape[a] for a in e])) for e in effects] + [np.eye(n)]
    expected = np.array([[np.trace(p @ c) for c in covariances] for _, p in parts]) / df[:, None]
    return squares, df, expected


def freedom(influence: np.ndarray) -> float:
    """Degrees of freedom by the kurtosis, at most n - 1."""
    n = influence.size
    return min(2 * n / (stats.kurtosis(influence, fisher=False) - 1), n - 1)


def hall(x: np.ndarray) -> list[float]:
    """Ends where Hall's transform of t is Student's quantile, solved and not by formula."""
    error, skewness = x.std(ddof=1) / np.sqrt(x.size), stats.skew(x) / np.sqrt(x.size)
    quantile = stats.t.ppf(0.975, freedom(x - x.mean()))

    def transformed(end: float) -> float:
        t = (x.mean() - end) / error
        return t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6

    sides = ((x.mean() - 10 * error, x.mean(), quantile), (x.mean(), x.mean() + 20 * error, -quantile))
    return [optimize.brentq(lambda e, q=q: transformed(e) - q, low, high, xtol=1e-13) for low, high, q in sides]
