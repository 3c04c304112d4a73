"""The contract of a reader: every record is read or excluded with a reason, and other packages may add readers."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import formats_page
import pytest

import judgestats as js
from judgestats.errors import SchemaError
from judgestats.ingest import Place, Reader, detect_format, formats, registry
from judgestats.ingest.files import File
from judgestats.schema.account import account_of


def rows(record: dict[str, Any], place: Place) -> Any:
    """One row per grade; a record of people's comments has none."""
    for name, value in record.get("grades", {}).items():
        if value is None:
            place.exclude("not graded", f"grade {name}")
        else:
            yield {"judge": record["grader"], "system": "s", "item": record["id"], "criterion": name, "score": value}


TOY = Reader(
    name="toy",
    frame="ratings",
    about="grades of a toy tool",
    example='{"grader": ..., "id": ..., "grades": {...}}',
    matches=lambda record: "records have grader and grades" if {"grader", "grades"} <= set(record) else "",
    rows=rows,
)
RECORDS = [
    {"grader": "g", "id": 1, "grades": {"style": 3, "truth": None}},
    {"grader": "g", "id": 2, "comment": "no grade here"},
    {"grader": "g", "id": 3, "grades": {"style": 5, "truth": 4}},
]


@pytest.fixture
def _toy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(registry, "NATIVE", (*registry.NATIVE, TOY))
    registry.native_readers.cache_clear()
    yield
    registry.native_readers.cache_clear()


@pytest.mark.usefixtures("_toy")
def test_rows_in_are_rows_used_and_excluded(write: Any) -> None:
    data = js.read(write("toy.jsonl", RECORDS))
    assert data["score"].tolist() == [3.0, 5.0, 4.0]
    account = account_of(data)
    assert account is not None
    assert account.records == 3
    assert list(account.places) == ["toy.jsonl, line 1", "toy.jsonl, line 3", "toy.jsonl, line 3"]
    assert [(e.place, e.reason) for e in account.excluded] == [
        ("toy.jsonl, line 1, grade truth", "not graded"),
        ("toy.jsonl, line 2", "no verdict in the record"),
    ]
    found = js.check(data).set_index("what")
    assert found.loc[["rows in", "rows used", "rows excluded"], "n"].tolist() == [5, 3, 2]
    assert found.loc["not graded", "where"] == "toy.jsonl, line 1, grade truth"


@pytest.mark.usefixtures("_toy")
def test_a_part_of_the_frame_has_no_account(write: Any) -> None:
    data = js.read(write("toy.jsonl", RECORDS))
    assert account_of(data[data["criterion"] == "style"]) is None
    assert account_of(data.copy()) is account_of(data)
    assert js.check(data.iloc[:1]).set_index("what").loc["rows in", "n"] == 1


@pytest.mark.usefixtures("_toy")
def test_a_log_without_a_verdict_is_refused_with_the_reasons(write: Any) -> None:
    with pytest.raises(SchemaError, match=r"toy\.jsonl: the toy format .* none of its 1 record .*\(not graded\)"):
        js.read(write("toy.jsonl", [{"grader": "g", "id": 1, "grades": {"style": None}}]))


TOY_PACKAGE = """
from judgestats.ingest import Reader

def rows(record, place):
    yield {"judge": place.need(record, "grader"), "system": "s", "item": record["id"], "score": record["points"]}

READER = Reader("toytool", "ratings", "a toy", "{}", matches=lambda r: "toy" if "points" in r else "", rows=rows)
"""


