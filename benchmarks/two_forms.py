"""The kernels that have a compiled form and one in NumPy, timed in turn: docs/kernels.csv, and its table on the page.

``python benchmarks/two_forms.py`` calls the functions that measures call, with either form, at a ladder of sizes:
processor time, the least of several rounds, after a call that compiles the kernels or loads them from their cache. The
last row is what a first use costs: a process of its own that calls all five on small arrays, with the compiled forms
less the same with NumPy's.
"""

from __future__ import annotations

import argparse
import csv
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from judgestats.kernels import compiling
from judgestats.kernels.decomposition import decompose, pair_orders
from judgestats.kernels.deviation import consensus, weighted_means
from judgestats.kernels.proportions import wilson
from judgestats.kernels.resampling import resampled_totals
from judgestats.kernels.variance import mean_squares

ROOT = Path(__file__).resolve().parents[1]
TABLE, PAGE = ROOT / "docs" / "kernels.csv", ROOT / "docs" / "benchmarks.md"
START, END = "<!-- kernels, written by benchmarks/two_forms.py -->\n", "<!-- end of kernels -->"
COLUMNS = ("what", "numba_ms", "numpy_ms", "ratio", "compiled_faster")
FORMS = {"numba": 0.0, "NumPy": math.inf}
ROUNDS = 15
FIRST_USE = "first use of these five in a process: numba and the kernels are loaded"
Call = Callable[[], object]


class Row(NamedTuple):
    """A kernel, the call at a size, and the sizes that are tried, the last of which is shown."""

    what: str
    of_size: Callable[[int], Call]
    sizes: tuple[int, ...]
    unit: str


def correlations(items: int) -> Call:
    """Sums of squares behind ICC(2,1): 5 judges, and 300 of the largest table."""
    scores = np.random.default_rng(0).integers(1, 11, (items, 300 if items == 350 else 5)).astype(float)
    return lambda: mean_squares(scores, np.zeros(1, np.int64))


def deviations(items: int) -> Call:
    """Deviations of the same table from the others, and their means by judge."""
    judges = 300 if items == 350 else 5
    cell, judge = (x.ravel().astype(np.int32) for x in np.indices((items, judges)))
    score = np.random.default_rng(0).integers(1, 11, cell.size).astype(float)
    return lambda: weighted_means(judge, consensus(cell, score, items).deviation, np.zeros(0), judges)


def shares(number: int) -> Call:
    """Wilson's intervals."""
    rng = np.random.default_rng(0)
    n = rng.integers(1, 100, number).astype(float)
    k = np.floor(rng.random(number) * (n + 1))
    return lambda: wilson(k, n)


