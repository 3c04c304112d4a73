"""Answers of several judges on the same units, and Krippendorff's alpha of them without a table of coincidences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy  # scipy.sparse is loaded by its first use

from judgestats.kernels.compiling import njit
from judgestats.kernels.resampling import multinomial_totals, times_drawn
from judgestats.typing import Floats, Integers

#: Numbers held in memory at a time.
_HELD = 2**22
#: Columns of sums up to which they are no sparse matrix.
_DENSE = 64


class Units(NamedTuple):
    """How often each unit was given each answer; units alike are one pattern.

    Of a judge with several answers to a unit each of them counts by its share of these.
    """

    start: Integers  # (Q + 1,): where each pattern begins in `code`
    code: Integers  # (E,): answers of a pattern, each once, 0 to m - 1
    times: Floats  # (E,): how many judges gave each of them
    repeats: Repeats | None = None  # judges whose repeats differ, if there are any

    @property
    def pattern(self) -> Integers:
        """Pattern of each entry, (E,)."""
        return np.repeat(np.arange(self.start.size - 1), np.diff(self.start))

    @property
    def judges(self) -> Floats:
        """How many judges answered, (Q,)."""
        return np.rint(self.total(self.times))

    def recoded(self, code: Integers) -> Units:
        """The same units with other codes (m,) of the answers."""
        repeats = self.repeats and self.repeats._replace(shares=self.repeats.shares.recoded(code))
        return self._replace(code=code[self.code], repeats=repeats)

    def total(self, values: Floats) -> Floats:
        """Sum of the values of the entries of each pattern, (Q,)."""
        return np.bincount(self.pattern, weights=values, minlength=self.start.size - 1).astype(float)


class Repeats(NamedTuple):
    """Judges who gave a unit different answers: no two answers of one judge to one unit are a pair."""

    pattern: Integers  # (C,): whose judge each is
    shares: Units  # the C judges, each a pattern, whose shares of the answers add up to 1

    def total(self, values: Floats, patterns: int) -> Floats:
        """Sum of the values of the judges (C,) of each of the patterns, (Q,)."""
        return np.bincount(self.pattern, values, patterns).astype(float)

    def expanded(self, columns: int) -> scipy.sparse.csr_array:
        """Shares of the answers, (C, m), sparse."""
        shares = self.shares
        return scipy.sparse.csr_array((shares.times, shares.code, shares.start), (self.pattern.size, columns))


class Disagreement(NamedTuple):
    """Krippendorff's alpha, and what it is made of; an array entry for each set of weights."""

    alpha: Floats  # (B,): 1 - observed / expected; NaN where expected disagreement is 0, or no unit has two answers
    # observed, expected (B,): mean difference of two answers of one unit, and of two answers whatsoever
    observed: Floats
    expected: Floats
    values: Floats  # (B,): answers in units that have two or more


def krippendorff(units: Units, weight: Integers | Floats, values: Floats, level: str) -> Disagreement:
    """Krippendorff's alpha of many weightings (B, Q) of the same units: one row for the data, B for resamples.

    Units with fewer than two answers are ignored; `values` (m,) ascend. No table of coincidences is made: nominal and
    interval are closed forms of margins and sums, ordinal is interval of mid-ranks, computed for each resample, and
    only ratio looks at pairs of distinct values. Level ``distance``: `values` (m, m) are the distances of the answers.
    With repeats, observed and expected disagreement are their means over all draws of one answer of each judge to each
    unit (ordinal: with the ranks among all answers). Krippendorff, K. (2011), Computing alpha-reliability.
    """
    if level != "ordinal":
        return _of_sums(weight @ _added(units, values, level), values, level)
    judges = units.judges
    weight = np.where(judges >= 2, weight, 0).astype(np.float64)
    owner, (start, code, times, _) = units.repeats or _NO_REPEATS
    inner, outer = _ordinal(
        units.start, units.code, units.times, judges, weight, values.size, owner, start, code, times
    )
    return _disagreement(weight @ judges, inner, outer)


