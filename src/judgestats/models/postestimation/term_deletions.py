"""Likelihood-ratio tests of single terms: each left out in turn."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from judgestats import flags
from judgestats.errors import DesignError, FitError
from judgestats.models.designs import RandomTerm
from judgestats.models.fitted_models import Fitted
from judgestats.models.formula import RandomPart, coder
from judgestats.models.ml import fit_design
from judgestats.models.postestimation.delta_method import cautions
from judgestats.models.postestimation.likelihood_ratios import refuse_without_maximum
from judgestats.models.postestimation.wald_tests import INTERCEPT

COLUMNS = ("term", "df", "loglik", "aic", "statistic", "p_value", "flag")
#: Row of the model itself.
NONE = "<none>"


def drop1(fit: Fitted) -> pd.DataFrame:
    """See :meth:`judgestats.models.Fit.drop1`."""
    whole, note = _whole(fit)
    rows = [_row(NONE, whole, whole, note)]
    terms = whole.design.fixed.coder.terms
    rows += [_row(name, whole, _without(whole, terms[name]), note) for name in _last(terms)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def ranova(fit: Fitted) -> pd.DataFrame:
    """See :meth:`judgestats.models.Fit.ranova`."""
    d = fit.design
    if not d.terms or fit.engine != "ml":
        raise FitError(
            f"ranova() leaves out random terms of engine='ml'; {fit.formula!r} by engine={fit.engine!r} has "
            f"{len(d.terms)}. Write one, (1|item) say, and use engine='ml'."
        )
    refuse_without_maximum(fit)
    rows = [_row(NONE, fit, fit, "")]
    for t, (part, term) in enumerate(zip(d.formula.random, d.terms, strict=True)):
        for name, left in _smaller(part, term, fit):
            design = replace(d, terms=(*d.terms[:t], *left, *d.terms[t + 1 :]))
            less = fit_design(replace(fit.model, design=design, n_quadrature=1))  # what has fewer terms, has no other
            if fit.method == "REML" and not design.terms:
                less = replace(less, loglik=_restricted_loglik(less))
            rows.append(_row(name, fit, less, flags.BOUNDARY))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _smaller(part: RandomPart, term: RandomTerm, fit: Fitted) -> Iterator[tuple[str, tuple[RandomTerm, ...]]]:
    """What can be left out of a random term, as lmerTest names it, and what then is left of it."""
    slopes = _last(term.coder.terms)
    for name in slopes or [INTERCEPT]:
        place = term.coder.terms[name]
        keep = [k for k in range(len(term.names)) if not place.start <= k < place.stop]
        if keep:
            yield f"{name} in {part}", (replace(term, coder=term.coder.restricted(keep), values=term.values[:, keep]),)
        elif slopes and (term.values.sum(axis=1) == 1).all():  # a factor without an intercept, which is all its levels
            one = coder("1", fit.design.frame, part.expression)
            yield f"{name} in {part}", (replace(term, coder=one, values=np.ones((len(term.values), 1))),)
        else:
            yield str(part), ()


def _restricted_loglik(fit: Fitted) -> float:
    """Restricted log likelihood of a linear model without random terms."""
    d = fit.design
    w, residual, left = d.count * d.weights, d.y - d.offset - d.X @ fit.beta, d.n - d.X.shape[1]
    information = np.linalg.slogdet(d.X.T @ (w[:, None] * d.X))[1]
    twice = left * (np.log(2 * np.pi * (w @ residual**2) / left) + 1) + information - d.count @ np.log(d.weights)
    return float(-twice / 2)


def _last(terms: Collection[str]) -> list[str]:
    """Terms that no other contains, without the intercept."""
    return [t for t in terms if t != INTERCEPT and not any(_parts(t) < _parts(other) for other in terms)]


def _parts(term: str) -> set[str]:
    return set(term.split(":"))


def _whole(fit: Fitted) -> tuple[Fitted, str]:
    """The model by maximum likelihood, and what is to be said of that."""
    refuse_without_maximum(fit)
    if fit.method == "REML":
        if fit.engine != "ml":
            raise DesignError(
                f"Restricted likelihoods of models with different fixed effects do not compare ({fit.engine!r}). Use "
                "tests(), or engine='ml'."
            )
        return fit_design(replace(fit.model, reml=False)), flags.REFITTED.of(how="ML")
    if not np.isfinite(fit.loglik) or fit.refit is None:
        raise FitError(f"engine={fit.engine!r} has no likelihood to compare: use tests(), or engine='ml'.")
    return fit, ""


def _without(fit: Fitted, place: slice) -> Fitted:
    """The same model without some columns of the fixed part."""
    assert fit.refit is not None
    d = fit.design
    keep = [k for k in range(d.X.shape[1]) if not place.start <= k < place.stop]
    coded = d.fixed.coder.restricted(keep)
    less = replace(d, fixed=replace(d.fixed, coder=coded, X=np.ascontiguousarray(d.X[:, keep])))
    return fit.refit(less, np.arange(len(d.y), dtype=np.int64))


def _row(term: str, whole: Fitted, less: Fitted, note: str) -> dict[str, object]:
    df, own = whole.df - less.df, 2 * (whole.loglik - less.loglik)
    statistic = own if df > 0 and own > -1e-4 else np.nan
    row = {"term": term, "df": df, "loglik": less.loglik, "aic": 2 * (less.df - less.loglik), "statistic": statistic}
    row["p_value"] = float(chdtrc(df, max(statistic, 0.0))) if df > 0 and np.isfinite(statistic) else np.nan
    lost = flags.NOT_CONVERGED if not less.converged else ""
    caution = str(cautions(whole, np.zeros(1))[0])
    return {**row, "flag": flags.join(note, caution, lost, flags.NOT_NESTED if own < -1e-4 else "")}
