"""Calls -> verdicts: from slots to contents, from several calls to one answer (:func:`aggregate`), and from
several criteria to one score (:func:`composite`).

May import schema, results, kernels and errors; knows nothing of files, measures or models.
"""

from judgestats.verdicts.aggregation import MISSING_PARTNER, PANEL, RULES, Rule, aggregate
from judgestats.verdicts.composites import composite

__all__ = ["MISSING_PARTNER", "PANEL", "RULES", "Rule", "aggregate", "composite"]
