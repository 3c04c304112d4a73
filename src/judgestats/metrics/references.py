"""The arguments ``humans=`` (people), ``gold=`` (right answers) and ``baseline=`` (control conditions).

They are resolved here for the datasheet, the page, :func:`judgestats.available_measures` and the command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.counting.judge_answers import ABOUT
from judgestats.counting.study import Calls, Study
from judgestats.errors import Advice, DesignError, suggestion
from judgestats.schema.classes import is_answer
from judgestats.schema.columns import VOCABULARY, answer_column, kind_of
from judgestats.typing import Column

#: Judges that are people: their names, or ``{column: value}``, also written ``"column=value"``.
Humans = str | Sequence[str] | Mapping[str, str]
#: Control conditions: a value of one of :data:`CONTROLLED`, or ``{column: value}``.
Baseline = str | Mapping[str, str]
#: Columns that may contain a control condition.
CONTROLLED = ("strategy", "prompt", "probe", "scheme", "condition")
#: Conditions over which pooling hides a difference between instruments.
WAYS_OF_ASKING = (*CONTROLLED, "temperature")
#: A further column with more values than this is an id, not a condition.
MOST_LEVELS = 30
#: The column that says who is a person, and its value for one.
RATERS, PERSON = "rater_type", "human"
#: Values that are recognised as control conditions.
NAMED = ("baseline", "blind")
#: Names listed in a message.
_MOST = 12


@dataclass(frozen=True)
class References:
    """Data split by the arguments ``humans``, ``gold`` and ``baseline``."""

    models: pd.DataFrame  # rows of the judges to be measured, without people and without a rater that serves as gold
    study: Study  # of these rows
    people: pd.DataFrame  # their rows
    humans: tuple[str, ...] = ()  # their names
    baseline: Mapping[str, str] = field(default_factory=dict)  # column -> its control condition


def references(
    data: Calls, humans: Humans | None = None, gold: str | None = None, baseline: Baseline | None = None
) -> References:
    """Resolve ``humans=``, ``gold=`` and ``baseline=`` for preferences or ratings.

    `humans`: judges that are people, or ``{column: value}``; by default those whose ``rater_type`` is ``human``, where
    there are judges beside them, and ``()`` for none. `gold`: a column; a judge, whose answers then count as
    right and who is not measured; or (preferences) a candidate, which is then right wherever it was shown. `baseline`:
    a value of ``strategy``, ``prompt``, ``probe``, ``scheme`` or ``condition``, or ``{column: value}``.
    """
    study = Study.whole(data)
    table = with_gold(study.data.to_pandas(), gold)
    names = people_of(table, declared_people(table) if humans is None else humans)
    is_person = table["judge"].astype(str).isin(names).to_numpy()
    if names and is_person.all():
        raise DesignError(
            f"humans= names every judge of the data ({_listed(names)}), so no judge remains. Name the people only.",
            advice=_HUMANS,
        )
    models = table[~is_person] if names else table
    study = study.where(~is_person) if gold in (None, "gold") else study.part(models)
    return References(models, study, of_people(table[is_person]), tuple(names), controls(table, baseline))


def of_people(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of people without columns that are empty for them: their labels hold for all conditions of a judge."""
    answers = {c.name for columns in VOCABULARY.values() for c in columns if c.required}
    empty = [c for c in rows.columns if c not in answers and len(rows) and rows[c].isna().all()]
    return rows.drop(columns=empty) if empty else rows


_HUMANS: Advice = (("humans", None),)


def declared_people(table: pd.DataFrame) -> dict[str, str] | None:
    """The people that ``rater_type`` declares, as ``humans=`` takes them; None if it declares none, or everybody.

    >>> declared_people(pd.DataFrame({"judge": ["Ann", "g"], "rater_type": ["human", "model"]}))
    {'rater_type': 'human'}
    """
    if RATERS not in table.columns:
        return None
    raters = table[["judge", RATERS]].drop_duplicates()
    person = raters[RATERS].astype(object).eq(PERSON)
    people, judges = set(raters.loc[person, "judge"]), set(raters.loc[~person, "judge"])
    return {RATERS: PERSON} if people and judges and not people & judges else None


