"""The controlled quality ladder: sensitivity per step, detection threshold, d'."""

from __future__ import annotations

import math
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import ndtri
from scipy.stats import norm

from judgestats.errors import DesignError, choose
from judgestats.kernels.resampling import cluster_index, percentile_interval, resampled_totals
from judgestats.metrics.rates import rates
from judgestats.results import (
    CEILING,
    FEW_CLUSTERS,
    LEFT_CENSORED,
    NO_DATA,
    NOT_INDEPENDENT,
    RIGHT_CENSORED,
    SMALL_N,
    estimates,
    flags,
)
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, grouping
from judgestats.schema.counting import SHARED_PAIRS, tally
from judgestats.schema.patterns import Invalid

Interpolation = Literal["linear", "step"]


def target_sensitivity(
    calls: Any, *, by: By = (), cluster: str | None = None, invalid: Invalid = "drop", conf_level: float = 0.95
) -> pd.DataFrame:
    """Correct choices on the quality ladder, step by step (dark_current paper, Eqs. 8, 9 and 12).

    Parameters
    ----------
    calls : frame
        Preferences with ``stimulus`` (the rows that are ``ladder`` count), ``delta`` and ``better``; or a tally:
        ``judge, delta, outcome, n`` with outcomes ``correct``, ``wrong``, ``tie``.
    by : str or sequence of str
        Further grouping columns.
    cluster : str, optional
        Column of calls that are not independent (``task``): Wilson with an effective n.
    invalid : {'drop', 'wrong', 'tie'}
        What an invalid call is.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge and ``delta``: ``target_sensitivity`` (all calls; a tie is not correct), ``non_tie_accuracy`` (NaN
        where all are ties), ``wrong_choice_rate`` and ``miss_by_tie`` (the tie rate where a target exists). ``n`` is
        calls.

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
    choose(invalid, ("drop", "wrong", "tie"), "invalid")
    table = tally(calls, "target_sensitivity", by, cluster=cluster)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns), "delta"]))
    outcome = _settled(table["outcome"], invalid)
    valid = outcome != "invalid"
    options: dict[str, Any] = {"conf_level": conf_level, "cluster": cluster}
    rows = rates(table, groups, "target_sensitivity", outcome == "correct", valid, **options)
    rows += rates(table, groups, "non_tie_accuracy", outcome == "correct", valid & (outcome != "tie"), **options)
    rows += rates(table, groups, "wrong_choice_rate", outcome == "wrong", valid, **options)
    rows += rates(table, groups, "miss_by_tie", outcome == "tie", valid, **options)
    return estimates(rows, groups)


def detection_threshold(
    calls: Any,
    *,
    by: By = (),
    level: float = 0.75,
    interpolation: Interpolation = "linear",
    cluster: str | None = "task",
    invalid: Invalid = "drop",
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Smallest step of the ladder at which an isotonic fit of the sensitivity reaches a level (Eq. 10).

    Parameters
    ----------
    calls : frame
        As for :func:`target_sensitivity`.
    by : str or sequence of str
        Further grouping columns.
    level : float
        The sensitivity to be reached.
    interpolation : {'linear', 'step'}
        Between the steps: the fitted curve is joined by lines, or the first step that reaches the level counts.
    cluster : str or None
        Column that is resampled as a whole; where the data do not have it, calls are resampled as independent.
    invalid : {'drop', 'wrong', 'tie'}
        What an invalid call is.
    n_resamples : int
        Bootstrap resamples.
    seed : int or numpy.random.Generator
        The same seed gives the same interval.
    conf_level : float
        Coverage of the percentile interval.

    Returns
    -------
    pandas.DataFrame
        Term ``detection_threshold`` per judge; ``n`` is calls. Reached at the first step: that step, flagged
        ``left-censored`` (read: at most). Never reached: NaN, flagged ``right-censored``. A censored *end* of the
        interval is ``-inf`` (at most the first step) or ``inf`` (above the last).

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "Llama8B", "delta": [1, 1, 2, 2, 3, 3, 4, 4, 5],
    ...                        "outcome": ["correct", "wrong"] * 4 + ["correct"],
    ...                        "n": [61, 39, 52, 28, 43, 17, 30, 10, 20]})
    >>> detection_threshold(counts)[["estimate", "flag"]]
       estimate    flag
    0       4.0
    """
    choose(interpolation, ("linear", "step"), "interpolation")
    choose(invalid, ("drop", "wrong", "tie"), "invalid")
    if cluster not in nw.from_native(calls).collect_schema().names():
        cluster = None
    table = tally(calls, "detection_threshold", by, cluster=cluster)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    rng = np.random.default_rng(seed)
    codes = codes_of(table, groups)
    outcome = _settled(table["outcome"], invalid).to_numpy()
    rows = []
    for g, first in enumerate(codes.first):
        here = table[(codes.code == g) & (outcome != "invalid")].assign(
            hit=outcome[(codes.code == g) & (outcome != "invalid")] == "correct"
        )
        key = table.iloc[first][groups].to_dict()
        rows.append(
            {
                **key,
                **_threshold_row(here, level, interpolation, cluster, n_resamples, rng, conf_level),
                "term": "detection_threshold",
            }
        )
    dependent = NOT_INDEPENDENT if table.attrs.get(SHARED_PAIRS) and cluster is None else ""
    for row in rows:
        row["flag"] = flags(row["flag"], dependent)
    return estimates(rows, groups)


