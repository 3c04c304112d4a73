"""Pairs of judges on the same things, counted by their two answers: the reduction of unit ``raters``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.counting import judge_answers
from judgestats.counting.clustering import UNIT
from judgestats.counting.judge_answers import ABOUT, FURTHER, HIGH, LOW, SLOTS, TIE, UNEVEN_JUDGES
from judgestats.counting.splitting import lazy_splits, refuse_splits, splits_of
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.schema import coding
from judgestats.schema.classes import INVALID, where_answered
from judgestats.schema.columns import COUNTS, By, Kind, answer_column, kind_of, names
from judgestats.schema.factors import Factor, Factors, factor_of
from judgestats.schema.opening import one_if, one_of
from judgestats.typing import Floats, Integers, Ints, LazyFrame, Mask

#: The right answers as a rater, by the slot in which the right candidate was shown, or by the candidate itself.
GOLD, GOLD_CANDIDATE = "gold", "gold_candidate"
#: What of a count is rounding.
_ROUNDING = 1e-9
#: Columns of a pair of judges.
RATERS = ("judge", "other", "answer", "other_answer")


def count_raters(
    frame: Calls,
    by: By = (),
    cluster: By | None = None,
    against: Calls | str | None = None,
    *,
    by_unit: bool = False,
) -> tuple[pd.DataFrame, bool]:
    """Pairs of judges by their two answers on the same thing, and whether two counts share a thing.

    `by`, `cluster`: columns that split the counts; answers are matched within them. `against`: None counts every pair
    of judges, the lower name first. Else each judge is counted beside the column ``gold``, one judge, or the judges of
    another frame; what the other has not answered is counted as invalid. Of repeats of two judges every two answers
    count, each by its share in those of its judge; beside gold, or another frame, each call of `frame` counts. With
    `by_unit`, where repeats differ, a column ``_unit`` splits the counts by thing.
    """
    groups = list(dict.fromkeys([*names(by), *(names(cluster) if cluster else [])]))
    if against is None:
        if (there := _lazy_pairs(frame, groups) if Study.of(frame).lazy and not by_unit else None) is None:
            patterns, n, shared = every_pair(frame, groups, by_unit=by_unit)
            there = patterns.frame().assign(n=n), shared
        counts, shared = there
    elif isinstance(against, str) and against in (GOLD, GOLD_CANDIDATE):
        counts, shared = _beside_gold(frame, groups, against)
    else:
        counts, shared = _beside_reference(frame, groups, against, by_unit=by_unit)
    refuse_no_pairs(len(counts))
    return counts, shared


def refuse_no_pairs(patterns: int) -> None:
    """Raise where no two judges share a thing."""
    if not patterns:
        raise DesignError("No thing was judged by two: there is no agreement to measure. Check the names of the items.")


def every_pair(frame: Calls, groups: list[str], *, by_unit: bool = False) -> tuple[Factors, Floats, bool]:
    """Pairs of judges of a frame in memory by their two answers on the same thing; as :func:`count_raters`.

    Of repeats each answer counts by its share; with `by_unit`, where some differ, ``_unit`` numbers the things.
    """
    panel = judge_answers.answer_panel(frame, groups)
    thing, share = panel.thing, panel.share
    longest = int(np.bincount(thing).max(initial=0))
    ends = [np.flatnonzero(thing[d:] == thing[:-d]) for d in range(1, longest)]
    one = np.concatenate([np.empty(0, np.int64), *ends])
    two = np.concatenate([np.empty(0, np.int64), *(i + d for d, i in enumerate(ends, 1))])
    columns, weight = [*groups, *RATERS], panel.weight[thing[one]]
    rows = {g: panel.things[g].at(thing) for g in groups}
    if share is not None:
        of_two = panel.judge[one] != panel.judge[two]
        one, two = one[of_two], two[of_two]
        weight = share[one] * share[two]
        if by_unit:
            columns.append(UNIT)
            rows[UNIT] = Factor(thing, pd.RangeIndex(len(panel.things)))
    rows = {name: factor.at(one) for name, factor in rows.items()}
    rows |= {name: Factor(panel.judge[i], panel.judges) for name, i in (("judge", one), ("other", two))}
    answers = _shown(panel.answer, panel.answers, kind_of(Study.of(frame).names))
    rows |= {"answer": answers.at(one), "other_answer": answers.at(two)}
    return *Factors(factors=rows, rows=one.size).counted(columns, weight), panel.shared


def _lazy_pairs(frame: Calls, groups: list[str]) -> tuple[pd.DataFrame, bool] | None:
    """:func:`_every_pair` of a lazy frame, joined and counted in its own engine; None where scores are text."""
    data, kind, groups = judge_answers.answer_columns(frame, groups, ())
    schema = data.collect_schema()
    about = [*groups, *(c for c in ABOUT[kind] if c in schema.names())]
    numbered = "replicate" in schema.names() and "replicate" not in about and COUNTS not in schema.names()
    further = [c for c in FURTHER[kind] if c in schema.names() and c not in about]
    further = [c for c in further if c != "replicate"] if numbered else further
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
    repeated = size < rows
    if numbered and repeated:
        about, size = [*about, "replicate"], _distinct(data, [*about, "replicate", "judge"])
    if size < rows:
        keys = [*dict.fromkeys([*about, "judge", *(("first", "second") if kind == "preferences" else ())])]
        answer = answer_column(schema.names()) if kind == "ratings" else "choice"
        times = data.group_by(*keys).agg(nw.len().alias("_times"), nw.col(answer).max())
        again = times.filter(nw.col("_times") > 1)
        total = again.select(nw.col("_times").sum()).collect(backend="pandas").to_native()["_times"].iloc[0]
        row = again.head(1).collect(backend="pandas").to_native().iloc[0]
        raise judge_answers.repeated_answer(row, int(total), frame)
    if repeated:
        about = about[:-1]
        if kind == "preferences":
            cells = judge_answers.cell_columns(Study.of(frame), groups)
            refuse_splits(splits_of(frame, cells, kind), cells, kind)
    weight = nw.col(COUNTS).cast(nw.Float64) if COUNTS in schema.names() else nw.lit(1.0)
    match = [nw.col(c).cast(nw.String).fill_null("\x1f").alias(f"_{i}") for i, c in enumerate(about)]  # null is a level
    keys = [f"_{i}" for i in range(len(about))]
    one = data.select(*match, *groups, "judge", "answer", weight.alias("_n"))
    if repeated:
        one = _shares(one, [*keys, *groups, "judge"], INVALID if kind == "preferences" else None)
    other = {"judge": "other", "answer": "other_answer", "_n": "_other_n"}
    two = one.select(*keys, *other).rename(other)
    both = one.join(two, on=keys, how="inner").filter(nw.col("judge") < nw.col("other"))
    if COUNTS in schema.names() and _rows(both.filter(nw.col("_n") != nw.col("_other_n")).head(1)):
        raise DesignError(UNEVEN_JUDGES)
    columns = [*groups, *RATERS]
    pair = nw.col("_n") * nw.col("_other_n") if repeated else nw.col("_n")
    both = both.with_columns(pair.alias("n"))
    counts = both.group_by(*columns).agg(nw.col("n").sum()).collect(backend="pandas").to_native()
    several = COUNTS in schema.names() and _rows(data.filter(weight > 1).head(1)) > 0
    return coding.tidy(counts, columns), shared or several


def _shares(calls: LazyFrame, cell: list[str], none: str | None) -> LazyFrame:
    """Distinct answers of each judge to each thing with their share ``_n``; `none` only where there is no other."""
    each = calls.group_by(*cell, "answer").agg(nw.col("_n").sum())
    answered = one_if(nw.col("answer").is_null() if none is None else nw.col("answer") == none)
    each = each.with_columns((nw.col("_n") * (1 - answered)).alias("_given"))
    numbers = [c for c in cell if c.startswith("_") or c == "judge"]
    totals = each.group_by(*numbers).agg(nw.col("_given").sum().alias("_total"))
    each = each.join(totals, on=numbers, how="inner").filter((nw.col("_given") > 0) | (nw.col("_total") == 0))
    share = nw.when(nw.col("_total") > 0).then(nw.col("_given") / nw.col("_total")).otherwise(nw.lit(1.0))
    shares: LazyFrame = each.with_columns(share.alias("_n")).drop("_given", "_total")
    return shares


def _rows(data: LazyFrame, condition: nw.Expr | None = None) -> int:
    """How many rows of a lazy frame there are, or fulfil a condition."""
    data = data if condition is None else data.filter(condition)
    return int(data.select(nw.len().alias("rows")).collect(backend="pandas").to_native()["rows"].iloc[0])


def _distinct(data: LazyFrame, columns: list[str]) -> int:
    return _rows(data.select(*dict.fromkeys(columns)).unique())


def _shown(code: Integers, answers: pd.Index, kind: Kind) -> Factor:
    """Answers with sorted labels; no answer (code -1) is NaN, None or ``invalid`` by `kind`."""
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


def _beside_reference(
    frame: Calls, groups: list[str], against: Calls | str, *, by_unit: bool
) -> tuple[pd.DataFrame, bool]:
    if isinstance(against, str):
        data = Study.of(frame).data
        data = data.with_columns(nw.col("judge").cast(nw.String)) if "judge" in data.collect_schema().names() else data
        calls, kind = _answered(data.to_native(), groups)
        chosen = calls.columns["judge"].among(against)
        if not chosen.any():
            judges = calls.columns.labels("judge")
            listed = ", ".join(map(repr, ["gold", *judges[:10]]))
            raise DesignError(f"reference={against!r} is no judge. Allowed: {listed}.{suggestion(against, judges)}")
        matched = _matched(calls.where(~chosen), calls.where(chosen), kind, groups, repeats=True)
        own = _shares_of(matched.calls, groups)
    else:
        try:
            reference = Study.of(against)
        except SchemaError:
            raise DesignError(
                f"reference= is {type(against).__name__}. Give 'gold', the name of a judge, or a frame of answers."
            ) from None
        frame, reference = Study.of(frame).in_one_way(reference)
        calls, kind = _answered(frame, groups)
        data = reference.data
        present = data.collect_schema().names()
        data = data if "judge" in present else data.with_columns(nw.lit("reference").alias("judge"))
        others, other_kind = _answered(data.to_native(), [g for g in groups if g in present])
        if kind != other_kind:
            raise DesignError(
                f"The data are {kind}, and reference= holds {other_kind}: answers of two kinds cannot agree."
            )
        matched = _matched(calls, others, kind, groups, repeats=True)
        own = np.ones(len(calls.columns))  # each repeat counts, as beside gold
    theirs = _shares_of(matched.others, groups)
    return _beside_others(matched, own, theirs, groups, by_unit=by_unit)


def _shares_of(calls: Study, groups: list[str]) -> Floats:
    """Weight of each call among its judge's repeats: 0 for one without an answer where another repeat has one."""
    if "replicate" not in calls.names or COUNTS in calls.names:
        return np.ones(len(calls.columns))
    cell = calls.columns.codes(judge_answers.cell_columns(calls, groups))
    answered = ~calls.columns["answer"].among(INVALID, None)
    answers = np.bincount(cell.code, answered, cell.size)[cell.code]
    shares: Floats = np.where(answers > 0, answered / np.maximum(answers, 1), 1 / np.bincount(cell.code)[cell.code])
    return shares


