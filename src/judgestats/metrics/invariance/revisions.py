"""Does a judge change its verdict after the true labels are shown? :func:`revision`."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.bootstrap import Bootstrap, Interval, planned, ratio
from judgestats.counting.clustering import Cluster
from judgestats.counting.clusters import Clusters
from judgestats.counting.counts import Counts
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.kernels.proportions import newcombe_paired
from judgestats.metrics.invariance.outcome_coding import Favoured, key_of, one_side, without_side
from judgestats.metrics.invariance.probe_answers import ProbeCalls, paired, refuse_no_probe, study
from judgestats.metrics.measure_registry import Measure
from judgestats.results import estimates
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By
from judgestats.typing import Floats, Mask, Record

_NO_ANSWER = ("invalid", "missing")
#: Rank of each role from the opposed to the favoured side.
_RANK = np.array([1, -1, 0, 0])


@Measure(
    "Does the judge revise when the truth is shown, and in which direction?",
    "cues",
    "P, counts",
    "Wilson; net: Newcombe; bootstrap",
    "rationalization, Sec V.F",
    plot="revision",
    frames=("preferences",),
    caption="Share of items whose verdict changed after the truth was shown, by direction.",
    have=("conditions",),
    assumes="The probes were asked about the same items, which are independent of each other.",
)
def revision(
    calls: IntoFrame,
    *,
    before: str = "flip",
    after: str = "reveal",
    favoured: Favoured | None = None,
    favoured_label: str | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    interval: Interval = "wilson",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Share of items whose verdict changed between two probes, and in which direction.

    Parameters
    ----------
    calls : frame
        Preferences with a column ``probe``, or a tally of items ``judge, probe, baseline, outcome, n``, as from
        ``tally(frame, "revision", baseline=before)``: ``probe`` is the later one.
    before, after : str
        The probes: an answer under false labels, and the one after the true labels are shown.
    favoured : str, mapping or callable, optional
        The side that the labels shown *after* favour, as in :func:`anchoring`. Without it, a column ``favoured`` or
        `favoured_label` there are no directed terms.
    favoured_label : str, optional
        As in :func:`anchoring`; read where the label is shown `after`.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str, two of them, or False
        Column that items share, by which intervals are clustered. ``"auto"`` detects it (``task``, say) and names it in
        ``method``. False treats all items as independent, with a flag where they are not. Two crossed columns need
        ``interval='percentile'``.
    interval : {'wilson', 'percentile', 'bca'}
        Of the shares.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge and scheme ``revision``: the share of items with another outcome after than before, a tie being an
        outcome like the others. With a favoured side also ``towards`` (from opposed to tie or favoured, or from tie to
        favoured) and ``away`` (the reverse), which add up to it, and ``net``, their difference, with Newcombe's
        interval for two shares of one sample. ``n`` is the items valid in both; the flag counts the others.

    Raises
    ------
    DesignError
        If a probe does not occur, or an item was judged twice under one.

    See Also
    --------
    anchoring : Shift of verdicts by a cue.
    protocol_difference : Anchoring under two schemes.

    Notes
    -----
    ``revision`` has no direction: a judge that answers at random revises too. Only ``net`` shows that changes follow
    the label. Source: rationalization paper, Section V.F, which prints the undirected share.

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
    'clustering unknown; 2 items not valid in both excluded'
    """
    planned(interval, None, None, n_resamples, seed, conf_level)
    probes = study(calls, by, cluster, "revision")
    plan = planned(interval, probes.clusters, None, n_resamples, seed, conf_level)
    refuse_no_probe(probes, after, "after", always=True)
    if probes.kind == "calls":
        refuse_no_probe(probes, before, "before")
    of_probes = probes.table["probe"].isin([before, after] if probes.kind == "calls" else [after])
    probes = replace(probes, table=probes.table[of_probes])
    columns = [*probes.groups, "probe"]
    table = count(probes.table, "revision", columns, cluster=probes.clusters or False, baseline=before).table
    answers = table[["baseline", "outcome"]].astype(str)
    valid = ~answers.isin(_NO_ANSWER).any(axis=1)
    counts = probes.counts_of(table, plan, conf_level)
    rows = counts.rates("revision", answers["baseline"] != answers["outcome"], valid)
    labelled = favoured_label is not None and "label_first" in probes.table
    if favoured is not None or "favoured" in probes.table or labelled:
        bootstrap = plan
        if bootstrap is None and probes.clusters:
            bootstrap = Bootstrap("percentile", tuple(probes.clusters), None, n_resamples, seed, conf_level)
        rows += _directed(probes, before, favoured, favoured_label, conf_level, plan, bootstrap)
    lost = table.assign(n=table["n"] * ~valid).groupby(columns, dropna=False)["n"].sum()
    dropped = {key_of(key): float(n) for key, n in lost.items()}
    for row in rows:
        n = dropped[key_of(row[c] for c in columns)]
        row["flag"] = flags.join(row["flag"], flags.EXCLUDED.of(n, what="item(s) not valid in both"))
    return estimates(rows, columns, ("favoured",)).assign(
        favoured=lambda t: t["favoured"].astype(object).where(t["favoured"].notna(), "")
    )


