"""The folder of a plan: what was tampered with is refused, unless it is trusted; nothing outside is read; what was filled in is kept."""

from __future__ import annotations

import io
import json
import os
from functools import partial
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from judgestats.cli import app
from judgestats.design import Judge, Plan, build, collect, export, simulate_replies, vacuum
from judgestats.design.exports import write_with_calls
from judgestats.errors import DesignError

PLAN = vacuum("m", calls=6)


@pytest.fixture
def folder(tmp_path):
    return PLAN.write(tmp_path / "plan")


def change(folder, **fields):
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def same(plan):
    assert plan.calls["call"].tolist() == PLAN.calls["call"].tolist()


def test_digests_that_do_not_fit_or_are_missing_are_refused_unless_trusted(folder):
    texts = folder / "texts.jsonl"
    texts.write_text(texts.read_text() + "\n")
    with pytest.raises(DesignError, match=r"texts\.jsonl' was changed after the plan was written.*trust=True"):
        Plan.read(folder)
    same(Plan.read(folder, trust=True))
    digests = json.loads((folder / "manifest.json").read_text())["sha256"]
    for kept in ({}, {k: v for k, v in digests.items() if k != "texts.jsonl"}):
        change(folder, sha256=kept)
        with pytest.raises(DesignError, match="has no digest in its manifest"):
            Plan.read(folder)
        same(Plan.read(folder, trust=True))


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "sub/file", "extra.txt"])
@pytest.mark.parametrize("trust", [False, True])
def test_a_manifest_names_no_other_files(folder, name, trust):
    (folder.parent / "secret").write_text("x")
    change(folder, sha256={name: sha256(b"x").hexdigest()})
    with pytest.raises(DesignError, match="is no part of a plan"):
        Plan.read(folder, trust=trust)


@pytest.mark.parametrize("name", ["calls.parquet", "texts.jsonl", "prompts.json", "manifest.json"])
@pytest.mark.parametrize("trust", [False, True])
def test_parts_are_regular_files(folder, name, trust):
    (folder / name).rename(folder.parent / name)
    (folder / name).symlink_to(folder.parent / name)
    with pytest.raises(DesignError, match="is a link or no regular file"):
        Plan.read(folder, trust=trust)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(DesignError, match="is a link or no regular file"):
        Plan.read(folder, trust=trust)


