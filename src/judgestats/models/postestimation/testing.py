"""Wald tests of terms and hypotheses, and likelihood-ratio tests of nested models."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc

from judgestats import flags
from judgestats.errors import DesignError, FitError, FormulaError, choose, suggestion
from judgestats.models.fitted import Fitted
from judgestats.models.ml import Model, fit_design
from judgestats.models.postestimation import freedom
from judgestats.models.postestimation.delta import cautions, trusted
from judgestats.typing import Floats

# ---- Linear hypotheses as text: ``strategy[S1] = strategy[S8]`` ------------------------------------------------------


_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+")


def hypothesis(text: str, names: Sequence[str]) -> tuple[Floats, float]:
    """Read a hypothesis about coefficients, sums and products with one ``=``, as ``weights @ coefficients = value``."""
    sides = _split(text, names)
    if len(sides) > 2:
        raise _fault(text, "it has more than one '='")
    left, right = (_sum(text, own, names) for own in (sides if len(sides) == 2 else [sides[0], ["0"]]))
    weights = left[:-1] - right[:-1]
    if not weights.any():
        raise _fault(text, "it constrains no coefficient")
    return weights, float(right[-1] - left[-1])


def _split(text: str, names: Sequence[str]) -> list[list[str]]:
    """Tokens of each side."""
    known = sorted(names, key=len, reverse=True)  # a name may begin with another
    sides: list[list[str]] = [[]]
    place = 0
    while place < len(text):
        rest = text[place:]
        name = next((n for n in known if rest.startswith(n) and not _goes_on(n, rest)), None)
        number = _NUMBER.match(rest)
        if name is not None:
            sides[-1].append(name)
            place += len(name)
        elif number:
            sides[-1].append(number.group())
            place += number.end()
        elif rest[0] in "+-*/":
            sides[-1].append(rest[0])
            place += 1
        elif rest[0] == "=":
            sides.append([])
            place += 2 if rest.startswith("==") else 1
        elif rest[0].isspace():
            place += 1
        else:
            word = re.match(r"[^\s=+*/-]+", rest)
            wrong = word.group() if word else rest[0]
            listed = ", ".join(names)
            raise FormulaError(
                f"{text!r} names {wrong!r}, which is not a coefficient. Allowed: {listed}.{suggestion(wrong, names)}"
            )
    return sides


def _goes_on(name: str, rest: str) -> bool:
    """Whether what follows belongs to a longer name."""
    after = rest[len(name) : len(name) + 1]
    return bool(after) and (after.isalnum() or after in "_[:|.")


def _sum(text: str, tokens: Sequence[str], names: Sequence[str]) -> Floats:
    """Coefficients of a side, and its number last."""
    place = {n: k for k, n in enumerate(names)}
    total, one = np.zeros(len(names) + 1), None
    sign, divide = 1.0, False
    if not tokens:
        raise _fault(text, "a side is empty")
    for token in [*tokens, "+"]:
        if token in ("+", "-") and token not in place:
            if one is not None:
                total += sign * one
                one, sign = None, 1.0
            sign = -sign if token == "-" else sign
        elif token in ("*", "/"):
            if one is None:
                raise _fault(text, f"{token!r} has nothing before it")
            divide = token == "/"
        else:
            value = np.zeros(len(names) + 1)
            value[place.get(token, -1)] = 1.0 if token in place else float(token)
            one = value if one is None else _product(text, one, value, divide)
            divide = False
    return total


def _product(text: str, one: Floats, other: Floats, divide: bool) -> Floats:
    if divide:
        if other[:-1].any() or other[-1] == 0:
            raise _fault(text, "it divides by a coefficient or by 0")
        return np.asarray(one / other[-1])
    if one[:-1].any() and other[:-1].any():
        raise _fault(text, "it multiplies coefficients")
    return np.asarray(one * other[-1] if one[:-1].any() else other * one[-1])


def _fault(text: str, why: str) -> FormulaError:
    return FormulaError(
        f"{text!r} is not a linear hypothesis: {why}. Write 'a = b', '2 * a + b = 1', or 'a' for a = 0."
    )


# ---- Wald tests of terms and hypotheses, and likelihood-ratio tests of nested models ---------------------------------


#: ``n_quadrature`` -> flag of a model that was refitted by it.
RULES: dict[int | str, str] = {
    1: flags.REFITTED.of(how="Laplace's approximation"),
    "auto": flags.REFITTED.of(how="the trapezoidal rule"),
}
INTERCEPT = "Intercept"
#: Term, statistic, degrees of freedom, and those of the denominator.
Test = tuple[str, float, int, float]


def tests(fit: Fitted, kind: Any = "II") -> pd.DataFrame:  # noqa: PT028
    """Wald tests: :meth:`judgestats.models.Fit.tests`."""
    if isinstance(kind, str) and kind in ("II", "III", "wald"):
        rows = [_term(fit, name, second=kind == "II") for name in fit.design.fixed.terms if name != INTERCEPT]
        return _frame(fit, rows)
    if isinstance(kind, np.ndarray):
        return _frame(fit, [_hypotheses(fit, "hypothesis", kind)])
    if isinstance(kind, str):
        if "=" not in kind and kind not in fit.names:
            choose(kind, ("II", "III", "wald", *fit.names[: fit.n_location]), "kind")
        kind = [kind]
    named = kind.items() if isinstance(kind, Mapping) else [(str(k), k) for k in kind]
    return _frame(fit, [_hypotheses(fit, str(name), given) for name, given in named])


def _term(fit: Fitted, name: str, *, second: bool) -> Test:
    """A term, given all others; of type II where those that contain it are 0."""
    terms = fit.design.fixed.terms
    own = set(name.split(":"))
    containing = [t for t in terms if second and t != name and t != INTERCEPT and own < set(t.split(":"))]
    above = [k for t in containing for k in range(terms[t].start, terms[t].stop)]
    place = [*range(terms[name].start, terms[name].stop)]
    rows = np.eye(len(fit.params))[place]
    V = trusted(fit)[np.ix_([*place, *above], [*place, *above])]
    if above and np.isfinite(V).all():
        size = len(place)
        rows[:, above] = -np.linalg.solve(V[size:, size:], V[size:, :size]).T
    elif above:
        rows[:, above] = np.nan
    return _test(fit, name, rows, np.zeros(len(rows)))


def _test(fit: Fitted, name: str, rows: Floats, values: Floats) -> Test:
    """F of a hypothesis, or χ² where the degrees of freedom are infinite by rule."""
    if np.isnan(rows).any():
        return name, float("nan"), len(rows), float("nan")
    statistic, df = wald(fit, rows, values)
    if freedom.rule(fit) == freedom.NORMAL:
        return name, statistic, df, float("inf")
    return name, statistic / max(df, 1), df, freedom.joint(fit, rows[:, : fit.n_location])


def wald(fit: Fitted, rows: Floats, values: Floats) -> tuple[float, int]:
    """Wald's χ² of rows (R, P) @ params = values, NaN where a variance that matters is not known, and its rank."""
    rank = int(np.linalg.matrix_rank(rows))
    used = np.flatnonzero((rows != 0).any(axis=0))
    V = trusted(fit)[np.ix_(used, used)]
    if not np.isfinite(V).all():
        return float("nan"), rank
    own = rows[:, used] @ V @ rows[:, used].T
    gap = rows @ fit.params - values
    scale = np.sqrt(np.maximum(np.diag(own), 1e-300))
    inner = own / np.outer(scale, scale)
    inverse = np.linalg.inv(inner) if rank == len(rows) else np.linalg.pinv(inner, rcond=1e-9, hermitian=True)
    return float((gap / scale) @ inverse @ (gap / scale)), rank


