"""What is known of each judge side by side, correlated over judges; and known values by the level that a judge chose.

:func:`side_by_side`, :func:`correlate_over_judges` and :func:`level_progression`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import stdtr, stdtrit

from judgestats import flags
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.correlation import average_ranks
from judgestats.metrics.consensus.correlations import correlated, with_truth
from judgestats.metrics.measure_registry import Measure
from judgestats.results import estimates
from judgestats.schema.columns import By
from judgestats.typing import Floats

#: Columns that may name the judge, or the model whose answers were judged.
_NAMES = ("judge", "system", "model")
#: Largest number of judges whose orders are all enumerated for an exact p.
_EXACT = 8

# ---- One table of what is known of each judge, and its correlations --------------------------------------------------


def side_by_side(results: Mapping[str, Any], *, identity: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Put results about the same judges into one table, a row per judge.

    Parameters
    ----------
    results : mapping of str to frame or Series
        Name of a column -> a result with one row per judge (filter it to one term): its ``estimate``, and its interval
        as ``<name>_low`` and ``<name>_high``; or a Series of values whose index names the judges. The judge is in
        ``judge``, else in ``system`` or ``model``: a judge may be measured, or its own answers may.
    identity : mapping of str to str, optional
        Name in a result -> name in the table, where names differ.

    Returns
    -------
    pandas.DataFrame
        ``judge``, sorted, and the columns. NaN where a result lacks a judge.

    Raises
    ------
    SchemaError
        If a result has no column that names judges, or no ``estimate``.
    DesignError
        If a result has several rows for one judge, or no judge is in two results.

    See Also
    --------
    correlate_over_judges : Whether measures of judges go together.
    datasheet : Everything about each judge.

    Examples
    --------
    >>> peers = pd.DataFrame({"judge": ["a", "b"], "term": "score", "estimate": [8.0, 7.0]})
    >>> side_by_side({"peers": peers, "people": pd.Series({"a": 8.5, "B": 6.0})}, identity={"B": "b"})
      judge  peers  people
    0     a    8.0     8.5
    1     b    7.0     6.0
    """
    parts = []
    for name, result in results.items():
        if isinstance(result, pd.Series):
            part = pd.DataFrame({"judge": result.index, name: result.to_numpy()})
        else:
            frame = Study.of(result).data.lazy().collect(backend="pandas").to_native()
            key = next((c for c in _NAMES if c in frame.columns), None)
            if key is None or "estimate" not in frame.columns:
                raise SchemaError(
                    f"{name!r} needs a column judge, system or model, and 'estimate'. It has: "
                    f"{', '.join(map(str, frame.columns))}. Or give a Series whose index names the judges."
                )
            part = pd.DataFrame({"judge": frame[key], name: frame["estimate"]})
            for end, column in (("low", "conf_low"), ("high", "conf_high")):
                if column in frame.columns and frame[column].notna().any():
                    part[f"{name}_{end}"] = frame[column].to_numpy()
        part["judge"] = [(identity or {}).get(str(j), str(j)) for j in part["judge"]]
        if part["judge"].duplicated().any():
            twice = part.loc[part["judge"].duplicated(), "judge"].iloc[0]
            raise DesignError(f"{name!r} has several rows for {twice!r}. Filter it to one term and one condition.")
        parts.append(part.set_index("judge"))
    if not parts:
        raise DesignError("results= is empty. Give a name and a result for each column.")
    table = pd.concat(parts, axis=1).sort_index()
    if len(parts) > 1 and table[list(results)].notna().sum(axis=1).max() < 2:
        raise DesignError("The results have no judge in common. Give identity= where one judge has several names.")
    return table.rename_axis("judge").reset_index()


