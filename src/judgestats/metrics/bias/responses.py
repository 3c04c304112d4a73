"""How often does the right response of several get the highest score?"""

from __future__ import annotations

from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, SchemaError, choose
from judgestats.metrics.bias.attributes import Aside
from judgestats.metrics.rates import rates
from judgestats.metrics.resampled import Interval, interval_of
from judgestats.results import estimates
from judgestats.schema.cells import cells
from judgestats.schema.clustering import CLUSTERING, Cluster, auto_cluster, clusters, noted
from judgestats.schema.coding import as_text, codes_of, compact
from judgestats.schema.columns import By, grouping, kind_of, names
from judgestats.schema.splitting import CONDITIONS, as_runs, splits_of

#: Two mean scores are the same where they differ by no more than rounding.
_SAME = 1e-9


def best_of_accuracy(
    ratings: Any,
    *,
    right: str | None = None,
    gold: str = "gold",
    ties: Literal["exact", "drop", "half"] = "exact",
    runs: int | None = None,
    by: By = (),
    average_over: By = (),
    cluster: Cluster = "auto",
    interval: Interval = "wilson",
    strata: str | None = None,
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Share of items whose right response alone has the highest score.

    Parameters
    ----------
    ratings : frame
        Scores of several responses (``system``) to each ``item``; repeats are averaged.
    right : str, optional
        The system that is right in every item. Without it the column `gold` tells.
    gold : str
        Column that names the right system of each item.
    ties : {'exact', 'drop', 'half'}
        What it is that the right response shares the highest score: wrong, set aside, or half right.
    runs : int, optional
        Average only this many runs, the first by ``replicate``.
    by : str or sequence of str
        Further grouping columns (``criterion`` where there are several).
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    cluster : "auto", str, two of them, or False
        What items share: by default the prompt or task that they are seen to share, which ``method`` names; or a column
        (``topic``), for a bootstrap by percentile also two crossed ones; False takes all items as independent, and is
        flagged where they are not.
    interval, strata, n_resamples, seed, conf_level
        As in :func:`gold_agreement`.

    Returns
    -------
    pandas.DataFrame
        Per judge ``accuracy``, and ``tie`` and ``wrong``, shares of all items scored. An item is scored if all its
        responses (those that any judge has a row for) have a score in some run, the right one is among them, and there
        are two or more: the flag counts those that are not.

    Raises
    ------
    DesignError
        If it is not told which response is right, several criteria would be mixed, or two items have one id.
    SchemaError
        If an item has several right responses.

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
    choose(ties, ("exact", "drop", "half"), "ties")
    asked = list(dict.fromkeys([*names(by), *(clusters(cluster) or ()), *names(strata)]))
    table = _first_runs(ratings, runs, [c for c in asked if c not in ("judge", "item")])
    kept, note = _shared(table, ["judge", *names(by)], cluster)
    beside = [c for c in dict.fromkeys([*asked, *kept]) if c not in ("judge", "item")]
    items = _items(as_runs(table, average_over, beside), right, gold, beside)
    groups = list(dict.fromkeys(["judge", *grouping(by, items.columns)]))
    scored, left_out = _scored(items, groups)
    tie, hit = scored["tie"].to_numpy(bool), scored["hit"].to_numpy(bool)
    scored.attrs[CLUSTERING] = note
    options = interval_of(scored, interval, strata, n_resamples, seed, conf_level)
    counted = scored["n"].to_numpy(float) > 0
    rows = rates(scored, groups, "accuracy", hit + tie * (0.5 if ties == "half" else 0.0), _trial(tie, ties), **options)
    rows += rates(scored, groups, "tie", tie, counted, **options)
    rows += rates(scored, groups, "wrong", ~hit & ~tie, counted, **options)
    return estimates(left_out.flagged(rows, groups), groups)


def _shared(table: pd.DataFrame, groups: list[str], cluster: Cluster) -> tuple[list[str], dict[str, Any]]:
    """What to cluster the items by, of the columns that each item has one value of, and the note that says so."""
    columns, size = clusters(cluster), table["item"].nunique(dropna=False)
    whole = [c for c in ("prompt", "task") if c in table and len(table[["item", c]].drop_duplicates()) == size]
    items = table[list(dict.fromkeys([*groups, "item", *whole]))].drop_duplicates()
    found = auto_cluster(nw.from_native(items, eager_only=True), groups, "item", len(items))
    kept = ([found.column] if found.column else []) if columns is None else list(columns)
    return kept, noted(kept, found, groups, columns is None)


def _trial(tie: NDArray[np.bool_], ties: str) -> NDArray[np.bool_]:
    return ~tie if ties == "drop" else np.ones(tie.size, dtype=bool)


def _first_runs(ratings: Any, runs: int | None, beside: list[str]) -> pd.DataFrame:
    """Read the ratings, only the first runs of each response."""
    table: pd.DataFrame = nw.from_native(ratings).lazy().collect(backend="pandas").to_native()
    if kind_of(table.columns) != "ratings":
        raise SchemaError(f"best_of_accuracy needs ratings of several systems. Columns: {', '.join(table.columns)}.")
    grouping(beside, table.columns)
    if "system" in beside:
        raise DesignError("'system' is what best_of_accuracy chooses from: it cannot split the result.")
    if "criterion" in table.columns and "criterion" not in beside and table["criterion"].nunique() > 1:
        found = ", ".join(sorted(table["criterion"].astype(str).unique())[:5])
        raise DesignError(f"There are several criteria ({found}). Name by='criterion', or keep the rows of one.")
    _refuse_twins(table, beside)
    if runs is None:
        return table
    if not isinstance(runs, int | np.integer) or runs < 1:
        raise DesignError(f"runs={runs!r} is not a number of runs. Use 1 for the first, None for all.")
    if "replicate" not in table.columns:
        raise DesignError("runs= goes by the column 'replicate', and there is none.")
    unit = ["judge", "item", "system", *(c for c in beside if c not in ("system", "replicate"))]
    rank = table.groupby(unit, dropna=False)["replicate"].rank(method="dense")
    return table[rank <= runs]


def _refuse_twins(table: pd.DataFrame, beside: list[str]) -> None:
    """Raise where two scores of one response have one number: two items of the same name, most likely."""
    told = ("judge", "item", "system", "replicate", "criterion", *CONDITIONS)
    keys = [c for c in dict.fromkeys([*told, *beside]) if c in table.columns]
    if "replicate" not in keys or codes_of(table, keys).size == len(table) or splits_of(table, keys):
        return
    again = table[table.duplicated(keys)].iloc[0]
    raise DesignError(
        f"Two scores of one response have one 'replicate' (judge {again['judge']}, item {again['item']}, system "
        f"{again['system']}, replicate {again['replicate']}). Are two items called the same? Give each its own id."
    )


def _items(table: pd.DataFrame, right: str | None, gold: str, beside: list[str]) -> pd.DataFrame:
    """One row per response and judge: its mean score, and whether it is the right one."""
    if right is None and gold not in table.columns:
        raise DesignError(
            f"best_of_accuracy needs to know the right response: there is no column {gold!r}. Give it, or right= where "
            "one system is right in every item."
        )
    means = cells(table, beside)
    if right is not None:
        if not (means["system"].astype(str) == str(right)).any():
            raise DesignError(
                f"right={right!r} is no system. Systems: {', '.join(sorted(set(means['system'].astype(str)))[:8])}."
            )
        return means.assign(right=means["system"].astype(str) == str(right))
    known = table.loc[table[gold].notna(), ["item", gold]]
    known = known.assign(**{c: as_text(known[c]) for c in ("item", gold)}).drop_duplicates()
    twice = known["item"].duplicated()
    if twice.any():
        item = known.loc[twice, "item"].iloc[0]
        told = ", ".join(known.loc[known["item"] == item, gold])
        raise SchemaError(f"Item {item!r} has several right responses in {gold!r}: {told}.")
    answer = as_text(means["item"]).map(dict(zip(known["item"], known[gold], strict=True)))
    return means.assign(right=(as_text(means["system"]) == answer).fillna(False).astype(bool))


def _scored(items: pd.DataFrame, groups: list[str]) -> tuple[pd.DataFrame, Aside]:
    """One row per item and judge, with what became of it; and how many were set aside in each group."""
    apart = [c for c in items.columns if c not in ("system", "mean", "sd", "runs", "n_missing", "right")]
    codes = codes_of(items, apart)
    code, _ = compact(codes.code, codes.size)
    mean, right = items["mean"].to_numpy(float), items["right"].to_numpy(bool)
    size = codes.size
    asked = [c for c in apart if c not in ("judge", *CONDITIONS)]
    thing, one = codes_of(items, asked), codes_of(items, [*asked, "system"])
    responses = np.bincount(thing.code[one.first], minlength=thing.size)
    told = np.bincount(code, right & ~np.isnan(mean), size) == 1
    told &= np.bincount(code, ~np.isnan(mean), size) == responses[thing.code[codes.first]]
    told &= np.bincount(code, minlength=size) > 1
    own, best = np.full(size, np.nan), np.full(size, -np.inf)
    own[code[right]] = mean[right]
    others = ~right & ~np.isnan(mean)
    np.maximum.at(best, code[others], mean[others])
    with np.errstate(invalid="ignore"):
        gap = own - best
        same = np.abs(gap) <= _SAME * np.maximum(1.0, np.abs(own))
    table = items[apart].iloc[codes.first].reset_index(drop=True)
    table = table.assign(hit=told & (gap > 0) & ~same, tie=told & same, n=told.astype(float))
    return table, Aside(table.loc[~told, groups].assign(_without=1), "items not scored")
