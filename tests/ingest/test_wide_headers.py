"""A header of many columns costs what it is long."""

from __future__ import annotations

from pathlib import Path

import pytest

from judgestats.errors import SchemaError
from judgestats.ingest.files import column_names


class Counted(str):
    """A name that counts how often it is compared or hashed."""

    __slots__ = ()
    looks = 0

    def __eq__(self, other: object) -> bool:
        Counted.looks += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        Counted.looks += 1
        return str.__hash__(self)

    def strip(self, *_: object) -> str:  # type: ignore[override]
        return self


def test_a_header_is_checked_in_linear_time() -> None:
    n = 50_000
    Counted.looks = 0
    assert len(column_names([Counted(f"c{i}") for i in range(n)], Path("t.csv"))) == n
    assert Counted.looks < 10 * n
    with pytest.raises(SchemaError) as caught:
        column_names([f"c{i % 25_000}" for i in range(n)], Path("t.csv"))
    assert len(str(caught.value)) < 1000
    with pytest.raises(SchemaError) as caught:
        column_names(["c"] * n, Path("t.csv"))
    assert "'c' (columns 1, 2, 3, 4, 5, 6 and 49994 more)" in str(caught.value)
