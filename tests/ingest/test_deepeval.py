"""DeepEval: metrics of test cases, conversations and spans."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgestats import read
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format
from judgestats.schema.account import account_of

Write = Callable[..., Path]


def metric(name: str = "Faithfulness", score: float | None = 0.9, **more: Any) -> dict[str, Any]:
    return {"name": name, "threshold": 0.5, "success": score is not None and score >= 0.5, "score": score, "reason": "r",
            "strictMode": False, "evaluationModel": "gpt-4o", "evaluationCost": 0.01, **more}  # fmt: skip


def case(*metrics: Any, name: str = "test_case_0", text: str = "q", **more: Any) -> dict[str, Any]:
    return {"name": name, "input": text, "metricsData": list(metrics), **more}


def run(*cases: Any, **more: Any) -> str:
    return json.dumps({"testCases": list(cases), "conversationalTestCases": [], "metricsScores": [], **more})


def test_a_metric_is_a_verdict(write: Write) -> None:
    path = write(
        "t.json", run(case(metric(), metric("Tools", 0.0, evaluationModel=None)), hyperparameters={"model": "m"})
    )
    assert detect_format(path).format == "deepeval"
    data = read(path)
    assert data[["judge", "system", "item", "criterion", "score", "passed", "rater_type"]].values.tolist() == [
        ["gpt-4o", "m", "test_case_0", "Faithfulness", 0.9, True, "model"],
        ["Tools", "m", "test_case_0", "Tools", 0.0, False, "code"],
    ]
    assert data["threshold"].tolist() == [0.5, 0.5]
    assert read(path, judge="custom", system="s")[["judge", "system", "rater_type"]].values.tolist() == [
        ["gpt-4o", "s", "model"],
        ["custom", "s", "model"],
    ]


def test_hyperparameters_are_conditions(write: Write) -> None:
    """They distinguish runs that are read together."""
    settings = [{"model": {"name": "m"}, "chunk_size": size, "threshold": 9, "template": {}} for size in ("256", "512")]
    cases = [case(metric(), metadata={"topic": "law"})]
    data = read([write(f"{i}.json", run(*cases, hyperparameters=s)) for i, s in enumerate(settings)])
    assert data[["system", "chunk_size", "threshold", "metadata.topic"]].values.tolist() == [
        ["m", "256", 0.5, "law"],
        ["m", "512", 0.5, "law"],
    ]


def test_snake_case_and_the_result_of_evaluate(write: Write) -> None:
    snake = {
        "name": "A",
        "score": 0.2,
        "success": False,
        "strict_mode": True,
        "evaluation_model": "g",
        "evaluation_cost": 1,
        "new": 1,
    }
    cases = [{"name": "t", "input": "q", "metrics_data": [snake]}]
    for document in (
        {"test_cases": cases},
        {"test_results": cases, "confident_link": None},
        {"testRunData": {"test_cases": cases}},
    ):
        data = read(write("t.json", json.dumps(document)))
        assert data[["judge", "score", "strict_mode", "cost", "new"]].values.tolist() == [["g", 0.2, True, 1, 1]]


def test_an_early_version(write: Write) -> None:
    old = {"metric": "Bias", "threshold": 0.5, "success": True, "score": 0.1, "evaluationModel": "gpt-4"}
    data = read(write("t.json", run({"name": "t", "input": "q", "metricsMetadata": [old]})))
    assert data[["judge", "criterion", "score"]].values.tolist() == [["gpt-4", "Bias", 0.1]]


def test_conversations(write: Write) -> None:
    turns = [{"role": "user", "content": "hi", "order": 0}]
    data = read(
        write("t.json", run(conversationalTestCases=[{"name": "c", "turns": turns, "metricsData": [metric("Role")]}]))
    )
    assert data[["item", "criterion"]].values.tolist() == [["c", "Role"]]


def test_an_error_is_no_zero(write: Write) -> None:
    failed = [
        metric(score=None, error="timeout", success=None),
        metric("B", 0.0, error="no JSON", success=False),
        metric("C", None),
    ]
    data = read(write("t.json", run(case(*failed))))
    assert data["status"].tolist() == ["error"] * 3
    assert data["score"].isna().all()
    assert data["rationale"].tolist() == ["timeout", "no JSON", "r"]
    assert "passed" not in data


def test_spans_are_items_and_the_trace_is_no_second_verdict(write: Write) -> None:
    spans = [
        {"name": "draft", "metricsData": [metric(score=0.1)]},
        {"name": "draft", "metricsData": [metric(score=0.2)]},
    ]
    trace = {
        "metricsData": [metric(), metric("Whole", 1.0)],
        "llmSpans": spans,
        "toolSpans": [{"name": "quiet"}],
        "baseSpans": None,
    }
    data = read(write("t.json", run(case(metric(), trace=trace))))
    assert data[["item", "criterion", "score"]].values.tolist() == [
        ["test_case_0", "Faithfulness", 0.9],
        ["test_case_0/draft", "Faithfulness", 0.1],
        ["test_case_0/draft 2", "Faithfulness", 0.2],
        ["test_case_0/trace", "Whole", 1.0],
    ]
    assert data["span"].tolist()[1:] == ["draft", "draft", "trace"]
    assert [(e.reason, e.n) for e in account_of(data).excluded] == [
        ("the trace repeats the metrics of its test case", 1)
    ]


def test_a_name_of_two_inputs_is_two_items(write: Write) -> None:
    cases = [case(metric(), name="test_it", text=t) for t in ("a", "b")] + [
        case(metric(), name="once", text=t) for t in "cc"
    ]
    assert read(write("t.json", run(*cases)))["item"].tolist() == ["test_it/0", "test_it/1", "once", "once"]


def test_what_is_not_evaluated_is_excluded(write: Write) -> None:
    data = read(write("t.json", run(case(metric()), case(name="u"), {"name": "v", "metricsData": None})))
    assert [(e.place, e.reason) for e in account_of(data).excluded] == [
        ("t.json, test case 2", "no metric was evaluated"),
        ("t.json, test case 3", "no metric was evaluated"),
    ]
    with pytest.raises(SchemaError, match="test case 2: a metric is"):
        read(write("t.json", run(case(metric()), case({"score": 1}))))


def test_a_run_without_metrics(write: Write) -> None:
    with pytest.raises(SchemaError, match=r"none of its 1 record holds a verdict .no metric was evaluated"):
        read(write("t.json", json.dumps({"testCases": [{"name": "t", "input": "q"}], "testPassed": 0})))


@pytest.mark.real
def test_real_fixture(real_data: Path) -> None:
    """Test case and spans: the scores are those of the file's own summary, with the four metrics it leaves out."""
    path = real_data / "deepeval" / "test_run_sample.json"
    data = read(path)
    assert len(data) == 8
    for summary in json.loads(path.read_text())["metricsScores"]:
        mine = data[data["criterion"] == summary["metric"]]
        assert sorted(mine["score"]) == sorted(summary["scores"])
        assert mine["passed"].sum() == summary["passes"]
    assert set(data["judge"]) == {"gpt-5.4"}
    assert [e.n for e in account_of(data).excluded] == [2]
