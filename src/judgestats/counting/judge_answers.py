"""Several judges on the same things: their answers thing by thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.counting.panels import AnswerPanel
from judgestats.counting.selection import with_two
from judgestats.counting.splitting import differing, eager_splits, lazy_splits, refuse_splits, split_message, splits_of
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError, SchemaError
from judgestats.schema import coding
from judgestats.schema.classes import class_codes
from judgestats.schema.coding import Coded
from judgestats.schema.columns import COUNTS, UNIT_COLUMNS, By, Kind, answer_column, grouping, kind_of, names
from judgestats.schema.factors import Factor, Factors
from judgestats.schema.opening import frame_columns
from judgestats.typing import Column, Floats, Integers, Ints, LazyFrame, Mask

#: Answers by candidate, in either order: the one with the lower id, neither, the other.
LOW, TIE, HIGH = SIDES = ("low", "tie", "high")
#: Answers by the order shown: the slot of the candidate chosen, or neither.
SLOTS = ("first", "tie", "second")
#: What is judged, besides the two candidates of a preference.
ABOUT: dict[Kind, tuple[str, ...]] = {"preferences": ("item",), "ratings": ("system", "item", "criterion")}
#: Columns that distinguish two calls on one thing; those that do are matched between judges.
FURTHER: dict[Kind, tuple[str, ...]] = {"preferences": UNIT_COLUMNS, "ratings": ("replicate",)}
UNEVEN_JUDGES = "The judges of one thing have different counts: they cannot be matched. Give one row a call."
_CHOICES = {"first": 0, "tie": 1, "abstain": 1, "second": 2, "invalid": -1}


def answer_panel(frame: Calls, by: By = (), keep: Sequence[str] = ()) -> AnswerPanel:
    """Lay out the answers of all judges by the thing judged, sorted by the `by` columns.

    A preference is about item and candidates, whatever their order; its answer is one of :data:`SIDES`. A rating is
    about system, item and criterion; its answer is the score. `keep`: columns that are the same for all judges of a
    thing. Repeats of a judge are several answers to one thing. Preferences of different conditions, and then of the two
    orders shown, are about different things where a judge has several, and so are repeats where rows carry counts.
    """
    study = Study.of(frame)
    return study.once(("answers", tuple(names(by)), tuple(keep)), lambda: _answer_panel(study, by, keep))


def _answer_panel(study: Study, by: By, keep: Sequence[str]) -> AnswerPanel:
    if study.lazy:
        table, kind, groups = collected(study, by, keep)
        calls = Study.of(table)
    else:
        kind, groups = kind_and_groups(study, by, keep)
        calls = study.of_two if kind == "preferences" else study.scores
    rows = len(calls.columns)
    if not rows:
        raise DesignError("The frame has no rows: there are no answers to compare. Check the filter or the file.")
    about = [c for c in ABOUT[kind] if c in calls.names]
    columns = list(dict.fromkeys([*groups, *about, "judge"]))
    codes, judges = calls.columns["judge"]
    judge = (codes, len(judges))
    parts: list[Coded] = [(f.code, len(f.labels)) for f in calls.columns.of([c for c in columns if c != "judge"])]
    reverse: Any = None
    if kind == "preferences":
        low, high, reverse = calls.ordered
        parts += [(low.code, len(low.labels)), (high.code, len(high.labels))]
    answer, answers = answer_codes(calls, kind)
    number, combos, shared = _unit_numbers(study, calls, kind, parts, judge, reverse, columns)
    unit, units = coding.compact(combos // judge[1], int(combos.max(initial=-1)) // judge[1] + 1)
    sorted_rows, share = np.empty(rows, dtype=np.int64), None
    if combos.size < rows:
        sorted_rows, cell, share = _shares_of_repeats(number, combos.size, answer, len(answers))
        unit = unit[cell]
    else:
        sorted_rows[number] = np.arange(rows)
    first = np.append(0, np.cumsum(np.bincount(unit)))[: units.size]
    weight = _weights(calls, unit, sorted_rows, first)
    things = Factors(factors={c: calls.columns[c].at(sorted_rows[first]) for c in groups}, rows=units.size)
    shared = shared or bool((weight > 1).any())
    return AnswerPanel(things, judges, unit, codes[sorted_rows], answer[sorted_rows], answers, share, weight, shared)


def _shares_of_repeats(
    cell: Integers, cells: int, answer: Integers, answers: int
) -> tuple[Ints, Integers, Floats | None]:
    """Distinct answers of a judge to a thing: a row of each, its `cell`, and its share (None where all are 1).

    Calls without an answer count where there is no other.
    """
    answered = np.bincount(cell, answer >= 0, cells)
    rows = np.flatnonzero((answer >= 0) | (answered[cell] == 0))
    code, found = coding.compact(cell[rows].astype(np.int64) * (answers + 1) + answer[rows] + 1, cells * (answers + 1))
    first = np.zeros(found.size, dtype=np.int64)
    first[code[::-1]] = rows[::-1]
    times, cell = np.bincount(code, minlength=found.size), found // (answers + 1)
    share = times / np.bincount(cell, times, cells)[cell]
    return first, cell, None if (share == 1).all() else share


def answer_codes(calls: Study, kind: Kind) -> tuple[Integers, pd.Index]:
    """Code of the answer of each call, -1 for none, and the labels."""
    if kind == "ratings":
        return _scores(calls.columns.series(answer_column(calls.names)))
    return turned_codes(choice_codes(calls.columns["choice"]), calls.ordered[2]), pd.Index(SIDES)


def turned_codes(code: Integers, turned: Mask) -> Integers:
    """Codes by slot as codes by candidate (ordered by name), or back; negative codes are unchanged."""
    return np.where(turned & (code >= 0), 2 - code, code).astype(np.int8)


def kind_and_groups(study: Study, by: By, keep: Sequence[str]) -> tuple[Kind, list[str]]:
    """Kind of a frame and its groups, which are refused where they cannot be."""
    kind, groups = kind_of(study.names), grouping([*names(by), *keep], study.names)
    study.refuse_undeclared(groups, kind)
    if "judge" in groups:
        raise DesignError(
            "by='judge' leaves one judge in each group, and no agreement to measure. Leave it out: results name judges."
        )
    return kind, groups


def collected(frame: Calls, by: By, keep: Sequence[str]) -> tuple[pd.DataFrame, Kind, list[str]]:
    """Collect the columns that matter, as pandas."""
    chosen, kind, groups = answer_columns(frame, by, keep)
    return chosen.collect(backend="pandas").to_native(), kind, groups


def answer_columns(frame: Calls, by: By, keep: Sequence[str]) -> tuple[LazyFrame, Kind, list[str]]:
    """The columns that matter, as a lazy frame; the answers of ratings are called ``score``."""
    study = Study.of(frame)
    kind, groups = kind_and_groups(study, by, keep)
    data = study.data
    data = coding.as_scores(data) if kind == "ratings" else data
    present = frame_columns(data)
    answer = ("first", "second", "choice") if kind == "preferences" else (answer_column(present),)
    wanted = [*groups, "judge", *ABOUT[kind], *answer, *FURTHER[kind], COUNTS, "gold"]
    data = with_two(data) if kind == "preferences" else data
    chosen = data.lazy().select(*dict.fromkeys(c for c in wanted if c in present))
    return chosen.rename({"mean": "score"}) if "mean" in frame_columns(chosen) else chosen, kind, groups


def choice_codes(choice: Factor) -> NDArray[np.int8]:
    """Code of the answer of each call by position, -1 for none; an unknown answer is refused."""
    texts = [None if pd.isna(x) else str(x) for x in choice.labels]
    unknown = [x for x in texts if x is not None and x not in _CHOICES]
    if unknown:
        raise SchemaError(
            f"'choice' has {unknown[0]!r}. Allowed: {', '.join(_CHOICES)}. Map the table with "
            f"preferences(frame, labels={{{unknown[0]!r}: ...}}).",
            advice=(("labels", unknown[0]),),
        )
    return np.array([-1 if x is None else _CHOICES[x] for x in texts], dtype=np.int8)[choice.code]


def gold_codes(calls: Study, kind: Kind) -> tuple[Integers, pd.Index]:
    """Code of the right answer of each call, -1 for none, and the labels."""
    if kind == "ratings":
        return _scores(calls.columns.series("gold").rename(answer_column(calls.names)))
    gold, first, second = (calls.columns.series(c).to_numpy(dtype=object) for c in ("gold", "first", "second"))
    absent = pd.isna(gold) | (gold == "")
    code = np.select([absent, gold == first, gold == "tie", gold == second], [-1, 0, 1, 2], default=-2)
    if (code == -2).any():
        i = int(np.flatnonzero(code == -2)[0])
        raise SchemaError(
            f"'gold' is {gold[i]!r} where the candidates are {first[i]!r} and {second[i]!r} ({(code == -2).sum()} "
            "rows). Give the id of the right candidate, 'tie', or nothing."
        )
    return turned_codes(code, calls.ordered[2]), pd.Index(SIDES)


def _scores(values: Column) -> tuple[Integers, pd.Index]:
    """Rank of each score, or class, among the distinct ones; NaN is no answer."""
    if values.name == "answer":
        return class_codes(values)
    numbers = coding.numbers_of(values)
    low, high = (float(f(numbers, initial=np.nan)) for f in (np.fmin.reduce, np.fmax.reduce))
    if high - low < 2**15 and not np.isnan(numbers.sum()):  # points of a scale: no hashing
        steps = (numbers - low).astype(np.int32)
        if (steps + low == numbers).all():
            code, used = coding.compact(steps, int(high - low) + 1)
            return code, pd.Index(used + low)
    code, labels = pd.factorize(numbers + 0.0)  # + 0.0: one zero, no -0
    order = np.argsort(labels)
    rank = np.empty(labels.size + 1, dtype=np.int32)
    rank[order], rank[-1] = np.arange(labels.size), -1
    return rank[code], pd.Index(labels[order])


def _unit_numbers(
    study: Study, calls: Study, kind: Kind, parts: list[Coded], judge: Coded, reverse: Any, keys: list[str]
) -> tuple[Integers, Integers, bool]:
    """Each row's number by unit and judge, the codes of these numbers, and whether a thing has several units."""
    rows = len(calls.columns)
    number, combos = coding.compact(*coding.joint([*parts, judge], rows))
    if kind == "ratings" and combos.size < rows:
        if study.lazy:  # which may give its rows in another order each time
            refuse_splits(lazy_splits(study.data, keys), keys)
        else:
            refuse_splits(eager_splits(study.data, number, combos.size, keys), keys)
    further = [c for c in FURTHER[kind] if c in calls.names]
    if COUNTS not in calls.names:  # else a row is as many units
        further = [c for c in further if c != "replicate"]
    things = combos.size
    for name in further + [""] * (reverse is not None):
        if combos.size == rows:
            break
        code, labels = calls.columns[name] if name else (reverse.astype(np.int8), range(2))
        more = [*parts, (code, len(labels))]
        finer = coding.compact(*coding.joint([*more, judge], rows))
        if finer[1].size > combos.size:
            parts, (number, combos) = more, finer
    if combos.size < rows:
        _refuse_same_repeats(study, calls, kind, number, combos.size, keys)
    return number, combos, things < combos.size


