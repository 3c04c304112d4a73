"""Made-up data for the tests of the report: a dark-current design of judges with known habits, ratings, plain verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgestats.schema import preferences, ratings

#: Judge -> how often it prefers in vacuum, its habit between equals, and its sensitivity at the steps 1 to 5.
HABITS: dict[str, tuple[float, tuple[float, float, float], tuple[float, ...]]] = {
    "Llama8B": (0.67, (0.03, 0.97, 0.0), (0.61, 0.65, 0.72, 0.78, 1.0)),
    "Qwen14B": (0.0, (0.45, 0.53, 0.02), (1.0, 1.0, 1.0, 1.0, 1.0)),
    "Qwen32B": (0.0, (0.0, 0.08, 0.35), (0.94, 0.97, 1.0, 1.0, 1.0)),
}


def dark_current_design(
    judges: Sequence[str] = tuple(HABITS), seed: int = 0, prompts: Sequence[str] = ()
) -> pd.DataFrame:
    """Vacuum, equal and ladder calls in both orders; judges beyond the known ones take their habits in turn."""
    rng = np.random.default_rng(seed)
    known = list(HABITS.values())
    rows: list[dict[str, Any]] = []
    for j, judge in enumerate(judges):
        habit = HABITS.get(judge, known[j % len(known)])
        for prompt in prompts or ("",):
            rows += [
                {"judge": judge, "prompt": prompt, **r} for r in _one_judge(rng, *habit, strict=prompt == "strict")
            ]
    table = pd.DataFrame(rows)
    return preferences(table if prompts else table.drop(columns="prompt"))


def _one_judge(
    rng: np.random.Generator, dark: float, habit: tuple[float, float, float], curve: Sequence[float], *, strict: bool
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for i in range(60):
        kind = ("empty", "whitespace", "identical")[i % 3]
        for first, second in (("u", "v"), ("v", "u")):
            choice = "first" if rng.random() < dark else "tie"
            rows.append(_call("vacuum", i, first, second, choice, vacuum_kind=kind))
    for i in range(60):
        draw = rng.random()
        stable, positional, one_sided = np.cumsum(habit)
        pair = (
            ("first", "second")
            if draw < stable
            else ("first", "first")
            if draw < positional
            else (("first", "tie") if draw < one_sided else ("tie", "tie"))
        )
        pair = ("tie", "tie") if strict else pair
        rows.append(_call("same_subset", i, "u", "v", pair[0]))
        rows.append(_call("same_subset", i, "v", "u", pair[1]))
    for delta, p in enumerate(curve, start=1):
        for i in range(10 * (6 - delta)):
            for first, second in (("u", "v"), ("v", "u")):
                right = "first" if first == "u" else "second"
                wrong = "tie" if strict else ("second" if right == "first" else "first")
                hit = rng.random() < (p * 0.5 if strict and delta == 1 else p)
                rows.append(_call("ladder", i, first, second, right if hit else wrong, delta=float(delta), better="u"))
    return rows


def _call(stimulus: str, i: int, first: str, second: str, choice: str, **more: Any) -> dict[str, Any]:
    return {
        "item": f"{stimulus} {i}",
        "first": first,
        "second": second,
        "choice": choice,
        "stimulus": stimulus,
        "task": f"task {i % 10}",
        "vacuum_kind": None,
        "delta": None,
        "better": None,
        **more,
    }


def plain_verdicts(
    judges: Sequence[str] = ("gpt-4",),
    n_items: int = 40,
    repeats: int = 1,
    gold: bool = True,
    seed: int = 0,
    invalid: float = 0.02,
) -> pd.DataFrame:
    """Pairs in both orders, without stimuli."""
    rng = np.random.default_rng(seed)
    rows = []
    for j, judge in enumerate(judges):
        lean = rng.uniform(-0.3, 0.3)
        for i in range(n_items):
            quality = rng.normal()
            for replicate in range(repeats):
                for first, second, sign in (("x", "y", 1), ("y", "x", -1)):
                    score = sign * quality + lean + rng.normal(scale=0.7) + 0.1 * j
                    choice = "first" if score > 0.25 else "second" if score < -0.25 else "tie"
                    choice = "invalid" if rng.random() < invalid else choice
                    rows.append(
                        {
                            "judge": judge,
                            "item": f"item {i}",
                            "first": first,
                            "second": second,
                            "choice": choice,
                            "replicate": replicate,
                            "gold": "x" if quality > 0 else "y",
                        }
                    )
    table = pd.DataFrame(rows)
    table = table if gold else table.drop(columns="gold")
    return preferences(table if repeats > 1 else table.drop(columns="replicate"))


def self_ratings(
    names: Sequence[str] = ("alpha", "beta", "gamma"), n_items: int = 12, repeats: int = 3, seed: int = 0
) -> pd.DataFrame:
    """Judges that are systems score all systems, themselves half a point too high."""
    rng = np.random.default_rng(seed)
    rows = []
    for judge in names:
        leniency = rng.normal(scale=0.4)
        for k, system in enumerate(names):
            for i in range(n_items):
                for r in range(repeats):
                    score = 7 + 0.3 * k + leniency + 0.5 * (judge == system) + rng.normal(scale=0.4)
                    rows.append({"judge": judge, "system": system, "item": f"item {i}", "replicate": r, "score": score})
    return ratings(pd.DataFrame(rows))


def mapped(frame: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """The frame with its judges renamed."""
    return frame.assign(judge=frame["judge"].astype(object).replace(dict(names)))
