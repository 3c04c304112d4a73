"""The study of classes and detection: ``python benchmarks/coverage_classes.py``.

Every term of `classification` and `roc`, with the differences of two judges who are equally good, on items of four
calls on average: equal and log-normal, 40 to 400 of them, the class in .05 and in .5 of the calls.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from coverage_designs import Design
from coverage_draws import measure
from coverage_unequal import COLUMNS, cells
from scipy.special import ndtri

OUT = Path(__file__).parents[1] / "docs" / "coverage_classes.csv"
MEASURES = ("classification", "roc")
#: Chances that a judge finds the class, and that it says so of another; how far the scores of the class are higher.
FINDS, RAISES, ABOVE = 0.8, 0.1, 1.2


class Few(Design):
    """Items of four calls on average; the rate is that of the class."""

    @property
    def name(self) -> str:
        """As in the table."""
        return f"{self.clusters} {self.kind} of 4, class {self.rate:g}"

    @property
    def sizes(self) -> np.ndarray:
        """Calls of each item."""
        if self.kind == "equal":
            return np.full(self.clusters, 4)
        place = (np.arange(self.clusters) + 0.5) / self.clusters
        return np.maximum(1, np.round(2.8 * np.exp(0.8 * ndtri(place)))).astype(int)


DESIGNS = tuple(
    Few(kind, items, 0.3, rate) for kind, items, rate in product(("equal", "log-normal"), (40, 150, 400), (0.05, 0.5))
)


def drawn(rng, names, size, icc, rate, name):  # type: ignore[no-untyped-def]
    """Two judges on the same calls: whether a call is of the class, and how each judge errs, goes by item."""
    item, calls = np.repeat(np.arange(size.size), size), int(size.sum())

    def alike(n):  # type: ignore[no-untyped-def]
        return rng.normal(0, icc**0.5, (n, size.size))[:, item] + rng.normal(0, (1 - icc) ** 0.5, (n, calls))

    there, shared = (alike(len(names)) for _ in range(2))
    there = (there < ndtri(rate)).ravel()
    call = pd.DataFrame({"study": np.repeat(names, calls), "item": np.tile(item.astype(str), len(names))})
    call = call.assign(system=np.tile(np.arange(calls).astype(str), len(names)), gold=np.where(there, "yes", "no"))
    parts = []
    for judge in ("g", "h"):
        error = ((shared + alike(len(names))) / 2**0.5).ravel()
        answer = np.where(error > np.where(there, -ndtri(FINDS), -ndtri(RAISES)), "yes", "no")
        said = {"score": error + ABOVE * there} if name == "roc" else {"answer": answer}
        parts.append(call.assign(judge=judge, **said))
    table = measure(name)(pd.concat(parts, ignore_index=True), positive="yes", baseline="h", by="study")
    if names == ["truth"]:  # the judges are equally good
        table["estimate"] = table["estimate"].mask(table["term"].str.endswith("_difference"), 0.0)
    return table[table["judge"] == "g"]


def main() -> None:
    """Run the study from the command line."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--replications", type=int, default=1000)
    options.add_argument("--measures", nargs="*", default=MEASURES, choices=MEASURES)
    options.add_argument("--out", type=Path, default=OUT)
    asked = options.parse_args()
    table = pd.read_csv(asked.out) if asked.out.exists() else pd.DataFrame(columns=list(COLUMNS))
    for name, design in product(asked.measures, DESIGNS):
        clock = time.process_time()
        rows = pd.DataFrame(cells(name, design, asked.replications, draw=partial(drawn, name=name)))
        table = pd.concat([table[(table["measure"] != name) | (table["design"] != design.name)], rows])
        table.to_csv(asked.out, index=False, float_format="%.5g", lineterminator="\n")
        worst = rows.loc[rows["coverage"].idxmin()]
        print(
            f"{time.process_time() - clock:6.1f} s  {name}: {design.name}: {worst['coverage']:.3f} {worst['term']}, "
            f"flagged {worst['flagged']:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
