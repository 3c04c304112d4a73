"""Fuzzing ``collect``: of each answer file, the rows add up, and what was not altered is read as it was; or an error of ours.

JUDGESTATS_FUZZ says how many files of each format there are, by default 15 in ``make test`` and 40 in ``make test-slow``;
the n-th file of a format is always the same.
"""

from __future__ import annotations

import copy
import csv
import functools
import io
import json
import os
import random
import re
import tempfile
import traceback
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from round_trips import FAILURES, FORMATS, answered, call_of

from fuzz.limits import within
from fuzz.mutations import ODD, TYPED, damaged, disturb
from judgestats.design import Judge, Plan, build, collect, export, rubric, simulate_replies
from judgestats.errors import JudgestatsError
from judgestats.ingest.compressed_files import open_bytes
from judgestats.schema.account import account_of

ASKED = os.environ.get("JUDGESTATS_FUZZ", "")
FILES = [int(ASKED)] if ASKED else [15, pytest.param(40, marks=pytest.mark.slow)]
SEED = 20_250_702
COUNTS = ("files", "frames", "own errors")
TABLES = ("csv", "form")
#: Where the records of a log stand in it.
LOGS: dict[str, tuple[str, ...]] = {"inspect": ("samples",), "promptfoo": ("results", "results")}


@functools.cache
def study(form: str, ratings: bool) -> tuple[Plan, list[Any], dict[tuple[str, str], tuple[str, str]]]:
    """A plan, the records of a file of sound answers to it (lists of cells, the header first, of a table), and the verdicts."""
    items = [str(i) for i in range(6)]
    texts = pd.DataFrame({"item": items, "task_text": [f"Say {{{{ {i} }}}}" for i in items]})
    if ratings:
        plan = rubric("m", texts.assign(system="s", response_text="Hello."), arms=["anonymized"], replicates=2)
    else:
        plan = build(texts.assign(first="u", second="v", first_text="Hi.", second_text="Ho."), judges="m")
    replies = simulate_replies(plan, Judge("m"), **{k: 2 * v for k, v in FAILURES.items()}, seed=5)
    with tempfile.TemporaryDirectory() as folder:
        path = answered(export(plan, folder, form), form, replies, Path(folder) / "answers")[0]
        verdicts = by_call(collect(plan, path))
        text = path.read_text(encoding="utf-8")
    if form in TABLES:
        return plan, list(csv.reader(io.StringIO(text, newline=""))), verdicts
    if form in LOGS:
        return plan, functools.reduce(lambda inner, name: inner[name], LOGS[form], json.loads(text)), verdicts
    return plan, [json.loads(line) for line in text.splitlines()], verdicts


def by_call(data: pd.DataFrame) -> dict[tuple[str, str], tuple[str, str]]:
    """Verdict and status by call and criterion."""
    criteria = data["criterion"] if "criterion" in data else [""] * len(data)
    answer = data["score" if "score" in data else "choice"].astype(str)
    return dict(zip(zip(data["call"], criteria, strict=True), zip(answer, data["status"].astype(str), strict=True), strict=True))  # fmt: skip


def altered(records: list[Any], rng: random.Random) -> tuple[list[Any], list[Any]]:
    """The records with up to four altered, doubled, moved or taken away, and those that were altered, as they were."""
    records, touched = copy.deepcopy(records), []
    for _ in range(rng.choice((0, 1, 1, 2, 3, 4))):
        at, what = rng.randrange(len(records)), rng.random()
        if what < 0.1 and len(records) > 1:
            touched.append(records.pop(at))
        elif what < 0.2:
            records.insert(rng.randrange(len(records) + 1), copy.deepcopy(records[at]))
        elif what < 0.3:
            touched.append(records[at])
            records[at] = rng.choice(TYPED)
        else:
            touched.append(copy.deepcopy(records[at]))
            for _ in range(rng.choice((1, 1, 2)) if isinstance(records[at], dict | list) else 0):
                disturb(records[at], rng)
    return records, touched


def altered_rows(rows: list[list[str]], rng: random.Random) -> tuple[list[list[str]], list[list[str]]]:
    """The same of a table, whose header is altered seldom."""
    rows, touched = copy.deepcopy(rows), []
    for _ in range(rng.choice((0, 1, 1, 2, 3, 4))):
        at = rng.randrange(rng.random() > 0.05, len(rows))
        touched += rows if at == 0 else [list(rows[at])]
        cell = rng.randrange(len(rows[at])) if rows[at] else 0
        change = rng.choice(([*rows[at], "more"], rows[at][:-1], [], rows[at][cell:], None, None, None, None, None))
        rows[at] = [*rows[at][:cell], rng.choice(ODD), *rows[at][cell + 1 :]] if change is None else change
        if rng.random() < 0.2:
            rows.append(rows[at])
    return rows, touched


