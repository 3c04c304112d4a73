"""From a source (path, glob, folder, list of paths) to its files."""

from __future__ import annotations

import errno
import glob
import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, Literal, TypeVar

import narwhals.stable.v2 as nw
import pandas as pd
from narwhals.exceptions import DuplicateError

from judgestats.errors import SchemaError, files_nearby, no_file, printable, shortened
from judgestats.ingest.archives import Archive
from judgestats.ingest.compressed_files import unpacked_limit, unpacked_name
from judgestats.ingest.containers import SUFFIXES, is_zip_of_tables, stem_of, suffix_of
from judgestats.ingest.example_sets import EXAMPLE, example_path
from judgestats.ingest.file_heads import file_head
from judgestats.ingest.files import File
from judgestats.ingest.json_documents import is_single_record
from judgestats.ingest.paths import PathPattern, named_values, values_set_aside
from judgestats.outputs import note_read
from judgestats.schema.findings import Finding, shown_places
from judgestats.schema.opening import cell_text, few

_WILD = "*?["
#: Beginning of an SQL query: one of three words, after brackets and comments.
_QUERY = re.compile(r"(\s|\(|--[^\n]*\n|/\*.*?\*/)*(select|with|from)(\s|/\*|\(|\*|\")", re.IGNORECASE | re.DOTALL)
#: Name of the file that a stream is written to.
STREAM = "standard input"
_CHUNK = 1 << 20
#: Files beside the tables of a Hugging Face data set.
_DESCRIPTIONS = ("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json")
#: What Windows puts into a folder, and what Excel puts beside an open workbook.
_OF_THE_SYSTEM = re.compile(r"(?i)thumbs\.db|~\$.*")
#: A device of Windows, a stream of another file, a name that ends in dots or blanks.
_ELSEWHERE = re.compile(r"(?i)(?:\A|/)(?:con|prn|aux|nul|com\d|lpt\d) *(?:\.[^/]*)?(?:/|\Z)|:|(?<=[^/])[. ](?:/|\Z)")
#: Number of unread files that are named.
_MOST_UNREAD = 8


T = TypeVar("T")
P = TypeVar("P", bound=PurePath)


def _why(path: Path, problem: SchemaError) -> str:
    """The first sentence of the error of a file, without its name."""
    sentence = re.split(r"\. (?=[A-Z])", str(problem), maxsplit=1)[0].rstrip(".")
    return sentence.removeprefix(path.name).lstrip(":, ")


