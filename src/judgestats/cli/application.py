"""The application: its version, what is typed as it is read, and errors as one message and an exit code."""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import IntEnum
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from typer.core import TyperGroup

from judgestats.cli.advice import advice_in_options
from judgestats.cli.printing import plain_text
from judgestats.errors import JudgestatsError, masked, printable
from judgestats.terminal import as_typed, sturdy_streams, visible
from judgestats.threads import RARE_COLLECTION

P = ParamSpec("P")
R = TypeVar("R")
#: What typer raises where an option is wrong.
_UsageError: Any = typer.BadParameter.__bases__[0]
#: Where a context holds the command line.
TYPED = "judgestats.typed"


class ExitCode(IntEnum):
    """How a command ends where it does not end well; docs/stability.md explains them."""

    NOT_HELD = 1  # audit --strict: a number does not follow, or nothing could be decided
    REFUSED = 2  # a wrong option, a file that does not open, data that are not understood; nothing was written


class _CommandGroup(TyperGroup):
    """The commands; nothing that is typed or read reaches a terminal as a command to it."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        with RARE_COLLECTION.held(), sturdy_streams():  # patterns stay patterns on Windows too: the readers expand them
            return super().main(*args, **{"windows_expand_args": False, **kwargs})

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **kwargs: Any) -> Any:
        typed = printable(as_typed(map(masked, ["judgestats", *args])))
        with _visible_errors():
            args = _with_repeats(self.commands.get(args[0]) if args else None, args)
            context = super().make_context(info_name, args, *rest, **kwargs)
        context.meta[TYPED] = typed
        return context

    def invoke(self, ctx: Any) -> Any:
        with _visible_errors():
            return super().invoke(ctx)


def _with_repeats(command: Any, args: list[str]) -> list[str]:
    """The arguments, with one option for all that repeat it; one that takes a single value cannot come twice."""
    options = [p for p in getattr(command, "params", ()) if not (getattr(p, "is_flag", True) or p.multiple)]
    once = {name: p for p in options for name in p.opts if name.startswith("-")}
    values: dict[str, list[str]] = {}
    rest: list[str] = []
    words = iter(args)
    for word in words:
        name, sign, value = word.partition("=")
        if word == "--":
            rest += [word, *words]
        elif name in once:
            values.setdefault(name, []).extend([value] if sign else [*itertools.islice(words, 1)])
        else:
            rest.append(word)
    for name, several in values.items():
        if len(several) > 1 and ",..." not in str(once[name].metavar):
            raise typer.BadParameter(f"{name} is given {len(several)} times. Give it once.")
    if all(len(several) == 1 for several in values.values()):
        return args
    at = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:at], *(w for n, v in values.items() for w in ([n, ",".join(v)] if v else [n])), *rest[at:]]


@contextmanager
def _visible_errors() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        error.message = visible(masked(error.message))
        raise


app = typer.Typer(
    rich_markup_mode="rich",  # as newer versions have it
    cls=_CommandGroup,
    help="Statistics for the verdicts of LLM judges. Start with: judgestats check FILE",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(version: bool) -> None:
    if version:
        from judgestats.environment import full_version

        typer.echo(f"judgestats {full_version()}")
        raise typer.Exit


def _print_versions(versions: bool) -> None:
    if versions:
        from judgestats.environment import show_versions

        show_versions()
        raise typer.Exit


@app.callback()
def _version_options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
    versions: Annotated[
        bool,
        typer.Option(
            "--versions",
            help="Show the versions of all libraries, for a bug report.",
            callback=_print_versions,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Statistics for the verdicts of LLM judges. Start with: judgestats check FILE"""


def readable_errors(command: Callable[P, R]) -> Callable[P, R]:
    """One readable message and exit code 2 in place of a traceback: our own errors, and files that do not open."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with _reading_settings(kwargs):
                return command(*args, **kwargs)
        except JudgestatsError as error:
            message = f"{error}{advice_in_options(error.advice)}"
        except OSError as error:
            message = masked(f"{error.filename or 'a file'}: {error.strerror or error}.")
        from rich.console import Console

        Console(stderr=True, highlight=False, soft_wrap=True).print(plain_text(f"judgestats: {message}"))
        raise typer.Exit(ExitCode.REFUSED)

    return run


@contextmanager
def _reading_settings(arguments: dict[str, Any]) -> Iterator[None]:
    """Read as the options say (what may be unpacked, separator, header), and standard input once, from a file."""
    most, sign, names = (arguments.get(name) for name in ("max_unpacked", "sep", "names"))
    headless = bool(arguments.get("no_header"))
    with ExitStack() as settings:
        if most is not None or sign or names or headless:
            from judgestats.ingest.compressed_files import unpacking
            from judgestats.ingest.delimited import columns_named
            from judgestats.ingest.separators import separated_by

            settings.enter_context(unpacking(most))
            settings.enter_context(separated_by(sign))
            settings.enter_context(columns_named(names, False if headless else None))
        if arguments.get("source") == ["-"]:
            from judgestats.ingest.sources import spooled

            folder = settings.enter_context(tempfile.TemporaryDirectory(prefix="judgestats-"))
            arguments["source"] = [str(spooled(sys.stdin, folder))]
        yield
