"""promptfoo: one verdict per assertion; a failed grader is no zero."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgestats import check, read
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format
from judgestats.schema.account import account_of
from refusals import refused

Write = Callable[..., Path]


def component(kind: str | None, score: Any = 1, **more: Any) -> dict[str, Any]:
    assertion = {"assertion": {"type": kind, **more.pop("about", {})}} if kind else {}
    return {"pass": bool(score), "score": score, "reason": "because", **assertion, **more}


def result(*components: dict[str, Any], test: int = 0, **more: Any) -> dict[str, Any]:
    grading = {"pass": True, "score": 1, "reason": "all", "componentResults": list(components)}
    return {
        "testIdx": test, "promptIdx": 0, "promptId": "p", "provider": {"id": "openai:m", "label": ""}, "success": True,
        "vars": {"q": f"question {test}"}, "namedScores": {}, "gradingResult": grading, **more,
    }  # fmt: skip


def export(*results: Any, version: int = 3, **more: Any) -> str:
    return json.dumps({"evalId": "e", "results": {"version": version, "results": list(results)}, "config": {}, **more})


@pytest.mark.parametrize(
    "document",
    [
        export(result(component("llm-rubric"))),
        export(result(component("llm-rubric")), version=4, news={"of": "later"}),
        json.dumps({"version": 2, "table": {}, "stats": {}, "results": [result(component("llm-rubric"))]}),
        json.dumps(result(component("llm-rubric"))),
    ],
    ids=["version 3", "a later version", "a summary", "one result"],
)
def test_every_version(write: Write, document: str) -> None:
    path = write("p.json", document)
    assert detect_format(path).confidence == "native"
    found = read(path)
    assert found[["judge", "system", "item", "criterion"]].values.tolist() == [
        ["llm-rubric", "openai:m", "0", "llm-rubric"]
    ]
    assert found[["score", "rater_type", "rationale"]].values.tolist() == [[1.0, "model", "because"]]


def test_results_one_a_line(write: Write) -> None:
    path = write("p.jsonl", [result(component("llm-rubric"), component("equals", 0), test=t) for t in (0, 1)])
    assert detect_format(path).format == "promptfoo_jsonl"
    assert read(path)["item"].tolist() == ["0", "0", "1", "1"]


@pytest.mark.parametrize(
    ("kind", "rater"),
    [
        ("llm-rubric", "model"), ("not-llm-rubric", "model"), ("model-graded-closedqa", "model"), ("factuality", "model"),
        ("g-eval", "model"), ("select-best", "model"), ("promptfoo:redteam:harmful", "model"), ("human", "human"),
        ("contains", "code"), ("not-equals", "code"), ("javascript", "code"), ("similar", "code"), ("max-score", "code"),
    ],
)  # fmt: skip
def test_who_rated(write: Write, kind: str, rater: str) -> None:
    found = read(write("p.json", export(result(component(kind)))), judge="gpt")
    assert found["rater_type"].tolist() == [rater]
    assert found["judge"].tolist() == ["gpt" if rater == "model" else kind]


def test_the_grader_that_the_log_names(write: Write) -> None:
    own = component("llm-rubric", about={"provider": {"id": "openai:judge"}})
    typed = component("g-eval", about={"provider": {"text": "anthropic:judge"}})
    tested = result(component("llm-rubric"), test=1, testCase={"options": {"provider": "test:judge"}})
    default = result(component("llm-rubric"), test=2)
    config = {"defaultTest": {"options": {"provider": {"text": {"id": "default:judge"}}}}}
    found = read(write("p.json", export(result(own, typed), tested, default, config=config)), judge="mine")
    assert found["judge"].tolist() == ["openai:judge", "anthropic:judge", "test:judge", "default:judge"]


def test_two_rubrics_are_two_criteria(write: Write) -> None:
    rubrics = [component("llm-rubric", about={"value": v}) for v in ("is kind", "is true")]
    named = component("llm-rubric", about={"value": "is short", "metric": "length", "weight": 2})
    found = read(write("p.json", export(result(*rubrics, named))))
    assert found["criterion"].tolist() == ["llm-rubric: is kind", "llm-rubric: is true", "length"]
    assert found["rubric"].tolist() == ["is kind", "is true", "is short"]
    assert found["weight"].iloc[2] == 2


@pytest.mark.parametrize(
    ("failed", "status"),
    [
        ({"metadata": {"graderError": True}, "reason": "HTTP 503"}, "error"),
        ({"metadata": {"graderError": True}, "reason": "Could not extract JSON from llm-rubric response"}, "parse"),
        ({"reason": "Could not extract JSON from llm-rubric response"}, "parse"),
        ({"reason": "llm-rubric produced malformed response: ..."}, "parse"),
        ({"reason": "No output"}, "error"),
        ({"reason": "API call error: Error: Request failed"}, "error"),
    ],
)
def test_a_failed_grader_is_no_zero(write: Write, failed: dict[str, Any], status: str) -> None:
    found = read(write("p.json", export(result(component("llm-rubric", 0, **failed), component("llm-rubric", 0)))))
    assert found["status"].tolist() == [status, "ok"]
    assert found["score"].isna().tolist() == [True, False]
    assert found["passed"].tolist() == [None, False]


def test_code_that_fails_with_such_a_reason_is_a_zero(write: Write) -> None:
    found = read(write("p.json", export(result(component("equals", 0, reason="No output")))))
    assert found[["score", "status"]].values.tolist() == [[0.0, "ok"]]


def test_a_result_without_an_assertion_is_excluded(write: Write) -> None:
    failed = {**result(test=1), "gradingResult": None, "error": "Rate limit", "failureReason": 2}
    bare = {**result(test=2), "gradingResult": {"pass": True, "score": 1, "reason": "No assertions"}}
    data = read(write("p.json", export(result(component("llm-rubric")), failed, bare)))
    assert [(e.place, e.reason) for e in account_of(data).excluded] == [
        ("p.json, result 2", "the evaluated call failed (Rate limit)"),
        ("p.json, result 3", "no assertion was evaluated"),
    ]
    assert check(data).set_index("what").loc["rows in", "n"] == 3


def test_sets_of_assertions_inside_and_after_their_sum(write: Write) -> None:
    parts = [component("llm-rubric", reason="a"), component("equals", 0, reason="b")]
    total = component(None, 0.5, componentResults=parts)
    for listed in ([total], [total, *parts]):
        data = read(write("p.json", export(result(*listed))))
        assert data["criterion"].tolist() == ["llm-rubric", "equals"]
        assert [e.reason for e in account_of(data).excluded] == ["the sum of a set of assertions"]


def test_a_script_with_parts_is_one_verdict(write: Write) -> None:
    parts = [{"pass": True, "score": 1, "reason": "a"}, {"pass": False, "score": 0, "reason": "b"}]
    script = component("python", 0.5, componentResults=parts)
    copied = [{**p, "assertion": {"type": "python"}} for p in parts]
    for listed in ([script], [script, *copied]):
        data = read(write("p.json", export(result(*listed, component("contains")))))
        assert data["criterion"].tolist() == ["python", "contains"]
        assert [(e.reason, e.n) for e in account_of(data).excluded] == [("parts of one assertion", 2)]


def test_a_single_assertion_without_components(write: Write) -> None:
    single = {**result(), "gradingResult": component("llm-rubric", 0.4)}
    assert read(write("p.json", export(single)))["score"].tolist() == [0.4]


def test_repeats_of_a_test_are_replicates(write: Write) -> None:
    """--repeat 2 gives each repeat a test number of its own; tests without variables stay apart."""
    twice = [result(component("llm-rubric"), test=t, vars={"q": "same"}) for t in (0, 1)]
    bare = [result(component("llm-rubric"), test=t, vars={}) for t in (2, 3)]
    other = result(component("llm-rubric"), test=4, vars={"q": "same"}, testCase={"assert": [{"type": "llm-rubric"}]})
    found = read(write("p.json", export(*twice, *bare, other)))
    assert found["item"].tolist() == ["0", "0", "2", "3", "4"]
    assert found["replicate"].tolist() == [0, 1, 0, 0, 0]


def test_the_same_assertion_again_is_a_replicate(write: Write) -> None:
    again = [component("llm-rubric", s, about={"value": "is kind"}) for s in (1, 0)]
    other = component("llm-rubric", about={"value": "is kind", "provider": "openai:judge"})
    found = read(write("p.json", export(*(result(*again, other, test=t, vars={"q": "same"}) for t in (0, 1)))))
    assert found[["judge", "replicate", "score"]].values.tolist() == [
        ["llm-rubric", 0, 1.0], ["llm-rubric", 1, 0.0], ["openai:judge", 0, 1.0],
        ["llm-rubric", 2, 1.0], ["llm-rubric", 3, 0.0], ["openai:judge", 1, 1.0],
    ]  # fmt: skip
    assert found["criterion"].unique().tolist() == ["llm-rubric: is kind"]


def test_variables_and_metadata_are_conditions(write: Write) -> None:
    told = result(
        component("llm-rubric"),
        vars={"topic": "law", "text": "x" * 300, "n": 2},
        testCase={"metadata": {"pluginId": "a"}},
    )
    data = read(write("p.json", export(told)))
    assert data[["vars.topic", "vars.n", "metadata.pluginId"]].values.tolist() == [["law", 2, "a"]]
    assert "vars.text" not in data


def test_a_missing_score_is_the_pass(write: Write) -> None:
    found = read(
        write("p.json", export(result(component("llm-rubric", None, **{"pass": True}), component("equals", "x"))))
    )
    assert found["score"].tolist()[0] == 1.0
    assert found["status"].tolist() == ["ok", "parse"]


def test_bad_shapes(write: Write) -> None:
    refused(
        SchemaError,
        (lambda: read(write("p.json", export())), "holds no records for the promptfoo format"),
        (
            lambda: read(write("p.json", export({**result(), "gradingResult": {"componentResults": [1]}}))),
            r"result 1: componentResults is .* Allowed: a list of objects",
        ),
        (lambda: read(write("p.json", export(result(component("equals"), provider=None)))), "provider is 'None'"),
        (lambda: read(write("p.json", export({**result(), "gradingResult": "x"}))), "gradingResult is"),
    )


@pytest.mark.real
def test_real_export(real_data: Path) -> None:
    """4 results: 2 of 4 and 2 of 3 assertions, one of them by a model in each."""
    data = read(real_data / "promptfoo" / "sample-export.json")
    assert detect_format(real_data / "promptfoo" / "sample-export.json").format == "promptfoo"
    assert len(data) == 14
    assert data["rater_type"].value_counts().to_dict() == {"code": 10, "model": 4}
    assert set(data["system"]) == {"openai:gpt-5", "openai:gpt-5-mini"}
    counts = data.groupby("system")["passed"].agg(["sum", "size"])  # assertPassCount of the file's prompts
    assert counts.loc["openai:gpt-5"].tolist() == [4, 7]
    assert counts.loc["openai:gpt-5-mini"].tolist() == [5, 7]
