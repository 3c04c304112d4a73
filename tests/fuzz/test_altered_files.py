"""Fuzzing the readers: a frame whose rows add up, the same frame lazily, or an error of ours; nothing else.

JUDGESTATS_FUZZ says how many files a reader is given, by default 6 in ``make test`` and 40 in ``make test-slow``, 10,000 in ``make fuzz``;
the n-th file of a reader is always the same. JUDGESTATS_FUZZ_OUT names a folder for the counts, a CSV file a reader.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import signal
import sqlite3
import traceback
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import judgestats as js
from both_ways import difference, reading
from fuzz.mutations import (
    NATIVE,
    WRITTEN,
    arrow,
    damaged,
    delimited,
    document,
    jsonl,
    native,
    orc,
    parquet,
    qrels,
    sqlite,
    zipped,
)  # fmt: skip
from judgestats.ingest.archives import Archive
from judgestats.ingest.compressed_files import open_bytes
from judgestats.schema.account import account_of

SEED = 20_250_701
ASKED = os.environ.get("JUDGESTATS_FUZZ", "")
FILES = [int(ASKED)] if ASKED else [6, pytest.param(40, marks=pytest.mark.slow)]
OUT = os.environ.get("JUDGESTATS_FUZZ_OUT", "")
#: Seconds after which a file hangs a reader.
PATIENCE = 60
COUNTS = ("files", "frames", "own errors", "foreign errors", "hangs", "lost rows", "lazy differs")
MAKERS: dict[str, Callable[[random.Random], bytes]] = {
    "csv": delimited(","),
    "tsv": delimited("\t"),
    "jsonl": jsonl,
    "json": document,
    "parquet": parquet,
    "arrow": arrow,
    "orc": orc,
    "sqlite": sqlite,
    "zip": zipped,
    **{form: native(form) for form in NATIVE},
    **{form: make for form, (make, _) in WRITTEN.items()},
    "qrels": qrels,
}


def _listed(found: Any, name: str) -> list[Any]:
    """A list in an object; empty if it is anything else."""
    inner = found.get(name) if isinstance(found, dict) else None
    return inner if isinstance(inner, list) else []


def _metrics(case: Any) -> int:
    """Metrics of a test case of DeepEval and of its trace's spans."""
    spans = _listed(case.get("trace"), "llmSpans") if isinstance(case, dict) else []
    return max(1, sum(len(_listed(level, "metricsData")) for level in (case, *spans)))


def _assertions(result: Any) -> int:
    grading = result.get("gradingResult") if isinstance(result, dict) else None
    return max(1, len(_listed(grading, "componentResults")))


def _scored(sample: Any) -> int:
    """Metrics of a sample that does not list them."""
    known = NATIVE["lm_eval"].keys() - {"exact_match", "f1"}
    return sum(not isinstance(v, str | None) for k, v in sample.items() if k not in known)


def _of_jurors(document: Any) -> int | None:
    """Rows of a scenario state; None where the jurors themselves are disturbed."""
    if document.get("annotator_specs") != NATIVE["helm_annotations"]["annotator_specs"]:
        return None
    return sum(map(_annotations, _listed(document, "request_states")))


def _annotations(state: Any) -> int:
    """Scores of jurors, each annotator at least once, as an exclusion."""
    found = state.get("annotations") if isinstance(state, dict) else None
    return max(1, sum(map(_scores, found.items()))) if isinstance(found, dict) else 1


def _scores(annotation: tuple[str, Any]) -> int:
    name, fields = annotation
    if not isinstance(fields, dict):
        return 1
    ends = ("_score", "_equivalence_judgement")
    plain = sum(v is None or isinstance(v, float | int) for k, v in fields.items() if k.endswith(ends) or k == "score")
    nested = [v for v in fields.values() if isinstance(v, dict)]
    alone = sum("score" in v for v in nested)
    jury = [
        len(v) for v in nested if "score" not in v and any(isinstance(w, dict) and "score" in w for w in v.values())
    ]
    failed = int(name == "aci_bench" and "gpt" not in fields)
    return max(1, plain + alone + sum(jury) + failed * max([1, *jury]))


