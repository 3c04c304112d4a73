"""How far from the right score is a judge's, and in which direction?"""

from __future__ import annotations

import math
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.proportions import normal_quantile
from judgestats.metrics.resampled import Bootstrap, resampled
from judgestats.results import CONSTANT, NO_DATA, NOT_INDEPENDENT, SMALL_N, estimates, few_clusters, flags
from judgestats.schema.cells import ABOUT, cells
from judgestats.schema.clustering import Cluster, Sharing, auto_cluster, clusters
from judgestats.schema.coding import Codes, as_text, codes_of, refuse_infinite
from judgestats.schema.columns import By, grouping, kind_of, names
from judgestats.schema.splitting import as_runs

Floats = NDArray[np.float64]
PERFECT = "perfect correlation"
TOO_FEW = "too few for an interval"
NO_SPREAD = "errors do not vary"


def score_error(
    ratings: Any,
    gold: Any = "gold",
    *,
    by: By = (),
    average_over: By = (),
    cluster: Cluster = "auto",
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Error of a judge's scores against the right ones.

    Parameters
    ----------
    ratings : frame
        Scores; the runs of a judge on one thing are averaged first.
    gold : str or frame
        Column of `ratings` with the right score; or a frame with ``item`` (and ``system``, ``criterion``, those it has)
        and the right ``score``, ``mean``, ``value`` or ``gold``. Several scores of one thing there, of several people
        say, are averaged.
    by : str or sequence of str
        Further grouping columns (``criterion``, for one result each).
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    cluster : "auto", str or False
        What the bootstrap draws, and the other intervals allow for: by default what the things rated are seen to share
        (``item``, where several systems are rated on each); or a column of the ratings; False takes all things as
        independent, and is flagged where they are not.
    n_resamples, seed
        Of the bootstrap.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``rmse`` and ``mae`` (bootstrap of clusters, percentile), ``bias``, the mean of score minus gold (t on
        the clusters minus 1), and ``pearson`` (Fisher's z; clustered, with the linearised variance and t). ``n`` is the
        things that have both scores; the flag counts those that have not.

    Raises
    ------
    SchemaError
        If a thing has several gold scores in a column, or a column is missing.
    DesignError
        If no thing has a gold score.

    Notes
    -----
    RMSE and Pearson's correlation are LLM-Rubric's (Hashemi et al., ACL 2024); RMSE does not care about the direction
    of the errors, the correlation not about scale and offset.

    Examples
    --------
    >>> scores = pd.DataFrame({"judge": "g", "system": "s", "item": list("abcd"), "score": [2, 4, 3, 5],
    ...                        "gold": [1, 4, 3, 4]})
    >>> score_error(scores)[["term", "estimate", "n"]].round(3)
          term  estimate    n
    0     rmse     0.707  4.0
    1      mae     0.500  4.0
    2     bias     0.500  4.0
    3  pearson     0.913  4.0
    """
    ratings = as_runs(ratings, average_over, by)
    columns = clusters(cluster)
    if columns is not None and len(columns) > 1:
        raise DesignError(f"cluster={cluster!r}: score_error takes the name of one column, item or topic, say.")
    present = nw.from_native(ratings).collect_schema().names()
    if kind_of(present) != "ratings":
        raise SchemaError(f"score_error needs ratings, with 'system' and a score. Columns: {', '.join(present)}.")
    groups = list(dict.fromkeys(["judge", *grouping(by, present)]))
    column, shared, _ = Sharing("", False) if columns or "item" not in present else _shared(ratings, groups)
    if columns is None:
        columns = (column or "item",)
    extra = [c for c in dict.fromkeys([*names(by), *columns]) if c not in ("judge", "item")]
    means = cells(ratings, extra)
    matched = _matched(means, ratings, gold, extra)
    if not matched["_gold"].notna().any():
        raise DesignError("score_error needs the right scores, and no thing rated has one.")
    plan = Bootstrap("percentile", columns, None, n_resamples, seed, conf_level)
    rows: list[dict[str, Any]] = []
    for key, part in matched.groupby(groups, dropna=False, sort=True):
        rows += _errors(
            part, dict(zip(groups, key, strict=True)), plan, NOT_INDEPENDENT if shared and not columns else ""
        )
    return estimates(rows, groups)


def _shared(ratings: Any, groups: list[str]) -> Sharing:
    """What the things rated share."""
    data = nw.from_native(ratings)
    present = data.collect_schema().names()
    whole = [c for c in (*ABOUT, "prompt", "task") if c in present]
    table = data.lazy().select(*dict.fromkeys([*groups, *whole])).unique().collect(backend="pandas").to_native()
    things = codes_of(table, list(dict.fromkeys([*groups, *(c for c in ABOUT if c in table)])))
    kept = [
        c for c in ("prompt", "task") if c in table and codes_of(table, ["item", c]).size == table["item"].nunique()
    ]
    things_rated = table.iloc[things.first][list(dict.fromkeys([*groups, "item", *kept]))]
    return auto_cluster(nw.from_native(things_rated, eager_only=True), groups, "item", things.size)


def _matched(means: pd.DataFrame, ratings: Any, gold: Any, extra: list[str]) -> pd.DataFrame:
    """Put the gold score of each thing beside its mean score."""
    if isinstance(gold, str):
        table = nw.from_native(ratings).lazy().collect(backend="pandas").to_native()
        if gold not in table.columns:
            raise SchemaError(f"There is no column {gold!r} of right scores. Columns: {', '.join(table.columns)}.")
        keys = [c for c in (*ABOUT, *extra) if c in table.columns]
        known = table[[*dict.fromkeys(keys), gold]].dropna(subset=[gold]).drop_duplicates()
        twice = known.duplicated(list(dict.fromkeys(keys)))
        if twice.any():
            one = known[twice].iloc[0]
            raise SchemaError(f"Item {one['item']!r} has several right scores in {gold!r}. Give it one.")
        value = gold
    else:
        known = nw.from_native(gold).lazy().collect(backend="pandas").to_native()
        found = [c for c in ("score", "mean", "value", "gold") if c in known.columns]
        if "item" not in known.columns or not found:
            raise SchemaError(f"Right scores need 'item' and 'score'. Columns: {', '.join(known.columns)}.")
        value, keys = found[0], [c for c in (*ABOUT, *extra) if c in known.columns]
    keys = list(dict.fromkeys(keys))
    number = pd.to_numeric(known[value], errors="coerce")
    if (text := number.isna() & known[value].notna()).any():
        raise SchemaError(f"A right score in {value!r} is no number: {known.loc[text, value].iloc[0]!r}.")
    refuse_infinite(value, int(np.isinf(number.to_numpy(dtype=float, na_value=np.nan)).sum()))
    known = known.assign(_gold=number, **{k: _named(known[k]) for k in keys})
    known = known.dropna(subset=["_gold"]).groupby(keys, as_index=False, dropna=False)["_gold"].mean()
    result: pd.DataFrame = means.assign(**{f"_{k}": _named(means[k]) for k in keys})
    known = known.rename(columns={k: f"_{k}" for k in keys})
    return result.merge(known, how="left", on=[f"_{k}" for k in keys])


def _named(values: pd.Series[Any]) -> pd.Series[Any]:
    return as_text(values).fillna("\0missing").astype(object)


def _errors(part: pd.DataFrame, key: dict[str, Any], plan: Bootstrap, dependent: str) -> list[dict[str, Any]]:
    """Four rows of one group."""
    have = part["mean"].notna() & part["_gold"].notna()
    unscored, without = int(part["mean"].isna().sum()), int((part["_gold"].isna() & part["mean"].notna()).sum())
    told = flags(f"{without:,} without gold" if without else "", f"{unscored:,} without a score" if unscored else "")
    here = part[have].assign(n=1.0)
    score, right = here["mean"].to_numpy(float), here["_gold"].to_numpy(float)
    n = score.size
    size = NO_DATA if n == 0 else SMALL_N if n < 30 else ""
    if n == 0:
        empty = {"estimate": math.nan, "n": 0.0, "flag": flags(size, told)}
        return [{**key, "term": t, **empty} for t in ("rmse", "mae", "bias", "pearson")]
    error = score - right
    counts = np.column_stack([np.ones(n), error**2, np.abs(error)])
    unit = codes_of(here, list(plan.cluster)) if plan.cluster else Codes(np.arange(n), np.arange(n))
    rows = [
        {"term": "rmse", "estimate": math.sqrt(float((error**2).mean())), **resampled(here, counts, _rmse, plan, key)},
        {"term": "mae", "estimate": float(np.abs(error).mean()), **resampled(here, counts, _mae, plan, key)},
        {"term": "bias", **_bias(error, unit.code, unit.size, plan)},
        {"term": "pearson", **_pearson(score, right, unit, plan)},
    ]
    return [{**key, **row, "n": float(n), "flag": flags(row["flag"], dependent, size, told)} for row in rows]


def _rmse(totals: Floats) -> Floats:
    result: Floats = np.sqrt(totals[:, 1] / totals[:, 0])
    return result


def _mae(totals: Floats) -> Floats:
    result: Floats = totals[:, 2] / totals[:, 0]
    return result


def _bias(error: Floats, code: NDArray[Any], clusters: int, plan: Bootstrap) -> dict[str, Any]:
    """Mean error; its standard error is the plain one where each cluster is one thing."""
    mean = float(error.mean())
    row: dict[str, Any] = {"estimate": mean, "method": f"t{_by(plan, clusters)}"}
    few = few_clusters(clusters)
    if clusters < 2:
        return {**row, "flag": few}
    sums = np.bincount(code, error - mean, clusters)
    se = math.sqrt(clusters / (clusters - 1) * float((sums**2).sum())) / error.size
    if se <= 1e-12 * max(1.0, abs(mean)):
        return {**row, "flag": flags(few, NO_SPREAD)}
    half = float(stdtrit(clusters - 1, 0.5 + plan.conf_level / 2)) * se
    return {**row, "std_error": se, "conf_low": mean - half, "conf_high": mean + half, "flag": few}


def _by(plan: Bootstrap, clusters: int) -> str:
    return f", clustered by {plan.cluster[0]} (G = {clusters})" if plan.cluster else ""


def _pearson(score: Floats, right: Floats, unit: Codes, plan: Bootstrap) -> dict[str, Any]:
    row: dict[str, Any] = {"estimate": math.nan, "method": "Pearson, Fisher z", "flag": ""}
    if np.ptp(score) == 0 or np.ptp(right) == 0:
        return {**row, "flag": CONSTANT}
    r = float(np.corrcoef(score, right)[0, 1])
    if abs(r) > 1 - 1e-12:
        return {**row, "estimate": math.copysign(1.0, r), "flag": PERFECT}
    if score.size < 4:
        return {**row, "estimate": r, "flag": TOO_FEW}
    se, quantile, few = (1 - r**2) / math.sqrt(score.size - 3), normal_quantile(plan.conf_level), ""
    if unit.size < score.size:
        row["method"] += _by(plan, unit.size)
        few = few_clusters(unit.size)
        if unit.size < 2:
            return {**row, "estimate": r, "flag": few}
        x, y = ((v - v.mean()) / v.std() for v in (score, right))
        sums = np.bincount(unit.code, x * y - r / 2 * (x**2 + y**2), unit.size)  # influence on r
        se = math.sqrt(unit.size / (unit.size - 1) * float((sums**2).sum())) / score.size
        quantile = float(stdtrit(unit.size - 1, 0.5 + plan.conf_level / 2))
    half = quantile * se / (1 - r**2)
    low, high = math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    return {**row, "estimate": r, "std_error": se, "conf_low": low, "conf_high": high, "flag": few}
