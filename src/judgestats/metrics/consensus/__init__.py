"""Deviations of judges from their peers, from people and from known values.

May import what ``metrics`` may.
"""

from judgestats.metrics.consensus.anonymity import blinding_effect
from judgestats.metrics.consensus.calibration import calibrate
from judgestats.metrics.consensus.concordance import kendall_w, ranks
from judgestats.metrics.consensus.correlations import rank_correlation
from judgestats.metrics.consensus.deviations import consensus_deviation
from judgestats.metrics.consensus.scores import score_matrix
from judgestats.metrics.consensus.stability import run_sd
from judgestats.metrics.consensus.tables_of_judges import correlate_over_judges, side_by_side
from judgestats.metrics.consensus.validity import level_progression

__all__ = [
    "blinding_effect",
    "calibrate",
    "consensus_deviation",
    "correlate_over_judges",
    "kendall_w",
    "level_progression",
    "rank_correlation",
    "ranks",
    "run_sd",
    "score_matrix",
    "side_by_side",
]
