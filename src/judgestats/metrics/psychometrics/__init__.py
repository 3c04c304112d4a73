"""Psychometrics of a judge: dark current, Δ0 decomposition, sensitivity, threshold, criterion (dark_current paper).

May import what ``metrics`` may.
"""

from judgestats.metrics.psychometrics.ladder import d_prime, target_sensitivity
from judgestats.metrics.psychometrics.operating_point import criterion_shift
from judgestats.metrics.psychometrics.surface import delta0, filler_preference
from judgestats.metrics.psychometrics.threshold import detection_threshold
from judgestats.metrics.psychometrics.vacuum import dark_current, validity_gates

__all__ = [
    "criterion_shift",
    "d_prime",
    "dark_current",
    "delta0",
    "detection_threshold",
    "filler_preference",
    "target_sensitivity",
    "validity_gates",
]
