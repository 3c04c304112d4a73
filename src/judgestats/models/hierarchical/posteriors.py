"""What a hierarchical model returns: tidy estimates, its priors, its draws, and what speaks against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, suggestion
from judgestats.models.bayes.draws import (
    DIVERGENT,
    FEW_EFFECTIVE,
    HEAVY,
    LEAST_ESS,
    MOST_PARETO,
    Draws,
    diagnostics,
    doubt,
)
from judgestats.models.bayes.replicates import Kind, of_kind
from judgestats.models.hierarchical.doubts import CONFLICT, OUTSIDE, finding, flagged, merged, of_prior
from judgestats.models.hierarchical.summaries import summary
from judgestats.results import estimates

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Posterior:
    """A fitted hierarchical model.

    Attributes
    ----------
    question : str
        What was asked, in a sentence.
    table : pandas.DataFrame
        Tidy estimates: condition columns, then those of every estimate of the package; posterior mean, sd and
        equal-tailed interval.
    priors : pandas.DataFrame
        ``parameter``, ``prior``, ``meaning``.
    checks : pandas.DataFrame
        ``what``, ``value``, ``flag``, ``cure``: convergence (or importance weights), posterior predictive checks, the
        data; :meth:`check` adds the flags of the table.
    draws : Draws
    predicted : pandas.DataFrame
        Observed counts, or means, beside what the posterior and the prior predict; see :meth:`predictive`.
    """

    question: str
    table: pd.DataFrame
    priors: pd.DataFrame = field(repr=False)
    checks: pd.DataFrame = field(repr=False)
    draws: Draws = field(repr=False)
    predicted: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    def predictive(self, kind: Kind = "posterior") -> pd.DataFrame:
        """Observed counts, or means, beside the intervals that the model predicts for them.

        Parameters
        ----------
        kind : {'posterior', 'prior', 'both'}
            From the posterior, or from the prior before any answer is seen.

        Returns
        -------
        pandas.DataFrame
            A row for each observed value: ``kind``, its labels (``judge``, a condition), ``outcome``, ``observed``,
            ``estimate`` (predictive mean), ``conf_low``, ``conf_high`` (95 % predictive interval), ``inside``, ``n``
            (calls behind it), ``scale`` (``count`` or ``mean``), ``method``, ``flag``. Draw it with
            :func:`judgestats.plot.predictive`.

        Raises
        ------
        DesignError
            If `kind` is unknown, or nothing could be drawn.
        """
        return of_kind(self.predicted, kind)

    def tidy(self) -> pd.DataFrame:
        """The table, as a fit's verb."""
        return self.table.copy()

    def check(self) -> pd.DataFrame:
        """What speaks against the fit.

        Returns
        -------
        pandas.DataFrame
            ``what``, ``value``, ``flag``, ``cure``. Rows with an empty flag, and no cure, are what was looked at and
            found sound. The last rows are the flags of the table, with the number of estimates that carry each.
        """
        return pd.DataFrame([*self.checks.to_dict("records"), *flagged(self.table)], columns=list(self.checks.columns))

    def summary(self) -> str:
        """Question, the first 40 estimates, priors, what is in doubt, and method.

        Returns
        -------
        str
            Lines of 120 characters at most; numbers of three digits. Flags are numbered, and told below the table.
        """
        return summary(self.question, self.table, self.priors, self.checks, self.draws.method)

    def __repr__(self) -> str:
        """As :meth:`summary`."""
        return self.summary()


