"""HELM: statistics of instances, and each juror's annotations."""

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


def stat(name: str, mean: float | None = 1.0, **more: Any) -> dict[str, Any]:
    found = {"name": {"name": name, "split": "test", **more}, "count": int(mean is not None)}
    return found if mean is None else {**found, "mean": mean}


def instance(*stats: Any, **more: Any) -> dict[str, Any]:
    return {"instance_id": "id7", "train_trial_index": 1, "stats": list(stats), **more}


SPEC = {
    "adapter_spec": {"model": "openai/gpt2"},
    "metric_specs": [
        {"class_name": "helm.benchmark.metrics.llm_jury_metrics.LLMJuryMetric", "args": {"metric_name": "aci_accuracy"}}
    ],
}


def test_scores_and_statistics_of_the_request(write: Write) -> None:
    write("run_spec.json", json.dumps(SPEC))
    stats = [stat("exact_match", 0.0), stat("aci_accuracy", 4.5), stat("wildbench_score", 7), stat("rouge_l", None)]
    requests = [
        stat("num_output_tokens", 2),
        stat("inference_runtime"),
        stat("safety_gpt_annotator_success"),
        stat("max_prob"),
    ]
    path = write("per_instance_stats.json", [instance(*stats, *requests, perturbation={"name": "typos"})])
    assert detect_format(path).format == "helm"
    data = read(path)
    assert (
        data["judge"].tolist()
        == data["criterion"].tolist()
        == ["exact_match", "aci_accuracy", "wildbench_score", "rouge_l"]
    )
    assert data["score"].tolist()[:3] == [0.0, 4.5, 7.0]
    assert data["status"].tolist() == ["ok", "ok", "ok", "error"]
    assert data["rater_type"].tolist() == ["code", "model", "model", "code"]
    same = data[["system", "item", "replicate", "split", "perturbation"]].drop_duplicates()
    assert same.values.tolist() == [["openai/gpt2", "id7", 1, "test", "typos"]]
    (excluded,) = account_of(data).excluded
    assert (excluded.reason, excluded.n) == ("statistics of the request, no scores", 4)


def test_a_field_of_a_later_version(write: Write) -> None:
    later = {**instance({**stat("exact_match"), "median": 1.0}), "shard": 3, "usage": {"tokens": 4}}
    data = read(write("s.jsonl", [later]), system="m")
    assert data[["criterion", "shard"]].values.tolist() == [["exact_match", 3]]


def test_the_model_is_in_the_run_spec_or_given(write: Write) -> None:
    path = write("a_per_instance_stats.json", [instance(stat("exact_match"))])
    cut = write("cut/a_per_instance_stats.json", [instance(stat("exact_match"))])
    write("cut/a_run_spec.json", '{"adapter_spec": ')
    refused(
        SchemaError,
        (path, r"a_per_instance_stats.json, record 1: the evaluated model .* Pass system="),
        (cut, r"a_run_spec.json.*cut off"),
        of=read,
    )
    assert read(path, system="m")["system"].tolist() == ["m"]
    write("a_run_spec.json", json.dumps(SPEC))
    assert read(path)["system"].tolist() == ["openai/gpt2"]


def test_bad_statistics(write: Write) -> None:
    refused(
        SchemaError,
        (
            lambda: read(write("run_spec.json", json.dumps({**SPEC, "scenario_spec": {}}))),
            r"helm format was recognised, and none .*the specification of a run",
        ),
        (lambda: read(write("s.json", [instance(1)]), system="m"), "a statistic is '1'"),
        (
            lambda: read(write("s.json", [instance(stat("a")), {**instance(), "stats": "x"}]), system="m"),
            "stats is 'x'",
        ),
    )


def state(write: Write, *annotations: Any, specs: Any = None) -> Path:
    requests = [
        {
            "instance": {"id": f"id{i}", "split": "test"},
            "train_trial_index": 0,
            **({} if a is None else {"annotations": a}),
        }
        for i, a in enumerate(annotations)
    ]
    head = {"adapter_spec": {"model": "meta/llama"}, **({"annotator_specs": specs} if specs else {})}
    return write("scenario_state.json", json.dumps({**head, "request_states": requests}))


def columns(data: Any, *names: str) -> list[Any]:
    return data[list(names)].astype(object).where(data[list(names)].notna(), None).values.tolist()


def test_each_juror_is_a_judge(write: Write) -> None:
    """WildBench: scores from 1 to 10; a juror that failed has null."""
    path = state(write, {"wildbench": {
        "prompt_text": "p", "gpt_strengths": "s", "gpt_weaknesses": "w", "gpt_score": 7.0,
        "claude_strengths": None, "claude_weaknesses": None, "claude_score": None,
    }})  # fmt: skip
    assert detect_format(path).format == "helm_annotations"
    data = read(path)
    assert columns(data, "judge", "criterion", "score", "status") == [
        ["gpt", "score", 7.0, "ok"],
        ["claude", "score", None, "error"],
    ]
    assert columns(data, "system", "item", "annotator", "rater_type")[0] == ["meta/llama", "id0", "wildbench", "model"]


