"""Put the notebooks into the site as they stand beside their sources: executed, with all draws."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import jupytext
import nbformat

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "notebooks"))


def write(paths: list[Path], folder: Path) -> None:
    """Write the notebooks into a folder; those that were not yet executed without outputs."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        executed = path.with_suffix(".ipynb")
        if executed.exists():
            shutil.copy2(executed, folder)
        else:
            nbformat.write(nbformat.from_dict(jupytext.read(path)), folder / executed.name)
