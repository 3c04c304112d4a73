"""The debiasing paper: the numbers of its text, its appendices and its Tables 7 to 9, recomputed."""

from __future__ import annotations

import math
from collections.abc import Iterator

from judgestats.kernels.proportions import normal_quantile
from judgestats.metrics.bias import pareto_front
from judgestats.published.catalogue import load
from measured.checks import Check
from measured.debiasing_tables import (
    LLMBAR,
    MT_BENCH,
    design_of,
    human_percent,
    lengths,
    markdown,
    people,
    ranges_of,
    regression,
    share,
    styles,
    tie_shares,
)

_SWAPPED = ("Gemini 2.5 Pro", "GPT-4o", "Llama 3.3-70B")
_FRONT = ("Claude Sonnet 4", "Gemini 2.5 Flash", "Llama 3.3-70B")


def claim_checks() -> Iterator[Check]:
    """Checks of biases, ranges, the human study, costs and the design."""
    yield from _bias_checks()
    yield from _range_checks()
    yield from _human_checks()
    yield from _cost_checks()
    yield from _design_checks()


def _bias_checks() -> Iterator[Check]:
    topics = load("debiasing/table7", printed=True).set_index(["judge", "topic"])["bias"]
    measures = {"verbosity": "expansion_bias", "truncation accuracy": "truncation_accuracy"}
    for r in load("debiasing/bias_scores", printed=True).to_dict("records"):
        judge, bias, strategy = r["judge"], r["bias"], r["strategy"]
        name = f"{judge}, {strategy}, {bias}"
        if bias == "style" and strategy == "B0":
            yield Check(r["place"], name, r["value"], styles()[judge], "mean of the five topics of Table 7")
        elif bias.startswith("style, "):
            yield Check(r["place"], name, r["value"], float(topics[judge, bias.partition(", ")[2]]), "Table 7")
        elif bias in measures:
            yield Check(r["place"], name, r["value"], float(lengths()[judge, measures[bias], strategy]), "Table 8")
    for (judge, measure, strategy), printed in lengths().items():
        n = int(design_of("Table 8 caption")["expansion_n" if measure == "expansion_bias" else "truncation_n"])
        whole = round(float(printed) * n) / n
        yield Check("Table 8", f"{judge}, {strategy}, {measure}", printed, whole, f"a whole number of {n}")
    for (judge, topic), printed in topics.items():
        whole = round(float(printed) * 20) / 20
        yield Check("Table 7", f"{judge}, {topic}", printed, whole, "a whole number of 20")


def _range_checks() -> Iterator[Check]:
    leanings = list(styles().values())
    rates = {j: 100 * k / 30 for j, k in markdown().items()}
    for quantity, values, source in (
        ("style bias at B0", leanings, "Table 7"),
        ("verbosity bias at B0", _longer(), "Table 8"),
        ("truncation accuracy", _of_table8("truncation_accuracy", {"B0", "S5", "S8"}), "Table 8"),
        ("markdown rate of four judges, percent", _largest(rates), "Table 9"),
        ("markdown rate of four judges", [v / 100 for v in _largest(rates)], "Table 9"),
        ("gap to human markdown rate, four judges, pp", [v - human_percent() for v in _largest(rates)], "Table 9"),
        ("gap to human markdown rate, Gemini", [rates[j] - human_percent() for j in rates if "Gemini" in j], "Table 9"),
        ("tie rate on MT-Bench, percent", [100 * v for v in tie_shares().values()], "Table 3"),
        ("baseline correctness", [share(MT_BENCH, j, "B0") for j in rates], "Table 1, B0; printed with about"),
        ("S1 change on MT-Bench", [_swap(MT_BENCH, j) for j in _SWAPPED], "Table 1"),
        ("S1 change on LLMBar", [_swap(LLMBAR, j) for j in rates], "Table 2"),
        ("S1 loss on LLMBar", [-_swap(LLMBAR, j) for j in rates], "Table 2"),
    ):
        for r in ranges_of(quantity):
            if r["quantity"].endswith("percent") != quantity.endswith("percent"):
                continue
            chosen = _of_judges(r, values)
            loose = 0.02 if "about" in source else None
            for end, value in (("low", min(chosen)), ("high", max(chosen))):
                yield Check(r["place"], f"{r['quantity']}, {end}", r[end], float(value), source, loose)


