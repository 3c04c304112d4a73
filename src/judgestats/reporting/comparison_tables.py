"""The comparison of the judges as a table, and as panels of one axis each."""

from __future__ import annotations

import math
from collections.abc import Sequence

from judgestats.reporting.formatting import Form, count, spaced
from judgestats.reporting.markup import bar
from judgestats.reporting.page_data import PageData
from judgestats.reporting.plots.short_names import without_shared
from judgestats.reporting.sheets import reasons
from judgestats.reporting.summary_parts import JudgeGroup, Summary, SummaryColumn, listed
from judgestats.typing import Record

#: With more columns than this, the bars and intervals of a table stand below its numbers.
FEW_COLUMNS = 3
#: Width of a track, in pixels, and how many columns have one of that width.
TRACK, _MOST_TRACKS = 150, 5
#: Characters of a name from which its row leaves out what most share.
_LONG = 16
#: Why a judge has no estimate of a column.
_NO_ROWS = "nothing that it judged has what this needs"


def plain_comparison(summary: Summary, judges: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the comparison as text."""
    rows = [
        [j, *(" (".join(filter(None, c.text(j))) + ")" * bool(c.text(j)[1]) for c in summary.columns)] for j in judges
    ]
    return ["judge", *(c.label for c in summary.columns)], rows


def without_numbers(columns: Sequence[SummaryColumn], judges: Sequence[str]) -> list[str]:
    """A line for the columns that have no number of the same judges, and why."""
    of: dict[tuple[str, str], list[str]] = {}
    for column in columns:
        blank = {j: why for j in judges if (why := _no_number(column, j))}
        for why in dict.fromkeys(blank.values()):
            who = listed(j for j, other in blank.items() if other == why)
            of.setdefault((who, why), []).append(column.label)
    return [f"No number: {', '.join(labels)} of {who}: {why}." for (who, why), labels in of.items()]


def _no_number(column: SummaryColumn, judge: str) -> str:
    """Why a column has no number of a judge; empty where it has one."""
    cell = column.cells.get(judge)
    if cell is None:
        return _NO_ROWS
    if not math.isnan(float(cell["estimate"])):
        return ""
    return spaced(reasons([str(cell.get("flag", ""))])) or f"n = {count(float(cell['n']))}"


def comparison(summary: Summary) -> Record:
    """The table of all judges, by groups that judged the same things: one head, and one axis a column."""
    measured = [c for c in summary.columns if c.form != "count"]
    stacked = len(measured) > FEW_COLUMNS
    width = TRACK + 8 if len(measured) <= _MOST_TRACKS else TRACK // 2
    sizes = {c.size for c in measured}
    names, remark = row_names(summary.groups)
    groups = [
        {
            "about": g.about,
            "rows": [
                {"judge": j, "name": names[j], "cells": [_track_cell(c, j, width) for c in summary.columns]}
                for j in g.judges
            ],
            "blank": without_numbers(summary.columns, g.judges),
        }
        for g in summary.groups
    ]
    columns = [
        {
            "label": c.label,
            "note": "; ".join(filter(None, [c.note, c.size if len(sizes) > 1 else ""])),
            "line": c.line,
            "ticks": c.ticks if c.form != "count" else (),
            "sort": "none" if i else "ascending" if c.lower_is_better else "descending",
        }
        for i, c in enumerate(summary.columns)
    ]
    n = f"{sizes.pop()}." if len(sizes) == 1 and "" not in sizes else ""
    note = " ".join(filter(None, [n, summary.note, remark]))
    return {"groups": groups, "columns": columns, "note": note, "width": width, "stacked": stacked}


def row_names(groups: Sequence[JudgeGroup]) -> tuple[dict[str, str], str]:
    """Names of the rows without what the head of their group says, or most of them share, and a remark on that."""
    own = {j: j.replace(f" · {g.about.partition(':')[0]}", "") for g in groups for j in g.judges}
    bare, remarks = without_shared([*own.values()], _LONG)
    return dict(zip(own, bare, strict=True)), " ".join(remarks)


def _track_cell(column: SummaryColumn, judge: str, width: int) -> Record:
    cell = column.cells.get(judge)
    value, ends = column.text(judge)
    bare: Record = {"value": value, "interval": "", "bar": None, "sort": "", "hover": ""}
    if column.form == "count":
        return {**bare, "sort": value}
    if cell is None or (why := _no_number(column, judge)):
        return {**bare, "hover": _NO_ROWS if cell is None else why}
    start, end = column.ends
    at, low, high = (float(cell[name]) for name in ("estimate", "conf_low", "conf_high"))
    line = column.reference_of(judge)
    mark = line if math.isfinite(line) else None
    drawn_bar = bar(at, low, high, start=start, end=end, mark=mark, width=width)
    parts = [f"n = {count(float(cell['n']))}", str(cell.get("method", "")), str(cell.get("flag", ""))]
    hover = "; ".join(p for p in parts if p)
    return {"value": value, "interval": ends, "bar": drawn_bar, "sort": f"{at:.10g}", "hover": hover}


def axes_of(page: PageData) -> dict[str, list[Record]]:
    """Panels of one axis each: paired differences and tasks under right, the biases under fair."""
    summary = page.summary
    panels: dict[str, list[Record]] = {}
    right = summary.differences.get("right")
    if right is not None and len(right.means) > 1:
        form = next(
            (c.form for c in summary.columns if c.term in ("accuracy", "agreement", "target_sensitivity")), "score"
        )
        judges = {*summary.judges}
        others = [str(j) for j in right.means["judge"].iloc[1:] if j in judges]
        cells = {j: d for j in others if (d := right.difference(right.best, j)) is not None}
        cells = {j: {**d, "method": right.method, "flag": ""} for j, d in cells.items()}
        if cells:
            note = "on the things that both judged" + (", in points" if form == "share" else "")
            unit: Form = "points" if form == "share" else "score"
            column = SummaryColumn("difference", f"{right.best} minus this judge", note, unit, cells, reference=0.0)
            several = f"Intervals hold for all {count(len(right.pairs))} pairs of judges at once"
            note = f"{several if len(right.pairs) > 1 else 'One pair of judges'}: {right.method}."
            panels.setdefault("Is it right?", []).append(
                _axis_panel("Paired differences from the best", note, [column], others)
            )
    if summary.tasks:
        note = f"Intervals of each judge and task alone. {summary.left_out}".strip()
        panels.setdefault("Is it right?", []).append(_axis_panel("By task", note, list(summary.tasks), summary.judges))
    for label, columns in summary.classes.items():
        rows = dict.fromkeys([*summary.judges, *(who for c in columns for who in c.cells)])
        of_each = [r for r in rows if any(r in c.cells for c in columns)]
        note = f"Intervals of each row alone. {summary.left_out}".strip()
        panels.setdefault("Is it right?", []).append(_axis_panel(label, note, columns, of_each))
    for label, note, column in summary.biases:
        judges_of_page = [j for j in column.cells if not summary.left_out or j in summary.judges]
        ordered = sorted(judges_of_page, key=lambda j, c=column: (-float(c.cells[j]["estimate"]), j))  # type: ignore[misc]
        panels.setdefault("Is it biased?", []).append(
            _axis_panel(label, f"{note} {summary.left_out}".strip(), [column], ordered)
        )
    return panels


def _axis_panel(label: str, note: str, columns: Sequence[SummaryColumn], judges: Sequence[str]) -> Record:
    width = 160 if len(columns) <= FEW_COLUMNS else 84
    rows = [{"judge": j, "cells": [_track_cell(c, j, width) for c in columns]} for j in judges]
    return {
        "label": label,
        "width": width,
        "note": note,
        "columns": [
            {"label": c.label, "note": "; ".join(filter(None, [c.note, c.size])), "ticks": c.ticks} for c in columns
        ],
        "rows": rows,
        "blank": without_numbers(columns, judges),
    }
