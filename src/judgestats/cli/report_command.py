"""``judgestats report``: one page with everything measured."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judgestats.cli.application import TYPED, readable_errors
from judgestats.cli.common_options import Overwrite, takes
from judgestats.cli.printing import (
    plain_text,
    print_cards,
    print_findings,
    print_table,
    print_totals,
    print_unread,
    wide_console,
)
from judgestats.cli.verdict_source import VerdictSource
from judgestats.defaults import SEED
from judgestats.errors import SchemaError
from judgestats.terminal import visible, working

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from judgestats.reporting.summary_parts import Summary
    from judgestats.typing import Record

#: What report writes.
_WRITTEN = ("html", "md")
#: How names of pages end.
_ENDINGS = (".html", ".htm", ".md")
#: How names of tables of statements end.
_TABLES = (".csv", ".jsonl")


@readable_errors
@takes(VerdictSource)
def report(
    source: VerdictSource,
    context: typer.Context,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File to write: a page, or Markdown if its name ends in .md; report.html by default.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        str, typer.Option(metavar="html|md", help="A page or Markdown; Markdown is printed unless --out is given.")
    ] = "",
    identity: Annotated[str, typer.Option(metavar="SYSTEM=JUDGE,...", help="Which rated system is which judge.")] = "",
    title: Annotated[
        str, typer.Option(metavar="WORDS", help="Title of the page; by default a question that the data can answer.")
    ] = "",
    sampling: Annotated[
        str, typer.Option(metavar="random|by-class", help="How the items with a gold label were drawn.")
    ] = "",
    smallest: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Smallest bias of interest: a difference of scores (by default a tenth of the scale) or of shares of "
            "verdicts (0.1).",
            show_default=False,
        ),
    ] = None,
    statements: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what the page says, a row for each sentence: CSV, or JSON lines if its name ends in .jsonl.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Seed of the random numbers.")] = SEED,
    overwrite: Overwrite = False,
) -> None:
    """Write which judge to trust, and everything measured, as one self-contained page; the summary is printed, too."""
    from judgestats.errors import choose
    from judgestats.ingest import parse_identity, parse_scale
    from judgestats.outputs import MarkedOutputs, Outputs
    from judgestats.reporting.markdown_pages import as_markdown
    from judgestats.reporting.page_claims import statements as claimed
    from judgestats.reporting.page_data import PageArguments, measure_all
    from judgestats.reporting.pages import write_report

    if source.format in _WRITTEN:
        raise SchemaError(
            f"--format={source.format!r} is not known: --format names what is read. What is written: --to md or html."
        )
    if to:
        choose(to, _WRITTEN, "--to")
    printed = to == "md" and out is None
    out = out or Path("report.html")
    if out.is_dir():
        raise IsADirectoryError(errno.EISDIR, f"{os.strerror(errno.EISDIR)}; name the file in it", str(out))
    verdicts = source.verdicts()
    _refuse_identity(verdicts, judge_of_system := parse_identity(identity))
    console = wide_console()
    record = source.record()
    outputs = MarkedOutputs("report", source.source, overwrite=overwrite)
    if not printed:
        outputs.check(out)
    inputs: list[str | os.PathLike[str]] = [*source.source, out]
    if statements is not None:
        if statements.suffix.lower() not in _TABLES:
            raise SchemaError(f"--statements {str(statements)!r} has an unknown ending. Allowed: {', '.join(_TABLES)}.")
        Outputs(inputs, overwrite=True).check(statements)
    if not to and out.suffix.lower() not in ("", *_ENDINGS):
        raise SchemaError(
            f"--out {str(out)!r} ends in {out.suffix!r}. Allowed: {', '.join(_ENDINGS)}. Name it "
            f"{out.with_suffix('.html').name!r} (a browser prints it as PDF), or say --to html or md."
        )
    with working("Measuring") as say:
        how: Record = {"identity": judge_of_system or None, "sampling": sampling.replace("-", " ") or None}
        how |= {"scale": parse_scale(source.scale) if source.scale else None, "smallest": smallest}
        arguments = PageArguments(**source.groups, **how, seed=seed, title=title or None, **source.references)
        measured = measure_all(verdicts, arguments, say)
        command = context.meta[TYPED]
        if statements is not None:  # before the page: where it must not be written, neither is
            Outputs(inputs, overwrite=overwrite).write_table(statements, claimed(measured.summary.claims))
        page = None if printed else write_report(measured, out, outputs, record, say, to=to, command=command)
    if page is None:
        typer.echo(visible(as_markdown(measured, command)), nl=False)
        return
    print_unread(console, verdicts)
    print_totals(console, measured.rows.findings)
    print_findings(console, measured.rows.findings)
    _print_summary(console, measured.summary)
    console.print(plain_text(f"Report: {page}"))
    if statements is not None:
        console.print(plain_text(f"Statements: {statements}"))


def _refuse_identity(verdicts: pd.DataFrame, identity: dict[str, str]) -> None:
    """Refuse names that are not systems or judges before anything is measured."""
    from judgestats.metrics.consensus.judge_identities import identities

    if not identity:
        return
    if "system" not in verdicts.columns:
        raise SchemaError(
            "--identity says which rated system is which judge, but these are pairwise verdicts. Leave it out."
        )
    systems, judges = (verdicts[name].astype(str).unique().tolist() for name in ("system", "judge"))
    identities([[s] for s in systems], judges, identity)


def _print_summary(console: Console, summary: Summary) -> None:
    """The cards of the page, and its comparison of the judges."""
    import pandas as pd

    from judgestats.reporting.comparison_tables import plain_comparison

    print_cards(console, summary)
    for group in summary.groups if summary.columns else ():
        heads, rows = plain_comparison(summary, group.judges)
        print_table(console, group.about, pd.DataFrame(rows, columns=heads))
    if summary.columns and summary.note:
        console.print(plain_text(summary.note))
        console.print()
