"""Every function of verdicts with every argument, and every option of check and report, on twelve small tables.

What comes is a result or a message of the package. Functions, arguments and options are read off their signatures, so
that new ones are tried without a change here.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any, get_type_hints
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command

import judgestats as js
import small_frames
from command_line import run
from judgestats.arguments import words_of
from judgestats.cli import app
from judgestats.cli.verdict_source import VerdictSource
from judgestats.errors import JudgestatsError

#: Functions whose first argument is something else than verdicts.
OTHERS = {
    "anova": "fits",
    "audit": "printed tables",
    "detect_format": "a file",
    "fit": "a formula",
    "formats": "nothing",
    "parse_verdicts": "texts",
    "read": "a file",
    "report": "tried by its command",
    "show_versions": "nothing",
}
#: Arguments of random numbers: few of them do.
RANDOM = {"seed": 1, "n_resamples": 19, "n_starts": 2, "replications": 20}
#: Ranks, and numbers of judges and runs, are whole: their interval may be one number.
WHOLE = (
    "rank",
    "judges_for_generalizability",
    "judges_for_dependability",
    "runs_for_generalizability",
    "runs_for_dependability",
)
#: A name that no table has.
NOBODY = "nobody"


@cache
def verdicts(name: str) -> pd.DataFrame:
    return small_frames.verdicts(name)


def columns_of(table: pd.DataFrame) -> list[str]:
    return [c for c in table.columns if c not in ("status", "rationale")]


def names_of(table: pd.DataFrame) -> list[str]:
    """What an argument may name: columns, their values where they are few, and what is not there."""
    values = [v for c in columns_of(table) if table[c].nunique() <= 4 for v in table[c].dropna().unique()]
    return list(dict.fromkeys([*columns_of(table), *map(str, values), "gold", NOBODY]))


def values(argument: inspect.Parameter, hint: object, table: pd.DataFrame) -> list[object]:
    """What an argument is tried with: all words that it allows, or values of the types in its annotation."""
    if words := words_of(hint):
        return [w for w in words if w != argument.default]
    form = str(argument.annotation)
    judge = str(table["judge"].iloc[0])
    if form == "bool":
        return [not argument.default]
    if form.startswith(("Cluster", "By")):
        return [*columns_of(table), NOBODY, False if form.startswith("Cluster") else ["judge", "item"]]
    tried: list[object] = []
    if "str" in form or form.startswith(("Any", "object", "Favoured", "Humans", "Baseline")):
        tried += names_of(table)
    if "Mapping" in form or form.startswith(("Humans", "Baseline")):
        conditions = [c for c in ("rater_type", "prompt", "system", "judge") if c in table]
        tried += [{c: str(table[c].iloc[0])} for c in conditions] + [{judge: judge}, {"style": 2.0, "truth": 1.0}]
    if "Sequence" in form or "Iterable" in form:
        tried += [[judge], [0.2, 0.5]]
    if "Frame" in form or form == "Any":
        tried += [table]
    if "int" in form.replace("Into", ""):
        tried += [1, 3]
    if "float" in form:
        tried += [0.3, (1, 5)]
    return tried or [0.3, judge]


@dataclass(frozen=True)
class Call:
    """A function, and the arguments with which it is called."""

    name: str
    arguments: tuple[tuple[str, object], ...] = ()

    def result(self, table: pd.DataFrame) -> object:
        function = getattr(js, self.name)
        few = {k: v for k, v in RANDOM.items() if k in inspect.signature(function).parameters}
        return function(table, **few, **dict(self.arguments))

    def __str__(self) -> str:
        shown = [f"{k}={'TABLE' if isinstance(v, pd.DataFrame) else repr(v)}" for k, v in self.arguments]
        return f"{self.name}({', '.join(['TABLE', *shown])})"


def functions() -> list[str]:
    return [n for n in sorted(js._HOMES) if inspect.isfunction(getattr(js, n)) and n not in OTHERS]


def outcome(call: Call, table: pd.DataFrame) -> tuple[object, str]:
    """The result of a call, or the message of the package; and what was raised that is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return call.result(table), ""
    except JudgestatsError as error:
        return error, ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def calls_of(name: str, table: pd.DataFrame, pairs: int = 6) -> Iterator[Call]:
    """The function alone, with each value of each argument, and with a few pairs of them."""
    hints = get_type_hints(inspect.unwrap(getattr(js, name)))
    parameters = list(inspect.signature(getattr(js, name)).parameters.values())[1:]
    named = [p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name not in RANDOM]
    tried = {p.name: values(p, hints.get(p.name), table) for p in named}
    needed = [p.name for p in named if p.default is p.empty]
    several = [Call(name, choice) for choice in islice(product(*([(n, v) for v in tried[n]] for n in needed)), 60)]
    yield from several
    plain = several[0]
    if needed:
        plain = next((c for c in several if not isinstance(outcome(c, table)[0], JudgestatsError | None)), plain)
    each = [(n, v) for n, tried_values in tried.items() for v in tried_values]
    yield from (Call(name, (*plain.arguments, (n, v))) for n, v in each if n not in needed)
    rng = np.random.default_rng(len(name))
    for _ in range(pairs if len(tried) - len(needed) > 1 else 0):
        one, two = (each[i] for i in rng.choice(len(each), 2))
        if one[0] != two[0]:
            yield Call(name, tuple({**dict(plain.arguments), **dict([one, two])}.items()))


def chosen(label: object, one_in: int) -> bool:
    """Whether this is one of so many, by its name."""
    return crc32(str(label).encode()) % one_in == 0


