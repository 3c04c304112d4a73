"""The canonical frame that a table is mapped onto."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast

import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.errors import SchemaError
from judgestats.ingest.copies import Copies, copies, empty_repeats
from judgestats.ingest.delimited import has_header
from judgestats.ingest.files import decoded
from judgestats.ingest.hints import first_cells, headerless
from judgestats.ingest.mapping import Labels, Mapped, canonical, kind_of_mapping, refuse_absent_columns
from judgestats.ingest.proposals import UnmappedTable
from judgestats.ingest.searching import suggest_mapping
from judgestats.ingest.separators import DELIMITERS
from judgestats.ingest.sniffing import column_names
from judgestats.ingest.sources import Files
from judgestats.ingest.tables import check_numbers, with_numbers
from judgestats.ingest.wide import listed
from judgestats.schema.account import Account, Exclusion, Places
from judgestats.schema.columns import COUNTS, OUTCOMES, VOCABULARY, Kind, kind_of
from judgestats.schema.findings import Finding

if TYPE_CHECKING:
    from judgestats.ingest.replies import Form


@dataclass(frozen=True)
class FrameTarget:
    """The canonical frame that a table is mapped onto: the arguments of :func:`read` that say so."""

    frame: Kind | None
    columns: Mapped | None
    labels: Labels | None
    counts: str | Literal[False] | None
    options: dict[str, Any]
    parse: Form = None

    def parsed(self, table: IntoFrame, label: str) -> tuple[FrameTarget, IntoFrame]:
        """Read the answers out of the column of replies."""
        from judgestats.ingest.reply_column import parse_column  # compiles the patterns of answers

        try:
            table, columns = parse_column(table, self.columns, self.parse, self.labels, self.options.get("scale"))
        except SchemaError as problem:
            raise problem.labelled(label) from None
        return replace(self, columns=columns, labels=None, parse=None), table

    def kind(self, table: IntoFrame, label: str) -> Kind:
        """The kind of frame; a table of unknown shape is refused with a proposal."""
        names = column_names(table)
        try:
            if self.columns:
                return kind_of_mapping(self.columns, names, self.frame)
            kind = kind_of(names, OUTCOMES)
        except SchemaError:
            refuse_absent_columns(self.columns or {}, dict.fromkeys(names))
            proposal = suggest_mapping(table)
            lacking = "the columns are not canonical, and no mapping was given"
            lacking = "the mapping is not complete" if self.columns else lacking
            raise UnmappedTable(f"{label}: {lacking}.\n{proposal}", proposal) from None
        return self.frame or kind

    @property
    def keeps_labels(self) -> bool:
        """Whether the columns are renamed only, so that their labels may be codes until the frame is made."""
        names = (self.columns or {}).keys()
        return self.parse is None and self.labels is None and names <= {c.name for c in VOCABULARY["preferences"]}

    @property
    def with_counts(self) -> dict[str, str | None]:
        """The mapping, with the column of declared counts in it."""
        return {**(self.columns or {}), **({COUNTS: self.counts} if self.counts else {})}

    def of(self, table: IntoFrame, label: str) -> Any:
        """Map a table whose columns have their types; errors are preceded by `label`."""
        if self.parse is not None:
            target, table = self.parsed(table, label)
            return target.of(table, label)
        kind = self.kind(table, label)
        try:
            return canonical(table, kind, self.columns, self.labels, counts=self.counts, **self.options)
        except SchemaError as problem:
            raise problem.labelled(label) from None

    def of_text(
        self,
        table: pd.DataFrame,
        places: Places | None = None,
        excluded: tuple[Exclusion, ...] = (),
        *,
        label: str,
        files: Files | None = None,
        calls: bool = False,
    ) -> Any:
        """Map a table of text, as it comes from a file or a query."""
        if self.parse is not None:
            target, table = self.parsed(table, label)
            return target.of_text(table, places, excluded, label=label, files=files, calls=calls)
        kind = self.kind(table, label)
        decimal = self.options.pop("decimal", None)
        account = Account(len(table), places if places is not None else (), excluded)
        if files is not None:
            account = replace(
                account,
                notes=(*files.notes, *_first_line(table, files), *_sets(table, self.columns or {})),
                unread=files.unread_note,
            )
        try:
            if places is not None and not calls:
                table, account = self._once(table, places, kind, account)
            table = check_numbers(table, kind, self.columns or {}, decimal)
            table = with_numbers(table, kind, self.with_counts)
            result = canonical(table, kind, self.columns, self.labels, counts=self.counts, **self.options)
            return account.attached(decoded(result, [c.name for c in VOCABULARY[kind] if c.type == "category"]))
        except SchemaError as problem:
            raise problem.labelled(label, row_place(problem, account)) from None

    def _once(self, table: pd.DataFrame, places: Places, kind: Kind, account: Account) -> tuple[pd.DataFrame, Account]:
        """The table without calls that it repeats, and the account of them."""
        columns, present = self.columns or {}, list(table.columns)
        answer = {columns.get(n, n) for n in ("choice", *OUTCOMES)} | {columns.get(n) for n in ("winner", "graded")}
        other = answer | {columns.get(c.name, c.name) for c in VOCABULARY[kind] if not c.key}
        others = [c for c in present if c in other]
        repeats = copies(table, places.file, [name for name, _ in places.files], places, others)
        table, account = _remaining(table, account, repeats)
        empty = empty_repeats(table, account.places, others, [c for c in present if c in answer])
        return _remaining(table, account, empty)


def _first_line(table: pd.DataFrame, files: Files) -> list[Finding]:
    """A finding where the first line of a table in text was read as a header and looks like a row."""
    text = has_header() and files.files[0].container in DELIMITERS
    what, _, remedy = (headerless(table) if text else "").partition(". ")
    return (
        [Finding("file", "", what, (), remedy=remedy, where=f"{files.relative(files.files[0])}, line 1")]
        if what
        else []
    )


def _sets(table: pd.DataFrame, columns: Mapped) -> list[Finding]:
    """A finding where lists are read as sets of labels."""
    source = columns.get("answer", "answer")
    cells = first_cells(table[[source]]).get(str(source)) if source in table.columns else None
    if not cells or listed(cells[0]) is None:
        return []
    remedy = (
        f"If they are repeats, explode={source!r} gives each label a row, and replicate={source}.index numbers them."
    )
    return [
        Finding(
            "counted",
            "answer",
            f"lists in {source!r} are read as sets of labels",
            tuple(range(len(table))),
            remedy=remedy,
        )
    ]


def _remaining(table: pd.DataFrame, account: Account, repeats: Copies) -> tuple[pd.DataFrame, Account]:
    """The rows of a table that are not copies of others, and the account of all rows."""
    if not repeats.why:
        return table, account
    places = cast("Places", account.places).take(~repeats.excluded)
    account = replace(account, places=places, excluded=(*account.excluded, *repeats.why))
    return table[~repeats.excluded].reset_index(drop=True), account


def row_place(problem: SchemaError, account: Account) -> str:
    """Where the first row stands that an error is about."""
    faults = problem.faults
    if faults is None or not len(faults) or not len(faults["rows"].iloc[0]) or not len(account.places):
        return ""
    first = int(faults["rows"].iloc[0][0])
    return f" Row {first} is from {account.places[first]}."
