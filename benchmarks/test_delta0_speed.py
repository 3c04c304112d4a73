"""Δ0 decomposition of 1,000,000 calls against vectorised pandas: times are reports, never assertions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import peer_delta0
import pytest

from judgestats import delta0


@pytest.fixture(scope="module", params=["strings", "categories"])
def calls(request: pytest.FixtureRequest) -> pd.DataFrame:
    return peer_delta0.made_calls(categories=request.param == "categories")


def test_same_numbers(calls: pd.DataFrame) -> None:
    """The two compute the same."""
    ours = delta0(calls).pivot(index="judge", columns="term", values="estimate")
    theirs = peer_delta0.delta0(calls)
    np.testing.assert_allclose(ours[theirs.columns].to_numpy(), theirs.to_numpy())


@pytest.mark.benchmark(group="Δ0 of 1,000,000 calls")
@pytest.mark.parametrize("who", ["judgestats", "pandas"])
def test_speed(benchmark, calls: pd.DataFrame, who: str) -> None:  # type: ignore[no-untyped-def]
    """Median of five rounds after a warm-up."""
    function = delta0 if who == "judgestats" else peer_delta0.delta0
    result = benchmark.pedantic(function, args=(calls,), rounds=5, warmup_rounds=1)
    assert len(result)
