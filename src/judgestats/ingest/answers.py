"""Guesses at the answer column of an unknown table and the meaning of its labels, each with its reason."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass, field

import pandas as pd

from judgestats.ingest import guesses
from judgestats.ingest.guesses import NAMES_SOMETHING, plain
from judgestats.schema.columns import NO, YES

_MOST_LABELS = 60
#: Longest name of a class that is proposed as one, and most of them.
_LONGEST_CLASS, _MOST_CLASSES = 40, 20
#: Rows from which numbers that rise by one are taken for numbers of the rows.
_COUNTED_ROWS = 10
_YES_NO = tuple(zip(YES, NO, strict=True))


@dataclass(frozen=True)
class Pair:
    """The two columns that hold the candidates, and whether they say which was shown first."""

    first: str
    second: str
    order_known: bool
    ends: tuple[str, str]


@dataclass(frozen=True)
class AnswerGuess:
    """A guess at the answer column."""

    name: str  # ``choice``, ``winner`` or ``graded``
    source: str
    reason: str
    trust: int  # orders the guesses
    labels: dict[str, str] = field(default_factory=dict)


def find_pair(table: pd.DataFrame) -> Pair | None:
    """Find the pair of columns that names the candidates; columns of numbers are not candidates."""
    names = {plain(c): c for c in reversed(list(map(str, table.columns)))}
    for one, two, in_order in guesses.PAIR_ENDINGS:
        for stem in guesses.CANDIDATE_STEMS:
            first, second = (f"{stem}_{end}" if stem else end for end in (one, two))
            if first in names and second in names and stem + one not in ("1", "2"):
                columns = names[first], names[second]
                long = any(table[c].dropna().astype(str).head(200).str.len().mean() > 120 for c in columns)
                if not long and not any(all_numbers(table[c]) for c in columns):  # whole responses are not ids
                    return Pair(*columns, order_known=in_order, ends=(one, two))
    return _named_alike(table)


def _named_alike(table: pd.DataFrame) -> Pair | None:
    """The only pair of columns of short texts whose names differ in the part that tells the candidates apart."""
    names = {tuple(plain(c).split("_")): c for c in reversed(list(map(str, table.columns)))}
    pairs = []
    for one, two, in_order in guesses.PAIR_ENDINGS:
        for words, first in names.items():
            for at in (i for i, word in enumerate(words) if word == one and len(words) > 1):
                second = names.get((*words[:at], two, *words[at + 1 :]))
                of_name = words[-1] in ("name", "id", "model") and at < len(words) - 1
                if second is not None and of_name and not any(all_numbers(table[c]) for c in (first, second)):
                    pairs.append(Pair(first, second, order_known=in_order, ends=(one, two)))
    return pairs[0] if len(pairs) == 1 else None


def numbers_rows(values: pd.Series) -> bool:
    """Whether a column counts the rows of its table, from any number; few rows do not show it."""
    numbers = pd.to_numeric(values.astype("string"), errors="coerce").to_numpy(dtype=float, na_value=float("nan"))
    return len(numbers) >= _COUNTED_ROWS and bool((numbers[1:] - numbers[:-1] == 1).all())


def all_numbers(values: pd.Series) -> bool:
    """Whether a column has cells, and all of them are numbers."""
    cells = [*texts(values)]
    return bool(cells) and bool(pd.to_numeric(pd.Series(cells), errors="coerce").notna().all())


def distinct(values: pd.Series) -> list[str]:
    """Distinct values as text, at most a handful more than labels could be."""
    return sorted(itertools.islice(texts(values), _MOST_LABELS + 1))


def texts(values: pd.Series) -> dict[str, None]:
    """Distinct values as text, in order of their first row; a long text is not copied once for each of its rows."""
    cells = values.dropna()  # pandas hashes each cell of objects anew, Python each text once
    return dict.fromkeys(map(str, cells.tolist() if cells.dtype == object else cells.unique()))


def candidates(table: pd.DataFrame, pair: Pair | None) -> set[str]:
    """All candidate ids."""
    if pair is None:
        return set()
    return {v for c in (pair.first, pair.second) for v in texts(table[c])}


def find_answer(table: pd.DataFrame, pair: Pair | None, swapped: str | None) -> tuple[AnswerGuess | None, list[str]]:
    """Choose the column that most surely holds the answer."""
    answers, notes = [], []
    for column in table.columns:
        if plain(str(column)) in guesses.CHOICE:
            answer = _answer_in(table, str(column), pair, swapped)
            if answer is None:
                texts = distinct(table[column])
                values = ", ".join(repr(v[:40]) for v in texts[:5])
                read = f" If they are replies as text, map choice={column} and parse them." * any(
                    len(v) > 40 or "[[" in v for v in texts
                )
                notes.append(
                    f"{column!r} is named like an answer, but its values ({values}) are not recognised as answers."
                    + read
                )
            else:
                answers.append(answer)
    won = next((a for a in answers if a.name == "winner"), None)
    if won is not None and pair is not None:
        answers = [_checked(table, a, won, pair, notes) for a in answers]
    answers.sort(key=lambda a: (-a.trust, guesses.CHOICE.index(plain(a.source))))
    return (answers[0] if answers else None), notes


def _answer_in(table: pd.DataFrame, column: str, pair: Pair | None, swapped: str | None) -> AnswerGuess | None:
    values = distinct(table[column])
    if not values or (all(is_number(v) for v in values) and not all(float(v) in (-1, 0, 1, 2) for v in values)):
        return _graded_answer(table, column, pair)
    if len(values) > _MOST_LABELS:
        return None
    ids = candidates(table, pair)
    sides = [v for v in values if v.lower() not in (*guesses.TIES, *guesses.INVALID) or v in ids]
    others = {v: ("tie" if v.lower() in guesses.TIES else "invalid") for v in values if v not in sides}
    if pair and sides and set(sides) <= ids:
        labels = {v: a for v, a in others.items() if v != a}
        return AnswerGuess("winner", column, "its values are the candidates themselves", 3, labels)
    if pair and sides and set(sides) <= {pair.first, pair.second}:
        labels = {pair.first: "first", pair.second: "second", **others}
        name = "choice" if swapped is None else "winner"
        return AnswerGuess(name, column, "its values are the names of the two candidate columns", 3, _changed(labels))
    if sides and all(is_number(v) for v in sides):
        return _coded_answer(column, {float(v): v for v in sides}, others, pair, swapped)
    if sides and all(v.lower() in guesses.POSITIONS for v in sides):
        labels = {v: guesses.POSITIONS[v.lower()] for v in sides} | others
        if {"first", "second"} & set(labels.values()):
            meanings = ", ".join(f"{v} {a}" for v, a in labels.items())
            return AnswerGuess("choice", column, f"its values name positions: {meanings}", 2, _changed(labels))
    return None


def _changed(labels: dict[str, str]) -> dict[str, str]:
    return {label: answer for label, answer in labels.items() if label != answer}


def is_number(value: str) -> bool:
    """Whether a text is a number."""
    try:
        float(value)
    except ValueError:
        return False
    return True


def _coded_answer(
    column: str, spelt: dict[float, str], others: dict[str, str], pair: Pair | None, swapped: str | None
) -> AnswerGuess | None:
    """1, 0, -1 and 1, 2, 0: what they mean is a convention, so the trust is low."""
    numbers = set(spelt)
    if {1.0, -1.0} <= numbers <= {1.0, 0.0, -1.0}:
        meaning = {1.0: "first", 0.0: "tie", -1.0: "second"}
        labels = {spelt[n]: meaning[n] for n in numbers} | others
        return AnswerGuess("choice", column, "1, 0, -1 are taken for first, tie, second: check this", 1, labels)
    if {1.0, 2.0} <= numbers <= {0.0, 1.0, 2.0}:
        labels = {spelt[n]: {1.0: "first", 2.0: "second", 0.0: "tie"}[n] for n in numbers} | others
        if pair is not None and pair.ends == ("1", "2"):
            reason = f"1 and 2 are taken for {pair.first} and {pair.second}: check this"
            return AnswerGuess("choice" if swapped is None else "winner", column, reason, 1, labels)
        if pair is None and swapped is not None:
            rest = {v: a for v, a in labels.items() if a in ("tie", "invalid")}
            reason = "1 and 2 are taken for the two outputs, whatever the order: check this"
            return AnswerGuess("winner", column, reason, 1, rest)
    return None


def _graded_answer(table: pd.DataFrame, column: str, pair: Pair | None) -> AnswerGuess | None:
    """AlpacaEval's preference, 1 to 2 or 0; no other graded answer says which end favours which candidate."""
    if plain(column) != "preference" or pair is None or pair.ends != ("1", "2"):
        return None
    values = pd.to_numeric(table[column], errors="coerce").dropna()
    if len(values) and ((values == 0) | values.between(1, 2)).all():
        reason = f"1 to 2, or 0, as AlpacaEval writes it: 1 is {pair.first}, 2 is {pair.second}, 1.5 and 0 are ties"
        return AnswerGuess("graded", column, reason, 2, {"1": "first", "2": "second", "0": "tie"})
    return None


