"""Pairs of judges on the same things, counted by their two answers: the reduction of unit ``raters``."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.counting.judge_answers import (
    ABOUT,
    FURTHER,
    HIGH,
    LOW,
    SIDES,
    SLOTS,
    TIE,
    UNEVEN_JUDGES,
    answer_columns,
    answers_of,
    choice_codes,
    collected,
    labels_of,
    refusal,
    repeated_answer,
)
from judgestats.counting.splitting import lazy_splits, refuse_splits, splits_of
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.schema import coding
from judgestats.schema.classes import INVALID, where_answered
from judgestats.schema.columns import COUNTS, By, Kind, answer_column, names
from judgestats.schema.declared_counts import call_counts
from judgestats.schema.factors import Factor, Factors, factor_of
from judgestats.schema.opening import one_if
from judgestats.typing import Column, Floats, LazyFrame

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
    by_thing = labels_of(frame, groups)
    unit = by_thing.unit
    longest = int(np.bincount(unit).max(initial=0))
    ends = [np.flatnonzero(unit[d:] == unit[:-d]) for d in range(1, longest)]
    one = np.concatenate([np.empty(0, np.int64), *ends])
    two = np.concatenate([np.empty(0, np.int64), *(i + d for d, i in enumerate(ends, 1))])
    rows = {g: Factor(code[by_thing.row[unit[one]]], labels) for g, (code, labels) in by_thing.coded.items()}
    rows |= {name: Factor(by_thing.judge[i], by_thing.judges) for name, i in (("judge", one), ("other", two))}
    answer_labels = _shown(by_thing.answers, by_thing.kind)
    classes = answer_labels[-1] is None  # sorted, and none is the last
    order = np.arange(answer_labels.size) if classes else np.argsort(answer_labels, kind="stable")
    rank = np.empty(len(answer_labels), dtype=np.int32)
    rank[order] = np.arange(len(answer_labels))
    labels = pd.Index([None if x != x else x for x in answer_labels[order]], dtype=object)
    for name, i in (("answer", one), ("other_answer", two)):
        rows[name] = Factor(rank[by_thing.answer[i]], labels)  # -1, no answer, is the last that is shown
    return *Factors(factors=rows, rows=one.size).counted(
        [*groups, *RATERS], by_thing.weight[unit[one]]
    ), by_thing.shared


def _lazy_pairs(frame: Calls, groups: list[str]) -> tuple[pd.DataFrame, bool] | None:
    """:func:`_every_pair` of a lazy frame, joined and counted in its own engine; None where scores are text."""
    data, kind, groups = answer_columns(frame, groups, ())
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
        choice_codes(factor_of(data.select("choice").unique().collect(backend="pandas").to_native()["choice"]))
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
        raise repeated_answer(row, int(total), frame)
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


def _shown(answers: pd.Index, kind: Kind) -> Floats | NDArray[np.object_]:
    """Labels of the answers, and last, where code -1 points, of none."""
    if kind == "ratings" and answers.dtype == object:  # classes
        return np.array([*answers, None], dtype=object)
    if kind == "ratings":
        return np.append(answers.to_numpy(dtype=float), np.nan)
    return np.array([*answers, INVALID], dtype=object)


def _canonical(frame: Calls, groups: list[str], keep: Sequence[str] = ()) -> tuple[pd.DataFrame, Kind]:
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


def _beside_gold(frame: Calls, groups: list[str], against: str) -> tuple[pd.DataFrame, bool]:
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


def _slots(answers: Column, reverse: Column) -> NDArray[np.object_]:
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


def _beside_reference(frame: Calls, groups: list[str], against: Calls | str) -> tuple[pd.DataFrame, bool]:
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
    ours: Calls, theirs: Calls, by: By = (), keep: Sequence[str] = ()
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


def _text(values: Column) -> Column:
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
