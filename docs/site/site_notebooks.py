"""Run the notebooks with few draws, two at a time, and keep them with their outputs.

A notebook that has not changed since its last run, with the same package, is taken from build/site-notebooks.
"""

from __future__ import annotations

import hashlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jupytext
import nbformat

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "site-notebooks"
DRAWS = 100
sys.path.insert(0, str(ROOT / "notebooks"))


def digest(path: Path) -> str:
    """What a run depends on: the notebook, the package, and the printed tables."""
    shared = [ROOT / "notebooks" / name for name in ("appearance.py", "run.py")]
    files = [path, *shared, *sorted((ROOT / "src").rglob("*.py")), *sorted((ROOT / "data").rglob("*.csv"))]
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()[:16]


def executed(path: Path) -> str:
    """The notebook with its outputs, as JSON."""
    import run

    kept = KEPT / f"{path.stem}-{digest(path)}.ipynb"
    if not kept.exists():
        start = time.perf_counter()
        text = nbformat.writes(run.execute(path, DRAWS))
        KEPT.mkdir(parents=True, exist_ok=True)
        for old in KEPT.glob(f"{path.stem}-*.ipynb"):
            old.unlink()
        kept.write_text(text, encoding="utf-8")
        sys.stdout.write(f"notebook {path.stem}: {time.perf_counter() - start:.0f} s\n")
        sys.stdout.flush()
    return kept.read_text(encoding="utf-8")


def unexecuted(path: Path) -> str:
    """The notebook without outputs."""
    return nbformat.writes(nbformat.from_dict(jupytext.read(path)))


def longest_first(paths: list[Path]) -> list[Path]:
    """The notebooks, those with most Bayesian models first: one that begins last would keep one core waiting."""
    return sorted(paths, key=lambda p: -p.read_text(encoding="utf-8").count("js.hierarchical."))


def write(paths: list[Path], folder: Path, *, run_them: bool = True) -> None:
    """Write the notebooks into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = longest_first(paths)
    with ThreadPoolExecutor(2) as pool:
        for path, text in zip(paths, pool.map(executed if run_them else unexecuted, paths), strict=True):
            (folder / f"{path.stem}.ipynb").write_text(text, encoding="utf-8")
