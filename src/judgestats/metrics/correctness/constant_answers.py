"""Judges beside the best constant answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd
from numpy.typing import ArrayLike

from judgestats.defaults import CONF_LEVEL
from judgestats.kernels.proportions import normal_quantile


def constant_shares(judges: ArrayLike, right: ArrayLike) -> dict[str, float]:
    """Judge -> how often the most frequent of the right answers to what it was asked is right.

    >>> constant_shares(["g", "g", "g", "h"], ["yes", "yes", "no", "no"])
    {'g': 0.6666666666666666, 'h': 1.0}
    """
    shares = pd.DataFrame({"judge": judges, "right": right}).dropna().value_counts(["judge", "right"])
    largest = shares.groupby(level="judge").agg(lambda n: n.max() / n.sum())
    return {str(judge): float(share) for judge, share in largest.items()}


def beside_constant(gaps: Mapping[str, Sequence[float]], *, exact: bool) -> tuple[list[str], list[str]]:
    """Judges shown to be worse than a constant answer, and others that are not shown to be better.

    `gaps`: lower end, estimate and upper end of how much better each judge is. "Worse" holds for all judges at once
    (Bonferroni), by wider intervals where the constant answer is an estimate, not `exact`: its error is taken to be
    that of a judge.

    >>> beside_constant({"g": (-0.3, -0.2, -0.1), "h": (-0.1, 0.0, 0.1), "i": (0.1, 0.2, 0.3)}, exact=True)
    (['g'], ['h'])
    """
    wider = 1.0 if exact else math.sqrt(2)
    wider *= normal_quantile(1 - (1 - CONF_LEVEL) / max(len(gaps), 1)) / normal_quantile(CONF_LEVEL)
    ends = {j: three for j, three in gaps.items() if not any(map(math.isnan, three))}
    worse = [j for j, (_, middle, high) in ends.items() if middle + wider * (high - middle) < 0]
    return worse, [j for j, (low, *_) in ends.items() if low <= 0 and j not in worse]
