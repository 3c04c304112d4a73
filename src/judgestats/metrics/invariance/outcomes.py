"""Anchoring: do verdicts follow a cue that is not evidence? :func:`anchoring`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray
from scipy.special import chdtrc, chdtri, fdtrc

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap, Interval, planned, ratio
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts
from judgestats.counting.selection import gathered
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.proportions import newcombe, newcombe_paired, quotient, wilson
from judgestats.metrics.bias.design_flags import flag_forced
from judgestats.metrics.invariance.outcome_coding import (
    ROLES,
    Answers,
    Favoured,
    ProbeCalls,
    answers,
    key_of,
    refuse_no_probe,
    refuse_unnamed,
    study,
)
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import control_of
from judgestats.results import estimates
from judgestats.schema.coding import codes_of, neither, yes_or_no
from judgestats.schema.columns import By, names
from judgestats.typing import Floats

# ---- Shifts of answers from blind to a probe, their parts and tests --------------------------------------------------

Cells = dict[str, Any]
#: Which items have equal candidates: a column, or a function of their two texts.
Equal = str | Callable[[str, str], bool]
_TEXTS = ("text_first", "text_second")


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
    """Difference of shares k1/n1 - k2/n2; `both`: shared items, hits in both, the first, the second, neither."""
    k1, n1, k2, n2 = map(float, k)
    if not (n1 > 0 and n2 > 0):
        return {"estimate": math.nan, "n": 0.0, "flag": flags.join(answers.flag, _empty(answers))}
    small = flags.SMALL_N if min(n1, n2) < 30 else ""
    cells: Cells = {"estimate": k1 / n1 - k2 / n2, "n": min(n1, n2), "flag": flags.join(answers.flag, small)}
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
        # Newcombe's square-and-add with the correlation of two shares that have some units in common
        r = shared / spread if spread > 0 else 0.0
        (l1, l2), (u1, u2) = wilson([k1, k2], [n1, n2], conf_level)
        below = (p1 - l1) ** 2 - 2 * r * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2
        above = (u1 - p1) ** 2 - 2 * r * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2
        low, high = p1 - p2 - math.sqrt(max(below, 0.0)), p1 - p2 + math.sqrt(max(above, 0.0))
        method = f"Newcombe, {n:,.0f} pairs"
    return {**cells, "std_error": math.sqrt(max(variance, 0.0)), "conf_low": low, "conf_high": high, "method": method}


def _bootstrapped(answers: Answers, statistic: Callable[[Floats], Floats], plan: Bootstrap, flag: str = "") -> Cells:
    cells = Counts.of(answers.table).resampled(answers.counts, statistic, answers.key, plan=plan)
    cells["method"] = drawn(plan, answers.joint is not None)
    return {**cells, "flag": flags.join(answers.flag, flag, cells["flag"])}


def drawn(plan: Bootstrap, paired: bool) -> str:
    """Name of a bootstrap and its units."""
    if plan.cluster:
        return plan.words
    words = plan.words.replace("bootstrap of calls", "bootstrap of items" if paired else "two independent multinomials")
    return words.replace(" within side", "")


def clipped(signed: Cells) -> Cells:
    """Positive part of a shift: the signed cells clipped at 0."""
    cells = {**signed, "std_error": math.nan, "estimate": float(np.maximum(signed["estimate"], 0.0))}
    low, high = signed.get("conf_low", math.nan), signed.get("conf_high", math.nan)
    if high <= 0:
        return {**cells, "conf_low": math.nan, "conf_high": math.nan, "flag": flags.join(cells["flag"], flags.AT_ZERO)}
    return {**cells, "conf_low": clipped_ends(low, high)[0], "conf_high": high}


def clipped_ends(low: float, high: float) -> tuple[float, float]:
    """Interval of the positive part of a quantity from that of the quantity."""
    return float(np.maximum(low, 0.0)), float(np.maximum(high, 0.0))


def lao_cells(answers: Answers, p_value: float, conf_level: float, plan: Bootstrap) -> Cells:
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


def variation_cells(answers: Answers, conf_level: float, plan: Bootstrap | None, clusters: Sequence[str] = ()) -> Cells:
    """Total variation, its interval from the three shifts, and the joint test of no shift."""
    total = answers.total
    value = float(total_variation(total[None, :])[0])
    each = [shift_cells(answers, role, 1 - (1 - conf_level) / 3, plan) for role in range(3)]
    low, high = np.array([folded_interval(c.get("conf_low", math.nan), c.get("conf_high", math.nan)) for c in each]).T
    p_value, test = (math.nan, "") if len(clusters) > 1 else joint_test(answers, *clusters)
    known = bool(np.isfinite(low).any())
    bounds = {"conf_low": float(np.nanmax(low)), "conf_high": float(np.nanmax(high))} if known else {}
    method = each[0].get("method", "")
    return {
        "estimate": value,
        "n": each[0]["n"],
        **bounds,
        "method": "; ".join(x for x in (f"{method}, Bonferroni of 3" if method else "", test) if x),
        "flag": flags.join(each[0]["flag"], flags.NO_CLUSTERED_TEST if len(clusters) > 1 else ""),
        "p_value": p_value,
    }


def folded_interval(low: float, high: float) -> tuple[float, float]:
    """Interval of an absolute value from that of the signed one."""
    if low <= 0 <= high:
        return 0.0, max(-low, high)
    return min(abs(low), abs(high)), max(abs(low), abs(high))


def joint_test(answers: Answers, cluster: str | None = None) -> tuple[float, str]:
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


def clustered_test(counts: Floats, unit: NDArray[Any]) -> tuple[float, str]:
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
    covariance = clusters / max(clusters - 1, 1) * influence.T @ influence
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


def _empty(answers: Answers) -> str:
    return flags.NO_BLIND if answers.total[:3].sum() == 0 else flags.NO_DATA


# ---- Do verdicts follow a cue that is not evidence? ------------------------------------------------------------------

_TIE_TERMS = ("equality_detection", "tie", "tie_blind", "shift_tie", "ts")
#: Terms that are not folded or clipped.
_SIGNED = (
    "equality_detection", "neutrality", "shift_favoured", "shift_opposed", "shift_tie", "shift_nontie", "tie",
    "tie_blind", "sensitivity", "sensitivity_blind",
)  # fmt: skip
_GAINS = {"favoured": "lds", "opposed": "ols", "tie": "ts"}
_Rows = list[dict[str, Any]]


@Measure(
    "How does a cue shift verdicts: to the favoured side, to the other, to the tie?", "cues", "P, counts",
    "Wilson, Newcombe, clipped for positive parts; LAO: bootstrap", "rationalization, Sec IV.C",
    plot="anchoring, schemes",
    frames=("preferences",), needs=(control_of("probe"),),
    arguments=lambda _, options: {"baseline": options.baseline["probe"]},
    caption="Change of the shares of the favoured side, the opposed side and the tie under a label. A judge may seem "
    "robust because it ties more under the label.",
    table=(
        "equality_detection", "neutrality", "shift_favoured", "shift_opposed", "shift_tie", "lds", "lao",
        "shift_nontie",
    ),
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
        Term("lao", "LAO: share of movement towards the label"),
        Term("total_variation"),
    ),
    have=("conditions",),
    assumes="Probes differ from the blind condition in the cue only, and were asked about the same items.",
)  # fmt: skip
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
        Column that items share, by which the interval is clustered. ``"auto"`` detects it and names it in ``method``.
        Two crossed columns need ``interval='percentile'``. False treats all items as independent, with a flag where
        they are not.
    interval : {'wilson', 'percentile', 'bca'}
        ``wilson``: Wilson's for rates and Newcombe's for changes; else a bootstrap of items (of both samples for
        counts). ``lao`` has a bootstrap interval in any case.
    n_items : float, optional
        Stated number of items per probe, or a column ``items``. Answers with another sum are flagged.
    n_resamples, seed, conf_level
        Of the bootstrap, and coverage.

    Returns
    -------
    pandas.DataFrame
        Per judge, scheme and probe, with the columns ``favoured`` (the side) and ``p_value``. Blind:
        ``equality_detection`` (share of ties), ``neutrality`` (share of the candidate named in ``favoured`` minus
        share of the other) and its absolute value ``neutrality_deviation``. Under each other probe:

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
        given: dict[str, Any] = {"favoured": favoured, "favoured_label": favoured_label, "equal": equal}
        given |= {"baseline": baseline, "cluster": cluster, "interval": interval, "n_items": n_items}
        given |= {"n_resamples": n_resamples, "seed": seed, "conf_level": conf_level}
        return _over_seeds(calls, seeds, names(by), given)
    planned(interval, None, None, n_resamples, seed, conf_level)
    shown = [equal] if isinstance(equal, str) else [] if equal is None else list(_TEXTS)
    found = study(gathered(calls, shown) if shown else calls, by, cluster)
    plan = planned(interval, found.clusters, None, n_resamples, seed, conf_level)
    refuse_no_probe(found, baseline, "baseline")
    refuse_unnamed(found.table, baseline, favoured)
    drawn = plan or Bootstrap("percentile", tuple(found.clusters), None, n_resamples, seed, conf_level)
    shifted = drawn if plan is not None or found.clusters else None
    rows = _blind_rows(found, baseline, conf_level, plan, drawn if shifted is not None else None)
    ties = [r for r in rows if r["term"] == "equality_detection"]
    if equal is not None:
        rows = _of_equals(found, baseline, equal, conf_level, plan) + [r for r in rows if r not in ties]
    for a in answers(found, baseline, favoured, favoured_label):
        rows += movement_rows(a, conf_level, shifted, drawn, found.clusters)
    rows += _tie_rows(found, rows, ties, conf_level, plan) + _sensitivity_rows(found, baseline, conf_level, plan)
    columns = [*found.groups, "probe"]
    if found.kind == "calls":
        rows = flag_forced(rows, found.table, columns, _TIE_TERMS)
    unequal = _unequal(found, baseline, n_items)
    for row in rows:
        key = key_of(row[g] for g in found.groups)
        row["flag"] = flags.join(row.get("flag", ""), unequal.get((*key, baseline)), unequal.get((*key, row["probe"])))
    return estimates(rows, columns, ("favoured", "p_value")).assign(
        favoured=lambda t: t["favoured"].astype(object).where(t["favoured"].notna(), ""),
        p_value=lambda t: t["p_value"].astype(float),
    )


def movement_rows(
    a: Answers, conf_level: float, shifted: Bootstrap | None, drawn: Bootstrap, clusters: Sequence[str]
) -> _Rows:
    """Rows of one group under one labelled probe."""
    drawn, shifted = _of_two_samples(drawn, a), _of_two_samples(shifted, a)
    signed = {name: shift_cells(a, i, conf_level, shifted) for i, name in enumerate(ROLES)}
    third = None if shifted is None else replace(shifted, conf_level=1 - (1 - shifted.conf_level) / 3)  # Bonferroni
    variation = variation_cells(a, conf_level, third, clusters)
    cells = {f"shift_{name}": c for name, c in signed.items()}
    cells |= {_GAINS[name]: clipped(c) for name, c in signed.items()}
    cells["lao"] = lao_cells(a, variation["p_value"], conf_level, drawn)
    cells["total_variation"] = variation
    cells["shift_nontie"] = nontie_cells(a, conf_level, shifted)
    return [{**a.key, "favoured": a.favoured, "term": term, **c} for term, c in cells.items()]


def _of_two_samples(plan: Any, a: Answers) -> Any:
    """Draw the samples separately where they are not known to be of the same items."""
    if plan is None or plan.cluster or a.joint is not None:
        return plan
    return replace(plan, strata="side")


def _blind_rows(
    found: ProbeCalls, blind: str, conf_level: float, plan: Bootstrap | None, drawn: Bootstrap | None
) -> _Rows:
    """Rows of the blind probe."""
    table = found.margins(blind)
    columns = [*found.groups, "probe"]
    counts = found.counts_of(table, plan, conf_level)
    rows = counts.rates("equality_detection", counts.among("outcome", "tie"), ~counts.among("outcome", "invalid"))
    code = codes_of(table, columns)
    candidates = found.candidates_of(blind, found.groups)
    for g in range(code.size):
        here = table[code.code == g]
        key = {c: here[c].iloc[0] for c in columns}
        names = candidates[key_of(key[c] for c in found.groups)]
        signed = _neutrality(here, names, key, drawn, conf_level)
        signed["flag"] = flags.join(found.clustering.flag, signed["flag"])
        low, high = folded_interval(signed.get("conf_low", math.nan), signed.get("conf_high", math.nan))
        folded = {**signed, "estimate": abs(signed["estimate"]), "conf_low": low, "conf_high": high}
        rows.append({**key, "term": "neutrality_deviation", **folded, "std_error": math.nan})
        rows.append({**key, "term": "neutrality", **signed})
    return rows


def _of_equals(found: ProbeCalls, blind: str, equal: Equal, conf_level: float, plan: Bootstrap | None) -> _Rows:
    """Ties without labels among the items whose candidates are equal; NaN for a group without such items."""
    table = found.table
    needed = [equal] if isinstance(equal, str) else list(_TEXTS)
    if found.kind != "calls":
        raise DesignError("equal= needs calls, and these are counts. Give the counts of items with equal candidates.")
    if absent := [c for c in needed if c not in table]:
        raise DesignError(f"equal= needs the column {absent[0]!r}. Columns: {', '.join(table.columns)}.")
    if isinstance(equal, str):
        if neither(table[equal]).any() or table[equal].isna().any():
            raise SchemaError(f"{equal!r} has a value that is neither true nor false. Write true or false in each row.")
        among = yes_or_no(table[equal]).to_numpy(dtype=bool)
    else:
        among = np.array([bool(equal(str(a), str(b))) for a, b in zip(*(table[c] for c in _TEXTS), strict=True)])
    part = replace(found, table=table[among].reset_index(drop=True))
    columns = [*found.groups, "probe"]
    rows: _Rows = []
    if (part.table["probe"] == blind).any():
        counts = part.counts_of(part.margins(blind), plan, conf_level)
        rows = counts.rates("equality_detection", counts.among("outcome", "tie"), ~counts.among("outcome", "invalid"))
    there = {key_of(r[c] for c in columns) for r in rows}
    groups = table.loc[table["probe"] == blind, columns].drop_duplicates().to_dict("records")
    missing = [{str(c): v for c, v in g.items()} for g in groups if key_of(g.values()) not in there]
    empty = {"term": "equality_detection", "estimate": math.nan, "n": 0.0, "flag": flags.NO_DATA}
    return rows + [{**g, **empty} for g in missing]


def _over_seeds(calls: Any, seeds: str, by: list[str], options: dict[str, Any]) -> pd.DataFrame:
    """All runs together, and the standard deviation of each term over the runs."""
    result = anchoring(calls, by=by, **options)
    each = anchoring(calls, by=[*by, seeds], **options)
    columns = [c for c in each.columns[: list(each.columns).index("term")] if c != seeds]
    rows: _Rows = []
    each = each[each["term"].isin(_SIGNED)]
    for key, here in each.groupby([*columns, "term"], dropna=False, sort=False):
        named = dict(zip([*columns, "term"], key, strict=True))
        rows.append({**named, "term": f"{named['term']}_sd", **_spread(here["estimate"], options["conf_level"])})
    spread = estimates(rows, columns, ("favoured", "p_value")).assign(favoured="", p_value=math.nan)
    both = pd.concat([result, spread], ignore_index=True)
    return both.sort_values(columns, kind="stable", ignore_index=True)


def _spread(values: pd.Series[Any], conf_level: float) -> Cells:
    """Standard deviation of estimates, with its interval for normal ones."""
    known = values.dropna().to_numpy(dtype=float)
    k = known.size
    if k < 2:
        return {"estimate": math.nan, "n": float(k), "flag": flags.SINGLE_RUN if k else flags.NO_DATA}
    sd = float(known.std(ddof=1))
    cells: Cells = {"estimate": sd, "n": float(k), "method": f"χ² of {k} runs", "flag": ""}
    if sd < 1e-12:
        return {**cells, "estimate": 0.0, "method": "", "flag": flags.NO_SPREAD}
    low, high = (sd * math.sqrt((k - 1) / chdtri(k - 1, q)) for q in ((1 - conf_level) / 2, (1 + conf_level) / 2))
    return {**cells, "conf_low": low, "conf_high": high}


def _neutrality(
    here: pd.DataFrame, candidates: list[str], key: dict[str, Any], plan: Bootstrap | None, conf_level: float
) -> dict[str, Any]:
    """Share of one candidate minus that of the other among valid blind answers."""
    if len(candidates) > 2:
        return {"estimate": math.nan, "n": 0.0, "flag": flags.MANY_CANDIDATES}
    outcome = here["outcome"].astype(str).to_numpy(dtype=object)
    named = [*candidates, "", ""][:2]
    kinds = np.column_stack([outcome == named[0], outcome == named[1], outcome == "tie"])
    counts = kinds * here["n"].to_numpy(dtype=float)[:, None]
    one, two, tie = map(float, counts.sum(axis=0))
    n = one + two + tie
    invalid = float(here["n"].sum()) - n
    flag = flags.join(flags.INVALID_EXCLUDED.of(invalid), flags.NO_DATA if n == 0 else flags.SMALL_N if n < 30 else "")
    cells: dict[str, Any] = {"estimate": math.nan, "n": n, "flag": flag, "favoured": named[0]}
    if n == 0:
        return cells
    cells["estimate"] = value = (one - two) / n
    if plan is not None:
        drawn = Counts.of(here).resampled(counts, signed_neutrality, key, plan=plan)
        return {**cells, **drawn, "flag": flags.join(flag, drawn["flag"])}
    low, high = newcombe_paired(0.0, one, two, tie, conf_level)
    spread = math.sqrt(max((one + two) / n - value**2, 0.0) / n)
    method = "Newcombe, two shares of one sample"
    return {**cells, "std_error": spread, "conf_low": low, "conf_high": high, "method": method}


def _tie_rows(found: ProbeCalls, rows: _Rows, base: _Rows, conf_level: float, plan: Bootstrap | None) -> _Rows:
    """Tie rates under each probe and blind; the side is that of the probe's other rows."""
    columns = [*found.groups, "probe"]
    side = {key_of(r[c] for c in columns): r["favoured"] for r in rows if r["term"] == "shift_favoured"}
    result: _Rows = []
    for probe in sorted({key[-1] for key in side}):
        if found.kind == "joint":
            here = found.table[(found.table["probe"] == probe) & (found.table["outcome"].astype(str) != "missing")]
            table = here.assign(n=here["n"].astype(float))
        else:
            table = found.margins(probe)
        counts = found.counts_of(table, plan, conf_level)
        result += counts.rates("tie", counts.among("outcome", "tie"), ~counts.among("outcome", "invalid", "missing"))
        result += [{**r, "probe": probe, "term": "tie_blind"} for r in base]
    kept = [r for r in result if key_of(r[c] for c in columns) in side]
    return [{**r, "favoured": side[key_of(r[c] for c in columns)]} for r in kept]


