"""Is the judge right? Accuracy against gold, errors of scores, and rates corrected for the errors of the judge.

May import what ``metrics`` may.
"""

from judgestats.metrics.correctness.best_responses import best_of_accuracy
from judgestats.metrics.correctness.classification import classification, confusion
from judgestats.metrics.correctness.corrected_rates import corrected_difference, corrected_rate
from judgestats.metrics.correctness.detection import roc, roc_curve
from judgestats.metrics.correctness.score_errors import score_error
from judgestats.metrics.correctness.verdict_accuracy import accuracy, gold_agreement

__all__ = [
    "accuracy",
    "best_of_accuracy",
    "classification",
    "confusion",
    "corrected_difference",
    "corrected_rate",
    "gold_agreement",
    "roc",
    "roc_curve",
    "score_error",
]
