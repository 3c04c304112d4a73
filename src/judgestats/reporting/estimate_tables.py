"""Tidy estimates as a table of a page."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from judgestats.reporting.formatting import NONE, PERCENT, count, in_words, p_value, printed, with_interval
from judgestats.reporting.sheets import drawn, flag_marks
from judgestats.results import COLUMNS
from judgestats.typing import Record

#: Columns that are not shown if they have one value.
_QUIET = ("unit", "embed", "adjustment")
#: Columns of a result that are printed beside the estimate, and their heads.
_BESIDE = {
    "p_value": "p",
    "p_adjusted": "p, adjusted",
    "survives": "survives correction",
    "share": "share",
    "reading": "reading",
    "relative": "relative, %",
}


def estimates_table(rows: pd.DataFrame, conf_level: float, measure: str = "") -> Record:
    """Table of tidy estimates of a measure: labels of the row, the estimate with its interval, cautions."""
    names = [c for c in rows.columns if c not in COLUMNS and c not in _BESIDE and _names_rows(rows[c])]
    beside = {c: head for c, head in _BESIDE.items() if c in rows.columns and rows[c].notna().any()}
    body = [
        {
            "labels": [_label_cell(r[c]) for c in names],
            "measure": in_words(r["term"], measure, r.get("threshold", math.nan)),
            **dict(zip(("value", "interval"), with_interval(r, measure), strict=True)),
            "method": r["method"],
            "bar": drawn(r),
            "n": count(r["n"]),
            "beside": [_value_cell(c, r[c]) for c in beside],
            "flags": flag_marks(r["flag"]),
        }
        for r in rows.to_dict("records")
    ]
    return {
        "about": f"estimates of {measure}" if measure else "estimates",
        "labels": [c.replace("_", " ") for c in names],
        "level": f"{100 * conf_level:g}{PERCENT}",
        "beside": list(beside.values()),
        "rows": body,
    }


def _names_rows(values: pd.Series[Any]) -> bool:
    """Whether a column labels the rows (numbers that belong to an estimate are not printed)."""
    labels = values[values.notna() & (values.astype(object) != "")]
    if values.name in _QUIET and labels.nunique() < 2:
        return False
    return len(labels) > 0 and not pd.api.types.is_float_dtype(values) and not pd.api.types.is_bool_dtype(values)


def _label_cell(value: object) -> str:
    missing = value is None or value == "" or (isinstance(value, float) and math.isnan(value)) or value is pd.NA
    return NONE if missing else str(value)


def _value_cell(column: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float) or math.isnan(value):
        return _label_cell(value)
    return p_value(value) if column.startswith("p_") else printed(value, "share" if column == "share" else "score")
