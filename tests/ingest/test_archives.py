"""Zip archives: what is read must be what was written, and what is wrong must be named."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from inspect_logs import zipped
from judgestats.errors import SchemaError
from judgestats.ingest.archives import Archive
from refusals import refused

Write = Callable[..., Path]
TEXT = ('{"explanation": "à la carte\\n", "value": "C"}' * 50).encode()
MOST = 10**6


def opened(path: Path, most: int = MOST) -> dict[str, bytes]:
    with Archive(path, most) as archive:
        return {name: archive.read(name) for name in archive.names()}


@pytest.mark.parametrize("method", [0, 8, 93])
def test_members_come_back_as_they_were(write: Write, method: int) -> None:
    members = {"header.json": b"{}", "samples/a b_epoch_1.json": TEXT, "samples/é.json": b""}
    assert opened(write("log.eval", zipped(members, method))) == members


def test_zipfile_writes_what_is_read(write: Write, tmp_path: Path) -> None:
    """Python's own archives, with a folder, a comment and sizes that follow the data."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.comment = b"made by hand"
        out.mkdir("samples")
        with out.open("samples/1.json", "w", force_zip64=True) as member:
            member.write(TEXT)
    assert opened(path) == {"samples/1.json": TEXT}
    path.write_bytes(b"#!/bin/sh\n" + path.read_bytes())
    assert opened(path) == {"samples/1.json": TEXT}


def test_several_frames_of_zstd(write: Write) -> None:
    """As Inspect writes members above 200 MB."""
    frames = b"".join(pa.Codec("zstd").compress(part, asbytes=True) for part in (TEXT, TEXT))
    raw = zipped({"a": frames}, 0)
    method = struct.pack("<H", 93)
    sizes = struct.pack("<III", zlib.crc32(TEXT * 2), len(frames), 2 * len(TEXT))
    raw = raw[:8] + method + raw[10:14] + sizes + raw[26:]
    at = raw.index(b"PK\x01\x02")
    raw = raw[: at + 10] + method + raw[at + 12 : at + 16] + sizes + raw[at + 28 :]
    assert opened(write("a.zip", raw)) == {"a": TEXT * 2}


def test_the_last_member_of_a_name_counts(write: Write) -> None:
    path = write("a.eval", zipped([("s", b"old"), ("t", b"1"), ("s", b"new")]))
    with Archive(path, MOST) as archive:
        assert (archive.names(), archive.repeated, archive.read("s")) == (["s", "t"], {"s": 2}, b"new")


@pytest.mark.parametrize("name", ["../a.json", "a/../../b", "/etc/passwd", "\\a", "C:\\a", "a\\..\\..\\b", ""])
def test_names_outside_the_folder(write: Write, name: str) -> None:
    with pytest.raises(SchemaError, match="leads outside the archive's folder"):
        opened(write("a.zip", zipped({name: TEXT})))


def test_more_than_allowed(write: Write) -> None:
    """The sum counts, before anything is unpacked; a list of members that lies is caught at the member."""
    path = write("a.zip", zipped({"a": bytes(6 * 10**5), "b": bytes(6 * 10**5)}))
    with pytest.raises(
        SchemaError, match=r"a\.zip unpacks to 1,200,000 bytes, from \d+; 1,000,000 are allowed.*max_unpacked="
    ):
        opened(path)
    assert len(opened(path, 2 * MOST)) == 2


@pytest.mark.parametrize("method", [8, 93])
def test_a_member_larger_than_it_says(write: Write, method: int) -> None:
    raw = zipped({"a": bytes(5000)}, method)
    short = raw.replace(struct.pack("<I", 5000), struct.pack("<I", 50))
    with pytest.raises(SchemaError, match=r"a\.zip: the zip archive is truncated or damaged: member 'a' "):
        opened(write("a.zip", short))


@pytest.mark.parametrize("method", [0, 8, 93])
def test_damaged(write: Write, method: int) -> None:
    raw = zipped({"a": TEXT, "b": TEXT}, method)
    at = raw.index(b"PK\x03\x04", 4)
    wrong = raw.replace(struct.pack("<I", zlib.crc32(TEXT)), struct.pack("<I", 1))
    refused(
        SchemaError,
        (raw[:-30], "truncated or damaged"),
        (raw[: len(raw) // 2], "truncated or damaged"),
        (raw[:10], "truncated or damaged"),
        (raw[:at] + b"PK\x07\x08" + raw[at + 4 :], "truncated or damaged"),
        (wrong, "member 'a' does not match its checksum or size"),
        of=lambda content: opened(write("a.zip", content)),
    )


def test_every_byte_matters_or_is_named(write: Write) -> None:
    """No damaged byte gives another library's error, nor content other than what was written."""
    raw = zipped({"a": TEXT, "b": b"x"}, 93)
    named = 0
    for i in range(len(raw)):
        path = write("a.zip", raw[:i] + bytes([raw[i] ^ 0x41]) + raw[i + 1 :])
        try:
            assert set(opened(path).values()) <= {TEXT, b"x"}
        except SchemaError:
            named += 1
    assert named > len(raw) / 2


def test_encrypted(write: Write) -> None:
    raw = zipped({"a": TEXT}).replace(struct.pack("<HH", 0x800, 93), struct.pack("<HH", 0x801, 93))
    with pytest.raises(SchemaError, match="member 'a' is encrypted"):
        opened(write("a.zip", raw))


@pytest.mark.parametrize(("method", "name"), [(12, "bzip2"), (14, "lzma"), (7, "unknown")])
def test_other_methods(write: Write, method: int, name: str) -> None:
    with pytest.raises(SchemaError, match=rf"method {method} \({name}\)\. Read are stored, deflate and zstd"):
        opened(write("a.zip", zipped({"a": TEXT}, method)))


@pytest.mark.parametrize(
    "inner", [zipped({"a": TEXT}), b"\x1f\x8b\x08\x00", pa.Codec("zstd").compress(TEXT, asbytes=True)]
)
def test_nested(write: Write, inner: Any) -> None:
    with pytest.raises(SchemaError, match="is itself an archive or compressed"):
        opened(write("a.zip", zipped({"inner": bytes(inner)})))
