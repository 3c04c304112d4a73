"""From a source to its files: folders that mix kinds, and the format that is asked for."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PureWindowsPath
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import judgestats as js
from inspect_logs import head, sample, score, zipped_log
from judgestats.cli import app
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format, read, source_info
from judgestats.ingest.sources import elsewhere_on_windows, in_order
from judgestats.schema import check as js_check
from judgestats.schema.account import account_of
from refusals import refused

Write = Callable[..., Path]
CALLS = "judge,item,first,second,choice\ng,1,x,y,first\n"
GAME = {"question_id": 1, "model": "m", "judge": "j", "games": [{"score": "A>B"}, {"score": "B>A"}]}


@pytest.fixture
def mixed(write: Write, tmp_path: Path) -> Path:
    """A folder with two tables, a log of a tool, a list of records and a page."""
    write("in/a.csv", CALLS)
    write("in/b.csv", CALLS.replace("g,1", "g,2"))
    write("in/log.jsonl", [GAME])
    write("in/other.jsonl", [{"judge": "g", "item": 3, "first": "x", "second": "y", "choice": "tie"}])
    write("in/README.md", "words")
    return tmp_path / "in"


@pytest.mark.parametrize(
    ("name", "rows", "left"),
    [
        ("csv", 2, "2 of 5 files read; not read: README.md (unknown format), log.jsonl (jsonl), other.jsonl (jsonl)"),
        (
            "arena_hard",
            2,
            "1 of 5 files read; not read: README.md (unknown format), a.csv (csv), b.csv (csv), other.jsonl (jsonl)",
        ),
    ],
)
def test_the_format_asked_for_is_taken(mixed: Path, name: str, rows: int, left: str) -> None:
    assert len(read(mixed, format=name)) == rows
    seen = CliRunner().invoke(app, ["check", str(mixed), "--format", name])
    assert seen.exit_code == 0, seen.output
    assert left in seen.output
    told = source_info(mixed, format=name)
    assert told["note"].str.startswith("not read").sum() == 5 - len(told.query("note == ''"))
    assert told.query("note == ''")["rows"].sum() == (2 if name == "csv" else 1)


def test_without_a_format_nothing_is_chosen(mixed: Path, write: Write) -> None:
    refused(
        SchemaError,
        (mixed, r"mixes kinds of files \(csv: a\.csv; jsonl: log\.jsonl\)\. Pass format="),
        (str(mixed / "*.jsonl"), r"mixes formats \(log\.jsonl: arena_hard; other\.jsonl: jsonl\)\. Pass format="),
        of=read,
    )
    assert len(read(str(mixed / "*.jsonl"), format="arena_hard")) == 2
    result = CliRunner().invoke(app, ["check", str(mixed)])
    assert "--format NAME" in result.output


def test_a_format_that_no_file_has_is_an_error(mixed: Path) -> None:
    with pytest.raises(SchemaError):
        read(mixed, format="llmbar", judge="g", strategy="s")


def test_one_object_per_file_beside_tables(mixed: Path, write: Write) -> None:
    for n in range(2):
        write(f"in/calls/{n}.json", json.dumps({"judge": "g", "item": n, "first": "x", "second": "y", "choice": "tie"}))
    assert len(read(mixed, format="calls")) == 2


@pytest.mark.parametrize(
    ("name", "sound", "damaged", "why"),
    [
        ("csv", CALLS, CALLS + "g,2\n", "line 3: 2 fields"),
        ("csv", CALLS, "", "is empty"),
        ("jsonl", json.dumps(GAME), json.dumps(GAME)[:-4], "line 1"),
        (
            "json",
            json.dumps([{"judge": "g", "item": 1, "first": "x", "second": "y", "choice": "tie"}]),
            '[{"judge": ',
            "line 1",
        ),
        ("parquet", None, "PAR", "is named Parquet but does not begin as such a file does"),
        (
            "json",
            json.dumps({**head(), "samples": [sample("{i}", {"m": score("C")})]}),
            json.dumps(head()),
            "without samples",
        ),
        ("eval", zipped_log([sample(1, {"m": score("C")})]), zipped_log([]), "without samples"),
        ("eval", zipped_log([sample(1, {"m": score("C")})]), zipped_log([sample(1, {"m": score("C")})])[:-30], ""),
    ],
)
def test_files_that_cannot_be_read_are_left_and_listed(
    tmp_path: Path, name: str, sound: Any, damaged: Any, why: str
) -> None:
    """One damaged file stops no folder, glob or list: the others are read, and `check` says which one is not."""
    for i, content in enumerate([sound, damaged, sound]):
        path = tmp_path / "in" / f"{i}.{name}"
        path.parent.mkdir(exist_ok=True)
        if content is None:
            pd.read_csv(io.StringIO(CALLS)).to_parquet(path)
        else:
            path.write_bytes(content.replace("{i}", str(i)).encode() if isinstance(content, str) else content)
    listed = sorted((tmp_path / "in").iterdir())
    for source in (tmp_path / "in", str(tmp_path / "in" / f"*.{name}"), listed):
        data = read(source)
        account = account_of(data)
        left = js_check(data).set_index("level").loc["file"]
        assert (left["where"], left["n"]) == (f"1.{name}", 1)
        assert left["what"].startswith("file not read: ")
        assert why in left["what"]
        assert account.unread.startswith(f"2 of 3 files read; not read: 1.{name} (")
        assert js_check(data).set_index("what").loc["rows in", "n"] == len(data) + account.n_excluded
        with pytest.raises(SchemaError):
            read(source, strict=True)
    for source in (listed[1], [listed[1], listed[1]]):
        with pytest.raises(SchemaError):
            read(source)
    assert source_info(tmp_path / "in")["rows"].sum() >= 2


def test_a_mapping_is_proposed_for_the_files_that_can_be_read(tmp_path: Path, write: Write) -> None:
    for i, content in enumerate(["evaluator,question_id,response_a,response_b,verdict\ng,1,x,y,A\ng,2,x,y,B\n", ""]):
        write(f"in/{i}.csv", content)
    found = CliRunner().invoke(app, ["check", str(tmp_path / "in")])
    assert found.exit_code == 2
    assert "1 of 2 files read; not read: 1.csv (is empty)" in found.output
    assert "First rows under that mapping" in found.output


def test_the_commands_name_the_files_that_they_do_not_read(tmp_path: Path, write: Write) -> None:
    for i, content in enumerate([CALLS, CALLS + "g,2\n", CALLS.replace("g,1", "g,2")]):
        write(f"in/{i}.csv", content)
    for command in (["check"], ["report", "--out", str(tmp_path / "page.html")], ["report", "--to", "md"]):
        found = CliRunner().invoke(app, [*command, str(tmp_path / "in")])
        assert found.exit_code == 0, found.output
        assert ("1 file not read" if "md" in command else "2 of 3 files read; not read: 1.csv (line 3") in found.output
        assert CliRunner().invoke(app, [*command, str(tmp_path / "in"), "--strict"]).exit_code == 2


def zipped(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in members.items():
            out.writestr(name, content)
    return path


def test_a_zip_of_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (scratch := tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    names = {
        "judge=g/run=1.csv": CALLS.replace("judge,", "").replace("g,", ""),
        "README.md": "words",
        "__MACOSX/._a.csv": "x",
    }
    names["judge=h/run=2.csv"] = names["judge=g/run=1.csv"]
    path = zipped(tmp_path / "calls.zip", **names)
    calls = read(path)
    assert calls[["judge", "run"]].values.tolist() == [["g", 1], ["h", 2]]
    found = CliRunner().invoke(app, ["check", str(path)])
    assert "2 of 4 files read; not read: README.md (unknown format)" in found.output, found.output
    assert list(scratch.iterdir()) == []
    assert len(read(path, path="{judge}/run={replicate}.csv")) == 2
    frame = js_check(read(zipped(tmp_path / "bad.zip", **{"in/t.csv": CALLS + "g,2,x,y,\n"})))
    assert frame.query("level == 'excluded'")["where"].tolist() == ["bad.zip/in/t.csv, line 3"]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"a.csv": CALLS, "b.jsonl": json.dumps(GAME)},
            r"mixes kinds of files \(csv: a\.csv; jsonl: b\.jsonl\)\. Pass format=",
        ),
        ({"a.txt": "words"}, r"holds no .*It holds: a\.txt"),
        ({"../a.csv": CALLS}, "leads outside"),
        ({"a.csv": "judge,item\n1,2,3\n"}, r"a\.csv, line 2: 3 fields"),
        ({}, "holds no"),
    ],
)
def test_a_zip_that_is_no_table(tmp_path: Path, members: dict[str, str], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read(zipped(tmp_path / "t.zip", **members))


def test_a_zip_among_other_files(tmp_path: Path) -> None:
    zipped(tmp_path / "a.zip", **{"a.csv": CALLS})
    (tmp_path / "b.csv").write_text(CALLS)
    with pytest.raises(SchemaError, match="Give it alone"):
        read(str(tmp_path / "*"), strict=True)
    assert detect_format(str(tmp_path / "*")).unread == "1 of 2 files read; not read: a.zip (is a zip archive)"


@pytest.mark.parametrize("make", [lambda t: t.encode(), lambda t: zstd(t.encode())])
def test_streams(make: Callable[[str], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    raw = io.BytesIO(make(CALLS))
    for _ in range(2):  # one that can be rewound is read from its start
        assert read(raw)["item"].tolist() == ["1"]
    assert read(io.StringIO(CALLS))["item"].tolist() == ["1"]
    assert list(tmp_path.iterdir()) == []
    refused(
        SchemaError,
        (lambda: read(raw, lazy=True), "the source is a stream"),
        (lambda: read(io.BytesIO()), "standard input is empty"),
    )


def zstd(raw: bytes) -> bytes:
    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, "zstd") as packed:
        packed.write(raw)
    return bytes(out.getvalue())


def test_standard_input_of_the_command_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["check", "-"], input=CALLS)
    assert "1 rows: 1 used, 0 excluded" in result.output
    result = CliRunner().invoke(app, ["check", "-"], input=CALLS.replace("choice", "verdict"))
    assert "Next: judgestats check - --map" in result.output
    page = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["report", "-", "--out", str(page)], input=CALLS)
    assert result.exit_code == 0, result.output
    assert "standard input" in page.read_text(encoding="utf-8")


def test_zstd_that_is_cut_off(tmp_path: Path) -> None:
    whole = zstd((CALLS + "g,2,x,y,tie\n" * 3000).encode())
    for name, content in (("t", zstd(CALLS.encode())), ("cut", whole[: len(whole) // 2]), ("whole", whole)):
        (tmp_path / f"{name}.csv.zst").write_bytes(content)
    assert len(read(tmp_path / "t.csv.zst")) == 1
    refused(
        SchemaError,
        (lambda: read(tmp_path / "cut.csv.zst"), "zstd archive is truncated or damaged"),
        (lambda: read(tmp_path / "whole.csv.zst", max_unpacked=100), "unpacks to more than 100 bytes"),
    )


def test_the_folder_of_a_hugging_face_data_set(tmp_path: Path) -> None:
    """Shards of Parquet whose names give the split, beside descriptions that are no tables."""
    (tmp_path / "set" / "data").mkdir(parents=True)
    table = pd.read_csv(io.StringIO(CALLS), dtype=str)
    for split, n in (("train", 0), ("train", 1), ("test", 0)):
        shard = tmp_path / "set" / "data" / f"{split}-0000{n}-of-0000{2 if split == 'train' else 1}.parquet"
        table.assign(item=f"{split}{n}").to_parquet(shard)
    (tmp_path / "set" / "dataset_info.json").write_text("{}")
    (tmp_path / "set" / "README.md").write_text("words")
    calls = read(tmp_path / "set")
    assert calls[["item", "split"]].values.tolist() == [["test0", "test"], ["train0", "train"], ["train1", "train"]]
    told = source_info(tmp_path / "set").set_index("name")["note"]
    assert told["dataset_info.json"] == "not read: a description of the data set"


def test_names_that_are_not_utf_8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read, checked, reported and printed, with the odd bytes written out."""
    monkeypatch.chdir(tmp_path)
    folder = os.fsdecode(b"run_\xff")
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("this file system takes no such name")
    for judge in ("b", os.fsdecode(b"\xfe")):
        Path(folder, f"judge={judge}.csv").write_text("item,first,second,choice\n1,x,y,first\n1,y,x,first\n")
    for source in (folder, str(Path(folder, "*.csv"))):
        for lazy in (False, True):
            calls = js.read(source, lazy=lazy)
            assert set(js.answer_rates(calls)["judge"]) == {"b", r"\udcfe"}
            js.check(calls).to_json()
        assert js.read(source, path="judge={name}.csv")["name"].nunique() == 2
    commands = (["check", folder], ["check", "--json", folder], ["report", folder, "--out", "page.html"],
                ["report", folder, "--to", "md"])  # fmt: skip
    run = f"assert not any([app(command, standalone_mode=False) for command in {commands!a}])"
    run = f"from judgestats.cli import app; {run}"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert r"udcfe" in Path("page.html").read_text(encoding="utf-8")
    with pytest.raises(SchemaError, match="There is no file") as caught:
        js.read(os.fsdecode(b"none_\xff.csv"))
    assert str(caught.value).encode()


