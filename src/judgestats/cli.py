"""The command line: thin. It reads arguments, calls the library, prints; it computes nothing."""

from __future__ import annotations

import errno
import inspect
import itertools
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import IntEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar, cast, get_type_hints

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from judgestats.defaults import SEED
from judgestats.errors import Advice, JudgestatsError, SchemaError, masked, no_file, printable
from judgestats.terminal import as_typed, sturdy_streams, visible, working

#: What typer raises where an option is wrong.
_UsageError: Any = typer.BadParameter.__bases__[0]


class ExitCode(IntEnum):
    """How a command ends where it does not end well; docs/stability.md explains them."""

    NOT_HELD = 1  # audit --strict: a number does not follow, or nothing could be decided
    REFUSED = 2  # a wrong option, a file that does not open, data that are not understood; nothing was written


#: Where a context holds the command line.
_TYPED = "judgestats.typed"


class _Commands(TyperGroup):
    """The commands; nothing that is typed or read reaches a terminal as a command to it."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        with sturdy_streams():  # patterns stay patterns on Windows too: the readers expand them
            return super().main(*args, **{"windows_expand_args": False, **kwargs})

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **kwargs: Any) -> Any:
        typed = printable(as_typed(map(masked, ["judgestats", *args])))
        with _visible_errors():
            args = _with_repeats(self.commands.get(args[0]) if args else None, args)
            context = super().make_context(info_name, args, *rest, **kwargs)
        context.meta[_TYPED] = typed
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
    cls=_Commands,
    help="Statistics for the verdicts of LLM judges. Start with: judgestats check FILE",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _say_version(asked: bool) -> None:
    if asked:
        from judgestats.environment import full_version

        typer.echo(f"judgestats {full_version()}")
        raise typer.Exit


def _say_versions(asked: bool) -> None:
    if asked:
        from judgestats.environment import show_versions

        show_versions()
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and stop.", callback=_say_version, is_eager=True)
    ] = False,
    versions: Annotated[
        bool,
        typer.Option(
            "--versions",
            help="Show the versions of all libraries, for a bug report.",
            callback=_say_versions,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Statistics for the verdicts of LLM judges. Start with: judgestats check FILE"""


P = ParamSpec("P")
R = TypeVar("R")

_FILES = typer.Argument(
    metavar="FILE", help="Files, glob pattern or folder of saved verdicts; - for standard input.", show_default=False
)
_OF_FORMAT = typer.Option(
    metavar="NAME=VALUE", help="Option of the format (docs/formats.md), such as judge=gpt-4; several times for several."
)
_LABELS = typer.Option(metavar="LABEL=ANSWER,...", help="What the answers mean: A=first,B=second,C=tie.")
Trust = Annotated[
    bool, typer.Option("--trust", help="Read a plan whose files are not as they were written, or have no digests.")
]
Overwrite = Annotated[
    bool,
    typer.Option(
        "--overwrite", help="Replace files that exist; what was read, or has answers in it, is never written over."
    ),
]

#: Argument of the library -> the option that does the same, for a value of it.
_OPTIONS: dict[str, Callable[[Any], str]] = {
    "encoding": "--encoding {}".format,
    "decimal": "--decimal {}".format,
    "off_scale": "--off-scale {}".format,
    "scale": "--scale LOW,HIGH".format,
    "columns": "--map {}=".format,
    "labels": lambda labels: f"--labels {as_typed([labels])} (or what else each means: abstain, invalid)",
    "winner": "--map winner=COLUMN in place of choice=COLUMN".format,
    "graded": "--map graded=COLUMN in place of choice=COLUMN, with --labels 0=first,1=second".format,
    "format": "--format NAME".format,
    "table": "--table NAME".format,
    "wide": lambda value: f"--wide {as_typed([value])}",
    "path": "--path '{{judge}}_run{{replicate}}.json'".format,
    "counts": lambda column: "--no-counts" if column is False else f"--counts {column}",
    "max_unpacked": "--max-unpacked BYTES".format,
    "parse": "--parse {}".format,
    "identity": "--identity SYSTEM=JUDGE,...".format,
    "humans": "--humans NAME,... or COLUMN=VALUE".format,
    "on": lambda column: f"--on item={column or 'COLUMN'}",
    "baseline": "--baseline VALUE".format,
    "sampling": "--sampling random or by-class".format,
    "rules": "--rules FILE".format,
    "overwrite": lambda _: "--overwrite",
    "trust": lambda _: "--trust",
}


#: What report writes.
_WRITTEN = ("html", "md")


def _console() -> Console:
    """A console as wide as the terminal, or as COLUMNS says; 120 columns if neither is known."""
    wide = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(width=None if wide else 120, highlight=False)


def _text(text: str) -> Text:
    """Text with neither markup, nor commands to the terminal, nor secrets of addresses."""
    return Text(visible(masked(text)))


