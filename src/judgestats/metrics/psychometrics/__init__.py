"""Psychometrics of a judge: dark current, Δ0 decomposition, sensitivity, threshold, criterion (dark_current paper).

May import what ``metrics`` may.
"""

from judgestats.loading import names_of

__getattr__, __dir__, _HOMES = names_of(__name__, __file__)
__all__ = sorted(_HOMES)
