"""JSON files as records: a list, a dict of columns, an object of answers by name, or a single record."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from judgestats.errors import SchemaError
from judgestats.ingest.archives import forget_archive
from judgestats.ingest.compressed_files import MAX_UNPACKED
from judgestats.ingest.decoding import text_of
from judgestats.ingest.json_lines import json_lines
from judgestats.ingest.json_values import Fields, Record, RepeatedField, Row, json_type, parsed_json, trailing_comma

_SHAPES = 'a list of records, a dict of columns, or {"data": [...]}'


def json_document(path: Path, encoding: str | None = None) -> Any:
    """Parse a JSON file, one record per line as a list; the last one is remembered, see :func:`forget_document`."""
    state = path.stat()
    return _json_document(path, encoding, state.st_mtime_ns, state.st_size, MAX_UNPACKED.get())


@lru_cache(maxsize=1)
def _json_document(path: Path, encoding: str | None, *_: int | None) -> Any:
    with text_of(path, encoding) as text:
        content = text.read()
    try:
        return parsed_json(content)
    except json.JSONDecodeError as problem:
        if problem.msg == "Extra data":
            return [record for _, record in json_lines(path, encoding)]
        end = len(content.rstrip())
        remedy = (
            "Delete the comma before the closing bracket."
            if trailing_comma(problem) and content.rstrip()[-1:] != ","
            else "The file ends before the JSON does: it was probably cut off while written. Write or fetch it again."
            if problem.pos >= end - 1 or problem.msg.startswith("Unterminated string")
            else "Correct it."
        )
        raise SchemaError(
            f"{path.name}, line {problem.lineno}, column {problem.colno}: not valid JSON ({problem.msg}). {remedy}"
        ) from None
    except RepeatedField as problem:
        raise SchemaError(f"{path.name}: {problem}. Rename or remove one.") from None
    except (ValueError, RecursionError) as problem:
        raise SchemaError(f"{path.name}: not valid JSON ({problem}).") from None


def forget_document() -> None:
    """Free the document that :func:`json_document` remembers, or the archive."""
    _json_document.cache_clear()
    forget_archive()


def json_records(path: Path, encoding: str | None = None) -> list[Record]:
    """Records of a JSON file: a list, a dict of columns, {"data": [...]}, or a single record."""
    document = json_entries(json_document(path, encoding), path)
    for i, record in enumerate(document, start=1):
        if not isinstance(record, dict):
            raise SchemaError(
                f"{path.name}, record {i}: a {json_type(record)} ({str(record)[:40]!r}), where each record should be a "
                f"JSON object. The file should hold {_SHAPES}."
            )
    return [(f"record {i}", record) for i, record in enumerate(document, start=1)]


def json_entries(document: object, path: Path) -> list[Any]:
    """The entries of a JSON document, which should be records."""
    if isinstance(document, dict) and isinstance(document.get("data"), list):
        document = document["data"]
    if isinstance(document, dict):
        document = _columns_to_records(document, path) or [document]
    if not isinstance(document, list):
        raise SchemaError(f"{path.name} holds a {json_type(document)}; it should hold {_SHAPES}.")
    return document


def is_single_record(path: Path, encoding: str | None = None) -> bool:
    """Whether a JSON file holds one record (one judge call), not a table."""
    document = json_document(path, encoding)
    if not isinstance(document, dict) or isinstance(document.get("data"), list):
        return False
    return not _columns_to_records(document, path)


def _columns_to_records(document: Fields, path: Path) -> list[Row]:
    """Turn {"judge": [...], "item": [...]} (or pandas' {"judge": {"0": ...}}) around; anything else gives []."""
    if len(document) < 2:
        return []
    values = list(document.values())
    if all(isinstance(v, dict) for v in values) and len({tuple(v) for v in values}) == 1 and values[0]:
        if not all(str(k).isdigit() for k in values[0]):
            return _answers_by_name(document)
        values = [list(v.values()) for v in values]
    elif not all(isinstance(v, list) for v in values):
        return _answers_by_name(document)
    lengths = {name: len(v) for name, v in zip(document, values, strict=True)}
    if len(set(lengths.values())) > 1:
        if all(isinstance(cell, dict) for v in values for cell in v):
            return []  # lists of records by name, no columns
        listed = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise SchemaError(
            f"{path.name}: its columns have different lengths ({listed}), so rows cannot be matched. Correct the file."
        )
    return [dict(zip(document, row, strict=True)) for row in zip(*values, strict=True)]


#: Rows from which objects of answers are a table, and answers that are labels.
_ROWS, _LABELS = 3, 10


def _answers_by_name(document: Fields) -> list[Row]:
    """Turn {"gpt": {"q1": "A", ...}, "claude": {...}} into a row for each of the more numerous names; else []."""
    objects = list(document.values())
    if not all(isinstance(v, dict) and v for v in objects):
        return []
    inner = dict.fromkeys(name for v in objects for name in v)
    cells = [cell for v in objects for cell in v.values() if cell is not None]
    numbers = all(isinstance(c, int | float) for c in cells)
    labels = all(isinstance(c, str) for c in cells) and len({*cells}) <= _LABELS
    shared = all(2 * len(v) >= len(inner) for v in objects)
    if shared and len(document) >= _ROWS and not (numbers or labels) and not any(map(str.isdigit, inner)):
        key = "id" if "id" not in inner else "key"
        return [{key: name, **v} for name, v in document.items()]
    if (
        min(len(inner), len(document)) < 2
        or max(len(inner), len(document)) < _ROWS
        or not (shared and (numbers or labels))
    ):
        return []
    if len(inner) >= len(document):
        return [{"item": name, **{column: v.get(name) for column, v in document.items()}} for name in inner]
    return [{"item": name, **{column: v.get(column) for column in inner}} for name, v in document.items()]
