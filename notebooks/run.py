"""Run the notebooks of this folder and keep them beside their sources: ``python notebooks/run.py [NAME ...]``.

A source is a file of jupytext's percent format: Python that opens with a YAML header. It runs in a fresh kernel of
this interpreter, without the user's own IPython profile. A warning is an error there, and so is anything a cell writes
to standard error. The executed notebook, with all its draws, is ``NAME.ipynb``; its page goes to ``build/notebooks``.
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
import nbformat
import numpy as np
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
DRAWS = "JUDGESTATS_NOTEBOOK_DRAWS"
#: Cells whose output is read and whose code is not: prose with computed figures, and pictures.
UNSEEN = "remove-input"
#: Where the last line of a notebook carries what was sampled: ``appearance.last_line``.
SAMPLED = "sampled"
#: Where a picture of the package carries titles, labels and names of rows: ``appearance.with_axes``.
AXES = "axes"
#: Monte Carlo errors by which two samples may differ: there are hundreds of estimates.
FAR = 5.0
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
        environment = {**os.environ, "IPYTHONDIR": profile, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
        environment.pop(DRAWS, None)
        if draws is not None:
            environment[DRAWS] = str(draws)
        _prepare(Path(profile))
        quiet = ["--IPKernelApp.log_level=40"]  # that it talks over TCP is no news
        client = NotebookClient(notebook, timeout=timeout, kernel_name="python3", extra_arguments=quiet)
        client.execute(env=environment, cwd=str(path.parent))
    for source, text in _complaints(notebook):
        raise NotebookError(f"{path.name} writes to standard error:\n{text}\nin the cell\n{source}")
    _tidy(notebook)
    return notebook


def _tidy(notebook: Any) -> None:
    """Leave out what differs from run to run, and the plain text of what is also shown as a table or picture."""
    for k, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{k}"
        cell["metadata"].pop("execution", None)
        for output in cell.get("outputs", []):
            if {"text/html", "image/png", "text/markdown"} & set(output.get("data", {})):
                output["data"].pop("text/plain", None)


def _prepare(profile: Path) -> None:
    """A startup file of the kernel: warnings are errors, except for those named; garbage is seldom collected."""
    startup = profile / "profile_default" / "startup"
    startup.mkdir(parents=True)
    lines = ["import gc, warnings", "gc.set_threshold(100_000, 50, 100)", 'warnings.simplefilter("error")']
    lines += [f"warnings.filterwarnings('ignore', module={pattern!r})  # {why}" for pattern, why in LET_PASS.items()]
    (startup / "00-warnings.py").write_text("\n".join([*lines, "del gc, warnings", ""]), encoding="utf-8")


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


def differences(stored: Any, anew: Any) -> list[str]:
    """Where two runs differ: results in closed form by anything, sampled ones by more than Monte Carlo error."""
    found = []
    for cell, other in zip(stored.cells, anew.cells, strict=True):
        pair = [_shown(c) for c in (cell, other)]
        if _sampled(cell) is None and "sampled" not in cell["metadata"].get("tags", []) and pair[0] != pair[1]:
            found.append(f"differs: {cell['source']}\n{pair[0]}\n{pair[1]}")
        axes = [sorted(text for panel in said for text in panel) for c in (cell, other) for said in _axes(c)]
        if axes[: len(axes) // 2] != axes[len(axes) // 2 :]:  # rows of sampled estimates may be in another order
            found.append(f"axes of a picture differ: {cell['source']}")
    models, again = (next(filter(None, map(_sampled, n.cells)), []) for n in (stored, anew))
    for k, (model, other) in enumerate(zip(models, again, strict=True), 1):
        found += [f"model {k}, {row}" for row in model["rows"] if not _near(row, model, other)]
    return found


def _sampled(cell: Any) -> list[Any] | None:
    """The estimates that the last line carries; None for another cell."""
    carried: list[Any] = [o["metadata"][SAMPLED] for o in cell.get("outputs", []) if SAMPLED in o.get("metadata", {})]
    return carried[0] if carried else None


def _axes(cell: Any) -> list[Any]:
    """What the axes of the pictures of a cell say."""
    carried = (
        o["metadata"].get("image/png", o["metadata"]).get(AXES) for o in cell.get("outputs", []) if "metadata" in o
    )
    return [said for said in carried if said]


def _shown(cell: Any) -> list[Any]:
    """What a cell shows: its text, that there is a picture, and what the axes of one of the package say."""
    kinds = ("text/html", "text/markdown", "text/plain")
    outputs = cell.get("outputs", [])
    texts = [
        o.get("text") or next((o["data"][k] for k in kinds if k in o.get("data", {})), "a picture") for o in outputs
    ]
    return texts + _axes(cell)


def _near(row: str, model: Any, other: Any) -> bool:
    """Whether an estimate, and the ends of its interval, of two samples differ by no more than their Monte Carlo error.

    The error of a mean is sd / sqrt(n), n the effective size, and that of a quantile at .025 is 2.7 times as large. A
    probability has no interval; its standard error is its Monte Carlo error. A ratio, which has an interval and no
    standard error, and a positive estimate with a long upper tail are compared on the log scale.
    """
    if row not in other["rows"]:
        return False
    variance, values = [0.0, 0.0], []
    middle, spread, lowest, highest = model["rows"][row]
    skewed = None not in (lowest, highest) and (spread is None or highest - middle > 2 * (middle - lowest))
    for sample in (model, other):
        estimate, error, low, high = sample["rows"][row]
        size = max(sample["ess"], 1)
        if None not in (low, high):
            if skewed and min(estimate, low, high) > 0:
                estimate, low, high, error = *np.log([estimate, low, high]), None
            sd = (high - low) / 3.92 if error is None else error
            variance = [variance[0] + sd**2 / size, variance[1] + (2.7 * sd) ** 2 / size]
        else:
            variance[0] += 0.25 / size if error is None or 0 <= (estimate or 0) <= 1 else error**2
        values.append((estimate, low, high))
    # a standard deviation beyond the whole interval is that of a few draws, and so is the Monte Carlo error made of it
    far = 2 * FAR if None not in (middle, spread, lowest, highest) and spread > highest - lowest else FAR
    gaps = [abs(x - y) if None not in (x, y) else 0.0 for x, y in zip(*values, strict=True)]
    return bool(gaps[0] <= far * variance[0] ** 0.5 + 1e-4 and max(gaps[1:]) <= far * variance[1] ** 0.5 + 1e-4)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the notebooks that are named, or all, and write them and their pages."""
    parser = argparse.ArgumentParser(description="Run the notebooks; keep them beside their sources, and as pages.")
    parser.add_argument("names", nargs="*", help="merchant_risk, say; all by default")
    parser.add_argument("--draws", type=int, help="draws per chain; only with all, the default, is NAME.ipynb written")
    parser.add_argument(
        "--compare", action="store_true", help="say where NAME.ipynb differs from this run, and keep it"
    )
    parser.add_argument("--out", type=Path, default=FOLDER.parent / "build" / "notebooks")
    given = parser.parse_args(arguments)
    known = {path.stem: path for path in paths()}
    if unknown := [name for name in given.names if name not in known]:
        parser.error(f"there is no notebook {unknown[0]!r}. Notebooks: {', '.join(known)}.")
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names or known:
        start = time.perf_counter()
        notebook = execute(known[name], given.draws)
        if given.compare:
            apart = differences(nbformat.read(known[name].with_suffix(".ipynb"), as_version=4), notebook)
            sys.stdout.write(f"{name}: {len(apart)} differences\n" + "".join(f"  {d}\n" for d in apart))
        elif given.draws is None:
            nbformat.write(notebook, known[name].with_suffix(".ipynb"))
        made = given.out / f"{name}.html"
        made.write_text(page(notebook, name), encoding="utf-8")
        sys.stdout.write(f"{made}: {time.perf_counter() - start:.0f} s, {pictures(notebook)} pictures\n")


if __name__ == "__main__":
    main()
