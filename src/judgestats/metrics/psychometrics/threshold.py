"""Detection threshold of a judge, from an isotonic fit of the quality ladder: :func:`detection_threshold`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.patterns import Invalid
from judgestats.counting.study import Study
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError
from judgestats.kernels.isotonic import increasing
from judgestats.kernels.resampling import cluster_totals, generator, percentile_interval
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term
from judgestats.metrics.psychometrics.ladder import settled
from judgestats.results import estimates
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By
from judgestats.typing import Floats, Record

Interpolation = Literal["linear", "step"]


def cluster_of_steps(_: object, options: MeasureOptions) -> Record:
    """The cluster argument of :func:`detection_threshold`, which has no ``"auto"``."""
    return {} if options.cluster == "auto" else {"cluster": options.cluster or None}


@Measure(
    "How large must a difference be to be detected?", "accuracy", "P, counts",
    "bootstrap, expanded percentile; ends may be censored; none on an incomplete ladder", "dark_current, Eq 10",
    plot="forest", frames=("preferences",), arguments=cluster_of_steps, sheet=("threshold",),
    terms=(
        Term("detection_threshold", "", "ladder fit", "ladder calls", "higher",
             "The smallest difference that the judge detects in three of four calls.", symbol="Δ75*"),
    ),
    have=("pairs of known difference",),
    assumes="Sensitivity does not fall as the difference grows; all steps of the ladder were asked.",
)  # fmt: skip
def detection_threshold(
    calls: IntoFrame,
    *,
    by: By = (),
    performance: float = 0.75,
    steps: Sequence[float] | None = None,
    interpolation: Interpolation = "linear",
    cluster: str | None = "task",
    invalid: Invalid = "drop",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Smallest step of the ladder at which an isotonic fit of the sensitivity reaches a level (dark_current, Eq. 10).

    Parameters
    ----------
    calls : frame
        As in :func:`target_sensitivity`.
    by : str or sequence of str
        Further grouping columns.
    performance : float
        Sensitivity at the threshold.
    steps : sequence of float, optional
        The steps of the ladder, two or more numbers above 0. By default 1, 2, ... up to the largest step at which the
        judge was asked.
    interpolation : {'linear', 'step'}
        Linear interpolation of the fit between steps, or the first step that reaches the level.
    cluster : str or None
        Column whose levels are resampled whole; calls are independent if the data do not have it.
    invalid : {'drop', 'wrong', 'tie'}
        How invalid calls count.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Term ``detection_threshold`` per judge; ``n`` counts calls. Reached at the first step: that step, flagged
        ``left-censored`` (read: at most). Never reached: NaN, flagged ``right-censored``. A censored *end* of the
        interval is ``-inf`` (at most the first step) or ``inf`` (above the last). NaN, flagged ``incomplete ladder``,
        where a step was not asked, or one was asked that `steps` does not name.

    Raises
    ------
    DesignError
        If `steps` are not two or more different numbers above 0.

    See Also
    --------
    target_sensitivity : Detection of known differences.
    d_prime : Sensitivity, whatever the slot criterion.
    judgestats.hierarchical.psychometric : Bayesian psychometric functions.

    Notes
    -----
    The interval is the expanded percentile interval of the bootstrap (Hesterberg 2015), which widens the percentile
    interval as Student's t widens the normal one; simulated, it covers .93 to .97 from 15 tasks on, where the plain
    percentile interval falls to .92 and BCa is no better. Sensitivity between two steps is unknown without calls there:
    with steps 1 and 5 only, the straight line between them would determine the answer, and no threshold is given.
    A resample that lacks the first step and reaches the level at its own first step counts as reaching it there. Where
    every resample gives the same threshold there is no interval, and the row is flagged ``resamples agree``. Calls
    without a step, or at step 0, are excluded and counted in the flag.

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
    ladder = None if steps is None else _ladder_of(steps)
    if cluster not in Study.of(calls).names:
        cluster = None
    counts = count(calls, "detection_threshold", by, cluster=cluster or False)
    table, groups = counts.table, list(counts.groups)
    codes = codes_of(table, groups)
    table = table.assign(outcome=settled(table["outcome"], invalid))
    dependent = flags.NOT_INDEPENDENT if counts.clusters.shared and cluster is None else ""
    rows = []
    for g, key in enumerate(table[groups].iloc[codes.first].to_dict("records")):
        of_group = table[codes.code == g]
        rng = generator(seed, tuple(map(str, key.values())))
        row = _threshold_row(of_group, performance, ladder, interpolation, cluster, n_resamples, rng, conf_level)
        rows.append({**key, **row, "flag": flags.join(row["flag"], dependent), "term": "detection_threshold"})
    return estimates(rows, groups)


def _ladder_of(steps: Sequence[float]) -> Floats:
    """The named steps, in order."""
    try:
        values = np.atleast_1d(np.asarray(steps, dtype=float))
    except (TypeError, ValueError):
        values = np.empty(0)
    distinct = np.unique(values)
    if (
        values.ndim != 1
        or distinct.size < 2
        or distinct.size != values.size
        or not (np.isfinite(distinct) & (distinct > 0)).all()
    ):
        raise DesignError(f"steps={steps!r} is not a ladder. Give two or more different numbers above 0, e.g. (1, 5).")
    return distinct


def _threshold_row(
    calls: pd.DataFrame,
    level: float,
    ladder: Floats | None,
    interpolation: Interpolation,
    cluster: str | None,
    n_resamples: int,
    rng: np.random.Generator,
    conf_level: float,
) -> Record:
    valid = calls[(calls["outcome"] != "invalid") & (calls["n"] > 0)]
    on_ladder = valid["delta"].astype(float) > 0
    excluded = flags.join(
        flags.INVALID_EXCLUDED.of(float(calls.loc[calls["outcome"] == "invalid", "n"].sum())),
        flags.EXCLUDED.of(float(valid.loc[~on_ladder, "n"].sum()), what="call(s) without a step"),
    )
    valid = valid[on_ladder]
    steps = np.unique(valid["delta"].to_numpy(dtype=float))
    n = float(valid["n"].sum())
    if steps.size < 2:
        return {
            "estimate": math.nan,
            "n": n,
            "flag": flags.join(flags.ONE_STEP if steps.size else flags.NO_DATA, excluded),
        }
    if lacking := flags.incomplete_ladder(steps, ladder):
        return {"estimate": math.nan, "n": n, "flag": flags.join(lacking, excluded, flags.SMALL_N if n < 30 else "")}
    counts, clusters = _step_counts(valid, steps, cluster)
    value = _crossing_of(steps, counts.sum(axis=0), level, interpolation)
    draws_of = _resampled(counts, cluster, n_resamples, rng)
    draws = np.array([_crossing_of(steps, d, level, interpolation) for d in draws_of])
    low, high = percentile_interval(draws, conf_level, n if cluster is None else clusters)
    agree = flags.RESAMPLES_AGREE if low == high else ""
    censor = flags.LEFT_CENSORED if value == -math.inf else flags.RIGHT_CENSORED if value == math.inf else ""
    few = flags.few_clusters(counts.sum(axis=1), resampled=True) if cluster is not None else ""
    method = methods.ISOTONIC
    return {
        "estimate": steps[0] if value == -math.inf else math.nan if value == math.inf else value,
        "conf_low": math.nan if agree else low,
        "conf_high": math.nan if agree else high,
        "n": n,
        "method": method.by(cluster, clusters, linked=" by ") if cluster else method.on("of calls", " "),
        "flag": flags.join(censor, agree, few, excluded, flags.SMALL_N if n < 30 else ""),
    }


def _resampled(counts: Floats, cluster: str | None, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Counts of each resample: clusters drawn with replacement, or the calls of each step as independent."""
    if cluster is not None:
        return cluster_totals(counts, rng, n_resamples)
    steps = counts.shape[1] // 2
    total = counts.sum(axis=0)
    n = total[:steps] + total[steps:]
    hits = rng.binomial(np.rint(n).astype(np.int64), total[:steps] / n, size=(n_resamples, steps))
    return np.hstack([hits, np.rint(n) - hits])


