"""Fuzzing the readers: a frame whose rows add up, the same frame lazily, or an error of ours; nothing else.

JUDGESTATS_FUZZ says how many files a reader is given, 25 by default and 10,000 in ``make fuzz``; the n-th file of a reader is always
the same. JUDGESTATS_FUZZ_OUT names a folder for the counts, a CSV file a reader.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import resource
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import judgestats as js
from both_ways import difference
from fuzz.mutations import NATIVE, WRITTEN, damaged, delimited, document, jsonl, native, parquet
from judgestats.errors import JudgestatsError
from judgestats.ingest.archives import Archive
from judgestats.ingest.files import open_bytes
from judgestats.schema.account import account_of

SEED = 20_250_701
FILES = int(os.environ.get("JUDGESTATS_FUZZ", "25"))
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
    **{form: native(form) for form in NATIVE},
    **{form: make for form, (make, _) in WRITTEN.items()},
}
LAZY = ("csv", "tsv", "jsonl", "parquet")


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


def calls_in(path: Path, reader: str) -> int:
    """How many calls a sound file holds, counted without the readers."""
    if reader == "parquet":
        with open_bytes(path) as raw:
            return int(pq.ParquetFile(raw).metadata.num_rows)
    if reader == "inspect_eval":
        return calls_in_archive(path)
    with open_bytes(path) as raw:
        text = raw.read().decode("utf-8-sig")
    if reader in WRITTEN and reader != "inspect_json":
        return cells_in(list(csv.DictReader(io.StringIO(text, newline=""))), reader)
    if reader in ("csv", "tsv"):
        return lines_in(text, "," if reader == "csv" else "\t")
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
    if reader in ("fastchat_pair", "llmbar"):
        return 2 * len(found)
    if reader.startswith("arena_hard"):
        return sum(len(r["games"]) for r in found)
    if reader == "judgebench":
        return sum(len(r["judgments"]) for r in found)
    return len(found)


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
    if reader in ("llmbar", "alpaca_eval", "judgebench"):
        options = {"format": reader, "judge": "j"} | ({"strategy": "s"} if reader == "llmbar" else {})
    if reader in ("csv", "tsv", "jsonl", "json", "parquet"):
        options = {"counts": "n" if b'"n"' in path.read_bytes() else None}
    try:
        with patience():
            try:
                frame = js.read(path, **options)
            except JudgestatsError:
                frame = None
            if frame is not None:
                found = js.check(frame).set_index("what")["n"]
                wanted = calls_in(path, reader)
                if not len(frame) + account_of(frame).n_excluded == found["rows in"] == wanted:
                    return "lost rows", f"{wanted} calls, {len(frame)} rows, {found['rows in']} in check()"
                if found["rows in"] != found["rows used"] + found["rows excluded"]:
                    return "lost rows", "used and excluded are not the rows"
            if reader in LAZY:
                told = difference(path, **options)
                if told and not any(said in told for said in ("DuckDB cannot hold", "Leave lazy out")):
                    return "lazy differs", told
    except Hang:
        return "hangs", f"more than {PATIENCE} s"
    except Exception:
        return "foreign errors", traceback.format_exc(limit=-4)
    return ("frames", "") if frame is not None else ("own errors", "")


@pytest.mark.parametrize("reader", MAKERS)
def test_reader(reader: str, tmp_path: Path) -> None:
    suffix = WRITTEN[reader][1] if reader in WRITTEN else reader if reader in LAZY or reader == "json" else "json"
    counts = dict.fromkeys(COUNTS, 0)
    wrong = []
    for number in range(FILES):
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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(reader, counts, f"peak {peak:,} MB")
    if OUT:
        Path(OUT).mkdir(parents=True, exist_ok=True)
        with (Path(OUT) / f"readers_{reader}.csv").open("w", newline="") as out:
            rows = csv.writer(out, lineterminator="\n")
            rows.writerow(["reader", *COUNTS, "peak MB"])
            rows.writerow([reader, *counts.values(), peak])
    assert not wrong, f"{len(wrong)} of {FILES} ({tmp_path}):\n" + "\n".join(wrong[:20])
    if FILES >= 25:
        assert counts["frames"]
        assert counts["own errors"]
