"""Simulated judges with planted properties, and their answers to a plan (:func:`simulate`).

May import metrics, schema, results, kernels and errors; independent of ``published``.
"""

from judgestats.design.judges import Judge
from judgestats.design.simulation import answer_probabilities, simulate

__all__ = ["Judge", "answer_probabilities", "simulate"]
