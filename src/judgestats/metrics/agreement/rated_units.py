"""Units with the answers of the judges: frame -> groups of patterns of answers, as measures of agreement need them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.clustering import Cluster, clusters
from judgestats.counting.judge_answers import SIDES, SLOTS
from judgestats.counting.panels import AnswerPanel
from judgestats.counting.raters import same_code
from judgestats.counting.repeats import one_call_each
from judgestats.counting.study import Study
from judgestats.counting.tallies import clustered
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.coincidences import Repeats, Units
from judgestats.schema.coding import compact, first_rows, joint
from judgestats.schema.columns import By, names
from judgestats.schema.factors import Factor
from judgestats.schema.opening import frame_columns
from judgestats.typing import Floats, Integers, Ints, Record
from judgestats.wording import Method


@dataclass(frozen=True)
class UnitGroup:
    """Units of one group; those with the same answers are one pattern, of which the judges are not known: no panel."""

    key: Record  # values of the `by` columns
    units: Units  # patterns of answers, sorted, without the units that nobody answered
    n: Floats  # (Q,): number of units with each pattern
    table: pd.DataFrame  # ``n`` and the cluster column, if there is one, of each pattern
    unanswered: float  # number of units that nobody answered

    @property
    def paired(self) -> float:
        """Number of units with two answers or more."""
        return number_of(self.n[self.units.judges >= 2])

    @property
    def discordant(self) -> float:
        """Number of units with different answers."""
        return number_of(self.n[np.diff(self.units.start) > 1])

    @property
    def exclusions(self) -> tuple[str, str]:
        """Flags that count the units with one answer and with none."""
        single = number_of(self.n[self.units.judges == 1])
        return flags.RATED_ONCE.of(single), flags.EXCLUDED.of(int(self.unanswered), what="unit(s) without an answer")


def units_and_cluster(data: Study | IntoFrame, by: By, cluster: Cluster) -> tuple[Study, str | None, str]:
    """The data, the cluster column in it, and a flag where dependent units are treated as independent."""
    columns, study = clusters(cluster), Study.of(data)
    if columns and (len(columns) > 1 or columns[0] == "judge"):
        raise DesignError(f"cluster={cluster!r} must be one column of the rated items (item, say), not of the judges.")
    if columns or not {"judge", "item"} <= {*study.names}:
        return study, columns[0] if columns else None, ""
    groups = [*(c for c in names(by) if c in study.names), "judge"]
    clustering = clustered(one_call_each(study, list(names(by))), groups, cluster)[1]
    if clustering.column == "pair":
        study = study.with_pair()
    return study, clustering.column, flags.NOT_INDEPENDENT if clustering.shared and not clustering.columns else ""


def unit_groups(panel: AnswerPanel, by: By, cluster: str | None) -> Iterator[UnitGroup]:
    """Groups of units, in the order of their labels. `cluster`: column that belongs to the pattern of a unit."""
    shares = panel.entries
    for key, things, entries in panel.each_group(list(dict.fromkeys(names(by)))):
        answered = panel.answer[entries] >= 0
        unit, answer, judge = (x[entries][answered] for x in (panel.thing, panel.answer, panel.judge))
        share = shares[entries][answered]
        weight, size = panel.weight[things], np.bincount(unit - things.start, minlength=things.stop - things.start)
        has_answer = size > 0
        first = np.append(0, np.cumsum(size))[np.append(has_answer, True)]
        members = things.start + np.flatnonzero(has_answer)
        of_cluster = None if cluster is None else panel.things[cluster].at(members)
        if (share == 1).all():
            units, n, first_units = _patterns(first, answer, weight[has_answer], len(panel.answers), of_cluster)
        else:
            n, first_units = weight[has_answer], np.arange(members.size)
            units = _units_with_repeats(first, answer, judge, share, len(panel.answers))
        table = pd.DataFrame({"n": n})
        if of_cluster is not None:
            table[cluster] = np.asarray(of_cluster.at(first_units).values)
        yield UnitGroup(key, units, n, table, float(weight[~has_answer].sum()))


def _patterns(
    first: Ints, answer: Integers, weight: Floats, size: int, cluster: Factor | None
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
            number, codes = compact(*joint([(cluster.code, len(cluster.labels)), (number, codes.size)], n_units))
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


def _units_with_repeats(first: Ints, answer: Integers, judge: Integers, share: Floats, size: int) -> Units:
    """Units (Q), each a pattern; `answer`, `judge` and `share` (E,): answers of each judge to each unit, and shares."""
    unit = np.repeat(np.arange(first.size - 1), np.diff(first))
    number, codes = compact(unit * size + answer, (first.size - 1) * size)
    start = np.searchsorted(codes // size, np.arange(first.size))
    differing = np.flatnonzero(share < 1)
    begin = np.flatnonzero(np.diff(unit[differing] * (judge.max() + 1) + judge[differing], prepend=-1))
    own = Units(np.append(begin, differing.size), answer[differing], share[differing])
    times = np.bincount(number, share, codes.size).astype(np.float64)
    return Units(start, codes % size, times, Repeats(unit[differing][begin], own))


class OfPair(NamedTuple):
    """Pairs of answers of two judges."""

    row: Ints  # of the table of units
    one: Ints
    two: Ints
    share: Floats  # of all pairs of answers of the two to a unit


def units_of_pairs(
    panel: AnswerPanel, by: Sequence[str], cluster: str | None
) -> Iterator[tuple[Record, pd.DataFrame, list[OfPair]]]:
    """Key and table (``n``, the cluster) of the units of each group, and the answers of each two judges with some."""
    judges, shares = len(panel.judges), panel.entries
    for key, things, entries in panel.each_group(by):
        size, share = things.stop - things.start, shares[entries]
        unit, judge, answer = (x[entries].astype(np.int64) for x in (panel.thing, panel.judge, panel.answer))
        unit -= things.start
        of_cluster = None if cluster is None else panel.things[cluster].at(things)
        row, first = np.arange(size), np.arange(size)
        if panel.share is None:  # units alike are one row
            answers = np.full((size, judges), -1, dtype=np.int64)
            answers[unit, judge] = answer
            parts = [(a + 1, len(panel.answers) + 1) for a in answers.T]
            if of_cluster is not None:
                parts = [(of_cluster.code, len(of_cluster.labels)), *parts]
            row, patterns = compact(*joint(parts, size))
            first = first_rows(row, patterns.size)
            unit, judge = (x.ravel().astype(np.int64) for x in np.indices((first.size, judges)))
            answer, share = answers[first].ravel(), np.ones(unit.size)
        table = pd.DataFrame({"n": np.bincount(row, weights=panel.weight[things], minlength=first.size)})
        if of_cluster is not None:
            table[cluster] = np.asarray(of_cluster.at(first).values)
        own = [np.flatnonzero((judge == j) & (answer >= 0)) for j in range(judges)]
        pairs = []
        for one, two in combinations(own, 2):
            left, right = same_code(unit[one], unit[two])
            a, b = one[left], two[right]
            if a.size:
                pairs.append(OfPair(unit[a], answer[a], answer[b], share[a] * share[b]))
        yield key, table, pairs


def number_of(shares: Floats) -> float:
    """How many units these are, each perhaps in shares of the answers of its repeats."""
    return round(float(shares.sum()), 9)


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


def possible_answers(answers: Any, labels: Sequence[Any] | None, used: Ints) -> tuple[Any, Any]:
    """Possible answers, sorted, and the position of each of the answers among them; without `labels` those `used`."""
    observed = pd.Index(answers)
    if labels is None:
        used = used[used >= 0]
        code = np.full(observed.size, -1)
        code[used] = np.arange(used.size)
        return observed[used], code
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


def interval_method(plan: Bootstrap | None) -> Method:
    """The ``method`` of an estimate."""
    return methods.ASYMPTOTIC if plan is None else drawing_units(plan.way)


def drawing_units(method: Method) -> Method:
    """Method of a bootstrap, corrected: it draws units, not calls."""
    return method.drawing("units") if method.draws and method.draws.units == "calls" else method
