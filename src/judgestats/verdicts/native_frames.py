"""Frames of any kind as pandas tables, and back."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa
from narwhals.stable.v2.typing import IntoFrame

from judgestats.schema.opening import engine_errors, narwhals_frame


@engine_errors
def to_table(frame: IntoFrame) -> pd.DataFrame:
    """A pandas table of any frame, rows numbered from 0."""
    data = narwhals_frame(frame)
    table = data.lazy().collect(backend="pandas").to_native() if isinstance(data, nw.LazyFrame) else data.to_pandas()
    return pd.DataFrame(table).reset_index(drop=True)


def to_native(table: pd.DataFrame, like: Any) -> Any:
    """`table` as a frame of the kind of `like`: pandas, Polars (eager or lazy) or Arrow; else pandas."""
    data = nw.from_native(like)
    if data.implementation not in (nw.Implementation.POLARS, nw.Implementation.PYARROW):
        return table
    result = nw.from_arrow(pa.Table.from_pandas(table, preserve_index=False), backend=data.implementation)
    return (result.lazy() if isinstance(data, nw.LazyFrame) else result).to_native()
