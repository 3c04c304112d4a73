"""Places of the chosen options among several that were shown in an order: :func:`option_position_bias`."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import chdtrc

from judgestats import flags, methods
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts, size_flag
from judgestats.counting.study import Calls, Study
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.cluster_sums import cluster_sums
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term, column_names
from judgestats.results import estimates
from judgestats.schema.coding import numbers_of
from judgestats.schema.columns import By
from judgestats.schema.factors import Factor
from judgestats.typing import Floats, Record

_WITHOUT = "call(s) without a place"


def _number_of_options(data: Calls, _: MeasureOptions) -> str:
    """Requires how many options were shown, where it is said which was chosen."""
    present = {*column_names(data)}
    if present >= {"shown_at", "n_options"}:
        return ""
    return "needs " + ("how many options were shown, in n_options" if "shown_at" in present else "a column 'shown_at'")


@Measure(
    "Of several options, does the judge prefer a place?",
    "bias",
    "R, counts",
    "Wilson, clustered; with `gold_at` clustered Tango; test: Rao and Scott",
    "ours",
    plot="forest",
    frames=("ratings",),
    needs=(_number_of_options,),
    classes=True,
    table=("position_bias", "accuracy", "chi2"),
    terms=(
        Term(
            "position_bias",
            "position bias",
            "call",
            "valid calls",
            "far from 0",
            "Share of the place minus the share expected without a preference.",
            neutral=0.0,
            form="points",
        ),
        Term(
            "share",
            "share of the place",
            "call",
            "valid calls",
            "no universal direction",
            "The judge chooses the option shown at this place.",
            form="share",
        ),
        Term(
            "accuracy",
            "",
            "call",
            "valid calls",
            "lower",
            "The judge chooses the option that stands at `gold_at`.",
        ),
        Term(
            "chi2",
            "chi-square of equal places",
            "call",
            "valid calls",
            "higher",
            "Distance of all shares from those expected, with the test that none differs.",
            form="score",
        ),
    ),
    assumes="The order of the options is random or balanced, or `gold_at` says where the right one stood.",
)
def option_position_bias(
    calls: IntoFrame,
    *,
    n_options: int | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Share of each place among the options that a judge chose, against the share without a preference for a place.

    Parameters
    ----------
    calls : frame
        Ratings with ``shown_at``, the place, from 1, at which the chosen option was shown; or a tally: ``judge,
        shown_at, n``, and ``n_options`` and ``gold_at`` where there are such columns. A call without a place, or
        without an answer, is not valid.
    n_options : int, optional
        How many options were shown; by default the column ``n_options``. It is not taken from the places that occur.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge and number of options, for each place ``shown_at``: ``share``, and ``position_bias``, the share minus
        ``expected``; and one row ``chi2``, a test of all places with its ``df`` and ``p_value``. ``expected`` is one
        over the number of options; with a column ``gold_at``, the place of the right option, it is the share of calls
        whose right option stood there, and a row ``accuracy`` is the share of calls with the right option. ``n`` is the
        number of valid calls.

    Raises
    ------
    DesignError
        If it is not known how many options were shown.
    SchemaError
        If a place is not a whole number from 1 to the number of options.

    See Also
    --------
    position_bias : The same for pairs; of such calls it gives this.
    consistency : Same verdict when the options are shown again.

    Notes
    -----
    Without ``gold_at`` the options must have been shown in random or balanced orders: else what is right often stood at
    a place. The test is Pearson's, divided by the mean design effect of the clusters (Rao and Scott, 1981, JASA 76,
    221-230); with independent calls it is Pearson's. With ``gold_at`` it has Satterthwaite's degrees of freedom, since
    places have unequal variances; of two options it is McNemar's.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "shown_at": [1, 2, 3, 4], "n": [90, 50, 40, 20]})
    >>> found = option_position_bias(counts, n_options=4)
    >>> found[found["term"] != "share"][["shown_at", "term", "estimate", "conf_low", "conf_high"]].round(2)
      shown_at           term  estimate  conf_low  conf_high
    0        1  position_bias      0.20      0.13       0.27
    2        2  position_bias      0.00     -0.05       0.06
    4        3  position_bias     -0.05     -0.10       0.01
    6        4  position_bias     -0.15     -0.18      -0.10
    8     <NA>           chi2     52.00       NaN        NaN
    """
    counts = count(Study.of(calls), "option_position_bias", by, cluster=cluster).inferred(conf_level)
    if n_options is not None:
        if "n_options" in counts.columns:
            raise DesignError("n_options= says how many options were shown, and so does the column. Leave one out.")
        columns = counts.columns.but(n_options=Factor(np.zeros(len(counts.n), dtype=np.int8), [n_options]))
        counts = Counts(columns, counts.n, counts.groups, counts.clusters, conf_level=conf_level)
    places = _places(counts, "shown_at")
    if "n_options" not in counts.columns:
        raise DesignError(
            f"How many options were shown is not known: the largest place that was chosen is {np.nanmax(places):g}, "
            "and later ones may never have been. Pass n_options=, or a column n_options.",
            problem="how many options were shown is not known",
        )
    if "gold_at" in counts.columns:
        places = np.where(np.isnan(_places(counts, "gold_at")), np.nan, places)
    groups = [*dict.fromkeys([*counts.groups, "n_options"])]
    counts = counts.grouped(groups)
    parts = counts.rows_of_groups()
    rows = [row for key, part in parts for row in _of_group(counts.where(part), places[part], key)]
    result = estimates(rows, [*groups, "shown_at"], ["expected", "df", "p_value"])
    for column, dtype in (("n_options", "int64"), ("shown_at", "Int64")):
        result[column] = result[column].astype(dtype)
    return result


