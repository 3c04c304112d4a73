"""Bayesian models: sampled with PyMC (extra ``bayes``), or integrated where that is exact.

May import the packages likelihood, coding and grammar of models. PyMC, nutpie and arviz-stats are loaded when they are
used, in :mod:`judgestats.models.bayes.draws` and :mod:`judgestats.models.bayes.sampling` only.
"""