def alpha_draws(
    units: Units,
    n: Floats,
    values: Floats,
    level: str,
    rng: np.random.Generator,
    n_resamples: int,
    cluster: Integers | None = None,
) -> Floats:
    """Alpha of each resample of `n` (Q,) units of each pattern, or of whole clusters, as in :func:`unit_weights`."""
    if level == "ordinal":
        blocks = unit_weights(n, rng, n_resamples, cluster)
        return np.concatenate([krippendorff(units, weight, values, level).alpha for weight in blocks])
    added = _added(units, values, level)
    if cluster is not None:
        added = _within_clusters(added, n, cluster)
    added = added.toarray() if added.shape[1] <= _DENSE else added
    draws = [_of_sums(times @ added, values, level).alpha for times in _times(n, rng, n_resamples, cluster)]
    return np.concatenate(draws)


def alpha_without(units: Units, n: Floats, values: Floats, level: str, cluster: Integers) -> Floats:
    """Alpha without each cluster (G,); `n` (Q,): units of each pattern, `cluster` (Q,): 0 to G - 1, or -1."""
    size = int(cluster.max()) + 1
    if level != "ordinal":
        added = _within_clusters(_added(units, values, level), n, cluster)
        added = added.toarray() if size * added.shape[1] <= _HELD else added
        total = np.asarray(added.sum(axis=0)).ravel()
        if isinstance(added, np.ndarray):
            return _of_sums(total - added, values, level).alpha
        rows = ((total - added[[g]].toarray()) for g in range(size))
        return np.concatenate([_of_sums(row, values, level).alpha for row in rows])
    return _ordinal_without(units, np.where(units.judges >= 2, n, 0.0), values.size, cluster, size)


