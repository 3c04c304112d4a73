"""Shifts of answers from blind to a probe: their parts, intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import chdtrc, fdtrc

from judgestats import flags, methods
from judgestats.counting.bootstrap import Bootstrap, ratio
from judgestats.counting.counts import Counts
from judgestats.kernels.cluster_sums import effective_clusters, sums_within
from judgestats.kernels.proportions import (
    clustered_ratios,
    clustered_tango,
    newcombe,
    newcombe_paired,
    quotient,
    wilson,
)
from judgestats.metrics.invariance.probe_answers import ProbeAnswers
from judgestats.results import with_interval
from judgestats.schema.coding import codes_of
from judgestats.typing import Floats, Integers, Record
from judgestats.wording import Method


def shares(totals: Floats) -> tuple[Floats, Floats]:
    """Shares of favoured, opposed and tie, blind and under the probe: (B, 6) to two (B, 3); NaN without answers."""
    blind, probe = totals[:, :3], totals[:, 3:6]
    return quotient(blind, blind.sum(axis=1, keepdims=True)), quotient(probe, probe.sum(axis=1, keepdims=True))


def shifts(totals: Floats) -> Floats:
    """Change of each share from blind to the probe, (B, 3)."""
    blind, probe = shares(totals)
    return probe - blind


def gains(totals: Floats) -> Floats:
    """Positive parts of the shifts: LDS, OLS and TS, (B, 3)."""
    return np.maximum(shifts(totals), 0.0)


def total_variation(totals: Floats) -> Floats:
    """Smallest share of answers that can have changed, (B,): LDS + OLS + TS, the largest absolute shift."""
    result: Floats = gains(totals).sum(axis=1)
    return result


def lao(totals: Floats) -> Floats:
    """Part of the movement that goes to the favoured side, (B,); NaN without movement."""
    # whole counts over one denominator, so that equal shares differ by exactly 0
    n = totals[:, :3].sum(axis=1, keepdims=True), totals[:, 3:6].sum(axis=1, keepdims=True)
    scaled = np.hstack([totals[:, :3] * n[1], totals[:, 3:6] * n[0]])
    parts = gains(np.where((n[0] > 0) & (n[1] > 0), scaled, np.nan))
    moved = parts.sum(axis=1)
    return quotient(parts[:, 0], moved, moved > 0)


def nontie_shift(totals: Floats) -> Floats:
    """Change of the favoured share among answers that are not ties, (B,)."""
    blind, probe = (quotient(totals[:, s], totals[:, s] + totals[:, s + 1]) for s in (0, 3))
    return probe - blind


def signed_neutrality(totals: Floats) -> Floats:
    """Share of the first outcome minus share of the second, (B,)."""
    return ratio(np.column_stack([totals[:, 0] - totals[:, 1], totals.sum(axis=1)]))


def shift_cells(
    answers: ProbeAnswers, role: int, conf_level: float, plan: Bootstrap | None, cluster: str | None
) -> Record:
    """Estimate and interval of the change of one share (0 favoured, 1 opposed, 2 tie)."""
    joint, both = answers.joint, None
    if joint is not None:
        a = joint[role, role]
        b, c = joint[:, role].sum() - a, joint[role].sum() - a
        both = (a, b, c, joint.sum() - a - b - c)
    sides = _sides(answers, role, [0, 1, 2])
    return _share_difference(answers, sides, both, lambda t: shifts(t)[:, role], conf_level, plan, cluster)


def nontie_cells(answers: ProbeAnswers, conf_level: float, plan: Bootstrap | None, cluster: str | None) -> Record:
    """Estimate and interval of :func:`nontie_shift`."""
    joint = answers.joint
    both = None if joint is None else (joint[0, 0], joint[1, 0], joint[0, 1], joint[1, 1])
    return _share_difference(answers, _sides(answers, 0, [0, 1]), both, nontie_shift, conf_level, plan, cluster)


def _sides(answers: ProbeAnswers, hit: int, of: list[int]) -> list[tuple[Floats, Floats]]:
    """Hits and answers of each row, under the probe and blind."""
    sides = (answers.counts[:, 3:6], answers.counts[:, :3])
    return [(side[:, hit], side[:, of].sum(axis=1)) for side in sides]


def _share_difference(
    answers: ProbeAnswers,
    sides: list[tuple[Floats, Floats]],
    both: tuple[float, float, float, float] | None,
    statistic: Callable[[Floats], Floats],
    conf_level: float,
    plan: Bootstrap | None,
    cluster: str | None,
) -> Record:
    """Difference of two shares, from hits and n of the rows, (R,), of both sides.

    `both`: shared items, hits in both, the first, the second, neither.
    """
    (k1, n1), (k2, n2) = ((float(hits.sum()), float(n.sum())) for hits, n in sides)
    if not (n1 > 0 and n2 > 0):
        return {"estimate": math.nan, "n": 0.0, "flag": flags.join(answers.flag, _empty(answers))}
    small = flags.SMALL_N if min(n1, n2) < 30 else ""
    cells: Record = {"estimate": k1 / n1 - k2 / n2, "n": min(n1, n2), "flag": flags.join(answers.flag, small)}
    if plan is not None:
        return {**cells, **_bootstrapped(answers, statistic, plan, small)}
    if cluster is not None:
        return {**cells, **_by_cluster(answers, sides, cluster, conf_level, cells["flag"])}
    a, b, c, d = both or (0.0, 0.0, 0.0, 0.0)
    p1, p2 = k1 / n1, k2 / n2
    shared = a - p2 * (a + b) - p1 * (a + c) + p1 * p2 * (a + b + c + d)
    variance = p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2 - 2 * shared / (n1 * n2)
    n = a + b + c + d
    if both is None or n == 0:
        low, high = newcombe(k1, n1, k2, n2, conf_level)
        multinomials = methods.NEWCOMBE.on("two independent multinomials")
        method = methods.NEWCOMBE_INDEPENDENT if both is not None else multinomials
    elif n1 == n2 == n:
        low, high = newcombe_paired(a, b, c, d, conf_level)
        method = methods.NEWCOMBE_PAIRED
    else:
        spread = math.sqrt(n1 * p1 * (1 - p1) * n2 * p2 * (1 - p2))
        # Newcombe's square-and-add with the correlation of two shares that have some units in common
        r = shared / spread if spread > 0 else 0.0
        (l1, l2), (u1, u2) = wilson([k1, k2], [n1, n2], conf_level)
        below = (p1 - l1) ** 2 - 2 * r * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2
        above = (u1 - p1) ** 2 - 2 * r * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2
        low, high = p1 - p2 - math.sqrt(max(below, 0.0)), p1 - p2 + math.sqrt(max(above, 0.0))
        method = methods.NEWCOMBE.on(f"{n:,.0f} pairs")
    return {**cells, "std_error": math.sqrt(max(variance, 0.0)), "conf_low": low, "conf_high": high, "method": method}


def _by_cluster(
    answers: ProbeAnswers, sides: list[tuple[Floats, Floats]], cluster: str, conf_level: float, flag: str
) -> Record:
    """The interval of a difference of two shares over clusters: Tango's where each call has both answers, else t."""
    unit = codes_of(answers.table, [cluster])
    (k1, n1), (k2, n2) = sides
    counts = np.column_stack([k1, k2, n1, n2, np.maximum(k1 - k2, 0.0), np.maximum(k2 - k1, 0.0)])
    sums = sums_within(counts, unit.code, unit.size)
    k, n = sums[:, :2], sums[:, 2:4]
    few = flags.join(*(flags.few_clusters(n[:, side]) for side in (0, 1)))
    if answers.joint is not None and (n1 == n2).all():
        tango = clustered_tango(sums[:, 4], sums[:, 5], n[:, 0], conf_level)
        error, low, high, method = tango.std_error, tango.low, tango.high, methods.TANGO_PAIRED
    else:
        signs, method = np.array([1.0, -1.0]), methods.T.on("two shares")
        _, error, low, high = clustered_ratios(k, n, signs, conf_level)
        if not error > 0:  # clusters alike
            _, error, low, high = clustered_ratios(k, n, signs, conf_level, bound=1.0)
    ends = (max(low, -1.0), min(high, 1.0))
    by = methods.clustered(method, cluster, n.max(axis=1))
    return with_interval(error, *ends, method=by, flag=flags.join(flag, few))