def unsound(result: object) -> str:
    """Rows with an estimate outside its interval, an interval with one end, or one without width and without a flag."""
    if not isinstance(result, pd.DataFrame) or not {"estimate", "conf_low", "conf_high", "flag"} <= {*result.columns}:
        return ""
    low, high, estimate = (pd.to_numeric(result[c]) for c in ("conf_low", "conf_high", "estimate"))
    rounding = 1e-9 * estimate.abs().clip(lower=1)
    outside = (estimate < low - rounding) | (estimate > high + rounding) | (low.isna() != high.isna())
    whole = result["term"].isin(WHOLE) if "term" in result else False
    narrow = (high - low < 1e-9) & (result["flag"] == "") & ~np.asarray(whole)
    wrong = result[outside | narrow]
    return wrong.to_string() if len(wrong) else ""


def faults_of_calls(name: str, one_in: int, functions_in: int = 1) -> list[str]:
    """What is wrong with how every so many calls, of every so many functions, on a table end, and what they give."""
    table, faults = verdicts(name), []
    before = table.copy(deep=True)
    for function in functions():
        for call in calls_of(function, table) if chosen((name, function), functions_in) else ():
            if chosen((name, call), one_in):
                result, foreign = outcome(call, table)
                if found := foreign or unsound(result):
                    faults.append(f"{call} of {name}: {found}")
    pd.testing.assert_frame_equal(table, before)
    return faults


@pytest.mark.parametrize("name", small_frames.TABLES)
def test_a_few_calls_of_every_function_end_in_a_result_or_a_message(name):
    assert faults_of_calls(name, 10, 10) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", small_frames.TABLES)
def test_calls_of_every_function_end_in_a_result_or_a_message(name):
    assert faults_of_calls(name, 8) == []


@pytest.mark.full
@pytest.mark.parametrize("name", small_frames.TABLES)
def test_all_calls_of_every_function_end_in_a_result_or_a_message(name):
    assert faults_of_calls(name, 1) == []


def typed_values(option: Any, table: pd.DataFrame) -> list[str]:
    """What an option is tried with, by the words that stand for its value in the help."""
    conditions = [c for c in ("rater_type", "prompt", "system", "judge") if c in table]
    pairs = [f"{c}={table[c].iloc[0]}" for c in conditions]
    forms = {
        "COLUMN": [*columns_of(table), NOBODY],
        "COLUMN,...": [*columns_of(table), "judge,item"],
        "COLUMN=VALUE": pairs,
        "COLUMN=VALUE,...": [*pairs, ",".join(pairs)],
        "LOW,HIGH": ["0,1", "1,5", "5,1"],
        "NUMBER": ["1", "0.2"],
        "BYTES": ["100000"],
        "SYSTEM=JUDGE,...": ["s=g", "g=g"],
        **dict.fromkeys(("NAME", "NAME,...", "VALUE", "JUDGE", "CANDIDATE"), names_of(table)),
        **{form: [f"task={c}" for c in columns_of(table)] for form in ("NAME=COLUMN,...", "NAME[=COLUMN],...")},
    }
    words = [word.strip() for word in (option.metavar or "").split("|")]
    return list(dict.fromkeys(v for word in words for v in forms.get(word, [word])))


#: Options that say how a file is read: report reads as check does.
READING = {f.name for f in fields(VerdictSource)} - {"humans", "gold", "baseline", "by", "cluster", "no_cluster"}


def faults_of_command(command: str, name: str, folder: Path, one_in: int) -> list[str]:
    """What is wrong with how a command ends with every so many of its options."""
    path, faults = folder / "verdicts.csv", []
    small_frames.TABLES[name]().to_csv(path, index=False)
    page = ["--out", str(folder / "page.html"), "--overwrite"] if command == "report" else []
    tried: list[list[str]] = [[]]
    for option in get_command(app).commands[command].params:
        if option.name in ("source", "out", "overwrite", "labels_file") or (page and option.name in READING):
            continue
        given = [[]] if option.is_flag else [[v] for v in typed_values(option, verdicts(name))]
        tried += [[option.opts[0], *value] for value in given]
    for options in tried:
        if options and not chosen((command, name, *options), one_in):
            continue
        ended = run.invoke(app, [command, str(path), *options, *page])
        if ended.exit_code not in (0, 2) or not isinstance(ended.exception, SystemExit | None):
            faults.append(f"{command} {' '.join(options)} of {name}: {ended.exception!r}")
    return faults


@pytest.mark.parametrize(
    ("command", "name"),
    [("check", "pairs"), ("check", "classes"), ("check", "scores_with_people"), ("report", "classes")],
)
def test_a_few_options_end_in_a_result_or_a_message(command, name, tmp_path):
    assert faults_of_command(command, name, tmp_path, 100) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", ["check", "report"])
@pytest.mark.parametrize("name", small_frames.TABLES)
def test_options_end_in_a_result_or_a_message(command, name, tmp_path):
    assert faults_of_command(command, name, tmp_path, 25) == []


@pytest.mark.full
@pytest.mark.parametrize("command", ["check", "report"])
@pytest.mark.parametrize("name", small_frames.TABLES)
def test_all_options_end_in_a_result_or_a_message(command, name, tmp_path):
    assert faults_of_command(command, name, tmp_path, 1) == []


@pytest.mark.parametrize("name", ["scores_with_people", "classes"])
def test_a_page_by_item_is_made(name, tmp_path):
    """Each item is a group of its own: repeats are clustered by it all the same, and each has its table of classes."""
    page = js.report(verdicts(name), tmp_path / "page.html", by=["item"])
    assert "item" in page.read_text(encoding="utf-8")
