"""Cells of the coverage study: agreement, reliability, correlations, scores and cues."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from coverage_draws import RESAMPLES, SIZES, Cell, counted, measure, term_rows


def _two_judges(rng: np.random.Generator, names: list[str], joint: np.ndarray, n: int) -> pd.DataFrame:
    """Answers of two judges: a tally for each replication, called a study."""
    size = len(joint)
    answers = np.arange(size)
    labels = {"other": ["h"] * size**2, "answer": np.repeat(answers, size), "other_answer": np.tile(answers, size)}
    table = counted(names, labels, rng.multinomial(n, joint.ravel(), size=len(names)))
    return table.astype({"answer": int, "other_answer": int}).rename(columns={"judge": "study"}).assign(judge="g")


def _kappa(rng, names, joint, n, interval):  # type: ignore[no-untyped-def]
    table = _two_judges(rng, names, joint, n)
    result = measure("kappa")(table, by="study", interval=interval, cluster=False, n_resamples=RESAMPLES)
    return term_rows(result, "kappa", by="study")


def _joint(agreement: float, margin: np.ndarray) -> tuple[np.ndarray, float]:
    """Joint shares of two judges with one margin, and their kappa: `agreement` of the answers are copied."""
    return agreement * np.diag(margin) + (1 - agreement) * np.outer(margin, margin), agreement


def _coefficient(rng, names, joint, n, name):  # type: ignore[no-untyped-def]
    """Alpha or AC1, of the answers one by one."""
    table = _two_judges(rng, names, joint, n)
    rows = table.loc[table.index.repeat(table["n"].astype(int))].reset_index(drop=True)
    rows["item"] = rows.groupby("study").cumcount().astype(str)
    sides = [rows.assign(judge=j, score=rows[c].astype(float)) for j, c in (("g", "answer"), ("h", "other_answer"))]
    ratings = pd.concat(sides, ignore_index=True).assign(system="s")
    options = {"n_resamples": RESAMPLES} if name == "alpha" else {}
    result = measure(name)(ratings[["study", "judge", "system", "item", "score"]], by="study", **options)
    return term_rows(result, name, by="study")


def _answers_in_items(rng, names, items, systems, share, margin, name):  # type: ignore[no-untyped-def]
    """Two judges who agree on all responses to an easy item, and by chance alone on those to another."""
    shape = (len(names), items, systems, 2)
    answers = rng.choice(len(margin), size=shape, p=margin)
    easy = rng.random((len(names), items, 1)) < share
    answers[..., 1] = np.where(easy, answers[..., 0], answers[..., 1])
    rows = np.indices(shape).reshape(4, -1)
    table = pd.DataFrame({"study": np.asarray(names)[rows[0]], "item": rows[1].astype(str)})
    table = table.assign(system=rows[2].astype(str), judge=rows[3].astype(str), score=answers.ravel().astype(float))
    options = {"n_resamples": RESAMPLES} if name == "alpha" else {}
    return term_rows(measure(name)(table, by="study", **options), name, by="study")


def _icc_in_items(rng, names, items, systems, variances, term, raters=3):  # type: ignore[no-untyped-def]
    """Responses of several systems to one item share it, and so do a judge's scores of them."""
    item, response, judged, rest = np.sqrt(variances)
    shape = (len(names), items, systems, raters)
    scores = item * rng.standard_normal((len(names), items, 1, 1)) + rest * rng.standard_normal(shape)
    scores += response * rng.standard_normal((*shape[:3], 1))
    scores += judged * rng.standard_normal((len(names), items, 1, raters))
    return term_rows(measure("icc")(_of_systems(names, scores), by="study"), term, by="study")


def _of_systems(names: list[str], scores: np.ndarray) -> pd.DataFrame:
    """Scores (R, items, systems, judges) as ratings."""
    rows = np.indices(scores.shape).reshape(4, -1)
    table = pd.DataFrame({"study": np.asarray(names)[rows[0]], "item": rows[1].astype(str)})
    return table.assign(system=rows[2].astype(str), judge=rows[3].astype(str), score=scores.ravel())


#: Mean scores that three judges give each of many systems, were all items asked: two of them switch neighbours.
_MEANS = np.linspace(0, 1, 12)[:, None] + np.array([0.0, 0.1, -0.1]) * np.resize([1, -1], 12)[:, None]


def _levels(rng, names, items, systems, noise, term):  # type: ignore[no-untyped-def]
    shape = (len(names), items, systems, 3)
    scores = _MEANS[:systems] + 0.7 * rng.standard_normal((len(names), items, 1, 1))
    scores = scores + noise * rng.standard_normal(shape)
    result = measure("agreement_levels")(_of_systems(names, scores), by="study", n_resamples=RESAMPLES)
    return term_rows(result, term, by="study")


