"""Accuracy of verdicts and errors of scores where the right answer is known."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import stdtrit

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap, Interval
from judgestats.counting.cells import ABOUT, cells
from judgestats.counting.clustering import Cluster, Sharing, auto_cluster, clusters
from judgestats.counting.clusters import Clusters, kept
from judgestats.counting.counts import Counts
from judgestats.counting.engines import number_of_calls
from judgestats.counting.patterns import Invalid, InvalidVerdict, Ties
from judgestats.counting.selection import gathered
from judgestats.counting.splitting import CONDITIONS, as_runs, splits_of
from judgestats.counting.study import Study
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError, data_rows
from judgestats.kernels.cohens_kappa import cohen_kappa, kappa_influence, weighted_kappa
from judgestats.kernels.proportions import normal_quantile
from judgestats.metrics.bias.bias_scores import ExcludedCalls
from judgestats.metrics.measure_registry import Measure, Term, gold_column
from judgestats.metrics.scales import beside_gold, unmeasured
from judgestats.results import estimates
from judgestats.schema.coding import Codes, as_text, codes_of, compact, refuse_infinite
from judgestats.schema.columns import By, Finding, answer_column, as_frame, grouping, kind_of, names, required
from judgestats.schema.declared_counts import counted
from judgestats.typing import Floats, Ints, Mask

# ---- How often does the right response of several get the highest score? ---------------------------------------------

#: Relative difference up to which two mean scores are equal.
_SAME = 1e-9


@Measure(
    "How often is the right response ranked strictly first?", "accuracy", "R", "Wilson, clustered; bootstrap",
    "RewardBench 2", plot="forest", frames=("ratings",), needs=(gold_column,),
    have=("gold",),
    assumes="One response of each item is right, and it is marked without error.",
)  # fmt: skip
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
        Further grouping columns (``criterion`` where there are several).
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    cluster : "auto", str, two of them, or False
        Column that items share, by which the interval is clustered. ``"auto"`` detects the prompt or task and names it
        in ``method``. Two crossed columns need ``interval='percentile'``. False treats all items as independent, with a
        flag where they are not.
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
    asked = list(dict.fromkeys([*names(by), *(clusters(cluster) or ()), *names(strata)]))
    table = _first_runs(ratings, runs, [c for c in asked if c not in ("judge", "item")])
    found = _shared(table, ["judge", *names(by)], cluster)
    extra = [c for c in dict.fromkeys([*asked, *found.columns]) if c not in ("judge", "item")]
    items = _items(as_runs(table, average_over, extra), right, gold, extra)
    groups = list(dict.fromkeys(["judge", *grouping(by, items.columns)]))
    scored, excluded = _scored(items, groups)
    tie, hit = scored["tie"].to_numpy(bool), scored["hit"].to_numpy(bool)
    counts = Counts.of(scored, groups, found).inferred(conf_level, interval, strata, n_resamples, seed)
    half = tie * (0.5 if ties == "half" else 0.0)
    rows = counts.rates("accuracy", hit + half, ~(tie & (ties == "drop")))
    rows += counts.rates("tie", tie, counts.n > 0)
    rows += counts.rates("wrong", ~hit & ~tie, counts.n > 0)
    return estimates(excluded.flagged(rows, groups), groups)


def _shared(table: pd.DataFrame, groups: list[str], cluster: Cluster) -> Clusters:
    """How to cluster items: by columns constant within each item."""
    columns, size = clusters(cluster), table["item"].nunique(dropna=False)
    whole = [c for c in ("prompt", "task") if c in table and len(table[["item", c]].drop_duplicates()) == size]
    items = table[list(dict.fromkeys([*groups, "item", *whole]))].drop_duplicates()
    found = auto_cluster(nw.from_native(items, eager_only=True), groups, "item", len(items))
    return Clusters.of(kept(columns, found), found, auto=columns is None)


def _first_runs(ratings: Any, runs: int | None, extra: list[str]) -> pd.DataFrame:
    """Read the first runs of each response."""
    table = gathered(ratings, extra)
    if kind_of(table.columns) != "ratings":
        raise SchemaError(f"best_of_accuracy needs ratings of several systems. Columns: {', '.join(table.columns)}.")
    grouping(extra, table.columns)
    if "system" in extra:
        raise DesignError("best_of_accuracy compares the systems of an item, so by= cannot contain 'system'.")
    if "criterion" in table.columns and "criterion" not in extra and table["criterion"].nunique() > 1:
        found = ", ".join(sorted(table["criterion"].astype(str).unique())[:5])
        raise DesignError(f"There are several criteria ({found}). Name by='criterion', or keep the rows of one.")
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
    known = ("judge", "item", "system", "replicate", "criterion", *CONDITIONS)
    keys = [c for c in dict.fromkeys([*known, *extra]) if c in table.columns]
    if "replicate" not in keys or codes_of(table, keys).size == len(table) or splits_of(table, keys):
        return
    again = table[table.duplicated(keys)].iloc[0]
    raise DesignError(
        f"Two scores of a response have the same 'replicate' (judge {again['judge']}, item {again['item']}, system "
        f"{again['system']}, replicate {again['replicate']}). Do two items have the same id? Give each its own."
    )


def _items(table: pd.DataFrame, right: str | None, gold: str, extra: list[str]) -> pd.DataFrame:
    """One row per response and judge: its mean score, and whether it is the right response."""
    if right is None and gold not in table.columns:
        raise DesignError(
            f"best_of_accuracy needs the right response, and there is no column {gold!r}. Give it, or right= where one "
            "system is right in every item."
        )
    means = cells(table, extra)
    if right is not None:
        if not (means["system"].astype(str) == str(right)).any():
            raise DesignError(
                f"right={right!r} is not a system. Systems: {', '.join(sorted(set(means['system'].astype(str)))[:8])}."
            )
        return means.assign(right=means["system"].astype(str) == str(right))
    known = table.loc[table[gold].notna(), ["item", gold]]
    known = known.assign(**{c: as_text(known[c]) for c in ("item", gold)}).drop_duplicates()
    twice = known["item"].duplicated()
    if twice.any():
        item = known.loc[twice, "item"].iloc[0]
        listed = ", ".join(known.loc[known["item"] == item, gold])
        raise SchemaError(f"Item {item!r} has several right responses in {gold!r}: {listed}.")
    answer = as_text(means["item"]).map(dict(zip(known["item"], known[gold], strict=True)))
    return means.assign(right=(as_text(means["system"]) == answer).fillna(False).astype(bool))


def _scored(items: pd.DataFrame, groups: list[str]) -> tuple[pd.DataFrame, ExcludedCalls]:
    """One row per item and judge: hit, tie and whether it is scored; and the number of items not scored per group."""
    keys = [c for c in items.columns if c not in ("system", "mean", "sd", "runs", "n_missing", "right")]
    codes = codes_of(items, keys)
    code, _ = compact(codes.code, codes.size)
    mean, right = items["mean"].to_numpy(float), items["right"].to_numpy(bool)
    size = codes.size
    asked = [c for c in keys if c not in ("judge", *CONDITIONS)]
    item, response = codes_of(items, asked), codes_of(items, [*asked, "system"])
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


# ---- How far from the right score is a judge's, and in which direction? ----------------------------------------------


@Measure(
    "How far are the scores from the right ones?", "accuracy", "R and gold",
    "bootstrap; bias: t over clusters; Pearson: Fisher, clustered", "LLM-Rubric (ACL 2024)", plot="forest",
    frames=("ratings",), needs=(gold_column,),
    terms=(
        Term("rmse", "root mean square error"),
        Term("mae", "mean absolute error"),
    ),
    have=("gold",),
    assumes="The gold scores are on the judge's scale and have no error of their own; items are independent.",
)  # fmt: skip
def score_error(
    ratings: IntoFrame,
    gold: Any = "gold",
    *,
    by: By = (),
    average_over: By = (),
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Error of a judge's scores against the right ones.

    Parameters
    ----------
    ratings : frame
        Scores; the runs of a judge on one response are averaged first.
    gold : str or frame
        Column of `ratings` with the right score; or a frame with ``item`` (and ``system``, ``criterion``, those it has)
        and the right ``score``, ``mean``, ``value`` or ``gold``. Several right scores of one response there (from
        several people, say) are averaged.
    by : str or sequence of str
        Further grouping columns (``criterion``, for one result each).
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    cluster : "auto", str or False
        Column of `ratings` that responses share, by which all intervals are clustered. ``"auto"`` detects it (``item``,
        where several systems are rated on each). False treats all responses as independent, with a flag where they are
        not.
    n_resamples, seed
        Of the bootstrap.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``rmse`` and ``mae`` (percentile bootstrap of clusters), ``bias``, the mean of score minus gold (t on
        the clusters minus 1), and ``pearson`` (Fisher's z; clustered, with the linearised variance and t). ``n`` is the
        number of responses with both scores; the flag counts the others. Where score and gold are on scales of
        different length (the top of one is three times that of the other), all but ``pearson`` are NaN with a flag.

    Raises
    ------
    SchemaError
        If a response has several gold scores in a column, or a column is missing.
    DesignError
        If no response has a gold score.

    See Also
    --------
    accuracy : Share of right verdicts.
    calibrate : Scores brought to a reference.
    rank_correlation : Rank correlation with a reference.

    Notes
    -----
    RMSE and Pearson's correlation are LLM-Rubric's (Hashemi et al., ACL 2024); RMSE ignores the direction of the
    errors, the correlation ignores scale and offset.

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
        raise DesignError(f"cluster={cluster!r} names several columns. score_error allows one: item or topic, say.")
    present = Study.of(ratings).names
    if kind_of(present) != "ratings":
        raise SchemaError(f"score_error needs ratings, with 'system' and a score. Columns: {', '.join(present)}.")
    groups = list(dict.fromkeys(["judge", *grouping(by, present)]))
    column, shared, _ = Sharing("", False) if columns or "item" not in present else _sharing(ratings, groups)
    if columns is None:
        columns = (column or "item",)
    extra = [c for c in dict.fromkeys([*names(by), *columns]) if c not in ("judge", "item")]
    means = cells(ratings, extra)
    matched = with_right_scores(means, ratings, gold, extra)
    if not matched["_gold"].notna().any():
        raise DesignError("score_error needs right scores, and no response has one.")
    plan = Bootstrap("percentile", columns, None, n_resamples, seed, conf_level)
    rows: list[dict[str, Any]] = []
    dependent = flags.NOT_INDEPENDENT if shared and not columns else ""
    for key, part in matched.groupby(groups, dropna=False, sort=True):
        rows += _errors(part, dict(zip(groups, key, strict=True)), plan, dependent)
    return estimates(rows, groups)


def _sharing(ratings: Any, groups: list[str]) -> Sharing:
    """The column that rated responses share."""
    data, present = Study.of(ratings).data, Study.of(ratings).names
    whole = [c for c in (*ABOUT, "prompt", "task") if c in present]
    table = data.lazy().select(*dict.fromkeys([*groups, *whole])).unique().collect(backend="pandas").to_native()
    responses = codes_of(table, list(dict.fromkeys([*groups, *(c for c in ABOUT if c in table)])))
    constant = [
        c for c in ("prompt", "task") if c in table and codes_of(table, ["item", c]).size == table["item"].nunique()
    ]
    rated = table.iloc[responses.first][list(dict.fromkeys([*groups, "item", *constant]))]
    return auto_cluster(nw.from_native(rated, eager_only=True), groups, "item", responses.size)


def with_right_scores(means: pd.DataFrame, ratings: Any, gold: Any, extra: list[str]) -> pd.DataFrame:
    """Add the gold score of each response to its mean score."""
    if isinstance(gold, str):
        data = Study.of(ratings).data.lazy()
        present = data.collect_schema().names()
        if gold not in present:
            raise SchemaError(f"There is no column {gold!r} of right scores. Columns: {', '.join(present)}.")
        keys = [c for c in (*ABOUT, *extra) if c in present]
        known = data.select(*dict.fromkeys([*keys, gold])).unique().collect(backend="pandas").to_native()
        known = known.dropna(subset=[gold])
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
        raise SchemaError(f"A right score in {value!r} is not a number: {known.loc[text, value].iloc[0]!r}.")
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
    known = part["mean"].notna() & part["_gold"].notna()
    unscored, without = int(part["mean"].isna().sum()), int((part["_gold"].isna() & part["mean"].notna()).sum())
    excluded = flags.join(
        flags.EXCLUDED.of(without, what="without gold"), flags.EXCLUDED.of(unscored, what="without a score")
    )
    here = part[known].assign(n=1.0)
    score, right = here["mean"].to_numpy(float), here["_gold"].to_numpy(float)
    n = score.size
    if n == 0:
        empty = {"estimate": math.nan, "n": 0.0, "flag": flags.join(flags.NO_DATA, excluded)}
        return [{**key, "term": t, **empty} for t in ("rmse", "mae", "bias", "pearson")]
    error = score - right
    added, counts = np.column_stack([np.ones(n), error**2, np.abs(error)]), Counts.of(here)
    unit = codes_of(here, list(plan.cluster)) if plan.cluster else Codes(np.arange(n), np.arange(n))
    rmse = counts.resampled(added, lambda totals: np.sqrt(totals[:, 1] / totals[:, 0]), key, plan=plan)
    mae = counts.resampled(added, lambda totals: totals[:, 2] / totals[:, 0], key, plan=plan)
    rows = [
        {"term": "rmse", "estimate": math.sqrt(float((error**2).mean())), **rmse},
        {"term": "mae", "estimate": float(np.abs(error).mean()), **mae},
        {"term": "bias", **_mean_error(error, unit, plan)},
        {"term": "pearson", **_pearson(score, right, unit, plan)},
    ]
    small = flags.SMALL_N if n < 30 else ""
    pair = beside_gold(score, right, str(key["judge"]))
    rows = [row if row["term"] == "pearson" else unmeasured(row, pair) for row in rows]
    return [{**key, **row, "n": float(n), "flag": flags.join(row["flag"], dependent, small, excluded)} for row in rows]


def _mean_error(error: Floats, unit: Codes, plan: Bootstrap) -> dict[str, Any]:
    """Mean error with its clustered interval."""
    mean, clusters = float(error.mean()), unit.size
    row: dict[str, Any] = {"estimate": mean, "method": f"t{_by(plan, clusters)}"}
    few = flags.few_clusters(np.bincount(unit.code))
    if clusters < 2:
        return {**row, "flag": few}
    sums = np.bincount(unit.code, error - mean, clusters)
    se = math.sqrt(clusters / (clusters - 1) * float((sums**2).sum())) / error.size
    if se <= 1e-12 * max(1.0, abs(mean)):
        return {**row, "flag": flags.join(few, flags.ERRORS_ALIKE)}
    half = float(stdtrit(clusters - 1, 0.5 + plan.conf_level / 2)) * se
    return {**row, "std_error": se, "conf_low": mean - half, "conf_high": mean + half, "flag": few}


def _by(plan: Bootstrap, clusters: int) -> str:
    return f", clustered by {plan.cluster[0]} (G = {clusters})" if plan.cluster else ""


def _pearson(score: Floats, right: Floats, unit: Codes, plan: Bootstrap) -> dict[str, Any]:
    """Pearson's correlation with the interval of Fisher's z."""
    row: dict[str, Any] = {"estimate": math.nan, "method": "Pearson, Fisher z", "flag": ""}
    if np.ptp(score) == 0 or np.ptp(right) == 0:
        return {**row, "flag": flags.CONSTANT}
    r = float(np.corrcoef(score, right)[0, 1])
    if abs(r) > 1 - 1e-12:
        return {**row, "estimate": math.copysign(1.0, r), "flag": flags.PERFECT_CORRELATION}
    if score.size < 4:
        return {**row, "estimate": r, "flag": flags.TOO_FEW}
    se, quantile, few = (1 - r**2) / math.sqrt(score.size - 3), normal_quantile(plan.conf_level), ""
    if unit.size < score.size:
        row["method"] += _by(plan, unit.size)
        few = flags.few_clusters(np.bincount(unit.code))
        if unit.size < 2:
            return {**row, "estimate": r, "flag": few}
        x, y = ((v - v.mean()) / v.std() for v in (score, right))
        sums = np.bincount(unit.code, x * y - r / 2 * (x**2 + y**2), unit.size)  # influence on r
        se = math.sqrt(unit.size / (unit.size - 1) * float((sums**2).sum())) / score.size
        quantile = float(stdtrit(unit.size - 1, 0.5 + plan.conf_level / 2))
    half = quantile * se / (1 - r**2)
    low, high = math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    return {**row, "estimate": r, "std_error": se, "conf_low": low, "conf_high": high, "flag": few}


# ---- How often is a judge right, where the right answer is known? ----------------------------------------------------

#: Classes of an answer and of a gold label; an invalid call that counts as wrong is a class of its own.
_CLASSES = ("first", "second", "tie", "invalid")
_ALLOWED = "Give the id of the right candidate, 'tie', or nothing."


@Measure(
    "How often does the verdict agree with gold, raw and beyond chance?", "accuracy", "P, counts",
    "Wilson, clustered; bootstrap; kappa: asymptotic", "debiasing, Sec 3.1, 3.5, Table 6", plot="forest",
    frames=("preferences",), sheet=("gold",),
    terms=(
        Term("accuracy", "", "call", "valid calls with a gold answer", "lower", "The judge gives the gold answer."),
        Term("gold_tie", "tie where gold is a candidate", "call", "calls with a gold answer", "higher",
             "The judge calls a tie where the gold answer is a candidate."),
        Term("gold_wrong", "wrong", "call", "calls with a gold answer", "higher",
             "The judge's answer is not the gold answer."),
    ),
    have=("gold",),
    assumes="The gold labels are right: errors in them count as errors of the judge; items are independent.",
)  # fmt: skip
def gold_agreement(
    calls: IntoFrame,
    *,
    invalid: Invalid = "drop",
    ties: Ties = "exact",
    by: By = (),
    cluster: Cluster = "auto",
    interval: Interval = "wilson",
    strata: str | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Accuracy of the verdicts against a gold label, raw and corrected for chance.

    Parameters
    ----------
    calls : frame
        Preferences with a column ``gold``: the right candidate, or ``tie``. Or a tally: ``judge, outcome, n`` with the
        outcomes ``correct``, ``wrong``, ``tie`` (no preference where the gold is a candidate) and ``invalid``.
        Aggregated verdicts will do: no order is needed. For kappa a tally also needs the slots ``answer`` and
        ``gold_answer`` (``first``, ``second``, ``tie``; ``invalid``).
    invalid : {'drop', 'wrong', 'tie'}
        How an invalid call counts: excluded, as wrong, or as a tie where the gold is a candidate.
    ties : {'exact', 'drop', 'half'}
        How a tie counts where the gold is a candidate: as an error (debiasing paper, Section 3.5), excluded, or as half
        right. Where the gold is a tie, a tie is right and anything else is wrong.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str, two of them, or False
        Column that calls share, by which the interval is clustered. ``"auto"`` detects it (``item``, say) and names it
        in ``method``. Two crossed columns need ``interval='percentile'``. False treats all calls as independent, with a
        flag where they are not.
    interval : {'wilson', 'percentile', 'bca'}
        Wilson's interval, or a bootstrap of calls or clusters.
    strata : str, optional
        Column within whose levels the bootstrap draws.
    n_resamples, seed
        Of the bootstrap. The percentile interval of a share of independent calls is computed in closed form.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``accuracy``, whose ``n`` is the calls scored under `invalid` and `ties`; and ``wrong``, ``tie`` and
        ``invalid``, whose ``n`` is all calls with a gold label; with the share of correct calls they add up to 1. Calls
        without a gold label are excluded, and a flag on every row of their judge counts them.
        Where the slots are known also ``kappa``: Cohen's, unweighted, of the answers and the gold as slots (first,
        second, tie), on the calls scored. Its interval uses the asymptotic standard error (where clustered, the
        linearised one with t), or the bootstrap. NaN with a flag where chance agreement is 1.

    Raises
    ------
    DesignError
        If there is no gold label, or no column for it, or the options of the interval do not go together.
    SchemaError
        If a gold label is neither candidate nor ``tie``.

    See Also
    --------
    accuracy : Share of right verdicts.
    compare_strategies : Accuracy of strategies on the same pairs.

    Notes
    -----
    Accuracy: debiasing paper, Sections 3.1 and 3.5. Kappa: its Table 6; Cohen (1960); standard error of Fleiss, Cohen
    and Everitt (1969). Kappa has no half credit: with ``ties='half'`` it is that of ``'exact'``. An invalid call
    that is scored and never right (``invalid='wrong'``; ``'tie'`` where the gold is a tie) is a class of its own.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "outcome": ["correct", "wrong", "tie", "invalid"], "n": [60, 20, 15, 5]})
    >>> gold_agreement(counts)[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
           term  estimate  conf_low  conf_high      n
    0  accuracy     0.632     0.531      0.722   95.0
    1     wrong     0.200     0.133      0.289  100.0
    2       tie     0.150     0.093      0.233  100.0
    3   invalid     0.050     0.022      0.112  100.0
    >>> gold_agreement(counts, invalid="wrong", ties="half")[["term", "estimate", "n"]].head(1)
           term  estimate      n
    0  accuracy     0.675  100.0
    """
    taken = [name for name in names(by) if name in ("answer", "gold_answer")]
    if taken:
        raise DesignError(f"by={taken[0]!r} is a column that gold_agreement makes itself. Rename yours.")
    scored, excluded = labelled_calls(calls, by)
    merged = interval == "wilson" and strata is None
    counts = count(scored, "gold_agreement", by, cluster=cluster, beside=names(strata), merged=merged)
    counts = excluded.with_empty(counts).inferred(conf_level, interval, strata, n_resamples, seed)
    hit, trial = counts.hits_and_trials("correct", ties, invalid)
    rows = counts.rates("accuracy", hit, trial)
    for term in ("wrong", "tie", "invalid"):
        rows += counts.rates(term, counts.among("outcome", term))
    if "answer" in counts.columns and "gold_answer" in counts.columns:
        rows += _kappas(counts, trial, invalid)
    return estimates(excluded.flagged(rows, counts.groups), counts.groups)


