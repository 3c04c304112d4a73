"""Δ0 decomposition of 1,000,000 calls against vectorised pandas; times and memory are reports, never assertions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import peer_delta0
import pytest
from peak_memory import peak_megabytes

from judgestats import delta0

N_JUDGES, N_ITEMS = 10, 50_000


def _calls() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    judge = np.repeat([f"judge-{i}" for i in range(N_JUDGES)], 2 * N_ITEMS)
    item = np.tile(np.repeat([f"item-{i:06d}" for i in range(N_ITEMS)], 2), N_JUDGES)
    first = np.tile(["plain", "styled"], N_JUDGES * N_ITEMS)
    second = np.tile(["styled", "plain"], N_JUDGES * N_ITEMS)
    choice = rng.choice(["first", "second", "tie", "invalid"], judge.size, p=[0.35, 0.25, 0.38, 0.02])
    calls = pd.DataFrame(
        {"judge": judge, "item": item, "first": first, "second": second, "choice": choice, "stimulus": "same_subset"}
    )
    return calls.sample(frac=1, random_state=0, ignore_index=True)


@pytest.fixture(scope="module", params=["strings", "categories"])
def calls(request: pytest.FixtureRequest) -> pd.DataFrame:
    table = _calls()
    if request.param == "categories":
        table = table.astype("category")
        table["first"] = table["first"].astype(str).astype(pd.CategoricalDtype(["plain", "styled"], ordered=True))
        table["second"] = table["second"].astype(str).astype(pd.CategoricalDtype(["plain", "styled"], ordered=True))
    return table


def test_same_numbers(calls: pd.DataFrame) -> None:
    """The two compute the same."""
    ours = delta0(calls).pivot(index="judge", columns="term", values="estimate")
    theirs = peer_delta0.delta0(calls)
    np.testing.assert_allclose(ours[theirs.columns].to_numpy(), theirs.to_numpy())


@pytest.mark.benchmark(group="Δ0 of 1,000,000 calls")
@pytest.mark.parametrize("who", ["judgestats", "pandas"])
def test_speed(benchmark, calls: pd.DataFrame, who: str) -> None:  # type: ignore[no-untyped-def]
    """Median of five rounds after a warm-up, and the peak of allocations in a run of its own."""
    function = delta0 if who == "judgestats" else peer_delta0.delta0
    benchmark.extra_info["peak MB"] = round(peak_megabytes(lambda: function(calls)), 1)
    result = benchmark.pedantic(function, args=(calls,), rounds=5, warmup_rounds=1)
    assert len(result)
