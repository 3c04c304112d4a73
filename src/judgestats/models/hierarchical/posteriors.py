"""What a hierarchical model returns: tidy estimates, its priors, its draws, and what speaks against it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, suggestion
from judgestats.models.bayes.draws import (
    LEAST_ESS,
    MOST_PARETO,
    Draws,
    Kind,
    diagnostics,
    doubt,
    inference_data,
    of_kind,
)
from judgestats.results import (
    COLUMNS,
    CONFLICT,
    DIVERGENT,
    FEW_EFFECTIVE,
    HEAVY,
    OUTSIDE,
    PRIOR_DRIVEN,
    estimates,
    explain,
    flags,
)

# ---- Flags of the hierarchical models, what to do about each, and the rows of ``checks`` that carry them -------------

#: Power-scaling sensitivity from which on a prior, or a likelihood, matters (Kallioinen et al. 2024).
SENSITIVE = 0.05


def finding(what: str, value: float, flag: str = "", todo: str = "") -> dict[str, Any]:
    """One row of ``checks``: a cure stands only beside a flag, by default what the flag's record says."""
    cure = (todo or " ".join(explain(flag)["explanation"])) if flag else ""
    return {"what": what, "value": value, "flag": flag, "cure": cure}


def of_prior(values: NDArray[np.float64], draws: Draws) -> str:
    """Flag of an estimate that the priors move: by power-scaling, which is told from a conflict by tail areas.

    Parameters
    ----------
    values : (chains, draws) float array
        Of the estimate, draw by draw.
    draws : Draws

    Returns
    -------
    str
        Empty where a change of the priors would hardly be seen.
    """
    prior, _ = draws.sensitivity(values)
    if not prior >= SENSITIVE:
        return ""
    return flags(CONFLICT if draws.conflicts() else "", PRIOR_DRIVEN)


def parts(column: Iterable[str]) -> dict[str, int]:
    """Each flag of a column, in the order of its first row -> how many rows carry it."""
    counts: dict[str, int] = {}
    for cell in column:
        for flag in dict.fromkeys(f for f in str(cell).split("; ") if f):
            counts[flag] = counts.get(flag, 0) + 1
    return counts


