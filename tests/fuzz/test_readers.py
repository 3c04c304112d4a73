"""Fuzzing the readers: a frame whose rows add up, the same frame lazily, or an error of ours; nothing else.

JUDGESTATS_FUZZ says how many files a reader is given, 25 by default and 10,000 in ``make fuzz``; the n-th file of a reader is always
the same. JUDGESTATS_FUZZ_OUT names a folder for the counts, a CSV file a reader.
"""

from __future__ import annotations

import csv
import json
import os
import random
import resource
import signal
import sqlite3
import traceback
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import judgestats as js
from both_ways import difference
from fuzz.mutations import NATIVE, arrow, damaged, delimited, document, jsonl, native, orc, parquet, sqlite, zipped
from judgestats.errors import JudgestatsError
from judgestats.ingest.files import open_bytes

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
    "arrow": arrow,
    "orc": orc,
    "sqlite": sqlite,
    "zip": zipped,
    **{form: native(form) for form in NATIVE},
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


def calls_in(path: Path, reader: str) -> int:
    """How many calls a sound file holds, counted without the readers."""
    if reader in BINARY:
        return BINARY[reader](path)
    if reader == "zip":
        with zipfile.ZipFile(path) as archive:
            found = [n for n in archive.namelist() if n.startswith("run=")]
            inside = [path.with_name(f"{path.stem}.{n.replace('/', '_')}") for n in found]
            for name, member in zip(found, inside, strict=True):
                member.write_bytes(archive.read(name))
        return sum(calls_in(member, member.suffix.removeprefix(".")) for member in inside)
    if reader == "parquet":
        with open_bytes(path) as raw:
            return int(pq.ParquetFile(raw).metadata.num_rows)
    with open_bytes(path) as raw:
        text = raw.read().decode("utf-8-sig")
    if reader in ("csv", "tsv"):
        return lines_in(text, "," if reader == "csv" else "\t")
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = [json.loads(line) for line in text.replace("\r", "\n").split("\n") if line.strip()]
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
    if reader in ("csv", "tsv", "jsonl", "json", "parquet", *BINARY, "zip"):
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
                if not len(frame) <= found["rows in"] == wanted:
                    return "lost rows", f"{wanted} calls, {len(frame)} rows, {found['rows in']} in check()"
                if found["rows in"] != found["rows used"] + found["rows excluded"]:
                    return "lost rows", "used and excluded are not the rows"
            if reader in LAZY:
                told = difference(path, **options)
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


@pytest.mark.parametrize("reader", MAKERS)
def test_reader(reader: str, tmp_path: Path) -> None:
    suffix = reader if reader in (*LAZY, "zip", "json") else "json"
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
