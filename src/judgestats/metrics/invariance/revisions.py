"""Differences between judging protocols, and revision of verdicts: :func:`protocol_difference`, :func:`revision`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap, Interval, planned, ratio
from judgestats.counting.clustering import Cluster
from judgestats.counting.clusters import Clusters
from judgestats.counting.counts import Counts
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose, suggestion
from judgestats.kernels.proportions import newcombe_paired
from judgestats.metrics.invariance import outcomes
from judgestats.metrics.invariance.outcome_coding import (
    VARIES,
    Favoured,
    ProbeCalls,
    answers,
    key_of,
    one_side,
    paired,
    refuse_no_probe,
    refuse_unnamed,
    role,
    study,
    without_side,
)
from judgestats.metrics.measure_registry import Measure
from judgestats.results import estimates
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By
from judgestats.typing import Floats, Mask

# ---- Is one judging protocol less anchored than another? -------------------------------------------------------------

Statistic = Callable[[Floats], Floats]


def _tie(totals: Floats) -> Floats:
    """Tie rate of the last three counts."""
    return ratio(np.column_stack([totals[:, -1], totals[:, -3:].sum(axis=1)]))


def _column(statistic: Statistic, i: int) -> Statistic:
    return lambda t: statistic(t)[:, i]


_SHIFTS = tuple(_column(outcomes.shifts, i) for i in range(3))


_BLIND: Mapping[str, Statistic] = {
    "equality_detection": _tie,
    "neutrality_deviation": lambda t: np.abs(outcomes.signed_neutrality(t)),
    "neutrality": outcomes.signed_neutrality,
}
_PROBE: Mapping[str, Statistic] = {
    **dict(zip(("shift_favoured", "shift_opposed", "shift_tie"), _SHIFTS, strict=True)),
    **{t: _column(outcomes.gains, i) for i, t in enumerate(("lds", "ols", "ts"))},
    "lao": outcomes.lao,
    "total_variation": outcomes.total_variation,
    "shift_nontie": outcomes.nontie_shift,
    "tie": _tie,
}


#: Signed quantities of each quantity that is clipped at 0 or folded, and the transformation of their intervals.
_NOT_SMOOTH: Mapping[str, tuple[Sequence[Statistic], Callable[[float, float], tuple[float, float]]]] = {
    "neutrality_deviation": ((outcomes.signed_neutrality,), outcomes.folded_interval),
    **{t: ((shift,), outcomes.clipped_ends) for t, shift in zip(("lds", "ols", "ts"), _SHIFTS, strict=True)},
    "total_variation": (_SHIFTS, outcomes.folded_interval),
}


@Measure(
    "Does one protocol anchor less than another?", "cues", "P, counts", "bootstrap, paired where items are known",
    "rationalization, Sec V.D to V.F", plot="forest",
    have=("conditions",),
    assumes="The schemes were asked about the same items where items are known, else about independent samples.",
)  # fmt: skip
def protocol_difference(
    calls: IntoFrame,
    *,
    scheme: str = "PBP",
    reference: str = "Baseline",
    baseline: str = "blind",
    favoured: Favoured | None = None,
    favoured_label: str | None = None,
    by: By = (),
    interval: str = "percentile",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Difference of each quantity of :func:`anchoring` between two schemes.

    Parameters
    ----------
    calls : frame
        As for :func:`anchoring`, with a column ``scheme``.
    scheme, reference : str
        Values of ``scheme``.
    baseline, favoured, favoured_label, by
        As for :func:`anchoring`.
    interval : {'percentile', 'bca'}
        Bootstrap interval.
    n_resamples, seed, conf_level
        Of the bootstrap, and coverage.

    Returns
    -------
    pandas.DataFrame
        Per judge and probe the terms of :func:`anchoring` (except ``tie_blind`` and ``sensitivity``), each as
        `scheme` minus `reference`: with negative ``lds`` `scheme` shifts less to the favoured side. ``n`` is the size
        of the smallest sample, ``favoured`` the side.

    Raises
    ------
    DesignError
        If there is no such scheme or probe.

    See Also
    --------
    anchoring : Shift of verdicts by a cue.
    rationale_shift : Change of explanations of the same verdict.

    Notes
    -----
    From calls the bootstrap draws items, with their answers under both schemes and both probes, so that the interval is
    paired. Counts give independent samples, as ``method`` states. Where a clipped or folded quantity (``lds``,
    ``total_variation``, ``neutrality_deviation``, ...) is near its border under either scheme, so that its signed
    quantity is not significant, a bootstrap of the difference is too narrow: the interval then combines those of the
    signed quantities of both schemes, clipped or folded, Bonferroni corrected. A difference that no resample changes
    has no interval. ``lao`` is flagged where the movement under a scheme is not significant.

    Source: rationalization paper, Section V.D to V.F, which compares the schemes without intervals.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "scheme": ["Baseline"] * 4 + ["PBP"] * 6,
    ...                        "probe": ["blind"] * 2 + ["truth"] * 2 + ["blind"] * 3 + ["truth"] * 3,
    ...                        "outcome": ["llm", "ml"] * 2 + ["llm", "ml", "tie"] * 2,
    ...                        "n": [470, 530, 860, 140, 37, 39, 924, 42, 38, 920]})
    >>> result = protocol_difference(counts, favoured="llm")
    >>> result.loc[result["term"] == "lds", ["probe", "estimate", "conf_low", "conf_high"]].round(3)
       probe  estimate  conf_low  conf_high
    6  truth    -0.385    -0.432     -0.324
    """
    choose(interval, ("percentile", "bca"), "interval")
    found = study(calls, by, False)
    _refuse_unknown((scheme, reference), found)
    refuse_no_probe(found, baseline, "baseline")
    refuse_unnamed(found.table, baseline, favoured)
    method: Any = interval
    drawn: tuple[tuple[str, ...], str | None] = (("item",), None) if found.kind == "calls" else ((), "_arm")
    plan = Bootstrap(method, *drawn, n_resamples, seed, conf_level)
    rows = list(_blind_rows(found, scheme, reference, baseline, plan))
    rows += _probe_rows(found, scheme, reference, (baseline, favoured, favoured_label), plan)
    columns = [*(g for g in found.groups if g != "scheme"), "probe"]
    return estimates(rows, columns, ("favoured",))