def test_judgements_of_equivalence_and_an_unreadable_answer(write: Write) -> None:
    omni = {"gpt_student_final_answer": "3", "gpt_justification": "it is 3", "gpt_equivalence_judgement": True,
            "llama_equivalence_judgement": False}  # fmt: skip
    safety = {
        "prompt_text": "p",
        "gpt_score": 0.5,
        "gpt_reasoning": "mild",
        "llama_score": None,
        "llama_response_text": "??",
    }
    data = read(state(write, {"omni_math": omni}, {"harm_bench": safety}))
    assert columns(data, "judge", "criterion", "score", "status", "rationale") == [
        ["gpt", "equivalence_judgement", 1.0, "ok", "it is 3"],
        ["llama", "equivalence_judgement", 0.0, "ok", None],
        ["gpt", "score", 0.5, "ok", "mild"],
        ["llama", "score", None, "parse", "??"],
    ]


JURY = [
    {
        "class_name": "helm.benchmark.annotation.aci_bench_annotator.ACIBenchAnnotator",
        "args": {"annotator_models": {n: {"model_name": f"org/{n}", "model_deployment": n} for n in ("gpt", "llama")}},
    }
]


def test_a_jury_with_criteria_and_a_juror_that_gave_nothing(write: Write) -> None:
    gpt = {"accuracy": {"score": 4, "explanation": "fine"}, "clarity": {"score": 5, "explanation": "clear"}}
    empty = {"prompt_text": None, "empty_output_equivalence_judgement": False}
    data = read(state(write, {"aci_bench": {"prompt_text": "p", "gpt": gpt}}, {"aci_bench": empty}, specs=JURY))
    assert columns(data, "judge", "criterion", "score", "status", "rationale") == [
        ["org/gpt", "accuracy", 4.0, "ok", "fine"],
        ["org/gpt", "clarity", 5.0, "ok", "clear"],
        ["org/llama", "accuracy", None, "error", None],
        ["org/llama", "clarity", None, "error", None],
    ]
    assert [e.reason for e in account_of(data).excluded] == ["the response was empty, and no model was asked"]


def test_the_specification_of_an_annotator_by_its_name(write: Write) -> None:
    other = {
        "class_name": "x.LLMAsJuryAnnotator",
        "args": {"name": "triage", "annotator_models": {"a": {"model_name": "A"}}},
    }
    verdict = {"triage": {"a": {"urgent": {"score": 2}}}}
    assert read(state(write, verdict, specs=[*JURY, other]))["judge"].tolist() == ["A"]


def test_a_single_judge_rubrics_labels_and_empty_responses(write: Write) -> None:
    data = read(state(
        write,
        {"air_bench_2024": {"prompt_text": "p", "reasoning": "safe", "score": 1.0}},
        {"arabic": {"faithfulness": {"reasoning": "r", "score": 0.5}, "style": {"reasoning": "s", "score": 1}}},
        {"financebench": {"explanation": "off by one", "label": "incorrect_answer"}},
        {"wildbench": {"prompt_text": None, "empty_output_score": 1.0}},
    ))  # fmt: skip
    assert columns(data, "judge", "criterion", "score", "rater_type", "rationale") == [
        ["air_bench_2024", "score", 1.0, "model", "safe"],
        ["arabic", "faithfulness", 0.5, "model", "r"],
        ["arabic", "style", 1.0, "model", "s"],
        ["financebench", "correct", 0.0, "model", "off by one"],
        ["wildbench", "score", 1.0, "code", None],
    ]
    assert data["verdict"].dropna().tolist() == ["incorrect_answer"]


def test_annotations_that_hold_no_score(write: Write) -> None:
    data = read(state(write, {"wildbench": {"gpt_score": 1}}, None, {"bigcodebench": [{"pass_at_one": True}]}, {}))
    assert [(e.place.split(", ", 1)[1], e.reason) for e in account_of(data).excluded] == [
        ("request 2, instance id1", "no annotation: no model judged the response"),
        ("request 3, instance id2, annotator bigcodebench", "no score of a model"),
        ("request 4, instance id3", "no annotation: no model judged the response"),
    ]
    with pytest.raises(SchemaError, match=r"none of its 1 record holds a verdict .no annotation"):
        read(state(write, None))


@pytest.mark.real
def test_real_statistics(real_data: Path) -> None:
    """5 instances of 25 statistics, of which 6 are the metrics that run_spec.json names."""
    path = real_data / "helm" / "narrative_qa_per_instance_stats.json"
    spec = json.loads((real_data / "helm" / "narrative_qa_run_spec.json").read_text())
    data = read(path)
    with pytest.raises(SchemaError, match="the specification of a run; the scores are in per_instance_stats"):
        read(real_data / "helm" / "narrative_qa_run_spec.json")
    assert len(data) == 30
    assert data["judge"].unique().tolist() == spec["metric_specs"][0]["args"]["names"]
    assert set(data["system"]) == {"openai/gpt2"}
    assert sum(e.n for e in account_of(data).excluded) == 5 * 19
    assert data.loc[data["criterion"] == "f1_score", "score"].round(4).tolist() == [0.0, 0.3333, 0.0, 0.0, 0.3636]
