"""What separates the columns of a table in text."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from judgestats.errors import SchemaError
from judgestats.ingest.compressed_files import PEEK
from judgestats.ingest.file_heads import RecognisedFile, file_head

DELIMITERS = {"csv": ",", "tsv": "\t"}
SEPARATORS = (",", ";", "\t", "|")
SEPARATOR: ContextVar[str] = ContextVar("sep", default="")
#: First line by which Excel is told the separator.
_SEP_LINE = re.compile(r"sep=([^\r\n])[\r\n]*")
#: Rows by which the separator is told.
_FIRST_ROWS = 20


@contextmanager
def separated_by(sign: str | None) -> Iterator[None]:
    """Read CSV and TSV files with this separator; empty or None keeps the one set, or the one that each file has."""
    if sign and (not isinstance(sign, str) or len(sign.replace("\\t", "\t")) != 1 or sign in '"\r\n'):
        raise SchemaError(f"sep={sign!r} should be one character, such as ';'.")
    token = SEPARATOR.set((sign or "").replace("\\t", "\t") or SEPARATOR.get())
    try:
        yield
    finally:
        SEPARATOR.reset(token)


def separator_of(file: RecognisedFile) -> str:
    """The separator of a CSV or TSV file: by its first rows, where the usual one divides them unevenly."""
    if SEPARATOR.get():
        return SEPARATOR.get()
    usual = DELIMITERS[file.container]
    start = file.head.start or file_head(file.path).start
    lines = start.decode(file.encoding or "utf-8", "replace").lstrip("\ufeff").splitlines(keepends=True)
    if lines and (own := _SEP_LINE.fullmatch(lines[0])):
        return own[1]
    lines = lines[: -(len(start) == PEEK) or None] or lines  # the last may be cut off
    widths = {}
    for sign in SEPARATORS:
        rows = itertools.islice(filter(None, csv.reader(lines, delimiter=sign)), _FIRST_ROWS)
        widths[sign] = [len(row) for row in rows] or [0]
    even = [sign for sign, row_widths in widths.items() if row_widths[0] > 1 and len({*row_widths}) == 1]
    able = [sign for sign in even if widths[sign][0] >= widths[usual][0]]
    if usual in even or not (able or widths[usual][0] < 2):
        return usual
    return max(able or SEPARATORS, key=lambda sign: (widths[sign][0], sign == usual))