def _directed(
    probes: ProbeCalls,
    before: str,
    favoured: Favoured | None,
    label: str | None,
    conf_level: float,
    plan: Bootstrap | None,
    bootstrap: Bootstrap | None,
) -> list[Record]:
    """Rows of ``towards``, ``away`` and ``net``."""
    pairs = paired(probes, before, favoured, label, probes.clusters)
    columns = [*probes.groups, "probe"]
    pairs = pairs.assign(n=pairs["n"].astype(float), _side=pairs["_side"].astype(object))
    base, after = (pairs[c].to_numpy(dtype=int) for c in ("_baseline", "_outcome"))
    valid = (base >= 0) & (after >= 0)
    step = _RANK[after] - _RANK[base]
    counts = probes.counts_of(pairs, plan, conf_level)
    rows = counts.rates("towards", step > 0, valid)
    rows += counts.rates("away", step < 0, valid)
    rows += _net(probes, pairs, np.sign(step) * valid, valid, conf_level, bootstrap)
    side_of_group = pairs.groupby(columns, dropna=False)["_side"]
    sides = {key_of(key): one_side(side) for key, side in side_of_group}
    sideless = pairs.assign(n=pairs["n"].where(~pairs["_known"], 0.0)).groupby(columns, dropna=False)["n"].sum()
    without = {key_of(key): without_side(n) for key, n in sideless.items()}
    for row in rows:
        key = key_of(row[c] for c in columns)
        row |= {"favoured": sides[key], "flag": flags.join(row["flag"], without[key])}
    return rows


def _net(
    probes: ProbeCalls, pairs: pd.DataFrame, sign: Floats, valid: Mask, conf_level: float, plan: Bootstrap | None
) -> list[Record]:
    """Rows of ``net``; n and the flag of a small sample are those of any rate of these items."""
    columns = [*probes.groups, "probe"]
    calls = Clusters() if probes.clusters else probes.clustering
    rows = Counts.of(pairs, columns, calls, conf_level=conf_level).rates("net", sign > 0, valid)
    n = pairs["n"].to_numpy(dtype=float)
    code = codes_of(pairs, columns)
    for g, row in enumerate(rows):
        inside = (code.code == g) & valid
        up, down, still = (float(n[inside & (sign == s)].sum()) for s in (1, -1, 0))
        total = up + down + still
        if not total:
            row["method"] = methods.NONE
            continue
        row["estimate"] = net = (up - down) / total
        row["std_error"] = math.sqrt(max((up + down) / total - net**2, 0.0) / total)
        row["conf_low"], row["conf_high"] = newcombe_paired(0.0, up, down, still, conf_level)
        row["method"] = methods.NEWCOMBE_ONE_SAMPLE
        if plan is not None:
            counts = np.column_stack([n[inside] * sign[inside], n[inside]])
            key = {str(c): row[c] for c in columns}
            ends = Counts.of(pairs[inside]).resampled(counts, ratio, key, plan=plan)
            row.update({**ends, "flag": flags.join(row["flag"], ends["flag"])})
    return rows
