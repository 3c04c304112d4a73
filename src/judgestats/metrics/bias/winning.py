"""How often is each candidate preferred?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import DesignError, SchemaError, choose, suggestion
from judgestats.kernels.proportions import clustered_wilson, wilson
from judgestats.metrics.bias.gold import Ties
from judgestats.metrics.bias.ties import flag_forced
from judgestats.metrics.rates import rates
from judgestats.metrics.resampled import Bootstrap, Floats, Interval, interval_of, ratio, resampled
from judgestats.results import (
    CONSTANT,
    NO_DATA,
    SMALL_N,
    estimates,
    few_clusters,
    flags,
)
from judgestats.schema.clustering import Cluster, columns_of, dependence, with_pair
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import COUNTS, By, grouping, names
from judgestats.schema.counting import tally
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.schema.patterns import Invalid
from judgestats.schema.selection import between_two


def preference_rate(
    calls: Any,
    *,
    of: str | Sequence[str] | None = None,
    ties: Ties = "half",
    graded: bool = False,
    invalid: Invalid = "drop",
    by: By = (),
    cluster: Cluster = "auto",
    interval: Interval = "wilson",
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Win rate of each candidate with each judge.

    Parameters
    ----------
    calls : frame
        Preferences; no order is needed. Or a tally, a row for each candidate of a call: ``judge, candidate, outcome,
        n`` with the outcomes ``win``, ``loss``, ``tie``, ``invalid``.
    of : str or sequence of str, optional
        These candidates only.
    ties : {'half', 'drop', 'exact'}
        What a tie is: half a win, set aside, or not a win. An abstention is a tie.
    graded : bool
        Take the mean of ``strength`` (0 first to 1 second) in place of the choice, as AlpacaEval does; `ties` has then
        nothing to say.
    invalid : {'drop', 'wrong', 'tie'}
        What an invalid call is: set aside, a win of neither candidate, or a tie (graded: 0.5). Graded, a call without
        ``strength`` is invalid.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str, two of them, or False
        What calls share: by default the column that they are seen to share (``item``, say), which ``method`` names; or
        a column, for a bootstrap by percentile also two crossed ones; False takes all calls as independent, and is
        flagged where they are not.
    interval : {'wilson', 'percentile', 'bca'}
        Wilson (clustered by what calls share), or a bootstrap of calls or clusters.
    n_resamples, seed : int
        Of the bootstrap.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge and ``candidate`` the term ``win_rate``, whose ``n`` is the calls that count under `ties` and
        `invalid`; and ``win``, ``loss``, ``tie`` and ``invalid``, shares of all calls that show the candidate, which
        add up to 1. Where ties are not allowed, ``tie`` is flagged ``forced choice``.

    Raises
    ------
    DesignError
        If a candidate in `of` does not occur, or there is no ``strength`` for ``graded=True``.

    Notes
    -----
    A win rate depends on whom a candidate met: compare candidates that met the same opponents. The standard error of
    a graded rate is that of a mean, sd/sqrt(n) with ddof = 1 (AlpacaEval's), and its interval is Wilson's with the n
    that gives this error, so that it stays in [0, 1]. With ``ties="half"`` Wilson's interval treats halves as if they
    were whole: it is too wide rather than too short.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "candidate": "x", "outcome": ["win", "loss", "tie"], "n": [60, 30, 10]})
    >>> preference_rate(counts)[["candidate", "term", "estimate", "conf_low", "conf_high"]].round(3)
      candidate      term  estimate  conf_low  conf_high
    0         x  win_rate      0.65     0.553      0.736
    1         x       win      0.60     0.502      0.691
    2         x      loss      0.30     0.219      0.396
    3         x       tie      0.10     0.055      0.174
    4         x   invalid      0.00     0.000      0.037
    """
    choose(ties, ("half", "drop", "exact"), "ties")
    choose(invalid, ("drop", "wrong", "tie"), "invalid")
    table = _of(tally(calls, "preference_rate", by, cluster=cluster), of)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns), "candidate"]))
    outcome = table["outcome"].to_numpy(dtype=object)
    options = interval_of(table, interval, None, n_resamples, seed, conf_level)
    if graded:
        kept, plan = list(columns_of(table)), options["bootstrap"]
        rows = _graded_rows(calls, of, groups, invalid, kept, conf_level, plan, dependence(table))
    else:
        as_tie = (outcome == "tie") | ((outcome == "invalid") & (invalid == "tie"))
        trial = ~(((outcome == "invalid") & (invalid == "drop")) | (as_tie & (ties == "drop")))
        hit = (outcome == "win") + as_tie * (0.5 if ties == "half" else 0.0)
        rows = rates(table, groups, "win_rate", hit, trial, **options)
    for term in ("win", "loss", "tie", "invalid"):
        rows += rates(table, groups, term, outcome == term, **options)
    return estimates(flag_forced(rows, calls, [g for g in groups if g != "candidate"], ("tie",)), groups)


def _of(table: pd.DataFrame, of: str | Sequence[str] | None) -> pd.DataFrame:
    if of is None:
        return table
    known = sorted(table["candidate"].astype(str).unique())
    for name in names(of):
        if name not in known:
            shown = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
            raise DesignError(f"of={name!r} is no candidate. There are: {shown}.{suggestion(name, known)}")
    result = table[table["candidate"].astype(str).isin(names(of))].reset_index(drop=True)
    result.attrs = table.attrs
    return result


