"""Times of planning and simulation, for docs/benchmarks.md: ``python benchmarks/planning.py --calls 1000000``.

A plan of comparisons with prompts of 8 kB: built, checked for what a judge must not see, rendered, and answered by
simulated judges; then the power of the datasheet's plan, with its Monte Carlo error.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
import pandas as pd

import judgestats as js
from judgestats import design

Result = TypeVar("Result")
_WORDS = np.array(["sales", "rose", "in", "Peru", "and", "the", "cost", "fell", "because", "people", "asked", "for"])
_JUDGES = tuple(f"model-{i}" for i in range(5))
_REPLICATES = 10


def pairs(items: int, words: int = 750) -> pd.DataFrame:
    """Pairs whose prompts have about 8,000 characters; every text is another."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"item": [f"i{i}" for i in range(items)], "first": "cand-one", "second": "cand-two"})
    table["gold"], table["strategy"] = rng.choice(["cand-one", "cand-two"], items), "B0"
    for column, n in (("task_text", 40), ("first_text", words), ("second_text", words)):
        table[column] = [" ".join(_WORDS[rng.integers(len(_WORDS), size=n)]) for _ in range(items)]
    return table


def timed(what: str, work: Callable[[], Result]) -> Result:
    """Print how long the work takes, on the clock and of processor time."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    print(f"{what}: {time.perf_counter() - wall:.1f} s ({time.process_time() - processor:.1f} s of processor time)")
    return result


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    table = pairs(given.calls // (2 * len(_JUDGES) * _REPLICATES))
    plan = timed("build", lambda: design.build(table, judges=_JUDGES, replicates=_REPLICATES))
    characters = timed("messages", lambda: sum(len(user) for *_, user in plan.messages()))
    print(f"{len(plan):,} calls, {characters / len(plan):,.0f} characters a message")
    faults = timed("check", plan.check)
    print(f"faults: {len(faults)}")
    judges = [design.Judge(name, sensitivity=1.0, tie_criterion=0.5) for name in _JUDGES]
    timed("simulate", lambda: design.simulate(plan.calls, judges))
    timed("simulate_replies", lambda: design.simulate_replies(plan, judges))
    measure = partial(js.dark_current, cluster=False)
    study = partial(design.power, design.dark_current("m"), design.Judge("m", dark_current=0.2), measure, null=0.1)
    found = timed(
        f"power, {given.replications:,} replications",
        lambda: study(replications=given.replications, processes=given.processes),
    )
    print(found[["vacuum_kind", "estimate", "std_error", "conf_low", "conf_high"]].round(3).to_string(index=False))


if __name__ == "__main__":
    main()
