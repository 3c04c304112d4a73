"""Calls -> verdicts: from slots to contents, and from several calls to one answer (:func:`aggregate`).

May import schema, results, kernels and errors; knows nothing of files, measures or models.
"""

from judgestats.verdicts.aggregation import aggregate
from judgestats.verdicts.groups import MISSING_PARTNER, PANEL
from judgestats.verdicts.rules import RULES, Rule

__all__ = ["MISSING_PARTNER", "PANEL", "RULES", "Rule", "aggregate"]
