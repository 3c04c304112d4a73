"""Strengths of systems from pairwise preferences.

May import what ``metrics`` may.
"""

from judgestats.loading import names_of

__getattr__, __dir__, _HOMES = names_of(__name__, __file__)
__all__ = sorted(_HOMES)
