"""Chance-corrected agreement: :func:`kappa`, :func:`scott_pi` and :func:`ac1`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import ndtr, stdtr

from judgestats import flags, methods
from judgestats.counting.bootstrap import Bootstrap, Statistic, planned
from judgestats.counting.clustering import UNIT, Cluster
from judgestats.counting.counts import Counts
from judgestats.counting.judge_answers import SIDES, answer_panel
from judgestats.counting.patterns import PATTERNS
from judgestats.counting.raters import GOLD, GOLD_CANDIDATE
from judgestats.counting.repeats import OfRepeats, Repeats, chosen_answers, plain
from judgestats.counting.splitting import as_runs, reference_as_runs
from judgestats.counting.study import Study
from judgestats.counting.tallies import count, is_tally
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose
from judgestats.estimate import jackknifed, student, varies
from judgestats.kernels.chance import Chance, agreement_parts, chance_agreement, chance_corrected
from judgestats.kernels.cluster_sums import NEARLY_INDEPENDENT, effective_clusters, sums_within
from judgestats.kernels.cohens_kappa import (
    agreement_of_sums,
    cell_agreement,
    cohen_kappa,
    corrected,
    kappa_of_all,
    kappa_of_sums,
    kappa_sums,
    weighted_kappa,
)
from judgestats.kernels.coincidences import Units
from judgestats.metrics.agreement.rated_units import (
    OfPair,
    UnitGroup,
    by_criterion,
    drawing_units,
    few_disagreements,
    interval_method,
    number_of,
    positions,
    possible_answers,
    unit_groups,
    units_and_cluster,
    units_of_pairs,
)
from judgestats.metrics.exclusions import missing_counted
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import pairs_of_judges
from judgestats.results import estimates, frame_of
from judgestats.schema.classes import declared_classes, is_answer
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, names
from judgestats.schema.factors import Factors
from judgestats.schema.opening import frame_columns
from judgestats.typing import Floats, Integers, Ints, Record

#: Weights for partial agreement.
Weights = Literal["linear", "quadratic"]

#: Weighting -> power of the distance between two answers.
_POWERS: dict[Weights, float] = {"linear": 1, "quadratic": 2}


def agreement_weights(values: Floats, weights: Weights | None) -> Floats:
    """Agreement weights (m, m): 1 for equal answers, falling with the distance or its square to 0 for the farthest."""
    if weights is None or values.size < 2:
        return np.eye(values.size)
    choose(weights, tuple(_POWERS), "weights")
    if np.isnan(values).any():
        raise DesignError(
            f"weights={weights!r} needs answers with an order: numbers, or {', '.join(SIDES)}. Code the answers as "
            "numbers, or use weights=None."
        )
    distance = np.abs(values[:, None] - values) / (values.max() - values.min())
    result: Floats = 1 - distance ** _POWERS[weights]
    return result


EXTRA = ("observed", "expected", "z", "p_value")


def planned_or_none(
    interval: str, cluster: Sequence[str], n_resamples: int, seed: int | np.random.Generator | None, conf_level: float
) -> Bootstrap | None:
    """Bootstrap that the arguments ask for; None for the asymptotic interval."""
    if interval == "asymptotic":
        return None
    return planned(interval, list(cluster) or None, None, n_resamples, seed, conf_level)


def unit_bootstrap(counts: Counts, added: Floats, statistic: Statistic, plan: Bootstrap, key: Record) -> Record:
    """As :meth:`Counts.resampled`, for a bootstrap of units with all their answers."""
    cells = counts.resampled(added, statistic, key, plan=plan)
    small = flags.SMALL_N if counts.n.sum() < 30 else ""
    return {**cells, "method": drawing_units(cells["method"]), "flag": flags.join(cells["flag"], small)}


def joint_intervals(
    data: Study | IntoFrame,
    groups: list[str],
    weights: Weights | None,
    coefficient: str,
    plan: Bootstrap | None,
    column: str | None,
    conf_level: float,
) -> dict[tuple[str, ...], Record]:
    """Interval of the kappa of all pairs of each group: units, or clusters, are left out or drawn with all answers."""
    intervals = {}
    judge_answers = answer_panel(data, groups, [column] if column else [])
    w = agreement_weights(positions(judge_answers.answers), weights)
    for key, table, pairs in units_of_pairs(judge_answers, groups, column):
        if not pairs:
            continue
        if plan is None:
            cells = _left_out(table, pairs, w, coefficient, column, conf_level)
        else:
            cells = _drawn_pairs(table, pairs, w, coefficient, plan, key)
        n, differs = table["n"].to_numpy(dtype=float), np.zeros(len(table), dtype=bool)
        for unit, one, two, _ in pairs:
            differs[unit[one != two]] = True
        few = few_disagreements(cells, float(n[differs].sum()))
        intervals[plain(key)] = {**cells, "flag": flags.join(cells["flag"], few)}
    return intervals


def _left_out(
    table: pd.DataFrame, pairs: Sequence[OfPair], w: Floats, coefficient: str, column: str | None, conf_level: float
) -> Record:
    """Interval from the jackknife of units, or of clusters."""
    n = table["n"].to_numpy(dtype=float)
    if column is None:
        row, alike, size, often = np.arange(n.size), n, np.ones(n.size), np.ones(n.size)
    else:
        clusters = codes_of(table, [column])
        row, often, size = clusters.code, n, np.bincount(clusters.code, n, clusters.size)
        alike = np.ones(clusters.size)
    sums = [kappa_sums(one, two, often[unit] * share, row[unit], size.size, w) for unit, one, two, share in pairs]
    totals = [alike @ own for own in sums]
    whole = [agreement_of_sums(total[None], w) for total in totals]
    without = [agreement_of_sums(total - own, w) for total, own in zip(totals, sums, strict=True)]
    value, others = (kappa_of_all(each, coefficient) for each in (whole, without))
    apart = np.sum([own[:, 0] - own[:, 1] for own in sums], axis=0)
    cells = _without_each(float(value[0]), others, size, apart, column or "", conf_level, alike)
    cells.pop("p_value", None)
    return cells


def _drawn_pairs(
    table: pd.DataFrame, pairs: Sequence[OfPair], w: Floats, coefficient: str, plan: Bootstrap, key: Record
) -> Record:
    """Interval from a bootstrap of units, or of clusters."""
    n, blocks, cells = table["n"].to_numpy(dtype=float), [], []
    for unit, one, two, share in pairs:
        used, cell = np.unique(one * len(w) + two, return_inverse=True)
        blocks.append(np.zeros((len(table), used.size)))
        np.add.at(blocks[-1], (unit, cell), n[unit] * share)
        cells.append(np.divmod(used, len(w)))
    ends = np.cumsum([0, *(len(row) for row, _ in cells)])

    def of_all(totals: Floats) -> Floats:
        parts = zip(cells, ends, ends[1:], strict=False)
        each = [cell_agreement(totals[:, a:b], row, column, w) for (row, column), a, b in parts]
        return kappa_of_all(each, coefficient)

    return unit_bootstrap(Counts.of(table), np.concatenate(blocks, axis=1), of_all, plan, key)


def panel(
    data: Study | IntoFrame,
    term: str,
    coefficient: str,
    weights: Weights | None,
    labels: Sequence[Any] | None,
    by: By,
    cluster: Cluster,
    drawing: tuple[str, int, int | np.random.Generator | None, float],
) -> pd.DataFrame:
    """A coefficient of all judges per group. `drawing`: interval, number of resamples, seed and coverage."""
    interval, n_resamples, seed, conf_level = drawing
    data, column, dependent = units_and_cluster(data, by, cluster)
    plan = planned_or_none(interval, [column] if column else [], n_resamples, seed, conf_level)
    judge_answers = answer_panel(data, by, [column] if column else [])
    used: defaultdict[str, list[Integers]] = defaultdict(list)
    groups = list(unit_groups(judge_answers, by, column))
    for group in groups:
        used[str(group.key.get("criterion"))].append(group.units.code)
    possible = {
        c: possible_answers(judge_answers.answers, labels, np.unique(np.concatenate(x))) for c, x in used.items()
    }
    rows = []
    for group in groups:
        answers, code = possible[str(group.key.get("criterion"))]
        group = replace(group, units=group.units.recoded(code))
        w = agreement_weights(positions(answers), weights)
        rows.append(_coefficient_row(group, term, coefficient, w, column, plan, conf_level, dependent))
    extra = EXTRA if coefficient == "fleiss" else [c for c in EXTRA if c != "z"]
    by = list(dict.fromkeys(names(by)))
    return missing_counted(estimates(rows, by, extra), data, by)


def pairwise(
    counts: Counts,
    term: str,
    coefficient: str,
    weights: Weights | None,
    labels: Sequence[Any] | None,
    by: By,
    drawing: tuple[str, int, int | np.random.Generator | None, float],
) -> pd.DataFrame:
    """A coefficient of each pair of judges, or of each judge and a reference, from the tally of their answers."""
    interval, n_resamples, seed, conf_level = drawing
    table, column, dependent = counts.table, counts.clusters.column, counts.clusters.flag
    plan = planned_or_none(interval, [column] if column else [], n_resamples, seed, conf_level)
    sides = (
        table["answer"].where(is_answer(table["answer"])),
        table["other_answer"].where(is_answer(table["other_answer"])),
    )
    answer_code, answers = pd.factorize(pd.concat(sides, ignore_index=True).astype(object), sort=True)
    both = answer_code.reshape(2, -1).T
    criterion = counts.columns.codes(["criterion"] if "criterion" in names(by) else [])
    own = [possible_answers(answers, labels, np.unique(both[criterion.code == c])) for c in range(criterion.size)]
    keys = [*dict.fromkeys(names(by)), "judge", "other"]
    rows = []
    for pair_key, of_pair in counts.columns.each_group(keys, sort=True):
        possible, code = own[criterion.code[of_pair[0]]]
        w = agreement_weights(positions(possible), weights)
        pair, n = np.where(both[of_pair] < 0, -1, code[both[of_pair]]), counts.n[of_pair]
        answered = pair >= 0
        same_answer = (pair[:, 0] == pair[:, 1]) & answered[:, 0]
        size = np.where(same_answer, 1, answered.sum(axis=1))
        has_answer = size > 0
        values = [
            [p[0]] if a else [v for v in p if v >= 0]
            for p, a in zip(pair[has_answer], same_answer[has_answer], strict=True)
        ]
        times = np.repeat(np.where(same_answer[has_answer], 2.0, 1.0), size[has_answer])
        start = np.concatenate([[0], np.cumsum(size[has_answer])]).astype(np.int64)
        units = Units(start, np.array([v for vs in values for v in vs], dtype=np.int64), times)
        patterns = frame_of({"n": n[has_answer]} | {c: table[c].array[of_pair[has_answer]] for c in [column] if c})
        group = UnitGroup(pair_key, units, n[has_answer], patterns, float(n[~has_answer].sum()))
        rows.append(_coefficient_row(group, term, coefficient, w, column, plan, conf_level, dependent))
    return estimates(rows, keys, EXTRA if coefficient == "fleiss" else [c for c in EXTRA if c != "z"])


def _coefficient_row(
    group: UnitGroup,
    term: str,
    coefficient: str,
    w: Floats,
    column: str | None,
    plan: Bootstrap | None,
    conf_level: float,
    dependent: str,
) -> Record:
    """A coefficient of one group of units, with its interval."""
    units = group.units
    fit = chance_corrected(units, group.n, w, coefficient)
    cells: Record = {"term": term, "estimate": fit.estimate, "n": group.paired, "method": interval_method(plan)}
    cells |= {"observed": fit.observed, "expected": fit.expected if group.paired else math.nan}
    if np.isnan(fit.estimate):
        cells["flag"] = flags.ONE_LABEL if group.paired else flags.NO_PAIRS
    elif plan is None and column is None:
        cells |= _student_cells(fit, group.n, conf_level)
    else:
        agreement, shares = agreement_parts(units, w)
        counts = np.column_stack([units.judges >= 2, agreement, shares]) * group.n[:, None]

        def of_units(totals: Floats) -> Floats:
            with np.errstate(divide="ignore", invalid="ignore"):
                observed = totals[:, 1] / totals[:, 0]
                expected = chance_agreement(totals[:, 2:] / totals[:, 2:].sum(axis=1, keepdims=True), w, coefficient)
            return corrected(observed, expected)

        if plan is not None:
            cells |= unit_bootstrap(Counts.of(group.table), counts, of_units, plan, group.key)
        else:
            assert column is not None
            unit = codes_of(group.table, [column])
            sums = sums_within(counts, unit.code, unit.size)
            cells |= _over_clusters(fit.estimate, sums, of_units, column, conf_level)
    cells["flag"] = flags.join(cells["flag"], few_disagreements(cells, group.discordant))
    if coefficient == "fleiss":
        cells |= {"z": math.nan, "p_value": math.nan} if column else _fleiss_test(units, group.n, fit, w)
    return {**group.key, **cells, "flag": flags.join(cells["flag"], *group.exclusions, dependent)}


def _fleiss_test(units: Units, n: Floats, fit: Chance, w: Floats) -> Record:
    """Test that Fleiss's kappa is 0 (Fleiss, Nee and Landis 1979); NaN unless all units have equally many answers.

    NaN too where repeats differ.
    """
    judges = units.judges[n > 0]
    if np.isnan(fit.estimate) or units.repeats or (judges != judges[0]).any() or (w != np.eye(len(w))).any():
        return {"z": math.nan, "p_value": math.nan}
    p = n @ agreement_parts(units, w)[1] / n.sum()
    chance = (p * (1 - p)).sum()
    spread = chance**2 - (p * (1 - p) * (1 - 2 * p)).sum()
    null_error = math.sqrt(2 * max(spread, 0.0) / (n.sum() * judges[0] * (judges[0] - 1))) / chance
    z = fit.estimate / null_error if null_error > 0 else math.nan
    return {"z": z, "p_value": float(2 * ndtr(-abs(z)))}


def _student_cells(fit: Chance, n: Floats, conf_level: float) -> Record:
    """Student's interval over units, and the test of 0."""
    if n.sum() < 2:
        return {"flag": flags.ONE_UNIT}
    small = flags.SMALL_N if n.sum() < 30 else ""
    return _limited_interval(fit.estimate, fit.std_error, conf_level, float(n.sum()) - 1, small)


