"""Coefficients of all judges at once, and the bootstrap of a mean over pairs: what kappa and AC1 share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit

from judgestats.errors import confidence
from judgestats.kernels.chance import Chance, agreement_parts, chance_agreement, chance_corrected, weighted_kappa
from judgestats.kernels.coincidence import Units
from judgestats.metrics.agreement.labels import (
    NO_PAIRS,
    ONE_LABEL,
    PERFECT,
    Group,
    Weights,
    agreement_weights,
    answer_matrices,
    declared,
    few_disagreements,
    is_answer,
    positions,
    rated,
    resolved,
)
from judgestats.metrics.resampled import Bootstrap, Statistic, planned, resampled
from judgestats.results import ONE_UNIT, SMALL_N, estimates, few_clusters, flags
from judgestats.schema.clustering import Cluster, column_of, dependence
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, names

Floats = NDArray[np.float64]
EXTRA = ("observed", "expected", "z", "p_value")


def planned_or_none(
    interval: str,
    cluster: Sequence[str],
    n_resamples: int,
    seed: int | np.random.Generator | None,
    conf_level: float,
) -> Bootstrap | None:
    """Turn the arguments of a measure into a bootstrap, None for the asymptotic interval."""
    if interval == "asymptotic":
        confidence(conf_level)
        return None
    return planned(interval, list(cluster) or None, None, n_resamples, seed, conf_level)


def drawn(
    table: pd.DataFrame, counts: Floats, statistic: Statistic, plan: Bootstrap, key: dict[str, Any]
) -> dict[str, Any]:
    """Bootstrap as :func:`resampled` does; what is drawn here is a unit, with the answers of its judges."""
    cells = resampled(table, counts, statistic, plan, key)
    small = SMALL_N if table["n"].sum() < 30 else ""
    return {**cells, "method": of_units(cells["method"]), "flag": flags(cells["flag"], small)}


def in_words(plan: Bootstrap | None) -> str:
    """The ``method`` of an estimate."""
    return "asymptotic" if plan is None else of_units(plan.words)


def of_units(words: str) -> str:
    """What is drawn are things with the answers of their judges."""
    return words.replace("bootstrap of calls", "bootstrap of units")


def plain(key: dict[str, Any]) -> tuple[str, ...]:
    """Labels of a group as text, a missing one always the same."""
    return tuple("" if pd.isna(label) else str(label) for label in key.values())


def mean_intervals(
    data: Any, groups: list[str], cluster: str | None, weights: Weights | None, plan: Bootstrap
) -> dict[tuple[str, ...], dict[str, Any]]:
    """Bootstrap cells of the mean kappa of each group: things are drawn with the answers of all judges."""
    intervals = {}
    labels, matrices = answer_matrices(data, groups, cluster)
    w = agreement_weights(positions(labels.answers)[0], weights)
    for key, table, answers in matrices:
        blocks, tables = [], []
        for one, two in combinations(range(answers.shape[1]), 2):
            both = (answers[:, one] >= 0) & (answers[:, two] >= 0)
            cell = np.where(both, answers[:, one] * len(w) + answers[:, two], -1)
            used = np.unique(cell[both])
            if used.size:
                blocks.append((cell[:, None] == used) * table["n"].to_numpy()[:, None])
                tables.append((used // len(w), used % len(w)))
        if not tables:
            continue
        ends = np.cumsum([0, *(len(row) for row, _ in tables)])

        def mean(totals: Floats, tables: Any = tables, ends: Any = ends) -> Floats:
            each = [
                weighted_kappa(totals[:, a:b], t[0], t[1], w) for t, a, b in zip(tables, ends, ends[1:], strict=False)
            ]
            values = np.column_stack(each)
            defined = np.isfinite(values).sum(axis=1)
            result: Floats = np.nansum(values, axis=1) / np.where(defined > 0, defined, np.nan)
            return result

        counts = np.concatenate(blocks, axis=1).astype(float)
        cells = drawn(table, counts, mean, plan, key)
        lowest = np.where(answers < 0, len(w), answers).min(axis=1)
        apart = float(table["n"].to_numpy()[answers.max(axis=1) > lowest].sum())
        intervals[plain(key)] = {**cells, "flag": flags(cells["flag"], few_disagreements(cells, apart))}
    return intervals


def panel(
    data: Any,
    term: str,
    coefficient: str,
    weights: Weights | None,
    labels: Sequence[Any] | None,
    by: By,
    cluster: Cluster,
    drawing: tuple[str, int, int | np.random.Generator | None, float],
) -> pd.DataFrame:
    """A coefficient of all judges at once, per group; `drawing` is interval, resamples, seed and coverage."""
    interval, n_resamples, seed, conf_level = drawing
    data, column, dependent = resolved(data, by, cluster)
    plan = planned_or_none(interval, [column] if column else [], n_resamples, seed, conf_level)
    found, groups = rated(data, by, column)
    answers, code = declared(found.answers, labels)
    w = agreement_weights(positions(answers)[0], weights)
    rows = []
    for group in groups:
        group = replace(group, units=group.units._replace(code=code[group.units.code]))
        rows.append(_row(group, term, coefficient, w, column, plan, conf_level, dependent))
    extra = EXTRA if coefficient == "fleiss" else [c for c in EXTRA if c != "z"]
    return estimates(rows, list(dict.fromkeys(names(by))), extra)


def beside(
    table: pd.DataFrame,
    term: str,
    weights: Weights | None,
    labels: Sequence[Any] | None,
    by: By,
    drawing: tuple[str, int, int | np.random.Generator | None, float],
) -> pd.DataFrame:
    """Gwet's coefficient of each judge beside a reference, from the tally of their answers."""
    interval, n_resamples, seed, conf_level = drawing
    column = column_of(table)
    plan = planned_or_none(interval, [column] if column else [], n_resamples, seed, conf_level)
    known = (
        table["answer"].where(is_answer(table["answer"])),
        table["other_answer"].where(is_answer(table["other_answer"])),
    )
    found, answers = pd.factorize(pd.concat(known, ignore_index=True).astype(object), sort=True)
    answers, code = declared(answers, labels)
    w = agreement_weights(positions(answers)[0], weights)
    both = np.where(found < 0, -1, code[found]).reshape(2, -1).T
    keys = [*dict.fromkeys(names(by)), "judge", "other"]
    dependent = dependence(table)
    rows = []
    for key, part in table.reset_index(drop=True).groupby(keys, dropna=False, sort=True):
        named = dict(zip(keys, key, strict=True))
        pair, n = both[part.index], part["n"].to_numpy(dtype=float)
        answered = pair >= 0
        alike = (pair[:, 0] == pair[:, 1]) & answered[:, 0]
        size = np.where(alike, 1, answered.sum(axis=1))
        some = size > 0
        values = [[p[0]] if a else [v for v in p if v >= 0] for p, a in zip(pair[some], alike[some], strict=True)]
        times = np.repeat(np.where(alike[some], 2.0, 1.0), size[some])
        start = np.concatenate([[0], np.cumsum(size[some])]).astype(np.int64)
        units = Units(start, np.array([v for vs in values for v in vs], dtype=np.int64), times)
        group = Group(named, units, n[some], part[some].reset_index(drop=True), float(n[~some].sum()))
        rows.append(_row(group, term, "gwet", w, column, plan, conf_level, dependent))
    return estimates(rows, keys, [c for c in EXTRA if c != "z"])


