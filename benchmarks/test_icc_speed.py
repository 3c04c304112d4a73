"""The six ICCs of 352 cells (105,600 ratings): ours against pingouin cell by cell, in one run.

The times are reports, never assertions; what is asserted is that both give the same numbers. The peer takes a fixed
time per cell, so it is given a frame of the first 32 cells of the 352, and its time is to be multiplied by 11.
"""

from __future__ import annotations

import time

import pandas as pd
import peer_icc
import pytest

from judgestats.metrics.agreement import icc

CELLS, TIMED = 352, 32
KEYS = ["system", "temperature"]


@pytest.fixture(scope="module", params=["categories", "arrow", "strings", "objects"])
def ratings(request: pytest.FixtureRequest) -> pd.DataFrame:
    table = peer_icc.made_ratings(request.param)
    assert len(table) == 105_600
    icc(table, by=KEYS)  # loads what is loaded once
    return table


@pytest.mark.benchmark(group="ICC, 352 cells of 100 items x 3 judges")
def test_ours(benchmark, ratings):
    result = benchmark.pedantic(icc, args=(ratings,), kwargs={"by": KEYS}, rounds=15, iterations=1)
    assert len(result) == 6 * CELLS
    sample = peer_icc.some_cells(ratings, TIMED)
    start = time.perf_counter()
    peer_icc.icc(sample)
    scaled = (time.perf_counter() - start) * CELLS / TIMED
    benchmark.extra_info["peer, seconds (scaled from 32 cells)"] = scaled
    benchmark.extra_info["times faster, by medians"] = scaled / benchmark.stats["median"]


@pytest.mark.benchmark(group="ICC, 32 cells of 100 items x 3 judges")
def test_peer(benchmark, ratings):
    sample = peer_icc.some_cells(ratings, TIMED)
    result = benchmark.pedantic(peer_icc.icc, args=(sample,), rounds=1, iterations=1)
    assert len(result) == 6 * TIMED
    keys = [*KEYS, "term"]
    expected = result.astype({"system": str, "term": str}).set_index(keys)[["ICC", "F", "pval"]]
    got = icc(ratings, by=KEYS).astype({"system": str, "term": str}).set_index(keys)
    got = got[["estimate", "F", "p_value"]].loc[expected.index]
    got.columns = expected.columns
    pd.testing.assert_frame_equal(got, expected, rtol=1e-9, atol=1e-12, check_index_type=False)
