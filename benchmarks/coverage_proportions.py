"""Cells of the coverage study: one proportion, its calls independent, clustered or crossed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from coverage_draws import MISUSE, RESAMPLES, SIZES, Cell, calls_of, measure, outcomes, term_rows
from scipy.special import ndtri

_HIT = {"outcome": ["correct", "wrong"]}
_CHANCES = (0.02, 0.1, 0.5, 0.9, 0.98)


def _accuracy(rng, names, p, n, clusters=0, cluster=False, calls=False):  # type: ignore[no-untyped-def]
    table = outcomes(rng, names, _HIT, np.array([p, 1 - p]), n, clusters)
    table = calls_of(table) if calls else table
    return term_rows(measure("gold_agreement")(table, cluster=cluster), "accuracy")


def _win_rate(rng, names, p, n, clusters=0, interval="percentile"):  # type: ignore[no-untyped-def]
    table = outcomes(
        rng, names, {"outcome": ["win", "loss"], "candidate": ["x", "x"]}, np.array([p, 1 - p]), n, clusters
    )
    cluster = "item" if clusters else False
    result = measure("preference_rate")(table, interval=interval, cluster=cluster, n_resamples=RESAMPLES)
    return term_rows(result, "win_rate")


def _two_way(rng, names, p, items, raters, interval=""):  # type: ignore[no-untyped-def]
    """Crossed design: a normal effect of the item and of the rater on the probit scale, half of the variance in all."""
    reps = len(names)
    effects = 0.5 * rng.standard_normal((reps, items, 1)) + 0.5 * rng.standard_normal((reps, 1, raters))
    hit = ndtri(p) + effects + np.sqrt(0.5) * rng.standard_normal((reps, items, raters)) > 0
    rows = np.indices(hit.shape).reshape(3, -1)
    table = pd.DataFrame(
        {"judge": np.asarray(names)[rows[0]], "item": rows[1].astype(str), "rater": rows[2].astype(str)}
    )
    table = table.assign(candidate="x", outcome=np.where(hit.ravel(), "win", "loss"), n=1.0)
    cluster = ["item", "rater"] if interval == "two-way" else "item"
    result = measure("preference_rate")(table, interval="percentile", cluster=cluster, n_resamples=RESAMPLES)
    return term_rows(result, "win_rate")


def proportions() -> Iterator[Cell]:
    """Wilson, clustered Wilson and bootstraps of one proportion."""
    for n in SIZES:
        for p in _CHANCES:
            yield Cell(
                "gold_agreement", "accuracy: Wilson", "independent", n, p, partial(_accuracy, p=p, n=n), batch=500
            )
            yield Cell(
                "preference_rate",
                "win_rate: percentile, closed form",
                "independent",
                n,
                p,
                partial(_win_rate, p=p, n=n),
            )
    for clusters, size in ((4, 5), (20, 5), (80, 5), (200, 5)):
        n = clusters * size
        for p in (0.05, 0.5, 0.9):
            drawn = {"p": p, "n": n, "clusters": clusters}
            put = partial(Cell, n=n, truth=p, clusters=clusters)
            yield put(
                "gold_agreement",
                "accuracy: Wilson on calls",
                design=MISUSE,
                intervals=partial(_accuracy, **drawn, calls=True),
                note="too narrow: calls of a cluster correlate",
            )
            yield put(
                "gold_agreement",
                "accuracy: clustered Wilson",
                design="clustered",
                intervals=partial(_accuracy, **drawn, cluster="item"),
            )
            for interval in ("percentile", "bca"):
                name = f"win_rate: cluster {interval}"
                put_here = partial(_win_rate, **drawn, interval=interval)
                yield put("preference_rate", name, design="clustered", intervals=put_here)
    for items, raters in ((10, 10), (40, 10), (40, 25)):
        for p in (0.5, 0.9):
            for interval in ("two-way", "items only"):
                yield Cell(
                    "preference_rate",
                    f"win_rate: percentile, {interval}",
                    MISUSE if interval == "items only" else "crossed",
                    items * raters,
                    p,
                    partial(_two_way, p=p, items=items, raters=raters, interval=interval),
                    clusters=raters,
                    note="too narrow: raters are drawn too" if interval == "items only" else "",
                    batch=50,
                )