def _over_clusters(value: float, sums: Floats, statistic: Statistic, column: str, conf_level: float) -> Record:
    """Interval of a coefficient, and the test of 0; `sums` (G, 2 or more): units, agreement and others of a cluster."""
    without, size = statistic(sums.sum(axis=0) - sums), sums[:, 0]
    return _without_each(value, without, size, size - sums[:, 1], column, conf_level, np.ones(len(sums)))


def _without_each(
    value: float, without: Floats, size: Floats, apart: Floats, column: str, conf_level: float, alike: Floats
) -> Record:
    """Interval of a coefficient from its values without each cluster of `size` units, `alike` of each.

    `apart`: disagreement in a cluster. The variance comes from clusters that have some: of clusters of more than 3
    units on average there are no more degrees of freedom than of a mean over as many clusters as these are worth.
    """
    many = float(alike @ size) > NEARLY_INDEPENDENT * float(alike.sum())
    most_df = max(effective_clusters(np.maximum(apart, 0.0), alike) - 1.0, 1.0) if many else math.inf
    estimate = jackknifed(value, without, size, column, conf_level, alike=alike, most_df=most_df)
    perfect = flags.PERFECT_AGREEMENT if value > 1 - 1e-12 else ""
    flag = flags.join(perfect, estimate.flag, flags.SMALL_N if alike @ size < 30 else "")
    return {**estimate.interval, "flag": flag}


