"""A small table of calls for tests of models."""

from __future__ import annotations

import numpy as np
import pandas as pd


def calls(N: int = 240, seed: int = 0) -> pd.DataFrame:
    """Calls with two factors, a number, two grouping factors and an ordered answer."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "s": np.tile(["a", "b", "c"], N // 3),
            "p": np.repeat(["P1", "P2"], N // 2),
            "x": rng.integers(-2, 3, N),
            "g": rng.integers(0, 12, N),
            "h": rng.integers(0, 8, N),
        }
    )
    u = rng.normal(size=12)[table["g"]]
    eta = 0.3 + 0.5 * (table["s"] == "b") - 0.4 * table["x"] + u
    table["y"] = (rng.random(N) < 1 / (1 + np.exp(-eta))).astype(int)
    table["score"] = eta + rng.normal(size=N)
    table["k"] = rng.poisson(np.exp(0.3 + 0.2 * table["x"]))
    table["verdict"] = pd.cut(table["score"], [-np.inf, -0.4, 0.6, np.inf], labels=["loses", "tie", "wins"]).astype(str)
    return table


def tallied(table: pd.DataFrame) -> pd.DataFrame:
    return table.groupby(list(table.columns), observed=True).size().rename("n").reset_index()


def cell(table, **keys):
    """The one row with these values."""
    rows = np.logical_and.reduce([table[k] == v for k, v in keys.items()])
    assert rows.sum() == 1, table[rows]
    return table[rows].iloc[0]