def _from_runs(rng, names, runs, name):  # type: ignore[no-untyped-def]
    """One item, a few runs of two judges whose noise differs; the first prefers itself by 4, or by 2."""
    noise = np.array([1.0, 0.4])[:, None, None, None]
    scores = noise * rng.standard_normal((len(names), 2, 2, 2, runs))
    scores[:, 0, 0, 0] += 4
    scores[:, 0, 0, 1] += 2
    rows = np.indices(scores.shape[:-1]).reshape(4, -1)
    table = pd.DataFrame({"study": np.asarray(names)[rows[0]], "judge": rows[1].astype(str), "runs": runs})
    table["system"], table["condition"] = rows[2].astype(str), np.array(["attributed", "anonymized"])[rows[3]]
    table = table.assign(mean=scores.mean(axis=-1).ravel(), sd=scores.std(axis=-1, ddof=1).ravel())
    if name == "blinding_effect":
        result = measure(name)(table, by="study")
        return term_rows(result[result["judge"] == "0"], "attenuation", by="study")
    result = measure(name)(table[table["condition"] == "attributed"], by="study")
    return term_rows(result[(result["judge"] == "0") & (result["system"] == "0")], "deviation", by="study")


def _calibrated(rng, names, items, systems, method, term):  # type: ignore[no-untyped-def]
    """Scores half a point too high, with errors of which a part is shared by the responses to an item."""
    shape = (len(names), items, systems)
    quality = rng.normal(size=shape)
    scores = quality + 0.5 + rng.normal(0, 0.4, (*shape[:2], 1)) + rng.normal(0, 0.5, shape)
    rows = np.indices(shape).reshape(3, -1)
    table = pd.DataFrame({"judge": np.asarray(names)[rows[0]], "item": [f"{r}-{i}" for r, i in rows[:2].T]})
    table = table.assign(system=rows[2].astype(str), score=scores.ravel())
    reference = table.drop(columns="judge").assign(score=quality.ravel())
    return term_rows(measure("calibrate")(table, reference=reference, method=method), term)


def clustered() -> Iterator[Cell]:
    """Agreement on responses that share an item, agreement of means, and deviations from a few runs."""
    margin, share = (0.4, 0.4, 0.2), 0.5
    chance = ((1 - np.array(margin)) * np.array(margin)).sum() / 2
    same = share + (1 - share) * (np.array(margin) ** 2).sum()
    truths = {"kappa": share, "alpha": share, "ac1": round(float((same - chance) / (1 - chance)), 10)}
    for items, systems in ((12, 5), (20, 5), (30, 5), (80, 5)):
        for name, truth in truths.items():
            yield Cell(
                name,
                f"{name}: clustered by item",
                "clustered",
                items * systems,
                truth,
                partial(_answers_in_items, items=items, systems=systems, share=share, margin=margin, name=name),
                clusters=items,
            )
    for items, systems in ((30, 4), (50, 8)):
        for variances in ((1.0, 0.3, 0.3, 1.0), (0.2, 0.3, 0.5, 1.0)):
            truth = sum(variances[:2]) / sum(variances)
            for term in ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)"):
                yield Cell(
                    "icc",
                    f"{term}: clustered by item",
                    "clustered",
                    items * systems,
                    round(truth, 10),
                    partial(_icc_in_items, items=items, systems=systems, variances=variances, term=term),
                    clusters=items,
                    note="the raters do not differ in severity",
                    batch=50,
                )
    items, systems, noise = 30, 4, 1.0
    ranks = _MEANS[:systems].argsort(axis=0).argsort(axis=0)
    rho = np.corrcoef(ranks.T)[np.triu_indices(3, 1)].mean()
    for term, interval, truth in (("rho_system", "t", rho), ("r_sample", "t, Fisher z", 0.49 / (0.49 + noise**2))):
        yield Cell(
            "agreement_levels",
            f"{term}: {interval}",
            "clustered",
            items,
            round(float(truth), 10),
            partial(_levels, items=items, systems=systems, noise=noise, term=term),
            clusters=items,
            note=f"{systems} systems",
            batch=25,
        )
    noise = 0.4**2 + 0.5**2
    for items in (12, 40, 150):
        for term, method, kind, truth in (
            ("shift", "shift", "t", -0.5),
            ("rmse_before", "shift", "t of log, jackknife of items", np.sqrt(0.25 + noise)),
            ("slope", "linear", "t, jackknife of items", 1 / (1 + noise)),
        ):
            draw = partial(_calibrated, items=items, systems=3, method=method, term=term)
            yield Cell(
                "calibrate", f"{term}: {kind}", "clustered", 3 * items, round(float(truth), 10), draw, clusters=items
            )
    for runs in (2, 3, 5, 10):
        for name, truth in (("consensus_deviation", 4.0), ("blinding_effect", 50.0)):
            term = "deviation" if name == "consensus_deviation" else "attenuation"
            yield Cell(
                name, f"{term}: from runs", "independent", runs, truth, partial(_from_runs, runs=runs, name=name)
            )


