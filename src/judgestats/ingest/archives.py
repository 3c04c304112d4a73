"""Zip archives, read member by member: stored, deflated or compressed with zstd."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections import Counter
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO

import pyarrow as pa

from judgestats.errors import SchemaError
from judgestats.ingest.compressed_files import unpacked_limit

_STORED, _DEFLATE, _ZSTD = 0, 8, 93
_METHODS = {9: "deflate64", 12: "bzip2", 14: "lzma", 20: "an early zstd", 95: "xz", 99: "AES encryption"}
#: First bytes of what a member may not be: zip, gzip, zstd, xz.
_PACKED = (b"PK\x03\x04", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00")
_LOCAL = struct.Struct("<4s22xHH")
#: In a name: no name, an absolute one, a drive, a NUL, a step upwards.
_OUTSIDE = re.compile(r"\A(?:\Z|[/\\]|[A-Za-z]:)|\x00|(?:\A|[/\\])\.\.(?:[/\\]|\Z)")
_REMEDY = "Write or fetch the file again; `unzip -t` checks it."


class Archive:
    """A zip archive whose members unpack in memory to at most `most` bytes; the last member of a name counts."""

    def __init__(self, path: Path, most: int) -> None:
        self.path = path
        self._members = self._members_within(most)
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Archive:
        self._file = self.path.open("rb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
        self._file = None

    def names(self) -> list[str]:
        """Names of the files in the archive, each once, in its order."""
        return [*self._members]

    def read(self, name: str) -> bytes:
        """Content of a member; one that is read outside of ``with`` opens the file for itself."""
        if self._file is None:
            with self:
                return self.read(name)
        member = self._members[name]
        packed = self._packed(member, self._file)
        try:
            if member.compress_type == _STORED:
                content = packed
            elif member.compress_type == _ZSTD:  # ``zipfile`` has it from Python 3.14 on
                content = pa.Codec("zstd").decompress(packed, member.file_size, asbytes=True) if packed else b""
            else:
                inflate = zlib.decompressobj(-zlib.MAX_WBITS)
                content = inflate.decompress(packed, member.file_size + 1)
        except (OSError, zlib.error, pa.ArrowException) as problem:
            raise self._damaged(f"member {name!r} cannot be decompressed ({problem})") from None
        if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise self._damaged(f"member {name!r} does not match its checksum or size")
        if content.startswith(_PACKED):
            raise SchemaError(
                f"{self.path.name}: member {name!r} is itself an archive or compressed. Nested archives are not read: "
                "unpack it and give the file inside."
            )
        return content

    def _packed(self, member: zipfile.ZipInfo, file: IO[bytes]) -> bytes:
        """The compressed bytes of a member, which stand behind its own header."""
        file.seek(member.header_offset)
        header = file.read(_LOCAL.size)
        if len(header) == _LOCAL.size:
            mark, name, extra = _LOCAL.unpack(header)
            if mark == b"PK\x03\x04":
                packed = file.read(name + extra + member.compress_size)[name + extra :]
                if len(packed) == member.compress_size:
                    return packed
        raise self._damaged(f"member {member.filename!r} is not where the list of members says")

    def _members_within(self, most: int) -> dict[str, zipfile.ZipInfo]:
        """The members by name, checked."""
        try:
            with zipfile.ZipFile(self.path) as listed:
                members = [m for m in listed.infolist() if not m.filename.endswith("/")]
        except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError, struct.error) as problem:
            raise self._damaged(f"its list of members cannot be read ({problem})") from None
        for member in members:
            self._check(member)
        total = sum(m.file_size for m in members)
        if total > most:
            raise SchemaError(
                f"{self.path.name} unpacks to {total:,} bytes, from {self.path.stat().st_size:,}; {most:,} are "
                "allowed. If this is intended, pass max_unpacked=, the number of bytes allowed.",
                advice=(("max_unpacked", None),),
            )
        self.repeated = {name: n for name, n in Counter(m.filename for m in members).items() if n > 1}
        return {m.filename: m for m in members}

    def _check(self, member: zipfile.ZipInfo) -> None:
        name, where = member.orig_filename, self.path.name
        if member.flag_bits & 0x1:
            raise SchemaError(f"{where}: member {name!r} is encrypted. Decrypt the archive, or write it without.")
        if _OUTSIDE.search(name):
            raise SchemaError(
                f"{where}: the name of member {name!r} leads outside the archive's folder. Nothing was read: write the "
                "archive with relative names."
            )
        if member.compress_type not in (_STORED, _DEFLATE, _ZSTD):
            method = _METHODS.get(member.compress_type, "unknown")
            raise SchemaError(
                f"{where}: member {name!r} is compressed with method {member.compress_type} ({method}). Read are "
                "stored, deflate and zstd: write the archive with one of these."
            )
        if member.compress_size < 0 or member.file_size < 0 or member.header_offset < 0:
            raise self._damaged(f"member {name!r} has a negative size or place")

    def _damaged(self, what: str) -> SchemaError:
        return SchemaError(f"{self.path.name}: the zip archive is truncated or damaged: {what}. {_REMEDY}")


def archive_of(path: Path) -> Archive:
    """A zip archive; the last one is remembered between recognition and reading, as a JSON document is."""
    state = path.stat()
    return _archive(path, unpacked_limit(path), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1)
def _archive(path: Path, most: int, *_: int) -> Archive:
    return Archive(path, most)


def forget_archive() -> None:
    """Free the archive that :func:`archive_of` remembers."""
    _archive.cache_clear()
