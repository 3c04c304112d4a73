"""Do verdicts follow a cue that is no evidence?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import SchemaError
from judgestats.kernels.proportions import newcombe_paired
from judgestats.metrics.bias.ties import flag_forced
from judgestats.metrics.invariance import movements
from judgestats.metrics.invariance.roles import Answers, Study, answers, refuse_no_probe, study
from judgestats.metrics.invariance.sides import ROLES, Favoured, key_of, refuse_unnamed
from judgestats.metrics.rates import rates
from judgestats.metrics.resampled import Bootstrap, Interval, planned, resampled
from judgestats.results import NO_DATA, SMALL_N, estimates, flags
from judgestats.schema.clustering import CLUSTERING, Cluster
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By
from judgestats.schema.counting import tally

_TIE_TERMS = ("equality_detection", "tie", "tie_blind", "shift_tie", "ts")
_GAINS = {"favoured": "lds", "opposed": "ols", "tie": "ts"}
_Rows = list[dict[str, Any]]


def anchoring(
    calls: Any,
    *,
    blind: str = "blind",
    favoured: Favoured | None = None,
    favoured_label: str | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    interval: Interval = "wilson",
    n_items: float | None = None,
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Movement of the verdicts from blind to each probe, towards the side that the cue favours and away from it.

    Parameters
    ----------
    calls : frame
        Preferences with a column ``probe``; each probe is compared with `blind` in the same ``scheme``, where there is
        such a column. Or counts: a tally ``judge, probe, outcome, n``, the outcome being a candidate, ``tie`` or
        ``invalid``; or a tally of items, ``judge, probe, baseline, outcome, n`` from
        ``tally(frame, "revision", baseline=blind)``, which gives all that the frame gives.
    blind : str
        The probe without a cue.
    favoured : str, mapping or callable, optional
        The candidate that the cue favours: in every probe, ``{probe: candidate}``, or a function of the probe. By
        default a column ``favoured``; else, in a frame, the candidate that bears `favoured_label` in ``label_first`` or
        ``label_second`` as shown in the probe, item by item. Counts need one of the first two.
    favoured_label : str, optional
        The label that a judge is thought to favour.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str, two of them, or False
        What items share: by default the column that they are seen to share, which ``method`` names; or a column, for a
        bootstrap by percentile also two crossed ones; False takes all items as independent, and is flagged where they
        are not.
    interval : {'wilson', 'percentile', 'bca'}
        ``wilson``: Wilson's for rates and Newcombe's for changes; else a bootstrap of items (of both samples for
        counts). ``lao`` has a bootstrap interval in any case.
    n_items : float, optional
        Stated number of items per probe; also a column ``items``. Answers that add up to another number are flagged.
    n_resamples, seed, conf_level
        Of the bootstrap, and coverage.

    Returns
    -------
    pandas.DataFrame
        Per judge, scheme and probe, with the columns ``favoured`` (the side) and ``p_value``. Blind:
        ``equality_detection`` (share of ties), ``neutrality`` (share of the candidate named in ``favoured`` minus
        share of the other) and its absolute value ``neutrality_deviation``. Under each other probe:

        - ``shift_favoured``, ``shift_opposed``, ``shift_tie``: changes of the three shares, which add up to 0;
        - ``lds``, ``ols``, ``ts``: what is positive of them;
        - ``lao``: ``lds / (lds + ols + ts)``, NaN with ``no movement`` where that is 0/0 (there is no ε);
        - ``total_variation``: their sum, with the joint test that nothing shifted;
        - ``shift_nontie`` (change of the favoured share among answers that took a side) beside ``tie`` and
          ``tie_blind``: robustness that is bought by abstaining shows here;
        - ``sensitivity`` and ``sensitivity_blind``, where the frame has ``gold`` or ``better``: share of right answers
          among the valid ones, a tie being wrong unless it is the gold.

        ``n`` of a change is the smaller of its two samples.

    Raises
    ------
    DesignError
        If there is no blind probe, nothing says which side is favoured, or counts are of several pairs of candidates.

    Notes
    -----
    ``equality_detection`` is over all items given: give those of equal candidates. Answers that are invalid are set
    aside on their side of the comparison and counted in the flag; items judged in one probe only count there.

    The interval of a clipped part is that of its signed shift, clipped; where that would be [0, 0] it is NaN, flagged.
    Three changes that add up to 0 have as total variation the largest of their sizes: its interval joins the folded
    intervals of the three, Bonferroni corrected. LAO is a ratio: for small movements it means little, and is flagged
    where the joint test does not reject at ``1 - conf_level``. The joint test is Stuart and Maxwell's for paired items
    (classes without movement left out) and Pearson's χ² for counts.

    Source: rationalization paper, Section IV.C. It states the favoured side under Flip in two ways; here it is an
    argument, and printed. ``neutrality_deviation`` equals its ``|2 p - 1| (1 - t)`` over the row total.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "probe": ["blind"] * 3 + ["truth"] * 3,
    ...                        "outcome": ["llm", "ml", "tie"] * 2, "n": [97, 63, 840, 680, 105, 215]})
    >>> result = anchoring(counts, favoured="llm")
    >>> result.loc[result["term"].isin(["shift_favoured", "lds", "ols", "ts", "lao"]),
    ...            ["probe", "term", "estimate"]].round(3)
        probe            term  estimate
    3   truth  shift_favoured     0.583
    6   truth             lds     0.583
    7   truth             ols     0.042
    8   truth              ts     0.000
    9   truth             lao     0.933
    """
    planned(interval, None, None, n_resamples, seed, conf_level)
    found = study(calls, by, cluster)
    plan = planned(interval, found.clusters, None, n_resamples, seed, conf_level)
    refuse_no_probe(found, blind, "blind")
    refuse_unnamed(found.table, blind, favoured)
    drawn = plan or Bootstrap("percentile", tuple(found.clusters), None, n_resamples, seed, conf_level)
    shifted = drawn if plan is not None or found.clusters else None
    options: dict[str, Any] = {"conf_level": conf_level, "bootstrap": plan}
    if plan is None and found.clusters:
        options["cluster"] = found.clusters[0]
    rows = _blind_rows(found, blind, options, drawn if shifted is not None else None)
    for a in answers(found, blind, favoured, favoured_label):
        rows += movement_rows(a, conf_level, shifted, drawn, found.clusters)
    rows += _tie_rows(found, rows, options) + _sensitivity_rows(found, blind, options)
    columns = [*found.groups, "probe"]
    if found.kind == "calls":
        rows = flag_forced(rows, found.table, columns, _TIE_TERMS)
    rows = _flag_stated(rows, found, blind, n_items)
    return estimates(rows, columns, ("favoured", "p_value")).assign(
        favoured=lambda t: t["favoured"].astype(object).where(t["favoured"].notna(), ""),
        p_value=lambda t: t["p_value"].astype(float),
    )