@dataclass(frozen=True)
class Files:
    """The files of a path, glob, folder or list."""

    files: tuple[File, ...]  # in sorted order
    root: Path  # folder that path columns are relative to
    calls: bool  # whether each file holds a single judge call
    label: str  # name for messages
    unread: tuple[tuple[str, str], ...] = ()  # (name, why) of those in the folder that are not among them
    searched: Literal["", "folder", "glob"] = ""  # `pattern` is then compared with paths below the root
    pattern: PathPattern | None = None
    keep: object = None  # what must live as long as the files: the temporary folder they stand in
    unreadable: tuple[tuple[File, SchemaError], ...] = ()  # among several, with the error; none with `strict`
    strict: bool = True
    outside: Mapping[Path, str] = field(
        default_factory=dict, compare=False
    )  # links out of their folder, with the target

    def each(self, read: Callable[[File], T]) -> tuple[Files, list[T]]:
        """What `read` gives of each file, and the files without those that it refuses."""
        results: list[T] = []
        left: list[tuple[File, SchemaError]] = []
        for file in self.files:
            try:
                results.append(read(file))
            except SchemaError as problem:
                problem = self._of_link(file, problem)
                if self.strict:
                    raise problem from None
                left.append((file, problem))
        if not results:
            raise left[0][1]
        return self.without(left), results

    def without(self, left: Sequence[tuple[File, SchemaError]]) -> Files:
        """The files without those that turned out to be unreadable."""
        if not left:
            return self
        paths = {file.path for file, _ in left}
        files = tuple(f for f in self.files if f.path not in paths)
        return replace(self, files=files, unreadable=(*self.unreadable, *left))

    @property
    def notes(self) -> tuple[Finding, ...]:
        """Findings about the files: which are not read, which are links, which of two values of a column counts."""
        repair = "Repair or remove the file; with strict=True the source is refused."
        damaged = [(f"file not read: {_why(f.path, problem)}", self.relative(f)) for f, problem in self.unreadable]
        others = [(f"file not read: {why}", name) for name, why in self.unread]
        links = [
            ("file is a link that leads out", f"{self.relative(f)} -> {self.outside[f.path]}")
            for f in self.files
            if f.path in self.outside
        ]
        twice = [(what, self.relative(f)) for f in self.files for what in values_set_aside(self._below(f))]
        return (
            *_listed("file", damaged, repair),
            *_listed("file", others, "Name the file itself to read it."),
            *_listed("counted", links, "Its content is in the frame, and is quoted in no message."),
            *_listed("counted", twice, "Name folders and files so that each says something else."),
        )

    def _of_link(self, file: File, problem: SchemaError) -> SchemaError:
        """The error of a file; if it is a link that leads outside, without quoting its content."""
        if file.path not in self.outside:
            return problem
        return SchemaError(
            f"{file.path.name}: a link to {self.outside[file.path]}, out of the folder, that cannot be read as the "
            "others. Nothing of it is quoted: give that file itself to see why, or remove the link."
        )

    @contextmanager
    def quoted(self) -> Iterator[None]:
        """Raise errors about the files; without quoting any content if some are links that lead outside."""
        try:
            yield
        except SchemaError:
            links = [f.path for f in self.files if f.path in self.outside]
            if not links:
                raise
            raise SchemaError(
                f"{self.label}: something is wrong, and links lead out of the folder (the first of {len(links)}: "
                f"{links[0].name} -> {self.outside[links[0]]}), of which nothing is quoted. Give the files themselves "
                "to see why, or remove the links."
            ) from None

    @property
    def left(self) -> tuple[tuple[str, str], ...]:
        """The files of the source that are not read, each with the reason."""
        return (*self.unread, *((self.relative(file), _why(file.path, problem)) for file, problem in self.unreadable))

    @property
    def unread_note(self) -> str:
        """How many files of a folder are read, and which are not; empty if all are."""
        if not self.left:
            return ""
        reasons = [f"{name} ({why})" for name, why in self.left[:_MOST_UNREAD]]
        more = len(self.left) - len(reasons)
        listed = ", ".join(reasons) + (f" and {more} more" if more else "")
        n = len(self.files)
        return f"{n} of {n + len(self.left)} files read; not read: {listed}"

    def parts(self, file: File) -> dict[str, str]:
        """Path of a file below the root, as columns: ``path_1``, ``path_2``, ..., ``file`` (without its suffixes)."""
        below = self._below(file)
        parts = {f"path_{i}": part for i, part in enumerate(below.parent.parts, start=1)}
        return {**parts, "file": stem_of(below.name)}

    def said(self, file: File) -> dict[str, str | None]:
        """What the path of a file says by ``key=value`` and the pattern; the same names for all, None if unsaid."""
        return self._said[file.path]

    @cached_property
    def _said(self) -> dict[Path, dict[str, str | None]]:
        values: dict[Path, dict[str, str | None]] = {}
        for file in self.files:
            below = self._below(file)
            whole = below if self.searched else Path(printable(str(file.path.absolute())))
            values_by_pattern = self.pattern.of(whole) if self.pattern is not None else {}
            values[file.path] = {**named_values(below), **values_by_pattern}
        names = dict.fromkeys(n for said in values.values() for n in said)
        return {path: {n: said.get(n) for n in names} for path, said in values.items()}

    def check_named(self, file: File, columns: Mapping[str, Iterable[object]] | pd.DataFrame) -> None:
        """Raise if a named part of the path contradicts the file's own column of that name."""
        for name in self.pattern.names if self.pattern is not None else ():
            value = self.said(file)[name]
            cells = (cell_text(v) for v in columns[name]) if name in columns else iter(())
            other = next((v for v in cells if v is not None and v != value), None)
            if other is not None:
                raise SchemaError(
                    f"{self.relative(file)}: path= takes {name} from the path ({value!r}), and the file has a field of "
                    f"that name with another value ({other[:60]!r}). Give the part of the path another name.",
                    advice=(("path", None),),
                )

    def relative(self, file: File) -> str:
        """Name of a file below the root, for messages and reports."""
        return self._below(file).as_posix()

    def _below(self, file: File) -> Path:
        """Path of a file below the root; the whole path on another drive of Windows."""
        try:
            return Path(printable(os.path.relpath(file.path, self.root)))
        except ValueError:
            return Path(printable(str(file.path.absolute())))