@Measure(
    "Do judges that are better by one measure also do better by another?", "consensus", "table",
    "Fisher's z; p exact for few judges", "merchant_risk, Sec 5.4, 7.2", plot="forest",
    have=("judges", "printed table",),
    assumes="The judges are a sample of such judges; with a handful only a nearly perfect order is significant.",
)  # fmt: skip
def correlate_over_judges(
    table: IntoFrame, columns: Sequence[str] | None = None, *, conf_level: float = CONF_LEVEL
) -> pd.DataFrame:
    """Rank correlation, over judges, of each two of the numbers known of them.

    Parameters
    ----------
    table : frame
        One row per judge, as :func:`side_by_side` makes it: quality by peers and by people, validity, self-preference.
    columns : sequence of str, optional
        Which columns; by default all that hold numbers, without the ends of intervals.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        ``first`` and ``second`` (the columns), and those of every estimate, with ``p_value`` (exact, over all orders,
        for up to 8 judges; else from t on n - 2). Term ``spearman``. ``n`` counts judges.

    Raises
    ------
    SchemaError
        If a column is missing.
    DesignError
        If there are fewer than two columns.

    See Also
    --------
    side_by_side : Several measures, a row per judge.
    rank_correlation : Rank correlation with a reference.

    Notes
    -----
    Judges are the sample: with five of them only a nearly perfect order is significant. Errors of the numbers
    themselves are not in the interval, and weaken a correlation. Two numbers from the same scores are correlated by
    construction: a deviation from peers falls where the peers' scores rise by chance. Compare such a bias with quality
    by people.

    Source: merchant_risk paper, Sections 5.4 (quality predicts validity) and 7.2 (self-preference against quality).

    Examples
    --------
    >>> known = pd.DataFrame({"judge": list("abcde"), "people": [8.9, 8.8, 8.2, 8.1, 7.7],
    ...                       "validity": [.77, .56, .69, .61, .49]})
    >>> correlate_over_judges(known)[["first", "second", "estimate", "p_value", "n"]].round(3)
        first    second  estimate  p_value    n
    0  people  validity       0.7    0.233  5.0
    """
    data = Study.of(table).data.lazy().collect(backend="pandas").to_native()
    numeric = [str(c) for c in data.columns if data[c].dtype.kind in "iuf"]
    wanted = [c for c in numeric if not c.endswith(("_low", "_high"))] if columns is None else list(columns)
    absent = [c for c in wanted if c not in numeric]
    if absent:
        raise SchemaError(f"{absent[0]!r} is no column of numbers. There are: {', '.join(numeric)}.")
    if len(wanted) < 2:
        raise DesignError(f"A correlation needs two columns of numbers. Got: {', '.join(wanted) or 'none'}.")
    rows = []
    for one, two in combinations(wanted, 2):
        kept = data.dropna(subset=[one, two])
        x, y = (kept[c].to_numpy(dtype=float) for c in (one, two))
        lost = flags.EXCLUDED.of(len(data) - len(kept), what="judge(s) without both numbers")
        row = correlated(x, y, "spearman", conf_level, lost)
        if 2 < len(kept) <= _EXACT and not math.isnan(row["estimate"]):
            row["p_value"] = _exact_p(x, y)
            row["method"] = "Fisher z; p exact, all orders" if row.get("method") else ""
        rows.append({"first": one, "second": two, **row})
    return estimates(rows, ["first", "second"], ["p_value"], sort=False)


def _exact_p(x: Floats, y: Floats) -> float:
    """Two-sided p of a rank correlation: share of the orders at least as far from 0."""
    a, b = average_ranks(x), average_ranks(y)
    a, b = a - a.mean(), b - b.mean()
    orders = np.array(list(permutations(b)))
    return float((np.abs(orders @ a) >= abs(float(a @ b)) - 1e-9).mean())


# ---- Known values by the level that a judge chose --------------------------------------------------------------------


@Measure(
    "Do known values rise with the level that the judge chose?", "consensus", "R, table of truth",
    "t over items (Welch for a step)", "merchant_risk, Sec 5.3",
    have=("gold",),
    assumes="The known values are right; items are independent, whichever level a judge chose for them.",
)  # fmt: skip
def level_progression(ratings: IntoFrame, truth: Any, *, by: By = (), conf_level: float = CONF_LEVEL) -> pd.DataFrame:
    """Mean known value of the items at each level that a judge chose, and the step from each level to the next.

    Parameters
    ----------
    ratings : frame
        Ratings or means; the score is the level.
    truth : frame
        Known values: ``item`` and ``value``; a column ``system`` is matched too. See :func:`judgestats.weighted_index`
        for a value made of several indicators.
    by : str or sequence of str
        Further columns that split the result.
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
        kept = part.dropna(subset=["x", "y"])
        lost = flags.EXCLUDED.of(len(part) - len(kept), what="unmatched")
        values = {float(level): here["y"].to_numpy(dtype=float) for level, here in kept.groupby("x", sort=True)}
        for row in _levels(values, conf_level):
            rows.append({**dict(zip(keys, key, strict=True)), **row, "flag": flags.join(lost, row["flag"])})
    return estimates(rows, [*keys, "level"], ["p_value"], sort=False)


def _levels(values: dict[float, Floats], conf_level: float) -> list[dict[str, Any]]:
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


def _t(samples: list[Floats], value: float, conf_level: float) -> dict[str, Any]:
    """Student's interval of a mean, or Welch's of a difference of two."""
    size = flags.SMALL_N if sum(s.size for s in samples) < 30 else ""
    if min(s.size for s in samples) < 2:
        return {"flag": flags.join(flags.TOO_FEW, size)}
    parts = [float(s.var(ddof=1)) / s.size for s in samples]
    error = math.sqrt(sum(parts))
    if not error > 1e-12 * max(1.0, abs(value)):
        return {"flag": flags.join(flags.CONSTANT, size)}
    df = sum(parts) ** 2 / sum(p * p / (s.size - 1) for p, s in zip(parts, samples, strict=True))
    half = float(stdtrit(df, (1 + conf_level) / 2)) * error
    ends = {"std_error": error, "conf_low": value - half, "conf_high": value + half, "flag": size}
    if len(samples) == 1:
        return {**ends, "method": "t over items"}
    return {**ends, "method": "Welch's t over items", "p_value": float(2 * stdtr(df, -abs(value) / error))}
