"""Names of a package that are loaded when they are first used; its ``__init__.pyi`` lists them."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from re import findall
from typing import Any


def names_of(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], dict[str, tuple[str, str]]]:
    """The ``__getattr__`` and ``__dir__`` of a package, and public name -> module that has it, and its name there."""
    stub = Path(file).with_suffix(".pyi").read_text("utf-8")
    lines = findall(r"(?m)^from (\S+) import (\w+) as (\w+)$", stub)
    homes = {public: (module, name) for module, name, public in lines}

    def load(name: str) -> Any:
        """Load a public name when it is first used."""
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, inside = homes[name]
        try:
            value = import_module(f"{module}.{inside}")
        except ModuleNotFoundError as error:
            if error.name != f"{module}.{inside}":
                raise
            value = getattr(import_module(module), inside)
        setattr(sys.modules[package], name, value)
        return value

    def public() -> list[str]:
        """The public names, without the modules."""
        return list(sys.modules[package].__all__)

    return load, public, homes
