"""Cells of the coverage study: calls that share an item, measured as they come, without naming a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from coverage_draws import MISUSE, Cell, counted, measure, outcomes, term_rows

#: Items, and pairs judged of each.
_SIZES = ((20, 5), (80, 5))
_LABELS = {
    "gold_agreement": {"outcome": ["correct", "wrong"]},
    "preference_rate": {"candidate": ["x", "x"], "outcome": ["win", "loss"]},
}


def _of_items(rng, names, name, term, shares, items, pairs, **options: Any):  # type: ignore[no-untyped-def]
    """One verdict a pair, counted by item."""
    table = outcomes(rng, names, _LABELS[name], np.array(shares), items * pairs, items)
    return term_rows(measure(name)(_noted(table, **options), **options), term)


def _noted(table: pd.DataFrame, cluster: Any = "auto") -> pd.DataFrame:
    """The same without its items where pairs are taken as independent."""
    if cluster is not False:
        return table
    return table.groupby([c for c in table if c not in ("item", "n")], as_index=False)["n"].sum()


def _changes(rng, names, name, term, labels, joint, items, pairs, **options: Any):  # type: ignore[no-untyped-def]
    """Pairs by their answers under a baseline and a strategy; the joint answers are alike within an item."""
    one, two = labels
    classes = {"strategy": ["S"] * 4, "baseline": [one, one, two, two], "outcome": [one, two, one, two]}
    table = outcomes(rng, names, classes, np.ravel(joint), items * pairs, items)
    return term_rows(measure(name)(_noted(table, **options), **options), term)


_ANSWERS = (("first", "second"), ("first", "first"), ("second", "second"), ("first", "tie"), ("tie", "tie"))


def _lean(rng, names, shares, items):  # type: ignore[no-untyped-def]
    """Calls of pairs in both orders, counted by pair: stable, first or second twice, a tie in one order, in both."""
    drawn = rng.choice(len(shares), size=(len(names), items), p=shares)
    slots = np.array([[answers.count(s) for s in ("first", "second", "tie")] for answers in _ANSWERS])
    labels = {
        "pair": np.repeat([f"p{i}" for i in range(items)], 3),
        "choice": np.tile(["first", "second", "tie"], items),
    }
    return term_rows(
        measure("position_bias")(counted(names, labels, slots[drawn].reshape(len(names), -1))), "position_bias"
    )


def _delta0(rng, names, shares, items):  # type: ignore[no-untyped-def]
    """Calls of equal pairs in both orders, as they come: the pair is the cluster of its two calls."""
    drawn = rng.choice(len(shares), size=(len(names), items), p=shares)
    rows = np.indices(drawn.shape).reshape(2, -1)
    table = pd.DataFrame({"judge": np.asarray(names)[rows[0]], "item": rows[1], "stimulus": "same_subset"})
    choices = np.array(_ANSWERS)[drawn.ravel()]
    orders = [
        table.assign(first=one, second=two, choice=choice)
        for one, two, choice in (("x", "y", choices[:, 0]), ("y", "x", choices[:, 1]))
    ]
    return term_rows(measure("delta0")(pd.concat(orders, ignore_index=True)), "raw_false_preference")


def shared() -> Iterator[Cell]:
    """Counts and frames whose calls share items, by default and with ``cluster=False``."""
    for items, pairs in _SIZES:
        n = items * pairs
        drawn = {"items": items, "pairs": pairs}
        for name, term in (("gold_agreement", "accuracy"), ("preference_rate", "win_rate")):
            put = partial(_of_items, name=name, term=term, shares=(0.8, 0.2), **drawn)
            yield from _both(name, f"{term}: by default", n, 0.8, put, items)
        for joint in (((0.5, 0.1), (0.1, 0.3)), ((0.88, 0.02), (0.06, 0.04))):
            truth, discordant = round(joint[1][0] - joint[0][1], 10), round(joint[0][1] + joint[1][0], 10)
            right = {"labels": ("correct", "wrong"), "joint": joint, **drawn}
            put = partial(_changes, name="compare_strategies", term="difference", **right)
            noted = f"discordant {discordant:g}"
            yield from _both("compare_strategies", "difference: by default", n, truth, put, items, noted)
        sides = {"labels": ("target", "other"), "joint": ((0.55, 0.05), (0.2, 0.2)), **drawn}
        put = partial(_changes, name="bias_change", term="change", **sides)
        yield Cell("bias_change", "change: by default", "clustered", n, 0.3, put, items)
    shares = (0.7, 0.15, 0.05, 0.06, 0.04)
    for items in (40, 350):
        put = partial(_lean, shares=shares, items=items)
        yield Cell("position_bias", "lean, both orders: by default", "clustered", 2 * items, 0.13, put, items)
        put = partial(_lean, shares=(0.97, 0.02, 0.01, 0, 0), items=items)
        yield Cell("position_bias", "lean, both orders: by default", "clustered", 2 * items, 0.01, put, items)
        put = partial(_delta0, shares=shares, items=items)
        yield Cell("delta0", "raw_false_preference: by pair", "independent", items, 0.93, put)


def _both(measure: str, interval: str, n: int, truth: float, put: Any, items: int, note: str = "") -> Iterator[Cell]:
    """The default; and for 80 items what it costs to take their pairs as independent."""
    yield Cell(measure, interval, "clustered", n, truth, put, items, note)
    if items == 80:
        narrow = f"{note}, too narrow: pairs of an item correlate".removeprefix(", ")
        apart = interval.replace("by default", "cluster=False")
        yield Cell(measure, apart, MISUSE, n, truth, partial(put, cluster=False), items, narrow)