def movement_rows(
    a: Answers, conf_level: float, shifted: Bootstrap | None, drawn: Bootstrap, clusters: Sequence[str]
) -> _Rows:
    """Rows of one group under one labelled probe."""
    drawn, shifted = _of_two_samples(drawn, a), _of_two_samples(shifted, a)
    signed = {name: movements.shift_cells(a, i, conf_level, shifted) for i, name in enumerate(ROLES)}
    variation = movements.variation_cells(a, conf_level, _at_third(shifted), clusters)
    cells = {f"shift_{name}": c for name, c in signed.items()}
    cells |= {_GAINS[name]: movements.clipped(c) for name, c in signed.items()}
    cells["lao"] = movements.lao_cells(a, variation["p_value"], conf_level, drawn)
    cells["total_variation"] = variation
    cells["shift_nontie"] = movements.nontie_cells(a, conf_level, shifted)
    return [{**a.key, "favoured": a.favoured, "term": term, **c} for term, c in cells.items()]


def _of_two_samples(plan: Any, a: Answers) -> Any:
    """Draw each sample by itself where nothing says that they are of the same items."""
    if plan is None or plan.cluster or a.joint is not None:
        return plan
    return replace(plan, strata="side")


def _at_third(plan: Bootstrap | None) -> Bootstrap | None:
    """Return the same with Bonferroni's coverage for three intervals."""
    if plan is None:
        return None
    return replace(plan, conf_level=1 - (1 - plan.conf_level) / 3)


def _blind_rows(found: Study, blind: str, options: Mapping[str, Any], plan: Bootstrap | None) -> _Rows:
    table = found.margins(blind)
    columns = [*found.groups, "probe"]
    outcome = table["outcome"].astype(str).to_numpy(dtype=object)
    rows = rates(table, columns, "equality_detection", outcome == "tie", outcome != "invalid", **options)
    code = codes_of(table, columns)
    candidates = found.candidates_of(blind, found.groups)
    for g in range(code.size):
        here = table[code.code == g]
        key = {c: here[c].iloc[0] for c in columns}
        names = candidates[key_of(key[c] for c in found.groups)]
        signed = _neutrality(here, names, key, plan, options["conf_level"])
        signed["flag"] = flags(found.doubt, signed["flag"])
        low, high = movements.folded(signed.get("conf_low", math.nan), signed.get("conf_high", math.nan))
        folded = {**signed, "estimate": abs(signed["estimate"]), "conf_low": low, "conf_high": high}
        rows.append({**key, "term": "neutrality_deviation", **folded, "std_error": math.nan})
        rows.append({**key, "term": "neutrality", **signed})
    return rows


