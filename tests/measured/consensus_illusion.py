"""Every printed number of consensus_illusion that the public measures give from its tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import fdtrc

from judgestats.metrics.agreement import (
    agreement_shift,
    ordering_accuracy,
    quality_agreement,
)
from judgestats.metrics.agreement.tests_of_shifts import D, cohen_d, mean_rows, sign_p
from judgestats.metrics.consensus.correlations import spearman_p
from judgestats.published.catalogue import load
from judgestats.published.paper_tables import rankings, shifts
from measured.checks import Check

_VARIANTS: tuple[tuple[D, int], ...] = (("average", 0), ("average", 1), ("pooled", 1))


#: Table 4 and Table 5 shorten a name of Table 9.
_NAMES = {"DeepSeek-R1": "DeepSeek-R1-0528-Thinking"}


N_MODELS = 32


def ablation() -> pd.DataFrame:
    """Table 6: ``model, variant, pair, r``, a row for each correlation of a pair of judges that is printed."""
    table = load("consensus_illusion/table6", printed=True)
    table = table[(table["pair"] != "average") & (table["r"] != "N/A")]
    return table[["model", "variant", "pair", "r"]].astype({"r": float}).reset_index(drop=True)


def mean_spread() -> float:
    """Mean spread of Appendix C, half the sum of the three mean absolute differences; it is not printed."""
    table = load("consensus_illusion/spread")
    return float(table.loc[table["quantity"] == "mean absolute difference", "value"].sum() / 2)


def checks() -> Iterator[Check]:
    """Every printed number that others determine, beside its recomputed twin."""
    yield from _design_checks()
    yield from _quality_checks()
    yield from _tier_checks()
    yield from _ranking_checks()
    yield from _level_checks()
    yield from _shift_checks()
    yield from _sign_checks()
    yield from _ablation_checks()
    yield from _case_checks()


def _text(printed: str) -> str:
    """A printed number with the zero before its point that some tables leave out."""
    for sign in ("", "+", "-"):
        if printed.startswith(f"{sign}."):
            return f"{sign}0{printed[len(sign) :]}"
    return printed


def _half(printed: str) -> float:
    """Half a unit of the last printed place."""
    return float(0.5 * 10.0 ** -len(printed.partition(".")[2]))


def _validity(quantity: str) -> list[dict[str, str]]:
    table = load("consensus_illusion/validity", printed=True)
    return [r for r in table.to_dict("records") if r["quantity"] == quantity]


def _design() -> dict[str, str]:
    table = load("consensus_illusion/design", printed=True)
    return dict(zip(table["name"], table["value"], strict=True))


def _design_checks() -> Iterator[Check]:
    said = _design()
    number = {k: float(v.replace(",", "")) for k, v in said.items()}
    models, temperatures = number["models"], number["temperatures"]
    calls = models * number["evaluators"] * number["prompts"] * temperatures
    yield Check("Section 2.1", "evaluation instances", said["instances"], f"{calls:,.0f}", "criteria are not counted")
    yield Check("Section 3.2", "ICC cells", said["ICC cells"], models * temperatures, "models x temperatures")
    points = number["data points per-sample scores"] * number["criteria"]
    yield Check("Section 2.1", "points of a per-criterion r", said["data points per-criterion scores"], points)
    prompts = number["English prompts"] + number["Chinese prompts"]
    yield Check("Section 2.1", "prompts", said["prompts"], prompts, "English and Chinese")
    listed = load("consensus_illusion/models")
    for tier, here in listed.groupby("tier"):
        yield Check("Section 2.1", f"{tier} models", said[f"{tier.lower()} models"], float(len(here)), "as listed")
    yield Check("Section 2.1", "models", said["models"], float(len(listed)), "as listed")
    ranked = rankings()
    yield Check("Table 9", "models", said["models"], float(len(ranked)), "rows of Table 9")
    peak = float(_validity("true quality peak steps")[0]["value"])
    kept = float(_validity("alignment maintained steps")[0]["value"])
    for r in _validity("overoptimization resistance ratio"):
        yield Check(r["place"], "MERG over Baseline reward model", r["value"], kept / peak, "1200 steps over 400")


def _quality_checks() -> Iterator[Check]:
    row = quality_agreement(rankings()).iloc[0]
    for quantity, value in (("rho", row["estimate"]), ("p", row["p_value"])):
        for r in _validity(f"quality-agreement {quantity}"):
            yield Check(r["place"], f"quality and agreement, {quantity}", r["value"], float(value), "from Table 9")


def _tier_checks() -> Iterator[Check]:
    table = rankings()
    means = table.groupby("tier")[["mean_score", "r"]].mean()
    sizes = table["tier"].value_counts()
    base = table[table["tier"] == "Base"]
    ends = table.groupby("tier")["mean_score"].agg(lambda s: s.max() - s.min())
    lowest = float((base["rank"] > len(table) - 13).sum())
    ranks = {"highest rank": base["rank"].min(), "lowest rank": base["rank"].max(), "n among the 13 lowest": lowest}
    for r in load("consensus_illusion/tiers", printed=True).to_dict("records"):
        place, tier, quantity = r["place"], r["tier"], r["quantity"]
        comment = "from Table 9"
        if quantity == "mean score":
            value = means.loc[tier, "mean_score"]
        elif quantity == "mean r" and r["temperature"] == "0.0":
            value = means.loc[tier, "r"]
        elif quantity == "n models":
            value = sizes[tier]
        elif quantity in ranks:
            value = ranks[quantity]
        elif quantity == "best-worst gap":
            value, comment = ends[tier], "from Table 9; printed as approximate"
        elif quantity == "Cohen's d":
            yield _d_check(place, r["value"], table)
            continue
        else:
            continue
        yield Check(place, f"{tier}, {quantity}", r["value"], float(value), comment)


def _d_check(place: str, printed: str, table: pd.DataFrame) -> Check:
    """Cohen's d in the variant that comes nearest; the formula is not printed."""
    base, thinking = (table.loc[table["tier"] == t, "mean_score"].to_numpy() for t in ("Base", "Thinking"))
    found = {(d, k): cohen_d(base, thinking, d=d, ddof=k) for d, k in _VARIANTS}
    told = "; ".join(f"{d}, divisor n{f' - {k}' if k else ''}: {v:.2f}" for (d, k), v in found.items())
    nearest = min(found.values(), key=lambda v: abs(v - float(printed)))
    d, ddof = next(k for k, v in found.items() if v == nearest)
    steps = 0.005 * np.eye(base.size + thinking.size)
    moved = (cohen_d(base + e[: base.size], thinking + e[base.size :], d=d, ddof=ddof) for e in steps)
    comment = f"formula not printed: the nearest of three, within the rounding of the scores; {told}"
    room = _half(printed) + sum(abs(v - nearest) for v in moved)  # the scores are printed to two decimals
    return Check(place, "Base vs Thinking, Cohen's d", printed, nearest, comment, tolerance=room)


