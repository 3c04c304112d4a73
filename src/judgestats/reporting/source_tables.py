"""What was read, and which rows are used, as tables of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from judgestats.errors import masked
from judgestats.reporting.formatting import NONE, count, noun, spaced
from judgestats.reporting.markup import breakable, places
from judgestats.schema.findings import PLACES
from judgestats.typing import Record

#: Files listed one by one.
MOST_FILES = 20


def sources(source: object) -> Record:
    """What was read: facts, and tables of files among the values of a mapping, or given by themselves."""
    pairs = _by_name(source)
    tables = [v for v in pairs.values() if isinstance(v, pd.DataFrame)]
    return {"facts": readings(source), "files": [_file_table(t) for t in tables]}


def _by_name(source: object) -> Record:
    """What was read, by its names; a table alone is one of files."""
    return dict(source) if isinstance(source, Mapping) else {} if source is None else {"files": source}


def readings(source: object) -> dict[str, str]:
    """How the data were read, as far as `source` records it: text for each name, tables left out.

    >>> readings({"format": "csv", "mapping": {"judge": "rater"}, "labels": {"A": "first"}, "rows": 8})
    {'format': 'csv', 'mapping': 'judge = rater', 'labels': 'A = first', 'rows': '8'}
    """
    pairs = source if isinstance(source, Mapping) else {}
    return {str(k): masked(_reading_in_words(v)) for k, v in pairs.items() if not isinstance(v, pd.DataFrame)}


def _reading_in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} = {'not there' if v is None else v}" for k, v in value.items()) or NONE
    if isinstance(value, list | tuple):
        items = ", ".join(map(str, value[:MOST_FILES]))
        return f"{items}, and {count(len(value) - MOST_FILES)} more" if len(value) > MOST_FILES else items or NONE
    return NONE if value is None or value == "" else str(value)


def file_names(source: object) -> list[str]:
    """Names of the files that were read; none of a table in memory."""
    table = _by_name(source).get("files")
    return [str(v) for v in table.iloc[:, 0]] if isinstance(table, pd.DataFrame) and table.shape[1] else []


def how_read(source: object) -> str:
    """One sentence about the format and the mapping; empty if `source` records neither."""
    facts = {k: v for k, v in readings(source).items() if k in ("format", "mapping", "labels") and v != NONE}
    parts = [f"as {facts['format']}"] if "format" in facts else []
    parts += [f"{k}: {facts[k]}" for k in ("mapping", "labels") if k in facts]
    return f"Read {'; '.join(parts)}." if parts else ""


def _file_table(files: pd.DataFrame) -> Record:
    whole = [i for i, c in enumerate(files.columns) if pd.api.types.is_numeric_dtype(files[c])]
    first = files.head(MOST_FILES)
    rows = [[_file_cell(v, i in whole) for i, v in enumerate(r)] for r in first.itertuples(index=False, name=None)]
    rest = len(files) - len(first)
    more = f"And {noun(rest, 'file')} more." if rest else ""
    return {"heads": [str(c) for c in files.columns], "rows": rows, "numbers": whole, "more": more}


def _file_cell(value: Any, is_number: bool) -> Any:
    if pd.isna(value) or value == "":
        return NONE
    return count(float(value)) if is_number else breakable(masked(str(value)))


def row_sums(findings: pd.DataFrame) -> dict[str, int]:
    """Rows in, used and excluded, of a result of :func:`judgestats.check`."""
    sums = findings[findings["level"] == "rows"]
    return {str(k): int(v) for k, v in zip(sums["what"], sums["n"], strict=True)}


def rows_section(findings: pd.DataFrame) -> Record:
    """The sums, and a row for each reason with its first rows and its remedy."""
    n = row_sums(findings)
    total, used = n["rows in"], n["rows used"]
    share = 100 * used / total if total else None
    reasons = findings[findings["level"].isin(["file", "excluded", "counted"])]
    note = PLACES if len(reasons) else ""
    if (reasons["level"] == "counted").any():
        note = f"Rows that are “counted” are used; they are listed because some measures cannot use them. {note}"
    return {
        "total": count(total),
        "used": count(used),
        "excluded": count(n["rows excluded"]),
        "noun": "row" if total == 1 else "rows",
        "share": None if share is None else f"{share:.4f}",
        "rest": f"{100 - (share or 0):.4f}",
        "said": f"{share or 0:.1f}",
        "note": note.strip(),
        "reasons": [
            [
                spaced(r["what"]),
                r["level"],
                count(r["n"]),
                places(r["where"] or _row_numbers(r["rows"])),
                spaced(r["remedy"]),
            ]
            for r in reasons.to_dict("records")
        ],
    }


def _row_numbers(rows: tuple[int, ...], most: int = 3) -> str:
    return ", ".join(count(r) for r in rows[:most]) + (", …" if len(rows) > most else "")
