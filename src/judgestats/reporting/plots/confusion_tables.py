"""Which class is taken for which: confusion tables as a heat map."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from judgestats.reporting import estimate_rows
from judgestats.reporting.plots import canvas
from judgestats.reporting.plots.matrices import SEQUENTIAL, Shading, heat

#: More rows than these are put beside each other.
MOST_ROWS = 40


@canvas.picture()
def confusion(
    table: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: Axes | None = None, title: str | None = None
) -> canvas.Picture:
    """Draw the confusion table of each judge.

    Parameters
    ----------
    table : pandas.DataFrame
        A result of :func:`confusion`.

    Returns
    -------
    Picture
        A row for each judge and right class, a column for each answer: the share of the answers where this class is
        right. The right answers are framed; a row without a call is empty. Of more than 40 rows, there is one for each
        judge, and a column for each right class and answer.

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
    who = estimate_rows.whose(rows, estimate_rows.groups_of(rows, "other", "answer", "reference"))
    right = rows.assign(_who=who)[rows["reference"] == rows["answer"]]
    judges = estimate_rows.ordered(rows.assign(_who=who), order, right, column="_who")
    place = who.map({judge: i for i, judge in enumerate(judges)})
    rows = rows.loc[place.sort_values(kind="stable").index]
    who, of, answer, several = who[rows.index], rows["reference"], rows["answer"], who.nunique() > 1
    if several and who.nunique() * of.nunique() > MOST_ROWS:
        rows = rows.assign(_row=who, _column=of + " → " + answer)
    else:
        rows = rows.assign(_row=who + ": " + of if several else of, _column=answer)
    names, columns = (estimate_rows.distinct(rows[c]) for c in ("_row", "_column"))
    rows = rows.assign(_right=of == answer)
    wide, own = (
        rows.pivot(index="_row", columns="_column", values=v).reindex(index=names, columns=columns)
        for v in ("estimate", "_right")
    )
    shading = Shading(SEQUENTIAL, Normalize(0, 1), "share of the answers where this class is right", "share")
    ax = heat(wide, wide, shading, own.eq(other=True), ax, title)
    return canvas.Picture(ax, rows)