def written(form: str, records: list[Any], rng: random.Random) -> bytes:
    """The file of a format that holds these records."""
    if form in TABLES:
        out = io.StringIO()
        csv.writer(out, lineterminator=rng.choice(("\n", "\r\n"))).writerows(records)
        return out.getvalue().encode("utf-8", "surrogatepass")
    if form in LOGS:
        content: Any = records
        for name in reversed(LOGS[form]):
            content = {"version": 2, name: content, "stats": {}}
        return json.dumps(content).encode()
    lines = [json.dumps(r) for r in records]
    cut = rng.randrange(len(lines)) if rng.random() < 0.1 else -1
    return "".join((line[:-5] if i == cut else line) + "\n" for i, line in enumerate(lines)).encode()


def came(form: str, raw: bytes) -> int | None:
    """How many records a file holds, counted without the package; None where that cannot be told."""
    text = raw.decode("utf-8-sig", "replace")
    try:
        if form in TABLES:
            rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
            header = next(i for i, row in enumerate(rows) if row)
            return sum(bool(row) or len(rows[header]) == 1 for row in rows[header + 1 :])
        if form in LOGS:
            return len(functools.reduce(lambda inner, name: inner[name], LOGS[form], json.loads(text)))
    except (ValueError, LookupError, TypeError, StopIteration, csv.Error):
        return None
    return None if text.lstrip().startswith("[") else sum(bool(x.strip()) for x in re.split(r"\r\n|\r|\n", text))


def wrong(form: str, path: Path, plan: Plan, wanted: dict[tuple[str, str], tuple[str, str]]) -> tuple[str, str]:
    """What came of a file, and what is wrong with it; `wanted`: verdicts that it must give."""
    try:
        with within(60, str(path)):
            data = collect(plan, path)
    except JudgestatsError as problem:
        return "own errors", f"lost with {problem}" if wanted else ""
    except Exception:
        return "foreign errors", traceback.format_exc(limit=-4)
    account, calls = account_of(data), set(data["call"])
    assert account is not None
    criteria = max(1, len(next(iter(plan.prompts.values())).criteria))
    missing = int((data["status"] == "missing").groupby(data["call"]).all().sum())  # a form may be filled in in part
    with open_bytes(path) as file:
        records = came(form, file.read())
    if calls != set(plan.calls["call"]) or len(data) != len(calls) * criteria or len(account.places) != len(data):
        return "frames", f"{len(data)} rows of {len(calls)} calls, {missing} missing, of {len(plan)}"
    if records is not None and not len(calls) + account.n_excluded == account.records == records + missing:
        return "frames", f"{len(calls)} calls and {account.n_excluded} excluded of {records} records, {missing} missing"
    got = by_call(data)
    lost = {key: (value, got.get(key)) for key, value in wanted.items() if got.get(key) != value}
    return "frames", f"read otherwise: {lost}" if lost else ""


def called(record: Any, header: list[str]) -> str:
    """The call that a sound record answers."""
    return call_of(dict(zip(header, record, strict=True)) if isinstance(record, list) else record)


@pytest.mark.parametrize("files", FILES)
@pytest.mark.parametrize("form", [*FORMATS, "form"])
def test_every_record_and_every_call_is_accounted_for(form: str, files: int, tmp_path: Path) -> None:
    counts, faults = dict.fromkeys(COUNTS, 0), []
    suffix = "csv" if form in TABLES else "json" if form in LOGS else "jsonl"
    for number in range(files):
        rng = random.Random(f"{SEED} {form} {number}")
        plan, records, verdicts = study(form, number % 2 == 1)
        found, touched = altered_rows(records, rng) if form in TABLES else altered(records, rng)
        raw = written(form, found, rng)
        bytes_altered = rng.random() < 0.3
        path = tmp_path / f"{number}.{suffix}"
        path.write_bytes(damaged(raw, rng) if bytes_altered else raw)
        header = records[0] if form in TABLES else []
        sound = written(form, found, random.Random(0)) if form not in TABLES else raw
        lost = {called(r, header) for r in touched if r in records} if not (bytes_altered or sound != raw) else None
        wanted = {} if lost is None else {k: v for k, v in verdicts.items() if k[0] not in lost}
        what, problem = wrong(form, path, plan, wanted)
        counts["files"] += 1
        counts[what] = counts.get(what, 0) + 1
        if problem:
            faults.append(f"file {number}: {what}: {problem}")
        else:
            path.unlink()
    print(form, counts)
    assert not faults, f"{len(faults)} of {files} ({tmp_path}):\n" + "\n".join(faults[:20])
    assert counts["frames"] > files / 2