def _ranking_checks() -> Iterator[Check]:
    table = rankings()
    for r in _validity("pairwise ordering accuracy percent"):
        row = ordering_accuracy(table).iloc[0]
        comment = f"{row['correct']:.0f} of {row['n']:.0f} pairs"
        yield Check(r["place"], "pairwise ordering accuracy, %", r["value"], 100 * float(row["estimate"]), comment)
    by_score = table.set_index("system")
    order = by_score["r"].rank(ascending=False, method="first")
    for name, column, rank in (("table4", "mean_score", by_score["rank"]), ("table5", "r", order)):
        place = f"Table {name[-1]}"
        for r in load(f"consensus_illusion/{name}", printed=True).to_dict("records"):
            model = _NAMES.get(r["model"], r["model"])
            printed = _text(r[column])
            room = _half(printed) + (0.0005 if column == "r" else 0.0)
            label = column.replace("_", " ")
            value = float(by_score.loc[model, column])
            yield Check(place, f"{r['model']}, {label}", printed, value, "from Table 9", tolerance=room)
            yield Check(place, f"{r['model']}, rank", r["rank"], float(rank[model]), "from Table 9")


def _level_checks() -> Iterator[Check]:
    rho = {r["scope"]: r["value"] for r in _validity("model-level rho") if "/" in r["scope"]}
    mean_rho = sum(map(float, rho.values())) / len(rho)
    r_of = {
        r["scope"]: r["value"] for r in _validity("sample-level r") if r["place"] == "Section 3.2" and "/" in r["scope"]
    }
    mean_r = sum(map(float, r_of.values())) / len(r_of)
    for r in _validity("model-level rho grand mean"):
        if r["temperature"] == "0.0":
            yield Check(r["place"], "mean rho of the pairs", r["value"], mean_rho)
    icc, overall = (
        next(r["value"] for r in _validity(q) if r["place"] == "Section 3.2" and "/" not in r["scope"])
        for q in ("ICC", "sample-level r")
    )
    (grand,) = (r["value"] for r in _validity("model-level rho grand mean") if r["temperature"] == "0.0")
    comment = "plain mean; of Fisher's z it is 0.73"
    yield Check("Section 3.2", "mean sample-level r of the pairs", overall, mean_r, comment)
    for r in _validity("gap rho to r"):
        yield Check(r["place"], "gap of rho and r", r["value"], float(grand) - float(overall), "from the printed means")
    for r in _validity("gap r to ICC"):
        yield Check(r["place"], "gap of r and ICC", r["value"], float(overall) - float(icc), "from the printed means")
    for r in _validity("model-level rho p"):
        worst = max(spearman_p(float(v), N_MODELS) for v in rho.values())
        limit = f"< 1e{r['value'].rpartition('^')[2]}"
        yield Check(r["place"], "p of each model-level rho", limit, worst, "the largest; t on 30")
    said = {k: _validity(k)[0] for k in ("F df1", "F df2", "F", "F p")}
    pairs = math.comb(int(_design()["evaluators"]), 2)
    df1, df2 = pairs - 1, pairs * (N_MODELS - 1)
    yield Check("Section 3.2", "F, df of pairs", said["F df1"]["value"], float(df1))
    yield Check("Section 3.2", "F, df within", said["F df2"]["value"], float(df2), "pairs x models, one-way")
    p = float(fdtrc(df1, df2, float(said["F"]["value"])))
    yield Check("Section 3.2", "F, p", f"< {said['F p']['value']}", p)


