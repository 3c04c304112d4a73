"""Verdicts with labels of people beside some of them, for the tests of corrected rates."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

REAL = os.environ.get("JUDGESTATS_REAL_DATA")
COLUMNS = ["verdict", "label", "n"]


def counts(p, q0, q1, n, m0, m1, **labels):
    """Printed counts: n verdicts of which a share p is positive, and labels by class."""
    cells = [("yes", "none", p * n), ("no", "none", (1 - p) * n), ("no", "no", q0 * m0), ("yes", "no", (1 - q0) * m0)]
    cells += [("yes", "yes", q1 * m1), ("no", "yes", (1 - q1) * m1)]
    table = pd.DataFrame([(v, c, round(k)) for v, c, k in cells], columns=COLUMNS)
    return table.assign(judge="g", **labels)


def of(result, term="corrected_rate"):
    found = result[result["term"] == term]
    assert len(found) == 1
    return found.iloc[0]


def frame(seed=0, items=300, labelled=100, systems=("s",), share=0.3, right=0.85, judges=("g",), by_class=False):
    """Yes and no verdicts of judges on systems; people labelled the first items, or so many of each class."""
    rng = np.random.default_rng(seed)
    rows = []
    for system in systems:
        truth = rng.random(items) < share
        for judge in judges:
            verdict = np.where(rng.random(items) < right, truth, ~truth)
            known = np.arange(items) < labelled
            if by_class:
                known = np.isin(
                    np.arange(items), np.concatenate([np.flatnonzero(truth == c)[: labelled // 2] for c in (0, 1)])
                )
            rows.append(pd.DataFrame({"judge": judge, "system": system, "item": [f"q{i}" for i in range(items)],
                                      "score": verdict * 1.0, "gold": np.where(known, truth * 1.0, np.nan)}))  # fmt: skip
    return pd.concat(rows, ignore_index=True)


def shared():
    """Two systems on the same items, and one table of labels for both, on other items."""
    verdicts = frame(seed=3, items=200, labelled=0, systems=("a", "b"))
    labels = frame(seed=4, items=120, labelled=120, share=0.5).drop(columns="system")
    return verdicts, labels.assign(item="c" + labels["item"])


def arena():
    """The Arena sample: labels of ``base``, and 50 of each other policy, whose copies without a label are left out."""
    table = pd.read_csv(Path(REAL) / "cje_arena_sample" / "arena_sample.csv.gz")
    names = {"policy": "system", "prompt_id": "item", "judge_score": "score", "oracle_label": "gold"}
    table = table.rename(columns=names).sort_values("gold").drop_duplicates(["system", "item"])
    return table[["system", "item", "score", "gold"]].assign(judge="g")
