"""What a line says after its answer: remarks, corrections, denials, second answers; and answers in other languages."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from judgestats.ingest.replies import parse_verdicts
from judgestats.ingest.reply_languages import LANGUAGES
from judgestats.ingest.reply_lines import stated_answers
from judgestats.ingest.reply_meaning import Meaning

#: Replies with the readings that are right; "invalid" beside an answer: not reading it is right, too.
CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("replies_of_lines.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("answer", ["choice", "score"])
def test_a_line_is_read_to_its_end(answer: str):
    wrong = []
    for case in (c for c in CASES if c["answer"] == answer):
        row = parse_verdicts(
            [case["text"]], answer=case["answer"], labels=case.get("labels"), scale=case.get("scale")
        ).iloc[0]
        read = row[answer] if row["status"] == "ok" else "refused" if row["status"] == "refused" else "invalid"
        if read not in case["right"] and not (read == "refused" and "invalid" in case["right"]):
            wrong.append((case["text"], case["right"], read, row["reply_note"]))
    assert wrong == []
    assert len(CASES) > 350


@pytest.mark.parametrize(
    ("value", "answers"),
    [
        ("A: incorrect; B: correct", ["second"]), ("A, although B is longer", ["first"]), ("A, B", ["first", "second"]),
        ("A - no, wait: B", ["second"]), ("A wins on style; overall B", ["second"]), ("A is not better", []),
        ("A if style counts", []), ("A or B", []), ("B, not A", ["second"]), ("not A", []),
    ],
)  # fmt: skip
def test_stated_answers(value: str, answers: list[str]):
    assert [a.choice for a in stated_answers(Meaning("choice"), value)] == answers


def test_the_one_ticked_line_of_a_list_is_the_answer():
    boxes = ["- [ ] A\n- [x] B\n- [ ] Tie", "- [x] A\n- [x] B", "- [x] Sources checked\n- [ ] A\n- [ ] B"]
    assert parse_verdicts(boxes, answer="choice")["choice"].tolist() == ["second", "invalid", "invalid"]


def test_two_answers_of_a_line_are_named():
    row = parse_verdicts(["Score: 8 for A, 6 for B"], answer="score").iloc[0]
    assert (row["status"], row["reply_note"]) == ("parse", "two answers: 8 for A, 6 for B")


def test_eight_languages_and_more_deny():
    denied = {"German": "Die Antwort ist nicht [[A]].", "French": "Ce n'est pas [[A]].", "Spanish": "No es [[A]].",
              "Portuguese": "Não é [[A]].", "Italian": "Non è [[A]].", "Russian": "Это не [[A]].", "Chinese": "不是[[A]]",
              "Japanese": "[[A]]ではありません。", "Korean": "[[A]]가 아닙니다."}  # fmt: skip
    example = {"German": "Zum Beispiel: [[A]]", "French": "Par exemple : [[A]]", "Spanish": "Por ejemplo: [[A]]",
               "Portuguese": "Por exemplo, [[A]]", "Italian": "Ad esempio [[A]]", "Russian": "Например: [[A]]", "Chinese": "例如：[[A]]",
               "Japanese": "例えば、[[A]]", "Korean": "예를 들어 [[A]]"}  # fmt: skip
    assert denied.keys() == example.keys() == LANGUAGES.keys()
    assert set(parse_verdicts([*denied.values(), *example.values()])["choice"]) == {"invalid"}
    page = Path(__file__).parents[2] / "docs" / "replies.md"
    assert all(language in page.read_text(encoding="utf-8") for language in LANGUAGES)


@pytest.mark.parametrize(
    "piece", ["[[A]] ", "[[A]], ", "Verdict: A, B; ", "[RESULT] ", "Verdict: A is is is ", "nicht «", "例えば「"]
)
def test_hostile_texts_are_read_in_linear_time(piece: str):
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        start = time.process_time()
        parse_verdicts([text])
        return time.process_time() - start

    seconds(500)
    assert any(seconds(8_000) < 12 * max(seconds(2_000), 0.02) for _ in range(3))