def _readable(command: Callable[P, R]) -> Callable[P, R]:
    """One readable message and exit code 2 in place of a traceback: our own errors, and files that do not open."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with _input(kwargs):
                return command(*args, **kwargs)
        except JudgestatsError as error:
            message = f"{error}{_in_options(error.advice)}"
        except OSError as error:
            message = masked(f"{error.filename or 'a file'}: {error.strerror or error}.")
        Console(stderr=True, highlight=False, soft_wrap=True).print(_text(f"judgestats: {message}"))
        raise typer.Exit(ExitCode.REFUSED)

    return run


@contextmanager
def _input(arguments: dict[str, Any]) -> Iterator[None]:
    """Read as the options say (what may be unpacked, the separator), and standard input once, from a temporary file."""
    most, sign = arguments.get("max_unpacked"), arguments.get("sep")
    with ExitStack() as settings:
        if most is not None or sign:
            from judgestats.ingest.files import separated_by, unpacking

            settings.enter_context(unpacking(most))
            settings.enter_context(separated_by(sign))
        if arguments.get("source") == ["-"]:
            from judgestats.ingest.sources import spooled

            folder = settings.enter_context(tempfile.TemporaryDirectory(prefix="judgestats-"))
            arguments["source"] = [str(spooled(sys.stdin, folder))]
        yield


def _in_options(advice: Advice) -> str:
    """The advice of an error in options of the command line; labels are one option."""
    if not advice:
        return ""
    from judgestats.ingest.guesses import sides
    from judgestats.ingest.options import joined

    labels = sides(str(value) for argument, value in advice if argument == "labels")
    pairs = joined(f"{label}={side}" for label, side in labels.items() if label != side)
    said = [(argument, pairs if argument == "labels" else value) for argument, value in advice]
    options = [_OPTIONS[argument](value) for argument, value in said if argument in _OPTIONS]
    return f"\nOn the command line: {'; '.join(dict.fromkeys(options))}" if options else ""


#: A path that is no pattern, no address, no query and no mapping.
_PLAIN_PATH = re.compile(r"(?!.*://)[^\s*?\[=]{2,200}")
#: The source, and what a proposal says of it.
_MAPPING = ("source", "map", "labels", "wide", "explode")


def _value(help: str, form: str | None = None, default: Any = "") -> Any:
    """A field that is an option with a value: what it is for, and what its value looks like."""
    return field(default=default, metadata={"option": typer.Option(metavar=form, help=help)})


def _switch(name: str, help: str) -> Any:
    """A field that is an option without a value."""
    return field(default=False, metadata={"option": typer.Option(name, help=help)})


@dataclass(frozen=True)
class _Reading:
    """The options by which verdicts are read and grouped, of ``check`` and ``report`` alike."""

    source: list[str] = field(metadata={"option": _FILES})
    map: str = _value(
        "Which column holds what: judge=evaluator,item=question_id,... item=subset+item joins two columns, judge==g "
        "sets a constant, delta= (or delta=None) ignores a column delta that is something else.",
        "NAME=COLUMN,...",
    )
    labels: str = field(default="", metadata={"option": _LABELS})
    format: str = _value("Name of a format (see judgestats formats); detected by default.")
    option: list[str] | None = field(default=None, metadata={"option": _OF_FORMAT})
    encoding: str = _value("Encoding of the files if it is not UTF-8: cp1252, utf-16.")
    scale: str = _value("Lowest and highest possible score; a score outside is an error.", "LOW,HIGH")
    off_scale: str = _value("A score outside the scale is an error (the default) or missing.", "error|missing")
    decimal: str = _value("Decimal mark of the numbers if it is a comma: ','.")
    sep: str = _value("Separator of the columns if the first rows do not show it: ';', '\\t'.", "SIGN")
    counts: str = _value("Column with the number of identical calls that a row stands for.", "COLUMN")
    no_counts: bool = _switch("--no-counts", "Each row is one call, and a column n is something else.")
    wide: str = _value(
        "Columns that hold one judge each: judge=gpt,claude; judge=*,-id takes all but id; "
        "judge_criterion=gpt_style,gpt_truth and {judge}_{criterion} split names; judge[item]=gpt opens lists.",
        "NAME=COLUMN,COLUMN",
    )
    explode: str = _value("Columns with lists of records; each becomes a row.", "COLUMN,...")
    path: str = _value(
        "Names parts of the paths: '{strategy}/{judge}_run{replicate}.json' gives columns of these names.", "PATTERN"
    )
    table: str = _value("Sheet of an Excel workbook or table of an SQLite database, if it holds several.")
    parse: str = _value(
        "The column mapped to choice or score holds replies as text; read the answers out of them (sentences: also "
        "out of free sentences).",
        "auto|sentences|FORM|REGEX",
    )
    labels_file: str = _value("People's labels, joined to the verdicts; they are the reference (--humans).", "FILE")
    on: str = _value(
        "Columns that match labels with verdicts: item=question_id, the second name as in the labels file.",
        "NAME[=COLUMN],...",
    )
    labels_map: str = _value(
        "Other columns of the labels file, as in --map: judge=annotator,winner=vote.", "NAME=COLUMN,..."
    )
    labels_answers: str = _value("What the labels mean, as in --labels.", "LABEL=ANSWER,...")
    labels_wide: str = _value("Columns of the labels file with one annotator each, as in --wide.", "NAME=COLUMN,COLUMN")
    humans: str = _value("Judges that are people: the reference; not measured.", "NAME,... | COLUMN=VALUE")
    gold: str = _value("Source of the correct answers.", "COLUMN | JUDGE | CANDIDATE")
    baseline: str = _value(
        "The control condition: a value of strategy, prompt, probe, scheme or condition.", "VALUE | COLUMN=VALUE,..."
    )
    strict: bool = _switch("--strict", "Refuse several files if one cannot be read; by default it is left, and listed.")
    max_unpacked: int | None = _value(
        "Largest size that a compressed file may unpack to; by default 4 GB, and 200 times its size above 100 MB.",
        "BYTES",
        None,
    )
    by: str = _value("Further grouping columns.", "COLUMN,...")
    cluster: str = _value("Cluster column; auto finds it in the data.", None, "auto")
    no_cluster: bool = _switch("--no-cluster", "Treat all calls as independent.")

    def __post_init__(self) -> None:
        """Refuse a file that is not there, and a mapping that is given as one: ``judge=model`` without ``--map``."""
        for path in [*self.source, *([self.labels_file] if self.labels_file else [])]:
            folder = os.path.dirname(path) or "."
            if _PLAIN_PATH.fullmatch(path) and not os.path.lexists(path) and os.access(folder, os.X_OK):
                raise no_file(path)
        from judgestats.ingest.mapping import NAMES, not_there

        pairs = [s for s in self.source if "=" in s and s.partition("=")[0] in NAMES and not os.path.exists(s)]
        if not pairs:
            return
        name, _, column = pairs[0].partition("=")
        known = self._columns([s for s in self.source if s not in pairs])
        near = f" The {not_there(name, column, known)}" if known and column not in known else ""
        raise SchemaError(f"{pairs[0]!r} is no file. Give it as --map {','.join(pairs)}.{near}")

    def _columns(self, files: list[str]) -> list[str]:
        """Columns of plain tables; none where they cannot be read."""
        from judgestats.ingest.sources import resolve
        from judgestats.ingest.tables import plain_table

        try:
            return list(map(str, plain_table(resolve(files, self.encoding or None)).columns)) if files else []
        except (JudgestatsError, OSError):
            return []

    @property
    def files(self) -> str | list[str]:
        """The source as the library takes it."""
        return self.source[0] if len(self.source) == 1 else self.source

    @property
    def name(self) -> str:
        """The source as messages name it."""
        return printable(masked(self.source[0])) if len(self.source) == 1 else f"{len(self.source)} files"

    @property
    def mapped(self) -> bool:
        """Whether the user says what the columns are."""
        return bool(self.map or self.wide or self.explode)

    def detected(self) -> Any:
        """The format that is found; None where the user names it."""
        from judgestats.ingest import detect_format

        if self.format:
            return None
        with working(f"Reading {self.name}"):
            encoding = self.encoding or None
            return detect_format(self.files, encoding=encoding, path=self.path, table=self.table, strict=self.strict)

    def verdicts(self, found: Any = None) -> Any:
        """The verdicts, with labels of people if a file of them is given; `found`: the format, if it was detected."""
        from judgestats.ingest import parse_labels, parse_mapping, parse_options, parse_scale, read

        if self.counts and self.no_counts:
            raise SchemaError("--counts and --no-counts contradict each other. Give one of them.")
        names = ("encoding", "off_scale", "decimal", "wide", "explode", "path", "table", "parse", "strict")
        options: dict[str, Any] = {name: getattr(self, name) for name in names if getattr(self, name)}
        options |= {"scale": parse_scale(self.scale)} if self.scale else {}
        further = parse_options(self.option or ())
        for name in sorted(further.keys() & {*inspect.signature(read).parameters, *names, "scale"}):
            other = "map" if name == "columns" else name
            own = f"Give it as --{other.replace('_', '-')}" if hasattr(self, other) else "Leave it out"
            raise SchemaError(f"--option {name}=...: {name} is not an option of a format. {own}.")
        with working(f"Reading {self.name}"):
            data = read(
                self.files if found is None else found,
                format=self.format or None,
                columns=parse_mapping(self.map) if self.map else None,
                labels=parse_labels(self.labels) if self.labels else None,
                counts=False if self.no_counts else self.counts or None,
                **options,
                **further,
            )
            return self._with_labels(data)

    def _with_labels(self, data: Any) -> Any:
        from judgestats.ingest import join_labels, parse_labels, parse_mapping, parse_on, parse_scale

        if not self.labels_file:
            for option, value in (
                ("--on", self.on), ("--labels-map", self.labels_map), ("--labels-answers", self.labels_answers),
            ):  # fmt: skip
                if value:
                    raise SchemaError(f"{option} is about the labels of people. Name their file: --labels-file FILE.")
            return data
        options: dict[str, Any] = {"off_scale": self.off_scale} if self.off_scale else {}
        options |= {"scale": parse_scale(self.scale)} if self.scale else {}
        return join_labels(
            data,
            self.labels_file,
            on=parse_on(self.on) or None,
            columns=parse_mapping(self.labels_map, "--labels-map") if self.labels_map else None,
            answers=parse_labels(self.labels_answers, "--labels-answers") if self.labels_answers else None,
            wide=self.labels_wide,
            **options,
        )

    def against(self) -> dict[str, Any]:
        """People, correct answers and baselines, as arguments of the library; labels are those of people."""

        def named(text: str) -> Any:
            parts = [p.strip() for p in text.split(",") if p.strip()]
            if all("=" in p for p in parts):
                return {k.strip(): v.strip() for k, _, v in (p.partition("=") for p in parts)}
            return parts

        humans = self.humans or ("rater_type=human" if self.labels_file else "")
        control = named(self.baseline) if "=" in self.baseline else self.baseline
        given = {"humans": named(humans) if humans else None, "gold": self.gold or None, "baseline": control or None}
        return {name: value for name, value in given.items() if value}

    @property
    def groups(self) -> dict[str, Any]:
        """Groups and clusters, as arguments of the library."""
        columns = [b.strip() for b in self.by.split(",") if b.strip()]
        return {"by": columns, "cluster": False if self.no_cluster else self.cluster or "auto"}

    def typed(self) -> str:
        """The options that were given beside the mapping, for the command that is suggested."""
        given = [(f, getattr(self, f.name)) for f in fields(self) if f.name not in _MAPPING]
        said = [(f"--{f.name.replace('_', '-')}", value) for f, value in given if value != f.default]
        each = [(name, v) for name, value in said for v in (value if isinstance(value, list) else [value]) if v]
        return "".join(f" {name}" if v is True else f" {name} {as_typed([masked(str(v))])}" for name, v in each)

    def record(self) -> dict[str, Any]:
        """How the source was read, for the page."""
        from judgestats.ingest import format_of, source_info

        found = self.format or format_of(self.files, encoding=self.encoding or None, mapped=self.mapped)
        names = ("wide", "explode", "path", "table", "parse", "labels", "encoding", "counts")
        known = {"format": found, "mapping": self.map or "no mapping needed"}
        known |= {name: getattr(self, name) for name in names}
        known |= {"options": ", ".join(self.option or ()), "labels of people": self.labels_file}
        files = [*self.source, self.labels_file] if self.labels_file else self.files
        info = source_info(files, encoding=self.encoding or None, format=self.format or None)
        return {k: v for k, v in known.items() if v} | {"files": info}


def _reads(command: Callable[..., R]) -> Callable[..., R]:
    """Give a command the options of :class:`_Reading`, and pass them on as one argument, its first."""
    hints = get_type_hints(_Reading)
    shared = [
        inspect.Parameter(
            f.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if f.default is MISSING else f.default,
            annotation=Annotated[hints[f.name], f.metadata["option"]],
        )
        for f in fields(_Reading)
    ]
    own = inspect.signature(command, eval_str=True)
    rest = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in list(own.parameters.values())[1:]]

    @wraps(command)
    def run(**given: Any) -> R:
        return command(_Reading(**{f.name: given.pop(f.name) for f in fields(_Reading)}), **given)

    run.__signature__ = own.replace(parameters=[*shared, *rest])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*shared, *rest)}
    del run.__wrapped__
    return run


@app.command()
@_readable
@_reads
def check(
    reading: _Reading,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object in place of tables.")] = False,
) -> None:
    """Describe a file, count the rows used and excluded, and list what can be measured. Start here."""
    from judgestats.counting.study import Study
    from judgestats.metrics.measure_registry import describe, tried

    console = _console()
    found = reading.detected()
    if found is not None and found.confidence == "needs a mapping" and not reading.mapped:
        _show_proposal(console, reading, found)
        raise typer.Exit(ExitCode.REFUSED)
    data = reading.verdicts(found)
    found = found and replace(found, opened=None)  # the table it was read from, and a folder it was unpacked to
    against, groups = reading.against(), reading.groups
    study: Any = Study.whole(data)
    if against:  # refuse names that do not occur before anything is measured
        from judgestats.metrics.references import references

        references(study, **against)
    if as_json:
        with working("Measuring"):
            content = _json(reading.name, study, against, groups)
        typer.echo(visible(content))
        return
    if found is not None:
        why = f" ({found.why.removesuffix(f'; {found.unread}')})" if not reading.mapped else ", mapped as given"
        console.print(_text(f"{reading.name}: {found.format}{why}"))
    _show_unread(console, data)
    rows = study.check()
    _show_totals(console, rows)
    _print_table(console, "Design", describe(study))
    _show_rows(console, rows)
    del rows  # the number of each row
    with working("Measuring") as say:
        measured, split = tried(study, say=say, **groups, **against)
    _show_judges(console, measured, split)
    _show_support(console, measured)
    _show_people(console, measured, split)


@app.command()
@_readable
@_reads
def report(
    reading: _Reading,
    context: typer.Context,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write: a page, or Markdown if its name ends in .md; report.html by default.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        str,
        typer.Option(metavar="html|md", help="A page or Markdown; Markdown is printed unless --out is given."),
    ] = "",
    identity: Annotated[str, typer.Option(metavar="SYSTEM=JUDGE,...", help="Which rated system is which judge.")] = "",
    sampling: Annotated[
        str, typer.Option(metavar="random|by-class", help="How the items with a gold label were drawn.")
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = SEED,
    overwrite: Overwrite = False,
) -> None:
    """Write which judge to trust, and everything measured, as one self-contained page; the summary is printed, too."""
    from judgestats.errors import choose
    from judgestats.ingest import parse_identity
    from judgestats.outputs import MarkedOutputs
    from judgestats.reporting.pages import as_markdown, files_read, measure_all, write_report

    if reading.format in _WRITTEN:
        raise SchemaError(
            f"--format={reading.format!r} is not known: --format names what is read. What is written: --to md or html."
        )
    if to:
        choose(to, _WRITTEN, "--to")
    printed = to == "md" and out is None
    out = out or Path("report.html")
    if out.is_dir():
        raise IsADirectoryError(errno.EISDIR, f"{os.strerror(errno.EISDIR)}; name the file in it", str(out))
    data = reading.verdicts()
    _check_identity(data, known := parse_identity(identity))
    console = _console()
    source = reading.record()
    outputs = MarkedOutputs("report", [*files_read(source), *reading.source], overwrite=overwrite)
    if not printed:
        outputs.check(out)
    with working("Measuring") as say:
        found = measure_all(
            data,
            **reading.groups,
            identity=known or None,
            sampling=cast("Any", sampling.replace("-", " ") or None),
            seed=seed,
            say=say,
            **reading.against(),
        )
        command = context.meta[_TYPED]
        page = None if printed else write_report(found, out, outputs, source, say, to=to, command=command)
    if page is None:
        typer.echo(visible(as_markdown(found, command)), nl=False)
        return
    _show_unread(console, data)
    _show_totals(console, found.findings)
    _show_rows(console, found.findings)
    _show_summary(console, found.summary)
    console.print(_text(f"Report: {page}"))


@app.command()
@_readable
def formats() -> None:
    """List the formats that can be read."""
    from judgestats.ingest import formats as listed

    _print_table(_console(), "Formats", listed()[["name", "frame", "about", "example"]])


@app.command()
@_readable
def reproduce(
    paper: Annotated[str, typer.Argument(help="One of the five papers; by default all.")] = "",
    out: Annotated[Path | None, typer.Option("--out", help="Write a page with the figures to this file.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Datasheets from printed counts, then the audit of five papers. For a table of your own use judgestats audit."""
    from judgestats.published import audited
    from judgestats.reporting.reproductions import EXAMPLE, printed_datasheet
    from judgestats.reporting.sheets import judges_side_by_side

    if paper in ("", EXAMPLE):
        table = judges_side_by_side(printed_datasheet())
        _print_table(_console(), f"Judges of the {EXAMPLE} paper, from its printed counts (95 % intervals)", table)
        typer.echo("The same for verdicts of your own: judgestats report FILE\n")
    with working(f"Checking {paper or 'all papers'}"):
        found = audited(paper or None)
    _show_audit(found, out is not None)
    if out is not None:
        from judgestats.reporting import reproduction_page

        _console().print(_text(f"Page: {reproduction_page(out, paper or None, overwrite=overwrite)}"), soft_wrap=True)


