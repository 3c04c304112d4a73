"""One file: how it is opened, decoded and told apart, and what is said when that fails."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, Literal, cast

from judgestats.errors import SchemaError

Container = Literal["csv", "tsv", "json", "jsonl", "parquet"]

#: What a file name says, before and after ``.gz``.
SUFFIXES: dict[str, Container] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_GZIP = b"\x1f\x8b"
_PEEK = 65536
#: What a gzipped file may unpack to: so many bytes, beyond the small ones only so many times its size.
_LARGEST, _SMALL, _RATIO = 4 * 10**9, 100 * 10**6, 200
_MOST: ContextVar[int | None] = ContextVar("max_unpacked", default=None)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacking it if it is gzipped (told by its first bytes, not by its name)."""
    return cast("IO[bytes]", io.BufferedReader(_Unpacked(path), _PEEK)) if is_packed(path) else path.open("rb")


class _Unpacked(io.RawIOBase):
    """A gzipped file that unpacks to no more than it may."""

    def __init__(self, path: Path) -> None:
        self._path, self._raw, self._size = path, gzip.GzipFile(path), path.stat().st_size
        given = _MOST.get()
        self._most = min(_LARGEST, max(_SMALL, _RATIO * self._size)) if given is None else given
        self._got = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        got = self._raw.readinto(buffer)
        self._got += got
        if self._got > self._most:
            raise SchemaError(
                f"{self._path.name} unpacks to more than {self._most:,} bytes, from {self._size:,}. If it is meant to "
                "be so large, pass max_unpacked=, the number of bytes it may have."
            )
        return got

    def close(self) -> None:
        self._raw.close()
        super().close()


@contextmanager
def unpacking(most: int | None) -> Iterator[None]:
    """Let gzipped files unpack to so many bytes; None leaves what is set, at first :data:`_LARGEST` and the others."""
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise SchemaError(f"max_unpacked={most!r} should be a number of bytes, such as 10_000_000_000.")
    token = _MOST.set(_MOST.get() if most is None else most)
    try:
        yield
    finally:
        _MOST.reset(token)


def is_packed(path: Path) -> bool:
    """Whether a file is gzipped."""
    with path.open("rb") as raw:
        return raw.read(2) == _GZIP


@contextmanager
def bytes_of(path: Path) -> Iterator[IO[bytes]]:
    """Yield the bytes of a file; a truncated archive or an unreadable file is a SchemaError."""
    try:
        with open_bytes(path) as raw:
            yield raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise SchemaError(
            f"{path.name}: the gzip archive is truncated or damaged ({problem}). "
            "Nothing was read from it. Fetch or write the file again; `gzip -t` tells whether it is whole."
        ) from None
    except OSError as problem:
        raise SchemaError(f"{path.name}: the file cannot be opened ({problem.strerror or problem}).") from None


@contextmanager
def text_of(path: Path, encoding: str | None = None) -> Iterator[IO[str]]:
    """Yield the text of a file (UTF-8, with or without a byte-order mark, unless told otherwise)."""
    try:
        with bytes_of(path) as raw, io.TextIOWrapper(raw, encoding=encoding or "utf-8-sig", newline="") as text:
            yield text
    except UnicodeError:
        raise wrong_encoding(path, encoding) from None


def wrong_encoding(path: Path, encoding: str | None) -> SchemaError:
    """Say where a file stops being the text it should be, and what it may be instead."""
    wanted = encoding or "utf-8"
    with bytes_of(path) as raw:
        start = raw.read(4)
    for mark, name in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if start.startswith(mark):
            return _encoding_error(path, wanted, f"it begins with the byte-order mark of {name}", name)
    with bytes_of(path) as raw:
        for number, line in enumerate(raw, start=1):
            try:
                line.decode(wanted)
            except UnicodeDecodeError as problem:
                guess = _guess(line)
                shown = line[max(0, problem.start - 15) : problem.start + 15].decode(guess, "replace").strip()
                where = f"line {number}, byte {problem.start + 1} of the line is 0x{line[problem.start]:02x}"
                return _encoding_error(path, wanted, f"{where} (read as {guess}: {shown!r})", guess)
    return _encoding_error(path, wanted, "its text ends in the middle of a character", "utf-16")


def _guess(line: bytes) -> str:
    try:
        line.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _encoding_error(path: Path, wanted: str, where: str, guess: str) -> SchemaError:
    return SchemaError(
        f"{path.name} is not {wanted}: {where}. Save it as UTF-8, or pass encoding={guess!r} if that is what it is."
    )


def peek(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked; an empty file is a SchemaError."""
    with bytes_of(path) as raw:
        start = raw.read(_PEEK)
    if not start.strip(b"\xef\xbb\xbf \t\r\n"):
        raise SchemaError(f"{path.name} is empty (no data in it). Was it written to the end, or is it the wrong file?")
    return start


def container_of(path: Path, encoding: str | None = None) -> Container:
    """Tell CSV, TSV, JSON, JSONL and Parquet apart, by the name and by what stands in the file.

    Parameters
    ----------
    path : Path
        The file.
    encoding : str, optional
        Its encoding, if not UTF-8.

    Returns
    -------
    {'csv', 'tsv', 'json', 'jsonl', 'parquet'}

    Raises
    ------
    SchemaError
        If it is empty, or none of these.
    """
    _known(encoding)
    start = peek(path)
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"PK\x03\x04"):
        if path.suffix.lower() == ".eval":
            raise SchemaError(
                f"{path.name} is a zip archive that looks like an inspect_ai log; it is not read yet: see judgestats "
                "formats. Write its samples out as a table."
            )
        raise SchemaError(
            f"{path.name} is a zip archive, or a format built on one. Unpack it and give the file inside."
        )
    named = SUFFIXES.get(Path(_without_gz(path.name)).suffix.lower())
    text = start.decode(encoding or "utf-8", "replace").lstrip("\ufeff \t\r\n")
    if named == "parquet":
        raise SchemaError(f"{path.name} is named Parquet but does not begin as a Parquet file does (PAR1).")
    if named in ("json", "jsonl") or (named is None and text[:1] in ("{", "[")):
        return _json_or_lines(text, named)
    if named is not None:
        return named
    if b"\x00" in start and encoding is None and start[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        raise SchemaError(f"{path.name} is no text. judgestats.formats() lists what can be read.")
    first = text.splitlines()[0]
    if "\t" in first or "," in first:
        return "tsv" if first.count("\t") > first.count(",") else "csv"
    raise SchemaError(
        f"{path.name} is none of CSV, TSV, JSON, JSONL and Parquet, by its name or by its first line "
        f"({first[:40]!r}). judgestats.formats() lists what can be read."
    )


def _known(encoding: str | None) -> None:
    try:
        b"a".decode(encoding or "utf-8", "replace")
        io.TextIOWrapper(io.BytesIO(), encoding=encoding or "utf-8")
    except (LookupError, ValueError):
        raise SchemaError(
            f"encoding={encoding!r} is not an encoding that Python knows, such as 'utf-8', 'cp1252'."
        ) from None


def _without_gz(name: str) -> str:
    return name[:-3] if name.lower().endswith(".gz") else name


def _json_or_lines(text: str, named: Container | None) -> Container:
    """A .json file often holds one record per line, and a .jsonl file one list."""
    if text.startswith("["):
        return "json"
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.strip().startswith("{") for line in lines[:2]) and lines[0].rstrip().endswith("}"):
        return "jsonl"
    return named or "json"
