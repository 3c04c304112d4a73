"""Results about the same judges side by side, and their correlations over judges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.arguments import checked_arguments
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.correlation import average_ranks
from judgestats.metrics.consensus.correlations import correlated
from judgestats.metrics.measure_registry import Measure
from judgestats.results import estimates
from judgestats.typing import Floats

#: Columns that may name the judge, or the model whose answers were judged.
_NAMES = ("judge", "system", "model")
#: Largest number of judges whose orders are all enumerated for an exact p.
_EXACT = 8


@checked_arguments
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
    if not isinstance(results, Mapping) or "judge" in results:
        got = "a column named 'judge'" if isinstance(results, Mapping) else f"a {type(results).__name__}"
        raise DesignError(
            f"results= is a mapping from the names of the columns to results, {{'peers': score_matrix(ratings)}}, and "
            f"'judge' is no such name. Got {got}."
        )
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
    "Do judges that are better by one measure also do better by another?",
    "consensus",
    "table",
    "Fisher's z; p exact for few judges",
    "merchant_risk, Sec 5.4, 7.2",
    plot="forest",
    have=("judges", "printed table"),
    assumes="The judges are a sample of such judges; with a handful only a nearly perfect order is significant.",
)
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
        complete = data.dropna(subset=[one, two])
        x, y = (complete[c].to_numpy(dtype=float) for c in (one, two))
        lost = flags.EXCLUDED.of(len(data) - len(complete), what="judge(s) without both numbers")
        row = correlated(x, y, "spearman", conf_level, lost)
        if 2 < len(complete) <= _EXACT and not math.isnan(row["estimate"]):
            row["p_value"] = _exact_p(x, y)
            if row.get("method"):
                row["method"] = methods.FISHER_Z_EXACT
        rows.append({"first": one, "second": two, **row})
    return estimates(rows, ["first", "second"], ["p_value"], sort=False)


def _exact_p(x: Floats, y: Floats) -> float:
    """Two-sided p of a rank correlation: share of the orders at least as far from 0."""
    a, b = average_ranks(x), average_ranks(y)
    a, b = a - a.mean(), b - b.mean()
    orders = np.array(list(permutations(b)))
    return float((np.abs(orders @ a) >= abs(float(a @ b)) - 1e-9).mean())
