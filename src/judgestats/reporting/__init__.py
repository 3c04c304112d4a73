"""Estimates -> tables, pictures and pages; no statistics here. Only this package rounds.

May import published, metrics, ingest, schema, results, kernels and errors.
"""

from judgestats.reporting import plots
from judgestats.reporting.audits import audit_page, reproduction_page
from judgestats.reporting.pages import report
from judgestats.reporting.sheets import to_great_table, to_latex, to_markdown

__all__ = ["audit_page", "plots", "report", "reproduction_page", "to_great_table", "to_latex", "to_markdown"]
