"""What became of the rows of a source: how many there were, which are excluded and why, and where each row stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.schema.findings import Finding
from judgestats.typing import Ints, Rows

#: Key in the ``attrs`` of a frame that was read.
KEY = "judgestats.account"


@dataclass(frozen=True)
class Exclusion:
    """A part of a source that gives no row of the frame."""

    place: str  # file, line or key
    reason: str  # without a full stop
    remedy: str = ""  # what the user can do about it, if anything
    n: int = 1  # rows that it would be


@dataclass(frozen=True, eq=False)
class Places(Sequence[str]):
    """Where the rows of a table come from, as numbers: ``calls.csv, line 12``."""

    files: tuple[tuple[str, str], ...]  # name of each file, and what is counted in it (``line``, ``row``, ``record``)
    file: NDArray[np.int32]  # of each row, as `number`
    number: Ints

    def __len__(self) -> int:
        return len(self.number)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self[i] for i in range(len(self))[row]]
        name, what = self.files[self.file[row]]
        return f"{name}, {what} {self.number[row]}"

    def take(self, rows: Rows) -> Places:
        """Places of some rows, by number or by a mask."""
        return Places(self.files, self.file[rows], self.number[rows])


@dataclass(frozen=True, eq=False)
class Account(dict[str, Any]):
    """The rows of a source, in ``attrs`` of its frame: an empty dict besides, since pandas writes these as JSON."""

    records: int  # lines, samples or cells of the source
    places: Sequence[str] = ()  # where each row of the frame comes from; empty if it is not known
    excluded: tuple[Exclusion, ...] = ()  # all else
    notes: tuple[Finding, ...] = ()  # what :func:`judgestats.check` says of rows of the frame besides
    unread: str = ""  # how many files of the source were read, and which were not; empty if all were

    def __deepcopy__(self, memo: object) -> Account:
        return self

    def __bool__(self) -> bool:
        return True

    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__  # type: ignore[assignment]

    def without(self, rows: Sequence[int]) -> Account:
        """The account of the frame without some of its rows, which `excluded` accounts for."""
        if not len(rows):
            return self
        keep = np.ones(len(self.places), dtype=bool)
        keep[list(rows)] = False
        number = np.cumsum(keep) - 1
        notes = tuple(replace(f, rows=tuple(int(number[r]) for r in f.rows if keep[r])) for f in self.notes)
        return replace(self, places=[p for p, k in zip(self.places, keep, strict=True) if k], notes=notes)

    @property
    def n_excluded(self) -> int:
        """Rows excluded while reading."""
        return sum(e.n for e in self.excluded)

    def attached(self, frame: Any) -> Any:
        """Return the frame with this account; frames other than pandas' carry none."""
        if isinstance(frame, pd.DataFrame):
            frame.attrs[KEY] = self
        return frame


def account_of(frame: Any) -> Account | None:
    """The account of a frame that was read; None for others, and for a part of such a frame."""
    account = getattr(frame, "attrs", {}).get(KEY)
    whole = isinstance(account, Account) and len(account.places) in (0, len(frame))
    return account if whole else None