def _icc(rng, names, n, raters, variances, term):  # type: ignore[no-untyped-def]
    item, rater, rest = np.sqrt(variances)
    reps = len(names)
    scores = item * rng.standard_normal((reps, n, 1)) + rater * rng.standard_normal((reps, 1, raters))
    table = _long(names, scores + rest * rng.standard_normal((reps, n, raters)))
    return term_rows(measure("icc")(table, by="study"), term, by="study")


def _long(names: list[str], scores: np.ndarray) -> pd.DataFrame:
    rows = np.indices(scores.shape).reshape(3, -1)
    table = pd.DataFrame(
        {"study": np.asarray(names)[rows[0]], "item": rows[1].astype(str), "judge": rows[2].astype(str)}
    )
    return table.assign(system="s", score=scores.ravel())


def _bivariate(rng: np.random.Generator, reps: int, n: int, rho: float) -> np.ndarray:
    x = rng.standard_normal((reps, n, 2))
    x[..., 1] = rho * x[..., 0] + np.sqrt(1 - rho**2) * x[..., 1]
    return x


def _spearman(rng, names, n, rho, term):  # type: ignore[no-untyped-def]
    x = _bivariate(rng, len(names), n, rho)
    item = np.char.add(np.repeat(names, n), np.tile([f".{i}" for i in range(n)], len(names)))
    ratings = pd.DataFrame({"judge": np.repeat(names, n), "system": "s", "item": item, "score": x[..., 0].ravel()})
    truth = pd.DataFrame({"item": item, "value": x[..., 1].ravel()})
    return term_rows(measure("rank_correlation")(ratings, truth=truth, method=term), term)


def _pearson(rng, names, n, rho):  # type: ignore[no-untyped-def]
    table = _long(names, _bivariate(rng, len(names), n, rho))
    return term_rows(measure("correlation")(table, by="study", pairs="each"), "r", by="study")


def _deviation(rng, names, n, term):  # type: ignore[no-untyped-def]
    """Three judges, each also a system; judge 0 is severe by 0.5 and prefers itself by 0.4."""
    reps = len(names)
    scores = rng.standard_normal((reps, n, 1, 3)) + 0.7 * rng.standard_normal((reps, n, 3, 3))
    scores[:, :, 0, :] += 0.5
    scores[:, :, 0, 0] += 0.4
    rows = np.indices(scores.shape).reshape(4, -1)
    table = pd.DataFrame({"study": np.asarray(names)[rows[0]], "item": rows[1].astype(str)})
    table = table.assign(judge=rows[2].astype(str), system=rows[3].astype(str), score=scores.ravel())
    result = measure("consensus_deviation")(table, by="study")
    keep = result[(result["judge"] == "0") & result["system"].isin(["", "0"])]
    return term_rows(keep, term, by="study")


def _attenuation(rng, names, n, strength):  # type: ignore[no-untyped-def]
    """Two judges; the first prefers itself by `strength`, by half of it where names are hidden."""
    reps = len(names)
    scores = rng.standard_normal((reps, n, 1, 2, 2)) + 0.7 * rng.standard_normal((reps, n, 2, 2, 2))
    scores[:, :, 0, 0, 0] += strength
    scores[:, :, 0, 0, 1] += strength / 2
    rows = np.indices(scores.shape).reshape(5, -1)
    table = pd.DataFrame({"study": np.asarray(names)[rows[0]], "item": rows[1].astype(str)})
    table = table.assign(judge=rows[2].astype(str), system=rows[3].astype(str), score=scores.ravel())
    table["condition"] = np.array(["attributed", "anonymized"])[rows[4]]
    result = measure("blinding_effect")(table, by="study")
    return term_rows(result[result["judge"] == "0"], "attenuation", by="study")


