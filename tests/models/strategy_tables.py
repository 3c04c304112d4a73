"""Calls of judges under several strategies, and the published tables of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import expit

from judgestats.models.hierarchical.joint_distributions import bridge_quantile
from judgestats.models.hierarchical.strategy_counts import read
from judgestats.published import load
from measured.debiasing_tables import MT_BENCH, correct, pairs_scored


def read_arms(table, baseline="B0", item="item"):
    return read(table, baseline, "judge", "strategy", item, "exact", "drop")


def strategy_calls(seed=0, items=300, judges=2, phi=0.4):
    rng = np.random.default_rng(seed)
    eta = np.array([[0.4, 0.4, 1.2], [0.7, 0.9, 1.4]])[:judges]
    rows = []
    for j in range(judges):
        v = rng.uniform(size=(items, 1))
        right = rng.random((items, 3)) < expit(eta[j] / phi + bridge_quantile(v, np.array(phi)))
        rows += [(f"j{j}", s, str(i), int(right[i, k])) for i in range(items) for k, s in enumerate(("B0", "S1", "S8"))]
    return pd.DataFrame(rows, columns=["judge", "strategy", "item", "correct"])


def table1():
    table = load("debiasing/table1")[["judge", "strategy"]]
    keys = list(table.itertuples(index=False, name=None))
    return table.assign(n=[pairs_scored(MT_BENCH, *k) for k in keys], k=[correct(MT_BENCH, *k) for k in keys])


def table4():
    table = load("debiasing/table4")[["judge", "strategy", "baseline_only", "strategy_only"]]
    return table.astype({"baseline_only": int, "strategy_only": int})
