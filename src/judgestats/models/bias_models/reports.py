"""Results of the bias models: fits, tidy estimates and tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import chdtrc, stdtrit

from judgestats import flags
from judgestats.models.fits import Fit
from judgestats.models.fitted_models import Fitted
from judgestats.models.links import LINKS
from judgestats.models.ml import BOUNDARY
from judgestats.models.postestimation.coefficient_tables import wide
from judgestats.models.postestimation.degrees_of_freedom import degrees
from judgestats.models.postestimation.delta_method import delta, normal_quantile, spread
from judgestats.typing import Floats

# ---- The result, and rows of estimates -------------------------------------------------------------------------------

Row = dict[str, Any]

#: A larger log-odds, or one with a larger standard error, is taken as infinite.
ENDLESS, VAGUE = 15.0, 30.0
#: Calls per level below which Laplace's approximation is flagged.
FEW = 5.0
#: Value of the column ``judge`` in rows over all judges.
ALL = "all judges"


@dataclass(frozen=True, eq=False)
class VerdictModel:
    """Result of a bias model.

    Attributes
    ----------
    question : str
        The question that the model answers.
    fits : dict of str to Fit
        Every fit behind the table, by name, with all methods of a fit.
    table : pandas.DataFrame
        Tidy estimates: grouping columns, the columns of :data:`judgestats.results.COLUMNS`, ``scale`` and others.
    tests : pandas.DataFrame
        One row per comparison: ``question``, ``compared`` (the two models), ``test`` (``LR``, ``Wald`` or ``t``),
        ``statistic``, ``df``, ``p_value``, ``flag``.

    See Also
    --------
    Fit : Each of the fits.
    strategy_effects, position_bias_model, self_preference : Models that return it.

    Examples
    --------
    >>> import judgestats as js
    >>> counts = pd.DataFrame({"judge": "g", "strategy": ["B0", "B0", "S8", "S8"], "correct": [0, 1] * 2,
    ...                        "n": [40, 60, 20, 80]})
    >>> found = js.models.strategy_effects(counts, baseline="B0")
    >>> found.tidy()[["term", "scale", "estimate"]].round(2)
      term              scale  estimate
    0   S8           log-odds      0.98
    1   S8         odds ratio      2.67
    2   S8  percentage points     20.00
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
        """Checks of the fits, with advice.

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
        """Question, estimates, comparisons and models as text.

        Returns
        -------
        str
        """
        return repr(self)

    def __repr__(self) -> str:
        """The question, the table and the tests as text; flags of every row are given once, below them."""
        shown = self.table.drop(columns=[c for c in ("method",) if c in self.table]).dropna(axis=1, how="all")
        parts = [self.question, "", *_shown(shown)]
        if len(self.tests):
            parts += ["", "Compared", *_shown(self.tests)]
        return "\n".join([*parts, "", "Models", *dict.fromkeys(_named(f) for f in self.fits.values())])


def _named(fit: Fit) -> str:
    """A fit in a line, with its notes."""
    return f"{fit.formula}  [{fit.family}, {fit.link}, {fit.method}]" + (
        f": {flags.join(*fit.notes)}" if fit.notes else ""
    )


def _shown(table: pd.DataFrame) -> list[str]:
    """A table as text, with the flags of all rows in a line below."""
    rows = [[f for f in str(cell).split("; ") if f] for cell in table["flag"]]
    common = [f for f in (rows[0] if len(rows) > 1 else []) if all(f in row for row in rows)]
    shown = table.assign(flag=["; ".join(f for f in row if f not in common) for row in rows])
    texts = shown.select_dtypes(exclude="number").columns
    shown[texts] = shown[texts].astype(object).where(shown[texts].notna(), "")
    shown = shown if shown["flag"].any() else shown.drop(columns="flag")
    return [shown.round(4).to_string(index=False), *([f"In every row: {'; '.join(common)}"] if common else [])]


def linear(fit: Fitted, weights: Mapping[str, float]) -> Floats:
    """Coefficients of a linear function of the parameters, (P,), from parameter -> weight."""
    result = np.zeros(len(fit.params))
    for name, weight in weights.items():
        result[fit.names.index(name)] = weight
    return result


def critical(conf_level: float, df: float | None) -> float:
    """Quantile of a two-sided interval: of the normal distribution, or of t with `df` degrees of freedom."""
    normal = normal_quantile(conf_level)
    return normal if df is None else float(stdtrit(df, 0.5 + conf_level / 2))


def wald_row(fit: Fitted, term: str, value: float, se: float, z: float, scale: str, df: float | None = None) -> Row:
    """Row of an estimate with Wald's interval."""
    return {
        "term": term, "estimate": value, "std_error": se, "conf_low": value - z * se, "conf_high": value + z * se,
        "n": fit.n, "method": described(fit, df), "flag": fit_flags(fit), "scale": scale,
    }  # fmt: skip


