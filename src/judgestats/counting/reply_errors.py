"""Scores that came in one reply, whose noise is shared: errors of the means of units, by reply."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judgestats.counting.panels import ScorePanel
from judgestats.counting.study import Calls, Study
from judgestats.kernels.proportions import quotient
from judgestats.schema.coding import compact, joint
from judgestats.schema.columns import CALL, COUNTS, key_columns
from judgestats.schema.factors import Factor, Factors
from judgestats.typing import Floats, Integers, Mask


@dataclass(frozen=True)
class ReplyErrors:
    """What each score adds to the error of its unit's mean; errors in different replies are independent."""

    unit: Integers  # (N,): of each score, as the next two
    reply: Integers
    error: Floats  # the squares of a unit add up to the variance of its mean; NaN for a single score
    block: Integers  # (U,): of each unit; units that replies connect are of one block
    df: Floats  # (B,): degrees of freedom of each block
    certain: bool  # whether the data say which scores came in one reply; else those of a response are taken as alike

    def sums(self, coefficient: Floats) -> Floats:
        """Error (M,) that each reply adds to a weighted sum of the units' means: `coefficient` (U,)."""
        used = coefficient[self.unit] != 0
        weight = coefficient[self.unit[used]] if self.certain else np.abs(coefficient[self.unit[used]])
        return np.bincount(self.reply[used], weight * self.error[used], self.of_reply.size).astype(np.float64)

    @cached_property
    def of_reply(self) -> Integers:
        """Block (M,) of each reply."""
        block = np.zeros(int(self.reply.max(initial=-1)) + 1, dtype=np.int32)
        block[self.reply] = self.block[self.unit]
        return block

    def of_blocks(self, squares: Floats) -> Floats:
        """Sums (B,) over the replies of each block."""
        return np.bincount(self.of_reply, squares, self.df.size).astype(np.float64)

    def variances_of_means(self, group: Integers, rows: Mask) -> Floats:
        """Variance (G,) of the mean of each group's selected units (U,), taking groups as independent."""
        size, n_groups = np.bincount(group[rows]), int(group.max(initial=-1)) + 1
        used = rows[self.unit]
        unit, reply, error = self.unit[used], self.reply[used], self.error[used]
        code, codes = compact(*joint([(reply, self.of_reply.size), (group[unit], n_groups)], unit.size))
        total = np.bincount(code, error / size[group[unit]])
        return np.bincount(codes % n_groups, total**2, n_groups).astype(np.float64)

    def squared_covariances(self, units: Integers) -> Floats:
        """Sums (B,) of the squared covariances of the scores of `units` in a reply."""
        runs = np.bincount(self.unit, minlength=self.block.size)
        used = np.flatnonzero(np.isin(np.arange(self.block.size), units)[self.unit])
        used = used[np.argsort(self.reply[used], kind="stable")]
        reply, unit, error = self.reply[used], self.unit[used], self.error[used] * np.sqrt(runs[self.unit[used]])
        start, size = (np.searchsorted(reply, reply, side=side) for side in ("left", "right"))
        size -= start
        one = np.repeat(np.arange(used.size), size)  # each two scores of a reply
        other = np.arange(one.size) - np.repeat(np.cumsum(size) - size - start, size)
        code, pairs = compact(*joint([(unit[one], self.block.size), (unit[other], self.block.size)], one.size))
        covariance = np.bincount(code, error[one] * error[other], pairs.size)
        return np.bincount(self.block[pairs // self.block.size], covariance**2, self.df.size).astype(np.float64)


def reply_errors(frame: Calls, panel: ScorePanel) -> ReplyErrors:
    """Errors of the entries of a panel, its units, by the reply of each score, as the column ``call`` says.

    Without that column a reply is what all key columns but the criterion say. Where neither the one nor the others
    number the repeats, or the frame has means or counts, the errors of a reply have the same sign in all its criteria.
    """
    study = Study.of(frame)
    scored = bool({"score", "correct"} & set(study.names)) and COUNTS not in study.names
    keys = [k for k in (*panel.things.names, "judge") if k in study.names]
    of_reply = [k for k in dict.fromkeys([*key_columns("ratings", study.names), *keys]) if k != "criterion"]
    others = [c for c in ("criterion", CALL, "score") if c in study.scores.names]
    columns = study.scores.in_memory([*of_reply, *others]).columns
    unit, reply, runs = _units(columns, keys, panel), _replies(columns, of_reply), np.asarray(panel.runs, dtype=float)
    of_criteria = [(f.code, len(f.labels)) for f in columns.of([c for c in ("criterion",) if c in columns])]
    place, size = joint([(reply, int(reply.max(initial=0)) + 1), *of_criteria], reply.size)
    if not scored or (CALL not in columns and compact(place, size)[1].size < reply.size):
        of_row = reply if CALL in columns else columns.codes([k for k in keys if k != "criterion"]).code
        of_unit = np.zeros(runs.size, dtype=np.int64)
        of_unit[unit[unit >= 0]] = of_row[unit >= 0]
        block, blocks = compact(of_unit, int(of_unit.max(initial=0)) + 1)
        error = np.sqrt(quotient(panel.sd**2, runs, runs > 1))
        return ReplyErrors(np.arange(runs.size), block, error, block, _mean_df(block, runs), blocks.size == runs.size)
    score = columns.series("score").to_numpy(dtype=float)
    used = (unit >= 0) & ~np.isnan(score)
    unit, reply, score = unit[used], compact(reply[used], int(reply.max(initial=0)) + 1)[0], score[used]
    n = runs[unit]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = (score - panel.mean[unit]) * np.sqrt(n / (n - 1)) / n
    connected = _connected(unit, reply, runs.size)
    return ReplyErrors(unit, reply, error, connected, _mean_df(connected, runs), certain=True)


def _mean_df(block: Integers, runs: Floats) -> Floats:
    """Degrees of freedom (B,): one fewer than the mean number of runs of a block's units."""
    return quotient(np.bincount(block, runs), np.bincount(block)) - 1


def _replies(columns: Factors, keys: list[str]) -> Integers:
    """Reply of each row, by ``call``, or the keys where it has none."""
    of_keys = columns.codes(keys)
    if CALL not in columns:
        return of_keys.code
    call, labels = columns[CALL]
    missing: Mask = np.array([x is None for x in labels], dtype=bool)[call]
    return compact(np.where(missing, of_keys.code + len(labels), call), of_keys.size + len(labels))[0]


def _units(columns: Factors, keys: list[str], panel: ScorePanel) -> Integers:
    """Unit of each row, -1 for none."""
    n_units, parts = panel.judge.size, []
    for k, factor in zip(keys, columns.of(keys), strict=True):
        of_unit = Factor(panel.judge, panel.judges) if k == "judge" else panel.things[k].at(panel.thing)
        parts.append((np.concatenate([of_unit.code, factor.code]), max(len(factor.labels), len(of_unit.labels))))
    code, codes = compact(*joint(parts, n_units + len(columns)))
    of_code = np.full(codes.size, -1)
    of_code[code[:n_units]] = np.arange(n_units)
    return of_code[code[n_units:]]


def _connected(unit: Integers, reply: Integers, n_units: int) -> Integers:
    """Number of each unit's block: units that replies connect, directly or through others, have the same."""
    lowest = np.arange(n_units)
    while True:
        of_reply = np.full(int(reply.max(initial=-1)) + 1, n_units)
        np.minimum.at(of_reply, reply, lowest[unit])
        lower = lowest.copy()
        np.minimum.at(lower, unit, of_reply[reply])
        if (lower == lowest).all():
            return compact(lowest, n_units)[0]
        lowest = lower
