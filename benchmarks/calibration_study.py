"""Simulation-based calibration of the hierarchical models: ``python benchmarks/calibration_study.py --fits 200``.

Parameters are drawn from the prior, data from the parameters, draws from the posterior of these data: the rank of each
parameter among its draws is then uniform, if prior, simulation, model and sampler are of one piece. Writes
docs/calibration.csv, a row a quantity, after each model; the same seed gives the same table.
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from calibration_models import Case, Values, integrating
from calibration_sampled import sampled
from numpy.typing import NDArray
from scipy.stats import binom

from judgestats.errors import FitError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Fault = Literal["wrong prior", "halved sd"]
#: Draws of each posterior, about independent: ranks are 0 to DRAWS.
DRAWS = 99
#: Elements of an array that are ranked: others are like them by design.
MOST = 4
#: Simulated sets of uniform ranks, and the share of them that a band holds.
SIMULATED, LEVEL = 20_000, 0.95
#: What a fit may raise; it is counted, and has no rank.
FAILURES = (FitError, np.linalg.LinAlgError)
#: How many times wider than those of the model the priors of a planted fault are.
WRONG = 2.0
COLUMNS = ("model", "quantity", "fits", "seed", "draws", "deviation", "band", "p", "inside", "inside_family", "failed",
           "short", "divergent", "heavy", "counts")  # fmt: skip
DOCS = Path(__file__).parents[1] / "docs"


# --- Ranks ------------------------------------------------------------------------------------------------------------


def ranks(truth: Floats, draws: Floats, rng: np.random.Generator) -> Ints:
    """Rank of each true value among its draws; ties, as at a point mass, are broken at random.

    Parameters
    ----------
    truth : (Q,) float array
    draws : (L, Q) float array
    rng : numpy.random.Generator

    Returns
    -------
    (Q,) int array
        0 to L.

    Examples
    --------
    >>> ranks(np.array([0.5, 9.0]), np.array([[0.1, 1.0], [0.7, 2.0], [0.9, 3.0]]), np.random.default_rng(0)).tolist()
    [1, 3]
    """
    below, same = (draws < truth).sum(axis=0), (draws == truth).sum(axis=0)
    return np.asarray(below + rng.integers(0, same + 1), np.int64)


@dataclass(frozen=True)
class Band:
    """Where all of an ECDF of uniform ranks lies at once.

    Attributes
    ----------
    at : (L,) float array
        Where the ECDF is looked at: k / (L + 1).
    low, high : (L,) float arrays
    smallest : (M,) float array
        Of simulated sets of uniform ranks, in order: the smallest pointwise two-sided probability.
    """

    at: Floats
    low: Floats
    high: Floats
    smallest: Floats


@cache
def band(fits: int, draws: int = DRAWS, level: float = LEVEL, simulated: int = SIMULATED) -> Band:
    """Simultaneous band of the ECDF of uniform ranks (Säilynoja, Bürkner and Vehtari 2022, Section 2, by simulation).

    Parameters
    ----------
    fits, draws : int
        Ranks in a set; the highest rank.
    level : float
        Share of sets of uniform ranks that lie in it altogether.
    simulated : int

    Returns
    -------
    Band
    """
    rng = np.random.default_rng([fits, draws, 22])
    at = np.arange(1, draws + 1) / (draws + 1)
    even = np.full(draws + 1, 1 / (draws + 1))
    smallest = np.sort([_smallest(rng.multinomial(fits, even), at) for _ in range(simulated)])
    gamma = np.quantile(smallest, 1 - level)
    low, high = (binom.ppf(p, fits, at) / fits for p in (gamma / 2, 1 - gamma / 2))
    return Band(at, low, high, smallest)


@cache
def _tails(fits: int, draws: int) -> Floats:
    """Two-sided probability of each number of ranks below each point, (fits + 1, L)."""
    at, number = np.arange(1, draws + 1) / (draws + 1), np.arange(fits + 1)[:, None]
    return np.asarray(2 * np.minimum(binom.cdf(number, fits, at), binom.sf(number - 1, fits, at)))


def _smallest(counts: Ints, at: Floats) -> float:
    below = np.cumsum(counts)[:-1]
    return float(_tails(int(counts.sum()), len(at))[below, np.arange(len(at))].min())


def judged(counts: Ints, level: float = LEVEL) -> dict[str, Any]:
    """How far ranks are from uniform.

    Parameters
    ----------
    counts : (L + 1,) int array
        Fits with each rank.
    level : float

    Returns
    -------
    dict
        ``deviation`` (largest of ECDF minus uniform, in size), ``band`` (half its width in the middle), ``p`` (share of
        sets of uniform ranks with as small a pointwise probability), ``inside``.
    """
    fits, draws = int(counts.sum()), len(counts) - 1
    where = band(fits, draws, level)
    p = (1 + np.searchsorted(where.smallest, _smallest(counts, where.at) * (1 + 1e-9), "right")) / (
        1 + len(where.smallest)
    )
    middle = draws // 2
    return {
        "deviation": float(np.abs(np.cumsum(counts)[:-1] / fits - where.at).max()),
        "band": float(where.high[middle] - where.low[middle]) / 2,
        "p": float(min(p, 1.0)),
        "inside": bool(p > 1 - level),
    }


# --- Fits -------------------------------------------------------------------------------------------------------------


@cache
def case(name: str) -> Case:
    """A model by its name; built, and compiled, once."""
    return MODELS[name]()


#: Model by name, smallest first.
MODELS: dict[str, Callable[[], Case]] = {**integrating(), **sampled()}


def named(values: Values) -> dict[str, Floats]:
    """Quantities of S draws, one by one; of an array the first :data:`MOST` elements."""
    found: dict[str, Floats] = {}
    for name, value in values.items():
        own = np.asarray(value, float)
        flat = own.reshape(len(own), -1)[:, :MOST]
        where = list(np.ndindex(own.shape[1:]))[:MOST]
        found |= {f"{name}[{', '.join(map(str, w))}]" if w else name: flat[:, i] for i, w in enumerate(where)}
    return found


def one(made: Case, seed: int, number: int, fault: Fault | None = None) -> tuple[dict[str, int], Any]:
    """Ranks of one fit by quantity, and the fit."""
    rng = np.random.default_rng([seed, number, zlib.crc32(made.name.encode())])
    truth, data = made.simulate(rng, WRONG if fault == "wrong prior" else 1.0)
    fitted = made.fit(data, int(rng.integers(2**24)), DRAWS)
    draws = named(made.quantities(fitted.values, data))
    true = named(made.quantities({k: np.asarray(v)[None] for k, v in truth.items() if k in fitted.values}, data))
    own = np.stack([draws[k] for k in true], axis=-1)
    if fault == "halved sd":
        own = own.mean(axis=0) + (own - own.mean(axis=0)) / 2
    rank = ranks(np.array([v[0] for v in true.values()]), own, rng)
    return dict(zip(true, rank.tolist(), strict=True)), fitted


def calibrate(
    model: str, fits: int = 200, seed: int = 0, fault: Fault | None = None, told: bool = False
) -> pd.DataFrame:
    """Calibration of one model.

    Parameters
    ----------
    model : str
        Of :data:`MODELS`.
    fits, seed : int
    fault : {'wrong prior', 'halved sd'}, optional
        Planted: data are simulated under priors twice as wide as those of the fit, or the draws are drawn together
        about their mean by half.
    told : bool
        Whether to print how far it is.

    Returns
    -------
    pandas.DataFrame
        A row a quantity (:data:`COLUMNS`). ``inside_family``: whether it is inside by the Bonferroni bound for all
        quantities of the model. ``counts`` are the fits with each rank, apart by blanks. ``failed`` counts the fits
        that raised an error and have no rank; ``short``, ``divergent`` and ``heavy`` those with too few effective
        draws, with divergent transitions, with heavy weights.
    """
    made, begun = case(model), time.perf_counter()
    rows, seen, failed = [], [], 0
    for number in range(fits):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)
                rank, fitted = one(made, seed, number, fault)
        except FAILURES:
            failed += 1
            continue
        rows.append(rank)
        seen.append((fitted.short, fitted.divergent > 0, fitted.heavy))
        if told and (number + 1) % 50 == 0:
            print(f"  {number + 1} fits, {time.perf_counter() - begun:.0f} s", flush=True)
    table = pd.DataFrame(rows)
    short, divergent, heavy = np.sum(seen, axis=0).tolist()
    shared = {"model": model, "fits": len(rows), "seed": seed, "draws": DRAWS, "failed": failed, "short": short,
              "divergent": divergent, "heavy": heavy}  # fmt: skip
    found = []
    for name in table:
        counts = np.bincount(table[name], minlength=DRAWS + 1)
        verdict = judged(counts)
        verdict["inside_family"] = verdict["p"] > (1 - LEVEL) / table.shape[1]
        found.append({**shared, "quantity": name, **verdict, "counts": " ".join(map(str, counts))})
    return pd.DataFrame(found, columns=list(COLUMNS))


# --- The study --------------------------------------------------------------------------------------------------------


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """A row a model: quantities, those outside, the least p times their number, and what the fits said themselves."""
    grouped = table.groupby("model", sort=False)
    return pd.DataFrame(
        {
            "fits": grouped["fits"].first(),
            "quantities": grouped.size(),
            "outside": grouped["inside"].apply(lambda v: int((~v).sum())),
            "p_family": (grouped["p"].min() * grouped.size()).clip(upper=1.0),
            "inside": grouped["inside_family"].all(),
            **{name: grouped[name].first() for name in ("failed", "short", "divergent", "heavy")},
        }
    )


def page_rows(table: pd.DataFrame) -> list[str]:
    """Rows of the table of docs/calibration.md."""
    return [
        f"| {name} | {r.fits} | {r.quantities} | {r.outside} | {r.p_family:.2g} | {'yes' if r.inside else '**no**'} | "
        f"{r.failed} | {r.short} | {r.divergent} | {r.heavy} |"
        for name, r in summary(table).iterrows()
    ]


def main() -> None:
    """Run the study from the command line."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--fits", type=int, default=200)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--models", nargs="*", help="these only (or those beginning so); their rows are replaced")
    options.add_argument("--fault", choices=("wrong prior", "halved sd"), help="planted; nothing is written")
    options.add_argument("--out", type=Path, default=DOCS / "calibration.csv")
    asked = options.parse_args()
    chosen = [m for m in MODELS if not asked.models or any(m.startswith(a) for a in asked.models)]
    if not chosen:
        options.error(f"no model begins so; there are: {', '.join(MODELS)}")
    for name in chosen:
        print(name, flush=True)
        found = calibrate(name, asked.fits, asked.seed, asked.fault, told=True)
        print(summary(found).to_string(), flush=True)
        print(found[~found["inside"]].drop(columns=["model", "counts"]).to_string(), flush=True)
        if asked.fault is None:
            _kept(found, asked.out)
    if asked.fault is None:
        from calibration_figure import drawn

        whole = pd.read_csv(asked.out)
        drawn(whole, asked.out.with_suffix(".png"))
        _shown(whole, asked.out.with_suffix(".md"))


def _shown(table: pd.DataFrame, page: Path) -> None:
    """Put the rows of the table into its page, under the first head that begins with the model."""
    lines = page.read_text(encoding="utf-8").split("\n") if page.exists() else ["| model |", "|---|"]
    first = next(i for i, line in enumerate(lines) if line.startswith("| model |")) + 2
    last = first
    while last < len(lines) and lines[last].startswith("|"):
        last += 1
    page.write_text("\n".join([*lines[:first], *page_rows(table), *lines[last:]]), encoding="utf-8")


def _kept(found: pd.DataFrame, out: Path) -> None:
    """Write rows in place of those of the same model, models in their order."""
    if out.exists():
        before = pd.read_csv(out)
        found = pd.concat([before[~before["model"].isin(found["model"])], found], ignore_index=True)
    place = found["model"].map(list(MODELS).index)
    found.loc[place.sort_values(kind="stable").index].to_csv(out, index=False, float_format="%.4g", lineterminator="\n")


if __name__ == "__main__":
    main()
