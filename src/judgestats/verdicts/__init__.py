"""From several calls to one verdict (:func:`aggregate`), and from several criteria to one score (:func:`composite`).

May import schema, results, kernels and errors; independent of files, measures and models.
"""

from judgestats.verdicts.aggregation import MISSING_PARTNER, PANEL, RULES, Rule, aggregate
from judgestats.verdicts.composites import composite

__all__ = ["MISSING_PARTNER", "PANEL", "RULES", "Rule", "aggregate", "composite"]
