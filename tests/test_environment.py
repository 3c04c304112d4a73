"""Versions: one place, said in one way by the package, its metadata and its commands."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import judgestats as js
from judgestats import environment

ROOT = Path(__file__).parents[1]


def test_the_version_stands_in_one_place():
    assert js.__version__ == version("judgestats")
    assert f"version: {js.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert js.__version__ in (ROOT / "docs" / "citing.md").read_text()
    assert environment.full_version() == js.__version__  # this is no build


def test_a_build_says_its_commit(tmp_path, monkeypatch):
    (tmp_path / "_commit.txt").write_text("0123456789ab\n")
    monkeypatch.setattr(environment, "files", lambda _: tmp_path)
    assert environment.full_version() == f"{js.__version__} (commit 0123456789ab)"


def test_versions_name_what_is_there_and_what_is_missing(capsys, monkeypatch):
    js.show_versions()
    text = capsys.readouterr().out
    assert f"judgestats      {js.__version__}" in text
    for name in ("Python", "platform", "compiled code", "numpy", "pandas", "numba", "duckdb", "[bayes]", "[sql]"):
        assert f"\n{name}" in text, name
    installed = environment._installed
    monkeypatch.setattr(environment, "_installed", lambda n: "missing" if n == "pymc" else installed(n))
    js.show_versions()
    assert 'missing: pymc (pip install "judgestats[bayes]")' in capsys.readouterr().out


@pytest.mark.parametrize("argument", ["--version", "--versions"])
def test_the_module_is_the_command(argument):
    """``python -m judgestats`` as ``judgestats``, with commands that are defined late in the module."""
    run = [sys.executable, "-m", "judgestats"]
    said = subprocess.run([*run, argument], capture_output=True, text=True, check=True).stdout
    assert js.__version__ in said.splitlines()[0]
    shown = subprocess.run([*run, "prompts", "pairwise"], capture_output=True, text=True, check=True).stdout
    assert "{{ first }}" in shown
