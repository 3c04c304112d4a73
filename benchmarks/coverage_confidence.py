"""Coverage of the measures of confidence and of panels: ``python benchmarks/coverage_confidence.py``.

One call gives all terms of a replication, so that this is a study of its own. Its table is in docs/coverage.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd
from coverage_draws import clustered_shares, counted, measure

#: Stated confidences, how often each is stated, and how often the judge is right then: it is overconfident.
LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
SHARES = np.array([0.05, 0.1, 0.15, 0.2, 0.25, 0.15, 0.1])
RIGHT = np.array([0.45, 0.5, 0.6, 0.65, 0.8, 0.85, 0.95])
_RESAMPLES = 500
_BATCH = 100


def drawn(rng: np.random.Generator, names: list[str], n: int, clusters: int = 0) -> pd.DataFrame:
    """Counts of n verdicts by confidence and outcome, in clusters of equal size where there are any."""
    cells = np.concatenate([SHARES * RIGHT, SHARES * (1 - RIGHT)])
    labels = {"confidence": np.tile(LEVELS, 2), "outcome": np.repeat(["correct", "wrong"], LEVELS.size)}
    if clusters:
        counts = rng.multinomial(n // clusters, clustered_shares(rng, cells, len(names), clusters))
        labels = {c: np.tile(v, clusters) for c, v in labels.items()}
        labels["item"] = np.repeat([f"c{i}" for i in range(clusters)], cells.size)
        counts = counts.reshape(len(names), -1)
    else:
        counts = rng.multinomial(n, cells, size=len(names))
    table = counted(names, labels, counts)
    return table.assign(confidence=table["confidence"].astype(float))


def calibration(rng: np.random.Generator, names: list[str], n: int, clusters: int) -> Iterator[tuple[str, float, bool]]:
    """Term, true value and whether the interval covers it, for each term of each replication."""
    rate = float(SHARES @ RIGHT)
    truth = {
        "brier": float(SHARES @ (RIGHT * (1 - LEVELS) ** 2 + (1 - RIGHT) * LEVELS**2)),
        "miscalibration": float(SHARES @ (LEVELS - RIGHT) ** 2),
        "discrimination": float(SHARES @ (RIGHT - rate) ** 2),
        "uncertainty": rate * (1 - rate),
        "overconfidence": float(SHARES @ (LEVELS - RIGHT)),
    }
    found = measure("confidence_calibration")(drawn(rng, names, n, clusters), n_resamples=_RESAMPLES)
    for row in found.to_dict("records"):
        band = row["term"] == "reliability"
        value = float(RIGHT[row["level"] == LEVELS][0]) if band else truth[row["term"]]
        yield "band of the curve" if band else row["term"], value, row["conf_low"] <= value <= row["conf_high"]


def panels(rng: np.random.Generator, names: list[str], n: int, shared: float) -> Iterator[tuple[str, float, bool]]:
    """The same for the effective number of five judges whose errors share a part."""
    rows = []
    for name in names:
        errors = np.sqrt(shared) * rng.normal(size=(n, 1)) + np.sqrt(1 - shared) * rng.normal(size=(n, 5))
        judge, item = np.meshgrid([f"j{i}" for i in range(5)], np.arange(n))
        cells = {"study": name, "judge": judge.ravel(), "item": item.ravel(), "score": errors.ravel()}
        rows.append(pd.DataFrame({**cells, "system": "s", "gold": 0.0}))
    found = measure("effective_judges")(pd.concat(rows, ignore_index=True), by="study", n_resamples=_RESAMPLES)
    truth = {"effective_judges": 5 / (1 + 4 * shared), "mean_correlation": shared}
    for row in found.to_dict("records"):
        yield row["term"], truth[row["term"]], row["conf_low"] <= truth[row["term"]] <= row["conf_high"]


def risk_at(threshold: np.ndarray, target: str) -> np.ndarray:
    """True risk of the judge at a threshold; 0 where there is none, so that it answers nothing."""
    used = np.nan_to_num(np.asarray(threshold, dtype=float), nan=2.0)[..., None] <= LEVELS + 1e-9
    wrong, answered = (used * (SHARES * (1 - RIGHT))).sum(axis=-1), (used * SHARES).sum(axis=-1)
    return wrong if target == "joint" else wrong / np.maximum(answered, 1e-12)


def chosen(rng: np.random.Generator, names: list[str], n: int, alpha: float, target: str) -> np.ndarray:
    """Thresholds that the function chooses, NaN for none."""
    found = measure("abstention_threshold")(drawn(rng, names, n), alpha=alpha, target=target)
    return found[found["term"] == "threshold"].set_index("judge")["estimate"].reindex(names).to_numpy()


def study(replications: int, seed: int = 0) -> Iterator[dict[str, object]]:
    """Rows of the table: coverage of the intervals; of thresholds, how often, and by how much, the risk is held."""
    names = [[f"r{i:05d}" for i in range(s, min(s + _BATCH, replications))] for s in range(0, replications, _BATCH)]
    for what, run, options in (
        ("confidence_calibration", calibration, {"n": 400, "clusters": 0}),
        ("confidence_calibration", calibration, {"n": 400, "clusters": 80}),
        ("effective_judges", panels, {"n": 100, "shared": 0.0}),
        ("effective_judges", panels, {"n": 100, "shared": 0.4}),
    ):
        rng = np.random.default_rng(seed)
        hits = pd.DataFrame(
            [row for batch in names for row in run(rng, batch, **options)], columns=["term", "truth", "hit"]
        )
        for (term, truth), hit in hits.groupby(["term", "truth"], sort=False)["hit"]:
            yield {
                "measure": what,
                **options,
                "term": term,
                "truth": truth,
                "coverage": hit.mean(),
                "replications": len(hit),
            }
    for target in ("selective", "joint"):
        for n, alpha in ((100, 0.2), (400, 0.2), (400, 0.1)):
            rng = np.random.default_rng(seed)
            found = np.concatenate([chosen(rng, batch, n, alpha, target) for batch in names])
            risk = risk_at(found, target)
            row = {
                "measure": "abstention_threshold",
                "n": n,
                "term": target,
                "truth": alpha,
                "replications": len(found),
            }
            yield {
                **row,
                "held": (risk <= alpha + 1e-12).mean(),
                "mean_risk": risk.mean(),
                "none": np.isnan(found).mean(),
            }


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("--replications", type=int, default=2000)
    for line in study(asked.parse_args().replications):
        print({k: round(v, 4) if isinstance(v, float) else v for k, v in line.items()}, flush=True)
