"""Kappa with an interval of 2,000 resamples in 25 cells of 400: ours against a loop over scikit-learn, in one run.

The loop is run with 40 resamples, and takes 50 times as long with 2,000. The times are reports, never assertions; what
is asserted is that both give the same numbers.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import peer_kappa
import pytest

from judgestats.metrics.agreement.chance_corrected import kappa


@pytest.fixture(scope="module")
def verdicts() -> pd.DataFrame:
    table = peer_kappa.made_verdicts()
    kappa(table, by="cell")  # warms up
    return table


@pytest.mark.benchmark(group="kappa and its interval, 25 cells of 400 (peer: a fiftieth of the resamples)")
def test_ours(benchmark, verdicts):
    result = benchmark.pedantic(
        kappa, args=(verdicts,), kwargs={"by": "cell", "interval": "percentile", "n_resamples": 2000}, rounds=7
    )
    assert len(result) == 25


@pytest.mark.benchmark(group="kappa and its interval, 25 cells of 400 (peer: a fiftieth of the resamples)")
def test_peer(benchmark, verdicts):
    expected = benchmark.pedantic(peer_kappa.kappa, args=(verdicts, 40), rounds=1)
    result = kappa(verdicts, by="cell", interval="percentile", n_resamples=2000)
    np.testing.assert_allclose(result["estimate"], expected["estimate"], rtol=1e-12)
    assert result["std_error"].mean() == pytest.approx(expected["std_error"].mean(), rel=0.1)
