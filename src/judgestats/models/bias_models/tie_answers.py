"""Answers that models with ties are fitted to: by slot, or from a tally without slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd

from judgestats.errors import DesignError, choose
from judgestats.models.bias_models.calls import Calls, excluded_calls, joined, require, rows, slotted
from judgestats.models.coding.model_frames import columns
from judgestats.schema.columns import COUNTS, N


def answers(data: Any, by: str | None, quality: str | None) -> tuple[Calls, bool]:
    """Answers by slot, the difference in quality (first minus second) and the condition; and whether slots are unknown.

    Columns are ``judge``, ``group`` (the condition), ``x``, ``order``, ``pair``, ``answer`` (second, tie, first),
    ``n``.
    """
    present = columns(data)
    if "outcome" in present and "choice" not in present:
        return _folded(data, present, by), True
    groups = ["judge", *([by] if by else [])]
    require(present, groups, "tie_model")
    frame = nw.from_native(data)
    sides = [f"{quality}_{slot}" for slot in ("first", "second")]
    if quality is not None and quality not in present:
        require(present, sides, f"tie_model, quality={quality!r},")
        found = slotted(data, groups, "tie_model", [quality], "model")
        made = found.table.rename(columns={quality: "x"})
    else:
        frame = frame.with_columns(_signed(present, quality).alias("_x"))
        found = slotted(frame.to_native(), [*groups, "_x"], "tie_model", (), "model")
        made = found.table.rename(columns={"_x": "x"})
    made = made.assign(group=joined(made, [by]) if by else "", judge=joined(made, ["judge"]))
    return Calls(made[["judge", "group", "x", "order", "pair", "answer", "n"]], found.excluded), False


def _signed(present: Sequence[str], quality: str | None) -> Any:
    if quality is not None:
        return nw.col(quality).cast(nw.Float64)
    if "better" not in present:
        raise DesignError(
            "tie_model needs the difference in quality between the slots: quality=, a column or the "
            f"stem of <quality>_first and <quality>_second; or the columns 'better' and 'delta'. Columns: "
            f"{', '.join(present)}."
        )
    better = nw.col("better").cast(nw.String)
    size = nw.col("delta").cast(nw.Float64).fill_null(1.0) if "delta" in present else nw.lit(1.0)
    first, second = (better == nw.col(c).cast(nw.String) for c in ("first", "second"))
    return (
        nw.when(first.fill_null(False))
        .then(size)
        .otherwise(nw.when(second.fill_null(False)).then(-size).otherwise(nw.lit(0.0)))
    )


def _folded(data: Any, present: Sequence[str], by: str | None) -> Calls:
    """A tally relative to the better candidate as answers by slot: each count is split equally over the two orders."""
    who = "tie_model, given a tally,"
    counts = COUNTS if COUNTS in present else N
    require(present, ["judge", "delta", "outcome", counts, *([by] if by else [])], who)
    frame = nw.from_native(data).with_columns(nw.col("delta").cast(nw.Float64).fill_null(0.0).fill_nan(0.0))
    found = rows(frame.to_native(), ["judge", "delta", "outcome", *([by] if by else [])], who, ["stimulus"])
    table = found.table
    outcome = table["outcome"].astype(object).astype(str)
    for name in sorted({*outcome} - {"correct", "wrong", "tie", "preference", "invalid"}):
        choose(name, ("correct", "wrong", "tie", "preference", "invalid"), "outcome")
    delta = table["delta"].to_numpy(dtype=float)
    if ((outcome == "preference").to_numpy() & (delta != 0)).any():
        raise DesignError(
            "A 'preference' with a difference in quality does not identify the candidate. Give correct and wrong."
        )
    table = table.assign(judge=joined(table, ["judge"]), group=joined(table, [by]) if by else "")
    base = table[["judge", "group"]].assign(n=table["n"] / 2, order=0.0, pair="")
    sides = {"correct": ("first", "second"), "preference": ("first", "second"), "wrong": ("second", "first")}
    invalid = (outcome == "invalid").to_numpy()
    parts = []
    for k, sign in enumerate((1.0, -1.0)):
        answer = [sides.get(o, ("tie", "tie"))[k] for o in outcome]
        parts.append(base.assign(x=sign * delta, answer=answer)[~invalid])
    invalid_calls = excluded_calls("invalid calls", table["judge"], table["n"].to_numpy(), invalid)
    made = pd.concat(parts, ignore_index=True)
    made = made.groupby(["judge", "group", "x", "order", "pair", "answer"], as_index=False)["n"].sum()
    return Calls(made, (*found.excluded, invalid_calls))