def _refuse_unknown(schemes: tuple[str, str], found: ProbeCalls) -> None:
    known = sorted(found.table["scheme"].unique())
    if schemes[0] == schemes[1]:
        raise DesignError(f"scheme= and reference= are both {schemes[0]!r}. Give two schemes.")
    for name, value in zip(("scheme", "reference"), schemes, strict=True):
        if value not in known:
            raise DesignError(
                f"{name}={value!r} is not in 'scheme'. It has: {', '.join(filter(None, known)) or 'nothing'}."
                + suggestion(value, known)
            )


def _blind_rows(found: ProbeCalls, one: str, two: str, blind: str, plan: Bootstrap) -> Iterator[dict[str, Any]]:
    """Differences of the blind quantities."""
    by_item = Clusters(("item",) if found.kind == "calls" else (), found.clustering.shared, auto=found.clustering.auto)
    table = replace(found, clustering=by_item).margins(blind)
    table = table.assign(_arm=table["scheme"], outcome=table["outcome"].astype(str))
    dependent = by_item.flag
    split = [g for g in found.groups if g != "scheme"]
    candidates = found.candidates_of(blind, found.groups)
    groups = codes_of(table, split)
    for g in range(groups.size):
        here = table[groups.code == g]
        arms = [here[here["scheme"] == s] for s in (one, two)]
        if any(a.empty for a in arms):
            continue
        names = sorted({c for a in arms for c in candidates[key_of(a[g].iloc[0] for g in found.groups)]})
        key = {c: here[c].iloc[0] for c in split} | {"probe": blind}
        invalid = [flags.INVALID_EXCLUDED.of(float(a["n"][a["outcome"] == "invalid"].sum())) for a in arms]
        common = flags.join(dependent, *(flags.in_part(s, n) for s, n in zip((one, two), invalid, strict=True)))
        statistics = _BLIND if len(names) <= 2 else {"equality_detection": _tie}
        side = names[0] if names else ""
        codes = [role(a["outcome"], side) for a in arms]
        counts = [
            np.column_stack([code == i for i in range(3)]) * a["n"].to_numpy(dtype=float)[:, None]
            for a, code in zip(arms, codes, strict=True)
        ]
        sides = list(zip(arms, counts, strict=True))
        yield from _differences(sides, statistics, plan, key, side if len(names) <= 2 else "", common)
        for term in sorted(_BLIND.keys() - statistics.keys()):
            flag = flags.join(common, flags.MANY_CANDIDATES)
            yield {**key, "term": term, "estimate": math.nan, "n": 0.0, "favoured": "", "flag": flag}


