"""Hierarchical Bayesian models of judges, from raw verdicts or from printed counts (extra ``bayes``).

:func:`severity` and :func:`agreement` of scores, :func:`bias` and :func:`strategies` of verdicts,
:func:`psychometric` of ladders, :func:`susceptibility` of cues. May import the packages bias_models, engines,
postestimation, bayes, likelihood, coding and grammar of models; PyMC is loaded when a model is sampled.
"""

from judgestats.loading import names_of

__getattr__, __dir__, _HOMES = names_of(__name__, __file__)
__all__ = sorted(_HOMES)
