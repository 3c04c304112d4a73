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
from judgestats.schema.coding import as_scores, call_counts, codes_of, count, is_constant, tidy
from judgestats.schema.columns import CHOICES, By, answer_column, grouping, names, required
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
        A canonical frame in any engine Narwhals knows (a lazy one is counted where it lies), or a tally already: a
        table with the columns of ``PATTERNS[measure]`` and ``n``.
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
    """Count a frame; and whether two counts share a pair, or a thing rated."""
    if pattern.frame == "ratings":
        return _count_ratings(data, pattern, measure, groups)
    data = chosen(data, pattern, measure, stimulus)
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


def _count_ratings(data: Any, pattern: Pattern, measure: str, groups: list[str]) -> tuple[pd.DataFrame, bool]:
    """Count verdicts that are right or wrong; and whether a judge gave several on one item."""
    data = as_scores(chosen(data, pattern, measure, None))
    if "gold" in data.collect_schema():
        _refuse_unknown_gold(data)
    data = with_outcome(data, pattern)
    result = _counted(data, list(dict.fromkeys([*groups, *pattern.columns])))
    if "item" not in data.collect_schema().names():
        return result, False
    things = data.select(*dict.fromkeys([*groups, "judge", "item"])).unique().select(nw.len().alias("n")).lazy()
    return result, float(result["n"].sum()) > int(things.collect(backend="pandas").to_native()["n"].iloc[0])


def _refuse_unknown_gold(data: Any) -> None:
    """Raise where the right answer is missing, or is no score."""
    if not data.collect_schema()["gold"].is_numeric():
        raise SchemaError(
            "'gold' is no score, so no verdict can be compared with it. Give the right score, or the right verdict "
            "(true or false); or set the column aside, gold=None, where 'correct' says which verdicts are right."
        )
    gold = nw.col("gold")
    missing = data.filter(gold.is_null() | gold.is_nan()).select(nw.len().alias("n")).lazy()
    if n := int(missing.collect(backend="pandas").to_native()["n"].iloc[0]):
        raise SchemaError(f"'gold' is missing in {n:,} rows: leave such rows out, as accuracy() does.")


def is_tally(columns: Sequence[str], pattern: Pattern) -> bool:
    """Whether a table with these columns holds counts of the pattern, and not calls."""
    have = set(columns)
    whole = {"judge", answer_column(have)} if pattern.frame == "ratings" else set(required(pattern.frame))
    return have >= {*pattern.columns, "n"} and not have >= whole


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
    if pattern.unit not in ("call", "pair") or pattern.frame == "ratings":
        what = "ratings" if pattern.frame == "ratings" else f"{pattern.unit}s"
        raise DesignError(f"{measure} counts {what}, and has no table of calls or pairs. Use tally().")
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
    table = data.select(*dict.fromkeys([*columns, "item", *(["n"] if "n" in present else [])])).to_pandas()
    codes = codes_of(table, columns)
    weight = call_counts(table["n"]) if "n" in present else None
    n = np.bincount(codes.code, weights=weight, minlength=codes.size).astype(float)
    return nw.from_native(table.iloc[codes.first].assign(n=n), eager_only=True)


def _counted(data: Any, columns: list[str]) -> pd.DataFrame:
    weight = "n" if "n" in data.collect_schema().names() else None
    if isinstance(data, nw.DataFrame):
        table = data.select(*columns, *([weight] if weight else [])).to_pandas()
        return count(table, columns, weight)
    total = nw.col(weight).sum() if weight else nw.len()
    if weight:
        _refuse_counts(data, weight)
    counted = data.group_by(*columns).agg(total.alias("_count")).collect(backend="pandas").to_native()
    counted = counted.rename(columns={"_count": "n"}).assign(n=lambda t: t["n"].astype(float))
    return tidy(counted, columns)


def _refuse_counts(data: Any, weight: str) -> None:
    """Raise where a count of a lazy frame is none: a sum there would pass over it."""
    kept = nw.col(weight)
    wrong = kept.is_null() | (kept < 0) | ~kept.is_finite() if data.collect_schema()[weight].is_numeric() else None
    found = data.select(weight) if wrong is None else data.filter(wrong.fill_null(True)).select(weight)
    call_counts(found.head(5).collect(backend="pandas").to_native()[weight])


def _refuse_unknown_values(result: pd.DataFrame, pattern: Pattern) -> None:
    for name, allowed in pattern.columns.items():
        if allowed is None:
            continue
        unknown = [v for v in pd.unique(result[name].astype(object)) if v not in allowed]
        if unknown and pattern.frame == "ratings":
            raise DesignError(
                f"A verdict is {unknown[0]!r}, neither right nor wrong: accuracy needs a column 'correct', scores of 0 "
                "and 1, or a column 'gold' to compare the scores with."
            )
        if unknown and name == "outcome" and "choice" not in pattern.columns:
            raise SchemaError(
                f"'choice' has {unknown[0]!r}. Allowed: {', '.join(CHOICES)} (in a tally, 'outcome': "
                f"{', '.join(allowed)}). Map the table with preferences(frame, labels={{{unknown[0]!r}: ...}})."
            )
        if unknown:
            raise SchemaError(f"{name!r} has {unknown[0]!r}. Allowed: {', '.join(allowed)}.")
