"""Readable peer of kappa with a bootstrap interval: a loop over resamples of rows, by scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.metrics import cohen_kappa_score


def made_verdicts(cells: int = 25, items: int = 400, seed: int = 0) -> pd.DataFrame:
    """Verdicts of two judges on the same pairs, in several cells (model x strategy, say)."""
    rng = np.random.default_rng(seed)
    n = cells * items
    truth = rng.integers(0, 3, n)
    answers = np.array(["first", "second", "tie"], dtype=object)
    said = [answers[np.where(rng.random(n) < 0.7, truth, rng.integers(0, 3, n))] for _ in "gh"]
    return pd.DataFrame(
        {
            "judge": np.repeat(np.array(["judge", "people"], dtype=object), n),
            "cell": np.tile(np.repeat([f"cell {c:02d}" for c in range(cells)], items), 2),
            "item": np.tile([f"item {i:03d}" for i in range(items)], 2 * cells),
            "first": "x",
            "second": "y",
            "choice": np.concatenate(said),
        }
    )


def kappa(verdicts: pd.DataFrame, n_resamples: int, seed: int = 0) -> pd.DataFrame:
    """Kappa of each cell, with the percentiles of resampled rows."""
    rng = np.random.default_rng(seed)
    rows = []
    for cell, part in verdicts.groupby("cell"):
        wide = part.pivot(index="item", columns="judge", values="choice")
        one, two = wide["judge"].to_numpy(), wide["people"].to_numpy()
        draws = []
        for _ in range(n_resamples):
            index = rng.integers(0, len(one), len(one))
            draws.append(cohen_kappa_score(one[index], two[index]))
        low, high = np.quantile(draws, [0.025, 0.975])
        rows.append((cell, cohen_kappa_score(one, two), np.std(draws, ddof=1), low, high))
    return pd.DataFrame(rows, columns=["cell", "estimate", "std_error", "conf_low", "conf_high"])
