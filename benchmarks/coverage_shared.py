"""Cells of the coverage study: calls that share an item, measured as they come, without naming a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from coverage_draws import MISUSE, Cell, clustered_shares, measure, term_rows

#: Items, and pairs judged of each.
_SIZES = ((20, 5), (80, 5), (200, 2))


def _drawn(rng, names, shares, items, pairs):  # type: ignore[no-untyped-def]
    """Class of each pair (R x items x pairs), two pairs of an item alike by ICC; and a frame that names the pairs."""
    cumulated = clustered_shares(rng, np.asarray(shares), len(names), items).cumsum(axis=2)
    drawn = (rng.random((len(names), items, pairs, 1)) > cumulated[:, :, None, :-1]).sum(axis=3)
    rows = np.indices(drawn.shape).reshape(3, -1)
    table = {"judge": np.asarray(names)[rows[0]], "item": np.char.add("i", rows[1].astype(str))}
    table |= {"first": "x", "second": np.char.add("y", rows[2].astype(str))}
    return drawn.ravel(), pd.DataFrame(table)


def _of_items(rng, names, name, term, shares, items, pairs, **options: Any):  # type: ignore[no-untyped-def]
    """One verdict a pair: for the right candidate, which is also the target, or for the other."""
    drawn, table = _drawn(rng, names, shares, items, pairs)
    choice = np.array(["first", "second", "tie"])[drawn]
    table = table.assign(choice=choice, gold="x", target="x")
    kept = {"candidate": "x"} if name == "preference_rate" else {}
    return term_rows(measure(name)(table, **options), term, **kept)


def _strategies(rng, names, joint, items, pairs, name="compare_strategies", **options: Any):  # type: ignore[no-untyped-def]
    """Right and wrong under a baseline and a strategy; the four joint answers are alike within an item."""
    drawn, table = _drawn(rng, names, np.ravel(joint), items, pairs)
    sides = [
        table.assign(strategy=s, choice=np.where(right, "first", "second"), gold="x", target="x")
        for s, right in (("B0", drawn // 2 == 0), ("S", drawn % 2 == 0))
    ]
    result = measure(name)(pd.concat(sides, ignore_index=True), **options)
    return term_rows(result, "difference" if name == "compare_strategies" else "change")


def _both_orders(rng, names, shares, items, name, term, **options: Any):  # type: ignore[no-untyped-def]
    """Each pair in both orders: stable, first twice, second twice, tie once, tie twice."""
    drawn, table = _drawn(rng, names, shares, items, 1)
    forward = np.array(["first", "first", "second", "first", "tie"])[drawn]
    reverse = np.array(["second", "first", "second", "tie", "tie"])[drawn]
    turned = table.assign(first=table["second"], second=table["first"], choice=reverse)
    calls = pd.concat([table.assign(choice=forward), turned], ignore_index=True)
    return term_rows(measure(name)(calls.assign(stimulus="same_subset"), **options), term)


def shared() -> Iterator[Cell]:
    """Frames whose calls share items, by default and with ``cluster=False``."""
    for items, pairs in _SIZES:
        n = items * pairs
        for name, term in (("gold_agreement", "accuracy"), ("preference_rate", "win_rate")):
            put = partial(_of_items, name=name, term=term, shares=(0.8, 0.2), items=items, pairs=pairs)
            yield Cell(name, f"{term}: by default", "clustered", n, 0.8, put, items)
            if (items, pairs) == (80, 5):
                note = "too narrow: calls of an item correlate"
                yield Cell(name, f"{term}: cluster=False", MISUSE, n, 0.8, partial(put, cluster=False), items, note)
        put = partial(_of_items, name="bias_score", term="bias", shares=(0.5, 0.3, 0.2), items=items, pairs=pairs)
        yield Cell("bias_score", "bias: by default", "clustered", n, 0.2, put, items)
        for joint in (((0.5, 0.1), (0.1, 0.3)), ((0.55, 0.05), (0.2, 0.2)), ((0.88, 0.02), (0.06, 0.04))):
            truth, discordant = round(joint[1][0] - joint[0][1], 10), joint[0][1] + joint[1][0]
            put = partial(_strategies, joint=joint, items=items, pairs=pairs)
            noted = f"discordant {discordant:g}"
            yield Cell("compare_strategies", "difference: by default", "clustered", n, truth, put, items, noted)
            if (items, pairs) == (80, 5):
                alone = partial(put, cluster=False)
                noted += ", too narrow: pairs of an item correlate"
                yield Cell("compare_strategies", "difference: cluster=False", MISUSE, n, truth, alone, items, noted)
        put = partial(_strategies, joint=((0.55, 0.05), (0.2, 0.2)), items=items, pairs=pairs, name="bias_change")
        yield Cell("bias_change", "change: by default", "clustered", n, 0.3, put, items)
    for items in (40, 100, 400):
        shares = (0.7, 0.15, 0.05, 0.06, 0.04)
        put = partial(_both_orders, shares=shares, items=items, name="slot_lean", term="lean")
        yield Cell("slot_lean", "lean, both orders: by default", "clustered", 2 * items, 0.13, put, items)
        put = partial(_both_orders, shares=shares, items=items, name="delta0", term="raw_false_preference")
        yield Cell("delta0", "raw_false_preference: by pair", "independent", items, 0.93, put)
