"""Public names; written by benchmarks/measures_page.py."""

from judgestats.metrics.ranking.system_ranking import rank_systems as rank_systems
