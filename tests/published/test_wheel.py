"""The published tables and the stylesheet are in the wheel, and found there."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLES = len(list((ROOT / "data").rglob("*.csv")))


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def loaded_from(folder, cwd):
    code = "import judgestats, judgestats.published as p; print(judgestats.__file__); print(p.data_folder()); print(len(p.tables()))"
    script = f"import sys; sys.path.insert(0, {str(folder)!r}); {code}"
    done = subprocess.run([sys.executable, "-I", "-c", script], cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout.split("\n")


@pytest.mark.slow
def test_the_wheel_finds_its_own_data(installed, tmp_path):
    module, data, count = loaded_from(installed, tmp_path)[:3]
    assert Path(module).is_relative_to(installed)
    assert Path(data) == installed / "judgestats" / "_data"
    assert int(count) == TABLES


@pytest.mark.slow
def test_the_source_tree_finds_the_same(tmp_path):
    module, data, count = loaded_from(ROOT / "src", tmp_path)[:3]
    assert Path(module).is_relative_to(ROOT / "src")
    assert Path(data) == ROOT / "data"
    assert int(count) == TABLES


def test_the_wheel_has_what_is_not_python(installed):
    names = {str(p.relative_to(installed)) for p in installed.rglob("*") if p.is_file()}
    assert {"judgestats/py.typed", "judgestats/reporting/style.css", "judgestats/_data/datapackage.json"} <= names
    assert not any(n.startswith("tests") for n in names)