def _beside_others(
    matched: MatchedRaters, own: Floats, theirs: Floats, groups: list[str], *, by_unit: bool
) -> tuple[pd.DataFrame, bool]:
    """Counts of :func:`count_raters`: each answer beside every reference answer, or beside none where there is none.

    `own` (N,), `theirs` (M,): what each call of a judge, and of the others, counts.
    """
    calls, (one, two), split = matched.calls, matched.met, groups
    if by_unit and min(own.min(initial=1), theirs.min(initial=1)) < 1:
        calls = calls.part(calls.columns.but(**{UNIT: Factor(matched.thing, pd.RangeIndex(matched.thing.max() + 1))}))
        split = [*groups, UNIT]
    size, weight = calls.counts * own, calls.counts[one] * own[one] * theirs[two]
    one, two, weight = one[weight > 0], two[weight > 0], weight[weight > 0]
    others, other_answers = matched.others.columns["judge"], matched.others.columns["answer"]
    columns = calls.columns.take(one).but(other=others.at(two), other_answer=other_answers.at(two))
    once = columns  # of the repeats of a judge, beside those of another, one
    if min(own.min(initial=1), theirs.min(initial=1)) < 1:
        once = columns.take(columns.codes([*judge_answers.cell_columns(calls, groups), "other"]).first)
    shared = _repeated(once, size, matched.kind, groups)
    side, pattern = (calls.columns.ranked([*groups, *keys]) for keys in (["judge"], ["judge", "answer"]))
    many = len(others.labels)
    meeting = np.unique(side.code[one].astype(np.int64) * many + others.code[two])
    beside_whom, beside = same_code(side.code[pattern.first], meeting // many)  # each pattern, and whom its judge meets
    every = beside_whom * many + meeting[beside] % many
    met = np.bincount(
        np.searchsorted(every, pattern.code[one].astype(np.int64) * many + others.code[two]), weight, every.size
    )
    alone = np.bincount(pattern.code, size)[beside_whom] - met
    left = alone > _ROUNDING
    row, beside, alone = pattern.first[beside_whom[left]], beside[left], alone[left]
    if not row.size:
        return _counted(columns, weight, split), shared
    none = other_answers.labels.get_loc(INVALID if matched.kind == "preferences" else None)
    columns = calls.columns.take(np.append(one, row)).but(
        other=Factor(np.append(others.code[two], meeting[beside] % many), others.labels),
        other_answer=Factor(np.append(other_answers.code[two], np.full(row.size, none)), other_answers.labels),
    )
    return _counted(columns, np.append(weight, alone), split), shared


class MatchedRaters(NamedTuple):
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

    def where(self, calls: Mask, others: Mask) -> MatchedRaters:
        """The calls of judges, and of others, where masks are true."""
        some = self.calls.where(calls), self.others.where(others)
        return MatchedRaters(self.kind, *some, self.thing[calls], self.other_thing[others])


def same_code(one: Integers, two: Integers) -> tuple[Ints, Ints]:
    """Places in two arrays of codes that have the same code, in the order of the first and then of the second."""
    size = int(max(one.max(initial=-1), two.max(initial=-1))) + 1
    n, order = np.bincount(two, minlength=size), np.argsort(two, kind="stable")
    times = n[one]
    before = np.cumsum(times) - times
    start = (np.cumsum(n) - n)[one] - before
    return np.repeat(np.arange(len(one)), times), order[np.repeat(start, times) + np.arange(times.sum())]


def _matched(calls: Study, others: Study, kind: Kind, groups: list[str], *, repeats: bool = False) -> MatchedRaters:
    keys = _matching(calls, others, kind, groups, repeats=repeats)
    parts = []
    for key in keys:
        one, two = (study.columns[key] for study in (calls, others))
        code, texts = pd.factorize(np.concatenate([_texts(one.labels), _texts(two.labels)]))
        parts.append((np.append(code[: len(one.labels)][one.code], code[len(one.labels) :][two.code]), len(texts)))
    rows = len(calls.columns)
    thing = coding.combine(parts, rows + len(others.columns)).code
    return MatchedRaters(kind, calls, others, thing[:rows], thing[rows:])


def _matching(calls: Study, others: Study, kind: Kind, groups: list[str], *, repeats: bool) -> list[str]:
    """Columns by which calls of both are matched, so that each of the other raters has one answer to a thing.

    With `repeats` it may have several, which their numbers distinguish; else calls are matched by these, too.
    """
    both = {*calls.names} & {*others.names}
    keys = [c for c in dict.fromkeys([*groups, *ABOUT[kind], "_low", "_high"]) if c in both]
    columns = others.columns
    numbered = repeats and "replicate" in others.names and COUNTS not in both and "replicate" not in keys
    for further in [*FURTHER[kind], "_order"]:
        distinct = columns.n_distinct([*keys, "judge"])
        if distinct == len(columns):
            break
        if further == "replicate" and numbered:
            continue
        if further in both and further not in keys and columns.n_distinct([*keys, further, "judge"]) > distinct:
            keys.append(further)
    each = ["judge", *keys, *(["replicate"] if numbered else [])]
    if columns.n_distinct(each) < len(columns):
        raise judge_answers.refusal(columns.frame(), columns.codes(each).code)
    return keys


def matched_calls(ours: Calls, theirs: Calls, by: By = ()) -> MatchedRaters:
    """Calls of two frames, matched as :func:`count_raters` matches judges with a reference."""
    groups = names(by)
    ours, theirs = Study.of(ours).in_one_way(Study.of(theirs))
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
