"""``judgestats next``: the next stage of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judgestats.cli.application import readable_errors
from judgestats.cli.collect_command import stage_folder
from judgestats.cli.common_options import Overwrite, Trust
from judgestats.cli.plan_command import print_plan


@readable_errors
def next_stage(
    folder: Annotated[Path, typer.Argument(metavar="PLAN", help="Folder that judgestats plan wrote.")],
    answers: Annotated[str, typer.Argument(metavar="ANSWERS", help="File, glob or folder with all answers so far.")],
    format: Annotated[
        str, typer.Option("--format", metavar="jsonl|csv|openai|...", help="As for judgestats plan.")
    ] = "jsonl",
    trust: Trust = False,
    overwrite: Overwrite = False,
) -> None:
    """Plan the next stage from the answers so far, into a folder in PLAN: judgestats next plan 'answers*.jsonl'"""
    from judgestats import design
    from judgestats.design.plans import opened

    stage_plan = design.next_stage(opened(folder, trust), answers)
    print_plan(stage_plan, stage_folder(folder, stage_plan), folder, format, [answers], overwrite)
