"""Sparse symmetric systems of crossed and nested random effects: order, factorise in place, solve, invert where needed.

Columns come in elimination order, the factor with most levels first. The leading columns are eliminated one by one
with a sparse LDL' (the largest factor is a diagonal block; a factor in which it is nested is diagonal again after it);
what is left at the end is nearly dense and goes to LAPACK. One flat array holds the matrix, then its factor, then the
entries of its inverse: first the entries of the leading columns below the diagonal, then their diagonal, then the dense
tail by rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Dense arithmetic is so many times faster than sparse.
DENSE_SPEED = 4.0


@dataclass(frozen=True)
class Structure:
    """Where each entry of the matrix lies. q columns, the first s sparse, the last q - s dense.

    Attributes
    ----------
    q, s : int
    start : (s + 1,) int array
        First entry of each leading column.
    rows : (entries,) int array
        Row of each entry below the diagonal, increasing within a column.
    cols : (N, K) int array
        Columns that each row of data touches.
    place : (N, K (K + 1) / 2) int32 array
        Flat position of each pair of them, (0, 0), (1, 0), (1, 1), (2, 0), ...
    size : int
        Length of the flat array.
    """

    q: int
    s: int
    start: Ints
    rows: Ints
    cols: Ints
    place: NDArray[np.int32]
    size: int


def structure(cols: Ints, blocks: Ints, dense_speed: float = DENSE_SPEED) -> Structure:
    """Find the pattern of the factor and how far to go on sparsely.

    Parameters
    ----------
    cols : (N, K) int array
        Columns that each row of data touches, numbered in elimination order.
    blocks : (F + 1,) int array
        First column of each factor, and the number of columns.
    dense_speed : float
        How many times faster than sparse arithmetic dense arithmetic is taken to be.

    Returns
    -------
    Structure
    """
    q = int(blocks[-1])
    first, below = _pattern(cols, q)
    start, s, room = np.zeros(q + 1, np.int64), -1, len(below) + q
    while s < 0:
        room *= 2
        rows = np.empty(room, np.int64)
        s = _fill(first, below, blocks, dense_speed, start, rows)
    start, rows = start[: s + 1], rows[: start[s]]
    column = np.repeat(np.arange(s), np.diff(start))
    rows = np.sort(column * q + rows) - column * q
    place = _places(cols, start, rows, s, q)
    return Structure(q, s, start.copy(), rows, cols, place, int(start[-1]) + s + (q - s) ** 2)


@njit(cache=True)
def _pattern(cols: Ints, q: int) -> tuple[Ints, Ints]:
    """Distinct (row, column) pairs below the diagonal, by column."""
    N, K = cols.shape
    bucket = np.zeros(q + 1, np.int64)
    for i in range(N):
        for a in range(K):
            for b in range(a):
                bucket[min(cols[i, a], cols[i, b]) + 1] += 1
    for j in range(q):
        bucket[j + 1] += bucket[j]
    fill, entries = bucket.copy(), np.empty(bucket[q], np.int64)
    for i in range(N):
        for a in range(K):
            for b in range(a):
                j = min(cols[i, a], cols[i, b])
                entries[fill[j]] = max(cols[i, a], cols[i, b])
                fill[j] += 1
    seen = np.full(q, -1, np.int64)
    first, kept = np.zeros(q + 1, np.int64), 0
    for j in range(q):
        for e in range(bucket[j], bucket[j + 1]):
            if entries[e] != j and seen[entries[e]] != j:
                seen[entries[e]] = j
                entries[kept] = entries[e]
                kept += 1
        first[j + 1] = kept
    return first, entries[:kept]


@njit(cache=True)
def _fill(first: Ints, below: Ints, blocks: Ints, speed: float, start: Ints, rows: Ints) -> int:
    """Pattern of the factor, factor by factor, until dense arithmetic is cheaper; rows of a column in any order.

    Returns how many columns were done, -1 where `rows` is too short.
    """
    q, end = len(start) - 1, 0
    child, sibling, seen = np.full(q, -1, np.int64), np.full(q, -1, np.int64), np.full(q, -1, np.int64)
    for f in range(len(blocks) - 1):
        work = 0.0
        for k in range(blocks[f], blocks[f + 1]):
            own, parent = end, q
            if len(rows) < end + q:
                return -1
            for e in range(first[k], first[k + 1]):
                if seen[below[e]] != k:
                    seen[below[e]] = k
                    rows[end] = below[e]
                    end += 1
            c = child[k]
            while c >= 0:
                for e in range(start[c], start[c + 1]):
                    if rows[e] > k and seen[rows[e]] != k:
                        seen[rows[e]] = k
                        rows[end] = rows[e]
                        end += 1
                c = sibling[c]
            start[k + 1] = end
            work += float(end - own) ** 2
            for e in range(own, end):
                parent = min(parent, rows[e])
            if parent < q:
                sibling[k] = child[parent]
                child[parent] = k
        dense = float(q - blocks[f]) ** 3 - float(q - blocks[f + 1]) ** 3
        if work > dense / 3 / speed:
            return int(blocks[f])
    return q


@njit(cache=True)
def _find(rows: Ints, low: int, high: int, row: int) -> int:
    """First place in rows[low:high], which increase, that is not below `row`."""
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _places(cols: Ints, start: Ints, rows: Ints, s: int, q: int) -> NDArray[np.int32]:
    N, K = cols.shape
    place = np.empty((N, K * (K + 1) // 2), np.int32)
    entries, tail = start[s], q - s
    for i in range(N):
        p = 0
        for a in range(K):
            for b in range(a + 1):
                j, k = min(cols[i, a], cols[i, b]), max(cols[i, a], cols[i, b])
                if j >= s:
                    place[i, p] = entries + s + (k - s) * tail + (j - s)
                elif j == k:
                    place[i, p] = entries + j
                else:
                    place[i, p] = _find(rows, start[j], start[j + 1], k)
                p += 1
    return place


@njit(cache=True)
def gather(place: NDArray[np.int32], zl: Floats, w: Floats, entries: int, s: int, q: int, flat: Floats) -> None:
    """Write I + Σ w_i z_i z_i' into the flat array.

    Parameters
    ----------
    place : (N, K (K + 1) / 2) int32 array
        From :class:`Structure`.
    zl : (N, K) float array
        Values of each row of data in its columns.
    w : (N,) float array
        Weights.
    entries, s, q : int
        Entries below the diagonal of the leading columns, leading columns, columns.
    flat : float array
        Overwritten.
    """
    flat[:] = 0.0
    flat[entries : entries + s] = 1.0
    tail = q - s
    for j in range(tail):
        flat[entries + s + j * (tail + 1)] = 1.0
    for i in range(zl.shape[0]):
        p = 0
        for a in range(zl.shape[1]):
            wa = w[i] * zl[i, a]
            for b in range(a + 1):
                flat[place[i, p]] += wa * zl[i, b]
                p += 1


@njit(cache=True)
def factorise(start: Ints, rows: Ints, s: int, q: int, flat: Floats) -> bool:
    """Factorise in place: L D L' of the leading columns, Cholesky of the tail.

    Parameters
    ----------
    start, rows, s, q
        From :class:`Structure`.
    flat : float array
        The matrix; overwritten by its factor.

    Returns
    -------
    bool
        False where the matrix is not positive definite.
    """
    entries, tail = start[s], q - s
    x = np.zeros(q)
    head, following = np.full(s + 1, -1, np.int64), np.full(s + 1, -1, np.int64)
    reached = start[:s].copy()
    for j in range(s):
        if head[j] >= 0:  # columns before it that reach row j
            for e in range(start[j], start[j + 1]):
                x[rows[e]] = flat[e]
            d = flat[entries + j]
            k = head[j]
            while k >= 0:
                after = following[k]
                e = reached[k]
                scaled = flat[e] * flat[entries + k]
                d -= flat[e] * scaled
                for i in range(e + 1, start[k + 1]):
                    x[rows[i]] -= flat[i] * scaled
                reached[k] = e + 1
                if e + 1 < start[k + 1] and rows[e + 1] < s:
                    following[k] = head[rows[e + 1]]
                    head[rows[e + 1]] = k
                k = after
            flat[entries + j] = d
            for e in range(start[j], start[j + 1]):
                flat[e] = x[rows[e]]
                x[rows[e]] = 0.0
        d = flat[entries + j]
        if not d > 0.0:
            return False
        for e in range(start[j], start[j + 1]):
            flat[e] /= d
        if start[j] < start[j + 1] and rows[start[j]] < s:
            following[j] = head[rows[start[j]]]
            head[rows[start[j]]] = j
    first = entries + s
    for k in range(s):
        begin = _find(rows, start[k], start[k + 1], s)
        full = start[k + 1] - begin == tail
        for e in range(begin, start[k + 1]):
            scaled, own = flat[e] * flat[entries + k], first + (rows[e] - s) * tail
            if full:  # side by side in memory
                for i in range(e - begin + 1):
                    flat[own + i] -= scaled * flat[begin + i]
            else:
                for i in range(begin, e + 1):
                    flat[own + rows[i] - s] -= scaled * flat[i]
    return bool(_cholesky(tail, first, flat))


@njit(cache=True, fastmath={"reassoc", "contract"})
def _cholesky(n: int, first: int, flat: Floats) -> bool:
    """Lower Cholesky factor in place, row by row, from flat[first] on; the upper triangle becomes 0."""
    for i in range(n):
        own = first + i * n
        for j in range(i + 1):
            total, other = 0.0, first + j * n
            for k in range(j):
                total += flat[own + k] * flat[other + k]
            rest = flat[own + j] - total
            if j < i:
                flat[own + j] = rest / flat[other + j]
            elif rest > 0.0:
                flat[own + j] = np.sqrt(rest)
            else:
                return False
        for j in range(i + 1, n):
            flat[own + j] = 0.0
    return True


@njit(cache=True)
def log_determinant(entries: int, s: int, q: int, flat: Floats, times: Floats) -> float:
    """Log determinant of the factorised matrix.

    Parameters
    ----------
    entries, s, q : int
    flat : float array
        The factor.
    times : (q,) float array
        How often each column counts: more than once where equal groups were collapsed.

    Returns
    -------
    float
    """
    total, tail = 0.0, q - s
    for j in range(s):
        total += times[j] * np.log(flat[entries + j])
    for j in range(tail):
        total += 2 * times[s + j] * np.log(flat[entries + s + j * (tail + 1)])
    return total


@njit(cache=True)
def solve(start: Ints, rows: Ints, s: int, q: int, flat: Floats, x: Floats) -> None:
    """Solve in place for one right-hand side.

    Parameters
    ----------
    start, rows, s, q
        From :class:`Structure`.
    flat : float array
        The factor.
    x : (q,) float array
        Right-hand side; overwritten by the solution.
    """
    entries, tail = start[s], q - s
    for k in range(s):
        for e in range(start[k], start[k + 1]):
            x[rows[e]] -= flat[e] * x[k]
    if tail:
        for i in range(tail):
            total, own = x[s + i], entries + s + i * tail
            for j in range(i):
                total -= flat[own + j] * x[s + j]
            x[s + i] = total / flat[own + i]
        for i in range(tail - 1, -1, -1):
            own = entries + s + i * tail
            x[s + i] /= flat[own + i]
            for j in range(i):
                x[s + j] -= flat[own + j] * x[s + i]
    for k in range(s - 1, -1, -1):
        total = x[k] / flat[entries + k]
        for e in range(start[k], start[k + 1]):
            total -= flat[e] * x[rows[e]]
        x[k] = total


@njit(cache=True)
def solve_many(start: Ints, rows: Ints, s: int, q: int, flat: Floats, B: Floats) -> Floats:
    """Solve for several right-hand sides.

    Parameters
    ----------
    start, rows, s, q
        From :class:`Structure`.
    flat : float array
        The factor.
    B : (q, p) float array

    Returns
    -------
    (q, p) float array
    """
    result = np.empty_like(B)
    for c in range(B.shape[1]):
        x = B[:, c].copy()
        solve(start, rows, s, q, flat, x)
        result[:, c] = x
    return result


def invert(start: Ints, rows: Ints, s: int, q: int, flat: Floats) -> Floats:
    """Entries of the inverse on the pattern of the factor (Takahashi's recurrence), in the same flat places.

    Parameters
    ----------
    start, rows, s, q
        From :class:`Structure`.
    flat : float array
        The factor.

    Returns
    -------
    float array
        Flat, as the matrix was; both triangles of the tail are filled.
    """
    Z, tail = np.zeros_like(flat), q - s
    if tail:
        half = np.linalg.inv(flat[start[s] + s :].reshape(tail, tail))
        Z[start[s] + s :] = (half.T @ half).ravel()
    _recur(start, rows, s, q, flat, Z)
    return Z


@njit(cache=True, fastmath={"reassoc", "contract"})
def _recur(start: Ints, rows: Ints, s: int, q: int, flat: Floats, Z: Floats) -> None:
    """Inverse of the leading columns from that of the tail."""
    entries, tail, x = start[s], q - s, np.zeros(q)
    for k in range(s - 1, -1, -1):
        middle = _find(rows, start[k], start[k + 1], s)
        for a in range(middle, start[k + 1]):
            total, own = 0.0, entries + s + (rows[a] - s) * tail
            if start[k + 1] - middle == tail:  # side by side in memory
                for i in range(tail):
                    total += Z[own + i] * flat[middle + i]
            else:
                for b in range(middle, start[k + 1]):
                    total += Z[own + rows[b] - s] * flat[b]
            Z[a] = -total
        for b in range(start[k], middle):
            j = rows[b]
            for e in range(start[j], start[j + 1]):
                x[rows[e]] = Z[e]
            Z[b] -= Z[entries + j] * flat[b]
            for a in range(b + 1, start[k + 1]):
                Z[a] -= x[rows[a]] * flat[b]
                Z[b] -= x[rows[a]] * flat[a]
            for e in range(start[j], start[j + 1]):
                x[rows[e]] = 0.0
        total = 1.0 / flat[entries + k]
        for e in range(start[k], start[k + 1]):
            total -= flat[e] * Z[e]
        Z[entries + k] = total


def dense(structure: Structure, flat: Any) -> Floats:
    """The matrix as a dense array, for tests and small systems.

    Parameters
    ----------
    structure : Structure
    flat : float array
        A matrix or an inverse, before it is factorised.

    Returns
    -------
    (q, q) float array
        Symmetric; 0 outside the pattern.
    """
    q, s, start = structure.q, structure.s, structure.start
    full = np.zeros((q, q))
    for k in range(s):
        own = slice(start[k], start[k + 1])
        full[structure.rows[own], k] = flat[own]
        full[k, k] = flat[start[s] + k]
    full[s:, s:] = np.tril(np.asarray(flat[start[s] + s :]).reshape(q - s, q - s))
    return full + np.tril(full, -1).T
