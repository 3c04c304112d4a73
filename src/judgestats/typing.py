"""Types of the arrays and records that flow through the package, and of seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Whole numbers of any width.
Integers = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]
#: Rows of a table, by number or by a mask.
Rows = Integers | Mask
#: A column of any type.
Column: TypeAlias = "pd.Series[Any]"
#: None: another one each time.
Seed = int | np.random.Generator | None
#: A row of a table, or a JSON object.
Record = dict[str, Any]
#: A JSON schema, or a part of one.
JsonSchema = Mapping[str, Any]
#: Frames that Narwhals has opened; `narwhals.stable.v2.typing.Frame` is either.
EagerFrame: TypeAlias = "nw.DataFrame[Any]"
LazyFrame: TypeAlias = "nw.LazyFrame[Any]"
