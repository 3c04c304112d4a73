"""Write docs/formats.md from the records of the readers: ``python benchmarks/formats_page.py``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from judgestats.ingest.readers import Reader
from judgestats.ingest.registry import NATIVE, PLAIN

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from public_files import EMPTY, FILES, LARGE, NONE, NOT_READ

PAGE = Path("docs/formats.md")
HEAD = """# Formats

<!-- written by benchmarks/formats_page.py from the records of the readers in src/judgestats/ingest: change those -->

`judgestats.read(source)` detects the format by content, never by the name alone; `judgestats check FILE` says which it
found and why, and counts the rows used and excluded. `format=` (`--format`) names one of these. Scalar fields that a
reader does not use become condition columns. A call that failed, or whose answer could not be read, is a row with a
`status`; what is no verdict at all is excluded, with the reason and the place.

Another package adds a reader with an entry point of the group `judgestats.readers`
([how](../CONTRIBUTING.md)).
"""


def cell(text: str) -> str:
    """A text as a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *([cell(c) for c in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def section(reader: Reader) -> str:
    """What one reader takes from a record."""
    facts = [
        ("gives", reader.frame),
        ("files", ", ".join(reader.containers)),
        ("both orders", reader.both_orders),
        ("order known", reader.order_known),
        ("verdicts in", reader.verdicts_in),
        ("options", "; ".join(f"`{k}`: {v}" for k, v in reader.options.items())),
        ("tested on", reader.sample),
        *(reader.identity.facts or [("identify, replace or withdraw a verdict", "no field does")]),
    ]
    told = "\n".join(f"- {name}: {value}" for name, value in facts if value and value != "n/a")
    fields = table(["field", "becomes"], [[f"`{k}`", v] for k, v in reader.fields.items()]) if reader.fields else ""
    return f"## {reader.name}\n\n{reader.about}.\n\n{told}\n\n```\n{reader.example}\n```\n\n{fields}".rstrip()


def call(arguments: dict[str, Any]) -> str:
    """The arguments of a call of ``read``."""
    return f"`{', '.join(f'{k}={v!r}' for k, v in arguments.items())}`" if arguments else "nothing more"


def public() -> str:
    """The public files that the tests read, and those that are refused."""
    read = [
        [f"`{name}`", call(how), f"{rows:,}", f"{gaps:,}"] for name, (how, rows, gaps) in {**FILES, **LARGE}.items()
    ]
    refused = [[f"`{name}`", why] for name, why in {**EMPTY, **NOT_READ}.items()]
    refused += [[f"`{name}`", "the columns are not canonical, and no mapping was given"] for name in NONE]
    return "\n\n".join(
        [
            "## Public files that the tests read",
            "Each with one call of `read(file, ...)`.",
            table(["file", "arguments", "rows", "without an answer"], sorted(read)),
            "Refused, because they hold no verdict, or not in a form that one call reads:",
            table(["file", "the error"], sorted(refused)),
        ]
    )


def page() -> str:
    """The page, as it should stand in docs/formats.md."""
    native = table(["log of a tool", "gives", "what"], [[f"[{r.name}](#{r.name})", r.frame, r.about] for r in NATIVE])
    plain = table(["plain table", "what"], [[f"`{r.name}`", r.about] for r in PLAIN])
    return "\n\n".join([HEAD.rstrip(), native, plain, *map(section, NATIVE), public()]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
