"""What the command line writes to: signs that every terminal shows, control characters written out, closed pipes."""

from __future__ import annotations

import codecs
import io
import os
import re
import shlex
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NoReturn, TextIO

if TYPE_CHECKING:
    from rich.console import Console

#: What a terminal obeys instead of showing it: C0 without tab and line feed, DEL, C1, changes of direction.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
#: Signs of our own texts -> what stands for them where the encoding lacks them.
_PLAIN = {
    **dict.fromkeys("−–—‑─━", "-"),
    **dict.fromkeys("│┃", "|"),
    **dict.fromkeys("╭╮╰╯┏┓┗┛", "+"),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’", "'"),
    **dict.fromkeys("•·", "*"),
    **{"\u2009": " ", "\u202f": " ", "\xa0": " ", "…": "...", "×": "x", "±": "+/-", "≤": "<=", "≥": ">=", "≠": "!="},
    **{"≈": "~", "→": "->", "²": "^2", "√": "sqrt ", "Δ": "Delta", "α": "alpha", "β": "beta", "δ": "delta", "η": "eta"},
    **{"θ": "theta", "κ": "kappa", "μ": "mu", "ρ": "rho", "σ": "sigma", "τ": "tau"},
}


def visible(text: str) -> str:
    r"""A text with its control characters written out.

    >>> print(visible("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _OBEYED.sub(lambda escapes: escapes.group().encode("unicode_escape").decode("ascii"), text)


def as_typed(words: Iterable[str], windows: bool = os.name == "nt") -> str:
    r"""Words as they are typed in a shell: Windows' own shell knows double quotes only.

    >>> as_typed(["check", "two words.csv"], windows=False), as_typed(["check", r"C:\two words.csv"], windows=True)
    ("check 'two words.csv'", 'check "C:\\two words.csv"')
    """
    if not windows:
        return shlex.join(words)
    return " ".join(w if re.fullmatch(r"[\w+=:./\\-]+", w) else '"' + w.replace('"', r"\"") + '"' for w in words)


def _plain(error: UnicodeError) -> tuple[str, int]:
    """What stands for signs that an encoding lacks: ours in ASCII, others by their number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_PLAIN.get(s) or s.encode("ascii", "backslashreplace").decode("ascii") for s in signs), error.end


codecs.register_error("judgestats.plain", _plain)


#: Name of standard output in messages, and the number of standard error.
_OUTPUT = "standard output"
_ERRORS = 2


class _Pipe(io.FileIO):
    """A file whose reader may leave: what is written after that is dropped, as ``check FILE | head -1`` means it.

    A disk that is full is an OSError with the name of the stream, once; the rest of a buffer is then dropped.
    """

    failed = False

    def write(self, data: object) -> int:
        try:
            if not self.failed:
                return super().write(data)  # type: ignore[arg-type]
        except BrokenPipeError:
            pass
        except OSError as problem:
            self.failed = True
            if self.fileno() == _ERRORS:  # nowhere to say it
                return len(memoryview(data).cast("B"))  # type: ignore[arg-type]
            raise OSError(problem.errno, problem.strerror, _OUTPUT) from None
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


#: What says the step of work that is shown.
_SHOWN: list[Callable[[str], None]] = []


@contextmanager
def working(what: str, console: Console | None = None, after: float = 2.0) -> Iterator[Callable[[str], None]]:
    """Show on standard error what is done and for how long, once it has taken so many seconds; only in a terminal.

    Gives a function that says the step that the work has come to. Work inside other work that is shown is a step of it.
    """
    if _SHOWN:
        outer = _SHOWN[-1]
        yield lambda step: outer(f"{what}: {step}")
        return
    from rich.console import Console

    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn("line"), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    progress = Progress(*columns, console=console, transient=True)
    task = progress.add_task(visible(what), total=None)
    timer = threading.Timer(after, progress.start)
    timer.daemon = True
    timer.start()
    _SHOWN.append(lambda step: progress.update(task, description=visible(f"{what}: {step}")))
    try:
        yield _SHOWN[-1]
    finally:
        _SHOWN.pop()
        timer.cancel()
        timer.join()
        progress.stop()


def _stop(said: str) -> NoReturn:
    """End with exit code 2 and one line, if there is a place for it."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"judgestats: {said}\n")
            sys.stderr.flush()
    raise SystemExit(2)


@contextmanager
def sturdy_streams() -> Iterator[None]:
    """Let a command write to sturdy streams, and leave those of the process as they were.

    Standard output that is closed, or full at the end, ends the program with one line and exit code 2.
    """
    before = sys.stdout, sys.stderr
    if sys.stdout is None:
        _stop("standard output is closed. Nothing was done. Send it to a file, or to /dev/null.")
    for stream in before:
        if stream is not None:
            stream.flush()
    sys.stdout, sys.stderr = _sturdy(sys.stdout), _sturdy(sys.stderr)
    try:
        yield
    except OSError as problem:
        if problem.filename != _OUTPUT:
            raise
        _stop(f"{_OUTPUT}: {problem.strerror}.")
    finally:
        try:
            for stream in (sys.stderr, sys.stdout):
                if stream is not None:
                    stream.flush()
        except OSError as problem:
            _stop(f"{_OUTPUT}: {problem.strerror}.")
        finally:
            sys.stdout, sys.stderr = before
