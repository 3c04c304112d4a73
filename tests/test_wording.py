"""Texts of methods and flags are written, and read back as the values that they were written from."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import judgestats
from judgestats import flags, methods
from judgestats.wording import (
    FLAGS,
    METHODS,
    Clustering,
    Flag,
    Resampling,
    as_one,
    flags_of,
    join,
    method_of,
    without_numbers,
)

SOURCE = Path(judgestats.__file__).parent
SIZES = np.array([4.0, 4.0, 1.0, 1.0])
WRITTEN = {
    "Wilson, clustered by item (G = 4, worth 3)": methods.clustered(methods.WILSON, "item", SIZES),
    "t (G = 4, worth 3)": methods.clustered(methods.T, "", SIZES),
    "Tango, paired, clustered by a, b (c) (G = 2)": methods.TANGO_PAIRED.by("a, b (c)", 2),
    "t, jackknife of Fisher's z, of calls (G = 40)": methods.of_single(methods.JACKKNIFE_Z.by("item", 40), "calls"),
    "Wilson, clustered by item (G = 4); Bonferroni of 2": methods.WILSON.by("item", 4).noting("Bonferroni of 2", "; "),
    "Wilson, clustered by item (G = 4); holds for these 5 tasks": methods.WILSON.by("item", 4).holding_for("task", 5),
    "Fisher z; p exact, all orders; holds for these 2 topics": methods.FISHER_Z_EXACT.holding_for("topic", 2),
    "BCa, bootstrap of item (B = 2000)": methods.BCA.from_draws("bootstrap of", "item", 2000),
    "t and percentile, bootstrap of calls (B = 50)": methods.T.on("percentile", " and ").from_draws(
        "bootstrap of", "calls", 50
    ),
    "percentile, two-way bootstrap of item x judge (B = 50)": methods.PERCENTILE.from_draws(
        "two-way bootstrap of", "item x judge", 50
    ),
    "percentile bootstrap of calls, closed form": methods.CLOSED_FORM,
    "Fieller, folded; t over items (G = 4, worth 3)": methods.FIELLER_FOLDED.then(
        methods.clustered(methods.T, "items", SIZES, linked=" over ")
    ),
    "max-T, Bradley-Terry, sandwich, clustered by item (G = 30)": methods.MAX_T.then(
        methods.BRADLEY_TERRY.on("sandwich").by("item", 30), ", "
    ),
    "Davidson, percentile, bootstrap of item (B = 99)": methods.DAVIDSON.then(
        methods.PERCENTILE.from_draws("bootstrap of", "item", 99), ", "
    ),
    "t of log, jackknife of clusters (G = 4, worth 3)": methods.clustered(methods.JACKKNIFE_LOG, "", SIZES),
    "t over items (G = 4), jackknife of log F": methods.T.by("items", 4, linked=" over ").noting("jackknife of log F"),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_method_is_read_as_it_was_written(text: str) -> None:
    written, read = WRITTEN[text], method_of(text)
    assert str(written) == str(read) == text
    assert written.parts._replace(detail="", behind="") == read.parts._replace(detail="", behind="")
    assert written.parts.detail + written.parts.behind == read.parts.detail + read.parts.behind


def test_what_a_method_knows():
    method = method_of("Wilson, clustered by item (G = 1,030, worth 5), of all calls")
    assert (method.parts.way, method.parts.scale, method.parts.behind) == ("Wilson", "share", ", of all calls")
    assert method.clusters == Clustering("item", "1,030", 5)
    assert method.draws is None
    assert method.parts.levels is None
    assert method_of("Wilson; holds for these 5 tasks").parts.levels == ("task", 5)
    assert method_of("percentile, bootstrap of item (B = 99)").draws == Resampling("bootstrap of", "item", "99")
    assert method_of("a way of their own").parts.way == "a way of their own"
    assert method_of("") == ""
    assert set(METHODS) >= {"Wilson", "Tango", "t"}


def test_what_is_absent_leaves_no_sign():
    over = methods.T.by("items", 4, linked=" over ")
    assert methods.NONE.then(over) is over
    assert methods.NAIVE.then(methods.NONE) == "naive, includes the judge"
    assert methods.NONE.noting("unweighted") == "unweighted"
    assert over.noting("") is over


@pytest.mark.parametrize("flag", FLAGS.values(), ids=lambda f: f.code)
def test_a_flag_is_read_as_it_was_said(flag: Flag) -> None:
    names = {"n", "what", "total", "of", "why", "at", "high", "low", "least", "low_", "where", "name", "column"}
    details = {name: "3" for name in names | {"x"} if f"{{{name}}}" in flag and name != "n"}
    said = flag.of(3, **details) if "{" in flag and set_of(flag) <= {"n", *details} else flag
    for value in (said, said.about("blind")) if isinstance(said, Flag) else ():
        [read] = flags_of(str(value))
        assert (read.code, read.severity) == (flag.code, flag.severity)
        assert str(read) == str(value)


def set_of(flag: Flag) -> set[str]:
    """Names of the fields of a text."""
    import string

    return {name for _, name, _, _ in string.Formatter().parse(flag) if name}


def test_flags_are_joined_and_taken_off_by_their_codes():
    cell = join(flags.SMALL_N, flags.RATED_ONCE.of(3), None, "", "n < 30")
    assert cell == "n < 30; 3 units rated once"
    assert flags.has(cell, flags.RATED_ONCE)
    assert flags.without(cell, flags.RATED_ONCE) == "n < 30"
    assert flags.without("5 units rated once; theirs", flags.RATED_ONCE) == "theirs", "of a table that was read"
    assert [f.code for f in flags_of("blind: no data; theirs")] == ["no_data", ""]
    assert dict(flags_of("1,200 units rated once")[0].facts) == {"n": 1200.0}


def test_only_one_module_reads_texts():
    """Nothing else takes a cell apart, or asks how a method begins."""
    places = []
    for path in sorted(SOURCE.rglob("*.py")):
        if path.name == "wording.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                text = ast.unparse(node)
                split = node.func.attr == "split" and [ast.unparse(a) for a in node.args] == ["'; '"]
                asked = node.func.attr in ("startswith", "replace", "partition", "removeprefix") and "'method'" in text
                if (split or asked) and "visible" not in text:  # places in files are no cells
                    places.append(f"{path.name}: {text}")
    assert places == []


@pytest.mark.slow
def test_codes_in_place_of_words_change_nothing(tmp_path: Path) -> None:
    """No number, card or comparison rests on what a method or a flag says."""
    script = Path(__file__).with_name("opaque_words.py")
    runs = [subprocess.Popen([sys.executable, script, words, tmp_path / words]) for words in ("plain", "codes")]
    assert [run.wait() for run in runs] == [0, 0]
    plain, codes = (json.loads((tmp_path / words).read_text(encoding="utf-8")) for words in ("plain", "codes"))
    assert len(plain) == 8
    for name, text in plain.items():
        assert codes[name] == text, name


@pytest.mark.parametrize(
    ("texts", "one"),
    [
        (["2 scores missing", "1 score missing", "51 scores missing"], "1 to 51 scores missing"),
        (["n < 30"], "n < 30"),
        (["no number"], "no number"),
        (["1,200 of 3,000 items", "9 of 3,000 items"], "9 to 1,200 of 3,000 items"),
    ],
)
def test_texts_that_differ_in_a_count_are_one(texts, one):
    assert as_one(texts) == one
    assert len(set(map(without_numbers, texts))) == 1
