"""``judgestats formats``: the formats that can be read."""

from __future__ import annotations

from judgestats.cli.application import readable_errors
from judgestats.cli.printing import print_table, wide_console


@readable_errors
def formats() -> None:
    """List the formats that can be read."""
    from judgestats import ingest

    print_table(wide_console(), "Formats", ingest.formats()[["name", "frame", "about", "example"]])
