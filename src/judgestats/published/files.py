"""A table and a rules file, read from disk."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from judgestats.errors import AuditError

#: What a file is that is no text table: by its name, or by its first bytes.
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
    """A table as printed; its separator is the one that its first line has most of.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    pandas.DataFrame
        Texts.

    Raises
    ------
    AuditError
        If the file is of another kind than CSV, not in UTF-8, or no table.
    """
    _refuse_other_kinds(path)
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
            f"{path.name} is no table: {str(error).strip()}. A line of names, then a line a row."
        ) from error
    return cells.iloc[1:].set_axis(list(cells.iloc[0]), axis=1).reset_index(drop=True)


def _refuse_other_kinds(path: Path) -> None:
    with path.open("rb") as file:
        first = file.read(4)
    kind = _KINDS.get(first) or _KINDS.get(path.suffix.lower())
    if kind:
        raise AuditError(
            f"{path.name} is {kind}; a text table is needed. Export it as CSV in UTF-8, with the digits as printed, or"
            " give a DataFrame of texts."
        )


def declared(rules: str | Path | Sequence[Mapping[str, Any]] | None) -> Sequence[Mapping[str, Any]]:
    """The rules of a file, or those given.

    Parameters
    ----------
    rules : path or sequence of mappings, optional

    Returns
    -------
    sequence of mappings

    Raises
    ------
    AuditError
        If there is no such file, or it is no TOML of ``[[rule]]`` tables.
    """
    if rules is None:
        return []
    if isinstance(rules, list | tuple):
        return rules
    if not isinstance(rules, str | Path):
        raise AuditError(f"rules is a {type(rules).__name__}. Allowed: a TOML file, or a list of mappings, one a rule.")
    path = Path(rules)
    if not path.is_file():
        raise AuditError(f"There is no rules file {str(rules)!r}.")
    read = _toml(path)
    if set(read) - {"rule"} or not isinstance(read.get("rule", []), list):
        raise AuditError(f"{path.name} has {', '.join(read)}. Allowed: [[rule]] tables.")
    if not read:
        raise AuditError(f"{path.name} has no rule. Write [[rule]] tables.")
    return list(read["rule"])


def _toml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise AuditError(f"{path.name} is not in UTF-8 ({error.reason}). Save it so.") from error
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise AuditError(f"{path.name} is nested too deeply for a rules file. Write [[rule]] tables.") from None
    except ValueError as error:  # of the parser; of Python, where a number has thousands of digits
        raise AuditError(f"{path.name} is no TOML{_rule_at(text, str(error))}: {error}.") from error


def _rule_at(text: str, told: str) -> str:
    """Which of the rules an error of the parser is in, from the line that it names."""
    found = re.search(r"at line (\d+)", told)
    lines = text.splitlines()[: int(found[1])] if found else text.splitlines()
    before = sum(line.strip().startswith("[[rule") for line in lines)
    return f", in rule {before}" if before else ""
