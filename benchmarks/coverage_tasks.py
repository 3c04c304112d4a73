"""The study of tasks by items by repeats: ``python benchmarks/coverage_tasks.py``.

Verdicts and scores of judges whose calls on a task, and on an item of it, are alike, with the default clusters. Its
rows stand in the table of `coverage_unequal`.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from coverage_designs import Design
from coverage_draws import measure
from coverage_unequal import COLUMNS, OUT, cells
from scipy.special import ndtri

#: Shares of the variance of a call: what judges have in common by task and by item, half of it each; the judge on the
#: task, the judge on the item, the run.
ICC, OWN_TASK, OWN_ITEM, RUN = 0.3, 0.1, 0.2, 0.4
REPEATS = 3
#: Measure -> how many judges, and what is asked of it.
MEASURES: dict[str, tuple[int, dict[str, Any]]] = {
    "accuracy": (1, {}),
    "kappa": (2, {}),
    "icc": (3, {}),
    "effective_judges": (3, {"n_resamples": 500}),
    "score_error": (1, {}),
    "run_sd": (1, {}),
}


class Tasks(Design):
    """Tasks of some items, each judged three times; `sizes` are the items of each task."""

    @property
    def name(self) -> str:
        """As in the table."""
        return f"{self.clusters} tasks of 8 items, {REPEATS} repeats"

    @property
    def sizes(self) -> np.ndarray:
        """Items of each task."""
        return np.full(self.clusters, 8)


DESIGNS = tuple(Tasks("tasks", n, ICC, 0.8) for n in (12, 25))


def drawn(rng, names, size, icc, rate, name, single=False):  # type: ignore[no-untyped-def]
    """Each judge on the same items, in several runs; `single`: the item is the cluster, in spite of the tasks."""
    judges, options = MEASURES[name]
    task, items, studies = np.repeat(np.arange(size.size), size), int(size.sum()), len(names)

    def effect(share, *shape):  # type: ignore[no-untyped-def]
        return rng.normal(0, share**0.5, (studies, *shape))

    shared = effect(icc / 2, size.size, 1)[:, task] + effect(icc / 2, items, 1)
    parts = []
    for judge in ("g", "h", "k")[:judges]:
        own = effect(OWN_TASK, size.size, 1)
        spread = np.exp(own[:, task]) if name == "run_sd" else 1.0
        score = shared + own[:, task] + effect(OWN_ITEM, items, 1) + spread * effect(RUN, items, REPEATS)
        call = {"study": np.repeat(names, items * REPEATS), "judge": judge, "system": "s", "gold": 0.0}
        call["task"] = np.tile(np.repeat(task, REPEATS), studies).astype(str)
        call["item"] = np.tile(np.repeat(np.arange(items), REPEATS), studies).astype(str)
        call["replicate"] = np.tile(np.arange(REPEATS), items * studies)
        said = score < ndtri(rate) if name in ("accuracy", "kappa") else score
        parts.append(pd.DataFrame(call).assign(**{"correct" if name == "accuracy" else "score": said.ravel() * 1.0}))
    table = pd.concat(parts, ignore_index=True)
    table = table.drop(columns=[] if name in ("effective_judges", "score_error") else "gold")
    found = measure(name)(table, **options, **({"cluster": "item"} if single else {}), by="study")
    return found[found["term"] != "invalid"]


def main() -> None:
    """Run the study from the command line."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--replications", type=int, default=1000)
    options.add_argument("--measures", nargs="*", default=list(MEASURES), choices=list(MEASURES))
    options.add_argument("--out", type=Path, default=OUT)
    asked = options.parse_args()
    table = pd.read_csv(asked.out, keep_default_na=False, na_values=[""])
    for name, design in product(asked.measures, DESIGNS):
        clock = time.process_time()
        rows = pd.DataFrame(cells(name, design, asked.replications, draw=partial(drawn, name=name)))
        table = pd.concat([table[(table["measure"] != name) | (table["design"] != design.name)], rows[[*COLUMNS]]])
        table.to_csv(asked.out, index=False, float_format="%.5g", lineterminator="\n")
        print(f"{time.process_time() - clock:6.1f} s  {name}: {design.name}")
        print(rows[["term", "truth", "coverage", "width_ratio", "flagged"]].to_string(), flush=True)


if __name__ == "__main__":
    main()