def _bootstrapped(
    answers: ProbeAnswers, statistic: Callable[[Floats], Floats], plan: Bootstrap, flag: str = ""
) -> Record:
    cells = Counts.of(answers.table).resampled(answers.counts, statistic, answers.key, plan=plan)
    cells["method"] = bootstrap_name(plan, answers.joint is not None)
    return {**cells, "flag": flags.join(answers.flag, flag, cells["flag"])}


def bootstrap_name(plan: Bootstrap, paired: bool) -> Method:
    """Name of a bootstrap and its units."""
    if plan.cluster:
        return plan.way
    return plan.way.drawing("items") if paired else plan.way.drawing("multinomials", "two independent")


def clipped(signed: Record) -> Record:
    """Positive part of a shift: the signed cells clipped at 0."""
    cells = {**signed, "std_error": math.nan, "estimate": float(np.maximum(signed["estimate"], 0.0))}
    low, high = signed.get("conf_low", math.nan), signed.get("conf_high", math.nan)
    if high <= 0:
        return {**cells, "conf_low": math.nan, "conf_high": math.nan, "flag": flags.join(cells["flag"], flags.AT_ZERO)}
    return {**cells, "conf_low": clipped_ends(low, high)[0], "conf_high": high}


def clipped_ends(low: float, high: float) -> tuple[float, float]:
    """Interval of the positive part of a quantity from that of the quantity."""
    return float(np.maximum(low, 0.0)), float(np.maximum(high, 0.0))


