"""The quality ladder: sensitivity per step, and d'."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import ndtri

from judgestats import flags, methods
from judgestats.counting.clustering import Cluster
from judgestats.counting.patterns import Invalid
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL
from judgestats.estimate import student
from judgestats.kernels.cluster_robust import linearised_error
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.results import estimates
from judgestats.schema.columns import By
from judgestats.typing import Column, Record

_SIGNAL_TERMS = ("d_prime", "slot_criterion")


@Measure(
    "How often is a known difference detected, step by step?", "accuracy", "P, counts", "Wilson, clustered",
    "dark_current, Eqs 8, 9, 12", plot="psychometric_curves", frames=("preferences",), sheet=("ladder",),
    terms=(
        Term("target_sensitivity", "", "call", "ladder calls of this step", "lower",
             "The judge picks the better candidate; a tie is a miss.", symbol="P_correct"),
        Term("non_tie_accuracy", "accuracy among non-ties", "call", "ladder calls of this step that are not ties",
             "lower", "Without a tie, the judge picks the better candidate.", symbol="P_correct|non-tie"),
        Term("wrong_choice_rate", "wrong choices", "call", "ladder calls of this step", "higher",
             "The judge picks the worse candidate."),
        Term("miss_by_tie", "", "call", "ladder calls of this step", "higher when the signal should be detected",
             "One candidate is better and the judge calls a tie.", symbol="MBT"),
    ),
    have=("pairs of known difference",),
    assumes="The better candidate is known by design; tasks are independent of each other.",
)  # fmt: skip
def target_sensitivity(
    calls: IntoFrame,
    *,
    by: By = (),
    cluster: Cluster = "auto",
    invalid: Invalid = "drop",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Correct choices per step of the quality ladder (dark_current paper, Eqs. 8, 9 and 12).

    Parameters
    ----------
    calls : frame
        Preferences with ``stimulus`` (only ``ladder`` rows count), ``delta`` and ``better``; or a tally:
        ``judge, delta, outcome, n`` with outcomes ``correct``, ``wrong``, ``tie``.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``task``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
    invalid : {'drop', 'wrong', 'tie'}
        How invalid calls count.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge and ``delta``: ``target_sensitivity`` (all calls; a tie is not correct), ``non_tie_accuracy`` (NaN
        where all are ties), ``wrong_choice_rate`` and ``miss_by_tie`` (the tie rate where one candidate is better).
        ``n`` counts calls.

    See Also
    --------
    detection_threshold : Smallest difference that is detected.
    d_prime : Sensitivity, whatever the slot criterion.
    criterion_shift : What a stricter prompt saves and costs.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "Qwen32B", "delta": 1, "outcome": ["correct", "tie"], "n": [94, 6]})
    >>> target_sensitivity(counts)[["term", "estimate", "conf_low", "conf_high"]].round(4)
                     term  estimate  conf_low  conf_high
    0  target_sensitivity      0.94    0.8752     0.9722
    1    non_tie_accuracy      1.00    0.9607     1.0000
    2   wrong_choice_rate      0.00    0.0000     0.0370
    3         miss_by_tie      0.06    0.0278     0.1248
    """
    counts = count(calls, "target_sensitivity", by, cluster=cluster, merged=True).inferred(conf_level)
    counts = counts.grouped(list(dict.fromkeys([*counts.groups, "delta"])))
    outcome = settled(pd.Series(counts.values("outcome")), invalid).to_numpy()
    valid = outcome != "invalid"
    rows = counts.rates("target_sensitivity", outcome == "correct", valid)
    rows += counts.rates("non_tie_accuracy", outcome == "correct", valid & (outcome != "tie"))
    rows += counts.rates("wrong_choice_rate", outcome == "wrong", valid)
    rows += counts.rates("miss_by_tie", outcome == "tie", valid)
    return estimates(rows, counts.groups)


