"""From a frame in any engine to patterns with counts: :func:`tally`."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.errors import DesignError, SchemaError, choose, suggestion
from judgestats.schema.cells import cells
from judgestats.schema.clustering import (
    ALIKE,
    CANDIDATES,
    CLUSTERING,
    ENOUGH,
    MERGED_ABOVE,
    Cluster,
    Sharing,
    auto_cluster,
    clusters,
    noted,
    pair_label,
    with_pair,
)
from judgestats.schema.clustering import SHARED_PAIRS as SHARED_PAIRS
from judgestats.schema.coding import as_scores, codes_of, column_codes, combine, count, each, mapped, tidy
from judgestats.schema.columns import CHOICES, COUNTS, VOCABULARY, By, N, answer_column, grouping, names, required
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.schema.opening import engine_errors, one_if, refuse_nested
from judgestats.schema.pairing import (
    UNIT_COLUMNS,
    candidates,
    coded_pairs,
    count_pairs,
    labelled,
    low_and_high,
    matched,
    number_of_pairs,
    pair_weights,
    refuse_unknown_order,
    unit_columns,
)
from judgestats.schema.patterns import PATTERNS, SIDES, Pattern
from judgestats.schema.raters import GOLD, GOLD_CANDIDATE, count_raters
from judgestats.schema.repeats import one_answer
from judgestats.schema.selection import chosen, gathered, selected, with_outcome
from judgestats.schema.splitting import as_runs

#: All canonical columns.
_NAMES = {c.name for columns in VOCABULARY.values() for c in columns}


@engine_errors
def tally(
    frame: IntoFrame,
    measure: str,
    by: By = (),
    *,
    cluster: Cluster = "auto",
    beside: By = (),
    stimulus: str | None = None,
    baseline: str | None = None,
    average_over: By = (),
) -> pd.DataFrame:
    """Count the patterns of a measure.

    Parameters
    ----------
    frame : frame
        A canonical frame in any engine Narwhals knows (a lazy one is counted where it lies); a row stands for as many
        calls as its declared count says (``n_identical``, from ``preferences(frame, counts="n")``). For pairs of judges
        repeats of a judge on one unit (``replicate``) are put together first, by their mode, as in
        :func:`judgestats.kappa`; not beside gold, or where a row carries a count. Or a tally already: a table with the
        columns of ``PATTERNS[measure]``, the count ``n``, and no column that neither `by`, `cluster` nor the pattern
        names.
    measure : str
        A name in :data:`PATTERNS`.
    by : str or sequence of str
        Further columns that split the counts; ``judge`` always does.
    cluster : "auto", str, sequence of str, or False
        Columns to be kept beside the patterns, so that a clustered interval can be taken from the tally. ``"auto"``
        keeps the one that a measure would choose for the frame; False keeps none.
    beside : str or sequence of str
        Further columns to be kept that split no estimate (the strata of a bootstrap).
    stimulus : str, optional
        Count this kind of stimulus in place of the measure's own.
    baseline : str, optional
        For a measure of changes: the strategy, or the probe, that the others are compared with. For one of pairs of
        judges: the judge, or ``gold``, that the others are compared with; None compares all.
    average_over : str or sequence of str
        Columns of ratings whose values are averaged over, as in :func:`judgestats.score_matrix`.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, the cluster, the pattern columns and ``n``, sorted; only patterns that occur. For ratings
        (unit ``cell``): mean, sd and runs of each judge on each thing rated, as :func:`judgestats.schema.cells.cells`.
        Its ``attrs``, which pandas keeps in a Parquet file, say what the calls share.

    Raises
    ------
    SchemaError
        If a column is missing, or holds a value its pattern does not allow; if calls have a whole-number column ``n``
        that nothing declares; if a tally has a further column.
    DesignError
        If the measure needs something the data do not have: stimuli, a known order, one call per order.

    See Also
    --------
    preferences : Any frame of comparisons, validated.
    available_measures : What the data support.

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
    columns = clusters(cluster)
    frame = as_runs(frame, average_over, by) if average_over else frame
    if pattern.unit == "cell":
        return cells(frame, by)
    data = nw.from_native(frame)
    refuse_nested(data, [*_NAMES, *names(by), *(columns or ())])
    present = list(data.collect_schema().names())
    keys = _estimate_keys(by, pattern, present)
    if is_tally(present, pattern):
        found = shared_counts(frame, pattern, keys)
        kept = _kept(columns, found or Sharing("", False))
        refuse_further(present, measure, [*names(by), *names(beside)], columns or ())
        groups = _groups([*names(by), *names(beside)], kept, present, pattern, "tally")
        groups = list(dict.fromkeys([*groups, *pattern.columns, *(c for c in pattern.beside if c in present)]))
        result = count(data.lazy().select(*groups, "n").collect(backend="pandas").to_native(), groups, "n")
    elif pattern.unit == "raters":
        if baseline is None or (isinstance(baseline, str) and baseline not in (GOLD, GOLD_CANDIDATE)):
            further = [*names(by), *(columns or ()), *names(beside)]
            data = nw.from_native(one_answer(data.to_native(), "mode", further)[0])
            present = list(data.collect_schema().names())
        found = Sharing("", False)
        if {"judge", "item"} <= set(present):  # else refused when counted
            found = auto_cluster(data, [c for c in keys if c != "other"], pattern.cluster, _calls(data))
        kept = _kept(columns, found)
        data = with_pair(data) if "pair" in kept and "pair" not in present else data
        result, shared = count_raters(data.to_native(), by, [*kept, *names(beside)], baseline)
        found = Sharing(found.column, shared or found.shared)
    else:
        every, data = data, chosen(data, pattern, measure, stimulus)
        counted(every, [*names(by), *names(beside), *(columns or ())])
        if pattern.unit == "change":
            data = with_outcome(data, pattern)
        if pattern.ordered or pattern.unit == "pair":
            refuse_unknown_order(data, present)
        split = grouping([*names(by), *names(beside)], present, "frame")
        groups = _groups(split, columns or (), present, pattern, "frame")
        result, found, kept = _count_frame(data, pattern, measure, split, groups, keys, columns, stimulus, baseline)
    _refuse_unknown_values(result, pattern)
    result.attrs[CLUSTERING] = noted(kept, found, keys, columns is None)
    result.attrs[SHARED_PAIRS] = bool(found and found.shared)
    return result


