"""Tables that bias models are fitted to: distinct rows of canonical frames with counts, and excluded calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.patterns import OUTCOMES, PATTERNS, InvalidVerdict, TiesOfPositions, TiesOfVerdicts
from judgestats.counting.selection import between_two, with_outcome
from judgestats.counting.study import Study
from judgestats.errors import DesignError, SchemaError, choose, suggestion
from judgestats.models.coding.factor_levels import labels
from judgestats.models.coding.model_frames import columns as columns_of
from judgestats.models.coding.model_frames import distinct
from judgestats.models.coding.row_counts import counted_by
from judgestats.schema.columns import CHOICES
from judgestats.schema.declared_counts import counted
from judgestats.typing import Floats, Ints, Mask

#: Columns that distinguish contents, in addition to the candidates.
CONTENT = ("task", "topic", "stimulus", "vacuum_kind", "delta", "bias", "item")
#: Reason, and number of calls by judge (None: of all judges).
Excluded = tuple[str, Mapping[str | None, float]]


@dataclass(frozen=True)
class ModelCalls:
    """Distinct rows of a model with their count ``n``, and the calls that were excluded or halved."""

    table: pd.DataFrame
    excluded: tuple[Excluded, ...] = ()

    def flag(self, judge: str | None = None) -> str:
        """Flags of excluded calls of a judge, or of all judges."""
        cautions = []
        for reason, counts in self.excluded:
            n = sum(counts.values()) if judge is None or None in counts else counts.get(judge, 0.0)
            cautions.append((flags.HALF_VOTES if reason == flags.HALF_VOTES else flags.EXCLUDED).of(n, what=reason))
        return flags.join(*cautions)


def require(present: Sequence[str], names: Sequence[str], who: str) -> None:
    """Raise a DesignError if a column is missing."""
    missing = [n for n in dict.fromkeys(names) if n not in present]
    if missing:
        raise DesignError(
            f"{who} needs the column{'s' * (len(missing) > 1)} {', '.join(missing)}. Columns: {', '.join(present)}."
            f"{suggestion(missing[0], present)}"
        )


def rows(data: IntoFrame, names: Sequence[str], who: str, further: Sequence[str] = ()) -> ModelCalls:
    """Distinct rows of some columns with their counts, without missing values; `who` asks, for messages."""
    distinct_rows = distinct(data, list(dict.fromkeys(names)), counted_by(data, names, who, further))
    return ModelCalls(
        distinct_rows.frame.assign(n=distinct_rows.count),
        (("calls with a missing value", {None: distinct_rows.n_missing}),),
    )


def excluded_calls(reason: str, judge: pd.Series, n: Floats, mask: Mask) -> Excluded:
    """The calls `here`, counted by judge."""
    labelled = labels(judge).astype(str)[mask]
    return reason, {str(k): float(v) for k, v in pd.Series(n[mask]).groupby(labelled.to_numpy()).sum().items()}


def recount(table: pd.DataFrame) -> pd.DataFrame:
    """Add up the counts of rows that have become equal."""
    keys = [c for c in table.columns if c != "n"]
    return table.groupby(keys, observed=True, sort=True, dropna=False, as_index=False)["n"].sum()


def joined(table: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """Several columns as one label."""
    parts = [labels(table[c]).fillna("").astype(str) for c in names]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + ":" + part
    return whole


def scored(
    data: IntoFrame,
    outcome: str,
    columns: Sequence[str],
    judge: str,
    who: str,
    ties: str = "exact",
    invalid: str = "drop",
) -> ModelCalls:
    """Calls with a column ``correct`` of 0 and 1, computed from the gold label if there is no `outcome` and no tally.

    `ties`: whether a tie is wrong or excluded if the gold is a candidate.
    """
    choose(ties, get_args(TiesOfVerdicts), "ties")
    choose(invalid, get_args(InvalidVerdict), "invalid")
    present = columns_of(data)
    require(present, columns, who)
    source: str = outcome
    without: tuple[Excluded, ...] = ()
    if outcome not in present:
        if "gold" in present and outcome == "correct":
            data, without = _against_gold(data, present, columns, judge, who)
        elif "outcome" not in present or outcome != "correct":
            raise DesignError(
                f"{who} needs correct and wrong calls: a column {outcome!r} of 0 and 1, or a column 'gold'. "
                f"Columns: {', '.join(present)}.{suggestion(outcome, present)}"
            )
        source = "outcome"
    calls = rows(data, [*columns, source], who, PATTERNS["gold_agreement"].beside)
    values = calls.table.pop(source)
    hit, valid, excluded = _hits(values, calls.table[judge], calls.table["n"].to_numpy(), source, ties, invalid)
    result = ModelCalls(recount(calls.table.assign(correct=hit)[valid]), (*without, *calls.excluded, *excluded))
    if not len(result.table):
        raise DesignError(f"{who}: there is no valid call ({result.flag() or 'the table has no rows'}).")
    return result


def _against_gold(
    data: IntoFrame, present: Sequence[str], columns: Sequence[str], judge: str, who: str
) -> tuple[IntoFrame, tuple[Excluded, ...]]:
    frame = Study.of(data).data
    require(present, ["item", "first", "second", "choice"], who)
    has_gold = (~nw.col("gold").is_null()) & (nw.col("gold").cast(nw.String) != "")
    name = counted(frame, columns)
    weight = nw.len() if name is None else nw.col(name).sum()
    lost = frame.filter(~has_gold).lazy().group_by(judge).agg(weight.alias("_n")).collect(backend="pandas").to_native()
    one = frame.filter(has_gold & ~between_two(gold=True)).lazy().group_by(judge).agg(weight.alias("_n"))
    alike = one.collect(backend="pandas").to_native()
    labelled = with_outcome(frame.filter(has_gold & between_two(gold=True)), PATTERNS["gold_agreement"]).to_native()
    excluded = (("calls without gold", lost), ("calls on two identical candidates", alike))
    return labelled, tuple(
        excluded_calls(what, rows[judge], rows["_n"].to_numpy(dtype=float), np.ones(len(rows), bool))
        for what, rows in excluded
    )


def _hits(
    values: pd.Series, judge: pd.Series, n: Floats, source: str, ties: str, invalid: str
) -> tuple[Ints, Mask, list[Excluded]]:
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        number = values.to_numpy(dtype=float)
        if not np.isin(number, (0, 1)).all():
            raise SchemaError(
                f"{source!r} has numbers other than 0 and 1. Use 1 for a correct call, 0 for a wrong one."
            )
        return number.astype(np.int64), np.ones(len(number), bool), []
    text = values.astype(object).astype(str).to_numpy(dtype=object)
    unknown = sorted({*text} - {*OUTCOMES})
    if unknown:
        raise SchemaError(f"{source!r} has {unknown[0]!r}. Allowed: 0 and 1, or {', '.join(OUTCOMES)}.")
    valid, excluded = np.ones(len(text), bool), []
    for name, what, drop in (("invalid", "invalid calls", invalid == "drop"), ("tie", "ties", ties == "drop")):
        if drop:
            valid &= text != name
            excluded.append(excluded_calls(what, judge, n, text == name))
    return (text == "correct").astype(np.int64), valid, excluded


def slotted(
    data: IntoFrame, columns: Sequence[str], who: str, attributes: Sequence[str] = (), ties: TiesOfPositions = "half"
) -> ModelCalls:
    """Calls by slot, with the pair and the sign of its order, from preferences with a known order.

    The result has `columns`, ``first``, ``second``, ``pair`` (item and candidates, regardless of order), ``order`` (1
    if the candidate with the lower name is first, -1 if it is second, 0 if both are the same), the difference of each
    of `attributes`, ``n``; and ``chosen`` (1 for the first slot), or with ties='model' ``answer`` (second, tie, first).
    """
    choose(ties, get_args(TiesOfPositions), "ties")
    present = columns_of(data)
    both = [f"{a}_{s}" for a in attributes for s in ("first", "second")]
    require(present, [*columns, "item", "first", "second", "choice", *both], who)
    Study.of(data).refuse_unknown_order()
    content = [c for c in CONTENT if c in present]
    nothing = [c for c in content if c != "item"]  # a missing stimulus is a value like any other
    frame = nw.from_native(data)
    filled = [nw.col(c).cast(nw.String).fill_null("").alias(f"_{c}") for c in nothing]
    source = (frame.with_columns(*filled) if filled else frame).to_native()
    names = ["item", *(f"_{c}" for c in nothing)]
    calls = rows(source, [*columns, *names, "first", "second", "choice", *both], who)
    table = calls.table
    one, two = (table[c].astype(object).astype(str) for c in ("first", "second"))
    order = np.sign((one < two).to_numpy(dtype=float) - (one > two).to_numpy(dtype=float))
    low, high = one.where(order >= 0, two), two.where(order >= 0, one)
    by_slot = table[list(columns)].assign(
        first=one, second=two, order=order, n=table["n"], **{a: _difference(table, a) for a in attributes}
    )
    by_slot["pair"] = joined(table.assign(_low=low, _high=high), [*names, "_low", "_high"])
    return _answered(by_slot, table["choice"], ties, calls.excluded, who)


def _difference(table: pd.DataFrame, attribute: str) -> Floats:
    one, two = (table[f"{attribute}_{s}"] for s in ("first", "second"))
    for side in (one, two):
        if not pd.api.types.is_numeric_dtype(side):
            raise DesignError(f"{side.name!r} is text. A slope needs numbers, for example lengths.")
    return np.asarray(one.to_numpy(dtype=float) - two.to_numpy(dtype=float), np.float64)


def _answered(
    by_slot: pd.DataFrame, choice: pd.Series, ties: str, excluded: tuple[Excluded, ...], who: str
) -> ModelCalls:
    answer = choice.astype(object).astype(str).replace({"abstain": "tie"}).to_numpy(dtype=object)
    unknown = sorted({*answer} - {*CHOICES})
    if unknown:
        raise SchemaError(f"'choice' has {unknown[0]!r}. Allowed: {', '.join(CHOICES)}.")
    n, judge = by_slot["n"].to_numpy(), by_slot["judge"]
    invalid, tie = answer == "invalid", answer == "tie"
    excluded = (*excluded, excluded_calls("invalid calls", judge, n, invalid))
    if ties == "model":
        table = by_slot.assign(answer=answer)[~invalid]
    else:
        table = by_slot.assign(chosen=(answer == "first").astype(np.int64))[~invalid & ~tie]
        excluded = (*excluded, excluded_calls("ties" if ties == "drop" else flags.HALF_VOTES, judge, n, tie))
    if ties == "half":
        half = by_slot[tie].assign(n=n[tie] / 2)
        table = pd.concat([table, half.assign(chosen=0), half.assign(chosen=1)], ignore_index=True)
    result = ModelCalls(recount(table), excluded)
    if not len(table):
        raise DesignError(f"{who}: there is no valid call ({result.flag() or 'the table has no rows'}).")
    return result


def ordered_labels(values: pd.Series, first: str | None = None) -> tuple[str, ...]:
    """Labels in the data, sorted, with `first` before the others."""
    levels = sorted(set(labels(values).astype(str)))
    return tuple(levels if first is None else [first, *(k for k in levels if k != first)])


def as_category(values: pd.Series, levels: Sequence[str]) -> pd.Categorical:
    """Labels as a category with these levels; the first is the reference of treatment coding."""
    return pd.Categorical(labels(values).astype(str), categories=[str(v) for v in levels])
