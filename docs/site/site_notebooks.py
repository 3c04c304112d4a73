"""Put the notebooks into the site as they stand beside their sources: executed, with all draws."""

from __future__ import annotations

import shutil
from pathlib import Path


def write(paths: list[Path], folder: Path) -> None:
    """Copy the executed notebooks into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in paths:
        shutil.copy2(path.with_suffix(".ipynb"), folder)
