"""Tidy estimates as a table of a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from judgestats import flags
from judgestats.reporting.formatting import NONE, PERCENT, count, in_words, p_value, printed, spaced, with_interval
from judgestats.reporting.sheets import drawn, flag_marks, reasons
from judgestats.reporting.summary_parts import listed
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
    """Table of tidy estimates of a measure: labels of the row, the estimate with its interval, cautions.

    What has no number is no row: its reason is a line, in ``nothing``.
    """
    names = [c for c in rows.columns if c not in COLUMNS and c not in _BESIDE and _names_rows(rows[c])]
    beside = [c for c in _BESIDE if c in rows.columns and rows[c].notna().any()]
    records = [*zip(rows.to_dict("records"), without_number(rows), strict=True)]
    return table_of(records, names, beside, conf_level, measure)


def table_of(
    records: Sequence[tuple[Record, bool]],
    names: Sequence[str],
    beside: Sequence[str],
    conf_level: float,
    measure: str = "",
) -> Record:
    """Table of estimates, each with whether it has no number.

    `names`: columns that label the rows. `beside`: columns printed beside the estimate.
    """
    body = [
        {
            "labels": [_label_cell(r[c]) for c in names],
            "measure": in_words(r["term"], measure, r.get("threshold", math.nan)),
            **dict(zip(("value", "interval"), with_interval(r, measure), strict=True)),
            "method": r["method"],
            "bar": drawn(r),
            "n": count(r["n"]) if r["n"] == r["n"] else NONE,
            "beside": [_value_cell(c, r[c]) for c in beside],
            "flags": flag_marks(r["flag"]),
        }
        for r, blank in records
        if not blank
    ]
    return {
        "about": f"estimates of {measure}" if measure else "estimates",
        "labels": [c.replace("_", " ") for c in names],
        "level": f"{100 * conf_level:g}{PERCENT}",
        "beside": [_BESIDE[c] for c in beside],
        "rows": body,
        "nothing": _nothing([r for r, blank in records if blank], names, measure),
    }


def without_number(rows: pd.DataFrame) -> pd.Series[bool]:
    """Rows that have neither an estimate, nor an end of an interval, nor a bound."""
    bound = flags.have(rows["flag"], flags.RIGHT_CENSORED, flags.LEFT_CENSORED)
    return rows[["estimate", "conf_low", "conf_high"]].isna().all(axis=1) & ~bound


def _nothing(rows: Sequence[Record], names: Sequence[str], measure: str) -> list[str]:
    """A line for each measure that has no number, and each reason: of which rows, and why."""
    of: dict[tuple[str, str], list[str]] = {}
    for r in rows:
        label = in_words(r["term"], measure, r.get("threshold", math.nan))
        why = reasons([r["flag"]]) or f"n = {count(r['n'])}"
        row = " · ".join(text for c in names if (text := _label_cell(r[c])) not in (NONE, label))
        of.setdefault((label, why), []).append(row)
    lines = ((label, listed(filter(None, dict.fromkeys(who))), why) for (label, why), who in of.items())
    return [spaced(f"No number: {label}{f' ({who})' if who else ''}: {why}.") for label, who, why in lines]


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