@pytest.mark.parametrize(
    "content", ["", "[]", "null", '{"sha256": 3}', '{"about": [], "sha256": {}}', "[" * 100_000, "\xff"]
)
def test_damaged_manifests_are_no_plan(folder, content):
    (folder / "manifest.json").write_text(content, encoding="latin-1")
    with pytest.raises(DesignError, match="holds no plan"):
        Plan.read(folder, trust=True)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for overwrite in (False, True):
        with pytest.raises(DesignError, match=r"no plan's or is damaged.*move that one away") as refused:
            PLAN.write(folder, overwrite=overwrite)
        assert "another plan" not in str(refused.value)
        assert not refused.value.advice
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_commands_have_an_option_for_it(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    simulate_replies(PLAN, Judge("m")).to_json("answers.jsonl", orient="records", lines=True)
    change(folder, sha256={})
    refused = CliRunner().invoke(app, ["collect", "plan", "answers.jsonl"])
    assert refused.exit_code == 2
    assert "On the command line: --trust" in refused.output
    assert not Path("verdicts.csv").exists()
    assert CliRunner().invoke(app, ["collect", "plan", "answers.jsonl", "--trust"]).exit_code == 0


def test_tables_written_from_a_plan_are_known_to_the_manifest_alone(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    simulate_replies(PLAN, Judge("m")).to_json("answers.jsonl", orient="records", lines=True)
    assert CliRunner().invoke(app, ["collect", "plan", "answers.jsonl"]).exit_code == 0
    written = json.loads((folder / "manifest.json").read_text())["written"]
    assert written == [sha256(Path("verdicts.csv").read_bytes()).hexdigest()]
    same(Plan.read(folder))
    PLAN.write(folder)  # the same plan: what was written from it stays known
    assert json.loads((folder / "manifest.json").read_text())["written"] == written


def test_answers_with_the_ids_of_earlier_releases_are_collected(folder):
    """Ids began with a digit or a letter before; the rest is the same."""
    replies = simulate_replies(PLAN, Judge("m"))
    old = replies.assign(call=replies["call"].str[1:])
    assert collect(folder, old.to_dict("records"))["call"].tolist() == PLAN.calls["call"].tolist()


def test_no_secret_stands_in_a_manifest(tmp_path):
    pairs = pd.DataFrame({"item": ["1"], "first": "u", "second": "v", "task_text": "Go.", "first_text": "a"})
    pairs = pairs.assign(second_text="b")
    address = "postgresql://ann:s3cret@db/calls"
    about = {"from": address, "api_key": "s3cret", "sources": [{"file": "https://h/x.csv?token=s3cret&run=2"}], "n": 3}
    plan = build(pairs, judges="m", about=about)
    plan.write(tmp_path / "p")
    assert b"s3cret" not in b"".join(path.read_bytes() for path in (tmp_path / "p").iterdir())
    said = dict(Plan.read(tmp_path / "p").about)
    assert said["from"] == "postgresql://ann:***@db/calls"
    assert said["sources"] == [{"file": "https://h/x.csv?token=***&run=2"}]
    assert said["n"] == 3
    plan.write(tmp_path / "p")  # the same plan still
    with pytest.raises(DesignError, match=r"'postgresql://ann:\*\*\*@db/calls' has a secret in its name"):
        build(pairs, judges=["m", address])


@pytest.mark.parametrize("written", ["abc", {"a": 1}, None])
def test_a_list_of_tables_that_is_none_is_no_plan(folder, written):
    change(folder, written=written)
    with pytest.raises(DesignError, match="holds no plan"):
        Plan.read(folder, trust=True)


@pytest.mark.parametrize(
    ("part", "altered", "why"),
    [
        ("calls.parquet", lambda t: t.drop(columns="call"), "no column 'call'"),
        ("calls.parquet", lambda t: t.drop(columns="judge"), "no column 'judge'"),
        ("calls.parquet", lambda t: t.assign(prompt="other"), "the prompt 'other', which is not there"),
        ("prompts.json", lambda t: [{**t[0], "name": ["a"]}], "unhashable"),
        ("prompts.json", lambda t: [*t, 3], "must be a mapping"),
    ],
)
def test_a_trusted_plan_whose_parts_do_not_fit_is_no_plan(folder, part, altered, why):
    path = folder / part
    if part.endswith(".json"):
        path.write_text(json.dumps(altered(json.loads(path.read_text()))))
    else:
        altered(pd.read_parquet(path)).to_parquet(path)
    with pytest.raises(DesignError, match=f"holds no plan.*{why}"):
        Plan.read(folder, trust=True)


# what people and runners filled in


def as_table(change):
    """A shape of a filled form or table of calls: its columns, with an answer in one that is to be filled in."""

    def shape(content: bytes) -> bytes:
        table = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
        column = "comment" if "comment" in table else "answer"
        return change(table.assign(**{column: ["3, since \xe9", *[""] * (len(table) - 1)]}))

    return shape


def text(table, **options) -> bytes:
    return table.to_csv(index=False, **options).encode()


def workbook(table) -> bytes:
    out = io.BytesIO()
    table.to_excel(out, index=False)
    return out.getvalue()


def records(content: bytes) -> list[dict[str, object]]:
    return [{**json.loads(line), "answer": "A"} for line in content.splitlines()]


#: How a filled table comes back from a spreadsheet, an editor or a script.
TABLES = {
    "as it is": as_table(text),
    "a title above the header": as_table(lambda t: b"Form of Ann\n" + text(t)),
    "an empty line and a remark below it": as_table(lambda t: b"\n# sent in May\n" + text(t)),
    "the header gone": as_table(lambda t: text(t, header=False)),
    "call removed": as_table(lambda t: text(t.drop(columns="call"))),
    "call renamed": as_table(lambda t: text(t.rename(columns={"call": "id"}))),
    "item added": as_table(lambda t: text(t.assign(item="1"))),
    "item first": as_table(lambda t: text(t[t.columns[::-1]].assign(item="1")[["item", *t.columns[::-1]]])),
    "semicolons in a code page": as_table(lambda t: t.to_csv(index=False, sep=";").encode("cp1252")),
    "tabs in 16 bits": as_table(lambda t: t.to_csv(index=False, sep="\t").encode("utf-16")),
    "a workbook": as_table(workbook),
    "a page": as_table(lambda t: t.to_html(index=False).encode()),
    "a column of the plan typed over": as_table(lambda t: text(t.assign(**{t.columns[1]: "A", t.columns[-1]: ""}))),
    "a signature at the end": lambda content: content + b"Ann\n",
    "gone but for the answers": lambda _: b"4\n5\n",
    "empty": lambda _: b"",
}
LINES = {
    "answers added": lambda c: "".join(json.dumps(r) + "\n" for r in records(c)).encode(),
    "an array": lambda c: json.dumps(records(c)).encode(),
    "pretty-printed": lambda c: "\n".join(json.dumps(r, indent=2) for r in records(c)).encode(),
    "an array, pretty-printed": lambda c: json.dumps(records(c), indent=2).encode(),
    "call renamed": lambda c: json.dumps([{"id": r.pop("call"), **r} for r in records(c)]).encode(),
    "replies in place of the messages": lambda c: "".join(json.dumps({**json.loads(x), "user": "A"}) + "\n" for x in c.splitlines()).encode(),
    "answers of a batch": lambda c: b'{"custom_id": "x", "response": {"body": {}}}\n',
}  # fmt: skip
SHAPES = [
    *((format, name, shape) for format in ("form", "csv") for name, shape in TABLES.items()),
    *((format, name, shape) for format in ("jsonl", "openai") for name, shape in LINES.items() if format == "jsonl" or "batch" in name),
]  # fmt: skip


def rated(text: str) -> Plan:
    """A plan of ratings whose calls have this text."""
    responses = pd.DataFrame(
        {"item": ["1", "2"], "system": "s", "task_text": "Say hello.", "response_text": [text, "No."]}
    )
    return build(responses, judges="m", prompts="likert")


@pytest.mark.parametrize(("format", "name", "shape"), SHAPES, ids=[f"{f}, {n}" for f, n, _ in SHAPES])
def test_a_filled_form_or_table_of_calls_is_kept_in_whatever_shape_it_comes_back(tmp_path, format, name, shape):
    """By `plan`, by `export` and by `Plan.write`, over the same plan, over another, and where no plan says how it was."""
    write = partial(write_with_calls, format=format, inputs=())
    (path,) = write(rated("Hello."), tmp_path / "p", overwrite=False)
    (loose,) = export(rated("Hello."), tmp_path / "loose", format)
    filled = shape(path.read_bytes())
    for file in (path, loose):
        file.write_bytes(filled)
    before = {p.name: p.read_bytes() for p in (tmp_path / "p").iterdir()}
    for overwrite in (False, True):
        for message, attempt in (
            (f"{path.name}.*was changed since it was written.*Move it away", partial(write, rated("Hello."), tmp_path / "p")),
            (f"holds another plan.*'{path.name}'.*move these files away", partial(write, rated("Hi."), tmp_path / "p")),
            (f"holds another plan.*'{path.name}'.*move these files away", partial(Plan.write, rated("Hi."), tmp_path / "p")),
            (f"{path.name}.*was changed since it was written", partial(export, rated("Hi."), tmp_path / "p", format)),
            (f"{path.name}.*nothing says how it was written", partial(export, rated("Hi."), tmp_path / "loose", format)),
        ):  # fmt: skip
            with pytest.raises(DesignError, match=message):
                attempt(overwrite=overwrite)
            assert {p.name: p.read_bytes() for p in (tmp_path / "p").iterdir()} == before, message
    assert loose.read_bytes() == filled


def test_what_is_as_it_was_written_is_replaced_and_known_again(tmp_path):
    """By `plan --overwrite` and by `export`; of an older plan, whose manifest has no digests of forms, nothing is."""
    write = partial(write_with_calls, folder=tmp_path / "p", inputs=())
    (form,) = write(rated("Hello."), format="form", overwrite=False)
    export(rated("Hello."), tmp_path / "p", "csv")
    with pytest.raises(DesignError, match=r"holds another plan\. Give a new folder, or pass overwrite=True"):
        write(rated("Hi."), format="form", overwrite=False)
    write(rated("Hi."), format="form", overwrite=True)
    assert b"Hi." in form.read_bytes()
    assert b"Hello." in (tmp_path / "p" / "calls.csv").read_bytes()  # of the plan before, and still known
    export(rated("Hi."), tmp_path / "p", "csv", overwrite=True)
    assert b"Hi." in (tmp_path / "p" / "calls.csv").read_bytes()
    write(rated("Hey."), format="csv", overwrite=True)
    change(tmp_path / "p", files={})
    with pytest.raises(DesignError, match=r"holds another plan.*'calls.csv', 'form.m.csv'"):
        write(rated("Ho."), format="csv", overwrite=True)
    change(tmp_path / "p", files={"../calls.csv": "0"})
    with pytest.raises(DesignError, match="is no name of a file"):
        Plan.read(tmp_path / "p", trust=True)


@pytest.mark.parametrize("name", ["stage2/manifest.json", "collected/1/a.jsonl", "rest/form.m.csv", "answers.csv"])
def test_another_plan_is_kept_with_all_that_came_after_it(folder, name):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("paid for")
    for overwrite in (False, True):
        with pytest.raises(DesignError, match=f"with later stages, answers.*{name}"):
            rated("Hi.").write(folder, overwrite=overwrite)
    (folder / name).unlink()
    (folder / ".DS_Store").write_text("")
    rated("Hi.").write(folder, overwrite=True)
    assert Plan.read(folder).kind == "ratings"
