"""Verdicts under several strategies, and counts of outcomes under the baseline and under a strategy."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd


def counted(a: int, b: int, c: int, d: int, judge: str = "g", strategy: str = "S8") -> pd.DataFrame:
    """Pairs right under both, the baseline only, the strategy only, neither."""
    outcomes = {"baseline": ["correct", "correct", "wrong", "wrong"], "outcome": ["correct", "wrong"] * 2}
    return pd.DataFrame({"judge": judge, "strategy": strategy, **outcomes, "n": [a, b, c, d]})


def verdicts(n: int = 80, strategies: str = "B0 S1 S8", judges: str = "gh", seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    gold = rng.choice(["x", "y", "tie"], n)
    truth = np.where(gold == "x", "first", np.where(gold == "y", "second", "tie"))
    parts = []
    for judge, strategy in itertools.product(judges, strategies.split()):
        other = rng.choice(["first", "second", "tie", "invalid"], n, p=[0.35, 0.3, 0.25, 0.1])
        choice = np.where(rng.random(n) < 0.5, truth, other)
        columns = {"item": np.arange(n).astype(str), "first": "x", "second": "y", "gold": gold, "choice": choice}
        parts.append(pd.DataFrame({"judge": judge, "strategy": strategy, **columns}))
    return pd.concat(parts, ignore_index=True)


CROSSED = (["correct", "correct", "wrong", "wrong"], ["correct", "wrong", "correct", "wrong"])


def crossed(strategy: str, n: list[float], **columns: str) -> pd.DataFrame:
    return pd.DataFrame(
        {"judge": "g", "strategy": strategy, "baseline": CROSSED[0], "outcome": CROSSED[1], "n": n, **columns}
    )
