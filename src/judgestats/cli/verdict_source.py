"""Where verdicts come from: the options by which they are read and grouped, and what is read by them."""

from __future__ import annotations

import inspect
import os
import re
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from judgestats.cli.common_options import FILES, LABELS, OF_FORMAT, switch, value
from judgestats.errors import JudgestatsError, SchemaError, masked, no_file, printable
from judgestats.terminal import as_typed, working

if TYPE_CHECKING:
    import pandas as pd

    from judgestats.ingest import DetectedFormat

#: A path that is no pattern, no address, no query and no mapping.
_PLAIN_PATH = re.compile(r"(?!.*://|example:)[^\s*?\[=]{2,200}")
#: The source, and what a proposal says of it.
_MAPPING = ("source", "map", "labels", "wide", "explode")


@dataclass(frozen=True)
class VerdictSource:
    """The options by which verdicts are read and grouped, of ``check`` and ``report`` alike."""

    source: list[str] = field(metadata={"option": FILES})
    map: str = value(
        "Which column holds what: judge=evaluator,item=question_id,... item=subset+item joins two columns, judge==g "
        "sets a constant, delta= (or delta=None) ignores a column delta that is something else.",
        "NAME=COLUMN,...",
    )
    labels: str = field(default="", metadata={"option": LABELS})
    format: str = value("Name of a format (see judgestats formats); detected by default.", "NAME")
    option: list[str] | None = field(default=None, metadata={"option": OF_FORMAT})
    encoding: str = value("Encoding of the files if it is not UTF-8: cp1252, utf-16.", "NAME")
    scale: str = value("Lowest and highest possible score; a score outside is an error.", "LOW,HIGH")
    off_scale: str = value("A score outside the scale is an error (the default) or missing.", "error|missing")
    decimal: str = value("Decimal mark of the numbers: ',' if it is a comma, '.' if commas separate thousands.", "SIGN")
    sep: str = value("Separator of the columns if the first rows do not show it: ';', '\\t'.", "SIGN")
    names: str = value("Names of the columns of a CSV or TSV file without a header.", "NAME,...")
    no_header: bool = switch("--no-header", "The first line is no header; the columns are field_1, field_2, ...")
    counts: str = value("Column with the number of identical calls that a row stands for.", "COLUMN")
    no_counts: bool = switch("--no-counts", "Each row is one call, and a column n is something else.")
    wide: str = value(
        "Columns that hold one judge each: judge=gpt,claude; judge=*,-id takes all but id; "
        "judge_criterion=gpt_style,gpt_truth and {judge}_{criterion} split names; judge[item]=gpt opens lists.",
        "NAME=COLUMN,COLUMN",
    )
    explode: str = value("Columns with lists of records; each becomes a row.", "COLUMN,...")
    path: str = value(
        "Names parts of the paths: '{strategy}/{judge}_run{replicate}.json' gives columns of these names.", "PATTERN"
    )
    table: str = value("Sheet of an Excel workbook or table of an SQLite database, if it holds several.", "NAME")
    parse: str = value(
        "The column mapped to choice or score holds replies as text; read the answers out of them (sentences: also "
        "out of free sentences).",
        "auto|sentences|FORM|REGEX",
    )
    labels_file: str = value("People's labels, joined to the verdicts; they are the reference (--humans).", "FILE")
    on: str = value(
        "Columns that match labels with verdicts: item=question_id, the second name as in the labels file.",
        "NAME[=COLUMN],...",
    )
    labels_map: str = value(
        "Other columns of the labels file, as in --map: judge=annotator,winner=vote.", "NAME=COLUMN,..."
    )
    labels_answers: str = value("What the labels mean, as in --labels.", "LABEL=ANSWER,...")
    labels_wide: str = value("Columns of the labels file with one annotator each, as in --wide.", "NAME=COLUMN,COLUMN")
    humans: str = value(
        "Judges that are people: the reference; not measured. By default those whose rater_type is human; none for "
        "none.",
        "NAME,... | COLUMN=VALUE | none",
    )
    gold: str = value("Source of the correct answers.", "COLUMN | JUDGE | CANDIDATE")
    baseline: str = value(
        "The control condition: a value of strategy, prompt, probe, scheme or condition.", "VALUE | COLUMN=VALUE,..."
    )
    strict: bool = switch("--strict", "Refuse several files if one cannot be read; by default it is left, and listed.")
    max_unpacked: int | None = value(
        "Largest size that a compressed file may unpack to; by default 4 GB, and 200 times its size above 100 MB.",
        "BYTES",
        None,
    )
    by: str = value("Further grouping columns.", "COLUMN,...")
    cluster: str = value("Cluster column; auto finds it in the data.", "COLUMN|auto", "auto")
    no_cluster: bool = switch("--no-cluster", "Treat all calls as independent.")

    def __post_init__(self) -> None:
        """Refuse a file that is not there, and a mapping that is given as one: ``judge=model`` without ``--map``."""
        for path in [*self.source, *([self.labels_file] if self.labels_file else [])]:
            folder = os.path.dirname(path) or "."
            if _PLAIN_PATH.fullmatch(path) and not os.path.lexists(path) and os.access(folder, os.X_OK):
                raise no_file(path)
        from judgestats.ingest.mapping import NAMES
        from judgestats.schema.frames import not_there

        pairs = [s for s in self.source if "=" in s and s.partition("=")[0] in NAMES and not os.path.exists(s)]
        if not pairs:
            return
        name, _, column = pairs[0].partition("=")
        present = self._columns([s for s in self.source if s not in pairs])
        near = f" The {not_there(name, column, present)}" if present and column not in present else ""
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

    def detected(self) -> DetectedFormat | None:
        """The format that is detected; None where the user names it."""
        from judgestats.ingest import detect_format

        if self.format:
            return None
        with working(f"Reading {self.name}"):
            encoding = self.encoding or None
            return detect_format(self.files, encoding=encoding, path=self.path, table=self.table, strict=self.strict)

    def verdicts(self, detected: DetectedFormat | None = None) -> pd.DataFrame:
        """The verdicts, with labels of people if a file of them is given; `detected`: the format, if it was."""
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
        options |= {"columns": parse_mapping(self.map)} if self.map else {}
        options |= {"labels": parse_labels(self.labels)} if self.labels else {}
        options |= {"format": self.format or None, "counts": False if self.no_counts else self.counts or None}
        with working(f"Reading {self.name}"):
            verdicts: pd.DataFrame = read(self.files if detected is None else detected, **options, **further)
            return self._with_labels(verdicts)

    def _with_labels(self, verdicts: pd.DataFrame) -> pd.DataFrame:
        from judgestats.ingest import join_labels, parse_labels, parse_mapping, parse_on, parse_scale

        if not self.labels_file:
            for option in ("on", "labels_map", "labels_answers"):
                if getattr(self, option):
                    name = f"--{option.replace('_', '-')}"
                    raise SchemaError(f"{name} is about the labels of people. Name their file: --labels-file FILE.")
            return verdicts
        options: dict[str, Any] = {"off_scale": self.off_scale} if self.off_scale else {}
        options |= {"scale": parse_scale(self.scale)} if self.scale else {}
        options |= {"on": parse_on(self.on) or None, "wide": self.labels_wide}
        options |= {"columns": parse_mapping(self.labels_map, "--labels-map")} if self.labels_map else {}
        options |= {"answers": parse_labels(self.labels_answers, "--labels-answers")} if self.labels_answers else {}
        return join_labels(verdicts, self.labels_file, **options)

    @property
    def references(self) -> dict[str, Any]:
        """People, correct answers and baselines, as arguments of the library; labels are those of people."""

        def names_or_pairs(text: str) -> list[str] | dict[str, str]:
            parts = [p.strip() for p in text.split(",") if p.strip()]
            if all("=" in p for p in parts):
                return {k.strip(): v.strip() for k, _, v in (p.partition("=") for p in parts)}
            return parts

        humans: Any = None if not self.humans else () if self.humans == "none" else names_or_pairs(self.humans)
        control = names_or_pairs(self.baseline) if "=" in self.baseline else self.baseline
        arguments = {"humans": humans, "gold": self.gold, "baseline": control}
        return {name: value for name, value in arguments.items() if value or value == ()}

    @property
    def groups(self) -> dict[str, Any]:
        """Groups and clusters, as arguments of the library."""
        columns = [b.strip() for b in self.by.split(",") if b.strip()]
        return {"by": columns, "cluster": False if self.no_cluster else self.cluster or "auto"}

    def typed(self) -> str:
        """The options beside the mapping that have a value, for the command that is suggested."""
        options = [(f, getattr(self, f.name)) for f in fields(self) if f.name not in _MAPPING]
        values = [(f"--{f.name.replace('_', '-')}", value) for f, value in options if value != f.default]
        each = [(name, v) for name, value in values for v in (value if isinstance(value, list) else [value]) if v]
        return "".join(f" {name}" if v is True else f" {name} {as_typed([masked(str(v))])}" for name, v in each)

    def record(self) -> dict[str, Any]:
        """How the source was read, for the page."""
        from judgestats.ingest import format_of, source_info

        format = self.format or format_of(self.files, encoding=self.encoding or None, mapped=self.mapped)
        names = ("wide", "explode", "path", "table", "parse", "labels", "encoding", "counts")
        settings = {"format": format, "mapping": self.map or "no mapping needed"}
        settings |= {name: getattr(self, name) for name in names}
        settings |= {"options": ", ".join(self.option or ()), "labels of people": self.labels_file}
        files = [*self.source, self.labels_file] if self.labels_file else self.files
        info = source_info(files, encoding=self.encoding or None, format=self.format or None)
        return {k: v for k, v in settings.items() if v} | {"files": info}
