"""judgestats: statistics for the verdicts of LLM judges.

A judge is a measuring instrument; this package measures the instrument. It never calls a model: it reads cached
verdicts (:func:`read`), checks and counts them (:func:`check`, :func:`tally`) and measures the judge
(:func:`datasheet` and the measures behind it).

Names are loaded when they are first used, so that ``import judgestats`` is light: ``__init__.pyi`` lists them.
"""

from judgestats.loading import names_of

__version__ = "0.1.0"

__getattr__, __dir__, _HOMES = names_of(__name__, __file__)

__all__ = ["__version__", *sorted(_HOMES)]
