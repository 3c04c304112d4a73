"""Count in src and tests the exceptions to the conventions of CONTRIBUTING.md; the numbers stored may only fall.

python benchmarks/conventions.py         # lower the stored numbers to those of today
python benchmarks/conventions.py -v      # list the places
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
STORED = ROOT / "tests" / "conventions.json"
SURFACE = ROOT / "docs" / "public_surface.txt"
#: Names that say a tense and not a content.
PARTICIPLES = ("found", "known", "here", "kept", "made", "given", "shown", "named", "drawn", "asked")
#: Most parameters of a function, and most modules of a package with a private function of one name.
MOST_PARAMETERS, MOST_MODULES = 8, 3
#: Comments and annotations that are counted by line.
LINES = {"banner": r"\s*# -{4,}", "line with Any": r".*\bAny\b", "fmt: skip": r".*# fmt: (skip|off)"}
KINDS = (
    *PARTICIPLES,
    *LINES,
    "many parameters",
    "many parameters inside",
    "private name in many modules",
    "name of several files",
    "name of several classes",
)


def names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Names that a module assigns or takes as parameters, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


@cache
def public() -> frozenset[str]:
    """Names of the functions, methods and commands whose parameters programs of other people rely on."""
    places = re.findall(r"^. (?:parameter|option) \| (.+?) \|", SURFACE.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset(re.split(r"[ .]", place)[-1] for place in places)


def places(source: Path, tests: Path) -> dict[str, list[str]]:
    """Each kind -> the places where it stands."""
    result: dict[str, list[str]] = {kind: [] for kind in KINDS}
    modules: dict[tuple[str, str], set[str]] = defaultdict(set)
    classes: dict[str, list[str]] = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        text, name = path.read_text(encoding="utf-8"), path.relative_to(source).as_posix()
        tree = ast.parse(text)
        for assigned, line in names(tree):
            if assigned in PARTICIPLES:
                result[assigned].append(f"{name}:{line}")
        for kind, pattern in LINES.items():
            result[kind] += [f"{name}:{i}" for i, t in enumerate(text.splitlines(), 1) if re.match(pattern, t)]
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append(f"{name}:{node.lineno}")
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                if len(parameters) > MOST_PARAMETERS and not name.startswith("kernels/"):
                    result["many parameters"].append(f"{name}:{node.lineno} {node.name}")
                    if node.name not in public():
                        result["many parameters inside"].append(f"{name}:{node.lineno} {node.name}")
                if re.match(r"_[^_]", node.name):
                    modules[name.partition("/")[0], node.name].add(name)
    for (package, private), files in sorted(modules.items()):
        if len(files) > MOST_MODULES:
            result["private name in many modules"].append(f"{package}: {private} in {', '.join(sorted(files))}")
    several_classes = {name: files for name, files in sorted(classes.items()) if len(files) > 1}
    result["name of several classes"] = [f"{name}: {', '.join(files)}" for name, files in several_classes.items()]
    for root, pattern in ((source, "*.py"), (tests, "test_*.py")):
        by_stem: dict[str, list[str]] = defaultdict(list)
        for path in sorted(root.rglob(pattern)):
            by_stem[path.stem].append(path.relative_to(root).as_posix())
        several = {stem: files for stem, files in by_stem.items() if len(files) > 1 and stem != "__init__"}
        result["name of several files"] += [f"{stem}: {', '.join(files)}" for stem, files in several.items()]
    return result


@cache
def today() -> dict[str, list[str]]:
    """The places in this checkout."""
    return places(ROOT / "src" / "judgestats", ROOT / "tests")


def stored() -> dict[str, int]:
    """The numbers that must not be exceeded."""
    numbers: dict[str, int] = json.loads(STORED.read_text(encoding="utf-8"))
    return numbers


if __name__ == "__main__":
    before = stored()
    lower = {kind: min(len(where), before.get(kind, len(where))) for kind, where in today().items()}
    STORED.write_text(json.dumps(lower, indent=1) + "\n", encoding="utf-8")
    for kind, where in today().items():
        print(f"{kind}: {len(where)} (stored: {lower[kind]})", *(where if "-v" in sys.argv else ()), sep="\n  ")
