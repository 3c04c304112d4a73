"""How results are shown in a session: what one reads first of a frame, and text as it is set. May import wording."""

from __future__ import annotations

import html
from itertools import takewhile

import pandas as pd

from judgestats.typing import Column
from judgestats.wording import as_one, texts_of, without_numbers

#: What stands behind the ``by`` columns, and what behind all others.
_FIRST, _LAST = ("term", "estimate", "conf_low", "conf_high", "n"), ("std_error", "method", "flag")
#: Rows that are named beside a flag, and flags that are printed.
_MOST = 3


class SetText(str):
    """A text whose lines a notebook shows as they are set."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"


class ShownAsSummary:
    """What a notebook shows of a model is its summary."""

    def summary(self) -> str:
        """The model as text."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return SetText(self.summary())._repr_html_()


class _AnyFrame(type):
    """A class of which every DataFrame is an instance, so that ``assert_frame_equal`` takes either on either side."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, pd.DataFrame)


class Estimates(pd.DataFrame, metaclass=_AnyFrame):  # type: ignore[misc]
    """A frame of estimates that prints in the width of pandas (``display.width``), and is a DataFrame in all else.

    What pandas makes of it, a copy or a pickle included, is a plain DataFrame.
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame  # type: ignore[no-any-return]

    def __reduce__(self) -> tuple[type[pd.DataFrame], tuple[pd.DataFrame]]:
        return pd.DataFrame, (self.copy(),)

    def __repr__(self) -> str:
        """The columns that fit, the first in any case; what was left out; flags with their rows."""
        table, width = self.copy(), pd.get_option("display.width") or 80
        by = list(takewhile(lambda name: name not in _FIRST, table))
        first = [*by, *(name for name in _FIRST if name in table)]
        last = [name for name in _LAST if name in table]
        columns = [*first, *(name for name in table if name not in first and name not in last), *last]
        limits = ("display.max_columns", None, "display.expand_frame_repr", False, "display.show_dimensions", False)
        with pd.option_context(*limits):
            for fits in range(len(columns), len(first) - 1, -1):
                text = repr(table[columns[:fits]])
                if max(map(len, text.splitlines())) <= width:
                    break
        if not (hidden := columns[fits:]):
            return text
        size = f"[{len(table)} row{'s' * (len(table) != 1)} x {len(columns)} columns; not shown: {', '.join(hidden)}]"
        return "\n".join([text, size, *(_flags(table["flag"]) if "flag" in hidden else [])])


def _flags(flags: Column) -> list[str]:
    """A line for each flag, with its rows; such as differ in their numbers alone are one."""
    rows: dict[str, dict[object, str]] = {}
    for row, cell in flags.items():
        for flag in texts_of([cell]):
            rows.setdefault(without_numbers(flag), {})[row] = flag
    lines = []
    for of in list(rows.values())[:_MOST]:
        more = f" and {len(of) - _MOST} more" if len(of) > _MOST else ""
        where = f"row{'s' * (len(of) > 1)} {', '.join(map(str, list(of)[:_MOST]))}{more}"
        lines.append(f"{where}: {as_one(of.values())}")
    return lines + [f"and {len(rows) - _MOST} other flags"] * (len(rows) > _MOST)
