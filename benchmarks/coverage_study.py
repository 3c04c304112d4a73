"""How often do the intervals cover the truth: ``python benchmarks/coverage_study.py --replications 2000``.

Writes a tidy CSV, a row a cell, and lists the cells that cover less than they should, with the share of replications in
which the function itself raised a flag. The same seed gives the same table.
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from coverage_cells import cells
from coverage_draws import MISUSE, Cell

#: Columns of the table.
COLUMNS = (
    "measure",
    "interval",
    "design",
    "n",
    "clusters",
    "truth",
    "coverage",
    "mc_error",
    "mean_width",
    "no_interval",
    "replications",
    "seed",
    "flags",
    "note",
)
LOW = 0.93


def covered(cell: Cell, replications: int, seed: int = 0) -> dict[str, Any]:
    """One row of the study.

    Parameters
    ----------
    cell : Cell
    replications : int
    seed : int
        Draws depend on it and on the cell alone.

    Returns
    -------
    dict
        ``coverage`` is the share of the replications that gave an interval; ``no_interval`` the share that gave none
        (NaN ends), ``flags`` the share with any flag. A simultaneous interval covers if each of its parts does.
    """
    rng = np.random.default_rng([seed, zlib.crc32(cell.key.encode())])
    parts = []
    for start in range(0, replications, cell.batch):
        names = [f"r{i:06d}" for i in range(start, min(start + cell.batch, replications))]
        found = cell.intervals(rng, names).reset_index(drop=True)
        # the rows of each replication are in the order of the truths
        found["truth"] = np.asarray(cell.truth, dtype=float).ravel()[found.groupby("judge").cumcount()]
        parts.append(found)
    table = pd.concat(parts, ignore_index=True)
    low, high = table["conf_low"], table["conf_high"]
    table["given"] = low.notna() & high.notna()
    slack = 1e-9 * (1 + table["truth"].abs())  # an end at the truth itself covers it
    table["hit"] = (low <= table["truth"] + slack) & (high >= table["truth"] - slack)
    table["flagged"] = table["flag"] != ""
    table["width"] = (high - low).where(np.isfinite(high - low))
    grouped = table.groupby("judge")
    given, hit = grouped["given"].all(), grouped["hit"].all()
    used = int(given.sum())
    coverage = float(hit[given].mean()) if used else np.nan
    return {
        "measure": cell.measure,
        "interval": cell.interval,
        "design": cell.design,
        "n": cell.n,
        "clusters": cell.clusters,
        "truth": " ".join(f"{t:g}" for t in np.ravel(cell.truth)),
        "coverage": coverage,
        "mc_error": np.sqrt(coverage * (1 - coverage) / used) if used else np.nan,
        "mean_width": float(table["width"].mean()),
        "no_interval": 1 - used / replications,
        "replications": replications,
        "seed": seed,
        "flags": float(grouped["flagged"].any().sum()) / replications,
        "note": cell.note,
    }


def study(
    chosen: Iterable[Cell], replications: int, seed: int = 0, *, jobs: int = 1, told: bool = False
) -> pd.DataFrame:
    """All rows of the study, in the order of the cells; the same for any number of processes."""
    chosen = list(chosen)
    one = partial(_timed, replications=replications, seed=seed)
    rows = []
    with ProcessPoolExecutor(jobs) if jobs > 1 else nullcontext() as pool:
        for cell, (row, seconds) in zip(chosen, (pool.map if pool else map)(one, chosen), strict=True):
            rows.append(row)
            if told:
                print(f"{seconds:6.1f} s  {row['coverage']:.3f}  {cell.key}", flush=True)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _timed(cell: Cell, replications: int, seed: int) -> tuple[dict[str, Any], float]:
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        row = covered(cell, replications, seed)
    return row, time.perf_counter() - begun


def too_low(table: pd.DataFrame, least: float = LOW) -> pd.DataFrame:
    """Cells whose coverage lies below `least` by more than two Monte-Carlo errors."""
    return table[table["coverage"] + 2 * table["mc_error"] < least].sort_values("coverage", kind="stable")


def main() -> None:
    """Run the study from the command line."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--replications", type=int, default=2000)
    options.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "coverage.csv")
    options.add_argument("--measures", nargs="*", help="these measures only; their rows in the table are replaced")
    options.add_argument("--jobs", type=int, default=1, help="processes")
    options.add_argument("--seed", type=int, default=0)
    asked = options.parse_args()
    chosen = [c for c in cells() if not asked.measures or c.measure in asked.measures]
    unknown = set(asked.measures or ()) - {c.measure for c in chosen}
    if unknown:
        options.error(
            f"no cells of {', '.join(sorted(unknown))}; there are: {', '.join(sorted({c.measure for c in cells()}))}"
        )
    table = study(chosen, asked.replications, asked.seed, jobs=asked.jobs, told=True)
    if asked.measures and asked.out.exists():
        others = pd.read_csv(
            asked.out, keep_default_na=False, na_values={"coverage": "", "mean_width": "", "mc_error": ""}
        )
        table = pd.concat([others[~others["measure"].isin(asked.measures)], table], ignore_index=True)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(asked.out, index=False, float_format="%.6g", lineterminator="\n")
    apart = table["design"] == MISUSE
    low = too_low(table[~apart])
    print(
        f"\n{len(table)} cells written to {asked.out}, {apart.sum()} of them of misuse; of the others {len(low)} cover "
        f"less than {LOW:.0%} beyond Monte-Carlo error:"
    )
    with pd.option_context(
        "display.width", 200, "display.max_columns", 20, "display.max_rows", None, "display.max_colwidth", 60
    ):
        print(
            low[
                ["measure", "interval", "design", "n", "clusters", "truth", "coverage", "no_interval", "flags", "note"]
            ].to_string(index=False)
        )


if __name__ == "__main__":
    main()