def row(
    term: str,
    values: Floats,
    *,
    conf_level: float,
    n: float,
    method: str,
    flag: str = "",
    chains: bool = True,
    draws: Draws | None = None,
    **more: Any,
) -> dict[str, Any]:
    """One row of estimates from draws of a scalar.

    Parameters
    ----------
    term : str
    values : (chains, draws) float array
    conf_level : float
    n : float
        Calls behind it.
    method : str
    flag : str
    chains : bool
        False for draws by importance, which are no chains: their weights are judged instead.
    draws : Draws, optional
        The draws that `values` come from: the row is then flagged where the priors move it.
    **more
        Condition columns.

    Returns
    -------
    dict
        Posterior mean, sd, equal-tailed interval; flagged where the draws do not mix, and where the prior decides or is
        in conflict with the data.
    """
    tail = (1 - conf_level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    rhat, bulk, end = (float(d[0]) for d in diagnostics(values[..., None])) if chains else (np.nan,) * 3
    own = {"term": term, "estimate": float(values.mean()), "std_error": float(values.std(ddof=1)), "n": n}
    return {
        **more,
        **own,
        "conf_low": float(low),
        "conf_high": float(high),
        "method": method,
        "flag": merged(flag, "" if draws is None else of_prior(values, draws), doubt(rhat, min(bulk, end))),
    }


def tabled(rows: list[dict[str, Any]], by: list[str], extra: tuple[str, ...] = ()) -> pd.DataFrame:
    """The rows as a frame of estimates, in their order.

    Parameters
    ----------
    rows : list of dict
    by : list of str
        Condition columns.
    extra : tuple of str
        Further columns.

    Returns
    -------
    pandas.DataFrame
    """
    return estimates(rows, by, extra, sort=False)


def convergence(draws: Draws, priors: pd.DataFrame, of: str = "") -> list[dict[str, Any]]:
    """Rows of ``checks`` on the sampler: of chains, or of importance weights where no chain ran.

    Parameters
    ----------
    draws : Draws
    priors : pandas.DataFrame
        Those of the model: a cure names its spreads.
    of : str
        Which of several fits.

    Returns
    -------
    list of dict
    """
    if not np.isnan(draws.pareto_k):
        return _weights(draws, of)
    table = draws.summary()
    ess = float(np.nanmin(table[["ess_bulk", "ess_tail"]].to_numpy()))
    worst = float(np.nanmax(table["rhat"]))
    spreads = ", ".join(priors.loc[priors["prior"].str.contains("half-"), "parameter"]) or ", ".join(
        priors["parameter"]
    )
    tighter = f"tighter priors on the spreads (priors= takes {spreads})"
    longer = f"Sample longer (draws=2000, tune=2000), or give {tighter}."
    return [
        finding("largest R-hat", worst, doubt(worst, np.inf), longer),
        finding("smallest ESS", ess, doubt(1.0, ess), longer),
        finding(
            "divergences",
            float(draws.divergences),
            DIVERGENT if draws.divergences else "",
            f"Give {tighter}, or tune longer (tune=2000).",
        ),
    ]


def _weights(draws: Draws, of: str) -> list[dict[str, Any]]:
    """Rows on importance weights."""
    told = f" ({of})" if of else ""
    k, ess = draws.pareto_k, draws.importance_ess
    return [
        finding(f"Pareto k of the importance weights{told}", k, HEAVY if k > MOST_PARETO else ""),
        finding(f"importance ESS{told}", ess, FEW_EFFECTIVE if ess < LEAST_ESS else ""),
    ]


def foreseen(draws: Draws, of: str = "") -> list[dict[str, Any]]:
    """Rows of ``checks`` on parameters whose prior did not foresee such data.

    Parameters
    ----------
    draws : Draws
    of : str
        Which of several fits.

    Returns
    -------
    list of dict
        One for each of them; a single one, without a flag, where there is none.
    """
    told = f" ({of})" if of else ""
    rows = [finding(f"tail area of {name} under its prior{told}", p, CONFLICT) for name, p in draws.conflicts().items()]
    least = min((t.tail for t in draws.tops), default=float("nan"))
    return rows or [finding(f"smallest tail area under a prior{told}", least)]


def predictive(what: str, observed: Floats, simulated: Floats) -> list[dict[str, Any]]:
    """Rows of ``checks`` by posterior prediction: the share of observed counts inside their 95 % predictive interval.

    Parameters
    ----------
    what : str
    observed : (N,) float array
        Counts.
    simulated : (S, N) float array
        Replicated counts.

    Returns
    -------
    list of dict
    """
    low, high = np.quantile(simulated, [0.025, 0.975], axis=0)
    inside = (observed >= low) & (observed <= high)
    share = float(inside.mean())
    flag = "" if share >= 0.9 else OUTSIDE
    cure = "The model misses structure: predictive() shows which counts; look for what they share."
    return [finding(f"{what} inside the 95 % predictive", share, flag, cure)]


def prior_table(priors: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
    """The priors as a frame.

    Parameters
    ----------
    priors : mapping
        Parameter -> (prior, meaning).

    Returns
    -------
    pandas.DataFrame
    """
    return pd.DataFrame([{"parameter": k, "prior": p, "meaning": m} for k, (p, m) in priors.items()])


def scales(defaults: Mapping[str, float], priors: Mapping[str, float] | None) -> dict[str, float]:
    """Scales of the priors, some of them given.

    Parameters
    ----------
    defaults : mapping
    priors : mapping or None

    Returns
    -------
    dict

    Raises
    ------
    DesignError
        If a name is not known, or a scale is not a positive number.
    """
    for name, value in (priors or {}).items():
        if name not in defaults:
            raise DesignError(f"priors has {name!r}. Allowed: {', '.join(defaults)}.{suggestion(name, defaults)}")
        if not (isinstance(value, int | float) and 0 < value < np.inf):
            raise DesignError(f"priors[{name!r}]={value!r} is no scale. Give a positive number, above 0.")
    return {**defaults, **{name: float(value) for name, value in (priors or {}).items()}}
