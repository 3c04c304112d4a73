"""Public names; written by benchmarks/measures_page.py."""

from judgestats.metrics.psychometrics.ladder import d_prime as d_prime
from judgestats.metrics.psychometrics.ladder import target_sensitivity as target_sensitivity
from judgestats.metrics.psychometrics.operating_point import criterion_shift as criterion_shift
from judgestats.metrics.psychometrics.surface import delta0 as delta0
from judgestats.metrics.psychometrics.surface import filler_preference as filler_preference
from judgestats.metrics.psychometrics.threshold import detection_threshold as detection_threshold
from judgestats.metrics.psychometrics.vacuum import dark_current as dark_current
from judgestats.metrics.psychometrics.vacuum import validity_gates as validity_gates
