"""Agreement beyond chance of judges who answer on the same things: :func:`kappa` and :func:`ac1`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit

from judgestats.errors import DesignError, choose
from judgestats.kernels.chance import weighted_kappa
from judgestats.kernels.contingency import cohen_kappa, kappa_influence
from judgestats.kernels.proportions import normal_quantile
from judgestats.metrics.agreement.labels import (
    NO_PAIRS,
    ONE_LABEL,
    PERFECT,
    Weights,
    agreement_weights,
    few_disagreements,
    is_answer,
    positions,
)
from judgestats.metrics.agreement.panels import (
    EXTRA,
    beside,
    drawn,
    in_words,
    mean_intervals,
    panel,
    plain,
    planned_or_none,
)
from judgestats.metrics.resampled import Bootstrap
from judgestats.results import BY_STRUCTURE, SMALL_N, estimates, few_clusters, flags
from judgestats.schema.clustering import Cluster, column_of, columns_of, dependence
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, grouping
from judgestats.schema.counting import is_tally, tally
from judgestats.schema.patterns import PATTERNS
from judgestats.schema.splitting import as_runs, reference_as_runs

Floats = NDArray[np.float64]
Key = dict[str, Any]
Interval = Literal["asymptotic", "percentile", "bca"]
INTERVALS: tuple[Interval, ...] = ("asymptotic", "percentile", "bca")


def kappa(
    data: Any,
    *,
    against: Any = None,
    weights: Weights | None = None,
    pairs: Literal["all", "average", "fleiss"] = "all",
    by: By = (),
    average_over: By = (),
    interval: Interval = "asymptotic",
    cluster: Cluster = "auto",
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Cohen's kappa of each pair of judges, or of each judge against people or the truth.

    Parameters
    ----------
    data : frame
        Preferences: the things judged are item and pair of candidates, whatever their order; the answer is for the
        candidate with the lower id, a tie (or abstention), or for the other; an invalid call is no answer. Or ratings:
        the things are system, item and criterion; the answer is the score. Where a judge answered several times on one
        thing, its calls are matched by what tells them apart: replicate, condition, ..., and last the order shown. Or
        a tally: ``judge, other, answer, other_answer, n`` (a published table of two raters, say).
    against : None, 'gold', 'gold_candidate', judge or frame
        None: every pair of judges. ``'gold'``: the column ``gold``; of preferences both answers are then slots (first,
        second, tie), as in the paper and in :func:`gold_agreement`. ``'gold_candidate'``: the same with the answers as
        candidates, as between judges, who may have seen other orders. A judge's name, or a frame with the answers of
        others (without a column ``judge``, of one reference), matched on the columns it has.
    weights : {None, 'linear', 'quadratic'}
        How answers that differ agree in part, by the distance of their values (scores), or of their places (lower id,
        tie, higher id).
    pairs : {'all', 'average', 'fleiss'}
        A row for each pair of judges; or the mean kappa of all pairs (Light); or Fleiss's kappa of all judges, with
        missing answers as Gwet has them.
    by : str or sequence of str
        Further grouping columns; answers are matched within them.
    average_over : str or sequence of str
        Columns whose values are told apart as repeats are, as in :func:`score_matrix`: a column of ratings that splits
        them and is neither here nor in `by` is refused.
    interval : {'asymptotic', 'percentile', 'bca'}
        Large-sample, or a bootstrap of the things judged. Of the mean kappa, a bootstrap only.
    cluster : "auto", str or False
        Column whose levels are taken whole: by the asymptotic interval (linearised, t over clusters) and by a
        bootstrap. ``"auto"`` takes what several things are seen to share (``item``, say); False takes things as
        independent.
    n_resamples, seed
        Of the bootstrap.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Term ``kappa``, per ``judge`` and ``other`` where there are pairs; ``n`` counts the things that both answered
        (for Fleiss, that two or more did), and the flag those that the judge of `against` has not, or not validly,
        answered. Further columns: ``observed`` and ``expected`` agreement; ``z`` and
        ``p_value`` of the hypothesis that kappa is 0, with the standard error that holds there (with clusters the p
        of t, with the interval's standard error). Kappa is NaN, flagged,
        where both gave one and the same answer throughout. Two judges with no thing in common have no row.

    Raises
    ------
    SchemaError
        If a column is missing or holds what it should not.
    DesignError
        If no thing was judged by two, an option is unknown, or answers without an order are to be weighted.

    Notes
    -----
    Intervals end at 1. Where agreement is perfect there is no interval. The test of Fleiss's kappa (Fleiss, Nee and
    Landis 1979) is for equally many answers on each thing, and NaN otherwise.

    References
    ----------
    Cohen (1960, 1968); standard errors: Fleiss, Cohen and Everitt (1969). Mean of pairs: Light (1971). Several judges:
    Fleiss (1971); its standard error: Gwet (2008). Debiasing paper, Table 6.

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
    data, against = as_runs(data, average_over, by), reference_as_runs(against, average_over)
    choose(interval, INTERVALS, "interval")
    choose(pairs, ("all", "average", "fleiss"), "pairs")
    if weights is not None:
        choose(weights, ("linear", "quadratic"), "weights")
    planned_or_none(interval, (), n_resamples, seed, conf_level)
    if pairs == "fleiss":
        if against is not None:
            raise DesignError("pairs='fleiss' is about all judges at once, and takes no against=.")
        drawing = (interval, n_resamples, seed, conf_level)
        return panel(data, "kappa", "fleiss", weights, None, by, cluster, drawing)
    table = _pair_counts(data, by, cluster, against)
    plan = planned_or_none(interval, columns_of(table), n_resamples, seed, conf_level)
    column, dependent = column_of(table) if plan is None else None, dependence(table)
    groups = grouping(by, table.columns)
    if pairs == "average":
        if plan is not None and (against is not None or _counted(data)):
            raise DesignError("The interval of a mean of pairs needs a frame of all judges, and no against=.")
        rows = list(_averages(table, data, groups, weights, plan, dependent))
        return estimates(rows, groups, ["observed", "expected", "pairs"])
    rows = []
    keys = [*groups, "judge", "other"]
    table, values = _coded(table, weights)
    for key, part in _split(table, keys):
        cells = _cohen(part, values, weights, plan, column, conf_level, key)
        rows.append({**key, **cells, "flag": flags(cells["flag"], dependent)})
    return estimates(rows, keys, EXTRA)


def ac1(
    data: Any,
    *,
    against: Any = None,
    weights: Weights | None = None,
    labels: Sequence[Any] | None = None,
    by: By = (),
    average_over: By = (),
    interval: Interval = "asymptotic",
    cluster: Cluster = "auto",
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Gwet's AC1 of all judges: agreement beyond chance that does not fall when one answer is frequent.

    Parameters
    ----------
    data : frame
        Preferences or ratings, as :func:`kappa` takes them; answers may be missing.
    against : None, 'gold', 'gold_candidate', judge or frame
        None: all judges together. Else each judge beside this reference, as in :func:`kappa`: a row per ``judge`` and
        ``other``.
    weights : {None, 'linear', 'quadratic'}
        AC1, or AC2 with these weights.
    labels : sequence, optional
        Answers that could be given (the points of the scale; ``low``, ``tie``, ``high``): chance depends on how many
        there are. Without it, those that occur in `data`.
    by, average_over, interval, cluster, n_resamples, seed, conf_level
        As in :func:`kappa`. The asymptotic interval takes t with a degree of freedom less than there are units.

    Returns
    -------
    pandas.DataFrame
        Term ``ac1`` (``ac2`` with weights); ``n`` counts the things that two or more judges answered. Further columns:
        ``observed`` and ``expected`` agreement, ``p_value`` of the hypothesis that it is 0. A thing rated once counts
        in the shares of the answers, and in a flag.

    Raises
    ------
    SchemaError
        If a column is missing, or an answer is not in `labels`.
    DesignError
        If an option is unknown.

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
    data = as_runs(data, average_over, by)
    choose(interval, INTERVALS, "interval")
    term = "ac1" if weights is None else "ac2"
    if against is not None:
        table = _pair_counts(data, by, cluster, reference_as_runs(against, average_over))
        return beside(table, term, weights, labels, by, (interval, n_resamples, seed, conf_level))
    return panel(data, term, "gwet", weights, labels, by, cluster, (interval, n_resamples, seed, conf_level))


def _pair_counts(data: Any, by: By, cluster: Cluster, against: Any) -> pd.DataFrame:
    if against is not None and _counted(data):
        raise DesignError("A table of counts names its pairs itself: leave against= out.")
    return tally(data, "kappa", by, cluster=cluster, baseline=against)


def _counted(data: Any) -> bool:
    return is_tally(nw.from_native(data).collect_schema().names(), PATTERNS["kappa"])


def _split(table: pd.DataFrame, keys: list[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    if not keys:
        yield {}, table
        return
    for key, part in table.groupby(keys, dropna=False, sort=True):
        yield dict(zip(keys, key, strict=True)), part


def _coded(table: pd.DataFrame, weights: Weights | None) -> tuple[pd.DataFrame, Floats]:
    """Add the codes of the two answers, -1 for none; and say where the answers lie."""
    both = pd.concat([table["answer"], table["other_answer"]], ignore_index=True)
    code, labels = pd.factorize(both.astype(object).where(is_answer(both)))
    values = positions(labels)[0] if weights is not None else np.zeros(len(labels))
    coded = table.assign(_one=code[: len(table)], _two=code[len(table) :])
    coded.attrs = table.attrs
    return coded, values


def _cohen(
    part: pd.DataFrame,
    values: Floats,
    weights: Weights | None,
    plan: Bootstrap | None,
    cluster: str | None,
    conf_level: float,
    key: Key,
) -> dict[str, Any]:
    """Kappa of one pair of judges: the cells of its row."""
    one, two, n = (part[c].to_numpy() for c in ("_one", "_two", "n"))
    good = (one >= 0) & (two >= 0)
    total, aside = n[good].sum(), n[~good].sum()
    cells: dict[str, Any] = {"term": "kappa", "estimate": math.nan, "n": total, "method": in_words(plan)}
    doubt = f"{aside:,.0f} without two answers" if aside else ""
    if not total > 0:
        return {**cells, "flag": flags(NO_PAIRS, doubt)}
    used, code = np.unique(np.concatenate([one[good], two[good]]), return_inverse=True)
    row, column = code[: good.sum()], code[good.sum() :]
    w = agreement_weights(values[used], weights)
    shares = np.bincount(row * used.size + column, weights=n[good] / total, minlength=used.size**2).reshape(w.shape)
    fit = cohen_kappa(shares * total, w)
    margins = shares.sum(axis=1), shares.sum(axis=0)
    cells |= {"estimate": float(fit.estimate), "observed": (shares * w).sum(), "expected": margins[0] @ w @ margins[1]}
    if np.isnan(fit.estimate):
        return {**cells, "flag": flags(ONE_LABEL, doubt)}
    if min(map(np.count_nonzero, margins)) < 2:  # agreement is what chance gives, whatever the answers of the other
        return {**cells, "estimate": 0.0, "flag": flags(BY_STRUCTURE, doubt)}
    if fit.null_error > 0 and cluster is None:
        cells["z"] = float(fit.estimate / fit.null_error)
        cells["p_value"] = float(2 * ndtr(-abs(cells["z"])))
    if cluster is not None:
        pull = n[good] * kappa_influence(shares, w)[row, column]
        cells |= _clustered(float(fit.estimate), pull, part[good], cluster, conf_level, total)
    elif plan is None:
        cells |= _normal(float(fit.estimate), float(fit.std_error), conf_level, total)
    else:
        cells |= _bootstrapped(part if good.all() else part[good], row, column, w, plan, key)
    few = few_disagreements(cells, n[good][row != column].sum())
    return {**cells, "flag": flags(cells["flag"], few, doubt)}


def _normal(estimate: float, std_error: float, conf_level: float, n: float) -> dict[str, Any]:
    if not std_error > 1e-12:
        return {"flag": flags(PERFECT if estimate > 1 - 1e-12 else "", SMALL_N if n < 30 else "")}
    half = normal_quantile(conf_level) * std_error
    return {
        "std_error": std_error,
        "conf_low": max(estimate - half, -1.0),
        "conf_high": min(estimate + half, 1.0),
        "flag": SMALL_N if n < 30 else "",
    }


def _clustered(
    estimate: float, pull: Floats, part: pd.DataFrame, cluster: str, conf_level: float, n: float
) -> dict[str, Any]:
    """Linearised interval over clusters, from what each row pulls at kappa; and the test that goes with it."""
    unit = codes_of(part, [cluster])
    cells: dict[str, Any] = {"method": f"linearised, clustered by {cluster} (G = {unit.size})"}
    few = flags(few_clusters(unit.size), SMALL_N if n < 30 else "")
    if unit.size < 2:
        return {**cells, "flag": few}
    sums = np.bincount(unit.code, weights=pull, minlength=unit.size)
    error = math.sqrt(unit.size / (unit.size - 1) * float(sums @ sums)) / n
    if not error > 1e-12:
        return {**cells, "flag": flags(PERFECT if estimate > 1 - 1e-12 else "", few)}
    half = float(stdtrit(unit.size - 1, 0.5 + conf_level / 2)) * error
    cells |= {"std_error": error, "conf_low": max(estimate - half, -1.0), "conf_high": min(estimate + half, 1.0)}
    return {**cells, "p_value": float(2 * stdtr(unit.size - 1, -abs(estimate / error))), "flag": few}


def _bootstrapped(part: pd.DataFrame, row: Any, column: Any, w: Floats, plan: Bootstrap, key: Key) -> dict[str, Any]:
    cell, first = np.unique(row * len(w) + column, return_index=True)
    which = np.searchsorted(cell, row * len(w) + column)
    counts = np.zeros((len(part), cell.size))
    counts[np.arange(len(part)), which] = part["n"].to_numpy(dtype=float)
    one, two = row[first], column[first]
    return drawn(part, counts, lambda totals: weighted_kappa(totals, one, two, w), plan, key)


def _averages(
    table: pd.DataFrame,
    data: Any,
    groups: list[str],
    weights: Weights | None,
    plan: Bootstrap | None,
    dependent: str,
) -> Iterator[dict[str, Any]]:
    """Mean kappa of all pairs of judges, per group."""
    intervals = {} if plan is None else mean_intervals(data, groups, column_of(table), weights, plan)
    table, values = _coded(table, weights)
    for key, part in _split(table, groups):
        found = [_cohen(pair, values, weights, None, None, 0.95, {}) for _, pair in _split(part, ["judge", "other"])]
        rows = pd.DataFrame(found).reindex(columns=["estimate", "observed", "expected", "n"])
        defined = int(rows["estimate"].notna().sum())
        undefined = len(rows) - defined
        doubt = f"{undefined} pair{'s' * (undefined != 1)} undefined" if undefined else ""
        cells = intervals.get(plain(key), {"method": "mean of pairs", "flag": ""})
        flag = flags(cells["flag"], doubt, dependent)
        means = {c: rows[c].mean() for c in ("estimate", "observed", "expected")}
        yield {**key, "term": "kappa", **cells, **means, "pairs": float(defined), "n": rows["n"].sum(), "flag": flag}
