"""Results of the hierarchical models: estimates, priors, draws and checks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.errors import DesignError, suggestion
from judgestats.models.bayes.draws import (
    LEAST_ESS,
    MOST_PARETO,
    Draws,
    Kind,
    Top,
    diagnostics,
    inference_data,
    mixing_flags,
    of_kind,
)
from judgestats.models.bayes.scales import Prior
from judgestats.results import COLUMNS, estimates
from judgestats.typing import Floats

# ---- Flags of estimates, and the rows of ``checks`` that carry them --------------------------------------------------

#: Power-scaling sensitivity at and above which a prior, or a likelihood, matters (Kallioinen et al. 2024).
SENSITIVE = 0.05


def finding(what: str, value: float, flag: str = "", todo: str = "") -> dict[str, Any]:
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
        for flag in dict.fromkeys(f for f in str(cell).split("; ") if f):
            counts[flag] = counts.get(flag, 0) + 1
    return counts


def flagged(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of ``checks`` on the column ``flag`` of estimates, one for each flag."""
    return [
        finding(f"{n:,} estimate{'s' * (n > 1)}: {flag}", float(n), flag) for flag, n in parts(table["flag"]).items()
    ]


# ---- A posterior as text: question, estimates, priors, cautions and method, in 120 columns ---------------------------

WIDTH = 120
#: Rows of the table that are shown.
MOST_ROWS = 40
#: Text cells are cut to fit, but never shorter.
LEAST_TEXT = 8


def summary(question: str, table: pd.DataFrame, priors: pd.DataFrame, checks: pd.DataFrame, method: str) -> str:
    """Text of a posterior, in lines of at most 120 characters."""
    counts = parts(table["flag"])
    number = {flag: k for k, flag in enumerate(counts, 1)}
    blocks = [_wrapped(question), _table(table, number), _priors(priors), _cautions(counts, checks)]
    return "\n\n".join(b for b in (*blocks, f"method: {method}") if b)


def _table(table: pd.DataFrame, number: dict[str, int]) -> str:
    """The first rows; constant columns are given once, above them."""
    before = list(table.columns[: table.columns.get_loc("term")])
    extra = [c for c in table.columns if c not in (*before, *COLUMNS)]
    numbers = [c for c in extra if pd.api.types.is_numeric_dtype(table[c])]
    text = [c for c in [*before, "term", *extra] if c not in numbers]
    same = {c: str(table[c].iloc[0]) for c in text if c != "term" and table[c].nunique(dropna=False) == 1}
    text = [c for c in text if c not in same]
    shown = table.head(MOST_ROWS)
    columns = {c: ["" if pd.isna(v) else str(v) for v in shown[c]] for c in text}
    intervals = [
        "" if math.isnan(low) and math.isnan(high) else f"[{_digits(low)}, {_digits(high)}]"
        for low, high in zip(shown["conf_low"], shown["conf_high"], strict=True)
    ]
    right = {"estimate": [_digits(v) for v in shown["estimate"]], "interval": intervals}
    right |= {c: [_digits(v) for v in shown[c]] for c in numbers}
    marks = [",".join(map(str, sorted(number[f] for f in parts([flag])))) for flag in shown["flag"]]
    lines = _lines(columns, right, [f"[{m}]" if m else "" for m in marks])
    above = ", ".join(f"{c} = {v}" for c, v in same.items() if v)
    hidden = len(table) - len(shown)
    more = [f"... {hidden:,} more rows, see .tidy()"] if hidden else []
    return "\n".join([*([_wrapped(f"all rows: {above}")] if above else []), *lines, *more])


def _lines(text: dict[str, list[str]], right: dict[str, list[str]], marks: Sequence[str]) -> list[str]:
    """Columns as lines: text on the left, truncated to fit; numbers on the right."""
    wide = {c: max(map(len, [c, *cells])) for c, cells in right.items()}
    flag = max(map(len, ["flag", *marks]))
    available = WIDTH - sum(wide.values()) - flag - 2 * (len(text) + len(wide))
    widths = {c: max(map(len, [c, *cells])) for c, cells in text.items()}
    while sum(widths.values()) > available and max(widths.values()) > LEAST_TEXT:
        widths[max(widths, key=lambda c: widths[c])] -= 1
    rows = [[*text, *right, "flag"], *([*row] for row in zip(*text.values(), *right.values(), marks, strict=True))]
    sizes = [*widths.values(), *(-w for w in wide.values()), flag]
    return ["  ".join(_cell(c, w) for c, w in zip(row, sizes, strict=True)).rstrip()[:WIDTH] for row in rows]


def _cell(value: str, width: int) -> str:
    if width < 0:
        return value.rjust(-width)
    return (value if len(value) <= width else value[: width - 2] + "..").ljust(width)


def _digits(value: float) -> str:
    """Three significant digits, and all digits before the decimal point: ``0.0123``, ``12,346``."""
    if math.isnan(value):
        return ""
    return f"{value:,.0f}" if 999.5 <= abs(value) < math.inf else f"{value:.3g}"


def _priors(priors: pd.DataFrame) -> str:
    if priors.empty:
        return ""
    name, law = (max(map(len, priors[c].astype(str))) for c in ("parameter", "prior"))
    rows = priors[["parameter", "prior", "meaning"]].astype(str).itertuples(index=False)
    return "\n".join(["priors", *(_wrapped(f"  {p:<{name}}  {q:<{law}}  {m}", name + law + 6) for p, q, m in rows)])


