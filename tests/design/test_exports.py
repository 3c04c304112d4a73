"""What a runner is given: one line a call, with its id and the message of the plan."""

from __future__ import annotations

import ast
import csv
import json

import pytest

from judgestats.design import collect, export, vacuum
from judgestats.errors import DesignError

PLAN = vacuum(["model-a", "org/model b"], calls=6)
MESSAGES = {call: (system, user) for call, system, user in PLAN.messages()}


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_openai_and_anthropic_have_a_file_for_each_model(tmp_path):
    one, two = export(PLAN, tmp_path, "openai")
    assert (one.name, two.name) == ("calls.openai.model-a.jsonl", "calls.openai.org_model_b.jsonl")
    for line in lines(two):
        body = line["body"]
        assert body["model"] == "org/model b"
        assert tuple(m["content"] for m in body["messages"]) == MESSAGES[line["custom_id"]]
        assert body["response_format"]["json_schema"]["schema"]["required"] == ["verdict"]
    for line in lines(export(PLAN, tmp_path, "anthropic")[0]):
        params = line["params"]
        assert (params["system"], params["messages"][0]["content"]) == MESSAGES[line["custom_id"]]
        assert [m["role"] for m in params["messages"]] == ["user"]
        assert params["max_tokens"] == 4096  # a rubric with anchors has more than 1,024


def test_tables_inspect_and_promptfoo(tmp_path):
    (table,) = export(PLAN, tmp_path, "csv")
    with table.open(newline="", encoding="utf-8") as rows:
        assert {r["call"]: (r["system"], r["user"]) for r in csv.DictReader(rows)} == MESSAGES
    (jsonl,) = export(PLAN, tmp_path, "jsonl")
    assert {r["call"]: (r["system"], r["user"]) for r in lines(jsonl)} == MESSAGES
    dataset, task = export(PLAN, tmp_path, "inspect")
    assert {r["id"]: tuple(m["content"] for m in r["input"]) for r in lines(dataset)} == MESSAGES
    assert dataset.name in task.read_text()
    ast.parse(task.read_text())
    (config,) = export(PLAN, tmp_path, "promptfoo")
    tests = json.loads(config.read_text(encoding="utf-8"))["tests"]
    assert {t["vars"]["call"] for t in tests} == set(MESSAGES)


def test_large_plans_are_split(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("judgestats.design.exports", fromlist=["MOST"]).MOST, "openai", 4)
    assert [len(lines(p)) for p in export(PLAN, tmp_path, "openai")] == [4, 2, 4, 2]


def test_an_unknown_format(tmp_path):
    with pytest.raises(DesignError, match=r"'opnai' is not known.*Did you mean 'openai'"):
        export(PLAN, tmp_path, "opnai")


@pytest.mark.slow
def test_inspect_s_mock_model_answers_the_task_file(tmp_path, monkeypatch):
    """With Inspect AI installed: its own runner reads the task file, and ``collect`` its zipped log."""
    inspect_ai = pytest.importorskip("inspect_ai")
    import tiktoken  # counts tokens by a table that it would download

    monkeypatch.setattr(
        tiktoken, "get_encoding", lambda _: type("Words", (), {"encode": lambda s, t, **_: t.split()})()
    )
    monkeypatch.chdir(tmp_path)
    plan = vacuum("mockllm/model", calls=6)
    export(plan, tmp_path, "inspect")
    answers = [inspect_ai.model.ModelOutput.from_content("mockllm/model", '{"verdict": "tie"}') for _ in range(6)]
    model = inspect_ai.model.get_model("mockllm/model", custom_outputs=answers)
    inspect_ai.eval("inspect_task.py", model=model, display="none")
    data = collect(plan, str(tmp_path / "logs"))
    assert data["choice"].tolist() == ["tie"] * 6
