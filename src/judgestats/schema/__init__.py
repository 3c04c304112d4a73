"""What a table of verdicts is: the canonical frames, their columns, codes and validation.

May import the package kernels; knows nothing of counting, files, measures or models.
"""

from judgestats.schema.columns import CHOICES, PREFERENCES, RATINGS, STIMULI, Column, kind_of
from judgestats.schema.frames import preferences, ratings
from judgestats.schema.validation import check

__all__ = ["CHOICES", "PREFERENCES", "RATINGS", "STIMULI", "Column", "check", "kind_of", "preferences", "ratings"]
