"""Planning a study: stimuli and prompts, plans of calls, their export to a runner and the answers that come back; and
simulated judges with known properties, with the effects a test can detect.

It never calls a model. May import the packages ingest, metrics, models, verdicts, counting, schema and
kernels.
"""

from judgestats.loading import names_of

__getattr__, __dir__, _HOMES = names_of(__name__, __file__)
__all__ = sorted(_HOMES)
