"""Compressed files: what they may unpack to."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import judgestats as js
from judgestats.cli import app
from judgestats.errors import SchemaError
from judgestats.ingest import compressed_files

Write = Callable[..., Path]
CALLS = "judge,item,first,second,choice\ng,1,x,y,first\n"


@pytest.fixture
def bomb(tmp_path: Path) -> Callable[[str, bytes], Path]:
    """A file of 110 MB whose archive is a thousandth of it."""

    def make(name: str, head: bytes) -> Path:
        with gzip.open(tmp_path / name, "wb", compresslevel=1) as out:
            out.write(head)
            for _ in range(110):
                out.write(b" " * 1_000_000)
        return tmp_path / name

    return make


@pytest.mark.parametrize(("name", "head"), [
    ("t.csv.gz", CALLS.encode() + b'g,2,x,"'),
    ("t.jsonl.gz", json.dumps({"judge": "g"}).encode() + b"\n"),
    ("t.json.gz", b"[ "),
    ("t.parquet.gz", b"PAR1"),
])  # fmt: skip
def test_an_archive_that_unpacks_to_too_much(bomb: Callable[[str, bytes], Path], name: str, head: bytes) -> None:
    path = bomb(name, head)
    for lazy in (False, True):
        if name != "t.json.gz" or not lazy:
            with pytest.raises(
                SchemaError, match=rf"{name} unpacks to more than 100,000,000 bytes, from .*max_unpacked="
            ):
                js.read(path, lazy=lazy)
    with pytest.raises(SchemaError, match="unpacks to more than 5,000,000 bytes"):
        js.read(path, max_unpacked=5_000_000)
    if name == "t.csv.gz":
        result = CliRunner().invoke(app, ["check", str(path), "--max-unpacked", "7000000"])
        assert result.exit_code == 2
        assert "unpacks to more than 7,000,000 bytes" in result.output
        assert "--max-unpacked BYTES" in result.output


def test_what_is_meant_to_be_large_is_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compressed_files, "_SMALL", 1000)
    lines = "".join(f"g,{'1' * 400}{i},x,y,first\n" for i in range(2, 2000))
    path = write("t.csv.gz", CALLS + lines)
    with pytest.raises(SchemaError, match="unpacks to more than"):
        js.read(path, max_unpacked=10_000)
    monkeypatch.setattr(compressed_files, "_RATIO", 2)
    with pytest.raises(SchemaError, match="unpacks to more than"):
        js.read(path)
    assert len(js.read(path, max_unpacked=10**7)) == 1999
    for wrong in (0, -1, True, 1.5, "9"):
        with pytest.raises(SchemaError, match="should be a number of bytes"):
            js.read(path, max_unpacked=wrong)  # type: ignore[arg-type]
