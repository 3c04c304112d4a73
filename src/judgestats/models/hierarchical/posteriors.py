"""Results of the hierarchical models: estimates, priors, draws and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.errors import DesignError, suggestion
from judgestats.models.bayes.centred_priors import CentredPrior
from judgestats.models.bayes.draws import Draws, TopParameter, diagnostics, inference_data, mixing_flags
from judgestats.models.bayes.replicates import Kind, of_kind
from judgestats.models.hierarchical.posterior_checks import conflicts, convergence, flagged, of_prior
from judgestats.models.hierarchical.posterior_text import summary
from judgestats.printed_results import SetText, ShownAsSummary
from judgestats.results import estimates, with_interval
from judgestats.typing import Floats, Record


@dataclass(frozen=True, eq=False)
class Posterior(ShownAsSummary):
    """A fitted hierarchical model.

    Attributes
    ----------
    question : str
        The question that the model answers, in a sentence.
    table : pandas.DataFrame
        Tidy estimates: condition columns, then the columns of all estimates of the package; posterior mean, sd and
        equal-tailed interval.
    priors : pandas.DataFrame
        ``parameter``, ``prior``, ``meaning``.
    checks : pandas.DataFrame
        ``what``, ``value``, ``flag``, ``remedy``: convergence (or importance weights), posterior predictive checks, the
        data; :meth:`check` adds the flags of the table.
    posterior : Draws
        All variables, with their labels; :meth:`draws` returns them as a table.
    predicted : pandas.DataFrame
        Observed counts, or means, with posterior and prior predictions; see :meth:`predictive`.

    See Also
    --------
    agreement, bias, psychometric, severity, strategies, susceptibility : Models that return it.
    judgestats.plot.posterior_intervals, judgestats.plot.predictive : Its pictures.

    Examples
    --------
    >>> import judgestats as js
    >>> scores = pd.DataFrame({"judge": ["g"] * 6 + ["h"] * 6, "system": "s", "item": [*"abcdef"] * 2,
    ...                        "score": [5, 7, 9, 5, 6, 8, 4, 7, 9, 6, 6, 7]})
    >>> found = js.hierarchical.agreement(scores, subjects="item", sampling={"draws": 200})
    >>> found.tidy()["term"].tolist()[:5], found.draws().shape
    (['subject', 'judge', 'residual', 'ICC(1,1)', 'ICC(2,1)'], (200, 6))
    """

    question: str
    table: pd.DataFrame
    priors: pd.DataFrame = field(repr=False)
    checks: pd.DataFrame = field(repr=False)
    posterior: Draws = field(repr=False)
    predicted: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)

    def predictive(self, kind: Kind = "posterior") -> pd.DataFrame:
        """Observed counts, or means, with their predictive intervals.

        Parameters
        ----------
        kind : {'posterior', 'prior', 'both'}
            Predicted from the posterior, or from the prior alone.

        Returns
        -------
        pandas.DataFrame
            A row for each observed value: ``kind``, its labels (``judge``, a condition), ``outcome``, ``observed``,
            ``estimate`` (predictive mean), ``conf_low``, ``conf_high`` (95 % predictive interval), ``inside``, ``n``
            (number of calls), ``scale`` (``count`` or ``mean``), ``method``, ``flag``. Draw it with
            :func:`judgestats.plot.predictive`.

        Raises
        ------
        DesignError
            If `kind` is unknown, or the model has no draws.
        """
        return of_kind(self.predicted, kind)

    def tidy(self) -> pd.DataFrame:
        """Estimates, a row each.

        Returns
        -------
        pandas.DataFrame
            A copy of :attr:`table`.
        """
        return self.table.copy()

    def glance(self) -> pd.DataFrame:
        """The whole fit in one row.

        Returns
        -------
        pandas.DataFrame
            ``chains``, ``draws`` (per chain), ``divergences``, ``rhat`` and ``ess`` (the worst; NaN for importance
            sampling, which has no chains), ``pareto_k`` (of importance weights), ``n_estimates``, ``method``,
            ``flag`` (of the posterior as a whole).
        """
        draws, chains = self.posterior, np.isnan(self.posterior.pareto_k)
        first = next(iter(draws.values.values()), np.zeros((0, 0)))
        table = draws.summary() if chains and first.size else pd.DataFrame(columns=["rhat", "ess_bulk", "ess_tail"])
        size = {"chains": len(first), "draws": first.shape[1], "divergences": draws.divergences}
        worst = {"rhat": table["rhat"].max(), "ess": table[["ess_bulk", "ess_tail"]].min(axis=None)}
        about = {"pareto_k": draws.pareto_k, "n_estimates": len(self.table), "method": draws.method}
        return pd.DataFrame([{**size, **worst, **about, "flag": flags.join(*draws.notes()) if first.size else ""}])

    def draws(self) -> pd.DataFrame:
        """Draws from the posterior distribution.

        Returns
        -------
        pandas.DataFrame
            ``chain``, ``draw`` and a column for each element of each variable: ``sd_share``, ``effect[judge, S8]``.
        """
        return self.posterior.table()

    def to_arviz(self) -> Any:
        """Draws as an object of ArviZ, for its plots and diagnostics.

        Returns
        -------
        arviz.InferenceData or xarray.DataTree
            For ArviZ 0.x or 1.x, with ``posterior`` and ``sample_stats``. There is no log likelihood of single calls,
            since these are models of counts.

        Raises
        ------
        FitError
            If the draws come from importance sampling, which has no chains, or ArviZ is not installed.
        """
        dims = {
            name: {f"{name} {k}": labels for k, labels in enumerate(each, 1)}
            for name, each in self.posterior.labels.items()
            if each
        }
        return inference_data(self.posterior, self.posterior.values, dims)

    def check(self) -> pd.DataFrame:
        """Checks of the sampler, the model and the data, with advice.

        Returns
        -------
        pandas.DataFrame
            ``what``, ``value``, ``flag``, ``remedy`` (advice). A check that found no problem has an empty flag and no
            advice. The last rows are the flags of the table, with the number of estimates that have each.
        """
        return pd.DataFrame([*self.checks.to_dict("records"), *flagged(self.table)], columns=list(self.checks.columns))

    def summary(self) -> str:
        """Question, the first 40 estimates, priors, cautions and method.

        Returns
        -------
        str
            Lines of at most 120 characters; numbers with three significant digits. Flags are numbered, and listed
            below the table.
        """
        return SetText(summary(self.question, self.table, self.priors, self.checks, self.posterior.method))

    def __repr__(self) -> str:
        """As :meth:`summary`."""
        return self.summary()


def row(
    term: str, values: Floats, draws: Draws, *, conf_level: float, n: float, flag: str = "", **more: object
) -> Record:
    """One row of estimates: posterior mean, sd and equal-tailed interval of a scalar (chains, draws), flagged."""
    tail = (1 - conf_level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    mixing = ""
    if np.isnan(draws.pareto_k):  # there are chains
        rhat, bulk, end = (float(d[0]) for d in diagnostics(values[..., None]))
        mixing = mixing_flags(rhat, min(bulk, end))
    flag = flags.join(flag, of_prior(values, draws), mixing)
    cells = {**more, "term": term, "estimate": float(values.mean()), "n": n, "method": draws.method, "flag": flag}
    return with_interval(values.std(ddof=1), low, high, **cells)


def probability_row(term: str, values: Floats, draws: Draws, *, flag: str = "", **more: object) -> Record:
    """Row of a probability: the mean of (chains, draws) of 0 and 1, with its Monte Carlo error and no interval."""
    ess = float(diagnostics(values[..., None])[1][0]) if values.std() > 0 else np.nan
    error = float(values.std(ddof=1) / np.sqrt(ess)) if ess > 0 else np.nan
    more = {k: v for k, v in more.items() if k != "conf_level"}
    ends = {"conf_low": np.nan, "conf_high": np.nan}
    estimate = {"term": term, "estimate": float(values.mean()), "std_error": error, **ends}
    return {**more, **estimate, "method": draws.method, "flag": flag}


def tabled(rows: list[Record], by: list[str], extra: tuple[str, ...] = ()) -> pd.DataFrame:
    """The rows as a frame of estimates, in their order, with the condition columns `by` and `extra` ones."""
    return estimates(rows, by, extra, sort=False)


#: Parameter -> its prior and meaning.
Laws = Mapping[str, tuple[str, str]]


def result(
    question: str, table: pd.DataFrame, draws: Draws, laws: Laws, checks: list[Record], predicted: pd.DataFrame
) -> Posterior:
    """What a model that was drawn once returns, its chains and priors checked before the rest."""
    priors = prior_table(laws)
    whole = pd.DataFrame([*convergence(draws, priors), *conflicts(draws), *checks])
    return Posterior(question, table, priors, whole, draws, predicted)


def with_top_parameters(
    draws: Draws, scales: Mapping[str, float], centres: Mapping[str, float] = MappingProxyType({})
) -> Draws:
    """The draws, with the parameters whose (half-)normal priors have these scales and depend on no other."""
    top_parameters = [
        TopParameter(name, values, CentredPrior(scales[name], None, name.startswith("sd_")), centres.get(name, 0.0))
        for name, values in draws.values.items()
        if name in scales
    ]
    return replace(draws, top_parameters=tuple(top_parameters))


def prior_table(priors: Laws) -> pd.DataFrame:
    """The priors as a frame, from parameter -> (prior, meaning)."""
    return pd.DataFrame([{"parameter": k, "prior": p, "meaning": m} for k, (p, m) in priors.items()])


def scales(defaults: Mapping[str, float], priors: Mapping[str, float] | None) -> dict[str, float]:
    """Scales of the priors, those of `priors` in place of the defaults."""
    for name, value in (priors or {}).items():
        if name not in defaults:
            raise DesignError(f"priors has {name!r}. Allowed: {', '.join(defaults)}.{suggestion(name, defaults)}")
        if not (isinstance(value, int | float) and 0 < value < np.inf):
            raise DesignError(f"priors[{name!r}]={value!r} is not a scale. Give a positive finite number.")
    return {**defaults, **{name: float(value) for name, value in (priors or {}).items()}}
