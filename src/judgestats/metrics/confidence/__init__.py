"""Does a judge know when it is right: its confidence beside the right answers."""

from judgestats.metrics.confidence.abstention import abstention_threshold
from judgestats.metrics.confidence.reliability import confidence_calibration

__all__ = ["abstention_threshold", "confidence_calibration"]
