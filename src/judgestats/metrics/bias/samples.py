"""Pairs of a judge under a strategy and under the baseline, as counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.metrics.bias.leanings import Settings
from judgestats.metrics.resampled import Floats
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, names
from judgestats.schema.counting import SHARED_PAIRS, tally

#: Column of the samples within which a bootstrap draws.
STRATUM = "_sample"
_CODE = {"target": 0, "other": 1, "tie": 2}


@dataclass(frozen=True)
class Sample:
    """Pairs of one judge under one strategy and under the baseline.

    Attributes
    ----------
    key : dict
        What names it.
    table : pandas.DataFrame
        Rows that count, with ``n`` and the columns of the bootstrap.
    counts : (R, P) float array
        What each row adds: the nine joint answers of a pair, or three of the baseline and three of the strategy.
    left_out : float
        Pairs without a valid answer under one of the two; of independent samples the calls without one.
    shared : bool
        Whether two counts share a pair.
    """

    key: dict[str, Any]
    table: pd.DataFrame
    counts: Floats
    left_out: float = 0.0
    shared: bool = False

    @property
    def drawn(self) -> pd.DataFrame:
        """The table with the sample of each row, within which a bootstrap draws."""
        apart = self.table["strategy"].astype(str) if self.counts.shape[1] == 6 else ""
        return self.table.assign(**{STRATUM: apart})

    @property
    def n(self) -> float:
        """Pairs compared; of independent samples the smaller."""
        sums = self.counts.sum(axis=0)
        return float(sums.sum() if sums.size == 9 else min(sums[:3].sum(), sums[3:].sum()))


def samples_of(calls: Any, measure: str, baseline: str, by: By, settings: Settings) -> tuple[list[Sample], list[str]]:
    """Count the pairs, or the calls, and return the samples and the grouping columns."""
    keep = [*names(by), *(["strategy"] if measure == "bias_score" else [])]
    if measure == "bias_change":
        table = tally(calls, measure, keep, cluster=settings.clusters or False, baseline=baseline)
    else:
        table = tally(calls, measure, keep, cluster=settings.clusters or False)
    groups = list(dict.fromkeys(["judge", *(["bias"] if "bias" in table else []), *names(by)]))
    if settings.invalid == "tie":
        answers = [c for c in ("baseline", "outcome") if c in table]
        shared = dict(table.attrs)
        table = table.assign(**{c: table[c].replace({"invalid": "tie"}) for c in answers})
        table.attrs = shared
    found = _paired(table, groups) if measure == "bias_change" else _independent(table, groups, baseline)
    return list(found), groups


def _paired(table: pd.DataFrame, groups: list[str]) -> Iterator[Sample]:
    shared = bool(table.attrs.get(SHARED_PAIRS, False))
    for key, here in _each(table, [*groups, "strategy"]):
        one, two = (here[c].map(_CODE).to_numpy(dtype=float) for c in ("baseline", "outcome"))
        kept = ~np.isnan(one) & ~np.isnan(two)
        counts = np.zeros((int(kept.sum()), 9))
        counts[np.arange(len(counts)), (3 * one + two)[kept].astype(int)] = here["n"].to_numpy(dtype=float)[kept]
        yield Sample(key, here[kept], counts, float(here["n"][~kept].sum()), shared)


def _independent(table: pd.DataFrame, groups: list[str], baseline: str) -> Iterator[Sample]:
    if table["strategy"].isna().any():
        raise SchemaError("'strategy' is missing in some rows. Name it, or drop these rows.")
    found = sorted(table["strategy"].astype(str).unique())
    if baseline not in found or len(found) < 2:
        what = f"baseline={baseline!r} is not in 'strategy'" if baseline not in found else "'strategy' has one value"
        raise DesignError(f"{what}. It has: {', '.join(found)}.{suggestion(baseline, found)}")
    for key, here in _each(table, groups):
        strategy = here["strategy"].astype(str)
        for name in found:
            if name == baseline:
                continue
            both = here[strategy.isin([baseline, name])]
            valid = both["outcome"].isin(_CODE)
            left_out = float(both["n"][~valid].sum())
            both = both[valid]
            column = both["outcome"].map(_CODE).to_numpy(dtype=int) + 3 * (both["strategy"].astype(str) == name)
            counts = np.zeros((len(both), 6))
            counts[np.arange(len(both)), column] = both["n"].to_numpy(dtype=float)
            yield Sample({**key, "strategy": name}, both, counts, left_out)


def _each(table: pd.DataFrame, groups: list[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    codes = codes_of(table, groups)
    for g, at in enumerate(codes.first):
        yield {name: table[name].iloc[at] for name in groups}, table[codes.code == g]
