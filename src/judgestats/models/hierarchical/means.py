"""Ratings, or printed means, and a reference panel -> mean scores with known noise (:class:`Panel`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.models.hierarchical.crossed import Panel
from judgestats.models.hierarchical.doubts import (
    ALL_ZERO,
    ASIDE,
    NO_NOISE,
    NO_OWN,
    OTHER_ITEMS,
    POOLED_SD,
    TOGETHER,
    ZERO_SD,
)
from judgestats.schema.cells import cells

REFERENCE = "reference"


def panel(
    ratings: Any, identity: Mapping[str, str] | None, reference: Any, condition: str | None, final: str | None
) -> tuple[Panel, list[str]]:
    """Lay ratings out as mean scores with known noise.

    Parameters
    ----------
    ratings : frame
    identity : mapping, optional
        System -> judge, or judge -> system.
    reference : frame, optional
    condition : str, optional
        Column; by default ``condition`` where there is one.
    final : str, optional
        Criterion that holds a final score.

    Returns
    -------
    data : Panel
    doubts : list of str
        Flags of all estimates.
    """
    present = list(nw.from_native(ratings).collect_schema().names())
    if condition is not None and condition not in present:
        raise DesignError(
            f"condition={condition!r} is no column. Columns: {', '.join(present)}.{suggestion(condition, present)}"
        )
    column = condition if condition is not None else "condition" if "condition" in present else None
    _refuse_lone_sd(present)
    table = cells(ratings, [column] if column else [])
    table = table.assign(where=table[column].astype(str) if column else "")
    table, doubts = _summed(table, final)
    table, more = _with_noise(table)
    judges, systems = sorted(set(table["judge"].astype(str))), sorted(set(table["system"].astype(str)))
    if len(judges) < 2 or len(systems) < 2:
        raise DesignError(
            f"Severity and quality are told apart by two judges and two systems or more; got {len(judges)} and "
            f"{len(systems)}."
        )
    own = _own(identity or {}, judges, systems)
    conditions = sorted(set(table["where"]))
    table = table.assign(
        own=[own.get(s) == j for j, s in zip(table["judge"].astype(str), table["system"].astype(str), strict=True)]
    )
    if reference is not None:
        if REFERENCE in judges:
            raise DesignError(f"A judge is called {REFERENCE!r}, as the reference is. Rename it.")
        table = pd.concat([table, _reference(reference, systems, own, column, conditions)], ignore_index=True)
        judges = [*judges, REFERENCE]
    centre = float(table["mean"].mean())
    judge, system, where = (
        np.asarray(pd.Index(k).get_indexer(table[c].astype(str)), np.int64)
        for k, c in ((judges, "judge"), (systems, "system"), (conditions, "where"))
    )
    data = Panel(
        table["mean"].to_numpy(float) - centre, table["noise"].to_numpy(float), judge, system, where,
        own=table["own"].to_numpy(bool), judges=tuple(judges), systems=tuple(systems), conditions=tuple(conditions),
        reference=reference is not None, centre=centre,
    )  # fmt: skip
    return data, [*doubts, *more, "" if data.own.any() else NO_OWN]


def _refuse_lone_sd(present: list[str]) -> None:
    if "score" not in present and "sd" in present and "runs" not in present:
        raise DesignError(
            "The table has means and sds but no 'runs' (how many runs each mean is of), so the error of a mean is not "
            "known. Add the column, or leave 'sd' out: noise is then not told from taste."
        )


def _summed(table: pd.DataFrame, final: str | None) -> tuple[pd.DataFrame, list[str]]:
    """One criterion; missing means set aside; numbers that cannot be are refused."""
    missing = float(table["n_missing"].fillna(0).sum())
    table = table[table["mean"].notna()]
    doubts = [f"{ASIDE}: {missing:.0f}" if missing else ""]
    if (table["sd"] < 0).any() or (table["runs"] < 1).any():
        raise SchemaError("A ratings table has an sd below 0, or runs below 1. An sd is 0 or more, runs are 1 or more.")
    if final is not None and (table["criterion"] == final).any():
        return table[table["criterion"] == final], doubts
    if table["criterion"].nunique() > 1:
        keys = ["where", "judge", "system", "item"]
        how = {"mean": ("mean", "mean"), "sd": ("sd", "mean"), "runs": ("runs", "min")}
        return table.groupby(keys, as_index=False, observed=True).agg(**how), [*doubts, TOGETHER]
    return table, doubts


def _with_noise(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """A mean and the variance of its noise for each judge, system and condition."""
    if not table.duplicated(["where", "judge", "system"]).any():
        return _by_runs(table)
    rows, apart = [], False
    for (where, system), part in table.groupby(["where", "system"], observed=True):
        wide = part.pivot(index="judge", columns="item", values="mean")
        y, whole = wide.to_numpy(float), bool(wide.notna().all().all()) and min(wide.shape) > 1
        apart |= not whole and len(wide) > 1
        count = np.isfinite(y).sum(axis=1)
        mean = np.nansum(y, axis=1) / count
        if whole:  # what an item gives all judges alike is quality, not noise
            rest = y - mean[:, None] - y.mean(axis=0) + y.mean()
            spread = np.full(len(y), (rest**2).sum() / ((y.shape[0] - 1) * (y.shape[1] - 1)))
        else:
            squares = np.nansum((y - mean[:, None]) ** 2, axis=1)
            spread = np.where(count > 1, squares / np.maximum(count - 1, 1), np.nan)
        rows.append(
            pd.DataFrame(
                {
                    "where": where,
                    "judge": wide.index,
                    "system": system,
                    "mean": mean,
                    "sd": np.sqrt(spread),
                    "runs": count,
                }
            )
        )
    found, doubts = _by_runs(pd.concat(rows, ignore_index=True))
    return found, [OTHER_ITEMS if apart else "", *doubts]


def _by_runs(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """sd² / runs; the pooled sd where an sd is zero or not known."""
    sd, runs = table["sd"].to_numpy(float), table["runs"].to_numpy(float)
    known = np.isfinite(sd) & (runs > 1)
    zero = known & (sd == 0)
    table = table[["where", "judge", "system", "mean"]]
    if not known.any() or zero[known].all():
        return table.assign(noise=0.0), [ALL_ZERO if known.any() else NO_NOISE]
    pooled = np.sqrt(((runs - 1)[known] @ sd[known] ** 2) / (runs - 1)[known].sum())
    used = np.where(known & ~zero, sd, pooled)
    doubts = [ZERO_SD if zero.any() else "", POOLED_SD if (~known).any() else ""]
    return table.assign(noise=used**2 / np.where(np.isfinite(runs), runs, 1.0)), doubts


def _own(identity: Mapping[str, str], judges: list[str], systems: list[str]) -> dict[str, str]:
    """System -> judge; a system that is not named keeps its own name."""
    found = {s: s for s in systems}
    for a, b in identity.items():
        if a in systems and b in judges:
            found[a] = b
        elif a in judges and b in systems:
            found[b] = a
        else:
            raise SchemaError(
                f"identity has {a!r}: {b!r}, which is no pair of a system and a judge. Systems: {', '.join(systems)}. "
                f"Judges: {', '.join(judges)}."
            )
    taken = [j for j in found.values() if j in judges]
    if twice := [j for j in taken if taken.count(j) > 1]:
        same = ", ".join(repr(s) for s, j in found.items() if j == twice[0])
        raise SchemaError(f"identity maps {same} to {twice[0]!r}. It must be one-to-one.")
    return found


def _reference(
    frame: Any, systems: list[str], own: Mapping[str, str], column: str | None, conditions: list[str]
) -> pd.DataFrame:
    """The reference as the scores of one more judge."""
    table = nw.from_native(frame).lazy().collect(backend="pandas").to_native()
    where = column if column is not None and column in table.columns else None
    if "judge" in table.columns:  # its people are told apart
        people = cells(table, [where] if where else [])
        keys = [*([where] if where else []), "system"]
        each = people.groupby([*keys, "judge"], as_index=False, observed=True)["mean"].mean()
        table = each.groupby(keys, as_index=False, observed=True)["mean"].agg(mean="mean", sd="std", runs="count")
    if lacking := [c for c in ("system", "mean", "sd", "runs") if c not in table.columns]:
        raise SchemaError(
            f"reference= lacks {lacking[0]!r}. Give system, mean, sd and runs (the number of people behind each mean), "
            "or the ratings of the people, with judge, system and score."
        )
    called = {j: s for s, j in own.items()}
    names = [s if s in systems else called.get(s, "") for s in table["system"].astype(str)]
    if unknown := [s for s, n in zip(table["system"].astype(str), names, strict=True) if not n]:
        raise DesignError(f"reference= has {unknown[0]!r}, which is no system. Systems: {', '.join(systems)}.")
    sd, runs = table["sd"].to_numpy(float), table["runs"].to_numpy(float)
    if not ((sd > 0) & (runs >= 2)).all():
        raise SchemaError("reference= has an sd that is not above 0, or fewer than 2 people behind a mean.")
    at = table[where].astype(str).to_numpy() if where else np.full(len(table), "\x00")
    if where and not set(at) <= set(conditions):
        raise DesignError(f"reference= has other values of {where!r} than the ratings: {', '.join(sorted(set(at)))}.")
    means = {"where": at, "judge": REFERENCE, "system": names, "mean": table["mean"].to_numpy(float)}
    return pd.DataFrame({**means, "noise": sd**2 / runs, "own": False})
