"""Strengths of systems from pairwise preferences.

May import what ``metrics`` may.
"""

from judgestats.metrics.ranking.system_ranking import rank_systems

__all__ = ["rank_systems"]
