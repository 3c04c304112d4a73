"""Settings of the whole process, changed for a while by threads that know nothing of each other."""

from __future__ import annotations

import atexit
import gc
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    def held(self, wish: object = None) -> Iterator[None]:
        """Keep the setting changed."""
        holder = object()
        with self._lock:
            self._inside[holder] = (threading.get_ident(), wish)
            self._settle(wish is not None)
        try:
            yield
        finally:
            with self._lock:
                self._inside.pop(holder, None)
                self._settle(wish is not None)

    def _settle(self, anew: bool) -> None:
        """Change or restore the setting, if it has to be."""
        if self._restore is not None and (anew or not self._inside):
            self._restore()
            self._restore = None
        if self._restore is None and self._inside:
            self._restore = self._change([wish for _, wish in self._inside.values() if wish is not None])

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


#: Held while a library runs whose warnings are not for the user: the filters of warnings are those of the process.
_FILTERS = threading.RLock()
wait_for(_FILTERS)


@contextmanager
def warnings_ignored() -> Iterator[None]:
    """Ignore the warnings of another library, in one thread at a time."""
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: they wait for each other longer than small matrices take, longer on a busy machine."""
    with _ONE_BLAS_THREAD.held(), _libraries(by_thread=True).limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries(*, by_thread: bool) -> ThreadpoolController:
    """Libraries whose limit holds for the thread that sets it (OpenBLAS on OpenMP), or for the process (the others)."""
    from threadpoolctl import ThreadpoolController

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


def _collect_rarely(_: list[Any]) -> Restore:
    """Let garbage be collected after 100,000 new objects: libraries that load make very many, and all of them stay.

    At the end of the process Python would search all of them for cycles; its memory is given back as a whole.
    """
    restore = partial(gc.set_threshold, *gc.get_threshold())
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)
    return restore


#: Held by a command: it loads much, and soon ends.
RARE_COLLECTION = Shared(_collect_rarely)