def pairs(number: int) -> Call:
    """Calls of pairs in both orders, in random order: matched, and the pairs of one judge classified."""
    rng = np.random.default_rng(0)
    place = rng.permutation(2 * number)
    unit, reverse = (place // 2).astype(np.int32), place % 2 == 1
    answer = rng.choice(4, 2 * number, p=[0.35, 0.25, 0.38, 0.02]).astype(np.int8)
    n, group = np.ones(number), np.zeros(number, np.int32)

    def call() -> object:
        answers = pair_orders(unit, reverse, answer, number).answers
        return decompose(answers[:, 0], answers[:, 1], n, group, 1)

    return call


def resamples(clusters: int) -> Call:
    """2,000 resamples of clusters of 20 calls: hits and calls."""
    counts = np.column_stack([np.random.default_rng(0).integers(0, 21, clusters), np.full(clusters, 20)]).astype(float)
    return lambda: resampled_totals(counts, np.random.default_rng(1), 2000)


ROWS = (
    Row("ICC(2,1), 350 items x 300 judges", correlations, (2, 10, 100, 1000, 350), "items"),
    Row("consensus deviation, 350 items x 300 judges", deviations, (2, 10, 100, 1000, 350), "items"),
    Row("Wilson's intervals of 1,000,000 shares", shares, (2, 10, 100, 1000, 10_000, 100_000, 1_000_000), "shares"),
    Row("Δ0 of 1,000,000 pairs in both orders", pairs, (2, 10, 100, 1000, 10_000, 100_000, 1_000_000), "pairs"),
    Row("2,000 resamples of 1,000 clusters", resamples, (2, 10, 30, 100, 300, 1000), "clusters"),
)


@contextmanager
def only(form: str) -> Iterator[None]:
    """Call one form for any number of rows."""
    usual = compiling.COMPILED_FROM
    compiling.COMPILED_FROM = FORMS[form]  # type: ignore[assignment]
    try:
        yield
    finally:
        compiling.COMPILED_FROM = usual


def milliseconds(call: Call) -> dict[str, float]:
    """Processor time of a call with each form, in turn."""
    least, times = dict.fromkeys(FORMS, math.inf), {}
    for turn in range(-1, ROUNDS):
        for form in FORMS:
            with only(form):
                start = time.process_time()
                for _ in range(times.get(form, 1)):
                    call()
                spent = (time.process_time() - start) / times.get(form, 1)
            if turn < 0:
                times[form] = 1
            elif turn == 0:
                times[form] = max(1, min(int(0.003 / max(spent, 1e-6)), 1000))
            else:
                least[form] = min(least[form], 1000 * spent)
    return least


def measured(row: Row) -> dict[str, str]:
    """A row of the table."""
    faster: list[bool] = []
    for size in row.sizes:
        spent = milliseconds(row.of_size(size))
        faster.append(spent["numba"] < spent["NumPy"])
        print(f"{row.what}: {size:,} {row.unit}, {spent['numba']:.4g} against {spent['NumPy']:.4g} ms", flush=True)
    crossing = len(faster) - next((i for i, x in enumerate(reversed(faster)) if not x), len(faster))
    texts = ["always", *(f"from {size:,} {row.unit}" for size in row.sizes[1:]), "never"]
    ratio = f"{spent['NumPy'] / spent['numba']:.2g}"
    values = (row.what, f"{spent['numba']:.3g}", f"{spent['NumPy']:.3g}", ratio, texts[crossing])
    return dict(zip(COLUMNS, values, strict=True))


def first_use() -> dict[str, str]:
    """The row of a process that has not loaded numba yet; kernels come from their cache."""
    command = [sys.executable, __file__, "--once"]
    spent = {
        form: min(float(subprocess.run([*command, form], check=True, capture_output=True).stdout) for _ in range(4))
        for form in FORMS
    }
    return dict.fromkeys(COLUMNS, "") | {"what": FIRST_USE, "numba_ms": f"{spent['numba'] - spent['NumPy']:.3g}"}


def once(form: str) -> float:
    """Milliseconds of this process for a first call of each kernel."""
    calls = [row.of_size(10) for row in ROWS]
    with only(form):
        start = time.process_time()
        for call in calls:
            call()
    return 1000 * (time.process_time() - start)


def page_of(rows: list[dict[str, str]]) -> str:
    """The table as docs/benchmarks.md has it."""
    lines = ["| what | numba | NumPy | ratio | compiled is faster |", "|---|---|---|---|---|"]
    for row in rows:
        times = [f"{row[c]} ms" if row[c] else "" for c in ("numba_ms", "numpy_ms")]
        lines.append(f"| {' | '.join([row['what'], *times, row['ratio'], row['compiled_faster']])} |")
    return "\n".join(lines) + "\n"


def stored_rows() -> list[dict[str, str]]:
    """Rows of docs/kernels.csv."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--once", choices=FORMS, help=argparse.SUPPRESS)
    form = parser.parse_args().once
    if form:
        print(once(form))
        return
    rows = [*map(measured, ROWS), first_use()]
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    PAGE.write_text(before + START + page_of(rows) + END + rest.partition(END)[2], encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
