"""Does a judge change its verdict once the true labels are shown?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.kernels.proportions import newcombe_paired
from judgestats.metrics.invariance.roles import Study, paired, refuse_no_probe, study
from judgestats.metrics.invariance.sides import Favoured, key_of, one_side, without_side
from judgestats.metrics.rates import rates
from judgestats.metrics.resampled import Bootstrap, Interval, planned, ratio, resampled
from judgestats.results import estimates, flags
from judgestats.schema.clustering import CLUSTERING, Cluster
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By
from judgestats.schema.counting import tally

_NO_ANSWER = ("invalid", "missing")
#: Where each role stands on the way from the opposed to the favoured side.
_RANK = np.array([1, -1, 0, 0])
_Rows = list[dict[str, Any]]


def revision(
    calls: Any,
    *,
    before: str = "flip",
    after: str = "reveal",
    favoured: Favoured | None = None,
    favoured_label: str | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    interval: Interval = "wilson",
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Share of items whose verdict changed between two probes, and which way.

    Parameters
    ----------
    calls : frame
        Preferences with a column ``probe``, or a tally of items ``judge, probe, baseline, outcome, n``, as from
        ``tally(frame, "revision", baseline=before)``: ``probe`` is the later one.
    before, after : str
        The probes: an answer under false labels, and the one after the true labels are shown.
    favoured : str, mapping or callable, optional
        The side that the labels shown *after* favour, as in :func:`anchoring`. Where neither this, nor a column
        ``favoured``, nor `favoured_label` tells it, there are no directed terms.
    favoured_label : str, optional
        As in :func:`anchoring`; read where the label is shown `after`.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str, two of them, or False
        What items share: by default the column that they are seen to share, which ``method`` names; or a column, for a
        bootstrap by percentile also two crossed ones; False takes all items as independent, and is flagged where they
        are not.
    interval : {'wilson', 'percentile', 'bca'}
        Of the shares.
    n_resamples, seed, conf_level
        Of the bootstrap, and coverage.

    Returns
    -------
    pandas.DataFrame
        Per judge and scheme ``revision``: the share of items with another outcome after than before, a tie being an
        outcome like the others. With a favoured side also ``towards`` (from opposed to tie or favoured, or from tie to
        favoured) and ``away`` (the reverse), which add up to it, and ``net``, their difference, with Newcombe's
        interval for two shares of one sample. ``n`` is the items valid in both; the others are counted in the flag.

    Raises
    ------
    DesignError
        If a probe does not occur, or an item was judged twice under one.

    Notes
    -----
    ``revision`` has no direction: a judge that answers at random revises too. Only ``net`` says that changes follow the
    label. Source: rationalization paper, Section V.F, which prints the undirected share.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "probe": "reveal", "baseline": ["ml", "ml", "llm", "tie"],
    ...                        "outcome": ["llm", "ml", "ml", "missing"], "n": [30, 15, 5, 2]})
    >>> shares = revision(counts, favoured="llm")
    >>> shares[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
           term  estimate  conf_low  conf_high     n
    0  revision       0.7     0.562      0.809  50.0
    1   towards       0.6     0.462      0.724  50.0
    2      away       0.1     0.043      0.214  50.0
    3       net       0.5     0.288      0.656  50.0
    >>> shares["flag"][0]
    'clustering unknown; 2 items not valid in both'
    """
    planned(interval, None, None, n_resamples, seed, conf_level)
    found = study(calls, by, cluster, "revision")
    plan = planned(interval, found.clusters, None, n_resamples, seed, conf_level)
    refuse_no_probe(found, after, "after", always=True)
    if found.kind == "calls":
        refuse_no_probe(found, before, "before")
    found = Study(
        found.table[found.table["probe"].isin([before, after] if found.kind == "calls" else [after])],
        found.kind,
        found.groups,
        found.clusters,
        found.note,
    )
    columns = [*found.groups, "probe"]
    options: dict[str, Any] = {"conf_level": conf_level, "bootstrap": plan}
    if plan is None and found.clusters:
        options["cluster"] = found.clusters[0]
    table = tally(found.table, "revision", columns, cluster=found.clusters or False, baseline=before)
    table.attrs[CLUSTERING] = found.note
    answers = table[["baseline", "outcome"]].astype(str)
    valid = ~answers.isin(_NO_ANSWER).any(axis=1)
    rows = rates(table, columns, "revision", answers["baseline"] != answers["outcome"], valid, **options)
    if _has_side(found, favoured, favoured_label):
        drawn = plan
        if drawn is None and found.clusters:
            drawn = Bootstrap("percentile", tuple(found.clusters), None, n_resamples, seed, conf_level)
        rows += _directed(found, before, favoured, favoured_label, options, drawn)
    rows = _flagged(rows, table.assign(_valid=valid), columns)
    return estimates(rows, columns, ("favoured",)).assign(
        favoured=lambda t: t["favoured"].astype(object).where(t["favoured"].notna(), "")
    )


