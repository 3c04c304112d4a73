"""What the package writes: each file whole or not at all, never one that was read, and others only where it may."""

from __future__ import annotations

import filecmp
import glob
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from judgestats.csv_files import as_csv, has_answers
from judgestats.errors import DesignError

if TYPE_CHECKING:
    import pandas as pd

#: A file, a folder or a glob pattern.
Source = str | os.PathLike[str]
#: Files that were read in this process, by device and number of each, and by its path without regard to case.
_READ: dict[tuple[int, int] | str, str] = {}
#: Endings of files that no reader takes for verdicts.
_NEVER_READ = (".html", ".htm", ".md", ".png", ".svg", ".pdf")
#: The last line of a page or picture: which function wrote it, and the digest of all before.
_MARK = re.compile(rb"(?:<!--|%) judgestats (\w+) sha256:([0-9a-f]{64})(?: -->)?\n\Z")
_MARK_LENGTH = 200


def note_read(path: Source) -> None:
    """Note a file that is read, so that nothing is written over it, whatever becomes of its content in between."""
    place = os.path.abspath(os.fsdecode(path))
    with suppress(OSError):  # it may be gone
        state = os.stat(place)
        _READ[state.st_dev, state.st_ino] = _READ[place.casefold()] = place


def text_read(path: Source) -> str:
    """The text of a file in UTF-8, which is noted as read."""
    note_read(path)
    return Path(path).read_text(encoding="utf-8")


def _was_read(target: Path) -> bool:
    """Whether a file was read in this process and is still there, under this or another name."""
    names = [_READ.get(str(target).casefold())]
    if target.exists():
        state = target.stat()
        names.append(_READ.get((state.st_dev, state.st_ino)))
    return any(name is not None and os.path.exists(name) and _is_same(name, target) for name in names)


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file, read piece by piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Outputs:
    """Files that are written together: drafts that take their places when all of them are whole.

    No file that was read in this process is written over. `inputs`: files, folders and globs that a command reads:
    nor is anything put where reading them again would find it. `ours`: whether a file is one that the same function
    wrote and nobody has changed, which may always be replaced. `intact`: of files that people and runners fill in,
    whether one is as it was written; others are then kept, whatever `overwrite` says. `folder`: where they go; a new
    one appears when all is in it. A file with the same bytes is left as it is.
    """

    def __init__(
        self,
        inputs: Iterable[Source] = (),
        *,
        overwrite: bool = False,
        ours: Callable[[Path], bool] = lambda _: False,
        intact: Callable[[Path], bool] | None = None,
        folder: Path | None = None,
    ) -> None:
        self._inputs, self._overwrite, self._ours, self._intact = tuple(inputs), overwrite, ours, intact
        self._folder = folder
        self._drafts: list[tuple[Path, Path, Path]] = []  # as named, its real path, its draft
        self._new_folder: Path | None = None

    def check(self, path: Source) -> None:
        """Raise DesignError where a file must not be written."""
        path = output_path(path)
        with write_errors(path):
            target = path.resolve()
            if target.is_dir():
                raise DesignError(f"{str(path)!r} is a folder; name a file, such as {str(path / 'report.html')!r}.")
            ours = target.is_file() and self._ours(target)
            if not ours and _was_read(target):
                raise _read_file(path)
            for source in self._inputs:
                if _is_same(source, target):
                    raise _read_file(path)
                if _would_read(source, target):
                    raise DesignError(
                        f"{str(path)!r} would be read with {os.fsdecode(source)!r} the next time. Name a file outside."
                    )
            if ours or not target.is_file():
                return
            if self._intact is not None and not self._intact(target):
                raise DesignError(
                    f"{str(path)!r} was changed since it was written, or nothing says how it was written. What people "
                    "or a runner filled in is never written over. Move it away, or name another folder."
                )
            if self._intact is None and has_answers(target):
                raise DesignError(
                    f"{str(path)!r} has answers in it, and what people or a runner filled in is never written over. "
                    "Name another file or folder, or move it away."
                )
            if not self._overwrite:
                raise DesignError(
                    f"{str(path)!r} exists, and was not written by the same command or was changed since. Name "
                    "another, or pass overwrite=True.",
                    advice=(("overwrite", True),),
                )

    @contextmanager
    def open(self, path: Source, mode: str = "w") -> Iterator[IO[Any]]:
        """Open a draft of a file: text in UTF-8 without translated line ends, or bytes with ``"wb"``."""
        path = Path(path)
        text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
        with write_errors(path):
            target = path.resolve()
            if path.exists() and not path.is_file() and not path.is_dir():  # a device or a pipe, whatever its name
                with path.open(mode, **text) as file:  # type: ignore[call-overload]
                    yield file
                return
            draft = self._draft(target)
            self._drafts.append((path, target, draft))
            with draft.open(mode.replace("w", "x"), **text) as file:  # type: ignore[call-overload]
                yield file
                file.flush()
                os.fsync(file.fileno())

    def write_table(self, path: Source, table: pd.DataFrame) -> Path:
        """Write one table: CSV, or JSON lines where the file ends in ``.jsonl``; lists are JSON in both."""
        path = output_path(path)
        lines = path.suffix.lower() == ".jsonl"
        whole = {c: [json.dumps(v, ensure_ascii=False) if isinstance(v, tuple) else v for v in table[c]] for c in table}
        with self, self.open(path) as file:
            file.write(
                table.to_json(orient="records", lines=True, force_ascii=False, double_precision=15)
                if lines
                else as_csv(table.assign(**whole))
            )
        return path

    def digests(self) -> dict[str, str]:
        """The digest of each draft that is written, by the name of its file."""
        return {target.name: file_digest(draft) for _, target, draft in self._drafts}

    def _draft(self, target: Path) -> Path:
        if self._new_folder is not None and self._folder is not None and target.parent == self._folder.resolve():
            return self._new_folder / target.name
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.parent / f".{secrets.token_hex(8)}.tmp"

    def __enter__(self) -> Outputs:
        folder = self._folder
        if folder is not None and not folder.exists():
            with write_errors(folder):
                parent = folder.resolve().parent
                parent.mkdir(parents=True, exist_ok=True)
                draft = parent / f".{secrets.token_hex(8)}.tmp"
                draft.mkdir()
            self._new_folder = draft
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        try:
            if kind is None:
                self._put_in_place()
        finally:
            for _, _, draft in self._drafts:
                if draft.exists():
                    draft.chmod(0o600)  # Windows removes no file that is read-only
                    draft.unlink()
            if self._new_folder is not None:
                shutil.rmtree(self._new_folder, ignore_errors=True)

    def _put_in_place(self) -> None:
        """Check all files, then let the drafts take their places, in the order in which they were opened."""
        changed = []
        for path, target, draft in self._drafts:
            if not (target.is_file() and filecmp.cmp(draft, target, shallow=False)):
                self.check(path)
                changed.append((path, target, draft))
        if self._new_folder is not None and self._folder is not None:
            with write_errors(self._folder):
                self._new_folder.replace(self._folder.resolve())
            return
        for path, target, draft in changed:
            with write_errors(path):
                if target.exists():
                    shutil.copymode(target, draft)
                draft.replace(target)


