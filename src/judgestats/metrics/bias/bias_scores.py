"""Signed bias of a judge towards the candidate with an attribute: :func:`bias_score`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.bootstrap import Interval
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts
from judgestats.counting.patterns import InvalidDirection
from judgestats.counting.study import Calls, Study
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose
from judgestats.estimate import cell_mean, clustered_cell_mean, folded_ends
from judgestats.kernels.proportions import quotient
from judgestats.metrics.bias.design_flags import flag_forced
from judgestats.metrics.bias.preference_tables import OwnBiases, preference_tables
from judgestats.metrics.bias.targets import (
    SLOTS,
    TARGET_SLOT,
    Targeted,
    of_attributes,
    target_known,
    targeted,
    with_slot,
)
from judgestats.metrics.exclusions import ExcludedCalls
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term, column_names
from judgestats.results import estimates
from judgestats.schema.columns import By, names
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Mask, Record


def _each_attribute(data: Calls, options: MeasureOptions) -> pd.DataFrame:
    if "target" in column_names(data):
        return options.call(bias_score, Study.of(data).filtered(["target"], ~nw.col("target").is_null()))
    return of_attributes(data, lambda attribute: options.call(bias_score, data, attribute=attribute))


@Measure(
    "How much more often is the target preferred than the other?",
    "bias",
    "P, counts",
    "Newcombe for two shares of one sample; clustered: Tango; bootstrap",
    "debiasing, Sec 3.5",
    plot="bias_scores",
    frames=("preferences",),
    needs=(target_known,),
    take=_each_attribute,
    table=("bias", "magnitude"),
    caption="Share of calls for the target minus share against it; the middle line is no bias. n includes ties.",
    terms=(Term("bias", "bias, signed", neutral=0.0), Term("magnitude", "absolute bias")),
    have=("attributes",),
    assumes=(
        "Apart from the attribute the candidates are equally good, or it varies independently of quality; items "
        "are independent."
    ),
)
def bias_score(
    calls: IntoFrame,
    *,
    target: str | None = None,
    attribute: str | None = None,
    value: str | None = None,
    family: Mapping[str, str] | None = None,
    over: str | None = None,
    average: Literal["position"] | None = None,
    invalid: InvalidDirection = "drop",
    by: By = (),
    cluster: Cluster = "auto",
    interval: Interval = "wilson",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Signed bias b: share that prefers the target minus share that prefers the other (debiasing paper, Section 3.5).

    Parameters
    ----------
    calls : frame
        Preferences; or a tally: ``judge, outcome, n`` with the outcomes ``target``, ``other``, ``tie``, ``invalid``,
        and ``bias``, `over` and ``target_slot`` where they are needed. Without further arguments the column
        ``target`` names the candidate under test, and a column ``bias`` identifies several tests.
    target : str, optional
        ``first`` or ``second``: that slot (position bias; the order must be known). Any other text: that candidate,
        for every judge (a model preference; calls that do not show it are excluded).
    attribute : str, optional
        The target has more of it, by the columns ``<attribute>_first`` and ``<attribute>_second`` (``length``). Calls
        with equal or missing values are excluded.
    value : str, optional
        The target has this value of `attribute` (``attribute="format", value="markdown"``). Calls where both or neither
        candidate has it are excluded.
    family : mapping of str to str, optional
        Self-preference: name -> family for every judge, and for the candidates, unless the columns ``family_first``
        and ``family_second`` give theirs. The target is of the judge's family and the other is not; calls with both
        or neither are excluded. A judge without a call in which exactly one candidate is of its family gets NaN: its
        preferences among other families are model preferences (`target`), not self-preference.
    over : str, optional
        A column (``topic``): a score for each of its values, and their unweighted mean as the term ``mean``. Calls
        where it is missing are excluded.
    average : {'position'}, optional
        Mean of the scores with the target in the first and in the second slot, with equal weights.
    invalid : {'drop', 'tie'}
        How an invalid call counts: excluded, or as no preference. No call can be wrong here.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str, two of them, or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not. Two crossed columns need
        ``interval='percentile'``.
    interval : {'wilson', 'percentile', 'bca'}
        ``wilson``: Newcombe's interval of two shares of one sample, composed of Wilson's; Tango's where clustered. Else
        a bootstrap of calls, or of clusters.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge (and ``bias``, where there is one): ``bias``, in [-1, 1]; ``magnitude``, its absolute value, with the
        interval of the signed score folded at 0 (its standard error is that of the signed score); ``prefers_target``,
        ``prefers_other`` and ``tie``, shares of the same calls that add up to 1; ``invalid``, a share of all calls.
        Ties and abstentions are in the denominator. With ``average="position"`` also ``target_first`` and
        ``target_second``, the two halves; ``n`` is then both halves together. With `over` also ``mean`` and
        ``mean_magnitude`` (the absolute value of the mean), whose `over` is missing. With `family` also
        ``self_excess``: by how much a judge scores systems of its family above the others, less the same difference
        among the other judges. The flag counts excluded calls.

    Raises
    ------
    DesignError
        If the target is not defined, no call has one, or the order is needed and not known.
    SchemaError
        If a column is missing or a target is neither candidate.

    See Also
    --------
    bias_change : Change of a bias under a strategy.
    preference_gap : Preference beyond that of people.
    verbosity_bias : Preference for length or completeness.

    Notes
    -----
    |b| is biased upwards where b is near 0: read it with ``bias``. The interval of a mean over cells combines the
    intervals of the cells (MOVER), so that cells at 1 or -1 do not make it too short; where clustered it is widened by
    the design effect. If both halves have the same size the position average is the pooled score; without clusters its
    interval treats the halves as independent, even if they hold the same pairs.
    With `family` a judge has tastes: it likes some systems more than others, its own by chance among them, and systems
    differ in what they are worth. The interval of a bias is then t over systems where that is wider: with net scores of
    the systems (least squares over the judge's calls), own ones against the spread of the others, with two degrees of
    freedom less than there are systems; none where there is one other system, flagged. ``self_excess`` leaves out what
    judges agree on, and has more power: its error is the spread of the cells of judges by systems, less the effects of
    both and of what is each judge's own, with J² - 3J + 1 degrees of freedom for J judges that are the J systems (1, 5
    and 11 with 3, 4 and 5), and none with two. Of 400 tables in which judges have tastes (sd 0.4 log-odds, 15 items, 3
    to 8 judges) and no self-preference 2 to 5 % of either have an interval without 0, where it was 34 %; of a
    self-preference of 1 it is 7 to 17 % (bias) and 10 to 54 % (self-excess). Candidates are the systems, or their
    families where ``family_first`` and ``family_second`` name them; of more than 300, which are responses, intervals
    are those of calls. :func:`judgestats.models.self_preference` allows for the quality of each response, too.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "outcome": ["target", "other", "tie"], "n": [34, 10, 6]})
    >>> bias_score(counts)[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
                 term  estimate  conf_low  conf_high     n
    0            bias      0.48     0.230      0.666  50.0
    1       magnitude      0.48     0.230      0.666  50.0
    2  prefers_target      0.68     0.542      0.792  50.0
    3   prefers_other      0.20     0.112      0.330  50.0
    4             tie      0.12     0.056      0.238  50.0
    5         invalid      0.00     0.000      0.071  50.0
    """
    choose(average or "position", ("position",), "average")
    columns = list(dict.fromkeys([*names(by), *([over] if over else [])]))
    targets = targeted(calls, target=target, attribute=attribute, value=value, family=family, by=columns)
    counts = outcome_counts(targets, by, cluster, over, average)
    counts, groups = counts.inferred(conf_level, interval, None, n_resamples, seed), list(counts.groups)
    within = [*groups, over] if over else groups
    if over in groups:
        raise DesignError(f"over={over!r} splits the result already. Average over another column (topic, say).")
    unplaced = counts.among(over, None) if over else np.zeros(len(counts.n), dtype=bool)
    left_out = counts.where(unplaced)
    lost = ExcludedCalls(left_out.columns.frame(groups).assign(_without=left_out.n), f"calls without {over}")
    tables = {} if family is None else preference_tables(calls, family, groups, invalid)
    own = OwnBiases(tables, tuple(g for g in groups if g != "judge"), conf_level)
    rows = _score_rows(counts.where(~unplaced).grouped(within), invalid, average, own) if not unplaced.all() else []
    rows = lost.flagged(targets.excluded.flagged(flag_forced(rows, calls, groups, ("tie",)), within), groups)
    if over:
        split = [over, TARGET_SLOT] if average else [over]
        means = own.biases([{**row, over: None} for row in averaged(counts, split, "mean", invalid)])
        means += [_folded(row, "mean_magnitude") for row in means]
        rows += lost.flagged(targets.excluded.flagged(means, groups), groups)
    return estimates(rows, within)