def _threshold_row(
    calls: pd.DataFrame,
    level: float,
    interpolation: Interpolation,
    cluster: str | None,
    n_resamples: int,
    rng: np.random.Generator,
    conf_level: float,
) -> dict[str, Any]:
    steps = np.sort(calls["delta"].to_numpy(dtype=float))
    steps = np.unique(steps[~np.isnan(steps)])
    steps = steps[steps > 0]
    if steps.size < 2:
        return {"estimate": math.nan, "n": calls["n"].sum(), "flag": NO_DATA if not steps.size else "one step"}
    counts, clusters = _step_counts(calls, steps, cluster)
    total = counts.sum(axis=0)
    n = total[: steps.size] + total[steps.size :]
    value = crossing(steps, total[: steps.size] / n, n, level, interpolation)
    if cluster is None:
        hits = rng.binomial(n.astype(np.int64), total[: steps.size] / n, size=(n_resamples, steps.size))
        draws_of, method = np.hstack([hits, n - hits]), "isotonic; percentile bootstrap of calls"
    else:
        draws_of = resampled_totals(counts, cluster_index(rng, clusters, n_resamples))
        method = f"isotonic; percentile bootstrap by {cluster} (G = {clusters})"
    draws = np.array([_crossing_of(steps, d, level, interpolation) for d in draws_of])
    low, high = percentile_interval(draws, conf_level)
    if low == high:
        low = high = math.nan  # every resample says the same: the interval would have no width
    censor = LEFT_CENSORED if value == -math.inf else RIGHT_CENSORED if value == math.inf else ""
    few = FEW_CLUSTERS if cluster is not None and clusters < 10 else ""
    estimate = steps[0] if value == -math.inf else math.nan if value == math.inf else value
    return {
        "estimate": estimate,
        "conf_low": low,
        "conf_high": high,
        "n": n.sum(),
        "method": method,
        "flag": flags(censor, few, SMALL_N if n.sum() < 30 else ""),
    }


def _step_counts(
    calls: pd.DataFrame, steps: NDArray[np.float64], cluster: str | None
) -> tuple[NDArray[np.float64], int]:
    """Correct and other calls per step, a row a cluster."""
    group = codes_of(calls, [cluster]) if cluster else None
    clusters = group.size if group else 1
    code = group.code if group else np.zeros(len(calls), dtype=np.int64)
    step = np.searchsorted(steps, calls["delta"].to_numpy(dtype=float))
    known = calls["delta"].to_numpy(dtype=float) > 0
    counts = np.zeros((clusters, 2 * steps.size))
    column = np.where(calls["hit"].to_numpy(), step, step + steps.size)
    np.add.at(counts, (code[known], column[known]), calls["n"].to_numpy(dtype=float)[known])
    return counts, clusters


def _crossing_of(
    steps: NDArray[np.float64], counts: NDArray[np.float64], level: float, interpolation: Interpolation
) -> float:
    hits, n = counts[: steps.size], counts[: steps.size] + counts[steps.size :]
    there = n > 0
    if there.sum() < 2:
        return math.nan
    return crossing(steps[there], hits[there] / n[there], n[there], level, interpolation)


def crossing(
    steps: NDArray[np.float64],
    p: NDArray[np.float64],
    n: NDArray[np.float64],
    level: float,
    interpolation: Interpolation = "linear",
) -> float:
    """Where the isotonic fit of `p`, weighted by `n`, reaches `level`.

    Parameters
    ----------
    steps, p, n : (L,) float arrays
        Steps in increasing order, the share correct and the calls of each.
    level : float
        Level to be reached.
    interpolation : {'linear', 'step'}
        How the fit runs between steps.

    Returns
    -------
    float
        ``-inf`` if the first step reaches it already, ``inf`` if none does.

    Examples
    --------
    >>> value = crossing(np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.7, 0.8]), np.array([10.0, 10.0, 10.0]), 0.75)
    >>> print(f"{value:.6f}")
    2.500000
    """
    fit = isotonic_regression(p, weights=n).x
    reached = np.flatnonzero(fit >= level - 1e-12)
    if not reached.size:
        return math.inf
    at = int(reached[0])
    if at == 0:
        return -math.inf
    if interpolation == "step":
        return float(steps[at])
    rise = (level - fit[at - 1]) / (fit[at] - fit[at - 1])
    return float(steps[at - 1] + rise * (steps[at] - steps[at - 1]))