def only_people(data: Calls) -> bool:
    """Whether every rater is declared to be a person, so that no judge is left to compare with them.

    >>> only_people(pd.DataFrame({"judge": ["Ann", "Bob"], "rater_type": "human"}))
    True
    """
    study = Study.of(data)
    if RATERS not in study.names:
        return False
    code, labels = study.in_memory([RATERS], distinct=True).columns[RATERS]
    return all(labels[k] == PERSON for k in np.unique(code))


def people_of(table: pd.DataFrame, humans: Humans | None) -> list[str]:
    """Names of the judges that are people, sorted.

    >>> frame = pd.DataFrame({"judge": ["Ann", "g", "Bob"], "kind": ["person", "model", "person"]})
    >>> people_of(frame, {"kind": "person"}), people_of(frame, "Bob")
    (['Ann', 'Bob'], ['Bob'])
    """
    if humans is None or (not isinstance(humans, str) and not len(humans)):
        return []
    judges = table["judge"].astype(str)
    judge_names = sorted(judges.unique())
    humans = column_and_value(humans, judge_names)
    if isinstance(humans, Mapping):
        if len(humans) != 1:
            raise DesignError(
                f"humans= names {len(humans)} columns. Give one: {{'rater_type': 'human'}}.", advice=_HUMANS
            )
        ((column, value),) = humans.items()
        if column not in table.columns:
            raise DesignError(
                f"humans={{{column!r}: ...}}: there is no such column. Columns: {_listed(table.columns)}."
                f"{suggestion(column, map(str, table.columns))}"
            )
        marked = table[column].astype(str) == str(value)
        matched = sorted(judges[marked].unique())
        if not matched:
            values = sorted(table[column].astype(str).unique())
            raise DesignError(f"humans={{{column!r}: {value!r}}} matches no row. {column!r} has: {_listed(values)}.")
        both = sorted(set(matched) & set(judges[~marked]))
        if both:
            raise DesignError(
                f"humans={{{column!r}: {value!r}}}: {both[0]!r} is a person in some rows and not in others."
            )
        return matched
    people = [humans] if isinstance(humans, str) else list(map(str, humans))
    for name in people:
        if name not in judge_names:
            near = suggestion(name, judge_names)
            raise DesignError(
                f"humans= names {name!r}, who is not a judge. Judges: {_listed(judge_names)}.{near}", advice=_HUMANS
            )
    return sorted(dict.fromkeys(people))


def column_and_value(humans: Humans, judges: Iterable[str]) -> Humans:
    """``"rater_type=human"`` as a mapping, unless a judge has that name; all else as it is.

    >>> column_and_value("rater_type=human", ["Ann"])
    {'rater_type': 'human'}
    """
    if not isinstance(humans, str) or "=" not in humans or humans in set(judges):
        return humans
    column, _, value = humans.partition("=")
    return {column.strip(): value.strip()}


def with_gold(table: pd.DataFrame, gold: str | None) -> pd.DataFrame:
    """Data with a column ``gold`` from the column, judge or candidate that `gold` names; unchanged if it is None."""
    if gold is None or gold == "gold":
        if gold == "gold" and "gold" not in table.columns:
            raise DesignError(f"gold='gold': there is no such column. Columns: {_listed(table.columns)}.")
        return table
    preferences = kind_of(table.columns) == "preferences"
    candidates = pd.unique(pd.concat([table["first"], table["second"]]).astype(str)) if preferences else []
    meanings = {
        "a column": gold in table.columns,
        "a judge": gold in set(table["judge"].astype(str)),
        "a candidate": gold in set(candidates),
    }
    kinds = [what for what, is_so in meanings.items() if is_so]
    if len(kinds) != 1:
        if kinds:
            raise DesignError(
                f"gold={gold!r} is {' and '.join(kinds)}. Rename one, so that it is clear which is meant."
            )
        judges = sorted(table["judge"].astype(str).unique())
        near = suggestion(gold, [*map(str, table.columns), *judges, *candidates])
        raise DesignError(
            f"gold={gold!r} is neither a column ({_listed(table.columns)}) nor a judge ({_listed(judges)})"
            f"{' nor a candidate' if preferences else ''}.{near}"
        )
    if kinds == ["a column"]:
        if gold in ("choice" if preferences else answer_column(table.columns), "judge", "item"):
            holds = {"judge": "the names of the judges", "item": "the names of the items"}.get(gold, "the verdicts")
            others = _listed(c for c in table.columns if c != gold)
            raise DesignError(f"gold={gold!r} holds {holds}, not right answers. Name another column: {others}.")
        if preferences:
            return table.assign(gold=_known_answers(table, gold))
        if answer_column(table.columns) == "answer":
            return table.assign(gold=table[gold].astype(object).where(table[gold].notna(), None))
        numbers = pd.to_numeric(table[gold], errors="coerce")
        if (wrong := numbers.isna() & table[gold].notna()).any():
            first = table.loc[wrong, gold].iloc[0]
            raise DesignError(f"gold={gold!r} contains {first!r}, which is not a score. Name a column of numbers.")
        return table.assign(gold=numbers)
    if kinds == ["a candidate"]:
        right = (table["first"].astype(str) == gold) | (table["second"].astype(str) == gold)
        return table.assign(gold=pd.Series(gold, index=table.index, dtype=object).where(right, None))
    return _gold_of_judge(table, gold, preferences)