def _neutrality(
    here: pd.DataFrame, candidates: list[str], key: dict[str, Any], plan: Bootstrap | None, conf_level: float
) -> dict[str, Any]:
    """Share of one candidate minus that of the other among valid blind answers."""
    if len(candidates) > 2:
        return {"estimate": math.nan, "n": 0.0, "flag": movements.MANY}
    outcome = here["outcome"].astype(str).to_numpy(dtype=object)
    named = [*candidates, "", ""][:2]
    kinds = np.column_stack([outcome == named[0], outcome == named[1], outcome == "tie"])
    counts = kinds * here["n"].to_numpy(dtype=float)[:, None]
    one, two, tie = map(float, counts.sum(axis=0))
    n = one + two + tie
    invalid = float(here["n"].sum()) - n
    doubts = flags(
        f"{invalid:,.0f} invalid set aside" if invalid else "", NO_DATA if n == 0 else SMALL_N if n < 30 else ""
    )
    cells: dict[str, Any] = {"estimate": math.nan, "n": n, "flag": doubts, "favoured": named[0]}
    if n == 0:
        return cells
    cells["estimate"] = value = (one - two) / n
    if plan is not None:
        drawn = resampled(here, counts, movements.lean, plan, key)
        return {**cells, **drawn, "flag": flags(doubts, drawn["flag"])}
    low, high = newcombe_paired(0.0, one, two, tie, conf_level)
    spread = math.sqrt(max((one + two) / n - value**2, 0.0) / n)
    method = "Newcombe, two shares of one sample"
    return {**cells, "std_error": spread, "conf_low": low, "conf_high": high, "method": method}


def _tie_rows(found: Study, rows: _Rows, options: Mapping[str, Any]) -> _Rows:
    """Tie rates under each probe, and blind beside it; the side is that of the probe's other rows."""
    columns = [*found.groups, "probe"]
    side = {key_of(r[c] for c in columns): r["favoured"] for r in rows if r["term"] == "shift_favoured"}
    base = [r for r in rows if r["term"] == "equality_detection"]
    result: _Rows = []
    for probe in sorted({key[-1] for key in side}):
        table = _probe_margin(found, probe)
        outcome = table["outcome"].astype(str)
        result += rates(table, columns, "tie", outcome == "tie", ~outcome.isin(["invalid", "missing"]), **options)
        result += [{**r, "probe": probe, "term": "tie_blind"} for r in base]
    kept = [r for r in result if key_of(r[c] for c in columns) in side]
    return [{**r, "favoured": side[key_of(r[c] for c in columns)]} for r in kept]


def _probe_margin(found: Study, probe: str) -> pd.DataFrame:
    if found.kind != "joint":
        return found.margins(probe)
    here = found.table[found.table["probe"] == probe]
    here = here[here["outcome"].astype(str) != "missing"]
    result = here.assign(n=here["n"].astype(float))
    result.attrs[CLUSTERING] = found.note
    return result


def _sensitivity_rows(found: Study, blind: str, options: Mapping[str, Any]) -> _Rows:
    """Share of right answers under each probe, and blind beside it, where the right answer is known."""
    known = next((c for c in ("gold", "better") if c in found.table and found.table[c].notna().any()), None)
    if found.kind != "calls" or known is None:
        return []
    here = found.table.assign(gold=found.table[known].astype(object))
    here = here[here["gold"].notna() & (here["gold"].astype(str) != "")]
    columns = [*found.groups, "probe"]
    table = tally(nw.from_native(here), "gold_agreement", columns, cluster=found.clusters or False)
    table.attrs[CLUSTERING] = found.note
    outcome = table["outcome"].astype(str)
    rows = rates(table, columns, "sensitivity", outcome == "correct", outcome != "invalid", **options)
    labelled = [r for r in rows if r["probe"] != blind]
    base = {key_of(r[g] for g in found.groups): r for r in rows if r["probe"] == blind}
    beside = [
        {**base[key_of(r[g] for g in found.groups)], "probe": r["probe"], "term": "sensitivity_blind"}
        for r in labelled
        if key_of(r[g] for g in found.groups) in base
    ]
    return labelled + beside


def _flag_stated(rows: _Rows, found: Study, blind: str, n_items: float | None) -> _Rows:
    """Flag the rows of a probe whose answers do not add up to the stated number of items."""
    doubts = _unequal(found, blind, n_items)
    for row in rows:
        key = key_of(row[g] for g in found.groups)
        row["flag"] = flags(row.get("flag", ""), doubts.get((*key, blind)), doubts.get((*key, row["probe"])))
    return rows


def _unequal(found: Study, blind: str, n_items: float | None) -> dict[tuple[Any, ...], str]:
    if n_items is None and "items" not in found.table:
        return {}
    columns = [*found.groups, "probe"]
    table = found.table.assign(n=found.counts)
    if found.kind == "joint":
        table = table[table["outcome"].astype(str) != "missing"]
    stated = pd.to_numeric(table["items"] if n_items is None else n_items, errors="coerce")
    if np.isnan(np.asarray(stated, dtype=float)).any():
        raise SchemaError("'items' (or n_items=) is the stated number of items of a probe, and is missing or text.")
    sums = table.assign(_stated=stated).groupby(columns, dropna=False).agg(n=("n", "sum"), stated=("_stated", "max"))
    totals = {key_of(key): (float(n), float(said)) for key, n, said in sums.itertuples(name=None)}
    if found.kind == "joint":
        base = found.margins(blind).groupby(columns, dropna=False)["n"].sum()
        most = {key[:-1]: said for key, (_, said) in totals.items()}
        totals |= {key_of(k): (float(n), most[key_of(k)[:-1]]) for k, n in base.items()}
    return {key: f"{key[-1]}: {n:,.0f} counted, {said:,.0f} stated" for key, (n, said) in totals.items() if n != said}
