"""Calls of public functions with small data, as the tests make them, kept so that each flag and each method is met.

python benchmarks/recorded_calls.py tests/metrics/test_scales.py   # run these tests, keep what shows more than is met

`benchmarks/same_results.py` makes the calls again. The data are kept with them: a test may change, a call does not.
"""

from __future__ import annotations

import functools
import gzip
import inspect
import json
import pkgutil
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import judgestats
from judgestats.flags import flag_codes

STORED = Path(__file__).parent / "recorded_calls.json.gz"
#: Calls are kept up to so many characters, and seconds.
LONGEST, SLOWEST = 200_000, 5.0
#: Packages with public functions.
PACKAGES = ("", "models", "models.hierarchical", "design", "published")


class Unrecordable(TypeError):
    """An argument that is no plain value, no table and no result of a recorded call."""


def encoded(value: Any, made: dict[int, tuple[Any, Any]]) -> Any:
    """An argument as JSON has it; `made`: results of earlier calls, by their id."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.generic):
        return encoded(value.item(), made)
    if isinstance(value, pd.DataFrame):
        if list(value.columns) != [c for c in value.columns if isinstance(c, str)] or value.columns.has_duplicates:
            raise Unrecordable("columns")
        columns = [[c, *encoded_column(value[c], made)] for c in value.columns]
        index = None if isinstance(value.index, pd.RangeIndex) else encoded_column(value.index.to_series(), made)
        return {"table": columns, "index": index, "rows": len(value)}
    if isinstance(value, pd.Series):
        return {"column": encoded_column(value, made), "name": encoded(value.name, made)}
    if isinstance(value, np.ndarray):
        return {"array": encoded(value.tolist(), made), "dtype": str(value.dtype)}
    if type(value) in (list, tuple, set, frozenset):
        parts = [encoded(v, made) for v in (sorted(value) if type(value) in (set, frozenset) else value)]
        return parts if type(value) is list else {type(value).__name__: parts}
    if type(value) is dict:
        return {"dict": [[encoded(k, made), encoded(v, made)] for k, v in value.items()]}
    if id(value) in made and made[id(value)][0] is value:
        return {"call": made[id(value)][1]}
    raise Unrecordable(type(value).__name__)


def encoded_column(column: pd.Series[Any], made: dict[int, tuple[Any, Any]]) -> tuple[Any, Any]:
    """The type of a column, and its cells."""
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        categories = encoded(dtype.categories.tolist(), made)
        return {"categories": categories, "ordered": bool(dtype.ordered)}, column.cat.codes.tolist()
    if dtype.kind not in "biufO":
        raise Unrecordable(str(dtype))
    missing = {"NA": pd.NA, "NaT": pd.NaT}
    cells = [next(({"missing": k} for k, m in missing.items() if v is m), None) or v for v in column.tolist()]
    return str(dtype), [v if type(v) is dict and "missing" in v else encoded(v, made) for v in cells]


def decoded(value: Any, results: dict[str, Any]) -> Any:
    """The argument of what :func:`encoded` gave; `results`: those of calls, by their text."""
    if isinstance(value, list):
        return [decoded(v, results) for v in value]
    if not isinstance(value, dict):
        return value
    if "table" in value:
        index = None if value["index"] is None else pd.Index(decoded_column(*value["index"], results))
        columns = {name: decoded_column(dtype, cells, results) for name, dtype, cells in value["table"]}
        table = pd.DataFrame(columns, index=range(value["rows"]))
        return table if index is None else table.set_axis(index)
    if "column" in value:
        return decoded_column(*value["column"], results).rename(decoded(value["name"], results))
    if "array" in value:
        return np.array(value["array"], dtype=value["dtype"])
    if "dict" in value:
        return {decoded(k, results): decoded(v, results) for k, v in value["dict"]}
    if "call" in value:
        return result_of(value["call"], results)
    if "missing" in value:
        return {"NA": pd.NA, "NaT": pd.NaT}[value["missing"]]
    ((kind, parts),) = value.items()
    return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](decoded(parts, results))


def decoded_column(dtype: Any, cells: list[Any], results: dict[str, Any]) -> pd.Series[Any]:
    """A column of its type and its cells."""
    if isinstance(dtype, dict):
        categories = pd.Index(decoded(dtype["categories"], results))
        return pd.Series(pd.Categorical.from_codes(cells, categories, ordered=dtype["ordered"]))
    return pd.Series([decoded(v, results) for v in cells], dtype=dtype)


def result_of(call: list[Any], results: dict[str, Any]) -> Any:
    """The result of a call: name, positional and named arguments. A name that begins with a dot is a method."""
    text = json.dumps(call)
    if text not in results:
        name, arguments, named = call
        arguments = [decoded(v, results) for v in arguments]
        named = {k: decoded(v, results) for k, v in named.items()}
        function = getattr(type(arguments[0]), name[1:]) if name.startswith(".") else public(name)
        results[text] = function(*arguments, **named)
    return results[text]


def public(name: str) -> Callable[..., Any]:
    """A public function by its name, of ``judgestats`` or of one of its packages."""
    package, _, function = name.rpartition(".")
    return getattr(import_module(f"judgestats.{package}".rstrip(".")), function)


def table_of(result: Any) -> pd.DataFrame | None:
    """A result that is a table, or that has some: with a column that names them."""
    if isinstance(result, pd.DataFrame):
        return result
    if hasattr(result, "to_frame") and not isinstance(result, pd.Series):
        return result.to_frame()
    fields = {name: value for name, value in getattr(result, "__dict__", {}).items() if not name.startswith("_")}
    tables = {name: value for name, value in fields.items() if isinstance(value, pd.DataFrame) and len(value)}
    return pd.concat([t.assign(table=name) for name, t in tables.items()], ignore_index=True) if tables else None


def calls() -> list[list[Any]]:
    """The calls that are kept."""
    return json.loads(gzip.decompress(STORED.read_bytes())) if STORED.exists() else []


def named() -> Iterator[tuple[str, Callable[[], pd.DataFrame]]]:
    """What makes every call that is kept again, named by its function and a number."""
    results: dict[str, Any] = {}
    for number, call in enumerate(calls()):
        yield f"recorded {number}: {call[0].lstrip('.')}", lambda c=call: table_of(result_of(c, results))


# What a result shows


def shape(method: str) -> str:
    """A method without its numbers and the names of its columns: ``Wilson, clustered by @ (G = #)``."""
    method = re.sub(r"\b(by|of) [a-zA-Z_]\w*( x [a-zA-Z_]\w*)*(?= \()", r"\1 @", method)
    return re.sub(r"(?<![A-Za-z_])\d+([.,]\d+)*(e[+-]?\d+)?", "#", method)


def shown(table: pd.DataFrame) -> set[str]:
    """The codes of the flags of a table, and the shapes of its methods."""
    flags = (str(cell) for cell in table.get("flag", pd.Series(dtype=object)).dropna().unique())
    methods = (str(cell) for cell in table.get("method", pd.Series(dtype=object)).dropna().unique())
    return {code for cell in flags for code in flag_codes(cell) if code} | {f"method: {shape(m)}" for m in methods}


def shown_by(tables: Mapping[str, Mapping[str, Any]]) -> set[str]:
    """What stored results show, all together."""
    shows: set[str] = set()
    for table in tables.values():
        columns = table["columns"]
        cells = {c: [row[columns.index(c)] for row in table["rows"]] for c in ("flag", "method") if c in columns}
        shows |= shown(pd.DataFrame(cells))
    return shows


# Recording


class Note(NamedTuple):
    """A call that a test made, what its result shows, and how long it took."""

    call: list[Any]
    shows: set[str]
    seconds: float

    @property
    def cost(self) -> float:
        """What it costs to keep the call."""
        return 2000 + len(json.dumps(self.call)) + 20_000 * self.seconds


class Recorder:
    """A plugin of pytest that notes the calls of public functions that tests make, the outermost ones."""

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self.made: dict[int, tuple[Any, Any]] = {}
        self.inside = False

    def pytest_configure(self) -> None:
        """Put public functions, and the methods of fitted models, behind a note of their calls."""
        names = [m.name for m in pkgutil.walk_packages(judgestats.__path__, "judgestats.") if "__main__" not in m.name]
        modules = [judgestats, *map(import_module, names)]
        noted: dict[Any, Any] = {}
        for package in PACKAGES:
            home = import_module(f"judgestats.{package}".rstrip("."))
            for name in home.__all__:
                if inspect.isfunction(function := getattr(home, name)):
                    noted.setdefault(function, self.noted(f"{package}.{name}".lstrip("."), function))
        verbs = {name for name in vars(judgestats.models.Fit) if not name.startswith("_")}
        for kind, name, method in self.methods(modules):
            setattr(kind, name, self.noted(f".{name}", method))
        for module in modules:
            for name, value in list(vars(module).items()):
                if not inspect.isfunction(value):
                    continue
                if value.__module__.startswith("judgestats.models.postestimation") and value.__name__ in verbs:
                    noted.setdefault(value, self.noted(f".{value.__name__}", value))
                if value in noted:
                    setattr(module, name, noted[value])

    @staticmethod
    def methods(modules: Iterable[ModuleType]) -> list[tuple[type, str, Callable[..., Any]]]:
        """The public methods of classes of models, of raters too."""
        kinds = {v for m in modules for v in vars(m).values() if inspect.isclass(v)}
        kinds = {kind for kind in kinds if kind.__module__.startswith(("judgestats.models", "judgestats.verdicts"))}
        pairs = [(kind, name, value) for kind in kinds for name, value in vars(kind).items()]
        return [(k, name, v) for k, name, v in pairs if inspect.isfunction(v) and not name.startswith("_")]

    def noted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that notes its calls."""

        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            if self.inside:
                return function(*arguments, **named)
            self.inside = True
            try:
                noted = self.text_of(name, arguments, named)
                start = time.perf_counter()
                result = function(*arguments, **named)
                if noted is not None:
                    self.note(noted, result, time.perf_counter() - start)
                return result
            finally:
                self.inside = False

        return call

    def text_of(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> list[Any] | None:
        """A call as JSON has it, if it can be kept."""
        try:
            texts = {key: encoded(value, self.made) for key, value in named.items()}
            return [name, [encoded(value, self.made) for value in arguments], texts]
        except (Unrecordable, TypeError):
            return None

    def note(self, call: list[Any], result: Any, seconds: float) -> None:
        """Keep a call that gives a table, and one whose result has methods."""
        if not isinstance(result, pd.DataFrame):
            self.made[id(result)] = result, call
        table = table_of(result)
        if table is None or not (shows := shown(table)):
            return
        if len(json.dumps(call)) <= LONGEST and seconds <= SLOWEST:
            self.notes.append(Note(call, shows, seconds))


def chosen(notes: Iterable[Note], met: set[str]) -> list[list[Any]]:
    """Calls, few, short and fast, that show what is not met yet, as far as they show it again."""
    kept: list[list[Any]] = []
    left = list(notes)
    while left := [note for note in left if note.shows - met]:
        best = max(left, key=lambda note: len(note.shows - met) / note.cost)
        left.remove(best)
        if shows := again(best.call):
            kept += [best.call] if shows - met else []
            met = met | shows
    return kept


def again(call: list[Any]) -> set[str]:
    """What a call shows that is made again from what is kept of it; nothing where that fails."""
    try:
        table = table_of(result_of(json.loads(json.dumps(call)), {}))
    except Exception:  # a call of a test may need what only the test has
        return set()
    return set() if table is None else shown(table)


def main(paths: list[str]) -> int:
    """Run tests, and keep the calls that show what the stored results do not."""
    import pytest
    from same_results import STORED as RESULTS

    recorder = Recorder()
    pytest.main(["-q", "-p", "no:cacheprovider", *paths], plugins=[recorder])
    met = shown_by(json.loads(gzip.decompress(RESULTS.read_bytes())))
    new = chosen(recorder.notes, met)
    STORED.write_bytes(gzip.compress(json.dumps([*calls(), *new], separators=(",", ":")).encode(), mtime=0))
    print(
        f"{len(new)} calls more, {STORED.stat().st_size / 1e3:.0f} kB: now python benchmarks/same_results.py --out ..."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