def lao_cells(answers: ProbeAnswers, p_value: float, conf_level: float, plan: Bootstrap) -> Record:
    """LAO with its bootstrap interval; flagged without movement, or if the movement is not significant."""
    value = float(lao(answers.total[None, :])[0])
    n = min(answers.total[:3].sum(), answers.total[3:].sum())
    if math.isnan(value):
        return {
            "estimate": value,
            "n": n,
            "flag": flags.join(answers.flag, _empty(answers) if n == 0 else flags.NO_MOVEMENT),
        }
    flag = flags.NOT_SIGNIFICANT if p_value > 1 - conf_level else ""
    return {"estimate": value, "n": n, **_bootstrapped(answers, lao, plan, flag)}


def variation_cells(
    answers: ProbeAnswers, conf_level: float, plan: Bootstrap | None, clusters: Sequence[str] = ()
) -> Record:
    """Total variation, its interval from the three shifts, and the joint test of no shift."""
    total = answers.total
    value = float(total_variation(total[None, :])[0])
    cluster = clusters[0] if clusters else None
    each = [shift_cells(answers, role, 1 - (1 - conf_level) / 3, plan, cluster) for role in range(3)]
    low, high = np.array([folded_interval(c.get("conf_low", math.nan), c.get("conf_high", math.nan)) for c in each]).T
    p_value, test = (math.nan, "") if len(clusters) > 1 else joint_test(answers, *clusters)
    bounded = bool(np.isfinite(low).any())
    bounds = {"conf_low": float(np.nanmax(low)), "conf_high": float(np.nanmax(high))} if bounded else {}
    method = each[0]["method"].noting("Bonferroni of 3") if each[0].get("method") else methods.NONE
    return {
        "estimate": value,
        "n": each[0]["n"],
        **bounds,
        "method": method.noting(test, "; " if method and test else ""),
        "flag": flags.join(each[0]["flag"], flags.NO_CLUSTERED_TEST if len(clusters) > 1 else ""),
        "p_value": p_value,
    }


