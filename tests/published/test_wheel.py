"""The wheel, installed outside the checkout: it holds the published tables, and reads, measures, audits and reports."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLES = len(list((ROOT / "data").rglob("*.csv")))
CALLS = "judge,item,first,second,choice\ng,1,x,y,first\ng,1,y,x,second\ng,2,x,y,first\ng,2,y,x,first\n"


def built(kind, folder):
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The wheel, without its dependencies, in a folder of its own."""
    folder = tmp_path_factory.mktemp("site")
    options = ["--no-deps", "--no-index", "--no-compile", "--quiet", "--target", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(wheel)], check=True, capture_output=True)
    return folder


def run(folder, cwd, *command):
    """What a command prints where the package is that of `folder`."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=cwd, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_from(folder, cwd):
    code = "import judgestats, judgestats.published as p; print(judgestats.__file__, p.data_folder(), len(p.tables()), sep='\\n')"
    module, data, count = run(folder, cwd, sys.executable, "-c", code).splitlines()
    return Path(module), Path(data), int(count)


@pytest.mark.slow
def test_the_wheel_finds_its_own_data(installed, tmp_path):
    module, data, count = loaded_from(installed, tmp_path)
    assert module.is_relative_to(installed)
    assert data == installed / "judgestats" / "_data"
    assert count == TABLES


@pytest.mark.slow
def test_the_source_tree_finds_the_same(tmp_path):
    module, data, count = loaded_from(ROOT / "src", tmp_path)
    assert module.is_relative_to(ROOT / "src")
    assert data == ROOT / "data"
    assert count == TABLES


@pytest.mark.slow
def test_the_wheel_reads_measures_and_audits(installed, tmp_path):
    (tmp_path / "calls.csv").write_text(CALLS)
    code = """
import judgestats as js
calls = js.read("calls.csv")
print(js.__file__)
print(js.consistency(calls, cluster=False).set_index("term")["estimate"]["consistency"])
print(len(js.audit("dark_current")) > 100)
"""
    module, estimate, audited = run(installed, tmp_path, sys.executable, "-c", code).split()
    assert Path(module).is_relative_to(installed)
    assert float(estimate) == 0.5
    assert audited == "True"


@pytest.mark.slow
def test_the_command_of_the_wheel_checks_and_reports(installed, tmp_path):
    (tmp_path / "calls.csv").write_text(CALLS)
    command = str(installed / "bin" / "judgestats")
    assert "4" in run(installed, tmp_path, command, "check", "calls.csv")
    run(installed, tmp_path, command, "report", "calls.csv", "--out", "page.html")
    assert "</html>" in (tmp_path / "page.html").read_text()


def test_the_wheel_has_what_is_not_python(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {"judgestats/py.typed", "judgestats/reporting/style.css", "judgestats/_data/datapackage.json"} <= names
    assert not any(n.startswith("tests") for n in names)


@pytest.mark.slow
def test_the_source_distribution_has_what_the_tests_need(tmp_path):
    with tarfile.open(built("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"pyproject.toml", "LICENSE", "README.md", "CONTRIBUTING.md", "CITATION.cff", "Makefile"}
    wanted |= {"tests/conftest.py", "data/datapackage.json", "src/judgestats/py.typed", "docs/measures.md"}
    assert wanted <= names
    assert not any(name.startswith(("build", ".venv", ".git/")) for name in names)


@pytest.mark.slow
def test_two_builds_in_one_clone_do_not_disturb_each_other(tmp_path):
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d"]
    running = [
        subprocess.Popen(
            [*command, str(tmp_path / str(k))], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        for k in range(3)
    ]
    errors = [process.communicate()[1].decode() for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], errors
    wheels = [next((tmp_path / str(k)).iterdir()).read_bytes() for k in range(3)]
    assert wheels[0] == wheels[1] == wheels[2]


def test_every_file_of_data_has_a_licence():
    table = (ROOT / "docs" / "data_licences.md").read_text(encoding="utf-8")
    listed = re.findall(r"(?m)^\| `([^`]+)` \| (?:figures|ours|MIT|Apache-2\.0)", table)
    assert sorted(listed) == sorted(p.relative_to(ROOT / "data").as_posix() for p in (ROOT / "data").rglob("*.*"))
