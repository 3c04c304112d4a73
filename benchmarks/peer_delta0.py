"""The Δ0 decomposition as one would write it in vectorised pandas: the peer of the benchmark."""

from __future__ import annotations

import numpy as np
import pandas as pd


def delta0(calls: pd.DataFrame) -> pd.DataFrame:
    """Rates per judge; the same as :func:`judgestats.delta0` without intervals."""
    calls = calls[calls["stimulus"] == "same_subset"]
    forward = calls["first"] <= calls["second"]
    low = calls["first"].where(forward, calls["second"])
    high = calls["second"].where(forward, calls["first"])
    calls = calls.assign(low=low, high=high, order=np.where(forward, "forward", "reverse"))
    keys = ["judge", "item", "low", "high"]
    one = calls[calls["order"] == "forward"].set_index(keys)["choice"]
    two = calls[calls["order"] == "reverse"].set_index(keys)["choice"]
    pairs = pd.DataFrame({"forward": one, "reverse": two}).reset_index()
    valid = ["first", "second", "tie"]
    pairs = pairs[pairs["forward"].isin(valid) & pairs["reverse"].isin(valid)]
    ties = (pairs["forward"] == "tie").astype(int) + (pairs["reverse"] == "tie").astype(int)
    same = pairs["forward"] == pairs["reverse"]
    pairs = pairs.assign(
        stable_cross_sensitivity=(ties == 0) & ~same,
        positional_false_preference=(ties == 0) & same,
        one_sided_commit=ties == 1,
        no_preference=ties == 2,
        raw_false_preference=1 - ties / 2,
    )
    terms = [
        "raw_false_preference",
        "stable_cross_sensitivity",
        "positional_false_preference",
        "one_sided_commit",
        "no_preference",
    ]
    return pairs.groupby("judge")[terms].mean()
