"""Cells of the coverage study: judges beside people, and versions of a judge."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache, partial
from math import sqrt

import numpy as np
import pandas as pd
from coverage_draws import RESAMPLES, Cell, measure, term_rows
from scipy.optimize import brentq

PEOPLE = ["ann", "bob", "cyd"]
#: Error rate of a person.
ERROR = 0.2


def _answers(rng, names, wrong, items, size, alike):  # type: ignore[no-untyped-def]
    """Right (0) and wrong (1) answers by error rate; in some items the answers of a rater are all alike."""
    n, studies = items * size, len(names)
    copied = np.repeat(rng.random(studies * items) < alike, size)
    keys = {
        "study": np.repeat(names, n),
        "item": np.tile(np.repeat(np.arange(items).astype(str), size), studies),
        "system": np.tile(np.arange(size).astype(str), studies * items),
    }
    parts = []
    for who, rate in wrong.items():
        answer = rng.random(studies * n) < rate
        answer = np.where(copied, np.repeat(answer[::size], size), answer)
        parts.append(pd.DataFrame({"judge": who, **keys, "score": answer.astype(float)}))
    return pd.concat(parts, ignore_index=True)


@cache
def _advantages(judge: float) -> tuple[float, float]:
    """Expected advantage probability and difference of a judge with this error rate, one of three people left out."""
    found = np.zeros(2)
    for one, two, three, own in itertools.product((0, 1), repeat=4):
        chance = np.prod([ERROR if x else 1 - ERROR for x in (one, two, three)]) * (judge if own else 1 - judge)
        person, model = ((x == two) + (x == three) for x in (one, own))
        found += chance * np.array([model >= person, float(person >= model) - float(model >= person)])
    return float(found[0]), float(found[1])


def _annotators(rng, names, items, size, alike, judge, term):  # type: ignore[no-untyped-def]
    table = _answers(rng, names, dict.fromkeys(PEOPLE, ERROR) | {"g": judge}, items, size, alike)
    options = {"humans": PEOPLE, "epsilon": 0.2, "alignment": "accuracy", "by": "study"}
    found = measure("alternative_annotator_test")(table, **options)
    who = "ann" if term == "difference" else ""
    return term_rows(found[found["annotator"].fillna("") == who], term, by="study")


def _people(rng, names, items, size, alike, term):  # type: ignore[no-untyped-def]
    """A judge and people who each give the right answer, one of two alike frequent ones, or its opposite."""
    table = _answers(rng, names, dict.fromkeys(PEOPLE, ERROR) | {"g": 0.1}, items, size, alike)
    right = np.tile(rng.integers(0, 2, len(names) * items * size), len(PEOPLE) + 1)
    table["score"] = np.where(table["score"] > 0, 1 - right, right).astype(float)
    found = measure("judge_against_people")(table, humans=PEOPLE, by="study")
    return term_rows(found[found["role"] == "judge"], term, by="study")


def _equal(p: float, q: float) -> float:
    return p * q + (1 - p) * (1 - q)


def _versions(rng, names, items, right, term):  # type: ignore[no-untyped-def]
    """Two versions that are right with these probabilities, each asked twice, and people."""
    truth = rng.integers(0, 2, (len(names), items))
    parts = []
    for who, q in {"old": right[0], "new": right[1], "ann": 1 - ERROR, "bob": 1 - ERROR}.items():
        for run in range(2 if who in ("old", "new") else 1):
            answer = np.where(rng.random(truth.shape) < q, truth, 1 - truth).ravel()
            part = pd.DataFrame({"study": np.repeat(names, items), "item": np.tile(np.arange(items), len(names))})
            version = who if who in ("old", "new") else None
            part = part.assign(judge="g" if version else who, replicate=run, version=version)
            parts.append(part.assign(choice=np.where(answer, "first", "second")))
    table = pd.concat(parts, ignore_index=True).assign(first="x", second="y").astype({"item": str})
    if term == "flips_above_noise":
        table = table[table["judge"] == "g"]
    options = {"humans": ["ann", "bob"]} if term != "flips_above_noise" else {}
    drawn = RESAMPLES if term == "kappa_change" else 2
    found = measure("compare_versions")(table, baseline={"version": "old"}, by="study", n_resamples=drawn, **options)
    return term_rows(found, term, by="study")


def _scores(rng, names, items, noise, term):  # type: ignore[no-untyped-def]
    """Scores of two versions, the new one .3 higher and with another noise, and of two people with a noise of .5."""
    quality = rng.normal(0, 1, (len(names), items))
    parts = []
    for who, version, shift, sd in (
        ("g", "old", 0, 0.5),
        ("g", "new", 0.3, noise),
        ("ann", None, 0, 0.5),
        ("bob", None, 0, 0.5),
    ):
        given = (quality + shift + rng.normal(0, sd, quality.shape)).ravel()
        part = pd.DataFrame({"study": np.repeat(names, items), "item": np.tile(np.arange(items), len(names))})
        parts.append(part.assign(judge=who, version=version, system="s", score=given))
    table = pd.concat(parts, ignore_index=True).astype({"item": str})
    drawn = 2 if term == "mean_shift" else RESAMPLES
    found = measure("compare_versions")(
        table, baseline={"version": "old"}, humans=["ann", "bob"], by="study", n_resamples=drawn
    )
    return term_rows(found, term, by="study")


def people() -> Iterator[Cell]:
    """Cells of judges beside people."""
    judge = brentq(lambda q: _advantages(q)[1] - 0.2, 0, 1)
    probability, difference = (round(x, 6) for x in _advantages(judge))
    concordance = (1 - 2 * 0.1) * (1 - 2 * ERROR)
    gap = _equal(0.9, 1 - ERROR) - _equal(1 - ERROR, 1 - ERROR)
    for items, size, alike in ((60, 1, 0.0), (200, 1, 0.0), (30, 4, 0.5), (100, 4, 0.5)):
        design = ("clustered", items) if size > 1 else ("independent", 0)
        given = {"items": items, "size": size, "alike": alike}
        for term, kind, truth in (("advantage_probability", "Wilson", probability), ("difference", "t", difference)):
            named = f"{term}: {kind}{', clustered' if size > 1 else ''}"
            draw = partial(_annotators, **given, judge=judge, term=term)
            yield Cell("alternative_annotator_test", named, design[0], items * size, truth, draw, design[1])
        for term, kind, truth in (
            ("agreement", "clustered Wilson", _equal(0.9, 1 - ERROR)),
            ("concordance", "t, jackknife of items", concordance),
            ("agreement_difference", "t with pseudo-observations", gap),
        ):
            draw = partial(_people, **given, term=term)
            yield Cell("judge_against_people", f"{term}: {kind}", design[0], items * size, round(truth, 6), draw, items)


def versions() -> Iterator[Cell]:
    """Cells of two versions of a judge."""
    old, new = 0.9, 0.7
    change = _equal(new, 1 - ERROR) - _equal(old, 1 - ERROR)
    above = 1 - _equal(old, new) - (2 - _equal(old, old) - _equal(new, new)) / 2
    for items in (40, 150):
        for term, kind, truth in (
            ("agreement_change", "Tango", change),
            ("kappa_change", "t, bootstrap of items", 2 * change),
            ("flips_above_noise", "t with pseudo-observations", above),
        ):
            draw = partial(_versions, items=items, right=(old, new), term=term)
            yield Cell(
                "compare_versions", f"{term}: {kind}", "clustered", items, round(truth, 6), draw, items, batch=50
            )
        noise = 1.0
        own = [1 / sqrt((1 + sd**2) * 1.25) for sd in (0.5, noise)]
        lin = [2 / (1 + sd**2 + 1.25 + shift**2) for sd, shift in ((0.5, 0.0), (noise, 0.3))]
        for term, kind, truth in (
            ("mean_shift", "t", 0.3),
            ("correlation_change", "t, bootstrap of items", own[1] - own[0]),
            ("concordance_change", "t, bootstrap of items", lin[1] - lin[0]),
        ):
            draw = partial(_scores, items=items, noise=noise, term=term)
            yield Cell(
                "compare_versions", f"{term}: {kind}", "clustered", items, round(truth, 6), draw, items, batch=50
            )
