"""The hostile study: ``python benchmarks/coverage_unequal.py``.

Every term of every measure with an interval by cluster, on twelve designs of equal and very unequal clusters
(`coverage_designs.NAMED`); with ``--grid`` the routine behind shares, by arrays, on all of `GRID`. A cell is one of
these on one design; those that are in the table with so many replications are not computed again, so that the study can
be stopped and taken up.
``--minutes 45`` stops it. In a second pass (``--again``) cells with a term near a limit are repeated with more.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from coverage_designs import GRID, NAMED, Design
from coverage_measures import MEASURES, RESAMPLED, Draw
from scipy.special import stdtrit

from judgestats.flags import few_clusters
from judgestats.kernels.proportions import clustered_wilson
from judgestats.results import flag_codes

OUT = Path(__file__).parents[1] / "docs" / "coverage_unequal.csv"
#: A flag that excuses an interval which does not hold; and those of corrected rates.
EXCUSES = {"few_clusters", "few_drawn", "unequal_clusters", "few_rare_clusters"}
FOR_CORRECTED = {"few_labels", "few_errors", "skewed_scores"}
#: Coverage that no unflagged interval may fall below, and that none of a regular design may exceed.
LEAST, MOST = 0.93, 0.975
#: The routine behind shares, among the measures.
SHARE = "clustered_wilson"
#: Clusters for a true value, times those of the design.
_FAR = 200
#: Columns that may tell the rows of one term apart.
_NAMES = (
    "judge",
    "study",
    "role",
    "system",
    "other",
    "level",
    "probe",
    "strategy",
    "delta",
    "version",
    "candidate",
    "answer",
    "stimulus",
    "class",
)
COLUMNS = (
    "measure", "design", "term", "clusters", "regular", "truth", "coverage", "mc_error", "below", "above", "width",
    "width_ratio", "flagged", "no_interval", "replications",
)  # fmt: skip


def _keyed(result: pd.DataFrame, beside: list[str]) -> pd.DataFrame:
    """Rows told apart by replication, and by their term and what else it is of."""
    label = result["term"].astype(str)
    for column in beside:
        label = label + " " + result[column].fillna("").astype(str)
    return result.assign(label=label.str.strip())


def _beside(result: pd.DataFrame) -> list[str]:
    """Columns that tell rows of one term and one replication apart."""
    own = "study" if "study" in result else "judge"
    return [c for c in _NAMES if c in result and c != own and result[c].nunique(dropna=False) > 1]


def cells(
    name: str, design: Design, replications: int, seed: int = 0, batch: int = 100, draw: Draw | None = None
) -> list[dict[str, Any]]:
    """A row of the study for each term of the measure on the design.

    The truth is what the measure gives for many times the clusters, drawn in the same way.
    """
    draw = draw or MEASURES[name]
    rng = np.random.default_rng([seed, zlib.crc32(f"{name}|{design.name}".encode())])
    large = draw(rng, ["truth"], design.large(_FAR), design.icc, design.rate)
    beside = _beside(large)
    truth = _keyed(large, beside).set_index("label")["estimate"]
    parts = []
    for start in range(0, replications, batch):
        names = [f"r{i:06d}" for i in range(start, min(start + batch, replications))]
        parts.append(_keyed(draw(rng, names, design.sizes, design.icc, design.rate), beside))
    rows = pd.concat(parts, ignore_index=True)
    excuses = EXCUSES | (FOR_CORRECTED if name.startswith("corrected") else set())
    rows["excused"] = _excused(rows["flag"], excuses)
    return [
        _row(name, design, label, float(truth[label]), part, replications)
        for label, part in rows.groupby("label", sort=False)
        if label in truth.index and part["conf_low"].notna().any()
    ]


def _excused(texts: pd.Series[str], excuses: set[str]) -> pd.Series[bool]:
    """Which flags say that the interval may not hold."""
    return texts.map({text: bool(excuses & set(flag_codes(text))) for text in texts.unique()})


def share_cell(design: Design, replications: int, seed: int = 0) -> list[dict[str, Any]]:
    """The row of the study for the routine itself: Wilson's interval of a share, its calls drawn by cluster."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{SHARE}|{design.name}".encode())])
    spread = (1 - design.icc) / design.icc
    n, shape = design.sizes.astype(float), (replications, design.clusters)
    chance = rng.beta(design.rate * spread, (1 - design.rate) * spread, shape)
    hits = rng.binomial(design.sizes, chance).astype(float)
    ends = np.array([clustered_wilson(k, n) for k in hits])
    flagged = _excused(pd.Series([few_clusters(n)] * replications), EXCUSES)
    rows = pd.DataFrame({"estimate": hits.sum(1) / n.sum(), "conf_low": ends[:, 1], "conf_high": ends[:, 2]})
    return [_row(SHARE, design, "share", design.rate, rows.assign(excused=flagged), replications)]


