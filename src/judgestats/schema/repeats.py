"""Repeats of a judge on one unit, put together to one answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.schema.clustering import CANDIDATES
from judgestats.schema.coding import Codes, as_scores, codes_of, combine, hashed
from judgestats.schema.columns import COUNTS, By, N, kind_of, names
from judgestats.schema.opening import one_if
from judgestats.schema.pairing import UNIT_COLUMNS
from judgestats.schema.raters import ABOUT, INVALID, SLOTS
from judgestats.schema.splitting import refuse_splits, splits_of

#: Labels of a group -> flag that counts its repeats without a single mode.
Unsettled = Mapping[tuple[str, ...], str]
#: Code of each verdict among those of which the mode is taken; an abstention is a tie.
_VERDICTS = {"first": 0.0, "tie": 1.0, "abstain": 1.0, "second": 2.0}


def plain(key: dict[str, Any]) -> tuple[str, ...]:
    """Labels of a group as text; all missing labels are equal."""
    return tuple("" if pd.isna(label) else str(label) for label in key.values())


def one_answer(data: Any, how: str, by: By) -> tuple[Any, str, Unsettled]:
    """One answer of each judge on each unit in place of its repeats, so that their numbers do not matter.

    `how`: mean, median, low median (one of the answers) or mode of scores; of preferences the mode in each order shown.
    Returns the data, what stands for the repeats (empty without repeats), and for each group a flag that counts repeats
    without a single mode, which have no answer. Rows that carry a count are units and stay, matched by their number.
    """
    frame = nw.from_native(data)
    present = frame.collect_schema().names()
    if not {"judge", "item", "replicate"} <= set(present) or "replicate" in names(by):
        return data, "", {}
    kind = kind_of(present)
    about = [*ABOUT["ratings"]] if kind == "ratings" else ["item", "first", "second", *UNIT_COLUMNS]
    keys = [c for c in dict.fromkeys([*names(by), "judge", *about]) if c in present and c != "replicate"]
    size, units = _sizes(frame, keys)
    if COUNTS in present:  # a row is then as many units
        return data, "repeats matched by number" if units < size else "", {}
    if units == size:  # without repeats in an order shown, a number would only part the judges
        return (frame.drop("replicate").to_native() if kind == "preferences" else data), "", {}
    refuse_splits(splits_of(data, keys, kind), keys, kind)
    if kind == "preferences" and isinstance(frame, nw.LazyFrame):
        return _modes_there(frame, keys, list(dict.fromkeys(names(by))))
    frame = as_scores(frame.lazy().collect(backend="pandas")) if kind == "ratings" else frame
    table = frame.lazy().collect(backend="pandas").to_native()
    if kind == "ratings":
        name = "score"
        answer = pd.to_numeric(table["score"], errors="coerce")
        text = answer.isna() & table["score"].notna()
    else:
        name, how = "choice", "mode"
        code, labels = hashed(table["choice"])
        answer = pd.Series(np.array([*map(_VERDICTS.get, labels), None], dtype=float)[code], table.index)
        text = pd.Series(not {*labels} <= {*_VERDICTS, INVALID}, table.index)
    if codes_of(table, [*keys, "replicate"]).size < len(table) or text.any():
        return data, "", {}  # refused with its row where the answers are read
    number = codes_of(table, keys)
    answers, of_unit = answer.astype(float), pd.Series(number.code, index=answer.index)
    tied: Any = []
    if how == "mode":
        together, tied = _modes(answers.to_numpy(), number)
    elif how == "low median":
        together = answers.groupby(of_unit).quantile(0.5, interpolation="lower").reindex(range(number.size))
    else:
        together = answers.groupby(of_unit).agg(how).reindex(range(number.size))
    if kind == "preferences":
        together = together.map(dict(zip((0.0, 1.0, 2.0), SLOTS, strict=True))).astype(object).fillna(INVALID)
    made = table.iloc[number.first].drop(columns="replicate").assign(**{name: together.to_numpy()})
    unsettled = made.iloc[tied][list(dict.fromkeys(names(by)))].assign(times=1)
    return made.reset_index(drop=True), f"{how} of repeats", _unsettled(unsettled)


def _sizes(frame: Any, keys: list[str]) -> tuple[int, int]:
    """How many rows, and how many combinations of the keys, a frame has."""
    if isinstance(frame, nw.DataFrame):
        return len(frame), codes_of(frame.select(*keys).to_pandas(), keys).size
    size, units = (
        table.select(nw.len().alias(N)).collect(backend="pandas").to_native()[N].item()
        for table in (frame, frame.select(*keys).unique())
    )
    return size, units


def _modes(answers: Any, number: Codes) -> tuple[pd.Series[float], Any]:
    """The most frequent answer of each unit, NaN where there is none or several; and the units with several."""
    there = np.flatnonzero(~np.isnan(answers))
    value, values = pd.factorize(answers[there])
    cells = combine([(number.code[there], number.size), (value, len(values))], there.size)
    times, unit, value = (
        np.bincount(cells.code, minlength=cells.size),
        number.code[there][cells.first],
        value[cells.first],
    )
    most = np.zeros(number.size, dtype=np.int64)
    np.maximum.at(most, unit, times)
    top = times == most[unit]
    several = np.bincount(unit[top], minlength=number.size) > 1
    together = np.full(number.size, np.nan)
    together[unit[top]] = values[value[top]]
    together[several] = np.nan
    return pd.Series(together), np.flatnonzero(several)


def _modes_there(frame: nw.LazyFrame[Any], keys: list[str], groups: list[str]) -> tuple[Any, str, Unsettled]:
    """The mode of the verdicts of each unit of a lazy frame, taken in its own engine."""
    choice, present = nw.col("choice"), frame.collect_schema().names()
    unread = frame.filter(~choice.is_in([*_VERDICTS, INVALID]))
    again = frame.group_by(*keys, "replicate").agg(nw.len().alias(N)).filter(nw.col(N) > 1)
    if any(len(table.head(1).collect(backend="pandas")) for table in (unread, again)):
        return frame.to_native(), "", {}  # refused with its row where the answers are read
    of_slot = {s: nw.col(f"_{s}") for s in SLOTS}
    counted = (
        one_if(choice.is_in([c for c, value in _VERDICTS.items() if value == i])).sum().alias(f"_{slot}")
        for i, slot in enumerate(SLOTS)
    )
    further = (nw.col(c).min() for c in CANDIDATES if c in present and c not in keys)
    counts = frame.group_by(*keys).agg(*counted, *further)
    single: Any = nw.lit(INVALID)
    for slot in SLOTS:
        most = nw.all_horizontal(*(of_slot[slot] > of_slot[s] for s in SLOTS if s != slot), ignore_nulls=False)
        single = nw.when(most).then(nw.lit(slot)).otherwise(single)
    made = counts.with_columns(single.alias("choice"))
    tied = made.filter((nw.col("choice") == INVALID) & (nw.sum_horizontal(*of_slot.values()) > 0))
    unsettled = tied.group_by(*groups).agg(nw.len().alias("times")) if groups else tied.select(nw.len().alias("times"))
    made = made.select(*keys, "choice", *(c for c in CANDIDATES if c in present and c not in keys))
    return made.to_native(), "mode of repeats", _unsettled(unsettled.collect(backend="pandas").to_native())


def _unsettled(table: pd.DataFrame) -> Unsettled:
    """Flag of each group: how often its repeats have no single mode; `table`: the groups and the ``times``."""
    found: Counter[tuple[str, ...]] = Counter()
    for row in table.to_dict("records"):
        times = int(row.pop("times"))
        found[plain(row)] += times
    what = "set(s) of repeats without a single mode"
    return {key: flags.EXCLUDED.of(times, what=what) for key, times in found.items() if times}
