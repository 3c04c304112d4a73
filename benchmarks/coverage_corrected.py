"""Cells of the coverage study: rates and differences corrected for the errors of a judge."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from coverage_draws import ICC, MISUSE, Cell, measure, term_rows

#: Sensitivity and specificity of the judge.
RIGHT = (0.85, 0.90)
_KNOWN = "too narrow: takes sensitivity and specificity as known"


def _counts(names, system, verdicts):  # type: ignore[no-untyped-def]
    """A tally: positive and negative verdicts (R, 2) of each label."""
    parts = []
    for label, counts in verdicts.items():
        for j, verdict in enumerate(("yes", "no")):
            parts.append(
                pd.DataFrame({"judge": names, "system": system, "verdict": verdict, "label": label, "n": counts[:, j]})
            )
    return pd.concat(parts, ignore_index=True)


def _binomial(rng, reps, n, p):  # type: ignore[no-untyped-def]
    hits = rng.binomial(n, p, size=reps)
    return np.column_stack([hits, n - hits])


def _by_class(rng, names, share, n, m, known=False):  # type: ignore[no-untyped-def]
    """Counts by class, and the interval of Lee et al.; or one that divides by J as if it were known."""
    se, sp = RIGHT
    reps = len(names)
    drawn = {
        "none": _binomial(rng, reps, n, share * se + (1 - share) * (1 - sp)),
        "no": _binomial(rng, reps, m, 1 - sp),
        "yes": _binomial(rng, reps, m, se),
    }
    result = measure("corrected_rate")(
        _counts(names, "s", drawn).drop(columns="system"), sampling="by class", cluster=False
    )
    if not known:
        return term_rows(result, "corrected_rate")
    wide = result.pivot(index="judge", columns="term", values="estimate")
    rows = term_rows(result, "apparent_rate").set_index("judge")
    gap, q0 = wide["youden"], wide["specificity"]
    ends = {c: ((rows[c] + q0 - 1) / gap).clip(0, 1) for c in ("conf_low", "conf_high")}
    return rows.assign(**ends).reset_index()


def _difference_by_class(rng, names, shares, n, m, shared):  # type: ignore[no-untyped-def]
    """Counts of two systems, with labels of their own or the same ones for both."""
    se, sp = RIGHT
    reps = len(names)
    parts = []
    for system, share in zip("ab", shares, strict=True):
        drawn = {"none": _binomial(rng, reps, n, share * se + (1 - share) * (1 - sp))}
        if not shared:
            drawn |= {"no": _binomial(rng, reps, m, 1 - sp), "yes": _binomial(rng, reps, m, se)}
        parts.append(_counts(names, system, drawn))
    more = {}
    if shared:
        labels = {"no": _binomial(rng, reps, m, 1 - sp), "yes": _binomial(rng, reps, m, se)}
        more = {"calibration": _counts(names, "", labels).drop(columns="system"), "margin": 0.1}
    result = measure("corrected_difference")(
        pd.concat(parts, ignore_index=True), baseline="b", sampling="by class", cluster=False, **more
    )
    return term_rows(result, "corrected_difference")


def _answers(rng, reps, items, size, share, systems=1):  # type: ignore[no-untyped-def]
    """Truth and verdicts (R, systems, items, size): those of an item are alike, and so are the judge's errors on it."""
    se, sp = RIGHT

    def alike(p, shape):  # type: ignore[no-untyped-def]
        if size == 1 and systems == 1:
            return rng.random(shape) < p
        a, b = p * (1 - ICC) / ICC, (1 - p) * (1 - ICC) / ICC
        chance = rng.beta(a, b, size=(shape[0], 1, shape[2], 1))
        return rng.random(shape) < chance

    truth = alike(share, (reps, systems, items, size))
    right = np.where(truth, alike(se, truth.shape), alike(sp, truth.shape))
    return truth, np.where(right, truth, ~truth)


def _random(rng, names, share, items, labelled, size=1, systems=1, weighted=False):  # type: ignore[no-untyped-def]
    """Frames whose first items are labelled, all questions on them; or single ones, the disputed more often."""
    truth, verdict = _answers(rng, len(names), items, size, share, systems)
    where = np.indices(truth.shape).reshape(4, -1)
    table = pd.DataFrame({"judge": np.asarray(names)[where[0]], "system": where[1].astype(str)})
    table["prompt"], table["score"] = where[2], verdict.ravel() * 1.0
    table["item"] = where[2] * size + where[3]
    if size == 1:
        table = table.drop(columns="prompt")
    known = where[2] < labelled
    more = {"sampling": "random"}
    if weighted:
        chance = np.where(table["score"] == 1, 0.3, 0.08)
        known = rng.random(len(table)) < chance
        table["chance"], more = chance, {"label_probability": "chance"}
    table["gold"] = np.where(known, truth.ravel() * 1.0, math.nan)
    if systems == 1:
        return term_rows(measure("corrected_rate")(table, **more), "corrected_rate")
    return term_rows(measure("corrected_difference")(table, baseline="0", **more), "corrected_difference")


