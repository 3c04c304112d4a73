"""Options and arguments of several commands."""

from __future__ import annotations

from typing import Annotated

import typer

FILES = typer.Argument(
    metavar="FILE",
    help="Files, glob pattern or folder of saved verdicts; - for standard input; example:llmbar for a real set.",
    show_default=False,
)
OF_FORMAT = typer.Option(
    metavar="NAME=VALUE", help="Option of the format (docs/formats.md), such as judge=gpt-4; several times for several."
)
LABELS = typer.Option(metavar="LABEL=ANSWER,...", help="What the answers mean: A=first,B=second,C=tie.")
Trust = Annotated[
    bool, typer.Option("--trust", help="Read a plan whose files are not as they were written, or have no digests.")
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace files that exist; what was read, or has answers in it, is never written over."
    ),
]