def test_another_package_adds_a_reader(tmp_path: Path) -> None:
    """As installed: a module and an entry point; the reader is listed, recognised and used."""
    (tmp_path / "toytool.py").write_text(TOY_PACKAGE)
    info = tmp_path / "toytool-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toytool\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[judgestats.readers]\ntoytool = toytool:READER\n")
    (tmp_path / "log.jsonl").write_text(json.dumps({"grader": "g", "id": "1", "points": 4}) + "\n")
    script = (
        "import judgestats as js; from judgestats.ingest import detect_format, formats;"
        "print(detect_format('log.jsonl').format, js.read('log.jsonl')['score'].tolist(), 'toytool' in set(formats()['name']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, '.'); {script}"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split("\n")[0] == "toytool [4.0] True"


BROKEN = """
from judgestats.ingest import Reader

class Unruly:
    @property
    def name(self): raise RuntimeError("unruly")

def reader(name="odd", matches=lambda r: "odd" if "odd" in r else "", rows=lambda r, place: [], **more):
    return Reader(name, more.pop("frame", "ratings"), "odd", "{}", matches=matches, rows=rows, **more)

def fails(*args):
    raise ZeroDivisionError("division of postgresql://ann:s3cr3t@host/db")

def fails_late(record, place):
    yield {"judge": "g", "system": "s", "item": "1", "score": 1}
    fails()

PLAIN, NAMELESS, SOUND = reader("csv"), reader(None), reader("sound", rows=lambda r, place: [dict(r["odd"], judge="g")])
KIND, PLACE, UNCALLED = reader(frame="either"), reader(containers=("pdf",)), reader(matches=3)
MATCHES, ROWS, LATE = reader(matches=fails), reader(rows=fails), reader(rows=fails_late)
TEXTS, RECORDS = reader(rows=lambda r, place: ["text"]), reader(records=fails)
"""


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Readers of a package, by what its entry points name."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "broken_tool.py").write_text(BROKEN)
    (package / "broken_syntax.py").write_text("def (:\n")
    (package / "broken_exit.py").write_text("raise SystemExit(3)\n")
    info = package / "broken_tool-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-tool\nVersion: 1\n")
    monkeypatch.syspath_prepend(package)
    distribution = importlib.metadata.Distribution.at(info)

    def enter(**values: str) -> None:
        lines = "\n".join(f"{name} = {value}" for name, value in values.items())
        (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{lines}\n")
        monkeypatch.setattr(registry, "entry_points", lambda group: distribution.entry_points.select(group=group))
        registry.native_readers.cache_clear()

    yield enter
    registry.native_readers.cache_clear()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_module:READER", r"could not be loaded \(ModuleNotFoundError"),
        ("broken_tool:NOWHERE", r"could not be loaded \(AttributeError"),
        ("broken_syntax:READER", r"could not be loaded \(SyntaxError"),
        ("broken_exit:READER", r"could not be loaded \(SystemExit: 3"),
        ("judgestats.ingest.readers:Place", r"is a type, not a judgestats\.ingest\.Reader"),
        ("broken_tool:Unruly", "is a type, not a"),
        ("broken_tool:UNCALLED", "is a Reader, not a judgestats.ingest.Reader with matches= and rows="),
        ("broken_tool:NAMELESS", "is a reader with name=None"),
        ("broken_tool:KIND", "is a reader with name='odd', frame='either'"),
        ("broken_tool:PLACE", r"has containers=\('pdf',\)"),
        ("broken_tool:PLAIN", "names a reader 'csv', and there is one"),
        ("judgestats.ingest.native.judgebench:READER", "names a reader 'judgebench', and there is one"),
    ],
)
def test_an_entry_point_that_gives_no_reader_is_left_out(points: Any, write: Any, value: str, message: str) -> None:
    """With a warning that names it; every other reader works on, those of the same package, too."""
    points(odd=value, sound="broken_tool:SOUND", twin="broken_tool:SOUND")
    with pytest.warns(UserWarning, match=f"entry point 'odd' .* of the package broken-tool {message}") as caught:
        listed = set(formats()["name"])
    assert len(caught) == 2
    assert "'twin'" in str(caught[1].message)
    assert "names a reader 'sound', and there is one" in str(caught[1].message)
    assert listed == {r.name for r in (*registry.NATIVE, *registry.PLAIN)} | {"sound"}
    data = js.read(write("odd.jsonl", [{"odd": {"system": "s", "item": "1", "score": 2}}]))
    assert data["score"].tolist() == [2.0]


def test_a_reader_that_fails_to_look_at_a_file_does_not_match(points: Any, write: Any) -> None:
    points(odd="broken_tool:MATCHES", sound="broken_tool:SOUND")
    with pytest.warns(UserWarning, match="entry point 'odd' .* failed to tell .*ZeroDivisionError") as caught:
        data = js.read(write("odd.jsonl", [{"odd": {"system": "s", "item": "1", "score": 2}}]))
    assert data["score"].tolist() == [2.0]
    assert not any("s3cr3t" in str(w.message) for w in caught)


