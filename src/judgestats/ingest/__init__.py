"""Reading files, folders, databases and the logs of tools into canonical frames.

:func:`read` reads, :func:`detect_format` detects the format, :func:`suggest_mapping` suggests a mapping for a table of
unknown shape (and computes nothing), :func:`parse_verdicts` reads replies as text, :func:`join_labels` joins people's
labels to verdicts, :func:`formats` lists the readers, :func:`source_info` describes what was read.
May import verdicts, schema, results, kernels and errors; independent of measures and models.
"""

from judgestats.ingest.joining import join_labels
from judgestats.ingest.options import (
    parse_identity,
    parse_labels,
    parse_mapping,
    parse_on,
    parse_options,
    parse_planted,
    parse_scale,
)
from judgestats.ingest.proposals import Proposal, UnmappedTable, preview
from judgestats.ingest.provenance import source_info
from judgestats.ingest.readers import Place, Reader
from judgestats.ingest.reading import read
from judgestats.ingest.registry import formats
from judgestats.ingest.replies import parse_verdicts
from judgestats.ingest.searching import suggest_mapping
from judgestats.ingest.sniffing import DetectedFormat, detect_format, format_of

__all__ = [
    "DetectedFormat",
    "Place",
    "Proposal",
    "Reader",
    "UnmappedTable",
    "detect_format",
    "format_of",
    "formats",
    "join_labels",
    "parse_identity",
    "parse_labels",
    "parse_mapping",
    "parse_on",
    "parse_options",
    "parse_planted",
    "parse_scale",
    "parse_verdicts",
    "preview",
    "read",
    "source_info",
    "suggest_mapping",
]
