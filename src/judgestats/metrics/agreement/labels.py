"""Frame -> units with the answers of their judges, group by group; and weights between answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, SchemaError, choose
from judgestats.kernels.coincidence import Units
from judgestats.results import FEW_DISAGREEMENTS, NOT_INDEPENDENT
from judgestats.schema.clustering import Cluster, auto_cluster, clusters, with_pair
from judgestats.schema.coding import compact, joint
from judgestats.schema.columns import COUNTS, By, N, names
from judgestats.schema.raters import INVALID, SIDES, SLOTS, Labels, labels_of

Floats = NDArray[np.float64]
#: How answers that differ agree in part.
Weights = Literal["linear", "quadratic"]

ONE_LABEL = "one label only"
PERFECT = "perfect agreement"
NO_PAIRS = "no unit with two answers"


@dataclass(frozen=True)
class Group:
    """Units of one group.

    Attributes
    ----------
    key : dict
        The `by` columns.
    units : Units
        Patterns of answers, sorted; units without an answer are left out.
    n : (Q,) float array
        How many units show each.
    table : pandas.DataFrame
        ``n`` and the cluster column, if there is one, of each pattern.
    unanswered : float
        Units without an answer.
    """

    key: dict[str, Any]
    units: Units
    n: Floats
    table: pd.DataFrame
    unanswered: float

    @property
    def single(self) -> float:
        """Units with one answer."""
        return float(self.n[self.units.judges == 1].sum())

    @property
    def paired(self) -> float:
        """Units with two answers or more."""
        return float(self.n[self.units.judges >= 2].sum())

    @property
    def apart(self) -> float:
        """Units with answers that differ."""
        return float(self.n[np.diff(self.units.start) > 1].sum())

    @property
    def doubts(self) -> tuple[str, ...]:
        """What was set aside, in words."""
        single, none = int(self.single), int(self.unanswered)
        return (
            f"{single:,} unit{'s' * (single != 1)} rated once" if single else "",
            f"{none:,} unit{'s' * (none != 1)} without an answer" if none else "",
        )


def resolved(data: Any, by: By, cluster: Cluster) -> tuple[Any, str | None, str]:
    """The column that keeps things together, the data with it, and a flag where things that share are taken apart.

    Raises
    ------
    DesignError
        If `cluster` is no column of the things judged.
    """
    columns = clusters(cluster)
    if columns and (len(columns) > 1 or columns[0] == "judge"):
        raise DesignError(
            f"cluster={cluster!r} must be one column of the things judged (item, say), not of the judges."
        )
    frame = nw.from_native(data)
    present = frame.collect_schema().names()
    flag = ""
    if not columns and "judge" in present and "item" in present:
        total = nw.col(COUNTS).sum() if COUNTS in present else nw.len()
        calls = frame.select(total.alias(N)).lazy().collect(backend="pandas")
        n = float(calls.to_native()[N].iloc[0] or 0)
        found = auto_cluster(frame, [*(c for c in names(by) if c in present), "judge"], "item", n)
        columns = (found.column,) if columns is None and found.column else ()
        flag = NOT_INDEPENDENT if found.shared and not columns else ""
    column = columns[0] if columns else None
    if column == "pair" and "pair" not in present:
        data = with_pair(frame).to_native()
    return data, column, flag


def rated(data: Any, by: By, cluster: str | None = None) -> tuple[Labels, Iterator[Group]]:
    """Lay out the answers, and go through the groups.

    Parameters
    ----------
    data : frame
        Preferences or ratings.
    by : str or sequence of str
        Columns that split the result.
    cluster : str, optional
        Column whose levels keep their units together.

    Returns
    -------
    labels : Labels
    groups : iterator of Group
        In the order of their labels.
    """
    labels = labels_of(data, by, [cluster] if cluster else [])
    return labels, _groups(labels, list(dict.fromkeys(names(by))), cluster)


def _groups(labels: Labels, by: Sequence[str], cluster: str | None) -> Iterator[Group]:
    number, codes = compact(*joint([labels.code(c) for c in by], labels.row.size))
    unit, answer = labels.unit, labels.answer
    answered = answer >= 0
    if not answered.all():
        unit, answer = unit[answered], answer[answered]
    begin = np.append(0, np.cumsum(np.bincount(unit, minlength=labels.row.size)))
    coded = None if cluster is None else labels.code(cluster)
    for g in range(codes.size):
        # units are sorted by group, so a group is a slice of them
        low, high = np.searchsorted(number, [g, g + 1])
        rows = slice(begin[low], begin[high])
        first = begin[low : high + 1] - begin[low]
        has = np.diff(first) > 0
        members = np.arange(low, high)[has]
        units, n, kept = _patterns(
            first[np.append(has, True)],
            answer[rows],
            labels.weight[members],
            len(labels.answers),
            None if coded is None else (coded[0][members], coded[1]),
        )
        table = pd.DataFrame({"n": n})
        if cluster is not None:
            table[cluster] = np.asarray(labels.label(cluster, members[kept]))
        key = {c: labels.label(c, np.array([low]))[0] for c in by}
        yield Group(key, units, n, table, float(labels.weight[low:high][~has].sum()))


def _patterns(first: Any, answer: Any, weight: Floats, size: int, cluster: Any) -> tuple[Units, Floats, Any]:
    """Make units with the same answers one pattern; also a unit of each pattern."""
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
        kept = np.empty(codes.size, dtype=np.int64)
        kept[number[::-1]] = np.arange(n_units)[::-1]
    else:
        n, kept = weight, np.arange(n_units)
    lengths = np.diff(first)[kept]
    start = np.concatenate([[0], np.cumsum(lengths)])
    entry = np.arange(start[-1]) - np.repeat(start[:-1] - first[kept], lengths)
    pattern = np.repeat(np.arange(kept.size), lengths)
    number, codes = compact(pattern * size + answer[entry], kept.size * size)
    times = np.bincount(number, minlength=codes.size).astype(float)
    units = Units(np.searchsorted(codes // size, np.arange(kept.size + 1)), codes % size, times)
    return units, n, kept


def answer_matrices(
    data: Any, by: Sequence[str], cluster: str | None = None
) -> tuple[Labels, Iterator[tuple[dict[str, Any], pd.DataFrame, NDArray[Any]]]]:
    """Answers as a table of things by judges, things alike made one row.

    Parameters
    ----------
    data, by, cluster
        As in :func:`rated`.

    Returns
    -------
    labels : Labels
    groups : iterator of (key, table, answers)
        ``n`` and the cluster column of each row, and the (Q, J) answer codes, -1 where there is none.
    """
    labels = labels_of(data, by, [cluster] if cluster else [])
    return labels, _matrices(labels, by, cluster)


def _matrices(labels: Labels, by: Sequence[str], cluster: str | None) -> Iterator[Any]:
    number, codes = compact(*joint([labels.code(c) for c in by], labels.row.size))
    for g in range(codes.size):
        low, high = np.searchsorted(number, [g, g + 1])
        rows = slice(*np.searchsorted(labels.unit, [low, high]))
        answers = np.full((high - low, len(labels.judges)), -1, dtype=np.int64)
        answers[labels.unit[rows] - low, labels.judge[rows]] = labels.answer[rows]
        parts = [(a + 1, len(labels.answers) + 1) for a in answers.T]
        if cluster is not None:
            parts = [(labels.code(cluster)[0][low:high], labels.code(cluster)[1]), *parts]
        row, found = compact(*joint(parts, high - low))
        first = np.zeros(found.size, dtype=np.int64)
        first[row[::-1]] = np.arange(high - low)[::-1]
        table = pd.DataFrame({"n": np.bincount(row, weights=labels.weight[low:high], minlength=found.size)})
        if cluster is not None:
            table[cluster] = np.asarray(labels.label(cluster, low + first))
        yield {c: labels.label(c, np.array([low]))[0] for c in by}, table, answers[first]


def positions(answers: Any) -> tuple[Floats, Any]:
    """Where the answers lie on a line: their value if they are numbers, else the order of their labels.

    Returns
    -------
    values : (m,) float array
        All NaN where they have no order.
    labels : array
        The answers as given.
    """
    labels = pd.Index(answers)
    numbers = pd.to_numeric(pd.Series(labels.astype(object)), errors="coerce").to_numpy(dtype=float)
    if labels.size and not np.isnan(numbers).any():
        return numbers, labels
    for order in (SIDES, SLOTS):
        if set(labels) <= set(order):
            return np.array([order.index(x) for x in labels], dtype=float), labels
    return np.full(labels.size, np.nan), labels


def agreement_weights(values: Floats, weights: Weights | None) -> Floats:
    """How much two answers agree: 1 for the same, less by their distance or its square, 0 for the farthest.

    Parameters
    ----------
    values : (m,) float array
        Where the answers lie.
    weights : {None, 'linear', 'quadratic'}
        None: 1 on the diagonal, 0 elsewhere.

    Returns
    -------
    (m, m) float array

    Raises
    ------
    DesignError
        If weights are asked for where the answers have no order.
    """
    if weights is None or values.size < 2:
        return np.eye(values.size)
    choose(weights, ("linear", "quadratic"), "weights")
    if np.isnan(values).any():
        raise DesignError(
            f"weights={weights!r} needs answers with an order: numbers, or {', '.join(SIDES)}. Code the answers as "
            "numbers, or use weights=None."
        )
    distance = np.abs(values[:, None] - values) / (values.max() - values.min())
    result: Floats = 1 - distance ** (1 if weights == "linear" else 2)
    return result


def few_disagreements(cells: Mapping[str, Any], apart: float) -> str:
    """Flag of an interval that rests on few things with answers that differ."""
    return FEW_DISAGREEMENTS if np.isfinite(cells.get("conf_low", np.nan)) and apart < 20 else ""


def is_answer(values: pd.Series[Any]) -> NDArray[np.bool_]:
    """Whether each entry of an ``answer`` column is one."""
    result: NDArray[np.bool_] = (values.notna() & (values.astype(object) != INVALID)).to_numpy(dtype=bool)
    return result


def declared(answers: Any, labels: Sequence[Any] | None) -> tuple[Any, Any]:
    """Answers that could be given, sorted, and the code among them of each answer that was.

    Raises
    ------
    SchemaError
        If an answer is not among the labels declared.
    """
    found = pd.Index(answers)
    if labels is None:
        return found, np.arange(found.size)
    wanted = pd.Index(list(labels)).union(found[:0]).unique()
    strange = [x for x in found if x not in wanted]
    if strange:
        raise SchemaError(f"An answer is {strange[0]!r}, and labels= has {', '.join(map(str, wanted))}. Add it there.")
    return wanted, wanted.get_indexer(found)
