"""How many source files a call passes through, and how often it changes file: how far a reader must follow it.

    python benchmarks/files_passed.py

Counts the Python functions of judgestats that are entered, by file; imports and kernels are warm.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

import judgestats as js

SOURCE = str(Path(js.__file__).parent)


def passed(call: Callable[[], Any]) -> tuple[int, int]:
    """Files entered, and changes of file between one function entered and the next."""
    call()
    files: list[str] = []

    def enter(frame: Any, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(SOURCE) and (not files or files[-1] != name):
            files.append(name)

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(set(files)), max(len(files) - 1, 0)


def calls_of() -> dict[str, Callable[[], Any]]:
    """The calls that are followed, each on a few rows."""
    folder = Path(tempfile.mkdtemp())
    rows = [
        {"judge": j, "item": str(i), "first": a, "second": b, "choice": c, "gold": "x"}
        for j in "gh"
        for i in range(3)
        for a, b, c in (("x", "y", "first"), ("y", "x", "second" if i else "first"))
    ]
    calls = js.preferences(pd.DataFrame(rows))
    path = folder / "calls.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    pairs = pd.DataFrame(
        {"judge": "g", "forward": ["first", "first", "tie"], "reverse": ["first", "tie", "tie"], "n": [5, 21, 34]}
    )
    scores = pd.DataFrame(
        [
            {"judge": j, "system": "s", "item": str(i), "score": float(i % 4 + k)}
            for k, j in enumerate("ab")
            for i in range(8)
        ]
    )
    asked = pd.DataFrame(
        {
            "item": [*"1122334455"],
            "correct": [0, 1] * 5,
            "strategy": ["B0", "S8"] * 5,
            "n": [18, 2, 14, 6, 12, 8, 9, 11, 15, 5],
        }
    )
    fitted = js.fit("correct ~ strategy + (1|item)", asked, counts="n")
    board = pd.DataFrame({"judge": ["A", "B"], "wins": ["214", "180"], "losses": ["186", "220"], "n": ["400", "400"]})
    rules = [{"rule": "sum", "parts": ["wins", "losses"], "total": "n"}]
    return {
        "read": lambda: js.read(path),
        "report": lambda: js.report(calls, folder / "page.html", n_resamples=20),
        "delta0": lambda: js.delta0(pairs),
        "icc": lambda: js.icc(scores),
        "fit": lambda: js.fit("correct ~ strategy + (1|item)", asked, counts="n"),
        "summary": fitted.summary,
        "audit": lambda: js.audit(board, rules=rules),
    }


if __name__ == "__main__":
    print(f"{'call':10} {'files':>6} {'changes':>8}")
    for name, call in calls_of().items():
        files, changes = passed(call)
        print(f"{name:10} {files:6} {changes:8}")
