"""Engines: a model -> what was fitted. One contract, several ways.

An engine is a callable of a :class:`judgestats.models.ml.Model` that returns a
:class:`judgestats.models.fitted.Fitted`; :data:`ENGINES` names them, with what each can do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from judgestats.models.engines.bayes_pymc import fit_pymc
from judgestats.models.engines.generalised import fit_bayes, fit_gee, fit_glm, fit_ordered
from judgestats.models.engines.linear import fit_lpm, fit_mixedlm
from judgestats.models.families import LINKS
from judgestats.models.fitted import Fitted
from judgestats.models.ml import fit_design


@dataclass(frozen=True)
class Engine:
    """An engine, and what it can do.

    `fit`: of a Model: a Fitted.
    `reml`, `quadrature`, `weights`, `clusters`, `shapes`, `samples`: whether it takes ``reml=``, ``n_quadrature=``,
    ``weights=``, ``cluster=``, thresholds that are not free, and ``priors=`` and ``sampling=``.
    """

    fit: Callable[..., Fitted]
    links: tuple[str, ...] = tuple(LINKS)
    reml: bool = False
    quadrature: bool = False
    weights: bool = False
    clusters: bool = False
    shapes: bool = False
    samples: bool = False


#: Name -> engine. The families that each fits stand in their records.
ENGINES = {
    "ml": Engine(fit_design, reml=True, quadrature=True, weights=True, shapes=True),
    "glm": Engine(fit_glm, weights=True),
    "gee": Engine(fit_gee, clusters=True),
    "ordered": Engine(fit_ordered),
    "mixedlm": Engine(fit_mixedlm, reml=True),
    "lpm": Engine(fit_lpm, ("logit",), weights=True),
    "statsmodels": Engine(fit_bayes, ("logit",)),
    "pymc": Engine(fit_pymc, weights=True, shapes=True, samples=True),
}