def d_prime(calls: Any, *, by: By = (), conf_level: float = 0.95) -> pd.DataFrame:
    """Sensitivity d' and slot criterion c per step of the ladder, with the log-linear correction.

    Parameters
    ----------
    calls : frame
        As for :func:`target_sensitivity`; or a tally: ``judge, delta, target_slot, choice, n``.
    by : str or sequence of str
        Further grouping columns.
    conf_level : float
        Coverage of the interval (Gourevitch and Galanter's variance).

    Returns
    -------
    pandas.DataFrame
        Per judge and ``delta``: ``d_prime = z(H) - z(F)`` and ``slot_criterion = -(z(H) + z(F)) / 2`` (negative: leans
        to the first slot), where H is the rate of choosing the first slot when the target is there, F when it is in the
        second, each as (hits + 0.5) / (n + 1), a tie counting half to each side. Flag ``ceiling`` where no call is
        wrong or a tie: d' then depends on n alone (20 of 20 gives 3.3812) and has no interval.

    Raises
    ------
    DesignError
        If the target was only ever shown in one slot.

    References
    ----------
    Hautus, M. J. (1995). Behavior Research Methods 27, 46-51. Gourevitch, V., Galanter, E. (1967). Psychometrika 32,
    25-33.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "delta": 5, "target_slot": ["first", "second"],
    ...                        "choice": ["first", "second"], "n": [10, 10]})
    >>> d_prime(counts)[["term", "estimate", "flag"]].round(4)
                 term  estimate             flag
    0         d_prime    3.3812  ceiling; n < 30
    1  slot_criterion   -0.0000  ceiling; n < 30
    """
    table = tally(calls, "d_prime", by)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns), "delta"]))
    table = table[table["choice"] != "invalid"]
    toward_first = table["choice"].map({"first": 1.0, "second": 0.0}).fillna(0.5).to_numpy(dtype=float)
    rows = []
    codes = codes_of(table, groups)
    n = table["n"].to_numpy(dtype=float)
    in_first = (table["target_slot"] == "first").to_numpy()
    for g, key in enumerate(table[groups].iloc[codes.first].to_dict("records")):
        here = codes.code == g
        sums = [
            (float((n * toward_first)[here & slot].sum()), float(n[here & slot].sum()))
            for slot in (in_first, ~in_first)
        ]
        rows += [{**key, **row} for row in _detectability(*sums[0], *sums[1], conf_level)]
    return estimates(rows, groups)


def _detectability(hits: float, n1: float, alarms: float, n2: float, conf_level: float) -> list[dict[str, Any]]:
    if not n1 or not n2:
        raise DesignError(
            "d' needs calls with the target in the first slot and calls with it in the second; one is missing."
        )
    h, f = (hits + 0.5) / (n1 + 1), (alarms + 0.5) / (n2 + 1)
    zh, zf = float(ndtri(h)), float(ndtri(f))
    ceiling = hits == n1 and alarms == 0
    variance = h * (1 - h) / (n1 * norm.pdf(zh) ** 2) + f * (1 - f) / (n2 * norm.pdf(zf) ** 2)
    z = float(ndtri(0.5 + conf_level / 2))
    rows = []
    for term, value, se in (
        ("d_prime", zh - zf, math.sqrt(variance)),
        ("slot_criterion", -(zh + zf) / 2, math.sqrt(variance) / 2),
    ):
        error = math.nan if ceiling else se
        rows.append(
            {
                "term": term,
                "estimate": value,
                "std_error": error,
                "conf_low": value - z * error,
                "conf_high": value + z * error,
                "n": n1 + n2,
                "method": "log-linear, Gourevitch-Galanter",
                "flag": flags(CEILING if ceiling else "", SMALL_N if n1 + n2 < 30 else ""),
            }
        )
    return rows


def _settled(outcome: pd.Series[Any], invalid: Invalid) -> pd.Series[Any]:
    """Outcomes with the invalid ones counted as asked for."""
    return outcome if invalid == "drop" else outcome.replace({"invalid": invalid})