def _refuse_same_repeats(study: Study, calls: Study, kind: Kind, number: Integers, size: int, keys: list[str]) -> None:
    """Raise where a judge has several answers to a unit, and the numbers of repeats do not distinguish them."""
    rows, runs = len(calls.columns), "replicate" in calls.names and COUNTS not in calls.names
    code, labels = calls.columns["replicate"] if runs else (np.zeros(rows, np.int8), range(1))
    again, combos = coding.compact(*coding.joint([(number, size), (code, len(labels))], rows))
    if combos.size < rows:
        raise refusal(calls.columns.frame(), again, study.data)
    if kind == "preferences":
        keys = cell_columns(study, keys)
        refuse_splits(splits_of(study, keys, kind), keys, kind)


def cell_columns(study: Study, groups: Sequence[str]) -> list[str]:
    """Columns in which the repeats of a judge are equal."""
    about = ABOUT["ratings"] if kind_of(study.names) == "ratings" else ("item", "first", "second", *UNIT_COLUMNS)
    keys = dict.fromkeys([*groups, "judge", *about])
    return [c for c in keys if c in study.names and (c != "replicate" or c in groups)]


def refusal(table: pd.DataFrame, number: Integers, frame: Calls | None = None) -> DesignError:
    """Say which judge answered twice, from the number of the judge and thing of each row; `frame` has all columns."""
    times = np.bincount(number)[number]
    return repeated_answer(table.iloc[int(np.flatnonzero(times > 1)[0])], int((times > 1).sum()), frame)


