"""A plan in the formats of runners: one line per call, with the call's id."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from judgestats.design.plans import CALL, TEXTS, Plan
from judgestats.errors import DesignError, suggestion

_INSPECT_TASK = '''"""Asks the calls of one judge: inspect eval inspect_task.py --model PROVIDER/MODEL -T judge=JUDGE"""

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.solver import Generate, Solver, TaskState, solver


@solver
def planned() -> Solver:
    """Ask at the temperature of the plan."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return await generate(state, temperature=state.metadata["temperature"])

    return solve


@task
def calls(judge: str = "") -> Task:
    """One sample per call, with its id. A call that fails stops no other."""
    dataset = json_dataset("calls.inspect.jsonl")
    judges = sorted({sample.metadata["judge"] for sample in dataset})
    if judge not in judges and (judge or len(judges) > 1):
        raise ValueError(f"The calls are for {', '.join(judges)}. Name one of them: -T judge=...")
    chosen = dataset.filter(lambda sample: judge in ("", sample.metadata["judge"]))
    return Task(dataset=chosen, solver=planned(), fail_on_error=False)
'''


#: First sign of a tag of a template, within a text: those between messages are followed by others.
_TAG = re.compile(r"\{(?=[{%#])|[}%#](?=\})")


def _messages(row: dict[str, Any], system: str | None = None) -> list[dict[str, str]]:
    """All messages of a call: system, the earlier ones of a dialogue, user."""
    system = row["system"] if system is None else system
    head = [{"role": "system", "content": system}] if system else []
    return [*head, *row["earlier"], {"role": "user", "content": row["user"]}]


def _jsonl(row: dict[str, Any]) -> dict[str, Any]:
    keys = ("call", "judge", "system", "user", "temperature")
    return {**{k: row[k] for k in keys}, **({"earlier": row["earlier"]} if row["earlier"] else {})}


def _csv(row: dict[str, Any]) -> dict[str, Any]:
    earlier = json.dumps(row["earlier"], ensure_ascii=False) if row["earlier"] else ""
    return {**_jsonl(row), "earlier": earlier}


def _openai(row: dict[str, Any]) -> dict[str, Any]:
    body = {"model": row["judge"], "messages": _messages(row), "temperature": row["temperature"]}
    if row["schema"]:
        schema = {"name": "answer", "strict": True, "schema": row["schema"]}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return {"custom_id": row["call"], "method": "POST", "url": "/v1/chat/completions", "body": body}


def _anthropic(row: dict[str, Any]) -> dict[str, Any]:
    params = {"model": row["judge"], "max_tokens": 4096, "temperature": row["temperature"]}
    params |= {"system": row["system"]} if row["system"] else {}
    return {"custom_id": row["call"], "params": {**params, "messages": _messages(row, "")}}


def _inspect(row: dict[str, Any]) -> dict[str, Any]:
    return {"id": row["call"], "input": _messages(row), "metadata": {k: row[k] for k in ("judge", "temperature")}}


def _promptfoo(row: dict[str, Any]) -> dict[str, Any]:
    """The messages as JSON without its first bracket, with escapes for what is a tag of a template.

    promptfoo renders variables, some versions more than once, and rewrites those that are JSON.
    """
    text = _TAG.sub(lambda sign: f"\\u{ord(sign[0]):04x}", json.dumps(_messages(row)))
    return {"vars": {"call": row["call"], "messages": text.removeprefix("[")}}


#: Format -> record of one call.
LINES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "openai": _openai,
    "anthropic": _anthropic,
    "inspect": _inspect,
    "promptfoo": _promptfoo,
}
#: Largest number of calls in one batch file of a provider.
MOST = {"openai": 50_000, "anthropic": 100_000}


def export(plan: Plan, folder: str | Path, format: str = "jsonl") -> list[Path]:
    """Write the calls of a plan for a runner.

    Parameters
    ----------
    plan : Plan
        What to ask.
    folder : path
        Where to; made if it does not exist.
    format : {'jsonl', 'csv', 'openai', 'anthropic', 'inspect', 'promptfoo', 'form'}
        ``openai`` and ``anthropic``: files for their batch endpoints, one or more a judge, whose name is the model.
        ``inspect``: a dataset and a task file for Inspect AI, which asks the calls of one judge at a time.
        ``promptfoo``: a configuration; add the provider to it, and plan each judge by itself.
        The earlier messages of a dialogue are sent before the last; in ``csv`` and ``jsonl`` they are in ``earlier``.
        ``form``: for people, a CSV file for each annotator (``judge``), in an order of their own, with the texts and
        empty columns to fill in; nothing in it names a system or a condition.

    Returns
    -------
    list of pathlib.Path
        The files.

    Raises
    ------
    DesignError
        If the format is not known.

    See Also
    --------
    collect : Answers joined to their plan.
    remaining : Calls without an answer.

    Examples
    --------
    >>> from judgestats.design import vacuum
    >>> [p.name for p in export(vacuum("my-model"), getfixture("tmp_path"), "openai")]
    ['calls.openai.my-model.jsonl']
    """
    known = (*LINES, "form")
    if format not in known:
        raise DesignError(f"format={format!r} is not known. Allowed: {', '.join(known)}.{suggestion(format, known)}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if format in MOST:
        parts = []
        for judge in plan.calls["judge"].unique():
            ids = plan.calls.loc[plan.calls["judge"] == judge, CALL].tolist()
            batches = [ids[i : i + MOST[format]] for i in range(0, len(ids), MOST[format])]
            for i, batch in enumerate(batches, start=1):
                number = f".{i}" if len(batches) > 1 else ""
                path = folder / f"calls.{format}.{_safe(judge)}{number}.jsonl"
                parts.append(_lines(plan.rows(batch), path, format))
        return parts
    if format == "form":
        return [_form(plan, str(judge), folder) for judge in plan.calls["judge"].unique()]
    if format == "csv":
        path = folder / "calls.csv"
        with path.open("w", newline="", encoding="utf-8") as out:
            said = ["earlier"] if "earlier_text" in plan.calls else []
            names = ["call", "judge", "system", "user", "temperature", *said]
            writer = csv.DictWriter(out, names, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(LINES["csv"](row) for row in _rows(plan))
        return [path]
    if format == "promptfoo":
        path = folder / "promptfooconfig.json"
        tests = [LINES["promptfoo"](row) for row in _rows(plan)]
        content = {"prompts": ["[{{messages}}"], "providers": [], "tests": tests}
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return [path]
    path = _lines(plan, folder / ("calls.inspect.jsonl" if format == "inspect" else "calls.jsonl"), format)
    if format == "inspect":
        task = folder / "inspect_task.py"
        task.write_text(_INSPECT_TASK, encoding="utf-8")
        return [path, task]
    return [path]


def _safe(name: Any) -> str:
    """A name as part of a file's name."""
    return "".join(c if c.isalnum() or c in "-._" else "_" for c in str(name))


def _form(plan: Plan, annotator: str, folder: Path) -> Path:
    """The form of one annotator: the texts under labels that say nothing, in the order of the calls' ids."""
    if name := next((n for n, p in plan.prompts.items() if p.criteria_in), None):
        raise DesignError(
            f"format='form' has a column for each criterion, and those of prompt {name!r} are in its rubrics. Plan "
            "ratings by people with rubric()."
        )
    calls = plan.calls[plan.calls["judge"].astype(str) == annotator].sort_values(CALL)
    shown = {"preferences": ("task", "first", "second"), "ratings": ("task", "rubric", "response")}[plan.kind]
    criteria = list(dict.fromkeys(c for p in plan.prompts.values() for c in p.criteria))
    blank = ["verdict"] if plan.kind == "preferences" else criteria or ["answer"]
    columns = {p: TEXTS[p] for p in shown if TEXTS[p] in calls}
    table = calls[[CALL]].assign(label=[f"Response {i}" for i in range(1, len(calls) + 1)])
    table = table.assign(**{p: calls[c].map(dict(plan.texts)) for p, c in columns.items()})
    path = folder / f"form.{_safe(annotator)}.csv"
    table.assign(**dict.fromkeys([*blank, "comment"], "")).to_csv(path, index=False)
    return path


def _lines(plan: Plan, path: Path, format: str) -> Path:
    with path.open("w", encoding="utf-8") as out:
        for row in _rows(plan):
            out.write(json.dumps(LINES[format](row), ensure_ascii=False) + "\n")
    return path


def _rows(plan: Plan) -> Iterator[dict[str, Any]]:
    calls = plan.calls
    columns = zip(calls["judge"], calls["prompt"], calls["temperature"].tolist(), plan.dialogues(), strict=True)
    for judge, prompt, temperature, (call, system, earlier, user) in columns:
        schema = dict(plan.prompts[prompt].schema)
        yield {
            "call": call,
            "judge": judge,
            "system": system,
            "earlier": earlier,
            "user": user,
            "temperature": temperature,
            "schema": schema,
        }