def merged_tally(
    frame: Any, measure: str, by: By = (), *, cluster: Cluster = "auto", stimulus: str | None = None
) -> pd.DataFrame:
    """:func:`tally` for an analytic interval: many clusters of a lazy frame leave its engine without their labels.

    The arguments are those of :func:`tally`. Where there are more than :data:`MERGED_ABOVE` clusters, those with the
    same counts are one: the cluster column numbers the different ones, ``n`` counts the calls of all of them, and
    :data:`ALIKE` says how many they are. Sums, squares and products over the clusters are the same.
    """
    data = nw.from_native(frame)
    found = _merged(data, measure, by, cluster, stimulus) if isinstance(data, nw.LazyFrame) else None
    return tally(frame, measure, by, cluster=cluster, stimulus=stimulus) if found is None else found


def _merged(data: Any, measure: str, by: By, cluster: Cluster, stimulus: str | None) -> pd.DataFrame | None:
    """The merged clusters; None where :func:`tally` is to count: few clusters, or something for it to refuse."""
    pattern, present, asked = PATTERNS[measure], list(data.collect_schema().names()), clusters(cluster)
    column = asked[0] if asked else "item"
    needed = required("preferences") if pattern.frame == "preferences" else ["judge", "item"]
    lacking = {*needed, *names(by), column} - set(present)
    others = {c for c in (*CANDIDATES, pattern.cluster) if c in present and c not in (*names(by), "item")}
    if (
        asked == ()
        or len(asked or (column,)) > 1
        or lacking
        or column in (*names(by), "judge")
        or (asked is None and others)
        or any(c in present for c in (*pattern.optional, *(["gold"] if pattern.frame == "ratings" else ())))
        or {*pattern.columns, ALIKE} & {*names(by)}
        or is_tally(present, pattern)
    ):
        return None
    refuse_nested(data, [*_NAMES, *names(by), column])
    counted(data, [*names(by), column], pattern.frame)
    data = as_scores(data) if pattern.frame == "ratings" else chosen(data, pattern, measure, stimulus)
    if pattern.ordered or pattern.unit == "pair":
        refuse_unknown_order(data, present)
    keys = list(dict.fromkeys([*names(by), *(c for c, allowed in pattern.columns.items() if allowed is None)]))
    shown = {c: allowed for c, allowed in pattern.columns.items() if allowed is not None}
    weighted = COUNTS in present
    n: Any = nw.col(COUNTS) if weighted else nw.lit(1)
    of_answers: dict[tuple[str, ...], Any]
    if pattern.unit == "pair":
        if (stimulus or len(pattern.stimulus) == 1) and "stimulus" not in keys:
            data = data.drop("stimulus")
        unit = unit_columns(data.collect_schema().names(), [*keys, column])
        data, of_answers = coded_pairs(data, unit, n if weighted else None)
        n = nw.col("_n")
    elif pattern.unit == "side":
        data = nw.concat([_side(data, keys, column, n, slot) for slot in ("first", "second")])
        n, of_answers = nw.col(N), {(side,): nw.col("outcome") == i for i, side in enumerate(SIDES)}
    else:
        data = with_outcome(data, pattern)
        of_answers = {
            answers: functools.reduce(operator.and_, (_is(c, v) for c, v in zip(shown, answers, strict=True)))
            for answers in itertools.product(*shown.values())
        }
    combinations = list(of_answers)
    sums = []
    for i, here in enumerate(of_answers.values()):
        counted_here = nw.when(here).then(n)
        sums.append((counted_here.sum().fill_null(0) if weighted else counted_here.count()).alias(f"_{i}"))
    totals = [(n.sum() if weighted else nw.len()).alias("_all")]
    if pattern.unit == "pair":
        totals.append(nw.col("_again").max())
    each = data.group_by(*keys, column).agg(*sums, *totals)
    of = [f"_{i}" for i in range(len(sums))]
    more = [nw.col("_again").max()] if pattern.unit == "pair" else []
    table = _rows(each.group_by(*keys, *of, "_all").agg(nw.len().alias(ALIKE), *more))
    count_of = table[of].to_numpy(dtype=float)
    per_group = table.groupby(keys, dropna=False)[ALIKE].sum()
    units_there = float((table["_all"].astype(float) * table[ALIKE]).sum())
    if (
        (more and table["_again"].any())
        or (count_of.sum(axis=1) != table["_all"].to_numpy(dtype=float)).any()
        or per_group.sum() <= MERGED_ABOVE
        or ("candidate" in keys and table["candidate"].isna().any())
        or (asked is None and (units_there <= per_group.sum() or per_group.median() < ENOUGH))
    ):
        return None
    row, answer = np.nonzero(count_of)
    result = table[[*keys, ALIKE]].iloc[row].reset_index(drop=True)
    result[column] = row
    for i, name in enumerate(shown):
        result[name] = pd.Series([c[i] for c in combinations], dtype=object).iloc[answer].to_numpy()
    result[N] = count_of[row, answer] * result[ALIKE].to_numpy(dtype=float)
    result = tidy(result, [*dict.fromkeys([*names(by), column, *pattern.columns])])
    split = _estimate_keys(by, pattern, present)
    result.attrs[CLUSTERING] = noted((column,), Sharing(column, True), split, asked is None)
    result.attrs[SHARED_PAIRS] = True
    return result


