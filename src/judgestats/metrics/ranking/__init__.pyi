"""Public names; written by benchmarks/measures_page.py."""

from judgestats.metrics.ranking.level_differences import paired_differences as paired_differences
from judgestats.metrics.ranking.system_ranking import rank_systems as rank_systems
