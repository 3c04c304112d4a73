"""The column that counts identical rows: which one it is, and that its counts are whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.counting.clustering import CANDIDATES
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.models.coding.factor_levels import label
from judgestats.models.coding.model_frames import columns
from judgestats.models.grammar.syntax import Formula
from judgestats.schema.columns import COUNTS, N
from judgestats.schema.declared_counts import counted, fractions, refusal, refuse_values, undeclared, whole_numbers
from judgestats.typing import Floats, Mask


def first_row(frame: pd.DataFrame, wrong: Mask) -> str:
    """The first of some rows, by its values: ``judge=b, k=12``."""
    row = frame.iloc[int(np.argmax(wrong))]
    return ", ".join(f"{name}={label(value)}" for name, value in row.items())


def counted_by(data: IntoFrame, own: Iterable[str], who: str, beside: Iterable[str] = ()) -> str | None:
    """Name of the column by which the rows of a table are counted, if any; `who` asks, for messages.

    The column of declared counts; or ``n``, if all other columns are `own`, `beside` or such as identical calls share.
    Any other ``n`` is refused.
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


def count_column(
    data: IntoFrame, counts: str | Literal[False] | None, formula: Formula, columns_in_use: Sequence[str]
) -> str | None:
    """Name of the column by which rows are counted, if any; an undeclared whole-number ``n`` is refused."""
    present = columns(data)
    taken = [*formula.variables, *columns_in_use]
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
        raise DesignError(f"counts={counts!r} is in the model too. A column can have one role only: drop one.")
    if "mean" in formula.answers:
        raise DesignError(
            f"counts={counts!r}: a mean has no identical rows. Did you mean runs? Pass the column as weights=."
        )
    return counts


def refuse_fractions(
    formula: Formula, frame: pd.DataFrame, count: Floats, name: str | None, *, halves: bool, by_side: bool
) -> None:
    """Refuse counts that are not whole, but for votes halved over two answers, as a tie is, or over both orders.

    Halves are for categorical responses. Those of a binomial response add up to whole counts in each row of the right
    side (`by_side`); those of a cumulative one may lie in two rows, one for each order of the pair, so that only their
    total is looked at.
    """
    wrong = fractions(count)
    if not wrong.any():
        return
    if halves and not fractions(2 * count).any():
        beside = [frame[c] for c in frame.columns if c not in formula.answers and by_side]
        total = pd.Series(count).groupby(beside or [0] * len(count), observed=True, dropna=False).transform("sum")
        wrong &= fractions(total.to_numpy())
    if wrong.any():
        row = first_row(frame.assign(**{str(name): count}), wrong)
        raise SchemaError(
            f"{name!r} counts identical rows, in whole numbers: it is not whole in {wrong.sum():,} of {len(frame):,} "
            f"distinct rows (first: {row}). Give whole numbers of calls; prior weights go in a column of another "
            "name, weights=."
        )
