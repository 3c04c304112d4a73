"""Printed tables, of a paper or of a user, as cells of text."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import pandas as pd

from judgestats.errors import AuditError, refuse_unknown
from judgestats.outputs import note_read
from judgestats.published.printed import Printed, number, parse

#: Table, row and column of a printed value.
Cell = tuple[str, int, str]
#: Pseudo-column of a condition: the position of the row.
ROW = "_row"


@dataclass(frozen=True, eq=False)
class Book:
    """Printed tables, cell by cell."""

    columns: Mapping[str, Mapping[str, Sequence[str]]]  # table -> column -> texts
    places: Mapping[str, str]  # where the tables are printed
    rounded: frozenset[tuple[str, str]] = frozenset()  # columns whose whole numbers are rounded
    spelled: Mapping[str, str] = field(default_factory=dict)  # column -> its name in expressions, where they differ

    def size(self, table: str) -> int:
        """Number of rows."""
        return len(next(iter(self.table(table).values()), ()))

    def table(self, name: str) -> Mapping[str, Sequence[str]]:
        """The columns of a table; an AuditError if there is none of that name."""
        refuse_unknown(name, self.columns, f"There is no table {name!r}", "Tables", error=AuditError)
        return self.columns[name]

    def column(self, table: str, name: str) -> Sequence[str]:
        """The texts of a column; an AuditError if the table has no such column."""
        columns = self.table(table)
        refuse_unknown(name, columns, f"{table} has no column {name!r}", "Columns", error=AuditError)
        return columns[name]

    def text(self, cell: Cell) -> str:
        """The printed text of a cell."""
        table, row, column = cell
        return self.columns[table][column][row]

    def printed(self, cell: Cell) -> Printed:
        """The content of a cell, number or not."""
        return parse(self.text(cell), rounded=(cell[0], cell[2]) in self.rounded)

    def number(self, cell: Cell) -> Printed:
        """The number in a cell; an UnreadableCellError if there is text in it."""
        where = f"{cell[0]}, row {cell[1] + 1}, {cell[2]}"
        return number(self.text(cell), where, rounded=(cell[0], cell[2]) in self.rounded)

    def rows(self, table: str, where: Mapping[str, object]) -> list[int]:
        """Rows of a table whose texts are as asked: column -> a text, a list of texts, or ``{"not": ...}``."""
        rows = list(range(self.size(table)))
        for column, condition in where.items():
            wanted, keep = _texts_meant(condition)
            texts = range(self.size(table)) if column == ROW else self.column(table, column)
            rows = [i for i in rows if (str(texts[i]) in wanted) is keep]
        return rows


def _texts_meant(condition: object) -> tuple[frozenset[str], bool]:
    """The texts meant, and whether to keep or to exclude them."""
    if isinstance(condition, Mapping):
        if set(condition) != {"not"}:
            raise AuditError(f"A condition has {sorted(condition)}. Allowed: a text, a list of texts, {{ not = ... }}.")
        return _texts_meant(condition["not"])[0], False
    texts = condition if isinstance(condition, list | tuple | set | frozenset) else [condition]
    return frozenset(map(str, texts)), True


def book(tables: Mapping[str, pd.DataFrame], places: Mapping[str, str] | None = None) -> Book:
    """Printed cells of frames by name, and their places; an AuditError where an expression could not name a column."""
    spelled: dict[str, str] = {}
    columns: dict[str, dict[str, list[str]]] = {}
    for name, frame in tables.items():
        if not (isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)):
            raise AuditError(f"A table is called {name!r}. Rules spell it in expressions: letters, digits and _ only.")
        if not isinstance(frame, pd.DataFrame):
            raise AuditError(f"Table {name!r} is a {type(frame).__name__}. Give a DataFrame of printed texts.")
        columns[name] = {}
        for at, column in enumerate(frame.columns):
            spelling = _identifier(str(column), at)
            if spelling in columns[name]:
                raise AuditError(f"{name} has two columns that are spelled {spelling!r} in rules. Rename {column!r}.")
            if spelling != str(column):
                spelled[str(column)] = spelling
            columns[name][spelling] = ["" if pd.isna(v) else str(v) for v in frame.iloc[:, at]]
    return Book(columns, {name: (places or {}).get(name, name) for name in tables}, spelled=spelled)


def _identifier(column: str, at: int) -> str:
    """A column as an expression can name it: ``Win rate (%)`` is ``Win_rate``; one without a name is ``column1``."""
    word = re.sub(r"\W+", "_", unicodedata.normalize("NFKC", column)).strip("_")
    if not word or column.startswith("Unnamed:"):
        return f"column{at + 1}"
    return word if word.isidentifier() and not keyword.iskeyword(word) else f"_{word}"


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
    note_read(path)
    with path.open("rb") as file:
        start = file.read(4)
    if kind := _KINDS.get(start) or _KINDS.get(path.suffix.lower()):
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


#: Columns that are never part of the label of a row.
_MARK_COLUMNS = frozenset({"marks", "place", "comment", "unit", "note"})
#: Two numbers in one cell, or one with spaces: not a word.
_NOISE = re.compile(r"[\d.,\s±+()\[\]–—−%/~-]*\d[\d.,\s±+()\[\]–—−%/~-]*")
#: A column of numbers has at least this many numbers per word.
_RARE = 2
#: Longest text that is taken as a name.
_LONGEST = 60


def row_label(book: Book, table: str, row: int, by: Sequence[str] = ()) -> str:
    """The label of a row: the texts of its columns of words and of those in `by`; ``row 3`` where it has none."""
    columns = book.table(table)
    names = [c for c in columns if (c in by or c in _worded(book, table)) and c not in _MARK_COLUMNS]
    texts = {c: columns[c][row] for c in names if 0 < len(columns[c][row]) < _LONGEST}
    words = [t for c, t in texts.items() if c in by or not _noise(t)]
    return ", ".join(words or texts.values()) or f"row {row + 1}"


@lru_cache(maxsize=64)
def _worded(book: Book, table: str) -> frozenset[str]:
    """Columns of a table that hold words."""
    return frozenset(c for c, texts in book.table(table).items() if not _numeric(texts))


def _numeric(texts: Sequence[str]) -> bool:
    """Whether a column holds numbers, though some of its cells cannot be read: ``8.88 ± 0.76``, or a rare ``TBD``."""
    texts = [t for t in texts if not parse(t).missing]
    numbers = sum(parse(t).readable or _noise(t) for t in texts)
    return numbers > 0 and _RARE * (len(texts) - numbers) <= numbers


def _noise(text: str) -> bool:
    """Whether a text is not a number only because of the characters around its digits."""
    return not parse(text).readable and _NOISE.fullmatch(text) is not None
