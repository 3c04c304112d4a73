"""The hostile study of scores: ``python benchmarks/coverage_scores.py``.

Every measure of scores with an interval, on scores that are not normal: gross errors, a ceiling, heavy tails, skewed
scores. `docs/coverage_scores.csv` has a row for each term and design, as `coverage_unequal.py`; a cell that is in the
table with so many replications is not computed again.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from coverage_draws import measure
from coverage_unequal import _row

from judgestats.results import flag_codes

OUT = Path(__file__).parents[1] / "docs" / "coverage_scores.csv"
#: Flags that say that the interval may not hold.
EXCUSES = {"few_large_errors", "few_disagreements", "biased", "normal_runs"}
COLUMNS = (
    "measure", "design", "term", "truth", "coverage", "mc_error", "below", "above", "width", "flagged", "no_interval",
    "replications",
)  # fmt: skip
_FAR = 200_000


def _gross(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """On a scale of 1 to 10, mostly right or one off; 3 % of the scores are five off."""
    gold = rng.integers(1, 11, n)
    near = np.clip(gold + rng.choice([-1, 0, 0, 1], n), 1, 10)
    return np.where(rng.random(n) < 0.03, np.where(gold > 5, gold - 5, gold + 5), near).astype(float), gold.astype(
        float
    )


def _ceiling(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """On a scale of 1 to 10, three in ten at the top."""
    worth = 8.5 + 2 * rng.normal(size=n)
    return tuple(np.clip(np.round(worth + x), 1, 10) for x in (rng.normal(size=n), 0))  # type: ignore[return-value]


def _heavy(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Errors of t on three degrees of freedom."""
    gold = rng.normal(5, 2, n)
    return gold + rng.standard_t(3, n), gold