def resolve(
    source: object,
    encoding: str | None = None,
    *,
    pattern: str = "",
    table: str = "",
    why_left: Callable[[File], str] | None = None,
    strict: bool = True,
) -> Files:
    """Find the files of a source."""
    files = _files_of(source, encoding, why_left, strict)
    if files.searched and why_left is not None:
        files = _taken(files, why_left)
    if files.searched == "folder":
        _refuse_several_kinds(files)
    if table:
        files = replace(files, files=tuple(replace(f, inner=table) for f in files.files))
    return replace(files, pattern=PathPattern(pattern)) if pattern else files


def _files_of(source: object, encoding: str | None, why_left: Callable[[File], str] | None, strict: bool) -> Files:
    if hasattr(source, "read"):
        return _streamed(source, encoding, strict)
    if isinstance(source, str | os.PathLike):
        text = os.fsdecode(source)
        if not text:
            raise SchemaError("The source is an empty text. Give a path; '.' is the current folder.")
        path = Path(text)
        try:
            mode, absent = path.stat().st_mode, None
        except (OSError, ValueError) as problem:  # ValueError: a NUL in it
            mode, absent = 0, problem
        if absent is not None:  # not above: the message of the system quotes the source, with any password in it
            return _absent(text, absent, encoding, strict)
        if stat.S_ISDIR(mode):
            return _folder(path, encoding, strict)
        if not stat.S_ISREG(mode):
            raise SchemaError(
                f"{text!r} is not a file but {_kind_of_node(mode)}, which cannot be read more than once. Write its "
                "content to a file first."
            )
        return _one_file(path, path.parent, path.name, encoding, strict)
    if isinstance(source, Sequence) and all(isinstance(s, str | os.PathLike) for s in source):
        if not source:
            raise SchemaError("The list of paths is empty. Give at least one path.")
        parts, left = _files_of_list(source, encoding, why_left, strict)
        files = [f for p in parts for f in p.files]
        root = _root([f.path.absolute().parent for f in files])
        calls = all(p.calls for p in parts) or (len(files) > 1 and all(_is_call(f) for f in files))
        unread = tuple(u for p in parts for u in p.unread)
        left += [u for p in parts for u in p.unreadable]
        outside = {path: target for p in parts for path, target in p.outside.items()}
        label = f"{len(files)} files"
        return Files(tuple(files), root, calls, label, unread, unreadable=tuple(left), strict=strict, outside=outside)
    raise SchemaError(
        f"Cannot read a {type(source).__name__}. Give a path, a glob, a folder, a list of paths, a stream, an SQL "
        "query with connection=, or a table (pandas, Polars, Arrow, DuckDB, ...)."
    )


def _root(folders: Sequence[Path]) -> Path:
    """The folder that holds all of them; the root of a drive where they are on several drives of Windows."""
    try:
        return Path(os.path.commonpath(folders))
    except ValueError:
        return Path(folders[0].anchor)


def _files_of_list(
    source: Sequence[str | os.PathLike[str]], encoding: str | None, why_left: Callable[[File], str] | None, strict: bool
) -> tuple[list[Files], list[tuple[File, SchemaError]]]:
    """The files of each path of a list, and the paths that cannot be read; one that does not exist is refused."""
    parts: list[Files] = []
    left: list[tuple[File, SchemaError]] = []
    for path in source:
        try:
            parts.append(resolve(path, encoding, why_left=why_left, strict=strict))
        except SchemaError as problem:
            if strict or not Path(path).is_file():
                raise
            left.append((File(Path(path), "csv", encoding), problem))
    if not parts:
        raise left[0][1]
    return parts, left


