"""What the reader of files makes of one."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

from judgestats.errors import SchemaError
from judgestats.ingest.files import File


def contents_or_refusal(path: Path) -> Any:
    """The cells and the lines of a file, or why it is refused."""
    lines = array("q")
    try:
        table = File.of(path).table(lines)
    except SchemaError as problem:
        return str(problem)
    return table.columns.tolist(), table.astype(object).where(table.notna(), None).to_numpy().tolist(), list(lines)
