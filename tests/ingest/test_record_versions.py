"""Which records of a log count: later versions, verdicts that others replace, and deleted ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import judgestats as js
from judgestats.ingest.registry import NATIVE
from judgestats.schema.account import account_of

Write = Callable[..., Path]


def langfuse(
    id_: str, trace: str, value: float, *, run: str | None = None, day: int = 1, **more: Any
) -> dict[str, Any]:
    return {"id": id_, "traceId": trace, "name": "correct", "source": "EVAL", "dataType": "NUMERIC", "value": value,
            "executionTraceId": run or f"x{id_}", "updatedAt": f"2026-06-{day:02}T00:00:00Z", **more}  # fmt: skip


def scores_read(*paths: Path, **options: Any) -> list[list[Any]]:
    data = js.read([*paths] if len(paths) > 1 else paths[0], **options)
    return data[["judge", "item", "score"]].to_numpy().tolist()


def reasons(path: Path) -> list[tuple[str, str, int]]:
    return [(e.place, e.reason, e.n) for e in account_of(js.read(path)).excluded]


def test_two_records_of_one_run_are_one_verdict(write: Write) -> None:
    path = write("s.jsonl", [langfuse("a", "t1", 1, run="x"), langfuse("b", "t1", 1, run="x"), langfuse("c", "t2", 0)])
    assert scores_read(path) == [["EVAL", "t1", 1.0], ["EVAL", "t2", 0.0]]
    assert reasons(path) == [("s.jsonl, line 1", "a later record of the same executionTraceId and name counts", 1)]
    assert "replicate" not in js.read(path)


def test_two_scores_of_one_run_are_two_verdicts(write: Write) -> None:
    path = write("s.jsonl", [langfuse("a", "t1", 1, run="x"), langfuse("b", "t1", 0, run="x", name="kind")])
    assert js.read(path)["criterion"].tolist() == ["correct", "kind"]


def test_the_later_version_counts_wherever_it_stands(write: Write) -> None:
    later, earlier = langfuse("a", "t1", 1, day=9), langfuse("a", "t1", 0, day=2)
    assert scores_read(write("s.jsonl", [later, earlier])) == [["EVAL", "t1", 1.0]]
    assert scores_read(write("one.jsonl", [later]), write("two.jsonl", [earlier, langfuse("b", "t2", 1)])) == [
        ["EVAL", "t1", 1.0], ["EVAL", "t2", 1.0],
    ]  # fmt: skip


def test_without_a_time_the_order_of_the_log_decides(write: Write) -> None:
    records = [langfuse("a", "t1", value, updatedAt=None) for value in (0, 1)]
    assert scores_read(write("s.jsonl", records)) == [["EVAL", "t1", 1.0]]


@pytest.mark.parametrize("flag", [True, 1, 1.0, "true", "True", "1.0"])
@pytest.mark.parametrize("name", ["isDeleted", "is_deleted"])
def test_a_deleted_record_does_not_count(write: Write, name: str, flag: object) -> None:
    path = write("s.jsonl", [langfuse("a", "t1", 0, **{name: flag}), langfuse("b", "t2", 1)])
    assert scores_read(path) == [["EVAL", "t2", 1.0]]
    assert reasons(path) == [("s.jsonl, line 1", "the score was deleted", 1)]


@pytest.mark.parametrize("flag", [False, 0, 0.0, "false", "", None])
def test_a_record_that_is_not_deleted_counts(write: Write, flag: object) -> None:
    assert scores_read(write("s.jsonl", [langfuse("a", "t1", 0, isDeleted=flag)])) == [["EVAL", "t1", 0.0]]


def test_a_later_deletion_deletes_the_earlier_version(write: Write) -> None:
    deleted = langfuse("a", "t1", 0, day=2, isDeleted=1)
    path = write("s.jsonl", [langfuse("a", "t1", 1), langfuse("b", "t2", 1), deleted])
    assert scores_read(path) == [["EVAL", "t2", 1.0]]
    assert [why for _, why, _ in reasons(path)] == ["the score was deleted", "the score was deleted, by a later record"]
    again = langfuse("a", "t1", 0, day=3)
    assert scores_read(write("again.jsonl", [langfuse("a", "t1", 1), again, deleted])) == [["EVAL", "t1", 0.0]]


def test_deleting_one_of_two_records_of_a_run_leaves_the_other(write: Write) -> None:
    records = [langfuse("a", "t1", 1, run="x"), langfuse("b", "t1", 1, run="x", day=2, isDeleted=1)]
    assert scores_read(write("s.jsonl", records)) == [["EVAL", "t1", 1.0]]


def test_records_of_one_id_on_two_things_are_no_versions(write: Write) -> None:
    path = write("s.jsonl", [langfuse("1", "t1", 1, run="x1"), langfuse("1", "t2", 0, run="x2")])
    assert scores_read(path) == [["EVAL", "t1", 1.0], ["EVAL", "t2", 0.0]]


def test_a_fault_of_an_earlier_version_is_no_fault(write: Write) -> None:
    path = write("s.jsonl", [langfuse("a", "t1", 1, source="ROBOT"), langfuse("a", "t1", 1, day=2)])
    assert scores_read(path) == [["EVAL", "t1", 1.0]]


def assessment(id_: str, value: bool, **more: Any) -> dict[str, Any]:
    source = {"source_type": "LLM_JUDGE", "source_id": "j"}
    return {"assessment_id": id_, "assessment_name": "ok", "source": source, "feedback": {"value": value}, **more}


@pytest.mark.parametrize("nested", [False, True])
def test_an_assessment_that_another_names_is_replaced(write: Write, nested: bool) -> None:
    """A chain of three; one that is not valid replaces nothing."""

    def trace(id_: str, *listed: dict[str, Any]) -> dict[str, Any]:
        fields = {"trace_id": id_, "assessments": list(listed)}
        return {"info": fields, "data": {}} if nested else fields

    path = write("m.jsonl", [
        trace("t1", assessment("a", False), assessment("b", True, overrides="a"), assessment("c", False, overrides="b")),
        trace("t2", assessment("d", True), assessment("e", False, overrides="d", valid=False)),
        trace("t3", assessment("f", True, overrides="f")),
    ])  # fmt: skip
    assert scores_read(path) == [["j", "t1", 0.0], ["j", "t2", 1.0], ["j", "t3", 1.0]]
    assert reasons(path)[1:] == [
        ("m.jsonl, line 1", "another record replaces it, which names it in overrides", 1),
        ("m.jsonl, line 1", "another record replaces it, which names it in overrides", 1),
    ]


@pytest.mark.parametrize("valid", [False, 0, 0.0, "false", "False", "0.0"])
def test_feedback_that_is_not_valid(write: Write, valid: object) -> None:
    listed = [assessment("a", False, valid=valid), assessment("b", True, valid=1.0)]
    assert scores_read(write("m.json", [{"trace_id": "t", "assessments": listed}])) == [["j", "t", 1.0]]
    rows = [{"trace_id": "t", **one} for one in listed]
    assert scores_read(write("rows.jsonl", rows)) == [["j", "t", 1.0]]


def test_an_answer_that_could_not_be_read_is_counted(write: Write) -> None:
    head = "span_id,annotation_name,annotator_kind,result.label,result.score\n"
    path = write("p.csv", head + "s1,ok,LLM,yes,1\ns2,ok,LLM,NOT_PARSABLE,\ns3,ok,LLM,not parsable,0\n")
    data = js.read(path)
    assert data["score"].fillna(-1).tolist() == [1.0, -1, -1]
    assert data["status"].tolist() == ["ok", "parse", "parse"]
    words = js.read(
        write("words.csv", head + "s1,ok,LLM,good,\ns2,ok,LLM,NOT_PARSABLE,\ns3,ok,LLM,poor,\n"), answer="ok"
    )
    assert words["answer"].astype(object).fillna("").tolist() == ["good", "", "poor"]


def test_ids_of_label_studio_are_of_one_file(write: Write) -> None:
    def task(value: int, day: int) -> list[dict[str, Any]]:
        result = [{"from_name": "q", "type": "rating", "value": {"rating": value}}]
        note = {"id": 7, "completed_by": 1, "result": result, "updated_at": f"2026-01-{day:02}"}
        return [{"id": 3, "data": {}, "annotations": [note], "predictions": [{**note, "model_version": "m"}]}]

    path = write("both.json", [*task(5, 2), *task(4, 1)])
    assert scores_read(path) == [["1", "3", 5.0], ["m", "3", 5.0]]
    one, two = write("x/a.json", task(5, 2)), write("y/b.json", task(5, 1))
    assert len(js.read([one, two], path="{project}/{file}.json")) == 4


def test_a_user_of_argilla_answers_a_question_of_a_record_once(write: Write) -> None:
    def record(value: int, user: str, day: int) -> dict[str, Any]:
        answers = {"quality": [{"value": value, "user_id": user}], "tone": [{"value": 1, "user_id": user}]}
        suggestions = {"quality": {"value": 2, "agent": "m"}}
        return {
            "id": "r",
            "fields": {},
            "responses": answers,
            "suggestions": suggestions,
            "updated_at": f"2026-01-{day:02}",
        }

    data = js.read(write("r.jsonl", [record(4, "ann", 2), record(3, "ann", 1), record(5, "bob", 1)]))
    quality = data[data["criterion"] == "quality"]
    assert quality[["judge", "score"]].to_numpy().tolist() == [["ann", 4.0], ["m", 2.0], ["bob", 5.0]]
    assert len(data) == 5


def test_every_reader_says_what_identifies_a_verdict() -> None:
    page = (Path(__file__).parents[2] / "docs/formats.md").read_text()
    for reader in NATIVE:
        section = page.split(f"\n## {reader.name}\n")[1].split("\n## ")[0]
        assert "a verdict: `" in section or "\n- identify, replace or withdraw a verdict: no field does" in section
        assert all(f"- {what}: {fields}" in section for what, fields in reader.identity.facts)