def _listed(level: str, files: Iterable[tuple[str, str]], remedy: str) -> Iterator[Finding]:
    """A finding for each thing that is said of files."""
    names: dict[str, list[str]] = {}
    for what, name in files:
        names.setdefault(what, []).append(name)
    for what, at in names.items():
        yield Finding(level, "", what, (), remedy=remedy, unread=len(at), where=shown_places(at, range(len(at))))


class TemporaryFolder:
    """A folder that is deleted with the last of the files that hold it."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="judgestats-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


def _archived(path: Path, encoding: str | None, strict: bool) -> Files:
    """The files of a zip archive, unpacked into a temporary folder that is deleted with them."""
    folder = TemporaryFolder()
    inside = Path(folder.name) / path.name
    with Archive(path, unpacked_limit(path)) as archive:
        if archive.repeated:
            listed = few([f"{name} ({n} times)" for name, n in archive.repeated.items()], 6)
            raise SchemaError(f"{path.name} holds members of the same name: {listed}. Rename or remove them.")
        for name in archive.names():
            member = inside / name
            try:
                member.parent.mkdir(parents=True, exist_ok=True)
                if os.name == "nt" and elsewhere_on_windows(name):
                    raise OSError(errno.EINVAL, "Windows writes no file of that name")
                with member.open("xb") as out:  # two names may be one: a.csv and ./a.csv; elsewhere A.csv, too
                    out.write(archive.read(name))
            except OSError as problem:
                raise SchemaError(
                    f"{path.name}: member {name[:80]!r} cannot be unpacked ({problem.strerror or problem})."
                ) from None
    inside.mkdir(exist_ok=True)
    return replace(_folder(inside, encoding, strict), root=Path(folder.name), keep=folder)


def elsewhere_on_windows(name: str) -> bool:
    """Whether Windows would write a file of that name elsewhere: to a device, beside a file, under another name."""
    return _ELSEWHERE.search(name) is not None


def _streamed(source: object, encoding: str | None, strict: bool) -> Files:
    """The one file of a stream, such as standard input, written to a temporary folder that is deleted with it."""
    _note_file_behind(source)
    folder = TemporaryFolder()
    path = spooled(source, folder.name)
    files = _one_file(path, path.parent, STREAM, encoding, strict)
    return replace(files, label=STREAM, keep=files.keep or folder)


def _note_file_behind(stream: object) -> None:
    """Note the file that a stream reads, if it reads one."""
    with suppress(TypeError, OSError, ValueError):
        note_read(os.path.realpath(f"/dev/fd/{getattr(stream, 'fileno', None)()}"))  # type: ignore[misc]
    if isinstance(name := getattr(stream, "name", None), str):
        note_read(name)


def spooled(source: Any, folder: str) -> Path:
    """Write the rest of a stream to a file in a folder; a stream that can be rewound is read from its start."""
    raw = getattr(source, "buffer", source)
    if raw is None or getattr(raw, "closed", False):
        name = STREAM if raw is None else "The stream"
        raise SchemaError(f"{name} is closed. Pipe the verdicts into the command, or name their file.")
    path = Path(folder) / STREAM
    if getattr(raw, "seekable", lambda: False)():
        raw.seek(0)
    with path.open("wb") as out:
        while chunk := raw.read(_CHUNK):
            out.write(chunk.encode() if isinstance(chunk, str) else chunk)
    return path


def _absent(text: str, problem: Exception, encoding: str | None, strict: bool) -> Files:
    """The files of a pattern, or the error for a path that does not exist."""
    excerpt = shortened(text)
    if text.startswith(EXAMPLE):
        return resolve(example_path(text.removeprefix(EXAMPLE)), encoding, strict=strict)
    if _QUERY.match(text):
        raise SchemaError(f"There is no file {excerpt}. If this is an SQL query, pass connection=.")
    if "://" in text:
        raise SchemaError(
            f"There is no file {excerpt}: files are read from disk, not from an address. Download it; for a database, "
            "give a query as the source and the address as connection=."
        )
    if isinstance(problem, ValueError) or getattr(problem, "errno", 0) in (errno.ENAMETOOLONG, errno.ELOOP):
        raise SchemaError(f"There is no file {excerpt}: that cannot be a path ({problem.args[-1]}).")
    if isinstance(problem, PermissionError):
        raise SchemaError(f"{excerpt} may not be read ({problem.strerror}).")
    if any(c in text for c in _WILD):
        return _glob(text, encoding, strict)
    raise no_file(text)


def _kind_of_node(mode: int) -> str:
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for is_one, name in kinds if is_one(mode)), "something else")


def _one_file(path: Path, root: Path, label: str, encoding: str | None, strict: bool) -> Files:
    """A file, or those in it if it is a zip archive of tables."""
    note_read(path)
    head = file_head(path)
    if is_zip_of_tables(path, head.start):
        return _archived(path, encoding, strict)
    return Files((File.of(path, encoding, head),), root, False, label, strict=strict)


def _files(
    paths: Sequence[Path],
    root: Path,
    label: str,
    encoding: str | None,
    strict: bool,
    searched: Literal["folder", "glob"],
) -> Files:
    unknown = tuple(File(p, "csv", encoding) for p in paths)
    unopened = Files(unknown, root, False, label, searched=searched, strict=strict, outside=_outside(paths, root))

    def opened(unknown: File) -> tuple[File, bool]:
        note_read(unknown.path)
        file = File.of(unknown.path, encoding)
        return file, len(paths) > 1 and _is_call(file)

    files, opened_files = unopened.each(opened)
    calls = len(opened_files) > 1 and all(call for _, call in opened_files)
    return replace(files, files=tuple(file for file, _ in opened_files), calls=calls)


def _outside(paths: Sequence[Path], root: Path) -> dict[Path, str]:
    """The files of a folder or pattern that are links out of it, each with its target."""
    whole = os.path.join(os.path.realpath(root), "")
    parents = {parent: os.path.realpath(parent) for parent in {p.parent for p in paths}}
    places = {p: os.path.realpath(p) if p.is_symlink() else os.path.join(parents[p.parent], p.name) for p in paths}
    return {path: printable(place) for path, place in places.items() if not place.startswith(whole)}


def _is_call(file: File) -> bool:
    return file.container == "json" and is_single_record(file.path, file.encoding)


def in_order(paths: Iterable[P]) -> list[P]:
    """Paths in the same order on every system; Windows' own order takes no account of case."""
    return sorted(paths, key=lambda path: path.parts)


