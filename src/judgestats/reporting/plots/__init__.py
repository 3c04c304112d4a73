"""Pictures of tidy estimates: each function takes a result and returns a :class:`Picture`.

They draw on a new figure, outside pyplot's state, or on the axes given as ``ax=``. A picture shows itself in a
notebook; ``picture.figure`` is the figure, ``picture.data`` the rows drawn, ``picture.save("a.svg")`` writes it. No
statistics here, except bins, ranks and quantiles of draws. May import what ``reporting`` may.
"""

from judgestats.loading import names_of

__getattr__, __dir__, _HOMES = names_of(__name__, __file__)
__all__ = sorted(_HOMES.keys() - {"Picture"})
