"""Mixed-effects logistic models: ours against lme4, glmmTMB, GPBoost and plain SQL, in one run.

The times are reports, never assertions; what is asserted is that ours is not below the peer's log-likelihood, nor of
another likelihood. A peer that is not on the machine is skipped by name. The slow peers are run once, between two
turns of ours; results go to ``build/mixed_speed.json``, which ``python benchmarks/peer_mixed.py --table`` prints.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import peer_mixed
import pytest

RACES = [(name, engine) for name, case in peer_mixed.CASES.items() for engine in case.peers]
ROUNDS = {("groups", "lme4"): 3, ("groups-continuous", "lme4"): 3, ("verbagg", "lme4"): 3}  # the quick ones
FIRST_FIT = """
import numpy as np, pandas as pd, judgestats as js
rng = np.random.default_rng(0)
data = pd.DataFrame({"y": rng.integers(0, 2, 600), "x": rng.integers(0, 2, 600),
                     "item": np.tile([f"i{i}" for i in range(30)], 20), "judge": np.repeat([*"abcdefghij"], 60)})
assert js.fit("y ~ x + (1|item) + (1|judge)", data, family="binomial").loglik < 0
"""


def kept(benchmark, entry):
    """Writes an entry, and shows its numbers beside ours in the benchmark's record."""
    peer_mixed.write(entry)
    shown = ("peer", "peer_seconds", "peer_user", "ratio", "ratio_after_parsing", "aim", "peer_loglik", "our_loglik")
    benchmark.extra_info.update({key: entry[key] for key in shown if key in entry})
    assert -1e-5 <= entry["our_loglik"] - entry["peer_loglik"] < 0.05


@pytest.mark.parametrize(("name", "engine"), RACES)
def test_against_a_peer(benchmark, name, engine):
    benchmark.group = f"mixed models: {peer_mixed.CASES[name].title}"
    try:
        entry = peer_mixed.race(name, engine, rounds=ROUNDS.get((name, engine), 1))
    except (peer_mixed.Absent, TimeoutError) as why:
        pytest.skip(str(why))
    case, data = peer_mixed.CASES[name], peer_mixed.data_of(name)
    benchmark.pedantic(peer_mixed.ours, args=(case.formula, data), kwargs=case.options, rounds=3, iterations=1)
    kept(benchmark, entry)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("calls")


@pytest.mark.parametrize("source", ["Parquet", "table"])
def test_ten_million_calls(benchmark, folder, source):
    benchmark.group = f"mixed models: {peer_mixed.CALLS_TITLE}"
    entry = benchmark.pedantic(peer_mixed.race_calls, args=(source, folder), rounds=1, iterations=1)
    assert entry["patterns"] < 100_000
    kept(benchmark, entry)


@pytest.mark.benchmark(group="fresh interpreter")
@pytest.mark.parametrize("cache", ["empty", "filled"])
def test_first_fit(benchmark, tmp_path: Path, cache: str) -> None:
    """Whole process, imports included; with an empty cache each round gets a folder of its own."""
    runs = iter(range(100))

    def start() -> int:
        name = str(next(runs)) if cache == "empty" else "one"
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / name)}
        return subprocess.run([sys.executable, "-c", FIRST_FIT], env=environment, check=True).returncode

    assert benchmark.pedantic(start, rounds=3, warmup_rounds=1) == 0
