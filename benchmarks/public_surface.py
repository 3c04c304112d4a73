"""Write docs/public_surface.txt: all that programs of other people may rely on, one fact a line.

python benchmarks/public_surface.py             # anew: what differs from the last release is marked + or -
python benchmarks/public_surface.py --release   # at a release: this is the surface that later ones are compared with
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
sys.path += [str(ROOT / "docs" / "site"), str(ROOT / "benchmarks")]

import griffe
import site_reference
import typer

from judgestats import cli
from judgestats.flags import FLAGS
from judgestats.ingest.registry import GROUP, formats
from judgestats.schema.findings import CHECK_COLUMNS

PAGE = ROOT / "docs" / "public_surface.txt"
CHANGELOG = ROOT / "CHANGELOG.md"
SOURCE = ROOT / "src" / "judgestats"
HEAD = """\
# What programs may rely on (docs/stability.md), one fact a line: kind | where | name | value.
# Written by benchmarks/public_surface.py. Before a fact: + new since the last release, - gone since then.
"""


class Fact(NamedTuple):
    """One thing that somebody may rely on."""

    kind: str
    where: str
    name: str
    value: str = ""

    def __str__(self) -> str:
        return " | ".join(self).rstrip(" |")


def read_fact(line: str) -> Fact:
    """A fact from its line."""
    kind, where, name, value = (part.strip() for part in f"{line} |  |  | ".split(" | ", 3))
    return Fact(kind, where, name, value.rstrip(" |"))


def surface(columns: Mapping[str, Iterable[str]]) -> set[Fact]:
    """All facts; `columns` of results by name, see :func:`columns_of_results`."""
    facts = {*of_python(), *of_commands(), *of_package(), *of_codes()}
    return facts | {Fact("column", name, str(c)) for name, listed in columns.items() for c in listed}


def columns_of_results() -> dict[str, list[str]]:
    """Columns of the result of every measure, of fits and of other tables, from running their examples."""
    from same_results import of_measures, of_models, of_tables

    listed = {name: list(table) for part in (of_measures(), of_models(), of_tables()) for name, table in part}
    return {
        name.replace(" | ", ", "): columns
        for name, columns in listed.items()
        if columns != ["error", "message"] and "damaged" not in name
    }


@cache
def package() -> griffe.Module:
    """The source as griffe reads it."""
    loaded = griffe.load("judgestats", search_paths=[SOURCE.parent])
    assert isinstance(loaded, griffe.Module)
    return loaded


def of_python() -> Iterator[Fact]:
    """Names of every public module, parameters with their defaults, methods and attributes of classes."""
    for full, thing in site_reference.public().items():
        where, _, name = full.rpartition(".")
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            yield Fact("data", where, name)
            continue
        inner = inspect.unwrap(thing)
        source = package()[f"{inner.__module__}.{inner.__qualname__}".removeprefix("judgestats.")]
        yield from of_object(where, name, source)


def of_object(where: str, name: str, source: griffe.Object | griffe.Alias) -> Iterator[Fact]:
    """A function with its parameters, or a class with its public members."""
    kind = source.kind.value
    yield Fact(kind, where, name)
    full = f"{where}.{name}"
    if kind == "function":
        for p in source.parameters:
            if p.name not in ("self", "cls"):
                yield Fact("parameter", full, p.name, default(p, source))
    elif kind == "class":
        if "dataclass" in source.labels or "__init__" in source.all_members:
            yield from (
                Fact("parameter", full, p.name, default(p, source)) for p in source.parameters if p.name != "self"
            )
        for member, inside in source.all_members.items():
            if not member.startswith("_"):
                yield from of_object(full, member, inside)


def default(parameter: griffe.Parameter, source: griffe.Object | griffe.Alias) -> str:
    """How a parameter is passed, and its default; a constant of the package as its value."""
    passed = "" if parameter.kind is None else parameter.kind.value.replace("positional or keyword", "")
    text = "" if parameter.default is None or "variadic" in passed else str(parameter.default)
    if text.isidentifier() and text not in ("None", "True", "False"):
        module = importlib.import_module(source.module.path)
        constant = getattr(module, text, text)
        text = text if callable(constant) else repr(constant)
    return " ".join(filter(None, [f"= {text}" if text else "", f"({passed})" if passed else ""]))


def of_commands() -> Iterator[Fact]:
    """Commands, their arguments and options with defaults, and exit codes."""
    group: Any = typer.main.get_command(cli.app)
    for name, command in {"": group, **group.commands}.items():
        full = f"judgestats {name}".strip()
        yield Fact("command", "", full)
        for p in command.params:
            if p.name == "help" or getattr(p, "hidden", False):
                continue
            value = "" if p.default in (None, False, "", (), []) or callable(p.default) else f"= {p.default}"
            if p.param_type_name == "argument":
                called = (p.metavar or p.name.upper()).replace(" | ", "|")
                yield Fact("argument", full, called, "required" if p.required else value)
            else:
                takes = "" if getattr(p, "is_flag", False) else str(p.metavar or "")
                yield Fact("option", full, ", ".join([*p.opts, *p.secondary_opts]), f"{takes} {value}".strip())
    yield from (Fact("exit code", "judgestats", code.name.lower(), str(int(code))) for code in cli.ExitCode)


def of_package() -> Iterator[Fact]:
    """What an installer and other packages see: scripts, extras, groups of entry points, versions of Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    yield from (Fact("entry point", "console_scripts", name, to) for name, to in project["scripts"].items())
    yield Fact("entry point", GROUP, "")
    yield from (Fact("extra", "judgestats", name) for name in project["optional-dependencies"])
    yield Fact("requires", "", "Python", project["requires-python"])


