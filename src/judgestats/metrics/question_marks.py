"""The marks of a question: a row for each call, with what a reading may change, before repeats are averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.counting.clustering import Cluster, auto_cluster, clusters
from judgestats.counting.judge_answers import HIGH, LOW
from judgestats.counting.raters import MatchedRaters, matched_calls
from judgestats.counting.split_studies import splits_by_name
from judgestats.counting.study import Study
from judgestats.errors import DesignError
from judgestats.metrics import readings
from judgestats.metrics.readings import QuestionReading
from judgestats.metrics.references import MOST_LEVELS, WAYS_OF_ASKING
from judgestats.metrics.scales import on_one_scale
from judgestats.schema.classes import has_answer
from judgestats.schema.coding import joint, yes_or_no
from judgestats.schema.columns import UNIT_COLUMNS, VERDICTS, By, answer_column, grouping
from judgestats.typing import Column, Floats, Integers, Ints, Mask

#: Columns that say what was judged, besides the candidates.
_THINGS = ("item", "system", *UNIT_COLUMNS)
SHARE = (0.0, 1.0)
QUESTIONS = ("right", "people", "steady", "position")


@dataclass(frozen=True)
class QuestionMarks:
    """The table of marks of a headline, its readings, and how its estimates are compared."""

    marks: pd.DataFrame
    readings: Sequence[QuestionReading]
    bounds: tuple[float, float]
    lower_is_better: bool = False
    about_zero: bool = False  # the best estimate is the one nearest to 0
    cluster: str = ""  # by which the intervals are clustered; empty where each unit is its own
    flag: str = ""  # of all estimates
    contenders: pd.DataFrame = field(default_factory=pd.DataFrame)  # judge and conditions, by their name in the marks
    items: Column = field(default_factory=lambda: pd.Series(dtype=object))  # names of the items, by number
    wider: tuple[str, ...] = ()  # columns of marks with levels in which the items nest

    def nested_in(self, levels: Mapping[str, Column]) -> QuestionMarks:
        """The same with the level of each item, by its name, of each kind of levels."""
        number = self.marks["item"].to_numpy()
        of_rows = {name: level.reindex(self.items).to_numpy()[number] for name, level in levels.items()}
        return replace(self, marks=self.marks.assign(**of_rows), wider=(*levels,))


def marks_of(
    study: Study, question: str, cluster: Cluster, by: By = (), people: pd.DataFrame | None = None, *, ways: bool = True
) -> QuestionMarks:
    """The marks of a question; an error says what it needs that the data lack.

    `people`: their answers, which `study` is without. Judges are compared in each level of `by`, and with
    `ways` in each of those in which one of them was asked.
    """
    study, pairs = study.occurring, {"first", "second", "choice"} <= {*study.names}
    if question == "right":
        if "gold" not in study.names or study.columns.series("gold").isna().all():
            raise DesignError(
                f"question='right' needs right answers, a column gold. Columns: {', '.join(study.names)}."
            )
        study = study.where(study.columns.series("gold").notna().to_numpy())
    elif question == "people":
        if people is None or people.empty:
            raise DesignError("question='people' needs answers of people: name them with humans=.")
    elif not pairs:
        raise DesignError(f"question={question!r} needs verdicts on pairs: columns first, second and choice.")
    else:
        study.refuse_unknown_order()
    conditions = _conditions(study, by) if ways else [c for c in grouping(by, study.names) if c != "judge"]
    matched = None
    if question == "people" and people is not None:
        matched = matched_calls(study, people, conditions)
        matched = matched.where(np.isin(matched.thing, matched.other_thing[matched.answered[1]]), matched.answered[1])
        study = matched.calls
        if not len(study.columns):
            raise DesignError("question='people' needs things that judges and people answered, and there is none.")
    column, flag = _cluster_of(study, cluster, conditions)
    unnamed = splits_by_name(study, "preferences" if pairs else "ratings", conditions)
    split = " and ".join(s.column for part in unnamed for s in part)
    flag = flags.join(flag, flags.UNNAMED_COLUMN.of(what=split) if split else "")
    contenders = _contenders(study, ["judge", *conditions])
    table = _calls(study, column, ["first", "second"] if pairs else [], contenders, conditions)
    if matched is not None:
        marks = _like_people(matched, table)
    elif not pairs:
        marks = _right_of_answers(study, table)
    elif question == "right":
        marks = _right_of_pairs(study, _votes(study, table))
    else:
        marks = (_steady if question == "steady" else _position)(_votes(study, table))
    items = study.columns.take(study.columns.codes(["item"]).first).series("item")
    return replace(marks, cluster=column, flag=flag, contenders=contenders, items=items)


def _conditions(study: Study, by: By) -> list[str]:
    """The columns of `by`, and conditions in which a judge was asked in several ways, not in one for each item."""
    columns = [c for c in grouping(by, study.names) if c != "judge"]
    judges, distinct = study.columns.n_distinct(["judge"]), study.columns.n_distinct
    ways = [c for c in WAYS_OF_ASKING if c in study.names and c not in columns and distinct([c]) <= MOST_LEVELS]
    return columns + [c for c in ways if distinct(["judge", c]) > judges]


def _contenders(study: Study, columns: Sequence[str]) -> pd.DataFrame:
    """Judges and conditions, each once, by the name that stands in the marks."""
    rows = study.columns.take(study.columns.codes(columns).first).frame(columns)
    texts = rows.astype(object).where(rows.notna(), "—").astype(str)
    rows.index = pd.Index(texts.agg(" · ".join, axis=1), dtype=object)
    if rows.index.has_duplicates:
        twice = rows.index[rows.index.duplicated()][0]
        raise DesignError(f"Two levels of {' and '.join(columns)} are both printed as {twice!r}. Rename one of them.")
    return rows


def _cluster_of(study: Study, cluster: Cluster, conditions: Sequence[str]) -> tuple[str, str]:
    """The column by which intervals are clustered, and a flag where calls that share one are taken as independent."""
    columns = clusters(cluster)
    if columns is None:
        return auto_cluster(study, ["judge", *conditions], study.n_calls).column, ""
    if len(columns) > 1:
        raise DesignError(f"cluster={cluster!r} must be one column.")
    if columns and columns[0] != "pair":
        grouping(columns, study.names, "preferences" if "choice" in study.names else "ratings", "cluster")
    shared = not columns and auto_cluster(study, ["judge", *conditions], study.n_calls).shared
    return "".join(columns), flags.NOT_INDEPENDENT if shared else ""


def _calls(
    study: Study, column: str, things: Sequence[str], contenders: pd.DataFrame, conditions: Sequence[str]
) -> pd.DataFrame:
    """A row for each call: who, on what, in which cluster; its value is to come."""
    columns = study.columns
    units = [c for c in (*_THINGS, *things) if c in columns and c not in conditions]
    unit = _numbered(study, units)
    pair = study.pairs.code if "choice" in columns else unit
    own = pair if column == "pair" and "pair" not in columns else _numbered(study, [column]) if column else unit
    order = study.ordered[2].astype(np.int64) if "choice" in columns else np.zeros(len(columns), np.int64)
    beyond = [c for c in units if c not in ("item", "first", "second")]
    if beyond:
        other = study.columns.codes(beyond)
        pair = joint([(pair, int(pair.max(initial=0)) + 1), (other.code, other.size)], len(columns))[0]
    table = {
        "judge": contenders.index.to_numpy()[study.columns.codes(["judge", *conditions]).code],
        "unit": unit,
        "pair": pair,
        "order": order,
        "item": _numbered(study, ["item"]),
        "task": _numbered(study, ["task"]) if "task" in columns else 0,
        "system": _numbered(study, ["system"]) if "system" in columns else 0,
        "cluster": own,
        "value": np.nan,
        "weight": study.counts,
        "tie": False,
        "valid": True,
        "empty": _empty(study),
    }
    return pd.DataFrame(table).reset_index(drop=True)


def _numbered(study: Study, names: Sequence[str]) -> Integers:
    return study.columns.codes([*names]).code


def _lengths(study: Study) -> list[Floats]:
    """Lengths of the first candidate of each call and of the second; of one or none where there is no more."""
    columns = [study.columns.series(c) for c in ("length_first", "length_second") if c in study.names]
    return [pd.to_numeric(length, errors="coerce").to_numpy(float) for length in columns]


def _empty(study: Study) -> Mask:
    """Calls of which a candidate has no text."""
    none = [length == 0 for length in _lengths(study)]
    return np.any(none, axis=0) if none else np.zeros(len(study.columns), dtype=bool)


def _longer(study: Study, right: Floats) -> Floats:
    """1 where the right candidate is the longer, 0 where it is the shorter, else NaN."""
    if len(lengths := _lengths(study)) < 2:
        return np.full(len(right), np.nan)
    side = np.sign(lengths[0] - lengths[1]) * np.where(study.ordered[2], -1, 1) * right
    return np.where(np.abs(side) == 1, (side > 0).astype(float), np.nan)


def _votes(study: Study, table: pd.DataFrame) -> pd.DataFrame:
    """The vote of each call: 1 for the candidate with the lower name, -1 for the other, 0 for a tie."""
    choice = study.columns["choice"]
    side = choice.among("first").astype(float) - choice.among("second")
    vote = np.where(study.ordered[2], -side, side)
    vote = np.where(study.shown.first == study.shown.second, np.abs(vote), vote)  # of two that are one
    return table.assign(valid=~choice.among("invalid"), tie=side == 0, vote=vote, side=side)


def _right_of_pairs(study: Study, table: pd.DataFrame) -> QuestionMarks:
    low, high, _ = study.ordered
    meant = study.columns.series("gold").astype(str).to_numpy()
    names = np.asarray(low.labels, dtype=object)
    right = np.where(
        meant == "tie", 0.0, np.where(meant == names[low.code], 1.0, np.where(meant == names[high.code], -1.0, np.nan))
    )
    value = np.where(table["valid"], (table["vote"] == right).astype(float), np.nan)
    own = {"value": value, "right": right, "tie": table["tie"] & table["valid"] & (right != 0)}
    table = table.assign(**own, longer=_longer(study, right))
    return QuestionMarks(table, readings.RIGHT_OF_PAIRS, SHARE)


def _steady(table: pd.DataFrame) -> QuestionMarks:
    """A row for each pair that a judge saw in both orders, by the first valid call in each."""
    table = table.sort_values("valid", ascending=False, kind="stable").drop_duplicates(["judge", "pair", "order"])
    one, two = (table[table["order"] == k].set_index(["judge", "pair"]) for k in (0, 1))
    one, two = one.align(two, join="inner", axis=0)
    if one.empty:
        raise DesignError("question='steady' needs pairs that a judge saw in both orders, and there is none.")
    valid = one["valid"] & two["valid"]
    same, tie = (one["vote"] == two["vote"]).astype(float), (one["vote"] == 0) != (two["vote"] == 0)
    own = {"value": same.where(valid), "valid": valid, "tie": tie & valid, "order": 0, "weight": 1.0}
    marks = one.assign(**own).reset_index()
    return QuestionMarks(marks.assign(unit=marks["pair"]), readings.STEADY, SHARE)


def _position(table: pd.DataFrame) -> QuestionMarks:
    both = table.groupby(["judge", "pair"])["order"].transform("nunique") == 2
    if not both.any():
        raise DesignError("question='position' needs pairs that a judge saw in both orders, and there is none.")
    marks = table.assign(value=table["side"].where(table["valid"]))[both].reset_index(drop=True)
    return QuestionMarks(marks, readings.POSITION, (-1.0, 1.0), about_zero=True)


def _like_people(matched: MatchedRaters, table: pd.DataFrame) -> QuestionMarks:
    """The share of people's answers to the same thing that equal each call's, or its distance from their mean."""
    study, (one, two), size = matched.calls, matched.met, len(table)
    people = np.bincount(one, minlength=size)
    if matched.kind == "ratings" and answer_column(study.names) not in VERDICTS:
        scores, of_people = matched.scores
        return _distances(study, table, pd.Series(scores), pd.Series(np.bincount(one, of_people[two], size) / people))
    if matched.kind == "preferences":
        table = _votes(study, table)
        sides = (s.columns["answer"] for s in (study, matched.others))
        ours, theirs = (side.among(LOW).astype(int) - side.among(HIGH) for side in sides)
        tie, tied = (ours == 0) & table["valid"].to_numpy(), theirs == 0
    else:
        (ours, theirs), (tie, tied) = matched.answers, (np.zeros(len(x), dtype=bool) for x in matched.answers)
    equal, half = ours[one] == theirs[two], 0.5 * (tie[one] != tied[two])
    valid = matched.answered[0]
    value, near = (np.where(valid, np.bincount(one, x, size) / people, np.nan) for x in (equal, equal + half))
    right = _majority(matched.other_thing, theirs).reindex(matched.thing)
    marks = table.assign(
        value=value,
        half=near,
        valid=valid,
        weight=table["weight"] * people,
        tie=tie | (np.bincount(one, tied[two], size) > 0),
        said=ours,
        right=right["answer"].to_numpy(float),
        differ=right["answers"].to_numpy() > 1,
        unit=matched.thing,
    )
    pairs = matched.kind == "preferences"
    return QuestionMarks(marks, readings.PAIRS_LIKE_PEOPLE if pairs else readings.ANSWERS_LIKE_PEOPLE, SHARE)


def _majority(thing: Integers, answers: Ints) -> pd.DataFrame:
    """The most frequent answer to each thing, none where two are as frequent, and how many different ones there are."""
    times = pd.DataFrame({"thing": thing, "answer": answers}).value_counts()
    most = times[times == times.groupby("thing").transform("max")].reset_index("answer")["answer"]
    alone = most[~most.index.duplicated(keep=False)]
    return times.groupby("thing").size().to_frame("answers").assign(answer=alone.astype(float))


def _right_of_answers(study: Study, table: pd.DataFrame) -> QuestionMarks:
    """Answers that are right or not, or scores and their distance from the right ones."""
    column = answer_column(study.names)
    said, right = study.columns.series(column), study.columns.series("gold")
    if column in VERDICTS or column == "answer":
        ours, theirs = (c.astype("string") if column == "answer" else yes_or_no(c) for c in (said, right))
        valid = has_answer(said) & ours.notna().to_numpy()
        value = np.where(valid, (ours == theirs).fillna(False).to_numpy(bool).astype(float), np.nan)
        marks = table.assign(value=value, valid=valid, right=pd.factorize(right)[0])
        return QuestionMarks(marks, readings.RIGHT_OF_ANSWERS, SHARE)
    score, true = (pd.to_numeric(c, errors="coerce").astype(float) for c in (said, right))
    return _distances(study, table, score, true)


def _distances(study: Study, table: pd.DataFrame, score: Column, true: Column) -> QuestionMarks:
    """How far scores are from the right ones."""
    error = (score - true).where(on_one_scale(score, true, study.columns.series("judge"))).to_numpy()
    if np.isnan(error).all():
        raise DesignError(
            "There is no score beside a right one on the same scale. Check the numbers of judges, gold or people."
        )
    marks = table.assign(value=np.abs(error), error=error, right=true.to_numpy(), valid=~np.isnan(error))
    return QuestionMarks(marks, readings.DISTANCE, (0.0, np.inf), lower_is_better=True)
