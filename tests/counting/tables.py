"""Tables of counts that tests of intervals share."""

from __future__ import annotations

import numpy as np
import pandas as pd

from judgestats.counting.bootstrap import ratio
from judgestats.counting.counts import Counts


def clustered(seed=0, clusters=40, size=12, spread=1.0):
    """A tally of calls in clusters: hits and misses of each."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-rng.normal(0.5, spread, clusters)))
    n = rng.integers(size // 2, size + 1, clusters)
    k = rng.binomial(n, p)
    table = pd.DataFrame({"judge": "g", "item": np.repeat(np.arange(clusters), 2), "hit": [True, False] * clusters})
    return table.assign(n=np.column_stack([k, n - k]).ravel().astype(float))


def interval_of(table, plan, key=("g",), statistic=ratio):
    added = table["n"].to_numpy()[:, None] * np.column_stack([table["hit"], np.ones(len(table))])
    return Counts.of(table).resampled(added, statistic, dict(enumerate(key)), plan=plan)


def ends(row):
    return row["conf_low"], row["conf_high"]
