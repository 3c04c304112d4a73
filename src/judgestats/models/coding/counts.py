"""Counts of identical rows: whole, and which row is not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.models.coding.frames import columns, label
from judgestats.models.grammar.syntax import Formula
from judgestats.schema.clustering import CANDIDATES
from judgestats.schema.columns import COUNTS, N
from judgestats.schema.declared_counts import counted, fractions, refusal, refuse_values, undeclared, whole_numbers

Floats = NDArray[np.float64]


def first_row(frame: pd.DataFrame, wrong: NDArray[np.bool_]) -> str:
    """The first of some rows, by its values.

    Examples
    --------
    >>> first_row(pd.DataFrame({"judge": ["a", "b"], "k": [3, 12.0]}), np.array([False, True]))
    'judge=b, k=12'
    """
    row = frame.iloc[int(np.argmax(wrong))]
    return ", ".join(f"{name}={label(value)}" for name, value in row.items())


def counted_by(data: Any, own: Iterable[str], who: str, beside: Iterable[str] = ()) -> str | None:
    """Name of the column by which the rows of a table are counted, None where each row is one.

    Parameters
    ----------
    data : frame
        Calls, or a printed table of counts.
    own : iterable of str
        Columns that the model reads.
    who : str
        Who asks, for messages.
    beside : iterable of str
        Further columns that a table of counts may have.

    Returns
    -------
    str or None
        The column of declared counts; or ``n``, where the table has nothing else but `own`, `beside` and columns that
        calls can share.

    Raises
    ------
    SchemaError
        If ``n`` is neither, or a count is none.
    """
    table = nw.from_native(data)
    present, own = columns(data), [*own]
    if COUNTS in present or N not in present or N in own or {"choice", "score"} & {*present}:
        return counted(table, own)
    further = [c for c in present if c not in (*own, *beside, *CANDIDATES, N)]
    if further and not whole_numbers(table, N):
        return None
    if further:
        raise SchemaError(
            f"A table of counts for {who} has {', '.join(own)} and {N}; this one has {', '.join(map(repr, further))} "
            f"besides. Drop what splits no count; if {N!r} is a count all the same, rename it to {COUNTS!r}, and if it "
            "is none, to anything else."
        )
    refuse_values(table, N)
    return N


def count_column(data: Any, counts: str | Literal[False] | None, formula: Formula, named: Sequence[str]) -> str | None:
    """Name of the column by which rows are counted, None where each row is one.

    Parameters
    ----------
    data : frame
    counts : str, False or None
        As for :func:`judgestats.fit`.
    formula : Formula
    named : sequence of str
        Further columns that have a part to play.

    Returns
    -------
    str or None

    Raises
    ------
    SchemaError
        If the data have a whole-number column ``n`` that nothing declares.
    DesignError
        If `counts` is no column, is in the formula, or counts means.
    """
    present = columns(data)
    taken = [*formula.variables, *named]
    if counts is None:
        if COUNTS in present and COUNTS not in taken:
            return COUNTS
        if undeclared(nw.from_native(data), taken):
            means = (
                " Of a table of means it may be runs: weights= takes them, by that name." if "mean" in present else ""
            )
            yes, no = 'fit(..., counts="n")', "fit(..., counts=False)"
            raise SchemaError(refusal(yes, no, " takes each row for one") + means)
        return None
    if counts is False:
        return None
    if not isinstance(counts, str) or counts not in present:
        what = "not a column" if isinstance(counts, str) else "neither a column nor False"
        raise DesignError(
            f"counts={counts!r} is {what}. Columns: {', '.join(present)}.{suggestion(str(counts), present)}"
        )
    if counts in taken:
        raise DesignError(f"counts={counts!r} is in the model too. A column has one part to play: drop one.")
    if "mean" in formula.answers:
        raise DesignError(
            f"counts={counts!r}: a mean stands for no identical rows. Did you mean runs? Pass the column as weights=."
        )
    return counts


def refuse_fractions(formula: Formula, frame: pd.DataFrame, count: Floats, family: str, name: str | None) -> None:
    """Refuse counts that are not whole, but for votes halved over two answers, as a tie is, or over both orders.

    Halves of a binomial response add up to whole counts in each row of the right side; those of a cumulative one may
    lie in two rows, one for each order of the pair, so that only their total is looked at.

    Parameters
    ----------
    formula : Formula
    frame : pandas.DataFrame
        K distinct rows.
    count : (K,) float array
    family : str
    name : str or None
        Of the column of counts.

    Raises
    ------
    SchemaError
        With the first such row.
    """
    wrong = fractions(count)
    if not wrong.any():
        return
    if family in ("binomial", "cumulative") and not fractions(2 * count).any():
        beside = [frame[c] for c in frame.columns if c not in formula.answers and family == "binomial"]
        total = pd.Series(count).groupby(beside or [0] * len(count), observed=True, dropna=False).transform("sum")
        wrong &= fractions(total.to_numpy())
    if wrong.any():
        row = first_row(frame.assign(**{str(name): count}), wrong)
        raise SchemaError(
            f"{name!r} counts identical rows, in whole numbers: it is not whole in {wrong.sum():,} of {len(frame):,} "
            f"distinct rows (first: {row}). Give whole numbers of calls; prior weights go in a column of another "
            "name, weights=."
        )
