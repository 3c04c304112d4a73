"""From several calls to one verdict (:func:`aggregate`), from criteria to one score (:func:`composite`), and from
scores to verdicts (:func:`compare_scores`); and from indicators to one known value (:func:`weighted_index`).

May import schema, results, kernels and errors; independent of files, measures and models.
"""

from judgestats.verdicts.aggregation import aggregate, dawid_skene
from judgestats.verdicts.comparisons import compare_scores
from judgestats.verdicts.composites import composite, weighted_index

__all__ = ["aggregate", "compare_scores", "composite", "dawid_skene", "weighted_index"]
