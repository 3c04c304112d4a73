"""lm-evaluation-harness: a score per document and metric."""

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
from refusals import refused

Write = Callable[..., Path]
DATE = "2026-01-21T03-44-18.458309"


def document(doc: int = 0, filter_: str = "none", **metrics: Any) -> dict[str, Any]:
    return {"doc_id": doc, "doc": {"q": "x"}, "target": "3", "arguments": {}, "resps": [["3"]], "filtered_resps": ["3"],
            "filter": filter_, "metrics": list(metrics), "doc_hash": "h", "prompt_hash": "p", "target_hash": "t", **metrics}  # fmt: skip


def test_the_model_is_in_the_results_beside_it(write: Write) -> None:
    path = write(f"samples_gsm8k_cot_{DATE}.jsonl", [document(exact_match=1.0), document(1, exact_match=0.0)])
    with pytest.raises(SchemaError, match=r"line 1: the evaluated model .* Pass system="):
        read(path)
    assert read(path, system="m")["system"].tolist() == ["m", "m"]
    write(f"results_{DATE}.json", json.dumps({"model_name": "org/model", "results": {}}))
    data = read(path)
    assert detect_format(path).format == "lm_eval"
    assert data[["judge", "system", "item", "criterion", "score", "rater_type", "task"]].values.tolist() == [
        ["exact_match", "org/model", "0", "exact_match", 1.0, "code", "gsm8k_cot"],
        ["exact_match", "org/model", "1", "exact_match", 0.0, "code", "gsm8k_cot"],
    ]


def test_results_under_a_name_that_was_chosen(write: Write) -> None:
    write(f"mine_{DATE}.json", json.dumps({"model_name": "chosen"}))
    assert read(write(f"samples_t_{DATE}.jsonl.gz", [document(acc=True)]))["system"].tolist() == ["chosen"]


def test_two_runs_are_read_together(write: Write, tmp_path: Path) -> None:
    for date in (DATE, "2026-01-22T00-00-00.000001"):
        write(f"samples_t_{date}.jsonl", [document(acc=1.0)])
    data = read(f"{tmp_path}/samples_*", system="m")
    assert data["run"].tolist() == [DATE, "2026-01-22T00-00-00.000001"]


def test_filters_are_raters_of_one_criterion(write: Write) -> None:
    samples = [document(0, f, exact_match=s) for f, s in (("strict-match", 0.0), ("flexible-extract", 1.0))]
    data = read(write("s.jsonl", samples), system="m")
    assert data["judge"].tolist() == ["exact_match,strict-match", "exact_match,flexible-extract"]
    assert data["criterion"].unique().tolist() == ["exact_match"]
    assert data["filter"].tolist() == ["strict-match", "flexible-extract"]


def test_values_that_are_no_score_of_a_document(write: Write) -> None:
    sample = document(acc=1, word_perplexity=[-3.2, 5], f1=[1, 0], answer=None, other=float("nan"), flags={"a": 1})
    data = read(write("s.jsonl", [sample]), system="m")
    assert data["criterion"].tolist() == ["acc", "answer", "other"]
    assert data["status"].tolist() == ["ok", "error", "error"]
    assert [e.place.rpartition(", ")[2] for e in account_of(data).excluded] == [
        "metric word_perplexity", "metric f1", "metric flags",
    ]  # fmt: skip


def test_before_metrics_were_listed_and_a_later_field(write: Write) -> None:
    early = {k: v for k, v in document(acc=1.0, acc_norm=0.0).items() if k not in ("metrics", "filter")}
    assert read(write("s.jsonl", [early]), system="m")["criterion"].tolist() == ["acc", "acc_norm"]
    later = {**document(acc=1.0), "sample_len": 3, "usage": {"a": 1}}
    assert read(write("s.jsonl", [later]), system="m")["sample_len"].tolist() == [3]


def test_metrics_that_a_model_gave(write: Write) -> None:
    path = write("s.jsonl", [document(acc=1.0, helpful=0.4, honest=0.5)])
    assert read(path, system="m", model_graded="helpful, honest")["rater_type"].tolist() == ["code", "model", "model"]
    assert read(path, system="m", model_graded=["helpful"])["rater_type"].tolist() == ["code", "model", "code"]


def test_a_metric_that_is_not_there(write: Write) -> None:
    path = write("results.json", json.dumps({"results": {"t": {"acc,none": 1}}, "configs": {}, "versions": {}}))
    refused(
        SchemaError,
        (lambda: read(path), r"lm_eval format was recognised, and none .*results over all documents"),
        (
            lambda: read(write("s.jsonl", [{**document(), "metrics": ["acc"]}]), system="m"),
            "line 1: the record lacks 'acc'",
        ),
        (
            lambda: read(write("s.jsonl", [{**document(), "metrics": "acc"}]), system="m"),
            r"metrics is 'acc'. Allowed: a list of names",
        ),
    )


@pytest.mark.real
def test_real_samples(real_data: Path) -> None:
    (path,) = (real_data / "lm_eval_harness").glob("samples_*")
    (results,) = (real_data / "lm_eval_harness").glob("results_*")
    known = json.loads(results.read_text())
    data = read(path)
    with pytest.raises(SchemaError, match="results over all documents; the scores are in samples_"):
        read(results)
    assert len(data) == 10
    assert data["score"].mean() == known["results"]["math_perturbed_full"]["exact_match,none"]
    assert data["system"].unique().tolist() == [known["model_name"]]
    assert data["task"].unique().tolist() == ["math_perturbed_full"]
