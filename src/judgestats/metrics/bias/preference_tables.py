"""Preferences as tables of judges by systems, against which a preference for one's own is measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats import flags, methods
from judgestats.counting.study import Calls, Study
from judgestats.counting.tallies import count
from judgestats.estimate import POINTS, student_ends, student_of_cells
from judgestats.kernels.judge_tables import JudgeTable, net_scores
from judgestats.kernels.proportions import quotient
from judgestats.typing import Floats, Integers, Record

#: More candidates than these are responses rather than systems: each is seen too rarely to show a taste.
MOST_SYSTEMS = 300


def key_of(labels: Iterable[object]) -> tuple[str, ...]:
    """Key of a group of calls."""
    return tuple("" if pd.isna(label) else str(label) for label in labels)


@dataclass(frozen=True)
class PreferenceTable:
    """Net scores of systems by judges, in one group of calls."""

    judges: Sequence[str]
    cells: JudgeTable
    share: Floats  # (P,): of a judge's calls for or against its own, those of each own system; of others less than 0


def preference_tables(
    calls: Calls, family: Mapping[str, str], within: Sequence[str], invalid: str
) -> dict[tuple[str, ...], PreferenceTable]:
    """The tables of the groups of calls, by the labels of `within` without the judge's; empty with too many systems.

    A system is a candidate, or the family of one where the columns ``family_first`` and ``family_second`` are there.
    """
    study = Study.of(calls)
    beside = [f"family_{slot}" for slot in ("first", "second")]
    by_family = all(c in study.names for c in beside)
    if by_family:
        study = study.part(study.data.with_columns(first=nw.col(beside[0]), second=nw.col(beside[1])))
    study = study.part(study.data.filter(*(~nw.col(slot).is_null() for slot in ("first", "second"))))
    counts = count(study, "rank_systems", ["judge", *within], cluster=False)
    table = counts.table[counts.table["system"].astype(str) != counts.table["opponent"].astype(str)]
    table = table[table["outcome"].isin(["win", "loss", "tie", *(["invalid"] if invalid == "tie" else [])])]
    if not len(table) or pd.concat([table["system"], table["opponent"]]).nunique() > MOST_SYSTEMS:
        return {}
    theirs = {name: str(f) for name, f in family.items()}
    others, tables = [c for c in dict.fromkeys(within) if c != "judge"], {}
    for key, part in table.groupby(others, dropna=False, sort=False) if others else [((), table)]:
        tables[key_of(key)] = _table_of(part, theirs, by_family=by_family)
    return tables


def _table_of(calls: pd.DataFrame, family: Mapping[str, str], *, by_family: bool) -> PreferenceTable:
    judge, judges = pd.factorize(calls["judge"].astype(str), sort=True)
    codes, systems = pd.factorize(np.concatenate([calls["system"].astype(str), calls["opponent"].astype(str)]))
    one, other = np.split(codes, 2)
    n, net = calls["n"].to_numpy(dtype=float), calls["outcome"].map({"win": 1.0, "loss": -1.0}).fillna(0.0).to_numpy()
    of_system = [s if by_family else family.get(s) for s in systems]
    parts = [
        _row_of(one[rows], other[rows], net[rows], n[rows], np.array([f == family[str(j)] for f in of_system]), k)
        for k, j in enumerate(judges)
        for rows in [judge == k]
    ]
    cells = JudgeTable(*(np.concatenate(columns) for columns in zip(*(cells for cells, _ in parts), strict=True)))
    return PreferenceTable(list(judges), cells, np.concatenate([share for _, share in parts]))


def _row_of(
    one: Integers, other: Integers, net: Floats, n: Floats, own: np.ndarray, judge: int
) -> tuple[JudgeTable, Floats]:
    """The cells of one judge."""
    score = net_scores(one, other, net, n, own.size)
    mixed = np.where(own[one] != own[other], n, 0.0)
    share = sum(np.bincount(side, mixed, own.size) for side in (one, other)) * np.where(own, 1.0, -1.0)
    there = np.flatnonzero(~np.isnan(score))
    share = quotient(share, mixed.sum(), mixed.sum() > 0)[there]
    return JudgeTable(score[there], np.full(there.size, judge), there, own[there]), np.nan_to_num(share)


@dataclass(frozen=True)
class OwnBiases:
    """Intervals of the biases of judges for their own that allow for tastes; without tables they stay as they are."""

    tables: Mapping[tuple[str, ...], PreferenceTable]
    groups: tuple[str, ...]  # by which the tables are, without the judge
    conf_level: float

    def _table(self, row: Record) -> PreferenceTable | None:
        table = self.tables.get(key_of(row[g] for g in self.groups))
        there = table is not None and not math.isnan(row["estimate"]) and str(row["judge"]) in table.judges
        return table if there else None

    def biases(self, rows: Iterable[Record]) -> list[Record]:
        """Signed biases, each with the interval by the spread of the judge's other systems where it is the wider one.

        What all judges like in a system is part of the error: a bias does not allow for it.
        """
        return [self._beside_tastes(row, table) if (table := self._table(row)) else row for row in rows]

    def _beside_tastes(self, row: Record, table: PreferenceTable) -> Record:
        rows = table.cells.judge == table.judges.index(str(row["judge"]))
        spread = table.cells.where(rows).spread_of_one()
        if not spread.df:
            none = dict.fromkeys(("std_error", "conf_low", "conf_high"), math.nan)
            return {**row, **none, "method": methods.NONE, "flag": flags.join(row["flag"], flags.OWN_OR_TASTE)}
        error = spread.error(table.share[rows])
        low, high = student_ends(row["estimate"], error, spread.df, self.conf_level, bounds=POINTS)
        if not high - low > row["conf_high"] - row["conf_low"]:
            return row
        return {**row, "std_error": error, "conf_low": low, "conf_high": high, "method": methods.T_OF_SYSTEMS}

    def excesses(self, biases: Iterable[Record]) -> list[Record]:
        """What a judge's own systems have beyond its others, less the same difference among the other judges."""
        return [self._excess(row, self._table(row)) for row in biases] if self.tables else []

    def _excess(self, bias: Record, table: PreferenceTable | None) -> Record:
        numbers = dict.fromkeys(("estimate", "std_error", "conf_low", "conf_high"), math.nan)
        row = {**bias, **numbers, "term": "self_excess", "method": methods.NONE}
        if table is None:
            return row
        cells, judge = table.cells, table.judges.index(str(bias["judge"]))
        peers = (np.bincount(cells.system) > 1)[cells.system]
        own, others = (peers & (cells.judge == judge) & (cells.own == side) for side in (True, False))
        if not (own.any() and others.any()):
            return {**row, "flag": flags.join(bias["flag"], flags.NO_PEER)}
        weight = cells.beside_peers(own / own.sum() - others / others.sum())
        spread, value = cells.where(peers).spread(), float(weight @ cells.value)
        estimate = student_of_cells(value, spread.error(weight), spread.df, self.conf_level, bounds=(-2.0, 2.0))
        return {**row, **estimate.cells, "flag": flags.join(bias["flag"], estimate.flag)}
