"""Ratings, or printed means, and a reference panel as mean scores with known noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.cells import cells, order_of_cells, score_panel
from judgestats.counting.reply_errors import ReplyErrors, reply_errors
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.models.hierarchical.crossed import CrossedMeans

REFERENCE = "reference"


def crossed_means(
    ratings: IntoFrame,
    identity: Mapping[str, str] | None,
    reference: IntoFrame,
    condition: str | None,
    final: str | None,
) -> tuple[CrossedMeans, list[str]]:
    """Mean scores with known noise, and flags of all estimates; arguments as in :func:`severity`."""
    present = list(nw.from_native(ratings).collect_schema().names())
    if condition is not None and condition not in present:
        raise DesignError(
            f"condition={condition!r} is not a column. Columns: {', '.join(present)}.{suggestion(condition, present)}"
        )
    column = condition if condition is not None else "condition" if "condition" in present else None
    if "score" not in present and "sd" in present and "runs" not in present:
        raise DesignError(
            "The table has means and sds but no 'runs' (number of runs per mean), so the error of a mean is not known. "
            "Add the column, or leave 'sd' out: noise then counts as judge-by-system interaction."
        )
    by = [column] if column else []
    of_scores, table = score_panel(ratings, by), cells(ratings, by)
    table = table.assign(_unit=order_of_cells(of_scores), where=table[column].astype(str) if column else "")
    table, notes = _one_criterion(table, final, lambda: reply_errors(ratings, of_scores))
    table, more = _with_noise(table)
    judges, systems = sorted(set(table["judge"].astype(str))), sorted(set(table["system"].astype(str)))
    if len(judges) < 2 or len(systems) < 2:
        raise DesignError(
            f"severity needs two judges and two systems or more; got {len(judges)} and {len(systems)}. Add ratings, or "
            "compare mean scores."
        )
    own = _judge_of_system(identity or {}, judges, systems)
    conditions = sorted(set(table["where"]))
    table = table.assign(
        own=[own.get(s) == j for j, s in zip(table["judge"].astype(str), table["system"].astype(str), strict=True)]
    )
    if reference is not None:
        if REFERENCE in judges:
            raise DesignError(f"A judge is called {REFERENCE!r}, the name of the reference. Rename the judge.")
        table = pd.concat([table, _reference_scores(reference, systems, own, column, conditions)], ignore_index=True)
        judges = [*judges, REFERENCE]
    centre = float(table["mean"].mean())
    judge, system, where = (
        np.asarray(pd.Index(k).get_indexer(table[c].astype(str)), np.int64)
        for k, c in ((judges, "judge"), (systems, "system"), (conditions, "where"))
    )
    mean, noise, selves = table["mean"].to_numpy(float), table["noise"].to_numpy(float), table["own"].to_numpy(bool)
    labels = tuple(judges), tuple(systems), tuple(conditions)
    data = CrossedMeans(mean - centre, noise, judge, system, where, selves, *labels, reference is not None, centre)
    return data, [*notes, *more, "" if data.own.any() else flags.NO_SELF_SCORE]


def _one_criterion(
    table: pd.DataFrame, final: str | None, replies: Callable[[], ReplyErrors]
) -> tuple[pd.DataFrame, list[str]]:
    """The final criterion, or the mean of all; missing means are excluded, impossible numbers refused."""
    missing = float(table["n_missing"].fillna(0).sum())
    table = table[table["mean"].notna()]
    notes = [flags.N_SCORES_EXCLUDED.of(missing)]
    if (table["sd"] < 0).any() or (table["runs"] < 1).any():
        raise SchemaError("A ratings table has an sd below 0, or runs below 1. An sd is 0 or more, runs are 1 or more.")
    if final is not None and (table["criterion"] == final).any():
        return table[table["criterion"] == final], notes
    if table["criterion"].nunique() < 2:
        return table, notes
    grouped, errors = table.groupby(["where", "judge", "system", "item"], observed=True), replies()
    group, rows = np.zeros(errors.block.size, dtype=np.int64), np.zeros(errors.block.size, dtype=bool)
    group[table["_unit"]], rows[table["_unit"]] = grouped.ngroup(), True
    means = grouped.agg(mean=("mean", "mean"), runs=("runs", "min")).reset_index()
    means["sd"] = np.sqrt(errors.variances_of_means(group, rows) * means["runs"])
    return means, [*notes, "" if errors.certain else flags.CRITERIA_TOGETHER]


def _with_noise(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Mean and variance of its noise for each judge, system and condition."""
    if not table.duplicated(["where", "judge", "system"]).any():
        return _by_runs(table)
    rows, other_items = [], False
    for (where, system), part in table.groupby(["where", "system"], observed=True):
        wide = part.pivot(index="judge", columns="item", values="mean")
        y, whole = wide.to_numpy(float), bool(wide.notna().all().all()) and min(wide.shape) > 1
        other_items |= not whole and len(wide) > 1
        count = np.isfinite(y).sum(axis=1)
        mean = np.nansum(y, axis=1) / count
        if whole:  # an item effect common to all judges is quality, not noise
            rest = y - mean[:, None] - y.mean(axis=0) + y.mean()
            spread = np.full(len(y), (rest**2).sum() / ((y.shape[0] - 1) * (y.shape[1] - 1)))
        else:
            squares = np.nansum((y - mean[:, None]) ** 2, axis=1)
            spread = np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan)
        numbers = {"mean": mean, "sd": np.sqrt(spread), "runs": count}
        rows.append(pd.DataFrame({"where": where, "judge": wide.index, "system": system, **numbers}))
    means, notes = _by_runs(pd.concat(rows, ignore_index=True))
    return means, [flags.OTHER_ITEMS if other_items else "", *notes]


