"""The pages of docs: every measure has a row, every name in it exists, and the examples run."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

import judgestats as js

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
#: Rooms whose public functions measure or shape.
ROOMS = ("judgestats.metrics.", "judgestats.verdicts.", "judgestats.design.")
HEAD = ["function", "what it answers", "input", "interval", "source", "picture"]


def tables(text: str) -> list[list[str]]:
    """Cells of each row of the tables of measures, without heads and rules."""
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")]
    return [r for r in rows if r != HEAD]


def measures() -> set[str]:
    """Public functions that measure or shape."""
    things = {name: getattr(js, name) for name in js.__all__}
    return {n for n, t in things.items() if inspect.isfunction(t) and t.__module__.startswith(ROOMS)}


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "measures.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows(page: str) -> list[list[str]]:
    return tables(page)


def test_every_measure_has_one_row_and_every_row_a_measure(rows):
    named = [re.fullmatch(r"`(\w+)`", r[0]).group(1) for r in rows]
    assert len(named) == len(set(named))
    assert set(named) == measures()
    assert {"bias_score", "aggregate", "simulate", "calibrate", "supported"} <= measures()


def test_no_cell_is_empty(rows):
    assert {len(r) for r in rows} == {len(HEAD)}
    assert all(cell for r in rows for cell in r)


def test_every_picture_exists_and_every_picture_is_named(rows, page):
    named = set(re.findall(r"`plot\.(\w+)`", page))
    assert named == set(js.plot.__all__)
    assert all("`plot." in r[-1] or r[-1] == "none" for r in rows)


def test_a_row_that_takes_counts_is_of_a_measure_that_says_so(rows):
    taking = {r[0].strip("`") for r in rows if "counts" in r[2]}
    assert set(js.PATTERNS) <= taking
    for name in taking - set(js.PATTERNS):
        assert re.search(r"\btally\b|Counts give", getattr(js, name).__doc__), name


def test_the_columns_of_a_result_are_told(page):
    from judgestats.results import COLUMNS

    assert all(f"`{c}`" in page for c in COLUMNS)


@pytest.mark.parametrize("name", ["js.supported", "js.tally", "js.PATTERNS", "js.preferences", "js.ratings"])
def test_the_first_paragraph_names_where_to_begin(page, name):
    assert name in page.partition("```")[0]
    assert hasattr(js, name.removeprefix("js."))


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(DOCS).as_posix())
def test_the_examples_run(path):
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    done = doctest.testfile(str(path), module_relative=False, optionflags=options, encoding="utf-8")
    assert done.failed == 0
    assert done.attempted > 0 or ">>>" not in path.read_text(encoding="utf-8")


def test_the_page_of_measures_has_an_example():
    attempted = doctest.testfile(
        str(DOCS / "measures.md"), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert attempted.attempted >= 5


def test_decisions_are_numbered_without_a_gap():
    numbers = [int(p.name[:4]) for p in PAGES if p.parent.name == "decisions"]
    assert numbers == list(range(1, len(numbers) + 1))
    for p in PAGES:
        if p.parent.name == "decisions":
            assert p.read_text(encoding="utf-8").startswith(f"# {int(p.name[:4])}. "), p.name
