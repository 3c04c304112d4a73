"""What a bias model returns: its fits, a tidy table of what was asked, and what was compared with what."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc, stdtrit

from judgestats.models.families import LINKS
from judgestats.models.fits import Fit
from judgestats.models.fitted import Fitted
from judgestats.models.ml import BOUNDARY
from judgestats.models.postestimation import freedom
from judgestats.models.postestimation.delta import delta, normal_quantile, spread
from judgestats.models.postestimation.tables import wide
from judgestats.results import FEW_CALLS, LARGER_WORSE, SEPARATION, SINGULAR, UNLIKE, flags

# ---- What a bias model returns: its fits, a tidy table of what was asked, and what was compared with what ------------

Floats = NDArray[np.float64]
Row = dict[str, Any]

#: A log-odds beyond it, or with a standard error beyond the other, has run off to infinity.
ENDLESS, VAGUE = 15.0, 30.0
#: Calls per level below which Laplace's approximation is doubted.
FEW = 5.0
#: Name of the row over all judges.
ALL = "all judges"


@dataclass(frozen=True, eq=False)
class VerdictModel:
    """Answer of a bias model.

    Attributes
    ----------
    question : str
        What was asked.
    fits : dict of str to Fit
        Every fit that the table is made from, by name; all verbs of a fit are there.
    table : pandas.DataFrame
        Tidy estimates: grouping columns, the columns of :data:`judgestats.results.COLUMNS`, ``scale`` and others.
    tests : pandas.DataFrame
        One row per comparison: ``question``, ``compared`` (the two models), ``test`` (``LR``, ``Wald`` or ``t``),
        ``statistic``, ``df``, ``p_value``, ``flag``.
    """

    question: str
    fits: dict[str, Fit] = field(repr=False)
    table: pd.DataFrame
    tests: pd.DataFrame

    def tidy(self) -> pd.DataFrame:
        """Estimates, a row each.

        Returns
        -------
        pandas.DataFrame
            A copy of :attr:`table`.
        """
        return self.table.copy()

    def glance(self) -> pd.DataFrame:
        """Each fit in one row.

        Returns
        -------
        pandas.DataFrame
            ``fit`` (its name in :attr:`fits`) and the columns of :meth:`judgestats.models.Fit.glance`.
        """
        return self._each("glance")

    def check(self) -> pd.DataFrame:
        """What is doubtful in the fits, with advice.

        Returns
        -------
        pandas.DataFrame
            ``fit`` (its name in :attr:`fits`) and the columns of :meth:`judgestats.models.Fit.check`.
        """
        return self._each("check")

    def _each(self, verb: str) -> pd.DataFrame:
        tables = {name: getattr(fit, verb)() for name, fit in self.fits.items()}
        return pd.concat([t.assign(fit=name)[["fit", *t.columns]] for name, t in tables.items()], ignore_index=True)

    def summary(self) -> str:
        """The question, estimates, comparisons and models as text.

        Returns
        -------
        str
        """
        return repr(self)

    def __repr__(self) -> str:
        """The question, the table and the tests as text; what holds for every row is said once, below them."""
        shown = self.table.drop(columns=[c for c in ("method",) if c in self.table]).dropna(axis=1, how="all")
        parts = [self.question, "", *_shown(shown)]
        if len(self.tests):
            parts += ["", "Compared", *_shown(self.tests)]
        return "\n".join([*parts, "", "Models", *dict.fromkeys(_named(f) for f in self.fits.values())])


def _named(fit: Fit) -> str:
    """A fit in a line, with its notes."""
    return f"{fit.formula}  [{fit.family}, {fit.link}, {fit.method}]" + (f": {flags(*fit.notes)}" if fit.notes else "")


def _shown(table: pd.DataFrame) -> list[str]:
    """A table as text; flags that all its rows have in a line below."""
    rows = [[f for f in str(cell).split("; ") if f] for cell in table["flag"]]
    common = [f for f in (rows[0] if len(rows) > 1 else []) if all(f in row for row in rows)]
    own = table.assign(flag=["; ".join(f for f in row if f not in common) for row in rows])
    texts = own.select_dtypes(exclude="number").columns
    own[texts] = own[texts].astype(object).where(own[texts].notna(), "")
    own = own if own["flag"].any() else own.drop(columns="flag")
    return [own.round(4).to_string(index=False), *([f"In every row: {'; '.join(common)}"] if common else [])]


def linear(fit: Fitted, weights: Mapping[str, float]) -> Floats:
    """Coefficients of a linear function of the parameters, by their names.

    Returns (P,).
    """
    result = np.zeros(len(fit.params))
    for name, weight in weights.items():
        result[fit.names.index(name)] = weight
    return result


def critical(conf_level: float, df: float | None) -> float:
    """Quantile of a two-sided interval: normal, or of t where a number of degrees of freedom is given."""
    normal = normal_quantile(conf_level)
    return normal if df is None else float(stdtrit(df, 0.5 + conf_level / 2))


def effect_row(
    fit: Fitted, c: Floats, term: str, conf_level: float, scale: str = "log-odds", df: float | None = None
) -> Row:
    """Estimate of a linear function of the parameters, with Wald's interval.

    `c` (P,). `scale`: what its unit is called. `df`: degrees of freedom of an effect that varies between judges: one
    less than there are judges. By default those of the fit: Satterthwaite's of a Gaussian model. Returns NaN, flagged,
    where the estimate has run off to infinity.
    """
    value, se = float(c @ fit.params), float(spread(c, fit.covariance))
    flag = doubts(fit)
    endless = bool((c[np.isin(fit.names, fit.options.get("separated", ()))] != 0).any())
    endless |= not fit.distribution.linear and (abs(value) > ENDLESS or se > VAGUE or not (se == se or fit.converged))
    if endless:
        value, se, flag = math.nan, math.nan, flags(SEPARATION, flag)
    own = float(freedom.degrees(fit, c[: fit.n_location])) if df is None else df
    df = own if math.isfinite(own) else None
    z = critical(conf_level, df)
    return {
        "term": term,
        "estimate": value,
        "std_error": se,
        "conf_low": value - z * se,
        "conf_high": value + z * se,
        "n": fit.n,
        "method": described(fit, df),
        "flag": flag,
        "scale": scale,
    }


def ratio_row(row: Row, scale: str = "odds ratio") -> Row:
    """Turn a row of log-odds into one of odds ratios; the interval is that of the logarithm, transformed."""
    ratio = math.exp(row["estimate"])
    ends = {k: math.exp(row[k]) for k in ("conf_low", "conf_high")}
    return {**row, "estimate": ratio, "std_error": ratio * row["std_error"], **ends, "scale": scale}


def points_row(
    fit: Fitted, X: Floats, base: Floats | None, term: str, conf_level: float, df: float | None = None
) -> Row:
    """Change of the mean response in percentage points, averaged over rows and over the random effects.

    `fit`: whose random terms are all scalar with values of 1 or -1. `X`, `base` (M, K): what the first K parameters are
    multiplied with in the two states; None for a constant one half. `df`: as in :func:`effect_row`.
    """

    def change(params: Floats) -> Floats:
        variance = np.full(len(X), sum(float(S.sum()) for S in fit.covariances(params)))
        beta = params[: X.shape[1]]
        there = LINKS[fit.link].average(X @ beta, variance)[0]
        here = np.full(len(X), 0.5) if base is None else LINKS[fit.link].average(base @ beta, variance)[0]
        return np.array([100 * float(np.mean(there - here))])

    values, jacobian = delta(change, fit.params, fit.covariance)
    value, se = float(values[0]), float(spread(jacobian[0], fit.covariance))
    z = critical(conf_level, df)
    return {
        "term": term,
        "estimate": value,
        "std_error": se,
        "conf_low": max(value - z * se, -100.0) if se == se else se,
        "conf_high": min(value + z * se, 100.0) if se == se else se,
        "n": fit.n,
        "method": described(fit, df),
        "flag": doubts(fit),
        "scale": "percentage points",
    }


def spread_rows(fit: Fitted, names: Mapping[str, str], conf_level: float) -> list[Row]:
    """Standard deviation of each scalar random term; the interval is that of its logarithm, transformed.

    `names`: factor -> what its standard deviation is called; others are left out.
    """
    rows, z = [], normal_quantile(conf_level)
    for k, term in enumerate(fit.design.terms):
        if term.factor not in names:
            continue
        place = fit.n_location + k
        value = abs(float(fit.params[place]))
        se = math.sqrt(fit.covariance[place, place]) if fit.covariance[place, place] > 0 else math.nan
        factor = math.exp(min(z * se / value, 700.0)) if value > 0 else math.nan
        unit = LINKS[fit.link].unit
        rows.append(
            {
                "term": names[term.factor],
                "estimate": value,
                "std_error": se,
                "conf_low": value / factor,
                "conf_high": value * factor,
                "n": fit.n,
                "method": described(fit),
                "flag": flags(doubts(fit, term.factor), wide(se / value) if value > 0 else None),
                "scale": unit,
            }
        )
    return rows


def described(fit: Fitted, df: float | None = None) -> str:
    """Name of a fit's method, for the column ``method``."""
    return f"{fit.family} {fit.link}, {fit.method}" + ("" if df is None else f", t on {df:.3g}")