@Measure(
    "How often is the verdict “correct” (with gold: equal to it)?", "accuracy",
    "R (`correct`), counts", "Wilson, clustered", "ours", plot="forest", frames=("ratings",), sheet=("verdicts",),
    terms=(
        Term("right", "verdicts “correct”", "verdict", "valid verdicts", "no universal direction",
             "The judge says “correct”; without gold nothing says whether that is so."),
    ),
    have=("gold",),
    assumes="`correct` is right; items are independent of each other.",
)  # fmt: skip
def accuracy(
    ratings: IntoFrame,
    *,
    invalid: InvalidVerdict = "drop",
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Share of right verdicts, where each verdict is right or wrong.

    Parameters
    ----------
    ratings : frame
        With ``judge`` and ``correct`` (booleans, 0 and 1, or words for yes and no), or a score of 0 and 1. With a
        column ``gold`` a verdict, or a score of any scale, is right where it equals the gold. Or a tally: ``judge,
        outcome, n`` with the outcomes ``correct``, ``wrong`` and ``invalid``.
    invalid : {'drop', 'wrong'}
        How a missing verdict counts: excluded, or as wrong.
    by : str or sequence of str
        Further grouping columns (``system``, say).
    cluster : "auto", str or False
        Column that verdicts share, by which the interval is clustered. ``"auto"`` detects it (``item``, say) and names
        it in ``method``. False treats all verdicts as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``accuracy``, whose ``n`` is the verdicts scored under `invalid`; and ``wrong`` and ``invalid``, whose
        ``n`` is all of them. Verdicts without a gold label are excluded, and a flag on every row of their judge counts
        them.

    Raises
    ------
    SchemaError
        If a verdict is neither yes nor no, or there is no column of verdicts.
    DesignError
        If scores are not 0 and 1 and there is no gold; if no verdict has a gold label.

    See Also
    --------
    gold_agreement : Agreement with gold, raw and beyond chance.
    score_error : Error of scores against right ones.

    Notes
    -----
    Wilson's interval. A verdict here is about one response; for verdicts between two candidates see
    :func:`gold_agreement`, and for agreement beyond chance :func:`judgestats.kappa` with ``reference="gold"``.

    Examples
    --------
    >>> import pandas as pd
    >>> verdicts = pd.DataFrame({"judge": "g", "system": "s", "item": list("abcde"),
    ...                          "correct": [True, True, False, True, None]})
    >>> accuracy(verdicts)[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
           term  estimate  conf_low  conf_high    n
    0  accuracy      0.75     0.301      0.954  4.0
    1     wrong      0.20     0.036      0.624  5.0
    2   invalid      0.20     0.036      0.624  5.0
    """
    verdicts, excluded = labelled_verdicts(ratings, by)
    counts = count(verdicts, "accuracy", by, cluster=cluster, merged=True)
    counts = excluded.with_empty(counts).inferred(conf_level)
    trial = ~counts.among("outcome", "invalid") | (invalid == "wrong")
    rows = counts.rates("accuracy", counts.among("outcome", "correct"), trial)
    for term in ("wrong", "invalid"):
        rows += counts.rates(term, counts.among("outcome", term))
    return estimates(excluded.flagged(rows, counts.groups), counts.groups)


def _kappas(counts: Counts, trial: Mask, invalid: Invalid) -> list[dict[str, Any]]:
    """Rows of the term ``kappa``: answers by gold, as slots, on the calls scored."""
    place = {"abstain": 2} | {name: i for i, name in enumerate(_CLASSES)}
    answer, gold = (
        np.array([place.get(x, -1) for x in f.labels], dtype=np.int64)[f.code]
        for f in counts.columns.of(["answer", "gold_answer"])
    )
    unknown = ((answer < 0) | (gold < 0) | (gold == 3)) & (counts.n > 0)
    if unknown.any():
        one = counts.where(unknown).columns
        got = ", ".join(f"{c}={one.series(c).iloc[0]!r}" for c in ("answer", "gold_answer"))
        raise SchemaError(
            f"A tally of gold_agreement has slots: {', '.join(_CLASSES)} in 'answer', {', '.join(_CLASSES[:3])} in "
            f"'gold_answer'. Got {got}."
        )
    answer[(answer == 3) & (gold != 2) & (invalid == "tie")] = 2  # never right, as for accuracy
    cell, scored, without = answer * len(_CLASSES) + gold, trial & (counts.n > 0), counts.no_trials(~trial)
    rows = []
    for key, same in counts.rows_of_groups():
        here = same[scored[same]]
        if not len(here):
            continue
        row = _kappa(counts.where(here), cell[here], key)
        size = flags.SMALL_N if row["n"] < 30 else ""
        lost = [flags.EXCLUDED.of(counts.n[same][mask[same]].sum(), what=what) for what, mask in without.items()]
        flag = flags.join(counts.clusters.flag, row["flag"], *lost, size)
        rows.append({**key, "term": "kappa", **row, "flag": flag})
    return rows


def _kappa(counts: Counts, cell: Ints, key: dict[str, Any]) -> dict[str, Any]:
    """Kappa of one group with its interval; `cell` (R,): answer and gold of each row."""
    n, plan, m = counts.n, counts.bootstrap, len(_CLASSES)
    total = np.bincount(cell, n, m * m).reshape(m, m)
    kappa, error, _ = (float(x) for x in cohen_kappa(total))
    row: dict[str, Any] = {"estimate": kappa, "n": total.sum(), "method": "asymptotic (Fleiss, Cohen, Everitt)"}
    if math.isnan(kappa):
        return {**row, "flag": flags.CHANCE_IS_ONE}
    if plan is not None:
        one, two = np.divmod(np.arange(m * m), m)
        unit = counts.columns.codes(plan.columns) if plan.cluster else Codes(np.arange(n.size), np.arange(n.size))
        added = np.bincount(unit.code * m * m + cell, n, unit.size * m * m).astype(np.float64).reshape(-1, m * m)
        units = replace(counts.where(unit.first), n=added.sum(axis=1))
        return {**row, **units.resampled(added, lambda totals: weighted_kappa(totals, one, two, np.eye(m)), key)}
    cluster, quantile, few = counts.clusters.column, normal_quantile(counts.conf_level), ""
    if cluster is not None:
        unit = counts.columns.codes([cluster])
        alike = np.ones(unit.size) if counts.alike is None else counts.alike[unit.first]
        size = int(alike.sum())
        sums = np.bincount(unit.code, n * kappa_influence(total).ravel()[cell], unit.size)
        row["method"] = f"linearised, clustered by {cluster} (G = {size})"
        few = flags.few_clusters(np.bincount(unit.code, n) / alike, alike=alike)
        if size < 2:
            return {**row, "flag": few}
        error = math.sqrt(size / (size - 1) * float((sums**2 / alike).sum())) / row["n"]
        quantile = float(stdtrit(size - 1, 0.5 + counts.conf_level / 2))
    if error < 1e-7:  # perfect agreement
        return {**row, "flag": flags.join(few, flags.NO_SPREAD)}
    low, high = max(kappa - quantile * error, -1.0), min(kappa + quantile * error, 1.0)
    return {**row, "std_error": error, "conf_low": low, "conf_high": high, "flag": few}


def labelled_calls(calls: Any, by: By, measure: str = "gold_agreement") -> tuple[Study, ExcludedCalls]:
    """Calls with a gold label, and the number of calls without one, per group."""
    study = Study.of(calls)
    if not {"gold", *required("preferences")} <= {*study.names}:
        return study, ExcludedCalls()  # a tally, or a table that count() will refuse
    gold = nw.col("gold").cast(nw.String)

    def labelled() -> tuple[Study, ExcludedCalls]:
        _refuse_unknown_gold(study, gold)
        return _with_gold(study, gold.is_null() | (gold == ""), by, "calls without gold", measure)

    return study.once(("labelled", *names(by), measure), labelled)


def labelled_verdicts(ratings: Any, by: By, measure: str = "accuracy") -> tuple[Study, ExcludedCalls]:
    """Verdicts with a gold label, or all if there is no gold column; and the number of the others."""
    study = Study.of(ratings)
    if not {"gold", "judge", answer_column(study.names)} <= {*study.names}:
        return study, ExcludedCalls()
    gold, dtype = nw.col("gold"), study.data.collect_schema()["gold"]
    missing = gold.is_null() | (gold.is_nan() if dtype.is_float() else gold.cast(nw.String) == "")
    what = "verdicts without gold"
    return study.once(("labelled", *names(by), measure), lambda: _with_gold(study, missing, by, what, measure))


def _with_gold(study: Study, unlabelled: Any, by: By, what: str, measure: str) -> tuple[Study, ExcludedCalls]:
    """Rows with a gold label, and the number of rows without one, per group."""
    groups = list(dict.fromkeys(["judge", *grouping(by, study.names)]))
    counted(study.data, groups)
    if study.lazy:
        without, kept = (study.filtered(["gold"], rows) for rows in (unlabelled, ~unlabelled))
    else:
        empty = study.columns["gold"].among(None, "")
        without, kept = study.where(empty), study.where(~empty)
    excluded = ExcludedCalls.of(without, groups, what)
    if not len(excluded.table):
        return study, excluded
    if not (number_of_calls(kept.data) if kept.lazy else len(kept.columns)):
        raise DesignError(f"{measure} needs the right answer, and 'gold' is empty in every row.")
    return kept, excluded


def _refuse_unknown_gold(study: Study, gold: Any) -> None:
    """Raise where a gold label is neither candidate nor ``tie``, with row numbers where the frame has an order."""
    columns, numbers = ["item", "first", "second", "gold"], np.empty(0, dtype=int)
    if study.lazy:
        first, second = (nw.col(c).cast(nw.String) for c in ("first", "second"))
        stranger = ~gold.is_null() & (gold != "") & (gold != first) & (gold != second) & (gold != "tie")
        bad = study.data.filter(stranger).select(*columns).collect(backend="pandas").to_native()
    else:
        label, shown = study.columns["gold"], study.shown
        number = {name: i for i, name in enumerate(shown.names)}
        place = np.array([number.get(str(x), -2) for x in label.labels], dtype=np.int64)[label.code]
        numbers = np.flatnonzero((place != shown.first) & (place != shown.second) & ~label.among(None, "", "tie"))
        bad = study.columns.take(numbers).frame(columns)
    if not len(bad):
        return
    rows = "" if study.lazy else f" ({data_rows(list(numbers))})"
    one = bad.iloc[0]
    where = tuple(map(int, numbers))
    fault = Finding("fault", "gold", "'gold' is neither candidate nor 'tie'", where, str(one["gold"]), _ALLOWED)
    faults = as_frame([fault]).assign(n=len(bad))
    raise SchemaError(
        f"'gold' is neither candidate nor 'tie' in {len(bad):,} row{'s' * (len(bad) != 1)}{rows}. The first: item "
        f"{one['item']!r} shows {one['first']!r} and {one['second']!r}, and its gold is {one['gold']!r}. {_ALLOWED}",
        faults=faults,
    )
