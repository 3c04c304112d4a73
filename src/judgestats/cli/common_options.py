"""Options and arguments of several commands, and options that are the fields of a class."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, field, fields
from functools import wraps
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

R = TypeVar("R")

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
        "--overwrite", help="Replace files that exist; what was read, or was filled in, is never written over."
    ),
]


def value(help: str, form: str | None = None, default: Any = "") -> Any:
    """A field that is an option with a value: what it is for (without markup), and what its value looks like."""
    return field(default=default, metadata={"option": typer.Option(metavar=form, help=help.replace("[", r"\["))})


def switch(name: str, help: str) -> Any:
    """A field that is an option without a value."""
    return field(default=False, metadata={"option": typer.Option(name, help=help)})


def takes(options: type) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a command the options that are the fields of a class, and pass them on as one argument, its first."""
    hints = get_type_hints(options)
    shared = []
    for f in fields(options):
        default = inspect.Parameter.empty if f.default is MISSING else f.default
        of_typer: object = Annotated[hints[f.name], f.metadata["option"]]
        shared.append(inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=of_typer))

    def with_options(command: Callable[..., R]) -> Callable[..., R]:
        own = inspect.signature(command, eval_str=True)
        rest = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in list(own.parameters.values())[1:]]

        @wraps(command)
        def run(**values: object) -> R:
            return command(options(**{f.name: values.pop(f.name) for f in fields(options)}), **values)

        run.__signature__ = own.replace(parameters=[*shared, *rest])  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in (*shared, *rest)}
        del run.__wrapped__
        return run

    return with_options
