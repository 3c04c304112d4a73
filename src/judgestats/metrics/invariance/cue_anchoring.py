"""Anchoring: do verdicts follow a cue that is not evidence? :func:`anchoring`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import chdtri

from judgestats import flags, methods
from judgestats.counting.bootstrap import Bootstrap, Interval, planned
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts
from judgestats.counting.selection import gathered
from judgestats.counting.study import Study
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError
from judgestats.estimate import NOTHING, clustered_difference, difference
from judgestats.kernels.cluster_sums import sums_within
from judgestats.metrics.bias.design_flags import flag_forced
from judgestats.metrics.invariance.answer_shifts import (
    clipped,
    folded_interval,
    lao_cells,
    nontie_cells,
    shift_cells,
    signed_neutrality,
    variation_cells,
)
from judgestats.metrics.invariance.outcome_coding import ROLES, Favoured, key_of, refuse_unnamed
from judgestats.metrics.invariance.probe_answers import ProbeAnswers, ProbeCalls, answers, refuse_no_probe, study
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import control_of
from judgestats.results import estimates
from judgestats.schema.coding import codes_of, neither, yes_or_no
from judgestats.schema.columns import By, names
from judgestats.typing import Column, Record

#: Which items have equal candidates: a column, or a function of their two texts.
Equal = str | Callable[[str, str], bool]
_TEXTS = ("text_first", "text_second")
_TIE_TERMS = ("equality_detection", "tie", "tie_blind", "shift_tie", "ts")
_SHIFTS = ("shift_favoured", "shift_opposed", "shift_tie", "shift_nontie")
#: Terms that are not folded or clipped.
_SIGNED = ("equality_detection", "neutrality", *_SHIFTS, "tie", "tie_blind", "sensitivity", "sensitivity_blind")
_GAINS = {"favoured": "lds", "opposed": "ols", "tie": "ts"}


@Measure(
    "How does a cue shift verdicts: to the favoured side, to the other, to the tie?",
    "cues",
    "P, counts",
    "Wilson, Newcombe, by cluster Tango or t, clipped for positive parts; LAO: bootstrap",
    "rationalization, Sec IV.C",
    plot="anchoring, schemes",
    frames=("preferences",),
    needs=(control_of("probe"),),
    arguments=lambda _, options: {"baseline": options.baseline["probe"]},
    caption="Change of the shares of the favoured side, the opposed side and the tie under a label. A judge may seem "
    "robust because it ties more under the label.",
    table=("equality_detection", "neutrality", *_SHIFTS, "lds", "lao"),
    terms=(
        Term("equality_detection", "ties without labels"),
        Term("neutrality", "preference without labels", neutral=0.0),
        Term("neutrality_deviation", "preference without labels, absolute"),
        Term("shift_favoured", "shift to the favoured side", neutral=0.0),
        Term("shift_opposed", "shift to the other side", neutral=0.0),
        Term("shift_tie", "shift to the tie", neutral=0.0),
        Term("shift_nontie", "shift among answers that are not ties", neutral=0.0),
        Term("lds", "LDS: gain of the favoured side"),
        Term("ols", "OLS: gain of the other side"),
        Term("ts", "TS: gain of the tie"),
        Term("lao", "LAO: share of movement towards the label", form="share"),
        Term("total_variation"),
    ),
    have=("conditions",),
    assumes="Probes differ from the blind condition in the cue only, and were asked about the same items.",
)
def anchoring(
    calls: IntoFrame,
    *,
    baseline: str = "blind",
    favoured: Favoured | None = None,
    favoured_label: str | None = None,
    equal: Equal | None = None,
    seeds: str | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    interval: Interval = "wilson",
    n_items: float | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Shift of verdicts from blind to each probe, towards or away from the side that the cue favours.

    Parameters
    ----------
    calls : frame
        Preferences with a column ``probe``; each probe is compared with `baseline` in the same ``scheme``, if there is
        such a column. Or counts: a tally ``judge, probe, outcome, n``, the outcome being a candidate, ``tie`` or
        ``invalid``; or a tally of items, ``judge, probe, baseline, outcome, n`` from
        ``tally(frame, "revision", baseline=blind)``, which gives the same results as the frame.
    baseline : str
        The probe without a cue.
    favoured : str, mapping or callable, optional
        The candidate that the cue favours: one for all probes, ``{probe: candidate}``, or a function of the probe. By
        default a column ``favoured``; else, in a frame, the candidate with `favoured_label` in ``label_first`` or
        ``label_second`` under the probe, item by item. Counts need one of the first two.
    favoured_label : str, optional
        The label that the cue favours.
    equal : str or callable, optional
        Which items have equal candidates, for ``equality_detection``: a column of true and false, or a function of the
        two texts in ``text_first`` and ``text_second``. By default all items.
    seeds : str, optional
        Column that numbers repeated runs (``replicate``). Each rate and signed term then has a further row
        ``<term>_sd``: its standard deviation over the runs. (The positive parts and LAO of each run: ``by=seeds``.)
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str, two of them, or False
        Column that items share, by which intervals are clustered. ``"auto"`` detects it (``task``, say) and names it in
        ``method``. False treats all items as independent, with a flag where they are not. Two crossed columns need
        ``interval='percentile'``.
    interval : {'wilson', 'percentile', 'bca'}
        ``wilson``: Wilson's for rates and Newcombe's for changes, by cluster Tango's where each call has an answer
        under both probes, and else Student's t; else a bootstrap of items (of both samples for counts). ``lao`` has a
        bootstrap interval in any case.
    n_items : float, optional
        Stated number of items per probe, or a column ``items``. Answers with another sum are flagged.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge, scheme and probe, with the columns ``favoured`` (the side) and ``p_value``. Blind:
        ``equality_detection`` (share of ties), ``neutrality`` (share of the candidate named in ``favoured`` minus
        share of the other) and its absolute value ``neutrality_deviation``; where each item has candidates of its own,
        that of the candidate that ``truth``, or else another probe, favours. Under each other probe:

        - ``shift_favoured``, ``shift_opposed``, ``shift_tie``: changes of the three shares, which add up to 0;
        - ``lds``, ``ols``, ``ts``: their positive parts;
        - ``lao``: ``lds / (lds + ols + ts)``, NaN with ``no shift`` where that is 0/0 (no ε is added);
        - ``total_variation``: their sum, with the joint test of no shift;
        - ``shift_nontie`` (change of the favoured share among answers that are not ties), ``tie`` and ``tie_blind``,
          which reveal robustness by abstaining;
        - ``sensitivity`` and ``sensitivity_blind``, where the frame has ``gold`` or ``better``: share of right answers
          among the valid ones, a tie being wrong unless it is the gold.

        ``n`` of a change is the smaller of its two samples; of a standard deviation, the number of runs.

    Raises
    ------
    DesignError
        If there is no blind probe, the favoured side is not known, or counts mix several pairs of candidates.

    See Also
    --------
    protocol_difference : Anchoring under two schemes.
    revision : Verdicts changed after a reveal.
    judgestats.hierarchical.susceptibility : Bayesian shift under a cue.

    Notes
    -----
    Without `equal`, ``equality_detection`` is over all items, as is right where all have equal candidates. Invalid
    answers are excluded on their side of the comparison, and the flag counts them; items judged in one probe only count
    there.

    The interval of a positive part is that of its signed shift, clipped; where that would be [0, 0] it is NaN with a
    flag. The total variation of three changes that add up to 0 is the largest absolute change: its interval combines
    the three folded intervals, Bonferroni corrected. LAO is a ratio, unreliable for small movements, and is flagged
    where the joint test does not reject at ``1 - conf_level``. The joint test is Stuart and Maxwell's for paired items
    (classes without movement left out) and Pearson's χ² for counts.

    The standard deviation over runs is for these items, and includes the noise of each run; its interval is that of
    normal estimates, by χ². Rankings of more than two candidates are given as their pairs, with the favoured candidate
    of each item: its shift is then that of the share of others that it beats, which is its mean rank over their number.

    Source: rationalization paper, Section IV.C. It defines the favoured side under Flip in two ways; here it is an
    argument, and in the result. ``neutrality_deviation`` equals its ``|2 p - 1| (1 - t)`` over the row total.

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
    if seeds is not None:
        arguments: Record = {"favoured": favoured, "favoured_label": favoured_label, "equal": equal}
        arguments |= {"baseline": baseline, "cluster": cluster, "interval": interval, "n_items": n_items}
        arguments |= {"n_resamples": n_resamples, "seed": seed, "conf_level": conf_level}
        return _over_seeds(calls, seeds, names(by), arguments)
    planned(interval, None, None, n_resamples, seed, conf_level)
    text_columns = [equal] if isinstance(equal, str) else [] if equal is None else list(_TEXTS)
    probes = study(Study.rows_of(calls, gathered(calls, text_columns)) if text_columns else calls, by, cluster)
    plan = planned(interval, probes.clusters, None, n_resamples, seed, conf_level)
    refuse_no_probe(probes, baseline, "baseline")
    refuse_unnamed(probes.table, baseline, favoured)
    bootstrap = plan or Bootstrap("percentile", tuple(probes.clusters), None, n_resamples, seed, conf_level)
    rows = _blind_rows(probes, baseline, conf_level, plan)
    ties = [r for r in rows if r["term"] == "equality_detection"]
    if equal is not None:
        rows = _of_equals(probes, baseline, equal, conf_level, plan) + [r for r in rows if r not in ties]
    for a in answers(probes, baseline, favoured, favoured_label):
        rows += movement_rows(a, conf_level, plan, bootstrap, probes.clusters)
    rows += _tie_rows(probes, rows, ties, conf_level, plan) + _sensitivity_rows(probes, baseline, conf_level, plan)
    columns = [*probes.groups, "probe"]
    if probes.kind == "calls":
        rows = flag_forced(rows, probes.table, columns, _TIE_TERMS)
    unequal = _unequal(probes, baseline, n_items)
    for row in rows:
        key = key_of(row[g] for g in probes.groups)
        row["flag"] = flags.join(row.get("flag", ""), unequal.get((*key, baseline)), unequal.get((*key, row["probe"])))
    return estimates(rows, columns, ("favoured", "p_value")).assign(
        favoured=lambda t: t["favoured"].astype(object).where(t["favoured"].notna(), ""),
        p_value=lambda t: t["p_value"].astype(float),
    )


def movement_rows(
    a: ProbeAnswers, conf_level: float, plan: Bootstrap | None, bootstrap: Bootstrap, clusters: Sequence[str]
) -> list[Record]:
    """Rows of one group under one labelled probe; `bootstrap` for what has no other interval."""
    bootstrap, plan = _of_two_samples(bootstrap, a), _of_two_samples(plan, a)
    cluster = clusters[0] if clusters else None
    signed = {name: shift_cells(a, i, conf_level, plan, cluster) for i, name in enumerate(ROLES)}
    third = None if plan is None else replace(plan, conf_level=1 - (1 - plan.conf_level) / 3)  # Bonferroni
    variation = variation_cells(a, conf_level, third, clusters)
    cells = {f"shift_{name}": c for name, c in signed.items()}
    cells |= {_GAINS[name]: clipped(c) for name, c in signed.items()}
    cells["lao"] = lao_cells(a, variation["p_value"], conf_level, bootstrap)
    cells["total_variation"] = variation
    cells["shift_nontie"] = nontie_cells(a, conf_level, plan, cluster)
    return [{**a.key, "favoured": a.favoured, "term": term, **c} for term, c in cells.items()]


def _of_two_samples(plan: Any, a: ProbeAnswers) -> Any:
    """Draw the samples separately where they are not known to be of the same items."""
    if plan is None or plan.cluster or a.joint is not None:
        return plan
    return replace(plan, strata="side")


def _blind_rows(probes: ProbeCalls, blind: str, conf_level: float, plan: Bootstrap | None) -> list[Record]:
    """Rows of the blind probe."""
    table = probes.margins(blind)
    columns = [*probes.groups, "probe"]
    counts = probes.counts_of(table, plan, conf_level)
    rows = counts.rates("equality_detection", counts.among("outcome", "tie"), ~counts.among("outcome", "invalid"))
    by_role = _by_role(probes, blind)
    table = by_role.margins(blind)
    code = codes_of(table, columns)
    cluster = probes.clusters[0] if probes.clusters else None
    candidates = by_role.candidates_of(blind, probes.groups)
    for g in range(code.size):
        of_group = table[code.code == g]
        key = {c: of_group[c].iloc[0] for c in columns}
        names = candidates[key_of(key[c] for c in probes.groups)]
        signed = _neutrality(of_group, names, key, plan, conf_level, cluster)
        signed["flag"] = flags.join(probes.clustering.flag, signed["flag"])
        low, high = folded_interval(signed.get("conf_low", math.nan), signed.get("conf_high", math.nan))
        folded = {**signed, "estimate": abs(signed["estimate"]), "conf_low": low, "conf_high": high}
        rows.append({**key, "term": "neutrality_deviation", **folded, "std_error": math.nan})
        rows.append({**key, "term": "neutrality", **signed})
    return rows


def _by_role(probes: ProbeCalls, blind: str) -> ProbeCalls:
    """Blind calls on candidates with ids of their own in each item, named by the side that the labels favour there."""
    table = probes.table
    if probes.kind != "calls" or "favoured" not in table or len(probes.candidates) <= 2:
        return probes
    labelled = table[(table["probe"] != blind) & table["favoured"].notna()]
    chosen = labelled[
        labelled["probe"] == ("truth" if (labelled["probe"] == "truth").any() else labelled["probe"].min())
    ]
    ids = [table[c].astype(str) for c in ("first", "second")]
    pair = pd.MultiIndex.from_arrays([table["item"], np.minimum(*ids), np.maximum(*ids)])
    side = pd.Series(chosen["favoured"].astype(str).to_numpy(), pair[table.index.get_indexer(chosen.index)])
    side = side[~side.index.duplicated()].reindex(pair).to_numpy()
    if pd.isna(side[(table["probe"] == blind).to_numpy()]).any():
        return probes
    names = {c: np.where(one == side, "favoured", "other") for c, one in zip(("first", "second"), ids, strict=True)}
    return replace(probes, table=table.assign(**names)[table["probe"] == blind])


def _of_equals(probes: ProbeCalls, blind: str, equal: Equal, conf_level: float, plan: Bootstrap | None) -> list[Record]:
    """Ties without labels among the items whose candidates are equal; NaN for a group without such items."""
    table = probes.table
    needed = [equal] if isinstance(equal, str) else list(_TEXTS)
    if probes.kind != "calls":
        raise DesignError("equal= needs calls, and these are counts. Give the counts of items with equal candidates.")
    if absent := [c for c in needed if c not in table]:
        raise DesignError(f"equal= needs the column {absent[0]!r}. Columns: {', '.join(table.columns)}.")
    if isinstance(equal, str):
        if neither(table[equal]).any() or table[equal].isna().any():
            raise SchemaError(f"{equal!r} has a value that is neither true nor false. Write true or false in each row.")
        among = yes_or_no(table[equal]).to_numpy(dtype=bool)
    else:
        among = np.array([bool(equal(str(a), str(b))) for a, b in zip(*(table[c] for c in _TEXTS), strict=True)])
    part = replace(probes, table=table[among].reset_index(drop=True))
    columns = [*probes.groups, "probe"]
    rows: list[Record] = []
    if (part.table["probe"] == blind).any():
        counts = part.counts_of(part.margins(blind), plan, conf_level)
        rows = counts.rates("equality_detection", counts.among("outcome", "tie"), ~counts.among("outcome", "invalid"))
    measured = {key_of(r[c] for c in columns) for r in rows}
    groups = table.loc[table["probe"] == blind, columns].drop_duplicates().to_dict("records")
    missing = [{str(c): v for c, v in g.items()} for g in groups if key_of(g.values()) not in measured]
    empty = {"term": "equality_detection", "estimate": math.nan, "n": 0.0, "flag": flags.NO_DATA}
    return rows + [{**g, **empty} for g in missing]


def _over_seeds(calls: Any, seeds: str, by: list[str], options: Record) -> pd.DataFrame:
    """All runs together, and the standard deviation of each term over the runs."""
    result = anchoring(calls, by=by, **options)
    each = anchoring(calls, by=[*by, seeds], **options)
    columns = [c for c in each.columns[: list(each.columns).index("term")] if c != seeds]
    rows: list[Record] = []
    each = each[each["term"].isin(_SIGNED)]
    for key, runs in each.groupby([*columns, "term"], dropna=False, sort=False):
        labels = dict(zip([*columns, "term"], key, strict=True))
        rows.append({**labels, "term": f"{labels['term']}_sd", **_spread(runs["estimate"], options["conf_level"])})
    spread = estimates(rows, columns, ("favoured", "p_value")).assign(favoured="", p_value=math.nan)
    both = pd.concat([result, spread], ignore_index=True)
    return both.sort_values(columns, kind="stable", ignore_index=True)


def _spread(values: Column, conf_level: float) -> Record:
    """Standard deviation of estimates, with its interval for normal ones."""
    defined = values.dropna().to_numpy(dtype=float)
    k = defined.size
    if k < 2:
        return {"estimate": math.nan, "n": float(k), "flag": flags.SINGLE_RUN if k else flags.NO_DATA}
    sd = float(defined.std(ddof=1))
    cells: Record = {"estimate": sd, "n": float(k), "method": methods.CHI2.on(f"of {k} runs", " "), "flag": ""}
    if sd <= NOTHING:
        return {**cells, "estimate": 0.0, "method": methods.NONE, "flag": flags.NO_SPREAD}
    low, high = (sd * math.sqrt((k - 1) / chdtri(k - 1, q)) for q in ((1 - conf_level) / 2, (1 + conf_level) / 2))
    return {**cells, "conf_low": low, "conf_high": high}


def _neutrality(
    table: pd.DataFrame,
    candidates: list[str],
    key: Record,
    plan: Bootstrap | None,
    conf_level: float,
    cluster: str | None,
) -> Record:
    """Share of one candidate minus that of the other among valid blind answers."""
    if len(candidates) > 2:
        return {"estimate": math.nan, "n": 0.0, "flag": flags.MANY_CANDIDATES}
    outcome = table["outcome"].astype(str).to_numpy(dtype=object)
    pair = [*candidates, "", ""][:2]
    kinds = np.column_stack([outcome == pair[0], outcome == pair[1], outcome == "tie"])
    counts = kinds * table["n"].to_numpy(dtype=float)[:, None]
    one, two, tie = map(float, counts.sum(axis=0))
    n = one + two + tie
    invalid = float(table["n"].sum()) - n
    flag = flags.join(flags.INVALID_EXCLUDED.of(invalid), flags.NO_DATA if n == 0 else flags.SMALL_N if n < 30 else "")
    cells: Record = {"estimate": math.nan, "n": n, "flag": flag, "favoured": pair[0]}
    if n == 0:
        return cells
    cells["estimate"] = (one - two) / n
    if plan is not None:
        ends = Counts.of(table).resampled(counts, signed_neutrality, key, plan=plan)
        return {**cells, **ends, "flag": flags.join(flag, ends["flag"])}
    if cluster is not None:
        unit = codes_of(table, [cluster])
        sums = sums_within(counts, unit.code, unit.size)
        few = flags.few_clusters(sums.sum(axis=1))
        estimate = clustered_difference(sums, conf_level, column=cluster)
        return {**cells, **estimate.interval, "flag": flags.join(flag, few)}
    return {**cells, **difference(np.array([one, two, tie]), conf_level).interval, "flag": flag}


def _tie_rows(
    probes: ProbeCalls, rows: list[Record], base: list[Record], conf_level: float, plan: Bootstrap | None
) -> list[Record]:
    """Tie rates under each probe and blind; the side is that of the probe's other rows."""
    columns = [*probes.groups, "probe"]
    side = {key_of(r[c] for c in columns): r["favoured"] for r in rows if r["term"] == "shift_favoured"}
    result: list[Record] = []
    for probe in sorted({key[-1] for key in side}):
        if probes.kind == "joint":
            joint = probes.table[(probes.table["probe"] == probe) & (probes.table["outcome"].astype(str) != "missing")]
            table = joint.assign(n=joint["n"].astype(float))
        else:
            table = probes.margins(probe)
        counts = probes.counts_of(table, plan, conf_level)
        result += counts.rates("tie", counts.among("outcome", "tie"), ~counts.among("outcome", "invalid", "missing"))
        result += [{**r, "probe": probe, "term": "tie_blind"} for r in base]
    directed = [r for r in result if key_of(r[c] for c in columns) in side]
    return [{**r, "favoured": side[key_of(r[c] for c in columns)]} for r in directed]


