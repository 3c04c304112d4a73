"""Several judges on the same things: their answers thing by thing, and pairs of judges counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.counting.selection import with_two
from judgestats.counting.splitting import differing, refuse_splits, split_message, splits_here, splits_of, splits_there
from judgestats.counting.study import Study
from judgestats.errors import DesignError, SchemaError, data_rows, suggestion
from judgestats.schema import coding
from judgestats.schema.coding import Coded
from judgestats.schema.columns import COUNTS, UNIT_COLUMNS, By, Kind, answer_column, grouping, kind_of, names
from judgestats.schema.declared_counts import call_counts
from judgestats.schema.factors import Factor, Factors, factor_of
from judgestats.schema.opening import one_if
from judgestats.typing import Floats, Mask

# ---- Several judges on the same things: their answers thing by thing, and pairs of judges counted --------------------

Ints = NDArray[np.integer[Any]]
#: Answers by candidate, in either order: the one with the lower id, neither, the other.
LOW, TIE, HIGH = SIDES = ("low", "tie", "high")
#: Answers by the order shown: the slot of the candidate chosen, or neither.
SLOTS = ("first", "tie", "second")
#: No valid answer; in a tally of ratings it is NaN.
INVALID = "invalid"
#: What is judged, besides the two candidates of a preference.
ABOUT: dict[Kind, tuple[str, ...]] = {"preferences": ("item",), "ratings": ("system", "item", "criterion")}
#: Columns that distinguish two calls on one thing; those that do are matched between judges.
FURTHER: dict[Kind, tuple[str, ...]] = {
    "preferences": UNIT_COLUMNS,
    "ratings": ("replicate",),
}
_UNEVEN = "The judges of one thing have different counts: they cannot be matched. Give one row a call."
_CHOICES = {"first": 0, "tie": 1, "abstain": 1, "second": 2, "invalid": -1}


@dataclass(frozen=True)
class Labels:
    """Answers of the judges, sorted by the thing judged and the judge."""

    kind: Kind
    coded: dict[str, tuple[Ints, Any]]  # of each row: codes and labels of the `by` columns and of those kept
    unit: Ints  # (N,): thing judged (0 to U - 1), as `judge` and `answer` one per call
    judge: Ints
    answer: Ints  # -1 where there is none
    row: Ints  # (U,): a row of the table that holds each thing
    weight: Floats  # (U,): how many identical things each stands for
    judges: Any  # sorted names
    answers: Any  # sorted scores, or :data:`SIDES`
    shared: bool  # whether units of one thing differ in order, repeat or condition, or are counted

    def code(self, column: str) -> Coded:
        """Code of each unit in a `by` or kept column, and how many there are."""
        codes, labels = self.coded[column]
        return codes[self.row], len(labels)

    def label(self, column: str, units: Any) -> Any:
        """Labels of some units in a `by` or kept column."""
        codes, labels = self.coded[column]
        return labels.take(codes[self.row[units]])


def labels_of(frame: Any, by: By = (), keep: Sequence[str] = ()) -> Labels:
    """Lay out the answers of all judges by the thing judged, sorted by the `by` columns.

    A preference is about item and candidates, whatever their order; its answer is one of :data:`SIDES`. A rating is
    about system, item and criterion; its answer is the score. `keep`: columns that are the same for all judges of a
    thing. A judge with several calls on one thing has several units, which differ in their replicate (ratings) or in
    replicate, strategy and other conditions, and last in the order shown (preferences).
    """
    study = Study.of(frame)
    return study.once(("labels", tuple(names(by)), tuple(keep)), lambda: _labels(study, by, keep))


def _labels(study: Study, by: By, keep: Sequence[str]) -> Labels:
    if study.lazy:
        table, kind, groups = collected(study, by, keep)
        calls = Study.of(table)
    else:
        calls, kind, groups = _calls(study, by, keep)
    rows = len(calls.columns)
    if not rows:
        raise DesignError("The frame has no rows: there are no answers to compare. Check the filter or the file.")
    about = [c for c in ABOUT[kind] if c in calls.names]
    columns = list(dict.fromkeys([*groups, *about, "judge"]))
    coded = dict(zip(columns, calls.columns.of(columns), strict=True))
    codes, judges = coded.pop("judge")
    judge = (codes, len(judges))
    parts: list[Coded] = [(codes, len(labels)) for codes, labels in coded.values()]
    reverse: Any = None
    if kind == "preferences":
        low, high, reverse = calls.ordered
        parts += [(low.code, len(low.labels)), (high.code, len(high.labels))]
    answer, answers = _answers(calls, kind, reverse)
    number, combos, shared = _unit_numbers(study.data, calls, kind, parts, judge, reverse, columns)
    sorted_rows = np.empty(rows, dtype=np.int64)
    sorted_rows[number] = np.arange(rows)
    unit, units = coding.compact(combos // judge[1], int(combos.max(initial=-1)) // judge[1] + 1)
    first = np.append(0, np.cumsum(np.bincount(unit)))[: units.size]
    weight = _weights(calls, unit, sorted_rows, first)
    return Labels(
        kind,
        {c: coded[c] for c in groups},
        unit,
        codes[sorted_rows],
        answer[sorted_rows],
        sorted_rows[first],
        weight,
        judges,
        answers,
        shared or bool((weight > 1).any()),
    )


def _answers(calls: Study, kind: Kind, reverse: Any) -> tuple[Ints, Any]:
    """Code of the answer of each call, -1 for none, and the labels."""
    if kind == "ratings":
        return _scores(calls.columns.series(answer_column(calls.names)))
    code = _choice_codes(calls.columns["choice"])
    return np.where(reverse & (code >= 0), 2 - code, code).astype(np.int8), pd.Index(SIDES)


def _calls(study: Study, by: By, keep: Sequence[str]) -> tuple[Study, Kind, list[str]]:
    """The calls of a frame in memory that have answers to be compared, their kind and the grouping columns."""
    kind, groups = _checked(study, by, keep)
    if kind == "preferences":
        return study.of_two, kind, groups
    return study.scores, kind, groups


def _checked(study: Study, by: By, keep: Sequence[str]) -> tuple[Kind, list[str]]:
    kind, groups = kind_of(study.names), grouping([*names(by), *keep], study.names)
    study.refuse_undeclared(groups, kind)
    if "judge" in groups:
        raise DesignError(
            "by='judge' leaves one judge in each group, and no agreement to measure. Leave it out: results name judges."
        )
    return kind, groups


def collected(frame: Any, by: By, keep: Sequence[str]) -> tuple[pd.DataFrame, Kind, list[str]]:
    """Collect the columns that matter, as pandas."""
    chosen, kind, groups = _projected(frame, by, keep)
    return chosen.collect(backend="pandas").to_native(), kind, groups


def _projected(frame: Any, by: By, keep: Sequence[str]) -> tuple[Any, Kind, list[str]]:
    """The columns that matter, as a lazy frame; the answers of ratings are called ``score``."""
    study = Study.of(frame)
    kind, groups = _checked(study, by, keep)
    data = study.data
    data = coding.as_scores(data) if kind == "ratings" else data
    present = list(data.collect_schema().names())
    answer = ("first", "second", "choice") if kind == "preferences" else (answer_column(present),)
    wanted = [*groups, "judge", *ABOUT[kind], *answer, *FURTHER[kind], COUNTS, "gold"]
    data = with_two(data) if kind == "preferences" else data
    chosen = data.lazy().select(*dict.fromkeys(c for c in wanted if c in present))
    return chosen.rename({"mean": "score"}) if "mean" in chosen.collect_schema().names() else chosen, kind, groups


def answers_of(table: pd.DataFrame, kind: Kind, reverse: Any, column: str = "") -> tuple[Ints, Any]:
    """Code of the answer of each row, -1 for none, and the labels; of the gold label if asked."""
    if kind == "ratings":
        return _scores(table[column or "score"])
    code = _gold(table) if column else _choices(table["choice"])
    turned = reverse & (code >= 0)
    return np.where(turned, 2 - code, code).astype(np.int8), pd.Index(SIDES)


def is_answer(values: pd.Series[Any]) -> Mask:
    """Whether each entry of an ``answer`` column is a valid answer."""
    result: Mask = (values.notna() & (values.astype(object) != INVALID)).to_numpy(dtype=bool)
    return result


def _choices(choice: pd.Series[Any]) -> Any:
    return _choice_codes(factor_of(choice))


def _choice_codes(choice: Factor) -> Any:
    texts = [None if pd.isna(x) else str(x) for x in choice.labels]
    unknown = [x for x in texts if x is not None and x not in _CHOICES]
    if unknown:
        raise SchemaError(
            f"'choice' has {unknown[0]!r}. Allowed: {', '.join(_CHOICES)}. Map the table with "
            f"preferences(frame, labels={{{unknown[0]!r}: ...}}).",
            advice=(("labels", unknown[0]),),
        )
    return np.array([-1 if x is None else _CHOICES[x] for x in texts], dtype=np.int8)[choice.code]


def _gold(table: pd.DataFrame) -> Any:
    gold, first, second = (table[c].astype(object).to_numpy() for c in ("gold", "first", "second"))
    absent = pd.isna(gold) | (gold == "")
    code = np.select([absent, gold == first, gold == "tie", gold == second], [-1, 0, 1, 2], default=-2)
    if (code == -2).any():
        i = int(np.flatnonzero(code == -2)[0])
        raise SchemaError(
            f"'gold' is {gold[i]!r} where the candidates are {first[i]!r} and {second[i]!r} ({(code == -2).sum()} "
            "rows). Give the id of the right candidate, 'tie', or nothing."
        )
    return code.astype(np.int8)


def _scores(values: pd.Series[Any]) -> tuple[Ints, Any]:
    """Rank of each score among the distinct ones; NaN is no answer."""
    if pd.api.types.is_float_dtype(values.dtype):
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
    else:
        numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        _refuse_text(values, numbers)
    coding.refuse_infinite(str(values.name), int(np.isinf(numbers).sum()))
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


def _refuse_text(values: pd.Series[Any], numbers: Floats) -> None:
    text = np.isnan(numbers) & values.notna().to_numpy()
    if text.any():
        row = int(np.flatnonzero(text)[0])
        raise SchemaError(
            f"{values.name!r} holds text where a number is expected (first: {data_rows([row])}, {values.iloc[row]!r}). "
            "Read the table with ratings(frame), which casts numbers and names every value that is not a number."
        )


def _unit_numbers(
    data: Any, calls: Study, kind: Kind, parts: list[Coded], judge: Coded, reverse: Any, keys: list[str]
) -> tuple[Ints, Ints, bool]:
    """Number of each row by unit and judge, the codes behind the numbers, and whether a thing has several units."""
    rows = len(calls.columns)
    number, combos = coding.compact(*coding.joint([*parts, judge], rows))
    if kind == "ratings" and combos.size < rows:
        lazy = isinstance(data, nw.LazyFrame)  # which may give its rows in another order each time
        refuse_splits(splits_there(data, keys) if lazy else splits_here(data, number, combos.size, keys), keys)
    further = [c for c in FURTHER[kind] if c in calls.names] + [""] * (reverse is not None)
    shared = combos.size < rows
    for name in further:
        if combos.size == rows:
            break
        code, labels = calls.columns[name] if name else (reverse.astype(np.int8), range(2))
        more = [*parts, (code, len(labels))]
        finer = coding.compact(*coding.joint([*more, judge], rows))
        if finer[1].size > combos.size:
            parts, (number, combos) = more, finer
    if combos.size < rows:
        raise refusal(calls.columns.frame(), number, data)
    return number, combos, shared


def refusal(table: pd.DataFrame, number: Ints, frame: Any = None) -> DesignError:
    """Say which judge answered twice, from the number of the judge and thing of each row; `frame` has all columns."""
    times = np.bincount(number)[number]
    return _answered_twice(table.iloc[int(np.flatnonzero(times > 1)[0])], int((times > 1).sum()), frame)


def _answered_twice(row: pd.Series[Any], rows: int, frame: Any) -> DesignError:
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


def _weights(calls: Study, unit: Ints, sorted_rows: Ints, first: Ints) -> Floats:
    if calls.weight is None:
        return np.ones(first.size)
    n = calls.weight[sorted_rows]
    weight: Floats = n[first]
    if (n != weight[unit]).any():
        raise DesignError(_UNEVEN)
    return weight


# ---- Pairs of judges on the same things, counted by their two answers: the reduction of unit ``raters`` --------------

#: The right answers as a rater, by the slot in which the right candidate was shown, or by the candidate itself.
GOLD, GOLD_CANDIDATE = "gold", "gold_candidate"
#: Columns of a pair of judges.
RATERS = ("judge", "other", "answer", "other_answer")


def count_raters(frame: Any, by: By = (), cluster: By | None = None, against: Any = None) -> tuple[pd.DataFrame, bool]:
    """Pairs of judges by their two answers on the same thing, and whether two counts share a thing.

    `by`, `cluster`: columns that split the counts; answers are matched within them. `against`: None counts every pair
    of judges, the lower name first. Else each judge is counted beside the column ``gold``, one judge, or the judges of
    another frame; what the other has not answered is counted as invalid.
    """
    groups = list(dict.fromkeys([*names(by), *(names(cluster) if cluster else [])]))
    if against is None:
        if (there := _every_pair_there(frame, groups) if Study.of(frame).lazy else None) is None:
            patterns, n, shared = every_pair(frame, groups)
            there = patterns.frame().assign(n=n), shared
        counts, shared = there
    elif isinstance(against, str) and against in (GOLD, GOLD_CANDIDATE):
        counts, shared = _beside_gold(frame, groups, against)
    else:
        counts, shared = _beside_reference(frame, groups, against)
    refuse_no_pairs(len(counts))
    return counts, shared


def refuse_no_pairs(patterns: int) -> None:
    """Raise where no two judges share a thing."""
    if not patterns:
        raise DesignError("No thing was judged by two: there is no agreement to measure. Check the names of the items.")


def every_pair(frame: Any, groups: list[str]) -> tuple[Factors, Floats, bool]:
    """Pairs of judges of a frame in memory by their two answers on the same thing; as :func:`count_raters`."""
    by_thing = labels_of(frame, groups)
    unit = by_thing.unit
    longest = int(np.bincount(unit).max(initial=0))
    ends = [np.flatnonzero(unit[d:] == unit[:-d]) for d in range(1, longest)]
    one = np.concatenate([np.empty(0, np.int64), *ends])
    two = np.concatenate([np.empty(0, np.int64), *(i + d for d, i in enumerate(ends, 1))])
    rows = {g: Factor(code[by_thing.row[unit[one]]], labels) for g, (code, labels) in by_thing.coded.items()}
    rows |= {name: Factor(by_thing.judge[i], by_thing.judges) for name, i in (("judge", one), ("other", two))}
    answer_labels = _shown(by_thing.answers, by_thing.kind)
    order = np.argsort(answer_labels, kind="stable")
    rank = np.empty(len(answer_labels), dtype=np.int32)
    rank[order] = np.arange(len(answer_labels))
    labels = pd.Index([None if x != x else x for x in answer_labels[order]], dtype=object)
    for name, i in (("answer", one), ("other_answer", two)):
        rows[name] = Factor(rank[by_thing.answer[i]], labels)  # -1, no answer, is the last that is shown
    return *Factors(factors=rows, rows=one.size).counted(
        [*groups, *RATERS], by_thing.weight[unit[one]]
    ), by_thing.shared


def _every_pair_there(frame: Any, groups: list[str]) -> tuple[pd.DataFrame, bool] | None:
    """:func:`_every_pair` of a lazy frame, joined and counted in its own engine; None where scores are text."""
    data, kind, groups = _projected(frame, groups, ())
    schema = data.collect_schema()
    about = [*groups, *(c for c in ABOUT[kind] if c in schema.names())]
    further = [c for c in FURTHER[kind] if c in schema.names() and c not in about]
    key_columns = [*dict.fromkeys([*about, "judge"])]
    if kind == "ratings":
        score = nw.col("score").cast(nw.Float64)
        if not schema["score"].is_numeric():
            return None
        coding.refuse_infinite("score", _rows(data, ~score.is_nan() & ~score.is_finite()))
        data = data.with_columns(nw.when(score.is_finite()).then(score + 0.0).alias("answer"))
    else:
        _choices(data.select("choice").unique().collect(backend="pandas").to_native()["choice"])
        first, second, choice = (nw.col(c).cast(nw.String) for c in ("first", "second", "choice"))
        if without := _rows(data, first.is_null() | second.is_null()):
            raise SchemaError(f"'first' or 'second' is missing in {without:,} of {_rows(data):,} rows. Name both.")
        low = (choice == "first") == (first <= second)
        side = nw.when(choice.is_in(("tie", "abstain"))).then(nw.lit(TIE)).when(low).then(nw.lit(LOW))
        none = choice.is_null() | (choice == INVALID)
        data = data.with_columns(
            nw.when(none).then(nw.lit(INVALID)).otherwise(side.otherwise(nw.lit(HIGH))).alias("answer"),
            nw.when(first <= second).then(first).otherwise(second).alias("_low"),
            nw.when(first <= second).then(second).otherwise(first).alias("_high"),
            one_if(first <= second).alias("_order"),
        )
        about, further = [*about, "_low", "_high"], [*further, "_order"]
    rows, size = _rows(data), _distinct(data, [*about, "judge"])
    shared = size < rows
    if shared and kind == "ratings":
        refuse_splits(splits_there(Study.of(frame).data, key_columns), key_columns)
    for name in further:
        if size < rows and (finer := _distinct(data, [*about, name, "judge"])) > size:
            about, size = [*about, name], finer
    if size < rows:
        keys = [*dict.fromkeys([*about, "judge", *(("first", "second") if kind == "preferences" else ())])]
        answer = answer_column(schema.names()) if kind == "ratings" else "choice"
        times = data.group_by(*keys).agg(nw.len().alias("_times"), nw.col(answer).max())
        again = times.filter(nw.col("_times") > 1)
        total = again.select(nw.col("_times").sum()).collect(backend="pandas").to_native()["_times"].iloc[0]
        row = again.head(1).collect(backend="pandas").to_native().iloc[0]
        raise _answered_twice(row, int(total), frame)
    weight = nw.col(COUNTS).cast(nw.Float64) if COUNTS in schema.names() else nw.lit(1.0)
    match = [nw.col(c).cast(nw.String).fill_null("\x1f").alias(f"_{i}") for i, c in enumerate(about)]  # null is a level
    keys = [f"_{i}" for i in range(len(about))]
    one = data.select(*match, *groups, "judge", "answer", weight.alias("_n"))
    other = {"judge": "other", "answer": "other_answer", "_n": "_other_n"}
    two = one.select(*keys, *other).rename(other)
    both = one.join(two, on=keys, how="inner").filter(nw.col("judge") < nw.col("other"))
    if COUNTS in schema.names() and _rows(both.filter(nw.col("_n") != nw.col("_other_n")).head(1)):
        raise DesignError(_UNEVEN)
    columns = [*groups, *RATERS]
    counts = both.group_by(*columns).agg(nw.col("_n").sum().alias("n")).collect(backend="pandas").to_native()
    several = COUNTS in schema.names() and _rows(data.filter(weight > 1).head(1)) > 0
    return coding.tidy(counts, columns), shared or several


def _rows(data: Any, condition: Any = None) -> int:
    """How many rows of a lazy frame there are, or fulfil a condition."""
    data = data if condition is None else data.filter(condition)
    return int(data.select(nw.len().alias("rows")).collect(backend="pandas").to_native()["rows"].iloc[0])


def _distinct(data: Any, columns: list[str]) -> int:
    return _rows(data.select(*dict.fromkeys(columns)).unique())


def _shown(answers: Any, kind: Kind) -> Any:
    """Labels of the answers, and last, where code -1 points, of none."""
    if kind == "ratings":
        return np.append(answers.to_numpy(dtype=float), np.nan)
    return np.array([*answers, INVALID], dtype=object)


def _canonical(frame: Any, groups: list[str], keep: Sequence[str] = ()) -> tuple[pd.DataFrame, Kind]:
    """One row per call: what it is about as text, and its answer as a label."""
    table, kind, _ = collected(frame, groups, keep)
    if kind == "ratings":
        keys = [*groups, "judge", *(c for c in ABOUT[kind] if c in table.columns)]
        refuse_splits(splits_of(frame, keys), keys)
    reverse = coding.candidates(table)[2] if kind == "preferences" else None
    code, answers = answers_of(table, kind, reverse)
    table = table.assign(answer=_shown(answers, kind)[code], n=call_counts(table[COUNTS]) if COUNTS in table else 1.0)
    if kind == "preferences":
        one, two = (table[c].astype(str) for c in ("first", "second"))
        table = table.assign(_low=one.where(one <= two, two), _high=two.where(one <= two, one), _order=reverse)
    return table, kind


def _beside_gold(frame: Any, groups: list[str], against: str) -> tuple[pd.DataFrame, bool]:
    table, kind = _canonical(frame, groups)
    if "gold" not in table.columns:
        raise DesignError(
            f"reference={against!r} needs a column 'gold'. Name a judge, or pass a frame of people's answers."
        )
    code, labels = answers_of(table, kind, table.get("_order"), "gold")
    table = table.assign(other="gold", other_answer=_shown(labels, kind)[code])
    if kind == "preferences" and against == GOLD:
        by_slot = {c: _slots(table[c], table["_order"]) for c in ("answer", "other_answer")}
        table = table.assign(**by_slot)
    return _counted(table, kind, groups)


def _slots(answers: pd.Series[Any], reverse: pd.Series[Any]) -> Any:
    """Answers for the candidate with the lower or the higher id as the slots in which these were shown."""
    code = answers.map({side: i for i, side in enumerate(SIDES)}).to_numpy(dtype=float, na_value=np.nan)
    turned = np.where(reverse, 2 - code, code)
    return np.where(
        np.isnan(turned), INVALID, np.array([*SLOTS, INVALID], object)[np.nan_to_num(turned, nan=3).astype(int)]
    )


def _counted(table: pd.DataFrame, kind: Kind, groups: list[str]) -> tuple[pd.DataFrame, bool]:
    things = [*groups, "judge", "other", *(c for c in (*ABOUT[kind], "_low", "_high") if c in table.columns)]
    shared = table.duplicated(list(dict.fromkeys(things))).any() or (table["n"] > 1).any()
    return coding.count_rows(table, [*groups, *RATERS], "n"), bool(shared)


def _beside_reference(frame: Any, groups: list[str], against: Any) -> tuple[pd.DataFrame, bool]:
    if isinstance(against, str):
        data = Study.of(frame).data
        data = data.with_columns(nw.col("judge").cast(nw.String)) if "judge" in data.collect_schema().names() else data
        table, kind = _canonical(data.to_native(), groups)
        chosen = table["judge"] == against
        if not chosen.any():
            judges = sorted(table["judge"].unique())
            listed = ", ".join(map(repr, ["gold", *judges[:10]]))
            raise DesignError(f"reference={against!r} is no judge. Allowed: {listed}.{suggestion(against, judges)}")
        ours, theirs = table[~chosen], table[chosen]
    else:
        ours, kind = _canonical(frame, groups)
        try:
            data = Study.of(against).data
        except TypeError:
            raise DesignError(
                f"reference= is {type(against).__name__}. Give 'gold', the name of a judge, or a frame of answers."
            ) from None
        present = data.collect_schema().names()
        data = data if "judge" in present else data.with_columns(nw.lit("reference").alias("judge"))
        theirs, other_kind = _canonical(data.to_native(), [g for g in groups if g in present])
        if kind != other_kind:
            raise DesignError(
                f"The data are {kind}, and reference= holds {other_kind}: answers of two kinds cannot agree."
            )
    return _matched(ours, theirs, kind, groups)


def _matched(ours: pd.DataFrame, theirs: pd.DataFrame, kind: Kind, groups: list[str]) -> tuple[pd.DataFrame, bool]:
    keys = _matching(ours, theirs, kind, groups)
    matching = {c: f"_key_{c}" for c in keys}
    left, right = (t.assign(**{k: _text(t[c]) for c, k in matching.items()}) for t in (ours, theirs))
    left["_call"] = np.arange(len(left))
    right = right.rename(columns={"judge": "other", "answer": "other_answer"})[
        [*matching.values(), "other", "other_answer"]
    ]
    met = left.merge(right, on=list(matching.values()))
    counts, shared = _counted(met, kind, groups)
    alone = _alone(left, met, groups).assign(other_answer=np.nan if kind == "ratings" else INVALID)
    return (_counted(pd.concat([met, alone], ignore_index=True), kind, groups)[0] if len(alone) else counts), shared


def _matching(ours: pd.DataFrame, theirs: pd.DataFrame, kind: Kind, groups: list[str]) -> list[str]:
    """Columns that match calls of both: with them, each of the other raters has one answer to a thing."""
    both = [c for c in ours.columns if c in theirs.columns]
    keys = [c for c in dict.fromkeys([*groups, *ABOUT[kind], "_low", "_high"]) if c in both]
    for further in [*FURTHER[kind], "_order"]:
        again = theirs.duplicated([*keys, "judge"])
        if not again.any():
            break
        if (
            further in both
            and further not in keys
            and (~theirs.duplicated([*keys, further, "judge"])).sum() > (~again).sum()
        ):
            keys.append(further)
    again = theirs.duplicated([*keys, "judge"])
    if again.any():
        raise refusal(theirs, coding.codes_of(theirs, ["judge", *keys]).code)
    return keys


def matched_calls(
    ours: Any, theirs: Any, by: By = (), keep: Sequence[str] = ()
) -> tuple[pd.DataFrame, pd.DataFrame, Kind]:
    """Calls of two frames, matched as :func:`count_raters` matches judges with a reference; and their kind.

    Both have a row a call: what it is about, ``judge``, ``answer``, ``n`` and ``thing``, the number of what was judged,
    which is the same in both. Each of the other raters has one call a thing; a judge may have several.
    """
    groups = names(by)
    left, kind = _canonical(ours, groups, keep)
    present = Study.of(theirs).names
    right, other_kind = _canonical(theirs, [g for g in groups if g in present])
    if kind != other_kind:
        raise DesignError(f"The data are {kind}, and those of the others {other_kind}: answers of two kinds.")
    keys = _matching(left, right, kind, groups)
    both = pd.concat([pd.DataFrame({k: _text(t[k]) for k in keys}) for t in (left, right)], ignore_index=True)
    thing = coding.codes_of(both, keys).code
    return left.assign(thing=thing[: len(left)]), right.assign(thing=thing[len(left) :]), kind


def _text(values: pd.Series[Any]) -> pd.Series[Any]:
    """Values as text, a whole number without its point: a file with a gap reads whole numbers as floats."""
    if pd.api.types.is_float_dtype(values.dtype) and (values.dropna() % 1 == 0).all():
        values = values.astype("Int64")
    return values.astype(object).where(values.notna(), "").astype(str)


def _alone(left: pd.DataFrame, met: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    """Calls on what the other, whom the judge meets elsewhere, has not answered."""
    side = list(dict.fromkeys([*groups, "judge"]))
    every = left.merge(met[[*side, "other"]].drop_duplicates(), on=side)
    pair = ["_call", "other"]
    return every[~pd.MultiIndex.from_frame(every[pair]).isin(pd.MultiIndex.from_frame(met[pair]))]
