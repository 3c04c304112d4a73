"""Every printed number of merchant_risk that the public measures give from its scores."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd
from scipy.stats import t as student

from judgestats.metrics.consensus import blinding_effect, consensus_deviation
from judgestats.published.catalogue import load
from judgestats.published.paper_tables import MODEL_OF, panel, scores
from measured.checks import Check

#: MCCs behind each correlation of Section 5.2: five levels of three. Not printed; it reproduces p = 0.063.
N_PICKS = 15


def checks() -> Iterator[Check]:
    """Every printed number that others determine, beside its recomputed twin."""
    yield from _final_checks()
    yield from _bias_checks()
    yield from _attenuation_checks()
    yield from _panel_checks()
    yield from _correlation_checks()
    picks = load("merchant_risk/picks")
    yield Check("Section 5.1", "distinct MCCs picked", "39", float(picks["mcc"].nunique()))


def _final_checks() -> Iterator[Check]:
    """The final score is the mean of the criteria, within what their printing allows."""
    for i in range(1, 11):
        table = load(f"merchant_risk/table{i}", printed=True)
        for system, here in table.groupby("system", sort=False):
            means = here.set_index("criterion")["mean"]
            final = means.pop("final")
            half = 0.5 * 10.0 ** -len(final.partition(".")[2])
            yield Check(
                f"Table {i}",
                f"{here['judge'].iloc[0]} on {system}, final",
                final,
                float(means.astype(float).mean()),
                "mean of the five criteria",
                tolerance=0.05 + half,
            )


def _bias_checks() -> Iterator[Check]:
    deviations = consensus_deviation(scores(), by="condition")
    own = deviations[(deviations["term"] == "deviation") & deviations["own"].eq(True)].set_index(
        ["judge", "condition"]
    )["estimate"]
    for r in load("merchant_risk/self_bias", printed=True).to_dict("records"):
        value = float(own[(MODEL_OF[r["system"]], r["condition"])])
        yield Check("Section 4.3.1", f"{r['system']} on itself, {r['condition']}", r["bias"], value)


def _attenuation_checks() -> Iterator[Check]:
    rounded = _attenuations(round_first=2)
    exact = _attenuations(round_first=None)
    for r in load("merchant_risk/attenuation", printed=True).to_dict("records"):
        name = r["system"] if r["system"] == "mean" else MODEL_OF[r["system"]]
        comment = f"from biases rounded to two decimals; unrounded {exact[name]:.1f}"
        yield Check("Section 4.3.2", f"attenuation, {r['system']}", r["attenuation_percent"], rounded[name], comment)


def _attenuations(round_first: int | None) -> dict[str, float]:
    table = blinding_effect(scores(), round_first=round_first)
    each = table[table["term"] == "attenuation"].set_index("judge")["estimate"].to_dict()
    return {**each, "mean": float(table.loc[table["term"] == "mean_attenuation", "estimate"].iloc[0])}


def _panel_checks() -> Iterator[Check]:
    table = consensus_deviation(scores(), reference=panel(), by="condition")
    pairs = table[table["term"] == "deviation"]
    printed = load("merchant_risk/human_bias", printed=True).to_dict("records")
    for r in printed:
        here = pairs[pairs["condition"] == r["condition"]]
        if r["quantity"] == "mean bias":
            value: float = here["estimate"].mean()
        elif r["quantity"] == "positive pairs":
            value = float((here["estimate"] > 0).sum())
        elif r["quantity"] == "pairs":
            value = float(len(here))
        elif r["condition"] in ("attributed", "anonymized"):
            value = float(
                here.loc[(here["judge"] == MODEL_OF[r["quantity"]]) & here["own"].eq(True), "estimate"].iloc[0]
            )
        else:
            yield _range_check(r, pairs)
            continue
        yield Check("Section 4.4, Figure 9", f"{r['quantity']}, {r['condition']}", r["value"], value)


def _range_check(r: dict[str, str], pairs: pd.DataFrame) -> Check:
    """An end of the ranges of Section 7.2: the lower or the higher of the two conditions."""
    own = pairs[(pairs["judge"] == MODEL_OF[r["quantity"]]) & pairs["own"].eq(True)]["estimate"]
    end = own.min() if r["condition"] == "range_low" else own.max()
    which = f"{r['quantity']} against people, {r['condition'].replace('_', ' ')}"
    return Check("Section 7.2", which, r["value"], float(end), "the range is printed without its conditions")


def _correlation_checks() -> Iterator[Check]:
    for r in load("merchant_risk/correlations", printed=True).to_dict("records"):
        rho = float(r["rho"])
        statistic = rho * math.sqrt((N_PICKS - 2) / (1 - rho**2))
        p = 2 * float(student.sf(statistic, N_PICKS - 2))
        half = 0.005 * 2 * student.pdf(statistic, N_PICKS - 2) * math.sqrt(N_PICKS - 2) / (1 - rho**2) ** 1.5
        yield Check(
            "Section 5.2",
            f"{r['system']}, p of ρ = {r['rho']}",
            r["p"],
            p,
            f"t with N = {N_PICKS}",
            tolerance=None if r["p"].startswith("<") else half,
        )
