"""``judgestats collect``: answers joined to their plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judgestats.cli.application import readable_errors
from judgestats.cli.common_options import LABELS, Overwrite, Trust
from judgestats.cli.printing import plain_text, print_findings, print_totals, wide_console


@readable_errors
def collect(
    folder: Annotated[Path, typer.Argument(metavar="PLAN", help="Folder that judgestats plan wrote.")],
    answers: Annotated[str, typer.Argument(metavar="ANSWERS", help="File, glob or folder that the runner wrote.")],
    out: Annotated[Path, typer.Option("--out", help="CSV file of the verdicts.")] = Path("verdicts.csv"),
    page: Annotated[Path | None, typer.Option("--report", help="Write the datasheet to this file, too.")] = None,
    left: Annotated[Path | None, typer.Option(help="Folder for a plan of the calls left to ask.")] = None,
    labels: Annotated[str, LABELS] = "",
    trust: Trust = False,
    overwrite: Overwrite = False,
) -> None:
    """Join answers to their plan and read the verdicts: judgestats collect plan answers.jsonl --report page.html"""
    from judgestats import design
    from judgestats.design.collection import collected
    from judgestats.design.plan_files import plan_files, verdict_outputs, write_verdicts
    from judgestats.design.plans import opened
    from judgestats.ingest import parse_labels
    from judgestats.outputs import MarkedOutputs
    from judgestats.reporting.page_data import measure_all
    from judgestats.reporting.pages import write_report
    from judgestats.schema import check as check_frame

    plan = opened(folder, trust)
    inputs: list[str | Path] = [answers, *plan_files(folder)]
    tables = verdict_outputs(folder, inputs, overwrite)
    tables.check(out)
    inputs.append(out)
    pages = MarkedOutputs("report", [*inputs, *(plan_files(left) if left else ())], overwrite=overwrite)
    if page is not None:
        pages.check(page)
    verdicts, unanswered = collected(plan, answers, labels=parse_labels(labels) if labels else None)
    console = wide_console()
    write_verdicts(verdicts, out, folder, tables)
    if "text" in verdicts:
        complete = int((verdicts["status"] == "ok").sum())
        console.print(plain_text(f"Texts: {out}, {complete:,} of {len(verdicts):,} complete"))
    else:
        findings = check_frame(verdicts)
        print_totals(console, findings)
        print_findings(console, findings)
        console.print(plain_text(f"Verdicts: {out}"))
    if len(unanswered):
        what = f"{len(unanswered):,} call{'s' * (len(unanswered) != 1)} failed or never came back"
        if left is None:
            console.print(plain_text(f"{what}; --left FOLDER plans them again"))
        else:
            unanswered.write(left, overwrite=overwrite, inputs=inputs)
            files = design.export(unanswered, left, overwrite=overwrite, inputs=inputs)
            console.print(plain_text(f"{what}: {', '.join(map(str, files))}"))
    if page is not None:
        console.print(plain_text(f"Report: {write_report(measure_all(verdicts), page, pages)}"))