def _places(counts: Counts, column: str) -> Floats:
    """The places of a column, row by row; NaN where there is none."""
    values = pd.Series(counts.values(column))
    places: Floats = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    last: Floats = np.array(math.inf)
    if "n_options" in counts.columns:
        last = numbers_of(pd.Series(counts.values("n_options"), name="n_options"))
        if not (last >= 2).all() or (last % 1).any():
            raise SchemaError("n_options must be a whole number from 2 in every row: how many options were shown.")
    wrong = ~np.isnan(places) & ~((places >= 1) & (places <= last) & (places % 1 == 0))
    if wrong.any():
        raise SchemaError(
            f"{column!r} is {places[wrong][0]:g} in {counts.n[wrong].sum():,.0f} call(s). Allowed: a whole number from "
            "1 to the number of options, or none. Places counted from 0 need 1 more; check n_options."
        )
    return places


def _of_group(counts: Counts, places: Floats, key: Record) -> Iterator[Record]:
    """The rows of one judge and number of options."""
    k, valid = int(float(key["n_options"])), ~np.isnan(places)
    left_out = {_WITHOUT: ~valid}
    right = _places(counts, "gold_at") if "gold_at" in counts.columns else None
    n = counts.n * valid
    expected = np.full((len(n), k), 1 / k) if right is None else (right[:, None] == np.arange(1, k + 1)).astype(float)
    excess = (places[:, None] == np.arange(1, k + 1)) - expected
    for j, share in enumerate(n @ expected / n.sum() if n.any() else np.full(k, math.nan)):
        chosen, cells = places == j + 1, {"shown_at": j + 1, "expected": share}
        [row] = counts.rates("share", chosen, valid, left_out=left_out, **cells)
        if right is None:
            yield row | {c: row[c] - share for c in ("estimate", "conf_low", "conf_high")} | {"term": "position_bias"}
        else:
            one, other = excess[:, j] > 0, excess[:, j] < 0
            yield from counts.differences("position_bias", one, other, valid, left_out=left_out, **cells)
        yield row
    if right is not None:
        yield from counts.rates("accuracy", places == right, valid, left_out=left_out)
    yield {**key, "term": "chi2", "n": n.sum(), **_test(counts, np.nan_to_num(excess) * valid[:, None], n)}


def _test(counts: Counts, excess: Floats, n: Floats) -> Record:
    """Chi-square of differences from the expected shares, summed over clusters, with its p value."""
    k, column = excess.shape[1], counts.clusters.column
    code = None if column is None else counts.columns.codes([column]).code
    sums, alike = cluster_sums(excess, counts.n, code)
    products = (sums.T * alike) @ sums
    spread = float(np.trace(products))
    df = spread**2 / (products**2).sum() if "gold_at" in counts.columns and spread > 0 else k - 1
    statistic = df * float(((alike @ sums) ** 2).sum()) / spread if spread > 0 else math.nan
    lost = flags.EXCLUDED.of(round(counts.n.sum() - n.sum()), what=_WITHOUT)
    method, few = methods.PEARSON, flags.join(lost, counts.clusters.flag)
    if code is not None:
        sizes = np.bincount(code, weights=n).astype(np.float64)
        method = methods.clustered(methods.RAO_SCOTT, column or "", sizes)
        few = flags.join(few, flags.few_clusters(sizes))
    return {
        "estimate": statistic,
        "df": df,
        "p_value": float(chdtrc(df, statistic)),
        "method": method,
        "flag": flags.join(few, size_flag(n.sum())),
    }
