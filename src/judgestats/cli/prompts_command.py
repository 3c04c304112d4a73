"""``judgestats prompts``: the prompts of the package."""

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
