"""``judgestats reproduce``: datasheets from printed counts, and the audit of five papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judgestats.cli.application import readable_errors
from judgestats.cli.audit_command import print_audit
from judgestats.cli.common_options import Overwrite
from judgestats.cli.printing import plain_text, print_table, wide_console
from judgestats.terminal import working


@readable_errors
def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="One of the five papers; by default all.")] = "",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write a page with the figures to this file.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Datasheets from printed counts, then the audit of five papers. For a table of your own use judgestats audit."""
    from judgestats.published import audited
    from judgestats.reporting.reproductions import EXAMPLE, printed_datasheet
    from judgestats.reporting.sheets import judges_side_by_side

    if paper in ("", EXAMPLE):
        table = judges_side_by_side(printed_datasheet())
        print_table(wide_console(), f"Judges of the {EXAMPLE} paper, from its printed counts (95 % intervals)", table)
        typer.echo("The same for verdicts of your own: judgestats report FILE\n")
    with working(f"Checking {paper or 'all papers'}"):
        audits = audited(paper or None)
    print_audit(audits, out is not None)
    if out is not None:
        from judgestats.reporting import reproduction_page

        page = reproduction_page(out, paper or None, overwrite=overwrite)
        wide_console().print(plain_text(f"Page: {page}"), soft_wrap=True)
