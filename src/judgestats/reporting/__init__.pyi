"""Public names, each with its module; ``__init__.py`` reads them here."""

from judgestats.reporting import plots as plots
from judgestats.reporting.audits import audit_page as audit_page
from judgestats.reporting.pages import report as report
from judgestats.reporting.printed_layouts import printed_layout as printed_layout
from judgestats.reporting.reproductions import reproduction_page as reproduction_page
from judgestats.reporting.sheets import to_great_table as to_great_table
from judgestats.reporting.sheets import to_latex as to_latex
from judgestats.reporting.sheets import to_markdown as to_markdown
from judgestats.reporting.study_tables import study_estimates as study_estimates