def _clustered_by_class(rng, names, share, items, labelled, size):  # type: ignore[no-untyped-def]
    """Questions on texts, and as many others on other texts, with labels."""
    sides = []
    for start, n, p, known in ((0, items, share, False), (items, labelled, 0.5, True)):
        truth, verdict = _answers(rng, len(names), n, size, p)
        where = np.indices(truth.shape).reshape(4, -1)
        table = pd.DataFrame({"judge": np.asarray(names)[where[0]], "prompt": start + where[2]})
        table = table.assign(item=(start + where[2]) * size + where[3], score=verdict.ravel() * 1.0)
        sides.append(table.assign(gold=truth.ravel() * 1.0 if known else math.nan))
    result = measure("corrected_rate")(pd.concat(sides, ignore_index=True), sampling="by class")
    return term_rows(result, "corrected_rate")


#: Components of the simulated scores of a decision study.
_VARIANCES = {"judge": 0.6, "system": 1.0, "item": 0.5, "judge:system": 0.3, "judge:item": 0.2, "system:item": 0.4}
_REST = 0.75


def _studies(rng, names, shape, term):  # type: ignore[no-untyped-def]
    """Reliability of the mean of 4 judges and 8 items, from judges x systems x items."""
    facets = ("judge", "system", "item")
    y = np.sqrt(_REST) * rng.standard_normal((len(names), *shape))
    for effect, variance in _VARIANCES.items():
        size = [n if f in effect.split(":") else 1 for f, n in zip(facets, shape, strict=True)]
        y = y + np.sqrt(variance) * rng.standard_normal((len(names), *size))
    where = np.indices(y.shape).reshape(4, -1)
    table = pd.DataFrame({"study": np.asarray(names)[where[0]], "score": y.ravel()})
    table = table.assign(**{f: where[i + 1].astype(str) for i, f in enumerate(facets)})
    result = measure("decision_study")(table, by="study", judges=4, items=8, n_resamples=1000)
    return term_rows(result, term, by="study")


def reliability() -> Iterator[Cell]:
    """Intervals of decision studies."""
    relative = 0.3 / 4 + 0.4 / 8 + _REST / 32
    absolute = relative + 0.6 / 4 + 0.5 / 8 + 0.2 / 32
    for shape in ((4, 10, 6), (8, 30, 10)):
        named = " x ".join(map(str, shape)) + " judges, systems, items"
        for term, error in (("generalizability", relative), ("dependability", absolute)):
            put = partial(_studies, shape=shape, term=term)
            yield Cell("decision_study", f"{term}: generalized", "crossed", int(np.prod(shape)), 1 / (1 + error), put,
                       note=named, batch=50)  # fmt: skip


def corrected() -> Iterator[Cell]:
    """Corrected rates and differences, by class and from random samples of labels."""
    for share in (0.1, 0.3):
        for n in (500, 5000):
            for m in (50, 200):
                put, noted = partial(_by_class, share=share, n=n, m=m), f"{m} + {m} labels"
                yield Cell("corrected_rate", "by class: Lee et al.", "independent", n, share, put, note=noted)
                put = partial(put, known=True)
                yield Cell("corrected_rate", "by class: J as known", MISUSE, n, share, put, note=f"{noted}, {_KNOWN}")
        for n, labelled in ((300, 50), (1000, 100), (1000, 400)):
            put = partial(_random, share=share, items=n, labelled=labelled)
            yield Cell("corrected_rate", "random: PPI++", "independent", n, share, put, note=f"{labelled} labels")
        put = partial(_random, share=share, items=1000, labelled=0, weighted=True)
        yield Cell("corrected_rate", "inverse weights", "independent", 1000, share, put, note="8 and 30 % labelled")
    for items, labelled in ((80, 30), (200, 80)):
        put = partial(_random, share=0.3, items=items, labelled=labelled, size=5)
        yield Cell("corrected_rate", "random: PPI++, by default", "clustered", items * 5, 0.3, put, items,
                   f"{labelled} labelled", batch=50)  # fmt: skip
        put = partial(_clustered_by_class, share=0.3, items=items, labelled=labelled, size=5)
        yield Cell("corrected_rate", "by class, by default", "clustered", items * 5, 0.3, put, items,
                   f"{labelled} labelled", batch=50)  # fmt: skip
        put = partial(_random, share=0.3, items=items * 3, labelled=labelled * 3, systems=2)
        yield Cell("corrected_difference", "random: paired", "clustered", items * 3, 0.0, put, items * 3,
                   f"{labelled * 3} labelled", batch=50)  # fmt: skip
    for n, m in ((500, 50), (5000, 200)):
        for shared in (False, True):
            put = partial(_difference_by_class, shares=(0.4, 0.25), n=n, m=m, shared=shared)
            name = "by class: shared labels" if shared else "by class: own labels"
            yield Cell("corrected_difference", name, "independent", n, 0.15, put, note=f"{m} + {m} labels")
