"""What a fresh interpreter costs: the import, and the first result with an empty compilation cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FIRST_RESULT = """
import pandas as pd, judgestats as js
calls = pd.DataFrame({"judge": "g", "item": [*"1122"], "first": [*"xyxy"], "second": [*"yxyx"],
                      "stimulus": "same_subset", "choice": ["first", "first", "tie", "second"]})
assert len(js.delta0(calls)) == 7
"""
CODE = {
    "import pandas": "import pandas",
    "import pandas, judgestats": "import pandas, judgestats",
    "first delta0, empty cache": FIRST_RESULT,
}


@pytest.mark.benchmark(group="fresh interpreter")
@pytest.mark.parametrize("what", CODE)
def test_cold_start(benchmark, tmp_path: Path, what: str) -> None:  # type: ignore[no-untyped-def]
    """Whole process, start to end; each round of a first result gets a cache folder of its own."""
    runs = iter(range(100))

    def start() -> int:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / str(next(runs)))}
        return subprocess.run([sys.executable, "-c", CODE[what]], env=environment, check=True).returncode

    assert benchmark.pedantic(start, rounds=5, warmup_rounds=1) == 0
