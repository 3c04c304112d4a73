"""Hierarchical Bayesian models of judges, from raw verdicts or from printed counts (extra ``bayes``).

:func:`severity` and :func:`agreement` of scores, :func:`bias` and :func:`strategies` of verdicts,
:func:`psychometric` of ladders, :func:`susceptibility` of cues. May import bayes and the rest of models; PyMC is
loaded when a model is sampled.
"""

from judgestats.models.hierarchical.components import agreement
from judgestats.models.hierarchical.cues import susceptibility
from judgestats.models.hierarchical.curves import psychometric
from judgestats.models.hierarchical.leanings import bias
from judgestats.models.hierarchical.posteriors import Posterior
from judgestats.models.hierarchical.rankings import strategies
from judgestats.models.hierarchical.severities import severity


def __dir__() -> list[str]:
    """The public functions, without the modules."""
    return __all__


__all__ = ["Posterior", "agreement", "bias", "psychometric", "severity", "strategies", "susceptibility"]
