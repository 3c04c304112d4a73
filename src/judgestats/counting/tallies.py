"""From a frame in any engine to patterns with counts: :func:`tally`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.arguments import checked_arguments
from judgestats.counting.cells import cells
from judgestats.counting.changes import count_changes, lazy_changes
from judgestats.counting.clustering import (
    ALIKE,
    CANDIDATES,
    NAMED,
    UNIT,
    Cluster,
    Sharing,
    auto_cluster,
    clusters,
    fixed_levels,
)
from judgestats.counting.clusters import Clusters, cluster_columns, cluster_of_counts
from judgestats.counting.counts import Counts
from judgestats.counting.engines import count_lazily, count_merged
from judgestats.counting.memory import count_study, counted_rows, matched_pairs
from judgestats.counting.patterns import PATTERNS, Pattern, Query
from judgestats.counting.raters import GOLD, GOLD_CANDIDATE, count_raters, every_pair, refuse_no_pairs
from judgestats.counting.repeats import one_call_each, single_answers
from judgestats.counting.selection import NAMES, chosen, gathered_study, made_factors, with_outcome
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError, SchemaError, choose
from judgestats.schema.columns import CHOICES, COUNTS, By, N, answer_column, grouping, names, required, unit_columns
from judgestats.schema.declared_counts import call_counts
from judgestats.schema.factors import Factors, factor_of
from judgestats.schema.opening import engine_errors, refuse_nested
from judgestats.typing import Floats, Record


@checked_arguments
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
        repeats of a judge on one unit (``replicate``) are shares of one answer, as in :func:`judgestats.kappa`, so that
        counts need not be whole; ``_unit`` then numbers the units, if there is no other cluster. Not so beside gold, or
        where a row carries a count. Or a tally already: a table with the
        columns of ``PATTERNS[measure]``, the count ``n``, and no column that neither `by`, `cluster` nor the pattern
        names.
    measure : str
        A name in :data:`PATTERNS`.
    by : str or sequence of str
        Further grouping columns. ``judge`` always is one.
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
        (unit ``cell``): mean, sd and runs of each judge on each thing rated, as
        :func:`judgestats.counting.cells.cells`.

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
    pattern = PATTERNS[choose(measure, PATTERNS, "measure")]
    frame = as_runs(frame, average_over, by) if average_over else frame
    if pattern.unit == "cell":
        clusters(cluster)
        return cells(frame, by)
    options: Record = {"cluster": cluster, "stimulus": stimulus, "baseline": baseline}
    study = Study.of(frame)
    counts = count(study, measure, by, beside=beside, **options)
    if counts.clusters.auto and (column := counts.clusters.column):
        fixed = fixed_levels(study, counts.groups, column)
        if fixed is not None and fixed[0] in study.names:  # the table carries for what levels it holds
            counts = count(study, measure, by, beside=[*names(beside), fixed[0]], **options)
    return counts.table


@engine_errors
def count(
    frame: Calls,
    measure: str,
    by: By = (),
    *,
    cluster: Cluster = "auto",
    beside: By = (),
    stimulus: str | None = None,
    baseline: Any = None,
    merged: bool = False,
) -> Counts:
    """The counts of :func:`tally` with their clusters; `merged`: clusters of a lazy frame with equal counts as one."""
    study, pattern, cluster_names = Study.of(frame), PATTERNS[measure], clusters(cluster)
    query = Query(measure, tuple(names(by)), cluster_names, tuple(names(beside)), stimulus)
    if study.lazy:
        refuse_nested(study.data, [*NAMES, *query.split, *(cluster_names or ())])
    if is_tally(study.names, pattern):
        tallied = _of_tally(study, query)
    elif pattern.unit == "raters":
        tallied = _of_raters(study, query, baseline)
    elif pattern.unit == "change":
        tallied = _of_changes(study, query, baseline)
    elif study.lazy:
        tallied = _of_lazy(study, query, merged=merged)
    else:
        tallied = study.once(query, lambda: _of_study(study, query))
    columns, n, sharing, by_column = tallied
    _refuse_unknown_values(columns, pattern)
    groups = list(dict.fromkeys([*(["judge"] if "judge" in pattern.columns else []), *query.by]))
    alike = columns.series(ALIKE).to_numpy(dtype=float) if ALIKE in columns else None
    return Counts(columns, n, tuple(groups), Clusters.of(by_column, sharing, auto=cluster_names is None), alike)


#: Patterns, their counts, what they share (None where that is not known), and the columns to cluster by.
_Tallied = tuple[Factors, Floats, Sharing | None, tuple[str, ...]]


def _of_tally(study: Study, query: Query) -> _Tallied:
    """A table that is counted already."""
    pattern, cluster, present = query.pattern, query.cluster, study.names
    sharing = shared_counts(study, pattern, query.keys(present))
    by_column = cluster_columns(cluster, sharing) or ((UNIT,) if UNIT in present else ())
    refuse_further(present, query.measure, query.split, cluster or ())
    groups = query.groups(present, query.split, by_column, "tally")
    columns = list(dict.fromkeys([*groups, *pattern.columns, *(c for c in pattern.beside if c in present)]))
    rows = study.in_memory([*columns, N]).columns
    n = call_counts(rows.series(N), whole=pattern.unit != "raters")  # else shares of repeats
    return *rows.counted(columns, n), sharing, by_column


def _of_raters(study: Study, query: Query, baseline: Any) -> _Tallied:
    """Pairs of judges: of repeats each answer counts by its share, and their units are clusters if nothing else is."""
    cluster = query.cluster
    sharing = NAMED if cluster else Sharing("", False)
    among_judges = baseline is None or (isinstance(baseline, str) and baseline not in (GOLD, GOLD_CANDIDATE))
    if not cluster and {"judge", "item"} <= {*study.names}:  # else refused when counted
        groups = [c for c in query.keys(study.names) if c != "other"]
        calls = one_call_each(study, query.split) if among_judges else study
        sharing = auto_cluster(calls, groups, calls.n_calls)
    by_column = cluster_columns(cluster, sharing)
    if "pair" in by_column:
        study = study.with_pair()
    split = list(dict.fromkeys([*query.by, *by_column, *query.beside]))
    by_unit = among_judges and not by_column and bool(single_answers(study, split).differing)
    if baseline is None and not study.lazy:
        columns, n, shared = every_pair(study, split, by_unit=by_unit)
        refuse_no_pairs(len(columns))
    else:
        table, shared = count_raters(study, split, None, baseline, by_unit=by_unit)
        columns, n = Factors(table), table[N].to_numpy(dtype=float)
    by_column = by_column or ((UNIT,) if UNIT in columns else ())
    return columns, n, Sharing(sharing.column, shared or sharing.shared), by_column


def _of_changes(study: Study, query: Query, baseline: str | None) -> _Tallied:
    """Pairs under a baseline and under each other condition."""
    if study.lazy:
        rows = chosen(study.data, query.pattern, query.measure, query.stimulus)
        study.refuse_undeclared([*query.split, *(query.cluster or ())])
        table, sharing, by_column = lazy_changes(study, with_outcome(rows, query.pattern), query, baseline)
        return Factors(table), table[N].to_numpy(dtype=float), sharing, by_column
    calls = counted_rows(study, query.pattern, query.measure, query.stimulus)
    study.refuse_undeclared([*query.split, *(query.cluster or ())])
    columns = calls.columns.but(**made_factors(calls, query.pattern))
    return count_changes(study.part(columns), query, study.names, baseline)


def _of_lazy(study: Study, query: Query, *, merged: bool) -> _Tallied:
    """A lazy frame, counted where it lies."""
    measure, pattern, cluster, stimulus = query.measure, query.pattern, query.cluster, query.stimulus
    if merged and (counts := count_merged(study.data, measure, query.by, cluster, stimulus)) is not None:
        column = cluster[0] if cluster else "item"
        return *counts, Sharing(column, True), (column,)
    data, present = chosen(study.data, pattern, measure, stimulus), study.names
    split, groups = _columns(study, query)
    if pattern.ordered or pattern.unit == "pair":
        Study.of(data).refuse_unknown_order()
    if (stimulus or len(pattern.stimulus) == 1) and "stimulus" not in groups:
        data = data.drop("stimulus")  # it has one value
    table, sharing, by_column = count_lazily(study, data, pattern, split, groups, query.keys(present), cluster)
    return Factors(table), table[N].to_numpy(dtype=float), sharing, by_column


def _of_study(study: Study, query: Query) -> _Tallied:
    """A frame in memory."""
    pattern = query.pattern
    rows = counted_rows(study, pattern, query.measure, query.stimulus)
    split, groups = _columns(study, query)
    if pattern.ordered or pattern.unit == "pair":
        rows.refuse_unknown_order()
    return count_study(rows, pattern, split, groups, query.keys(study.names), query.cluster)


def _columns(study: Study, query: Query) -> tuple[list[str], list[str]]:
    """Columns that are to come first, and all that split the counts; refused where they are not there."""
    by_candidate = query.pattern.unit == "side" or "opponent" in query.pattern.columns
    study.refuse_undeclared([*query.split, *(query.cluster or ())], query.pattern.frame)
    split = grouping(query.split, study.names)
    groups = query.groups(study.names, split, query.cluster or ())
    if by_candidate and "choice" in groups:
        raise DesignError(f"by='choice' is the answer, which {query.measure} counts by candidate: leave it out.")
    return split, groups


def clustered(study: Study, groups: Sequence[str], cluster: Cluster) -> tuple[Study, Clusters]:
    """The calls of a measure that :func:`count` does not count, with ``pair`` if that is chosen; their clusters."""
    cluster_names = clusters(cluster)
    grouping(cluster_names or (), study.names)
    sharing = NAMED if cluster_names else None
    if not cluster_names and "item" in study.names:
        sharing = auto_cluster(study, groups, study.n_calls)
    by_column = cluster_columns(cluster_names, sharing)
    if "pair" in by_column:
        study = study.with_pair()
    return study, Clusters.of(by_column, sharing, auto=cluster_names is None)


def shared_counts(study: Study, pattern: Pattern, keys: list[str]) -> Sharing | None:
    """What the counts of a tally share; None if no column of it says."""
    present = study.names
    own = {*pattern.columns, *pattern.optional, *keys}
    beside = [c for c in CANDIDATES if c in present and c not in own]
    if not beside:
        return None
    wanted = list(dict.fromkeys([*keys, *(c for c in CANDIDATES if c in present)]))
    columns = study.in_memory([*wanted, N]).columns
    columns, n = columns.counted(wanted, call_counts(columns.series(N), whole=pattern.unit != "raters"))
    counts = Study(columns.but(**{COUNTS: factor_of(n)}).take(n > 0))
    sharing = cluster_of_counts(counts, counts, keys, pattern)
    return sharing if sharing.column or {"pair", "item"} & set(beside) else None


def is_tally(columns: Sequence[str], pattern: Pattern) -> bool:
    """Whether a table with these columns holds counts of the pattern, and not calls."""
    have = set(columns)
    whole = {"judge", answer_column(have)} if pattern.frame == "ratings" else set(required(pattern.frame))
    return have >= {*pattern.columns, "n"} and not have >= whole


def refuse_further(columns: Sequence[str], measure: str, by: By = (), cluster: By = ()) -> None:
    """Raise if a tally has a further column: it may split the counts, or belong to a raw frame."""
    pattern = PATTERNS[measure]
    by_and_cluster = [*names(by), *names(cluster)]
    own = {
        N,
        *pattern.columns,
        *pattern.optional,
        *pattern.beside,
        *pattern.annotations,
        *CANDIDATES,
        UNIT,
    }
    further = [c for c in columns if c not in own and c not in by_and_cluster]
    if further:
        one, many = ("it", "it") if len(further) == 1 else ("each", "them")
        raise SchemaError(
            f"A table of counts for {measure} has {', '.join([*pattern.columns, N])} and what by= names; this one has "
            f"{', '.join(map(repr, further))} besides. Name {one} in by= to split the counts, or drop {many}. If the "
            f'rows are calls, give a {pattern.frame} frame, whose counts are declared with counts="n".'
        )


def units(frame: Calls, measure: str, *, beside: By = (), stimulus: str | None = None) -> pd.DataFrame:
    """Patterns of a measure without the counting: one row per call or pair, with the columns that name it and ``n``.

    ``n``: how many identical calls, or pairs, a row stands for. ``first`` of a pair is the lower id.
    """
    pattern = PATTERNS[choose(measure, PATTERNS, "measure")]
    if pattern.unit not in ("call", "pair") or pattern.frame == "ratings":
        what = "ratings" if pattern.frame == "ratings" else f"{pattern.unit}s"
        raise DesignError(f"{measure} counts {what}, and has no table of calls or pairs. Use tally().")
    study = gathered_study(Study.of(frame), names(beside))
    if pattern.unit == "call":
        calls, columns = called(study, measure, beside, stimulus)
        keys = unit_columns(calls.names, names(beside))
        wanted = list(dict.fromkeys([*keys, "first", "second", *pattern.columns]))
        return columns.frame(wanted).assign(n=calls.counts)
    study.refuse_undeclared(names(beside))
    study = counted_rows(study, pattern, measure, stimulus)
    keys = unit_columns(study.names, grouping(beside, study.names))
    study.refuse_unknown_order()
    units, slots, weight = matched_pairs(study, keys)
    low, high, _ = study.ordered
    pairs = study.columns.but(first=low, second=high).take(units.first).but(**slots)
    return pairs.frame([*keys, "first", "second"]).assign(n=weight, **pairs.frame(list(slots)))


def called(study: Study, measure: str, beside: By = (), stimulus: str | None = None) -> tuple[Study, Factors]:
    """The calls in memory that a measure counts, and their columns with those of its pattern."""
    study.refuse_undeclared(names(beside))
    grouping(beside, study.names)
    calls = counted_rows(study, PATTERNS[measure], measure, stimulus)
    return calls, calls.columns.but(**made_factors(calls, PATTERNS[measure]))


def _refuse_unknown_values(columns: Factors, pattern: Pattern) -> None:
    for name, allowed in pattern.columns.items():
        code, labels = columns[name]
        if allowed is None or all(label in allowed for label in labels):
            continue
        rows = np.flatnonzero(np.array([label not in allowed for label in labels])[code])
        if not rows.size:
            continue
        unknown = columns.series(name).astype(object).iloc[rows[0]]
        if name in ("verdict", "label"):
            raise DesignError(
                f"A {name} is {unknown!r}: counts need verdicts and labels of 0 and 1 (yes or no). Make them so "
                "by a threshold, or give the scores themselves to corrected_rate, with sampling='random'."
            )
        if pattern.frame == "ratings":
            raise DesignError(
                f"A verdict is {unknown!r}, neither right nor wrong: accuracy needs a column 'correct', scores of 0 "
                "and 1, or a column 'gold' to compare the scores with."
            )
        if name == "outcome" and "choice" not in pattern.columns:
            raise SchemaError(
                f"'choice' has {unknown!r}. Allowed: {', '.join(CHOICES)} (in a tally, 'outcome': "
                f"{', '.join(allowed)}). Map the table with preferences(frame, labels={{{unknown!r}: ...}}).",
                advice=(("labels", unknown),),
            )
        raise SchemaError(f"{name!r} has {unknown!r}. Allowed: {', '.join(allowed)}.")
