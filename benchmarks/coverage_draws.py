"""What the coverage study draws, and what a cell of it is.

Counts are drawn and handed over as tallies wherever a measure takes one. Many replications go through a measure in one
call, each as a judge (or a study) of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import judgestats

#: Calls, pairs or items of a replication.
SIZES = (20, 100, 400)
#: Resamples of a bootstrap in the study.
RESAMPLES = 500
#: Correlation of two calls of one cluster, in the clustered cells.
ICC = 0.3
#: Design of the cells whose interval is of something else than the truth.
MISUSE = "misuse"
#: Rows of one term: a low, a high and a flag for each replication (several, where they hold simultaneously).
Intervals = pd.DataFrame


@dataclass(frozen=True)
class Cell:
    """One cell of the study.

    Attributes
    ----------
    measure, interval : str
        Public function, and term and kind of interval.
    design : {'independent', 'clustered', 'crossed', 'misuse'}
        ``misuse``: the interval does not speak of this truth, since calls depend or raters are drawn too. It shows what
        that costs, and says nothing against the interval.
    n : int
        Calls, pairs or items of a replication.
    truth : float or tuple of float
        True value; several where the intervals hold simultaneously.
    intervals : callable
        Generator and list of names of replications -> rows with ``judge``, ``conf_low``, ``conf_high`` and ``flag``.
    clusters : int
        How many clusters there are, 0 for none.
    note : str
    batch : int
        Replications that go through the measure together.
    """

    measure: str
    interval: str
    design: str
    n: int
    truth: Any
    intervals: Callable[[np.random.Generator, list[str]], Intervals]
    clusters: int = 0
    note: str = ""
    batch: int = field(default=100)

    @property
    def key(self) -> str:
        """What names the cell, and its draws."""
        return f"{self.measure}|{self.interval}|{self.design}|{self.n}|{self.clusters}|{self.truth}|{self.note}"


def measure(name: str) -> Callable[..., pd.DataFrame]:
    """Public function of this name."""
    return getattr(judgestats, name)


def counted(names: list[str], labels: Mapping[str, Any], counts: np.ndarray) -> pd.DataFrame:
    """A tally: counts (R, P) of P patterns in R replications; patterns that do not occur are left out."""
    table = {"judge": np.repeat(names, counts.shape[1])}
    table |= {c: np.tile(np.asarray(v, dtype=object), len(names)) for c, v in labels.items()}
    frame = pd.DataFrame({**table, "n": counts.ravel().astype(float)})
    return frame[frame["n"] > 0].reset_index(drop=True)


def clustered_shares(
    rng: np.random.Generator, shares: np.ndarray, reps: int, clusters: int, icc: float = ICC
) -> np.ndarray:
    """Shares of each cluster (R, G, P): Dirichlet, so that two calls of a cluster correlate by `icc`."""
    spread = np.maximum(np.asarray(shares, dtype=float), 1e-12) * (1 - icc) / icc
    drawn = rng.standard_gamma(spread, size=(reps, clusters, len(shares))) + 1e-300
    return drawn / drawn.sum(axis=2, keepdims=True)


def outcomes(
    rng: np.random.Generator,
    names: list[str],
    labels: Mapping[str, Any],
    shares: np.ndarray,
    n: int,
    clusters: int = 0,
    unit: str = "item",
) -> pd.DataFrame:
    """Tally of n calls with these shares, in clusters of equal size where there are any."""
    if not clusters:
        return counted(names, labels, rng.multinomial(n, shares, size=len(names)))
    return in_clusters(rng, names, labels, shares, np.full(clusters, n // clusters), unit=unit)


def in_clusters(
    rng: np.random.Generator,
    names: list[str],
    labels: Mapping[str, Any],
    shares: np.ndarray,
    size: np.ndarray,
    icc: float = ICC,
    unit: str = "item",
) -> pd.DataFrame:
    """Tally of the outcomes of `size` (G,) calls of each cluster, a replication a judge."""
    drawn = rng.multinomial(size, clustered_shares(rng, shares, len(names), size.size, icc))
    table = {c: np.tile(np.asarray(v, dtype=object), size.size) for c, v in labels.items()}
    table[unit] = np.repeat([f"c{i}" for i in range(size.size)], len(shares))
    return counted(names, table, drawn.reshape(len(names), -1))


def calls_of(table: pd.DataFrame) -> pd.DataFrame:
    """Preferences frame of a tally with items and outcomes: repeats of one call share an item."""
    rows = table.loc[table.index.repeat(table["n"].astype(int))].drop(columns="n").reset_index(drop=True)
    rows["replicate"] = rows.groupby(["judge", "item"]).cumcount()
    choice = rows.pop("outcome").map({"correct": "first", "wrong": "second"})
    return rows.assign(first="a", second="b", gold="a", choice=choice)


def term_rows(result: pd.DataFrame, term: str, by: str = "judge", **keys: Any) -> pd.DataFrame:
    """Intervals and flags of one term, a row a replication."""
    keep = result["term"] == term
    for column, value in keys.items():
        keep &= result[column] == value
    return result.loc[keep, [by, "conf_low", "conf_high", "flag"]].rename(columns={by: "judge"})
