"""Designs of the hostile study: clusters of equal and of very unequal size, rates in the middle and near 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

#: Calls of a cluster of an equal design.
_EQUAL = 10


def sizes(kind: str, clusters: int) -> np.ndarray:
    """Calls of each cluster: all alike, two large, log-normal (quantiles, sd of the log .8), or one with most."""
    if kind == "equal":
        return np.full(clusters, _EQUAL)
    if kind == "log-normal":
        return np.maximum(1, np.round(7 * np.exp(0.8 * ndtri((np.arange(clusters) + 0.5) / clusters)))).astype(int)
    large, small = {"two heavy": ([100, 100], 4), "one dominating": ([200], 5)}[kind]
    return np.array(large + [small] * (clusters - len(large)))


@dataclass(frozen=True)
class Design:
    """How many calls come in which clusters, how alike those of a cluster are, and how often they say yes."""

    kind: str
    clusters: int
    icc: float
    rate: float

    @property
    def name(self) -> str:
        """As in the table."""
        return f"{self.clusters} {self.kind}, icc {self.icc:g}, rate {self.rate:g}"

    @property
    def sizes(self) -> np.ndarray:
        """Calls of each cluster."""
        return sizes(self.kind, self.clusters)

    @property
    def regular(self) -> bool:
        """Whether few flags and narrow intervals are asked of it: 30 or more clusters, a rate of .2 to .8."""
        return self.clusters >= 30 and self.kind in ("equal", "log-normal") and 0.2 <= self.rate <= 0.8

    def large(self, times: int) -> np.ndarray:
        """Sizes of so many times the clusters: what an estimate tends to."""
        return np.tile(self.sizes, times)


KINDS = ("equal", "two heavy", "log-normal", "one dominating")
GRID = tuple(
    Design(kind, clusters, icc, rate)
    for kind in KINDS
    for clusters in (8, 20, 30, 60)
    for icc in (0.05, 0.3)
    for rate in (0.02, 0.2, 0.5, 0.8, 0.98)
)
#: Designs of the grid that every measure is tried on.
NAMED = (
    Design("equal", 8, 0.3, 0.5),
    Design("equal", 30, 0.3, 0.8),
    Design("equal", 60, 0.05, 0.5),
    Design("equal", 60, 0.3, 0.02),
    Design("equal", 30, 0.3, 0.98),
    Design("two heavy", 30, 0.3, 0.8),
    Design("two heavy", 60, 0.05, 0.2),
    Design("log-normal", 20, 0.3, 0.5),
    Design("log-normal", 30, 0.3, 0.8),
    Design("log-normal", 60, 0.3, 0.2),
    Design("one dominating", 30, 0.3, 0.5),
    Design("one dominating", 60, 0.3, 0.8),
)


def answers(
    rng: np.random.Generator,
    names: list[str],
    right: Mapping[str, float],
    size: np.ndarray,
    icc: float,
) -> pd.DataFrame:
    """Scores of 0 and 1 of several judges on the responses of each item; who is right goes by item.

    Half of the responses are good. A judge says so with its chance `right`, which varies between items by `icc`.
    """
    item = np.repeat(np.arange(size.size), size)
    response = np.concatenate([np.arange(n) for n in size])
    truth = rng.integers(0, 2, (len(names), item.size))
    base = pd.DataFrame(
        {
            "study": np.repeat(names, item.size),
            "item": np.tile(item.astype(str), len(names)),
            "system": np.tile(response.astype(str), len(names)),
        }
    )
    parts = []
    for judge, p in right.items():
        chance = rng.beta(p * (1 - icc) / icc, (1 - p) * (1 - icc) / icc, (len(names), size.size))[:, item]
        given = np.where(rng.random(truth.shape) < chance, truth, 1 - truth)
        parts.append(base.assign(judge=judge, score=given.ravel().astype(float)))
    return pd.concat(parts, ignore_index=True)
