"""Counts of target, other and tie: from preferences, tallies and printed scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.counting.patterns import InvalidDirection
from judgestats.counting.tallies import count
from judgestats.errors import DesignError, SchemaError, choose, suggestion
from judgestats.models.coding.model_frames import columns
from judgestats.schema.columns import By, names
from judgestats.typing import Floats, Ints, Mask

#: Outcomes of a call.
OUTCOMES = ("target", "other", "tie", "invalid")


@dataclass(frozen=True, eq=False)
class TargetCells:
    """Counts in N cells of judge, bias and topic."""

    # judges, conditions, topics: labels; a condition consists of the values of `by` and the bias, and topics are nested
    # in conditions
    judges: tuple[str, ...]
    conditions: tuple[tuple[str, ...], ...]
    topics: tuple[tuple[int, str], ...]
    judge: Ints  # judge, condition, topic (N,): codes
    condition: Ints
    topic: Ints
    n: Floats  # (N,): valid calls
    # (N, 3): target, other, tie; if only the score is printed (`net`), target minus other in the first column
    counts: Floats
    net: Mask  # (N,): whether only the score is printed
    invalid: Floats  # (N,): calls excluded
    keys: tuple[str, ...]  # columns of the conditions

    @property
    def terms(self) -> dict[str, tuple[Ints, int]]:
        """Effects estimable in the design -> level of each cell, and number of levels."""
        J, C, T = len(self.judges), len(self.conditions), len(self.topics)
        effects = {}
        if C > 1:
            effects["bias"] = (self.condition, C)
        if J > 1:
            effects["judge"] = (self.judge, J)
        if C > 1 and J > 1:
            effects["judge_bias"] = (self.judge * C + self.condition, J * C)
        if T > C:
            effects["topic"] = (self.topic, T)
        if T > C and J > 1:
            effects["judge_topic"] = (self.judge * T + self.topic, J * T)
        return effects

    def parts(self, half: str) -> dict[str, tuple[Ints, int]]:
        """Effects on one half of the model; ties that are never printed vary only by bias and by judge."""
        few = half == "decisive" and bool(self.net.all())
        return {k: v for k, v in self.terms.items() if not few or k in ("bias", "judge")}


def read(
    data: IntoFrame,
    *,
    by: By = (),
    judge: str = "judge",
    bias: str = "bias",
    topic: str = "topic",
    score: str = "score",
    digits: int = 2,
    invalid: str = "drop",
) -> TargetCells:
    """Counts of a frame, a tally, or printed scores; arguments as in :func:`bias`."""
    choose(invalid, get_args(InvalidDirection), "invalid")
    present = columns(data)
    if judge not in present:
        raise SchemaError(
            f"There is no column {judge!r} of judges. Columns: {', '.join(present)}.{suggestion(judge, present)}"
        )
    renamed = {judge: "judge", **({bias: "bias"} if bias in present else {})}
    frame = nw.from_native(data).rename({k: v for k, v in renamed.items() if k != v}).to_native()
    extra = [topic] if topic in present else []
    keys = [*names(by), *(["bias"] if bias in present else [])]
    printed = score in present and not {"outcome", "choice"} & {*present}
    whole = list(dict.fromkeys([*keys, "judge", *extra]))
    table = _scored(frame, whole, score, digits) if printed else _counted(frame, present, [*names(by), *extra], whole)
    if invalid == "tie" and not printed:
        table = table.assign(tie=table["tie"] + table["invalid"], invalid=0.0)
    return _coded_cells(table, keys, extra)


def _counted(frame: IntoFrame, present: list[str], by: list[str], whole: list[str]) -> pd.DataFrame:
    if "outcome" in present and "n" not in present and "choice" not in present:
        raise SchemaError("The table has outcomes and no column 'n'. Give the number of calls of each row.")
    if "choice" not in present:
        _check_outcomes(frame)
    table = count(frame, "bias_score", by, cluster=False).table
    wide = table.pivot_table(index=whole, columns="outcome", values="n", aggfunc="sum", fill_value=0.0, dropna=True)
    wide = wide.reindex(columns=["target", "other", "tie", "invalid"], fill_value=0.0).astype(float)
    result: pd.DataFrame = wide.reset_index().assign(net=False)
    return result


def _check_outcomes(frame: IntoFrame) -> None:
    """Raise if a tally has no outcomes, or unknown ones."""
    present = columns(frame)
    if "outcome" not in present:
        raise SchemaError(
            "The table has neither preferences ('choice'), nor 'outcome' with 'n', nor scores (score=) with 'n'. "
            f"Columns: {', '.join(present)}."
        )
    outcomes = nw.from_native(frame).lazy().select("outcome").collect(backend="pandas").to_native()["outcome"]
    if wrong := sorted({str(v) for v in outcomes.dropna().unique()} - {*OUTCOMES}):
        raise SchemaError(
            f"'outcome' has {wrong[0]!r}. Allowed: {', '.join(OUTCOMES)}. Rename it: "
            f"for example frame.replace({{'outcome': {{{wrong[0]!r}: 'target'}}}})."
        )


def _scored(frame: IntoFrame, whole: list[str], score: str, digits: int) -> pd.DataFrame:
    present = columns(frame)
    if further := [c for c in present if c not in (*whole, score, "n")]:
        raise SchemaError(
            f"A table of scores has {', '.join([*whole, score, 'n'])}; this one has {', '.join(map(repr, further))} "
            "as well. Name the columns that split the scores in by=, or drop them."
        )
    if "n" not in present:
        raise SchemaError(
            f"The table has scores ({score!r}) and no column 'n'. Give the number of calls of each score."
        )
    table = nw.from_native(frame).lazy().collect(backend="pandas").to_native()[[*whole, score, "n"]]
    n, b = (pd.to_numeric(table[c], errors="coerce").to_numpy(dtype=float) for c in ("n", score))
    whole_n = np.isfinite(n) & (n >= 1) & (n == np.round(n))
    if not whole_n.all():
        raise SchemaError(f"'n' is {n[~whole_n][0]:g} in a row with a score. Give whole calls, at least 1.")
    if bad := int((~(np.abs(b) <= 1)).sum()):
        raise SchemaError(f"{score!r} is missing or outside -1 to 1 in {bad} rows. It is a share minus a share.")
    if table.duplicated(whole).any():
        raise SchemaError(f"Two scores share {', '.join(whole)}. Name the column that distinguishes them in by=.")
    net, half = np.round(b * n), 0.5 * 10.0**-digits
    if (off := np.abs(net / n - b) > half + 1e-9).any():
        raise SchemaError(
            f"No whole number of {n[off][0]:g} calls gives the score {b[off][0]:g}. Correct n or digits=."
        )
    if (n * 2 * half > 1 + 1e-9).any():
        raise SchemaError(
            f"A score with {digits} decimals does not determine the counts of {n.max():g} calls. Give counts by "
            "outcome, or more digits=."
        )
    return table[whole].assign(target=net, other=0.0, tie=0.0, invalid=0.0, n=n, net=True)


def _coded_cells(table: pd.DataFrame, keys: list[str], extra: list[str]) -> TargetCells:
    counts = table[["target", "other", "tie"]].to_numpy(dtype=float)
    n = table["n"].to_numpy(dtype=float) if "n" in table else counts.sum(axis=1)
    valid = n > 0
    if not valid.any():
        raise DesignError("There is no valid call: every row is invalid or has a count of 0. Check choice and n.")
    table, counts, n = table[valid].reset_index(drop=True), counts[valid], n[valid]
    judge = table["judge"].astype(str).to_numpy()
    condition = list(zip(*(table[k].astype(str) for k in keys), strict=True)) if keys else [()] * len(table)
    topic = table[extra[0]].astype(object).where(table[extra[0]].notna(), "").astype(str) if extra else [""] * len(n)
    judges, conditions = tuple(sorted({*judge})), tuple(sorted({*condition}))
    at = np.array([conditions.index(c) for c in condition])
    nested = list(zip(at.tolist(), topic, strict=True))
    topics = tuple(sorted({*nested}))
    codes = np.searchsorted(judges, judge), at, np.array([topics.index(t) for t in nested])
    net, invalid = table["net"].to_numpy(dtype=bool), table["invalid"].to_numpy(dtype=float)
    return TargetCells(judges, conditions, topics, *codes, n, counts, net, invalid, tuple(keys))
