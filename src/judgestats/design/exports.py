"""A plan in the formats of runners: one line per call, with the call's id."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import IO, NamedTuple

import pandas as pd

from judgestats.arguments import checked_arguments
from judgestats.csv_files import write_rows
from judgestats.design.plan_files import as_written, manifest_of, note_files, plan_files, write_plan
from judgestats.design.plans import CALL, TEXTS, Plan, by_people
from judgestats.design.prompt_templates import NEEDED
from judgestats.errors import DesignError, refuse_unknown
from judgestats.outputs import Outputs, Source
from judgestats.typing import Record

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


class CallRow(NamedTuple):
    """A call, as it is written for a runner."""

    call: str
    judge: str
    system: str
    user: str
    temperature: float
    earlier: list[dict[str, str]]
    schema: Record


#: First sign of a tag of a template, within a text: those between messages are followed by others.
_TAG = re.compile(r"\{(?=[{%#])|[}%#](?=\})")


def _messages(row: CallRow, system: bool = True) -> list[dict[str, str]]:
    """All messages of a call: system, the earlier ones of a dialogue, user."""
    head = [{"role": "system", "content": row.system}] if system and row.system else []
    return [*head, *row.earlier, {"role": "user", "content": row.user}]


def _jsonl(row: CallRow) -> Record:
    fields = row._asdict()
    del fields["schema"]
    return fields if row.earlier else {k: v for k, v in fields.items() if k != "earlier"}


def _openai(row: CallRow) -> Record:
    body: Record = {"model": row.judge, "messages": _messages(row), "temperature": row.temperature}
    if row.schema:
        schema = {"name": "answer", "strict": True, "schema": row.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return {"custom_id": row.call, "method": "POST", "url": "/v1/chat/completions", "body": body}


def _anthropic(row: CallRow) -> Record:
    params = {"model": row.judge, "max_tokens": 4096, "temperature": row.temperature}
    params |= {"system": row.system} if row.system else {}
    return {"custom_id": row.call, "params": {**params, "messages": _messages(row, system=False)}}


def _inspect(row: CallRow) -> Record:
    return {"id": row.call, "input": _messages(row), "metadata": {"judge": row.judge, "temperature": row.temperature}}


def _promptfoo(row: CallRow) -> Record:
    """The messages as JSON without first bracket and tags, since promptfoo renders variables and rewrites JSON."""
    text = _TAG.sub(lambda sign: f"\\u{ord(sign[0]):04x}", json.dumps(_messages(row)))
    return {"vars": {"call": row.call, "messages": text.removeprefix("[")}}


#: Format -> record of one call.
LINES: dict[str, Callable[[CallRow], Record]] = {
    "csv": lambda row: {**_jsonl(row), "earlier": json.dumps(row.earlier, ensure_ascii=False) if row.earlier else ""},
    "jsonl": _jsonl,
    "openai": _openai,
    "anthropic": _anthropic,
    "inspect": _inspect,
    "promptfoo": _promptfoo,
}
#: Largest number of calls in one batch file of a provider.
MOST = {"openai": 50_000, "anthropic": 100_000}
#: Longest part of a file's name that comes from a judge's name; the whole name has at most 200 bytes.
_STEM_BYTES = 160


@checked_arguments
def export(
    plan: Plan, folder: str | Path, format: str = "jsonl", *, overwrite: bool = False, inputs: Iterable[Source] = ()
) -> list[Path]:
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
        empty columns to fill in. It names a system as its arm does: by its name, its alias, or not at all; people
        beside judges (``rater_type``) have forms in any case. In forms and in ``csv``, a text that a spreadsheet would
        run (it begins with ``=``, ``+``, ``-``, ``@`` or a tab) has a quote before it.
    overwrite : bool
        Whether files with other calls may be replaced, in the folder of a plan (:meth:`Plan.write`), whose manifest
        says how they were written. A file that was changed since, or of which nothing is known, never is.
    inputs : iterable of path
        Files, folders and globs that are not written over, even so.

    Returns
    -------
    list of pathlib.Path
        The files; all of them are written, or none.

    Raises
    ------
    DesignError
        If the format is not known, or a file cannot be written or must not be replaced.

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
    folder = Path(folder)
    files = _writers(plan, folder, format)
    manifest = manifest_of(folder)
    with Outputs(inputs, overwrite=overwrite, intact=as_written(folder, manifest), folder=folder) as outputs:
        _write(plan, files, outputs)
        written = outputs.digests()
    if manifest:
        note_files(folder, written)
    return list(files)


def write_with_calls(plan: Plan, folder: Path, format: str, *, overwrite: bool, inputs: Iterable[Source]) -> list[Path]:
    """Write a plan and its calls for a runner, people's as forms; a new folder appears when all is in it."""
    files = _writers(plan, folder, _form_or(format, plan))
    write_plan(plan, folder, plan.kind, overwrite=overwrite, inputs=tuple(inputs), further=partial(_write, plan, files))
    return list(files)


def files_with_calls(plan: Plan, folder: Path, format: str) -> list[Path]:
    """The files of a plan and of its calls in a folder, whether they are there or not, and new folders."""
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    return [*new, *plan_files(folder), *_writers(plan, folder, _form_or(format, plan))]


def _form_or(format: str, plan: Plan) -> str:
    """The format of the calls of a plan: people's are forms."""
    return "form" if by_people(plan.calls).all() else format


def _writers(plan: Plan, folder: Path, format: str) -> dict[Path, _Writer]:
    refuse_unknown(format, (*LINES, "form"), f"format={format!r} is not known")
    return {folder / name: write for name, write in _files(plan, format)}


