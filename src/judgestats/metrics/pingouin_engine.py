"""Computations by pingouin (extra ``pingouin``): intraclass and repeated-measures correlations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from judgestats import methods
from judgestats.errors import DesignError
from judgestats.threads import Shared, warnings_ignored
from judgestats.typing import Floats, Ints
from judgestats.wording import Method

#: Largest design matrix (points x items): pingouin makes it dense.
MOST_CELLS = 2**28


def library() -> Any:
    """pingouin, or an error with the command that installs it."""
    try:
        import pingouin
    except ImportError as error:
        raise DesignError('pingouin is not installed. Do: pip install "judgestats[pingouin]"') from error
    return pingouin


def version() -> Method:
    """pingouin's name and version, for the column ``method``."""
    return methods.NONE.on(f"pingouin {library().__version__}", "")


def _unrounded(_: list[Any]) -> Callable[[], Any]:
    options = library().options
    before = dict(options)
    options.update(dict.fromkeys(before))

    def restore() -> None:
        options.clear()
        options.update(before)

    return restore


_UNROUNDED = Shared(_unrounded)


def six_correlations(scores: Floats) -> dict[str, Floats]:
    """Estimates, 95 % limits and F tests of the six forms, each (6,), of complete subjects x raters."""
    n, k = scores.shape
    subject, rater = np.indices((n, k))
    table = pd.DataFrame({"subject": subject.ravel(), "rater": rater.ravel(), "score": scores.ravel()})
    with _UNROUNDED.held(), warnings_ignored(), np.errstate(all="ignore"):
        found = library().intraclass_corr(data=table, targets="subject", raters="rater", ratings="score")
    limits = np.stack([np.asarray(ends, dtype=float) for ends in found["CI95"]])
    columns = {"estimate": "ICC", "F": "F", "df1": "df1", "df2": "df2", "p_value": "pval"}
    return {
        **{ours: found[theirs].to_numpy(dtype=float) for ours, theirs in columns.items()},
        "conf_low": limits[:, 0],
        "conf_high": limits[:, 1],
    }


def repeated_measures(x: Floats, y: Floats, item: Ints) -> tuple[float, int]:
    """Correlation within items (Bakdash and Marusich 2017) and its df; NaN for fewer than 3 items or no spread."""
    items, code = np.unique(item, return_inverse=True)
    df = x.size - items.size - 1
    if items.size < 3 or df < 1:
        return float("nan"), max(df, 0)
    for values in (x, y):
        mean = np.bincount(code, values) / np.bincount(code)
        if np.abs(values - mean[code]).max() <= 16 * np.finfo(float).eps * np.abs(values).max():
            return float("nan"), df
    if x.size * items.size > MOST_CELLS:
        raise DesignError(
            f"pingouin needs a dense column for each item: {x.size:,} points of {items.size:,} items do not fit into "
            "memory. Use fewer items, or split them with by=."
        )
    table = pd.DataFrame({"x": x, "y": y, "item": code})
    with _UNROUNDED.held(), warnings_ignored(), np.errstate(all="ignore"):
        found = library().rm_corr(data=table, x="x", y="y", subject="item")
    return float(np.clip(found["r"].iloc[0], -1, 1)), int(found["dof"].iloc[0])