def _event(event: Any) -> int:
    data = event.get("data")
    plain = event.get("type") == "metrics" and isinstance(data, dict) and "choice" not in data
    return max(1, len(data)) if plain else 1


#: Exports of labels, whose records hold any number of verdicts: each gives a row or is excluded.
LABELLED = ("langfuse", "mlflow", "phoenix", "argilla", "label_studio", "label_studio_pairwise")
#: Verdicts and exclusions that a record of a log (or a log that is one object) holds.
PARTS: dict[str, Callable[[Any], int | None]] = {
    "promptfoo": lambda d: sum(map(_assertions, _listed(d["results"], "results") or _listed(d, "results"))),
    "promptfoo_jsonl": _assertions,
    "deepeval": lambda d: sum(map(_metrics, _listed(d, "testCases"))),
    "ragas_annotations": lambda d: sum(len(v) for v in d.values() if isinstance(v, list)),
    "ragas": lambda r: max(1, len(r.keys() - {"user_input", "response", "retrieved_contexts", "reference"})),
    "helm": lambda r: max(1, len(r["stats"])),
    "helm_annotations": _of_jurors,
    "lm_eval": lambda r: max(1, len(_listed(r, "metrics")) if r.get("metrics") is not None else _scored(r)),
    "openai_evals": _event,
    **dict.fromkeys(LABELLED, lambda _: None),
}
#: Options of readers of logs that do not name everything.
OPTIONS: dict[str, dict[str, str]] = {
    "llmbar": {"judge": "j", "strategy": "s"},
    "alpaca_eval": {"judge": "j"},
    "judgebench": {"judge": "j"},
    "helm": {"system": "m"},
    "lm_eval": {"system": "m"},
}
LAZY = ("csv", "tsv", "jsonl", "parquet", "arrow", "orc", "sqlite")
#: Readers of binary files: how many calls these hold is asked of the library that reads them.
BINARY: dict[str, Callable[[Path], int]] = {
    "arrow": lambda p: arrow_rows(p.read_bytes()),
    "orc": lambda p: pa.orc.ORCFile(p).nrows,
    "sqlite": lambda p: sqlite3.connect(p).execute("SELECT count(*) FROM calls").fetchone()[0],
}


class Hang(BaseException):
    """A reader that took too long."""


