"""How often verdicts are right, raw and beyond chance: :func:`gold_agreement`, :func:`accuracy`."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.bootstrap import Interval
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts
from judgestats.counting.patterns import Invalid, InvalidVerdict, Ties
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError
from judgestats.estimate import POINTS, jackknifed, student
from judgestats.kernels.cohens_kappa import cohen_kappa, kappa_of_sums, kappa_sums, weighted_kappa
from judgestats.metrics.bias.design_flags import flag_not_merged
from judgestats.metrics.correctness.gold_labels import labelled_calls, labelled_verdicts
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.results import estimates
from judgestats.schema.coding import Codes
from judgestats.schema.columns import By, names
from judgestats.typing import Ints, Mask, Record

#: Classes of an answer and of a gold label; an invalid call that counts as wrong is a class of its own.
_CLASSES = ("first", "second", "tie", "invalid")


@Measure(
    "How often does the verdict agree with gold, raw and beyond chance?", "accuracy", "P, counts",
    "Wilson, clustered; bootstrap; kappa: asymptotic", "debiasing, Sec 3.1, 3.5, Table 6", plot="forest, by_condition",
    frames=("preferences",), sheet=("gold",),
    terms=(
        Term("accuracy", "", "call", "valid calls with a gold answer", "lower", "The judge gives the gold answer."),
        Term("gold_tie", "tie where gold is a candidate", "call", "calls with a gold answer", "higher",
             "The judge calls a tie where the gold answer is a candidate."),
        Term("gold_wrong", "wrong", "call", "calls with a gold answer", "higher",
             "The judge's answer is not the gold answer."),
    ),
    have=("gold",),
    assumes="The gold labels are right: errors in them count as errors of the judge; items are independent.",
)  # fmt: skip
def gold_agreement(
    calls: IntoFrame,
    *,
    invalid: Invalid = "drop",
    ties: Ties = "exact",
    by: By = (),
    cluster: Cluster = "auto",
    interval: Interval = "wilson",
    strata: str | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Accuracy of the verdicts against a gold label, raw and corrected for chance.

    Parameters
    ----------
    calls : frame
        Preferences with a column ``gold``: the right candidate, or ``tie``. Or a tally: ``judge, outcome, n`` with the
        outcomes ``correct``, ``wrong``, ``tie`` (no preference where the gold is a candidate) and ``invalid``.
        Aggregated verdicts will do: no order is needed. For kappa a tally also needs the slots ``answer`` and
        ``gold_answer`` (``first``, ``second``, ``tie``; ``invalid``).
    invalid : {'drop', 'wrong', 'tie'}
        How an invalid call counts: excluded, as wrong, or as a tie where the gold is a candidate.
    ties : {'exact', 'drop', 'half'}
        How a tie counts where the gold is a candidate: as an error (debiasing paper, Section 3.5), excluded, or as half
        right. Where the gold is a tie, a tie is right and anything else is wrong.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str, two of them, or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not. Two crossed columns need
        ``interval='percentile'``.
    interval : {'wilson', 'percentile', 'bca'}
        Wilson's interval, or a bootstrap of calls or clusters.
    strata : str, optional
        Column within whose levels the bootstrap draws.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws. The percentile interval of a share of independent calls
        needs none: it is computed in closed form.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``accuracy``, whose ``n`` is the calls scored under `invalid` and `ties`; and ``wrong``, ``tie`` and
        ``invalid``, whose ``n`` is all calls with a gold label; with the share of correct calls they add up to 1. Calls
        without a gold label are excluded, and a flag on every row of their judge counts them.
        Collected calls of a strategy that makes one verdict of several count one by one, with the flag ``calls of a
        strategy, not merged``: :func:`judgestats.design.strategy_verdicts` applies its rule.
        Where the slots are known also ``kappa``: Cohen's, unweighted, of the answers and the gold as slots (first,
        second, tie), on the calls scored. Its interval uses the asymptotic standard error (clustered: t, from
        the jackknife of clusters), or the bootstrap. NaN with a flag where chance agreement is 1.

    Raises
    ------
    DesignError
        If there is no gold label, or no column for it, or the options of the interval do not go together.
    SchemaError
        If a gold label is neither candidate nor ``tie``.

    See Also
    --------
    accuracy : Share of right verdicts.
    compare_strategies : Accuracy of strategies on the same pairs.

    Notes
    -----
    Accuracy: debiasing paper, Sections 3.1 and 3.5. Kappa: its Table 6; Cohen (1960); standard error of Fleiss, Cohen
    and Everitt (1969). Kappa has no half credit: with ``ties='half'`` it is that of ``'exact'``. An invalid call
    that is scored and never right (``invalid='wrong'``; ``'tie'`` where the gold is a tie) is a class of its own.

    Examples
    --------
    A judge of LLMBar that is not better than a coin; and counts, with ties and invalid answers:

    >>> from judgestats import datasets
    >>> calls = datasets.load("llmbar").query("judge == 'ChatGPT-0301' and strategy == 'Vanilla'")
    >>> gold_agreement(calls)[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
           term  estimate  conf_low  conf_high      n
    0  accuracy     0.481     0.445      0.517  838.0
    1     wrong     0.519     0.483      0.555  838.0
    2       tie     0.000     0.000      0.009  838.0
    3   invalid     0.000     0.000      0.009  838.0
    4     kappa    -0.038    -0.111      0.035  838.0
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "outcome": ["correct", "wrong", "tie", "invalid"], "n": [60, 20, 15, 5]})
    >>> gold_agreement(counts, invalid="wrong", ties="half")[["term", "estimate", "n"]].head(1)
           term  estimate      n
    0  accuracy     0.675  100.0
    """
    taken = [name for name in names(by) if name in ("answer", "gold_answer")]
    if taken:
        raise DesignError(f"by={taken[0]!r} is a column that gold_agreement makes itself. Rename yours.")
    scored, excluded = labelled_calls(calls, by)
    merged = interval == "wilson" and strata is None
    counts = count(scored, "gold_agreement", by, cluster=cluster, beside=names(strata), merged=merged)
    counts = excluded.with_empty(counts).inferred(conf_level, interval, strata, n_resamples, seed)
    hit, trial = counts.hits_and_trials("correct", ties, invalid)
    rows = counts.rates("accuracy", hit, trial)
    for term in ("wrong", "tie", "invalid"):
        rows += counts.rates(term, counts.among("outcome", term))
    if "answer" in counts.columns and "gold_answer" in counts.columns:
        rows += _kappas(counts, trial, invalid)
    rows = flag_not_merged(excluded.flagged(rows, counts.groups), scored, counts.groups)
    return estimates(rows, counts.groups)


