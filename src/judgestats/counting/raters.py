"""Pairs of judges on the same things, counted by their two answers: the reduction of unit ``raters``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.counting import judge_answers
from judgestats.counting.judge_answers import ABOUT, FURTHER, HIGH, LOW, SLOTS, TIE, UNEVEN_JUDGES
from judgestats.counting.splitting import lazy_splits, refuse_splits, splits_of
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.schema import coding
from judgestats.schema.classes import INVALID, where_answered
from judgestats.schema.columns import COUNTS, By, Kind, answer_column, names
from judgestats.schema.factors import Factor, Factors, factor_of
from judgestats.schema.opening import one_if, one_of
from judgestats.typing import Floats, Integers, Ints, LazyFrame, Mask

#: The right answers as a rater, by the slot in which the right candidate was shown, or by the candidate itself.
GOLD, GOLD_CANDIDATE = "gold", "gold_candidate"
#: Columns of a pair of judges.
RATERS = ("judge", "other", "answer", "other_answer")


def count_raters(
    frame: Calls, by: By = (), cluster: By | None = None, against: Calls | str | None = None
) -> tuple[pd.DataFrame, bool]:
    """Pairs of judges by their two answers on the same thing, and whether two counts share a thing.

    `by`, `cluster`: columns that split the counts; answers are matched within them. `against`: None counts every pair
    of judges, the lower name first. Else each judge is counted beside the column ``gold``, one judge, or the judges of
    another frame; what the other has not answered is counted as invalid.
    """
    groups = list(dict.fromkeys([*names(by), *(names(cluster) if cluster else [])]))
    if against is None:
        if (there := _lazy_pairs(frame, groups) if Study.of(frame).lazy else None) is None:
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


def every_pair(frame: Calls, groups: list[str]) -> tuple[Factors, Floats, bool]:
    """Pairs of judges of a frame in memory by their two answers on the same thing; as :func:`count_raters`."""
    by_thing = judge_answers.labels_of(frame, groups)
    unit = by_thing.unit
    longest = int(np.bincount(unit).max(initial=0))
    ends = [np.flatnonzero(unit[d:] == unit[:-d]) for d in range(1, longest)]
    one = np.concatenate([np.empty(0, np.int64), *ends])
    two = np.concatenate([np.empty(0, np.int64), *(i + d for d, i in enumerate(ends, 1))])
    rows = {g: Factor(code[by_thing.row[unit[one]]], labels) for g, (code, labels) in by_thing.coded.items()}
    rows |= {name: Factor(by_thing.judge[i], by_thing.judges) for name, i in (("judge", one), ("other", two))}
    answers = _shown(by_thing.answer, by_thing.answers, by_thing.kind)
    rows |= {"answer": answers.at(one), "other_answer": answers.at(two)}
    return *Factors(factors=rows, rows=one.size).counted(
        [*groups, *RATERS], by_thing.weight[unit[one]]
    ), by_thing.shared


def _lazy_pairs(frame: Calls, groups: list[str]) -> tuple[pd.DataFrame, bool] | None:
    """:func:`_every_pair` of a lazy frame, joined and counted in its own engine; None where scores are text."""
    data, kind, groups = judge_answers.answer_columns(frame, groups, ())
    schema = data.collect_schema()
    about = [*groups, *(c for c in ABOUT[kind] if c in schema.names())]
    further = [c for c in FURTHER[kind] if c in schema.names() and c not in about]
    key_columns = [*dict.fromkeys([*about, "judge"])]
    if kind == "ratings" and answer_column(schema.names()) == "answer":
        label = nw.col("answer").cast(nw.String)
        data = data.with_columns(nw.when(where_answered(label)).then(label).alias("answer"))
    elif kind == "ratings":
        score = nw.col("score").cast(nw.Float64)
        if not schema["score"].is_numeric():
            return None
        coding.refuse_infinite("score", _rows(data, ~score.is_nan() & ~score.is_finite()))
        data = data.with_columns(nw.when(score.is_finite()).then(score + 0.0).alias("answer"))
    else:
        judge_answers.choice_codes(
            factor_of(data.select("choice").unique().collect(backend="pandas").to_native()["choice"])
        )
        first, second, choice = (nw.col(c).cast(nw.String) for c in ("first", "second", "choice"))
        if without := _rows(data, first.is_null() | second.is_null()):
            raise SchemaError(f"'first' or 'second' is missing in {without:,} of {_rows(data):,} rows. Name both.")
        low = (choice == "first") == (first <= second)
        side = nw.when(one_of(choice, ("tie", "abstain"))).then(nw.lit(TIE)).when(low).then(nw.lit(LOW))
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
        refuse_splits(lazy_splits(Study.of(frame).data, key_columns), key_columns)
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
        raise judge_answers.repeated_answer(row, int(total), frame)
    weight = nw.col(COUNTS).cast(nw.Float64) if COUNTS in schema.names() else nw.lit(1.0)
    match = [nw.col(c).cast(nw.String).fill_null("\x1f").alias(f"_{i}") for i, c in enumerate(about)]  # null is a level
    keys = [f"_{i}" for i in range(len(about))]
    one = data.select(*match, *groups, "judge", "answer", weight.alias("_n"))
    other = {"judge": "other", "answer": "other_answer", "_n": "_other_n"}
    two = one.select(*keys, *other).rename(other)
    both = one.join(two, on=keys, how="inner").filter(nw.col("judge") < nw.col("other"))
    if COUNTS in schema.names() and _rows(both.filter(nw.col("_n") != nw.col("_other_n")).head(1)):
        raise DesignError(UNEVEN_JUDGES)
    columns = [*groups, *RATERS]
    counts = both.group_by(*columns).agg(nw.col("_n").sum().alias("n")).collect(backend="pandas").to_native()
    several = COUNTS in schema.names() and _rows(data.filter(weight > 1).head(1)) > 0
    return coding.tidy(counts, columns), shared or several


def _rows(data: LazyFrame, condition: nw.Expr | None = None) -> int:
    """How many rows of a lazy frame there are, or fulfil a condition."""
    data = data if condition is None else data.filter(condition)
    return int(data.select(nw.len().alias("rows")).collect(backend="pandas").to_native()["rows"].iloc[0])


def _distinct(data: LazyFrame, columns: list[str]) -> int:
    return _rows(data.select(*dict.fromkeys(columns)).unique())


def _shown(code: Integers, answers: pd.Index, kind: Kind) -> Factor:
    """Answers with sorted labels, of which the one of no answer, whose code is -1, is NaN, None or ``invalid``."""
    if kind == "ratings" and answers.dtype == object:  # classes, which are sorted
        return Factor(np.where(code < 0, len(answers), code), pd.Index([*answers, None], dtype=object))
    labels = [*answers, None if kind == "ratings" else INVALID]
    order = np.arange(len(labels)) if kind == "ratings" else np.argsort(labels)
    return Factor(np.argsort(order)[code], pd.Index(labels, dtype=object)[order])


def _answered(frame: Calls, groups: list[str]) -> tuple[Study, Kind]:
    """The calls, with columns ``answer`` and, of preferences, ``_low``, ``_high`` and whether these were turned."""
    whole = study = Study.of(frame)
    if whole.lazy:
        table, kind, _ = judge_answers.collected(whole, groups, ())
        study = study.part(table)
    else:
        kind, _ = judge_answers.kind_and_groups(whole, groups, ())
    if kind == "ratings":
        keys = [*groups, "judge", *(c for c in ABOUT[kind] if c in study.names)]
        refuse_splits(splits_of(whole, keys), keys)
        study = study.scores
        return study.part(study.columns.but(answer=_shown(*judge_answers.answer_codes(study, kind), kind))), kind
    first, second, _ = study.shown
    study = study.where((first != second) & (first >= 0) & (second >= 0))
    low, high, turned = study.ordered
    answer = _shown(*judge_answers.answer_codes(study, kind), kind)
    order = Factor(turned.astype(np.int8), [False, True])
    return study.part(study.columns.but(answer=answer, _low=low, _high=high, _order=order)), kind


def _beside_gold(frame: Calls, groups: list[str], against: str) -> tuple[pd.DataFrame, bool]:
    calls, kind = _answered(frame, groups)
    if "gold" not in calls.names:
        raise DesignError(
            f"reference={against!r} needs a column 'gold'. Name a judge, or pass a frame of people's answers."
        )
    gold = judge_answers.gold_codes(calls, kind)
    other = Factor(np.zeros(len(calls.columns), dtype=np.int8), [GOLD])
    columns = calls.columns.but(other=other, other_answer=_shown(*gold, kind))
    if kind == "preferences" and against == GOLD:
        for name, code in (("answer", judge_answers.answer_codes(calls, kind)[0]), ("other_answer", gold[0])):
            slot = judge_answers.turned_codes(code, calls.ordered[2])
            columns = columns.but(**{name: _shown(slot, pd.Index(SLOTS), kind)})
    return _counted(columns, calls.counts, groups), _repeated(columns, calls.counts, kind, groups)


def _counted(columns: Factors, n: Floats, groups: list[str]) -> pd.DataFrame:
    patterns, total = columns.counted([*groups, *RATERS], n)
    return patterns.frame().assign(n=total)


def _repeated(columns: Factors, n: Floats, kind: Kind, groups: list[str]) -> bool:
    """Whether two rows are a judge and another rater on one thing."""
    things = [*groups, "judge", "other", *(c for c in (*ABOUT[kind], "_low", "_high") if c in columns)]
    return columns.n_distinct([*dict.fromkeys(things)]) < len(columns) or bool((n > 1).any())


def _beside_reference(frame: Calls, groups: list[str], against: Calls | str) -> tuple[pd.DataFrame, bool]:
    if isinstance(against, str):
        data = Study.of(frame).data
        data = data.with_columns(nw.col("judge").cast(nw.String)) if "judge" in data.collect_schema().names() else data
        calls, kind = _answered(data.to_native(), groups)
        chosen = calls.columns["judge"].among(against)
        if not chosen.any():
            judges = calls.columns.labels("judge")
            listed = ", ".join(map(repr, ["gold", *judges[:10]]))
            raise DesignError(f"reference={against!r} is no judge. Allowed: {listed}.{suggestion(against, judges)}")
        matched = _matched(calls.where(~chosen), calls.where(chosen), kind, groups)
    else:
        calls, kind = _answered(frame, groups)
        try:
            data = Study.of(against).data
        except TypeError:
            raise DesignError(
                f"reference= is {type(against).__name__}. Give 'gold', the name of a judge, or a frame of answers."
            ) from None
        present = data.collect_schema().names()
        data = data if "judge" in present else data.with_columns(nw.lit("reference").alias("judge"))
        others, other_kind = _answered(data.to_native(), [g for g in groups if g in present])
        if kind != other_kind:
            raise DesignError(
                f"The data are {kind}, and reference= holds {other_kind}: answers of two kinds cannot agree."
            )
        matched = _matched(calls, others, kind, groups)
    return _beside_others(matched, groups)


def _beside_others(matched: Matched, groups: list[str]) -> tuple[pd.DataFrame, bool]:
    """Counts of :func:`count_raters`: an answer counts beside that of each other, even one without an answer there."""
    calls, (one, two) = matched.calls, matched.met
    n, others, other_answers = calls.counts, matched.others.columns["judge"], matched.others.columns["answer"]
    columns = calls.columns.take(one).but(other=others.at(two), other_answer=other_answers.at(two))
    shared = _repeated(columns, n[one], matched.kind, groups)
    side, pattern = (calls.columns.ranked([*groups, *own]) for own in (["judge"], ["judge", "answer"]))
    many = len(others.labels)
    meeting = np.unique(side.code[one].astype(np.int64) * many + others.code[two])
    own, beside = same_code(side.code[pattern.first], meeting // many)  # each pattern, and whom its judge meets
    every = own * many + meeting[beside] % many
    met = np.bincount(
        np.searchsorted(every, pattern.code[one].astype(np.int64) * many + others.code[two]), n[one], every.size
    )
    alone = np.bincount(pattern.code, n)[own] - met
    own, beside, alone = own[alone > 0], beside[alone > 0], alone[alone > 0]
    if not own.size:
        return _counted(columns, n[one], groups), shared
    none = other_answers.labels.get_loc(INVALID if matched.kind == "preferences" else None)
    columns = calls.columns.take(np.append(one, pattern.first[own])).but(
        other=Factor(np.append(others.code[two], meeting[beside] % many), others.labels),
        other_answer=Factor(np.append(other_answers.code[two], np.full(own.size, none)), other_answers.labels),
    )
    return _counted(columns, np.append(n[one], alone), groups), shared


class Matched(NamedTuple):
    """Calls of judges (N) and of other raters (M), each of whom has one call a thing; both have a column ``answer``."""

    kind: Kind
    calls: Study
    others: Study
    thing: Integers  # (N,): number of what was judged
    other_thing: Integers  # (M,): the same of the other raters

    @property
    def met(self) -> tuple[Ints, Ints]:
        """Calls of judges, in their order, each with the calls of others on the same thing."""
        return same_code(self.thing, self.other_thing)

    @property
    def answered(self) -> tuple[Mask, Mask]:
        """Which calls of judges (N,), and of others (M,), have an answer."""
        one, two = (~study.columns["answer"].among(INVALID, None) for study in (self.calls, self.others))
        return one, two

    @property
    def answers(self) -> tuple[Ints, Ints]:
        """Answers of judges (N,) and of others (M,), coded alike."""
        number: dict[object, int] = {}
        answers = (study.columns["answer"] for study in (self.calls, self.others))
        one, two = (np.array([number.setdefault(x, len(number)) for x in f.labels])[f.code] for f in answers)
        return one, two

    @property
    def scores(self) -> tuple[Floats, Floats]:
        """Answers that are numbers."""
        answers = (study.columns["answer"] for study in (self.calls, self.others))
        one, two = (np.array(f.labels, dtype=float)[f.code] for f in answers)
        return one, two

    def where(self, calls: Mask, others: Mask) -> Matched:
        """The calls of judges, and of others, where masks are true."""
        some = self.calls.where(calls), self.others.where(others)
        return Matched(self.kind, *some, self.thing[calls], self.other_thing[others])


def same_code(one: Integers, two: Integers) -> tuple[Ints, Ints]:
    """Places in two arrays of codes that have the same code, in the order of the first and then of the second."""
    size = int(max(one.max(initial=-1), two.max(initial=-1))) + 1
    n, order = np.bincount(two, minlength=size), np.argsort(two, kind="stable")
    times = n[one]
    before = np.cumsum(times) - times
    start = (np.cumsum(n) - n)[one] - before
    return np.repeat(np.arange(len(one)), times), order[np.repeat(start, times) + np.arange(times.sum())]


def _matched(calls: Study, others: Study, kind: Kind, groups: list[str]) -> Matched:
    keys = _matching(calls, others, kind, groups)
    parts = []
    for key in keys:
        one, two = (study.columns[key] for study in (calls, others))
        code, texts = pd.factorize(np.concatenate([_texts(one.labels), _texts(two.labels)]))
        parts.append((np.append(code[: len(one.labels)][one.code], code[len(one.labels) :][two.code]), len(texts)))
    rows = len(calls.columns)
    thing = coding.combine(parts, rows + len(others.columns)).code
    return Matched(kind, calls, others, thing[:rows], thing[rows:])


def _matching(calls: Study, others: Study, kind: Kind, groups: list[str]) -> list[str]:
    """Columns that match calls of both: with them, each of the other raters has one answer to a thing."""
    both = {*calls.names} & {*others.names}
    keys = [c for c in dict.fromkeys([*groups, *ABOUT[kind], "_low", "_high"]) if c in both]
    columns = others.columns
    for further in [*FURTHER[kind], "_order"]:
        distinct = columns.n_distinct([*keys, "judge"])
        if distinct == len(columns):
            break
        if further in both and further not in keys and columns.n_distinct([*keys, further, "judge"]) > distinct:
            keys.append(further)
    if columns.n_distinct([*keys, "judge"]) < len(columns):
        raise judge_answers.refusal(columns.frame(), columns.codes(["judge", *keys]).code)
    return keys


def matched_calls(ours: Calls, theirs: Calls, by: By = ()) -> Matched:
    """Calls of two frames, matched as :func:`count_raters` matches judges with a reference."""
    groups = names(by)
    calls, kind = _answered(ours, groups)
    present = Study.of(theirs).names
    others, other_kind = _answered(theirs, [g for g in groups if g in present])
    if kind != other_kind:
        raise DesignError(f"The data are {kind}, and those of the others {other_kind}: answers of two kinds.")
    return _matched(calls, others, kind, groups)


def _texts(labels: Sequence[object]) -> NDArray[np.object_]:
    """Labels as text, a whole number without its point: a file with a gap reads whole numbers as floats."""
    if all(x is None or isinstance(x, str) for x in labels):
        return np.array([x or "" for x in labels], dtype=object)
    values = pd.Series([*labels])
    if pd.api.types.is_float_dtype(values.dtype) and (values.dropna() % 1 == 0).all():
        values = values.astype("Int64")
    texts: NDArray[np.object_] = values.astype(object).where(values.notna(), "").astype(str).to_numpy(dtype=object)
    return texts
