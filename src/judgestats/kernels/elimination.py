"""Sparse symmetric systems of crossed and nested random effects: order, factorise in place, solve, invert where needed.

Columns come in elimination order, the factor with most levels first. The leading columns are eliminated one by one
with a sparse LDL' (the largest factor is a diagonal block; a factor in which it is nested is diagonal again after it);
the remaining matrix is nearly dense and goes to LAPACK. Where only the largest factor is worth eliminating, and its
columns do not touch each other, what they share with the rest is kept as a full block: the system is then an arrow, and
all of it is BLAS and LAPACK. The leading columns of other systems go through compiled loops. One flat array holds the
matrix, then its factor, then the entries of its inverse: first the entries of the leading columns below the diagonal,
then their diagonal, then the dense tail by rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy  # scipy.linalg is loaded by its first use
from numpy.typing import NDArray

from judgestats.kernels.compiling import njit
from judgestats.typing import Floats, Ints

#: Speed of dense arithmetic relative to sparse.
DENSE_SPEED = 4.0
#: Speed of BLAS products relative to sparse arithmetic, and the number of products that is always cheap.
BLAS_SPEED, CHEAP = 16.0, 5e6
#: Entries of a full block beside the leading columns that are affordable.
_MOST_ENTRIES = 2**25


@dataclass(frozen=True)
class Structure:
    """Where each entry of the matrix lies. q columns, the first s sparse, the last q - s dense."""

    q: int
    s: int
    start: Ints  # (s + 1,): first entry of each leading column
    rows: Ints  # (entries,): row of each entry below the diagonal, increasing within a column
    cols: Ints  # (N, K): columns that each row of data touches
    place: NDArray[np.int32]  # flat position of each pair of them, (0, 0), (1, 0), (1, 1), (2, 0), ...
    size: int  # length of the flat array
    # whether the leading columns do not touch each other and touch all of the others, as far as `rows` goes
    arrow: bool = False

    @cached_property
    def entries(self) -> int:
        """Entries below the diagonal of the leading columns."""
        return int(self.start[self.s])

    def parts(self, flat: Floats) -> tuple[Floats, Floats, Floats]:
        """Views of an arrow: its (s, q - s) block beside the diagonal, its diagonal, its (q - s, q - s) tail."""
        tail, end = self.q - self.s, self.entries
        return flat[:end].reshape(self.s, tail), flat[end : end + self.s], flat[end + self.s :].reshape(tail, tail)


def structure(cols: Ints, blocks: Ints, dense_speed: float = DENSE_SPEED, blas_speed: float = BLAS_SPEED) -> Structure:
    """Find the pattern of the factor and how far to go on sparsely.

    `cols` (N, K): columns that each row of data touches, in elimination order. `blocks` (F + 1,): first column of each
    factor, and the number of columns. The speeds are those of dense arithmetic and BLAS relative to sparse; 0: no
    arrow.
    """
    q = int(blocks[-1])
    if _is_arrow(cols, blocks, blas_speed):
        return _arrow(cols, int(blocks[min(1, len(blocks) - 1)]), q)
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


def _is_arrow(cols: Ints, blocks: Ints, speed: float) -> bool:
    """Whether columns of the first factor do not touch each other, and a full block beside them costs no more."""
    s, q = int(blocks[min(1, len(blocks) - 1)]), int(blocks[-1])
    tail = q - s
    if speed == 0 or s * tail > _MOST_ENTRIES or ((cols < s).sum(axis=1) > 1).any():
        return False
    cost = float(s) * tail**2
    if cost <= CHEAP:
        return True
    touched = np.zeros(s * tail, bool)
    for own in cols.T:
        for other in cols.T:
            pairs = (own < s) & (other >= s)
            touched[own[pairs] * tail + other[pairs] - s] = True
    sparse = float((touched.reshape(s, tail).sum(axis=1, dtype=np.float64) ** 2).sum())
    return cost <= speed * sparse


def _arrow(cols: Ints, s: int, q: int) -> Structure:
    tail = q - s
    place = np.empty((cols.shape[1] * (cols.shape[1] + 1) // 2, len(cols)), np.int64)
    p = 0
    for a in range(cols.shape[1]):
        for b in range(a + 1):
            j, k = np.minimum(cols[:, a], cols[:, b]), np.maximum(cols[:, a], cols[:, b])
            beside = np.where(j == k, s * tail + j, j * tail + k - s)
            place[p] = np.where(j >= s, s * tail + s + (k - s) * tail + j - s, beside)
            p += 1
    start, rows = np.arange(s + 1) * tail, np.tile(np.arange(s, q), s)
    return Structure(q, s, start, rows, cols, place.T, s * tail + s + tail**2, arrow=True)


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
    first, n_entries = np.zeros(q + 1, np.int64), 0
    for j in range(q):
        for e in range(bucket[j], bucket[j + 1]):
            if entries[e] != j and seen[entries[e]] != j:
                seen[entries[e]] = j
                entries[n_entries] = entries[e]
                n_entries += 1
        first[j + 1] = n_entries
    return first, entries[:n_entries]


@njit(cache=True)
def _fill(first: Ints, below: Ints, blocks: Ints, speed: float, start: Ints, rows: Ints) -> int:
    """Pattern, factor by factor, until dense arithmetic is cheaper: columns done, or -1 if `rows` is too short."""
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


def gather(layout: Structure, zl: Floats, w: Floats, flat: Floats) -> None:
    """Write I + Σ w_i z_i z_i' into the flat array; `zl` (N, K), `w` (N,)."""
    if not layout.arrow:
        _gather(layout.place, zl, w, layout.entries, layout.s, layout.q, flat)
        return
    flat[:] = 0.0
    p = 0
    for a in range(zl.shape[1]):
        wa = w * zl[:, a]
        for b in range(a + 1):
            flat += np.bincount(layout.place[:, p], wa * zl[:, b], minlength=layout.size)
            p += 1
    _, diagonal, tail = layout.parts(flat)
    diagonal += 1.0
    tail.ravel()[:: len(tail) + 1] += 1.0