def folded_interval(low: float, high: float) -> tuple[float, float]:
    """Interval of an absolute value from that of the signed one."""
    if low <= 0 <= high:
        return 0.0, max(-low, high)
    return min(abs(low), abs(high)), max(abs(low), abs(high))


def joint_test(answers: ProbeAnswers, cluster: str | None = None) -> tuple[float, str]:
    """p-value of no change in any share, and the name of the test.

    Stuart-Maxwell for items valid in both probes, Pearson's χ² for independent samples. With clusters Wald's, with the
    linearised covariance between clusters and Hotelling's F.
    """
    if cluster is not None:
        return clustered_test(answers.counts, codes_of(answers.table, [cluster]).code)
    if answers.joint is not None:
        statistic, df = stuart_maxwell(answers.joint)
        return _p(statistic, df, answers.joint.sum()), f"Stuart-Maxwell, {df} df"
    table = answers.total.reshape(2, 3)
    table = table[:, table.sum(axis=0) > 0]
    if (table.sum(axis=1) == 0).any() or table.size == 0:
        return math.nan, ""
    if table.shape[1] < 2:
        return 1.0, "χ², 0 df"
    from scipy.stats import chi2_contingency

    result = chi2_contingency(table, correction=False)
    return float(result.pvalue), f"χ², {int(result.dof)} df"


def clustered_test(counts: Floats, unit: Integers) -> tuple[float, str]:
    """Wald's test of :func:`joint_test`, from the (R, 6) counts of rows in clusters; NaN with too few clusters."""
    sums = np.zeros((int(unit.max(initial=-1)) + 1, 6))
    np.add.at(sums, unit, counts)
    sums = sums[sums.sum(axis=1) > 0]
    clusters, total = len(sums), sums.sum(axis=0)
    n = np.repeat([total[:3].sum(), total[3:].sum()], 3)
    if not (n > 0).all():
        return math.nan, ""
    sizes = np.repeat(np.column_stack([sums[:, :3].sum(axis=1), sums[:, 3:].sum(axis=1)]), 3, axis=1)
    influence = (sums - total / n * sizes) / n
    change, influence = (total / n)[3:] - (total / n)[:3], influence[:, 3:] - influence[:, :3]
    size = sums.sum(axis=1)
    worth = max(effective_clusters(size), 1.0)
    influence = influence / np.sqrt(1 - size / size.sum())[:, None] if clusters > 1 else influence
    covariance = influence.T @ influence
    values, vectors = np.linalg.eigh(covariance)
    moved = values > 1e-12 * max(values.max(), 1e-300)
    df = int(moved.sum()) if values.max() > 1e-30 else 0
    if df == 0:
        return (1.0, "Wald, 0 df") if np.abs(change).max() < 1e-12 else (math.nan, "")
    if worth <= df:
        return math.nan, ""
    statistic = float(((vectors[:, moved].T @ change) ** 2 / values[moved]).sum())
    scaled = statistic * (worth - df) / (df * (worth - 1))
    return float(fdtrc(df, worth - df, scaled)), f"Wald by cluster, F on {df} and {worth - df:.3g} df"


def stuart_maxwell(joint: Floats) -> tuple[float, int]:
    """Statistic and df of the test of equal margins of a square table; classes without movement are omitted."""
    moved = joint.sum(axis=0) + joint.sum(axis=1) - 2 * np.diag(joint) > 0
    if not moved.any():
        return 0.0, 0
    from statsmodels.stats.contingency_tables import SquareTable

    result = SquareTable(joint[np.ix_(moved, moved)], shift_zeros=False).homogeneity()
    return float(result.statistic), int(result.df)


def _p(statistic: float, df: int, n: float) -> float:
    if not n > 0:
        return math.nan
    return float(chdtrc(df, statistic)) if df else 1.0


def _empty(answers: ProbeAnswers) -> str:
    return flags.NO_BLIND if answers.total[:3].sum() == 0 else flags.NO_DATA