def _limited_interval(estimate: float, std_error: float, conf_level: float, df: float, small: str) -> Record:
    """Interval within -1 and 1, none without a standard error: normal, or Student's with its p-value for finite `df`.

    Scott's pi of answers that never agree is below -1: then there is no lower bound.
    """
    perfect = estimate > 1 - 1e-12  # whose standard error is rounding
    if perfect or not varies(estimate, std_error):
        return {"flag": flags.join(flags.PERFECT_AGREEMENT if perfect else flags.NO_SPREAD, small)}
    bounds, by = (-1.0 if estimate >= -1 else -math.inf, 1.0), methods.ASYMPTOTIC
    cells = student(estimate, std_error, df, conf_level=conf_level, method=by, flag=small, bounds=bounds).interval
    return cells if math.isinf(df) else {**cells, "p_value": float(2 * stdtr(df, -abs(estimate / std_error)))}


def _answers_and_reference(
    data: IntoFrame, reference: Any, weights: Weights | None, by: By, repeats: Repeats
) -> tuple[Study | IntoFrame, Any, OfRepeats]:
    """The answers of judges and of a reference, by :func:`chosen_answers`; and what is said of repeats."""
    how = "mode" if weights is None else "low median"
    if reference is None or (isinstance(reference, str) and reference not in (GOLD, GOLD_CANDIDATE)):
        study, said = chosen_answers(data, repeats, how, by)
        return study, reference, said
    frame = nw.from_native(reference, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame) or "judge" not in frame_columns(frame):
        return data, reference, OfRepeats()
    present = frame_columns(frame)
    reference, said = chosen_answers(reference, repeats, how, [c for c in names(by) if c in present])
    return data, reference, OfRepeats(said.method and f"{said.method} of the reference")


