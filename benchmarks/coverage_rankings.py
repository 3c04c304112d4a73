"""Cells of the coverage study: strengths of systems, and the sets of ranks of all of them at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from coverage_draws import MISUSE, Cell, measure
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

from judgestats.kernels.paired_comparisons import Comparisons, strengths

#: Strengths of five systems: apart, two pairs of equals, all equal.
APART, PAIRS, EQUAL = (0.8, 0.4, 0.0, -0.4, -0.8), (0.3, 0.3, 0.0, -0.3, -0.3), (0.0,) * 5
#: Half the width of the log-odds that are a tie; standard deviation of a system's worth on an item, or to a judge.
TIE, SPREAD = 0.4, 0.8


def _shares(worth, spread, slot):  # type: ignore[no-untyped-def]
    """Systems of each ordered pair, and shares of win, loss and tie, averaged over items."""
    one, two = (x.ravel() for x in np.meshgrid(range(len(worth)), range(len(worth)), indexing="ij"))
    one, two = one[one != two], two[one != two]
    nodes, weight = hermegauss(60)
    eta = (np.asarray(worth)[one] - np.asarray(worth)[two] + slot)[:, None] + spread * np.sqrt(2) * nodes
    win, loss = (expit(side * eta - TIE) @ weight / weight.sum() for side in (1, -1))
    return one, two, np.column_stack([win, loss, 1 - win - loss])


def _truth(worth, spread=0.0, slot=0.0, model="rao-kupper"):  # type: ignore[no-untyped-def]
    """Centred strengths and slot effect that the model has in the population: with a spread they are drawn to 0."""
    one, two, shares = _shares(worth, spread, slot)
    data = Comparisons(one, two, np.ones((one.size, 1)), shares)
    fit = strengths(model, data, np.zeros(len(worth), dtype=np.int64))
    return fit.beta - fit.beta.mean(), float(fit.gamma[0])


def _calls(rng, name, worth, items, per_item, judges, spread, slot):  # type: ignore[no-untyped-def]
    """Tally of the calls of one replication: each item, and each judge where there are several, has a taste."""
    size, calls = len(worth), items * per_item
    item, judge = np.repeat(np.arange(items), per_item), np.tile(np.arange(judges), -(-calls // judges))[:calls]
    taste = np.zeros((calls, size)) + np.asarray(worth)
    taste += rng.normal(0, spread / np.sqrt(2 if judges > 1 else 1), (items, size))[item]
    if judges > 1:
        taste += rng.normal(0, spread / np.sqrt(2), (judges, size))[judge]
    one = rng.integers(0, size, calls)
    two = (one + rng.integers(1, size, calls)) % size
    row = np.arange(calls)
    eta = taste[row, one] - taste[row, two] + slot + rng.logistic(size=calls)
    outcome = np.where(eta > TIE, "win", np.where(eta < -TIE, "loss", "tie"))
    systems = np.array([f"s{k}" for k in range(size)])
    columns = {"study": name, "item": item.astype(str), "judge": judge.astype(str), "system": systems[one]}
    return pd.DataFrame({**columns, "opponent": systems[two], "outcome": outcome, "n": 1.0})


def _ranking(rng, names, worth, items, per_item, judges=1, spread=0.0, slot=0.0, term="strength", **how):  # type: ignore[no-untyped-def]
    """The strongest system's strength, the slot effect, or the ranks of all, twice: for the best and worst rank."""
    table = pd.concat([_calls(rng, n, worth, items, per_item, judges, spread, slot) for n in names])
    table = table if judges > 1 else table.drop(columns="judge")
    found = measure("rank_systems")(table, by="study", slot=slot != 0, **how).rename(columns={"study": "judge"})
    found = found[found["term"] == term]
    if term == "rank":
        found = pd.concat([found, found]).sort_values(["judge", "system"], kind="stable")
    elif term == "strength":
        found = found[found["system"] == "s0"]
    return found[["judge", "conf_low", "conf_high", "flag"]]


def _ranks(worth):  # type: ignore[no-untyped-def]
    """Best and worst rank of each system that its strength allows, in turn."""
    return tuple(float(r) for w in worth for r in (1 + sum(v > w for v in worth), sum(v >= w for v in worth)))


def rankings() -> Iterator[Cell]:
    """Cells of :func:`judgestats.rank_systems`."""

    def put(name, design, items, per_item, truth, clusters=0, note="", **how):  # type: ignore[no-untyped-def]
        intervals = partial(_ranking, items=items, per_item=per_item, **how)
        return Cell("rank_systems", name, design, items * per_item, truth, intervals, clusters, note, batch=50)

    kupper = {"ties": "rao-kupper"}
    truth = float(_truth(APART)[0][0])
    for n in (100, 400):
        yield put("strength: sandwich", "independent", n, 1, truth, worth=APART, cluster=False, **kupper)
    davidson = float(_truth(APART, model="davidson")[0][0])
    yield put("strength: model", "independent", 400, 1, davidson, worth=APART, cluster=False, interval="model")
    truth = float(_truth(APART, SPREAD)[0][0])
    for items in (20, 80):
        yield put("strength: sandwich", "clustered", items, 8, truth, items, worth=APART, spread=SPREAD, **kupper)
    misused = {"worth": APART, "spread": SPREAD, "cluster": False, **kupper}
    yield put("strength: sandwich on calls", MISUSE, 80, 8, truth, 80, **misused)
    crossed = {"worth": APART, "spread": SPREAD, "judges": 40, "cluster": ["item", "judge"], **kupper}
    yield put("strength: two-way sandwich", "crossed", 40, 10, truth, 40, **crossed)
    slot = _truth(APART, SPREAD, 0.5)[1]
    yield put(
        "slot: sandwich", "clustered", 40, 8, slot, 40, worth=APART, spread=SPREAD, slot=0.5, term="slot", **kupper
    )
    for worth, note in ((APART, "apart"), (PAIRS, "pairs of equals"), (EQUAL, "all equal")):
        for items in (20, 60) if worth == EQUAL else (60,):
            how = {"worth": worth, "spread": SPREAD, "term": "rank", "note": note}
            yield put("ranks of all: max-T", "clustered", items, 8, _ranks(worth), items, **how)
