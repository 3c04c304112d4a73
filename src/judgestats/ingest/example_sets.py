"""The sets of real verdicts that the package holds: what they are, and where."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path

from judgestats.errors import SchemaError, refuse_unknown
from judgestats.package_data import data_folder
from judgestats.typing import Record

#: How a source names a set: ``example:llmbar``.
EXAMPLE = "example:"


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Record]:
    """Name of each set -> what the package says of it."""
    path = data_folder() / "verdicts" / "datapackage.json"
    return {r["name"]: r for r in json.loads(path.read_text(encoding="utf-8"))["resources"]}


def example_path(name: str) -> Path:
    """The file of a set, if it is as it was when the package was built."""
    sets = catalogue()
    refuse_unknown(name, sets, f"There is no data set {name!r}", "There are", error=SchemaError)
    path: Path = data_folder() / "verdicts" / sets[name]["path"]
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != sets[name]["sha256"]:
        raise SchemaError(f"The data set {name!r} is missing or damaged ({path}). Reinstall judgestats.")
    return path
