"""Files compressed with gzip or zstd: how they are opened, and how much they may unpack to."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from judgestats.errors import SchemaError

#: Suffixes of compressed files.
PACKED = (".gz", ".zst")
#: Bytes that are read ahead, and by which the kind of a file is told.
PEEK = 65536
_GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
#: Size limits of an unpacked gzip file or archive: bytes in all, bytes always allowed, multiples of the packed size.
_LARGEST, _SMALL, _RATIO = 4 * 10**9, 100 * 10**6, 200
MAX_UNPACKED: ContextVar[int | None] = ContextVar("max_unpacked", default=None)


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacking it if it is compressed with gzip or zstd (by its first bytes, not by its name)."""
    raw = path.open("rb")
    mark = raw.peek(4)[:4]
    packed = mark.startswith((_GZIP, ZSTD))
    return cast("IO[bytes]", io.BufferedReader(_Unpacked(path, raw, mark), PEEK)) if packed else raw


def unpacked_limit(path: Path) -> int:
    """How many bytes a compressed file may unpack to; see :func:`unpacking`."""
    limit = MAX_UNPACKED.get()
    return min(_LARGEST, max(_SMALL, _RATIO * path.stat().st_size)) if limit is None else limit


class _Unpacked(io.RawIOBase):
    """A file compressed with gzip or zstd, with a limit on its unpacked size."""

    def __init__(self, path: Path, packed: IO[bytes], mark: bytes) -> None:
        self._path, self._size, self._packed = path, path.stat().st_size, packed
        zstd = mark.startswith(ZSTD)
        self._raw: Any = pa.CompressedInputStream(packed, "zstd") if zstd else gzip.GzipFile(fileobj=packed)
        self._most = unpacked_limit(path)
        self._got = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        got: int = self._raw.readinto(buffer)
        self._got += got
        if self._got > self._most:
            raise SchemaError(
                f"{self._path.name} unpacks to more than {self._most:,} bytes, from {self._size:,}. If this "
                "is intended, pass max_unpacked=, the number of bytes allowed.",
                advice=(("max_unpacked", None),),
            )
        return got

    def close(self) -> None:
        self._raw.close()
        self._packed.close()
        super().close()


@contextmanager
def unpacking(most: int | None) -> Iterator[None]:
    """Limit the unpacked size of compressed files, in bytes; None keeps the current limits."""
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise SchemaError(f"max_unpacked={most!r} should be a number of bytes, such as 10_000_000_000.")
    token = MAX_UNPACKED.set(MAX_UNPACKED.get() if most is None else most)
    try:
        yield
    finally:
        MAX_UNPACKED.reset(token)


def is_packed(path: Path) -> bool:
    """Whether a file is compressed with gzip or zstd."""
    return begins_with(path, _GZIP, ZSTD)


def begins_with(path: Path, *marks: bytes) -> bool:
    """Whether the first bytes of a file are one of these."""
    with path.open("rb") as raw:
        return raw.read(4).startswith(marks)


@contextmanager
def bytes_of(path: Path) -> Iterator[IO[bytes]]:
    """Yield the bytes of a file; a truncated archive or an unreadable file is a SchemaError."""
    try:
        with open_bytes(path) as raw:
            yield raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise _damaged_archive(path, "gzip", problem) from None
    except OSError as problem:
        if problem.errno is None and begins_with(path, ZSTD):
            raise _damaged_archive(path, "zstd", problem) from None
        raise SchemaError(f"{path.name}: the file cannot be opened ({problem.strerror or problem}).") from None


def _damaged_archive(path: Path, kind: str, problem: Exception) -> SchemaError:
    return SchemaError(
        f"{path.name}: the {kind} archive is truncated or damaged ({problem}). Nothing was read from it. Fetch or "
        f"write the file again; `{kind} -t` checks it."
    )


def unpacked_name(name: str) -> str:
    """File name without ``.gz`` or ``.zst``."""
    return name.rpartition(".")[0] if name.lower().endswith(PACKED) else name
