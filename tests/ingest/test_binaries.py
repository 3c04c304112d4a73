"""Feather, Arrow IPC, ORC, Excel, SQLite: the same rows as from CSV, or a clear error."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path, PureWindowsPath

import pandas as pd
import pyarrow as pa
import pyarrow.orc
import pytest
from pyarrow import feather
from typer.testing import CliRunner

from both_ways import difference
from judgestats.cli import app
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format, read
from judgestats.ingest.binaries import _address
from judgestats.schema import check

CALLS = pd.DataFrame(
    {"judge": ["007", "NA", "g"], "item": ["1", "2", "3"], "first": "x", "second": "y", "choice": ["first", "tie", None],
     "seed": [1, 2, 3]}
)  # fmt: skip


def sqlite(path: Path, **tables: pd.DataFrame) -> Path:
    with closing(sqlite3.connect(path)) as database:
        for name, table in tables.items():
            table.to_sql(name, database, index=False)
        database.execute("CREATE VIEW few AS SELECT * FROM calls LIMIT 1")
        database.commit()
    return path


def stream(path: Path) -> None:
    table = pa.Table.from_pandas(CALLS, preserve_index=False)
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)


MAKERS: dict[str, Callable[[Path], object]] = {
    "t.feather": lambda p: feather.write_feather(CALLS, p),
    "t.arrow": stream,
    "t.orc": lambda p: pa.orc.write_table(pa.Table.from_pandas(CALLS, preserve_index=False), p),
    "t.sqlite": lambda p: sqlite(p, calls=CALLS),
    "no suffix": lambda p: sqlite(p, calls=CALLS),
    "t.xlsx": lambda p: CALLS.to_excel(p, index=False),
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_same_rows(tmp_path: Path, name: str) -> None:
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    CALLS.to_csv(tmp_path / "t.csv", index=False)
    path = tmp_path / name
    MAKERS[name](path)
    frame = read(path)
    pd.testing.assert_frame_equal(frame, read(tmp_path / "t.csv"))
    assert frame["judge"].tolist() == ["007", "NA", "g"]
    assert check(frame).query("level == 'excluded'")["where"].tolist() == [f"{name}, row 2"]
    assert difference(path) == ""
    assert detect_format(path).confidence == "canonical"


@pytest.mark.parametrize("name", [n for n in MAKERS if n.startswith("t.")])
@pytest.mark.parametrize("keep", [0.2, 0.7])
def test_a_file_cut_off(tmp_path: Path, name: str, keep: float) -> None:
    if name.endswith("xlsx"):
        pytest.importorskip("openpyxl")
    path = tmp_path / name
    MAKERS[name](path)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * keep)])
    with pytest.raises(SchemaError, match=r"t\.\w+: .*(not a complete|damaged|no rows)"):
        read(path)


def test_several_tables_are_not_guessed(tmp_path: Path) -> None:
    path = sqlite(tmp_path / "t.db", calls=CALLS, runs=CALLS.head(1))
    with pytest.raises(SchemaError, match=r"has 2 tables \('calls', 'runs'\)\. Name the one to read with table="):
        read(path)
    with pytest.raises(SchemaError, match=r"has no table 'call'\. It has: .*Did you mean 'calls'"):
        read(path, table="call")
    assert len(read(path, table="calls")) == 3
    assert len(read(path, table="few")) == 1  # a view, by its name only
    found = CliRunner().invoke(app, ["check", str(path)])
    assert "--table NAME" in found.output
    found = CliRunner().invoke(app, ["check", str(path), "--table", "calls"])
    assert "3 rows: 2 used, 1 excluded" in found.output
    CALLS.to_feather(tmp_path / "t.feather")
    with pytest.raises(SchemaError, match="holds one table, and table='calls' was given"):
        read(tmp_path / "t.feather", table="calls")
    with pytest.raises(SchemaError, match="table= is for files"):
        read(CALLS, table="calls")


def test_several_sheets_are_not_guessed(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        CALLS.to_excel(book, sheet_name="calls", index=False)
        CALLS.head(1).to_excel(book, sheet_name="notes", index=False)
    with pytest.raises(SchemaError, match=r"has 2 sheets \('calls', 'notes'\)"):
        read(tmp_path / "t.xlsx")
    assert len(read(tmp_path / "t.xlsx", table="calls")) == 3


def test_excel_without_its_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as out:
        out.writestr("xl/workbook.xml", "<workbook/>")

    def missing(*_: object, **__: object) -> None:
        raise ImportError("openpyxl")

    monkeypatch.setattr(pd, "ExcelFile", missing)
    with pytest.raises(SchemaError, match=r"pip install 'judgestats\[excel\]'"):
        read(tmp_path / "t.xlsx")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.feather", b"judge,item", "named Arrow or Feather but does not begin"),
        ("t.orc", b"judge,item", "named ORC but does not begin"),
        ("t.db", b"judge,item", "named SQLite but does not begin"),
        ("t.xlsx", b"judge,item", "named Excel but does not begin"),
        ("t.db", b"SQLite format 3\x00" + b"\x00" * 200, r"not a complete SQLite file"),
        (
            "t.db.gz",
            gzip.compress(b"SQLite format 3\x00" + b"\x00" * 200, mtime=0),
            "a compressed sqlite file is not read",
        ),
        ("t.arrow", b"ARROW1\x00\x00" + b"\xff" * 99, "not a complete Arrow or Feather file"),
    ],
)
def test_what_is_something_else(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SchemaError, match=message):
        read(tmp_path / name)


def test_address_of_sqlite_on_a_share() -> None:
    assert _address(PureWindowsPath(r"\\server\share\calls.db")) == "file:////server/share/calls.db"
    assert _address(PureWindowsPath(r"C:\calls.db")) == "file:///C:/calls.db"
