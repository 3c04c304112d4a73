"""JSON as it is parsed: a field stands once in an object, and a lone surrogate is U+FFFD."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from judgestats.errors import SchemaError
from judgestats.ingest.archives import Archive

#: The fields of a record, whose types a reader checks; a row of a frame, as a reader gives it.
Fields = Mapping[str, Any]
Row = dict[str, Any]
#: A record and its place: ``("line 12", {...})``.
Record = tuple[str, Row]
_CLOSED = re.compile(r",\s*[\]}]")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parsed_json(text: str) -> Any:
    """Parse JSON; a lone surrogate (from a truncated emoji) becomes U+FFFD."""
    value = _decode_json(text)
    return _whole_characters(value) if _SURROGATE.search(text) else value


def _once_each(pairs: list[tuple[str, Any]]) -> Row:
    """A JSON object; one that names a field twice is refused, where Python would keep the last."""
    value = dict(pairs)
    if len(value) < len(pairs):
        name = next(n for n, times in Counter(n for n, _ in pairs).items() if times > 1)
        raise RepeatedField(f"the field {name!r} occurs more than once in one object")
    return value


class RepeatedField(ValueError):
    """A JSON object that names a field twice."""


#: One decoder for all texts: ``json.loads`` makes one for each, which takes as long as to decode a short line.
_decode_json = json.JSONDecoder(object_pairs_hook=_once_each).decode
_STRICT, _ANY = json.JSONDecoder(object_pairs_hook=_once_each).raw_decode, json.JSONDecoder().raw_decode
#: The name of a field of a JSON object, with what stands before its value: of the first field, and of the next.
_NAME = r'[ \t\n\r]*"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*'
_FIRST, _NEXT = re.compile(r"[ \t\n\r]*\{" + _NAME).match, re.compile(r"[ \t\n\r]*," + _NAME).match


def _whole_characters(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole_characters(v) for v in value]
    if isinstance(value, dict):
        return {_whole_characters(k): _whole_characters(v) for k, v in value.items()}
    return value


def member_object(archive: Archive, name: str, until: Collection[str] = ()) -> Row:
    """Parse a member of an archive that is a JSON object."""
    content = archive.read(name)
    try:
        text = content.decode("utf-8-sig")
        value = _first_fields(text, until) if until else parsed_json(text)
    except (ValueError, RecursionError) as problem:
        raise SchemaError(f"{archive.path.name}, member {name!r}: not valid JSON ({problem}). Correct it.") from None
    if not isinstance(value, dict):
        raise SchemaError(f"{archive.path.name}, member {name!r}: a {json_type(value)}, where a JSON object should be.")
    return value


def _first_fields(text: str, until: Collection[str]) -> Any:
    """The wanted fields of a JSON object, parsed no further than to the last of them; all, if it lacks one."""
    field = _FIRST(text)
    fields: Row = {}
    while field is not None:
        name, at = field[1], field.end()
        if name not in until:
            _, at = _ANY(text, at)
        elif name in fields:
            raise RepeatedField(f"the field {name!r} occurs more than once in one object")
        else:
            value, end = _STRICT(text, at)
            fields[name] = _whole_characters(value) if _SURROGATE.search(text, at, end) else value
            if len(fields) == len(until):
                return fields
            at = end
        field = _NEXT(text, at)
    return parsed_json(text)


def trailing_comma(problem: json.JSONDecodeError) -> bool:
    """Whether what is wrong is a comma after the last element of a list or object, or after the whole value."""
    comma = problem.doc.rfind(",", 0, problem.pos + 1)
    return (
        comma >= 0
        and (_CLOSED.match(problem.doc, comma) is not None or not problem.doc[comma + 1 :].strip())
        and (problem.msg != "Extra data" or comma == problem.pos)
    )


def json_type(value: object) -> str:
    """What a value of JSON is, for messages."""
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
