"""Every notebook runs, with few draws, and says nothing that it has not computed."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(p for p in FOLDER.glob("*.py") if p.read_text(encoding="utf-8").startswith("# ---\n"))
#: Those that re-read a paper; the others are about tables of one's own.
PAPERS = [p for p in NOTEBOOKS if (FOLDER.parent / "data" / p.stem).is_dir()]
#: Those that read public verdicts where they are there, and simulated ones elsewhere.
REAL = "JUDGESTATS_REAL_DATA"
EITHER = [p for p in NOTEBOOKS if REAL in p.read_text(encoding="utf-8")]
FEW = 100

jupytext = pytest.importorskip("jupytext", reason="jupytext is not installed (dependency group notebooks)")
pytest.importorskip("nbclient", reason="nbclient is not installed (dependency group notebooks)")
pytest.importorskip("ipykernel", reason="ipykernel is not installed (dependency group notebooks)")

#: Names and places in which a figure is no claim.
NAMES = re.compile(
    r"\b(GPT|Gemini|Claude|Grok|Llama|Qwen|Mistral|DeepSeek|Gemma|Phi|o)[- ]?(Sonnet |Opus |Haiku )?[\d.]+\w*|`[^`]*`|"
    r"\[[^]]*\]\([^)]*\)|\bSection \d+(\.\d+)*"
)
FIGURE = re.compile(r"(?<![\w.])[-−]?\d*\.\d+|\d+(?:\.\d+)? ?(?:%|percent|points)")


@pytest.fixture(scope="module")
def run() -> ModuleType:
    """The runner, which is a script and no part of the package."""
    spec = importlib.util.spec_from_file_location("notebooks_run", FOLDER / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["notebooks_run"] = module
    spec.loader.exec_module(module)
    return module


def _written(folder: Path, *cells: str) -> Path:
    path = folder / "planted.py"
    header = "# ---\n# jupyter:\n#   kernelspec: {name: python3, language: python, display_name: Python 3}\n# ---\n"
    path.write_text(header + "".join(f"\n# %%\n{cell}\n" for cell in cells), encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_runs_with_few_draws(path: Path, run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    if path in PAPERS:
        pytest.importorskip("pymc", reason="PyMC is not installed (extra bayes): the notebooks sample")
        pytest.importorskip("pingouin", reason="pingouin is not installed (extra pingouin)")
    if os.environ.get(REAL):
        monkeypatch.setenv(REAL, str(Path(os.environ[REAL]).resolve()))  # the kernel works in the notebooks' folder
    _require_sound(path, run.execute(path, FEW), run)


@pytest.mark.slow
@pytest.mark.real  # elsewhere it is what the test above does
@pytest.mark.parametrize("path", EITHER, ids=lambda p: p.stem)
def test_runs_without_public_verdicts(path: Path, run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(REAL)
    _require_sound(path, run.execute(path, FEW), run)


def test_the_notebooks_on_tables_of_ones_own() -> None:
    assert [p.stem for p in EITHER] == ["judges_and_people", "leaderboard", "tour"]
    own = [p.stem for p in NOTEBOOKS if p not in PAPERS]
    assert own == ["from_plan_to_datasheet", "judges_and_people", "leaderboard", "tour"]


def _require_sound(path: Path, found: Any, run: ModuleType) -> None:
    """It has pictures and no errors, and says it where its draws are few or its verdicts simulated."""
    assert run.pictures(found) >= 2
    errors = [o for c in found.cells for o in c.get("outputs", []) if o["output_type"] == "error"]
    assert not errors
    seen = "\n".join(str(o["data"]) for c in found.cells for o in c.get("outputs", []) if "data" in o)
    if run.DRAWS in path.read_text(encoding="utf-8"):
        assert "few draws" in seen  # it says that its numbers are not the full run's
    assert not re.search(r"\bnan\b|\binf\b", _prose(found))
    shown = [o["data"] for c in found.cells for o in c.get("outputs", []) if "data" in o]
    tables = "".join(d.get("text/html", "") for d in shown)
    assert re.findall(r"<td[^>]*>(?:\d{3,}\.0+|[^<]*\de-\d\d[^<]*)</td>", tables) == []
    assert not re.search(r"<script[^>]*src=|\de-\d\d", tables + _prose(found))
    assert [d for d in shown if set(d) == {"text/plain"} and "\n" in d["text/plain"]] == []  # a table as plain text
    if path in EITHER:
        assert _prose(found).lstrip().startswith("**Simulated") == (not Path(os.environ.get(REAL) or "-").is_dir())


def _prose(notebook: object) -> str:
    """The computed sentences."""
    outputs = [o for c in notebook.cells for o in c.get("outputs", [])]  # type: ignore[attr-defined]
    return "\n".join(o["data"]["text/markdown"] for o in outputs if "text/markdown" in o.get("data", {}))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_prose_types_no_figures(path: Path) -> None:
    """A figure in a sentence is computed where it stands: text cells hold none."""
    cells = jupytext.read(path).cells
    assert cells[0]["cell_type"] == "markdown"
    assert cells[0]["source"].startswith("# ")
    typed = [(f, c["source"]) for c in cells if c["cell_type"] == "markdown" for f in _figures(c["source"])]
    assert not typed


@pytest.mark.parametrize("path", PAPERS, ids=lambda p: p.stem)
def test_it_reproduces_before_it_asks(path: Path) -> None:
    code = [c["source"] for c in jupytext.read(path).cells if c["cell_type"] == "code"]
    reproduced = next(i for i, c in enumerate(code) if f'js.published.reproduce("{path.stem}")' in c)
    asked = next(i for i, c in enumerate(code) if "js.hierarchical." in c or "js.fit(" in c)
    assert reproduced < asked
    assert sum(c.count("js.published.load") for c in code) >= 1
    imported = [line for c in code for line in c.splitlines() if re.match(r"\s*(from|import) judgestats\.models", line)]
    assert not imported, "public names only: js.hierarchical.*"


def _figures(text: str) -> list[str]:
    return FIGURE.findall(NAMES.sub("", text))


def test_what_counts_as_a_figure() -> None:
    assert _figures("GPT-5.1 and Claude 4.5 Sonnet, Section 4.3.2, `0.5`, Tables 7 to 9, 26 people") == []
    assert _figures("The mean is 0.46, or −.3, that is 12 % or 5 points") == ["0.46", "−.3", "12 %", "5 points"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("import warnings\nwarnings.warn('planted', UserWarning)", "planted"),
        ("1 / 0", "ZeroDivisionError"),
        ("import numpy as np\nnp.log(np.zeros(1))", "RuntimeWarning"),
    ],
)
def test_a_warning_fails_the_notebook(cell: str, words: str, tmp_path: Path, run: ModuleType) -> None:
    from nbclient.exceptions import CellExecutionError

    with pytest.raises(CellExecutionError, match=words):
        run.execute(_written(tmp_path, cell))


@pytest.mark.slow
def test_standard_error_fails_the_notebook(tmp_path: Path, run: ModuleType) -> None:
    with pytest.raises(run.NotebookError, match="planted"):
        run.execute(_written(tmp_path, "import sys\nsys.stderr.write('planted')"))


@pytest.mark.slow
def test_draws_reach_the_notebook(tmp_path: Path, run: ModuleType) -> None:
    cell = f"import os\nprint(os.environ.get({run.DRAWS!r}, 'all'))"
    for draws, shown in ((FEW, str(FEW)), (None, "all")):
        found = run.execute(_written(tmp_path, cell), draws)
        assert found.cells[0]["outputs"][0]["text"].strip() == shown


def test_every_notebook_is_listed() -> None:
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    missing = [p.name for p in NOTEBOOKS if p.name not in listed]
    assert not missing


def test_there_is_one_per_paper() -> None:
    papers = {p.name for p in (FOLDER.parent / "data").iterdir() if (p / "claims.csv").is_file()}
    assert papers == {p.stem for p in PAPERS}


def test_unknown_name(run: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["merchants"])
    assert "Notebooks: " in capsys.readouterr().err


@pytest.mark.slow
def test_page_leaves_out_the_code_of_prose(tmp_path: Path, run: ModuleType) -> None:
    pytest.importorskip("nbconvert", reason="nbconvert is not installed (dependency group notebooks)")
    path = _written(tmp_path, "kept = 1 + 1")
    with path.open("a", encoding="utf-8") as file:
        file.write('\n# %% tags=["remove-input"]\nunseen = "word"\nprint(unseen.upper())\n')
    made = run.page(run.execute(path), "planted")
    assert "kept" in made
    assert "WORD" in made
    assert "unseen" not in made


def test_a_page_loads_nothing_from_elsewhere(run: ModuleType) -> None:
    notebook = jupytext.reads("# %% [markdown]\n# # Title\n", fmt="py:percent")
    page = run.page(notebook, "title")
    assert "<h1" in page
    assert not re.findall(r"""(?:src|href)=["']https?://|import .*https?://""", page)


