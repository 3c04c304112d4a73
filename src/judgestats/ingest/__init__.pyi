"""Public names, each with its module; ``__init__.py`` reads them here."""

from judgestats.ingest.joining import join_labels as join_labels
from judgestats.ingest.options import parse_identity as parse_identity
from judgestats.ingest.options import parse_labels as parse_labels
from judgestats.ingest.options import parse_mapping as parse_mapping
from judgestats.ingest.options import parse_on as parse_on
from judgestats.ingest.options import parse_options as parse_options
from judgestats.ingest.options import parse_planted as parse_planted
from judgestats.ingest.options import parse_scale as parse_scale
from judgestats.ingest.proposals import Proposal as Proposal
from judgestats.ingest.proposals import UnmappedTable as UnmappedTable
from judgestats.ingest.proposals import preview as preview
from judgestats.ingest.provenance import source_info as source_info
from judgestats.ingest.readers import Place as Place
from judgestats.ingest.readers import Reader as Reader
from judgestats.ingest.reading import read as read
from judgestats.ingest.registry import formats as formats
from judgestats.ingest.replies import parse_verdicts as parse_verdicts
from judgestats.ingest.searching import suggest_mapping as suggest_mapping
from judgestats.ingest.sniffing import DetectedFormat as DetectedFormat
from judgestats.ingest.sniffing import detect_format as detect_format
from judgestats.ingest.sniffing import format_of as format_of
