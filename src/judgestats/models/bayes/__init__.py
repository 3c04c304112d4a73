"""Bayesian models: sampled with PyMC (extra ``bayes``), or integrated where that is exact.

May import likelihood, coding and the rooms below models. PyMC, nutpie and arviz-stats are loaded when they are used;
only :mod:`judgestats.models.bayes.draws` and :mod:`judgestats.models.bayes.draws` know them.
"""