def _known_answers(table: pd.DataFrame, column: str) -> Column:
    """A column of right answers (candidates, slots or ``tie``) as candidates or ``tie``."""
    answers = slots_to_candidates(table, table[column])
    wrong = answers.notna() & ~(
        answers.eq("tie") | answers.eq(table["first"].astype(str)) | answers.eq(table["second"].astype(str))
    )
    if wrong.any():
        row = table[wrong].iloc[0]
        raise DesignError(
            f"gold={column!r} contains {answers[wrong].iloc[0]!r} where the candidates are {row['first']!r} and "
            f"{row['second']!r} ({int(wrong.sum()):,} rows). Allowed: one of the two, first, second, tie, or nothing."
        )
    return answers


def slots_to_candidates(table: pd.DataFrame, values: Column) -> Column:
    """Right answers by slot (``first``, ``second``) as the candidates shown there; other answers unchanged.

    >>> calls = pd.DataFrame({"first": ["x", "y"], "second": ["y", "x"]})
    >>> slots_to_candidates(calls, pd.Series(["first", "x"])).tolist()
    ['x', 'x']
    """
    answers = values.astype(object).where(values.notna() & (values.astype(object) != ""), None)
    text = answers.map(lambda v: v if v is None else str(v))
    for slot in ("first", "second"):
        is_slot = text.eq(slot) & ~text.eq(table["first"].astype(str)) & ~text.eq(table["second"].astype(str))
        text = text.where(~is_slot, table[slot].astype(str))
    return text


def _gold_of_judge(table: pd.DataFrame, judge: str, preferences: bool) -> pd.DataFrame:
    """Data of the other judges, with the answers of one rater to the same item or pair as ``gold``."""
    is_gold = (table["judge"].astype(str) == judge).to_numpy()
    others, right = table[~is_gold], table[is_gold]
    if others.empty:
        raise DesignError(f"gold={judge!r} is the only judge, so there is no judge to measure.")
    if not preferences:
        keys = [c for c in ABOUT["ratings"] if c in table.columns]
        score = answer_column(table.columns)
        if score == "answer":
            return others.drop(columns="gold", errors="ignore").merge(_most_given(right, keys), on=keys, how="left")
        number = pd.to_numeric(right[score].astype("Float64")).astype(float)
        answers = right.assign(**{score: number}).groupby(keys, dropna=False, sort=False)[score].mean()
        if score == "correct":  # repeats that differ have the answer of most of them, or none
            answers = answers.where(answers != 0.5).round()
        return others.drop(columns="gold", errors="ignore").merge(
            answers.rename("gold").reset_index(), on=keys, how="left"
        )
    chosen = right["choice"].astype(object)
    winner = np.select(
        [chosen == "first", chosen == "second", chosen.isin(["tie", "abstain"])],
        [right["first"].astype(str), right["second"].astype(str), "tie"],
        default="",
    )
    winners = unordered_pairs(right).assign(gold=winner)
    winners = winners[winners["gold"] != ""].groupby(["item", "_low", "_high"], dropna=False, sort=False)["gold"]
    settled = winners.agg(lambda v: v.iloc[0] if v.nunique() == 1 else "tie")  # two orders that differ: a tie
    keyed = unordered_pairs(others).merge(settled.reset_index(), on=["item", "_low", "_high"], how="left")
    return others.assign(gold=keyed["gold"].astype(object).where(keyed["gold"].notna(), None).to_numpy())


