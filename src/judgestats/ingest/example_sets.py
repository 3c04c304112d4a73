"""The sets of real verdicts that the package holds: what they are, and where."""

from __future__ import annotations

import hashlib
from pathlib import Path

from judgestats.errors import SchemaError, refuse_unknown
from judgestats.package_data import data_folder, resources

#: How a source names a set: ``example:llmbar``.
EXAMPLE = "example:"
#: Where they are among the data of the package.
FOLDER = "verdicts"


def example_path(name: str) -> Path:
    """The file of a set, if it is as it was when the package was built."""
    sets = resources(FOLDER)
    refuse_unknown(name, sets, f"There is no data set {name!r}", "There are", error=SchemaError)
    path: Path = data_folder() / FOLDER / sets[name]["path"]
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != sets[name]["sha256"]:
        raise SchemaError(f"The data set {name!r} is missing or damaged ({path}). Reinstall judgestats.")
    return path