@app.command()
@_readable
def audit(
    source: Annotated[str, typer.Argument(metavar="FILE | PAPER", help="A CSV file, or one of the papers.")] = "",
    rules: Annotated[Path | None, typer.Option("--rules", help="Rules (TOML) for the CSV file.")] = None,
    claims: Annotated[
        Path | None, typer.Option(help="Numbers and statements of the prose (CSV) for the CSV file.")
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
        found = audited(source or None, rules=rules, claims=claims)
    files = [(path, content_of(path, found)) for path in out or ()]
    if len({path.resolve() for path, _ in files}) < len(files):
        raise AuditError("Two of the files that --out names are one. Give each a name of its own.")
    _show_audit(found, bool(files))
    console = _console()
    for path, content in files:
        if content == "page":
            from judgestats.reporting import audit_page

            console.print(_text(f"Page: {audit_page(found, path, overwrite=overwrite)}"), soft_wrap=True)
        else:
            console.print(_text(f"Findings: {write_findings(found, path, overwrite=overwrite)}"), soft_wrap=True)
    if strict and not all(_holds(a) for a in found):
        raise typer.Exit(ExitCode.NOT_HELD)


def _holds(audit: Any) -> bool:
    """Whether some checks of a source were decided, and none of them fails."""
    verdicts = {d.verdict for d in audit.decisions} - {"cannot be decided"}
    if not verdicts:
        typer.echo(f"No check of {audit.paper} could be decided.", err=True)
    return bool(verdicts) and "does not follow" not in verdicts


def _show_audit(found: Any, paged: bool) -> None:
    """Counts, cautions about rules, then the first findings of each source; the rest is in a file."""
    from judgestats.published.audit_summaries import counts, coverage, findings

    _print_table(_console(), f"Printed numbers: {', '.join(a.paper for a in found)}", coverage(found))
    _print_table(_console(), "Checks of numbers and statements", counts(found))
    for caution in (c for a in found for c in a.cautions):
        typer.echo(visible(f"! {caution}"))
    rest = "in what is written below" if paged else "on the page that --out page.html writes"
    typer.echo(visible("\n".join(findings(found, rest))))
    typer.echo(visible("✗ does not follow from the other printed numbers; ? cannot be decided"))


def _check_identity(data: Any, identity: dict[str, str]) -> None:
    """Refuse names that are not systems or judges before anything is measured."""
    from judgestats.metrics.consensus.panel import identities

    if not identity:
        return
    if "system" not in data.columns:
        raise SchemaError(
            "--identity says which rated system is which judge, but these are pairwise verdicts. Leave it out."
        )
    identities([[s] for s in data["system"].astype(str).unique()], list(data["judge"].astype(str).unique()), identity)


def _json(source: str, study: Any, against: dict[str, Any], groups: dict[str, Any]) -> str:
    """What ``check`` prints, for programs; each flag with its code, its severity and its explanation."""
    import pandas as pd

    from judgestats import flags
    from judgestats.metrics.agreement import judge_against_people
    from judgestats.metrics.measure_registry import available_measures, describe
    from judgestats.results import estimates

    content: dict[str, Any] = {
        "source": source,
        "design": describe(study),
        "rows": study.check().drop(columns="rows"),
        "measures": available_measures(study, **against),
    }
    if "humans" in against:
        try:
            found = judge_against_people(study, humans=against["humans"], **groups)
        except JudgestatsError:  # the reason stands among the measures
            found = estimates([])
        content["agreement"] = found.assign(codes=found["flag"].map(flags.flag_codes))
        content["flags"] = flags.explain(found)
    frames = {
        k: json.loads(v.to_json(orient="records")) if isinstance(v, pd.DataFrame) else v for k, v in content.items()
    }
    return json.dumps(frames, ensure_ascii=False, indent=1)


def _show_people(console: Console, tried: dict[str, Any], groups: list[str]) -> None:
    """Agreement with people, beside that of people with each other."""
    import pandas as pd

    from judgestats.reporting.formatting import in_words, interval, number

    found = tried.get("judge_against_people")
    if not isinstance(found, pd.DataFrame):
        return
    answer = found["answer"].map(lambda a: "" if pd.isna(a) else f": {a}")
    shown = pd.DataFrame(
        {
            "who": found["judge"].where(found["role"] == "judge", "people with each other"),
            **{g: found[g].fillna("") for g in groups if g in found},
            "measure": found["term"].map(in_words) + answer,
            "estimate": found["estimate"].map(number),
            "interval": [interval(a, b) for a, b in zip(found["conf_low"], found["conf_high"], strict=True)],
            "pairs": found["n"].map(lambda n: "" if pd.isna(n) else f"{n:,.0f}"),
            "flag": found["flag"],
        }
    )
    _print_table(console, "Agreement with people", shown)


def _show_unread(console: Console, data: Any) -> None:
    """Which files of the source were left, and why."""
    from judgestats.schema.account import account_of

    account = account_of(data)
    if account is not None and account.unread:
        console.print(_text(account.unread), soft_wrap=True)


def _show_proposal(console: Console, reading: _Reading, found: Any) -> None:
    """A suggested mapping and, where the table can be read by it, its first rows and the command that does so."""
    from judgestats.ingest import parse_labels
    from judgestats.ingest.sources import STREAM
    from judgestats.schema.columns import VOCABULARY

    proposal = found.proposal
    if reading.labels:
        proposal = replace(proposal, labels=parse_labels(reading.labels))
    source = ["-"] if Path(reading.source[0]).name == STREAM else reading.source
    console.print(_text(f"{reading.name}: the columns are not recognised. Nothing was computed."), soft_wrap=True)
    if found.unread:
        console.print(_text(found.unread), soft_wrap=True)
    console.print(_text(f"{proposal}{_in_options(proposal.advice)}"), soft_wrap=True)
    if not proposal.complete:
        return
    try:
        data = replace(reading, **proposal.arguments).verdicts(found)
    except SchemaError as problem:
        advice = _in_options(problem.advice)
        console.print(_text(f"With this mapping the table would still be refused: {problem}{advice}"), soft_wrap=True)
        return
    shown = [c.name for c in VOCABULARY[proposal.kind] if c.name in data.columns]
    _print_table(console, "First rows under that mapping", data[shown].head(3))
    command = f"judgestats check {as_typed(source)} {proposal.options}{reading.typed()}"
    console.print(_text(f"\nNext: {command}"), soft_wrap=True)


def _show_totals(console: Console, found: Any) -> None:
    """The account in one line: rows in = rows used + rows excluded."""
    totals = found[found["level"] == "rows"].set_index("what")["n"]
    console.print(
        _text(f"{totals['rows in']:,} rows: {totals['rows used']:,} used, {totals['rows excluded']:,} excluded")
    )


def _show_rows(console: Console, found: Any) -> None:
    """What is excluded, and what is worth knowing of the rows used."""
    from judgestats.schema.columns import PLACES

    rest = found[found["level"] != "rows"]
    if len(rest):
        numbers = rest["rows"].map(lambda rows: ", ".join(map(str, rows[:3])) + (", ..." if len(rows) > 3 else ""))
        first = rest["where"].where(rest["where"] != "", numbers)
        shown = rest.assign(first_rows=first)[["level", "what", "n", "first_rows", "remedy"]]
        _print_table(console, "Rows used and excluded", shown)
        console.print(f"{PLACES}\n")


def _show_summary(console: Console, summary: Any) -> None:
    """The cards of the page, and its comparison of the judges."""
    import pandas as pd

    from judgestats.reporting.pages import plain_comparison

    console.print(_text(summary.title), style="bold")
    console.print(_text(summary.line))
    for card in summary.cards:
        console.print(_text(f"- {card.head}: {card.claim} ({card.detail})"))
    console.print()
    for group in summary.groups if summary.columns else ():
        heads, rows = plain_comparison(summary, group.judges)
        _print_table(console, group.about, pd.DataFrame(rows, columns=heads))
    if summary.columns and summary.note:
        console.print(_text(summary.note))
        console.print()


def _show_judges(console: Console, tried: dict[str, Any], groups: list[str]) -> None:
    """What counting says of each judge."""
    from judgestats.reporting.first_look import by_judge

    table, note = by_judge(tried, groups)
    if len(table):
        _print_table(console, "Judges (95 % intervals, of each alone)", table)
        if note:
            console.print(_text(f"{note}\n"))


def _show_support(console: Console, tried: dict[str, Any]) -> None:
    """What is supported, with its numbers; and what is not, a line each."""
    from judgestats.reporting.first_look import headlines

    _print_table(console, "Measures available", headlines(tried))
    missing = {name: why for name, why in tried.items() if isinstance(why, str)}
    if missing:
        console.print(_text("Measures not available, and what is missing"), style="bold")
        wide = max(map(len, missing))
        for name, why in missing.items():
            line = _text(f"{name:<{wide}}  {' '.join(why.split())}")
            console.print(line, no_wrap=True, overflow="ellipsis")
        console.print(
            "Arguments such as humans= and baseline= are the options --humans and --baseline here. In full: --json.\n"
        )


def _print_table(console: Console, title: str, frame: Any) -> None:
    """Print a frame; what comes from the data is text, never markup."""
    import pandas as pd

    table = Table(
        title=_text(title), title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False
    )
    for name in frame.columns:
        numeric = pd.api.types.is_numeric_dtype(frame[name]) and frame[name].dtype != bool
        table.add_column(_text(str(name)), justify="right" if numeric else "left", overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*(_text("" if v is None or v is pd.NA else str(v)) for v in row))
    console.print(table)
    console.print()


# ---- Planning a study ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Study:
    """How a study is planned: the function of judgestats.design, the option with its table, and its other options."""

    function: str
    table: str = ""
    takes: tuple[str, ...] = ()


_STUDIES = {
    "dark-current": _Study("dark_current", takes=("prompt", "seed")),
    "vacuum": _Study("vacuum", takes=("prompt",)),
    "ladder": _Study("ladder", takes=("prompt", "seed")),
    "debiasing": _Study("strategies", "pairs", ("strategies", "panel")),
    "controlled": _Study("controlled", "pairs", ("strategies", "panel")),
    "generations": _Study("generations", takes=("models", "written")),
    "cues": _Study("cues", "pairs", ("seed",)),
    "rubric": _Study("rubric", "responses", ("prompt", "by")),
    "merg": _Study("merg", "responses", ("variant", "rubric_judge", "rubrics")),
}
#: Studies whose power can be simulated without a table.
_WITH_POWER = ("dark-current", "vacuum", "ladder")


def _of(option: str) -> str:
    """The studies that take an option."""
    return ", ".join(name for name, study in _STUDIES.items() if option in (study.table, *study.takes))


@app.command()
@_readable
def plan(
    study: Annotated[str, typer.Argument(metavar="STUDY", help=f"One of: {', '.join(_STUDIES)}.")],
    judge: Annotated[list[str], typer.Option("--judge", help="Who is asked; give it once for each judge.")],
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("plan"),
    prompt: Annotated[str, typer.Option(help=f"{_of('prompt')}: name of a prompt, or a .toml file.")] = "",
    temperature: Annotated[float | None, typer.Option(help="Temperature of the calls.")] = None,
    format: Annotated[
        str, typer.Option(help="jsonl, csv, openai, anthropic, inspect, promptfoo or form, for the runner.")
    ] = "jsonl",
    seed: Annotated[
        int | None, typer.Option(help=f"{_of('seed')}: seed of the random numbers (by default {SEED}).")
    ] = None,
    pairs: Annotated[str, typer.Option(help=f"{_of('pairs')}: file of pairs of responses.")] = "",
    responses: Annotated[str, typer.Option(help=f"{_of('responses')}: file of responses of systems.")] = "",
    strategies: Annotated[str, typer.Option(help=f"{_of('strategies')}: B0,S1,S8, say.")] = "",
    panel: Annotated[str, typer.Option(help="Judges of S3 and S7: a,b,c.")] = "",
    models: Annotated[str, typer.Option(help=f"{_of('models')}: models whose answers are compared: a,b,c.")] = "",
    written: Annotated[
        str, typer.Option(help=f"{_of('written')}: texts of the first step, collected; plans the second.")
    ] = "",
    by: Annotated[str, typer.Option(help=f"{_of('by')}: name of a rubric, or a .toml file.")] = "",
    variant: Annotated[str, typer.Option(help="merg: original-4-stage (default), baseline-score, ...")] = "",
    rubric_judge: Annotated[str, typer.Option(help="merg: whose rubric all score by.")] = "",
    rubrics: Annotated[str, typer.Option(help="merg: name or file of the rubrics to score by.")] = "",
    overwrite: Overwrite = False,
) -> None:
    """Plan the calls of a study, for any runner: judgestats plan dark-current --judge my-model --out plan"""
    from judgestats import design
    from judgestats.errors import DesignError, suggestion

    if study not in _STUDIES:
        raise DesignError(f"Study {study!r} is not known. Allowed: {', '.join(_STUDIES)}.{suggestion(study, _STUDIES)}")
    chosen = _STUDIES[study]
    tables = {"pairs": pairs, "responses": responses}
    several = {"strategies": strategies, "panel": panel, "models": models}
    options: dict[str, Any] = {"prompt": prompt, "seed": seed, "written": written, "by": by}
    options |= {"variant": variant, "rubric_judge": rubric_judge, "rubrics": rubrics}
    options |= {name: text.split(",") if text else None for name, text in several.items()}
    given = {name: value for name, value in {**tables, **options}.items() if value not in ("", None)}
    if wrong := [name for name in given if name not in (chosen.table, *chosen.takes)]:
        raise DesignError(f"--{wrong[0].replace('_', '-')} is not an option of the study {study!r}. Leave it out.")
    if chosen.table and chosen.table not in given:
        raise DesignError(f"The study {study!r} needs --{chosen.table} FILE. docs/studies.md has an example.")
    table = [given.pop(chosen.table)] if chosen.table else []
    if "prompt" in given:
        given["prompts"] = given.pop("prompt")
    given |= {} if temperature is None else {"temperature": temperature}
    inputs = [name for name in (pairs, responses, prompt, by, rubrics, written) if name]
    _show_plan(getattr(design, chosen.function)(judge, *table, **given), out, out, format, inputs, overwrite)


def _show_plan(made: Any, folder: Path, whole: Path, format: str, inputs: Sequence[str], overwrite: bool) -> None:
    """Write a plan, or a later stage of the one in `whole`, and say what to do with it."""
    from judgestats import design

    made.write(folder, overwrite=overwrite, inputs=inputs)
    files = design.export(made, folder, format, overwrite=overwrite, inputs=inputs)
    console = _console()
    later = f", and {len(made.later):,} that come after them" if len(made.later) else ""
    _print_table(console, f"{len(made):,} calls{later}", made.summary())
    found = made.check()
    if len(found):
        _print_table(console, "Look at this before you ask", found[["level", "what", "n", "example", "remedy"]])
    console.print(_text(f"Send: {', '.join(map(str, files))}"))
    command = "next" if len(made.later) else "collect"
    console.print(_text(f"Then: judgestats {command} {as_typed([masked(str(whole))])} ANSWERS"))


@app.command(name="next")
@_readable
def next_stage(
    folder: Annotated[Path, typer.Argument(metavar="PLAN", help="Folder that judgestats plan wrote.")],
    answers: Annotated[str, typer.Argument(metavar="ANSWERS", help="File, glob or folder with all answers so far.")],
    format: Annotated[str, typer.Option("--format", help="As for judgestats plan.")] = "jsonl",
    trust: Trust = False,
    overwrite: Overwrite = False,
) -> None:
    """Plan the next stage from the answers so far, into a folder in PLAN: judgestats next plan 'answers*.jsonl'"""
    from judgestats import design
    from judgestats.design.plans import opened

    made = design.next_stage(opened(folder, trust), answers)
    name = f"stage{made.calls['stage'].max()}"
    taken = len(list(folder.glob(f"{name}*")))
    stage = folder / (f"{name}-{taken + 1}" if taken else name)
    _show_plan(made, stage, folder, format, [answers], overwrite)


@app.command()
@_readable
def collect(
    folder: Annotated[Path, typer.Argument(metavar="PLAN", help="Folder that judgestats plan wrote.")],
    answers: Annotated[str, typer.Argument(metavar="ANSWERS", help="File, glob or folder that the runner wrote.")],
    out: Annotated[Path, typer.Option("--out", help="CSV file of the verdicts.")] = Path("verdicts.csv"),
    page: Annotated[Path | None, typer.Option("--report", help="Write the datasheet to this file, too.")] = None,
    left: Annotated[Path | None, typer.Option(help="Folder for a plan of the calls left to ask.")] = None,
    labels: Annotated[str, _LABELS] = "",
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
    from judgestats.reporting.pages import measure_all, write_report
    from judgestats.schema import check as check_frame

    whole = opened(folder, trust)
    inputs: list[str | Path] = [answers, *plan_files(folder)]
    tables = verdict_outputs(folder, inputs, overwrite)
    tables.check(out)
    inputs.append(out)
    pages = MarkedOutputs("report", [*inputs, *(plan_files(left) if left else ())], overwrite=overwrite)
    if page is not None:
        pages.check(page)
    data, rest = collected(whole, answers, labels=parse_labels(labels) if labels else None)
    console = _console()
    write_verdicts(data, out, folder, tables)
    if "text" in data:
        console.print(_text(f"Texts: {out}, {int((data['status'] == 'ok').sum()):,} of {len(data):,} complete"))
    else:
        rows = check_frame(data)
        _show_totals(console, rows)
        _show_rows(console, rows)
        console.print(_text(f"Verdicts: {out}"))
    if len(rest):
        what = f"{len(rest):,} call{'s' * (len(rest) != 1)} failed or never came back"
        if left is None:
            console.print(_text(f"{what}; --left FOLDER plans them again"))
        else:
            rest.write(left, overwrite=overwrite, inputs=inputs)
            files = design.export(rest, left, overwrite=overwrite, inputs=inputs)
            console.print(_text(f"{what}: {', '.join(map(str, files))}"))
    if page is not None:
        console.print(_text(f"Report: {write_report(measure_all(data), page, pages)}"))


@app.command()
@_readable
def power(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="dark-current, vacuum or ladder.")],
    measure: Annotated[str, typer.Option("--measure", help="A measure, such as dark_current or consistency.")],
    planted: Annotated[
        str, typer.Option(metavar="NAME=NUMBER,...", help="Properties of the judge: dark_current=0.2.")
    ] = "",
    null: Annotated[float, typer.Option(help="The value that an interval has to exclude.")] = 0.0,
    replications: Annotated[int, typer.Option(help="Simulated studies.")] = 1000,
    processes: Annotated[int, typer.Option(help="Processes that share the work.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = SEED,
) -> None:
    """Power of a study by simulation: judgestats power vacuum --measure dark_current --planted dark_current=0.2"""
    from judgestats import design
    from judgestats.errors import DesignError, suggestion
    from judgestats.ingest import parse_planted

    if study not in _WITH_POWER:
        near = suggestion(study, _WITH_POWER)
        raise DesignError(f"Study {study!r} is not known. Allowed: {', '.join(_WITH_POWER)}.{near}")
    judge: Any = {"judge": parse_planted(planted)}
    made = getattr(design, _STUDIES[study].function)("judge")
    found = design.power(
        made, judge, measure, null=null, replications=replications, processes=processes, seed=seed, progress=True
    )
    shown = found.drop(columns=["judge", "method"], errors="ignore").round(3)
    _print_table(_console(), f"Power: share of {replications:,} studies whose interval excludes {null:g}", shown)


@app.command()
@_readable
def prompts(
    name: Annotated[str, typer.Argument(metavar="NAME", help="One of them, shown in full.")] = "",
) -> None:
    """List the prompts, or show one: judgestats prompts pairwise"""
    from judgestats import design

    if not name:
        _print_table(_console(), "Prompts", design.prompts()[["name", "frame", "placeholders", "about"]])
        return
    chosen = design.prompt(name)
    typer.echo(visible(f"{chosen.about}\n\n[system]\n{chosen.system}\n\n[user]\n{chosen.user.strip()}"))
    if chosen.schema:
        typer.echo(visible(f"\n[schema]\n{json.dumps(dict(chosen.schema), indent=1)}"))
