"""Exceptions to the conventions of CONTRIBUTING.md become fewer, never more: names, banners, untyped lines."""

import conventions
import pytest

PLANTED = '''"""A module."""

from typing import Any


# ---- Sums -------------------------------------------------------------


def _sum(a, b, c, d, e, f, g, h, asked):
    found = a + b
    return [here for here in (found, asked)]


class Sum:
    """A sum."""


KEPT: Any = 1  # fmt: skip
'''


@pytest.mark.parametrize("kind", conventions.KINDS)
def test_numbers_fall_only(kind):
    places, most = len(conventions.today()[kind]), conventions.stored()[kind]
    assert places <= most, (
        f"{kind}: {places} places, and {most} are allowed. Conventions in CONTRIBUTING.md say what to write instead; "
        "`python benchmarks/conventions.py -v` lists the places."
    )


def test_planted_faults_are_counted(tmp_path):
    for package in ("one", "two", "three", "four"):
        folder = tmp_path / "src" / "counting" / package
        folder.mkdir(parents=True)
        (folder / f"{package}.py").write_text(PLANTED)
    (tmp_path / "src" / "one.py").write_text("")
    tests = tmp_path / "tests"
    for package in ("one", "two"):
        (tests / package).mkdir(parents=True)
        (tests / package / "test_sums.py").write_text("")
    where = conventions.places(tmp_path / "src", tests)
    expected = {"found": 4, "here": 4, "asked": 4, "banner": 4, "line with Any": 8, "fmt: skip": 4}
    expected |= {"many parameters": 4, "many parameters inside": 4}
    expected |= {"private name in many modules": 1, "name of several files": 2}
    expected["name of several classes"] = 1
    assert {kind: len(found) for kind, found in where.items() if found} == expected