def _step_counts(calls: pd.DataFrame, steps: Floats, cluster: str | None) -> tuple[Floats, int]:
    """Correct and other calls per step, a row per cluster, and the number of clusters."""
    group = codes_of(calls, [cluster] if cluster else [])
    step = np.searchsorted(steps, calls["delta"].to_numpy(dtype=float))
    column = np.where(calls["outcome"] == "correct", step, step + steps.size)
    counts = np.zeros((group.size, 2 * steps.size))
    np.add.at(counts, (group.code, column), calls["n"].to_numpy(dtype=float))
    return counts, group.size


def _crossing_of(steps: Floats, counts: Floats, level: float, interpolation: Interpolation) -> float:
    hits, n = counts[: steps.size], counts[: steps.size] + counts[steps.size :]
    occupied = n > 0
    if occupied.sum() < 2:
        return math.nan
    value = crossing(steps[occupied], hits[occupied] / n[occupied], n[occupied], level, interpolation)
    return float(steps[occupied][0]) if value == -math.inf and not occupied[0] else value


def crossing(steps: Floats, p: Floats, n: Floats, level: float, interpolation: Interpolation = "linear") -> float:
    """Step at which the isotonic fit of `p`, weighted by `n`, reaches `level`; -inf if the first does, inf if none.

    `steps`, `p`, `n` (L,): steps in increasing order, the share correct and the number of calls of each.
    """
    fit = increasing(p, n)
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