def _probe_rows(
    found: ProbeCalls, one: str, two: str, options: tuple[str, Favoured | None, str | None], plan: Bootstrap
) -> Iterator[dict[str, Any]]:
    """Differences of the quantities of labelled probes."""
    clusters = ["item"] if found.kind == "calls" else []
    arms: dict[tuple[Any, ...], dict[str, Any]] = {}
    for a in answers(found, *options, clusters=clusters):
        key = tuple(v for k, v in a.key.items() if k != "scheme")
        arms.setdefault(key, {})[a.key["scheme"]] = a
    for pair in arms.values():
        if not {one, two} <= set(pair):
            continue
        first, second = pair[one], pair[two]
        arms_of_scheme = ((first, one), (second, two))
        # samples: the schemes, and the probes if they are not of the same items
        sides = [(x.table.assign(_arm=s + "/" + x.table.get("side", "")), x.counts) for x, s in arms_of_scheme]
        shared = {k: v for k, v in first.key.items() if k != "scheme"}
        side = first.favoured if first.favoured == second.favoured else VARIES
        common = flags.join(*(flags.in_part(s, x.flag) for x, s in arms_of_scheme))
        small = [outcomes.joint_test(x)[0] > 1 - plan.conf_level for x, _ in arms_of_scheme]
        of_lao = flags.join(
            *(flags.in_part(s, flags.NOT_SIGNIFICANT) for s, no in zip((one, two), small, strict=True) if no)
        )
        yield from _differences(sides, _PROBE, plan, shared, side, common, of_lao)


def _differences(
    sides: list[tuple[pd.DataFrame, Floats]],
    statistics: Mapping[str, Statistic],
    plan: Bootstrap,
    key: dict[str, Any],
    favoured: str,
    common: str,
    of_lao: str = "",
) -> Iterator[dict[str, Any]]:
    """Rows of the differences of statistics between two sides; `common` and `of_lao` are flags."""
    (table_1, counts_1), (table_2, counts_2) = sides
    width = counts_1.shape[1]
    table = pd.concat([table_1, table_2], ignore_index=True)
    counts = np.zeros((len(table), 2 * width))
    counts[: len(table_1), :width], counts[len(table_1) :, width:] = counts_1, counts_2
    n = float(counts.sum(axis=0).reshape(-1, 3).sum(axis=1).min())
    common = flags.join(common, flags.NO_DATA if n == 0 else flags.SMALL_N if n < 30 else "")
    for term, statistic in statistics.items():

        def difference(totals: Floats, statistic: Statistic = statistic) -> Floats:
            return statistic(totals[:, :width]) - statistic(totals[:, width:])

        value = float(difference(counts.sum(axis=0)[None, :])[0])
        row = {**key, "term": term, "estimate": value, "n": n, "favoured": favoured, "flag": common}
        if math.isnan(value):
            missing = flags.NO_MOVEMENT if term == "lao" and n else ""
            yield {**row, "flag": flags.join(common, missing)}
            continue
        drawn = Counts.of(table).resampled(counts, difference, key, plan=plan)
        words = plan.words if plan.cluster else plan.words.replace("calls within _arm", "independent samples")
        drawn["method"] = words
        if term in _NOT_SMOOTH:
            drawn |= _near_border(term, [(table, counts[:, :width]), (table, counts[:, width:])], plan, key, words)
        yield {**row, **drawn, "flag": flags.join(common, of_lao if term == "lao" else "", drawn["flag"])}


def _near_border(
    term: str, arms: list[tuple[pd.DataFrame, Floats]], plan: Bootstrap, key: dict[str, Any], words: str
) -> dict[str, Any]:
    """Interval of a difference of clipped or folded quantities near their border, from those of both arms (Bonferroni).

    Empty if the signed quantities of both arms are significant: the bootstrap of the difference is then valid.
    """
    signed, transform = _NOT_SMOOTH[term]
    level = 1 - (1 - plan.conf_level) / (2 * len(signed))
    wide = replace(plan, conf_level=level)
    ends, near, flag = [], False, ""
    for table, counts in arms:
        total, found = counts.sum(axis=0)[None, :], []
        for statistic in signed:
            cells = Counts.of(table).resampled(counts, statistic, key, plan=wide)
            low, high = cells["conf_low"], cells["conf_high"]
            if math.isnan(low):  # no resample changes it
                low = high = float(statistic(total)[0])
            flag = flags.join(flag, cells["flag"])
            near |= low <= 0 <= high and low < high
            found.append(transform(low, high))
        ends.append(np.max(found, axis=0))
    if not near:
        return {}
    (low_1, high_1), (low_2, high_2) = ends
    ends_known = {"conf_low": float(low_1 - high_2), "conf_high": float(high_1 - low_2)}
    if not ends_known["conf_low"] < ends_known["conf_high"]:
        return {}
    kind = "folded" if transform is outcomes.folded_interval else "clipped"
    return {"std_error": math.nan, **ends_known, "method": f"{words}, Bonferroni of two {kind} intervals", "flag": flag}


# ---- Does a judge change its verdict after the true labels are shown? ------------------------------------------------