def _is(column: str, value: str) -> Any:
    return nw.col(column).cast(nw.String) == value


def _side(data: Any, keys: list[str], column: str, n: Any, slot: str) -> Any:
    """Each call as it is for the candidate of one slot: the place of its outcome in :data:`SIDES`, or -1."""
    choice, other = nw.col("choice").cast(nw.String), "second" if slot == "first" else "first"
    win, loss, tie, invalid = map(nw.lit, range(len(SIDES)))
    known = nw.when(choice == slot).then(win).otherwise(nw.when(choice == other).then(loss).otherwise(nw.lit(-1)))
    tied = nw.when(choice.is_in(("tie", "abstain"))).then(tie).otherwise(known)
    return data.select(
        *(k for k in keys if k != "candidate"),
        column,
        nw.col(slot).cast(nw.String).alias("candidate"),
        nw.when(choice.is_null() | (choice == "invalid")).then(invalid).otherwise(tied).alias("outcome"),
        n.alias(N),
    )


def _estimate_keys(by: By, pattern: Pattern, present: Sequence[str]) -> list[str]:
    """Columns that distinguish two estimates: calls in different ones need not be independent."""
    own = [c for c in pattern.columns if c in (*UNIT_COLUMNS, "candidate", "other")]
    own += [c for c in pattern.optional if c == "scheme" and c in present]  # never pooled
    judge = ["judge"] if "judge" in pattern.columns else []  # else pooled
    return list(dict.fromkeys([*(c for c in names(by) if c in present), *judge, *own]))


def _kept(columns: tuple[str, ...] | None, found: Sharing) -> tuple[str, ...]:
    """Columns to cluster by: those named, else what the counts share."""
    if columns is not None:
        return columns
    return (found.column,) if found.column else ()


def _cluster_of_counts(counts: Any, keys: list[str], pattern: Pattern, n: float) -> Sharing:
    """What counts share; failing that, what they share across the columns that the measure averages over."""
    several = pattern.unit in ("pair", "change")
    found = auto_cluster(counts, keys, pattern.cluster, n, several_calls=several)
    if found.column or not pattern.pooled:
        return found
    rest = [c for c in keys if c not in pattern.pooled]
    return auto_cluster(counts, rest, pattern.cluster, n, several_calls=several)


