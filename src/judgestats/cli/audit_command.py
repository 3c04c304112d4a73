"""``judgestats audit`` and ``judgestats reproduce``: which printed numbers follow from the others, and datasheets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judgestats.cli.application import ExitCode, readable_errors
from judgestats.cli.common_options import Overwrite
from judgestats.cli.printing import plain_text, print_table, wide_console
from judgestats.terminal import visible, working

if TYPE_CHECKING:
    from judgestats.published.table_audits import Audited


@readable_errors
def audit(
    source: Annotated[str, typer.Argument(metavar="FILE | PAPER", help="A CSV file, or one of the papers.")] = "",
    rules: Annotated[
        Path | None, typer.Option("--rules", metavar="FILE", help="Rules (TOML) for the CSV file.")
    ] = None,
    claims: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Numbers and statements of the prose (CSV) for the CSV file.")
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PAGE.html | FINDINGS.csv | FINDINGS.jsonl",
            help="Write a page, or the findings, by the ending; may be given for each.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with code 1 if a number does not follow, or if no check could be decided."),
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Check which numbers of any table, or of a paper, follow from its other numbers. With figures: reproduce."""
    from judgestats.errors import AuditError
    from judgestats.published import audited
    from judgestats.published.table_audits import content_of, write_findings

    with working(f"Checking {source or 'all papers'}"):
        audits = audited(source or None, rules=rules, claims=claims)
    files = [(path, content_of(path, audits)) for path in out or ()]
    if len({path.resolve() for path, _ in files}) < len(files):
        raise AuditError("Two of the files that --out names are one. Give each a name of its own.")
    print_audit(audits, bool(files))
    console = wide_console()
    for path, content in files:
        if content == "page":
            from judgestats.reporting import audit_page

            console.print(plain_text(f"Page: {audit_page(audits, path, overwrite=overwrite)}"), soft_wrap=True)
        else:
            console.print(plain_text(f"Findings: {write_findings(audits, path, overwrite=overwrite)}"), soft_wrap=True)
    if strict and not all(_holds(a) for a in audits):
        raise typer.Exit(ExitCode.NOT_HELD)


def _holds(audit: Audited) -> bool:
    """Whether some checks of a source were decided, and none of them fails."""
    verdicts = {d.verdict for d in audit.decisions} - {"cannot be decided"}
    if not verdicts:
        typer.echo(f"No check of {audit.paper} could be decided.", err=True)
    return bool(verdicts) and "does not follow" not in verdicts


def print_audit(audits: Sequence[Audited], paged: bool) -> None:
    """Counts, cautions about rules, then the first findings of each source; the rest is in a file."""
    from judgestats.published.audit_summaries import counts, coverage, findings

    print_table(wide_console(), f"Printed numbers: {', '.join(a.paper for a in audits)}", coverage(audits))
    print_table(wide_console(), "Checks of numbers and statements", counts(audits))
    for caution in (c for a in audits for c in a.cautions):
        typer.echo(visible(f"! {caution}"))
    rest = "in what is written below" if paged else "on the page that --out page.html writes"
    typer.echo(visible("\n".join(findings(audits, rest))))
    typer.echo(visible("✗ does not follow from the other printed numbers; ? cannot be decided"))


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