_NO_ANSWER = ("invalid", "missing")
#: Rank of each role from the opposed to the favoured side.
_RANK = np.array([1, -1, 0, 0])
_Rows = list[dict[str, Any]]


@Measure(
    "Does the judge revise when the truth is shown, and in which direction?", "cues", "P, counts",
    "Wilson; net: Newcombe; bootstrap", "rationalization, Sec V.F", plot="revision", frames=("preferences",),
    caption="Share of items whose verdict changed after the truth was shown, by direction.",
    have=("conditions",),
    assumes="The probes were asked about the same items, which are independent of each other.",
)  # fmt: skip
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
        Column that items share, by which the interval is clustered. ``"auto"`` detects it and names it in ``method``.
        Two crossed columns need ``interval='percentile'``. False treats all items as independent, with a flag where
        they are not.
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
    found = study(calls, by, cluster, "revision")
    plan = planned(interval, found.clusters, None, n_resamples, seed, conf_level)
    refuse_no_probe(found, after, "after", always=True)
    if found.kind == "calls":
        refuse_no_probe(found, before, "before")
    kept = found.table["probe"].isin([before, after] if found.kind == "calls" else [after])
    found = replace(found, table=found.table[kept])
    columns = [*found.groups, "probe"]
    table = count(found.table, "revision", columns, cluster=found.clusters or False, baseline=before).table
    answers = table[["baseline", "outcome"]].astype(str)
    valid = ~answers.isin(_NO_ANSWER).any(axis=1)
    counts = found.counts_of(table, plan, conf_level)
    rows = counts.rates("revision", answers["baseline"] != answers["outcome"], valid)
    labelled = favoured_label is not None and "label_first" in found.table
    if favoured is not None or "favoured" in found.table or labelled:
        drawn = plan
        if drawn is None and found.clusters:
            drawn = Bootstrap("percentile", tuple(found.clusters), None, n_resamples, seed, conf_level)
        rows += _directed(found, before, favoured, favoured_label, conf_level, plan, drawn)
    lost = table.assign(n=table["n"] * ~valid).groupby(columns, dropna=False)["n"].sum()
    dropped = {key_of(key): float(n) for key, n in lost.items()}
    for row in rows:
        n = dropped[key_of(row[c] for c in columns)]
        row["flag"] = flags.join(row["flag"], flags.EXCLUDED.of(n, what="item(s) not valid in both"))
    return estimates(rows, columns, ("favoured",)).assign(
        favoured=lambda t: t["favoured"].astype(object).where(t["favoured"].notna(), "")
    )


def _directed(
    found: ProbeCalls,
    before: str,
    favoured: Favoured | None,
    label: str | None,
    conf_level: float,
    plan: Bootstrap | None,
    drawn: Bootstrap | None,
) -> _Rows:
    """Rows of ``towards``, ``away`` and ``net``."""
    pairs = paired(found, before, favoured, label, found.clusters)
    columns = [*found.groups, "probe"]
    pairs = pairs.assign(n=pairs["n"].astype(float), _side=pairs["_side"].astype(object))
    base, after = (pairs[c].to_numpy(dtype=int) for c in ("_baseline", "_outcome"))
    valid = (base >= 0) & (after >= 0)
    step = _RANK[after] - _RANK[base]
    counts = found.counts_of(pairs, plan, conf_level)
    rows = counts.rates("towards", step > 0, valid)
    rows += counts.rates("away", step < 0, valid)
    rows += _net(found, pairs, np.sign(step) * valid, valid, conf_level, drawn)
    named = pairs.groupby(columns, dropna=False)["_side"]
    sides = {key_of(key): one_side(side) for key, side in named}
    sideless = pairs.assign(n=pairs["n"].where(~pairs["_known"], 0.0)).groupby(columns, dropna=False)["n"].sum()
    without = {key_of(key): without_side(n) for key, n in sideless.items()}
    for row in rows:
        key = key_of(row[c] for c in columns)
        row |= {"favoured": sides[key], "flag": flags.join(row["flag"], without[key])}
    return rows


def _net(
    found: ProbeCalls,
    pairs: pd.DataFrame,
    sign: NDArray[Any],
    valid: Mask,
    conf_level: float,
    plan: Bootstrap | None,
) -> _Rows:
    """Rows of ``net``; n and the flag of a small sample are those of any rate of these items."""
    columns = [*found.groups, "probe"]
    calls = Clusters(items=found.clustering.items) if found.clusters else found.clustering
    rows = Counts.of(pairs, columns, calls, conf_level=conf_level).rates("net", sign > 0, valid)
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
            drawn = Counts.of(pairs[here]).resampled(counts, ratio, key, plan=plan)
            row.update({**drawn, "flag": flags.join(row["flag"], drawn["flag"])})
    return rows