def _noted(rows: pd.DataFrame, weights: Weights | None, repeats: OfRepeats, by: By = ()) -> pd.DataFrame:
    """Name the weights in the method; and there and in the flag of each group or pair of judges what repeats are."""
    further = ", ".join(filter(None, (f"{weights} weights" if weights else "unweighted", repeats.method)))
    noted = [methods.method_of(method).noting(further) for method in rows["method"].tolist()]
    rows["method"] = pd.Series(noted, rows.index, dtype="str")
    if not repeats.method:
        return rows
    flag = []
    for row in rows.to_dict("records"):
        pair = [row["judge"], row["other"]] if "other" in row else None
        flag.append(flags.join(row["flag"], repeats.flag(plain({c: row[c] for c in names(by)}), pair)))
    return rows.assign(flag=pd.Series(flag, rows.index, dtype="str"))


Interval = Literal["asymptotic", "percentile", "bca"]
#: ``pairs=`` -> the kappa of all judges that is made from those of pairs.
JOINT = {"average": "light", "conger": "conger"}


@Measure(
    "Do two judges (or all) agree beyond chance?",
    "agreement",
    "P, R, counts",
    "asymptotic; clustered: t, jackknife; bootstrap",
    "Cohen 1960, 1968; Light 1971; Fleiss 1971; Conger 1980; debiasing, Table 6",
    plot="kappa_matrix",
    frames=("preferences",),
    needs=(pairs_of_judges,),
    caption="Agreement beyond chance of each pair of judges, on the items that both judged.",
    terms=(Term("kappa", "κ (Cohen)"),),
    classes=True,
    have=("judges",),
    assumes="Each judge has its own distribution of answers; units are independent, unless they share a cluster.",
)
def kappa(
    data: IntoFrame,
    *,
    reference: Any = None,
    weights: Weights | None = None,
    pairs: Literal["all", "average", "conger", "fleiss"] = "all",
    repeats: Repeats = "single",
    by: By = (),
    average_over: By = (),
    interval: Interval = "asymptotic",
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Cohen's kappa of each pair of judges, or of each judge with people or gold answers.

    Parameters
    ----------
    data : frame
        Preferences: a unit is an item with a pair of candidates, in either order; the answer is the candidate with the
        lower id, a tie (or abstention), or the other candidate; an invalid call is missing. Or ratings: a unit is a
        system, item and criterion; the answer is the score. Calls under several conditions or in both orders are
        matched between judges by these. Several criteria are not pooled: each has its own rows. Or a tally: ``judge,
        other, answer, other_answer, n`` (a published table of two raters, say).
    reference : None, 'gold', 'gold_candidate', judge or frame
        None: every pair of judges. ``'gold'``: the column ``gold``; for preferences both answers are then slots (first,
        second, tie), as in the paper and in :func:`gold_agreement`. ``'gold_candidate'``: the same with candidates as
        answers, as between judges, who may have seen different orders. A judge's name, or a frame with other answers
        (of a single reference if it has no column ``judge``), matched on the columns that it has.
    weights : {None, 'linear', 'quadratic'}
        Partial agreement of different answers, by the distance of their values (scores) or of their ranks (lower id,
        tie, higher id). ``method`` names them; None is ``unweighted``.
    pairs : {'all', 'average', 'conger', 'fleiss'}
        A row for each pair of judges; or one of all judges: the mean kappa of all pairs (Light); Conger's, from the
        mean observed and the mean expected agreement of all pairs, where each judge has its own distribution of
        answers; or Fleiss's, where all have one, with Gwet's treatment of missing answers.
    repeats : {'single', 'majority'}
        Of several answers of a judge to one unit (``replicate``). By default the agreement of single answers: all pairs
        of answers of two judges count, each 1 / (repeats of one times those of the other), whatever their numbers;
        ``method`` says so, and the flag counts the sets of repeats that differ. ``'majority'``: the agreement of what
        most of them say, their mode, with `weights` the lower median of scores; repeats without a single mode are no
        answer. Beside gold, or a frame, each repeat counts.
    by : str or sequence of str
        Further grouping columns. Answers are matched within them.
    average_over : str or sequence of str
        Columns whose values are treated as repeats, as in :func:`score_matrix`: a column that splits the ratings and is
        neither here nor in `by` is an error.
    interval : {'asymptotic', 'percentile', 'bca'}
        Large-sample, or a bootstrap of the units. For a mean of pairs, and for Conger's kappa, the first is t from the
        jackknife of units with the answers of all judges; a tally of pairs, or a reference, gives no interval of these.
    cluster : "auto", str or False
        Column that units share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all units as independent, with a flag where they are not. The asymptotic interval is
        then t, from the jackknife of clusters.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Term ``kappa``, per ``judge`` and ``other`` where there are pairs; ``n`` counts the units that both answered (of
        all pairs together where there is one row of them; for Fleiss, two judges or more), and the flag those without
        two valid answers. Further columns: ``observed`` and ``expected`` agreement; ``z`` and ``p_value`` of the
        hypothesis that kappa is 0, with the standard error under that hypothesis (with clusters, p of t with the
        standard error of the interval). Kappa is NaN, flagged, where both always gave the same single answer, and for
        two judges without a common unit (``n`` is 0).

    Raises
    ------
    SchemaError
        If a column is missing or contains invalid values.
    DesignError
        If no unit has two judges, an option is unknown, or answers without an order are to be weighted.

    See Also
    --------
    compare_versions : The difference of two judges' kappas with people, with its interval.
    scott_pi : Agreement, with one distribution of answers.
    ac1 : Agreement where one answer is very frequent.
    alpha : Agreement of all judges, with answers possibly missing.

    Notes
    -----
    Intervals end at 1. Where agreement is perfect there is no interval. The test of Fleiss's kappa (Fleiss, Nee and
    Landis 1979) needs equally many answers on each unit, and is NaN otherwise.

    References
    ----------
    Cohen (1960, 1968); standard errors: Fleiss, Cohen and Everitt (1969). Mean of pairs: Light (1971). Several judges:
    Conger (1980, Psychological Bulletin 88, 322-328); Fleiss (1971); its standard error: Gwet (2008). Debiasing paper,
    Table 6.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"judge": "g", "other": "h", "answer": [1, 1, 2, 3, 3], "other_answer": [2, 3, 2, 2, 3],
    ...                       "n": [4, 1, 8, 1, 5]})
    >>> kappa(table)[["judge", "other", "estimate", "std_error", "conf_low", "conf_high", "z", "n"]].round(4)
      judge other  estimate  std_error  conf_low  conf_high       z     n
    0     g     h    0.4842      0.138    0.2137     0.7547  3.2626  19.0
    >>> kappa(table, weights="linear")["estimate"].round(4).tolist()
    [0.4701]
    """
    data, reference = as_runs(data, average_over, by), reference_as_runs(reference, average_over)
    by = by_criterion(data, by)
    planned_or_none(interval, (), n_resamples, seed, conf_level)
    if pairs == "fleiss":
        if reference is not None:
            raise DesignError("pairs='fleiss' is for all judges together. Leave reference= out.")
        drawing = (interval, n_resamples, seed, conf_level)
        answers, _, said = _answers_and_reference(data, None, weights, by, repeats)
        return _noted(panel(answers, "kappa", "fleiss", weights, None, by, cluster, drawing), weights, said, by)
    answers, reference, said = _answers_and_reference(data, reference, weights, by, repeats)
    counts = _pair_counts(answers, by, cluster, reference)
    joint = pairs in JOINT
    by_unit = counts.clusters.columns == (UNIT,)
    clusters = () if by_unit and joint else counts.clusters.columns  # units of all judges are left out or drawn
    plan = planned_or_none(interval, clusters, n_resamples, seed, conf_level)
    column, dependent = counts.clusters.column if plan is None else None, counts.clusters.flag
    groups = list(dict.fromkeys(names(by)))
    if joint:
        alone = reference is not None or _is_kappa_tally(answers)
        if plan is not None and alone:
            raise DesignError(
                f"The interval of pairs={pairs!r} needs the answers of all judges. Give preferences or ratings, and "
                "leave reference= out."
            )
        of, unit = JOINT[pairs], clusters[0] if clusters else None
        intervals = {} if alone else joint_intervals(answers, groups, weights, of, plan, unit, conf_level)
        rows = list(_joint_kappa_rows(counts, groups, weights, of, intervals, dependent))
        return _noted(estimates(rows, groups, ["observed", "expected", "pairs"]), weights, said, groups)
    rows = []
    keys = [*groups, "judge", "other"]
    codes, values = _answer_codes(counts, weights)
    for key, at in counts.grouped(keys).rows_of_groups():
        cells = _cohen_cells(counts.where(at), codes[at], values, weights, plan, column, conf_level, key)
        rows.append({**key, **cells, "flag": flags.join(cells["flag"], dependent)})
    return _noted(estimates(rows, keys, EXTRA), weights, said, groups)


@Measure(
    "Do judges agree beyond chance, where one answer is very frequent?",
    "agreement",
    "P, R",
    "asymptotic, t, over clusters too; bootstrap",
    "Gwet 2008",
    terms=(Term("ac1", "AC1 (Gwet)"),),
    classes=True,
    have=("judges",),
    assumes=(
        "Only items that are hard are answered at random (Gwet); units are independent, unless they share a cluster."
    ),
)
def ac1(
    data: IntoFrame,
    *,
    reference: Any = None,
    weights: Weights | None = None,
    labels: Sequence[Any] | None = None,
    repeats: Repeats = "single",
    by: By = (),
    average_over: By = (),
    interval: Interval = "asymptotic",
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Gwet's AC1 of all judges: chance-corrected agreement that does not fall when one answer is very frequent.

    Parameters
    ----------
    data : frame
        Preferences or ratings, as in :func:`kappa`; answers may be missing.
    reference : None, 'gold', 'gold_candidate', judge or frame
        None: all judges together. Otherwise each judge with this reference, as in :func:`kappa`: a row per ``judge``
        and ``other``.
    weights : {None, 'linear', 'quadratic'}
        AC1, or AC2 with these weights.
    labels : sequence, optional
        All possible answers (the points of the scale; ``low``, ``tie``, ``high``): chance agreement depends on their
        number. By default the classes that ``ratings(frame, classes=...)`` declares, else those that occur in `data`
        (of several criteria in each).
    repeats, by, average_over, interval, cluster, n_resamples, seed, conf_level
        As in :func:`kappa`. The asymptotic interval uses t with one degree of freedom less than there are units.

    Returns
    -------
    pandas.DataFrame
        Term ``ac1`` (``ac2`` with weights); ``n`` counts the units that two or more judges answered. Further columns:
        ``observed`` and ``expected`` agreement, ``p_value`` of the hypothesis that the coefficient is 0. A unit with a
        single answer counts in the shares of the answers, and in a flag.

    Raises
    ------
    SchemaError
        If a column is missing, or an answer is not in `labels`.
    DesignError
        If an option is unknown.

    See Also
    --------
    kappa : Agreement of two judges beyond chance.
    alpha : Agreement of all judges, with answers possibly missing.

    References
    ----------
    Gwet, K. L. (2008). British Journal of Mathematical and Statistical Psychology 61, 29-48.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"judge": list("aabbcc"), "system": "s", "item": list("xyxyxy"),
    ...                        "score": [1, 2, 1, 2, 1, 1]})
    >>> ac1(scores)[["term", "estimate", "observed", "expected", "n"]].round(4)
      term  estimate  observed  expected    n
    0  ac1       0.4    0.6667    0.4444  2.0
    """
    labels = (declared_classes(Study.of(data).origin.data) or None) if labels is None else labels
    data, reference = as_runs(data, average_over, by), reference_as_runs(reference, average_over)
    by = by_criterion(data, by)
    term, drawing = "ac1" if weights is None else "ac2", (interval, n_resamples, seed, conf_level)
    answers, reference, said = _answers_and_reference(data, reference, weights, by, repeats)
    if reference is not None:
        counts = _pair_counts(answers, by, cluster, reference)
        return _noted(pairwise(counts, term, "gwet", weights, labels, by, drawing), weights, said, by)
    return _noted(panel(answers, term, "gwet", weights, labels, by, cluster, drawing), weights, said, by)