def effect_row(
    fit: Fitted, c: Floats, term: str, conf_level: float, scale: str = "log-odds", df: float | None = None
) -> Row:
    """Estimate of a linear function c (P,) of the parameters, with Wald's interval; an infinite one is NaN, flagged.

    `df`: of an effect that varies between judges, their number minus one; by default those of the fit.
    """
    value, se = float(c @ fit.params), float(spread(c, fit.covariance))
    endless = bool((c[np.isin(fit.names, fit.options.get("separated", ()))] != 0).any())
    endless |= not fit.distribution.linear and (abs(value) > ENDLESS or se > VAGUE or not (se == se or fit.converged))
    if endless:
        value = se = math.nan
    found = float(degrees(fit, c[: fit.n_location])) if df is None else df
    df = found if math.isfinite(found) else None
    made = wald_row(fit, term, value, se, critical(conf_level, df), scale, df)
    return {**made, "flag": flags.join(flags.SEPARATION, made["flag"])} if endless else made


def ratio_row(row: Row, scale: str = "odds ratio") -> Row:
    """Turn a row of log-odds into one of odds ratios, with the interval transformed from the logarithm."""
    ratio = math.exp(row["estimate"])
    ends = {k: math.exp(row[k]) for k in ("conf_low", "conf_high")}
    return {**row, "estimate": ratio, "std_error": ratio * row["std_error"], **ends, "scale": scale}


def points_row(
    fit: Fitted, X: Floats, base: Floats | None, term: str, conf_level: float, df: float | None = None
) -> Row:
    """Change of the mean response in percentage points, averaged over rows and over scalar random effects of 1 or -1.

    `X`, `base` (M, K): the first K columns of the design in the two states; base None: a constant one half.
    """

    def change(params: Floats) -> Floats:
        variance = np.full(len(X), sum(float(S.sum()) for S in fit.covariances(params)))
        beta = params[: X.shape[1]]
        there = LINKS[fit.link].average(X @ beta, variance)[0]
        here = np.full(len(X), 0.5) if base is None else LINKS[fit.link].average(base @ beta, variance)[0]
        return np.array([100 * float(np.mean(there - here))])

    values, jacobian = delta(change, fit.params, fit.covariance)
    value, se = float(values[0]), float(spread(jacobian[0], fit.covariance))
    made = wald_row(fit, term, value, se, critical(conf_level, df), "percentage points", df)
    low, high = float(np.maximum(made["conf_low"], -100.0)), float(np.minimum(made["conf_high"], 100.0))
    return {**made, "conf_low": low, "conf_high": high}


