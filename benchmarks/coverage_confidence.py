"""Cells of the coverage study: what confidences are worth, and how many judges a panel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from coverage_draws import Cell, clustered_shares, counted, measure, term_rows

#: Stated confidences, how often each is stated, and how often the judge is right then: it is overconfident.
LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
SHARES = np.array([0.05, 0.1, 0.15, 0.2, 0.25, 0.15, 0.1])
RIGHT = np.array([0.45, 0.5, 0.6, 0.65, 0.8, 0.85, 0.95])
_RESAMPLES = 200


def parts() -> dict[str, float]:
    """True values of the terms."""
    rate = float(SHARES @ RIGHT)
    return {
        "brier": float(SHARES @ (RIGHT * (1 - LEVELS) ** 2 + (1 - RIGHT) * LEVELS**2)),
        "miscalibration": float(SHARES @ (LEVELS - RIGHT) ** 2),
        "discrimination": float(SHARES @ (RIGHT - rate) ** 2),
        "overconfidence": float(SHARES @ (LEVELS - RIGHT)),
    }


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


def _calibration(rng, names, term, n, clusters=0, level=None):  # type: ignore[no-untyped-def]
    found = measure("confidence_calibration")(drawn(rng, names, n, clusters), n_resamples=_RESAMPLES)
    found = found if level is None else found[found["level"] == level]
    return term_rows(found, term)


def _panel(rng, names, n, judges, shared):  # type: ignore[no-untyped-def]
    """Scores of judges whose errors share a part."""
    rows = []
    for name in names:
        errors = np.sqrt(shared) * rng.normal(size=(n, 1)) + np.sqrt(1 - shared) * rng.normal(size=(n, judges))
        judge, item = np.meshgrid([f"j{i}" for i in range(judges)], np.arange(n))
        cells = {"study": name, "judge": judge.ravel(), "item": item.ravel(), "score": errors.ravel()}
        rows.append(pd.DataFrame({**cells, "system": "s", "gold": 0.0}))
    found = measure("effective_judges")(pd.concat(rows, ignore_index=True), by="study", n_resamples=_RESAMPLES)
    return term_rows(found.rename(columns={"study": "judge"}), "effective_judges")


def risk_at(threshold: np.ndarray, target: str) -> np.ndarray:
    """True risk of the judge at a threshold; 0 where it answers nothing."""
    used = np.asarray(threshold, dtype=float)[..., None] <= LEVELS + 1e-9
    wrong, answered = (used * (SHARES * (1 - RIGHT))).sum(axis=-1), (used * SHARES).sum(axis=-1)
    return wrong if target == "joint" else np.where(answered > 0, wrong / np.maximum(answered, 1e-12), 0.0)


def chosen(rng: np.random.Generator, names: list[str], n: int, alpha: float, target: str, **options: float):  # type: ignore[no-untyped-def]
    """Thresholds that the function chooses, NaN for none."""
    found = measure("abstention_threshold")(drawn(rng, names, n), alpha=alpha, target=target, **options)
    return found[found["term"] == "threshold"].set_index("judge")["estimate"].reindex(names).to_numpy()


def _selective(rng, names, n, alpha, delta):  # type: ignore[no-untyped-def]
    """An interval that covers 0 where the risk at the threshold is at most alpha."""
    risk = risk_at(chosen(rng, names, n, alpha, "selective", delta=delta), "selective")
    return pd.DataFrame({"judge": names, "conf_low": -1.0, "conf_high": alpha - risk, "flag": ""})


def confidences() -> Iterator[Cell]:
    """Cells of the measures of confidence and of panels."""
    name = "confidence_calibration"
    for term, truth in parts().items():
        kind = "percentile" if term in ("brier", "overconfidence") else "t"
        put = partial(_calibration, term=term, n=400)
        yield Cell(name, f"{term}: {kind}", "independent", 400, truth, put)
    put = partial(_calibration, term="brier", n=400, clusters=80)
    yield Cell(name, "brier: percentile of clusters", "clustered", 400, parts()["brier"], put, 80)
    put = partial(_calibration, term="reliability", n=400, level=0.9)
    yield Cell(name, "reliability: at .9", "independent", 400, 0.8, put)
    for shared in (0.0, 0.4):
        truth = 5 / (1 + 4 * shared)
        put = partial(_panel, n=100, judges=5, shared=shared)
        yield Cell("effective_judges", "effective_judges: percentile", "independent", 100, truth, put)
    for n, alpha in ((100, 0.2), (400, 0.2), (400, 0.1)):
        note = f"share of thresholds whose risk is at most {alpha:g}, delta = 0.05"
        put = partial(_selective, n=n, alpha=alpha, delta=0.05)
        yield Cell("abstention_threshold", f"selective, alpha {alpha:g}", "independent", n, 0.0, put, note=note)