@Measure(
    "Do two judges agree beyond chance, if both have one distribution of answers?",
    "agreement",
    "P, R, counts",
    "asymptotic, t, over clusters too; bootstrap",
    "Scott 1955",
    plot="kappa_matrix",
    counted_as="kappa",
    terms=(Term("pi", "π (Scott)"),),
    classes=True,
    have=("judges",),
    assumes="Both judges have one distribution of answers; units are independent, unless they share a cluster.",
)
def scott_pi(
    data: IntoFrame,
    *,
    reference: Any = None,
    weights: Weights | None = None,
    repeats: Repeats = "single",
    by: By = (),
    average_over: By = (),
    interval: Interval = "asymptotic",
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Scott's pi of each pair of judges, or of each judge with people or gold answers.

    Chance agreement is that of two judges with one common distribution of answers, the mean of their two. Cohen's kappa
    keeps the two distributions, and is higher where they differ.

    Parameters
    ----------
    data : frame
        Preferences, ratings or a tally, as in :func:`kappa`.
    reference : None, 'gold', 'gold_candidate', judge or frame
        As in :func:`kappa`.
    weights : {None, 'linear', 'quadratic'}
        As in :func:`kappa`.
    repeats, by, average_over, interval, cluster, n_resamples, seed, conf_level
        As in :func:`kappa`. The asymptotic interval uses t with one degree of freedom less than there are units.

    Returns
    -------
    pandas.DataFrame
        Term ``pi`` per ``judge`` and ``other``; ``n`` counts the units that both answered. Further columns:
        ``observed`` and ``expected`` agreement; ``z`` and ``p_value`` of the hypothesis that pi is 0 (NaN with
        clusters or weights). A unit with one valid answer counts in the shares of the answers, and in a flag. NaN,
        flagged, for two judges without a common unit.

    Raises
    ------
    SchemaError
        If a column is missing or contains invalid values.
    DesignError
        If no unit has two judges, an option is unknown, or answers without an order are to be weighted.

    See Also
    --------
    kappa : Agreement of two judges beyond chance.
    alpha : Agreement of all judges, with answers possibly missing.

    References
    ----------
    Scott, W. A. (1955). Public Opinion Quarterly 19, 321-325. Standard error: Gwet (2008), for Fleiss's kappa, which
    equals pi for two judges.

    Examples
    --------
    Two coders of a hundred acts (Artstein and Poesio 2008, Table 3):

    >>> import pandas as pd
    >>> table = pd.DataFrame({"judge": "A", "other": "B", "answer": ["stat", "stat", "ireq", "chck", "chck"],
    ...                       "other_answer": ["stat", "ireq", "ireq", "ireq", "chck"], "n": [46, 6, 32, 6, 10]})
    >>> scott_pi(table)[["judge", "other", "term", "estimate", "observed", "expected", "n"]].round(4)
      judge other term  estimate  observed  expected      n
    0     A     B   pi    0.7995      0.88    0.4014  100.0
    """
    data, reference = as_runs(data, average_over, by), reference_as_runs(reference, average_over)
    by = by_criterion(data, by)
    answers, reference, said = _answers_and_reference(data, reference, weights, by, repeats)
    counts = _pair_counts(answers, by, cluster, reference)
    drawing = (interval, n_resamples, seed, conf_level)
    rows = pairwise(counts, "pi", "fleiss", weights, None, by, drawing)
    return missing_counted(_noted(rows, weights, said, by), answers, names(by))


def _pair_counts(data: Study | IntoFrame, by: By, cluster: Cluster, reference: Any) -> Counts:
    if reference is not None and _is_kappa_tally(data):
        raise DesignError("A table of counts already names its pairs. Leave reference= out.")
    counts = count(data, "kappa", by, cluster=cluster, baseline=reference)
    return counts if _is_kappa_tally(data) else _with_every_pair(counts, data, by, among_judges=reference is None)


def _with_every_pair(counts: Counts, data: Study | IntoFrame, by: By, *, among_judges: bool) -> Counts:
    """Add a count of 0 for two judges of a group, or a judge and the reference, that share no unit: they get a row."""
    groups = list(dict.fromkeys(names(by)))
    study = Study.of(data).in_memory([*groups, "judge"], distinct=True)
    pairs = {tuple(map(str, pair)) for pair in _combinations(counts.columns, [*groups, "judge", "other"])}
    references: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    judges: defaultdict[tuple[object, ...], set[str]] = defaultdict(set)
    for *group, _, other in pairs:
        references[tuple(group)].add(other)
    for *labels, judge in _combinations(study.columns, [*groups, "judge"]):
        judges[tuple(labels)] |= set() if judge is None else {str(judge)}
    references_of_all, rows = set().union(*references.values()), []
    for key, of_group in judges.items():
        text = tuple(map(str, key))
        others = references_of_all if len(references_of_all) == 1 else references[text]
        judge_pairs = combinations(sorted(of_group), 2) if among_judges else product(sorted(of_group), sorted(others))
        absent = [pair for pair in judge_pairs if pair[0] != pair[1] and (*text, *pair) not in pairs]
        row = {c: math.nan if x is None else x for c, x in zip(groups, key, strict=True)}
        rows += [{**row, "judge": one, "other": two, "n": 0.0} for one, two in absent]
    if not rows:
        return counts
    table = pd.concat([counts.table, pd.DataFrame(rows)], ignore_index=True)
    return Counts.of(table, counts.groups, counts.clusters)


def _combinations(columns: Factors, keys: list[str]) -> list[tuple[object, ...]]:
    """Distinct labels of some columns, sorted."""
    first = columns.ranked(keys).first
    return list(zip(*(np.asarray(f.labels, dtype=object)[f.code[first]] for f in columns.of(keys)), strict=True))


def _is_kappa_tally(data: Study | IntoFrame) -> bool:
    return is_tally(Study.of(data).names, PATTERNS["kappa"])


def _answer_codes(counts: Counts, weights: Weights | None) -> tuple[Ints, Floats]:
    """(R, 2) codes of the two answers, -1 for none; and the positions of the answers."""
    both = [counts.columns[c] for c in ("answer", "other_answer")]
    every = pd.Series([*dict.fromkeys([*both[0].labels, *both[1].labels])], dtype=object)
    answers = sorted(every[is_answer(every)])
    place = {x: i for i, x in enumerate(answers)}
    codes = [np.array([place.get(x, -1) for x in f.labels], dtype=np.int64)[f.code] for f in both]
    values = positions(answers) if weights is not None else np.zeros(len(answers))
    return np.column_stack(codes), values


def _cohen_cells(
    part: Counts,
    codes: Ints,
    values: Floats,
    weights: Weights | None,
    plan: Bootstrap | None,
    cluster: str | None,
    conf_level: float,
    key: Record,
) -> Record:
    """Kappa of one pair of judges: the cells of its row."""
    one, two, n = codes[:, 0], codes[:, 1], part.n
    good = (one >= 0) & (two >= 0)
    total = number_of(n[good])
    cells: Record = {"term": "kappa", "estimate": math.nan, "n": total, "method": interval_method(plan)}
    excluded = flags.EXCLUDED.of(number_of(n[~good]), what="unit(s) without two answers")
    if not total > 0:
        return {**cells, "flag": flags.join(flags.NO_PAIRS, excluded)}
    used, code = np.unique(np.concatenate([one[good], two[good]]), return_inverse=True)
    row, column = code[: good.sum()], code[good.sum() :]
    w = agreement_weights(values[used], weights)
    shares = np.bincount(row * used.size + column, weights=n[good] / n[good].sum(), minlength=used.size**2).reshape(
        w.shape
    )
    fit = cohen_kappa(shares * total, w)
    margins = shares.sum(axis=1), shares.sum(axis=0)
    cells |= {"estimate": float(fit.estimate), "observed": (shares * w).sum(), "expected": margins[0] @ w @ margins[1]}
    if np.isnan(fit.estimate):
        return {**cells, "flag": flags.join(flags.ONE_LABEL, excluded)}
    if min(map(np.count_nonzero, margins)) < 2:  # observed equals expected agreement whatever the other answers
        return {**cells, "estimate": 0.0, "flag": flags.join(flags.BY_STRUCTURE, excluded)}
    if fit.null_error > 0 and cluster is None:
        cells["z"] = float(fit.estimate / fit.null_error)
        cells["p_value"] = float(2 * ndtr(-abs(cells["z"])))
    if cluster is not None:
        unit = part.where(good).columns.codes([cluster])
        sums = kappa_sums(row, column, n[good], unit.code, unit.size, w)
        cells |= _over_clusters(float(fit.estimate), sums, partial(kappa_of_sums, weights=w), cluster, conf_level)
    elif plan is None and weights is not None and total >= 30:
        cells |= _weighted_interval(float(fit.estimate), row, column, n[good], w, values[used], conf_level)
    elif plan is None:
        cells |= _limited_interval(
            float(fit.estimate), float(fit.std_error), conf_level, math.inf, flags.SMALL_N if total < 30 else ""
        )
    else:
        cells |= _kappa_bootstrap(part.where(good), row, column, w, plan, key)
    few = few_disagreements(cells, number_of(n[good][row != column]))
    return {**cells, "flag": flags.join(cells["flag"], few, excluded)}


def _weighted_interval(
    value: float, row: Ints, column: Ints, n: Floats, w: Floats, values: Floats, conf_level: float
) -> Record:
    """Interval of a weighted kappa from the jackknife of units, whose disagreements may be of very unequal size."""
    cell, code = np.unique(row * len(w) + column, return_inverse=True)
    alike, ones = np.bincount(code, n).astype(float), np.ones(cell.size)
    sums = kappa_sums(*np.divmod(cell, len(w)), ones, np.arange(cell.size), cell.size, w)
    without = kappa_of_sums(alike @ sums - sums, w)
    estimate = jackknifed(value, without, ones, "", conf_level, alike=alike)
    one, two = np.divmod(cell, len(w))
    perfect = flags.PERFECT_AGREEMENT if value > 1 - 1e-12 else ""
    interval = estimate.flagged(flags.few_large_errors(values[one] - values[two], alike)).interval
    interval.pop("p_value", None)  # that of the test of 0 is asymptotic
    return {**interval, "flag": flags.join(perfect, interval["flag"])}


def _kappa_bootstrap(part: Counts, row: Ints, column: Ints, w: Floats, plan: Bootstrap, key: Record) -> Record:
    cell, first = np.unique(row * len(w) + column, return_index=True)
    which = np.searchsorted(cell, row * len(w) + column)
    counts = np.zeros((len(part.n), cell.size))
    counts[np.arange(len(part.n)), which] = part.n
    one, two = row[first], column[first]
    return unit_bootstrap(part, counts, lambda totals: weighted_kappa(totals, one, two, w), plan, key)


def _joint_kappa_rows(
    counts: Counts,
    groups: list[str],
    weights: Weights | None,
    coefficient: str,
    intervals: dict[tuple[str, ...], Record],
    dependent: str,
) -> Iterator[Record]:
    """Kappa of all pairs of judges, per group: their mean (Light), or Conger's."""
    codes, values = _answer_codes(counts, weights)
    for key, at in counts.grouped(groups).rows_of_groups():
        pairs = (at[p] for _, p in counts.where(at).grouped(["judge", "other"]).rows_of_groups())
        pair_cells = [
            _cohen_cells(counts.where(p), codes[p], values, weights, None, None, CONF_LEVEL, {}) for p in pairs
        ]
        rows = pd.DataFrame(pair_cells).reindex(columns=["estimate", "observed", "expected", "n"])
        there = rows["estimate"].notna()
        cells = intervals.get(plain(key), {"method": methods.MEAN_OF_PAIRS, "flag": ""})
        flag = flags.join(cells["flag"], flags.UNDEFINED.of(float((~there).sum()), what="pair(s)"), dependent)
        means = {c: rows.loc[there, c].mean() for c in ("observed", "expected")}
        value = rows["estimate"].mean()
        if coefficient == "conger":
            value = corrected(np.array(means["observed"]), np.array(means["expected"]))
        cells |= {"estimate": float(value), **means, "pairs": float(there.sum()), "n": rows["n"].sum(), "flag": flag}
        yield {**key, "term": "kappa", **cells}
