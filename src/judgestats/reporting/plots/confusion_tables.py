"""Which class is taken for which: confusion tables as a heat map."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from judgestats.reporting import estimate_rows
from judgestats.reporting.plots import canvas
from judgestats.reporting.plots.matrices import SEQUENTIAL, Shading, heat


@canvas.picture()
def confusion(table: pd.DataFrame, *, ax: Axes | None = None, title: str | None = None) -> canvas.Picture:
    """Draw the confusion table of each judge.

    Parameters
    ----------
    table : pandas.DataFrame
        A result of :func:`confusion`.

    Returns
    -------
    Picture
        A row for each judge and right class, a column for each answer: the share of the answers where this class is
        right. The right answers are framed; a row without a call is empty.

    See Also
    --------
    judgestats.confusion : the table. judgestats.classification : sensitivity and precision of it.

    Examples
    --------
    >>> import judgestats as js
    >>> counts = pd.DataFrame({"judge": "g", "other": "gold", "answer": ["a", "a", "b"], "n": [8, 1, 4],
    ...                        "other_answer": ["a", "b", "b"]})
    >>> [t.get_text() for t in confusion(js.confusion(counts)).texts]
    ['100\u202f%', '0\u202f%', '20\u202f%', '80\u202f%']
    """
    estimate_rows.require(table, "judge", "term", "answer", "reference", "estimate")
    rows = estimate_rows.chosen(table, ["confusion"], "judge", "answer", "reference", source="confusion")
    who = estimate_rows.whose(rows.drop(columns="other", errors="ignore"))
    several = who.nunique() > 1
    rows = rows.assign(_row=who + ": " + rows["reference"] if several else rows["reference"])
    names, answers = estimate_rows.distinct(rows["_row"]), estimate_rows.distinct(rows["answer"])
    wide = rows.pivot(index="_row", columns="answer", values="estimate").reindex(index=names, columns=answers)
    right = rows.drop_duplicates("_row").set_index("_row")["reference"].reindex(names)
    own = pd.DataFrame(np.equal.outer(right.to_numpy(), np.array(answers, dtype=object)), index=names, columns=answers)
    shading = Shading(SEQUENTIAL, Normalize(0, 1), "share of the answers where the class of the row is right", "share")
    ax = heat(wide, wide, shading, own, ax, title)
    return canvas.Picture(ax, rows.drop(columns="_row"))