def doubts(fit: Fitted, factor: str | None = None) -> str:
    """Flags of a row of a fit; Laplace's approximation with few calls per level is one.

    `factor`: grouping factor that the row is about: a variance of 0 concerns its rows alone, and stands in the fit's
    notes.
    """
    few = fit.method == "Laplace" and any(fit.n < FEW * len(t.levels) for t in fit.design.terms)
    notes = fit.notes if factor is not None and _at_zero(fit, factor) else without(fit.notes)
    return flags(*notes, FEW_CALLS if few and not fit.distribution.linear else None)


def without(notes: Sequence[str]) -> list[str]:
    """Notes of a fit but the one of a variance at 0, which does not concern the fixed effects."""
    return [n for n in notes if n != SINGULAR]


def _at_zero(fit: Fitted, factor: str) -> bool:
    """Whether a random term of a factor has a variance of 0."""
    edge = BOUNDARY * fit.unit
    terms = zip(fit.design.terms, fit.factors(), strict=True)
    return any(t.factor == factor and bool((np.abs(np.diag(L)) < edge).any()) for t, L in terms)


# ---- Comparisons of nested fits, and tests of what a fit says: rows of the tests of a bias model ---------------------


#: Columns of the tests, after those that group them.
TESTS = ("question", "compared", "test", "statistic", "df", "p_value", "flag")