def _sensitivity_rows(found: ProbeCalls, blind: str, conf_level: float, plan: Bootstrap | None) -> _Rows:
    """Share of right answers under each probe and blind, if the right answer is known."""
    known = next((c for c in ("gold", "better") if c in found.table and found.table[c].notna().any()), None)
    if found.kind != "calls" or known is None:
        return []
    here = found.table.assign(gold=found.table[known].astype(object))
    here = here[here["gold"].notna() & (here["gold"].astype(str) != "")]
    columns = [*found.groups, "probe"]
    table = count(here, "gold_agreement", columns, cluster=found.clusters or False).table
    counts = found.counts_of(table, plan, conf_level)
    rows = counts.rates("sensitivity", counts.among("outcome", "correct"), ~counts.among("outcome", "invalid"))
    labelled = [r for r in rows if r["probe"] != blind]
    base = {key_of(r[g] for g in found.groups): r for r in rows if r["probe"] == blind}
    blind_rows = [
        {**base[key_of(r[g] for g in found.groups)], "probe": r["probe"], "term": "sensitivity_blind"}
        for r in labelled
        if key_of(r[g] for g in found.groups) in base
    ]
    return labelled + blind_rows


def _unequal(found: ProbeCalls, blind: str, n_items: float | None) -> dict[tuple[Any, ...], str]:
    """Flags of probes whose answers do not add up to the stated number of items."""
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
    totals = {key_of(key): (float(n), float(total)) for key, n, total in sums.itertuples(name=None)}
    if found.kind == "joint":
        base = found.margins(blind).groupby(columns, dropna=False)["n"].sum()
        most = {key[:-1]: total for key, (_, total) in totals.items()}
        totals |= {key_of(k): (float(n), most[key_of(k)[:-1]]) for k, n in base.items()}
    return {
        key: flags.in_part(str(key[-1]), flags.COUNTED_AND_STATED.of(counted=f"{n:,.0f}", stated=f"{total:,.0f}"))
        for key, (n, total) in totals.items()
        if n != total
    }
