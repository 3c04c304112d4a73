"""What corrects an error, as arguments of the library, in options of the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from judgestats.errors import Advice
from judgestats.terminal import as_typed


def _choices() -> str:
    from judgestats.schema.columns import CHOICES

    return ", ".join(CHOICES)


#: Argument of the library -> the option that does the same, for a value of it.
OPTION_OF_ARGUMENT: dict[str, Callable[[object], str]] = {
    "encoding": "--encoding {}".format,
    "decimal": "--decimal {}".format,
    "off_scale": "--off-scale {}".format,
    "scale": "--scale LOW,HIGH".format,
    "columns": "--map {}=".format,
    "judge": lambda _: "--map judge==NAME",
    "labels": lambda labels: f"--labels {as_typed([str(labels)])} (or what else each means: {_choices()})",
    "spelling": lambda labels: f"--labels {as_typed([str(labels)])}",
    "either": lambda labels: " or ".join(f"--labels {as_typed([text])}" for text in cast(tuple[str, ...], labels)),
    "winner": "--map winner=COLUMN in place of choice=COLUMN".format,
    "graded": "--map graded=COLUMN in place of choice=COLUMN, with --labels 0=first,1=second".format,
    "header": lambda _: "--no-header",
    "names": "--names NAME,...".format,
    "format": "--format NAME".format,
    "table": "--table NAME".format,
    "wide": lambda value: f"--wide {as_typed([str(value)])}",
    "explode": lambda column: f"--explode {as_typed([str(column)])} --map answer={column},replicate={column}.index,...",
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


def advice_in_options(advice: Advice) -> str:
    """The advice of an error in options of the command line; labels are one option."""
    if not advice:
        return ""
    from judgestats.ingest.guesses import sides
    from judgestats.ingest.options import joined

    labels = sides(str(value) for argument, value in advice if argument == "labels")
    pairs = joined(f"{label}={side}" for label, side in labels.items() if label != side)
    spellings = joined(str(value) for argument, value in advice if argument == "spelling")
    together = {"labels": pairs, "spelling": spellings}
    values = [(argument, together.get(argument, value)) for argument, value in advice]
    options = [OPTION_OF_ARGUMENT[argument](value) for argument, value in values if argument in OPTION_OF_ARGUMENT]
    return f"\nOn the command line: {'; '.join(dict.fromkeys(options))}" if options else ""
