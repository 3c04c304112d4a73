"""Pictures of tidy estimates: each function takes a result, returns matplotlib axes, and computes nothing.

They draw on a figure of their own, outside of pyplot's state, or on the axes given as ``ax=``; ``axes.figure`` is the
figure, to be saved or shown. May import what ``reporting`` may.
"""

from judgestats.reporting.plots.bars import answers, decomposition
from judgestats.reporting.plots.curves import psychometric_curves
from judgestats.reporting.plots.forests import forest
from judgestats.reporting.plots.maps import metrology_map, stable_positional
from judgestats.reporting.plots.matrices import deviation_matrix, score_matrix
from judgestats.reporting.plots.operating import operating_point

__all__ = [
    "answers",
    "decomposition",
    "deviation_matrix",
    "forest",
    "metrology_map",
    "operating_point",
    "psychometric_curves",
    "score_matrix",
    "stable_positional",
]
