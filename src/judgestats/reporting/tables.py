"""Datasheets as tables of a paper: Markdown, LaTeX, great_tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from judgestats.errors import DesignError
from judgestats.reporting.plots.rows import whose
from judgestats.reporting.sheets import ladder_bounds
from judgestats.reporting.words import THIN, count, estimate, in_words, interval

HEADS = ("judge", "section", "measure", "detail", "estimate", "interval", "n", "flag")


def printed(sheet: pd.DataFrame, *, decimals: int = 3) -> pd.DataFrame:
    """Round a datasheet to what a table prints.

    Parameters
    ----------
    sheet : pandas.DataFrame
        A result of :func:`judgestats.datasheet`, or other tidy estimates of judges.
    decimals : int
        Decimals of estimates and intervals.

    Returns
    -------
    pandas.DataFrame
        Text: ``judge`` (with the further groups), ``section``, ``measure``, ``detail``, ``estimate``, ``interval``,
        ``n``, ``flag``.

    Raises
    ------
    DesignError
        If `sheet` has no ``term`` and ``estimate``.
    """
    if not {"judge", "term", "estimate"} <= set(sheet.columns):
        raise DesignError(f"A table needs judge, term and estimate. Columns: {', '.join(map(str, sheet.columns))}.")
    who = whose(sheet)
    bounds = {judge: ladder_bounds(sheet[who == judge]) for judge in dict.fromkeys(who)}
    rows = []
    for judge, r in zip(who, sheet.to_dict("records"), strict=True):
        ends: dict[str, Any] = dict(zip(("first", "last"), bounds[judge], strict=True))
        flag = str(r.get("flag", ""))
        rows.append(
            (
                judge,
                str(r.get("section", "")),
                in_words(r["term"]),
                str(r.get("detail", "")),
                estimate(r["estimate"], flag, decimals=decimals, **ends),
                interval(r.get("conf_low", float("nan")), r.get("conf_high", float("nan")), decimals=decimals, **ends),
                count(r.get("n", float("nan"))),
                flag,
            )
        )
    return pd.DataFrame(rows, columns=list(HEADS))


def to_markdown(sheet: pd.DataFrame, *, decimals: int = 3) -> str:
    """Write a datasheet as a Markdown table.

    Parameters
    ----------
    sheet : pandas.DataFrame
        A result of :func:`judgestats.datasheet`.
    decimals : int
        Decimals of estimates and intervals.

    Returns
    -------
    str

    Examples
    --------
    >>> row = pd.DataFrame({"judge": ["a|b"], "term": ["consistency"], "estimate": [2 / 3], "conf_low": [0.5],
    ...                     "conf_high": [0.8], "n": [60.0]})
    >>> print(to_markdown(row))
    | judge | measure | estimate | interval | n |
    | --- | --- | ---: | --- | ---: |
    | a\\|b | same verdict in both orders | 0.667 | [0.500, 0.800] | 60 |
    """
    table = _filled(printed(sheet, decimals=decimals))
    right = {"estimate", "n"}
    lines = [
        list(table.columns),
        ["---:" if c in right else "---" for c in table.columns],
        *zip(
            *(table[c].map(_markdown_cell if c == "interval" else _markdown_name) for c in table.columns), strict=True
        ),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def to_latex(sheet: pd.DataFrame, *, decimals: int = 3, caption: str | None = None) -> str:
    r"""Write a datasheet as a LaTeX table (booktabs).

    Parameters
    ----------
    sheet : pandas.DataFrame
        A result of :func:`judgestats.datasheet`.
    decimals : int
        Decimals of estimates and intervals.
    caption : str, optional
        With one, the tabular stands in a table environment.

    Returns
    -------
    str

    Examples
    --------
    >>> row = pd.DataFrame({"judge": ["a_b"], "term": ["lean"], "estimate": [-0.5], "n": [60.0]})
    >>> print(to_latex(row).splitlines()[4])
    a\_b & lean to the first slot & $-$0.500 & --- & 60 \\
    """
    table = _filled(printed(sheet, decimals=decimals))
    lines = [
        rf"\begin{{tabular}}{{{''.join('r' if c in ('estimate', 'n') else 'l' for c in table.columns)}}}",
        r"\toprule",
        " & ".join(table.columns) + r" \\",
        r"\midrule",
    ]
    lines += [_latex_row(values) for values in table.itertuples(index=False, name=None)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    if caption is not None:
        lines = [r"\begin{table}", r"\centering", rf"\caption{{{_latex_cell(caption)}}}", *lines, r"\end{table}"]
    return "\n".join(lines)


def to_great_table(sheet: pd.DataFrame, *, decimals: int = 3, title: str | None = None) -> Any:
    """Make a datasheet a ``great_tables.GT``, grouped by judge.

    Parameters
    ----------
    sheet : pandas.DataFrame
        A result of :func:`judgestats.datasheet`.
    decimals : int
        Decimals of estimates and intervals.
    title : str, optional
        Title of the table.

    Returns
    -------
    great_tables.GT
        To be styled further, or saved. It escapes what comes from the data.
    """
    from great_tables import GT

    table = _filled(printed(sheet, decimals=decimals))
    made = GT(table, rowname_col="measure", groupname_col="judge").cols_align("right", columns=["estimate", "n"])
    return made.tab_header(title=title) if title else made


def _filled(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out columns that say nothing."""
    return table[
        [c for c in table.columns if c in ("judge", "measure", "estimate", "interval", "n") or (table[c] != "").any()]
    ]


def _markdown_cell(value: str) -> str:
    text = " ".join(str(value).split()) if THIN not in str(value) else str(value).replace("\n", " ")
    for mark in ("\\", "|", "`", "*", "<"):
        text = text.replace(mark, "\\" + mark)
    return text


def _markdown_name(value: str) -> str:
    """What comes from the data is no link: neither in brackets nor by its address alone."""
    text = re.sub(r"([\[\]])", r"\\\1", _markdown_cell(value))
    return re.sub(r"(?i)(\bwww)\.", r"\1\.", text.replace("://", "\\://"))


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "≤": r"$\leq$",
    ">": "$>$",
    "<": "$<$",
    "Δ": r"$\Delta$",
    "∞": r"$\infty$",
    "—": "---",
    "′": "'",
    THIN: r"\,",
    "₀": "$_0$",
}


def _latex_row(values: Sequence[str]) -> str:
    """A row; what it begins with is no option of the command before it, as in ``\\\\[2cm]`` and ``\\\\*``."""
    row = " & ".join(map(_latex_cell, values)).lstrip()
    return (f"{{{row[0]}}}{row[1:]}" if row[:1] in ("[", "*") else row) + r" \\"


def _latex_cell(value: str) -> str:
    return "".join(_LATEX.get(c, c if c.isprintable() else " ") for c in str(value))
