"""What the command line writes to: signs that every terminal shows, control characters written out, closed pipes."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

#: What a terminal obeys instead of showing it: C0 without tab and line feed, DEL, C1, changes of direction.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
#: Signs of our own texts -> what stands for them where the encoding lacks them.
_PLAIN = {
    **dict.fromkeys("−–—‑─━", "-"), **dict.fromkeys("│┃", "|"), **dict.fromkeys("╭╮╰╯┏┓┗┛", "+"),
    **dict.fromkeys("“”„", '"'), **dict.fromkeys("‘’", "'"), **dict.fromkeys("•·", "*"),
    "\u2009": " ", "\u202f": " ", "\xa0": " ", "…": "...", "×": "x", "±": "+/-", "≤": "<=", "≥": ">=", "≠": "!=",
    "≈": "~", "→": "->", "²": "^2", "√": "sqrt ", "Δ": "Delta", "α": "alpha", "β": "beta", "δ": "delta", "η": "eta",
    "θ": "theta", "κ": "kappa", "μ": "mu", "ρ": "rho", "σ": "sigma", "τ": "tau",
}  # fmt: skip


def visible(text: str) -> str:
    r"""A text with its control characters written out.

    >>> print(visible("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _OBEYED.sub(lambda found: found.group().encode("unicode_escape").decode("ascii"), text)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """What stands for signs that an encoding lacks: ours in ASCII, others by their number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_PLAIN.get(s) or s.encode("ascii", "backslashreplace").decode("ascii") for s in signs), error.end


codecs.register_error("judgestats.plain", _plain)


class _Pipe(io.FileIO):
    """A file whose reader may leave: what is written after that is dropped, as ``check FILE | head -1`` means it."""

    def write(self, data: object) -> int:
        try:
            return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            return len(memoryview(data).cast("B"))  # type: ignore[arg-type]


def _sturdy(stream: TextIO) -> TextIO:
    """A stream that fails neither at a sign that its encoding lacks nor when its reader leaves."""
    try:
        number = stream.fileno()
    except (AttributeError, OSError, ValueError):  # no file: a program put something else there, or there is none
        return stream
    if os.name == "nt":  # a console there is no file
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="judgestats.plain")
        return stream
    raw = io.BufferedWriter(_Pipe(number, "wb", closefd=False))
    return io.TextIOWrapper(raw, stream.encoding, "judgestats.plain", line_buffering=stream.isatty())


@contextmanager
def working(what: str, console: Any = None, after: float = 2.0) -> Iterator[Callable[[str], None]]:
    """Show on standard error what is done and for how long, once it has taken so many seconds; only in a terminal.

    Gives a function that says the step that the work has come to.
    """
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = SpinnerColumn("line"), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    progress = Progress(*columns, console=console, transient=True)
    task = progress.add_task(visible(what), total=None)
    timer = threading.Timer(after, progress.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda step: progress.update(task, description=visible(f"{what}: {step}"))
    finally:
        timer.cancel()
        timer.join()
        progress.stop()


@contextmanager
def sturdy_streams() -> Iterator[None]:
    """Let a command write to sturdy streams, and leave those of the process as they were."""
    before = sys.stdout, sys.stderr
    for stream in before:
        if stream is not None:
            stream.flush()
    sys.stdout, sys.stderr = _sturdy(sys.stdout), _sturdy(sys.stderr)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        sys.stdout, sys.stderr = before
