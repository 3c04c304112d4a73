"""Likelihood-ratio tests of nested models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.errors import DesignError, FitError
from judgestats.models.fitted_models import Fitted
from judgestats.models.ml import fit_design
from judgestats.models.postestimation.delta_method import cautions
from judgestats.models.postestimation.nested_models import refuse_unnested
from judgestats.models.postestimation.wald_tests import _p_value
from judgestats.typing import Floats

#: ``n_quadrature`` -> flag of a model that was refitted by it.
RULES: dict[int | str, str] = {
    1: flags.REFITTED.of(how="Laplace's approximation"),
    "auto": flags.REFITTED.of(how="the trapezoidal rule"),
}


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
        ``p conservative: variance on the boundary``; so is a Poisson model beside a negative binomial one, whose size
        is infinite there. Correlations alone, ``(x|g)`` against ``(x||g)``, are at no end.
        What was fitted again is flagged ``refitted by Laplace's approximation``, ``refitted by the trapezoidal rule``
        or ``refitted by ML``.

    Raises
    ------
    DesignError
        If the models are of other data, another response, family or link, if the smaller is no special case of the
        larger, or if an engine other than ``ml`` approximates the likelihood differently.
    FitError
        If an engine has no likelihood.

    See Also
    --------
    fit : Models of verdicts and scores.

    Notes
    -----
    A model is nested in a larger one if, on its rows, each of its fixed effects (with thresholds and offset) is a
    linear combination of the larger one's, and each random term one of the covariances that a term of the larger one
    allows for: ``(1|g)`` of ``(x|g)``, and ``(1|g:h)`` of ``(0 + h|g)``. A column that the larger model lacks is
    taken for no combination of others. A larger model that fits worse did not reach its maximum, and is flagged.

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
    _refuse_unlike(fits)
    compared, refitted = _by_ml(fits)
    by_one_rule = _by_one_rule(compared)
    ordered = sorted(by_one_rule, key=lambda f: f[0].df)
    rows: list[dict[str, object]] = []
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


def _compare(row: dict[str, object], small: Fitted, large: Fitted) -> list[str]:
    """Fill in the test of one model against the one above; return its flags."""
    difference = large.df - small.df
    row["df_difference"] = float(difference)
    if difference == 0:
        return [flags.SAME_SIZE]
    refuse_unnested(small, large)
    statistic = 2 * (large.loglik - small.loglik)
    row["statistic"] = statistic if statistic > -1e-4 else np.nan
    return [
        flags.BOUNDARY if _variances(large) - _variances(small) else "",
        flags.NOT_NESTED if statistic < -1e-4 else "",
    ]


def _variances(fit: Fitted) -> Counter[frozenset[str]]:
    """How many variances each grouping factor has, and calls: correlations are not, since 0 lies inside their range."""
    of_calls = [frozenset[str]()] if fit.distribution.limit else []
    return Counter([*of_calls, *(frozenset(t.columns) for t in fit.design.terms for _ in t.names)])


def _refuse_unlike(fits: Sequence[Fitted]) -> None:
    """Refuse models that cannot be compared."""
    first = fits[0]
    for fit in fits:
        refuse_without_maximum(fit)
        if not np.isfinite(fit.loglik):
            raise FitError(
                f"engine={fit.engine!r} of {fit.formula!r} has no likelihood: compare by tests(), or use 'ml'."
            )
        for what, one, other in (
            ("response", first.design.formula.response, fit.design.formula.response),
            ("family", first.distribution.limit or first.family, fit.distribution.limit or fit.family),
            ("link", first.link, fit.link),
            ("categories", first.design.categories, fit.design.categories),
        ):
            if one != other:
                raise DesignError(
                    f"The models differ in their {what}: {one!r} and {other!r}. They are not nested; compare AIC."
                )
        if not np.allclose(_sums(first), _sums(fit), rtol=1e-9):
            excluded = " and ".join(f"{f.design.rows.n_missing:,.0f}" for f in (first, fit))
            raise DesignError(
                f"The models are of different data: {first.n:,.0f} rows and {fit.n:,.0f}, {excluded} excluded for a "
                "missing value. Fit both to the rows complete in all columns."
            )


def refuse_without_maximum(fit: Fitted) -> None:
    """Refuse a likelihood ratio of a perfect fit, and of clusters that the likelihood does not know."""
    if fit.model.cluster is not None:
        raise FitError(
            f"{fit.formula!r} has errors clustered by {fit.model.cluster!r}, which a likelihood ratio ignores. Compare "
            "by tests(), or fit without cluster=."
        )
    if flags.PERFECT_FIT in fit.notes:
        raise FitError(
            f"{fit.formula!r} gives every value ({flags.PERFECT_FIT}): its likelihood has no maximum, and no ratio. "
            "Leave out terms, or take a response that varies beyond them."
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
    return [fit_design(replace(f.model, reml=False)) if f.method == "REML" else f for f in fits], True


def _by_one_rule(fits: Sequence[Fitted]) -> list[tuple[Fitted, str]]:
    """Refit models whose random effects are integrated out by another rule, and name that rule in their flags."""
    used = sorted({f.approximation for f in fits if f.design.terms})
    if len(used) < 2:
        return [(f, "") for f in fits]
    if any(f.engine != "ml" or f.distribution.linear for f in fits if f.design.terms):
        raise DesignError(f"The likelihoods are approximated differently: {', '.join(used)}. Fit all with engine='ml'.")
    rule: int | Literal["auto"] = 1 if "Laplace" in used else "auto"
    alike = "Laplace" if rule == 1 else "trapezoid"
    stays = [not f.design.terms or f.approximation == alike for f in fits]
    return [(f, "") if stay else (_refitted(f, rule), RULES[rule]) for f, stay in zip(fits, stays, strict=True)]


def _refitted(fit: Fitted, rule: int | Literal["auto"]) -> Fitted:
    """The same model by another rule; a flag of separation is kept."""
    refit = fit_design(replace(fit.model, n_quadrature=rule))
    separation = [note for note in fit.notes if note == flags.SEPARATION]
    return replace(refit, notes=(*refit.notes, *separation), options=fit.options)
