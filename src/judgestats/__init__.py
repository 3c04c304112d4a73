"""judgestats: statistics for the verdicts of LLM judges.

Start with ``js.report(js.read(path))``: a page with all that verdicts in a file, a table or a log say of their judges.
A judge is a measuring instrument; this package measures the instrument, and never calls a model.

- :func:`read`, :func:`preferences`, :func:`ratings`: verdicts as tidy frames; :func:`check`: what becomes of each row.
- :func:`datasheet`: all measures of a judge; one by one by group: ``js.bias``, ``js.correctness``, ``js.agreement``,
  ``js.consensus``, ``js.confidence``, ``js.psychometrics``, ``js.invariance``, ``js.ranking``, ``js.datasheets``.
- :func:`fit`, :mod:`judgestats.models`: mixed, ordinal and Bayesian models. ``js.plot``: pictures.
- :mod:`judgestats.published`: tables of papers, reproduced and audited. :mod:`judgestats.design`: studies, planned.

Names are loaded when they are first used, so that ``import judgestats`` is light: ``__init__.pyi`` lists them.
"""

from judgestats.loading import names_of

__version__ = "0.1.0"

__getattr__, __dir__, _HOMES = names_of(__name__, __file__)

__all__ = ["__version__", *sorted(_HOMES)]
