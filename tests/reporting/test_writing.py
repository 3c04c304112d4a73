"""A page takes the place of nothing that was read, and of an older page only when it is complete."""

import errno
import os

import pandas as pd
import pytest
from typer.testing import CliRunner

import judgestats as js
from judgestats.cli import app
from judgestats.errors import DesignError
from judgestats.ingest import source_info
from judgestats.published import audited
from judgestats.reporting import audit_page, pages

CALLS = "judge,item,first,second,choice\ng,1,x,y,first\ng,1,y,x,second\n"
TABLE, RULES = "model,a,b,total\nm,1,2,3\n", '[[rule]]\nrule = "sum"\nparts = ["a", "b"]\ntotal = "total"\n'


@pytest.fixture
def files(tmp_path):
    for name in ("in.csv", "second.csv"):
        (tmp_path / name).write_text(CALLS.replace("g,", f"{name[0]},"))
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "link.html").symlink_to(tmp_path / "in.csv")
    os.link(tmp_path / "in.csv", tmp_path / "hard.html")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        (["report", "{}/in.csv", "--out", "{}/in.csv"], "in.csv"),
        (["report", "{}/in.csv", "--out", "{}/link.html"], "in.csv"),
        (["report", "{}/in.csv", "--out", "{}/hard.html"], "hard.html"),
        (["report", "{}/*n*.csv", "--out", "{}/./second.csv"], "second.csv"),
        (["audit", "{}/table.csv", "--rules", "{}/rules.toml", "--out", "{}/table.csv"], "table.csv"),
        (["audit", "{}/table.csv", "--rules", "{}/rules.toml", "--out", "{}/rules.toml"], "rules.toml"),
    ],
)
def test_no_command_writes_over_what_it_reads(files, command, kept):
    before = (files / kept).read_text()
    result = CliRunner().invoke(app, [part.format(files) for part in command])
    assert result.exit_code == 2
    assert "is a file that was read" in result.output
    assert (files / kept).read_text() == before


def test_the_functions_refuse_it_where_they_know_the_path(files):
    data = js.read(files / "in.csv")
    for source in (source_info(files / "in.csv"), {"files": source_info(files / "in.csv")}):
        with pytest.raises(DesignError, match="is a file that was read"):
            js.report(data, files / "link.html", source=source)
    with pytest.raises(DesignError, match="is a file that was read"):
        audit_page(audited(files / "table.csv", rules=files / "rules.toml"), files / "table.csv")
    paper = audited("dark_current")
    with pytest.raises(DesignError, match="is a file that was read"):
        audit_page(paper, paper[0].files[0])
    assert (files / "in.csv").read_text() == CALLS.replace("g,", "i,")


def test_a_full_disk_leaves_the_old_page(files, monkeypatch):
    path = pages.write(files / "page.html", "old")
    path.chmod(0o640)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(DesignError, match="No space left"):
            pages.write(path, "new")
    assert path.read_text() == "old"
    assert not list(files.glob(".*.tmp"))
    pages.write(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


def test_a_link_stays_a_link_and_a_device_a_device(files):
    (files / "latest.html").symlink_to(files / "dated.html")
    pages.write(files / "latest.html", "page")
    assert (files / "latest.html").is_symlink()
    assert (files / "dated.html").read_text() == "page"
    pages.write(os.devnull, "page")
    assert not os.path.isfile(os.devnull)


def test_a_new_page_has_the_permissions_of_a_new_file(files):
    plain = files / "plain.html"
    plain.write_text("")
    assert pages.write(files / "page.html", "page").stat().st_mode == plain.stat().st_mode


def test_a_page_is_of_what_was_read(files):
    page = js.report(js.read(files / "in.csv"), files / "page.html", source=source_info(files / "in.csv"))
    assert "in.csv" in page.read_text(encoding="utf-8")
    assert str(files) not in page.read_text(encoding="utf-8")
    assert isinstance(source_info(files / "in.csv"), pd.DataFrame)
