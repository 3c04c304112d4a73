"""Public names; written by benchmarks/measures_page.py."""

from judgestats.metrics.datasheets.comparison import compare_datasheets as compare_datasheets
from judgestats.metrics.datasheets.datasheet_sections import datasheet as datasheet
from judgestats.metrics.datasheets.judge_profiles import profile as profile