@njit(cache=True)
def _gather(place: NDArray[np.int32], zl: Floats, w: Floats, entries: int, s: int, q: int, flat: Floats) -> None:
    for j in range(len(flat)):
        flat[j] = 0.0
    for j in range(entries, entries + s):
        flat[j] = 1.0
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


def factorise(layout: Structure, flat: Floats) -> bool:
    """Factorise in place: L D L' of the leading columns, Cholesky of the tail; False if not positive definite."""
    s, end = layout.s, layout.entries
    tail = flat[end + s :].reshape(layout.q - s, layout.q - s)
    if layout.arrow:
        beside, diagonal, _ = layout.parts(flat)
        if not (diagonal > 0.0).all():
            return False
        half = beside / np.sqrt(diagonal)[:, None]
        tail -= half.T @ half
        beside /= diagonal[:, None]
    elif not _eliminate(layout.start, layout.rows, s, layout.q, flat):
        return False
    if not np.isfinite(np.diagonal(tail)).all():
        return False
    if len(tail):
        factor, wrong = scipy.linalg.lapack.dpotrf(tail.T, lower=0, clean=1, overwrite_a=1)
        tail[:] = factor.T  # it is there already where LAPACK took the array as it is
        return bool(wrong == 0)
    return True


@njit(cache=True)
def _eliminate(start: Ints, rows: Ints, s: int, q: int, flat: Floats) -> bool:
    """L D L' of the leading columns, and what they leave of the tail."""
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
    return True


def log_determinant(layout: Structure, flat: Floats, times: Floats) -> float:
    """Log determinant of the factorised matrix; `times` (q,): how often each column counts."""
    end, s = layout.entries, layout.s
    tail = flat[end + s :][:: layout.q - s + 1]
    return float(times[:s] @ np.log(flat[end : end + s]) + 2 * times[s:] @ np.log(tail))