def spread_rows(fit: Fitted, names: Mapping[str, str], conf_level: float) -> list[Row]:
    """Standard deviation of each scalar random term in `names` (factor -> term), with the interval of its logarithm."""
    rows, z = [], normal_quantile(conf_level)
    for k, term in enumerate(fit.design.terms):
        if term.factor not in names:
            continue
        place = fit.n_location + k
        value = abs(float(fit.params[place]))
        se = math.sqrt(fit.covariance[place, place]) if fit.covariance[place, place] > 0 else math.nan
        factor = math.exp(min(z * se / value, 700.0)) if value > 0 else math.nan
        flag = flags.join(fit_flags(fit, term.factor), wide(se / value) if value > 0 else None)
        made = wald_row(fit, names[term.factor], value, se, z, LINKS[fit.link].unit)
        rows.append({**made, "conf_low": value / factor, "conf_high": value * factor, "flag": flag})
    return rows


def described(fit: Fitted, df: float | None = None) -> str:
    """Family, link and method of a fit, for the column ``method``."""
    return f"{fit.family} {fit.link}, {fit.method}" + ("" if df is None else f", t on {df:.3g}")


def fit_flags(fit: Fitted, factor: str | None = None) -> str:
    """Flags of a row of a fit; a note on a variance of 0 applies only to rows of its factor."""
    few = fit.method == "Laplace" and any(fit.n < FEW * len(t.levels) for t in fit.design.terms)
    edge = BOUNDARY * fit.unit
    terms = zip(fit.design.terms, fit.factors(), strict=True) if factor is not None else ()
    at_zero = any(t.factor == factor and bool((np.abs(np.diag(L)) < edge).any()) for t, L in terms)
    notes = fit.notes if at_zero else without(fit.notes)
    return flags.join(*notes, flags.FEW_CALLS if few and not fit.distribution.linear else None)


def without(notes: Sequence[str]) -> list[str]:
    """Notes of a fit, except that a variance is 0, which does not concern the fixed effects."""
    return [n for n in notes if n != flags.SINGULAR]


# ---- Rows of tests ---------------------------------------------------------------------------------------------------

#: Columns of the tests, after the grouping columns.
TESTS = ("question", "compared", "test", "statistic", "df", "p_value", "flag")


def by_rule(terms: int) -> Literal["auto"] | int:
    """``n_quadrature=`` of models that are compared: Laplace's approximation if one has several random terms."""
    return "auto" if terms <= 1 else 1


def tested(question: str, compared: str, test: str, statistic: float, df: float, p_value: float, flag: str) -> Row:
    """One row of the tests."""
    return dict(zip(TESTS, (question, compared, test, statistic, df, p_value, flag), strict=True))


def likelihood_ratio(small: Fitted, large: Fitted, question: str, compared: str, *, variance: bool = False) -> Row:
    """Compare two nested fits; `variance`: they differ by one variance only, 0 under the smaller model.

    The null distribution is then a mixture with mass 1/2 at 0 (Self and Liang 1987).
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
    flag = flags.join(*notes, flags.LARGER_WORSE if lower else None, None if same else flags.UNLIKE)
    return tested(question, compared, "LR", statistic, df, p, flag)


def wald(fit: Fitted, C: Floats, question: str, compared: str) -> Row:
    """Joint Wald test that K linear functions of the parameters, `C` (K, P), are 0."""
    value, V = C @ fit.params, C @ np.nan_to_num(fit.covariance, nan=0.0) @ C.T
    known = len(C) > 0 and np.isfinite(spread(C, fit.covariance)).all() and np.linalg.matrix_rank(V) == len(C)
    statistic = float(value @ np.linalg.solve(V, value)) if known else math.nan
    p = float(chdtrc(len(C), statistic)) if known else math.nan
    return tested(question, compared, "Wald", statistic, len(C), p, fit_flags(fit))


def comparisons(rows: Sequence[Row], by: Sequence[str] = ()) -> pd.DataFrame:
    """Frame of tests; grouping columns `by` are empty text in rows that compare the groups."""
    table = pd.DataFrame(list(rows)).reindex(columns=[*by, *TESTS])
    table["flag"] = table["flag"].astype(object).where(table["flag"].notna(), "").astype("str")
    for name in by:
        if table[name].isna().any():
            table[name] = table[name].astype(object).where(table[name].notna(), "")
    return table
