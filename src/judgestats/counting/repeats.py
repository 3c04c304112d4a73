"""Repeats of a judge on one unit: each a single answer, or put together to one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.counting.clustering import CANDIDATES
from judgestats.counting.judge_answers import SLOTS, cell_columns
from judgestats.counting.splitting import refuse_splits, splits_of
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError, choose
from judgestats.schema.classes import INVALID, class_codes, has_answer, where_answered
from judgestats.schema.coding import Codes, combine
from judgestats.schema.columns import COUNTS, By, N, answer_column, kind_of, names
from judgestats.schema.factors import Factor, factor_of
from judgestats.schema.opening import engine_errors, one_if
from judgestats.typing import Column, Floats, Ints

#: What counts of the repeats of a judge on one unit: each single answer, or what most of them say.
Repeats = Literal["single", "majority"]
#: Labels of a group -> flag that counts its repeats without a single mode, or those that differ.
Unsettled = Mapping[tuple[str, ...], str]
#: What is said of repeats of rows that carry a count.
BY_NUMBER = "repeats matched by number"
#: How classes get an order.
ORDER = "Classes in order are read by ratings(frame, classes=[...], ordered=True)."
#: Code of each verdict among those of which the mode is taken; an abstention is a tie.
_VERDICTS = {"first": 0.0, "tie": 1.0, "abstain": 1.0, "second": 2.0}


def plain(key: Mapping[str, object]) -> tuple[str, ...]:
    """Labels of a group as text; all missing labels are equal."""
    return tuple("" if pd.isna(label) else str(label) for label in key.values())


@engine_errors
def single_answers(data: Calls, by: By) -> OfRepeats:
    """Flags and method for repeats that all count; repeats of rows that carry a count are matched by number."""
    study, groups = Study.of(data), list(dict.fromkeys(names(by)))
    if not repeats_in(study, groups):
        return OfRepeats()
    if COUNTS in study.names:
        return OfRepeats(BY_NUMBER)
    differing = study.once(("repeats that differ", *groups), lambda: _differing(study, groups))
    return OfRepeats("single answers of repeats", differing)


def chosen_answers(data: Calls, repeats: Repeats, how: str, by: By) -> tuple[Study, OfRepeats]:
    """The data with all repeats, or with one answer for them, as in :func:`one_answer`; and what is said of them."""
    if choose(repeats, get_args(Repeats), "repeats") == "single":
        study = Study.of(data)
        return study, single_answers(study, by)
    study, method, unsettled = one_answer(data, how, by)
    return study, OfRepeats(method, unsettled=unsettled)


class OfRepeats(NamedTuple):
    """What a result says of repeats."""

    method: str = ""
    #: By the labels of the group and the judge: how many sets of its repeats differ.
    differing: Mapping[tuple[str, ...], int] = MappingProxyType({})
    unsettled: Unsettled = MappingProxyType({})

    def flag(self, group: tuple[str, ...], judges: Collection[str] | None = None) -> str:
        """The flag of a group, or of some judges in it."""
        sets = (
            n
            for (*key, judge), n in self.differing.items()
            if tuple(key) == group and (judges is None or judge in judges)
        )
        return flags.join(self.unsettled.get(group, "") if judges is None else "", flags.REPEATS_DIFFER.of(sum(sets)))


def repeats_in(study: Study, groups: Sequence[str]) -> bool:
    """Whether a judge has several calls on a unit."""
    if not {"judge", "item", "replicate"} <= {*study.names} or "replicate" in groups:
        return False

    def look() -> bool:
        return study.n_distinct(cell_columns(study, groups)) < study.n_rows

    return study.once(("repeats", *groups), look)


def one_call_each(study: Study, groups: Sequence[str]) -> Study:
    """One call of each judge on each unit: the cluster is then what units share, not what repeats share."""
    if COUNTS in study.names or not repeats_in(study, groups):
        return study
    keys = cell_columns(study, groups)
    if not study.lazy:
        return study.part(study.columns.take(study.columns.codes(keys).first))
    further = (nw.col(c).min() for c in CANDIDATES if c in study.names and c not in keys)
    return study.part(study.data.group_by(*keys).agg(*further))


def _differing(study: Study, groups: list[str]) -> dict[tuple[str, ...], int]:
    """How many sets of repeats differ, by the labels of the group and the judge."""
    keys, labels = cell_columns(study, groups), [*groups, "judge"]
    column = "choice" if kind_of(study.names) == "preferences" else answer_column(study.names)
    if study.lazy:
        verdict = nw.col(column)
        if column == "choice":
            verdict = nw.when(verdict == "abstain").then(nw.lit("tie")).when(verdict != INVALID).then(verdict)
        elif column == "answer":
            label = verdict.cast(nw.String)
            verdict = nw.when(where_answered(label)).then(label)
        ends = study.data.with_columns(verdict.alias("_answer")).group_by(*keys)
        ends = ends.agg(nw.col("_answer").min().alias("_low"), nw.col("_answer").max().alias("_high"))
        sets = ends.filter(nw.col("_low") != nw.col("_high"))
        table = sets.group_by(*labels).agg(nw.len().alias(N)).collect(backend="pandas").to_native()
        return {plain({c: row[c] for c in labels}): int(row[N]) for row in table.to_dict("records")}
    code, labels_of_answers = study.columns[column]
    number: dict[object, int] = {}
    coded = [number.setdefault("tie" if x == "abstain" else x, len(number)) for x in labels_of_answers]
    answered = has_answer(labels_of_answers)[code]
    answer = np.array(coded, dtype=np.int64)[code[answered]]
    cell = study.columns.codes(keys)
    each = combine([(cell.code[answered], cell.size), (answer, len(number))], answer.size)
    several = np.flatnonzero(np.bincount(cell.code[answered][each.first], minlength=cell.size) > 1)
    kinds, times = study.columns.take(cell.first[several]).counted(labels)
    rows = kinds.frame(labels).to_dict("records")
    return {plain(row): int(n) for row, n in zip(rows, times, strict=True)}


@engine_errors
def one_answer(data: Calls, how: str, by: By) -> tuple[Study, str, Unsettled]:
    """The data with one answer per judge and unit, the word for that answer, and flags of groups without a mode.

    `how`: mean, median, low median (one of the answers) or mode of scores; of preferences the mode in each order shown.
    Rows that carry a count are units and stay, matched by their number.
    """
    study = Study.of(data)
    return study.once(("one answer", how, *names(by)), lambda: _one_answer(study, how, by))


def _one_answer(study: Study, how: str, by: By) -> tuple[Study, str, Unsettled]:
    present = study.names
    if not {"judge", "item", "replicate"} <= set(present) or "replicate" in names(by):
        return study, "", {}
    kind, groups = kind_of(present), list(dict.fromkeys(names(by)))
    keys = cell_columns(study, groups)
    size, units = study.n_rows, study.n_distinct(keys)
    if COUNTS in present:  # a row is then as many units
        return study, BY_NUMBER if units < size else "", {}
    if units == size:  # without repeats in an order shown, a number would only part the judges
        return (study.without("replicate") if kind == "preferences" else study), "", {}
    refuse_splits(splits_of(study, keys, kind), keys, kind)
    if kind == "preferences" and study.lazy:
        return _lazy_modes(study, keys, groups)
    calls = study.in_memory(present)
    calls = calls.scores if kind == "ratings" else calls
    if kind == "ratings":
        column = answer_column(calls.names)
        answers, classes, unread = _ratings_as_numbers(calls.columns.series(column))
        if classes is not None and how != "mode":
            raise DesignError(f"The answers are classes, such as {classes[0]!r}: they have no {how}. {ORDER}")
    else:
        how, choice = "mode", calls.columns["choice"]
        answers = np.array([_VERDICTS.get(x, np.nan) for x in choice.labels], dtype=float)[choice.code]
        unread = not {*choice.labels} <= {*_VERDICTS, INVALID, None}
    if unread or calls.columns.n_distinct([*keys, "replicate"]) < size:
        return study, "", {}  # refused with its row where the answers are read
    number = calls.columns.codes(keys)
    tied: Ints = np.zeros(0, dtype=np.int64)
    if how == "mode":
        together, tied = modes(answers, number)
    else:
        each = pd.Series(answers).groupby(number.code)
        low = each.quantile(0.5, interpolation="lower") if how == "low median" else each.agg(how)
        together = low.reindex(range(number.size)).to_numpy()
    units_there = calls.without("replicate").columns.take(number.first)
    if kind == "preferences":
        code = np.where(np.isnan(together), len(SLOTS), together).astype(np.int8)
        one = Factor(code, pd.Index([*SLOTS, INVALID], dtype=object)).recoded({})
        result = units_there.but(choice=one)
    else:
        if classes is None:
            result = units_there.but(**{column: factor_of(together)})
        else:
            code = np.where(np.isnan(together), len(classes), together).astype(int)
            result = units_there.but(answer=factor_of(pd.Series(np.array([*classes, None], dtype=object)[code])))
    kinds, times = units_there.take(tied).counted(groups)
    return Study(result), f"{how} of repeats", _unsettled(kinds.frame(groups).assign(times=times))


def _ratings_as_numbers(values: Column) -> tuple[Floats, pd.Index | None, bool]:
    """Scores, or codes of classes; the classes; and whether a score is no number."""
    if values.name == "answer":
        code, classes = class_codes(values)
        return np.where(code < 0, np.nan, code), classes, False
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    return numbers, None, bool((np.isnan(numbers) & values.notna().to_numpy()).any())


def modes(answers: Floats, number: Codes) -> tuple[Floats, Ints]:
    """The most frequent answer of each unit, NaN where there is none or several; and the units with several."""
    there = np.flatnonzero(~np.isnan(answers))
    value, values = pd.factorize(answers[there])
    cells = combine([(number.code[there], number.size), (value, len(values))], there.size)
    times, unit, value = (
        np.bincount(cells.code, minlength=cells.size),
        number.code[there][cells.first],
        value[cells.first],
    )
    most = np.zeros(number.size, dtype=np.int64)
    np.maximum.at(most, unit, times)
    top = times == most[unit]
    several = np.bincount(unit[top], minlength=number.size) > 1
    together = np.full(number.size, np.nan)
    together[unit[top]] = values[value[top]]
    together[several] = np.nan
    return together, np.flatnonzero(several)


def _lazy_modes(study: Study, keys: list[str], groups: list[str]) -> tuple[Study, str, Unsettled]:
    """The mode of the verdicts of each unit of a lazy frame, taken in its own engine."""
    frame, choice, present = study.data, nw.col("choice"), study.names
    unread = frame.filter(~choice.is_in([*_VERDICTS, INVALID]))
    again = frame.group_by(*keys, "replicate").agg(nw.len().alias(N)).filter(nw.col(N) > 1)
    if any(len(table.head(1).collect(backend="pandas")) for table in (unread, again)):
        return study, "", {}  # refused with its row where the answers are read
    of_slot = {s: nw.col(f"_{s}") for s in SLOTS}
    counted = (
        one_if(choice.is_in([c for c, value in _VERDICTS.items() if value == i])).sum().alias(f"_{slot}")
        for i, slot in enumerate(SLOTS)
    )
    further = (nw.col(c).min() for c in CANDIDATES if c in present and c not in keys)
    counts = frame.group_by(*keys).agg(*counted, *further)
    single: nw.Expr = nw.lit(INVALID)
    for slot in SLOTS:
        most = nw.all_horizontal(*(of_slot[slot] > of_slot[s] for s in SLOTS if s != slot), ignore_nulls=False)
        single = nw.when(most).then(nw.lit(slot)).otherwise(single)
    modes = counts.with_columns(single.alias("choice"))
    tied = modes.filter((nw.col("choice") == INVALID) & (nw.sum_horizontal(*of_slot.values()) > 0))
    unsettled = tied.group_by(*groups).agg(nw.len().alias("times")) if groups else tied.select(nw.len().alias("times"))
    modes = modes.select(*keys, "choice", *(c for c in CANDIDATES if c in present and c not in keys))
    return Study.of(modes), "mode of repeats", _unsettled(unsettled.collect(backend="pandas").to_native())


def _unsettled(table: pd.DataFrame) -> Unsettled:
    """Flag of each group: how often its repeats have no single mode; `table`: the groups and the ``times``."""
    counts: Counter[tuple[str, ...]] = Counter()
    for row in table.to_dict("records"):
        times = int(row.pop("times"))
        counts[plain(row)] += times
    what = "set(s) of repeats without a single mode"
    return {key: flags.EXCLUDED.of(times, what=what) for key, times in counts.items() if times}
