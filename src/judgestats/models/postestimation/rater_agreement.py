"""Agreement of many raters by the variances of an ordinal or binary mixed model."""

from __future__ import annotations

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, choose
from judgestats.models.fitted_models import Fitted
from judgestats.models.links import LINKS
from judgestats.models.postestimation.delta_method import cautions, delta, normal_quantile, spread
from judgestats.models.postestimation.design_shortages import inflated, shortages
from judgestats.models.postestimation.prediction import ESTIMATES, limits
from judgestats.typing import Floats

#: Nodes over the effects of the items.
NODES = 101
#: Weighting -> power of the distance between two categories.
POWERS = {"none": 0.0, "linear": 1.0, "quadratic": 2.0}


def agreement(
    fit: Fitted, of: str = "item", weights: str | None = None, conf_level: float = CONF_LEVEL
) -> pd.DataFrame:
    """See :meth:`judgestats.models.Fit.agreement`."""
    z, power = normal_quantile(conf_level), POWERS[choose(weights or "none", tuple(POWERS), "weights")]
    _refuse(fit, of)
    shared = np.array([term.factor == of for term in fit.design.terms])
    J = len(fit.design.categories) or 2
    apart = np.abs(np.subtract.outer(np.arange(J), np.arange(J))) / (J - 1)
    credit = 1 - np.where(apart > 0, apart**power, 0.0)

    def kappa(params: Floats) -> Floats:
        variances = np.array([C[0, 0] for C in fit.covariances(params)])
        both = _joint(fit.link, J, float(variances[shared].sum()), float(variances[~shared].sum()))
        chance = credit.mean()
        return np.array([((both * credit).sum() - chance) / (1 - chance)])

    value, jacobian = delta(kappa, fit.params, fit.covariance)
    error = spread(jacobian, fit.covariance)
    cells = limits(value, error, "probability", z)
    columns = {"term": "kappa", **dict(zip(ESTIMATES[:4], cells.T, strict=True))}
    few = [*(short.flag for short in shortages(fit)), *filter(None, [inflated(fit).get(of)])]
    singular = flags.SINGULAR if flags.SINGULAR in fit.notes else ""
    flag = [flags.join(f, singular, *few) for f in cautions(fit, error)]
    return pd.DataFrame({**columns, "method": LINKS[fit.link].name, "flag": flag})


def _joint(link: str, J: int, between: float, within: float) -> Floats:
    """Chances (J, J) of the categories that two raters choose of one item, where each category is as frequent."""
    average = LINKS[link].average
    wanted = np.arange(1, J) / J
    cuts, total = LINKS[link].forward(wanted) * np.sqrt(1 + between + within), np.full(J - 1, between + within)
    for _ in range(50):
        share, slope, _ = average(cuts, total)
        step = (share - wanted) / slope
        cuts = cuts - step
        if np.abs(step).max() < 1e-12:
            break
    node, weight = np.polynomial.hermite_e.hermegauss(NODES)
    at = cuts[:, None] - np.sqrt(between) * node
    below = average(at.ravel(), np.full(at.size, within))[0].reshape(at.shape)
    chance = np.diff(below, axis=0, prepend=0.0, append=1.0)
    return np.asarray(chance * weight / weight.sum() @ chance.T, np.float64)


def _refuse(fit: Fitted, of: str) -> None:
    """Refuse a model whose raters and items are not random, or whose response has no classes."""
    if not fit.distribution.categorical or fit.distribution.per_class:
        raise DesignError(
            f"agreement() is of binary or ordered answers; got family={fit.family!r}. Fit family='cumulative' or "
            "'binomial', or use icc() for scores."
        )
    got = [f"({' + '.join(t.names)}|{t.factor})" for t in fit.design.terms]
    if of not in [t.factor for t in fit.design.terms]:
        raise DesignError(
            f"agreement() needs a random term (1|{of}) of what is judged; got {' + '.join(got) or 'none'}. Add it, or "
            "name the factor of what is judged in of=."
        )
    if any(t.names != ("Intercept",) for t in fit.design.terms):
        raise DesignError(
            f"agreement() is of random intercepts: with slopes it differs from row to row. Got {' + '.join(got)}. Fit "
            f"(1|{of}) + (1|judge)."
        )