@pytest.mark.parametrize(
    ("name", "place", "message"),
    [
        ("ROWS", "odd.jsonl, line 1", "ZeroDivisionError"),
        ("LATE", "odd.jsonl, line 1", "ZeroDivisionError"),
        ("TEXTS", "odd.jsonl, line 1", "it gave a str in place of a Mapping"),
        ("RECORDS", "odd.json", "ZeroDivisionError"),
    ],
)
def test_a_chosen_reader_that_fails_is_named(points: Any, write: Any, name: str, place: str, message: str) -> None:
    points(odd=f"broken_tool:{name}")
    path = write(place.partition(",")[0], '{"odd": 1}')
    with pytest.raises(
        SchemaError, match=f"{place}: The entry point 'odd' .* broken-tool failed .*{message}"
    ) as caught:
        js.read(path)
    assert "s3cr3t" not in "".join(traceback.format_exception(caught.value))
    assert js.read(write("calls.csv", "judge,system,item,score\ng,s,1,2\n"))["score"].tolist() == [2]


def test_a_frame_that_a_tool_gives_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names of its columns are the evidence, and its cells stay what they are."""
    import pandas as pd

    table = Reader(
        "toyframe", "ratings", "a frame", "", containers=("parquet",),
        matches=lambda names: "column grade_of" if "grade_of" in names else "",
        rows=lambda record, place: [
            {"judge": "g", "system": "s", "item": k, "score": v} for k, v in record["grade_of"].items()
        ],
    )  # fmt: skip
    monkeypatch.setattr(registry, "NATIVE", (table,))
    registry.native_readers.cache_clear()
    try:
        data = js.read(pd.DataFrame({"grade_of": [{"a": 1, "b": 2}, {"c": 3}]}))
        assert data["score"].tolist() == [1.0, 2.0, 3.0]
        assert account_of(data).places[2] == "DataFrame, row 1"
    finally:
        registry.native_readers.cache_clear()


@pytest.mark.usefixtures("_toy")
def test_detection_names_the_evidence(write: Any) -> None:
    found = detect_format(write("toy.jsonl", RECORDS))
    assert (found.format, found.confidence, found.why) == ("toy", "native", "records have grader and grades")


SOUND: dict[str, dict[str, Any]] = {
    "fastchat_pair": {"question_id": 1, "model_1": "a", "model_2": "b", "g1_winner": "tie", "g2_winner": "tie", "judge": ["j", "p"]},
    "fastchat_single": {"question_id": 1, "model": "a", "judge": ["j", "p"], "score": 3},
    "arena_hard": {"question_id": "q", "model": "m", "judge": "j", "games": [{"score": "A>B"}]},
    "judgebench": {
        "pair_id": "p", "label": "A>B", "judgments": [{"judgment": {"judge_model": "j"}, "decision": "A>B"}],
    },
    "llmbar": {
        "output_1": "", "output_2": "", "label": 1,
        "results": [{"swap = False": {"winner": "1"}, "swap = True": {"winner": "2"}}],
    },
    "alpaca_eval": {"annotator": "g", "generator_1": "a", "generator_2": "b", "output_1": "", "preference": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_unknown_fields_with_one_value_are_conditions(write: Any, name: str) -> None:
    """``temperature`` is a condition; a text that is read, and a nested field, is none."""
    options = {"judge": "g", "strategy": "s"} if name == "llmbar" else {}
    data = js.read(write("log.jsonl", [{**SOUND[name], "temperature": 0.5, "usage": {"tokens": 3}}]), **options)
    assert data["temperature"].tolist() == [0.5] * len(data)
    assert "usage" not in data
    assert "generator_1" not in data


def test_the_page_of_formats_is_generated() -> None:
    """docs/formats.md is written by benchmarks/formats_page.py."""
    assert formats_page.PAGE.read_text(encoding="utf-8") == formats_page.page()


EXPORTS = sorted(p for p in (Path(__file__).parent / "data").iterdir() if p.suffix in (".json", ".csv"))


@pytest.mark.parametrize("path", EXPORTS, ids=lambda p: p.name)
def test_one_reader_recognises_an_export(path: Path) -> None:
    """The files of labelling and tracing tools."""
    record = File(path, path.suffix[1:]).first_record() or dict.fromkeys(File(path, "csv").column_names())
    found = [r.name for r in registry.native_readers() if r.matches is not None and r.matches(record)]
    assert found == [detect_format(path).format]
