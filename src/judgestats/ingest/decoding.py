"""Bytes as text: encodings, and what is said where one is wrong."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from judgestats.errors import SchemaError
from judgestats.ingest.compressed_files import PEEK, bytes_of
from judgestats.ingest.file_heads import RecognisedFile

#: Bytes that no text holds, besides tabs, ends of lines and pages, and escapes.
_CONTROLS = sorted({*range(32)} - {9, 10, 11, 12, 13, 27})


@contextmanager
def text_of(path: Path, encoding: str | None = None, errors: str = "strict") -> Iterator[IO[str]]:
    """Yield the text of a file (UTF-8, with or without a byte-order mark, unless `encoding` says otherwise)."""
    try:
        with bytes_of(path) as raw, io.TextIOWrapper(raw, encoding or "utf-8-sig", errors, newline="") as text:
            yield text
    except UnicodeError:
        raise wrong_encoding(path, encoding) from None


def wrong_encoding(path: Path, encoding: str | None) -> SchemaError:
    """The error for a file in another encoding: where decoding fails, and a likely encoding."""
    wanted = encoding or "utf-8"
    with bytes_of(path) as raw:
        start = raw.read(4096)
    for mark, name in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if start.startswith(mark):
            return _encoding_error(path, wanted, f"it begins with the byte-order mark of {name}", name)
    controls = sum(start.count(code) for code in _CONTROLS)
    if controls > len(start) / 50 and b"\0" in start and start.count(b"\0") < len(start) / 5:  # UTF-16 has more NUL
        return SchemaError(
            f"{path.name} is no text: {controls:,} of its first {len(start):,} bytes are control bytes, such as NUL, "
            "and no encoding helps. Give a file of verdicts; `judgestats formats` lists what is read."
        )
    with bytes_of(path) as raw:
        for number, line in enumerate(raw, start=1):
            try:
                line.decode(wanted)
            except UnicodeDecodeError as problem:
                guess = _guess(line)
                excerpt = line[max(0, problem.start - 15) : problem.start + 15].decode(guess, "replace").strip()
                where = f"line {number}, byte {problem.start + 1} of the line is 0x{line[problem.start]:02x}"
                return _encoding_error(path, wanted, f"{where} (read as {guess}: {excerpt!r})", guess)
    return _encoding_error(path, wanted, "its text ends in the middle of a character", "utf-16")


def _guess(line: bytes) -> str:
    try:
        line.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _encoding_error(path: Path, wanted: str, where: str, guess: str) -> SchemaError:
    return SchemaError(
        f"{path.name} is not {wanted}: {where}. Save it as UTF-8, or pass encoding={guess!r} if that is its encoding.",
        advice=(("encoding", guess),),
    )


def refuse_unknown_encoding(encoding: str | None) -> None:
    """Raise where Python has no encoding of that name."""
    try:
        b"a".decode(encoding or "utf-8", "replace")
        io.TextIOWrapper(io.BytesIO(), encoding=encoding or "utf-8")
    except (LookupError, ValueError):
        raise SchemaError(
            f"encoding={encoding!r} is not an encoding that Python knows, such as 'utf-8', 'cp1252'."
        ) from None


def decoded_start(file: RecognisedFile) -> tuple[str, bool]:
    """The beginning of a text, and whether it is all of it."""
    decoder = codecs.getincrementaldecoder(file.encoding or "utf-8-sig")()
    try:
        return decoder.decode(file.head.start), 0 < len(file.head.start) < PEEK
    except UnicodeError:
        raise wrong_encoding(file.path, file.encoding) from None
