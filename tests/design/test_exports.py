"""What a runner is given: one line a call, with its id and the message of the plan."""

from __future__ import annotations

import ast
import csv
import importlib
import json
import unicodedata

import pandas as pd
import pytest
from jinja2 import Environment, StrictUndefined

from judgestats.design import build, collect, export, vacuum
from judgestats.design.exports import file_stems
from judgestats.errors import DesignError

PLAN = vacuum(["model-a", "org/model b"], calls=6)
PAIRS = pd.DataFrame({"item": [str(i) for i in range(8)], "first": "u", "second": "v", "first_text": "One.", "second_text": "Two."})  # fmt: skip
PAIRS["task_text"] = "Item " + PAIRS["item"]
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


#: Texts with tags of templates, whole and broken, and what else a runner may read into a variable.
TAGGED = (
    "{{x}}", "{{ call }} {{messages}}", "{% if x %}", "{# a comment #}", "#} %} }}", "{{{{#%}}}}", "{% raw %}{{ x }}{% endraw %}",
    "{%- raw -%}", "\\{{a}}", '{"a": {"b": {}}}', "file://secret.txt", "{{ env.HOME }}", "'\"\\\n\u2028é{",
)  # fmt: skip


@pytest.mark.parametrize("times", [1, 2])
def test_promptfoo_sends_texts_with_tags_as_they_are(tmp_path, times):
    """Jinja stands for Nunjucks: both read tags alike; promptfoo renders variables, then the prompt."""
    pairs = PAIRS.head(1).merge(pd.DataFrame({"second_text": TAGGED}), how="cross", suffixes=("_", ""))
    pairs["item"] = [str(i) for i in range(len(pairs))]
    plan = build(pairs, judges="m")
    (path,) = export(plan, tmp_path, "promptfoo")
    config = json.loads(path.read_text(encoding="utf-8"))
    (prompt,) = config["prompts"]
    wanted = {call: [*([system] if system else []), user] for call, system, user in plan.messages()}
    jinja = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    results = []
    for test in config["tests"]:
        given = test["vars"]
        assert "#}" not in given["messages"]  # Nunjucks takes it for an error where no comment was begun
        with pytest.raises(ValueError, match="Extra data"):  # what is JSON is written anew, without its escapes
            json.loads(given["messages"])
        for _ in range(times):
            given = {name: jinja.from_string(text).render(given) for name, text in given.items()}
        raw = jinja.from_string(prompt).render(given)
        assert [m["content"] for m in json.loads(raw)] == wanted[given["call"]]
        results.append({"vars": given, "prompt": {"raw": raw}, "response": {"output": {"verdict": "A"}}})
    assert (collect(plan, results)["status"] == "ok").sum() == len(plan)


def test_large_plans_are_split(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("judgestats.design.exports", fromlist=["MOST"]).MOST, "openai", 4)
    assert [len(lines(p)) for p in export(PLAN, tmp_path, "openai")] == [4, 2, 4, 2]
    other = vacuum("m.1", calls=6)
    plan = vacuum("m", calls=6) + other.rows(other.calls["call"].tolist()[:3])
    assert sorted(len(lines(p)) for p in export(plan, tmp_path / "more", "openai")) == [2, 3, 4]


@pytest.mark.parametrize("format", ["openai", "anthropic", "form"])
@pytest.mark.parametrize(
    "judges",
    [
        ("a/b", "a_b", "a b"),
        ("GPT-4", "gpt-4", "Gpt-4"),
        ("x" * 300, "x" * 299 + "y"),
        ("\u00e9" * 150, "e\u0301" * 150, "\u00e9"),
        ("\ufb01x", "fix", "a", "..", "-"),
        ("a/b", "a_b", "a_b-82badf67", "a_b+82badf67"),
    ],
)
def test_names_of_files_are_one_to_one_and_short(tmp_path, format, judges):
    plan = vacuum(list(judges), calls=6)
    files = export(plan, tmp_path / "out", format)
    assert len(files) == len(judges) == len({unicodedata.normalize("NFKC", p.name).casefold() for p in files})
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted(p.name for p in files)
    assert all(len(p.name.encode()) <= 200 for p in files)
    if format == "form":
        calls = [row["call"] for p in files for row in csv.DictReader(p.open(newline="", encoding="utf-8"))]
    else:
        calls = [line["custom_id"] for p in files for line in lines(p)]
    assert sorted(calls) == sorted(plan.calls["call"])


def test_nothing_is_written_where_calls_would_be_lost(tmp_path, monkeypatch):
    monkeypatch.setattr("judgestats.design.exports.file_stems", lambda names: dict.fromkeys(names, "same"))
    with pytest.raises(DesignError, match="Nothing was written"):
        export(PLAN, tmp_path / "out", "openai")
    assert not (tmp_path / "out").exists()


def test_an_unknown_format(tmp_path):
    with pytest.raises(DesignError, match=r"'opnai' is not known.*Did you mean 'openai'"):
        export(PLAN, tmp_path, "opnai")


@pytest.mark.slow
@pytest.mark.inspect
def test_inspect_s_mock_model_answers_the_task_file(tmp_path, monkeypatch):
    """With Inspect AI installed: its own runner reads the task file, and ``collect`` its zipped logs.

    Replies that state their usage are not counted by a table of tokens, which would be downloaded.
    """
    inspect_ai = pytest.importorskip("inspect_ai")
    model_api = importlib.import_module("inspect_ai.model")
    plan = build(PAIRS, judges=["mockllm/a", "mockllm/b"], temperature=[0.0, 0.7])
    plan.write(tmp_path / "plan")
    export(plan, tmp_path, "inspect")
    monkeypatch.chdir(tmp_path)
    asked = []

    def reply(messages, _tools, _choice, config):
        asked.append((messages[-1].text, config.temperature))
        text = messages[-1].text
        if "Item 3" in text:
            raise RuntimeError("overloaded")
        answer = "I'm sorry, but I can't help with that." if "Item 5" in text else '{"verdict": "A"}'
        output = model_api.ModelOutput.from_content("mockllm/model", answer)
        output.usage = model_api.ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    for judge in ("a", "b"):
        model = model_api.get_model(f"mockllm/{judge}", custom_outputs=reply)
        inspect_ai.eval("inspect_task.py", model=model, task_args={"judge": f"mockllm/{judge}"}, display="none")
    wanted = zip([user for *_, user in plan.messages()], plan.calls["temperature"], strict=True)
    assert sorted(asked) == sorted(wanted)
    data = collect(tmp_path / "plan", str(tmp_path / "logs"))
    assert set(data["call"]) == set(plan.calls["call"])
    by_item = data.groupby("item")["status"].agg(lambda s: ", ".join(sorted(set(s.astype(str)))))
    assert by_item.to_dict() == {**{str(i): "ok" for i in range(8)}, "3": "error", "5": "refused"}
    assert (data.loc[data["status"] == "ok", "choice"] == "first").all()
    with pytest.raises(ValueError, match=r"The calls are for mockllm/a, mockllm/b\. Name one"):
        inspect_ai.eval("inspect_task.py", model=model, display="none")


def test_stems_of_files_are_different() -> None:
    assert file_stems(["org/a", "b"]) == {"org/a": "org_a", "b": "b"}
    assert list(file_stems(["a/b", "a_b"]).values()) == ["a_b+82badf67", "a_b+c311a49b"]