def _ordinal_without(units: Units, weight: Floats, m: int, cluster: Integers, size: int) -> Floats:
    """Ordinal alpha without each cluster; disagreement within units is a quadratic form of the mid-ranks."""
    judges = units.judges
    scale = 2 * weight / np.maximum(judges - 1, 1)
    times = scipy.sparse.csr_array((units.times, units.code, units.start), (judges.size, m))
    margins = _within_clusters(times, weight, cluster)
    whole = np.asarray(margins.sum(axis=0)).ravel()
    within, alone = [_Spreads.of(times, scale * judges, scale, cluster)], []
    if units.repeats is not None:
        owner = units.repeats.pattern
        shares, of_owner = units.repeats.expanded(m), cluster[owner]
        within.append(_Spreads.of(shares, -scale[owner], -scale[owner], of_owner))
        alone.append(_Spreads.of(shares, 2 * weight[owner], 2 * weight[owner], of_owner))
    alphas = []
    step = max(_HELD // m, 1)
    for begin in range(0, size, step):
        part = whole - margins[begin : begin + step].toarray()
        counted = part.sum(axis=1)
        rank = np.cumsum(part, axis=1) - (part + counted[:, None]) / 2  # mid-ranks about their mean
        inner, own = (
            sum((s.without(rank, begin) for s in spreads), np.zeros(len(part))) for spreads in (within, alone)
        )
        outer = 2 * counted * (part * rank**2).sum(axis=1) - own
        alphas.append(_disagreement(counted, np.maximum(inner, 0.0), outer).alpha)
    return np.concatenate(alphas)


class _Spreads(NamedTuple):
    """Sum over rows of answers of ``a * sum(t * x**2) - b * sum(t * x)**2``, x the mid-ranks: a quadratic form."""

    times: scipy.sparse.csr_array  # (R, m): answers of each row
    square: Floats  # (R,): a
    sum: Floats  # (R,): b
    cluster: Integers  # (R,)
    form: Any  # (m, m)

    @classmethod
    def of(cls, times: scipy.sparse.csr_array, square: Floats, total: Floats, cluster: Integers) -> _Spreads:
        """The sum over all rows."""
        form = scipy.sparse.diags_array(times.T @ square) - times.T @ (scipy.sparse.diags_array(total) @ times)
        return cls(times, square, total, cluster, form.toarray() if times.shape[1] <= _DENSE else form.tocsr())

    def without(self, rank: Floats, begin: int) -> Floats:
        """The sum without each of B clusters, of which `begin` is the first, with its own mid-ranks (B, m)."""
        own = np.flatnonzero((self.cluster >= begin) & (self.cluster < begin + len(rank)))
        entries, row = self.times[own], self.cluster[own] - begin
        each = np.repeat(np.arange(own.size), np.diff(entries.indptr))
        mid_rank = rank[row[each], entries.indices]
        sums, squares = (np.bincount(each, entries.data * x, own.size) for x in (mid_rank, mid_rank**2))
        lost = np.bincount(row, self.square[own] * squares - self.sum[own] * sums**2, len(rank))
        result: Floats = ((rank @ self.form) * rank).sum(axis=1) - lost
        return result


def _within_clusters(added: scipy.sparse.csr_array, n: Floats, cluster: Integers) -> scipy.sparse.csr_array:
    """Contribution of each cluster, from that of each pattern (Q, P), sparse."""
    there = np.flatnonzero(n)
    shape = (int(cluster.max()) + 1, n.size)
    return scipy.sparse.csr_array((np.rint(n)[there], (cluster[there], there)), shape) @ added


def _added(units: Units, values: Floats, level: str) -> Any:
    """Contribution of each unit to the sums that alpha is computed from, (Q, 3 or more), sparse.

    Its columns: number of answers, difference within the unit, difference within judges, and the terms of the expected
    difference.
    """
    judges = units.judges
    paired = judges >= 2
    if level == "interval":
        used = np.unique(units.code[paired[units.pattern]])
        values = values - values[used].mean() if used.size > 1 else np.zeros(values.size)
        answers = values[units.code]
        sums = [units.total(units.times * x) for x in (answers, answers**2)]
        beside = scipy.sparse.csr_array(np.column_stack(sums))
    else:
        beside = scipy.sparse.csr_array((units.times, units.code, units.start), (judges.size, len(values)))
    within = difference_within(units, values, level)
    own = np.zeros(judges.size)
    if units.repeats is not None:
        own = units.repeats.total(difference_within(units.repeats.shares, values, level), judges.size)
    first = scipy.sparse.csr_array(np.column_stack([judges, (within - own) / np.maximum(judges - 1, 1), own]))
    return scipy.sparse.diags_array(paired.astype(float)) @ scipy.sparse.hstack([first, beside], "csr")


def difference_within(units: Units, values: Floats, level: str) -> Floats:
    """Sum of the differences of the ordered pairs of answers to each unit, (Q,)."""
    judges = units.judges
    if level == "nominal":
        return judges**2 - units.total(units.times**2)
    if level == "interval":
        mean = units.total(units.times * values[units.code]) / np.maximum(judges, 1)
        return 2 * judges * units.total(units.times * (values[units.code] - mean[units.pattern]) ** 2)
    if level == "distance":
        return distance_within(units, values)
    within: Floats = _ratio_within(units.start, units.code, units.times, values)
    return within


def distance_within(units: Units, distances: Floats) -> Floats:
    """Sum of the distances (m, m) of the ordered pairs of answers to each unit, (Q,)."""
    times = scipy.sparse.csr_array((units.times, units.code, units.start), (units.start.size - 1, len(distances)))
    return np.asarray(times.multiply(times @ distances).sum(axis=1), np.float64).ravel()


def _of_sums(sums: Floats, values: Floats, level: str) -> Disagreement:
    """Alpha from sums (B, P) of what units add."""
    counted, inner, own, rest = sums[:, 0], sums[:, 1], sums[:, 2], sums[:, 3:]
    if level == "nominal":
        outer = counted**2 - (rest**2).sum(axis=1)
    elif level == "distance":
        outer = ((rest @ values) * rest).sum(axis=1)
    elif level == "ratio":
        outer = _ratio_expected(rest, values)
    else:
        squares = counted * rest[:, 1]
        outer = 2 * (squares - rest[:, 0] ** 2)
        outer = np.where(outer > 1e-14 * squares, outer, 0.0)
    return _disagreement(counted, inner, outer - own)


def _disagreement(counted: Floats, inner: Floats, outer: Floats) -> Disagreement:
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = inner / np.where(counted > 0, counted, np.nan)
        expected = outer / np.where(counted > 1, counted * (counted - 1), np.nan)
        # what rounding leaves of a spread of 0 is 0
        alpha = 1 - observed / np.where(expected > 0, expected, np.nan)
    return Disagreement(alpha, observed, expected, counted)


#: No judge whose repeats differ.
_NO_REPEATS = Repeats(np.empty(0, np.int64), Units(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0)))


