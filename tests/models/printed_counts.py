"""Counts of outcomes, as published tables print them and as a judge's tally."""

from __future__ import annotations

import pandas as pd

from judgestats.published import load

#: Numbers of the tables of the rationalization paper, by probe.
TABLES = {"blind": 2, "truth": 3, "flip": 4, "placebo": 5}


def printed_tables(*probes):
    return {p: load(f"rationalization/table{TABLES[p]}") for p in probes}


def outcomes_table(probes):
    parts = [t.melt(["judge", "scheme"], ["tie", "llm", "tradml"], "outcome", "n").assign(probe=p)
             for p, t in printed_tables(*probes).items()]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def table7():
    table = load("debiasing/table7").rename(columns={"bias": "score"})
    return table.assign(score=table["score"].astype(float), n=20, bias="style")


def table8():
    table = load("debiasing/table8", printed=True)
    table = table[table["measure"] == "expansion_bias"].rename(columns={"value": "score"})
    return table.assign(score=table["score"].astype(float), n=50)[["judge", "strategy", "score", "n"]]


def outcome_counts(target, other, tie, judge="g", **more):
    return pd.DataFrame({"judge": judge, "outcome": ["target", "other", "tie"], "n": [target, other, tie], **more})
