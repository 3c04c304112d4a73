"""How often each candidate wins: :func:`preference_rate`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.bootstrap import Interval, ratio
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts
from judgestats.counting.patterns import Invalid, Ties
from judgestats.counting.selection import with_two
from judgestats.counting.study import Calls, Study, with_pair
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.kernels.proportions import clustered_wilson, wilson
from judgestats.metrics.bias.design_flags import flag_forced
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.results import estimates
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import COUNTS, By, names
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.typing import Floats, Record


@Measure(
    "How often does each candidate win?",
    "bias",
    "P, counts",
    "Wilson, clustered; bootstrap",
    "ours; graded: AlpacaEval",
    plot="forest",
    frames=("preferences",),
    table=("win_rate",),
    terms=(Term("win_rate", neutral=0.5),),
    assumes="Slots were exchanged or drawn at random, else position bias is part of the rate; items are independent.",
)
def preference_rate(
    calls: IntoFrame,
    *,
    of: str | Sequence[str] | None = None,
    ties: Ties = "half",
    graded: bool = False,
    invalid: Invalid = "drop",
    by: By = (),
    cluster: Cluster = "auto",
    interval: Interval = "wilson",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
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
        How a tie counts: as half a win, excluded, or as no win. An abstention is a tie.
    graded : bool
        Average ``strength`` (0 first to 1 second) instead of the choices, as AlpacaEval does; `ties` then has no
        effect.
    invalid : {'drop', 'wrong', 'tie'}
        How an invalid call counts: excluded, as a win of neither candidate, or as a tie (graded: 0.5). If graded, a
        call without ``strength`` is invalid.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str, two of them, or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not. Two crossed columns need
        ``interval='percentile'``.
    interval : {'wilson', 'percentile', 'bca'}
        Wilson's interval, or a bootstrap of calls or clusters.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
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

    See Also
    --------
    position_bias : Preference for the slot shown first.
    compare_scores : Scores to verdicts.

    Notes
    -----
    A win rate depends on the opponents: compare candidates that met the same ones. The standard error of a graded rate
    is that of a mean, sd/sqrt(n) with ddof = 1 (AlpacaEval's), and its interval is Wilson's with the n that gives this
    error, so that it stays in [0, 1]. With ``ties="half"`` Wilson's interval treats halves as whole wins and losses,
    and is conservative.

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
    merged = interval == "wilson" and not graded
    counts = _of_candidates(count(calls, "preference_rate", by, cluster=cluster, merged=merged), of)
    groups = list(dict.fromkeys([*counts.groups, "candidate"]))
    counts = counts.grouped(groups).inferred(conf_level, interval, None, n_resamples, seed)
    if graded:
        rows = _graded_rows(_of_candidates(_strengths(calls, counts), of), invalid)
    else:
        rows = counts.rates("win_rate", *counts.hits_and_trials("win", ties, invalid))
    for term in ("win", "loss", "tie", "invalid"):
        rows += counts.rates(term, counts.among("outcome", term))
    return estimates(flag_forced(rows, calls, [g for g in groups if g != "candidate"], ("tie",)), groups)


def _of_candidates(counts: Counts, of: str | Sequence[str] | None) -> Counts:
    """Rows of the candidates in `of`."""
    if of is None:
        return counts
    code, labels = counts.columns["candidate"]
    candidates = sorted(str(labels[c]) for c in np.unique(code))
    for name in names(of):
        if name not in candidates:
            first_names = ", ".join(candidates[:8]) + (", ..." if len(candidates) > 8 else "")
            raise DesignError(
                f"of={name!r} is not a candidate. Candidates: {first_names}.{suggestion(name, candidates)}"
            )
    return counts.where(np.array([str(label) in names(of) for label in labels])[code])


def _graded_rows(counts: Counts, invalid: str) -> list[Record]:
    """Win rates as means of ``strength``."""
    value = counts.columns.series("_value").to_numpy(dtype=float)
    value = np.where(np.isnan(value), {"drop": np.nan, "wrong": 0.0, "tie": 0.5}[invalid], value)
    n, value = np.where(np.isnan(value), 0.0, counts.n), np.nan_to_num(value)
    rows = []
    for key, group_rows in counts.rows_of_groups():
        part = counts.where(group_rows)
        row = {**key, "term": "win_rate", **_mean_strength(part, value[group_rows], n[group_rows])}
        if part.bootstrap is not None and row["n"] > 0 and 0 < row["estimate"] < 1:
            resampled = part.resampled(np.column_stack([value * n, n])[group_rows], ratio, key)
            row.update(resampled, flag=flags.join(row["flag"], resampled["flag"]))
        row["flag"] = flags.join(counts.clusters.flag, row["flag"])
        rows.append(row)
    return rows


def _strengths(calls: Calls, counts: Counts) -> Counts:
    """Each call twice: its strength for each of its candidates, NaN where unknown; grouped as the counts of answers."""
    study = Study.of(calls)
    data, present = study.data, study.names
    if "strength" not in present or "first" not in present:
        raise DesignError(
            f"graded=True averages 'strength' over calls, and there is no such column. Columns: "
            f"{', '.join(present)}. Give the calls with it, or leave graded= out."
        )
    if "pair" in counts.clusters.columns and "pair" not in present:
        data, present = with_pair(data), [*present, "pair"]
    keys = [c for c in dict.fromkeys([*counts.groups, *counts.clusters.columns]) if c != "candidate"]
    counted(data, keys)
    columns = [*keys, *(c for c in ("first", "second", "choice", "strength", COUNTS) if c not in keys and c in present)]
    table = with_two(data).lazy().select(*columns).collect(backend="pandas").to_native()
    strengths = table["strength"]
    strength = pd.to_numeric(strengths, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    if (text := np.isnan(strength) & strengths.notna().to_numpy()).any():
        raise SchemaError(f"'strength' is {strengths[text].iloc[0]!r} in {text.sum():,} rows. Allowed: 0 to 1.")
    wrong = (strength < 0) | (strength > 1)
    if wrong.any():
        raise DesignError(
            f"'strength' is {strength[wrong][0]} in {wrong.sum():,} rows. Allowed: 0 (first) to 1 (second)."
        )
    strength = np.where(table["choice"].astype(object).isin(["invalid", None]), np.nan, strength)
    n = call_counts(table[COUNTS]) if COUNTS in present else np.ones(len(table))
    sides = [table[keys].assign(candidate=table[s].astype(str), n=n) for s in ("first", "second")]
    whole = pd.concat(sides, ignore_index=True).assign(_value=np.concatenate([1 - strength, strength]))
    # sums do not depend on the order of rows
    order = np.lexsort((whole["_value"].to_numpy(), codes_of(whole, ["candidate"]).code))
    options = {"conf_level": counts.conf_level, "bootstrap": counts.bootstrap}
    return Counts.of(whole.iloc[order].reset_index(drop=True), counts.groups, counts.clusters, **options)


def _mean_strength(counts: Counts, value: Floats, n: Floats) -> Record:
    """Mean strength with Wilson's interval."""
    total, cluster = float(n.sum()), counts.clusters.columns
    cells: Record = {"estimate": math.nan, "n": total, "method": methods.WILSON.on("of a mean"), "flag": flags.NO_DATA}
    if not total > 0:
        return cells
    mean = float((value * n).sum() / total)
    small = flags.SMALL_N if total < 30 else ""
    if len(cluster) == 1:
        unit = counts.columns.codes(cluster)
        k, m = (np.bincount(unit.code, x, unit.size).astype(float) for x in (value * n, n))
        error, lowest, highest = clustered_wilson(k, m, counts.conf_level)
        cells |= {
            "method": methods.clustered(methods.WILSON.on("of a mean", " "), cluster[0], m),
            "flag": flags.join(flags.few_clusters(m), small),
        }
        return {**cells, "estimate": mean, "std_error": error, "conf_low": lowest, "conf_high": highest}
    variance = float((n * (value - mean) ** 2).sum()) / (total - 1) / total if total > 1 else math.nan
    if mean not in (0.0, 1.0) and not variance > 0:  # equal strengths: no estimate of their spread
        return {**cells, "estimate": mean, "std_error": variance, "flag": flags.join(flags.NO_SPREAD, small)}
    effective = total if mean in (0.0, 1.0) else mean * (1 - mean) / variance
    low, high = wilson(mean * effective, effective, counts.conf_level)
    ends = {"conf_low": float(low), "conf_high": float(high)}
    return {
        **cells,
        "estimate": mean,
        "std_error": math.sqrt(variance) if total > 1 else math.nan,
        **ends,
        "flag": small,
    }