def _checked(table: pd.DataFrame, answer: AnswerGuess, won: AnswerGuess, pair: Pair, notes: list[str]) -> AnswerGuess:
    """Compare an answer by position with the column that names the winner, row by row."""
    if answer.name != "choice":
        return answer
    text = table[answer.source].astype("string")
    side = text.map(lambda v: answer.labels.get(v, v), na_action="ignore")
    candidate = table[pair.first].astype("string").where(side == "first", table[pair.second].astype("string"))
    candidate = candidate.where(side.isin(["first", "second"]), side)
    truth = table[won.source].astype("string").map(lambda v: won.labels.get(v, v), na_action="ignore")
    same = (
        (candidate == truth).fillna(False)
        | (candidate.isna() & truth.isna())
        | (~side.isin(["first", "second", "tie"]).fillna(False))
    )
    odd = int((~same).sum())
    if odd:
        notes.append(f"{answer.source!r} and {won.source!r} contradict each other in {odd} rows.")
        return AnswerGuess(answer.name, answer.source, answer.reason, 0, answer.labels)
    reason = f"{answer.reason.removesuffix(': check this')}; agrees with {won.source!r} in every row"
    return AnswerGuess(answer.name, answer.source, reason, 4, answer.labels)


def wide_judges(table: pd.DataFrame, taken: set[str]) -> list[str]:
    """Columns that look like one judge each: the same few answers under several names."""
    values = {c: {v.lower() for v in distinct(table[c])} for c in map(str, table.columns) if may_be_judge(c, taken)}
    pairs = ({"1", "2"}, {"a", "b"}, {"first", "second"}, {"0", "1"}, {"0.0", "1.0"}, *({y, n} for y, n in _YES_NO))
    alike = {c for c, v in values.items() if 2 <= len(v) <= 10 and any(pair <= v for pair in pairs)}
    numbers = {c for c in alike if all(v.replace(".", "", 1).isdigit() for v in values[c])}
    alike = max(alike - numbers, numbers, key=len)  # letters and numbers are not answers to one question
    if len(alike) < 2:
        return []
    labels = set().union(*(values[c] for c in alike))
    return [c for c, v in values.items() if c in alike or (v and (v <= labels or _nearly(table[c], labels)))]


