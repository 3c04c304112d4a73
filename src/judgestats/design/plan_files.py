"""The folder of a plan: its parts, their digests in ``manifest.json``, and the digests of what was written from it."""

from __future__ import annotations

import glob
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from judgestats.csv_files import as_csv, has_answers
from judgestats.design.prompt_templates import Prompt
from judgestats.errors import DesignError, masked
from judgestats.outputs import Outputs, Source, digest, write_errors
from judgestats.typing import Record

if TYPE_CHECKING:
    from judgestats.design.plans import Plan

MANIFEST = "manifest.json"
_CALLS, _TEXTS, _PROMPTS, _LATER = PARTS = ("calls.parquet", "texts.jsonl", "prompts.json", "later.parquet")
#: Columns that all calls have.
_NEEDED = ("call", "judge", "item", "prompt", "temperature")
#: In the manifest: digests of the parts, and of the tables that were written from the plan; files of answers to it.
_DIGESTS, _WRITTEN, _ANSWERS = "sha256", "written", "answers"


def _parts(plan: Plan) -> Iterator[tuple[str, bytes]]:
    """Name and content of each part."""
    yield _CALLS, plan.calls.to_parquet(index=False)
    lines = (json.dumps({"digest": k, "text": t}, ensure_ascii=False) + "\n" for k, t in plan.texts.items())
    yield _TEXTS, "".join(lines).encode()
    records = [p.record() for p in plan.prompts.values()]
    yield _PROMPTS, (json.dumps(records, indent=1, ensure_ascii=False) + "\n").encode()
    if len(plan.later):
        yield _LATER, plan.later.to_parquet(index=False)


def write_plan(
    plan: Plan,
    folder: Path,
    *,
    overwrite: bool,
    inputs: tuple[Source, ...],
    further: Callable[[Outputs], object] = lambda _: None,
) -> None:
    """Write a plan, `further` files and its manifest, which is last; in the folder of the same plan, what was written
    from it stays known.
    """
    before: Record = {}
    if (folder / MANIFEST).exists():
        try:
            same = read_parts(folder)[0]["call"].tolist() == plan.calls["call"].tolist()
            before = read_manifest(folder) if same else {}
        except DesignError:
            same = False
        if not same and any((*folder.glob(f"stage*/{MANIFEST}"), *filter(has_answers, _tables(folder)))):
            raise DesignError(
                f"{str(folder)!r} holds another plan, with later stages or with answers in it, and it is never written "
                "over. Give a new folder, or move that one away."
            )
        if not same and not overwrite:
            raise DesignError(
                f"{str(folder)!r} holds another plan. Give a new folder, or pass overwrite=True.",
                advice=(("overwrite", True),),
            )
    digests = before.get(_DIGESTS, {})

    def ours(path: Path) -> bool:
        return bool(before) and (path.name == MANIFEST or digest(path.read_bytes()) == digests.get(path.name))

    with Outputs(inputs, overwrite=overwrite, ours=ours, folder=folder) as outputs, write_errors(folder):
        written = {}
        for name, content in _parts(plan):
            with outputs.open(folder / name, "wb") as out:
                out.write(content)
            written[name] = digest(content)
        further(outputs)
        manifest: Record = {"judgestats": version("judgestats"), "kind": plan.kind, "calls": len(plan)}
        manifest["about"] = _without_secrets(dict(plan.about))
        manifest["prompts"] = {n: p.digest for n, p in plan.prompts.items()}
        manifest |= {_DIGESTS: written, _WRITTEN: before.get(_WRITTEN, []), _ANSWERS: before.get(_ANSWERS, [])}
        with outputs.open(folder / MANIFEST) as out:
            out.write(json.dumps(manifest, indent=1, default=str) + "\n")


def _tables(folder: Path) -> Iterator[Path]:
    """Files in a folder in which answers may be filled in."""
    return (path for path in folder.iterdir() if path.suffix.lower() in (".csv", ".jsonl") and path.is_file())


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
        if not isinstance(manifest["about"], dict) or not isinstance(manifest.get(_DIGESTS, {}), dict):
            raise TypeError("its manifest has no digests by name")
        for name in (_WRITTEN, _ANSWERS):
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