def _glob(pattern: str, encoding: str | None, strict: bool) -> Files:
    matched = in_order(map(Path, glob.glob(pattern, recursive=True)))
    matches = [p for p in matched if p.is_file()]
    unread = tuple((printable(str(p)), "not a file") for p in matched if not p.is_file() and not p.is_dir())
    fixed = []
    for part in Path(pattern).parts:
        if any(c in part for c in _WILD):
            break
        fixed.append(part)
    root = Path(*fixed)
    if not matches:
        raise SchemaError(f"No file matches {pattern!r}. {files_nearby(root, Path(pattern).name)}")
    return replace(_files(matches, root, pattern, encoding, strict, "glob"), unread=unread)


def _folder(folder: Path, encoding: str | None, strict: bool) -> Files:
    every, closed = _contents(folder)
    tables = [p for p in every if not _why_not(p, folder)]
    if not tables:
        names = ", ".join(p.name for p in every if not _hidden(p, folder))[:200] or "nothing"
        raise SchemaError(
            f"The folder {folder.name!r} holds no {', '.join(SUFFIXES)} file (plain or .gz), here or below. It holds: "
            f"{names}."
        )
    result = _files(tables, folder, folder.name + "/", encoding, strict, "folder")
    left = [(p, why) for p in every if (why := _why_not(p, folder))] + closed
    unread = tuple((printable(p.relative_to(folder).as_posix()), why) for p, why in left)
    return replace(result, calls=all(map(_is_call, result.files)), unread=unread)


