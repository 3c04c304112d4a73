"""How tables and pictures of the notebooks look: one place for all. A notebook calls ``appearance.set_up()``."""

from __future__ import annotations

import re
from html import escape
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from IPython import get_ipython

from judgestats.reporting.plots.canvas import GRID, INK, MUTED, PALETTE

#: Columns that hold counts, and columns that hold p-values.
COUNT = re.compile(r"n|n_\w+|\w+_n|delta|systems|judges|rows|items|calls|pairs")
P_VALUE = re.compile(r"p|p_value|p_adjusted|\w+_p")
#: Columns whose numbers are of different things, as in ``check()``: each is written by itself.
MIXED = "value"
#: Most decimals of a number in a table.
DECIMALS = 3


def p_text(p: float) -> str:
    """A p-value as it is printed: ``.012``, ``< .001``."""
    return "" if np.isnan(p) else "< .001" if p < 0.001 else f"{p:.3f}".replace("0.", ".", 1)


def p_words(p: float) -> str:
    """A p-value in a sentence: ``p = .012``, ``p < .001``."""
    return f"p {'' if p < 0.001 else '= '}{p_text(p)}"


def number(x: Any) -> str:
    """A number by itself: whole ones without decimals, a missing one as nothing; text as it is."""
    if isinstance(x, str):
        return escape(x)
    return "" if pd.isna(x) else f"{x:,.0f}" if x == round(x) else f"{x:,.{DECIMALS}f}"


def table(frame: pd.DataFrame) -> str | None:
    """HTML of a table: text to the left, numbers to the right, counts without decimals, p-values as printed."""
    if len(frame) > pd.get_option("display.max_rows") or not frame.columns.is_unique:
        return str(frame.to_html())
    named = frame.index.is_unique
    frame = frame if named else frame.reset_index()
    styled = frame.style if named else frame.style.hide(axis="index")
    for column in frame.columns:
        name = str(column[-1] if isinstance(column, tuple) else column)
        values = frame[column]
        mixed = name == MIXED and any(not isinstance(v, str) for v in values)
        text = not mixed and (not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values))
        side = "left" if text else "right"
        styled = styled.set_properties(subset=[column], **{"text-align": side})
        if mixed:
            styled = styled.format(number, subset=[column])
        elif pd.api.types.is_float_dtype(values):
            styled = styled.format(_format(name, values), subset=[column], na_rep="")
        elif text:
            styled = styled.format(subset=[column], na_rep="", escape="html")
    heads = [("th", "left"), ("th.col_heading", "center")]
    return styled.set_table_styles([{"selector": s, "props": f"text-align: {side}"} for s, side in heads]).to_html()


def _format(name: str, values: pd.Series[Any]) -> Any:
    """How the numbers of a column are written."""
    finite = values[np.isfinite(values)]
    if P_VALUE.fullmatch(name):
        return p_text
    if COUNT.fullmatch(name) and (finite == finite.round()).all():
        return "{:,.0f}"
    decimals = next((d for d in range(DECIMALS) if np.allclose(finite, finite.round(d), rtol=0, atol=1e-9)), DECIMALS)
    return f"{{:.{decimals}f}}"


def set_up() -> None:
    """Show tables and pictures of this kernel alike."""
    if shell := get_ipython():
        shell.display_formatter.formatters["text/html"].for_type(pd.DataFrame, table)
    mpl.rcParams.update(
        {
            "axes.prop_cycle": mpl.cycler(color=PALETTE),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": MUTED,
            "axes.labelcolor": INK,
            "axes.titlesize": 10,
            "axes.titlelocation": "left",
            "axes.labelsize": 9,
            "xtick.labelsize": 9,
            "ytick.labelsize": 9,
            "xtick.color": INK,
            "ytick.color": INK,
            "grid.color": GRID,
            "legend.fontsize": 8,
            "legend.frameon": False,
            "figure.dpi": 100,
        }
    )
