"""The command line: thin. It reads arguments, calls the library, prints; it computes nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from judgestats.errors import JudgestatsError

app = typer.Typer(
    help="Statistics for the verdicts of LLM judges. Begin with: judgestats check FILE",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
P = ParamSpec("P")
R = TypeVar("R")

Source = Annotated[str, typer.Argument(help="File, glob or folder of cached verdicts.", show_default=False)]
Map = Annotated[
    str,
    typer.Option("--map", metavar="NAME=COLUMN,...", help="Which column is what: judge=evaluator,item=question_id,..."),
]
Labels = Annotated[
    str, typer.Option("--labels", metavar="LABEL=ANSWER,...", help="What the answers mean: A=first,B=second,C=tie")
]
Format = Annotated[
    str, typer.Option("--format", help="Name of a reader (judgestats formats); told from the file by default.")
]


def _console() -> Console:
    """A console as wide as the terminal; wide enough for a table where there is none."""
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False)


def _readable(command: Callable[P, R]) -> Callable[P, R]:
    """One readable message and exit code 2 in place of a traceback, for every error that we raise on purpose."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except JudgestatsError as error:
            Console(stderr=True, highlight=False, soft_wrap=True).print(Text(f"judgestats: {error}"))
            raise typer.Exit(2) from None

    return run


@app.command()
@_readable
def check(source: Source, map: Map = "", labels: Labels = "", format: Format = "") -> None:
    """Say what a file is, account for its rows, and list what can be measured. The first step."""
    from judgestats.ingest import sniff

    console = _console()
    found = sniff(source) if not format else None
    if found is not None and found.confidence == "needs a mapping" and not map:
        _show_proposal(console, source, found)
        raise typer.Exit(2)
    data = _read(source, map, labels, format)
    if found is not None:
        console.print(
            Text(f"{source}: {found.format} ({found.why})" if not map else f"{source}: {found.format}, mapped by you")
        )
    _show_design(console, data)
    _show_account(console, data)
    _show_support(console, data)


@app.command()
@_readable
def report(
    source: Source,
    out: Annotated[Path, typer.Option("--out", help="Where the page goes.")] = Path("report.html"),
    map: Map = "",
    labels: Labels = "",
    format: Format = "",
    by: Annotated[str, typer.Option("--by", help="Further grouping columns, separated by commas.")] = "",
    cluster: Annotated[str, typer.Option("--cluster", help="Column of calls that are not independent.")] = "",
    identity: Annotated[
        str, typer.Option("--identity", metavar="SYSTEM=JUDGE,...", help="Which system is which judge.")
    ] = "",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.")] = 0,
) -> None:
    """Write the datasheet of each judge as one self-contained HTML page."""
    from judgestats.ingest import parse_mapping, source_info
    from judgestats.reporting import report as write

    data = _read(source, map, labels, format)
    console = _console()
    with console.status("Measuring ..."):
        path = write(
            data,
            out,
            by=[b.strip() for b in by.split(",") if b.strip()],
            source=source_info(source),
            cluster=cluster or None,
            identity={k: v for k, v in parse_mapping(identity).items() if v} if identity else None,
            seed=seed,
        )
    _show_account(console, data)
    console.print(Text(f"Report: {path}"))


@app.command()
@_readable
def formats() -> None:
    """List the formats that can be read."""
    from judgestats.ingest import formats as listed

    table = listed()
    _print_table(_console(), "Formats", table[["name", "frame", "about", "example"]])


@app.command()
@_readable
def reproduce(
    paper: Annotated[str, typer.Argument(help="merchant_risk or dark_current; all by default.")] = "",
    out: Annotated[Path | None, typer.Option("--out", help="Write the page here too.")] = None,
) -> None:
    """Recompute every printed number that follows from other printed numbers."""
    from judgestats.published import reproduce as recompute

    result = recompute(paper or None)
    console = _console()
    summary = result.groupby(["paper", "verdict"]).size().unstack(fill_value=0).reset_index()
    _print_table(console, "Printed numbers, recomputed", summary)
    odd = result[result["verdict"] != "follows"]
    if len(odd):
        _print_table(
            console, "What does not follow", odd[["paper", "place", "quantity", "printed", "shown", "comment"]]
        )
    if out is not None:
        from judgestats.reporting import reproduction_page

        console.print(Text(f"Page: {reproduction_page(result, out)}"))


def _read(source: str, map: str, labels: str, format: str) -> Any:
    from judgestats.ingest import parse_labels, parse_mapping, read

    return read(
        source,
        format=format or None,
        columns=parse_mapping(map) if map else None,
        labels=parse_labels(labels) if labels else None,
    )


def _show_proposal(console: Console, source: str, found: Any) -> None:
    from judgestats.ingest import preview
    from judgestats.ingest.sources import resolve
    from judgestats.ingest.tables import plain_table

    proposal = found.proposal
    console.print(Text(f"{source}: a table of unknown shape. Nothing has been computed."))
    console.print(Text(str(proposal)))
    if proposal.complete:
        shown = preview(plain_table(resolve(source)), proposal.mapping, proposal.labels)
        _print_table(console, "Its first rows, as that mapping would read them", shown)
        console.print(Text(f"\nNext: judgestats check {source} {proposal.options}"))


def _show_design(console: Console, data: Any) -> None:
    from judgestats.metrics.support import design

    _print_table(console, "Design", design(data))


def _show_account(console: Console, data: Any) -> None:
    from judgestats.schema import check as account

    found = account(data)
    totals = found[found["level"] == "account"].set_index("what")["n"]
    console.print(
        Text(f"{totals['rows in']:,} rows in = {totals['rows used']:,} used + {totals['rows set aside']:,} set aside")
    )
    rest = found[found["level"] != "account"]
    if len(rest):
        first = rest["rows"].map(lambda rows: ", ".join(map(str, rows[:3])) + (", ..." if len(rows) > 3 else ""))
        _print_table(
            console, "Account of rows", rest.assign(first_rows=first)[["level", "what", "n", "first_rows", "cure"]]
        )


def _show_support(console: Console, data: Any) -> None:
    from judgestats.metrics.support import supported

    found = supported(data)
    able = found[found["supported"]]
    _print_table(console, "Measures these data support", able[["measure", "question"]])
    rest = found[~found["supported"]]
    if len(rest):
        _print_table(console, "Not supported, and what is missing", rest[["measure", "missing"]])


def _print_table(console: Console, title: str, frame: pd.DataFrame) -> None:
    """Print a frame; what comes from the data is text, never markup."""
    table = Table(
        title=Text(title), title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False
    )
    for name in frame.columns:
        numeric = pd.api.types.is_numeric_dtype(frame[name]) and frame[name].dtype != bool
        table.add_column(escape(str(name)), justify="right" if numeric else "left", overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*(Text("" if v is None or v is pd.NA else str(v)) for v in row))
    console.print(table)
    console.print()


if __name__ == "__main__":
    app()
