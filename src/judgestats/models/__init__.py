"""Models: a formula and a table -> a fit; one grammar, several engines.

:func:`fit` returns a :class:`Fit`; :func:`anova` compares fits. Ready-made models of verdicts:
:func:`strategy_effects`, :func:`position_bias_model`, :func:`self_preference`, :func:`item_difficulty`,
:func:`tie_model`.

Inside, each may import those before it: grammar (formulas), coding (tables to arrays), thresholds, families, designs,
likelihood and ``ml`` (our own engine), bayes, postestimation, engines, ``fits`` and ``estimation``, bias_models,
hierarchical.

May import the packages verdicts, counting, schema and kernels; never metrics, ingest, design, published or reporting.
"""

from judgestats.loading import names_of

__getattr__, __dir__, _HOMES = names_of(__name__, __file__)
__all__ = sorted(_HOMES)
