"""Every notebook stands executed beside its source; it runs, with few draws, and says nothing that it has not computed."""

from __future__ import annotations

import ast
import importlib
import importlib.util
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
FEW = 100
#: Most lines of a function in a notebook, minutes that it takes, and bytes of the executed file.
LINES, MINUTES, BYTES = 8, 12, 1_500_000

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (dependency group notebooks)")
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
def test_runs_with_few_draws(path: Path, run: ModuleType) -> None:
    pytest.importorskip("pymc", reason="PyMC is not installed (extra bayes): the notebooks sample")
    if path in PAPERS:
        pytest.importorskip("pingouin", reason="pingouin is not installed (extra pingouin)")
    anew = run.execute(path, FEW)
    _require_sound(anew, run)
    assert run.differences(_stored(path), anew) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_source_and_executed_notebook_have_the_same_cells(path: Path) -> None:
    source, executed = ([_cell(c) for c in n.cells] for n in (jupytext.read(path), _stored(path)))
    assert source == executed


def _cell(cell: Any) -> tuple[str, str, tuple[str, ...]]:
    return cell["cell_type"], cell["source"], tuple(cell["metadata"].get("tags", ()))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_an_executed_notebook_has_all_its_draws_and_can_be_opened(path: Path, run: ModuleType) -> None:
    stored = _stored(path)
    _require_sound(stored, run)
    assert path.with_suffix(".ipynb").stat().st_size <= BYTES
    last = stored.cells[-1]["outputs"][0]["data"]["text/markdown"]
    sizes = r"(4 chains of 1,000 draws|4,000 draws by importance sampling)( and 4 chains of 1,000 draws)?"
    said = re.fullmatch(rf"\*(?:{sizes}|Nothing is sampled); run time ([\d.]+) minutes\.\*", last)
    assert said, last
    assert float(said.group(3)) <= MINUTES
    html = [
        o["data"]["text/html"] for c in stored.cells for o in c.get("outputs", []) if "text/html" in o.get("data", {})
    ]
    assert [h for h in html if "gt_table" not in h] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_short_of_set_up(path: Path) -> None:
    code = [c["source"] for c in jupytext.read(path).cells if c["cell_type"] == "code"]
    parsed = [ast.parse(c) for c in code]
    functions = [n for p in parsed for n in ast.walk(p) if isinstance(n, ast.FunctionDef)]
    assert [f.name for f in functions if (f.end_lineno or 0) - f.lineno >= LINES] == []
    assert "sampling = appearance.set_up()" in code[0]
    assert [c for c in code if re.search(r"\bdisplay\(|plt\.close|%matplotlib|option_context|set_option", c)] == []
    assert code[-1].startswith("appearance.last_line(")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_picture_of_the_package_says_what_its_axes_said(path: Path, run: ModuleType) -> None:
    """Of an executed notebook that is older than this build, `test_runs_with_few_draws` can then say so."""
    cells = [c for c in _stored(path).cells if re.search(r"\bjs\.plot\.", c["source"])]
    assert [c["source"] for c in cells if not run._axes(c)] == []


def test_a_picture_with_other_axes_differs(run: ModuleType) -> None:
    def notebook(*rows: str) -> Any:
        image = nbformat.v4.new_output(
            "display_data", {"image/png": ""}, metadata={"image/png": {run.AXES: [["", "share", *rows]]}}
        )
        planted = nbformat.v4.new_notebook()
        planted.cells = [nbformat.v4.new_code_cell("picture", outputs=[image], metadata={"tags": ["sampled"]})]
        return planted

    assert run.differences(notebook("a", "b"), notebook("b", "a")) == []
    assert run.differences(notebook("a", "b"), notebook("a", "c")) == ["axes of a picture differ: picture"]
    assert (
        len(
            run.differences(
                notebook("a", "b"),
                nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("picture", metadata={"tags": ["sampled"]})]),
            )
        )
        == 1
    )


def test_what_differs_between_two_runs_is_said(run: ModuleType) -> None:
    def notebook(shown: str, estimate: float) -> Any:
        made = nbformat.v4.new_notebook()
        carried = [
            {"chains": 2, "draws": 100, "ess": 100, "rows": {"own": [estimate, 1.0, estimate - 2, estimate + 2]}}
        ]
        last = nbformat.v4.new_output("display_data", {"text/markdown": "x"}, metadata={run.SAMPLED: carried})
        made.cells = [
            nbformat.v4.new_code_cell("f()", outputs=[nbformat.v4.new_output("stream", text=shown)]),
            nbformat.v4.new_code_cell("appearance.last_line()", outputs=[last]),
        ]
        return made

    assert run.differences(notebook("0.123", 0.0), notebook("0.123", 0.3)) == []
    assert run.differences(notebook("0.123", 0.0), notebook("0.123", 1.0)) == ["model 1, own"]
    assert len(run.differences(notebook("0.123", 0.0), notebook("0.124", 0.0))) == 1


