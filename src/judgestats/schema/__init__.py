"""What a table of verdicts is: the canonical frames, their validation, and their reduction to counts.

Two frames (:func:`preferences`, :func:`ratings`), one table of patterns (:data:`PATTERNS`), one reduction
(:func:`tally`). May import results, kernels and errors; knows nothing of files, measures or models.
"""

from judgestats.schema.columns import CHOICES, PREFERENCES, RATINGS, STIMULI, Column, kind_of
from judgestats.schema.counting import tally
from judgestats.schema.frames import preferences, ratings
from judgestats.schema.patterns import PATTERNS, Pattern
from judgestats.schema.validation import check

__all__ = [
    "CHOICES",
    "PATTERNS",
    "PREFERENCES",
    "RATINGS",
    "STIMULI",
    "Column",
    "Pattern",
    "check",
    "kind_of",
    "preferences",
    "ratings",
    "tally",
]
