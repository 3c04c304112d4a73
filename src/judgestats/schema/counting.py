"""From a frame in whatever engine to patterns with counts: :func:`tally`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import SchemaError, choose
from judgestats.schema.cells import cells
from judgestats.schema.coding import count, is_constant, tidy
from judgestats.schema.columns import CHOICES, By, grouping, names, required
from judgestats.schema.pairing import (
    UNIT_COLUMNS,
    count_pairs,
    distinct_pairs,
    labelled,
    matched,
    pair_weights,
    refuse_unknown_order,
    unit_columns,
)
from judgestats.schema.patterns import PATTERNS, Pattern
from judgestats.schema.selection import selected

#: Key in the ``attrs`` of a tally: whether two calls are known to share a pair, so that they are not independent.
SHARED_PAIRS = "shared_pairs"


def tally(
    frame: Any, measure: str, by: By = (), *, cluster: str | None = None, stimulus: str | None = None
) -> pd.DataFrame:
    """Count the patterns of a measure.

    Parameters
    ----------
    frame : frame
        A canonical frame in any engine Narwhals knows (a lazy one is counted where it lies), or a tally already: a
        table with the columns of ``PATTERNS[measure]`` and ``n``.
    measure : str
        A name in :data:`PATTERNS`.
    by : str or sequence of str
        Further columns that split the counts; ``judge`` always does.
    cluster : str, optional
        A column to be kept beside the patterns, so that a clustered interval can be taken from the tally.
    stimulus : str, optional
        Count this kind of stimulus in place of the measure's own.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, the cluster, the pattern columns and ``n``, sorted; only patterns that occur. For ratings
        (unit ``cell``): mean, sd and runs of each judge on each thing rated, as :func:`judgestats.schema.cells.cells`.

    Raises
    ------
    SchemaError
        If a column is missing, or holds a value its pattern does not allow.
    DesignError
        If the measure needs something the data do not have: stimuli, a known order, one call per order.

    Examples
    --------
    >>> import pandas as pd
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1", "2", "2"], "first": ["x", "y", "x", "y"],
    ...                       "second": ["y", "x", "y", "x"], "choice": ["first", "first", "first", "second"]})
    >>> tally(calls, "consistency")
      judge forward reverse    n
    0     g   first   first  1.0
    1     g   first  second  1.0
    """
    choose(measure, PATTERNS, "measure")
    pattern = PATTERNS[measure]
    if pattern.unit == "cell":
        return cells(frame, by)
    data = nw.from_native(frame)
    present = list(data.collect_schema().names())
    if is_tally(present, pattern):
        result = _recount(data, pattern, _groups(by, cluster, present, pattern, "tally"))
        shared = bool(getattr(frame, "attrs", {}).get(SHARED_PAIRS, False))
    else:
        data = selected(data, pattern, measure, stimulus)
        groups = _groups(by, cluster, present, pattern, "frame")
        if (stimulus or len(pattern.stimulus) == 1) and "stimulus" not in groups:
            data = data.drop("stimulus")  # one value is left: nothing to tell apart
        if pattern.ordered:
            refuse_unknown_order(data, present)
        result = count_pairs(data, groups) if pattern.unit == "pair" else _count_calls(data, groups, pattern)
        shared = _share_pairs(data, groups, pattern, float(result["n"].sum()))
    _refuse_unknown_values(result, pattern)
    result.attrs[SHARED_PAIRS] = shared
    return result


def is_tally(columns: Sequence[str], pattern: Pattern) -> bool:
    """Whether a table with these columns holds counts of the pattern, and not calls."""
    have = set(columns)
    return have >= {*pattern.columns, "n"} and not have >= set(required(pattern.frame))


def units(frame: Any, measure: str, *, stimulus: str | None = None) -> pd.DataFrame:
    """Patterns of a measure without the counting: one row per call, or per pair, with the columns that name it.

    Parameters
    ----------
    frame : frame
        A canonical preferences frame; it is read into memory.
    measure : str
        A name in :data:`PATTERNS` with the unit ``call`` or ``pair``.
    stimulus : str, optional
        As in :func:`tally`.

    Returns
    -------
    pandas.DataFrame
        ``judge``, ``item``, the conditions, the candidates (as shown for a call; ``first`` the lower id for a pair) and
        the pattern columns, and ``n``: how many identical calls, or pairs, a row stands for.

    Raises
    ------
    SchemaError, DesignError
        As in :func:`tally`.
    """
    pattern = PATTERNS[choose(measure, PATTERNS, "measure")]
    data = selected(nw.from_native(frame).lazy().collect(backend="pandas"), pattern, measure, stimulus)
    if "n" not in data.columns:
        data = data.with_columns(nw.lit(1).alias("n"))
    keys = unit_columns(data.columns, [])
    if pattern.unit == "call":
        return data.select(*dict.fromkeys([*keys, "first", "second", *pattern.columns, "n"])).to_pandas()
    refuse_unknown_order(data, list(data.columns))
    pairs = matched(data, keys)
    pair_weights(data, pairs.codes)  # refuses orders that stand for different numbers of calls
    result = data.select(*keys, "first", "second", "n").to_pandas().iloc[pairs.codes.first].reset_index(drop=True)
    one, two = result["first"].astype(str), result["second"].astype(str)
    result["first"], result["second"] = one.where(one <= two, two), two.where(one <= two, one)
    return result.assign(**labelled(pairs.answers))


def _share_pairs(data: Any, groups: list[str], pattern: Pattern, counted: float) -> bool:
    """Whether more calls, or pairs, were counted than there are pairs: some of them are then not independent."""
    present = list(data.collect_schema().names())
    groups = [*groups, *(c for c in pattern.columns if c in UNIT_COLUMNS and c in present)]
    apart = [c for c in unit_columns(present, groups) if c not in {"judge", "item", *groups}]
    if isinstance(data, nw.DataFrame):
        apart = [c for c in apart if not is_constant(data[c].to_pandas())]
    if pattern.unit == "pair" and "n" not in present and not apart:
        return False  # each pair is one
    return counted > distinct_pairs(data, groups)


def _groups(by: By, cluster: str | None, present: list[str], pattern: Pattern, what: str) -> list[str]:
    asked = grouping([*names(by), *([cluster] if cluster else [])], present, what)
    return list(dict.fromkeys([*asked, *(c for c in pattern.optional if c in present), "judge"]))


def _recount(data: Any, pattern: Pattern, groups: list[str]) -> pd.DataFrame:
    columns = list(dict.fromkeys([*groups, *pattern.columns]))
    table = data.lazy().select(*columns, "n").collect(backend="pandas").to_native()
    n = pd.to_numeric(table["n"], errors="coerce")
    wrong = n.isna() | (n < 0)
    if wrong.any():
        rows = ", ".join(str(i) for i in np.flatnonzero(wrong)[:3])
        raise SchemaError(f"'n' of a tally is a count: it is missing, negative or text in {wrong.sum()} rows ({rows}).")
    return count(table.assign(n=n.astype(float)), columns, "n")


def _count_calls(data: Any, groups: list[str], pattern: Pattern) -> pd.DataFrame:
    columns = list(dict.fromkeys([*groups, *pattern.columns]))
    weight = "n" if "n" in data.collect_schema().names() else None
    if isinstance(data, nw.DataFrame):
        table = data.select(*columns, *([weight] if weight else [])).to_pandas()
        return count(table, columns, weight)
    total = nw.col(weight).sum() if weight else nw.len()
    counted = data.group_by(*columns).agg(total.alias("_count")).collect(backend="pandas").to_native()
    counted = counted.rename(columns={"_count": "n"}).assign(n=lambda t: t["n"].astype(float))
    return tidy(counted, columns)


def _refuse_unknown_values(result: pd.DataFrame, pattern: Pattern) -> None:
    for name, allowed in pattern.columns.items():
        if allowed is None:
            continue
        unknown = [v for v in pd.unique(result[name].astype(object)) if v not in allowed]
        if unknown and name == "outcome" and "choice" not in pattern.columns:
            raise SchemaError(
                f"'choice' has {unknown[0]!r}. Allowed: {', '.join(CHOICES)} (in a tally, 'outcome': "
                f"{', '.join(allowed)}). Map the table with preferences(frame, labels={{{unknown[0]!r}: ...}})."
            )
        if unknown:
            raise SchemaError(f"{name!r} has {unknown[0]!r}. Allowed: {', '.join(allowed)}.")
