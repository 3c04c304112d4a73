"""Planning a study: simulated judges (:func:`simulate`) and the effects a test can detect.

May import metrics, schema, results, kernels and errors.
"""

from judgestats.design.judges import Judge
from judgestats.design.simulation import answer_probabilities, simulate
from judgestats.metrics.bias import minimum_detectable_effect

__all__ = ["Judge", "answer_probabilities", "minimum_detectable_effect", "simulate"]
