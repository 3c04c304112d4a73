"""Tables and rules files of an audit, read from disk."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from judgestats.errors import AuditError
from judgestats.published.rule_specs import Declaration

#: Kind of a file that is not a text table, by its suffix or by its first bytes.
_KINDS: dict[str | bytes, str] = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", b"PK\x03\x04", b"\xd0\xcf\x11\xe0"), "an Excel workbook"),
    **dict.fromkeys((".ods", ".numbers"), "a spreadsheet"),
    **dict.fromkeys((".parquet", b"PAR1"), "Parquet"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "JSON"),
    **dict.fromkeys((".html", ".htm"), "a web page"),
    **dict.fromkeys((".pdf", b"%PDF"), "a PDF"),
    **dict.fromkeys((".gz", b"\x1f\x8b"), "compressed"),
}


def printed_table(path: Path) -> pd.DataFrame:
    """A table of texts as printed; the separator is the most frequent one in the first line."""
    with path.open("rb") as file:
        start = file.read(4)
    kind = _KINDS.get(start) or _KINDS.get(path.suffix.lower())
    if kind:
        raise AuditError(
            f"{path.name} is {kind}; a text table is needed. Export it as CSV in UTF-8, with the digits as printed, or"
            " give a DataFrame of texts."
        )
    try:
        first = next(iter(path.read_text(encoding="utf-8-sig").splitlines()), "")
        separator = max(",;\t", key=first.count)
        # the names are read as a row: pandas would rename those that are used twice
        cells = pd.read_csv(
            path, dtype=str, keep_default_na=False, sep=separator, header=None, encoding="utf-8-sig", index_col=False
        )
    except UnicodeDecodeError as error:
        raise AuditError(f"{path.name} is not in UTF-8 ({error.reason}). Save it so, or give a DataFrame.") from error
    except (pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        raise AuditError(
            f"{path.name} is not a table: {str(error).strip()}. Write a line of names, then one line per row."
        ) from error
    return cells.iloc[1:].set_axis(list(cells.iloc[0]), axis=1).reset_index(drop=True)


def declared(rules: str | Path | Sequence[Declaration] | None) -> Sequence[Declaration]:
    """The rules of a file with ``[[rule]]`` tables, or those given."""
    if rules is None:
        return []
    if isinstance(rules, list | tuple):
        return rules
    if not isinstance(rules, str | Path):
        raise AuditError(
            f"rules is a {type(rules).__name__}. Allowed: a TOML file, or a list of mappings, one per rule."
        )
    path = Path(rules)
    if not path.is_file():
        raise AuditError(f"There is no rules file {str(rules)!r}.")
    read = _toml(path)
    if set(read) - {"rule"} or not isinstance(read.get("rule", []), list):
        raise AuditError(f"{path.name} has {', '.join(read)}. Allowed: [[rule]] tables.")
    if not read:
        raise AuditError(f"{path.name} has no rule. Write [[rule]] tables.")
    return list(read["rule"])


def _toml(path: Path) -> dict[str, list[Declaration]]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise AuditError(f"{path.name} is not in UTF-8 ({error.reason}). Save it so.") from error
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise AuditError(f"{path.name} is nested too deeply for a rules file. Write [[rule]] tables.") from None
    except ValueError as error:  # of the parser; of Python, where a number has thousands of digits
        at = re.search(r"at line (\d+)", str(error))
        rule = sum(line.strip().startswith("[[rule") for line in text.splitlines()[: int(at[1]) if at else None])
        where = f", in rule {rule}" if rule else ""
        raise AuditError(f"{path.name} is not valid TOML{where}: {error}.") from error
