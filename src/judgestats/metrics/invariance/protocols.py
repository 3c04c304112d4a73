"""Is one judging protocol less anchored than another?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, choose, suggestion
from judgestats.metrics.invariance import movements
from judgestats.metrics.invariance.roles import Answers, Study, answers, refuse_no_probe, study
from judgestats.metrics.invariance.sides import VARIES, Favoured, key_of, refuse_unnamed, role
from judgestats.metrics.resampled import Bootstrap, ratio, resampled
from judgestats.results import NO_DATA, SMALL_N, estimates, flags
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]


def _tie(totals: Floats) -> Floats:
    """Tie rate of the last three counts."""
    return ratio(np.column_stack([totals[:, -1], totals[:, -3:].sum(axis=1)]))


def _shift(i: int) -> Statistic:
    return lambda t: movements.shifts(t)[:, i]


def _gain(i: int) -> Statistic:
    return lambda t: movements.gains(t)[:, i]


_BLIND: Mapping[str, Statistic] = {
    "equality_detection": _tie,
    "neutrality_deviation": lambda t: np.abs(movements.lean(t)),
    "neutrality": movements.lean,
}
_PROBE: Mapping[str, Statistic] = {
    "shift_favoured": _shift(0),
    "shift_opposed": _shift(1),
    "shift_tie": _shift(2),
    "lds": _gain(0),
    "ols": _gain(1),
    "ts": _gain(2),
    "lao": movements.lao,
    "total_variation": movements.total_variation,
    "shift_nontie": movements.nontie_shift,
    "tie": _tie,
}


#: Signed quantities behind one that is clipped at 0 or folded, and how its interval follows from theirs.
_BENT: Mapping[str, tuple[Sequence[Statistic], Callable[[float, float], tuple[float, float]]]] = {
    "neutrality_deviation": ((movements.lean,), movements.folded),
    **{t: ((_shift(i),), movements.clipped_ends) for i, t in enumerate(("lds", "ols", "ts"))},
    "total_variation": (tuple(map(_shift, range(3))), movements.folded),
}


def protocol_difference(
    calls: Any,
    *,
    one: str = "PBP",
    two: str = "Baseline",
    blind: str = "blind",
    favoured: Favoured | None = None,
    favoured_label: str | None = None,
    by: By = (),
    interval: str = "percentile",
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Each quantity of :func:`anchoring` under one scheme minus the same under another.

    Parameters
    ----------
    calls : frame
        As for :func:`anchoring`, with a column ``scheme``.
    one, two : str
        Values of ``scheme``.
    blind, favoured, favoured_label, by
        As for :func:`anchoring`.
    interval : {'percentile', 'bca'}
        Bootstrap interval.
    n_resamples, seed, conf_level
        Of the bootstrap, and coverage.

    Returns
    -------
    pandas.DataFrame
        Per judge and probe the terms of :func:`anchoring` (but ``tie_blind`` and ``sensitivity``), each a difference of
        `one` and `two`; negative ``lds`` says that `one` is less drawn to the favoured side. ``n`` is the smallest of
        the samples behind it, ``favoured`` the side.

    Raises
    ------
    DesignError
        If there is no such scheme or probe.

    Notes
    -----
    From calls the items are drawn, with all that was answered to them under both schemes and both probes, so that the
    interval is a paired one. Counts give independent samples, and ``method`` says so. Where a clipped or folded part
    (``lds``, ``total_variation``, ``neutrality_deviation``, ...) is near its border under either scheme, so that its
    signed quantity is not told from 0, a bootstrap of the difference is too narrow: the interval is then that of the
    signed quantities of both schemes, clipped or folded, Bonferroni corrected. A difference that no resample changes
    has no interval. ``lao`` is flagged where the movement under a scheme is not told from none.

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
    _refuse_unknown((one, two), found)
    refuse_no_probe(found, blind, "blind")
    refuse_unnamed(found.table, blind, favoured)
    method: Any = interval
    drawn: tuple[tuple[str, ...], str | None] = (("item",), None) if found.kind == "calls" else ((), "_arm")
    plan = Bootstrap(method, *drawn, n_resamples, seed, conf_level)
    rows = list(_blind_rows(found, one, two, blind, plan))
    rows += _probe_rows(found, one, two, (blind, favoured, favoured_label), plan)
    columns = [*(g for g in found.groups if g != "scheme"), "probe"]
    return estimates(rows, columns, ("favoured",))


def _refuse_unknown(schemes: tuple[str, str], found: Study) -> None:
    known = sorted(found.table["scheme"].unique())
    if schemes[0] == schemes[1]:
        raise DesignError(f"one= and two= are both {schemes[0]!r}: a scheme does not differ from itself.")
    for name, value in zip(("one", "two"), schemes, strict=True):
        if value not in known:
            raise DesignError(
                f"{name}={value!r} is not in 'scheme'. It has: {', '.join(filter(None, known)) or 'nothing'}."
                + suggestion(value, known)
            )


def _blind_rows(found: Study, one: str, two: str, blind: str, plan: Bootstrap) -> Iterator[dict[str, Any]]:
    kept = Study(found.table, found.kind, found.groups, ["item"] if found.kind == "calls" else [], found.note)
    table = kept.margins(blind)
    table = table.assign(_arm=table["scheme"], outcome=table["outcome"].astype(str))
    dependent = "" if kept.clusters else found.doubt
    apart = [g for g in found.groups if g != "scheme"]
    candidates = found.candidates_of(blind, found.groups)
    groups = codes_of(table, apart)
    for g in range(groups.size):
        here = table[groups.code == g]
        arms = [here[here["scheme"] == s] for s in (one, two)]
        if any(a.empty for a in arms):
            continue
        names = sorted({c for a in arms for c in candidates[key_of(a[g].iloc[0] for g in found.groups)]})
        key = {c: here[c].iloc[0] for c in apart} | {"probe": blind}
        doubts = flags(dependent, *(_invalid(a, s) for a, s in zip(arms, (one, two), strict=True)))
        statistics = _BLIND if len(names) <= 2 else {"equality_detection": _tie}
        side = names[0] if names else ""
        sides = [(a, _by_role(a, side)) for a in arms]
        yield from _differences(sides, statistics, plan, key, side if len(names) <= 2 else "", doubts)
        for term in sorted(_BLIND.keys() - statistics.keys()):
            flag = flags(doubts, movements.MANY)
            yield {**key, "term": term, "estimate": math.nan, "n": 0.0, "favoured": "", "flag": flag}


def _invalid(arm: pd.DataFrame, scheme: str) -> str:
    n = float(arm["n"][arm["outcome"] == "invalid"].sum())
    return f"{scheme}: {n:,.0f} invalid set aside" if n else ""


def _by_role(arm: pd.DataFrame, side: str) -> Floats:
    code = role(arm["outcome"], side)
    counts: Floats = np.column_stack([code == i for i in range(3)]) * arm["n"].to_numpy(dtype=float)[:, None]
    return counts


def _probe_rows(
    found: Study, one: str, two: str, read: tuple[str, Favoured | None, str | None], plan: Bootstrap
) -> Iterator[dict[str, Any]]:
    clusters = ["item"] if found.kind == "calls" else []
    arms: dict[tuple[Any, ...], dict[str, Any]] = {}
    for a in answers(found, *read, clusters=clusters):
        key = tuple(v for k, v in a.key.items() if k != "scheme")
        arms.setdefault(key, {})[a.key["scheme"]] = a
    for pair in arms.values():
        if not {one, two} <= set(pair):
            continue
        first, second = pair[one], pair[two]
        sides = [(_with_arm(x.table, s), x.counts) for x, s in ((first, one), (second, two))]
        shared = {k: v for k, v in first.key.items() if k != "scheme"}
        side = first.favoured if first.favoured == second.favoured else VARIES
        doubts = flags(*(f"{s}: {x.flag}" if x.flag else "" for s, x in ((one, first), (two, second))))
        told = flags(*(f"{s}: {_not_told(x, plan)}" for s, x in ((one, first), (two, second)) if _not_told(x, plan)))
        yield from _differences(sides, _PROBE, plan, shared, side, doubts, told)


def _not_told(answers: Answers, plan: Bootstrap) -> str:
    return movements.NOT_TOLD if movements.joint_test(answers)[0] > 1 - plan.conf_level else ""


def _with_arm(table: pd.DataFrame, scheme: str) -> pd.DataFrame:
    """Mark the sample of each row: the scheme, and the probe where the two are not of the same items."""
    return table.assign(_arm=scheme + "/" + table.get("side", ""))


def _differences(
    sides: list[tuple[pd.DataFrame, Floats]],
    statistics: Mapping[str, Statistic],
    plan: Bootstrap,
    key: dict[str, Any],
    favoured: str,
    doubts: str = "",
    told: str = "",
) -> Iterator[dict[str, Any]]:
    (table_1, counts_1), (table_2, counts_2) = sides
    width = counts_1.shape[1]
    table = pd.concat([table_1, table_2], ignore_index=True)
    counts = np.zeros((len(table), 2 * width))
    counts[: len(table_1), :width], counts[len(table_1) :, width:] = counts_1, counts_2
    n = float(counts.sum(axis=0).reshape(-1, 3).sum(axis=1).min())
    doubts = flags(doubts, NO_DATA if n == 0 else SMALL_N if n < 30 else "")
    for term, statistic in statistics.items():

        def difference(totals: Floats, statistic: Statistic = statistic) -> Floats:
            return statistic(totals[:, :width]) - statistic(totals[:, width:])

        value = float(difference(counts.sum(axis=0)[None, :])[0])
        row = {**key, "term": term, "estimate": value, "n": n, "favoured": favoured, "flag": doubts}
        if math.isnan(value):
            missing = movements.NO_MOVEMENT if term == "lao" and n else ""
            yield {**row, "flag": flags(doubts, missing)}
            continue
        drawn = resampled(table, counts, difference, plan, key)
        words = plan.words if plan.cluster else plan.words.replace("calls within _arm", "independent samples")
        drawn["method"] = words
        if term in _BENT:
            drawn |= _of_bent(term, [(table, counts[:, :width]), (table, counts[:, width:])], plan, key, words)
        yield {**row, **drawn, "flag": flags(doubts, told if term == "lao" else "", drawn["flag"])}


def _of_bent(
    term: str, arms: list[tuple[pd.DataFrame, Floats]], plan: Bootstrap, key: dict[str, Any], words: str
) -> dict[str, Any]:
    """Interval of a difference of clipped or folded quantities where one of them is near its border.

    That of each arm is that of its signed quantities, clipped or folded; both hold together by Bonferroni. Nothing
    where the signed quantities of both arms are told from 0: the bootstrap of the difference is regular there.
    """
    signed, bend = _BENT[term]
    level = 1 - (1 - plan.conf_level) / (2 * len(signed))
    wide = replace(plan, conf_level=level)
    ends, near, flag = [], False, ""
    for table, counts in arms:
        total, found = counts.sum(axis=0)[None, :], []
        for statistic in signed:
            cells = resampled(table, counts, statistic, wide, key)
            low, high = cells["conf_low"], cells["conf_high"]
            if math.isnan(low):  # no resample changes it
                low = high = float(statistic(total)[0])
            flag = flags(flag, cells["flag"])
            near |= low <= 0 <= high and low < high
            found.append(bend(low, high))
        ends.append(np.max(found, axis=0))
    if not near:
        return {}
    (low_1, high_1), (low_2, high_2) = ends
    ends_known = {"conf_low": float(low_1 - high_2), "conf_high": float(high_1 - low_2)}
    if not ends_known["conf_low"] < ends_known["conf_high"]:
        return {}
    bent = "folded" if bend is movements.folded else "clipped"
    return {"std_error": math.nan, **ends_known, "method": f"{words}, Bonferroni of two {bent} intervals", "flag": flag}
