"""The papers' printed tables in the form that the measures take: tallies of counts, ratings, means."""

from __future__ import annotations

from typing import Literal

import pandas as pd

from judgestats.errors import AuditError
from judgestats.published.catalogue import load

#: Half of the last printed digit of Table 6.
PRECISION = 5e-5
STRICT = "Qwen32B strict criterion"


def count_of(printed: str, n: int) -> int:
    """Whole number k of n behind a share printed to four decimals; an AuditError if there is none."""
    k = round(float(printed) * n)
    if abs(k / n - float(printed)) > PRECISION:
        raise AuditError(f"No whole number of {n} gives the printed share {printed}.")
    return k


def table6() -> pd.DataFrame:
    """Table 6 as printed, its judges spelled as in the other tables."""
    table = load("dark_current/table6", printed=True)
    return table.assign(judge=table["judge"].str.replace(" + ", " ", regex=False))


def _counts(metric: str) -> dict[str, tuple[int, int]]:
    """Judge -> (k, n) of a metric of Table 6, where it was measured."""
    table = table6()
    rows = table[(table["metric"] == metric) & (table["n"] != "N/A")]
    return {r["judge"]: (count_of(r["estimate"], int(r["n"])), int(r["n"])) for r in rows.to_dict("records")}


def vacuum_counts() -> pd.DataFrame:
    """Tally of the vacuum calls (Table 6): ``judge, choice, n``, a false preference counted as ``first``."""
    rows = []
    for judge, (k, n) in _counts("dark current false preference").items():
        rows += [(judge, "first", k), (judge, "tie", n - k)]
    return pd.DataFrame(rows, columns=["judge", "choice", "n"])


def delta0_counts() -> pd.DataFrame:
    """Tally of the Δ0 pairs (Table 6): ``judge, forward, reverse, n``; which side was chosen is not printed."""
    raw = _counts("raw delta0 false preference")
    stable = _counts("stable cross-sensitivity decomposition")
    positional = _counts("positional false preference decomposition")
    rows = []
    for judge, (non_ties, calls) in raw.items():
        (s, pairs), (p, _) = stable[judge], positional[judge]
        one_sided = non_ties - 2 * (s + p)
        none = pairs - s - p - one_sided
        if calls != 2 * pairs or one_sided < 0 or none < 0:
            raise AuditError(f"The printed Δ0 rates of {judge} have no whole-number solution.")
        answers = (("first", "second", s), ("first", "first", p), ("first", "tie", one_sided), ("tie", "tie", none))
        rows += [(judge, forward, reverse, n) for forward, reverse, n in answers]
    return pd.DataFrame(rows, columns=["judge", "forward", "reverse", "n"])


def ladder_counts() -> pd.DataFrame:
    """Tally of the ladder calls at Δ1 and Δ5 (Table 6): ``judge, delta, outcome, n``. Δ2 to Δ4 are not printed."""
    rows = []
    for delta in (1, 5):
        ties = _counts(f"Δ{delta} tie rate")
        for judge, (k, n) in _counts(f"target sensitivity Δ{delta}").items():
            tie = ties[judge][0]
            rows += [(judge, delta, "correct", k), (judge, delta, "tie", tie), (judge, delta, "wrong", n - k - tie)]
    return pd.DataFrame(rows, columns=["judge", "delta", "outcome", "n"])


def criterion_counts() -> pd.DataFrame:
    """Tally for the criterion shift of Qwen32B (Tables 4 and 6): base and strict prompt on Δ0, Δ1 and Δ5."""
    prompts = {"Qwen32B": "base", STRICT: "strict"}
    equal = _counts("raw delta0 false preference")
    rows: list[tuple[str, str, float | None, str, int]] = []
    for judge, prompt in prompts.items():
        k, n = equal[judge]
        rows += [(prompt, "same_subset", None, "preference", k), (prompt, "same_subset", None, "tie", n - k)]
    ladder = ladder_counts()
    for r in ladder[ladder["judge"].isin(list(prompts))].to_dict("records"):
        rows.append((prompts[r["judge"]], "ladder", float(r["delta"]), r["outcome"], r["n"]))
    table = pd.DataFrame(rows, columns=["prompt", "stimulus", "delta", "outcome", "n"])
    table["delta"] = table["delta"].astype(float)
    return table.assign(judge="Qwen32B")


#: The paper spells its five models in several ways; this is the spelling of the judges in Appendix E.
MODELS = {
    "GPT-5.1": ("Expert 1",),
    "Gemini 2.5 Pro": ("Gemini 2.5", "Gemini-2.5", "Gemini-2.5 Pro", "Expert 2"),
    "Grok 4": ("Grok-4", "Expert 3"),
    "Claude 4.5 Sonnet": ("Claude 4.5", "Claude-4.5", "Claude-4.5 Sonnet", "Expert 4"),
    "Perplexity Sonar": ("Expert 5",),
}
MODEL_OF = {alias: model for model, aliases in MODELS.items() for alias in (model, *aliases)}


def scores(level: Literal["final", "criterion"] = "final") -> pd.DataFrame:
    """Tables 1 to 10 as a ratings frame of means: ``judge, system, item, criterion, condition, mean, sd, runs``."""
    table = pd.concat([load(f"merchant_risk/table{i}") for i in range(1, 11)], ignore_index=True)
    table = table.assign(system=table["system"].map(MODEL_OF), item="rationales")
    final = table["criterion"] == "final"
    columns = ["judge", "system", "item", "criterion", "condition", "mean", "sd", "runs"]
    return table.loc[final if level == "final" else ~final, columns].reset_index(drop=True)


def panel() -> pd.DataFrame:
    """The 26 experts' final scores (Section 3.5): ``system, mean, sd, runs``, the runs being experts."""
    table = load("merchant_risk/human_panel").rename(columns={"experts": "runs"})
    return table.assign(system=table["system"].map(MODEL_OF))


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
    listed = load("consensus_illusion/delta_k", printed=True)
    table = pd.concat([listed, third, seventh], ignore_index=True)[list(listed.columns)]
    table = table[(table["baseline"] != "") & (table["merg"] != "")].reset_index(drop=True)
    table = table.rename(columns={"baseline": "before", "merg": "after"})
    return table.astype({"before": float, "after": float}).drop(columns="unit")


#: Tables of outcome counts, and the probe of each.
TABLES = {"table2": "blind", "table3": "truth", "table4": "flip", "table5": "placebo"}
#: The side that the cue favours: Section IV.C c for Truth and Flip, the caption of Table VIII for Placebo.
FAVOURED = {"truth": "llm", "flip": "tradml", "placebo": "llm"}
OUTCOMES = ("tie", "llm", "tradml")


def outcomes() -> pd.DataFrame:
    """Tables II to V as a tally: ``judge, scheme, probe, outcome, n``."""
    wide = [load(f"rationalization/{name}").assign(probe=probe) for name, probe in TABLES.items()]
    parts = [t.melt(["judge", "scheme", "probe"], list(OUTCOMES), "outcome", "n") for t in wide]
    return pd.concat(parts, ignore_index=True)[["judge", "scheme", "probe", "outcome", "n"]]
