"""numba's ``njit``, with a place for what it compiles even where neither the package nor the home can be written to."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import numba
from numba.core.compiler_lock import global_compiler_lock

from judgestats.threads import wait_for

wait_for(global_compiler_lock)


def njit(**options: Any) -> Any:
    """Compile a function on its first call, as ``numba.njit(**options)`` does, and cache it where that is possible.

    Parameters
    ----------
    **options
        Those of ``numba.njit``. With ``cache=True`` the cache is where numba puts it (the folder in NUMBA_CACHE_DIR,
        beside the source, in the user's cache); failing these, the user's own folder among the temporary ones; failing
        that, there is none, and every process compiles anew.

    Returns
    -------
    callable
        A decorator.
    """

    def decorate(function: Any) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError as why:  # "cannot cache function ...: no locator available"
            if not options.get("cache") or "cache" not in str(why):
                raise
        folder, given = temporary_folder(), numba.config.CACHE_DIR
        if folder is not None:
            numba.config.CACHE_DIR = str(folder)
            try:
                return numba.njit(**options)(function)
            except RuntimeError:
                pass
            finally:
                numba.config.CACHE_DIR = given
        return numba.njit(**{**options, "cache": False})(function)

    return decorate


def temporary_folder() -> Path | None:
    """Folder for compiled code among the temporary ones, for one user alone; None where there can be none.

    Compiled code is executed as it is found: a folder that belongs to another user, or that others may write to, is not
    used.
    """
    owner = os.getuid() if hasattr(os, "getuid") else None
    try:
        folder = Path(tempfile.gettempdir()) / ("judgestats-numba" if owner is None else f"judgestats-numba-{owner}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    own = owner is None or (found.st_uid == owner and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))
    return folder if stat.S_ISDIR(found.st_mode) and own else None
