"""Reading files, folders, databases and the logs of tools into canonical frames.

:func:`read` reads, :func:`detect_format` detects the format, :func:`suggest_mapping` suggests a mapping for a table of
unknown shape (and computes nothing), :func:`parse_verdicts` reads replies as text, :func:`join_labels` joins people's
labels to verdicts, :func:`formats` lists the readers, :func:`source_info` describes what was read.
May import the packages verdicts, counting, schema and kernels; independent of measures and models.
"""

from judgestats.loading import names_of

__getattr__, __dir__, _HOMES = names_of(__name__, __file__)
__all__ = sorted(_HOMES)
