"""From several calls to one verdict (:func:`aggregate`), from criteria to one score (:func:`composite`), and from
scores to verdicts (:func:`compare_scores`); from indicators to one known value (:func:`weighted_index`), and from error
marks to scores (:func:`error_scores`).

May import the packages counting, schema and kernels; independent of files, measures and models.
"""

from judgestats.verdicts.aggregation import aggregate, dawid_skene
from judgestats.verdicts.comparisons import compare_scores
from judgestats.verdicts.composites import composite, weighted_index
from judgestats.verdicts.error_marks import error_scores

__all__ = ["aggregate", "compare_scores", "composite", "dawid_skene", "error_scores", "weighted_index"]
