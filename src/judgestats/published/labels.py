"""What a row of a printed table is called: its words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from judgestats.published.books import Book
from judgestats.published.printed import parse

#: Columns whose words tell no row from another.
_MARK_COLUMNS = frozenset({"marks", "place", "comment", "unit", "note"})
#: Two numbers in one cell, or one with spaces: no word.
_NOISE = re.compile(r"[\d.,\s±+()\[\]–—−%/~-]*\d[\d.,\s±+()\[\]–—−%/~-]*")
#: Numbers that a column has for each of its words, at least, to be a column of numbers.
_RARE = 2
#: Longest text that is taken for a name.
_LONGEST = 60


def row_label(book: Book, table: str, row: int, by: Sequence[str] = ()) -> str:
    """The texts that tell a row from others: those of its columns of words, and of further ones.

    Parameters
    ----------
    book : Book
    table : str
    row : int
    by : sequence of str
        Columns that belong to it even where they hold numbers.

    Returns
    -------
    str
        ``row 3`` where the row has no words.
    """
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
    """Whether a text is no number only for what stands around its digits."""
    return not parse(text).readable and _NOISE.fullmatch(text) is not None