def solve_many(layout: Structure, flat: Floats, B: Floats) -> Floats:
    """Solve with the factor for one right-hand side (q,) or several (q, p)."""
    s, size = layout.s, layout.q - layout.s
    corner = flat[layout.entries + s :].reshape(size, size)
    result = np.array(B, dtype=np.float64, order="C")
    if not result.size:
        return result
    x = result if result.ndim == 2 else result[:, None]
    system = (layout.start, layout.rows, s, flat, x)
    if layout.arrow:
        beside, diagonal, _ = layout.parts(flat)
        x[s:] -= beside.T @ x[:s]
    else:
        _forward(*system)
    if size:
        x[s:] = scipy.linalg.lapack.dpotrs(corner.T, x[s:], lower=0)[0]
    if layout.arrow:
        x[:s] /= diagonal[:, None]
        x[:s] -= beside @ x[s:]
    else:
        _backward(*system)
    return result


@njit(cache=True)
def _forward(start: Ints, rows: Ints, s: int, flat: Floats, x: Floats) -> None:
    """Solve with L of the leading columns, in place."""
    for k in range(s):
        for e in range(start[k], start[k + 1]):
            for c in range(x.shape[1]):
                x[rows[e], c] -= flat[e] * x[k, c]


@njit(cache=True)
def _backward(start: Ints, rows: Ints, s: int, flat: Floats, x: Floats) -> None:
    """Solve with D L' of the leading columns, in place."""
    for k in range(s - 1, -1, -1):
        for c in range(x.shape[1]):
            x[k, c] /= flat[start[s] + k]
        for e in range(start[k], start[k + 1]):
            for c in range(x.shape[1]):
                x[k, c] -= flat[e] * x[rows[e], c]


def invert(layout: Structure, flat: Floats) -> Floats:
    """Entries of the inverse on the pattern of the factor (Takahashi's recurrence), in the same flat places."""
    Z, s, size = np.zeros_like(flat), layout.s, layout.q - layout.s
    corner = flat[layout.entries + s :].reshape(size, size)
    if size:
        upper = scipy.linalg.lapack.dpotri(corner.T, lower=0)[0]  # its other triangle is 0
        Z[layout.entries + s :] = (upper + np.triu(upper, 1).T).ravel()
    if not layout.arrow:
        _recur(layout.start, layout.rows, s, layout.q, flat, Z)
        return Z
    (beside, diagonal, _), (moved, own, inverse) = layout.parts(flat), layout.parts(Z)
    np.matmul(beside, inverse, out=moved)
    own[:] = 1.0 / diagonal + np.einsum("ij,ij->i", beside, moved)
    np.negative(moved, out=moved)
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


def dense(structure: Structure, flat: Floats) -> Floats:
    """A matrix, or an inverse, as a dense array (q, q), 0 outside the pattern: for tests and small systems."""
    q, s, start = structure.q, structure.s, structure.start
    full = np.zeros((q, q))
    for k in range(s):
        own = slice(start[k], start[k + 1])
        full[structure.rows[own], k] = flat[own]
        full[k, k] = flat[start[s] + k]
    full[s:, s:] = np.tril(np.asarray(flat[start[s] + s :]).reshape(q - s, q - s))
    return full + np.tril(full, -1).T


def cross(zl: Floats, weight: Floats, cols: Ints, matrix: Floats, q: int) -> Floats:
    """Λ'Z'W times a matrix (N, p), (q, p); `zl`, `cols` (N, K)."""
    B = np.zeros((q, matrix.shape[1]))
    for own, c in zip(zl.T, cols.T, strict=True):
        scaled, touched = weight * own, np.ascontiguousarray(c)
        for column, values in enumerate(matrix.T):
            B[:, column] += np.bincount(touched, scaled * values, minlength=q)
    return B
