"""A suggestion of how the columns of an unknown table might be mapped. Shown, never applied."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd

from judgestats.errors import SchemaError
from judgestats.ingest.guesses import few
from judgestats.ingest.mapping import PSEUDO, Mapped, canonical, kind_of_mapping
from judgestats.ingest.tables import as_table
from judgestats.schema.columns import VOCABULARY, Kind


@dataclass(frozen=True)
class Proposal:
    """How a table might be mapped, and why.

    Attributes
    ----------
    kind : {'preferences', 'ratings'} or None
        Which canonical frame it may become; None where nothing says.
    mapping : dict
        Canonical name -> column (or ``=constant``, or None for "not ours"), for ``columns=`` of
        :func:`judgestats.read`.
    reasons : dict
        Canonical name -> why.
    labels : dict
        Answer label -> canonical answer, for ``labels=``.
    missing : tuple of str
        Required columns for which nothing was found.
    notes : tuple of str
        What to make sure of, and what cannot be mapped.
    columns : tuple of str
        Columns of the table.
    looks_like : str
        Name of a tool whose logs are not read yet, where it looks like one of them.
    wide : str
        For ``wide=`` of :func:`judgestats.read`, where several columns hold one answer each; `mapping` is of the long
        table.
    """

    kind: Kind | None
    mapping: dict[str, str | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    looks_like: str = ""
    wide: str = ""

    @property
    def complete(self) -> bool:
        """Whether every required column was found."""
        return self.kind is not None and not self.missing

    @property
    def options(self) -> str:
        """The mapping as options of the command line: ``--map judge=evaluator,... --labels A=first,...``."""
        pairs = [f"{name}={source or ''}" for name, source in _told(self.mapping)]
        text = f"--map {shlex.quote(_joined(pairs))}" if pairs else ""
        if self.labels:
            text += f" --labels {shlex.quote(_joined(f'{label}={answer}' for label, answer in self.labels.items()))}"
        return f"--wide {shlex.quote(self.wide)} {text}".strip() if self.wide else text.strip()

    @property
    def call(self) -> str:
        """The mapping as arguments of :func:`judgestats.read`."""
        wide = f"wide={self.wide!r}, " if self.wide else ""
        return f"{wide}columns={dict(_told(self.mapping))!r}" + (f", labels={self.labels!r}" if self.labels else "")

    def __str__(self) -> str:
        lines = [f"Columns: {few(self.columns, 30) or 'none'}."]
        if self.looks_like:
            article = "an" if self.looks_like[0] in "aeioul" else "a"
            lines.append(
                f"This looks like {article} {self.looks_like} log; it is not read yet: see judgestats formats. Write "
                "its verdicts or scores out as a table, one row per call (pandas.json_normalize opens nested records)."
            )
        elif self.kind is None:
            lines.append("Nothing in it can be told to be a verdict or a score.")
        else:
            long = ", once it is long, with a row for each of those columns" if self.wide else ""
            lines.append(f"It might be read as {self.kind}{long}:")
            for name, source in self.mapping.items():
                lines.append(
                    f"  {name:<12} <- {source if source is not None else '(set aside)'}: {self.reasons.get(name, '')}"
                )
            if self.labels:
                lines.append("  labels       " + ", ".join(f"{k} = {v}" for k, v in self.labels.items()))
        if self.missing:
            lines.append(f"Not found: {', '.join(self.missing)}.")
        lines += [f"Note: {note}" for note in self.notes]
        if self.mapping and self.options:
            lead = "If it is right" if self.complete else "What was found so far"
            lines.append(f"Nothing is computed until you say so. {lead}: {self.options}")
            lines.append(f"In Python: read(..., {self.call})")
        return "\n".join(lines)


class UnmappedTable(SchemaError):
    """A table of unknown shape, for which no mapping was given.

    Attributes
    ----------
    proposal : Proposal
        What the mapping might be.
    """

    def __init__(self, message: str, proposal: Proposal) -> None:
        super().__init__(message)
        self.proposal = proposal


def _joined(pairs: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(list(pairs))
    return out.getvalue()


def _told(mapping: Mapped) -> list[tuple[str, str | None]]:
    """Pairs that must be said: a column that has our name already maps itself."""
    return [(name, source) for name, source in mapping.items() if name != source or name in PSEUDO]


def preview(
    table: Any, mapping: Mapped, labels: Mapping[Any, str] | None = None, rows: int = 3, *, frame: Kind | None = None
) -> pd.DataFrame:
    """Show a few rows of a table as a mapping would read them.

    Parameters
    ----------
    table : frame, path, glob or folder
        Whatever Narwhals accepts, or files of plain tables.
    mapping : mapping
        As for ``columns=`` of :func:`judgestats.read`.
    labels : mapping, optional
        As for ``labels=``.
    rows : int
        How many of the first rows.
    frame : {'preferences', 'ratings'}, optional
        Overrules what the mapping says.

    Returns
    -------
    pandas.DataFrame
        The canonical columns only.

    Raises
    ------
    SchemaError
        If the mapping does not fit.

    Examples
    --------
    >>> table = pd.DataFrame({"rater": ["a"], "writer": ["w"], "story": ["007"], "points": ["3.5"]})
    >>> preview(table, {"judge": "rater", "system": "writer", "item": "story", "score": "points"})
      judge system item criterion  score
    0     a      w  007   overall    3.5
    """
    data = nw.from_native(as_table(table)).head(rows)
    if isinstance(data, nw.LazyFrame):
        data = data.collect(backend="pandas")
    shown = data.to_pandas()
    kind = kind_of_mapping(mapping, list(map(str, shown.columns)), frame)
    result: pd.DataFrame = canonical(shown, kind, mapping, labels or None)
    return result[[c.name for c in VOCABULARY[kind] if c.name in result.columns]]
