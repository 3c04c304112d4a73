"""Ordinal alpha of 5 x 100,000 ratings, and its interval of 5 x 2,000: ours against evalica, in one run.

Both start from a row per rating; evalica takes a table of judges by units, which is timed apart, too. The times are
reports, never assertions; what is asserted is that both give the same numbers.
"""

from __future__ import annotations

import pandas as pd
import peer_alpha
import pytest

from judgestats.metrics.agreement.krippendorff import alpha

pytest.importorskip("evalica")


@pytest.fixture(scope="module", params=["strings", "categories"])
def many(request: pytest.FixtureRequest) -> pd.DataFrame:
    return peer_alpha.made_ratings(100_000, categories=request.param == "categories")


@pytest.fixture(scope="module")
def some() -> pd.DataFrame:
    table = peer_alpha.made_ratings(2000)
    alpha(table, level_of_measurement="ordinal", n_resamples=10)  # compiles, or loads, the kernels
    return table


def estimate(ratings: pd.DataFrame) -> float:
    return float(alpha(ratings, level_of_measurement="ordinal", interval=None)["estimate"].iloc[0])


def interval(ratings: pd.DataFrame) -> tuple[float, float]:
    row = alpha(ratings, level_of_measurement="ordinal", n_resamples=1000).iloc[0]
    return row["conf_low"], row["conf_high"]


@pytest.mark.usefixtures("some")
@pytest.mark.benchmark(group="alpha, 5 x 100,000")
def test_ours(benchmark, many):
    benchmark.pedantic(estimate, args=(many,), rounds=9, iterations=1, warmup_rounds=1)


@pytest.mark.benchmark(group="alpha, 5 x 100,000")
def test_peer(benchmark, many):
    result = benchmark.pedantic(peer_alpha.alpha, args=(many, "ordinal"), rounds=9, iterations=1, warmup_rounds=1)
    assert estimate(many) == pytest.approx(result, rel=1e-12)


@pytest.mark.benchmark(group="alpha, 5 x 100,000")
def test_peer_from_a_table(benchmark, many):
    table = peer_alpha.wide(many)
    benchmark.pedantic(peer_alpha.alpha_of_table, args=(table, "ordinal"), rounds=9, iterations=1, warmup_rounds=1)


@pytest.mark.benchmark(group="interval of alpha, 5 x 2,000, 1,000 resamples")
def test_our_interval(benchmark, some):
    benchmark.pedantic(interval, args=(some,), rounds=9, iterations=1)


@pytest.mark.benchmark(group="interval of alpha, 5 x 2,000, 1,000 resamples")
def test_interval_of_the_peer(benchmark, some):
    low, high = benchmark.pedantic(peer_alpha.interval, args=(some, "ordinal", 1000), rounds=5, iterations=1)
    ours = interval(some)
    assert ours == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))