def _folded(row: Record, term: str) -> Record:
    """Absolute value of a signed score, with the standard error of the signed one."""
    low, high = folded_ends(row["conf_low"], row["conf_high"])
    return {**row, "term": term, "estimate": abs(row["estimate"]), "conf_low": low, "conf_high": high}


def marks(counts: Counts, invalid: str) -> tuple[Mask, Mask, Mask]:
    """Masks of the rows that prefer the target, that prefer the other, and that are ties."""
    no_preference = ("tie", "invalid") if invalid == "tie" else ("tie",)
    return counts.among("outcome", "target"), counts.among("outcome", "other"), counts.among("outcome", *no_preference)


def outcome_counts(
    targets: Targeted, by: By, cluster: Cluster, over: str | None = None, average: str | None = None
) -> Counts:
    """Counts of outcomes by judge, ``bias`` where there is one, and the columns `by`."""
    calls, extra = targets.calls, [over] if over else []
    if average:
        extra.append(TARGET_SLOT)
        if "choice" in calls.names:
            calls = with_slot(calls)
        elif TARGET_SLOT not in calls.names:
            raise DesignError(
                "average='position' needs the slot in which the target stood. Give the tally a column 'target_slot' "
                "with first and second, or give the calls."
            )
    counts = count(calls, "bias_score", [*names(by), *extra], cluster=cluster)
    groups = dict.fromkeys(["judge", *(["bias"] if "bias" in counts.columns else []), *names(by)])
    return targets.excluded.with_empty(counts.grouped(list(groups)))