def _array(fit: Fitted, given: NDArray[Any]) -> Floats:
    rows = np.atleast_2d(np.asarray(given, float))
    allowed = sorted({fit.n_fixed, fit.n_location})
    if rows.shape[1] not in allowed:
        raise DesignError(
            f"The array has {rows.shape[1]} columns. Allowed: {' or '.join(map(str, allowed))}, one for each of "
            f"{', '.join(fit.names[: fit.n_location])}."
        )
    full = np.zeros((len(rows), len(fit.params)))
    full[:, : rows.shape[1]] = rows
    return full


def _hypotheses(fit: Fitted, name: str, given: Any) -> Test:
    if isinstance(given, np.ndarray):
        rows = _array(fit, given)
        return _test(fit, name, rows, np.zeros(len(rows)))
    texts = [given] if isinstance(given, str) else list(given)
    found = [hypothesis(part, fit.names[: fit.n_location]) for text in texts for part in str(text).split(",")]
    rows = np.zeros((len(found), len(fit.params)))
    rows[:, : fit.n_location] = [weights for weights, _ in found]
    return _test(fit, name, rows, np.array([value for _, value in found]))


def _frame(fit: Fitted, rows: Sequence[Test]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["term", "statistic", "df", "df_error"])
    table = table.astype({"term": "str", "statistic": float, "df": int, "df_error": float})
    statistic, df, error = (table[c].to_numpy(dtype=float) for c in ("statistic", "df", "df_error"))
    chi = _p_value(statistic, df)
    table["p_value"] = chi if freedom.rule(fit) == freedom.NORMAL else freedom.above(statistic, df, error)
    table["method"] = freedom.named(fit, "F")
    table["flag"] = [str(d) for d in cautions(fit, table["statistic"].to_numpy())]
    return table