def by_rule(terms: int) -> Literal["auto"] | int:
    """``n_quadrature=`` of models that are compared, the largest of which has so many random terms.

    Several terms need Laplace's approximation, and what is compared with it has it too.
    """
    return "auto" if terms <= 1 else 1


def likelihood_ratio(small: Fitted, large: Fitted, question: str, compared: str, *, variance: bool = False) -> Row:
    """Compare two nested fits.

    `variance`: whether they differ in one variance alone: it lies on its boundary under the smaller model, and half of
    the chances are 0 (Self and Liang 1987). Returns row of the tests.
    """
    df = large.df - small.df
    statistic = 2 * (large.loglik - small.loglik)
    lower = statistic < -1e-3
    statistic = max(statistic, 0.0)
    if df < 1 or lower or math.isnan(statistic):
        p = math.nan
    elif variance:
        p = 0.5 * float(chdtrc(1, statistic)) if statistic > 1e-6 else 1.0
    else:
        p = float(chdtrc(df, statistic))
    same = small.approximation == large.approximation or not (small.design.terms and large.design.terms)
    notes = [*small.notes, *large.notes] if variance else without([*small.notes, *large.notes])
    flag = flags(*notes, LARGER_WORSE if lower else None, None if same else UNLIKE)
    return {
        "question": question,
        "compared": compared,
        "test": "LR",
        "statistic": statistic,
        "df": df,
        "p_value": p,
        "flag": flag,
    }


def wald(fit: Fitted, C: Floats, question: str, compared: str) -> Row:
    """Joint test that linear functions of the parameters are 0.

    `C` (K, P). Returns row of the tests.
    """
    value, V = C @ fit.params, C @ np.nan_to_num(fit.covariance, nan=0.0) @ C.T
    known = len(C) > 0 and np.isfinite(spread(C, fit.covariance)).all() and np.linalg.matrix_rank(V) == len(C)
    statistic = float(value @ np.linalg.solve(V, value)) if known else math.nan
    p = float(chdtrc(len(C), statistic)) if known else math.nan
    flag = doubts(fit)
    return {
        "question": question,
        "compared": compared,
        "test": "Wald",
        "statistic": statistic,
        "df": len(C),
        "p_value": p,
        "flag": flag,
    }


def comparisons(rows: Sequence[Row], by: Sequence[str] = ()) -> pd.DataFrame:
    """Put rows of tests together.

    `by`: columns that group them; empty text where a row names none.
    """
    table = pd.DataFrame(list(rows)).reindex(columns=[*by, *TESTS])
    table["flag"] = table["flag"].astype(object).where(table["flag"].notna(), "").astype("str")
    for name in by:  # a comparison between all groups belongs to none
        if table[name].isna().any():
            table[name] = table[name].astype(object).where(table[name].notna(), "")
    return table
