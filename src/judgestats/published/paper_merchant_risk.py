"""The merchant_risk paper: its score tables as ratings."""

from __future__ import annotations

from typing import Literal

import pandas as pd

from judgestats.published.catalogue import load

Condition = Literal["attributed", "anonymized"]

#: The paper spells its five models in several ways; this is the spelling of the judges in Appendix E.
MODELS = {
    "GPT-5.1": ("Expert 1",),
    "Gemini 2.5 Pro": ("Gemini 2.5", "Gemini-2.5", "Gemini-2.5 Pro", "Expert 2"),
    "Grok 4": ("Grok-4", "Expert 3"),
    "Claude 4.5 Sonnet": ("Claude 4.5", "Claude-4.5", "Claude-4.5 Sonnet", "Expert 4"),
    "Perplexity Sonar": ("Expert 5",),
}
_MODEL_OF = {alias: model for model, aliases in MODELS.items() for alias in (model, *aliases)}


def scores(level: Literal["final", "criterion"] = "final") -> pd.DataFrame:
    """Tables 1 to 10 as a ratings frame of means: ``judge, system, item, criterion, condition, mean, sd, runs``."""
    table = pd.concat([load(f"merchant_risk/table{i}") for i in range(1, 11)], ignore_index=True)
    table = table.assign(system=table["system"].map(_MODEL_OF), item="rationales")
    final = table["criterion"] == "final"
    columns = ["judge", "system", "item", "criterion", "condition", "mean", "sd", "runs"]
    return table.loc[final if level == "final" else ~final, columns].reset_index(drop=True)


def panel() -> pd.DataFrame:
    """The 26 experts' final scores (Section 3.5): ``system, mean, sd, runs``, the runs being experts."""
    table = load("merchant_risk/human_panel").rename(columns={"experts": "runs"})
    return table.assign(system=table["system"].map(_MODEL_OF))
