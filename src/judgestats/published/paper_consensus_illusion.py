"""The consensus_illusion paper: its tables of means and correlations as the measures take them."""

from __future__ import annotations

import pandas as pd

from judgestats.published.catalogue import load


def rankings() -> pd.DataFrame:
    """Table 9 as :func:`quality_agreement` and :func:`ordering_accuracy` take it: ``system, tier, mean_score, r``."""
    return load("consensus_illusion/table9").rename(columns={"model": "system"})


def shifts() -> pd.DataFrame:
    """Every printed shift whose two parts are printed: ``place, kind, subgroup, temperature, before, after, delta``."""
    third, seventh = (load(f"consensus_illusion/table{i}", printed=True) for i in (3, 7))
    kind = third["pair"].map({"Mean": "mean"}).fillna("pair")
    third = third.rename(columns={"pair": "subgroup"}).assign(place="Table 3", kind=kind)
    names = seventh["model"].map({"DS-R1": "DeepSeek-R1", "Q3-235B": "Qwen3-235B"}) + " " + seventh["language"]
    seventh = seventh.assign(place="Table 7", kind="model-language", subgroup=names, temperature="0.0")
    told = load("consensus_illusion/delta_k", printed=True)
    table = pd.concat([told, third, seventh], ignore_index=True)[list(told.columns)]
    table = table[(table["baseline"] != "") & (table["merg"] != "")].reset_index(drop=True)
    table = table.rename(columns={"baseline": "before", "merg": "after"})
    return table.astype({"before": float, "after": float}).drop(columns="unit")


def ablation() -> pd.DataFrame:
    """Table 6: ``model, variant, pair, r``, a row for each correlation of a pair of judges that is printed."""
    table = load("consensus_illusion/table6", printed=True)
    table = table[(table["pair"] != "average") & (table["r"] != "N/A")]
    return table[["model", "variant", "pair", "r"]].astype({"r": float}).reset_index(drop=True)


def mean_spread() -> float:
    """Mean spread of Appendix C, half the sum of the three mean absolute differences; it is not printed."""
    table = load("consensus_illusion/spread")
    return float(table.loc[table["quantity"] == "mean absolute difference", "value"].sum() / 2)
