"""The datasheet of a judge: all measures its data support, in one table; comparison of two; a profile in words.

May import what ``metrics`` may, the measures included.
"""

from judgestats.metrics.datasheets.comparison import compare_datasheets
from judgestats.metrics.datasheets.datasheet_sections import datasheet
from judgestats.metrics.datasheets.judge_profiles import profile

__all__ = ["compare_datasheets", "datasheet", "profile"]
