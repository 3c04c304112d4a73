"""numba's ``njit``: loaded with the first call, and with a cache folder even if the usual ones are not writable."""

from __future__ import annotations

import os
import pickle
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial, update_wrapper
from pathlib import Path
from typing import Any, Generic, TypeVar

from judgestats.threads import wait_for

#: Rows from which on the compiled one of two forms is called. It is faster for fewer, too (docs/benchmarks.md), but by
#: microseconds, and loading numba takes 0.3 s.
COMPILED_FROM = 1000
_ARRAYS_ONLY: ContextVar[bool] = ContextVar("arrays_only", default=False)

#: Held while a dispatcher is made: two threads make one.
_MAKING = threading.RLock()
wait_for(_MAKING)


class Kernel:
    """A function that numba compiles on its first call, and that compiled code may call."""

    def __init__(self, function: Any, **options: Any) -> None:
        if not callable(function):
            raise TypeError(f"{function!r} is no function.")
        self._function, self._options = function, options
        self._made: Any = None
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Call what is compiled."""
        return (self._made or self._dispatcher())(*arguments)

    def __getattr__(self, name: str) -> Any:
        """What numba's dispatcher has, such as its type, ``_numba_type_``."""
        if name.startswith("__") or name in ("_made", "_function", "_options"):
            raise AttributeError(name)
        return getattr(self._made or self._dispatcher(), name)

    def _dispatcher(self) -> Any:
        with _MAKING:
            self._made = self._made or _compiled(self._function, self._options)
        return self._made


Form = TypeVar("Form")


@dataclass(frozen=True)
class TwoForms(Generic[Form]):
    """One computation in two forms, equal but for rounding: in NumPy for few rows, and compiled for many."""

    arrays: Form
    compiled: Form

    def of(self, rows: int) -> Form:
        """The form for so many rows."""
        return self.compiled if rows >= COMPILED_FROM and not _ARRAYS_ONLY.get() else self.arrays


@contextmanager
def arrays_only() -> Iterator[None]:
    """Call NumPy's forms for any number of rows: what is tried once is not worth 0.3 s and 100 MB for numba."""
    token = _ARRAYS_ONLY.set(True)
    try:
        yield
    finally:
        _ARRAYS_ONLY.reset(token)


def njit(**options: Any) -> Any:
    """Compile a function on its first call, as ``numba.njit(**options)`` does, and cache it where that is possible.

    Division by zero gives infinity or NaN, as in NumPy.

    The cache is where numba puts it; failing that, the user's folder among the temporary ones; failing that, there is
    none. numba itself is loaded by the first call of a :class:`Kernel`.
    """
    return partial(Kernel, error_model="numpy", **options)


@cache
def _numba() -> Any:
    import numba
    from numba.core.compiler_lock import global_compiler_lock

    wait_for(global_compiler_lock)
    return numba


def _compiled(function: Any, options: dict[str, Any]) -> Any:
    """numba's dispatcher of a function."""
    numba = _numba()
    try:
        return _tolerant(numba.njit(**options)(function))
    except RuntimeError as why:  # "cannot cache function ...: no locator available"
        if not options.get("cache") or "cache" not in str(why):
            raise
    folder, given = temporary_folder(), numba.config.CACHE_DIR
    if folder is not None:
        numba.config.CACHE_DIR = str(folder)
        try:
            return _tolerant(numba.njit(**options)(function))
        except RuntimeError:
            pass
        finally:
            numba.config.CACHE_DIR = given
    return numba.njit(**{**options, "cache": False})(function)


class _Cache:
    """A cache of numba that may fill the disk, be taken away or be damaged: compiling does without it."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *what: Any) -> Any:
        try:
            return self._cache.load_overload(*what)
        except (OSError, EOFError, pickle.UnpicklingError, ValueError):
            return None

    def save_overload(self, *what: Any) -> None:
        with suppress(OSError, EOFError, pickle.UnpicklingError, ValueError):
            self._cache.save_overload(*what)


def _tolerant(compiled: Any) -> Any:
    if hasattr(compiled, "_cache"):
        compiled._cache = _Cache(compiled._cache)
    return compiled


def temporary_folder() -> Path | None:
    """Folder for compiled code among the temporary ones, for one user alone; None where there can be none.

    Compiled code is executed as it is found: a folder of another user, or that others may write to, is not used.
    """
    owner = os.getuid() if hasattr(os, "getuid") else None
    try:
        folder = Path(tempfile.gettempdir()) / ("judgestats-numba" if owner is None else f"judgestats-numba-{owner}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    owned = owner is None or (found.st_uid == owner and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    return folder if stat.S_ISDIR(found.st_mode) and owned else None
