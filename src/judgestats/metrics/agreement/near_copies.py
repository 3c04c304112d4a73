"""Judges who are near copies of each other."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.kernels.proportions import wilson
from judgestats.schema.columns import UNIT_COLUMNS, Kind, answer_column
from judgestats.schema.factors import Factor

#: Share of equal answers from which two judges are near copies, and what it is shown to exceed.
COPIES, SHOWN = 0.99, 0.95
#: Share of one answer from which a judge agrees with any other that gives it, too.
_CONSTANT = 0.9
#: More comparisons of answers than these, about half a second, are not made.
_MOST = 5 * 10**8


def near_copies(calls: Study, kind: Kind) -> list[tuple[list[str], float]]:
    """Groups of judges with the same answer on 99 % of what any two answered, and each group's smallest such share.

    It is more than 95 % by Wilson's interval for all pairs at once (Bonferroni). A judge that nearly always gives one
    answer is no copy of another. Of several answers to one thing the first counts.
    """
    answer = calls.columns["choice"] if kind == "preferences" else _scores(calls)
    judge, names = calls.columns["judge"]
    keys = [c for c in ("item", "system", "criterion", "first", "second", *UNIT_COLUMNS) if c in calls.names]
    units = calls.columns.codes(list(dict.fromkeys(keys)))
    if len(names) < 2 or len(names) ** 2 * units.size > 2 * _MOST:
        return []
    answers = np.full((len(names), units.size), -1, dtype=np.int32)
    answers[judge[::-1], units.code[::-1]] = np.where(_missing(answer), -1, answer.code)[::-1]
    group = np.arange(len(names))
    shares = np.full(len(names), math.inf)
    varies = [j for j in range(len(names)) if _largest_share(answers[j]) < _CONSTANT]
    level = 1 - (1 - CONF_LEVEL) / max(math.comb(len(varies), 2), 1)
    for place, i in enumerate(varies):
        for j in varies[place + 1 :]:
            both = (answers[i] >= 0) & (answers[j] >= 0)
            equal, n = int((answers[i] == answers[j])[both].sum()), int(both.sum())
            if n and (share := equal / n) >= COPIES and wilson(equal, n, level)[0] > SHOWN:
                group[group == group[j]] = group[i]
                shares[[i, j]] = np.minimum(shares[[i, j]], share)
    copies = [np.flatnonzero(group == g) for g in np.unique(group)]
    return [(sorted(str(names[i]) for i in c), float(shares[c].min())) for c in copies if len(c) > 1]


def _scores(calls: Study) -> Factor:
    code, labels = pd.factorize(calls.data.to_native()[answer_column(calls.names)], use_na_sentinel=False)
    return Factor(code, labels)


def _missing(answer: Factor) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([pd.isna(label) or label == "invalid" for label in answer.labels], dtype=bool)[answer.code]


def _largest_share(answers: np.ndarray[tuple[int], np.dtype[np.int32]]) -> float:
    """Share of the most frequent answer; 1 without one."""
    valid = answers[answers >= 0]
    return float(np.bincount(valid).max() / valid.size) if valid.size else 1.0
