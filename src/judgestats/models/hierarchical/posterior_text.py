"""A posterior as text: question, estimates, priors, cautions and method, in 120 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import pandas as pd

from judgestats.models.hierarchical.posterior_checks import parts
from judgestats.results import COLUMNS

WIDTH = 120
#: Rows of the table that are shown.
MOST_ROWS = 40
#: Text cells are cut to fit, but never shorter.
LEAST_TEXT = 8


def summary(question: str, table: pd.DataFrame, priors: pd.DataFrame, checks: pd.DataFrame, method: str) -> str:
    """Text of a posterior, in lines of at most 120 characters."""
    counts = parts(table["flag"])
    number = {flag: k for k, flag in enumerate(counts, 1)}
    blocks = [_wrapped(question), _estimate_lines(table, number), _prior_lines(priors), _caution_lines(counts, checks)]
    return "\n\n".join(b for b in (*blocks, f"method: {method}") if b)


def _estimate_lines(table: pd.DataFrame, number: dict[str, int]) -> str:
    """The first rows; constant columns are given once, above them."""
    before = list(table.columns[: table.columns.get_loc("term")])
    extra = [c for c in table.columns if c not in (*before, *COLUMNS)]
    numbers = [c for c in extra if pd.api.types.is_numeric_dtype(table[c])]
    text = [c for c in [*before, "term", *extra] if c not in numbers]
    same = {c: str(table[c].iloc[0]) for c in text if c != "term" and table[c].nunique(dropna=False) == 1}
    text = [c for c in text if c not in same]
    visible = table.head(MOST_ROWS)
    columns = {c: ["" if pd.isna(v) else str(v) for v in visible[c]] for c in text}
    intervals = [
        "" if math.isnan(low) and math.isnan(high) else f"[{_three_digits(low)}, {_three_digits(high)}]"
        for low, high in zip(visible["conf_low"], visible["conf_high"], strict=True)
    ]
    right = {"estimate": [_three_digits(v) for v in visible["estimate"]], "interval": intervals}
    right |= {c: [_three_digits(v) for v in visible[c]] for c in numbers}
    marks = [",".join(map(str, sorted(number[f] for f in parts([flag])))) for flag in visible["flag"]]
    lines = _lines(columns, right, [f"[{m}]" if m else "" for m in marks])
    above = ", ".join(f"{c} = {v}" for c, v in same.items() if v)
    hidden = len(table) - len(visible)
    more = [f"... {hidden:,} more rows, see .tidy()"] if hidden else []
    return "\n".join([*([_wrapped(f"all rows: {above}")] if above else []), *lines, *more])


def _lines(text: dict[str, list[str]], right: dict[str, list[str]], marks: Sequence[str]) -> list[str]:
    """Columns as lines: text on the left, truncated to fit; numbers on the right."""
    wide = {c: max(map(len, [c, *cells])) for c, cells in right.items()}
    flag = max(map(len, ["flag", *marks]))
    available = WIDTH - sum(wide.values()) - flag - 2 * (len(text) + len(wide))
    widths = {c: max(map(len, [c, *cells])) for c, cells in text.items()}
    while sum(widths.values()) > available and max(widths.values()) > LEAST_TEXT:
        widths[max(widths, key=lambda c: widths[c])] -= 1
    rows = [[*text, *right, "flag"], *([*row] for row in zip(*text.values(), *right.values(), marks, strict=True))]
    sizes = [*widths.values(), *(-w for w in wide.values()), flag]
    return ["  ".join(_cell(c, w) for c, w in zip(row, sizes, strict=True)).rstrip()[:WIDTH] for row in rows]


def _cell(value: str, width: int) -> str:
    if width < 0:
        return value.rjust(-width)
    return (value if len(value) <= width else value[: width - 2] + "..").ljust(width)


def _three_digits(value: float) -> str:
    """Three significant digits, and all digits before the decimal point: ``0.0123``, ``12,346``."""
    if math.isnan(value):
        return ""
    return f"{value:,.0f}" if 999.5 <= abs(value) < math.inf else f"{value:.3g}"


def _prior_lines(priors: pd.DataFrame) -> str:
    if priors.empty:
        return ""
    name, law = (max(map(len, priors[c].astype(str))) for c in ("parameter", "prior"))
    rows = priors[["parameter", "prior", "meaning"]].astype(str).itertuples(index=False)
    return "\n".join(["priors", *(_wrapped(f"  {p:<{name}}  {q:<{law}}  {m}", name + law + 6) for p, q, m in rows)])


def _caution_lines(counts: dict[str, int], checks: pd.DataFrame) -> str:
    """Numbered flags of the table, then those of the fit alone."""
    estimates = [f"  [{k}] {flag} ({n:,} of the estimates)" for k, (flag, n) in enumerate(counts.items(), 1)]
    others = checks[~checks["flag"].isin(["", *counts])]
    whole = [
        f"  -  {flag} ({what}{'' if math.isnan(value) else f': {_three_digits(value)}'})"
        for what, value, flag in others[["what", "value", "flag"]].itertuples(index=False)
    ]
    lines = [*(_wrapped(line, 6) for line in (*estimates, *whole))]
    return "\n".join(["cautions (check() gives advice)", *lines]) if lines else "cautions: none"


def _wrapped(line: str, indent: int = 2) -> str:
    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent=" " * indent, drop_whitespace=True)) or line