def flagged(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of ``checks`` on the flags of estimates, one for each flag.

    Parameters
    ----------
    table : pandas.DataFrame
        With a column ``flag``.
    """
    return [
        finding(f"{n:,} estimate{'s' * (n > 1)}: {flag}", float(n), flag) for flag, n in parts(table["flag"]).items()
    ]


# ---- A posterior in words: question, table, priors, doubts and method, in 120 columns --------------------------------

WIDTH = 120
#: Rows of the table that are shown.
MOST_ROWS = 40
#: Text cells are cut to fit, but never shorter.
LEAST_TEXT = 8


def summary(question: str, table: pd.DataFrame, priors: pd.DataFrame, checks: pd.DataFrame, method: str) -> str:
    """Text of a posterior.

    Parameters
    ----------
    question : str
    table : pandas.DataFrame
        Estimates: condition columns, :data:`judgestats.results.COLUMNS`, further ones.
    priors, checks : pandas.DataFrame
    method : str

    Returns
    -------
    str
        Lines of 120 characters at most.
    """
    told = parts(table["flag"])
    number = {flag: k for k, flag in enumerate(told, 1)}
    blocks = [_wrapped(question), _table(table, number), _priors(priors), _doubts(told, checks), f"method: {method}"]
    return "\n\n".join(b for b in blocks if b)


def _table(table: pd.DataFrame, number: dict[str, int]) -> str:
    """The first rows; columns that never change stand above them."""
    before = list(table.columns[: table.columns.get_loc("term")])
    extra = [c for c in table.columns if c not in (*before, *COLUMNS)]
    numbers = [c for c in extra if pd.api.types.is_numeric_dtype(table[c])]
    text = [c for c in [*before, "term", *extra] if c not in numbers]
    same = {c: str(table[c].iloc[0]) for c in text if c != "term" and table[c].nunique(dropna=False) == 1}
    text = [c for c in text if c not in same]
    shown = table.head(MOST_ROWS)
    columns = {c: ["" if pd.isna(v) else str(v) for v in shown[c]] for c in text}
    right = {"estimate": [_digits(v) for v in shown["estimate"]], "interval": _intervals(shown)}
    right |= {c: [_digits(v) for v in shown[c]] for c in numbers}
    marks = [",".join(map(str, sorted(number[f] for f in parts([flag])))) for flag in shown["flag"]]
    lines = _lines(columns, right, [f"[{m}]" if m else "" for m in marks])
    above = ", ".join(f"{c} = {v}" for c, v in same.items() if v)
    left = len(table) - len(shown)
    more = [f"... {left:,} more rows, see .tidy()"] if left else []
    return "\n".join([*([_wrapped(f"all rows: {above}")] if above else []), *lines, *more])


def _lines(text: dict[str, list[str]], right: dict[str, list[str]], marks: Sequence[str]) -> list[str]:
    """Columns as lines: text to the left, cut to fit; numbers to the right."""
    wide = {c: max(map(len, [c, *cells])) for c, cells in right.items()}
    flag = max(map(len, ["flag", *marks]))
    room = WIDTH - sum(wide.values()) - flag - 2 * (len(text) + len(wide))
    own = {c: max(map(len, [c, *cells])) for c, cells in text.items()}
    while sum(own.values()) > room and max(own.values()) > LEAST_TEXT:
        own[max(own, key=lambda c: own[c])] -= 1
    rows = [[*text, *right, "flag"], *([*row] for row in zip(*text.values(), *right.values(), marks, strict=True))]
    sizes = [*own.values(), *(-w for w in wide.values()), flag]
    return ["  ".join(_cell(c, w) for c, w in zip(row, sizes, strict=True)).rstrip()[:WIDTH] for row in rows]


def _cell(value: str, width: int) -> str:
    if width < 0:
        return value.rjust(-width)
    return (value if len(value) <= width else value[: width - 2] + "..").ljust(width)


def _intervals(table: pd.DataFrame) -> list[str]:
    ends = zip(table["conf_low"], table["conf_high"], strict=True)
    return ["" if math.isnan(low) and math.isnan(high) else f"[{_digits(low)}, {_digits(high)}]" for low, high in ends]


def _digits(value: float) -> str:
    """Three digits; more only before the point.

    Examples
    --------
    >>> _digits(0.012345), _digits(12345.6), _digits(float("nan"))
    ('0.0123', '12,346', '')
    """
    if math.isnan(value):
        return ""
    return f"{value:,.0f}" if 999.5 <= abs(value) < math.inf else f"{value:.3g}"


def _priors(priors: pd.DataFrame) -> str:
    if priors.empty:
        return ""
    name, law = (max(map(len, priors[c].astype(str))) for c in ("parameter", "prior"))
    rows = priors[["parameter", "prior", "meaning"]].astype(str).itertuples(index=False)
    return "\n".join(["priors", *(_wrapped(f"  {p:<{name}}  {q:<{law}}  {m}", name + law + 6) for p, q, m in rows)])


def _doubts(told: dict[str, int], checks: pd.DataFrame) -> str:
    """Flags of the table by number, then those that are of the fit alone."""
    estimates = [f"  [{k}] {flag} ({n:,} of the estimates)" for k, (flag, n) in enumerate(told.items(), 1)]
    doubtful = checks[~checks["flag"].isin(["", *told])]
    whole = [
        f"  -  {flag} ({what}{'' if math.isnan(value) else f': {_digits(value)}'})"
        for what, value, flag in doubtful[["what", "value", "flag"]].itertuples(index=False)
    ]
    lines = [*(_wrapped(line, 6) for line in (*estimates, *whole))]
    return "\n".join(["in doubt (check() says what to do)", *lines]) if lines else "in doubt: nothing"


def _wrapped(line: str, indent: int = 2) -> str:
    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent=" " * indent, drop_whitespace=True)) or line


# ---- What a hierarchical model returns: tidy estimates, its priors, its draws, and what speaks against it ------------

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
    posterior : Draws
        All variables, with their labels; :meth:`draws` has them as a table.
    predicted : pandas.DataFrame
        Observed counts, or means, beside what the posterior and the prior predict; see :meth:`predictive`.
    """

    question: str
    table: pd.DataFrame
    priors: pd.DataFrame = field(repr=False)
    checks: pd.DataFrame = field(repr=False)
    posterior: Draws = field(repr=False)
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
            ``chains``, ``draws`` (of each chain), ``divergences``, ``rhat`` and ``ess`` (the worst; NaN for draws by
            importance, which are no chains), ``pareto_k`` (of importance weights), ``n_estimates``, ``method``,
            ``flag`` (of the posterior as a whole).
        """
        found, chains = self.posterior, np.isnan(self.posterior.pareto_k)
        own = next((v for v in found.values.values()), np.zeros((0, 0)))
        table = found.summary() if chains and own.size else pd.DataFrame(columns=["rhat", "ess_bulk", "ess_tail"])
        row = {
            "chains": len(own), "draws": own.shape[1], "divergences": found.divergences, "rhat": table["rhat"].max(),
            "ess": table[["ess_bulk", "ess_tail"]].min(axis=None), "pareto_k": found.pareto_k,
            "n_estimates": len(self.table), "method": found.method, "flag": flags(*found.notes()) if own.size else "",
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
        """Give the draws to ArviZ, for its plots and diagnostics.

        Returns
        -------
        arviz.InferenceData or xarray.DataTree
            What ArviZ 0.x or 1.x works with: ``posterior`` and ``sample_stats``. There is no log likelihood of single
            calls: these models are of counts.

        Raises
        ------
        FitError
            If the draws are by importance sampling, which has no chains, or ArviZ is not installed.
        """
        names = {n: [f"{n} {k + 1}" for k in range(len(own))] for n, own in self.posterior.labels.items()}
        dims = {n: dict(zip(names[n], own, strict=True)) for n, own in self.posterior.labels.items() if own}
        return inference_data(self.posterior, self.posterior.values, dims)

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
        return summary(self.question, self.table, self.priors, self.checks, self.posterior.method)

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
        "flag": flags(flag, "" if draws is None else of_prior(values, draws), doubt(rhat, min(bulk, end))),
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
    longer = f"Sample longer (sampling={{'draws': 2000, 'tune': 2000}}), or give {tighter}."
    return [
        finding("largest R-hat", worst, doubt(worst, np.inf), longer),
        finding("smallest ESS", ess, doubt(1.0, ess), longer),
        finding(
            "divergences",
            float(draws.divergences),
            DIVERGENT.of(draws.divergences),
            f"Give {tighter}, or tune longer (sampling={{'tune': 2000}}).",
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
    """
    low, high = np.quantile(simulated, [0.025, 0.975], axis=0)
    inside = (observed >= low) & (observed <= high)
    share = float(inside.mean())
    flag = "" if share >= 0.9 else OUTSIDE
    return [finding(f"{what} inside the 95 % predictive", share, flag)]


def prior_table(priors: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
    """The priors as a frame.

    Parameters
    ----------
    priors : mapping
        Parameter -> (prior, meaning).
    """
    return pd.DataFrame([{"parameter": k, "prior": p, "meaning": m} for k, (p, m) in priors.items()])


def scales(defaults: Mapping[str, float], priors: Mapping[str, float] | None) -> dict[str, float]:
    """Scales of the priors, some of them given.

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