def _write(plan: Plan, files: Mapping[Path, _Writer], outputs: Outputs) -> None:
    n_calls = 0
    for path, write in files.items():
        with outputs.open(path) as out:
            n_calls += write(out)
    if n_calls != len(plan):
        raise DesignError(f"{len(plan):,} calls are planned, and {n_calls:,} would be written. Nothing was written.")


#: Writes to an open file, and returns the number of calls in it.
_Writer = Callable[[IO[str]], int]


def _files(plan: Plan, format: str) -> Iterator[tuple[str, _Writer]]:
    """Name and writer of each file; people beside judges have forms in any case."""
    people = by_people(plan.calls)
    if format != "form" and 0 < people.sum() < len(plan):
        yield from _files(plan.rows(~people), format)
        yield from _files(plan.rows(people), "form")
    elif format in MOST:
        for judge, stem in file_stems(plan.calls["judge"].unique()).items():
            ids = plan.calls.loc[plan.calls["judge"] == judge, CALL].tolist()
            batches = [ids[i : i + MOST[format]] for i in range(0, len(ids), MOST[format])]
            for i, batch in enumerate(batches, start=1):
                number = f"+{i}" if len(batches) > 1 else ""
                yield f"calls.{format}.{stem}{number}.jsonl", partial(_lines, plan.rows(batch), format)
    elif format == "form":
        for judge, stem in file_stems(plan.calls["judge"].unique()).items():
            yield f"form.{stem}.csv", partial(_form, plan, judge)
    elif format == "csv":
        yield "calls.csv", partial(_table, plan)
    elif format == "promptfoo":
        yield "promptfooconfig.json", partial(_config, plan)
    else:
        yield ("calls.inspect.jsonl" if format == "inspect" else "calls.jsonl"), partial(_lines, plan, format)
        if format == "inspect":
            yield "inspect_task.py", _task


def file_stems(names: Iterable[Hashable]) -> dict[Hashable, str]:
    """Short names of files without signs, different also without case; a plus stands before what tells equals apart."""
    stems = {name: "".join(c if c.isalnum() or c in "-._" else "_" for c in str(name)) for name in names}
    seen = Counter(_same_file(stem) for stem in stems.values())

    def stem_of(name: Hashable, stem: str) -> str:
        if seen[_same_file(stem)] == 1 and len(stem.encode()) <= _STEM_BYTES:
            return stem
        short = stem.encode()[: _STEM_BYTES - 9].decode(errors="ignore")
        return f"{short}+{blake2b(str(name).encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"

    return {name: stem_of(name, stem) for name, stem in stems.items()}


def _same_file(stem: str) -> str:
    """What is equal for names that some file system takes for one."""
    return unicodedata.normalize("NFKC", stem).casefold()


def _form(plan: Plan, annotator: Hashable, out: IO[str]) -> int:
    """The form of one annotator: the texts under the names that their arm shows, in the order of the calls' ids."""
    if name := next((n for n, p in plan.prompts.items() if p.criteria_in), None):
        raise DesignError(
            f"format='form' has a column for each criterion, and those of prompt {name!r} are in its rubrics. Plan "
            "ratings by people with rubric()."
        )
    calls = plan.calls[plan.calls["judge"] == annotator].sort_values(CALL)
    placeholders = dict.fromkeys(["task", *(["rubric"] if plan.kind == "ratings" else []), *NEEDED[plan.kind]])
    criteria = list(dict.fromkeys(c for p in plan.prompts.values() for c in p.criteria))
    blank = ["verdict"] if plan.kind == "preferences" else criteria or ["answer"]
    columns = {p: TEXTS[p] for p in placeholders if TEXTS[p] in calls}
    label = pd.Series([f"Response {i}" for i in range(1, len(calls) + 1)], calls.index)
    if "alias" in calls:  # an arm without an alias names the author
        label = calls["alias"].fillna(calls["system"])
    table = calls[[CALL]].assign(label=label)
    table = table.assign(**{p: calls[c].map(dict(plan.texts)) for p, c in columns.items()})
    table = table.assign(**dict.fromkeys([*blank, "comment"], ""))
    write_rows(out, table.columns, table.itertuples(index=False, name=None))
    return len(calls)


def _table(plan: Plan, out: IO[str]) -> int:
    earlier = ["earlier"] if "earlier_text" in plan.calls else []
    names = ["call", "judge", "system", "user", "temperature", *earlier]
    write_rows(out, names, ([LINES["csv"](row)[name] for name in names] for row in _rows(plan)))
    return len(plan)


def _config(plan: Plan, out: IO[str]) -> int:
    tests = [LINES["promptfoo"](row) for row in _rows(plan)]
    content = {"prompts": ["[{{messages}}"], "providers": [], "tests": tests}
    out.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return len(tests)


def _task(out: IO[str]) -> int:
    out.write(_INSPECT_TASK)
    return 0


def _lines(plan: Plan, format: str, out: IO[str]) -> int:
    n_calls = 0
    for row in _rows(plan):
        out.write(json.dumps(LINES[format](row), ensure_ascii=False) + "\n")
        n_calls += 1
    return n_calls


def _rows(plan: Plan) -> Iterator[CallRow]:
    calls = plan.calls
    columns = zip(calls["judge"], calls["prompt"], calls["temperature"].tolist(), plan.dialogues(), strict=True)
    for judge, prompt, temperature, (call, system, earlier, user) in columns:
        yield CallRow(call, judge, system, user, temperature, earlier, dict(plan.prompts[prompt].schema))
