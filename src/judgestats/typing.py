"""Types of the arrays and records that flow through the package, and of seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Whole numbers of any width.
Codes = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]
#: None: another one each time.
Seed = int | np.random.Generator | None
#: A row of a table, or a JSON object.
Record = dict[str, Any]
