"""Scores that are words: what they mean follows from all words of a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from judgestats.errors import SchemaError, suggestion
from judgestats.ingest.json_values import Fields
from judgestats.schema.account import Exclusion
from judgestats.schema.columns import NO, YES
from judgestats.schema.findings import Finding
from judgestats.schema.opening import few


class Word(NamedTuple):
    """A score that is a word: what it means follows from all words of its question in the files read together."""

    text: str
    question: str  # whose value it is, as ``scorer match``
    remedy: Callable[[Sequence[str]], str]  # how the user gives words a number, from the words
    letters: Mapping[str, float | bool] = MappingProxyType({})  # what others mean, beside C or I or if declared
    declared: str = ""  # where the log says what its words mean
    number: bool = False  # right and wrong are 1 and 0


#: Words that say right or wrong; of letters only both, and ``right`` only beside ``wrong``.
_WORDS = {w: meaning for words, meaning in ((YES, True), (NO, False)) for w in words if len(w) > 1 and w.isalpha()}
_PAIRS = ({"y": True, "n": False}, {"t": True, "f": False})
#: Most words of a question that are listed.
_MOST_WORDS = 8


def _meanings(words: Sequence[Word], declared: bool) -> dict[str, float | bool] | None:
    """What the words of a question mean; None unless each of them says right or wrong."""
    texts = sorted({w.text for w in words})
    lower = {text.lower() for text in texts}
    if "right" in lower and "wrong" not in lower:
        return None
    said = next((pair for pair in _PAIRS if lower == pair.keys()), _WORDS)
    letters = words[0].letters if declared or {"C", "I"} & set(texts) else {}
    meaning_of = {text: letters[text] if text in letters else said.get(text.lower()) for text in texts}
    meanings = {text: float(v) if words[0].number else v for text, v in meaning_of.items() if v is not None}
    return meanings if len(meanings) == len(texts) else None


def with_classes(
    rows: list[Fields], places: list[str], excluded: list[Exclusion], criteria: Sequence[str]
) -> list[int]:
    """Put the values of some criteria, as classes, in ``answer``, in place; returns the rows of others."""
    others = [i for i, row in enumerate(rows) if row.get("criterion") not in criteria]
    if len(others) == len(rows):
        present = sorted({str(row.get("criterion")) for row in rows})
        raise SchemaError(
            f"answer={', '.join(criteria)!r} is no criterion here. Criteria: {few(present, 20)}."
            f"{suggestion(criteria[0], present)}"
        )
    if others:
        excluded.append(
            Exclusion(few([places[i] for i in others], 2), "not of a criterion in answer=", "", len(others))
        )
    left_out = set(others)
    for i, row in enumerate(rows):
        if i not in left_out:
            rows[i] = {
                **{k: v for k, v in row.items() if k not in ("score", "label")},
                "answer": _class(row.get("score")),
            }
    return others


def _class(value: object) -> str | None:
    """A value as a class."""
    if isinstance(value, Word):
        return value.text
    if value is None or value != value:
        return None
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def with_meanings(rows: list[Fields], places: list[str], excluded: list[Exclusion]) -> tuple[list[int], list[Finding]]:
    """Give words their meaning, in place; returns the rows whose words have none, and a note for each question."""
    questions: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        if isinstance(row.get("score"), Word):
            questions.setdefault(row["score"].question, []).append(i)
    dropped: list[int] = []
    notes = []
    for question, at in questions.items():
        words = [rows[i]["score"] for i in at]
        declared = all(w.declared for w in words)
        meanings = _meanings(words, declared)
        if meanings is None:
            counts = Counter(w.text for w in words).most_common()
            listed = few([f"{text[:40]!r} ({n:,})" for text, n in counts], _MOST_WORDS)
            reason = f"{question} is left out: its values do not all say right or wrong: {listed}"
            remedy = words[0].remedy([text for text, _ in counts][:_MOST_WORDS])
            remedy += f"; answer={rows[at[0]].get('criterion')!r} reads them as classes, without the other criteria"
            excluded.append(Exclusion(few([places[i] for i in at], 2), reason, remedy, len(at)))
            dropped += at
            continue
        for i, word in zip(at, words, strict=True):
            rows[i] = {**rows[i], "score": meanings[word.text]}
        said = ", ".join(f"{text} is {_MEANT.get(float(v), v)}" for text, v in meanings.items())
        by = f"as {words[0].declared} takes them" if declared else "by its values in all files"
        notes.append(Finding("counted", "", f"{question}: {said}, {by}", tuple(at)))
    return dropped, notes


#: What a number means in a note.
_MEANT = {1.0: "right", 0.0: "wrong"}
