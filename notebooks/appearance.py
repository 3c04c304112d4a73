"""How tables and pictures of the notebooks look, and how they sample: ``sampling = appearance.set_up()``."""

from __future__ import annotations

import hashlib
import os
import re
import time
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from great_tables import GT
from IPython import get_ipython
from IPython.display import Markdown, display

from judgestats.models.bayes.draws import diagnostics
from judgestats.reporting.plots.canvas import GRID, INK, MUTED, PALETTE, Picture

#: Columns that hold counts, and columns that hold p-values.
COUNT = re.compile(r"n|n_\w+|\w+_n|delta|systems|judges|rows|items|calls|pairs")
P_VALUE = re.compile(r"p|p_value|p_adjusted|\w+_p")
#: Columns whose numbers are of different things, as in ``check()``: each is written by itself.
MIXED = "value"
#: Heads of the ends of an interval.
INTERVAL = {"conf_low": "from", "conf_high": "to", "estimate": "estimate"}
LOOK: dict[str, Any] = {
    "table_font_size": "13px",
    "data_row_padding": "3px",
    "column_labels_font_weight": "bold",
    "table_margin_left": "0px",
    "container_overflow_x": "auto",
}
#: Draws per chain, where they are not all.
DRAWS = "JUDGESTATS_NOTEBOOK_DRAWS"
#: Under this name the last line of a notebook carries what was sampled, for the test that compares two runs.
SAMPLED = "sampled"
#: Under this name a picture carries what its axes say.
AXES = "axes"
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
        return x
    return "" if pd.isna(x) else f"{x:,.0f}" if x == round(x) else f"{x:,.{DECIMALS}f}"


def table(frame: pd.DataFrame) -> str:
    """A frame as a great table: its index as columns, heads over heads, text to the left and numbers to the right."""
    named = frame.index.names != [None] or not pd.api.types.is_numeric_dtype(frame.index)
    flat = frame.reset_index() if named else frame.reset_index(drop=True)
    heads = [c if isinstance(c, tuple) else (c,) for c in flat.columns]
    flat.columns = pd.Index([str(k) for k in range(len(heads))])
    text = [str(k) for k in range(len(heads)) if _is_text(str(heads[k][-1]), flat[str(k)])]
    alike = _decimals(frame.to_numpy(float).ravel()) if frame.columns.name and frame.dtypes.eq(float).all() else None
    written = pd.DataFrame({str(k): _written(str(head[-1]), flat[str(k)], alike) for k, head in enumerate(heads)})
    shown = GT(written, id="t" + hashlib.sha256(repr((heads, written.to_numpy())).encode()).hexdigest()[:9])
    shown = shown.cols_label({str(k): _head(h) for k, h in enumerate(heads)}).cols_align("right")
    shown = shown.cols_align("left", columns=text) if text else shown
    for over in dict.fromkeys(h[0] for h in heads if len(h) > 1 and h[-1] != "" and h[0] != ""):
        under = [str(k) for k, h in enumerate(heads) if h[0] == over and len(h) > 1]
        shown = shown.tab_spanner(str(over).replace("_", " "), columns=under)
    return str(shown.tab_options(**LOOK).as_raw_html())


def _head(head: tuple[Any, ...]) -> str:
    """What stands above a column: the lowest of its heads that is not empty."""
    last = next((str(h) for h in reversed(head) if str(h) not in ("", "None")), "")
    return "" if re.fullmatch(r"(level_)?\d+|index", last) else INTERVAL.get(last, last.replace("_", " "))


def _is_text(name: str, values: pd.Series[Any]) -> bool:
    if name == MIXED and any(not isinstance(v, str) for v in values):
        return False
    return not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)


def _written(name: str, values: pd.Series[Any], decimals: int | None = None) -> list[str]:
    """The values of a column as they are printed, with the decimals that they need, or as many as is said."""
    if name == MIXED and any(not isinstance(v, str) for v in values):
        return [number(v) for v in values]
    if pd.api.types.is_float_dtype(values):
        form = _format(name, values) if decimals is None else f"{{:.{decimals}f}}"
        return ["" if pd.isna(v) else form(v) if callable(form) else form.format(v + 0.0) for v in values]
    if _is_text(name, values):
        return ["" if pd.isna(v) else {"True": "yes", "False": "no"}.get(str(v), str(v)) for v in values]
    return [f"{v:,}" if COUNT.fullmatch(name) else str(v) for v in values]


def _format(name: str, values: pd.Series[Any]) -> Any:
    """How the numbers of a column are written."""
    finite = values[np.isfinite(values)]
    if P_VALUE.fullmatch(name):
        return p_text
    if COUNT.fullmatch(name) and (finite == finite.round()).all():
        return "{:,.0f}"
    return f"{{:.{_decimals(finite)}f}}"


def _decimals(values: Any) -> int:
    """How many decimals show the numbers, at most three."""
    finite = np.asarray(values)[np.isfinite(values)]
    return next((d for d in range(DECIMALS) if np.allclose(finite, finite.round(d), rtol=0, atol=1e-9)), DECIMALS)


_BEGUN = time.perf_counter()


def set_up() -> dict[str, Any]:
    """Show tables and pictures of this kernel alike; returns the options of the sampler."""
    if shell := get_ipython():
        shell.display_formatter.formatters["text/html"].for_type(pd.DataFrame, table)
        shell.display_formatter.formatters["image/png"].for_type(Picture, with_axes)
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
    draws = int(os.environ.get(DRAWS, "1000"))
    full = draws >= 1000
    return {"draws": draws, "tune": 1000 if full else 400, "chains": 4 if full else 2, "progress": False}


def with_axes(picture: Picture) -> tuple[bytes, dict[str, Any]] | None:
    """A picture of the package, which carries what its axes say, for the test that compares two runs."""
    image = picture._repr_png_()
    said = [[ax.get_title("left"), ax.get_xlabel(), *(t.get_text() for t in ax.get_yticklabels())] for ax in picture]
    return image and (image[0], {**image[1], AXES: said})


def last_line(*fits: Any) -> None:
    """Run time and draws; the estimates of the models that were sampled go with them, unseen."""
    minutes = (time.perf_counter() - _BEGUN) / 60
    told = [_estimates(f) for f in fits if not f.draws().empty]
    shapes = sorted({(model["chains"], model["draws"]) for model in told})
    sizes = [f"{c} chains of {d:,} draws" if c > 1 else f"{d:,} draws by importance sampling" for c, d in shapes]
    text = f"*{' and '.join(sizes) or 'Nothing is sampled'}; run time {minutes:.1f} minutes.*"
    display(Markdown(text), metadata={SAMPLED: told})


def _estimates(fit: Any) -> dict[str, Any]:
    """Estimate, standard error and ends of each row that a sampled model reports, and the smallest effective size."""
    draws, rows = fit.draws(), fit.tidy()
    shape = draws["chain"].nunique(), draws["draw"].nunique()
    labels = rows.select_dtypes(exclude="number").drop(columns=["method", "flag"], errors="ignore").astype(str)
    numbers = rows[["estimate", "std_error", "conf_low", "conf_high"]].astype(float)
    values = {
        " ".join(k): [None if np.isnan(x) else float(f"{x:.5g}") for x in v]
        for k, v in zip(labels.to_numpy(), numbers.to_numpy(), strict=True)
    }
    size = diagnostics(draws.drop(columns=["chain", "draw"]).to_numpy(float).reshape(*shape, -1))[1]
    return {"chains": shape[0], "draws": shape[1], "ess": round(float(np.nanmin(size))), "rows": values}