def of_codes() -> Iterator[Fact]:
    """Codes of flags, of formats and of errors, and levels of ``check``."""
    yield from (Fact("flag", flag.severity, flag.code) for flag in FLAGS.values())
    yield from (Fact("format", "", name) for name in formats()["name"])
    yield from (Fact("column", "check", name) for name in CHECK_COLUMNS)
    for path in SOURCE.rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            if call.func.id == "Finding" and call.args and isinstance(call.args[0], ast.Constant):
                yield Fact("level", "check", str(call.args[0].value))
            if call.func.id.endswith("Error"):
                yield from (
                    Fact("reason", call.func.id, value(k.value, path)) for k in call.keywords if k.arg == "reason"
                )


def value(node: ast.expr, path: Path) -> str:
    """Value of a constant, or of its name in a module."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    return str(getattr(importlib.import_module(module), ast.unparse(node)))


def parts(page: str) -> tuple[set[Fact], set[Fact], set[Fact]]:
    """What the file says: facts as before, new and gone since the last release."""
    lines = [line for line in page.splitlines() if line and not line.startswith("#")]
    by_mark = [{read_fact(line[2:]) for line in lines if line[0] == mark} for mark in " +-"]
    return by_mark[0], by_mark[1], by_mark[2]


def page(now: set[Fact], released: set[Fact]) -> str:
    """The file: facts in order, with what changed since the release."""
    marks = dict.fromkeys(now & released, " ") | dict.fromkeys(now - released, "+") | dict.fromkeys(released - now, "-")
    return HEAD + "".join(f"{marks[fact]} {fact}\n" for fact in sorted(marks, key=lambda f: (f, marks[f])))


def changes(before: set[Fact], now: set[Fact]) -> list[str]:
    """What came and what went, as lines with + and -, in the order of the file."""
    marked = [("+", fact) for fact in now - before] + [("-", fact) for fact in before - now]
    return [f"{mark} {fact}" for mark, fact in sorted(marked, key=lambda m: (m[1], m[0]))]


def unannounced(added: set[Fact], gone: set[Fact], changelog: str) -> list[str]:
    """Changes that no line of the newest section of the changelog names, as lines with + and -.

    A line names a change if what stands between backticks has its name and the last part of where it is. A name alone
    is enough where the same changed in more than three places; what belongs to a name that is itself new or gone
    follows from that.
    """
    section = re.split(r"(?m)^## ", changelog)[1]
    bullets = [" ".join(re.findall(r"`([^`]*)`", b)) for b in re.split(r"(?m)^(?:- |$)", section)]
    changed = [("+", f) for f in added] + [("-", f) for f in gone]
    owners = {
        f"{f.where}.{f.name}".strip(".") for _, f in changed if f.kind in ("function", "class", "command", "data")
    }
    often = Counter((mark, f.kind, f.name, f.value) for mark, f in changed)
    missing = []
    for mark, fact in changed:
        owner = fact.where.partition(",")[0]
        if any(owner == o or owner.startswith(f"{o}.") or owner == o.rpartition(".")[2] for o in owners):
            continue
        words = re.findall(r"[\w-]+", fact.name)[:1] or [fact.where]
        if fact.kind == "exit code":
            words = [fact.value]
        elif (
            fact.kind in ("parameter", "column", "option", "argument")
            and often[mark, fact.kind, fact.name, fact.value] <= 3
        ):
            words.append(re.findall(r"[\w-]+", fact.where)[-1])
        if not any(all(re.search(rf"(?<![\w-]){re.escape(w)}(?![\w-])", b) for w in words) for b in bullets):
            missing.append(f"{mark} {fact}")
    return sorted(missing, key=lambda line: line[2:])


def main() -> int:
    """Write the file, and say what the changelog does not name yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", action="store_true", help="compare with this surface from now on")
    options = parser.parse_args()
    now = surface(columns_of_results())
    same, _, gone = parts(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else (now, set(), set())
    released = now if options.release else same | gone
    PAGE.write_text(page(now, released), encoding="utf-8")
    missing = unannounced(now - released, released - now, CHANGELOG.read_text(encoding="utf-8"))
    print(f"{len(now)} facts in {PAGE.relative_to(ROOT)}; {len(now ^ released)} changed since the last release")
    if missing:
        print("No line of CHANGELOG.md names:", *missing, sep="\n")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
