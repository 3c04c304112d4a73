"""Checks of a posterior: of its chains, its priors, its predictions and the flags of its estimates."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.models.bayes.draws import LEAST_ESS, MOST_PARETO, Draws, mixing_flags
from judgestats.typing import Floats, Record

#: Power-scaling sensitivity at and above which a prior, or a likelihood, matters (Kallioinen et al. 2024).
SENSITIVE = 0.05


def finding(what: str, value: float, flag: str = "", todo: str = "") -> Record:
    """One row of ``checks``; what to do is given only with a flag, by default the explanation of its record."""
    remedy = (todo or " ".join(flags.explain(flag)["explanation"])) if flag else ""
    return {"what": what, "value": value, "flag": flag, "remedy": remedy}


def of_prior(values: Floats, draws: Draws) -> str:
    """Flags of an estimate, (chains, draws), that power-scaling shows to depend on the priors; empty if it does not."""
    prior, _ = draws.sensitivity(values)
    if not prior >= SENSITIVE:
        return ""
    return flags.join(flags.CONFLICT if draws.conflicts() else "", flags.PRIOR_DRIVEN)


def parts(column: Iterable[str]) -> dict[str, int]:
    """Each flag of a column, in order of appearance -> number of rows with it."""
    counts: dict[str, int] = {}
    for cell in column:
        for flag in dict.fromkeys(flags.flags_of(cell)):
            counts[flag] = counts.get(flag, 0) + 1
    return counts


def flagged(table: pd.DataFrame) -> list[Record]:
    """Rows of ``checks`` on the column ``flag`` of estimates, one for each flag."""
    return [
        finding(f"{n:,} estimate{'s' * (n > 1)}: {flag}", float(n), flag) for flag, n in parts(table["flag"]).items()
    ]


def convergence(draws: Draws, priors: pd.DataFrame, of: str = "") -> list[Record]:
    """Rows of ``checks`` on the chains, or on the importance weights, with advice that names the priors of spreads."""
    if not np.isnan(draws.pareto_k):
        k, ess, suffix = draws.pareto_k, draws.importance_ess, f" ({of})" if of else ""
        return [
            finding(f"Pareto k of the importance weights{suffix}", k, flags.HEAVY if k > MOST_PARETO else ""),
            finding(f"importance ESS{suffix}", ess, flags.FEW_EFFECTIVE if ess < LEAST_ESS else ""),
        ]
    table = draws.summary()
    ess = float(np.nanmin(table[["ess_bulk", "ess_tail"]].to_numpy()))
    worst = float(np.nanmax(table["rhat"]))
    spreads = ", ".join(priors.loc[priors["prior"].str.contains("half-"), "parameter"]) or ", ".join(
        priors["parameter"]
    )
    tighter = f"tighter priors on the spreads (priors= takes {spreads})"
    longer = f"Sample longer (sampling={{'draws': 2000, 'tune': 2000}}), or give {tighter}."
    tune = f"Give {tighter}, or tune longer (sampling={{'tune': 2000}})."
    return [
        finding("largest R-hat", worst, mixing_flags(worst, np.inf), longer),
        finding("smallest ESS", ess, mixing_flags(1.0, ess), longer),
        finding("divergences", float(draws.divergences), flags.DIVERGENT.of(draws.divergences), tune),
    ]


def conflicts(draws: Draws, of: str = "") -> list[Record]:
    """Rows of ``checks`` on parameters whose prior conflicts with the data; one without a flag, if none does."""
    suffix = f" ({of})" if of else ""
    tails = draws.conflicts().items()
    rows = [finding(f"tail area of {name} under its prior{suffix}", p, flags.CONFLICT) for name, p in tails]
    least = min((t.tail for t in draws.top_parameters), default=float("nan"))
    return rows or [finding(f"smallest tail area under a prior{suffix}", least)]


def predictive(what: str, observed: Floats, simulated: Floats) -> list[Record]:
    """Posterior predictive check, a row of ``checks``: share of (N,) counts within 95 % of (S, N) replicated ones."""
    low, high = np.quantile(simulated, [0.025, 0.975], axis=0)
    share = float(((observed >= low) & (observed <= high)).mean())
    return [finding(f"{what} inside the 95 % predictive", share, "" if share >= 0.9 else flags.OUTSIDE)]
