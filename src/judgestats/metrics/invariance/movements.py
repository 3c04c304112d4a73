"""How answers move from blind to a probe: shifts, what they are made of, and whether they are told from none."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc

from judgestats.kernels.proportions import newcombe, newcombe_paired, wilson
from judgestats.metrics.invariance.roles import Answers
from judgestats.metrics.resampled import Bootstrap, ratio, resampled
from judgestats.results import NO_DATA, SMALL_N, flags
from judgestats.schema.coding import codes_of

Floats = NDArray[np.float64]
Cells = dict[str, Any]

NO_MOVEMENT = "no movement"
NO_BLIND = "no blind answers"
NOT_TOLD = "movement not told from none"
AT_ZERO = "no gain, interval at 0"
MANY = "more than two candidates"
NO_CLUSTERED_TEST = "no test of crossed clusters"


def shares(totals: Floats) -> tuple[Floats, Floats]:
    """Shares of favoured, opposed and tie, blind and under the probe: (B, 6) to two (B, 3); NaN without answers."""
    blind, probe = totals[:, :3], totals[:, 3:6]
    with np.errstate(divide="ignore", invalid="ignore"):
        return blind / blind.sum(axis=1, keepdims=True), probe / probe.sum(axis=1, keepdims=True)


def shifts(totals: Floats) -> Floats:
    """Change of each share from blind to the probe, (B, 3)."""
    blind, probe = shares(totals)
    result: Floats = probe - blind
    return result


def gains(totals: Floats) -> Floats:
    """Movement in: LDS, OLS and TS, (B, 3)."""
    return np.maximum(shifts(totals), 0.0)


def total_variation(totals: Floats) -> Floats:
    """Share of the answers that must have moved, (B,): LDS + OLS + TS, and the largest of the three shifts."""
    result: Floats = gains(totals).sum(axis=1)
    return result


def lao(totals: Floats) -> Floats:
    """Part of the movement that goes to the favoured side, (B,); NaN where nothing moves."""
    parts = gains(_aligned(totals))
    moved = parts.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(moved > 0, parts[:, 0] / moved, np.nan)


def _aligned(totals: Floats) -> Floats:
    """Whole counts over one denominator, so that equal shares differ by exactly 0."""
    n = totals[:, :3].sum(axis=1, keepdims=True), totals[:, 3:6].sum(axis=1, keepdims=True)
    scaled = np.hstack([totals[:, :3] * n[1], totals[:, 3:6] * n[0]])
    return np.where((n[0] > 0) & (n[1] > 0), scaled, np.nan)


def nontie_shift(totals: Floats) -> Floats:
    """Change of the favoured share among answers that took a side, (B,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        blind, probe = (totals[:, s] / (totals[:, s] + totals[:, s + 1]) for s in (0, 3))
    result: Floats = probe - blind
    return result


def lean(totals: Floats) -> Floats:
    """Share of the first outcome less that of the second, among all, (B,)."""
    return ratio(np.column_stack([totals[:, 0] - totals[:, 1], totals.sum(axis=1)]))


def shift_cells(answers: Answers, role: int, conf_level: float, plan: Bootstrap | None) -> Cells:
    """Estimate and interval of the change of one share (0 favoured, 1 opposed, 2 tie)."""
    total, joint = answers.total, answers.joint
    k = (total[3 + role], total[3:].sum(), total[role], total[:3].sum())
    both = None
    if joint is not None:
        a = joint[role, role]
        b, c = joint[:, role].sum() - a, joint[role].sum() - a
        both = (a, b, c, joint.sum() - a - b - c)
    return _difference(answers, k, both, lambda t: shifts(t)[:, role], conf_level, plan)


def nontie_cells(answers: Answers, conf_level: float, plan: Bootstrap | None) -> Cells:
    """Estimate and interval of :func:`nontie_shift`."""
    t, joint = answers.total, answers.joint
    both = None if joint is None else (joint[0, 0], joint[1, 0], joint[0, 1], joint[1, 1])
    return _difference(answers, (t[3], t[3] + t[4], t[0], t[0] + t[1]), both, nontie_shift, conf_level, plan)


def _difference(
    answers: Answers,
    k: tuple[float, float, float, float],
    both: tuple[float, float, float, float] | None,
    statistic: Callable[[Floats], Floats],
    conf_level: float,
    plan: Bootstrap | None,
) -> Cells:
    """Difference of shares k1/n1 - k2/n2; `both`: items of both that are hit twice, in the first, the second, never."""
    k1, n1, k2, n2 = map(float, k)
    if not (n1 > 0 and n2 > 0):
        return {"estimate": math.nan, "n": 0.0, "flag": flags(answers.flag, _empty(answers))}
    small = SMALL_N if min(n1, n2) < 30 else ""
    cells: Cells = {"estimate": k1 / n1 - k2 / n2, "n": min(n1, n2), "flag": flags(answers.flag, small)}
    if plan is not None:
        return {**cells, **_bootstrapped(answers, statistic, plan, small)}
    a, b, c, d = both or (0.0, 0.0, 0.0, 0.0)
    p1, p2 = k1 / n1, k2 / n2
    shared = a - p2 * (a + b) - p1 * (a + c) + p1 * p2 * (a + b + c + d)
    variance = p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2 - 2 * shared / (n1 * n2)
    n = a + b + c + d
    if both is None or n == 0:
        low, high = newcombe(k1, n1, k2, n2, conf_level)
        method = "Newcombe, independent" if both is not None else "Newcombe, two independent multinomials"
    elif n1 == n2 == n:
        low, high = newcombe_paired(a, b, c, d, conf_level)
        method = "Newcombe, paired"
    else:
        spread = math.sqrt(n1 * p1 * (1 - p1) * n2 * p2 * (1 - p2))
        low, high = _partly_paired(k1, n1, k2, n2, shared / spread if spread > 0 else 0.0, conf_level)
        method = f"Newcombe, {n:,.0f} pairs"
    return {**cells, "std_error": math.sqrt(max(variance, 0.0)), "conf_low": low, "conf_high": high, "method": method}


def _partly_paired(
    k1: float, n1: float, k2: float, n2: float, correlation: float, conf_level: float
) -> tuple[float, float]:
    """Newcombe's square-and-add with the correlation of the two shares, some of whose units are the same."""
    (l1, l2), (u1, u2) = wilson([k1, k2], [n1, n2], conf_level)
    p1, p2 = k1 / n1, k2 / n2
    below = (p1 - l1) ** 2 - 2 * correlation * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2
    above = (u1 - p1) ** 2 - 2 * correlation * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2
    return p1 - p2 - math.sqrt(max(below, 0.0)), p1 - p2 + math.sqrt(max(above, 0.0))


def _bootstrapped(answers: Answers, statistic: Callable[[Floats], Floats], plan: Bootstrap, flag: str = "") -> Cells:
    cells = resampled(answers.table, answers.counts, statistic, plan, answers.key)
    cells["method"] = drawn(plan, answers.joint is not None)
    return {**cells, "flag": flags(answers.flag, flag, cells["flag"])}


def drawn(plan: Bootstrap, paired: bool) -> str:
    """Name of a bootstrap: what was drawn."""
    if plan.cluster:
        return plan.words
    words = plan.words.replace("bootstrap of calls", "bootstrap of items" if paired else "two independent multinomials")
    return words.replace(" within side", "")


def clipped(signed: Cells) -> Cells:
    """The part of a shift that is a gain: the signed cells with everything below 0 put to 0."""
    cells = {**signed, "std_error": math.nan, "estimate": _positive(signed["estimate"])}
    low, high = signed.get("conf_low", math.nan), signed.get("conf_high", math.nan)
    if high <= 0:
        return {**cells, "conf_low": math.nan, "conf_high": math.nan, "flag": flags(cells["flag"], AT_ZERO)}
    return {**cells, "conf_low": _positive(low), "conf_high": high}


def clipped_ends(low: float, high: float) -> tuple[float, float]:
    """Interval of the positive part of a quantity from that of the quantity."""
    return _positive(low), _positive(high)


def _positive(value: float) -> float:
    return value if math.isnan(value) else max(0.0, float(value))


def lao_cells(answers: Answers, p_value: float, conf_level: float, plan: Bootstrap) -> Cells:
    """LAO with its bootstrap interval; flagged where the movement is none, or not told from none."""
    value = float(lao(answers.total[None, :])[0])
    n = min(answers.total[:3].sum(), answers.total[3:].sum())
    if math.isnan(value):
        return {"estimate": value, "n": n, "flag": flags(answers.flag, _empty(answers) if n == 0 else NO_MOVEMENT)}
    told = NOT_TOLD if p_value > 1 - conf_level else ""
    return {"estimate": value, "n": n, **_bootstrapped(answers, lao, plan, told)}


def variation_cells(answers: Answers, conf_level: float, plan: Bootstrap | None, clusters: Sequence[str] = ()) -> Cells:
    """Total variation, the interval that the three shifts leave it, and the joint test that nothing shifted."""
    total = answers.total
    value = float(total_variation(total[None, :])[0])
    each = [shift_cells(answers, role, 1 - (1 - conf_level) / 3, plan) for role in range(3)]
    low, high = np.array([folded(c.get("conf_low", math.nan), c.get("conf_high", math.nan)) for c in each]).T
    p_value, test = (math.nan, "") if len(clusters) > 1 else joint_test(answers, *clusters)
    bounds = {"conf_low": float(np.nanmax(low)), "conf_high": float(np.nanmax(high))} if _some(low) else {}
    method = each[0].get("method", "")
    return {
        "estimate": value,
        "n": each[0]["n"],
        **bounds,
        "method": "; ".join(x for x in (f"{method}, Bonferroni of 3" if method else "", test) if x),
        "flag": flags(each[0]["flag"], NO_CLUSTERED_TEST if len(clusters) > 1 else ""),
        "p_value": p_value,
    }


def _some(values: Floats) -> bool:
    return bool(np.isfinite(values).any())


def folded(low: float, high: float) -> tuple[float, float]:
    """Interval of an absolute value from that of the signed one."""
    if low <= 0 <= high:
        return 0.0, max(-low, high)
    return min(abs(low), abs(high)), max(abs(low), abs(high))


def joint_test(answers: Answers, cluster: str | None = None) -> tuple[float, str]:
    """p-value that no share changed, and the name of the test.

    Stuart-Maxwell for items valid in both probes, Pearson's χ² for independent samples; 1 where nothing differs. By
    cluster Wald's, with the linearised covariance between clusters and Hotelling's F.
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


def clustered_test(counts: Floats, unit: NDArray[Any]) -> tuple[float, str]:
    """p-value that no share changed, and the name of the test, from the (R, 6) counts of rows in clusters.

    1 where no cluster changes; NaN without answers under one of the probes or with too few clusters.
    """
    sums = np.zeros((int(unit.max(initial=-1)) + 1, 6))
    np.add.at(sums, unit, counts)
    sums = sums[sums.sum(axis=1) > 0]
    clusters, total = len(sums), sums.sum(axis=0)
    n = np.repeat([total[:3].sum(), total[3:].sum()], 3)
    if not (n > 0).all():
        return math.nan, ""
    sizes = np.repeat(np.column_stack([sums[:, :3].sum(axis=1), sums[:, 3:].sum(axis=1)]), 3, axis=1)
    pull = (sums - total / n * sizes) / n
    change, pull = (total / n)[3:] - (total / n)[:3], pull[:, 3:] - pull[:, :3]
    covariance = clusters / max(clusters - 1, 1) * pull.T @ pull
    values, vectors = np.linalg.eigh(covariance)
    moved = values > 1e-12 * max(values.max(), 1e-300)
    df = int(moved.sum()) if values.max() > 1e-30 else 0
    if df == 0:
        return (1.0, "Wald, 0 df") if np.abs(change).max() < 1e-12 else (math.nan, "")
    if clusters <= df:
        return math.nan, ""
    statistic = float(((vectors[:, moved].T @ change) ** 2 / values[moved]).sum())
    scaled = statistic * (clusters - df) / (df * (clusters - 1))
    return float(fdtrc(df, clusters - df, scaled)), f"Wald by cluster, F on {df} and {clusters - df} df"


def stuart_maxwell(joint: Floats) -> tuple[float, int]:
    """Test of equal margins of a square table; classes that nothing enters or leaves are left out.

    Returns
    -------
    statistic : float
        0 where nothing is off the diagonal.
    df : int
        One less than the classes with any movement.
    """
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


def _empty(answers: Answers) -> str:
    return NO_BLIND if answers.total[:3].sum() == 0 else NO_DATA