def _row(name: str, design: Design, label: str, value: float, part: pd.DataFrame, replications: int) -> dict[str, Any]:
    """A row of the study, from a row for each replication."""
    used = part[part["conf_low"].notna() & part["conf_high"].notna()]
    slack = 1e-9 * (1 + abs(value))
    below, above = used["conf_high"] < value - slack, used["conf_low"] > value + slack
    coverage = 1 - float((below | above).mean())
    width = float((used["conf_high"] - used["conf_low"]).mean())
    ideal = 2 * stdtrit(max(design.clusters - 1, 1), 0.975) * used["estimate"].std()
    return {
        "measure": name,
        "design": design.name,
        "term": label,
        "clusters": design.clusters,
        "regular": design.regular,
        "truth": value,
        "coverage": coverage,
        "mc_error": np.sqrt(coverage * (1 - coverage) / len(used)),
        "below": float(below.mean()),
        "above": float(above.mean()),
        "width": width,
        "width_ratio": width / ideal if ideal > 0 else np.nan,
        "flagged": float(part["excused"].mean()),
        "no_interval": 1 - len(used) / replications,
        "replications": replications,
    }


def _replications(name: str, asked: int) -> int:
    return int(asked * 0.4) if name in RESAMPLED else asked


def near_limit(table: pd.DataFrame) -> pd.Series[bool]:
    """Rows whose Monte Carlo interval contains a limit that they are held to: others are on one side of it."""
    distance = 2 * table["mc_error"]
    low = ((table["coverage"] - LEAST).abs() <= distance) & (table["flagged"] < 0.9)
    high = ((table["coverage"] - MOST).abs() <= distance) & table["regular"].astype(bool)
    return low | high


def _cells_of(asked: argparse.Namespace) -> Iterator[tuple[str, Design]]:
    names, designs = ([SHARE], GRID) if asked.grid else (asked.measures, NAMED)
    return product(names, designs)


def _first_pass(table: pd.DataFrame, asked: argparse.Namespace) -> Iterator[tuple[str, Design, int]]:
    """Cells that are not in the table, or with fewer replications, and how many of these they are to have."""
    keys = zip(table["measure"], table["design"], strict=True)
    there = {} if asked.anew else dict(zip(keys, table["replications"], strict=True))
    for name, design in _cells_of(asked):
        replications = _replications(name, asked.replications)
        if there.get((name, design.name), 0) < replications:
            yield name, design, replications


def _second_pass(table: pd.DataFrame, asked: argparse.Namespace) -> Iterator[tuple[str, Design, int]]:
    """Cells near a limit that have fewer replications than are asked for."""
    rows = table[near_limit(table) & (table["replications"] < asked.again)]
    close = set(zip(rows["measure"], rows["design"], strict=True))
    for name, design in _cells_of(asked):
        if (name, design.name) in close:
            yield name, design, asked.again


def main() -> None:
    """Run the study from the command line."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--replications", type=int, default=500, help="two fifths of it where a measure resamples")
    options.add_argument("--again", type=int, default=4000, help="replications of cells near a limit, 0 for none")
    options.add_argument("--measures", nargs="*", default=list(MEASURES), choices=list(MEASURES))
    options.add_argument("--grid", action="store_true", help="the routine behind shares alone, on all of the grid")
    options.add_argument("--anew", action="store_true", help="compute all cells, those in the table too")
    options.add_argument("--minutes", type=float, default=np.inf, help="begin no cell after so many")
    options.add_argument("--out", type=Path, default=OUT)
    asked = options.parse_args()
    begun = time.monotonic()
    table = pd.DataFrame(columns=list(COLUMNS))
    if asked.out.exists():
        table = pd.read_csv(asked.out, keep_default_na=False, na_values=[""])
    for cells_to_do in (_first_pass, _second_pass):
        for name, design, replications in cells_to_do(table, asked):
            if time.monotonic() - begun > asked.minutes * 60:
                return
            clock = time.monotonic()
            entries = share_cell(design, replications) if name == SHARE else cells(name, design, replications)
            rows = pd.DataFrame(entries, columns=list(COLUMNS))
            others = table[(table["measure"] != name) | (table["design"] != design.name)]
            table = pd.concat([others, rows], ignore_index=True) if len(others) else rows
            table.to_csv(asked.out, index=False, float_format="%.5g", lineterminator="\n")
            worst = rows.loc[rows["coverage"].idxmin()] if len(rows) else None
            said = "" if worst is None else f"{worst['coverage']:.3f} {worst['term']}, flagged {worst['flagged']:.2f}"
            print(f"{time.monotonic() - clock:6.1f} s  {name}: {design.name}: {said}", flush=True)


if __name__ == "__main__":
    main()
