"""The folder of a plan: what was tampered with is refused, unless it is trusted, and nothing outside is read."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from judgestats.cli import app
from judgestats.design import Judge, Plan, build, collect, simulate_replies, vacuum
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
    with pytest.raises(DesignError, match="holds another plan"):
        PLAN.write(folder)


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
