"""CSV and TSV: the header, and rows by Arrow as by the csv module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ingest.file_contents import contents_or_refusal
from judgestats.errors import SchemaError
from judgestats.ingest import delimited
from judgestats.ingest.delimited import header_names


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
    assert len(header_names([Counted(f"c{i}") for i in range(n)], Path("t.csv"))) == n
    assert Counted.looks < 10 * n
    with pytest.raises(SchemaError) as caught:
        header_names([f"c{i % 25_000}" for i in range(n)], Path("t.csv"))
    assert len(str(caught.value)) < 1000
    with pytest.raises(SchemaError) as caught:
        header_names(["c"] * n, Path("t.csv"))
    assert "'c' (columns 1, 2, 3, 4, 5, 6 and 49994 more)" in str(caught.value)


@pytest.mark.parametrize("block", [17, 60, 2**24])
def test_arrow_reads_a_csv_file_as_the_csv_module_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    rng = np.random.default_rng(block)
    cells = ["a", "é", "😀", "", '""', '"x"', '"q,\n"', '"2"" by 4"', "NA", " ", "1.50", '"\r\n"']
    odd = ['5"', '"', '"a"b', ' "a"', "a,b", "\r", "a\nb", "\0", "", "\n"]
    sound = by_arrow = 0
    arrow = delimited._plain_rows

    def counted(*given: Any, **named: Any) -> Any:
        nonlocal by_arrow
        rows = arrow(*given, **named)
        by_arrow += rows is not None
        return rows

    monkeypatch.setattr(delimited, "BLOCK", block)
    for i in range(400):
        path = tmp_path / f"{i}.csv"
        of = [*cells, *odd] if i % 4 == 0 else cells
        rows = [",".join(rng.choice(of, 2)) + rng.choice(["\n", "\r\n", "\n\n"]) for _ in range(rng.integers(1, 9))]
        text = ("\n" * (i % 2) + "one,two\n" + "".join(rows)).rstrip("\n" if i % 3 else "")
        path.write_bytes(text.encode())
        with monkeypatch.context() as fast:
            fast.setattr(delimited, "_plain_rows", counted)
            outcome = contents_or_refusal(path)
        with monkeypatch.context() as strict:
            strict.setattr(delimited, "_plain_rows", lambda *_, **__: None)
            assert outcome == contents_or_refusal(path), text
        sound += not isinstance(outcome, str)
    assert sound > 200
    assert by_arrow > 100
