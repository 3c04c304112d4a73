"""Krippendorff's alpha of judges who answer on the same things, some answers missing: :func:`alpha`."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, choose
from judgestats.kernels.coincidence import krippendorff, unit_weights
from judgestats.kernels.resampling import generator
from judgestats.metrics.agreement.labels import (
    NO_PAIRS,
    ONE_LABEL,
    Group,
    few_disagreements,
    positions,
    rated,
    resolved,
)
from judgestats.metrics.agreement.panels import in_words, of_units
from judgestats.metrics.resampled import Bootstrap, read_off
from judgestats.results import ONE_UNIT, SMALL_N, estimates, few_clusters, flags
from judgestats.schema.clustering import Cluster
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, names
from judgestats.schema.splitting import as_runs

Floats = NDArray[np.float64]
#: What a difference between two answers is.
Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")


def alpha(
    data: Any,
    *,
    level: Level = "nominal",
    by: By = (),
    average_over: By = (),
    interval: Literal["t", "percentile"] | None = "t",
    cluster: Cluster = "auto",
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Krippendorff's alpha: disagreement of the judges on one thing, over that of answers at random.

    Parameters
    ----------
    data : frame
        Preferences or ratings; answers may be missing. Preferences: the things judged are item and pair of candidates,
        whatever their order; the answer is for the candidate with the lower id, a tie (or abstention), or for the
        other; an invalid call is missing. Ratings: the things are system, item and criterion; the answer is the score.
        Where a judge answered several times on one thing, its calls are told apart by replicate, condition, ..., and
        last by the order shown, and each is a thing of its own.
    level : {'nominal', 'ordinal', 'interval', 'ratio'}
        What the difference of two answers is. Preferences are nominal, or ordinal with the tie between the two sides.
        Interval alpha of continuous scores needs no more memory than the scores.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns whose values are told apart as repeats are, as in :func:`score_matrix`: a column of ratings that splits
        them and is neither here nor in `by` is refused.
    interval : {'t', 'percentile', None}
        Bootstrap of the things judged, read off by Student's t or by percentile, or none. The ranks of ordinal alpha
        are those of each resample.
    cluster : "auto", str or False
        Column whose levels are drawn whole; ``"auto"`` takes what several things are seen to share (``item``, say),
        False takes things as independent.
    n_resamples, seed
        Of the bootstrap.
    conf_level : float
        Coverage of the interval.

    Returns
    -------
    pandas.DataFrame
        Term ``alpha``; ``n`` counts the things with two answers or more, ``values`` the answers in them;
        ``observed_disagreement`` and ``expected_disagreement`` are the means whose ratio alpha is 1 minus. Things rated
        once cannot be paired: they are counted in the flag. NaN, flagged, where all answers are one, and where nothing
        can be paired.

    Raises
    ------
    SchemaError
        If a column is missing or holds what it should not.
    DesignError
        If an option is unknown, or the ratio level meets negative scores or answers that are no numbers.

    Notes
    -----
    Resamples draw things with their answers, which Krippendorff's own bootstrap of single disagreements does not: that
    one takes pairs of answers on one thing for independent. Only things that can be paired are drawn.

    References
    ----------
    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. Bootstrap of units: Zapf, A. et al. (2016).
    BMC Medical Research Methodology 16, 93.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"judge": list("aaabbb"), "system": "s", "item": list("xyzxyz"),
    ...                        "score": [1, 2, 3, 1, 2, 4]})
    >>> found = alpha(scores, level="interval", interval=None)
    >>> found[["estimate", "observed_disagreement", "expected_disagreement"]].round(4)
       estimate  observed_disagreement  expected_disagreement
    0     0.878                 0.3333                 2.7333
    """
    data = as_runs(data, average_over, by)
    choose(level, LEVELS, "level")
    if interval is not None:
        choose(interval, ("t", "percentile"), "interval")
    data, column, dependent = resolved(data, by, cluster)
    found, groups = rated(data, by, column)
    values = positions(found.answers)[0]
    _refuse_unfit(values, level, found.kind)
    plan = Bootstrap(interval or "t", (column,) if column else (), None, n_resamples, seed, conf_level)
    rows = []
    for group in groups:
        fit = krippendorff(group.units, group.n[None, :], values, level)
        cells: dict[str, Any] = {"term": "alpha", "estimate": fit.alpha[0], "n": group.paired, "flag": ""}
        cells |= {"observed_disagreement": fit.observed[0], "expected_disagreement": fit.expected[0]}
        cells["values"] = fit.values[0]
        if np.isnan(fit.alpha[0]):
            cells["flag"] = ONE_LABEL if group.paired else NO_PAIRS
        elif interval is not None:
            cells |= _resampled(group, float(fit.alpha[0]), values, level, plan)
            cells["flag"] = flags(cells["flag"], few_disagreements(cells, group.apart))
        rows.append({**group.key, **cells, "flag": flags(cells["flag"], *group.doubts, dependent)})
    return estimates(rows, list(dict.fromkeys(names(by))), ["observed_disagreement", "expected_disagreement", "values"])


def _refuse_unfit(values: Floats, level: Level, kind: str) -> None:
    if level == "ratio" and kind == "preferences":
        raise DesignError("level='ratio' needs scores with a zero: preferences are 'nominal', or 'ordinal'.")
    if level == "ratio" and (values < 0).any():
        raise DesignError(
            f"level='ratio' needs scores of 0 or more, and the lowest is {values.min():g}. Set scores off the scale to "
            "missing, or use level='interval'."
        )


def _resampled(group: Group, value: float, values: Floats, level: Level, plan: Bootstrap) -> dict[str, Any]:
    """Student's interval of a bootstrap of the units that can be paired."""
    paired = group.units.judges >= 2
    n = np.where(paired, group.n, 0.0)
    cells: dict[str, Any] = {"method": in_words(plan)}
    cluster = None
    drawn = int(n.sum())
    if plan.cluster:
        codes = codes_of(group.table[paired], list(plan.cluster))
        cluster = np.full(n.size, -1, dtype=np.int64)
        cluster[paired] = codes.code
        drawn = codes.size
    few = flags(few_clusters(drawn, drawn=True) if plan.cluster else "", SMALL_N if n.sum() < 30 else "")
    if drawn < 2:
        return {**cells, "flag": flags(ONE_UNIT, few)}
    rng = generator(plan.seed, tuple(map(str, group.key.values())))
    blocks = unit_weights(n, rng, plan.n_resamples, cluster)
    draws = np.concatenate([krippendorff(group.units, weight, values, level).alpha for weight in blocks])
    lost = int(np.isnan(draws).sum())
    found = read_off(value, draws, drawn, plan, (-math.inf, 1.0))
    return {
        **cells,
        **found,
        "method": of_units(found["method"]),
        "flag": flags(few, f"{lost:,} resamples undefined" if lost else "", found["flag"]),
    }
