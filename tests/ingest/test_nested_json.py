"""Records as a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from judgestats.errors import SchemaError
from judgestats.ingest.files import File
from judgestats.ingest.nested_json import flatten


def test_deep_records_end_no_process(tmp_path: Path) -> None:
    path = tmp_path / "deep.jsonl"
    flat = '{"a": "x"}\n'
    path.write_text(flat * 300 + '{"a": ' * 100_000 + "1" + "}" * 100_000 + "\n" + flat)
    with pytest.raises(SchemaError, match="line 301"):
        File.of(path).table()


def test_nested_objects_are_opened() -> None:
    assert flatten({"judge": "g", "verdict": {"choice": "A"}}) == {"judge": "g", "verdict.choice": "A"}