@Measure(
    "How often is the verdict “correct” (with gold: equal to it)?",
    "accuracy",
    "R (`correct`), counts",
    "Wilson, clustered",
    "ours",
    plot="forest",
    frames=("ratings",),
    sheet=("verdicts",),
    terms=(
        Term(
            "right",
            "verdicts “correct”",
            "verdict",
            "valid verdicts",
            "no universal direction",
            "The judge says “correct”; without gold nothing says whether that is so.",
        ),
    ),
    have=("gold",),
    assumes="`correct` is right; items are independent of each other.",
)
def accuracy(
    ratings: IntoFrame,
    *,
    invalid: InvalidVerdict = "drop",
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Share of right verdicts, where each verdict is right or wrong.

    Parameters
    ----------
    ratings : frame
        With ``judge`` and ``correct`` (booleans, 0 and 1, or words for yes and no), or a score of 0 and 1. With a
        column ``gold`` a verdict, or a score of any scale, is right where it equals the gold. Or a tally: ``judge,
        outcome, n`` with the outcomes ``correct``, ``wrong`` and ``invalid``.
    invalid : {'drop', 'wrong'}
        How a missing verdict counts: excluded, or as wrong.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that verdicts share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it
        in ``method``. False treats all verdicts as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``accuracy``, whose ``n`` is the verdicts scored under `invalid`; and ``wrong`` and ``invalid``, whose
        ``n`` is all of them. Verdicts without a gold label are excluded, and a flag on every row of their judge counts
        them.

    Raises
    ------
    SchemaError
        If a verdict is neither yes nor no, or there is no column of verdicts.
    DesignError
        If scores are not 0 and 1 and there is no gold; if no verdict has a gold label.

    See Also
    --------
    gold_agreement : Agreement with gold, raw and beyond chance.
    score_error : Error of scores against right ones.

    Notes
    -----
    Wilson's interval. A verdict here is about one response; for verdicts between two candidates see
    :func:`gold_agreement`, and for agreement beyond chance :func:`judgestats.kappa` with ``reference="gold"``.

    Examples
    --------
    >>> import pandas as pd
    >>> verdicts = pd.DataFrame({"judge": "g", "system": "s", "item": list("abcde"),
    ...                          "correct": [True, True, False, True, None]})
    >>> accuracy(verdicts)[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
           term  estimate  conf_low  conf_high    n
    0  accuracy      0.75     0.301      0.954  4.0
    1     wrong      0.20     0.036      0.624  5.0
    2   invalid      0.20     0.036      0.624  5.0
    """
    verdicts, excluded = labelled_verdicts(ratings, by)
    counts = count(verdicts, "accuracy", by, cluster=cluster, merged=True)
    counts = excluded.with_empty(counts).inferred(conf_level)
    trial = ~counts.among("outcome", "invalid") | (invalid == "wrong")
    rows = counts.rates("accuracy", counts.among("outcome", "correct"), trial)
    for term in ("wrong", "invalid"):
        rows += counts.rates(term, counts.among("outcome", term))
    return estimates(excluded.flagged(rows, counts.groups), counts.groups)


def _kappas(counts: Counts, trial: Mask, invalid: Invalid) -> list[Record]:
    """Rows of the term ``kappa``: answers by gold, as slots, on the calls scored."""
    place = {"abstain": 2} | {name: i for i, name in enumerate(_CLASSES)}
    answer, gold = (
        np.array([place.get(x, -1) for x in f.labels], dtype=np.int64)[f.code]
        for f in counts.columns.of(["answer", "gold_answer"])
    )
    unknown = ((answer < 0) | (gold < 0) | (gold == 3)) & (counts.n > 0)
    if unknown.any():
        one = counts.where(unknown).columns
        got = ", ".join(f"{c}={one.series(c).iloc[0]!r}" for c in ("answer", "gold_answer"))
        raise SchemaError(
            f"A tally of gold_agreement has slots: {', '.join(_CLASSES)} in 'answer', {', '.join(_CLASSES[:3])} in "
            f"'gold_answer'. Got {got}."
        )
    answer[(answer == 3) & (gold != 2) & (invalid == "tie")] = 2  # never right, as for accuracy
    cell, scored, without = answer * len(_CLASSES) + gold, trial & (counts.n > 0), counts.no_trials(~trial)
    rows = []
    for key, same in counts.rows_of_groups():
        scored_rows = same[scored[same]]
        if not len(scored_rows):
            continue
        row = _kappa(counts.where(scored_rows), cell[scored_rows], key)
        size = flags.SMALL_N if row["n"] < 30 else ""
        lost = [flags.EXCLUDED.of(counts.n[same][mask[same]].sum(), what=what) for what, mask in without.items()]
        flag = flags.join(counts.clusters.flag, row["flag"], *lost, size)
        rows.append({**key, "term": "kappa", **row, "flag": flag})
    return rows


def _kappa(counts: Counts, cell: Ints, key: Record) -> Record:
    """Kappa of one group with its interval; `cell` (R,): answer and gold of each row."""
    n, plan, m = counts.n, counts.bootstrap, len(_CLASSES)
    total = np.bincount(cell, n, m * m).reshape(m, m)
    kappa, error, _ = (float(x) for x in cohen_kappa(total))
    row: Record = {"estimate": kappa, "n": total.sum(), "method": methods.KAPPA}
    if math.isnan(kappa):
        return {**row, "flag": flags.CHANCE_IS_ONE}
    if plan is not None:
        one, two = np.divmod(np.arange(m * m), m)
        unit = counts.columns.codes(plan.columns) if plan.cluster else Codes(np.arange(n.size), np.arange(n.size))
        added = np.bincount(unit.code * m * m + cell, n, unit.size * m * m).astype(np.float64).reshape(-1, m * m)
        units = replace(counts.where(unit.first), n=added.sum(axis=1))
        return {**row, **units.resampled(added, lambda totals: weighted_kappa(totals, one, two, np.eye(m)), key)}
    cluster = counts.clusters.column
    if cluster is not None:
        unit = counts.columns.codes([cluster])
        alike = np.ones(unit.size) if counts.alike is None else counts.alike[unit.first]
        sums = kappa_sums(*np.divmod(cell, m), n, unit.code, unit.size, np.eye(m)) / alike[:, None]
        without = kappa_of_sums(alike @ sums - sums, np.eye(m))
        estimate = jackknifed(kappa, without, sums[:, 0], cluster, counts.conf_level, alike=alike)
        return {**row, **estimate.interval}
    return {**row, **student(kappa, error, conf_level=counts.conf_level, method=methods.KAPPA, bounds=POINTS).cells}
