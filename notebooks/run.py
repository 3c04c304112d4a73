"""Run the notebooks of this folder and write them as pages: ``python notebooks/run.py [NAME ...]``.

A notebook is a file of jupytext's percent format: Python that opens with a YAML header. Each runs in a fresh kernel of
this interpreter, without the user's own IPython profile. A warning is an error there, and so is anything a cell writes
to standard error.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jupytext
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
DRAWS = "JUDGESTATS_NOTEBOOK_DRAWS"
#: Folder of the public verdicts.
REAL = "JUDGESTATS_REAL_DATA"
#: Cells whose output is read and whose code is not: prose with computed figures, and pictures.
UNSEEN = "remove-input"
#: Scripts that a page would load from elsewhere: MathJax, require.js and Mermaid, which no notebook needs.
ELSEWHERE = re.compile(r'<script src="https?://[^"]*">\s*</script>|<script type="module">.*?</script>', re.S)
#: Modules whose warnings we cannot cure -> why they are let pass.
LET_PASS = {
    r"ipykernel\.": "the kernel, not the notebook",
    r"zmq\.|tornado\.|jupyter_client\.|traitlets\.": "what the kernel talks through",
    r"pytensor\.|pymc\.": "PyMC's own use of NumPy, SciPy and numba",
    r"numba\.": "what it says of the code that PyTensor hands it",
    r"arviz": "announcements of its next release",
}


class NotebookError(RuntimeError):
    """A cell wrote to standard error."""


def paths(folder: Path = FOLDER) -> list[Path]:
    """The notebooks of a folder, by name."""
    return [p for p in sorted(folder.glob("*.py")) if p.read_text(encoding="utf-8").startswith("# ---\n")]


def execute(path: Path, draws: int | None = None, timeout: int = 3600) -> Any:
    """Run a notebook.

    Parameters
    ----------
    path : Path
    draws : int, optional
        Draws per chain of its models; the notebook's own default, which is the full run, if None.
    timeout : int
        Seconds that one cell may take.

    Returns
    -------
    nbformat.NotebookNode
        With its outputs.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails or warns; it shows the cell.
    NotebookError
        If a cell writes to standard error.
    """
    notebook = jupytext.read(path)
    with tempfile.TemporaryDirectory() as profile:
        environment = {**os.environ, "IPYTHONDIR": profile, "PYTHONHASHSEED": "0"}
        environment.pop(DRAWS, None)
        if REAL in environment:  # the kernel starts in the folder of the notebook
            environment[REAL] = str(Path(environment[REAL]).resolve())
        if draws is not None:
            environment[DRAWS] = str(draws)
        _prepare(Path(profile))
        quiet = ["--IPKernelApp.log_level=40"]  # that it talks over TCP is no news
        client = NotebookClient(notebook, timeout=timeout, kernel_name="python3", extra_arguments=quiet)
        client.execute(env=environment, cwd=str(path.parent))
    for source, text in _complaints(notebook):
        raise NotebookError(f"{path.name} writes to standard error:\n{text}\nin the cell\n{source}")
    return notebook


def _prepare(profile: Path) -> None:
    """A startup file of the kernel: warnings are errors, except for those that are named."""
    startup = profile / "profile_default" / "startup"
    startup.mkdir(parents=True)
    lines = ["import warnings", 'warnings.simplefilter("error")']
    lines += [f"warnings.filterwarnings('ignore', module={pattern!r})  # {why}" for pattern, why in LET_PASS.items()]
    (startup / "00-warnings.py").write_text("\n".join([*lines, "del warnings", ""]), encoding="utf-8")


def _complaints(notebook: Any) -> Iterator[tuple[str, str]]:
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output["output_type"] == "stream" and output["name"] == "stderr":
                yield cell["source"], output["text"]


def pictures(notebook: Any) -> int:
    """How many pictures an executed notebook shows."""
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    return sum("image/png" in o.get("data", {}) or "image/svg+xml" in o.get("data", {}) for o in outputs)


def page(notebook: Any, title: str) -> str:
    """An executed notebook as one HTML page that loads nothing; the code of prose and pictures is left out."""
    from nbconvert import HTMLExporter
    from nbconvert.preprocessors import TagRemovePreprocessor

    notebook.metadata["title"] = title
    exporter = HTMLExporter(embed_images=True, exclude_input_prompt=True, exclude_output_prompt=True)
    exporter.register_preprocessor(TagRemovePreprocessor(remove_input_tags={UNSEEN}), enabled=True)
    text, _ = exporter.from_notebook_node(notebook)
    return ELSEWHERE.sub("", str(text))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the notebooks that are named, or all, and write their pages."""
    parser = argparse.ArgumentParser(description="Run the notebooks and write them as HTML pages.")
    parser.add_argument("names", nargs="*", help="merchant_risk, say; all by default")
    parser.add_argument("--draws", type=int, help="draws per chain; the notebooks' own number by default")
    parser.add_argument("--out", type=Path, default=FOLDER.parent / "build" / "notebooks")
    given = parser.parse_args(arguments)
    known = {path.stem: path for path in paths()}
    if unknown := [name for name in given.names if name not in known]:
        parser.error(f"there is no notebook {unknown[0]!r}. Notebooks: {', '.join(known)}.")
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names or known:
        start = time.perf_counter()
        notebook = execute(known[name], given.draws)
        made = given.out / f"{name}.html"
        made.write_text(page(notebook, name), encoding="utf-8")
        sys.stdout.write(f"{made}: {time.perf_counter() - start:.0f} s, {pictures(notebook)} pictures\n")


if __name__ == "__main__":
    main()
