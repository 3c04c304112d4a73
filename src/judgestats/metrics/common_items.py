"""Groups of judges that judged the same things."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

#: Share of the items of the judge with fewer of them that two judges share if they are of one group.
TOGETHER = 0.5


def together(judges: pd.Series[Any], items: pd.Series[Any]) -> list[list[str]]:
    """Groups of judges that share at least half of the items of the one with fewer, the largest first.

    >>> together(pd.Series(["a", "a", "b", "b", "c"]), pd.Series(["1", "2", "1", "2", "9"]))
    [['a', 'b'], ['c']]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    who, names = pd.factorize(judges.astype(str), sort=True)
    what, things = pd.factorize(items.astype(str))
    marks = csr_array((np.ones(len(who)), (who, what)), shape=(len(names), len(things)))
    marks.sum_duplicates()
    marks.data[:] = 1.0
    shared = (marks @ marks.T).tocoo()
    own = shared.diagonal()
    linked = shared.data >= TOGETHER * np.minimum(own[shared.row], own[shared.col])
    links = csr_array((np.ones(linked.sum()), (shared.row[linked], shared.col[linked])), shape=shared.shape)
    component = connected_components(links, directed=False)[1]
    parts = pd.Series(names.astype(str)).groupby(component).agg(list) if len(names) else []
    return sorted(parts, key=lambda g: (-len(g), g))
