"""Units with the answers of the judges: frame -> groups of patterns of answers, as measures of agreement need them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.clustering import Cluster, clusters
from judgestats.counting.judge_answers import SIDES, SLOTS, Labels
from judgestats.counting.study import Study
from judgestats.counting.tallies import clustered
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.coincidences import Units
from judgestats.schema.coding import Coded, compact, joint
from judgestats.schema.columns import By, names
from judgestats.schema.opening import frame_columns
from judgestats.typing import Floats, Integers, Ints, Record


@dataclass(frozen=True)
class UnitGroup:
    """Units of one group."""

    key: Record  # values of the `by` columns
    units: Units  # patterns of answers, sorted, without the units that nobody answered
    n: Floats  # (Q,): number of units with each pattern
    table: pd.DataFrame  # ``n`` and the cluster column, if there is one, of each pattern
    unanswered: float  # number of units that nobody answered

    @property
    def paired(self) -> float:
        """Number of units with two answers or more."""
        return float(self.n[self.units.judges >= 2].sum())

    @property
    def discordant(self) -> float:
        """Number of units with different answers."""
        return float(self.n[np.diff(self.units.start) > 1].sum())

    @property
    def exclusions(self) -> tuple[str, str]:
        """Flags that count the units with one answer and with none."""
        single = int(self.n[self.units.judges == 1].sum())
        return flags.RATED_ONCE.of(single), flags.EXCLUDED.of(int(self.unanswered), what="unit(s) without an answer")


def units_and_cluster(data: Study | IntoFrame, by: By, cluster: Cluster) -> tuple[Study, str | None, str]:
    """The data, the cluster column in it, and a flag where dependent units are treated as independent."""
    columns, study = clusters(cluster), Study.of(data)
    if columns and (len(columns) > 1 or columns[0] == "judge"):
        raise DesignError(f"cluster={cluster!r} must be one column of the rated items (item, say), not of the judges.")
    if columns or not {"judge", "item"} <= {*study.names}:
        return study, columns[0] if columns else None, ""
    groups = [*(c for c in names(by) if c in study.names), "judge"]
    study, clustering = clustered(study, groups, cluster)
    return study, clustering.column, flags.NOT_INDEPENDENT if clustering.shared and not clustering.columns else ""


def unit_groups(labels: Labels, by: By, cluster: str | None) -> Iterator[UnitGroup]:
    """Groups of units, in the order of their labels. `cluster`: column that belongs to the pattern of a unit."""
    by = list(dict.fromkeys(names(by)))
    number, codes = compact(*joint([labels.code(c) for c in by], labels.row.size))
    unit, answer = labels.unit, labels.answer
    answered = answer >= 0
    if not answered.all():
        unit, answer = unit[answered], answer[answered]
    begin = np.append(0, np.cumsum(np.bincount(unit, minlength=labels.row.size)))
    coded = None if cluster is None else labels.code(cluster)
    for g in range(codes.size):
        # units are sorted by group, so a group is a slice
        low, high = np.searchsorted(number, [g, g + 1])
        rows = slice(begin[low], begin[high])
        first = begin[low : high + 1] - begin[low]
        has_answer = np.diff(first) > 0
        members = np.arange(low, high)[has_answer]
        of_members = None if coded is None else (coded[0][members], coded[1])
        units, n, first_units = _patterns(
            first[np.append(has_answer, True)], answer[rows], labels.weight[members], len(labels.answers), of_members
        )
        table = pd.DataFrame({"n": n})
        if cluster is not None:
            table[cluster] = np.asarray(labels.label(cluster, members[first_units]))
        key = {c: labels.label(c, np.array([low]))[0] for c in by}
        yield UnitGroup(key, units, n, table, float(labels.weight[low:high][~has_answer].sum()))


def _patterns(
    first: Ints, answer: Integers, weight: Floats, size: int, cluster: Coded | None
) -> tuple[Units, Floats, Ints]:
    """Collapse units with the same answers into patterns; also returns their counts and one unit of each."""
    n_units = first.size - 1
    if not n_units:
        return Units(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0)), np.empty(0), np.empty(0, np.int64)
    base = int(np.diff(first).max()) + 1
    if size * np.log2(base) < 60:
        key = np.add.reduceat((np.int64(base) ** np.arange(size, dtype=np.int64))[answer], first[:-1])
        number, codes = compact(key, base**size)
        if cluster is not None:
            number, codes = compact(*joint([cluster, (number, codes.size)], n_units))
        n = np.bincount(number, weights=weight, minlength=codes.size).astype(float)
        first_units = np.empty(codes.size, dtype=np.int64)
        first_units[number[::-1]] = np.arange(n_units)[::-1]
    else:
        n, first_units = weight, np.arange(n_units)
    lengths = np.diff(first)[first_units]
    start = np.concatenate([[0], np.cumsum(lengths)])
    entry = np.arange(start[-1]) - np.repeat(start[:-1] - first[first_units], lengths)
    pattern = np.repeat(np.arange(first_units.size), lengths)
    number, codes = compact(pattern * size + answer[entry], first_units.size * size)
    times = np.bincount(number, minlength=codes.size).astype(float)
    units = Units(np.searchsorted(codes // size, np.arange(first_units.size + 1)), codes % size, times)
    return units, n, first_units


def answer_matrices(
    labels: Labels, by: Sequence[str], cluster: str | None
) -> Iterator[tuple[Record, pd.DataFrame, Ints]]:
    """Key, table (``n``, the cluster) and answers (Q, J) as codes of each group, equal units as one row."""
    number, codes = compact(*joint([labels.code(c) for c in by], labels.row.size))
    for g in range(codes.size):
        low, high = np.searchsorted(number, [g, g + 1])
        rows = slice(*np.searchsorted(labels.unit, [low, high]))
        answers = np.full((high - low, len(labels.judges)), -1, dtype=np.int64)
        answers[labels.unit[rows] - low, labels.judge[rows]] = labels.answer[rows]
        parts = [(a + 1, len(labels.answers) + 1) for a in answers.T]
        if cluster is not None:
            parts = [(labels.code(cluster)[0][low:high], labels.code(cluster)[1]), *parts]
        row, patterns = compact(*joint(parts, high - low))
        first = np.zeros(patterns.size, dtype=np.int64)
        first[row[::-1]] = np.arange(high - low)[::-1]
        table = pd.DataFrame({"n": np.bincount(row, weights=labels.weight[low:high], minlength=patterns.size)})
        if cluster is not None:
            table[cluster] = np.asarray(labels.label(cluster, low + first))
        yield {c: labels.label(c, np.array([low]))[0] for c in by}, table, answers[first]


def positions(answers: Sequence[object] | pd.Index) -> Floats:
    """Positions (m,) of answers by value, or by the order of their labels, NaN where they have none."""
    labels = pd.Index(answers)
    numbers: Floats = pd.to_numeric(pd.Series(labels.astype(object)), errors="coerce").to_numpy(dtype=float)
    if labels.size and not np.isnan(numbers).any():
        return numbers
    for order in (SIDES, SLOTS):
        if set(labels) <= set(order):
            return np.array([order.index(x) for x in labels], dtype=float)
    return np.full(labels.size, np.nan)


def possible_answers(answers: Any, labels: Sequence[Any] | None) -> tuple[Any, Any]:
    """Possible answers, sorted, and the position of each observed answer among them."""
    observed = pd.Index(answers)
    if labels is None:
        return observed, np.arange(observed.size)
    possible = pd.Index(list(labels)).union(observed[:0]).unique()
    unknown = [x for x in observed if x not in possible]
    if unknown:
        raise SchemaError(
            f"An answer is {unknown[0]!r}, but labels= has {', '.join(map(str, possible))}. Add it there."
        )
    return possible, possible.get_indexer(observed)


def by_criterion(data: IntoFrame, by: By) -> list[str]:
    """Grouping columns, and the criterion where there are several: they are not pooled."""
    groups, frame = list(dict.fromkeys(names(by))), Study.of(data).data
    if "criterion" in groups or "criterion" not in frame_columns(frame):
        return groups
    criteria = frame.lazy().select("criterion").unique().collect(backend="pandas").to_native()["criterion"]
    return [*groups, "criterion"] if len(criteria) > 1 else groups


def few_disagreements(cells: Record, discordant: float) -> str:
    """Flag of an interval based on few units with different answers."""
    return flags.FEW_DISAGREEMENTS if np.isfinite(cells.get("conf_low", np.nan)) and discordant < 20 else ""


def interval_method(plan: Bootstrap | None) -> str:
    """The ``method`` of an estimate."""
    return "asymptotic" if plan is None else drawing_units(plan.words)


def drawing_units(words: str) -> str:
    """Method of a bootstrap, corrected: it draws units, not calls."""
    return words.replace("bootstrap of calls", "bootstrap of units")
