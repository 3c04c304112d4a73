"""The folder of a plan: its parts, their digests in ``manifest.json``, and the digests of what was written from it."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib.metadata import version
from itertools import count
from pathlib import Path

import pandas as pd

from judgestats.csv_files import as_csv
from judgestats.design.prompt_templates import Prompt
from judgestats.errors import DesignError, masked
from judgestats.outputs import Outputs, Source, digest, file_digest, write_errors
from judgestats.schema.opening import few
from judgestats.typing import Record

MANIFEST = "manifest.json"
_CALLS, _TEXTS, _PROMPTS, _LATER = PARTS = ("calls.parquet", "texts.jsonl", "prompts.json", "later.parquet")
#: Columns that all calls have.
_NEEDED = ("call", "judge", "item", "prompt", "temperature")
#: In the manifest: digests of the parts, of calls and forms by their names, and of the tables that were written from
#: the plan.
_DIGESTS, _FILES, _WRITTEN = "sha256", "files", "written"
#: In the manifest: digests of the answers to the plan, those that were given last first.
ANSWERS = "answers"
#: Files that are named in an error.
_NAMED = 3


@dataclass(frozen=True)
class PlanParts:
    """What the folder of a plan holds."""

    calls: pd.DataFrame
    texts: Mapping[str, str]
    prompts: Mapping[str, Prompt]
    about: Record = field(default_factory=dict)
    later: pd.DataFrame = field(default_factory=pd.DataFrame)


def _parts(plan: PlanParts) -> Iterator[tuple[str, bytes]]:
    """Name and content of each part."""
    yield _CALLS, plan.calls.to_parquet(index=False)
    lines = (json.dumps({"digest": k, "text": t}, ensure_ascii=False) + "\n" for k, t in plan.texts.items())
    yield _TEXTS, "".join(lines).encode()
    records = [p.record() for p in plan.prompts.values()]
    yield _PROMPTS, (json.dumps(records, indent=1, ensure_ascii=False) + "\n").encode()
    if len(plan.later):
        yield _LATER, plan.later.to_parquet(index=False)


def write_plan(
    plan: PlanParts,
    folder: Path,
    kind: str,
    *,
    overwrite: bool,
    inputs: tuple[Source, ...],
    further: Callable[[Outputs], object] = lambda _: None,
) -> None:
    """Write a plan, `further` files and its manifest, which is last; in the folder of the same plan, what was written
    from it stays known. A file that is there is replaced only if it has the digest in the manifest.
    """
    before = manifest_of(folder)
    same = bool(before) and _has_calls(folder, plan)
    intact = as_written(folder, before)
    with (
        Outputs(
            inputs, overwrite=overwrite, ours=lambda p: same and intact(p), intact=intact, folder=folder
        ) as outputs,
        write_errors(folder),
    ):
        for name, content in _parts(plan):
            with outputs.open(folder / name, "wb") as out:
                out.write(content)
        further(outputs)
        written = outputs.digests()
        if before and not same:
            new = as_written(folder, {_DIGESTS: written})
            _refuse_another(folder, lambda p: intact(p) or new(p), overwrite)
        manifest: Record = {"judgestats": version("judgestats"), "kind": kind, "calls": len(plan.calls)}
        manifest["about"] = _without_secrets(dict(plan.about))
        manifest["prompts"] = {n: p.digest for n, p in plan.prompts.items()}
        manifest[_DIGESTS] = {n: d for n, d in written.items() if n in PARTS}
        manifest[_FILES] = before.get(_FILES, {}) | {n: d for n, d in written.items() if n not in PARTS}
        manifest |= {name: before.get(name, []) if same else [] for name in (_WRITTEN, ANSWERS)}
        with outputs.open(folder / MANIFEST) as out:
            out.write(json.dumps(manifest, indent=1, default=str) + "\n")


def manifest_of(folder: Path) -> Record:
    """The manifest of the plan that a folder has, empty if it has none; a DesignError if it cannot be read."""
    if not os.path.lexists(folder / MANIFEST):
        return {}
    try:
        return read_manifest(folder)
    except DesignError as problem:
        raise DesignError(
            f"{str(folder)!r} has a {MANIFEST} that is no plan's or is damaged, so it is not known what else is in "
            f"there, and nothing is written over. Give a new folder, or move that one away. ({problem})"
        ) from None


def _has_calls(folder: Path, plan: PlanParts) -> bool:
    """Whether the plan in a folder has the same calls, and can be read."""
    try:
        return bool(read_parts(folder).calls["call"].tolist() == plan.calls["call"].tolist())
    except DesignError:
        return False


def as_written(folder: Path, manifest: Record) -> Callable[[Path], bool]:
    """Whether a file in the folder of a plan is as its manifest says: the manifest itself, a part, calls or forms."""
    digests = {**manifest.get(_FILES, {}), **manifest.get(_DIGESTS, {})}
    place = folder.resolve()

    def is_intact(path: Path) -> bool:
        if path.parent != place or not path.is_file():
            return False
        return path.name == MANIFEST if path.name not in digests else file_digest(path) == digests[path.name]

    return is_intact


def _refuse_another(folder: Path, replaceable: Callable[[Path], bool], overwrite: bool) -> None:
    """Refuse to write over another plan, with `overwrite` too where there is more in its folder than was written."""
    files = (Path(place, name) for place, _, names in os.walk(folder.resolve()) for name in names)
    if foreign := sorted(
        str(p.relative_to(folder.resolve())) for p in files if p.name[0] != "." and not replaceable(p)
    ):
        raise DesignError(
            f"{str(folder)!r} holds another plan, with later stages, answers or files that were changed, and it is "
            f"never written over: {few(map(repr, foreign), _NAMED)}. Give a new folder, or move these files away."
        )
    if not overwrite:
        raise DesignError(
            f"{str(folder)!r} holds another plan. Give a new folder, or pass overwrite=True.",
            advice=(("overwrite", True),),
        )


def _without_secrets(value: object) -> object:
    """What a manifest says, without passwords and tokens in it, and in what is named as one."""
    if isinstance(value, Mapping):
        secret = {k: masked(f"{k}=x") != f"{k}=x" for k in value}
        return {k: "***" if secret[k] else _without_secrets(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(v) for v in value]
    return value if value is None or isinstance(value, bool | int | float) else masked(str(value))


def read_manifest(folder: Path) -> Record:
    """The manifest of a plan; DesignError where there is none."""
    try:
        manifest: Record = json.loads(_content(folder, MANIFEST))
        if not all(
            isinstance(d, dict) for d in (manifest["about"], *(manifest.get(n, {}) for n in (_DIGESTS, _FILES)))
        ):
            raise TypeError("its manifest has no digests by name")
        if strange := [n for n in manifest.get(_FILES, {}) if Path(n).name != n or "\0" in n]:
            raise TypeError(f"{strange[0]!r} in its manifest is no name of a file")
        for name in (_WRITTEN, ANSWERS):
            if not isinstance(manifest.get(name, []), list):
                raise TypeError(f"{name!r} in its manifest is no list")
    except (OSError, KeyError, ValueError, TypeError, RecursionError) as problem:
        if isinstance(problem, FileNotFoundError) and any((folder / name).exists() for name in PARTS):
            raise DesignError(
                f"{str(folder)!r} holds an unfinished plan: writing it was interrupted before {MANIFEST}. Plan it once "
                "more, into a new folder, and remove this one."
            ) from None
        raise DesignError(f"{str(folder)!r} holds no plan ({problem}). `judgestats plan` writes one.") from None
    return manifest


def read_parts(folder: Path, trust: bool = False) -> PlanParts:
    """The parts of a plan; digests must fit, or be trusted."""
    manifest = read_manifest(folder)
    digests = manifest.get(_DIGESTS, {})
    if foreign := [name for name in digests if name not in PARTS]:
        raise DesignError(f"{str(folder)!r}: its manifest names {foreign[0]!r}, which is no part of a plan.")
    try:
        names = [n for n in PARTS if n != _LATER or n in digests or (trust and (folder / n).exists())]
        for name in names:
            if not trust and digests.get(name) != digest(_content(folder, name)):
                raise DesignError(
                    f"{str(folder / name)!r} was changed after the plan was written, or has no digest in its "
                    "manifest. Plan it once more, or say that you trust it: trust=True.",
                    advice=(("trust", True),),
                )
        lines = _content(folder, _TEXTS).decode().split("\n")
        texts = {r["digest"]: r["text"] for r in map(json.loads, filter(None, lines))}
        prompts = [Prompt(**r) for r in json.loads(_content(folder, _PROMPTS))]
        calls = pd.read_parquet(regular_file(folder, _CALLS))
        later = pd.read_parquet(regular_file(folder, _LATER)) if _LATER in names else pd.DataFrame()
        for table in (calls, later):
            if unknown := {*table.get("prompt", ())} - {p.name for p in prompts}:
                raise ValueError(f"its calls name the prompt {min(map(str, unknown))!r}, which is not there")
            if len(table) and (lacking := [c for c in _NEEDED if c not in table]):
                raise ValueError(f"its calls have no column {lacking[0]!r}")
    except (OSError, KeyError, ValueError, TypeError, RecursionError) as problem:
        raise DesignError(f"{str(folder)!r} holds no plan ({problem}). `judgestats plan` writes one.") from None
    return PlanParts(calls, texts, {p.name: p for p in prompts}, manifest["about"], later)


def regular_file(folder: Path, name: str) -> Path:
    """The path of a part, which is a file in the folder itself: no link, pipe or device."""
    path = folder / name
    if not stat.S_ISREG(path.lstat().st_mode):
        raise DesignError(f"{str(path)!r} is a link or no regular file, and a plan is read from its own folder only.")
    return path


def inner_folders(folder: Path, pattern: str) -> list[Path]:
    """The folders in that of a plan whose names fit a pattern; one that lies elsewhere is refused."""
    names = sorted(os.listdir(folder)) if folder.is_dir() else ()
    inside = [folder / name for name in names if name[0] != "." and fnmatchcase(name, pattern)]
    for path in inside:
        if path.resolve() != folder.resolve() / path.name:
            raise DesignError(f"{str(path)!r} is a link, and a plan is read from its own folder only. Remove it.")
    return [path for path in inside if path.is_dir()]


def stage_folders(folder: Path) -> list[Path]:
    """The folders of later stages in that of a plan: stage2, stage2-2, stage3, ..."""
    stages = [path for path in inner_folders(folder, "stage*") if os.path.lexists(path / MANIFEST)]
    return sorted(stages, key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)])


def free_folder(folder: Path, name: str) -> Path:
    """The first of NAME, NAME-2, NAME-3, ... that is not in the folder of a plan, not even as a link."""
    names = (folder / (f"{name}-{i}" if i > 1 else name) for i in count(1))
    return next(path for path in names if not os.path.lexists(path))


def _content(folder: Path, name: str) -> bytes:
    return regular_file(folder, name).read_bytes()


def write_tables(tables: Mapping[Path, pd.DataFrame], folder: Path, outputs: Outputs) -> None:
    """Write collected tables as CSV, all or none, and first their digests into the manifest of their plan, so that an
    interruption leaves both known; where a plan cannot be written to, its tables are replaced only if overwrite=True.
    """
    contents: dict[Path, bytes] = {}
    for path, table in tables.items():
        with write_errors(path):
            contents[path] = as_csv(table).encode()
    written = read_manifest(folder).get(_WRITTEN, [])
    note(folder, **{_WRITTEN: [*written, *(d for d in map(digest, contents.values()) if d not in written)]})
    with outputs:
        for path, content in contents.items():
            with outputs.open(path, "wb") as out:
                out.write(content)


def note(folder: Path, **entries: object) -> None:
    """Renew entries of the manifest of a plan, where it can be written."""
    manifest = read_manifest(folder)
    if (renewed := {**manifest, **entries}) != manifest:
        with suppress(DesignError), Outputs(ours=lambda _: True) as own, own.open(folder / MANIFEST) as out:
            out.write(json.dumps(renewed, indent=1) + "\n")


def note_files(folder: Path, digests: Mapping[str, str]) -> None:
    """Note calls and forms that were written into the folder of a plan, with their digests."""
    note(folder, **{_FILES: {**read_manifest(folder).get(_FILES, {}), **digests}})


def verdict_outputs(folder: Path, inputs: Iterable[Source], overwrite: bool) -> Outputs:
    """Where verdicts of a plan may go: not over `inputs`, nor over a table that was changed since it was written."""
    written = read_manifest(folder).get(_WRITTEN, [])
    return Outputs(inputs, overwrite=overwrite, ours=lambda path: file_digest(path) in written)


def plan_files(folder: Path) -> list[Path]:
    """The files of a plan and of its stages, whether they are there or not."""
    places = (folder, *stage_folders(folder))
    return [p / name for p in places for name in (MANIFEST, *PARTS, *manifest_of(p).get(_FILES, ()))]
