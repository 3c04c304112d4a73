"""Cluster bootstrap of rates as a careful NumPy user would write it: counts per cluster, drawn as a matrix product."""

from __future__ import annotations

import numpy as np
import pandas as pd


def made_calls(calls: int = 105_600, clusters: int = 100, judges: int = 1) -> pd.DataFrame:
    """Verdicts with gold of one judge (or more), in clusters that differ in difficulty; strings as read from a file."""
    rng = np.random.default_rng(14)
    cluster = np.arange(calls) % clusters
    hard = rng.normal(0, 1, clusters)[cluster]
    right = rng.random(calls) < 1 / (1 + np.exp(-0.7 - hard))
    tie = rng.random(calls) < 0.1
    gold_first = rng.random(calls) < 0.5
    choice = np.where(tie, "tie", np.where(right == gold_first, "first", "second"))
    return pd.DataFrame(
        {
            "judge": np.array([f"judge-{j}" for j in range(judges)], dtype=object)[np.arange(calls) % judges],
            "item": np.array([f"item-{i:07d}" for i in range(calls)], dtype=object),
            "task": np.array([f"task-{c:03d}" for c in range(clusters)], dtype=object)[cluster],
            "first": "a",
            "second": "b",
            "gold": np.where(gold_first, "a", "b").astype(object),
            "choice": choice.astype(object),
        }
    )


def outcomes(calls: pd.DataFrame) -> np.ndarray:
    """Correct, wrong, tie, invalid: what each call is against its gold."""
    choice, gold = calls["choice"].to_numpy(), calls["gold"].to_numpy()
    chosen = np.where(choice == "first", calls["first"].to_numpy(), calls["second"].to_numpy())
    side = (choice == "first") | (choice == "second")
    correct = np.where(side, chosen == gold, (choice == "tie") & (gold == "tie"))
    return np.select([correct.astype(bool), side, choice == "tie"], [0, 1, 2], 3)


def cluster_bootstrap(calls: pd.DataFrame, cluster: str = "task", n_resamples: int = 2000) -> pd.DataFrame:
    """Accuracy, and the shares of wrong, tie and invalid, each with its percentile interval over clusters."""
    code, labels = pd.factorize(calls[cluster])
    groups = len(labels)
    counts = np.bincount(code * 4 + outcomes(calls), minlength=4 * groups).reshape(groups, 4).astype(float)
    weights = np.random.default_rng(0).multinomial(groups, np.full(groups, 1 / groups), size=n_resamples)
    totals = weights @ counts
    rows = []
    for term, k in (("accuracy", 0), ("wrong", 1), ("tie", 2), ("invalid", 3)):
        n = totals.sum(axis=1) - (totals[:, 3] if term == "accuracy" else 0)
        draws = totals[:, k] / n
        whole = counts.sum() - (counts[:, 3].sum() if term == "accuracy" else 0)
        rows.append((term, counts[:, k].sum() / whole, *np.quantile(draws, [0.025, 0.975])))
    return pd.DataFrame(rows, columns=["term", "estimate", "conf_low", "conf_high"])


def row_bootstrap(right: np.ndarray, n_resamples: int) -> tuple[float, float]:
    """SciPy's bootstrap of the mean of the rows: another interval (rows, not clusters); for its cost."""
    from scipy.stats import bootstrap

    result = bootstrap((right,), np.mean, n_resamples=n_resamples, method="percentile", batch=50, rng=0)
    return float(result.confidence_interval.low), float(result.confidence_interval.high)
