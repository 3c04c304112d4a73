"""Answers that models with ties are fitted to: by slot, or from a tally without slots."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals.stable.v2 as nw
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.errors import DesignError, choose
from judgestats.models.bias_models.calls import ModelCalls, excluded_calls, joined, require, rows, slotted
from judgestats.models.coding.model_frames import columns
from judgestats.schema.columns import COUNTS, N


def answers(data: IntoFrame, by: str | None, quality: str | None) -> tuple[ModelCalls, bool]:
    """Answers by slot, with the difference in quality (first minus second); and whether slots are unknown."""
    present = columns(data)
    if "outcome" in present and "choice" not in present:
        return _folded(data, present, by), True
    groups = ["judge", *([by] if by else [])]
    require(present, groups, "tie_model")
    frame = nw.from_native(data)
    sides = [f"{quality}_{slot}" for slot in ("first", "second")]
    if quality is not None and quality not in present:
        require(present, sides, f"tie_model, quality={quality!r},")
        calls = slotted(data, groups, "tie_model", [quality], "model")
        table = calls.table.rename(columns={quality: "x"})
    else:
        frame = frame.with_columns(_signed(present, quality).alias("_x"))
        calls = slotted(frame.to_native(), [*groups, "_x"], "tie_model", (), "model")
        table = calls.table.rename(columns={"_x": "x"})
    table = table.assign(group=joined(table, [by]) if by else "", judge=joined(table, ["judge"]))
    return ModelCalls(table[["judge", "group", "x", "order", "pair", "answer", "n"]], calls.excluded), False


def _signed(present: Sequence[str], quality: str | None) -> nw.Expr:
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


def _folded(data: IntoFrame, present: Sequence[str], by: str | None) -> ModelCalls:
    """A tally relative to the better candidate as answers by slot: each count is split equally over the two orders."""
    who = "tie_model, given a tally,"
    counts = COUNTS if COUNTS in present else N
    require(present, ["judge", "delta", "outcome", counts, *([by] if by else [])], who)
    frame = nw.from_native(data).with_columns(nw.col("delta").cast(nw.Float64).fill_null(0.0).fill_nan(0.0))
    calls = rows(frame.to_native(), ["judge", "delta", "outcome", *([by] if by else [])], who, ["stimulus"])
    table = calls.table
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
    halves = pd.concat(parts, ignore_index=True)
    halves = halves.groupby(["judge", "group", "x", "order", "pair", "answer"], as_index=False)["n"].sum()
    return ModelCalls(halves, (*calls.excluded, invalid_calls))
