"""Models of the reference data sets, fitted once, without the front door."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd

from judgestats.models.designs import design
from judgestats.models.fitted_models import Fitted
from judgestats.models.ml import fit_design
from judgestats.models.specifications import Model
from judgestats.models.thresholds import cumulative_thresholds
from models.reference import data

LINKS = {"binomial": "logit", "gaussian": "identity", "poisson": "log", "cumulative": "logit"}
CASES = "cbind(incidence, size - incidence) ~ period + (1|herd)"
SLEEP = "Reaction ~ Days + (Days|Subject)"
WINE = "rating ~ temp + contact"

#: Name in the stored tables -> data set, formula, family, options.
MODELS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "cbpp": ("cbpp", CASES, "binomial", {}),
    "cbpp_agq25": ("cbpp", CASES, "binomial", {"n_quadrature": 25}),
    "cbpp_probit": ("cbpp", CASES, "binomial", {"link": "probit"}),
    "cbpp_obs": ("cbpp", f"{CASES} + (1|obs)", "binomial", {}),
    "cbpp_poisson": ("cbpp", "incidence ~ period + offset(np.log(size)) + (1|herd)", "poisson", {}),
    "sleepstudy_reml": ("sleepstudy", SLEEP, "gaussian", {"reml": True}),
    "sleepstudy_ml": ("sleepstudy", SLEEP, "gaussian", {}),
    "sleepstudy_uncorrelated_ml": ("sleepstudy", SLEEP.replace("|", "||"), "gaussian", {}),
    "penicillin_reml": ("penicillin", "diameter ~ 1 + (1|plate) + (1|sample)", "gaussian", {"reml": True}),
    "penicillin_ml": ("penicillin", "diameter ~ 1 + (1|plate) + (1|sample)", "gaussian", {}),
    "wine": ("wine", f"{WINE} + (1|judge)", "cumulative", {}),
    "wine_agq10": ("wine", f"{WINE} + (1|judge)", "cumulative", {"n_quadrature": 10}),
    "wine_clm": ("wine", WINE, "cumulative", {}),
    "wine_binary": ("wine", "high ~ temp * contact + (1|judge)", "binomial", {}),
}


@cache
def example(name: str) -> Fitted:
    """One of :data:`MODELS`."""
    source, formula, family, options = MODELS[name]
    return fitted(formula, data(source), family, **options)


def fitted(formula: str, table: pd.DataFrame, family: str = "binomial", **options: Any) -> Fitted:
    """Fit by maximum likelihood."""
    coded = design(formula, table, family=family)
    link = options.pop("link", LINKS[family])
    return fit_design(Model(coded, family, link, thresholds=cumulative_thresholds(coded.categories, link), **options))
