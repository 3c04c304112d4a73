"""The debiasing paper: the whole numbers behind its printed shares, and its tables by judge and strategy."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from judgestats.errors import AuditError
from judgestats.metrics.bias import compare_strategies
from judgestats.published.catalogue import load

MT_BENCH, LLMBAR = "MT-Bench", "LLMBar"
#: Tests planned on each benchmark: five judges, four strategies.
PLANNED = 20
#: Pairs of each benchmark.
PAIRS = {MT_BENCH: 400, LLMBAR: 200}
#: The last row of Table 3.
GOLD = "Gold labels"


def pairs_scored(benchmark: str, judge: str, strategy: str) -> int:
    """How many pairs an agreement rests on: 400 or 200, less where GPT-4o gave no verdict.

    Examples
    --------
    >>> pairs_scored("MT-Bench", "GPT-4o", "S1")
    391
    """
    if benchmark == LLMBAR:
        return 199 if judge == "GPT-4o" else 200  # "199-200" (Table 2); the one judge whose shares fit 199
    return _verdicts()[judge, strategy]


@cache
def _verdicts() -> dict[tuple[str, str], int]:
    """Verdicts in each row of Table 3."""
    table = load("debiasing/table3")
    return {(r.judge, r.strategy): int(r.a) + int(r.b) + int(r.tie) for r in table.itertuples()}


def correct(benchmark: str, judge: str, strategy: str) -> int:
    """How many verdicts were right: the whole number behind the printed agreement.

    Raises
    ------
    AuditError
        If no whole number of the pairs gives the printed share.

    Examples
    --------
    >>> correct("MT-Bench", "Gemini 2.5 Flash", "S8")
    284
    """
    n = pairs_scored(benchmark, judge, strategy)
    share = agreements(benchmark)[judge, strategy]
    k = round(float(share) * n)
    if abs(k / n - float(share)) > 0.0005 + 1e-12:
        raise AuditError(f"No whole number of {n} gives the printed agreement {share} ({judge}, {strategy}).")
    return k


def share(benchmark: str, judge: str, strategy: str) -> float:
    """The agreement behind the printed one; the printed one where no whole number fits."""
    try:
        return correct(benchmark, judge, strategy) / pairs_scored(benchmark, judge, strategy)
    except AuditError:
        return float(agreements(benchmark)[judge, strategy])


@cache
def agreements(benchmark: str) -> dict[tuple[str, str], str]:
    """Judge and strategy -> agreement as printed."""
    table = load("debiasing/table1" if benchmark == MT_BENCH else "debiasing/table2", printed=True)
    return {(r["judge"], r["strategy"]): f"0{r['agreement']}" for r in table.to_dict("records")}


def tie_shares() -> dict[tuple[str, str], float]:
    """Judge and strategy -> share of ties in Table 3."""
    table = load("debiasing/table3")
    table = table[table["judge"] != GOLD]
    return {(r.judge, r.strategy): int(r.tie) / (int(r.a) + int(r.b) + int(r.tie)) for r in table.itertuples()}


def discordant_counts() -> pd.DataFrame:
    """Table 4 as a tally of discordant pairs: ``judge, strategy, baseline, outcome, n``, and ``pairs``."""
    rows = []
    for r in load("debiasing/table4").itertuples():
        pairs = pairs_scored(MT_BENCH, r.judge, r.strategy)
        rows.append((r.judge, r.strategy, "correct", "wrong", r.baseline_only, pairs))
        rows.append((r.judge, r.strategy, "wrong", "correct", r.strategy_only, pairs))
    return pd.DataFrame(rows, columns=["judge", "strategy", "baseline", "outcome", "n", "pairs"])


@cache
def compared() -> pd.DataFrame:
    """Table 4 compared, by judge and strategy."""
    result = compare_strategies(discordant_counts(), n_tests=PLANNED, pairs="pairs", baseline="B0")
    return result.set_index(["judge", "strategy"])


@cache
def regression() -> pd.DataFrame:
    """Table 5, with the p-values as numbers (those printed ``<`` at their bound), and what survives Holm."""
    table = load("debiasing/table5", printed=True)
    from statsmodels.stats.multitest import multipletests

    p = table["p"].str.lstrip("< ").astype(float)
    adjusted = multipletests(np.r_[p, np.ones(PLANNED - len(p))], method="holm")[1][: len(p)]
    return table.assign(number=p, survives=adjusted <= 0.05).set_index(["judge", "strategy"])


@cache
def styles() -> dict[str, float]:
    """Style bias at B0 by judge: the mean of its topics in Table 7."""
    table = load("debiasing/table7")
    return {str(j): float(part.astype(float).mean()) for j, part in table.groupby("judge")["bias"]}


@cache
def lengths() -> dict[tuple[str, str, str], str]:
    """Table 8 as printed, by judge, measure and strategy."""
    table = load("debiasing/table8", printed=True)
    return {(r["judge"], r["measure"], r["strategy"]): r["value"] for r in table.to_dict("records")}


@cache
def markdown() -> dict[str, int]:
    """How often of 30 each judge chose markdown."""
    table = load("debiasing/table9")
    return {r.rater: round(float(r.markdown) * 30) for r in table[table["group"] == "judge"].itertuples()}


@cache
def people() -> tuple[int, int]:
    """Markdown choices and verdicts of both annotators."""
    table = load("debiasing/table9")
    each = table[(table["group"] == "human") & (table["rater"] != "Aggregate")]
    return int((each["markdown"].astype(float) * each["n"].astype(int)).round().sum()), int(each["n"].astype(int).sum())


def human_percent() -> float:
    """Markdown choices of both annotators, percent."""
    k, n = people()
    return 100 * k / n


def ranges_of(*quantities: str) -> list[dict[str, str]]:
    """Printed ranges whose quantity begins so."""
    found = load("debiasing/ranges", printed=True).to_dict("records")
    return [r for r in found if r["quantity"].startswith(quantities)]


@cache
def design_of(place: str) -> dict[str, str]:
    """Printed numbers of the design in one place of the paper."""
    table = load("debiasing/design", printed=True)
    return {r["name"]: r["value"] for r in table.to_dict("records") if r["place"] == place}


def kappa_from_margins(agreement, p, q):
    """Unweighted kappa where only the share of agreement and the margins are known (debiasing paper, Appendix D: Tables 1 and 3 give Table 6)."""
    one, two = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = one / one.sum(axis=-1, keepdims=True), two / two.sum(axis=-1, keepdims=True)
        expected = np.asarray((one * two).sum(axis=-1))
        apart = np.where(expected > 1 - 1e-12, np.nan, 1 - expected)
        return (np.asarray(agreement, dtype=float) - expected) / apart
