"""The gallery: every public plot with its picture, code and data, from docs/gallery.py."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pandas as pd

import judgestats as js

SCRIPT = Path(__file__).parents[1] / "gallery.py"
_CELL = re.compile(r"^# %% (data: )?(.+)$", re.M)
HEAD = """# Gallery

Every plot of `js.plot`, with the code that draws it and the data that it draws. A plot takes the table that a measure
returns, computes no statistics, and returns a `Picture`, which shows itself in a notebook: `picture.data` are the rows
drawn, `picture.save("a.svg")` writes it, `ax=` draws on axes of your own. The pictures are drawn when this page is made,
from the [data at its end](#data); `docs/gallery.py` is the whole script.

"""


class MissingExampleError(LookupError):
    """A public plot has no cell."""


def cells(text: str | None = None) -> dict[str, str]:
    """Name -> code of each cell of the script; those of the data have a colon in their names."""
    text = SCRIPT.read_text(encoding="utf-8") if text is None else text
    marks = list(_CELL.finditer(text))
    ends = [m.start() for m in marks[1:]] + [len(text)]
    return {(m[1] or "") + m[2]: text[m.end() : end].strip() for m, end in zip(marks, ends, strict=True)}


def plots(known: dict[str, str]) -> list[str]:
    """Names of the plots, in the order of the script."""
    shown = [name for name in known if not name.startswith("data: ")]
    if lacking := [name for name in js.plot.__all__ if name not in shown]:
        raise MissingExampleError(
            f"plot.{lacking[0]} has no picture: give it a cell '# %% {lacking[0]}' in docs/gallery.py"
        )
    return shown


def write(folder: Path, tables: Path) -> str:
    """Draw every plot into a folder, and its data into another; returns the page."""
    known = cells()
    space: dict[str, Any] = {}
    shown, parts = plots(known), [HEAD]
    parts.append('```{raw} html\n<div class="thumbnails">' + "".join(map(thumbnail, shown)) + "</div>\n```\n")
    shared = ["## Data\n\nWhat the pictures share; each cell of the script begins with these names.\n"]
    for name, code in known.items():
        if name.startswith("data: "):
            run(code, space, name)
            shared.append(f"### {name.removeprefix('data: ').capitalize()}\n\n```python\n{code}\n```\n")
    for name in shown:
        picture = run(known[name], dict(space), name)["picture"]
        picture.save(folder / f"{name}.svg", bbox_inches="tight")
        words = re.sub(r":\w+:`([^`]+)`", r"`\1`", (inspect.getdoc(getattr(js.plot, name)) or "").partition("\n\n")[0])
        parts.append(
            f"(gallery-{name.replace('_', '-')})=\n## {name}\n\n{' '.join(words.split())} "
            f"([reference](../reference/plot.{name}.rst))\n\n![{name}]({name}.svg)\n\n```python\n{known[name]}\n```\n"
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
