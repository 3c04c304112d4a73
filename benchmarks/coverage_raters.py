"""How often the interval of ``Fit.agreement`` covers: ``python benchmarks/coverage_raters.py [tables]``.

Raters and items are crossed and random; answers are a latent normal variable cut at thresholds. The true agreement is
that of the variances. It writes docs/coverage_raters.csv and prints its rows as docs/coverage.md has them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

import judgestats as js
from judgestats.models.postestimation.rater_agreement import _joint

TABLE = Path(__file__).parents[1] / "docs" / "coverage_raters.csv"
#: Raters and items; shares of the classes by name; variances of items and raters, on the scale of the residual.
SIZES = ((6, 60), (8, 200))
CLASSES = {
    "five, moderate": (0.1, 0.2, 0.4, 0.2, 0.1),
    "five, skewed": (0.6, 0.2, 0.1, 0.06, 0.04),
    "two, moderate": (0.5, 0.5),
    "two, skewed": (0.85, 0.15),
}
ITEM, RATER = 2.0, 0.3
WEIGHTS = (None, "quadratic")


def panel(rng: np.random.Generator, raters: int, items: int, shares: tuple[float, ...]) -> pd.DataFrame:
    """A rating of every item by every rater."""
    judge, item = (a.ravel() for a in np.indices((raters, items)))
    latent = rng.normal(0, ITEM**0.5, items)[item] + rng.normal(0, RATER**0.5, raters)[judge]
    cuts = norm.ppf(np.cumsum(shares)[:-1]) * (1 + ITEM + RATER) ** 0.5
    score = np.digitize(latent + rng.normal(size=len(judge)), cuts)
    return pd.DataFrame({"judge": judge.astype(str), "item": item.astype(str), "score": score})


def truth(classes: int, weights: str | None) -> float:
    """Agreement by the variances."""
    apart = np.abs(np.subtract.outer(np.arange(classes), np.arange(classes)))
    credit = 1 - (apart / (classes - 1)) ** 2 if weights else np.eye(classes)
    return float(((_joint("probit", classes, ITEM, RATER) * credit).sum() - credit.mean()) / (1 - credit.mean()))


def rows(tables: int) -> Iterator[dict[str, object]]:
    """A row for each size, distribution of the classes and weighting."""
    for raters, items in SIZES:
        for name, shares in CLASSES.items():
            results: dict[str | None, list[pd.Series]] = {w: [] for w in WEIGHTS}
            for seed in range(tables):
                table = panel(
                    np.random.default_rng([seed, raters, len(shares), round(100 * shares[0])]), raters, items, shares
                )
                fit = js.fit("score ~ 1 + (1|item) + (1|judge)", table, family="cumulative", link="probit")
                for weights in WEIGHTS[: len(shares) - 1]:
                    results[weights].append(fit.agreement(weights=weights).iloc[0])
            for weights in WEIGHTS[: len(shares) - 1]:
                own, value = pd.DataFrame(results[weights]), truth(len(shares), weights)
                below, above = (own["conf_high"] < value).mean(), (own["conf_low"] > value).mean()
                few = own["flag"].str.contains("rarer answers").mean()
                yield {
                    "raters": raters, "items": items, "classes": name, "weights": weights or "none", "truth": value,
                    "mean": own["estimate"].mean(), "coverage": 1 - below - above, "below": below, "above": above,
                    "width": (own["conf_high"] - own["conf_low"]).mean(), "no_interval": own["conf_low"].isna().mean(),
                    "flagged": few, "tables": tables,
                }  # fmt: skip


def main(tables: int) -> None:
    """Simulate all designs and write the table."""
    table: list[dict[str, object]] = []
    for row in rows(tables):
        table.append(row)
        pd.DataFrame(table).round(4).to_csv(TABLE, index=False)
        print(pd.DataFrame([row]).round(4).to_csv(index=False, header=len(table) == 1), end="", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
