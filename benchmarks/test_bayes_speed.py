"""A hierarchical logistic model of 100,000 verdicts, sampled: ours against bambi row by row, each in its own process.

The times are reports, never assertions; what is asserted is that both give the same posterior means. Where bambi is not
installed the race is skipped. ``python benchmarks/peer_bayes.py --table`` prints the results.
"""

from __future__ import annotations

from importlib.util import find_spec

import peer_bayes
import pytest


@pytest.mark.parametrize("group", list(peer_bayes.LEVELS))
def test_against_bambi(benchmark, group):
    if absent := [name for name in ("pymc", "nutpie", "bambi") if not find_spec(name)]:
        pytest.skip(f"{', '.join(absent)} not installed")
    benchmark.group = f"Bayesian logistic model of {peer_bayes.ROWS:,} verdicts by {group}"
    entry = benchmark.pedantic(peer_bayes.race, args=(group,), rounds=1, iterations=1)
    peer_bayes.write(entry)
    benchmark.extra_info.update({key: entry[key] for key in ("seconds", "cpu", "ratio", "cpu_ratio", "apart")})
    assert entry["apart"] < 0.3