def shared_counts(frame: Any, pattern: Pattern, keys: list[str]) -> Sharing | None:
    """What the counts of a tally share; None if neither a column nor a note of :func:`tally` records it."""
    data = nw.from_native(frame)
    present = data.collect_schema().names()
    own = {*pattern.columns, *pattern.optional, *keys}
    beside = [c for c in CANDIDATES if c in present and c not in own]
    about = getattr(frame, "attrs", {}).get(CLUSTERING, {})
    if beside:
        there = data.lazy().select(*dict.fromkeys([*keys, *(c for c in CANDIDATES if c in present), "n"]))
        table = there.collect(backend="pandas").to_native()
        n = call_counts(table["n"])
        counts = nw.from_native(table[n > 0], eager_only=True)
        found = _cluster_of_counts(counts, keys, pattern, float(n.sum()))
        if found.column and about.get("columns") == [found.column]:  # an item that the tally does not carry
            found = found._replace(items=found.items or bool(about["items"]))
        if found.column or {"pair", "item"} & set(beside):
            return found
    known = about.get("known") and not about.get("columns") and about.get("groups") == sorted(set(keys))
    return Sharing("", bool(about["shared"])) if known else None


def _count_frame(
    data: Any,
    pattern: Pattern,
    measure: str,
    split: list[str],
    groups: list[str],
    keys: list[str],
    columns: tuple[str, ...] | None,
    stimulus: str | None,
    baseline: str | None,
) -> tuple[pd.DataFrame, Sharing, tuple[str, ...]]:
    """Count a frame; what the counts share, and what to cluster by."""
    if pattern.frame == "ratings":
        return _count_ratings(data, pattern, groups, keys, columns)
    if (stimulus or len(pattern.stimulus) == 1) and "stimulus" not in groups:
        data = data.drop("stimulus")  # it has one value
    if pattern.unit == "change":
        return count_changes(data, pattern, split, groups, keys, columns, baseline)
    if (pattern.unit == "side" or "opponent" in pattern.columns) and "choice" in groups:
        raise DesignError(f"by='choice' is the answer, which {measure} counts by candidate: leave it out.")
    present = list(data.collect_schema().names())
    if "opponent" in pattern.columns:
        _refuse_nameless(data)
    if pattern.unit == "side":
        _refuse_nameless(data)
        found = auto_cluster(_sides(data, keys), keys, pattern.cluster, 2 * _calls(data))
    else:
        units_there = number_of_pairs(data, groups) if pattern.unit == "pair" else _calls(data)
        shown = [c for c in keys if c in present]
        found = auto_cluster(data, shown, pattern.cluster, units_there, several_calls=pattern.unit == "pair")
    kept = _kept(columns, found)
    if "pair" in kept and "pair" not in present:
        data = with_pair(data)
    groups = list(dict.fromkeys([*split, *kept, *groups]))
    result = count_pairs(data, groups) if pattern.unit == "pair" else _count_calls(data, groups, pattern)
    return result, found, kept


def clustered(data: Any, groups: Sequence[str], cluster: Cluster) -> tuple[Any, list[str], dict[str, Any]]:
    """For a measure of calls that :func:`tally` does not count: what to cluster them by.

    Returns `data`: with the column ``pair`` where that is chosen and not there. `columns`: what to cluster by. `note`:
    to be put under :data:`CLUSTERING` into the ``attrs`` of its counts.
    """
    present = list(data.collect_schema().names())
    columns = clusters(cluster)
    grouping(columns or (), present)
    found = auto_cluster(data, groups, "item", _calls(data)) if "item" in present else None
    kept = _kept(columns, found or Sharing("", False))
    if "pair" in kept and "pair" not in present:
        data = with_pair(data)
    return data, list(kept), noted(kept, found, groups, columns is None)


def _calls(data: Any) -> float:
    """How many calls there are, counts included."""
    if COUNTS not in data.collect_schema().names():
        rows = data.select(nw.len().alias(N)).lazy()
    elif isinstance(data, nw.DataFrame):
        return float(call_counts(data[COUNTS].to_pandas()).sum())
    else:
        rows = data.select(nw.col(COUNTS).sum().alias(N))
    return float(rows.collect(backend="pandas").to_native()[N].iloc[0] or 0)


def _refuse_nameless(data: Any) -> None:
    """Raise where a candidate is missing: a count by candidate would have one without a name."""
    missing = nw.col("first").is_null() | nw.col("second").is_null()
    without = data.select(one_if(missing).sum().alias("without"), nw.len().alias("rows")).lazy()
    found = without.collect(backend="pandas").to_native().fillna(0).iloc[0]
    if found["without"]:
        raise SchemaError(
            f"'first' or 'second' is missing in {found['without']:,.0f} of {found['rows']:,.0f} rows. Name both."
        )


def _sides(data: Any, keys: list[str]) -> Any:
    """Each call twice, once for each candidate, with the columns that calls may share."""
    present = data.collect_schema().names()
    if isinstance(data, nw.DataFrame):
        return _sides_by_code(data, keys)
    data = data if "pair" in present else with_pair(data)
    kept = list(dict.fromkeys(c for c in (*keys, *CANDIDATES) if c in (*present, "pair") and c != "candidate"))
    parts = [data.select(*kept, nw.col(slot).cast(nw.String).alias("candidate")) for slot in ("first", "second")]
    return nw.concat(parts)