def _graded_rows(
    calls: Any,
    of: str | Sequence[str] | None,
    groups: list[str],
    invalid: str,
    cluster: list[str],
    conf_level: float,
    plan: Bootstrap | None,
    dependent: str,
) -> list[dict[str, Any]]:
    table = _of(_strengths(calls, groups, cluster), of)
    value = table["_value"].to_numpy(dtype=float)
    unknown = np.isnan(value)
    value = np.where(unknown, {"drop": np.nan, "wrong": 0.0, "tie": 0.5}[invalid], value)
    n = np.where(np.isnan(value), 0.0, table["n"].to_numpy(dtype=float))
    value = np.where(np.isnan(value), 0.0, value)
    codes = codes_of(table, groups)
    rows = []
    for g, at in enumerate(codes.first):
        here = codes.code == g
        key = {name: table[name].iloc[at] for name in groups}
        row = {**key, "term": "win_rate", **_mean(table[here], value[here], n[here], cluster, conf_level)}
        if plan is not None and row["n"] > 0 and 0 < row["estimate"] < 1:
            counts = np.column_stack([value * n, n])[here]
            drawn = resampled(table[here], counts, ratio, plan, key)
            row.update(drawn, flag=flags(row["flag"], drawn["flag"]))
        row["flag"] = flags(dependent, row["flag"])
        rows.append(row)
    return rows


def _strengths(calls: Any, groups: list[str], cluster: list[str]) -> pd.DataFrame:
    """Each call twice: how strongly it is for each of its candidates, NaN where that is not known."""
    data = nw.from_native(calls)
    present = data.collect_schema().names()
    if "strength" not in present or "first" not in present:
        raise DesignError(
            f"graded=True takes the mean of 'strength' over calls, and there is no such column. Columns: "
            f"{', '.join(present)}. Give the calls with it, or leave graded= out."
        )
    if "pair" in cluster and "pair" not in present:
        data, present = with_pair(data), [*present, "pair"]
    keys = [c for c in dict.fromkeys([*groups, *cluster]) if c != "candidate"]
    counted(data, keys)
    columns = [*keys, *(c for c in ("first", "second", "choice", "strength", COUNTS) if c not in keys and c in present)]
    table = data.filter(between_two()).lazy().select(*columns).collect(backend="pandas").to_native()
    given = table["strength"]
    strength = pd.to_numeric(given, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    if (text := np.isnan(strength) & given.notna().to_numpy()).any():
        raise SchemaError(f"'strength' is {given[text].iloc[0]!r} in {text.sum():,} rows. Allowed: 0 to 1.")
    wrong = (strength < 0) | (strength > 1)
    if wrong.any():
        raise DesignError(
            f"'strength' is {strength[wrong][0]} in {wrong.sum():,} rows. Allowed: 0 (first) to 1 (second)."
        )
    strength = np.where(table["choice"].astype(object).isin(["invalid", None]), np.nan, strength)
    n = call_counts(table[COUNTS]) if COUNTS in present else np.ones(len(table))
    sides = [table[keys].assign(candidate=table[s].astype(str), n=n) for s in ("first", "second")]
    whole = pd.concat(sides, ignore_index=True).assign(_value=np.concatenate([1 - strength, strength]))
    # the same sums in any order of the rows
    order = np.lexsort((whole["_value"].to_numpy(), codes_of(whole, ["candidate"]).code))
    return whole.iloc[order].reset_index(drop=True)


def _mean(table: pd.DataFrame, value: Floats, n: Floats, cluster: list[str], conf_level: float) -> dict[str, Any]:
    total = float(n.sum())
    cells: dict[str, Any] = {"estimate": math.nan, "n": total, "method": "Wilson, of a mean", "flag": NO_DATA}
    if not total > 0:
        return cells
    mean = float((value * n).sum() / total)
    small = SMALL_N if total < 30 else ""
    if len(cluster) == 1:
        unit = codes_of(table, cluster)
        k, m = (np.bincount(unit.code, x, unit.size).astype(float) for x in (value * n, n))
        clusters = int((m > 0).sum())
        error, lowest, highest = clustered_wilson(k, m, conf_level)
        cells |= {
            "method": f"Wilson of a mean, clustered by {cluster[0]} (G = {clusters})",
            "flag": flags(few_clusters(clusters), small),
        }
        return {**cells, "estimate": mean, "std_error": error, "conf_low": lowest, "conf_high": highest}
    variance = float((n * (value - mean) ** 2).sum()) / (total - 1) / total if total > 1 else math.nan
    if mean not in (0.0, 1.0) and not variance > 0:  # the same strength throughout: its spread is not known
        return {**cells, "estimate": mean, "std_error": variance, "flag": flags(CONSTANT, small)}
    effective = total if mean in (0.0, 1.0) else mean * (1 - mean) / variance
    low, high = wilson(mean * effective, effective, conf_level)
    ends = {"conf_low": float(low), "conf_high": float(high)}
    return {
        **cells,
        "estimate": mean,
        "std_error": math.sqrt(variance) if total > 1 else math.nan,
        **ends,
        "flag": small,
    }
