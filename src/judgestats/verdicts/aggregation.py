"""Calls to verdicts, and scores to the score of a panel: :func:`aggregate`, :func:`dawid_skene`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.arguments import checked_arguments
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, SEED
from judgestats.errors import DesignError, SchemaError
from judgestats.schema.coding import as_scores
from judgestats.schema.columns import By, Kind, grouping, kind_of, names
from judgestats.schema.declared_counts import counted
from judgestats.schema.opening import engine_errors
from judgestats.verdicts.latent_classes import DAWID_SKENE, DawidSkene, fitted
from judgestats.verdicts.native_frames import to_native, to_table
from judgestats.verdicts.pair_votes import aggregate_pairs, pair_votes, panel_of_pairs
from judgestats.verdicts.score_summaries import SUMMARIES, aggregate_scores, grouped_scores, panel_of_scores
from judgestats.verdicts.voting_rules import Custom


def _opened(calls: IntoFrame, over: By | None, by: By) -> tuple[pd.DataFrame, Kind, list[str], list[str]]:
    """The calls as a table, their kind, and the columns that are aggregated over (None: the judges' answers) and by."""
    data = Study.of(calls).data
    columns = data.collect_schema().names()
    kind = kind_of(columns)
    if over is None:
        over = ["judge", "replicate"] if "replicate" in columns else "judge"
    groups, axes = grouping(by, columns), list(dict.fromkeys(names(over)))
    counted(data, [*groups, *axes], kind)
    return to_table((data if kind == "preferences" else as_scores(data)).to_native()), kind, axes, groups


@checked_arguments
@engine_errors
def aggregate(
    calls: IntoFrame,
    how: str | Custom = "swap",
    over: By = "order",
    *,
    missing: Literal["invalid", "ignore"] = "invalid",
    by: By = (),
    exclude_own: bool | Mapping[str, str] = False,
    trim: float = 0.2,
    n_starts: int = 20,
    seed: int | np.random.Generator | None = SEED,
) -> Any:
    """Turn several calls on a pair into one verdict, or several scores into one.

    Parameters
    ----------
    calls : frame
        Preferences or ratings, in any engine Narwhals accepts.
    how : {'swap', 'majority', 'net', 'dawid_skene'} or callable
        The rule; for ratings ``'mean'``, ``'median'``, ``'trimmed'`` or ``'dawid_skene'``. Every call votes for a
        candidate, whatever slot it was shown in; an abstention is a tie.

        - ``swap``: all votes agree: that verdict; they differ: a tie.
        - ``majority``: the most frequent of *u*, *v* and *tie*; a draw is a tie.
        - ``net``: sign of the votes for minus the votes against, a tie counts 0 (JudgeBench's rule).
        - ``dawid_skene``: the likeliest answer under a model in which each judge confuses the true answers in its own
          way; two equally likely: a tie. For ratings each different score is a class. :func:`dawid_skene` returns the
          model itself, and says when it must not be used.
        - a callable ``rule(n_u, n_v, n_tie, n_missing)`` of four whole numbers that answers ``'u'``, ``'v'``, ``'tie'``
          or ``'invalid'``; *u* is the candidate whose id comes first in the alphabet. It is asked once for each
          combination of counts that occurs.
    over : str or sequence of str
        What distinguishes the calls: ``'order'`` (two calls are expected), ``'replicate'``, ``'judge'``, or any
        column that describes the call (``'prompt'``, ``'temperature'``, ...). For these, one call is expected per
        distinct value in the frame (under the same judge, strategy, scheme, probe, prompt, temperature
        and `by`). Several names vote together: ``['order', 'replicate']``. A call that shares its pair *and* its value
        of `over` with another is refused.
    missing : {'invalid', 'ignore'}
        Verdict of a pair with a missing or invalid call: invalid, or decided by the calls it has (a missing vote
        counts 0; a pair without any valid call is invalid). For ratings: a missing score, or the summary of the
        scores present.
    by : str or sequence of str
        Columns that distinguish pairs, besides judge, item, the candidates and the canonical conditions (``replicate``,
        ``task``, ``topic``, ``stimulus``, ``vacuum_kind``, ``delta``, ``bias``, ``strategy``, ``scheme``, ``probe``,
        ``prompt``, ``temperature``; for ratings the key columns).
    exclude_own : bool or mapping
        Ratings over judges: leave out a judge's scores of its own system. True where judges and systems have the same
        names, else a map of system to judge.
    trim : float
        Ratings, ``how='trimmed'``: share of the scores cut from each end, rounded down to whole scores.
    n_starts, seed
        ``how='dawid_skene'``: as in :func:`dawid_skene`. The model is fitted to all valid calls; `missing` decides
        which pairs get its verdict.

    Returns
    -------
    frame
        Of the kind given (pandas for an engine without eager frames), sorted. ``judge`` is ``panel`` where judges are
        aggregated over.

        Preferences: one row per pair, the candidates in alphabetical order and ``order_known`` False, so that measures
        of order refuse them; ``choice`` in that frame; ``status`` (``ok``; for an invalid verdict the status of its
        invalid call, or ``missing partner``); ``tie_kind`` (``native``: the judge said tie; ``disagreement``: the rule
        made it; empty: not a tie); ``n_calls``, the calls found, through every aggregation. Carried along: ``gold`` and
        ``better``; attributes ``<name>_first`` and ``<name>_second``, exchanged with the candidates; ``cost`` and
        ``latency``, summed; any other column that has one value within each pair. Dropped: ``strength``,
        ``rationale`` and columns that vary within a pair.

        Ratings: one row per rated response, with ``status`` and ``n_calls``; ``sd``, ``runs`` and ``rationale`` are
        dropped. Two equally likely classes (``dawid_skene``) give a missing score with status ``undecided``.

        ``dawid_skene`` adds ``confidence``, the posterior probability of the verdict.

    Raises
    ------
    DesignError
        If an option is not known, if the order is not known and `over` names it, if calls repeat each other.
    SchemaError
        If this is neither canonical frame, or the calls of a pair differ in ``gold`` or ``better``.

    See Also
    --------
    composite : Several criteria to one score.
    compare_scores : Scores to verdicts.

    Notes
    -----
    A tie is native if no vote took a side (``swap``, ``net``, a callable) or if the tie itself won (``majority``). A
    tie among votes that were already aggregated is native only if it was native there.

    Examples
    --------
    >>> import pandas as pd
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1", "2", "2"], "first": ["x", "y", "x", "y"],
    ...                       "second": ["y", "x", "y", "x"], "choice": ["first", "first", "first", "second"]})
    >>> aggregate(calls)[["judge", "item", "first", "second", "choice", "tie_kind", "n_calls"]]
      judge item first second choice      tie_kind  n_calls
    0     g    1     x      y    tie  disagreement        2
    1     g    2     x      y  first                      2

    A tie only if no call took a side; a verdict if one call did and no call disagreed:

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
    table, kind, axes, groups = _opened(calls, over, by)
    if not axes:
        raise DesignError(
            "over= is empty. Name what distinguishes the calls: 'order', 'replicate', 'judge' or a column."
        )
    repeated = "replicate" in table and "replicate" not in axes and table["replicate"].nunique() > 1
    if how == DAWID_SKENE and "judge" in axes and repeated:
        raise DesignError(
            "Repeats of a judge would count as further items. Pass over=['judge', 'replicate']: a repeat is a further "
            "answer of the same rater on the same item."
        )
    if not len(table):
        raise SchemaError(f"The {kind} frame has no rows to aggregate. Give at least one call.")
    if kind == "ratings":
        if callable(how):
            allowed = ", ".join(map(repr, SUMMARIES))
            raise DesignError(f"A callable rule is for preferences. Allowed for ratings: {allowed}.")
        starts = n_starts, seed
        return to_native(aggregate_scores(table, how, axes, groups, missing, exclude_own, trim, starts), calls)
    if exclude_own is not False:
        raise DesignError("exclude_own= is for ratings only. Leave it out for preferences.")
    return to_native(aggregate_pairs(table, how, axes, groups, missing, (n_starts, seed)), calls)


@checked_arguments
@engine_errors
def dawid_skene(
    calls: IntoFrame,
    over: By | None = None,
    *,
    by: By = (),
    exclude_own: bool | Mapping[str, str] = False,
    n_starts: int = 20,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> DawidSkene:
    """Fit the model of Dawid and Skene: the true answers, and how each judge confuses them, without gold labels.

    Parameters
    ----------
    calls : frame
        Preferences or ratings of a panel. Each different score is a class, of at most twelve.
    over : str or sequence of str, optional
        What distinguishes the answers: by default ``'judge'``, and ``'replicate'`` where there is one. Repeats are
        further answers of the same rater, and so are the two orders of a pair: ``['judge', 'order']``.
    by : str or sequence of str
        Columns that distinguish pairs, as in :func:`aggregate`. Each way of asking (strategy, prompt, temperature),
        criterion and value of `by` has a model of its own.
    exclude_own : bool or mapping
        Ratings: leave out a judge's scores of its own system, as in :func:`aggregate`.
    n_starts : int
        Random starts besides the majority vote; the likeliest fit is kept. 0: the majority vote alone.
    seed : int, Generator or None
        Seed of the random starts.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    DawidSkene
        With ``tidy()`` (class shares and confusion matrices, with standard errors), ``glance()`` (log-likelihood, how
        many starts reached it) and ``augment()`` (posterior probabilities). The verdicts are
        ``aggregate(calls, "dawid_skene", over="judge")``.

    Raises
    ------
    DesignError
        For fewer than two raters, more than twelve classes, an `over` that names no rater, or calls that repeat each
        other.

    See Also
    --------
    aggregate : Several calls to one verdict.
    effective_judges : What a panel is worth.

    Notes
    -----
    The model: given the true class, the answers are independent, and depend on the class and the rater only. Judges
    that err together (one family, one prompt, one misleading style) break it: it takes their common error for truth,
    and its posterior is too sure. With gold labels use :func:`judgestats.gold_agreement`, and look at
    :func:`judgestats.effective_judges` before. With two raters the parameters are not identifiable.

    The likelihood is the same whatever the classes are called. Each is named after the label that the raters give it.
    Where they agree as well with other names, within sampling error (two that always differ, beside raters that answer
    at random or always alike), the names are not identifiable: the posterior, and the parameters, are means over both,
    without an interval, and :func:`aggregate` gives a tie, or no class (``undecided``), with confidence 1/2.

    Preferences: where all pairs have the same two candidates, they are the classes (and ``tie``, where it occurs).
    Otherwise a candidate's name means nothing, and the model is symmetric: each rater has one probability of choosing
    the true candidate (``candidate``), the other one, or a tie.

    Nothing ties a class to its label but that the raters are better than chance. Where they are not (they give an
    answer more often where another class is true), the rows of the class have a flag, and :func:`aggregate` refuses.

    The likelihood is that of the answers without multinomial coefficients. It has several maxima: from the
    majority vote, and from random starts near it, EM climbs to the next one. Standard errors are from the observed
    information of the probabilities inside (0, 1); intervals are symmetric in log-odds. Missing answers are allowed,
    if they are missing for reasons that have nothing to do with the true class.

    References
    ----------
    Dawid, A. P., Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the EM algorithm.
    Applied Statistics 28, 20-28.

    Examples
    --------
    >>> answers = {"g": "1112212212", "h": "1112211212", "k": "1212212211"}
    >>> rows = [(j, "s", i, int(a)) for j, given in answers.items() for i, a in enumerate(given)]
    >>> scores = pd.DataFrame(rows, columns=["judge", "system", "item", "score"])
    >>> fitted = dawid_skene(scores)
    >>> fitted
    DawidSkene: 2 classes, 3 raters, 10 units, loglik -14.44
    >>> fitted.tidy().query("judge == 'h'")[["judge", "true", "answer", "estimate", "std_error", "flag"]].round(2)
      judge  true  answer  estimate  std_error                              flag
    6     h   1.0     1.0       1.0        NaN                       on boundary
    7     h   1.0     2.0       0.0        NaN                       on boundary
    8     h   2.0     1.0       0.2       0.18  fewer than 5 of the rarer answer
    9     h   2.0     2.0       0.8       0.18  fewer than 5 of the rarer answer
    """
    table, kind, axes, groups = _opened(calls, over, by)
    if kind == "ratings":
        scores = grouped_scores(table, axes, groups, exclude_own)
        panel, grouped = panel_of_scores(scores, groups), scores.groups
    else:
        pairs = pair_votes(table, axes, groups)
        panel, grouped = panel_of_pairs(pairs, groups)[0], pairs.groups
    units = grouped.table[grouped.unit].iloc[grouped.codes.first].reset_index(drop=True)
    return fitted(panel, units, n_starts, seed, conf_level)
