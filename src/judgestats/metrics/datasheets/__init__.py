"""The datasheet of a judge: every measure its data support, in one table; two of them side by side; a sketch in words.

May import what ``metrics`` may, the measures included.
"""

from judgestats.metrics.datasheets.comparison import compare_datasheets
from judgestats.metrics.datasheets.sheets import datasheet, profile

__all__ = ["compare_datasheets", "datasheet", "profile"]
