"""Deviations of judges from their peers or from a reference: :func:`consensus_deviation`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags, methods
from judgestats.counting.clustering import Cluster
from judgestats.counting.splitting import as_runs, reference_as_runs
from judgestats.counting.study import Calls
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError
from judgestats.estimate import share, student_ends, student_of_cells
from judgestats.kernels.judge_tables import JudgeTable
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.consensus.judge_identities import identities, own_pairs
from judgestats.metrics.consensus.linear_uncertainty import Spread, Uncertainty
from judgestats.metrics.consensus.other_references import reference_matcher
from judgestats.metrics.consensus.pair_deviations import PairDeviations, pair_deviations
from judgestats.metrics.consensus.pair_flags import PairFlags
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term
from judgestats.metrics.references import labels
from judgestats.metrics.scales import refuse_declared_scales, refuse_several_scales
from judgestats.results import estimates
from judgestats.schema.columns import By, names
from judgestats.typing import Floats, Integers, Mask, Record
from judgestats.wording import Method


def reference_of(options: MeasureOptions) -> Record:
    """Arguments of :func:`consensus_deviation` for data with these options: people if they are given, else peers."""
    return {"reference": "peers" if options.people is None else options.people, "identity": options.identity or None}


def deviations_of(data: Calls, options: MeasureOptions) -> pd.DataFrame:
    """Deviations from people if they are given, else from peers."""
    return options.call(consensus_deviation, data, **reference_of(options))


def _judges_are_systems(data: Calls, options: MeasureOptions) -> str:
    """Require a judge that is one of the systems."""
    systems = {options.identity.get(s, s) for s in labels(data, "system")}
    if set(labels(data, "judge")) & systems:
        return ""
    return "no judge has the name of a system: map them with identity={'system': 'judge'}"


@Measure(
    "Does a judge favour its own system?",
    "consensus",
    "R, counts (means)",
    "t over items or clusters",
    "merchant_risk, Sec 4.1 to 4.4",
    frames=("ratings",),
    needs=(_judges_are_systems,),
    take=lambda data, options: deviations_of(data, options).query("term == 'self_excess'"),
    sheet=("consensus: self_excess", "people: self_excess"),
    name="self_excess",
)
@Measure(
    "How far does each judge deviate from the others, also on its own system?", "consensus", "R, counts (means)",
    "t over items or clusters; from means, sds, runs: t, Satterthwaite", "merchant_risk, Sec 4.1 to 4.4",
    plot="deviation_matrix", frames=("ratings",),
    take=lambda data, options: deviations_of(data, options).query("term == 'deviation'"),
    sheet=("consensus: mean_others", "people: mean_others"),
    terms=(
        Term("mean_own", "deviation on its own system", "score", "systems", "far from 0",
             "Deviation from its peers when the judge scores its own system.", neutral=0.0),
        Term("mean_others", "leniency: deviation on others", "score", "systems", "far from 0",
             "Deviation from its peers when the judge scores others: above 0 lenient, below severe.", neutral=0.0),
        Term("mean_deviation", "leniency: mean deviation", "score", "cells", "far from 0",
             "Mean deviation from the other judges over all scores: above 0 lenient, below severe.", neutral=0.0),
        Term("self_excess", "self-excess", "score", "systems", "above 0",
             "Deviation on its own system minus deviation on others: self-preference, or a taste for that system.",
             neutral=0.0),
        Term("deviation", "deviation from the reference", neutral=0.0),
        Term("share_positive", "share above the reference", form="share"),
    ),
    have=("judges",),
    assumes="The mean of the other judges is the reference, which is not the truth; runs or items are independent.",
)  # fmt: skip
def consensus_deviation(
    ratings: IntoFrame,
    reference: Any = "peers",
    *,
    by: By = (),
    average_over: By = (),
    identity: Mapping[str, str] | None = None,
    family: Mapping[str, str] | None = None,
    exclude_self: bool = True,
    conf_level: float = CONF_LEVEL,
    cluster: Cluster = "auto",
    per_criterion: bool = False,
    overall_criterion: str | None = "final",
) -> pd.DataFrame:
    """Deviation of each judge's scores from the consensus of the others, with its own system reported separately.

    The deviation in a cell (system, item, criterion) is the judge's score, averaged over replicates, minus the mean of
    the other judges' scores. It is averaged over the criteria of an item, then over items.

    Parameters
    ----------
    ratings : frame
        Raw ratings in any engine (NaN scores are excluded), or means per cell: ``judge, system[, item, criterion],
        mean[, sd, runs]``, such as a published table or a tally.
    reference : 'peers' or frame
        The reference of the deviations. A frame is a reference panel: its ratings (with ``judge``: the mean over its
        judges), or means with ``system``, ``mean`` (and ``sd``, ``runs``) and, if present, the `by` columns, ``item``
        and ``criterion``. A system that is not in it is looked up by its `identity`.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    identity : mapping of str to str, optional
        System name -> judge name, where they differ: ``{"Expert 1": "GPT-5.1"}``. Other systems keep their names.
        Within a `by` group no two systems may be the same judge.
    family : mapping of str to str, optional
        Name -> family, for every judge and system: ``own`` then means of the same family, possibly several systems.
    exclude_self : bool
        False includes the judge in its own consensus, which shrinks every deviation by (n - 1)/n. For comparison only.
    conf_level : float
        Coverage of the intervals.
    cluster : "auto", str or False
        Column of clusters: intervals are t over its values, from the clusters' sums. ``"auto"``: ``item``, or a column
        that groups items (``prompt``, ``task``), the coarsest with 10 values or more. False treats the items as fixed,
        with uncertainty from the runs alone.
    per_criterion : bool
        Split the result by criterion.
    overall_criterion : str or None
        Criterion of the final score. If present it is the only one used, else all criteria are; with `per_criterion` it
        is excluded.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, ``judge``, ``system``, the columns of every estimate, and ``own`` (whether a deviation is of
        the judge's own system). Terms:

        - ``deviation`` per judge x system, ``n`` items;
        - per judge, with an empty system and ``n`` judge x system pairs: ``mean_own``, ``mean_others`` and
          ``self_excess`` = ``mean_own - mean_others``, self-preference without leniency;
        - against a reference frame, with an empty judge too: ``mean_deviation`` over all pairs and ``share_positive``,
          the share of pairs strictly above 0.

    Raises
    ------
    SchemaError
        If a column is missing, or `identity` or `family` is not valid (see ``faults``).
    DesignError
        If there is a single judge and no reference, or the reference matches no rating.

    See Also
    --------
    score_matrix : Mean scores of judges and systems.
    calibrate : Scores brought to a reference.
    judgestats.models.self_preference : Own responses, given their quality.

    Notes
    -----
    With two items or more in every pair of an estimate the interval is t, from the influence of each cluster on it
    (CR2, with Satterthwaite's degrees of freedom: G - 1 for clusters of equal size): for one deviation the sd of
    the items' deviations over the root of G. Otherwise, if the runs have an sd, the estimate is a linear function
    of independent cell means, and ``method`` is ``t from mean, sd, runs (Satterthwaite)``. Criteria that came in
    one reply share its noise: what the column ``call`` says, or else judge, system, item, replicate and condition.
    Criteria of means are taken as perfectly correlated, with a flag, unless ``call`` differs. Otherwise the
    interval is NaN, and ``flag`` gives the reason.

    In each cell the deviations of its judges sum to 0: the measure is relative.

    Intervals of deviations and of their means are of these judges and systems. That of ``self_excess`` is not: a judge
    has tastes, it likes some systems more than the others do, and its own may be one of them. So its error is the
    spread of the cells of judges by systems after the effects of both and of what is each judge's own, however many
    items there are, with t on the degrees of freedom that these leave: J² - 3J + 1 for J judges that are the J systems
    (1, 5 and 11 with 3, 4 and 5), (J - 1)(S - 1) - J in general; with two such judges there is no interval, flagged.
    Against a reference frame what judges agree on is part of a deviation, and the judge's other systems are all that
    its own is measured against: two degrees of freedom less than it has systems. Of 400 tables in which judges have
    tastes (sd 0.3 beside a residual of 0.7; 3, 4, 5 and 8 judges) and no self-preference 4 to 5 % have an interval
    without 0, where it was 29 %; of a self-preference of 1 it is 17, 70, 73 and 80 %.

    References
    ----------
    Understanding LLM Evaluator Behavior (the merchant_risk paper), Sec 4.1 to 4.4.

    Examples
    --------
    Three models judge their own answers and each other's, yes or no by criterion (Frontier Model Self-Bias):

    >>> from judgestats import datasets
    >>> found = consensus_deviation(datasets.load("frontier_self_bias/rubric")).drop(index=[1, 2, 3, 5, 6, 7])
    >>> print(found[["judge", "term", "estimate", "conf_low", "conf_high"]].round(2).to_string(index=False))
               judge        term  estimate  conf_low  conf_high
    claude-haiku-4-5   deviation      0.02     -0.04       0.07
          gpt-5-mini   deviation      0.03     -0.04       0.09
        gpt-5.6-luna   deviation      0.06     -0.00       0.12
    claude-haiku-4-5    mean_own      0.02     -0.04       0.07
    claude-haiku-4-5 mean_others     -0.05     -0.16       0.06
    claude-haiku-4-5 self_excess      0.07     -0.08       0.21
          gpt-5-mini    mean_own      0.03     -0.04       0.09
          gpt-5-mini mean_others      0.03     -0.03       0.08
          gpt-5-mini self_excess     -0.00     -0.15       0.14
        gpt-5.6-luna    mean_own      0.06     -0.00       0.12
        gpt-5.6-luna mean_others     -0.03     -0.06      -0.00
        gpt-5.6-luna self_excess      0.08     -0.06       0.23
    """
    ratings, reference = as_runs(ratings, average_over, by), reference_as_runs(reference, average_over)
    peers = isinstance(reference, str)
    if peers and reference != "peers":
        raise DesignError(f"reference={reference!r} is not known. Allowed: 'peers', or a frame with system and mean.")
    source = None if peers else reference_matcher(reference, per_criterion, overall_criterion, identity)
    column = None if cluster is False else clustered_by(ratings, names(by), cluster, whole="item").column
    data = pair_deviations(
        ratings,
        by,
        per_criterion=per_criterion,
        final=overall_criterion,
        cluster=column,
        exclude_self=exclude_self,
        reference=source,
    )
    if "scale" not in names(average_over):
        refuse_declared_scales(ratings, names(by))
    if peers and len(data.panel.judges) < 2:
        raise DesignError(
            f"A consensus needs at least two judges; got {', '.join(map(str, data.panel.judges)) or 'none'}. Give more "
            "judges, or a reference frame."
        )
    group, judge = (pd.Series(codes[data.pair]) for codes in (data.pair_group, data.pair_judge))
    for _, means in pd.Series(data.panel.mean).groupby(group):
        refuse_several_scales(means, judge[means.index].map(dict(enumerate(map(str, data.panel.judges)))))
    own = own_systems(data, identity, family)
    uncertainty, cautions = Uncertainty(data), PairFlags(data)
    rows = [*_pair_rows(uncertainty, own, cautions, conf_level), *_judge_rows(uncertainty, own, cautions, conf_level)]
    if not peers:
        rows += _overall_rows(uncertainty, cautions, conf_level)
    result = estimates(rows, [*data.by, "judge", "system"], ["own"], sort=False)
    return result.assign(own=result["own"].astype(bool))


def own_systems(data: PairDeviations, identity: Mapping[str, str] | None, family: Mapping[str, str] | None) -> Mask:
    """Whether the system of each pair is the judge's own, (P,)."""
    present = [np.unique(data.pair_system[data.pair_group == g]) for g in range(data.groups.size)]
    groups = [[str(s) for s in data.systems.take(codes)] for codes in present]
    mapped = identities(groups, [str(j) for j in data.panel.judges], identity, family)
    judge, system = (np.asarray(x, dtype=object) for x in (data.panel.judges, data.systems))
    return own_pairs(
        [str(j) for j in judge[data.pair_judge]], [str(s) for s in system[data.pair_system]], mapped, family
    )


def _method(data: PairDeviations, method: Method) -> Method:
    return method if data.exclude_self or data.reference.used else methods.NAIVE.then(method)


def _pair_rows(uncertainty: Uncertainty, own: Mask, cautions: PairFlags, conf_level: float) -> list[Record]:
    """Rows of the term ``deviation``."""
    data = uncertainty.data
    variance, df, method, clusters = uncertainty.pair_spreads()
    se = np.sqrt(variance)
    low, high = student_ends(data.estimate, se, df, conf_level)
    judge, system = (np.asarray(x, dtype=object) for x in (data.panel.judges, data.systems))
    keys = [data.group_labels(g) for g in range(data.groups.size)]
    order = np.lexsort([data.pair_system, data.pair_judge, data.pair_group])
    with_reference = {m: _method(data, m) for m in set(method)}
    of_pairs = cautions.of_pairs()
    columns = {
        "judge": judge[data.pair_judge],
        "system": system[data.pair_system],
        "own": own,
        "estimate": data.estimate,
        "std_error": se,
        "conf_low": low,
        "conf_high": high,
        "n": data.items,
    }
    cells = zip(*(x[order].tolist() for x in columns.values()), strict=True)
    rows = []
    for p, group, values in zip(order.tolist(), data.pair_group[order].tolist(), cells, strict=True):
        row = {
            **keys[group],
            "term": "deviation",
            **dict(zip(columns, values, strict=True)),
            "method": with_reference[method[p]],
        }
        notes = of_pairs[p]
        if row["n"]:
            error, lower = row["std_error"], row["conf_low"]
            notes = [*notes, *cautions.of_interval(p, variance[p], error, lower, clusters[p], method[p])]
        rows.append({**row, "flag": flags.join(*notes)})
    return rows


def _weights_of_mean(owner: NDArray[Any], n_owners: int, taken: Mask) -> Floats:
    """1 over the number of an owner's selected pairs, on those pairs."""
    counts = np.bincount(owner[taken], minlength=n_owners)
    weights = np.zeros(owner.size)
    weights[taken] = 1 / counts[owner[taken]]
    return weights


def own_and_others(data: PairDeviations, own: Mask) -> tuple[NDArray[Any], int, Floats, Floats]:
    """Owner (group x judge) of each pair, number of owners, and weights of ``mean_own`` and ``mean_others``."""
    judges = len(data.panel.judges)
    owner = (data.pair_group * judges + data.pair_judge).astype(np.int64)
    owners = data.groups.size * judges
    of_own, of_others = (_weights_of_mean(owner, owners, side & (data.items > 0)) for side in (own, ~own))
    return owner, owners, of_own, of_others


def _judge_rows(uncertainty: Uncertainty, own: Mask, cautions: PairFlags, conf_level: float) -> list[Record]:
    """Rows of the terms ``mean_own``, ``mean_others`` and ``self_excess``."""
    data = uncertainty.data
    owner, owners, of_own, of_others = own_and_others(data, own)
    terms = {"mean_own": of_own, "mean_others": of_others, "self_excess": of_own - of_others}
    spreads = uncertainty.sides(owner, owners, of_own, of_others)
    excesses = _excess_spreads(data, own, owner, of_own - of_others)
    rows = []
    for o in np.unique(owner):
        of_judge = owner == o
        key = {
            **data.group_labels(int(o) // len(data.panel.judges)),
            "judge": data.panel.judges[int(o) % len(data.panel.judges)],
        }
        sides = ((flags.NO_OWN, of_own), (flags.NO_OTHER, of_others))
        absent = ["" if weights[of_judge].any() else none for none, weights in sides]
        lacking = dict(zip(terms, (*absent, flags.join(*absent)), strict=True))
        for term, weights in terms.items():
            row = {**key, "system": "", "own": False, "term": term}
            if lacking[term]:
                rows.append(
                    {**row, "estimate": math.nan, "n": 0, "flag": lacking[term], "method": _method(data, methods.NONE)}
                )
                continue
            taken = of_judge & (weights != 0)
            if term == "self_excess":
                rows.append(row | _excess(data, weights, taken, excesses[int(o)], cautions, conf_level))
                continue
            spread = spreads[term == "mean_others"][o]
            rows.append(row | _linear(data, weights * of_judge, taken, spread, cautions, conf_level))
    return rows


def _excess_spreads(
    data: PairDeviations, own: Mask, owner: Integers, weights: Floats
) -> dict[int, tuple[float, float]]:
    """Standard error and degrees of freedom of the self-excess of each owner that has one, against its tastes.

    Of peers from the table of its group, judges by systems. Against a reference what judges agree on is part of a
    deviation, and the judge's own row is all that there is.
    """
    spreads: dict[int, tuple[float, float]] = {}
    for group in np.unique(data.pair_group):
        rows = (data.pair_group == group) & (data.items > 0)
        table = JudgeTable(data.estimate, data.pair_judge, data.pair_system, own).where(rows)
        if data.reference.used:
            for judge in np.unique(table.judge):
                row = table.judge == judge
                spread, weight = table.where(row).spread_of_one(), weights[rows][row]
                spreads[int(owner[rows][row][0])] = spread.error(weight), spread.df
            continue
        peers = np.bincount(table.system)[table.system]
        spread = table._replace(value=table.value * (1 - 1 / peers) if data.exclude_self else table.value).spread()
        for judge in np.unique(table.judge):
            row = table.judge == judge
            beside = table.beside_peers(np.where(row, weights[rows], 0.0))
            beside = beside if data.exclude_self else beside * (1 - 1 / peers)
            spreads[int(owner[rows][row][0])] = spread.error(beside), spread.df
    return spreads


def _excess(
    data: PairDeviations,
    weights: Floats,
    taken: Mask,
    spread: tuple[float, float],
    cautions: PairFlags,
    conf_level: float,
) -> Record:
    """Cells of a self-excess."""
    value, (error, df) = float(weights[taken] @ data.estimate[taken]), spread
    estimate = student_of_cells(value, error, df, conf_level)
    cells = {**estimate.cells, "method": _method(data, estimate.method), "n": int(taken.sum())}
    return {**cells, "flag": flags.join(*cautions.of(taken), estimate.flag)}


def _linear(
    data: PairDeviations, weights: Floats, taken: Mask, spread: Spread, cautions: PairFlags, conf_level: float
) -> Record:
    """Cells of a weighted sum of pairs."""
    estimate = float(weights[taken] @ data.estimate[taken])
    cells = spread.interval(estimate, conf_level)
    ends = cells["std_error"], cells["conf_low"]
    notes = cautions.of_interval(taken, spread.variance, *ends, spread.clusters, spread.method)
    about = {"estimate": estimate, "n": int(taken.sum()), "method": _method(data, spread.method)}
    return {**cells, **about, "flag": flags.join(*cautions.of(taken), *notes)}


def _overall_rows(uncertainty: Uncertainty, cautions: PairFlags, conf_level: float) -> list[Record]:
    """Mean deviation from the reference and the share of positive deviations, over all judge x system pairs."""
    data = uncertainty.data
    defined = data.items > 0
    weights = _weights_of_mean(data.pair_group, data.groups.size, defined)
    spreads = uncertainty.spreads(data.pair_group.astype(np.int64), data.groups.size, weights)
    rows = []
    for g in range(data.groups.size):
        taken = (data.pair_group == g) & defined
        key = {**data.group_labels(g), "judge": "", "system": "", "own": False}
        n = int(taken.sum())
        if not n:
            empty = {**key, "estimate": math.nan, "n": 0, "flag": flags.NO_REFERENCE}
            rows += [{**empty, "term": "mean_deviation"}, {**empty, "term": "share_positive"}]
            continue
        mean = _linear(data, weights * (data.pair_group == g), taken, spreads[g], cautions, conf_level)
        rows.append({**key, "term": "mean_deviation", **mean})
        positive = int((data.estimate[taken] > 0).sum())
        flag = flags.join(flags.DEPENDENT_PAIRS, flags.SMALL_N if n < 30 else "", *cautions.of(taken))
        rows.append({**key, "term": "share_positive", **share(positive, n, conf_level, flag).cells})
    return rows
