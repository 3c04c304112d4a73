"""Answers of judges by difference in quality, from curves that are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit

from judgestats.models.hierarchical.ladders import Ladder

TRUTH = {
    "a": (0.8, 1.0, 0.5, 0.03),
    "b": (1.2, 0.6, -0.3, 0.03),
    "c": (0.6, 1.4, 0.8, 0.06),
    "d": (1.0, 0.9, 0.1, 0.02),
}


def calls_of(rng, judges, steps, n, truth):
    """Calls in both orders; truth: judge -> slope, criterion, bias, lapse."""
    rows = []
    for judge in judges:
        slope, criterion, bias, lapse = truth[judge]
        for step in steps:
            for sign in (1, -1) if step else (1,):
                d = sign * step
                one, two = expit(slope * d + bias - criterion), expit(-slope * d - bias - criterion)
                p = (1 - lapse) * np.array([one, 1 - one - two, two]) + lapse / 3
                rows += [(judge, step, sign, o, k) for o, k in
                         zip(("first", "tie", "second"), rng.multinomial(n, p), strict=True)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["judge", "delta", "sign", "choice", "n_identical"])
    return table.assign(item="i", first=np.where(table["sign"] > 0, "good", "bad"),
                        second=np.where(table["sign"] > 0, "bad", "good"),
                        better=np.where(table["delta"] > 0, "good", None)).drop(columns="sign")  # fmt: skip


def small_ladder(folded, link="logit"):
    judge, condition, x = (v.ravel() for v in np.meshgrid([0, 1], [0, 1], [0.0, 1.0, 3.0], indexing="ij"))
    counts = np.tile([10.0, 6, 4, 0], (12, 1))
    if folded:
        counts[x == 0] = [0, 6, 0, 14]
    return Ladder(("a", "b"), ("p", "q"), judge, condition, x, counts, folded, np.full((2, 3), 1 / 3), 1.0, link)
