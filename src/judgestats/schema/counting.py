"""From a frame in whatever engine to patterns with counts: :func:`tally`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import DesignError, SchemaError, choose
from judgestats.schema.cells import cells
from judgestats.schema.changes import count_changes
from judgestats.schema.coding import codes_of, count, is_constant, tidy
from judgestats.schema.columns import CHOICES, COUNTS, By, N, grouping, names, required
from judgestats.schema.declared_counts import call_counts, counted
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
from judgestats.schema.rater_pairs import count_raters
from judgestats.schema.selection import chosen, selected, sources, with_outcome

#: Columns that calls can share, beside a pattern's own cluster: a tally may carry them.
CLUSTERS = ("pair", "item", "prompt", "task")
#: Key in the ``attrs`` of a tally: whether two calls are known to share a pair, so that they are not independent.
SHARED_PAIRS = "shared_pairs"


def tally(
    frame: Any,
    measure: str,
    by: By = (),
    *,
    cluster: By | None = None,
    stimulus: str | None = None,
    baseline: str | None = None,
) -> pd.DataFrame:
    """Count the patterns of a measure.

    Parameters
    ----------
    frame : frame
        A canonical frame in any engine Narwhals knows (a lazy one is counted where it lies); a row stands for as many
        calls as its declared count says (``n_identical``, from ``preferences(frame, counts="n")``). Or a tally
        already: a table with the columns of ``PATTERNS[measure]``, the count ``n``, and no column that neither `by`,
        `cluster` nor the pattern names.
    measure : str
        A name in :data:`PATTERNS`.
    by : str or sequence of str
        Further columns that split the counts; ``judge`` always does.
    cluster : str or sequence of str, optional
        Columns to be kept beside the patterns, so that a clustered interval can be taken from the tally.
    stimulus : str, optional
        Count this kind of stimulus in place of the measure's own.
    baseline : str, optional
        For a measure of changes: the strategy, or the probe, that the others are compared with. For one of pairs of
        judges: the judge, or ``gold``, that the others are compared with; None compares all.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, the cluster, the pattern columns and ``n``, sorted; only patterns that occur. For ratings
        (unit ``cell``): mean, sd and runs of each judge on each thing rated, as :func:`judgestats.schema.cells.cells`.

    Raises
    ------
    SchemaError
        If a column is missing, or holds a value its pattern does not allow; if calls have a whole-number column ``n``
        that nothing declares; if a tally has a further column.
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
        refuse_further(present, measure, by, cluster)
        result = _recount(data, pattern, _groups(by, cluster, present, pattern, "tally"))
        shared = bool(getattr(frame, "attrs", {}).get(SHARED_PAIRS, False))
    elif pattern.unit == "raters":
        result, shared = count_raters(frame, by, cluster, baseline)
    else:
        groups = _groups(by, cluster, present, pattern, "frame")
        result, shared = _count_frame(data, pattern, measure, groups, stimulus, baseline)
    _refuse_unknown_values(result, pattern)
    result.attrs[SHARED_PAIRS] = shared
    return result


def _count_frame(
    data: Any, pattern: Pattern, measure: str, groups: list[str], stimulus: str | None, baseline: str | None
) -> tuple[pd.DataFrame, bool]:
    """Count a preferences frame; and whether two counts share a pair."""
    every, data = data, chosen(data, pattern, measure, stimulus)
    counted(every, groups)
    if (stimulus or len(pattern.stimulus) == 1) and "stimulus" not in groups:
        data = data.drop("stimulus")  # one value is left: nothing to tell apart
    if pattern.ordered:
        refuse_unknown_order(data, list(data.collect_schema().names()))
    if pattern.unit == "change":
        return count_changes(with_outcome(data, pattern), pattern, groups, baseline)
    if pattern.unit == "side" and "choice" in groups:
        raise DesignError(f"by='choice' is the answer, which {measure} counts by candidate: leave it out.")
    result = count_pairs(data, groups) if pattern.unit == "pair" else _count_calls(data, groups, pattern)
    calls = float(result["n"].sum()) / (2 if pattern.unit == "side" else 1)
    return result, _share_pairs(data, groups, pattern, calls)


def is_tally(columns: Sequence[str], pattern: Pattern) -> bool:
    """Whether a table with these columns holds counts of the pattern, and not calls."""
    have = set(columns)
    return have >= {*pattern.columns, "n"} and not have >= set(required(pattern.frame))