@Measure(
    "How well are signal and no signal separated, at any slot criterion?", "accuracy", "P, counts",
    "normal, variance of Gourevitch and Galanter", "Hautus 1995", plot="forest", frames=("preferences",), sheet=("d'",),
    terms=(
        Term("d_prime", "sensitivity d′", "call", "ladder calls of this step", "lower",
             "How well the judge separates signal from no signal.", symbol="d'"),
        Term("slot_criterion", "", "call", "ladder calls of this step", "far from 0",
             "Preference for the first slot (negative) or the second.", symbol="c", neutral=0.0),
    ),
    have=("pairs of known difference", "orders",),
    assumes="Two normal distributions of evidence with one variance; calls are independent.",
)  # fmt: skip
def d_prime(
    calls: IntoFrame, *, by: By = (), cluster: Cluster = "auto", conf_level: float = CONF_LEVEL
) -> pd.DataFrame:
    """Sensitivity d' and slot criterion c per step of the ladder, with the log-linear correction.

    Parameters
    ----------
    calls : frame
        As in :func:`target_sensitivity`; or a tally: ``judge, delta, target_slot, choice, n``.
    by, cluster
        As in :func:`target_sensitivity`.
    conf_level : float
        Coverage of the intervals. Their variance is Gourevitch and Galanter's; clustered, it is multiplied by the
        design effect, with t on Satterthwaite's degrees of freedom.

    Returns
    -------
    pandas.DataFrame
        Per judge and ``delta``: ``d_prime = z(H) - z(F)`` and ``slot_criterion = -(z(H) + z(F)) / 2`` (negative:
        preference for the first slot), where H is the rate of choosing the first slot when the target is there, F when
        it is in the second, each as (hits + 0.5) / (n + 1), a tie counting half to each side. Flag ``ceiling`` where
        all calls are correct: d' then depends on n alone (20 of 20 gives 3.3812) and has no interval.

    Raises
    ------
    DesignError
        If the order in which the candidates were shown is not known.

    See Also
    --------
    target_sensitivity : Detection of known differences.
    detection_threshold : Smallest difference that is detected.

    References
    ----------
    Hautus, M. J. (1995). Behavior Research Methods 27, 46-51. Gourevitch, V., Galanter, E. (1967). Psychometrika 32,
    25-33.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "delta": 5, "target_slot": ["first", "second"],
    ...                        "choice": ["first", "second"], "n": [10, 10]})
    >>> d_prime(counts, cluster=False)[["term", "estimate", "flag"]].round(4)
                 term  estimate             flag
    0         d_prime    3.3812  ceiling; n < 30
    1  slot_criterion   -0.0000  ceiling; n < 30
    """
    counts = count(calls, "d_prime", by, cluster=cluster)
    groups = list(dict.fromkeys([*counts.groups, "delta"]))
    toward_first = 0.5 + 0.5 * counts.among("choice", "first") - 0.5 * counts.among("choice", "second")
    invalid, in_first = counts.among("choice", "invalid"), counts.among("target_slot", "first")
    n = counts.n * ~invalid
    column, dependent = counts.clusters.column, counts.clusters.flag
    rows = []
    for key, group_rows in counts.grouped(groups).rows_of_groups():
        of_group = np.zeros(n.size, dtype=bool)
        of_group[group_rows] = True
        hits, n1 = (float(x[of_group & in_first].sum()) for x in (n * toward_first, n))
        alarms, n2 = (float(x[of_group & ~in_first].sum()) for x in (n * toward_first, n))
        signal_rows = _detectability(hits, n1, alarms, n2, conf_level)
        if column is not None and n1 and n2:
            sides = [(n * (of_group & side), toward_first) for side in (in_first, ~in_first)]
            signal_rows = _clustered(signal_rows, sides, counts.columns.codes([column]).code, column, conf_level)
        lost = flags.INVALID_EXCLUDED.of(float(counts.n[of_group & invalid].sum()))
        rows += [{**key, **row, "flag": flags.join(row["flag"], dependent, lost)} for row in signal_rows]
    return estimates(rows, groups)


def _detectability(hits: float, n1: float, alarms: float, n2: float, conf_level: float) -> list[Record]:
    method, small = methods.LOG_LINEAR, flags.SMALL_N if n1 + n2 < 30 else ""
    if not n1 or not n2:
        flag = flags.join(flags.ONE_POSITION if n1 + n2 else flags.NO_DATA, small)
        return [{"term": t, "estimate": math.nan, "n": n1 + n2, "method": method, "flag": flag} for t in _SIGNAL_TERMS]
    h, f = (hits + 0.5) / (n1 + 1), (alarms + 0.5) / (n2 + 1)
    zh, zf = float(ndtri(h)), float(ndtri(f))
    ceiling = hits == n1 and alarms == 0
    variance = h * (1 - h) / (n1 * _density(zh) ** 2) + f * (1 - f) / (n2 * _density(zf) ** 2)
    rows = []
    for term, value, scale in zip(_SIGNAL_TERMS, (zh - zf, -(zh + zf) / 2), (1.0, 0.5), strict=True):
        error = math.nan if ceiling else scale * math.sqrt(variance)
        flag = flags.join(flags.CEILING if ceiling else "", small)
        estimate = student(value, error, conf_level=conf_level, method=method, flag=flag)
        rows.append({"term": term, "n": n1 + n2, **estimate.cells})
    return rows


def _clustered(
    rows: list[Record], sides: list[tuple[Any, Any]], unit: Any, column: str, conf_level: float
) -> list[Record]:
    """Rows with standard errors times the root of the design effect (variance over clusters over that of calls)."""
    independent, influences = 0.0, []
    size = np.zeros(unit.size)
    for weight, hit in sides:
        total = weight.sum()
        share = weight @ hit / total
        density = _density(float(ndtri((weight @ hit + 0.5) / (total + 1))))
        independent += share * (1 - share) / (total * density**2)
        influences.append(weight * (hit - share) / (total * density))
        size += weight
    size = np.bincount(unit, size).astype(np.float64)
    result = []
    for row, sign in zip(rows, (-1.0, 1.0), strict=True):  # d' is a difference, the criterion a sum
        error, df = linearised_error(np.bincount(unit, influences[0] + sign * influences[1]).astype(np.float64), size)
        if independent > 0:
            error *= row["std_error"] / math.sqrt(independent)
        elif not math.isnan(error):
            error = row["std_error"]
        by, flag = methods.clustered(row["method"], column, size), flags.join(row["flag"], flags.few_clusters(size))
        estimate = student(row["estimate"], error, df, conf_level=conf_level, method=by, flag=flag)
        result.append({**row, **estimate.cells})
    return result


def _density(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def settled(outcome: Column, invalid: Invalid) -> Column:
    """Outcomes, with invalid ones counted as `invalid`."""
    return outcome if invalid == "drop" else outcome.replace({"invalid": invalid})
