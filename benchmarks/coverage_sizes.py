"""The study of sizes that carry information: ``python benchmarks/coverage_sizes.py``.

Shares of log-normal clusters whose log-odds fall by `SLOPES` with each factor e of the size; by arrays, the routine of
all clustered shares: what it covers, and how often the flag ``informative_sizes`` stands, in docs/coverage_sizes.csv.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from judgestats import flags
from judgestats.estimate import clustered_share

OUT = Path(__file__).parents[1] / "docs" / "coverage_sizes.csv"
COLUMNS = ("clusters", "icc", "middle", "slope", "truth", "coverage", "mc_error", "flagged", "width", "replications")
#: Clusters, the correlation within them, the rate of one of middle size, and what log-odds lose with each factor e.
CLUSTERS, ICCS, MIDDLES, SLOPES = (20, 30, 60), (0.05, 0.3), (0.2, 0.5, 0.8), (0.0, 0.5, 1.0)
#: Middle size, and the sd of its logarithm.
SIZE, SPREAD = 7, 0.8


def drawn(rng: np.random.Generator, clusters: int, icc: float, middle: float, slope: float) -> tuple[np.ndarray, ...]:
    """Hits, and sizes of clusters."""
    n = np.maximum(1, np.round(SIZE * np.exp(SPREAD * rng.normal(size=clusters)))).astype(int)
    rate, of_beta = expit(np.log(middle / (1 - middle)) - slope * np.log(n / SIZE)), (1 - icc) / icc
    return rng.binomial(n, rng.beta(rate * of_beta, (1 - rate) * of_beta)).astype(float), n.astype(float)


def cell(clusters: int, icc: float, middle: float, slope: float, replications: int, seed: int = 0) -> dict[str, Any]:
    """A row of the study; the truth is the share of very many clusters."""
    rng = np.random.default_rng([seed, clusters, int(100 * icc), int(100 * middle), int(100 * slope)])
    k, n = drawn(rng, 10**6, icc, middle, slope)
    truth = float(k.sum() / n.sum())
    shares = [clustered_share(*drawn(rng, clusters, icc, middle, slope), "item", 0.95) for _ in range(replications)]
    covered = float(np.mean([s.low <= truth <= s.high for s in shares]))
    flagged = float(np.mean([flags.has(s.flag, flags.INFORMATIVE_SIZES) for s in shares]))
    error, width = (covered * (1 - covered) / replications) ** 0.5, float(np.mean([s.high - s.low for s in shares]))
    values = (clusters, icc, middle, slope, truth, covered, error, flagged, width, replications)
    return dict(zip(COLUMNS, values, strict=True))


def rows(replications: int) -> Iterator[dict[str, Any]]:
    """All designs."""
    for design in product(CLUSTERS, ICCS, MIDDLES, SLOPES):
        yield cell(*design, replications)


def main() -> None:
    """Run the study from the command line."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--replications", type=int, default=2000)
    asked = options.parse_args()
    table = pd.DataFrame(rows(asked.replications), columns=list(COLUMNS))
    table.to_csv(OUT, index=False, float_format="%.4g", lineterminator="\n")
    print(table.to_string())


if __name__ == "__main__":
    main()