def _sensitivity_rows(probes: ProbeCalls, blind: str, conf_level: float, plan: Bootstrap | None) -> list[Record]:
    """Share of right answers under each probe and blind, if the right answer is known."""
    gold_column = next((c for c in ("gold", "better") if c in probes.table and probes.table[c].notna().any()), None)
    if probes.kind != "calls" or gold_column is None:
        return []
    judged = probes.table.assign(gold=probes.table[gold_column].astype(object))
    judged = judged[judged["gold"].notna() & (judged["gold"].astype(str) != "")]
    columns = [*probes.groups, "probe"]
    table = count(judged, "gold_agreement", columns, cluster=probes.clusters or False).table
    counts = probes.counts_of(table, plan, conf_level)
    rows = counts.rates("sensitivity", counts.among("outcome", "correct"), ~counts.among("outcome", "invalid"))
    labelled = [r for r in rows if r["probe"] != blind]
    base = {key_of(r[g] for g in probes.groups): r for r in rows if r["probe"] == blind}
    blind_rows = [
        {**base[key_of(r[g] for g in probes.groups)], "probe": r["probe"], "term": "sensitivity_blind"}
        for r in labelled
        if key_of(r[g] for g in probes.groups) in base
    ]
    return labelled + blind_rows


def _unequal(probes: ProbeCalls, blind: str, n_items: float | None) -> dict[tuple[Any, ...], str]:
    """Flags of probes whose answers do not add up to the stated number of items."""
    if n_items is None and "items" not in probes.table:
        return {}
    columns = [*probes.groups, "probe"]
    table = probes.table.assign(n=probes.counts)
    if probes.kind == "joint":
        table = table[table["outcome"].astype(str) != "missing"]
    stated = pd.to_numeric(table["items"] if n_items is None else n_items, errors="coerce")
    if np.isnan(np.asarray(stated, dtype=float)).any():
        raise SchemaError("'items' (or n_items=) is the stated number of items of a probe, and is missing or text.")
    sums = table.assign(_stated=stated).groupby(columns, dropna=False).agg(n=("n", "sum"), stated=("_stated", "max"))
    totals = {key_of(key): (float(n), float(total)) for key, n, total in sums.itertuples(name=None)}
    if probes.kind == "joint":
        base = probes.margins(blind).groupby(columns, dropna=False)["n"].sum()
        most = {key[:-1]: total for key, (_, total) in totals.items()}
        totals |= {key_of(k): (float(n), most[key_of(k)[:-1]]) for k, n in base.items()}
    return {
        key: flags.in_part(str(key[-1]), flags.COUNTED_AND_STATED.of(counted=f"{n:,.0f}", stated=f"{total:,.0f}"))
        for key, (n, total) in totals.items()
        if n != total
    }