def refuse_further(columns: Sequence[str], measure: str, by: By = (), cluster: By | bool | None = None) -> None:
    """Raise where a tally has a column that is none of a tally's own: it may split the counts, or be a raw frame's.

    Parameters
    ----------
    columns : sequence of str
        Columns of a table for which :func:`is_tally` holds.
    measure : str
        A name in :data:`PATTERNS`.
    by, cluster : str or sequence of str
        Columns named beside the pattern; a `cluster` that is no name names none.

    Raises
    ------
    SchemaError
        With the columns, and what to do.
    """
    pattern = PATTERNS[measure]
    asked = [*names(by), *(names(cluster) if cluster and not isinstance(cluster, bool) else [])]
    own = {N, *pattern.columns, *pattern.optional, *pattern.beside, *pattern.annotations, pattern.cluster, *CLUSTERS}
    further = [c for c in columns if c not in own and c not in asked]
    if further:
        one, many = ("it", "it") if len(further) == 1 else ("each", "them")
        raise SchemaError(
            f"A table of counts for {measure} has {', '.join([*pattern.columns, N])} and what by= names; this one has "
            f"{', '.join(map(repr, further))} besides. Name {one} in by= to split the counts, or drop {many}. If the "
            f'rows are calls, give a {pattern.frame} frame, whose counts are declared with counts="n".'
        )


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
    if pattern.unit not in ("call", "pair"):
        raise DesignError(f"{measure} counts {pattern.unit}s, and has no table of calls or pairs. Use tally().")
    data = selected(nw.from_native(frame).lazy().collect(backend="pandas"), pattern, measure, stimulus)
    weight = counted(data)
    data = data.with_columns((nw.lit(1) if weight is None else nw.col(weight)).alias(N))
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
    if pattern.unit == "pair" and COUNTS not in present and not apart:
        return False  # each pair is one
    return counted > distinct_pairs(data, groups)


def _groups(by: By, cluster: By | None, present: list[str], pattern: Pattern, what: str) -> list[str]:
    asked = grouping([*names(by), *(names(cluster) if cluster else [])], present, what)
    return list(dict.fromkeys([*asked, *(c for c in pattern.optional if c in present), "judge"]))


def _recount(data: Any, pattern: Pattern, groups: list[str]) -> pd.DataFrame:
    beside = [c for c in pattern.beside if c in data.collect_schema().names()]
    columns = list(dict.fromkeys([*groups, *pattern.columns, *beside]))
    table = data.lazy().select(*columns, "n").collect(backend="pandas").to_native()
    return count(table, columns, "n")


def _count_sides(data: Any, groups: list[str], columns: list[str]) -> pd.DataFrame:
    """Each call twice, once for each candidate, with what it is to that candidate; split after counting."""
    seen = list(dict.fromkeys([*(g for g in groups if g not in ("candidate", "outcome")), "first", "second", "choice"]))
    calls = _counted(data.with_columns(*(nw.col(c).cast(nw.String) for c in ("first", "second", "choice"))), seen)
    same = {"abstain": "tie", "tie": "tie", "invalid": "invalid"}
    parts = []
    for slot, other in (("first", "second"), ("second", "first")):
        answer = calls["choice"].astype(object).where(calls["choice"].notna(), "invalid")
        outcome = answer.map(lambda c, won=slot, lost=other: {won: "win", lost: "loss", **same}.get(c, c))
        parts.append(calls.drop(columns=["first", "second", "choice"]).assign(candidate=calls[slot], outcome=outcome))
    return count(pd.concat(parts, ignore_index=True), columns, "n")


def _count_calls(data: Any, groups: list[str], pattern: Pattern) -> pd.DataFrame:
    columns = list(dict.fromkeys([*groups, *pattern.columns, *pattern.beside]))
    if pattern.unit == "side":
        return _count_sides(data, groups, columns)
    if isinstance(data, nw.DataFrame):
        data = _distinct(data, groups, pattern)
    return _counted(with_outcome(data, pattern), columns)


def _distinct(data: Any, groups: list[str], pattern: Pattern) -> Any:
    """Different calls with their counts: what is made of an answer need not be made of each call by itself."""
    present = list(data.columns)
    columns = list(dict.fromkeys([*(g for g in groups if g in present), *sources(pattern, present)]))
    table = data.select(*dict.fromkeys([*columns, "item", *([COUNTS] if COUNTS in present else [])])).to_pandas()
    codes = codes_of(table, columns)
    weight = call_counts(table[COUNTS]) if COUNTS in present else None
    n = np.bincount(codes.code, weights=weight, minlength=codes.size).astype(float)
    return nw.from_native(table.iloc[codes.first].assign(**{COUNTS: n}), eager_only=True)


def _counted(data: Any, columns: list[str]) -> pd.DataFrame:
    weight = COUNTS if COUNTS in data.collect_schema().names() else None
    if isinstance(data, nw.DataFrame):
        table = data.select(*columns, *([weight] if weight else [])).to_pandas()
        return count(table, columns, weight)
    total = nw.col(weight).sum() if weight else nw.len()
    counts = data.group_by(*columns).agg(total.alias("_count")).collect(backend="pandas").to_native()
    counts = counts.rename(columns={"_count": "n"}).assign(n=lambda t: t["n"].astype(float))
    return tidy(counts, columns)


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
