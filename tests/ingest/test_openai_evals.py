"""OpenAI evals: model-graded choices, matches and other metrics in a log of events."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from judgestats import read
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format
from judgestats.schema.account import account_of
from refusals import refused

Write = Callable[..., Path]


def spec(*models: str, modelgraded: str | None = None) -> dict[str, Any]:
    args = {"samples_jsonl": "x.jsonl", **({"modelgraded_spec": modelgraded} if modelgraded else {})}
    return {"spec": {"completion_fns": list(models), "eval_name": "joke.dev.v0", "base_eval": "joke", "split": "dev",
                     "run_config": {"eval_spec": {"cls": "c", "args": args}}, "run_id": "r", "created_by": ""}}  # fmt: skip


def event(kind: str, data: Any, sample: str = "joke.dev.0", number: int = 0) -> dict[str, Any]:
    return {
        "run_id": "r",
        "event_id": number,
        "sample_id": sample,
        "type": kind,
        "data": data,
        "created_by": "",
        "created_at": "t",
    }


REPORT = {"final_report": {"score": 1.0}, "run_id": "r"}


def test_a_model_graded_log(write: Write) -> None:
    """The last completion function grades; an invalid choice is no lowest score; an error has a row."""
    log = [
        spec("gpt-3.5-turbo", "gpt-4", modelgraded="humor"),
        event("sampling", {"prompt": "p", "sampled": ["s"]}),
        event("metrics", {"choice": "4", "score": 4.0, "metascore": True}),
        event("metrics", {"choice": "__invalid__", "score": 1.0}, "joke.dev.1"),
        event("error", {"type": "Timeout", "message": "timed out"}, "joke.dev.2"),
        REPORT,
    ]
    path = write("log.jsonl", log)
    assert detect_format(path).format == "openai_evals"
    data = read(path)
    assert data[["judge", "system", "item", "criterion", "status"]].values.tolist() == [
        ["gpt-4", "gpt-3.5-turbo", "joke.dev.0", "humor", "ok"],
        ["gpt-4", "gpt-3.5-turbo", "joke.dev.1", "humor", "parse"],
        ["gpt-4", "gpt-3.5-turbo", "joke.dev.2", "humor", "error"],
    ]
    assert data["score"].tolist()[0] == 4.0
    assert data["score"].isna().tolist() == [False, True, True]
    assert data["verdict"].dropna().tolist() == ["4"]
    assert [(e.place, e.reason) for e in account_of(data).excluded] == [
        ("log.jsonl, line 1", "the spec of the run, no verdict"),
        ("log.jsonl, line 2", "an event of type sampling, no verdict"),
        ("log.jsonl, line 6", "the final_report of the run, no verdict"),
    ]


def test_a_model_that_grades_itself_and_several_models(write: Write) -> None:
    verdict = event("metrics", {"choice": "Y", "score": 1.0})
    alone = read(write("a.jsonl", [spec("gpt-4", modelgraded="closedqa"), verdict]))
    assert alone[["judge", "system"]].values.tolist() == [["gpt-4", "gpt-4"]]
    battle = read(write("b.jsonl", [spec("m1", "m2", "gpt-4", modelgraded="battle"), verdict]))
    assert battle[["judge", "system"]].values.tolist() == [["gpt-4", "m1 + m2"]]


def test_a_choice_without_a_score(write: Write) -> None:
    path = write("a.jsonl", [spec("m", "g", modelgraded="fact"), event("metrics", {"choice": "A", "score": None})])
    assert read(path, scores="A=1,B=0")["score"].tolist() == [1.0]
    assert read(path, scores={"A": 0.5})["score"].tolist() == [0.5]
    refused(
        SchemaError,
        ({}, r"line 2: the choice 'A' has no score.*scores='A=1'"),
        ({"scores": "A"}, "scores='A' should name a number"),
        of=lambda options: read(path, **options),
    )


def test_matches_and_other_metrics_are_code(write: Write) -> None:
    log = [
        spec("gpt-4", "gpt-4o"),
        event("match", {"correct": True, "expected": "x", "picked": "x", "sampled": "x"}),
        event("match", {"correct": False, "expected": "x", "picked": None}, "joke.dev.1"),
        event("metrics", {"accuracy": 0.5, "f1_score": 1, "text": "no number"}, "joke.dev.2"),
        event("error", {"type": "E", "message": "boom"}, "joke.dev.3"),
    ]
    data = read(write("a.jsonl", log))
    assert data[["judge", "criterion", "score", "rater_type"]].values.tolist() == [
        ["match", "match", 1.0, "code"], ["match", "match", 0.0, "code"],
        ["accuracy", "accuracy", 0.5, "code"], ["f1_score", "f1_score", 1.0, "code"],
    ]  # fmt: skip
    assert set(data["system"]) == {"gpt-4 + gpt-4o"}
    assert [e.reason for e in account_of(data).excluded][1:] == ["no number", "the sample failed (boom)"]


def test_events_without_a_specification(write: Write) -> None:
    path = write("a.jsonl", [event("metrics", {"choice": "Y", "score": 1.0})])
    assert read(path)["judge"].tolist() == ["modelgraded"]
    assert read(path, judge="g", system="m")[["judge", "system"]].values.tolist() == [["g", "m"]]


def test_a_log_of_before_completion_functions(write: Write) -> None:
    early = {"spec": {"model_name": "gpt-4", "model_names": {"completions": ["gpt-4"]}, "eval_name": "x.dev.v0"}}
    path = write("a.jsonl", [early, {"final_report": {}}, event("match", {"correct": True})])
    assert detect_format(path).format == "openai_evals"
    assert read(path)["system"].tolist() == ["gpt-4"]


def test_a_changed_file_has_its_own_header(write: Write) -> None:
    verdict = event("metrics", {"choice": "Y", "score": 1.0})
    assert read(write("a.jsonl", [spec("m", "first"), verdict]))["judge"].tolist() == ["first"]
    assert read(write("a.jsonl", [spec("m", "other one"), verdict]))["judge"].tolist() == ["other one"]


def test_bad_events(write: Write) -> None:
    refused(
        SchemaError,
        ([spec("m"), event("metrics", None)], "line 2: data is 'None'"),
        ([spec("m"), event("match", {})], "line 2: the record lacks 'correct'"),
        of=lambda wrong: read(write("a.jsonl", wrong)),
    )
