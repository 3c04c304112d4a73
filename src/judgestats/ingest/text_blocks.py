"""Rows of text: those at the start of a block, those of a batch, and those that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from judgestats.errors import SchemaError
from judgestats.typing import Integers


def text_batch(rows: Sequence[Sequence[str]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows of text as a batch; the empty cell is missing."""
    columns = [pa.array([cell or None for cell in column], pa.large_string()) for column in zip(*rows, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


#: The place of a row that cannot be read, and why.
BrokenRow = tuple[str, SchemaError]
CHUNK = 8192
#: Characters that are parsed at a time.
BLOCK = 2**24


class TextRows(NamedTuple):
    """Rows at the start of a block: cells, the line of each (from 0), where they end, and how many lines that is."""

    cells: pa.RecordBatch
    lines: Integers
    end: int
    n_lines: int


def has_lone_cr(block: bytes) -> bool:
    """Whether a CR stands in a block without the LF of a line."""
    return b"\r" in block and block.count(b"\r") != block.count(b"\r\n")