def _of_judges(r: dict[str, str], values: list[float]) -> list[float]:
    """The values of those judges that a printed range is about."""
    if r["quantity"].startswith("style bias at B0") and r["low"] == "0.40":
        return [v for j, v in styles().items() if j != "GPT-4o"]
    return values


def _of_table8(measure: str, strategies: set[str]) -> list[float]:
    return [float(v) for (_, m, s), v in lengths().items() if m == measure and s in strategies]


def _longer() -> list[float]:
    """Expansion bias of the three judges that prefer the longer."""
    judges = ("Gemini 2.5 Pro", "Gemini 2.5 Flash", "Llama 3.3-70B")
    return [float(lengths()[j, "expansion_bias", "B0"]) for j in judges]


def _largest(rates: dict[str, float]) -> list[float]:
    return sorted(rates.values())[1:]


def _swap(benchmark: str, judge: str) -> float:
    return 100 * (share(benchmark, judge, "S1") - share(benchmark, judge, "B0"))


def _human_checks() -> Iterator[Check]:
    for r in load("debiasing/table9", printed=True).to_dict("records"):
        n = int(r["n"])
        for side in ("markdown", "prose"):
            k = round(float(r[side]) * n)
            if r["rater"] == "Aggregate":
                k = people()[0] if side == "markdown" else n - people()[0]
            yield Check("Table 9", f"{r['rater']}, {side}", r[side], k / n, f"{k} of {n}")
        if r["group"] == "judge":
            gap = markdown()[r["rater"]] / 30 - human_percent() / 100
            yield Check("Table 9", f"{r['rater']}, gap", r["gap"], gap, "to the 34 of 60 of both annotators")
    yield from _human_text_checks()


def _human_text_checks() -> Iterator[Check]:
    part, n = human_percent() / 100, people()[1]
    half = normal_quantile(0.95) * math.sqrt(part * (1 - part) / n)
    gap = {j: 100 * k / 30 - human_percent() for j, k in markdown().items()}
    upper = round(part, 2) + round(half, 2)
    twins = {
        "human markdown percent": 100 * part,
        "human markdown rate": part,
        "verdicts": float(n),
        "GPT-4o markdown percent": 100 * markdown()["GPT-4o"] / 30,
        "GPT-4o distance from the human rate, pp (within)": abs(gap["GPT-4o"]),
        "Gemini 2.5 Flash and Pro gap, pp, low": gap["Gemini 2.5 Flash"],
        "Gemini 2.5 Flash and Pro gap, pp, high": gap["Gemini 2.5 Pro"],
        "Claude Sonnet 4 gap, pp": gap["Claude Sonnet 4"],
        "Llama 3.3-70B gap, pp": gap["Llama 3.3-70B"],
        "GPT-4o gap, pp": gap["GPT-4o"],
        "95 percent interval half-width on the human markdown rate": half,
        "upper bound of that interval": upper,
        "Gemini 2.5 Pro markdown rate": markdown()["Gemini 2.5 Pro"] / 30,
        "Gemini 2.5 Pro excess over the upper bound (printed with pp)": round(markdown()["Gemini 2.5 Pro"] / 30, 2)
        - upper,
    }
    told = {"upper bound of that interval": f"0.57 + 0.13 as printed; unrounded {part + half:.3f}"}
    for r in load("debiasing/human_study", printed=True).to_dict("records"):
        if r["quantity"] in twins:
            comment = told.get(r["quantity"], "Table 9")
            yield Check(r["place"], r["quantity"], r["value"], twins[r["quantity"]], comment)


