"""Types of the arrays that flow through the package, and of seeds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
#: None: another one each time.
Seed = int | np.random.Generator | None
