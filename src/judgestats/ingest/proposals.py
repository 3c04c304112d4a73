"""A suggested mapping, shown and never applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd

from judgestats.errors import Advice, SchemaError
from judgestats.ingest.mapping import PSEUDO, Mapped, canonical, kind_of_mapping, refuse_absent_columns
from judgestats.ingest.options import joined
from judgestats.ingest.tables import as_table
from judgestats.schema.columns import VOCABULARY, Kind
from judgestats.schema.opening import few
from judgestats.terminal import as_typed


@dataclass(frozen=True)
class Proposal:
    """How a table might be mapped, and why.

    Attributes
    ----------
    kind : {'preferences', 'ratings'} or None
        Which canonical frame it may become; None if unknown.
    mapping : dict
        Canonical name -> column (or ``=constant``, or None for an excluded column), for ``columns=`` of
        :func:`judgestats.read`.
    reasons : dict
        Canonical name -> why.
    labels : dict
        Answer label -> canonical answer, for ``labels=``.
    missing : tuple of str
        Required columns for which nothing was found.
    refusal : str
        Why the table would still be refused under this mapping; empty if it would be read.
    notes : tuple of str
        Points to check, and what cannot be mapped.
    columns : tuple of str
        Columns of the table.
    advice : tuple of (str, object)
        Arguments of :func:`judgestats.read` that the notes name, with their values where they are known.
    wide : str
        For ``wide=`` of :func:`judgestats.read`, where several columns hold one answer each; `mapping` is of the long
        table.
    explode : str
        For ``explode=`` of :func:`judgestats.read`, where a column holds lists of records.
    """

    kind: Kind | None
    mapping: dict[str, str | None] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    refusal: str = ""
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    advice: Advice = ()
    wide: str = ""
    explode: str = ""

    @property
    def complete(self) -> bool:
        """Whether every required column was found, and the table would be read."""
        return self.kind is not None and not self.missing and not self.refusal

    @property
    def arguments(self) -> dict[str, str]:
        """The mapping as values of options of the command line, by the names of these."""
        labels = joined(f"{label}={answer}" for label, answer in self.labels.items())
        pairs = joined(f"{name}={source or ''}" for name, source in _needed_pairs(self.mapping))
        values = {"explode": self.explode, "wide": self.wide, "map": pairs, "labels": labels}
        return {name: value for name, value in values.items() if value}

    @property
    def options(self) -> str:
        """The mapping as options of the command line: ``--map judge=evaluator,... --labels A=first,...``."""
        return " ".join(f"--{name} {as_typed([value])}" for name, value in self.arguments.items())

    @property
    def call(self) -> str:
        """The mapping as arguments of :func:`judgestats.read`."""
        shapes = {"explode": self.explode, "wide": self.wide}
        shape = "".join(f"{name}={value!r}, " for name, value in shapes.items() if value)
        return f"{shape}columns={dict(_needed_pairs(self.mapping))!r}" + (
            f", labels={self.labels!r}" if self.labels else ""
        )

    def __str__(self) -> str:
        lines = [f"Columns: {few(self.columns, 30) or 'none'}."]
        if self.kind is None:
            lines.append("No column was recognised as a verdict or a score.")
        else:
            long = ", once it is long" if self.wide or self.explode else ""
            lines.append(f"It might be read as {self.kind}{long}:")
            for name, source in self.mapping.items():
                lines.append(
                    f"  {name:<12} <- {source if source is not None else '(excluded)'}: {self.reasons.get(name, '')}"
                )
            if self.labels:
                lines.append("  labels       " + ", ".join(f"{k} = {v}" for k, v in self.labels.items()))
        if self.missing:
            lines.append(f"Not found: {', '.join(self.missing)}.")
        if self.refusal:
            lines.append(f"With this mapping the table would still be refused: {self.refusal}")
        lines += [f"Note: {note}" for note in self.notes]
        if self.mapping and self.options:
            lead = "If this is right" if self.complete else "What was found so far"
            lines.append(f"Nothing is computed until you give a mapping. {lead}: {self.options}")
            lines.append(f"In Python: read(..., {self.call})")
        elif self.kind is None:
            lines.append(
                "If it holds verdicts, name their columns: --map judge=COLUMN,item=COLUMN,score=COLUMN for scores "
                "(answer=COLUMN for classes), --map judge=COLUMN,item=COLUMN,first=COLUMN,second=COLUMN,choice=COLUMN "
                "for pairs; --wide where several columns hold them (docs/mapping.md)."
            )
            lines.append("In Python: read(..., columns={'judge': COLUMN, ...})")
        return "\n".join(lines)


class UnmappedTable(SchemaError):
    """A table of unknown shape, for which no mapping was given, or not a complete one.

    Attributes
    ----------
    proposal : Proposal
        The suggested mapping.
    """

    def __init__(self, message: str, proposal: Proposal) -> None:
        super().__init__(message)
        self.proposal = proposal


def _needed_pairs(mapping: Mapped) -> list[tuple[str, str | None]]:
    """Pairs that must be given: a column with a canonical name maps to itself."""
    return [(name, source) for name, source in mapping.items() if name != source or name in PSEUDO]


def preview(
    table: Any, mapping: Mapped, labels: Mapping[Any, str] | None = None, rows: int = 3, *, frame: Kind | None = None
) -> pd.DataFrame:
    """Show a few rows of a table as a mapping would read them."""
    data = nw.from_native(as_table(table)).head(rows)
    if isinstance(data, nw.LazyFrame):
        data = data.collect(backend="pandas")
    first_rows = data.to_pandas()
    present = list(map(str, first_rows.columns))
    try:
        kind = kind_of_mapping(mapping, present, frame)
    except SchemaError:
        refuse_absent_columns(mapping, dict.fromkeys(present))
        raise
    result: pd.DataFrame = canonical(first_rows, kind, mapping, labels or None)
    return result[[c.name for c in VOCABULARY[kind] if c.name in result.columns]]
