"""The published tables: their catalogue and their content."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from judgestats.errors import AuditError, refuse_unknown

# ---- A table and a rules file, read from disk ------------------------------------------------------------------------

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


def declared(rules: str | Path | Sequence[Mapping[str, Any]] | None) -> Sequence[Mapping[str, Any]]:
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
        at = re.search(r"at line (\d+)", str(error))
        rule = sum(line.strip().startswith("[[rule") for line in text.splitlines()[: int(at[1]) if at else None])
        where = f", in rule {rule}" if rule else ""
        raise AuditError(f"{path.name} is not valid TOML{where}: {error}.") from error


# ---- The published tables --------------------------------------------------------------------------------------------


def data_folder() -> Path:
    """Folder of the published tables, for a wheel and for an editable install.

    Returns
    -------
    pathlib.Path
        The folder with ``datapackage.json``.

    Raises
    ------
    AuditError
        If the installation lacks the data.

    See Also
    --------
    tables : List of published tables.

    Examples
    --------
    >>> (data_folder() / "datapackage.json").is_file()
    True
    """
    installed = Path(str(files("judgestats"))) / "_data"
    source = Path(__file__).parents[3] / "data"
    for folder in (installed, source):
        if (folder / "datapackage.json").is_file():
            return folder
    raise AuditError(f"The published tables are neither in {installed} nor in {source}. Reinstall judgestats.")


@lru_cache(maxsize=1)
def _package() -> dict[str, dict[str, Any]]:
    package = json.loads((data_folder() / "datapackage.json").read_text(encoding="utf-8"))
    return {r["name"]: r for r in package["resources"]}


def tables() -> pd.DataFrame:
    """List the published tables that the package holds.

    Returns
    -------
    pandas.DataFrame
        ``name`` (to be given to :func:`load`), ``paper``, ``table`` (where it is printed), ``rows``, ``about``.

    See Also
    --------
    load : One published table.

    Examples
    --------
    >>> found = tables()
    >>> found.loc[found["name"] == "dark_current/table6", ["table", "rows"]].to_dict("records")
    [{'table': 'Table 6', 'rows': 44}]
    """
    rows = [(n, r["paper"], r["table"], len(_read(n)), r["title"]) for n, r in _package().items()]
    return pd.DataFrame(rows, columns=["name", "paper", "table", "rows", "about"])


def places(paper: str) -> dict[str, str]:
    """Name of each table of a paper -> where it is printed."""
    return {n.partition("/")[2]: r["table"] for n, r in _package().items() if r["paper"] == paper}


def load(name: str, *, printed: bool = False) -> pd.DataFrame:
    """Load a published table.

    Parameters
    ----------
    name : str
        ``<paper>/<table>``, as listed by :func:`tables`.
    printed : bool
        True keeps every value as the text that was printed, with its precision; False converts columns that hold
        only numbers.

    Returns
    -------
    pandas.DataFrame
        Tidy: one row per printed value, or per printed row where the table is a list.

    Raises
    ------
    AuditError
        If there is no such table; the message suggests similar names.

    See Also
    --------
    tables : List of published tables.

    Examples
    --------
    >>> load("merchant_risk/human_panel").head(2)
                  system  mean    sd  experts
    0  Claude-4.5 Sonnet  8.88  0.76       26
    1            GPT-5.1  8.81  0.67       26
    """
    table = _read(name)
    if printed:
        return table
    for column in table.columns:
        numbers = pd.to_numeric(table[column], errors="coerce")
        if numbers.notna().all():
            table[column] = numbers
    return table


def _read(name: str) -> pd.DataFrame:
    known = _package()
    refuse_unknown(name, known, f"There is no published table {name!r}", "Tables", error=AuditError)
    return pd.read_csv(data_folder() / known[name]["path"], dtype=str, keep_default_na=False)
