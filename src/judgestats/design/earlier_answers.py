"""Answers that a plan was given before: copies in its folder, which `collect` reads again wherever the files went."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from judgestats.design.plan_files import ANSWERS, inner_folders, note, read_manifest, regular_file
from judgestats.errors import DesignError
from judgestats.outputs import Outputs, file_digest

#: The folder of the copies, each in a folder that is named after the digest of its content.
_FOLDER = "collected"
_DIGITS = 16
_DIGEST = re.compile(r"[0-9a-f]{16}")


def earlier_answers(folder: Path, files: Sequence[Path], trust: bool = False) -> list[Path]:
    """The copies of answers, those that were given last first, without those that are contained in newer `files`."""
    order = read_manifest(folder).get(ANSWERS, [])
    if (outside := [f for f in order if not _DIGEST.fullmatch(str(f))]) and not trust:
        paths = {os.path.abspath(f) for f in files}
        if lost := [f for f in outside if os.path.normpath(folder.absolute() / str(f)) not in paths]:
            raise DesignError(
                f"{str(folder)!r}: its manifest names answers in {str(lost[0])!r}, outside its folder, where nothing "
                "is opened that you do not name. Name all answers once more; trust=True goes on without these.",
                advice=(("trust", True),),
            )
    copies = _copies(folder, trust)
    newest_first = sorted(copies, key=lambda name: order.index(name) if name in order else -1)
    newer = list(files)
    for name in newest_first:
        if not any(_begins_with(file, copies[name]) for file in newer):
            newer.append(copies[name])
    return newer[len(files) :]


def keep_answers(folder: Path, files: Iterable[Path]) -> bool:
    """Copy files of answers into the folder of their plan; false where it cannot be written to."""
    if not os.access(folder, os.W_OK):
        return False
    copies = _copies(folder, trust=True)
    digests: list[str] = []
    for file in files:
        name = file_digest(file)[:_DIGITS]
        digests.append(name)
        if name not in copies:
            place = folder / _FOLDER / name
            try:
                with (
                    Outputs(folder=place) as outputs,
                    outputs.open(place / file.name, "wb") as out,
                    file.open("rb") as raw,
                ):
                    shutil.copyfileobj(raw, out)
            except DesignError:
                if not place.is_dir():  # otherwise another process has just written it
                    raise
    before = [f for f in read_manifest(folder).get(ANSWERS, []) if _DIGEST.fullmatch(str(f))]
    note(folder, **{ANSWERS: list(dict.fromkeys([*digests, *before]))})
    return True


def _copies(folder: Path, trust: bool) -> dict[str, Path]:
    """The copy of each content, by the beginning of its digest."""
    copies: dict[str, Path] = {}
    for place in (
        p for top in inner_folders(folder, _FOLDER) for p in inner_folders(top, "*") if _DIGEST.fullmatch(p.name)
    ):
        for path in place.iterdir():  # one that was removed was taken back
            copy = regular_file(place, path.name)
            if file_digest(copy)[:_DIGITS] != place.name and not trust:
                raise DesignError(
                    f"{str(copy)!r} was changed since these answers were given. Put it back, or remove it and give "
                    "them once more; trust=True reads it as it is.",
                    advice=(("trust", True),),
                )
            copies[place.name] = copy
    return copies


def _begins_with(file: Path, copy: Path) -> bool:
    """Whether a file has all that is in a copy, and perhaps more after it."""
    size = copy.stat().st_size
    with suppress(OSError), file.open("rb") as one, copy.open("rb") as two:
        return os.fstat(one.fileno()).st_size >= size and one.read(size) == two.read()
    return False
