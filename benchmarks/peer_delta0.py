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


def made_calls(judges: int = 10, items: int = 50_000, *, categories: bool = False) -> pd.DataFrame:
    """Both orders of one pair per item and judge, in random order, two in a hundred invalid."""
    rng = np.random.default_rng(0)
    judge = np.repeat([f"judge-{i}" for i in range(judges)], 2 * items)
    item = np.tile(np.repeat([f"item-{i:06d}" for i in range(items)], 2), judges)
    calls = pd.DataFrame(
        {
            "judge": judge,
            "item": item,
            "first": np.tile(["plain", "styled"], judges * items),
            "second": np.tile(["styled", "plain"], judges * items),
            "choice": rng.choice(["first", "second", "tie", "invalid"], judge.size, p=[0.35, 0.25, 0.38, 0.02]),
            "stimulus": "same_subset",
        }
    )
    calls = calls.sample(frac=1, random_state=0, ignore_index=True)
    if not categories:
        return calls
    candidates = pd.CategoricalDtype(["plain", "styled"], ordered=True)  # ordered, so that pandas can compare them
    return calls.astype("category").astype({"first": candidates, "second": candidates})
