"""How often the tests of scaled residuals are significant at .05 where the model is right.

python benchmarks/size_of_residual_tests.py 400      # tables of each design

It writes docs/size_of_residual_tests.csv and prints its rows as docs/models.md has them. Each of 8
judges has 10 items, whose x differs; two or four classes are summed over three calls.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

import judgestats as js

TABLE = Path(__file__).parents[1] / "docs" / "size_of_residual_tests.csv"
LEVEL, JUDGES, ITEMS = 0.05, 8, 10
#: Family, formula, how many calls of each judge and item.
DESIGNS = (
    ("gaussian", "y ~ x", 1),
    ("gaussian", "y ~ x + (1|judge)", 1),
    ("poisson", "y ~ x", 1),
    ("poisson", "y ~ x + (1|judge)", 1),
    ("negative_binomial", "y ~ x", 1),
    ("negative_binomial", "y ~ x + (1|judge)", 1),
    ("binomial", "y ~ x", 3),
    ("binomial", "y ~ x + (1|judge)", 3),
    ("cumulative", "y ~ x", 3),
    ("cumulative", "y ~ x + (1|judge)", 3),
)


def table(seed: int, family: str, formula: str, calls: int) -> pd.DataFrame:
    """Responses of the family, with effects of judges where the formula has them."""
    rng = np.random.default_rng([seed, len(family), len(formula)])
    judge, item, _ = (a.ravel() for a in np.indices((JUDGES, ITEMS, calls)))
    x = rng.normal(size=JUDGES * ITEMS).repeat(calls)
    eta = 0.5 * x + (0.6 * rng.normal(size=JUDGES)[judge] if "|" in formula else 0.0)
    y = {
        "gaussian": lambda: eta + rng.normal(size=len(x)),
        "poisson": lambda: rng.poisson(np.exp(0.7 + eta)),
        "negative_binomial": lambda: rng.negative_binomial(1.5, 1.5 / (1.5 + np.exp(0.7 + eta))),
        "binomial": lambda: rng.binomial(1, expit(0.4 + eta)),
        "cumulative": lambda: np.digitize(eta + rng.logistic(size=len(x)), [-1.0, 0.5, 1.5]),
    }[family]()
    return pd.DataFrame({"y": y, "x": x, "judge": judge.astype(str), "item": item.astype(str)})


def sizes(family: str, formula: str, calls: int, tables: int) -> Iterator[dict[str, object]]:
    """A row for each test."""
    fits = (js.fit(formula, table(seed, family, formula, calls), family=family) for seed in range(tables))
    tests = pd.concat([fit.residual_tests(by="x", seed=seed) for seed, fit in enumerate(fits)])
    for test, own in tests.groupby("test", sort=False):
        size = (own["p_value"] <= LEVEL).mean()
        error = (max(size * (1 - size), LEVEL * (1 - LEVEL)) / tables) ** 0.5
        yield {"family": family, "formula": formula, "test": test, "tables": tables, "size": size, "mc_error": error}


def main(tables: int) -> None:
    """Simulate all designs and write the table."""
    rows: list[dict[str, object]] = []
    for design in DESIGNS:
        rows += sizes(*design, tables)
        done = pd.DataFrame(rows).round(4)
        done.to_csv(TABLE, index=False)
        wide = done[done["formula"] == design[1]].query("family == @design[0]").set_index("test")["size"]
        print(*design[:2], wide.to_dict(), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
