"""Cluster bootstrap of 105,600 calls in 100 clusters, 2,000 resamples: ours, vectorised NumPy, and SciPy on rows.

The times are reports, never assertions. SciPy draws rows, which is another interval: it is timed on 40 resamples, and
its time is to be multiplied by 50.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import peer_bootstrap
import pytest

from judgestats.metrics.correctness import gold_agreement

GROUP = "cluster bootstrap, 105,600 calls, 100 clusters, B = 2000"
OPTIONS = {"cluster": "task", "interval": "percentile"}


@pytest.fixture(scope="module", params=["strings", "categories"])
def calls(request: pytest.FixtureRequest) -> pd.DataFrame:
    table = peer_bootstrap.made_calls()
    gold_agreement(table.head(1000), **OPTIONS)  # compiles, or loads, the kernels
    named = ["judge", "item", "task", "first", "second", "gold", "choice"]
    return table.astype(dict.fromkeys(named, "category")) if request.param == "categories" else table


@pytest.mark.benchmark(group=GROUP)
def test_ours(benchmark, calls):
    result = benchmark.pedantic(gold_agreement, args=(calls,), kwargs=OPTIONS, rounds=9, iterations=1)
    assert len(result) == 5  # the four shares, and kappa beside


@pytest.mark.benchmark(group=GROUP)
def test_peer(benchmark, calls):
    want = benchmark.pedantic(peer_bootstrap.cluster_bootstrap, args=(calls,), rounds=9, iterations=1)
    got = gold_agreement(calls, **OPTIONS)
    got = got[got["term"] != "kappa"].reset_index(drop=True)
    pd.testing.assert_series_equal(got["estimate"], want["estimate"])
    np.testing.assert_allclose(got["conf_low"][:3], want["conf_low"][:3], atol=0.005)


@pytest.mark.benchmark(group=f"{GROUP}: SciPy on rows, 40 resamples (x 50)")
def test_scipy_on_rows(benchmark, calls):
    right = (peer_bootstrap.outcomes(calls.astype(object)) == 0).astype(float)
    low, high = benchmark.pedantic(peer_bootstrap.row_bootstrap, args=(right, 40), rounds=3, iterations=1)
    assert low < right.mean() < high
