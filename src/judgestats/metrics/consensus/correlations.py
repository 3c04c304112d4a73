"""Rank correlation of judges with peers, people or known values: :func:`rank_correlation`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import stdtr

from judgestats import flags, methods, wording
from judgestats.counting.cells import cells
from judgestats.counting.clustering import Cluster
from judgestats.counting.splitting import as_runs, reference_as_runs
from judgestats.counting.study import Calls, Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, choose
from judgestats.estimate import ON_Z, Estimate, clustered_share, jackknifed, share, student
from judgestats.kernels.correlation import average_ranks
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.consensus.scores import mean_scores
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.results import estimates, with_interval
from judgestats.schema.coding import numbers_of
from judgestats.schema.columns import By, grouping, names
from judgestats.schema.opening import frame_columns
from judgestats.typing import Floats, Record

Method = Literal["spearman", "kendall"]
METHODS: tuple[Method, ...] = ("spearman", "kendall")


@Measure(
    "Does the judge rank as its peers, as people or as known values do?",
    "consensus",
    "R, table of truth",
    "Fisher's z; clustered: t, jackknife; counts: Wilson",
    "Bonett and Wright 2000; merchant_risk, Sec 5",
    plot="forest",
    frames=("ratings",),
    have=("judges",),
    assumes=(
        "The reference is not made from the judge's own scores; systems are independent, unless they share a family."
    ),
    terms=(Term("spearman", "Spearman ρ"), Term("kendall", "Kendall τ")),
)
def rank_correlation(
    ratings: IntoFrame,
    reference: Any = "peers",
    *,
    truth: Any = None,
    condition: str = "condition",
    method: Method | Sequence[Method] = METHODS,
    by: By = (),
    average_over: By = (),
    identity: Mapping[str, str] | None = None,
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
    per_criterion: bool = False,
    overall_criterion: str | None = "final",
) -> pd.DataFrame:
    """Rank correlation of each judge's scores of systems with a reference, or of items with known values.

    Parameters
    ----------
    ratings : frame
        Ratings or means.
    reference : 'peers', frame or (str, str)
        ``'peers'``: the mean score of the other judges, system by system. A frame: the mean score per ``system`` in
        other ratings or means (people, say). A pair: two values of the column `condition`, between which the judge's
        scores are compared.
    truth : frame, optional
        In place of `reference`: known values of each ``item``: ``value`` (a number, empirical risk say) and, if there
        are levels, the right ``level`` on the judges' scale. The judge's mean score of an item is correlated with its
        value (or, without values, its level). A column ``system`` is matched too. `ratings` need no ``system`` then.
    condition : str
        Column of the conditions of a pair.
    method : {'spearman', 'kendall'} or both
        Spearman is Pearson's correlation of average ranks, with p from t on n - 2; Kendall is tau-b, with an exact p
        for few untied pairs, else a normal one.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    identity : mapping of str to str, optional
        System name -> name, so that the systems of a pair of conditions, or of a reference, match.
    cluster : "auto", str or False
        Column of `ratings` that several points share, by which the interval is clustered. With `truth`, ``"auto"``
        detects it (``item`` where there are systems; ``prompt``, ``task``); without, it treats systems as independent,
        and a column can give their family, say. False treats points as independent.
    conf_level : float
        Coverage of the intervals.
    per_criterion, overall_criterion
        As in :func:`score_matrix`.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, ``judge``, the columns of every estimate and ``p_value``. Terms ``spearman`` and ``kendall``;
        with levels in the truth also ``off_by_one`` and ``off_by_more``, the number of items whose level the
        judge misses by one, and by more (interval: Wilson's, times n). ``n`` counts systems, or items.

    Raises
    ------
    DesignError
        If nothing matches, a condition is absent, or both `reference` and `truth` are given.
    SchemaError
        If a column is missing.

    See Also
    --------
    ranks : Ranks of the systems.
    kendall_w : Concordance of the judges' rankings.

    Notes
    -----
    Intervals are Fisher's z: for Spearman with variance (1 + ρ²/2)/(n - 3) (Bonett and Wright 2000), for tau-b with
    0.437/(n - 4) (Fieller, Hartley and Pearson 1957). With clusters interval and p are t on the scale of z, from the
    jackknife of clusters.

    Examples
    --------
    >>> picks = pd.DataFrame({"judge": "g", "item": list("abcdef"), "score": [1, 1, 2, 2, 3, 3]})
    >>> known = pd.DataFrame({"item": list("abcdef"), "value": [.1, .3, .2, .4, .5, .9], "level": [1, 2, 1, 2, 2, 3]})
    >>> rank_correlation(picks, truth=known)[["judge", "term", "estimate", "p_value", "n"]].round(4)
      judge         term  estimate  p_value    n
    0     g     spearman    0.8367   0.0378  6.0
    1     g      kendall    0.7454   0.0469  6.0
    2     g   off_by_one    3.0000      NaN  6.0
    3     g  off_by_more    0.0000      NaN  6.0
    """
    ratings, reference = as_runs(ratings, average_over, by), reference_as_runs(reference, average_over)
    statistics = [method] if isinstance(method, str) else list(method)
    for m in statistics:
        choose(m, METHODS, "method")
    if truth is not None:
        if not (isinstance(reference, str) and reference == "peers"):
            raise DesignError("Give reference= (scores of systems) or truth= (known values of items), not both.")
        paired, groups = with_truth(ratings, truth, by)
    elif isinstance(reference, tuple | list):
        paired, groups = _between(ratings, reference, condition, by, identity or {}, per_criterion, overall_criterion)
    else:
        paired, groups = _with_reference(ratings, reference, by, identity or {}, per_criterion, overall_criterion)
    units = [c for c in ("system", "item") if c in paired.columns]
    cluster_option = False if truth is None and cluster == "auto" else cluster
    chosen = clustered_by(ratings, [*groups, "judge"], cluster_option, units)
    dependent = chosen.flag if truth is not None else ""
    if chosen.column in units:
        paired = paired.assign(_cluster=paired[chosen.column])
    elif chosen.column:
        paired = _with_cluster(paired, ratings, units, chosen.column, identity or {})
    rows: list[Record] = []
    keys = [*groups, "judge"]
    for key, part in paired.groupby(keys, dropna=False, sort=True):
        labels = dict(zip(keys, key, strict=True))
        x, y = (part[c].to_numpy(dtype=float) for c in ("x", "y"))
        both = ~(np.isnan(x) | np.isnan(y))
        flag = flags.join(flags.EXCLUDED.of(both.size - both.sum(), what="unmatched"), dependent)
        clusters = (chosen.column, part["_cluster"].to_numpy()[both]) if chosen.column else None
        rows += [{**labels, **correlated(x[both], y[both], m, conf_level, flag, clusters)} for m in statistics]
        if "level" in part.columns:
            wrong_levels = _wrong_levels(part, conf_level, chosen.column)
            rows += [{**labels, **row, "flag": flags.join(row["flag"], dependent)} for row in wrong_levels]
    return estimates(rows, keys, ["p_value"])


def correlated(
    x: Floats, y: Floats, method: Method, conf_level: float, flag: str = "", cluster: tuple[str, Any] | None = None
) -> Record:
    """Cells of the rank correlation of two vectors (n,) without NaN; values that differ by rounding are ties.

    `flag`: put first. `cluster`: name of the cluster column, and its values (n,).
    """
    n = x.size
    unranked = x, y
    x, y = average_ranks(x), average_ranks(y)
    row: Record = {"term": method, "n": n}
    if n < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        why = flags.CONSTANT if n > 1 else flags.TOO_FEW if n else flags.NO_DATA
        return {**row, "estimate": math.nan, "flag": flags.join(flag, why)}
    r, p, variance = _STATISTICS[method](x, y)
    row |= {"estimate": r, "p_value": p, "flag": flags.join(flag, flags.SMALL_N if n < 30 else "")}
    if 1 - abs(r) < 1e-12:
        return {**row, "flag": flags.join(row["flag"], flags.PERFECT_CORRELATION)}
    if cluster is not None and len(pd.unique(cluster[1])) < n:
        return {**row, **_jackknifed(*unranked, r, method, conf_level, *cluster, row["flag"])}
    if not variance < math.inf:
        return {**row, "flag": flags.join(row["flag"], flags.TOO_FEW)}
    return {**row, **fisher(r, variance, conf_level, _FISHER_Z[method], row["flag"]).interval}


def _jackknifed(
    x: Floats, y: Floats, r: float, method: Method, conf_level: float, column: str, labels: object, flag: str
) -> Record:
    """Student's interval of a rank correlation on the scale of z, from the jackknife of clusters."""
    code, levels = pd.factorize(labels, use_na_sentinel=False)
    g = len(levels)
    few = flags.join(flag, flags.few_clusters(np.bincount(code), resampled=True))
    if g < 2:
        return {"p_value": math.nan, "flag": few}
    parts = [_STATISTICS[method](average_ranks(x[code != c]), average_ranks(y[code != c]))[0] for c in range(g)]
    without = np.array(parts)
    if not (np.abs(without) < 1 - 1e-12).all():
        return {"p_value": math.nan, "flag": flags.join(few, flags.ONE_CLUSTER_DIFFERS)}
    estimate = jackknifed(r, without, np.bincount(code).astype(np.float64), column, conf_level)
    if math.isnan(estimate.std_error):
        return {"p_value": math.nan, "flag": flags.join(few, flags.NO_SPREAD)}
    return {**estimate.interval, "flag": flags.join(few, estimate.flag)}


def _with_cluster(
    paired: pd.DataFrame, ratings: Calls, keys: list[str], column: str, identity: Mapping[str, str]
) -> pd.DataFrame:
    """Add the cluster of each point."""
    data = Study.of(ratings).data.lazy()
    if "system" in keys and "system" not in data.collect_schema().names():
        data = data.with_columns(nw.lit("").alias("system"))
    clusters = data.select(*keys, column).unique().collect(backend="pandas").to_native()
    if "system" in keys and identity:  # by either name
        clusters = pd.concat([clusters, _renamed(clusters, identity)], ignore_index=True)
    clusters = clusters.drop_duplicates([*keys, column]).rename(columns={column: "_cluster"})
    if clusters.duplicated(keys).any():
        raise DesignError(
            f"cluster={column!r} differs within one {' and '.join(keys)}. Name a column with one value in each."
        )
    return paired.merge(clusters.astype(dict.fromkeys(keys, str)), on=keys, how="left")


def fisher(r: float, variance: float, conf_level: float, method: wording.Method, flag: str = "") -> Estimate:
    """A correlation in (-1, 1) with its interval by Fisher's z of this variance, and its delta-method error."""
    error = (1 - r * r) * math.sqrt(variance)
    return student(r, error, conf_level=conf_level, method=method, flag=flag, transform=ON_Z)


def _spearman(x: Floats, y: Floats) -> tuple[float, float, float]:
    n = x.size
    r = float(np.corrcoef(x, y)[0, 1])
    r = math.copysign(1.0, r) if 1 - abs(r) < 1e-12 else r
    p = spearman_p(r, n)
    return r, p, (1 + r * r / 2) / (n - 3) if n > 3 else math.inf


def spearman_p(rho: float, n: int) -> float:
    """Two-sided p of a Spearman correlation of n pairs, from t on n - 2 degrees of freedom; NaN for n < 3.

    >>> round(spearman_p(0.491, 15), 3)  # Perplexity Sonar in the merchant_risk paper: 0.49, p 0.063
    0.063
    """
    if n < 3:
        return math.nan
    if abs(rho) >= 1:
        return 0.0
    return float(2 * stdtr(n - 2, -abs(rho) * math.sqrt((n - 2) / (1 - rho * rho))))


def _kendall(x: Floats, y: Floats) -> tuple[float, float, float]:
    from scipy.stats import kendalltau

    tau, p = kendalltau(x, y)
    return float(tau), float(p), 0.437 / (x.size - 4) if x.size > 4 else math.inf


_STATISTICS: dict[Method, Callable[[Floats, Floats], tuple[float, float, float]]] = {
    "spearman": _spearman,
    "kendall": _kendall,
}
_FISHER_Z = {"spearman": methods.FISHER_Z_T, "kendall": methods.FISHER_Z_KENDALL}


def _wrong_levels(part: pd.DataFrame, conf_level: float, column: str) -> list[Record]:
    """Rows of the number of items with a wrong level."""
    matched = part.dropna(subset=["x", "level"])
    n = len(matched)
    x, level = matched["x"].to_numpy(dtype=float), matched["level"].to_numpy(dtype=float)
    if not n or (x != np.floor(x)).any() or (level != np.floor(level)).any():
        flag = flags.NOT_WHOLE if n else flags.NO_DATA
        return [{"term": t, "estimate": math.nan, "n": n, "flag": flag} for t in ("off_by_one", "off_by_more")]
    off = np.abs(x - level)
    rows = []
    for term, hits in (("off_by_one", int((off == 1).sum())), ("off_by_more", int((off > 1).sum()))):
        estimate = share(hits, n, conf_level)
        if column and (groups := matched["_cluster"].nunique(dropna=False)) < n:
            code = pd.factorize(matched["_cluster"], use_na_sentinel=False)[0]
            wrong_level = off == 1 if term == "off_by_one" else off > 1
            wrong, size = (
                np.bincount(code, w, groups).astype(np.float64) for w in (wrong_level.astype(float), np.ones(n))
            )
            estimate = clustered_share(wrong, size, column, conf_level)
        ends = with_interval(
            n * estimate.std_error, n * estimate.low, n * estimate.high, method=estimate.method.noting("times n")
        )
        cautions = flags.join(flags.SMALL_N if n < 30 else "", estimate.flag)
        rows.append({"term": term, "estimate": hits, "n": n, **ends, "flag": cautions})
    return rows


def _renamed(scores: pd.DataFrame, identity: Mapping[str, str]) -> pd.DataFrame:
    return scores.assign(system=[identity.get(s, s) for s in scores["system"]])


def _between(
    ratings: Calls,
    pair: Sequence[str],
    condition: str,
    by: By,
    identity: Mapping[str, str],
    per_criterion: bool,
    final: str | None,
) -> tuple[pd.DataFrame, list[str]]:
    """Scores of each judge in two conditions."""
    if len(pair) != 2:
        raise DesignError(f"reference= takes two conditions, got {len(pair)}: {', '.join(map(str, pair))}.")
    scores, groups = mean_scores(ratings, [*names(by), condition], per_criterion, final)
    groups = [g for g in groups if g != condition]
    scores = _renamed(scores, identity)
    conditions = scores[condition].astype(str)
    if missing := [c for c in pair if c not in set(conditions)]:
        raise DesignError(f"{condition!r} has no {missing[0]!r}. It has: {', '.join(sorted(set(conditions)))}.")
    keys = [*groups, "judge", "system"]
    sides = [scores[conditions == c].drop(columns=condition) for c in pair]
    for side, name in zip(sides, pair, strict=True):
        _refuse_double(side, keys, f"condition {name!r}")
    x, y = (side.rename(columns={"estimate": name}) for side, name in zip(sides, "xy", strict=True))
    return x.merge(y, on=keys, how="outer"), groups


def _refuse_double(table: pd.DataFrame, keys: list[str], where: str) -> None:
    again = table.duplicated(keys)
    if again.any():
        systems = ", ".join(sorted({repr(s) for s in table.loc[again, "system"]}))
        raise SchemaError(f"In {where} identity= maps several systems to {systems}. It must be one-to-one.")


def _with_reference(
    ratings: Calls, reference: Calls | str, by: By, identity: Mapping[str, str], per_criterion: bool, final: str | None
) -> tuple[pd.DataFrame, list[str]]:
    """Scores of each judge, and those of its peers or a reference."""
    scores, groups = mean_scores(ratings, by, per_criterion, final)
    if isinstance(reference, str):
        choose(reference, ("peers",), "reference")
        grouped = scores.groupby([*groups, "system"], dropna=False)["estimate"]
        total, count = grouped.transform("sum"), grouped.transform("count")
        with np.errstate(divide="ignore", invalid="ignore"):
            others = (total - scores["estimate"]) / (count - 1).where(count > 1)
        return scores.rename(columns={"estimate": "x"}).assign(y=others), groups
    present = Study.of(reference).names
    frame = Study.of(reference).data
    if "judge" not in present:  # rows are raters; other columns do not split them
        listed = [*groups, "system", "item", "criterion", "score", "mean", "sd", "runs", "n"]
        frame = frame.select(*(c for c in dict.fromkeys(listed) if c in present)).with_columns(
            nw.lit("").alias("judge")
        )
    theirs, shared = mean_scores(frame.to_native(), [g for g in groups if g in present], per_criterion, final)
    keys = [*shared, "system"]
    mean = theirs.groupby(keys, dropna=False)["estimate"].mean().rename("y").reset_index()
    reference_scores = set(mean["system"])
    ours = _renamed(scores, {s: n for s, n in identity.items() if s not in reference_scores})
    _refuse_double(ours, [*groups, "judge", "system"], "the ratings")
    paired = ours.rename(columns={"estimate": "x"}).merge(mean, on=keys, how="left")
    if paired["y"].isna().all():
        raise DesignError(
            f"The reference has none of the systems. It has {sorted(reference_scores)[:5]}, the ratings have "
            f"{sorted(set(scores['system']))[:5]}. Pass identity=, or rename."
        )
    return paired, groups


def with_truth(ratings: Calls, truth: IntoFrame, by: By) -> tuple[pd.DataFrame, list[str]]:
    """Mean scores of each judge per item, and the known values."""
    data = Study.of(ratings).data
    if "system" not in frame_columns(data):
        data = data.with_columns(nw.lit("").alias("system"))
    values = Study.of_any(truth)
    if values is None:
        raise SchemaError(
            f"truth={truth!r} is no table. Give a frame with the columns item and value (or level): what is known of "
            "each item."
        )
    right = values.data.lazy().collect(backend="pandas").to_native()
    measured = [c for c in ("value", "level") if c in right.columns]
    if "item" not in right.columns or not measured:
        raise SchemaError(f"A truth needs item and value (or level). Columns: {', '.join(map(str, right.columns))}.")
    groups = grouping(names(by), frame_columns(data))
    keys = ["item", *(k for k in ("system",) if k in right.columns)]
    for column in measured:
        numbers_of(right[column])
    right = right[[*keys, *measured]].astype(dict.fromkeys(keys, str)).drop_duplicates()
    if right.duplicated(keys).any():
        twice = right.loc[right.duplicated(keys), keys].iloc[0].to_dict()
        raise SchemaError(f"The truth has two values for one item ({twice}). Give one row per item.")
    table = cells(data.to_native(), groups).astype(dict.fromkeys(keys, str))
    score = table.groupby([*groups, "judge", *keys], dropna=False)["mean"].mean().rename("x").reset_index()
    paired = score.merge(right, on=keys, how="left")
    paired["y"] = paired[measured[0]]
    if paired["y"].isna().all():
        raise DesignError(f"The truth has none of the items. It has {sorted(set(right['item']))[:5]}.")
    return paired, groups
