"""Feather, Arrow IPC, ORC, Excel, SQLite: the same rows as from CSV, or a clear error."""

from __future__ import annotations

import gzip
import sqlite3
import time
import zipfile
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
from judgestats.ingest.sources import resolve
from judgestats.ingest.tables import plain_table
from judgestats.schema import check
from refusals import refused

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
    refused(
        SchemaError,
        ({}, r"has 2 tables \('calls', 'runs'\)\. Name the one to read with table="),
        ({"table": "call"}, r"has no table 'call'\. It has: .*Did you mean 'calls'"),
        of=lambda options: read(path, **options),
    )
    assert len(read(path, table="calls")) == 3
    assert len(read(path, table="few")) == 1  # a view, by its name only
    found = CliRunner().invoke(app, ["check", str(path)])
    assert "--table NAME" in found.output
    found = CliRunner().invoke(app, ["check", str(path), "--table", "calls"])
    assert "3 rows: 2 used, 1 excluded" in found.output
    CALLS.to_feather(tmp_path / "t.feather")
    refused(
        SchemaError,
        (tmp_path / "t.feather", "holds one table, and table='calls' was given"),
        (CALLS, "table= is for files"),
        of=lambda wrong: read(wrong, table="calls"),
    )


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


RATINGS = {"judge": "g", "item": "1", "system": "s", "score": "3"}


def workbook(path: Path, cell: str, text: str = "far") -> Path:
    """A workbook of a rating, and a cell anywhere."""
    pd.DataFrame([RATINGS]).to_excel(path, index=False)
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    row = f'<row r="{cell.lstrip("ABCDEFX")}"><c r="{cell}" t="inlineStr"><is><t>{text}</t></is></c></row></sheetData>'
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b"</sheetData>", row.encode())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in parts.items():
            book.writestr(name, content)
    return path


@pytest.mark.parametrize("cell", ["A1048576", "F1048576", "D3"])
def test_a_cell_in_the_last_row_of_a_sheet_is_read_at_once(tmp_path: Path, cell: str) -> None:
    start = time.process_time()
    table = plain_table(resolve(workbook(tmp_path / "t.xlsx", cell)))
    assert time.process_time() - start < 2  # 13 s where each row between was a list
    column = {"A": "judge", "F": "column_6", "D": "score"}[cell[0]]
    assert table.shape == (2, 6 if cell[0] == "F" else 4)
    assert (table.iloc[0].dropna().to_dict(), table.iloc[1].dropna().to_dict()) == (RATINGS, {column: "far"})


@pytest.mark.parametrize("cell", ["A1048577", "A9999999", "F2000000"])
def test_a_row_that_excel_does_not_have_is_refused(tmp_path: Path, cell: str) -> None:
    with pytest.raises(SchemaError, match=r"has a cell below row 1,048,576, the last that Excel has"):
        read(workbook(tmp_path / "t.xlsx", cell))


COUNT = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT"
CALLED = "'g' AS judge, 's' AS system, 1 AS score"


@pytest.mark.parametrize(
    "view",
    [
        f"{COUNT} {CALLED}, x AS item FROM c",
        f"{COUNT} {CALLED}, x AS item FROM c WHERE x < 0",
        f"{COUNT} NULL AS judge FROM c",
        f"SELECT {CALLED}, zeroblob(900000000) AS item",
        f"SELECT {CALLED}, a.score || zeroblob(9000000) AS item FROM calls a, calls b, calls c",
    ],
    ids=["endless", "endless without a row", "endless gaps", "a large text", "many texts"],
)
@pytest.mark.parametrize("lazy", [False, True])
def test_a_small_database_that_gives_much_is_refused(tmp_path: Path, view: str, lazy: bool) -> None:
    path = tmp_path / "t.db"
    with closing(sqlite3.connect(path)) as database:
        pd.DataFrame([RATINGS] * 8).assign(item=[*"12345678"]).to_sql("calls", database, index=False)
        database.execute(f"CREATE VIEW much AS {view}")
        database.execute("CREATE VIEW fine AS SELECT * FROM calls")
        database.commit()
    with pytest.raises(SchemaError, match=r"gives more than 1,000,000 bytes of cells, or takes as many steps, from"):
        read(path, table="much", max_unpacked=10**6, lazy=lazy)
    assert len(read(path, table="fine", max_unpacked=10**6)) == len(read(path, table="calls")) == 8


def test_texts_of_a_workbook_that_are_repeated_have_the_same_limit(tmp_path: Path) -> None:
    pd.DataFrame([RATINGS] * 300).assign(item=[f"{i}{'x' * 30000}" for i in range(300)]).to_excel(
        tmp_path / "t.xlsx", index=False
    )
    assert (tmp_path / "t.xlsx").stat().st_size < 100_000
    with pytest.raises(SchemaError, match=r"max_unpacked="):
        read(tmp_path / "t.xlsx", max_unpacked=10**6)
    assert len(read(tmp_path / "t.xlsx")) == 300
