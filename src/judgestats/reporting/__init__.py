"""Estimates -> tables, pictures and pages; no statistics here. Only this package rounds.

May import published, metrics, ingest, schema, results, kernels and errors. Names are loaded when they are first used:
the page of an audit needs no plots.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judgestats.reporting import plots as plots
    from judgestats.reporting.audits import audit_page as audit_page
    from judgestats.reporting.pages import report as report
    from judgestats.reporting.reproductions import reproduction_page as reproduction_page
    from judgestats.reporting.sheets import to_great_table as to_great_table
    from judgestats.reporting.sheets import to_latex as to_latex
    from judgestats.reporting.sheets import to_markdown as to_markdown

#: Public name -> module that has it.
_HOMES = {
    "audit_page": "audits", "report": "pages", "reproduction_page": "reproductions",
    "to_great_table": "sheets", "to_latex": "sheets", "to_markdown": "sheets",
}  # fmt: skip

__all__ = ["audit_page", "plots", "report", "reproduction_page", "to_great_table", "to_latex", "to_markdown"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name == "plots":
        return import_module("judgestats.reporting.plots")
    if name not in _HOMES:
        raise AttributeError(f"module 'judgestats.reporting' has no attribute {name!r}")
    return getattr(import_module(f"judgestats.reporting.{_HOMES[name]}"), name)
