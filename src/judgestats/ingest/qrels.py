"""Lines of TREC relevance judgments (qrels): topic, iteration, document, grade, between spaces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from judgestats.errors import SchemaError
from judgestats.ingest.decoding import text_of
from judgestats.ingest.text_blocks import CHUNK, text_batch

QRELS = ("topic", "iteration", "document", "grade")
_QRELS = re.compile(r"\s*(\S+)[ \t]+(\d+|Q0)[ \t]+(\S+)[ \t]+(-?\d{1,9})\s*")


def are_qrels(lines: list[str]) -> bool:
    """Whether all of these lines are relevance judgments."""
    return bool(lines) and all(_QRELS.fullmatch(line) for line in lines if line.strip())


def qrels_batches(path: Path, encoding: str | None = None) -> Iterator[pa.RecordBatch]:
    """Read a file of TREC relevance judgments as batches of text; a line of another form is a SchemaError."""
    schema = pa.schema([(name, pa.large_string()) for name in QRELS])
    with text_of(path, encoding) as text:
        judgments = []
        for number, line in enumerate(text, start=1):
            match = _QRELS.fullmatch(line)
            if match:
                judgments.append(match.groups())
            elif line.strip():
                raise SchemaError(
                    f"{path.name}, line {number}: {line.strip()[:60]!r} is not 'topic iteration document grade', as "
                    "in the lines before it. Correct or delete the line."
                )
            if len(judgments) == CHUNK:
                yield text_batch(judgments, schema)
                judgments = []
        if judgments:
            yield text_batch(judgments, schema)