def _contents(folder: Path) -> tuple[list[Path], list[tuple[Path, str]]]:
    """All files below a folder, with links to folders, and the folders that may not be entered, with the reason."""
    closed: list[tuple[Path, str]] = []

    def noted(problem: OSError) -> None:
        closed.append((Path(os.fsdecode(problem.filename)), problem.strerror or str(problem)))

    every = []
    for at, folders, names in os.walk(folder, onerror=noted):
        every += [path for path in map(Path(at).joinpath, folders) if path.is_symlink()]
        every += map(Path(at).joinpath, names)
    if closed and closed[0][0] == folder:
        raise SchemaError(f"The folder {str(folder)!r} may not be entered ({closed[0][1]}).")
    return in_order(every), closed


def _refuse_several_kinds(files: Files) -> None:
    """Raise if a folder holds tables of several kinds, or tables and single calls."""
    folder, name, glob_able = files.root, files.label.removesuffix("/"), files.keep is None
    kinds = sorted({f.container for f in files.files})
    if kinds == ["eval", "json"]:  # logs of Inspect, in both of its forms
        return
    if len(kinds) > 1:
        listed = "; ".join(f"{k}: {next(f.path.name for f in files.files if f.container == k)}" for k in kinds)
        more = f", or give a glob that takes one kind, such as {_one_kind(files, folder)!r}" if glob_able else ""
        raise SchemaError(
            f"The folder {name!r} mixes kinds of files ({listed}). Pass format= to take the files of one format and "
            f"leave the others{more}.",
            advice=(("format", None),),
        )
    single = [_is_call(f) for f in files.files]
    if any(single) and not all(single) and len(single) > 1:
        odd = files.files[single.index(False)]
        raise SchemaError(
            f"The folder {name!r} holds one judge call per file, but {files.relative(odd)} holds a table. "
            "Give a glob that takes one kind."
        )


def _taken(files: Files, why_left: Callable[[File], str]) -> Files:
    """The files of a folder or glob that are of the format asked for, if any is; the others are unread."""
    files, reasons = files.each(why_left)
    left = {f.path: why for f, why in zip(files.files, reasons, strict=True) if why}
    if not left:
        return files
    taken = tuple(f for f in files.files if f.path not in left)
    unread = (*files.unread, *((files.relative(f), left[f.path]) for f in files.files if f.path in left))
    if not taken:
        return files
    return replace(files, files=taken, unread=unread, calls=all(map(_is_call, taken)))


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def _why_not(path: Path, folder: Path) -> str:
    """Why a file of a folder is not read; empty if it is read."""
    try:
        path.stat()
    except PermissionError as problem:
        return problem.strerror or str(problem)
    except OSError:
        pass  # a broken link
    if _hidden(path, folder):
        return "hidden"
    if path.is_dir():
        return "a link to a folder"
    if not path.is_file():
        return "not a file" if path.exists() else "a broken link"
    if _OF_THE_SYSTEM.fullmatch(path.name):
        return "no table"
    if path.name in _DESCRIPTIONS:
        return "a description of the data set"
    return "" if suffix_of(path.name) in SUFFIXES else "unknown format"


def _one_kind(files: Files, folder: Path) -> str:
    """A glob for files of one kind, as many as possible; the name of a file if suffixes do not separate the kinds."""
    endings = [_ending(f.path.name) for f in reversed(files.files)]
    for ending in sorted(dict.fromkeys(endings), key=endings.count, reverse=True):
        same = [f for f in files.files if f.path.name.endswith(ending)]
        if len({f.container for f in same}) == 1:
            below = "" if all(f.path.parent == folder for f in same) else "**/"
            return f"{glob.escape(str(folder))}/{below}*{ending}"
    return str(files.files[0].path)


def _ending(name: str) -> str:
    """Suffix as written, including that of the compression."""
    return "".join(Path(name).suffixes[-2:] if unpacked_name(name) != name else Path(name).suffixes[-1:])


def is_table(source: Any) -> bool:
    """Whether Narwhals accepts this as a table."""
    try:
        nw.from_native(source)
    except TypeError:
        return False
    except DuplicateError:  # refused where it is opened
        return True
    return True
