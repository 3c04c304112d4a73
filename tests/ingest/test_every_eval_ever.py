"""every_eval_ever: the common schema, one sample a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgestats import read
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format

Write = Callable[..., Path]


def sample(score: Any = 1.0, method: str = "match", **more: Any) -> dict[str, Any]:
    return {
        "schema_version": "0.3.0", "evaluation_id": "e/1", "model_id": "org/m", "evaluation_name": "bench",
        "evaluation_result_id": "bench.acc", "sample_id": "s1", "interaction_type": "single_turn",
        "input": {"raw": "q", "reference": ["4"]}, "output": {"raw": ["4"]},
        "answer_attribution": [{"turn_idx": 0, "extraction_method": method}],
        "evaluation": {"score": score, "is_correct": bool(score)}, **more,
    }  # fmt: skip


def test_a_sample(write: Write) -> None:
    path = write(
        "x_samples.jsonl",
        [sample(metadata={"subject": "algebra", "score": "3"}, seed=7, performance={"latency_ms": 500})],
    )
    assert detect_format(path).format == "every_eval_ever"
    data = read(path)
    wanted = [
        "judge",
        "system",
        "item",
        "criterion",
        "score",
        "passed",
        "rater_type",
        "subject",
        "seed",
        "score_source",
        "latency",
    ]
    assert data[wanted].values.tolist() == [
        ["bench", "org/m", "s1", "bench", 1.0, True, "code", "algebra", 7, "3", 0.5]
    ]


def test_the_file_beside_it_names_metric_and_judges(write: Write) -> None:
    path = write("x_samples.jsonl", [sample(0.5), sample(evaluation_result_id=None, evaluation_name="other")])
    judges = {
        "judges": [{"model_info": {"id": "openai/gpt-4o", "name": "gpt"}}, {"model_info": {"name": "llama"}}],
        "input_prompt": "",
    }
    results = [
        {"evaluation_result_id": "bench.acc", "metric_config": {"metric_name": "accuracy", "llm_scoring": judges}},
        {"evaluation_name": "other", "metric_config": {"metric_id": "f1"}},
    ]
    write("x.json", json.dumps({"evaluation_results": results}))
    data = read(path)
    assert data[["judge", "criterion", "rater_type"]].values.tolist() == [
        ["openai/gpt-4o + llama", "accuracy", "model"],
        ["f1", "f1", "code"],
    ]


def test_a_judge_that_no_file_names(write: Write) -> None:
    path = write("x_samples.jsonl", [sample(method="llm_judge")])
    assert read(path)[["judge", "rater_type"]].values.tolist() == [["bench", "model"]]
    assert read(path, judge="g")[["judge", "rater_type"]].values.tolist() == [["g", "model"]]


def test_the_file_of_aggregate_results_holds_no_score_of_a_sample(write: Write) -> None:
    aggregate = {"schema_version": "0.3.0", "evaluation_id": "e", "evaluation_results": []}
    with pytest.raises(
        SchemaError, match=r"every_eval_ever format was recognised, and none .*results over all samples"
    ):
        read(write("x.json", json.dumps(aggregate)))


def test_errors_are_no_zeros(write: Write) -> None:
    data = read(write("s.jsonl", [sample(0.0, error="timeout"), sample(None, sample_id="s2")]))
    assert data["status"].tolist() == ["error", "error"]
    assert data["score"].isna().all()
    assert data["rationale"].dropna().tolist() == ["timeout"]
    with pytest.raises(SchemaError, match="line 1: evaluation is '1'"):
        read(write("s.jsonl", [sample(evaluation=1)]))


@pytest.mark.real
def test_real_example(real_data: Path) -> None:
    (path,) = (real_data / "every_eval_ever").glob("*_samples.jsonl")
    data = read(path)
    with pytest.raises(SchemaError, match="results over all samples; the scores are in <name>_samples"):
        read(path.with_name(path.name.replace("_samples.jsonl", ".json")))
    assert data[["judge", "system", "item", "criterion", "score", "subject"]].values.tolist() == [
        ["accuracy", "demo-org/demo-model", "demo_0001", "accuracy", 1.0, "arithmetic"]
    ]
