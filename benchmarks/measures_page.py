"""Write what follows from the records of the measures: the tables of docs/measures.md, their public names and groups.

python benchmarks/measures_page.py
"""

from __future__ import annotations

import re
from inspect import unwrap
from pathlib import Path

import judgestats
from judgestats.metrics.measure_registry import SECTIONS, measures

PAGE = Path(__file__).parents[1] / "docs" / "measures.md"
STUB = Path(judgestats.__file__).with_suffix(".pyi")
GROUPS = sorted(path.parent for path in (STUB.parent / "metrics").glob("*/__init__.py"))
BEGIN, END = "<!-- measures, written by benchmarks/measures_page.py -->", "<!-- end of the measures -->"
HEAD = "| function | what it answers | input | interval | source | picture |\n|---|---|---|---|---|---|"
#: Public name -> record; the others are further questions to a function.
FUNCTIONS = {name: record for name, record in measures().items() if name == record.function.__name__}


def tables() -> str:
    """A table for each section, a row for each measure."""
    parts = []
    for section, title in SECTIONS.items():
        rows = []
        for name, m in FUNCTIONS.items():
            if m.section == section:
                picture = re.sub(r"(^|, )(\w+)(?=,|$)", r"\1`plot.\2`", m.plot) or "none"
                rows.append(f"| `{name}` | {m.question} | {m.input} | {m.interval} | {m.source} | {picture} |")
        parts.append("\n".join([f"## {title}", "", HEAD, *rows]))
    return "\n\n".join(parts)


def page(text: str) -> str:
    """The page with its tables anew."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{tables()}\n{END}{rest.partition(END)[2]}"


def stub(text: str) -> str:
    """The public names with those of the measures anew, sorted by module."""
    head, names, foot = re.fullmatch(r"(.*?\n\n)(from .*\n)(\n.*)", text, re.S).groups()
    kept = [line for line in names.splitlines() if line.rpartition(" ")[2] not in FUNCTIONS]
    made = [f"from {unwrap(m.function).__module__} import {name} as {name}" for name, m in FUNCTIONS.items()]
    return head + "\n".join(sorted([*kept, *made])) + "\n" + foot


def group_stub(folder: Path) -> str:
    """The public names that the modules of a folder of measures have."""
    inside = f"from judgestats.metrics.{folder.name}."
    names = [line for line in STUB.read_text(encoding="utf-8").splitlines() if line.startswith(inside)]
    return "\n".join(['"""Public names; written by benchmarks/measures_page.py."""', "", *names, ""])


if __name__ == "__main__":
    for path, write in ((PAGE, page), (STUB, stub)):
        path.write_text(write(path.read_text(encoding="utf-8")), encoding="utf-8")
    for folder in GROUPS:
        (folder / "__init__.pyi").write_text(group_stub(folder), encoding="utf-8")