def test_names_on_windows() -> None:
    names = ["runs/a.csv", "NUL.csv", "a.csv:b", "a.csv. "]
    assert [name for name in names if elsewhere_on_windows(name)] == names[1:]
    assert [str(p) for p in in_order(map(PureWindowsPath, ["a.csv", "B.csv"]))] == ["B.csv", "a.csv"]


LINE = "judge,item,first,second,choice\n{},1,x,y,first\n{},1,y,x,second\n"
SECRET = "root:a-secret-line:0"


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder of a table, and links out of it: to another one, and to a folder."""
    folder, other = tmp_path / "folder", tmp_path / "other"
    for place, judge in ((folder, "g"), (other, "h")):
        place.mkdir()
        (place / f"{judge}.csv").write_text(LINE.format(judge, judge))
    (folder / "h.csv").symlink_to(other / "h.csv")
    (folder / "within.csv").symlink_to(folder / "g.csv")
    (folder / "linked").symlink_to(other)
    (other / "shadow").write_text(f"{SECRET}\n{SECRET}\n")
    return folder


def rows_of(source: object, level: str, **options: object) -> dict[str, tuple[int, str]]:
    """What `check` says of a source at a level: number and places by what it says."""
    found = js.check(js.read(source, **options))
    return {f["what"]: (f["n"], f["where"]) for f in found[found["level"] == level].to_dict("records")}


def test_a_link_out_of_a_folder_is_read_and_named_with_its_target(linked: Path) -> None:
    for source in (
        linked,
        str(linked / "*.csv"),
        [linked],
        [str(linked / "*.csv")],
        [linked / "g.csv", str(linked / "h*")],
    ):
        assert set(js.read(source)["judge"]) == {"g", "h"}
        said = rows_of(source, "counted")["file is a link that leads out"]
        assert said == (1, f"h.csv -> {os.path.realpath(linked.parent / 'other' / 'h.csv')}")
    assert "file is a link that leads out" not in rows_of(
        [linked / "g.csv", linked / "h.csv"], "counted"
    )  # named itself
    (linked / "h.csv").unlink()
    assert "file is a link that leads out" not in rows_of(linked, "counted")


@pytest.mark.parametrize("name", ["secret.csv", "secret.json", "secret.jsonl", "secret.tsv", "secret.parquet"])
@pytest.mark.parametrize("alone", [False, True])
def test_nothing_of_a_link_out_of_a_folder_is_quoted(linked: Path, name: str, alone: bool) -> None:
    if alone:
        for path in linked.iterdir():
            path.unlink()
    (linked / name).symlink_to(linked.parent / "other" / "shadow")
    for run in (
        lambda: js.read(linked),
        lambda: js.read(linked, strict=True),
        lambda: js.read(linked, columns={"judge": "nobody"}),
        lambda: js.read(str(linked / "s*"), wide="judge=*"),
        lambda: js.read(linked, lazy=True),
        lambda: js.read([linked]),
        lambda: js.read([linked], strict=True),
        lambda: js.read([str(linked / "s*")], columns={"judge": "nobody"}),
        lambda: js.read([str(linked / "s*")], lazy=True),
        lambda: js.detect_format(linked),
        lambda: js.check(js.read(linked)).to_string(),
    ):
        try:
            said = str(run())
        except SchemaError as error:
            said = f"{error} {error.faults} {error.advice} {error.problem} {error.__cause__}"
        assert "secret-line" not in said
    with pytest.raises(SchemaError):
        js.read(linked / name)


def test_files_of_a_folder_that_are_not_read_have_a_row(linked: Path, tmp_path: Path) -> None:
    (linked / ".hidden.csv").write_text(LINE)
    (linked / "notes.txt").write_text("x")
    expected = {
        "file not read: hidden": (1, ".hidden.csv"),
        "file not read: unknown format": (1, "notes.txt"),
        "file not read: a link to a folder": (1, "linked"),
    }
    assert rows_of(linked, "file") == expected
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        for name in ("g.csv", ".hidden.csv", "notes.txt"):
            archive.write(linked / name, name)
    named = {"file not read: hidden": (1, ".hidden.csv"), "file not read: unknown format": (1, "notes.txt")}
    assert rows_of(tmp_path / "z.zip", "file") == named


def test_a_folder_that_may_not_be_entered_says_so(linked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (linked / "closed").mkdir()
    (linked / "closed" / "i.csv").write_text(LINE)
    scandir, closed = os.scandir, {str(linked / "closed")}

    def guarded(path: object = ".") -> object:
        if os.fspath(path) in closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    assert rows_of(linked, "file")["file not read: Permission denied"] == (1, "closed")
    closed.add(str(linked))
    with pytest.raises(SchemaError, match="may not be entered \\(Permission denied\\)"):
        js.read(linked)


def test_of_two_values_in_a_path_it_is_said_which_counts(tmp_path: Path) -> None:
    for name in ("judge=a/judge=b.csv", "judge=a/judge=c.csv", "judge=d/judge=d.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(LINE.replace("judge,", "").replace("{},", ""))
    assert set(js.read(tmp_path)["judge"]) == {"b", "c", "d"}
    assert rows_of(tmp_path, "counted") == {
        "judge is 'b' by the path, not 'a'": (1, "judge=a/judge=b.csv"),
        "judge is 'c' by the path, not 'a'": (1, "judge=a/judge=c.csv"),
    }