def _stored(path: Path) -> Any:
    return nbformat.read(path.with_suffix(".ipynb"), as_version=4)


def _require_sound(notebook: Any, run: ModuleType) -> None:
    """It has pictures and no errors, no number is missing, and no table is plain text."""
    assert run.pictures(notebook) >= 2
    outputs = [o for c in notebook.cells for o in c.get("outputs", [])]
    assert [o for o in outputs if o["output_type"] == "error"] == []
    shown = [o["data"] for o in outputs if "data" in o]
    assert not re.search(r"\bnan\b|\binf\b", _prose(notebook))
    tables = "".join(d.get("text/html", "") for d in shown)
    tables = re.sub(r"</summary>.*?</details>", "</summary></details>", tables)  # the arithmetic names its tolerance
    assert re.findall(r"<td[^>]*>(?:\d{3,}\.0+|[^<]*\de-\d\d[^<]*)</td>", tables) == []
    assert not re.search(r"<script[^>]*src=|\de-\d\d", tables + _prose(notebook))
    assert [d for d in shown if set(d) == {"text/plain"} and "\n" in d["text/plain"]] == []  # a table as plain text


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
    assert len(NOTEBOOKS) == 9
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
    assert cells == ["1,770", "&lt; .001", "0.25", "a &lt;b&gt;", "20", ".012", "1.00", "c"]
    assert _sides(table)[:4] == ["right", "right", "right", "left"]


@pytest.mark.parametrize("kind", [float, object])
def test_numbers_of_different_things_in_a_column_are_written_by_themselves(appearance: ModuleType, kind: type) -> None:
    values = [172.0, 1.0494, -0.1534, float("nan")]
    table = appearance.table(pd.DataFrame({"value": pd.Series(values, dtype=kind), "flag": ["x", "y", "", "z"]}))
    assert re.findall(r"<td[^>]*>(.*?)</td>", table)[::2] == ["172", "1.049", "-0.153", ""]
    assert _sides(table)[0] == "right"


def test_rows_with_one_name_are_a_table_too(appearance: ModuleType) -> None:
    frame = pd.DataFrame({"quantity": ["a long sentence", "b"], "n": [3.0, 4.0]}, index=["Table 1", "Table 1"])
    table = appearance.table(frame.rename_axis("place"))
    assert re.findall(r"<td[^>]*>(.*?)</td>", table) == ["Table 1", "a long sentence", "3", "Table 1", "b", "4"]
    assert _sides(table)[:3] == ["left", "left", "right"]


def _sides(table: str) -> list[str]:
    """To which side each cell is aligned."""
    return re.findall(r'<td[^>]*class="gt_row gt_(\w+)"', table)


def test_an_index_and_heads_over_heads_are_columns_and_spanners(appearance: ModuleType) -> None:
    frame = pd.concat({"before": pd.DataFrame({"n": [1]}), "after": pd.DataFrame({"n": [2]})}, axis=1)
    table = appearance.table(frame.rename_axis("judge").rename(index={0: "a"}))
    assert re.findall(r"<td[^>]*>(.*?)</td>", table) == ["a", "1", "2"]
    assert re.findall(r'<span class="gt_column_spanner">(.*?)</span>', table) == ["before", "after"]
    by_name = appearance.table(pd.DataFrame({"n": [1, 2]}, index=["x", "y"]))
    assert re.findall(r"<td[^>]*>(.*?)</td>", by_name) == ["x", "1", "y", "2"]
    plain = appearance.table(pd.DataFrame({"n": [1, 2]}, index=[7, 9]))
    assert re.findall(r"<td[^>]*>(.*?)</td>", plain) == ["1", "2"]


def test_a_p_value_in_a_sentence(appearance: ModuleType) -> None:
    assert [appearance.p_words(p) for p in (4e-25, 0.057)] == ["p < .001", "p = .057"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_notebook_looks_alike(path: Path) -> None:
    code = path.read_text(encoding="utf-8")
    assert re.search(r"^(sampling = )?appearance\.set_up\(\)$", code, re.M)
    assert not re.search(r"rcParams|plt\.style|\.plot\.style", code)
    assert not re.search(
        r"https?://[^\s)\"']+\.js\b|init_notebook_mode|connected=True", code
    )  # no script from elsewhere
    assert not re.findall(r":[.\d]*e\}|\bp = \{", code), "p-values and small numbers: appearance.p_words, decimals"
