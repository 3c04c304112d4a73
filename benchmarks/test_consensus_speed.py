"""Consensus deviation of a million ratings: ours against the readable pandas peer, in one run.

The times are reports, never assertions; what is asserted is that both give the same numbers.
"""

from __future__ import annotations

import pandas as pd
import peer_consensus
import pytest

from judgestats.metrics.consensus import consensus_deviation


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
