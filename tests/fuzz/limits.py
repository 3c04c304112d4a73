"""A guard against what never ends."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Hang(BaseException):
    """Something went on for far longer than it can take."""


@contextmanager
def within(seconds: int, what: str) -> Iterator[None]:
    """Stop what takes longer, where signals reach: in the main thread of a POSIX system."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise Hang(f"more than {seconds} seconds: {what}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
