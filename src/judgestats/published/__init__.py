"""What the papers printed, as tidy tables, and what follows from it.

May import the packages ingest, metrics, models, verdicts, counting, schema and kernels.
"""

from judgestats.package_data import data_folder
from judgestats.published.catalogue import load, tables
from judgestats.published.table_audits import audit, audited, reproduce

__all__ = ["audit", "audited", "data_folder", "load", "reproduce", "tables"]
