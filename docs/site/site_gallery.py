"""The gallery: every public plot with its picture, code and data, from docs/gallery.py or the example of its docstring."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import judgestats as js

SCRIPT = Path(__file__).parents[1] / "gallery.py"
_CELL = re.compile(r"^# %% (data: )?(.+)$", re.M)
HEAD = """# Gallery

Every plot of `js.plot`, with the code that draws it and the data that it draws. A plot takes the table that a measure
returns, computes nothing, and returns a picture, with its axes and the rows drawn; `ax=` draws on axes of your own. The pictures are drawn when this
page is made, from the [data at its end](#data); `docs/gallery.py` is the whole script.

"""


class MissingExampleError(LookupError):
    """A public plot has no example."""


def cells(text: str | None = None) -> dict[str, str]:
    """Name -> code of each cell of the script; those of the data have a colon in their names."""
    text = SCRIPT.read_text(encoding="utf-8") if text is None else text
    marks = list(_CELL.finditer(text))
    ends = [m.start() for m in marks[1:]] + [len(text)]
    return {(m[1] or "") + m[2]: text[m.end() : end].strip() for m, end in zip(marks, ends, strict=True)}


def docstring_example(plot: Any) -> str:
    """Code of the example in a docstring, up to the call of the plot."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(plot) or "")
    name = plot.__name__
    lines = ["import numpy as np", "import pandas as pd", "", "import judgestats as js", ""]
    for example in examples:
        calls = [
            n for n in ast.walk(ast.parse(example.source)) if isinstance(n, ast.Call) and _called(n) == name and n.args
        ]
        if calls:
            lines.append(f"result = {ast.unparse(calls[0].args[0])}")
            calls[0].args[0] = ast.Name("result")
            calls[0].func = ast.Name(f"js.plot.{name}")
            return "\n".join([*lines, f"axes = {ast.unparse(calls[0])}"])
        lines.append(example.source.rstrip())
    raise MissingExampleError(
        f"plot.{name} has no example: give it a cell '# %% {name}' in docs/gallery.py, or an example in its docstring"
    )


def _called(call: ast.Call) -> str:
    """Name of the function that is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def code_of(name: str, known: dict[str, str]) -> str:
    """Code that draws a plot."""
    return known.get(name) or docstring_example(getattr(js.plot, name))


def names(known: dict[str, str]) -> Iterator[str]:
    """Plots in the order of the script, then the others."""
    shown = [name for name in known if name in js.plot.__all__]
    yield from shown
    yield from (name for name in js.plot.__all__ if name not in shown)


def write(folder: Path, tables: Path) -> str:
    """Draw every plot into a folder, and its data into another; returns the page."""
    known = cells()
    space: dict[str, Any] = {}
    shown, parts = list(names(known)), [HEAD]
    parts.append('```{raw} html\n<div class="thumbnails">' + "".join(map(thumbnail, shown)) + "</div>\n```\n")
    shared = ["## Data\n\nWhat the pictures share; each cell of the script begins with these names.\n"]
    for name, code in known.items():
        if name.startswith("data: "):
            run(code, space, name)
            shared.append(f"### {name.removeprefix('data: ').capitalize()}\n\n```python\n{code}\n```\n")
    for name in shown:
        code = code_of(name, known)
        here = run(code, dict(space) if name in known else {}, name)
        picture = here["axes"]
        picture.figure.savefig(folder / f"{name}.svg", bbox_inches="tight")
        words = re.sub(r":\w+:`([^`]+)`", r"`\1`", (inspect.getdoc(getattr(js.plot, name)) or "").partition("\n\n")[0])
        parts.append(
            f"(gallery-{name.replace('_', '-')})=\n## {name}\n\n{' '.join(words.split())} "
            f"([reference](../reference/plot.{name}.rst))\n\n![{name}]({name}.svg)\n\n```python\n{code}\n```\n"
        )
        parts.append(data(picture.data, tables / f"{name}.csv"))
    return "\n".join([*parts, *shared])


def thumbnail(name: str) -> str:
    """A small picture that leads to the large one."""
    picture = f'<img src="../_images/{name}.svg" alt="" loading="lazy">'
    return f'<a href="#gallery-{name.replace("_", "-")}">{picture}<span>{name}</span></a>'


def run(code: str, space: dict[str, Any], name: str) -> dict[str, Any]:
    """Run the code of a cell."""
    exec(compile(code, f"docs/gallery.py, {name}", "exec"), space)
    return space


def data(rows: pd.DataFrame, path: Path) -> str:
    """The data of a picture, folded, and as a file."""
    rows.to_csv(path, index=False)
    head = rows.head(8).dropna(axis=1, how="all")
    head = head.loc[:, (head.astype(str) != "").any()].iloc[:, :8]
    table = head.to_html(index=False, border=0, classes="table table-sm", float_format=lambda x: f"{x:.3g}")
    more = f"first {len(head)} of {len(rows)} rows; " if len(rows) > len(head) else ""
    words = f'<summary>Data ({more}<a href="{path.name}">CSV</a>)</summary>'
    return (
        f'```{{raw}} html\n<details>{words}\n<div class="pst-scrollable-table-container">{table}</div></details>\n```\n'
    )
