"""Simulated votes for paired_comparisons.R: ``python votes.py`` writes votes.csv beside it."""

from pathlib import Path

import numpy as np
import pandas as pd

rng = np.random.default_rng(20)
worth = {"a": 0.8, "b": 0.4, "c": 0.0, "d": -0.3, "e": -0.9}
rows = []
for item in range(40):
    of_item = {s: w + rng.normal(0, 0.6) for s, w in worth.items()}
    for judge in rng.choice(25, 6, replace=False):
        first, second = rng.choice(list(worth), 2, replace=False)
        lengths = rng.integers(50, 400, 2)
        eta = of_item[first] - of_item[second] + 0.4 + 0.004 * (lengths[0] - lengths[1]) + rng.logistic()
        choice = "first" if eta > 0.5 else "second" if eta < -0.5 else "tie"
        rows.append((f"j{judge:02d}", f"i{item:02d}", first, second, choice, *lengths))
columns = ["judge", "item", "first", "second", "choice", "length_first", "length_second"]
table = pd.DataFrame(rows, columns=columns)
table.to_csv(Path(__file__).with_name("votes.csv"), index=False, lineterminator="\n")
