"""Public names; written by benchmarks/measures_page.py."""

from judgestats.metrics.correctness.attempts import pass_at_k as pass_at_k
from judgestats.metrics.correctness.best_responses import best_of_accuracy as best_of_accuracy
from judgestats.metrics.correctness.classifications import classification as classification
from judgestats.metrics.correctness.classifications import confusion as confusion
from judgestats.metrics.correctness.corrected_rates import corrected_difference as corrected_difference
from judgestats.metrics.correctness.corrected_rates import corrected_rate as corrected_rate
from judgestats.metrics.correctness.detection import roc as roc
from judgestats.metrics.correctness.detection import roc_curve as roc_curve
from judgestats.metrics.correctness.score_errors import score_error as score_error
from judgestats.metrics.correctness.verdict_accuracy import accuracy as accuracy
from judgestats.metrics.correctness.verdict_accuracy import gold_agreement as gold_agreement
