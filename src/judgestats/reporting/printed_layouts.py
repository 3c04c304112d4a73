"""A printed table in the layout of its paper, each number in the colour of what the audit says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import pandas as pd

from judgestats.errors import AuditError, refuse_unknown
from judgestats.published import audited
from judgestats.published.printed import parse
from judgestats.published.printed_tables import Cell
from judgestats.published.statements import DEPENDS, FOLLOWS, NOT, Decision
from judgestats.reporting.audits import SIGNS, verdict_of

if TYPE_CHECKING:
    from great_tables import GT

_COLOURS = {FOLLOWS: "#e2f1e6", NOT: "#f8d5d0", DEPENDS: "#fdedc4"}
#: Statements whose arithmetic a number opens to, those that do not follow first: a count may stand in dozens.
MOST_STEPS = 3
_KEY = (
    "✓ green: follows from other printed numbers. ✗ red: does not; beside it what they give. ≈ amber: depends on what "
    "is not printed. Plain: nothing printed decides it. A click on a coloured number shows the arithmetic."
)


def printed_layout(
    table: str, *, rows: str | Sequence[str], values: str | Sequence[str], columns: str | None = None
) -> GT:
    """Make a table of a paper a ``great_tables.GT``: its printed numbers, and which of them follow from the others.

    Parameters
    ----------
    table : str
        Paper and table, ``debiasing/table1``; :func:`judgestats.published.tables` lists them.
    rows : str or sequence of str
        Columns that name the rows.
    values : str or sequence of str
        Columns whose numbers are shown.
    columns : str, optional
        Column whose levels become columns, in the order of print, each with its `values`.

    Returns
    -------
    great_tables.GT
        A number that the audit decides has a colour and a sign, and opens to its arithmetic.

    Raises
    ------
    AuditError
        If there is no such paper, table or column.

    Examples
    --------
    >>> made = printed_layout("dark_current/table6", rows="judge", columns="metric", values="estimate")
    >>> type(made).__name__
    'GT'
    """
    from great_tables import GT

    paper, _, name = table.partition("/")
    (audit,) = audited(paper)
    names, numbers = ([c] if isinstance(c, str) else [*c] for c in (rows, values))
    for column in (*names, *numbers, *([columns] if columns else [])):
        refuse_unknown(
            column, audit.book.table(name), f"{table!r} has no column {column!r}", "Columns", error=AuditError
        )
    cells, decisions = pd.DataFrame(audit.book.table(name), dtype=str), audit.cells()
    for column in numbers:
        cells[column] = [_cell_html((name, i, column), text, decisions) for i, text in enumerate(cells[column])]
    if columns is None:
        wide, over = cells[[*names, *numbers]], dict[str, list[str]]()
    else:
        wide, over = _spread(cells, names, columns, numbers)
    great = GT(wide, id=f"{paper}-{name}").fmt(str, columns=[c for c in wide.columns if c not in names])
    for level, under in over.items():
        great = great.tab_spanner(level, columns=under)
    lowest = (
        {c: c.rpartition("\n")[2] for c in wide.columns} if over else {c: c.partition("\n")[0] for c in wide.columns}
    )
    great = great.cols_label({c: t.removeprefix("conf_").replace("_", " ") for c, t in lowest.items()})
    great = great.cols_align("right", columns=[c for c in wide.columns if c not in names])
    great = great.tab_header(title=audit.book.places[name]).tab_source_note(_KEY)
    return great.tab_options(
        table_font_size="13px", data_row_padding="2px", table_margin_left="0px", container_overflow_x="auto"
    )


def _spread(
    cells: pd.DataFrame, names: Sequence[str], columns: str, numbers: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """One column a level of `columns` (and value, under the level), in the order of print."""
    levels = list(dict.fromkeys(cells[columns]))
    wide = cells[[*names]].drop_duplicates(ignore_index=True)
    for level in levels:
        part = cells.loc[cells[columns] == level, [*names, *numbers]]
        wide = wide.merge(part.rename(columns={c: f"{level}\n{c}" for c in numbers}), how="left", on=[*names])
    over = {level: [f"{level}\n{c}" for c in numbers] for level in levels} if len(numbers) > 1 else {}
    return wide.fillna(""), over


def _cell_html(cell: Cell, text: str, decisions: Mapping[Cell, list[Decision]]) -> str:
    """HTML of a printed number; one that the audit decides opens to its arithmetic."""
    around = decisions.get(cell, [])
    verdict = verdict_of(cell, around) if parse(text).readable else ""
    if verdict not in _COLOURS:
        return escape(text)
    own = [d for d in around if d.statement.printed == cell]
    twin = next((d.as_printed for d in own if d.verdict == NOT and d.as_printed not in ("", text)), "")
    mark = f"{SIGNS[verdict]} {twin}".strip()
    worst = sorted((d for d in own or around if d.comment), key=lambda d: d.verdict != NOT)
    steps = list(dict.fromkeys(f"{d.statement.rule}, {d.verdict}: {d.comment}" for d in worst))
    arithmetic = "; ".join([*steps[:MOST_STEPS], *([f"{len(steps) - MOST_STEPS} more"] if steps[MOST_STEPS:] else [])])
    look = f"background: {_COLOURS[verdict]}; padding: 0 4px"
    head = "list-style: none; cursor: pointer; white-space: nowrap"
    return (
        f'<details style="{look}"><summary style="{head}">{escape(text)}'
        f"<small> {escape(mark)}</small></summary><small>{escape(arithmetic or verdict)}</small></details>"
    )
