"""Settings of the whole process, changed for a while by threads that know nothing of each other."""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

Restore = Callable[[], Any]


class Shared:
    """A setting of the process that several threads may need at a time: the first changes it, the last restores it.

    Saved and restored by each thread for itself, it would stay changed for good: B saves what A has changed, and
    restores it after A has left.

    `change`: takes what the threads ask for, if they ask for something, changes the setting, and returns what restores
    it.
    """

    def __init__(self, change: Callable[[list[Any]], Restore]) -> None:
        self._change = change
        self._lock = threading.RLock()
        self._inside: dict[object, tuple[int, Any]] = {}
        self._restore: Restore | None = None
        wait_for(self._lock, self._alone)

    @contextmanager
    def held(self, asked: Any = None) -> Iterator[None]:
        """Keep the setting changed."""
        holder = object()
        with self._lock:
            self._inside[holder] = (threading.get_ident(), asked)
            self._settle(asked is not None)
        try:
            yield
        finally:
            with self._lock:
                self._inside.pop(holder, None)
                self._settle(asked is not None)

    def _settle(self, anew: bool) -> None:
        """Change or restore the setting, if it has to be."""
        if self._restore is not None and (anew or not self._inside):
            self._restore()
            self._restore = None
        if self._restore is None and self._inside:
            self._restore = self._change([asked for _, asked in self._inside.values() if asked is not None])

    def _alone(self) -> None:
        """In a forked process there is the thread that forked, and no other."""
        self._inside = {h: who for h, who in self._inside.items() if who[0] == threading.get_ident()}
        self._settle(False)


def wait_for(lock: Any, then: Callable[[], Any] = lambda: None) -> None:
    """Let a fork wait for a lock, so that no child inherits one that nobody is left to release."""

    def in_child() -> None:
        then()
        lock.release()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=in_child)


_MINE = threading.local()
_RECORDED = ("", None)


def _filtered(asked: list[tuple[str, type[Warning] | None]]) -> Restore:
    """Ignore what is asked; where a thread keeps a record, show every warning, to the record or as before."""
    before = warnings.catch_warnings()
    before.__enter__()
    for message, category in asked:
        if category is not None:
            warnings.filterwarnings("ignore", message, category)
    if _RECORDED not in asked:
        return lambda: before.__exit__(None, None, None)
    warnings.simplefilter("always")
    shown = warnings.showwarning

    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        record, ignored = getattr(_MINE, "record", None), getattr(_MINE, "ignored", ())
        if any(re.match(text, str(message), re.IGNORECASE) and issubclass(category, kind) for text, kind in ignored):
            return
        if record is None:
            shown(message, category, filename, lineno, file, line)
        else:
            record.append(warnings.WarningMessage(message, category, filename, lineno, file, line))

    plain = warnings.warn

    def warn(message: Any, category: Any = None, stacklevel: int = 1, *rest: Any, **more: Any) -> None:
        kind = type(message) if isinstance(message, Warning) else category or UserWarning
        if getattr(_MINE, "record", None) is None:
            plain(message, category, stacklevel + 1, *rest, **more)
        else:  # without the filters: a call of pandas that ends in another thread puts others in place
            show(message if isinstance(message, Warning) else kind(message), kind, "", 0)

    def restore() -> None:
        warnings.warn = plain
        before.__exit__(None, None, None)

    warnings.showwarning, warnings.warn = show, warn
    return restore


_FILTERS = Shared(_filtered)


@contextmanager
def warnings_ignored(message: str = "", category: type[Warning] = Warning) -> Iterator[None]:
    """Ignore warnings, as ``warnings.catch_warnings`` with an "ignore" filter does in one thread."""
    before = getattr(_MINE, "ignored", ())
    _MINE.ignored = (*before, (message, category))
    try:
        with _FILTERS.held((message, category)):
            yield
    finally:
        _MINE.ignored = before


@contextmanager
def warnings_recorded() -> Iterator[list[warnings.WarningMessage]]:
    """Record every warning of this thread, as ``warnings.catch_warnings(record=True)`` does in one thread."""
    before = getattr(_MINE, "record", None), getattr(_MINE, "ignored", ())
    record: list[warnings.WarningMessage] = []
    _MINE.record, _MINE.ignored = record, ()
    try:
        with _FILTERS.held(_RECORDED):
            yield record
    finally:
        _MINE.record, _MINE.ignored = before


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: they wait for each other longer than small matrices take, longer on a busy machine."""
    with _ONE_BLAS_THREAD.held(), _libraries(by_thread=True).limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries(*, by_thread: bool) -> ThreadpoolController:
    """Libraries whose limit holds for the thread that sets it (OpenBLAS on OpenMP), or for the process (the others)."""
    every = ThreadpoolController()
    threaded = [lib.internal_api == "openblas" and lib.threading_layer == "openmp" for lib in every.lib_controllers]
    files = [
        lib.filepath
        for lib, is_threaded in zip(every.lib_controllers, threaded, strict=True)
        if is_threaded == by_thread
    ]
    return every.select(filepath=files)


_ONE_BLAS_THREAD = Shared(
    lambda _: _libraries(by_thread=False).limit(limits=1, user_api="blas").restore_original_limits
)
