"""``judgestats formats`` and ``judgestats prompts``: what the package reads, and what it asks."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from judgestats.cli.application import readable_errors
from judgestats.cli.printing import print_table, wide_console
from judgestats.terminal import visible


@readable_errors
def prompts(name: Annotated[str, typer.Argument(metavar="NAME", help="One of them, shown in full.")] = "") -> None:
    """List the prompts, or show one: judgestats prompts pairwise"""
    from judgestats import design

    if not name:
        print_table(wide_console(), "Prompts", design.prompts()[["name", "frame", "placeholders", "about"]])
        return
    prompt = design.prompt(name)
    head = f"{prompt.about}\nOf the paper: {prompt.paper}\nOurs: {prompt.ours}"
    typer.echo(visible(f"{head}\n\n[system]\n{prompt.system}\n\n[user]\n{prompt.user.strip()}"))
    if prompt.schema:
        typer.echo(visible(f"\n[schema]\n{json.dumps(dict(prompt.schema), indent=1)}"))


@readable_errors
def formats() -> None:
    """List the formats that can be read."""
    from judgestats import ingest

    print_table(wide_console(), "Formats", ingest.formats()[["name", "frame", "about", "example"]])
