"""Engines: each fits a :class:`judgestats.models.specifications.Model` and returns a `Fitted`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from judgestats.models.engines.bayes_pymc import fit_pymc
from judgestats.models.engines.generalised import fit_gee, fit_glm
from judgestats.models.engines.linear import fit_lpm, fit_mixedlm
from judgestats.models.engines.nominal import fit_nominal
from judgestats.models.engines.ordinal import fit_ordered
from judgestats.models.engines.variational import fit_bayes
from judgestats.models.fitted_models import Fitted
from judgestats.models.links import LINKS
from judgestats.models.ml import fit_design
from judgestats.models.specifications import Model


@dataclass(frozen=True)
class Engine:
    """An engine and its options."""

    fit: Callable[..., Fitted]  # function of a Model that returns a Fitted
    links: tuple[str, ...] = tuple(LINKS)
    # reml, quadrature, weights, clusters, robust, shapes, samples: whether it supports ``reml=``, ``n_quadrature=``,
    # ``weights=``, ``cluster=`` (of estimates; of errors alone), restricted thresholds, ``priors=`` with ``sampling=``
    reml: bool = False
    quadrature: bool = False
    weights: bool = False
    clusters: bool = False
    robust: bool = False
    shapes: bool = False
    samples: bool = False


def fit_ml(model: Model) -> Fitted:
    """Fit by maximum likelihood."""
    return fit_nominal(model) if model.distribution.per_class else fit_design(model)


#: Name -> engine. The records of families list the engines that fit them.
ENGINES = {
    "ml": Engine(fit_ml, reml=True, quadrature=True, weights=True, robust=True, shapes=True),
    "glm": Engine(fit_glm, weights=True, robust=True),
    "gee": Engine(fit_gee, clusters=True),
    "ordered": Engine(fit_ordered),
    "mixedlm": Engine(fit_mixedlm, reml=True),
    "lpm": Engine(fit_lpm, ("logit",), weights=True),
    "statsmodels": Engine(fit_bayes, ("logit",)),
    "pymc": Engine(fit_pymc, weights=True, shapes=True, samples=True),
}