def _sides_by_code(data: nw.DataFrame[Any], keys: list[str]) -> Any:
    """:func:`_sides` of a frame in memory, with codes in place of labels."""
    kept = [c for c in dict.fromkeys([*keys, *CANDIDATES]) if c in data.columns and c != "candidate"]
    table = data.select(*dict.fromkeys([*kept, "item", "first", "second"])).to_pandas()
    columns = dict(zip(kept, (c for c, _ in each(column_codes, [table[c] for c in kept])), strict=True))
    low, high, turned = candidates(table)
    if "pair" not in kept:
        columns["pair"] = combine([column_codes(table["item"]), low, high], len(table)).code
    one, two = np.where(turned, high[0], low[0]), np.where(turned, low[0], high[0])
    both = {name: np.concatenate([code, code]) for name, code in columns.items()}
    return nw.from_native(pd.DataFrame(both | {"candidate": np.concatenate([one, two])}), eager_only=True)


def _count_ratings(
    data: Any, pattern: Pattern, groups: list[str], keys: list[str], columns: tuple[str, ...] | None
) -> tuple[pd.DataFrame, Sharing, tuple[str, ...]]:
    """Count verdicts that are right or wrong; what they share, and what to cluster by."""
    data = as_scores(data)
    present = data.collect_schema().names()
    if "gold" in present and "label" not in pattern.columns:
        _refuse_unknown_gold(data)
    shown = [c for c in keys if c in present]
    found = Sharing("", False)
    if "item" in present:
        found = auto_cluster(data, shown, pattern.cluster, _calls(data))
    kept = _kept(columns, found)
    result = _counted(with_outcome(data, pattern), list(dict.fromkeys([*groups, *kept, *pattern.columns])))
    return result, found, kept


