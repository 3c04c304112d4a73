"""Before the judges are asked: judges with planted properties, and what they answer to a plan (:func:`simulate`).

The room sits beside ``published``: it may import metrics, schema, results, kernels and errors.
"""

from judgestats.design.judges import Judge
from judgestats.design.simulation import answer_probabilities, simulate

__all__ = ["Judge", "answer_probabilities", "simulate"]