@njit(cache=True)
def _ordinal(start, code, times, judges, weight, size, owner, own_start, own_code, share):  # type: ignore[no-untyped-def]
    resamples, patterns = weight.shape
    inner = np.zeros(resamples)
    outer = np.zeros(resamples)
    rank = np.empty(size)
    for b in range(resamples):
        rank[:] = 0.0
        for q in range(patterns):
            if weight[b, q] != 0:
                for e in range(start[q], start[q + 1]):
                    rank[code[e]] += weight[b, q] * times[e]
        total = rank.sum()
        below = 0.0
        squares = 0.0
        for c in range(size):
            n = rank[c]
            rank[c] = below + n / 2 - total / 2  # mid-rank about its mean
            below += n
            squares += n * rank[c] * rank[c]
        outer[b] = 2 * total * squares
        for q in range(patterns):
            if weight[b, q] != 0 and judges[q] >= 2 and start[q + 1] > start[q] + 1:
                mean = 0.0
                for e in range(start[q], start[q + 1]):
                    mean += times[e] * rank[code[e]]
                mean /= judges[q]
                spread = 0.0
                for e in range(start[q], start[q + 1]):
                    spread += times[e] * (rank[code[e]] - mean) ** 2
                inner[b] += weight[b, q] * 2 * judges[q] * spread / (judges[q] - 1)
        for c in range(owner.size):
            q = owner[c]
            if weight[b, q] != 0:
                mean = 0.0
                for e in range(own_start[c], own_start[c + 1]):
                    mean += share[e] * rank[own_code[e]]
                spread = 0.0
                for e in range(own_start[c], own_start[c + 1]):
                    spread += share[e] * (rank[own_code[e]] - mean) ** 2
                inner[b] -= weight[b, q] * 2 * spread / (judges[q] - 1)
                outer[b] -= weight[b, q] * 2 * spread
    return inner, outer


@njit(cache=True)
def _ratio_within(start, code, times, values):  # type: ignore[no-untyped-def]
    within = np.zeros(start.size - 1)
    for q in range(start.size - 1):
        for i in range(start[q], start[q + 1]):
            for j in range(i + 1, start[q + 1]):
                one, two = values[code[i]], values[code[j]]
                within[q] += 2 * times[i] * times[j] * ((one - two) / (one + two)) ** 2
    return within


def _ratio_expected(margins: Floats, values: Floats) -> Floats:
    outer = np.zeros(len(margins))
    step = max(_HELD // max(values.size, 1), 1)
    for begin in range(0, values.size, step):
        part = values[begin : begin + step]
        with np.errstate(divide="ignore", invalid="ignore"):
            difference = ((values[:, None] - part) / (values[:, None] + part)) ** 2
        difference[values[:, None] == part] = 0.0  # 0 and 0
        outer += ((margins @ difference) * margins[:, begin : begin + step]).sum(axis=1)
    return outer


def unit_weights(
    n: Floats, rng: np.random.Generator, n_resamples: int, cluster: Integers | None = None
) -> Iterator[Floats]:
    """How often each of Q patterns is drawn, in blocks (b, Q) of the resamples; `n` (Q,): whole numbers of units.

    With `cluster` (Q,), 0 to K - 1, clusters are drawn whole.
    """
    for times in _times(n, rng, n_resamples, cluster):
        yield times if cluster is None else times[:, cluster] * np.rint(n)


def _times(n: Floats, rng: np.random.Generator, n_resamples: int, cluster: Integers | None) -> Iterator[Floats]:
    """How often each pattern, or each cluster where there are any, is drawn, in blocks of the resamples."""
    whole = np.rint(n).astype(np.int64)
    per_resample = int(whole.sum()) if cluster is None else int(cluster.max(initial=-1)) + 1
    several = cluster is None and whole.size * 20 < per_resample
    of_unit = np.repeat(np.arange(whole.size), whole) if cluster is None and not several else None
    step = max(_HELD // max(whole.size if several else max(per_resample, whole.size), 1), 1)
    for begin in range(0, n_resamples, step):
        size = min(step, n_resamples - begin)
        if several:
            yield multinomial_totals(n, rng, size)
            continue
        yield times_drawn(rng, per_resample, size, of_unit, whole.size)