def _shift_checks() -> Iterator[Check]:
    table = shifts()
    found = agreement_shift(table)
    for r, value in zip(table.to_dict("records"), found["estimate"], strict=True):
        printed = _text(r["delta"])
        where = ", ".join(filter(None, (r["subgroup"], f"t = {r['temperature']}" if r["temperature"] else "")))
        yield Check(r["place"], f"{where}, shift", printed, value, tolerance=_half(printed) + 0.001)
    third = load("consensus_illusion/table3")
    raw = load("consensus_illusion/table3", printed=True)
    pairs = third[third["pair"] != "Mean"].groupby("temperature")[["baseline", "merg"]].mean()
    for r in raw[raw["pair"] == "Mean"].to_dict("records"):
        for column in ("baseline", "merg") if float(r["temperature"]) in pairs.index else ():
            value = float(pairs.loc[float(r["temperature"]), column])
            room = _half(r[column]) + 0.0005
            yield Check("Table 3", f"mean {column}, t = {r['temperature']}", _text(r[column]), value, tolerance=room)
    yield from _range_checks(found)


def _range_checks(found: pd.DataFrame) -> Iterator[Check]:
    """The ranges in the text, and the percentages: of two kinds."""
    models = found[found["kind"] == "model"].set_index("subgroup")
    every = load("consensus_illusion/delta_k", printed=True)
    domain = {
        r["subgroup"]: float(r["delta"]) for r in every.to_dict("records") if r["kind"] == "domain" and r["unit"] == "r"
    }
    ends = {
        "21": (abs(models.loc["Qwen3-235B", "relative"]), "Qwen3-235B, relative change"),
        "34": (abs(models.loc["DeepSeek-R1", "relative"]), "DeepSeek-R1, relative change"),
        "-0.14": (models.loc["Qwen3-235B", "estimate"], "Qwen3-235B"),
        "-0.22": (models.loc["DeepSeek-R1", "estimate"], "DeepSeek-R1"),
        "+0.27": (domain["Academic"], "Academic"),
    }
    for r in every.to_dict("records"):
        if r["kind"] == "range":
            value, comment = ends[r["delta"]]
            yield Check(r["place"], f"range of shifts, {r['subgroup']}", r["delta"], float(value), comment)
        elif r["kind"] == "domain" and r["unit"] == "percent":
            comment = "100 times the shift in r, not a relative change: the baseline is not printed"
            yield Check(r["place"], f"{r['subgroup']}, shift in %", r["delta"], 100 * domain[r["subgroup"]], comment)