@pytest.fixture
def appearance(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that all notebooks import."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("appearance")


def test_tables_have_whole_counts_printed_p_values_and_text_to_the_left(appearance: ModuleType) -> None:
    frame = pd.DataFrame(
        {"n": [1770.0, 20.0], "p_value": [5e-53, 0.0123], "share": [0.25, 1.0], "what": ["a <b>", "c"]}
    )
    table = appearance.table(frame)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", table)
    assert cells == ["1,770", "< .001", "0.25", "a &lt;b&gt;", "20", ".012", "1.00", "c"]
    assert re.search(r"_row0_col0, [^{]*\{\s*text-align: right", table)
    assert re.search(r"_row0_col3, [^{]*\{\s*text-align: left", table)


@pytest.mark.parametrize("kind", [float, object])
def test_numbers_of_different_things_in_a_column_are_written_by_themselves(appearance: ModuleType, kind: type) -> None:
    values = [172.0, 1.0494, -0.1534, float("nan")]
    table = appearance.table(pd.DataFrame({"value": pd.Series(values, dtype=kind), "flag": ["x", "y", "", "z"]}))
    assert re.findall(r"<td[^>]*>(.*?)</td>", table)[::2] == ["172", "1.049", "-0.153", ""]
    assert re.search(r"_row0_col0, [^{]*\{\s*text-align: right", table)


def test_rows_with_one_name_are_a_table_too(appearance: ModuleType) -> None:
    frame = pd.DataFrame({"quantity": ["a long sentence", "b"], "n": [3.0, 4.0]}, index=["Table 1", "Table 1"])
    table = appearance.table(frame.rename_axis("place"))
    assert re.findall(r"<td[^>]*>(.*?)</td>", table) == ["Table 1", "a long sentence", "3", "Table 1", "b", "4"]
    assert re.search(r"_row0_col1, [^{]*\{\s*text-align: left", table)


def test_a_p_value_in_a_sentence(appearance: ModuleType) -> None:
    assert [appearance.p_words(p) for p in (4e-25, 0.057)] == ["p < .001", "p = .057"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_notebook_looks_alike(path: Path) -> None:
    code = path.read_text(encoding="utf-8")
    assert "\nappearance.set_up()\n" in code
    assert not re.search(r"rcParams|plt\.style|\.plot\.style", code)
    assert not re.search(
        r"https?://[^\s)\"']+\.js\b|init_notebook_mode|connected=True", code
    )  # no script from elsewhere
    assert not re.findall(r":[.\d]*e\}|\bp = \{", code), "p-values and small numbers: appearance.p_words, decimals"
