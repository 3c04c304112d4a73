"""Fields of the records that tools write: as text, as numbers, as conditions."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import Any

import pandas as pd

from judgestats.ingest.json_documents import json_document
from judgestats.ingest.json_lines import json_lines
from judgestats.ingest.json_values import Fields, Row
from judgestats.schema.columns import CONDITIONS, VOCABULARY, N

#: Longest text that is kept as a condition.
_LONGEST = 200
_CANONICAL = ({c.name for columns in VOCABULARY.values() for c in columns} | {N}) - set(CONDITIONS)


def has_fields(record: Fields, *names: str) -> bool:
    """Whether a record has all these fields."""
    return all(name in record for name in names)


def having(*names: str, lead: str = "records have", lists: str = "") -> Callable[[Fields], str]:
    """What recognises records by these fields, of which `lists` holds a list, and names them as the evidence."""
    evidence = f"{lead} {', '.join(names[:-1])} and {names[-1]}"
    return lambda record: (
        evidence if has_fields(record, *names) and (not lists or isinstance(record[lists], list)) else ""
    )


def scalars(record: Fields, used: Iterable[str] = ()) -> Row:
    """Short values of a record that are not `used`, as conditions; canonical names that are none get ``_source``."""
    names = set(used)
    return {
        f"{k}_source" if k in _CANONICAL else k: v
        for k, v in record.items()
        if k not in names
        and (v is None or isinstance(v, int | float | bool) or (isinstance(v, str) and len(v) <= _LONGEST))
    }


def context(record: Fields, used: Iterable[str] = ()) -> Row:
    """Fields of a record of any kind, as :func:`scalars`, with empty ones as None."""
    cells = scalars({str(k): v.item() if hasattr(v, "item") else v for k, v in record.items()}, used)
    return {k: None if absent(v) else v for k, v in cells.items()}


#: What evaluators write in place of an answer that they could not read.
_UNREAD = re.compile(
    r"__invalid__|(not[ _-]?(parsable|parseable|parsed)|un(parsable|parseable|parsed)|pars(e|ing)[ _-](error|failure))"
)


def unread(value: object) -> bool:
    """Whether a label says that the answer could not be read."""
    return isinstance(value, str) and _UNREAD.fullmatch(value.strip().lower()) is not None


def absent(value: object) -> bool:
    """Whether a field is empty: null, an empty text, or NaN as a frame writes it."""
    if isinstance(value, str | Real):  # NumPy's floats are Real, and not all are float
        return value == "" or value != value
    return value is None or value is pd.NA or value is pd.NaT


def parsed_cell(value: Any) -> Any:
    """A cell that holds a list or a record, also where a table wrote it as JSON or as Python does."""
    if not isinstance(value, str):
        return value.tolist() if hasattr(value, "tolist") else value
    if value[:1] not in ("{", "["):
        return value
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return value


def category_score(value: Any, scores: Mapping[str, float] | None = None) -> float:
    """A grade as a number: a number, its text, a category that `scores` gives one; NaN for anything else."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, list | dict):
        return math.nan
    try:
        score = float({str(k): v for k, v in (scores or {}).items()}.get(str(value).strip(), value))
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return score if math.isfinite(score) else math.nan


def person_name(*names: object) -> str:
    """Name of a person: the first that is given, else ``human``."""
    return next((str(n) for n in names if not absent(n)), "human")


def fields_below(record: object, name: str) -> Row:
    """Single values of an object inside a record, under names of their own."""
    return scalars({f"{name}.{k}": v for k, v in object_in(record, name).items()})


def baseline_name(baseline: str, model: str) -> str:
    """Name of the baseline, distinct from the model even if a model meets itself (two answers, so two candidates)."""
    return f"{baseline} (baseline)" if baseline == model else baseline


def length(text: object) -> float:
    """Number of characters of a text; NaN without one."""
    return float(len(text)) if isinstance(text, str) else float("nan")


def to_number(value: object) -> float:
    """A number as a float; NaN for anything else, true and false among it."""
    return float("nan") if isinstance(value, bool) else to_score(value)


def to_score(value: object) -> float:
    """A score as a float, true as 1 and false as 0; NaN for anything else."""
    try:
        return float(value) if isinstance(value, int | float) else float("nan")
    except OverflowError:
        return float("nan")


def object_in(record: object, *names: str) -> Row:
    """The object under the first of these names that holds one; empty without."""
    values = (record.get(name) for name in names) if isinstance(record, Mapping) else ()
    return next((v for v in values if isinstance(v, dict)), {})


def json_beside(path: Path) -> Row:
    """The JSON object in a file beside a log; empty if there is no such file."""
    content = json_document(path) if path.is_file() else {}
    return content if isinstance(content, dict) else {}


def first_line(path: Path) -> Row:
    """The first record of a JSONL file, for formats that begin with a header; empty if there is no such file."""
    if not path.is_file():
        return {}
    state = path.stat()
    return _first_line(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1)
def _first_line(path: Path, *_: int) -> Row:
    return next((record for _, record in json_lines(path)), {})


def as_text(text: object) -> str | None:
    """Return a text, or None where it is empty or something else."""
    return text if isinstance(text, str) and text else None
