"""Do mixed models recover what was put in: ``python benchmarks/coverage_models.py --replications 1000``.

Responses are drawn with NumPy from known parameters, the model is fitted, and each parameter is compared with its
truth: bias, and how often the 95 % intervals cover. Writes a tidy CSV, a row for each parameter of a design and each
kind of interval. The same seed gives the same table; a design does not depend on the others.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judgestats.models.designs import Design, design, taken
from judgestats.models.fitted_models import Fitted
from judgestats.models.ml import fit_design
from judgestats.models.postestimation.design_shortages import shortages
from judgestats.models.postestimation.intervals import Parameter, confint, parameters
from judgestats.models.postestimation.profile_coordinates import Plain, chart_of, chart_of_component
from judgestats.models.postestimation.profile_likelihood import Curve, fixed_of_linear, surface
from judgestats.models.specifications import Model
from judgestats.models.thresholds import cumulative_thresholds

COLUMNS = (
    "design",
    "parameter",
    "method",
    "truth",
    "mean",
    "bias",
    "mc_error",
    "coverage",
    "coverage_error",
    "n_replications",
    "n_failed",
    "flagged_share",
    "seed",
)
LOW = 0.93
#: Half the 95 % quantile of chi-squared on one degree of freedom.
RISE = 1.9207294103470
LINKS = {"binomial": "logit", "poisson": "log", "cumulative": "logit", "gaussian": "identity"}


@dataclass(frozen=True)
class Cell:
    """A design and its truth.

    Attributes
    ----------
    name : str
    family, formula : str
    sizes : dict
        Factor -> levels, all crossed, with `calls` calls in each cell of the crossing.
    calls : int
    truth : dict
        Fixed effects by name, thresholds, and ``sd(Intercept|factor)``.
    options : dict
        ``reml``, ``n_quadrature``; Laplace's approximation where it is not named.
    profiled : tuple of str
        Parameters whose profile interval is tried too.
    by : str
        Factor whose degrees of freedom are tried too: ``fit(df=...)``.
    """

    name: str
    family: str
    formula: str
    sizes: dict[str, int]
    calls: int
    truth: dict[str, float]
    options: dict[str, Any]
    profiled: tuple[str, ...] = ()
    by: str = ""


def cells() -> Iterator[Cell]:
    """All designs. ``x`` varies within each factor, ``z`` between the levels of the first one."""
    for items in (50, 200):
        for judges in (8, 32):
            for sd in (0.5, 1.0):
                truth = {"Intercept": 0.5, "x": 0.4, "z": 0.5, "sd(Intercept|judge)": sd, "sd(Intercept|item)": sd}
                name = f"binary, {items} items x {judges} judges, sd {sd:g}"
                formula = "y ~ x + z + (1|judge) + (1|item)"
                by = "judge" if (items, judges) == (50, 8) else ""
                yield Cell(name, "binomial", formula, {"judge": judges, "item": items}, 1, truth, {}, by=by)
    yield from _one_factor()
    yield from _slopes()
    yield from _other_families()


def _one_factor() -> Iterator[Cell]:
    formula = "y ~ x + z + (1|item)"
    truth = {"Intercept": 0.5, "x": 0.4, "z": 0.5, "sd(Intercept|item)": 1.0}
    for calls in (2, 3, 5, 10):
        for nodes, method in ((1, "Laplace"), ("auto", "integrated")):
            name = f"binary, 100 items of {calls} calls, {method}"
            sd = ("sd(Intercept|item)",)
            yield Cell(name, "binomial", formula, {"item": 100}, calls, truth, {"n_quadrature": nodes}, sd)
    for groups in (6, 10, 20, 50):
        both = ("z", "sd(Intercept|item)")
        by = "item" if groups < 20 else ""
        yield Cell(
            f"binary, {groups} items of 20 calls", "binomial", formula, {"item": groups}, 20, truth, {}, both, by
        )
    for base, share in ((-3.0, "7 %"), (-4.5, "2 %")):
        rare = truth | {"Intercept": base}
        for nodes, method in ((1, "Laplace"), ("auto", "integrated")):
            name = f"binary, rare ({share}), 100 items of 20 calls, {method}"
            yield Cell(name, "binomial", formula, {"item": 100}, 20, rare, {"n_quadrature": nodes})


def _slopes() -> Iterator[Cell]:
    names = ("sd(Intercept|item)", "sd(x|item)", "cor(Intercept,x|item)")
    truth = {"Intercept": 0.5, "x": 0.4, "z": 0.5} | dict(zip(names, (1.0, 0.8, 0.4), strict=True))
    for calls in (6, 20):
        name = f"binary, slopes of 100 items of {calls} calls"
        yield Cell(name, "binomial", "y ~ x + z + (x|item)", {"item": 100}, calls, truth, {}, names)


def _other_families() -> Iterator[Cell]:
    formula, effects = "y ~ x + z + (1|item)", {"x": 0.4, "z": 0.5}
    for cuts in ((-0.7, 0.7), (-1.5, -0.5, 0.5, 1.5)):
        J = len(cuts) + 1
        tau = {f"{j + 1}|{j + 2}": c for j, c in enumerate(cuts)}
        for calls in (3, 8):
            truth = effects | tau | {"sd(Intercept|item)": 1.0}
            name = f"{J} ordered categories, 100 items of {calls} calls"
            yield Cell(name, "cumulative", formula, {"item": 100}, calls, truth, {})
    for base in (0.0, 2.0):
        truth = effects | {"Intercept": base, "sd(Intercept|item)": 0.5, "sd(Intercept|call)": 0.5}
        name = f"Poisson, mean {np.exp(base):.1f}, 40 items of 10 calls, an effect of each call"
        yield Cell(name, "poisson", "y ~ x + z + (1|item) + (1|call)", {"item": 40}, 10, truth, {})
    for groups in (6, 10, 20, 50):
        for reml in (False, True):
            truth = effects | {"Intercept": 0.5, "sd(Intercept|item)": 0.5, "sd(residual)": 1.0}
            name = f"Gaussian, {groups} items of 10 calls, {'REML' if reml else 'ML'}"
            own = ("z", "sd(Intercept|item)")
            yield Cell(name, "gaussian", formula, {"item": groups}, 10, truth, {"reml": reml}, () if reml else own)


def laid_out(cell: Cell) -> Design:
    """A row for each call; its response is to be drawn."""
    shape = (*cell.sizes.values(), cell.calls)
    index = [a.ravel() for a in np.indices(shape)]
    frame = pd.DataFrame({name: index[k] for k, name in enumerate(cell.sizes)})
    # alternating within every factor, also with a single call in each cell
    frame["x"] = sum(index) % 2 - 0.5
    frame["z"] = index[0] % 2 - 0.5
    frame["call"] = np.arange(len(frame))
    J = sum("|" in name and "(" not in name for name in cell.truth) + 1
    frame["y"] = frame["call"] % max(J, 2) + (1 if J > 1 else 0)
    whole = design(cell.formula, frame, family=cell.family)
    index_ = np.repeat(np.arange(len(whole.y)), whole.count.astype(int))
    return taken(whole, index_, count=np.ones(len(index_)))


def drawn(cell: Cell, d: Design, rng: np.random.Generator) -> Any:
    """A response from the truth."""
    eta = d.X @ np.array([cell.truth[name] for name in d.names])
    for term in d.terms:
        b = rng.normal(size=(len(term.levels), len(term.names)))
        if len(term.names) == 2:
            r = cell.truth[f"cor({','.join(term.names)}|{term.factor})"]
            b[:, 1] = r * b[:, 0] + np.sqrt(1 - r**2) * b[:, 1]
        b *= [cell.truth[f"sd({name}|{term.factor})"] for name in term.names]
        eta = eta + (term.values * b[term.codes]).sum(axis=1)
    if cell.family == "gaussian":
        return eta + rng.normal(0, cell.truth["sd(residual)"], len(eta))
    if cell.family == "poisson":
        return rng.poisson(np.exp(eta)).astype(float)
    noise = rng.logistic(size=len(eta)) + eta
    if cell.family == "binomial":
        return (noise > 0).astype(float)
    cuts = [v for name, v in cell.truth.items() if "|" in name and "(" not in name]
    return np.searchsorted(cuts, noise).astype(float)


def fitted(cell: Cell, d: Design, y: Any) -> Fitted:
    """Fit one response; intervals are by z, but of a linear model."""
    cuts, drawn = cumulative_thresholds(d.categories, "logit"), replace(d, response=replace(d.response, y=y))
    fit = fit_design(Model(drawn, cell.family, LINKS[cell.family], thresholds=cuts, **cell.options))
    return fit if cell.family == "gaussian" else replace(fit, options=replace(fit.options, df="normal"))


def scarce(fit: Fitted) -> tuple[str, ...]:
    """Flags of a design that is small for its method, as :func:`shortages` finds them."""
    return tuple(dict.fromkeys(s.flag for s in shortages(fit)))


def profile_rise(fit: Fitted, own: Parameter, value: float) -> float:
    """By how much minus the log likelihood rises where a parameter is held, the others at their best.

    `fit`: by ``engine="ml"``. `own`: one of :func:`parameters`. Returns a profile interval holds the values where it is
    at most half the quantile squared.
    """
    if own.component is None and fit.distribution.linear:
        curve, least, _, _ = fixed_of_linear(fit, own.place)
        return curve(value) - least
    whole = surface(fit)
    if own.component is None:
        return Curve(whole, chart_of(fit, own.place))(value) - whole.value
    if own.component.t < 0:
        return Curve(whole, Plain(len(whole.x) - 1))(float(np.log(value))) - whole.value
    shift = fit.n_location if fit.distribution.linear else 0
    return Curve(whole, chart_of_component(own.component, shift))(value) - whole.value


def tried(cell: Cell, fit: Fitted) -> dict[str, Any]:
    """One replication: a row of estimates and of hits for each parameter and interval."""
    table = confint(fit)
    truth = np.array([cell.truth[t] for t in table["term"]])
    low, high = table["conf_low"].to_numpy(), table["conf_high"].to_numpy()
    result: dict[str, Any] = {}
    for k, term in enumerate(table["term"]):
        hit = float(low[k] <= truth[k] <= high[k]) if np.isfinite([low[k], high[k]]).all() else np.nan
        result[term, "wald"] = (table["estimate"].iloc[k], hit)
    if cell.by:
        of_factor = replace(fit, options=replace(fit.options, df=cell.by))
        for row in confint(of_factor, terms="fixed").itertuples():
            hit = float(row.conf_low <= cell.truth[row.term] <= row.conf_high)
            result[row.term, f"wald, df={cell.by}"] = (row.estimate, hit)
    for own in (p for p in parameters(fit) if p.term in cell.profiled):
        rise = profile_rise(fit, own, cell.truth[own.term])
        hit = float(rise <= RISE) if np.isfinite(rise) else np.nan
        result[own.term, "profile"] = (result[own.term, "wald"][0], hit)
    return result


def study(cell: Cell, replications: int, seed: int = 0) -> list[dict[str, Any]]:
    """The rows of one design."""
    rng = np.random.default_rng([seed, zlib.crc32(cell.name.encode())])
    d = laid_out(cell)
    found: dict[Any, list[tuple[float, float]]] = {}
    flagged, lost = 0, 0
    for _ in range(replications):
        fit = fitted(cell, d, drawn(cell, d, rng))
        flagged += bool(fit.notes or scarce(fit))
        if not fit.converged:
            lost += 1
            continue
        for key, value in tried(cell, fit).items():
            found.setdefault(key, []).append(value)
    rows = []
    for (term, method), pairs in found.items():
        estimate, hit = np.array(pairs).T
        estimate = estimate[np.isfinite(estimate)]
        given = np.isfinite(hit)
        n, coverage, truth = int(given.sum()), float(np.mean(hit[given])), cell.truth[term]
        mean, error = float(estimate.mean()), float(estimate.std(ddof=1) / np.sqrt(len(estimate)))
        spread = np.sqrt(coverage * (1 - coverage) / n)
        rows.append(
            dict(
                zip(
                    COLUMNS,
                    (cell.name, term, method, truth, mean, mean - truth, error, coverage, spread, replications,
                     lost + int((~given).sum()), flagged / replications, seed),
                    strict=True,
                )
            )
        )  # fmt: skip
    return rows


def too_low(table: pd.DataFrame, least: float = LOW) -> pd.DataFrame:
    """Rows whose coverage lies below `least` by more than two Monte Carlo errors."""
    return table[table["coverage"] + 2 * table["coverage_error"] < least]


def is_fixed(table: pd.DataFrame) -> Any:
    """Rows of fixed effects and thresholds."""
    return ~table["parameter"].str.contains("(", regex=False)


def whole(chosen: Iterable[Cell], replications: int, seed: int = 0, *, told: bool = False) -> pd.DataFrame:
    """The table of several designs."""
    rows: list[dict[str, Any]] = []
    for cell in chosen:
        begun = time.perf_counter()
        rows += study(cell, replications, seed)
        if told:
            print(f"{time.perf_counter() - begun:6.1f} s  {cell.name}", flush=True)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def main() -> None:
    """Run the study from the command line."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--replications", type=int, default=1000)
    options.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "coverage_models.csv")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--designs", nargs="*", default=[], help="only those whose name has one of these in it")
    asked = options.parse_args()
    chosen = [c for c in cells() if not asked.designs or any(part in c.name for part in asked.designs)]
    table = whole(chosen, asked.replications, asked.seed, told=True)
    if asked.designs and asked.out.exists():
        before = pd.read_csv(asked.out)
        table = pd.concat([before[~before["design"].isin(table["design"])], table])
        place = {cell.name: k for k, cell in enumerate(cells())}
        table = table.sort_values("design", key=lambda names: names.map(place), kind="stable", ignore_index=True)
    table.to_csv(asked.out, index=False, float_format="%.6g", lineterminator="\n")
    print(f"\n{len(table)} rows written to {asked.out}. Coverage below {LOW:.0%} beyond Monte Carlo error:")
    with pd.option_context("display.width", 200, "display.max_rows", None, "display.max_columns", 20):
        shown = ["design", "parameter", "method", "bias", "coverage", "n_failed", "flagged_share"]
        print(too_low(table)[shown].to_string(index=False))


if __name__ == "__main__":
    main()
