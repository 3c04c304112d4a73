"""Hierarchical Bayesian models of judges, from raw verdicts or from printed counts (extra ``bayes``).

:func:`severity` and :func:`agreement` of scores, :func:`bias` and :func:`strategies` of verdicts,
:func:`psychometric` of ladders, :func:`susceptibility` of cues. May import bayes and the rest of models; PyMC is
loaded when a model is sampled.
"""

from judgestats.models.hierarchical.best_strategies import strategies
from judgestats.models.hierarchical.cue_effects import susceptibility
from judgestats.models.hierarchical.curves import psychometric
from judgestats.models.hierarchical.posteriors import Posterior
from judgestats.models.hierarchical.score_components import agreement
from judgestats.models.hierarchical.severities import severity
from judgestats.models.hierarchical.signed_bias import bias


def __dir__() -> list[str]:
    """The public functions, without the modules."""
    return __all__


__all__ = ["Posterior", "agreement", "bias", "psychometric", "severity", "strategies", "susceptibility"]