def _p_value(statistic: Floats, df: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.where((df > 0) & np.isfinite(statistic), chdtrc(np.maximum(df, 1), np.maximum(statistic, 0)), np.nan)


def anova(*fits: Fitted) -> pd.DataFrame:
    """Likelihood-ratio tests of nested models.

    Parameters
    ----------
    *fits : Fitted
        Two or more, of the same data; they are ordered by their number of parameters. Gaussian models by REML whose
        fixed effects differ are refitted by ML, and flagged. Models whose random effects are integrated out
        differently are refitted by one rule: by Laplace's approximation if one of them needs it or was fitted by it,
        else by ``n_quadrature="auto"``.

    Returns
    -------
    pandas.DataFrame
        A row for each model: ``formula``, ``df``, ``loglik``, ``aic``, ``bic``, and against the row above
        ``statistic``, ``df_difference``, ``p_value`` (χ²), ``flag``. Where the larger model has more variances, the
        smaller one has them at 0, the end of their range: χ² is too large a yardstick and p too large, flagged
        ``p conservative: variance on the boundary``. Correlations alone, ``(x|g)`` against ``(x||g)``, are at no end.
        What was fitted again is flagged ``refitted by Laplace's approximation``, ``refitted by the trapezoidal rule``
        or ``refitted by ML``.

    Raises
    ------
    DesignError
        If the models are of other data, another response, family or link, or if an engine other than ``ml``
        approximates the likelihood differently.
    FitError
        If an engine has no likelihood.

    See Also
    --------
    fit : Models of verdicts and scores.

    Notes
    -----
    Whether the models are nested is not checked; a larger model that fits worse is flagged.

    Examples
    --------
    >>> import judgestats as js
    >>> counts = pd.DataFrame({"strategy": ["B0", "B0", "S8", "S8"], "correct": [0, 1, 0, 1], "n": [40, 60, 20, 80]})
    >>> small, large = js.fit("correct ~ 1", counts, counts="n"), js.fit("correct ~ strategy", counts, counts="n")
    >>> js.anova(small, large)[["formula", "df", "statistic", "p_value"]].round(4)
                  formula  df  statistic  p_value
    0         correct ~ 1   1        NaN      NaN
    1  correct ~ strategy   2     9.6629   0.0019
    """
    if len(fits) < 2:
        raise DesignError("anova() compares two models or more. For the terms of one model use fit.tests().")
    _refuse(fits)
    compared, refitted = _by_ml(fits)
    by_one_rule = _by_one_rule(compared)
    ordered = sorted(by_one_rule, key=lambda f: f[0].df)
    rows: list[dict[str, Any]] = []
    for k, (fit, again) in enumerate(ordered):
        row = {"formula": fit.formula, "df": fit.df, "loglik": fit.loglik, "aic": 2 * (fit.df - fit.loglik)}
        row |= {"bic": fit.df * np.log(fit.n) - 2 * fit.loglik, "statistic": np.nan, "df_difference": np.nan}
        caution = str(cautions(fit, np.zeros(1))[0])
        own = _compare(row, ordered[k - 1][0], fit) if k else []
        row["flag"] = flags.join(caution, flags.REFITTED.of(how="ML") if refitted else again, *own)
        rows.append(row)
    table = pd.DataFrame(rows)
    table["p_value"] = _p_value(table["statistic"].to_numpy(float), table["df_difference"].fillna(0).to_numpy(float))
    return table[["formula", "df", "loglik", "aic", "bic", "statistic", "df_difference", "p_value", "flag"]]


def _compare(row: dict[str, Any], small: Fitted, large: Fitted) -> list[str]:
    """Fill in the test of one model against the one above; return its flags."""
    difference = large.df - small.df
    row["df_difference"] = float(difference)
    if difference == 0:
        return [flags.SAME_SIZE]
    statistic = 2 * (large.loglik - small.loglik)
    row["statistic"] = statistic if statistic > -1e-4 else np.nan
    return [
        flags.BOUNDARY if _variances(large) - _variances(small) else "",
        flags.NOT_NESTED if statistic < -1e-4 else "",
    ]


def _variances(fit: Fitted) -> Counter[frozenset[str]]:
    """How many variances each grouping factor has: correlations are not counted, since 0 lies inside their range."""
    return Counter(frozenset(t.columns) for t in fit.design.terms for _ in t.names)


def _refuse(fits: Sequence[Fitted]) -> None:
    """Refuse models that cannot be compared."""
    first = fits[0]
    for fit in fits:
        if not np.isfinite(fit.loglik):
            raise FitError(
                f"engine={fit.engine!r} of {fit.formula!r} has no likelihood: compare by tests(), or use 'ml'."
            )
        for what, one, other in (
            ("response", first.design.formula.response, fit.design.formula.response),
            ("family", first.family, fit.family),
            ("link", first.link, fit.link),
            ("categories", first.design.categories, fit.design.categories),
        ):
            if one != other:
                raise DesignError(
                    f"The models differ in their {what}: {one!r} and {other!r}. They are not nested; compare AIC."
                )
        if not np.allclose(_sums(first), _sums(fit), rtol=1e-9):
            raise DesignError(
                f"The models are of different data: {first.n:,.0f} rows and {fit.n:,.0f}, "
                f"{first.design.n_missing:,.0f} and {fit.design.n_missing:,.0f} excluded for a missing value. Fit "
                "both to the rows complete in all columns."
            )


def _sums(fit: Fitted) -> Floats:
    """Sums of the data, equal for two fits to the same data."""
    d = fit.design
    own = (np.ones(len(d.y)), d.y, d.y**2, d.trials, d.trials * d.y, d.weights, d.weights * d.y)
    return np.array([d.count @ v for v in own])


def _by_ml(fits: Sequence[Fitted]) -> tuple[list[Fitted], bool]:
    """Refit by ML if restricted likelihoods are not comparable."""
    restricted = [f for f in fits if f.method == "REML"]
    alike = all(set(f.design.names) == set(fits[0].design.names) for f in fits)
    if not restricted or (alike and len(restricted) == len(fits)):
        return list(fits), False

    for fit in restricted:
        if fit.engine != "ml":
            raise DesignError(
                f"Restricted likelihoods of models with different fixed effects do not compare ({fit.engine!r}, "
                f"{fit.formula!r}). Fit with reml=False, or with engine='ml'."
            )
    return [fit_design(Model(f.design, f.family, f.link)) if f.method == "REML" else f for f in fits], True


def _by_one_rule(fits: Sequence[Fitted]) -> list[tuple[Fitted, str]]:
    """Refit models whose random effects are integrated out by another rule, and name that rule in their flags."""
    used = sorted({f.approximation for f in fits if f.design.terms})
    if len(used) < 2:
        return [(f, "") for f in fits]
    if any(f.engine != "ml" or f.distribution.linear for f in fits if f.design.terms):
        raise DesignError(f"The likelihoods are approximated differently: {', '.join(used)}. Fit all with engine='ml'.")
    rule: int | Literal["auto"] = 1 if "Laplace" in used else "auto"
    alike = "Laplace" if rule == 1 else "trapezoid"
    kept = [not f.design.terms or f.approximation == alike for f in fits]
    return [(f, "") if stays else (_again(f, rule), RULES[rule]) for f, stays in zip(fits, kept, strict=True)]


def _again(fit: Fitted, rule: int | Literal["auto"]) -> Fitted:
    """The same model by another rule; a flag of separation is kept."""
    found = fit_design(Model(fit.design, fit.family, fit.link, False, rule, fit.thresholds, fit.part))
    separation = [note for note in fit.notes if note == flags.SEPARATION]
    return replace(found, notes=(*found.notes, *separation), options=fit.options)


# ---- Likelihood-ratio tests of single terms: each left out in turn ---------------------------------------------------

COLUMNS = ("term", "df", "loglik", "aic", "statistic", "p_value", "flag")
#: Row of the model itself.
NONE = "<none>"


def drop1(fit: Fitted) -> pd.DataFrame:
    """See :meth:`judgestats.models.Fit.drop1`."""
    whole, note = _whole(fit)
    rows = [_row(NONE, whole, whole, note)]
    for name, place in whole.design.fixed.terms.items():
        if name != INTERCEPT and not any(_parts(name) < _parts(other) for other in whole.design.fixed.terms):
            rows.append(_row(name, whole, _without(whole, place), note))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _parts(term: str) -> set[str]:
    return set(term.split(":"))


def _whole(fit: Fitted) -> tuple[Fitted, str]:
    """The model by maximum likelihood, and what is to be said of that."""
    if fit.method == "REML":
        if fit.engine != "ml":
            raise DesignError(
                f"Restricted likelihoods of models with different fixed effects do not compare ({fit.engine!r}). Use "
                "tests(), or engine='ml'."
            )
        return fit_design(Model(fit.design, fit.family, fit.link)), flags.REFITTED.of(how="ML")
    if not np.isfinite(fit.loglik) or fit.refit is None:
        raise FitError(f"engine={fit.engine!r} has no likelihood to compare: use tests(), or engine='ml'.")
    return fit, ""


def _without(fit: Fitted, place: slice) -> Fitted:
    """The same model without some columns of the fixed part."""
    assert fit.refit is not None
    d = fit.design
    keep = [k for k in range(fit.n_fixed) if not place.start <= k < place.stop]
    coded = d.fixed.restricted(keep)
    less = replace(d, X=np.ascontiguousarray(d.X[:, keep]), names=coded.names, fixed=coded)
    return fit.refit(less, np.arange(len(d.y), dtype=np.int64))


def _row(term: str, whole: Fitted, less: Fitted, note: str) -> dict[str, Any]:
    df, own = whole.df - less.df, 2 * (whole.loglik - less.loglik)
    statistic = own if df > 0 and own > -1e-4 else np.nan
    row = {"term": term, "df": df, "loglik": less.loglik, "aic": 2 * (less.df - less.loglik), "statistic": statistic}
    row["p_value"] = float(chdtrc(df, max(statistic, 0.0))) if df > 0 and np.isfinite(statistic) else np.nan
    lost = flags.NOT_CONVERGED if not less.converged else ""
    caution = str(cautions(whole, np.zeros(1))[0])
    return {**row, "flag": flags.join(note, caution, lost, flags.NOT_NESTED if own < -1e-4 else "")}