def read_parts(
    folder: Path, trust: bool = False
) -> tuple[pd.DataFrame, dict[str, str], list[Prompt], Record, pd.DataFrame]:
    """Calls, texts, prompts, what the manifest says about them, and later calls; digests must fit, or be trusted."""
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
        calls = pd.read_parquet(_regular(folder, _CALLS))
        later = pd.read_parquet(_regular(folder, _LATER)) if _LATER in names else pd.DataFrame()
        for table in (calls, later):
            if unknown := {*table.get("prompt", ())} - {p.name for p in prompts}:
                raise ValueError(f"its calls name the prompt {min(map(str, unknown))!r}, which is not there")
            if len(table) and (lacking := [c for c in _NEEDED if c not in table]):
                raise ValueError(f"its calls have no column {lacking[0]!r}")
    except (OSError, KeyError, ValueError, TypeError, RecursionError) as problem:
        raise DesignError(f"{str(folder)!r} holds no plan ({problem}). `judgestats plan` writes one.") from None
    return calls, texts, prompts, manifest["about"], later


def _regular(folder: Path, name: str) -> Path:
    """The path of a part, which is a file in the folder itself: no link, pipe or device."""
    path = folder / name
    if not stat.S_ISREG(path.lstat().st_mode):
        raise DesignError(f"{str(path)!r} is a link or no regular file, and a plan is read from its own folder only.")
    return path


def _content(folder: Path, name: str) -> bytes:
    return _regular(folder, name).read_bytes()


def write_verdicts(data: pd.DataFrame, path: Path, folder: Path, outputs: Outputs) -> None:
    """Write collected verdicts as CSV, and first their digest into the manifest of their plan, so that an interruption
    leaves both known; where a plan cannot be written to, its tables are replaced only if overwrite=True.
    """
    with write_errors(path):
        content = as_csv(data).encode()
    _note(folder, _WRITTEN, [digest(content)])
    with outputs, outputs.open(path, "wb") as out:
        out.write(content)


def _note(folder: Path, name: str, values: Iterable[str]) -> None:
    """Add values to a list in the manifest of a plan, where it can be written."""
    manifest = read_manifest(folder)
    noted = manifest.setdefault(name, [])
    if new := [v for v in values if v not in noted]:
        noted += new
        with suppress(DesignError), Outputs(ours=lambda _: True) as own, own.open(folder / MANIFEST) as out:
            out.write(json.dumps(manifest, indent=1) + "\n")


def all_answers(folder: Path, sources: Sequence[str]) -> list[str]:
    """These files, globs and folders of answers, then those from before that are still there, each file once."""
    before = [os.path.normpath(folder.absolute() / str(f)) for f in read_manifest(folder).get(_ANSWERS, [])]
    new = [p for s in sources for p in (glob.has_magic(s) and not Path(s).exists() and sorted(glob.glob(s))) or [s]]
    return list(dict.fromkeys([*map(os.path.abspath, new), *filter(os.path.exists, before)]))


def note_answers(folder: Path, files: Iterable[str]) -> None:
    """Note files of answers in the manifest of their plan, as seen from it; they are then read each time."""
    drive = folder.absolute().drive
    _note(folder, _ANSWERS, [os.path.relpath(f, folder) if Path(f).drive == drive else f for f in files])


def verdict_outputs(folder: Path, inputs: Iterable[Source], overwrite: bool) -> Outputs:
    """Where verdicts of a plan may go: not over `inputs`, nor over a table that was changed since it was written."""
    written = read_manifest(folder).get(_WRITTEN, [])
    return Outputs(inputs, overwrite=overwrite, ours=lambda path: digest(path.read_bytes()) in written)


def plan_files(folder: Path) -> list[Path]:
    """The files of a plan and of its stages, whether they are there or not."""
    return [path / name for path in (folder, *folder.glob("stage*")) for name in (MANIFEST, *PARTS)]
