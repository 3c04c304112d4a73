"""Is one judging protocol less anchored than another? :func:`protocol_difference`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap, ratio
from judgestats.counting.clusters import Clusters
from judgestats.counting.counts import Counts
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose, suggestion
from judgestats.metrics.invariance import answer_shifts
from judgestats.metrics.invariance.outcome_coding import VARIES, Favoured, key_of, refuse_unnamed, role
from judgestats.metrics.invariance.probe_answers import ProbeCalls, answers, refuse_no_probe, study
from judgestats.metrics.measure_registry import Measure
from judgestats.results import estimates
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By
from judgestats.typing import Floats, Record
from judgestats.wording import Method

Statistic = Callable[[Floats], Floats]


def _tie(totals: Floats) -> Floats:
    """Tie rate of the last three counts."""
    return ratio(np.column_stack([totals[:, -1], totals[:, -3:].sum(axis=1)]))


def _column(statistic: Statistic, i: int) -> Statistic:
    return lambda t: statistic(t)[:, i]


_SHIFTS = tuple(_column(answer_shifts.shifts, i) for i in range(3))
_BLIND: Mapping[str, Statistic] = {
    "equality_detection": _tie,
    "neutrality_deviation": lambda t: np.abs(answer_shifts.signed_neutrality(t)),
    "neutrality": answer_shifts.signed_neutrality,
}
_PROBE: Mapping[str, Statistic] = {
    **dict(zip(("shift_favoured", "shift_opposed", "shift_tie"), _SHIFTS, strict=True)),
    **{t: _column(answer_shifts.gains, i) for i, t in enumerate(("lds", "ols", "ts"))},
    "lao": answer_shifts.lao,
    "total_variation": answer_shifts.total_variation,
    "shift_nontie": answer_shifts.nontie_shift,
    "tie": _tie,
}
#: Signed quantities of each quantity that is clipped at 0 or folded, and the transformation of their intervals.
_NOT_SMOOTH: Mapping[str, tuple[Sequence[Statistic], Callable[[float, float], tuple[float, float]]]] = {
    "neutrality_deviation": ((answer_shifts.signed_neutrality,), answer_shifts.folded_interval),
    **{t: ((shift,), answer_shifts.clipped_ends) for t, shift in zip(("lds", "ols", "ts"), _SHIFTS, strict=True)},
    "total_variation": (_SHIFTS, answer_shifts.folded_interval),
}


@Measure(
    "Does one protocol anchor less than another?",
    "cues",
    "P, counts",
    "bootstrap, paired where items are known",
    "rationalization, Sec V.D to V.F",
    plot="forest",
    have=("conditions",),
    assumes="The schemes were asked about the same items where items are known, else about independent samples.",
)
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
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.

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
    probes = study(calls, by, False)
    _refuse_unknown((scheme, reference), probes)
    refuse_no_probe(probes, baseline, "baseline")
    refuse_unnamed(probes.table, baseline, favoured)
    method: Any = interval
    units: tuple[tuple[str, ...], str | None] = (("item",), None) if probes.kind == "calls" else ((), "_arm")
    plan = Bootstrap(method, *units, n_resamples, seed, conf_level)
    rows = list(_blind_differences(probes, scheme, reference, baseline, plan))
    rows += _probe_differences(probes, scheme, reference, (baseline, favoured, favoured_label), plan)
    columns = [*(g for g in probes.groups if g != "scheme"), "probe"]
    return estimates(rows, columns, ("favoured",))


def _refuse_unknown(schemes: tuple[str, str], probes: ProbeCalls) -> None:
    levels = sorted(probes.table["scheme"].unique())
    if schemes[0] == schemes[1]:
        raise DesignError(f"scheme= and reference= are both {schemes[0]!r}. Give two schemes.")
    for name, value in zip(("scheme", "reference"), schemes, strict=True):
        if value not in levels:
            raise DesignError(
                f"{name}={value!r} is not in 'scheme'. It has: {', '.join(filter(None, levels)) or 'nothing'}."
                + suggestion(value, levels)
            )


def _blind_differences(probes: ProbeCalls, one: str, two: str, blind: str, plan: Bootstrap) -> Iterator[Record]:
    """Differences of the blind quantities."""
    by_item = Clusters(
        ("item",) if probes.kind == "calls" else (), probes.clustering.shared, auto=probes.clustering.auto
    )
    table = replace(probes, clustering=by_item).margins(blind)
    table = table.assign(_arm=table["scheme"], outcome=table["outcome"].astype(str))
    dependent = by_item.flag
    split = [g for g in probes.groups if g != "scheme"]
    candidates = probes.candidates_of(blind, probes.groups)
    groups = codes_of(table, split)
    for g in range(groups.size):
        of_group = table[groups.code == g]
        arms = [of_group[of_group["scheme"] == s] for s in (one, two)]
        if any(a.empty for a in arms):
            continue
        names = sorted({c for a in arms for c in candidates[key_of(a[g].iloc[0] for g in probes.groups)]})
        key = {c: of_group[c].iloc[0] for c in split} | {"probe": blind}
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


def _probe_differences(
    probes: ProbeCalls, one: str, two: str, options: tuple[str, Favoured | None, str | None], plan: Bootstrap
) -> Iterator[Record]:
    """Differences of the quantities of labelled probes."""
    clusters = ["item"] if probes.kind == "calls" else []
    arms: dict[tuple[object, ...], Record] = {}
    for a in answers(probes, *options, clusters=clusters):
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
        small = [answer_shifts.joint_test(x)[0] > 1 - plan.conf_level for x, _ in arms_of_scheme]
        of_lao = flags.join(
            *(flags.in_part(s, flags.NOT_SIGNIFICANT) for s, no in zip((one, two), small, strict=True) if no)
        )
        yield from _differences(sides, _PROBE, plan, shared, side, common, of_lao)


def _differences(
    sides: list[tuple[pd.DataFrame, Floats]],
    statistics: Mapping[str, Statistic],
    plan: Bootstrap,
    key: Record,
    favoured: str,
    common: str,
    of_lao: str = "",
) -> Iterator[Record]:
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
        ends = Counts.of(table).resampled(counts, difference, key, plan=plan)
        way = plan.way if plan.cluster else plan.way.drawing("independent samples")
        ends["method"] = way
        if term in _NOT_SMOOTH:
            ends |= _near_border(term, [(table, counts[:, :width]), (table, counts[:, width:])], plan, key, way)
        yield {**row, **ends, "flag": flags.join(common, of_lao if term == "lao" else "", ends["flag"])}


def _near_border(
    term: str, arms: list[tuple[pd.DataFrame, Floats]], plan: Bootstrap, key: Record, way: Method
) -> Record:
    """Interval of a difference of clipped or folded quantities near their border, from those of both arms (Bonferroni).

    Empty if the signed quantities of both arms are significant: the bootstrap of the difference is then valid.
    """
    signed, transform = _NOT_SMOOTH[term]
    level = 1 - (1 - plan.conf_level) / (2 * len(signed))
    wide = replace(plan, conf_level=level)
    ends, near, flag = [], False, ""
    for table, counts in arms:
        total, transformed = counts.sum(axis=0)[None, :], []
        for statistic in signed:
            cells = Counts.of(table).resampled(counts, statistic, key, plan=wide)
            low, high = cells["conf_low"], cells["conf_high"]
            if math.isnan(low):  # no resample changes it
                low = high = float(statistic(total)[0])
            flag = flags.join(flag, cells["flag"])
            near |= low <= 0 <= high and low < high
            transformed.append(transform(low, high))
        ends.append(np.max(transformed, axis=0))
    if not near:
        return {}
    (low_1, high_1), (low_2, high_2) = ends
    ends_known = {"conf_low": float(low_1 - high_2), "conf_high": float(high_1 - low_2)}
    if not ends_known["conf_low"] < ends_known["conf_high"]:
        return {}
    kind = "folded" if transform is answer_shifts.folded_interval else "clipped"
    return {
        "std_error": math.nan,
        **ends_known,
        "method": way.noting(f"Bonferroni of two {kind} intervals"),
        "flag": flag,
    }