def _by_runs(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Noise as sd² / runs, with the pooled sd in place of one that is zero or not known."""
    sd, runs = table["sd"].to_numpy(float), table["runs"].to_numpy(float)
    has_sd = np.isfinite(sd) & (runs > 1)
    zero = has_sd & (sd == 0)
    table = table[["where", "judge", "system", "mean"]]
    if not has_sd.any() or zero[has_sd].all():
        return table.assign(noise=0.0), [flags.ALL_ZERO if has_sd.any() else flags.NO_NOISE]
    pooled = np.sqrt(((runs - 1)[has_sd] @ sd[has_sd] ** 2) / (runs - 1)[has_sd].sum())
    used = np.where(has_sd & ~zero, sd, pooled)
    notes = [flags.ZERO_SD if zero.any() else "", flags.POOLED_SD if (~has_sd).any() else ""]
    return table.assign(noise=used**2 / np.where(np.isfinite(runs), runs, 1.0)), notes


def _judge_of_system(identity: Mapping[str, str], judges: list[str], systems: list[str]) -> dict[str, str]:
    """System -> judge, by default the judge of the same name."""
    judge_of = {s: s for s in systems}
    for a, b in identity.items():
        if a in systems and b in judges:
            judge_of[a] = b
        elif a in judges and b in systems:
            judge_of[b] = a
        else:
            raise SchemaError(
                f"identity has {a!r}: {b!r}, which is not a pair of a system and a judge. "
                f"Systems: {', '.join(systems)}. Judges: {', '.join(judges)}."
            )
    taken = [j for j in judge_of.values() if j in judges]
    if twice := [j for j in taken if taken.count(j) > 1]:
        same = ", ".join(repr(s) for s, j in judge_of.items() if j == twice[0])
        raise SchemaError(f"identity maps {same} to {twice[0]!r}. It must be one-to-one.")
    return judge_of


def _reference_scores(
    frame: IntoFrame, systems: list[str], own: Mapping[str, str], column: str | None, conditions: list[str]
) -> pd.DataFrame:
    """The reference as the scores of one more judge."""
    table = nw.from_native(frame).lazy().collect(backend="pandas").to_native()
    where = column if column is not None and column in table.columns else None
    if "judge" in table.columns:  # ratings of single people
        keys = [*([where] if where else []), "system"]
        people = cells(table, [where] if where else [])
        each = people.groupby([*keys, "judge"], as_index=False, observed=True)["mean"].mean()
        table = each.groupby(keys, as_index=False, observed=True)["mean"].agg(mean="mean", sd="std", runs="count")
    if lacking := [c for c in ("system", "mean", "sd", "runs") if c not in table.columns]:
        raise SchemaError(
            f"reference= lacks {lacking[0]!r}. Give system, mean, sd and runs (the number of people per mean), or the "
            "people's ratings, with judge, system and score."
        )
    by_judge = {j: s for s, j in own.items()}
    names = [s if s in systems else by_judge.get(s, "") for s in table["system"].astype(str)]
    if unknown := [s for s, n in zip(table["system"].astype(str), names, strict=True) if not n]:
        raise DesignError(f"reference= has {unknown[0]!r}, which is not a system. Systems: {', '.join(systems)}.")
    sd, runs = table["sd"].to_numpy(float), table["runs"].to_numpy(float)
    if not ((sd > 0) & (runs >= 2)).all():
        raise SchemaError(
            "reference= has an sd that is not above 0, or a mean of fewer than 2 people. Leave those rows out."
        )
    at = table[where].astype(str).to_numpy() if where else np.full(len(table), "\x00")
    if where and not set(at) <= set(conditions):
        raise DesignError(
            f"reference= has {where!r} = {', '.join(sorted(set(at)))}; the ratings have {', '.join(conditions)}. Use "
            "values of the ratings."
        )
    means = {"where": at, "judge": REFERENCE, "system": names, "mean": table["mean"].to_numpy(float)}
    return pd.DataFrame({**means, "noise": sd**2 / runs, "own": False})
