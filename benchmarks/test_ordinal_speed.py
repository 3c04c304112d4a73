"""31,334 scores of HANNA, ``s ~ rater + criterion + (1|story_id)``: ours against R's clmm, and clm without stories.

The times are reports, never assertions; what is asserted is that our likelihood is not below R's. HANNA is read from
the folder JUDGESTATS_REAL_DATA.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import judgestats as js

HERE = Path(__file__).parent
MIXED, PLAIN = "s ~ rater + criterion + (1|story_id)", "s ~ rater + criterion"
TIMEOUT = float(os.environ.get("JUDGESTATS_PEER_TIMEOUT", "1200"))
RACES = {"clmm": (MIXED, {"n_quadrature": 1}), "clm": (PLAIN, {})}


@pytest.fixture(scope="module")
def hanna() -> pd.DataFrame:
    path = Path(os.environ.get("JUDGESTATS_REAL_DATA", "absent")) / "hanna" / "ratings_long.csv.gz"
    if not path.is_file():
        pytest.skip("HANNA is read from the folder JUDGESTATS_REAL_DATA")
    table = pd.read_csv(path)
    table = table[(table["eval_prompt"] == 1) & table["score"].between(1, 5)]
    return table.assign(s=table["score"].round().astype(int), story_id=table["story_id"].astype(str))


def ours(table: pd.DataFrame, formula: str, **options: Any) -> Any:
    """Fit through the front door."""
    return js.fit(formula, table, family="cumulative", **options)


@pytest.mark.benchmark(group="ordinal, HANNA")
def test_ours_by_quadrature(benchmark, hanna):
    fit = benchmark.pedantic(ours, args=(hanna, MIXED), rounds=3, iterations=1, warmup_rounds=1)
    benchmark.extra_info.update({"rows": len(hanna), "loglik": fit.loglik})
    assert fit.converged


@pytest.mark.benchmark(group="ordinal, HANNA")
@pytest.mark.parametrize("peer", RACES)
def test_against_r(benchmark, hanna, tmp_path, peer):
    formula, options = RACES[peer]
    if not shutil.which("Rscript"):
        pytest.skip("Rscript is not on the path")
    path = tmp_path / "hanna.csv"
    hanna[["s", "rater", "criterion", "story_id"]].to_csv(path, index=False)
    command = ["Rscript", HERE / "ordinal_peers.R", peer, path, formula]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{peer} did not end in {TIMEOUT:g} s")
    if run.returncode == 3:
        pytest.skip("R's package ordinal is not installed")
    said = json.loads(run.stdout)
    fit = benchmark.pedantic(ours, args=(hanna, formula), kwargs=options, rounds=3, iterations=1, warmup_rounds=1)
    benchmark.extra_info.update({"peer_seconds": said["seconds"], "peer_loglik": said["loglik"], "loglik": fit.loglik})
    assert fit.loglik > said["loglik"] - 1e-3