def _sign_checks() -> Iterator[Check]:
    third = load("consensus_illusion/table3").rename(columns={"baseline": "before", "merg": "after"})
    own = third[~mean_rows(third, ["pair", "temperature"])]
    fell = int((own["after"] < own["before"]).sum())
    said = int(_validity("conditions")[0]["value"])
    for place, value in (("Section 3.1", _validity("binomial p")[0]["value"]), ("Table 3", _validity("p")[0]["value"])):
        comment = f"one-sided; two-sided {sign_p(said, said):.5f}"
        yield Check(place, f"sign test, {said} of {said} conditions", f"< {value}", sign_p(said, said, "less"), comment)
    comment = f"Table 3 has {len(third)} rows, {len(third) - len(own)} of them means; one-sided"
    p = sign_p(fell, len(own), "less")
    yield Check("Table 3", f"sign test, the {len(own)} printed conditions that are not means", "< 0.001", p, comment)


def _ablation_checks() -> Iterator[Check]:
    raw = load("consensus_illusion/table6", printed=True)
    means = ablation().groupby(["model", "variant"])["r"].mean()
    printed = raw[raw["pair"] == "average"]
    above: dict[str, float] = {}
    average: dict[tuple[str, str], float] = {}
    for r in printed.to_dict("records"):
        model, variant = r["model"], r["variant"]
        what = f"{model}, {variant}"
        value = float(means[(model, variant)])
        room = _half(r["r"]) + 0.0005
        yield Check("Table 6", f"{what}, average", r["r"], value, "of the pairs that are there", tolerance=room)
        if model in above:
            yield Check("Table 6", f"{what}, Δr", r["delta_r"], float(r["r"]) - above[model], "from printed averages")
        above[model] = average[(model, variant)] = float(r["r"])
    yield from _rubric_checks(average)


def _rubric_checks(average: dict[tuple[str, str], float]) -> Iterator[Check]:
    models = sorted({m for m, _ in average})
    name = {
        "Original": "Original 4-Stage",
        "5-Dim": "5-Dim Per-Dim",
        "Shared": "Shared Stages",
        "Universal": "Universal (t=0.0)",
    }
    mean = {k: sum(average[(m, v)] for m in models) / len(models) for k, v in name.items()}
    ablated = pd.DataFrame({"before": [mean["5-Dim"]], "after": [mean["Original"]]})
    share = -agreement_shift(ablated, relative=True)["estimate"].iloc[0]
    for r in _validity("rubric structure share percent"):
        comment = "(0.6225 - 0.239) / 0.6225"
        yield Check(r["place"], "share from rubric structure, %", r["value"], 100 * float(share), comment)
    ends = {"progression r first end": "Original", "progression r second end": "5-Dim"}
    for quantity, variant in ends.items():
        for r in _validity(quantity):
            yield Check(r["place"], f"mean r, {variant}", r["value"], mean[variant], "mean of the two models")
    for r in _validity("average r"):
        variant, _, model = r["scope"].partition(", ")
        value = average[(model, name[variant])] if model else mean[variant]
        yield Check(r["place"], f"{r['scope']}, average r", r["value"], value, "from Table 6")
    steps = list(name)
    for r in _validity("delta r"):
        variant, _, model = r["scope"].partition(", ")
        before = name[steps[steps.index(variant) - 1]]
        value = average[(model, name[variant])] - average[(model, before)]
        yield Check(r["place"], f"{r['scope']}, Δr", r["value"], value, "from Table 6")
    ratios = sorted(average[(m, name["5-Dim"])] / average[(m, name["Original"])] for m in models)
    for end, value in zip(("low", "high"), ratios, strict=True):
        r = _validity(f"ratio 5-Dim to Original {end} end")[0]
        yield Check(r["place"], f"5-Dim over Original, {end}", r["value"], value, "from Table 6")


def _case_checks() -> Iterator[Check]:
    table: Any = load("consensus_illusion/cases", printed=True)
    for r in table[table["spread"] != ""].to_dict("records"):
        scores = [float(r[j]) for j in ("claude", "gemini", "gpt")]
        room = _half(r["spread"]) + 2 * max(_half(r[j]) for j in ("claude", "gemini", "gpt"))
        value = max(scores) - min(scores)
        yield Check(r["place"], f"{r['case']}, spread", r["spread"], value, tolerance=room)