def _score_rows(counts: Counts, invalid: str, average: str | None, own: OwnBiases) -> list[Record]:
    target, other, tie = marks(counts, invalid)
    valid = target | other | tie
    biases = own.biases(
        averaged(counts, [TARGET_SLOT], "bias", invalid)
        if average
        else counts.differences("bias", target, other, valid)
    )
    rows = [*biases, *(_folded(row, "magnitude") for row in biases), *own.excesses(biases)]
    for name in SLOTS if average else ():
        slot = valid & counts.among(TARGET_SLOT, name)
        rows += own.biases(counts.differences(f"target_{name}", target, other, slot))
    for term, mark in (("prefers_target", target), ("prefers_other", other), ("tie", tie)):
        rows += counts.rates(term, mark, valid)
    return rows + counts.rates("invalid", counts.among("outcome", "invalid"))


def averaged(counts: Counts, split: Sequence[str], term: str, invalid: str) -> list[Record]:
    """Mean of the scores of the cells of `split`, in each group; the two slots of a cell have equal weights."""
    others = [g for g in counts.groups if g != "judge"]
    total = {
        tuple(key.values()): _filled(alike, split).columns.n_distinct(split)
        for key, alike in counts.grouped(others).each_group()
    }
    rows = []
    for key, part in counts.each_group():
        filled, n_cells = _filled(part, split), total[tuple(key[g] for g in others)]
        row, n_filled = _mean_row(filled, split, invalid, key), filled.columns.n_distinct(split)
        fewer = flags.CELLS_OF.of(n_filled, total=n_cells, what="cells") if n_filled < n_cells else ""
        rows.append({**key, "term": term, **row, "flag": flags.join(row["flag"], fewer)})
    return rows


def _filled(counts: Counts, split: Sequence[str]) -> Counts:
    """Rows with calls in a cell of `split`."""
    return counts.where((counts.n > 0) & ~np.logical_or.reduce([counts.among(c, None) for c in split]))


def _mean_row(counts: Counts, split: Sequence[str], invalid: str, key: Record) -> Record:
    """Mean of the cells of one group, with its interval."""
    answers = np.column_stack(marks(counts, invalid)) * counts.n[:, None]
    total = float(answers.sum())
    cells = counts.columns.codes(split)
    numbers = dict.fromkeys(("estimate", "std_error", "conf_low", "conf_high"), math.nan)
    blank = {**numbers, "n": total, "method": methods.MOVER_CELLS}
    if not total > 0:
        return {**blank, "flag": flags.NO_DATA}
    weight, why = _weights(counts.columns.take(cells.first), split)
    added = np.zeros((len(answers), cells.size, 3))
    added[np.arange(len(answers)), cells.code] = answers
    if not why and (added.sum(axis=(0, 2)) == 0).any():
        why = flags.EMPTY_CELL
    if why:
        return {**blank, "flag": why}
    cluster = counts.clusters.column if counts.bootstrap is None else None
    if cluster is None:
        row = cell_mean(added.sum(axis=0), weight, counts.conf_level).cells
    else:
        unit = counts.columns.codes([cluster])
        sums = np.zeros((unit.size, *added.shape[1:]))
        np.add.at(sums, unit.code, added)
        size = sums.sum(axis=(1, 2))
        row = clustered_cell_mean(sums, weight, cluster, counts.conf_level).flagged(flags.few_clusters(size)).cells
    if counts.bootstrap is not None and not math.isnan(row["estimate"]):

        def mean(totals: Floats) -> Floats:
            cells = totals.reshape(len(totals), -1, 3)
            return quotient(cells[:, :, 0] - cells[:, :, 1], cells.sum(axis=2)) @ weight

        row |= counts.resampled(added.reshape(len(added), -1), mean, key)
    small = flags.SMALL_N if total < 30 else ""
    return {**row, "n": total, "flag": flags.join(counts.clusters.flag, row.get("flag"), small)}


def _weights(cells: Factors, split: Sequence[str]) -> tuple[Floats, str]:
    """Weights of the cells; and a flag where a position average lacks the target in one slot."""
    if TARGET_SLOT not in split:
        return np.full(len(cells), 1 / len(cells)), ""
    outer = [c for c in split if c != TARGET_SLOT]
    slots = np.bincount(cells.codes(outer).code)
    return np.full(len(cells), 1 / (2 * slots.size)), "" if (slots == 2).all() else flags.ONE_POSITION
