"""judgestats: statistics for the verdicts of LLM judges.

A judge is a measuring instrument; this package measures the instrument. It never calls a model: it reads cached
verdicts (:func:`read`), checks and counts them (:func:`check`, :func:`tally`) and measures the judge
(:func:`datasheet` and the measures behind it).

Names are loaded when they are first used, so that ``import judgestats`` is light: ``__init__.pyi`` lists them.
"""

from importlib import import_module
from pathlib import Path
from re import findall
from typing import Any

__version__ = "0.1.0"

_LINES = findall(r"(?m)^from (\S+) import (\w+) as (\w+)$", Path(__file__).with_suffix(".pyi").read_text("utf-8"))
#: Public name -> module that has it, and its name there.
_HOMES = {public: (module, name) for module, name, public in _LINES}

__all__ = ["__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'judgestats' has no attribute {name!r}")
    module, inside = _HOMES[name]
    try:
        value = import_module(f"{module}.{inside}")
    except ModuleNotFoundError as error:
        if error.name != f"{module}.{inside}":
            raise
        value = getattr(import_module(module), inside)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
