"""What became of the rows of a source: how many there were, which are excluded and why, and where each row stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from judgestats.schema.columns import Finding

#: Key in the ``attrs`` of a frame that was read.
KEY = "judgestats.account"


@dataclass(frozen=True)
class Exclusion:
    """A part of a source that gives no row of the frame.

    `place`: file, line or key. `reason`: why, without a full stop. `cure`: what the user can do about it, if anything.
    `n`: rows that it would be.
    """

    place: str
    reason: str
    cure: str = ""
    n: int = 1


@dataclass(frozen=True, eq=False)
class Account:
    """The rows of a source: those of the frame, and those excluded while it was read.

    `records`: records (lines, samples, cells) in the source. `places`: where each row of the frame comes from; empty
    if it is not known. `excluded`: all else. `notes`: what :func:`judgestats.check` says of rows of the frame besides.
    It rides in ``frame.attrs`` and is never copied.
    """

    records: int
    places: Sequence[str] = ()
    excluded: tuple[Exclusion, ...] = ()
    notes: tuple[Finding, ...] = ()

    def __deepcopy__(self, memo: Any) -> Account:
        return self

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
    found = getattr(frame, "attrs", {}).get(KEY)
    whole = found is not None and len(found.places) in (0, len(frame))
    return found if whole else None
