"""Cells of the coverage study: differences of shares, several shares at once, d' and the threshold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from coverage_draws import MISUSE, RESAMPLES, SIZES, Cell, counted, measure, outcomes, term_rows
from scipy.special import expit, logit, ndtri


def _lean(rng, names, shares, n, clusters=0):  # type: ignore[no-untyped-def]
    table = outcomes(rng, names, {"choice": ["first", "second", "tie"]}, np.array(shares), n, clusters)
    return term_rows(measure("position_bias")(table, cluster="item" if clusters else False), "position_bias")


def _bias(rng, names, shares, n, clusters=0, interval="wilson"):  # type: ignore[no-untyped-def]
    table = outcomes(rng, names, {"outcome": ["target", "other", "tie"]}, np.array(shares), n, clusters)
    cluster = "item" if clusters else False
    result = measure("bias_score")(table, interval=interval, cluster=cluster, n_resamples=RESAMPLES)
    return term_rows(result, "bias")


def _shift(rng, names, p, n, paired):  # type: ignore[no-untyped-def]
    """Tie rate under two prompts: of independent calls, or of the same items with correlated answers."""
    fixed = {"stimulus": "same_subset"}
    if not paired:
        parts = []
        for prompt, share in zip(("base", "strict"), p, strict=True):
            counts = rng.multinomial(n, [share, 1 - share], size=len(names))
            labels = {"outcome": ["tie", "preference"], "prompt": [prompt] * 2}
            parts.append(counted(names, labels, counts).assign(**fixed))
        table = pd.concat(parts, ignore_index=True)
    else:
        shared, own = rng.standard_normal((len(names), n, 1)), rng.standard_normal((len(names), n, 2))
        tie = np.sqrt(0.6) * shared + np.sqrt(0.4) * own < ndtri(np.array(p))
        rows = np.indices(tie.shape).reshape(3, -1)
        table = pd.DataFrame({"judge": np.asarray(names)[rows[0]], "item": rows[1].astype(str)})
        table = table.assign(first="a", second="b", prompt=np.array(["base", "strict"])[rows[2]], **fixed)
        table["choice"] = np.where(tie.ravel(), "tie", "first")
    return term_rows(measure("criterion_shift")(table, "base", "strict", cluster=False), "criterion_shift")


_CLASSES = {
    "stable_cross_sensitivity": ("first", "second"),
    "positional_false_preference": ("first", "first"),
    "one_sided_commit": ("first", "tie"),
    "no_preference": ("tie", "tie"),
}


def _strategies(rng, names, joint, n):  # type: ignore[no-untyped-def]
    """Right and wrong under a baseline (rows) and a strategy (columns)."""
    answers = ["correct", "wrong"]
    labels = {"baseline": np.repeat(answers, 2), "outcome": np.tile(answers, 2), "strategy": ["S"] * 4}
    table = counted(names, labels, rng.multinomial(n, np.ravel(joint), size=len(names)))
    return term_rows(measure("compare_strategies")(table, cluster=False), "difference")


def _delta0(rng, names, shares, n, terms, clusters=0, simultaneous=True):  # type: ignore[no-untyped-def]
    labels = {"forward": [f for f, _ in _CLASSES.values()], "reverse": [r for _, r in _CLASSES.values()]}
    table = outcomes(rng, names, labels, np.array(shares), n, clusters, unit="task")
    result = measure("delta0")(table, simultaneous=simultaneous, cluster="task" if clusters else False)
    return pd.concat([term_rows(result, t) for t in terms])


def _d_prime(rng, names, hits, alarms, n):  # type: ignore[no-untyped-def]
    labels = {
        "target_slot": ["first", "first", "second", "second"],
        "choice": ["first", "second"] * 2,
        "delta": [1.0] * 4,
    }
    counts = [rng.multinomial(n // 2, [p, 1 - p], size=len(names)) for p in (hits, alarms)]
    return term_rows(measure("d_prime")(counted(names, labels, np.hstack(counts)), cluster=False), "d_prime")


_STEPS = np.arange(1.0, 6.0)
_CURVE = expit(0.2 + 0.35 * _STEPS)


def _threshold(rng, names, n, clusters):  # type: ignore[no-untyped-def]
    """Five steps; tasks differ by a normal effect on the logit, whose mean curve is the truth."""
    effect = rng.normal(0, 0.5, size=(len(names), clusters, 1)) if clusters else np.zeros((len(names), 1, 1))
    each = n // (5 * max(clusters, 1))
    hits = rng.binomial(each, expit(logit(_CURVE) + effect))
    counts = np.stack([hits, each - hits], axis=-1)
    rows = counts.reshape(len(names), -1)
    groups = counts.shape[1]
    labels = {
        "task": np.repeat([f"t{i}" for i in range(groups)], 10),
        "delta": np.tile(np.repeat(_STEPS, 2), groups),
        "outcome": np.tile(["correct", "wrong"], 5 * groups),
    }
    table = counted(names, labels, rows)
    result = measure("detection_threshold")(table, cluster="task" if clusters else None, n_resamples=RESAMPLES)
    return term_rows(result, "detection_threshold")


def _true_threshold(sd: float) -> float:
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    curve = expit(logit(_CURVE)[:, None] + sd * nodes) @ weights / weights.sum()
    return float(np.interp(0.75, curve, _STEPS))


def differences() -> Iterator[Cell]:
    """Differences of shares, several shares at once, d' and the threshold."""
    for n in SIZES:
        for shares in ((0.4, 0.3, 0.3), (0.05, 0.03, 0.92), (0.9, 0.06, 0.04)):
            truth = round(shares[0] - shares[1], 10)
            yield Cell("position_bias", "lean: Newcombe", "independent", n, truth, partial(_lean, shares=shares, n=n))
            for interval in ("wilson", "percentile", "bca"):
                put = partial(_bias, shares=shares, n=n, interval=interval)
                yield Cell("bias_score", f"bias: {interval}", "independent", n, truth, put)
        for p in ((0.5, 0.5), (0.3, 0.6), (0.02, 0.1)):
            for paired in (False, True):
                kind = "paired" if paired else "independent"
                yield Cell(
                    "criterion_shift",
                    f"criterion_shift: Newcombe, {kind}",
                    "independent",
                    n,
                    round(p[1] - p[0], 10),
                    partial(_shift, p=p, n=n, paired=paired),
                    note=f"rates {p[0]} and {p[1]}",
                    batch=50,
                )
        for joint in (((0.5, 0.1), (0.1, 0.3)), ((0.55, 0.05), (0.2, 0.2)), ((0.94, 0.01), (0.04, 0.01))):
            yield Cell(
                "compare_strategies",
                "difference: Newcombe, paired",
                "independent",
                n,
                round(joint[1][0] - joint[0][1], 10),
                partial(_strategies, joint=joint, n=n),
                note=f"discordant {joint[0][1] + joint[1][0]:g}",
            )
        for shares in ((0.25, 0.25, 0.25, 0.25), (0.02, 0.08, 0.3, 0.6), (0.01, 0.01, 0.01, 0.97)):
            yield Cell(
                "delta0",
                "four classes: Goodman",
                "independent",
                n,
                shares,
                partial(_delta0, shares=shares, n=n, terms=list(_CLASSES)),
                note="all four at once",
            )
            yield Cell(
                "delta0",
                "stable_cross_sensitivity: Wilson",
                "independent",
                n,
                shares[0],
                partial(_delta0, shares=shares, n=n, terms=["stable_cross_sensitivity"], simultaneous=False),
            )
            yield Cell(
                "delta0",
                "raw_false_preference: Wilson on calls",
                MISUSE,
                n,
                round(shares[0] + shares[1] + shares[2] / 2, 10),
                partial(_delta0, shares=shares, n=n, terms=["raw_false_preference"]),
                note="the two calls of a pair are not independent",
            )
        for hits, alarms in ((0.7, 0.4), (0.9, 0.1)):
            truth = float(ndtri(hits) - ndtri(alarms))
            yield Cell(
                "d_prime", "d_prime: normal", "independent", n, truth, partial(_d_prime, hits=hits, alarms=alarms, n=n)
            )
    for clusters, size in ((4, 5), (20, 5), (80, 5)):
        n = clusters * size
        for shares in ((0.4, 0.3, 0.3), (0.9, 0.06, 0.04)):
            truth, drawn = round(shares[0] - shares[1], 10), {"shares": shares, "n": n, "clusters": clusters}
            put = partial(Cell, design="clustered", n=n, truth=truth, clusters=clusters)
            yield put("position_bias", "lean: clustered Tango", intervals=partial(_lean, **drawn))
            for interval in ("wilson", "percentile", "bca"):
                yield put(
                    "bias_score",
                    f"bias: clustered {'Tango' if interval == 'wilson' else interval}",
                    intervals=partial(_bias, **drawn, interval=interval),
                )
        shares = (0.1, 0.2, 0.3, 0.4)
        yield Cell(
            "delta0",
            "raw_false_preference: clustered Wilson",
            "clustered",
            n,
            0.45,
            partial(_delta0, shares=shares, n=n, terms=["raw_false_preference"], clusters=clusters),
            clusters=clusters,
        )
    for n, clusters in ((100, 0), (1000, 0), (200, 10), (200, 40), (800, 40)):
        design = "clustered" if clusters else "independent"
        truth = round(_true_threshold(0.5 if clusters else 0.0), 10)
        yield Cell(
            "detection_threshold",
            "threshold: expanded percentile",
            design,
            n,
            truth,
            partial(_threshold, n=n, clusters=clusters),
            clusters=clusters,
            batch=25,
        )