def may_be_classes(labels: Collection[str], rows: int) -> bool:
    """Whether labels are a few words each, and few beside the rows."""
    words = all(len(label) <= _LONGEST_CLASS and not is_number(label) for label in labels)
    return words and 2 <= len(labels) <= min(_MOST_CLASSES, rows / 2)


def wide_classes(table: pd.DataFrame) -> list[str]:
    """Columns that look like one judge each because they hold the same few words."""
    values = {c: {v.lower() for v in distinct(table[c])} for c in map(str, table.columns) if may_be_judge(c, set())}
    words = {c: labels for c, labels in values.items() if may_be_classes(labels, len(table))}
    alike = max(([c for c in words if len(words[c] & own) > 1] for own in words.values()), key=len, default=[])
    labels = set().union(*(words[c] for c in alike))
    return [c for c, own in values.items() if c in alike or (own and own <= labels)] if len(alike) > 1 else []


def _nearly(values: pd.Series, labels: set[str]) -> bool:
    """Whether nine cells in ten hold one of several labels."""
    cells = values.dropna().astype(str).str.lower()
    return bool(cells.isin(labels).mean() >= 0.9) and cells[cells.isin(labels)].nunique() > 1


def may_be_judge(column: str, taken: set[str]) -> bool:
    """Whether no name says that a column is an id, a right answer, a repeat, a condition, or beside an answer."""
    name = plain(column)
    lists = (guesses.GOLD, guesses.SWAPPED, guesses.ITEM, guesses.SYSTEM, guesses.CRITERION, guesses.REPLICATE)
    others = {"turn", *(n for names in lists for n in names)}
    others |= {n for kind in guesses.OTHERS.values() for names in kind.values() for n in names}
    others |= {*guesses.ORDERS, "shown_at", "gold_at"}
    words = name.split("_")
    is_other = name in others or name.startswith(("has_", "is_", "n_")) or NAMES_SOMETHING.search(column) is not None
    is_other |= (len(words) > 1 and words[-1] in guesses.BESIDE) or column.lower().rpartition(".")[2] in guesses.ORDERS
    is_other |= guesses.COUNT.search(name) is not None
    return column not in taken and not is_other and not name.startswith(guesses.FEATURES)
