"""The data of the package: published tables, and sets of verdicts. May import errors."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path

from judgestats.errors import AuditError
from judgestats.typing import Record


def data_folder() -> Path:
    """Folder of the data of the package, for a wheel and for an editable install.

    Returns
    -------
    pathlib.Path
        The folder with ``datapackage.json``.

    Raises
    ------
    AuditError
        If the installation lacks the data.

    See Also
    --------
    judgestats.published.tables : List of published tables.

    Examples
    --------
    >>> (data_folder() / "datapackage.json").is_file()
    True
    """
    installed = Path(str(files("judgestats"))) / "_data"
    source = Path(__file__).parents[2] / "data"
    for folder in (installed, source):
        if (folder / "datapackage.json").is_file():
            return folder
    raise AuditError(f"The data of the package are neither in {installed} nor in {source}. Reinstall judgestats.")


@cache
def resources(folder: str = "") -> dict[str, Record]:
    """Tables of a folder's ``datapackage.json``: name -> entry."""
    package = json.loads((data_folder() / folder / "datapackage.json").read_text(encoding="utf-8"))
    return {r["name"]: r for r in package["resources"]}
