"""The public door: :func:`aggregate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import narwhals.stable.v2 as nw

from judgestats.errors import DesignError, SchemaError, choose
from judgestats.schema.coding import as_scores
from judgestats.schema.columns import By, grouping, kind_of, names
from judgestats.schema.declared_counts import counted
from judgestats.verdicts.groups import to_native, to_table
from judgestats.verdicts.pairs import aggregate_pairs
from judgestats.verdicts.panels import SUMMARIES, aggregate_scores
from judgestats.verdicts.rules import Custom


def aggregate(
    calls: Any,
    how: str | Custom = "swap",
    over: By = "order",
    *,
    missing: Literal["invalid", "ignore"] = "invalid",
    by: By = (),
    exclude_own: bool | Mapping[str, str] = False,
    trim: float = 0.2,
) -> Any:
    """Turn several calls on a pair into one verdict, or several scores into one.

    Parameters
    ----------
    calls : frame
        Preferences or ratings, in any engine Narwhals accepts.
    how : {'swap', 'majority', 'net'} or callable; for ratings {'mean', 'median', 'trimmed'}
        The rule. Every call votes for a candidate, whatever slot it was shown in; an abstention is a tie.

        - ``swap``: all votes agree: that verdict; they differ: a tie.
        - ``majority``: the most frequent of *u*, *v* and *tie*; a draw is a tie.
        - ``net``: sign of the votes for minus the votes against, a tie counts 0 (JudgeBench's rule).
        - a callable ``rule(n_u, n_v, n_tie, n_missing)`` of four whole numbers that answers ``'u'``, ``'v'``, ``'tie'``
          or ``'invalid'``; *u* is the candidate whose id comes first in the alphabet. It is asked once for each
          combination of counts that occurs.
    over : str or sequence of str
        What the calls of a pair differ in: ``'order'`` (two calls are expected), ``'replicate'``, ``'judge'``, or any
        column that says how was asked (``'prompt'``, ``'temperature'``, ...). For these as many calls are expected as
        there are different values in the frame (under the same judge, strategy, scheme, probe, prompt, temperature
        and `by`). Several names vote together: ``['order', 'replicate']``. A call that shares its pair *and* its value
        of `over` with another is refused.
    missing : {'invalid', 'ignore'}
        What a pair is that lacks a call or has an invalid one: invalid, or judged by the calls it has (the missing
        vote counts 0; a pair without any valid call is invalid). For ratings: a missing score, or the summary of
        those there are.
    by : str or sequence of str
        Columns that tell pairs apart, besides judge, item, the candidates and the canonical conditions (``replicate``,
        ``task``, ``topic``, ``stimulus``, ``vacuum_kind``, ``delta``, ``bias``, ``strategy``, ``scheme``, ``probe``,
        ``prompt``, ``temperature``; for ratings the key columns).
    exclude_own : bool or mapping
        Ratings over judges: leave out a judge's scores of its own system. True where judges and systems have the same
        names, else a map of system to judge.
    trim : float
        Ratings, ``how='trimmed'``: share of the scores cut from each end, rounded down to whole scores.

    Returns
    -------
    frame
        Of the kind given (pandas for an engine without eager frames), sorted. ``judge`` is ``panel`` where judges are
        aggregated over.

        Preferences: one row per pair, the candidates in alphabetical order and ``order_known`` False, so that measures
        of order refuse them; ``choice`` in that frame; ``status`` (``ok``; for an invalid verdict the status of its
        invalid call, or ``missing partner``); ``tie_kind`` (``native``: the judge said tie; ``disagreement``: the rule
        made it; empty: no tie); ``n_calls``, the calls found, through every aggregation. Carried along: ``gold`` and
        ``better``; attributes ``<name>_first`` and ``<name>_second``, exchanged with the candidates; ``cost`` and
        ``latency``, added up; any other column that has one value within each pair. Left behind: ``strength``,
        ``rationale`` and columns that vary within a pair.

        Ratings: one row per thing rated, with ``status`` and ``n_calls``; ``sd``, ``runs`` and ``rationale`` are left
        behind.

    Raises
    ------
    DesignError
        If an option is not known, if the order is not known and `over` names it, if calls repeat each other.
    SchemaError
        If this is neither canonical frame, or the calls of a pair differ in ``gold`` or ``better``.

    Notes
    -----
    A native tie: under ``swap``, ``net`` and a callable no vote took a side; under ``majority`` the tie itself won. A
    tie among votes that were aggregated before is native only if it was native there.

    Examples
    --------
    >>> import pandas as pd
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1", "2", "2"], "first": ["x", "y", "x", "y"],
    ...                       "second": ["y", "x", "y", "x"], "choice": ["first", "first", "first", "second"]})
    >>> aggregate(calls)[["judge", "item", "first", "second", "choice", "tie_kind", "n_calls"]]
      judge item first second choice      tie_kind  n_calls
    0     g    1     x      y    tie  disagreement        2
    1     g    2     x      y  first                      2

    A tie only where no call took a side, a verdict where one call did and none objected:

    >>> lenient = lambda n_u, n_v, n_tie, n_missing: "tie" if min(n_u, n_v) or not n_u + n_v else "u" if n_u else "v"
    >>> aggregate(calls, lenient)["choice"].tolist()
    ['tie', 'first']

    A panel that does not score itself:

    >>> scores = pd.DataFrame({"judge": ["a", "b", "c"], "system": "a", "item": "1", "criterion": "overall",
    ...                        "score": [9.0, 6.0, 7.0]})
    >>> aggregate(scores, "mean", over="judge", exclude_own=True)[["judge", "system", "score", "n_calls"]]
       judge system  score  n_calls
    0  panel      a    6.5        2
    """
    data = nw.from_native(calls)
    columns = data.collect_schema().names()
    kind = kind_of(columns)
    choose(missing, ("invalid", "ignore"), "missing")
    groups = grouping(by, columns)
    axes = list(dict.fromkeys(names(over)))
    counted(data, [*groups, *axes], kind)
    if not axes:
        raise DesignError("over= is empty. Name what the calls differ in: 'order', 'replicate', 'judge' or a column.")
    table = to_table(calls if kind == "preferences" else as_scores(data).to_native())
    if not len(table):
        raise SchemaError(f"There is nothing to aggregate: the {kind} frame has no rows.")
    if kind == "ratings":
        if callable(how):
            allowed = ", ".join(map(repr, SUMMARIES))
            raise DesignError(f"A callable rule is for preferences. Allowed for ratings: {allowed}.")
        return to_native(aggregate_scores(table, how, axes, groups, missing, exclude_own, trim), calls)
    if exclude_own is not False:
        raise DesignError("exclude_own= is for ratings: in preferences both candidates are somebody's own or not.")
    return to_native(aggregate_pairs(table, how, axes, groups, missing), calls)