def _refuse_unknown_gold(data: Any) -> None:
    """Raise where the right answer is missing, or is no score."""
    if not data.collect_schema()["gold"].is_numeric():
        raise SchemaError(
            "'gold' is no score, so no verdict can be compared with it. Give the right score, or the right verdict "
            "(true or false); or drop the column, gold=None, where 'correct' says which verdicts are right.",
            advice=(("columns", "gold"),),
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


def refuse_further(columns: Sequence[str], measure: str, by: By = (), cluster: By = ()) -> None:
    """Raise if a tally has a further column: it may split the counts, or belong to a raw frame.

    `columns`: columns of a table for which :func:`is_tally` holds. `measure`: a name in :data:`PATTERNS`. `by`,
    `cluster`: columns named beside the pattern. Raises SchemaError with the columns, and what to do.
    """
    pattern = PATTERNS[measure]
    asked = [*names(by), *names(cluster)]
    own = {N, *pattern.columns, *pattern.optional, *pattern.beside, *pattern.annotations, pattern.cluster, *CANDIDATES}
    further = [c for c in columns if c not in own and c not in asked]
    if further:
        one, many = ("it", "it") if len(further) == 1 else ("each", "them")
        raise SchemaError(
            f"A table of counts for {measure} has {', '.join([*pattern.columns, N])} and what by= names; this one has "
            f"{', '.join(map(repr, further))} besides. Name {one} in by= to split the counts, or drop {many}. If the "
            f'rows are calls, give a {pattern.frame} frame, whose counts are declared with counts="n".'
        )


def units(frame: Any, measure: str, *, beside: By = (), stimulus: str | None = None) -> pd.DataFrame:
    """Patterns of a measure without the counting: one row per call, or per pair, with the columns that name it.

    `frame`: a canonical preferences frame; it is read into memory. `measure`: a name in :data:`PATTERNS` with the unit
    ``call`` or ``pair``. `beside`: further columns to be kept. `stimulus`: as in :func:`tally`. Returns ``judge``,
    ``item``, the conditions, the candidates (as shown for a call; ``first`` the lower id for a pair) and the pattern
    columns, and ``n``: how many identical calls, or pairs, a row stands for. Raises SchemaError, DesignError as in
    :func:`tally`.
    """
    pattern = PATTERNS[choose(measure, PATTERNS, "measure")]
    if pattern.unit not in ("call", "pair") or pattern.frame == "ratings":
        what = "ratings" if pattern.frame == "ratings" else f"{pattern.unit}s"
        raise DesignError(f"{measure} counts {what}, and has no table of calls or pairs. Use tally().")
    data = nw.from_native(frame)
    if isinstance(data, nw.LazyFrame):
        data = nw.from_native(gathered(frame, names(beside)), eager_only=True)
    data = selected(data.lazy().collect(backend="pandas"), pattern, measure, stimulus)
    weight = counted(data, names(beside))
    data = data.with_columns((nw.lit(1) if weight is None else nw.col(weight)).alias(N))
    keys = unit_columns(data.columns, grouping(beside, data.columns))
    if pattern.unit == "call":
        return data.select(*dict.fromkeys([*keys, "first", "second", *pattern.columns, "n"])).to_pandas()
    refuse_unknown_order(data, list(data.columns))
    pairs = matched(data, keys)
    pair_weights(data, pairs.codes)  # refuses orders that stand for different numbers of calls
    result = data.select(*keys, "first", "second", "n").to_pandas().iloc[pairs.codes.first].reset_index(drop=True)
    one, two = result["first"].astype(str), result["second"].astype(str)
    result["first"], result["second"] = one.where(one <= two, two), two.where(one <= two, one)
    return result.assign(**labelled(pairs.answers))


def _groups(by: By, cluster: Sequence[str], present: list[str], pattern: Pattern, what: str) -> list[str]:
    asked = grouping([*names(by), *cluster], present, what)
    judge = ["judge"] if "judge" in pattern.columns else []
    return list(dict.fromkeys([*asked, *(c for c in pattern.optional if c in present), *judge]))


def _count_sides(data: Any, groups: list[str], columns: list[str]) -> pd.DataFrame:
    """Each call twice, once for each candidate, with what it is to that candidate; split after counting."""
    seen = list(dict.fromkeys([*(g for g in groups if g not in ("candidate", "outcome")), "first", "second", "choice"]))
    text = (nw.col(c).cast(nw.String) for c in ("first", "second", "choice"))
    calls = _counted(data.with_columns(*text) if isinstance(data, nw.LazyFrame) else data, seen)
    parts = []
    for slot, other in (("first", "second"), ("second", "first")):
        outcome = mapped(calls["choice"], {slot: "win", other: "loss", "abstain": "tie"}, "invalid")
        parts.append(calls.drop(columns=["first", "second", "choice"]).assign(candidate=calls[slot], outcome=outcome))
    return count(pd.concat(parts, ignore_index=True), columns, "n")


def _count_contests(data: Any, columns: list[str]) -> pd.DataFrame:
    """Each call with the candidate shown first as its system, and what it came to for that one."""
    made = ("system", "opponent", "outcome")
    seen = list(dict.fromkeys([*(c for c in columns if c not in made), "first", "second", "choice"]))
    if isinstance(data, nw.DataFrame):
        weight = COUNTS if COUNTS in data.columns else None
        calls = data.select(*seen, *([weight] if weight else [])).to_pandas()
    else:
        calls, weight = _counted(data, seen), N
    outcome = mapped(calls["choice"], {"first": "win", "second": "loss", "abstain": "tie"}, "invalid")
    named = calls.assign(system=calls["first"], opponent=calls["second"], outcome=outcome)
    return count(named, columns, weight)


def _count_calls(data: Any, groups: list[str], pattern: Pattern) -> pd.DataFrame:
    columns = list(dict.fromkeys([*groups, *pattern.columns, *pattern.beside]))
    if pattern.unit == "side":
        return _count_sides(data, groups, columns)
    if "opponent" in pattern.columns:
        return _count_contests(data, columns)
    return _counted(with_outcome(data, pattern), columns)


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
        if unknown and name in ("verdict", "label"):
            raise DesignError(
                f"A {name} is {unknown[0]!r}: counts need verdicts and labels of 0 and 1 (yes or no). Make them so "
                "by a threshold, or give the scores themselves to corrected_rate, with sampling='random'."
            )
        if unknown and pattern.frame == "ratings":
            raise DesignError(
                f"A verdict is {unknown[0]!r}, neither right nor wrong: accuracy needs a column 'correct', scores of 0 "
                "and 1, or a column 'gold' to compare the scores with."
            )
        if unknown and name == "outcome" and "choice" not in pattern.columns:
            raise SchemaError(
                f"'choice' has {unknown[0]!r}. Allowed: {', '.join(CHOICES)} (in a tally, 'outcome': "
                f"{', '.join(allowed)}). Map the table with preferences(frame, labels={{{unknown[0]!r}: ...}}).",
                advice=(("labels", unknown[0]),),
            )
        if unknown:
            raise SchemaError(f"{name!r} has {unknown[0]!r}. Allowed: {', '.join(allowed)}.")


# ---- One pair judged under a baseline and under another strategy or probe, matched and counted ----------------------

#: Answer for a pair that was not judged under the other condition.
MISSING = "missing"
_UNEVEN_SIDES = "The two sides of a comparison have different counts: pairs cannot be matched."


def count_changes(
    data: Any,
    pattern: Pattern,
    split: list[str],
    groups: list[str],
    keys: list[str],
    clusters: tuple[str, ...] | None,
    baseline: str | None,
) -> tuple[pd.DataFrame, Sharing, tuple[str, ...]]:
    """Count pairs by their outcome under the baseline and under each other value of ``pattern.across``.

    `data`: calls with the column ``outcome``. `pattern`: of the unit ``change``. `split`, `groups`: columns that are to
    come first, and all that split the counts. `keys`: columns that distinguish two estimates. `clusters`: columns to
    cluster by; None for what the pairs share. `baseline`: the value that the others are compared with; None
    is refused: the control condition must be named. Returns `counts`: the `groups`, the cluster, ``pattern.across``,
    ``baseline``, ``outcome`` and ``n``. A pair that one side lacks is kept: its answer there is ``missing``. `found`:
    what the pairs share. `clusters`: columns to cluster by. Raises DesignError if the baseline does not occur, or a
    pair was judged twice under one value.
    """
    if isinstance(data, nw.LazyFrame):
        return _changes_there(data, pattern, split, groups, keys, clusters, baseline)
    table = matched_changes(data, pattern, groups, baseline)
    if "pair" not in groups:
        table = table.assign(pair=codes_of(table, ["item", "_low", "_high"]).code)
    shared = dict.fromkeys(c for c in (*keys, *CANDIDATES) if c in table)
    units = nw.from_native(table[[*shared]], eager_only=True)
    found = _cluster_of_counts(units, keys, pattern, float(table["n"].sum()))
    kept = _kept(clusters, found)
    if "pair" in kept and "pair" not in groups:
        low, high = (table[c].astype(str) for c in ("_low", "_high"))
        table = table.assign(pair=table["item"].astype(str) + "|" + low + "|" + high)
    columns = list(dict.fromkeys([*split, *kept, *groups, pattern.across, "baseline", "outcome"]))
    return count(table, columns, "n"), found, kept


def _changes_there(
    data: Any,
    pattern: Pattern,
    split: list[str],
    groups: list[str],
    keys: list[str],
    clusters: tuple[str, ...] | None,
    baseline: str | None,
) -> tuple[pd.DataFrame, Sharing, tuple[str, ...]]:
    """:func:`count_changes` of a lazy frame: matched and counted in its own engine."""
    across, present = pattern.across, list(data.collect_schema().names())
    _refuse_nameless(data)
    unit = [c for c in unit_columns(present, groups) if c != across]
    n = nw.col(COUNTS).cast(nw.Float64) if COUNTS in present else nw.lit(1.0)
    data = data.with_columns(nw.col(c).cast(nw.String) for c in dict.fromkeys(("first", "second", across)))
    data = data.select(*dict.fromkeys([*unit, across, "first", "second", "outcome"]), n.alias(N))
    data = data.with_columns(*low_and_high(("_low", "_high")))
    levels = _rows(data.group_by(across).agg(nw.len().alias("rows")))
    _refuse_unnamed(levels[across], across, levels["rows"])
    base = _baseline(levels[across], across, baseline)
    further = [k for k in unit if k not in ("judge", "item", *groups)]
    dropped = [k for k in further if _goes_with(data, k, across)]
    unit = [*(k for k in unit if k not in dropped), "_low", "_high"]
    twice = data.group_by(*unit, across).agg(nw.len().alias("rows")).filter(nw.col("rows") > 1)
    if len(_rows(twice.head(1))):
        unit.append("first")
        twice = data.group_by(*unit, across).agg(nw.len().alias("rows")).filter(nw.col("rows") > 1)
        if len(again := _rows(twice.head(1))):
            raise DesignError(_judged_twice(again.iloc[0], across))
    parts = []
    for value in (v for v in sorted(levels[across]) if v != base):
        here, there = (nw.when(nw.col(across) == v) for v in (base, value))
        pairs = data.filter(nw.col(across).is_in((base, value))).with_columns(
            here.then(nw.col("outcome")).alias("baseline"),
            there.then(nw.col("outcome")).alias("outcome"),
            here.then(nw.col(N)).alias("_before"),
            there.then(nw.col(N)).alias("_after"),
        )
        pairs = pairs.group_by(*unit).agg(nw.col("baseline", "outcome", "_before", "_after").max())
        parts.append(pairs.with_columns(nw.lit(value).alias(across)))
    table = nw.concat(parts)
    if COUNTS in present and len(_rows(table.filter(nw.col("_before") != nw.col("_after")).head(1))):
        raise DesignError(_UNEVEN_SIDES)
    counted = nw.when(nw.col("_after").is_null()).then(nw.col("_before")).otherwise(nw.col("_after"))
    answers = (nw.col(c).fill_null(MISSING) for c in ("baseline", "outcome"))
    label = [] if "pair" in groups else [pair_label(nw.col("item"), nw.col("_low"), nw.col("_high")).alias("pair")]
    table = table.with_columns(counted.alias(N), *answers, *label)
    shown = table.collect_schema().names()
    units = table.select(*dict.fromkeys(c for c in (*keys, *CANDIDATES) if c in shown))
    found = _cluster_of_counts(units, keys, pattern, float(_rows(table.select(nw.col(N).sum()))[N].iloc[0] or 0))
    kept = _kept(clusters, found)
    columns = list(dict.fromkeys([*split, *kept, *groups, across, "baseline", "outcome"]))
    return tidy(_rows(table.group_by(*columns).agg(nw.col(N).sum())), columns), found, kept


def _rows(data: Any) -> pd.DataFrame:
    """A small lazy frame in memory."""
    table: pd.DataFrame = data.collect(backend="pandas").to_native()
    return table


def _goes_with(data: Any, column: str, across: str) -> bool:
    """Whether a column of a lazy frame has one value under each value of another, and not always the same."""
    there = data.select(across, column).unique()
    most = _rows(there.group_by(across).agg(nw.len().alias("_values")).select(nw.col("_values").max()))
    return most["_values"].iloc[0] == 1 and len(_rows(there.select(column).unique().head(2))) > 1


def matched_changes(data: Any, pattern: Pattern, groups: list[str], baseline: str | None) -> pd.DataFrame:
    """One row per pair and value of ``pattern.across`` other than the baseline, with both outcomes."""
    across = pattern.across
    present = list(data.collect_schema().names())
    keys = [c for c in unit_columns(present, groups) if c != across]
    weight = [COUNTS] if COUNTS in present else []
    columns = dict.fromkeys([*keys, across, "first", "second", "outcome", *weight])
    table = data.lazy().select(*columns).collect(backend="pandas").to_native()
    _refuse_unnamed(table[across], across, 1)
    table[across] = table[across].astype(str)
    base = _baseline(table[across], across, baseline)
    low, high, _ = candidates(table)
    table = table.assign(_low=low[0], _high=high[0], n=call_counts(table[COUNTS]) if weight else 1.0)
    conditions = {
        k: table.groupby(across, dropna=False)[k].nunique(dropna=False)
        for k in keys
        if k not in ("judge", "item", *groups) and table[k].nunique(dropna=False) > 1
    }
    keys = [
        k for k in keys if k not in conditions or (conditions[k] > 1).any()
    ]  # one that goes with `across` is no key
    unit = _unit(table, [*keys, "_low", "_high"], across)
    one = table[table[across] == base].rename(columns={"outcome": "baseline"}).drop(columns=across)
    others = [v for v in sorted(table[across].unique()) if v != base]
    parts = [_beside(one, table[table[across] == v], unit, across, v) for v in others]
    return pd.concat(parts, ignore_index=True)


def _refuse_unnamed(values: pd.Series[Any], across: str, rows: pd.Series[Any] | int) -> None:
    """Raise where the condition compared is missing; `rows`: how many each value stands for."""
    n = pd.Series(rows, index=values.index)
    if without := int(n[values.isna()].sum()):
        raise SchemaError(f"{across!r} is missing in {without:,} of {n.sum():,} rows. Name it, or drop these rows.")


def _baseline(values: pd.Series[Any], across: str, baseline: str | None) -> str:
    found = sorted(values.unique())
    if len(found) < 2:
        raise DesignError(f"{across!r} has one value ({', '.join(found) or 'none'}): there is nothing to compare.")
    if baseline is None:
        raise DesignError(
            f"{across!r} has {len(found)} values ({', '.join(found)}). Say which is the baseline=.",
            advice=(("baseline", None),),
        )
    if baseline not in found:
        raise DesignError(
            f"baseline={baseline!r} is not in {across!r}. It has: {', '.join(found)}.{suggestion(baseline, found)}"
        )
    return baseline


def _unit(table: pd.DataFrame, keys: list[str], across: str) -> list[str]:
    """Columns that match the calls one to one: without the order shown where that is enough."""
    for unit in (keys, [*keys, "first"]):
        if codes_of(table, [*unit, across]).size == len(table):
            return unit
    raise DesignError(_judged_twice(table[table.duplicated([*keys, "first", across], keep=False)].iloc[0], across))


def _judged_twice(again: pd.Series[Any], across: str) -> str:
    return (
        f"A pair was judged twice in one order under one {across!r} (judge {again['judge']}, item {again['item']}, "
        f"{across} {again[across]}). Number repeats in 'replicate', name the column that distinguishes them in by=, or "
        "aggregate() them to one verdict."
    )


def _beside(one: pd.DataFrame, other: pd.DataFrame, unit: list[str], across: str, value: str) -> pd.DataFrame:
    pair = one[[*unit, "baseline", "n"]].merge(
        other[[*unit, "outcome", "n"]], on=unit, how="outer", suffixes=("_b", "")
    )
    uneven = pair["n_b"].notna() & pair["n"].notna() & (pair["n_b"] != pair["n"])
    if uneven.any():
        raise DesignError(_UNEVEN_SIDES)
    n = np.where(pair["n"].isna(), pair["n_b"], pair["n"])
    answers = {c: pair[c].astype(object).where(pair[c].notna(), MISSING) for c in ("baseline", "outcome")}
    return pair.drop(columns="n_b").assign(**{across: value, "n": n, **answers})