def _most_given(right: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The class that a rater gave most often to each item, as ``gold``; none where several are first."""
    answers = right.loc[is_answer(right["answer"]), [*keys, "answer"]].astype({"answer": object})
    times = answers.groupby([*keys, "answer"], dropna=False, sort=False).size()
    most = times[times == times.groupby(keys, dropna=False, sort=False).transform("max")].reset_index()
    most = most[~most.duplicated(keys, keep=False)]
    return most[[*keys, "answer"]].rename(columns={"answer": "gold"})


def unordered_pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Item and candidates, ``_low`` and ``_high``, of each comparison, whatever their order."""
    one, two = table["first"].astype(str), table["second"].astype(str)
    low, high = one.where(one <= two, two), two.where(one <= two, one)
    return pd.DataFrame({"item": table["item"].astype(str), "_low": low, "_high": high})


def controls(table: pd.DataFrame, baseline: Baseline | None) -> dict[str, str]:
    """Control condition of each column that has one: from `baseline`, or recognised (``baseline``, ``blind``).

    >>> frame = pd.DataFrame({"prompt": ["strict", "tie_allowed"], "strategy": ["baseline", "swap"]})
    >>> controls(frame, "tie_allowed"), controls(frame, None)
    ({'strategy': 'baseline', 'prompt': 'tie_allowed'}, {'strategy': 'baseline'})
    """
    values = {c: sorted(table[c].dropna().astype(str).unique()) for c in CONTROLLED if c in table.columns}
    control: dict[str, str] = {}
    for column, levels in values.items():
        recognised = [v for v in levels if v.strip().lower() in NAMED]
        if len(recognised) == 1 and len(levels) > 1:
            control[column] = recognised[0]
    if baseline is None:
        return control
    if isinstance(baseline, Mapping):
        for column, value in baseline.items():
            if column not in values:
                raise DesignError(
                    f"baseline={{{column!r}: ...}} is not a column of conditions. Allowed: "
                    f"{_listed(values) or 'none is present'}."
                )
            if str(value) not in values[column]:
                raise DesignError(
                    f"baseline={value!r} is not in {column!r}. It has: {_listed(values[column])}."
                    f"{suggestion(str(value), values[column])}"
                )
        return control | {column: str(value) for column, value in baseline.items()}
    where = [column for column, levels in values.items() if baseline in levels]
    if len(where) != 1:
        listed = (
            "; ".join(f"{c}: {_listed(v)}" for c, v in values.items())
            or f"there is no column {' or '.join(CONTROLLED)}"
        )
        problem = (
            f"is in {' and '.join(where)}. Name the column: baseline={{{where[0]!r}: {baseline!r}}}"
            if where
            else "is not a condition"
        )
        near = suggestion(baseline, [v for levels in values.values() for v in levels])
        raise DesignError(f"baseline={baseline!r} {problem}. Conditions: {listed}.{near}")
    return control | {where[0]: baseline}


def labels(data: Calls, column: str) -> list[str]:
    """Values of a column as text, sorted; empty if there is no such column."""
    study = Study.of(data)
    if column not in study.names:
        return []
    if not study.lazy and study.data[column].dtype in (nw.String, nw.Categorical):
        return study.once(("labels", column), lambda: study.columns.labels(column))
    values = study.data.lazy().select(nw.col(column).cast(nw.String)).unique().collect(backend="pandas")
    return sorted(v for v in values.to_native()[column] if isinstance(v, str))


def controls_of(data: Calls) -> dict[str, str]:
    """Control conditions recognised in a frame (``baseline``, ``blind``)."""
    columns: dict[str, Column] = {c: pd.Series(v, dtype=object) for c in CONTROLLED if (v := labels(data, c))}
    return controls(pd.DataFrame(columns), None)


def _listed(names: Iterable[object]) -> str:
    texts = list(map(str, names))
    return ", ".join(texts[:_MOST]) + (f" and {len(texts) - _MOST} more" if len(texts) > _MOST else "")
