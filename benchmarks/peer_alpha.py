"""Peer of Krippendorff's alpha: evalica (Rust), on the table of judges by units that it takes."""

from __future__ import annotations

import numpy as np
import pandas as pd


def made_ratings(units: int, judges: int = 5, seed: int = 0, categories: bool = False) -> pd.DataFrame:
    """Scores from 1 to 5, a row each."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, units)
    score = np.clip(truth + rng.integers(-1, 2, (judges, units)), 1, 5).astype(float)
    frame = pd.DataFrame(
        {
            "judge": np.repeat([f"judge {j}" for j in range(judges)], units),
            "system": "s",
            "item": np.tile([f"item {i:06d}" for i in range(units)], judges),
            "score": score.ravel(),
        }
    )
    return frame.astype(dict.fromkeys(["judge", "system", "item"], "category")) if categories else frame


def wide(ratings: pd.DataFrame) -> pd.DataFrame:
    """Judges by units."""
    return ratings.pivot(index="judge", columns="item", values="score")


def alpha(ratings: pd.DataFrame, level: str) -> float:
    """From the same rows as ours: the table is made first."""
    import evalica

    return float(evalica.alpha(wide(ratings), distance=level).alpha)


def alpha_of_table(table: pd.DataFrame, level: str) -> float:
    """From a table that is there already."""
    import evalica

    return float(evalica.alpha(table, distance=level).alpha)


def interval(ratings: pd.DataFrame, level: str, n_resamples: int) -> tuple[float, float]:
    """Its bootstrap draws single disagreements, not units."""
    import evalica

    result = evalica.alpha_bootstrap(wide(ratings), distance=level, n_resamples=n_resamples, random_state=0)
    return result.low, result.high