def _skewed(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Log-normal scores with errors in proportion."""
    gold = np.exp(0.8 * rng.normal(size=n))
    return gold * np.exp(0.4 * rng.normal(size=n)), gold


def _normal(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    gold = rng.normal(5, 2, n)
    return gold + rng.normal(size=n), gold


def _five_points(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """A plain scale of five points."""
    worth = 3 + rng.normal(size=n)
    return tuple(np.clip(np.round(worth + x), 1, 5) for x in (0.8 * rng.normal(size=n), 0))  # type: ignore[return-value]


SCORES: dict[str, Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]] = {
    "gross errors": _gross,
    "ceiling": _ceiling,
    "t3 errors": _heavy,
    "log-normal": _skewed,
    "normal": _normal,
    "five points": _five_points,
}


@dataclass(frozen=True)
class ScoreDesign:
    """A kind of scores, and how many items have them."""

    kind: str
    items: int
    clusters: int = 0
    regular: bool = False

    @property
    def name(self) -> str:
        """As in the table."""
        return f"{self.items} items, {self.kind}"


DESIGNS = tuple(ScoreDesign(kind, n) for kind in SCORES for n in (60, 100, 200))


def _base(names: list[str], n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {"study": np.repeat(names, n), "item": np.tile([f"i{k}" for k in range(n)], len(names)), "system": "s"}
    )


def _against_gold(score, gold, names, n):  # type: ignore[no-untyped-def]
    return measure("score_error")(_base(names, n).assign(judge="g", score=score, gold=gold), by="study")


def _two(score, gold, names, n):  # type: ignore[no-untyped-def]
    base = _base(names, n)
    return pd.concat([base.assign(judge="g", score=score), base.assign(judge="h", score=gold)], ignore_index=True)


def _icc(score, gold, names, n):  # type: ignore[no-untyped-def]
    found = measure("icc")(_two(score, gold, names, n), by="study")
    return found[~found["term"].str.startswith("ICC(2")]  # generalises to judges, whom the design does not draw


def _alpha(score, gold, names, n):  # type: ignore[no-untyped-def]
    return measure("alpha")(_two(score, gold, names, n), by="study", level_of_measurement="interval", n_resamples=400)


def _kappa(score, gold, names, n):  # type: ignore[no-untyped-def]
    return measure("kappa")(_two(score, gold, names, n), by="study", weights="quadratic")


def _correlation(score, gold, names, n):  # type: ignore[no-untyped-def]
    return measure("correlation")(_two(score, gold, names, n), by="study", level="sample", pairs="each")


def _distribution(score, _, names, n):  # type: ignore[no-untyped-def]
    found = measure("score_distribution")(_base(names, n).assign(judge="g", score=score), by="study", n_resamples=100)
    return found[found["term"].isin(["mean", "sd"])]


def _run_sd(score, gold, names, n):  # type: ignore[no-untyped-def]
    """Two runs: the right score, and the judge's."""
    base = _base(names, n).assign(judge="g")
    runs = [base.assign(replicate=0, score=score), base.assign(replicate=1, score=gold)]
    return measure("run_sd")(pd.concat(runs, ignore_index=True), by="study")


MEASURES = {
    "score_error": _against_gold,
    "score_distribution": _distribution,
    "correlation": _correlation,
    "run_sd": _run_sd,
    "icc": _icc,
    "alpha": _alpha,
    "kappa": _kappa,
}
#: Kappa is of classes: scores on a scale of points.
POINTS = ("gross errors", "ceiling", "five points")


def cells(name: str, design: ScoreDesign, replications: int, seed: int = 0, batch: int = 200) -> list[dict[str, Any]]:
    """A row of the study for each term of the measure on the design; the truth is that of very many items."""
    rng = np.random.default_rng([seed, zlib.crc32(f"{name}|{design.name}".encode())])
    of, draw = MEASURES[name], SCORES[design.kind]
    far = 20_000 if name in ("alpha",) else _FAR
    large = of(*draw(rng, far), ["truth"], far)
    truth = large.set_index("term")["estimate"]
    parts = []
    for start in range(0, replications, batch):
        names = [f"r{i:06d}" for i in range(start, min(start + batch, replications))]
        score, gold = draw(rng, design.items * len(names))
        parts.append(of(score, gold, names, design.items))
    rows = pd.concat(parts, ignore_index=True)
    flagged = {text: bool(EXCUSES & set(flag_codes(text))) for text in rows["flag"].unique()}
    rows["excused"] = rows["flag"].map(flagged)
    return [
        {c: _row(name, design, str(term), float(truth[term]), part, replications)[c] for c in COLUMNS}  # type: ignore[arg-type]
        for term, part in rows.groupby("term", sort=False)
    ]


def main() -> None:
    """Run the study from the command line."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--replications", type=int, default=1000)
    options.add_argument("--measures", nargs="*", default=list(MEASURES), choices=list(MEASURES))
    options.add_argument("--anew", action="store_true", help="compute all cells, those in the table too")
    options.add_argument("--out", type=Path, default=OUT)
    asked = options.parse_args()
    table = pd.read_csv(asked.out) if asked.out.exists() else pd.DataFrame(columns=list(COLUMNS))
    for name in asked.measures:
        for design in DESIGNS:
            of_cell = (table["measure"] == name) & (table["design"] == design.name)
            there = table.loc[of_cell, "replications"].min() if of_cell.any() and not asked.anew else 0
            if there >= asked.replications or (name == "kappa" and design.kind not in POINTS):
                continue
            clock = time.monotonic()
            rows = pd.DataFrame(cells(name, design, asked.replications))
            table = pd.concat([table[~of_cell], rows], ignore_index=True) if len(table) else rows
            table.to_csv(asked.out, index=False, float_format="%.5g", lineterminator="\n")
            said = ", ".join(
                f"{r.term} {r.coverage:.3f} ({r.width:.3g}; {r.flagged:.2f})" for r in rows.itertuples(index=False)
            )
            print(f"{time.monotonic() - clock:5.1f} s  {name}: {design.name}: {said}", flush=True)


if __name__ == "__main__":
    main()