def output_path(path: object) -> Path:
    """A path to write to; DesignError for what is none."""
    if not isinstance(path, str | os.PathLike):
        raise DesignError(f"path={path!r} is no path. Name a file.")
    return Path(os.fsdecode(path))


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Errors of the system and of the encoding as ours, with the path."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise DesignError(
            f"{str(path)!r} cannot be written: a text holds half of a surrogate pair ({error.object[error.start]!r}), "
            "which is no character. Replace it."
        ) from None
    except (OSError, RuntimeError) as error:  # RuntimeError: a circle of links, before Python 3.13
        if isinstance(error, RuntimeError) and "loop" not in str(error):
            raise
        why = getattr(error, "strerror", None) or error
        raise DesignError(f"{str(path)!r} cannot be written: {why}. Name another.") from None


def _read_file(path: Path) -> DesignError:
    return DesignError(
        f"{str(path)!r} is a file that was read, or that the same command writes, and is never written over. Name "
        "another."
    )


def _is_same(source: Source, target: Path) -> bool:
    """Whether a source is the target, under any name: a link, another spelling, another case."""
    path, place = Path(source), Path(os.path.realpath(source))
    if path.exists() and target.exists() and path.samefile(target):
        return True
    return (str(place.parent), place.name.casefold()) == (str(target.parent), target.name.casefold())


def _would_read(source: Source, target: Path) -> bool:
    """Whether reading a folder or a pattern again would find the target."""
    text = os.fsdecode(source)
    path, place = Path(text), Path(os.path.realpath(text))
    if target.suffix.lower() in _NEVER_READ:
        return False
    if path.is_dir():  # in any case of its letters, where the file system takes them as one
        return any(parent.exists() and parent.samefile(path) for parent in target.parents)
    if not glob.has_magic(text) or path.exists():
        return False
    pattern, name = str(place).casefold(), str(target).casefold()
    return fnmatchcase(name, pattern) and ("**" in pattern or name.count(os.sep) == pattern.count(os.sep))


class MarkedOutputs(Outputs):
    """Pages or pictures with the mark of their maker, by which that function may replace them until they change."""

    def __init__(self, maker: str, inputs: Iterable[Source] = (), *, overwrite: bool = False) -> None:
        super().__init__(inputs, overwrite=overwrite, ours=self._has_mark)
        self._maker = maker

    def write(self, path: Source, content: str | bytes) -> Path:
        """Write one file and its mark."""
        path = output_path(path)
        with write_errors(path):
            body = content.encode() if isinstance(content, str) else content
        start, end = ("<!--", " -->") if isinstance(content, str) or body.startswith(b"<") else ("%", "")
        with self, self.open(path, "wb") as file:
            file.write(body + f"{start} judgestats {self._maker} sha256:{digest(body)}{end}\n".encode())
        return path

    def _has_mark(self, path: Path) -> bool:
        content = path.read_bytes()
        mark = _MARK.search(content, max(0, len(content) - _MARK_LENGTH))
        return (
            mark is not None and mark[1] == self._maker.encode() and mark[2].decode() == digest(content[: mark.start()])
        )
