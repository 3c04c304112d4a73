"""Names and parameters that will be removed: they work, and say what to use (docs/stability.md)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def deprecated(
    since: str, *, use: str = "", parameters: Mapping[str, str] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function, or some of its parameters, as deprecated; without `parameters`, the function itself.

    The warning is a FutureWarning, which scripts and notebooks show, and points to the line of the caller. `since` is
    the version that deprecates, `use` the name to use, `parameters` old name -> new name: a value given by the old name
    is passed by the new one.
    """
    renamed = parameters or {}

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        name = function.__name__

        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            if not renamed:
                remedy = f" Use {use}() instead." if use else ""
                _warn(f"{name}() is deprecated since judgestats {since} and will be removed.{remedy}")
            for old, new in renamed.items():
                if old not in kwargs:
                    continue
                if new in kwargs:
                    raise TypeError(f"{name}() got both {new}= and {old}=, its deprecated name. Give {new}= only.")
                kwargs[new] = kwargs.pop(old)
                _warn(f"{name}({old}=) is deprecated since judgestats {since} and will be removed. Use {new}= instead.")
            return function(*args, **kwargs)

        return run

    return mark


def _warn(message: str) -> None:
    """Warn at the line that calls the deprecated function."""
    warnings.warn(message, FutureWarning, stacklevel=3)
