"""JSON, JSONL and Parquet: records with the place each came from."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from judgestats.errors import SchemaError
from judgestats.ingest.files import bytes_of, text_of

#: A record and where it stands: ``("line 12", {...})``.
Record = tuple[str, dict[str, Any]]

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
#: What pandas calls a nameless index in a Parquet file.
ROW_NUMBERS = re.compile(r"__index_level_\d+__")
_SHAPES = 'a list of records, a dict of columns, or {"data": [...]}'


def json_lines(path: Path, encoding: str | None = None) -> Iterator[Record]:
    """Yield the records of a JSONL file with their lines; a broken line is a SchemaError that names it."""
    with text_of(path, encoding) as text:
        for number, line in enumerate(text, start=1):
            if not line.strip():
                continue
            try:
                record = _loaded(line)
            except (ValueError, RecursionError) as problem:
                last = not any(rest.strip() for rest in text)
                raise SchemaError(_broken_line(path, number, line, problem, last)) from None
            if not isinstance(record, dict):
                raise SchemaError(
                    f"{path.name}, line {number}: a {_kind(record)}, where each line should be one JSON object "
                    f"({{...}}). Got: {line.strip()[:60]!r}."
                )
            yield f"line {number}", record


def _loaded(text: str) -> Any:
    """Parse JSON; half of a character (a lone surrogate, as truncated emoji leave behind) becomes U+FFFD."""
    value = json.loads(text)
    return _whole_characters(value) if _SURROGATE.search(text) else value


def _whole_characters(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole_characters(v) for v in value]
    if isinstance(value, dict):
        return {_whole_characters(k): _whole_characters(v) for k, v in value.items()}
    return value


def _broken_line(path: Path, number: int, line: str, problem: Exception, last: bool) -> str:
    what = f"{problem.msg}, column {problem.colno}" if isinstance(problem, json.JSONDecodeError) else str(problem)
    text = f"{path.name}, line {number}: not valid JSON ({what}). It ends: {line.rstrip()[-40:]!r}. "
    if last:
        return text + (
            "It is the last line: the file was probably cut off while it was written. Write it again, or delete that "
            "line, so that it is you who drops the call."
        )
    return text + "Mend or delete that line: no line is skipped silently."


def json_document(path: Path, encoding: str | None = None) -> Any:
    """Parse a JSON file; a .json file with one record per line comes back as a list of records."""
    with text_of(path, encoding) as text:
        content = text.read()
    try:
        return _loaded(content)
    except json.JSONDecodeError as problem:
        if problem.msg == "Extra data":
            return [record for _, record in json_lines(path, encoding)]
        end = len(content.rstrip())
        cure = (
            "The file ends before the JSON does: it was probably cut off while it was written. Write or fetch it again."
            if problem.pos >= end - 1 or problem.msg.startswith("Unterminated string")
            else "Mend that place."
        )
        raise SchemaError(
            f"{path.name}, line {problem.lineno}, column {problem.colno}: not valid JSON ({problem.msg}). {cure}"
        ) from None
    except (ValueError, RecursionError) as problem:
        raise SchemaError(f"{path.name}: not valid JSON ({problem}).") from None


def json_records(path: Path, encoding: str | None = None) -> list[Record]:
    """Records of a JSON file: a list, a dict of columns, {"data": [...]}, or a single record."""
    document = json_document(path, encoding)
    if isinstance(document, dict) and isinstance(document.get("data"), list):
        document = document["data"]
    if isinstance(document, dict):
        document = _columns_to_records(document, path) or [document]
    if not isinstance(document, list):
        raise SchemaError(f"{path.name} holds a {_kind(document)}; it should hold {_SHAPES}.")
    for i, record in enumerate(document, start=1):
        if not isinstance(record, dict):
            raise SchemaError(
                f"{path.name}, record {i}: a {_kind(record)} ({str(record)[:40]!r}), where each record should be a "
                f"JSON object. The file should hold {_SHAPES}."
            )
    return [(f"record {i}", record) for i, record in enumerate(document, start=1)]


def is_single_record(path: Path, encoding: str | None = None) -> bool:
    """Whether a JSON file holds one record (one judge call), not a table."""
    document = json_document(path, encoding)
    if not isinstance(document, dict) or isinstance(document.get("data"), list):
        return False
    return not _columns_to_records(document, path)


def _columns_to_records(document: Mapping[str, Any], path: Path) -> list[dict[str, Any]]:
    """Turn {"judge": [...], "item": [...]} (or pandas' {"judge": {"0": ...}}) around; anything else gives []."""
    if len(document) < 2:
        return []
    values = list(document.values())
    if all(isinstance(v, dict) for v in values) and len({tuple(v) for v in values}) == 1 and values[0]:
        if not all(str(k).isdigit() for k in values[0]):
            return []
        values = [list(v.values()) for v in values]
    elif not all(isinstance(v, list) for v in values):
        return []
    lengths = {name: len(v) for name, v in zip(document, values, strict=True)}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise SchemaError(
            f"{path.name}: its columns have different lengths ({listed}). Nothing says which rows belong together."
        )
    return [dict(zip(document, row, strict=True)) for row in zip(*values, strict=True)]


def parquet_table(path: Path) -> pd.DataFrame:
    """Read a Parquet file; ids stay exact (integers with gaps do not become floats)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with bytes_of(path) as raw:
            table = pq.read_table(io.BytesIO(raw.read()))
    except pa.ArrowException as problem:
        raise SchemaError(
            f"{path.name}: not a whole Parquet file ({str(problem).splitlines()[0]}). Write or fetch it again."
        ) from None
    repeated = sorted({n for n in table.column_names if table.column_names.count(n) > 1})
    if repeated:
        raise SchemaError(
            f"{path.name} repeats the column {', '.join(map(repr, repeated))}. Rename them so that each is unique."
        )
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(field.type.value_type))
    table = table.select([n for n in table.column_names if not ROW_NUMBERS.fullmatch(n)])
    frame: pd.DataFrame = table.replace_schema_metadata(None).to_pandas(integer_object_nulls=True)
    if frame.empty:
        raise SchemaError(f"{path.name} has columns ({', '.join(map(str, frame.columns))}) but no rows.")
    for name in frame.columns:
        if frame[name].dtype == object:
            frame[name] = [as_text(v) for v in frame[name]]
    return frame


def table_of(records: list[Record]) -> pd.DataFrame:
    """Records as a table of text: nested objects become ``outer.inner`` columns, lists stay JSON."""
    flat = [flatten(record) for _, record in records]
    names = list(dict.fromkeys(name for record in flat for name in record))
    return pd.DataFrame({name: [as_text(record.get(name)) for record in flat] for name in names})


def flatten(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Open nested objects.

    Examples
    --------
    >>> flatten({"judge": "g", "verdict": {"choice": "A"}})
    {'judge': 'g', 'verdict.choice': 'A'}
    """
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict) and value:
            flat.update(flatten(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def as_text(value: Any) -> str | None:
    """Return a JSON value as the text a CSV cell would hold; null, NaN and the empty text are missing."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return None if value != value else str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, int):
        return str(value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:  # a NumPy array or a timestamp inside Parquet
        return str(value)


def _kind(value: Any) -> str:
    names = {
        list: "list",
        str: "text",
        int: "number",
        float: "number",
        bool: "true/false",
        type(None): "null",
        dict: "JSON object",
    }
    return names.get(type(value), type(value).__name__)
