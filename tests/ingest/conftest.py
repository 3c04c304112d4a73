"""Small files, written on the spot."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write text, bytes or records (one a line, or a list) to a file; the name says whether it is gzipped."""

    def _write(name: str, content: str | bytes | Iterable[Any]) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, str | bytes):
            records = list(content)
            lines = "jsonl" in name
            content = "\n".join(json.dumps(r) for r in records) + "\n" if lines else json.dumps(records)
        raw = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return _write


CANONICAL = "judge,item,first,second,choice\ng,1,x,y,first\ng,1,y,x,tie\n"


@pytest.fixture
def canonical_csv(write: Callable[..., Path]) -> Path:
    """Two calls under canonical names."""
    return write("calls.csv", CANONICAL)


@pytest.fixture
def replies() -> list[str]:
    """Two answers, a tie, and three replies without an answer."""
    return ["[[A]]", "[[B]]", "Winner: tie", "[[A]] or [[B]]", "", "I'm sorry, but I can't help with that."]


@pytest.fixture
def reply_table(replies: list[str]) -> pd.DataFrame:
    """Replies in a column, under names that are not canonical."""
    return pd.DataFrame({"j": "g", "q": list("112233"), "a": ["x", "y"] * 3, "b": ["y", "x"] * 3, "reply": replies})
