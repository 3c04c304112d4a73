"""How often do tests of models find what is not there: ``python benchmarks/model_sizes.py --replications 1000``.

Answers are drawn without the effect that is tested, the model is fitted, and p-values below .05 are counted: of the
degrees of freedom that a fit has by itself, and of z (``df="normal"``). Writes a tidy CSV, a row for each design. The
same seed gives the same table; a design does not depend on the others.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import judgestats as js

COLUMNS = (
    "design",
    "term",
    "size",
    "size_of_z",
    "mc_error",
    "df",
    "flagged_share",
    "n_replications",
    "n_failed",
    "seed",
)
#: The largest size that is taken as .05, beyond Monte Carlo error.
LARGEST = 0.065
CLASSES = np.array(["refusal", "safe", "unsafe"])


@dataclass(frozen=True)
class Cell:
    """A design without an effect.

    ``large`` is a property of judges, ``share`` of them has it. ``strategy`` varies within judges and items, and its
    effect between judges with `slope`.
    """

    name: str
    formula: str
    term: str
    judges: int = 8
    items: int = 30
    calls: int = 1
    family: str = "binomial"
    share: float = 0.5
    judge: float = 0.7  # sd between judges
    item: float = 0.7  # sd between items
    slope: float = 0.0  # sd between judges of the effect of a strategy
    options: dict[str, Any] = field(default_factory=dict)


LARGE, CROSSED = "large", "y ~ large + (1|judge) + (1|item)"
SLOPES = "y ~ strategy + (strategy|judge)"


def cells() -> list[Cell]:
    """All designs."""
    counts = [Cell(f"binary, {J} judges x 30 items", CROSSED, LARGE, J) for J in (4, 5, 6, 8, 12, 20)]
    reml = {"reml": True}
    marginal, by_judge = {"engine": "gee", "cluster": "judge"}, {"cluster": "judge"}
    plain = "y ~ large"
    return [
        *counts,
        Cell("binary, 2 of 8 judges are large", CROSSED, LARGE, share=0.25),
        Cell("binary, 8 judges x 30 items, judges alone", "y ~ large + (1|judge)", LARGE, item=0.0),
        Cell("binary, 8 judges, slopes", SLOPES, "strategy[S8]", calls=2, item=0.0, slope=0.7),
        Cell("binary, 6 judges, judges by strategies", "y ~ strategy + (1|judge) + (1|judge:strategy) + (1|item)",
             "strategy[S8]", 6, calls=2, slope=0.7),
        Cell("ordinal, 8 judges x 30 items", CROSSED, LARGE, family="cumulative"),
        Cell("ordinal, 8 judges, slopes", SLOPES, "strategy[S8]", family="cumulative", calls=2, item=0.0, slope=0.7),
        Cell("counts, 8 judges x 30 items", CROSSED, LARGE, family="poisson"),
        Cell("Gaussian, 8 judges x 30 items, REML", CROSSED, LARGE, family="gaussian", options=reml),
        Cell("Gaussian, 8 judges x 30 items, ML", CROSSED, LARGE, family="gaussian"),
        *(Cell(f"gee, {J} judges x 30 items", plain, LARGE, J, item=0.0, options=marginal) for J in (6, 10, 20)),
        Cell("gee, 2 of 10 judges are large", plain, LARGE, 10, share=0.2, item=0.0, options=marginal),
        Cell("gee, scores, 10 judges x 30 items", plain, LARGE, 10, family="gaussian", item=0.0, options=marginal),
        Cell("gee, counts, 10 judges x 30 items", plain, LARGE, 10, family="poisson", item=0.0, options=marginal),
        Cell("gee, 10 judges, slopes", "y ~ strategy", "strategy[S8]", 10, calls=2, item=0.0, slope=0.7,
             options=marginal),
        *(Cell(f"nominal by judge, {J} judges x 30 items", plain, LARGE, J, family="nominal", item=0.0,
               options=by_judge) for J in (6, 8, 20)),
        Cell("nominal by judge, 10 judges, slopes", "y ~ strategy", "strategy[S8]", 10, calls=2, family="nominal",
             item=0.0, slope=0.7, options=by_judge),
    ]  # fmt: skip


def drawn(cell: Cell, rng: np.random.Generator) -> pd.DataFrame:
    """Calls of all judges on all items."""
    judge, item, call = (a.ravel() for a in np.indices((cell.judges, cell.items, cell.calls)))
    large = rng.permutation(cell.judges) < round(cell.share * cell.judges)
    strategy = call % 2

    def effects(levels: int, sd: float) -> Any:
        """One effect of each level, or of a nominal answer one for each class."""
        return rng.normal(0, sd, (levels, 3) if cell.family == "nominal" else levels)

    slopes = effects(cell.judges, cell.slope)[judge]
    eta = effects(cell.judges, cell.judge)[judge] + effects(cell.items, cell.item)[item]
    eta = eta + slopes * (strategy[:, None] if cell.family == "nominal" else strategy)
    noise = {
        "gaussian": lambda: eta + rng.normal(size=len(judge)),
        "poisson": lambda: rng.poisson(np.exp(0.5 + eta)),
        "nominal": lambda: CLASSES[(eta + rng.gumbel(size=eta.shape)).argmax(axis=1)],
        "cumulative": lambda: np.searchsorted([-1.0, 0.0, 1.0], eta + rng.logistic(size=len(judge))),
        "binomial": lambda: (eta + rng.logistic(size=len(judge)) > 0).astype(int),
    }
    own = {"y": noise[cell.family](), "judge": judge, "item": item, "large": large[judge].astype(int)}
    return pd.DataFrame(own).assign(strategy=np.where(strategy, "S8", "B0"))


def study(cell: Cell, replications: int, seed: int = 0) -> list[dict[str, Any]]:
    """A row for each coefficient that is tested."""
    rng = np.random.default_rng([seed, zlib.crc32(cell.name.encode())])
    tests: dict[str, list[tuple[float, float, float, bool]]] = {}
    lost = 0
    for _ in range(replications):
        fit = js.fit(cell.formula, drawn(cell, rng), family=cell.family, **cell.options)
        if not fit.converged:
            lost += 1
            continue
        of_z = (
            replace(fit, options=replace(fit.options, df="normal"))
            if not fit.options.clusters
            else fit.update(df="normal")
        )
        own, z = (f.tidy(effects="fixed").set_index("term") for f in (fit, of_z))
        for term in own.index[[name.split(": ")[-1] == cell.term for name in own.index]]:
            cells_of = own.loc[term]
            p_values = float(cells_of["p_value"]), float(z.loc[term, "p_value"])
            tests.setdefault(str(term), []).append((*p_values, float(cells_of["df"]), cells_of["flag"] != ""))
    rows = []
    for term, each in tests.items():
        p, of_z, df, flagged = np.array(each, float).T
        size = float(np.mean(p < 0.05))
        error = float(np.sqrt(size * (1 - size) / len(p)))
        values = (
            cell.name,
            term,
            size,
            np.mean(of_z < 0.05),
            error,
            np.median(df),
            flagged.mean(),
            replications,
            lost,
            seed,
        )
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def whole(chosen: Iterable[Cell], replications: int, seed: int = 0, *, spoken: bool = False) -> pd.DataFrame:
    """The table of several designs."""
    rows: list[dict[str, Any]] = []
    for cell in chosen:
        start = time.perf_counter()
        rows += study(cell, replications, seed)
        if spoken:
            print(
                f"{time.perf_counter() - start:6.1f} s  {cell.name}",
                pd.DataFrame(rows[-2:]).iloc[:, 1:7].to_string(header=False),
                flush=True,
            )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def main() -> None:
    """Run the study from the command line."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--replications", type=int, default=1000)
    options.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "model_sizes.csv")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--designs", nargs="*", default=[], help="only those whose name has one of these in it")
    chosen = options.parse_args()
    designs = [c for c in cells() if not chosen.designs or any(part in c.name for part in chosen.designs)]
    table = whole(designs, chosen.replications, chosen.seed, spoken=True)
    table.to_csv(chosen.out, index=False, float_format="%.6g", lineterminator="\n")


if __name__ == "__main__":
    main()
