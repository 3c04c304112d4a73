"""Readable peer of a ranking: logistic regression by scikit-learn on a sparse design, as leaderboards do it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression


def made_votes(calls: int = 1_000_000, systems: int = 100, items: int = 20_000, seed: int = 0) -> pd.DataFrame:
    """Votes between random pairs of systems on random items."""
    rng = np.random.default_rng(seed)
    worth, names = rng.normal(0, 1, systems), np.array([f"m{k:03d}" for k in range(systems)])
    one = rng.integers(0, systems, calls)
    two = (one + rng.integers(1, systems, calls)) % systems
    won = worth[one] - worth[two] + rng.logistic(size=calls) > 0
    item = np.array([f"q{k}" for k in range(items)])[rng.integers(0, items, calls)]
    table = {"judge": "g", "item": item, "first": names[one], "second": names[two]}
    return pd.DataFrame({**table, "choice": np.where(won, "first", "second"), "replicate": np.arange(calls)})


def ranking(votes: pd.DataFrame) -> pd.Series:
    """Centred strengths; no standard errors."""
    names = sorted(set(votes["first"]) | set(votes["second"]))
    one, two = (pd.Categorical(votes[c], categories=names).codes for c in ("first", "second"))
    rows = np.arange(len(votes))
    entries = np.concatenate([np.ones(len(votes)), -np.ones(len(votes))])
    where = np.concatenate([rows, rows]), np.concatenate([one, two])
    design = csr_array((entries, where), shape=(len(votes), len(names)))
    model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-8, max_iter=1000)
    model.fit(design, votes["choice"] == "first")
    return pd.Series(model.coef_[0] - model.coef_[0].mean(), index=names)
