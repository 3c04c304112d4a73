"""Exact compression: rows with the same likelihood are one row, groups likewise.

Cost then follows the number of distinct patterns, not of calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgestats.models.designs import Design, RandomTerm
from judgestats.typing import Floats, Ints

_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Columns:
    """Random effects as columns in elimination order: the factor with most levels first, level by level."""

    cols: Ints  # (N, K): columns that each row touches; K columns a row, term after term as the formula has them
    z: Floats  # (N, K): values there
    blocks: Ints  # (F + 1,): first column of each factor, and the number of columns
    sizes: tuple[int, ...]  # columns of each term, in the formula's order
    factor: tuple[int, ...]  # position of each term's factor in `blocks`
    # offset, width: column of term t at level l, part c: ``blocks[factor[t]] + l * width[t] + offset[t] + c``
    offset: tuple[int, ...]
    width: tuple[int, ...]

    def of(self, t: int, c: int) -> Ints:
        """Columns of part c of term t, level by level."""
        first, last = self.blocks[self.factor[t]], self.blocks[self.factor[t] + 1]
        return np.arange(first + self.offset[t] + c, last, self.width[t])


@dataclass(frozen=True)
class Compressed:
    """Distinct rows, sorted by group where there is one factor."""

    y: Floats  # y, m (N,): sums of the response and of trials or rows
    m: Floats
    X: Floats  # (N, p)
    offset: Floats  # (N,)
    category: Ints  # category, part (N,): category of a cumulative response, and its set of thresholds
    part: Ints
    columns: Columns
    times: Floats  # (N,): how often each row counts; over 1 only where groups were collapsed
    often: Floats  # (q,): the same of each column
    squares: Floats  # (N,): sum of squares of the responses about their mean (Gaussian)


def columns(design: Design) -> Columns:
    """Number the columns of the random effects."""
    terms = design.terms
    factors = sorted(dict.fromkeys(t.factor for t in terms), key=lambda f: -_levels(terms, f))
    factor = tuple(factors.index(t.factor) for t in terms)
    sizes = tuple(t.values.shape[1] for t in terms)
    widths = [sum(s for s, own in zip(sizes, factor, strict=True) if own == f) for f in range(len(factors))]
    counts = [_levels(terms, f) * w for f, w in zip(factors, widths, strict=True)]
    blocks = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
    used, offset = [0] * len(factors), []
    for size, f in zip(sizes, factor, strict=True):
        offset.append(used[f])
        used[f] += size
    cols = [
        blocks[f] + t.codes[:, None] * widths[f] + o + np.arange(s)
        for t, f, o, s in zip(terms, factor, offset, sizes, strict=True)
    ]
    N = len(design.y)
    joined = np.concatenate([np.zeros((N, 0), np.int64), *cols], axis=1).astype(np.int64)
    z = np.concatenate([np.zeros((N, 0)), *[t.values for t in terms]], axis=1)
    return Columns(joined, z, blocks, sizes, factor, tuple(offset), tuple(widths[f] for f in factor))


def _levels(terms: Sequence[RandomTerm], factor: str) -> int:
    return next(len(t.levels) for t in terms if t.factor == factor)


def compress(design: Design, part: Ints, *, groups: bool = True, additive: bool = True) -> Compressed:
    """Collapse equal rows and equal groups of one factor; `additive` False: not those with different responses."""
    own = columns(design)
    category = design.y.astype(np.int64) if design.categories else np.zeros(len(design.y), np.int64)
    key = np.column_stack([design.X, design.offset, own.z, own.cols, category, part])
    key = key if additive else np.column_stack([key, design.y])
    first, inverse = distinct(key)
    scale = design.count * design.weights
    y, m = (_sums(inverse, v * scale) for v in (design.y, design.trials))
    squares = _sums(inverse, scale * (design.y - design.trials * (y / m)[inverse]) ** 2)
    picked = Columns(own.cols[first], own.z[first], own.blocks, own.sizes, own.factor, own.offset, own.width)
    N = len(first)
    X, offset, often = design.X[first], design.offset[first], np.ones(own.blocks[-1])
    table = Compressed(y, m, X, offset, category[first], part[first], picked, np.ones(N), often, squares)
    return _collapse(table) if groups and len(own.blocks) == 2 else table


def _sums(inverse: Ints, values: Floats) -> Floats:
    return np.asarray(np.bincount(inverse, values), np.float64)


def distinct(key: Floats) -> tuple[Ints, Ints]:
    """First row (M,) of each distinct one of a matrix (N, D) without NaN, in order, and which of them each row is."""
    _, first, inverse = np.unique(_mixed(key), return_index=True, return_inverse=True)
    if not (key[first[inverse]] == key).all():  # two rows share a hash
        _, first, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return first[order], place[inverse.reshape(-1)]


def _mixed(key: Floats) -> NDArray[np.uint64]:
    """A 64-bit hash of each row."""
    bits = np.ascontiguousarray(key + 0.0).view(np.uint64)  # no negative zero
    result = np.zeros(len(key), np.uint64)
    for column in bits.T:
        result = (result ^ column) * _ODD
        result ^= result >> np.uint64(29)
    return result


def _collapse(table: Compressed) -> Compressed:
    """Keep one of each set of groups that have the same rows."""
    own, width = table.columns, table.columns.width[0]
    group = own.cols[:, 0] // width
    content = np.column_stack([table.y, table.m, table.X, table.offset, table.category, table.part, own.z])
    _, kind = distinct(content)
    order = np.lexsort((kind, group))
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    present, sizes = group[order][starts], np.diff(np.append(starts, len(order)))
    sums = np.add.reduceat(_mixed(kind[order][:, None].astype(float)), starts)
    signature = sums * _ODD ^ sizes.astype(np.uint64)
    _, first, inverse = np.unique(signature, return_index=True, return_inverse=True)
    within = np.arange(len(order)) - np.repeat(starts, sizes)
    twin = np.repeat(starts[first[inverse]], sizes) + within
    alike = (sizes[first[inverse]] == sizes).all()
    if not alike or not (kind[order][twin] == kind[order]).all():
        first, inverse = np.arange(len(present)), np.arange(len(present))
    first_order = np.sort(first)
    number = np.bincount(inverse, minlength=len(first))[np.argsort(first)].astype(float)
    representatives = np.concatenate([order[starts[g] : starts[g] + sizes[g]] for g in first_order])
    new = np.repeat(np.arange(len(first_order)), sizes[first_order])
    cols = own.cols[representatives] % width + new[:, None] * width
    blocks = np.array([0, len(first_order) * width], np.int64)
    picked = Columns(cols, own.z[representatives], blocks, own.sizes, own.factor, own.offset, own.width)
    times, often = np.repeat(number, sizes[first_order]), np.repeat(number, width)
    same = ("y", "m", "X", "offset", "category", "part", "squares")
    arrays = {name: getattr(table, name)[representatives] for name in same}
    return replace(table, columns=picked, times=times, often=often, **arrays)