@contextmanager
def patience() -> Iterator[None]:
    """Raise :class:`Hang` where the clock runs out."""

    def stop(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def arrow_rows(raw: bytes) -> int:
    """Rows of Arrow IPC."""
    opened = pa.ipc.open_file(raw) if raw.startswith(b"ARROW1") else pa.ipc.open_stream(raw)
    return int(opened.read_all().num_rows)


def calls_in(path: Path, reader: str, unread: Collection[str] = ()) -> int | None:
    """How many calls a sound file holds, counted without the readers; None if that cannot be told.

    Members of a zip archive that check() names as unread, as ``archive/member``, are left out.
    """
    if reader in BINARY:
        return BINARY[reader](path)
    if reader == "zip":
        with zipfile.ZipFile(path) as archive:
            found = [n for n in archive.namelist() if n.startswith("run=") and f"{path.name}/{n}" not in unread]
            inside = [path.with_name(f"{path.stem}.{n.replace('/', '_')}") for n in found]
            for name, member in zip(found, inside, strict=True):
                member.write_bytes(archive.read(name))
        return sum(calls_in(member, member.suffix.removeprefix(".")) for member in inside)
    if reader == "parquet":
        with open_bytes(path) as raw:
            return int(pq.ParquetFile(io.BytesIO(raw.read())).metadata.num_rows)
    if reader == "inspect_eval":
        return calls_in_archive(path)
    with open_bytes(path) as raw:
        text = raw.read().decode("utf-8-sig")
    if reader in WRITTEN and reader != "inspect_json":
        return cells_in(list(csv.DictReader(io.StringIO(text, newline=""))), reader)
    if reader in ("csv", "tsv"):
        return lines_in(text, "," if reader == "csv" else "\t")
    if reader == "qrels":
        return sum(1 for line in text.replace("\r", "\n").split("\n") if line.strip())
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = [json.loads(line) for line in text.replace("\r", "\n").split("\n") if line.strip()]
    if reader == "inspect_json":
        return sum(map(values_in, found["samples"]))
    if isinstance(found, dict):
        found = found["data"] if isinstance(found.get("data"), list) else found
    if reader == "json" and isinstance(found, dict):
        values = list(found.values())
        both = len(values) > 1 and (
            all(isinstance(v, list) for v in values) or all(isinstance(v, dict) for v in values)
        )
        return len(values[0]) if both else 1
    found = [found] if isinstance(found, dict) else found
    if reader in PARTS:
        parts = [PARTS[reader](record) for record in found]
        return None if None in parts else sum(parts)
    if reader in ("fastchat_pair", "llmbar"):
        return 2 * len(found)
    if reader.startswith("arena_hard"):
        return sum(len(r["games"]) for r in found)
    if reader == "judgebench":
        return sum(len(r["judgments"]) for r in found)
    return len(found)


def records_seen(account: Any) -> int:
    """How many records of a file give a row or an exclusion, by their places."""
    places = [*account.places, *(e.place for e in account.excluded)]
    return len({" ".join(p.split(", ", 1)[1].split(",")[0].split()[:2]) for p in places})


def calls_in_archive(path: Path) -> int:
    """Values in the samples of a log; a sample that a later one replaces is one."""
    with Archive(path, 10**9) as archive:
        names = [n for n in archive.names() if re.fullmatch(r"samples/.*_epoch_\d+\.json", n, re.DOTALL)]
        replaced = sum(archive.repeated.get(n, 1) - 1 for n in names)
        return replaced + sum(values_in(sample_of(archive.read(n).decode("utf-8-sig"))) for n in names)


def sample_of(text: str) -> dict[str, Any]:
    """A sample; where what follows its scores is damaged, the part before: more is not read."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return json.loads(re.split(r'"metadata": \{\s*"topic"', text)[0].rstrip().rstrip(",") + "}")


def values_in(sample: dict[str, Any]) -> int:
    """Values of a sample: one a scorer, but one for each key of a dict and place of a list; a sample without scores is one."""
    scores = sample.get("scores")
    if scores is None and sample.get("score") is not None:
        scores = {"score": sample["score"]}
    if sample.get("invalidation") or not scores:
        return 1
    return sum(places_in(s["value"]) for s in scores.values())


def places_in(value: Any) -> int:
    return max(1, len(value)) if isinstance(value, list | dict) else 1


def cells_in(rows: list[dict[str, str]], reader: str) -> int:
    """Values in a table of Inspect: one a cell, but one for each key or place of JSON in it."""

    def places(text: str, opened: bool = True) -> int:
        try:
            return places_in(json.loads(text)) if opened and text[:1] in ("{", "[") else 1
        except ValueError:
            return 1

    rows = [{name.strip(): cell for name, cell in row.items()} for row in rows]
    names = {name for row in rows for name in row}
    if reader == "scout_labels":
        return len(rows) * len(names - {"id", "split"})
    if reader == "inspect_samples":
        details = {f"{name}_{detail}" for name in names for detail in ("answer", "explanation", "metadata")}
        scores = {name for name in names - details if name.startswith("score_") and name != "score_"}
        return sum(places(row[name]) for row in rows for name in scores)
    scalar = ("boolean", "number", "string", "null", "")
    return sum(places(r["value"], r["value_type"] not in scalar and not r.get("scan_error")) for r in rows)


def lines_in(text: str, separator: str) -> int:
    """Rows of a CSV file below its header: quotes hold line breaks, blank lines are none unless the table has one column."""
    rows, width, blank, inside, start, at = 0, 0, True, False, True, 0
    first = True
    while at < len(text):
        sign = text[at]
        at += 1
        if inside:
            if sign == '"':
                inside = text[at : at + 1] == '"'
                at += inside
            continue
        if sign in "\r\n":
            at += sign == "\r" and text[at : at + 1] == "\n"
            if not blank or (width == 0 and not first):
                rows += 1
                first = False
            blank, start = True, True
            continue
        blank = False
        if first and sign == separator:
            width += 1
        inside, start = start and sign == '"', sign == separator
    return rows + (not blank) - 1


def tried(path: Path, reader: str) -> tuple[str, str]:
    """What came of a file, as one of :data:`COUNTS`, and what is to be known of it."""
    options: dict[str, Any] = {}
    if reader in OPTIONS or reader in PARTS:
        options = {"format": reader, **OPTIONS.get(reader, {})}
    if reader in ("csv", "tsv", "jsonl", "json", "parquet", *BINARY, "zip"):
        options = {"counts": "n" if b'"n"' in path.read_bytes() else None}
    try:
        with patience():
            eager = reading(path, lazy=False, **options)
            frame = eager.table
            if frame is not None:
                checked = js.check(frame)
                found = checked.set_index("what")["n"]
                if found["rows in"] != found["rows used"] + found["rows excluded"]:
                    return "lost rows", "used and excluded are not the rows"
                wanted = calls_in(path, reader, set(checked.loc[checked["level"] == "file", "where"]))
                account = account_of(frame)
                unread = account.n_excluded if account is not None else 0
                if not len(frame) + unread == found["rows in"] == (found["rows in"] if wanted is None else wanted):
                    return (
                        "lost rows",
                        f"{wanted} calls, {len(frame)} rows, {unread} unread, {found['rows in']} in check()",
                    )
                if reader in LABELLED and account.records != records_seen(account):
                    return "lost rows", f"{account.records} records, {records_seen(account)} with a row or an exclusion"
            if reader in LAZY:
                told = difference(path, eager, **options)
                if told and not any(
                    said in told
                    for said in ("DuckDB cannot hold", "Leave lazy out", "the same call occurs more than once")
                ):
                    return "lazy differs", told
    except Hang:
        return "hangs", f"more than {PATIENCE} s"
    except Exception:
        return "foreign errors", traceback.format_exc(limit=-4)
    return ("frames", "") if frame is not None else ("own errors", "")


@pytest.mark.parametrize("files", FILES)
@pytest.mark.parametrize("reader", MAKERS)
def test_reader(reader: str, files: int, tmp_path: Path) -> None:
    suffix = reader if reader in (*LAZY, "zip", "json", "qrels") else "jsonl" if reader == "openai_evals" else "json"
    suffix = WRITTEN[reader][1] if reader in WRITTEN else suffix
    counts = dict.fromkeys(COUNTS, 0)
    wrong = []
    for number in range(files):
        rng = random.Random(f"{SEED} {reader} {number}")
        path = tmp_path / f"{number}.{suffix}"
        path.write_bytes(damaged(MAKERS[reader](rng), rng))
        what, told = tried(path, reader)
        counts["files"] += 1
        counts[what] += 1
        if what in COUNTS[3:]:
            wrong.append(f"file {number}: {what}: {told}")
            if len(wrong) <= 20:
                continue  # kept, to be looked at
        path.unlink()
    import resource  # not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(reader, counts, f"peak {peak:,} MB")
    if OUT:
        Path(OUT).mkdir(parents=True, exist_ok=True)
        with (Path(OUT) / f"readers_{reader}.csv").open("w", newline="") as out:
            rows = csv.writer(out, lineterminator="\n")
            rows.writerow(["reader", *COUNTS, "peak MB"])
            rows.writerow([reader, *counts.values(), peak])
    assert not wrong, f"{len(wrong)} of {files} ({tmp_path}):\n" + "\n".join(wrong[:20])
    if files >= 25:
        assert counts["frames"]
        assert counts["own errors"]
