"""Which rows a measure counts."""

from __future__ import annotations

import polars as pl
import pytest

import judgestats as js
from judgestats.errors import SchemaError


@pytest.mark.parametrize("side", ["first", "second"])
def test_a_call_without_a_name_is_refused_lazily_as_in_memory(side):
    """It was left out of a lazy frame without a word: a candidate that is missing is unlike any other."""
    columns = {"judge": ["g"] * 3, "item": ["i", "j", "k"], "first": ["a"] * 3, "second": ["b"] * 3}
    columns[side] = [None, *columns[side][1:]]
    frame = pl.DataFrame({**columns, "choice": ["first", "second", "first"]})
    for calls in (frame.to_pandas(), frame, frame.lazy()):
        with pytest.raises(SchemaError, match="'first' or 'second' is missing in 1 of 3 rows"):
            js.preference_rate(calls)