def _row(
    group: Group,
    term: str,
    coefficient: str,
    w: Floats,
    column: str | None,
    plan: Bootstrap | None,
    conf_level: float,
    dependent: str,
) -> dict[str, Any]:
    """A coefficient of one group of units, with its interval."""
    units = group.units
    fit = chance_corrected(units, group.n, w, coefficient)
    unit = codes_of(group.table, [column]) if column else None
    cells: dict[str, Any] = {"term": term, "estimate": fit.estimate, "n": group.paired, "method": in_words(plan)}
    cells |= {"observed": fit.observed, "expected": fit.expected if group.paired else math.nan}
    if np.isnan(fit.estimate):
        cells["flag"] = ONE_LABEL if group.paired else NO_PAIRS
    elif plan is None:
        cells |= _student(fit, group.n, None if unit is None else unit.code, conf_level)
        cells["method"] = f"linearised, clustered by {column} (G = {unit.size})" if unit else cells["method"]
    else:
        agreement, shares = agreement_parts(units, w)
        counts = np.column_stack([units.judges >= 2, agreement, shares]) * group.n[:, None]
        cells |= drawn(group.table, counts, lambda t: _corrected(t, w, coefficient), plan, group.key)
    cells["flag"] = flags(cells["flag"], few_disagreements(cells, group.apart))
    if coefficient == "fleiss":
        cells |= {"z": math.nan, "p_value": math.nan} if unit else _fleiss_test(units, group.n, fit, w)
    return {**group.key, **cells, "flag": flags(cells["flag"], *group.doubts, dependent)}


def _fleiss_test(units: Units, n: Floats, fit: Chance, w: Floats) -> dict[str, Any]:
    """Test that Fleiss's kappa is 0 (Fleiss, Nee and Landis 1979): for equally many answers on each thing."""
    judges = units.judges[n > 0]
    if np.isnan(fit.estimate) or (judges != judges[0]).any() or (w != np.eye(len(w))).any():
        return {"z": math.nan, "p_value": math.nan}
    p = n @ agreement_parts(units, w)[1] / n.sum()
    chance = (p * (1 - p)).sum()
    spread = chance**2 - (p * (1 - p) * (1 - 2 * p)).sum()
    null_error = math.sqrt(2 * max(spread, 0.0) / (n.sum() * judges[0] * (judges[0] - 1))) / chance
    z = fit.estimate / null_error if null_error > 0 else math.nan
    return {"z": z, "p_value": float(2 * ndtr(-abs(z)))}


def _corrected(totals: Floats, w: Floats, coefficient: str) -> Floats:
    """Agreement beyond chance from totals: units with two answers, their agreement, shares of the answers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = totals[:, 1] / totals[:, 0]
        shares = totals[:, 2:] / totals[:, 2:].sum(axis=1, keepdims=True)
        expected = chance_agreement(shares, w, coefficient)
        result: Floats = (observed - expected) / np.where(expected > 1 - 1e-12, np.nan, 1 - expected)
    return result


def _student(fit: Chance, n: Floats, cluster: Any, conf_level: float) -> dict[str, Any]:
    """Student's interval over units, or over clusters of them."""
    estimate, std_error, units = fit.estimate, fit.std_error, float(n.sum())
    small = SMALL_N if units < 30 else ""
    if cluster is not None:
        sums = np.bincount(cluster, weights=n * fit.influence)
        small, units = flags(small, few_clusters(sums.size)), float(sums.size)
        if units > 1:
            std_error = math.sqrt(units / (units - 1) * float(sums @ sums)) / float(n.sum())
    if units < 2:
        return {"flag": ONE_UNIT}
    if not std_error > 1e-12:
        return {"flag": flags(PERFECT if estimate > 1 - 1e-12 else "", small)}
    half = float(stdtrit(units - 1, 0.5 + conf_level / 2)) * std_error
    return {
        "std_error": std_error,
        "conf_low": max(estimate - half, -1.0),
        "conf_high": min(estimate + half, 1.0),
        "p_value": float(2 * stdtr(units - 1, -abs(estimate / std_error))),
        "flag": small,
    }
