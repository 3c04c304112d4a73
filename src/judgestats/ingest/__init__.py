"""The outside world -> canonical frames: files, folders, databases and the native logs of tools.

:func:`read` reads, :func:`detect_format` says what it would do and why, :func:`suggest_mapping` suggests how the
columns of an unknown table might be mapped (and computes nothing), :func:`formats` lists the readers,
:func:`source_info` says what was read. May import verdicts, schema, results, kernels and errors; knows nothing of
measures or models.
"""

from judgestats.ingest.files import source_info
from judgestats.ingest.options import parse_identity, parse_labels, parse_mapping, parse_scale
from judgestats.ingest.reading import read
from judgestats.ingest.registry import formats
from judgestats.ingest.searching import Proposal, UnmappedTable, preview, suggest_mapping
from judgestats.ingest.sniffing import DetectedFormat, detect_format, format_of

__all__ = [
    "DetectedFormat",
    "Proposal",
    "UnmappedTable",
    "detect_format",
    "format_of",
    "formats",
    "parse_identity",
    "parse_labels",
    "parse_mapping",
    "parse_scale",
    "preview",
    "read",
    "source_info",
    "suggest_mapping",
]
