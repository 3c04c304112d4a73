"""The two orders of a pair, found and counted: in memory through codes and a kernel, elsewhere by grouping there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.counting.splitting import Split, differing, eager_splits, lazy_splits, split_message
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.decomposition import FIRST, INVALID, SECOND, TIE
from judgestats.schema.coding import Codes, compact, joint, tidy
from judgestats.schema.columns import COUNTS, unit_columns
from judgestats.schema.opening import frame_columns, one_if, one_of
from judgestats.typing import EagerFrame, LazyFrame, Mask

#: Reason of an error about repeated calls.
REPEATED = "repeated"
_REPEATED_CALLS = "Some calls repeat a pair in the same order."
_NUMBER = "They differ in nothing but the answer: number repeats in 'replicate'."
UNEVEN = f"The two orders of a pair have different counts {COUNTS!r}: pairs cannot be matched. Give one row a call."
ANSWER_CODE = {"first": FIRST, "second": SECOND, "tie": TIE, "abstain": TIE, "invalid": INVALID}


def refuse_answers(unknown: Sequence[object]) -> None:
    """Raise for the first of the answers that are unknown."""
    for answer in unknown[:1]:
        label = str(answer) if isinstance(answer, str) else answer
        raise SchemaError(
            f"'choice' has {label!r}. Allowed: {', '.join(ANSWER_CODE)}. Map the table with "
            f"preferences(frame, labels={{{label!r}: ...}}).",
            advice=(("labels", label),),
        )


def repeated_calls(data: EagerFrame, codes: Codes, reverse: Mask, keys: list[str], n: int, row: int) -> DesignError:
    """Error naming a repeated call, and a column that distinguishes the two."""
    example = ", ".join(f"{c}={data[c][row]}" for c in ("judge", "item", "first", "second"))
    unit, shown_once = compact(*joint([(codes.code, codes.size), (reverse.astype(np.int8), 2)], len(data)))
    splits = eager_splits(data, unit, shown_once.size, [*keys, "first", "second"], "preferences", strict=False)
    return _repeated(f"{n:,} calls repeat a call of the same pair in the same order (first: {example}).", splits)


def _repeated(message: str, splits: Sequence[Split]) -> DesignError:
    remedy = split_message(splits, ("judge", "item", "first", "second"), "preferences") if splits else _NUMBER
    return DesignError(f"{message} {remedy}", reason=REPEATED, problem=f"{_REPEATED_CALLS}{differing(splits)}")


def count_pairs(data: LazyFrame, groups: list[str]) -> pd.DataFrame:
    """Count pairs of a lazy frame by their two answers: the `groups`, ``forward``, ``reverse`` and ``n``."""
    unit = unit_columns(frame_columns(data), groups)
    forward = nw.col("first") <= nw.col("second")
    choice = nw.col("choice").cast(nw.String)
    answer = nw.when(choice == "abstain").then(nw.lit("tie")).otherwise(choice)
    data = data.with_columns(
        *low_and_high(("_low", "_high")),
        nw.when(forward).then(answer).alias("_forward"),
        nw.when(~forward).then(answer).alias("_reverse"),
    )
    weight = nw.col(COUNTS) if COUNTS in frame_columns(data) else nw.lit(1)
    paired = (
        data.with_columns(weight.alias("_n"))
        .group_by(*unit, "_low", "_high")
        .agg(
            nw.col("_forward").max().alias("forward"),
            nw.col("_reverse").max().alias("reverse"),
            nw.col("_forward").count().alias("_times_forward"),
            nw.col("_reverse").count().alias("_times_reverse"),
            nw.col("_n").min().alias("_least"),
            nw.col("_n").max().alias("_n"),
        )
    )
    _refuse_unmatched(paired, data, unit)
    filled = paired.with_columns(nw.col("forward").fill_null("missing"), nw.col("reverse").fill_null("missing"))
    columns = [*groups, "forward", "reverse"]
    counted = filled.group_by(*columns).agg(nw.col("_n").sum().alias("n")).collect(backend="pandas").to_native()
    return tidy(counted.assign(n=counted["n"].astype(float)), columns)


def coded_pairs(
    data: LazyFrame, unit: list[str], weight: nw.Expr | None = None
) -> tuple[LazyFrame, dict[tuple[str, ...], nw.Expr]]:
    """Pairs of a lazy frame: `unit`, candidates, ``_n``, ``_again``; and (forward, reverse) -> the pairs with them."""
    text = {c: nw.col(c).cast(nw.String) for c in ("first", "second", "choice")}
    code: nw.Expr = nw.lit(1_000_000)
    for number, answers in enumerate((("first",), ("second",), ("tie", "abstain"), ("invalid",)), start=1):
        code = nw.when(one_of(text["choice"], answers)).then(nw.lit(number)).otherwise(code)
    reverse = text["first"] > text["second"]
    code = nw.when(reverse).then(code * 10 + 10_000).otherwise(code + 100)
    data = data.with_columns(code.alias("_code"), *low_and_high(("_low", "_high")))
    times = [nw.col("_code").sum(), nw.len().alias("_times")]
    uneven: nw.Expr = nw.lit(value=False)
    if weight is not None:
        data = data.with_columns(weight.alias("_n"))
        times += [nw.col("_n").min().alias("_least"), nw.col("_n").max()]
        uneven = nw.col("_least") != nw.col("_n")
    paired = data.group_by(*unit, "_low", "_high").agg(*times)
    again = one_if((nw.col("_times") > 2) | uneven)
    paired = paired.with_columns(again.alias("_again"), *([nw.lit(1).alias("_n")] if weight is None else []))
    numbered = list(enumerate(("missing", "first", "second", "tie", "invalid")))
    answers_of: dict[tuple[str, ...], nw.Expr] = {
        (forward, back): nw.col("_code") == i + 10 * j + 100 * (i > 0) + 10_000 * (j > 0)
        for i, forward in numbered
        for j, back in numbered
        if i or j
    }
    return paired, answers_of


def _refuse_unmatched(paired: LazyFrame, data: LazyFrame, unit: list[str]) -> None:
    """Refuse pairs of a lazy frame that were judged twice in one order, or whose orders carry different counts."""
    uneven = one_if(nw.col("_n") != nw.col("_least")).max().alias("uneven")
    most = paired.select(nw.col("_times_forward").max(), nw.col("_times_reverse").max(), uneven)
    row = most.collect(backend="pandas").to_native().fillna(0).iloc[0]
    if max(row["_times_forward"], row["_times_reverse"]) > 1:
        splits = lazy_splits(data, [*unit, "first", "second"], "preferences", strict=False)
        raise _repeated(_REPEATED_CALLS, splits)
    if row["uneven"]:
        raise DesignError(UNEVEN)


def low_and_high(names: tuple[str, str]) -> tuple[nw.Expr, nw.Expr]:
    """The candidates of each row in the order of their names, as columns of these names."""
    forward = nw.col("first") <= nw.col("second")
    low = nw.when(forward).then(nw.col("first")).otherwise(nw.col("second"))
    high = nw.when(forward).then(nw.col("second")).otherwise(nw.col("first"))
    return low.alias(names[0]), high.alias(names[1])


def number_of_pairs(data: LazyFrame, groups: Iterable[str]) -> float:
    """How many pairs there are, whatever their order; a count ``n`` stands for as many."""
    present = frame_columns(data)
    unit = unit_columns(present, groups)
    weight = nw.col(COUNTS) if COUNTS in present else nw.lit(1)
    pairs = data.with_columns(*low_and_high(("_low", "_high")), weight.alias("_n")).group_by(*unit, "_low", "_high")
    total = pairs.agg(nw.col("_n").max()).select(nw.col("_n").sum().alias("pairs"))
    return float(total.collect(backend="pandas").to_native()["pairs"].iloc[0] or 0)


def refuse_nameless(data: LazyFrame) -> None:
    """Raise where a candidate is missing: a count by candidate would have one without a name."""
    missing = nw.col("first").is_null() | nw.col("second").is_null()
    without = data.select(one_if(missing).sum().alias("without"), nw.len().alias("rows")).lazy()
    row = without.collect(backend="pandas").to_native().fillna(0).iloc[0]
    if row["without"]:
        raise SchemaError(
            f"'first' or 'second' is missing in {row['without']:,.0f} of {row['rows']:,.0f} rows. Name both."
        )
