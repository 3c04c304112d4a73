"""Public names; written by benchmarks/measures_page.py."""

from judgestats.metrics.confidence.abstention import abstention_threshold as abstention_threshold
from judgestats.metrics.confidence.reliability import confidence_calibration as confidence_calibration
