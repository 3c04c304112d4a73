"""Known values by the level that a judge chose: :func:`level_progression`."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import stdtr

from judgestats import flags, methods
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import SchemaError
from judgestats.estimate import student, varies
from judgestats.metrics.consensus.correlations import with_truth
from judgestats.metrics.measure_registry import Measure
from judgestats.results import estimates
from judgestats.schema.columns import By
from judgestats.typing import Floats, Record


@Measure(
    "Do known values rise with the level that the judge chose?",
    "consensus",
    "R, table of truth",
    "t over items (Welch for a step)",
    "merchant_risk, Sec 5.3",
    have=("gold",),
    assumes="The known values are right; items are independent, whichever level a judge chose for them.",
)
def level_progression(
    ratings: IntoFrame, truth: IntoFrame, *, by: By = (), conf_level: float = CONF_LEVEL
) -> pd.DataFrame:
    """Mean known value of the items at each level that a judge chose, and the step from each level to the next.

    Parameters
    ----------
    ratings : frame
        Ratings or means; the score is the level.
    truth : frame
        Known values: ``item`` and ``value``; a column ``system`` is matched too. See :func:`judgestats.weighted_index`
        for a value made of several indicators.
    by : str or sequence of str
        Further grouping columns.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, ``judge``, ``level``, and the columns of every estimate. Terms ``mean_value``; ``step``, the
        mean at ``level`` minus that at the next lower level that the judge used, with ``p_value`` (two-sided); and
        ``rising``, the share of the judge's steps that rise (no interval). ``n`` counts items, for ``rising`` steps.

    Raises
    ------
    SchemaError
        If the truth has no values.
    DesignError
        If it has none of the items.

    See Also
    --------
    rank_correlation : Rank correlation with a reference.
    weighted_index : Several indicators as one value.

    Notes
    -----
    Items are the sample, and independent. For the number of items at a wrong level, adjacent or further off, give
    :func:`rank_correlation` a truth with levels; for items that all judges put at one level, see :func:`disagreement`.

    Source: merchant_risk paper, Section 5.3 and Figure 10 (smooth progression; its values are not printed).

    Examples
    --------
    >>> picks = pd.DataFrame({"judge": "g", "item": list("abcdef"), "score": [1, 1, 2, 2, 3, 3]})
    >>> known = pd.DataFrame({"item": list("abcdef"), "value": [.1, .3, .2, .4, .5, .9]})
    >>> level_progression(picks, known)[["judge", "level", "term", "estimate", "n"]].round(2)
      judge  level        term  estimate    n
    0     g    1.0  mean_value       0.2  2.0
    1     g    2.0  mean_value       0.3  2.0
    2     g    3.0  mean_value       0.7  2.0
    3     g    2.0        step       0.1  4.0
    4     g    3.0        step       0.4  4.0
    5     g    NaN      rising       1.0  2.0
    """
    columns = Study.of(truth).names
    if "value" not in columns:
        raise SchemaError(f"The truth needs item and value. Columns: {', '.join(map(str, columns))}.")
    paired, groups = with_truth(ratings, truth, by)
    keys, rows = [*groups, "judge"], []
    for key, part in paired.groupby(keys, dropna=False, sort=True):
        matched = part.dropna(subset=["x", "y"])
        lost = flags.EXCLUDED.of(len(part) - len(matched), what="unmatched")
        values = {
            float(level): rows_of_level["y"].to_numpy(dtype=float)
            for level, rows_of_level in matched.groupby("x", sort=True)
        }
        for row in _level_rows(values, conf_level):
            rows.append({**dict(zip(keys, key, strict=True)), **row, "flag": flags.join(lost, row["flag"])})
    return estimates(rows, [*keys, "level"], ["p_value"], sort=False)


def _level_rows(values: dict[float, Floats], conf_level: float) -> list[Record]:
    means = [
        {"term": "mean_value", "level": level, "n": v.size, "estimate": v.mean(), **_t([v], v.mean(), conf_level)}
        for level, v in values.items()
    ]
    steps = []
    for low, high in zip(list(values)[:-1], list(values)[1:], strict=True):
        sides = [values[low], values[high]]
        step = float(sides[1].mean() - sides[0].mean())
        size = sides[0].size + sides[1].size
        steps.append({"term": "step", "level": high, "n": size, "estimate": step, **_t(sides, step, conf_level)})
    up = [s["estimate"] > 0 for s in steps]
    share = {"term": "rising", "level": math.nan, "n": len(up), "estimate": np.mean(up) if up else math.nan}
    return [*means, *steps, {**share, "flag": "" if up else flags.NO_DATA}]


def _t(samples: list[Floats], value: float, conf_level: float) -> Record:
    """Student's interval of a mean, or Welch's of a difference of two."""
    size = flags.SMALL_N if sum(s.size for s in samples) < 30 else ""
    if min(s.size for s in samples) < 2:
        return {"flag": flags.join(flags.ONE_UNIT, size)}
    parts = [float(s.var(ddof=1)) / s.size for s in samples]
    error = math.sqrt(sum(parts))
    if not varies(value, error):
        return {"flag": flags.join(flags.NO_SPREAD, size)}
    df = sum(parts) ** 2 / sum(p * p / (s.size - 1) for p, s in zip(parts, samples, strict=True))
    of_two = len(samples) == 2
    method = methods.WELCH_OF_ITEMS if of_two else methods.T_OF_ITEMS
    cells = student(value, error, df, conf_level=conf_level, method=method, flag=size).interval
    return {**cells, "p_value": float(2 * stdtr(df, -abs(value) / error))} if of_two else cells
