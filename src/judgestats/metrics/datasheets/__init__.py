"""The datasheet of a judge: all measures its data support, in one table; comparison of two; a profile in words.

May import what ``metrics`` may, the measures included.
"""

from judgestats.loading import names_of

__getattr__, __dir__, _HOMES = names_of(__name__, __file__)
__all__ = sorted(_HOMES)
