"""Estimates -> tables, pictures and pages; no statistics here. Only this package rounds.

May import the packages published, design, ingest, metrics, models, verdicts, counting, schema and kernels. Names are
loaded when they are first used: the page of an audit needs no plots.
"""

from judgestats.loading import names_of

__getattr__, __dir__, _HOMES = names_of(__name__, __file__)
__all__ = sorted(_HOMES)
