"""The debiasing paper: every number recomputed from its other numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.design import minimum_detectable_effect
from judgestats.kernels.resampling import binomial_interval
from judgestats.published.catalogue import load
from measured.checks import Check
from measured.debiasing_claims import claim_checks, same_p
from measured.debiasing_tables import (
    GOLD,
    LLMBAR,
    MT_BENCH,
    PAIRS,
    PLANNED,
    agreements,
    compared,
    correct,
    design_of,
    kappa_from_margins,
    pairs_scored,
    ranges_of,
    regression,
    share,
    tie_shares,
)


def checks() -> Iterator[Check]:
    """Every printed number that others determine, beside its recomputed twin."""
    yield from _agreement_checks()
    yield from _verdict_checks()
    yield from _kappa_checks()
    yield from _mcnemar_checks()
    yield from _gain_checks()
    yield from _holm_checks()
    yield from _power_checks()
    yield from claim_checks()


def _agreement_checks() -> Iterator[Check]:
    for benchmark, place in ((MT_BENCH, "Table 1"), (LLMBAR, "Table 2")):
        for (judge, strategy), printed in agreements(benchmark).items():
            n = pairs_scored(benchmark, judge, strategy)
            k = round(float(printed) * n)
            yield Check(place, f"{judge}, {strategy}, agreement", printed, k / n, f"nearest: {k} of {n}")
    for r in load("debiasing/table1", printed=True).to_dict("records"):
        n = pairs_scored(MT_BENCH, r["judge"], r["strategy"])
        ends = binomial_interval(correct(MT_BENCH, r["judge"], r["strategy"]), n)
        for name, end in zip(("conf_low", "conf_high"), ends, strict=True):
            quantity = f"{r['judge']}, {r['strategy']}, {name}"
            comment = "percentile bootstrap in closed form; resampling moves it by a step of 1/n"
            yield Check("Table 1", quantity, f"0{r[name]}", float(end), comment, tolerance=0.005 + 1 / n)
    for r in load("debiasing/agreement_claims", printed=True).to_dict("records"):
        if r["quantity"] == "agreement":
            quantity = f"{r['judge']}, {r['strategy']}, {r['benchmark']} agreement"
            value = float(agreements(r["benchmark"])[r["judge"], r["strategy"]])
            yield Check(r["place"], quantity, f"0{r['value']}", value, "Table 2")
            best = _best(r["benchmark"], r["judge"])
            yield Check(
                r["place"], f"best strategy of {r['judge']} on {r['benchmark']}", r["strategy"], best, "Table 2"
            )


def _best(benchmark: str, judge: str) -> str:
    own = {s: float(v) for (j, s), v in agreements(benchmark).items() if j == judge}
    return max(own, key=lambda s: own[s])


def _verdict_checks() -> Iterator[Check]:
    for r in load("debiasing/table3", printed=True).to_dict("records"):
        total = sum(int(r[c]) for c in ("a", "b", "tie"))
        name = f"{r['judge']}, {r['strategy']}".rstrip(", ")
        yield Check("Table 3", f"{name}, verdicts", "400", float(total), "the table says n = 400")
        yield Check("Table 3", f"{name}, tie percent", r["tie_percent"], 100 * int(r["tie"]) / total)
    ties = tie_shares()
    for r in load("debiasing/agreement_claims", printed=True).to_dict("records"):
        if r["quantity"] == "tie percent":
            value = 100 * ties[r["judge"], r["strategy"]]
            yield Check(r["place"], f"{r['judge']}, {r['strategy']}, tie percent", r["value"], value, "Table 3")


def _kappa_checks() -> Iterator[Check]:
    table = load("debiasing/table3").set_index(["judge", "strategy"])[["a", "b", "tie"]].astype(int)
    gold = table.xs(GOLD, level="judge").to_numpy()[0]
    for r in load("debiasing/table6", printed=True).to_dict("records"):
        judge, strategy = r["judge"], r["strategy"]
        n, margin = pairs_scored(MT_BENCH, judge, strategy), table.loc[(judge, strategy)].to_numpy()
        low, high = _kappa_range(correct(MT_BENCH, judge, strategy) / n, margin, gold)
        comment, tolerance = "Tables 1 and 3", None
        if high > low:
            comment, tolerance = f"{gold.sum() - n} gold labels are not known", (high - low) / 2 + 0.0005
        quantity = f"{judge}, {strategy}, kappa"
        yield Check("Table 6", quantity, r["kappa"], (low + high) / 2, comment, tolerance)
        yield Check("Table 6", f"{quantity}, band", r["interpretation"], _band(float(r["kappa"])), "Landis and Koch")


def _kappa_range(agreement: float, margin: NDArray[Any], gold: NDArray[Any]) -> tuple[float, float]:
    """Kappa whatever the gold of the pairs without a verdict was."""
    lost = int(gold.sum() - margin.sum())
    left = [gold - (a, b, lost - a - b) for a in range(lost + 1) for b in range(lost + 1 - a)]
    kappas = kappa_from_margins(agreement, margin, np.array(left))
    return float(kappas.min()), float(kappas.max())


def _band(kappa: float) -> str:
    names = ("Slight", "Fair", "Moderate", "Substantial", "Almost perfect")
    return names[max(math.ceil(round(kappa, 2) / 0.2 - 1e-9) - 1, 0)]


def _mcnemar_checks() -> Iterator[Check]:
    got = compared()
    for r in load("debiasing/table4", printed=True).to_dict("records"):
        judge, strategy = r["judge"], r["strategy"]
        row = got.loc[(judge, strategy)]
        name = f"{judge}, B0 vs. {strategy}"
        yield Check("Table 4", f"{name}, chi-square", r["chi2"], float(row["statistic"]))
        yield Check("Table 4", f"{name}, p", r["p"], float(row["p_value"]))
        marks = ("*" if row["p_value"] < 0.05 else "") + ("†" if row["survives"] else "")
        yield Check("Table 4", f"{name}, marks", r["marks"], marks, f"Holm over {PLANNED}")
        if pairs_scored(MT_BENCH, judge, strategy) == PAIRS[MT_BENCH]:
            gain = 100 * (share(MT_BENCH, judge, strategy) - share(MT_BENCH, judge, "B0"))
            net = f"{100 * (int(r['strategy_only']) - int(r['baseline_only'])) / PAIRS[MT_BENCH]:+.2f}"
            yield Check("Table 4", f"{name}, (c - b) / n, pp", net, gain, "difference of the agreements of Table 1")


def _gain_checks() -> Iterator[Check]:
    fitted = regression()
    for (judge, strategy), row in fitted.iterrows():
        raw = share(MT_BENCH, judge, strategy) - share(MT_BENCH, judge, "B0")
        comment, tolerance = "difference of the agreements of Table 1; a tie may round either way", 0.0005
        if pairs_scored(MT_BENCH, judge, strategy) < PAIRS[MT_BENCH]:  # between the raw and the paired difference
            paired = float(compared().loc[(judge, strategy), "estimate"])
            raw, tolerance = (raw + paired) / 2, abs(raw - paired) / 2 + 0.0005
            comment = "between the raw and the paired difference, as some verdicts are missing"
        yield Check("Table 5", f"{judge}, {strategy}, coefficient", row["coef"], raw, comment, tolerance)
        yield Check("Table 5", f"{judge}, {strategy}, mark", row["marks"], "*" if row["number"] < 0.05 else "")
    for r in load("debiasing/table1", printed=True).to_dict("records"):
        key = (r["judge"], r["strategy"])
        told = fitted.loc[key] if key in fitted.index else {"number": 1.0, "survives": False}
        marks = ("*" if told["number"] < 0.05 else "") + ("†" if told["survives"] else "")
        yield Check("Table 1", f"{key[0]}, {key[1]}, marks", r["marks"], marks, f"p of Table 5, Holm over {PLANNED}")
    for r in load("debiasing/gains", printed=True).to_dict("records"):
        judge, strategy, benchmark = r["judge"], r["strategy"], r["benchmark"]
        gain = (share(benchmark, judge, strategy) - share(benchmark, judge, "B0")) * 100
        name = f"{judge}, {strategy}, {benchmark}"
        yield Check(r["place"], f"{name}, gain, pp", r["gain_pp"], gain, "Tables 1 and 2")
        if benchmark == MT_BENCH and r["p"]:
            yield same_p(r["place"], f"{name}, p", r["p"], str(fitted.loc[(judge, strategy), "p"]))


def _holm_checks() -> Iterator[Check]:
    fitted, tests = regression(), compared()
    for r in load("debiasing/holm_counts", printed=True).to_dict("records"):
        if r["benchmark"] != MT_BENCH:
            continue
        if r["significant"]:
            five = float((fitted["number"] < 0.05).sum())
            yield Check(r["place"], "comparisons with p < 0.05", r["significant"], five, "Table 5")
        if r["survivors"] and r["comparisons"] == str(PLANNED):  # which seven Appendix D means is not told
            comment = f"p of Table 5; by McNemar (Table 4) {int(tests['survives'].sum())}"
            left = float(fitted["survives"].sum())
            yield Check(r["place"], f"survivors of Holm over {PLANNED}", r["survivors"], left, comment)
    for r in load("debiasing/holm", printed=True).to_dict("records"):
        key = (r["judge"], r["strategy"])
        if r["benchmark"] != MT_BENCH:
            continue
        name = f"{key[0]}, {key[1]}"
        if r["place"] == "Appendix D":
            yield _printed_mcnemar(name, r["p"], tests.loc[key])
            continue
        survives = "yes" if fitted.loc[key, "survives"] else "no"
        comment = f"p of Table 5; by McNemar {'yes' if key in tests.index and tests.loc[key, 'survives'] else 'no'}"
        yield Check(r["place"], f"{name}, survives Holm over {PLANNED}", r["survives"], survives, comment)


def _printed_mcnemar(name: str, printed: str, row: pd.Series[Any]) -> Check:
    return Check("Appendix D", f"{name}, p of McNemar", printed, float(row["p_value"]), "Table 4")


def _power_checks() -> Iterator[Check]:
    design = design_of("Appendix D")
    ends = [int(design[f"discordant_pairs_{end}"]) for end in ("low", "high")]
    effect = minimum_detectable_effect(PAIRS[MT_BENCH], discordant=ends)["estimate"] * 100
    seen = load("debiasing/table4")[["baseline_only", "strategy_only"]].astype(int).sum(axis=1)
    real = minimum_detectable_effect(PAIRS[MT_BENCH], discordant=[seen.min(), seen.max()])["estimate"] * 100
    comment = (
        f"{ends[0]} and {ends[1]} discordant pairs of 400; Table 4 has {seen.min()} to {seen.max()}: "
        f"{real.iloc[0]:.1f} to {real.iloc[1]:.1f} pp"
    )
    for r in ranges_of("minimum detectable effect, pp"):
        for end, value in zip(("low", "high"), effect, strict=True):
            yield Check(r["place"], f"minimum detectable effect, pp, {end}", r[end], float(value), comment)
