"""Every printed number of dark_current that the public measures give from its counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from judgestats.metrics.datasheets import profile
from judgestats.metrics.psychometrics import (
    criterion_shift,
    d_prime,
    dark_current,
    delta0,
    target_sensitivity,
)
from judgestats.published.catalogue import load
from judgestats.published.paper_tables import (
    STRICT,
    criterion_counts,
    delta0_counts,
    ladder_counts,
    table6,
    vacuum_counts,
)
from measured.checks import Check


def checks() -> Iterator[Check]:
    """Every printed number of Tables 3, 4 and 6 that others determine, beside its recomputed twin."""
    equal = delta0(delta0_counts())
    ladder = target_sensitivity(ladder_counts())
    vacuum = dark_current(vacuum_counts())
    yield from table6_checks(vacuum, equal, ladder)
    yield from _table3_checks(vacuum, equal, ladder)
    yield from _table4_checks(equal, ladder)


def _find(table: pd.DataFrame, judge: str, term: str, delta: int | None = None) -> dict[str, Any]:
    here = table[(table["judge"] == judge) & (table["term"] == term)]
    if delta is not None:
        here = here[here["delta"] == delta]
    return dict(here.iloc[0])


def table6_checks(vacuum: pd.DataFrame, equal: pd.DataFrame, ladder: pd.DataFrame) -> Iterator[Check]:
    sources: dict[str, tuple[pd.DataFrame, str, int | None]] = {
        "dark current false preference": (vacuum, "dark_current", None),
        "raw delta0 false preference": (equal, "raw_false_preference", None),
        "Δ0 tie rate": (equal, "tie_rate", None),
        "target sensitivity Δ1": (ladder, "target_sensitivity", 1),
        "Δ1 tie rate": (ladder, "miss_by_tie", 1),
        "target sensitivity Δ5": (ladder, "target_sensitivity", 5),
        "Δ5 tie rate": (ladder, "miss_by_tie", 5),
        "stable cross-sensitivity decomposition": (equal, "stable_cross_sensitivity", None),
        "positional false preference decomposition": (equal, "positional_false_preference", None),
    }
    for r in table6().to_dict("records"):
        if r["n"] == "N/A":
            continue
        if r["metric"].startswith("d'"):
            yield Check("Table 6", f"{r['judge']}, {r['metric']}", r["estimate"], _ceiling_d_prime(int(r["n"])))
        if r["metric"] not in sources:
            continue
        table, term, delta = sources[r["metric"]]
        row = _find(table, r["judge"], term, delta)
        for column in ("estimate", "conf_low", "conf_high"):
            if r[column] != "N/A":
                yield Check("Table 6", f"{r['judge']}, {r['metric']}, {column}", r[column], row[column])


def _ceiling_d_prime(n: int) -> float:
    counts = pd.DataFrame(
        {
            "judge": "any",
            "delta": 5,
            "target_slot": ["first", "second"],
            "choice": ["first", "second"],
            "n": [n // 2, n - n // 2],
        }
    )
    return float(d_prime(counts)["estimate"].iloc[0])


def _table3_checks(vacuum: pd.DataFrame, equal: pd.DataFrame, ladder: pd.DataFrame) -> Iterator[Check]:
    sketches = profile(pd.concat([vacuum, equal])).set_index("judge")["profile"]
    columns: dict[str, tuple[pd.DataFrame, str, int | None]] = {
        "dark_current": (vacuum, "dark_current", None),
        "raw_delta0_false_preference": (equal, "raw_false_preference", None),
        "stable_cross_sensitivity": (equal, "stable_cross_sensitivity", None),
        "positional_false_preference": (equal, "positional_false_preference", None),
        "delta1": (ladder, "target_sensitivity", 1),
        "delta5": (ladder, "target_sensitivity", 5),
    }
    for r in load("dark_current/table3", printed=True).to_dict("records"):
        for column, (table, term, delta) in columns.items():
            yield Check(
                "Table 3", f"{r['judge']}, {column}", r[column], _find(table, r["judge"], term, delta)["estimate"]
            )
        yield Check(
            "Table 3",
            f"{r['judge']}, profile",
            r["profile"],
            sketches[r["judge"]],
            comment="a sketch; the thresholds are ours",
        )


def _table4_checks(equal: pd.DataFrame, ladder: pd.DataFrame) -> Iterator[Check]:
    metrics: dict[str, tuple[pd.DataFrame, str, int | None]] = {
        "Δ0 raw false preference": (equal, "raw_false_preference", None),
        "pair-level Δ0 no-preference": (equal, "no_preference", None),
        "ΔQ = 1 target sensitivity": (ladder, "target_sensitivity", 1),
        "ΔQ = 1 tie rate": (ladder, "miss_by_tie", 1),
        "ΔQ = 1 wrong-choice rate": (ladder, "wrong_choice_rate", 1),
        "ΔQ = 1 accuracy among non-ties": (ladder, "non_tie_accuracy", 1),
        "ΔQ = 5 target sensitivity": (ladder, "target_sensitivity", 5),
    }
    judges = {"baseline": "Qwen32B", "strict": STRICT}
    for r in load("dark_current/table4", printed=True).to_dict("records"):
        if r["metric"] not in metrics:
            continue
        table, term, delta = metrics[r["metric"]]
        row = _find(table, judges[r["arm"]], term, delta)
        for column in ("estimate", "conf_low", "conf_high"):
            if r[column]:
                yield Check("Table 4", f"{r['arm']}, {r['metric']}, {column}", r[column], row[column])


def extras() -> pd.DataFrame:
    """What the paper does not print and its counts give: one-sided commits, no preference, ΔC and its price."""
    equal = delta0(delta0_counts())
    shift = criterion_shift(criterion_counts(), "base", "strict")
    return pd.concat([equal[equal["term"].isin(["one_sided_commit", "no_preference"])], shift], ignore_index=True)
