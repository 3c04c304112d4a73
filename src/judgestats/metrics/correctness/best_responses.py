"""How often the right response of several has the highest score: :func:`best_of_accuracy`."""

from __future__ import annotations

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.counting.bootstrap import Interval
from judgestats.counting.cells import cells
from judgestats.counting.clustering import CANDIDATES, Cluster, auto_cluster, clusters
from judgestats.counting.clusters import Clusters, cluster_columns
from judgestats.counting.counts import Counts
from judgestats.counting.patterns import Ties
from judgestats.counting.selection import gathered
from judgestats.counting.splitting import CONDITIONS, as_runs, splits_of
from judgestats.counting.study import Calls, Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError
from judgestats.metrics.exclusions import ExcludedCalls
from judgestats.metrics.measure_registry import Measure
from judgestats.metrics.requirements import gold_column
from judgestats.results import estimates
from judgestats.schema.coding import as_text, codes_of
from judgestats.schema.columns import By, grouping, kind_of, names
from judgestats.schema.factors import Factors

#: Relative difference up to which two mean scores are equal.
_SAME = 1e-9


@Measure(
    "How often is the right response ranked strictly first?",
    "accuracy",
    "R",
    "Wilson, clustered; bootstrap",
    "RewardBench 2",
    plot="forest",
    frames=("ratings",),
    needs=(gold_column,),
    have=("gold",),
    assumes="One response of each item is right, and it is marked without error.",
)
def best_of_accuracy(
    ratings: IntoFrame,
    *,
    right: str | None = None,
    gold: str = "gold",
    ties: Ties = "exact",
    runs: int | None = None,
    by: By = (),
    average_over: By = (),
    cluster: Cluster = "auto",
    interval: Interval = "wilson",
    strata: str | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Share of items whose right response is ranked strictly first.

    Parameters
    ----------
    ratings : frame
        Scores of several responses (``system``) to each ``item``; repeats are averaged.
    right : str, optional
        The system that is right in every item; by default the column `gold` names it.
    gold : str
        Column that names the right system of each item.
    ties : {'exact', 'drop', 'half'}
        How a right response that shares the highest score counts: as wrong, excluded, or as half right.
    runs : int, optional
        Average only this many runs, the first by ``replicate``.
    by : str or sequence of str
        Further grouping columns. Name ``criterion`` where there are several.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    cluster : "auto", str, two of them, or False
        Column that items share, by which intervals are clustered. ``"auto"`` detects it (``task``, say) and names it in
        ``method``. False treats all items as independent, with a flag where they are not. Two crossed columns need
        ``interval='percentile'``.
    interval, strata, n_resamples, seed, conf_level
        As in :func:`gold_agreement`.

    Returns
    -------
    pandas.DataFrame
        Per judge ``accuracy``, and ``tie`` and ``wrong``, shares of all items scored. An item is scored if it has two
        or more responses, one of them right, and all its responses (those that any judge has a row for) have a score in
        some run. The flag counts the other items.

    Raises
    ------
    DesignError
        If the right response is not given, several criteria would be mixed, or two items have the same id.
    SchemaError
        If an item has several right responses.

    See Also
    --------
    accuracy : Share of right verdicts.
    ordering_accuracy : Mean scores in the order of the tiers.

    Notes
    -----
    The rule of RewardBench 2: a tie for the highest score is an error. Chance is 1/k for k responses, less the ties.

    Examples
    --------
    >>> scores = pd.DataFrame({"judge": "g", "item": [1, 1, 2, 2, 3, 3], "system": ["a", "b"] * 3,
    ...                        "score": [9, 4, 7, 7, 3, 5]})
    >>> best_of_accuracy(scores, right="a")[["term", "estimate", "n"]].round(3)
           term  estimate    n
    0  accuracy     0.333  3.0
    1       tie     0.333  3.0
    2     wrong     0.333  3.0
    """
    columns = list(dict.fromkeys([*names(by), *(clusters(cluster) or ()), *names(strata)]))
    table = _first_runs(ratings, runs, [c for c in columns if c not in ("judge", "item")])
    item_clusters = _item_clusters(Study.rows_of(ratings, table), ["judge", *names(by)], cluster)
    extra = [c for c in dict.fromkeys([*columns, *item_clusters.columns]) if c not in ("judge", "item")]
    items = _response_means(as_runs(table, average_over, extra), right, gold, extra)
    groups = list(dict.fromkeys(["judge", *grouping(by, items.columns)]))
    scored, excluded = _scored_items(items, groups)
    tie, hit = scored["tie"].to_numpy(bool), scored["hit"].to_numpy(bool)
    counts = Counts.of(scored, groups, item_clusters).inferred(conf_level, interval, strata, n_resamples, seed)
    half = tie * (0.5 if ties == "half" else 0.0)
    rows = counts.rates("accuracy", hit + half, ~(tie & (ties == "drop")))
    rows += counts.rates("tie", tie, counts.n > 0)
    rows += counts.rates("wrong", ~hit & ~tie, counts.n > 0)
    return estimates(excluded.flagged(rows, groups), groups)


def _item_clusters(study: Study, groups: list[str], cluster: Cluster) -> Clusters:
    """How to cluster items: by columns constant within each item."""
    columns, coded = clusters(cluster), study.columns
    size = coded.n_distinct(["item"])
    whole = [c for c in CANDIDATES if c != "item" and c in coded and coded.n_distinct(["item", c]) == size]
    items = Study(coded.counted(list(dict.fromkeys([*groups, "item", *whole])))[0])
    sharing = auto_cluster(study, groups, items.n_calls, units=items)
    return Clusters.of(cluster_columns(columns, sharing), sharing, auto=columns is None)


def _first_runs(ratings: Calls, runs: int | None, extra: list[str]) -> pd.DataFrame:
    """Read the first runs of each response."""
    table = gathered(ratings, extra)
    if kind_of(table.columns) != "ratings":
        raise SchemaError(f"best_of_accuracy needs ratings of several systems. Columns: {', '.join(table.columns)}.")
    if "system" not in table.columns:
        raise SchemaError(
            "best_of_accuracy compares the systems of an item, and there is no column 'system'. Columns: "
            f"{', '.join(table.columns)}. Map it: ratings(frame, system='...')."
        )
    grouping(extra, table.columns)
    if "system" in extra:
        raise DesignError("best_of_accuracy compares the systems of an item, so by= cannot contain 'system'.")
    if "criterion" in table.columns and "criterion" not in extra and table["criterion"].nunique() > 1:
        criteria = ", ".join(sorted(table["criterion"].astype(str).unique())[:5])
        raise DesignError(f"There are several criteria ({criteria}). Name by='criterion', or keep the rows of one.")
    _refuse_duplicate_items(table, extra)
    if runs is None:
        return table
    if not isinstance(runs, int | np.integer) or runs < 1:
        raise DesignError(f"runs={runs!r} is not a number of runs. Use 1 for the first, None for all.")
    if "replicate" not in table.columns:
        raise DesignError("runs= needs the column 'replicate', which is missing.")
    unit = ["judge", "item", "system", *(c for c in extra if c not in ("system", "replicate"))]
    rank = table.groupby(unit, dropna=False)["replicate"].rank(method="dense")
    return table[rank <= runs]


def _refuse_duplicate_items(table: pd.DataFrame, extra: list[str]) -> None:
    """Raise where two scores of a response have the same replicate: most likely two items have the same id."""
    unit_columns = ("judge", "item", "system", "replicate", "criterion", *CONDITIONS)
    keys = [c for c in dict.fromkeys([*unit_columns, *extra]) if c in table.columns]
    if "replicate" not in keys or codes_of(table, keys).size == len(table) or splits_of(table, keys):
        return
    again = table[table.duplicated(keys)].iloc[0]
    raise DesignError(
        f"Two scores of a response have the same 'replicate' (judge {again['judge']}, item {again['item']}, system "
        f"{again['system']}, replicate {again['replicate']}). Do two items have the same id? Give each its own."
    )


def _response_means(table: pd.DataFrame, right: str | None, gold: str, extra: list[str]) -> pd.DataFrame:
    """One row per response and judge: its mean score, and whether it is the right response."""
    if right is None and (gold not in table.columns or gold in ("judge", "item")):
        what = "names the right response" if gold in table.columns else "is there"
        raise DesignError(
            f"best_of_accuracy needs the right response, and no column {gold!r} {what}. Give it, or right= where one "
            "system is right in every item."
        )
    means = cells(table, extra)
    if right is not None:
        if not (means["system"].astype(str) == str(right)).any():
            raise DesignError(
                f"right={right!r} is not a system. Systems: {', '.join(sorted(set(means['system'].astype(str)))[:8])}."
            )
        return means.assign(right=means["system"].astype(str) == str(right))
    right_names = table.loc[table[gold].notna(), ["item", gold]]
    right_names = right_names.assign(**{c: as_text(right_names[c]) for c in ("item", gold)}).drop_duplicates()
    twice = right_names["item"].duplicated()
    if twice.any():
        item = right_names.loc[twice, "item"].iloc[0]
        listed = ", ".join(right_names.loc[right_names["item"] == item, gold])
        numbers = pd.to_numeric(right_names[gold], errors="coerce").notna().all()
        scores = bool(numbers and not right_names[gold].isin(as_text(means["system"])).any())
        remedy = f" {gold!r} must name the right response of each item; these are scores." * scores
        raise SchemaError(f"Item {item!r} has several right responses in {gold!r}: {listed}.{remedy}")
    answer = as_text(means["item"]).map(dict(zip(right_names["item"], right_names[gold], strict=True)))
    return means.assign(right=(as_text(means["system"]) == answer).fillna(False).astype(bool))


def _scored_items(items: pd.DataFrame, groups: list[str]) -> tuple[pd.DataFrame, ExcludedCalls]:
    """One row per item and judge: hit, tie and whether it is scored; and the number of items not scored per group."""
    keys = [c for c in items.columns if c not in ("system", "mean", "sd", "runs", "n_missing", "right")]
    columns, mean, right = Factors(items), items["mean"].to_numpy(float), items["right"].to_numpy(bool)
    item_columns = [c for c in keys if c not in ("judge", *CONDITIONS)]
    codes, item, response = (columns.codes(key) for key in (keys, item_columns, [*item_columns, "system"]))
    code, size = codes.code, codes.size
    responses = np.bincount(item.code[response.first], minlength=item.size)
    scored = np.bincount(code, right & ~np.isnan(mean), size) == 1
    scored &= np.bincount(code, ~np.isnan(mean), size) == responses[item.code[codes.first]]
    scored &= np.bincount(code, minlength=size) > 1
    right_score, best_other = np.full(size, np.nan), np.full(size, -np.inf)
    right_score[code[right]] = mean[right]
    others = ~right & ~np.isnan(mean)
    np.maximum.at(best_other, code[others], mean[others])
    with np.errstate(invalid="ignore"):
        gap = right_score - best_other
        same = np.abs(gap) <= _SAME * np.maximum(1.0, np.abs(right_score))
    table = items[keys].iloc[codes.first].reset_index(drop=True)
    table = table.assign(hit=scored & (gap > 0) & ~same, tie=scored & same, n=scored.astype(float))
    return table, ExcludedCalls(table.loc[~scored, groups].assign(_without=1), "items not scored")
