"""Consensus deviation of a million ratings: ours against the readable pandas peer, in one run.

The times are reports, never assertions; what is asserted is that both give the same numbers. For peak memory run
``python benchmarks/test_consensus_speed.py ours`` and ``... peer``: a process each, so that neither inherits pages.
"""

from __future__ import annotations

import sys

import pandas as pd
import pytest

from judgestats.metrics.consensus import consensus_deviation

sys.path.insert(0, str(__file__).rsplit("/", 1)[0])
import peak_memory
import peer_consensus


@pytest.fixture(scope="module", params=["strings", "categories"])
def million(request: pytest.FixtureRequest) -> pd.DataFrame:
    table = peer_consensus.made_ratings(categories=request.param == "categories")
    assert len(table) == 1_000_000
    consensus_deviation(table.head(10_000))  # compiles, or loads, the kernels
    return table


@pytest.mark.benchmark(group="consensus deviation, 1,000,000 ratings")
def test_ours(benchmark, million):
    result = benchmark.pedantic(consensus_deviation, args=(million,), rounds=7, iterations=1)
    assert len(result) == 50 * 50 + 50 * 3


@pytest.mark.benchmark(group="consensus deviation, 1,000,000 ratings")
def test_peer(benchmark, million):
    result = benchmark.pedantic(peer_consensus.consensus_deviation, args=(million,), rounds=3, iterations=1)
    keys = ["term", "judge", "system"]
    expected = result.astype(dict.fromkeys(keys, str)).set_index(keys)[["estimate", "std_error"]]
    got = consensus_deviation(million).set_index(keys)[["estimate", "std_error"]]
    pd.testing.assert_frame_equal(got.sort_index(), expected.sort_index(), rtol=0, atol=1e-12, check_index_type=False)


if __name__ == "__main__":
    which = {"ours": consensus_deviation, "peer": peer_consensus.consensus_deviation}[sys.argv[1]]
    which(peer_consensus.made_ratings(5, 5, 20))
    ratings = peer_consensus.made_ratings()
    peak = peak_memory.peak_megabytes(lambda: which(ratings))
    print(f"{sys.argv[1]}: peak {peak:.0f} MB over the ratings themselves")
