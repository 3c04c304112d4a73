"""A small dark-current design with known answers, for tests."""

from __future__ import annotations

import numpy as np
import pandas as pd


def instrument_calls(
    judge: str = "g", prompt: str = "base", *, tasks: int = 10, seed: int = 0, criterion: float = 0.3
) -> pd.DataFrame:
    """Calls of one judge on vacuum, Δ0 and ladder stimuli, both orders each, from a simple threshold model."""
    rng = np.random.default_rng(seed)
    rows = []

    def ask(task: int, item: str, u: str, v: str, gap: float, **columns: object) -> None:
        lean = columns.pop("lean", 0.1)
        for first, second, sign in ((u, v, 1.0), (v, u, -1.0)):
            signal = sign * gap + float(lean) + rng.normal(0, 0.5)
            choice = "tie" if abs(signal) < criterion else "first" if signal > 0 else "second"
            rows.append(
                {
                    "judge": judge,
                    "prompt": prompt,
                    "task": f"t{task}",
                    "item": item,
                    "first": first,
                    "second": second,
                    "choice": choice,
                    **columns,
                }
            )

    for task in range(tasks):
        for kind in ("empty", "whitespace", "identical"):
            ask(task, f"t{task}/{kind}", "x", "x'", 0.0, stimulus="vacuum", vacuum_kind=kind)
        for k in range(6):
            ask(task, f"t{task}/same{k}", "a", "b", 0.05, stimulus="same_subset")
        for k in range(3):
            ask(task, f"t{task}/different{k}", "a", "c", 0.1, stimulus="different_subset")
        for k in range(2):
            ask(task, f"t{task}/filler{k}", "clean", "padded", -0.2, stimulus="filler", target="padded")
        for delta in range(1, 6):
            for k in range(6 - delta):
                ask(
                    task,
                    f"t{task}/ladder{delta}.{k}",
                    "high",
                    "low",
                    0.3 * delta,
                    stimulus="ladder",
                    delta=float(delta),
                    better="high",
                )
    return pd.DataFrame(rows)


def suited(calls: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Give the calls the columns that a measure needs beside a datasheet's: a target, a gold label, strategies, probes."""
    named = calls[["first", "second"]].min(axis=1)
    if measure == "bias_score":
        return calls.assign(target=named, bias=np.where(calls["task"] < "t2", "style", "length"))
    if measure == "gold_agreement":
        tie = np.random.default_rng(5).random(len(calls)) < 0.2
        return calls.assign(gold=np.where(tie, "tie", named))
    column = {
        "compare_strategies": "strategy",
        "bias_change": "strategy",
        "anchoring": "probe",
        "revision": "probe",
    }.get(measure)
    if column is None:
        return calls
    values = ("B0", "S1") if column == "strategy" else ("blind", "truth")
    answers = calls["choice"].to_numpy()
    moved = np.roll(answers, 7)  # another answer for some, still one of those that occur
    parts = [calls.assign(**{column: v, "choice": c}) for v, c in zip(values, (answers, moved), strict=True)]
    low = pd.concat([named, named], ignore_index=True)
    both = pd.concat(parts, ignore_index=True).assign(gold=low, target=low)
    return both.assign(scheme="baseline") if column == "probe" else both