def _anchoring(rng, names, blind, moved, n, term, paired, interval="wilson"):  # type: ignore[no-untyped-def]
    """Answers blind and under a probe that wins over some of the others: paired items, or two samples of counts."""
    answers = ["x", "y", "tie"]
    after = (1 - moved) * np.array(blind) + moved * np.array([1.0, 0.0, 0.0])
    if paired:
        joint = np.diag(blind) * (1 - moved)
        joint[:, 0] += moved * np.array(blind)
        labels = {"baseline": np.repeat(answers, 3), "outcome": np.tile(answers, 3), "probe": ["truth"] * 9}
        table = counted(names, labels, rng.multinomial(n, joint.ravel(), size=len(names)))
    else:
        parts = [
            counted(names, {"outcome": answers, "probe": [p] * 3}, rng.multinomial(n, s, size=len(names)))
            for p, s in (("blind", blind), ("truth", after))
        ]
        table = pd.concat(parts, ignore_index=True)
    result = measure("anchoring")(table, favoured="x", interval=interval, n_resamples=RESAMPLES)
    return term_rows(result, term, probe="truth")


def agreement() -> Iterator[Cell]:
    """Kappa, ICC, correlations, deviations and anchoring."""
    for n in SIZES:
        for share, margin in (
            (0.6, (0.4, 0.4, 0.2)),
            (0.6, (0.9, 0.06, 0.04)),
            (0.05, (0.4, 0.4, 0.2)),
            (0.95, (0.4, 0.4, 0.2)),
        ):
            joint, truth = _joint(share, np.array(margin))
            for interval in ("asymptotic", "percentile", "bca"):
                yield Cell(
                    "kappa",
                    f"kappa: {interval}",
                    "independent",
                    n,
                    truth,
                    partial(_kappa, joint=joint, n=n, interval=interval),
                    note=f"largest class {margin[0]}",
                )
            chance = ((1 - np.array(margin)) * np.array(margin)).sum() / 2
            same = np.trace(joint)
            put = partial(Cell, design="independent", n=n, note=f"largest class {margin[0]}")
            gwet = round(float((same - chance) / (1 - chance)), 10)
            yield put("ac1", "ac1: t", truth=gwet, intervals=partial(_coefficient, joint=joint, n=n, name="ac1"))
            yield put(
                "alpha",
                "alpha: t",
                truth=truth,
                intervals=partial(_coefficient, joint=joint, n=n, name="alpha"),
            )
    for n, raters in ((20, 3), (100, 3), (400, 3), (100, 10)):
        for item, rater, rest in ((1.0, 0.3, 1.0), (0.05, 0.05, 1.0), (9.0, 0.3, 1.0)):
            total = item + rater + rest
            for term, truth in (("ICC(2,1)", item / total), ("ICC(3,1)", item / (item + rest))):
                yield Cell(
                    "icc",
                    f"{term}: F",
                    "crossed",
                    n,
                    round(truth, 10),
                    partial(_icc, n=n, raters=raters, variances=(item, rater, rest), term=term),
                    clusters=raters,
                    note="subjects and raters are drawn",
                )
    for n in SIZES:
        for rho in (0.0, 0.5, 0.9, 0.98):
            spearman, kendall = 6 / np.pi * np.arcsin(rho / 2), 2 / np.pi * np.arcsin(rho)
            put = partial(_pearson, n=n, rho=rho)
            yield Cell("correlation", "r: Fisher z", "independent", n, rho, put, note="bivariate normal", batch=50)
            for term, truth in (("spearman", spearman), ("kendall", kendall)):
                yield Cell(
                    "rank_correlation",
                    f"{term}: Fisher z",
                    "independent",
                    n,
                    round(float(truth), 10),
                    partial(_spearman, n=n, rho=rho, term=term),
                    note="bivariate normal",
                )
    for n in SIZES:
        for term, truth, by in (("deviation", 0.9, "items"), ("self_excess", 0.4, "cells of judges by systems")):
            yield Cell(
                "consensus_deviation",
                f"{term}: t over {by}",
                "independent",
                n,
                truth,
                partial(_deviation, n=n, term=term),
                batch=25,
            )
        for strength in (0.3, 1.0):
            yield Cell(
                "blinding_effect",
                "attenuation: Fieller",
                "independent",
                n,
                50.0,
                partial(_attenuation, n=n, strength=strength),
                note=f"bias {strength}",
                batch=25,
            )
        for blind in ((0.4, 0.4, 0.2), (0.9, 0.05, 0.05)):
            for moved in (0.0, 0.3):
                for paired in (True, False):
                    for term in ("shift_favoured", "lds"):
                        yield Cell(
                            "anchoring",
                            f"{term}: {'paired items' if paired else 'two samples'}",
                            "independent",
                            n,
                            round(moved * (1 - blind[0]), 10),
                            partial(_anchoring, blind=blind, moved=moved, n=n, term=term, paired=paired),
                            note=f"blind share {blind[0]}{'; no item moves, ever' if paired and not moved else ''}",
                            batch=50,
                        )