def _cautions(counts: dict[str, int], checks: pd.DataFrame) -> str:
    """Numbered flags of the table, then those of the fit alone."""
    estimates = [f"  [{k}] {flag} ({n:,} of the estimates)" for k, (flag, n) in enumerate(counts.items(), 1)]
    others = checks[~checks["flag"].isin(["", *counts])]
    whole = [
        f"  -  {flag} ({what}{'' if math.isnan(value) else f': {_digits(value)}'})"
        for what, value, flag in others[["what", "value", "flag"]].itertuples(index=False)
    ]
    lines = [*(_wrapped(line, 6) for line in (*estimates, *whole))]
    return "\n".join(["cautions (check() gives advice)", *lines]) if lines else "cautions: none"


def _wrapped(line: str, indent: int = 2) -> str:
    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent=" " * indent, drop_whitespace=True)) or line


# ---- The result of a hierarchical model ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Posterior:
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
        found, chains = self.posterior, np.isnan(self.posterior.pareto_k)
        first = next(iter(found.values.values()), np.zeros((0, 0)))
        table = found.summary() if chains and first.size else pd.DataFrame(columns=["rhat", "ess_bulk", "ess_tail"])
        row = {
            "chains": len(first), "draws": first.shape[1], "divergences": found.divergences,
            "rhat": table["rhat"].max(), "ess": table[["ess_bulk", "ess_tail"]].min(axis=None),
            "pareto_k": found.pareto_k, "n_estimates": len(self.table), "method": found.method,
            "flag": flags.join(*found.notes()) if first.size else "",
        }  # fmt: skip
        return pd.DataFrame([row])

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
        return summary(self.question, self.table, self.priors, self.checks, self.posterior.method)

    def __repr__(self) -> str:
        """As :meth:`summary`."""
        return self.summary()


def row(
    term: str, values: Floats, draws: Draws, *, conf_level: float, n: float, flag: str = "", **more: Any
) -> dict[str, Any]:
    """One row of estimates: posterior mean, sd and equal-tailed interval of a scalar (chains, draws), flagged.

    Chains are flagged if they have not mixed; importance sampling has none, and its weights are checked as a whole.
    """
    tail = (1 - conf_level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    mixing = ""
    if np.isnan(draws.pareto_k):
        rhat, bulk, end = (float(d[0]) for d in diagnostics(values[..., None]))
        mixing = mixing_flags(rhat, min(bulk, end))
    return {
        **more, "term": term, "estimate": float(values.mean()), "std_error": float(values.std(ddof=1)),
        "conf_low": float(low), "conf_high": float(high), "n": n, "method": draws.method,
        "flag": flags.join(flag, of_prior(values, draws), mixing),
    }  # fmt: skip


def tabled(rows: list[dict[str, Any]], by: list[str], extra: tuple[str, ...] = ()) -> pd.DataFrame:
    """The rows as a frame of estimates, in their order, with the condition columns `by` and `extra` ones."""
    return estimates(rows, by, extra, sort=False)


def convergence(draws: Draws, priors: pd.DataFrame, of: str = "") -> list[dict[str, Any]]:
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
    return [
        finding("largest R-hat", worst, mixing_flags(worst, np.inf), longer),
        finding("smallest ESS", ess, mixing_flags(1.0, ess), longer),
        finding(
            "divergences",
            float(draws.divergences),
            flags.DIVERGENT.of(draws.divergences),
            f"Give {tighter}, or tune longer (sampling={{'tune': 2000}}).",
        ),
    ]


def conflicts(draws: Draws, of: str = "") -> list[dict[str, Any]]:
    """Rows of ``checks`` on parameters whose prior conflicts with the data; one without a flag, if none does."""
    suffix = f" ({of})" if of else ""
    found = draws.conflicts().items()
    rows = [finding(f"tail area of {name} under its prior{suffix}", p, flags.CONFLICT) for name, p in found]
    least = min((t.tail for t in draws.tops), default=float("nan"))
    return rows or [finding(f"smallest tail area under a prior{suffix}", least)]


def predictive(what: str, observed: Floats, simulated: Floats) -> list[dict[str, Any]]:
    """Posterior predictive check, a row of ``checks``: share of (N,) counts within 95 % of (S, N) replicated ones."""
    low, high = np.quantile(simulated, [0.025, 0.975], axis=0)
    share = float(((observed >= low) & (observed <= high)).mean())
    return [finding(f"{what} inside the 95 % predictive", share, "" if share >= 0.9 else flags.OUTSIDE)]


#: Parameter -> its prior and meaning.
Laws = Mapping[str, tuple[str, str]]


def result(
    question: str, table: pd.DataFrame, draws: Draws, laws: Laws, checks: list[Any], predicted: pd.DataFrame
) -> Posterior:
    """What a model that was drawn once returns, its chains and priors checked before the rest."""
    priors = prior_table(laws)
    whole = pd.DataFrame([*convergence(draws, priors), *conflicts(draws), *checks])
    return Posterior(question, table, priors, whole, draws, predicted)


def with_tops(draws: Draws, scales: Mapping[str, float], centres: Mapping[str, float] = MappingProxyType({})) -> Draws:
    """The draws, with the parameters whose (half-)normal priors have these scales and depend on no other."""
    tops = [
        Top(name, values, Prior(scales[name], None, name.startswith("sd_")), centres.get(name, 0.0))
        for name, values in draws.values.items()
        if name in scales
    ]
    return replace(draws, tops=tuple(tops))


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