def _cost_checks() -> Iterator[Check]:
    kappas = load("debiasing/table6", printed=True).set_index(["judge", "strategy"])["kappa"]
    for r in load("debiasing/cost_frontier", printed=True).to_dict("records"):
        key = (r["judge"], r["strategy"])
        name = f"{key[0]}, {key[1]}"
        if r["agreement"]:
            percent = 1 if float(r["agreement"]) <= 1 else 100
            value = percent * share(MT_BENCH, *key)
            yield Check(r["place"], f"{name}, agreement", r["agreement"], value, "Table 1")
        if r["kappa"]:
            yield Check(r["place"], f"{name}, kappa", r["kappa"], float(kappas[key]), "Table 6")
        if r["p"]:
            yield same_p(r["place"], f"{name}, p", r["p"], str(regression().loc[key, "p"]))
    for r in load("debiasing/strategies", printed=True).to_dict("records"):
        if r["calls"]:
            yield Check(
                "Section 3.3", f"{r['strategy']}, cost multiplier", r["cost_multiplier"], float(r["calls"]), "calls"
            )
    yield from _frontier_checks()


def _frontier_checks() -> Iterator[Check]:
    points = load("debiasing/cost_frontier", printed=True)
    points = points[points["place"] == "Appendix H"].assign(
        cost=lambda t: t["cost_usd"].astype(float), estimate=lambda t: t["agreement"].astype(float)
    )
    front = pareto_front(points).set_index("judge")
    yield Check(
        "Appendix H", "points on the frontier", str(len(_FRONT)), float(front["on_front"].sum()), "of those printed"
    )
    for judge in _FRONT:
        beaten = front.loc[judge, "dominated_by"]
        comment = f"dominated by {beaten}" if beaten else ""
        yield Check("Appendix H", f"{judge}, S8, on the frontier", "yes", "no" if beaten else "yes", comment)
    cost = points.set_index("judge")["cost"]
    ratio = float(cost["Claude Sonnet 4"] / cost["Gemini 2.5 Flash"])
    printed = design_of("Abstract")["cost_ratio_claude_s8_to_flash_s8"]
    yield Check("Abstract", "cost of Claude S8 over Flash S8", printed, ratio, "Appendix H")


def _design_checks() -> Iterator[Check]:
    a, d, controlled = design_of("Appendix A"), design_of("Appendix D"), design_of("Section 3.4")
    pairs = load("debiasing/dataset")["pairs"].astype(int).sum()
    yield Check("Appendix A", "controlled pairs", a["custom_n"], float(pairs), "sum of the pair types")
    expanded = int(a["expanded_words"]) / int(a["base_words"])
    yield Check("Appendix A", "expansion ratio", a["expansion_ratio"], expanded)
    kept = 100 * int(a["truncated_words"]) / int(a["long_words"])
    yield Check("Appendix A", "truncation percent", a["truncation_percent"], kept, "printed with about", tolerance=5)
    slots = float(int(a["expanded_in_slot_a"]) + int(a["base_in_slot_a"]))
    yield Check("Table 8 caption", "expansion pairs", design_of("Table 8 caption")["expansion_n"], slots, "by slot")
    robin = float(int(a["round_robin_pairings"]) * int(a["round_robin_pairs_per_pairing"]))
    yield Check("Appendix A", "round-robin pairs", a["round_robin_pairs"], robin)
    first = float(int(controlled["custom_original_pairs"]) + int(controlled["custom_truncation_pairs"]))
    yield Check("Section 3.4", "controlled pairs", controlled["custom_n"], first)
    widths = load("debiasing/table1")
    half = (widths["conf_high"].astype(float) - widths["conf_low"].astype(float)).max() / 2
    yield Check(
        "Section 3.4", "half-width of the intervals", controlled["agreement_ci_half_width"], float(half), "Table 1"
    )
    observations = float(int(d["instances_in_regression"]) * int(d["strategies_in_regression"]))
    yield Check("Appendix D", "observations per judge", d["observations_per_judge"], observations)
    threshold = float(d["alpha"]) / int(d["pro_s1_adjusted_threshold_divisor"])
    yield Check("Appendix D", "adjusted threshold", d["pro_s1_adjusted_threshold"], threshold)


def same_p(place: str, quantity: str, printed: str, known: str) -> Check:
    """A p-value that is printed elsewhere too, perhaps with fewer digits."""
    if known.startswith("<") or printed.startswith("<"):
        return Check(place, quantity, printed, known, "Table 5")
    digits = min(len(x.partition(".")[2]) for x in (printed, known))
    tolerance = 0.5 * 10.0**-digits if len(printed) != len(known) else None
    return Check(place, quantity, printed, float(known), "Table 5", tolerance)