def _has_side(found: Study, favoured: Favoured | None, label: str | None) -> bool:
    return favoured is not None or "favoured" in found.table or (label is not None and "label_first" in found.table)


def _directed(
    found: Study,
    before: str,
    favoured: Favoured | None,
    label: str | None,
    options: dict[str, Any],
    plan: Bootstrap | None,
) -> _Rows:
    pairs = paired(found, before, favoured, label, found.clusters)
    columns = [*found.groups, "probe"]
    pairs = pairs.assign(n=pairs["n"].astype(float), _side=pairs["_side"].astype(object))
    pairs.attrs[CLUSTERING] = found.note
    base, after = (pairs[c].to_numpy(dtype=int) for c in ("_baseline", "_outcome"))
    valid = (base >= 0) & (after >= 0)
    step = _RANK[after] - _RANK[base]
    rows = rates(pairs, columns, "towards", step > 0, valid, **options)
    rows += rates(pairs, columns, "away", step < 0, valid, **options)
    rows += _net(pairs, columns, np.sign(step) * valid, valid, options["conf_level"], plan)
    named = pairs.groupby(columns, dropna=False)["_side"]
    sides = {key_of(key): one_side(side) for key, side in named}
    sideless = pairs.assign(n=pairs["n"].where(~pairs["_known"], 0.0)).groupby(columns, dropna=False)["n"].sum()
    doubts = {key_of(key): without_side(n) for key, n in sideless.items()}
    for row in rows:
        key = key_of(row[c] for c in columns)
        row |= {"favoured": sides[key], "flag": flags(row["flag"], doubts[key])}
    return rows


def _net(
    pairs: pd.DataFrame,
    columns: list[str],
    sign: NDArray[Any],
    valid: NDArray[np.bool_],
    conf_level: float,
    plan: Bootstrap | None,
) -> _Rows:
    """Rows of ``net``; n and the flag of a small sample are those of any rate of these items."""
    rows = rates(pairs, columns, "net", sign > 0, valid, conf_level=conf_level)
    n = pairs["n"].to_numpy(dtype=float)
    code = codes_of(pairs, columns)
    for g, row in enumerate(rows):
        here = (code.code == g) & valid
        up, down, still = (float(n[here & (sign == s)].sum()) for s in (1, -1, 0))
        total = up + down + still
        if not total:
            row["method"] = ""
            continue
        row["estimate"] = net = (up - down) / total
        row["std_error"] = math.sqrt(max((up + down) / total - net**2, 0.0) / total)
        row["conf_low"], row["conf_high"] = newcombe_paired(0.0, up, down, still, conf_level)
        row["method"] = "Newcombe, two shares of one sample"
        if plan is not None:
            counts = np.column_stack([n[here] * sign[here], n[here]])
            key = {str(c): row[c] for c in columns}
            drawn = resampled(pairs[here], counts, ratio, plan, key)
            row.update({**drawn, "flag": flags(row["flag"], drawn["flag"])})
    return rows


def _flagged(rows: _Rows, table: pd.DataFrame, columns: list[str]) -> _Rows:
    counts = table.assign(n=table["n"] * ~table["_valid"]).groupby(columns, dropna=False)["n"]
    dropped = {key_of(key): float(n.sum()) for key, n in counts}
    for row in rows:
        n = dropped[key_of(row[c] for c in columns)]
        row["flag"] = flags(row["flag"], f"{n:,.0f} items not valid in both" if n else "")
    return rows