def repeated_answer(row: Column, rows: int, frame: Calls | None) -> DesignError:
    """The error, from a row of a repeated answer and the number of such rows."""
    example = ", ".join(
        f"{c}={row[c]}" for c in ("judge", "system", "item", "first", "second", "criterion") if c in row
    )
    kind = kind_of(row.index)
    keys = [k for k in ("judge", *ABOUT[kind], *FURTHER[kind], "first", "second") if k in row.index]
    splits = [] if frame is None else splits_of(frame, keys, kind, strict=False)
    hint = f" {split_message(splits, keys, kind)}" if splits else ""
    return DesignError(
        f"A judge answered twice on one thing, and nothing distinguishes the calls: {rows:,} rows "
        f"(first: {example}). Number repeats in 'replicate', name the column that distinguishes them in by=, or "
        f"aggregate() them to one verdict.{hint}",
        problem=f"A judge answered twice on one thing: {rows:,} rows.{differing(splits)}",
    )


def _weights(calls: Study, unit: Integers, sorted_rows: Integers, first: Integers) -> Floats:
    if calls.weight is None:
        return np.ones(first.size)
    n = calls.weight[sorted_rows]
    weight: Floats = n[first]
    if (n != weight[unit]).any():
        raise DesignError(UNEVEN_JUDGES)
    return weight
